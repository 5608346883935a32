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

/// # Source
/// kubelet, lifecycle predicates: node pressure, resources, then node affinity, then untolerated NoExecute taints; the first counts.
/// Mirror pods are exempt.
pub(super) fn refuses(
    store: &Store,
    node: &Node,
    name: crate::arena::Symbol,
    pod: &Pod,
    reported: &ReportedConditions,
) -> Option<Refusal> {
    if reported.shutting_down {
        let message = "Pod was rejected as the node is shutting down.".to_owned();
        return Some(Refusal { reason: "NodeShutdown", message });
    }
    if pod.is_mirror {
        return None;
    }
    if let Some(refusal) = under_pressure(pod, reported) {
        return Some(refusal);
    }
    if let Some(refusal) = out_of_resources(store, node, pod) {
        return Some(refusal);
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

fn out_of_resources(store: &Store, node: &Node, pod: &Pod) -> Option<Refusal> {
    let id = pod.node?;
    let mut used = (0, 0, 0);
    for other in store.pods_on(id).iter().filter_map(|&other| store.pod(other)) {
        if other.uid != pod.uid && !other.phase.is_terminal() {
            used.0 += other.spec.requests.cpu_milli;
            used.1 += other.spec.requests.memory;
            used.2 += 1;
        }
    }
    let asked = (pod.spec.requests.cpu_milli, pod.spec.requests.memory, 1);
    let capacity = (node.allocatable.cpu_milli, node.allocatable.memory, node.allocatable_pods);
    let checks = [
        ("OutOfcpu", "cpu", asked.0, used.0, capacity.0),
        ("OutOfmemory", "memory", asked.1, used.1, capacity.1),
        ("OutOfpods", "pods", asked.2, used.2, capacity.2),
    ];
    for (reason, resource, asked, used, capacity) in checks {
        if asked > 0 && used + asked > capacity {
            let message = format!(
                "Node didn't have enough resource: {resource}, requested: {asked}, used: {used}, capacity: {capacity}"
            );
            return Some(Refusal { reason, message });
        }
    }
    None
}
