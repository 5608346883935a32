//! A spot instance is reclaimed: a warning, time to leave, and the machine is gone for good.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::causes::Causes;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::parameters::Length;
use super::super::{Chaos, FaultKind, Timer};
use crate::component::{Ctx, EventDraft, Message, ObjectRef, Record, Stops, TypedCommand};
use crate::state::{MachineChange, NodeId};
use crate::units::{SimDuration, SimTime};

/// The warning time if none is said.
///
/// # Source
/// AWS: two minutes; GCP and Azure: thirty seconds.
const NOTICE: SimDuration = SimDuration::from_secs(120);

/// Who hears the warning on the node.
const HANDLER: &str = "node-termination-handler";

parameters! {
    /// A spot instance is reclaimed after a warning, during which its node is drained.
    pub struct SpotInterruption {
        /// from the warning to the end of the instance; 2m if not said
        "notice" notice: Option<Length>;
        /// whether the node is drained when the warning comes; it is, if not said
        "drain" drain: Option<bool>;
    }
}

/// An instance that has been warned.
#[derive(Copy, Clone, Debug)]
struct Reclaim {
    at: SimTime,
    /// The cloud has another machine for the pool by then.
    is_replaced: bool,
}

/// Instances that have been warned, and those that take their places.
#[derive(Clone, Debug, Default)]
pub(in crate::chaos) struct Reclaims {
    warned: FxHashMap<NodeId, Reclaim>,
    /// Faults for whose sake a machine is taken away and another comes in its place, one for all of them together.
    unreplaced: Causes,
    /// By pool: numbers from here on have not been given.
    next_numbers: FxHashMap<usize, u64>,
}

impl SpotInterruption {
    /// The warning comes; the handler on the node, if there is one, drains it.
    ///
    /// # Source
    /// aws-node-termination-handler: cordon and drain with what pods have as grace, all within the warning time. The instance stops
    /// then, whatever has become of the drain.
    fn warn(&self, node: NodeId, reclaims: &mut Reclaims, ctx: &mut Ctx<'_, Chaos>) {
        let notice = self.notice.map_or(NOTICE, |notice| notice.0);
        let name = ctx.store.node_name(node);
        let message = format!("the instance is reclaimed in {notice}");
        let event = EventDraft::warning("SpotInterruption", ObjectRef::node(name), message).on(node);
        ctx.record(Record::Event { component: HANDLER, event });
        if self.drain.unwrap_or(true) && notice > SimDuration::ZERO {
            let line = format!("drain {name} --ignore-daemonsets --delete-emptydir-data --force --timeout={notice}");
            let typed = TypedCommand { by: HANDLER, ticket: node.index() as u64, line: line.into() };
            ctx.notify(Message::Typed(typed));
        }
        reclaims.warned.insert(node, Reclaim { at: ctx.now + notice, is_replaced: false });
        ctx.arm_in(notice, Timer::Due(FaultKind::SpotInterruption, node));
    }
}

impl Reclaims {
    /// A new machine joins the node's pool, in its zone.
    fn replace(&mut self, node: NodeId, losses: &Losses, ctx: &mut Ctx<'_, Chaos>) {
        let plan = Arc::clone(losses.plan());
        let old = ctx.store.node_name(node);
        let Some(pool) = plan.pools.iter().position(|pool| pool.number_of(old).is_some()) else { return };
        // Machines of this instant have no place in the store yet.
        let given = self.next_numbers.entry(pool).or_insert(0);
        let number = plan.pools[pool].number_in_place_of(old, plan.pools[pool].next_number(ctx.store).max(*given));
        *given = number + 1;
        let name = plan.pools[pool].node_name(number);
        ctx.change_machine(MachineChange::InstanceCreated { name, pool: pool as u32 });
    }
}

impl Fault for SpotInterruption {
    const NAME: &'static str = "SpotInterruption";
    const ABOUT: &'static str = "a warning, then the machine is off for good. After `for:` (`timeToRepair:` of a random process) a new \
                                 machine of the pool, in the same zone, takes its place; without it, none";
    const EFFECT: &'static str = "went back to the cloud for good";
    const STOPS: Stops = Stops::Machine;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::UntilReplaced;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = Reclaims;

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, reclaims: &mut Reclaims, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            reclaims.unreplaced.add(node, hit.fault, ());
            if !reclaims.warned.contains_key(&node) {
                self.warn(node, reclaims, ctx);
            }
        }
    }

    /// The cloud has another machine.
    fn end(&self, fault: &Begun, reclaims: &mut Reclaims, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            if reclaims.unreplaced.remove(node, fault.fault).is_none() {
                continue;
            }
            reclaims.unreplaced.forget(|other| other == node);
            match reclaims.warned.get_mut(&node) {
                Some(reclaim) => reclaim.is_replaced = true,
                None => reclaims.replace(node, losses, ctx),
            }
        }
    }

    fn machine_changed(change: &MachineChange, reclaims: &mut Reclaims, ctx: &mut Ctx<'_, Chaos>) {
        match change {
            MachineChange::InstanceGone(node) => {
                reclaims.warned.remove(node);
            }
            // Somebody has replaced it under its name.
            MachineChange::InstanceCreated { name, .. } => {
                reclaims.unreplaced.forget(|other| ctx.store.node_name(other) == *name);
            }
            _ => {}
        }
    }

    /// The warning time is over.
    fn due(node: NodeId, reclaims: &mut Reclaims, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        let warned = reclaims.warned.get(&node).copied();
        let Some(reclaim) = warned.filter(|reclaim| reclaim.at == ctx.now) else { return };
        reclaims.warned.remove(&node);
        ctx.change_machine(MachineChange::InstanceGone(node));
        if reclaim.is_replaced {
            reclaims.replace(node, losses, ctx);
        }
    }

    fn due_in_words(node: &str) -> String {
        format!("the cloud takes the machine of {node} back")
    }
}
