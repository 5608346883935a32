//! Writing taints and labels of nodes: reads and patches in a row, each waiting for the answer of the one before.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::{NodeLifecycle, Tag, Waiting};
use crate::arena::{Id, Symbol};
use crate::component::{Answer, Ctx, Request};
use crate::model::{Labels, TaintEffect};
use crate::state::{Node, NodeConditionKind, NodeId, Status, TaintOnNode};
use crate::units::SimTime;

/// Keys of the taints and labels that the controller owns, interned once.
#[derive(Copy, Clone, Debug)]
pub(super) struct Keys {
    pub(super) not_ready: Symbol,
    pub(super) unreachable: Symbol,
    memory_pressure: Symbol,
    disk_pressure: Symbol,
    pid_pressure: Symbol,
    network_unavailable: Symbol,
    unschedulable: Symbol,
    labels: [(Symbol, Symbol); 2],
}

type KeyList = SmallVec<[Symbol; 2]>;

impl Keys {
    pub(super) fn new() -> Self {
        let key = |name: &str| Symbol::new(&format!("node.kubernetes.io/{name}"));
        let label = |name: &str| {
            (Symbol::new(&format!("kubernetes.io/{name}")), Symbol::new(&format!("beta.kubernetes.io/{name}")))
        };
        Self {
            not_ready: key("not-ready"),
            unreachable: key("unreachable"),
            memory_pressure: key("memory-pressure"),
            disk_pressure: key("disk-pressure"),
            pid_pressure: key("pid-pressure"),
            network_unavailable: key("network-unavailable"),
            unschedulable: key("unschedulable"),
            labels: [label("os"), label("arch")],
        }
    }

    /// The NoExecute taint of a node whose Ready condition has this status, and its opposite.
    pub(super) fn no_execute(&self, ready: Status) -> Option<(Symbol, Symbol)> {
        match ready {
            Status::True => None,
            Status::False => Some((self.not_ready, self.unreachable)),
            Status::Unknown => Some((self.unreachable, self.not_ready)),
        }
    }

    /// Whether the node carries a NoExecute taint of this controller.
    pub(super) fn has_no_execute(&self, node: &Node) -> bool {
        [self.not_ready, self.unreachable].iter().any(|key| node.taint(*key, TaintEffect::NoExecute).is_some())
    }

    /// NoSchedule taints to be added and removed.
    ///
    /// # Source
    /// Node lifecycle controller, taints by condition: taints with other keys or effects are not touched.
    pub(super) fn no_schedule_difference(&self, node: &Node) -> (KeyList, KeyList) {
        let mut wanted = KeyList::new();
        let holds = |kind| node.conditions.is_true(kind);
        match node.conditions.ready() {
            Some(Status::False) => wanted.push(self.not_ready),
            Some(Status::Unknown) => wanted.push(self.unreachable),
            Some(Status::True) | None => {}
        }
        let pressures = [
            (NodeConditionKind::MemoryPressure, self.memory_pressure),
            (NodeConditionKind::DiskPressure, self.disk_pressure),
            (NodeConditionKind::PidPressure, self.pid_pressure),
            (NodeConditionKind::NetworkUnavailable, self.network_unavailable),
        ];
        wanted.extend(pressures.iter().filter(|(kind, _)| holds(*kind)).map(|(_, key)| *key));
        if node.unschedulable {
            wanted.push(self.unschedulable);
        }
        let owned = [
            self.not_ready,
            self.unreachable,
            self.memory_pressure,
            self.disk_pressure,
            self.pid_pressure,
            self.network_unavailable,
            self.unschedulable,
        ];
        let has = |key: Symbol| node.taint(key, TaintEffect::NoSchedule).is_some();
        let remove = owned.iter().copied().filter(|key| !wanted.contains(key) && has(*key)).collect();
        wanted.retain(|key| !has(*key));
        (wanted, remove)
    }

    /// The labels with the beta twins of operating system and architecture made equal; none if they are.
    pub(super) fn reconciled_labels(&self, labels: &Labels) -> Option<Labels> {
        let mut changed = None;
        for (stable, beta) in self.labels {
            if let Some(value) = labels.get(stable)
                && labels.get(beta) != Some(value)
            {
                let so_far = changed.unwrap_or_else(|| labels.clone());
                changed = Some(so_far.with(beta, value));
            }
        }
        changed
    }
}

/// One read and, if there is something to change, one patch.
#[derive(Clone, Debug)]
pub(super) enum Edit {
    /// Adds taints, or refreshes their time.
    Add(KeyList, TaintEffect),
    /// Removes taints that are still there.
    Remove(KeyList, TaintEffect),
    /// Makes the beta labels follow the stable ones.
    Labels,
}

impl Edit {
    pub(super) fn add_no_execute(key: Symbol) -> Self {
        Self::Add(SmallVec::from_slice(&[key]), TaintEffect::NoExecute)
    }

    pub(super) fn remove_no_execute(key: Symbol) -> Self {
        Self::Remove(SmallVec::from_slice(&[key]), TaintEffect::NoExecute)
    }
}

/// Who waits for a chain of edits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The pass, before it looks at nodes: taints of new nodes are stripped.
    Strip,
    /// The pass, at this node.
    Visit,
    /// The pass, after it looked at nodes: all nodes are down.
    Cleanup,
    /// The loop that taints queued nodes.
    Tainter,
    /// A node-update worker at the NoSchedule taints.
    WorkerTaints,
    /// A node-update worker at the labels.
    WorkerLabels,
}

/// Edits of one node in a row.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) owner: Owner,
    pub(super) node: NodeId,
    edits: VecDeque<Edit>,
    has_read: bool,
}

/// Whether all edits of a chain went through.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum ChainEnd {
    Done,
    Failed,
}

impl NodeLifecycle {
    /// Starts a chain of at least one edit.
    pub(super) fn edit(
        &mut self,
        owner: Owner,
        node: NodeId,
        edits: impl IntoIterator<Item = Edit>,
        ctx: &mut Ctx<'_, Self>,
    ) {
        let chain = Chain { owner, node, edits: edits.into_iter().collect(), has_read: false };
        assert!(!chain.edits.is_empty(), "a chain of edits has something to do");
        let id = self.chains.insert(chain);
        ctx.call(Request::Get, Tag(Waiting::Chain(id)));
    }

    /// A read or patch of a chain was answered.
    pub(super) fn chain_answered(&mut self, id: Id<Chain>, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        let Some(chain) = self.chains.get_mut(id) else { return };
        let node = chain.node;
        let Some(object) = ctx.store.node(node).filter(|_| answer.is_ok()) else {
            self.end_chain(id, ChainEnd::Failed, ctx);
            return;
        };
        if !chain.has_read {
            let request = chain.edits.front().and_then(|edit| patch(edit, node, object, &self.keys, ctx.now));
            if let Some(request) = request {
                chain.has_read = true;
                ctx.call(request, Tag(Waiting::Chain(id)));
                return;
            }
        }
        chain.edits.pop_front();
        chain.has_read = false;
        if chain.edits.is_empty() {
            self.end_chain(id, ChainEnd::Done, ctx);
        } else {
            ctx.call(Request::Get, Tag(Waiting::Chain(id)));
        }
    }

    fn end_chain(&mut self, id: Id<Chain>, end: ChainEnd, ctx: &mut Ctx<'_, Self>) {
        if let Some(chain) = self.chains.remove(id) {
            self.chain_ended(chain.owner, chain.node, end, ctx);
        }
    }

    fn chain_ended(&mut self, owner: Owner, node: NodeId, end: ChainEnd, ctx: &mut Ctx<'_, Self>) {
        match owner {
            Owner::Strip => self.stripped(node, end, ctx),
            Owner::Visit => self.visit_tainted(node, end, ctx),
            Owner::Cleanup => self.cleaned(node, end, ctx),
            Owner::Tainter => self.tainted(node, end, ctx),
            Owner::WorkerTaints => self.worker_tainted(node, ctx),
            Owner::WorkerLabels => self.worker_done(node, ctx),
        }
    }

    // ---- node-update workers ------------------------------------------------------------------------------------------

    /// Gives nodes whose events came in to free workers.
    ///
    /// # Source
    /// Node lifecycle controller, node-update workers. A failure is not retried: the next event of the node is.
    pub(super) fn work(&mut self, ctx: &mut Ctx<'_, Self>) {
        if !self.is_synced {
            return;
        }
        let outer = ctx.cause;
        while let Some((node, cause)) = self.updates.take() {
            ctx.cause = cause;
            let (add, remove) = match ctx.store.node(node) {
                Some(object) => self.keys.no_schedule_difference(object),
                None => Default::default(),
            };
            let add = (!add.is_empty()).then_some(Edit::Add(add, TaintEffect::NoSchedule));
            let remove = (!remove.is_empty()).then_some(Edit::Remove(remove, TaintEffect::NoSchedule));
            if add.is_some() || remove.is_some() {
                self.edit(Owner::WorkerTaints, node, add.into_iter().chain(remove), ctx);
            } else if !self.begin_labels(node, ctx) {
                self.updates.done(node);
            }
        }
        ctx.cause = outer;
    }

    /// Whether there are labels to be reconciled; if so, it is under way.
    fn begin_labels(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) -> bool {
        let stale = ctx.store.node(node).is_some_and(|object| self.keys.reconciled_labels(&object.labels).is_some());
        if stale {
            self.edit(Owner::WorkerLabels, node, [Edit::Labels], ctx);
        }
        stale
    }

    fn worker_tainted(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if !self.begin_labels(node, ctx) {
            self.worker_done(node, ctx);
        }
    }

    fn worker_done(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.updates.done(node);
        self.work(ctx);
    }
}

/// The patches that give nodes the NoSchedule taints of their conditions; none for those that have them.
///
/// # Source
/// Node lifecycle controller, taints by condition.
#[must_use]
pub fn condition_taints<'a>(nodes: impl Iterator<Item = (NodeId, &'a Node)>, now: SimTime) -> Vec<Request> {
    let (keys, effect) = (Keys::new(), TaintEffect::NoSchedule);
    let taint = |key| TaintOnNode { key, value: Symbol::empty(), effect, added_at: Some(now) };
    let differences = nodes.map(|(node, object)| (node, keys.no_schedule_difference(object)));
    let patch = |(node, (add, remove)): (NodeId, (SmallVec<_>, SmallVec<_>))| {
        (!add.is_empty() || !remove.is_empty()).then(|| Request::PatchNodeTaints {
            node,
            add: add.into_iter().map(taint).collect(),
            remove: remove.into_iter().map(|key| (key, effect)).collect(),
        })
    };
    differences.filter_map(patch).collect()
}

/// The patch that an edit comes to, given the node as it was read; none if nothing is to be changed.
fn patch(edit: &Edit, node: NodeId, object: &Node, keys: &Keys, now: SimTime) -> Option<Request> {
    match edit {
        Edit::Add(list, effect) => {
            let taint =
                |key: &Symbol| TaintOnNode { key: *key, value: Symbol::empty(), effect: *effect, added_at: Some(now) };
            let add = list.iter().map(taint).collect();
            Some(Request::PatchNodeTaints { node, add, remove: SmallVec::new() })
        }
        Edit::Remove(list, effect) => {
            let present = list.iter().filter(|key| object.taint(**key, *effect).is_some());
            let remove: SmallVec<[(Symbol, TaintEffect); 2]> = present.map(|key| (*key, *effect)).collect();
            (!remove.is_empty()).then(|| Request::PatchNodeTaints { node, add: SmallVec::new(), remove })
        }
        Edit::Labels => keys.reconciled_labels(&object.labels).map(|labels| Request::SetNodeLabels { node, labels }),
    }
}
