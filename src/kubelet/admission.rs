//! What a kubelet checks before it starts a pod that was bound to it.

use crate::model::{QosClass, SYSTEM_CRITICAL_PRIORITY, Taint, TaintEffect};
use crate::state::{Node, Pod, ReportedConditions, Store};

/// Why a pod is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// `status.reason` and the event's reason.
    pub(super) reason: &'static str,
    /// What follows "Pod was rejected: ".
    pub(super) message: String,
}

/// Why a pod is refused, if it is.
///
/// # Source
/// kubelet, admission handlers: node pressure, resources, then node affinity, then untolerated NoExecute taints, then a shutdown
/// under way; the first counts. A critical pod that only lacks resources makes room for itself. Mirror pods are exempt but in a
/// shutdown.
pub(super) fn refuses(
    store: &Store,
    node: &Node,
    name: crate::arena::Symbol,
    pod: &Pod,
    reported: &ReportedConditions,
) -> Option<Refusal> {
    let refusal = if pod.is_mirror { None } else { refused_by_predicates(store, node, name, pod, reported) };
    refusal.or_else(|| {
        let message = "Pod was rejected as the node is shutting down.".to_owned();
        reported.shutting_down.then_some(Refusal { reason: "NodeShutdown", message })
    })
}

fn refused_by_predicates(
    store: &Store,
    node: &Node,
    name: crate::arena::Symbol,
    pod: &Pod,
    reported: &ReportedConditions,
) -> Option<Refusal> {
    if let Some(refusal) = under_pressure(pod, reported) {
        return Some(refusal);
    }
    if pod.spec.priority < SYSTEM_CRITICAL_PRIORITY
        && let Some(lack) = lacks(store, node, pod).first()
    {
        return Some(lack.refusal());
    }
    if !pod.spec.allows_node(&node.labels, name) {
        let message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector".to_owned();
        return Some(Refusal { reason: "NodeAffinity", message });
    }
    let untolerated = node.taints.iter().any(|t| {
        let taint = Taint::new(t.key, t.value, t.effect);
        t.effect == TaintEffect::NoExecute
            && !pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint))
    });
    untolerated.then(|| Refusal {
        reason: "TaintToleration",
        message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate".to_owned(),
    })
}

/// # Source
/// kubelet, eviction manager as admission handler: critical pods always; under memory pressure alone, all but BestEffort
/// pods that do not tolerate it; otherwise nobody.
fn under_pressure(pod: &Pod, reported: &ReportedConditions) -> Option<Refusal> {
    let conditions = [
        (reported.memory_pressure, "MemoryPressure"),
        (reported.disk_pressure, "DiskPressure"),
        (reported.pid_pressure, "PIDPressure"),
    ];
    let holding: Vec<&str> = conditions.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
    if holding.is_empty() || pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY {
        return None;
    }
    if holding == ["MemoryPressure"] {
        let taint = Taint::new("node.kubernetes.io/memory-pressure".into(), "".into(), TaintEffect::NoSchedule);
        let is_tolerated = pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint));
        if pod.spec.qos != QosClass::BestEffort || is_tolerated {
            return None;
        }
    }
    let message = format!("The node had condition: [{}]. ", holding.join(", "));
    Some(Refusal { reason: "Evicted", message })
}

/// A resource of which a kubelet keeps count.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Cpu,
    Memory,
    EphemeralStorage,
    Pods,
}

impl Resource {
    /// In the order in which a kubelet looks.
    const ALL: [Self; 4] = [Self::Pods, Self::Cpu, Self::Memory, Self::EphemeralStorage];

    /// What a pod asks for, CPU in thousandths.
    pub(super) fn request(self, pod: &Pod) -> i64 {
        match self {
            Self::Cpu => pod.spec.requests.cpu_milli,
            Self::Memory => pod.spec.requests.memory,
            Self::EphemeralStorage => pod.spec.requests.ephemeral_storage,
            Self::Pods => 1,
        }
    }

    fn allocatable(self, node: &Node) -> i64 {
        match self {
            Self::Cpu => node.allocatable.cpu_milli,
            Self::Memory => node.allocatable.memory,
            Self::EphemeralStorage => node.allocatable.ephemeral_storage,
            Self::Pods => node.allocatable_pods,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
        }
    }

    fn refusal(self) -> &'static str {
        match self {
            Self::Cpu => "OutOfcpu",
            Self::Memory => "OutOfmemory",
            Self::EphemeralStorage => "OutOfephemeral-storage",
            Self::Pods => "OutOfpods",
        }
    }
}

/// A resource of which there is not enough.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Lack {
    pub(super) resource: Resource,
    asked: i64,
    used: i64,
    capacity: i64,
}

impl Lack {
    /// How much is missing.
    pub(super) fn amount(&self) -> i64 {
        self.asked - (self.capacity - self.used)
    }

    fn refusal(&self) -> Refusal {
        let Self { resource, asked, used, capacity } = *self;
        let name = resource.name();
        let message =
            format!("Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {capacity}");
        Refusal { reason: resource.refusal(), message }
    }
}

/// What the node lacks for a pod beside those that it has.
pub(super) fn lacks(store: &Store, node: &Node, pod: &Pod) -> Vec<Lack> {
    let Some(id) = pod.node else { return Vec::new() };
    let mut used = [0_i64; Resource::ALL.len()];
    for other in store.pods_on(id).iter().filter_map(|&other| store.pod(other)) {
        if other.uid != pod.uid && !other.phase.is_terminal() {
            for (sum, resource) in used.iter_mut().zip(Resource::ALL) {
                *sum += resource.request(other);
            }
        }
    }
    let lack = |(resource, used): (Resource, i64)| {
        let lack = Lack { resource, asked: resource.request(pod), used, capacity: resource.allocatable(node) };
        (lack.asked > 0 && lack.amount() > 0).then_some(lack)
    };
    Resource::ALL.into_iter().zip(used).filter_map(lack).collect()
}

/// A critical pod for which no set of pods makes room.
pub(super) fn no_room(lacks: &[Lack]) -> Refusal {
    let amounts: String =
        lacks.iter().map(|lack| format!("(res: {}, q: {}), ", lack.resource.name(), lack.amount())).collect();
    let message = format!(
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to \
         preempt: no set of running pods found to reclaim resources: [{amounts}]"
    );
    Refusal { reason: "UnexpectedAdmissionError", message }
}
