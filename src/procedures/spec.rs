//! Procedures as a scenario writes them.

use serde::{Deserialize, Serialize};

use crate::arena::Symbol;
use crate::units::{IntOrPercent, Rounding, SimDuration, with_days};

/// What becomes of a node that cannot be drained in time, and of the upgrade.
///
/// # Source
/// `Schedule` and `Cordon` are the values of AKS; `Force` is what GKE does after an hour and EKS if asked to.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum UndrainableNodeBehavior {
    /// It is uncordoned and stays as it is; no further node is begun and the upgrade has failed.
    #[default]
    Schedule,
    /// It stays cordoned beside the machine that was to take its place; the upgrade goes on.
    Cordon,
    /// It is deleted with the pods on it; the upgrade goes on.
    Force,
}

/// A rolling upgrade of a node pool: every machine is replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollingUpgradeSpec {
    /// Which pool.
    pub pool: Symbol,
    /// Machines above the pool's size; a percentage of the size rounds up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrPercent>,
    /// Machines that may be missing at a time; a percentage of the size rounds up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
    /// How long the pods of a node are given to leave, budgets included.
    #[serde(default = "half_an_hour", with = "with_days")]
    pub drain_timeout: SimDuration,
    /// Wait between the drain of a node and its deletion.
    #[serde(default, with = "with_days")]
    pub node_soak: SimDuration,
    /// What becomes of a node that cannot be drained in time.
    #[serde(default)]
    pub undrainable_node_behavior: UndrainableNodeBehavior,
}

const fn half_an_hour() -> SimDuration {
    SimDuration::from_secs(1800)
}

impl RollingUpgradeSpec {
    /// `maxSurge` as it is written or meant.
    ///
    /// # Source
    /// AKS: 10 % if nothing is said; a pool that may lack machines needs none.
    #[must_use]
    pub fn surge(&self) -> IntOrPercent {
        let default = if self.max_unavailable.is_some() { IntOrPercent::Int(0) } else { IntOrPercent::Percent(10) };
        self.max_surge.unwrap_or(default)
    }

    /// How many machines of a pool of that size are added at a time, and how many may be missing.
    #[must_use]
    pub fn at_a_time(&self, size: usize) -> (usize, usize) {
        let size = i32::try_from(size).unwrap_or(i32::MAX);
        let count = |limit: IntOrPercent| limit.resolve(size, Rounding::Up).max(0).unsigned_abs() as usize;
        (count(self.surge()), count(self.max_unavailable.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_pool_surges_unless_something_is_said() {
        let check = |yaml: &str, size: usize, expected: (usize, usize)| {
            let spec: RollingUpgradeSpec = serde_saphyr::from_str(yaml).expect("an upgrade");
            assert_eq!(spec.at_a_time(size), expected, "{yaml} of {size}");
        };
        check("{pool: w}", 5, (1, 0));
        check("{pool: w}", 11, (2, 0));
        check("{pool: w, maxSurge: 33%}", 5, (2, 0));
        check("{pool: w, maxUnavailable: 1}", 50, (0, 1));
        check("{pool: w, maxUnavailable: 25%}", 5, (0, 2));
        check("{pool: w, maxSurge: 2, maxUnavailable: 1}", 5, (2, 1));
    }
}
