//! Registries that give nothing, and images that are not there.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::arena::Symbol;
use crate::component::{Ctx, Stops};
use crate::state::{MachineChange, NodeId};

parameters! {
    /// Pulls of images fail: a registry is down, or an image is not there.
    pub struct ImagePullFailure {
        /// which images: names, or beginnings of names such as `registry.example.com/*`; all, if not said
        "images" images: Vec<String>;
    }
}

impl Fault for ImagePullFailure {
    const NAME: &'static str = "ImagePullFailure";
    const ABOUT: &'static str =
        "pulls that begin fail, of all nodes, also of those that join meanwhile, or of `nodes:`";
    const EFFECT: &'static str = "could not pull images";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str =
        "a pull that is under way goes on; one that fails does so a second after it has begun";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Images(&self.images)
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        let all = ["*".to_owned()];
        let nodes: Vec<Option<NodeId>> =
            if hit.is_everywhere { vec![None] } else { hit.nodes.iter().copied().map(Some).collect() };
        for images in if self.images.is_empty() { &all[..] } else { &self.images } {
            let images = Symbol::new(images);
            for &node in &nodes {
                ctx.change_machine(MachineChange::PullsFail { fault: hit.fault, node, images });
            }
        }
    }

    fn end(&self, fault: &Begun, (): &mut (), _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        ctx.change_machine(MachineChange::PullsWork(fault.fault));
    }
}
