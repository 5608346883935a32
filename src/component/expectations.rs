//! Expectations: creations and deletions that a controller has asked for and not yet seen.

use std::hash::Hash;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::state::PodId;
use crate::units::{SimDuration, SimTime};

/// Expectations per owner key.
///
/// # Source
/// kube-controller-manager, `ControllerExpectations`: satisfied when both counts are at most zero, never set, or older than
/// five minutes.
#[derive(Clone, Debug)]
pub struct Expectations<K> {
    by_key: FxHashMap<K, Counts>,
    /// Pods that had gone when their creation was observed: nobody could see whose they were.
    created: FxHashSet<PodId>,
    /// The same for those whose deletion was asked for.
    deleted: FxHashSet<PodId>,
}

#[derive(Copy, Clone, Debug)]
struct Counts {
    creations: i32,
    deletions: i32,
    set_at: SimTime,
}

const TIMEOUT: SimDuration = SimDuration::from_secs(300);

impl<K: Copy + Eq + Hash> Default for Expectations<K> {
    fn default() -> Self {
        Self { by_key: FxHashMap::default(), created: FxHashSet::default(), deleted: FxHashSet::default() }
    }
}

impl<K: Copy + Eq + Hash> Expectations<K> {
    /// Overwrites what is expected.
    pub fn set(&mut self, key: K, creations: usize, deletions: usize, now: SimTime) {
        self.by_key.insert(key, Counts { creations: creations as i32, deletions: deletions as i32, set_at: now });
    }

    /// A creation was observed, or its call failed.
    pub fn creation_observed(&mut self, key: K) {
        if let Some(counts) = self.by_key.get_mut(&key) {
            counts.creations -= 1;
        }
    }

    /// A creation is observed, and the pod has gone already. It counts with the removal, which names the owner.
    pub fn created_and_gone(&mut self, pod: PodId) {
        self.created.insert(pod);
    }

    /// A pod's deletionTimestamp is observed, and it has gone already. It counts with the removal, too.
    pub fn deleted_and_gone(&mut self, pod: PodId) {
        self.deleted.insert(pod);
    }

    /// A pod's removal is observed, after all else that happened to it.
    pub fn removed(&mut self, pod: PodId, owner: Option<K>) {
        let (is_creation, is_deletion) = (self.created.remove(&pod), self.deleted.remove(&pod));
        let Some(owner) = owner else { return };
        if is_creation {
            self.creation_observed(owner);
        }
        if is_deletion {
            self.deletion_observed(owner);
        }
    }

    /// A deletion was observed, or its call failed.
    pub fn deletion_observed(&mut self, key: K) {
        if let Some(counts) = self.by_key.get_mut(&key) {
            counts.deletions -= 1;
        }
    }

    /// Whether the controller may create and delete.
    #[must_use]
    pub fn satisfied(&self, key: K, now: SimTime) -> bool {
        self.by_key.get(&key).is_none_or(|counts| {
            (counts.creations <= 0 && counts.deletions <= 0) || now.saturating_since(counts.set_at) > TIMEOUT
        })
    }

    /// Forgets a key whose owner is gone.
    pub fn forget(&mut self, key: K) {
        self.by_key.remove(&key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_observations_than_expected_satisfy() {
        let mut e = Expectations::default();
        e.set(1, 10, 0, SimTime::ZERO);
        for _ in 0..9 {
            e.creation_observed(1);
        }
        assert!(!e.satisfied(1, SimTime::ZERO));
        e.creation_observed(1);
        e.creation_observed(1);
        assert!(e.satisfied(1, SimTime::ZERO));
    }

    #[test]
    fn pods_that_have_gone_count_with_their_removal() {
        let (mut e, pod) = (Expectations::default(), PodId::MIN);
        e.set(1, 1, 1, SimTime::ZERO);
        e.created_and_gone(pod);
        e.deleted_and_gone(pod);
        assert!(!e.satisfied(1, SimTime::ZERO));
        e.removed(pod, Some(1));
        assert!(e.satisfied(1, SimTime::ZERO));
        e.set(1, 1, 0, SimTime::ZERO);
        e.removed(pod, Some(1));
        assert!(!e.satisfied(1, SimTime::ZERO), "each counts once");
    }

    #[test]
    fn unmet_expectations_expire_after_five_minutes() {
        let mut e = Expectations::default();
        e.set(1, 1, 0, SimTime::ZERO);
        assert!(!e.satisfied(1, SimTime::from_secs(300)));
        assert!(e.satisfied(1, SimTime::from_millis(300_001)));
    }
}
