//! What operators and their automata do to a cluster by a plan: upgrades of node pools, and what keeps pools in shape.
//!
//! Each program is a component of its own, which costs nothing where the scenario does not ask for it. Nodes are drained by
//! kubectl, whose lines the programs type. Nothing here decides where a pod goes or stops a container.

mod cluster_autoscaler;
mod drain;
mod node_repair;
mod note;
mod rolling_reboot;
mod rolling_upgrade;
mod spec;

pub use cluster_autoscaler::{AutoscalerTag, AutoscalerTimer, ClusterAutoscaler, EXPANDERS, fit_on_one_more};
pub use node_repair::{NodeRepair, RepairTag, RepairTimer};
pub use rolling_reboot::{RebootTag, RebootTimer, RollingReboots};
pub use rolling_upgrade::{RollingUpgrades, UpgradeTag, UpgradeTimer};
pub use spec::{
    HorizontalPodAutoscalerSpec, NodeRepairSpec, RollingRebootSpec, RollingUpgradeSpec, UndrainableNodeBehavior,
};

use std::sync::Arc;

use crate::component::{Load, LoadCurve, PoolPlan};
use crate::engine::Distribution;
use crate::model::config::{self, FlagMap, KubernetesVersion};
use crate::units::SimDuration;

/// What a scenario asks of operators and their automata.
#[derive(Clone, Debug, Default)]
pub struct ProcedurePlan {
    /// Node pools, by position.
    pub pools: Vec<PoolPlan>,
    /// Upgrades of the timeline.
    pub upgrades: Vec<RollingUpgradeSpec>,
    /// Reboots of the timeline.
    pub reboots: Vec<RollingRebootSpec>,
    /// Node auto-repair, if there is one.
    pub repair: Option<NodeRepairSpec>,
    /// Loads on workloads, and how they are followed.
    pub workload_autoscalers: Vec<HorizontalPodAutoscalerSpec>,
    /// The autoscaler of nodes, if there is one.
    pub autoscaler: Option<AutoscalerPlan>,
}

/// What cluster-autoscaler runs with.
#[derive(Clone, Debug)]
pub struct AutoscalerPlan {
    /// The pools that it changes.
    pub groups: Vec<AutoscaledPool>,
    /// Its flags.
    pub flags: config::ClusterAutoscaler,
    /// From the decision to a machine that boots.
    pub provisioning: Distribution,
}

impl AutoscalerPlan {
    /// An autoscaler without pools.
    fn idle() -> Self {
        let (flags, _) = config::ClusterAutoscaler::resolve(&FlagMap::default(), KubernetesVersion::NEWEST);
        Self { groups: Vec::new(), flags, provisioning: Distribution::Constant(SimDuration::ZERO) }
    }
}

/// A pool that the autoscaler changes.
#[derive(Clone, Debug)]
pub struct AutoscaledPool {
    /// The pool's position.
    pub pool: usize,
    /// The fewest machines.
    pub min: u32,
    /// The most machines.
    pub max: u32,
    /// The higher, the sooner it grows (expander `priority`).
    pub priority: u32,
}

impl ProcedurePlan {
    /// What is known of the loads on workloads.
    #[must_use]
    pub fn loads(&self) -> Arc<[Load]> {
        let load = |spec: &HorizontalPodAutoscalerSpec| {
            let (kind, namespace, name) = spec.target_parts()?;
            let curve = LoadCurve::from(spec.load.as_slice());
            Some(Load { kind, namespace, name, per_replica: spec.per_replica, curve })
        };
        self.workload_autoscalers.iter().filter_map(load).collect()
    }

    /// The position of the pool of that name.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<usize> {
        self.pools.iter().position(|pool| pool.name == name)
    }
}
