//! Which object a change is about, by its resource, namespace and name.

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::state::{
    Changed, Meta, NamespaceId, PersistentVolumeId, Pod, PodDisruptionBudgetId, ServiceId, Store, WorkloadId,
};

/// An object: its resource, such as `deployments.apps`, its namespace and its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) resource: Symbol,
    pub(crate) namespace: Symbol,
    pub(crate) name: Symbol,
}

impl Key {
    pub(crate) fn new(resource: &str, namespace: &str, name: &str) -> Self {
        Self { resource: Symbol::new(resource), namespace: Symbol::new(namespace), name: Symbol::new(name) }
    }

    fn of(resource: &str, meta: &Meta) -> Self {
        Self::new(resource, meta.namespace.as_str(), meta.name.as_str())
    }

    fn of_pod(pod: &Pod) -> Self {
        Self::new("pods", pod.namespace.as_str(), &pod.name)
    }

    fn of_workload(id: WorkloadId, store: &Store) -> Option<Self> {
        let meta = store.workload_meta(id)?;
        let resource = match id {
            WorkloadId::Deployment(_) => "deployments.apps",
            WorkloadId::ReplicaSet(id) if store.replica_sets.get(id)?.is_replication_controller => {
                "replicationcontrollers"
            }
            WorkloadId::ReplicaSet(_) => "replicasets.apps",
            WorkloadId::DaemonSet(_) => "daemonsets.apps",
            WorkloadId::StatefulSet(_) => "statefulsets.apps",
            WorkloadId::Job(_) => "jobs.batch",
            WorkloadId::CronJob(_) => "cronjobs.batch",
        };
        Some(Self::of(resource, meta))
    }
}

/// An id whose object may be gone when its name is asked for.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Id {
    Workload(WorkloadId),
    Budget(PodDisruptionBudgetId),
    Service(ServiceId),
    Namespace(NamespaceId),
    Volume(PersistentVolumeId),
}

/// The names of objects that may be gone when a change of them is delivered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names(FxHashMap<Id, Key>);

impl Names {
    /// Those of all objects that are there.
    pub(crate) fn of(store: &Store) -> Self {
        let mut names = FxHashMap::default();
        names.extend(store.workload_ids().filter_map(|id| Some((Id::Workload(id), Key::of_workload(id, store)?))));
        let budgets = store.budgets.iter();
        names.extend(budgets.map(|(id, of)| (Id::Budget(id), Key::of("poddisruptionbudgets.policy", &of.meta))));
        names.extend(store.services.iter().map(|(id, of)| (Id::Service(id), Key::of("services", &of.meta))));
        let namespaces = store.namespaces.iter();
        names.extend(namespaces.map(|(id, of)| (Id::Namespace(id), Key::new("namespaces", "", of.name.as_str()))));
        let volume = |name: Symbol| Key::new("persistentvolumes", "", name.as_str());
        names.extend(store.volumes.volumes().map(|(id, of)| (Id::Volume(id), volume(of.meta.name))));
        Self(names)
    }

    /// The object that a change is about; one that the API does not show has none.
    pub(crate) fn touched(&mut self, changed: &Changed, store: &Store) -> Option<Key> {
        match changed {
            Changed::PodAdded(id) | Changed::PodUpdated { pod: id, .. } => store.pod(*id).map(Key::of_pod),
            Changed::PodRemoved { last, .. } => Some(Key::of_pod(last)),
            Changed::NodeAdded(id) | Changed::NodeUpdated { node: id, .. } | Changed::NodeRemoved { node: id, .. } => {
                Some(Key::new("nodes", "", store.node_name(*id).as_str()))
            }
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) | Changed::WorkloadRemoved(id) => {
                self.named(Id::Workload(*id), Key::of_workload(*id, store), changed)
            }
            Changed::BudgetAdded(id) | Changed::BudgetUpdated(id, _) | Changed::BudgetRemoved(id) => {
                let key = store.budgets.get(*id).map(|of| Key::of("poddisruptionbudgets.policy", &of.meta));
                self.named(Id::Budget(*id), key, changed)
            }
            Changed::ServiceChanged(id) | Changed::ServiceRemoved(id) => {
                self.named(Id::Service(*id), store.services.get(*id).map(|of| Key::of("services", &of.meta)), changed)
            }
            Changed::NamespaceChanged(id) | Changed::NamespaceRemoved(id) => {
                let key = store.namespaces.get(*id).map(|of| Key::new("namespaces", "", of.name.as_str()));
                self.named(Id::Namespace(*id), key, changed)
            }
            Changed::VolumeChanged(id) | Changed::VolumeRemoved(id) => {
                let volume = store.volumes.volume(*id);
                let key = volume.map(|of| Key::new("persistentvolumes", "", of.meta.name.as_str()));
                self.named(Id::Volume(*id), key, changed)
            }
            Changed::ClaimChanged(id) => store.volumes.claim(*id).map(|of| Key::of("persistentvolumeclaims", &of.meta)),
            Changed::ClaimRemoved(claim) => Some(Key::of("persistentvolumeclaims", &claim.meta)),
            Changed::AutoscalerChanged((namespace, name)) | Changed::AutoscalerRemoved((namespace, name)) => {
                Some(Key::new("horizontalpodautoscalers.autoscaling", namespace.as_str(), name.as_str()))
            }
            Changed::QuotaChanged((namespace, name)) => {
                Some(Key::new("resourcequotas", namespace.as_str(), name.as_str()))
            }
            Changed::HeartbeatChanged(_)
            | Changed::EndpointsChanged(_)
            | Changed::ReferencesChanged
            | Changed::StorageChanged
            | Changed::AttachmentChanged { .. } => None,
        }
    }

    /// What is found now, or was known of it; nothing more comes of what has been removed.
    fn named(&mut self, id: Id, found: Option<Key>, changed: &Changed) -> Option<Key> {
        let is_last = matches!(
            changed,
            Changed::WorkloadRemoved(_)
                | Changed::BudgetRemoved(_)
                | Changed::ServiceRemoved(_)
                | Changed::NamespaceRemoved(_)
                | Changed::VolumeRemoved(_)
        );
        match found {
            _ if is_last => self.0.remove(&id).or(found),
            Some(key) => {
                self.0.insert(id, key);
                Some(key)
            }
            None => self.0.get(&id).copied(),
        }
    }
}
