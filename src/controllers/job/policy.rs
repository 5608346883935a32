//! What the end of a pod means for its Job.

use crate::arena::Symbol;
use crate::model::{
    ConditionStatus, ExitCodeOperator, JobSpec, PodConditionType, PodFailurePolicy, PodFailurePolicyAction,
    PodFailurePolicyRule, PodReplacementPolicy,
};
use crate::state::{ContainerState, ContainerStatus, Pod, PodPhase, Status};
use crate::units::SimDuration;

/// Whether a lost pod is replaced only when it has really ended.
///
/// # Source
/// job-controller, `onlyReplaceFailedPods`.
pub(super) fn only_replaces_failed(spec: &JobSpec) -> bool {
    spec.pod_failure_policy.is_some() || spec.pod_replacement_policy == Some(PodReplacementPolicy::Failed)
}

/// Whether a pod counts as failed.
///
/// # Source
/// job-controller, `isPodFailed`.
pub(super) fn is_failed(spec: &JobSpec, pod: &Pod) -> bool {
    if pod.phase == PodPhase::Failed {
        return true;
    }
    if pod.phase == PodPhase::Succeeded {
        return false;
    }
    // A deletion without grace is the last word: only the Job's finalizer keeps the object.
    let is_over = pod.deletion.is_some_and(|d| d.grace == SimDuration::ZERO);
    is_over || (!only_replaces_failed(spec) && pod.deletion.is_some())
}

/// What about a failed pod a rule matches.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Matched {
    /// A container, with its exit code.
    Container(Symbol, i32),
    /// A condition.
    Condition(PodConditionType),
}

/// What the first matching rule says of a failed pod; none if no rule matches.
pub(super) fn action(policy: &PodFailurePolicy, pod: &Pod, names: &[Symbol]) -> Option<PodFailurePolicyAction> {
    policy.rules.iter().find(|rule| matches(rule, pod, names).is_some()).map(|rule| rule.action)
}

/// The names of a Job's containers, in the order in which the pods list them: regular ones first.
pub(super) fn container_names(spec: &JobSpec) -> Vec<Symbol> {
    let pod = &spec.template.spec;
    pod.containers.iter().chain(&pod.init_containers).map(|container| container.name).collect()
}

/// What is said of a Job that one of its failed pods brings down.
///
/// # Source
/// job-controller, `getFailJobMessage` and `matchPodFailurePolicy`.
pub(super) fn fail_job_message<'a>(spec: &JobSpec, pods: impl Iterator<Item = &'a Pod>) -> Option<String> {
    let rules = &spec.pod_failure_policy.as_ref()?.rules;
    let names = container_names(spec);
    let mut failed = pods.filter(|pod| is_failed(spec, pod));
    failed.find_map(|pod| {
        let found = |(index, rule)| Some((index, rule, matches(rule, pod, &names)?));
        let (index, rule, matched) = rules.iter().enumerate().find_map(found)?;
        if rule.action != PodFailurePolicyAction::FailJob {
            return None;
        }
        let of = format!("{}/{}", pod.namespace, pod.name);
        let what = match matched {
            Matched::Container(name, code) => format!("Container {name} for pod {of} failed with exit code {code}"),
            Matched::Condition(kind) => format!("Pod {of} has condition {kind:?}"),
        };
        Some(format!("{what} matching FailJob rule at index {index}"))
    })
}

fn matches(rule: &PodFailurePolicyRule, pod: &Pod, names: &[Symbol]) -> Option<Matched> {
    if let Some(codes) = &rule.on_exit_codes {
        let failed = |status: &ContainerStatus| match status.state {
            ContainerState::Terminated(ending) if ending.exit_code != 0 => Some(ending.exit_code),
            _ => None,
        };
        let listed = |code: i32| match codes.operator {
            ExitCodeOperator::In => codes.values.contains(&code),
            ExitCodeOperator::NotIn => !codes.values.contains(&code),
        };
        let statuses = pod.containers.iter().chain(&pod.init_containers);
        return statuses.zip(names).find_map(|(status, name)| {
            let code = failed(status).filter(|code| listed(*code))?;
            codes.container_name.is_none_or(|wanted| wanted == *name).then_some(Matched::Container(*name, code))
        });
    }
    rule.on_pod_conditions.iter().find_map(|pattern| {
        let wanted = pattern.status.unwrap_or(ConditionStatus::True);
        let found = match pattern.condition_type {
            PodConditionType::DisruptionTarget => {
                pod.disruption_target.map(|t| if t.status { ConditionStatus::True } else { ConditionStatus::False })
            }
            PodConditionType::Ready => pod.ready.map(|ready| match ready.status {
                Status::True => ConditionStatus::True,
                Status::False => ConditionStatus::False,
                Status::Unknown => ConditionStatus::Unknown,
            }),
            _ => None,
        };
        (found == Some(wanted)).then_some(Matched::Condition(pattern.condition_type))
    })
}

/// Whether containers that restart in place have done so too often.
///
/// # Source
/// job-controller, `pastBackoffLimitOnFailure`.
pub(super) fn restarts_exceed(spec: &JobSpec, pods: &[&Pod]) -> bool {
    if spec.template.spec.restart_policy != crate::model::RestartPolicy::OnFailure {
        return false;
    }
    let restarts: u64 = pods.iter().map(|pod| u64::from(pod.restarts_total())).sum();
    let limit = u64::from(spec.backoff_limit.unwrap_or(6).max(0).unsigned_abs());
    if limit == 0 { restarts > 0 } else { restarts >= limit }
}
