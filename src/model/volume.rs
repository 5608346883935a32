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
        pub csi: Option<Box<CsiVolumeSource>>,
        pub local: Opaque,
        pub host_path: Opaque,
        pub nfs: Opaque,
        pub gce_persistent_disk: Opaque,
        pub aws_elastic_block_store: Opaque,
        pub azure_disk: Opaque,
        pub rbd: Opaque,
        pub iscsi: Opaque,
        pub glusterfs: Opaque,
        pub flocker: Opaque,
        pub quobyte: Opaque,
        pub cephfs: Opaque,
        pub cinder: Opaque,
        pub fc: Opaque,
        pub flex_volume: Opaque,
        pub azure_file: Opaque,
        pub vsphere_volume: Opaque,
        pub photon_persistent_disk: Opaque,
        pub portworx_volume: Opaque,
        #[serde(rename = "scaleIO")]
        pub scale_io: Opaque,
        pub storageos: Opaque,
    }

    /// A volume of a CSI driver.
    #[derive(Eq)]
    pub struct CsiVolumeSource {
        pub driver: Symbol,
        pub volume_handle: Symbol,
        pub read_only: Opaque,
        pub fs_type: Opaque,
        pub volume_attributes: Opaque,
    }

    /// What CSI drivers a node has.
    pub struct CSINode {
        pub metadata: ObjectMeta,
        pub spec: CsiNodeSpec,
    }

    /// The drivers of a node.
    #[derive(Eq)]
    pub struct CsiNodeSpec {
        pub drivers: Vec<CsiNodeDriver>,
    }

    /// A driver on a node.
    #[derive(Eq)]
    pub struct CsiNodeDriver {
        pub name: Symbol,
        #[serde(rename = "nodeID")]
        pub node_id: Opaque,
        pub topology_keys: Vec<Symbol>,
        pub allocatable: Option<VolumeNodeResources>,
    }

    /// How many volumes of a driver a node takes.
    #[derive(Eq)]
    pub struct VolumeNodeResources {
        pub count: Option<i32>,
    }

    /// What a CSI driver can do.
    pub struct CSIDriver {
        pub metadata: ObjectMeta,
        pub spec: CsiDriverSpec,
    }

    /// Whether volumes of the driver are attached.
    #[derive(Eq)]
    pub struct CsiDriverSpec {
        pub attach_required: Option<bool>,
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

/// The CSI driver that has taken the place of what Kubernetes once had built in.
///
/// # Source
/// csi-translation-lib: provisioners `kubernetes.io/…`.
#[must_use]
pub fn csi_driver_of(provisioner: Symbol) -> Symbol {
    match provisioner.as_str() {
        "kubernetes.io/aws-ebs" => Symbol::new("ebs.csi.aws.com"),
        "kubernetes.io/gce-pd" => Symbol::new("pd.csi.storage.gke.io"),
        "kubernetes.io/azure-disk" => Symbol::new("disk.csi.azure.com"),
        "kubernetes.io/azure-file" => Symbol::new("file.csi.azure.com"),
        "kubernetes.io/cinder" => Symbol::new("cinder.csi.openstack.org"),
        "kubernetes.io/vsphere-volume" => Symbol::new("csi.vsphere.vmware.com"),
        "kubernetes.io/portworx-volume" => Symbol::new("pxd.portworx.com"),
        _ => provisioner,
    }
}

/// Drivers whose volumes are reached over the network, or lie on the node, without being attached.
const NOT_ATTACHED: [&str; 14] = [
    "docker.io/hostpath",
    "efs.csi.aws.com",
    "file.csi.azure.com",
    "filestore.csi.storage.gke.io",
    "k8s.io/minikube-hostpath",
    "local.csi.openebs.io",
    "microk8s.io/hostpath",
    "nfs.csi.k8s.io",
    "openebs.io/local",
    "rancher.io/local-path",
    "smb.csi.k8s.io",
    "topolvm.cybozu.com",
    "topolvm.io",
    UNSPECIFIED_PROVISIONER,
];

/// The provisioner of claims about whose storage nothing is said: its volumes can be reached from everywhere at once.
pub const UNSPECIFIED_PROVISIONER: &str = "kubesquall.sim/unspecified";

/// Whether volumes of that driver are attached to nodes, unless a CSIDriver says otherwise.
#[must_use]
pub fn is_attached_by_default(driver: Symbol) -> bool {
    !NOT_ATTACHED.contains(&driver.as_str())
}

/// The node labels that say from where a volume of that driver can be reached, the first that a node has counts; none if
/// from everywhere.
///
/// # Source
/// The drivers' own topology keys, and the zone label, which the drivers of the big clouds also set or understand.
#[must_use]
pub fn topology_keys_of(driver: Symbol) -> &'static [&'static str] {
    const ZONE: &str = "topology.kubernetes.io/zone";
    match driver.as_str() {
        "ebs.csi.aws.com" | "ebs.csi.eks.amazonaws.com" => &["topology.ebs.csi.aws.com/zone", ZONE],
        "pd.csi.storage.gke.io" => &["topology.gke.io/zone", ZONE],
        "disk.csi.azure.com" => &["topology.disk.csi.azure.com/zone", ZONE],
        "cinder.csi.openstack.org" => &["topology.cinder.csi.openstack.org/zone", ZONE],
        "docker.io/hostpath"
        | "k8s.io/minikube-hostpath"
        | "local.csi.openebs.io"
        | "microk8s.io/hostpath"
        | "openebs.io/local"
        | "rancher.io/local-path"
        | "topolvm.cybozu.com"
        | "topolvm.io" => &["kubernetes.io/hostname"],
        _ => &[],
    }
}

impl PersistentVolumeSpec {
    /// Whether a node can reach the volume.
    #[must_use]
    pub fn is_reachable_from(&self, labels: &Labels, node_name: Symbol) -> bool {
        let required = self.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        required.is_none_or(|selector| selector.matches(labels, node_name))
    }

    /// The CSI driver that serves the volume; none for kinds that need none.
    #[must_use]
    pub fn driver(&self) -> Option<Symbol> {
        if let Some(csi) = &self.csi {
            return Some(csi.driver);
        }
        let built_in = [
            (&self.aws_elastic_block_store, "kubernetes.io/aws-ebs"),
            (&self.gce_persistent_disk, "kubernetes.io/gce-pd"),
            (&self.azure_disk, "kubernetes.io/azure-disk"),
        ];
        built_in.iter().find(|(source, _)| !source.is_none()).map(|(_, name)| csi_driver_of(Symbol::new(name)))
    }

    /// Whether several nodes may have the volume attached at once.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        let is_many = |mode: &AccessMode| matches!(mode, AccessMode::ReadWriteMany | AccessMode::ReadOnlyMany);
        self.access_modes.is_empty() || self.access_modes.iter().any(is_many)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_disks_are_served_by_csi_drivers() {
        let check = |json: &str, expected: Option<&str>| {
            let spec: PersistentVolumeSpec = serde_json::from_str(json).expect("a spec");
            assert_eq!(spec.driver().map(Symbol::as_str), expected, "{json}");
        };
        check(r#"{"csi":{"driver":"disk.csi.azure.com","volumeHandle":"d"}}"#, Some("disk.csi.azure.com"));
        check(r#"{"azureDisk":{"diskName":"d"}}"#, Some("disk.csi.azure.com"));
        check(r#"{"gcePersistentDisk":{"pdName":"d"}}"#, Some("pd.csi.storage.gke.io"));
        check(r#"{"nfs":{"server":"s","path":"/"}}"#, None);
    }

    #[test]
    fn volumes_of_many_or_without_a_mode_are_shared() {
        let check = |modes: &str, expected: bool| {
            let spec: PersistentVolumeSpec =
                serde_json::from_str(&format!(r#"{{"accessModes":{modes}}}"#)).expect("a spec");
            assert_eq!(spec.is_shared(), expected, "{modes}");
        };
        check(r#"["ReadWriteOnce"]"#, false);
        check(r#"["ReadWriteOncePod"]"#, false);
        check(r#"["ReadWriteOnce","ReadOnlyMany"]"#, true);
        check(r#"["ReadWriteMany"]"#, true);
        check("[]", true);
    }
}
