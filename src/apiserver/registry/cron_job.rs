//! CronJobs.

use std::sync::Arc;

use super::workload::WorkloadObject;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::Session;
use crate::arena::Symbol;
use crate::model::{self, ObjectKind, ObjectMeta};
use crate::state::{CronJob, CronJobStatus};

impl WorkloadObject for model::CronJob {
    type Held = CronJob;
    const KIND: ObjectKind = ObjectKind::CronJob;
    const RESOURCE: &'static str = "cronjobs.batch";

    fn apply_defaults(&mut self) {
        self.apply_defaults();
    }

    fn hold(self, api: &mut ApiServer, s: &Session<'_>) -> CronJob {
        let instant = |stamp: Option<Symbol>| stamp.map(|_| api.instant(stamp, s.now));
        let last_scheduled_at = instant(self.status.last_schedule_time);
        let last_succeeded_at = instant(self.status.last_successful_time);
        let meta = api.meta(s, Self::KIND.as_str(), &self.metadata);
        // Its active Jobs are found once all objects are there.
        let status = CronJobStatus { last_scheduled_at, last_succeeded_at, active: Vec::new() };
        CronJob { meta, spec: Arc::new(self.spec), status }
    }

    fn into_parts(self) -> (ObjectMeta, model::CronJobSpec) {
        (self.metadata, self.spec)
    }
}
