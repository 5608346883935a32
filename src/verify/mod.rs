//! Invariants: what must hold after every event of a run, checked beside it.
//!
//! A verifier receives every committed change, as a watcher does, and keeps a picture of its own from them alone. After each
//! event it compares what the event changed; from time to time everything is counted anew. It reads and never writes: with or
//! without it a run plays the same events.

mod budgets;
mod containers;
mod convergence;
mod figures;
mod mirror;
mod placement;
mod rows;
#[cfg(test)]
mod tests;

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use budgets::Budgets;
pub use convergence::{longest_call, unsettled};
pub use figures::compare as compare_figures;
use mirror::Mirror;
use placement::NodeRequests;
pub use rows::compare as compare_rows;

use crate::component::Config;
use crate::state::{Change, Changed, PodDelta, PodDisruptionBudgetId, PodPhase, Store, WorkloadId};
use crate::units::SimTime;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// After the event at this time.
    pub at: SimTime,
    /// The event.
    pub event: String,
    /// What does not hold.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (at {:.3} s, after {})", self.what, self.at.as_secs_f64(), self.event)
    }
}

/// Checks a run as it goes.
#[derive(Clone, Debug)]
pub struct Verifier {
    mirror: Mirror,
    placement: NodeRequests,
    budgets: Budgets,
    /// When the last pod of a workload failed.
    failed_at: FxHashMap<WorkloadId, SimTime>,
    /// Workloads of whose last request for something new the API server refused to make it.
    refused: FxHashSet<WorkloadId>,
    /// When the last change was committed.
    last_change_at: SimTime,
    /// Events until everything is counted anew.
    until_recount: usize,
    /// The present instant, and the events it has had.
    instant: (SimTime, usize),
    /// The first thing found to be wrong while changes came in.
    wrong: Option<String>,
}

impl Verifier {
    /// A verifier that begins with the cluster as it stands at `now`.
    #[must_use]
    pub fn new(store: &Store, config: &Config, now: SimTime) -> Self {
        Self {
            mirror: Mirror::new(store, config.version),
            placement: NodeRequests::new(store, config),
            budgets: Budgets::new(store),
            failed_at: FxHashMap::default(),
            refused: FxHashSet::default(),
            last_change_at: now,
            until_recount: recount_period(store),
            instant: (now, 0),
            wrong: None,
        }
    }

    /// The API server was asked for something new in that owner's name, such as a pod, a ReplicaSet or a claim, and refused it for good
    /// or did not.
    pub fn asked_for_its_own(&mut self, owner: WorkloadId, is_refused: bool) {
        if is_refused {
            self.refused.insert(owner);
        } else {
            self.refused.remove(&owner);
        }
    }

    /// A change was committed.
    pub fn changed(&mut self, change: &Change, store: &Store) {
        if self.wrong.is_some() {
            return;
        }
        let result = if change.at < self.last_change_at {
            Err(format!("time went back from {} to {}", self.last_change_at, change.at))
        } else {
            self.take_in(change, store)
        };
        self.last_change_at = change.at;
        self.wrong = result.err();
    }

    fn take_in(&mut self, change: &Change, store: &Store) -> Result<(), String> {
        if let Changed::PodUpdated { pod, delta, .. } = &change.what
            && delta.touches(PodDelta::PHASE)
            && let Some(pod) = store.pod(*pod).filter(|pod| pod.phase == PodPhase::Failed)
            && let Some(workload) = pod.owner.and_then(WorkloadId::from_owner)
        {
            self.failed_at.insert(workload, change.at);
        }
        self.placement.changed(change, store, &self.mirror)?;
        self.budgets.changed(change, store, &self.mirror)?;
        self.mirror.changed(&change.what, store)
    }

    /// An event is over; says what does not hold any more, and otherwise whether it is time to count everything anew.
    ///
    /// # Errors
    ///
    /// What does not hold.
    pub fn event_over(&mut self, now: SimTime, store: &Store) -> Result<bool, String> {
        self.instant = if self.instant.0 == now { (now, self.instant.1 + 1) } else { (now, 0) };
        if self.instant.1 > EVENTS_AT_ONCE_MAX + EVENTS_AT_ONCE_PER_POD * store.pod_count() {
            return Err(format!("time stands still: {} events have happened at once", self.instant.1));
        }
        if let Some(wrong) = self.wrong.take() {
            return Err(wrong);
        }
        self.mirror.compare_touched(store)?;
        self.until_recount -= 1;
        if self.until_recount > 0 {
            return Ok(false);
        }
        self.until_recount = recount_period(store);
        Ok(true)
    }

    /// Whether a pod of the budget has had another budget as well: only one of them is looked at when such a pod changes, so that
    /// the other may go by what was.
    ///
    /// # Source
    /// kube-controller-manager, disruption controller: `getPdbForPod` takes the first of several.
    #[must_use]
    pub(crate) fn has_shared_pods(&self, budget: PodDisruptionBudgetId) -> bool {
        self.budgets.has_shared_pods(budget)
    }

    /// When a pod of the workload failed last, whether or not it is still there.
    #[must_use]
    pub(crate) fn last_failure(&self, workload: WorkloadId) -> Option<SimTime> {
        self.failed_at.get(&workload).copied()
    }

    /// Whether the API server refused what was asked for last in the owner's name: it has not come about, and will not, and what its
    /// controller does after that in the same look at it has not been done either.
    #[must_use]
    pub(crate) fn was_refused(&self, owner: WorkloadId) -> bool {
        self.refused.contains(&owner)
    }

    /// Counts everything anew.
    ///
    /// # Errors
    ///
    /// What does not hold.
    pub fn recount(&self, store: &Store) -> Result<(), String> {
        store.audit()?;
        self.mirror.compare_all(store)?;
        self.placement.recount(store)
    }
}

/// More events than this, and than so many for each pod, do not happen at one instant.
const EVENTS_AT_ONCE_MAX: usize = 20_000;
const EVENTS_AT_ONCE_PER_POD: usize = 100;

/// In proportion to what is counted, so that the counting costs each event the same.
fn recount_period(store: &Store) -> usize {
    100 + store.pod_count() + store.node_count()
}
