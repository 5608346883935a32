//! DaemonSets.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::strategy::replace;
use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::model::{self, ObjectKind, ObjectMeta};
use crate::state::{DaemonSet, DaemonSetStatus, ObjectDelta, Workload};

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
        let mut set = DaemonSet { meta, spec: Arc::new(self.spec), status };
        if set.template_generation().is_none() {
            mark(Arc::make_mut(&mut set.meta.annotations), 1);
        }
        set
    }

    /// # Source
    /// kube-apiserver, `daemonSetStrategy.PrepareForUpdate`: the generation rises with the template, whatever a client says.
    fn write(mut self, held: &mut DaemonSet) -> ObjectDelta {
        let generation = held.template_generation().and_then(|of| of.as_str().parse().ok()).unwrap_or(1);
        mark(&mut self.metadata.annotations, generation + i64::from(held.spec.template != self.spec.template));
        let ((meta, old), (metadata, spec)) = (held.parts_mut(), self.into_parts());
        replace(meta, &metadata, old, spec)
    }

    fn into_parts(self) -> (ObjectMeta, model::DaemonSetSpec) {
        (self.metadata, self.spec)
    }
}

/// Writes how many templates a set has had.
fn mark(annotations: &mut BTreeMap<Symbol, Symbol>, template_generation: i64) {
    annotations.insert(DaemonSet::template_generation_annotation(), Symbol::new(&template_generation.to_string()));
}
