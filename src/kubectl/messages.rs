//! The messages of conditions: each follows from the reason, and from what the condition is about.

use super::rollout::revision;
use crate::arena::Symbol;
use crate::state::{DeploymentId, DeploymentReason, DisruptionReason, Node, NodeConditionKind, Pod, Status, Store};

/// Of a Deployment's condition.
///
/// # Source
/// kube-controller-manager, deployment controller: `calculateStatus`, `syncRolloutStatus`, `getNewReplicaSet`, `checkPausedConditions`.
///
/// # Differs
/// Why a ReplicaSet could not be made is not kept.
pub(super) fn of_deployment(id: DeploymentId, reason: DeploymentReason, store: &Store) -> Option<String> {
    let sets = store.replica_sets_of(id).iter().filter_map(|set| store.replica_sets.get(*set));
    let newest = sets.max_by_key(|set| revision(&set.meta)).map(|set| set.meta.name);
    let of_set = |name: Symbol| format!("ReplicaSet \"{name}\"");
    let own = || format!("Deployment \"{}\"", store.deployments.get(id).map(|d| d.meta.name).unwrap_or_default());
    let subject = newest.map_or_else(own, of_set);
    let newest = newest.unwrap_or_default();
    Some(match reason {
        DeploymentReason::MinimumReplicasAvailable => "Deployment has minimum availability.".to_owned(),
        DeploymentReason::MinimumReplicasUnavailable => "Deployment does not have minimum availability.".to_owned(),
        DeploymentReason::NewReplicaSetCreated => format!("Created new replica set \"{newest}\""),
        DeploymentReason::FoundNewReplicaSet => format!("Found new replica set \"{newest}\""),
        DeploymentReason::ReplicaSetUpdated => format!("{subject} is progressing."),
        DeploymentReason::NewReplicaSetAvailable => format!("{subject} has successfully progressed."),
        DeploymentReason::ProgressDeadlineExceeded => format!("{subject} has timed out progressing."),
        DeploymentReason::DeploymentPaused => "Deployment is paused".to_owned(),
        DeploymentReason::DeploymentResumed => "Deployment is resumed".to_owned(),
        DeploymentReason::ReplicaSetCreateError | DeploymentReason::Other(_) => return None,
    })
}

/// Of a pod's condition `DisruptionTarget`.
///
/// # Source
/// kube-scheduler, `prepareCandidate`; taint-eviction-controller, `addConditionAndDeletePod`; API server, `EvictionREST`; pod garbage
/// collector, `markFailedAndDeletePod`.
///
/// # Differs
/// The scheduler that preempts has the name that the victim's own has. What a kubelet says of the pods that it ends is not kept.
pub(super) fn of_disruption(pod: &Pod, reason: DisruptionReason) -> Option<String> {
    Some(match reason {
        DisruptionReason::PreemptionByScheduler => {
            let name = pod.spec.spec.scheduler_name.map_or("default-scheduler", Symbol::as_str);
            format!("{name}: preempting to accommodate a higher priority pod")
        }
        DisruptionReason::DeletionByTaintManager => "Taint manager: deleting due to NoExecute taint".to_owned(),
        DisruptionReason::EvictionByEvictionApi => "Eviction API: evicting".to_owned(),
        DisruptionReason::DeletionByPodGc => "PodGC: node no longer exists".to_owned(),
        DisruptionReason::TerminationByKubelet => return None,
    })
}

/// Of a node's condition.
///
/// # Source
/// node lifecycle controller, `tryUpdateNodeHealth`; kubelet, `nodestatus/setters.go`.
///
/// # Differs
/// Why a kubelet is not ready is not kept.
pub(super) fn of_node(node: &Node, kind: NodeConditionKind) -> Option<&'static str> {
    let condition = node.conditions.get(kind)?;
    Some(match (condition.reason, condition.status) {
        ("NodeStatusUnknown", Status::Unknown) => "Kubelet stopped posting node status.",
        ("NodeStatusNeverUpdated", Status::Unknown) => "Kubelet never posted node status.",
        ("KubeletReady", Status::True) => "kubelet is posting ready status",
        ("KubeletHasSufficientMemory", Status::False) => "kubelet has sufficient memory available",
        ("KubeletHasInsufficientMemory", Status::True) => "kubelet has insufficient memory available",
        ("KubeletHasNoDiskPressure", Status::False) => "kubelet has no disk pressure",
        ("KubeletHasDiskPressure", Status::True) => "kubelet has disk pressure",
        ("KubeletHasSufficientPID", Status::False) => "kubelet has sufficient PID available",
        ("KubeletHasInsufficientPID", Status::True) => "kubelet has insufficient PID available",
        _ => return None,
    })
}
