//! Which kinds an API server serves, and in which versions of their groups.

use super::config::KubernetesVersion;

/// A version of a group, the minor version of Kubernetes from which on its kinds are served, and these kinds.
type Entry = (&'static str, u32, &'static [&'static str]);

/// What is served by default. Versions below the oldest that is played are not told apart.
///
/// # Source
/// kube-apiserver 1.36, the group versions that are enabled by default (`pkg/controlplane`, apiextensions and kube-aggregator),
/// and the releases in which their kinds were introduced (`staging/src/k8s.io/api`).
///
/// # Differs
/// Alpha and beta versions that `--runtime-config` enables are not served.
const SERVED: &[Entry] = &[
    (
        "v1",
        0,
        &[
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "List",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ],
    ),
    ("apps/v1", 0, &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"]),
    ("autoscaling/v1", 0, &["HorizontalPodAutoscaler"]),
    ("autoscaling/v2", 0, &["HorizontalPodAutoscaler"]),
    ("batch/v1", 0, &["CronJob", "Job"]),
    ("policy/v1", 0, &["PodDisruptionBudget"]),
    (
        "admissionregistration.k8s.io/v1",
        0,
        &[
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ],
    ),
    ("admissionregistration.k8s.io/v1", 36, &["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]),
    ("apiextensions.k8s.io/v1", 0, &["CustomResourceDefinition"]),
    ("apiregistration.k8s.io/v1", 0, &["APIService"]),
    ("authentication.k8s.io/v1", 0, &["SelfSubjectReview", "TokenReview"]),
    (
        "authorization.k8s.io/v1",
        0,
        &["LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"],
    ),
    ("certificates.k8s.io/v1", 0, &["CertificateSigningRequest"]),
    ("coordination.k8s.io/v1", 0, &["Lease"]),
    ("discovery.k8s.io/v1", 0, &["EndpointSlice"]),
    ("events.k8s.io/v1", 0, &["Event"]),
    ("flowcontrol.apiserver.k8s.io/v1", 0, &["FlowSchema", "PriorityLevelConfiguration"]),
    ("networking.k8s.io/v1", 0, &["IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"]),
    ("node.k8s.io/v1", 0, &["RuntimeClass"]),
    ("rbac.authorization.k8s.io/v1", 0, &["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]),
    ("resource.k8s.io/v1", 34, &["DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"]),
    ("scheduling.k8s.io/v1", 0, &["PriorityClass"]),
    ("storage.k8s.io/v1", 0, &["CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment"]),
    ("storage.k8s.io/v1", 34, &["VolumeAttributesClass"]),
];

/// Built-in groups of which no version is served by default.
const NEVER_SERVED: [&str; 3] = ["extensions", "internal.apiserver.k8s.io", "storagemigration.k8s.io"];

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Whether the group is one of the API server's own; kinds of others come with their definitions.
fn is_built_in(group_name: &str) -> bool {
    NEVER_SERVED.contains(&group_name) || SERVED.iter().any(|(version, ..)| group(version) == group_name)
}

/// Whether a group could be that of a custom resource of that kind, so that a definition of it may be there.
///
/// # Source
/// apiextensions, validation of CustomResourceDefinitions: a group has a dot. Below `k8s.io` nobody defines kinds of the built-in names.
fn may_be_custom(group_name: &str, kind: &str) -> bool {
    let is_of_kubernetes = group_name.ends_with(".k8s.io") && SERVED.iter().any(|(.., kinds)| kinds.contains(&kind));
    group_name.contains('.') && !is_of_kubernetes
}

/// Whether an API server of that version serves the kind in that version of its group. Kinds of custom resources are taken to
/// be defined.
#[must_use]
pub fn is_served(api_version: &str, kind: &str, version: KubernetesVersion) -> bool {
    let is_it =
        |(served, since, kinds): &Entry| *served == api_version && version.at_least(*since) && kinds.contains(&kind);
    let group_name = group(api_version);
    (!is_built_in(group_name) && may_be_custom(group_name, kind)) || SERVED.iter().any(is_it)
}

/// The newest `apiVersion` under which the kind is served; none if none is built in.
#[must_use]
pub fn served_as(kind: &str, version: KubernetesVersion) -> Option<&'static str> {
    let has = |(_, since, kinds): &&Entry| version.at_least(*since) && kinds.contains(&kind);
    // Events are in two groups, of which everybody writes the core's; else the last version is the newest.
    let mut found: Vec<&str> = SERVED.iter().filter(has).map(|(served, ..)| *served).collect();
    found.dedup_by(|later, earlier| group(later) != group(earlier));
    found.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_and_what_is_not_yet_there_is_not_served() {
        let check = |api_version: &str, kind: &str, minor: u32, expected: bool| {
            let version = format!("1.{minor}").parse().unwrap();
            assert_eq!(is_served(api_version, kind, version), expected, "{api_version} {kind} 1.{minor}");
        };
        check("apps/v1", "Deployment", 33, true);
        for gone in ["apps/v1beta1", "apps/v1beta2", "extensions/v1beta1", "v1", "batch/v1", "apps"] {
            check(gone, "Deployment", 33, false);
        }
        check("policy/v1beta1", "PodDisruptionBudget", 33, false);
        check("policy/v1beta1", "PodSecurityPolicy", 33, false);
        check("batch/v1beta1", "CronJob", 33, false);
        check("autoscaling/v2beta2", "HorizontalPodAutoscaler", 33, false);
        check("autoscaling/v1", "HorizontalPodAutoscaler", 36, true);
        check("networking.k8s.io/v1beta1", "Ingress", 36, false);
        check("flowcontrol.apiserver.k8s.io/v1beta3", "FlowSchema", 33, false);
        check("storage.k8s.io/v1", "VolumeAttributesClass", 33, false);
        check("storage.k8s.io/v1", "VolumeAttributesClass", 34, true);
        check("resource.k8s.io/v1", "ResourceClaim", 33, false);
        check("resource.k8s.io/v1", "ResourceClaim", 34, true);
        check("resource.k8s.io/v1beta1", "ResourceClaim", 36, false);
        check("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", 35, false);
        check("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", 36, true);
        check("gateway.networking.k8s.io/v1beta1", "Gateway", 36, true);
        check("example.com/v1", "Deployment", 36, true);
        check("apps.kruise.io/v1alpha1", "StatefulSet", 36, true);
        for mistyped in ["app/v1", "core/v1", "apps.k8s.io/v1"] {
            check(mistyped, "Deployment", 36, false);
        }
        check("v1", "Kiwi", 36, false);
    }

    #[test]
    fn the_newest_version_that_is_served_is_named() {
        let check =
            |kind: &str, expected: Option<&str>| assert_eq!(served_as(kind, KubernetesVersion::NEWEST), expected);
        check("Deployment", Some("apps/v1"));
        check("HorizontalPodAutoscaler", Some("autoscaling/v2"));
        check("Event", Some("v1"));
        check("PodSecurityPolicy", None);
        check("Gateway", None);
    }
}
