//! The taint eviction controller: deletes pods from nodes with NoExecute taints they do not tolerate, or not for long.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::{Id, Symbol, Table};
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, DeleteOptions, EventDraft, ObjectRef, PodStatusPatch, Request, Start,
};
use crate::engine::Ticket;
use crate::model::{NoExecuteStay, Taint, TaintEffect, no_execute_stay};
use crate::state::{
    Change, Changed, ControlPlaneProcess, DeletionCause, DisruptionReason, Node, NodeDelta, NodeId, Pod, PodDelta,
    PodId, TaintOnNode,
};
use crate::units::{SimDuration, SimTime};

/// Tries of one eviction, and the pause between them.
const TRIES: u8 = 5;
const RETRY: SimDuration = SimDuration::from_millis(10);

/// Workers; a node and its pods belong to one of them.
const WORKERS: u32 = 8;

/// From the start of the process until its caches are filled.
const CACHE_SYNC: SimDuration = SimDuration::from_millis(300);

/// Namespace and name: what timers are keyed by, whatever the UID.
type PodKey = (Symbol, Arc<str>);

/// What the controller asks to be woken for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// The caches of a fresh process are filled.
    Synced,
    /// The time of some pods of a node is over.
    Due(Deadline),
    /// Another try of an eviction.
    Retry(Attempt),
}

/// Names pods that share a deadline.
#[derive(Copy, Clone, Debug)]
pub struct Deadline(Id<Group>);

/// Names an eviction under way.
#[derive(Copy, Clone, Debug)]
pub struct Attempt(Id<Eviction>);

/// How the controller recognises an answer.
#[derive(Copy, Clone, Debug)]
pub struct Tag(Id<Eviction>);

/// Pods of one node whose time is over at the same instant; one timer for all.
#[derive(Clone, Debug)]
struct Group {
    pods: Vec<PodKey>,
    waiting_count: usize,
    ticket: Option<Ticket>,
}

/// What is planned for a pod.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Work {
    /// It waits for its time.
    Waiting(Id<Group>),
    /// It is being deleted.
    Running,
}

/// An eviction under way: read, status, deletion, each waiting for the answer of the one before.
#[derive(Clone, Debug)]
struct Eviction {
    pod: PodKey,
    stage: Stage,
    tries: u8,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    Reading,
    Marking,
    Deleting,
}

/// The taint eviction controller.
///
/// # Source
/// kube-controller-manager, taint-eviction-controller, 1.33+: per-pod timers that the taint's `timeAdded` does not
/// influence; a timer once started keeps its due time as long as all taints are tolerated for a finite time.
///
/// # Differs
/// When the run begins, timers are taken to have been started when the taint was added or the pod was bound, whichever is
/// later: the process that started them left no trace of it.
#[derive(Clone, Debug, Default)]
pub struct TaintEviction {
    is_synced: bool,
    /// NoExecute taints of nodes, as last handled.
    tainted: BTreeMap<NodeId, Tainted>,
    work: FxHashMap<PodKey, Work>,
    groups: Table<Group>,
    evictions: Table<Eviction>,
    /// Nodes handled so far; tells draws of the order of pods apart.
    handled: u64,
}

/// The NoExecute taints of a node: as they stood there, and as tolerations are matched against.
#[derive(Clone, Debug)]
struct Tainted {
    seen: Vec<TaintOnNode>,
    taints: Vec<Taint>,
}

/// Groups of pods being made, by due time.
type NewGroups = BTreeMap<SimTime, Vec<PodKey>>;

impl TaintEviction {
    /// A controller that has not started.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn key(pod: &Pod) -> PodKey {
        (pod.namespace, Arc::clone(&pod.name))
    }

    fn start_work(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        self.is_synced = true;
        let mut nodes: Vec<(u32, usize, NodeId)> = Vec::new();
        let mut shard_sizes = [0_usize; WORKERS as usize];
        for (node, object) in ctx.store.nodes() {
            if no_execute(object).next().is_some() {
                let shard = fnv1a_32(ctx.store.node_name(node).as_str()) % WORKERS;
                let size = &mut shard_sizes[shard as usize];
                nodes.push((shard, *size, node));
                *size += 1;
            }
        }
        // The workers take turns.
        nodes.sort_by_key(|(shard, place, _)| (*place, *shard));
        for (_, _, node) in nodes {
            self.handle_node(node, start, ctx);
        }
    }

    /// # Source
    /// Taint eviction controller, node updates.
    fn handle_node(&mut self, node: NodeId, start: Start, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else {
            self.tainted.remove(&node);
            return;
        };
        self.handled += 1;
        let mut pods: Vec<PodId> = ctx.store.pods_on(node).iter().copied().collect();
        let key = |pod: &PodId| {
            let name = ctx.store.pod(*pod).map_or("", |pod| &*pod.name);
            ctx.streams.at("taint-eviction-order", name, self.handled).next_u64()
        };
        // The real order is that of a hash map.
        pods.sort_by_cached_key(|pod| (key(pod), *pod));
        if no_execute(object).next().is_none() {
            self.tainted.remove(&node);
            for pod in pods.into_iter().filter_map(|pod| ctx.store.pod(pod)) {
                self.cancel(&Self::key(pod), ctx);
            }
            return;
        }
        let seen: Vec<TaintOnNode> = no_execute(object).copied().collect();
        let taints = seen.iter().map(|taint| Taint::new(taint.key, taint.value, taint.effect)).collect();
        self.tainted.insert(node, Tainted { seen, taints });
        let mut groups = NewGroups::new();
        for pod in pods.into_iter().filter_map(|pod| ctx.store.pod(pod)) {
            let began = match start {
                Start::Initial => began_before(pod, object, ctx.now),
                Start::Fresh => ctx.now,
            };
            self.evaluate(pod, node, began, &mut groups, ctx);
        }
        self.arm(groups, ctx);
    }

    /// # Source
    /// Taint eviction controller, pod updates: a pod on a node without taints is left alone, timers included.
    fn handle_pod(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(pod) = ctx.store.pod(pod) else { return };
        let Some(node) = pod.node.filter(|node| self.tainted.contains_key(node)) else { return };
        let mut groups = NewGroups::new();
        self.evaluate(pod, node, ctx.now, &mut groups, ctx);
        self.arm(groups, ctx);
    }

    /// Decides about one pod; `began` is the time from which its tolerance counts.
    fn evaluate(&mut self, pod: &Pod, node: NodeId, began: SimTime, groups: &mut NewGroups, ctx: &mut Ctx<'_, Self>) {
        let key = Self::key(pod);
        let taints = self.tainted.get(&node).map_or(&[][..], |tainted| &tainted.taints);
        match no_execute_stay(taints, &pod.spec.tolerations) {
            NoExecuteStay::Untolerated => {
                self.cancel(&key, ctx);
                if began == ctx.now || pod.deletion.is_none() {
                    self.evict(key, ctx);
                }
            }
            NoExecuteStay::Forever => self.cancel(&key, ctx),
            NoExecuteStay::Seconds(_) if self.work.contains_key(&key) => {}
            NoExecuteStay::Seconds(seconds) => {
                let due = began + SimDuration::from_secs(u64::try_from(seconds).unwrap_or(0));
                if due > ctx.now {
                    groups.entry(due).or_default().push(key);
                } else if began == ctx.now || pod.deletion.is_none() {
                    self.evict(key, ctx);
                }
            }
        }
    }

    fn arm(&mut self, groups: NewGroups, ctx: &mut Ctx<'_, Self>) {
        for (due, pods) in groups {
            let waiting_count = pods.len();
            // The timer's name is known once the group has a place.
            let id = self.groups.insert(Group { pods, waiting_count, ticket: None });
            let ticket = ctx.arm(due, Timer::Due(Deadline(id)));
            let group = &mut self.groups[id];
            group.ticket = Some(ticket);
            for pod in &group.pods {
                self.work.insert(pod.clone(), Work::Waiting(id));
            }
        }
    }

    /// Takes back what is planned for a pod. Only a timer that was still waiting is worth an event.
    fn cancel(&mut self, key: &PodKey, ctx: &mut Ctx<'_, Self>) {
        let Some(Work::Waiting(id)) = self.work.remove(key) else { return };
        let group = &mut self.groups[id];
        group.waiting_count -= 1;
        if group.waiting_count == 0 {
            if let Some(group) = self.groups.remove(id)
                && let Some(ticket) = group.ticket
            {
                ctx.cancel(ticket);
            }
        }
        post("Cancelling deletion of Pod", key, ctx);
    }

    fn due(&mut self, id: Id<Group>, ctx: &mut Ctx<'_, Self>) {
        let Some(group) = self.groups.remove(id) else { return };
        for key in group.pods {
            if self.work.get(&key) == Some(&Work::Waiting(id)) {
                self.work.remove(&key);
                self.evict(key, ctx);
            }
        }
    }

    fn evict(&mut self, key: PodKey, ctx: &mut Ctx<'_, Self>) {
        post("Marking for deletion Pod", &key, ctx);
        self.work.insert(key.clone(), Work::Running);
        let id = self.evictions.insert(Eviction { pod: key, stage: Stage::Reading, tries: 0 });
        ctx.call(Request::Get, Tag(id));
    }

    /// # Source
    /// Taint eviction controller: read, condition DisruptionTarget unless it is there, deletion with the pod's own grace;
    /// by name, without a precondition.
    fn advance(&mut self, id: Id<Eviction>, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some(eviction) = self.evictions.get_mut(id) else { return };
        if eviction.stage == Stage::Deleting && answer.is_ok() {
            self.finish(id);
            return;
        }
        let found = ctx.store.find_pod(eviction.pod.0, &eviction.pod.1).filter(|_| answer.is_ok());
        let Some((pod, object)) = found.and_then(|pod| Some((pod, ctx.store.pod(pod)?))) else {
            eviction.tries += 1;
            eviction.stage = Stage::Reading;
            if eviction.tries < TRIES {
                ctx.arm_in(RETRY, Timer::Retry(Attempt(id)));
            } else {
                self.finish(id);
            }
            return;
        };
        let reason = DisruptionReason::DeletionByTaintManager;
        let is_marked = object.disruption_target.is_some_and(|target| target.status && target.reason == reason);
        let request = if eviction.stage == Stage::Reading && !is_marked {
            eviction.stage = Stage::Marking;
            let patch = PodStatusPatch { disruption: Some((reason, true)), ..PodStatusPatch::default() };
            Request::PatchPodStatus { pod, patch: Box::new(patch) }
        } else {
            eviction.stage = Stage::Deleting;
            let cause = DeletionCause::TaintManagerEviction;
            Request::DeletePod { pod, options: DeleteOptions::default(), cause }
        };
        ctx.call(request, Tag(id));
    }

    /// The key is free again; a later change of the taints may start another timer.
    fn finish(&mut self, id: Id<Eviction>) {
        if let Some(eviction) = self.evictions.remove(id)
            && self.work.get(&eviction.pod) == Some(&Work::Running)
        {
            self.work.remove(&eviction.pod);
        }
    }

    fn pod_removed(&mut self, last: &Pod, ctx: &mut Ctx<'_, Self>) {
        let key = Self::key(last);
        match ctx.store.find_pod(key.0, &key.1) {
            None => self.cancel(&key, ctx),
            // Created again under the same name meanwhile: the old timer stays if it is on the same node.
            Some(pod) if ctx.store.pod(pod).is_some_and(|pod| pod.node == last.node) => self.handle_pod(pod, ctx),
            Some(_) => {}
        }
    }
}

fn post(text: &str, key: &PodKey, ctx: &mut Ctx<'_, TaintEviction>) {
    let (namespace, name) = key;
    let about = ObjectRef { kind: "Pod", namespace: *namespace, name: Arc::clone(name) };
    let mut event = EventDraft::normal("TaintManagerEviction", about, format!("{text} {namespace}/{name}"));
    event.node = ctx.store.find_pod(*namespace, name).and_then(|pod| ctx.store.pod(pod)?.node);
    ctx.event(event);
}

fn no_execute(node: &Node) -> impl Iterator<Item = &TaintOnNode> {
    node.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute)
}

/// When a timer that runs since before the start of the run is taken to have begun.
fn began_before(pod: &Pod, node: &Node, now: SimTime) -> SimTime {
    let tainted_at = no_execute(node).filter_map(|taint| taint.added_at).min().unwrap_or(now);
    tainted_at.max(pod.scheduled_at.unwrap_or(pod.created_at)).min(now)
}

/// The hash that spreads nodes over workers.
fn fnv1a_32(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl Component for TaintEviction {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "taint-eviction-controller";
    const PROCESS: Option<ControlPlaneProcess> = Some(ControlPlaneProcess::KubeControllerManager);

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::NodeAdded(_) | Changed::NodeRemoved { .. } | Changed::PodAdded(_) | Changed::PodRemoved { .. } => {
                true
            }
            Changed::NodeUpdated { delta, .. } => delta.touches(NodeDelta::TAINTS),
            Changed::PodUpdated { delta, .. } => delta.touches(PodDelta::NODE | PodDelta::SPEC),
            _ => false,
        }
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        match start {
            Start::Initial => self.start_work(start, ctx),
            Start::Fresh => {
                ctx.arm_in(CACHE_SYNC, Timer::Synced);
            }
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        if !self.is_synced {
            return;
        }
        match &change.what {
            Changed::NodeAdded(node) | Changed::NodeRemoved { node, .. } => self.handle_node(*node, Start::Fresh, ctx),
            Changed::NodeUpdated { node, .. } => {
                // The time a taint was added counts as a change.
                let seen = self.tainted.get(node).map_or(&[][..], |tainted| &tainted.seen);
                if ctx.store.node(*node).is_none_or(|object| !no_execute(object).eq(seen)) {
                    self.handle_node(*node, Start::Fresh, ctx);
                }
            }
            Changed::PodAdded(pod) => self.handle_pod(*pod, ctx),
            Changed::PodUpdated { pod, delta, before } => {
                let is_relevant = delta.touches(PodDelta::NODE)
                    || before
                        .as_ref()
                        .zip(ctx.store.pod(*pod))
                        .is_none_or(|(before, now)| before.spec.tolerations != now.spec.tolerations);
                if is_relevant {
                    self.handle_pod(*pod, ctx);
                }
            }
            Changed::PodRemoved { last, .. } => self.pod_removed(last, ctx),
            _ => {}
        }
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Synced => self.start_work(Start::Fresh, ctx),
            Timer::Due(Deadline(id)) => self.due(id, ctx),
            Timer::Retry(Attempt(id)) => ctx.call(Request::Get, Tag(id)),
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        self.advance(tag.0, answer, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::ErrorReason;
    use crate::controllers::bench::{Bench, World, config, secs, within};
    use crate::state::PodPhase;

    const MAINT: &str = "maint";

    type Play = Bench<TaintEviction>;

    fn bench_with(start: Start, setup: impl FnOnce(&mut World)) -> Play {
        let mut bench = Bench::new(TaintEviction::new(), config(), 7);
        bench.world.add_node("n", "");
        setup(&mut bench.world);
        bench.start(start);
        bench
    }

    fn bench(setup: impl FnOnce(&mut World)) -> Play {
        bench_with(Start::Initial, setup)
    }

    fn tolerates(key: &str, seconds: Option<i64>) -> String {
        let seconds = seconds.map_or(String::new(), |s| format!(r#","tolerationSeconds":{s}"#));
        format!(r#"{{"key":"{key}","operator":"Exists","effect":"NoExecute"{seconds}}}"#)
    }

    fn taint_at(bench: &mut Play, at_s: f64, key: &'static str) {
        bench.at(at_s, move |world| world.taint("n", key, TaintEffect::NoExecute));
    }

    fn untaint_at(bench: &mut Play, at_s: f64, key: &'static str) {
        bench.at(at_s, move |world| world.untaint("n", key));
    }

    /// A pod with these tolerations; the node is tainted at 10 s. When it is deleted, or never.
    #[track_caller]
    fn check_deletion(tolerations: &[String], expected_s: Option<f64>) {
        let list = format!("[{}]", tolerations.join(","));
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &list);
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.run_until(2000.0);
        match (bench.deletions()[..].first(), expected_s) {
            (Some(at), Some(expected)) => within(*at, expected, expected + 0.1),
            (found, expected) => assert_eq!(found.copied(), expected, "{list}"),
        }
    }

    #[test]
    fn the_shortest_matching_toleration_times_the_deletion() {
        check_deletion(&[], Some(10.0));
        check_deletion(&[tolerates("other", None)], Some(10.0));
        check_deletion(&[tolerates(MAINT, Some(100))], Some(110.0));
        check_deletion(&[tolerates(MAINT, None)], None);
        check_deletion(&[tolerates(MAINT, Some(0))], Some(10.0));
        check_deletion(&[tolerates(MAINT, Some(-5))], Some(10.0));
        check_deletion(&[tolerates(MAINT, Some(100)), tolerates(MAINT, None)], Some(110.0));
        check_deletion(&[tolerates(MAINT, None), tolerates(MAINT, Some(100))], None);
    }

    #[test]
    fn a_deletion_reads_then_marks_then_deletes() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.run_until(20.0);
        assert_eq!((bench.reads.len(), bench.requests.len()), (1, 2));
        let Request::PatchPodStatus { patch, .. } = &bench.requests[0].1 else { panic!("{:?}", bench.requests) };
        assert_eq!(patch.disruption, Some((DisruptionReason::DeletionByTaintManager, true)));
        let Request::DeletePod { options, cause, .. } = &bench.requests[1].1 else { panic!("{:?}", bench.requests) };
        assert_eq!((options.grace_s, options.uid, *cause), (None, None, DeletionCause::TaintManagerEviction));
        assert_eq!(bench.messages("TaintManagerEviction"), ["Marking for deletion Pod default/p"]);
    }

    #[test]
    fn a_condition_that_is_there_already_is_not_written_again() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
            world.edit_pod("p", PodDelta::CONDITIONS, |pod| {
                let reason = DisruptionReason::DeletionByTaintManager;
                pod.disruption_target =
                    Some(crate::state::DisruptionTarget { reason, since: SimTime::ZERO, status: true });
            });
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.run_until(20.0);
        assert_eq!(bench.requests.len(), 1);
    }

    #[test]
    fn of_two_taints_an_untolerated_one_decides_at_once_and_else_the_shorter_time() {
        let mut one = bench(|world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(100))));
            world.add_pod("q", Some("n"), &format!("[{},{}]", tolerates(MAINT, Some(1)), tolerates("b", Some(100))));
        });
        one.at(10.0, |world| {
            world.taint("n", MAINT, TaintEffect::NoExecute);
            world.taint("n", "b", TaintEffect::NoExecute);
        });
        one.run_until(10.1);
        assert_eq!(one.deletions().len(), 1);
        one.run_until(11.1);
        within(one.deletions()[1], 11.0, 11.1);
    }

    #[test]
    fn a_toleration_removed_while_a_timer_is_pending_deletes_now() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(100))));
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.at(20.0, |world| world.set_tolerations("p", "[]"));
        bench.run_until(200.0);
        assert_eq!(bench.deletions().len(), 1);
        within(bench.deletions()[0], 20.0, 20.1);
        let messages = bench.messages("TaintManagerEviction");
        assert_eq!(messages, ["Cancelling deletion of Pod default/p", "Marking for deletion Pod default/p"]);
    }

    #[test]
    fn a_pending_timer_keeps_its_due_time_whatever_the_new_seconds() {
        for (first, second) in [(1, 100), (100, 1), (100, 0)] {
            let mut bench = bench(|world| {
                world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(first))));
            });
            taint_at(&mut bench, 10.0, MAINT);
            bench.at(10.5, move |world| world.set_tolerations("p", &format!("[{}]", tolerates(MAINT, Some(second)))));
            bench.run_until(500.0);
            let due = 10.0 + first as f64;
            within(bench.deletions()[0], due, due + 0.1);
        }
    }

    #[test]
    fn a_taint_removed_in_time_cancels_with_an_event() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
            world.add_pod("forever", Some("n"), &format!("[{}]", tolerates(MAINT, None)));
        });
        taint_at(&mut bench, 10.0, MAINT);
        untaint_at(&mut bench, 20.0, MAINT);
        bench.run_until(500.0);
        assert!(bench.deletions().is_empty());
        assert_eq!(bench.messages("TaintManagerEviction"), ["Cancelling deletion of Pod default/p"]);
    }

    #[test]
    fn a_second_taint_of_finite_tolerance_starts_a_timer_and_its_removal_takes_it_back() {
        let tolerations = format!("[{},{}]", tolerates(MAINT, None), tolerates("b", Some(60)));
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &tolerations);
        });
        taint_at(&mut bench, 10.0, MAINT);
        taint_at(&mut bench, 20.0, "b");
        untaint_at(&mut bench, 30.0, "b");
        bench.run_until(15.0);
        assert_eq!(bench.component.work.len(), 0);
        bench.run_until(25.0);
        assert_eq!(bench.component.work.len(), 1);
        bench.run_until(500.0);
        assert!(bench.deletions().is_empty() && bench.component.groups.is_empty());
    }

    #[test]
    fn three_pods_go_each_at_their_own_time_and_all_at_once_with_a_second_untolerated_taint() {
        let setup = |world: &mut World| {
            world.add_pod("none", Some("n"), "[]");
            world.add_pod("one", Some("n"), &format!("[{}]", tolerates(MAINT, Some(1))));
            world.add_pod("forever", Some("n"), &format!("[{}]", tolerates(MAINT, None)));
        };
        let mut single = bench(setup);
        taint_at(&mut single, 10.0, MAINT);
        single.run_until(500.0);
        assert_eq!(single.deletions().len(), 2);
        within(single.deletions()[1], 11.0, 11.1);
        let mut double = bench(setup);
        taint_at(&mut double, 10.0, MAINT);
        taint_at(&mut double, 10.0, "b");
        double.run_until(10.2);
        assert!(double.world.store.pods().all(|(_, pod)| pod.deletion.is_some()));
    }

    #[test]
    fn a_pod_bound_to_a_tainted_node_counts_from_then() {
        let mut bench = bench(|_| ());
        taint_at(&mut bench, 10.0, MAINT);
        bench.at(50.0, |world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        });
        bench.run_until(500.0);
        within(bench.deletions()[0], 80.0, 80.1);
    }

    #[test]
    fn a_deleted_node_is_forgotten_but_its_timers_still_fire() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.at(20.0, |world| world.remove_node("n"));
        bench.run_until(500.0);
        assert!(bench.component.tainted.is_empty());
        within(bench.deletions()[0], 40.0, 40.1);
    }

    #[test]
    fn a_pod_deleted_by_somebody_else_takes_its_timer_along() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
            world.add_pod("free", Some("n"), "[]");
        });
        bench.at(5.0, |world| world.remove_pod("free"));
        taint_at(&mut bench, 10.0, MAINT);
        bench.at(20.0, |world| world.remove_pod("p"));
        bench.run_until(500.0);
        assert!(bench.requests.is_empty());
        assert_eq!(bench.messages("TaintManagerEviction"), ["Cancelling deletion of Pod default/p"]);
    }

    #[test]
    fn a_swap_of_unreachable_for_not_ready_keeps_the_due_time() {
        let keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
        let mut bench = bench(|world| {
            let list: Vec<String> = keys.iter().map(|key| tolerates(key, Some(300))).collect();
            world.add_pod("p", Some("n"), &format!("[{}]", list.join(",")));
        });
        taint_at(&mut bench, 10.0, keys[0]);
        taint_at(&mut bench, 110.0, keys[1]);
        untaint_at(&mut bench, 110.02, keys[0]);
        bench.run_until(1000.0);
        within(bench.deletions()[0], 310.0, 310.1);
        assert_eq!(bench.messages("TaintManagerEviction").len(), 1);
    }

    #[test]
    fn a_fresh_process_counts_from_its_own_start() {
        let mut bench = bench_with(Start::Fresh, |world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
            world.taint("n", MAINT, TaintEffect::NoExecute);
            let node = world.node_id("n");
            world.edit_node(node, NodeDelta::TAINTS, |node| node.taints[0].added_at = Some(secs(-100.0)));
        });
        bench.run_until(500.0);
        within(bench.deletions()[0], 30.0, 30.5);
    }

    #[test]
    fn a_process_that_has_been_running_counts_from_the_taint() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), &format!("[{}]", tolerates(MAINT, Some(300))));
            world.taint("n", MAINT, TaintEffect::NoExecute);
            world.edit_pod("p", PodDelta::NONE, |pod| pod.scheduled_at = Some(secs(-1000.0)));
            let node = world.node_id("n");
            world.edit_node(node, NodeDelta::TAINTS, |node| node.taints[0].added_at = Some(secs(-100.0)));
        });
        bench.run_until(500.0);
        within(bench.deletions()[0], 200.0, 200.1);
    }

    #[test]
    fn many_pods_of_a_node_are_all_read_before_any_is_marked_before_any_is_deleted() {
        let mut bench = bench(|world| {
            for n in 0..110 {
                world.add_pod(&format!("p-{n}"), Some("n"), &format!("[{}]", tolerates(MAINT, Some(30))));
            }
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.run_until(100.0);
        let deletions = bench.deletions();
        assert_eq!(deletions.len(), 110);
        // Without events 9.6 and 15 s after the timers fired; one event may stand before each.
        within(deletions[0] - 40.0, 8.0, 10.5);
        within(deletions[109] - 40.0, 14.0, 20.5);
        assert!(bench.reads.last() < bench.requests.first().map(|(at, _)| at));
        assert!(bench.timers_fired <= 1);
    }

    #[test]
    fn a_failing_deletion_is_tried_five_times_and_dropped() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
        });
        bench.refuse(|request, _| matches!(request, Request::DeletePod { .. }).then_some(ErrorReason::InternalError));
        taint_at(&mut bench, 10.0, MAINT);
        bench.run_until(100.0);
        assert_eq!(bench.deletions().len(), 5);
        assert!(bench.component.work.is_empty());
        assert_eq!(bench.messages("TaintManagerEviction").len(), 1);
    }

    #[test]
    fn finished_and_terminating_pods_are_deleted_like_others() {
        let mut bench = bench(|world| {
            world.add_pod("done", Some("n"), "[]");
            world.edit_pod("done", PodDelta::PHASE, |pod| pod.phase = PodPhase::Succeeded);
            world.add_pod("going", Some("n"), "[]");
            world.edit_pod("going", PodDelta::DELETION, |pod| {
                pod.deletion = Some(crate::state::Deletion {
                    requested_at: SimTime::ZERO,
                    deadline: secs(1e6),
                    grace: SimDuration::from_secs(30),
                    cause: DeletionCause::Kubectl,
                });
            });
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.run_until(20.0);
        assert_eq!(bench.deletions().len(), 2);
        assert!(bench.world.pod("done").is_none());
    }

    #[test]
    fn a_later_change_of_the_taints_evicts_a_terminating_pod_again() {
        let mut bench = bench(|world| {
            world.add_pod("p", Some("n"), "[]");
        });
        taint_at(&mut bench, 10.0, MAINT);
        taint_at(&mut bench, 20.0, "b");
        bench.run_until(30.0);
        assert_eq!(bench.deletions().len(), 2);
    }

    #[test]
    fn unbound_pods_and_untainted_nodes_are_left_alone() {
        let mut bench = bench(|world| {
            world.add_node("other", "");
            world.add_pod("unbound", None, "[]");
            world.add_pod("elsewhere", Some("other"), "[]");
        });
        taint_at(&mut bench, 10.0, MAINT);
        bench.at(20.0, |world| world.taint("other", MAINT, TaintEffect::NoSchedule));
        bench.run_until(100.0);
        assert!(bench.requests.is_empty() && bench.events.is_empty());
    }

    #[test]
    fn the_hash_of_the_workers_is_fnv_1a() {
        assert_eq!(fnv1a_32(""), 0x811c_9dc5);
        assert_eq!(fnv1a_32("a"), 0xe40c_292c);
        assert_eq!(fnv1a_32("foobar"), 0xbf9c_f968);
    }
}
