//! What a kubelet says of its node: registration and conditions.

use std::sync::Arc;

use smallvec::SmallVec;

use super::timer::NodeTimer;
use super::{Kubelets, heartbeat};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, NodeConditionUpdate, NodeRegistration, ObjectRef, Request};
use crate::state::{
    Node, NodeCondition, NodeConditionKind, NodeConditions, NodeId, ReportedConditions, Status, TaintOnNode, Uid,
};
use crate::units::{SimDuration, SimTime};

/// How a node of which only the last object is left would register: with the labels, annotations, taints and resources that it did before,
/// if that is known.
///
/// # Source
/// kubelet, `initialNode`: from its flags and its machine, whatever somebody has written since.
pub(super) fn registers_again(node: &Node, own: Option<&NodeRegistration>) -> NodeRegistration {
    NodeRegistration {
        labels: own.map_or(&node.labels, |own| &own.labels).clone(),
        annotations: Arc::clone(own.map_or(&node.annotations, |own| &own.annotations)),
        taints: own.map_or_else(SmallVec::new, |own| own.taints.clone()),
        allocatable: Arc::clone(own.map_or(&node.allocatable, |own| &own.allocatable)),
        allocatable_pods: own.map_or(node.allocatable_pods, |own| own.allocatable_pods),
        capacity: Arc::clone(own.map_or(&node.capacity, |own| &own.capacity)),
        images: Arc::clone(&node.images),
        kubelet_version: node.kubelet_version,
        description: node.description.clone(),
        conditions: NodeConditions::default(),
    }
}

/// The Node object that a kubelet is about to register.
pub(super) fn node_to_register(registration: &NodeRegistration, now: SimTime) -> Node {
    Node {
        uid: Uid::default(),
        labels: registration.labels.clone(),
        annotations: Arc::clone(&registration.annotations),
        created_at: now,
        unschedulable: false,
        taints: registration.taints.clone(),
        allocatable: Arc::clone(&registration.allocatable),
        allocatable_pods: registration.allocatable_pods,
        capacity: Arc::clone(&registration.capacity),
        images: Arc::clone(&registration.images),
        kubelet_version: registration.kubelet_version,
        description: registration.description.clone(),
        conditions: NodeConditions::default(),
    }
}

/// What the kubelet would say of each condition, with the reasons of yes and no.
fn opinion(reported: ReportedConditions) -> [(NodeConditionKind, bool, &'static str, &'static str); 4] {
    let is_ready = !reported.not_ready && !reported.shutting_down;
    [
        (
            NodeConditionKind::MemoryPressure,
            reported.memory_pressure,
            "KubeletHasInsufficientMemory",
            "KubeletHasSufficientMemory",
        ),
        (NodeConditionKind::DiskPressure, reported.disk_pressure, "KubeletHasDiskPressure", "KubeletHasNoDiskPressure"),
        (NodeConditionKind::PidPressure, reported.pid_pressure, "KubeletHasInsufficientPID", "KubeletHasSufficientPID"),
        (NodeConditionKind::Ready, is_ready, "KubeletReady", "KubeletNotReady"),
    ]
}

impl Kubelets {
    /// Whether the kubelet would say otherwise than the node's conditions do.
    pub(super) fn differs(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        let Some(object) = ctx.store.node(node) else { return false };
        opinion(self.reported(node, ctx)).into_iter().any(|(kind, holds, ..)| {
            let status = if holds { Status::True } else { Status::False };
            let is_news = holds && kind != NodeConditionKind::Ready;
            object.conditions.get(kind).map_or(is_news, |condition| condition.status != status)
        })
    }

    /// The kubelet's watch shows it its node with conditions that are not its own: the status loop will post them anew.
    ///
    /// # Source
    /// kubelet, `syncNodeStatus`: every `nodeStatusUpdateFrequency` it compares what it would post with the node as its informer
    /// has it, and posts if they differ.
    pub(super) fn conditions_overwritten(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        // Whether its renewals go through is looked at when the loop comes round: they may begin with this very event.
        if !self.links.are_up(node, ctx) || !self.differs(node, ctx) {
            return;
        }
        if !std::mem::replace(&mut self.links.process_mut(node).is_reporting, true) {
            NodeTimer::Report.arm_in(node, Self::until_status_loop(node, ctx), ctx);
        }
    }

    /// How long it is until the status loop comes round.
    pub(super) fn until_status_loop(node: NodeId, ctx: &Ctx<'_, Self>) -> SimDuration {
        let period = ctx.config.kubelet.node_status_update_frequency;
        let now = ctx.now.as_nanos().unsigned_abs() / 1_000_000;
        let phase = ctx.streams.at("node-status", ctx.store.node_name(node).as_str(), now).unit();
        SimDuration::from_secs_f64(phase * period.as_secs_f64())
    }

    /// The kubelet's node was cordoned or uncordoned, or its process began anew: it tells when its status loop comes round.
    ///
    /// # Source
    /// kubelet, `recordNodeSchedulableEvent`, one of the setters of the node's status: a new process takes its node for schedulable.
    pub(super) fn look_at_schedulable(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.links.is_stand_in(node, ctx) && self.links.are_up(node, ctx) {
            NodeTimer::Schedulable.arm_in(node, Self::until_status_loop(node, ctx), ctx);
        }
    }

    /// The status loop comes round: the kubelet tells whether its node is cordoned, if that is not what it told last.
    pub(super) fn tell_schedulable(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(is_cordoned) = ctx.store.node(node).map(|object| object.unschedulable) else { return };
        let told = self.links.process(node).and_then(|process| process.cordoned);
        if told.is_none_or(|told| told == is_cordoned) || !self.links.are_up(node, ctx) {
            return;
        }
        self.links.process_mut(node).cordoned = Some(is_cordoned);
        let name = ctx.store.node_name(node);
        let reason = if is_cordoned { "NodeNotSchedulable" } else { "NodeSchedulable" };
        let message = format!("Node {name} status is now: {reason}");
        self.links.event(node, EventDraft::normal(reason, ObjectRef::node(name), message), ctx);
    }

    /// A process of the kubelet's begins anew.
    pub(super) fn forget_schedulable(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.links.process_mut(node).cordoned = Some(false);
        if ctx.store.node(node).is_some_and(|object| object.unschedulable) {
            self.look_at_schedulable(node, ctx);
        }
    }

    /// The status loop comes round.
    pub(super) fn report(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let differs = self.differs(node, ctx);
        let is_posted = differs && self.gets_through(node, ctx);
        // Where nobody answers yet, or not this node's lease, the loop tries again; who is cut off looks anew when its link is back.
        let is_tried_again = differs && !is_posted && self.links.are_up(node, ctx);
        self.links.process_mut(node).is_reporting = is_tried_again;
        if is_posted {
            self.post(node, ctx);
        } else if is_tried_again {
            NodeTimer::Report.arm_in(node, ctx.config.kubelet.node_status_update_frequency, ctx);
        }
    }

    /// Whether what the kubelet sends reaches the API server, and nothing holds it up before it is sent.
    fn gets_through(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        let is_sent = ctx.store.heartbeat(node).is_alive() || self.links.delayed.contains(&node);
        self.links.are_up(node, ctx) && is_sent
    }

    /// Posts the conditions as the kubelet observes them, and the events of those that flip.
    ///
    /// # Source
    /// kubelet, node status setters.
    pub(super) fn post(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else { return };
        self.report_volumes(node, ctx);
        let old = object.conditions;
        let machine = ctx.store.machine(node);
        let mut updates = SmallVec::new();
        let mut flipped = Vec::new();
        for (kind, holds, yes, no) in opinion(self.reported(node, ctx)) {
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
        ctx.send(Request::PatchNodeStatus { node, conditions: updates, base: None });
        // Over a slow link it is a sign of life when it arrives.
        if !self.links.delayed.contains(&node) {
            heartbeat::posted(node, ctx);
        }
        for reason in flipped {
            self.tell_condition(node, reason, ctx);
        }
    }

    /// The conditions that a kubelet registers its node with: it has not looked at its runtime yet.
    ///
    /// # Source
    /// kubelet, `initialNode` and the setter of the Ready condition.
    fn first_conditions(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> NodeConditions {
        let mut conditions = NodeConditions::default();
        for (kind, holds, yes, no) in opinion(self.reported(node, ctx)) {
            let holds = holds && kind != NodeConditionKind::Ready;
            let (status, reason) = if holds { (Status::True, yes) } else { (Status::False, no) };
            conditions.set(kind, Some(NodeCondition { status, reason, since: ctx.now }));
        }
        conditions
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
            self.post_first(node, ctx);
            return;
        }
        self.links.process_mut(node).registration_tries = Some(0);
        self.register(node, ctx);
    }

    /// A new kubelet process looks at its node for the first time, and tells what it finds whatever was said before.
    ///
    /// # Source
    /// kubelet, `initialNode`: setters of conditions begin without any; that of Ready tells changes alone. The limits of pods are set
    /// when the container manager starts.
    pub(super) fn tell_first_look(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        for (kind, holds, ..) in opinion(self.reported(node, ctx)) {
            if kind != NodeConditionKind::Ready {
                self.tell_condition(node, event_reason(kind, holds), ctx);
            }
        }
        let text = "Updated Node Allocatable limit across pods";
        self.links.event(node, EventDraft::normal("NodeAllocatableEnforced", ObjectRef::node(name), text), ctx);
    }

    fn tell_condition(&self, node: NodeId, reason: &'static str, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        let message = format!("Node {name} status is now: {reason}");
        self.links.event(node, EventDraft::normal(reason, ObjectRef::node(name), message), ctx);
    }

    /// A new kubelet process posts its first status as soon as it finds its node ready.
    pub(super) fn post_first(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if self.links.is_stand_in(node, ctx) {
            self.post(node, ctx);
        } else {
            NodeTimer::FirstStatus.arm_in(node, Self::ready_after_start(node, ctx), ctx);
        }
    }

    /// Creates the Node object, if the machine is one that may have one.
    pub(super) fn register(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.links.are_up(node, ctx) || ctx.store.node(node).is_some() || !ctx.config.kubelet.register_node {
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
            if !self.links.is_stand_in(node, ctx) {
                registration.conditions = self.first_conditions(node, ctx);
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
        (NodeConditionKind::Ready | NodeConditionKind::NetworkUnavailable, true) => "NodeReady",
        (NodeConditionKind::Ready | NodeConditionKind::NetworkUnavailable, false) => "NodeNotReady",
    }
}
