//! A reboot daemon: nodes that need a reboot get it one after the other, drained.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::drain::{RETRY, type_drain};
use super::{ProcedurePlan, note};
use crate::component::{Answer, ClientLimit, Component, Config, Ctx, EventType, Message, Request, Start, node_name};
use crate::state::{Change, Changed, ControlPlaneProcess, MachineChange, NodeId, Power, Status, Store};
use crate::units::{SimDuration, SimTime};

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

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// It needs a reboot and does not hold the lock.
    Waiting,
    Draining,
    Booting,
    /// It is up again and uncordoned.
    Releasing,
    /// It could not be drained.
    GivingUp,
    /// It is gone for good, and the lock with it.
    Lost,
}

#[derive(Copy, Clone, Debug)]
struct Reboot {
    stage: Stage,
    was_cordoned: bool,
    /// When it got the lock.
    locked_at: SimTime,
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
    reboots: Vec<BTreeMap<NodeId, Reboot>>,
    begun: Vec<u64>,
}

impl RollingReboots {
    /// Reboots that have not begun.
    #[must_use]
    pub fn new(plan: Arc<ProcedurePlan>) -> Self {
        let count = plan.reboots.len();
        Self { plan, reboots: vec![BTreeMap::new(); count], begun: vec![0; count] }
    }

    fn begin(&mut self, id: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let spec = &plan.reboots[id];
        let Some(pool) = plan.pool(spec.pool.as_str()) else { return };
        let nodes = plan.pools[pool].machines(ctx.store);
        let message = format!("{} nodes need a reboot", nodes.len());
        note::about_pool(ctx, "scenario", EventType::Normal, "RebootRequired", spec.pool, message);
        let round = self.begun[id];
        self.begun[id] += 1;
        for node in nodes {
            if self.reboots[id].contains_key(&node) {
                continue;
            }
            self.reboots[id].insert(node, Reboot { stage: Stage::Waiting, was_cordoned: false, locked_at: ctx.now });
            let part = ctx.streams.at("reboot-check", ctx.store.node_name(node).as_str(), round).unit();
            ctx.arm_in(share(spec.period, part), RebootTimer::Check(id, node));
        }
        if let Some(every) = spec.every {
            ctx.arm_in(every, RebootTimer::Begin(id));
        }
    }

    fn stage(&self, id: usize, node: NodeId) -> Option<Stage> {
        self.reboots[id].get(&node).map(|reboot| reboot.stage)
    }

    fn enter(&mut self, id: usize, node: NodeId, stage: Stage) {
        if let Some(reboot) = self.reboots[id].get_mut(&node) {
            reboot.stage = stage;
        }
    }

    /// A daemon looks; it runs only where its kubelet does.
    fn check(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if self.stage(id, node) != Some(Stage::Waiting) {
            return;
        }
        let machine = ctx.store.machine(node);
        if !machine.exists {
            self.reboots[id].remove(&node);
            return;
        }
        let plan = Arc::clone(&self.plan);
        let spec = &plan.reboots[id];
        let holders = self.reboots[id].values().filter(|reboot| reboot.stage != Stage::Waiting).count();
        let object = ctx.store.node(node).filter(|_| machine.talks());
        let Some(object) = object.filter(|_| holders < spec.concurrency as usize) else {
            ctx.arm_in(spec.period, RebootTimer::Check(id, node));
            return;
        };
        let reboot = Reboot { stage: Stage::Draining, was_cordoned: object.unschedulable, locked_at: ctx.now };
        self.reboots[id].insert(node, reboot);
        note::about_node(ctx, EventType::Normal, "RebootLockAcquired", node, "drains and reboots".to_owned());
        type_drain(node, spec.drain_timeout, ticket_of(id, node), ctx);
    }

    fn reboot(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.enter(id, node, Stage::Booting);
        // A machine that is off already boots whenever whoever keeps it off lets it.
        if ctx.store.machine(node).power == Power::On {
            ctx.change_machine(MachineChange::PowerOff(node));
            ctx.change_machine(MachineChange::PowerOn(node));
        }
    }

    /// A node has booted: once it is Ready it takes pods again.
    fn up(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if self.stage(id, node) != Some(Stage::Booting) {
            return;
        }
        let is_ready = ctx.store.node(node).is_some_and(|node| node.conditions.ready() == Some(Status::True));
        if !is_ready || !ctx.store.machine(node).talks() {
            ctx.arm_in(LOOK, RebootTimer::Up(id, node));
            return;
        }
        self.uncordon(id, node, ctx);
    }

    /// Uncordons a node that was not cordoned before; then the lock is given back.
    fn uncordon(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(reboot) = self.reboots[id].get(&node) else { return };
        if reboot.was_cordoned {
            self.uncordoned(id, node, ctx);
        } else {
            ctx.call(Request::SetNodeUnschedulable { node, unschedulable: false }, RebootTag(id, node));
        }
    }

    fn uncordoned(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let part = ctx.streams.at("reboot-release", ctx.store.node_name(node).as_str(), self.begun[id]).unit();
        if self.stage(id, node) == Some(Stage::Booting) {
            note::about_node(ctx, EventType::Normal, "NodeRebooted", node, "Ready again after its reboot".to_owned());
            self.enter(id, node, Stage::Releasing);
        }
        ctx.arm_in(share(TICK, part), RebootTimer::Release(id, node));
    }

    fn release(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        match self.stage(id, node) {
            Some(Stage::GivingUp) => {
                self.enter(id, node, Stage::Waiting);
                ctx.arm_in(self.plan.reboots[id].period, RebootTimer::Check(id, node));
            }
            Some(Stage::Releasing | Stage::Lost) => {
                self.reboots[id].remove(&node);
                if self.reboots[id].is_empty() {
                    let pool = self.plan.reboots[id].pool;
                    let message = "all nodes are rebooted".to_owned();
                    note::about_pool(ctx, Self::NAME, EventType::Normal, "RebootsEnded", pool, message);
                }
            }
            _ => {}
        }
    }
}

impl RollingReboots {
    /// A machine is gone for good. If its daemon held the lock, nobody gets it until it has expired.
    fn lost(&mut self, id: usize, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let Some(reboot) = self.reboots[id].get(&node).copied() else { return };
        if reboot.stage == Stage::Waiting {
            self.reboots[id].remove(&node);
            return;
        }
        self.enter(id, node, Stage::Lost);
        match self.plan.reboots[id].lock_ttl {
            Some(ttl) => {
                ctx.arm(reboot.locked_at + ttl, RebootTimer::Release(id, node));
            }
            None => {
                let message = "gone with the lock: no other node is rebooted".to_owned();
                note::about_node(ctx, EventType::Warning, "RebootLockLost", node, message);
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
    const PROCESS: Option<ControlPlaneProcess> = None;

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
                    if self.stage(id, node) == Some(Stage::Booting) {
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
        let drains = |(node, reboot): &(&NodeId, &Reboot)| {
            ticket_of(id, **node) == end.ticket && reboot.stage == Stage::Draining
        };
        let Some((&node, _)) = self.reboots[id].iter().find(drains) else { return };
        if end.exit == 0 || self.plan.reboots[id].force_reboot {
            self.reboot(id, node, ctx);
            return;
        }
        let error = end.error.as_deref().unwrap_or("the drain failed");
        note::about_node(ctx, EventType::Warning, "RebootGivenUp", node, format!("not drained: {error}"));
        self.enter(id, node, Stage::GivingUp);
        self.uncordon(id, node, ctx);
    }
}
