//! One play, and what it cost whom.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::units::{Loss, Units};
use crate::observe::{Detail, Objective, Observers, Summary};
use crate::simulation::{Prepared, Script};
use crate::state::{PodPhase, Store};
use crate::units::{SimDuration, SimTime};

/// What a play cost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Toll {
    /// Of each unit, in their order.
    pub losses: Vec<Loss>,
    /// Pods evicted.
    pub evictions: u64,
    /// Of those, needlessly: the node was back before the replacement was Ready.
    pub needless_evictions: u64,
    /// kubectl lines that failed or did not end in time: a drain that a budget blocks.
    pub blocked: u64,
    /// Pods without a node at the end, with what the scheduler said of the first.
    pub unscheduled: u64,
    /// What the scheduler said of the first of these, by the path of its workload.
    pub unscheduled_first: Option<(String, String)>,
    /// Pods lost for good.
    pub pods_lost: u64,
    /// Workloads, by their paths, whose pods are not all of their newest template and available at the end.
    pub(super) unfinished: BTreeSet<String>,
    /// Events that the simulation handled.
    pub events: u64,
}

/// Workloads, by their paths, whose roll-outs are not over.
pub(super) fn unfinished(store: &Store) -> BTreeSet<String> {
    let deployments = store.deployments.iter().filter(|(_, object)| {
        let (status, wanted) = (&object.status, object.spec.replicas.unwrap_or(1));
        status.observed_generation < object.meta.generation
            || status.updated != wanted
            || status.replicas != wanted
            || status.available != wanted
    });
    let deployments =
        deployments.map(|(_, object)| format!("deployment/{}/{}", object.meta.namespace, object.meta.name));
    let sets = store.stateful_sets.iter().filter(|(_, object)| {
        let (status, wanted) = (&object.status, object.spec.replicas.unwrap_or(1));
        status.observed_generation < object.meta.generation || status.ready != wanted || status.updated != wanted
    });
    let sets = sets.map(|(_, object)| format!("statefulset/{}/{}", object.meta.namespace, object.meta.name));
    deployments.chain(sets).collect()
}

/// What plays are observed by.
#[derive(Clone, Debug)]
pub(super) struct Observing<'a> {
    pub(super) units: &'a Units,
    pub(super) objectives: &'a [Objective],
}

impl Observing<'_> {
    /// Plays a script on the settled cluster for that long.
    pub(super) fn play(&self, settled: &Prepared, script: Script, seed: u64, length: SimDuration) -> Toll {
        let observers = Observers::new(Detail::Summary, self.objectives.to_vec(), SimDuration::ZERO);
        let mut run = settled.start_script(script, seed, observers);
        let end = SimTime::ZERO + length;
        run.run_until(end);
        let finished = run.finish();
        let mut waiting: Vec<_> = finished
            .store
            .pods()
            .filter(|(_, pod)| pod.node.is_none() && pod.phase == PodPhase::Pending && pod.is_active())
            .filter_map(|(_, pod)| Some((pod, pod.not_scheduled.as_ref()?)))
            .map(|(pod, said)| (format!("pod/{}/{}", pod.namespace, pod.name), said.message.to_string()))
            .collect();
        waiting.sort();
        let unfinished = unfinished(&finished.store);
        let (unscheduled, unscheduled_first) = (waiting.len() as u64, waiting.into_iter().next());
        let observed = finished.observers.finish(end, &finished.store, finished.events);
        let toll = self.of(&observed.summary);
        Toll { unscheduled, unscheduled_first, unfinished, events: finished.events, ..toll }
    }

    fn of(&self, summary: &Summary) -> Toll {
        let counts = &summary.counts;
        Toll {
            losses: self.units.losses(summary),
            evictions: counts.evictions,
            needless_evictions: counts.needless_evictions,
            blocked: counts.commands_failed + counts.commands_unfinished + counts.procedures_failed,
            unscheduled: 0,
            unscheduled_first: None,
            pods_lost: counts.pods_lost,
            unfinished: BTreeSet::new(),
            events: 0,
        }
    }
}
