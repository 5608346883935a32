//! Environment variables of containers.

use serde_json::Value;

use super::error::Errors;
use super::format;
use super::opaque::{Written, has, items, text};
use super::path::Path;
use crate::model::Opaque;
use crate::units::Quantity;

/// Fields of the pod that a variable may hold.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Fields that pods can be selected by, or volumes may hold, and variables may not.
const KNOWN_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"];

/// Resources of the container that a variable may hold.
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// # Source
///
/// kube-apiserver, `ValidateEnv`. That a value must be text is the decoder's rule.
pub(super) fn variables(variables: Opaque, path: &Path<'_>, e: &mut Errors) {
    if variables.is_none() {
        return;
    }
    for (index, variable) in items(&Written::of(variables)).iter().enumerate() {
        let path = path.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            e.required(&path.child("name"), "");
        } else {
            e.texts(&path.child("name"), name, format::variable_name(name));
        }
        let value = &variable["value"];
        if !value.is_null() && !value.is_string() {
            let detail = "must be text; write it in quotes";
            e.invalid(&path.child("value"), &super::error::Json(value), detail);
        }
        if has(variable, "valueFrom") {
            value_from(variable, &path.child("valueFrom"), e);
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateEnvVarValueFrom`.
fn value_from(variable: &Value, path: &Path<'_>, e: &mut Errors) {
    let from = &variable["valueFrom"];
    let mut count = 0;
    for field in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        if !has(from, field) {
            continue;
        }
        count += 1;
        let (source, path) = (&from[field], path.child(field));
        match field {
            "fieldRef" => field_ref(source, &path, e),
            "resourceFieldRef" => resource_ref(source, &path, e),
            "configMapKeyRef" | "secretKeyRef" => {
                let name = text(source, "name");
                e.texts(&path.child("name"), name, format::dns_subdomain(name));
                if text(source, "key").is_empty() {
                    e.required(&path.child("key"), "");
                }
            }
            _ => {}
        }
    }
    if count == 0 {
        let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or \
                      `fileKeyRef`";
        e.invalid(path, "", detail);
    } else if !text(variable, "value").is_empty() {
        e.invalid(path, "", "may not be specified when `value` is not empty");
    } else if count > 1 {
        e.invalid(path, "", "may not have more than one field specified at a time");
    }
}

fn field_ref(source: &Value, path: &Path<'_>, e: &mut Errors) {
    let field = text(source, "fieldPath");
    let path = path.child("fieldPath");
    if field.is_empty() {
        return e.required(&path, "");
    }
    let is_of_map = ["metadata.annotations[", "metadata.labels["].iter().any(|map| field.starts_with(map));
    if is_of_map || FIELDS.contains(&field) || field == "spec.host" {
        return;
    }
    if KNOWN_FIELDS.contains(&field) {
        e.not_supported(&path, field, &FIELDS);
    } else {
        e.invalid(&path, field, std::format!("error converting fieldPath: field label not supported: {field}"));
    }
}

/// A field of the pod that a file may hold: of metadata whole maps, too, and nothing else.
///
/// # Source
///
/// kube-apiserver, `validVolumeDownwardAPIFieldPathExpressions`.
pub(super) fn file_ref(source: &Value, path: &Path<'_>, e: &mut Errors) {
    const FILES: [&str; 5] =
        ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
    let field = text(source, "fieldPath");
    let path = path.child("fieldPath");
    let is_of_map = ["metadata.annotations[", "metadata.labels["].iter().any(|map| field.starts_with(map));
    if field.is_empty() {
        e.required(&path, "");
    } else if is_of_map || FILES.contains(&field) {
    } else if KNOWN_FIELDS.contains(&field) || FIELDS.contains(&field) {
        e.not_supported(&path, field, &FILES);
    } else {
        e.invalid(&path, field, std::format!("error converting fieldPath: field label not supported: {field}"));
    }
}

pub(super) fn resource_ref(source: &Value, path: &Path<'_>, e: &mut Errors) {
    let resource = text(source, "resource");
    divisor(resource, &source["divisor"], &path.child("divisor"), e);
    let path = path.child("resource");
    let is_huge_pages = ["limits.hugepages-", "requests.hugepages-"].iter().any(|prefix| resource.starts_with(prefix));
    if resource.is_empty() {
        e.required(&path, "");
    } else if !is_huge_pages && !RESOURCES.contains(&resource) {
        e.not_supported(&path, resource, &RESOURCES);
    }
}

/// # Source
///
/// kube-apiserver, `validateContainerResourceDivisor`, which shows the resource.
fn divisor(resource: &str, divisor: &Value, path: &Path<'_>, e: &mut Errors) {
    let written = match divisor {
        Value::String(text) => text.clone(),
        Value::Null => return,
        other => other.to_string(),
    };
    let Ok(divisor) = written.trim().parse::<Quantity>() else { return };
    let shown = divisor.to_string();
    let kind = match resource.split_once('.').map_or("", |(_, kind)| kind) {
        _ if divisor.is_zero() => return,
        "cpu" if matches!(shown.as_str(), "1" | "1m") => return,
        "cpu" => {
            return e.invalid(path, resource, "only divisor's values 1m and 1 are supported with the cpu resource");
        }
        "memory" => "memory",
        "ephemeral-storage" => "local ephemeral storage",
        kind if kind.starts_with("hugepages-") => "hugepages",
        _ => return,
    };
    const SIZES: &str = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei";
    if !SIZES.split(", ").any(|size| size == shown) {
        e.invalid(path, resource, std::format!("only divisor's values {SIZES} are supported with the {kind} resource"));
    }
}

/// # Source
///
/// kube-apiserver, `ValidateEnvFrom`.
pub(super) fn sources(sources: Opaque, path: &Path<'_>, e: &mut Errors) {
    if sources.is_none() {
        return;
    }
    for (index, source) in items(&Written::of(sources)).iter().enumerate() {
        let item = path.index(index);
        let prefix = text(source, "prefix");
        e.texts(&item.child("prefix"), prefix, format::variable_name(prefix));
        let mut count = 0;
        for field in ["configMapRef", "secretRef"].into_iter().filter(|field| has(source, field)) {
            count += 1;
            let (name, path) = (text(&source[field], "name"), item.child(field));
            let path = path.child("name");
            if name.is_empty() {
                e.required(&path, "");
            } else {
                e.texts(&path, name, format::dns_subdomain(name));
            }
        }
        match count {
            0 => e.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => e.invalid(path, "", "may not have more than one field specified at a time"),
        }
    }
}
