//! All that the API server writes into a template, also in the parts that decide nothing here.

use serde_json::{Value, json};

use super::super::{PodTemplateSpec, PullPolicy, image_tag};
use crate::model::api_type::whole;

/// A template as JSON, with what the API server defaults.
///
/// # Source
/// kube-apiserver, `pkg/apis/core/v1/defaults.go` as far as templates have it: requests that follow from limits, service links and the like only pods
/// get.
pub(super) fn written_out(template: &PodTemplateSpec) -> Value {
    let mut template = whole(|| serde_json::to_value(template)).unwrap_or_default();
    let spec = &mut template["spec"];
    default(spec, "restartPolicy", json!("Always"));
    default(spec, "dnsPolicy", json!("ClusterFirst"));
    default(spec, "schedulerName", json!("default-scheduler"));
    default(spec, "terminationGracePeriodSeconds", json!(30));
    default(spec, "securityContext", json!({}));
    if let account @ Value::String(_) = spec["serviceAccountName"].clone() {
        spec["serviceAccount"] = account;
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        items(spec, list).for_each(container);
    }
    items(spec, "volumes").for_each(volume);
    template
}

/// Writes a field that is not there, or empty.
fn default(object: &mut Value, field: &str, value: Value) {
    let own = &mut object[field];
    if own.is_null() || own.as_str() == Some("") {
        *own = value;
    }
}

/// The objects of a list in an object; none if it has no such list.
fn items<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().filter(|item| item.is_object())
}

/// A part of an object, if it is there.
fn part<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    object.get_mut(field).filter(|own| own.is_object())
}

fn pull_policy(image: &Value) -> Value {
    let policy = match image_tag(image.as_str().unwrap_or_default()) {
        None | Some("latest") => PullPolicy::Always,
        Some(_) => PullPolicy::IfNotPresent,
    };
    json!(policy.as_str())
}

fn container(container: &mut Value) {
    let policy = pull_policy(&container["image"]);
    default(container, "imagePullPolicy", policy);
    default(container, "terminationMessagePath", json!("/dev/termination-log"));
    default(container, "terminationMessagePolicy", json!("File"));
    items(container, "ports").for_each(|port| default(port, "protocol", json!("TCP")));
    for variable in items(container, "env") {
        let Some(source) = part(variable, "valueFrom") else { continue };
        if let Some(field) = part(source, "fieldRef") {
            default(field, "apiVersion", json!("v1"));
        }
        if let Some(key) = part(source, "fileKeyRef") {
            default(key, "optional", json!(false));
        }
    }
    for name in ["readinessProbe", "livenessProbe", "startupProbe"] {
        let Some(probe) = part(container, name) else { continue };
        handler(probe);
        if let Some(grpc) = part(probe, "grpc") {
            default(grpc, "service", json!(""));
        }
        for (field, value) in
            [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
        {
            if probe[field].as_i64().unwrap_or_default() == 0 {
                probe[field] = json!(value);
            }
        }
    }
    if let Some(lifecycle) = part(container, "lifecycle") {
        for hook in ["postStart", "preStop"] {
            part(lifecycle, hook).map(handler);
        }
    }
}

fn handler(handler: &mut Value) {
    if let Some(get) = part(handler, "httpGet") {
        default(get, "path", json!("/"));
        default(get, "scheme", json!("HTTP"));
    }
}

fn volume(volume: &mut Value) {
    if volume.as_object().is_some_and(|fields| fields.keys().all(|name| name == "name")) {
        volume["emptyDir"] = json!({});
    }
    let fields: [(&str, &[(&str, Value)]); 9] = [
        ("hostPath", &[("type", json!(""))]),
        ("secret", &[("defaultMode", json!(420))]),
        ("configMap", &[("defaultMode", json!(420))]),
        ("downwardAPI", &[("defaultMode", json!(420))]),
        ("projected", &[("defaultMode", json!(420))]),
        ("iscsi", &[("iscsiInterface", json!("default"))]),
        ("rbd", &[("pool", json!("rbd")), ("user", json!("admin")), ("keyring", json!("/etc/ceph/keyring"))]),
        (
            "azureDisk",
            &[
                ("cachingMode", json!("ReadWrite")),
                ("kind", json!("Shared")),
                ("fsType", json!("ext4")),
                ("readOnly", json!(false)),
            ],
        ),
        ("scaleIO", &[("storageMode", json!("ThinProvisioned")), ("fsType", json!("xfs"))]),
    ];
    for (name, defaults) in fields {
        let Some(source) = part(volume, name) else { continue };
        defaults.iter().for_each(|(field, value)| default(source, field, value.clone()));
    }
    if let Some(image) = part(volume, "image") {
        let policy = pull_policy(&image["reference"]);
        default(image, "pullPolicy", policy);
    }
    if let Some(claim) = part(volume, "ephemeral").and_then(|own| part(own, "volumeClaimTemplate")) {
        default(&mut claim["spec"], "volumeMode", json!("Filesystem"));
    }
    if let Some(pod) = part(volume, "downwardAPI") {
        files_of_pod(pod);
    }
    if let Some(projected) = part(volume, "projected") {
        for source in items(projected, "sources") {
            if let Some(pod) = part(source, "downwardAPI") {
                files_of_pod(pod);
            }
            if let Some(token) = part(source, "serviceAccountToken") {
                default(token, "expirationSeconds", json!(3600));
            }
        }
    }
}

fn files_of_pod(source: &mut Value) {
    for item in items(source, "items") {
        if let Some(field) = part(item, "fieldRef") {
            default(field, "apiVersion", json!("v1"));
        }
    }
}
