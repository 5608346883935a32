//! What the tests of all rooms share: a configuration, objects, and the laboratory in which a component is played alone.

mod nodes;
mod objects;

pub(crate) use crate::simulation::lab::{Lab, Member};
pub(crate) use objects::{bare_pod, marked, meta};

use crate::component::{Config, Latencies};
use crate::engine::Distribution;
use crate::model::config::{
    KubeApiserver, KubeControllerManager, KubeSchedulerConfiguration, KubeletConfiguration, KubernetesVersion,
};
use crate::units::{SimDuration, SimTime};

/// Everything as the newest version has it by default, but for calls that take 10 ms and watches that are 5 ms late.
pub(crate) fn config() -> Config {
    config_of(KubernetesVersion::NEWEST)
}

/// The same with the defaults of a version.
pub(crate) fn config_of(version: KubernetesVersion) -> Config {
    let constant = |millis| Distribution::Constant(SimDuration::from_millis(millis));
    Config {
        version,
        kube_apiserver: KubeApiserver::defaults(version),
        kube_controller_manager: KubeControllerManager::defaults(version),
        kube_scheduler: KubeSchedulerConfiguration::default(),
        scheduler_plugins: [].into(),
        kubelet: KubeletConfiguration::default().resolve(version),
        latency: Latencies { watch: constant(5), api_call: constant(10), ..Latencies::default() },
        round_trip: SimDuration::from_millis(10),
        epoch_unix_s: 0,
    }
}

/// An instant, in seconds.
pub(crate) fn secs(secs: f64) -> SimTime {
    SimTime::from_nanos((secs * 1e9).round() as i64)
}

/// Asserts that a time lies in a range.
#[track_caller]
pub(crate) fn within(value: f64, from: f64, to: f64) {
    assert!((from..=to).contains(&value), "{value} is not between {from} and {to}");
}
