//! Which admission plugins kube-apiserver runs.

use super::flags::FlagValue;
use crate::arena::Symbol;
use crate::diagnostics::suggest;

/// Every admission plugin by its name, and whether it runs by default.
///
/// # Source
/// kube-apiserver 1.33 to 1.36, `AllOrderedPlugins`, `RegisterAllAdmissionPlugins` and `DefaultOffAdmissionPlugins`.
const PLUGINS: &[(&str, bool)] = &[
    ("AlwaysAdmit", false),
    ("AlwaysDeny", false),
    ("AlwaysPullImages", false),
    ("CertificateApproval", true),
    ("CertificateSigning", true),
    ("CertificateSubjectRestriction", true),
    ("ClusterTrustBundleAttest", true),
    ("DefaultIngressClass", true),
    ("DefaultStorageClass", true),
    ("DefaultTolerationSeconds", true),
    ("DenyServiceExternalIPs", false),
    ("EventRateLimit", false),
    ("ExtendedResourceToleration", false),
    ("ImagePolicyWebhook", false),
    ("JobValidation", true),
    ("LimitPodHardAntiAffinityTopology", false),
    ("LimitRanger", true),
    ("MutatingAdmissionPolicy", true),
    ("MutatingAdmissionWebhook", true),
    ("NamespaceAutoProvision", false),
    ("NamespaceExists", false),
    ("NamespaceLifecycle", true),
    ("NodeDeclaredFeatureValidator", true),
    ("NodeRestriction", false),
    ("OwnerReferencesPermissionEnforcement", false),
    ("PersistentVolumeClaimResize", true),
    ("PersistentVolumeLabel", false),
    ("PodGroupProtection", true),
    ("PodGroupWorkloadExists", true),
    ("PodNodeSelector", false),
    ("PodResizeValidator", true),
    ("PodSecurity", true),
    ("PodTolerationRestriction", false),
    ("PodTopologyLabels", true),
    ("Priority", true),
    ("ResourceQuota", true),
    ("RuntimeClass", true),
    ("ServiceAccount", true),
    ("StorageObjectInUseProtection", true),
    ("TaintNodesByCondition", true),
    ("ValidatingAdmissionPolicy", true),
    ("ValidatingAdmissionWebhook", true),
];

/// Those that are played.
const PLAYED: &[&str] = &[
    "AlwaysPullImages",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "ExtendedResourceToleration",
    "LimitPodHardAntiAffinityTopology",
    "LimitRanger",
    "NamespaceLifecycle",
    "PersistentVolumeClaimResize",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "Priority",
    "ResourceQuota",
    "RuntimeClass",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
];

/// The value of `--enable-admission-plugins` or `--disable-admission-plugins`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionPlugins(Vec<Symbol>);

impl AdmissionPlugins {
    /// Whether it names the plugin.
    #[must_use]
    pub fn names(&self, plugin: &str) -> bool {
        self.0.iter().any(|name| *name == plugin)
    }

    /// Those that this value of either flag names and that are not played.
    #[must_use]
    pub fn idle(text: &str) -> Vec<Symbol> {
        let named = Self::parse_flag(text).map_or_else(Vec::new, |value| value.0);
        named.into_iter().filter(|name| !PLAYED.contains(&name.as_str())).collect()
    }
}

/// Whether a plugin runs with these flags.
///
/// # Source
/// kube-apiserver, `AdmissionOptions.enabledPluginNames`: enabled by hand, or by default and not disabled.
pub(super) fn runs(plugin: &str, enabled: &AdmissionPlugins, disabled: &AdmissionPlugins) -> bool {
    let is_default = PLUGINS.iter().any(|(name, is_on)| *name == plugin && *is_on);
    enabled.names(plugin) || (is_default && !disabled.names(plugin))
}

fn unknown(text: &str) -> Option<&str> {
    let is_known = |name: &&str| PLUGINS.iter().any(|(plugin, _)| plugin == name);
    text.split(',').map(str::trim).find(|name| !name.is_empty() && !is_known(name))
}

impl FlagValue for AdmissionPlugins {
    const EXPECTED: &'static str = "names of admission plugins joined by commas";

    fn parse_flag(text: &str) -> Option<Self> {
        let names = Vec::<Symbol>::parse_flag(text)?;
        unknown(text).is_none().then_some(Self(names))
    }

    fn flag_text(&self) -> String {
        self.0.flag_text()
    }

    fn help(text: &str) -> Option<String> {
        let name = unknown(text)?;
        let nearest = suggest::nearest(name, PLUGINS.iter().map(|(plugin, _)| *plugin));
        let nearest = nearest.map_or_else(String::new, |nearest| format!("; the nearest is `{nearest}`"));
        Some(format!("admission plugin `{name}` is unknown{nearest}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugins(text: &str) -> AdmissionPlugins {
        AdmissionPlugins::parse_flag(text).expect("a value")
    }

    #[test]
    fn plugins_run_by_default_or_by_hand() {
        let check = |plugin: &str, enabled: &str, disabled: &str, expected: bool| {
            let found = runs(plugin, &plugins(enabled), &plugins(disabled));
            assert_eq!(found, expected, "{plugin}, enabled {enabled:?}, disabled {disabled:?}");
        };
        check("Priority", "", "", true);
        check("Priority", "", "Priority,LimitRanger", false);
        check("PodTolerationRestriction", "", "", false);
        check("PodTolerationRestriction", "PodTolerationRestriction", "", true);
        assert_eq!(AdmissionPlugins::parse_flag("Priorities"), None);
        let expected = "admission plugin `Priorities` is unknown; the nearest is `Priority`";
        assert_eq!(AdmissionPlugins::help("Priorities").as_deref(), Some(expected));
        let idle: Vec<&str> = AdmissionPlugins::idle("NodeRestriction,Priority,EventRateLimit")
            .iter()
            .map(|name| name.as_str())
            .collect();
        assert_eq!(idle, ["NodeRestriction", "EventRateLimit"]);
    }
}
