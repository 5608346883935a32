//! Lengths of time that were observed, by what took them and whose they are.

use std::collections::BTreeMap;

use crate::engine::Bounds;

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// From a pod that is bound to its containers that run, without pulls.
    PodStart,
    /// One pull of an image.
    ImagePull,
    /// From running to Ready.
    PodReady,
    /// From the request to stop to the exit.
    PodStop,
    /// From power on to Ready.
    NodeBoot,
    /// From a link that is back to a kubelet that acts.
    KubeletReconnect,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::PodStart, Self::ImagePull, Self::PodReady, Self::PodStop, Self::NodeBoot, Self::KubeletReconnect];

    /// The field of a scenario's `latency`.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::PodStart => "podStart",
            Self::ImagePull => "imagePull",
            Self::PodReady => "podReady",
            Self::PodStop => "podStop",
            Self::NodeBoot => "nodeBoot",
            Self::KubeletReconnect => "kubeletReconnect",
        }
    }

    /// The annotation that a workload has for it.
    #[must_use]
    pub fn annotation(self) -> Option<&'static str> {
        match self {
            Self::PodStart => Some("kubesquall.sim/start"),
            Self::PodReady => Some("kubesquall.sim/ready"),
            Self::PodStop => Some("kubesquall.sim/stop"),
            Self::ImagePull | Self::NodeBoot | Self::KubeletReconnect => None,
        }
    }
}

/// Lengths of one measure.
#[derive(Clone, Debug, Default)]
pub(super) struct Lengths {
    pub(super) cluster: Vec<Bounds>,
    /// By workload, as `deployment/shop/web`.
    pub(super) workloads: BTreeMap<String, Vec<Bounds>>,
    /// What tells nothing, by why.
    pub(super) left_out: BTreeMap<&'static str, usize>,
}

impl Lengths {
    /// Takes a length; one that ends before it begins tells that two clocks disagree.
    pub(super) fn add(&mut self, bounds: Bounds, workload: Option<&str>, counts_for_cluster: bool) {
        if bounds.high_s <= 0.0 {
            return self.leave_out("ended before it began: clocks disagree");
        }
        if counts_for_cluster {
            self.cluster.push(bounds);
        }
        if let Some(workload) = workload {
            self.workloads.entry(workload.to_owned()).or_default().push(bounds);
        }
    }

    pub(super) fn leave_out(&mut self, why: &'static str) {
        *self.left_out.entry(why).or_default() += 1;
    }
}
