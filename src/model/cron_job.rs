//! Cron jobs.

use std::sync::Arc;

use super::api_type::{api_enums, api_structs};
use super::job::JobSpec;
use super::meta::{ObjectMeta, ObjectReference};
use crate::arena::Symbol;

api_structs! {
    /// Jobs by the calendar.
    pub struct CronJob {
        pub metadata: ObjectMeta,
        pub spec: CronJobSpec,
        pub status: CronJobStatus,
    }

    /// What is wanted of a cron job.
    pub struct CronJobSpec {
        pub schedule: Symbol,
        pub time_zone: Option<Symbol>,
        pub starting_deadline_seconds: Option<i64>,
        pub concurrency_policy: ConcurrencyPolicy,
        pub suspend: Option<bool>,
        pub job_template: JobTemplateSpec,
        pub successful_jobs_history_limit: Option<i32>,
        pub failed_jobs_history_limit: Option<i32>,
    }

    /// What jobs are made from.
    pub struct JobTemplateSpec {
        pub metadata: ObjectMeta,
        pub spec: JobSpec,
    }

    /// What the controller last did.
    pub struct CronJobStatus {
        pub active: Vec<ObjectReference>,
        pub last_schedule_time: Option<Symbol>,
        pub last_successful_time: Option<Symbol>,
    }
}

api_enums! {
    /// What happens when the next time comes before the last job is done.
    pub enum ConcurrencyPolicy or Allow {
        Allow = "Allow",
        Forbid = "Forbid",
        Replace = "Replace",
    }
}

impl CronJob {
    /// Whether it says neither when it last ran nor when it was made, as one that somebody wrote and no cluster has told.
    #[must_use]
    pub fn is_without_past(&self) -> bool {
        self.status.last_schedule_time.is_none() && self.metadata.creation_timestamp.is_none()
    }

    /// Fills in what the API server would; the jobs it makes get their own defaults later. Doing it twice changes
    /// nothing.
    pub fn apply_defaults(&mut self) {
        Arc::make_mut(&mut self.spec.job_template.spec.template).spec.apply_defaults();
        self.spec.suspend.get_or_insert(false);
        self.spec.successful_jobs_history_limit.get_or_insert(3);
        self.spec.failed_jobs_history_limit.get_or_insert(1);
    }
}
