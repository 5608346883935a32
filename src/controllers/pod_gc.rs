//! Pod garbage collection: finished pods over the threshold, and pods that no kubelet will ever finish.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, DeleteOptions, PodStatusPatch, Request, Start,
};
use crate::engine::Ticket;
use crate::state::{
    Change, Changed, ControlPlaneProcess, DeletionCause, DisruptionReason, NodeDelta, NodeId, Pod, PodDelta, PodId,
    PodPhase, Status,
};
use crate::units::{SimDuration, SimTime};

/// From the end of a run to the next.
const PERIOD: SimDuration = SimDuration::from_secs(20);

/// What a run takes at least, so that two periods exceed the quarantine.
const RUN_MIN: SimDuration = SimDuration::from_millis(1);

/// How long a node must have been gone before its pods are removed.
const QUARANTINE: SimDuration = SimDuration::from_secs(40);

/// From the start of the process until its caches are filled.
const CACHE_SYNC: SimDuration = SimDuration::from_millis(350);

/// What the controller asks to be woken for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// A run that has something to do.
    Run,
}

/// How the controller recognises an answer.
#[derive(Copy, Clone, Debug)]
pub struct Tag(Waiting);

#[derive(Copy, Clone, Debug)]
enum Waiting {
    Failed(PodId),
    Deleted,
    Looked(NodeId),
}

/// Steps of a run, in order; a step begins when the one before is over.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Step {
    /// Finished pods over the threshold, all at once.
    Terminated,
    /// Terminating pods of nodes that are out of service, all at once.
    OutOfService,
    /// Whether nodes that were in quarantine are really gone, one after the other.
    LookForNodes,
    /// Pods of nodes that are gone, one after the other.
    Orphans,
    /// Terminating pods that were never bound, one after the other.
    Unscheduled,
}

/// A run under way.
#[derive(Clone, Debug)]
struct Run {
    began_at: SimTime,
    step: Step,
    nodes: VecDeque<NodeId>,
    pods: VecDeque<PodId>,
    gone: Vec<NodeId>,
    outstanding: usize,
}

/// The pod garbage collector.
///
/// # Source
/// kube-controller-manager, pod-garbage-collector. It posts no events.
///
/// # Differs
/// Runs that would find nothing are not played; nodes and pods of a step are taken in an order drawn for each run, where
/// the real one follows the order of a hash map.
#[derive(Clone, Debug)]
pub struct PodGc {
    out_of_service: Symbol,
    evicted: Symbol,
    /// A run; without work the others follow at the idle distance.
    anchor: SimTime,
    played_at: SimTime,
    armed: Option<(Ticket, SimTime)>,
    run: Option<Run>,
    terminated: BTreeSet<PodId>,
    unscheduled: BTreeSet<PodId>,
    /// Nodes not Ready that carry the out-of-service taint.
    broken: BTreeSet<NodeId>,
    /// Names of missing nodes that pods are bound to, and from when they may be looked for.
    missing: BTreeMap<NodeId, Option<SimTime>>,
}

impl PodGc {
    /// A controller that has not started.
    #[must_use]
    pub fn new() -> Self {
        Self {
            out_of_service: Symbol::new("node.kubernetes.io/out-of-service"),
            evicted: Symbol::new("Evicted"),
            anchor: SimTime::ZERO,
            played_at: SimTime::MIN,
            armed: None,
            run: None,
            terminated: BTreeSet::new(),
            unscheduled: BTreeSet::new(),
            broken: BTreeSet::new(),
            missing: BTreeMap::new(),
        }
    }

    // ---- what there is to do --------------------------------------------------------------------------------------

    fn note_pod(&mut self, id: PodId, ctx: &Ctx<'_, Self>) {
        let Some(pod) = ctx.store.pod(id) else { return };
        if pod.phase.is_terminal() {
            self.terminated.insert(id);
        }
        match pod.node {
            None if pod.deletion.is_some() => {
                self.unscheduled.insert(id);
            }
            None => {}
            Some(node) => {
                self.unscheduled.remove(&id);
                if ctx.store.node(node).is_none() {
                    self.missing.entry(node).or_insert(None);
                }
            }
        }
    }

    fn note_node(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else {
            self.broken.remove(&node);
            if !ctx.store.pods_on(node).is_empty() {
                self.missing.entry(node).or_insert(None);
            }
            return;
        };
        let is_broken = object.conditions.ready() != Some(Status::True)
            && object.taints.iter().any(|taint| taint.key == self.out_of_service);
        if is_broken {
            self.broken.insert(node);
        } else {
            self.broken.remove(&node);
        }
    }

    fn excess(&self, ctx: &Ctx<'_, Self>) -> usize {
        match usize::try_from(ctx.config.kube_controller_manager.terminated_pod_gc_threshold) {
            Ok(threshold) if threshold > 0 => self.terminated.len().saturating_sub(threshold),
            _ => 0,
        }
    }

    fn terminating_on_broken<'a>(&'a self, ctx: &'a Ctx<'_, Self>) -> impl Iterator<Item = PodId> + 'a {
        let pods = self.broken.iter().flat_map(|node| ctx.store.pods_on(*node).iter().copied());
        pods.filter(|pod| ctx.store.pod(*pod).is_some_and(|pod| pod.deletion.is_some()))
    }

    /// The first run at or after `at`.
    fn run_at_or_after(&self, at: SimTime) -> SimTime {
        let step = PERIOD + RUN_MIN;
        self.anchor + step * at.saturating_since(self.anchor).as_nanos().div_ceil(step.as_nanos())
    }

    /// Arms the next run that has something to do.
    fn arm(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.run.is_some() {
            return;
        }
        let is_due = self.excess(ctx) > 0
            || !self.unscheduled.is_empty()
            || self.missing.values().any(Option::is_none)
            || self.terminating_on_broken(ctx).next().is_some();
        let soonest = if is_due { Some(ctx.now) } else { self.missing.values().copied().flatten().min() };
        let after_played = self.played_at + SimDuration::from_nanos(1);
        let at = soonest.map(|at| self.run_at_or_after(at.max(ctx.now).max(after_played)));
        if self.armed.map(|(_, at)| at) == at {
            return;
        }
        if let Some((ticket, _)) = self.armed.take() {
            ctx.cancel(ticket);
        }
        self.armed = at.map(|at| (ctx.arm(at, Timer::Run), at));
    }

    // ---- a run ----------------------------------------------------------------------------------------------------

    fn begin(&mut self, ctx: &mut Ctx<'_, Self>) {
        self.armed = None;
        self.played_at = ctx.now;
        let pods = self.oldest_first(self.terminated.iter().copied(), ctx).into_iter().take(self.excess(ctx)).collect();
        let run = Run {
            began_at: ctx.now,
            step: Step::Terminated,
            nodes: VecDeque::new(),
            pods,
            gone: Vec::new(),
            outstanding: 0,
        };
        self.run = Some(run);
        self.advance(ctx);
    }

    /// Evicted pods first, then by age, then by name.
    fn oldest_first(&self, pods: impl Iterator<Item = PodId>, ctx: &Ctx<'_, Self>) -> Vec<PodId> {
        let mut pods: Vec<(PodId, &Pod)> = pods.filter_map(|id| Some((id, ctx.store.pod(id)?))).collect();
        let is_evicted = |pod: &Pod| pod.phase == PodPhase::Failed && pod.reason == self.evicted;
        pods.sort_by(|(_, a), (_, b)| {
            let of = |pod: &Pod| (!is_evicted(pod), pod.created_at.floor_to_second());
            of(a).cmp(&of(b)).then_with(|| (&a.name, a.namespace).cmp(&(&b.name, b.namespace)))
        });
        pods.into_iter().map(|(id, _)| id).collect()
    }

    fn in_random_order(began_at: SimTime, pods: impl Iterator<Item = PodId>, ctx: &Ctx<'_, Self>) -> VecDeque<PodId> {
        let index = began_at.as_nanos().unsigned_abs();
        let key = |pod: &PodId| {
            let name = ctx.store.pod(*pod).map_or("", |pod| &*pod.name);
            ctx.streams.at("pod-gc-order", name, index).next_u64()
        };
        let mut pods: Vec<PodId> = pods.collect();
        pods.sort_by_cached_key(|pod| (key(pod), *pod));
        pods.into()
    }

    /// Goes on with the run until it waits for an answer or is over.
    fn advance(&mut self, ctx: &mut Ctx<'_, Self>) {
        loop {
            let run = self.run.as_mut().expect("a run is under way");
            if run.outstanding > 0 {
                return;
            }
            let began_at = run.began_at;
            match run.step {
                Step::Terminated | Step::OutOfService => {
                    while let Some(pod) = self.run.as_mut().and_then(|run| run.pods.pop_front()) {
                        self.remove(pod, ctx);
                    }
                    if self.run.as_ref().is_some_and(|run| run.outstanding > 0) {
                        return;
                    }
                    self.next_step(began_at, ctx);
                }
                Step::LookForNodes => match run.nodes.pop_front() {
                    Some(node) => {
                        run.outstanding = 1;
                        ctx.call(Request::Get, Tag(Waiting::Looked(node)));
                        return;
                    }
                    None => self.next_step(began_at, ctx),
                },
                Step::Orphans | Step::Unscheduled => match run.pods.pop_front() {
                    Some(pod) => self.remove(pod, ctx),
                    None if run.step == Step::Orphans => self.next_step(began_at, ctx),
                    None => {
                        self.end(ctx);
                        return;
                    }
                },
            }
        }
    }

    fn next_step(&mut self, began_at: SimTime, ctx: &mut Ctx<'_, Self>) {
        let step = self.run.as_ref().expect("a run is under way").step;
        let (step, nodes, pods) = match step {
            Step::Terminated => {
                let pods = self.oldest_first(self.terminating_on_broken(ctx), ctx).into();
                (Step::OutOfService, VecDeque::new(), pods)
            }
            Step::OutOfService => (Step::LookForNodes, self.quarantine(began_at, ctx), VecDeque::new()),
            Step::LookForNodes => {
                let gone = std::mem::take(&mut self.run.as_mut().expect("a run is under way").gone);
                let pods = gone.iter().flat_map(|node| ctx.store.pods_on(*node).iter().copied());
                (Step::Orphans, VecDeque::new(), Self::in_random_order(began_at, pods, ctx))
            }
            Step::Orphans | Step::Unscheduled => {
                let pods = Self::in_random_order(began_at, self.unscheduled.iter().copied(), ctx);
                (Step::Unscheduled, VecDeque::new(), pods)
            }
        };
        let run = self.run.as_mut().expect("a run is under way");
        (run.step, run.nodes, run.pods) = (step, nodes, pods);
    }

    /// Puts nodes newly found missing into quarantine, and says whose quarantine is over.
    ///
    /// # Source
    /// Pod garbage collector: a node that came back meanwhile is simply dropped.
    fn quarantine(&mut self, began_at: SimTime, ctx: &Ctx<'_, Self>) -> VecDeque<NodeId> {
        self.missing.retain(|node, _| ctx.store.node(*node).is_none() && !ctx.store.pods_on(*node).is_empty());
        let mut over = Vec::new();
        for (node, ready_at) in &mut self.missing {
            match ready_at {
                None => *ready_at = Some(began_at + QUARANTINE),
                Some(at) if *at <= began_at => {
                    over.push(*node);
                    // In quarantine again, should its pods outlast this run.
                    *ready_at = Some(began_at + QUARANTINE);
                }
                Some(_) => {}
            }
        }
        over.sort_by_key(|node| ctx.store.node_name(*node));
        over.into()
    }

    /// Patches a pod Failed unless it is finished, then deletes it without grace.
    fn remove(&mut self, id: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(pod) = ctx.store.pod(id) else { return };
        let Some(run) = &mut self.run else { return };
        run.outstanding += 1;
        if pod.phase.is_terminal() {
            self.delete(id, ctx);
            return;
        }
        let is_orphan = run.step == Step::Orphans;
        let patch = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            disruption: is_orphan.then_some((DisruptionReason::DeletionByPodGc, true)),
            ..PodStatusPatch::default()
        };
        ctx.call(Request::PatchPodStatus { pod: id, patch: Box::new(patch) }, Tag(Waiting::Failed(id)));
    }

    fn delete(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let is_surplus = self.run.as_ref().is_some_and(|run| run.step == Step::Terminated);
        let cause = if is_surplus { DeletionCause::Completed } else { DeletionCause::DeletionByPodGc };
        let options = DeleteOptions { grace_s: Some(0), uid: None };
        ctx.call(Request::DeletePod { pod, options, cause }, Tag(Waiting::Deleted));
    }

    fn end(&mut self, ctx: &mut Ctx<'_, Self>) {
        let run = self.run.take().expect("a run is under way");
        self.anchor = (run.began_at + RUN_MIN).max(ctx.now) + PERIOD;
        self.arm(ctx);
    }
}

impl Default for PodGc {
    fn default() -> Self {
        Self::new()
    }
}

impl Component for PodGc {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "pod-garbage-collector";
    const PROCESS: Option<ControlPlaneProcess> = Some(ControlPlaneProcess::KubeControllerManager);

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::PodAdded(_) | Changed::PodRemoved { .. } | Changed::NodeAdded(_) | Changed::NodeRemoved { .. } => true,
            Changed::PodUpdated { delta, .. } => delta.touches(PodDelta::NODE | PodDelta::DELETION | PodDelta::PHASE),
            Changed::NodeUpdated { delta, .. } => delta.touches(NodeDelta::TAINTS | NodeDelta::CONDITIONS),
            _ => false,
        }
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        self.anchor = match start {
            Start::Initial => {
                let part = ctx.streams.stream("pod-gc", "").unit();
                ctx.now + SimDuration::from_nanos((PERIOD.as_nanos() as f64 * part) as u64)
            }
            Start::Fresh => ctx.now + CACHE_SYNC,
        };
        for (pod, _) in ctx.store.pods() {
            self.note_pod(pod, ctx);
        }
        for (node, _) in ctx.store.nodes() {
            self.note_node(node, ctx);
        }
        self.arm(ctx);
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::PodAdded(pod) | Changed::PodUpdated { pod, .. } => self.note_pod(*pod, ctx),
            Changed::PodRemoved { pod, .. } => {
                self.terminated.remove(pod);
                self.unscheduled.remove(pod);
            }
            Changed::NodeAdded(node) | Changed::NodeUpdated { node, .. } | Changed::NodeRemoved { node, .. } => {
                self.note_node(*node, ctx);
            }
            _ => {}
        }
        self.arm(ctx);
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Run => self.begin(ctx),
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if let (Waiting::Failed(pod), Ok(_)) = (tag.0, answer) {
            self.delete(pod, ctx);
            return;
        }
        let Some(run) = &mut self.run else { return };
        run.outstanding -= 1;
        if let (Waiting::Looked(node), Ok(_)) = (tag.0, answer)
            && ctx.store.node(node).is_none()
        {
            run.gone.push(node);
        }
        self.advance(ctx);
    }
}
