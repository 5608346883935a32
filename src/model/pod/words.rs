//! Different words for the same: what a pod spec says whether it is written or not.
//!
//! Parts that are kept but decide nothing are compared as text. For the API server they are equal, too, if one writes out what the other leaves
//! to a default, or a zero value that JSON leaves out.
//!
//! # Source
//! kube-apiserver, defaults of pod specs (`pkg/apis/core/v1`), and the tags `omitempty` of their types; apimachinery,
//! `equality.Semantic.DeepEqual`: lists that are empty and lists that are not there are equal. What the types have by pointer
//! (`privileged: false`, an empty `securityContext` of a container) says something as soon as it is there.

use serde_json::{Value, json};

use super::{Container, Lifecycle, LifecycleHandler, PodSpec, Probe, Volume};
use crate::model::meta::Opaque;

/// What may be left out of a part: names of fields, at any depth of it, and what they mean then. A part as a whole has no name.
type Words = &'static [(&'static str, &'static str)];

const LISTS: Words = &[];
const TEXT: Words = &[("", r#""""#)];
const SWITCH: Words = &[("", "false")];
const DNS_POLICY: Words = &[("", r#""""#), ("", r#""ClusterFirst""#)];
const POD_SECURITY: Words =
    &[("", "{}"), ("user", r#""""#), ("role", r#""""#), ("type", r#""""#), ("level", r#""""#), ("value", r#""""#)];
const CONTAINER_SECURITY: Words = &[("user", r#""""#), ("role", r#""""#), ("type", r#""""#), ("level", r#""""#)];
const MESSAGE_PATH: Words = &[("", r#""""#), ("", r#""/dev/termination-log""#)];
const MESSAGE_POLICY: Words = &[("", r#""""#), ("", r#""File""#)];
const ENVIRONMENT: Words = &[
    ("value", r#""""#),
    ("prefix", r#""""#),
    ("apiVersion", r#""""#),
    ("apiVersion", r#""v1""#),
    ("containerName", r#""""#),
    ("divisor", r#""0""#),
    ("divisor", "0"),
];
/// A file is there or not: other references that are `optional` say so by pointer.
const FILE_KEY: &str = "fileKeyRef";
const MOUNTS: Words = &[("readOnly", "false"), ("subPath", r#""""#), ("subPathExpr", r#""""#)];
const HANDLER: Words = &[
    ("path", r#""""#),
    ("path", r#""/""#),
    ("scheme", r#""""#),
    ("scheme", r#""HTTP""#),
    ("host", r#""""#),
    ("service", r#""""#),
];
const HOST_PATH: Words = &[("type", r#""""#)];
/// ConfigMaps, Secrets and what is projected of them, of the pod and of its account.
const FILES: Words = &[
    ("defaultMode", "420"),
    ("apiVersion", r#""""#),
    ("apiVersion", r#""v1""#),
    ("containerName", r#""""#),
    ("divisor", r#""0""#),
    ("divisor", "0"),
    ("expirationSeconds", "3600"),
    ("audience", r#""""#),
    ("secretName", r#""""#),
];
/// Disks and shares whose switches and texts are values.
const SHARES: Words = &[
    ("readOnly", "false"),
    ("fsType", r#""""#),
    ("partition", "0"),
    ("secretFile", r#""""#),
    ("user", r#""""#),
    ("storagePolicyName", r#""""#),
    ("storagePolicyID", r#""""#),
    ("revision", r#""""#),
    ("directory", r#""""#),
];
const RBD: Words = &[
    ("readOnly", "false"),
    ("fsType", r#""""#),
    ("pool", r#""rbd""#),
    ("user", r#""admin""#),
    ("keyring", r#""/etc/ceph/keyring""#),
];
const ISCSI: Words = &[
    ("readOnly", "false"),
    ("fsType", r#""""#),
    ("iscsiInterface", r#""default""#),
    ("chapAuthDiscovery", "false"),
    ("chapAuthSession", "false"),
];
const AZURE_DISK: Words =
    &[("readOnly", "false"), ("fsType", r#""ext4""#), ("cachingMode", r#""ReadWrite""#), ("kind", r#""Shared""#)];

/// Takes out what may be left out.
fn shorten(value: &mut Value, words: &[(&str, Value)]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| shorten(item, words)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|own| shorten(own, words));
            if let Some(Value::Object(file)) = fields.get_mut(FILE_KEY)
                && file.get("optional") == Some(&json!(false))
            {
                file.remove("optional");
            }
            fields.retain(|name, own| !may_be_left_out(name, own, words));
        }
        _ => {}
    }
}

fn may_be_left_out(name: &str, value: &Value, words: &[(&str, Value)]) -> bool {
    value.is_null()
        || value.as_array().is_some_and(Vec::is_empty)
        || words.iter().any(|(field, meant)| *field == name && value == meant)
}

fn short(part: Opaque, words: Words) -> Opaque {
    let words: Vec<(&str, Value)> =
        words.iter().map(|(name, meant)| (*name, serde_json::from_str(meant).unwrap_or_default())).collect();
    part.map(|value| {
        shorten(value, &words);
        if may_be_left_out("", value, &words) {
            *value = Value::Null;
        }
    })
}

/// A part that means what it meant before keeps the words that it had.
fn keep(new: &mut Opaque, old: Opaque, words: Words) {
    if *new != old && short(*new, words) == short(old, words) {
        *new = old;
    }
}

impl PodSpec {
    /// Whether two specs, with defaults, mean the same.
    #[must_use]
    pub fn means(&self, other: &Self) -> bool {
        if self == other {
            return true;
        }
        // What most often tells two templates apart.
        let image = |containers: &[Container], others: &[Container]| {
            containers.len() == others.len() && containers.iter().zip(others).all(|(a, b)| a.image == b.image)
        };
        if !image(&self.containers, &other.containers) || !image(&self.init_containers, &other.init_containers) {
            return false;
        }
        let mut same = self.clone();
        same.keep_words(other);
        same == *other
    }

    /// Parts that are kept but decide nothing, and that mean what they meant before, keep the words that they had.
    pub fn keep_words(&mut self, old: &Self) {
        let parts: [(&mut Opaque, Opaque, Words); 9] = [
            (&mut self.ephemeral_containers, old.ephemeral_containers, LISTS),
            (&mut self.resource_claims, old.resource_claims, LISTS),
            (&mut self.security_context, old.security_context, POD_SECURITY),
            (&mut self.host_users, old.host_users, LISTS),
            (&mut self.image_pull_secrets, old.image_pull_secrets, LISTS),
            (&mut self.host_aliases, old.host_aliases, LISTS),
            (&mut self.dns_policy, old.dns_policy, DNS_POLICY),
            (&mut self.dns_config, old.dns_config, LISTS),
            (&mut self.os, old.os, LISTS),
        ];
        parts.into_iter().for_each(|(new, old, words)| keep(new, old, words));
        for (new, old) in [(&mut self.containers, &old.containers), (&mut self.init_containers, &old.init_containers)] {
            new.iter_mut().zip(old).for_each(|(new, old)| new.keep_words(old));
        }
        self.volumes.iter_mut().zip(&old.volumes).for_each(|(new, old)| new.keep_words(old));
    }
}

impl Container {
    fn keep_words(&mut self, old: &Self) {
        let parts: [(&mut Opaque, Opaque, Words); 15] = [
            (&mut self.command, old.command, LISTS),
            (&mut self.args, old.args, LISTS),
            (&mut self.env, old.env, ENVIRONMENT),
            (&mut self.env_from, old.env_from, ENVIRONMENT),
            (&mut self.working_dir, old.working_dir, TEXT),
            (&mut self.volume_mounts, old.volume_mounts, MOUNTS),
            (&mut self.volume_devices, old.volume_devices, LISTS),
            (&mut self.security_context, old.security_context, CONTAINER_SECURITY),
            (&mut self.resize_policy, old.resize_policy, LISTS),
            (&mut self.restart_policy_rules, old.restart_policy_rules, LISTS),
            (&mut self.termination_message_path, old.termination_message_path, MESSAGE_PATH),
            (&mut self.termination_message_policy, old.termination_message_policy, MESSAGE_POLICY),
            (&mut self.stdin, old.stdin, SWITCH),
            (&mut self.stdin_once, old.stdin_once, SWITCH),
            (&mut self.tty, old.tty, SWITCH),
        ];
        parts.into_iter().for_each(|(new, old, words)| keep(new, old, words));
        let probes = [
            (&mut self.readiness_probe, &old.readiness_probe),
            (&mut self.liveness_probe, &old.liveness_probe),
            (&mut self.startup_probe, &old.startup_probe),
        ];
        for (new, old) in probes {
            if let (Some(new), Some(old)) = (new, old) {
                new.keep_words(old);
            }
        }
        if let (Some(new), Some(old)) = (&mut self.lifecycle, &old.lifecycle) {
            new.keep_words(old);
        }
    }
}

impl Probe {
    fn keep_words(&mut self, old: &Self) {
        keep(&mut self.http_get, old.http_get, HANDLER);
        keep(&mut self.tcp_socket, old.tcp_socket, HANDLER);
        keep(&mut self.exec, old.exec, LISTS);
        keep(&mut self.grpc, old.grpc, HANDLER);
    }
}

impl Lifecycle {
    fn keep_words(&mut self, old: &Self) {
        for (new, old) in [(&mut self.post_start, &old.post_start), (&mut self.pre_stop, &old.pre_stop)] {
            if let (Some(new), Some(old)) = (new, old) {
                new.keep_words(old);
            }
        }
        keep(&mut self.stop_signal, old.stop_signal, LISTS);
    }
}

impl LifecycleHandler {
    fn keep_words(&mut self, old: &Self) {
        keep(&mut self.exec, old.exec, LISTS);
        keep(&mut self.http_get, old.http_get, HANDLER);
        keep(&mut self.tcp_socket, old.tcp_socket, HANDLER);
    }
}

impl Volume {
    fn keep_words(&mut self, old: &Self) {
        let parts: [(&mut Opaque, Opaque, Words); 20] = [
            (&mut self.host_path, old.host_path, HOST_PATH),
            (&mut self.config_map, old.config_map, FILES),
            (&mut self.secret, old.secret, FILES),
            (&mut self.projected, old.projected, FILES),
            (&mut self.downward_api, old.downward_api, FILES),
            (&mut self.csi, old.csi, LISTS),
            (&mut self.nfs, old.nfs, SHARES),
            (&mut self.gce_persistent_disk, old.gce_persistent_disk, SHARES),
            (&mut self.aws_elastic_block_store, old.aws_elastic_block_store, SHARES),
            (&mut self.azure_disk, old.azure_disk, AZURE_DISK),
            (&mut self.azure_file, old.azure_file, SHARES),
            (&mut self.rbd, old.rbd, RBD),
            (&mut self.iscsi, old.iscsi, ISCSI),
            (&mut self.cephfs, old.cephfs, SHARES),
            (&mut self.cinder, old.cinder, SHARES),
            (&mut self.fc, old.fc, SHARES),
            (&mut self.glusterfs, old.glusterfs, SHARES),
            (&mut self.vsphere_volume, old.vsphere_volume, SHARES),
            (&mut self.portworx_volume, old.portworx_volume, SHARES),
            (&mut self.git_repo, old.git_repo, SHARES),
        ];
        parts.into_iter().for_each(|(new, old, words)| keep(new, old, words));
        keep(&mut self.flex_volume, old.flex_volume, SHARES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(container: &str, more: &str) -> PodSpec {
        let mut spec: PodSpec =
            serde_json::from_str(&format!(r#"{{"containers":[{{"name":"c","image":"i:1"{container}}}]{more}}}"#))
                .unwrap();
        spec.apply_defaults();
        spec
    }

    #[test]
    fn a_default_or_a_zero_that_is_written_out_is_no_change() {
        #[track_caller]
        fn check(container: &str, more: &str, before: &str, expected: bool) {
            let (new, old) = (spec(container, more), spec(before, ""));
            assert_eq!((new.means(&old), old.means(&new)), (expected, expected), "{container} {more}");
            let mut kept = new.clone();
            kept.keep_words(&old);
            assert_eq!(kept == old, expected, "{container} {more}");
        }
        let mount = r#","volumeMounts":[{"name":"v","mountPath":"/v"}]"#;
        let probe = r#","livenessProbe":{"httpGet":{"port":80}}"#;
        let field = r#","env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]"#;
        for written in [
            r#","tty":false,"stdin":false,"stdinOnce":false"#,
            r#","terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File""#,
            r#","command":[],"args":[],"workingDir":"","env":[],"volumeDevices":[]"#,
        ] {
            check(written, "", "", true);
        }
        for written in
            [r#","dnsPolicy":"ClusterFirst""#, r#","securityContext":{}"#, r#","imagePullSecrets":[],"hostAliases":[]"#]
        {
            check("", written, "", true);
        }
        check(&mount.replace('}', r#","readOnly":false,"subPath":""}"#), "", mount, true);
        check(&probe.replace("80", r#"80,"path":"/","scheme":"HTTP","httpHeaders":[]"#), "", probe, true);
        check(&field.replace("\"fieldPath\"", "\"apiVersion\":\"v1\",\"fieldPath\""), "", field, true);
        for other in [
            r#","tty":true"#,
            r#","securityContext":{}"#,
            r#","securityContext":{"privileged":false}"#,
            r#","command":["x"]"#,
            r#","terminationMessagePolicy":"FallbackToLogsOnError""#,
            r#","env":[{"name":"A"}]"#,
        ] {
            check(other, "", "", false);
        }
        check("", r#","dnsPolicy":"Default""#, "", false);
        check("", r#","affinity":{}"#, "", false);
        check(&mount.replace('}', r#","readOnly":true}"#), "", mount, false);
        check(&mount.replace('}', r#","mountPropagation":"None"}"#), "", mount, false);
        check(&probe.replace("80", r#"80,"path":"/ready""#), "", probe, false);
    }

    #[test]
    fn volumes_say_the_same_with_their_defaults() {
        let volumes = |own: &str| spec("", &format!(r#","volumes":[{{"name":"v",{own}}}]"#));
        let check = |one: &str, other: &str, expected: bool| {
            assert_eq!(volumes(one).means(&volumes(other)), expected, "{one} {other}");
        };
        check(r#""configMap":{"name":"a","defaultMode":420}"#, r#""configMap":{"name":"a"}"#, true);
        check(r#""configMap":{"name":"a","optional":false}"#, r#""configMap":{"name":"a"}"#, false);
        check(r#""hostPath":{"path":"/a","type":""}"#, r#""hostPath":{"path":"/a"}"#, true);
        check(r#""nfs":{"server":"s","path":"/","readOnly":false}"#, r#""nfs":{"server":"s","path":"/"}"#, true);
        check(r#""csi":{"driver":"d","readOnly":false}"#, r#""csi":{"driver":"d"}"#, false);
        check(r#""secret":{"secretName":"a"}"#, r#""secret":{"secretName":"b"}"#, false);
    }
}
