//! Requests of the workload controllers.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::registry::job::generate_selector;
use super::server::ApiServer;
use super::session::{Session, Standing, already_exists, not_found};
use crate::arena::{Id, Symbol};
use crate::component::{
    Answer, ApiError, BaseVersion, ErrorReason, NewReplicaSet, NewRevision, Reply, Request, export_workload,
};
use crate::model::{Object, ObjectKind};
use crate::state::{
    Changed, ControllerRevision, ControllerRevisionId, CronJobId, DaemonSet, Job, JobStatus, Meta, ObjectDelta, Owner,
    Propagation, ReplicaSet, ReplicaSetStatus, Workload, WorkloadId,
};
use crate::units::SimTime;

impl ApiServer {
    pub(super) fn create_replica_set(&mut self, s: &mut Session<'_>, new: NewReplicaSet) -> Answer {
        let Some(namespace) = s.store.deployments.get(new.deployment).map(|d| d.meta.namespace) else {
            return Err(not_found("deployments.apps", ""));
        };
        if let Some(there) = s.store.find_workload(ObjectKind::ReplicaSet, namespace, new.name) {
            let deletion = s.store.workload_meta(there).and_then(|meta| meta.deleting);
            return Err(already_exists("replicasets.apps", new.name.as_str(), Standing::of(deletion)));
        }
        let set = ReplicaSet {
            meta: Meta {
                namespace,
                name: new.name,
                uid: self.names.new_uid(s, "ReplicaSet", namespace, new.name.as_str()),
                labels: new.labels,
                annotations: new.annotations,
                created_at: s.now,
                generation: 1,
                version: 1,
                deleting: None,
                finalizers: Box::default(),
                owner: Some(Owner::Deployment(new.deployment)),
            },
            is_replication_controller: false,
            replicas: new.replicas,
            spec: new.spec,
            status: ReplicaSetStatus::default(),
        };
        let id = s.store.insert_workload(set);
        s.changed.push(Changed::WorkloadAdded(id));
        Ok(Reply::Workload(id))
    }

    pub(super) fn create_revision(&mut self, s: &mut Session<'_>, new: NewRevision) -> Answer {
        let Some(owner) = s.store.workload_meta(new.owner) else { return Err(not_found("workloads", "")) };
        let (namespace, name) = (owner.namespace, Symbol::new(&format!("{}-{}", owner.name, new.hash)));
        let meta = Meta {
            namespace,
            name,
            uid: self.names.new_uid(s, "ControllerRevision", namespace, name.as_str()),
            labels: new.template.metadata.labels.with(Symbol::new("controller-revision-hash"), new.hash),
            annotations: Arc::default(),
            created_at: s.now,
            generation: 1,
            version: 1,
            deleting: None,
            finalizers: Box::default(),
            owner: Some(new.owner.as_owner()),
        };
        let revision = ControllerRevision { meta, hash: new.hash, revision: new.revision, template: new.template };
        let id = s.store.insert_revision(revision);
        Ok(Reply::Revision(id))
    }

    pub(super) fn create_job(
        &mut self,
        s: &mut Session<'_>,
        id: CronJobId,
        name: Symbol,
        scheduled_at: SimTime,
    ) -> Answer {
        let Some(cron_job) = s.store.cron_jobs.get(id) else { return Err(not_found("cronjobs.batch", "")) };
        let (namespace, mut template) = (cron_job.meta.namespace, cron_job.spec.job_template.clone());
        if let Some(there) = s.store.find_workload(ObjectKind::Job, namespace, name) {
            let deletion = s.store.workload_meta(there).and_then(|meta| meta.deleting);
            return Err(already_exists("jobs.batch", name.as_str(), Standing::of(deletion)));
        }
        template.spec.label(&mut template.metadata.labels);
        let mut meta = Meta {
            namespace,
            name,
            uid: self.names.new_uid(s, "Job", namespace, name.as_str()),
            labels: template.metadata.labels.clone(),
            annotations: Arc::new(template.metadata.annotations.clone()),
            created_at: s.now,
            generation: 1,
            version: 1,
            deleting: None,
            finalizers: Box::default(),
            owner: Some(Owner::CronJob(id)),
        };
        generate_selector(&mut template.spec, &mut meta);
        let job = Job { meta, spec: Arc::new(template.spec), status: JobStatus::default() };
        let workload = s.store.insert_workload(job);
        if let (WorkloadId::Job(job), Some(cron_job)) = (workload, s.store.cron_jobs.get_mut(id)) {
            cron_job.status.last_scheduled_at = Some(scheduled_at);
            cron_job.status.active.push((job, name));
        }
        s.changed.push(Changed::WorkloadAdded(workload));
        s.changed.push(Changed::WorkloadUpdated(WorkloadId::CronJob(id), ObjectDelta::STATUS));
        Ok(Reply::Workload(workload))
    }

    /// PUT of a workload's subresource `scale`.
    pub(super) fn scale(&mut self, s: &mut Session<'_>, workload: WorkloadId, replicas: i32) -> Answer {
        let missing = || not_found("the workload", "");
        let mut object = export_workload(s.store, workload).ok_or_else(missing)?;
        match &mut object {
            Object::Deployment(deployment) => deployment.spec.replicas = Some(replicas),
            Object::StatefulSet(set) => set.spec.replicas = Some(replicas),
            Object::ReplicaSet(set) => set.spec.replicas = Some(replicas),
            Object::ReplicationController(controller) => controller.spec.replicas = Some(replicas),
            _ => return Err(missing()),
        }
        self.apply(s, object)
    }
}

fn missing(workload: WorkloadId) -> crate::component::ApiError {
    not_found(workload.kind().as_str(), "")
}

pub(super) fn update_replica_set(s: &mut Session<'_>, request: Request) -> Answer {
    let Request::UpdateReplicaSet { replica_set: id, base, replicas, annotations, min_ready_seconds } = request else {
        return Ok(Reply::Done);
    };
    let workload = WorkloadId::ReplicaSet(id);
    unchanged_since(s, workload, base)?;
    let Some(set) = s.store.replica_sets.get_mut(id) else { return Err(missing(workload)) };
    let mut delta = ObjectDelta::NONE;
    if let Some(replicas) = replicas
        && set.replicas != replicas
    {
        set.replicas = replicas;
        set.meta.generation += 1;
        delta = delta | ObjectDelta::SPEC;
    }
    if let Some(annotations) = annotations
        && set.meta.annotations != annotations
    {
        set.meta.annotations = annotations;
        delta = delta | ObjectDelta::METADATA;
    }
    if let Some(seconds) = min_ready_seconds.filter(|seconds| *seconds != set.spec.min_ready_seconds) {
        Arc::make_mut(&mut set.spec).min_ready_seconds = seconds;
        set.meta.generation += 1;
        delta = delta | ObjectDelta::SPEC;
    }
    publish(s, workload, delta)
}

/// # Source
/// apiserver, `GuaranteedUpdate`: a PUT names the version that it is made from.
fn unchanged_since(s: &Session<'_>, workload: WorkloadId, base: BaseVersion) -> Result<(), ApiError> {
    let Some(meta) = s.store.workload_meta(workload) else { return Err(missing(workload)) };
    if base.is_none_or(|base| base == meta.version) {
        return Ok(());
    }
    Err(modified(workload.resource(), meta.name))
}

/// 409 in the API's words.
pub(super) fn modified(resource: &str, name: Symbol) -> ApiError {
    let message = format!(
        "Operation cannot be fulfilled on {resource} \"{name}\": the object has been modified; please apply your changes to the latest version and try again"
    );
    ApiError::new(ErrorReason::Conflict, message)
}

/// # Source
/// `ValidateJobStatus`, gate `RejectMoreReadyThanActivePods`: only what changes is checked.
pub(super) fn valid_job_status(job: &Job, new: &JobStatus) -> Result<(), ApiError> {
    let changes = (new.ready, new.active) != (job.status.ready, job.status.active);
    if !changes || new.ready <= new.active {
        return Ok(());
    }
    let message = format!(
        "Job.batch \"{}\" is invalid: status.ready: Invalid value: {}: cannot set more ready pods than active",
        job.meta.name, new.ready
    );
    Err(ApiError::new(ErrorReason::Invalid, message))
}

fn publish(s: &mut Session<'_>, workload: WorkloadId, delta: ObjectDelta) -> Answer {
    if delta.is_none() {
        return Ok(Reply::Unchanged);
    }
    s.changed.push(Changed::WorkloadUpdated(workload, delta));
    Ok(Reply::Workload(workload))
}

pub(super) fn set_annotations(
    s: &mut Session<'_>,
    workload: WorkloadId,
    mut annotations: Arc<BTreeMap<Symbol, Symbol>>,
) -> Answer {
    let Some(meta) = s.store.workload_meta_mut(workload) else { return Err(missing(workload)) };
    // The server alone writes this one.
    let generation = DaemonSet::template_generation_annotation();
    if annotations.get(&generation) != meta.annotations.get(&generation) && matches!(workload, WorkloadId::DaemonSet(_))
    {
        let kept = meta.annotations.get(&generation).map(|&value| (generation, value));
        let others = annotations.iter().filter(|(key, _)| **key != generation).map(|(&key, &value)| (key, value));
        annotations = Arc::new(others.chain(kept).collect());
    }
    if meta.annotations == annotations {
        return Ok(Reply::Unchanged);
    }
    meta.annotations = annotations;
    publish(s, workload, ObjectDelta::METADATA)
}

pub(super) fn set_owner(s: &mut Session<'_>, workload: WorkloadId, owner: Option<Owner>) -> Answer {
    let Some(meta) = s.store.workload_meta(workload) else { return Err(missing(workload)) };
    if meta.owner == owner {
        return Ok(Reply::Unchanged);
    }
    s.store.set_workload_owner(workload, owner);
    publish(s, workload, ObjectDelta::METADATA)
}

pub(super) fn set_revision_number(s: &mut Session<'_>, id: ControllerRevisionId, revision: i64) -> Answer {
    match s.store.controller_revisions.get_mut(id) {
        None => Err(not_found("controllerrevisions.apps", "")),
        Some(object) => {
            object.revision = revision;
            Ok(Reply::Revision(id))
        }
    }
}

pub(super) fn delete_revision(s: &mut Session<'_>, id: ControllerRevisionId) -> Answer {
    s.store.remove_revision(id).map(|_| Reply::Done).ok_or_else(|| not_found("controllerrevisions.apps", ""))
}

pub(super) fn set_revision_owner(s: &mut Session<'_>, id: ControllerRevisionId, owner: Option<Owner>) -> Answer {
    if s.store.controller_revisions.get(id).is_none() {
        return Err(not_found("controllerrevisions.apps", ""));
    }
    s.store.set_revision_owner(id, owner);
    Ok(Reply::Revision(id))
}

/// Writes a workload's status from the version of it that was read.
pub(super) fn set_status<W: Workload>(
    s: &mut Session<'_>,
    id: Id<W>,
    base: BaseVersion,
    write: impl FnOnce(&mut W) -> Result<ObjectDelta, ApiError>,
) -> Answer {
    let workload = W::workload_id(id);
    unchanged_since(s, workload, base)?;
    let held = W::table_mut(s.store).get_mut(id).ok_or_else(|| missing(workload))?;
    let delta = write(held)?;
    publish(s, workload, delta)
}

/// Replaces a status and says whether it differed.
pub(super) fn write_status<W: Workload>(held: &mut W, new: W::Status) -> ObjectDelta {
    let old = held.status_mut();
    if *old == new {
        return ObjectDelta::NONE;
    }
    *old = new;
    ObjectDelta::STATUS
}

/// # Source
/// apiserver, deletion of objects with dependents: background removes at once; foreground and orphan leave the object
/// with a finalizer until the garbage collector has dealt with the dependents. A finalizer of somebody else keeps it as well; its
/// dependents are then left alone until it is gone. A second deletion may want something else of the dependents.
pub(super) fn delete(s: &mut Session<'_>, workload: WorkloadId, propagation: Propagation) -> Answer {
    let now = s.now;
    let Some(meta) = s.store.workload_meta_mut(workload) else { return Err(missing(workload)) };
    if propagation == Propagation::Background && meta.finalizers.is_empty() {
        return remove(s, workload);
    }
    match meta.deleting {
        Some((_, present)) if present == propagation => return Ok(Reply::Unchanged),
        Some((since, _)) => meta.deleting = Some((since, propagation)),
        None => {
            meta.deleting = Some((now, propagation));
            meta.generation += 1;
        }
    }
    publish(s, workload, ObjectDelta::DELETION)
}

pub(super) fn finalize(s: &mut Session<'_>, workload: WorkloadId) -> Answer {
    match s.store.workload_meta_mut(workload) {
        None => Err(missing(workload)),
        // The finalizer of the garbage collector is off; those of others are not.
        Some(meta) if !meta.finalizers.is_empty() => {
            meta.deleting = meta.deleting.map(|(since, _)| (since, Propagation::Background));
            publish(s, workload, ObjectDelta::METADATA)
        }
        Some(_) => remove(s, workload),
    }
}

/// Takes a workload out of the API.
pub(super) fn remove(s: &mut Session<'_>, workload: WorkloadId) -> Answer {
    s.store.remove_workload(workload);
    s.changed.push(Changed::WorkloadRemoved(workload));
    Ok(Reply::Done)
}
