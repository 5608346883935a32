//! Outages out of the evidence of them: events, audit logs, samples, dumps, logs and notices become a scenario that plays them again.
//!
//! Readers (`read/`) turn records into sightings; everything after them speaks of sightings alone and knows no format: `sources` makes
//! one account of all records, `timeline` sorts it by node and pod, `faults` and `commands` say what must have happened, `put_back`
//! takes it back from a cluster that was saved later, and the rest writes it down.

#[cfg(test)]
mod bench;
mod commands;
mod document;
mod evidence;
mod facts;
mod faults;
mod inventory;
mod put_back;
mod read;
mod rebuilt;
mod sources;
mod timeline;
mod unexplained;
mod words;

use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::cluster;
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, Sources};
use crate::evidence::{Instant, ObservedFact, RecordKind};
use crate::model::{ManifestObject, Object};
use crate::units::{SimDuration, counted};
use faults::Detection;
use inventory::Inventory;
use rebuilt::Rebuilt;
use timeline::Timeline;

pub use document::BoundedTime;
pub use evidence::{ClockOptions, Evidence, Unread};

/// A saved cluster is taken for that of t=0 if nothing happened for at most so long after.
const SAVED_BEFORE_MAX: SimDuration = SimDuration::from_secs(600);
/// What comes before the first thing that happened.
const LEAD: SimDuration = SimDuration::from_secs(60);
const MINUTE_NANOS: i64 = 60_000_000_000;

/// What the evidence does not say.
#[derive(Clone, Debug, Default)]
pub struct OutageOptions {
    /// The name of the scenario.
    pub name: String,
    /// The grace of the node lifecycle controller; `None`: that of the cluster's version.
    pub grace: Option<SimDuration>,
    /// The `latency` block of the scenario.
    pub latency: Map<String, Value>,
    /// What records do not say of their clocks.
    pub clock: ClockOptions,
    /// Whether what cannot be read may be left out.
    pub is_partial_allowed: bool,
}

/// An outage that was rebuilt: the files, and what there is to be said of it.
#[derive(Debug)]
pub struct ImportedOutage {
    /// `outage.yaml`.
    pub scenario: String,
    /// What stands there that is known within bounds only, in the order of the text.
    pub bounded: Vec<BoundedTime>,
    /// `cluster.yaml`: the cluster at t=0.
    pub cluster: String,
    /// `evidence.json`.
    pub record: String,
    /// Files that the scenario applies: names and texts.
    pub applied: Vec<(String, String)>,
    /// The rows of `observed.csv`.
    pub observed: Vec<ObservedFact>,
    /// When t=0 was.
    pub t0: Instant,
    /// What was read, a line each.
    pub read: Vec<String>,
    /// What was not read.
    pub unread: Vec<Unread>,
    /// The faults, a line each.
    pub faults: Vec<String>,
    /// What operators did, a line each.
    pub commands: Vec<String>,
    /// What nobody knows the reason of.
    pub unexplained: Vec<String>,
    /// What was changed in the cluster to have it as it was.
    pub put_back: Vec<String>,
    /// What could not be.
    pub not_put_back: Vec<String>,
    /// What is wrong with what was read, none of it so that the rest is of no use.
    pub warnings: Diagnostics,
    /// Texts that warnings are about.
    pub sources: Sources,
}

/// Which of the times that are known within bounds make a play agree best with what was seen.
#[derive(Clone, Debug, PartialEq)]
pub struct RefinedTimes {
    /// The agreement with the times that were guessed, from 0 to 1.
    pub before: f64,
    /// The agreement with these.
    pub after: f64,
    /// How many plays it took to find them.
    pub plays: usize,
    /// For each of [`ImportedOutage::bounded`]: the time, and how much of the agreement is lost if it alone stays as it was.
    pub times: Vec<(SimDuration, f64)>,
}

impl ImportedOutage {
    /// Writes refined times in place of those that were guessed, and what they explain beside them, into the scenario and the record.
    pub fn refine(&mut self, refined: &RefinedTimes) {
        let mut lines: Vec<String> = self.scenario.lines().map(str::to_owned).collect();
        let mut told = Vec::new();
        for (bounded, &(time, explains)) in self.bounded.iter_mut().zip(&refined.times) {
            let seconds = |length: SimDuration| length.as_millis() as f64 / 1e3;
            told.push(json!({
                "path": bounded.path, "fault": bounded.fault, "guess_s": seconds(bounded.value), "refined_s": seconds(time),
                "least_s": seconds(bounded.least), "most_s": seconds(bounded.most), "explains": explains,
            }));
            if time == bounded.value {
                continue;
            }
            let was = bounded.value.to_string();
            let line = lines[bounded.line].replacen(&was, &time.to_string(), 1);
            lines[bounded.line] = format!("{line}  # refined from {was}: explains {:.1} %", explains * 100.0);
            bounded.value = time;
        }
        self.scenario = lines.join("\n") + "\n";
        let mut record: Value = serde_json::from_str(&self.record).expect("evidence.json is JSON");
        record["refined"] = json!({
            "agreement_before": refined.before, "agreement_after": refined.after, "plays": refined.plays, "times": told,
        });
        self.record = serde_json::to_string_pretty(&record).expect("a tree of texts and numbers") + "\n";
    }
}

/// Why there is no outage.
#[derive(Debug)]
pub struct UnusableOutage {
    /// What is wrong.
    pub diagnostics: Diagnostics,
    /// The texts that it is about.
    pub sources: Sources,
}

/// Reads evidence and makes an outage of it.
#[derive(Debug, Default)]
pub struct OutageImport {
    options: OutageOptions,
    evidence: Evidence,
}

impl OutageImport {
    /// Nothing read yet.
    #[must_use]
    pub fn new(options: OutageOptions) -> Self {
        Self { options, evidence: Evidence::new() }
    }

    /// Reads a file, an archive, or a directory with all that is below it. What is wrong is said by [`Self::finish`].
    pub fn add(&mut self, path: &Path) {
        read::add(path, &self.options.clock, &mut self.evidence);
    }

    /// Reads what comes in a stream, such as standard input; `name` is how messages name it.
    pub fn add_stream(&mut self, stream: impl Read + 'static, name: &str) {
        read::add_stream(stream, name, &self.options.clock, &mut self.evidence);
    }

    /// The outage, on a cluster.
    ///
    /// # Errors
    ///
    /// Nothing was found, it is of another cluster, or, unless that is allowed, a part of it cannot be read.
    pub fn finish(mut self, cluster: &[ManifestObject]) -> Result<ImportedOutage, UnusableOutage> {
        read::finish(&self.options.clock, &mut self.evidence);
        rebuild(self.evidence, cluster, &self.options)
    }
}

/// Makes an outage of what was read, on a cluster.
///
/// # Errors
///
/// Nothing was found, it is of another cluster, or, unless that is allowed, a part of it cannot be read.
pub fn rebuild(
    mut evidence: Evidence,
    cluster: &[ManifestObject],
    options: &OutageOptions,
) -> Result<ImportedOutage, UnusableOutage> {
    if evidence.sightings.is_empty() && !evidence.diagnostics.has_errors() {
        let of_no_use = evidence.records.iter().map(|record| {
            format!("; `{}` ({}) has nothing in it of nodes or pods that counts", record.name, record.kind.as_str())
        });
        let unread = evidence.unread.iter().map(|unread| format!("; `{}`: {}", unread.name, unread.why));
        let mut message = format!("no evidence of anything was found{}", of_no_use.chain(unread).collect::<String>());
        if evidence.passed_over > 0 {
            let (one, several) = ("file that is none was passed over", "files that are none were passed over");
            message.push_str(&format!("; {}", counted(evidence.passed_over, one, several)));
        }
        let diagnostic = Diagnostic::error("evidence::nothing", message);
        let help =
            "give events (`kubectl get events -A -o json`), an audit log, samples of kube-state-metrics or a dump";
        evidence.problem(diagnostic.help(help), None);
    }
    let inventory = Inventory::of(cluster);
    let merged = if evidence.sightings.is_empty() {
        sources::Merged::default()
    } else {
        sources::merge(&mut evidence, &inventory)
    };
    let is_fatal = evidence.diagnostics.has_errors()
        && (merged.seen.is_empty() || !options.is_partial_allowed || is_stranger(&evidence));
    if is_fatal {
        return Err(UnusableOutage { diagnostics: evidence.diagnostics, sources: evidence.sources });
    }
    let grace = options.grace.unwrap_or_else(|| inventory.grace());
    let timeline = Timeline::new(&merged.seen, &evidence.records, &inventory);
    let found = faults::find(&timeline, Detection { grace });
    let commands = commands::find(&timeline, &found);
    let t0 = beginning(&timeline, &found, &commands, &inventory);
    let unexplained = unexplained::unexplained(&timeline, &found, &commands, t0);
    let observed = facts::facts(&timeline, t0);
    let put_back = put_back::put_back(cluster, &timeline, t0);
    let has_node = |objects: &[ManifestObject]| objects.iter().any(|object| matches!(object.object, Object::Node(_)));
    let are_added = commands.commands.iter().any(|command| matches!(command.action, commands::Action::AddNodes { .. }));
    if has_node(cluster) && !has_node(&put_back.objects) && !are_added {
        let message =
            format!("the cluster had no node yet at t=0, {t0}: the records tell of how it came up, not of an outage");
        let help = "give records of the time in which the cluster was up, or a cluster that was saved before them";
        evidence.problem(Diagnostic::error("evidence::no_cluster", message).help(help), None);
        return Err(UnusableOutage { diagnostics: evidence.diagnostics, sources: evidence.sources });
    }
    let entries = faults::group(found.faults, &inventory);
    let rebuilt = Rebuilt {
        t0,
        grace,
        is_grace_given: options.grace.is_some(),
        latency: options.latency.clone(),
        records: &evidence.records,
        unread: &evidence.unread,
        passed_over: evidence.passed_over,
        untold: &evidence.untold,
        clocks: &merged.clocks,
        repeated: merged.repeated,
        unknown_nodes: merged.unknown_nodes.len(),
        unknown_pods: merged.unknown_pods.len(),
        seen: &merged.seen,
        inventory: &inventory,
        entries: &entries,
        commands: &commands.commands,
        unexplained: &unexplained,
        facts: &observed.rows,
        facts_before: observed.before,
        put_back: &put_back,
    };
    let document::Document { text: scenario, files: applied, bounded } = document::document(&rebuilt, &options.name);
    let statement = format!("From: a cluster that was saved, as it was at {t0}");
    let (record, read) = (rebuilt.record(), read_lines(&evidence, &merged));
    let faults = entries.iter().map(|entry| document::told(entry, t0)).collect();
    let commands = commands.commands.iter().map(|command| told(command, t0)).collect();
    Ok(ImportedOutage {
        scenario,
        bounded,
        cluster: cluster::document(&put_back.objects, &[statement]),
        record,
        applied,
        t0,
        read,
        faults,
        commands,
        observed: observed.rows,
        unread: evidence.unread,
        unexplained,
        put_back: put_back.done,
        not_put_back: put_back.not_done,
        warnings: as_warnings(evidence.diagnostics),
        sources: evidence.sources,
    })
}

fn is_stranger(evidence: &Evidence) -> bool {
    evidence
        .diagnostics
        .iter()
        .any(|found| found.severity == Severity::Error && found.code == "evidence::other_cluster")
}

fn as_warnings(diagnostics: Diagnostics) -> Diagnostics {
    let softened = diagnostics.into_iter().map(|mut found| {
        found.severity = Severity::Warning;
        found
    });
    softened.collect()
}

/// A line for each kind of record.
fn read_lines(evidence: &Evidence, merged: &sources::Merged) -> Vec<String> {
    let count = |kind: RecordKind| {
        let is_of = |record: &crate::evidence::RecordId| evidence.records[record.0 as usize].kind == kind;
        merged.seen.iter().flat_map(|seen| &seen.said).filter(|said| is_of(&said.record)).count()
    };
    RecordKind::ALL
        .into_iter()
        .filter_map(|kind| {
            let records = evidence.records.iter().filter(|record| record.kind == kind).count();
            let sightings = counted(count(kind), "sighting", "sightings");
            (records > 0)
                .then(|| format!("{}: {sightings} in {}", kind.as_str(), counted(records, "record", "records")))
        })
        .collect()
}

fn told(command: &commands::Command, t0: Instant) -> String {
    let what = match &command.action {
        commands::Action::Kubectl(line) => format!("kubectl {line}"),
        commands::Action::Apply(_) => "kubectl apply".to_owned(),
        commands::Action::KillPods { namespace, selector, count } => {
            format!("{} of {selector} in {namespace} deleted", counted(*count, "pod", "pods"))
        }
        commands::Action::AddNodes { pool, count } => {
            format!("{} join pool {pool}", counted(*count, "node", "nodes"))
        }
    };
    let at = facts::since(command.when.middle(), t0).as_secs_f64();
    format!("{at:>8.1} s  {what}: {}", command.confidence.as_str())
}

/// t=0: when the cluster was saved, if the outage began soon after; else a whole minute before the first thing that happened.
fn beginning(
    timeline: &Timeline<'_>,
    found: &faults::Found,
    commands: &commands::Commands,
    inventory: &Inventory,
) -> Instant {
    let faults = found.faults.iter().map(|fault| fault.begin.earliest);
    let commands = commands.commands.iter().map(|command| command.when.earliest);
    let happened = faults.chain(commands).min();
    let seen = timeline.seen.iter().map(|seen| seen.when.earliest).min();
    let first = happened.or(seen).unwrap_or_default();
    if let Some(saved) = inventory.saved
        && saved <= first
        && saved.later(SAVED_BEFORE_MAX) >= first
    {
        return saved;
    }
    let lead = first.earlier(LEAD).unix_nanos();
    Instant::from_unix_nanos(lead.div_euclid(MINUTE_NANOS) * MINUTE_NANOS)
}
