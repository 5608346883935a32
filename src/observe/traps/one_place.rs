//! Workloads whose pods were all on the node, or in the zone, that failed.

use std::collections::{BTreeMap, BTreeSet};

use super::named::{Names, and_more, length, moment, workload_name};
use super::nodes::{NodeFacts, Turn};
use super::{Mechanism, Trap, TrapKind};
use crate::arena::Symbol;
use crate::component::{Config, node_name};
use crate::observe::slo::desired_of;
use crate::observe::workload::root_of;
use crate::observe::zone_of;
use crate::state::{Change, Changed, NodeId, Pod, PodDelta, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// A workload that lost all its ready pods at once.
#[derive(Clone, Debug)]
struct Down {
    since: SimTime,
    name: String,
    /// The rest of the sentence: where its pods were.
    place: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct OnePlace {
    down: BTreeMap<WorkloadId, Down>,
    workloads: Names,
    named: BTreeSet<WorkloadId>,
    first_at: Option<SimTime>,
    worst: Option<(SimDuration, String)>,
}

impl Mechanism for OnePlace {
    type Found = Option<Trap>;

    fn begin(_: &NodeFacts, _: &Store, _: &Config) -> Self {
        Self::default()
    }

    fn changed(&mut self, change: &Change, _: Turn, nodes: &NodeFacts, store: &Store) {
        match &change.what {
            Changed::PodUpdated { pod, delta, .. } if delta.touches(PodDelta::READY | PodDelta::DELETION) => {
                if let Some(pod) = store.pod(*pod) {
                    self.look(change.at, pod, nodes, store);
                }
            }
            Changed::PodRemoved { last, .. } => self.look(change.at, last, nodes, store),
            Changed::WorkloadRemoved(workload) => {
                if let Some(down) = self.down.remove(workload) {
                    self.close(change.at, *workload, &down, false);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self, end: SimTime, _: &NodeFacts, _: &Store) -> Self::Found {
        for (workload, down) in std::mem::take(&mut self.down) {
            self.close(end, workload, &down, true);
        }
        let (cost, text) = self.worst?;
        let text = format!("{text}{}", and_more(self.workloads.count() - 1, "workload", "workloads"));
        Some(self.workloads.trap(TrapKind::AllInOnePlace, self.first_at?, text, Some(cost)))
    }
}

impl OnePlace {
    fn look(&mut self, at: SimTime, pod: &Pod, nodes: &NodeFacts, store: &Store) {
        let Some(owner) = pod.owner.and_then(WorkloadId::from_owner) else { return };
        let is_up = store.tally(owner).ready > 0;
        if self.down.is_empty() && is_up {
            return;
        }
        let Some(root) = root_of(pod, store) else { return };
        if is_up {
            if let Some(down) = self.down.remove(&root) {
                self.close(at, root, &down, false);
            }
            return;
        }
        if self.down.contains_key(&root) || matches!(root, WorkloadId::DaemonSet(_)) {
            return;
        }
        let owners = owners_of(root, store);
        let is_down = owners.iter().all(|owner| store.tally(*owner).ready == 0);
        if !is_down || desired_of(root, store).is_none_or(|desired| desired < 2) {
            return;
        }
        let pods = owners.iter().flat_map(|owner| store.pods_of(*owner)).filter_map(|&pod| store.pod(pod));
        // The pod that has just left counts by its node.
        let bound: Vec<NodeId> = pods.filter(|pod| !pod.phase.is_terminal()).filter_map(|pod| pod.node).collect();
        if bound.len() < 2 {
            return;
        }
        if let Some(place) = place_of(&bound, nodes, store)
            && let Some(name) = workload_name(root, store)
        {
            self.down.insert(root, Down { since: at, name, place });
        }
    }

    fn close(&mut self, at: SimTime, workload: WorkloadId, down: &Down, is_end: bool) {
        if self.named.insert(workload) {
            self.workloads.add(down.name.clone());
        }
        self.first_at = Some(self.first_at.map_or(down.since, |first| first.min(down.since)));
        let cost = at.saturating_since(down.since);
        if self.worst.as_ref().is_none_or(|worst| cost > worst.0) {
            let end = if is_end { ", until the end of the run" } else { "" };
            let text = format!(
                "all pods of {} {}: none was ready from {} on, for {}{end}",
                down.name,
                down.place,
                moment(down.since),
                length(cost)
            );
            self.worst = Some((cost, text));
        }
    }
}

/// The objects that own the pods of a workload.
fn owners_of(root: WorkloadId, store: &Store) -> Vec<WorkloadId> {
    match root {
        WorkloadId::Deployment(id) => store.replica_sets_of(id).iter().copied().map(WorkloadId::ReplicaSet).collect(),
        other => vec![other],
    }
}

/// Where pods were that are all on one failed node, or all in one failed zone; none if elsewhere would have been no better.
fn place_of(bound: &[NodeId], nodes: &NodeFacts, store: &Store) -> Option<String> {
    let places: BTreeSet<NodeId> = bound.iter().copied().collect();
    if nodes.ready_count() == 0 || places.iter().any(|&node| nodes.of(node).unready_since.is_none()) {
        return None;
    }
    if places.len() == 1 {
        return places.first().map(|&node| format!("were on {} when it failed", node_name(store, node)));
    }
    let zone = |node: NodeId| store.node(node).map(|object| zone_of(&object.labels));
    let zones: BTreeSet<Option<Symbol>> = places.iter().map(|&node| zone(node)).collect();
    let only = zones.first().copied().flatten().filter(|only| zones.len() == 1 && !only.as_str().is_empty())?;
    let is_elsewhere_up =
        store.nodes().any(|(id, object)| nodes.of(id).unready_since.is_none() && zone_of(&object.labels) != only);
    is_elsewhere_up.then(|| format!("were in zone {only} when its nodes failed"))
}
