//! The link between a node and the control plane is cut.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::{Loss, Losses};
use crate::component::{Ctx, Stops};
use crate::state::MachineChange;

parameters! {
    /// No packets between node and control plane.
    pub struct Partition {}
}

impl Fault for Partition {
    const NAME: &'static str = "Partition";
    const ABOUT: &'static str = "node and control plane do not hear each other; containers go on";
    const EFFECT: &'static str = "lost the link to the control plane; containers went on";
    const STOPS: Stops = Stops::Link;
    const DIFFERS: &'static str =
        "what the kubelet had sent, and what it cannot send, arrives when the link is back, however long that takes";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            losses.take(hit.fault, node, Loss::Link, MachineChange::LinkDown(node), ctx);
        }
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            losses.give_back(fault.fault, node, Loss::Link, MachineChange::LinkUp(node), ctx);
        }
    }
}
