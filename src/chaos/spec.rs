//! Faults and random processes as a scenario writes them.

use serde::{Deserialize, Serialize};

use super::target::NodeTarget;
use crate::engine::Distribution;
use crate::model::ResourceList;
use crate::units::SimDuration;

/// What goes wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FaultKind {
    /// The machine is off: kubelet and containers are gone.
    Crash,
    /// The kubelet process stops; containers keep serving.
    KubeletStop,
    /// No packets between node and control plane.
    Partition,
    /// The kubelet posts Ready=False.
    NotReady,
    /// As a crash; comes back after its boot time.
    Reboot,
    /// The kubelet's graceful node shutdown, then off.
    GracefulShutdown,
    /// Condition MemoryPressure.
    MemoryPressure,
    /// Condition DiskPressure.
    DiskPressure,
    /// Condition PIDPressure.
    #[serde(rename = "PIDPressure")]
    PidPressure,
    /// Condition NetworkUnavailable.
    NetworkUnavailable,
    /// The machine is off for good and the cloud deletes the Node object.
    InstanceGone,
    /// A spot instance is reclaimed after a warning, during which its node is drained.
    SpotInterruption,
    /// Containers of chosen pods exit with an error.
    ContainerCrash,
    /// Containers of chosen pods are killed for their memory.
    #[serde(rename = "OOMKill")]
    OomKill,
    /// Chosen pods are deleted without grace.
    PodKill,
    /// Pulls of images fail: a registry is down, or an image is not there.
    ImagePullFailure,
    /// Processes of the control plane are down.
    ControlPlaneOutage,
    /// Lease renewals get through late.
    SlowHeartbeats,
}

impl FaultKind {
    /// The name in a scenario.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crash => "Crash",
            Self::KubeletStop => "KubeletStop",
            Self::Partition => "Partition",
            Self::NotReady => "NotReady",
            Self::Reboot => "Reboot",
            Self::GracefulShutdown => "GracefulShutdown",
            Self::MemoryPressure => "MemoryPressure",
            Self::DiskPressure => "DiskPressure",
            Self::PidPressure => "PIDPressure",
            Self::NetworkUnavailable => "NetworkUnavailable",
            Self::InstanceGone => "InstanceGone",
            Self::SpotInterruption => "SpotInterruption",
            Self::ContainerCrash => "ContainerCrash",
            Self::OomKill => "OOMKill",
            Self::PodKill => "PodKill",
            Self::ImagePullFailure => "ImagePullFailure",
            Self::ControlPlaneOutage => "ControlPlaneOutage",
            Self::SlowHeartbeats => "SlowHeartbeats",
        }
    }

    /// Whether it hits nodes, as opposed to pods or processes.
    #[must_use]
    pub fn needs_nodes(self) -> bool {
        !matches!(self, Self::ControlPlaneOutage | Self::ContainerCrash | Self::OomKill | Self::PodKill)
    }

    /// Whether it hits pods.
    #[must_use]
    pub fn hits_pods(self) -> bool {
        matches!(self, Self::ContainerCrash | Self::OomKill | Self::PodKill)
    }

    /// Whether it goes on until it is repaired.
    #[must_use]
    pub fn lasts(self) -> bool {
        !matches!(self, Self::Reboot | Self::InstanceGone | Self::ContainerCrash | Self::OomKill | Self::PodKill)
    }

    /// Whether a random process of it has to say how long a repair takes. Spot instances may go without a replacement.
    #[must_use]
    pub fn needs_repair(self) -> bool {
        self.lasts() && self != Self::SpotInterruption
    }

    /// Whether it ends machines for good.
    #[must_use]
    pub fn ends_machines(self) -> bool {
        matches!(self, Self::InstanceGone | Self::SpotInterruption)
    }
}

/// A process of the control plane, by its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProcessName {
    /// kube-apiserver.
    KubeApiserver,
    /// kube-controller-manager.
    KubeControllerManager,
    /// kube-scheduler.
    KubeScheduler,
}

/// Which pods a fault hits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodTarget {
    /// Only this namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Only pods that this label selector matches, in kubectl's form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// Only these names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// So many of them, drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// This share of them, drawn.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::target::share")]
    pub fraction: Option<f64>,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultSpec {
    /// What goes wrong.
    pub kind: FaultKind,
    /// On which nodes.
    #[serde(default, skip_serializing_if = "NodeTarget::is_everything")]
    pub nodes: NodeTarget,
    /// For how long; without it, until the end of the run.
    #[serde(
        rename = "for",
        default,
        skip_serializing_if = "Option::is_none",
        with = "crate::units::with_days::option"
    )]
    pub length: Option<SimDuration>,
    /// Which processes (ControlPlaneOutage).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ProcessName>,
    /// Which pods (ContainerCrash, OOMKill, PodKill).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodTarget>,
    /// Exit code (ContainerCrash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long the machine boots afterwards (Crash, Reboot, GracefulShutdown); as all machines if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Distribution>,
    /// By how much each renewal is late (SlowHeartbeats).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Distribution>,
    /// From the warning to the end of the instance (SpotInterruption).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::units::with_days::option")]
    pub notice: Option<SimDuration>,
    /// Whether the node is drained when the warning comes (SpotInterruption).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<bool>,
    /// What others than pods use (MemoryPressure, DiskPressure, PIDPressure): whether the node is short of it is then up to
    /// the kubelet's thresholds. Without it, the condition holds.
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub usage: ResourceList,
    /// Which images (ImagePullFailure): names, or beginnings of names with `*` at the end; all, if none is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

impl FaultSpec {
    /// A fault of this kind, with nothing else said.
    #[must_use]
    pub fn new(kind: FaultKind) -> Self {
        Self {
            kind,
            nodes: NodeTarget::default(),
            length: None,
            components: Vec::new(),
            pods: None,
            exit_code: None,
            boot: None,
            delay: None,
            notice: None,
            drain: None,
            usage: ResourceList::default(),
            images: Vec::new(),
        }
    }
}

/// A random process of failures and repairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FaultProcessSpec {
    /// Names its random streams.
    pub name: String,
    /// What goes wrong.
    pub kind: FaultKind,
    /// Among which nodes; one process per node.
    #[serde(default, skip_serializing_if = "NodeTarget::is_everything")]
    pub nodes: NodeTarget,
    /// A label key: one process per value, which takes all its nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Which processes (ControlPlaneOutage).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ProcessName>,
    /// Which pods (ContainerCrash, OOMKill, PodKill).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodTarget>,
    /// Exit code (ContainerCrash).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// How long the machine boots afterwards (Crash, Reboot, GracefulShutdown); as all machines if not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Distribution>,
    /// By how much each renewal is late (SlowHeartbeats).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Distribution>,
    /// From the warning to the end of the instance (SpotInterruption).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::units::with_days::option")]
    pub notice: Option<SimDuration>,
    /// Whether the node is drained when the warning comes (SpotInterruption).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<bool>,
    /// What others than pods use (MemoryPressure, DiskPressure, PIDPressure).
    #[serde(default, skip_serializing_if = "ResourceList::is_empty")]
    pub usage: ResourceList,
    /// Which images (ImagePullFailure).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// From repair to the next failure.
    pub time_to_failure: Distribution,
    /// From failure to repair. None for kinds that are over at once ([`FaultKind::lasts`]), and for a spot instance that is not
    /// replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_repair: Option<Distribution>,
}

impl FaultProcessSpec {
    /// What each failure of the process is.
    #[must_use]
    pub fn fault(&self) -> FaultSpec {
        FaultSpec {
            nodes: self.nodes.clone(),
            components: self.components.clone(),
            pods: self.pods.clone(),
            exit_code: self.exit_code,
            boot: self.boot.clone(),
            delay: self.delay.clone(),
            notice: self.notice,
            drain: self.drain,
            usage: self.usage.clone(),
            images: self.images.clone(),
            ..FaultSpec::new(self.kind)
        }
    }
}
