//! Faults that take something away from a machine, and give it back.

use super::super::Chaos;
use super::super::nesting::Loss;
use super::super::spec::{FaultKind, FaultSpec};
use super::Damage;
use crate::component::Ctx;
use crate::model::ResourceList;
use crate::state::{MachineChange, NodeConditionKind, NodeId, Power, Usage};

fn loss(kind: FaultKind) -> Option<Loss> {
    Some(match kind {
        FaultKind::Crash | FaultKind::GracefulShutdown => Loss::Power,
        FaultKind::Partition => Loss::Link,
        FaultKind::KubeletStop => Loss::Kubelet,
        FaultKind::SlowHeartbeats => Loss::Punctuality,
        FaultKind::NotReady => Loss::Condition(NodeConditionKind::Ready),
        FaultKind::MemoryPressure => Loss::Condition(NodeConditionKind::MemoryPressure),
        FaultKind::DiskPressure => Loss::Condition(NodeConditionKind::DiskPressure),
        FaultKind::PidPressure => Loss::Condition(NodeConditionKind::PidPressure),
        FaultKind::NetworkUnavailable => Loss::Condition(NodeConditionKind::NetworkUnavailable),
        FaultKind::Reboot
        | FaultKind::InstanceGone
        | FaultKind::SpotInterruption
        | FaultKind::ContainerCrash
        | FaultKind::OomKill
        | FaultKind::PodKill
        | FaultKind::ImagePullFailure
        | FaultKind::ControlPlaneOutage => return None,
    })
}

/// Tells the machine how long its next boot takes, if the fault says so.
fn time_boot(fault: &FaultSpec, name: &str, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
    if let Some(boot) = &fault.boot {
        let entity = format!("{name}/{}", ctx.store.node_name(node));
        let begun = ctx.now.as_nanos().unsigned_abs() / 1_000_000;
        let length = boot.sample(&mut ctx.streams.at("fault-boot", &entity, begun));
        ctx.change_machine(MachineChange::NextBootTakes { node, length_ns: length.as_nanos() });
    }
}

/// What a fault makes others than pods use.
fn usage(amounts: &ResourceList) -> Usage {
    let of = |name: &str| amounts.get(name.into()).map_or(0, |amount| amount.value());
    Usage { memory: of("memory"), ephemeral_storage: of("ephemeral-storage"), pids: of("pids") }
}

/// Tells the machine what all faults together make others than pods use of it.
fn burden(node: NodeId, damage: &Damage, ctx: &mut Ctx<'_, Chaos>) {
    let all = damage.burdens.get(&node).into_iter().flatten();
    let burden = all.fold(Usage::default(), |sum, usage| sum.and(*usage));
    ctx.change_machine(MachineChange::Burdened { node, burden });
}

pub(super) fn begin(fault: &FaultSpec, name: &str, node: NodeId, damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    if !ctx.store.machine(node).exists {
        return;
    }
    match fault.kind {
        FaultKind::InstanceGone => {
            ctx.change_machine(MachineChange::InstanceGone(node));
            return;
        }
        FaultKind::Reboot => {
            // A machine that something keeps off cannot be rebooted.
            if !damage.nesting.holds(node, Loss::Power) {
                time_boot(fault, name, node, ctx);
                ctx.change_machine(MachineChange::PowerOff(node));
                ctx.change_machine(MachineChange::PowerOn(node));
            }
            return;
        }
        FaultKind::Crash | FaultKind::GracefulShutdown => time_boot(fault, name, node, ctx),
        _ if !fault.usage.is_empty() => {
            damage.burdens.entry(node).or_default().push(usage(&fault.usage));
            burden(node, damage, ctx);
            return;
        }
        _ => {}
    }
    let Some(loss) = loss(fault.kind) else { return };
    let is_first = damage.nesting.begin(node, loss);
    let power = ctx.store.machine(node).power;
    let change = match (fault.kind, loss) {
        // A crash also takes a machine that is shutting down in good order.
        (FaultKind::Crash, _) if is_first || power != Power::Off => MachineChange::PowerOff(node),
        _ if !is_first => return,
        (FaultKind::GracefulShutdown, _) if power == Power::On => MachineChange::ShutdownBegins(node),
        (_, Loss::Power) => MachineChange::PowerOff(node),
        (_, Loss::Link) => MachineChange::LinkDown(node),
        (_, Loss::Kubelet) => MachineChange::KubeletStopped(node),
        (_, Loss::Punctuality) => {
            let Some(delay) = &fault.delay else { return };
            let stream = ctx.streams.stream(&format!("fault-delay/{name}"), ctx.store.node_name(node).as_str());
            damage.delays.insert(node, (delay.clone(), stream));
            damage.hold_up(node, ctx);
            return;
        }
        (_, Loss::Condition(NodeConditionKind::Ready)) => {
            MachineChange::Observed { node, condition: NodeConditionKind::Ready, holds: false }
        }
        (_, Loss::Condition(condition)) => MachineChange::Observed { node, condition, holds: true },
    };
    ctx.change_machine(change);
}

pub(super) fn end(fault: &FaultSpec, node: NodeId, damage: &mut Damage, ctx: &mut Ctx<'_, Chaos>) {
    if !fault.usage.is_empty() {
        let over = usage(&fault.usage);
        let Some(usages) = damage.burdens.get_mut(&node) else { return };
        if let Some(position) = usages.iter().position(|usage| *usage == over) {
            usages.swap_remove(position);
        }
        burden(node, damage, ctx);
        return;
    }
    let Some(loss) = loss(fault.kind) else { return };
    if !damage.nesting.end(node, loss) || !ctx.store.machine(node).exists {
        return;
    }
    let change = match loss {
        Loss::Power => match ctx.store.machine(node).power {
            Power::Off => MachineChange::PowerOn(node),
            Power::Booting => return,
            Power::On => {
                damage.returning.insert(node);
                return;
            }
        },
        Loss::Link => MachineChange::LinkUp(node),
        Loss::Kubelet => MachineChange::KubeletStarted(node),
        Loss::Punctuality => {
            damage.delays.remove(&node);
            return;
        }
        Loss::Condition(NodeConditionKind::Ready) => {
            MachineChange::Observed { node, condition: NodeConditionKind::Ready, holds: true }
        }
        Loss::Condition(condition) => MachineChange::Observed { node, condition, holds: false },
    };
    ctx.change_machine(change);
}
