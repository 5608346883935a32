//! A node is short of disk.

use super::super::Chaos;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::pressure;
use crate::component::{Ctx, Stops};
use crate::model::ResourceList;
use crate::state::NodeConditionKind;

parameters! {
    /// Condition DiskPressure.
    pub struct DiskPressure {
        /// what others than pods use: [the kubelet's thresholds](#short-of-memory-or-disk) decide then; without it the condition holds
        "usage" usage: ResourceList;
    }
}

impl Fault for DiskPressure {
    const NAME: &'static str = "DiskPressure";
    const ABOUT: &'static str = "the condition DiskPressure holds, or the node is short of disk by `usage:`";
    const EFFECT: &'static str = "ran short of disk";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn check(&self, check: &mut Check<'_>) {
        pressure::check(&self.usage, Self::NAME, "ephemeral-storage", check);
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        pressure::begin(&self.usage, NodeConditionKind::DiskPressure, hit, losses, ctx);
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        pressure::end(&self.usage, NodeConditionKind::DiskPressure, fault, losses, ctx);
    }
}
