//! Claims, volumes and storage classes.

use super::error::{Errors, Json};
use super::opaque::Written;
use super::path::Path;
use super::selector::{Values, label_selector, node_selector_term};
use super::{format, volumes};
use crate::arena::Symbol;
use crate::model::{
    AccessMode, Opaque, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimPhase, PersistentVolumeClaimSpec,
    PersistentVolumeSpec, ReclaimPolicy, StorageClass,
};
use crate::units::Quantity;

const STORAGE: &str = "storage";

/// # Source
///
/// kube-apiserver, `ValidatePersistentVolumeClaim`.
pub(super) fn validate(claim: &PersistentVolumeClaim, e: &mut Errors) {
    spec(&claim.spec, &Path::ROOT.child("spec"), e);
}

/// # Source
///
/// kube-apiserver, `ValidatePersistentVolumeClaimSpec`.
pub(super) fn spec(spec: &PersistentVolumeClaimSpec, path: &Path<'_>, e: &mut Errors) {
    if spec.access_modes.is_empty() {
        e.required(&path.child("accessModes"), "at least 1 access mode is required");
    }
    label_selector(spec.selector.as_ref(), &path.child("selector"), e);
    access_modes(&spec.access_modes, path, e);
    let resources = path.child("resources");
    let storage_path = resources.key(STORAGE);
    match spec.resources.requests.get(Symbol::new(STORAGE)) {
        None => e.required(&storage_path, ""),
        Some(size) => positive(size, &storage_path, e),
    }
    if let Some(class) = spec.storage_class_name.filter(|class| !class.is_empty()) {
        e.texts(&path.child("storageClassName"), class.as_str(), format::dns_subdomain(class.as_str()));
    }
}

fn positive(amount: &Quantity, path: &Path<'_>, e: &mut Errors) {
    if amount.is_zero() || amount.is_negative() {
        e.invalid(path, amount, "must be greater than zero");
    }
}

fn access_modes(modes: &[AccessMode], path: &Path<'_>, e: &mut Errors) {
    let is_single = |mode: &AccessMode| *mode == AccessMode::ReadWriteOncePod;
    if modes.iter().any(is_single) && !modes.iter().all(is_single) {
        e.forbidden(&path.child("accessModes"), "may not use ReadWriteOncePod with other access modes");
    }
}

/// # Source
///
/// kube-apiserver, `ValidatePersistentVolumeClaimUpdate`.
pub(super) fn validate_update(new: &PersistentVolumeClaim, old: &PersistentVolumeClaim, e: &mut Errors) {
    validate(new, e);
    let path = Path::ROOT.child("spec");
    let storage = Symbol::new(STORAGE);
    let mut before = old.spec.clone();
    let mut after = new.spec.clone();
    if before.volume_name.is_none() {
        before.volume_name = after.volume_name;
    }
    if before.storage_class_name.is_none() {
        before.storage_class_name = after.storage_class_name;
    }
    let is_bound = old.status.phase == PersistentVolumeClaimPhase::Bound;
    if let Some(size) = before.resources.requests.get(storage).filter(|_| is_bound) {
        after.resources.requests.insert(storage, *size);
    }
    if after != before {
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
                      claims";
        e.forbidden(&path, detail);
    }
    let size = |claim: &PersistentVolumeClaim| claim.spec.resources.requests.get(storage).copied().unwrap_or_default();
    let has = old.status.capacity.get(storage).copied().unwrap_or_default();
    if size(new) < size(old) && size(new) <= has {
        let resources = path.child("resources");
        let requests = resources.child("requests");
        e.forbidden(&requests.child(STORAGE), "field can not be less than status.capacity");
    }
}

/// # Source
///
/// kube-apiserver, `ValidatePersistentVolume`.
pub(super) fn volume(volume: &PersistentVolume, e: &mut Errors) {
    let path = &Path::ROOT.child("spec");
    let spec = &volume.spec;
    if spec.access_modes.is_empty() {
        e.required(&path.child("accessModes"), "");
    }
    access_modes(&spec.access_modes, path, e);
    let capacity = path.child("capacity");
    if spec.capacity.is_empty() {
        e.required(&capacity, "");
    }
    if spec.capacity.iter().any(|(name, _)| name != STORAGE) || spec.capacity.is_empty() {
        e.unsupported(&capacity, &Json(&spec.capacity), &[STORAGE]);
    }
    for (name, amount) in spec.capacity.iter() {
        positive(amount, &capacity.key(name.as_str()), e);
    }
    if let Some(affinity) = &spec.node_affinity {
        let path = path.child("nodeAffinity");
        let required = path.child("required");
        match &affinity.required {
            None => e.required(&required, "must specify required node constraints"),
            Some(selector) if selector.node_selector_terms.is_empty() => {
                e.required(&required.child("nodeSelectorTerms"), "must have at least one node selector term");
            }
            Some(selector) => {
                let terms = required.child("nodeSelectorTerms");
                for (index, term) in selector.node_selector_terms.iter().enumerate() {
                    node_selector_term(term, Values::MustBeLabels, &terms.index(index), e);
                }
            }
        }
    }
    volume_source(spec, path, e);
    if !spec.storage_class_name.is_empty() {
        let class = spec.storage_class_name.as_str();
        e.texts(&path.child("storageClassName"), class, format::dns_subdomain(class));
    }
}

/// Sources of a volume by the names of their fields, in the order in which the server looks at them.
fn sources(spec: &PersistentVolumeSpec) -> [(&'static str, bool); 22] {
    let is_set = |source: Opaque| !source.is_none();
    [
        ("hostPath", is_set(spec.host_path)),
        ("gcePersistentDisk", is_set(spec.gce_persistent_disk)),
        ("awsElasticBlockStore", is_set(spec.aws_elastic_block_store)),
        ("glusterfs", is_set(spec.glusterfs)),
        ("flocker", is_set(spec.flocker)),
        ("nfs", is_set(spec.nfs)),
        ("rbd", is_set(spec.rbd)),
        ("quobyte", is_set(spec.quobyte)),
        ("cephFS", is_set(spec.cephfs)),
        ("iscsi", is_set(spec.iscsi)),
        ("cinder", is_set(spec.cinder)),
        ("fc", is_set(spec.fc)),
        ("flexVolume", is_set(spec.flex_volume)),
        ("azureFile", is_set(spec.azure_file)),
        ("vsphereVolume", is_set(spec.vsphere_volume)),
        ("photonPersistentDisk", is_set(spec.photon_persistent_disk)),
        ("portworxVolume", is_set(spec.portworx_volume)),
        ("azureDisk", is_set(spec.azure_disk)),
        ("scaleIO", is_set(spec.scale_io)),
        ("local", is_set(spec.local)),
        ("storageos", is_set(spec.storageos)),
        ("csi", spec.csi.is_some()),
    ]
}

fn volume_source(spec: &PersistentVolumeSpec, path: &Path<'_>, e: &mut Errors) {
    let mut set = sources(spec).into_iter().filter(|(_, is_set)| *is_set).map(|(field, _)| field);
    let Some(first) = set.next() else { return e.required(path, "must specify a volume type") };
    let here = path.child(first);
    match (first, &spec.csi) {
        ("hostPath", _) => {
            let source = Written::of(spec.host_path);
            volumes::host_path(&source, &here, e);
            let is_root = source["path"].as_str().is_some_and(|path| path.trim_end_matches('/').is_empty());
            if is_root && spec.persistent_volume_reclaim_policy == Some(ReclaimPolicy::Recycle) {
                let detail = "may not be 'recycle' for a hostPath mount of '/'";
                e.forbidden(&path.child("persistentVolumeReclaimPolicy"), detail);
            }
        }
        ("nfs", _) => volumes::nfs(&Written::of(spec.nfs), &here, e),
        ("local", _) => {
            if Written::of(spec.local)["path"].as_str().is_none_or(str::is_empty) {
                e.required(&here.child("path"), "");
            }
            if spec.node_affinity.is_none() {
                e.required(&path.child("nodeAffinity"), "Local volume requires node affinity");
            }
        }
        ("csi", Some(csi)) => {
            for (field, value) in [("driver", csi.driver), ("volumeHandle", csi.volume_handle)] {
                if value.is_empty() {
                    e.required(&here.child(field), "");
                }
            }
        }
        _ => {}
    }
    // Beside a flexVolume the server allows others before it, not after it.
    for other in set.filter(|other| *other != "flexVolume") {
        e.forbidden(&path.child(other), "may not specify more than 1 volume type");
    }
}

/// # Source
///
/// kube-apiserver, `ValidatePersistentVolumeUpdate`.
pub(super) fn volume_update(new: &PersistentVolume, old: &PersistentVolume, e: &mut Errors) {
    volume(new, e);
    // All that is no source is taken from the new one; what differs then is the source.
    let sources = |volume: &PersistentVolume| PersistentVolumeSpec {
        capacity: Default::default(),
        access_modes: Vec::new(),
        claim_ref: None,
        persistent_volume_reclaim_policy: None,
        storage_class_name: Symbol::default(),
        node_affinity: None,
        volume_mode: Default::default(),
        mount_options: Default::default(),
        ..volume.spec.clone()
    };
    if sources(new) != sources(old) {
        let spec = Path::ROOT.child("spec");
        let detail = "spec.persistentvolumesource is immutable after creation";
        e.forbidden(&spec.child("persistentvolumesource"), detail);
    }
    e.immutable(&Path::ROOT.child("volumeMode"), &new.spec.volume_mode, &old.spec.volume_mode);
    if old.spec.node_affinity.is_some() {
        e.immutable(&Path::ROOT.child("nodeAffinity"), &new.spec.node_affinity, &old.spec.node_affinity);
    }
}

/// # Source
///
/// kube-apiserver, `ValidateStorageClass`.
pub(super) fn class(class: &StorageClass, e: &mut Errors) {
    let provisioner = class.provisioner.as_str();
    let path = Path::ROOT.child("provisioner");
    if provisioner.is_empty() {
        e.required(&path, "");
    } else {
        e.texts(&path, provisioner, format::qualified_name(&provisioner.to_ascii_lowercase()));
    }
    if class.reclaim_policy == Some(ReclaimPolicy::Recycle) {
        e.not_supported(&Path::ROOT.child("reclaimPolicy"), "Recycle", &["Delete", "Retain"]);
    }
    let list = Path::ROOT.child("allowedTopologies");
    for (index, term) in class.allowed_topologies.iter().enumerate() {
        let path = list.index(index);
        let expressions = path.child("matchLabelExpressions");
        for (index, requirement) in term.match_label_expressions.iter().enumerate() {
            let path = expressions.index(index);
            let values = path.child("values");
            if requirement.values.is_empty() {
                e.required(&values, "");
            }
            for (index, value) in requirement.values.iter().enumerate() {
                if requirement.values[..index].contains(value) {
                    e.duplicate(&values.index(index), value);
                }
            }
            let key = requirement.key.as_str();
            e.texts(&path.child("key"), key, format::qualified_name(key));
            if term.match_label_expressions[..index].iter().any(|other| other.key == requirement.key) {
                e.duplicate(&path.child("key"), &requirement.key);
            }
        }
    }
}

/// # Source
///
/// kube-apiserver, `ValidateStorageClassUpdate`.
pub(super) fn class_update(new: &StorageClass, old: &StorageClass, e: &mut Errors) {
    let at = |field: &'static str| Path::ROOT.child(field);
    e.immutable(&at("parameters"), &new.parameters, &old.parameters);
    e.immutable(&at("provisioner"), &new.provisioner, &old.provisioner);
    let policy = |class: &StorageClass| class.reclaim_policy.unwrap_or(ReclaimPolicy::Delete);
    if policy(new) != policy(old) {
        e.invalid(&at("reclaimPolicy"), &Json(&policy(new)), "field is immutable");
    }
    e.immutable(&at("volumeBindingMode"), &new.volume_binding_mode, &old.volume_binding_mode);
}
