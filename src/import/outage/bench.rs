//! Built evidence for tests: a small cluster, and sightings by seconds since noon.

use super::evidence::Evidence;
use super::inventory::Inventory;
use super::sources::{self, Seen};
use super::timeline::Timeline;
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant, PodName, Record, RecordId, RecordKind, What};
use crate::model::ManifestObject;
use crate::model::manifest::load_text;
use crate::units::SimDuration;

/// Noon of a day on which the cluster had long been there.
pub(super) fn noon() -> Instant {
    Instant::parse("2026-03-02T12:00:00Z").expect("a time stamp")
}

pub(super) fn at(seconds: f64) -> Instant {
    let nanos = (seconds.abs() * 1e9).round() as u64;
    let by = SimDuration::from_nanos(nanos);
    if seconds < 0.0 { noon().earlier(by) } else { noon().later(by) }
}

pub(super) fn sym(text: &str) -> Symbol {
    Symbol::new(text)
}

pub(super) fn pod(name: &str) -> PodName {
    PodName { namespace: sym("shop"), name: sym(name) }
}

/// Six nodes in three zones, a Deployment of three pods, a StatefulSet of two.
pub(super) fn cluster() -> Vec<ManifestObject> {
    let mut items = Vec::new();
    for (number, zone) in ["a", "b", "c", "a", "b", "c"].iter().enumerate() {
        items.push(format!(
            r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"w-{number}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"topology.kubernetes.io/zone":"{zone}"}}}},
            "spec":{{"providerID":"aws:///eu-1{zone}/i-{number}"}},
            "status":{{"capacity":{{"cpu":"4","memory":"8Gi","pods":"110"}},"allocatable":{{"cpu":"4","memory":"8Gi","pods":"110"}},
            "conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady","lastHeartbeatTime":"2026-01-01T00:05:00Z","lastTransitionTime":"2026-01-01T00:00:10Z"}}],
            "nodeInfo":{{"kubeletVersion":"v1.36.0"}}}}}}"#
        ));
    }
    let template =
        r#""template":{"metadata":{"labels":{"app":"APP"}},"spec":{"containers":[{"name":"c","image":"reg/app:1"}]}}"#;
    for (kind, name, more) in [("Deployment", "web", ""), ("StatefulSet", "db", r#""serviceName":"db","#)] {
        let replicas = if name == "web" { 3 } else { 2 };
        items.push(format!(
            r#"{{"apiVersion":"apps/v1","kind":"{kind}","metadata":{{"name":"{name}","namespace":"shop","uid":"u-{name}"}},
            "spec":{{{more}"replicas":{replicas},"selector":{{"matchLabels":{{"app":"{name}"}}}},{}}}}}"#,
            template.replace("APP", name)
        ));
    }
    items.push(format!(
        r#"{{"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{{"name":"web-1","namespace":"shop","uid":"u-web-1","creationTimestamp":"2026-01-01T01:00:00Z",
        "annotations":{{"deployment.kubernetes.io/revision":"1"}},
        "ownerReferences":[{{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u-web","controller":true}}]}},
        "spec":{{"replicas":3,"selector":{{"matchLabels":{{"app":"web"}}}},{}}}}}"#,
        template.replace("APP", "web")
    ));
    let pods = [
        ("web-1-aaaaa", "ReplicaSet", "web-1", 0),
        ("web-1-bbbbb", "ReplicaSet", "web-1", 1),
        ("web-1-ccccc", "ReplicaSet", "web-1", 2),
        ("db-0", "StatefulSet", "db", 1),
        ("db-1", "StatefulSet", "db", 4),
    ];
    for (name, kind, owner, node) in pods {
        items.push(format!(
            r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","namespace":"shop","uid":"u-{name}","creationTimestamp":"2026-01-01T02:00:00Z","labels":{{"app":"{}"}},
            "ownerReferences":[{{"apiVersion":"apps/v1","kind":"{kind}","name":"{owner}","uid":"u-{owner}","controller":true}}]}},
            "spec":{{"nodeName":"w-{node}","containers":[{{"name":"c","image":"reg/app:1"}}]}},
            "status":{{"phase":"Running","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T02:00:05Z"}}],
            "containerStatuses":[{{"name":"c","ready":true,"state":{{"running":{{"startedAt":"2026-01-01T02:00:03Z"}}}}}}]}}}}"#,
            if owner == "db" { "db" } else { "web" }
        ));
    }
    let text = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
    load_text("cluster.json", &text).objects
}

/// Evidence of one record of Events, unless others are begun.
pub(super) struct Bench {
    pub(super) evidence: Evidence,
    record: RecordId,
    place: u32,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::of(RecordKind::Events)
    }

    pub(super) fn of(kind: RecordKind) -> Self {
        let mut evidence = Evidence::new();
        let record = evidence.begin(Record { name: kind.as_str().to_owned(), kind, covers: None, step: None });
        Self { evidence, record, place: 0 }
    }

    /// Goes on with another record.
    pub(super) fn record(&mut self, kind: RecordKind, name: &str) -> &mut Self {
        self.record = self.evidence.begin(Record { name: name.to_owned(), kind, covers: None, step: None });
        self
    }

    /// Seen within the second that begins then.
    pub(super) fn see(&mut self, seconds: f64, what: What) -> &mut Self {
        self.see_in(Bounds::second(at(seconds)), what)
    }

    pub(super) fn see_at(&mut self, seconds: f64, what: What) -> &mut Self {
        self.see_in(Bounds::at(at(seconds)), what)
    }

    pub(super) fn see_in(&mut self, when: Bounds, what: What) -> &mut Self {
        self.place += 1;
        self.evidence.see(self.record, self.place, when, what);
        self
    }

    /// Merges it all and looks at it.
    pub(super) fn with<R>(&mut self, look: impl FnOnce(&Timeline<'_>, &[Seen]) -> R) -> R {
        self.with_cluster(&cluster(), look)
    }

    /// The same beside another cluster file.
    pub(super) fn with_cluster<R>(
        &mut self,
        objects: &[ManifestObject],
        look: impl FnOnce(&Timeline<'_>, &[Seen]) -> R,
    ) -> R {
        let inventory = Inventory::of(objects);
        let merged = sources::merge(&mut self.evidence, &inventory);
        let timeline = Timeline::new(&merged.seen, &self.evidence.records, &inventory);
        look(&timeline, &merged.seen)
    }
}
