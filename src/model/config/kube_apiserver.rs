//! Flags of kube-apiserver.

use super::admission::{self, AdmissionPlugin, AdmissionPlugins};
use super::flags::{PortRange, component_flags};
use super::without_effect;

component_flags! {
    /// What kube-apiserver runs with.
    pub struct KubeApiserver for "kube-apiserver", without_effect::KUBE_APISERVER {
        /// Seconds for which pods tolerate `node.kubernetes.io/not-ready:NoExecute` unless they say otherwise.
        default_not_ready_toleration_seconds: i64 = "default-not-ready-toleration-seconds", |_version| "300";
        /// Seconds for which pods tolerate `node.kubernetes.io/unreachable:NoExecute` unless they say otherwise.
        default_unreachable_toleration_seconds: i64 = "default-unreachable-toleration-seconds", |_version| "300";
        /// Admission plugins to run beside the usual ones; those that are not played are in `not-modelled.csv`.
        enable_admission_plugins: AdmissionPlugins = "enable-admission-plugins", |_version| "";
        /// Ports of nodes that Services may have.
        service_node_port_range: PortRange = "service-node-port-range", |_version| "30000-32767";
        /// Usual admission plugins that do not run.
        disable_admission_plugins: AdmissionPlugins = "disable-admission-plugins", |_version| "";
    }
}

impl KubeApiserver {
    /// Whether an admission plugin runs.
    #[must_use]
    pub fn admits_with(&self, plugin: AdmissionPlugin) -> bool {
        admission::runs(plugin, &self.enable_admission_plugins, &self.disable_admission_plugins)
    }
}
