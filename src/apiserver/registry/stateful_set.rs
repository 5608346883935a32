//! StatefulSets.

use std::sync::Arc;

use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::model::{self, ObjectKind, ObjectMeta};
use crate::state::{StatefulSet, StatefulSetStatus};

impl WorkloadObject for model::StatefulSet {
    type Held = StatefulSet;
    const KIND: ObjectKind = ObjectKind::StatefulSet;
    const RESOURCE: &'static str = "statefulsets.apps";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> StatefulSet {
        let status = StatefulSetStatus {
            observed_generation: self.status.observed_generation,
            replicas: self.status.replicas,
            ready: self.status.ready_replicas,
            available: self.status.available_replicas,
            current: self.status.current_replicas,
            updated: self.status.updated_replicas,
            current_revision: self.status.current_revision,
            update_revision: self.status.update_revision,
            collision_count: self.status.collision_count.unwrap_or(0),
        };
        let meta = api.meta(s, Self::KIND.as_str(), &self.metadata);
        StatefulSet { meta, spec: Arc::new(self.spec), status }
    }

    fn into_parts(self) -> (ObjectMeta, model::StatefulSetSpec) {
        (self.metadata, self.spec)
    }
}
