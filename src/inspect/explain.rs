//! Why: the history of an object, each step with the chain of causes behind it.

use std::collections::BTreeSet;
use std::path::Path;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::InspectError;
use super::causes::{Effect, object_of};
use super::names;
use super::record::Record;

/// What happened to an object, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// What was asked for: `pod/NS/NAME`, `node/NAME`, `deployment/NS/NAME`.
    pub object: String,
    /// Its history, and for a workload that of the pods it lost and made.
    pub chapters: Vec<Chapter>,
}

/// A step of the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chapter {
    /// What happened.
    #[serde(flatten)]
    pub effect: Link,
    /// Its causes, nearest first.
    pub because: Vec<Link>,
    /// What it led to at once.
    pub led_to: Vec<Link>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Link {
    /// When, in seconds since t=0.
    pub time_s: f64,
    /// What.
    pub what: String,
}

/// Walks `causes.csv` for an object of a run, which may be named by less than its whole name if that is unambiguous: every step, with the
/// whole chain of its causes.
///
/// # Errors
///
/// If the directory is no run's or damaged, or nothing in the run has that name, or several things have.
pub fn explain(dir: &Path, object: &str) -> Result<Explanation, InspectError> {
    let record = Record::read(dir)?;
    let object = names::of_run(&record, object)?;
    let causes = &record.causes;
    let is_of = |pod: &&super::record::Pod| pod.workload == object || pod.owner == object;
    let pods = record.pods.iter().filter(is_of).map(|pod| pod.name.as_str());
    let about: BTreeSet<&str> = pods.chain([object.as_str()]).collect();
    let mut effects: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for (index, effect) in causes.effects.iter().enumerate() {
        if let Some(cause) = effect.cause {
            effects.entry(cause).or_default().push(index);
        }
    }
    let mut chapters: Vec<Chapter> = Vec::new();
    for (index, effect) in causes.effects.iter().enumerate() {
        let Some(name) = object_of(&effect.what).filter(|name| about.contains(name)) else { continue };
        let because = causes.chain(index).map(|cause| link(&causes.effects[cause])).collect();
        let led_to = effects.get(&index).into_iter().flatten().map(|effect| &causes.effects[*effect]);
        let led_to = led_to.filter(|effect| object_of(&effect.what) != Some(name)).map(link).collect();
        chapters.push(Chapter { effect: link(effect), because, led_to });
    }
    Ok(Explanation { object, chapters })
}

fn link(effect: &Effect) -> Link {
    Link { time_s: effect.at.as_secs_f64(), what: effect.what.clone() }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
