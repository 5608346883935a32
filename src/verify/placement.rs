//! No node is given more than it has.

use rustc_hash::{FxHashMap, FxHashSet};

use super::mirror::{Mirror, pod_name};
use crate::component::Config;
use crate::model::Resources;
use crate::state::{Change, Changed, Node, NodeId, Pod, PodDelta, PodId, Store};

/// What the pods of a node that a scheduler put there ask for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Used {
    requests: Resources,
    pods: i64,
}

/// Requests by node, kept from the changes.
#[derive(Clone, Debug)]
pub(super) struct NodeRequests {
    used: FxHashMap<NodeId, Used>,
    /// Pods that were created with a `nodeName`: no scheduler looked whether they fit.
    preset: FxHashSet<PodId>,
    /// The default configuration, whose `NodeResourcesFit` keeps nodes within their limits.
    is_limited: bool,
}

impl NodeRequests {
    pub(super) fn new(store: &Store, config: &Config) -> Self {
        let mut placement = Self {
            used: FxHashMap::default(),
            preset: FxHashSet::default(),
            is_limited: config.kube_scheduler.profiles.is_empty(),
        };
        for (_, pod) in store.pods() {
            placement.count(pod, 1);
        }
        placement
    }

    fn count(&mut self, pod: &Pod, sign: i64) {
        let Some(node) = pod.node else { return };
        if pod.phase.is_terminal() {
            return;
        }
        let used = self.used.entry(node).or_default();
        used.pods += sign;
        if sign > 0 {
            used.requests.add(&pod.spec.requests);
        } else {
            used.requests.sub(&pod.spec.requests);
        }
    }

    /// A change, with the mirror as it was before.
    pub(super) fn changed(&mut self, change: &Change, store: &Store, before: &Mirror) -> Result<(), String> {
        match &change.what {
            Changed::PodAdded(id) if store.pod(*id).is_some_and(|pod| pod.node.is_some()) => {
                self.preset.insert(*id);
            }
            Changed::PodUpdated { pod: id, delta, .. } => {
                let parts = PodDelta::NODE | PodDelta::PHASE | PodDelta::SPEC | PodDelta::ANNOTATIONS;
                if !delta.touches(parts) || self.preset.contains(id) {
                    return Ok(());
                }
                let (Some(known), Some(now)) = (before.pod(*id), store.pod(*id)) else { return Ok(()) };
                self.count(known, -1);
                let mut next = known.clone();
                super::mirror::copy_parts(&mut next, now, *delta);
                self.count(&next, 1);
                if known.node.is_none() && next.node.is_some() && !next.phase.is_terminal() {
                    return self.check(&next, store);
                }
            }
            Changed::PodRemoved { pod: id, .. } => {
                if !self.preset.remove(id)
                    && let Some(known) = before.pod(*id)
                {
                    self.count(known, -1);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The pod was just bound: its node has what it asks for.
    fn check(&self, pod: &Pod, store: &Store) -> Result<(), String> {
        let Some(id) = pod.node.filter(|_| self.is_limited) else { return Ok(()) };
        let (Some(node), Some(used)) = (store.node(id), self.used.get(&id)) else { return Ok(()) };
        match over(node, used, &pod.spec.requests) {
            None => Ok(()),
            Some((resource, used, has)) => {
                let name = store.node_name(id);
                Err(format!(
                    "pod {} was bound to node {name}, which has {has} of {resource} and now gives {used}",
                    pod_name(pod)
                ))
            }
        }
    }

    /// Counts the requests anew.
    pub(super) fn recount(&self, store: &Store) -> Result<(), String> {
        let mut again = Self { used: FxHashMap::default(), preset: FxHashSet::default(), is_limited: self.is_limited };
        for (id, pod) in store.pods() {
            if !self.preset.contains(&id) {
                again.count(pod, 1);
            }
        }
        for node in store.node_ids() {
            let (kept, counted) = (self.used.get(&node), again.used.get(&node));
            let pods = |used: Option<&Used>| used.map_or(0, |used| used.pods);
            let cpu = |used: Option<&Used>| used.map_or(0, |used| used.requests.cpu_milli);
            if pods(kept) != pods(counted) || cpu(kept) != cpu(counted) {
                return Err(format!("the pods of node {} are counted wrongly", store.node_name(node)));
            }
        }
        Ok(())
    }
}

/// The first resource that the pod asks for and the node does not have: its name, what is used, what there is.
fn over(node: &Node, used: &Used, asked: &Resources) -> Option<(String, i64, i64)> {
    let has = &node.allocatable;
    let plain = [
        ("cpu", asked.cpu_milli, used.requests.cpu_milli, has.cpu_milli),
        ("memory", asked.memory, used.requests.memory, has.memory),
        ("ephemeral-storage", asked.ephemeral_storage, used.requests.ephemeral_storage, has.ephemeral_storage),
        ("pods", 1, used.pods, node.allocatable_pods),
    ];
    let plain = plain.into_iter().map(|(name, asked, used, has)| (name.to_owned(), asked, used, has));
    let scalars = asked
        .scalars
        .iter()
        .map(|&(name, asked)| (name.to_string(), asked, used.requests.scalar(name), has.scalar(name)));
    plain
        .chain(scalars)
        .find(|(_, asked, used, has)| *asked > 0 && used > has)
        .map(|(name, _, used, has)| (name, used, has))
}
