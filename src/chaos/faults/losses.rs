//! Faults that take something away from a machine, and give it back.

use super::super::Chaos;
use super::super::nesting::{Loss, Nesting};
use super::super::spec::FaultKind;
use crate::component::Ctx;
use crate::state::{MachineChange, NodeConditionKind, NodeId, Power};

fn loss(kind: FaultKind) -> Option<Loss> {
    Some(match kind {
        FaultKind::Crash | FaultKind::GracefulShutdown => Loss::Power,
        FaultKind::Partition => Loss::Link,
        FaultKind::KubeletStop => Loss::Kubelet,
        FaultKind::NotReady => Loss::Condition(NodeConditionKind::Ready),
        FaultKind::MemoryPressure => Loss::Condition(NodeConditionKind::MemoryPressure),
        FaultKind::DiskPressure => Loss::Condition(NodeConditionKind::DiskPressure),
        FaultKind::PidPressure => Loss::Condition(NodeConditionKind::PidPressure),
        FaultKind::NetworkUnavailable => Loss::Condition(NodeConditionKind::NetworkUnavailable),
        _ => return None,
    })
}

pub(super) fn begin(kind: FaultKind, node: NodeId, nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    match kind {
        FaultKind::InstanceGone => {
            nesting.forget(node);
            ctx.change_machine(MachineChange::InstanceGone(node));
            return;
        }
        FaultKind::Reboot => {
            ctx.change_machine(MachineChange::PowerOff(node));
            ctx.change_machine(MachineChange::PowerOn(node));
            return;
        }
        _ => {}
    }
    let Some(loss) = loss(kind) else { return };
    if !nesting.begin(node, loss) {
        return;
    }
    let change = match (kind, loss) {
        (FaultKind::GracefulShutdown, _) => MachineChange::ShutdownBegins(node),
        (_, Loss::Power) => MachineChange::PowerOff(node),
        (_, Loss::Link) => MachineChange::LinkDown(node),
        (_, Loss::Kubelet) => MachineChange::KubeletStopped(node),
        (_, Loss::Condition(NodeConditionKind::Ready)) => {
            MachineChange::Observed { node, condition: NodeConditionKind::Ready, holds: false }
        }
        (_, Loss::Condition(condition)) => MachineChange::Observed { node, condition, holds: true },
    };
    ctx.change_machine(change);
}

pub(super) fn end(kind: FaultKind, node: NodeId, nesting: &mut Nesting, ctx: &mut Ctx<'_, Chaos>) {
    let Some(loss) = loss(kind) else { return };
    if !nesting.end(node, loss) || !ctx.store.machine(node).exists {
        return;
    }
    let is_off = ctx.store.machine(node).power == Power::Off;
    let change = match loss {
        Loss::Power if is_off => MachineChange::PowerOn(node),
        Loss::Power => return,
        Loss::Link => MachineChange::LinkUp(node),
        Loss::Kubelet if is_off => return,
        Loss::Kubelet => MachineChange::KubeletStarted(node),
        Loss::Condition(NodeConditionKind::Ready) => {
            MachineChange::Observed { node, condition: NodeConditionKind::Ready, holds: true }
        }
        Loss::Condition(condition) => MachineChange::Observed { node, condition, holds: false },
    };
    ctx.change_machine(change);
}
