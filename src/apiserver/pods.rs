//! Requests about pods.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::resource_quota::Charge;
use super::server::ApiServer;
use super::session::{Session, Standing, already_exists};
use super::subject::Subject;
use super::{limit_ranger, resource_quota, validation};
use crate::arena::Symbol;
use crate::component::{Answer, ApiError, DeleteOptions, ErrorReason, PodDraft, PodName, PodStatusPatch, Reply};
use crate::model::{Container, Labels, ObjectKind, PodSpec};
use crate::state::{
    AdmittedSpec, Changed, ContainerState, ContainerStatus, CrashLoop, Deletion, DeletionCause, DisruptionTarget,
    JobId, NodeId, NotScheduled, NotScheduledReason, Owner, Pod, PodCondition, PodDelta, PodId, PodPhase, Status,
    Store,
};
use crate::units::SimDuration;

impl ApiServer {
    pub(super) fn create_pod(&mut self, s: &mut Session<'_>, draft: PodDraft) -> Answer {
        let name = match &draft.name {
            PodName::Exact(name) => name,
            PodName::Generate(prefix) => prefix.as_str(),
        };
        let subject = Subject { namespace: draft.namespace, name, is_new: true, is_asked: true };
        let mut spec = self.admission.admit(s, &draft.template, draft.pinned_node.is_some(), &subject)?;
        if let Some(crash_loop) = crash_loop(s.store, &draft) {
            let of_template = spec.annotations.iter().map(|(key, value)| (*key, *value));
            let annotations = of_template.chain(crash_loop.annotations.iter().copied()).collect();
            Arc::make_mut(&mut spec).annotations = Arc::new(annotations);
        }
        let (name, uid) = match draft.name {
            PodName::Exact(name) => {
                if let Some(there) = s.store.find_pod(draft.namespace, &name) {
                    let deletion = s.store.pod(there).and_then(|pod| pod.deletion.as_ref());
                    return Err(already_exists("pods", &name, Standing::of(deletion)));
                }
                let uid = self.names.new_uid(s, "Pod", draft.namespace, &name);
                (name, uid)
            }
            PodName::Generate(prefix) => self.names.generated_name(s, draft.namespace, prefix),
        };
        let charge = judge(s, draft.namespace, &name, &spec)?;
        let mut labels = draft.template.metadata.labels.clone();
        for (key, value) in draft.extra_labels {
            labels = labels.with(key, value);
        }
        let node = draft.template.spec.node_name.map(|name| s.store.node_slot(name));
        let pod = Pod {
            namespace: draft.namespace,
            name,
            uid,
            labels,
            owner: draft.owner,
            not_scheduled: gated(&spec),
            spec,
            own_annotations: (!draft.extra_annotations.is_empty())
                .then(|| Arc::new(draft.extra_annotations.into_iter().collect())),
            pinned_node: draft.pinned_node,
            is_mirror: false,
            node,
            nominated_node: None,
            created_at: s.now,
            scheduled_at: node.map(|_| s.now),
            started_at: None,
            deletion: None,
            job_tracking: draft.job_tracking,
            phase: PodPhase::Pending,
            reason: crate::arena::Symbol::empty(),
            ready: None,
            containers_ready: None,
            disruption_target: None,
            containers: smallvec::SmallVec::new(),
            init_containers: smallvec::SmallVec::new(),
            resource_version: 1,
        };
        let id = s.store.insert_pod(pod);
        charge.commit(s);
        s.changed.push(Changed::PodAdded(id));
        Ok(Reply::Pod(id))
    }
}

/// Why a new pod is going to crash, if the pods that it comes after did.
fn crash_loop<'a>(store: &'a Store, draft: &PodDraft) -> Option<&'a CrashLoop> {
    if store.crash_loops.is_empty() {
        return None;
    }
    let (kind, name) = match draft.owner.as_ref()? {
        Owner::ReplicaSet(id) => {
            let set = store.replica_sets.get(*id)?;
            match set.meta.owner {
                Some(Owner::Deployment(id)) => ("Deployment", store.deployments.get(id)?.meta.name),
                _ if set.is_replication_controller => ("ReplicationController", set.meta.name),
                _ => ("ReplicaSet", set.meta.name),
            }
        }
        Owner::DaemonSet(id) => ("DaemonSet", store.daemon_sets.get(*id)?.meta.name),
        Owner::StatefulSet(id) => ("StatefulSet", store.stateful_sets.get(*id)?.meta.name),
        Owner::Job(id) => ("Job", store.jobs.get(*id)?.meta.name),
        Owner::Deployment(_) | Owner::CronJob(_) | Owner::Node(_) | Owner::Foreign { .. } => return None,
    };
    let spec = &draft.template.spec;
    let containers = || spec.init_containers.iter().chain(&spec.containers);
    store.crash_loops.iter().find(|known| {
        known.kind == kind
            && known.name == name
            && known.namespace == draft.namespace
            && known.containers.len() == containers().count()
            && known.containers.iter().zip(containers()).all(|(crashing, new)| is_unmended(crashing, new))
    })
}

/// Whether a container of a template is what it was in the pods that crash, as far as that may be why: what it runs, with what, and how much
/// memory it may take. What admission gave the pods is not in the template.
fn is_unmended(crashing: &Container, new: &Container) -> bool {
    let limits = &new.resources.limits;
    crashing.image == new.image
        && crashing.command == new.command
        && crashing.args == new.args
        && crashing.env == new.env
        && crashing.env_from == new.env_from
        && (limits.is_empty() || crashing.resources.limits == *limits)
}

/// What the plugins say that judge a pod once it is complete, and what it counts for.
///
/// # Errors
/// 422 and 403.
pub(super) fn judge(s: &Session<'_>, namespace: Symbol, name: &str, spec: &AdmittedSpec) -> Result<Charge, ApiError> {
    limit_ranger::check_pod(s, namespace, name, spec)?;
    resource_quota::pod(s, namespace, name, spec)
}

/// What a new pod says about its scheduling.
///
/// # Source
/// kube-apiserver, pod strategy: a pod with gates is created with the condition PodScheduled.
pub(super) fn gated(spec: &PodSpec) -> Option<NotScheduled> {
    let message = || Arc::from("Scheduling is blocked due to non-empty scheduling gates");
    (!spec.scheduling_gates.is_empty())
        .then(|| NotScheduled { reason: NotScheduledReason::SchedulingGated, message: message() })
}

pub(super) fn gone() -> ApiError {
    ApiError::new(ErrorReason::NotFound, "pods not found")
}

/// Publishes a write of a pod; it makes a new version of the object.
fn updated(s: &mut Session<'_>, id: PodId, delta: PodDelta, before: Option<Arc<Pod>>) {
    s.store.raise_pod_version(id);
    s.changed.push(Changed::PodUpdated { pod: id, delta, before });
}

pub(super) fn get(s: &Session<'_>, id: PodId) -> Answer {
    s.store.pod(id).map(|_| Reply::Pod(id)).ok_or_else(gone)
}

/// # Source
/// apiserver, graceful deletion of pods: the option, else the pod's own grace; 0 for pods that never ran or have ended; a
/// later deletion can only shorten, counting from the first.
pub(super) fn delete(s: &mut Session<'_>, id: PodId, options: DeleteOptions, cause: DeletionCause) -> Answer {
    let Some(pod) = s.store.pod(id) else { return Err(gone()) };
    if options.uid.is_some_and(|uid| uid != pod.uid) {
        let message = format!(
            "Operation cannot be fulfilled on pods \"{}\": the UID in the precondition does not match",
            pod.name
        );
        return Err(ApiError::new(ErrorReason::Conflict, message));
    }
    let asked_s = options.grace_s.unwrap_or_else(|| pod.spec.termination_grace_period_seconds.unwrap_or(30));
    let grace_s = match asked_s {
        _ if pod.node.is_none() || pod.phase.is_terminal() => 0,
        negative if negative < 0 => 1,
        seconds => seconds,
    };
    let grace = SimDuration::from_secs(grace_s.unsigned_abs());
    let held = pod.is_held();
    if grace == SimDuration::ZERO && !held {
        if pod.deletion.is_none() {
            mark(s, id, grace, cause);
        }
        return remove(s, id);
    }
    let shortens = pod.deletion.is_none_or(|d| options.grace_s.is_some() && grace < d.grace);
    if !shortens {
        return Ok(Reply::Unchanged);
    }
    mark(s, id, grace, cause);
    updated(s, id, PodDelta::DELETION, None);
    Ok(Reply::Done)
}

/// Sets or shortens the deletion time stamp without publishing it.
///
/// # Source
/// apiserver, `BeforeDelete`: a shorter grace counts from the first deletion, but moves the time stamp to now at the earliest; what
/// is then left of a grace is a second.
fn mark(s: &mut Session<'_>, id: PodId, grace: SimDuration, cause: DeletionCause) {
    let now = s.now;
    s.store.update_pod(id, |pod| {
        pod.deletion = Some(match pod.deletion {
            None => Deletion { requested_at: now, deadline: now + grace, grace, cause },
            Some(first) => {
                let deadline = first.deadline - first.grace + grace;
                let is_over = deadline < now && grace != SimDuration::ZERO;
                let grace = if is_over { SimDuration::from_secs(1) } else { grace };
                Deletion { deadline: deadline.max(now), grace, ..first }
            }
        });
    });
}

fn remove(s: &mut Session<'_>, id: PodId) -> Answer {
    let Some(last) = s.store.remove_pod(id) else { return Err(gone()) };
    let last = Arc::new(last);
    s.changed.push(Changed::PodRemoved { pod: id, last: Arc::clone(&last) });
    super::volumes::pod_removed(s, &last);
    Ok(Reply::Done)
}

pub(super) fn bind(s: &mut Session<'_>, id: PodId, node: NodeId) -> Answer {
    let Some(pod) = s.store.pod(id) else { return Err(gone()) };
    if pod.deletion.is_some() {
        let message = format!(
            "Operation cannot be fulfilled on pods/binding \"{}\": pod {} is being deleted, cannot be assigned to a host",
            pod.name, pod.name
        );
        return Err(ApiError::new(ErrorReason::Conflict, message));
    }
    if pod.node.is_some() {
        let message = format!(
            "Operation cannot be fulfilled on pods/binding \"{}\": pod {} is already assigned to node",
            pod.name, pod.name
        );
        return Err(ApiError::new(ErrorReason::Conflict, message));
    }
    let now = s.now;
    s.store.set_pod_node(id, node);
    let delta = s.store.update_pod(id, |pod| {
        pod.scheduled_at = Some(now);
        let mut delta = PodDelta::NODE;
        if pod.not_scheduled.take().is_some() {
            delta = delta | PodDelta::CONDITIONS;
        }
        if pod.nominated_node.take().is_some() {
            delta = delta | PodDelta::NOMINATION;
        }
        delta
    });
    updated(s, id, delta, None);
    Ok(Reply::Pod(id))
}

pub(super) fn patch_status(s: &mut Session<'_>, id: PodId, patch: PodStatusPatch) -> Answer {
    if s.store.pod(id).is_none() {
        return Err(gone());
    }
    let now = s.now;
    let delta = s.store.update_pod(id, |pod| write_status(pod, patch, now));
    if delta.is_none() {
        return Ok(Reply::Unchanged);
    }
    updated(s, id, delta, None);
    Ok(Reply::Pod(id))
}

/// When a container that has ended was started is known from the status before.
///
/// # Source
/// kubelet and container runtime: a dead container's status names both.
fn keep_starts(new: &mut [ContainerStatus], old: &[ContainerStatus]) {
    for (new, old) in new.iter_mut().zip(old) {
        let last = new.last.as_mut();
        let state = if let ContainerState::Terminated(ending) = &mut new.state { Some(ending) } else { None };
        for ending in last.into_iter().chain(state) {
            let known = [old.state.ending(), old.last].into_iter().flatten();
            let mut known = known.filter(|known| known.finished_at == ending.finished_at);
            ending.started_at = match (known.next(), old.state) {
                (Some(known), _) => known.started_at,
                (None, ContainerState::Running { since }) if since <= ending.finished_at => since,
                _ => ending.started_at,
            };
        }
    }
}

/// How a container ended before stays in its status until it ends again.
///
/// # Source
/// kubelet, `convertToAPIContainerStatuses`: the end before the present state, from the dead container that is still there.
fn keep_last_states(new: &mut [ContainerStatus], old: &[ContainerStatus]) {
    for (new, old) in new.iter_mut().zip(old) {
        let before = match old.state {
            ContainerState::Terminated(ending) if new.restarts > old.restarts => Some(ending),
            _ => old.last,
        };
        new.last = new.last.or(before);
    }
}

fn write_status(pod: &mut Pod, patch: PodStatusPatch, now: crate::units::SimTime) -> PodDelta {
    let mut delta = PodDelta::NONE;
    let stamped_at = patch.stamped_at.unwrap_or(now);
    let mut set = |differs: bool, part: PodDelta| {
        if differs {
            delta = delta | part;
        }
    };
    // A kubelet keeps the end of a pod as it has seen it (`generateAPIPodStatus`), also while the post of it is on its way.
    if let Some(phase) = patch.phase.filter(|_| !pod.phase.is_terminal()) {
        set(std::mem::replace(&mut pod.phase, phase) != phase, PodDelta::PHASE);
    }
    if let Some(reason) = patch.reason {
        set(std::mem::replace(&mut pod.reason, reason) != reason, PodDelta::PHASE);
    }
    if let Some(status) = patch.ready {
        let differs = pod.ready.is_none_or(|old| old.status != status);
        if differs {
            pod.ready = Some(PodCondition { status, since: stamped_at });
        }
        set(differs, PodDelta::READY);
    }
    if let Some(at) = patch.started
        && pod.started_at.is_none()
    {
        pod.started_at = Some(at);
        set(true, PodDelta::CONTAINERS);
    }
    if let Some(mut containers) = patch.containers {
        keep_starts(&mut containers, &pod.containers);
        keep_last_states(&mut containers, &pod.containers);
        let differs = pod.containers != containers;
        let are_ready = !containers.is_empty() && containers.iter().all(|container| container.ready);
        let status = if are_ready { Status::True } else { Status::False };
        let is_told = differs || patch.ready.is_some();
        let is_news = is_told && pod.containers_ready.is_none_or(|old| old.status != status);
        if is_news {
            pod.containers_ready = Some(PodCondition { status, since: stamped_at });
        }
        set(differs || is_news, PodDelta::CONTAINERS);
        pod.containers = containers;
    }
    if let Some(mut containers) = patch.init_containers {
        keep_starts(&mut containers, &pod.init_containers);
        keep_last_states(&mut containers, &pod.init_containers);
        set(pod.init_containers != containers, PodDelta::CONTAINERS);
        pod.init_containers = containers;
    }
    if let Some((reason, status)) = patch.disruption {
        let same = pod.disruption_target.is_some_and(|old| old.reason == reason && old.status == status);
        if !same {
            pod.disruption_target = Some(DisruptionTarget { reason, since: stamped_at, status });
        }
        set(!same, PodDelta::CONDITIONS);
    }
    if let Some(node) = patch.nominated_node {
        set(std::mem::replace(&mut pod.nominated_node, node) != node, PodDelta::NOMINATION);
    }
    if patch.not_scheduled.is_some() {
        set(pod.not_scheduled != patch.not_scheduled, PodDelta::CONDITIONS);
        pod.not_scheduled = patch.not_scheduled;
    }
    delta
}

/// Changes what indexes, selectors or hints read; the pod before is published with it.
pub(super) fn update_whole(
    s: &mut Session<'_>,
    id: PodId,
    delta: PodDelta,
    write: impl FnOnce(&mut Session<'_>),
) -> Answer {
    let Some(before) = s.store.pod(id).map(|pod| Arc::new(pod.clone())) else { return Err(gone()) };
    write(s);
    updated(s, id, delta, Some(before));
    Ok(Reply::Pod(id))
}

pub(super) fn set_owner(s: &mut Session<'_>, id: PodId, owner: Option<Owner>) -> Answer {
    if s.store.pod(id).is_some_and(|pod| pod.owner == owner) {
        return Ok(Reply::Unchanged);
    }
    update_whole(s, id, PodDelta::OWNER, |s| s.store.set_pod_owner(id, owner))
}

pub(super) fn set_labels(s: &mut Session<'_>, id: PodId, labels: Labels) -> Answer {
    let Some(pod) = s.store.pod(id) else { return Err(gone()) };
    if pod.labels == labels {
        return Ok(Reply::Unchanged);
    }
    validation::labels(ObjectKind::Pod, &pod.name, &labels)?;
    update_whole(s, id, PodDelta::LABELS, |s| s.store.update_pod(id, |pod| pod.labels = labels))
}

pub(super) fn set_annotations(s: &mut Session<'_>, id: PodId, annotations: Arc<BTreeMap<Symbol, Symbol>>) -> Answer {
    let Some(pod) = s.store.pod(id) else { return Err(gone()) };
    let old = pod.annotations();
    if old == *annotations {
        return Ok(Reply::Unchanged);
    }
    validation::pod_annotations(&pod.name, &annotations, &old)?;
    update_whole(s, id, PodDelta::ANNOTATIONS, |s| {
        s.store.update_pod(id, |pod| pod.annotate(Arc::unwrap_or_clone(annotations)));
    })
}

/// Owner and tracking finalizer in one patch. A pod that only the finalizer held goes.
pub(super) fn claim_for_job(s: &mut Session<'_>, id: PodId, job: Option<JobId>) -> Answer {
    let Some(pod) = s.store.pod(id) else { return Err(gone()) };
    let owner = job.map(Owner::Job);
    if pod.owner == owner && pod.job_tracking == job.is_some() {
        return Ok(Reply::Unchanged);
    }
    let is_over = job.is_none() && pod.job_tracking;
    let answer = update_whole(s, id, PodDelta::OWNER | PodDelta::FINALIZERS, |s| {
        s.store.set_pod_owner(id, owner);
        s.store.update_pod(id, |pod| pod.job_tracking = job.is_some());
    });
    if is_over && is_let_go(s, id) { remove(s, id) } else { answer }
}

/// It was to be deleted at once, and nothing holds it any more.
///
/// # Source
/// API machinery, `ShouldDeleteDuringUpdate`.
fn is_let_go(s: &Session<'_>, id: PodId) -> bool {
    let is_due = |pod: &Pod| pod.deletion.is_some_and(|deletion| deletion.grace == SimDuration::ZERO);
    s.store.pod(id).is_some_and(|pod| is_due(pod) && !pod.is_held())
}

/// What becomes of a pod whose finalizers may have been taken off by an update, which was answered.
pub(super) fn settle_finalizers(s: &mut Session<'_>, id: PodId, answer: Answer) -> Answer {
    if answer.is_ok() && is_let_go(s, id) { remove(s, id) } else { answer }
}

pub(super) fn release_from_job(s: &mut Session<'_>, id: PodId) -> Answer {
    let Some(pod) = s.store.pod(id) else { return Err(gone()) };
    if !pod.job_tracking {
        return Ok(Reply::Unchanged);
    }
    s.store.update_pod(id, |pod| pod.job_tracking = false);
    if is_let_go(s, id) {
        return remove(s, id);
    }
    updated(s, id, PodDelta::FINALIZERS, None);
    Ok(Reply::Pod(id))
}
