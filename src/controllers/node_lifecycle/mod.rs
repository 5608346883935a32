//! The node lifecycle controller: turns silence into conditions, taints and pods that are not ready.
//!
//! Idle costs nothing: the pass that the real controller plays every five seconds is played only when there is something to
//! find out. Its calls go through one client; while it waits for tokens, neither failures nor recoveries are noticed.

mod audit;
mod fresh;
mod health;
mod monitor;
mod queue;
mod tainter;
mod taints;
mod zones;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::arena::{Id, Table};
use crate::component::{
    Answer, CACHE_SYNC, ClientLimit, Component, Config, Ctx, Program, Start, WorkQueue, first_round, node_name,
    pod_name,
};
use crate::engine::Ticket;
use crate::model::TaintEffect;
use crate::state::{
    CauseId, Change, Changed, ControlPlaneProcess, Heartbeat, Node, NodeDelta, NodeId, PodDelta, PodId, Status, Store,
};
use crate::units::{SimDuration, SimTime};

use health::{Health, PassClock};
use monitor::Pass;
use tainter::Tainter;
use taints::{Chain, Keys};

pub use taints::condition_taints;
use zones::{ZoneKey, Zones};

/// Workers that react to Node events.
const NODE_UPDATE_WORKERS: usize = 8;

/// What the controller asks to be woken for.
#[derive(Copy, Clone, Debug)]
pub enum Timer {
    /// A pass that has something to do.
    Pass,
    /// A tick of the tainting loop that has something to do.
    Tick,
    /// A worker takes up what it was handed.
    Work,
    /// The caches of a fresh process are filled.
    Synced,
    /// Another try of a node's health update.
    Reexamine(NodeId),
    /// Another try to mark a newly bound pod.
    MarkPod {
        /// Pod.
        pod: PodId,
        /// Failures so far.
        attempt: u8,
    },
}

/// Within this time after the cache has a change a worker of the controller takes it up: it passes through the informer's queue, the
/// handler's and the worker's own.
const HANDED_ON: SimDuration = SimDuration::from_millis(10);

/// How the controller recognises an answer.
#[derive(Copy, Clone, Debug)]
pub struct Tag(Waiting);

#[derive(Copy, Clone, Debug)]
enum Waiting {
    Chain(Id<Chain>),
    Status(NodeId),
    Reread(NodeId),
    Mark(NodeId, PodId),
    Pod(PodId, u8),
}

/// The node lifecycle controller.
///
/// # Source
/// kube-controller-manager, node-lifecycle-controller; events come from `node-controller`.
///
/// # Differs
/// Nodes of a pass and pods of a node are gone through in an order drawn for each pass, where the real one follows the
/// order of a hash map. Of what the informers are late with only a Ready condition of the controller's own making counts: until the
/// watch has delivered it, a tick takes the node for ready, drops it from the queue, and leaves it to the next pass.
#[derive(Clone, Debug)]
pub struct NodeLifecycle {
    /// Passes, ticks and workers begin once the caches are filled.
    is_synced: bool,
    /// The process has begun anew, and has not looked at all nodes yet.
    is_first_pass: bool,
    keys: Keys,
    clock: PassClock,
    armed_pass: Option<(Ticket, SimTime)>,
    pass: Option<Pass>,
    /// Nodes the next pass has to look at.
    dirty: BTreeSet<NodeId>,
    /// Nodes whose pods could not all be marked.
    retry: BTreeSet<NodeId>,
    /// Nodes whose object was deleted since the last pass.
    removed: BTreeSet<NodeId>,
    known: BTreeSet<NodeId>,
    /// Nodes that carry a NoExecute taint of this controller.
    tainted: BTreeSet<NodeId>,
    health: FxHashMap<NodeId, Health>,
    /// The Ready condition that the informer still shows of nodes whose status this controller has written.
    unseen: FxHashMap<NodeId, Status>,
    /// Nodes that are silent as far as the watch of leases has delivered.
    unheard: BTreeSet<NodeId>,
    /// No probe is older than this.
    probe_floor: SimTime,
    /// When the grace of silent nodes is over; both directions.
    deadlines: BTreeSet<(SimTime, NodeId)>,
    deadline_of: BTreeMap<NodeId, SimTime>,
    /// Silent nodes whose grace cannot be worked out before the present pass ends.
    undated: BTreeSet<NodeId>,
    /// Renewals are so rare that living nodes can outlast their grace.
    is_renewal_sparse: bool,
    /// Why a node was last found to be of interest.
    causes: FxHashMap<NodeId, CauseId>,
    zones: Zones,
    tainter: Tainter,
    updates: WorkQueue<NodeId>,
    chains: Table<Chain>,
}

impl NodeLifecycle {
    /// A controller that has not started.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let flags = &config.kube_controller_manager;
        // A quarter of the lease and 4 % jitter, up to a period until a pass sees it, and a second of delays.
        let renewal = config.kubelet.node_lease_duration * 26 / 100;
        let seen_within = renewal + flags.node_monitor_period + SimDuration::from_secs(1);
        Self {
            is_synced: true,
            is_first_pass: false,
            keys: Keys::new(),
            clock: PassClock::new(SimTime::ZERO, flags.node_monitor_period),
            armed_pass: None,
            pass: None,
            dirty: BTreeSet::new(),
            retry: BTreeSet::new(),
            removed: BTreeSet::new(),
            known: BTreeSet::new(),
            tainted: BTreeSet::new(),
            health: FxHashMap::default(),
            unseen: FxHashMap::default(),
            unheard: BTreeSet::new(),
            probe_floor: SimTime::MIN,
            deadlines: BTreeSet::new(),
            deadline_of: BTreeMap::new(),
            undated: BTreeSet::new(),
            is_renewal_sparse: seen_within >= flags.node_monitor_grace_period,
            causes: FxHashMap::default(),
            zones: Zones::default(),
            tainter: Tainter::new(SimTime::ZERO),
            updates: WorkQueue::new(NODE_UPDATE_WORKERS),
            chains: Table::new(),
        }
    }

    /// How long a node may be silent that has a Ready condition, or none yet.
    fn grace(has_posted: bool, config: &Config) -> SimDuration {
        let flags = &config.kube_controller_manager;
        if has_posted { flags.node_monitor_grace_period } else { flags.node_startup_grace_period }
    }

    fn cause_of(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> CauseId {
        self.causes.get(&node).copied().unwrap_or(ctx.cause)
    }

    // ---- when to play a pass --------------------------------------------------------------------------------------

    /// Arms the next pass that has something to do.
    fn arm_pass(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.clock.is_running() {
            return;
        }
        let is_due = !(self.dirty.is_empty() && self.retry.is_empty() && self.removed.is_empty());
        let next = if is_due { self.clock.next(ctx.now) } else { None };
        // Strictly after the deadline: at exactly the grace nothing happens.
        let silence = self.deadlines.first().and_then(|(deadline, _)| self.clock.after((*deadline).max(ctx.now)));
        let at = [next, silence].into_iter().flatten().min();
        if self.armed_pass.map(|(_, at)| at) == at {
            return;
        }
        if let Some((ticket, _)) = self.armed_pass.take() {
            ctx.cancel(ticket);
        }
        self.armed_pass = at.map(|at| (ctx.arm(at, Timer::Pass), at));
    }

    fn clear_deadline(&mut self, node: NodeId) {
        if let Some(at) = self.deadline_of.remove(&node) {
            self.deadlines.remove(&(at, node));
        }
        self.undated.remove(&node);
    }

    /// Works out when a silent node's grace is over.
    fn refresh_deadline(&mut self, node: NodeId, ctx: &Ctx<'_, Self>) {
        self.clear_deadline(node);
        let Some(object) = ctx.store.node(node) else { return };
        let ready = object.conditions.ready();
        let heartbeat = ctx.store.heartbeat(node);
        let is_heard = self.is_heard(node, heartbeat);
        if ready == Some(Status::Unknown) || (heartbeat.is_alive() && is_heard && !self.is_renewal_sparse) {
            return;
        }
        let floor = self.health.get(&node).map_or(ctx.now, |health| health.floor).max(self.probe_floor);
        match health::probe(&self.clock, heartbeat, is_heard, floor, ctx.now) {
            Some(probe) => {
                let at = probe + Self::grace(ready.is_some(), ctx.config);
                self.deadline_of.insert(node, at);
                self.deadlines.insert((at, node));
            }
            None => {
                self.undated.insert(node);
            }
        }
    }

    /// Works out the deadlines that had to wait for the end of a pass.
    fn date_undated(&mut self, ctx: &Ctx<'_, Self>) {
        for node in std::mem::take(&mut self.undated) {
            self.refresh_deadline(node, ctx);
        }
    }

    /// Works out all deadlines again, because passes or probes moved.
    fn refresh_all_deadlines(&mut self, ctx: &Ctx<'_, Self>) {
        let mut nodes: Vec<NodeId> = self.deadline_of.keys().copied().collect();
        nodes.extend(self.undated.iter().copied());
        for node in nodes {
            self.refresh_deadline(node, ctx);
        }
    }

    /// Nodes whose grace is over are looked at by the present pass.
    fn take_due_deadlines(&mut self, now: SimTime) {
        while let Some((at, node)) = self.deadlines.first().copied().filter(|(at, _)| *at < now) {
            self.deadlines.remove(&(at, node));
            self.deadline_of.remove(&node);
            self.dirty.insert(node);
        }
    }

    // ---- events ---------------------------------------------------------------------------------------------------

    /// Whether a pass would find out something from this update.
    fn matters(&self, before: &Node, after: &Node) -> bool {
        let zone = |node: &Node| (ZoneKey::of(&node.labels), zones::counts(&node.labels));
        let taints = |node: &Node| {
            let has = |key| node.taint(key, TaintEffect::NoExecute).is_some();
            (has(self.keys.not_ready), has(self.keys.unreachable))
        };
        before.conditions.ready() != after.conditions.ready()
            || zone(before) != zone(after)
            || taints(before) != taints(after)
    }

    fn node_updated(&mut self, node: NodeId, delta: NodeDelta, before: &Node, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.node(node) else { return };
        if before.conditions.ready() != object.conditions.ready() {
            self.unseen.remove(&node);
        }
        if self.keys.has_no_execute(object) {
            self.tainted.insert(node);
        } else {
            self.tainted.remove(&node);
        }
        if self.matters(before, object) {
            self.dirty.insert(node);
            self.causes.insert(node, ctx.cause);
        }
        let parts = NodeDelta::CONDITIONS | NodeDelta::UNSCHEDULABLE | NodeDelta::TAINTS | NodeDelta::LABELS;
        if delta.touches(parts) {
            self.updates.add(node, ctx.cause);
            if before.conditions.ready() == object.conditions.ready() {
                self.work(ctx);
            } else {
                // The cache has it before a worker does; a tick of the tainter may come in between.
                let index = ctx.now.as_nanos().unsigned_abs();
                let unit = ctx.streams.at("node-update-worker", ctx.store.node_name(node).as_str(), index).unit();
                ctx.arm_in(SimDuration::from_nanos((HANDED_ON.as_nanos() as f64 * unit) as u64), Timer::Work);
            }
        }
    }

    /// Renewals began or stopped at `at`, as the watch of leases delivers now.
    fn heartbeat_changed(&mut self, node: NodeId, at: SimTime, ctx: &mut Ctx<'_, Self>) {
        /// Later news come from a watch that was blind.
        const PROMPT: SimDuration = SimDuration::from_secs(1);
        let is_alive = ctx.store.heartbeat(node).is_alive();
        if is_alive {
            self.unheard.remove(&node);
        } else {
            self.unheard.insert(node);
            if ctx.now.saturating_since(at) > PROMPT
                && let Some(health) = self.health.get_mut(&node)
            {
                // Renewals until then are seen now.
                health.floor = health.floor.max(ctx.now);
            }
        }
        // A revived node keeps its deadline: should it come before the first renewal, the node is lost first.
        if self.is_renewal_sparse || !is_alive {
            self.causes.insert(node, ctx.cause);
            self.refresh_deadline(node, ctx);
        }
    }

    /// Whether the watch of leases has delivered renewals of the kubelet's present run.
    fn is_heard(&self, node: NodeId, heartbeat: &Heartbeat) -> bool {
        !heartbeat.is_alive() || !self.unheard.contains(&node)
    }

    fn node_removed(&mut self, node: NodeId) {
        self.retry.remove(&node);
        self.unseen.remove(&node);
        self.unheard.remove(&node);
        self.dirty.remove(&node);
        self.tainted.remove(&node);
        self.clear_deadline(node);
        self.removed.insert(node);
    }

    /// Whether the node's NoExecute taints are what its Ready condition asks for; if so, it was queued and dealt with.
    fn knows_taints(&mut self, node: NodeId, object: &Node, zone: ZoneKey, now: SimTime) -> bool {
        let Some(ready) = object.conditions.ready() else { return false };
        let has = |key| object.taint(key, TaintEffect::NoExecute).is_some();
        let Some((wanted, opposite)) = self.keys.no_execute(ready) else { return !self.keys.has_no_execute(object) };
        if !has(wanted) || has(opposite) {
            return false;
        }
        if let Some(zone) = self.zones.get_mut(zone) {
            zone.queue.add(node, now);
            zone.queue.done(node);
        }
        true
    }

    /// Takes the cluster as it stands for long known.
    fn know_all(&mut self, ctx: &mut Ctx<'_, Self>) {
        let flags = &ctx.config.kube_controller_manager;
        for (node, object) in ctx.store.nodes() {
            let ready = object.conditions.ready();
            let is_silent = !ctx.store.heartbeat(node).is_alive();
            let floor = match ready {
                None => object.created_at,
                Some(_) if is_silent => ctx.now,
                Some(_) => SimTime::MIN,
            };
            self.known.insert(node);
            self.health.insert(node, Health { ready, floor, is_another: false });
            let zone = ZoneKey::of(&object.labels);
            self.zones.ensure(zone, flags);
            let place = zones::counts(&object.labels).then_some((zone, ready == Some(Status::True)));
            self.zones.count(node, place);
            if self.knows_taints(node, object, zone, ctx.now) {
                continue;
            }
            self.dirty.insert(node);
        }
        if self.zones.evaluate(flags, ctx.now) == zones::Disruption::Entering {
            self.zones.stop_all(ctx.now);
        }
        for (node, _) in ctx.store.nodes() {
            self.refresh_deadline(node, ctx);
        }
    }
}

impl Component for NodeLifecycle {
    type Timer = Timer;
    type Tag = Tag;
    const NAME: &'static str = "node-controller";
    const PROGRAM: Program = Program::ControlPlane(ControlPlaneProcess::KubeControllerManager);
    const CONTROLLERS: &'static [&'static str] = &["node-lifecycle-controller"];

    fn words(timer: &Timer, store: &Store) -> String {
        match *timer {
            Timer::Pass => "the look at all nodes is due".to_owned(),
            Timer::Tick => "the queue of tainted nodes is looked at".to_owned(),
            Timer::Work | Timer::Synced => "its caches are filled".to_owned(),
            Timer::Reexamine(node) => format!("the look at {} is due", node_name(store, node)),
            Timer::MarkPod { pod, .. } => format!("{} is to be marked not ready", pod_name(store, pod)),
        }
    }

    fn is_live(timer: &Timer, store: &Store) -> bool {
        match *timer {
            Timer::MarkPod { pod, .. } => store.pod(pod).is_some(),
            Timer::Reexamine(node) => store.node(node).is_some(),
            Timer::Pass | Timer::Tick | Timer::Synced | Timer::Work => true,
        }
    }

    fn clients(config: &Config) -> Vec<ClientLimit> {
        vec![config.controller_client()]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::NodeAdded(_)
            | Changed::NodeUpdated { .. }
            | Changed::NodeRemoved { .. }
            | Changed::HeartbeatChanged(_)
            | Changed::PodAdded(_) => true,
            Changed::PodUpdated { delta, .. } => delta.touches(PodDelta::NODE),
            _ => false,
        }
    }

    fn started(&mut self, start: Start, ctx: &mut Ctx<'_, Self>) {
        let period = ctx.config.kube_controller_manager.node_monitor_period;
        let part = |whole: SimDuration, concern| {
            SimDuration::from_nanos((whole.as_nanos() as f64 * ctx.streams.stream(concern, "").unit()) as u64)
        };
        for (node, object) in ctx.store.nodes() {
            if self.keys.has_no_execute(object) {
                self.tainted.insert(node);
            }
            self.updates.add(node, ctx.cause);
        }
        match start {
            Start::Initial => {
                self.tainter = Tainter::new(ctx.now + part(queue::TICK, "node-tainter"));
                self.clock = PassClock::going(first_round("node-monitor", period, ctx), period);
                self.know_all(ctx);
            }
            Start::Fresh => {
                let first = ctx.now + CACHE_SYNC;
                self.tainter = Tainter::new(first);
                self.clock = PassClock::new(first, period);
                self.is_first_pass = true;
                self.dirty = ctx.store.nodes().map(|(node, _)| node).collect();
            }
        }
        self.arm_pass(ctx);
        if start == Start::Fresh {
            // After the pass, which begins at the same instant.
            self.is_synced = false;
            ctx.arm(ctx.now + CACHE_SYNC, Timer::Synced);
        }
        self.arm_tick(ctx);
        self.work(ctx);
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::NodeAdded(node) => {
                self.dirty.insert(*node);
                if let Some(health) = self.health.get_mut(node) {
                    health.is_another = true;
                }
                self.causes.insert(*node, ctx.cause);
                if ctx.store.node(*node).is_some_and(|object| self.keys.has_no_execute(object)) {
                    self.tainted.insert(*node);
                }
                self.updates.add(*node, ctx.cause);
                self.work(ctx);
            }
            Changed::NodeUpdated { node, delta, before } => self.node_updated(*node, *delta, before, ctx),
            Changed::NodeRemoved { node, .. } => self.node_removed(*node),
            Changed::HeartbeatChanged(node) => self.heartbeat_changed(*node, change.at, ctx),
            Changed::PodAdded(pod) | Changed::PodUpdated { pod, .. } => self.pod_bound(*pod, 0, ctx),
            _ => {}
        }
        self.arm_pass(ctx);
    }

    fn fired(&mut self, timer: Timer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            Timer::Pass => {
                self.armed_pass = None;
                self.begin_pass(ctx);
            }
            Timer::Tick => self.tick(ctx),
            Timer::Work => self.work(ctx),
            Timer::Synced => {
                self.is_synced = true;
                self.work(ctx);
            }
            Timer::Reexamine(node) => self.reexamine(node, ctx),
            Timer::MarkPod { pod, attempt } => self.pod_bound(pod, attempt, ctx),
        }
    }

    fn answered(&mut self, tag: Tag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match tag.0 {
            Waiting::Chain(id) => self.chain_answered(id, answer, ctx),
            Waiting::Status(node) => self.status_answered(node, answer, ctx),
            Waiting::Reread(node) => self.reread_answered(node, answer, ctx),
            Waiting::Mark(node, pod) => self.mark_answered(node, pod, answer, ctx),
            Waiting::Pod(pod, attempt) => self.pod_answered(pod, attempt, answer, ctx),
        }
    }
}
