//! Registries that give nothing, and images that are not there.

use super::super::Chaos;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::arena::Symbol;
use crate::component::{Ctx, Stops};
use crate::diagnostics::Diagnostic;
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

    /// A `*` means something at the end alone.
    fn check(&self, check: &mut Check<'_>) {
        for (index, images) in self.images.iter().enumerate() {
            let is_name = !images.is_empty() && !images.strip_suffix('*').unwrap_or(images).contains('*');
            if is_name {
                continue;
            }
            let help = match images.split('*').next().unwrap_or_default() {
                "" => "write the whole name, or leave `images` out: all images then".to_owned(),
                beginning => format!("write the whole name, or its beginning with a `*` behind it: `{beginning}*`"),
            };
            check.diagnostics.push(
                Diagnostic::warning("scenario::selects_nothing", format!("no image is called `{images}`"))
                    .at((check.place)(&format!("images[{index}]")), "pulls of this one fail, of which there is none")
                    .help(help),
            );
        }
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
