//! The run in numbers: what `summary.json` tells, and what `expect` and studies refer to by name.

use std::collections::BTreeMap;

use serde::Serialize;

use super::cluster::ClusterRow;
use super::pods::PodRow;
use super::replacements::{self, Recoveries};
use super::services::ServiceOutcome;
use super::slo::WorkloadOutcome;
use super::traps::Trap;
use crate::component::Record;
use crate::state::{Change, Changed, DeletionCause, MachineChange};
use crate::units::SimDuration;

/// Counts over the whole run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Counts {
    /// Simulation events played.
    pub simulation_events: u64,
    /// Rows of `events.csv`.
    pub events: u64,
    /// Faults that hit a machine: power lost, links cut, kubelets stopped, instances gone.
    pub machine_failures: u64,
    /// Pods created after t=0.
    pub pods_created: u64,
    /// Pods whose deletion was asked for or that their kubelet ended, by cause.
    pub deletions: BTreeMap<&'static str, u64>,
    /// Deletions by taints, evictions, pod GC and kubelets.
    pub evictions: u64,
    /// Evictions by taints after which the node was Ready again before the replacement was.
    pub needless_evictions: u64,
    /// Pods of StatefulSets that the cluster took away.
    pub stateful_interruptions: u64,
    /// Deletions by preemption.
    pub preemptions: u64,
    /// Container restarts.
    pub restarts: u64,
}

/// Quantiles of a length of time, in seconds; absent if nothing was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Quantiles {
    /// How many were measured.
    pub count: usize,
    /// Median.
    pub p50_s: Option<f64>,
    /// 90 %.
    pub p90_s: Option<f64>,
    /// 99 %.
    pub p99_s: Option<f64>,
    /// Longest.
    pub max_s: Option<f64>,
}

impl Quantiles {
    fn of(mut values: Vec<SimDuration>) -> Self {
        values.sort_unstable();
        let at = |share: f64| {
            let rank = (share * values.len() as f64).ceil() as usize;
            values.get(rank.max(1) - 1).map(|d| d.as_secs_f64())
        };
        Self { count: values.len(), p50_s: at(0.5), p90_s: at(0.9), p99_s: at(0.99), max_s: at(1.0) }
    }
}

/// The summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Counts.
    pub counts: Counts,
    /// The end state and extremes of the cluster.
    pub metrics: BTreeMap<&'static str, f64>,
    /// Per workload, in the order in which they were created.
    pub workloads: Vec<WorkloadOutcome>,
    /// Per service, by name; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceOutcome>,
    /// Created -> Ready, of pods created after t=0.
    pub created_to_ready: Quantiles,
    /// Deletion of a pod -> its replacement Ready, matched in order per owner.
    pub rescheduling: Quantiles,
    /// Known traps that decided something; only where files are kept.
    pub traps: Vec<Trap>,
}

/// Names of the metrics that a summary can hold.
pub const METRICS: [&str; 29] = [
    "events",
    "evictions",
    "needless_evictions",
    "stateful_interruptions",
    "preemptions",
    "refusals",
    "machine_failures",
    "pods_created",
    "restarts",
    "pods_pending_max",
    "pods_pending_end",
    "pods_unscheduled_max",
    "pods_unscheduled_end",
    "pods_terminating_max",
    "pods_terminating_end",
    "pods_failed_end",
    "pods_ready_min",
    "pods_ready_end",
    "nodes_ready_min",
    "nodes_ready_end",
    "workloads_below_desired_end",
    "below_desired_s",
    "below_min_ready_s",
    "longest_gap_s",
    "unready_replica_s",
    "rescheduling_p99_s",
    "objectives_missed",
    "without_targets_s",
    "lost_traffic_s",
];

#[derive(Debug, Default)]
pub(super) struct Tallies {
    counts: Counts,
}

impl Tallies {
    pub(super) fn changed(&mut self, change: &Change) {
        if let Changed::PodAdded(_) = change.what {
            self.counts.pods_created += 1;
        }
    }

    pub(super) fn deleted(&mut self, cause: DeletionCause) {
        *self.counts.deletions.entry(cause.as_str()).or_default() += 1;
        match cause {
            DeletionCause::PreemptionByScheduler => self.counts.preemptions += 1,
            DeletionCause::TaintManagerEviction
            | DeletionCause::EvictionByEvictionApi
            | DeletionCause::DeletionByPodGc
            | DeletionCause::TerminationByKubelet
            | DeletionCause::NodePressure => self.counts.evictions += 1,
            _ => {}
        }
    }

    pub(super) fn recorded(&mut self, record: &Record) {
        if matches!(record, Record::Event { .. }) {
            self.counts.events += 1;
        }
    }

    pub(super) fn machine_changed(&mut self, change: &MachineChange) {
        if matches!(
            change,
            MachineChange::PowerOff(_)
                | MachineChange::LinkDown(_)
                | MachineChange::KubeletStopped(_)
                | MachineChange::InstanceGone(_)
        ) {
            self.counts.machine_failures += 1;
        }
    }

    pub(super) fn finish(
        mut self,
        pods: &[PodRow],
        recoveries: &Recoveries,
        (mut workloads, services): (Vec<WorkloadOutcome>, Vec<ServiceOutcome>),
        traps: Vec<Trap>,
        cluster: &[ClusterRow],
        event_count: u64,
    ) -> Summary {
        self.counts.simulation_events = event_count;
        self.counts.restarts = pods.iter().map(|p| u64::from(p.restarts)).sum();
        let created_to_ready = pods
            .iter()
            .filter(|p| !p.initial)
            .filter_map(|p| p.ready_at.map(|ready| ready.saturating_since(p.created_at)))
            .collect();
        let rescheduling = Quantiles::of(replacements::rescheduling(pods));
        self.counts.needless_evictions = replacements::count_needless(pods, recoveries, &mut workloads);
        self.counts.stateful_interruptions = replacements::stateful_interruptions(pods);
        let mut metrics = metrics(&self.counts, &workloads, cluster, &rescheduling);
        let sum = |field: fn(&ServiceOutcome) -> f64| services.iter().map(field).fold(0.0, |sum, value| sum + value);
        metrics.insert("without_targets_s", sum(|service| service.without_targets_s));
        metrics.insert("lost_traffic_s", sum(|service| service.lost_traffic_s));
        Summary {
            counts: self.counts,
            metrics,
            workloads,
            services,
            created_to_ready: Quantiles::of(created_to_ready),
            rescheduling,
            traps,
        }
    }
}

fn metrics(
    counts: &Counts,
    workloads: &[WorkloadOutcome],
    cluster: &[ClusterRow],
    rescheduling: &Quantiles,
) -> BTreeMap<&'static str, f64> {
    let max = |field: fn(&ClusterRow) -> i64| cluster.iter().map(field).max().unwrap_or(0) as f64;
    let min = |field: fn(&ClusterRow) -> i64| cluster.iter().map(field).min().unwrap_or(0) as f64;
    let end = |field: fn(&ClusterRow) -> i64| cluster.last().map(field).unwrap_or(0) as f64;
    let sum = |field: fn(&WorkloadOutcome) -> f64| workloads.iter().map(field).sum::<f64>();
    let count = |test: fn(&WorkloadOutcome) -> bool| workloads.iter().filter(|w| test(w)).count() as f64;
    BTreeMap::from([
        ("events", counts.events as f64),
        ("evictions", counts.evictions as f64),
        ("needless_evictions", counts.needless_evictions as f64),
        ("stateful_interruptions", counts.stateful_interruptions as f64),
        ("preemptions", counts.preemptions as f64),
        ("refusals", end(|r| r.refusals)),
        ("machine_failures", counts.machine_failures as f64),
        ("pods_created", counts.pods_created as f64),
        ("restarts", counts.restarts as f64),
        ("pods_pending_max", max(|r| r.pods_pending)),
        ("pods_pending_end", end(|r| r.pods_pending)),
        ("pods_unscheduled_max", max(|r| r.pods_unscheduled)),
        ("pods_unscheduled_end", end(|r| r.pods_unscheduled)),
        ("pods_terminating_max", max(|r| r.pods_terminating)),
        ("pods_terminating_end", end(|r| r.pods_terminating)),
        ("pods_failed_end", end(|r| r.pods_failed)),
        ("pods_ready_min", min(|r| r.pods_ready)),
        ("pods_ready_end", end(|r| r.pods_ready)),
        ("nodes_ready_min", min(|r| r.nodes_ready)),
        ("nodes_ready_end", end(|r| r.nodes_ready)),
        ("workloads_below_desired_end", count(|w| w.ready < w.desired)),
        ("below_desired_s", sum(|w| w.below_desired_s)),
        ("below_min_ready_s", sum(|w| w.below_min_ready_s)),
        ("longest_gap_s", workloads.iter().map(|w| w.longest_gap_s).fold(0.0, f64::max)),
        ("unready_replica_s", sum(|w| w.unready_replica_s)),
        ("rescheduling_p99_s", rescheduling.p99_s.unwrap_or(0.0)),
        ("objectives_missed", count(|w| w.objective_met == Some(false))),
    ])
}
