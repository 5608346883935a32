//! Pods that the scheduler has found no node for: since when, and until when.

use std::collections::BTreeMap;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use crate::state::{Change, Changed, NotScheduledReason, Pod, PodDelta, PodId, Store};
use crate::units::{SimDuration, SimTime};

/// Pods that fit nowhere, and for how long. A pod that the scheduler has not looked at yet does not wait for room, and one that its
/// gates hold does not wait for the scheduler: neither is here.
#[derive(Clone, Debug)]
pub struct Waits {
    /// Shorter ones are forgotten when they end.
    least: SimDuration,
    open: BTreeMap<PodId, SimTime>,
    ended: BTreeMap<(PodId, SimTime), SimTime>,
}

impl Waits {
    pub(super) fn new(least: SimDuration) -> Self {
        Self { least, open: BTreeMap::new(), ended: BTreeMap::new() }
    }

    fn changed(&mut self, change: &Change, store: &Store) {
        match &change.what {
            Changed::PodAdded(pod) => self.look(*pod, change.at, store),
            Changed::PodUpdated { pod, delta, .. } => {
                let parts = PodDelta::NODE | PodDelta::CONDITIONS | PodDelta::DELETION | PodDelta::PHASE;
                if delta.touches(parts) {
                    self.look(*pod, change.at, store);
                }
            }
            Changed::PodRemoved { pod, .. } => self.end(*pod, change.at),
            _ => {}
        }
    }

    fn look(&mut self, id: PodId, now: SimTime, store: &Store) {
        match store.pod(id) {
            Some(pod) if fits_nowhere(pod) => {
                self.open.entry(id).or_insert(now);
            }
            _ => self.end(id, now),
        }
    }

    fn end(&mut self, id: PodId, now: SimTime) {
        let Some(since) = self.open.remove(&id) else { return };
        if since + self.least <= now {
            self.ended.insert((id, since), now);
        }
    }

    /// Pods that fit nowhere as it stands, each with the instant at which the scheduler first said so; t=0 if that was before.
    pub fn open(&self) -> impl Iterator<Item = (PodId, SimTime)> {
        self.open.iter().map(|(id, since)| (*id, *since))
    }

    /// When a wait ended that began then and was long enough to be kept; none if it lasts.
    #[must_use]
    pub fn ended(&self, pod: PodId, since: SimTime) -> Option<SimTime> {
        self.ended.get(&(pod, since)).copied()
    }
}

/// There are none where nobody asks.
impl Observer for Option<Waits> {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        if let Some(waits) = self {
            let waiting = seen.store.pods().filter(|(_, pod)| fits_nowhere(pod));
            waits.open = waiting.map(|(id, _)| (id, SimTime::ZERO)).collect();
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        if let Some(waits) = self {
            waits.changed(change, seen.store);
        }
    }
}

/// Whether the scheduler has said of a pod that no node takes it.
fn fits_nowhere(pod: &Pod) -> bool {
    let is_told = pod.not_scheduled.as_ref().is_some_and(|said| said.reason == NotScheduledReason::Unschedulable);
    is_told && pod.node.is_none() && pod.is_active()
}
