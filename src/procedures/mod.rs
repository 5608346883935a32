//! What operators and their automata do to a cluster by a plan: upgrades of node pools, and what keeps pools in shape.
//!
//! Each program is a component of its own, which costs nothing where the scenario does not ask for it. Nodes are drained by
//! kubectl, whose lines the programs type. Nothing here decides where a pod goes or stops a container.

mod note;
mod rolling_upgrade;
mod spec;

pub use rolling_upgrade::{RollingUpgrades, UpgradeTag, UpgradeTimer};
pub use spec::{RollingUpgradeSpec, UndrainableNodeBehavior};

use crate::component::PoolPlan;

/// What a scenario asks of operators and their automata.
#[derive(Clone, Debug, Default)]
pub struct ProcedurePlan {
    /// Node pools, by position.
    pub pools: Vec<PoolPlan>,
    /// Upgrades of the timeline.
    pub upgrades: Vec<RollingUpgradeSpec>,
}

impl ProcedurePlan {
    /// The position of the pool of that name.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<usize> {
        self.pools.iter().position(|pool| pool.name == name)
    }
}
