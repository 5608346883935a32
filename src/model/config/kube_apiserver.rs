//! Flags of kube-apiserver.

use super::flags::component_flags;
use super::without_effect;

component_flags! {
    /// What kube-apiserver runs with.
    pub struct KubeApiserver for "kube-apiserver", without_effect::KUBE_APISERVER {
        /// Seconds for which pods tolerate `node.kubernetes.io/not-ready:NoExecute` unless they say otherwise.
        default_not_ready_toleration_seconds: i64 = "default-not-ready-toleration-seconds", |_version| "300";
        /// Seconds for which pods tolerate `node.kubernetes.io/unreachable:NoExecute` unless they say otherwise.
        default_unreachable_toleration_seconds: i64 = "default-unreachable-toleration-seconds", |_version| "300";
    }
}
