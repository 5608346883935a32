//! What a study says that it assumes, read and checked.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::super::break_even::PRICE_MAX;
use super::super::document::{Besides, PRICED, check_name, is_within};
use super::super::metrics::metric_names;
use super::super::problems::Problems;
use super::super::setting::plain;
use super::input::{Assumed, NoRange, Range, Scale, What, Written};
use crate::diagnostics::{Diagnostic, Location, nearest};
use crate::model::manifest::Folder;
use crate::report::tables_of_sensitivities;
use crate::scenario::{self, Invalid, Overrides, Reader, ResolvedScenario};

/// A value that nobody measured, and how far off it may be: exactly one of `path` and `price`.
#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "cli", schemars(extend("oneOf" = [{"required": ["path"]}, {"required": ["price"]}])))]
pub(in crate::study) struct AssumedEntry {
    /// What it is called in results; the last word of the path (with those before it where a column is called so), or what has the price, if
    /// nothing is said.
    name: Option<String>,
    /// A value of the scenario, such as `spec.latency.kubeletReconnect`.
    path: Option<String>,
    /// What has a price in `cost`, such as `evictions`.
    price: Option<String>,
    /// The least that it may be: a duration, a number or a share.
    from: Value,
    /// The most that it may be.
    to: Value,
    /// How values lie between the two.
    #[serde(default)]
    scale: Scale,
}

impl AssumedEntry {
    fn name(&self) -> String {
        let of_path = |path: &String| {
            let last = path.rsplit('.').next().unwrap_or_default();
            let mut ends = path.rmatch_indices('.').map(|(dot, _)| &path[dot + 1..]).chain([path.as_str()]);
            ends.find(|name| check_name(name, Besides::default()).is_none() && !is_column(name))
                .unwrap_or(last)
                .to_owned()
        };
        let named = self.name.clone().or_else(|| self.path.as_ref().map(of_path));
        named.or_else(|| self.price.clone()).unwrap_or_default()
    }
}

/// What a study has besides what it assumes.
pub(in crate::study) struct Around<'a> {
    /// What it varies: a name, and its path, if it is one.
    pub(in crate::study) varied: Vec<(&'a str, Option<&'a str>)>,
    pub(in crate::study) prices: &'a [(&'static str, f64)],
    pub(in crate::study) place: &'a dyn Fn(&str) -> Location,
}

/// Where the document lists what is assumed.
const LIST: &str = "spec.assumed";

/// Reads what is assumed; what is wrong is left out, and told.
pub(in crate::study) fn read(
    entries: &[AssumedEntry],
    around: &Around<'_>,
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) -> Vec<Assumed> {
    let mut found: Vec<Assumed> = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let at = format!("{LIST}[{index}]");
        let Some(what) = what(entry, &at, around, problem) else { continue };
        check_names(entry, &at, &found, around, problem);
        check_overlap(&what, &at, &found, around, problem);
        let are_prices = |range: &Range| range.ends().0 >= 0.0 && range.ends().1 <= PRICE_MAX;
        let range = Range::read(&entry.from, &entry.to).and_then(|range| match &what {
            What::Path { .. } => Ok(range),
            What::Price { .. } => range.of_prices().filter(are_prices).ok_or_else(|| NoRange {
                message: format!("`{}` to `{}` cannot be prices", plain(&entry.from), plain(&entry.to)),
                help: "a price is a number from 0 to 1e12",
                field: "from",
            }),
        });
        match range {
            Ok(range) if entry.scale == Scale::Log && range.ends().0 <= 0.0 => {
                let diagnostic = Diagnostic::error("study::bad_value", "nothing has a logarithm from 0 on");
                problem(diagnostic.help("let `from` be more than 0, or leave `scale` out"), &format!("{at}.from"), "");
            }
            Ok(range) => found.push(Assumed { name: entry.name(), what, range, scale: entry.scale }),
            Err(NoRange { message, help, field }) => {
                problem(Diagnostic::error("study::bad_value", message).help(help), &format!("{at}.{field}"), "");
            }
        }
    }
    found
}

/// What has the value.
fn what(
    entry: &AssumedEntry,
    at: &str,
    around: &Around<'_>,
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) -> Option<What> {
    match (&entry.path, &entry.price) {
        (Some(path), None) => {
            let [path_at, from, to] = ["path", "from", "to"].map(|field| (around.place)(&format!("{at}.{field}")));
            let written = Some(Written { path: path_at, from, to });
            let vain = if is_within(path, "metadata") {
                Some("what a scenario is called makes no difference")
            } else if path == "spec.seed" {
                Some("the seed is what replications vary")
            } else if path == "spec.duration" {
                Some("what runs of different lengths cost does not compare")
            } else {
                None
            };
            if let Some(message) = vain {
                let diagnostic = Diagnostic::error("study::bad_assumed", message);
                problem(diagnostic.help("assume something that the cluster does"), &format!("{at}.path"), "");
                return None;
            }
            Some(What::Path { path: path.clone(), written })
        }
        (None, Some(word)) => {
            let metric = PRICED.iter().find(|(known, _)| known == word).map(|(_, metric)| *metric);
            let metric = metric.or_else(|| metric_names().into_iter().find(|metric| metric == word));
            let priced = metric.filter(|metric| around.prices.iter().any(|(known, _)| known == metric));
            if priced.is_none() {
                let diagnostic = Diagnostic::error("study::unknown_name", format!("`{word}` has no price in `cost`"));
                let words = around.prices.iter().map(|(metric, _)| word_of(metric));
                let help = match (nearest(word, words.clone()), words.collect::<Vec<_>>().join(", ")) {
                    (Some(likely), _) => format!("the nearest that has is `{likely}`"),
                    (None, all) if all.is_empty() => "nothing has".to_owned(),
                    (None, all) => format!("what has is {all}"),
                };
                problem(diagnostic.help(help), &format!("{at}.price"), "no price");
            }
            Some(What::Price { metric: priced? })
        }
        _ => {
            let message = "what is assumed has either a `path` or a `price`";
            let help = "write `path: spec.latency.kubeletReconnect`, or `price: evictions`";
            problem(Diagnostic::error("study::bad_assumed", message).help(help), at, "");
            None
        }
    }
}

/// A metric in the words of the document.
fn word_of(metric: &'static str) -> &'static str {
    PRICED.iter().find(|(_, of)| *of == metric).map_or(metric, |(word, _)| word)
}

/// Whether a table of a sensitivity has such a column.
fn is_column(name: &str) -> bool {
    tables_of_sensitivities().iter().any(|of| of.columns.iter().any(|column| column.name == name))
}

/// A name heads a column.
fn check_names(
    entry: &AssumedEntry,
    at: &str,
    earlier: &[Assumed],
    around: &Around<'_>,
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) {
    let (name, help) = (entry.name(), "give it a `name` of its own");
    let is_taken = earlier.iter().any(|of| of.name == name) || around.varied.iter().any(|(of, _)| *of == name);
    // What has a price is called as its column in other tables, which are not those of a sensitivity.
    let message = match check_name(&name, Besides::default()) {
        Some((message, _)) if entry.price.as_ref() != Some(&name) => Some(message),
        _ if is_column(&name) => Some(format!("`{name}` is the name of a column of the tables already")),
        _ if is_taken => Some(format!("`{name}` is the name of something else in the study")),
        _ => None,
    };
    if let Some(message) = message {
        problem(Diagnostic::error("study::bad_name", message).help(help), at, "");
    }
}

/// Of two values of one field only one can hold.
fn check_overlap(
    what: &What,
    at: &str,
    earlier: &[Assumed],
    around: &Around<'_>,
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) {
    let are_one = |one: &str, other: &str| is_within(one, other) || is_within(other, one);
    let taken = match what {
        What::Path { path, .. } => {
            let varied = around.varied.iter().find(|(_, of)| of.is_some_and(|of| are_one(path, of)));
            let assumed =
                || earlier.iter().find(|of| matches!(&of.what, What::Path { path: of, .. } if are_one(path, of)));
            varied.map(|(name, _)| (*name).to_owned()).or_else(|| assumed().map(|of| of.name.clone()))
        }
        What::Price { .. } => earlier.iter().find(|of| of.what == *what).map(|of| of.name.clone()),
    };
    if let Some(other) = taken {
        let field = if matches!(what, What::Path { .. }) { "path" } else { "price" };
        let message = format!("`{other}` has another value of the same already");
        let help = "of two values of one field only one can hold: leave one of the two out";
        problem(Diagnostic::error("study::overlap", message).help(help), &format!("{at}.{field}"), "again");
    }
}

/// Tries both ends of everything that is assumed of the scenario.
pub(in crate::study) fn check(
    assumed: &[Assumed],
    (folder, scenario_path): (&Folder, &Path),
    problems: &mut Problems,
    overrides: &Overrides,
) {
    let Some(reader) = problems.take(Reader::open(folder, scenario_path, overrides)) else { return };
    for of in assumed {
        let What::Path { path, written: Some(Written { path: path_at, from: from_at, .. }) } = &of.what else {
            continue;
        };
        let mut ends = Vec::new();
        for share in [0.0, 1.0] {
            ends.extend(problems.take(at(&reader, of, share)));
        }
        let [from, to] = &ends[..] else { continue };
        if from.duration != to.duration {
            let message =
                format!("`{path}` changes how long a run lasts, and runs of different lengths do not compare");
            problems.push(Diagnostic::error("study::bad_assumed", message).at(path_at.clone(), ""));
        } else if digest(from) == digest(to) {
            let message = format!("both ends of `{}` give the same scenario", of.name);
            let help = "assume something that decides something; `check` lists the fields that have no effect";
            problems.push(Diagnostic::error("study::no_effect", message).help(help).at(from_at.clone(), ""));
        }
    }
}

/// The scenario with one input at a share of its range.
pub(super) fn at(reader: &Reader, of: &Assumed, share: f64) -> Result<ResolvedScenario, Invalid> {
    let mut overrides = Overrides::none();
    of.override_with(&of.at(share), &mut overrides);
    reader.load(&overrides)
}

/// Equal for scenarios that are equal.
pub(super) fn digest(scenario: &ResolvedScenario) -> u64 {
    crate::arena::stable_hash(scenario::lock_file(scenario).as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn without_a_name_it_has_the_last_word_of_its_path_that_heads_no_column() {
        let check = |path: &str, expected: &str| {
            let entry = serde_json::from_value::<AssumedEntry>(json!({"path": path, "from": "1s", "to": "2s"}));
            assert_eq!(entry.expect("an entry").name(), expected);
        };
        check("spec.latency.kubeletReconnect", "kubeletReconnect");
        check("spec.faults[0].timeToFailure.weibull.mean", "weibull.mean");
        check("mean", "mean");
    }
}
