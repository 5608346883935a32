//! A rolling upgrade of a node pool, as managed services do it: surge, cordon and drain, soak, delete, replace.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::drain::{RECREATION, RETRY, type_drain};
use super::{ProcedurePlan, note};
use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, CommandEnd, Component, Config, Ctx, ErrorReason, EventType, Message, Program, Request,
    SCENARIO, Start, reason,
};
use crate::state::{Change, Changed, MachineChange, NodeDelta, NodeId, Status, Store};
use crate::units::{IntOrPercent, Rounding, SimDuration, SimTime, with_days};

/// What becomes of a node that cannot be drained in time, and of the upgrade.
///
/// # Source
/// `Schedule` and `Cordon` are the values of AKS; `Force` is what GKE does after an hour and EKS if asked to.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub enum UndrainableNodeBehavior {
    /// It is uncordoned and stays as it is; no further node is begun and the upgrade has failed.
    #[default]
    Schedule,
    /// It stays cordoned beside the machine that was to take its place; the upgrade goes on.
    Cordon,
    /// It is deleted with the pods on it; the upgrade goes on.
    Force,
}

/// A rolling upgrade of a node pool: every machine is replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollingUpgradeSpec {
    /// Which pool.
    pub pool: Symbol,
    /// Machines above the pool's size; a percentage of the size rounds up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrPercent>,
    /// Machines that may be missing at a time; a percentage of the size rounds up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
    /// How long the pods of a node are given to leave, budgets included.
    #[serde(default = "half_an_hour", with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub drain_timeout: SimDuration,
    /// Wait between the drain of a node and its deletion.
    #[serde(default, with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub node_soak: SimDuration,
    /// What becomes of a node that cannot be drained in time.
    #[serde(default)]
    pub undrainable_node_behavior: UndrainableNodeBehavior,
}

const fn half_an_hour() -> SimDuration {
    SimDuration::from_secs(1800)
}

impl RollingUpgradeSpec {
    /// `maxSurge` as it is written or meant.
    ///
    /// # Source
    /// AKS: 10 % if nothing is said; a pool that may lack machines needs none.
    #[must_use]
    pub fn surge(&self) -> IntOrPercent {
        let default = if self.max_unavailable.is_some() { IntOrPercent::Int(0) } else { IntOrPercent::Percent(10) };
        self.max_surge.unwrap_or(default)
    }

    /// How many machines of a pool of that size are added at a time, and how many may be missing.
    #[must_use]
    pub fn at_a_time(&self, size: usize) -> (usize, usize) {
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        let count = |limit: IntOrPercent| limit.resolve(size, Rounding::Up).max(0).unsigned_abs() as usize;
        (count(self.surge()), count(self.max_unavailable.unwrap_or_default()))
    }
}

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

/// What is done about a node at present.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// The machine that takes the node's place is not Ready yet.
    Surging,
    /// The node is drained until then.
    Draining {
        until: SimTime,
        /// What the last drain that failed has said.
        error: Option<String>,
    },
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
}

/// A node that is worked on.
#[derive(Clone, Debug)]
struct Work {
    /// The node that is upgraded.
    old: NodeId,
    /// The name of the machine that takes its place: its own, without surge.
    new: Symbol,
    stage: Stage,
}

/// One of the places in which nodes are worked on at a time.
#[derive(Clone, Debug)]
struct Slot {
    /// Whether a machine is added before the node goes.
    surges: bool,
    /// None, if no node is left.
    work: Option<Work>,
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

impl From<Arc<ProcedurePlan>> for RollingUpgrades {
    /// Upgrades that have not begun.
    fn from(plan: Arc<ProcedurePlan>) -> Self {
        let upgrades = vec![None; plan.upgrades.len()];
        Self { plan, upgrades }
    }
}

impl RollingUpgrades {
    fn begin(&mut self, id: usize, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let spec = &plan.upgrades[id];
        let Some(pool) = plan.pool(spec.pool.as_str()) else { return };
        let waiting: VecDeque<NodeId> = plan.pools[pool].machines(ctx.store).into();
        let total = waiting.len();
        let (surge, unavailable) = spec.at_a_time(total);
        let message = format!("rolling upgrade of {total} nodes, {surge} more and {unavailable} less at a time");
        note::about_pool(ctx, SCENARIO, EventType::Normal, reason::ROLLING_UPGRADE_BEGAN, spec.pool, message);
        let slot = |slot: usize| Slot { surges: slot < surge, work: None };
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

    fn work(&self, id: usize, slot: usize) -> Option<&Work> {
        self.upgrades[id].as_ref()?.slots.get(slot)?.work.as_ref()
    }

    fn work_mut(&mut self, id: usize, slot: usize) -> Option<&mut Work> {
        self.upgrades[id].as_mut()?.slots.get_mut(slot)?.work.as_mut()
    }

    fn enter(&mut self, id: usize, slot: usize, stage: Stage) {
        if let Some(work) = self.work_mut(id, slot) {
            work.stage = stage;
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
        place.work = None;
        match next {
            Some(node) if place.surges => self.surge(id, slot, node, ctx),
            Some(node) => self.drain(id, slot, node, ctx.store.node_name(node), ctx),
            None => {}
        }
    }

    /// A machine is added that takes the node's place.
    fn surge(&mut self, id: usize, slot: usize, old: NodeId, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let Some(upgrade) = &mut self.upgrades[id] else { return };
        let pool = &plan.pools[upgrade.pool];
        let name = ctx.store.node_name(old);
        let number = pool.number_in_place_of(name, upgrade.next_number.max(pool.next_number(ctx.store)));
        upgrade.next_number = number + 1;
        let new = pool.node_name(number);
        upgrade.slots[slot].work = Some(Work { old, new, stage: Stage::Surging });
        let message = format!("{new} is added to take the place of {name}");
        note::about_pool(ctx, Self::NAME, EventType::Normal, "SurgeNodeAdded", pool.name, message);
        ctx.change_machine(MachineChange::InstanceCreated { name: new, pool: upgrade.pool as u32 });
    }

    /// The node that is upgraded is to be emptied.
    fn drain(&mut self, id: usize, slot: usize, old: NodeId, new: Symbol, ctx: &mut Ctx<'_, Self>) {
        let until = ctx.now + self.plan.upgrades[id].drain_timeout;
        let Some(upgrade) = &mut self.upgrades[id] else { return };
        upgrade.slots[slot].work = Some(Work { old, new, stage: Stage::Draining { until, error: None } });
        self.type_drain(id, slot, ctx);
    }

    /// The node that has to become empty, if it is there, and until when; none if none has to.
    fn drained_until(&self, id: usize, slot: usize, store: &Store) -> Option<(Option<NodeId>, SimTime)> {
        let work = self.work(id, slot)?;
        match work.stage {
            Stage::Draining { until, .. } => Some((Some(work.old), until)),
            Stage::Undoing { until } => Some((store.find_node(work.new), until)),
            Stage::Surging
            | Stage::Soaking
            | Stage::Deleting
            | Stage::Recreating
            | Stage::Returning
            | Stage::Uncordoning
            | Stage::Removing => None,
        }
    }

    /// Types the drain of the node that has to become empty, with the time that is left.
    fn type_drain(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let Some((node, until)) = self.drained_until(id, slot, ctx.store) else { return };
        match node.filter(|_| until > ctx.now) {
            Some(node) => {
                let ticket = (id as u64) << 32 | slot as u64;
                type_drain(node, Some(until.saturating_since(ctx.now)), ticket, ctx);
            }
            None => self.undrained(id, slot, ctx),
        }
    }

    fn drain_ended(&mut self, id: usize, slot: usize, end: &CommandEnd, ctx: &mut Ctx<'_, Self>) {
        let Some((node, until)) = self.drained_until(id, slot, ctx.store) else { return };
        let is_gone = node.is_none_or(|node| ctx.store.node(node).is_none());
        if let Some(Work { stage: Stage::Draining { error, .. }, .. }) = self.work_mut(id, slot) {
            error.clone_from(&end.error);
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
        match self.work(id, slot).map(|work| &work.stage) {
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
        let Slot { surges, work: Some(work) } = &upgrade.slots[slot] else { return };
        let (old, surges) = (work.old, *surges);
        if matches!(work.stage, Stage::Undoing { .. }) {
            let message = format!("{} cannot be emptied either and stays", work.new);
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
        if let Stage::Draining { error: Some(error), .. } = &work.stage {
            message.push_str(&format!("; {error}"));
        }
        note::about_node(ctx, EventType::Warning, reason::NODE_UNDRAINABLE, old, message);
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
        let Some(work) = &upgrade.slots[slot].work else { return };
        let (old, new) = (work.old, ctx.store.find_node(work.new));
        let tag = UpgradeTag { upgrade: id, slot };
        match work.stage {
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
                ctx.change_machine(MachineChange::InstanceCreated { name: work.new, pool: upgrade.pool as u32 });
                let message = format!("{} comes back", work.new);
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
            Stage::Surging | Stage::Returning => {}
        }
    }

    /// A call has succeeded, or what it asked for is so anyway.
    fn done(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(Slot { surges, work: Some(work) }) = self.upgrades[id].as_ref().map(|upgrade| &upgrade.slots[slot])
        else {
            return;
        };
        let (old, new, surges) = (work.old, ctx.store.find_node(work.new), *surges);
        match work.stage {
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
            Stage::Surging
            | Stage::Draining { .. }
            | Stage::Soaking
            | Stage::Recreating
            | Stage::Returning
            | Stage::Undoing { .. } => {}
        }
    }

    /// A node has a successor that is Ready.
    fn replaced(&mut self, id: usize, slot: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(upgrade) = &mut self.upgrades[id] else { return };
        upgrade.replaced += 1;
        if let Some(Work { old, new, .. }) = upgrade.slots[slot].work {
            let message = format!("replaced by {new}, {} of {}", upgrade.replaced, upgrade.total);
            note::about_node(ctx, EventType::Normal, "NodeUpgraded", old, message);
        }
        self.next_node(id, slot, ctx);
    }

    /// Where an upgrade waits for the machine of that name, and the node whose place it takes if it is an additional one.
    fn waiting_for(&self, id: usize, name: Symbol) -> Option<(usize, Option<NodeId>)> {
        let slots = self.upgrades[id].as_ref()?.slots.iter().enumerate();
        let mut works = slots.filter_map(|(slot, place)| Some((slot, place.work.as_ref()?)));
        works.find_map(|(slot, work)| match work.stage {
            Stage::Surging if work.new == name => Some((slot, Some(work.old))),
            Stage::Returning if work.new == name => Some((slot, None)),
            _ => None,
        })
    }

    /// A node has become Ready.
    fn ready(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        for id in 0..self.upgrades.len() {
            match self.waiting_for(id, name) {
                Some((slot, Some(old))) => self.drain(id, slot, old, name, ctx),
                Some((slot, None)) => self.replaced(id, slot, ctx),
                None => continue,
            }
            self.end_if_done(id, ctx);
        }
    }

    /// A machine that an upgrade waits for is gone: there has to be another one.
    fn lost(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let name = ctx.store.node_name(node);
        for id in 0..self.upgrades.len() {
            match self.waiting_for(id, name) {
                Some((slot, Some(old))) => self.surge(id, slot, old, ctx),
                Some((slot, None)) => {
                    self.enter(id, slot, Stage::Recreating);
                    ctx.arm_in(RECREATION, UpgradeTimer::Resume(id, slot));
                }
                None => {}
            }
        }
    }

    fn end_if_done(&mut self, id: usize, ctx: &mut Ctx<'_, Self>) {
        let Some(upgrade) = &self.upgrades[id] else { return };
        if upgrade.slots.iter().any(|slot| slot.work.is_some()) {
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
            (EventType::Warning, reason::ROLLING_UPGRADE_FAILED)
        } else {
            (EventType::Normal, reason::ROLLING_UPGRADE_ENDED)
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
    const PROGRAM: Program = Program::Other;
    const CONTROLLERS: &'static [&'static str] = &[];
    const TYPES: bool = true;

    fn has_work(&self) -> bool {
        !self.plan.upgrades.is_empty()
    }

    fn disturbs(timer: &UpgradeTimer) -> bool {
        matches!(timer, UpgradeTimer::Begin(_))
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_pool_surges_unless_something_is_said() {
        let check = |yaml: &str, size: usize, expected: (usize, usize)| {
            let spec: RollingUpgradeSpec = serde_saphyr::from_str(yaml).expect("an upgrade");
            assert_eq!(spec.at_a_time(size), expected, "{yaml} of {size}");
        };
        check("{pool: w}", 5, (1, 0));
        check("{pool: w}", 11, (2, 0));
        check("{pool: w, maxSurge: 33%}", 5, (2, 0));
        check("{pool: w, maxUnavailable: 1}", 50, (0, 1));
        check("{pool: w, maxUnavailable: 25%}", 5, (0, 2));
        check("{pool: w, maxSurge: 2, maxUnavailable: 1}", 5, (2, 1));
    }
}
