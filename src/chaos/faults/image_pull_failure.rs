//! Registries that give nothing, and images that are not there.

use super::super::Chaos;
use super::super::spec::FaultSpec;
use super::Damage;
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::state::{MachineChange, NodeId};

/// Which images fail on which nodes: all of them, if every node is hit.
#[derive(Clone, Debug)]
pub(super) struct PullFailure {
    nodes: Vec<NodeId>,
    images: Vec<String>,
    is_everywhere: bool,
}

/// Pulls fail from now on. A fault that hits every node also hits those that join while it lasts.
pub(super) fn begin(fault: &FaultSpec, nodes: &[NodeId], damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    let is_everywhere = nodes.len() == ctx.store.nodes().count();
    let images = if fault.images.is_empty() { vec!["*".to_owned()] } else { fault.images.clone() };
    let failure = PullFailure { nodes: nodes.to_vec(), images, is_everywhere };
    tell(&failure, true, ctx);
    damage.pull_failures.push(failure);
}

/// Pulls go well again.
pub(super) fn end(fault: &FaultSpec, nodes: &[NodeId], damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    let is_it =
        |failure: &PullFailure| failure.nodes == nodes && (failure.images == fault.images || fault.images.is_empty());
    if let Some(position) = damage.pull_failures.iter().position(is_it) {
        let failure = damage.pull_failures.remove(position);
        tell(&failure, false, ctx);
    }
}

fn tell(failure: &PullFailure, fails: bool, ctx: &mut Ctx<'_, Chaos>) {
    for images in &failure.images {
        let images = Symbol::new(images);
        if failure.is_everywhere {
            ctx.change_machine(MachineChange::PullsFail { node: None, images, fails });
        } else {
            for &node in &failure.nodes {
                ctx.change_machine(MachineChange::PullsFail { node: Some(node), images, fails });
            }
        }
    }
}
