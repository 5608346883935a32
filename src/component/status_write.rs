//! Writing a status as kube-controller-manager's older controllers do: one refusal is answered by reading the object again.

use std::hash::Hash;

use rustc_hash::FxHashMap;

use super::request::{Answer, Request};

/// Where the writing of a status stands.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum StatusStep {
    /// It is written to the object as the pass has seen it.
    Write,
    /// The object is read once more.
    Reread,
    /// It is written to the object as it was read.
    Rewrite,
}

/// Statuses on their way to the API server.
///
/// # Source
/// `updateReplicaSetStatus` and `storeDaemonSetStatus`: a refused PUT is followed by one GET and one more PUT, whose refusal
/// fails the pass.
#[derive(Clone, Debug)]
pub struct StatusWrites<K, S> {
    unwritten: FxHashMap<K, S>,
}

impl<K, S> Default for StatusWrites<K, S> {
    fn default() -> Self {
        Self { unwritten: FxHashMap::default() }
    }
}

impl<K: Copy + Eq + Hash, S> StatusWrites<K, S> {
    /// Remembers a status that a plan writes.
    pub fn begin(&mut self, key: K, status: S) {
        self.unwritten.insert(key, status);
    }

    /// What follows from the answer to a step; `write` makes the second PUT, if the object still exists.
    pub fn follow_up(
        &mut self,
        key: K,
        step: StatusStep,
        answer: &Answer,
        write: impl FnOnce(S) -> Option<Request>,
    ) -> Option<(Request, StatusStep)> {
        match (step, answer) {
            (StatusStep::Write, Err(_)) => Some((Request::Get, StatusStep::Reread)),
            (StatusStep::Write | StatusStep::Rewrite, _) | (StatusStep::Reread, Err(_)) => {
                self.unwritten.remove(&key);
                None
            }
            (StatusStep::Reread, Ok(_)) => Some((write(self.unwritten.remove(&key)?)?, StatusStep::Rewrite)),
        }
    }
}
