//! What the API server refuses of an object, field by field, in its words.
//!
//! Pure: objects in, errors out. The rules are those of Kubernetes 1.36 with its default feature gates; one file a kind or a
//! concern, and one for older versions. An object that nothing is wrong with costs no allocation but for the parts that the model keeps as text.
//!
//! Not looked at: address families of Services, claims of devices, options of Windows, status; of what decides nothing all but
//! ConfigMaps and Secrets.

mod affinity;
mod autoscaler;
mod claim;
mod cluster;
mod config;
mod container;
mod environment;
mod error;
mod format;
mod handler;
mod job;
mod limits;
mod metadata;
mod older;
mod opaque;
mod path;
mod pod;
mod resources;
mod security;
mod selector;
mod service;
mod time_zone;
mod volumes;
mod words;
mod workloads;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::config::KubernetesVersion;
use super::{Labels, Object, PodSpec};
use crate::arena::Symbol;
use error::Errors;
use path::Path;
use resources::Asker;
pub use resources::is_extended as is_extended_resource;

pub use error::{ErrorKind, FieldError};
pub use older::drop_unknown;
pub use words::unknown_words;

/// What is wrong with an object that is to be created, as it is written: without the server's defaults.
///
/// # Examples
///
/// ```
/// use kubesquall::model::{manifest, validation};
///
/// let text = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"image": "i"}]}}"#;
/// let loaded = manifest::load_text("pod.json", text);
/// assert!(loaded.diagnostics.has_errors());
/// let pod = kubesquall::model::Object::from_value(serde_json::from_str(text)?).unwrap()?;
/// let errors = validation::validate(&pod);
/// assert_eq!(errors[0].to_string(), "spec.containers[0].name: Required value");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn validate(object: &Object) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let e = &mut errors;
    metadata::validate(object.kind(), object.metadata(), e);
    match object {
        Object::Namespace(namespace) => metadata::namespace_finalizers(&namespace.spec.finalizers, e),
        Object::CSIDriver(_) | Object::CSINode(_) | Object::ControllerRevision(_) => {}
        Object::Stored(object) => config::validate(object, e),
        Object::Node(object) => cluster::node(object, e),
        Object::PriorityClass(object) => cluster::priority_class(object, e),
        Object::RuntimeClass(object) => cluster::runtime_class(object, e),
        Object::StorageClass(object) => claim::class(object, e),
        Object::PersistentVolume(object) => claim::volume(object, e),
        Object::PersistentVolumeClaim(object) => claim::validate(object, e),
        Object::Service(object) => service::validate(object, e),
        Object::PodDisruptionBudget(object) => cluster::budget(object, e),
        Object::Deployment(object) => workloads::deployment(object, e),
        Object::ReplicaSet(object) => workloads::replica_set(object, e),
        Object::StatefulSet(object) => workloads::stateful_set(object, e),
        Object::DaemonSet(object) => workloads::daemon_set(object, e),
        Object::ReplicationController(object) => workloads::replication_controller(object, e),
        Object::CronJob(object) => job::cron_job(object, e),
        Object::Job(object) => job::job(object, e),
        Object::HorizontalPodAutoscaler(object) => autoscaler::validate(object, None, e),
        Object::Pod(object) => pod::validate(object, e),
        Object::LimitRange(object) => limits::limit_range(object, e),
        Object::ResourceQuota(object) => limits::quota(object, None, e),
    }
    errors.0
}

/// [`validate`] for the server of a version.
#[must_use]
pub fn validate_in(object: &Object, version: KubernetesVersion) -> Vec<FieldError> {
    let mut errors = Errors(validate(object));
    older::validate(object, version, &mut errors);
    errors.0
}

/// What a server of that version refuses although today's does not.
#[must_use]
pub fn refused_before(object: &Object, version: KubernetesVersion) -> Vec<FieldError> {
    let mut errors = Errors::default();
    older::validate(object, version, &mut errors);
    errors.0
}

/// What is wrong with the change of an object: `new` as it is written, `old` as it is stored, with all defaults. Objects of
/// two kinds are not compared.
///
/// # Panics
///
/// Never; two objects of different kinds are refused by the kind of the new one alone.
#[must_use]
pub fn validate_update(new: &Object, old: &Object) -> Vec<FieldError> {
    validate_update_in(new, old, KubernetesVersion::NEWEST)
}

/// [`validate_update`] for the server of a version.
///
/// # Panics
///
/// Never.
#[must_use]
pub fn validate_update_in(new: &Object, old: &Object, version: KubernetesVersion) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let e = &mut errors;
    metadata::validate_update(new.metadata(), e);
    let defaulted = with_defaults(new);
    match (&defaulted, old) {
        (Object::Node(new), Object::Node(old)) => cluster::node_update(new, old, e),
        (Object::PriorityClass(new), Object::PriorityClass(old)) => cluster::priority_class_update(new, old, e),
        (Object::RuntimeClass(new), Object::RuntimeClass(old)) => cluster::runtime_class_update(new, old, e),
        (Object::StorageClass(new), Object::StorageClass(old)) => claim::class_update(new, old, e),
        (Object::PersistentVolume(new), Object::PersistentVolume(old)) => claim::volume_update(new, old, e),
        (Object::PersistentVolumeClaim(new), Object::PersistentVolumeClaim(old)) => claim::validate_update(new, old, e),
        (Object::Service(new), Object::Service(old)) => service::validate_update(new, old, e),
        (Object::PodDisruptionBudget(new), _) => cluster::budget(new, e),
        (Object::Deployment(new), Object::Deployment(old)) => workloads::deployment_update(new, old, e),
        (Object::ReplicaSet(new), Object::ReplicaSet(old)) => workloads::replica_set_update(new, old, e),
        (Object::StatefulSet(new), Object::StatefulSet(old)) => workloads::stateful_set_update(new, old, e),
        (Object::DaemonSet(new), Object::DaemonSet(old)) => workloads::daemon_set_update(new, old, e),
        (Object::ReplicationController(new), _) => workloads::replication_controller(new, e),
        (Object::CronJob(new), Object::CronJob(old)) => job::cron_job_update(new, old, e),
        (Object::Job(new), Object::Job(old)) => job::job_update(new, old, version, e),
        (Object::HorizontalPodAutoscaler(new), Object::HorizontalPodAutoscaler(old)) => {
            autoscaler::validate(new, Some(old), e);
        }
        (Object::Pod(new), Object::Pod(old)) => pod::validate_update(new, old, e),
        (Object::Stored(new), Object::Stored(old)) => config::validate_update(new, old, e),
        (Object::LimitRange(new), _) => limits::limit_range(new, e),
        (Object::ResourceQuota(new), Object::ResourceQuota(old)) => limits::quota(new, Some(old), e),
        _ => {}
    }
    errors.0
}

/// An object with the server's defaults, but for a selector that is not written: old versions derived it, the server of
/// today refuses its absence.
fn with_defaults(object: &Object) -> Object {
    let mut defaulted = object.clone();
    defaulted.apply_defaults();
    match (&mut defaulted, object) {
        (Object::Deployment(new), Object::Deployment(written)) => new.spec.selector.clone_from(&written.spec.selector),
        (Object::ReplicaSet(new), Object::ReplicaSet(written)) => new.spec.selector.clone_from(&written.spec.selector),
        (Object::StatefulSet(new), Object::StatefulSet(written)) => {
            new.spec.selector.clone_from(&written.spec.selector)
        }
        (Object::DaemonSet(new), Object::DaemonSet(written)) => new.spec.selector.clone_from(&written.spec.selector),
        _ => {}
    }
    defaulted
}

/// What is wrong with the resources of a pod's containers, once admission has set them.
#[must_use]
pub fn validate_resources(spec: &PodSpec) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let path = Path::ROOT.child("spec");
    for (field, containers) in [("containers", &spec.containers), ("initContainers", &spec.init_containers)] {
        let path = path.child(field);
        for (index, container) in containers.iter().enumerate() {
            let path = path.index(index);
            resources::requirements(&container.resources, Asker::Container, &path.child("resources"), &mut errors);
        }
    }
    errors.0
}

/// What is wrong with the selectors of a pod, once admission has written its `matchLabelKeys` into them.
#[must_use]
pub fn validate_merged_label_keys(spec: &PodSpec) -> Vec<FieldError> {
    let mut errors = Errors::default();
    affinity::merged_label_keys(spec, &Path::ROOT.child("spec"), &mut errors);
    errors.0
}

/// What is wrong with labels, where nothing else of an object is changed.
#[must_use]
pub fn validate_labels(labels: &Labels) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let metadata = Path::ROOT.child("metadata");
    metadata::labels(labels, &metadata.child("labels"), &mut errors);
    errors.0
}

/// What is wrong with new annotations of a pod of which nothing else is changed.
#[must_use]
pub fn validate_pod_annotations(new: &BTreeMap<Symbol, Symbol>, old: &BTreeMap<Symbol, Symbol>) -> Vec<FieldError> {
    let mut errors = Errors::default();
    let metadata = Path::ROOT.child("metadata");
    pod::mirror_kept(new, old, &metadata.child("annotations"), &mut errors);
    errors.0
}

/// Several errors in one line, as the server's message holds them: each once, in brackets if there are several.
#[must_use]
pub fn aggregate(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}
