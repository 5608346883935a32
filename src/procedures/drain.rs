//! How procedures empty a node: by a kubectl line that they type.

use crate::component::{Component, Ctx, Message, TypedCommand};
use crate::state::NodeId;
use crate::units::SimDuration;

/// Pause after a call or a drain that failed for another reason than time.
pub(super) const RETRY: SimDuration = SimDuration::from_secs(10);

/// From the end of a machine to its successor under the same name.
pub(super) const RECREATION: SimDuration = SimDuration::from_secs(1);

/// How long a drain of a node that nobody hears waits before it looks again which pods have had their time.
const LOST_LOOK: SimDuration = SimDuration::from_secs(20);

/// Types the drain of a node, as the drain libraries of procedures do it; without a timeout it waits for ever.
pub(super) fn type_drain<C: Component>(node: NodeId, timeout: Option<SimDuration>, ticket: u64, ctx: &mut Ctx<'_, C>) {
    type_line(node, timeout.map(|timeout| format!("--timeout={timeout}")).unwrap_or_default(), ticket, ctx);
}

/// The same of a node that is not heard of: pods whose grace is over are not waited for, as nobody would say that they are gone.
///
/// # Source
/// Cluster API, drain of unreachable nodes: a skip-wait of one second, and another try every twenty.
pub(super) fn type_drain_of_lost<C: Component>(node: NodeId, left: SimDuration, ticket: u64, ctx: &mut Ctx<'_, C>) {
    let flags = format!("--skip-wait-for-delete-timeout=1 --timeout={}", left.min(LOST_LOOK));
    type_line(node, flags, ticket, ctx);
}

fn type_line<C: Component>(node: NodeId, flags: String, ticket: u64, ctx: &mut Ctx<'_, C>) {
    let name = ctx.store.node_name(node);
    let line = format!("drain {name} --ignore-daemonsets --delete-emptydir-data --force {flags}");
    ctx.notify(Message::Typed(TypedCommand { by: C::NAME, ticket, line: line.trim_end().into() }));
}
