//! Pods.

use std::sync::Arc;

use smallvec::SmallVec;

use super::strategy;
use super::strategy::{Key, Strategy, owner_by_name};
use crate::apiserver::resource_quota::Charge;
use crate::apiserver::server::ApiServer;
use crate::apiserver::session::{Session, Standing, already_exists};
use crate::apiserver::subject::Subject;
use crate::apiserver::{finalizers, pods, validation};
use crate::arena::Symbol;
use crate::component::{Answer, DeleteOptions, Reply, export_pod};
use crate::model::config::AdmissionPlugin;
use crate::model::{self, ConditionStatus, Object, ObjectKind, ObjectMeta, PodConditionType, PodSpec};
use crate::state::{
    Changed, ContainerState, ContainerStatus, Deletion, DeletionCause, DisruptionReason, DisruptionTarget, EndReason,
    Ending, JOB_TRACKING, NotScheduled, NotScheduledReason, Owner, Pod, PodCondition, PodDelta, PodId, PodPhase,
    Status, Store, Uid,
};
use crate::units::{SimDuration, SimTime};

impl Strategy for model::Pod {
    type Id = PodId;
    const RESOURCE: &'static str = "pods";
    const VALIDATES_UPDATES: bool = true;

    fn find(store: &Store, key: &Key) -> Option<PodId> {
        store.find_pod(key.namespace, &Arc::from(key.name.as_str()))
    }

    fn standing(store: &Store, id: PodId) -> Standing {
        Standing::of(store.pod(id).and_then(|pod| pod.deletion.as_ref()))
    }

    fn create(self, api: &mut ApiServer, s: &mut Session<'_>) -> Answer {
        let metadata = &self.metadata;
        let name = Arc::from(metadata.name.as_str());
        if let Some(there) = s.store.find_pod(metadata.namespace, &name) {
            return Err(already_exists("pods", &name, Self::standing(s.store, there)));
        }
        let mut spec = self.spec.clone();
        let never_ran = model::PodStatus::default();
        // Nothing can run that was never bound.
        let is_possible = spec.node_name.is_some() || self.status.phase != model::PodPhase::Running;
        let status = if is_possible { &self.status } else { &never_ran };
        let node = spec.node_name.take().map(|name| s.store.node_slot(name));
        let pinned_node = take_pin(&mut spec).map(|name| s.store.node_slot(name));
        drop_token_volume(&mut spec);
        let is_new = metadata.uid.is_none_or(|uid| uid.as_str().is_empty());
        let is_asked = !api.is_restoring && !api.is_applying_input;
        let subject = Subject { namespace: metadata.namespace, name: metadata.name.as_str(), is_new, is_asked };
        let admitted = api.admission.admit_own(s, spec, metadata, &subject)?;
        let own_annotations = api.admission.own_annotations(metadata, &admitted);
        let charge =
            if api.is_restoring { Charge::default() } else { pods::judge(s, metadata.namespace, &name, &admitted)? };
        let created_at = api.instant(metadata.creation_timestamp, s.now);
        let started_at = status.start_time.map(|_| api.instant(status.start_time, created_at));
        let condition = |kind| {
            status.condition(kind).map(|c| PodCondition {
                status: strategy::status(c.status),
                since: api.instant(c.last_transition_time, created_at),
            })
        };
        let ready = condition(PodConditionType::Ready);
        let containers_ready = condition(PodConditionType::ContainersReady).or(ready);
        let deletion = deletion(api, metadata, s.now);
        let not_scheduled = status.condition(PodConditionType::PodScheduled).and_then(|c| {
            let reason = NotScheduledReason::parse(c.reason.as_str()).filter(|_| c.status == ConditionStatus::False)?;
            Some(NotScheduled { reason, message: Arc::from(c.message.as_str()) })
        });
        let not_scheduled = not_scheduled.or_else(|| pods::gated(&admitted));
        let nominated_node = status.nominated_node_name.map(|name| s.store.node_slot(name));
        // The kubelet lists them by name, the specification as it likes.
        let containers = |statuses: &[model::ContainerStatus], names: &[model::Container]| -> Vec<ContainerStatus> {
            let place = |status: &&model::ContainerStatus| names.iter().position(|c| c.name == status.name);
            let mut statuses: Vec<&model::ContainerStatus> = statuses.iter().collect();
            statuses.sort_by_key(place);
            statuses.into_iter().map(|status| container_status(api, status, created_at)).collect()
        };
        let init_containers = containers(&status.init_container_statuses, &self.spec.init_containers);
        let mut containers = containers(&status.container_statuses, &self.spec.containers);
        if status.phase == model::PodPhase::Running && status.container_statuses.is_empty() {
            // A status that somebody has cut short: who runs has containers.
            let since = started_at.unwrap_or(created_at);
            let is_ready = ready.is_none_or(|condition| condition.status == Status::True);
            let runs =
                ContainerStatus { state: ContainerState::Running { since }, ready: is_ready, restarts: 0, last: None };
            containers = self.spec.containers.iter().map(|_| runs).collect();
        }
        let pod = Pod {
            namespace: metadata.namespace,
            name,
            uid: Uid::default(),
            labels: metadata.labels.clone(),
            owner: owning_node(s, metadata).or_else(|| owner_by_name(metadata)),
            spec: admitted,
            own_annotations,
            pinned_node,
            is_mirror: model::is_mirror(metadata),
            node,
            nominated_node,
            created_at,
            scheduled_at: node.map(|_| created_at),
            started_at,
            deletion,
            job_tracking: metadata.finalizers.iter().any(|f| *f == JOB_TRACKING),
            phase: phase(status.phase),
            reason: status.reason,
            ready,
            containers_ready,
            not_scheduled,
            disruption_target: status.condition(PodConditionType::DisruptionTarget).and_then(|c| {
                Some(DisruptionTarget {
                    reason: DisruptionReason::parse(c.reason.as_str())?,
                    since: api.instant(c.last_transition_time, created_at),
                    status: c.status == ConditionStatus::True,
                })
            }),
            containers: SmallVec::from_vec(containers),
            init_containers: SmallVec::from_vec(init_containers),
            resource_version: metadata.resource_version.and_then(|version| version.as_str().parse().ok()).unwrap_or(1),
        };
        let uid = api.uid(s, "Pod", metadata);
        let id = s.store.insert_pod(Pod { uid, ..pod });
        charge.commit(s);
        s.changed.push(Changed::PodAdded(id));
        Ok(Reply::Pod(id))
    }

    /// # Source
    /// kube-apiserver, pod strategy and `ValidatePodUpdate`.
    ///
    /// # Differs
    /// The refusal does not show the difference.
    fn replace(mut self, _api: &mut ApiServer, s: &mut Session<'_>, id: PodId) -> Answer {
        let Some(mut old) = export_pod(s.store, id) else { return Err(pods::gone()) };
        old.apply_defaults();
        self.apply_defaults();
        admit_again(s, &mut self.spec, &old.spec);
        self.spec.keep_words(&old.spec);
        let (new, old) = (Object::from(self), Object::from(old));
        validation::change(s, &new, &old)?;
        let (Object::Pod(new), Object::Pod(old)) = (new, old) else { return Ok(Reply::Unchanged) };
        if s.store.pod(id).is_some_and(|pod| pod.deletion.is_some()) {
            let name = old.metadata.name.as_str();
            finalizers::refuse_new(ObjectKind::Pod, name, &new.metadata.finalizers, &old.metadata.finalizers)?;
        }
        let mut delta = PodDelta::NONE;
        let mut differs = |is_other: bool, what: PodDelta| {
            if is_other {
                delta = delta | what;
            }
        };
        differs(new.metadata.labels != old.metadata.labels, PodDelta::LABELS);
        differs(new.metadata.annotations != old.metadata.annotations, PodDelta::ANNOTATIONS);
        differs(new.spec != old.spec, PodDelta::SPEC);
        differs(new.metadata.finalizers != old.metadata.finalizers, PodDelta::SPEC | PodDelta::FINALIZERS);
        if delta == PodDelta::NONE {
            return Ok(Reply::Unchanged);
        }
        let answer = pods::update_whole(s, id, delta, |s| {
            s.store.update_pod(id, |pod| {
                pod.labels = new.metadata.labels;
                if new.metadata.finalizers != old.metadata.finalizers {
                    Arc::make_mut(&mut pod.spec).finalizers = finalizers::foreign(&new.metadata.finalizers);
                    pod.job_tracking = new.metadata.finalizers.iter().any(|finalizer| *finalizer == JOB_TRACKING);
                }
                if new.metadata.annotations != old.metadata.annotations {
                    pod.annotate(new.metadata.annotations);
                }
                if new.spec != old.spec {
                    Arc::make_mut(&mut pod.spec).spec = PodSpec { node_name: None, ..new.spec };
                }
            });
        });
        pods::settle_finalizers(s, id, answer)
    }

    fn delete(_api: &mut ApiServer, s: &mut Session<'_>, id: PodId) -> Answer {
        pods::delete(s, id, DeleteOptions::default(), DeletionCause::Kubectl)
    }
}

/// A deletion that somebody has asked for already.
fn deletion(api: &ApiServer, metadata: &ObjectMeta, now: SimTime) -> Option<Deletion> {
    metadata.deletion_timestamp?;
    let deadline = api.instant(metadata.deletion_timestamp, now);
    let grace = SimDuration::from_secs(metadata.deletion_grace_period_seconds.unwrap_or(30).unsigned_abs());
    Some(Deletion { requested_at: deadline - grace, deadline, grace, cause: DeletionCause::Kubectl })
}

fn container_status(api: &ApiServer, c: &model::ContainerStatus, otherwise: SimTime) -> ContainerStatus {
    let ending = |ended: &model::ContainerStateTerminated| {
        let exit = Ending::exit(ended.exit_code, api.instant(ended.finished_at, otherwise));
        let started_at = api.instant(ended.started_at, exit.finished_at).min(exit.finished_at);
        Ending { reason: EndReason::parse(ended.reason.as_str()).unwrap_or(exit.reason), started_at, ..exit }
    };
    let state = if let Some(running) = &c.state.running {
        ContainerState::Running { since: api.instant(running.started_at, otherwise) }
    } else if let Some(ended) = &c.state.terminated {
        ContainerState::Terminated(ending(ended))
    } else {
        match c.state.waiting.as_ref().map_or("", |waiting| waiting.reason.as_str()) {
            "CrashLoopBackOff" => ContainerState::CrashLoopBackOff,
            "ErrImagePull" => ContainerState::ErrImagePull,
            "ErrImageNeverPull" => ContainerState::ErrImageNeverPull,
            // What differs is why the image cannot be had, not what is done about it.
            "ImagePullBackOff" | "ImageInspectError" | "InvalidImageName" | "RegistryUnavailable" => {
                ContainerState::ImagePullBackOff
            }
            _ => ContainerState::Waiting,
        }
    };
    let last = c.last_state.terminated.as_deref().map(ending);
    ContainerStatus { state, ready: c.ready, restarts: c.restart_count.unsigned_abs(), last }
}

/// Takes away what the admission plugin ServiceAccount has added: the volume's random name would make equal specs differ.
fn drop_token_volume(spec: &mut PodSpec) {
    const PREFIX: &str = "kube-api-access-";
    spec.volumes.retain(|volume| !volume.name.as_str().starts_with(PREFIX));
    for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
        let mounts = container.volume_mounts;
        if !mounts.as_json().contains(PREFIX) {
            continue;
        }
        let mounts = mounts.map(|mounts| {
            let is_token = |mount: &serde_json::Value| mount["name"].as_str().is_some_and(|n| n.starts_with(PREFIX));
            if let Some(items) = mounts.as_array_mut() {
                items.retain(|mount| !is_token(mount));
            }
            if mounts.as_array().is_some_and(Vec::is_empty) {
                *mounts = serde_json::Value::Null;
            }
        });
        container.volume_mounts = mounts;
    }
}

/// What admission puts back into a pod that is updated.
///
/// # Source
/// kube-apiserver, the admission plugins DefaultTolerationSeconds and Priority.
fn admit_again(s: &Session<'_>, new: &mut PodSpec, old: &PodSpec) {
    drop_token_volume(new);
    if s.config.kube_apiserver.admits_with(AdmissionPlugin::Priority) {
        new.priority = new.priority.or(old.priority);
        new.preemption_policy = new.preemption_policy.or(old.preemption_policy);
    }
    if !s.config.kube_apiserver.admits_with(AdmissionPlugin::DefaultTolerationSeconds) {
        return;
    }
    let defaults = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    for default in old.tolerations.iter().filter(|toleration| defaults.contains(&toleration.key.as_str())) {
        let tolerates = |toleration: &model::Toleration| {
            (toleration.key == default.key || toleration.key.is_empty())
                && toleration.effect.is_none_or(|effect| effect == model::TaintEffect::NoExecute)
        };
        if !new.tolerations.iter().any(tolerates) {
            new.tolerations.push(default.clone());
        }
    }
}

fn phase(phase: model::PodPhase) -> PodPhase {
    match phase {
        model::PodPhase::Running => PodPhase::Running,
        model::PodPhase::Succeeded => PodPhase::Succeeded,
        model::PodPhase::Failed => PodPhase::Failed,
        model::PodPhase::Pending | model::PodPhase::Unknown => PodPhase::Pending,
    }
}

/// Takes out a required node affinity that is the single term `metadata.name In [node]`, as daemon pods have it.
fn take_pin(spec: &mut model::PodSpec) -> Option<Symbol> {
    let node_affinity = spec.affinity.as_mut()?.node_affinity.as_mut()?;
    let required = node_affinity.required_during_scheduling_ignored_during_execution.as_ref()?;
    let [term] = required.node_selector_terms.as_slice() else { return None };
    let [field] = term.match_fields.as_slice() else { return None };
    let [name] = field.values.as_slice() else { return None };
    let is_pin = term.match_expressions.is_empty()
        && field.key.as_str() == "metadata.name"
        && field.operator == model::NodeSelectorOperator::In;
    let name = *name;
    if !is_pin {
        return None;
    }
    node_affinity.required_during_scheduling_ignored_during_execution = None;
    Some(name)
}

/// The Node that owns a mirror pod, if it is there.
fn owning_node(s: &Session<'_>, metadata: &ObjectMeta) -> Option<Owner> {
    let reference = metadata.controller().filter(|reference| reference.kind.as_str() == "Node")?;
    let node = s.store.find_node(reference.name)?;
    s.store.node(node).map(|_| Owner::Node(node))
}
