//! The link between a node and the control plane is cut.

use super::super::Chaos;
use super::super::fault::{Course, Fault, Hit, Target};
use super::super::losses::{Loss, Losses};
use crate::component::Ctx;
use crate::state::{MachineChange, NodeId};

parameters! {
    /// No packets between node and control plane.
    pub struct Partition {}
}

impl Fault for Partition {
    const NAME: &'static str = "Partition";
    const ABOUT: &'static str = "node and control plane do not hear each other; containers go on";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            losses.take(node, Loss::Link, MachineChange::LinkDown(node), ctx);
        }
    }

    fn end(&self, nodes: &[NodeId], (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in nodes {
            losses.give_back(node, Loss::Link, MachineChange::LinkUp(node), ctx);
        }
    }
}
