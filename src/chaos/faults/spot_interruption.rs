//! A spot instance is reclaimed: a warning, time to leave, and the machine is gone for good.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::super::fault::{Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::parameters::Length;
use super::super::{Chaos, FaultKind, Timer};
use crate::component::{Ctx, EventDraft, Message, ObjectRef, Record, TypedCommand};
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
    const COURSE: Course = Course::UntilReplaced;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = Reclaims;

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, reclaims: &mut Reclaims, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            if !reclaims.warned.contains_key(&node) {
                self.warn(node, reclaims, ctx);
            }
        }
    }

    /// The cloud has another machine.
    fn end(&self, nodes: &[NodeId], reclaims: &mut Reclaims, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in nodes {
            match reclaims.warned.get_mut(&node) {
                Some(reclaim) => reclaim.is_replaced = true,
                None if !ctx.store.machine(node).exists => reclaims.replace(node, losses, ctx),
                None => {}
            }
        }
    }

    fn machine_changed(change: &MachineChange, reclaims: &mut Reclaims, _ctx: &mut Ctx<'_, Chaos>) {
        if let MachineChange::InstanceGone(node) = change {
            reclaims.warned.remove(node);
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
