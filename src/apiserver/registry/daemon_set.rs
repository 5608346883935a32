//! DaemonSets.

use std::sync::Arc;

use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::model::{self, ObjectKind, ObjectMeta};
use crate::state::{DaemonSet, DaemonSetStatus};

impl WorkloadObject for model::DaemonSet {
    type Held = DaemonSet;
    const KIND: ObjectKind = ObjectKind::DaemonSet;
    const RESOURCE: &'static str = "daemonsets.apps";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> DaemonSet {
        let status = DaemonSetStatus {
            observed_generation: self.status.observed_generation,
            desired: self.status.desired_number_scheduled,
            current: self.status.current_number_scheduled,
            misscheduled: self.status.number_misscheduled,
            ready: self.status.number_ready,
            available: self.status.number_available,
            updated: self.status.updated_number_scheduled,
            collision_count: self.status.collision_count.unwrap_or(0),
        };
        let meta = api.meta(s, Self::KIND.as_str(), &self.metadata);
        DaemonSet { meta, spec: Arc::new(self.spec), status }
    }

    fn into_parts(self) -> (ObjectMeta, model::DaemonSetSpec) {
        (self.metadata, self.spec)
    }
}
