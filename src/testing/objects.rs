//! Objects as a test needs them, not admitted by anybody.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::arena::Symbol;
use crate::model::{Labels, PodSpec, QosClass, Resources};
use crate::state::{AdmittedSpec, Deletion, DeletionCause, Meta, Owner, Pod, PodPhase, Uid};
use crate::units::{SimDuration, SimTime};

/// A Pending pod of the default namespace that nobody owns, created at t=0.
pub(crate) fn bare_pod(name: &str, uid: u128) -> Pod {
    let spec = AdmittedSpec {
        spec: PodSpec::default(),
        finalizers: Box::default(),
        annotations: Arc::default(),
        requests: Resources::default(),
        non_zero_requests: Resources::default(),
        non_zero_container_requests: Resources::default(),
        qos: QosClass::BestEffort,
        priority: 0,
    };
    Pod {
        namespace: Symbol::new("default"),
        name: Arc::from(name),
        uid: Uid(uid),
        labels: Labels::default(),
        owner: None,
        spec: Arc::new(spec),
        own_annotations: None,
        pinned_node: None,
        is_mirror: false,
        node: None,
        nominated_node: None,
        created_at: SimTime::ZERO,
        scheduled_at: None,
        started_at: None,
        deletion: None,
        job_tracking: false,
        phase: PodPhase::Pending,
        reason: Symbol::empty(),
        ready: None,
        containers_ready: None,
        not_scheduled: None,
        disruption_target: None,
        containers: SmallVec::new(),
        init_containers: SmallVec::new(),
        resource_version: 1,
    }
}

/// Metadata of an object of the default namespace.
pub(crate) fn meta(name: &str, owner: Option<Owner>) -> Meta {
    Meta {
        namespace: Symbol::new("default"),
        name: Symbol::new(name),
        uid: Uid(u128::from(crate::arena::stable_hash(name.as_bytes()))),
        labels: Labels::default(),
        annotations: Arc::default(),
        created_at: SimTime::ZERO,
        generation: 1,
        version: 1,
        deleting: None,
        finalizers: Box::default(),
        owner,
    }
}

/// The deletion of a pod on a node that cannot confirm it.
pub(crate) fn marked(at: SimTime) -> Deletion {
    let grace = SimDuration::from_secs(30);
    Deletion { requested_at: at, deadline: at + grace, grace, cause: DeletionCause::Kubectl }
}
