//! What a kubelet says of its node: registration, conditions, shutdown.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Kubelets, Timer, heartbeat, tell};
use crate::arena::Symbol;
use crate::component::{
    Ctx, EventDraft, Latencies, NodeConditionUpdate, NodeRegistration, ObjectRef, PodStatusPatch, Request,
};
use crate::state::{
    DisruptionReason, MachineChange, Node, NodeCondition, NodeConditionKind, NodeId, PodId, PodPhase, Status,
};
use crate::units::SimDuration;

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

/// Posts the conditions as the kubelet observes them, and the events of those that flip.
///
/// # Source
/// kubelet, node status setters.
pub(super) fn post(node: NodeId, ctx: &mut Ctx<'_, Kubelets>) {
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
        (NodeConditionKind::DiskPressure, reported.disk_pressure, "KubeletHasDiskPressure", "KubeletHasNoDiskPressure"),
        (NodeConditionKind::PidPressure, reported.pid_pressure, "KubeletHasInsufficientPID", "KubeletHasSufficientPID"),
        (NodeConditionKind::Ready, is_ready, "KubeletReady", "KubeletNotReady"),
    ];
    let mut updates = SmallVec::new();
    let mut flipped = Vec::new();
    for (kind, holds, yes, no) in wanted {
        let status = if holds { Status::True } else { Status::False };
        let reason = if holds { yes } else { no };
        updates.push(NodeConditionUpdate { kind, condition: NodeCondition { status, reason, since: ctx.now } });
        if old.get(kind).is_some_and(|c| c.status != status) {
            flipped.push(event_reason(kind, holds));
        }
    }
    if machine.network_unavailable || old.get(NodeConditionKind::NetworkUnavailable).is_some() {
        let (status, reason) =
            if machine.network_unavailable { (Status::True, "NoRouteCreated") } else { (Status::False, "RouteCreated") };
        let condition = NodeCondition { status, reason, since: ctx.now };
        updates.push(NodeConditionUpdate { kind: NodeConditionKind::NetworkUnavailable, condition });
    }
    tell(ctx, Request::PatchNodeStatus { node, conditions: updates });
    heartbeat::posted(node, ctx);
    let name = ctx.store.node_name(node);
    for reason in flipped {
        let message = format!("Node {name} status is now: {reason}");
        ctx.event(EventDraft::normal(reason, ObjectRef::node(name), message).on(node));
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

impl Kubelets {
    /// Power is on: the machine boots.
    pub(super) fn boots(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        let boot = self.boots.entry(node).or_insert(0);
        *boot += 1;
        let delay = Latencies::draw(&ctx.config.latency.node_boot, ctx.streams, "node-boot", name.as_str(), *boot);
        if let Some(ticket) = self.awaited.remove(&node) {
            ctx.cancel(ticket);
        }
        let ticket = ctx.arm_in(delay, Timer::Booted(node));
        self.awaited.insert(node, ticket);
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

    /// The operating system is up and a fresh kubelet runs: it registers, or finds its Node and reports.
    pub(super) fn booted(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(node).linked {
            return;
        }
        let name = ctx.store.node_name(node);
        heartbeat::begin_now(node, ctx);
        ctx.event(EventDraft::normal("Starting", ObjectRef::node(name), "Starting kubelet.").on(node));
        self.register_or_report(node, ctx);
        if ctx.store.machine(node).boots > 0 && !ctx.store.pods_on(node).is_empty() {
            let boots = ctx.store.machine(node).boots;
            let message = format!("Node {name} has been rebooted, boot id: {name}-{boots}");
            ctx.event(EventDraft::warning("Rebooted", ObjectRef::node(name), message).on(node));
        }
        let pods: Vec<PodId> = ctx.store.pods_on(node).iter().copied().collect();
        for pod in pods {
            self.pod_after_boot(pod, ctx);
        }
    }

    fn register_or_report(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if ctx.store.node(node).is_some() {
            post(node, ctx);
            return;
        }
        if let Some(registration) = self.registrations.get(&node) {
            let registration = Box::new(NodeRegistration::clone(registration));
            ctx.call(Request::CreateNode { node, registration }, node);
        }
    }

    /// Packets flow again, or the process is back: the lease is renewed at once, the rest follows when the watches are up.
    pub(super) fn heard_again(&mut self, node: NodeId, is_link: bool, ctx: &mut Ctx<'_, Self>) {
        heartbeat::begin_now(node, ctx);
        let name = ctx.store.node_name(node);
        let boot = self.boots.entry(node).or_insert(0);
        *boot += 1;
        let delay = if is_link {
            let latency = &ctx.config.latency.kubelet_reconnect;
            Latencies::draw(latency, ctx.streams, "kubelet-reconnect", name.as_str(), *boot)
        } else {
            SimDuration::ZERO
        };
        if let Some(ticket) = self.awaited.remove(&node) {
            ctx.cancel(ticket);
        }
        let ticket = ctx.arm_in(delay, Timer::Reconnected(node));
        self.awaited.insert(node, ticket);
    }

    /// The kubelet sees what changed while it was cut off.
    pub(super) fn caught_up(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(node).talks() {
            return;
        }
        if ctx.store.node(node).is_some() {
            post(node, ctx);
        }
        let pods: Vec<PodId> = ctx.store.pods_on(node).iter().copied().collect();
        for pod in pods {
            self.pod_after_partition(pod, ctx);
        }
    }

    /// # Source
    /// kubelet, node shutdown manager: Ready=False at once, then group by group in ascending priority.
    pub(super) fn shutdown_begins(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(node).kubelet_alive() {
            return;
        }
        let name = ctx.store.node_name(node);
        let message = "Shutdown manager detected shutdown event";
        ctx.event(EventDraft::normal("Shutdown", ObjectRef::node(name), message).on(node));
        if ctx.store.machine(node).talks() {
            post(node, ctx);
        }
        self.shutdown_step(node, 0, ctx);
    }

    pub(super) fn shutdown_step(&mut self, node: NodeId, group: u32, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(node).reported.shutting_down {
            return;
        }
        let groups = ctx.config.kubelet.shutdown_groups.clone();
        let mut index = group as usize;
        while let Some(current) = groups.get(index) {
            let members = shutdown_members(node, index, &groups, ctx);
            index += 1;
            if members.is_empty() {
                continue;
            }
            let limit = SimDuration::from_secs(current.shutdown_grace_period_seconds.max(0).unsigned_abs());
            let mut longest = SimDuration::ZERO;
            for pod in members {
                longest = longest.max(self.terminate_for_shutdown(pod, limit, ctx));
            }
            ctx.arm_in(longest.min(limit), Timer::Shutdown(node, index as u32));
            return;
        }
        ctx.change_machine(MachineChange::PowerOff(node));
    }

    /// Ends a pod because the node goes down; returns how long that takes.
    fn terminate_for_shutdown(&mut self, pod: PodId, limit: SimDuration, ctx: &mut Ctx<'_, Self>) -> SimDuration {
        let Some(object) = ctx.store.pod(pod) else { return SimDuration::ZERO };
        let stop = super::settings::stop_latency(object, ctx).min(limit);
        let phase = if object.phase == PodPhase::Succeeded { PodPhase::Succeeded } else { PodPhase::Failed };
        let patch = PodStatusPatch {
            phase: Some(phase),
            reason: Some(Symbol::new("Terminated")),
            ready: Some(Status::False),
            disruption: Some((DisruptionReason::TerminationByKubelet, true)),
            ..PodStatusPatch::default()
        };
        self.forget(pod, ctx);
        if let Some(node) = object.node
            && ctx.store.machine(node).talks()
        {
            tell(ctx, Request::PatchPodStatus { pod, patch: Box::new(patch) });
        }
        stop
    }
}

/// The pods of a shutdown group: those for which it is the highest group not above their priority.
fn shutdown_members(
    node: NodeId,
    index: usize,
    groups: &[crate::model::config::ShutdownGracePeriodByPodPriority],
    ctx: &Ctx<'_, Kubelets>,
) -> Vec<PodId> {
    let group_of = |priority: i32| groups.iter().rposition(|g| g.priority <= priority).unwrap_or(0);
    let on_node = ctx.store.pods_on(node).iter().copied();
    on_node
        .filter(|&pod| ctx.store.pod(pod).is_some_and(|p| !p.phase.is_terminal() && group_of(p.spec.priority) == index))
        .collect()
}
