//! Flags of kube-controller-manager.

use super::controllers::Controllers;
use super::feature_gates::FeatureGates;
use super::flags::{Workers, component_flags};
use super::without_effect;
use crate::units::SimDuration;

component_flags! {
    /// What kube-controller-manager runs with. Rates are per second.
    pub struct KubeControllerManager for "kube-controller-manager", without_effect::KUBE_CONTROLLER_MANAGER {
        /// Time between two looks of the node lifecycle controller at the nodes.
        node_monitor_period: SimDuration = "node-monitor-period", |_version| "5s";
        /// Silence after which a node counts as unreachable; 40s up to 1.31.
        node_monitor_grace_period: SimDuration = "node-monitor-grace-period",
            |version| if version.at_least(32) { "50s" } else { "40s" };
        /// Silence allowed to a node that has just started.
        node_startup_grace_period: SimDuration = "node-startup-grace-period", |_version| "1m";
        /// Nodes of a healthy zone that may get a NoExecute taint per second.
        node_eviction_rate: f64 = "node-eviction-rate", |_version| "0.1";
        /// The same for a large zone that is partly down.
        secondary_node_eviction_rate: f64 = "secondary-node-eviction-rate", |_version| "0.01";
        /// Nodes up to which a zone is small, and evictions stop while it is partly down.
        large_cluster_size_threshold: i64 = "large-cluster-size-threshold", |_version| "50";
        /// Share of nodes not ready from which a zone is partly down.
        unhealthy_zone_threshold: f64 = "unhealthy-zone-threshold", |_version| "0.55";
        /// Calls per second of each controller's client.
        kube_api_qps: f64 = "kube-api-qps", |_version| "20";
        /// Calls that each controller's client may make at once after a pause.
        kube_api_burst: i64 = "kube-api-burst", |_version| "30";
        /// Finished pods above which the oldest are removed; 0 keeps all.
        terminated_pod_gc_threshold: i64 = "terminated-pod-gc-threshold", |_version| "12500";
        /// Whether a volume stays on a node that is not ready until the node says that it is unmounted.
        disable_force_detach_on_timeout: bool = "disable-force-detach-on-timeout", |_version| "false";
        /// Whether the process holds a lease, and exits when it cannot renew it.
        leader_elect: bool = "leader-elect", |_version| "true";
        /// For how long it tries to renew its lease before it exits.
        leader_elect_renew_deadline: SimDuration = "leader-elect-renew-deadline", |_version| "10s";
        /// For how long its lease is valid after a renewal: who takes over waits for so long.
        leader_elect_lease_duration: SimDuration = "leader-elect-lease-duration", |_version| "15s";
        /// Time between two tries to take the lease over, lengthened by up to 1.2 of it.
        leader_elect_retry_period: SimDuration = "leader-elect-retry-period", |_version| "2s";
        /// Controllers to run: `*` for the usual ones, a name to add one, `-name` to leave one out.
        controllers: Controllers = "controllers", |_version| "*";
        /// Deployments synced at a time.
        concurrent_deployment_syncs: i64 = "concurrent-deployment-syncs", |_version| "5";
        /// Replica sets synced at a time.
        concurrent_replicaset_syncs: i64 = "concurrent-replicaset-syncs", |_version| "5";
        /// Stateful sets synced at a time.
        concurrent_statefulset_syncs: Workers = "concurrent-statefulset-syncs", |_version| "5";
        /// Daemon sets synced at a time.
        concurrent_daemonset_syncs: Workers = "concurrent-daemonset-syncs", |_version| "2";
        /// Jobs synced at a time.
        concurrent_job_syncs: Workers = "concurrent-job-syncs", |_version| "5";
        /// Cron jobs synced at a time.
        concurrent_cron_job_syncs: Workers = "concurrent-cron-job-syncs", |_version| "5";
        /// Objects that the garbage collector looks at, at a time.
        concurrent_gc_syncs: i64 = "concurrent-gc-syncs", |_version| "20";
        /// Namespaces emptied at a time.
        concurrent_namespace_syncs: i64 = "concurrent-namespace-syncs", |_version| "10";
        /// Resource quotas counted at a time.
        concurrent_resource_quota_syncs: i64 = "concurrent-resource-quota-syncs", |_version| "5";
        /// Time between two counts of all resource quotas; 0 counts them only when something changes.
        resource_quota_sync_period: SimDuration = "resource-quota-sync-period", |_version| "5m";
        /// Time between two looks of the volume binder at all claims: only then do they hear of a new volume or class.
        pvclaimbinder_sync_period: SimDuration = "pvclaimbinder-sync-period", |_version| "15s";
        /// Time between two looks of the horizontal pod autoscaler at a workload.
        horizontal_pod_autoscaler_sync_period: SimDuration = "horizontal-pod-autoscaler-sync-period", |_version| "15s";
        /// By how much use may differ from its target before a workload is scaled.
        horizontal_pod_autoscaler_tolerance: f64 = "horizontal-pod-autoscaler-tolerance", |_version| "0.1";
        /// For how long the largest recommendation keeps a workload from being scaled down.
        horizontal_pod_autoscaler_downscale_stabilization: SimDuration =
            "horizontal-pod-autoscaler-downscale-stabilization", |_version| "5m";
        /// For how long after its start a pod's use of the CPU counts only while it is Ready.
        horizontal_pod_autoscaler_cpu_initialization_period: SimDuration =
            "horizontal-pod-autoscaler-cpu-initialization-period", |_version| "5m";
        /// Readiness that changes within this time of a pod's start counts as its first.
        horizontal_pod_autoscaler_initial_readiness_delay: SimDuration =
            "horizontal-pod-autoscaler-initial-readiness-delay", |_version| "30s";
        /// Whether dependents of deleted owners are removed.
        enable_garbage_collector: bool = "enable-garbage-collector", |_version| "true";
        /// Feature gates set by hand.
        feature_gates: FeatureGates = "feature-gates", |_version| "";
    }
}

#[cfg(test)]
mod tests {
    use super::KubeControllerManager;
    use crate::model::config::{FlagMap, KubernetesVersion};
    use crate::units::SimDuration;

    fn resolve(json: &str) -> (KubeControllerManager, Vec<String>) {
        let flags: FlagMap = serde_json::from_str(json).unwrap();
        let (resolved, errors) = KubeControllerManager::resolve(&flags, KubernetesVersion::NEWEST);
        let errors = errors.iter().map(|error| format!("{error}; {}", error.help.as_deref().unwrap_or("-")));
        (resolved, errors.collect())
    }

    #[test]
    fn flags_take_text_and_numbers() {
        let (resolved, errors) = resolve(
            r#"{"node-monitor-grace-period":"1m30s","node-eviction-rate":0.5,"kube-api-qps":"7","kube-api-burst":9,
                "enable-garbage-collector":false,"leader-elect":false,"controllers":"*,-ttl"}"#,
        );
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(resolved.node_monitor_grace_period, "90s".parse::<SimDuration>().unwrap());
        assert_eq!((resolved.node_eviction_rate, resolved.kube_api_qps), (0.5, 7.0));
        assert_eq!((resolved.kube_api_burst, resolved.enable_garbage_collector), (9, false));
        assert!(!resolved.controllers.runs("ttl-controller") && resolved.controllers.runs("job-controller"));
        assert_eq!(resolved.node_startup_grace_period, "60s".parse::<SimDuration>().unwrap());
        let (again, errors) = KubeControllerManager::resolve(&resolved.to_flags(), KubernetesVersion::OLDEST);
        assert_eq!((again, errors), (resolved, vec![]));
    }

    #[test]
    fn controllers_that_insist_have_a_worker() {
        let (_, errors) =
            resolve(r#"{"concurrent-daemonset-syncs":0,"concurrent-job-syncs":1,"concurrent-gc-syncs":0}"#);
        assert_eq!(
            errors,
            ["`0` is not a value of `concurrent-daemonset-syncs`, expected an integer of at least 1; -"]
        );
    }

    #[test]
    fn a_wrong_flag_is_named_with_what_would_be_right() {
        let (resolved, errors) =
            resolve(r#"{"node-monitor-graceperiod":"1s","kube-api-qps":"fast","enable-garbage-collector":1}"#);
        assert_eq!(
            errors,
            [
                "`node-monitor-graceperiod` is not a flag of kube-controller-manager; \
                 the nearest flag is `node-monitor-grace-period`",
                "`fast` is not a value of `kube-api-qps`, expected a number of at least 0; -",
                "`1` is not a value of `enable-garbage-collector`, expected `true` or `false`; -",
            ]
        );
        assert_eq!(resolved, KubeControllerManager::defaults(KubernetesVersion::NEWEST));
    }
}
