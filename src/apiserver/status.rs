//! The status subresource.

use std::sync::Arc;

use super::registry;
use super::session::Session;
use super::workloads::{set_status, valid_job_status, write_status};
use crate::component::{Answer, StatusUpdate};
use crate::state::{CronJob, Deployment, ObjectDelta};

/// Writes what a controller has found, from the version of the object that it read.
pub(super) fn update(s: &mut Session<'_>, update: StatusUpdate) -> Answer {
    match update {
        StatusUpdate::Deployment(id, base, new, annotations) => {
            set_status(s, id, base, |deployment: &mut Deployment| {
                let is_same =
                    annotations.as_ref().is_none_or(|annotations| *annotations == deployment.meta.annotations);
                deployment.meta.annotations = annotations.unwrap_or_else(|| Arc::clone(&deployment.meta.annotations));
                let delta = write_status(deployment, new);
                Ok(if is_same { delta } else { delta | ObjectDelta::METADATA })
            })
        }
        StatusUpdate::ReplicaSet(id, base, new) => set_status(s, id, base, |set| Ok(write_status(set, new))),
        StatusUpdate::DaemonSet(id, base, new) => set_status(s, id, base, |set| Ok(write_status(set, new))),
        StatusUpdate::StatefulSet(id, base, new) => set_status(s, id, base, |set| Ok(write_status(set, new))),
        StatusUpdate::Job(id, base, new) => set_status(s, id, base, |job| {
            valid_job_status(job, &new)?;
            Ok(write_status(job, *new))
        }),
        StatusUpdate::CronJob(id, update) => {
            let taken_up = update.taken_up.and_then(|(job, at)| Some((job, s.store.jobs.get(job)?.meta.name, at)));
            set_status(s, id, None, |cron_job: &mut CronJob| {
                let before = cron_job.status.clone();
                let status = &mut cron_job.status;
                status.active.retain(|(job, _)| !update.gone.contains(job));
                status.last_succeeded_at = update.succeeded_at.or(status.last_succeeded_at);
                if let Some((job, name, at)) = taken_up {
                    status.active.push((job, name));
                    status.last_scheduled_at = Some(at);
                }
                Ok(if *status == before { ObjectDelta::NONE } else { ObjectDelta::STATUS })
            })
        }
        StatusUpdate::Autoscaler(key, new) => registry::update_autoscaler_status(s, key, *new),
        StatusUpdate::Quota(key, base, new) => registry::update_quota_status(s, key, base, *new),
        StatusUpdate::Budget(id, base, new) => registry::update_budget_status(s, id, base, *new),
    }
}
