//! Settings of the control plane and the kubelets under their real names, with the defaults of each version.
//!
//! Every version-dependent default of the simulator stands here and nowhere else. Command line flags are given as a
//! [`FlagMap`] and become a struct of typed values; configuration files are API-like kinds of their own.

mod admission;
mod cluster_autoscaler;
mod controllers;
mod eviction;
mod feature_gates;
mod flags;
mod kube_apiserver;
mod kube_controller_manager;
mod kube_scheduler;
mod kubelet;
mod version;
mod without_effect;

pub use admission::{AdmissionPlugin, AdmissionPlugins};
pub use cluster_autoscaler::ClusterAutoscaler;
pub use controllers::Controllers;
pub use eviction::{EvictionAmount, EvictionSignal, EvictionThreshold};
pub use feature_gates::FeatureGates;
pub use flags::{Flag, FlagError, FlagMap};
pub use kube_apiserver::KubeApiserver;
pub use kube_controller_manager::KubeControllerManager;
pub use kube_scheduler::{
    ClientConnection, KubeSchedulerConfiguration, KubeSchedulerProfile, LeaderElection, Plugin, PluginConfig,
    PluginSet, Plugins,
};
pub use kubelet::{CrashLoopBackOff, Kubelet, KubeletConfiguration, ShutdownGracePeriodByPodPriority};
pub use version::{KubernetesVersion, VersionError};
