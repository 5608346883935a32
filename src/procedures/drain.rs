//! How procedures empty a node: by a kubectl line that they type.

use crate::component::{Component, Ctx, Message, TypedCommand};
use crate::state::NodeId;
use crate::units::SimDuration;

/// Pause after a call or a drain that failed for another reason than time.
pub(super) const RETRY: SimDuration = SimDuration::from_secs(10);

/// From the end of a machine to its successor under the same name.
pub(super) const RECREATION: SimDuration = SimDuration::from_secs(1);

/// Types the drain of a node, as the drain libraries of procedures do it; without a timeout it waits for ever.
pub(super) fn type_drain<C: Component>(node: NodeId, timeout: Option<SimDuration>, ticket: u64, ctx: &mut Ctx<'_, C>) {
    let name = ctx.store.node_name(node);
    let timeout = timeout.map(|timeout| format!(" --timeout={timeout}")).unwrap_or_default();
    let line = format!("drain {name} --ignore-daemonsets --delete-emptydir-data --force{timeout}");
    ctx.send(Message::Typed(TypedCommand { by: C::NAME, ticket, line: line.into() }));
}
