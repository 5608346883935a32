//! Which kubelets reach the API server, and what speaks for a node.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Kubelets;
use super::process::Process;
use crate::component::{Component, Ctx, EventDraft, Record};
use crate::state::NodeId;
use crate::units::SimTime;

/// What kept a kubelet from the API server.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Away {
    /// Its link was down.
    Link,
    /// Nobody answered it.
    ApiServer,
}

/// The ways between kubelets and the API server.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    /// The API server does not answer.
    pub(super) is_api_down: bool,
    /// Kubelet processes of which there is something to say.
    pub(super) processes: FxHashMap<NodeId, Process>,
    /// Nodes whose requests arrive late.
    pub(super) delayed: FxHashSet<NodeId>,
    /// No node of the input has a kubelet of Kubernetes' own; neither will new ones.
    pub(super) are_all_stand_ins: bool,
}

impl Links {
    /// Whether requests of the node's kubelet reach the API server.
    pub(super) fn reach(&self, node: NodeId, ctx: &Ctx<'_, Kubelets>) -> bool {
        ctx.store.machine(node).talks() && !self.is_api_down
    }

    /// Whether the node's kubelet reaches the API server and has caught up with it.
    pub(super) fn are_up(&self, node: NodeId, ctx: &Ctx<'_, Kubelets>) -> bool {
        self.reach(node, ctx) && self.process(node).is_none_or(|process| process.awaited.is_none())
    }

    /// Whether the node's kubelet learns of changes of its pods.
    pub(super) fn show_pods(&self, node: NodeId, ctx: &Ctx<'_, Kubelets>) -> bool {
        self.are_up(node, ctx) && self.know_pods(node)
    }

    /// Whether the kubelet's process has found in its list what was written at an instant: the watch shows it nothing new.
    pub(super) fn has_listed(&self, node: NodeId, at: SimTime) -> bool {
        self.process(node).and_then(|process| process.opened_at).is_some_and(|opened_at| at <= opened_at)
    }

    /// Whether something simpler than Kubernetes' kubelet speaks for the node. New machines are like the others.
    pub(super) fn is_stand_in(&self, node: NodeId, ctx: &Ctx<'_, Kubelets>) -> bool {
        self.are_all_stand_ins || ctx.store.machine(node).has_stand_in_kubelet
    }

    /// Notes an Event of the node's kubelet; each kubelet has a sender of its own, so that none waits for another. What stands
    /// in for a kubelet posts none.
    pub(super) fn event(&self, node: NodeId, event: EventDraft, ctx: &mut Ctx<'_, Kubelets>) {
        let is_posted = self.reach(node, ctx) && !self.is_stand_in(node, ctx);
        if is_posted && !ctx.store.is_terminating(event.about.namespace) {
            ctx.record(Record::Event { component: Kubelets::NAME, event: event.on(node) });
        }
    }
}
