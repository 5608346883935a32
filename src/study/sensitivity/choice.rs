//! Which variant is played beside the baseline.

use serde::Serialize;

use super::super::definition::Study;
use super::super::grid::Variant;
use super::super::results::Results;

/// Why a variant is played beside the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Chosen {
    /// Somebody named it.
    Named,
    /// There is no other.
    Only,
    /// It is what the study recommends.
    Recommended,
    /// Nothing is recommended; of the others it costs least.
    Cheapest,
}

impl Chosen {
    pub(super) const fn why(self) -> &'static str {
        match self {
            Self::Named => "it was named",
            Self::Only => "it is the only other one",
            Self::Recommended => "the study recommends it",
            Self::Cheapest => "nothing is recommended, and of the others it costs least",
        }
    }
}

/// A variant to be played beside the baseline, with its name.
#[derive(Clone, Debug)]
pub struct Choice {
    pub(super) variant: Variant,
    pub(super) label: String,
    pub(super) why: Chosen,
}

impl Study {
    fn choice(&self, variant: usize, why: Chosen) -> Choice {
        Choice { variant: self.variants[variant].clone(), label: self.label(variant), why }
    }

    /// The variant with these values, `wait=60, grace=40s`; what is not named is as in the baseline.
    ///
    /// # Errors
    ///
    /// What is wrong, and what to do.
    pub(crate) fn choose_named(&self, text: &str) -> Result<Choice, (String, String)> {
        let mut wanted = self.variants[self.baseline].labels.clone();
        let mut named = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let names = || self.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
            let split = part.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let axis = split.and_then(|(name, _)| self.axes.iter().position(|axis| axis.name == name));
            let Some((axis, (_, value))) = axis.zip(split) else {
                let help = format!("write `name=value, name=value`; what is varied is {}", names());
                return Err((format!("`{part}` names nothing that the study varies"), help));
            };
            if named.contains(&axis) {
                let message = format!("`{}` is named twice", self.axes[axis].name);
                return Err((message, "a variant has one value of each".to_owned()));
            }
            named.push(axis);
            wanted[axis] = value.to_owned();
        }
        let values = || {
            let values = self.axes.iter().map(|axis| format!("{}: {}", axis.name, axis.labels.join(" ")));
            format!("values are those of the study: {}", values.collect::<Vec<_>>().join("; "))
        };
        if named.is_empty() {
            return Err((
                format!("`{text}` names no variant"),
                format!("write `name=value, name=value`; {}", values()),
            ));
        }
        let found = self.variants.iter().position(|variant| variant.labels == wanted);
        match found {
            Some(variant) if variant == self.baseline => {
                Err((format!("`{text}` is the baseline itself"), "name a variant that it is held against".to_owned()))
            }
            Some(variant) => Ok(self.choice(variant, Chosen::Named)),
            None => Err((format!("no variant of the study has the values `{text}`"), values())),
        }
    }

    /// The baseline itself: what cannot be played with it cannot be played beside it.
    #[must_use]
    pub(crate) fn choose_baseline(&self) -> Choice {
        self.choice(self.baseline, Chosen::Only)
    }

    /// The other variant, if there are only two.
    #[must_use]
    pub(crate) fn choose_only(&self) -> Option<Choice> {
        (self.variants.len() == 2).then(|| self.choice(1 - self.baseline, Chosen::Only))
    }

    /// What the runs of the study recommend, or else the cheapest other variant; none if there is none that costs anything to name.
    #[must_use]
    pub(crate) fn choose_by(&self, results: &Results) -> Option<Choice> {
        let tuning = results.tuning()?;
        if let Some(variant) = self.recommended_to_play(&tuning) {
            let own = || "what is recommended, with a value of its own for each workload".to_owned();
            let label = tuning.recommended_variant().map_or_else(own, |variant| self.label(variant));
            return Some(Choice { variant, label, why: Chosen::Recommended });
        }
        let comparison = results.comparison();
        let best = comparison.map(|of| [Some(of.best), of.runner_up]).into_iter().flatten().flatten();
        // Where no variant keeps what is required, none of them is ranked.
        let cost = |variant: &usize| results.cost_estimate().mean(&results.costs(*variant)).mean;
        let any =
            || (0..self.variants.len()).filter(|of| *of != self.baseline).min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let other = best.into_iter().find(|other| *other != self.baseline).or_else(any)?;
        Some(self.choice(other, Chosen::Cheapest))
    }
}
