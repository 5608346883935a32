//! A condition of a node: Ready.

use super::super::Chaos;
use super::super::fault::{Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::Ctx;
use crate::state::{NodeConditionKind, NodeId};

parameters! {
    /// The kubelet posts Ready=False: its runtime or its network is down.
    pub struct NotReady {}
}

impl Fault for NotReady {
    const NAME: &'static str = "NotReady";
    const ABOUT: &'static str = "the kubelet posts Ready=False";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        losses.take_condition(hit.nodes, NodeConditionKind::Ready, ctx);
    }

    fn end(&self, nodes: &[NodeId], (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        losses.give_condition_back(nodes, NodeConditionKind::Ready, ctx);
    }
}
