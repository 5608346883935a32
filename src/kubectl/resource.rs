//! Resource types: their names on a command line and in printed lines, and how objects are found.

use std::sync::Arc;

use super::command_line::Selection;
use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason};
use crate::model::Labels;
use crate::state::{NodeId, PodId, Store, WorkloadId};

/// A resource type that commands can work on.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// pods.
    Pod,
    /// nodes.
    Node,
    /// deployments.apps.
    Deployment,
    /// replicasets.apps.
    ReplicaSet,
    /// replicationcontrollers.
    ReplicationController,
    /// daemonsets.apps.
    DaemonSet,
    /// statefulsets.apps.
    StatefulSet,
    /// jobs.batch.
    Job,
    /// cronjobs.batch.
    CronJob,
    /// poddisruptionbudgets.policy.
    PodDisruptionBudget,
    /// services.
    Service,
    /// namespaces.
    Namespace,
    /// priorityclasses.scheduling.k8s.io.
    PriorityClass,
    /// persistentvolumeclaims.
    PersistentVolumeClaim,
}

/// Kind, words on the command line, printed name, resource in error messages.
const KINDS: [(Kind, &[&str], &str, &str); 14] = [
    (Kind::Pod, &["pod", "pods", "po"], "pod", "pods"),
    (Kind::Node, &["node", "nodes", "no"], "node", "nodes"),
    (
        Kind::Deployment,
        &["deployment", "deployments", "deploy", "deployment.apps", "deployments.apps"],
        "deployment.apps",
        "deployments.apps",
    ),
    (Kind::ReplicaSet, &["replicaset", "replicasets", "rs"], "replicaset.apps", "replicasets.apps"),
    (
        Kind::ReplicationController,
        &["replicationcontroller", "replicationcontrollers", "rc"],
        "replicationcontroller",
        "replicationcontrollers",
    ),
    (Kind::DaemonSet, &["daemonset", "daemonsets", "ds"], "daemonset.apps", "daemonsets.apps"),
    (Kind::StatefulSet, &["statefulset", "statefulsets", "sts"], "statefulset.apps", "statefulsets.apps"),
    (Kind::Job, &["job", "jobs"], "job.batch", "jobs.batch"),
    (Kind::CronJob, &["cronjob", "cronjobs", "cj"], "cronjob.batch", "cronjobs.batch"),
    (
        Kind::PodDisruptionBudget,
        &["poddisruptionbudget", "poddisruptionbudgets", "pdb"],
        "poddisruptionbudget.policy",
        "poddisruptionbudgets.policy",
    ),
    (Kind::Service, &["service", "services", "svc"], "service", "services"),
    (Kind::Namespace, &["namespace", "namespaces", "ns"], "namespace", "namespaces"),
    (
        Kind::PriorityClass,
        &["priorityclass", "priorityclasses", "pc"],
        "priorityclass.scheduling.k8s.io",
        "priorityclasses.scheduling.k8s.io",
    ),
    (
        Kind::PersistentVolumeClaim,
        &["persistentvolumeclaim", "persistentvolumeclaims", "pvc"],
        "persistentvolumeclaim",
        "persistentvolumeclaims",
    ),
];

impl Kind {
    /// The kind of a word on the command line.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        KINDS.iter().find(|(_, words, ..)| words.contains(&word.as_str())).map(|(kind, ..)| *kind)
    }

    /// All words.
    pub(super) fn words() -> impl Iterator<Item = &'static str> {
        KINDS.iter().flat_map(|(_, words, ..)| words.iter().copied())
    }

    fn entry(self) -> &'static (Kind, &'static [&'static str], &'static str, &'static str) {
        KINDS.iter().find(|(kind, ..)| *kind == self).expect("every kind is in the table")
    }

    /// As printed: `deployment.apps`.
    #[must_use]
    pub fn printed(self) -> &'static str {
        self.entry().2
    }

    /// As in error messages: `deployments.apps`.
    #[must_use]
    pub fn resource(self) -> &'static str {
        self.entry().3
    }

    /// The API kind of workloads.
    pub(super) fn workload_kind(self) -> Option<&'static str> {
        Some(match self {
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::ReplicationController => "ReplicationController",
            Self::DaemonSet => "DaemonSet",
            Self::StatefulSet => "StatefulSet",
            Self::Job => "Job",
            Self::CronJob => "CronJob",
            _ => return None,
        })
    }

    /// The API kind of the small ones.
    pub(super) fn other_kind(self) -> Option<&'static str> {
        Some(match self {
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::Service => "Service",
            Self::Namespace => "Namespace",
            Self::PriorityClass => "PriorityClass",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            _ => return None,
        })
    }

    /// Whether its objects live in namespaces.
    pub(super) fn is_namespaced(self) -> bool {
        !matches!(self, Self::Node | Self::Namespace | Self::PriorityClass)
    }
}

/// A named object on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Kind.
    pub kind: Kind,
    /// Name.
    pub name: String,
}

/// An object that was found.
#[derive(Clone, Debug)]
pub(super) enum Found {
    /// A pod.
    Pod(PodId),
    /// A node.
    Node(NodeId),
    /// A workload.
    Workload(Kind, WorkloadId),
    /// Another kind, by name.
    Other(Kind, Symbol),
}

impl Found {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Pod(_) => Kind::Pod,
            Self::Node(_) => Kind::Node,
            Self::Workload(kind, _) | Self::Other(kind, _) => *kind,
        }
    }

    pub(super) fn name(&self, store: &Store) -> String {
        match self {
            Self::Pod(id) => store.pod(*id).map(|p| p.name.to_string()).unwrap_or_default(),
            Self::Node(id) => store.node_name(*id).to_string(),
            Self::Workload(_, id) => store.workload_meta(*id).map(|m| m.name.to_string()).unwrap_or_default(),
            Self::Other(_, name) => name.to_string(),
        }
    }

    /// `deployment.apps/web`.
    pub(super) fn printed(&self, store: &Store) -> String {
        format!("{}/{}", self.kind().printed(), self.name(store))
    }

    pub(super) fn labels(&self, store: &Store) -> Labels {
        match self {
            Self::Pod(id) => store.pod(*id).map(|p| p.labels.clone()),
            Self::Node(id) => store.node(*id).map(|n| n.labels.clone()),
            Self::Workload(_, id) => store.workload_meta(*id).map(|m| m.labels.clone()),
            Self::Other(..) => None,
        }
        .unwrap_or_default()
    }
}

/// kubectl's line for an object that is not there.
pub(super) fn not_found(kind: Kind, name: &str) -> String {
    format!("Error from server (NotFound): {} \"{name}\" not found", kind.resource())
}

/// kubectl's line for a refusal of the server.
pub(super) fn server_error(error: &ApiError, subject: &str) -> String {
    let reason = match error.reason {
        ErrorReason::BadRequest => "BadRequest",
        ErrorReason::Forbidden => "Forbidden",
        ErrorReason::NotFound => "NotFound",
        ErrorReason::AlreadyExists => "AlreadyExists",
        ErrorReason::Conflict => "Conflict",
        ErrorReason::Invalid => "Invalid",
        ErrorReason::TooManyRequests => "TooManyRequests",
        ErrorReason::InternalError => "InternalError",
        ErrorReason::Unavailable => {
            return "The connection to the server was refused - did you specify the right host or port?".to_owned();
        }
    };
    let _ = subject;
    format!("Error from server ({reason}): {}", error.message)
}

/// The objects a command works on, in the order in which kubectl would visit them; missing ones are printed as errors.
pub(super) fn find(selection: &Selection, store: &Store, errors: &mut Vec<String>) -> Vec<Found> {
    let namespace = Symbol::new(&selection.namespace);
    if !selection.targets.is_empty() {
        let mut found = Vec::new();
        for target in &selection.targets {
            match find_one(target.kind, namespace, &target.name, store) {
                Some(object) => found.push(object),
                None => errors.push(not_found(target.kind, &target.name)),
            }
        }
        return found;
    }
    let Some(kind) = selection.kind else { return Vec::new() };
    let mut found = all(kind, namespace, store);
    found.retain(|object| selection.selector.as_ref().is_none_or(|s| s.matches(&object.labels(store))));
    found.sort_by_key(|object| object.name(store));
    found
}

pub(super) fn find_one(kind: Kind, namespace: Symbol, name: &str, store: &Store) -> Option<Found> {
    let symbol = Symbol::new(name);
    match kind {
        Kind::Pod => store.find_pod(namespace, &Arc::from(name)).map(Found::Pod),
        Kind::Node => store.find_node(symbol).filter(|&id| store.node(id).is_some()).map(Found::Node),
        _ => match kind.workload_kind() {
            Some(api) => store.find_workload(api, namespace, symbol).map(|id| Found::Workload(kind, id)),
            None => Some(Found::Other(kind, symbol)),
        },
    }
}

fn all(kind: Kind, namespace: Symbol, store: &Store) -> Vec<Found> {
    let of = |ids: Vec<WorkloadId>| -> Vec<Found> {
        ids.into_iter()
            .filter(|id| store.workload_meta(*id).is_some_and(|m| m.namespace == namespace))
            .map(|id| Found::Workload(kind, id))
            .collect()
    };
    match kind {
        Kind::Pod => store.pods_in(namespace).iter().copied().map(Found::Pod).collect(),
        Kind::Node => store.nodes().map(|(id, _)| Found::Node(id)).collect(),
        Kind::Deployment => of(store.deployments.ids().map(WorkloadId::Deployment).collect()),
        Kind::ReplicaSet | Kind::ReplicationController => {
            of(store.replica_sets.ids().map(WorkloadId::ReplicaSet).collect())
        }
        Kind::DaemonSet => of(store.daemon_sets.ids().map(WorkloadId::DaemonSet).collect()),
        Kind::StatefulSet => of(store.stateful_sets.ids().map(WorkloadId::StatefulSet).collect()),
        Kind::Job => of(store.jobs.ids().map(WorkloadId::Job).collect()),
        Kind::CronJob => of(store.cron_jobs.ids().map(WorkloadId::CronJob).collect()),
        _ => Vec::new(),
    }
}
