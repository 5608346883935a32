//! Events of the API, of either version and by whoever saved them.

mod reasons;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;
use serde_json::Value;

use super::json::ListHead;
use super::{api, stamp};
use crate::arena::{StableHasher, Symbol};
use crate::diagnostics::{Diagnostic, Location};
use crate::evidence::{Bounds, DeletedBy, Instant, PodName, Record, RecordId, RecordKind, What};
use crate::import::outage::{ClockOptions, Evidence};
use crate::units::{SimDuration, counted};
use reasons::Said;

/// What the recorder puts before the message of events that it has made one of.
const COMBINED: &str = "(combined from similar events): ";
/// Readiness probes that have to fail one behind the other, by default, before a pod is not ready.
const FAILURE_THRESHOLD: u64 = 3;
/// For so long after a container's start failing probes mean that it has not been ready yet.
const STARTUP: SimDuration = SimDuration::from_secs(300);

/// Whether an object is an Event of the API.
pub(super) fn is_event(list: &ListHead, value: &Value) -> bool {
    let own = value.get("apiVersion").and_then(Value::as_str).unwrap_or(&list.api_version);
    // Audit logs call their lines so, too.
    let is_named = api::kind_of(list, value) == "Event" && !own.starts_with("audit.");
    let has_object = |name: &str| value.get(name).is_some_and(Value::is_object);
    is_named || ((has_object("involvedObject") || has_object("regarding")) && value.get("reason").is_some())
}

/// The text at a path; numbers, which YAML makes of some names, as they are written.
fn text(value: &Value, path: &[&str]) -> String {
    let found = path.iter().try_fold(value, |value, field| value.get(*field));
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The first text that is not empty.
fn first_text(value: &Value, paths: &[&[&str]]) -> String {
    paths.iter().map(|path| text(value, path)).find(|text| !text.is_empty()).unwrap_or_default()
}

/// The first of these fields that is a time.
fn first_time(value: &Value, paths: &[&[&str]], clock: &ClockOptions) -> Option<Bounds> {
    paths.iter().find_map(|path| {
        let found = path.iter().try_fold(value, |value, field| value.get(*field))?;
        let bounds = match found {
            Value::String(text) => stamp::bounds(text, clock)?,
            Value::Number(number) => stamp::from_unix(number.as_f64()?).map(stamp::of_number)?,
            _ => return None,
        };
        (bounds.earliest > Instant::from_unix_nanos(0)).then_some(bounds)
    })
}

/// What an Event says, under the names of the first version.
#[derive(Clone, Debug, Default, PartialEq)]
struct Event {
    /// Of the Event itself.
    uid: String,
    namespace: String,
    name: String,
    /// What it is about.
    kind: String,
    object_namespace: String,
    object_name: String,
    object_uid: String,
    field_path: String,
    reason: String,
    message: String,
    /// Who says it.
    component: String,
    /// The node on which that is, of kubelets.
    host: String,
    count: u64,
    is_combined: bool,
    first: Option<Bounds>,
    last: Option<Bounds>,
    /// When the API server first had it.
    heard: Option<Bounds>,
}

impl Event {
    fn of(value: &Value, clock: &ClockOptions) -> Self {
        let object = |field: &'static str| first_text(value, &[&["involvedObject", field], &["regarding", field]]);
        let component = first_text(
            value,
            &[
                &["source", "component"],
                &["deprecatedSource", "component"],
                &["reportingComponent"],
                &["reportingController"],
            ],
        );
        let instance: &[&str] = if component == "kubelet" { &["reportingInstance"] } else { &[] };
        let host = first_text(value, &[&["source", "host"], &["deprecatedSource", "host"], instance]);
        let message = first_text(value, &[&["message"], &["note"]]);
        let count = ["count", "deprecatedCount"].iter().find_map(|field| number(value.get(*field)?));
        let series = value.get("series").and_then(|series| number(series.get("count")?));
        let heard = first_time(value, &[&["metadata", "creationTimestamp"]], clock);
        let time = |paths: &[&[&str]]| first_time(value, paths, clock);
        let last = time(&[
            &["series", "lastObservedTime"],
            &["lastTimestamp"],
            &["deprecatedLastTimestamp"],
            &["eventTime"],
            &["firstTimestamp"],
            &["deprecatedFirstTimestamp"],
        ]);
        let first = time(&[&["firstTimestamp"], &["deprecatedFirstTimestamp"], &["eventTime"]]);
        Self {
            uid: text(value, &["metadata", "uid"]),
            namespace: text(value, &["metadata", "namespace"]),
            name: text(value, &["metadata", "name"]),
            kind: object("kind"),
            object_namespace: object("namespace"),
            object_name: object("name"),
            object_uid: object("uid"),
            field_path: object("fieldPath"),
            reason: text(value, &["reason"]),
            is_combined: message.starts_with(COMBINED),
            message: message.strip_prefix(COMBINED).unwrap_or(&message).to_owned(),
            component,
            host,
            count: series.or(count).unwrap_or(1),
            first,
            last: last.or(heard),
            heard,
        }
    }

    /// By what it is told from others.
    fn identity(&self) -> u64 {
        let mut hasher = StableHasher::default();
        let parts: &[&str] = if !self.uid.is_empty() {
            &[&self.uid]
        } else if !self.name.is_empty() {
            &[&self.namespace, &self.name]
        } else {
            &[&self.kind, &self.object_namespace, &self.object_name, &self.reason, &self.message, &self.component]
        };
        for part in parts {
            hasher.write(part.as_bytes());
            hasher.write(&[0]);
        }
        hasher.finish()
    }

    fn is_about(&self, kind: &str) -> bool {
        self.kind == kind && !self.object_name.is_empty()
    }

    /// The node that is spoken of. By name, as kubelets give no uid of it.
    fn node(&self) -> Option<Symbol> {
        self.is_about("Node").then(|| Symbol::new(&self.object_name))
    }

    fn pod(&self) -> Option<PodName> {
        let namespace = if self.object_namespace.is_empty() { &self.namespace } else { &self.object_namespace };
        let is_pod = self.is_about("Pod") && !namespace.is_empty();
        is_pod.then(|| PodName { namespace: Symbol::new(namespace), name: Symbol::new(&self.object_name) })
    }

    fn host(&self) -> Option<Symbol> {
        (!self.host.is_empty()).then(|| Symbol::new(&self.host))
    }
}

/// What an Event says of which others have kept the component that says it, what it is about, its reason and its message.
pub(super) fn logged(
    component: &str,
    kind: &str,
    namespace: &str,
    name: &str,
    field_path: &str,
    reason: &str,
    message: &str,
) -> Option<What> {
    let event = Event {
        kind: kind.to_owned(),
        object_namespace: namespace.to_owned(),
        object_name: name.to_owned(),
        field_path: field_path.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        component: component.to_owned(),
        ..Event::default()
    };
    reasons::said(&event).map(|said| said.what)
}

/// A count, whether it is written as a number or as a text.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// What is said of a pod that counts only if nothing better is said of it.
#[derive(Clone, Copy, Debug)]
struct Pending {
    when: Bounds,
    pod: PodName,
    node: Option<Symbol>,
    place: u32,
}

/// The Events of a text, as they are read.
pub(super) struct Events<'a> {
    name: &'a str,
    record: Option<RecordId>,
    covers: Option<Bounds>,
    /// Hashes of what has been taken down, as the same Event is often saved more than once.
    seen: FxHashSet<u64>,
    /// By the pod's uid and name: when its containers were stopped first.
    stopped: BTreeMap<(Symbol, PodName), Pending>,
    /// Likewise, when its readiness probe failed.
    unready: BTreeMap<(Symbol, PodName), Pending>,
    deleted: BTreeMap<PodName, Vec<Instant>>,
    started: BTreeMap<PodName, Vec<Instant>>,
    without_time: usize,
    first_without_time: u32,
}

impl<'a> Events<'a> {
    /// None yet, of a text of that name.
    pub(super) fn new(name: &'a str) -> Self {
        Self {
            name,
            record: None,
            covers: None,
            seen: FxHashSet::default(),
            stopped: BTreeMap::new(),
            unready: BTreeMap::new(),
            deleted: BTreeMap::new(),
            started: BTreeMap::new(),
            without_time: 0,
            first_without_time: 0,
        }
    }

    /// Takes an Event.
    pub(super) fn add(&mut self, value: &Value, place: u32, clock: &ClockOptions, into: &mut Evidence) {
        let event = Event::of(value, clock);
        let Some(last) = event.last else {
            self.without_time += 1;
            if self.first_without_time == 0 {
                self.first_without_time = place;
            }
            return;
        };
        let first = event.first.unwrap_or(last);
        for seen in [first, last] {
            let covered = self.covers.get_or_insert(seen);
            covered.earliest = covered.earliest.min(seen.earliest);
            covered.latest = covered.latest.max(seen.latest);
        }
        self.record(into);
        self.heartbeat(&event, place, into);
        let Some(said) = reasons::said(&event) else { return into.untold(&event.reason) };
        // What has been combined had other messages before.
        let times: &[Bounds] = match (said.is_once, event.is_combined) {
            (true, _) => &[first],
            (false, true) => &[last],
            (false, false) if first == last => &[last],
            (false, false) => &[first, last],
        };
        for when in times {
            let when = Bounds { earliest: when.earliest.earlier(said.before), latest: when.latest.later(said.after) };
            self.say(&event, &said, when, place, into);
        }
    }

    fn record(&mut self, into: &mut Evidence) -> RecordId {
        let name = self.name.to_owned();
        *self
            .record
            .get_or_insert_with(|| into.begin(Record { name, kind: RecordKind::Events, covers: None, step: None }))
    }

    /// What a kubelet has sent proves that it was heard when the API server had it.
    fn heartbeat(&mut self, event: &Event, place: u32, into: &mut Evidence) {
        let Some((node, heard)) = event.host().filter(|_| event.component == "kubelet").zip(event.heard) else {
            return;
        };
        if self.is_new(node.stable_hash(), heard, "heartbeat") {
            let record = self.record(into);
            into.see(record, place, heard, What::Heartbeat { node });
        }
    }

    fn say(&mut self, event: &Event, said: &Said, when: Bounds, place: u32, into: &mut Evidence) {
        match &said.what {
            What::PodDeletion { pod, node, by: DeletedBy::Unknown } => {
                let pending = Pending { when, pod: *pod, node: *node, place };
                keep_first(&mut self.stopped, event, pending);
                return;
            }
            What::PodReady { pod, is_ready: false } if event.reason == reasons::UNHEALTHY => {
                if event.count >= FAILURE_THRESHOLD {
                    let (first, last) = (event.first.unwrap_or(when), event.last.unwrap_or(when));
                    let when = Bounds { earliest: first.earliest, latest: last.latest.max(first.earliest) };
                    keep_first(&mut self.unready, event, Pending { when, pod: *pod, node: None, place });
                }
                return;
            }
            What::PodDeletion { pod, .. } => self.deleted.entry(*pod).or_default().push(when.earliest),
            What::ContainerStarted { pod, .. } => self.started.entry(*pod).or_default().push(when.earliest),
            _ => {}
        }
        if self.is_new(event.identity(), when, &event.reason) {
            let record = self.record(into);
            into.see(record, place, when, said.what.clone());
        }
    }

    /// Whether that has not been said of that yet.
    fn is_new(&mut self, identity: u64, when: Bounds, reason: &str) -> bool {
        let mut hasher = StableHasher::default();
        hasher.write(&identity.to_le_bytes());
        hasher.write(&when.earliest.unix_nanos().to_le_bytes());
        hasher.write(reason.as_bytes());
        self.seen.insert(hasher.finish())
    }

    /// Everything has been read.
    pub(super) fn finish(mut self, into: &mut Evidence) {
        if self.without_time > 0 {
            let events = counted(self.without_time, "event", "events");
            let message = format!("{events} of `{}` have no time and say nothing", self.name);
            let diagnostic = Diagnostic::warning("evidence::no_time", message).at(Location::file(self.name), "");
            let help =
                format!("the first is number {}; save them with `{}`", self.first_without_time, api::EVENTS_COMMAND);
            into.problem(diagnostic.help(help), None);
        }
        let Some(record) = self.record else { return };
        into.records[record.0 as usize].covers = self.covers;
        let near = |times: Option<&Vec<Instant>>, when: Bounds, before: SimDuration| {
            let since = when.earliest.earlier(before);
            times.is_some_and(|times| times.iter().any(|time| (since..=when.latest).contains(time)))
        };
        let hour = SimDuration::from_secs(3600);
        for stopped in std::mem::take(&mut self.stopped).into_values() {
            let Pending { when, pod, node, place } = stopped;
            if !near(self.deleted.get(&pod), when, hour) {
                into.see(record, place, when, What::PodDeletion { pod, by: DeletedBy::Unknown, node });
            }
        }
        for unready in std::mem::take(&mut self.unready).into_values() {
            let Pending { when, pod, place, .. } = unready;
            if !near(self.started.get(&pod), when, STARTUP) {
                into.see(record, place, when, What::PodReady { pod, is_ready: false });
            }
        }
    }
}

/// Keeps what comes first of a pod.
fn keep_first(pending: &mut BTreeMap<(Symbol, PodName), Pending>, event: &Event, found: Pending) {
    let key = (Symbol::new(&event.object_uid), found.pod);
    let kept = pending.entry(key).or_insert(found);
    if found.when.earliest < kept.when.earliest {
        *kept = found;
    }
}
