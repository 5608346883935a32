//! Events as objects: what components post while the run is played.

use std::collections::VecDeque;
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

/// An Event that is an object.
#[derive(Clone, Debug)]
pub(super) struct Posted {
    pub(super) at: SimTime,
    pub(super) namespace: Symbol,
    pub(super) name: Symbol,
    pub(super) object: Arc<Value>,
}

/// Events that are objects, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Events {
    kept: VecDeque<Posted>,
    /// The same by namespace and name.
    named: FxHashMap<(Symbol, Symbol), Arc<Value>>,
    count: u64,
}

fn api_version(kind: InvolvedKind) -> &'static str {
    match kind {
        InvolvedKind::Object(kind) => kind.api_version(),
        InvolvedKind::Fault | InvolvedKind::NodePool | InvolvedKind::Kubectl => "kubesquall.sim/v1alpha1",
        InvolvedKind::ConfigMap => "v1",
    }
}

impl Events {
    /// An Event reaches the API server.
    pub(super) fn post(
        &mut self,
        at: SimTime,
        component: &str,
        event: &EventDraft,
        store: &Store,
        clock: Clock,
    ) -> Posted {
        self.count += 1;
        let about = &event.about;
        // Those about what lives in no namespace are kept in `default`.
        let namespace = if about.namespace.is_empty() { Symbol::new("default") } else { about.namespace };
        let name = Symbol::new(&format!("{}.{:016x}", about.name, self.count));
        let stamp = clock.stamp(at);
        let node = match event.node {
            Some(node) => Some(store.node_name(node)),
            None if about.kind == InvolvedKind::Object(ObjectKind::Node) => Some(Symbol::new(&about.name)),
            None => None,
        };
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
            "reason": event.reason, "message": event.message, "type": event.event_type.as_str(),
            "source": {"component": component, "host": node},
            "reportingComponent": component, "reportingInstance": "",
            "firstTimestamp": stamp, "lastTimestamp": stamp, "count": 1,
        });
        let posted = Posted { at, namespace, name, object: Arc::new(object) };
        self.named.insert((namespace, name), Arc::clone(&posted.object));
        self.kept.push_back(posted.clone());
        posted
    }

    /// Those that are kept no longer.
    pub(super) fn expired(&mut self, now: SimTime) -> Vec<Posted> {
        let mut gone = Vec::new();
        while self.kept.len() > EVENTS_MAX
            || self.kept.front().is_some_and(|oldest| now.saturating_since(oldest.at) > TTL)
        {
            gone.extend(self.kept.pop_front());
        }
        for posted in &gone {
            self.named.remove(&(posted.namespace, posted.name));
        }
        gone
    }

    /// What was posted after an instant has not been.
    pub(super) fn forget_after(&mut self, instant: SimTime) {
        self.kept.retain(|posted| posted.at <= instant);
        let named = self.kept.iter().map(|posted| ((posted.namespace, posted.name), Arc::clone(&posted.object)));
        self.named = named.collect();
    }

    pub(super) fn find(&self, namespace: Symbol, name: Symbol) -> Option<&Arc<Value>> {
        self.named.get(&(namespace, name))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Posted> {
        self.kept.iter()
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
