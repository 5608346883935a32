//! A running kubectl, and what it has to do.

use std::collections::VecDeque;
use std::sync::Arc;

use super::drain::Drain;
use super::failure::Failure;
use super::pipeline::Pipe;
use super::{RunbookLine, wait};
use crate::arena::Symbol;
use crate::component::{ClientLimit, Request, TokenBucket};
use crate::state::{NamespaceId, NodeId, PersistentVolumeClaimId, PodId, ReplicaSet, Store, WorkloadId};
use crate::units::SimTime;

/// What a process does next.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// A line on standard output, as it is printed of an object.
    Say(String),
    /// Lines on standard output, as they are.
    Print(Vec<String>),
    /// Something cannot be done.
    Fail(Failure),
    /// A request.
    Call(Box<Step>),
    /// The n-th object of the files is applied or created.
    Apply(usize),
    /// A roll-out is watched to its end.
    Watch(WorkloadId),
    /// `wait` waits.
    Wait,
    /// Nodes are drained.
    Drain(Box<Drain>),
    /// What was deleted has to be gone before the next item, by a certain time once that is known.
    AwaitGone(Option<SimTime>),
}

impl Item {
    /// The server's refusal of a request is told as kubectl's own error, behind these words.
    pub(super) fn failing_as(self, words: &str) -> Self {
        match self {
            Self::Call(step) => Self::Call(Box::new(Step { failed: Some(words.to_owned()), ..*step })),
            other => other,
        }
    }

    /// A request goes by the client that one command has for all its objects.
    pub(super) fn paced(self) -> Self {
        match self {
            Self::Call(step) => Self::Call(Box::new(step.paced())),
            other => other,
        }
    }
}

/// One request with the line it prints.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) request: Request,
    /// Printed when it succeeds.
    pub(super) line: String,
    /// Printed instead when nothing had to change.
    pub(super) unchanged: Option<String>,
    /// What stands before the server's refusal, which is then printed as kubectl's own.
    pub(super) failed: Option<String>,
    /// What is being done with which file, for the error message.
    pub(super) source: Option<(&'static str, Arc<str>)>,
    /// What has to be gone before the process ends.
    pub(super) wait: Option<Gone>,
    /// The namespace that the object is made in; without it, there is no object.
    pub(super) home: Option<Symbol>,
    /// An object that has gone meanwhile is no failure.
    pub(super) may_be_gone: bool,
    /// The client that it goes by is the same for all objects, and keeps its pace.
    pub(super) is_paced: bool,
    /// What is done instead if the server finds it invalid, there already, or in conflict with what there is.
    pub(super) otherwise: Vec<Item>,
}

impl Step {
    pub(super) fn new(request: Request, line: impl Into<String>) -> Self {
        let line = line.into();
        Self {
            request,
            line,
            unchanged: None,
            failed: None,
            source: None,
            wait: None,
            home: None,
            may_be_gone: false,
            is_paced: false,
            otherwise: Vec::new(),
        }
    }

    /// By a client that one command has for all its objects: it waits when it has sent many.
    pub(super) fn paced(self) -> Self {
        Self { is_paced: true, ..self }
    }
}

/// An object that has to be gone.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Gone {
    /// It goes with the answer; only whether it has gone is asked.
    AtOnce,
    Pod(PodId),
    Node(NodeId),
    Workload(WorkloadId),
    Namespace(NamespaceId),
    Claim(PersistentVolumeClaimId),
}

impl Gone {
    pub(super) fn is_there(self, store: &Store) -> bool {
        match self {
            Self::AtOnce => false,
            Self::Pod(pod) => store.pod(pod).is_some(),
            Self::Node(node) => store.node(node).is_some(),
            Self::Workload(workload) => store.workload_meta(workload).is_some(),
            Self::Namespace(namespace) => store.namespaces.get(namespace).is_some(),
            Self::Claim(claim) => store.volumes.claim(claim).is_some(),
        }
    }

    /// Resource and name.
    pub(super) fn subject(self, store: &Store) -> String {
        let (resource, name) = match self {
            Self::AtOnce => return String::new(),
            Self::Pod(id) => ("pods", store.pod(id).map(|pod| Symbol::new(&pod.name))),
            Self::Node(id) => ("nodes", Some(store.node_name(id))),
            Self::Namespace(id) => ("namespaces", store.namespaces.get(id).map(|namespace| namespace.name)),
            Self::Claim(id) => ("persistentvolumeclaims", store.volumes.claim(id).map(|claim| claim.meta.name)),
            Self::Workload(id) => {
                let is_controller = |set: &ReplicaSet| set.is_replication_controller;
                let resource = match id {
                    WorkloadId::Deployment(_) => "deployments",
                    WorkloadId::ReplicaSet(set) if store.replica_sets.get(set).is_some_and(is_controller) => {
                        "replicationcontrollers"
                    }
                    WorkloadId::ReplicaSet(_) => "replicasets",
                    WorkloadId::DaemonSet(_) => "daemonsets",
                    WorkloadId::StatefulSet(_) => "statefulsets",
                    WorkloadId::Job(_) => "jobs",
                    WorkloadId::CronJob(_) => "cronjobs",
                };
                (resource, store.workload_meta(id).map(|meta| meta.name))
            }
        };
        format!("{resource}/{}", name.unwrap_or_default())
    }
}

/// What a client of kubectl's may send.
///
/// # Source
/// client-go, `DefaultQPS` and `DefaultBurst`: kubectl lifts them for discovery alone.
pub(super) const CLIENT_LIMIT: ClientLimit = ClientLimit { qps: 5.0, burst: 10 };

/// A running kubectl.
#[derive(Clone, Debug)]
pub struct Process {
    pub(super) line: Arc<RunbookLine>,
    /// The program that typed it, and its ticket; none for the scenario's own lines.
    pub(super) typist: Option<(&'static str, u64)>,
    pub(super) at: SimTime,
    /// Its place among all that were started.
    pub(super) order: u64,
    pub(super) items: VecDeque<Item>,
    /// The pace of the client that all objects share.
    pub(super) client: TokenBucket,
    pub(super) current: Option<Step>,
    pub(super) waits: Vec<Gone>,
    /// When the question for the first of them leaves.
    pub(super) asks_at: Option<SimTime>,
    /// When the wait is given up, once it has begun.
    pub(super) gives_up_at: Option<SimTime>,
    pub(super) drain: Option<Box<Drain>>,
    /// What `wait` waits for.
    pub(super) wait: Option<Box<wait::Wait>>,
    /// Whose roll-out is being watched.
    pub(super) rollout: Option<WorkloadId>,
    /// Raised at each roll-out: timers of an earlier one are void.
    pub(super) round: u32,
    pub(super) stdout: Vec<String>,
    pub(super) stderr: Vec<String>,
    pub(super) failures: Vec<Failure>,
    pub(super) exit: i32,
    /// The programs of the line that come after this one.
    pub(super) pipe: Pipe,
}

impl Process {
    pub(super) fn new(line: Arc<RunbookLine>, typist: Option<(&'static str, u64)>, at: SimTime, order: u64) -> Self {
        Self {
            pipe: Pipe::new(&line.rest),
            line,
            typist,
            at,
            order,
            items: VecDeque::new(),
            client: TokenBucket::new(CLIENT_LIMIT),
            current: None,
            waits: Vec::new(),
            asks_at: None,
            gives_up_at: None,
            drain: None,
            wait: None,
            rollout: None,
            round: 0,
            stdout: Vec::new(),
            stderr: Vec::new(),
            failures: Vec::new(),
            exit: 0,
        }
    }
}

/// What a verb wants done.
#[derive(Debug, Default)]
pub(super) struct CommandPlan {
    pub(super) items: Vec<Item>,
    /// Lines of standard error that are no failure.
    pub(super) warnings: Vec<String>,
}

impl CommandPlan {
    pub(super) fn fail(&mut self, failure: Failure) {
        self.items.push(Item::Fail(failure));
    }

    pub(super) fn say(&mut self, line: impl Into<String>) {
        self.items.push(Item::Say(line.into()));
    }

    pub(super) fn call(&mut self, step: Step) {
        self.items.push(Item::Call(Box::new(step)));
    }
}
