//! Procedures as a scenario writes them.

use serde::{Deserialize, Serialize};

use crate::arena::Symbol;
use crate::component::LoadPoint;
use crate::model;
use crate::model::ObjectKind;
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

/// Nodes of a pool need a reboot, and a daemon sees to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollingRebootSpec {
    /// Which pool.
    pub pool: Symbol,
    /// How often the daemon of a node looks, from a random moment on.
    #[serde(default = "an_hour", with = "with_days")]
    pub period: SimDuration,
    /// How many nodes hold the lock at a time.
    #[serde(default = "one")]
    pub concurrency: u32,
    /// How long a drain may take; without it, for ever.
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    pub drain_timeout: Option<SimDuration>,
    /// Whether a node is rebooted though it could not be drained.
    #[serde(default)]
    pub force_reboot: bool,
    /// When the lock of a node that is gone for good expires; without it, never.
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    pub lock_ttl: Option<SimDuration>,
    /// After how long the nodes need a reboot again; without it, once.
    #[serde(default, with = "with_days::option", skip_serializing_if = "Option::is_none")]
    pub every: Option<SimDuration>,
}

const fn an_hour() -> SimDuration {
    SimDuration::from_secs(3600)
}

const fn one() -> u32 {
    1
}

/// Machines that stay unhealthy are replaced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeRepairSpec {
    /// Of which pools; all, if none is named.
    pub pools: Vec<Symbol>,
    /// For how long a node must have been not Ready.
    #[serde(with = "with_days")]
    pub unhealthy_for: SimDuration,
    /// How many are repaired at a time; a percentage of the nodes rounds down, but not to none.
    pub max_concurrent: IntOrPercent,
    /// While more than so many are unhealthy none is begun; a percentage of the nodes rounds down.
    pub max_unhealthy: IntOrPercent,
    /// How long the pods of a node are given to leave.
    #[serde(with = "with_days")]
    pub drain_timeout: SimDuration,
}

impl Default for NodeRepairSpec {
    /// # Source
    /// GKE: ten minutes, an hour for the drain; AKS: one node at a time; Cluster API: whatever the share of unhealthy nodes.
    fn default() -> Self {
        Self {
            pools: Vec::new(),
            unhealthy_for: SimDuration::from_secs(600),
            max_concurrent: IntOrPercent::Int(1),
            max_unhealthy: IntOrPercent::Percent(100),
            drain_timeout: an_hour(),
        }
    }
}

impl NodeRepairSpec {
    /// How many of so many nodes are repaired at a time, and up to how many may be unhealthy.
    #[must_use]
    pub fn limits(&self, nodes: usize) -> (usize, usize) {
        let nodes = i32::try_from(nodes).unwrap_or(i32::MAX);
        let count = |limit: IntOrPercent| limit.resolve(nodes, Rounding::Down).max(0).unsigned_abs() as usize;
        (count(self.max_concurrent).max(1), count(self.max_unhealthy))
    }
}

/// A workload that follows its load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HorizontalPodAutoscalerSpec {
    /// Which workload: `deployment/<namespace>/<name>`.
    pub target: String,
    /// The fewest replicas; one, if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// The most replicas; none if an object of the manifests, or a line of the timeline, says how the load is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_replicas: Option<i32>,
    /// `averageUtilization`: the percentage of what a pod requests that it is to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_utilization: Option<u32>,
    /// The load under which a pod uses what it requests.
    pub per_replica: f64,
    /// The load over time.
    pub load: Vec<LoadPoint>,
}

impl HorizontalPodAutoscalerSpec {
    /// Kind, namespace and name of the target.
    #[must_use]
    pub fn target_parts(&self) -> Option<(ObjectKind, Symbol, Symbol)> {
        let mut parts = self.target.split('/');
        let (kind, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = match kind {
            "deployment" => ObjectKind::Deployment,
            "statefulset" => ObjectKind::StatefulSet,
            "replicaset" => ObjectKind::ReplicaSet,
            _ => return None,
        };
        parts.next().is_none().then(|| (kind, Symbol::new(namespace), Symbol::new(name)))
    }

    /// The object that follows the load; none if another one does.
    #[must_use]
    pub fn object(&self) -> Option<model::HorizontalPodAutoscaler> {
        let (kind, namespace, name) = self.target_parts()?;
        let mut object = model::HorizontalPodAutoscaler::default();
        object.metadata.namespace = namespace;
        object.metadata.name = name;
        let api_version = Symbol::new("apps/v1");
        object.spec.scale_target_ref =
            model::ObjectReference { api_version, kind: Symbol::new(kind.as_str()), name, ..Default::default() };
        object.spec.min_replicas = Some(self.min_replicas.unwrap_or(1));
        object.spec.max_replicas = self.max_replicas?;
        let percent = i32::try_from(self.target_utilization?).unwrap_or(i32::MAX);
        object.spec.metrics.push(model::MetricSpec::cpu_utilization(percent));
        Some(object)
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
