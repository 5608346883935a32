//! Whole objects, as kubectl and manifests bring them: into the store, and back out of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::admission::Subject;
use super::autoscalers;
use super::resource_quota::Charge;
use super::{ApiServer, Session, already_exists, finalizers, not_found, pods, resource_quota, volumes};
use crate::arena::Symbol;
use crate::component::{Answer, ApiError, Counted, ErrorReason, NodeRegistration, Reply, quota_usage};
use crate::model::{self, ConditionStatus, LabelSelector, NodeConditionType, Object, ObjectMeta, PodConditionType};
use crate::state::{
    Autoscaler, Changed, ContainerState, ContainerStatus, ControllerRevision, CronJob, DaemonSet, DaemonSetStatus,
    Deletion, DeletionCause, Deployment, DeploymentCondition, DeploymentStatus, DisruptionReason, DisruptionTarget,
    EndReason, Ending, Endpoint, JOB_TRACKING, Job, JobStatus, Meta, Namespace, NodeCondition, NodeConditionKind,
    NotScheduled, NotScheduledReason, ObjectDelta, Owner, Pod, PodCondition, PodDisruptionBudget,
    PodDisruptionBudgetStatus, PodPhase, PriorityClass, Quota, ReplicaSet, ReplicaSetStatus, Service, ServiceId,
    StatefulSet, StatefulSetStatus, Status, Stored, Uid, WorkloadId,
};
use crate::units::SimDuration;

impl ApiServer {
    /// POST: 409 if the object exists.
    pub(super) fn create(&mut self, s: &mut Session<'_>, object: Object) -> Answer {
        match object {
            Object::Namespace(namespace) => self.put_namespace(s, *namespace, Existing::Refuse),
            Object::Node(node) => self.put_node(s, *node),
            Object::Pod(pod) => self.put_pod(s, *pod),
            Object::Deployment(o) => self.put_deployment(s, *o, Existing::Refuse),
            Object::ReplicaSet(o) => self.put_replica_set(s, *o, Existing::Refuse),
            Object::ReplicationController(o) => self.put_replication_controller(s, *o, Existing::Refuse),
            Object::DaemonSet(o) => self.put_daemon_set(s, *o, Existing::Refuse),
            Object::StatefulSet(o) => self.put_stateful_set(s, *o, Existing::Refuse),
            Object::Job(o) => self.put_job(s, *o, Existing::Refuse),
            Object::CronJob(o) => self.put_cron_job(s, *o, Existing::Refuse),
            Object::PodDisruptionBudget(o) => self.put_budget(s, *o, Existing::Refuse),
            Object::PriorityClass(o) => self.put_priority_class(s, &o, Existing::Refuse),
            Object::RuntimeClass(o) => self.put_runtime_class(s, *o, Existing::Refuse),
            Object::Service(o) => self.put_service(s, *o, Existing::Refuse),
            Object::PersistentVolume(o) => self.put_volume(s, *o),
            Object::PersistentVolumeClaim(o) => self.put_claim(s, *o),
            Object::StorageClass(o) => volumes::put_storage_class(s, *o),
            Object::CSIDriver(o) => volumes::put_driver(s, *o),
            Object::CSINode(o) => volumes::put_csi_node(s, *o),
            Object::Stored(o) => self.put_stored(s, &o, Existing::Refuse),
            Object::ControllerRevision(o) => self.put_revision(s, *o),
            Object::HorizontalPodAutoscaler(o) => self.put_autoscaler(s, *o, Existing::Refuse),
            Object::LimitRange(o) => self.put_limit_range(s, *o, Existing::Refuse),
            Object::ResourceQuota(o) => self.put_quota(s, *o, Existing::Refuse),
        }
    }

    /// PUT or POST: an object that exists gets the new spec, labels and annotations and keeps its status.
    pub(super) fn apply(&mut self, s: &mut Session<'_>, object: Object) -> Answer {
        match object {
            Object::Namespace(namespace) => self.put_namespace(s, *namespace, Existing::Replace),
            Object::Deployment(o) => self.put_deployment(s, *o, Existing::Replace),
            Object::ReplicaSet(o) => self.put_replica_set(s, *o, Existing::Replace),
            Object::ReplicationController(o) => self.put_replication_controller(s, *o, Existing::Replace),
            Object::DaemonSet(o) => self.put_daemon_set(s, *o, Existing::Replace),
            Object::StatefulSet(o) => self.put_stateful_set(s, *o, Existing::Replace),
            Object::Job(o) => self.put_job(s, *o, Existing::Replace),
            Object::CronJob(o) => self.put_cron_job(s, *o, Existing::Replace),
            Object::PodDisruptionBudget(o) => self.put_budget(s, *o, Existing::Replace),
            Object::Service(o) => self.put_service(s, *o, Existing::Replace),
            Object::RuntimeClass(o) => self.put_runtime_class(s, *o, Existing::Replace),
            Object::PriorityClass(o) => self.put_priority_class(s, &o, Existing::Replace),
            Object::Pod(o) => self.apply_pod(s, *o),
            Object::Node(o) => self.apply_node(s, *o),
            Object::PersistentVolumeClaim(o) => self.apply_claim(s, *o),
            Object::PersistentVolume(o) => self.apply_volume(s, *o),
            Object::Stored(o) => self.put_stored(s, &o, Existing::Replace),
            Object::HorizontalPodAutoscaler(o) => self.put_autoscaler(s, *o, Existing::Replace),
            Object::LimitRange(o) => self.put_limit_range(s, *o, Existing::Replace),
            Object::ResourceQuota(o) => self.put_quota(s, *o, Existing::Replace),
            object @ (Object::StorageClass(_) | Object::CSIDriver(_) | Object::CSINode(_)) => {
                volumes::apply_storage(s, object)
            }
            other => match self.create(s, other) {
                Err(error) if error.reason == ErrorReason::AlreadyExists => Ok(Reply::Unchanged),
                answer => answer,
            },
        }
    }

    pub(super) fn meta(&mut self, s: &Session<'_>, kind: &str, metadata: &ObjectMeta) -> Meta {
        Meta {
            namespace: metadata.namespace,
            name: metadata.name,
            uid: self.uid(s, kind, metadata),
            labels: metadata.labels.clone(),
            annotations: Arc::new(metadata.annotations.clone()),
            created_at: self.instant(metadata.creation_timestamp, s.now),
            generation: metadata.generation.max(1),
            version: 1,
            deleting: metadata.deletion_timestamp.filter(|_| !metadata.finalizers.is_empty()).map(|_| {
                let since = self.instant(metadata.deletion_timestamp, s.now);
                (since, finalizers::propagation(&metadata.finalizers))
            }),
            finalizers: finalizers::foreign(&metadata.finalizers),
            owner: owner_by_name(metadata),
        }
    }

    fn uid(&mut self, s: &Session<'_>, kind: &str, metadata: &ObjectMeta) -> Uid {
        match metadata.uid {
            Some(uid) if !uid.as_str().is_empty() => Uid::from_text(uid.as_str()),
            _ => self.new_uid(s, kind, metadata.namespace, metadata.name.as_str()),
        }
    }

    fn put_namespace(&mut self, s: &mut Session<'_>, o: model::Namespace, existing: Existing) -> Answer {
        let name = o.metadata.name;
        let labels = o.metadata.labels.with(Symbol::new("kubernetes.io/metadata.name"), name);
        if let Some((id, _)) = s.store.namespace(name) {
            if existing == Existing::Refuse {
                return Err(already_exists("namespaces", name.as_str()));
            }
            let (old, annotations) = (&mut s.store.namespaces[id], o.metadata.annotations);
            if old.deleting_since.is_some() {
                finalizers::refuse_new(
                    model::ObjectKind::Namespace,
                    name.as_str(),
                    &o.metadata.finalizers,
                    &old.finalizers,
                )?;
            }
            let held_by = finalizers::foreign(&o.metadata.finalizers);
            if old.labels == labels && *old.annotations == annotations && old.finalizers == held_by {
                return Ok(Reply::Unchanged);
            }
            old.finalizers = held_by;
            if old.is_emptied && old.finalizers.is_empty() {
                return super::removal::finalize_namespace(s, name);
            }
            old.labels = labels;
            old.annotations = Arc::new(annotations);
            self.admission.clear();
            s.changed.push(Changed::NamespaceChanged(id));
            return Ok(Reply::Done);
        }
        let uid = self.uid(s, "Namespace", &o.metadata);
        let annotations = Arc::new(o.metadata.annotations);
        let finalizers = finalizers::foreign(&o.metadata.finalizers);
        let created_at = self.instant(o.metadata.creation_timestamp, s.now);
        let namespace = Namespace {
            name,
            uid,
            labels,
            annotations,
            created_at,
            deleting_since: None,
            finalizers,
            is_emptied: false,
        };
        let id = s.store.namespaces.insert(namespace);
        s.changed.push(Changed::NamespaceChanged(id));
        Ok(Reply::Done)
    }

    /// An object of a kind that decides nothing.
    fn put_stored(&mut self, s: &mut Session<'_>, o: &model::StoredObject, existing: Existing) -> Answer {
        let kind = o.stored_kind();
        let key = (kind.printed(), o.metadata.namespace, o.metadata.name);
        if let Some(old) = s.store.stored.get(&key) {
            existing.check(kind.resource().as_str(), o.metadata.name)?;
            let is_same = old.fields == o.fields
                && old.meta.labels == o.metadata.labels
                && *old.meta.annotations == o.metadata.annotations;
            if is_same {
                return Ok(Reply::Unchanged);
            }
            let is_other = old.fields != o.fields;
            let Some(old) = Arc::make_mut(&mut s.store.stored).get_mut(&key) else { return Ok(Reply::Unchanged) };
            old.meta.labels = o.metadata.labels.clone();
            old.meta.annotations = Arc::new(o.metadata.annotations.clone());
            old.meta.generation += i64::from(is_other);
            old.meta.version += 1;
            (old.api_version, old.fields) = (o.api_version, Arc::clone(&o.fields));
            return Ok(Reply::Done);
        }
        let meta = self.meta(s, o.kind.as_str(), &o.metadata);
        let stored = Stored { kind, api_version: o.api_version, meta, fields: Arc::clone(&o.fields) };
        Arc::make_mut(&mut s.store.stored).insert(key, stored);
        Ok(Reply::Done)
    }

    fn put_node(&mut self, s: &mut Session<'_>, mut o: model::Node) -> Answer {
        o.apply_defaults();
        let id = s.store.node_slot(o.metadata.name);
        let registration = NodeRegistration::from(&o);
        let taints = registration.taints.clone();
        let answer = self.create_node(s, id, registration)?;
        let (uid, created_at) = (self.uid(s, "Node", &o.metadata), self.instant(o.metadata.creation_timestamp, s.now));
        let now = s.now;
        let conditions: Vec<(NodeConditionKind, NodeCondition)> = o
            .status
            .conditions
            .iter()
            .filter_map(|c| {
                let kind = condition_kind(c.condition_type)?;
                let since = self.instant(c.last_transition_time, now);
                Some((kind, NodeCondition { status: status(c.status), reason: c.reason.as_str(), since }))
            })
            .collect();
        if let Some(node) = s.store.node_mut(id) {
            node.uid = uid;
            node.created_at = created_at;
            node.unschedulable = o.spec.unschedulable;
            if !self.has_loaded {
                // A node of the input has long joined: its taints are those it came with.
                node.taints = taints;
            }
            for (kind, condition) in conditions {
                node.conditions.set(kind, Some(condition));
            }
        }
        Ok(answer)
    }

    fn put_pod(&mut self, s: &mut Session<'_>, o: model::Pod) -> Answer {
        let metadata = &o.metadata;
        let (name, generated_uid) = if metadata.name.as_str().is_empty() {
            let (name, uid) = self.generated_name(s, metadata.namespace, metadata.generate_name);
            (name, Some(uid))
        } else {
            (Arc::from(metadata.name.as_str()), None)
        };
        if s.store.find_pod(metadata.namespace, &name).is_some() {
            return Err(already_exists("pods", &name));
        }
        let mut spec = o.spec.clone();
        let never_ran = model::PodStatus::default();
        // Nothing can run that was never bound.
        let is_possible = spec.node_name.is_some() || o.status.phase != model::PodPhase::Running;
        let status = if is_possible { &o.status } else { &never_ran };
        let node = spec.node_name.take().map(|name| s.store.node_slot(name));
        let pinned_node = take_pin(&mut spec).map(|name| s.store.node_slot(name));
        spec.volumes.retain(|v| !v.name.as_str().starts_with("kube-api-access-"));
        for container in spec.containers.iter_mut().chain(&mut spec.init_containers) {
            // The token volume's random name would make equal specs differ.
            container.volume_mounts = model::Opaque::default();
        }
        let name_of = if metadata.name.is_empty() { metadata.generate_name } else { metadata.name };
        let is_new = metadata.uid.is_none_or(|uid| uid.as_str().is_empty());
        let subject =
            Subject { namespace: metadata.namespace, name: name_of.as_str(), is_new, is_asked: !self.is_restoring };
        let admitted = self.admission.admit_own(s, spec, metadata, &subject)?;
        let charge =
            if self.is_restoring { Charge::default() } else { pods::judge(s, metadata.namespace, &name, &admitted)? };
        let created_at = self.instant(metadata.creation_timestamp, s.now);
        let started_at = status.start_time.map(|_| self.instant(status.start_time, created_at));
        let ready = status.condition(PodConditionType::Ready).map(|c| PodCondition {
            status: self::status(c.status),
            since: self.instant(c.last_transition_time, created_at),
        });
        let deletion = metadata.deletion_timestamp.map(|_| {
            let deadline = self.instant(metadata.deletion_timestamp, s.now);
            let grace = metadata.deletion_grace_period_seconds.unwrap_or(30).unsigned_abs();
            Deletion {
                requested_at: deadline - SimDuration::from_secs(grace),
                deadline,
                grace: SimDuration::from_secs(grace),
                cause: DeletionCause::Kubectl,
            }
        });
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
            statuses.into_iter().map(|status| self.container_status(status, created_at)).collect()
        };
        let init_containers = containers(&status.init_container_statuses, &o.spec.init_containers);
        let mut containers = containers(&status.container_statuses, &o.spec.containers);
        if status.phase == model::PodPhase::Running && status.container_statuses.is_empty() {
            // A status that somebody has cut short: who runs has containers.
            let since = started_at.unwrap_or(created_at);
            let is_ready = ready.is_none_or(|condition| condition.status == Status::True);
            let runs =
                ContainerStatus { state: ContainerState::Running { since }, ready: is_ready, restarts: 0, last: None };
            containers = o.spec.containers.iter().map(|_| runs).collect();
        }
        let pod = Pod {
            namespace: metadata.namespace,
            name,
            uid: Uid::default(),
            labels: metadata.labels.clone(),
            owner: owning_node(s, metadata).or_else(|| owner_by_name(metadata)),
            spec: admitted,
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
            not_scheduled,
            disruption_target: status.condition(PodConditionType::DisruptionTarget).and_then(|c| {
                Some(DisruptionTarget {
                    reason: DisruptionReason::parse(c.reason.as_str())?,
                    since: self.instant(c.last_transition_time, created_at),
                    status: c.status == model::ConditionStatus::True,
                })
            }),
            containers: SmallVec::from_vec(containers),
            init_containers: SmallVec::from_vec(init_containers),
            resource_version: metadata.resource_version.and_then(|version| version.as_str().parse().ok()).unwrap_or(1),
        };
        let uid = generated_uid.unwrap_or_else(|| self.uid(s, "Pod", metadata));
        let id = s.store.insert_pod(Pod { uid, ..pod });
        charge.commit(s);
        s.changed.push(Changed::PodAdded(id));
        Ok(Reply::Pod(id))
    }

    fn container_status(&self, c: &model::ContainerStatus, otherwise: crate::units::SimTime) -> ContainerStatus {
        let ending = |ended: &model::ContainerStateTerminated| {
            let exit = Ending::exit(ended.exit_code, self.instant(ended.finished_at, otherwise));
            Ending { reason: EndReason::parse(ended.reason.as_str()).unwrap_or(exit.reason), ..exit }
        };
        let state = if let Some(running) = &c.state.running {
            ContainerState::Running { since: self.instant(running.started_at, otherwise) }
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

    fn put_deployment(&mut self, s: &mut Session<'_>, mut o: model::Deployment, existing: Existing) -> Answer {
        o.apply_defaults();
        let key = ("Deployment", o.metadata.namespace, o.metadata.name);
        if let Some(id) = s.store.find_workload(key.0, key.1, key.2) {
            let WorkloadId::Deployment(deployment) = id else { return Err(not_found("deployments.apps", "")) };
            existing.check("deployments.apps", key.2)?;
            let old = &mut s.store.deployments[deployment];
            let delta = replace(&mut old.meta, &o.metadata, &mut old.spec, o.spec);
            return publish(s, id, delta);
        }
        let spec = Arc::new(o.spec);
        let conditions = &o.status.conditions;
        let condition = |name: &str| {
            conditions.iter().find(|c| c.condition_type.as_str() == name).map(|c| DeploymentCondition {
                status: c.status == ConditionStatus::True,
                reason: c.reason.as_str(),
                updated_at: self.instant(c.last_update_time, s.now),
                since: self.instant(c.last_transition_time, s.now),
            })
        };
        let status = DeploymentStatus {
            observed_generation: o.status.observed_generation,
            replicas: o.status.replicas,
            updated: o.status.updated_replicas,
            ready: o.status.ready_replicas,
            available: o.status.available_replicas,
            terminating: o.status.terminating_replicas.unwrap_or(0),
            progressing: condition("Progressing"),
            replica_failure: None,
            availability: condition("Available"),
            collision_count: o.status.collision_count.unwrap_or(0),
        };
        let meta = self.meta(s, "Deployment", &o.metadata);
        let id = WorkloadId::Deployment(s.store.deployments.insert(Deployment { meta, spec, status }));
        added(s, id)
    }

    fn put_replica_set(&mut self, s: &mut Session<'_>, mut o: model::ReplicaSet, existing: Existing) -> Answer {
        o.apply_defaults();
        let status = replica_set_status(&o.status);
        self.put_set(s, &o.metadata, o.spec, status, "ReplicaSet", existing)
    }

    fn put_replication_controller(
        &mut self,
        s: &mut Session<'_>,
        mut o: model::ReplicationController,
        existing: Existing,
    ) -> Answer {
        o.apply_defaults();
        let spec = model::ReplicaSetSpec {
            replicas: o.spec.replicas,
            min_ready_seconds: o.spec.min_ready_seconds,
            selector: Some(LabelSelector::from_labels(&o.spec.selector)),
            template: o.spec.template,
        };
        let status = replica_set_status(&o.status);
        self.put_set(s, &o.metadata, spec, status, "ReplicationController", existing)
    }

    fn put_set(
        &mut self,
        s: &mut Session<'_>,
        metadata: &ObjectMeta,
        spec: model::ReplicaSetSpec,
        status: ReplicaSetStatus,
        kind: &'static str,
        existing: Existing,
    ) -> Answer {
        let replicas = spec.replicas.unwrap_or(1);
        if let Some(id) = s.store.find_workload(kind, metadata.namespace, metadata.name) {
            let WorkloadId::ReplicaSet(set) = id else { return Err(not_found("replicasets.apps", "")) };
            existing.check("replicasets.apps", metadata.name)?;
            let old = &mut s.store.replica_sets[set];
            let mut delta = replace(&mut old.meta, metadata, &mut old.spec, spec);
            if std::mem::replace(&mut old.replicas, replicas) != replicas {
                delta = delta | ObjectDelta::SPEC;
            }
            return publish(s, id, delta);
        }
        let meta = self.meta(s, kind, metadata);
        let set = ReplicaSet {
            meta,
            is_replication_controller: kind == "ReplicationController",
            replicas,
            spec: Arc::new(spec),
            status,
        };
        let id = WorkloadId::ReplicaSet(s.store.replica_sets.insert(set));
        added(s, id)
    }

    fn put_daemon_set(&mut self, s: &mut Session<'_>, mut o: model::DaemonSet, existing: Existing) -> Answer {
        o.apply_defaults();
        if let Some(id) = s.store.find_workload("DaemonSet", o.metadata.namespace, o.metadata.name) {
            let WorkloadId::DaemonSet(set) = id else { return Err(not_found("daemonsets.apps", "")) };
            existing.check("daemonsets.apps", o.metadata.name)?;
            let old = &mut s.store.daemon_sets[set];
            let delta = replace(&mut old.meta, &o.metadata, &mut old.spec, o.spec);
            return publish(s, id, delta);
        }
        let status = DaemonSetStatus {
            observed_generation: o.status.observed_generation,
            desired: o.status.desired_number_scheduled,
            current: o.status.current_number_scheduled,
            misscheduled: o.status.number_misscheduled,
            ready: o.status.number_ready,
            available: o.status.number_available,
            updated: o.status.updated_number_scheduled,
            collision_count: o.status.collision_count.unwrap_or(0),
        };
        let meta = self.meta(s, "DaemonSet", &o.metadata);
        let set = DaemonSet { meta, spec: Arc::new(o.spec), status };
        let id = WorkloadId::DaemonSet(s.store.daemon_sets.insert(set));
        added(s, id)
    }

    fn put_stateful_set(&mut self, s: &mut Session<'_>, mut o: model::StatefulSet, existing: Existing) -> Answer {
        o.apply_defaults();
        if let Some(id) = s.store.find_workload("StatefulSet", o.metadata.namespace, o.metadata.name) {
            let WorkloadId::StatefulSet(set) = id else { return Err(not_found("statefulsets.apps", "")) };
            existing.check("statefulsets.apps", o.metadata.name)?;
            let old = &mut s.store.stateful_sets[set];
            let delta = replace(&mut old.meta, &o.metadata, &mut old.spec, o.spec);
            return publish(s, id, delta);
        }
        let status = StatefulSetStatus {
            observed_generation: o.status.observed_generation,
            replicas: o.status.replicas,
            ready: o.status.ready_replicas,
            available: o.status.available_replicas,
            current: o.status.current_replicas,
            updated: o.status.updated_replicas,
            current_revision: o.status.current_revision,
            update_revision: o.status.update_revision,
            collision_count: o.status.collision_count.unwrap_or(0),
        };
        let meta = self.meta(s, "StatefulSet", &o.metadata);
        let set = StatefulSet { meta, spec: Arc::new(o.spec), status };
        let id = WorkloadId::StatefulSet(s.store.stateful_sets.insert(set));
        added(s, id)
    }

    fn put_job(&mut self, s: &mut Session<'_>, mut o: model::Job, existing: Existing) -> Answer {
        o.apply_defaults();
        if let Some(id) = s.store.find_workload("Job", o.metadata.namespace, o.metadata.name) {
            let WorkloadId::Job(job) = id else { return Err(not_found("jobs.batch", "")) };
            existing.check("jobs.batch", o.metadata.name)?;
            let old = &mut s.store.jobs[job];
            let delta = replace(&mut old.meta, &o.metadata, &mut old.spec, o.spec);
            return publish(s, id, delta);
        }
        let status = self.job_status(s, &o);
        let meta = self.meta(s, "Job", &o.metadata);
        let id = WorkloadId::Job(s.store.jobs.insert(Job { meta, spec: Arc::new(o.spec), status }));
        added(s, id)
    }

    /// What a Job has come to. A controller never looks again at one that is over.
    fn job_status(&self, s: &Session<'_>, job: &model::Job) -> JobStatus {
        let status = &job.status;
        let at = |stamp: Option<Symbol>| self.instant(stamp, s.now);
        let indexes = |text: Symbol| model::job_indexes(text.as_str(), job.spec.completions.unwrap_or(0)).into();
        let is_true = |condition: &&model::JobCondition| condition.status == ConditionStatus::True;
        let conditions = status.conditions.iter().filter(is_true).map(|condition| {
            let (kind, reason) = (condition.condition_type.as_str(), condition.reason.as_str());
            (kind, reason, at(condition.last_transition_time))
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

    fn put_cron_job(&mut self, s: &mut Session<'_>, mut o: model::CronJob, existing: Existing) -> Answer {
        o.apply_defaults();
        if let Some(id) = s.store.find_workload("CronJob", o.metadata.namespace, o.metadata.name) {
            let WorkloadId::CronJob(cron_job) = id else { return Err(not_found("cronjobs.batch", "")) };
            existing.check("cronjobs.batch", o.metadata.name)?;
            let old = &mut s.store.cron_jobs[cron_job];
            let delta = replace(&mut old.meta, &o.metadata, &mut old.spec, o.spec);
            return publish(s, id, delta);
        }
        let meta = self.meta(s, "CronJob", &o.metadata);
        let last_scheduled_at = o.status.last_schedule_time.map(|_| self.instant(o.status.last_schedule_time, s.now));
        let cron_job = CronJob { meta, spec: Arc::new(o.spec), last_scheduled_at, active: Vec::new() };
        let id = WorkloadId::CronJob(s.store.cron_jobs.insert(cron_job));
        added(s, id)
    }

    fn put_budget(&mut self, s: &mut Session<'_>, o: model::PodDisruptionBudget, existing: Existing) -> Answer {
        let (namespace, name) = (o.metadata.namespace, o.metadata.name);
        let found = s.store.budgets.iter().find(|(_, b)| b.meta.namespace == namespace && b.meta.name == name);
        if let Some(id) = found.map(|(id, _)| id) {
            existing.check("poddisruptionbudgets.policy", name)?;
            let old = &mut s.store.budgets[id];
            let delta = replace(&mut old.meta, &o.metadata, &mut old.spec, o.spec);
            if delta.is_none() {
                return Ok(Reply::Unchanged);
            }
            old.resource_version += 1;
            s.changed.push(Changed::BudgetUpdated(id, delta));
            return Ok(Reply::Done);
        }
        let meta = self.meta(s, "PodDisruptionBudget", &o.metadata);
        let status = PodDisruptionBudgetStatus {
            observed_generation: o.status.observed_generation,
            disruptions_allowed: o.status.disruptions_allowed,
            current_healthy: o.status.current_healthy,
            desired_healthy: o.status.desired_healthy,
            expected_pods: o.status.expected_pods,
            disrupted_pods: o
                .status
                .disrupted_pods
                .iter()
                .map(|(pod, since)| (Arc::from(pod.as_str()), self.instant(Some(*since), s.now)))
                .collect(),
            ..PodDisruptionBudgetStatus::default()
        };
        let id =
            s.store.budgets.insert(PodDisruptionBudget { meta, spec: Arc::new(o.spec), status, resource_version: 1 });
        s.changed.push(Changed::BudgetAdded(id));
        Ok(Reply::Done)
    }

    /// # Source
    /// Admission plugin Priority: one class at most is the default of all. Of several that the input has none is refused.
    fn put_priority_class(&mut self, s: &mut Session<'_>, o: &model::PriorityClass, existing: Existing) -> Answer {
        const RESOURCE: &str = "priorityclasses.scheduling.k8s.io";
        let name = o.metadata.name;
        let found = s.store.priority_classes.iter().find(|(_, class)| class.name == name).map(|(id, _)| id);
        if found.is_some() {
            existing.check(RESOURCE, name)?;
        }
        if o.global_default
            && !self.is_restoring
            && s.config.kube_apiserver.admits_with("Priority")
            && let Some(other) = super::admission::global_default(s.store).filter(|other| other.name != name)
        {
            let why = format!("PriorityClass {} is already marked as default. Only one default can exist", other.name);
            let message = format!("{RESOURCE} \"{name}\" is forbidden: {why}");
            return Err(ApiError::new(ErrorReason::Forbidden, message));
        }
        if let Some(id) = found {
            // Value and policy stay as they are.
            let old = &mut s.store.priority_classes[id];
            if std::mem::replace(&mut old.global_default, o.global_default) == o.global_default {
                return Ok(Reply::Unchanged);
            }
            self.admission.clear();
            return Ok(Reply::Done);
        }
        self.admission.clear();
        s.store.priority_classes.insert(PriorityClass {
            name,
            value: o.value,
            global_default: o.global_default,
            never_preempts: o.preemption_policy == Some(model::PreemptionPolicy::Never),
            created_at: self.instant(o.metadata.creation_timestamp, s.now),
        });
        Ok(Reply::Done)
    }

    /// What it says counts for the pods that come; commands know it as they know kinds that decide nothing.
    fn put_runtime_class(&mut self, s: &mut Session<'_>, o: model::RuntimeClass, existing: Existing) -> Answer {
        let name = o.metadata.name;
        let stored = model::StoredObject::from(&Object::from(o.clone()));
        let answer = self.put_stored(s, &stored, existing)?;
        self.admission.clear();
        s.store.runtime_classes.insert(name, Arc::new(o));
        Ok(answer)
    }

    /// What it says counts for the autoscaler; who it is stands among the stored objects.
    fn put_autoscaler(
        &mut self,
        s: &mut Session<'_>,
        mut o: model::HorizontalPodAutoscaler,
        existing: Existing,
    ) -> Answer {
        o.apply_defaults();
        let key = (o.metadata.namespace, o.metadata.name);
        let spec = Arc::new(o.spec.clone());
        let status = autoscalers::status(&o.status, |at| self.instant(at, s.now));
        let stored = model::StoredObject::from(&Object::from(o));
        if let Reply::Unchanged = self.put_stored(s, &stored, existing)? {
            return Ok(Reply::Unchanged);
        }
        match s.store.autoscalers.get_mut(&key) {
            Some(old) => old.spec = spec,
            None => drop(s.store.autoscalers.insert(key, Autoscaler { spec, status })),
        }
        s.changed.push(Changed::AutoscalerChanged(key));
        Ok(Reply::Done)
    }

    /// What it says counts for the pods and claims that come.
    fn put_limit_range(&mut self, s: &mut Session<'_>, mut o: model::LimitRange, existing: Existing) -> Answer {
        o.apply_defaults();
        let (key, spec) = ((o.metadata.namespace, o.metadata.name), Arc::new(o.spec.clone()));
        let stored = model::StoredObject::from(&Object::from(o));
        let answer = self.put_stored(s, &stored, existing)?;
        self.admission.clear();
        s.store.limit_ranges.insert(key, spec);
        Ok(answer)
    }

    /// One of the input has long been counted: what it allows is enforced from the start.
    fn put_quota(&mut self, s: &mut Session<'_>, o: model::ResourceQuota, existing: Existing) -> Answer {
        let (key, spec) = ((o.metadata.namespace, o.metadata.name), Arc::new(o.spec.clone()));
        let (mut hard, mut used) = (o.status.hard.clone(), o.status.used.clone());
        let stored = model::StoredObject::from(&Object::from(o));
        if let Reply::Unchanged = self.put_stored(s, &stored, existing)? {
            return Ok(Reply::Unchanged);
        }
        if self.is_restoring && hard.is_empty() {
            hard.clone_from(&spec.hard);
            used = quota_usage(s.store, key.0, &spec, s.now);
        }
        match s.store.quotas.get_mut(&key) {
            Some(old) => {
                old.spec = spec;
                old.version += 1;
            }
            None => drop(s.store.quotas.insert(key, Quota { spec, hard, used, version: 1 })),
        }
        s.changed.push(Changed::QuotaChanged(key));
        Ok(Reply::Done)
    }

    fn put_service(&mut self, s: &mut Session<'_>, mut o: model::Service, existing: Existing) -> Answer {
        let (namespace, name) = (o.metadata.namespace, o.metadata.name);
        let found = s.store.services.iter().find(|(_, x)| x.meta.namespace == namespace && x.meta.name == name);
        if let Some(id) = found.map(|(id, _)| id) {
            existing.check("services", name)?;
            o.spec.drop_type_dependent(&s.store.services[id].spec);
            let (new, old) = (Counted::Service(&o.spec), Counted::Service(&s.store.services[id].spec));
            let charge = resource_quota::charge(s, namespace, ("services", name.as_str()), new, Some(old))?;
            charge.commit(s);
            let old = &mut s.store.services[id];
            if replace(&mut old.meta, &o.metadata, &mut old.spec, o.spec).is_none() {
                return Ok(Reply::Unchanged);
            }
            s.changed.push(Changed::ServiceChanged(id));
            return Ok(Reply::Done);
        }
        if !self.is_restoring {
            let new = Counted::Service(&o.spec);
            resource_quota::charge(s, namespace, ("services", name.as_str()), new, None)?.commit(s);
        }
        let meta = self.meta(s, "Service", &o.metadata);
        let id = s.store.services.insert(Service { meta, spec: Arc::new(o.spec), slices: BTreeMap::new() });
        s.changed.push(Changed::ServiceChanged(id));
        Ok(Reply::Done)
    }

    fn put_revision(&mut self, s: &mut Session<'_>, o: model::ControllerRevision) -> Answer {
        let hash = o.metadata.labels.get(Symbol::new("controller-revision-hash")).unwrap_or_else(|| {
            let name = o.metadata.name.as_str();
            Symbol::new(name.rsplit_once('-').map_or(name, |(_, hash)| hash))
        });
        let template = o.data.as_ref().and_then(|d| d.pointer("/spec/template"));
        let mut template: model::PodTemplateSpec =
            template.and_then(|template| model::manifest::from_value(template).ok()).unwrap_or_default();
        template.spec.apply_defaults();
        let meta = self.meta(s, "ControllerRevision", &o.metadata);
        let revision = ControllerRevision { meta, hash, revision: o.revision, template: Arc::new(template) };
        Ok(Reply::Revision(s.store.insert_revision(revision)))
    }
}

/// What happens to an object that exists already.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Existing {
    Refuse,
    Replace,
}

impl Existing {
    fn check(self, resource: &str, name: Symbol) -> Result<(), ApiError> {
        match self {
            Self::Refuse => Err(already_exists(resource, name.as_str())),
            Self::Replace => Ok(()),
        }
    }
}

/// Replaces labels, annotations and spec; the generation rises with the spec.
fn replace<T: PartialEq>(meta: &mut Meta, metadata: &ObjectMeta, old: &mut Arc<T>, new: T) -> ObjectDelta {
    let mut delta = ObjectDelta::NONE;
    if meta.labels != metadata.labels || *meta.annotations != metadata.annotations {
        meta.labels = metadata.labels.clone();
        meta.annotations = Arc::new(metadata.annotations.clone());
        delta = delta | ObjectDelta::METADATA;
    }
    let finalizers = finalizers::foreign(&metadata.finalizers);
    if meta.finalizers != finalizers {
        meta.finalizers = finalizers;
        delta = delta | ObjectDelta::METADATA;
    }
    if **old != new {
        *old = Arc::new(new);
        meta.generation += 1;
        delta = delta | ObjectDelta::SPEC;
    }
    delta
}

fn added(s: &mut Session<'_>, id: WorkloadId) -> Answer {
    s.store.index_workload(id);
    s.changed.push(Changed::WorkloadAdded(id));
    Ok(Reply::Workload(id))
}

fn publish(s: &mut Session<'_>, id: WorkloadId, delta: ObjectDelta) -> Answer {
    if delta.is_none() {
        return Ok(Reply::Unchanged);
    }
    if s.store.workload_meta(id).is_some_and(finalizers::is_let_go) {
        return super::workloads::remove(s, id);
    }
    s.changed.push(Changed::WorkloadUpdated(id, delta));
    Ok(Reply::Workload(id))
}

fn replica_set_status(status: &model::ReplicaSetStatus) -> ReplicaSetStatus {
    ReplicaSetStatus {
        observed_generation: status.observed_generation,
        replicas: status.replicas,
        fully_labeled: status.fully_labeled_replicas,
        ready: status.ready_replicas,
        available: status.available_replicas,
        terminating: status.terminating_replicas.unwrap_or(0),
        failure: None,
    }
}

fn condition_kind(condition: NodeConditionType) -> Option<NodeConditionKind> {
    Some(match condition {
        NodeConditionType::MemoryPressure => NodeConditionKind::MemoryPressure,
        NodeConditionType::DiskPressure => NodeConditionKind::DiskPressure,
        NodeConditionType::PidPressure => NodeConditionKind::PidPressure,
        NodeConditionType::Ready => NodeConditionKind::Ready,
        NodeConditionType::NetworkUnavailable => NodeConditionKind::NetworkUnavailable,
        NodeConditionType::Other(_) => return None,
    })
}

fn status(status: ConditionStatus) -> Status {
    match status {
        ConditionStatus::True => Status::True,
        ConditionStatus::False => Status::False,
        ConditionStatus::Unknown => Status::Unknown,
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

/// The controlling owner as the metadata names it; [`super::link_owners`] finds it later.
fn owner_by_name(metadata: &ObjectMeta) -> Option<Owner> {
    let reference = metadata.controller()?;
    let uid = Uid::from_text(reference.uid.as_str());
    Some(Owner::Foreign { kind: reference.kind, name: reference.name, uid })
}

pub(super) fn put_endpoint_slice(
    s: &mut Session<'_>,
    id: ServiceId,
    number: u32,
    endpoints: Arc<[Endpoint]>,
) -> Answer {
    let Some(service) = s.store.services.get_mut(id) else { return Err(not_found("services", "")) };
    if endpoints.is_empty() && service.slices.keys().any(|other| *other != number) {
        service.slices.remove(&number);
    } else {
        service.slices.insert(number, endpoints);
    }
    s.changed.push(Changed::EndpointsChanged(id));
    Ok(Reply::Done)
}
