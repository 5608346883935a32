//! The run in numbers: what `summary.json` tells, and what `expect` and studies refer to by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::Detail;
use super::cause::is_eviction;
use super::cluster::{ClusterRow, Extremes};
use super::disruptions::DisruptionRow;
use super::glossary::METRICS;
use super::jobs::FailedJob;
use super::observer::{Observer, Seen};
use super::orders::{Order, Shortcoming};
use super::outcome::WorkloadOutcome;
use super::pods::PodRow;
use super::replacements::{self, Recoveries};
use super::rollouts::{RefusedWorkload, UnfinishedRollout};
use super::services::ServiceOutcome;
use super::traps::Trap;
use super::verdict::Sentence;
use crate::arena::sym;
use crate::component::Record;
use crate::state::{Change, Changed, DeletionCause, MachineChange, Node, NodeId, Store};
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
    /// Pods by the cause of their deletion, or of their end: the rows of `pods.csv` that have one.
    pub deletions: BTreeMap<&'static str, u64>,
    /// Pods that the cluster took away: evictions and preemptions.
    pub disruptions: u64,
    /// Pods evicted: by taints, the eviction API, pod GC and kubelets.
    pub evictions: u64,
    /// Evictions by taints after which the node was Ready again before the replacement was.
    pub needless_evictions: u64,
    /// Pods of StatefulSets that the cluster took away.
    pub stateful_interruptions: u64,
    /// Pods preempted.
    pub preemptions: u64,
    /// Pods lost for good: nothing makes them anew.
    pub pods_lost: u64,
    /// kubectl lines of the timeline that failed, and requests of it that were refused.
    pub commands_failed: u64,
    /// Those that had not ended when the run did.
    pub commands_unfinished: u64,
    /// Upgrades and reboots of pools that failed.
    pub procedures_failed: u64,
    /// Those that had not ended when the run did.
    pub procedures_unfinished: u64,
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
    /// What somebody who reads one thing should read; only where files are kept. The first entry of the file.
    #[serde(skip)]
    pub verdict: Vec<Sentence>,
    /// Counts.
    pub counts: Counts,
    /// The end state and extremes of the cluster.
    pub metrics: BTreeMap<&'static str, f64>,
    /// Node objects times seconds, as many as there were at each instant.
    #[serde(skip)]
    pub node_s: f64,
    /// Per workload, the worst first.
    pub workloads: Vec<WorkloadOutcome>,
    /// Jobs that failed; absent if none did.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_jobs: Vec<FailedJob>,
    /// Jobs that had failed when the run began, and are there at its end; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs_failed_before: Vec<FailedJob>,
    /// Roll-outs that have not finished at the end; absent if all have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished_rollouts: Vec<UnfinishedRollout>,
    /// Workloads that want more at the end than the API server lets them make; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_workloads: Vec<RefusedWorkload>,
    /// Per service, by name; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceOutcome>,
    /// Created -> Ready, of pods created after t=0.
    pub created_to_ready: Quantiles,
    /// A pod is taken away -> its replacement is Ready, of the rows of `disruptions.csv`.
    pub rescheduling: Quantiles,
    /// Known traps that decided something; only where files are kept.
    pub traps: Vec<Trap>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tallies {
    counts: Counts,
}

impl Observer for Tallies {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn changed(&mut self, change: &Change, _seen: &Seen<'_>) {
        if let Changed::PodAdded(_) = change.what {
            self.counts.pods_created += 1;
        }
    }

    fn recorded(&mut self, record: &Record, _seen: &Seen<'_>) {
        if matches!(record, Record::Event { .. }) {
            self.counts.events += 1;
        }
    }

    fn machine_changed(&mut self, change: &MachineChange, seen: &Seen<'_>) {
        let failed = match *change {
            MachineChange::InstanceGone(node) => !is_given_back(node, seen.store),
            MachineChange::PowerOff(_) | MachineChange::LinkDown(_) | MachineChange::KubeletStopped(_) => true,
            _ => false,
        };
        if failed {
            self.counts.machine_failures += 1;
        }
    }
}

/// Whether cluster-autoscaler has taken the node out of service: its machine goes because nobody needs it.
fn is_given_back(node: NodeId, store: &Store) -> bool {
    let marked = |node: &Arc<Node>| node.taints.iter().any(|taint| taint.key == sym!("ToBeDeletedByClusterAutoscaler"));
    store.node(node).is_some_and(marked)
}

impl Tallies {
    pub(super) fn finish(mut self, found: Found<'_>, recoveries: &Recoveries, event_count: u64) -> Summary {
        let Found { pods, disruptions, mut workloads, services, jobs, orders, traps, extremes, rollouts } = found;
        let (jobs, jobs_failed_before, jobs_complete) = jobs;
        self.counts.simulation_events = event_count;
        self.counts.count_pods(pods);
        self.counts.count_orders(orders);
        let created_to_ready = pods
            .iter()
            .filter(|p| !p.initial)
            .filter_map(|p| p.ready_at.map(|ready| ready.saturating_since(p.created_at)))
            .collect();
        let rescheduling = Quantiles::of(replacements::rescheduling(disruptions));
        self.counts.needless_evictions = replacements::attribute(pods, disruptions, recoveries, &mut workloads);
        self.counts.pods_lost = workloads.iter().map(|workload| u64::from(workload.lost)).sum();
        let mut metrics = BTreeMap::new();
        counted(&mut metrics, &self.counts, &jobs);
        of_cluster(&mut metrics, extremes);
        of_workloads(&mut metrics, &workloads);
        let (unfinished_rollouts, refused_workloads) = rollouts;
        metrics.insert("jobs_complete", jobs_complete as f64);
        metrics.insert("rollouts_unfinished_end", unfinished_rollouts.len() as f64);
        metrics.insert("workloads_refused_end", refused_workloads.len() as f64);
        let sum = |field: fn(&ServiceOutcome) -> f64| services.iter().map(field).fold(0.0, |sum, value| sum + value);
        metrics.insert("without_targets_s", sum(|service| service.without_targets_s));
        metrics.insert("lost_traffic_s", sum(|service| service.lost_traffic_s));
        metrics.insert("rescheduling_p99_s", rescheduling.p99_s.unwrap_or(0.0));
        debug_assert!(METRICS.iter().all(|name| metrics.contains_key(name)) && metrics.len() == METRICS.len());
        Summary {
            node_s: extremes.node_ns as f64 / 1e9,
            verdict: Vec::new(),
            counts: self.counts,
            metrics,
            workloads,
            failed_jobs: jobs,
            jobs_failed_before,
            unfinished_rollouts,
            refused_workloads,
            services,
            created_to_ready: Quantiles::of(created_to_ready),
            rescheduling,
            traps,
        }
    }
}

/// What the observers of a run found.
pub(super) struct Found<'a> {
    pub(super) pods: &'a [PodRow],
    pub(super) disruptions: &'a [DisruptionRow],
    pub(super) workloads: Vec<WorkloadOutcome>,
    pub(super) services: Vec<ServiceOutcome>,
    /// Jobs that failed during the run, and before it, and how many are Complete.
    pub(super) jobs: (Vec<FailedJob>, Vec<FailedJob>, usize),
    /// The kubectl lines and the procedures that did not end well.
    pub(super) orders: &'a (Vec<Order>, Vec<Order>),
    pub(super) traps: Vec<Trap>,
    pub(super) extremes: &'a Extremes,
    pub(super) rollouts: (Vec<UnfinishedRollout>, Vec<RefusedWorkload>),
}

impl Counts {
    fn count_pods(&mut self, pods: &[PodRow]) {
        for pod in pods {
            self.restarts += u64::from(pod.restarts);
            if let Some(cause) = pod.deletion_cause {
                *self.deletions.entry(cause.column()).or_default() += 1;
            }
            let Some(cause) = pod.taken_away() else { continue };
            self.disruptions += 1;
            self.evictions += u64::from(is_eviction(cause));
            self.preemptions += u64::from(cause == DeletionCause::PreemptionByScheduler);
        }
        self.stateful_interruptions = replacements::stateful_interruptions(pods);
    }

    fn count_orders(&mut self, (commands, procedures): &(Vec<Order>, Vec<Order>)) {
        let count = |orders: &[Order], wanted| orders.iter().filter(|order| order.shortcoming == wanted).count() as u64;
        self.commands_failed = count(commands, Shortcoming::Failed);
        self.commands_unfinished = count(commands, Shortcoming::Unfinished);
        self.procedures_failed = count(procedures, Shortcoming::Failed);
        self.procedures_unfinished = count(procedures, Shortcoming::Unfinished);
    }
}

type Metrics = BTreeMap<&'static str, f64>;

fn counted(metrics: &mut Metrics, counts: &Counts, jobs: &[FailedJob]) {
    let all = [
        ("events", counts.events),
        ("disruptions", counts.disruptions),
        ("evictions", counts.evictions),
        ("needless_evictions", counts.needless_evictions),
        ("stateful_interruptions", counts.stateful_interruptions),
        ("preemptions", counts.preemptions),
        ("machine_failures", counts.machine_failures),
        ("pods_created", counts.pods_created),
        ("pods_lost", counts.pods_lost),
        ("jobs_failed", jobs.len() as u64),
        ("restarts", counts.restarts),
        ("commands_failed", counts.commands_failed),
        ("commands_unfinished", counts.commands_unfinished),
        ("procedures_failed", counts.procedures_failed),
        ("procedures_unfinished", counts.procedures_unfinished),
    ];
    metrics.extend(all.map(|(name, count)| (name, count as f64)));
}

fn of_cluster(metrics: &mut Metrics, extremes: &Extremes) {
    type Field = fn(&ClusterRow) -> i64;
    let Extremes { max, min, end, .. } = extremes;
    let all: [(&'static str, Field, &ClusterRow); 12] = [
        ("refusals", |row| row.refusals, end),
        ("pods_pending_max", |row| row.pods_pending, max),
        ("pods_pending_end", |row| row.pods_pending, end),
        ("pods_unscheduled_max", |row| row.pods_unscheduled, max),
        ("pods_unscheduled_end", |row| row.pods_unscheduled, end),
        ("pods_terminating_max", |row| row.pods_terminating, max),
        ("pods_terminating_end", |row| row.pods_terminating, end),
        ("pods_failed_end", |row| row.pods_failed, end),
        ("pods_ready_min", |row| row.pods_ready, min),
        ("pods_ready_end", |row| row.pods_ready, end),
        ("nodes_ready_min", |row| row.nodes_ready, min),
        ("nodes_ready_end", |row| row.nodes_ready, end),
    ];
    metrics.extend(all.map(|(name, field, row)| (name, field(row) as f64)));
}

fn of_workloads(metrics: &mut Metrics, workloads: &[WorkloadOutcome]) {
    let sum = |field: fn(&WorkloadOutcome) -> f64| workloads.iter().map(field).fold(0.0, |sum, value| sum + value);
    let max = |field: fn(&WorkloadOutcome) -> f64| workloads.iter().map(field).fold(0.0, f64::max);
    let count = |test: fn(&WorkloadOutcome) -> bool| workloads.iter().filter(|w| test(w)).count() as f64;
    metrics.extend([
        ("workloads_below_desired_end", count(WorkloadOutcome::is_short)),
        ("workloads_wanted_end", count(WorkloadOutcome::is_asked_for)),
        ("below_desired_s", sum(|w| w.below_desired_s)),
        ("below_min_ready_s", sum(|w| w.below_min_ready_s)),
        ("longest_short_s", max(|w| w.longest_short_s)),
        ("longest_gap_s", max(|w| w.longest_gap_s)),
        ("unready_replica_s", sum(|w| w.unready_replica_s)),
        ("objectives_missed", count(|w| w.objective_met == Some(false))),
    ]);
}
