//! A condition of a node: NetworkUnavailable.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::{Ctx, Stops};
use crate::state::NodeConditionKind;

parameters! {
    /// Condition NetworkUnavailable.
    pub struct NetworkUnavailable {}
}

impl Fault for NetworkUnavailable {
    const NAME: &'static str = "NetworkUnavailable";
    const ABOUT: &'static str = "the condition NetworkUnavailable holds";
    const EFFECT: &'static str = "had no network for pods";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str = "nothing but the condition changes: packets of pods are not played";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        losses.take_condition(hit, NodeConditionKind::NetworkUnavailable, ctx);
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        losses.give_condition_back(fault, NodeConditionKind::NetworkUnavailable, ctx);
    }
}
