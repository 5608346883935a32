//! Jobs.

use std::sync::Arc;

use super::api_type::{api_enums, api_structs};
use super::meta::{Labels, ObjectMeta};
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
    /// The API server also makes a selector from the Job's UID: see the registry of the simulated one.
    pub fn apply_defaults(&mut self) {
        self.spec.apply_defaults();
        self.spec.label(&mut self.metadata.labels);
    }
}

impl JobSpec {
    /// A Job without labels gets those of its template.
    pub fn label(&self, own: &mut Labels) {
        if own.is_empty() {
            own.clone_from(&self.template.metadata.labels);
        }
    }

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

/// Indexes that a status may list; more than are ever played.
const INDEXES_MAX: usize = 5_000_000;

impl JobStatus {
    /// The condition that is true, if there is one of this type.
    #[must_use]
    pub fn true_condition(&self, condition_type: &str) -> Option<&JobCondition> {
        let is_meant = |c: &&JobCondition| c.condition_type == condition_type && c.status == ConditionStatus::True;
        self.conditions.iter().find(is_meant)
    }

    /// Whether the Job is over, well or badly.
    ///
    /// # Source
    /// job-controller, `IsJobFinished`: one of the conditions Complete and Failed is true. It is never looked at again.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.true_condition("Complete").or_else(|| self.true_condition("Failed")).is_some()
    }
}

/// `0,2-4` as first and last indexes, in the order of the text; what is no index of a Job of so many completions is left out.
#[must_use]
pub fn job_index_intervals(text: &str, completions: i32) -> Vec<(i32, i32)> {
    let parse = |part: &str| -> Option<(i32, i32)> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (i32, i32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        let last = last.min(completions - 1);
        (0 <= first && first <= last).then_some((first, last))
    };
    text.split(',').filter_map(parse).collect()
}

/// `0,2-4` one by one, ascending; the first five millions of them.
#[must_use]
pub fn job_indexes(text: &str, completions: i32) -> Vec<i32> {
    let intervals = job_index_intervals(text, completions);
    let mut indexes: Vec<i32> =
        intervals.into_iter().flat_map(|(first, last)| first..=last).take(INDEXES_MAX).collect();
    indexes.sort_unstable();
    indexes.dedup();
    indexes
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

    #[test]
    fn indexes_are_those_of_the_job() {
        assert_eq!(job_indexes("3,0-1,1,7-9", 8), [0, 1, 3, 7]);
        assert!(job_indexes("", 8).is_empty());
        assert_eq!(job_indexes("0-2000000000", 2_000_000_001).len(), INDEXES_MAX, "bad input eats no memory");
    }

    #[test]
    fn a_job_is_over_by_a_condition_that_is_true() {
        let status = |condition: &str| -> JobStatus {
            serde_saphyr::from_str(&format!("{{conditions: [{condition}]}}")).expect("a status")
        };
        assert!(status("{type: Complete, status: 'True'}").is_finished());
        assert!(status("{type: Failed, status: 'True'}").is_finished());
        assert!(!status("{type: Failed, status: 'False'}").is_finished());
        assert!(!status("{type: FailureTarget, status: 'True'}").is_finished());
    }
}
