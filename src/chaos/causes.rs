//! What faults that go on do to one thing, each under its own number.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::state::{FaultId, MachineChange, NodeId};

/// What faults do to things named by a key, machines unless said otherwise. The end of a fault takes back what this fault has done,
/// and nothing if that is no more: a machine that took the place of the one it hit has nothing of it.
#[derive(Clone, Debug)]
pub(super) struct Causes<T = (), K = NodeId>(FxHashMap<K, Vec<(FaultId, T)>>);

impl<T, K> Default for Causes<T, K> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<T, K: Copy + Eq + Hash> Causes<T, K> {
    /// One more cause; whether it is the only one.
    pub(super) fn add(&mut self, key: K, fault: FaultId, what: T) -> bool {
        let causes = self.0.entry(key).or_default();
        causes.push((fault, what));
        causes.len() == 1
    }

    /// Takes back what the fault did; none if that is no more.
    pub(super) fn remove(&mut self, key: K, fault: FaultId) -> Option<T> {
        let causes = self.0.get_mut(&key)?;
        let position = causes.iter().position(|(other, _)| *other == fault)?;
        let (_, what) = causes.remove(position);
        if causes.is_empty() {
            self.0.remove(&key);
        }
        Some(what)
    }

    /// Takes back what the fault did; whether it was the last that did anything.
    pub(super) fn remove_last(&mut self, key: K, fault: FaultId) -> bool {
        self.remove(key, fault).is_some() && !self.any(key)
    }

    /// Whether some fault does anything.
    pub(super) fn any(&self, key: K) -> bool {
        self.0.contains_key(&key)
    }

    /// What each of them does, those that began first before the others.
    pub(super) fn of(&self, key: K) -> impl Iterator<Item = &T> {
        self.0.get(&key).into_iter().flatten().map(|(_, what)| what)
    }

    /// The same, to be changed.
    pub(super) fn of_mut(&mut self, key: K) -> impl Iterator<Item = &mut T> {
        self.0.get_mut(&key).into_iter().flatten().map(|(_, what)| what)
    }

    /// Things that are gone have no causes.
    pub(super) fn forget(&mut self, is_gone: impl Fn(K) -> bool) {
        self.0.retain(|key, _| !is_gone(*key));
    }
}

impl<T> Causes<T> {
    /// A machine that is gone, whoever takes it away, has no causes.
    pub(super) fn machine_changed(&mut self, change: &MachineChange) {
        if let MachineChange::InstanceGone(node) = *change {
            self.forget(|other| other == node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: FaultId = FaultId(1);
    const SECOND: FaultId = FaultId(2);

    #[test]
    fn what_two_faults_do_is_over_when_both_are() {
        let mut causes = Causes::<(), u8>::default();
        assert!(causes.add(7, FIRST, ()) && !causes.add(7, SECOND, ()));
        assert!(causes.add(8, FIRST, ()), "another thing");
        assert!(!causes.remove_last(7, FIRST) && causes.any(7));
        assert!(!causes.remove_last(7, FIRST), "no fault ends twice");
        assert!(causes.remove_last(7, SECOND) && !causes.any(7) && causes.any(8));
    }

    #[test]
    fn the_end_of_a_fault_leaves_alone_what_a_later_one_does_to_the_machine_of_that_name() {
        let mut causes = Causes::<f64, u8>::default();
        causes.add(7, FIRST, 3.0);
        causes.forget(|machine| machine == 7);
        causes.add(7, SECOND, 3.0);
        assert_eq!(causes.remove(7, FIRST), None);
        assert_eq!(causes.of(7).collect::<Vec<_>>(), [&3.0]);
        assert_eq!(causes.remove(7, SECOND), Some(3.0));
    }
}
