//! What faults of several kinds do to the same thing of a machine: what they take from it, use of it, hold up. A machine hit twice is
//! whole again when both faults are over. What faults of one kind alone do is kept in that kind's file.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::causes::Causes;
use super::hit::{Begun, Hit};
use super::renewals::LateRenewals;
use super::{Chaos, ChaosPlan};
use crate::component::Ctx;
use crate::engine::Distribution;
use crate::state::{Effect, FaultId, MachineChange, NodeConditionKind, NodeId, Power, Usage};

/// What a fault takes away from a machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Loss {
    /// Power.
    Power,
    /// The link to the control plane.
    Link,
    /// The kubelet process.
    Kubelet,
    /// A condition the kubelet observes.
    Condition(NodeConditionKind),
}

/// The losses of all machines.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    causes: Causes<(), (NodeId, Loss)>,
    /// Machines in graceful shutdown whose fault is over already: they are powered on as soon as they are off.
    returning: FxHashSet<NodeId>,
    /// What faults make others than pods use of a machine.
    burdens: Causes<Usage>,
    /// By how much they make renewals late.
    pub(super) renewals: LateRenewals,
    plan: Arc<ChaosPlan>,
}

impl Losses {
    /// Nothing is lost.
    pub(super) fn none(plan: Arc<ChaosPlan>) -> Self {
        Self { plan, ..Self::default() }
    }

    /// What can go wrong in the scenario, and its pools.
    pub(super) fn plan(&self) -> &Arc<ChaosPlan> {
        &self.plan
    }

    /// Whether some fault causes the loss.
    pub(super) fn holds(&self, node: NodeId, loss: Loss) -> bool {
        self.causes.any((node, loss))
    }

    /// A fault takes something away; `change` is what happens if it was there.
    pub(super) fn take(
        &mut self,
        fault: FaultId,
        node: NodeId,
        loss: Loss,
        change: MachineChange,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        if self.causes.add((node, loss), fault, ()) {
            ctx.change_machine(change);
        }
    }

    /// A fault is over that took something away; `change` is what happens if none is left that does.
    pub(super) fn give_back(
        &mut self,
        fault: FaultId,
        node: NodeId,
        loss: Loss,
        change: MachineChange,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        if self.causes.remove_last((node, loss), fault) && ctx.store.machine(node).exists {
            ctx.change_machine(change);
        }
    }

    /// The kubelets of the machines that are hit observe a condition other than it should be.
    pub(super) fn take_condition(&mut self, hit: &Hit<'_>, condition: NodeConditionKind, ctx: &mut Ctx<'_, Chaos>) {
        let holds = condition != NodeConditionKind::Ready;
        for &node in hit.nodes {
            let change = MachineChange::Observed { node, condition, holds };
            self.take(hit.fault, node, Loss::Condition(condition), change, ctx);
        }
    }

    /// The reverse of [`Self::take_condition`].
    pub(super) fn give_condition_back(
        &mut self,
        fault: &Begun,
        condition: NodeConditionKind,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let holds = condition == NodeConditionKind::Ready;
        for &node in &fault.nodes {
            let change = MachineChange::Observed { node, condition, holds };
            self.give_back(fault.fault, node, Loss::Condition(condition), change, ctx);
        }
    }

    /// The machine loses power at once, also one that is shutting down in good order.
    pub(super) fn cut_power(&mut self, fault: FaultId, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if self.causes.add((node, Loss::Power), fault, ()) || ctx.store.machine(node).power != Power::Off {
            ctx.change_machine(MachineChange::PowerOff(node));
        }
    }

    /// The machine shuts down in good order if it is up, and else stays off.
    pub(super) fn shut_down(&mut self, fault: FaultId, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let is_on = ctx.store.machine(node).power == Power::On;
        let change = if is_on { MachineChange::ShutdownBegins(node) } else { MachineChange::PowerOff(node) };
        self.take(fault, node, Loss::Power, change, ctx);
    }

    /// A fault is over that kept the machine off.
    pub(super) fn give_power_back(&mut self, fault: FaultId, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if !self.causes.remove_last((node, Loss::Power), fault) || !ctx.store.machine(node).exists {
            return;
        }
        match ctx.store.machine(node).power {
            Power::Off => ctx.change_machine(MachineChange::PowerOn(node)),
            Power::Booting => {}
            Power::On => {
                self.returning.insert(node);
            }
        }
    }

    /// Others than pods use so much more of the machine.
    pub(super) fn burden(&mut self, fault: FaultId, node: NodeId, usage: Usage, ctx: &mut Ctx<'_, Chaos>) {
        self.burdens.add(node, fault, usage);
        self.change_burden(node, ctx);
    }

    /// Others than pods use so much less of the machine.
    pub(super) fn unburden(&mut self, fault: FaultId, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if self.burdens.remove(node, fault).is_some() {
            self.change_burden(node, ctx);
        }
    }

    fn change_burden(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let burden = self.burdens.of(node).fold(Usage::default(), |sum, usage| sum.and(*usage));
        ctx.change_machine(MachineChange::Affected { node, effect: Effect::Burdened(burden) });
    }

    /// What follows from a change of the machines: the world goes on in the middle of a fault.
    pub(super) fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        self.renewals.machine_changed(change, ctx);
        match *change {
            MachineChange::PowerOff(node) if self.returning.remove(&node) && !self.holds(node, Loss::Power) => {
                ctx.change_machine(MachineChange::PowerOn(node));
            }
            // Whoever takes the machine away: nothing of it is lost any more.
            MachineChange::InstanceGone(node) => {
                self.causes.forget(|(other, _)| other == node);
                self.burdens.forget(|other| other == node);
                self.returning.remove(&node);
            }
            _ => {}
        }
    }
}

/// Says how long the next boot of the machine takes, if the fault does.
pub(super) fn time_boot(boot: Option<&Distribution>, name: &str, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
    if let Some(boot) = boot {
        let entity = format!("{name}/{}", ctx.store.node_name(node));
        let begun = ctx.now.as_nanos().unsigned_abs() / 1_000_000;
        let length = boot.sample(&mut ctx.streams.at("fault-boot", &entity, begun));
        ctx.change_machine(MachineChange::NextBootTakes { node, length_ns: length.as_nanos() });
    }
}
