//! Which admission plugins kube-apiserver runs.

use super::flags::FlagValue;
use crate::arena::Symbol;
use crate::diagnostics::suggest;

macro_rules! plugins {
    ($($name:ident: $by_default:literal,)*) => {
        /// An admission plugin of kube-apiserver.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "variants are the plugins")]
        pub enum AdmissionPlugin { $($name,)* }

        impl AdmissionPlugin {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Its name in the flags.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            const fn runs_by_default(self) -> bool {
                match self { $(Self::$name => $by_default,)* }
            }
        }
    };
}

// By name, and whether they run unless a flag says otherwise: kube-apiserver 1.33 to 1.36, `AllOrderedPlugins`, `RegisterAllAdmissionPlugins` and `DefaultOffAdmissionPlugins`.
plugins! {
    AlwaysAdmit: false,
    AlwaysDeny: false,
    AlwaysPullImages: false,
    CertificateApproval: true,
    CertificateSigning: true,
    CertificateSubjectRestriction: true,
    ClusterTrustBundleAttest: true,
    DefaultIngressClass: true,
    DefaultStorageClass: true,
    DefaultTolerationSeconds: true,
    DenyServiceExternalIPs: false,
    EventRateLimit: false,
    ExtendedResourceToleration: false,
    ImagePolicyWebhook: false,
    JobValidation: true,
    LimitPodHardAntiAffinityTopology: false,
    LimitRanger: true,
    MutatingAdmissionPolicy: true,
    MutatingAdmissionWebhook: true,
    NamespaceAutoProvision: false,
    NamespaceExists: false,
    NamespaceLifecycle: true,
    NodeDeclaredFeatureValidator: true,
    NodeRestriction: false,
    OwnerReferencesPermissionEnforcement: false,
    PersistentVolumeClaimResize: true,
    PersistentVolumeLabel: false,
    PodGroupProtection: true,
    PodGroupWorkloadExists: true,
    PodNodeSelector: false,
    PodResizeValidator: true,
    PodSecurity: true,
    PodTolerationRestriction: false,
    PodTopologyLabels: true,
    Priority: true,
    ResourceQuota: true,
    RuntimeClass: true,
    ServiceAccount: true,
    StorageObjectInUseProtection: true,
    TaintNodesByCondition: true,
    ValidatingAdmissionPolicy: true,
    ValidatingAdmissionWebhook: true,
}

/// Those that are played.
const PLAYED: &[AdmissionPlugin] = &[
    AdmissionPlugin::AlwaysPullImages,
    AdmissionPlugin::DefaultStorageClass,
    AdmissionPlugin::DefaultTolerationSeconds,
    AdmissionPlugin::ExtendedResourceToleration,
    AdmissionPlugin::LimitPodHardAntiAffinityTopology,
    AdmissionPlugin::LimitRanger,
    AdmissionPlugin::NamespaceLifecycle,
    AdmissionPlugin::PersistentVolumeClaimResize,
    AdmissionPlugin::PodNodeSelector,
    AdmissionPlugin::PodTolerationRestriction,
    AdmissionPlugin::Priority,
    AdmissionPlugin::ResourceQuota,
    AdmissionPlugin::RuntimeClass,
    AdmissionPlugin::StorageObjectInUseProtection,
    AdmissionPlugin::TaintNodesByCondition,
];

/// The value of `--enable-admission-plugins` or `--disable-admission-plugins`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionPlugins(Vec<AdmissionPlugin>);

impl AdmissionPlugins {
    /// Those that this value of either flag names and that are not played.
    #[must_use]
    pub fn idle(text: &str) -> Vec<AdmissionPlugin> {
        let named = Self::parse_flag(text).map_or_else(Vec::new, |value| value.0);
        named.into_iter().filter(|plugin| !PLAYED.contains(plugin)).collect()
    }
}

/// Whether a plugin runs with these flags.
///
/// # Source
/// kube-apiserver, `AdmissionOptions.enabledPluginNames`: enabled by hand, or by default and not disabled.
pub(super) fn runs(plugin: AdmissionPlugin, enabled: &AdmissionPlugins, disabled: &AdmissionPlugins) -> bool {
    enabled.0.contains(&plugin) || (plugin.runs_by_default() && !disabled.0.contains(&plugin))
}

fn find(name: &str) -> Option<AdmissionPlugin> {
    AdmissionPlugin::ALL.iter().copied().find(|plugin| plugin.as_str() == name)
}

impl FlagValue for AdmissionPlugins {
    const EXPECTED: &'static str = "names of admission plugins joined by commas";

    fn parse_flag(text: &str) -> Option<Self> {
        Vec::<Symbol>::parse_flag(text)?.iter().map(|name| find(name.as_str())).collect::<Option<_>>().map(Self)
    }

    fn flag_text(&self) -> String {
        self.0.iter().map(|plugin| plugin.as_str()).collect::<Vec<_>>().join(",")
    }

    fn help(text: &str) -> Option<String> {
        let name = text.split(',').map(str::trim).find(|name| !name.is_empty() && find(name).is_none())?;
        let nearest = suggest::nearest(name, AdmissionPlugin::ALL.iter().map(|plugin| plugin.as_str()));
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
        let check = |plugin: AdmissionPlugin, enabled: &str, disabled: &str, expected: bool| {
            let found = runs(plugin, &plugins(enabled), &plugins(disabled));
            assert_eq!(found, expected, "{plugin:?}, enabled {enabled:?}, disabled {disabled:?}");
        };
        check(AdmissionPlugin::Priority, "", "", true);
        check(AdmissionPlugin::Priority, "", "Priority,LimitRanger", false);
        check(AdmissionPlugin::PodTolerationRestriction, "", "", false);
        check(AdmissionPlugin::PodTolerationRestriction, "PodTolerationRestriction", "", true);
        assert_eq!(AdmissionPlugins::parse_flag("Priorities"), None);
        let expected = "admission plugin `Priorities` is unknown; the nearest is `Priority`";
        assert_eq!(AdmissionPlugins::help("Priorities").as_deref(), Some(expected));
        let idle = AdmissionPlugins::idle("NodeRestriction,Priority,EventRateLimit");
        assert_eq!(idle, [AdmissionPlugin::NodeRestriction, AdmissionPlugin::EventRateLimit]);
    }
}
