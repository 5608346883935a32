//! The store: every object, and the indexes that follow each write.
//!
//! The mutating functions keep the indexes true and nothing else; rules (admission, preconditions, what a write means)
//! are the API server's, which is the only caller.

mod audit;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::autoscaler::{Autoscaler, AutoscalerKey};
use super::daemon_pods::DaemonPods;
use super::heartbeat::Heartbeat;
use super::machines::Machine;
use super::meta::{Owner, OwnerName};
use super::nodes::{Node, NodeId, NodeSlot};
use super::pods::{CrashLoop, Pod, PodId};
use super::quota::{Quota, QuotaKey};
use super::references::References;
use super::requested::Requested;
use super::stored::Stored;
use super::volumes::Volumes;
use super::workload::{Workload, WorkloadId};
use super::workloads::{
    ControllerRevision, ControllerRevisionId, CronJob, DaemonSet, DaemonSetId, Deployment, DeploymentId, Job, JobId,
    Namespace, PodDisruptionBudget, PriorityClass, ReplicaSet, ReplicaSetId, Service, StatefulSet,
};
use crate::arena::{Symbol, Table};
use crate::model::{LimitRangeSpec, ObjectKind, PodConditionType, RuntimeClass};

type PodSet = IndexSet<PodId, FxBuildHasher>;

/// Every object of the cluster and every machine.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// Namespaces.
    pub namespaces: Table<Namespace>,
    /// Deployments.
    pub deployments: Table<Deployment>,
    /// ReplicaSets and ReplicationControllers.
    pub replica_sets: Table<ReplicaSet>,
    /// DaemonSets.
    pub daemon_sets: Table<DaemonSet>,
    /// StatefulSets.
    pub stateful_sets: Table<StatefulSet>,
    /// Jobs.
    pub jobs: Table<Job>,
    /// CronJobs.
    pub cron_jobs: Table<CronJob>,
    /// ControllerRevisions.
    pub controller_revisions: Table<ControllerRevision>,
    /// PodDisruptionBudgets.
    pub budgets: Table<PodDisruptionBudget>,
    /// PriorityClasses.
    pub priority_classes: Table<PriorityClass>,
    /// RuntimeClasses, by name.
    pub runtime_classes: BTreeMap<Symbol, Arc<RuntimeClass>>,
    /// Services.
    pub services: Table<Service>,
    /// Objects of kinds that decide nothing, by printed kind, namespace and name; forks of a run share them.
    pub stored: Arc<BTreeMap<(Symbol, Symbol, Symbol), Stored>>,
    /// Owners of objects beside those that `owner` says.
    pub references: References,
    /// HorizontalPodAutoscalers, by namespace and name.
    pub autoscalers: BTreeMap<AutoscalerKey, Autoscaler>,
    /// LimitRanges, with all defaults, by namespace and name.
    pub limit_ranges: BTreeMap<(Symbol, Symbol), Arc<LimitRangeSpec>>,
    /// ResourceQuotas, by namespace and name.
    pub quotas: BTreeMap<QuotaKey, Quota>,
    /// PersistentVolumes, claims, classes, attachments.
    pub volumes: Volumes,
    /// Workloads whose pods crash; forks of a run share them.
    pub crash_loops: Arc<[CrashLoop]>,
    /// Conditions of readiness gates that nobody writes; forks of a run share them.
    pub unwritten_gates: Arc<[PodConditionType]>,
    /// Nobody describes Nodes that wait for a cloud: kubelets have reported them, and none is an instance of one.
    pub is_without_cloud: bool,
    pods: Table<Pod>,
    nodes: Table<NodeSlot>,
    machines: Vec<Machine>,
    heartbeats: Vec<Heartbeat>,
    node_names: FxHashMap<Symbol, NodeId>,
    node_count: usize,
    /// How often a node name has come up, or a Node object has come or gone.
    node_changes: u64,
    pod_names: FxHashMap<(Symbol, Arc<str>), PodId>,
    pods_by_node: Vec<PodSet>,
    /// Those of them that have not ended: thousands that have may stay until they are collected.
    unfinished_by_node: Vec<PodSet>,
    /// What those ask for.
    requested_by_node: Vec<Requested>,
    pods_by_owner: FxHashMap<WorkloadId, PodSet>,
    /// Workloads that have gone and still have pods, whose owner references name them.
    gone_owners: FxHashMap<WorkloadId, OwnerName>,
    /// Those of DaemonSets once more, by node.
    daemon_pods: FxHashMap<DaemonSetId, DaemonPods>,
    pods_by_namespace: FxHashMap<Symbol, PodSet>,
    /// Pods without a controlling owner, by namespace: what adoption looks at.
    ownerless_pods: FxHashMap<Symbol, PodSet>,
    tallies: FxHashMap<WorkloadId, Tally>,
    workload_names: FxHashMap<(ObjectKind, Symbol, Symbol), WorkloadId>,
    replica_sets_by_deployment: FxHashMap<DeploymentId, Vec<ReplicaSetId>>,
    jobs_by_cron_job: FxHashMap<super::workloads::CronJobId, Vec<JobId>>,
    revisions_by_owner: FxHashMap<WorkloadId, Vec<ControllerRevisionId>>,
}

/// Counts of pods by what controllers ask of them.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Tally {
    /// Neither finished nor being deleted.
    pub active: i32,
    /// Active and Ready.
    pub ready: i32,
    /// Being deleted, not finished.
    pub terminating: i32,
    /// Finished (Succeeded or Failed), being deleted or not.
    pub terminal: i32,
    /// Active pods bound to a node.
    pub bound: i32,
}

impl Tally {
    fn of(pod: &Pod) -> Self {
        let active = i32::from(pod.is_active());
        Self {
            active,
            ready: active * i32::from(pod.is_ready()),
            terminating: i32::from(pod.is_terminating()),
            terminal: i32::from(pod.phase.is_terminal()),
            bound: active * i32::from(pod.node.is_some()),
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            active: self.active + other.active,
            ready: self.ready + other.ready,
            terminating: self.terminating + other.terminating,
            terminal: self.terminal + other.terminal,
            bound: self.bound + other.bound,
        }
    }

    fn minus(self, other: Self) -> Self {
        Self {
            active: self.active - other.active,
            ready: self.ready - other.ready,
            terminating: self.terminating - other.terminating,
            terminal: self.terminal - other.terminal,
            bound: self.bound - other.bound,
        }
    }
}

/// An empty set to lend where nothing is indexed.
static NO_PODS: std::sync::LazyLock<PodSet> = std::sync::LazyLock::new(PodSet::default);

impl Store {
    // ---- nodes ----------------------------------------------------------------------------------------------------

    /// The id of a node name, if any object or reference ever used it.
    #[must_use]
    pub fn find_node(&self, name: Symbol) -> Option<NodeId> {
        self.node_names.get(&name).copied()
    }

    /// The id of a node name, made on first use. The Node object need not exist.
    pub fn node_slot(&mut self, name: Symbol) -> NodeId {
        if let Some(&id) = self.node_names.get(&name) {
            return id;
        }
        let id = self.nodes.insert(NodeSlot { name, object: None });
        self.node_names.insert(name, id);
        self.machines.push(Machine::default());
        self.heartbeats.push(Heartbeat::default());
        self.pods_by_node.push(PodSet::default());
        self.unfinished_by_node.push(PodSet::default());
        self.requested_by_node.push(Requested::default());
        self.node_changes += 1;
        id
    }

    /// The name behind an id.
    #[must_use]
    pub fn node_name(&self, id: NodeId) -> Symbol {
        self.nodes[id].name
    }

    /// The Node object, if it exists.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Arc<Node>> {
        self.nodes[id].object.as_ref()
    }

    /// Existing Node objects, in the order in which their names appeared.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Arc<Node>)> {
        self.nodes.iter().filter_map(|(id, slot)| slot.object.as_ref().map(|n| (id, n)))
    }

    /// All node names ever used.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.nodes.ids()
    }

    /// How many Node objects exist.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.node_count
    }

    /// Whether each node name that has come up is that of a Node object.
    #[must_use]
    pub fn has_all_nodes(&self) -> bool {
        self.node_count == self.nodes.len()
    }

    /// How often a node name has come up, or a Node object has come or gone: while it is the same, so are the nodes that exist.
    #[must_use]
    pub fn node_changes(&self) -> u64 {
        self.node_changes
    }

    /// Puts a Node object in its slot.
    ///
    /// # Panics
    /// If one is there.
    pub fn insert_node(&mut self, id: NodeId, node: Node) {
        let slot = &mut self.nodes[id];
        assert!(slot.object.is_none(), "node {} exists already", slot.name);
        slot.object = Some(Arc::new(node));
        self.node_count += 1;
        self.node_changes += 1;
    }

    /// Takes a Node object out of its slot.
    pub fn remove_node(&mut self, id: NodeId) -> Option<Arc<Node>> {
        let gone = self.nodes[id].object.take();
        self.node_count -= usize::from(gone.is_some());
        self.node_changes += 1;
        gone
    }

    /// Puts a new version of a Node object in the place of the present one.
    ///
    /// # Panics
    /// If there is none.
    pub fn replace_node(&mut self, id: NodeId, node: Node) {
        let slot = &mut self.nodes[id];
        assert!(slot.object.is_some(), "node {} does not exist", slot.name);
        slot.object = Some(Arc::new(node));
    }

    /// The Node object for writing; what others hold of it stays as it was.
    pub fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes[id].object.as_mut().map(Arc::make_mut)
    }

    /// The machine behind a node name.
    #[must_use]
    pub fn machine(&self, id: NodeId) -> &Machine {
        &self.machines[id.index()]
    }

    /// The machine for writing.
    pub fn machine_mut(&mut self, id: NodeId) -> &mut Machine {
        &mut self.machines[id.index()]
    }

    /// The node's signs of life.
    #[must_use]
    pub fn heartbeat(&self, id: NodeId) -> &Heartbeat {
        &self.heartbeats[id.index()]
    }

    /// The node's signs of life for writing.
    pub fn heartbeat_mut(&mut self, id: NodeId) -> &mut Heartbeat {
        &mut self.heartbeats[id.index()]
    }

    // ---- pods -----------------------------------------------------------------------------------------------------

    /// The pod, if its object exists.
    #[must_use]
    pub fn pod(&self, id: PodId) -> Option<&Pod> {
        self.pods.get(id)
    }

    /// All pods, in id order.
    pub fn pods(&self) -> impl Iterator<Item = (PodId, &Pod)> {
        self.pods.iter()
    }

    /// How many pod objects exist.
    #[must_use]
    pub fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// The pod of that name.
    #[must_use]
    pub fn find_pod(&self, namespace: Symbol, name: &Arc<str>) -> Option<PodId> {
        self.pod_names.get(&(namespace, Arc::clone(name))).copied()
    }

    /// Pods with that `spec.nodeName`, whether or not the Node object exists.
    #[must_use]
    pub fn pods_on(&self, node: NodeId) -> &PodSet {
        &self.pods_by_node[node.index()]
    }

    /// Pods of a node that have not ended.
    #[must_use]
    pub fn unfinished_pods_on(&self, node: NodeId) -> &PodSet {
        &self.unfinished_by_node[node.index()]
    }

    /// What those ask for.
    #[must_use]
    pub fn requested_on(&self, node: NodeId) -> &Requested {
        &self.requested_by_node[node.index()]
    }

    /// Pods that the workload controls.
    #[must_use]
    pub fn pods_of(&self, owner: WorkloadId) -> &PodSet {
        self.pods_by_owner.get(&owner).unwrap_or(&NO_PODS)
    }

    /// The pods that a DaemonSet controls, by the nodes that they are for; none if it never had any.
    #[must_use]
    pub fn daemon_pods(&self, set: DaemonSetId) -> Option<&DaemonPods> {
        self.daemon_pods.get(&set)
    }

    /// Pods of a namespace.
    #[must_use]
    pub fn pods_in(&self, namespace: Symbol) -> &PodSet {
        self.pods_by_namespace.get(&namespace).unwrap_or(&NO_PODS)
    }

    /// Pods of a namespace that nobody controls.
    #[must_use]
    pub fn ownerless_pods(&self, namespace: Symbol) -> &PodSet {
        self.ownerless_pods.get(&namespace).unwrap_or(&NO_PODS)
    }

    /// Makes room for so many pods more.
    pub fn reserve_pods(&mut self, count: usize) {
        self.pods.reserve(count);
        self.pod_names.reserve(count);
    }

    /// Adds a pod.
    ///
    /// # Panics
    /// If a pod of that name exists.
    pub fn insert_pod(&mut self, pod: Pod) -> PodId {
        let key = (pod.namespace, Arc::clone(&pod.name));
        let (namespace, node, owner, is_over) = (pod.namespace, pod.node, pod.owner, pod.phase.is_terminal());
        let id = self.pods.insert(pod);
        let other = self.pod_names.insert(key, id);
        assert!(other.is_none(), "two pods of one name");
        self.pods_by_namespace.entry(namespace).or_default().insert(id);
        if let Some(node) = node {
            self.pods_by_node[node.index()].insert(id);
            if !is_over {
                self.unfinished_by_node[node.index()].insert(id);
            }
            self.add_requests(node, Requested::default(), Requested::of(&self.pods[id]));
        }
        self.index_owner(id, namespace, owner);
        self.volumes.pod_added(id, &self.pods[id]);
        id
    }

    /// Takes a pod out.
    pub fn remove_pod(&mut self, id: PodId) -> Option<Pod> {
        let pod = self.pods.remove(id)?;
        self.pod_names.remove(&(pod.namespace, Arc::clone(&pod.name)));
        if let Some(set) = self.pods_by_namespace.get_mut(&pod.namespace) {
            set.swap_remove(&id);
        }
        if let Some(node) = pod.node {
            self.pods_by_node[node.index()].swap_remove(&id);
            self.unfinished_by_node[node.index()].swap_remove(&id);
            self.add_requests(node, Requested::of(&pod), Requested::default());
        }
        self.unindex_owner(id, pod.namespace, pod.owner, (Tally::of(&pod), DaemonPods::node_of(&pod)));
        self.volumes.pod_removed(id, &pod);
        Some(pod)
    }

    /// Writes a pod's fields; node, owner, name and namespace have functions of their own, which keep the indexes.
    ///
    /// # Panics
    /// If there is no such pod.
    pub fn update_pod<T>(&mut self, id: PodId, write: impl FnOnce(&mut Pod) -> T) -> T {
        let pod = &mut self.pods[id];
        let (before, was_over, place) = (Tally::of(pod), pod.phase.is_terminal(), DaemonPods::node_of(pod));
        let asked = Requested::of(pod);
        let result = write(pod);
        let after = Tally::of(pod);
        let asks = Requested::of(pod);
        if let Some(node) = pod.node
            && was_over != pod.phase.is_terminal()
        {
            let unfinished = &mut self.unfinished_by_node[node.index()];
            if was_over {
                unfinished.insert(id);
            } else {
                unfinished.swap_remove(&id);
            }
        }
        if let Some(node) = pod.node
            && asked != asks
        {
            self.add_requests(node, asked, asks);
        }
        let pod = &self.pods[id];
        if before != after
            && let Some(workload) = pod.owner.and_then(WorkloadId::from_owner)
        {
            let tally = self.tallies.entry(workload).or_default();
            *tally = tally.minus(before).plus(after);
        }
        self.daemon_pod_written(id, place);
        result
    }

    /// A pod of the node asks for something else than before.
    fn add_requests(&mut self, node: NodeId, before: Requested, after: Requested) {
        let sums = &mut self.requested_by_node[node.index()];
        *sums = sums.minus(before).plus(after);
    }

    /// Makes a new version of a pod, after a write.
    pub fn raise_pod_version(&mut self, id: PodId) {
        self.pods[id].resource_version += 1;
    }

    /// Counts of the pods that the workload controls.
    #[must_use]
    pub fn tally(&self, owner: WorkloadId) -> Tally {
        self.tallies.get(&owner).copied().unwrap_or_default()
    }

    /// Sets `spec.nodeName`.
    pub fn set_pod_node(&mut self, id: PodId, node: NodeId) {
        self.update_pod(id, |pod| {
            assert!(pod.node.is_none(), "pod {} is bound twice", pod.name);
            pod.node = Some(node);
        });
        self.pods_by_node[node.index()].insert(id);
        if !self.pods[id].phase.is_terminal() {
            self.unfinished_by_node[node.index()].insert(id);
        }
    }

    /// Sets the controlling owner.
    pub fn set_pod_owner(&mut self, id: PodId, owner: Option<Owner>) {
        let pod = &mut self.pods[id];
        let (namespace, old) = (pod.namespace, std::mem::replace(&mut pod.owner, owner));
        let counted = (Tally::of(pod), DaemonPods::node_of(pod));
        self.unindex_owner(id, namespace, old, counted);
        self.index_owner(id, namespace, owner);
    }

    /// A pod was written that was on this node or aimed at it.
    fn daemon_pod_written(&mut self, id: PodId, before: Option<NodeId>) {
        let pod = &self.pods[id];
        let Some(Owner::DaemonSet(set)) = pod.owner else { return };
        let after = DaemonPods::node_of(pod);
        let pods = self.daemon_pods.entry(set).or_default();
        match (before, after) {
            (Some(before), Some(after)) if before == after => pods.written(after),
            _ => {
                before.into_iter().for_each(|node| pods.went(id, node));
                after.into_iter().for_each(|node| pods.came(id, node));
            }
        }
    }

    fn index_owner(&mut self, id: PodId, namespace: Symbol, owner: Option<Owner>) {
        match owner {
            None => {
                self.ownerless_pods.entry(namespace).or_default().insert(id);
            }
            Some(owner) => {
                if let Some(workload) = WorkloadId::from_owner(owner) {
                    self.pods_by_owner.entry(workload).or_default().insert(id);
                    let tally = self.tallies.entry(workload).or_default();
                    *tally = tally.plus(Tally::of(&self.pods[id]));
                }
                if let (Owner::DaemonSet(set), Some(node)) = (owner, DaemonPods::node_of(&self.pods[id])) {
                    self.daemon_pods.entry(set).or_default().came(id, node);
                }
            }
        }
    }

    /// Forgets whose a pod was, as which it was counted, and for which node it was.
    fn unindex_owner(
        &mut self,
        id: PodId,
        namespace: Symbol,
        owner: Option<Owner>,
        (pod, node): (Tally, Option<NodeId>),
    ) {
        match owner {
            None => {
                if let Some(set) = self.ownerless_pods.get_mut(&namespace) {
                    set.swap_remove(&id);
                }
            }
            Some(owner) => {
                if let Some(workload) = WorkloadId::from_owner(owner)
                    && let Some(set) = self.pods_by_owner.get_mut(&workload)
                {
                    set.swap_remove(&id);
                    let tally = self.tallies.entry(workload).or_default();
                    *tally = tally.minus(pod);
                    if set.is_empty() {
                        self.pods_by_owner.remove(&workload);
                        self.gone_owners.remove(&workload);
                        self.tallies.remove(&workload);
                    }
                }
                // What was written of its nodes is kept: whoever remembers the numbers compares them later.
                if let (Owner::DaemonSet(set), Some(node)) = (owner, node) {
                    self.daemon_pods.entry(set).or_default().went(id, node);
                }
            }
        }
    }

    // ---- workloads ------------------------------------------------------------------------------------------------

    /// The workload of that kind and name (`ReplicationController` counts as its own kind).
    #[must_use]
    pub fn find_workload(&self, kind: ObjectKind, namespace: Symbol, name: Symbol) -> Option<WorkloadId> {
        self.workload_names.get(&(kind, namespace, name)).copied()
    }

    /// Adds a workload.
    ///
    /// # Panics
    /// If one of that kind and name exists.
    pub fn insert_workload<W: Workload>(&mut self, object: W) -> WorkloadId {
        let id = W::workload_id(W::table_mut(self).insert(object));
        self.index_workload(id);
        id
    }

    /// Registers a workload's name and owner after it was put in its table.
    fn index_workload(&mut self, id: WorkloadId) {
        let Some(meta) = self.workload_meta(id) else { return };
        let (namespace, name, owner) = (meta.namespace, meta.name, meta.owner);
        let other = self.workload_names.insert((self.workload_kind(id), namespace, name), id);
        assert!(other.is_none(), "two {} named {namespace}/{name}", id.kind().as_str());
        self.link_workload(id, owner);
    }

    /// Forgets a workload's name and owner before it is taken out of its table.
    pub(super) fn unindex_workload(&mut self, id: WorkloadId) {
        let Some(meta) = self.workload_meta(id) else { return };
        let (namespace, name, owner, uid) = (meta.namespace, meta.name, meta.owner, meta.uid);
        if self.pods_by_owner.contains_key(&id) {
            self.gone_owners.insert(id, OwnerName { kind: self.workload_kind(id), name, uid });
        }
        self.workload_names.remove(&(self.workload_kind(id), namespace, name));
        self.unlink_workload(id, owner);
    }

    /// What pods name as their owner although it has gone.
    #[must_use]
    pub fn gone_owner(&self, id: WorkloadId) -> Option<&OwnerName> {
        self.gone_owners.get(&id)
    }

    /// Changes the controlling owner of a workload.
    pub fn set_workload_owner(&mut self, id: WorkloadId, owner: Option<Owner>) {
        let Some(meta) = self.workload_meta_mut(id) else { return };
        let old = std::mem::replace(&mut meta.owner, owner);
        self.unlink_workload(id, old);
        self.link_workload(id, owner);
    }

    fn link_workload(&mut self, id: WorkloadId, owner: Option<Owner>) {
        match (id, owner) {
            (WorkloadId::ReplicaSet(rs), Some(Owner::Deployment(d))) => {
                self.replica_sets_by_deployment.entry(d).or_default().push(rs);
            }
            (WorkloadId::Job(job), Some(Owner::CronJob(c))) => self.jobs_by_cron_job.entry(c).or_default().push(job),
            _ => {}
        }
    }

    fn unlink_workload(&mut self, id: WorkloadId, owner: Option<Owner>) {
        match (id, owner) {
            (WorkloadId::ReplicaSet(rs), Some(Owner::Deployment(d))) => {
                if let Some(list) = self.replica_sets_by_deployment.get_mut(&d) {
                    list.retain(|other| *other != rs);
                }
            }
            (WorkloadId::Job(job), Some(Owner::CronJob(c))) => {
                if let Some(list) = self.jobs_by_cron_job.get_mut(&c) {
                    list.retain(|other| *other != job);
                }
            }
            _ => {}
        }
    }

    /// The API kind; a ReplicationController is not a ReplicaSet.
    #[must_use]
    pub fn workload_kind(&self, id: WorkloadId) -> ObjectKind {
        match id {
            WorkloadId::ReplicaSet(rs) if self.replica_sets.get(rs).is_some_and(|r| r.is_replication_controller) => {
                ObjectKind::ReplicationController
            }
            other => other.kind(),
        }
    }

    /// The ReplicaSets that a Deployment controls, oldest first.
    #[must_use]
    pub fn replica_sets_of(&self, deployment: DeploymentId) -> &[ReplicaSetId] {
        self.replica_sets_by_deployment.get(&deployment).map_or(&[], Vec::as_slice)
    }

    /// The Jobs that a CronJob controls, oldest first.
    #[must_use]
    pub fn jobs_of(&self, cron_job: super::workloads::CronJobId) -> &[JobId] {
        self.jobs_by_cron_job.get(&cron_job).map_or(&[], Vec::as_slice)
    }

    /// The revisions of a DaemonSet or StatefulSet, oldest first.
    #[must_use]
    pub fn revisions_of(&self, owner: WorkloadId) -> &[ControllerRevisionId] {
        self.revisions_by_owner.get(&owner).map_or(&[], Vec::as_slice)
    }

    /// Adds a revision.
    pub fn insert_revision(&mut self, revision: ControllerRevision) -> ControllerRevisionId {
        let owner = revision.meta.owner.and_then(WorkloadId::from_owner);
        let id = self.controller_revisions.insert(revision);
        if let Some(owner) = owner {
            self.revisions_by_owner.entry(owner).or_default().push(id);
        }
        id
    }

    /// Takes a revision out.
    pub fn remove_revision(&mut self, id: ControllerRevisionId) -> Option<ControllerRevision> {
        let revision = self.controller_revisions.remove(id)?;
        if let Some(owner) = revision.meta.owner.and_then(WorkloadId::from_owner)
            && let Some(list) = self.revisions_by_owner.get_mut(&owner)
        {
            list.retain(|other| *other != id);
        }
        Some(revision)
    }

    /// Changes the owner of a revision.
    pub fn set_revision_owner(&mut self, id: ControllerRevisionId, owner: Option<Owner>) {
        let Some(revision) = self.controller_revisions.get_mut(id) else { return };
        let old = std::mem::replace(&mut revision.meta.owner, owner);
        if let Some(list) = old.and_then(WorkloadId::from_owner).and_then(|o| self.revisions_by_owner.get_mut(&o)) {
            list.retain(|other| *other != id);
        }
        if let Some(owner) = owner.and_then(WorkloadId::from_owner) {
            self.revisions_by_owner.entry(owner).or_default().push(id);
        }
    }

    /// The priority class of that name.
    #[must_use]
    pub fn priority_class(&self, name: Symbol) -> Option<&PriorityClass> {
        self.priority_classes.iter().map(|(_, c)| c).find(|c| c.name == name)
    }

    /// The namespace of that name.
    #[must_use]
    pub fn namespace(&self, name: Symbol) -> Option<(super::workloads::NamespaceId, &Namespace)> {
        self.namespaces.iter().find(|(_, n)| n.name == name)
    }

    /// Whether a namespace is being deleted, so that nothing new can be made in it.
    #[must_use]
    pub fn is_terminating(&self, namespace: Symbol) -> bool {
        self.namespace(namespace).is_some_and(|(_, namespace)| namespace.deleting_since.is_some())
    }
}
