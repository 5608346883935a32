//! The story of a Job: what became of its pods, and of itself.

use std::collections::BTreeSet;

use super::super::record::{Pod, Record};
use super::super::sentence::Sentence;
use super::{Story, fates, steps_of, workload};
use crate::units::{SimTime, counted};

/// Pods whose failure is told one by one.
const TOLD_MAX: usize = 12;

pub(super) fn story(record: &Record, object: &str) -> Story {
    let of = |pod: &Pod| pod.workload == object || pod.owner == object;
    let members: BTreeSet<usize> = (0..record.pods.len()).filter(|pod| of(&record.pods[*pod])).collect();
    let pods: Vec<&Pod> = members.iter().map(|pod| &record.pods[*pod]).collect();
    let mut facts = vec![count(record, object, &pods)];
    facts.extend(failed(record, object));
    let lost: Vec<&&Pod> = pods.iter().filter(|pod| pod.phase == "Failed").collect();
    facts.extend(lost.iter().take(TOLD_MAX).map(|pod| end_of(pod)));
    if lost.len() > TOLD_MAX {
        facts.push(Sentence::new(format!("and {} more, in pods.csv", lost.len() - TOLD_MAX)));
    }
    if !pods.is_empty() && pods.iter().all(|pod| pod.initial) && !pods.iter().any(|pod| goes_on(pod)) {
        facts.push(Sentence::new("It made no pod during the run: it had ended, or was suspended, when that began"));
    }
    let mut steps = steps_of(record, [object]);
    steps.extend(workload::losses(record, &members, &fates::replacements(record, &members)));
    steps.sort_by_key(|step| step.at);
    Story { facts, steps, ..Story::default() }
}

fn goes_on(pod: &Pod) -> bool {
    pod.gone.is_none() && pod.finished.is_none()
}

/// How many of its pods ended how.
fn count(record: &Record, object: &str, pods: &[&Pod]) -> Sentence {
    // Nobody waits for one that is deleted: what it wanted until then.
    let wanted = record.workloads.get(object).and_then(|rows| rows.iter().rfind(|row| row.desired > 0));
    let wanted = wanted.map_or(0, |row| row.desired);
    let in_phase = |phase: &str| pods.iter().filter(|pod| pod.phase == phase).count();
    let wanted = counted(wanted, "completion", "completions");
    let (succeeded, failed) = (in_phase("Succeeded"), in_phase("Failed"));
    let open = pods.iter().filter(|pod| goes_on(pod)).count();
    Sentence::new(format!(
        "{wanted} wanted; of its pods {succeeded} succeeded, {failed} failed, {open} go on at the end"
    ))
}

/// That its condition Failed became true, or was when the run began.
fn failed(record: &Record, object: &str) -> Option<Sentence> {
    let list = |name: &str| record.summary[name].as_array().into_iter().flatten();
    let text = |job: &serde_json::Value, field: &str| job[field].as_str().unwrap_or_default().to_owned();
    let is_it = |job: &&serde_json::Value| format!("job/{}/{}", text(job, "namespace"), text(job, "name")) == object;
    if let Some(it) = list("jobs_failed_before").find(is_it) {
        return Some(Sentence::new(format!("It had failed when the run began: {}", text(it, "reason"))));
    }
    let it = list("failed_jobs").find(is_it)?;
    let reason = text(it, "reason");
    let event = record.events_about(object).iter().find(|event| event.reason == reason);
    let said = Sentence::new(format!("It failed: {reason}"));
    Some(match event {
        Some(event) => said.text(", told at ").at(event.at).text(format!(": {}", event.message.trim_end_matches('.'))),
        None => said,
    })
}

fn end_of(pod: &Pod) -> Sentence {
    let said = Sentence::default().object(pod.name.clone());
    match pod.finished {
        Some(SimTime::ZERO) if pod.initial => said.text(" had failed when the run began"),
        Some(at) => said.text(" failed at ").at(at),
        None => said.text(" failed"),
    }
}
