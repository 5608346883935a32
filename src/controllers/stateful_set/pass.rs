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
    /// Name of the revision that is being rolled out.
    pub(super) update_revision: Symbol,
    /// Pods that an update may make unavailable at a time; none: the feature gate is off, and it is one after the other.
    pub(super) max_unavailable: Option<i32>,
    /// 1.34+: a pod that is ready, but not for minReadySeconds, counts as unavailable.
    pub(super) counts_min_ready: bool,
    pub(super) now: SimTime,
}

/// Why a pod is deleted, for the event that goes with it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Failed,
    Succeeded,
    ScaleDown,
    Update,
}

impl Why {
    pub(super) fn cause(self) -> DeletionCause {
        match self {
            Self::Failed | Self::Succeeded => DeletionCause::Completed,
            Self::ScaleDown => DeletionCause::ScaleDown,
            Self::Update => DeletionCause::RollingUpdate,
        }
    }
}

/// What a pass wants.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Ordinals whose pods are to be created.
    pub(super) create: Vec<i32>,
    /// Pods to be deleted, in order.
    pub(super) delete: Vec<(PodId, Why)>,
    /// Ordinals whose claims are to be there.
    pub(super) claims: Vec<i32>,
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

    fn is_outdated(&self, pod: &Pod) -> bool {
        pod.labels.get(revision_hash_label()) != Some(self.update_revision)
    }

    /// The pass.
    ///
    /// # Source
    /// statefulset-controller, `updateStatefulSet`: replicas ascending, condemned pods descending, then the update; in
    /// order, a stage that has to wait ends the pass.
    pub(super) fn pass(&self) -> Work {
        let mut work = Work::default();
        for &slot in &self.replicas {
            if self.process_replica(slot, &mut work) && self.is_ordered() {
                return work;
            }
        }
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
            work.claims.push(ordinal);
            work.create.push(ordinal);
            return true;
        };
        let why = match pod.phase {
            PodPhase::Failed => Some(Why::Failed),
            PodPhase::Succeeded => Some(Why::Succeeded),
            PodPhase::Pending => {
                work.claims.push(ordinal);
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
        pod.deletion.is_some() || !is_running_and_ready(pod) || !self.is_available(pod)
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
