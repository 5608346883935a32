//! A reboot daemon: nodes that need a reboot get it one after the other, drained.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::drain::{RETRY, type_drain};
use super::{ProcedurePlan, note};
use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, EventType, Message, Program, Request, SCENARIO, Start, node_name,
    reason,
};
use crate::state::{Change, Changed, MachineChange, NodeId, Power, Status, Store};
use crate::units::{SimDuration, SimTime, with_days};

/// Nodes of a pool need a reboot, and a daemon sees to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollingRebootSpec {
    /// Which pool.
    pub pool: Symbol,
    /// How often the daemon of a node looks, from a random moment on.
    #[serde(default = "an_hour", with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub period: SimDuration,
    /// How many nodes hold the lock at a time.
    #[serde(default = "one")]
    pub concurrency: u32,
    /// How long a drain may take; without it, for ever.
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", schemars(with = "Option<crate::units::Days>"))]
    pub drain_timeout: Option<SimDuration>,
    /// Whether a node is rebooted though it could not be drained.
    #[serde(default)]
    pub force_reboot: bool,
    /// When the lock of a node that is gone for good expires; without it, never.
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", schemars(with = "Option<crate::units::Days>"))]
    pub lock_ttl: Option<SimDuration>,
    /// After how long the nodes need a reboot again; without it, once.
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "cli", schemars(with = "Option<crate::units::Days>"))]
    pub every: Option<SimDuration>,
}

const fn an_hour() -> SimDuration {
    SimDuration::from_secs(3600)
}

const fn one() -> u32 {
    1
}

/// What reboots wait for.
#[derive(Copy, Clone, Debug)]
pub enum RebootTimer {
    /// The nodes of an entry of the timeline need a reboot.
    Begin(usize),
    /// A node's daemon looks whether its node needs a reboot and the lock is free.
    Check(usize, NodeId),
    /// A rebooted node may be Ready.
    Up(usize, NodeId),
    /// A node's daemon gives the lock back.
    Release(usize, NodeId),
    /// A node that could not be drained is uncordoned.
    Uncordon(usize, NodeId),
}

/// The uncordoning of this node.
#[derive(Copy, Clone, Debug)]
pub struct RebootTag(usize, NodeId);

/// How often a node that has booted is looked at until it is Ready.
const LOOK: SimDuration = SimDuration::from_secs(10);

/// The daemon's tick: a lock is given back at one.
const TICK: SimDuration = SimDuration::from_secs(60);

/// The lock of a node's daemon.
#[derive(Copy, Clone, Debug)]
struct Lock {
    since: SimTime,
    /// Whether the node was cordoned before: then it stays so.
    was_cordoned: bool,
}

#[derive(Copy, Clone, Debug)]
enum Stage {
    /// It needs a reboot and does not hold the lock.
    Waiting,
    Draining(Lock),
    Booting(Lock),
    /// It is up again and uncordoned.
    Releasing(Lock),
    /// It could not be drained.
    GivingUp(Lock),
    /// It is gone for good, and the lock with it, until that expires.
    Lost {
        until: Option<SimTime>,
    },
}

/// Reboots of node pools.
///
/// # Source
/// kured: every node's daemon looks every `period`, from a random moment on; who gets the lock drains its node (without a timeout,
/// if none is given), reboots, uncordons (not what was cordoned before) and gives the lock back at a tick of a minute. A drain that
/// fails gives the lock back, unless reboots are forced.
#[derive(Clone, Debug)]
pub struct RollingReboots {
    plan: Arc<ProcedurePlan>,
    reboots: Vec<BTreeMap<NodeId, Stage>>,
    begun: Vec<u64>,
}

impl From<Arc<ProcedurePlan>> for RollingReboots {
    /// Reboots that have not begun.
    fn from(plan: Arc<ProcedurePlan>) -> Self {
        let count = plan.reboots.len();
        Self { plan, reboots: vec![BTreeMap::new(); count], begun: vec![0; count] }
    }
}

impl RollingReboots {
    fn begin(&mut self, id: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let spec = &plan.reboots[id];
        let Some(pool) = plan.pool(spec.pool.as_str()) else { return };
        let nodes = plan.pools[pool].machines(ctx.store);
        let message = format!("{} nodes need a reboot", nodes.len());
        note::about_pool(ctx, SCENARIO, EventType::Normal, reason::REBOOT_REQUIRED, spec.pool, message);
        let round = self.begun[id];
        self.begun[id] += 1;
        for node in nodes {
            if self.reboots[id].contains_key(&node) {
                continue;
            }
            self.enter(id, node, Stage::Waiting);
            let part = ctx.streams.at("reboot-check", ctx.store.node_name(node).as_str(), round).unit();
            ctx.arm_in(share(spec.period, part), RebootTimer::Check(id, node));
        }
        if let Some(every) = spec.every {
            ctx.arm_in(every, RebootTimer::Begin(id));
        }
    }

    fn stage(&self, id: usize, node: NodeId) -> Option<Stage> {
        self.reboots[id].get(&node).copied()
    }

    fn enter(&mut self, id: usize, node: NodeId, stage: Stage) {
        self.reboots[id].insert(node, stage);
    }

    /// A daemon looks; it runs only where its kubelet does.
    fn check(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(Stage::Waiting) = self.stage(id, node) else { return };
        let machine = ctx.store.machine(node);
        if !machine.exists {
            self.reboots[id].remove(&node);
            return;
        }
        let plan = Arc::clone(&self.plan);
        let spec = &plan.reboots[id];
        let holders = self.reboots[id].values().filter(|stage| !matches!(stage, Stage::Waiting)).count();
        let object = ctx.store.node(node).filter(|_| machine.talks());
        let Some(object) = object.filter(|_| holders < spec.concurrency as usize) else {
            ctx.arm_in(spec.period, RebootTimer::Check(id, node));
            return;
        };
        let lock = Lock { since: ctx.now, was_cordoned: object.unschedulable };
        self.enter(id, node, Stage::Draining(lock));
        note::about_node(ctx, EventType::Normal, "RebootLockAcquired", node, "drains and reboots".to_owned());
        type_drain(node, spec.drain_timeout, ticket_of(id, node), ctx);
    }

    fn reboot(&mut self, id: usize, node: NodeId, lock: Lock, ctx: &mut Ctx<'_, Self>) {
        self.enter(id, node, Stage::Booting(lock));
        // A machine that is off already boots whenever whoever keeps it off lets it.
        if ctx.store.machine(node).power == Power::On {
            ctx.change_machine(MachineChange::PowerOff(node));
            ctx.change_machine(MachineChange::PowerOn(node));
        }
    }

    /// A node has booted: once it is Ready it takes pods again.
    fn up(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(Stage::Booting(_)) = self.stage(id, node) else { return };
        let is_ready = ctx.store.node(node).is_some_and(|node| node.conditions.ready() == Some(Status::True));
        if !is_ready || !ctx.store.machine(node).talks() {
            ctx.arm_in(LOOK, RebootTimer::Up(id, node));
            return;
        }
        self.uncordon(id, node, ctx);
    }

    /// Uncordons a node that was not cordoned before; then the lock is given back.
    fn uncordon(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(Stage::Booting(lock) | Stage::GivingUp(lock)) = self.stage(id, node) else { return };
        if lock.was_cordoned {
            self.uncordoned(id, node, ctx);
        } else {
            ctx.call(Request::SetNodeUnschedulable { node, unschedulable: false }, RebootTag(id, node));
        }
    }

    fn uncordoned(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        match self.stage(id, node) {
            Some(Stage::Booting(lock)) => {
                let message = "Ready again after its reboot".to_owned();
                note::about_node(ctx, EventType::Normal, "NodeRebooted", node, message);
                self.enter(id, node, Stage::Releasing(lock));
            }
            Some(Stage::GivingUp(_)) => {}
            // The machine is gone meanwhile, and its daemon with it.
            Some(Stage::Waiting | Stage::Draining(_) | Stage::Releasing(_) | Stage::Lost { .. }) | None => return,
        }
        let part = ctx.streams.at("reboot-release", ctx.store.node_name(node).as_str(), self.begun[id]).unit();
        ctx.arm_in(share(TICK, part), RebootTimer::Release(id, node));
    }

    fn release(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        match self.stage(id, node) {
            Some(Stage::GivingUp(_)) => {
                self.enter(id, node, Stage::Waiting);
                ctx.arm_in(self.plan.reboots[id].period, RebootTimer::Check(id, node));
            }
            Some(Stage::Releasing(_)) => self.done(id, node, ctx),
            // What its daemon had in mind is gone with it.
            Some(Stage::Lost { until: Some(until) }) if until <= ctx.now => self.done(id, node, ctx),
            Some(Stage::Waiting | Stage::Draining(_) | Stage::Booting(_) | Stage::Lost { .. }) | None => {}
        }
    }

    /// The lock is free, and this node needs it no more.
    fn done(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.reboots[id].remove(&node);
        if self.reboots[id].is_empty() {
            let pool = self.plan.reboots[id].pool;
            let message = "all nodes are rebooted".to_owned();
            note::about_pool(ctx, Self::NAME, EventType::Normal, reason::REBOOTS_ENDED, pool, message);
        }
    }
}

impl RollingReboots {
    /// A machine is gone for good. If its daemon held the lock, nobody gets it until it has expired.
    fn lost(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let lock = match self.stage(id, node) {
            Some(Stage::Draining(lock) | Stage::Booting(lock) | Stage::Releasing(lock) | Stage::GivingUp(lock)) => lock,
            Some(Stage::Waiting) => {
                self.reboots[id].remove(&node);
                return;
            }
            Some(Stage::Lost { .. }) | None => return,
        };
        let until = self.plan.reboots[id].lock_ttl.map(|ttl| lock.since + ttl);
        self.enter(id, node, Stage::Lost { until });
        match until {
            Some(until) => {
                ctx.arm(until, RebootTimer::Release(id, node));
            }
            None => {
                let message = "gone with the lock: no other node is rebooted".to_owned();
                note::about_node(ctx, EventType::Warning, reason::REBOOT_LOCK_LOST, node, message);
            }
        }
    }
}

/// The pool's entry and the node's place are the ticket.
fn ticket_of(id: usize, node: NodeId) -> u64 {
    (id as u64) << 32 | node.index() as u64
}

fn share(length: SimDuration, part: f64) -> SimDuration {
    SimDuration::from_nanos((length.as_nanos() as f64 * part) as u64)
}

impl Component for RollingReboots {
    type Timer = RebootTimer;
    type Tag = RebootTag;
    const NAME: &'static str = "reboot-daemon";
    const PROGRAM: Program = Program::Other;
    const CONTROLLERS: &'static [&'static str] = &[];
    const TYPES: bool = true;

    fn has_work(&self) -> bool {
        !self.plan.reboots.is_empty()
    }

    fn disturbs(timer: &RebootTimer) -> bool {
        matches!(timer, RebootTimer::Begin(_))
    }

    fn words(timer: &RebootTimer, store: &Store) -> String {
        match *timer {
            RebootTimer::Begin(_) => "nodes need a reboot".to_owned(),
            RebootTimer::Check(_, node) => format!("the daemon of {} looks for the lock", node_name(store, node)),
            RebootTimer::Up(_, node) => format!("{} may be Ready", node_name(store, node)),
            RebootTimer::Release(_, node) => format!("the daemon of {} gives the lock back", node_name(store, node)),
            RebootTimer::Uncordon(_, node) => format!("{} could not be drained", node_name(store, node)),
        }
    }

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        Vec::new()
    }

    fn watches(_changed: &Changed) -> bool {
        false
    }

    fn started(&mut self, _start: Start, _ctx: &mut Ctx<'_, Self>) {}

    fn changed(&mut self, _change: &Change, _ctx: &mut Ctx<'_, Self>) {}

    fn fired(&mut self, timer: RebootTimer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            RebootTimer::Begin(id) => self.begin(id, ctx),
            RebootTimer::Check(id, node) => self.check(id, node, ctx),
            RebootTimer::Up(id, node) => self.up(id, node, ctx),
            RebootTimer::Release(id, node) => self.release(id, node, ctx),
            RebootTimer::Uncordon(id, node) => self.uncordon(id, node, ctx),
        }
    }

    fn answered(&mut self, RebootTag(id, node): RebootTag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if answer.is_err() && ctx.store.node(node).is_some() {
            ctx.arm_in(RETRY, RebootTimer::Uncordon(id, node));
        } else {
            self.uncordoned(id, node, ctx);
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        match *change {
            MachineChange::Booted(node) => {
                for id in 0..self.reboots.len() {
                    if let Some(Stage::Booting(_)) = self.stage(id, node) {
                        ctx.arm_in(LOOK, RebootTimer::Up(id, node));
                    }
                }
            }
            MachineChange::InstanceGone(node) => {
                for id in 0..self.reboots.len() {
                    self.lost(id, node, ctx);
                }
            }
            _ => {}
        }
    }

    fn notified(&mut self, message: &Message, ctx: &mut Ctx<'_, Self>) {
        let Message::Ended(end) = message else { return };
        if end.by != Self::NAME {
            return;
        }
        let id = (end.ticket >> 32) as usize;
        let mut draining = self.reboots[id].iter().filter_map(|(&node, stage)| match *stage {
            Stage::Draining(lock) if ticket_of(id, node) == end.ticket => Some((node, lock)),
            _ => None,
        });
        let Some((node, lock)) = draining.next() else { return };
        if end.exit == 0 || self.plan.reboots[id].force_reboot {
            self.reboot(id, node, lock, ctx);
            return;
        }
        let error = end.error.as_deref().unwrap_or("the drain failed");
        note::about_node(ctx, EventType::Warning, reason::REBOOT_GIVEN_UP, node, format!("not drained: {error}"));
        self.enter(id, node, Stage::GivingUp(lock));
        self.uncordon(id, node, ctx);
    }
}
