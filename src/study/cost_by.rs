//! By which figure of what their runs cost variants are judged: the mean, or one of the bad runs.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::estimate::Series;
use super::results::Results;
use super::statistics::{Sample, observations_for_quantile};
use crate::scenario::Share;
use crate::units::parse_percent;

/// Below so many runs in the tail its mean is not told: from so many on its interval holds as often as it says, by the table of
/// `docs/studies.md`.
const TAIL_MIN: f64 = 10.0;

/// What the costs of a variant's runs are summed up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum CostBy {
    /// Their mean.
    #[default]
    Mean,
    /// What this share of runs does not exceed.
    Quantile(f64),
    /// The mean of the runs beyond the quantile of this share: the conditional value at risk, or expected shortfall.
    ///
    /// # Source
    ///
    /// Rockafellar and Uryasev, Optimization of conditional value-at-risk, Journal of Risk 2 (2000).
    Cvar(f64),
}

/// What is no figure to judge by.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}: {help}")]
pub struct InvalidCostBy {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// What the costs of a variant's runs are summed up by.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum CostByEntry {
    /// Their mean.
    Mean,
    /// What this share of runs does not exceed, such as `95%`.
    Quantile(Share),
    /// The mean of the runs beyond the quantile of this share, such as `95%`: of the worst 5 % of them.
    Cvar(Share),
}

#[cfg(feature = "cli")]
impl schemars::JsonSchema for CostByEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CostBy".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut of = |meaning: &str| {
            let mut share = generator.subschema_for::<Share>();
            share.insert("description".to_owned(), meaning.into());
            share
        };
        let cvar = of("The mean of the runs beyond the quantile of this share");
        let quantile = of("What this share of runs does not exceed");
        schemars::json_schema!({
            "description": "what costs are summed up by: `mean`, `{cvar: 95%}`, the mean of the worst 5 % of runs, or `{quantile: 95%}`, what \
                            95 % of runs do not exceed",
            "anyOf": [
                {"const": "mean"},
                {
                    "type": "object",
                    "properties": {"quantile": quantile, "cvar": cvar},
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ],
        })
    }
}

impl CostByEntry {
    pub(super) fn read(self) -> Result<CostBy, InvalidCostBy> {
        match self {
            Self::Mean => Ok(CostBy::Mean),
            Self::Quantile(share) => CostBy::quantile(share.0),
            Self::Cvar(share) => CostBy::cvar(share.0),
        }
    }
}

/// A share as bad runs are named by: the better half is none.
fn checked(share: f64) -> Result<f64, InvalidCostBy> {
    if (0.5..1.0).contains(&share) {
        return Ok(share);
    }
    let message = format!("{} % is no share beyond which runs are bad", percent(share));
    Err(InvalidCostBy { message, help: "take one from 50 % to below 100 %, such as 95%".to_owned() })
}

/// A share in percent, without what binary fractions add to it.
fn percent(share: f64) -> f64 {
    (share * 100.0 * 1e9).round() / 1e9
}

impl CostBy {
    /// The quantile of a share, from 0.5 to below 1.
    ///
    /// # Errors
    ///
    /// If it is another share.
    pub fn quantile(share: f64) -> Result<Self, InvalidCostBy> {
        checked(share).map(Self::Quantile)
    }

    /// The conditional value at risk of a share, from 0.5 to below 1.
    ///
    /// # Errors
    ///
    /// If it is another share.
    pub fn cvar(share: f64) -> Result<Self, InvalidCostBy> {
        checked(share).map(Self::Cvar)
    }

    /// Whether it is the mean.
    #[must_use]
    pub fn is_mean(&self) -> bool {
        *self == Self::Mean
    }

    /// The metric of `variants.csv` that has it; none of the mean, which every metric has.
    #[must_use]
    pub fn column(&self) -> Option<String> {
        match self {
            Self::Mean => None,
            Self::Quantile(share) => Some(format!("cost_quantile_{}", percent(*share))),
            Self::Cvar(share) => Some(format!("cost_cvar_{}", percent(*share))),
        }
    }

    /// `CVaR 95 %`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Mean => "mean".to_owned(),
            Self::Quantile(share) => format!("{} % quantile", percent(*share)),
            Self::Cvar(share) => format!("CVaR {} %", percent(*share)),
        }
    }

    /// The name with what it means.
    pub(super) fn explained(&self) -> String {
        match self {
            Self::Mean | Self::Quantile(_) => self.name(),
            Self::Cvar(share) => {
                format!("{}, the mean of the worst {} % of runs", self.name(), percent(1.0 - *share))
            }
        }
    }

    /// Values of which the mean is the figure: of each run the quantile, and by how much the run is beyond it over the share of runs that
    /// are. What is known of means then holds for them, as far as the quantile is that of all runs: its own error moves their mean in the
    /// second order only, as no other number in its place makes it lower.
    ///
    /// # Source
    ///
    /// The minimum over `v` of `v + E(x - v)+ / (1 - share)`: Rockafellar and Uryasev, above; that its minimiser may be taken for known:
    /// Trindade, Uryasev, Shapiro and Zrazhevsky, Financial prediction with constrained tail risk, Journal of Banking and Finance 31
    /// (2007).
    pub(super) fn values<'a>(&self, costs: &'a [(u32, f64)]) -> Cow<'a, [(u32, f64)]> {
        let Self::Cvar(share) = *self else { return Cow::Borrowed(costs) };
        let mut sorted: Vec<f64> = costs.iter().map(|(_, cost)| *cost).collect();
        sorted.sort_by(f64::total_cmp);
        let rank = (share * sorted.len() as f64 - 1e-9).ceil() as usize;
        let Some(quantile) = sorted.get(rank.max(1) - 1).copied() else { return Cow::Borrowed(costs) };
        let value = |cost: f64| quantile + (cost - quantile).max(0.0) / (1.0 - share);
        costs.iter().map(|(run, cost)| (*run, value(*cost))).collect::<Series>().into()
    }

    /// Of how many of all runs it is the mean, as a share of them.
    pub(super) fn share_of_runs(&self) -> f64 {
        if let Self::Cvar(share) = self { 1.0 - share } else { 1.0 }
    }

    /// The fewest runs that tell it at that confidence.
    pub(super) fn runs_needed(&self, confidence: f64) -> usize {
        match self {
            Self::Mean => 2,
            Self::Quantile(share) => observations_for_quantile(*share, confidence),
            Self::Cvar(share) => (TAIL_MIN / (1.0 - share) - 1e-6).ceil() as usize,
        }
    }

    /// The quantile of a sample with its interval of order statistics; its ends are not known if there are too few observations.
    pub(super) fn of_quantile(share: f64, sample: &Sample, confidence: f64) -> (f64, f64, f64) {
        let mean = if sample.is_empty() { f64::NAN } else { sample.quantile(share) };
        let (low, high) = sample.quantile_interval(share, confidence).unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        (mean, low, high)
    }

    /// Why runs of a study cannot be judged by it, and what to do.
    pub(crate) fn check(&self, has_prices: bool, is_antithetic: bool, is_rare: bool) -> Result<(), InvalidCostBy> {
        let refuse =
            |message: &str, help: &str| Err(InvalidCostBy { message: message.to_owned(), help: help.to_owned() });
        if self.is_mean() {
            return Ok(());
        }
        if !has_prices {
            return refuse(
                "nothing has a price, so that runs cannot be judged by what they cost",
                "say in `cost` what costs what",
            );
        }
        if is_rare {
            return refuse(
                "runs of a study of a rare event have weights, so that an order of them is not that of all runs",
                "leave out either: `rareEvents`, or what costs are judged by",
            );
        }
        if is_antithetic {
            return refuse(
                "of runs that mirror each other nobody knows how far their order is that of all runs",
                "take `seeds: plain`",
            );
        }
        Ok(())
    }
}

impl fmt::Display for CostBy {
    /// As it is read: `cvar:95%`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => formatter.write_str("mean"),
            Self::Quantile(share) => write!(formatter, "quantile:{}%", percent(*share)),
            Self::Cvar(share) => write!(formatter, "cvar:{}%", percent(*share)),
        }
    }
}

impl FromStr for CostBy {
    type Err = InvalidCostBy;

    /// Reads `mean`, `quantile:95%` or `cvar:95%`.
    fn from_str(text: &str) -> Result<Self, InvalidCostBy> {
        let unknown = || InvalidCostBy {
            message: format!("`{text}` is nothing that costs can be judged by"),
            help: "write mean, quantile:95% or cvar:95%".to_owned(),
        };
        let share = |text: &str| parse_percent(text.trim()).or_else(|| text.trim().parse().ok());
        match text.split_once(':') {
            None if text == "mean" => Ok(Self::Mean),
            Some(("quantile", of)) => Self::quantile(share(of).ok_or_else(unknown)?),
            Some(("cvar", of)) => Self::cvar(share(of).ok_or_else(unknown)?),
            _ => Err(unknown()),
        }
    }
}

impl Results {
    /// How what runs cost is estimated, by the figure that variants are judged by.
    pub(super) fn cost_estimate(&self) -> super::estimate::Estimate {
        self.cost_estimate_at(self.confidence())
    }

    /// The same at another confidence.
    pub(super) fn cost_estimate_at(&self, confidence: f64) -> super::estimate::Estimate {
        self.estimate_at(confidence).judged_by(self.cost_by)
    }
}

#[cfg(test)]
mod tests {
    use super::super::estimate::Estimate;
    use super::super::results::tests::results;
    use super::*;

    fn series(costs: impl IntoIterator<Item = f64>) -> Series {
        (0..).zip(costs).collect()
    }

    #[test]
    fn figures_are_read_as_they_are_written() {
        let check = |text: &str, expected: Result<&str, &str>| match (text.parse::<CostBy>(), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected),
            (Err(found), Err(expected)) => assert!(found.to_string().contains(expected), "{found}"),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        };
        check("mean", Ok("mean"));
        check("cvar:95%", Ok("cvar:95%"));
        check("quantile:0.9", Ok("quantile:90%"));
        check("cvar:99.9 %", Ok("cvar:99.9%"));
        check("cvar:100%", Err("100 % is no share"));
        check("cvar:5%", Err("5 % is no share"));
        check("cvar", Err("write mean, quantile:95% or cvar:95%"));
        check("worst", Err("`worst` is nothing"));
    }

    #[test]
    fn the_mean_of_the_worst_is_that_of_known_distributions() {
        let mean = |by: CostBy, costs: &[(u32, f64)]| {
            let values = by.values(costs);
            values.iter().map(|(_, value)| value).sum::<f64>() / values.len() as f64
        };
        // Of 1 to 100 the worst five are 96 to 100.
        let cvar = CostBy::cvar(0.95).expect("a share");
        let found = mean(cvar, &series((1..=100).map(f64::from)));
        assert!((found - 98.0).abs() < 1e-9, "{found}");
        // Exponential of mean 1: 1 - ln(0.05). At the middles of equal shares.
        let exponential = series((0..100_000).map(|run| -libm::log1p(-(f64::from(run) + 0.5) / 100_000.0)));
        let found = mean(cvar, &exponential);
        assert!((found - (1.0 - libm::log(0.05))).abs() < 1e-3, "{found}");
        // Uniform: half-way from the quantile to the end.
        let uniform = series((0..10_000).map(|run| (f64::from(run) + 0.5) / 10_000.0));
        let found = mean(CostBy::cvar(0.9).expect("a share"), &uniform);
        assert!((found - 0.95).abs() < 1e-6, "{found}");
    }

    #[test]
    fn who_fears_bad_runs_chooses_otherwise_than_by_the_mean() {
        // The first costs 10 always; the second 1, but 45 in one of ten runs: 5.4 on average.
        let steady: Vec<f64> = (0..400).map(|run| 10.0 + f64::from(run % 3) * 0.1).collect();
        let wild: Vec<f64> =
            (0..400).map(|run| f64::from(run % 7) * 0.1 + if run % 10 == 3 { 45.0 } else { 1.0 }).collect();
        let mut found = results(&[&steady, &wild]);
        let best = |found: &Results| found.comparison().expect("priced").best;
        assert_eq!(best(&found), 1);
        assert_eq!(found.tuning().expect("priced").recommended_variant(), Some(1));
        for by in ["cvar:95%", "quantile:95%"] {
            found.cost_by = by.parse().expect("a figure");
            assert_eq!(best(&found), 0, "{by}");
            assert_eq!(found.tuning().expect("priced").recommended_variant(), Some(0), "{by}");
            let other = Results { baseline: 1, ..found.clone() };
            assert!(other.comparison().expect("priced").against_baseline.high < 0.0, "{by}");
            assert_eq!(other.tuning().expect("priced").recommended_variant(), Some(0), "{by}");
        }
    }

    #[test]
    fn too_few_runs_tell_nothing_of_the_bad_ones() {
        let costs: Vec<f64> = (0..60).map(|run| f64::from(run * 37 % 61)).collect();
        let dearer: Vec<f64> = costs.iter().map(|cost| cost + 1000.0).collect();
        let mut found = results(&[&dearer, &costs]);
        for by in ["cvar:95%", "quantile:95%"] {
            found.cost_by = by.parse().expect("a figure");
            let comparison = found.comparison().expect("priced");
            assert!(comparison.best == 1 && !comparison.against_baseline.is_known() && comparison.alike == [0], "{by}");
            assert!(!found.tuning().expect("priced").changes(), "{by}");
        }
        assert_eq!(CostBy::Cvar(0.95).runs_needed(0.95), 200);
        assert_eq!(CostBy::Quantile(0.95).runs_needed(0.95), 72);
    }

    #[test]
    fn the_interval_of_a_quantile_is_that_of_order_statistics() {
        let column = series((0..200).map(f64::from));
        let found = Estimate::of_seen(false, 0.95).judged_by(CostBy::Quantile(0.9)).mean(&column);
        let sample = Sample::new(column.iter().map(|(_, cost)| *cost).collect());
        assert_eq!(Some((found.low, found.high)), sample.quantile_interval(0.9, 0.95));
        assert_eq!(found.mean, sample.quantile(0.9));
    }
}
