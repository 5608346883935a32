//! Flags of cluster-autoscaler.

use super::flags::component_flags;
use crate::arena::Symbol;
use crate::units::SimDuration;

/// Flags that decide nothing here.
const WITHOUT_EFFECT: &[&str] = &[
    "address",
    "aws-use-static-instance-list",
    "bypassed-scheduler-names",
    "cloud-config",
    "cloud-provider",
    "cluster-name",
    "cluster-snapshot-parallelism",
    "cordon-node-before-terminating",
    "daemonset-eviction-for-empty-nodes",
    "daemonset-eviction-for-occupied-nodes",
    "estimator",
    "gce-concurrent-refreshes",
    "kube-client-burst",
    "kube-client-qps",
    "kubeconfig",
    "leader-elect",
    "leader-elect-lease-duration",
    "leader-elect-renew-deadline",
    "leader-elect-resource-name",
    "leader-elect-retry-period",
    "logtostderr",
    "max-bulk-soft-taint-time",
    "max-inactivity",
    "namespace",
    "node-autoprovisioning-enabled",
    "node-group-auto-discovery",
    "nodes",
    "profiling",
    "scale-down-simulation-timeout",
    "stderrthreshold",
    "v",
    "write-status-configmap",
];

component_flags! {
    /// What cluster-autoscaler runs with.
    ///
    /// # Source
    /// cluster-autoscaler, its list of parameters.
    pub struct ClusterAutoscaler for "cluster-autoscaler", WITHOUT_EFFECT {
        /// Time between two looks at the cluster.
        scan_interval: SimDuration = "scan-interval", |_version| "10s";
        /// By what a pool is chosen among those that would help; several criteria are applied one after the other.
        expander: Vec<Symbol> = "expander", |_version| "least-waste";
        /// Nodes in all, above which it adds none; 0 is no limit.
        max_nodes_total: i64 = "max-nodes-total", |_version| "0";
        /// Nodes added at a time.
        max_nodes_per_scaleup: i64 = "max-nodes-per-scaleup", |_version| "1000";
        /// Age from which a pod counts for scaling up.
        new_pod_scale_up_delay: SimDuration = "new-pod-scale-up-delay", |_version| "0s";
        /// For how long a machine may take to become a Ready node.
        max_node_provision_time: SimDuration = "max-node-provision-time", |_version| "15m";
        /// For how long a pool is left alone after a machine has failed to come, the first time.
        initial_node_group_backoff_duration: SimDuration = "initial-node-group-backoff-duration", |_version| "5m";
        /// The longest such time.
        max_node_group_backoff_duration: SimDuration = "max-node-group-backoff-duration", |_version| "30m";
        /// Time after the last failure from which the first such time counts again.
        node_group_backoff_reset_timeout: SimDuration = "node-group-backoff-reset-timeout", |_version| "3h";
        /// Whether it removes nodes.
        scale_down_enabled: bool = "scale-down-enabled", |_version| "true";
        /// Share of a node's CPU and of its memory below which both must be requested for the node to be unneeded.
        scale_down_utilization_threshold: f64 = "scale-down-utilization-threshold", |_version| "0.5";
        /// For how long a node must have been unneeded.
        scale_down_unneeded_time: SimDuration = "scale-down-unneeded-time", |_version| "10m";
        /// Whether nodes that are not Ready are removed.
        scale_down_unready_enabled: bool = "scale-down-unready-enabled", |_version| "true";
        /// For how long a node that is not Ready must have been unneeded.
        scale_down_unready_time: SimDuration = "scale-down-unready-time", |_version| "20m";
        /// After an addition no node is removed for so long.
        scale_down_delay_after_add: SimDuration = "scale-down-delay-after-add", |_version| "10m";
        /// After a removal no node is removed for so long.
        scale_down_delay_after_delete: SimDuration = "scale-down-delay-after-delete", |_version| "0s";
        /// After a removal that has failed no node is removed for so long.
        scale_down_delay_after_failure: SimDuration = "scale-down-delay-after-failure", |_version| "3m";
        /// For how long a node that cannot be removed is not looked at again.
        unremovable_node_recheck_timeout: SimDuration = "unremovable-node-recheck-timeout", |_version| "5m";
        /// Nodes that are removed at a time.
        max_scale_down_parallelism: i64 = "max-scale-down-parallelism", |_version| "10";
        /// Those of them that have to be drained.
        max_drain_parallelism: i64 = "max-drain-parallelism", |_version| "1";
        /// Unneeded nodes that are tainted PreferNoSchedule, or lose the taint, at a time.
        max_bulk_soft_taint_count: i64 = "max-bulk-soft-taint-count", |_version| "10";
        /// From the taint of a node to the eviction of its pods.
        node_delete_delay_after_taint: SimDuration = "node-delete-delay-after-taint", |_version| "5s";
        /// For how long evictions are tried.
        max_pod_eviction_time: SimDuration = "max-pod-eviction-time", |_version| "2m";
        /// Seconds that pods are given to stop.
        max_graceful_termination_sec: i64 = "max-graceful-termination-sec", |_version| "600";
        /// Nodes that may be unready whatever their share.
        ok_total_unready_count: i64 = "ok-total-unready-count", |_version| "3";
        /// Percentage of nodes above which it does nothing while they are unready.
        max_total_unready_percentage: f64 = "max-total-unready-percentage", |_version| "45";
        /// Whether pods with local storage keep their node.
        skip_nodes_with_local_storage: bool = "skip-nodes-with-local-storage", |_version| "true";
        /// Whether pods of kube-system without a budget keep their node.
        skip_nodes_with_system_pods: bool = "skip-nodes-with-system-pods", |_version| "true";
        /// Whether pods of controllers that it does not know keep their node.
        skip_nodes_with_custom_controller_pods: bool = "skip-nodes-with-custom-controller-pods", |_version| "true";
        /// Whether daemon pods are left out of the use of a node.
        ignore_daemonsets_utilization: bool = "ignore-daemonsets-utilization", |_version| "false";
        /// Whether mirror pods are left out of the use of a node.
        ignore_mirror_pods_utilization: bool = "ignore-mirror-pods-utilization", |_version| "false";
    }
}

#[cfg(test)]
mod tests {
    use super::ClusterAutoscaler;
    use crate::model::config::{FlagMap, KubernetesVersion};

    #[test]
    fn flags_are_those_of_the_real_one() {
        let flags: FlagMap =
            serde_json::from_str(r#"{"expander":"priority,least-waste","v":4,"scale-down-unneded-time":"1m"}"#)
                .unwrap();
        let (resolved, errors) = ClusterAutoscaler::resolve(&flags, KubernetesVersion::NEWEST);
        assert_eq!(resolved.expander, ["priority", "least-waste"]);
        let errors: Vec<String> = errors.iter().map(|error| error.help.clone().unwrap_or_default()).collect();
        assert_eq!(errors, ["the nearest flag is `scale-down-unneeded-time`"]);
    }
}
