//! Jobs.

use std::sync::Arc;

use super::api_type::{api_enums, api_structs};
use super::meta::ObjectMeta;
use super::pod::{ConditionStatus, PodConditionType, PodTemplateSpec};
use super::selector::LabelSelector;
use crate::arena::Symbol;

api_structs! {
    /// Pods that run until they have succeeded often enough.
    pub struct Job {
        pub metadata: ObjectMeta,
        pub spec: JobSpec,
        pub status: JobStatus,
    }

    /// What is wanted of a job.
    pub struct JobSpec {
        pub parallelism: Option<i32>,
        pub completions: Option<i32>,
        pub active_deadline_seconds: Option<i64>,
        pub pod_failure_policy: Option<Box<PodFailurePolicy>>,
        pub success_policy: Option<Box<SuccessPolicy>>,
        pub backoff_limit: Option<i32>,
        pub backoff_limit_per_index: Option<i32>,
        pub max_failed_indexes: Option<i32>,
        pub selector: Option<LabelSelector>,
        pub manual_selector: Option<bool>,
        pub template: Arc<PodTemplateSpec>,
        pub ttl_seconds_after_finished: Option<i32>,
        pub completion_mode: Option<CompletionMode> = "crate::model::api_type::empty_is_none",
        pub suspend: Option<bool>,
        pub pod_replacement_policy: Option<PodReplacementPolicy> = "crate::model::api_type::empty_is_none",
        pub managed_by: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
    }

    /// What the failure of a pod means, rule by rule; the first that matches decides.
    #[derive(Eq)]
    pub struct PodFailurePolicy {
        pub rules: Vec<PodFailurePolicyRule>,
    }

    /// One rule, which looks at exit codes or at conditions.
    #[derive(Eq)]
    pub struct PodFailurePolicyRule {
        pub action: PodFailurePolicyAction,
        pub on_exit_codes: Option<PodFailurePolicyOnExitCodes>,
        pub on_pod_conditions: Vec<PodFailurePolicyOnPodCondition>,
    }

    /// Exit codes of one container, or of any.
    #[derive(Eq)]
    pub struct PodFailurePolicyOnExitCodes {
        pub container_name: Option<Symbol> = "crate::model::meta::empty_symbol_is_none",
        pub operator: ExitCodeOperator,
        pub values: Vec<i32>,
    }

    /// A condition of the failed pod.
    #[derive(Eq)]
    pub struct PodFailurePolicyOnPodCondition {
        #[serde(rename = "type")]
        pub condition_type: PodConditionType,
        /// Absent means `True`.
        pub status: Option<ConditionStatus> = "crate::model::api_type::empty_is_none",
    }

    /// When an indexed job has succeeded before all of its indexes have.
    #[derive(Eq)]
    pub struct SuccessPolicy {
        pub rules: Vec<SuccessPolicyRule>,
    }

    /// One way to succeed.
    #[derive(Eq)]
    pub struct SuccessPolicyRule {
        pub succeeded_indexes: Option<Symbol>,
        pub succeeded_count: Option<i32>,
    }

    /// What the controller last counted.
    pub struct JobStatus {
        pub conditions: Vec<JobCondition>,
        pub start_time: Option<Symbol>,
        pub completion_time: Option<Symbol>,
        pub active: i32,
        pub succeeded: i32,
        pub failed: i32,
        pub terminating: Option<i32>,
        pub ready: Option<i32>,
        pub completed_indexes: Symbol,
        pub failed_indexes: Option<Symbol>,
    }

    /// One condition of a job.
    #[derive(Eq)]
    pub struct JobCondition {
        #[serde(rename = "type")]
        pub condition_type: Symbol,
        pub status: ConditionStatus,
        pub last_probe_time: Option<Symbol>,
        pub last_transition_time: Option<Symbol>,
        pub reason: Symbol,
        pub message: Symbol,
    }
}

api_enums! {
    /// Whether completions are numbered.
    pub enum CompletionMode {
        NonIndexed = "NonIndexed",
        Indexed = "Indexed",
    }

    /// When a lost pod is replaced: as soon as it is terminating, or when it has failed.
    pub enum PodReplacementPolicy {
        TerminatingOrFailed = "TerminatingOrFailed",
        Failed = "Failed",
    }

    /// What a failed pod does to its job.
    pub enum PodFailurePolicyAction or Count {
        FailJob = "FailJob",
        FailIndex = "FailIndex",
        Ignore = "Ignore",
        Count = "Count",
    }

    /// Whether the exit codes listed are meant or all others.
    pub enum ExitCodeOperator or In {
        In = "In",
        NotIn = "NotIn",
    }
}

impl Job {
    /// Fills in what the API server would. Doing it twice changes nothing.
    ///
    /// # Differs
    ///
    /// The API server also makes a selector from the job's UID; that is for whoever gives UIDs.
    pub fn apply_defaults(&mut self) {
        self.spec.apply_defaults();
        if self.metadata.labels.is_empty() {
            self.metadata.labels = self.spec.template.metadata.labels.clone();
        }
    }
}

impl JobSpec {
    /// Fills in what the API server would. `completions` stays absent where only `parallelism` is given: a work queue.
    pub fn apply_defaults(&mut self) {
        Arc::make_mut(&mut self.template).spec.apply_defaults();
        if self.completions.is_none() && self.parallelism.is_none() {
            self.completions = Some(1);
        }
        self.parallelism.get_or_insert(1);
        let is_limited_per_index = self.backoff_limit_per_index.is_some();
        self.backoff_limit.get_or_insert(if is_limited_per_index { i32::MAX } else { 6 });
        self.completion_mode.get_or_insert(CompletionMode::NonIndexed);
        self.suspend.get_or_insert(false);
        let has_failure_policy = self.pod_failure_policy.is_some();
        self.pod_replacement_policy.get_or_insert(if has_failure_policy {
            PodReplacementPolicy::Failed
        } else {
            PodReplacementPolicy::TerminatingOrFailed
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_follow_what_else_is_given() {
        #[track_caller]
        fn check(json: &str, expected: (Option<i32>, i32, i32, PodReplacementPolicy)) {
            let mut spec: JobSpec = serde_json::from_str(json).unwrap();
            spec.apply_defaults();
            let once = spec.clone();
            spec.apply_defaults();
            assert_eq!(spec, once, "{json}");
            let found = (
                spec.completions,
                spec.parallelism.unwrap(),
                spec.backoff_limit.unwrap(),
                spec.pod_replacement_policy.unwrap(),
            );
            assert_eq!(found, expected, "{json}");
        }
        let early = PodReplacementPolicy::TerminatingOrFailed;
        check("{}", (Some(1), 1, 6, early));
        check(r#"{"parallelism":3}"#, (None, 3, 6, early));
        check(r#"{"completions":3}"#, (Some(3), 1, 6, early));
        check(r#"{"backoffLimitPerIndex":1}"#, (Some(1), 1, i32::MAX, early));
        check(r#"{"podFailurePolicy":{"rules":[]}}"#, (Some(1), 1, 6, PodReplacementPolicy::Failed));
    }
}
