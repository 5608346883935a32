//! Objects as the API shows them: metadata, spec, and the status as it is simulated.
//!
//! # Differs
//! Addresses, image ids, versions, managed fields and whatever else is not modelled are left out; of what a Secret holds hashes
//! are shown.

use serde_json::{Value, json};

use super::resource::{Found, Kind};
use super::{messages, three_way};
use crate::arena::Symbol;
use crate::model::{AnyKind, Object};
use crate::state::{
    ClaimOwner, ContainerState, ContainerStatus, Ending, Job, JobCondition, JobStatus, Meta, Node, NodeConditionKind,
    NotScheduled, Owner, OwnerName, Pod, PodId, PodPhase, ReplicaFailure, Status, Store, Uid, WorkloadId,
};
use crate::units::{Quantity, QuantityFormat, SimTime, rfc3339_from_unix_nanos, unix_nanos_from_rfc3339};

/// What is said once of output that shows objects.
pub(super) const LEFT_OUT: &str = "kubesquall: what is not modelled is left out of the objects";

/// Which wall-clock instant t=0 is, in nanoseconds since 1970.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(pub i64);

impl Clock {
    /// A time stamp of the API, in whole seconds.
    pub(crate) fn stamp(self, at: SimTime) -> Value {
        rfc3339_from_unix_nanos(at.as_nanos().saturating_add(self.0)).into()
    }

    /// When it was by a time stamp of the API.
    pub(crate) fn instant(self, text: &str) -> Option<SimTime> {
        unix_nanos_from_rfc3339(text).map(|nanos| SimTime::from_nanos(nanos.saturating_sub(self.0)))
    }
}

/// An object with its status; none if it is gone.
pub(crate) fn object(found: &Found, store: &Store, clock: Clock) -> Option<Value> {
    let mut value = written(&three_way::export(found, store)?);
    let (metadata, status) = match found {
        Found::Pod(id) => {
            let pod = store.pod(*id)?;
            (pod_metadata(pod, store, clock), pod_status(pod, store, clock))
        }
        Found::Node(id) => {
            let node = store.node(*id)?;
            let metadata = json!({"uid": node.uid.to_string(), "creationTimestamp": clock.stamp(node.created_at)});
            let taints = value.pointer_mut("/spec/taints").and_then(Value::as_array_mut).into_iter().flatten();
            for (taint, added_at) in taints.zip(node.taints.iter().map(|taint| taint.added_at)) {
                if let Some(at) = added_at {
                    taint["timeAdded"] = clock.stamp(at);
                }
            }
            (metadata, node_status(node, clock))
        }
        Found::Workload(_, id) => {
            (metadata_of(store.workload_meta(*id)?, store, clock), workload_status(*id, store, clock)?)
        }
        Found::Other(kind, namespace, name) => other(*kind, *namespace, *name, store, clock)?,
    };
    // A struct is written even if nothing is in it.
    if matches!(found, Found::Node(_)) && value["spec"].is_null() {
        value["spec"] = json!({});
    }
    if matches!(found, Found::Other(Kind::Service, ..)) {
        fill_service(&mut value["spec"]);
    }
    merge(&mut value["metadata"], metadata);
    add_owners(&mut value["metadata"], found.kind().any(), store);
    if let (false, Some(fields)) = (has_generation(found.kind()), value["metadata"].as_object_mut()) {
        fields.remove("generation");
    }
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
        if !status.is_null() {
            fields.insert("status".to_owned(), pruned(status));
        }
    }
    Some(value)
}

/// # Source
/// kube-apiserver, `SetDefaults_Service`; addresses are not given out.
fn fill_service(spec: &mut Value) {
    let kind = spec["type"].as_str().unwrap_or("ClusterIP").to_owned();
    let is_external = matches!(kind.as_str(), "NodePort" | "LoadBalancer");
    for (field, word, is_there) in [
        ("type", "ClusterIP", true),
        ("sessionAffinity", "None", true),
        ("internalTrafficPolicy", "Cluster", kind != "ExternalName"),
        ("externalTrafficPolicy", "Cluster", is_external),
    ] {
        if is_there && spec[field].is_null() {
            spec[field] = word.into();
        }
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if port["protocol"].is_null() {
            port["protocol"] = "TCP".into();
        }
        if port["targetPort"].is_null() {
            port["targetPort"] = port["port"].clone();
        }
    }
}

/// Whether objects of a kind count how often their wishes changed.
///
/// # Source
/// kube-apiserver, `PrepareForCreate` of each kind's strategy; apiextensions, of custom resources.
///
/// # Differs
/// Pods count, too, but their number is not kept.
fn has_generation(kind: Kind) -> bool {
    match kind {
        Kind::Deployment
        | Kind::ReplicaSet
        | Kind::ReplicationController
        | Kind::StatefulSet
        | Kind::DaemonSet
        | Kind::Job
        | Kind::CronJob
        | Kind::PodDisruptionBudget => true,
        Kind::Stored(kind) => {
            let counts = [
                "PodTemplate",
                "EndpointSlice",
                "FlowSchema",
                "PriorityLevelConfiguration",
                "Ingress",
                "IngressClass",
                "NetworkPolicy",
                "CustomResourceDefinition",
            ];
            let is_admission = kind.group == "admissionregistration.k8s.io";
            !kind.is_built_in() || is_admission || counts.contains(&kind.kind.as_str())
        }
        _ => false,
    }
}

/// An object as somebody wrote it.
pub(super) fn written(object: &Object) -> Value {
    let mut value = object.to_value();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
    }
    value
}

fn merge(into: &mut Value, fields: Value) {
    if let (Value::Object(into), Value::Object(fields)) = (into, pruned(fields)) {
        into.extend(fields);
    }
}

/// Without fields that are null.
fn pruned(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(fields.map(|(key, value)| (key, pruned(value))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(pruned).collect()),
        other => other,
    }
}

fn status_text(is_so: bool) -> &'static str {
    if is_so { "True" } else { "False" }
}

pub(super) fn of_status(status: Status) -> &'static str {
    match status {
        Status::True => "True",
        Status::False => "False",
        Status::Unknown => "Unknown",
    }
}

fn owner(owner: &Owner, store: &Store) -> Option<Value> {
    let workload = match owner {
        Owner::Deployment(id) => Some(WorkloadId::Deployment(*id)),
        Owner::ReplicaSet(id) => Some(WorkloadId::ReplicaSet(*id)),
        Owner::DaemonSet(id) => Some(WorkloadId::DaemonSet(*id)),
        Owner::StatefulSet(id) => Some(WorkloadId::StatefulSet(*id)),
        Owner::Job(id) => Some(WorkloadId::Job(*id)),
        Owner::CronJob(id) => Some(WorkloadId::CronJob(*id)),
        Owner::Node(_) | Owner::Foreign { .. } => None,
    };
    Some(match (owner, workload) {
        (_, Some(workload)) => {
            let there = store.workload_meta(workload).map(|meta| OwnerName {
                kind: store.workload_kind(workload),
                name: meta.name,
                uid: meta.uid,
            });
            let OwnerName { kind, name, uid } = there.or_else(|| store.gone_owner(workload).copied())?;
            reference(kind.api_version(), kind.as_str(), name.as_str(), uid)
        }
        (Owner::Node(id), _) => reference("v1", "Node", store.node_name(*id).as_str(), store.node(*id)?.uid),
        (Owner::Foreign { kind, name, uid }, _) => {
            json!({"kind": kind, "name": name, "uid": uid.to_string(), "controller": true})
        }
        _ => return None,
    })
}

fn claim_owner(of: ClaimOwner, store: &Store) -> Option<Value> {
    match of {
        ClaimOwner::StatefulSet(id) => owner(&Owner::StatefulSet(id), store),
        ClaimOwner::Pod(id) => store.pod(id).map(|pod| reference("v1", "Pod", &pod.name, pod.uid)),
    }
}

fn reference(api_version: &str, kind: &str, name: &str, uid: Uid) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid.to_string(), "controller": true})
}

fn owners(of: Option<&Owner>, store: &Store) -> Value {
    of.and_then(|of| owner(of, store)).map_or(Value::Null, |owner| json!([owner]))
}

/// Adds the owners that are none of [`owners`].
fn add_owners(metadata: &mut Value, kind: AnyKind, store: &Store) {
    let text = |field: &str| Symbol::new(metadata[field].as_str().unwrap_or_default());
    let beside = store.owners_beside(kind, text("namespace"), text("name"));
    if beside.is_empty() {
        return;
    }
    let beside_controls = beside.iter().any(|owner| owner.is_controller);
    let own = metadata["ownerReferences"].as_array().filter(|_| !beside_controls);
    let mut all: Vec<Value> = own.cloned().unwrap_or_default();
    all.extend(beside.iter().map(|owner| {
        let flag = |is_so: bool| is_so.then_some(true);
        pruned(json!({
            "apiVersion": Some(owner.api_version).filter(|version| !version.is_empty()),
            "kind": owner.kind, "name": owner.name, "uid": owner.uid.to_string(),
            "controller": flag(owner.is_controller), "blockOwnerDeletion": flag(owner.blocks),
        }))
    }));
    metadata["ownerReferences"] = all.into();
}

fn metadata_of(meta: &Meta, store: &Store, clock: Clock) -> Value {
    json!({
        "uid": meta.uid.to_string(),
        "creationTimestamp": clock.stamp(meta.created_at),
        "generation": meta.generation,
        "resourceVersion": meta.version.to_string(),
        "deletionTimestamp": meta.deleting.map(|(at, _)| clock.stamp(at)),
        "ownerReferences": owners(meta.owner.as_ref(), store),
    })
}

fn pod_metadata(pod: &Pod, store: &Store, clock: Clock) -> Value {
    json!({
        "uid": pod.uid.to_string(),
        "creationTimestamp": clock.stamp(pod.created_at),
        "resourceVersion": pod.resource_version.to_string(),
        "deletionTimestamp": pod.deletion.map(|deletion| clock.stamp(deletion.deadline)),
        "deletionGracePeriodSeconds": pod.deletion.map(|deletion| deletion.grace.as_secs()),
        "ownerReferences": owners(pod.owner.as_ref(), store),
    })
}

/// Whether all init containers are done, or have been before a regular one has started.
///
/// # Source
/// kubelet, `GenerateContainersInitializedCondition`.
pub(super) fn is_initialized(pod: &Pod) -> bool {
    let has_started = |status: &ContainerStatus| status.last.is_some() || !status.state.is_waiting();
    let mut rows = pod.spec.spec.init_containers.iter().zip(&pod.init_containers);
    let is_done = |(container, status): (&crate::model::Container, &ContainerStatus)| match status.state.ending() {
        Some(ending) => ending.exit_code == 0,
        None => container.is_sidecar() && matches!(status.state, ContainerState::Running { .. }),
    };
    let none_is_missing = pod.init_containers.len() >= pod.spec.spec.init_containers.len();
    let is_past =
        matches!(pod.phase, PodPhase::Running | PodPhase::Succeeded) || pod.containers.iter().any(has_started);
    pod.started_at.is_some() && (is_past || none_is_missing && rows.all(is_done))
}

/// # Source
/// kubelet, `generateAPIPodStatus`: which there are, and in which order. Of a lost node's pods the node lifecycle controller sets Ready
/// alone.
///
/// # Differs
/// A sandbox is there as soon as the kubelet has taken the pod. That no node takes a pod is said to be so since its creation.
fn pod_conditions(pod: &Pod, clock: Clock) -> Vec<Value> {
    let condition = |kind: &str, status: &str, since: SimTime| json!({"type": kind, "status": status, "lastTransitionTime": clock.stamp(since)});
    let mut conditions = Vec::new();
    if let Some(target) = &pod.disruption_target {
        let mut value = condition("DisruptionTarget", status_text(target.status), target.since);
        value["reason"] = target.reason.as_str().into();
        value["message"] = messages::of_disruption(pod, target.reason).into();
        conditions.push(value);
    }
    if let Some(ready) = pod.ready {
        let started_at = pod.started_at.unwrap_or(ready.since);
        let ends = |statuses: &[ContainerStatus]| {
            statuses.iter().filter_map(|status| Some(status.state.ending()?.finished_at)).max()
        };
        let is_over = pod.phase.is_terminal();
        let over_since = ends(&pod.containers).max(ends(&pod.init_containers)).unwrap_or(ready.since);
        let sandbox_since = if is_over { over_since } else { started_at };
        conditions.push(condition("PodReadyToStartContainers", status_text(!is_over), sandbox_since));
        let is_initialized = is_initialized(pod);
        let inits = pod.spec.init_containers.iter().zip(&pod.init_containers);
        let inits = inits.filter(|(container, _)| !container.is_sidecar()).map(|(_, status)| *status);
        let initialized_at = ends(&inits.collect::<Vec<_>>()).filter(|_| is_initialized).unwrap_or(started_at);
        conditions.push(condition("Initialized", status_text(is_initialized), initialized_at));
        conditions.push(condition("Ready", of_status(ready.status), ready.since));
        let containers = pod.containers_ready.unwrap_or(ready);
        conditions.push(condition("ContainersReady", of_status(containers.status), containers.since));
    }
    match (&pod.not_scheduled, pod.scheduled_at) {
        (Some(NotScheduled { reason, message }), _) => {
            let mut value = condition("PodScheduled", "False", pod.created_at);
            value["reason"] = reason.as_str().into();
            value["message"] = (**message).into();
            conditions.push(value);
        }
        (None, Some(at)) => conditions.push(condition("PodScheduled", "True", at)),
        (None, None) => {}
    }
    conditions
}

fn pod_status(pod: &Pod, store: &Store, clock: Clock) -> Value {
    let conditions = pod_conditions(pod, clock);
    let spec = &pod.spec.spec;
    let has_inits = !spec.init_containers.is_empty();
    let list = |containers: &[crate::model::Container], statuses: &[ContainerStatus]| -> Value {
        let rows = containers.iter().zip(statuses);
        let rows: Vec<Value> = rows
            .map(|(container, status)| {
                json!({
                    "name": container.name, "image": container.image, "ready": status.ready,
                    "restartCount": status.restarts, "state": container_state(status.state, has_inits, clock),
                    "lastState": status.last.map(|ending| ended(ending, clock)),
                })
            })
            .collect();
        if rows.is_empty() { Value::Null } else { rows.into() }
    };
    json!({
        "phase": pod.phase.as_str(),
        "reason": Some(pod.reason).filter(|reason| !reason.is_empty()),
        "conditions": conditions,
        "qosClass": format!("{:?}", pod.spec.qos),
        "startTime": pod.started_at.map(|at| clock.stamp(at)),
        "nominatedNodeName": pod.nominated_node.map(|node| store.node_name(node)),
        "containerStatuses": list(&spec.containers, &pod.containers),
        "initContainerStatuses": list(&spec.init_containers, &pod.init_containers),
    })
}

/// # Source
/// kubelet, `convertToAPIContainerStatuses`: of a pod with init containers all that have not run yet wait for it to be initialized.
fn container_state(state: ContainerState, has_inits: bool, clock: Clock) -> Value {
    let waiting = |reason: &str| json!({"waiting": {"reason": reason}});
    match state {
        ContainerState::Waiting if has_inits => waiting("PodInitializing"),
        ContainerState::Waiting => waiting("ContainerCreating"),
        ContainerState::CrashLoopBackOff => waiting("CrashLoopBackOff"),
        ContainerState::ErrImagePull => waiting("ErrImagePull"),
        ContainerState::ImagePullBackOff => waiting("ImagePullBackOff"),
        ContainerState::ErrImageNeverPull => waiting("ErrImageNeverPull"),
        ContainerState::Running { since } => json!({"running": {"startedAt": clock.stamp(since)}}),
        ContainerState::Terminated(ending) => ended(ending, clock),
    }
}

fn ended(ending: Ending, clock: Clock) -> Value {
    let (started_at, finished_at) = (clock.stamp(ending.started_at), clock.stamp(ending.finished_at));
    let (exit_code, reason) = (ending.exit_code, ending.reason.as_str());
    json!({"terminated": {"exitCode": exit_code, "reason": reason, "startedAt": started_at, "finishedAt": finished_at}})
}

/// Amounts in the form that kubelets give them.
///
/// # Source
/// apimachinery, `Quantity.CanonicalizeBytes`: the largest suffix that leaves a whole number.
fn amounts(resources: &crate::model::Resources, pods: i64) -> Value {
    let of_bytes = |count: i64| Quantity::from_value(count).with_format(QuantityFormat::BinarySi).to_string();
    let cpu = Quantity::from_milli(resources.cpu_milli).to_string();
    let mut value = json!({"cpu": cpu, "memory": of_bytes(resources.memory), "pods": pods.to_string()});
    if resources.ephemeral_storage != 0 {
        value["ephemeral-storage"] = of_bytes(resources.ephemeral_storage).into();
    }
    for (name, amount) in &resources.scalars {
        let is_bytes = name.as_str().starts_with("hugepages-");
        let amount = if is_bytes { of_bytes(*amount) } else { Quantity::from_value(*amount).to_string() };
        value[name.as_str()] = amount.into();
    }
    value
}

fn node_status(node: &Node, clock: Clock) -> Value {
    let conditions: Vec<Value> = NodeConditionKind::ALL
        .into_iter()
        .filter_map(|kind| {
            let condition = node.conditions.get(kind)?;
            Some(json!({
                "type": kind.as_str(), "status": of_status(condition.status), "reason": condition.reason,
                "message": messages::of_node(node, kind),
                "lastTransitionTime": clock.stamp(condition.since),
            }))
        })
        .collect();
    let version = Some(node.kubelet_version).filter(|version| !version.is_empty());
    let description = node.description.as_deref();
    let info = description.and_then(|of| serde_json::to_value(&of.info).ok());
    let addresses = description.and_then(|of| serde_json::from_str::<Value>(of.addresses.as_json()).ok());
    json!({
        "nodeInfo": info.or_else(|| version.map(|version| json!({"kubeletVersion": version}))),
        "addresses": addresses,
        "allocatable": amounts(&node.allocatable, node.allocatable_pods),
        "capacity": amounts(&node.capacity, node.allocatable_pods),
        "conditions": conditions,
    })
}

/// The generation that a controller has seen; the API leaves it out before it has seen any.
fn observed(generation: i64) -> Option<i64> {
    Some(generation).filter(|generation| *generation != 0)
}

/// A count that the API leaves out when it is zero.
fn count(count: i32) -> Option<i32> {
    Some(count).filter(|count| *count != 0)
}

fn workload_status(id: WorkloadId, store: &Store, clock: Clock) -> Option<Value> {
    Some(match id {
        WorkloadId::Deployment(id) => {
            let status = &store.deployments.get(id)?.status;
            let named = [("Available", status.availability), ("Progressing", status.progressing)];
            let named = named.into_iter().filter_map(|(name, condition)| {
                let condition = condition?;
                let shown = json!({
                    "type": name, "status": of_status(condition.status), "reason": condition.reason.as_str(),
                    "message": messages::of_deployment(id, condition.reason, store),
                    "lastUpdateTime": clock.stamp(condition.updated_at),
                    "lastTransitionTime": clock.stamp(condition.since),
                });
                Some((condition.updated_at, shown))
            });
            let failure = status
                .replica_failure
                .map(|failure| (failure.since, replica_failure(failure, Some("lastUpdateTime"), clock)));
            let mut conditions: Vec<(SimTime, Value)> = named.chain(failure).collect();
            // Whoever writes one puts it behind the others (deployment controller, `SetDeploymentCondition`).
            conditions.sort_by_key(|(updated_at, _)| *updated_at);
            let conditions: Vec<Value> = conditions.into_iter().map(|(_, shown)| shown).collect();
            json!({
                "observedGeneration": observed(status.observed_generation), "replicas": count(status.replicas),
                "updatedReplicas": count(status.updated), "readyReplicas": count(status.ready),
                "availableReplicas": count(status.available),
                "unavailableReplicas": count(status.unavailable), "terminatingReplicas": status.terminating,
                "conditions": conditions,
            })
        }
        WorkloadId::ReplicaSet(id) => {
            let status = &store.replica_sets.get(id)?.status;
            json!({
                "observedGeneration": observed(status.observed_generation), "replicas": status.replicas,
                "fullyLabeledReplicas": count(status.fully_labeled), "readyReplicas": count(status.ready),
                "availableReplicas": count(status.available), "terminatingReplicas": status.terminating,
                "conditions": status.failure.map(|failure| [replica_failure(failure, None, clock)]),
            })
        }
        WorkloadId::DaemonSet(id) => {
            let status = &store.daemon_sets.get(id)?.status;
            json!({
                "observedGeneration": observed(status.observed_generation), "desiredNumberScheduled": status.desired,
                "currentNumberScheduled": status.current, "numberMisscheduled": status.misscheduled,
                "numberReady": status.ready, "numberAvailable": count(status.available),
                "numberUnavailable": count((status.desired - status.available).max(0)),
                "updatedNumberScheduled": count(status.updated),
            })
        }
        WorkloadId::StatefulSet(id) => {
            let set = store.stateful_sets.get(id)?;
            let status = &set.status;
            // The name of its ControllerRevision, which pods bear as their label, too.
            let revision = |name: crate::arena::Symbol| Some(name).filter(|name| !name.is_empty());
            json!({
                "observedGeneration": observed(status.observed_generation), "replicas": status.replicas,
                "readyReplicas": count(status.ready), "availableReplicas": status.available,
                "currentReplicas": count(status.current), "updatedReplicas": count(status.updated),
                "currentRevision": revision(status.current_revision),
                "updateRevision": revision(status.update_revision),
                "collisionCount": revision(status.update_revision).map(|_| 0),
            })
        }
        WorkloadId::Job(id) => job_status(store.jobs.get(id)?, store, clock),
        WorkloadId::CronJob(id) => {
            let cron_job = store.cron_jobs.get(id)?;
            let active = cron_job.status.active.iter().map(|(_, name)| json!({"kind": "Job", "name": name}));
            json!({
                "lastScheduleTime": cron_job.status.last_scheduled_at.map(|at| clock.stamp(at)),
                "lastSuccessfulTime": cron_job.status.last_succeeded_at.map(|at| clock.stamp(at)),
                "active": Some(active.collect::<Vec<_>>()).filter(|active| !active.is_empty()),
            })
        }
    })
}

/// Only a Deployment's condition says when it was updated.
fn replica_failure(failure: ReplicaFailure, updated: Option<&str>, clock: Clock) -> Value {
    let since = clock.stamp(failure.since);
    let mut condition = json!({
        "type": "ReplicaFailure", "status": "True", "reason": failure.reason, "message": failure.message,
        "lastTransitionTime": since,
    });
    if let Some(updated) = updated {
        condition[updated] = json!(since);
    }
    condition
}

fn job_status(Job { spec, status, .. }: &Job, store: &Store, clock: Clock) -> Value {
    let conditions = status.conditions.iter().map(|condition @ JobCondition { kind, reason, since }| {
        let holds = if condition.holds() { "True" } else { "False" };
        let (message, since) = (reason.message(), clock.stamp(*since));
        let reason = Some(reason.as_str()).filter(|reason| !reason.is_empty());
        json!({
            "type": kind.as_str(), "status": holds, "reason": reason, "message": message, "lastProbeTime": since,
            "lastTransitionTime": since,
        })
    });
    let conditions: Vec<Value> = conditions.collect();
    // Nobody has looked at it: its controller has not yet, or is another one.
    if *status == JobStatus::default() {
        return json!({});
    }
    let uids = |pods: &[PodId]| {
        let uids: Vec<String> = pods.iter().filter_map(|id| Some(store.pod(*id)?.uid.to_string())).collect();
        Some(uids).filter(|uids| !uids.is_empty())
    };
    let uncounted = json!({"succeeded": uids(&status.uncounted_succeeded), "failed": uids(&status.uncounted_failed)});
    json!({
        "active": count(status.active), "ready": status.ready, "succeeded": count(status.succeeded),
        "failed": count(status.failed), "terminating": status.terminating,
        "startTime": status.started_at.map(|at| clock.stamp(at)),
        "completionTime": status.completed_at.map(|at| clock.stamp(at)),
        "completedIndexes": Some(intervals(&status.completed_indexes)).filter(|indexes| !indexes.is_empty()),
        "failedIndexes": spec.backoff_limit_per_index.map(|_| intervals(&status.failed_indexes)),
        "uncountedTerminatedPods": uncounted,
        "conditions": Some(conditions).filter(|conditions| !conditions.is_empty()),
    })
}

/// Indexes as the status of a Job has them: `0,2-4`.
///
/// # Source
/// kube-controller-manager, job-controller, `orderedIntervals.String`: of two in a row both are named.
fn intervals(indexes: &[i32]) -> String {
    let runs = indexes.chunk_by(|one, next| one + 1 == *next);
    let text = runs.map(|run| match run {
        [one] => one.to_string(),
        [one, other] => format!("{one},{other}"),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    text.collect::<Vec<_>>().join(",")
}

/// Metadata and status of the small kinds.
fn other(
    kind: Kind,
    namespace: crate::arena::Symbol,
    name: crate::arena::Symbol,
    store: &Store,
    clock: Clock,
) -> Option<(Value, Value)> {
    let is_it = |meta: &Meta| meta.namespace == namespace && meta.name == name;
    Some(match kind {
        Kind::PodDisruptionBudget => {
            let (_, budget) = store.budgets.iter().find(|(_, budget)| is_it(&budget.meta))?;
            let status = &budget.status;
            let conditions = status.condition.as_ref().map(|(is_so, reason, message)| {
                let (status, reason) = (status_text(*is_so), reason.as_str());
                let seen = observed(budget.status.observed_generation);
                json!([{
                    "type": "DisruptionAllowed", "status": status, "reason": reason, "message": **message, "observedGeneration": seen,
                }])
            });
            let status = json!({
                "observedGeneration": observed(status.observed_generation), "disruptionsAllowed": status.disruptions_allowed,
                "currentHealthy": status.current_healthy, "desiredHealthy": status.desired_healthy,
                "expectedPods": status.expected_pods, "conditions": conditions,
            });
            (metadata_of(&budget.meta, store, clock), status)
        }
        Kind::Service => {
            let (_, service) = store.services.iter().find(|(_, service)| is_it(&service.meta))?;
            (metadata_of(&service.meta, store, clock), Value::Null)
        }
        Kind::Namespace => {
            let (_, namespace) = store.namespace(name)?;
            let is_going = namespace.deleting_since.is_some();
            let deleting = namespace.deleting_since.map(|at| clock.stamp(at));
            let phase = if is_going { "Terminating" } else { "Active" };
            let metadata = json!({
                "uid": namespace.uid.to_string(), "creationTimestamp": clock.stamp(namespace.created_at),
                "deletionTimestamp": deleting,
            });
            (metadata, json!({"phase": phase}))
        }
        Kind::PersistentVolumeClaim => {
            let claim = store.volumes.claim(store.volumes.find_claim(namespace, name)?)?;
            let bound = claim.bound_to().filter(|_| !claim.is_lost);
            let bound = bound.and_then(|name| store.volumes.volume(store.volumes.find_volume(name)?));
            let bound = bound.map(|volume| &volume.spec);
            let status = json!({
                "phase": claim.phase().as_str(), "capacity": bound.map(|spec| &spec.capacity),
                "accessModes": bound.map(|spec| &spec.access_modes),
            });
            let mut metadata = metadata_of(&claim.meta, store, clock);
            if let Some(owner) = claim.owner.and_then(|of| claim_owner(of, store)) {
                metadata["ownerReferences"] = json!([owner]);
            }
            (metadata, status)
        }
        Kind::PersistentVolume => {
            let volume = store.volumes.volume(store.volumes.find_volume(name)?)?;
            (metadata_of(&volume.meta, store, clock), json!({"phase": volume.phase().as_str()}))
        }
        Kind::Stored(kind) => match store.stored.get(&(kind.printed(), namespace, name)) {
            Some(stored) => {
                let status = store.autoscalers.get(&(namespace, name)).filter(|_| kind.is_autoscaler());
                let status = status.map_or(Value::Null, |found| super::autoscaler::status(found, clock));
                let is_quota = kind.is_built_in() && kind.kind == "ResourceQuota";
                let quota = store.quotas.get(&(namespace, name)).filter(|_| is_quota);
                let status = quota.map_or(status, |found| json!({"hard": found.hard, "used": found.used}));
                (metadata_of(&stored.meta, store, clock), status)
            }
            None => (Value::Null, Value::Null),
        },
        Kind::PriorityClass => {
            let class = store.priority_class(name)?;
            (json!({"creationTimestamp": clock.stamp(class.created_at)}), Value::Null)
        }
        _ => (Value::Null, Value::Null),
    })
}
