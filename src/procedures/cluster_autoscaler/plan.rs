//! What cluster-autoscaler runs with.

use crate::engine::Distribution;
use crate::model::config::{self, FlagMap, KubernetesVersion};
use crate::units::SimDuration;

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
    pub(super) fn idle() -> Self {
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
