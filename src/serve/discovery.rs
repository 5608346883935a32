//! What there is: groups, versions and resources.

use serde_json::{Value, json};

use crate::rest::{Resource, all_resources};
use crate::state::Store;

/// Groups that have nothing to list.
const OTHERS: [(&str, &str); 3] =
    [("authorization.k8s.io", "v1"), ("authentication.k8s.io", "v1"), ("metrics.k8s.io", "v1beta1")];

/// The document of a path; none if it is another's.
pub(super) fn document(path: &str, store: &Store) -> Option<Value> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        ["api"] => Some(json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}],
        })),
        ["apis"] => Some(json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups(store)})),
        ["api", "v1"] => Some(resources("", "v1", store)?),
        ["apis", group] => {
            let mut found = groups(store).into_iter().find(|of| of["name"] == **group)?;
            found["kind"] = "APIGroup".into();
            found["apiVersion"] = "v1".into();
            Some(found)
        }
        ["apis", group, version] => resources(group, version, store),
        _ => None,
    }
}

/// Groups with their versions, in the order of resources.
pub(super) fn versions(store: &Store) -> Vec<(String, Vec<String>)> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    let others = OTHERS.iter().map(|(group, version)| ((*group).to_owned(), (*version).to_owned()));
    for (group, version) in all_resources(store).into_iter().map(|of| (of.group, of.version)).chain(others) {
        match groups.iter_mut().find(|(name, _)| *name == group) {
            Some((_, versions)) if versions.contains(&version) => {}
            Some((_, versions)) => versions.push(version),
            None => groups.push((group, vec![version])),
        }
    }
    groups
}

/// All paths that there are, but those of objects.
///
/// # Source
/// apiserver, `IndexLister`: `GET /`.
pub(super) fn paths(store: &Store) -> Vec<String> {
    const OWN: [&str; 6] = ["branches", "clock", "record", "replay", "jump", "speed"];
    let mut paths: Vec<String> =
        ["/api", "/apis", "/healthz", "/livez", "/metrics", "/openapi/v3", "/readyz", "/version"]
            .map(str::to_owned)
            .to_vec();
    paths.extend(OWN.map(|path| format!("/kubesquall/v1/{path}")));
    for (group, versions) in versions(store) {
        let base = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
        paths.extend(versions.iter().map(|version| format!("{base}/{version}")));
        paths.push(base);
    }
    paths.sort();
    paths.dedup();
    paths
}

fn groups(store: &Store) -> Vec<Value> {
    let groups = versions(store).into_iter().filter(|(group, _)| !group.is_empty());
    let one = |(group, versions): (String, Vec<String>)| {
        let versions: Vec<Value> = versions
            .iter()
            .map(|version| json!({"groupVersion": format!("{group}/{version}"), "version": version}))
            .collect();
        json!({"name": group, "versions": versions, "preferredVersion": versions[0]})
    };
    groups.map(one).collect()
}

fn resources(group: &str, version: &str, store: &Store) -> Option<Value> {
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut found: Vec<Value> = Vec::new();
    match group {
        "authorization.k8s.io" if version == "v1" => {
            for (plural, kind) in [
                ("selfsubjectaccessreviews", "SelfSubjectAccessReview"),
                ("selfsubjectrulesreviews", "SelfSubjectRulesReview"),
                ("subjectaccessreviews", "SubjectAccessReview"),
            ] {
                found.push(json!({
                    "name": plural, "singularName": kind.to_lowercase(), "namespaced": false, "kind": kind,
                    "verbs": ["create"],
                }));
            }
        }
        "authentication.k8s.io" if version == "v1" => found.push(json!({
            "name": "selfsubjectreviews", "singularName": "selfsubjectreview", "namespaced": false,
            "kind": "SelfSubjectReview", "verbs": ["create"],
        })),
        "metrics.k8s.io" if version == "v1beta1" => {
            for (plural, kind, is_namespaced) in [("nodes", "NodeMetrics", false), ("pods", "PodMetrics", true)] {
                found.push(json!({
                    "name": plural, "singularName": "", "namespaced": is_namespaced, "kind": kind,
                    "verbs": ["get", "list"],
                }));
            }
        }
        _ => {}
    }
    let own =
        all_resources(store).into_iter().filter(|of| (of.group.as_str(), of.version.as_str()) == (group, version));
    for resource in own {
        found.extend(described(&resource));
    }
    (!found.is_empty())
        .then(|| json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name, "resources": found}))
}

/// A resource and what hangs below it.
fn described(resource: &Resource) -> Vec<Value> {
    let mut whole = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.is_namespaced,
        "kind": resource.kind_name, "verbs": resource.verbs(),
    });
    if !resource.short_names.is_empty() {
        whole["shortNames"] = resource.short_names.clone().into();
    }
    const OF_ALL: [&str; 10] = [
        "horizontalpodautoscalers",
        "pods",
        "services",
        "deployments",
        "replicasets",
        "statefulsets",
        "daemonsets",
        "jobs",
        "cronjobs",
        "replicationcontrollers",
    ];
    if OF_ALL.contains(&resource.plural.as_str()) && resource.is_built_in() {
        whole["categories"] = json!(["all"]);
    }
    let mut found = vec![whole];
    let mut below = |name: &str, kind: &str, of: Option<(&str, &str)>, verbs: &[&str]| {
        let mut value = json!({
            "name": format!("{}/{name}", resource.plural), "singularName": "", "namespaced": resource.is_namespaced,
            "kind": kind, "verbs": verbs,
        });
        if let Some((group, version)) = of {
            value["group"] = group.into();
            value["version"] = version.into();
        }
        found.push(value);
    };
    if resource.has_status {
        below("status", &resource.kind_name, None, &["get", "patch", "update"]);
    }
    if resource.has_scale() {
        below("scale", "Scale", Some(("autoscaling", "v1")), &["get", "patch", "update"]);
    }
    if resource.name() == "namespaces" {
        below("finalize", &resource.kind_name, None, &["update"]);
    }
    if resource.name() == "pods" {
        below("eviction", "Eviction", Some(("policy", "v1")), &["create"]);
        below("binding", "Binding", None, &["create"]);
        below("log", "Pod", None, &["get"]);
        below("exec", "PodExecOptions", None, &["create", "get"]);
        below("attach", "PodAttachOptions", None, &["create", "get"]);
        below("portforward", "PodPortForwardOptions", None, &["create", "get"]);
    }
    found
}
