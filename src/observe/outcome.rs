//! How each workload fared: what the summary tells of it.

use std::cmp::Ordering;

use serde::Serialize;

use super::disruptions::Phase;
use super::objective::MinReady;
use super::workload::WorkloadKey;
use crate::arena::Symbol;

/// How a workload fared. Pods without a controller, and owners of a kind that is not modelled, are workloads of their own.
#[derive(Clone, Debug, Serialize)]
pub struct WorkloadOutcome {
    /// Kind.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// Wanted pods at the end.
    pub desired: i32,
    /// Ready pods at the end.
    pub ready: i32,
    /// Fewest ready pods at any time.
    pub ready_min: i32,
    /// Most ready pods missing at once.
    pub missing_max: i32,
    /// Seconds with fewer ready pods than wanted.
    pub below_desired_s: f64,
    /// Longest stretch with fewer ready pods than wanted, in seconds.
    pub longest_short_s: f64,
    /// When that stretch began, in seconds since t=0; none if there was none.
    pub longest_short_from_s: Option<f64>,
    /// Most ready pods missing at once in that stretch.
    #[serde(skip)]
    pub longest_short_missing: i32,
    /// Seconds below the objective's `minReady`; equal to `below_desired_s` without an objective.
    pub below_min_ready_s: f64,
    /// Longest stretch below `minReady`, in seconds.
    pub longest_gap_s: f64,
    /// Missing ready pods times seconds.
    pub unready_replica_s: f64,
    /// Wanted pods times seconds, as many as were wanted at each instant.
    #[serde(skip)]
    pub wanted_replica_s: f64,
    /// Pods that the cluster took away: evictions and preemptions.
    pub disruptions: u32,
    /// Those evicted: by taints, the eviction API, pod GC and kubelets.
    pub evictions: u32,
    /// Evictions by taints after which the node was Ready again before the replacement was.
    pub needless_evictions: u32,
    /// Pods taken away for the sake of others of higher priority.
    pub preemptions: u32,
    /// Pods that are gone, or will be, and that nothing makes anew.
    pub lost: u32,
    /// Seconds that its lost pods were missed for, by phase, in the order of [`Phase::ALL`].
    #[serde(skip)]
    pub phases_s: [f64; Phase::ALL.len()],
    /// Of a DaemonSet, its pods on machines that were off; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_machines: Option<OffMachines>,
    /// Share of time at or above `minReady`.
    pub availability: f64,
    /// How many ready pods the objective asks for, if there is one.
    #[serde(skip)]
    pub min_ready: Option<MinReady>,
    /// The objective, if there is one; of several the one that is missed by most, or met by least.
    pub objective: Option<f64>,
    /// Whether the objective holds.
    pub objective_met: Option<bool>,
    /// The other objectives that speak of it; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_objectives: Vec<JudgedObjective>,
}

/// An objective, and how a workload fared by it.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct JudgedObjective {
    /// How many ready pods it asks for.
    pub min_ready: MinReady,
    /// The share of time that has to be good, 0 to 1.
    pub objective: f64,
    /// The share that was.
    pub availability: f64,
    /// Whether it holds.
    pub objective_met: bool,
}

impl JudgedObjective {
    /// The worst first: whatever is missed by most, or met by least.
    pub fn worst_first(&self, other: &Self) -> Ordering {
        let missed_by = |judged: &Self| judged.objective - judged.availability;
        missed_by(other).total_cmp(&missed_by(self))
    }
}

/// Pods of a DaemonSet on machines that were off: they did not run, and soon Kubernetes does not want them there either, so that
/// nothing is short then.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize)]
pub struct OffMachines {
    /// Most at once.
    pub pods_max: usize,
    /// At the end.
    pub pods: usize,
    /// Seconds in which there was one.
    pub total_s: f64,
    /// Of them, those in which the DaemonSet did not count as short.
    pub hidden_s: f64,
}

impl WorkloadOutcome {
    pub(super) fn key(&self) -> WorkloadKey {
        WorkloadKey { namespace: self.namespace, kind: Symbol::new(self.kind), name: self.name }
    }

    /// Whether it has fewer ready pods than wanted at the end.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.ready < self.desired
    }

    /// Whether somebody asks for its pods at the end, by a number of them: how many a DaemonSet wants follows from the nodes.
    #[must_use]
    pub fn is_asked_for(&self) -> bool {
        self.desired > 0 && matches!(self.kind, "Deployment" | "ReplicaSet" | "StatefulSet")
    }

    /// Whether it ever had fewer ready pods than wanted.
    #[must_use]
    pub fn was_short(&self) -> bool {
        self.below_desired_s > 0.0 || self.is_short()
    }

    /// Every objective that speaks of it, the worst first.
    pub fn judged(&self) -> impl Iterator<Item = JudgedObjective> {
        let worst = self.min_ready.zip(self.objective).map(|(min_ready, objective)| JudgedObjective {
            min_ready,
            objective,
            availability: self.availability,
            objective_met: self.availability >= objective,
        });
        worst.into_iter().chain(self.other_objectives.iter().copied())
    }

    /// `deployment/NS/NAME`.
    #[must_use]
    pub fn object(&self) -> String {
        self.key().to_string()
    }

    /// The order in which summaries, tables and charts name workloads, the worst first: those that are short at the end, then
    /// whoever was short for the longest stretch, for the longest in all, of the most pods.
    #[must_use]
    pub fn worst_first(&self, other: &Self) -> Ordering {
        (other.is_short().cmp(&self.is_short()))
            .then_with(|| other.longest_short_s.total_cmp(&self.longest_short_s))
            .then_with(|| other.below_desired_s.total_cmp(&self.below_desired_s))
            .then_with(|| other.unready_replica_s.total_cmp(&self.unready_replica_s))
    }
}
