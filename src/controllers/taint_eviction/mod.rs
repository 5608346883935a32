//! The taint eviction controller: deletes pods from nodes with NoExecute taints they do not tolerate, or not for long.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::{Id, Symbol, Table};
use crate::component::{
    self, Answer, ClientLimit, Component, Config, Ctx, DeleteOptions, EventDraft, ObjectRef, PodStatusPatch, Program,
    Record, Request, Start, TimerPhase,
};
use crate::engine::Ticket;
use crate::model::{NoExecuteStay, ObjectKind, Taint, TaintEffect, no_execute_stay};
use crate::state::{
    Change, Changed, ControlPlaneProcess, DeletionCause, DisruptionReason, Node, NodeDelta, NodeId, Pod, PodDelta,
    PodId, Store, TaintOnNode,
};
use crate::units::{SimDuration, SimTime};

#[cfg(test)]
mod tests;

/// Tries of one eviction, and the pause between them.
const TRIES: u8 = 5;
const RETRY: SimDuration = SimDuration::from_millis(10);

/// Workers; a node and its pods belong to one of them.
const WORKERS: u32 = 8;

/// From the start of the process until its caches are filled.
const CACHE_SYNC: SimDuration = SimDuration::from_millis(300);

/// From then until the pods have been looked at: each is an update of its own, and those of nodes go before.
const PODS_LATER: SimDuration = SimDuration::from_millis(30);

/// Namespace and name: what timers are keyed by, whatever the UID.
type PodKey = (Symbol, Arc<str>);

/// What the controller asks to be woken for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// The caches of a fresh process are filled.
    Synced,
    /// The pods that a fresh process has found are looked at, one by one.
    Pods,
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
    /// Its time is over: it is being deleted.
    Fired,
    /// It is being deleted without having had a time.
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
    /// Nodes handled so far; distinguishes draws of the order of pods.
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

    /// What a fresh process finds is news to it, pods as much as nodes: a pod that tolerates no taint for a while is deleted, and marked
    /// so, a second time.
    ///
    /// # Source
    /// Taint eviction controller, `worker`: updates of nodes go before those of pods, and an eviction that began without a timer is no
    /// hindrance to another.
    fn handle_found_pods(&mut self, ctx: &mut Ctx<'_, Self>) {
        let store = ctx.store;
        let pods: Vec<PodId> = self.tainted.keys().flat_map(|node| store.pods_on(*node)).copied().collect();
        for pod in pods {
            self.handle_pod(pod, ctx);
        }
    }

    /// Decides about one pod; `began` is the time from which its tolerance counts.
    fn evaluate(&mut self, pod: &Pod, node: NodeId, began: SimTime, groups: &mut NewGroups, ctx: &mut Ctx<'_, Self>) {
        let key = Self::key(pod);
        let taints = self.tainted.get(&node).map_or(&[][..], |tainted| &tainted.taints);
        match no_execute_stay(taints, &pod.spec.tolerations) {
            NoExecuteStay::Untolerated => {
                self.cancel(&key, ctx);
                if began == ctx.now || pod.deletion.is_none() {
                    self.evict(key, Work::Running, ctx);
                }
            }
            NoExecuteStay::Forever => self.cancel(&key, ctx),
            NoExecuteStay::Seconds(_) if self.work.contains_key(&key) => {}
            NoExecuteStay::Seconds(seconds) => {
                let length = SimDuration::from_secs(u64::try_from(seconds).unwrap_or(0));
                let due = began + length;
                if due > ctx.now {
                    record(&key, TimerPhase::Set { from: began, length, due }, ctx);
                    groups.entry(due).or_default().push(key);
                } else if began == ctx.now || pod.deletion.is_none() {
                    self.evict(key, Work::Running, ctx);
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

    /// Takes back what is planned for a pod. Only what had a timer is worth an event.
    ///
    /// # Source
    /// Taint eviction controller, timed workers: one whose timer has fired is cancelled, and announced so, until its calls have been
    /// answered; they go on. Thus the deletion of a pod that had finished, which goes at once, is often seen before it is answered.
    fn cancel(&mut self, key: &PodKey, ctx: &mut Ctx<'_, Self>) {
        match self.work.remove(key) {
            None | Some(Work::Running) => return,
            Some(Work::Fired) => {}
            Some(Work::Waiting(id)) => {
                record(key, TimerPhase::Cancelled, ctx);
                let group = &mut self.groups[id];
                group.waiting_count -= 1;
                if group.waiting_count == 0
                    && let Some(group) = self.groups.remove(id)
                    && let Some(ticket) = group.ticket
                {
                    ctx.cancel(ticket);
                }
            }
        }
        post("Cancelling deletion of Pod", key, ctx);
    }

    fn due(&mut self, id: Id<Group>, ctx: &mut Ctx<'_, Self>) {
        let Some(group) = self.groups.remove(id) else { return };
        for key in group.pods {
            if self.work.get(&key) == Some(&Work::Waiting(id)) {
                record(&key, TimerPhase::Fired, ctx);
                self.evict(key, Work::Fired, ctx);
            }
        }
    }

    fn evict(&mut self, key: PodKey, work: Work, ctx: &mut Ctx<'_, Self>) {
        post("Marking for deletion Pod", &key, ctx);
        self.work.insert(key.clone(), work);
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
            && matches!(self.work.get(&eviction.pod), Some(Work::Fired | Work::Running))
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

fn record(key: &PodKey, phase: TimerPhase, ctx: &mut Ctx<'_, TaintEviction>) {
    let (namespace, name) = key;
    ctx.record(Record::Timer { timer: component::Timer::Toleration(*namespace, Arc::clone(name)), phase });
}

fn post(text: &str, key: &PodKey, ctx: &mut Ctx<'_, TaintEviction>) {
    let (namespace, name) = key;
    let about = ObjectRef::named(ObjectKind::Pod, *namespace, Arc::clone(name));
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
    const PROGRAM: Program = Program::ControlPlane(ControlPlaneProcess::KubeControllerManager);
    const CONTROLLERS: &'static [&'static str] = &["taint-eviction-controller"];

    fn words(timer: &Timer, _store: &Store) -> String {
        let words = match timer {
            Timer::Synced => "its caches are filled",
            Timer::Pods => "it looks at the pods that it has found",
            Timer::Due(_) => "how long pods tolerate a taint is over",
            Timer::Retry(_) => "a deletion is tried again",
        };
        words.to_owned()
    }

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
            Timer::Synced => {
                self.start_work(Start::Fresh, ctx);
                ctx.arm_in(PODS_LATER, Timer::Pods);
            }
            Timer::Pods => self.handle_found_pods(ctx),
            Timer::Due(Deadline(id)) => self.due(id, ctx),
            Timer::Retry(Attempt(id)) => ctx.call(Request::Get, Tag(id)),
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        self.advance(tag.0, answer, ctx);
    }
}
