//! What a kubelet checks before it starts a pod that was bound to it.

use crate::model::{Taint, TaintEffect};
use crate::state::{Node, Pod, Store};

/// Why a pod is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// `status.reason` and the event's reason.
    pub(super) reason: &'static str,
    /// What follows "Pod was rejected: ".
    pub(super) message: String,
}

/// # Source
/// kubelet, lifecycle predicates: resources, then node affinity, then untolerated NoExecute taints; the first counts.
/// Mirror pods are exempt.
pub(super) fn refuses(store: &Store, node: &Node, name: crate::arena::Symbol, pod: &Pod, shutting_down: bool) -> Option<Refusal> {
    if shutting_down {
        let message = "Pod was rejected as the node is shutting down.".to_owned();
        return Some(Refusal { reason: "NodeShutdown", message });
    }
    if pod.is_mirror {
        return None;
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
        t.effect == TaintEffect::NoExecute && !pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint))
    });
    untolerated.then(|| Refusal {
        reason: "TaintToleration",
        message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate".to_owned(),
    })
}

fn out_of_resources(store: &Store, node: &Node, pod: &Pod) -> Option<Refusal> {
    let Some(id) = pod.node else { return None };
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
