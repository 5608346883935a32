//! What a kubelet says of its node: registration and conditions.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Kubelets, heartbeat, tell};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, NodeConditionUpdate, NodeRegistration, ObjectRef, Request};
use crate::state::{Node, NodeCondition, NodeConditionKind, NodeId, Status, TaintOnNode};

/// How a node of which only the last object is left would register.
pub(super) fn registration_of(node: &Node) -> NodeRegistration {
    NodeRegistration {
        labels: node.labels.clone(),
        annotations: Arc::clone(&node.annotations),
        taints: SmallVec::new(),
        allocatable: Arc::clone(&node.allocatable),
        allocatable_pods: node.allocatable_pods,
        capacity: Arc::clone(&node.capacity),
        images: Arc::clone(&node.images),
    }
}

impl Kubelets {
    /// Posts the conditions as the kubelet observes them, and the events of those that flip.
    ///
    /// # Source
    /// kubelet, node status setters.
    pub(super) fn post(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else { return };
        let old = object.conditions;
        let machine = ctx.store.machine(node);
        let reported = machine.reported;
        let is_ready = !reported.not_ready && !reported.shutting_down;
        let wanted: [(NodeConditionKind, bool, &'static str, &'static str); 4] = [
            (
                NodeConditionKind::MemoryPressure,
                reported.memory_pressure,
                "KubeletHasInsufficientMemory",
                "KubeletHasSufficientMemory",
            ),
            (
                NodeConditionKind::DiskPressure,
                reported.disk_pressure,
                "KubeletHasDiskPressure",
                "KubeletHasNoDiskPressure",
            ),
            (
                NodeConditionKind::PidPressure,
                reported.pid_pressure,
                "KubeletHasInsufficientPID",
                "KubeletHasSufficientPID",
            ),
            (NodeConditionKind::Ready, is_ready, "KubeletReady", "KubeletNotReady"),
        ];
        let mut updates = SmallVec::new();
        let mut flipped = Vec::new();
        for (kind, holds, yes, no) in wanted {
            let status = if holds { Status::True } else { Status::False };
            let reason = if holds { yes } else { no };
            updates.push(NodeConditionUpdate { kind, condition: NodeCondition { status, reason, since: ctx.now } });
            if old.get(kind).is_none_or(|c| c.status != status) {
                flipped.push(event_reason(kind, holds));
            }
        }
        if machine.network_unavailable || old.get(NodeConditionKind::NetworkUnavailable).is_some() {
            let (status, reason) = if machine.network_unavailable {
                (Status::True, "NoRouteCreated")
            } else {
                (Status::False, "RouteCreated")
            };
            let condition = NodeCondition { status, reason, since: ctx.now };
            updates.push(NodeConditionUpdate { kind: NodeConditionKind::NetworkUnavailable, condition });
        }
        tell(ctx, Request::PatchNodeStatus { node, conditions: updates, base: None });
        heartbeat::posted(node, ctx);
        let name = ctx.store.node_name(node);
        for reason in flipped {
            let message = format!("Node {name} status is now: {reason}");
            self.event(node, EventDraft::normal(reason, ObjectRef::node(name), message), ctx);
        }
    }

    pub(super) fn instance_created(&mut self, node: NodeId, pool: u32, ctx: &mut Ctx<'_, Self>) {
        if let Some(template) = self.templates.get(pool as usize) {
            let name = ctx.store.node_name(node);
            let mut registration = template.registration.clone();
            let number: usize = name.as_str().rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            registration.labels = registration.labels.with(Symbol::new("kubernetes.io/hostname"), name);
            if !template.zones.is_empty() {
                let zone = template.zones[number % template.zones.len()];
                registration.labels = registration.labels.with(Symbol::new("topology.kubernetes.io/zone"), zone);
            }
            self.registrations.insert(node, Arc::new(registration));
        }
        self.boots(node, ctx);
    }

    pub(super) fn register_or_report(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if ctx.store.node(node).is_some() {
            self.post(node, ctx);
            return;
        }
        self.registration_tries.insert(node, 0);
        self.register(node, ctx);
    }

    /// Creates the Node object, if the machine is one that may have one.
    pub(super) fn register(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.hears(node, ctx) || ctx.store.node(node).is_some() || !ctx.config.kubelet.register_node {
            return;
        }
        if let Some(registration) = self.registrations.get(&node) {
            let mut registration = Box::new(NodeRegistration::clone(registration));
            for taint in &ctx.config.kubelet.register_with_taints {
                let taint = TaintOnNode { key: taint.key, value: taint.value, effect: taint.effect, added_at: None };
                if !registration.taints.iter().any(|t| t.key == taint.key && t.effect == taint.effect) {
                    registration.taints.push(taint);
                }
            }
            ctx.call(Request::CreateNode { node, registration }, node);
        }
    }
}

fn event_reason(kind: NodeConditionKind, holds: bool) -> &'static str {
    match (kind, holds) {
        (NodeConditionKind::MemoryPressure, true) => "NodeHasInsufficientMemory",
        (NodeConditionKind::MemoryPressure, false) => "NodeHasSufficientMemory",
        (NodeConditionKind::DiskPressure, true) => "NodeHasDiskPressure",
        (NodeConditionKind::DiskPressure, false) => "NodeHasNoDiskPressure",
        (NodeConditionKind::PidPressure, true) => "NodeHasInsufficientPID",
        (NodeConditionKind::PidPressure, false) => "NodeHasSufficientPID",
        (_, true) => "NodeReady",
        (_, false) => "NodeNotReady",
    }
}
