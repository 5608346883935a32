//! Nodes for pods that no node takes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::ClusterAutoscaler;
use super::expander::{self, Choice};
use super::group::{daemon_pods, template_node};
use crate::arena::{Symbol, sym};
use crate::component::{Component, Ctx, EventDraft, EventType, ObjectRef, PoolPlan, Snapshot, WhatIf};
use crate::model::Resources;
use crate::procedures::note;
use crate::state::{AdmittedSpec, NodeId, Owner, Pod, PodId};
use crate::units::{SimDuration, SimTime};

/// Pods of a lower priority do not make the cluster grow.
const PRIORITY_CUTOFF: i32 = -10;

/// While all pods are younger than this, more are expected.
const NEW: SimDuration = SimDuration::from_secs(2);

/// Nodes of a pool that might be.
pub(super) struct NewNodes<'a> {
    pool: &'a PoolPlan,
    snapshot: Snapshot<'a>,
    next: u64,
    daemons: Vec<Arc<AdmittedSpec>>,
}

impl<'a> NewNodes<'a> {
    /// Nodes from a number on.
    pub(super) fn from(pool: &'a PoolPlan, next: u64, snapshot: Snapshot<'a>) -> Self {
        let name = pool.node_name(next);
        let node = template_node(pool, name, snapshot);
        Self { pool, snapshot, next, daemons: daemon_pods(pool, name, &node, snapshot.store) }
    }

    pub(super) fn add(&mut self, what_if: &mut dyn WhatIf) -> NodeId {
        let name = self.pool.node_name(self.next);
        self.next += 1;
        what_if.add_node(name, template_node(self.pool, name, self.snapshot), &self.daemons)
    }
}

/// The larger a pod is for a node, the sooner it is placed.
fn size(spec: &AdmittedSpec, node: &Resources) -> f64 {
    let share = |asked: i64, there: i64| if there == 0 { 0.0 } else { asked as f64 / there as f64 };
    share(spec.requests.cpu_milli, node.cpu_milli) + share(spec.requests.memory, node.memory)
}

/// Why pools do not help a pod, each reason with the number of pools.
type Refusals = BTreeMap<PodId, BTreeMap<Symbol, usize>>;

impl ClusterAutoscaler {
    /// Pods that wait for a node and count, those first that matter most.
    pub(super) fn waiting<'a>(&self, ctx: &Ctx<'a, Self>) -> Vec<(PodId, &'a Pod)> {
        let counts = |pod: &Pod| {
            pod.pinned_node.is_none()
                && pod.spec.priority >= PRIORITY_CUTOFF
                && pod.created_at + self.flags.new_pod_scale_up_delay <= ctx.now
        };
        let store = ctx.store;
        let pods = self.pending.iter().filter_map(|&id| Some((id, store.pod(id)?)));
        let mut waiting: Vec<(PodId, &Pod)> = pods.filter(|(_, pod)| counts(pod)).collect();
        waiting.sort_by_key(|(id, pod)| (Reverse(pod.spec.priority), pod.created_at, *id));
        waiting
    }

    /// When waiting pods are worth another look though nothing changes.
    pub(super) fn pending_wait(&self, ctx: &Ctx<'_, Self>) -> Option<SimTime> {
        let young = self.pending.iter().filter_map(|&id| ctx.store.pod(id));
        let young = young.map(|pod| pod.created_at + self.flags.new_pod_scale_up_delay.max(NEW));
        let backoffs = self.groups.iter().filter_map(|group| group.backs_off(ctx.now));
        let backoffs = backoffs.filter(|_| !self.pending.is_empty());
        young.filter(|at| *at > ctx.now).chain(backoffs).min()
    }

    /// Adds nodes if that helps pods that wait; whether it did.
    ///
    /// # Source
    /// cluster-autoscaler, `ScaleUp`: pods that existing or coming nodes will take are left out; for every pool it is worked out
    /// how many new nodes the others would need; the expander chooses one pool, which grows.
    pub(super) fn scale_up(&mut self, ctx: &mut Ctx<'_, Self>) -> bool {
        let waiting = self.waiting(ctx);
        if waiting.iter().all(|(_, pod)| pod.created_at + NEW > ctx.now) {
            return false;
        }
        let mut what_if = (self.make_what_if)(ctx.snapshot());
        let mut nodes: Vec<NodeId> = ctx.store.nodes().map(|(id, _)| id).collect();
        self.add_coming(&mut nodes, what_if.as_mut(), ctx);
        let helpable = place_where_they_fit(waiting, &nodes, what_if.as_mut());
        if helpable.is_empty() {
            return false;
        }
        let mut refusals = Refusals::new();
        let mut choices: Vec<Choice> = Vec::new();
        for group in 0..self.groups.len() {
            choices.extend(self.estimate(group, &helpable, what_if.as_mut(), &mut refusals, ctx));
        }
        drop(what_if);
        self.say_not_triggered(&helpable, &choices, &refusals, ctx);
        let expanders = self.flags.expander.clone();
        let mut stream = ctx.streams.at("expander", "", self.draws);
        self.draws += 1;
        let Some(choice) = expander::choose(choices, expanders.iter().map(|name| name.as_str()), &mut stream) else {
            return false;
        };
        self.grow(&choice, ctx);
        true
    }

    /// Adds the nodes that were asked for and are not there yet.
    fn add_coming(&self, nodes: &mut Vec<NodeId>, what_if: &mut dyn WhatIf, ctx: &Ctx<'_, Self>) {
        for group in self.groups.iter().filter(|group| group.coming() > 0) {
            let pool = &self.plan.pools[group.pool];
            let mut new = NewNodes::from(pool, pool.next_number(ctx.store), ctx.snapshot());
            for _ in 0..group.coming() {
                nodes.push(new.add(what_if));
            }
        }
    }

    /// What it would take for a pool to help.
    ///
    /// # Source
    /// cluster-autoscaler, binpacking estimator: the largest pods first, each on the first new node that takes it; a pod for which
    /// not even an empty node does is left out.
    fn estimate(
        &self,
        index: usize,
        pods: &[(PodId, &Pod)],
        what_if: &mut dyn WhatIf,
        refusals: &mut Refusals,
        ctx: &Ctx<'_, Self>,
    ) -> Option<Choice> {
        let group = &self.groups[index];
        let pool = &self.plan.pools[group.pool];
        let mut refuse = |pod: PodId, reason: Symbol| {
            *refusals.entry(pod).or_default().entry(reason).or_insert(0) += 1;
        };
        let room = (group.max as usize).saturating_sub(group.size(pool, ctx.store)).min(self.room(ctx));
        if room == 0 || group.backs_off(ctx.now).is_some() {
            let full = sym!("max node group size reached");
            let reason = if room == 0 { full } else { sym!("in backoff after failed scale-up") };
            pods.iter().for_each(|(pod, _)| refuse(*pod, reason));
            return None;
        }
        let first = pool.next_number(ctx.store) + group.coming() as u64;
        let mut new = NewNodes::from(pool, first, ctx.snapshot());
        let mut sorted: Vec<&(PodId, &Pod)> = pods.iter().collect();
        let allocatable = &pool.registration.allocatable;
        sorted.sort_by(|(_, a), (_, b)| size(&b.spec, allocatable).total_cmp(&size(&a.spec, allocatable)));
        let (mut nodes, mut placed): (Vec<NodeId>, Vec<PodId>) = Default::default();
        let mut has_empty = false;
        let mut requested = Resources::default();
        for (id, pod) in sorted {
            let mut found = what_if.first_fit(*id, &nodes);
            if found.is_err() && !has_empty && nodes.len() < room {
                nodes.push(new.add(what_if));
                has_empty = true;
                found = what_if.first_fit(*id, &nodes[nodes.len() - 1..]);
            }
            match found {
                Ok(node) => {
                    has_empty &= nodes.last() != Some(&node);
                    what_if.place(*id, node);
                    placed.push(*id);
                    requested.add(&pod.spec.requests);
                }
                Err(reason) if has_empty => refuse(*id, reason),
                Err(_) => refuse(*id, sym!("max node group size reached")),
            }
        }
        placed.iter().for_each(|&pod| what_if.lift(pod));
        nodes.iter().for_each(|&node| what_if.remove_node(node));
        let count = nodes.len() - usize::from(has_empty);
        (count > 0).then(|| Choice {
            group: index,
            priority: group.priority,
            count,
            pods: placed,
            allocatable: Resources::clone(allocatable),
            requested,
        })
    }

    /// How many nodes may be added at a time, whatever the pool.
    fn room(&self, ctx: &Ctx<'_, Self>) -> usize {
        let at_a_time = usize::try_from(self.flags.max_nodes_per_scaleup).unwrap_or(usize::MAX);
        match usize::try_from(self.flags.max_nodes_total) {
            Ok(total @ 1..) => {
                let coming: usize = self.groups.iter().map(super::Group::coming).sum();
                total.saturating_sub(ctx.store.node_count() + coming).min(at_a_time)
            }
            _ => at_a_time,
        }
    }

    fn grow(&mut self, choice: &Choice, ctx: &mut Ctx<'_, Self>) {
        let plan = Arc::clone(&self.plan);
        let group = &self.groups[choice.group];
        let (pool, max) = (&plan.pools[group.pool], group.max);
        let before = group.size(pool, ctx.store);
        let after = before + choice.count;
        let name = pool.name;
        let message = format!("Scale-up: setting group {name} size to {after} instead of {before} (max: {max})");
        note::about_pool(ctx, Self::NAME, EventType::Normal, "ScaledUpGroup", name, message);
        let message = format!("pod triggered scale-up: [{{{name} {before}->{after} (max: {max})}}]");
        for pod in choice.pods.iter().filter_map(|&id| ctx.store.pod(id)) {
            ctx.event(EventDraft::normal("TriggeredScaleUp", ObjectRef::pod(pod), message.clone()));
        }
        self.last_add = Some(ctx.now);
        // Other pods may need another pool.
        self.is_dirty = true;
        self.request(choice.group, choice.count, ctx);
    }

    /// Tells the pods that no pool helps, once each.
    fn say_not_triggered(
        &mut self,
        pods: &[(PodId, &Pod)],
        choices: &[Choice],
        refusals: &Refusals,
        ctx: &mut Ctx<'_, Self>,
    ) {
        let helped: BTreeSet<PodId> = choices.iter().flat_map(|choice| choice.pods.iter().copied()).collect();
        for (id, pod) in pods {
            if helped.contains(id) {
                self.helpless.remove(id);
                continue;
            }
            if !self.helpless.insert(*id) {
                continue;
            }
            let reasons = refusals.get(id).into_iter().flatten().map(|(reason, count)| format!("{count} {reason}"));
            let message = format!("pod didn't trigger scale-up: {}", reasons.collect::<Vec<_>>().join(", "));
            ctx.event(EventDraft::normal("NotTriggerScaleUp", ObjectRef::pod(pod), message));
        }
    }
}

/// Places pods on nodes that take them, and returns the others.
pub(super) fn place_where_they_fit<'a>(
    pods: Vec<(PodId, &'a Pod)>,
    nodes: &[NodeId],
    what_if: &mut dyn WhatIf,
) -> Vec<(PodId, &'a Pod)> {
    // What no node takes once, none takes again.
    let mut hopeless: FxHashSet<(usize, Option<Owner>)> = FxHashSet::default();
    let mut left = Vec::new();
    for (id, pod) in pods {
        let kind = (Arc::as_ptr(&pod.spec) as usize, pod.owner);
        if hopeless.contains(&kind) {
            left.push((id, pod));
        } else if let Ok(node) = what_if.first_fit(id, nodes) {
            what_if.place(id, node);
        } else {
            hopeless.insert(kind);
            left.push((id, pod));
        }
    }
    left
}
