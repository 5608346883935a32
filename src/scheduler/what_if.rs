//! The scheduler's filters on a cluster that might be, for those who plan by them.

use std::sync::Arc;

use super::Scheduler;
use super::algorithm::ScheduleAlgorithm;
use super::framework::Incoming;
use super::profile::Profiles;
use crate::arena::{Symbol, Table, sym};
use crate::component::{Snapshot, WhatIf};
use crate::state::{AdmittedSpec, Node, NodeId, NodeSlot, PodId};

/// The cluster as the store has it, and what was tried on it.
struct Trial<'a> {
    snapshot: Snapshot<'a>,
    profiles: Profiles,
    algorithm: ScheduleAlgorithm,
    /// Names nodes that nobody has; its first places stand for those that there are.
    names: Table<NodeSlot>,
}

impl Scheduler {
    /// The cluster as it stands, on which things can be tried that do not happen.
    #[must_use]
    pub fn what_if<'a>(snapshot: Snapshot<'a>) -> Box<dyn WhatIf + 'a> {
        let Snapshot { store, config, .. } = snapshot;
        let mut names = Table::new();
        for id in store.node_ids() {
            let same = names.insert(NodeSlot { name: store.node_name(id), object: None });
            assert!(same == id, "node names are never given back");
        }
        let profiles = Profiles::of_config(config);
        Box::new(Trial { snapshot, profiles, algorithm: ScheduleAlgorithm::of(store, config), names })
    }
}

impl WhatIf for Trial<'_> {
    fn add_node(&mut self, name: Symbol, node: Arc<Node>, occupants: &[Arc<AdmittedSpec>]) -> NodeId {
        let id = self.names.insert(NodeSlot { name, object: None });
        self.algorithm.cache.put_node(id, name, &node);
        self.algorithm.cache.occupy(id, occupants);
        id
    }

    fn remove_node(&mut self, node: NodeId) {
        self.algorithm.cache.remove_node(node);
    }

    fn first_fit(&mut self, pod: PodId, nodes: &[NodeId]) -> Result<NodeId, Symbol> {
        let incoming = Incoming::of(pod, self.snapshot).ok_or(sym!("pod is gone"))?;
        let profile = self.profiles.of(incoming.pod.spec.scheduler_name);
        self.algorithm.first_fit(profile.ok_or(sym!("pod is another scheduler's"))?, incoming, nodes)
    }

    fn place(&mut self, pod: PodId, node: NodeId) {
        let Some(incoming) = Incoming::of(pod, self.snapshot) else { return };
        match self.profiles.of(incoming.pod.spec.scheduler_name) {
            Some(profile) => {
                self.algorithm.assume(profile, incoming, node);
            }
            None => self.algorithm.cache.assume(pod, incoming.pod, node),
        }
    }

    fn lift(&mut self, pod: PodId) {
        self.algorithm.cache.forget(pod);
        self.algorithm.cache.volumes.release(pod);
    }
}
