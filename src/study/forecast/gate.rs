//! Conditions of a pipeline, and what has changed since last time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use serde_json::Value;

use super::results::ForecastResults;
use crate::diagnostics::{Diagnostic, nearest};
use crate::observe::Tone;
use crate::scenario::{self, Invalid};
use crate::study::Remark;

/// More minutes than this that one service or workload loses in an incident fail a condition that names a kind of incident.
const LOST_MAX_MIN: f64 = 1.0;

/// The kinds of incidents that a condition can name.
const KINDS: [(&str, &str); 6] = [
    ("node", "nodeLost"),
    ("zone", "zoneLost"),
    ("pair", "pairLost"),
    ("domain", "domainLost"),
    ("drain", "drain"),
    ("upgrade", "poolUpgrade"),
];

/// The figures that a condition can compare.
const METRICS: [&str; 8] = [
    "blocked_per_year",
    "findings",
    "lost_traffic_min_per_year",
    "node_worst_min",
    "pair_worst_min",
    "short_min_per_year",
    "worst_unit_lost_min_per_year",
    "zone_worst_min",
];

/// Something that must not hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// A figure beyond a limit.
    Figure {
        /// Its name in `metrics`.
        metric: String,
        /// `>`, `>=`, `<` or `<=`.
        op: &'static str,
        /// The limit.
        limit: f64,
    },
    /// Any incident of a kind that costs somebody more than a minute, leaves pods without a node or waits in vain.
    Incident(&'static str, &'static str),
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((name, kind)) = KINDS.into_iter().find(|(name, _)| *name == text) {
            return Ok(Self::Incident(name, kind));
        }
        for op in [">=", "<=", ">", "<"] {
            let Some((metric, limit)) = text.split_once(op) else { continue };
            let (metric, limit) = (metric.trim(), limit.trim());
            if !METRICS.contains(&metric) {
                let near = nearest(metric, METRICS).map_or_else(|| METRICS.join(", "), str::to_owned);
                return Err(format!("there is no figure `{metric}`; try {near}"));
            }
            let limit = limit.parse().ok().filter(|limit: &f64| limit.is_finite());
            let limit = limit.ok_or_else(|| format!("`{text}` compares with no number"))?;
            return Ok(Self::Figure { metric: metric.to_owned(), op, limit });
        }
        let kinds = KINDS.map(|(name, _)| name).join(", ");
        Err(format!("write a comparison such as `lost_traffic_min_per_year>10`, or one of {kinds}"))
    }
}

impl Condition {
    /// What holds that must not; none if it does not hold.
    #[must_use]
    pub fn failure(&self, results: &ForecastResults) -> Option<String> {
        match self {
            Self::Figure { metric, op, limit } => {
                let found = results.metrics().get(metric.as_str()).copied().unwrap_or(f64::NAN);
                if found.is_nan() {
                    // What was not played has not passed.
                    return Some(format!("{metric} is not known: nothing that tells it was played"));
                }
                let holds = match *op {
                    ">" => found > *limit,
                    ">=" => found >= *limit,
                    "<" => found < *limit,
                    _ => found <= *limit,
                };
                holds.then(|| format!("{metric} is {found:.2}, which is {op} {limit}"))
            }
            Self::Incident(name, kind) => {
                let rows: Vec<_> = results.incidents.iter().filter(|row| row.kind == *kind).collect();
                if rows.is_empty() {
                    // What was not played has not passed.
                    return Some(format!("{name}: no such incident was played"));
                }
                let waiting = results.stands_on.unscheduled as u64;
                let fails = |row: &&&super::results::IncidentRow| {
                    row.worst_min > LOST_MAX_MIN || row.unscheduled > waiting || row.is_blocked || row.pods_lost > 0
                };
                let failed: Vec<_> = rows.iter().filter(fails).collect();
                let first = failed.first()?;
                let what = match (&first.worst, first.is_blocked) {
                    (_, true) => "waits in vain".to_owned(),
                    (Some(worst), _) if first.worst_min > LOST_MAX_MIN => {
                        format!("costs {worst} {:.1} min", first.worst_min)
                    }
                    _ if first.pods_lost > 0 => {
                        format!("loses {} for good", crate::units::counted(first.pods_lost as usize, "pod", "pods"))
                    }
                    _ => format!(
                        "leaves {} without a node",
                        crate::units::counted(first.unscheduled as usize, "pod", "pods")
                    ),
                };
                Some(format!("{name}: {} of {} fail; {} {what}", failed.len(), rows.len(), first.label))
            }
        }
    }
}

/// The forecast of last time.
#[derive(Clone, Debug)]
pub struct Baseline {
    json: Value,
}

impl Baseline {
    /// Reads a `forecast.json`.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is something else.
    pub fn read(path: &Path) -> Result<Self, Invalid> {
        let text = scenario::read_text(path)?;
        let name = path.display();
        let json: Value = serde_json::from_str(&text).map_err(|error| {
            Invalid::of(Diagnostic::error("scenario::bad_value", format!("{name} cannot be read: {error}")))
        })?;
        if !json["findings"].is_array() || !json["units"].is_array() {
            let diagnostic =
                Diagnostic::error("scenario::bad_value", format!("{name} is not the forecast.json of a forecast"));
            return Err(Invalid::of(diagnostic));
        }
        Ok(Self { json })
    }

    /// What is better, worse, new and gone.
    #[must_use]
    pub fn compared_with(&self, results: &ForecastResults) -> Remark {
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let before = &self.json["lost_min_per_year"];
        let (low, high) = (number(&before["low"]), number(&before["high"]));
        let now = results.lost;
        if number(&before["mean"]).is_nan() || now.mean.is_nan() {
            let which = if now.mean.is_nan() { "this time" } else { "last time" };
            let text = format!("Since last time: nothing can be compared, as nothing was played {which}");
            return Remark::new(Tone::Neutral, text);
        }
        let known: BTreeSet<&str> =
            self.json["units"].as_array().into_iter().flatten().filter_map(|unit| unit["unit"].as_str()).collect();
        // What every cluster has tells none from another.
        let is_own = |unit: &str| !unit.contains("/kube-system/");
        let has_own = known.iter().any(|unit| is_own(unit)) && results.units.iter().any(|unit| is_own(&unit.object));
        let is_known = |unit: &str| known.contains(unit) && (is_own(unit) || !has_own);
        if !results.units.is_empty() && !results.units.iter().any(|unit| is_known(&unit.object)) {
            let name = self.json["forecast"].as_str().unwrap_or("another cluster");
            let text =
                format!("Since last time: nothing can be compared, as no service and no workload of {name} is here");
            return Remark::new(Tone::Bad, text);
        }
        let (tone, word) = if now.low > high {
            (Tone::Bad, "worse")
        } else if now.high < low {
            (Tone::Good, "better")
        } else {
            (Tone::Neutral, "no different as far as can be told")
        };
        let text = format!(
            "Since last time: {word}, {:.1} -> {:.1} min of lost traffic a year",
            number(&before["mean"]),
            now.mean
        );
        let mut remark = Remark::new(tone, text);
        let json = results.json();
        remark = findings_told(remark, &self.json, &json);
        let interval = |json: &Value| -> BTreeMap<String, (f64, f64, f64)> {
            let of = |unit: &Value| {
                let lost = &unit["lost_min_per_year"];
                let name = unit["unit"].as_str()?.to_owned();
                Some((name, (number(&lost["low"]), number(&lost["mean"]), number(&lost["high"]))))
            };
            json["units"].as_array().into_iter().flatten().filter_map(of).collect()
        };
        let (old, new) = (interval(&self.json), interval(&json));
        for (name, (low, mean, high)) in &new {
            let Some((old_low, old_mean, old_high)) = old.get(name) else { continue };
            if low > old_high {
                remark = remark.with(format!("worse: {name}, {old_mean:.1} -> {mean:.1} min a year"));
            } else if high < old_low {
                remark = remark.with(format!("better: {name}, {old_mean:.1} -> {mean:.1} min a year"));
            }
        }
        remark
    }
}

/// Which findings are gone and which are new, as far as that is known.
fn findings_told(mut remark: Remark, before: &Value, now: &Value) -> Remark {
    let key = |finding: &Value| {
        format!("{} ({})", finding["finding"].as_str().unwrap_or_default(), finding["fix"].as_str().unwrap_or_default())
    };
    let all =
        |json: &Value| -> BTreeSet<String> { json["findings"].as_array().into_iter().flatten().map(key).collect() };
    let (old, new) = (all(before), all(now));
    // A finding for which no play was left may be there all the same.
    let is_cut = |json: &Value| json["plays_left_out"].as_u64().is_some_and(|plays| plays > 0);
    let told = [("gone", old.difference(&new), is_cut(now)), ("new", new.difference(&old), is_cut(before))];
    for (word, findings, is_unknown) in told {
        if is_unknown {
            remark =
                remark.with(format!("which findings are {word} is not known: the plays did not suffice to try all"));
            continue;
        }
        for finding in findings {
            remark = remark.with(format!("{word}: {finding}"));
        }
    }
    remark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_comparisons_or_kinds_of_incidents() {
        let figure = |metric: &str, op, limit| Ok(Condition::Figure { metric: metric.to_owned(), op, limit });
        assert_eq!("lost_traffic_min_per_year>10".parse(), figure("lost_traffic_min_per_year", ">", 10.0));
        assert_eq!(" findings >= 1 ".parse(), figure("findings", ">=", 1.0));
        assert_eq!("zone".parse(), Ok(Condition::Incident("zone", "zoneLost")));
        let refused = |text: &str| text.parse::<Condition>().expect_err(text);
        assert!(refused("lost_traffic_per_year>1").contains("try lost_traffic_min_per_year"));
        assert!(refused("findings>many").contains("no number"));
        assert!(refused("region").contains("node, zone, pair"));
    }
}
