//! Stories: the life of an object in sentences with times and causes, from the tables of its run. Every time that is told stands in one
//! of them.

mod arithmetic;
mod budget;
mod fates;
mod job;
mod node;
mod pending;
mod pod;
mod service;
mod workload;

use std::path::Path;

use rustc_hash::FxHashMap;
use serde::{Serialize, Serializer};

use super::InspectError;
use super::causes::{Causes, object_of};
use super::names;
use super::record::{Pod, Record};
use super::sentence::Sentence;
use super::words;
use crate::units::{SimDuration, SimTime, counted};

/// The story of an object.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Story {
    /// Of which: `pod/NS/NAME`, `node/NAME`, `deployment/NS/NAME`.
    pub object: String,
    /// What became of it, in sentences.
    pub facts: Vec<Sentence>,
    /// Where the time went, term by term.
    pub sums: Vec<Sum>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// Its longest shortage, from when to when: of many steps, those in it are told first.
    #[serde(skip)]
    pub worst: Option<(SimTime, SimTime)>,
}

/// Lengths that add up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sum {
    /// What they are of.
    pub title: String,
    /// In order; each begins where the one before ends.
    pub terms: Vec<Term>,
    /// From the beginning of the first to the end of the last.
    #[serde(rename = "together_s", serialize_with = "length")]
    pub together: SimDuration,
}

/// A part of a sum.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Term {
    /// What it is.
    pub name: &'static str,
    /// How long it lasts.
    #[serde(rename = "takes_s", serialize_with = "length")]
    pub takes: SimDuration,
    /// When it ends, if a table says so.
    #[serde(rename = "until_s", serialize_with = "maybe_instant")]
    pub until: Option<SimTime>,
    /// Who makes it so long.
    pub why: Sentence,
}

/// A step of a story.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// When.
    #[serde(rename = "at_s", serialize_with = "instant")]
    pub at: SimTime,
    /// What happened.
    pub says: Sentence,
    /// What it follows from, the nearest first; empty where the step before says so.
    pub because: Vec<Because>,
    /// Where that chain begins; none where the step before says so.
    pub origin: Option<Origin>,
}

/// A link of a chain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Because {
    /// When.
    #[serde(rename = "at_s", serialize_with = "instant")]
    pub at: SimTime,
    /// What happened.
    pub says: Sentence,
}

/// What a chain begins with.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An entry of the timeline or a fault: what the scenario says.
    Scenario,
    /// A schedule, a load, or a retry that was due: a component by its own clock.
    Component,
    /// What was there when the run began.
    Start,
}

fn instant<S: Serializer>(at: &SimTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_secs_f64())
}

fn maybe_instant<S: Serializer>(at: &Option<SimTime>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(SimTime::as_secs_f64).serialize(serializer)
}

fn length<S: Serializer>(length: &SimDuration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(length.as_secs_f64())
}

/// Tells the story of an object of a run, which may be named by less than its whole name if that is unambiguous.
///
/// # Errors
///
/// If the directory is no run's or damaged, or nothing in the run has that name, or several things have.
pub fn tell(dir: &Path, object: &str) -> Result<Story, InspectError> {
    let record = Record::read(dir)?;
    let object = names::of_run(&record, object)?;
    Ok(story_of(&record, &object))
}

/// The story of an object by its whole name.
pub(super) fn story_of(record: &Record, object: &str) -> Story {
    let kind = object.split('/').next().unwrap_or_default();
    let mut story = match kind {
        "node" => node::story(record, object),
        "service" => service::story(record, object),
        "poddisruptionbudget" => budget::story(record, object),
        "pod" if record.pods_by_name.contains_key(object) => pod::story(record, object),
        "job" if record.workloads.contains_key(object) => job::story(record, object),
        _ if record.workloads.contains_key(object) => workload::story(record, object),
        _ => Story { steps: steps_of(record, [object]), ..Story::default() },
    };
    object.clone_into(&mut story.object);
    story.facts.extend(traps(record, object));
    story
}

/// Stretches and faults that are told one by one.
const TOLD_MAX: usize = 12;

/// A time in which something was so.
struct Stretch {
    from: SimTime,
    to: SimTime,
    says: Sentence,
}

/// Stretches in their order; of many, the longest, and how many there are besides.
fn longest(mut stretches: Vec<Stretch>, table: &str) -> Vec<Sentence> {
    let more = stretches.len().saturating_sub(TOLD_MAX);
    if more > 0 {
        stretches.sort_by_key(|of| (std::cmp::Reverse(of.to.saturating_since(of.from)), of.from));
        stretches.truncate(TOLD_MAX);
        stretches.sort_by_key(|of| of.from);
    }
    let mut told: Vec<Sentence> = stretches.into_iter().map(|of| of.says).collect();
    if more > 0 {
        let count = counted(more, "time", "times");
        told.push(Sentence::new(format!("and {count} more, none of them longer, in {table}")));
    }
    told
}

/// The traps that decided about it, or about its pods.
fn traps(record: &Record, object: &str) -> Vec<Sentence> {
    let is_of = |pod: &Pod| {
        pod.workload == object || pod.owner == object || pod.node_object().is_some_and(|node| node == object)
    };
    let told = |trap: &serde_json::Value| {
        let field = |name: &str| trap[name].as_str().unwrap_or_default();
        let (name, text, see) = (field("trap"), field("text"), field("see"));
        let all = record.trapped.get(name).map_or(&[][..], Vec::as_slice);
        let first = trap["objects"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
        let is_meant = first.chain(all.iter().map(String::as_str)).any(|of| of == object);
        if text.split([' ', ',', ':']).any(|word| word == object) {
            return Some(Sentence::new(format!("A known trap, {name}: {text} ({see})")));
        }
        if is_meant {
            return Some(Sentence::new(format!("A known trap, {name}, decided about it, too: {text} ({see})")));
        }
        let pods = all.iter().filter_map(|pod| record.pods_by_name.get(pod)).filter(|positions| {
            let mut of_name = positions.iter().map(|pod| &record.pods[*pod]);
            of_name.any(is_of)
        });
        let count = pods.count();
        let pods = counted(count, "pod", "pods");
        (count > 0).then(|| Sentence::new(format!("A known trap, {name}, decided about {pods} of it: {text} ({see})")))
    };
    record.summary["traps"].as_array().into_iter().flatten().filter_map(told).collect()
}

/// What happened to objects, each with its chain. A step that follows from the one before it, or from what that one follows from, says
/// so by having none.
fn steps_of<'a>(record: &Record, objects: impl IntoIterator<Item = &'a str>) -> Vec<Step> {
    let causes = &record.causes;
    let mut rows: Vec<usize> = objects.into_iter().flat_map(|object| causes.about(object).iter().copied()).collect();
    rows.sort_unstable();
    let mut steps: Vec<Step> = Vec::new();
    let mut told: Vec<usize> = Vec::new();
    let mut endpoints: FxHashMap<&str, i64> = FxHashMap::default();
    for row in rows {
        let Some(says) = words::says(causes, row) else { continue };
        let effect = &causes.effects[row];
        // A slice of endpoints is written again with the same count for each change of a pod behind it.
        if let Some((service, count)) = ready_endpoints(&effect.what) {
            let at_start = || record.services.get(service)?.first().filter(|row| row.at == SimTime::ZERO);
            let before = endpoints.insert(service, count).or_else(|| Some(at_start()?.ready));
            if before == Some(count) {
                continue;
            }
        }
        let known = effect.cause.is_some_and(|cause| told.contains(&cause));
        let (because, origin) = if known { (Vec::new(), None) } else { chain(causes, row) };
        told = causes.chain(row).chain([row]).chain(if known { told } else { Vec::new() }).collect();
        told.sort_unstable();
        told.dedup();
        steps.push(Step { at: effect.at, says, because, origin });
    }
    steps
}

/// The service and the number of `service/NS/NAME has 7 ready endpoints`.
fn ready_endpoints(what: &str) -> Option<(&str, i64)> {
    let (service, count) = what.strip_suffix(" ready endpoints")?.split_once(" has ")?;
    Some((service, count.parse().ok()?))
}

/// The chain of a row, and where it begins.
fn chain(causes: &Causes, row: usize) -> (Vec<Because>, Option<Origin>) {
    let link = |index: usize| Because { at: causes.effects[index].at, says: words::clause(causes, index) };
    (causes.chain(row).map(link).collect(), Some(origin(causes, row)))
}

/// What the chain of a row begins with.
fn origin(causes: &Causes, row: usize) -> Origin {
    let root = &causes.effects[causes.root(row)].what;
    let first = root.split(' ').next().unwrap_or_default();
    match first {
        "scenario:" => Origin::Scenario,
        _ if first.ends_with(':') => Origin::Component,
        _ => Origin::Start,
    }
}

/// The row of what happened to an object at an instant, if something did that people are told.
fn row_at(causes: &Causes, object: &str, at: SimTime) -> Option<usize> {
    let mut rows = causes.about(object).iter().copied();
    rows.find(|row| causes.effects[*row].at == at && words::says(causes, *row).is_some())
}

/// Who typed or did what a row follows from, as a clause: `because of kubectl drain w-1, typed at …`.
fn by_whom(causes: &Causes, row: usize) -> Option<Sentence> {
    let root = causes.root(row);
    let what = &causes.effects[root].what;
    (root != row && object_of(what).is_none()).then(|| {
        Sentence::new(", because of ").then(words::clause(causes, root)).text(" at ").at(causes.effects[root].at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_stretches_the_longest_are_told_in_their_order() {
        let second = |seconds: u64| SimTime::ZERO + SimDuration::from_secs(seconds);
        let stretch = |from: u64, length: u64| Stretch {
            from: second(from),
            to: second(from + length),
            says: Sentence::default().at(second(from)),
        };
        let told = |count: u64| {
            let all = (0..count).map(|index| stretch(index * 100, 1 + index * 7 % 13));
            longest(all.collect(), "some.csv")
        };
        assert_eq!(told(12).len(), 12);
        let told = told(14);
        let more = Sentence::new("and 2 times more, none of them longer, in some.csv");
        assert_eq!(told.last(), Some(&more));
        // Those of 1 s, the first and the last, give way.
        let expected: Vec<Sentence> = (1..=12).map(|index| Sentence::default().at(second(index * 100))).collect();
        assert_eq!(told[..12], expected);
    }
}
