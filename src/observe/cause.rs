//! What a cause of deletion means for whoever counts: the one place that tells evictions from what was wanted.

use crate::state::{DeletionCause, PodPhase};

/// Whether the cluster took the pod from its owner for the sake of a node: by a taint, through the eviction API, because the node is
/// gone, or because its kubelet ended it.
pub(super) fn is_eviction(cause: DeletionCause) -> bool {
    match cause {
        DeletionCause::TaintManagerEviction
        | DeletionCause::EvictionByEvictionApi
        | DeletionCause::DeletionByPodGc
        | DeletionCause::TerminationByKubelet
        | DeletionCause::NodePressure => true,
        DeletionCause::PreemptionByScheduler
        | DeletionCause::ScaleDown
        | DeletionCause::RollingUpdate
        | DeletionCause::DaemonSetController
        | DeletionCause::OwnerDeleted
        | DeletionCause::Kubectl
        | DeletionCause::PodKill
        | DeletionCause::Completed => false,
    }
}

/// Whether neither an operator nor the pod's owner wanted it: an eviction, a preemption, or a fault that kills pods.
pub(super) fn is_disruption(cause: DeletionCause) -> bool {
    is_eviction(cause) || matches!(cause, DeletionCause::PreemptionByScheduler | DeletionCause::PodKill)
}

/// Whether a pod that nothing makes anew is lost by this, and not ended on purpose. A failed one that is cleaned up stays lost.
pub(super) fn is_loss(cause: DeletionCause, phase: PodPhase) -> bool {
    is_disruption(cause) || (cause == DeletionCause::Completed && phase == PodPhase::Failed)
}
