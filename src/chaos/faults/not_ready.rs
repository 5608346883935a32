//! A condition of a node: Ready.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::{Ctx, Stops};
use crate::state::NodeConditionKind;

parameters! {
    /// The kubelet posts Ready=False: its runtime or its network is down.
    pub struct NotReady {}
}

impl Fault for NotReady {
    const NAME: &'static str = "NotReady";
    const ABOUT: &'static str = "the kubelet posts Ready=False";
    const EFFECT: &'static str = "said not to be Ready; kubelet and containers went on";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str =
        "nothing but the condition changes: the kubelet goes on starting and stopping containers";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        losses.take_condition(hit, NodeConditionKind::Ready, ctx);
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        losses.give_condition_back(fault, NodeConditionKind::Ready, ctx);
    }
}
