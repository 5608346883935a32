//! A spot instance is reclaimed: a warning, time to leave, and the machine is gone for good.

use std::sync::Arc;

use super::super::spec::FaultSpec;
use super::super::{Chaos, Timer};
use super::Damage;
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

/// An instance that has been warned.
#[derive(Copy, Clone, Debug)]
pub(super) struct Reclaim {
    at: SimTime,
    /// The cloud has another machine for the pool by then.
    is_replaced: bool,
}

/// The warning comes; the handler on the node, if there is one, drains it.
///
/// # Source
/// aws-node-termination-handler: cordon and drain with what pods have as grace, all within the warning time. The instance stops
/// then, whatever has become of the drain.
pub(super) fn begin(fault: &FaultSpec, node: NodeId, damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    if !ctx.store.machine(node).exists || damage.reclaims.contains_key(&node) {
        return;
    }
    let notice = fault.notice.unwrap_or(NOTICE);
    let name = ctx.store.node_name(node);
    let message = format!("the instance is reclaimed in {notice}");
    let event = EventDraft::warning("SpotInterruption", ObjectRef::node(name), message).on(node);
    ctx.record(Record::Event { component: HANDLER, event });
    if fault.drain.unwrap_or(true) && notice > SimDuration::ZERO {
        let line = format!("drain {name} --ignore-daemonsets --delete-emptydir-data --force --timeout={notice}");
        let typed = TypedCommand { by: HANDLER, ticket: node.index() as u64, line: line.into() };
        ctx.notify(Message::Typed(typed));
    }
    damage.reclaims.insert(node, Reclaim { at: ctx.now + notice, is_replaced: false });
    ctx.arm_in(notice, Timer::Reclaimed(node));
}

/// The cloud has another machine.
pub(super) fn end(node: NodeId, damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    match damage.reclaims.get_mut(&node) {
        Some(reclaim) => reclaim.is_replaced = true,
        None if !ctx.store.machine(node).exists => replace(node, damage, ctx),
        None => {}
    }
}

/// The warning time is over.
pub(in crate::chaos) fn reclaimed(node: NodeId, damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    let Some(reclaim) = damage.reclaims.get(&node).copied().filter(|reclaim| reclaim.at == ctx.now) else { return };
    damage.reclaims.remove(&node);
    ctx.change_machine(MachineChange::InstanceGone(node));
    if reclaim.is_replaced {
        replace(node, damage, ctx);
    }
}

/// A new machine joins the node's pool, in its zone.
fn replace(node: NodeId, damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    let plan = Arc::clone(&damage.plan);
    let old = ctx.store.node_name(node);
    let Some(pool) = plan.pools.iter().position(|pool| pool.number_of(old).is_some()) else { return };
    // Machines of this instant have no place in the store yet.
    let given = damage.next_numbers.entry(pool).or_insert(0);
    let number = plan.pools[pool].number_in_place_of(old, plan.pools[pool].next_number(ctx.store).max(*given));
    *given = number + 1;
    let name = plan.pools[pool].node_name(number);
    ctx.change_machine(MachineChange::InstanceCreated { name, pool: pool as u32 });
}
