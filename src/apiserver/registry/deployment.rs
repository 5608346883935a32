//! Deployments.

use std::sync::Arc;

use super::strategy;
use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::model::{self, ObjectKind, ObjectMeta};
use crate::state::{Deployment, DeploymentCondition, DeploymentStatus};

impl WorkloadObject for model::Deployment {
    type Held = Deployment;
    const KIND: ObjectKind = ObjectKind::Deployment;
    const RESOURCE: &'static str = "deployments.apps";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> Deployment {
        let condition = |name: &str| {
            let written = self.status.conditions.iter().find(|c| c.condition_type.as_str() == name);
            written.map(|c| DeploymentCondition {
                status: strategy::status(c.status),
                reason: c.reason.as_str().into(),
                updated_at: api.instant(c.last_update_time, s.now),
                since: api.instant(c.last_transition_time, s.now),
            })
        };
        let status = DeploymentStatus {
            observed_generation: self.status.observed_generation,
            replicas: self.status.replicas,
            updated: self.status.updated_replicas,
            ready: self.status.ready_replicas,
            available: self.status.available_replicas,
            unavailable: self.status.unavailable_replicas,
            terminating: self.status.terminating_replicas,
            progressing: condition("Progressing"),
            replica_failure: None,
            availability: condition("Available"),
            collision_count: self.status.collision_count.unwrap_or(0),
        };
        let meta = api.meta(s, Self::KIND.as_str(), &self.metadata);
        Deployment { meta, spec: Arc::new(self.spec), status }
    }

    fn into_parts(self) -> (ObjectMeta, model::DeploymentSpec) {
        (self.metadata, self.spec)
    }
}
