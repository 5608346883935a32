//! Volumes of pods, and how containers mount them.

use serde_json::Value;

use super::claim;
use super::environment;
use super::error::Errors;
use super::format;
use super::opaque::{Written, has, items, text};
use super::path::Path;
use crate::model::{Container, Opaque, Volume};

/// What volumes of containers are matched against.
#[derive(Debug, Default)]
pub(super) struct Volumes<'a> {
    /// Those that nothing is wrong with.
    good: Vec<&'a Volume>,
    /// Those that a StatefulSet adds by its claim templates.
    claims: Vec<&'a str>,
}

/// What a mount is judged by.
struct Beside<'a> {
    container: &'a Container,
    /// Mounts before it.
    earlier: &'a [Value],
    devices: &'a [Value],
    /// All mounts: the server says some things of the list that belong to one of them.
    list: &'a Path<'a>,
}

/// Sources of a volume by the names of their fields, in the order in which the server looks at them.
fn sources(volume: &Volume) -> [(&'static str, bool); 25] {
    let is_set = |source: Opaque| !source.is_none();
    [
        ("emptyDir", volume.empty_dir.is_some()),
        ("hostPath", is_set(volume.host_path)),
        ("gitRepo", is_set(volume.git_repo)),
        ("gcePersistentDisk", is_set(volume.gce_persistent_disk)),
        ("awsElasticBlockStore", is_set(volume.aws_elastic_block_store)),
        ("secret", is_set(volume.secret)),
        ("nfs", is_set(volume.nfs)),
        ("iscsi", is_set(volume.iscsi)),
        ("glusterfs", is_set(volume.glusterfs)),
        ("persistentVolumeClaim", volume.persistent_volume_claim.is_some()),
        ("rbd", is_set(volume.rbd)),
        ("cinder", is_set(volume.cinder)),
        ("cephFS", is_set(volume.cephfs)),
        ("downwardAPI", is_set(volume.downward_api)),
        ("fc", is_set(volume.fc)),
        ("flexVolume", is_set(volume.flex_volume)),
        ("configMap", is_set(volume.config_map)),
        ("azureFile", is_set(volume.azure_file)),
        ("vsphereVolume", is_set(volume.vsphere_volume)),
        ("azureDisk", is_set(volume.azure_disk)),
        ("portworxVolume", is_set(volume.portworx_volume)),
        ("projected", is_set(volume.projected)),
        ("csi", is_set(volume.csi)),
        ("ephemeral", volume.ephemeral.is_some()),
        ("image", volume.image.is_some()),
    ]
}

impl<'a> Volumes<'a> {
    /// Checks volumes; `claims` are the names of those that a StatefulSet puts in place of equally named ones. A volume
    /// without a source is an empty directory.
    ///
    /// # Source
    ///
    /// kube-apiserver, `ValidateVolumes`; `volumesToAddForTemplates`: a volume of each claim comes first.
    pub(super) fn validate(volumes: &'a [Volume], claims: Vec<&'a str>, path: &Path<'_>, e: &mut Errors) -> Self {
        let mut good: Vec<&Volume> = Vec::with_capacity(volumes.len());
        for (index, name) in claims.iter().enumerate().filter(|(index, name)| !claims[..*index].contains(name)) {
            let path = &path.index(index);
            if name.is_empty() {
                e.required(&path.child("persistentVolumeClaim").child("claimName"), "");
                e.required(&path.child("name"), "");
            } else {
                e.texts(&path.child("name"), name, format::dns_label(name));
            }
        }
        for (index, volume) in volumes.iter().enumerate() {
            let name = volume.name.as_str();
            if claims.contains(&name) {
                continue;
            }
            let count_before = e.0.len();
            let path = &path.index(index);
            source(volume, path, e);
            if name.is_empty() {
                e.required(&path.child("name"), "");
            } else {
                e.texts(&path.child("name"), name, format::dns_label(name));
            }
            if good.iter().any(|other| other.name == volume.name) {
                e.duplicate(&path.child("name"), &volume.name);
            }
            if e.0.len() == count_before {
                good.push(volume);
            }
        }
        Self { good, claims }
    }

    fn has(&self, name: &str) -> bool {
        self.good.iter().any(|volume| volume.name == *name) || self.claims.contains(&name)
    }

    fn is_claim(&self, name: &str) -> bool {
        let is_claim = |volume: &&&Volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some();
        self.good.iter().find(|volume| volume.name == *name).is_some_and(|volume| is_claim(&volume))
            || self.claims.contains(&name)
    }

    /// Checks what a container mounts, as directories and as devices.
    ///
    /// # Source
    ///
    /// kube-apiserver, `ValidateVolumeMounts` and `ValidateVolumeDevices`.
    pub(super) fn mounts(&self, container: &Container, path: &Path<'_>, e: &mut Errors) {
        if container.volume_mounts.is_none() && container.volume_devices.is_none() {
            return;
        }
        let (mounts, devices) = (Written::of(container.volume_mounts), Written::of(container.volume_devices));
        let (mounts, devices) = (items(&mounts), items(&devices));
        let list = path.child("volumeMounts");
        for (index, mount) in mounts.iter().enumerate() {
            let beside = Beside { container, earlier: &mounts[..index], devices, list: &list };
            self.mount(mount, &beside, &list.index(index), e);
        }
        let list = path.child("volumeDevices");
        for (index, device) in devices.iter().enumerate() {
            self.device(device, &devices[..index], mounts, &list.index(index), e);
        }
    }

    fn mount(&self, mount: &Value, beside: &Beside<'_>, path: &Path<'_>, e: &mut Errors) {
        let Beside { container, earlier, devices, list } = *beside;
        let (name, mount_path) = (text(mount, "name"), text(mount, "mountPath"));
        let (name_path, mount_path_path) = (path.child("name"), path.child("mountPath"));
        if name.is_empty() {
            e.required(&name_path, "");
        }
        if !self.has(name) {
            e.not_found(&name_path, name);
        }
        if mount_path.is_empty() {
            e.required(&mount_path_path, "");
        }
        if earlier.iter().any(|other| text(other, "mountPath") == mount_path) {
            e.invalid(&mount_path_path, mount_path, "must be unique");
        }
        if devices.iter().any(|device| text(device, "name") == name) {
            e.invalid(&name_path, name, "must not already exist in volumeDevices");
        }
        if devices.iter().any(|device| text(device, "devicePath") == mount_path) {
            e.invalid(&mount_path_path, mount_path, "must not already exist as a path in volumeDevices");
        }
        let (sub_path, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        descending(sub_path, &list.child("subPath"), e);
        if !expression.is_empty() && !sub_path.is_empty() {
            let detail = "subPathExpr and subPath are mutually exclusive";
            e.invalid(&path.child("subPathExpr"), expression, detail);
        }
        descending(expression, &list.child("subPathExpr"), e);
        let propagation_path = list.child("mountPropagation");
        match text(mount, "mountPropagation") {
            "" | "None" | "HostToContainer" => {}
            "Bidirectional" => {
                if Written::of(container.security_context)["privileged"] != true {
                    let detail = "Bidirectional mount propagation is available only to privileged containers";
                    e.forbidden(&propagation_path, detail);
                }
            }
            other => e.not_supported(&propagation_path, other, &["Bidirectional", "HostToContainer", "None"]),
        }
    }

    fn device(&self, device: &Value, earlier: &[Value], mounts: &[Value], path: &Path<'_>, e: &mut Errors) {
        let (name, device_path) = (text(device, "name"), text(device, "devicePath"));
        let (name_path, device_path_path) = (path.child("name"), path.child("devicePath"));
        if name.is_empty() {
            e.required(&name_path, "");
        } else if earlier.iter().any(|other| text(other, "name") == name) {
            e.invalid(&name_path, name, "must be unique");
        }
        if !self.has(name) {
            e.not_found(&name_path, name);
        } else if !self.is_claim(name) {
            let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            e.invalid(&name_path, name, detail);
        }
        if device_path.is_empty() {
            e.required(&device_path_path, "");
        }
        if earlier.iter().any(|other| text(other, "devicePath") == device_path) {
            e.invalid(&device_path_path, device_path, "must be unique");
        }
        if has_backsteps(device_path) {
            e.invalid(&device_path_path, device_path, "can not contain backsteps ('..')");
        }
        if mounts.iter().any(|mount| text(mount, "name") == name) {
            e.invalid(&name_path, name, "must not already exist in volumeMounts");
        }
        if mounts.iter().any(|mount| text(mount, "mountPath") == device_path) {
            e.invalid(&device_path_path, device_path, "must not already exist as a path in volumeMounts");
        }
    }
}

/// What a source cannot do without.
///
/// # Source
///
/// kube-apiserver, `validateGCEPersistentDiskVolumeSource` and its like.
fn needs(source: Opaque, fields: &[&str], path: &Path<'_>, e: &mut Errors) {
    let source = Written::of(source);
    for field in fields {
        let is_empty = match &source[*field] {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            other => other.is_null(),
        };
        if is_empty {
            e.required(&path.child(field), "");
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateDownwardAPIVolumeSource`.
fn downward(source: &Value, path: &Path<'_>, e: &mut Errors) {
    mode(source, "defaultMode", path, e);
    let list = path.child("items");
    for (index, item) in items(&source["items"]).iter().enumerate() {
        let path = list.index(index);
        let file = text(item, "path");
        if file.is_empty() {
            e.required(&path.child("path"), "");
        }
        descending(file, &path.child("path"), e);
        match (has(item, "fieldRef"), has(item, "resourceFieldRef")) {
            (true, both) => {
                environment::file_ref(&item["fieldRef"], &path.child("fieldRef"), e);
                if both {
                    e.invalid(&path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
                }
            }
            (false, true) => {
                let path = path.child("resourceFieldRef");
                if text(&item["resourceFieldRef"], "containerName").is_empty() {
                    e.required(&path.child("containerName"), "");
                }
                environment::resource_ref(&item["resourceFieldRef"], &path, e);
            }
            (false, false) => e.required(&path, "one of fieldRef and resourceFieldRef is required"),
        }
        mode(item, "mode", &path, e);
    }
}

fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A path that leads down from where it begins; none is good.
pub(super) fn descending(value: &str, path: &Path<'_>, e: &mut Errors) {
    if value.starts_with('/') {
        e.invalid(path, value, "must be a relative path");
    }
    if has_backsteps(value) {
        e.invalid(path, value, "must not contain '..'");
    }
}

/// # Source
///
/// kube-apiserver, `validateVolumeSource`; of the kinds of storage that only clouds and vendors have, what they need.
fn source(volume: &Volume, path: &Path<'_>, e: &mut Errors) {
    let mut set = sources(volume).into_iter().filter(|(_, is_set)| *is_set);
    let Some((first, _)) = set.next() else { return };
    let here = path.child(first);
    match first {
        "emptyDir" => {
            let limit = volume.empty_dir.as_ref().and_then(|empty_dir| empty_dir.size_limit);
            if limit.is_some_and(|limit| limit.is_negative()) {
                e.forbidden(&here.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
            }
        }
        "hostPath" => host_path(&Written::of(volume.host_path), &here, e),
        "secret" => files(&Written::of(volume.secret), "secretName", &here, e),
        "configMap" => files(&Written::of(volume.config_map), "name", &here, e),
        "persistentVolumeClaim"
            if volume.persistent_volume_claim.as_ref().is_some_and(|claim| claim.claim_name.is_empty()) =>
        {
            e.required(&here.child("claimName"), "");
        }
        "nfs" => nfs(&Written::of(volume.nfs), &here, e),
        "projected" => projected(&Written::of(volume.projected), &here, e),
        "downwardAPI" => downward(&Written::of(volume.downward_api), &here, e),
        "csi" if text(&Written::of(volume.csi), "driver").is_empty() => e.required(&here.child("driver"), ""),
        "ephemeral" => {
            if let Some(ephemeral) = &volume.ephemeral {
                let template = here.child("volumeClaimTemplate");
                claim::spec(&ephemeral.volume_claim_template.spec, &template.child("spec"), e);
            }
        }
        "gitRepo" => needs(volume.git_repo, &["repository"], &here, e),
        "gcePersistentDisk" => needs(volume.gce_persistent_disk, &["pdName"], &here, e),
        "awsElasticBlockStore" => needs(volume.aws_elastic_block_store, &["volumeID"], &here, e),
        "iscsi" => needs(volume.iscsi, &["targetPortal", "iqn"], &here, e),
        "glusterfs" => needs(volume.glusterfs, &["endpoints", "path"], &here, e),
        "rbd" => needs(volume.rbd, &["monitors", "image"], &here, e),
        "cinder" => needs(volume.cinder, &["volumeID"], &here, e),
        "cephFS" => needs(volume.cephfs, &["monitors"], &here, e),
        "flexVolume" => needs(volume.flex_volume, &["driver"], &here, e),
        "azureFile" => needs(volume.azure_file, &["secretName", "shareName"], &here, e),
        "vsphereVolume" => needs(volume.vsphere_volume, &["volumePath"], &here, e),
        "azureDisk" => needs(volume.azure_disk, &["diskName", "diskURI"], &here, e),
        _ => {}
    }
    for (other, _) in set {
        e.forbidden(&path.child(other), "may not specify more than 1 volume type");
    }
}

/// A directory of the node.
///
/// # Source
///
/// kube-apiserver, `validateHostPathVolumeSource`.
pub(super) fn host_path(source: &Value, path: &Path<'_>, e: &mut Errors) {
    const TYPES: [&str; 8] =
        ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
    let directory = text(source, "path");
    if directory.is_empty() {
        return e.required(&path.child("path"), "");
    }
    if has_backsteps(directory) {
        e.invalid(&path.child("path"), directory, "must not contain '..'");
    }
    if !TYPES.contains(&text(source, "type")) {
        e.not_supported(&path.child("type"), text(source, "type"), &TYPES);
    }
}

/// A share of a file server.
///
/// # Source
///
/// kube-apiserver, `validateNFSVolumeSource`.
pub(super) fn nfs(source: &Value, path: &Path<'_>, e: &mut Errors) {
    let share = text(source, "path");
    if text(source, "server").is_empty() {
        e.required(&path.child("server"), "");
    }
    if share.is_empty() {
        e.required(&path.child("path"), "");
    }
    if !share.starts_with('/') {
        e.invalid(&path.child("path"), share, "must be an absolute path");
    }
}

fn mode(source: &Value, field: &str, path: &Path<'_>, e: &mut Errors) {
    if let Some(mode) = source[field].as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
        e.invalid(&path.child(field), &mode, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}

/// # Source
///
/// kube-apiserver, `validateSecretVolumeSource` and `validateConfigMapVolumeSource`.
fn files(source: &Value, name: &str, path: &Path<'_>, e: &mut Errors) {
    if text(source, name).is_empty() {
        e.required(&path.child(name), "");
    }
    mode(source, "defaultMode", path, e);
    keys(source, path, e);
}

/// # Source
///
/// kube-apiserver, `validateKeyToPath`.
fn keys(source: &Value, path: &Path<'_>, e: &mut Errors) {
    let list = path.child("items");
    for (index, item) in items(&source["items"]).iter().enumerate() {
        let path = list.index(index);
        for field in ["key", "path"] {
            if text(item, field).is_empty() {
                e.required(&path.child(field), "");
            }
        }
        let file = text(item, "path");
        descending(file, &path.child("path"), e);
        if file.starts_with("..") && !has_backsteps(file) {
            e.invalid(&path.child("path"), file, "must not start with '..'");
        }
        mode(item, "mode", &path, e);
    }
}

/// # Source
///
/// kube-apiserver, `validateProjectionSources`: each has exactly one kind, and what that kind needs.
fn projected(source: &Value, path: &Path<'_>, e: &mut Errors) {
    mode(source, "defaultMode", path, e);
    let list = path.child("sources");
    for (index, source) in items(&source["sources"]).iter().enumerate() {
        let path = list.index(index);
        let kinds =
            ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"];
        let mut set = kinds.into_iter().filter(|kind| has(source, kind));
        let Some(kind) = set.next() else {
            e.required(&path, "");
            continue;
        };
        let here = path.child(kind);
        match kind {
            "secret" | "configMap" => {
                if text(&source[kind], "name").is_empty() {
                    e.required(&here.child("name"), "");
                }
                keys(&source[kind], &here, e);
            }
            "serviceAccountToken" => {
                let seconds = source[kind]["expirationSeconds"].as_i64();
                if let Some(seconds) = seconds.filter(|seconds| *seconds < 600) {
                    e.invalid(
                        &here.child("expirationSeconds"),
                        &seconds,
                        "may not specify a duration less than 10 minutes",
                    );
                }
                if text(&source[kind], "path").is_empty() {
                    e.required(&here.child("path"), "");
                }
            }
            _ => {}
        }
        for other in set {
            e.forbidden(&path.child(other), "may not specify more than 1 volume type per source");
        }
    }
}
