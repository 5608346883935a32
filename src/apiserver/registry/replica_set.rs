//! ReplicaSets, and ReplicationControllers, which the store holds as such.

use std::sync::Arc;

use super::strategy::replace;
use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::model::{self, LabelSelector, ObjectKind, ObjectMeta, ReplicaSetSpec};
use crate::state::{ObjectDelta, ReplicaSet, ReplicaSetStatus};

impl WorkloadObject for model::ReplicaSet {
    type Held = ReplicaSet;
    const KIND: ObjectKind = ObjectKind::ReplicaSet;
    const RESOURCE: &'static str = "replicasets.apps";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> ReplicaSet {
        let meta = api.meta(s, Self::KIND.as_str(), &self.metadata);
        ReplicaSet {
            meta,
            is_replication_controller: false,
            replicas: self.spec.replicas.unwrap_or(1),
            spec: Arc::new(self.spec),
            status: status(&self.status),
        }
    }

    fn into_parts(self) -> (ObjectMeta, ReplicaSetSpec) {
        (self.metadata, self.spec)
    }

    fn write(self, held: &mut ReplicaSet) -> ObjectDelta {
        write(held, &self.metadata, self.spec)
    }
}

impl WorkloadObject for model::ReplicationController {
    type Held = ReplicaSet;
    const KIND: ObjectKind = ObjectKind::ReplicationController;
    const RESOURCE: &'static str = "replicationcontrollers";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> ReplicaSet {
        let status = status(&self.status);
        let (metadata, spec) = self.into_parts();
        let meta = api.meta(s, Self::KIND.as_str(), &metadata);
        let replicas = spec.replicas.unwrap_or(1);
        ReplicaSet { meta, is_replication_controller: true, replicas, spec: Arc::new(spec), status }
    }

    fn into_parts(self) -> (ObjectMeta, ReplicaSetSpec) {
        let spec = ReplicaSetSpec {
            replicas: self.spec.replicas,
            min_ready_seconds: self.spec.min_ready_seconds,
            selector: Some(LabelSelector::from_labels(&self.spec.selector)),
            template: self.spec.template,
        };
        (self.metadata, spec)
    }

    fn write(self, held: &mut ReplicaSet) -> ObjectDelta {
        let (metadata, spec) = self.into_parts();
        write(held, &metadata, spec)
    }
}

/// The present size stands beside the spec, whose `replicas` is the first one.
fn write(held: &mut ReplicaSet, metadata: &ObjectMeta, spec: ReplicaSetSpec) -> ObjectDelta {
    let replicas = spec.replicas.unwrap_or(1);
    let delta = replace(&mut held.meta, metadata, &mut held.spec, spec);
    let is_scaled = std::mem::replace(&mut held.replicas, replicas) != replicas;
    if is_scaled { delta | ObjectDelta::SPEC } else { delta }
}

fn status(status: &model::ReplicaSetStatus) -> ReplicaSetStatus {
    ReplicaSetStatus {
        observed_generation: status.observed_generation,
        replicas: status.replicas,
        fully_labeled: status.fully_labeled_replicas,
        ready: status.ready_replicas,
        available: status.available_replicas,
        terminating: status.terminating_replicas,
        failure: None,
    }
}
