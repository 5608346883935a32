//! Jobs.

use std::sync::Arc;

use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::model::{self, ConditionStatus, Object, ObjectKind, ObjectMeta};
use crate::state::{Job, JobCondition, JobStatus};

impl WorkloadObject for model::Job {
    type Held = Job;
    const KIND: ObjectKind = ObjectKind::Job;
    const RESOURCE: &'static str = "jobs.batch";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> Job {
        let status = status(api, s, &self);
        let meta = api.meta(s, Self::KIND.as_str(), &self.metadata);
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
        for held in &held.status.conditions {
            let condition =
                model::JobCondition { condition_type: Symbol::new(held.kind.as_str()), ..Default::default() };
            present.status.conditions.push(condition);
        }
    }
}

/// What a Job has come to. A controller never looks again at one that is over.
fn status(api: &ApiServer, s: &Session<'_>, job: &model::Job) -> JobStatus {
    let status = &job.status;
    let at = |stamp: Option<Symbol>| api.instant(stamp, s.now);
    let indexes = |text: Symbol| model::job_indexes(text.as_str(), job.spec.completions.unwrap_or(0)).into();
    let is_true = |condition: &&model::JobCondition| condition.status == ConditionStatus::True;
    let conditions = status.conditions.iter().filter(is_true).map(|condition| JobCondition {
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
