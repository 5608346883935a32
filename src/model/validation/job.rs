//! Jobs and CronJobs.

use super::error::{Errors, Hidden, Json};
use super::path::Path;
use super::selector::label_selector;
use super::{format, pod, selector, time_zone};
use crate::model::config::KubernetesVersion;
use crate::model::cron::Schedule;
use crate::model::{
    CompletionMode, CronJob, ExitCodeOperator, Job, JobSpec, PodFailurePolicyAction, PodFailurePolicyOnExitCodes,
    PodFailurePolicyRule, PodReplacementPolicy, PodTemplateSpec, RestartPolicy, SuccessPolicyRule,
};

/// Most pods at once of an indexed Job, and most of its indexes that may fail.
const INDEXED_MAX: i32 = 100_000;
/// Most pods at once, and most failed indexes, of one with more completions than that and a limit per index.
const MANY_INDEXED_MAX: i32 = 10_000;
const RULES_MAX: usize = 20;

/// Labels that the server writes on template and selector.
const GENERATED: [&str; 4] =
    ["batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name"];

/// # Source
///
/// kube-apiserver, `ValidateJob`.
pub(super) fn job(job: &Job, e: &mut Errors) {
    let path = Path::ROOT.child("spec");
    generated_selector(&job.spec, &path, e);
    spec(&job.spec, &path, e);
    own_selector(&job.spec, &path, e);
    let name = job.metadata.name.as_str();
    let last = job.spec.completions.filter(|count| *count > 0).map(|count| count - 1);
    if let Some(last) = last.filter(|_| job.spec.completion_mode == Some(CompletionMode::Indexed) && !name.is_empty()) {
        let host = std::format!("{name}-{last}");
        if !format::dns_label(&host).is_empty() {
            let metadata = Path::ROOT.child("metadata");
            let detail = std::format!("will not able to create pod with invalid DNS label: {host}");
            e.invalid(&metadata.child("name"), name, detail);
        }
    }
}

/// A selector that the server did not write itself must be asked for.
///
/// # Source
///
/// kube-apiserver, `validateGeneratedSelector`. Which Job the labels name is not asked: dumps may lack its UID.
fn generated_selector(spec: &JobSpec, path: &Path<'_>, e: &mut Errors) {
    let Some(selector) = spec.selector.as_ref().filter(|_| spec.manual_selector != Some(true)) else { return };
    let is_generated = selector.match_expressions.is_empty()
        && selector.match_labels.iter().all(|(key, _)| GENERATED.contains(&key.as_str()));
    if !is_generated {
        e.invalid(&path.child("selector"), &Json(selector), "`selector` not auto-generated");
    }
}

fn own_selector(spec: &JobSpec, path: &Path<'_>, e: &mut Errors) {
    let is_manual = spec.manual_selector == Some(true);
    let selector_path = path.child("selector");
    match &spec.selector {
        None if is_manual => e.required(&selector_path, ""),
        None => {}
        Some(selector) => {
            label_selector(Some(selector), &selector_path, e);
            if is_manual && !selector.matches(&spec.template.metadata.labels) {
                let template = path.child("template");
                let metadata = template.child("metadata");
                selector::mismatch(&spec.template.metadata.labels, &metadata.child("labels"), e);
            }
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateJobSpec`.
fn spec(spec: &JobSpec, path: &Path<'_>, e: &mut Errors) {
    for (field, count) in [
        ("parallelism", spec.parallelism.map(i64::from)),
        ("completions", spec.completions.map(i64::from)),
        ("activeDeadlineSeconds", spec.active_deadline_seconds),
        ("backoffLimit", spec.backoff_limit.map(i64::from)),
        ("ttlSecondsAfterFinished", spec.ttl_seconds_after_finished.map(i64::from)),
        ("backoffLimitPerIndex", spec.backoff_limit_per_index.map(i64::from)),
        ("maxFailedIndexes", spec.max_failed_indexes.map(i64::from)),
    ] {
        e.non_negative(&path.child(field), count.unwrap_or(0));
    }
    if spec.max_failed_indexes.is_some() && spec.backoff_limit_per_index.is_none() {
        e.required(&path.child("backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    if let Some(manager) = spec.managed_by {
        managed_by(manager.as_str(), &path.child("managedBy"), e);
    }
    if spec.completion_mode == Some(CompletionMode::Indexed) {
        indexed(spec, path, e);
    } else {
        for (field, value) in
            [("backoffLimitPerIndex", spec.backoff_limit_per_index), ("maxFailedIndexes", spec.max_failed_indexes)]
        {
            if let Some(value) = value {
                e.invalid(&path.child(field), &value, "requires indexed completion mode");
            }
        }
    }
    policies(spec, path, e);
    let template = path.child("template");
    pod::template(&spec.template, Vec::new(), &template, e);
    let pod_spec = template.child("spec");
    let restart = pod_spec.child("restartPolicy");
    match spec.template.spec.restart_policy {
        RestartPolicy::Always => e.required(&restart, "valid values: \"OnFailure\", \"Never\""),
        RestartPolicy::OnFailure if spec.pod_failure_policy.is_some() => {
            e.invalid(&restart, "OnFailure", "only \"Never\" is supported when podFailurePolicy is specified");
        }
        _ => {}
    }
}

fn managed_by(manager: &str, path: &Path<'_>, e: &mut Errors) {
    match manager.split_once('/') {
        Some((host, rest)) if !host.is_empty() && !rest.is_empty() => {
            e.texts(path, host, format::dns_subdomain(host));
        }
        _ => e.invalid(path, manager, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
    }
    if manager.len() > 63 {
        e.too_long(path, 63);
    }
}

fn indexed(spec: &JobSpec, path: &Path<'_>, e: &mut Errors) {
    let (parallelism, max_failed) = (path.child("parallelism"), path.child("maxFailedIndexes"));
    let completions = spec.completions.unwrap_or(0);
    if spec.completions.is_none() && spec.parallelism.is_some() {
        // Without both, the server puts one completion.
        e.required(&path.child("completions"), "when completion mode is Indexed");
    }
    if let Some(count) = spec.parallelism.filter(|count| *count > INDEXED_MAX) {
        let detail = std::format!("must be less than or equal to {INDEXED_MAX} when completion mode is Indexed");
        e.invalid(&parallelism, &count, detail);
    }
    if let Some(count) = spec.max_failed_indexes.filter(|count| spec.completions.is_some() && *count > completions) {
        e.invalid(&max_failed, &count, "must be less than or equal to completions");
    }
    if let Some(count) = spec.max_failed_indexes.filter(|count| *count > INDEXED_MAX) {
        e.invalid(&max_failed, &count, std::format!("must be less than or equal to {INDEXED_MAX}"));
    }
    if completions <= INDEXED_MAX || spec.backoff_limit_per_index.is_none() {
        return;
    }
    let above = std::format!(
        "must be less than or equal to {MANY_INDEXED_MAX} when completions are above {INDEXED_MAX} and used with backoff \
         limit per index"
    );
    if spec.max_failed_indexes.is_none() {
        e.required(&max_failed, &std::format!("must be specified when completions is above {INDEXED_MAX}"));
    }
    for (path, count) in [(&parallelism, spec.parallelism), (&max_failed, spec.max_failed_indexes)] {
        if let Some(count) = count.filter(|count| *count > MANY_INDEXED_MAX) {
            e.invalid(path, &count, above.clone());
        }
    }
}

fn policies(spec: &JobSpec, path: &Path<'_>, e: &mut Errors) {
    if let Some(policy) = &spec.pod_failure_policy {
        let of_policy = path.child("podFailurePolicy");
        let rules = of_policy.child("rules");
        if policy.rules.len() > RULES_MAX {
            e.too_many(&rules, policy.rules.len(), RULES_MAX);
        }
        for (index, rule) in policy.rules.iter().enumerate() {
            failure_rule(spec, rule, &rules.index(index), e);
        }
    }
    if let Some(policy) = &spec.success_policy {
        let of_policy = path.child("successPolicy");
        if spec.completion_mode == Some(CompletionMode::Indexed) {
            let rules = of_policy.child("rules");
            if policy.rules.is_empty() {
                e.required(&rules, "at least one rules must be specified when the successPolicy is specified");
            }
            if policy.rules.len() > RULES_MAX {
                e.too_many(&rules, policy.rules.len(), RULES_MAX);
            }
            for (index, rule) in policy.rules.iter().enumerate() {
                success_rule(spec.completions.unwrap_or(0), rule, &rules.index(index), e);
            }
        } else {
            e.invalid(&of_policy, &Json(policy), "requires indexed completion mode");
        }
    }
    let replacement = spec.pod_replacement_policy;
    if spec.pod_failure_policy.is_some() && replacement == Some(PodReplacementPolicy::TerminatingOrFailed) {
        e.not_supported(&path.child("podReplacementPolicy"), "TerminatingOrFailed", &["Failed"]);
    }
}

/// # Source
///
/// kube-apiserver, `validatePodFailurePolicyRule`.
fn failure_rule(spec: &JobSpec, rule: &PodFailurePolicyRule, path: &Path<'_>, e: &mut Errors) {
    if rule.action == PodFailurePolicyAction::FailIndex && spec.backoff_limit_per_index.is_none() {
        e.invalid(&path.child("action"), rule.action.as_str(), "requires the backoffLimitPerIndex to be set");
    }
    if let Some(codes) = &rule.on_exit_codes {
        exit_codes(&spec.template, codes, &path.child("onExitCodes"), e);
    }
    let conditions = path.child("onPodConditions");
    if rule.on_pod_conditions.len() > RULES_MAX {
        e.too_many(&conditions, rule.on_pod_conditions.len(), RULES_MAX);
    }
    for (index, condition) in rule.on_pod_conditions.iter().enumerate() {
        let name = condition.condition_type.as_str();
        e.texts(&conditions.index(index).child("type"), name, format::qualified_name(name));
    }
    match (&rule.on_exit_codes, rule.on_pod_conditions.is_empty()) {
        (Some(_), false) => {
            e.invalid(path, &Hidden, "specifying both OnExitCodes and OnPodConditions is not supported");
        }
        (None, true) => e.invalid(path, &Hidden, "specifying one of OnExitCodes and OnPodConditions is required"),
        _ => {}
    }
}

fn exit_codes(template: &PodTemplateSpec, codes: &PodFailurePolicyOnExitCodes, path: &Path<'_>, e: &mut Errors) {
    if let Some(name) = codes.container_name {
        let mut containers = template.spec.containers.iter().chain(&template.spec.init_containers);
        if !containers.any(|container| container.name == name) {
            let detail = "must be one of the container or initContainer names in the pod template";
            e.invalid(&path.child("containerName"), &name, detail);
        }
    }
    let list = path.child("values");
    match codes.values.len() {
        0 => e.invalid(&list, &Json(&codes.values), "at least one value is required"),
        count if count > 255 => e.too_many(&list, count, 255),
        _ => {}
    }
    for (index, value) in codes.values.iter().enumerate() {
        if codes.operator == ExitCodeOperator::In && *value == 0 {
            e.invalid(&list.index(index), value, "must not be 0 for the In operator");
        }
        if codes.values[..index].contains(value) {
            e.duplicate(&list.index(index), value);
        }
    }
    if !codes.values.is_sorted() {
        e.invalid(&list, &Json(&codes.values), "must be ordered");
    }
}

/// # Source
///
/// kube-apiserver, `validateSuccessPolicyRule`.
fn success_rule(completions: i32, rule: &SuccessPolicyRule, path: &Path<'_>, e: &mut Errors) {
    if rule.succeeded_count.is_none() && rule.succeeded_indexes.is_none() {
        e.required(path, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let mut named = None;
    if let Some(indexes) = rule.succeeded_indexes {
        match count_indexes(indexes.as_str(), completions) {
            Ok(count) => named = Some(count),
            Err(problem) => {
                named = Some(0);
                let detail = std::format!("error parsing succeededIndexes: {problem}");
                e.invalid(&path.child("succeededIndexes"), &indexes, detail);
            }
        }
    }
    let Some(count) = rule.succeeded_count else { return };
    let path = path.child("succeededCount");
    e.non_negative(&path, count);
    if count > completions {
        let detail = std::format!("must be less than or equal to {completions} (the number of specified completions)");
        e.invalid(&path, &count, detail);
    }
    if let Some(named) = named.filter(|named| count > *named) {
        let detail = std::format!(
            "must be less than or equal to {named} (the number of indexes in the specified succeededIndexes field)"
        );
        e.invalid(&path, &count, detail);
    }
}

/// How many indexes a text such as `1,3-5` names.
///
/// # Source
///
/// kube-apiserver, `validateIndexesFormat`.
fn count_indexes(text: &str, completions: i32) -> Result<i32, String> {
    let number = |text: &str| {
        let number = text.parse::<i32>();
        let number = number.map_err(|_| std::format!("cannot convert string to integer for index: {text:?}"))?;
        if number >= completions { Err(std::format!("too large index: {text:?}")) } else { Ok(number) }
    };
    let (mut total, mut last) = (0, None);
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let limits: Vec<&str> = part.split('-').collect();
        let (first, end) = match limits.as_slice() {
            [one] => (number(one)?, number(one)?),
            [first, end] => (number(first)?, number(end)?),
            _ => {
                let rule =
                    "violates the requirement that an index interval can have at most two parts separated by '-'";
                return Err(std::format!("the fragment {part:?} {rule}"));
            }
        };
        let before = if limits.len() == 2 && first >= end { Some((first, end)) } else { None };
        if let Some((previous, current)) = before.or(last.filter(|last| *last >= first).map(|last| (last, first))) {
            return Err(std::format!("non-increasing order, previous: {previous}, current: {current}"));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

/// # Source
///
/// kube-apiserver, `validateCronJobSpec` and `ValidateJobTemplateSpec`.
pub(super) fn cron_job(cron_job: &CronJob, e: &mut Errors) {
    cron_job_spec(cron_job, None, e);
    let name = &cron_job.metadata.name;
    if name.as_str().len() > 52 {
        let metadata = Path::ROOT.child("metadata");
        e.invalid(&metadata.child("name"), name, "must be no more than 52 characters");
    }
}

/// # Source
///
/// kube-apiserver, `ValidateCronJobUpdate`.
pub(super) fn cron_job_update(new: &CronJob, old: &CronJob, e: &mut Errors) {
    cron_job_spec(new, Some(old), e);
}

fn cron_job_spec(cron_job: &CronJob, old: Option<&CronJob>, e: &mut Errors) {
    let path = Path::ROOT.child("spec");
    let spec = &cron_job.spec;
    let schedule = path.child("schedule");
    if spec.schedule.is_empty() {
        e.required(&schedule, "");
    } else {
        let text = spec.schedule.as_str();
        if let Err(problem) = Schedule::parse(text) {
            e.invalid(&schedule, text, problem);
        }
        let had_zone = old.is_some_and(|old| old.spec.schedule.as_str().contains("TZ"));
        match (text.contains("TZ"), had_zone) {
            (true, true) if spec.time_zone.is_some() => {
                e.invalid(&schedule, text, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
            }
            (true, false) => {
                e.invalid(&schedule, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
            }
            _ => {}
        }
    }
    e.non_negative(&path.child("startingDeadlineSeconds"), spec.starting_deadline_seconds.unwrap_or(0));
    if let Some(zone) = spec.time_zone.filter(|zone| old.is_none_or(|old| old.spec.time_zone != Some(*zone))) {
        time_zone::time_zone(zone.as_str(), &path.child("timeZone"), e);
    }
    let template = path.child("jobTemplate");
    let job_path = template.child("spec");
    let job = &spec.job_template.spec;
    self::spec(job, &job_path, e);
    if (job.completion_mode, job.completions, job.parallelism) == (Some(CompletionMode::Indexed), None, None) {
        // Only of Jobs themselves the server puts one completion.
        e.required(&job_path.child("completions"), "when completion mode is Indexed");
    }
    if let Some(selector) = &job.selector {
        e.invalid(&job_path.child("selector"), &Json(selector), "`selector` will be auto-generated");
    }
    if job.manual_selector == Some(true) {
        e.unsupported(&job_path.child("manualSelector"), &Json(&true), &["nil", "false"]);
    }
    for (field, limit) in [
        ("successfulJobsHistoryLimit", spec.successful_jobs_history_limit),
        ("failedJobsHistoryLimit", spec.failed_jobs_history_limit),
    ] {
        e.non_negative(&path.child(field), limit.unwrap_or(0));
    }
}

/// # Source
///
/// kube-apiserver, `ValidateJobSpecUpdate`; of a suspended Job without running pods directives for the scheduler and
/// resources may change (1.36).
pub(super) fn job_update(new: &Job, old: &Job, version: KubernetesVersion, e: &mut Errors) {
    let path = Path::ROOT.child("spec");
    spec(&new.spec, &path, e);
    own_selector(&new.spec, &path, e);
    let (after, before) = (&new.spec, &old.spec);
    completions(after, before, &path.child("completions"), e);
    e.immutable(&path.child("selector"), &after.selector, &before.selector);
    template_update(new, old, version, &path.child("template"), e);
    e.immutable(&path.child("completionMode"), &after.completion_mode, &before.completion_mode);
    e.immutable(&path.child("podFailurePolicy"), &after.pod_failure_policy, &before.pod_failure_policy);
    e.immutable(&path.child("backoffLimitPerIndex"), &after.backoff_limit_per_index, &before.backoff_limit_per_index);
    e.immutable(&path.child("managedBy"), &after.managed_by, &before.managed_by);
    e.immutable(&path.child("successPolicy"), &after.success_policy, &before.success_policy);
}

/// An indexed Job may be given other completions if as many pods run at once.
///
/// # Source
///
/// kube-apiserver, `validateCompletions` (ElasticIndexedJob).
fn completions(after: &JobSpec, before: &JobSpec, path: &Path<'_>, e: &mut Errors) {
    let is_indexed = after.completion_mode == Some(CompletionMode::Indexed);
    if !is_indexed {
        return e.immutable(path, &after.completions, &before.completions);
    }
    if after.completions != before.completions && after.completions != after.parallelism {
        let detail = "can only be modified in tandem with spec.parallelism";
        e.invalid(path, &Json(&after.completions), detail);
    }
}

/// # Source
///
/// kube-apiserver, `validatePodTemplateUpdate`; since 1.36 (`MutableSchedulingDirectivesForSuspendedJobs`,
/// `MutablePodResourcesForSuspendedJobs`) of every Job that rests, with resources, before only of one that has never run.
fn template_update(new: &Job, old: &Job, version: KubernetesVersion, path: &Path<'_>, e: &mut Errors) {
    let (after, before) = (&new.spec.template, &old.spec.template);
    let is_suspended = old.spec.suspend == Some(true);
    let is_at_rest = old.status.active == 0
        && (old.status.start_time.is_none()
            || version.at_least(36)
                && old.status.conditions.iter().any(|condition| condition.condition_type == "Suspended"));
    if !is_suspended || !is_at_rest {
        return e.immutable(path, &**after, &**before);
    }
    let mut allowed = PodTemplateSpec::clone(before);
    allowed.metadata.labels = after.metadata.labels.clone();
    allowed.metadata.annotations.clone_from(&after.metadata.annotations);
    let (spec, wanted) = (&mut allowed.spec, &after.spec);
    spec.node_selector = wanted.node_selector.clone();
    spec.tolerations.clone_from(&wanted.tolerations);
    spec.scheduling_gates.clone_from(&wanted.scheduling_gates);
    let node_affinity = wanted.affinity.as_ref().and_then(|affinity| affinity.node_affinity.clone());
    let mut affinity = spec.affinity.take().unwrap_or_default();
    affinity.node_affinity = node_affinity;
    let is_nothing = *affinity == crate::model::Affinity::default() && wanted.affinity.is_none();
    spec.affinity = (!is_nothing).then_some(affinity).filter(|affinity| {
        wanted.affinity.is_some() || affinity.pod_affinity.is_some() || affinity.pod_anti_affinity.is_some()
    });
    let lists = [(&mut spec.containers, &wanted.containers), (&mut spec.init_containers, &wanted.init_containers)];
    let lists = lists.into_iter().filter(|(allowed, wanted)| version.at_least(36) && allowed.len() == wanted.len());
    for (allowed, wanted) in lists {
        for (allowed, wanted) in allowed.iter_mut().zip(wanted).filter(|(allowed, wanted)| allowed.name == wanted.name)
        {
            allowed.resources = wanted.resources.clone();
        }
    }
    e.immutable(&path.child("spec"), &after.spec, &allowed.spec);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_counted_and_must_rise() {
        let check = |text: &str, expected: Result<i32, &str>| {
            assert_eq!(count_indexes(text, 6), expected.map_err(str::to_owned), "{text}");
        };
        check("", Ok(0));
        check("1,3-5", Ok(4));
        check("6", Err("too large index: \"6\""));
        check("a", Err("cannot convert string to integer for index: \"a\""));
        check("3,2", Err("non-increasing order, previous: 3, current: 2"));
        check("3-3", Err("non-increasing order, previous: 3, current: 3"));
        let rule = "violates the requirement that an index interval can have at most two parts separated by '-'";
        check("1-2-3", Err(&std::format!("the fragment \"1-2-3\" {rule}")));
    }
}
