//! Persistent volumes, claims and storage classes.

use super::api_type::{api_enums, api_structs};
use super::meta::{Labels, ObjectMeta, ObjectReference, Opaque};
use super::resources::{ResourceList, ResourceRequirements};
use super::selector::{LabelSelector, NodeSelector};
use crate::arena::Symbol;

api_structs! {
    /// A piece of storage of the cluster.
    pub struct PersistentVolume {
        pub metadata: ObjectMeta,
        pub spec: PersistentVolumeSpec,
        pub status: PersistentVolumeStatus,
    }

    /// What the storage is and where it can be used.
    pub struct PersistentVolumeSpec {
        pub capacity: ResourceList,
        pub access_modes: Vec<AccessMode>,
        pub claim_ref: Option<ObjectReference>,
        pub persistent_volume_reclaim_policy: Option<ReclaimPolicy> = "crate::model::api_type::empty_is_none",
        pub storage_class_name: Symbol,
        pub node_affinity: Option<VolumeNodeAffinity>,
        pub volume_mode: VolumeMode,
        pub mount_options: Opaque,
        pub csi: Opaque,
        pub local: Opaque,
        pub host_path: Opaque,
        pub nfs: Opaque,
        pub gce_persistent_disk: Opaque,
        pub aws_elastic_block_store: Opaque,
        pub azure_disk: Opaque,
        pub rbd: Opaque,
        pub iscsi: Opaque,
    }

    /// Which nodes can reach a volume.
    #[derive(Eq)]
    pub struct VolumeNodeAffinity {
        pub required: Option<NodeSelector>,
    }

    /// What has become of a volume.
    #[derive(Eq)]
    pub struct PersistentVolumeStatus {
        pub phase: Option<PersistentVolumePhase> = "crate::model::api_type::empty_is_none",
    }

    /// A wish for storage.
    pub struct PersistentVolumeClaim {
        pub metadata: ObjectMeta,
        pub spec: PersistentVolumeClaimSpec,
        pub status: PersistentVolumeClaimStatus,
    }

    /// What is wished for.
    pub struct PersistentVolumeClaimSpec {
        pub access_modes: Vec<AccessMode>,
        pub selector: Option<LabelSelector>,
        pub resources: ResourceRequirements,
        pub volume_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        /// Absent: the default class; empty text: no class, so no provisioning.
        pub storage_class_name: Option<Symbol>,
        pub volume_mode: VolumeMode,
        pub data_source: Opaque,
        pub data_source_ref: Opaque,
    }

    /// What has become of a claim.
    pub struct PersistentVolumeClaimStatus {
        pub phase: PersistentVolumeClaimPhase,
        pub access_modes: Vec<AccessMode>,
        pub capacity: ResourceList,
    }

    /// A kind of storage and how it comes into being.
    pub struct StorageClass {
        pub metadata: ObjectMeta,
        pub provisioner: Symbol,
        pub volume_binding_mode: VolumeBindingMode,
        pub allowed_topologies: Vec<TopologySelectorTerm>,
        pub reclaim_policy: Option<ReclaimPolicy> = "crate::model::api_type::empty_is_none",
        pub allow_volume_expansion: Option<bool>,
        pub parameters: Opaque,
        pub mount_options: Opaque,
    }

    /// Topologies a class provisions in; requirements of one term hold together, terms are alternatives.
    #[derive(Eq)]
    pub struct TopologySelectorTerm {
        pub match_label_expressions: Vec<TopologySelectorLabelRequirement>,
    }

    /// A node label and the values it may have.
    #[derive(Eq)]
    pub struct TopologySelectorLabelRequirement {
        pub key: Symbol,
        pub values: Vec<Symbol>,
    }
}

api_enums! {
    /// Who may use a volume at once.
    pub enum AccessMode {
        ReadWriteOnce = "ReadWriteOnce",
        ReadOnlyMany = "ReadOnlyMany",
        ReadWriteMany = "ReadWriteMany",
        ReadWriteOncePod = "ReadWriteOncePod",
    }

    /// What happens to a volume when its claim goes.
    pub enum ReclaimPolicy {
        Retain = "Retain",
        Delete = "Delete",
        Recycle = "Recycle",
    }

    /// Whether a volume is a file system or a device.
    pub enum VolumeMode or Filesystem {
        Filesystem = "Filesystem",
        Block = "Block",
    }

    /// Where a volume is in its life.
    pub enum PersistentVolumePhase {
        Pending = "Pending",
        Available = "Available",
        Bound = "Bound",
        Released = "Released",
        Failed = "Failed",
    }

    /// Where a claim is in its life.
    pub enum PersistentVolumeClaimPhase or Pending {
        Pending = "Pending",
        Bound = "Bound",
        Lost = "Lost",
    }

    /// Whether a claim is bound at once or when its first pod is scheduled.
    pub enum VolumeBindingMode or Immediate {
        Immediate = "Immediate",
        WaitForFirstConsumer = "WaitForFirstConsumer",
    }
}

impl PersistentVolume {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.spec.persistent_volume_reclaim_policy.get_or_insert(ReclaimPolicy::Retain);
        self.status.phase.get_or_insert(PersistentVolumePhase::Pending);
    }
}

impl PersistentVolumeClaim {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.spec.apply_defaults();
    }
}

impl PersistentVolumeClaimSpec {
    /// Fills in what the API server would.
    pub fn apply_defaults(&mut self) {
        self.resources.apply_defaults();
    }
}

impl StorageClass {
    /// Fills in what the API server would. Doing it twice changes nothing.
    pub fn apply_defaults(&mut self) {
        self.reclaim_policy.get_or_insert(ReclaimPolicy::Delete);
    }

    /// Whether claims without a class get this one.
    #[must_use]
    pub fn is_default(&self) -> bool {
        let keys = ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];
        let annotations = &self.metadata.annotations;
        keys.iter().any(|key| annotations.get(&Symbol::from(*key)).is_some_and(|value| value.as_str() == "true"))
    }
}

impl TopologySelectorTerm {
    /// Whether a node's labels have one of the values for each key.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        let mut requirements = self.match_label_expressions.iter();
        requirements
            .all(|requirement| labels.get(requirement.key).is_some_and(|value| requirement.values.contains(&value)))
    }
}

impl PersistentVolume {
    /// Whether a node can reach the volume.
    #[must_use]
    pub fn is_reachable_from(&self, labels: &Labels, node_name: Symbol) -> bool {
        let required = self.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        required.is_none_or(|selector| selector.matches(labels, node_name))
    }
}
