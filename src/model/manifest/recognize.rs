//! What a document is that does not say so: by its content, and by the names of its file and directories.
//!
//! Support bundles keep objects as client-go holds them, without `kind` and `apiVersion`, in files such as `nodes.json` and
//! `pods/kube-system.json`.

use serde_json::Value;

use super::object::ObjectKind;

/// `apiVersion` and `kind`.
type Identity = (&'static str, &'static str);

/// Kinds that have no effect and are told apart all the same, so that they are listed by their name.
const WITHOUT_EFFECT: &[Identity] = &[
    ("v1", "Event"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("v1", "Endpoints"),
    ("discovery.k8s.io/v1", "EndpointSlice"),
    ("coordination.k8s.io/v1", "Lease"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
];

/// Names around a document, nearest first, that are looked at; nobody's archive is as deep.
const NAMES_MAX: usize = 64;

/// What a document or list item without `kind` is; `file` is the name of its file.
pub(super) fn recognize(file: &str, value: &Value) -> Option<Identity> {
    // The nearest name counts first: `pods/kube-system.json`, `config/pod/shop/web.json`, `ns/shop/core_v1_pods.json`.
    let names = file.rsplit(['/', '\\']).take(NAMES_MAX).filter_map(named);
    names.into_iter().find(|identity| fits(identity.1, value)).or_else(|| by_content(value))
}

/// The `apiVersion` of a kind that is modelled, for list items that say only their kind.
pub(super) fn api_version_of(kind: &str) -> Option<&'static str> {
    ObjectKind::ALL.iter().find(|known| known.as_str() == kind).map(|known| known.api_version())
}

/// The kind that a file, or one of the directories around it, is named after.
#[cfg(feature = "bundles")]
pub(crate) fn named_kind(file: &str) -> Option<&'static str> {
    file.rsplit(['/', '\\']).take(NAMES_MAX).find_map(named).map(|identity| identity.1)
}

/// The kind that a file or directory is named after: `pods`, `Pods.json`, `core_v1_pods.json`, `pod-disruption-budgets`.
fn named(name: &str) -> Option<Identity> {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let last = stem.rsplit('_').next().unwrap_or(stem);
    let word: String = last.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let short = match word.as_str() {
        "pvc" | "pvcs" => "persistentvolumeclaims",
        "pv" | "pvs" => "persistentvolumes",
        "pdb" | "pdbs" => "poddisruptionbudgets",
        "svc" => "services",
        "hpa" => "horizontalpodautoscalers",
        other => other,
    };
    let is_named = |kind: &str| {
        let kind = kind.to_ascii_lowercase();
        let plural = match kind.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None if kind.ends_with('s') => format!("{kind}es"),
            None => format!("{kind}s"),
        };
        short == kind || short == plural
    };
    let modelled = ObjectKind::ALL.iter().map(|kind| (kind.api_version(), kind.as_str()));
    modelled.chain(WITHOUT_EFFECT.iter().copied()).find(|(_, kind)| is_named(kind))
}

/// Whether a value could be an object of that kind.
fn fits(kind: &str, value: &Value) -> bool {
    let has = |path: &str| !value.pointer(path).unwrap_or(&Value::Null).is_null();
    match kind {
        "Pod" => has("/spec/containers"),
        "Node" => {
            has("/status/nodeInfo") || has("/status/capacity") || has("/status/allocatable") || has("/spec/podCIDR")
        }
        "Deployment" | "ReplicaSet" | "ReplicationController" | "StatefulSet" | "DaemonSet" | "Job" => {
            has("/spec/template/spec")
        }
        "CronJob" => has("/spec/jobTemplate"),
        "PodDisruptionBudget" => has("/spec/minAvailable") || has("/spec/maxUnavailable") || has("/spec/selector"),
        "PersistentVolumeClaim" => has("/spec/accessModes"),
        "PersistentVolume" => has("/spec/capacity"),
        "Service" => has("/spec/ports") || has("/spec/clusterIP") || has("/spec/externalName"),
        "StorageClass" => has("/provisioner"),
        "PriorityClass" => has("/value"),
        "Namespace" => has("/spec/finalizers") || has("/status/phase"),
        "HorizontalPodAutoscaler" => has("/spec/scaleTargetRef"),
        "ControllerRevision" => has("/revision"),
        "CSINode" => has("/spec/drivers"),
        "LimitRange" => has("/spec/limits"),
        "ResourceQuota" => has("/spec/hard"),
        "Event" => has("/reason") || has("/involvedObject"),
        _ => has("/metadata/name"),
    }
}

/// What only one kind looks like.
fn by_content(value: &Value) -> Option<Identity> {
    let has = |path: &str| !value.pointer(path).unwrap_or(&Value::Null).is_null();
    let known = |kind: ObjectKind| Some((kind.api_version(), kind.as_str()));
    let is_event = has("/involvedObject") || (has("/reason") && has("/message") && has("/lastTimestamp"));
    if is_event {
        return Some(("v1", "Event"));
    }
    if !has("/metadata/name") {
        return None;
    }
    if has("/spec/template/spec") && !has("/spec/containers") {
        return known(workload(value));
    }
    let single = [
        ObjectKind::Pod,
        ObjectKind::CronJob,
        ObjectKind::StorageClass,
        ObjectKind::HorizontalPodAutoscaler,
        ObjectKind::PersistentVolumeClaim,
        ObjectKind::CSINode,
    ];
    if let Some(kind) = single.into_iter().find(|kind| fits(kind.as_str(), value)) {
        return known(kind);
    }
    if has("/status/nodeInfo") || (has("/status/capacity") && has("/status/conditions")) {
        return known(ObjectKind::Node);
    }
    if has("/spec/capacity") && has("/spec/persistentVolumeReclaimPolicy") {
        return known(ObjectKind::PersistentVolume);
    }
    if (has("/spec/minAvailable") || has("/spec/maxUnavailable")) && has("/spec/selector") {
        return known(ObjectKind::PodDisruptionBudget);
    }
    if has("/spec/ports") && has("/spec/clusterIP") {
        return known(ObjectKind::Service);
    }
    let is_namespace = value.pointer("/spec/finalizers/0").and_then(Value::as_str) == Some("kubernetes");
    if is_namespace {
        return known(ObjectKind::Namespace);
    }
    has("/spec/holderIdentity").then_some(("coordination.k8s.io/v1", "Lease"))
}

/// Which of the workloads with a template a value is, by fields that the others lack.
fn workload(value: &Value) -> ObjectKind {
    let has = |path: &str| !value.pointer(path).unwrap_or(&Value::Null).is_null();
    if has("/spec/parallelism") || has("/spec/completions") || has("/spec/backoffLimit") {
        return ObjectKind::Job;
    }
    if has("/spec/serviceName") || has("/spec/volumeClaimTemplates") || has("/spec/podManagementPolicy") {
        return ObjectKind::StatefulSet;
    }
    if has("/status/desiredNumberScheduled") || (has("/spec/updateStrategy") && !has("/spec/replicas")) {
        return ObjectKind::DaemonSet;
    }
    if has("/spec/strategy") || has("/spec/progressDeadlineSeconds") {
        return ObjectKind::Deployment;
    }
    let is_of_plain_labels = value
        .pointer("/spec/selector")
        .is_some_and(|selector| selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none());
    if is_of_plain_labels { ObjectKind::ReplicationController } else { ObjectKind::ReplicaSet }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_and_path_tell_the_kind() {
        #[track_caller]
        fn check(file: &str, text: &str, expected: Option<&str>) {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(recognize(file, &value).map(|identity| identity.1), expected, "{file}: {text}");
        }
        let pod = r#"{"metadata":{"name":"a"},"spec":{"containers":[]}}"#;
        check("x.json", pod, Some("Pod"));
        check("config/pod/services/my-node.json", pod, Some("Pod"));
        let node = r#"{"metadata":{"name":"a"},"spec":{},"status":{"nodeInfo":{}}}"#;
        check("x.json", node, Some("Node"));
        check("cluster/Nodes.json", r#"{"metadata":{"name":"a"},"status":{"capacity":{}}}"#, Some("Node"));
        let template =
            |spec: &str| format!(r#"{{"metadata":{{"name":"a"}},"spec":{{"template":{{"spec":{{}}}}{spec}}}}}"#);
        check("x.json", &template(r#","strategy":{}"#), Some("Deployment"));
        check("x.json", &template(r#","serviceName":"s""#), Some("StatefulSet"));
        check("x.json", &template(r#","updateStrategy":{}"#), Some("DaemonSet"));
        check("x.json", &template(r#","parallelism":1"#), Some("Job"));
        check("x.json", &template(r#","replicas":1,"selector":{"matchLabels":{}}"#), Some("ReplicaSet"));
        check("x.json", &template(r#","replicas":1,"selector":{"a":"b"}"#), Some("ReplicationController"));
        check(
            "apps_v1_deployments.json",
            &template(r#","replicas":1,"selector":{"matchLabels":{}}"#),
            Some("Deployment"),
        );
        check(
            "pod-disruption-budgets/a.json",
            r#"{"metadata":{"name":"a"},"spec":{"selector":{}}}"#,
            Some("PodDisruptionBudget"),
        );
        check("events/a.json", r#"{"reason":"Killing","message":"x","lastTimestamp":"y"}"#, Some("Event"));
        check("values.yaml", r#"{"replicas":3,"image":"x"}"#, None);
        check("alerts.json", r#"{"labels":{"alertname":"x"}}"#, None);
        // A name alone makes no object.
        check("pods/values.json", r#"{"metadata":{"name":"a"}}"#, None);
    }
}
