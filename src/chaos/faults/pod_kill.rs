//! Single pods vanish.

use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use super::super::{Chaos, PodTarget, target};
use crate::component::{Ctx, DeleteOptions, Request, Stops};
use crate::state::DeletionCause;

parameters! {
    /// Chosen pods are deleted without grace.
    pub struct PodKill {
        /// which pods: by `namespace`, `selector`, `names`, and `count` or `fraction` of those
        "pods" pods: PodTarget, needed "add `pods: {namespace: ...}`, `{selector: ...}` or `{names: [...]}`";
    }
}

impl Fault for PodKill {
    const NAME: &'static str = "PodKill";
    const ABOUT: &'static str = "pods are deleted without grace";
    const EFFECT: &'static str = "got killed without grace";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::Instantaneous;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Pods(&self.pods)
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for pod in target::select_pods(&self.pods, hit.nodes, hit.name, ctx) {
            let options = DeleteOptions { grace_s: Some(0), uid: None };
            ctx.send(Request::DeletePod { pod, options, cause: DeletionCause::PodKill });
        }
    }

    fn end(&self, _fault: &Begun, (): &mut (), _losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {}
}
