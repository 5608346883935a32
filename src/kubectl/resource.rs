//! Resource types: their names on a command line and in printed lines, and how objects are found.

use std::sync::Arc;

use super::CommandPlan;
use super::command_line::Selection;
use super::custom::known;
use super::failure::Failure;
use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason};
use crate::model::{AnyKind, CSIDriver, CSINode, Labels, Object, ObjectKind, StorageClass, StoredKind};
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
    /// A kind that decides nothing.
    Stored(StoredKind),
}

/// Whether a part of a resource type is a version: `v1`, `v1beta2`.
fn is_version(text: &str) -> bool {
    text.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Kind, words on the command line, printed name, resource in error messages.
const KINDS: [(Kind, &[&str], &str, &str); 15] = [
    (Kind::Pod, &["pod", "pods", "po"], "pod", "pods"),
    (Kind::Node, &["node", "nodes", "no"], "node", "nodes"),
    (Kind::Deployment, &["deployment", "deployments", "deploy"], "deployment.apps", "deployments.apps"),
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
    /// The kind of a word on the command line: a name of the type, perhaps with its group, or with version and group.
    #[must_use]
    pub fn parse(word: &str) -> Self {
        let (typed, _) = word.split_once('.').unwrap_or((word, ""));
        let word = word.to_ascii_lowercase();
        let (name, group) = word.split_once('.').unwrap_or((&word, ""));
        let modelled = KINDS.iter().find(|(_, words, ..)| words.contains(&name)).map(|(kind, ..)| *kind);
        let kind = modelled.or_else(|| StoredKind::parse(name).map(Self::Stored));
        kind.filter(|kind| kind.is_of(group)).unwrap_or_else(|| Self::custom(typed, group))
    }

    /// The kind of an object of a file.
    pub(crate) fn of(object: &Object) -> Option<Self> {
        Some(match object {
            Object::Stored(object) => Self::Stored(object.stored_kind()),
            object => Self::parse(object.kind().as_str()),
        })
    }

    /// A kind that no table has: the cluster's objects tell what it is.
    fn custom(name: &str, group: &str) -> Self {
        let group = match group.split_once('.') {
            Some((version, rest)) if is_version(version) => rest,
            _ => group,
        };
        Self::Stored(StoredKind::custom(name, group))
    }

    /// Whether a word's group, perhaps after a version, is the kind's.
    fn is_of(self, group: &str) -> bool {
        let own = self.printed().split_once('.').map_or("", |(_, group)| group);
        match group.split_once('.') {
            Some((version, rest)) if is_version(version) => rest == own,
            None if is_version(group) => own.is_empty(),
            _ => group.is_empty() || group == own,
        }
    }

    /// All words.
    pub(crate) fn words() -> impl Iterator<Item = &'static str> {
        KINDS.iter().flat_map(|(_, words, ..)| words.iter().copied()).chain(StoredKind::words())
    }

    /// The kinds that are modelled, each with its plural and short names.
    pub(crate) fn modelled() -> impl Iterator<Item = (Self, &'static [&'static str])> {
        KINDS.iter().map(|(kind, words, ..)| (*kind, *words))
    }

    fn entry(self) -> Option<&'static (Kind, &'static [&'static str], &'static str, &'static str)> {
        KINDS.iter().find(|(kind, ..)| *kind == self)
    }

    /// As printed: `deployment.apps`.
    #[must_use]
    pub fn printed(self) -> &'static str {
        match self {
            Self::Stored(kind) => kind.printed().as_str(),
            _ => self.entry().expect("every modelled kind is in the table").2,
        }
    }

    /// As in error messages: `deployments.apps`.
    #[must_use]
    pub fn resource(self) -> &'static str {
        match self {
            Self::Stored(kind) => kind.resource().as_str(),
            _ => self.entry().expect("every modelled kind is in the table").3,
        }
    }

    /// Kind and group as the API's own messages have them: `ReplicaSet.apps`.
    pub(super) fn group_kind(self) -> String {
        let kind = match self.any() {
            AnyKind::Modelled(kind) => kind.as_str(),
            AnyKind::Stored(kind) => kind.kind.as_str(),
        };
        match self.printed().split_once('.') {
            Some((_, group)) => format!("{kind}.{group}"),
            None => kind.to_owned(),
        }
    }

    /// The kind in the API.
    pub(crate) fn any(self) -> AnyKind {
        AnyKind::Modelled(match self {
            Self::Pod => ObjectKind::Pod,
            Self::Node => ObjectKind::Node,
            Self::Deployment => ObjectKind::Deployment,
            Self::ReplicaSet => ObjectKind::ReplicaSet,
            Self::ReplicationController => ObjectKind::ReplicationController,
            Self::DaemonSet => ObjectKind::DaemonSet,
            Self::StatefulSet => ObjectKind::StatefulSet,
            Self::Job => ObjectKind::Job,
            Self::CronJob => ObjectKind::CronJob,
            Self::PodDisruptionBudget => ObjectKind::PodDisruptionBudget,
            Self::Service => ObjectKind::Service,
            Self::Namespace => ObjectKind::Namespace,
            Self::PriorityClass => ObjectKind::PriorityClass,
            Self::PersistentVolumeClaim => ObjectKind::PersistentVolumeClaim,
            Self::PersistentVolume => ObjectKind::PersistentVolume,
            Self::Stored(kind) => return AnyKind::from(kind),
        })
    }

    /// The fields that `--field-selector` takes.
    ///
    /// # Source
    /// API server, `AddFieldLabelConversionFunc` of each kind.
    pub(crate) fn fields(self) -> impl Iterator<Item = &'static str> {
        let own: &[&str] = match self {
            Self::Pod => &[
                "spec.nodeName",
                "spec.restartPolicy",
                "spec.schedulerName",
                "status.phase",
                "status.nominatedNodeName",
            ],
            Self::Node => &["spec.unschedulable"],
            Self::Namespace => &["status.phase"],
            Self::Job => &["status.successful"],
            Self::ReplicaSet | Self::ReplicationController => &["status.replicas"],
            _ => &[],
        };
        ["metadata.name", "metadata.namespace"].into_iter().chain(own.iter().copied())
    }

    /// Whether its objects live in namespaces.
    pub(crate) fn is_namespaced(self) -> bool {
        match self {
            Self::Stored(kind) => kind.is_namespaced,
            _ => !matches!(self, Self::Node | Self::Namespace | Self::PriorityClass | Self::PersistentVolume),
        }
    }
}

/// A named object on a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Kind.
    pub kind: Kind,
    /// Name.
    pub name: String,
    /// Its namespace, if it is not the command's: it is an object of a file.
    pub namespace: Option<Symbol>,
}

/// An object that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
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
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Pod(_) => Kind::Pod,
            Self::Node(_) => Kind::Node,
            Self::Workload(kind, _) | Self::Other(kind, ..) => *kind,
        }
    }

    pub(crate) fn name(&self, store: &Store) -> String {
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

    pub(crate) fn labels(&self, store: &Store) -> Labels {
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
                    Kind::Stored(kind) => {
                        store.stored.get(&(kind.printed(), *namespace, *name)).map(|stored| &stored.meta)
                    }
                    _ => None,
                };
                match kind {
                    Kind::Stored(kind) if meta.is_none() => {
                        storage(*kind, *name, store).map(|object| object.metadata().labels.clone())
                    }
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
            Self::Other(Kind::PersistentVolumeClaim, namespace, name) => {
                let claim = store.volumes.find_claim(*namespace, *name).and_then(|id| store.volumes.claim(id));
                claim.is_some_and(|claim| claim.meta.deleting.is_some())
            }
            Self::Node(_) | Self::Other(..) => false,
        }
    }

    /// The value of a field that selectors know.
    pub(crate) fn field(&self, field: &str, store: &Store) -> String {
        match (field, self) {
            ("metadata.name", _) => self.name(store),
            ("metadata.namespace", _) => self.namespace(store).to_string(),
            ("spec.nodeName", Self::Pod(id)) => {
                let node = store.pod(*id).and_then(|pod| pod.node);
                node.map(|node| store.node_name(node).to_string()).unwrap_or_default()
            }
            ("status.phase", Self::Pod(id)) => {
                store.pod(*id).map(|pod| pod.phase.as_str().to_owned()).unwrap_or_default()
            }
            ("status.nominatedNodeName", Self::Pod(id)) => {
                let node = store.pod(*id).and_then(|pod| pod.nominated_node);
                node.map(|node| store.node_name(node).to_string()).unwrap_or_default()
            }
            ("spec.restartPolicy", Self::Pod(id)) => {
                store.pod(*id).map(|pod| pod.spec.restart_policy.to_string()).unwrap_or_default()
            }
            ("spec.schedulerName", Self::Pod(id)) => {
                let name = store.pod(*id).and_then(|pod| pod.spec.scheduler_name);
                name.map_or_else(|| "default-scheduler".to_owned(), |name| name.to_string())
            }
            ("spec.unschedulable", Self::Node(id)) => {
                store.node(*id).is_some_and(|node| node.unschedulable).to_string()
            }
            ("status.phase", Self::Other(_, _, name)) => {
                let is_going = store.namespace(*name).is_some_and(|(_, namespace)| namespace.deleting_since.is_some());
                (if is_going { "Terminating" } else { "Active" }).to_owned()
            }
            ("status.successful", Self::Workload(_, WorkloadId::Job(id))) => {
                store.jobs.get(*id).map(|job| job.status.succeeded.to_string()).unwrap_or_default()
            }
            ("status.replicas", Self::Workload(_, WorkloadId::ReplicaSet(id))) => {
                store.replica_sets.get(*id).map(|set| set.status.replicas.to_string()).unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// Its namespace; empty for what lives in none.
    pub(crate) fn namespace(&self, store: &Store) -> Symbol {
        match self {
            Self::Pod(id) => store.pod(*id).map(|pod| pod.namespace),
            Self::Node(_) => None,
            Self::Workload(_, id) => store.workload_meta(*id).map(|meta| meta.namespace),
            Self::Other(_, namespace, _) => Some(*namespace),
        }
        .unwrap_or_default()
    }
}

/// What kubectl says of an object of a file that the server would have to name.
///
/// # Source
/// client-go, `Request.Name`.
pub(super) fn nameless() -> Failure {
    Failure::own("resource name may not be empty")
}

/// 404 in the API's words.
pub(super) fn not_found(kind: Kind, name: &str) -> ApiError {
    ApiError::new(ErrorReason::NotFound, format!("{} \"{name}\" not found", kind.resource()))
}

/// The objects a command works on, in the order in which kubectl would visit them; what is not there is a failure.
pub(super) fn find(selection: &Selection, store: &Store) -> Vec<Result<Found, Failure>> {
    if let Some(unknown) = unknown_kind(selection, store) {
        return vec![Err(unknown)];
    }
    if !selection.targets.is_empty() {
        return selection.targets.iter().filter_map(|target| find_target(target, selection, store)).collect();
    }
    let mut found = Vec::new();
    for kind in &selection.kinds {
        if let Some(unknown) = field_without_meaning(*kind, selection) {
            found.push(Err(unknown_field(*kind, selection, unknown)));
            continue;
        }
        let is_selected = |object: &Found| {
            selection.selector.as_ref().is_none_or(|s| s.matches(&object.labels(store)))
                && selection.fields.0.iter().all(|r| (object.field(&r.field, store) == r.value) != r.is_negated)
        };
        found.extend(selected(*kind, selection, store).into_iter().filter(is_selected).map(Ok));
    }
    found
}

/// A field of the selection by which the API server does not select objects of the kind.
fn field_without_meaning(kind: Kind, selection: &Selection) -> Option<&str> {
    let unknown = selection.fields.0.iter().find(|r| !kind.fields().any(|field| field == r.field))?;
    Some(&unknown.field)
}

/// The kinds of which lists or objects come back: of kinds that are listed also those without objects.
pub(super) fn kinds_answered(selection: &Selection, found: &[Found]) -> Vec<Kind> {
    let is_listed = |kind: &Kind| selection.targets.is_empty() && field_without_meaning(*kind, selection).is_none();
    let mut kinds: Vec<Kind> = Vec::new();
    for kind in selection.kinds.iter().copied().filter(is_listed).chain(found.iter().map(Found::kind)) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// The same as [`find`] for commands of which one object that is not there stops all: its failure, and those of others, in place of any object.
///
/// # Source
/// cli-runtime, `resource.Builder` without `ContinueOnError`, as the commands of `kubectl set` ask for `Infos`.
pub(super) fn find_all(selection: &Selection, store: &Store, plan: &mut CommandPlan) -> Vec<Found> {
    let (found, failures): (Vec<_>, Vec<_>) = find(selection, store).into_iter().partition(Result::is_ok);
    let is_whole = failures.is_empty();
    failures.into_iter().filter_map(Result::err).for_each(|failure| plan.fail(failure));
    if is_whole { found.into_iter().flatten().collect() } else { Vec::new() }
}

/// One of the objects that a selection names; none if it is of a file and the command's labels leave it out.
pub(super) fn find_target(target: &Target, selection: &Selection, store: &Store) -> Option<Result<Found, Failure>> {
    match target.namespace {
        Some(own) => find_written(target, own, selection, store),
        None => Some(find_named(target, Symbol::new(&selection.namespace), store)),
    }
}

fn find_named(target: &Target, namespace: Symbol, store: &Store) -> Result<Found, Failure> {
    find_one(target.kind, namespace, &target.name, store)
        .ok_or_else(|| Failure::refusal(&missing(target.kind, namespace, &target.name, store), None))
}

/// An object of a file; none if the command's labels leave it out.
///
/// # Source
/// cli-runtime, `Builder.visitByPaths`: read first, then filtered by label, then held against the namespace.
fn find_written(target: &Target, own: Symbol, selection: &Selection, store: &Store) -> Option<Result<Found, Failure>> {
    let elsewhere = of_another_namespace(own, selection.given_namespace());
    if target.name.is_empty() {
        return Some(Err(nameless()));
    }
    if !selection.reads_before {
        return Some(elsewhere.map_or_else(|| find_named(target, own, store), Err));
    }
    let found = match find_named(target, own, store) {
        Ok(found) => found,
        missing => return Some(missing),
    };
    let is_chosen = selection.selector.as_ref().is_none_or(|selector| selector.matches(&found.labels(store)));
    is_chosen.then(|| elsewhere.map_or(Ok(found), Err))
}

/// The objects that there are; the plan fails of those that are not.
pub(super) fn find_or_fail(selection: &Selection, store: &Store, plan: &mut CommandPlan) -> Vec<Found> {
    let mut found = Vec::new();
    for result in find(selection, store) {
        match result {
            Ok(object) => found.push(object),
            Err(failure) => plan.fail(failure),
        }
    }
    found
}

/// A kind of the command that the cluster does not have.
pub(super) fn unknown_kind(selection: &Selection, store: &Store) -> Option<Failure> {
    let kinds = selection.targets.iter().map(|target| &target.kind).chain(&selection.kinds);
    let unknown = kinds.filter_map(|kind| if let Kind::Stored(word) = kind { Some(*word) } else { None });
    let unknown = unknown.into_iter().find(|word| known(*word, store).is_none())?;
    Some(Failure::own(format!("the server doesn't have a resource type \"{}\"", unknown.plural)))
}

/// # Source
/// cli-runtime, `Selector.Visit`; API server, `AddFieldLabelConversionFunc`.
fn unknown_field(kind: Kind, selection: &Selection, field: &str) -> Failure {
    let (resource, group) = kind.resource().split_once('.').unwrap_or((kind.resource(), ""));
    let group = if group.is_empty() { String::new() } else { group.to_owned() };
    let (labels, fields) = (selection.label_text.as_str(), selection.fields.to_string());
    let why = match kind {
        Kind::Pod | Kind::Node | Kind::Namespace => format!("field label not supported: {field}"),
        _ => {
            format!("{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
    };
    let text = format!(
        "Unable to find \"{group}/v1, Resource={resource}\" that match label selector {labels:?}, field selector {fields:?}: {why}"
    );
    Failure::refusal(&ApiError::new(ErrorReason::BadRequest, text), None)
}

/// What the server says of an object that is not there: perhaps its namespace is not, either.
///
/// # Source
/// kubectl, `Info.Get`.
fn missing(kind: Kind, namespace: Symbol, name: &str, store: &Store) -> ApiError {
    if kind.is_namespaced() && !has_namespace(namespace, store) {
        return not_found(Kind::Namespace, namespace.as_str());
    }
    not_found(kind.meant(store), name)
}

/// The refusal of an object of a file that is in another namespace than the one that `-n` gives.
///
/// # Source
/// cli-runtime, `RequireNamespace`.
pub(super) fn of_another_namespace(own: Symbol, given: Option<&str>) -> Option<Failure> {
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
pub(crate) fn has_namespace(namespace: Symbol, store: &Store) -> bool {
    ["default", "kube-system", "kube-public", "kube-node-lease"].contains(&namespace.as_str())
        || store.namespace(namespace).is_some()
        || store.stored.keys().any(|(_, place, _)| *place == namespace)
        || KINDS.iter().any(|(kind, ..)| kind.is_namespaced() && !all(*kind, Some(namespace), store).is_empty())
}

pub(crate) fn find_one(kind: Kind, namespace: Symbol, name: &str, store: &Store) -> Option<Found> {
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
        Kind::Stored(word) => {
            // A kind of its own group that lives in no namespace is known by its objects only.
            let kind = known(word, store)?;
            let namespace = if kind.is_namespaced { namespace } else { Symbol::empty() };
            if storage(kind, symbol, store).is_some() {
                return Some(Found::Other(Kind::Stored(kind), namespace, symbol));
            }
            let stored = store.stored.get(&(kind.printed(), namespace, symbol))?;
            return Some(Found::Other(Kind::Stored(kind), stored.meta.namespace, symbol));
        }
        _ => {
            let AnyKind::Modelled(api) = kind.any() else { return None };
            return store.find_workload(api, namespace, symbol).map(|id| Found::Workload(kind, id));
        }
    };
    exists.then_some(Found::Other(kind, namespace, symbol))
}

/// A StorageClass, CSIDriver or CSINode, which are kept for what they decide.
pub(super) fn storage(kind: StoredKind, name: Symbol, store: &Store) -> Option<Object> {
    let volumes = &store.volumes;
    Some(match kind.kind.as_str() {
        "StorageClass" => Object::from(StorageClass::clone(volumes.class(name)?)),
        "CSIDriver" => {
            let driver = volumes.drivers.iter().find(|driver| driver.metadata.name == name)?;
            Object::from(CSIDriver::clone(driver))
        }
        "CSINode" => Object::from(CSINode::clone(volumes.csi_nodes.get(&name)?)),
        _ => return None,
    })
}

/// The names of all objects of such a kind.
fn storage_names(kind: StoredKind, store: &Store) -> Vec<Symbol> {
    let volumes = &store.volumes;
    match kind.kind.as_str() {
        "StorageClass" => volumes.classes.iter().map(|class| class.metadata.name).collect(),
        "CSIDriver" => volumes.drivers.iter().map(|driver| driver.metadata.name).collect(),
        // Whoever lists them sorts them.
        "CSINode" => volumes.csi_nodes.keys().copied().collect(),
        _ => Vec::new(),
    }
}

fn selected(kind: Kind, selection: &Selection, store: &Store) -> Vec<Found> {
    let namespace = Some(Symbol::new(&selection.namespace)).filter(|_| !selection.all_namespaces);
    let mut found = all(kind, namespace, store);
    found.sort_by_cached_key(|object| (object.namespace(store), object.name(store)));
    found
}

/// All objects of a kind in a namespace; without one, in all.
pub(crate) fn all(kind: Kind, namespace: Option<Symbol>, store: &Store) -> Vec<Found> {
    let of = |ids: Vec<WorkloadId>| -> Vec<Found> {
        ids.into_iter()
            .filter(|id| store.workload_meta(*id).is_some_and(|m| namespace.is_none_or(|n| m.namespace == n)))
            .map(|id| Found::Workload(kind, id))
            .collect()
    };
    let sets = |controllers: bool| {
        let sets = store.replica_sets.iter().filter(|(_, set)| set.is_replication_controller == controllers);
        of(sets.map(|(id, _)| WorkloadId::ReplicaSet(id)).collect())
    };
    let others = |metas: Vec<&Meta>| -> Vec<Found> {
        let here = metas.into_iter().filter(|meta| namespace.is_none_or(|n| meta.namespace == n));
        here.map(|meta| Found::Other(kind, meta.namespace, meta.name)).collect()
    };
    let other = |name: Symbol| Found::Other(kind, Symbol::empty(), name);
    match kind {
        Kind::Pod => match namespace {
            Some(namespace) => store.pods_in(namespace).iter().copied().map(Found::Pod).collect(),
            None => store.pods().map(|(id, _)| Found::Pod(id)).collect(),
        },
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
        Kind::Stored(word) => {
            let Some(kind) = known(word, store) else { return Vec::new() };
            let of_kind = store.stored.iter().filter(|((printed, ..), _)| *printed == kind.printed());
            let here =
                of_kind.filter(|((_, place, _), _)| namespace.is_none_or(|n| !kind.is_namespaced || *place == n));
            let stored = here.map(|((_, place, name), _)| Found::Other(Kind::Stored(kind), *place, *name));
            let storage = storage_names(kind, store).into_iter();
            stored.chain(storage.map(|name| Found::Other(Kind::Stored(kind), Symbol::empty(), name))).collect()
        }
    }
}
