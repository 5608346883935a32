//! Nodes and pods as a test makes them: past the API server, with kubelets that renew their leases as they are told.

use std::sync::Arc;

use smallvec::SmallVec;

use super::objects::bare_pod;
use crate::arena::Symbol;
use crate::component::{NodeConditionUpdate, Request};
use crate::model::{Labels, Resources, TaintEffect, Toleration};
use crate::simulation::lab::{Lab, Member};
use crate::state::{
    Changed, HeartbeatLoop, Node, NodeCondition, NodeConditionKind, NodeConditions, NodeDelta, NodeId, Pod,
    PodCondition, PodDelta, PodId, PodPhase, Status, TaintOnNode,
};
use crate::units::{SimDuration, SimTime};

/// A heartbeat that does not come again.
const NEVER: SimDuration = SimDuration::from_secs(1_000_000);

impl<C: Member> Lab<C> {
    pub(crate) fn node_id(&self, name: &str) -> NodeId {
        self.store().find_node(Symbol::new(name)).expect("the test made the node")
    }

    pub(crate) fn node(&self, name: &str) -> &Node {
        self.store().node(self.node_id(name)).expect("the node exists")
    }

    /// Makes a Node object with all conditions as a healthy kubelet posts them, whose kubelet renews its lease every 10 s.
    pub(crate) fn add_node(&mut self, name: &str, zone: &str) -> NodeId {
        let node = self.add_silent_node(name, zone, true);
        self.revive(name);
        node
    }

    /// Makes a Node object without a kubelet, with or without conditions.
    pub(crate) fn add_silent_node(&mut self, name: &str, zone: &str, has_conditions: bool) -> NodeId {
        let id = self.store_mut().node_slot(Symbol::new(name));
        let mut conditions = NodeConditions::default();
        if has_conditions {
            for kind in NodeConditionKind::ALL.into_iter().filter(|kind| *kind != NodeConditionKind::NetworkUnavailable)
            {
                let status = if kind == NodeConditionKind::Ready { Status::True } else { Status::False };
                conditions.set(kind, Some(NodeCondition { status, reason: "KubeletReady", since: self.now() }));
            }
        }
        let zone = (!zone.is_empty()).then(|| (Symbol::new("topology.kubernetes.io/zone"), Symbol::new(zone)));
        let uid = self.fresh_uid();
        let node = Node {
            uid,
            labels: zone.into_iter().collect::<Labels>(),
            annotations: Arc::default(),
            created_at: self.now(),
            unschedulable: false,
            taints: SmallVec::new(),
            allocatable: Arc::new(Resources::default()),
            allocatable_pods: 110,
            capacity: Arc::new(Resources::default()),
            images: Arc::from(Vec::new()),
            kubelet_version: Symbol::empty(),
            description: None,
            conditions,
        };
        self.store_mut().insert_node(id, node);
        self.announce(Changed::NodeAdded(id));
        id
    }

    /// The kubelet renews its lease every 10 s, from now on; its phase differs by node.
    pub(crate) fn revive(&mut self, name: &str) {
        let now = self.now();
        let id = self.node_id(name);
        let lease = HeartbeatLoop::new(self.now(), SimDuration::from_secs(10), id.index() as u64);
        let reports = HeartbeatLoop::new(self.now() + NEVER, NEVER, 1);
        self.store_mut().heartbeat_mut(id).begin(now, lease, reports);
        self.announce(Changed::HeartbeatChanged(id));
    }

    /// The kubelet's last renewal was at this instant, and nothing follows.
    pub(crate) fn last_renewal(&mut self, name: &str, at: SimTime) {
        let id = self.node_id(name);
        let lease = HeartbeatLoop::new(at, NEVER, 1);
        let reports = HeartbeatLoop::new(at + NEVER, NEVER, 1);
        self.store_mut().heartbeat_mut(id).begin(at, lease, reports);
        self.silence(name);
    }

    /// Nothing of the kubelet is heard from now on.
    pub(crate) fn silence(&mut self, name: &str) {
        let now = self.now();
        let id = self.node_id(name);
        self.store_mut().heartbeat_mut(id).silence(now);
        self.announce(Changed::HeartbeatChanged(id));
    }

    /// The kubelet posts its status.
    pub(crate) fn post_ready(&mut self, name: &str, status: Status) {
        let (id, now) = (self.node_id(name), self.now());
        let reports = HeartbeatLoop::new(now + NEVER, NEVER, 1);
        self.store_mut().heartbeat_mut(id).post(now, reports);
        let condition = NodeCondition { status, reason: "KubeletReady", since: now };
        self.set_conditions(id, &[NodeConditionUpdate { kind: NodeConditionKind::Ready, condition }]);
    }

    /// Somebody writes a condition.
    pub(crate) fn set_condition(&mut self, name: &str, kind: NodeConditionKind, status: Option<Status>) {
        let id = self.node_id(name);
        let since = self.now();
        self.edit_node(id, NodeDelta::CONDITIONS, |node| {
            node.conditions.set(kind, status.map(|status| NodeCondition { status, reason: "Test", since }));
        });
    }

    fn set_conditions(&mut self, id: NodeId, updates: &[NodeConditionUpdate]) {
        self.edit_node(id, NodeDelta::CONDITIONS, |node| {
            for update in updates {
                node.conditions.set(update.kind, Some(update.condition));
            }
        });
    }

    /// Changes a Node object.
    pub(crate) fn edit_node(&mut self, id: NodeId, delta: NodeDelta, edit: impl FnOnce(&mut Node)) {
        let before = Arc::clone(self.store().node(id).expect("the node exists"));
        edit(self.store_mut().node_mut(id).expect("the node exists"));
        self.announce(Changed::NodeUpdated { node: id, delta, before });
    }

    pub(crate) fn taint(&mut self, name: &str, key: &str, effect: TaintEffect) {
        let id = self.node_id(name);
        let taint = TaintOnNode { key: Symbol::new(key), value: Symbol::empty(), effect, added_at: Some(self.now()) };
        self.edit_node(id, NodeDelta::TAINTS, |node| {
            node.taints.retain(|other| (other.key, other.effect) != (taint.key, taint.effect));
            node.taints.push(taint);
        });
    }

    pub(crate) fn untaint(&mut self, name: &str, key: &str) {
        let id = self.node_id(name);
        self.edit_node(id, NodeDelta::TAINTS, |node| node.taints.retain(|taint| taint.key != key));
    }

    pub(crate) fn remove_node(&mut self, name: &str) {
        let node = self.node_id(name);
        let last = self.store_mut().remove_node(node).expect("the node exists");
        self.announce(Changed::NodeRemoved { node, last });
    }

    /// Makes a Running pod, Ready if it is on a node.
    pub(crate) fn add_pod(&mut self, name: &str, node: Option<&str>, tolerations: &str) -> PodId {
        let tolerations: Vec<Toleration> = serde_json::from_str(tolerations).expect("tolerations are JSON");
        let node = node.map(|node| self.store_mut().node_slot(Symbol::new(node)));
        let uid = self.fresh_uid();
        let mut pod = bare_pod(name, uid.0);
        Arc::make_mut(&mut pod.spec).spec.tolerations = tolerations;
        pod.created_at = self.now();
        if node.is_some() {
            pod.node = node;
            pod.scheduled_at = Some(self.now());
            pod.started_at = Some(self.now());
            pod.phase = PodPhase::Running;
            pod.ready = Some(PodCondition { status: Status::True, since: self.now() });
        }
        let id = self.store_mut().insert_pod(pod);
        self.announce(Changed::PodAdded(id));
        id
    }

    pub(crate) fn pod_id(&self, name: &str) -> Option<PodId> {
        self.store().find_pod(Symbol::new("default"), &Arc::from(name))
    }

    /// A pod of the default namespace, if it exists.
    pub(crate) fn pod(&self, name: &str) -> Option<&Pod> {
        self.store().pod(self.pod_id(name)?)
    }

    /// Changes a pod object.
    pub(crate) fn edit_pod(&mut self, name: &str, delta: PodDelta, edit: impl FnOnce(&mut Pod)) {
        let pod = self.pod_id(name).expect("the pod exists");
        let before = self.store().pod(pod).cloned().map(Arc::new);
        self.store_mut().update_pod(pod, edit);
        self.announce(Changed::PodUpdated { pod, delta, before });
    }

    pub(crate) fn set_tolerations(&mut self, name: &str, tolerations: &str) {
        let tolerations: Vec<Toleration> = serde_json::from_str(tolerations).expect("tolerations are JSON");
        self.edit_pod(name, PodDelta::SPEC, |pod| Arc::make_mut(&mut pod.spec).spec.tolerations = tolerations);
    }

    pub(crate) fn remove_pod(&mut self, name: &str) {
        let pod = self.pod_id(name).expect("the pod exists");
        let last = Arc::new(self.store_mut().remove_pod(pod).expect("the pod exists"));
        self.announce(Changed::PodRemoved { pod, last });
    }

    // ---- what happened --------------------------------------------------------------------------------------------

    /// When requests of a kind arrived, in seconds.
    pub(crate) fn times(&self, wanted: impl Fn(&Request) -> bool) -> Vec<f64> {
        self.requests.iter().filter(|(_, request)| wanted(request)).map(|(at, _)| at.as_secs_f64()).collect()
    }

    /// When a NoExecute taint with this key was written, and to which node.
    pub(crate) fn no_execute_writes(&self, key: &str) -> Vec<(f64, String)> {
        let mut writes = Vec::new();
        for (at, request) in &self.requests {
            if let Request::PatchNodeTaints { node, add, .. } = request
                && add.iter().any(|taint| taint.key == key && taint.effect == TaintEffect::NoExecute)
            {
                writes.push((at.as_secs_f64(), self.store().node_name(*node).as_str().to_owned()));
            }
        }
        writes
    }

    /// When Unknown was written, and to which node.
    pub(crate) fn unknown_writes(&self) -> Vec<(f64, String)> {
        let mut writes = Vec::new();
        for (at, request) in &self.requests {
            if let Request::PatchNodeStatus { node, .. } = request {
                writes.push((at.as_secs_f64(), self.store().node_name(*node).as_str().to_owned()));
            }
        }
        writes
    }

    /// When pods were marked not ready.
    pub(crate) fn marks(&self) -> Vec<f64> {
        self.times(|request| matches!(request, Request::PatchPodStatus { patch, .. } if patch.ready.is_some()))
    }

    /// When pods were deleted.
    pub(crate) fn deletions(&self) -> Vec<f64> {
        self.times(|request| matches!(request, Request::DeletePod { .. }))
    }

    /// Messages of events with this reason.
    pub(crate) fn messages(&self, reason: &str) -> Vec<&str> {
        let events = self.events.iter().filter(|(_, event)| event.reason == reason);
        events.map(|(_, event)| event.message.as_str()).collect()
    }

    /// Taints of a node as `key:Effect`, sorted.
    pub(crate) fn taints(&self, node: &str) -> Vec<String> {
        let mut taints: Vec<String> =
            self.node(node).taints.iter().map(|taint| format!("{}:{}", taint.key, taint.effect)).collect();
        taints.sort();
        taints
    }
}
