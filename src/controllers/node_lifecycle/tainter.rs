//! The loop that gives queued nodes their NoExecute taint, as fast as each zone's limiter lets it.
//!
//! The real loop runs every 100 ms; here only the tick is played at which some zone with waiting nodes has a token.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::queue::TICK;
use super::taints::{ChainEnd, Edit, Owner};
use super::zones::ZoneKey;
use super::{NodeLifecycle, Timer};
use crate::component::Ctx;
use crate::engine::Ticket;
use crate::model::TaintEffect;
use crate::state::{NodeId, Status};
use crate::units::{SimDuration, SimTime};

/// A queued node without a Ready condition is looked at again after this time, and costs another token.
const NO_CONDITION_RETRY: SimDuration = SimDuration::from_millis(50);

/// Where the tainting loop stands.
#[derive(Clone, Debug)]
pub(super) struct Tainter {
    /// A tick; all others lie whole periods from it.
    anchor: SimTime,
    armed: Option<(Ticket, SimTime)>,
    /// Zones still to be gone through at the present tick; the first one is being worked on.
    run: Option<VecDeque<ZoneKey>>,
}

impl Tainter {
    /// A loop with a tick at `anchor`.
    pub(super) fn new(anchor: SimTime) -> Self {
        Self { anchor, armed: None, run: None }
    }

    /// The first tick at or after `at`.
    fn tick_at_or_after(&self, at: SimTime) -> SimTime {
        self.anchor + TICK * at.saturating_since(self.anchor).as_nanos().div_ceil(TICK.as_nanos())
    }
}

impl NodeLifecycle {
    /// Arms the next tick at which a node can be tainted.
    pub(super) fn arm_tick(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.tainter.run.is_some() {
            return;
        }
        let zones = self.zones.iter_mut().filter(|(_, zone)| !zone.queue.is_empty());
        let soonest = zones.filter_map(|(_, zone)| zone.queue.available_at()).min();
        let at = soonest.map(|at| self.tainter.tick_at_or_after(at.max(ctx.now + SimDuration::from_nanos(1))));
        if self.tainter.armed.map(|(_, at)| at) == at {
            return;
        }
        if let Some((ticket, _)) = self.tainter.armed.take() {
            ctx.cancel(ticket);
        }
        self.tainter.armed = at.map(|at| (ctx.arm(at, Timer::Tick), at));
    }

    /// A tick.
    pub(super) fn tick(&mut self, ctx: &mut Ctx<'_, Self>) {
        self.tainter.armed = None;
        let mut zones: Vec<ZoneKey> = self.zones.keys().collect();
        if zones.len() > 1 {
            // The real order is that of a hash map.
            ctx.streams.at("node-tainter-zones", "", ctx.now.as_nanos() as u64).shuffle(&mut zones);
        }
        self.tainter.run = Some(zones.into());
        self.go_through_zones(ctx);
    }

    fn go_through_zones(&mut self, ctx: &mut Ctx<'_, Self>) {
        while let Some(zone) = self.tainter.run.as_ref().and_then(|run| run.front().copied()) {
            if self.taint_head(zone, ctx) {
                return;
            }
            if let Some(run) = &mut self.tainter.run {
                run.pop_front();
            }
        }
        self.tainter.run = None;
        self.arm_tick(ctx);
    }

    /// Goes on with a zone's queue; true if a node is being tainted.
    fn taint_head(&mut self, key: ZoneKey, ctx: &mut Ctx<'_, Self>) -> bool {
        loop {
            let Some((node, due)) = self.head(key, ctx) else { return false };
            let Some(zone) = self.zones.get_mut(key) else { return false };
            // The token is taken before the node is looked at, and lost if it is not due.
            if !zone.queue.try_accept(ctx.now) || ctx.now < due {
                return false;
            }
            let Some(object) = ctx.store.node(node) else {
                zone.queue.done(node);
                continue;
            };
            // The informer's copy is looked at: it may be older than the controller's own write.
            let Some(ready) = self.unseen.get(&node).copied().or(object.conditions.ready()) else {
                zone.queue.postpone(node, ctx.now, NO_CONDITION_RETRY);
                continue;
            };
            let Some((wanted, opposite)) = self.keys.no_execute(ready) else {
                zone.queue.done(node);
                continue;
            };
            let mut edits: SmallVec<[Edit; 2]> = SmallVec::from_iter([Edit::add_no_execute(wanted)]);
            if object.taint(opposite, TaintEffect::NoExecute).is_some() {
                edits.push(Edit::remove_no_execute(opposite));
            }
            ctx.cause = self.cause_of(node, ctx);
            self.edit(Owner::Tainter, node, edits, ctx);
            return true;
        }
    }

    /// A node's taint was written, or not.
    pub(super) fn tainted(&mut self, node: NodeId, end: ChainEnd, ctx: &mut Ctx<'_, Self>) {
        let zone = self.tainter.run.as_ref().and_then(|run| run.front().copied());
        if let Some(zone) = zone.and_then(|key| self.zones.get_mut(key)) {
            match end {
                ChainEnd::Done => zone.queue.done(node),
                ChainEnd::Failed => zone.queue.postpone(node, ctx.now, SimDuration::ZERO),
            }
        }
        self.tainter.anchor = ctx.now + TICK;
        self.go_through_zones(ctx);
    }

    /// The node whose turn it is, and when it is due.
    ///
    /// # Source
    /// Every pass queues all waiting nodes of a zone anew, so that among them its order counts, not who failed first; one that has moved to
    /// another zone stays where it was. Passes that do nothing else are not played; their order is drawn here.
    fn head(&mut self, key: ZoneKey, ctx: &Ctx<'_, Self>) -> Option<(NodeId, SimTime)> {
        let (pass_index, pass_at) = self.clock.latest(ctx.now);
        let queue = &self.zones.get_mut(key)?.queue;
        let turns = queue.waiting().map(|(node, due)| {
            let object = ctx.store.node(node).filter(|object| ZoneKey::of(&object.labels) == key);
            let ready = object.and_then(|object| object.conditions.ready());
            let is_queued_anew = ready.is_some_and(|ready| ready != Status::True);
            let due = if is_queued_anew && due < pass_at { pass_at } else { due };
            (due, Self::order_key(node, pass_index, ctx), node)
        });
        turns.min().map(|(due, _, node)| (node, due))
    }
}
