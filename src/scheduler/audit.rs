//! The scheduler's picture of the cluster, counted again.

use rustc_hash::FxHashSet;

use super::Scheduler;
use crate::state::{NodeId, Pod, PodId, Store};

/// What the scheduler cannot know, or has decided and not yet seen done.
#[derive(Debug, Default)]
pub struct Unseen {
    /// Pods with changes that its watch has not delivered.
    pub pods: FxHashSet<PodId>,
    /// Nodes with such changes.
    pub nodes: FxHashSet<NodeId>,
    /// Pods with a binding that is not answered.
    pub binding: FxHashSet<PodId>,
}

impl Scheduler {
    /// Compares what it has counted with the store: every bound pod is counted on its node and nothing else is but what is
    /// being bound; what it has counted of a node is what the pods there add up to; every other pod of its own is queued.
    ///
    /// # Errors
    ///
    /// If something differs: what.
    pub fn audit(&self, store: &Store, unseen: &Unseen) -> Result<(), String> {
        self.algorithm.cache.audit_sums()?;
        for (id, pod) in store.pods().filter(|(id, _)| !unseen.pods.contains(id)) {
            self.audit_pod(id, pod, store, unseen)?;
        }
        for id in self.algorithm.cache.pod_ids() {
            if store.pod(id).is_none() && !unseen.pods.contains(&id) && !unseen.binding.contains(&id) {
                return Err(format!("the scheduler counts {id:?}, which is gone"));
            }
        }
        for node in store.node_ids().filter(|node| !unseen.nodes.contains(node)) {
            if !self.algorithm.cache.knows_node(node, store) {
                return Err(format!("the scheduler has an old picture of node {}", store.node_name(node)));
            }
        }
        Ok(())
    }

    fn audit_pod(&self, id: PodId, pod: &Pod, store: &Store, unseen: &Unseen) -> Result<(), String> {
        let name = format_args!("{}/{}", pod.namespace, pod.name);
        let counted = self.algorithm.cache.node_of(id);
        let is_finished = pod.phase.is_terminal();
        match pod.node {
            _ if is_finished && counted.is_some() => {
                Err(format!("the scheduler counts pod {name}, which is {}", pod.phase.as_str()))
            }
            Some(node) if !is_finished && counted != Some(node) => {
                let counted = counted.map(|node| store.node_name(node)).unwrap_or_default();
                let node = store.node_name(node);
                Err(format!("the scheduler counts pod {name} on `{counted}`; it is on {node}"))
            }
            None if counted.is_some() && !unseen.binding.contains(&id) && !self.prebindings.has(id) => {
                Err(format!("the scheduler counts pod {name}, which is not being bound"))
            }
            None if counted.is_none() && !is_finished && pod.deletion.is_none() && self.is_ours(pod) => {
                if self.queue.has(id) { Ok(()) } else { Err(format!("the scheduler has lost pod {name}")) }
            }
            _ => Ok(()),
        }
    }
}
