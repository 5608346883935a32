//! A rolling upgrade of a node pool, as managed services do it: surge, cordon and drain, soak, delete, replace.

use std::collections::VecDeque;
use std::sync::Arc;

use super::drain::{RECREATION, RETRY, type_drain};
use super::spec::UndrainableNodeBehavior;
use super::{ProcedurePlan, note};
use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, CommandEnd, Component, Config, Ctx, ErrorReason, EventType, Message, Request, Start,
};
use crate::state::{Change, Changed, ControlPlaneProcess, MachineChange, NodeDelta, NodeId, Status, Store};
use crate::units::SimTime;

/// What an upgrade waits for.
#[derive(Copy, Clone, Debug)]
pub enum UpgradeTimer {
    /// An upgrade of the timeline begins.
    Begin(usize),
    /// A slot's present stage is taken up again: after a failed call, or when a wait is over.
    Resume(usize, usize),
}

/// The call of a slot of an upgrade.
#[derive(Copy, Clone, Debug)]
pub struct UpgradeTag {
    upgrade: usize,
    slot: usize,
}

/// What a slot does at present.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The machine that takes the node's place is not Ready yet.
    Surging,
    /// The node is drained until then.
    Draining { until: SimTime },
    /// It is empty and left alone.
    Soaking,
    /// Its object is being deleted.
    Deleting,
    /// Its machine is gone and comes back under its name.
    Recreating,
    /// The new machine of its name is not Ready yet.
    Returning,
    /// It could not be drained and is being uncordoned.
    Uncordoning,
    /// The machine that was to take its place is drained until then, as it is not needed.
    Undoing { until: SimTime },
    /// The emptied machine is being deleted.
    Removing,
    /// Nothing is left to do.
    Idle,
}

/// One of the nodes that are worked on at a time.
#[derive(Clone, Debug)]
struct Slot {
    /// Whether a machine is added before the node goes.
    surges: bool,
    stage: Stage,
    /// The node that is upgraded.
    old: NodeId,
    /// The name of the machine that takes its place: its own, without surge.
    new: Symbol,
    /// What the last drain that failed has said.
    error: Option<String>,
}

/// An upgrade under way.
#[derive(Clone, Debug)]
struct Upgrade {
    pool: usize,
    waiting: VecDeque<NodeId>,
    slots: Vec<Slot>,
    /// Numbers from here on have not been given by this upgrade.
    next_number: u64,
    total: usize,
    replaced: usize,
    undrainable: usize,
}

/// Rolling upgrades of node pools.
///
/// # Source
/// Documented behaviour of AKS, GKE and EKS. As many nodes are worked on at a time as `maxSurge` and `maxUnavailable` together:
/// with surge a new machine is Ready before the old one is drained, without it the machine comes back when it is empty.
///
/// # Differs
/// The cloud makes and deletes machines in no time; booting takes what `latency.nodeBoot` says. AKS puts the node back in
/// place and deletes the surge machines last; here they stay in its place, as in GKE and EKS.
#[derive(Clone, Debug)]
pub struct RollingUpgrades {
    plan: Arc<ProcedurePlan>,
    upgrades: Vec<Option<Upgrade>>,
}

impl RollingUpgrades {
    /// Upgrades that have not begun.
    #[must_use]
    pub fn new(plan: Arc<ProcedurePlan>) -> Self {
        let upgrades = vec![None; plan.upgrades.len()];
        Self { plan, upgrades }
    }

    fn begin(&mut self, id: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let spec = &plan.upgrades[id];
        let Some(pool) = plan.pool(spec.pool.as_str()) else { return };
        let waiting: VecDeque<NodeId> = plan.pools[pool].machines(ctx.store).into();
        let total = waiting.len();
        let (surge, unavailable) = spec.at_a_time(total);
        let message = format!("rolling upgrade of {total} nodes, {surge} more and {unavailable} less at a time");
        note::about_pool(ctx, "scenario", EventType::Normal, "RollingUpgradeBegan", spec.pool, message);
        let slot = |slot: usize| Slot {
            surges: slot < surge,
            stage: Stage::Idle,
            old: NodeId::MIN,
            new: Symbol::empty(),
            error: None,
        };
        let slots: Vec<Slot> = (0..(surge + unavailable).min(total)).map(slot).collect();
        let count = slots.len();
        let next_number = plan.pools[pool].next_number(ctx.store);
        let upgrade = Upgrade { pool, waiting, slots, next_number, total, replaced: 0, undrainable: 0 };
        self.upgrades[id] = Some(upgrade);
        for slot in 0..count {
            self.next_node(id, slot, ctx);
        }
        self.end_if_done(id, ctx);
    }

    fn slot(&self, id: usize, slot: usize) -> Option<&Slot> {
        self.upgrades[id].as_ref()?.slots.get(slot)
    }

    fn enter(&mut self, id: usize, slot: usize, stage: Stage) {
        if let Some(place) = self.upgrades[id].as_mut().and_then(|upgrade| upgrade.slots.get_mut(slot)) {
            place.stage = stage;
        }
    }

    /// A free slot takes the next node, if there is one.
    fn next_node(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let behavior = self.plan.upgrades[id].undrainable_node_behavior;
        let Some(upgrade) = &mut self.upgrades[id] else { return };
        let has_failed = upgrade.undrainable > 0 && behavior == UndrainableNodeBehavior::Schedule;
        let mut left = std::iter::from_fn(|| upgrade.waiting.pop_front());
        let next = if has_failed { None } else { left.find(|&node| ctx.store.machine(node).exists) };
        let place = &mut upgrade.slots[slot];
        place.stage = Stage::Idle;
        place.error = None;
        let Some(node) = next else { return };
        place.old = node;
        if place.surges {
            self.surge(id, slot, ctx);
        } else {
            place.new = ctx.store.node_name(node);
            self.drain(id, slot, ctx);
        }
    }

    /// A machine is added that takes the node's place.
    fn surge(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let Some(upgrade) = &mut self.upgrades[id] else { return };
        let pool = &plan.pools[upgrade.pool];
        let place = &mut upgrade.slots[slot];
        let old = ctx.store.node_name(place.old);
        let number = pool.number_in_place_of(old, upgrade.next_number.max(pool.next_number(ctx.store)));
        upgrade.next_number = number + 1;
        place.new = pool.node_name(number);
        place.stage = Stage::Surging;
        let message = format!("{} is added to take the place of {old}", place.new);
        note::about_pool(ctx, Self::NAME, EventType::Normal, "SurgeNodeAdded", pool.name, message);
        ctx.change_machine(MachineChange::InstanceCreated { name: place.new, pool: upgrade.pool as u32 });
    }

    /// The node that is upgraded is to be emptied.
    fn drain(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let until = ctx.now + self.plan.upgrades[id].drain_timeout;
        self.enter(id, slot, Stage::Draining { until });
        self.type_drain(id, slot, ctx);
    }

    /// Types the drain of the node that has to become empty, with the time that is left.
    fn type_drain(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(place) = self.slot(id, slot) else { return };
        let (node, until) = match place.stage {
            Stage::Draining { until } => (Some(place.old), until),
            Stage::Undoing { until } => (ctx.store.find_node(place.new), until),
            _ => return,
        };
        match node.filter(|_| until > ctx.now) {
            Some(node) => {
                let ticket = (id as u64) << 32 | slot as u64;
                type_drain(node, Some(until.saturating_since(ctx.now)), ticket, ctx);
            }
            None => self.undrained(id, slot, ctx),
        }
    }

    fn drain_ended(&mut self, id: usize, slot: usize, end: &CommandEnd, ctx: &mut Ctx<'_, Self>) {
        let Some(place) = self.slot(id, slot) else { return };
        let (node, until) = match place.stage {
            Stage::Draining { until } => (Some(place.old), until),
            Stage::Undoing { until } => (ctx.store.find_node(place.new), until),
            _ => return,
        };
        let is_gone = node.is_none_or(|node| ctx.store.node(node).is_none());
        if let Some(upgrade) = &mut self.upgrades[id] {
            upgrade.slots[slot].error.clone_from(&end.error);
        }
        if end.exit == 0 || is_gone {
            self.drained(id, slot, ctx);
        } else if until <= ctx.now {
            self.undrained(id, slot, ctx);
        } else {
            ctx.arm((ctx.now + RETRY).min(until), UpgradeTimer::Resume(id, slot));
        }
    }

    fn drained(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        match self.slot(id, slot).map(|place| place.stage) {
            Some(Stage::Draining { .. }) => {
                self.enter(id, slot, Stage::Soaking);
                let soak = self.plan.upgrades[id].node_soak;
                ctx.arm_in(soak, UpgradeTimer::Resume(id, slot));
            }
            Some(Stage::Undoing { .. }) => {
                self.enter(id, slot, Stage::Removing);
                self.resume(id, slot, ctx);
            }
            _ => {}
        }
    }

    /// The time for a drain is over.
    fn undrained(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let behavior = self.plan.upgrades[id].undrainable_node_behavior;
        let Some(upgrade) = &mut self.upgrades[id] else { return };
        let place = &upgrade.slots[slot];
        let (old, surges) = (place.old, place.surges);
        if matches!(place.stage, Stage::Undoing { .. }) {
            let message = format!("{} cannot be emptied either and stays", place.new);
            note::about_node(ctx, EventType::Warning, "SurgeNodeKept", old, message);
            self.next_node(id, slot, ctx);
            return;
        }
        let what = match behavior {
            UndrainableNodeBehavior::Schedule => "it is uncordoned and the upgrade fails",
            UndrainableNodeBehavior::Cordon => "it stays cordoned",
            UndrainableNodeBehavior::Force => "it is deleted with its pods",
        };
        let mut message = format!("not drained within {}: {what}", self.plan.upgrades[id].drain_timeout);
        if let Some(error) = &place.error {
            message.push_str(&format!("; {error}"));
        }
        note::about_node(ctx, EventType::Warning, "NodeUndrainable", old, message);
        upgrade.undrainable += 1;
        match behavior {
            UndrainableNodeBehavior::Schedule => {
                self.enter(id, slot, Stage::Uncordoning);
                self.resume(id, slot, ctx);
            }
            UndrainableNodeBehavior::Cordon => {
                let kept = if surges { "with a new node beside it" } else { "without a new node" };
                note::about_node(ctx, EventType::Warning, "NodeQuarantined", old, format!("stays as it is, {kept}"));
                self.next_node(id, slot, ctx);
            }
            UndrainableNodeBehavior::Force => {
                self.enter(id, slot, Stage::Deleting);
                self.resume(id, slot, ctx);
            }
        }
    }

    /// Takes the present stage up.
    fn resume(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let Some(upgrade) = &self.upgrades[id] else { return };
        let place = &upgrade.slots[slot];
        let (old, new) = (place.old, ctx.store.find_node(place.new));
        let tag = UpgradeTag { upgrade: id, slot };
        match place.stage {
            Stage::Draining { .. } | Stage::Undoing { .. } => self.type_drain(id, slot, ctx),
            Stage::Soaking => {
                self.enter(id, slot, Stage::Deleting);
                self.resume(id, slot, ctx);
            }
            Stage::Deleting => ctx.call(Request::DeleteNode { node: old }, tag),
            Stage::Uncordoning => ctx.call(Request::SetNodeUnschedulable { node: old, unschedulable: false }, tag),
            Stage::Removing => match new {
                Some(node) => ctx.call(Request::DeleteNode { node }, tag),
                None => self.next_node(id, slot, ctx),
            },
            Stage::Recreating => {
                ctx.change_machine(MachineChange::InstanceCreated { name: place.new, pool: upgrade.pool as u32 });
                let message = format!("{} comes back", place.new);
                note::about_pool(
                    ctx,
                    Self::NAME,
                    EventType::Normal,
                    "NodeRecreated",
                    plan.pools[upgrade.pool].name,
                    message,
                );
                self.enter(id, slot, Stage::Returning);
            }
            Stage::Surging | Stage::Returning | Stage::Idle => {}
        }
    }

    /// A call has succeeded, or what it asked for is so anyway.
    fn done(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(place) = self.slot(id, slot) else { return };
        let (old, new, surges) = (place.old, ctx.store.find_node(place.new), place.surges);
        match place.stage {
            Stage::Deleting => {
                ctx.change_machine(MachineChange::InstanceGone(old));
                if surges {
                    self.replaced(id, slot, ctx);
                } else {
                    self.enter(id, slot, Stage::Recreating);
                    ctx.arm_in(RECREATION, UpgradeTimer::Resume(id, slot));
                }
            }
            Stage::Uncordoning if surges => {
                let until = ctx.now + self.plan.upgrades[id].drain_timeout;
                self.enter(id, slot, Stage::Undoing { until });
                self.type_drain(id, slot, ctx);
            }
            Stage::Uncordoning => self.next_node(id, slot, ctx),
            Stage::Removing => {
                if let Some(node) = new {
                    ctx.change_machine(MachineChange::InstanceGone(node));
                }
                self.next_node(id, slot, ctx);
            }
            _ => {}
        }
    }

    /// A node has a successor that is Ready.
    fn replaced(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(upgrade) = &mut self.upgrades[id] else { return };
        upgrade.replaced += 1;
        let place = &upgrade.slots[slot];
        let message = format!("replaced by {}, {} of {}", place.new, upgrade.replaced, upgrade.total);
        note::about_node(ctx, EventType::Normal, "NodeUpgraded", place.old, message);
        self.next_node(id, slot, ctx);
    }

    /// Where an upgrade waits for the machine of that name, and whether it is an additional one.
    fn waiting_for(&self, id: usize, name: Symbol) -> Option<(usize, bool)> {
        let slots = &self.upgrades[id].as_ref()?.slots;
        let waits = |place: &Slot| place.new == name && matches!(place.stage, Stage::Surging | Stage::Returning);
        let slot = slots.iter().position(waits)?;
        Some((slot, slots[slot].stage == Stage::Surging))
    }

    /// A node has become Ready.
    fn ready(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        for id in 0..self.upgrades.len() {
            let Some((slot, is_surge)) = self.waiting_for(id, name) else { continue };
            if is_surge {
                self.drain(id, slot, ctx);
            } else {
                self.replaced(id, slot, ctx);
            }
            self.end_if_done(id, ctx);
        }
    }

    /// A machine that an upgrade waits for is gone: there has to be another one.
    fn lost(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        for id in 0..self.upgrades.len() {
            let Some((slot, is_surge)) = self.waiting_for(id, name) else { continue };
            if is_surge {
                self.surge(id, slot, ctx);
            } else {
                self.enter(id, slot, Stage::Recreating);
                ctx.arm_in(RECREATION, UpgradeTimer::Resume(id, slot));
            }
        }
    }

    fn end_if_done(&mut self, id: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(upgrade) = &self.upgrades[id] else { return };
        if upgrade.slots.iter().any(|slot| slot.stage != Stage::Idle) {
            return;
        }
        let behavior = self.plan.upgrades[id].undrainable_node_behavior;
        let Upgrade { total, replaced, undrainable, .. } = *upgrade;
        let has_failed = undrainable > 0 && behavior != UndrainableNodeBehavior::Force;
        let mut message = format!("{replaced} of {total} nodes upgraded");
        if undrainable > 0 {
            message.push_str(&format!(", {undrainable} could not be drained"));
        }
        let (event_type, reason) = if has_failed {
            (EventType::Warning, "RollingUpgradeFailed")
        } else {
            (EventType::Normal, "RollingUpgradeEnded")
        };
        let pool = self.plan.upgrades[id].pool;
        note::about_pool(ctx, Self::NAME, event_type, reason, pool, message);
        self.upgrades[id] = None;
    }
}

impl Component for RollingUpgrades {
    type Timer = UpgradeTimer;
    type Tag = UpgradeTag;
    const NAME: &'static str = "rolling-upgrade";
    const PROCESS: Option<ControlPlaneProcess> = None;

    fn words(timer: &UpgradeTimer, _store: &Store) -> String {
        let words = match timer {
            UpgradeTimer::Begin(_) => "an upgrade of the timeline begins",
            UpgradeTimer::Resume(..) => "an upgrade goes on",
        };
        words.to_owned()
    }

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        Vec::new()
    }

    fn watches(changed: &Changed) -> bool {
        matches!(changed, Changed::NodeUpdated { delta, .. } if delta.touches(NodeDelta::CONDITIONS))
    }

    fn started(&mut self, _start: Start, _ctx: &mut Ctx<'_, Self>) {}

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        let Changed::NodeUpdated { node, .. } = change.what else { return };
        if ctx.store.node(node).is_some_and(|node| node.conditions.ready() == Some(Status::True)) {
            self.ready(node, ctx);
        }
    }

    fn fired(&mut self, timer: UpgradeTimer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            UpgradeTimer::Begin(id) => self.begin(id, ctx),
            UpgradeTimer::Resume(id, slot) => {
                self.resume(id, slot, ctx);
                self.end_if_done(id, ctx);
            }
        }
    }

    fn answered(&mut self, tag: UpgradeTag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match answer {
            Err(error) if error.reason != ErrorReason::NotFound => {
                ctx.arm_in(RETRY, UpgradeTimer::Resume(tag.upgrade, tag.slot));
            }
            _ => {
                self.done(tag.upgrade, tag.slot, ctx);
                self.end_if_done(tag.upgrade, ctx);
            }
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        if let MachineChange::InstanceGone(node) = *change {
            self.lost(node, ctx);
        }
    }

    fn notified(&mut self, message: &Message, ctx: &mut Ctx<'_, Self>) {
        let Message::Ended(end) = message else { return };
        if end.by == Self::NAME {
            let (id, slot) = ((end.ticket >> 32) as usize, (end.ticket & u64::from(u32::MAX)) as usize);
            self.drain_ended(id, slot, end, ctx);
            self.end_if_done(id, ctx);
        }
    }
}
