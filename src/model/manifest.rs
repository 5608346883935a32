//! Interim: objects of manifests.

use super::*;

/// Any object that a manifest can hold and that is modelled.
#[allow(missing_docs)]
#[derive(Clone, Debug)]
pub enum Object {
    Namespace(Namespace),
    Node(Node),
    Pod(Pod),
    Deployment(Deployment),
    ReplicaSet(ReplicaSet),
    ReplicationController(ReplicationController),
    DaemonSet(DaemonSet),
    StatefulSet(StatefulSet),
    Job(Job),
    CronJob(CronJob),
    PodDisruptionBudget(PodDisruptionBudget),
    PriorityClass(PriorityClass),
    Service(Service),
    PersistentVolume(PersistentVolume),
    PersistentVolumeClaim(PersistentVolumeClaim),
    StorageClass(StorageClass),
    ControllerRevision(ControllerRevision),
    HorizontalPodAutoscaler(HorizontalPodAutoscaler),
}
