//! What faults have taken from machines. Each loss counts its causes: a machine hit twice is whole again when both faults are over.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::slowness::Slowness;
use super::{Chaos, ChaosPlan};
use crate::component::Ctx;
use crate::engine::Distribution;
use crate::state::{MachineChange, NodeConditionKind, NodeId, Power, Usage};

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
    causes: FxHashMap<(NodeId, Loss), u32>,
    /// Machines in graceful shutdown whose fault is over already: they are powered on as soon as they are off.
    returning: FxHashSet<NodeId>,
    /// What faults make others than pods use of a machine.
    burdens: FxHashMap<NodeId, Vec<Usage>>,
    /// What they slow down.
    pub(super) slowness: Slowness,
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

    /// One more cause; true if it is the first.
    fn begin(&mut self, node: NodeId, loss: Loss) -> bool {
        let causes = self.causes.entry((node, loss)).or_insert(0);
        *causes += 1;
        *causes == 1
    }

    /// One cause less; true if it was the last.
    fn end(&mut self, node: NodeId, loss: Loss) -> bool {
        match self.causes.get_mut(&(node, loss)) {
            Some(causes) if *causes > 1 => {
                *causes -= 1;
                false
            }
            Some(_) => {
                self.causes.remove(&(node, loss));
                true
            }
            None => false,
        }
    }

    /// Whether some fault causes the loss.
    pub(super) fn holds(&self, node: NodeId, loss: Loss) -> bool {
        self.causes.contains_key(&(node, loss))
    }

    /// A fault takes something away; `change` is what happens if it was there.
    pub(super) fn take(&mut self, node: NodeId, loss: Loss, change: MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        if self.begin(node, loss) {
            ctx.change_machine(change);
        }
    }

    /// A fault is over that took something away; `change` is what happens if none is left that does.
    pub(super) fn give_back(&mut self, node: NodeId, loss: Loss, change: MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        if self.end(node, loss) && ctx.store.machine(node).exists {
            ctx.change_machine(change);
        }
    }

    /// The kubelets of these machines observe a condition other than it should be.
    pub(super) fn take_condition(&mut self, nodes: &[NodeId], condition: NodeConditionKind, ctx: &mut Ctx<'_, Chaos>) {
        let holds = condition != NodeConditionKind::Ready;
        for &node in nodes {
            self.take(node, Loss::Condition(condition), MachineChange::Observed { node, condition, holds }, ctx);
        }
    }

    /// The reverse of [`Self::take_condition`].
    pub(super) fn give_condition_back(
        &mut self,
        nodes: &[NodeId],
        condition: NodeConditionKind,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let holds = condition == NodeConditionKind::Ready;
        for &node in nodes {
            self.give_back(node, Loss::Condition(condition), MachineChange::Observed { node, condition, holds }, ctx);
        }
    }

    /// The machine loses power at once, also one that is shutting down in good order.
    pub(super) fn cut_power(&mut self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if self.begin(node, Loss::Power) || ctx.store.machine(node).power != Power::Off {
            ctx.change_machine(MachineChange::PowerOff(node));
        }
    }

    /// The machine shuts down in good order if it is up, and else stays off.
    pub(super) fn shut_down(&mut self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let is_on = ctx.store.machine(node).power == Power::On;
        let change = if is_on { MachineChange::ShutdownBegins(node) } else { MachineChange::PowerOff(node) };
        self.take(node, Loss::Power, change, ctx);
    }

    /// A fault is over that kept the machine off.
    pub(super) fn give_power_back(&mut self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if !self.end(node, Loss::Power) || !ctx.store.machine(node).exists {
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
    pub(super) fn burden(&mut self, node: NodeId, usage: Usage, ctx: &mut Ctx<'_, Chaos>) {
        let burdens = self.burdens.entry(node).or_default();
        burdens.push(usage);
        ctx.change_machine(MachineChange::Burdened { node, burden: sum(burdens) });
    }

    /// Others than pods use so much less of the machine.
    pub(super) fn unburden(&mut self, node: NodeId, usage: Usage, ctx: &mut Ctx<'_, Chaos>) {
        let Some(burdens) = self.burdens.get_mut(&node) else { return };
        if let Some(position) = burdens.iter().position(|other| *other == usage) {
            burdens.swap_remove(position);
        }
        ctx.change_machine(MachineChange::Burdened { node, burden: sum(burdens) });
    }

    /// What follows from a change of the machines: the world goes on in the middle of a fault.
    pub(super) fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        self.slowness.machine_changed(change, ctx);
        match *change {
            MachineChange::PowerOff(node) if self.returning.remove(&node) && !self.holds(node, Loss::Power) => {
                ctx.change_machine(MachineChange::PowerOn(node));
            }
            // Whoever takes the machine away: nothing of it is lost any more.
            MachineChange::InstanceGone(node) => {
                self.causes.retain(|(other, _), _| *other != node);
                self.burdens.remove(&node);
                self.returning.remove(&node);
            }
            _ => {}
        }
    }
}

fn sum(burdens: &[Usage]) -> Usage {
    burdens.iter().fold(Usage::default(), |sum, usage| sum.and(*usage))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Store;

    #[test]
    fn a_machine_hit_twice_is_whole_when_both_are_over() {
        let node = Store::default().node_slot("n".into());
        let mut losses = Losses::default();
        assert!(losses.begin(node, Loss::Power));
        assert!(!losses.begin(node, Loss::Power));
        assert!(!losses.end(node, Loss::Power));
        assert!(losses.end(node, Loss::Power));
        assert!(!losses.end(node, Loss::Power));
    }

    #[test]
    fn losses_of_different_kinds_do_not_nest() {
        let node = Store::default().node_slot("n".into());
        let mut losses = Losses::default();
        assert!(losses.begin(node, Loss::Power));
        assert!(losses.begin(node, Loss::Link));
        assert!(losses.end(node, Loss::Power));
        assert!(losses.holds(node, Loss::Link));
    }
}
