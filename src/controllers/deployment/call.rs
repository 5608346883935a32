//! The calls of a sync, and what each was for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::fenceposts::max_surge;
use super::view::View;
use crate::arena::{Symbol, sym};
use crate::component::{Planned, Request, StatusUpdate};
use crate::state::{DeploymentStatus, ReplicaSet, ReplicaSetId};

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// Creating a ReplicaSet of this size.
    Create(i32),
    /// Scaling a ReplicaSet from one size to another.
    Scale(ReplicaSetId, i32, i32),
    /// Anything else.
    Other,
}

/// A call that changes the size of a ReplicaSet.
pub(super) fn scale_call(view: &View<'_>, id: ReplicaSetId, set: &ReplicaSet, to: i32) -> Planned<Purpose> {
    rescale_call(view, id, set, set.replicas, to)
}

/// A call that changes the size of a ReplicaSet which an earlier call of the same pass may have changed.
pub(super) fn rescale_call(
    view: &View<'_>,
    id: ReplicaSetId,
    set: &ReplicaSet,
    from: i32,
    to: i32,
) -> Planned<Purpose> {
    let annotations = size_annotations(view, &set.meta.annotations);
    let request = Request::UpdateReplicaSet {
        replica_set: id,
        base: Some(set.meta.version),
        replicas: Some(to),
        annotations: (annotations != set.meta.annotations).then_some(annotations),
        min_ready_seconds: None,
    };
    Planned { request, purpose: if to == from { Purpose::Other } else { Purpose::Scale(id, from, to) } }
}

/// A write of the status, and of the annotations where they are given.
pub(super) fn status_request(
    view: &View<'_>,
    status: DeploymentStatus,
    annotations: Option<Arc<BTreeMap<Symbol, Symbol>>>,
) -> Request {
    let base = Some(view.deployment.meta.version);
    Request::UpdateStatus(StatusUpdate::Deployment(view.id, base, status, annotations))
}

pub(super) fn desired_key() -> Symbol {
    sym!("deployment.kubernetes.io/desired-replicas")
}

pub(super) fn max_key() -> Symbol {
    sym!("deployment.kubernetes.io/max-replicas")
}

pub(super) fn annotated(set: &ReplicaSet, key: Symbol) -> Option<i32> {
    set.meta.annotations.get(&key)?.as_str().parse().ok()
}

/// The annotations by which a later sync recognises that the wanted size has changed.
pub(super) fn size_annotations(
    view: &View<'_>,
    annotations: &Arc<BTreeMap<Symbol, Symbol>>,
) -> Arc<BTreeMap<Symbol, Symbol>> {
    let (desired, max) = (view.replicas(), view.replicas().saturating_add(max_surge(view)));
    let says = |key: Symbol, size: i32| annotations.get(&key).is_some_and(|text| text.as_str().parse() == Ok(size));
    if says(desired_key(), desired) && says(max_key(), max) {
        return Arc::clone(annotations);
    }
    let mut map = BTreeMap::clone(annotations);
    map.insert(desired_key(), Symbol::new(&desired.to_string()));
    map.insert(max_key(), Symbol::new(&max.to_string()));
    Arc::new(map)
}
