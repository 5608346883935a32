//! Faults of single pods: containers that crash or are killed, pods that vanish.

use super::super::Chaos;
use super::super::spec::{FaultKind, FaultSpec};
use super::super::target;
use crate::component::{Ctx, DeleteOptions, Request};
use crate::state::{ContainerFate, DeletionCause, MachineChange, NodeId};

pub(super) fn hit(fault: &FaultSpec, name: &str, nodes: &[NodeId], ctx: &mut Ctx<'_, Chaos>) {
    let target = fault.pods.clone().unwrap_or_default();
    let pods = target::select_pods(&target, nodes, name, ctx);
    for pod in pods {
        match fault.kind {
            FaultKind::PodKill => {
                let options = DeleteOptions { grace_s: Some(0), uid: None };
                ctx.tell(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl });
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
