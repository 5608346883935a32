//! Why something happened in a finished run.

use std::fmt::{self, Write as _};

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::error::Error;
use super::report::Report;
use crate::inspect::{self, Chapter, Link, Origin, Part, Sentence, Step, Story, Sum};
use crate::kubectl::Kind;
use crate::units::{SimDuration, SimTime, counted, cut, length, moment};

/// Steps that are told in short.
const STEPS_MAX: usize = 30;
/// Causes of a step that are told in short.
const LINKS_MAX: usize = 4;
/// Characters of a line: what the scheduler or kubectl says can be long.
const LINE_LENGTH_MAX: usize = 400;

/// What became of an object of a run, and why. It is printed as `kubesquall explain` does, and writes itself as its `-o json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation(Told);

#[derive(Clone, Debug, PartialEq)]
enum Told {
    Story(Story),
    InFull(inspect::Explanation),
}

impl Report {
    /// Tells the story of an object of a run: `pod/NAMESPACE/NAME`, `node/NAME`, a workload as `deployment/NAMESPACE/NAME`; or a part of
    /// that which nothing else is called.
    ///
    /// # Errors
    ///
    /// If these are not the results of a run, something in them is damaged, nothing in the run has that name, or several things have.
    ///
    /// # Examples
    ///
    /// ```
    /// use kubesquall::{Report, Scenario};
    ///
    /// # let text = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: crash}, spec: {duration: 10m, cluster: \
    /// #     {nodePools: [{name: n, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}, \
    /// #     timeline: [{at: 1m, fault: {kind: Crash, nodes: {names: [n-1]}}}]}}";
    /// # let dir = tempfile::tempdir().unwrap();
    /// # let dir = dir.path().join("results");
    /// let place = Scenario::parse(text, [("", ""); 0])?.play(7).write(&dir)?;
    /// let story = Report::open(place)?.explain("n-1")?;
    /// assert!(story.to_string().starts_with("node/n-1\n"));
    /// assert_eq!(story.to_json()["object"], "node/n-1");
    /// # Ok::<(), kubesquall::Error>(())
    /// ```
    pub fn explain(&self, object: &str) -> Result<Explanation, Error> {
        Ok(Explanation(Told::Story(inspect::tell(self.dir(), &in_full(object))?)))
    }

    /// Every step of an object and its pods, each with all of its causes.
    ///
    /// # Errors
    ///
    /// As [`explain`](Report::explain).
    pub fn explain_in_full(&self, object: &str) -> Result<Explanation, Error> {
        Ok(Explanation(Told::InFull(inspect::explain(self.dir(), &in_full(object))?)))
    }
}

impl Explanation {
    /// All that is told, as data.
    ///
    /// # Panics
    ///
    /// Never: it is plain data.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("plain data")
    }
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Told::Story(story) => story.serialize(serializer),
            Told::InFull(explanation) => explanation.serialize(serializer),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&match &self.0 {
            Told::Story(story) => text(story),
            Told::InFull(explanation) => all(explanation),
        })
    }
}

/// An object with its kind as results name it, in place of a plural, a short name or one with its group: `deploy/web`.
fn in_full(object: &str) -> String {
    let Some((word, rest)) = object.split_once('/') else { return object.to_owned() };
    match Kind::parse(word) {
        // What happens to objects that decide nothing is not recorded; the word may be a namespace.
        Kind::Stored(kind) if !kind.is_autoscaler() => object.to_owned(),
        kind => {
            let printed = kind.printed();
            format!("{}/{rest}", printed.split_once('.').map_or(printed, |(name, _)| name))
        }
    }
}

/// A sentence with its times and lengths written out.
fn written(sentence: &Sentence) -> String {
    let parts = sentence.0.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::At(at) => moment(at.as_secs_f64()),
        Part::Lasting(time) => length(time.as_secs_f64()),
        Part::Object(name) => name.clone(),
    });
    cut(&parts.collect::<String>(), LINE_LENGTH_MAX)
}

fn text(story: &Story) -> String {
    let Story { object, facts, sums, steps, worst } = story;
    if facts.is_empty() && steps.is_empty() {
        return format!("Nothing happened to {object} during the run.\n");
    }
    let mut text = format!("{object}\n");
    for fact in facts {
        let _ = writeln!(text, "  {}.", written(fact).trim_end_matches('.'));
    }
    for sum in sums {
        write_sum(&mut text, sum);
    }
    // Of a year, the first weeks say little; how it came to the worst is what somebody asks.
    let of_worst = |at: SimTime| worst.is_some_and(|(from, to)| (from..=to).contains(&at));
    let worst_first = steps.len() > STEPS_MAX && steps.iter().any(|step| of_worst(step.at));
    let shown = steps.iter().filter(|step| !worst_first || of_worst(step.at)).take(STEPS_MAX);
    let shown: Vec<&Step> = shown.collect();
    let title = match (steps.is_empty(), worst_first) {
        (true, _) => "Nothing else happened to it.",
        (false, true) => "What happened in its longest shortage",
        (false, false) => "What happened",
    };
    let _ = writeln!(text, "\n{title}");
    let width = widest(shown.iter().map(|step| step.at));
    for step in &shown {
        let _ = writeln!(text, "{:>width$}  {}", moment(step.at.as_secs_f64()), written(&step.says));
        write_chain(&mut text, step, width);
    }
    if let Some(rest @ 1..) = steps.len().checked_sub(shown.len()) {
        let _ = writeln!(text, "and {}: --all, or -o json", counted(rest, "more step", "more steps"));
    }
    text
}

/// The terms of a sum: what each takes, until when, and why.
fn write_sum(text: &mut String, sum: &Sum) {
    let _ = writeln!(text, "\n{}", sum.title);
    let seconds = |time: SimDuration| format!("{} s", SimTime::ZERO + time);
    let width = 2 + widest(sum.terms.iter().filter_map(|term| term.until));
    for term in &sum.terms {
        let takes = if term.takes.is_zero() { String::new() } else { seconds(term.takes) };
        let until = term.until.map_or_else(String::new, |at| moment(at.as_secs_f64()));
        let why = written(&term.why);
        let _ = writeln!(text, "  {:<24}{takes:>13}{until:>width$}  {why}", term.name);
    }
    let _ = writeln!(text, "  {:<24}{:>13}", "together", seconds(sum.together));
}

/// Characters of the longest of these moments, and of those of a short run.
fn widest(moments: impl Iterator<Item = SimTime>) -> usize {
    moments.map(|at| moment(at.as_secs_f64()).len()).max().unwrap_or(0).max(11)
}

/// The chain of causes: the nearest ones and the root, below what follows from them.
fn write_chain(text: &mut String, step: &Step, width: usize) {
    let indent = " ".repeat(width + 2);
    let chain = &step.because;
    let hidden = chain.len().saturating_sub(LINKS_MAX);
    for (place, link) in chain.iter().enumerate() {
        if hidden > 0 && place == LINKS_MAX - 1 {
            let _ = writeln!(text, "{indent}…");
        }
        if place < LINKS_MAX - 1 || place >= LINKS_MAX - 1 + hidden {
            let _ = writeln!(text, "{indent}because {}  {}", moment(link.at.as_secs_f64()), written(&link.says));
        }
    }
    if step.origin == Some(Origin::Start) {
        let _ = writeln!(text, "{indent}because of what was there when the run began");
    }
}

fn line(link: &Link) -> String {
    format!("{:>10}  {}", moment(link.time_s), link.what)
}

/// Every step with all its causes.
fn all(explanation: &inspect::Explanation) -> String {
    let inspect::Explanation { object, chapters } = explanation;
    if chapters.is_empty() {
        return format!("Nothing happened to {object} during the run.\n");
    }
    let mut text = format!("{object}: {}\n", counted(chapters.len(), "step", "steps"));
    for Chapter { effect, because, led_to } in chapters {
        let _ = writeln!(text, "\n{}", line(effect));
        for link in because {
            let _ = writeln!(text, "            because {}", line(link).trim_start());
        }
        for link in led_to {
            let _ = writeln!(text, "            led to  {}", line(link).trim_start());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_may_be_written_as_kubectl_takes_them() {
        let check = |written: &str, expected: &str| assert_eq!(in_full(written), expected);
        check("deploy/shop/web", "deployment/shop/web");
        check("deployments.apps/web", "deployment/web");
        check("PVC/shop/data", "persistentvolumeclaim/shop/data");
        check("cj/web", "cronjob/web");
        check("hpa/shop/web", "horizontalpodautoscaler/shop/web");
        check("pdb/web", "poddisruptionbudget/web");
        check("ns/shop", "namespace/shop");
        check("sts/web", "statefulset/web");
        check("po/web-5d-a", "pod/web-5d-a");
        check("shop/web-5d-a", "shop/web-5d-a");
        check("web", "web");
    }
}
