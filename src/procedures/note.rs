//! How procedures write down what they do.

use std::sync::Arc;

use crate::arena::Symbol;
use crate::component::{Component, Ctx, EventDraft, EventType, InvolvedKind, ObjectRef, Record};
use crate::state::NodeId;

/// Notes something about a node.
pub(super) fn about_node<C: Component>(
    ctx: &mut Ctx<'_, C>,
    event_type: EventType,
    reason: &'static str,
    node: NodeId,
    message: String,
) {
    let about = ObjectRef::node(ctx.store.node_name(node));
    let event = EventDraft { event_type, ..EventDraft::normal(reason, about, message) }.on(node);
    ctx.record(Record::Event { component: C::NAME, event });
}

/// Notes something about a pool of nodes; `component` is `scenario` for what the timeline says.
pub(super) fn about_pool<C: Component>(
    ctx: &mut Ctx<'_, C>,
    component: &'static str,
    event_type: EventType,
    reason: &'static str,
    pool: Symbol,
    message: String,
) {
    let about = ObjectRef::named(InvolvedKind::NodePool, Symbol::empty(), pool.as_str());
    let event = EventDraft { event_type, ..EventDraft::normal(reason, about, message) };
    ctx.record(Record::Event { component, event });
}

/// Notes something about the whole cluster, as the autoscaler does on its status map.
pub(super) fn about_cluster<C: Component>(
    ctx: &mut Ctx<'_, C>,
    event_type: EventType,
    reason: &'static str,
    message: String,
) {
    let name = Arc::from("cluster-autoscaler-status");
    let about = ObjectRef::named(InvolvedKind::ConfigMap, Symbol::new("kube-system"), name);
    let event = EventDraft { event_type, ..EventDraft::normal(reason, about, message) };
    ctx.record(Record::Event { component: C::NAME, event });
}
