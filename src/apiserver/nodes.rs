//! Requests about nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::admission::not_ready_taint;
use super::server::ApiServer;
use super::session::{Session, Standing, already_exists, not_found};
use super::validation;
use crate::arena::Symbol;
use crate::component::{Answer, ApiError, ErrorReason, NodeConditionUpdate, NodeRegistration, Reply};
use crate::model::config::AdmissionPlugin;
use crate::model::{Labels, ObjectKind, TaintEffect};
use crate::state::{Changed, Node, NodeCondition, NodeDelta, NodeId, TaintOnNode};

impl ApiServer {
    pub(super) fn create_node(&mut self, s: &mut Session<'_>, id: NodeId, new: NodeRegistration) -> Answer {
        if s.store.node(id).is_some() {
            return Err(already_exists("nodes", s.store.node_name(id).as_str(), Standing::Stays));
        }
        let mut taints = new.taints;
        let not_ready = not_ready_taint(s);
        let is_added = s.config.kube_apiserver.admits_with(AdmissionPlugin::TaintNodesByCondition);
        if is_added && !taints.iter().any(|t| t.key == not_ready.key && t.effect == not_ready.effect) {
            taints.push(not_ready);
        }
        let node = Node {
            uid: self.names.new_uid(s, "Node", Symbol::empty(), s.store.node_name(id).as_str()),
            labels: new.labels,
            annotations: new.annotations,
            created_at: s.now,
            unschedulable: false,
            taints,
            allocatable: new.allocatable,
            allocatable_pods: new.allocatable_pods,
            capacity: new.capacity,
            images: new.images,
            kubelet_version: new.kubelet_version,
            description: new.description,
            conditions: new.conditions,
        };
        s.store.insert_node(id, node);
        s.changed.push(Changed::NodeAdded(id));
        Ok(Reply::Node(id))
    }
}

/// Changes a node and publishes what differs.
pub(super) fn update(s: &mut Session<'_>, id: NodeId, write: impl FnOnce(&mut Node) -> NodeDelta) -> Answer {
    let name = s.store.node_name(id);
    let Some(before) = s.store.node(id).map(Arc::clone) else { return Err(not_found("nodes", name.as_str())) };
    let mut node = Node::clone(&before);
    let delta = write(&mut node);
    // A write that changes nothing makes no new version, and so refuses nobody who read the present one.
    if delta.is_none() {
        return Ok(Reply::Unchanged);
    }
    s.store.replace_node(id, node);
    s.changed.push(Changed::NodeUpdated { node: id, delta, before });
    Ok(Reply::Node(id))
}

pub(super) fn delete(s: &mut Session<'_>, id: NodeId) -> Answer {
    match s.store.remove_node(id) {
        None => Err(not_found("nodes", s.store.node_name(id).as_str())),
        Some(last) => {
            s.changed.push(Changed::NodeRemoved { node: id, last });
            Ok(Reply::Done)
        }
    }
}

pub(super) fn patch_taints(
    s: &mut Session<'_>,
    id: NodeId,
    add: &[TaintOnNode],
    remove: &[(Symbol, TaintEffect)],
) -> Answer {
    update(s, id, |node| {
        let before = node.taints.clone();
        for taint in add {
            match node.taints.iter_mut().find(|t| t.key == taint.key && t.effect == taint.effect) {
                Some(old) => *old = *taint,
                None => node.taints.push(*taint),
            }
        }
        node.taints.retain(|t| !remove.iter().any(|(key, effect)| t.key == *key && t.effect == *effect));
        if node.taints == before { NodeDelta::NONE } else { NodeDelta::TAINTS }
    })
}

pub(super) fn set_unschedulable(s: &mut Session<'_>, id: NodeId, unschedulable: bool) -> Answer {
    update(s, id, |node| {
        let differs = std::mem::replace(&mut node.unschedulable, unschedulable) != unschedulable;
        if differs { NodeDelta::UNSCHEDULABLE } else { NodeDelta::NONE }
    })
}

pub(super) fn set_labels(s: &mut Session<'_>, id: NodeId, labels: Labels) -> Answer {
    validation::labels(ObjectKind::Node, s.store.node_name(id).as_str(), &labels)?;
    update(s, id, |node| {
        let differs = node.labels != labels;
        node.labels = labels;
        if differs { NodeDelta::LABELS } else { NodeDelta::NONE }
    })
}

pub(super) fn set_annotations(s: &mut Session<'_>, id: NodeId, annotations: Arc<BTreeMap<Symbol, Symbol>>) -> Answer {
    update(s, id, |node| {
        let differs = node.annotations != annotations;
        node.annotations = annotations;
        if differs { NodeDelta::ANNOTATIONS } else { NodeDelta::NONE }
    })
}

pub(super) fn patch_status(
    s: &mut Session<'_>,
    id: NodeId,
    conditions: &[NodeConditionUpdate],
    base: Option<&Arc<Node>>,
) -> Answer {
    let is_stale = |base: &Arc<Node>| s.store.node(id).is_some_and(|node| !Arc::ptr_eq(node, base));
    if base.is_some_and(is_stale) {
        let name = s.store.node_name(id);
        let message = format!(
            "Operation cannot be fulfilled on nodes \"{name}\": the object has been modified; please apply your changes \
             to the latest version and try again"
        );
        return Err(ApiError::new(ErrorReason::Conflict, message));
    }
    let answer = update(s, id, |node| {
        let mut delta = NodeDelta::NONE;
        for update in conditions {
            let old = node.conditions.get(update.kind);
            let flips = old.is_none_or(|old| old.status != update.condition.status);
            let since =
                if flips { update.condition.since } else { old.map_or(update.condition.since, |old| old.since) };
            let new = NodeCondition { since, ..update.condition };
            if old != Some(new) {
                delta = delta | NodeDelta::CONDITIONS;
            }
            node.conditions.set(update.kind, Some(new));
        }
        delta
    });
    // Every status has a `lastHeartbeatTime` of its own: whoever read the node before it is refused, though nobody watches it.
    if matches!(answer, Ok(Reply::Unchanged))
        && let Some(node) = s.store.node(id).map(|node| Node::clone(node))
    {
        s.store.replace_node(id, node);
    }
    answer
}
