//! Resource types: their names on a command line and in printed lines, and how objects are found.

use std::sync::Arc;

use super::command_line::Selection;
use super::failure::Failure;
use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason};
use crate::model::{Labels, Object};
use crate::state::{Meta, NodeId, PodId, Store, WorkloadId};

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
    /// persistentvolumes.
    PersistentVolume,
}

/// Kind, words on the command line, printed name, resource in error messages.
const KINDS: [(Kind, &[&str], &str, &str); 15] = [
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
    (Kind::PersistentVolume, &["persistentvolume", "persistentvolumes", "pv"], "persistentvolume", "persistentvolumes"),
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

    /// Kind and group as the API's own messages have them: `ReplicaSet.apps`.
    pub(super) fn group_kind(self) -> String {
        let kind = self.workload_kind().or(self.other_kind()).unwrap_or(match self {
            Self::Pod => "Pod",
            _ => "Node",
        });
        match self.printed().split_once('.') {
            Some((_, group)) => format!("{kind}.{group}"),
            None => kind.to_owned(),
        }
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
            Self::PersistentVolume => "PersistentVolume",
            _ => return None,
        })
    }

    /// Whether its objects live in namespaces.
    pub(super) fn is_namespaced(self) -> bool {
        !matches!(self, Self::Node | Self::Namespace | Self::PriorityClass | Self::PersistentVolume)
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
    /// Another kind, by namespace and name.
    Other(Kind, Symbol, Symbol),
}

impl Found {
    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::Pod(_) => Kind::Pod,
            Self::Node(_) => Kind::Node,
            Self::Workload(kind, _) | Self::Other(kind, ..) => *kind,
        }
    }

    pub(super) fn name(&self, store: &Store) -> String {
        match self {
            Self::Pod(id) => store.pod(*id).map(|p| p.name.to_string()).unwrap_or_default(),
            Self::Node(id) => store.node_name(*id).to_string(),
            Self::Workload(_, id) => store.workload_meta(*id).map(|m| m.name.to_string()).unwrap_or_default(),
            Self::Other(_, _, name) => name.to_string(),
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
            Self::Other(kind, namespace, name) => {
                let of_name = |meta: &&Meta| meta.namespace == *namespace && meta.name == *name;
                let meta = match kind {
                    Kind::PodDisruptionBudget => store.budgets.iter().map(|(_, budget)| &budget.meta).find(of_name),
                    Kind::Service => store.services.iter().map(|(_, service)| &service.meta).find(of_name),
                    Kind::PersistentVolumeClaim => store.volumes.claims().map(|(_, claim)| &claim.meta).find(of_name),
                    Kind::PersistentVolume => store.volumes.volumes().map(|(_, volume)| &volume.meta).find(of_name),
                    _ => None,
                };
                match kind {
                    Kind::Namespace => store.namespace(*name).map(|(_, namespace)| namespace.labels.clone()),
                    _ => meta.map(|meta| meta.labels.clone()),
                }
            }
        }
        .unwrap_or_default()
    }

    /// Whether its deletion was asked for.
    pub(super) fn is_being_deleted(&self, store: &Store) -> bool {
        match self {
            Self::Pod(id) => store.pod(*id).is_some_and(|pod| pod.deletion.is_some()),
            Self::Workload(_, id) => store.workload_meta(*id).is_some_and(|meta| meta.deleting.is_some()),
            Self::Other(Kind::Namespace, _, name) => store.is_terminating(*name),
            Self::Node(_) | Self::Other(..) => false,
        }
    }

    /// Its namespace; empty for what lives in none.
    pub(super) fn namespace(&self, store: &Store) -> Symbol {
        match self {
            Self::Pod(id) => store.pod(*id).map(|pod| pod.namespace),
            Self::Node(_) => None,
            Self::Workload(_, id) => store.workload_meta(*id).map(|meta| meta.namespace),
            Self::Other(_, namespace, _) => Some(*namespace),
        }
        .unwrap_or_default()
    }
}

/// 404 in the API's words.
pub(super) fn not_found(kind: Kind, name: &str) -> ApiError {
    ApiError::new(ErrorReason::NotFound, format!("{} \"{name}\" not found", kind.resource()))
}

/// The objects a command works on, in the order in which kubectl would visit them; what is not there is a failure.
pub(super) fn find(selection: &Selection, store: &Store) -> Vec<Result<Found, Failure>> {
    let namespace = Symbol::new(&selection.namespace);
    if !selection.targets.is_empty() {
        let find = |target: &Target| {
            find_one(target.kind, namespace, &target.name, store)
                .ok_or_else(|| Failure::refusal(&missing(target.kind, namespace, &target.name, store), None))
        };
        return selection.targets.iter().map(find).collect();
    }
    let mut found: Vec<Found> = selection.kinds.iter().flat_map(|kind| selected(*kind, selection, store)).collect();
    found.retain(|object| selection.selector.as_ref().is_none_or(|s| s.matches(&object.labels(store))));
    found.into_iter().map(Ok).collect()
}

/// What the server says of an object that is not there: perhaps its namespace is not, either.
///
/// # Source
/// kubectl, `Info.Get`.
fn missing(kind: Kind, namespace: Symbol, name: &str, store: &Store) -> ApiError {
    if kind.is_namespaced() && !has_namespace(namespace, store) {
        return not_found(Kind::Namespace, namespace.as_str());
    }
    not_found(kind, name)
}

/// The refusal of an object of a file that is in another namespace than the one that `-n` gives.
///
/// # Source
/// cli-runtime, `RequireNamespace`.
pub(super) fn of_another_namespace(object: &Object, given: Option<&str>) -> Option<Failure> {
    let own = object.metadata().namespace;
    let given = given.filter(|given| !own.is_empty() && own.as_str() != *given)?;
    Some(Failure::own(format!(
        "the namespace from the provided object \"{own}\" does not match the namespace \"{given}\". You must pass \
         '--namespace={own}' to perform this operation."
    )))
}

/// Whether a namespace is there.
///
/// # Differs
/// One that the input does not declare is there as long as there is something in it.
pub(super) fn has_namespace(namespace: Symbol, store: &Store) -> bool {
    ["default", "kube-system", "kube-public", "kube-node-lease"].contains(&namespace.as_str())
        || store.namespace(namespace).is_some()
        || KINDS.iter().any(|(kind, ..)| kind.is_namespaced() && !all(*kind, namespace, store).is_empty())
}

pub(super) fn find_one(kind: Kind, namespace: Symbol, name: &str, store: &Store) -> Option<Found> {
    let symbol = Symbol::new(name);
    let namespace = if kind.is_namespaced() { namespace } else { Symbol::empty() };
    let of_name = |meta: &Meta| meta.namespace == namespace && meta.name == symbol;
    let exists = match kind {
        Kind::Pod => return store.find_pod(namespace, &Arc::from(name)).map(Found::Pod),
        Kind::Node => return store.find_node(symbol).filter(|&id| store.node(id).is_some()).map(Found::Node),
        Kind::PodDisruptionBudget => store.budgets.iter().any(|(_, budget)| of_name(&budget.meta)),
        Kind::Service => store.services.iter().any(|(_, service)| of_name(&service.meta)),
        Kind::Namespace => store.namespace(symbol).is_some(),
        Kind::PriorityClass => store.priority_class(symbol).is_some(),
        Kind::PersistentVolumeClaim => store.volumes.find_claim(namespace, symbol).is_some(),
        Kind::PersistentVolume => store.volumes.find_volume(symbol).is_some(),
        _ => {
            let api = kind.workload_kind()?;
            return store.find_workload(api, namespace, symbol).map(|id| Found::Workload(kind, id));
        }
    };
    exists.then_some(Found::Other(kind, namespace, symbol))
}

fn selected(kind: Kind, selection: &Selection, store: &Store) -> Vec<Found> {
    let mut found = all(kind, Symbol::new(&selection.namespace), store);
    found.sort_by_cached_key(|object| object.name(store));
    found
}

/// All objects of a kind in a namespace.
fn all(kind: Kind, namespace: Symbol, store: &Store) -> Vec<Found> {
    let of = |ids: Vec<WorkloadId>| -> Vec<Found> {
        ids.into_iter()
            .filter(|id| store.workload_meta(*id).is_some_and(|m| m.namespace == namespace))
            .map(|id| Found::Workload(kind, id))
            .collect()
    };
    let sets = |controllers: bool| {
        let sets = store.replica_sets.iter().filter(|(_, set)| set.is_replication_controller == controllers);
        of(sets.map(|(id, _)| WorkloadId::ReplicaSet(id)).collect())
    };
    let others = |metas: Vec<&Meta>| -> Vec<Found> {
        let here = metas.into_iter().filter(|meta| meta.namespace == namespace);
        here.map(|meta| Found::Other(kind, namespace, meta.name)).collect()
    };
    let other = |name: Symbol| Found::Other(kind, Symbol::empty(), name);
    match kind {
        Kind::Pod => store.pods_in(namespace).iter().copied().map(Found::Pod).collect(),
        Kind::Node => store.nodes().map(|(id, _)| Found::Node(id)).collect(),
        Kind::Deployment => of(store.deployments.ids().map(WorkloadId::Deployment).collect()),
        Kind::ReplicaSet => sets(false),
        Kind::ReplicationController => sets(true),
        Kind::DaemonSet => of(store.daemon_sets.ids().map(WorkloadId::DaemonSet).collect()),
        Kind::StatefulSet => of(store.stateful_sets.ids().map(WorkloadId::StatefulSet).collect()),
        Kind::Job => of(store.jobs.ids().map(WorkloadId::Job).collect()),
        Kind::CronJob => of(store.cron_jobs.ids().map(WorkloadId::CronJob).collect()),
        Kind::PodDisruptionBudget => others(store.budgets.iter().map(|(_, budget)| &budget.meta).collect()),
        Kind::Service => others(store.services.iter().map(|(_, service)| &service.meta).collect()),
        Kind::PersistentVolumeClaim => others(store.volumes.claims().map(|(_, claim)| &claim.meta).collect()),
        Kind::PersistentVolume => store.volumes.volumes().map(|(_, volume)| other(volume.meta.name)).collect(),
        Kind::Namespace => store.namespaces.iter().map(|(_, namespace)| other(namespace.name)).collect(),
        Kind::PriorityClass => store.priority_classes.iter().map(|(_, class)| other(class.name)).collect(),
    }
}
