//! What a workload's users felt: how long it had fewer ready pods than wanted.

use std::cmp::Ordering;

use rustc_hash::FxHashMap;

use super::cause::is_loss;
use super::objective::Objective;
use super::outcome::{JudgedObjective, WorkloadOutcome};
use super::workload::{WorkloadKey, root_of};
use super::workloads::WorkloadRow;
use crate::arena::{ChangeLog, Column, sym};
use crate::component::DaemonPlacement;
use crate::state::{
    Change, Changed, DaemonSetId, NodeDelta, NodeId, NodeSlot, Owner, Pod, PodId, PodPhase, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime};

/// A workload and its course so far.
#[derive(Clone, Debug)]
struct Tracked {
    key: WorkloadKey,
    /// How it fares by each of the objectives that speak of it; by the wish for all its pods where none does.
    judged: Vec<Judged>,
    desired: i32,
    ready: i32,
    /// What a DaemonSet's controller last counted.
    daemons: DaemonCount,
    /// Pods without a controller of ours count by themselves: those that are there.
    loose: Loose,
    /// And those that are not, are wanted, and that nothing makes anew.
    lost: i32,
    ready_min: i32,
    missing_max: i32,
    since: SimTime,
    /// Since when it exists, if it does.
    born_at: Option<SimTime>,
    /// How long it existed before.
    lived: SimDuration,
    below_desired: SimDuration,
    short_since: Option<SimTime>,
    /// Most ready pods missing since then.
    short_missing: i32,
    /// Longest time with too few ready pods, when that began, and how many were missing at most.
    longest_short: (SimDuration, SimTime, i32),
    /// Missing pods times nanoseconds.
    unready_ns: u128,
    /// Wanted pods times how long.
    wanted_ns: u128,
}

/// How a workload fares by one objective.
#[derive(Clone, Debug)]
struct Judged {
    /// Which; none is the wish for all pods.
    objective: Option<usize>,
    below_min: SimDuration,
    gap_since: Option<SimTime>,
    longest_gap: SimDuration,
}

impl Judged {
    fn by(objective: Option<usize>) -> Self {
        Self { objective, below_min: SimDuration::ZERO, gap_since: None, longest_gap: SimDuration::ZERO }
    }

    fn close_gap(&mut self, at: SimTime) {
        if let Some(since) = self.gap_since.take() {
            self.longest_gap = self.longest_gap.max(at.saturating_since(since));
        }
    }

    /// The share of a life of so many seconds without a gap.
    fn availability(&self, lived: f64) -> f64 {
        if lived > 0.0 { 1.0 - self.below_min.as_secs_f64() / lived } else { 1.0 }
    }
}

impl Tracked {
    fn new(key: WorkloadKey, judged: Vec<Judged>, at: SimTime) -> Self {
        Self {
            key,
            judged,
            desired: 0,
            ready: 0,
            daemons: DaemonCount::default(),
            loose: Loose::default(),
            lost: 0,
            ready_min: 0,
            missing_max: 0,
            since: at,
            born_at: Some(at),
            lived: SimDuration::ZERO,
            below_desired: SimDuration::ZERO,
            short_since: None,
            short_missing: 0,
            longest_short: (SimDuration::ZERO, at, 0),
            unready_ns: 0,
            wanted_ns: 0,
        }
    }

    fn row(&self, at: SimTime) -> WorkloadRow {
        let WorkloadKey { namespace, kind, name } = self.key;
        WorkloadRow {
            at,
            namespace,
            kind: kind.as_str(),
            name,
            desired: self.desired,
            current: self.loose.active,
            ready: self.ready,
            available: self.ready,
            updated: self.loose.active,
            pending: self.loose.pending,
            terminating: self.loose.terminating,
            misscheduled: 0,
            missing: self.missing(),
        }
    }

    /// Wanted pods that are not ready.
    fn missing(&self) -> i32 {
        (self.desired - self.ready).max(0)
    }

    fn close_shortage(&mut self, at: SimTime) {
        if let Some(since) = self.short_since.take() {
            let length = at.saturating_since(since);
            if length > self.longest_short.0 {
                self.longest_short = (length, since, self.short_missing);
            }
            self.short_missing = 0;
        }
    }
}

/// What a DaemonSet's controller last counted.
#[derive(Copy, Clone, Debug, Default)]
struct DaemonCount {
    /// Pods on nodes that should not run them.
    misscheduled: i32,
    /// The set's generation.
    generation: i64,
    /// The set's generation when it last had a node to run on.
    placed: i64,
    /// It has no node to run on, and was not written so.
    has_lost_its_nodes: bool,
    /// Up to where the log of nodes had been taken in.
    nodes: u64,
}

impl DaemonCount {
    /// Taints and deletions of nodes leave a set without any; so does a set that was written to select none, or is being deleted.
    fn look_at_nodes(&mut self, id: DaemonSetId, desired: i32, store: &Store) {
        let Some(set) = store.daemon_sets.get(id) else { return };
        if desired > 0 {
            self.placed = set.status.observed_generation;
        }
        let spec = &set.spec.template.spec;
        let is_rewritten = || self.placed != set.meta.generation;
        let selects_none =
            || !store.nodes().any(|(node, object)| spec.allows_node(&object.labels, store.node_name(node)));
        self.has_lost_its_nodes = desired == 0 && set.meta.deleting.is_none() && !(is_rewritten() && selects_none());
    }
}

/// What a pod counts for: indexes of workloads plus one, 0 for none.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Part {
    /// The workload that counts it as ready.
    ready: usize,
    /// The one that it is a part of without being controlled by anything modelled.
    place: usize,
    /// How it stands there.
    loose: Loose,
}

/// How pods stand that nothing modelled controls: 0 or 1 of one pod, sums of a workload.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Loose {
    /// There and wanted.
    wanted: i32,
    /// Neither finished nor being deleted.
    active: i32,
    /// Active and not bound.
    pending: i32,
    /// Being deleted.
    terminating: i32,
    /// Has done its work: it succeeded before anybody deleted it.
    done: i32,
}

impl Loose {
    /// How a pod stands that stood like this before.
    fn of(pod: &Pod, before: Self, store: &Store) -> Self {
        let active = i32::from(pod.is_active());
        let is_done = before.done > 0 || (pod.phase == PodPhase::Succeeded && pod.deletion.is_none());
        Self {
            wanted: i32::from(!is_done && is_wanted(pod, store)),
            active,
            pending: active * i32::from(pod.node.is_none()),
            terminating: i32::from(pod.is_terminating()),
            done: i32::from(is_done),
        }
    }

    fn add(&mut self, other: Self, sign: i32) {
        self.wanted += sign * other.wanted;
        self.active += sign * other.active;
        self.pending += sign * other.pending;
        self.terminating += sign * other.terminating;
        self.done += sign * other.done;
    }
}

/// Follows every workload whose pods are meant to stay.
#[derive(Clone, Debug, Default)]
pub(super) struct Slo {
    objectives: Vec<Objective>,
    tracked: Vec<Tracked>,
    index: FxHashMap<WorkloadId, usize>,
    /// Those that were ever there: one that is created again goes on where it was.
    by_key: FxHashMap<WorkloadKey, usize>,
    parts: Column<Pod, Part>,
    /// Workloads without a controller that the last change touched.
    touched: Vec<usize>,
    /// Those of which the last change moved how many pods are wanted or ready.
    moved: Vec<usize>,
    /// Nodes whose labels or taints have changed.
    nodes: ChangeLog<NodeSlot>,
}

impl Slo {
    pub(super) fn new(objectives: Vec<Objective>) -> Self {
        Self { objectives, ..Self::default() }
    }

    pub(super) fn begin(&mut self, store: &Store) {
        let ids = (store.deployments.ids().map(WorkloadId::Deployment))
            .chain(store.replica_sets.ids().map(WorkloadId::ReplicaSet))
            .chain(store.daemon_sets.ids().map(WorkloadId::DaemonSet))
            .chain(store.stateful_sets.ids().map(WorkloadId::StatefulSet));
        for id in ids {
            self.workload_seen(SimTime::ZERO, id, store);
        }
        for (id, _) in store.pods() {
            self.pod_seen(SimTime::ZERO, id, store);
        }
        for tracked in &mut self.tracked {
            tracked.ready_min = tracked.ready;
        }
        for index in 0..self.tracked.len() {
            self.advance(index, SimTime::ZERO);
        }
    }

    pub(super) fn changed(&mut self, change: &Change, store: &Store) {
        self.moved.clear();
        match &change.what {
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) => self.workload_seen(change.at, *id, store),
            Changed::WorkloadRemoved(id) => self.forget(change.at, *id),
            Changed::NodeAdded(node) => self.nodes.push(*node),
            Changed::NodeUpdated { node, delta, .. } if delta.touches(NodeDelta::LABELS | NodeDelta::TAINTS) => {
                self.nodes.push(*node);
            }
            Changed::PodAdded(id) => self.pod_seen(change.at, *id, store),
            Changed::PodUpdated { pod, .. } => self.pod_seen(change.at, *pod, store),
            Changed::PodRemoved { pod, last } => self.pod_gone(change.at, *pod, last, store),
            _ => {}
        }
    }

    fn workload_seen(&mut self, at: SimTime, id: WorkloadId, store: &Store) {
        let Some(meta) = store.workload_meta(id) else { return };
        let Some(desired) = desired_of(id, store) else {
            // A ReplicaSet that a Deployment has adopted.
            if self.index.contains_key(&id) {
                self.forget(at, id);
                self.recount(at, id, store);
            }
            return;
        };
        let index = match self.index.get(&id) {
            Some(index) => *index,
            None => self.track(at, id, desired, store),
        };
        if let WorkloadId::DaemonSet(set) = id {
            self.daemon_pods_counted(at, index, set, desired, store);
            self.tracked[index].daemons.look_at_nodes(set, desired, store);
        }
        // Nobody waits for the pods of what is being deleted.
        self.want(index, at, if meta.deleting.is_some() { 0 } else { desired });
    }

    /// The nodes that a set wants pods on, and those that it does not, may be other ones than before: its pods count anew.
    fn daemon_pods_counted(&mut self, at: SimTime, index: usize, id: DaemonSetId, desired: i32, store: &Store) {
        let Some(set) = store.daemon_sets.get(id) else { return };
        let DaemonCount { misscheduled, generation, nodes, .. } = self.tracked[index].daemons;
        let is_same = (set.status.misscheduled, desired) == (misscheduled, self.tracked[index].desired);
        if is_same || misscheduled.max(set.status.misscheduled) == 0 {
            return;
        }
        let daemons = &mut self.tracked[index].daemons;
        daemons.misscheduled = set.status.misscheduled;
        daemons.generation = set.meta.generation;
        daemons.nodes = self.nodes.end();
        let changed = self.nodes.since(nodes).filter(|_| generation == set.meta.generation);
        let Some(changed) = changed.map(Iterator::collect::<Vec<NodeId>>) else {
            return self.recount(at, WorkloadId::DaemonSet(id), store);
        };
        for node in changed {
            for pod in store.pods_on(node) {
                if store.pod(*pod).is_some_and(|pod| pod.owner == Some(Owner::DaemonSet(id))) {
                    self.pod_seen(at, *pod, store);
                }
            }
        }
    }

    /// A workload comes to be, or a ReplicaSet loses its Deployment: it may have pods already.
    fn track(&mut self, at: SimTime, id: WorkloadId, desired: i32, store: &Store) -> usize {
        let key = WorkloadKey::of(id, store).expect("a workload that is there");
        let index = self.place(at, key);
        let is_first = self.tracked[index].lived.is_zero() && self.tracked[index].born_at == Some(at);
        self.index.insert(id, index);
        self.tracked[index].desired = desired;
        self.recount(at, id, store);
        if is_first {
            self.tracked[index].ready_min = self.tracked[index].ready;
        }
        index
    }

    /// The place of a workload of that name, made when it is first heard of.
    fn place(&mut self, at: SimTime, key: WorkloadKey) -> usize {
        if let Some(&index) = self.by_key.get(&key) {
            let tracked = &mut self.tracked[index];
            if tracked.born_at.is_none() {
                (tracked.born_at, tracked.since) = (Some(at), at);
            }
            return index;
        }
        let is_meant = |o: &Objective| o.matches(key.kind.as_str(), key.namespace.as_str(), key.name.as_str());
        let index = self.tracked.len();
        let meant = self.objectives.iter().enumerate().filter(|(_, objective)| is_meant(objective));
        let mut judged: Vec<Judged> = meant.map(|(index, _)| Judged::by(Some(index))).collect();
        if judged.is_empty() {
            judged.push(Judged::by(None));
        }
        self.tracked.push(Tracked::new(key, judged, at));
        self.by_key.insert(key, index);
        index
    }

    /// A workload is no longer there, or no longer speaks for its pods.
    fn forget(&mut self, at: SimTime, id: WorkloadId) {
        let Some(index) = self.index.remove(&id) else { return };
        self.tracked[index].daemons = DaemonCount::default();
        self.want(index, at, 0);
        self.end_life(index, at);
    }

    fn end_life(&mut self, index: usize, at: SimTime) {
        self.advance(index, at);
        let tracked = &mut self.tracked[index];
        tracked.close_shortage(at);
        tracked.judged.iter_mut().for_each(|judged| judged.close_gap(at));
        if let Some(born_at) = tracked.born_at.take() {
            tracked.lived += at.saturating_since(born_at);
        }
    }

    /// Another workload than before may speak for the pods of this one.
    fn recount(&mut self, at: SimTime, id: WorkloadId, store: &Store) {
        for pod in store.pods_of(id) {
            self.pod_seen(at, *pod, store);
        }
    }

    fn pod_seen(&mut self, at: SimTime, id: PodId, store: &Store) {
        let Some(pod) = store.pod(id) else { return };
        let old = *self.parts.get(id);
        let counts = pod.is_active() && pod.is_ready() && !is_misscheduled(pod, store);
        let new = match pod.owner.and_then(WorkloadId::from_owner) {
            Some(_) => {
                let index = root_of(pod, store).and_then(|root| self.index.get(&root));
                Part { ready: index.filter(|_| counts).map_or(0, |index| index + 1), ..Part::default() }
            }
            // What had ended before t=0, or before it lost its controller, is nobody's loss.
            None if old.place == 0 && !pod.is_active() => Part::default(),
            None => {
                let place = self.loose_place(at, pod, old) + 1;
                Part { ready: if counts { place } else { 0 }, place, loose: Loose::of(pod, old.loose, store) }
            }
        };
        self.take(at, id, old, new);
    }

    /// The place of a pod that nothing modelled controls. What takes a lost pod's name makes up for it, and so does each further pod that
    /// an owner makes.
    fn loose_place(&mut self, at: SimTime, pod: &Pod, old: Part) -> usize {
        if let Some(index) = old.place.checked_sub(1) {
            return index;
        }
        let index = self.place(at, WorkloadKey::of_loose_pod(pod));
        if self.tracked[index].lost > 0 {
            self.advance(index, at);
            let tracked = &mut self.tracked[index];
            tracked.lost = if tracked.key.kind == sym!("Pod") { 0 } else { tracked.lost - 1 };
        }
        index
    }

    fn pod_gone(&mut self, at: SimTime, id: PodId, last: &Pod, store: &Store) {
        let old = *self.parts.get(id);
        let place = old.place.checked_sub(1);
        if let Some(index) = place.filter(|_| Loose::of(last, old.loose, store).wanted > 0) {
            self.tracked[index].lost += 1;
        }
        self.take(at, id, old, Part::default());
        if let Some(index) = place
            && self.tracked[index].loose == Loose::default()
            && self.tracked[index].lost == 0
        {
            self.end_life(index, at);
        }
    }

    fn take(&mut self, at: SimTime, id: PodId, old: Part, new: Part) {
        if old == new {
            return;
        }
        *self.parts.get_mut(id) = new;
        if (old.place, old.loose) != (new.place, new.loose) {
            for (part, sign) in [(old, -1), (new, 1)] {
                let Some(index) = part.place.checked_sub(1) else { continue };
                self.tracked[index].loose.add(part.loose, sign);
                let Tracked { loose, lost, .. } = self.tracked[index];
                self.want(index, at, loose.wanted + lost);
            }
        }
        if old.ready != new.ready {
            self.change_ready(at, old.ready, -1);
            self.change_ready(at, new.ready, 1);
        }
        self.touched.extend([old, new].into_iter().filter_map(|part| part.place.checked_sub(1)));
    }

    /// Whether a workload of that name was scaled to 0 or deleted; not if there never was one.
    ///
    /// A DaemonSet whose nodes have all failed has no pod to run either, and nobody wished it so.
    pub(super) fn is_unwanted(&self, key: WorkloadKey) -> bool {
        let tracked = self.by_key.get(&key).map(|&index| &self.tracked[index]);
        tracked.is_some_and(|tracked| tracked.desired == 0 && !tracked.daemons.has_lost_its_nodes)
    }

    /// Whether a workload of that name has fewer ready pods than wanted.
    pub(super) fn is_short(&self, key: WorkloadKey) -> bool {
        self.by_key.get(&key).is_some_and(|&index| self.tracked[index].ready < self.tracked[index].desired)
    }

    /// How many pods a workload of that name misses.
    pub(super) fn missing(&self, key: WorkloadKey) -> i32 {
        self.by_key.get(&key).map_or(0, |&index| self.tracked[index].missing())
    }

    /// Workloads of which the last change moved how many pods are wanted or ready, and how many they miss now.
    pub(super) fn moved(&self) -> impl Iterator<Item = (WorkloadKey, i32)> {
        self.moved.iter().map(|&index| (self.tracked[index].key, self.tracked[index].missing()))
    }

    /// Rows of `workloads.csv` for what the last change touched of pods that nothing modelled controls.
    pub(super) fn loose_rows(&mut self, at: SimTime) -> impl Iterator<Item = WorkloadRow> {
        let Self { touched, tracked, .. } = self;
        touched.sort_unstable();
        touched.dedup();
        touched.drain(..).map(move |index| tracked[index].row(at))
    }

    fn want(&mut self, index: usize, at: SimTime, desired: i32) {
        self.moved.push(index);
        self.advance(index, at);
        self.tracked[index].desired = desired;
        self.advance(index, at);
    }

    fn change_ready(&mut self, at: SimTime, index_plus_one: usize, by: i32) {
        let Some(index) = index_plus_one.checked_sub(1) else { return };
        self.moved.push(index);
        self.advance(index, at);
        self.tracked[index].ready += by;
        self.advance(index, at);
    }

    /// Accounts for the time since the last change, and opens or closes gaps.
    fn advance(&mut self, index: usize, at: SimTime) {
        let tracked = &mut self.tracked[index];
        if tracked.born_at.is_none() {
            return;
        }
        let passed = at.saturating_since(tracked.since);
        let missing = tracked.desired - tracked.ready;
        // What is mended and broken again at one instant was never whole.
        if !passed.is_zero() {
            tracked.wanted_ns += u128::from(passed.as_nanos()) * u128::from(tracked.desired.max(0).unsigned_abs());
            if missing > 0 {
                tracked.below_desired += passed;
                tracked.unready_ns += u128::from(passed.as_nanos()) * u128::from(missing.unsigned_abs());
                tracked.missing_max = tracked.missing_max.max(missing);
                tracked.short_missing = tracked.short_missing.max(missing);
                tracked.short_since.get_or_insert(tracked.since);
            } else {
                tracked.close_shortage(tracked.since);
            }
            for judged in &mut tracked.judged {
                let desired = tracked.desired;
                let enough = judged.objective.map_or(desired, |o| self.objectives[o].min_ready.of(desired));
                if tracked.ready < enough {
                    judged.below_min += passed;
                    judged.gap_since.get_or_insert(tracked.since);
                } else {
                    judged.close_gap(tracked.since);
                }
            }
        }
        tracked.since = at;
        tracked.ready_min = tracked.ready_min.min(tracked.ready);
    }

    /// The outcomes, the worst first; equal ones in the order in which they were created.
    pub(super) fn finish(mut self, end: SimTime) -> Vec<WorkloadOutcome> {
        for index in 0..self.tracked.len() {
            self.end_life(index, end);
        }
        let objectives = &self.objectives;
        let mut outcomes: Vec<WorkloadOutcome> =
            self.tracked.into_iter().map(|tracked| outcome(tracked, objectives)).collect();
        outcomes.sort_by(WorkloadOutcome::worst_first);
        outcomes
    }
}

fn outcome(t: Tracked, objectives: &[Objective]) -> WorkloadOutcome {
    let lived = t.lived.as_secs_f64();
    let mut judged = t.judged;
    let by_objective = |judged: &Judged| {
        let objective = &objectives[judged.objective?];
        let availability = judged.availability(lived);
        Some(JudgedObjective {
            min_ready: objective.min_ready,
            objective: objective.objective,
            availability,
            objective_met: availability >= objective.objective,
        })
    };
    // The sort is stable: of those that are missed alike the first of the scenario is told.
    judged.sort_by(|a, b| match (by_objective(a), by_objective(b)) {
        (Some(a), Some(b)) => a.worst_first(&b),
        _ => Ordering::Equal,
    });
    let worst = &judged[0];
    let objective = by_objective(worst);
    let (longest, from, missing) = t.longest_short;
    WorkloadOutcome {
        kind: t.key.kind.as_str(),
        namespace: t.key.namespace,
        name: t.key.name,
        desired: t.desired,
        ready: t.ready,
        ready_min: t.ready_min,
        missing_max: t.missing_max,
        below_desired_s: t.below_desired.as_secs_f64(),
        longest_short_s: longest.as_secs_f64(),
        longest_short_missing: missing,
        longest_short_from_s: (!longest.is_zero()).then(|| from.as_nanos() as f64 / 1e9),
        below_min_ready_s: worst.below_min.as_secs_f64(),
        longest_gap_s: worst.longest_gap.as_secs_f64(),
        unready_replica_s: t.unready_ns as f64 / 1e9,
        wanted_replica_s: t.wanted_ns as f64 / 1e9,
        disruptions: 0,
        evictions: 0,
        needless_evictions: 0,
        preemptions: 0,
        lost: 0,
        phases_s: Default::default(),
        off_machines: None,
        availability: worst.availability(lived),
        min_ready: objective.map(|of| of.min_ready),
        objective: objective.map(|of| of.objective),
        objective_met: objective.map(|of| of.objective_met),
        other_objectives: judged[1..].iter().filter_map(by_objective).collect(),
    }
}

/// Whether somebody misses a pod that nothing modelled controls, as soon as it is not ready: not if an operator or its owner has
/// ended it. How its containers ended after that tells nothing. A static pod is part of its machine, and goes with it.
fn is_wanted(pod: &Pod, store: &Store) -> bool {
    if let Some(Owner::Node(node)) = pod.owner
        && store.node(node).is_none()
    {
        return false;
    }
    pod.deletion.is_none_or(|deletion| is_loss(deletion.cause, pod.phase))
}

/// Whether it is a daemon pod on a node that should not run it. It is not one of those that its set wants, whatever it does.
///
/// # Source
/// daemonset-controller, `updateDaemonSetStatus`: `numberReady` counts on nodes that should run a pod alone.
fn is_misscheduled(pod: &Pod, store: &Store) -> bool {
    let Some(Owner::DaemonSet(set)) = pod.owner else { return false };
    let set = store.daemon_sets.get(set).filter(|set| set.status.misscheduled > 0);
    let node = pod.node.and_then(|id| Some((store.node_name(id), store.node(id)?)));
    set.zip(node).is_some_and(|(set, (name, node))| !DaemonPlacement::of(set, name, node).should_run)
}

/// Wanted pods of a workload that is tracked; none for ReplicaSets of a Deployment and for kinds that end by themselves.
pub(super) fn desired_of(id: WorkloadId, store: &Store) -> Option<i32> {
    match id {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(|d| d.spec.replicas.unwrap_or(1)),
        WorkloadId::ReplicaSet(id) => {
            let set = store.replica_sets.get(id)?;
            (!matches!(set.meta.owner, Some(Owner::Deployment(_)))).then_some(set.replicas)
        }
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).map(|d| d.status.desired),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(|s| s.spec.replicas.unwrap_or(1)),
        WorkloadId::Job(_) | WorkloadId::CronJob(_) => None,
    }
}
