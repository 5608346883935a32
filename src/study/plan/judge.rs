//! Which pods a plan looks at.

use crate::state::Pod;

/// What plays have to be judged by.
#[derive(Copy, Clone, Debug)]
pub(super) struct Judge {
    /// Pods of at least this priority must have their place.
    pub(super) priority: i32,
}

impl Judge {
    /// Whether a pod must have its place.
    pub(super) fn counts(self, pod: &Pod) -> bool {
        pod.is_active() && self.counts_priority(pod.spec.priority) && pod.spec.scheduling_gates.is_empty()
    }

    /// Whether pods of that priority count.
    pub(super) fn counts_priority(self, priority: i32) -> bool {
        priority >= self.priority
    }
}
