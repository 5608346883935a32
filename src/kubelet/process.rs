//! What one process of a node's kubelet has under way and remembers: all of it is gone with the process.

use super::bound_pod::BoundPod;
use super::eviction::Manager;
use super::links::Links;
use super::probe_timing::longest_period;
use super::timer::{NodeTimer, Timer};
use super::{Kubelets, heartbeat};
use crate::component::{Ctx, EventDraft, ObjectRef, Reflector, next_round};
use crate::engine::Ticket;
use crate::state::NodeId;
use crate::units::{SimDuration, SimTime};

/// A process of a node's kubelet; by default one that has been running since before anybody looked.
#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    /// Fires when the machine on which it will run is up, or when it sees again what the API server has.
    pub(super) awaited: Option<Ticket>,
    /// Fires when a renewal that is held up gets through.
    pub(super) late: Option<Ticket>,
    pub(super) pods: Pods,
    /// When it began, and when it looked at its pods for the first time.
    began_at: Option<SimTime>,
    pub(super) opened_at: Option<SimTime>,
    /// When it can look at them, if it has begun while nobody answered.
    pub(super) reads_at: Option<SimTime>,
    /// Nobody has heard yet that it has started.
    pub(super) is_unheard: bool,
    /// Its status loop has something to correct when it next comes round.
    pub(super) is_reporting: bool,
    /// Whether it last found its node cordoned, once that has changed.
    pub(super) cordoned: Option<bool>,
    /// Refused registrations in a row, while it registers.
    pub(super) registration_tries: Option<u32>,
    /// Its eviction manager, with something to watch.
    pub(super) evictions: Option<Box<Manager>>,
}

/// Whether a process knows which pods are bound to its node.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Pods {
    #[default]
    Known,
    /// It has not reached the API server for long enough.
    Unknown,
    /// It looks at them when the timer fires.
    Opening(Ticket),
}

impl Process {
    /// One that starts.
    fn new(now: SimTime) -> Self {
        Self { pods: Pods::Unknown, is_unheard: true, began_at: Some(now), ..Self::default() }
    }

    /// Takes back what waits for the API server, or for the machine.
    pub(super) fn stop_waiting(&mut self, ctx: &mut Ctx<'_, Kubelets>) {
        for ticket in [self.awaited.take(), self.late.take()].into_iter().flatten() {
            ctx.cancel(ticket);
        }
    }

    /// It is cut off before it has looked at its pods.
    pub(super) fn stays_closed(&mut self, ctx: &mut Ctx<'_, Kubelets>) {
        if let Pods::Opening(ticket) = self.pods {
            ctx.cancel(ticket);
            self.pods = Pods::Unknown;
        }
    }

    /// Takes back the next pass of its eviction manager.
    pub(super) fn forget_shortages(&mut self, ctx: &mut Ctx<'_, Kubelets>) {
        if let Some(ticket) = self.evictions.take().and_then(|manager| manager.pass) {
            ctx.cancel(ticket);
        }
    }
}

impl Links {
    /// The process of the node's kubelet, if there is something to say of it.
    pub(super) fn process(&self, node: NodeId) -> Option<&Process> {
        self.processes.get(&node)
    }

    /// The process of the node's kubelet.
    pub(super) fn process_mut(&mut self, node: NodeId) -> &mut Process {
        self.processes.entry(node).or_default()
    }

    /// Whether the process of the node's kubelet knows which pods are bound to it.
    pub(super) fn know_pods(&self, node: NodeId) -> bool {
        self.process(node).is_none_or(|process| process.pods == Pods::Known)
    }

    /// Whether the process of the node's kubelet has looked at its pods for the first time just now, so that it has not done any housekeeping.
    pub(super) fn has_just_opened(&self, node: NodeId, ctx: &Ctx<'_, Kubelets>) -> bool {
        self.process(node).is_some_and(|process| process.opened_at == Some(ctx.now))
    }

    /// When the process of the node's kubelet does its housekeeping for the first time after now.
    ///
    /// # Source
    /// kubelet, `syncLoop`: every two seconds from when it begins, once it knows which pods there are.
    pub(super) fn next_housekeeping(&self, node: NodeId, ctx: &Ctx<'_, Kubelets>) -> SimTime {
        const PERIOD: SimDuration = SimDuration::from_secs(2);
        let began_at = self.process(node).and_then(|process| process.began_at).unwrap_or(ctx.now);
        next_round(began_at, PERIOD, ctx.now)
    }

    /// When the workers began that probe a pod whose containers have just begun, if that was so soon after the process that they sleep for a
    /// part of their period first.
    ///
    /// # Source
    /// kubelet, `worker.run`: within one period.
    pub(super) fn fresh_probers(&self, pod: BoundPod<'_>) -> Option<SimTime> {
        let process = self.process(pod.node)?;
        let (began_at, opened_at) = (process.began_at?, process.opened_at?);
        let synced_at = pod.started_at.map_or(opened_at, |at| at.max(opened_at));
        Some(synced_at).filter(|at| at.saturating_since(began_at) < longest_period(&pod))
    }

    /// The process of the node's kubelet is gone, or the machine on which it would run.
    pub(super) fn end_process(&mut self, node: NodeId, ctx: &mut Ctx<'_, Kubelets>) {
        if let Some(mut process) = self.processes.remove(&node) {
            process.stop_waiting(ctx);
            process.stays_closed(ctx);
            process.forget_shortages(ctx);
        }
    }
}

impl NodeTimer {
    /// Wakes the present process of the node's kubelet.
    pub(super) fn arm(self, node: NodeId, at: SimTime, ctx: &mut Ctx<'_, Kubelets>) -> Ticket {
        let life = ctx.store.machine(node).kubelet_ends;
        ctx.arm(at, Timer::Node(node, life, self))
    }

    /// Wakes the present process of the node's kubelet after `delay`.
    pub(super) fn arm_in(self, node: NodeId, delay: SimDuration, ctx: &mut Ctx<'_, Kubelets>) -> Ticket {
        self.arm(node, ctx.now + delay, ctx)
    }
}

impl Kubelets {
    /// The API server is back, and the node's kubelet has begun while it was away: it lists what it needs when it next tries.
    ///
    /// # Source
    /// kubelet, `NewSourceApiserver`: pods are listed after the node; `makeEnvironmentVariables`: no container is started before Services
    /// have been listed, which the next sync looks at again.
    ///
    /// # Differs
    /// It does not look at its pods before it can start them, nor do static pods start sooner.
    pub(super) fn reads_later(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        let Some(process) = self.links.processes.get_mut(&node) else { return };
        let Some(began_at) = process.began_at else { return };
        let began_ms = began_at.as_nanos().unsigned_abs() / 1_000_000;
        let mut stream = ctx.streams.at("kubelet-lists", ctx.store.node_name(node).as_str(), began_ms);
        let mut listed_at = || Reflector::first_list(began_at, ctx.now, || stream.unit());
        let (node_at, services_at) = (listed_at(), listed_at());
        let mut reads_at = node_at + SimDuration::from_secs_f64(stream.unit());
        while reads_at < services_at {
            reads_at += SimDuration::from_secs_f64(10.0 + 5.0 * stream.unit());
        }
        process.reads_at = Some(reads_at);
    }

    /// A process of the node's kubelet starts.
    pub(super) fn process_starts(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.links.end_process(node, ctx);
        *self.links.process_mut(node) = Process::new(ctx.now);
        self.watch_node(node, ctx);
        if self.links.reach(node, ctx) {
            self.introduces_itself(node, ctx);
        }
    }

    /// A process that has started reaches the API server for the first time: it registers, or finds its Node and reports.
    pub(super) fn introduces_itself(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        self.links.process_mut(node).is_unheard = false;
        heartbeat::begin_now(node, ctx);
        self.links.event(node, EventDraft::normal("Starting", ObjectRef::node(name), "Starting kubelet."), ctx);
        self.tell_first_look(node, ctx);
        if let Some(boot) = self.fresh_boots.get_mut(&node)
            && !std::mem::replace(&mut boot.is_told, true)
            && ctx.store.node(node).is_some()
        {
            let boots = ctx.store.machine(node).boots;
            let message = format!("Node {name} has been rebooted, boot id: {name}-{boots}");
            self.links.event(node, EventDraft::warning("Rebooted", ObjectRef::node(name), message), ctx);
        }
        self.forget_schedulable(node, ctx);
        self.register_or_report(node, ctx);
        self.opens_its_pods_later(node, ctx);
    }
}
