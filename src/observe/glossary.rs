//! What each word and each figure means: the one place that says so. The tables of `docs/results.md` are made of it, and the names
//! that `expect` and `cost` accept.

/// A word that tables, charts and sentences use.
#[derive(Copy, Clone, Debug)]
pub struct Term {
    /// The word.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The figures that count it, in files and tables.
    pub figures: &'static str,
}

/// A figure of the summary: a metric.
#[derive(Copy, Clone, Debug)]
pub struct Figure {
    /// Its name in `summary.json`, `runs.csv`, `expect` and `cost`.
    pub name: &'static str,
    /// What it is counted in.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The rows from which it can be counted anew.
    pub rows: &'static str,
}

/// The words, in the order in which one needs the other.
pub const TERMS: [Term; 16] = [
    Term {
        name: "workload",
        meaning: "what a user would name as the owner of a pod: a Deployment, StatefulSet, DaemonSet, or a ReplicaSet or \
                  ReplicationController of its own. A pod without a controller (and a static pod) is a workload of kind `Pod`; pods \
                  whose owner is of a kind that is not modelled make up a workload of that kind and name. Jobs are not among them, as \
                  their pods end by themselves. One that is deleted and created again under its name stays the same workload",
        figures: "`workloads` of `summary.json`; `workload_kind`, `workload_name` of `pods.csv`",
    },
    Term {
        name: "wanted",
        meaning: "the pods that a workload should have: its replicas; for a DaemonSet the nodes that should run it; for a pod without a \
                  controller itself, until it succeeds or an operator deletes it; none while the workload is being deleted. A node that \
                  is down soon does not count among those that should run a DaemonSet; what did not run there is told beside it",
        figures: "`desired`",
    },
    Term {
        name: "ready",
        meaning: "the condition Ready is True, and the pod has neither finished nor is it being deleted. A pod on a machine that is down \
                  stays ready until the control plane notices (see lost traffic)",
        figures: "`readiness.csv`, `ready` of `summary.json`, `pods_ready` of `cluster.csv`",
    },
    Term {
        name: "short",
        meaning: "fewer ready pods than wanted. A workload is whole when it is not short. Ready pods of a DaemonSet on nodes that should not run it make up for none that are missing",
        figures: "`below_desired_s`, `longest_short_s`, `missing_max`, `workloads_below_desired_end`",
    },
    Term {
        name: "unready",
        meaning: "wanted and not ready. Of a workload: the pods that are missing, times the seconds for which they are. Of a pod \
                  (`unready_s` of `pods.csv`): the seconds in which it was neither finished nor being deleted, and not Ready",
        figures: "`unready_replica_s`, `unready_s`",
    },
    Term {
        name: "gap",
        meaning: "fewer ready pods than the objective's `minReady`; than wanted, where there is no objective",
        figures: "`below_min_ready_s`, `longest_gap_s`, `availability`",
    },
    Term {
        name: "taken away",
        meaning: "ended by the cluster or by a fault, against the wish of its owner and without an operator having deleted it: evicted, \
                  preempted or killed. A pod is taken away once, by what did it first; one that had succeeded or failed before is not, \
                  whatever deletes it. Kubernetes calls it a disruption, and marks pods for it that an operator has deleted before, too",
        figures: "`disruptions`, `taken_away` of `pods.csv`",
    },
    Term {
        name: "evicted",
        meaning: "taken away by a taint (`TaintManagerEviction`), through the eviction API as drains do (`EvictionByEvictionAPI`), \
                  because its node is gone (`DeletionByPodGC`), or by its kubelet, in a shutdown or for a critical pod \
                  (`TerminationByKubelet`) or for lack of resources (`NodePressure`)",
        figures: "`evictions`",
    },
    Term {
        name: "preempted",
        meaning: "taken away by the scheduler for the sake of a pod of higher priority (`PreemptionByScheduler`)",
        figures: "`preemptions`",
    },
    Term {
        name: "killed",
        meaning: "taken away by a fault of the kind `PodKill`",
        figures: "`pods.csv`: `deletion_cause` `Kubectl` with `taken_away`",
    },
    Term {
        name: "needless",
        meaning: "an eviction by a taint after which the node was Ready again before the replacement was, or before the run ended without \
                  one: waiting would have been better",
        figures: "`needless_evictions`",
    },
    Term {
        name: "replacement",
        meaning: "the pod that came in the place of one that its workload lost: of the pods that the owner made while one was missing, the \
                  first that came for none before it; of a StatefulSet the one of its name, of a DaemonSet the one on its node",
        figures: "`disruptions.csv`: `replacement`; `rescheduling`, `rescheduling_p99_s`",
    },
    Term {
        name: "lost for good",
        meaning: "a pod without a controller, or of an owner of a kind that is not modelled, that failed or was taken away, and whose name \
                  nothing has taken up again: nothing makes it anew",
        figures: "`pods_lost`, `lost`",
    },
    Term {
        name: "refused",
        meaning: "an eviction that was asked for and that the API server did not grant for the sake of a PodDisruptionBudget (429). Every \
                  try counts",
        figures: "`refusals`",
    },
    Term {
        name: "lost traffic",
        meaning: "the share of a service's requests that went to targets on machines that were down, or that had no target, times the \
                  seconds in which it was so, if requests are spread evenly over targets; from when the service first had a target",
        figures: "`lost_traffic_s`, `without_targets_s`, `services.csv`",
    },
    Term {
        name: "failed, unfinished",
        meaning: "of a kubectl line of the timeline: its exit status was not 0; of a `request`: it was refused (but for 429, which is a \
                  refusal); of a line, it had not ended when the run did. Of an upgrade or the reboots of a pool: nodes were left out; not all nodes were done when the run ended",
        figures: "`commands_failed`, `commands_unfinished`, `procedures_failed`, `procedures_unfinished`",
    },
];

const fn figure(name: &'static str, unit: &'static str, meaning: &'static str, rows: &'static str) -> Figure {
    Figure { name, unit, meaning, rows }
}

/// How many metrics there are.
const METRIC_COUNT: usize = 41;

/// The metrics, in the order of a study's columns.
pub const FIGURES: [Figure; METRIC_COUNT] = [
    figure("events", "events", "rows of `events.csv`", "`events.csv`"),
    figure("disruptions", "pods", "pods taken away: evictions, preemptions and kills", "`pods.csv`: `taken_away`"),
    figure(
        "evictions",
        "pods",
        "pods evicted",
        "`pods.csv`: `taken_away`, `deletion_cause`; last row of `cluster.csv`",
    ),
    figure("needless_evictions", "pods", "needless evictions", "`disruptions.csv`, `nodes.csv`"),
    figure("stateful_interruptions", "pods", "pods of StatefulSets taken away", "`pods.csv`"),
    figure(
        "preemptions",
        "pods",
        "pods preempted",
        "`pods.csv`: `taken_away`, `deletion_cause`; last row of `cluster.csv`",
    ),
    figure("refusals", "tries", "evictions that a budget refused", "last row of `cluster.csv`"),
    figure(
        "machine_failures",
        "machines",
        "machines that lost power, network, kubelet or existence, each time; not those that cluster-autoscaler gives back",
        "none",
    ),
    figure("pods_created", "pods", "pods created after t=0", "`pods.csv`: `initial`"),
    figure("pods_lost", "pods", "pods lost for good", "`pods.csv`"),
    figure("jobs_failed", "Jobs", "Jobs whose condition Failed became True", "`failed_jobs` of `summary.json`"),
    figure("jobs_complete", "Jobs", "Jobs whose condition Complete became True, or was so when the run began", "none"),
    figure("restarts", "restarts", "restarts of containers", "`pods.csv`: `restarts`"),
    figure(
        "pods_pending_max",
        "pods",
        "most pods in phase Pending at once that were not being deleted",
        "`cluster.csv`",
    ),
    figure("pods_pending_end", "pods", "the same at the end", "last row of `cluster.csv`"),
    figure("pods_unscheduled_max", "pods", "most pods without a node at once", "`cluster.csv`"),
    figure("pods_unscheduled_end", "pods", "the same at the end", "last row of `cluster.csv`"),
    figure("pods_terminating_max", "pods", "most pods being deleted at once", "`cluster.csv`"),
    figure("pods_terminating_end", "pods", "the same at the end", "last row of `cluster.csv`"),
    figure("pods_failed_end", "pods", "pods in phase Failed at the end", "last row of `cluster.csv`"),
    figure("pods_ready_min", "pods", "fewest ready pods", "`cluster.csv`"),
    figure("pods_ready_end", "pods", "ready pods at the end", "last row of `cluster.csv`"),
    figure("nodes_ready_min", "nodes", "fewest nodes that are Ready", "`cluster.csv`"),
    figure("nodes_ready_end", "nodes", "nodes that are Ready at the end", "last row of `cluster.csv`"),
    figure("workloads_below_desired_end", "workloads", "workloads that are short at the end", "`workloads`"),
    figure(
        "workloads_wanted_end",
        "workloads",
        "Deployments, ReplicaSets and StatefulSets that want pods at the end, however many",
        "`workloads`",
    ),
    figure(
        "rollouts_unfinished_end",
        "workloads",
        "workloads with pods of an older template at the end that their roll-out should have replaced, or without the ReplicaSet of \
         the newest",
        "`unfinished_rollouts` of `summary.json`",
    ),
    figure(
        "workloads_refused_end",
        "workloads",
        "workloads (Jobs and CronJobs, too) that want more pods at the end than the API server lets them make: quotas, limit ranges",
        "`refused_workloads` of `summary.json`; `events.csv`: `FailedCreate`",
    ),
    figure("below_desired_s", "s", "seconds in which workloads were short, summed over workloads", "`workloads`"),
    figure("below_min_ready_s", "s", "seconds in which workloads had a gap, summed over workloads", "`workloads`"),
    figure("longest_short_s", "s", "the longest stretch in which any workload was short", "`workloads`"),
    figure("longest_gap_s", "s", "the longest gap of any workload", "`workloads`"),
    figure("unready_replica_s", "pods × s", "missing ready pods times seconds, summed over workloads", "`workloads`"),
    figure(
        "rescheduling_p99_s",
        "s",
        "from a pod's being taken away to its replacement's readiness: the 99th percentile; 0 if none was replaced",
        "`disruptions.csv`, `pods.csv`",
    ),
    figure("objectives_missed", "workloads", "workloads whose availability is below their objective", "`workloads`"),
    figure(
        "without_targets_s",
        "s",
        "seconds in which services had nowhere to send traffic to, from when they first had; summed over services",
        "`services`; `services.csv`",
    ),
    figure(
        "lost_traffic_s",
        "s",
        "seconds of a service's whole traffic, summed over services",
        "`services`; `services.csv`",
    ),
    figure(
        "commands_failed",
        "lines",
        "kubectl lines of the timeline that failed, and requests of it that were refused",
        "`events.csv`, `transcript.jsonl`",
    ),
    figure(
        "commands_unfinished",
        "lines",
        "those that had not ended when the run did",
        "`events.csv`, `transcript.jsonl`",
    ),
    figure("procedures_failed", "procedures", "upgrades and reboots of pools that failed", "`events.csv`"),
    figure("procedures_unfinished", "procedures", "those that had not ended when the run did", "`events.csv`"),
];

/// Names of the metrics that a summary can hold.
pub const METRICS: [&str; METRIC_COUNT] = {
    let mut names = [""; METRIC_COUNT];
    let mut index = 0;
    while index < METRIC_COUNT {
        names[index] = FIGURES[index].name;
        index += 1;
    }
    names
};
