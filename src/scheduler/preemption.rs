//! Which pods would have to go so that a pod of higher priority can come.

use std::cmp::Reverse;

use super::framework::{Handle, Incoming, PostFilter};
use super::message;
use super::rejection::Rejection;
use crate::arena::sym;
use crate::model::PreemptionPolicy;
use crate::state::{DisruptionReason, NodeId, Pod, PodDisruptionBudget, PodId, Store};
use crate::units::SimTime;

/// A node on which room can be made, and whom that would cost.
struct Candidate {
    node: NodeId,
    /// The most important first.
    victims: Vec<PodId>,
    /// Victims whose budget does not allow it.
    violations: usize,
}

/// The order in which pods are spared.
fn importance(pod: &Pod) -> (Reverse<i32>, SimTime) {
    (Reverse(pod.spec.priority), start_time(pod))
}

/// The most important first; those that have not started yet the other way round than they stood.
///
/// # Source
/// kube-scheduler, `MoreImportantPod`: for a pod that has no start time the clock is read anew at each comparison, so that of two such
/// pods the first that is looked at is always the older one. The insertion of each pod before those ahead of it turns them round.
pub(super) fn sort_by_importance(pods: &mut [PodId], store: &Store) {
    let waiting = |id: &PodId| store.pod(*id).filter(|pod| pod.started_at.is_none()).map(|pod| pod.spec.priority);
    pods.sort_by_key(|id| store.pod(*id).map(importance));
    pods.chunk_by_mut(|a, b| waiting(a).is_some() && waiting(a) == waiting(b)).for_each(<[PodId]>::reverse);
}

/// In whole seconds, as the API keeps it; a pod that has none counts as started now.
fn start_time(pod: &Pod) -> SimTime {
    pod.started_at.map_or(SimTime::MAX, SimTime::floor_to_second)
}

fn is_terminating_by_preemption(pod: &Pod) -> bool {
    let disruption = pod.disruption_target.filter(|target| target.status);
    pod.deletion.is_some() && disruption.is_some_and(|target| target.reason == DisruptionReason::PreemptionByScheduler)
}

/// Pods whose budget would be overdrawn if all of `pods` went, in this order.
///
/// # Source
/// kube-scheduler, DefaultPreemption, `filterPodsWithPDBViolation`.
fn violating(store: &Store, pods: &[PodId]) -> Vec<bool> {
    let budgets: Vec<&PodDisruptionBudget> = store.budgets.iter().map(|(_, budget)| budget).collect();
    let mut allowed: Vec<i32> = budgets.iter().map(|budget| budget.status.disruptions_allowed).collect();
    let is_violating = |id: &PodId| {
        let Some(pod) = store.pod(*id).filter(|pod| !pod.labels.is_empty()) else { return false };
        let mut is_violated = false;
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            let selects = budget.meta.namespace == pod.namespace
                && budget.spec.selector.as_ref().is_some_and(|s| !s.is_empty() && s.matches(&pod.labels));
            if !selects || budget.status.disrupted_pods.contains_key(&pod.name) {
                continue;
            }
            *allowed -= 1;
            is_violated |= *allowed < 0;
        }
        is_violated
    };
    pods.iter().map(is_violating).collect()
}

/// What preemption can do for a pod that no node takes; `wanted` of so many nodes are candidates enough.
///
/// # Source
/// kube-scheduler, `Evaluator.Preempt`.
pub(super) fn preempt(handle: &mut dyn Handle<'_>, wanted: impl FnOnce(usize) -> usize) -> PostFilter {
    if let Some(why) = ineligible(handle) {
        return PostFilter::Unschedulable { reason: format!("preemption: {why}"), clears_nomination: false };
    }
    let store = handle.incoming().store;
    let resolvable = handle.filtered().iter().filter(|(_, rejection)| !rejection.is_unresolvable);
    let potential: Vec<NodeId> = resolvable.map(|(node, _)| *node).collect();
    let wanted = wanted(potential.len());
    let offset = if potential.len() > wanted { handle.draw(potential.len() as u32) as usize } else { 0 };
    let (mut found, mut violating): (Vec<Candidate>, Vec<Candidate>) = Default::default();
    let mut reasons = message::Counts::new();
    let mut tried = 0;
    let mut without_victim = None;
    for &node in potential[offset..].iter().chain(&potential[..offset]) {
        if !found.is_empty() && found.len() + violating.len() >= wanted {
            break;
        }
        match victims_on(handle, node) {
            // It takes the pod once its pods have been removed and put back: the real one ends with this error.
            Ok(candidate) if candidate.victims.is_empty() => without_victim = Some(store.node_name(node)),
            Ok(candidate) if candidate.violations == 0 => found.push(candidate),
            Ok(candidate) => violating.push(candidate),
            Err(rejection) => {
                tried += 1;
                for reason in rejection.reasons {
                    *reasons.entry(reason).or_insert(0) += 1;
                }
            }
        }
    }
    violating.truncate(wanted);
    found.append(&mut violating);
    match (best(found, store, &mut |below| handle.draw(below)), without_victim) {
        (Some(Candidate { node, victims, .. }), _) => PostFilter::Nominated { node, victims },
        (None, Some(name)) => {
            PostFilter::Error(format!("preemption: expected at least one victim pod on node {name:?}"))
        }
        (None, None) => {
            let nodes = handle.node_count();
            if nodes > tried {
                *reasons.entry(sym!("Preemption is not helpful for scheduling")).or_insert(0) += nodes - tried;
            }
            let reason = format!("preemption: 0/{nodes} nodes are available: {}.", message::joined(&reasons));
            PostFilter::Unschedulable { reason, clears_nomination: true }
        }
    }
}

/// Why the pod may not preempt others.
fn ineligible(handle: &dyn Handle<'_>) -> Option<&'static str> {
    let Incoming { id, pod: incoming, store, .. } = handle.incoming();
    if incoming.spec.preemption_policy == Some(PreemptionPolicy::Never) {
        return Some("not eligible due to preemptionPolicy=Never.");
    }
    let nominated = handle.nominator().node_of(id)?;
    let rejected = handle.filtered().iter().find(|(node, _)| *node == nominated);
    // A node that was not looked at cannot be helped either.
    if rejected.is_none_or(|(_, rejection)| rejection.is_unresolvable) {
        return None;
    }
    let there = handle.cache().node(nominated).pods.iter().filter_map(|&pod| store.pod(pod));
    let mut lower = there.filter(|pod| pod.spec.priority < incoming.spec.priority);
    lower.any(is_terminating_by_preemption).then_some("not eligible due to a terminating pod on the nominated node.")
}

/// The pods that would have to leave a node.
///
/// # Source
/// kube-scheduler, DefaultPreemption, `SelectVictimsOnNode`: all pods of lower priority go, then as many as possible come
/// back, those first whose budget would be overdrawn.
fn victims_on(handle: &mut dyn Handle<'_>, node: NodeId) -> Result<Candidate, Rejection> {
    let Incoming { pod: incoming, store, .. } = handle.incoming();
    let is_lower = |id: &PodId| store.pod(*id).is_some_and(|pod| pod.spec.priority < incoming.spec.priority);
    let mut potential: Vec<PodId> = handle.cache().node(node).pods.iter().copied().filter(is_lower).collect();
    if potential.is_empty() {
        let reason = sym!("No preemption victims found for incoming pod");
        return Err(Rejection::unresolvable("DefaultPreemption", reason));
    }
    let mut info = handle.cache().node(node).clone();
    potential.iter().for_each(|&pod| handle.remove_pod(pod, &mut info));
    let mut removed = potential.clone();
    let verdict = handle.run_filters(&info);
    let mut violations = 0;
    if verdict.is_none() {
        removed.clear();
        sort_by_importance(&mut potential, store);
        let is_violating = violating(store, &potential);
        let of_kind = |kind: bool| potential.iter().zip(&is_violating).filter(move |(_, is)| **is == kind);
        for (&pod, &is_violating) in of_kind(true).chain(of_kind(false)) {
            handle.add_pod(pod, &mut info);
            if handle.run_filters(&info).is_some() {
                handle.remove_pod(pod, &mut info);
                removed.push(pod);
                violations += usize::from(is_violating);
            }
        }
        if is_violating.contains(&true) && is_violating.contains(&false) {
            sort_by_importance(&mut removed, store);
        }
    }
    removed.iter().for_each(|&pod| handle.add_pod(pod, &mut info));
    verdict.map_or(Ok(Candidate { node, victims: removed, violations }), Err)
}

/// The candidate that costs least.
///
/// # Source
/// kube-scheduler, `pickOneNodeForPreemption`.
fn best(candidates: Vec<Candidate>, store: &Store, draw: &mut dyn FnMut(u32) -> u32) -> Option<Candidate> {
    let cost = |candidate: &Candidate| {
        let pods = || candidate.victims.iter().filter_map(|&pod| store.pod(pod));
        let highest = pods().next().map_or(0, |pod| pod.spec.priority);
        let sum: i64 = pods().map(|pod| i64::from(pod.spec.priority) + (1 << 31)).sum();
        let earliest = pods().filter(|pod| pod.spec.priority == highest).map(start_time).min();
        (candidate.violations, highest, sum, candidate.victims.len(), Reverse(earliest))
    };
    let least = candidates.iter().map(cost).min()?;
    let mut ties: Vec<Candidate> = candidates.into_iter().filter(|candidate| cost(candidate) == least).collect();
    let chosen = if ties.len() > 1 { draw(ties.len() as u32) as usize } else { 0 };
    Some(ties.swap_remove(chosen))
}
