//! `metadata` of every object.

use std::collections::BTreeMap;

use super::error::{Errors, Json};
use super::format;
use super::path::Path;
use crate::arena::Symbol;
use crate::model::manifest::Scope;
use crate::model::{Labels, ObjectKind, ObjectMeta, OwnerReference};

/// Most bytes of all annotations of an object.
const ANNOTATIONS_SIZE_MAX: usize = 256 * 1024;

/// What the names of a kind must look like.
///
/// # Source
///
/// kube-apiserver, the name functions of `pkg/apis/*/validation`; Services since 1.36.
fn name_form(kind: ObjectKind) -> fn(&str) -> Vec<String> {
    match kind {
        ObjectKind::Namespace | ObjectKind::Service | ObjectKind::StatefulSet => format::dns_label,
        // The validation of budgets never looked at metadata, and roles have colons; any part of a path will do.
        ObjectKind::PodDisruptionBudget | ObjectKind::Stored => format::path_segment,
        _ => format::dns_subdomain,
    }
}

/// # Source
///
/// API machinery, `ValidateObjectMetaAccessor`.
///
/// # Differs
///
/// Owner references may lack `uid` and `apiVersion`: dumps are often written without them.
pub(super) fn validate(kind: ObjectKind, metadata: &ObjectMeta, e: &mut Errors) {
    let path = &Path::ROOT.child("metadata");
    let form = name_form(kind);
    if !metadata.generate_name.is_empty() {
        let name = metadata.generate_name.as_str();
        e.texts(&path.child("generateName"), name, format::prefix(name, form));
    }
    let name = metadata.name.as_str();
    if !name.is_empty() {
        e.texts(&path.child("name"), name, form(name));
    } else if metadata.generate_name.is_empty() {
        e.required(&path.child("name"), "name or generateName is required");
    }
    if kind.scope() == Scope::Namespaced && !metadata.namespace.is_empty() {
        let namespace = metadata.namespace.as_str();
        e.texts(&path.child("namespace"), namespace, format::dns_label(namespace));
    }
    common(metadata, path, e);
}

/// What may be changed must still be good.
///
/// # Source
///
/// API machinery, `ValidateObjectMetaAccessorUpdate`.
pub(super) fn validate_update(new: &ObjectMeta, e: &mut Errors) {
    let path = &Path::ROOT.child("metadata");
    labels(&new.labels, &path.child("labels"), e);
    annotations(&new.annotations, &path.child("annotations"), e);
    owners(&new.owner_references, &path.child("ownerReferences"), e);
}

fn common(metadata: &ObjectMeta, path: &Path<'_>, e: &mut Errors) {
    e.non_negative(&path.child("generation"), metadata.generation);
    labels(&metadata.labels, &path.child("labels"), e);
    annotations(&metadata.annotations, &path.child("annotations"), e);
    owners(&metadata.owner_references, &path.child("ownerReferences"), e);
    finalizers(&metadata.finalizers, &path.child("finalizers"), e);
}

/// # Source
///
/// API machinery, `ValidateLabels`.
pub(super) fn labels(labels: &Labels, path: &Path<'_>, e: &mut Errors) {
    for (key, value) in labels.iter() {
        e.texts(path, key.as_str(), format::qualified_name(key.as_str()));
        e.texts(path, value.as_str(), format::label_value(value.as_str()));
    }
}

/// # Source
///
/// API machinery, `ValidateAnnotations`: keys as of labels, whatever their case.
pub(super) fn annotations(annotations: &BTreeMap<Symbol, Symbol>, path: &Path<'_>, e: &mut Errors) {
    let mut size = 0;
    for (key, value) in annotations {
        size += key.as_str().len() + value.as_str().len();
        if !crate::model::is_qualified_name(key.as_str()) {
            let problems = format::qualified_name(&key.as_str().to_ascii_lowercase());
            e.texts(path, key.as_str(), problems);
        }
    }
    if size > ANNOTATIONS_SIZE_MAX {
        e.too_long(path, ANNOTATIONS_SIZE_MAX);
    }
}

fn owners(owners: &[OwnerReference], path: &Path<'_>, e: &mut Errors) {
    let mut controller: Option<&OwnerReference> = None;
    for owner in owners {
        for (field, value) in [("kind", owner.kind), ("name", owner.name)] {
            if value.is_empty() {
                e.invalid(&path.child(field), "", "must not be empty");
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            e.invalid(path, &Json(owner), "/v1, Kind=Event is disallowed from being an owner");
        }
        if !owner.controller {
            continue;
        }
        match controller {
            Some(first) => {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {}/{} and {}/{}",
                    first.kind, first.name, owner.kind, owner.name
                );
                e.invalid(path, &Json(owners), detail);
            }
            None => controller = Some(owner),
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateFinalizerName`.
pub(super) fn namespace_finalizers(finalizers: &[Symbol], e: &mut Errors) {
    let path = Path::ROOT.child("spec");
    let path = path.child("finalizers");
    for finalizer in finalizers {
        e.texts(&path, finalizer.as_str(), format::qualified_name(finalizer.as_str()));
        known_finalizer(*finalizer, &path, e);
    }
}

/// # Source
///
/// kube-apiserver, `validateKubeFinalizerName`.
fn known_finalizer(finalizer: Symbol, path: &Path<'_>, e: &mut Errors) {
    if !finalizer.as_str().contains('/')
        && !matches!(finalizer.as_str(), "kubernetes" | "orphan" | "foregroundDeletion")
    {
        e.invalid(path, &finalizer, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

fn finalizers(finalizers: &[Symbol], path: &Path<'_>, e: &mut Errors) {
    for finalizer in finalizers {
        e.texts(path, finalizer.as_str(), format::qualified_name(finalizer.as_str()));
    }
    for (index, finalizer) in finalizers.iter().enumerate() {
        known_finalizer(*finalizer, &path.index(index), e);
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| *finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        e.invalid(path, &Json(finalizers), detail);
    }
}
