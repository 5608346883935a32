//! Jobs.

use std::sync::Arc;

use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::model::{self, ConditionStatus, Object, ObjectKind, ObjectMeta};
use crate::state::{Job, JobCondition, JobReason, JobStatus, Meta};

impl WorkloadObject for model::Job {
    type Held = Job;
    const KIND: ObjectKind = ObjectKind::Job;
    const RESOURCE: &'static str = "jobs.batch";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(mut self, api: &mut ApiServer, s: &Session<'_>) -> Job {
        let status = status(api, s, &self);
        let mut meta = api.meta(s, Self::KIND.as_str(), &self.metadata);
        // What has a UID has been created before: its pods bear what it was given then.
        if self.metadata.uid.is_none() {
            generate_selector(&mut self.spec, &mut meta);
        }
        Job { meta, spec: Arc::new(self.spec), status }
    }

    fn into_parts(self) -> (ObjectMeta, model::JobSpec) {
        (self.metadata, self.spec)
    }

    /// What decides whether the template may change.
    fn add_status(present: &mut Object, held: &Job) {
        let Object::Job(present) = present else { return };
        present.status.active = held.status.active;
        present.status.start_time = held.status.started_at.map(|_| Symbol::new("started"));
        for held in held.status.conditions.iter().filter(|condition| condition.holds()) {
            let condition =
                model::JobCondition { condition_type: Symbol::new(held.kind.as_str()), ..Default::default() };
            present.status.conditions.push(condition);
        }
    }
}

/// Marks a new Job's pods as its own, and selects them by that.
///
/// # Source
/// kube-apiserver, `generateSelector`: not of a Job with `manualSelector`; labels that the template has stay. A Job that has its
/// labels from its template shares them with it, and so gets the new ones as well; one without labels has them of the template
/// whenever it is read (`SetDefaults_Job`).
pub(in crate::apiserver) fn generate_selector(spec: &mut model::JobSpec, meta: &mut Meta) {
    if *spec.manual_selector.get_or_insert(false) {
        return;
    }
    let is_shared = meta.labels.is_shared_with(&spec.template.metadata.labels);
    let uid = Symbol::new(&meta.uid.to_string());
    let own_uid = Symbol::new("batch.kubernetes.io/controller-uid");
    let generated = [
        (Symbol::new("job-name"), meta.name),
        (Symbol::new("batch.kubernetes.io/job-name"), meta.name),
        (Symbol::new("controller-uid"), uid),
        (own_uid, uid),
    ];
    let labels = &mut Arc::make_mut(&mut spec.template).metadata.labels;
    for (key, value) in generated.into_iter().filter(|(key, _)| !labels.contains(*key)).collect::<Vec<_>>() {
        *labels = labels.with(key, value);
    }
    if is_shared || meta.labels.is_empty() {
        meta.labels = labels.clone();
    }
    let selected = &mut spec.selector.get_or_insert_default().match_labels;
    if !selected.contains(own_uid) {
        *selected = selected.with(own_uid, uid);
    }
}

/// What a Job has come to. A controller never looks again at one that is over.
fn status(api: &ApiServer, s: &Session<'_>, job: &model::Job) -> JobStatus {
    let status = &job.status;
    let at = |stamp: Option<Symbol>| api.instant(stamp, s.now);
    let indexes = |text: Symbol| model::job_indexes(text.as_str(), job.spec.completions.unwrap_or(0)).into();
    // Of those that do not hold, only that of a Job that has been resumed is ever there.
    let is_known = |condition: &&model::JobCondition| {
        condition.status == ConditionStatus::True || condition.reason == JobReason::JobResumed.as_str()
    };
    let conditions = status.conditions.iter().filter(is_known).map(|condition| JobCondition {
        kind: condition.condition_type.as_str().into(),
        reason: condition.reason.as_str().into(),
        since: at(condition.last_transition_time),
    });
    JobStatus {
        started_at: status.start_time.map(|_| at(status.start_time)),
        completed_at: status.completion_time.map(|_| at(status.completion_time)),
        active: status.active,
        ready: status.ready.unwrap_or(0),
        terminating: status.terminating.unwrap_or(0),
        succeeded: status.succeeded,
        failed: status.failed,
        completed_indexes: indexes(status.completed_indexes),
        failed_indexes: indexes(status.failed_indexes.unwrap_or_default()),
        conditions: conditions.collect(),
        ..JobStatus::default()
    }
}
