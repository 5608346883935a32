//! The controllers' work queue: a set-like FIFO with workers.

use std::collections::VecDeque;
use std::hash::Hash;

use rustc_hash::FxHashMap;

use crate::state::CauseId;

/// Keys waiting, being worked on, or to be worked on once more.
///
/// # Source
/// client-go, workqueue: adding a waiting key does nothing; adding one that is being worked on makes it run once more
/// afterwards; one key never runs on two workers.
#[derive(Clone, Debug)]
pub struct WorkQueue<K> {
    waiting: VecDeque<K>,
    states: FxHashMap<K, KeyState>,
    busy: usize,
    workers: usize,
}

#[derive(Copy, Clone, Debug)]
struct KeyState {
    phase: KeyPhase,
    cause: CauseId,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum KeyPhase {
    Waiting,
    Running,
    RunningAndDirty,
}

impl<K: Copy + Eq + Hash> WorkQueue<K> {
    /// An empty queue with that many workers (at least one).
    #[must_use]
    pub fn new(workers: usize) -> Self {
        Self { waiting: VecDeque::new(), states: FxHashMap::default(), busy: 0, workers: workers.max(1) }
    }

    /// Adds a key.
    pub fn add(&mut self, key: K, cause: CauseId) {
        match self.states.get_mut(&key) {
            None => {
                self.states.insert(key, KeyState { phase: KeyPhase::Waiting, cause });
                self.waiting.push_back(key);
            }
            Some(state) if state.phase == KeyPhase::Running => {
                *state = KeyState { phase: KeyPhase::RunningAndDirty, cause };
            }
            Some(_) => {}
        }
    }

    /// Hands the next key to a free worker, with the cause for which it was first added.
    pub fn take(&mut self) -> Option<(K, CauseId)> {
        if self.busy >= self.workers {
            return None;
        }
        let key = self.waiting.pop_front()?;
        let state = self.states.get_mut(&key)?;
        state.phase = KeyPhase::Running;
        self.busy += 1;
        Some((key, state.cause))
    }

    /// The worker is done with the key.
    pub fn done(&mut self, key: K) {
        self.busy -= 1;
        match self.states.get(&key).copied() {
            Some(KeyState { phase: KeyPhase::RunningAndDirty, cause }) => {
                self.states.insert(key, KeyState { phase: KeyPhase::Waiting, cause });
                self.waiting.push_back(key);
            }
            _ => {
                self.states.remove(&key);
            }
        }
    }

    /// Whether no key waits or runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.states.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_added_while_running_runs_once_more() {
        let mut q = WorkQueue::new(2);
        q.add(1, CauseId(1));
        q.add(1, CauseId(2));
        assert_eq!(q.take(), Some((1, CauseId(1))));
        q.add(1, CauseId(3));
        q.add(1, CauseId(4));
        assert_eq!(q.take(), None);
        q.done(1);
        assert_eq!(q.take(), Some((1, CauseId(3))));
        q.done(1);
        assert!(q.is_idle());
    }

    #[test]
    fn workers_bound_what_runs_at_once() {
        let mut q = WorkQueue::new(1);
        q.add(1, CauseId::NONE);
        q.add(2, CauseId::NONE);
        assert!(q.take().is_some());
        assert!(q.take().is_none());
        q.done(1);
        assert_eq!(q.take().map(|(k, _)| k), Some(2));
    }
}
