//! Faults and random processes as a scenario writes them.

use serde::{Deserialize, Serialize};

use super::parameters::Field;
use super::target::NodeTarget;
use super::{AnyFault, FaultKind, Target};
use crate::engine::Distribution;
use crate::state::ControlPlaneProcess;
use crate::units::SimDuration;

/// A process of the control plane, by its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProcessName {
    /// kube-apiserver.
    KubeApiserver,
    /// kube-controller-manager.
    KubeControllerManager,
    /// kube-scheduler.
    KubeScheduler,
}

impl ProcessName {
    /// The process of that name.
    #[must_use]
    pub fn process(self) -> ControlPlaneProcess {
        match self {
            Self::KubeApiserver => ControlPlaneProcess::KubeApiserver,
            Self::KubeControllerManager => ControlPlaneProcess::KubeControllerManager,
            Self::KubeScheduler => ControlPlaneProcess::KubeScheduler,
        }
    }
}

/// A fault.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultSpec {
    /// On which nodes.
    pub nodes: NodeTarget,
    /// For how long; without it, until the end of the run. A random process says that by its time to repair.
    pub length: Option<SimDuration>,
    /// What goes wrong.
    pub fault: AnyFault,
}

impl FaultSpec {
    /// A fault on all nodes until the end of the run; of a kind alone, one with nothing else said.
    #[must_use]
    pub fn new(fault: impl Into<AnyFault>) -> Self {
        Self { nodes: NodeTarget::default(), length: None, fault: fault.into() }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.fault.kind()
    }

    /// Whether machines are hit, too, that join while it lasts: what fails is none of theirs, and all of them meet it.
    #[must_use]
    pub fn is_everywhere(&self) -> bool {
        matches!(self.fault.target(), Target::Images(_)) && self.nodes.is_everything()
    }
}

/// A random process of failures and repairs.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultProcessSpec {
    /// Names its random streams.
    pub name: String,
    /// A label key: one process per value, which takes all its nodes. Without it, one process per node.
    pub domain: Option<String>,
    /// What each failure is, and among which nodes.
    pub fault: FaultSpec,
    /// From repair to the next failure.
    pub time_to_failure: Distribution,
    /// From failure to repair. None for kinds that are over at once ([`super::Course::lasts`]), and for a spot instance that is not
    /// replaced.
    pub time_to_repair: Option<Distribution>,
}

const NODES: Field = Field {
    name: "nodes",
    about: "which nodes: by `names`, `zone`, `pool`, `selector`, and `count` or `fraction` of those; `{}` means all, an empty list of names is refused",
    needed: None,
};

const NEEDED_NODES: Field = Field {
    needed: Some(
        "add `nodes: {names: [...]}`, `{zone: ...}`, `{pool: ...}` or `{selector: ...}`; `{}` means all nodes",
    ),
    ..NODES
};

const LENGTH: Field =
    Field { name: "for", about: "how long it lasts; until the end of the run, if not said", needed: None };

impl FaultKind {
    /// The fields that mean something for it, besides `kind`: what it is aimed at, how long it lasts, and the rest.
    #[must_use]
    pub fn fields(self) -> Vec<Field> {
        let own = self.own_fields();
        let (target, rest) = match AnyFault::from(self).target() {
            Target::Nodes => (vec![NEEDED_NODES], own),
            Target::Images(_) => (vec![NODES, own[0]], &own[1..]),
            Target::Pods(_) => (vec![own[0], NODES], &own[1..]),
            Target::Processes(_) => (vec![own[0]], &own[1..]),
        };
        let length = Some(LENGTH).filter(|_| self.course().lasts());
        target.into_iter().chain(length).chain(rest.iter().copied()).collect()
    }
}
