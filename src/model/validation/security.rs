//! What pods and containers say of their confinement: profiles, kernel parameters, user namespaces.

use serde_json::Value;

use super::error::{Errors, Json};
use super::opaque::{Written, has, items, text};
use super::path::Path;
use super::volumes;
use crate::model::{Container, PodSpec};

/// The longest name of a kernel parameter.
const SYSCTL_LENGTH_MAX: usize = 253;

/// What is the same in the context of a pod and in that of a container.
///
/// # Source
///
/// kube-apiserver, `validateSeccompProfileField` and `ValidateAppArmorProfileField`.
pub(super) fn profiles(context: &Value, path: &Path<'_>, e: &mut Errors) {
    if has(context, "seccompProfile") {
        let profile = &context["seccompProfile"];
        let path = path.child("seccompProfile");
        let local = path.child("localhostProfile");
        match text(profile, "type") {
            "" => e.required(&path.child("type"), "type is required when seccompProfile is set"),
            "Localhost" | "RuntimeDefault" | "Unconfined" => {}
            other => {
                e.not_supported(&path.child("type"), other, &["Localhost", "RuntimeDefault", "Unconfined"]);
            }
        }
        match (text(profile, "type"), has(profile, "localhostProfile")) {
            ("Localhost", false) => e.required(&local, "must be set when seccomp type is Localhost"),
            ("Localhost", true) => volumes::descending(text(profile, "localhostProfile"), &local, e),
            (_, true) => e.invalid(&local, &Json(profile), "can only be set when seccomp type is Localhost"),
            (_, false) => {}
        }
    }
    if has(context, "appArmorProfile") {
        let profile = &context["appArmorProfile"];
        let path = path.child("appArmorProfile");
        let (local, name) = (path.child("localhostProfile"), text(profile, "localhostProfile"));
        match text(profile, "type") {
            "Localhost" if name.trim().is_empty() => e.required(&local, "must be set when AppArmor type is Localhost"),
            "Localhost" if name.trim() != name => e.invalid(&local, name, "must not be padded with whitespace"),
            "Localhost" => {}
            "RuntimeDefault" | "Unconfined" => {
                if has(profile, "localhostProfile") {
                    e.invalid(&local, name, "can only be set when AppArmor type is Localhost");
                }
            }
            "" => e.required(&path.child("type"), "type is required when appArmorProfile is set"),
            other => {
                e.not_supported(&path.child("type"), other, &["Localhost", "RuntimeDefault", "Unconfined"]);
            }
        }
    }
}

/// # Source
///
/// kube-apiserver, `validatePodSpecSecurityContext`: beside users and groups.
pub(super) fn of_pod(spec: &PodSpec, context: &Value, path: &Path<'_>, e: &mut Errors) {
    sysctls(spec, context, &path.child("sysctls"), e);
    profiles(context, path, e);
    let words: [(&str, &[&str]); 2] =
        [("supplementalGroupsPolicy", &["Merge", "Strict"]), ("seLinuxChangePolicy", &["MountOption", "Recursive"])];
    for (field, words) in words {
        if has(context, field) && !words.contains(&text(context, field)) {
            e.not_supported(&path.child(field), text(context, field), words);
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateSysctls`; the namespaces of kernel parameters as `k8s.io/component-helpers` knows them.
fn sysctls(spec: &PodSpec, context: &Value, path: &Path<'_>, e: &mut Errors) {
    let parameters = items(&context["sysctls"]);
    for (index, parameter) in parameters.iter().enumerate() {
        let name = text(parameter, "name");
        let path = path.index(index);
        let path = path.child("name");
        if name.is_empty() {
            e.required(&path, "");
        } else if !is_sysctl(name) {
            let form = "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            let detail = std::format!("must have at most {SYSCTL_LENGTH_MAX} characters and match regex {form}");
            e.invalid(&path, name, detail);
        } else if parameters[..index].iter().any(|other| text(other, "name") == name) {
            e.duplicate(&path, name);
        }
        let plain = name.replace('/', ".");
        let is_of_ipc = plain.starts_with("fs.mqueue.")
            || plain.starts_with("kernel.shm")
            || plain.starts_with("kernel.msg")
            || plain == "kernel.sem";
        if spec.host_network && plain.starts_with("net.") {
            e.invalid(&path, name, "may not be specified when 'hostNetwork' is true");
        } else if spec.host_ipc && is_of_ipc {
            e.invalid(&path, name, "may not be specified when 'hostIPC' is true");
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let (first, last) = (part.bytes().next(), part.bytes().last());
        first.is_some_and(is_plain)
            && last.is_some_and(is_plain)
            && part.bytes().all(|byte| is_plain(byte) || byte == b'-' || byte == b'_')
    };
    name.len() <= SYSCTL_LENGTH_MAX && name.split(['.', '/']).all(is_part)
}

/// # Source
///
/// kube-apiserver, `ValidateSecurityContext`: what a view of all processes takes.
pub(super) fn of_container(context: &Value, spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    profiles(context, path, e);
    if !has(context, "procMount") {
        return;
    }
    let path = path.child("procMount");
    match text(context, "procMount") {
        "Default" => {}
        "Unmasked" if !is_apart(spec) => {
            e.invalid(&path, "Unmasked", "`hostUsers` must be false to use `Unmasked`");
        }
        "Unmasked" => {}
        other => e.not_supported(&path, other, &["Default", "Unmasked"]),
    }
}

/// Whether the pod has users of its own.
fn is_apart(spec: &PodSpec) -> bool {
    !spec.host_users.is_none() && *Written::of(spec.host_users) == false
}

/// # Source
///
/// kube-apiserver, `validateHostUsers`, whose paths are partly those of the code.
pub(super) fn host_users(spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    if !is_apart(spec) {
        return;
    }
    let detail = "when `hostUsers` is false";
    for (is_set, field) in [(spec.host_network, "hostNetwork"), (spec.host_pid, "HostPID"), (spec.host_ipc, "HostIPC")]
    {
        if is_set {
            e.forbidden(&path.child(field), detail);
        }
    }
    for (field, containers) in [("initContainers", &spec.init_containers), ("containers", &spec.containers)] {
        let path = path.child(field);
        for (index, Container { volume_devices, .. }) in containers.iter().enumerate() {
            if !items(&Written::of(*volume_devices)).is_empty() {
                e.forbidden(&path.index(index).child("volumeDevices"), detail);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::validate;
    use crate::model::Object;

    #[track_caller]
    fn check(spec: &str, expected: &[&str]) {
        let pod = format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{spec}}}}}");
        let object = Object::from_value(serde_saphyr::from_str(&pod).expect("YAML")).expect("a kind").expect("a pod");
        let found: Vec<String> = validate(&object).iter().map(ToString::to_string).collect();
        assert_eq!(found, expected, "{spec}");
    }

    const ONE: &str = "containers: [{name: c, image: i}]";

    #[test]
    fn profiles_say_their_type_and_a_file_if_they_have_one() {
        let container = |context: &str| format!("containers: [{{name: c, image: i, securityContext: {{{context}}}}}]");
        let path = "spec.containers[0].securityContext";
        check(&container("seccompProfile: {type: RuntimeDefault}, appArmorProfile: {type: Unconfined}"), &[]);
        let needs = format!(
            "{path}.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost"
        );
        check(&container("seccompProfile: {type: Localhost}"), &[&needs]);
        let words = "supported values: \"Localhost\", \"RuntimeDefault\", \"Unconfined\"";
        let unknown = format!("{path}.appArmorProfile.type: Unsupported value: \"Foo\": {words}");
        check(&container("appArmorProfile: {type: Foo}"), &[&unknown]);
        let unmasked =
            format!("{path}.procMount: Invalid value: \"Unmasked\": `hostUsers` must be false to use `Unmasked`");
        check(&container("procMount: Unmasked"), &[&unmasked]);
        check(&format!("hostUsers: false, {}", container("procMount: Unmasked")), &[]);
    }

    #[test]
    fn kernel_parameters_have_names_and_belong_to_the_pod() {
        let sysctls = |names: &str, more: &str| format!("securityContext: {{sysctls: [{names}]}}, {more} {ONE}");
        check(&sysctls("{name: net.core.somaxconn, value: '1'}, {name: kernel.shm_rmid_forced, value: '1'}", ""), &[]);
        let path = "spec.securityContext.sysctls";
        let twice = format!("{path}[1].name: Duplicate value: \"net.a\"");
        check(&sysctls("{name: net.a, value: '1'}, {name: net.a, value: '1'}", ""), &[&twice]);
        let of_host =
            format!("{path}[0].name: Invalid value: \"net.a\": may not be specified when 'hostNetwork' is true");
        check(&sysctls("{name: net.a, value: '1'}", "hostNetwork: true,"), &[&of_host]);
        let form = "must have at most 253 characters and match regex \
                    ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
        check(&sysctls("{name: A b, value: '1'}", ""), &[&format!("{path}[0].name: Invalid value: \"A b\": {form}")]);
    }

    #[test]
    fn users_of_its_own_do_not_go_with_namespaces_of_the_host() {
        let detail = "Forbidden: when `hostUsers` is false";
        let expected = [format!("spec.hostNetwork: {detail}"), format!("spec.HostPID: {detail}")];
        check(
            &format!("hostUsers: false, hostNetwork: true, hostPID: true, {ONE}"),
            &expected.each_ref().map(String::as_str),
        );
        check(&format!("hostUsers: false, {ONE}"), &[]);
    }

    #[test]
    fn volumes_name_what_they_are_of_and_files_hold_fields_of_the_pod() {
        let volume = |source: &str| format!("{ONE}, volumes: [{{name: v, {source}}}]");
        let path = "spec.volumes[0]";
        check(&volume("gcePersistentDisk: {pdName: d}"), &[]);
        check(&volume("gcePersistentDisk: {}"), &[&format!("{path}.gcePersistentDisk.pdName: Required value")]);
        let both = [format!("{path}.rbd.monitors: Required value"), format!("{path}.rbd.image: Required value")];
        check(&volume("rbd: {monitors: []}"), &both.each_ref().map(String::as_str));
        let item = format!("{path}.downwardAPI.items[0]");
        check(&volume("downwardAPI: {items: [{path: x, fieldRef: {fieldPath: metadata.labels}}]}"), &[]);
        check(
            &volume("downwardAPI: {items: [{path: x}]}"),
            &[&format!("{item}: Required value: one of fieldRef and resourceFieldRef is required")],
        );
        let unknown = "error converting fieldPath: field label not supported: spec.foo";
        check(
            &volume("downwardAPI: {items: [{path: x, fieldRef: {fieldPath: spec.foo}}]}"),
            &[&format!("{item}.fieldRef.fieldPath: Invalid value: \"spec.foo\": {unknown}")],
        );
    }

    #[test]
    fn new_pods_have_no_containers_for_looking_into_them_and_divisors_are_of_few_sizes() {
        let later = "spec.ephemeralContainers: Forbidden: cannot be set on create";
        check(&format!("{ONE}, ephemeralContainers: [{{name: e, image: i}}]"), &[later]);
        let variable = |divisor: &str| {
            format!(
                "containers: [{{name: c, image: i, env: [{{name: A, valueFrom: {{resourceFieldRef: {{resource: limits.cpu, divisor: \
                 {divisor}}}}}}}]}}]"
            )
        };
        for good in ["1", "1m", "0"] {
            check(&variable(good), &[]);
        }
        let path = "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor";
        let detail = "only divisor's values 1m and 1 are supported with the cpu resource";
        check(&variable("3"), &[&format!("{path}: Invalid value: \"limits.cpu\": {detail}")]);
    }
}
