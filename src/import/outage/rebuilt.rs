//! An outage as it was rebuilt, before it is written.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::commands::{Action, Command};
use super::evidence::Unread;
use super::facts::since;
use super::faults::{Entry, Hit};
use super::inventory::Inventory;
use super::put_back::PutBack;
use super::sources::{ClockOffset, Seen};
use super::words::words;
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant, ObservedFact, Record};
use crate::units::{SimDuration, SimTime, counted};

/// Everything that the files say.
#[derive(Debug)]
pub(super) struct Rebuilt<'a> {
    pub(super) t0: Instant,
    pub(super) grace: SimDuration,
    pub(super) is_grace_given: bool,
    pub(super) latency: Map<String, Value>,
    pub(super) records: &'a [Record],
    pub(super) unread: &'a [Unread],
    pub(super) passed_over: usize,
    /// Reasons of Events of which nothing is made, and how many there were.
    pub(super) untold: &'a BTreeMap<Symbol, usize>,
    pub(super) clocks: &'a [ClockOffset],
    pub(super) repeated: usize,
    pub(super) unknown_nodes: usize,
    pub(super) unknown_pods: usize,
    pub(super) seen: &'a [Seen],
    pub(super) inventory: &'a Inventory,
    pub(super) entries: &'a [Entry],
    pub(super) commands: &'a [Command],
    pub(super) unexplained: &'a [String],
    pub(super) facts: &'a [ObservedFact],
    pub(super) facts_before: usize,
    pub(super) put_back: &'a PutBack,
}

impl Rebuilt<'_> {
    /// `evidence.json`.
    pub(super) fn record(&self) -> String {
        let mut sightings: BTreeMap<u32, usize> = BTreeMap::new();
        for said in self.seen.iter().flat_map(|seen| &seen.said) {
            *sightings.entry(said.record.0).or_default() += 1;
        }
        let records: Vec<Value> = (0..).zip(self.records).map(|(id, record)| {
            let mut value = json!({
                "name": record.name, "kind": record.kind.as_str(), "sightings": sightings.get(&id).copied().unwrap_or(0),
            });
            if let Some(covers) = record.covers {
                value["covers"] = json!({"from": covers.earliest.to_string(), "until": covers.latest.to_string()});
            }
            if let Some(step) = record.step {
                value["step_s"] = number(step);
            }
            value
        }).collect();
        let name = |id: crate::evidence::RecordId| self.records[id.0 as usize].name.as_str();
        let clocks: Vec<Value> = self
            .clocks
            .iter()
            .map(|clock| {
                json!({
                    "record": name(clock.record), "reference": name(clock.reference),
                    "shifted_s": clock.nanos as f64 / 1e9, "things": clock.things,
                })
            })
            .collect();
        let not_read: Vec<Value> =
            self.unread.iter().map(|unread| json!({"name": unread.name, "why": unread.why})).collect();
        let document = json!({
            "t0": self.t0.to_string(),
            "grace_s": number(self.grace),
            "records": records,
            "not_read": not_read,
            "passed_over": self.passed_over,
            "untold": self.untold,
            "clocks": clocks,
            "repeated": self.repeated,
            "unknown": {"nodes": self.unknown_nodes, "pods": self.unknown_pods},
            "faults": self.entries.iter().map(|entry| self.entry(entry)).collect::<Vec<_>>(),
            "commands": self.commands.iter().map(|command| self.command(command)).collect::<Vec<_>>(),
            "facts": {"from_t0": self.facts.len(), "before": self.facts_before},
            "put_back": self.put_back.done,
            "not_put_back": self.put_back.not_done,
            "unexplained": self.unexplained,
        });
        let mut text = serde_json::to_string_pretty(&document).expect("a tree of texts and numbers");
        text.push('\n');
        text
    }

    fn entry(&self, entry: &Entry) -> Value {
        let first = entry.first();
        let hits: Vec<Value> = entry
            .faults
            .iter()
            .map(|fault| {
                let mut value = json!({
                    "hit": hit(&fault.hit),
                    "begin": self.bounds(fault.begin),
                    "confidence": fault.confidence.as_str(),
                    "reason": fault.reason,
                    "evidence": self.evidence(&fault.evidence),
                });
                if let Some(end) = fault.end {
                    value["end"] = self.bounds(end);
                }
                value
            })
            .collect();
        let mut value = json!({
            "kind": first.kind,
            "confidence": first.confidence.as_str(),
            "alternatives": first.alternatives,
            "shared_cause": entry.shared_cause,
            "at_s": seconds(since(entry.begin_guess, self.t0)),
            "begin": self.bounds(entry.begin),
            "hits": hits,
        });
        if let Some((end, guess)) = entry.end.zip(entry.end_guess) {
            value["end"] = self.bounds(end);
            value["end_at_s"] = seconds(since(guess, self.t0));
        }
        value
    }

    fn command(&self, command: &Command) -> Value {
        let line = match &command.action {
            Action::Kubectl(line) => format!("kubectl {line}"),
            Action::Apply(_) => "kubectl apply".to_owned(),
            Action::KillPods { namespace, selector, count } => {
                format!("{} of {selector} in {namespace} deleted", counted(*count, "pod", "pods"))
            }
            Action::AddNodes { pool, count } => format!("{count} nodes join pool {pool}"),
        };
        json!({
            "what": line, "by": command.by, "when": self.bounds(command.when),
            "confidence": command.confidence.as_str(), "reason": command.reason,
            "evidence": self.evidence(&command.evidence),
        })
    }

    fn bounds(&self, bounds: Bounds) -> Value {
        let [earliest, latest] = [bounds.earliest, bounds.latest].map(|at| seconds(since(at, self.t0)));
        json!({"earliest_s": earliest, "latest_s": latest})
    }

    fn evidence(&self, places: &[usize]) -> Value {
        let of = |&index: &usize| {
            let seen = &self.seen[index];
            let said =
                seen.said.iter().map(|said| format!("{}:{}", self.records[said.record.0 as usize].name, said.place));
            json!({"when": self.bounds(seen.when), "said": said.collect::<Vec<_>>(), "what": words(&seen.what)})
        };
        Value::Array(places.iter().map(of).collect())
    }
}

fn hit(hit: &Hit) -> String {
    match hit {
        Hit::Node(node) => format!("node/{node}"),
        Hit::Pod(pod) => format!("pod/{}/{}", pod.namespace, pod.name),
        Hit::Image { image, node: None } => format!("image {image}"),
        Hit::Image { image, node: Some(node) } => format!("image {image} on node/{node}"),
        Hit::Process(process) => format!("process/{process}"),
    }
}

/// Seconds with three decimals.
fn seconds(at: SimTime) -> Value {
    let millis = at.to_milliseconds().as_nanos() / 1_000_000;
    json!(millis as f64 / 1e3)
}

fn number(length: SimDuration) -> Value {
    json!(length.as_millis() as f64 / 1e3)
}
