//! The eviction manager: pods that go because their node is short of memory, disk or process numbers.

mod limits;
mod message;
mod observation;
mod rank;
mod starved;

use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::engine::Ticket;
use crate::model::config::EvictionThreshold;
use crate::model::{SYSTEM_CRITICAL_PRIORITY, StatedUsage};
use crate::state::{DisruptionReason, NodeId, Pod, PodPhase, ReportedConditions, Status, Usage};
use crate::units::{SimDuration, SimTime};

use super::Kubelets;
use super::bound_pod::BoundPod;
use super::timer::NodeTimer;
use super::worker::{Worker, rearm};
use observation::Observations;
use rank::Rank;
use starved::StarvedResource;

/// Grace of a hard eviction.
const GRACE: SimDuration = SimDuration::from_secs(1);

/// How often it looks whether an evicted pod is cleaned up.
const POLL: SimDuration = SimDuration::from_secs(1);

/// Time between passes that evict nobody.
const PASS: SimDuration = SimDuration::from_secs(10);

/// What one node's eviction manager remembers from pass to pass; forgotten when nothing is short.
#[derive(Clone, Debug, Default)]
pub(super) struct Manager {
    /// The next pass.
    pub(super) pass: Option<Ticket>,
    /// Thresholds that are met, by position, and since when.
    first_observed: Vec<(usize, SimTime)>,
    /// Thresholds whose grace was over in the last pass.
    met: Vec<usize>,
    /// When each resource was last observed.
    last_observed: [Option<SimTime>; 3],
    /// The conditions it stands for.
    conditions: [bool; 3],
}

impl Manager {
    /// Takes in what is observed and says which thresholds, by position, ask for evictions.
    ///
    /// # Source
    /// kubelet, `synchronize`: a threshold is met below its amount, and one that was met stays so up to its minimum reclaim;
    /// conditions rise at once and fall when they have not been observed for the transition period.
    fn take_in(
        &mut self,
        thresholds: &[EvictionThreshold],
        observed: &Observations,
        transition: SimDuration,
        now: SimTime,
    ) -> Vec<usize> {
        let is_met = |index: &usize| {
            observed.meet(&thresholds[*index], false)
                || (self.met.contains(index) && observed.meet(&thresholds[*index], true))
        };
        let short: Vec<usize> = (0..thresholds.len()).filter(is_met).collect();
        let since = |index: &usize| {
            let known = self.first_observed.iter().find(|(other, _)| other == index);
            (*index, known.map_or(now, |(_, since)| *since))
        };
        self.first_observed = short.iter().map(since).collect();
        for index in &short {
            self.last_observed[StarvedResource::of(thresholds[*index].signal) as usize] = Some(now);
        }
        for (holds, last) in self.conditions.iter_mut().zip(&mut self.last_observed) {
            *last = last.filter(|last| now.saturating_since(*last) < transition);
            *holds = last.is_some();
        }
        let is_over =
            |(index, since): &&(usize, SimTime)| now.saturating_since(*since) >= thresholds[*index].grace_period;
        self.met = self.first_observed.iter().filter(is_over).map(|(index, _)| *index).collect();
        self.met.clone()
    }

    fn is_calm(&self) -> bool {
        self.first_observed.is_empty() && self.last_observed.iter().all(Option::is_none)
    }
}

/// Whether the kubelet spares the pod whatever happens.
pub(super) fn is_critical(pod: &Pod) -> bool {
    pod.is_mirror || pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY
}

impl Kubelets {
    /// The node's conditions as its kubelet sees them: what the world shows it, and what its thresholds say.
    pub(super) fn reported(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> ReportedConditions {
        let reported = ctx.store.machine(node).reported;
        let Some(manager) = self.manager(node) else { return reported };
        let [memory, disk, pids] = manager.conditions;
        ReportedConditions {
            memory_pressure: reported.memory_pressure || memory,
            disk_pressure: reported.disk_pressure || disk,
            pid_pressure: reported.pid_pressure || pids,
            ..reported
        }
    }

    /// Something on the node uses more, or what is said to: the next pass of its eviction manager sees it.
    pub(super) fn watch_usage(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let machine = ctx.store.machine(node);
        if !machine.kubelet_alive() || self.manager(node).is_some_and(|manager| manager.pass.is_some()) {
            return;
        }
        let phase = ctx.streams.at("eviction-monitor", ctx.store.node_name(node).as_str(), machine.boots.into()).unit();
        let first = machine.booted_at + SimDuration::from_secs_f64(phase * PASS.as_secs_f64());
        let passes = ctx.now.saturating_since(first).as_nanos() / PASS.as_nanos() + 1;
        let next = if ctx.now < first { first } else { first + PASS * passes };
        self.manager_mut(node).pass = Some(NodeTimer::Pressure.arm(node, next, ctx));
    }

    /// The world makes a condition hold, or not any more: the node is looked at now, unless that is about to happen.
    pub(super) fn condition_observed(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let reported = ctx.store.machine(node).reported;
        let is_short = reported.memory_pressure || reported.disk_pressure;
        if is_short && self.manager(node).is_none_or(|manager| manager.pass.is_none()) {
            self.eviction_pass(node, ctx);
        }
    }

    /// The pod's containers run, or it is said to use something else: the eviction manager looks, if usage is given.
    pub(super) fn watch_usage_of(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let machine = ctx.store.machine(pod.node);
        let reported = machine.reported;
        let is_short = reported.memory_pressure || reported.disk_pressure;
        if is_short || machine.effects.burden() != Usage::NOTHING || pod.spec.behavior().usage.is_some() {
            self.watch_usage(pod.node, ctx);
        }
    }

    fn manager(&self, node: NodeId) -> Option<&Manager> {
        self.links.process(node)?.evictions.as_deref()
    }

    fn manager_mut(&mut self, node: NodeId) -> &mut Manager {
        self.links.process_mut(node).evictions.get_or_insert_default()
    }

    /// A fresh kubelet looks for the first time.
    pub(super) fn watch_node(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let is_stated = ctx.store.machine(node).effects.burden() != Usage::NOTHING
            || BoundPod::unfinished_on(node, ctx.store).any(|pod| pod.spec.behavior().usage.is_some());
        if is_stated {
            self.watch_usage(node, ctx);
        }
    }

    /// One pass of the node's eviction manager; it evicts at most one pod for a resource.
    ///
    /// # Source
    /// kubelet, eviction manager: passes ten seconds apart, but one that evicted is followed by the next as soon as the pod
    /// is cleaned up, for which it looks every second.
    pub(super) fn eviction_pass(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !ctx.store.machine(node).kubelet_alive() {
            return;
        }
        rearm(&mut self.manager_mut(node).pass, None, ctx);
        let thresholds = ctx.config.kubelet.eviction_thresholds();
        let observed = self.observe(node, ctx);
        let transition = ctx.config.kubelet.eviction_pressure_transition_period;
        let manager = self.manager_mut(node);
        let before = manager.conditions;
        let met = manager.take_in(&thresholds, &observed, transition, ctx.now);
        if manager.conditions != before {
            self.conditions_overwritten(node, ctx);
        }
        let took = match self.enforce_limits(node, ctx) {
            Some(took) => Some(took),
            None if met.is_empty() => self.evict_without_figures(node, ctx),
            None => self.evict_for_thresholds(node, &thresholds, &met, observed, ctx),
        };
        if took.is_none() && self.manager(node).is_some_and(Manager::is_calm) {
            self.links.process_mut(node).evictions = None;
        } else {
            let next = took.map_or(PASS, |took| took + POLL);
            self.manager_mut(node).pass = Some(NodeTimer::Pressure.arm_in(node, next, ctx));
        }
    }

    /// Deals with the first of the thresholds that are met; returns how long the eviction takes, if there is one.
    fn evict_for_thresholds(
        &mut self,
        node: NodeId,
        thresholds: &[EvictionThreshold],
        met: &[usize],
        observed: Observations,
        ctx: &mut Ctx<'_, Self>,
    ) -> Option<SimDuration> {
        let first = thresholds[*met.first()?];
        let starved = StarvedResource::of(first.signal);
        let name = ctx.store.node_name(node);
        let message = format!("Attempting to reclaim {}", starved.resource());
        self.links.event(node, EventDraft::warning("EvictionThresholdMet", ObjectRef::node(name), message), ctx);
        if starved == StarvedResource::Disk {
            self.delete_unused_images(node, ctx);
            let after = self.observe(node, ctx);
            if !thresholds.iter().any(|threshold| after.meet(threshold, true)) {
                return None;
            }
        }
        let pod = self.first_of(node, |rank: &Rank| rank.key(starved), ctx)?;
        let grace = if first.is_hard() {
            GRACE
        } else {
            let longest = i64::from(ctx.config.kubelet.eviction_max_pod_grace_period);
            let own = pod.spec.termination_grace_period_seconds.unwrap_or(longest);
            SimDuration::from_secs(longest.min(own).max(0).unsigned_abs())
        };
        let text = message::node_low(&pod, self.stated(&pod, ctx.now), &first, &observed, ctx.config.version);
        Some(self.evict(pod, grace, text, Disruption::Marked, ctx))
    }

    /// While a fault says that the node is short and nobody says of how much, pods go that use more than they request.
    ///
    /// # Differs
    /// How much is available is not known then: pods within their request stay, and so do those that do not say what they use.
    fn evict_without_figures(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) -> Option<SimDuration> {
        let reported = ctx.store.machine(node).reported;
        let starved = match (reported.memory_pressure, reported.disk_pressure) {
            (true, _) => StarvedResource::Memory,
            (false, true) => StarvedResource::Disk,
            (false, false) => return None,
        };
        let pod = self.first_of(node, |rank: &Rank| rank.key_if_over(starved), ctx)?;
        let text = message::without_figures(&pod, self.stated(&pod, ctx.now), starved, ctx.config.version);
        Some(self.evict(pod, GRACE, text, Disruption::Marked, ctx))
    }

    /// The pod that goes first, by its place in an order.
    fn first_of<'a, K: Ord>(
        &self,
        node: NodeId,
        place: impl Fn(&Rank) -> Option<K>,
        ctx: &Ctx<'a, Self>,
    ) -> Option<BoundPod<'a>> {
        let candidates = self.pods_that_go_on(node, ctx.store);
        let ranked = candidates.filter_map(|pod| Some((place(&self.rank_of(pod, ctx)?)?, pod)));
        ranked.min_by(|one, other| one.0.cmp(&other.0)).map(|(_, pod)| pod)
    }

    /// A pod's standing; none if it cannot be evicted (any more).
    fn rank_of(&self, pod: BoundPod<'_>, ctx: &Ctx<'_, Self>) -> Option<Rank> {
        let worker = self.workers.get(&pod.id);
        let is_known = worker.is_some() || pod.phase == PodPhase::Running;
        let is_ended = worker.is_some_and(Worker::is_ended_by_kubelet);
        if is_ended || !is_known || is_critical(&pod) {
            return None;
        }
        let nothing = StatedUsage::default();
        let usage = self.running(pod, ctx).is_any().then(|| self.stated(&pod, ctx.now).unwrap_or(&nothing));
        Some(Rank::new(&pod, usage))
    }

    /// What the pod is said to use: its regular containers do, while they run.
    fn stated<'a>(&self, pod: &BoundPod<'a>, now: SimTime) -> Option<&'a StatedUsage> {
        pod.object.spec.behavior().usage.as_ref().filter(|_| self.runs(*pod, now))
    }

    /// Ends a pod, which stays in the API as failed; returns how long that takes.
    fn evict(
        &mut self,
        pod: BoundPod<'_>,
        grace: SimDuration,
        message: String,
        disruption: Disruption,
        ctx: &mut Ctx<'_, Self>,
    ) -> SimDuration {
        self.links.event(pod.node, EventDraft::warning("Evicted", ObjectRef::pod(&pod), message), ctx);
        let status = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            reason: Some(Symbol::new("Evicted")),
            ready: Some(Status::False),
            disruption: (disruption == Disruption::Marked).then_some((DisruptionReason::TerminationByKubelet, true)),
            ..PodStatusPatch::default()
        };
        self.end_pod(pod, grace, status, ctx)
    }
}

/// Whether an evicted pod carries the condition DisruptionTarget.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Disruption {
    Marked,
    Unmarked,
}
