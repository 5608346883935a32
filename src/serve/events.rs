//! Events as objects: what components post while the run is played.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::arena::Symbol;
use crate::component::{EventDraft, InvolvedKind};
use crate::kubectl::objects::{Clock, human};
use crate::model::ObjectKind;
use crate::state::Store;
use crate::units::{SimDuration, SimTime};

/// Events that are kept, and for how long.
///
/// # Source
/// kube-apiserver, `--event-ttl`.
const EVENTS_MAX: usize = 5000;
const TTL: SimDuration = SimDuration::from_secs(3600);

/// How many texts of one kind about one object are told apart, and for how long they count together.
///
/// # Source
/// client-go, `tools/record`: `defaultAggregateMaxEvents`, `defaultAggregateIntervalInSeconds`.
const ALIKE_MAX: usize = 10;
const ALIKE_PERIOD: SimDuration = SimDuration::from_secs(600);

/// The place of an Event among those that are kept: when it happened last, and which it is.
type Place = (SimTime, u64);

/// An Event that is an object.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    pub(super) namespace: Symbol,
    pub(super) name: Symbol,
    pub(super) object: Arc<Value>,
    /// Each time that it happened, and what was said then.
    times: Vec<(SimTime, Arc<str>)>,
    /// What makes another the same.
    key: Arc<str>,
}

impl Posted {
    /// The object after the times that are kept.
    fn count(&mut self, clock: Clock) {
        let (Some((first, _)), Some((last, said))) = (self.times.first(), self.times.last()) else { return };
        let object = Arc::make_mut(&mut self.object);
        object["firstTimestamp"] = clock.stamp(*first);
        object["lastTimestamp"] = clock.stamp(*last);
        object["count"] = self.times.len().into();
        object["message"] = (**said).into();
    }
}

/// Events that are objects, by when they happened last.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    kept: BTreeMap<Place, Posted>,
    /// The same by namespace and name.
    named: FxHashMap<(Symbol, Symbol), Place>,
    /// The same by what makes another the same.
    alike: FxHashMap<Arc<str>, Place>,
    /// Texts of one kind about one object, and when there was one last.
    texts: BTreeMap<String, (SimTime, BTreeSet<Arc<str>>)>,
    count: u64,
}

fn api_version(kind: InvolvedKind) -> &'static str {
    match kind {
        InvolvedKind::Object(kind) => kind.api_version(),
        InvolvedKind::Fault | InvolvedKind::NodePool | InvolvedKind::Kubectl | InvolvedKind::Request => {
            "kubesquall.sim/v1alpha1"
        }
        InvolvedKind::ConfigMap => "v1",
    }
}

impl Events {
    /// An Event reaches the API server: a new one, or one more of its like.
    ///
    /// # Source
    /// client-go, `tools/record`, `EventCorrelator`: equal ones are counted; of those that differ in their text alone, the tenth and
    /// later ones within ten minutes are one.
    ///
    /// # Differs
    /// Nothing is dropped here: what is dropped has not been posted.
    pub(super) fn post(
        &mut self,
        at: SimTime,
        component: &str,
        event: &EventDraft,
        store: &Store,
        clock: Clock,
    ) -> Posted {
        let about = &event.about;
        // Those about what lives in no namespace are kept in `default`.
        let namespace = if about.namespace.is_empty() { Symbol::new("default") } else { about.namespace };
        let node = match event.node {
            Some(node) => Some(store.node_name(node)),
            None if about.kind == InvolvedKind::Object(ObjectKind::Node) => Some(Symbol::new(&about.name)),
            None => None,
        };
        let kind = format!(
            "{component}/{}/{}/{}/{}/{}/{}/{}",
            node.unwrap_or_default(),
            about.kind.as_str(),
            about.namespace,
            about.name,
            about.uid,
            event.event_type.as_str(),
            event.reason
        );
        let (key, said) = self.correlated(at, kind, &event.message);
        if let Some(mut posted) = self.alike.remove(&key).and_then(|place| self.kept.remove(&place)) {
            posted.times.push((at, said));
            posted.count(clock);
            return self.keep(at, posted);
        }
        let name = Symbol::new(&format!("{}.{:016x}", about.name, self.count + 1));
        let stamp = clock.stamp(at);
        let object = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {
                "name": name, "namespace": namespace, "creationTimestamp": stamp,
                "uid": crate::state::Uid::from_text(name.as_str()).to_string(),
            },
            "involvedObject": {
                "kind": about.kind.as_str(), "apiVersion": api_version(about.kind), "name": *about.name,
                "namespace": about.namespace, "uid": about.uid.to_string(),
            },
            "reason": event.reason, "message": *said, "type": event.event_type.as_str(),
            "source": {"component": component, "host": node},
            "reportingComponent": component, "reportingInstance": "",
            "firstTimestamp": stamp, "lastTimestamp": stamp, "count": 1,
        });
        self.keep(at, Posted { namespace, name, object: Arc::new(object), times: vec![(at, said)], key })
    }

    /// What makes another the same, and what is said.
    fn correlated(&mut self, at: SimTime, kind: String, message: &str) -> (Arc<str>, Arc<str>) {
        let whole: Arc<str> = Arc::from(message);
        let own = Arc::from(format!("{kind}/{message}"));
        let (last, texts) = self.texts.entry(kind.clone()).or_insert_with(|| (at, BTreeSet::new()));
        if at.saturating_since(*last) > ALIKE_PERIOD {
            texts.clear();
        }
        *last = at;
        texts.insert(Arc::clone(&whole));
        if texts.len() < ALIKE_MAX {
            return (own, whole);
        }
        texts.pop_last();
        (Arc::from(kind), Arc::from(format!("(combined from similar events): {message}")))
    }

    fn keep(&mut self, at: SimTime, posted: Posted) -> Posted {
        self.count += 1;
        let place = (at, self.count);
        self.named.insert((posted.namespace, posted.name), place);
        self.alike.insert(Arc::clone(&posted.key), place);
        self.kept.insert(place, posted.clone());
        posted
    }

    /// Those that are kept no longer.
    pub(super) fn expired(&mut self, now: SimTime) -> Vec<Posted> {
        let mut gone = Vec::new();
        while let Some(oldest) = self.kept.first_entry() {
            let (at, _) = *oldest.key();
            if now.saturating_since(at) <= TTL && self.named.len() <= EVENTS_MAX {
                break;
            }
            let posted = oldest.remove();
            self.named.remove(&(posted.namespace, posted.name));
            self.alike.remove(&posted.key);
            gone.push(posted);
        }
        self.texts.retain(|_, (last, _)| now.saturating_since(*last) <= ALIKE_PERIOD);
        gone
    }

    /// What was posted after an instant has not been.
    pub(super) fn forget_after(&mut self, instant: SimTime, clock: Clock) {
        let kept = std::mem::take(&mut self.kept);
        self.named.clear();
        self.alike.clear();
        self.texts.retain(|_, (last, _)| *last <= instant);
        for mut posted in kept.into_values() {
            posted.times.retain(|(at, _)| *at <= instant);
            if let Some((last, _)) = posted.times.last() {
                let last = *last;
                posted.count(clock);
                self.keep(last, posted);
            }
        }
    }

    /// Somebody deletes one.
    pub(super) fn remove(&mut self, namespace: Symbol, name: Symbol) -> Option<Posted> {
        let posted = self.kept.remove(&self.named.remove(&(namespace, name))?)?;
        self.alike.remove(&posted.key);
        Some(posted)
    }

    /// Somebody writes one. It counts on as what it is.
    pub(super) fn replace(&mut self, namespace: Symbol, name: Symbol, object: Arc<Value>) {
        let place = self.named.get(&(namespace, name));
        if let Some(posted) = place.and_then(|place| self.kept.get_mut(place)) {
            posted.object = object;
        }
    }

    pub(super) fn find(&self, namespace: Symbol, name: Symbol) -> Option<&Arc<Value>> {
        self.kept.get(self.named.get(&(namespace, name))?).map(|posted| &posted.object)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Posted> {
        self.kept.values()
    }
}

/// # Source
/// kube-apiserver, `printEvent`.
pub(super) fn cells(object: &Value, now: SimTime, clock: Clock) -> Vec<String> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let age = |path: &str| {
        let stamp = text(path);
        let at = crate::units::unix_nanos_from_rfc3339(&stamp);
        let at = at.map(|nanos| SimTime::from_nanos(nanos.saturating_sub(clock.0)));
        at.map_or("<unknown>".to_owned(), |at| human(now.saturating_since(at)))
    };
    let about = format!("{}/{}", text("/involvedObject/kind").to_lowercase(), text("/involvedObject/name"));
    let source = [text("/source/component"), text("/source/host")];
    let source: Vec<String> = source.into_iter().filter(|part| !part.is_empty()).collect();
    vec![
        age("/lastTimestamp"),
        text("/type"),
        text("/reason"),
        about,
        text("/involvedObject/fieldPath"),
        source.join(", "),
        text("/message").trim().to_owned(),
        age("/firstTimestamp"),
        object["count"].as_i64().unwrap_or(1).to_string(),
        text("/metadata/name"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::ObjectRef;

    const CLOCK: Clock = Clock(0);

    fn secs(secs: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(secs)
    }

    fn post(events: &mut Events, at: u64, message: &str) -> Arc<Value> {
        let about = ObjectRef::named(InvolvedKind::Fault, Symbol::empty(), "crash");
        let event = EventDraft::warning("BackOff", about, message);
        events.post(secs(at), "kubelet", &event, &Store::default(), CLOCK).object
    }

    fn seen(event: &Value) -> (i64, &str, &str) {
        let text = |field: &str| event[field].as_str().unwrap_or_default();
        (event["count"].as_i64().unwrap_or_default(), text("firstTimestamp"), text("lastTimestamp"))
    }

    #[test]
    fn equal_events_are_counted_and_going_back_takes_counts_back() {
        let mut events = Events::default();
        post(&mut events, 10, "back-off");
        post(&mut events, 15, "another");
        let third = post(&mut events, 20, "back-off");
        assert_eq!(seen(&third), (2, "1970-01-01T00:00:10Z", "1970-01-01T00:00:20Z"));
        assert_eq!(events.iter().count(), 2);
        // It is as old as its last occurrence.
        assert_eq!(events.expired(secs(3616)).len(), 1);
        assert_eq!(events.iter().count(), 1);
        events.forget_after(secs(19), CLOCK);
        let left: Vec<_> = events.iter().map(|posted| seen(&posted.object)).collect();
        assert_eq!(left, [(1, "1970-01-01T00:00:10Z", "1970-01-01T00:00:10Z")]);
        assert_eq!(seen(&post(&mut events, 21, "back-off")).0, 2);
    }

    #[test]
    fn ten_texts_of_one_kind_become_one() {
        let mut events = Events::default();
        for number in 0..9 {
            assert_eq!(seen(&post(&mut events, number, &format!("text {number}"))).0, 1);
        }
        let tenth = post(&mut events, 9, "text 9");
        assert_eq!((seen(&tenth).0, tenth["message"].as_str()), (1, Some("(combined from similar events): text 9")));
        let next = post(&mut events, 10, "text 10");
        assert_eq!((seen(&next).0, next["message"].as_str()), (2, Some("(combined from similar events): text 10")));
        assert_eq!(events.iter().count(), 10);
        // Ten minutes later they are told apart again.
        assert_eq!(post(&mut events, 611, "text 11")["message"], "text 11");
    }
}
