//! An instance is gone for good.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::{Ctx, Stops};
use crate::state::MachineChange;

parameters! {
    /// The machine is off for good and the cloud deletes the Node object.
    pub struct InstanceGone {}
}

impl Fault for InstanceGone {
    const NAME: &'static str = "InstanceGone";
    const ABOUT: &'static str = "off for good; the cloud deletes the Node";
    const EFFECT: &'static str = "went for good";
    const STOPS: Stops = Stops::Machine;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::ForGood;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            ctx.change_machine(MachineChange::InstanceGone(node));
        }
    }

    fn end(&self, _fault: &Begun, (): &mut (), _losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {}
}
