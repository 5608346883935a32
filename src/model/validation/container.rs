//! Containers of all sorts.

use super::error::{Errors, Json};
use super::handler;
use super::opaque::{Written, has, items, text};
use super::path::Path;
use super::resources::{self, Asker};
use super::volumes::Volumes;
use super::{environment, format};
use crate::arena::Symbol;
use crate::model::{Container, ContainerPort, ContainerRestartPolicy, PodSpec, RestartPolicy};

/// What containers depend on of their pod.
pub(super) struct Surroundings<'a> {
    pub(super) spec: &'a PodSpec,
    pub(super) volumes: &'a Volumes<'a>,
    /// Seconds.
    pub(super) grace_period: i64,
}

/// # Source
///
/// kube-apiserver, `validateContainers`.
pub(super) fn regular(around: &Surroundings<'_>, path: &Path<'_>, e: &mut Errors) {
    let containers = &around.spec.containers;
    if containers.is_empty() {
        return e.required(path, "");
    }
    for (index, container) in containers.iter().enumerate() {
        let path = &path.index(index);
        common(container, around, path, e);
        if containers[..index].iter().any(|other| other.name == container.name) {
            e.duplicate(&path.child("name"), &container.name);
        }
        running(container, around, path, e);
        let has_rules = !items(&Written::of(container.restart_policy_rules)).is_empty();
        if has_rules && container.restart_policy.is_none() {
            e.required(&path.child("restartPolicy"), "must specify restartPolicy when restart rules are used");
        }
    }
    host_ports(containers, path, e);
}

/// # Source
///
/// kube-apiserver, `validateInitContainers`.
pub(super) fn initial(around: &Surroundings<'_>, path: &Path<'_>, e: &mut Errors) {
    let PodSpec { containers, init_containers, .. } = around.spec;
    for (index, container) in init_containers.iter().enumerate() {
        let item = &path.index(index);
        common(container, around, item, e);
        let mut others = containers.iter().chain(&init_containers[..index]);
        if others.any(|other| other.name == container.name) && !container.name.is_empty() {
            e.duplicate(&item.child("name"), &container.name);
        }
        host_ports(std::slice::from_ref(container), path, e);
        if container.restart_policy == Some(ContainerRestartPolicy::Always) {
            running(container, around, item, e);
            continue;
        }
        for (field, is_set) in [
            ("lifecycle", container.lifecycle.is_some()),
            ("livenessProbe", container.liveness_probe.is_some()),
            ("readinessProbe", container.readiness_probe.is_some()),
            ("startupProbe", container.startup_probe.is_some()),
        ] {
            if is_set {
                let detail = "may not be set for init containers without restartPolicy=Always";
                e.forbidden(&item.child(field), detail);
            }
        }
    }
}

/// What containers have that keep running.
fn running(container: &Container, around: &Surroundings<'_>, path: &Path<'_>, e: &mut Errors) {
    if let Some(lifecycle) = &container.lifecycle {
        handler::lifecycle(lifecycle, around.grace_period, &path.child("lifecycle"), e);
    }
    for (field, probe) in [
        ("livenessProbe", &container.liveness_probe),
        ("readinessProbe", &container.readiness_probe),
        ("startupProbe", &container.startup_probe),
    ] {
        if let Some(probe) = probe {
            handler::probe(probe, field == "readinessProbe", &path.child(field), e);
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateContainerCommon`.
fn common(container: &Container, around: &Surroundings<'_>, path: &Path<'_>, e: &mut Errors) {
    let name = container.name.as_str();
    if name.is_empty() {
        e.required(&path.child("name"), "");
    } else {
        e.texts(&path.child("name"), name, format::dns_label(name));
    }
    if container.image.is_empty() {
        e.required(&path.child("image"), "");
    }
    if let Some(policy) = Written::of(container.termination_message_policy).as_str()
        && !matches!(policy, "" | "File" | "FallbackToLogsOnError")
    {
        e.not_supported(&path.child("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    }
    ports(&container.ports, &path.child("ports"), e);
    environment::variables(container.env, &path.child("env"), e);
    environment::sources(container.env_from, &path.child("envFrom"), e);
    around.volumes.mounts(container, path, e);
    resources::requirements(&container.resources, Asker::Container, &path.child("resources"), e);
    resize_policy(container, around.spec.restart_policy, &path.child("resizePolicy"), e);
    security(container, around, &path.child("securityContext"), e);
}

/// # Source
///
/// kube-apiserver, `validateContainerPorts`.
fn ports(ports: &[ContainerPort], path: &Path<'_>, e: &mut Errors) {
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        if let Some(name) = port.name {
            let problems = format::port_name(name.as_str());
            if problems.is_empty() && ports[..index].iter().any(|other| other.name == Some(name)) {
                e.duplicate(&path.child("name"), &name);
            }
            e.texts(&path.child("name"), name.as_str(), problems);
        }
        if port.container_port == 0 {
            e.required(&path.child("containerPort"), "");
        } else if let Some(problem) = format::port_number(port.container_port.into()) {
            e.invalid(&path.child("containerPort"), &port.container_port, problem);
        }
        if port.host_port != 0
            && let Some(problem) = format::port_number(port.host_port.into())
        {
            e.invalid(&path.child("hostPort"), &port.host_port, problem);
        }
    }
}

/// Ports of the node that containers would take from each other.
///
/// # Source
///
/// kube-apiserver, `AccumulateUniqueHostPorts`.
fn host_ports(containers: &[Container], path: &Path<'_>, e: &mut Errors) {
    let key = |port: &ContainerPort| (port.protocol, port.host_ip.unwrap_or_default(), port.host_port);
    let mut seen: Vec<(_, Symbol, i32)> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index);
        let ports = path.child("ports");
        for (index, port) in container.ports.iter().enumerate().filter(|(_, port)| port.host_port != 0) {
            let key = key(port);
            if seen.contains(&key) {
                let (protocol, address, number) = key;
                e.duplicate(
                    &ports.index(index).child("hostPort"),
                    std::format!("{protocol}/{address}/{number}").as_str(),
                );
            } else {
                seen.push(key);
            }
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateResizePolicy`.
fn resize_policy(container: &Container, of_pod: RestartPolicy, path: &Path<'_>, e: &mut Errors) {
    let written = Written::of(container.resize_policy);
    let policies = items(&written);
    for (index, policy) in policies.iter().enumerate() {
        let (resource, restart) = (text(policy, "resourceName"), text(policy, "restartPolicy"));
        if policies[..index].iter().any(|other| text(other, "resourceName") == resource) {
            e.duplicate(&path.index(index), resource);
        }
        match resource {
            "cpu" | "memory" => {}
            "" => e.required(path, ""),
            _ => e.not_supported(path, resource, &["cpu", "memory"]),
        }
        match restart {
            "NotRequired" | "RestartContainer" => {}
            "" => e.required(path, ""),
            _ => e.not_supported(path, restart, &["NotRequired", "RestartContainer"]),
        }
        if of_pod == RestartPolicy::Never && restart != "NotRequired" {
            e.invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'");
        }
    }
}

/// # Source
///
/// kube-apiserver, `ValidateSecurityContext`: users and groups, and privileges that contradict each other.
fn security(container: &Container, around: &Surroundings<'_>, path: &Path<'_>, e: &mut Errors) {
    if container.security_context.is_none() {
        return;
    }
    let context = Written::of(container.security_context);
    super::security::of_container(&context, around.spec, path, e);
    for field in ["runAsUser", "runAsGroup"] {
        user_or_group(&context[field], &path.child(field), e);
    }
    if context["allowPrivilegeEscalation"] == false {
        if context["privileged"] == true {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            e.invalid(path, &Json(&*context), detail);
        }
        let added = items(&context["capabilities"]["add"]);
        if has(&context, "capabilities") && added.iter().any(|capability| capability == "CAP_SYS_ADMIN") {
            let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            e.invalid(path, &Json(&*context), detail);
        }
    }
}

/// The number of a user or a group.
pub(super) fn user_or_group(value: &serde_json::Value, path: &Path<'_>, e: &mut Errors) {
    if let Some(id) = value.as_i64().filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
        e.invalid(path, &id, "must be between 0 and 2147483647, inclusive");
    }
}
