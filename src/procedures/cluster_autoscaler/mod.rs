//! cluster-autoscaler: nodes for pods that no node takes, and no more nodes than pods need.
//!
//! One look at the cluster every `scan-interval`, on a grid. A look that could find nothing new is not played: changes that matter
//! call for the next one, and so do the instants at which a wait is over.

mod deletion;
mod drainability;
mod expander;
mod group;
mod one_more;
mod plan;
mod scale_down;
mod scale_up;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{ProcedurePlan, note};
use crate::component::{
    Answer, ClientLimit, Component, Config, Ctx, EventType, MakeWhatIf, Program, Start, node_name, pod_name,
};
use crate::engine::Ticket;
use crate::model::config::ClusterAutoscaler as Flags;
use crate::state::{
    Change, Changed, MachineChange, NodeDelta, NodeId, NotScheduledReason, PodDelta, PodId, Status, Store,
};
use crate::units::{SimDuration, SimTime};
use deletion::{Call, Deletion};
pub use expander::EXPANDERS;
use group::Group;
pub use one_more::fit_on_one_more;
pub use plan::{AutoscaledPool, AutoscalerPlan};
use scale_down::Unremovable;

/// What the autoscaler waits for.
#[derive(Copy, Clone, Debug)]
pub enum AutoscalerTimer {
    /// A look at the cluster.
    Scan,
    /// The cloud has a machine for a group; the number of the request.
    Provisioned(usize, u64),
    /// A node that is tainted is to be emptied.
    Empty(NodeId),
    /// An eviction is tried again.
    Evict(NodeId, PodId),
    /// A node's pods are looked at.
    Poll(NodeId),
}

/// What a call was for.
#[derive(Copy, Clone, Debug)]
pub struct AutoscalerTag {
    node: NodeId,
    call: Call,
}

/// cluster-autoscaler.
///
/// # Source
/// cluster-autoscaler, as its FAQ and its list of parameters describe it.
///
/// # Differs
/// Pods of kube-system without a budget keep their node for ever, not for an hour only. Similar pools are not balanced. A pool that
/// lost a machine otherwise than by the autoscaler has one less.
#[derive(Clone, Debug)]
pub struct ClusterAutoscaler {
    plan: Arc<ProcedurePlan>,
    flags: Flags,
    make_what_if: MakeWhatIf,
    groups: Vec<Group>,
    /// Looks lie on a grid from here.
    anchor: SimTime,
    armed: Option<(Ticket, SimTime)>,
    /// Something has changed since the last look.
    is_dirty: bool,
    /// Pods that the scheduler has found no node for.
    pending: BTreeSet<PodId>,
    /// Those of them of whom it was said that nothing helps.
    helpless: BTreeSet<PodId>,
    /// Nodes whose pods have changed since their use was last summed up.
    touched: BTreeSet<NodeId>,
    /// Nodes that are little used.
    idle: BTreeSet<NodeId>,
    /// Since when nodes have been unneeded.
    unneeded: BTreeMap<NodeId, SimTime>,
    unremovable: BTreeMap<NodeId, Unremovable>,
    deletions: BTreeMap<NodeId, Deletion>,
    last_add: Option<SimTime>,
    last_delete: Option<SimTime>,
    last_failure: Option<SimTime>,
    is_halted: bool,
    provisioned: u64,
    draws: u64,
}

impl ClusterAutoscaler {
    /// An autoscaler that has not started.
    #[must_use]
    pub fn new(plan: Arc<ProcedurePlan>, make_what_if: MakeWhatIf) -> Self {
        let autoscaler = plan.autoscaler.clone().unwrap_or_else(AutoscalerPlan::idle);
        Self {
            groups: autoscaler.groups.iter().map(Group::new).collect(),
            flags: autoscaler.flags,
            plan,
            make_what_if,
            anchor: SimTime::ZERO,
            armed: None,
            is_dirty: false,
            pending: BTreeSet::new(),
            helpless: BTreeSet::new(),
            touched: BTreeSet::new(),
            idle: BTreeSet::new(),
            unneeded: BTreeMap::new(),
            unremovable: BTreeMap::new(),
            deletions: BTreeMap::new(),
            last_add: None,
            last_delete: None,
            last_failure: None,
            is_halted: false,
            provisioned: 0,
            draws: 0,
        }
    }

    /// The group of a node.
    fn group_of(&self, node: NodeId, store: &Store) -> Option<usize> {
        let name = store.node_name(node);
        self.groups.iter().position(|group| self.plan.pools[group.pool].number_of(name).is_some())
    }

    /// Something has changed: the next look has something to see.
    fn disturb(&mut self, ctx: &mut Ctx<'_, Self>) {
        self.is_dirty = true;
        self.arm(ctx.now, ctx);
    }

    /// Arms the first look at or after an instant, unless an earlier one is armed.
    fn arm(&mut self, at: SimTime, ctx: &mut Ctx<'_, Self>) {
        let period = self.flags.scan_interval.as_nanos();
        let steps = at.max(ctx.now).saturating_since(self.anchor).as_nanos().div_ceil(period);
        let at = self.anchor + SimDuration::from_nanos(steps * period);
        if self.armed.is_some_and(|(_, armed)| armed <= at) {
            return;
        }
        if let Some((ticket, _)) = self.armed.take() {
            ctx.cancel(ticket);
        }
        self.armed = Some((ctx.arm(at, AutoscalerTimer::Scan), at));
    }

    /// One look at the cluster.
    ///
    /// # Source
    /// cluster-autoscaler, `RunOnce`.
    fn scan(&mut self, ctx: &mut Ctx<'_, Self>) {
        self.armed = None;
        let was_dirty = std::mem::take(&mut self.is_dirty);
        self.expire_requests(ctx);
        if self.is_unhealthy(ctx) {
            self.unneeded.clear();
            return;
        }
        if !self.scale_up(ctx) && self.flags.scale_down_enabled {
            self.update_unneeded(was_dirty, ctx);
            self.scale_down(ctx);
        }
        self.arm_waits(ctx);
    }

    /// Whether too many nodes are unready for it to do anything.
    fn is_unhealthy(&mut self, ctx: &mut Ctx<'_, Self>) -> bool {
        let is_coming = |node: NodeId| {
            let name = ctx.store.node_name(node);
            self.groups.iter().any(|group| group.is_coming(name))
        };
        let is_unready = |(id, node): &(NodeId, &Arc<crate::state::Node>)| {
            node.conditions.ready() != Some(Status::True) && !is_coming(*id)
        };
        let unready = ctx.store.nodes().filter(is_unready).count();
        let share_max = self.flags.max_total_unready_percentage / 100.0;
        let is_unhealthy = unready as i64 > self.flags.ok_total_unready_count
            && unready as f64 > share_max * ctx.store.node_count() as f64;
        if is_unhealthy && !self.is_halted {
            let message = format!("{unready} of {} nodes are not ready: nothing is done", ctx.store.node_count());
            note::about_cluster(ctx, EventType::Warning, "ClusterUnhealthy", message);
        }
        self.is_halted = is_unhealthy;
        is_unhealthy
    }

    /// Arms the look at which the next wait is over.
    fn arm_waits(&mut self, ctx: &mut Ctx<'_, Self>) {
        let mut waits: Vec<SimTime> = Vec::new();
        waits.extend(self.groups.iter().flat_map(|group| group.expiries(self.flags.max_node_provision_time)));
        waits.extend(self.pending_wait(ctx));
        waits.extend(self.removal_wait(ctx));
        if let Some(next) = waits.into_iter().min() {
            // What is due already has been looked at.
            self.arm(next.max(ctx.now + SimDuration::from_nanos(1)), ctx);
        }
        if self.is_dirty {
            self.arm(ctx.now + SimDuration::from_nanos(1), ctx);
        }
    }

    /// A pod is as it is now: it may wait for a node, and the use of its node may have changed.
    fn look_at_pod(&mut self, id: PodId, ctx: &Ctx<'_, Self>) {
        let Some(pod) = ctx.store.pod(id) else { return };
        let is_unschedulable =
            pod.not_scheduled.as_ref().is_some_and(|why| why.reason == NotScheduledReason::Unschedulable);
        if pod.node.is_none() && is_unschedulable && pod.deletion.is_none() && !pod.phase.is_terminal() {
            self.pending.insert(id);
        } else {
            self.pending.remove(&id);
            self.helpless.remove(&id);
        }
        self.touched.extend(pod.node);
    }
}

impl Component for ClusterAutoscaler {
    type Timer = AutoscalerTimer;
    type Tag = AutoscalerTag;
    const NAME: &'static str = "cluster-autoscaler";
    const PROGRAM: Program = Program::Other;
    const CONTROLLERS: &'static [&'static str] = &[];

    fn has_work(&self) -> bool {
        self.plan.autoscaler.is_some()
    }

    /// What it does at a look is its own decision, and not that of whatever changed first since the look before.
    fn begins_anew(timer: &AutoscalerTimer) -> bool {
        matches!(timer, AutoscalerTimer::Scan)
    }

    fn words(timer: &AutoscalerTimer, store: &Store) -> String {
        match *timer {
            AutoscalerTimer::Scan => "the regular look at the cluster".to_owned(),
            AutoscalerTimer::Provisioned(..) => "the cloud has a machine".to_owned(),
            AutoscalerTimer::Empty(node) => format!("{} is to be emptied", node_name(store, node)),
            AutoscalerTimer::Evict(_, pod) => format!("the eviction of {} is tried again", pod_name(store, pod)),
            AutoscalerTimer::Poll(node) => format!("the pods of {} are looked at", node_name(store, node)),
        }
    }

    fn clients(_config: &Config) -> Vec<ClientLimit> {
        vec![ClientLimit { qps: 5.0, burst: 10 }]
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::PodAdded(_)
            | Changed::PodRemoved { .. }
            | Changed::NodeAdded(_)
            | Changed::NodeRemoved { .. }
            | Changed::BudgetAdded(_)
            | Changed::BudgetUpdated(..)
            | Changed::BudgetRemoved(_) => true,
            Changed::PodUpdated { delta, .. } => delta
                .touches(PodDelta::NODE | PodDelta::PHASE | PodDelta::CONDITIONS | PodDelta::DELETION | PodDelta::SPEC),
            Changed::NodeUpdated { delta, .. } => delta.touches(
                NodeDelta::TAINTS
                    | NodeDelta::UNSCHEDULABLE
                    | NodeDelta::CONDITIONS
                    | NodeDelta::LABELS
                    | NodeDelta::ALLOCATABLE
                    | NodeDelta::ANNOTATIONS,
            ),
            _ => false,
        }
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Self>) {
        let part = ctx.streams.stream("cluster-autoscaler", "").unit();
        let period = self.flags.scan_interval.as_nanos() as f64;
        self.anchor = ctx.now + SimDuration::from_nanos((period * part) as u64);
        self.touched.extend(ctx.store.nodes().map(|(node, _)| node));
        let pods: Vec<PodId> = ctx.store.pods().filter(|(_, pod)| pod.node.is_none()).map(|(id, _)| id).collect();
        for pod in pods {
            self.look_at_pod(pod, ctx);
        }
        self.disturb(ctx);
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Self>) {
        match &change.what {
            Changed::PodAdded(pod) | Changed::PodUpdated { pod, .. } => self.look_at_pod(*pod, ctx),
            Changed::PodRemoved { pod, last } => {
                self.pending.remove(pod);
                self.helpless.remove(pod);
                self.touched.extend(last.node);
            }
            Changed::NodeAdded(node) | Changed::NodeUpdated { node, .. } => {
                self.touched.insert(*node);
            }
            Changed::NodeRemoved { node, .. } => {
                self.touched.insert(*node);
                self.unneeded.remove(node);
                self.unremovable.remove(node);
            }
            _ => {}
        }
        self.disturb(ctx);
    }

    fn fired(&mut self, timer: AutoscalerTimer, ctx: &mut Ctx<'_, Self>) {
        match timer {
            AutoscalerTimer::Scan => self.scan(ctx),
            AutoscalerTimer::Provisioned(group, request) => self.provisioned(group, request, ctx),
            AutoscalerTimer::Empty(node) => self.empty(node, ctx),
            AutoscalerTimer::Evict(node, pod) => self.evict(node, pod, ctx),
            AutoscalerTimer::Poll(node) => self.poll(node, ctx),
        }
    }

    fn answered(&mut self, tag: AutoscalerTag, answer: &Answer, ctx: &mut Ctx<'_, Self>) {
        match tag.call {
            Call::Taint => self.tainted(tag.node, answer, ctx),
            Call::Evict(pod) => self.evicted(tag.node, pod, answer, ctx),
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Self>) {
        if let MachineChange::InstanceGone(node) = *change {
            let name = ctx.store.node_name(node);
            for group in &mut self.groups {
                group.forget(name);
            }
            self.deletions.remove(&node);
            self.disturb(ctx);
        }
    }
}
