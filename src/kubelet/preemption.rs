//! Pods that make room for a critical one.

use super::Kubelets;
use super::admission::Lack;
use super::bound_pod::BoundPod;
use super::eviction::is_critical;
use super::grace::own_grace;
use super::timer::PodTimer;
use super::worker::{Awaits, Launch, Worker, WorkerState};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::model::QosClass;
use crate::state::{DisruptionReason, PodPhase, Status};
use crate::units::SimDuration;

/// A pod that could go, and what it requests of what is lacking.
#[derive(Clone, Debug)]
struct Candidate<T> {
    pod: T,
    requests: Vec<i64>,
    /// Memory and CPU, which decide between equals.
    size: (i64, i64),
}

/// What is still lacking, by resource, after these pods.
fn without<T>(lacking: &[i64], pods: &[&Candidate<T>]) -> Vec<i64> {
    let freed = |index: usize| pods.iter().map(|candidate| candidate.requests[index]).fold(0, i64::saturating_add);
    lacking.iter().enumerate().map(|(index, amount)| amount.saturating_sub(freed(index)).max(0)).collect()
}

fn is_met(lacking: &[i64]) -> bool {
    lacking.iter().all(|amount| *amount == 0)
}

/// How far a pod is from giving what is lacking; each resource counts alike.
fn distance(lacking: &[i64], requests: &[i64]) -> f64 {
    let rest = |(amount, request): (&i64, &i64)| match amount - request {
        rest if *amount > 0 && rest > 0 => {
            let share = rest as f64 / *amount as f64;
            share * share
        }
        _ => 0.0,
    };
    lacking.iter().zip(requests).map(rest).sum()
}

/// Picks pods until nothing is lacking: each time the one that gives most of it, of equals the smallest.
///
/// # Source
/// kubelet, `getPodsToPreemptByDistance`.
fn pick<T>(mut pods: Vec<&Candidate<T>>, mut lacking: Vec<i64>) -> Vec<&Candidate<T>> {
    let mut picked = Vec::new();
    while !is_met(&lacking) {
        let mut best: Option<(usize, f64)> = None;
        for (index, candidate) in pods.iter().enumerate() {
            let far = distance(&lacking, &candidate.requests);
            let is_better = best.is_none_or(|(other, least)| {
                far < least || (far.total_cmp(&least).is_eq() && candidate.size <= pods[other].size)
            });
            if is_better {
                best = Some((index, far));
            }
        }
        let Some((index, _)) = best else { break };
        let candidate = pods.swap_remove(index);
        lacking = without(&lacking, &[candidate]);
        picked.push(candidate);
    }
    picked
}

/// Who goes, by quality of service class (BestEffort, Burstable, Guaranteed); none if all together are not enough.
///
/// # Source
/// kubelet, `getPodsToPreempt`: as few Guaranteed pods as possible, then as few Burstable ones, then BestEffort ones.
fn victims<'a, T>(classes: &'a [Vec<Candidate<T>>; 3], lacking: &[i64]) -> Option<Vec<&'a Candidate<T>>> {
    let all = |class: &'a Vec<Candidate<T>>| class.iter().collect::<Vec<_>>();
    let [best_effort, burstable, guaranteed] = [all(&classes[0]), all(&classes[1]), all(&classes[2])];
    let join =
        |lists: &[&Vec<&'a Candidate<T>>]| lists.iter().flat_map(|list| list.iter().copied()).collect::<Vec<_>>();
    if !is_met(&without(lacking, &join(&[&best_effort, &burstable, &guaranteed]))) {
        return None;
    }
    let third = pick(guaranteed, without(lacking, &join(&[&best_effort, &burstable])));
    let second = pick(burstable, without(lacking, &join(&[&best_effort, &third])));
    let first = pick(best_effort, without(lacking, &join(&[&second, &third])));
    Some(join(&[&first, &second, &third]))
}

impl Kubelets {
    /// Ends pods so that a critical one finds room; returns how long that takes, or none if it cannot be done.
    ///
    /// # Source
    /// kubelet, critical pod admission handler: only pods that are not critical, or of lower priority, each with its own grace;
    /// then the critical pod is admitted.
    ///
    /// # Differs
    /// They are ended at once, not one after the other.
    pub(super) fn preempt_for(
        &mut self,
        preemptor: BoundPod<'_>,
        lacks: &[Lack],
        ctx: &mut Ctx<'_, Self>,
    ) -> Option<SimDuration> {
        let mut classes: [Vec<Candidate<BoundPod<'_>>>; 3] = [Vec::new(), Vec::new(), Vec::new()];
        for pod in self.pods_that_go_on(preemptor.node, ctx.store) {
            let is_lower =
                (is_critical(&preemptor) && !is_critical(&pod)) || pod.spec.priority < preemptor.spec.priority;
            let is_ended = self.workers.get(&pod.id).is_some_and(Worker::is_ended_by_kubelet);
            if pod.uid == preemptor.uid || !is_lower || is_ended {
                continue;
            }
            let class = match pod.spec.qos {
                QosClass::BestEffort => 0,
                QosClass::Burstable => 1,
                QosClass::Guaranteed => 2,
            };
            let requests = lacks.iter().map(|lack| lack.resource.request(&pod)).collect();
            let size = (pod.spec.requests.memory, pod.spec.requests.cpu_milli);
            classes[class].push(Candidate { pod, requests, size });
        }
        let lacking: Vec<i64> = lacks.iter().map(Lack::amount).collect();
        let ends = victims(&classes, &lacking)?.into_iter().map(|victim| self.end_for_critical(victim.pod, ctx));
        Some(ends.fold(SimDuration::ZERO, SimDuration::max))
    }

    fn end_for_critical(&mut self, victim: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) -> SimDuration {
        let message = "Preempted in order to admit critical pod";
        self.links.event(victim.node, EventDraft::warning("Preempting", ObjectRef::pod(&victim), message), ctx);
        let status = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            reason: Some(Symbol::new("Preempting")),
            ready: Some(Status::False),
            disruption: Some((DisruptionReason::TerminationByKubelet, true)),
            ..PodStatusPatch::default()
        };
        self.end_pod(victim, own_grace(&victim), status, ctx)
    }

    /// A critical pod's victims are gone.
    pub(super) fn room_made(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if let Some(worker) = self.workers.get_mut(&pod.id) {
            worker.state = WorkerState::Idle;
            self.await_volumes(pod, ctx);
        }
    }

    /// Waits until a critical pod's victims are gone.
    pub(super) fn await_room(&mut self, pod: BoundPod<'_>, wait: SimDuration, ctx: &mut Ctx<'_, Self>) {
        let ticket = pod.arm_in(wait, PodTimer::RoomMade, ctx);
        let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
        worker.enter(WorkerState::Starting(Launch::Pod, Awaits::Room(ticket)), ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Candidates by class with their CPU and memory, what is lacking of both, and who goes.
    #[track_caller]
    fn check(pods: &[(&'static str, usize, i64, i64)], lacking: [i64; 2], expected: Option<&[&str]>) {
        let mut classes = [Vec::new(), Vec::new(), Vec::new()];
        for &(pod, class, cpu, memory) in pods {
            classes[class].push(Candidate { pod, requests: vec![cpu, memory], size: (memory, cpu) });
        }
        let found = victims(&classes, &lacking);
        let found = found.map(|victims| victims.into_iter().map(|candidate| candidate.pod).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), expected);
    }

    const PODS: [(&str, usize, i64, i64); 5] = [
        ("best-effort", 0, 0, 0),
        ("small", 1, 100, 100),
        ("large", 1, 300, 300),
        ("guaranteed-small", 2, 100, 100),
        ("guaranteed-large", 2, 400, 400),
    ];

    #[test]
    fn the_fewest_pods_of_the_lowest_class_go() {
        check(&PODS, [0, 0], Some(&[]));
        check(&PODS, [100, 0], Some(&["small"]));
        check(&PODS, [200, 50], Some(&["large"]));
        check(&PODS, [350, 0], Some(&["large", "small"]));
    }

    #[test]
    fn guaranteed_pods_go_only_as_far_as_the_others_are_not_enough() {
        check(&PODS, [450, 450], Some(&["large", "small", "guaranteed-small"]));
        check(&PODS, [700, 700], Some(&["large", "guaranteed-large"]));
        check(&PODS, [1000, 0], None);
    }
}
