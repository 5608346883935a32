//! A look into a run under way: what `kubectl get` would show at that instant.

use super::error::Error;
use super::simulation::Simulation;
use crate::diagnostics::nearest_or;
use crate::state::{Pod, PodId, PodPhase, Status, Store, WorkloadId};
use crate::units::SimTime;

/// A node as the API has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its condition Ready; none if it is Unknown, as nobody hears of its kubelet, or absent.
    pub ready: Option<bool>,
    /// Whether it is cordoned.
    pub unschedulable: bool,
    /// Pods bound to it that have not ended.
    pub pods: usize,
}

/// A pod as the API has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PodView<'a> {
    /// Its namespace.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// `status.phase`.
    pub phase: PodPhase,
    /// Its condition Ready.
    pub is_ready: bool,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// The node that it is bound to.
    pub node: Option<&'a str>,
}

/// How many pods there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PodCounts {
    /// Of phase Pending.
    pub pending: usize,
    /// Of phase Running, whether Ready or not.
    pub running: usize,
    /// Of phase Succeeded.
    pub succeeded: usize,
    /// Of phase Failed.
    pub failed: usize,
    /// Of whatever phase that are Ready.
    pub ready: usize,
}

impl Simulation {
    /// When something happens next; none if nothing does any more. To play just that, [run until](Simulation::run_until) then.
    #[must_use]
    pub fn next_event(&self) -> Option<SimTime> {
        self.run().next_at().filter(|at| *at <= self.end())
    }

    /// The nodes, in the order in which they came.
    pub fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        let store = self.store();
        store.nodes().map(move |(id, node)| NodeView {
            name: store.node_name(id).as_str(),
            ready: match node.conditions.ready() {
                Some(Status::True) => Some(true),
                Some(Status::False) => Some(false),
                Some(Status::Unknown) | None => None,
            },
            unschedulable: node.unschedulable,
            pods: store.unfinished_pods_on(id).len(),
        })
    }

    /// All pods. Their order says nothing.
    pub fn pods(&self) -> impl Iterator<Item = PodView<'_>> {
        let store = self.store();
        store.pods().map(move |(_, pod)| view(store, pod))
    }

    /// How many pods there are, by phase.
    #[must_use]
    pub fn pod_counts(&self) -> PodCounts {
        let mut counts = PodCounts::default();
        for (_, pod) in self.store().pods() {
            *match pod.phase {
                PodPhase::Pending => &mut counts.pending,
                PodPhase::Running => &mut counts.running,
                PodPhase::Succeeded => &mut counts.succeeded,
                PodPhase::Failed => &mut counts.failed,
            } += 1;
            counts.ready += usize::from(pod.is_ready());
        }
        counts
    }

    /// The pods of a workload, such as `deployment/shop/web`, by name; those of the ReplicaSets of a Deployment and of the Jobs of a
    /// CronJob are theirs.
    ///
    /// # Errors
    ///
    /// If there is no such workload now.
    pub fn pods_of(&self, workload: &str) -> Result<Vec<PodView<'_>>, Error> {
        let store = self.store();
        let Some(found) = store.workload_ids().find(|id| path_of(store, *id) == workload) else {
            let known: Vec<String> = store.workload_ids().map(|id| path_of(store, id)).collect();
            let help = nearest_or(workload, known.iter().map(String::as_str), || {
                "a workload is named kind/namespace/name, such as `deployment/shop/web`".to_owned()
            });
            return Err(Error::argument(format!("there is no workload `{workload}` at {}", self.now()), help));
        };
        let mut pods: Vec<PodView<'_>> =
            members(store, found).into_iter().filter_map(|id| Some(view(store, store.pod(id)?))).collect();
        pods.sort_by_key(|pod| pod.name);
        Ok(pods)
    }
}

fn view<'a>(store: &'a Store, pod: &'a Pod) -> PodView<'a> {
    PodView {
        namespace: pod.namespace.as_str(),
        name: &pod.name,
        phase: pod.phase,
        is_ready: pod.is_ready(),
        is_terminating: pod.deletion.is_some(),
        node: pod.node.map(|node| store.node_name(node).as_str()),
    }
}

/// `deployment/shop/web`.
fn path_of(store: &Store, id: WorkloadId) -> String {
    let kind = store.workload_kind(id).as_str().to_ascii_lowercase();
    store.workload_meta(id).map_or_else(String::new, |meta| format!("{kind}/{}/{}", meta.namespace, meta.name))
}

/// The pods of a workload and of what it owns.
fn members(store: &Store, id: WorkloadId) -> Vec<PodId> {
    let owned: Vec<WorkloadId> = match id {
        WorkloadId::Deployment(id) => store.replica_sets_of(id).iter().copied().map(WorkloadId::ReplicaSet).collect(),
        WorkloadId::CronJob(id) => store.jobs_of(id).iter().copied().map(WorkloadId::Job).collect(),
        WorkloadId::ReplicaSet(_) | WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_) | WorkloadId::Job(_) => {
            Vec::new()
        }
    };
    owned.into_iter().chain([id]).flat_map(|owner| store.pods_of(owner).iter().copied()).collect()
}
