//! Nodes.

use std::sync::Arc;

use super::strategy::{Key, Strategy, status};
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::apiserver::{nodes, validation};
use crate::component::{Answer, NodeRegistration, export_node};
use crate::model::{self, NodeConditionType, Object};
use crate::state::{NodeCondition, NodeConditionKind, NodeDelta, NodeId, Store, TaintOnNode};

impl Strategy for model::Node {
    type Id = NodeId;
    const RESOURCE: &'static str = "nodes";
    const VALIDATES_UPDATES: bool = true;

    fn find(store: &Store, key: &Key) -> Option<NodeId> {
        store.find_node(key.name).filter(|id| store.node(*id).is_some())
    }

    fn create(mut self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        self.apply_defaults();
        let id = s.store.node_slot(self.metadata.name);
        let registration = NodeRegistration::from(&self);
        let taints = registration.taints.clone();
        let answer = api.create_node(s, id, registration)?;
        let (uid, created_at) =
            (api.uid(s, "Node", &self.metadata), api.instant(self.metadata.creation_timestamp, s.now));
        let now = s.now;
        let conditions: Vec<(NodeConditionKind, NodeCondition)> = self
            .status
            .conditions
            .iter()
            .filter_map(|c| {
                let kind = condition_kind(c.condition_type)?;
                let since = api.instant(c.last_transition_time, now);
                Some((kind, NodeCondition { status: status(c.status), reason: c.reason.as_str(), since }))
            })
            .collect();
        if let Some(node) = s.store.node_mut(id) {
            node.uid = uid;
            node.created_at = created_at;
            node.unschedulable = self.spec.unschedulable;
            if !api.has_loaded {
                // A node of the input has long joined: its taints are those it came with.
                node.taints = taints;
            }
            for (kind, condition) in conditions {
                node.conditions.set(kind, Some(condition));
            }
        }
        Ok(answer)
    }

    /// # Source
    /// kube-apiserver, node strategy: an update of the object leaves its status as it is.
    fn replace(self, _api: &mut ApiServer, s: &mut Session<'_>, id: NodeId) -> Answer {
        if let Some(old) = export_node(s.store, id) {
            let new = Self { status: model::NodeStatus::default(), ..self.clone() };
            validation::change(s, &Object::from(new), &Object::from(old))?;
        }
        nodes::update(s, id, |node| {
            let mut delta = NodeDelta::NONE;
            if node.labels != self.metadata.labels {
                node.labels = self.metadata.labels.clone();
                delta = delta | NodeDelta::LABELS;
            }
            if *node.annotations != self.metadata.annotations {
                node.annotations = Arc::new(self.metadata.annotations.clone());
                delta = delta | NodeDelta::ANNOTATIONS;
            }
            if std::mem::replace(&mut node.unschedulable, self.spec.unschedulable) != self.spec.unschedulable {
                delta = delta | NodeDelta::UNSCHEDULABLE;
            }
            let taints = self.spec.taints.iter().map(|taint| {
                let is_same =
                    |old: &&TaintOnNode| (old.key, old.value, old.effect) == (taint.key, taint.value, taint.effect);
                let new = TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at: None };
                node.taints.iter().find(is_same).copied().unwrap_or(new)
            });
            let taints = taints.collect();
            if node.taints != taints {
                node.taints = taints;
                delta = delta | NodeDelta::TAINTS;
            }
            delta
        })
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: NodeId) -> Answer {
        nodes::delete(s, id)
    }
}

fn condition_kind(condition: NodeConditionType) -> Option<NodeConditionKind> {
    Some(match condition {
        NodeConditionType::MemoryPressure => NodeConditionKind::MemoryPressure,
        NodeConditionType::DiskPressure => NodeConditionKind::DiskPressure,
        NodeConditionType::PidPressure => NodeConditionKind::PidPressure,
        NodeConditionType::Ready => NodeConditionKind::Ready,
        NodeConditionType::NetworkUnavailable => NodeConditionKind::NetworkUnavailable,
        NodeConditionType::Other(_) => return None,
    })
}
