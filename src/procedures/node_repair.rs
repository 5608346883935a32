//! Node auto-repair: machines that have been unhealthy for long are replaced.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::drain::{RECREATION, RETRY, type_drain, type_drain_of_lost};
use super::{ProcedurePlan, note};
use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, ErrorReason, EventType, Message, Program, Request, Start, node_name,
};
use crate::state::{Change, Changed, MachineChange, NodeConditionKind, NodeDelta, NodeId, Status, Store};
use crate::units::{IntOrPercent, Rounding, SimDuration, SimTime, named, with_days};

/// Machines that stay unhealthy are replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeRepairSpec {
    /// Of which pools; all, if not said.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "named")]
    pub pools: Vec<Symbol>,
    /// For how long a node must have been not Ready.
    #[serde(with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub unhealthy_for: SimDuration,
    /// How many are repaired at a time; a percentage of the nodes rounds down, but not to none.
    pub max_concurrent: IntOrPercent,
    /// While more than so many are unhealthy none is begun; a percentage of the nodes rounds down.
    pub max_unhealthy: IntOrPercent,
    /// How long the pods of a node are given to leave.
    #[serde(with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub drain_timeout: SimDuration,
}

impl Default for NodeRepairSpec {
    /// # Source
    /// GKE: ten minutes, an hour for the drain; AKS: one node at a time; Cluster API: whatever the share of unhealthy nodes.
    fn default() -> Self {
        Self {
            pools: Vec::new(),
            unhealthy_for: SimDuration::from_secs(600),
            max_concurrent: IntOrPercent::Int(1),
            max_unhealthy: IntOrPercent::Percent(100),
            drain_timeout: SimDuration::from_secs(3600),
        }
    }
}

impl NodeRepairSpec {
    /// How many of so many nodes are repaired at a time, and up to how many may be unhealthy.
    #[must_use]
    pub fn limits(&self, nodes: usize) -> (usize, usize) {
        let nodes = i32::try_from(nodes).unwrap_or(i32::MAX);
        let count = |limit: IntOrPercent| limit.resolve(nodes, Rounding::Down).max(0).unsigned_abs() as usize;
        (count(self.max_concurrent).max(1), count(self.max_unhealthy))
    }
}

/// What repairs wait for.
#[derive(Copy, Clone, Debug)]
pub enum RepairTimer {
    /// A node may have been unhealthy for long enough.
    Due(NodeId),
    /// A repair's present stage is taken up again.
    Resume(NodeId),
}

/// The deletion of this node.
#[derive(Copy, Clone, Debug)]
pub struct RepairTag(NodeId);

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    /// Its pods are given until then.
    Draining {
        until: SimTime,
    },
    Deleting,
    /// Its machine is gone.
    Recreating,
    /// The new machine was made then and is not Ready yet.
    Returning {
        since: SimTime,
    },
}

/// Replaces machines that stay unhealthy.
///
/// # Source
/// GKE auto-repair: not Ready or silent for about ten minutes, drain for up to an hour, recreate. `maxUnhealthy` is Cluster API's
/// MachineHealthCheck: nothing is begun while more are unhealthy.
///
/// # Differs
/// Only Ready is looked at. Nodes whose object is gone are not repaired: nobody knows of them.
#[derive(Clone, Debug)]
pub struct NodeRepair {
    plan: Arc<ProcedurePlan>,
    spec: NodeRepairSpec,
    /// Nodes that have been unhealthy for long enough and wait for their turn.
    waiting: VecDeque<NodeId>,
    repairs: BTreeMap<NodeId, Stage>,
    is_held: bool,
}

impl From<Arc<ProcedurePlan>> for NodeRepair {
    /// Repairs that have not begun.
    fn from(plan: Arc<ProcedurePlan>) -> Self {
        let spec = plan.repair.clone().unwrap_or_default();
        Self { plan, spec, waiting: VecDeque::new(), repairs: BTreeMap::new(), is_held: false }
    }
}

impl NodeRepair {
    /// The position of a node's pool, if its machines are repaired.
    fn pool_of(&self, node: NodeId, ctx: &Ctx<'_, Self>) -> Option<usize> {
        let name = ctx.store.node_name(node);
        let is_meant = |pool: &str| self.spec.pools.is_empty() || self.spec.pools.iter().any(|meant| *meant == pool);
        let mut pools = self.plan.pools.iter();
        pools.position(|pool| is_meant(pool.name.as_str()) && pool.number_of(name).is_some())
    }

    /// Since when a node is not Ready; none if it is, or if it does not exist.
    fn unhealthy_since(node: NodeId, ctx: &Ctx<'_, Self>) -> Option<SimTime> {
        let object = ctx.store.node(node)?;
        match object.conditions.get(NodeConditionKind::Ready) {
            Some(ready) => (ready.status != Status::True).then_some(ready.since),
            None => Some(object.created_at),
        }
    }

    /// The node is as it is now.
    fn look_at(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if self.pool_of(node, ctx).is_none() {
            return;
        }
        if let Some(since) = Self::unhealthy_since(node, ctx) {
            if !self.repairs.contains_key(&node) {
                ctx.arm(since + self.spec.unhealthy_for, RepairTimer::Due(node));
            }
        } else if ctx.store.node(node).is_some() {
            if matches!(self.repairs.get(&node), Some(Stage::Returning { .. })) {
                self.repairs.remove(&node);
                note::about_node(ctx, EventType::Normal, "NodeRepaired", node, "the new machine is Ready".to_owned());
            }
            self.waiting.retain(|waiting| *waiting != node);
            self.advance(ctx);
        }
    }

    fn due(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if let Some(Stage::Returning { since }) = self.repairs.get(&node) {
            if *since + self.spec.unhealthy_for <= ctx.now {
                let message = "the new machine does not become Ready either".to_owned();
                note::about_node(ctx, EventType::Warning, "NodeRepairRepeated", node, message);
                self.delete(node, ctx);
            }
            return;
        }
        let is_due = Self::unhealthy_since(node, ctx).is_some_and(|at| at + self.spec.unhealthy_for <= ctx.now);
        if is_due && !self.repairs.contains_key(&node) && !self.waiting.contains(&node) {
            self.waiting.push_back(node);
            self.advance(ctx);
        }
    }

    /// Begins as many repairs as there may be.
    fn advance(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.waiting.is_empty() {
            self.is_held = false;
            return;
        }
        let ours = ctx.store.nodes().map(|(id, _)| id).filter(|&id| self.pool_of(id, ctx).is_some());
        let ours: Vec<NodeId> = ours.collect();
        let unhealthy = ours.iter().filter(|&&id| Self::unhealthy_since(id, ctx).is_some()).count();
        let (at_a_time, unhealthy_max) = self.spec.limits(ours.len());
        if unhealthy > unhealthy_max {
            if !self.is_held {
                let message = format!("{unhealthy} of {} nodes are unhealthy: nothing is repaired", ours.len());
                let about = self.waiting[0];
                note::about_node(ctx, EventType::Warning, "NodeRepairHeld", about, message);
            }
            self.is_held = true;
            return;
        }
        self.is_held = false;
        while self.repairs.len() < at_a_time {
            let Some(node) = self.waiting.pop_front() else { return };
            let message = format!("not Ready for {}: drained and replaced", self.spec.unhealthy_for);
            note::about_node(ctx, EventType::Normal, "NodeRepairBegan", node, message);
            let until = ctx.now + self.spec.drain_timeout;
            self.repairs.insert(node, Stage::Draining { until });
            self.resume(node, ctx);
        }
    }

    fn delete(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        self.repairs.insert(node, Stage::Deleting);
        self.resume(node, ctx);
    }

    /// Takes the present stage up.
    fn resume(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        match self.repairs.get(&node) {
            Some(Stage::Draining { until }) if *until > ctx.now => {
                let left = until.saturating_since(ctx.now);
                let ready = ctx.store.node(node).and_then(|node| node.conditions.ready());
                if ready == Some(Status::Unknown) {
                    type_drain_of_lost(node, left, ticket_of(node), ctx);
                } else {
                    type_drain(node, Some(left), ticket_of(node), ctx);
                }
            }
            Some(Stage::Draining { .. }) => self.delete(node, ctx),
            Some(Stage::Deleting) => ctx.call(Request::DeleteNode { node }, RepairTag(node)),
            Some(Stage::Recreating) => {
                let Some(pool) = self.pool_of(node, ctx) else { return };
                let name = ctx.store.node_name(node);
                self.repairs.insert(node, Stage::Returning { since: ctx.now });
                ctx.change_machine(MachineChange::InstanceCreated { name, pool: pool as u32 });
                ctx.arm_in(self.spec.unhealthy_for, RepairTimer::Due(node));
            }
            Some(Stage::Returning { .. }) | None => {}
        }
    }
}

/// A node's place is its ticket.
fn ticket_of(node: NodeId) -> u64 {
    node.index() as u64
}

impl Component for NodeRepair {
    type Timer = RepairTimer;
    type Tag = RepairTag;
    const NAME: &'static str = "node-auto-repair";
    const PROGRAM: Program = Program::Other;
    const CONTROLLERS: &'static [&'static str] = &[];
    const TYPES: bool = true;

    fn has_work(&self) -> bool {
        self.plan.repair.is_some()
    }

    fn words(timer: &RepairTimer, store: &Store) -> String {
        match *timer {
            RepairTimer::Due(node) => format!("{} may have been unhealthy for long enough", node_name(store, node)),
            RepairTimer::Resume(node) => format!("the repair of {} goes on", node_name(store, node)),
        }
    }

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        Vec::new()
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::NodeAdded(_) | Changed::NodeRemoved { .. } => true,
            Changed::NodeUpdated { delta, .. } => delta.touches(NodeDelta::CONDITIONS),
            _ => false,
        }
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let nodes: Vec<NodeId> = ctx.store.nodes().map(|(id, _)| id).collect();
        for node in nodes {
            self.look_at(node, ctx);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match change.what {
            Changed::NodeAdded(node) | Changed::NodeUpdated { node, .. } => self.look_at(node, ctx),
            Changed::NodeRemoved { node, .. } => {
                self.waiting.retain(|waiting| *waiting != node);
                self.advance(ctx);
            }
            _ => {}
        }
    }

    fn fired(&mut self, timer: RepairTimer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            RepairTimer::Due(node) => self.due(node, ctx),
            RepairTimer::Resume(node) => self.resume(node, ctx),
        }
    }

    fn answered(&mut self, RepairTag(node): RepairTag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        if self.repairs.get(&node) != Some(&Stage::Deleting) {
            return;
        }
        if answer.as_ref().is_err_and(|error| error.reason != ErrorReason::NotFound) {
            ctx.arm_in(RETRY, RepairTimer::Resume(node));
            return;
        }
        self.repairs.insert(node, Stage::Recreating);
        ctx.change_machine(MachineChange::InstanceGone(node));
        ctx.arm_in(RECREATION, RepairTimer::Resume(node));
    }

    fn notified(&mut self, message: &Message, ctx: &mut Ctx<'_, Self>) {
        let Message::Ended(end) = message else { return };
        if end.by != Self::NAME {
            return;
        }
        let Some((&node, &stage)) = self.repairs.iter().find(|(node, _)| ticket_of(**node) == end.ticket) else {
            return;
        };
        let Stage::Draining { until } = stage else { return };
        if end.exit == 0 || ctx.store.node(node).is_none() {
            self.delete(node, ctx);
        } else {
            ctx.arm((ctx.now + RETRY).min(until), RepairTimer::Resume(node));
        }
    }
}
