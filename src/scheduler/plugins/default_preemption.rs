//! DefaultPreemption: pods of lower priority make room. How they are chosen stands in [`super::super::preemption`].

use crate::scheduler::cache::Cache;
use crate::scheduler::framework::{ClusterEvent, Plugin};
use crate::scheduler::preemption::DefaultPreemptionArgs;
use crate::state::Pod;

pub(in crate::scheduler) struct DefaultPreemption {
    arguments: DefaultPreemptionArgs,
}

impl DefaultPreemption {
    pub(in crate::scheduler) fn new(arguments: DefaultPreemptionArgs) -> Self {
        Self { arguments }
    }
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        "DefaultPreemption"
    }

    fn preemption(&self) -> Option<DefaultPreemptionArgs> {
        Some(self.arguments)
    }

    /// The plugins whose rejection the victims' going resolves decide when the pod is tried again.
    fn hint(&self, _pod: &Pod, _event: &ClusterEvent<'_>, _cache: &Cache) -> bool {
        false
    }
}
