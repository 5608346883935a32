//! StatefulSets that wait for a pod to end on a node where nobody can say that it has.

use std::collections::BTreeMap;

use super::named::{Names, and_more, length, moment, workload_name};
use super::nodes::{NodeFacts, Turn};
use super::{Mechanism, Trap, TrapKind};
use crate::component::{Config, name_of_pod, node_name};
use crate::state::{Change, Changed, Owner, Pod, PodDelta, PodId, Store, WorkloadId};
use crate::units::{SimDuration, SimTime, counted};

/// A kubelet that lives takes a few seconds after the grace period.
const SLACK: SimDuration = SimDuration::from_secs(10);

#[derive(Clone, Debug, Default)]
pub(super) struct DeadNode {
    /// Pods of StatefulSets that are being deleted, and since when.
    leaving: BTreeMap<PodId, SimTime>,
    pods: Names,
    /// How many pods each StatefulSet waited for.
    sets: BTreeMap<String, usize>,
    first_at: Option<SimTime>,
    worst: Option<Worst>,
}

/// The longest wait.
#[derive(Clone, Debug)]
struct Worst {
    cost: SimDuration,
    set: String,
    text: String,
}

impl Mechanism for DeadNode {
    type Found = Option<Trap>;

    fn begin(_: &NodeFacts, store: &Store, _: &Config) -> Self {
        let mut watcher = Self::default();
        for (id, pod) in store.pods() {
            watcher.look(id, pod);
        }
        watcher
    }

    fn changed(&mut self, change: &Change, _: Turn, nodes: &NodeFacts, store: &Store) {
        match &change.what {
            Changed::PodUpdated { pod, delta, .. } if delta.touches(PodDelta::DELETION) => {
                if let Some(object) = store.pod(*pod) {
                    self.look(*pod, object);
                }
            }
            Changed::PodRemoved { pod, last } => {
                if let Some(since) = self.leaving.remove(pod) {
                    self.judge(change.at, since, last, false, nodes, store);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self, end: SimTime, nodes: &NodeFacts, store: &Store) -> Self::Found {
        for (id, since) in std::mem::take(&mut self.leaving) {
            if let Some(pod) = store.pod(id) {
                self.judge(end, since, pod, true, nodes, store);
            }
        }
        let Worst { cost, set, text } = self.worst?;
        let of_set = self.sets.remove(&set).unwrap_or(1);
        let text = format!("{text}{}{}", and_more(of_set - 1, "pod", "pods"), likewise(&self.sets));
        Some(self.pods.trap(TrapKind::StatefulPodOnDeadNode, self.first_at?, text, Some(cost)))
    }
}

/// The other StatefulSets, the first few by name.
fn likewise(sets: &BTreeMap<String, usize>) -> String {
    let mut names = Names::default();
    for (set, pods) in sets {
        names.add(format!("{set} for {}", counted(*pods, "pod", "pods")));
    }
    if sets.is_empty() { String::new() } else { format!("; so did {names}") }
}

impl DeadNode {
    fn look(&mut self, id: PodId, pod: &Pod) {
        if let (Some(Owner::StatefulSet(_)), Some(deletion)) = (pod.owner, pod.deletion) {
            self.leaving.entry(id).or_insert(deletion.requested_at.max(SimTime::ZERO));
        }
    }

    /// A pod that was Terminating since then is gone, or the run is over.
    fn judge(&mut self, at: SimTime, since: SimTime, pod: &Pod, is_end: bool, nodes: &NodeFacts, store: &Store) {
        let (Some(deletion), Some(node)) = (pod.deletion, pod.node) else { return };
        let Some(set) = pod.owner.and_then(WorkloadId::from_owner).and_then(|set| workload_name(set, store)) else {
            return;
        };
        let fact = nodes.of(node);
        let was_dead = fact.unready_since.is_some() || fact.back_at.is_some_and(|back| back > deletion.deadline);
        if at <= deletion.deadline + SLACK || !was_dead {
            return;
        }
        self.pods.add(name_of_pod(pod));
        *self.sets.entry(set.clone()).or_default() += 1;
        self.first_at = Some(self.first_at.map_or(since, |first| first.min(since)));
        let cost = at.saturating_since(since);
        if self.worst.as_ref().is_none_or(|worst| cost > worst.cost) {
            let end = if is_end { ", until the end of the run" } else { "" };
            let text = format!(
                "{set} waited for {}: Terminating from {} on, and {} was not there to confirm its end for {}{end}",
                name_of_pod(pod),
                moment(since),
                node_name(store, node),
                length(cost)
            );
            self.worst = Some(Worst { cost, set, text });
        }
    }
}
