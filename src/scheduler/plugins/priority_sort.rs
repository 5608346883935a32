//! PrioritySort: pods of higher priority first, then those that were added to the queue first.

use std::cmp::Reverse;

use crate::scheduler::framework::Plugin;

pub(in crate::scheduler) struct PrioritySort;

/// The place of a pod among active ones; the greatest is next.
pub(in crate::scheduler) type Order = (i32, Reverse<u64>);

/// The order of a pod that was the `added`-th to enter or come back.
pub(in crate::scheduler) fn order(priority: i32, added: u64) -> Order {
    (priority, Reverse(added))
}

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        "PrioritySort"
    }
}
