//! The cluster as a watcher of every change knows it, against the store.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::containers::Containers;
use crate::model::config::KubernetesVersion;
use crate::state::{
    Changed, CronJobStatus, DaemonSetStatus, Deletion, DeploymentStatus, JobStatus, Node, NodeDelta, NodeId, Owner,
    Pod, PodDelta, PodDisruptionBudgetId, PodDisruptionBudgetStatus, PodId, Propagation, ReplicaSetStatus,
    StatefulSetStatus, Store, WorkloadId,
};
use crate::units::SimTime;

/// What the changes so far add up to.
#[derive(Clone, Debug, Default)]
pub(super) struct Mirror {
    pods: FxHashMap<PodId, Pod>,
    containers: Containers,
    nodes: FxHashMap<NodeId, Arc<Node>>,
    workloads: FxHashMap<WorkloadId, Image>,
    budgets: FxHashMap<PodDisruptionBudgetId, (i64, PodDisruptionBudgetStatus)>,
    /// What the present event changed.
    touched_pods: Vec<PodId>,
    touched_nodes: Vec<NodeId>,
    touched_workloads: Vec<WorkloadId>,
    touched_budgets: Vec<PodDisruptionBudgetId>,
}

/// A workload as its updates show it.
#[derive(Clone, Debug, PartialEq)]
struct Image {
    generation: i64,
    deleting: Option<(SimTime, Propagation)>,
    owner: Option<Owner>,
    status: Status,
}

#[derive(Clone, Debug, PartialEq)]
enum Status {
    Deployment(DeploymentStatus),
    ReplicaSet(i32, ReplicaSetStatus),
    DaemonSet(DaemonSetStatus),
    StatefulSet(StatefulSetStatus),
    Job(Box<JobStatus>),
    CronJob(CronJobStatus),
}

impl Image {
    fn of(id: WorkloadId, store: &Store) -> Option<Self> {
        let meta = store.workload_meta(id)?;
        let status = match id {
            WorkloadId::Deployment(id) => Status::Deployment(store.deployments.get(id)?.status),
            WorkloadId::ReplicaSet(id) => {
                let set = store.replica_sets.get(id)?;
                Status::ReplicaSet(set.replicas, set.status)
            }
            WorkloadId::DaemonSet(id) => Status::DaemonSet(store.daemon_sets.get(id)?.status),
            WorkloadId::StatefulSet(id) => Status::StatefulSet(store.stateful_sets.get(id)?.status),
            WorkloadId::Job(id) => Status::Job(Box::new(store.jobs.get(id)?.status.clone())),
            WorkloadId::CronJob(id) => Status::CronJob(store.cron_jobs.get(id)?.status.clone()),
        };
        Some(Self { generation: meta.generation, deleting: meta.deleting, owner: meta.owner, status })
    }
}

impl Mirror {
    pub(super) fn new(store: &Store, version: KubernetesVersion) -> Self {
        Self {
            containers: Containers::new(store, version),
            pods: store.pods().map(|(id, pod)| (id, pod.clone())).collect(),
            nodes: store.nodes().map(|(id, node)| (id, Arc::clone(node))).collect(),
            workloads: store.workload_ids().filter_map(|id| Some((id, Image::of(id, store)?))).collect(),
            budgets: store.budgets.iter().map(|(id, b)| (id, (b.meta.generation, b.status.clone()))).collect(),
            ..Self::default()
        }
    }

    /// The pod as the changes so far have it.
    pub(super) fn pod(&self, id: PodId) -> Option<&Pod> {
        self.pods.get(&id)
    }

    /// The budget's status as the changes so far have it.
    pub(super) fn budget_status(&self, id: PodDisruptionBudgetId) -> Option<&PodDisruptionBudgetStatus> {
        self.budgets.get(&id).map(|(_, status)| status)
    }

    /// Takes a change in: of a pod, only the parts that the change names.
    pub(super) fn changed(&mut self, what: &Changed, store: &Store) -> Result<(), String> {
        match what {
            Changed::PodAdded(id) => {
                let Some(pod) = store.pod(*id) else { return Ok(()) };
                if self.pods.insert(*id, pod.clone()).is_some() {
                    return Err(format!("pod {} was added twice", pod_name(pod)));
                }
                self.containers.added(*id, pod);
                self.touched_pods.push(*id);
            }
            Changed::PodUpdated { pod: id, delta, .. } => {
                let Some(now) = store.pod(*id) else { return Ok(()) };
                let Some(known) = self.pods.get_mut(id) else {
                    return Err(format!("pod {} was updated before it was added", pod_name(now)));
                };
                check_step(known, now)?;
                self.containers.step(*id, known, now, *delta)?;
                copy_parts(known, now, *delta);
                self.touched_pods.push(*id);
            }
            Changed::PodRemoved { pod: id, last } => {
                if self.pods.remove(id).is_none() {
                    return Err(format!("pod {} was removed twice", pod_name(last)));
                }
                self.containers.removed(*id);
            }
            Changed::NodeAdded(id) | Changed::NodeUpdated { node: id, .. } => self.node_changed(*id, what, store)?,
            Changed::NodeRemoved { node, .. } => {
                if self.nodes.remove(node).is_none() {
                    return Err(format!("node {} was removed twice", store.node_name(*node)));
                }
            }
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) => {
                if let Some(image) = Image::of(*id, store) {
                    let known = self.workloads.insert(*id, image).is_some();
                    if known != matches!(what, Changed::WorkloadUpdated(..)) {
                        return Err(format!("{id:?} was added twice, or updated before it was added"));
                    }
                    self.touched_workloads.push(*id);
                }
            }
            Changed::WorkloadRemoved(id) => {
                if self.workloads.remove(id).is_none() {
                    return Err(format!("{id:?} was removed twice"));
                }
            }
            Changed::BudgetAdded(id) | Changed::BudgetUpdated(id, _) => {
                if let Some(budget) = store.budgets.get(*id) {
                    self.budgets.insert(*id, (budget.meta.generation, budget.status.clone()));
                    self.touched_budgets.push(*id);
                }
            }
            Changed::BudgetRemoved(id) => {
                if self.budgets.remove(id).is_none() {
                    return Err(format!("{id:?} was removed twice"));
                }
            }
            Changed::HeartbeatChanged(_)
            | Changed::ServiceChanged(_)
            | Changed::ServiceRemoved(_)
            | Changed::EndpointsChanged(_)
            | Changed::AutoscalerChanged(_)
            | Changed::AutoscalerRemoved(_)
            | Changed::QuotaChanged(_)
            | Changed::NamespaceChanged(_)
            | Changed::NamespaceRemoved(_)
            | Changed::VolumeChanged(_)
            | Changed::VolumeRemoved(_)
            | Changed::ClaimChanged(_)
            | Changed::ClaimRemoved(_)
            | Changed::ReferencesChanged
            | Changed::StorageChanged
            | Changed::AttachmentChanged { .. } => {}
        }
        Ok(())
    }

    fn node_changed(&mut self, id: NodeId, what: &Changed, store: &Store) -> Result<(), String> {
        let Some(now) = store.node(id) else { return Ok(()) };
        let name = store.node_name(id);
        let known = self.nodes.insert(id, Arc::clone(now));
        self.touched_nodes.push(id);
        match (what, known) {
            (Changed::NodeUpdated { before, delta, .. }, Some(known)) => {
                // A request that writes a node twice publishes both: the second begins where the first ended.
                let is_first = !parts_of_node(before, &known).into_iter().any(|(_, differs)| differs);
                let hidden =
                    parts_of_node(&known, now).into_iter().find(|(part, differs)| *differs && !delta.touches(*part));
                match hidden {
                    Some((part, _)) if is_first => Err(format!("node {name} changed {part:?} without saying so")),
                    _ => Ok(()),
                }
            }
            (Changed::NodeAdded(_), None) => Ok(()),
            _ => Err(format!("node {name} was added twice, or updated before it was added")),
        }
    }

    /// What the event changed is what it said.
    pub(super) fn compare_touched(&mut self, store: &Store) -> Result<(), String> {
        for id in std::mem::take(&mut self.touched_pods) {
            self.compare_pod(id, store)?;
        }
        for id in std::mem::take(&mut self.touched_nodes) {
            self.compare_node(id, store)?;
        }
        for id in std::mem::take(&mut self.touched_workloads) {
            self.compare_workload(id, store)?;
        }
        for id in std::mem::take(&mut self.touched_budgets) {
            self.compare_budget(id, store)?;
        }
        Ok(())
    }

    /// Nothing changed but what was said.
    pub(super) fn compare_all(&self, store: &Store) -> Result<(), String> {
        let counts = (store.pod_count(), store.node_count(), store.workload_ids().count(), store.budgets.len());
        let known = (self.pods.len(), self.nodes.len(), self.workloads.len(), self.budgets.len());
        if counts != known {
            return Err(format!("there are {counts:?} pods, nodes, workloads and budgets; changes told of {known:?}"));
        }
        store.pods().try_for_each(|(id, _)| self.compare_pod(id, store))?;
        store.nodes().try_for_each(|(id, _)| self.compare_node(id, store))?;
        store.workload_ids().try_for_each(|id| self.compare_workload(id, store))?;
        store.budgets.ids().try_for_each(|id| self.compare_budget(id, store))
    }

    fn compare_pod(&self, id: PodId, store: &Store) -> Result<(), String> {
        let (Some(known), Some(now)) = (self.pods.get(&id), store.pod(id)) else {
            let exists = store.pod(id).is_some();
            return if self.pods.contains_key(&id) == exists { Ok(()) } else { Err(format!("{id:?} changed unseen")) };
        };
        match parts_of_pod(known, now).into_iter().find(|(_, differs)| *differs) {
            Some((part, _)) => Err(format!("pod {} changed its {part} without saying so", pod_name(now))),
            None => Ok(()),
        }
    }

    fn compare_node(&self, id: NodeId, store: &Store) -> Result<(), String> {
        let same = match (self.nodes.get(&id), store.node(id)) {
            // A status that says nothing new makes a new version, which no watch delivers.
            (Some(known), Some(now)) => !parts_of_node(known, now).into_iter().any(|(_, differs)| differs),
            (known, now) => known.is_none() == now.is_none(),
        };
        if same { Ok(()) } else { Err(format!("node {} changed without saying so", store.node_name(id))) }
    }

    fn compare_workload(&self, id: WorkloadId, store: &Store) -> Result<(), String> {
        let now = Image::of(id, store);
        if self.workloads.get(&id) == now.as_ref() {
            return Ok(());
        }
        let name = store.workload_meta(id).map(|meta| format!("{}/{}", meta.namespace, meta.name)).unwrap_or_default();
        Err(format!("{} {name} changed without saying so", store.workload_kind(id).as_str()))
    }

    fn compare_budget(&self, id: PodDisruptionBudgetId, store: &Store) -> Result<(), String> {
        let now = store.budgets.get(id);
        let is_same = match (self.budgets.get(&id), now) {
            (Some((generation, status)), Some(now)) => *generation == now.meta.generation && *status == now.status,
            (known, now) => known.is_none() == now.is_none(),
        };
        if is_same { Ok(()) } else { Err(format!("{id:?} changed without saying so")) }
    }
}

/// A pod in the user's words.
pub(super) fn pod_name(pod: &Pod) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

/// What no update may do to a pod.
fn check_step(before: &Pod, now: &Pod) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("pod {} {what}", pod_name(now)));
    if before.uid != now.uid || before.name != now.name || before.namespace != now.namespace {
        return wrong("became another");
    }
    if before.node.is_some() && before.node != now.node {
        return wrong("was bound twice");
    }
    if before.phase.is_terminal() && before.phase != now.phase {
        return wrong("lives again after its end");
    }
    match (before.deletion, now.deletion) {
        (Some(_), None) => return wrong("is no longer being deleted"),
        (Some(Deletion { grace, .. }), Some(later)) if later.grace > grace => {
            return wrong("was given more time to end");
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn copy_parts(known: &mut Pod, now: &Pod, delta: PodDelta) {
    if delta.touches(PodDelta::LABELS) {
        known.labels = now.labels.clone();
    }
    if delta.touches(PodDelta::OWNER) {
        known.owner = now.owner;
    }
    if delta.touches(PodDelta::NODE) {
        (known.node, known.scheduled_at) = (now.node, now.scheduled_at);
    }
    if delta.touches(PodDelta::DELETION) {
        known.deletion = now.deletion;
    }
    if delta.touches(PodDelta::PHASE) {
        (known.phase, known.reason) = (now.phase, now.reason);
    }
    if delta.touches(PodDelta::READY) {
        known.ready = now.ready;
    }
    if delta.touches(PodDelta::READY | PodDelta::CONTAINERS) {
        known.containers_ready = now.containers_ready;
    }
    if delta.touches(PodDelta::CONDITIONS) {
        known.not_scheduled = now.not_scheduled.clone();
        known.disruption_target = now.disruption_target;
    }
    if delta.touches(PodDelta::NOMINATION) {
        known.nominated_node = now.nominated_node;
    }
    if delta.touches(PodDelta::CONTAINERS) {
        known.containers = now.containers.clone();
        known.init_containers = now.init_containers.clone();
        known.started_at = now.started_at;
    }
    if delta.touches(PodDelta::SPEC | PodDelta::ANNOTATIONS) {
        known.spec = Arc::clone(&now.spec);
        known.own_annotations.clone_from(&now.own_annotations);
    }
    if delta.touches(PodDelta::FINALIZERS) {
        known.job_tracking = now.job_tracking;
    }
}

fn parts_of_pod(known: &Pod, now: &Pod) -> [(&'static str, bool); 15] {
    [
        ("labels", known.labels != now.labels),
        ("owner", known.owner != now.owner),
        ("node", known.node != now.node || known.scheduled_at != now.scheduled_at),
        ("deletion", known.deletion != now.deletion),
        ("phase", known.phase != now.phase || known.reason != now.reason),
        ("Ready condition", known.ready != now.ready),
        ("ContainersReady condition", known.containers_ready != now.containers_ready),
        ("PodScheduled condition", known.not_scheduled != now.not_scheduled),
        ("DisruptionTarget condition", known.disruption_target != now.disruption_target),
        ("nominated node", known.nominated_node != now.nominated_node),
        ("containers", known.containers != now.containers || known.init_containers != now.init_containers),
        ("start time", known.started_at != now.started_at),
        ("spec", !Arc::ptr_eq(&known.spec, &now.spec)),
        ("annotations", known.own_annotations != now.own_annotations),
        ("finalizers", known.job_tracking != now.job_tracking),
    ]
}

fn parts_of_node(known: &Node, now: &Node) -> [(NodeDelta, bool); 7] {
    [
        (NodeDelta::LABELS, known.labels != now.labels),
        (NodeDelta::TAINTS, known.taints != now.taints),
        (NodeDelta::UNSCHEDULABLE, known.unschedulable != now.unschedulable),
        (NodeDelta::CONDITIONS, known.conditions != now.conditions),
        (
            NodeDelta::ALLOCATABLE,
            known.allocatable != now.allocatable || known.allocatable_pods != now.allocatable_pods,
        ),
        (NodeDelta::ANNOTATIONS, known.annotations != now.annotations),
        (NodeDelta::IMAGES, !Arc::ptr_eq(&known.images, &now.images)),
    ]
}
