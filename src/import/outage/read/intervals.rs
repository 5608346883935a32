//! OpenShift's monitor intervals: what its tests' monitor has seen of a cluster, from when to when.
//!
//! # Source
//!
//! `e2e-events_*.json` and `e2e-timelines_*.json` of openshift/origin. Older ones have `locator` and `message` as texts, newer ones as
//! objects, and those between have both under one name: the last one counts.

use std::io::{self, BufRead};

use rustc_hash::FxHashSet;
use serde_json::Value;

use super::{events, json, stamp};
use crate::arena::{Symbol, stable_hash};
use crate::evidence::{Bounds, DeletedBy, EndedBy, Notice, PodName, Record, RecordKind, Reporter, What};
use crate::import::outage::{ClockOptions, Evidence};
use crate::model::ConditionStatus;

/// Whether a text begins as intervals do.
pub(super) fn is(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let has = |field: &str| text.contains(field);
    text.trim_start().starts_with('{') && has("\"items\"") && has("\"locator\"") && has("\"level\"")
}

/// Reads intervals.
pub(super) fn read(name: &str, content: &mut dyn BufRead, clock: &ClockOptions, into: &mut Evidence) -> io::Result<()> {
    let record = into.begin(Record { name: name.to_owned(), kind: RecordKind::Intervals, covers: None, step: None });
    let mut covers: Option<Bounds> = None;
    // What the monitor has seen is often there again as a part of what was made of it.
    let mut seen = FxHashSet::default();
    let read = json::read(name, content, &["items"], into, &mut |into, _, place, value| {
        let Some(interval) = Interval::of(&value, clock) else { return };
        let covered = covers.get_or_insert(interval.from);
        covered.earliest = covered.earliest.min(interval.from.earliest);
        covered.latest = covered.latest.max(interval.to.unwrap_or(interval.from).latest);
        let said = interval.said();
        if said.is_empty() {
            into.untold(if interval.reason.is_empty() { "interval" } else { &interval.reason });
        }
        for (when, what) in said {
            if seen.insert(stable_hash(format!("{when:?} {what:?}").as_bytes())) {
                into.see(record, place, when, what);
            }
        }
    });
    into.records[record.0 as usize].covers = covers;
    read
}

/// One interval.
struct Interval {
    source: String,
    /// What it is about, by kind of name: `node`, `namespace`, `pod`, `container`.
    keys: Vec<(String, String)>,
    reason: String,
    /// What was said besides.
    notes: Vec<(String, String)>,
    message: String,
    from: Bounds,
    to: Option<Bounds>,
}

fn texts(value: Option<&Value>) -> Vec<(String, String)> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Words such as `ns/shop pod/web-1` as names and values.
fn words(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(' ').filter_map(|word| word.split_once('/'));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

impl Interval {
    fn of(value: &Value, clock: &ClockOptions) -> Option<Self> {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let time = |name: &str| stamp::bounds(value.get(name)?.as_str()?, clock);
        let keys = match value.get("locator")? {
            Value::String(locator) => words(locator),
            locator => texts(locator.get("keys")),
        };
        let (reason, notes, message) = match value.get("message")? {
            Value::String(message) => {
                let notes = words(message);
                let is_note =
                    |word: &&str| word.contains('/') && notes.iter().any(|(name, _)| word.starts_with(name.as_str()));
                let rest: Vec<&str> = message.split(' ').skip_while(is_note).collect();
                let reason = notes.iter().find(|(name, _)| name == "reason").map(|(_, reason)| reason.clone());
                (reason.unwrap_or_default(), notes.clone(), rest.join(" "))
            }
            message => {
                (text(message.get("reason")), texts(message.get("annotations")), text(message.get("humanMessage")))
            }
        };
        // What has not ended has no end, or the first instant that Go knows.
        let from = time("from")?;
        let to = time("to").filter(|to| to.latest >= from.earliest);
        Some(Self { source: text(value.get("source")), keys, reason, notes, message, from, to })
    }

    fn key(&self, names: &[&str]) -> Option<&str> {
        let found = self.keys.iter().find(|(name, value)| names.contains(&name.as_str()) && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    fn note(&self, name: &str) -> Option<&str> {
        self.notes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What it says, and when that came about.
    fn said(&self) -> Vec<(Bounds, What)> {
        match self.source.as_str() {
            "KubeEvent" => self.event(),
            "NodeState" | "NodeMonitor" | "NodeUnexpectedNotReady" | "NodeUnreachable" => self.node(),
            "PodState" | "PodMonitor" => self.pod(),
            // Older ones do not say where they are from.
            "" => [Self::pod, Self::node, Self::event]
                .iter()
                .map(|of| of(self))
                .find(|said| !said.is_empty())
                .unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// What was an Event of the API.
    fn event(&self) -> Vec<(Bounds, What)> {
        let kinds =
            [("Pod", "pod"), ("Deployment", "deployment"), ("StatefulSet", "statefulset"), ("DaemonSet", "daemonset")];
        let about = kinds.iter().chain(&[("Node", "node")]).find_map(|(kind, key)| Some((*kind, self.key(&[key])?)));
        let Some((kind, name)) = about else { return Vec::new() };
        let namespace = self.key(&["namespace", "ns"]).unwrap_or_default();
        let path = self.key(&["container"]).map_or(String::new(), |name| format!("spec.containers{{{name}}}"));
        let said = events::logged("", kind, namespace, name, &path, &self.reason, &self.message);
        let times = std::iter::once(self.from).chain(self.to.filter(|to| *to != self.from));
        said.map_or(Vec::new(), |what| times.map(|when| (when, what.clone())).collect())
    }

    /// How a node was, from when to when.
    fn node(&self) -> Vec<(Bounds, What)> {
        use ConditionStatus::{False, True, Unknown};
        let Some(node) = self.key(&["node"]).map(Symbol::new) else { return Vec::new() };
        let ready = |status, by| What::NodeReady { node, status, by };
        let condition = |status| What::NodeCondition { node, condition: Symbol::new("DiskPressure"), status };
        let what = match (self.reason.as_str(), self.note("phase").unwrap_or_default()) {
            ("NotReady", _) => {
                let back = self.to.filter(|to| *to != self.from).map(|to| (to, ready(True, Reporter::Unknown)));
                let gone = (self.from, ready(False, Reporter::Unknown));
                return std::iter::once(gone).chain(back).collect();
            }
            ("UnexpectedNotReady", _) => ready(False, Reporter::Unknown),
            ("UnexpectedUnreachable" | "Unreachable", _) => ready(Unknown, Reporter::Controller),
            ("NodeDiskPressure", _) => condition(True),
            ("NodeNoDiskPressure", _) => condition(False),
            ("NodeUpdate", "Drain") => What::NodeSchedulable { node, is_schedulable: false },
            ("NodeUpdate", "Reboot") => What::CloudNotice { machine: node, notice: Notice::Reboot, deadline: None },
            ("Deleted", _) => What::NodePresent { node, is_present: false },
            _ => return Vec::new(),
        };
        vec![(self.from, what)]
    }

    /// What became of a pod or a container.
    fn pod(&self) -> Vec<(Bounds, What)> {
        let names = self.key(&["namespace", "ns"]).zip(self.key(&["pod"]));
        let Some(pod) = names.map(|(namespace, name)| PodName { namespace: namespace.into(), name: name.into() })
        else {
            return Vec::new();
        };
        let node = self.note("node").or_else(|| self.key(&["node"])).map(Symbol::new);
        let container = self.key(&["container"]).map(Symbol::new);
        let deletion = |by| What::PodDeletion { pod, by, node };
        let what = match (self.reason.as_str(), container, node) {
            ("Created", None, _) => What::PodCreated { pod, owner: None },
            ("Scheduled", _, Some(node)) => What::PodScheduled { pod, node },
            ("GracefulDelete" | "ForceDelete", ..) => deletion(DeletedBy::Unknown),
            ("Evicted", ..) => deletion(DeletedBy::Kubelet),
            ("Preempted", ..) => deletion(DeletedBy::Preemption),
            ("Deleted", ..) => What::PodGone { pod },
            ("ContainerStart", Some(container), _) => What::ContainerStarted { pod, container },
            ("ContainerExit", Some(container), _) => What::ContainerEnded { pod, container, by: self.ended_by() },
            ("PodReady", ..) => What::PodReady { pod, is_ready: true },
            // Of one of its containers, which is enough.
            ("PodNotReady" | "NotReady", ..) => What::PodReady { pod, is_ready: false },
            _ => return Vec::new(),
        };
        vec![(self.from, what)]
    }

    fn ended_by(&self) -> EndedBy {
        match (self.note("cause"), self.note("code")) {
            (Some("OOMKilled"), _) => EndedBy::OutOfMemory,
            (Some("Completed"), _) | (_, Some("0")) => EndedBy::Completed,
            (Some("Error"), _) => EndedBy::Crash,
            _ => EndedBy::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::Instant;

    fn read_text(text: &str) -> Evidence {
        assert!(is(&text.as_bytes()[..text.len().min(4096)]), "{text}");
        let mut into = Evidence::new();
        read("intervals.json", &mut text.as_bytes(), &ClockOptions::default(), &mut into).expect("a text");
        into
    }

    fn at(text: &str) -> Bounds {
        Bounds::second(Instant::parse(text).expect("a time"))
    }

    #[test]
    fn of_two_values_under_one_name_the_last_counts() {
        let sample = std::fs::read_to_string("tests/evidence/samples/openshift-monitor-drain.json").expect("a sample");
        let into = read_text(&sample);
        assert!(into.diagnostics.is_empty() && into.sightings.is_empty());
        let covers = into.records[0].covers.expect("intervals");
        assert_eq!(
            (covers.earliest, covers.latest),
            (at("2023-07-17T22:58:52Z").earliest, at("2023-07-17T23:00:24Z").latest)
        );
        let untold: Vec<(&str, usize)> = into.untold.iter().map(|(reason, count)| (reason.as_str(), *count)).collect();
        assert_eq!(untold, [("Drain", 1), ("OSUpdateStarted", 1)]);
    }

    #[test]
    fn intervals_of_nodes_and_pods_become_their_ends() {
        let into = read_text(
            r#"{"items": [
  {"level":"Error","source":"NodeState","locator":{"type":"Node","keys":{"node":"n1"}},"message":{"reason":"NotReady","humanMessage":"node is not ready"},"from":"2023-07-17T23:00:00Z","to":"2023-07-17T23:02:00Z"},
  {"level":"Info","source":"PodState","locator":{"type":"Pod","keys":{"namespace":"shop","pod":"web-1","uid":"u"}},"message":{"reason":"GracefulDelete","annotations":{"node":"n1"}},"from":"2023-07-17T23:01:00Z","to":"2023-07-17T23:01:30Z"},
  {"level":"Info","source":"PodMonitor","locator":{"type":"Pod","keys":{"namespace":"shop","pod":"web-1","uid":"u"}},"message":{"reason":"GracefulDelete","annotations":{"node":"n1"}},"from":"2023-07-17T23:01:00Z","to":"2023-07-17T23:01:00Z"},
  {"level":"Info","locator":"ns/shop pod/web-2 node/n2 uid/v container/web","message":"reason/ContainerExit code/137 cause/OOMKilled ","from":"2023-07-17T23:01:05Z","to":null}
]}"#,
        );
        let (n1, pod) = (Symbol::new("n1"), |name: &str| PodName { namespace: "shop".into(), name: name.into() });
        let ready = |status| What::NodeReady { node: n1, status, by: Reporter::Unknown };
        let expected = [
            (at("2023-07-17T23:00:00Z"), ready(ConditionStatus::False)),
            (at("2023-07-17T23:02:00Z"), ready(ConditionStatus::True)),
            (
                at("2023-07-17T23:01:00Z"),
                What::PodDeletion { pod: pod("web-1"), by: DeletedBy::Unknown, node: Some(n1) },
            ),
            (
                at("2023-07-17T23:01:05Z"),
                What::ContainerEnded { pod: pod("web-2"), container: "web".into(), by: EndedBy::OutOfMemory },
            ),
        ];
        let found: Vec<(Bounds, What)> = into.sightings.into_iter().map(|seen| (seen.when, seen.what)).collect();
        assert_eq!(found, expected);
    }
}
