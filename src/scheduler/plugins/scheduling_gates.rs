//! SchedulingGates: a pod enters the queue when its last gate is open.

use crate::scheduler::framework::Plugin;
use crate::state::Pod;

pub(in crate::scheduler) struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        "SchedulingGates"
    }

    fn pre_enqueue(&self, pod: &Pod) -> bool {
        pod.spec.scheduling_gates.is_empty()
    }
}
