//! The configuration of all components: flags, configuration files, latencies.

use crate::engine::{Distribution, Streams};
use crate::model::config::{
    KubeApiserver, KubeControllerManager, KubeSchedulerConfiguration, Kubelet, KubernetesVersion,
};
use crate::units::SimDuration;

/// How long things take that no manifest says. Each is drawn from its own stream.
#[derive(Clone, Debug)]
pub struct Latencies {
    /// Bound and images present -> containers running.
    pub pod_start: Distribution,
    /// Per image that is not on the node.
    pub image_pull: Distribution,
    /// Running -> Ready, for pods without a readiness probe to time it.
    pub pod_ready: Distribution,
    /// Running -> ended, for Jobs whose pods do not say it; without it, they run until they are stopped.
    pub job_run: Option<Distribution>,
    /// SIGTERM -> exit, capped by the grace period.
    pub pod_stop: Distribution,
    /// Powered on -> kubelet registered and Ready.
    pub node_boot: Distribution,
    /// Link back -> the kubelet sees what changed meanwhile.
    pub kubelet_reconnect: Distribution,
    /// Attaching a volume to a node.
    pub volume_attach: Distribution,
    /// Detaching it.
    pub volume_detach: Distribution,
    /// Making a volume for a claim.
    pub volume_provision: Distribution,
    /// Store change -> a process sees it, in each of its watches. By default as recorded: half within 5 ms, one in a hundred
    /// after more than 60 ms.
    pub watch: Distribution,
    /// An API call is sent -> its answer is there. By default as recorded: half within 20 ms, one in a hundred after more than 200 ms.
    pub api_call: Distribution,
    /// A kubectl line is typed -> its process makes its first call.
    pub kubectl_start: Distribution,
}

impl Default for Latencies {
    fn default() -> Self {
        let s = |secs| Distribution::Constant(SimDuration::from_secs(secs));
        Self {
            pod_start: Distribution::Lognormal {
                median: SimDuration::from_millis(1100),
                p99: SimDuration::from_millis(3500),
            },
            image_pull: s(0),
            pod_ready: s(0),
            job_run: None,
            pod_stop: s(1),
            node_boot: s(90),
            kubelet_reconnect: Distribution::Uniform { min: SimDuration::ZERO, max: SimDuration::from_secs(60) },
            volume_attach: Distribution::Lognormal {
                median: SimDuration::from_secs(8),
                p99: SimDuration::from_secs(40),
            },
            volume_detach: Distribution::Lognormal {
                median: SimDuration::from_secs(6),
                p99: SimDuration::from_secs(60),
            },
            volume_provision: s(3),
            watch: Distribution::Lognormal { median: SimDuration::from_millis(5), p99: SimDuration::from_millis(60) },
            api_call: Distribution::Lognormal {
                median: SimDuration::from_millis(20),
                p99: SimDuration::from_millis(200),
            },
            kubectl_start: Distribution::Lognormal {
                median: SimDuration::from_millis(90),
                p99: SimDuration::from_millis(300),
            },
        }
    }
}

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
    /// Kubelet configuration, the same on every node.
    pub kubelet: Kubelet,
    /// Latencies.
    pub latency: Latencies,
    /// An API call's way there and back without what makes the answer late.
    pub round_trip: SimDuration,
    /// The Unix time of t=0 in seconds, for what goes by the calendar; 0 if the input has no time stamps.
    pub epoch_unix_s: i64,
}

impl Latencies {
    /// Draws the `index`-th value of a concern and entity; a constant draws nothing.
    #[must_use]
    pub fn draw(
        distribution: &Distribution,
        streams: &Streams,
        concern: &str,
        entity: &str,
        index: u64,
    ) -> SimDuration {
        match distribution {
            Distribution::Constant(value) => *value,
            other => other.sample(&mut streams.at(concern, entity, index)),
        }
    }
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
