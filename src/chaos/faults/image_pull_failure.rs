//! Registries that give nothing, and images that are not there.

use super::super::Chaos;
use super::super::fault::{Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::state::{MachineChange, NodeId};

parameters! {
    /// Pulls of images fail: a registry is down, or an image is not there.
    pub struct ImagePullFailure {
        /// which images: names, or beginnings of names such as `registry.example.com/*`; all, if not said
        "images" images: Vec<String>;
    }
}

/// Which images fail on which nodes: all of them, if every node is hit.
#[derive(Clone, Debug)]
pub(in crate::chaos) struct PullFailure {
    nodes: Vec<NodeId>,
    images: Vec<String>,
    is_everywhere: bool,
}

impl PullFailure {
    fn change(&self, fails: bool, ctx: &mut Ctx<'_, Chaos>) {
        for images in &self.images {
            let images = Symbol::new(images);
            if self.is_everywhere {
                ctx.change_machine(MachineChange::PullsFail { node: None, images, fails });
            } else {
                for &node in &self.nodes {
                    ctx.change_machine(MachineChange::PullsFail { node: Some(node), images, fails });
                }
            }
        }
    }
}

impl Fault for ImagePullFailure {
    const NAME: &'static str = "ImagePullFailure";
    const ABOUT: &'static str = "pulls of images fail, of all nodes or of `nodes:`";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = Vec<PullFailure>;

    fn target(&self) -> Target<'_> {
        Target::Images(&self.images)
    }

    /// A fault that hits every node also hits those that join while it lasts.
    fn begin(&self, hit: &Hit<'_>, failures: &mut Vec<PullFailure>, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        let is_everywhere = hit.nodes.len() == ctx.store.nodes().count();
        let images = if self.images.is_empty() { vec!["*".to_owned()] } else { self.images.clone() };
        let failure = PullFailure { nodes: hit.nodes.to_vec(), images, is_everywhere };
        failure.change(true, ctx);
        failures.push(failure);
    }

    fn end(&self, nodes: &[NodeId], failures: &mut Vec<PullFailure>, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        let is_it =
            |failure: &PullFailure| failure.nodes == nodes && (failure.images == self.images || self.images.is_empty());
        if let Some(position) = failures.iter().position(is_it) {
            failures.remove(position).change(false, ctx);
        }
    }
}
