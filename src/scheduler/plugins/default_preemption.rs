//! DefaultPreemption: pods of lower priority make room. How they are chosen stands in [`super::super::preemption`].

use crate::scheduler::framework::Plugin;
use crate::scheduler::preemption::DefaultPreemptionArgs;

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
}
