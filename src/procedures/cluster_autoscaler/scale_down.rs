//! Nodes that nobody needs.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use super::ClusterAutoscaler;
use super::drainability::{Budgets, pods_to_move};
use super::scale_up::place_where_they_fit;
use crate::arena::{Symbol, sym};
use crate::component::{Ctx, Request, WhatIf};
use crate::model::TaintEffect;
use crate::state::{Node, NodeId, Owner, Pod, PodId, Status, TaintOnNode};
use crate::units::SimTime;

/// A node that cannot be given up is not looked at again for a while.
#[derive(Copy, Clone, Debug)]
pub(super) struct Unremovable {
    until: SimTime,
    /// Something has changed since it was looked at.
    is_stale: bool,
}

fn soft_taint() -> Symbol {
    sym!("DeletionCandidateOfClusterAutoscaler")
}

fn is_daemon(pod: &Pod) -> bool {
    matches!(pod.owner, Some(Owner::DaemonSet(_)))
}

impl ClusterAutoscaler {
    /// Whether the node gives so little that it may be unneeded.
    ///
    /// # Source
    /// cluster-autoscaler, utilization: the larger of the shares of CPU and memory that pods request.
    fn is_idle(&self, id: NodeId, node: &Node, ctx: &Ctx<'_, Self>) -> bool {
        let counts = |pod: &&Pod| {
            let is_ignored = (self.flags.ignore_daemonsets_utilization && is_daemon(pod))
                || (self.flags.ignore_mirror_pods_utilization && pod.is_mirror);
            !(pod.phase.is_terminal() || is_ignored)
        };
        let pods = ctx.store.pods_on(id).iter().filter_map(|&pod| ctx.store.pod(pod)).filter(counts);
        let (cpu, memory) = pods
            .fold((0, 0), |(cpu, memory), pod| (cpu + pod.spec.requests.cpu_milli, memory + pod.spec.requests.memory));
        let share = |asked: i64, there: i64| if there == 0 { 0.0 } else { asked as f64 / there as f64 };
        let used = share(cpu, node.allocatable.cpu_milli).max(share(memory, node.allocatable.memory));
        used < self.flags.scale_down_utilization_threshold
    }

    /// Sums up anew what nodes are used for.
    fn refresh_idle(&mut self, ctx: &Ctx<'_, Self>) {
        for id in std::mem::take(&mut self.touched) {
            let is_idle = ctx.store.node(id).is_some_and(|node| self.is_idle(id, node, ctx));
            if is_idle && self.group_of(id, ctx.store).is_some() {
                self.idle.insert(id);
            } else {
                self.idle.remove(&id);
                self.unremovable.remove(&id);
            }
        }
    }

    /// Whether a node could be given up, as far as it alone is concerned.
    fn is_candidate(&self, id: NodeId, ctx: &Ctx<'_, Self>) -> bool {
        let Some(node) = ctx.store.node(id).filter(|_| ctx.store.machine(id).exists) else { return false };
        let disabled = sym!("cluster-autoscaler.kubernetes.io/scale-down-disabled");
        let is_disabled = node.annotations.get(&disabled).is_some_and(|value| *value == "true");
        let is_ready = node.conditions.ready() == Some(Status::True);
        let name = ctx.store.node_name(id);
        !is_disabled
            && (is_ready || self.flags.scale_down_unready_enabled)
            && !self.deletions.contains_key(&id)
            && !self.groups.iter().any(|group| group.is_coming(name))
    }

    /// Finds out which nodes are unneeded, and since when.
    ///
    /// # Source
    /// cluster-autoscaler, scale-down planner: those unneeded so far come first, then empty ones; the pods of each must have
    /// room on the nodes that stay, where they are then counted.
    pub(super) fn update_unneeded(&mut self, was_dirty: bool, ctx: &mut Ctx<'_, Self>) {
        self.refresh_idle(ctx);
        let mut candidates: Vec<NodeId> = Vec::new();
        let mut is_due = was_dirty;
        for &id in &self.idle {
            if !self.is_candidate(id, ctx) {
                continue;
            }
            match self.unremovable.get_mut(&id) {
                Some(known) if known.until > ctx.now => known.is_stale |= was_dirty,
                Some(known) => {
                    is_due |= known.is_stale;
                    candidates.push(id);
                }
                None => candidates.push(id),
            }
        }
        if !is_due {
            return;
        }
        let unneeded = if candidates.is_empty() { BTreeSet::new() } else { self.simulate(candidates, ctx) };
        self.unneeded.retain(|id, _| unneeded.contains(id));
        for &id in &unneeded {
            self.unneeded.entry(id).or_insert(ctx.now);
        }
        self.mark_candidates(ctx);
    }

    /// Which of these nodes could be given up together.
    fn simulate(&mut self, mut candidates: Vec<NodeId>, ctx: &Ctx<'_, Self>) -> BTreeSet<NodeId> {
        let store = ctx.store;
        let mut budgets = Budgets::default();
        let is_empty =
            |id: NodeId| pods_to_move(id, &self.flags, &Budgets::default(), store).is_ok_and(|p| p.is_empty());
        candidates.sort_by_key(|&id| (!self.unneeded.contains_key(&id), !is_empty(id), id));
        let mut what_if = (self.make_what_if)(ctx.snapshot());
        let mut staying: Vec<NodeId> = store.nodes().map(|(id, _)| id).collect();
        place_where_they_fit(self.waiting(ctx), &staying, what_if.as_mut());
        let mut unneeded = BTreeSet::new();
        for id in candidates {
            let others: Vec<NodeId> = staying.iter().copied().filter(|other| *other != id).collect();
            let moved = pods_to_move(id, &self.flags, &budgets, store).is_ok_and(|pods| {
                moves(id, &pods, &others, what_if.as_mut()).then(|| budgets.take(&pods, store)).is_some()
            });
            if moved {
                staying = others;
                unneeded.insert(id);
                self.unremovable.remove(&id);
            } else {
                let until = ctx.now + self.flags.unremovable_node_recheck_timeout;
                self.unremovable.insert(id, Unremovable { until, is_stale: false });
            }
        }
        unneeded
    }

    /// Marks unneeded nodes so that the scheduler would rather not use them, and takes the mark off others.
    ///
    /// # Source
    /// cluster-autoscaler, soft taints.
    fn mark_candidates(&self, ctx: &mut Ctx<'_, Self>) {
        let mut left = self.flags.max_bulk_soft_taint_count;
        let taint = TaintOnNode {
            key: soft_taint(),
            value: Symbol::empty(),
            effect: TaintEffect::PreferNoSchedule,
            added_at: None,
        };
        let is_marked = |node: &Node| node.taint(taint.key, taint.effect).is_some();
        let nodes: Vec<(NodeId, bool)> = ctx.store.nodes().map(|(id, node)| (id, is_marked(node))).collect();
        for (id, is_marked) in nodes {
            let is_unneeded = self.unneeded.contains_key(&id);
            if is_marked == is_unneeded || left == 0 || self.deletions.contains_key(&id) {
                continue;
            }
            left -= 1;
            let (mut add, mut remove) = (SmallVec::new(), SmallVec::new());
            if is_unneeded {
                add.push(taint);
            } else {
                remove.push((taint.key, taint.effect));
            }
            ctx.send(Request::PatchNodeTaints { node: id, add, remove });
        }
    }

    /// When an unneeded node may go.
    fn due(&self, id: NodeId, since: SimTime, ctx: &Ctx<'_, Self>) -> SimTime {
        let is_ready = ctx.store.node(id).is_some_and(|node| node.conditions.ready() == Some(Status::True));
        since + if is_ready { self.flags.scale_down_unneeded_time } else { self.flags.scale_down_unready_time }
    }

    /// Until when no node is removed.
    fn cooldown(&self) -> Option<SimTime> {
        let waits = [
            (self.last_add, self.flags.scale_down_delay_after_add),
            (self.last_delete, self.flags.scale_down_delay_after_delete),
            (self.last_failure, self.flags.scale_down_delay_after_failure),
        ];
        waits.into_iter().filter_map(|(last, wait)| Some(last? + wait)).max()
    }

    /// When the next node may go, or is worth another look.
    pub(super) fn removal_wait(&self, ctx: &Ctx<'_, Self>) -> Option<SimTime> {
        let cooldown = self.cooldown().unwrap_or(SimTime::MIN);
        let dues = self.unneeded.iter().map(|(&id, &since)| self.due(id, since, ctx).max(cooldown));
        // Those that are due and have not gone wait for others, or for their pool to be larger than its minimum.
        let stale = self.unremovable.values().filter(|known| known.is_stale).map(|known| known.until);
        let waits = dues.chain(stale).filter(|at| *at > ctx.now);
        waits.min().filter(|_| self.flags.scale_down_enabled)
    }

    /// Removes nodes that have been unneeded for long enough.
    ///
    /// # Source
    /// cluster-autoscaler, `NodesToDelete`: empty nodes in bulk, nodes with pods one at a time, no pool below its minimum.
    pub(super) fn scale_down(&mut self, ctx: &mut Ctx<'_, Self>) {
        if self.cooldown().is_some_and(|until| until > ctx.now) {
            return;
        }
        let due = self.unneeded.iter().filter(|&(&id, &since)| self.due(id, since, ctx) <= ctx.now);
        let mut due: Vec<(SimTime, NodeId)> = due.map(|(&id, &since)| (since, id)).collect();
        due.sort_unstable();
        let limit = |flag: i64| usize::try_from(flag).unwrap_or(usize::MAX);
        let mut budgets = Budgets::default();
        for (_, id) in due {
            let Some(group) = self.group_of(id, ctx.store) else { continue };
            let going = self.deletions.keys().filter(|&&other| self.group_of(other, ctx.store) == Some(group)).count();
            let size = self.groups[group].size(&self.plan.pools[self.groups[group].pool], ctx.store);
            let Ok(pods) = pods_to_move(id, &self.flags, &budgets, ctx.store) else { continue };
            let drains = self.deletions.values().filter(|deletion| deletion.is_drain()).count();
            let is_too_much = self.deletions.len() >= limit(self.flags.max_scale_down_parallelism)
                || (!pods.is_empty() && drains >= limit(self.flags.max_drain_parallelism));
            if size <= going + self.groups[group].min as usize || is_too_much {
                continue;
            }
            budgets.take(&pods, ctx.store);
            self.begin_deletion(id, !pods.is_empty(), ctx);
        }
    }
}

/// Counts the pods of a node on others, if these take all of them.
fn moves(from: NodeId, pods: &[PodId], others: &[NodeId], what_if: &mut dyn WhatIf) -> bool {
    pods.iter().for_each(|&pod| what_if.lift(pod));
    let mut placed = 0;
    while let Some(&pod) = pods.get(placed) {
        let Ok(node) = what_if.first_fit(pod, others) else { break };
        what_if.place(pod, node);
        placed += 1;
    }
    if placed == pods.len() {
        return true;
    }
    pods[..placed].iter().for_each(|&pod| what_if.lift(pod));
    pods.iter().for_each(|&pod| what_if.place(pod, from));
    false
}
