//! What faults slow down on machines. Slow disks and slow networks of different causes go together: a cause says how many times as
//! long, or how much longer, something takes than it would otherwise, so factors multiply and delays add up.

use std::sync::Arc;

use super::Chaos;
use super::causes::Causes;
use crate::component::Ctx;
use crate::engine::{Distribution, Stream};
use crate::state::{FaultId, MachineChange, NodeId, Slowdown};
use crate::units::SimDuration;

/// How slow machines are.
#[derive(Clone, Debug, Default)]
pub(super) struct Slowness {
    disks: Causes<f64>,
    networks: Causes<Distribution>,
    renewals: Causes<Lateness>,
}

/// By how much a cause makes the renewals of a node late.
#[derive(Clone, Debug)]
struct Lateness {
    delay: Distribution,
    stream: Stream,
    /// That of the next renewal.
    drawn: SimDuration,
}

impl Slowness {
    /// One more cause makes what the disk has to do take `factor` times as long.
    pub(super) fn slow_disk(&mut self, fault: FaultId, node: NodeId, factor: f64, ctx: &mut Ctx<'_, Chaos>) {
        self.disks.add(node, fault, factor);
        self.change_disk(node, ctx);
    }

    /// Such a cause is gone.
    pub(super) fn give_disk_back(&mut self, fault: FaultId, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if self.disks.remove(node, fault).is_some() {
            self.change_disk(node, ctx);
        }
    }

    fn change_disk(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let slowdown = Slowdown::by(self.disks.of(node).product());
        ctx.change_machine(MachineChange::DiskSlowed { node, slowdown });
    }

    /// One more cause makes every request of the kubelet late by a draw from `delay`.
    pub(super) fn delay_requests(
        &mut self,
        fault: FaultId,
        node: NodeId,
        delay: &Distribution,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        self.networks.add(node, fault, delay.clone());
        self.change_network(node, ctx);
    }

    /// Such a cause is gone.
    pub(super) fn give_network_back(&mut self, fault: FaultId, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        if self.networks.remove(node, fault).is_some() {
            self.change_network(node, ctx);
        }
    }

    fn change_network(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let delays: Arc<[Distribution]> = self.networks.of(node).cloned().collect();
        ctx.change_machine(MachineChange::RequestsDelayed { node, delays });
    }

    /// One more cause makes renewals late; `stream` is its own.
    pub(super) fn delay_renewals(
        &mut self,
        fault: FaultId,
        node: NodeId,
        (delay, mut stream): (&Distribution, Stream),
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let drawn = delay.sample(&mut stream);
        self.renewals.add(node, fault, Lateness { delay: delay.clone(), stream, drawn });
        self.change_renewal(node, ctx);
    }

    /// Such a cause is gone; the next renewal is late all the same.
    pub(super) fn give_renewals_back(&mut self, fault: FaultId, node: NodeId) {
        self.renewals.remove(node, fault);
    }

    /// Says by how much the next renewal is late.
    fn change_renewal(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let drawn: SimDuration = self.renewals.of(node).map(|lateness| lateness.drawn).sum();
        let delay_ns = drawn.max(SimDuration::from_nanos(1)).as_nanos();
        ctx.change_machine(MachineChange::HeartbeatsDelayed { node, delay_ns });
    }

    /// The world goes on: after a renewal comes the next.
    pub(super) fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        match *change {
            MachineChange::HeartbeatBegins { node, .. } => {
                if !self.renewals.any(node) {
                    return;
                }
                for lateness in self.renewals.of_mut(node) {
                    lateness.drawn = lateness.delay.sample(&mut lateness.stream);
                }
                self.change_renewal(node, ctx);
            }
            MachineChange::InstanceGone(node) => {
                self.disks.forget(|other| other == node);
                self.networks.forget(|other| other == node);
                self.renewals.forget(|other| other == node);
            }
            _ => {}
        }
    }
}
