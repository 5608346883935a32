//! The configuration of all components: flags, configuration files, latencies.

use std::sync::Arc;

use super::latency::Latencies;
use super::plugin::SchedulerPlugin;
use crate::engine::Distribution;
use crate::model::config::{
    KubeApiserver, KubeControllerManager, KubeSchedulerConfiguration, Kubelet, KubernetesVersion,
};
use crate::units::SimDuration;

/// Everything the components are configured with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Picks the behaviours that differ between versions.
    pub version: KubernetesVersion,
    /// kube-apiserver flags.
    pub kube_apiserver: KubeApiserver,
    /// kube-controller-manager flags.
    pub kube_controller_manager: KubeControllerManager,
    /// kube-scheduler configuration.
    pub kube_scheduler: KubeSchedulerConfiguration,
    /// Plug-ins of kube-scheduler that whoever plays the run brings along; no document names them.
    pub scheduler_plugins: Arc<[SchedulerPlugin]>,
    /// Kubelet configuration, the same on every node.
    pub kubelet: Kubelet,
    /// Latencies.
    pub latency: Latencies,
    /// An API call's way there and back without what makes the answer late.
    pub round_trip: SimDuration,
    /// The Unix time of t=0 in seconds, for what goes by the calendar.
    pub epoch_unix_s: i64,
}

impl Config {
    /// The longest way of a call there and back. Recorded writes are there within 5 ms also where answers take 100 ms: what
    /// makes a call slow comes after the commit.
    pub const ROUND_TRIP_MAX: SimDuration = SimDuration::from_millis(10);

    /// The way there and back of calls that take so long: half of them take no less.
    #[must_use]
    pub fn round_trip(api_call: &Distribution) -> SimDuration {
        api_call.quantile(0.5).min(Self::ROUND_TRIP_MAX)
    }

    /// The limit that each controller's own client has.
    #[must_use]
    pub fn controller_client(&self) -> super::flow_control::ClientLimit {
        super::flow_control::ClientLimit {
            qps: self.kube_controller_manager.kube_api_qps,
            burst: u32::try_from(self.kube_controller_manager.kube_api_burst.max(1)).unwrap_or(u32::MAX),
        }
    }
}
