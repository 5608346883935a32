//! SchedulingGates: a pod enters the queue when its last gate is open.

use crate::model::config::KubernetesVersion;
use crate::scheduler::arguments::NoArguments;
use crate::scheduler::framework::{AnyPlugin, Plugin, Point, Register};
use crate::state::Pod;

pub(in crate::scheduler) struct SchedulingGates;

impl Register for SchedulingGates {
    const NAME: &'static str = "SchedulingGates";
    const POINTS: &'static [Point] = &[Point::PreEnqueue];
    const SUMMARY: &'static str = "a pod enters the queue when its last gate is open";
    type Arguments = NoArguments;

    fn make(_: NoArguments, _: KubernetesVersion) -> AnyPlugin {
        AnyPlugin::other(Self)
    }
}

impl Plugin for SchedulingGates {
    fn pre_enqueue(&self, pod: &Pod) -> bool {
        pod.spec.scheduling_gates.is_empty()
    }
}
