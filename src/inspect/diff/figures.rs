//! Metrics, workloads and services of two runs: the numbers that differ, those that matter most first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::verdict::{FELT_S, lasting};
use crate::inspect::record::object_name;

/// The metrics that a review asks for first, in its order; others follow by name.
const FIRST: [&str; 13] = [
    "workloads_below_desired_end",
    "pods_lost",
    "pods_pending_end",
    "below_min_ready_s",
    "below_desired_s",
    "unready_replica_s",
    "longest_gap_s",
    "lost_traffic_s",
    "without_targets_s",
    "evictions",
    "needless_evictions",
    "preemptions",
    "stateful_interruptions",
];

/// What of a workload is a fate: seconds with fewer ready pods than wanted, and than its objective asks for.
const SHORT: [&str; 2] = ["below_desired_s", "below_min_ready_s"];

/// What of a service is a fate.
const TRAFFIC: [&str; 1] = ["lost_traffic_s"];

/// A number in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Of what.
    pub metric: String,
    /// In the first run; none if it does not have it.
    pub before: Option<f64>,
    /// In the second run.
    pub after: Option<f64>,
}

/// A figure that a review asks for first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Headline {
    /// What it is, in words.
    pub label: &'static str,
    /// The metric, whose name ends with `_s` if it is in seconds.
    pub metric: &'static str,
    /// In the first run and in the second.
    pub values: [f64; 2],
}

/// A workload in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkloadDifference {
    /// `deployment/NS/NAME`.
    pub workload: String,
    /// By how much its fate changed, in seconds with fewer ready pods than wanted and in seconds with fewer than its objective asks for,
    /// together: above zero if it fared worse in the second run. None if only one run has it.
    pub worse_s: Option<f64>,
    /// For how long it had fewer ready pods than wanted, in the first run and in the second; none if only one run has it.
    pub short_s: Option<[f64; 2]>,
    /// Whether it is short at the end, in the first run and in the second; none if only one run has it.
    pub short_end: Option<[bool; 2]>,
    /// What else of its fate became another, in words.
    pub notes: Vec<String>,
    /// The numbers that differ.
    pub numbers: Vec<Difference>,
}

impl WorkloadDifference {
    /// Whether both runs have it, and somebody could tell the one from the other: by a second or more, or by its pods.
    #[must_use]
    pub fn is_felt(&self) -> bool {
        self.worse_s.is_some_and(|worse| worse.abs() >= FELT_S) || !self.notes.is_empty()
    }
}

/// A service in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServiceDifference {
    /// `service/NS/NAME`.
    pub service: String,
    /// By how much more traffic was lost in the second run, in seconds of all its requests. None if only one run has it.
    pub worse_s: Option<f64>,
    /// The numbers that differ.
    pub numbers: Vec<Difference>,
}

type Numbers = BTreeMap<String, f64>;

pub(super) fn metrics(summaries: [&Value; 2]) -> Vec<Difference> {
    let [before, after] = summaries.map(|summary| numbers(&summary["metrics"]));
    differences(&before, &after)
}

pub(super) fn workloads(summaries: [&Value; 2]) -> Vec<WorkloadDifference> {
    let mut found: Vec<WorkloadDifference> = changed(summaries, "workloads", &SHORT)
        .into_iter()
        .map(|Changed { name, worse_s, both, numbers }| {
            let is_short = |of: &Numbers| of.get("ready").unwrap_or(&0.0) < of.get("desired").unwrap_or(&0.0);
            let short_s = |of: &Numbers| of.get("below_desired_s").copied().unwrap_or(0.0);
            let short_end = both.as_ref().map(|both| both.each_ref().map(is_short));
            let short_s = both.map(|both| both.each_ref().map(short_s));
            let notes = if short_s.is_some() { notes(short_s, short_end, &numbers) } else { Vec::new() };
            WorkloadDifference { workload: name, worse_s, short_s, short_end, notes, numbers }
        })
        .collect();
    // What is broken at the end in one of them alone changed most; then what only one of them has.
    let is_lasting = |of: &WorkloadDifference| of.short_end.is_some_and(|[before, after]| before != after);
    found.sort_by(|a, b| {
        let by_numbers = || order((a.worse_s, &a.numbers), (b.worse_s, &b.numbers));
        let by_end = is_lasting(b).cmp(&is_lasting(a));
        by_end.then_with(by_numbers).then_with(|| a.workload.cmp(&b.workload))
    });
    found
}

pub(super) fn services(summaries: [&Value; 2]) -> Vec<ServiceDifference> {
    let found = changed(summaries, "services", &TRAFFIC).into_iter();
    let of = |Changed { name, worse_s, numbers, .. }: Changed| ServiceDifference { service: name, worse_s, numbers };
    let mut found: Vec<ServiceDifference> = found.map(of).collect();
    found.sort_by(|a, b| {
        order((a.worse_s, &a.numbers), (b.worse_s, &b.numbers)).then_with(|| a.service.cmp(&b.service))
    });
    found
}

/// Figures of a workload that are told beside how long it was short, and their words.
const NOTED: [(&str, &str); 5] = [
    ("below_min_ready_s", "below its objective's minReady"),
    ("missing_max", "missing at once"),
    ("evictions", "evicted"),
    ("preemptions", "preempted"),
    ("lost", "lost for good"),
];

/// What else became another with a workload.
fn notes(short_s: Option<[f64; 2]>, short_end: Option<[bool; 2]>, numbers: &[Difference]) -> Vec<String> {
    let find = |metric: &str| numbers.iter().find(|number| number.metric == metric);
    let mut notes = Vec::new();
    if let Some([before, after]) = short_end.filter(|[before, after]| before != after) {
        let state = |is_short: bool| if is_short { "short" } else { "whole" };
        notes.push(format!("at the end {} → {}", state(before), state(after)));
    }
    if let Some(Difference { before: Some(_), after: Some(after), .. }) = find("objective_met") {
        notes.push(if *after > 0.0 { "now meets its objective" } else { "now misses its objective" }.to_owned());
    }
    for (metric, words) in NOTED {
        let Some(number) = find(metric) else { continue };
        let [before, after] = [number.before, number.after].map(|side| side.unwrap_or(0.0));
        if !metric.ends_with("_s") {
            notes.push(format!("{words} {before:.0} → {after:.0}"));
        } else if short_s != Some([before, after]) && (after - before).abs() >= FELT_S {
            notes.push(format!("{words} {} → {}", lasting(before), lasting(after)));
        }
    }
    notes
}

/// The figures that a review asks for first.
pub(super) fn headlines(summaries: [&Value; 2]) -> Vec<Headline> {
    let metric = |metric: &'static str| summaries.map(|of| of["metrics"][metric].as_f64().unwrap_or(0.0));
    let is_short = |of: &&Value| {
        let number = |field: &str| of[field].as_f64().unwrap_or(0.0);
        number("below_desired_s") > 0.0 || number("ready") < number("desired")
    };
    let short = summaries.map(|of| of["workloads"].as_array().into_iter().flatten().filter(is_short).count() as f64);
    let of = |label, name| Headline { label, metric: name, values: metric(name) };
    vec![
        Headline { label: "Workloads that ran short", metric: "workloads_short", values: short },
        of("Longest gap", "longest_gap_s"),
        of("Lost traffic", "lost_traffic_s"),
        of("Pods evicted", "evictions"),
        of("Pods Pending at the end", "pods_pending_end"),
    ]
}

/// The one that changed more first: by its seconds, then by the pods that were missing in them, then by evictions.
fn order(a: (Option<f64>, &[Difference]), b: (Option<f64>, &[Difference])) -> std::cmp::Ordering {
    let size = |worse_s: Option<f64>| worse_s.map_or(f64::INFINITY, f64::abs);
    let of = |numbers: &[Difference], metric: &str| {
        let found = numbers.iter().find(|number| number.metric == metric);
        found.map_or(0.0, |number| (number.after.unwrap_or(0.0) - number.before.unwrap_or(0.0)).abs())
    };
    let by = |metric: &str| of(b.1, metric).total_cmp(&of(a.1, metric));
    size(b.0).total_cmp(&size(a.0)).then_with(|| by("unready_replica_s")).then_with(|| by("evictions"))
}

/// Something that has a row in the summary of each run.
struct Changed {
    name: String,
    worse_s: Option<f64>,
    /// All its numbers, if both runs have it.
    both: Option<[Numbers; 2]>,
    numbers: Vec<Difference>,
}

/// The rows of a list of the summaries of which a number differs; `fate` names those whose sum says how it fared.
fn changed(summaries: [&Value; 2], list: &str, fate: &[&str]) -> Vec<Changed> {
    let [before, after] = summaries.map(|summary| rows(&summary[list]));
    let empty = Numbers::new();
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let sides = (before.get(name), after.get(name));
        let numbers = differences(sides.0.unwrap_or(&empty), sides.1.unwrap_or(&empty));
        if numbers.is_empty() && sides.0.is_some() == sides.1.is_some() {
            continue;
        }
        let both = sides.0.zip(sides.1).map(|(before, after)| [before.clone(), after.clone()]);
        let sum = |of: &Numbers| fate.iter().map(|metric| of.get(*metric).unwrap_or(&0.0)).sum::<f64>();
        let worse_s = both.as_ref().map(|[before, after]| sum(after) - sum(before));
        found.push(Changed { name: name.clone(), worse_s, both, numbers });
    }
    found
}

/// The members of an object that are numbers or truth values.
fn numbers(object: &Value) -> Numbers {
    let members = object.as_object().into_iter().flatten();
    let number = |value: &Value| value.as_f64().or_else(|| value.as_bool().map(|is| f64::from(u8::from(is))));
    members.filter_map(|(name, value)| Some((name.clone(), number(value)?))).collect()
}

/// The numbers of each row of a list, by `deployment/NS/NAME`; a row that has no kind is a service's.
fn rows(list: &Value) -> BTreeMap<String, Numbers> {
    let all = list.as_array().into_iter().flatten();
    all.map(|row| {
        let text = |field: &str| row[field].as_str().unwrap_or_default();
        let kind = row["kind"].as_str().unwrap_or("service");
        (object_name(kind, text("namespace"), text("name")), numbers(row))
    })
    .collect()
}

/// The names of the rows of a list.
pub(super) fn names(list: &Value) -> BTreeSet<String> {
    rows(list).into_keys().collect()
}

fn differences(before: &Numbers, after: &Numbers) -> Vec<Difference> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let pairs = names.into_iter().map(|name| (name, before.get(name).copied(), after.get(name).copied()));
    let differing = pairs.filter(|(_, before, after)| before != after);
    let mut found: Vec<Difference> =
        differing.map(|(name, before, after)| Difference { metric: name.clone(), before, after }).collect();
    found.sort_by_key(|of| FIRST.iter().position(|first| *first == of.metric).unwrap_or(FIRST.len()));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(name: &str, desired: u32, ready: u32, short_s: f64, unready_s: f64) -> Value {
        serde_json::json!({
            "kind": "Deployment", "namespace": "a", "name": name, "desired": desired, "ready": ready,
            "below_desired_s": short_s, "below_min_ready_s": 0.0, "unready_replica_s": unready_s, "objective_met": short_s < 50.0
        })
    }

    fn summary(workloads: &[Value]) -> Value {
        serde_json::json!({"metrics": {"evictions": 3, "events": workloads.len()}, "workloads": workloads})
    }

    #[test]
    fn equal_numbers_are_left_out() {
        let summaries = [10.0, 70.0].map(|short_s| summary(&[workload("w", 3, 3, short_s, 5.0)]));
        assert_eq!(metrics(summaries.each_ref()), []);
        let found = workloads(summaries.each_ref());
        assert_eq!((found[0].workload.as_str(), found[0].worse_s), ("deployment/a/w", Some(60.0)));
        let of = |metric: &str, before, after| Difference { metric: metric.to_owned(), before, after };
        let expected = [of("below_desired_s", Some(10.0), Some(70.0)), of("objective_met", Some(1.0), Some(0.0))];
        assert_eq!(found[0].numbers, expected);
    }

    #[test]
    fn workloads_are_in_the_order_in_which_their_fates_changed() {
        let before = [
            workload("better", 3, 3, 300.0, 300.0),
            workload("broken", 3, 3, 0.0, 0.0),
            workload("deeper", 3, 3, 60.0, 60.0),
            workload("gone", 3, 3, 0.0, 0.0),
            workload("same", 3, 3, 9.0, 9.0),
            workload("worse", 3, 3, 0.0, 0.0),
        ];
        let after = [
            workload("better", 3, 3, 0.0, 0.0),
            workload("broken", 3, 2, 10.0, 10.0),
            workload("deeper", 3, 3, 60.0, 120.0),
            workload("same", 3, 3, 9.0, 9.0),
            workload("worse", 3, 3, 60.0, 60.0),
        ];
        let summaries = [summary(&before), summary(&after)];
        let found = workloads(summaries.each_ref());
        let order: Vec<(&str, Option<f64>)> =
            found.iter().map(|of| (of.workload.rsplit('/').next().expect("a name"), of.worse_s)).collect();
        let expected = [
            ("broken", Some(10.0)),
            ("gone", None),
            ("better", Some(-300.0)),
            ("worse", Some(60.0)),
            ("deeper", Some(0.0)),
        ];
        assert_eq!(order, expected);
        assert_eq!(found[0].short_end, Some([false, true]));
    }

    #[test]
    fn metrics_of_a_review_come_first() {
        let of = |evictions: u32| serde_json::json!({"metrics": {"events": evictions, "evictions": evictions, "pods_lost": evictions}});
        let found = metrics([&of(1), &of(2)]);
        let names: Vec<&str> = found.iter().map(|of| of.metric.as_str()).collect();
        assert_eq!(names, ["pods_lost", "evictions", "events"]);
    }
}
