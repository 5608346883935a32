//! Faults of single pods: containers that crash or are killed, pods that vanish.

use super::super::Chaos;
use super::super::spec::{FaultKind, FaultSpec};
use super::super::target;
use crate::component::{Ctx, DeleteOptions, Request};
use crate::state::{ContainerFate, DeletionCause, MachineChange, NodeId, PodId};

/// The pods that a fault of that name hits, whenever it is asked at one instant.
pub(super) fn meant(fault: &FaultSpec, name: &str, nodes: &[NodeId], ctx: &Ctx<'_, Chaos>) -> Vec<PodId> {
    let target = fault.pods.clone().unwrap_or_default();
    target::select_pods(&target, nodes, name, ctx)
}

pub(super) fn hit(fault: &FaultSpec, name: &str, nodes: &[NodeId], ctx: &mut Ctx<'_, Chaos>) {
    for pod in meant(fault, name, nodes, ctx) {
        match fault.kind {
            FaultKind::PodKill => {
                let options = DeleteOptions { grace_s: Some(0), uid: None };
                ctx.send(Request::DeletePod { pod, options, cause: DeletionCause::PodKill });
            }
            FaultKind::OomKill => {
                ctx.change_machine(MachineChange::ContainerEnds { pod, fate: ContainerFate::OomKilled });
            }
            _ => {
                let fate = ContainerFate::Exit(fault.exit_code.unwrap_or(1));
                ctx.change_machine(MachineChange::ContainerEnds { pod, fate });
            }
        }
    }
}
