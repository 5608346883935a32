//! Pods and the templates that they are made from.

use std::collections::BTreeMap;

use super::affinity;
use super::container::{self, Surroundings};
use super::error::{Errors, Hidden, Json};
use super::format;
use super::metadata::{annotations, labels};
use super::opaque::{Written, items, text};
use super::path::Path;
use super::resources::{self, Asker};
use super::volumes::Volumes;
use crate::arena::Symbol;
use crate::model::pod::container_requests;
use crate::model::{Opaque, Pod, PodSpec, PodTemplateSpec, ResourceRequirements};

/// Seconds that a pod has to end when nobody says anything else.
const GRACE_PERIOD_DEFAULT: i64 = 30;

/// # Source
///
/// kube-apiserver, `ValidatePodCreate`. Ephemeral containers are let pass: pods of dumps have them.
pub(super) fn validate(pod: &Pod, e: &mut Errors) {
    validate_kept(pod, e);
    if pod.spec.node_name.is_some() && !pod.spec.scheduling_gates.is_empty() {
        let spec = Path::ROOT.child("spec");
        e.forbidden(&spec.child("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
    let is_new = pod.metadata.uid.is_none_or(|uid| uid.is_empty());
    if is_new && !super::opaque::items(&Written::of(pod.spec.ephemeral_containers)).is_empty() {
        let spec = Path::ROOT.child("spec");
        e.forbidden(&spec.child("ephemeralContainers"), "cannot be set on create");
    }
}

/// What holds of a pod on update as on creation.
fn validate_kept(pod: &Pod, e: &mut Errors) {
    let metadata = Path::ROOT.child("metadata");
    pod_annotations(&pod.metadata.annotations, Some(&pod.spec), &metadata.child("annotations"), e);
    let path = &Path::ROOT.child("spec");
    spec(&pod.spec, Vec::new(), path, e);
    let lists = [("containers", &pod.spec.containers), ("initContainers", &pod.spec.init_containers)];
    for (field, containers) in lists {
        let list = path.child(field);
        for (index, container) in containers.iter().enumerate() {
            if container.image.as_str().trim().len() != container.image.as_str().len() {
                let detail = "must not have leading or trailing whitespace";
                e.invalid(&list.index(index).child("image"), &container.image, detail);
            }
        }
    }
}

/// A template; `claims` are the names of the volumes that a StatefulSet adds.
///
/// # Source
///
/// kube-apiserver, `ValidatePodTemplateSpec`, whose paths of labels and annotations lack `metadata`.
pub(super) fn template(template: &PodTemplateSpec, claims: Vec<&str>, path: &Path<'_>, e: &mut Errors) {
    labels(&template.metadata.labels, &path.child("labels"), e);
    let annotations_path = path.child("annotations");
    annotations(&template.metadata.annotations, &annotations_path, e);
    pod_annotations(&template.metadata.annotations, None, &annotations_path, e);
    spec(&template.spec, claims, &path.child("spec"), e);
    if !template.spec.ephemeral_containers.is_none() {
        let path = path.child("spec");
        e.forbidden(&path.child("ephemeralContainers"), "ephemeral containers not allowed in pod template");
    }
}

/// The annotation of a pod that the API only shows.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// # Source
///
/// kube-apiserver, `ValidatePodSpecificAnnotations`. Templates are not asked for the node of a mirror.
fn pod_annotations(annotations: &BTreeMap<Symbol, Symbol>, pod: Option<&PodSpec>, path: &Path<'_>, e: &mut Errors) {
    if annotations.is_empty() {
        return;
    }
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    if let Some(value) = annotations.get(&Symbol::new(MIRROR))
        && pod.is_some_and(|spec| spec.node_name.is_none())
    {
        e.invalid(&path.key(MIRROR), value, "must set spec.nodeName if mirror pod annotation is set");
    }
    if let Some(value) = annotations.get(&Symbol::new(COST)) {
        let text = value.as_str();
        let is_canonical = !text.starts_with('+') && (text == "0" || !text.starts_with('0'));
        if !is_canonical || text.parse::<i32>().is_err() {
            e.invalid(&path.key(COST), value, "must be a 32bit integer");
        }
    }
}

/// # Source
///
/// kube-apiserver, `ValidatePodSpec`. `claims` are the names of the volumes that a StatefulSet adds.
fn spec(spec: &PodSpec, claims: Vec<&str>, path: &Path<'_>, e: &mut Errors) {
    let volumes = Volumes::validate(&spec.volumes, claims, &path.child("volumes"), e);
    let grace_period = spec.termination_grace_period_seconds.unwrap_or(GRACE_PERIOD_DEFAULT);
    let around = Surroundings { spec, volumes: &volumes, grace_period };
    container::regular(&around, &path.child("containers"), e);
    container::initial(&around, &path.child("initContainers"), e);
    if let Some(resources) = &spec.resources {
        pod_resources(spec, resources, &path.child("resources"), e);
    }
    host_network(spec, path, e);
    word(spec.dns_policy, &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], &path.child("dnsPolicy"), e);
    labels(&spec.node_selector, &path.child("nodeSelector"), e);
    security(spec, &path.child("securityContext"), e);
    super::security::host_users(spec, path, e);
    affinity::affinity(spec.affinity.as_deref(), &path.child("affinity"), e);
    dns_config(spec, &path.child("dnsConfig"), e);
    let gates = path.child("readinessGates");
    for (index, gate) in spec.readiness_gates.iter().enumerate() {
        let name = gate.condition_type.as_str();
        e.texts(&gates.index(index).child("conditionType"), name, format::qualified_name(name));
    }
    scheduling_gates(spec, &path.child("schedulingGates"), e);
    affinity::topology_spread(&spec.topology_spread_constraints, &path.child("topologySpreadConstraints"), e);
    names(spec, path, e);
    if let Some(seconds) = spec.active_deadline_seconds.filter(|seconds| !(1..=i64::from(i32::MAX)).contains(seconds)) {
        e.invalid(&path.child("activeDeadlineSeconds"), &seconds, "must be between 1 and 2147483647, inclusive");
    }
    affinity::tolerations(&spec.tolerations, &path.child("tolerations"), e);
    host_aliases(spec.host_aliases, &path.child("hostAliases"), e);
    if !spec.overhead.is_empty() {
        let overhead = ResourceRequirements { limits: spec.overhead.clone(), ..ResourceRequirements::default() };
        resources::requirements(&overhead, Asker::Container, &path.child("overhead"), e);
    }
    if !spec.os.is_none() {
        match text(&Written::of(spec.os), "name") {
            "linux" | "windows" => {}
            "" => e.required(&path.child("os").child("name"), "cannot be empty"),
            other => e.not_supported(&path.child("os"), other, &["linux", "windows"]),
        }
    }
}

/// A word of a closed set; none and the empty one are good.
fn word(written: Opaque, words: &[&str], path: &Path<'_>, e: &mut Errors) {
    if written.is_none() {
        return;
    }
    let written = Written::of(written);
    let word = written.as_str().unwrap_or_default();
    if !word.is_empty() && !words.contains(&word) {
        e.not_supported(path, word, words);
    }
}

/// # Source
///
/// kube-apiserver, `validatePodHostNetworkDeps`; where nothing is said the server puts the same port.
fn host_network(spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    if !spec.host_network {
        return;
    }
    let containers = path.child("containers");
    for (index, container) in spec.containers.iter().enumerate() {
        let path = containers.index(index);
        let ports = path.child("ports");
        for (index, port) in container.ports.iter().enumerate() {
            if port.host_port != 0 && port.host_port != port.container_port {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                e.invalid(&ports.index(index).child("hostPort"), &port.host_port, detail);
            }
        }
    }
}

/// # Source
///
/// kube-apiserver, `validatePodSpecSecurityContext`: users, groups and shared process namespaces.
fn security(spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    if spec.share_process_namespace == Some(true) && spec.host_pid {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        e.invalid(&path.child("shareProcessNamespace"), &Json(&true), detail);
    }
    if spec.security_context.is_none() {
        return;
    }
    let context = Written::of(spec.security_context);
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        container::user_or_group(&context[field], &path.child(field), e);
    }
    let groups = path.child("supplementalGroups");
    for (index, group) in items(&context["supplementalGroups"]).iter().enumerate() {
        container::user_or_group(group, &groups.index(index), e);
    }
    super::security::of_pod(spec, &context, path, e);
    let policy = text(&context, "fsGroupChangePolicy");
    if !matches!(policy, "" | "Always" | "OnRootMismatch") {
        e.not_supported(&path.child("fsGroupChangePolicy"), policy, &["Always", "OnRootMismatch"]);
    }
}

/// # Source
///
/// kube-apiserver, `validatePodDNSConfig`.
fn dns_config(spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    if spec.dns_config.is_none() && spec.dns_policy.is_none() {
        return;
    }
    let config = Written::of(spec.dns_config);
    let servers = items(&config["nameservers"]);
    if Written::of(spec.dns_policy).as_str() == Some("None") {
        if config.is_null() {
            return e.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return e.required(&path.child("nameservers"), detail);
        }
    }
    if servers.len() > 3 {
        e.invalid(&path.child("nameservers"), &Json(servers), "must not have more than 3 nameservers");
    }
    let list = path.child("nameservers");
    for (index, server) in items(&config["nameservers"]).iter().enumerate() {
        let address = server.as_str().unwrap_or_default();
        if address.parse::<std::net::IpAddr>().is_err() {
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            e.invalid(&list.index(index), address, detail);
        }
    }
    let searches = items(&config["searches"]);
    if searches.len() > 32 {
        e.invalid(&path.child("searches"), &Json(searches), "must not have more than 32 search paths");
    }
    let options = path.child("options");
    for (index, option) in items(&config["options"]).iter().enumerate() {
        if text(option, "name").is_empty() {
            e.required(&options.index(index), "must not be empty");
        }
    }
}

fn scheduling_gates(spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    for (index, gate) in spec.scheduling_gates.iter().enumerate() {
        e.texts(&path.index(index), gate.name.as_str(), format::qualified_name(gate.name.as_str()));
        if spec.scheduling_gates[..index].iter().any(|other| other.name == gate.name) {
            e.duplicate(&path.index(index), &gate.name);
        }
    }
}

/// What names something else, or the pod's host.
fn names(spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    type Form = fn(&str) -> Vec<String>;
    let fields: [(&str, Option<Symbol>, Form); 6] = [
        ("serviceAccountName", spec.service_account_name, format::dns_subdomain),
        ("nodeName", spec.node_name, format::dns_subdomain),
        ("hostname", spec.hostname, format::dns_label),
        ("subdomain", spec.subdomain, format::dns_label),
        ("priorityClassName", spec.priority_class_name, format::dns_subdomain),
        ("runtimeClassName", spec.runtime_class_name, format::dns_subdomain),
    ];
    for (field, name, form) in fields {
        if let Some(name) = name {
            e.texts(&path.child(field), name.as_str(), form(name.as_str()));
        }
    }
}

fn host_aliases(aliases: Opaque, path: &Path<'_>, e: &mut Errors) {
    if aliases.is_none() {
        return;
    }
    for (index, alias) in items(&Written::of(aliases)).iter().enumerate() {
        let path = path.index(index);
        let address = text(alias, "ip");
        if address.parse::<std::net::IpAddr>().is_err() {
            e.invalid(&path.child("ip"), address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
        }
        let names = path.child("hostnames");
        for (index, name) in items(&alias["hostnames"]).iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            e.texts(&names.index(index), name, format::dns_subdomain(name));
        }
    }
}

/// # Source
///
/// kube-apiserver, `validatePodResources` and `validatePodResourceConsistency`.
fn pod_resources(spec: &PodSpec, resources: &ResourceRequirements, path: &Path<'_>, e: &mut Errors) {
    resources::requirements(resources, Asker::Pod, path, e);
    let requests = path.child("requests");
    for (name, needed) in container_requests(spec, &[]).iter() {
        if let Some(request) = resources.requests.get(name).filter(|request| needed > *request) {
            let detail = std::format!("must be greater than or equal to aggregate container requests of {needed}");
            e.invalid(&requests.key(name.as_str()), request, detail);
        }
    }
    let containers = path.child("containers");
    for (index, container) in spec.containers.iter().enumerate() {
        let path = containers.index(index);
        for (name, limit) in container.resources.limits.iter() {
            if let Some(of_pod) = resources.limits.get(name).filter(|of_pod| limit > *of_pod) {
                let detail = std::format!("must be less than or equal to pod limits of {of_pod}");
                e.invalid(&path.key(name.as_str()).child("limits"), limit, detail);
            }
        }
    }
}

/// What an update may change of a pod's spec.
const UPDATABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                         `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` \
                         (allow it to be set to 1 if it was previously negative)";

/// Why a toleration stays.
pub(super) const TOLERATION_KEPT: &str = "existing toleration can not be modified except its tolerationSeconds";

/// # Source
///
/// kube-apiserver, `ValidatePodSpecificAnnotationUpdates`; AppArmor is not modelled.
pub(super) fn mirror_kept(
    new: &BTreeMap<Symbol, Symbol>,
    old: &BTreeMap<Symbol, Symbol>,
    path: &Path<'_>,
    e: &mut Errors,
) {
    let key = Symbol::new(MIRROR);
    match (new.get(&key), old.get(&key)) {
        (now, Some(before)) if now != Some(before) => {
            e.forbidden(&path.key(MIRROR), "may not remove or update mirror pod annotation");
        }
        (Some(_), None) => e.forbidden(&path.key(MIRROR), "may not add mirror pod annotation"),
        _ => {}
    }
}

/// # Source
///
/// kube-apiserver, `ValidatePodUpdate`.
pub(super) fn validate_update(new: &Pod, old: &Pod, e: &mut Errors) {
    validate_kept(new, e);
    let metadata = &Path::ROOT.child("metadata");
    mirror_kept(&new.metadata.annotations, &old.metadata.annotations, &metadata.child("annotations"), e);
    let path = &Path::ROOT.child("spec");
    let (after, before) = (&new.spec, &old.spec);
    for (field, new, old) in [
        ("containers", &after.containers, &before.containers),
        ("initContainers", &after.init_containers, &before.init_containers),
    ] {
        if new.len() != old.len() {
            return e.forbidden(&path.child(field), "pod updates may not add or remove containers");
        }
    }
    let deadline_path = path.child("activeDeadlineSeconds");
    match (after.active_deadline_seconds, before.active_deadline_seconds) {
        (Some(new), Some(old)) if old < new => {
            return e.invalid(&deadline_path, &new, "must be less than or equal to previous value");
        }
        (None, Some(_)) => {
            e.invalid(&deadline_path, &Json(&()), "must not update from a positive integer to nil value");
        }
        _ => {}
    }
    let is_kept = |old: &crate::model::Toleration| {
        let with = |seconds| crate::model::Toleration { toleration_seconds: seconds, ..old.clone() };
        after.tolerations.iter().any(|new| *new == with(new.toleration_seconds))
    };
    if !before.tolerations.iter().all(is_kept) {
        e.forbidden(&path.child("tolerations"), TOLERATION_KEPT);
    }
    let gates = path.child("schedulingGates");
    for (index, gate) in after.scheduling_gates.iter().enumerate() {
        if !before.scheduling_gates.contains(gate) {
            let detail = std::format!("only deletion is allowed, but found new scheduling gate '{}'", gate.name);
            e.forbidden(&gates.index(index).child("name"), detail);
        }
    }
    let mut rest = after.clone();
    keep_updatable(&mut rest, before);
    if !before.scheduling_gates.is_empty() {
        gated(&mut rest, before, path, e);
    }
    if rest != *before {
        e.forbidden(path, std::format!("pod updates may not change fields other than {UPDATABLE}"));
    }
}

/// Takes back what may be changed.
fn keep_updatable(spec: &mut PodSpec, before: &PodSpec) {
    let old = before.containers.iter().chain(&before.init_containers);
    for (new, old) in spec.containers.iter_mut().chain(&mut spec.init_containers).zip(old) {
        new.image = old.image;
    }
    spec.active_deadline_seconds = before.active_deadline_seconds;
    spec.scheduling_gates.clone_from(&before.scheduling_gates);
    spec.tolerations.clone_from(&before.tolerations);
    if spec.termination_grace_period_seconds == Some(1)
        && before.termination_grace_period_seconds.is_some_and(|seconds| seconds < 0)
    {
        spec.termination_grace_period_seconds = before.termination_grace_period_seconds;
    }
}

/// A pod that waits at a gate may be told more narrowly where to go.
///
/// # Source
///
/// kube-apiserver, `validateNodeSelectorMutation` and `validateNodeAffinityMutation`.
fn gated(rest: &mut PodSpec, before: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    let is_kept = before.node_selector.iter().all(|(key, value)| rest.node_selector.get(key) == Some(value));
    if !is_kept {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        e.invalid(&path.child("nodeSelector"), &Json(&rest.node_selector), detail);
    }
    rest.node_selector = before.node_selector.clone();
    let old = before.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone());
    let new = rest.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone());
    if old == new {
        return;
    }
    let terms = |affinity: &Option<crate::model::NodeAffinity>| {
        let required = affinity.as_ref().and_then(|a| a.required_during_scheduling_ignored_during_execution.as_ref());
        required.map(|selector| selector.node_selector_terms.clone()).unwrap_or_default()
    };
    let (old_terms, new_terms) = (terms(&old), terms(&new));
    let affinity = path.child("affinity");
    let node_affinity = affinity.child("nodeAffinity");
    let required = node_affinity.child("requiredDuringSchedulingIgnoredDuringExecution");
    let terms_path = required.child("nodeSelectorTerms");
    if !old_terms.is_empty() && old_terms.len() != new_terms.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        e.invalid(&terms_path, &Hidden, detail);
    } else {
        for (index, (new, old)) in new_terms.iter().zip(&old_terms).enumerate() {
            let is_same_empty = !old.is_empty() || new.is_empty();
            let adds = new.match_expressions.starts_with(&old.match_expressions)
                && new.match_fields.starts_with(&old.match_fields);
            if !adds || !is_same_empty {
                let detail = "only additions are allowed (no mutations or deletions)";
                e.invalid(&terms_path.index(index), &Json(new), detail);
            }
        }
    }
    match (&mut rest.affinity, &before.affinity) {
        (Some(now), None) if now.pod_affinity.is_none() && now.pod_anti_affinity.is_none() => rest.affinity = None,
        (Some(now), _) => now.node_affinity = old,
        (now @ None, _) => {
            *now = old.map(|old| Box::new(crate::model::Affinity { node_affinity: Some(old), ..Default::default() }));
        }
    }
}
