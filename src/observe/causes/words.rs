//! Changes in words, and of what nature each is.

use std::fmt::{self, Write};

use super::super::waiting::Waiting;
use super::Nature;
use crate::component::{node_name, pod_name, workload_name};
use crate::model::PersistentVolumePhase;
use crate::state::{
    AttachmentPhase, CauseId, Changed, ContainerState, DeletionCause, Node, NodeDelta, NodeId, NotScheduled,
    ObjectDelta, Pod, PodDelta, PodDisruptionBudgetId, PodId, PodPhase, ServiceId, Store, WorkloadId,
};

/// What a row says.
pub(super) struct Said {
    pub(super) nature: Nature,
    pub(super) text: String,
}

fn plain(text: String) -> Option<Said> {
    Some(Said { nature: Nature::Plain, text })
}

fn of_a_node(node: NodeId, text: String) -> Option<Said> {
    Some(Said { nature: Nature::Node(node), text })
}

/// A change in words; none for those that explain nothing.
pub(super) fn describe(what: &Changed, store: &Store) -> Option<Said> {
    match what {
        Changed::PodAdded(id) => plain(format!("{} created", pod_name(store, *id))),
        Changed::PodUpdated { pod, delta, .. } => of_pod(*pod, *delta, store),
        Changed::PodRemoved { last, .. } => {
            Some(Said { nature: Nature::Loss, text: format!("pod/{}/{} gone", last.namespace, last.name) })
        }
        Changed::NodeAdded(id) => of_a_node(*id, format!("{} registered", node_name(store, *id))),
        Changed::NodeRemoved { node, .. } => of_a_node(*node, format!("{} deleted", node_name(store, *node))),
        Changed::NodeUpdated { node, delta, before } => of_a_node(*node, of_node(*node, *delta, before, store)?),
        Changed::WorkloadUpdated(id, delta) => of_workload(*id, *delta, store).and_then(plain),
        Changed::BudgetAdded(id) | Changed::BudgetUpdated(id, _) => of_budget(*id, store).and_then(plain),
        Changed::EndpointsChanged(id) => of_endpoints(*id, store).and_then(plain),
        Changed::ServiceChanged(id) => {
            let meta = &store.services.get(*id)?.meta;
            plain(format!("service/{}/{} changed", meta.namespace, meta.name))
        }
        Changed::AutoscalerChanged((namespace, name)) => {
            let autoscaler = store.autoscalers.get(&(*namespace, *name))?;
            let min = autoscaler.spec.min_replicas.unwrap_or(1);
            let max = autoscaler.spec.max_replicas;
            plain(format!("horizontalpodautoscaler/{namespace}/{name} wants {min} to {max}"))
        }
        Changed::AutoscalerRemoved((namespace, name)) => {
            plain(format!("horizontalpodautoscaler/{namespace}/{name} deleted"))
        }
        Changed::NamespaceChanged(id) => {
            let namespace = store.namespaces.get(*id)?;
            let how = if namespace.deleting_since.is_some() { "marked for deletion" } else { "changed" };
            plain(format!("namespace/{} {how}", namespace.name))
        }
        Changed::QuotaChanged((namespace, name)) => plain(format!("resourcequota/{namespace}/{name} changed")),
        Changed::VolumeChanged(_)
        | Changed::ClaimChanged(_)
        | Changed::ClaimRemoved(_)
        | Changed::AttachmentChanged { .. } => of_storage(what, store).and_then(plain),
        // The creation and the removal of these have been told by name; the rest is no change of an object that a story has.
        Changed::WorkloadAdded(_)
        | Changed::WorkloadRemoved(_)
        | Changed::BudgetRemoved(_)
        | Changed::ServiceRemoved(_)
        | Changed::NamespaceRemoved(_)
        | Changed::VolumeRemoved(_)
        | Changed::ReferencesChanged
        | Changed::HeartbeatChanged(_)
        | Changed::StorageChanged => None,
    }
}

/// A pod that its controller replaces as it is is a loss. What takes a pod away says so in its conditions first.
fn of_pod(id: PodId, delta: PodDelta, store: &Store) -> Option<Said> {
    let pod = store.pod(id)?;
    let said = |nature: Nature, what: fmt::Arguments<'_>| {
        Some(Said { nature, text: format!("{} {what}", pod_name(store, id)) })
    };
    if delta.touches(PodDelta::DELETION) {
        let cause = pod.deletion.map(|deletion| deletion.cause);
        let is_rolled = cause == Some(DeletionCause::RollingUpdate);
        let nature = if is_rolled { Nature::Plain } else { Nature::Loss };
        return said(nature, format_args!("marked for deletion ({})", cause.map_or("", DeletionCause::as_str)));
    }
    if delta.touches(PodDelta::NODE) {
        return said(Nature::Plain, format_args!("bound to {}", store.node_name(pod.node?)));
    }
    if delta.touches(PodDelta::PHASE) {
        let nature = if pod.phase == PodPhase::Failed { Nature::Loss } else { Nature::Plain };
        let reason = Parenthesis(pod.reason.as_str());
        return said(nature, format_args!("is {}{reason}{}", pod.phase.as_str(), Waits(", its containers wait", pod)));
    }
    if delta.touches(PodDelta::CONTAINERS)
        && Waiting::of(pod, CauseId::NONE).is_some()
        && !backs_off_as_said(pod, store)
    {
        return said(Nature::Plain, format_args!("{}", Waits("waits", pod)));
    }
    if delta.touches(PodDelta::READY) {
        return said(Nature::Plain, format_args!("Ready={}", if pod.is_ready() { "True" } else { "False" }));
    }
    if delta.touches(PodDelta::CONDITIONS) {
        return match &pod.not_scheduled {
            Some(why) => said(Nature::Plain, format_args!("{}", not_scheduled(why))),
            None => said(Nature::Loss, format_args!("conditions changed")),
        };
    }
    if delta.touches(PodDelta::NOMINATION) { said(Nature::Plain, format_args!("nominated")) } else { None }
}

/// Whether the status says that a container backs off: a kubelet has said so in fact when that had ended, what stands in for one has not.
fn backs_off_as_said(pod: &Pod, store: &Store) -> bool {
    let mut all = pod.init_containers.iter().chain(&pod.containers);
    all.any(|status| status.state == ContainerState::CrashLoopBackOff)
        && pod.node.is_some_and(|node| !store.machine(node).has_stand_in_kubelet)
}

/// The condition of a pod that has no node, and why.
pub(super) fn not_scheduled(why: &NotScheduled) -> String {
    format!("PodScheduled=False ({}): {}", why.reason.as_str(), why.message)
}

/// ` (Evicted)`, or nothing.
struct Parenthesis<'a>(&'a str);

impl fmt::Display for Parenthesis<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(formatter, " ({})", self.0) }
    }
}

/// What the pod's containers wait for, if they do, after these words.
struct Waits<'a>(&'static str, &'a Pod);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Waiting::of(self.1, CauseId::NONE) {
            Some(Waiting { reason, subject, .. }) => write!(formatter, "{}: {reason} ({subject})", self.0),
            None => Ok(()),
        }
    }
}

fn of_node(id: NodeId, delta: NodeDelta, before: &Node, store: &Store) -> Option<String> {
    let node = store.node(id)?;
    let mut text = format!("node/{}", store.node_name(id));
    if delta.touches(NodeDelta::TAINTS) {
        for taint in node.taints.iter().filter(|taint| before.taint(taint.key, taint.effect).is_none()) {
            write!(text, " +{}:{}", taint.key, taint.effect).ok()?;
        }
        for taint in before.taints.iter().filter(|taint| node.taint(taint.key, taint.effect).is_none()) {
            write!(text, " -{}:{}", taint.key, taint.effect).ok()?;
        }
    } else if delta.touches(NodeDelta::CONDITIONS) {
        let ready = node.conditions.ready().map_or("absent", |status| status.as_str());
        write!(text, " conditions changed, Ready={ready}").ok()?;
    } else if delta.touches(NodeDelta::UNSCHEDULABLE) {
        text.push_str(if node.unschedulable { " cordoned" } else { " uncordoned" });
    } else if delta.touches(NodeDelta::LABELS) {
        text.push_str(" relabeled");
    } else {
        return None;
    }
    Some(text)
}

fn of_workload(id: WorkloadId, delta: ObjectDelta, store: &Store) -> Option<String> {
    let name = workload_name(store, id);
    if delta.touches(ObjectDelta::SPEC) {
        let replicas = replicas_of(id, store);
        return Some(
            replicas.map_or_else(|| format!("{name} changed"), |of| format!("{name} changed, replicas: {of}")),
        );
    }
    delta.touches(ObjectDelta::DELETION).then(|| format!("{name} marked for deletion"))
}

/// `spec.replicas` of kinds that have it.
fn replicas_of(id: WorkloadId, store: &Store) -> Option<i32> {
    match id {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(|of| of.spec.replicas.unwrap_or(1)),
        WorkloadId::ReplicaSet(id) => store.replica_sets.get(id).map(|of| of.replicas),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(|of| of.spec.replicas.unwrap_or(1)),
        WorkloadId::DaemonSet(_) | WorkloadId::Job(_) | WorkloadId::CronJob(_) => None,
    }
}

fn of_budget(id: PodDisruptionBudgetId, store: &Store) -> Option<String> {
    let budget = store.budgets.get(id)?;
    let allowed = budget.status.disruptions_allowed;
    Some(format!("poddisruptionbudget/{}/{} allows {allowed}", budget.meta.namespace, budget.meta.name))
}

fn of_endpoints(id: ServiceId, store: &Store) -> Option<String> {
    let service = store.services.get(id)?;
    let ready = service.slices.values().flat_map(|slice| slice.iter()).filter(|endpoint| endpoint.ready).count();
    Some(format!("service/{}/{} has {ready} ready endpoints", service.meta.namespace, service.meta.name))
}

/// Volumes, claims and attachments.
fn of_storage(what: &Changed, store: &Store) -> Option<String> {
    match what {
        Changed::AttachmentChanged { volume, node } => {
            let name = store.volumes.volume(*volume)?.meta.name;
            let how = match store.volumes.attachment(*volume, *node).phase {
                Some(AttachmentPhase::Attached) => "is attached to",
                Some(AttachmentPhase::Attaching) => "is being attached to",
                Some(AttachmentPhase::Detaching) => "is being detached from",
                None => "is not attached to",
            };
            Some(format!("persistentvolume/{name} {how} {}", store.node_name(*node)))
        }
        Changed::ClaimChanged(id) => {
            let claim = store.volumes.claim(*id)?;
            let how = if claim.bound_to().is_some() { "is bound" } else { "is not bound" };
            Some(format!("persistentvolumeclaim/{}/{} {how}", claim.meta.namespace, claim.meta.name))
        }
        Changed::ClaimRemoved(claim) => {
            Some(format!("persistentvolumeclaim/{}/{} deleted", claim.meta.namespace, claim.meta.name))
        }
        Changed::VolumeChanged(id) => {
            let volume = store.volumes.volume(*id)?;
            let how = match volume.phase() {
                PersistentVolumePhase::Released | PersistentVolumePhase::Failed => "is released",
                PersistentVolumePhase::Bound => "is bound",
                PersistentVolumePhase::Available | PersistentVolumePhase::Pending => "is available",
            };
            Some(format!("persistentvolume/{} {how}", volume.meta.name))
        }
        _ => None,
    }
}
