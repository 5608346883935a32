//! Workloads whose pods never stay while a cluster is brought up.
//!
//! A pod that its kubelet refuses is replaced at once, for ever, and clients without rate limits would replace it a hundred times
//! a second through all the hours before t=0. Such a workload is held: it makes no more pods until t=0, where its controller goes
//! on at the rates of the real one.
//!
//! Jobs give up by themselves. One of which the input says how far it is stays there: what it would do next, it does after t=0.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason, Request};
use crate::state::{Changed, DeletionCause, JobId, NodeId, Pod, PodDelta, PodPhase, Store, WorkloadId};

/// Pods of a workload that may come to nothing before it is held.
const LOST_MAX: u32 = 30;

/// A workload that made pod after pod before t=0, and none stayed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Storm {
    /// The workload's kind.
    pub kind: &'static str,
    /// Its namespace.
    pub namespace: Symbol,
    /// Its name.
    pub name: Symbol,
    /// How many pods it made until it was held.
    pub pods: u32,
    /// What became of the last: the reason of its failure or the cause of its deletion, in the API's words.
    pub ending: Symbol,
    /// Where; none for pods that had no node.
    pub node: Option<Symbol>,
}

impl std::fmt::Display for Storm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, namespace, name, pods, ending, node } = self;
        write!(f, "{kind} {namespace}/{name} does not settle: it made {pods} pods before t=0, and none stayed")?;
        write!(f, " (the last: {ending}")?;
        if let Some(node) = node {
            write!(f, " on {node}")?;
        }
        f.write_str("); it goes on making them at t=0")
    }
}

/// What is known of the workloads while a cluster settles.
#[derive(Clone, Debug, Default)]
pub(super) struct Settling {
    /// Pods made so far, and how the last that ended did.
    workloads: FxHashMap<WorkloadId, Made>,
    held: FxHashSet<WorkloadId>,
    storms: Vec<Storm>,
    /// Jobs that had begun, and how many pods they ran.
    begun: FxHashMap<JobId, i32>,
}

#[derive(Copy, Clone, Debug, Default)]
struct Made {
    pods: u32,
    ending: Option<(Ending, Option<NodeId>)>,
}

#[derive(Copy, Clone, Debug)]
enum Ending {
    Failed(Symbol),
    Deleted(DeletionCause),
}

/// The workload that replaces the pod whenever it ends. Jobs are left out: they back off by themselves and give up.
fn replacer(pod: &Pod) -> Option<WorkloadId> {
    WorkloadId::from_owner(pod.owner?)
        .filter(|id| matches!(id, WorkloadId::ReplicaSet(_) | WorkloadId::DaemonSet(_) | WorkloadId::StatefulSet(_)))
}

impl Settling {
    /// Knows what the input says of Jobs.
    pub(super) fn new(store: &Store) -> Self {
        let begun = store.jobs.iter().filter(|(_, job)| job.status.started_at.is_some());
        Self { begun: begun.map(|(id, job)| (id, job.status.active)).collect(), ..Self::default() }
    }

    /// Follows what the API server committed.
    pub(super) fn changed(&mut self, changed: &Changed, store: &Store) {
        match changed {
            Changed::PodAdded(id) => {
                if let Some(workload) = store.pod(*id).and_then(replacer) {
                    self.added(workload, store);
                }
            }
            Changed::PodUpdated { pod, delta, .. } if delta.touches(PodDelta::PHASE) => {
                let Some(pod) = store.pod(*pod).filter(|pod| pod.phase == PodPhase::Failed) else { return };
                self.ended(pod, Ending::Failed(pod.reason));
            }
            Changed::PodRemoved { last, .. } if !last.phase.is_terminal() => {
                if let Some(deletion) = last.deletion {
                    self.ended(last, Ending::Deleted(deletion.cause));
                }
            }
            _ => {}
        }
    }

    fn ended(&mut self, pod: &Pod, ending: Ending) {
        if let Some(made) = replacer(pod).and_then(|workload| self.workloads.get_mut(&workload)) {
            made.ending = Some((ending, pod.node));
        }
    }

    fn added(&mut self, workload: WorkloadId, store: &Store) {
        let made = self.workloads.entry(workload).or_default();
        made.pods += 1;
        if made.pods <= LOST_MAX {
            return;
        }
        let live = u32::try_from(store.tally(workload).active).unwrap_or(0);
        if made.pods <= live + LOST_MAX || !self.held.insert(workload) {
            return;
        }
        let Some(meta) = store.workload_meta(workload) else { return };
        let (ending, node) = made.ending.unwrap_or((Ending::Failed(Symbol::default()), None));
        self.storms.push(Storm {
            kind: workload.kind().as_str(),
            namespace: meta.namespace,
            name: meta.name,
            pods: made.pods,
            ending: match ending {
                Ending::Failed(reason) if reason.is_empty() => Symbol::new("Failed"),
                Ending::Failed(reason) => reason,
                Ending::Deleted(cause) => Symbol::new(cause.as_str()),
            },
            node: node.map(|node| store.node_name(node)),
        });
    }

    /// Whether the API server has to refuse what a workload that is held asks for.
    pub(super) fn refuses(&self, request: &Request, store: &Store) -> Option<ApiError> {
        let Request::CreatePod(draft) = request else { return None };
        let workload = draft.owner.and_then(WorkloadId::from_owner)?;
        let is_refused = match workload {
            WorkloadId::Job(id) => self.begun.get(&id).is_some_and(|active| store.tally(workload).active >= *active),
            _ => self.held.contains(&workload),
        };
        is_refused.then(|| ApiError::new(ErrorReason::Forbidden, "it makes no more pods before t=0"))
    }

    /// The workloads that are held.
    pub(super) fn held(&self) -> &FxHashSet<WorkloadId> {
        &self.held
    }

    /// The workloads that were held, in the order in which that happened.
    pub(super) fn into_storms(self) -> Vec<Storm> {
        self.storms
    }
}
