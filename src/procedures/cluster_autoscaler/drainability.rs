//! Which pods have to leave a node before it can go, and which keep it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arena::{Symbol, sym};
use crate::model::config::ClusterAutoscaler as Flags;
use crate::state::{NodeId, Owner, Pod, PodDisruptionBudgetId, PodId, Store};

/// What is left of the budgets while nodes are given up one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Budgets {
    left: BTreeMap<PodDisruptionBudgetId, i32>,
}

impl Budgets {
    fn of<'a>(pod: &'a Pod, store: &'a Store) -> impl Iterator<Item = (PodDisruptionBudgetId, i32)> + 'a {
        let selects = |budget: &crate::state::PodDisruptionBudget| {
            budget.meta.namespace == pod.namespace
                && budget.spec.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels))
        };
        let budgets = store.budgets.iter().filter(move |(_, budget)| selects(budget));
        budgets.map(|(id, budget)| (id, budget.status.disruptions_allowed))
    }

    /// Whether the budgets of all these pods allow each of them to go.
    fn allow(&self, pods: &[PodId], store: &Store) -> bool {
        let mut left = self.left.clone();
        pods.iter().filter_map(|&id| store.pod(id)).all(|pod| {
            Self::of(pod, store).all(|(id, allowed)| {
                let left = left.entry(id).or_insert(allowed);
                *left -= 1;
                *left >= 0
            })
        })
    }

    /// The pods go.
    pub(super) fn take(&mut self, pods: &[PodId], store: &Store) {
        for pod in pods.iter().filter_map(|&id| store.pod(id)) {
            for (id, allowed) in Self::of(pod, store) {
                *self.left.entry(id).or_insert(allowed) -= 1;
            }
        }
    }
}

/// Whether it has storage of the node that the annotation does not give up.
fn has_local_storage(pod: &Pod) -> bool {
    let key = sym!("cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes");
    let given_up = pod.annotation(key).unwrap_or_default();
    let is_local = |volume: &crate::model::Volume| {
        let is_on_disk = volume.empty_dir.as_ref().is_some_and(|dir| dir.medium != sym!("Memory"));
        is_on_disk || !volume.host_path.is_none()
    };
    let is_given_up = |name: Symbol| given_up.as_str().split(',').any(|given| name == given);
    pod.spec.volumes.iter().any(|volume| is_local(volume) && !is_given_up(volume.name))
}

/// Why a pod keeps its node, if it does.
///
/// # Source
/// cluster-autoscaler, FAQ, "What types of pods can prevent CA from removing a node?"
fn keeps(pod: &Pod, flags: &Flags, store: &Store) -> Option<&'static str> {
    match pod.annotation(sym!("cluster-autoscaler.kubernetes.io/safe-to-evict")).map(Symbol::as_str) {
        Some("true") => return None,
        Some("false") => return Some("is not safe to evict"),
        _ => {}
    }
    let is_custom = matches!(pod.owner, Some(Owner::Foreign { .. } | Owner::Node(_)));
    if pod.owner.is_none() {
        return Some("is not replicated");
    }
    if is_custom && flags.skip_nodes_with_custom_controller_pods {
        return Some("has a controller of its own");
    }
    let is_system = pod.namespace == sym!("kube-system");
    if is_system && flags.skip_nodes_with_system_pods && Budgets::of(pod, store).next().is_none() {
        return Some("is of kube-system and has no budget");
    }
    (flags.skip_nodes_with_local_storage && has_local_storage(pod)).then_some("has local storage")
}

/// The pods that would have to leave a node, or why it cannot be emptied.
pub(super) fn pods_to_move(
    node: NodeId,
    flags: &Flags,
    budgets: &Budgets,
    store: &Store,
) -> Result<Vec<PodId>, String> {
    let mut pods = Vec::new();
    for &id in store.pods_on(node) {
        let Some(pod) = store.pod(id) else { continue };
        let is_daemon = match pod.owner {
            Some(Owner::DaemonSet(_)) => true,
            Some(Owner::Foreign { kind, .. }) => kind == sym!("DaemonSet"),
            _ => false,
        };
        if pod.is_mirror || is_daemon || pod.phase.is_terminal() || pod.deletion.is_some() {
            continue;
        }
        if let Some(why) = keeps(pod, flags, store) {
            return Err(format!("pod {}/{} {why}", pod.namespace, pod.name));
        }
        pods.push(id);
    }
    pods.sort_by_key(|&id| store.pod(id).map(|pod| (pod.namespace, Arc::clone(&pod.name))));
    if budgets.allow(&pods, store) { Ok(pods) } else { Err("a budget does not allow its pods to go".to_owned()) }
}
