//! Pod garbage collection: finished pods over the threshold, and pods that no kubelet will ever finish.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::arena::Symbol;
use crate::component::{
    Answer, CACHE_SYNC, ClientLimit, Component, Config, Ctx, DeleteOptions, POD_GC_PERIOD, PodStatusPatch, Program,
    Request, Start, first_round,
};
use crate::engine::Ticket;
use crate::state::{
    CauseId, Change, Changed, ControlPlaneProcess, DeletionCause, DisruptionReason, NodeDelta, NodeId, Pod, PodDelta,
    PodId, PodPhase, Status, Store,
};
use crate::units::{SimDuration, SimTime};

/// What a run takes at least, so that two periods exceed the quarantine.
const RUN_MIN: SimDuration = SimDuration::from_millis(1);

/// How long a node must have been gone before its pods are removed.
const QUARANTINE: SimDuration = SimDuration::from_secs(40);

/// By how much the timer that ends a quarantine is late at most. The second run after a node was found missing begins when
/// its quarantine has just ended: two timers of one process, of which either may be served first.
const WAKE_UP_MAX: SimDuration = SimDuration::from_millis(4);

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
/// the real one follows the order of a hash map. Whether a quarantine ends in time for the second run, which begins with its end, is
/// drawn, each as likely; recordings have both.
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
    /// Names of missing nodes that pods are bound to.
    missing: BTreeMap<NodeId, Missing>,
}

/// A node that pods are bound to and that is not there.
#[derive(Clone, Debug)]
struct Missing {
    /// From when it may be looked for; none if no run has seen that it is missing.
    ready_at: Option<SimTime>,
    /// What took it away, or bound a pod to it.
    cause: CauseId,
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
                    self.missing.entry(node).or_insert(Missing { ready_at: None, cause: ctx.cause });
                }
            }
        }
    }

    fn note_node(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else {
            self.broken.remove(&node);
            if !ctx.store.pods_on(node).is_empty() {
                self.missing.entry(node).or_insert(Missing { ready_at: None, cause: ctx.cause });
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
        let step = POD_GC_PERIOD + RUN_MIN;
        self.anchor + step * at.saturating_since(self.anchor).as_nanos().div_ceil(step.as_nanos())
    }

    /// Arms the next run that has something to do.
    fn arm(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.run.is_some() {
            return;
        }
        let is_due = self.excess(ctx) > 0
            || !self.unscheduled.is_empty()
            || self.missing.values().any(|missing| missing.ready_at.is_none())
            || self.terminating_on_broken(ctx).next().is_some();
        let soonest =
            if is_due { Some(ctx.now) } else { self.missing.values().filter_map(|missing| missing.ready_at).min() };
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
                    // Whose quarantine has ended during the look-ups is looked for, too.
                    None => match self.out_of_quarantine(began_at, ctx) {
                        more if more.is_empty() => self.next_step(began_at, ctx),
                        more => self.run.as_mut().expect("a run is under way").nodes = more,
                    },
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
        for (node, missing) in &mut self.missing {
            missing.ready_at.get_or_insert_with(|| quarantined_until(*node, began_at, ctx));
        }
        self.out_of_quarantine(began_at, ctx)
    }

    /// Whose quarantine is over by now. Each begins another, should its pods outlast this run.
    fn out_of_quarantine(&mut self, began_at: SimTime, ctx: &Ctx<'_, Self>) -> VecDeque<NodeId> {
        let mut over = Vec::new();
        for (node, missing) in &mut self.missing {
            if missing.ready_at.is_some_and(|at| at <= ctx.now) {
                over.push(*node);
                missing.ready_at = Some(quarantined_until(*node, began_at, ctx));
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
        let is_orphan = run.step == Step::Orphans;
        // A run follows from what armed it, what becomes of a pod from its own node.
        let missing = pod.node.and_then(|node| self.missing.get(&node));
        let of_run = ctx.cause;
        ctx.cause = missing.map_or(of_run, |missing| missing.cause);
        if pod.phase.is_terminal() {
            // What has ended already is not marked as taken away.
            delete(id, DeletionCause::Completed, ctx);
        } else {
            let patch = PodStatusPatch {
                phase: Some(PodPhase::Failed),
                disruption: is_orphan.then_some((DisruptionReason::DeletionByPodGc, true)),
                ..PodStatusPatch::default()
            };
            ctx.call(Request::PatchPodStatus { pod: id, patch: Box::new(patch) }, Tag(Waiting::Failed(id)));
        }
        ctx.cause = of_run;
    }

    fn end(&mut self, ctx: &mut Ctx<'_, Self>) {
        let run = self.run.take().expect("a run is under way");
        self.anchor = (run.began_at + RUN_MIN).max(ctx.now) + POD_GC_PERIOD;
        self.arm(ctx);
    }
}

fn delete(pod: PodId, cause: DeletionCause, ctx: &mut Ctx<'_, PodGc>) {
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    ctx.call(Request::DeletePod { pod, options, cause }, Tag(Waiting::Deleted));
}

/// When the quarantine of a node that a run finds missing ends.
fn quarantined_until(node: NodeId, began_at: SimTime, ctx: &Ctx<'_, PodGc>) -> SimTime {
    let index = began_at.as_nanos().unsigned_abs();
    let late = ctx.streams.at("pod-gc-quarantine", ctx.store.node_name(node).as_str(), index).unit();
    began_at + QUARANTINE + SimDuration::from_nanos((WAKE_UP_MAX.as_nanos() as f64 * late) as u64)
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
    const PROGRAM: Program = Program::ControlPlane(ControlPlaneProcess::KubeControllerManager);
    const CONTROLLERS: &'static [&'static str] = &["pod-garbage-collector-controller"];

    fn words(_timer: &Timer, _store: &Store) -> String {
        "the regular look for pods to collect".to_owned()
    }

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::PodAdded(_) | Changed::PodRemoved { .. } | Changed::NodeAdded(_) | Changed::NodeRemoved { .. } => {
                true
            }
            Changed::PodUpdated { delta, .. } => delta.touches(PodDelta::NODE | PodDelta::DELETION | PodDelta::PHASE),
            Changed::NodeUpdated { delta, .. } => delta.touches(NodeDelta::TAINTS | NodeDelta::CONDITIONS),
            _ => false,
        }
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        self.anchor = match start {
            Start::Initial => first_round("pod-gc", POD_GC_PERIOD, ctx),
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
            delete(pod, DeletionCause::DeletionByPodGc, ctx);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::ErrorReason;
    use crate::model::TaintEffect;
    use crate::state::{Deletion, NodeConditionKind};
    use crate::testing::{Lab, config, secs, within};

    const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";

    type Play = Lab<PodGc>;

    fn bench_with(threshold: i64, setup: impl FnOnce(&mut Play)) -> Play {
        let mut config = config();
        config.kube_controller_manager.terminated_pod_gc_threshold = threshold;
        let mut bench = Lab::<PodGc>::new(config, 7);
        bench.add_node("n", "");
        setup(&mut bench);
        bench.start();
        bench
    }

    fn bench(setup: impl FnOnce(&mut Play)) -> Play {
        bench_with(12_500, setup)
    }

    fn finish(world: &mut Play, name: &str, phase: PodPhase, reason: &str, created_s: f64) {
        world.add_pod(name, Some("n"), "[]");
        world.edit_pod(name, PodDelta::PHASE, |pod| {
            pod.phase = phase;
            pod.reason = Symbol::new(reason);
            pod.created_at = secs(created_s);
        });
    }

    fn terminate(world: &mut Play, name: &str) {
        let deletion = Deletion {
            requested_at: world.now(),
            deadline: world.now() + SimDuration::from_secs(30),
            grace: SimDuration::from_secs(30),
            cause: DeletionCause::Kubectl,
        };
        world.edit_pod(name, PodDelta::DELETION, |pod| pod.deletion = Some(deletion));
    }

    fn names(bench: &Play) -> Vec<String> {
        let mut names: Vec<String> = bench.store().pods().map(|(_, pod)| pod.name.to_string()).collect();
        names.sort();
        names
    }

    /// Pods `a` (Failed, older), `b` (Succeeded), `c` (Failed and evicted, youngest) and `d` (Running).
    #[track_caller]
    fn check_threshold(threshold: i64, expected: &[&str]) {
        let mut bench = bench_with(threshold, |world| {
            finish(world, "a", PodPhase::Failed, "", -300.0);
            finish(world, "b", PodPhase::Succeeded, "", -200.0);
            finish(world, "c", PodPhase::Failed, "Evicted", -100.0);
            world.add_pod("d", Some("n"), "[]");
        });
        bench.run_until(25.0);
        assert_eq!(names(&bench), expected, "threshold {threshold}");
    }

    #[test]
    fn finished_pods_over_the_threshold_go_evicted_ones_first_then_by_age() {
        check_threshold(3, &["a", "b", "c", "d"]);
        check_threshold(2, &["a", "b", "d"]);
        check_threshold(1, &["b", "d"]);
        check_threshold(0, &["a", "b", "c", "d"]);
        check_threshold(-1, &["a", "b", "c", "d"]);
    }

    fn bench_of_seed(seed: u64, setup: impl FnOnce(&mut Play)) -> Play {
        let mut bench = Lab::<PodGc>::new(config(), seed);
        bench.add_node("n", "");
        setup(&mut bench);
        bench.start_as(Start::Fresh);
        bench
    }

    #[test]
    fn pods_of_a_node_that_is_gone_go_with_the_second_run_after_it_was_found_missing_or_the_third() {
        let mut runs = BTreeSet::new();
        for seed in 0..16 {
            let mut bench = bench_of_seed(seed, |world| {
                world.add_pod("running", Some("n"), "[]");
                finish(world, "done", PodPhase::Succeeded, "", -10.0);
            });
            // Runs begin when the caches are filled, then every 20 s.
            bench.at(7.0, |world| world.remove_node("n"));
            bench.run_until(100.0);
            assert!(names(&bench).is_empty());
            let begin = if bench.deletions()[0] < 70.0 { 60.3 } else { 80.3 };
            for at in bench.deletions() {
                within(at, begin, begin + 0.2);
            }
            runs.insert(begin as u64);
            let patches = bench.requests.iter().filter_map(|(_, request)| match request {
                Request::PatchPodStatus { patch, .. } => Some((patch.phase, patch.disruption)),
                _ => None,
            });
            let expected = (Some(PodPhase::Failed), Some((DisruptionReason::DeletionByPodGc, true)));
            assert_eq!(patches.collect::<Vec<_>>(), [expected]);
        }
        assert_eq!(runs.into_iter().collect::<Vec<_>>(), [60, 80], "the third run is as likely as the second");
    }

    #[test]
    fn a_quarantine_that_ends_while_another_node_is_looked_for_is_over_in_the_same_run() {
        for seed in 0..16 {
            let mut bench = bench_of_seed(seed, |world| {
                world.add_node("m", "");
                world.add_pod("a", Some("n"), "[]");
                world.add_pod("b", Some("m"), "[]");
            });
            bench.at(7.0, |world| world.remove_node("n"));
            bench.at(7.0, |world| world.remove_node("m"));
            bench.run_until(100.0);
            let at = bench.deletions();
            within(at[1] - at[0], 0.0, 0.2);
        }
    }

    #[test]
    fn a_node_that_comes_back_in_quarantine_keeps_its_pods() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
        });
        bench.at(1.0, |world| world.remove_node("n"));
        bench.at(30.0, |world| {
            world.add_silent_node("n", "", true);
        });
        bench.run_until(500.0);
        assert!(bench.requests.is_empty());
    }

    #[test]
    fn a_node_that_cannot_be_read_goes_through_quarantine_again() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
        });
        let mut first = true;
        bench.refuse(move |request, _| {
            let fails = matches!(request, Request::Get) && std::mem::take(&mut first);
            fails.then_some(ErrorReason::InternalError)
        });
        bench.at(1.0, |world| world.remove_node("n"));
        bench.run_until(70.0);
        assert!(bench.deletions().is_empty());
        bench.run_until(150.0);
        within(bench.deletions()[0], 81.0, 142.0);
    }

    #[test]
    fn a_terminating_pod_that_was_never_bound_goes_at_the_next_run() {
        let mut bench = bench(|world| {
            world.add_pod("unbound", None, "[]");
            world.add_pod("bound", Some("n"), "[]");
            world.add_pod("pending", None, "[]");
        });
        bench.at(1.0, |world| {
            terminate(world, "unbound");
            terminate(world, "bound");
        });
        bench.run_until(22.0);
        assert_eq!(names(&bench), ["bound", "pending"]);
    }

    /// A node with this Ready status, the taint or not, and a pod that is terminating or not: is it removed?
    #[track_caller]
    fn check_out_of_service(ready: Status, is_tainted: bool, is_terminating: bool, removed: bool) {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
        });
        bench.at(1.0, move |world| {
            world.set_condition("n", NodeConditionKind::Ready, Some(ready));
            if is_tainted {
                world.taint("n", OUT_OF_SERVICE, TaintEffect::NoExecute);
            }
            if is_terminating {
                terminate(world, "p");
            }
        });
        bench.run_until(22.0);
        assert_eq!(names(&bench).is_empty(), removed, "{ready:?} {is_tainted} {is_terminating}");
    }

    #[test]
    fn terminating_pods_of_a_node_out_of_service_and_not_ready_are_removed() {
        check_out_of_service(Status::Unknown, true, true, true);
        check_out_of_service(Status::False, true, true, true);
        check_out_of_service(Status::Unknown, false, true, false);
        check_out_of_service(Status::True, true, true, false);
        check_out_of_service(Status::Unknown, true, false, false);
    }

    #[test]
    fn a_removal_out_of_service_fails_the_pod_without_a_condition() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
            world.set_condition("n", NodeConditionKind::Ready, Some(Status::Unknown));
            world.taint("n", OUT_OF_SERVICE, TaintEffect::NoExecute);
            terminate(world, "p");
        });
        bench.run_until(22.0);
        let Request::PatchPodStatus { patch, .. } = &bench.requests[0].1 else { panic!("{:?}", bench.requests) };
        assert_eq!((patch.phase, patch.disruption), (Some(PodPhase::Failed), None));
        let Request::DeletePod { options, .. } = &bench.requests[1].1 else { panic!("{:?}", bench.requests) };
        assert_eq!(options.grace_s, Some(0));
    }

    #[test]
    fn a_day_without_anything_to_remove_plays_no_run() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
            finish(world, "done", PodPhase::Succeeded, "", -10.0);
        });
        bench.run_until(86_400.0);
        assert_eq!(bench.timers_fired, 0);
    }
}
