//! Containers of single pods are killed for their memory.

use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::{Chaos, PodTarget, target};
use crate::component::{Ctx, Stops};
use crate::state::{ContainerFate, MachineChange};

parameters! {
    /// Containers of chosen pods are killed for their memory.
    pub struct OomKill {
        /// which pods: by `namespace`, `selector`, `names`, and `count` or `fraction` of those
        "pods" pods: PodTarget, needed "add `pods: {namespace: ...}`, `{selector: ...}` or `{names: [...]}`";
    }
}

impl Fault for OomKill {
    const NAME: &'static str = "OOMKill";
    const ABOUT: &'static str = "containers of pods are killed for their memory";
    const EFFECT: &'static str = "had containers that were killed for their memory";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str = "all containers of a pod end together";
    const COURSE: Course = Course::Instantaneous;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Pods(&self.pods)
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for pod in target::select_pods(&self.pods, hit.nodes, hit.name, ctx) {
            ctx.change_machine(MachineChange::ContainerEnds { pod, fate: ContainerFate::OomKilled });
        }
    }

    fn end(&self, _fault: &Begun, (): &mut (), _losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {}
}
