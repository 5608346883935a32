//! How long things take that no manifest says: one line a latency.

use serde::{Deserialize, Serialize};

use crate::engine::{Distribution, Streams};
use crate::units::SimDuration;

/// Names the latencies: what each is, its field in Rust and in a scenario, and how long it takes if a scenario says nothing.
macro_rules! latencies {
    ($($(#[doc = $about:literal])+ $latency:ident: $type:ty = $field:literal, $default:expr;)+) => {
        /// How long things take that no manifest says. Each is drawn from its own stream.
        #[derive(Clone, Debug)]
        pub struct Latencies { $($(#[doc = $about])+ pub $latency: $type,)+ }

        /// What a scenario says of them.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
        #[serde(default, deny_unknown_fields)]
        #[expect(missing_docs, reason = "those of the latencies")]
        pub struct WrittenLatencies {
            $(
                #[serde(rename = $field, skip_serializing_if = "Option::is_none")]
                #[cfg_attr(feature = "cli", schemars(description = concat!($($about),+).trim_ascii()))]
                pub $latency: Option<Distribution>,
            )+
        }

        impl Latencies {
            /// The fields of a scenario, and what each is.
            pub const FIELDS: &'static [(&'static str, &'static str)] = &[$(($field, concat!($($about),+))),+];

            /// As a scenario writes them, nothing left out.
            #[must_use]
            pub fn written(&self) -> WrittenLatencies {
                WrittenLatencies { $($latency: self.$latency.clone().into(),)+ }
            }
        }

        impl WrittenLatencies {
            /// The same, with what is not said as by default.
            #[must_use]
            pub fn resolve(&self) -> Latencies {
                Latencies { $($latency: self.$latency.clone().map_or_else(|| $default, Into::into),)+ }
            }

            /// What is said, by field.
            pub fn said(&mut self) -> impl Iterator<Item = (&'static str, &mut Distribution)> {
                let fields = [$(($field, self.$latency.as_mut()),)+];
                fields.into_iter().filter_map(|(field, latency)| Some((field, latency?)))
            }
        }
    };
}

latencies! {
    /// From a pod that is bound, its images on the node, to its containers that run
    pod_start: Distribution = "podStart", lognormal(1100, 3500);
    /// Pulling an image that the node does not have
    image_pull: Distribution = "imagePull", seconds(0);
    /// From running to Ready, for pods without a readiness probe: the probe decides otherwise, and `check` warns if that is all of them
    pod_ready: Distribution = "podReady", seconds(0);
    /// For how long containers of Jobs run whose template does not say it; if nothing is said, until they are stopped, and the Job never
    /// completes
    job_run: Option<Distribution> = "jobRun", None;
    /// From SIGTERM to the exit, at most the grace period
    pod_stop: Distribution = "podStop", seconds(1);
    /// From a machine that is powered on to a kubelet that is registered and Ready
    node_boot: Distribution = "nodeBoot", seconds(90);
    /// From a link that is back to a kubelet that sees what has changed meanwhile
    kubelet_reconnect: Distribution = "kubeletReconnect",
        Distribution::Uniform { min: SimDuration::ZERO, max: SimDuration::from_secs(60) };
    /// Attaching a volume to a node, of drivers that attach
    volume_attach: Distribution = "volumeAttach", lognormal(8_000, 40_000);
    /// Detaching it
    volume_detach: Distribution = "volumeDetach", lognormal(6_000, 60_000);
    /// Making a volume for a claim
    volume_provision: Distribution = "volumeProvision", seconds(3);
    /// From a write to a process that sees it, in each of its watches
    watch: Distribution = "watch", lognormal(5, 60);
    /// From an API call that is sent to its answer
    api_call: Distribution = "apiCall", lognormal(10, 200);
    /// From a kubectl line that is typed to the first call of its process
    kubectl_start: Distribution = "kubectlStart", lognormal(90, 300);
}

fn seconds(length: u64) -> Distribution {
    Distribution::Constant(SimDuration::from_secs(length))
}

fn lognormal(median_ms: u64, p99_ms: u64) -> Distribution {
    Distribution::Lognormal { median: SimDuration::from_millis(median_ms), p99: SimDuration::from_millis(p99_ms) }
}

impl Default for Latencies {
    fn default() -> Self {
        WrittenLatencies::default().resolve()
    }
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
