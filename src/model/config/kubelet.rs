//! `KubeletConfiguration` (`kubelet.config.k8s.io/v1beta1`): the fields that matter here.

use std::collections::BTreeMap;

use super::eviction::are_thresholds;
use super::version::KubernetesVersion;
use crate::arena::Symbol;
use crate::model::api_type::api_structs;
use crate::model::taint::Taint;
use crate::units::SimDuration;

api_structs! {
    /// A kubelet's configuration as written. A duration or number of zero means the default, as kubeadm writes it.
    pub struct KubeletConfiguration {
        pub api_version: Symbol,
        pub kind: Symbol,
        pub node_status_update_frequency: Option<SimDuration>,
        pub node_status_report_frequency: Option<SimDuration>,
        pub node_lease_duration_seconds: Option<i32>,
        pub max_pods: Option<i32>,
        pub register_node: Option<bool>,
        pub register_with_taints: Vec<Taint>,
        #[serde(rename = "kubeAPIQPS")]
        pub kube_api_qps: Option<f64>,
        #[serde(rename = "kubeAPIBurst")]
        pub kube_api_burst: Option<i64>,
        #[serde(rename = "eventRecordQPS")]
        pub event_record_qps: Option<f64>,
        pub event_burst: Option<i64>,
        pub serialize_image_pulls: Option<bool>,
        pub max_parallel_image_pulls: Option<i32>,
        #[serde(rename = "registryPullQPS")]
        pub registry_pull_qps: Option<f64>,
        pub registry_burst: Option<i64>,
        pub sync_frequency: Option<SimDuration>,
        pub eviction_hard: BTreeMap<Symbol, Symbol>,
        pub eviction_soft: BTreeMap<Symbol, Symbol>,
        pub eviction_soft_grace_period: BTreeMap<Symbol, SimDuration>,
        pub eviction_minimum_reclaim: BTreeMap<Symbol, Symbol>,
        pub eviction_pressure_transition_period: Option<SimDuration>,
        pub eviction_max_pod_grace_period: Option<i32>,
        pub merge_default_eviction_settings: Option<bool>,
        pub shutdown_grace_period: Option<SimDuration>,
        pub shutdown_grace_period_critical_pods: Option<SimDuration>,
        pub shutdown_grace_period_by_pod_priority: Vec<ShutdownGracePeriodByPodPriority>,
        pub crash_loop_back_off: CrashLoopBackOff,
        pub feature_gates: BTreeMap<Symbol, bool>,
    }

    /// How long pods from a priority upwards have to stop when the machine is shut down.
    #[derive(Eq)]
    pub struct ShutdownGracePeriodByPodPriority {
        pub priority: i32,
        pub shutdown_grace_period_seconds: i64,
    }

    /// How restarts of a container that keeps ending are slowed down.
    pub struct CrashLoopBackOff {
        pub max_container_restart_period: Option<SimDuration>,
    }
}

/// What a kubelet runs with. Rates are per second; a rate of 0 is no limit.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are those of the configuration")]
pub struct Kubelet {
    pub node_status_update_frequency: SimDuration,
    pub node_status_report_frequency: SimDuration,
    pub node_lease_duration: SimDuration,
    pub max_pods: i32,
    pub register_node: bool,
    pub register_with_taints: Vec<Taint>,
    pub kube_api_qps: f64,
    pub kube_api_burst: i64,
    pub event_record_qps: f64,
    pub event_burst: i64,
    /// How many images a node pulls at a time; `None` sets no limit.
    pub parallel_image_pulls_max: Option<i32>,
    pub registry_pull_qps: f64,
    pub registry_burst: i64,
    pub sync_frequency: SimDuration,
    pub eviction_hard: BTreeMap<Symbol, Symbol>,
    pub eviction_soft: BTreeMap<Symbol, Symbol>,
    pub eviction_soft_grace_period: BTreeMap<Symbol, SimDuration>,
    pub eviction_minimum_reclaim: BTreeMap<Symbol, Symbol>,
    pub eviction_pressure_transition_period: SimDuration,
    pub eviction_max_pod_grace_period: i32,
    /// In ascending priority; empty if the kubelet does not manage shutdowns.
    pub shutdown_groups: Vec<ShutdownGracePeriodByPodPriority>,
    /// Longest pause between two restarts of a container.
    pub restart_period_max: SimDuration,
}

/// Hard eviction thresholds of a Linux kubelet.
const EVICTION_HARD: [(&str, &str); 5] = [
    ("imagefs.available", "15%"),
    ("imagefs.inodesFree", "5%"),
    ("memory.available", "100Mi"),
    ("nodefs.available", "10%"),
    ("nodefs.inodesFree", "5%"),
];

/// The feature gate of `maxContainerRestartPeriod`.
const RESTART_PERIOD_GATE: &str = "KubeletCrashLoopBackOffMax";

impl KubeletConfiguration {
    /// Fields that are read and written again but decide nothing yet, as the API names them.
    pub const WITHOUT_EFFECT: &'static [&'static str] = &["eventBurst", "eventRecordQPS", "featureGates"];

    /// What a kubelet of a version would refuse to start with: the field, and what it must be.
    ///
    /// # Source
    /// kubelet, validation of its configuration; `KubeletCrashLoopBackOffMax` is off before 1.35.
    #[must_use]
    pub fn problems(&self, version: KubernetesVersion) -> Vec<(&'static str, &'static str)> {
        const AT_LEAST_0: &str = "at least 0";
        const A_SECOND: &str = "0s, or at least 1s";
        const AMOUNTS: &str = "signals such as `memory.available`, each with a quantity or a percentage";
        let second = SimDuration::from_secs(1);
        let is_short = |period: Option<SimDuration>| period.is_some_and(|period| !period.is_zero() && period < second);
        let (total, critical) = (self.shutdown_grace_period, self.shutdown_grace_period_critical_pods);
        let restart = self.crash_loop_back_off.max_container_restart_period;
        let is_negative = |number: Option<i64>| number.is_some_and(|number| number < 0);
        let is_below = |rate: Option<f64>| rate.is_some_and(|rate| rate < 0.0 || !rate.is_finite());
        let groups = &self.shutdown_grace_period_by_pod_priority;
        let rules = [
            ("nodeLeaseDurationSeconds", self.node_lease_duration_seconds.is_some_and(|s| s < 0), "above 0"),
            ("maxPods", self.max_pods.is_some_and(|pods| pods < 0), AT_LEAST_0),
            ("kubeAPIQPS", is_below(self.kube_api_qps), AT_LEAST_0),
            ("kubeAPIBurst", is_negative(self.kube_api_burst), AT_LEAST_0),
            ("eventRecordQPS", is_below(self.event_record_qps), AT_LEAST_0),
            ("eventBurst", is_negative(self.event_burst), AT_LEAST_0),
            ("registryPullQPS", is_below(self.registry_pull_qps), AT_LEAST_0),
            ("registryBurst", is_negative(self.registry_burst), AT_LEAST_0),
            ("maxParallelImagePulls", self.max_parallel_image_pulls.is_some_and(|pulls| pulls < 0), "at least 1"),
            ("shutdownGracePeriod", is_short(total), A_SECOND),
            ("shutdownGracePeriodCriticalPods", is_short(critical), A_SECOND),
            ("shutdownGracePeriodCriticalPods", critical > total, "at most `shutdownGracePeriod`"),
            (
                "shutdownGracePeriodByPodPriority",
                groups.iter().any(|group| group.shutdown_grace_period_seconds < 0),
                "of at least 0 seconds each",
            ),
            (
                "shutdownGracePeriodByPodPriority",
                !groups.is_empty() && [total, critical].iter().flatten().any(|period| !period.is_zero()),
                "left out where `shutdownGracePeriod` or `shutdownGracePeriodCriticalPods` is given",
            ),
            ("evictionHard", !are_thresholds(&self.eviction_hard), AMOUNTS),
            ("evictionSoft", !are_thresholds(&self.eviction_soft), AMOUNTS),
            ("evictionMinimumReclaim", !are_thresholds(&self.eviction_minimum_reclaim), AMOUNTS),
            (
                "evictionSoftGracePeriod",
                self.eviction_soft.keys().any(|signal| !self.eviction_soft_grace_period.contains_key(signal)),
                "given for each signal of `evictionSoft`",
            ),
            ("evictionMaxPodGracePeriod", self.eviction_max_pod_grace_period.is_some_and(|s| s < 0), AT_LEAST_0),
            (
                "crashLoopBackOff.maxContainerRestartPeriod",
                restart.is_some_and(|period| period < second || period > SimDuration::from_secs(300)),
                "between 1s and 300s",
            ),
            (
                "crashLoopBackOff.maxContainerRestartPeriod",
                restart.is_some() && !self.limits_restarts(version),
                "left out while the feature gate `KubeletCrashLoopBackOffMax` is off, as it is before 1.35",
            ),
        ];
        rules.into_iter().filter(|rule| rule.1).map(|(field, _, expected)| (field, expected)).collect()
    }

    fn limits_restarts(&self, version: KubernetesVersion) -> bool {
        let gate = self.feature_gates.get(&Symbol::new(RESTART_PERIOD_GATE));
        gate.copied().unwrap_or(version.at_least(35))
    }

    /// This configuration with the defaults of a version. None of the fields known here has changed its default since
    /// 1.33.
    #[must_use]
    pub fn resolve(&self, _version: KubernetesVersion) -> Kubelet {
        let duration = |written: Option<SimDuration>, default_s: u64| {
            written.filter(|period| *period != SimDuration::ZERO).unwrap_or(SimDuration::from_secs(default_s))
        };
        let count = |written: Option<i32>, default: i32| written.filter(|count| *count != 0).unwrap_or(default);
        let update_frequency = duration(self.node_status_update_frequency, 10);
        // Somebody who sets only the update frequency gets a report with every update.
        let is_only_update_set = self.node_status_update_frequency.is_some_and(|period| period != SimDuration::ZERO);
        let report_default = if is_only_update_set { update_frequency } else { SimDuration::from_secs(300) };
        let report_frequency = self.node_status_report_frequency.filter(|period| *period != SimDuration::ZERO);
        Kubelet {
            node_status_update_frequency: update_frequency,
            node_status_report_frequency: report_frequency.unwrap_or(report_default),
            node_lease_duration: SimDuration::from_secs(u64::from(
                count(self.node_lease_duration_seconds, 40).unsigned_abs(),
            )),
            max_pods: count(self.max_pods, 110),
            register_node: self.register_node.unwrap_or(true),
            register_with_taints: self.register_with_taints.clone(),
            kube_api_qps: self.kube_api_qps.filter(|qps| *qps != 0.0).unwrap_or(50.0),
            kube_api_burst: self.kube_api_burst.filter(|burst| *burst != 0).unwrap_or(100),
            event_record_qps: self.event_record_qps.unwrap_or(50.0),
            event_burst: self.event_burst.filter(|burst| *burst != 0).unwrap_or(100),
            parallel_image_pulls_max: self.parallel_image_pulls_max(),
            registry_pull_qps: self.registry_pull_qps.unwrap_or(5.0),
            registry_burst: self.registry_burst.filter(|burst| *burst != 0).unwrap_or(10),
            sync_frequency: duration(self.sync_frequency, 60),
            eviction_hard: self.hard_thresholds(),
            eviction_soft: self.eviction_soft.clone(),
            eviction_soft_grace_period: self.eviction_soft_grace_period.clone(),
            eviction_minimum_reclaim: self.eviction_minimum_reclaim.clone(),
            eviction_pressure_transition_period: duration(self.eviction_pressure_transition_period, 300),
            eviction_max_pod_grace_period: self.eviction_max_pod_grace_period.unwrap_or(0),
            shutdown_groups: self.shutdown_groups(),
            restart_period_max: duration(self.crash_loop_back_off.max_container_restart_period, 300),
        }
    }

    fn parallel_image_pulls_max(&self) -> Option<i32> {
        match (self.max_parallel_image_pulls.filter(|pulls| *pulls != 0), self.serialize_image_pulls) {
            (Some(pulls), _) => Some(pulls),
            (None, Some(false)) => None,
            (None, _) => Some(1),
        }
    }

    fn hard_thresholds(&self) -> BTreeMap<Symbol, Symbol> {
        let defaults = || EVICTION_HARD.iter().map(|(signal, amount)| (Symbol::from(*signal), Symbol::from(*amount)));
        if self.eviction_hard.is_empty() {
            defaults().collect()
        } else if self.merge_default_eviction_settings == Some(true) {
            defaults().chain(self.eviction_hard.iter().map(|(signal, amount)| (*signal, *amount))).collect()
        } else {
            self.eviction_hard.clone()
        }
    }

    fn shutdown_groups(&self) -> Vec<ShutdownGracePeriodByPodPriority> {
        if !self.shutdown_grace_period_by_pod_priority.is_empty() {
            let mut groups = self.shutdown_grace_period_by_pod_priority.clone();
            groups.sort_by_key(|group| group.priority);
            return groups;
        }
        let seconds = |period: Option<SimDuration>| period.unwrap_or(SimDuration::ZERO).as_secs().cast_signed();
        let total = seconds(self.shutdown_grace_period);
        let critical = seconds(self.shutdown_grace_period_critical_pods).min(total);
        if total == 0 {
            return Vec::new();
        }
        let group = |priority, shutdown_grace_period_seconds| ShutdownGracePeriodByPodPriority {
            priority,
            shutdown_grace_period_seconds,
        };
        vec![group(0, total - critical), group(crate::model::SYSTEM_CRITICAL_PRIORITY, critical)]
    }
}

impl Kubelet {
    /// The configuration that spells out every value, as it could be written.
    #[must_use]
    pub fn to_configuration(&self, version: KubernetesVersion) -> KubeletConfiguration {
        // Before, it can be said with the gate alone.
        let is_gated = !version.at_least(35);
        let is_usual = self.restart_period_max == SimDuration::from_secs(300);
        let restarts = Some(self.restart_period_max).filter(|_| !(is_gated && is_usual));
        let gate = restarts.filter(|_| is_gated).map(|_| (Symbol::new(RESTART_PERIOD_GATE), true));
        KubeletConfiguration {
            node_status_update_frequency: Some(self.node_status_update_frequency),
            node_status_report_frequency: Some(self.node_status_report_frequency),
            node_lease_duration_seconds: i32::try_from(self.node_lease_duration.as_secs()).ok(),
            max_pods: Some(self.max_pods),
            register_node: Some(self.register_node),
            register_with_taints: self.register_with_taints.clone(),
            kube_api_qps: Some(self.kube_api_qps),
            kube_api_burst: Some(self.kube_api_burst),
            event_record_qps: Some(self.event_record_qps),
            event_burst: Some(self.event_burst),
            serialize_image_pulls: Some(self.parallel_image_pulls_max == Some(1)),
            max_parallel_image_pulls: self.parallel_image_pulls_max.filter(|pulls| *pulls != 1),
            registry_pull_qps: Some(self.registry_pull_qps),
            registry_burst: Some(self.registry_burst),
            sync_frequency: Some(self.sync_frequency),
            eviction_hard: self.eviction_hard.clone(),
            eviction_soft: self.eviction_soft.clone(),
            eviction_soft_grace_period: self.eviction_soft_grace_period.clone(),
            eviction_minimum_reclaim: self.eviction_minimum_reclaim.clone(),
            eviction_pressure_transition_period: Some(self.eviction_pressure_transition_period),
            eviction_max_pod_grace_period: Some(self.eviction_max_pod_grace_period),
            shutdown_grace_period_by_pod_priority: self.shutdown_groups.clone(),
            crash_loop_back_off: CrashLoopBackOff { max_container_restart_period: restarts },
            feature_gates: gate.into_iter().collect(),
            ..KubeletConfiguration::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(json: &str) -> Kubelet {
        serde_json::from_str::<KubeletConfiguration>(json).unwrap().resolve(KubernetesVersion::NEWEST)
    }

    #[test]
    fn the_longest_wait_of_crash_loops_has_a_gate_that_is_off_before_1_35() {
        let check = |version: &str, gate: &str, is_refused: bool| {
            let version: KubernetesVersion = version.parse().expect("a version");
            let json = format!(r#"{{"crashLoopBackOff":{{"maxContainerRestartPeriod":"1m"}}{gate}}}"#);
            let written: KubeletConfiguration = serde_json::from_str(&json).expect("a configuration");
            assert_eq!(!written.problems(version).is_empty(), is_refused, "{version}{gate}");
            if !is_refused {
                let locked = written.resolve(version).to_configuration(version);
                assert!(locked.problems(version).is_empty());
                assert_eq!(locked.resolve(version), written.resolve(version));
            }
            let usual = KubeletConfiguration::default().resolve(version).to_configuration(version);
            assert!(usual.problems(version).is_empty());
        };
        check("1.34", "", true);
        check("1.35", "", false);
        check("1.34", r#","featureGates":{"KubeletCrashLoopBackOffMax":true}"#, false);
        check("1.36", r#","featureGates":{"KubeletCrashLoopBackOffMax":false}"#, true);
    }

    #[test]
    fn shutdown_is_by_priority_or_by_two_periods() {
        let check = |fields: &str, expected: usize| {
            let json = format!(
                r#"{{"shutdownGracePeriodByPodPriority":[{{"priority":0,"shutdownGracePeriodSeconds":5}}]{fields}}}"#
            );
            assert_eq!(
                serde_json::from_str::<KubeletConfiguration>(&json).unwrap().problems(KubernetesVersion::NEWEST).len(),
                expected,
                "{json}"
            );
        };
        check("", 0);
        check(r#","shutdownGracePeriod":"0s""#, 0);
        check(r#","shutdownGracePeriod":"10s""#, 1);
    }

    #[test]
    fn status_reports_follow_an_update_frequency_that_stands_alone() {
        #[track_caller]
        fn check(json: &str, update_s: u64, report_s: u64) {
            let kubelet = resolve(json);
            let periods = (kubelet.node_status_update_frequency, kubelet.node_status_report_frequency);
            assert_eq!(periods, (SimDuration::from_secs(update_s), SimDuration::from_secs(report_s)), "{json}");
        }
        check("{}", 10, 300);
        check(r#"{"nodeStatusUpdateFrequency":"0s","nodeStatusReportFrequency":"0s"}"#, 10, 300);
        check(r#"{"nodeStatusUpdateFrequency":"4s"}"#, 4, 4);
        check(r#"{"nodeStatusUpdateFrequency":"4s","nodeStatusReportFrequency":"1m"}"#, 4, 60);
    }

    #[test]
    fn shutdown_periods_become_groups_by_priority() {
        #[track_caller]
        fn check(json: &str, expected: &[(i32, i64)]) {
            let groups = resolve(json).shutdown_groups;
            let groups: Vec<_> =
                groups.iter().map(|group| (group.priority, group.shutdown_grace_period_seconds)).collect();
            assert_eq!(groups, expected, "{json}");
        }
        check("{}", &[]);
        check(
            r#"{"shutdownGracePeriod":"30s","shutdownGracePeriodCriticalPods":"10s"}"#,
            &[(0, 20), (2_000_000_000, 10)],
        );
        check(
            r#"{"shutdownGracePeriodByPodPriority":[{"priority":100,"shutdownGracePeriodSeconds":5},{"priority":0,"shutdownGracePeriodSeconds":7}]}"#,
            &[(0, 7), (100, 5)],
        );
    }

    #[test]
    fn hard_thresholds_are_replaced_unless_merging_is_asked_for() {
        assert_eq!(resolve("{}").eviction_hard.len(), 5);
        assert_eq!(resolve(r#"{"evictionHard":{"memory.available":"1Gi"}}"#).eviction_hard.len(), 1);
        let merged = resolve(r#"{"evictionHard":{"memory.available":"1Gi"},"mergeDefaultEvictionSettings":true}"#);
        assert_eq!(merged.eviction_hard.len(), 5);
        assert_eq!(merged.eviction_hard[&Symbol::from("memory.available")].as_str(), "1Gi");
    }

    #[test]
    fn what_is_spelled_out_resolves_to_the_same() {
        for json in
            ["{}", r#"{"serializeImagePulls":false,"shutdownGracePeriod":"1m","nodeStatusUpdateFrequency":"4s"}"#]
        {
            let kubelet = resolve(json);
            assert_eq!(kubelet.to_configuration(KubernetesVersion::NEWEST).resolve(KubernetesVersion::NEWEST), kubelet);
        }
    }
}
