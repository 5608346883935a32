//! PrioritySort: pods of higher priority first, then those that were added to the queue first.

use std::cmp::Reverse;

use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::framework::{AnyPlugin, Plugin, Point, Register};

pub(in crate::scheduler) struct PrioritySort;

/// The place of a pod among active ones; the greatest is next.
pub(in crate::scheduler) type Order = (i32, Reverse<u64>);

/// The order of a pod that was the `added`-th to enter or come back.
pub(in crate::scheduler) fn order(priority: i32, added: u64) -> Order {
    (priority, Reverse(added))
}

impl Register for PrioritySort {
    const NAME: &'static str = "PrioritySort";
    const POINTS: &'static [Point] = &[Point::QueueSort];
    const SUMMARY: &'static str = "higher priority first, then who was added first";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::other(Self)
    }
}

impl Plugin for PrioritySort {}
