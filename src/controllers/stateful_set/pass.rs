//! One pass over a StatefulSet: what to create and delete, in order. Pure rules.

use crate::model::{PodManagementPolicy, StatefulSetUpdateStrategyType};
use crate::state::{DeletionCause, Pod, PodId, PodPhase, StatefulSet};
use crate::units::{Rounding, SimDuration, SimTime};

use crate::arena::Symbol;
use crate::component::revision_hash_label;

/// An ordinal and the pod that has it.
pub(super) type Slot<'a> = (i32, Option<(PodId, &'a Pod)>);

/// A StatefulSet as one pass sees it.
pub(super) struct View<'a> {
    pub(super) set: &'a StatefulSet,
    /// Wanted ordinals, ascending.
    pub(super) replicas: Vec<Slot<'a>>,
    /// Pods outside of the wanted ordinals, descending.
    pub(super) condemned: Vec<Slot<'a>>,
    /// Wanted ordinals without a pod whose claims still belong to the pod they had.
    pub(super) stale: Vec<i32>,
    /// Wanted ordinals without a pod, or with a Pending one, of whose claims one is being deleted.
    pub(super) refused: Vec<i32>,
    /// Name of the revision that is being rolled out.
    pub(super) update_revision: Symbol,
    /// Pods that an update may make unavailable at a time; none: the feature gate is off, and it is one after the other.
    pub(super) max_unavailable: Option<i32>,
    /// 1.34+: a pod that is ready, but not for minReadySeconds, counts as unavailable.
    pub(super) counts_min_ready: bool,
    pub(super) now: SimTime,
}

/// Why a pod is deleted.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Finished,
    ScaleDown,
    Update,
}

impl Why {
    pub(super) fn cause(self) -> DeletionCause {
        match self {
            Self::Finished => DeletionCause::Completed,
            Self::ScaleDown => DeletionCause::ScaleDown,
            Self::Update => DeletionCause::RollingUpdate,
        }
    }
}

/// Replicas that are looked at together at most.
pub(super) const BATCH_MAX: usize = 500;

/// What a pass wants.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Ordinals whose pods are to be created.
    pub(super) create: Vec<i32>,
    /// Pods to be deleted, in order.
    pub(super) delete: Vec<(PodId, Why)>,
    /// Ordinals at which the pass failed, as it has to wait for a claim to be gone.
    pub(super) refused: Vec<i32>,
    /// Ordinals whose claims are to be there.
    pub(super) claims: Vec<i32>,
    /// Pods that are Pending; their claims are looked after while they wait.
    pub(super) pending: Vec<(i32, PodId)>,
    /// Pods that are as they should be; their claims are to outlive them.
    pub(super) settled: Vec<(i32, PodId)>,
    /// Pods that are no longer wanted; their claims may go with them.
    pub(super) unwanted: Vec<(i32, PodId)>,
}

pub(super) fn min_ready(set: &StatefulSet) -> SimDuration {
    SimDuration::from_secs(set.spec.min_ready_seconds.max(0).unsigned_abs().into())
}

pub(super) fn is_running_and_ready(pod: &Pod) -> bool {
    pod.phase == PodPhase::Running && pod.is_ready()
}

impl View<'_> {
    fn is_ordered(&self) -> bool {
        self.set.spec.pod_management_policy != Some(PodManagementPolicy::Parallel)
    }

    fn is_available(&self, pod: &Pod) -> bool {
        is_running_and_ready(pod) && pod.is_available(min_ready(self.set), self.now)
    }

    fn is_unavailable(&self, pod: Option<(PodId, &Pod)>) -> bool {
        pod.is_none_or(|(_, pod)| {
            let works = if self.counts_min_ready { self.is_available(pod) } else { is_running_and_ready(pod) };
            !works || pod.deletion.is_some()
        })
    }

    /// The wanted ordinals below this index keep the current revision.
    pub(super) fn partition(&self) -> usize {
        let update = self.set.spec.update_strategy.rolling_update.as_ref();
        update.and_then(|u| u.partition).unwrap_or(0).max(0) as usize
    }

    /// Ordinals below this one are made anew from the current revision, as long as another is being rolled out.
    ///
    /// # Source
    /// statefulset-controller, `newVersionedStatefulSetPod`: those below the partition; of a rolling update that has no
    /// `rollingUpdate` (its type is given, and nothing else), as many as the last status counted as current.
    pub(super) fn kept(&self) -> i32 {
        let (spec, status) = (&self.set.spec, &self.set.status);
        let start = spec.ordinals.as_ref().map_or(0, |ordinals| ordinals.start);
        let is_bare = spec.update_strategy.rolling_update.is_none();
        let rolls = spec.update_strategy.strategy_type != Some(StatefulSetUpdateStrategyType::OnDelete);
        let count = match (is_bare, rolls) {
            (false, _) => i32::try_from(self.partition()).unwrap_or(i32::MAX),
            (true, true) => status.current,
            (true, false) => 0,
        };
        start.saturating_add(count)
    }

    fn is_outdated(&self, pod: &Pod) -> bool {
        pod.labels.get(revision_hash_label()) != Some(self.update_revision)
    }

    /// The pass.
    ///
    /// # Source
    /// statefulset-controller, `updateStatefulSet`: replicas ascending, condemned pods descending, then the update; in
    /// order, a stage that has to wait ends the pass. In parallel replicas are looked at in batches that double
    /// (`slowStartBatch`), of which one with a failure is the last.
    pub(super) fn pass(&self) -> Work {
        let mut work = Work::default();
        let (mut next_batch, mut size) = (0, 1);
        for (index, &slot) in self.replicas.iter().enumerate() {
            if index == next_batch {
                if !work.refused.is_empty() {
                    return work;
                }
                next_batch += size;
                size = (2 * size).min(BATCH_MAX);
            }
            if self.process_replica(slot, &mut work) && self.is_ordered() {
                return work;
            }
        }
        if !work.refused.is_empty() {
            return work;
        }
        let condemned = self.condemned.iter().filter_map(|(ordinal, pod)| pod.map(|(id, _)| (*ordinal, id)));
        work.unwanted.extend(condemned);
        let first_unavailable = self.first_unavailable();
        for &(_, pod) in &self.condemned {
            if let Some(pod) = pod
                && self.process_condemned(pod, first_unavailable, &mut work)
                && self.is_ordered()
            {
                return work;
            }
        }
        if self.set.spec.update_strategy.strategy_type != Some(StatefulSetUpdateStrategyType::OnDelete) {
            match self.max_unavailable {
                None => self.update_one(&mut work),
                Some(limit) => self.update_some(limit, &mut work),
            }
        }
        work
    }

    /// True if the pass has to stop here, in order.
    fn process_replica(&self, (ordinal, pod): Slot<'_>, work: &mut Work) -> bool {
        let Some((id, pod)) = pod else {
            if !self.stale.contains(&ordinal) {
                work.claims.push(ordinal);
                let is_refused = self.refused.contains(&ordinal);
                if is_refused { &mut work.refused } else { &mut work.create }.push(ordinal);
            }
            return true;
        };
        let why = match pod.phase {
            PodPhase::Failed | PodPhase::Succeeded => Some(Why::Finished),
            PodPhase::Pending => {
                work.claims.push(ordinal);
                if self.refused.contains(&ordinal) {
                    work.refused.push(ordinal);
                    return true;
                }
                work.pending.push((ordinal, id));
                None
            }
            PodPhase::Running => None,
        };
        if let Some(why) = why {
            if pod.deletion.is_none() {
                work.delete.push((id, why));
            }
            return true;
        }
        let waits = pod.deletion.is_some() || !is_running_and_ready(pod) || !self.is_available(pod);
        if !(waits && self.is_ordered()) {
            work.settled.push((ordinal, id));
        }
        waits
    }

    /// The lowest unavailable replica, else the lowest unavailable condemned pod.
    fn first_unavailable(&self) -> Option<PodId> {
        let slots = self.replicas.iter().chain(self.condemned.iter().rev());
        let mut unavailable = slots.filter(|(_, pod)| pod.is_some() && self.is_unavailable(*pod));
        unavailable.next().and_then(|(_, pod)| pod.map(|(id, _)| id))
    }

    /// True if the pass has to stop here, in order.
    fn process_condemned(&self, (id, pod): (PodId, &Pod), first_unavailable: Option<PodId>, work: &mut Work) -> bool {
        if pod.deletion.is_some() {
            return true;
        }
        let is_unavailable = !is_running_and_ready(pod) || !self.is_available(pod);
        if self.is_ordered() && is_unavailable && first_unavailable != Some(id) {
            return true;
        }
        work.delete.push((id, Why::ScaleDown));
        true
    }

    /// One pod at a time, from the highest ordinal down to the partition.
    fn update_one(&self, work: &mut Work) {
        for &(_, pod) in self.replicas.iter().skip(self.partition()).rev() {
            if let Some((id, pod)) = pod
                && self.is_outdated(pod)
                && pod.deletion.is_none()
            {
                if !work.delete.iter().any(|(other, _)| *other == id) {
                    work.delete.push((id, Why::Update));
                }
                return;
            }
            if self.is_unavailable(pod) {
                return;
            }
        }
    }

    /// As many pods as may be unavailable.
    ///
    /// # Source
    /// statefulset-controller, `updateStatefulSetAfterInvariantEstablished` (feature gate MaxUnavailableStatefulSet).
    fn update_some(&self, limit: i32, work: &mut Work) {
        let unavailable = self.replicas.iter().filter(|(_, pod)| self.is_unavailable(*pod)).count();
        let room = (limit.max(0) as usize).saturating_sub(unavailable);
        let outdated = self.replicas.iter().skip(self.partition()).rev().filter_map(|(_, pod)| *pod);
        let outdated = outdated.filter(|(_, pod)| self.is_outdated(pod) && pod.deletion.is_none());
        work.delete.extend(outdated.take(room).map(|(id, _)| (id, Why::Update)));
    }
}

/// Pods that an update may make unavailable: percentages round down, at least one.
///
/// # Source
/// statefulset-controller, `getStatefulSetMaxUnavailable`.
pub(super) fn max_unavailable(set: &StatefulSet) -> i32 {
    let update = set.spec.update_strategy.rolling_update.as_ref();
    let limit = update.and_then(|u| u.max_unavailable);
    limit.map_or(1, |v| v.resolve(set.spec.replicas.unwrap_or(1), Rounding::Down)).max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::StatefulSetSpec;
    use crate::state::{NodeId, PodCondition, StatefulSetStatus, Status, Store};
    use crate::testing::{bare_pod, marked, meta};

    const NOW: SimTime = SimTime::from_secs(1000);

    /// One letter a pod: `r` ready (new template), `o` ready (old template), `n` not ready, `b` not ready (old template), `p`
    /// pending, `f` failed, `s` succeeded, `t` terminating, `y` ready for ten seconds (old template), `-` none.
    fn pod(letter: char, name: &str, node: NodeId) -> Option<Pod> {
        let mut pod = bare_pod(name, 1);
        let is_old = matches!(letter, 'o' | 'b' | 'y');
        let revision = Symbol::new(if is_old { "old" } else { "new" });
        pod.labels = pod.labels.with(revision_hash_label(), revision);
        pod.node = Some(node);
        pod.phase = match letter {
            '-' => return None,
            'p' => PodPhase::Pending,
            'f' => PodPhase::Failed,
            's' => PodPhase::Succeeded,
            _ => PodPhase::Running,
        };
        if matches!(letter, 'r' | 'o' | 't' | 'y') {
            let since = if letter == 'y' { SimTime::from_secs(990) } else { SimTime::from_secs(900) };
            pod.ready = Some(PodCondition { status: Status::True, since });
        }
        pod.deletion = (letter == 't').then(|| marked(SimTime::from_secs(990)));
        Some(pod)
    }

    struct Case {
        /// Spec without replicas.
        spec: &'static str,
        max_unavailable: Option<i32>,
        /// Ordinals with a claim that is being deleted.
        refused: &'static [i32],
    }

    impl Case {
        /// Ordinals created and deleted.
        #[track_caller]
        fn check(&self, replicas: &str, condemned: &str, created: &[i32], deleted: &[i32]) {
            let mut store = Store::default();
            let node = store.node_slot(Symbol::new("n"));
            let spec: StatefulSetSpec = serde_json::from_str(self.spec).expect("a spec");
            let set =
                StatefulSet { meta: meta("web", None), spec: Arc::new(spec), status: StatefulSetStatus::default() };
            let mut ids = Vec::new();
            for (ordinal, letter) in replicas.chars().chain(condemned.chars()).enumerate() {
                ids.push(pod(letter, &format!("web-{ordinal}"), node).map(|pod| store.insert_pod(pod)));
            }
            let slot = |ordinal: usize| {
                let pod = ids[ordinal].and_then(|id| store.pod(id).map(|pod| (id, pod)));
                (ordinal as i32, pod)
            };
            let view = View {
                set: &set,
                replicas: (0..replicas.len()).map(slot).collect(),
                condemned: (replicas.len()..ids.len()).rev().map(slot).collect(),
                stale: Vec::new(),
                refused: self.refused.to_vec(),
                update_revision: Symbol::new("new"),
                max_unavailable: self.max_unavailable,
                counts_min_ready: true,
                now: NOW,
            };
            let work = view.pass();
            assert_eq!(work.create, created, "created of {replicas}|{condemned}");
            let ordinal = |pod: PodId| ids.iter().position(|id| *id == Some(pod)).expect("a pod of the set") as i32;
            let found: Vec<i32> = work.delete.iter().map(|(pod, _)| ordinal(*pod)).collect();
            assert_eq!(found, deleted, "deleted of {replicas}|{condemned}");
        }
    }

    const ORDERED: Case = Case { spec: "{}", max_unavailable: None, refused: &[] };
    const PARALLEL: Case = Case { spec: r#"{"podManagementPolicy":"Parallel"}"#, ..ORDERED };

    #[test]
    fn a_claim_that_is_being_deleted_ends_the_pass_with_its_batch() {
        Case { refused: &[0], ..ORDERED }.check("---", "r", &[], &[]);
        Case { refused: &[1], ..ORDERED }.check("---", "", &[0], &[]);
        // Batches of one, two and four.
        Case { refused: &[0], ..PARALLEL }.check("-----", "", &[], &[]);
        Case { refused: &[1], ..PARALLEL }.check("-----", "r", &[0, 2], &[]);
        Case { refused: &[2], ..PARALLEL }.check("-rp--", "r", &[0], &[]);
        Case { refused: &[4], ..PARALLEL }.check("-----", "r", &[0, 1, 2, 3], &[]);
        // Those that are there and not Pending need no claim.
        Case { refused: &[], ..PARALLEL }.check("r-r", "r", &[1], &[3]);
    }

    #[test]
    fn pods_are_made_one_after_the_other() {
        ORDERED.check("---", "", &[0], &[]);
        ORDERED.check("p--", "", &[], &[]);
        ORDERED.check("n--", "", &[], &[]);
        ORDERED.check("r--", "", &[1], &[]);
        ORDERED.check("-r-r-", "", &[0], &[]);
        ORDERED.check("pr-r-", "", &[], &[]);
        ORDERED.check("rr-r-", "", &[2], &[]);
        ORDERED.check("rrpr-", "", &[], &[]);
        ORDERED.check("rrrr-", "", &[4], &[]);
        ORDERED.check("rrr", "", &[], &[]);
        PARALLEL.check("---", "", &[0, 1, 2], &[]);
        PARALLEL.check("n-t", "", &[1], &[]);
    }

    #[test]
    fn finished_pods_are_replaced() {
        ORDERED.check("frr", "", &[], &[0]);
        ORDERED.check("srr", "", &[], &[0]);
        PARALLEL.check("f-s", "", &[1], &[0, 2]);
    }

    #[test]
    fn a_terminating_pod_keeps_its_place() {
        ORDERED.check("rt-", "", &[], &[]);
        ORDERED.check("t----", "", &[], &[]);
        PARALLEL.check("rt-", "", &[2], &[]);
    }

    #[test]
    fn scaling_down_goes_from_the_top_and_waits_for_the_sick() {
        ORDERED.check("rrr", "rr", &[], &[4]);
        ORDERED.check("rrr", "rt", &[], &[]);
        ORDERED.check("rrr", "tt", &[], &[]);
        ORDERED.check("rnr", "rr", &[], &[]);
        ORDERED.check("rrr", "rn", &[], &[4]);
        ORDERED.check("rrr", "nn", &[], &[]);
        PARALLEL.check("rnr", "rr", &[], &[4, 3]);
    }

    #[test]
    fn an_update_goes_one_by_one_from_the_top() {
        ORDERED.check("ooo", "", &[], &[2]);
        ORDERED.check("oor", "", &[], &[1]);
        ORDERED.check("oon", "", &[], &[]);
        ORDERED.check("oob", "", &[], &[]);
        PARALLEL.check("oob", "", &[], &[2]);
        PARALLEL.check("oon", "", &[], &[]);
        PARALLEL.check("oot", "", &[], &[]);
    }

    #[test]
    fn partition_and_min_ready_seconds_hold_an_update_back() {
        let partition = Case { spec: r#"{"updateStrategy":{"rollingUpdate":{"partition":2}}}"#, ..ORDERED };
        partition.check("ooo", "", &[], &[2]);
        partition.check("oor", "", &[], &[]);
        let min_ready = Case { spec: r#"{"minReadySeconds":30}"#, ..ORDERED };
        min_ready.check("yyy", "", &[], &[]);
        min_ready.check("ooo", "", &[], &[2]);
        let by_hand = Case { spec: r#"{"updateStrategy":{"type":"OnDelete"}}"#, ..ORDERED };
        by_hand.check("ooo", "", &[], &[]);
    }

    #[test]
    fn with_the_gate_as_many_go_as_may_be_unavailable() {
        let spec = r#"{"podManagementPolicy":"Parallel","updateStrategy":{"rollingUpdate":{"partition":3}}}"#;
        let case = Case { spec, max_unavailable: Some(2), ..ORDERED };
        case.check("oooooo", "", &[], &[5, 4]);
        case.check("ooootn", "", &[], &[]);
        case.check("oooorn", "", &[], &[3]);
        case.check("nooooo", "", &[], &[5]);
    }

    #[test]
    fn max_unavailable_rounds_down_to_one_at_least() {
        let check = |value: &str, replicas: i32, expected: i32| {
            let spec = format!(
                r#"{{"replicas":{replicas},"updateStrategy":{{"rollingUpdate":{{"maxUnavailable":{value}}}}}}}"#
            );
            let spec: StatefulSetSpec = serde_json::from_str(&spec).expect("a spec");
            let set =
                StatefulSet { meta: meta("web", None), spec: Arc::new(spec), status: StatefulSetStatus::default() };
            assert_eq!(max_unavailable(&set), expected, "{value} of {replicas}");
        };
        check("null", 5, 1);
        check("\"10%\"", 25, 2);
        check("\"50%\"", 5, 2);
        check("\"1%\"", 5, 1);
        check("0", 5, 1);
    }
}
