//! A kubelet process stops.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::{Loss, Losses};
use crate::component::{Ctx, Stops};
use crate::state::MachineChange;

parameters! {
    /// The kubelet process stops; containers keep serving.
    pub struct KubeletStop {}
}

impl Fault for KubeletStop {
    const NAME: &'static str = "KubeletStop";
    const ABOUT: &'static str = "no heartbeats, starts or kills; containers go on";
    const EFFECT: &'static str = "lost the kubelet; containers went on";
    const STOPS: Stops = Stops::Kubelet;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            losses.take(hit.fault, node, Loss::Kubelet, MachineChange::KubeletStopped(node), ctx);
        }
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            losses.give_back(fault.fault, node, Loss::Kubelet, MachineChange::KubeletStarted(node), ctx);
        }
    }
}
