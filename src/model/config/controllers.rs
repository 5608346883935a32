//! Which controllers kube-controller-manager runs.

use super::flags::FlagValue;
use crate::arena::Symbol;
use crate::diagnostics::suggest;

/// Every controller by its name and the older names that still mean it.
///
/// # Source
/// kube-controller-manager 1.33 to 1.36, `names` and the aliases of its controller descriptors.
const CONTROLLERS: &[(&str, &[&str])] = &[
    ("bootstrap-signer-controller", &["bootstrapsigner"]),
    ("certificatesigningrequest-approving-controller", &["csrapproving"]),
    ("certificatesigningrequest-cleaner-controller", &["csrcleaner"]),
    ("certificatesigningrequest-signing-controller", &["csrsigning"]),
    ("cloud-node-lifecycle-controller", &["cloud-node-lifecycle"]),
    ("clusterrole-aggregation-controller", &["clusterrole-aggregation"]),
    ("cronjob-controller", &["cronjob"]),
    ("daemonset-controller", &["daemonset"]),
    ("deployment-controller", &["deployment"]),
    ("device-taint-eviction-controller", &[]),
    ("disruption-controller", &["disruption"]),
    ("endpoints-controller", &["endpoint"]),
    ("endpointslice-controller", &["endpointslice"]),
    ("endpointslice-mirroring-controller", &["endpointslicemirroring"]),
    ("ephemeral-volume-controller", &["ephemeral-volume"]),
    ("garbage-collector-controller", &["garbagecollector"]),
    ("horizontal-pod-autoscaler-controller", &["horizontalpodautoscaling"]),
    ("job-controller", &["job"]),
    ("kube-apiserver-serving-clustertrustbundle-publisher-controller", &[]),
    ("legacy-serviceaccount-token-cleaner-controller", &["legacy-service-account-token-cleaner"]),
    ("namespace-controller", &["namespace"]),
    ("node-ipam-controller", &["nodeipam"]),
    ("node-lifecycle-controller", &["nodelifecycle"]),
    ("node-route-controller", &["route"]),
    ("persistentvolume-attach-detach-controller", &["attachdetach"]),
    ("persistentvolume-binder-controller", &["persistentvolume-binder"]),
    ("persistentvolume-expander-controller", &["persistentvolume-expander"]),
    ("persistentvolume-protection-controller", &["pv-protection"]),
    ("persistentvolumeclaim-protection-controller", &["pvc-protection"]),
    ("pod-garbage-collector-controller", &["podgc"]),
    ("podcertificaterequest-cleaner-controller", &[]),
    ("podgroup-protection-controller", &[]),
    ("replicaset-controller", &["replicaset"]),
    ("replicationcontroller-controller", &["replicationcontroller"]),
    ("resourceclaim-controller", &["resource-claim-controller"]),
    ("resourcepoolstatusrequest-controller", &[]),
    ("resourcequota-controller", &["resourcequota"]),
    ("root-ca-certificate-publisher-controller", &["root-ca-cert-publisher"]),
    ("selinux-warning-controller", &[]),
    ("service-ca-certificate-publisher-controller", &[]),
    ("service-cidr-controller", &[]),
    ("service-lb-controller", &["service"]),
    ("serviceaccount-controller", &["serviceaccount"]),
    ("serviceaccount-token-controller", &["serviceaccount-token"]),
    ("statefulset-controller", &["statefulset"]),
    ("storage-version-migrator-controller", &[]),
    ("storageversion-garbage-collector-controller", &["storage-version-gc"]),
    ("taint-eviction-controller", &[]),
    ("token-cleaner-controller", &["tokencleaner"]),
    ("ttl-after-finished-controller", &["ttl-after-finished"]),
    ("ttl-controller", &["ttl"]),
    ("validatingadmissionpolicy-status-controller", &[]),
    ("volumeattributesclass-protection-controller", &[]),
];

/// Those that `*` does not mean.
const OFF_BY_DEFAULT: &[&str] =
    &["bootstrap-signer-controller", "selinux-warning-controller", "token-cleaner-controller"];

/// Those that are played.
const PLAYED: &[&str] = &[
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "horizontal-pod-autoscaler-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",
    "persistentvolume-attach-detach-controller",
    "persistentvolume-binder-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "replicationcontroller-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
];

/// The value of `--controllers`: `*` for those that run by default, a name to add one, `-name` to leave one out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controllers {
    entries: Vec<Symbol>,
}

impl Controllers {
    /// Whether the controller of that name runs.
    ///
    /// # Source
    /// kube-controller-manager, `IsControllerEnabled`: the first entry that names it decides; without one, `*`.
    #[must_use]
    pub fn runs(&self, name: &str) -> bool {
        let named = self.entries.iter().filter(|entry| **entry != "*").find_map(|entry| {
            let text = entry.as_str();
            match text.strip_prefix('-') {
                Some(left_out) if full_name(left_out) == Some(name) => Some(false),
                None if full_name(text) == Some(name) => Some(true),
                _ => None,
            }
        });
        named.unwrap_or_else(|| self.entries.iter().any(|entry| *entry == "*") && !OFF_BY_DEFAULT.contains(&name))
    }

    /// Whether this value of the flag leaves all controllers that are played as they are without it.
    #[must_use]
    pub fn is_idle(text: &str) -> bool {
        Self::parse_flag(text).is_some_and(|value| PLAYED.iter().all(|name| value.runs(name)))
    }
}

fn full_name(text: &str) -> Option<&'static str> {
    CONTROLLERS.iter().find(|(name, aliases)| *name == text || aliases.contains(&text)).map(|(name, _)| *name)
}

fn unknown(text: &str) -> Option<&str> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty() && *name != "*");
    names.map(|name| name.strip_prefix('-').unwrap_or(name)).find(|name| full_name(name).is_none())
}

impl FlagValue for Controllers {
    const EXPECTED: &'static str = "`*` and names of controllers, each after a `-` to leave it out, joined by commas";

    fn parse_flag(text: &str) -> Option<Self> {
        let entries = Vec::<Symbol>::parse_flag(text)?;
        unknown(text).is_none().then_some(Self { entries })
    }

    fn flag_text(&self) -> String {
        self.entries.flag_text()
    }

    fn help(text: &str) -> Option<String> {
        let name = unknown(text)?;
        let nearest = suggest::nearest(name, CONTROLLERS.iter().map(|(name, _)| *name));
        let nearest = nearest.map_or_else(String::new, |nearest| format!("; the nearest is `{nearest}`"));
        Some(format!("`{name}` is not in the list of known controllers{nearest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn controllers(text: &str) -> Controllers {
        Controllers::parse_flag(text).expect("a value")
    }

    #[test]
    fn the_first_entry_that_names_a_controller_decides() {
        let check = |text: &str, name: &str, expected: bool| {
            assert_eq!(controllers(text).runs(name), expected, "{name} of {text}");
        };
        check("*", "deployment-controller", true);
        check("*", "token-cleaner-controller", false);
        check("*,tokencleaner", "token-cleaner-controller", true);
        check("*,-deployment-controller", "deployment-controller", false);
        check("*, -podgc", "pod-garbage-collector-controller", false);
        check("job-controller", "deployment-controller", false);
        check("job-controller", "job-controller", true);
        check("-job,job,*", "job-controller", false);
        assert!(Controllers::is_idle("*,-ttl"));
        assert!(!Controllers::is_idle("*,-taint-eviction-controller"));
    }

    #[test]
    fn unknown_controllers_are_named_with_the_nearest() {
        assert_eq!(Controllers::parse_flag("*,-deploymentt-controller"), None);
        let expected =
            "`deploymentt-controller` is not in the list of known controllers; the nearest is `deployment-controller`";
        assert_eq!(Controllers::help("*,-deploymentt-controller").as_deref(), Some(expected));
        assert_eq!(Controllers::help("*,-foo").as_deref(), Some("`foo` is not in the list of known controllers"));
    }
}
