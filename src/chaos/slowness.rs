//! What faults slow down on machines. Slow disks and slow networks of different causes go together: a cause says how many times as
//! long, or how much longer, something takes than it would otherwise, so factors multiply and delays add up.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Chaos;
use crate::component::Ctx;
use crate::engine::{Distribution, Stream};
use crate::state::{MachineChange, NodeId, Slowdown};
use crate::units::SimDuration;

/// How slow machines are.
#[derive(Clone, Debug, Default)]
pub(super) struct Slowness {
    disks: FxHashMap<NodeId, Vec<f64>>,
    networks: FxHashMap<NodeId, Vec<Distribution>>,
    renewals: FxHashMap<NodeId, Vec<Lateness>>,
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
    pub(super) fn slow_disk(&mut self, node: NodeId, factor: f64, ctx: &mut Ctx<'_, Chaos>) {
        self.disks.entry(node).or_default().push(factor);
        self.change_disk(node, ctx);
    }

    /// Such a cause is gone.
    pub(super) fn give_disk_back(&mut self, node: NodeId, factor: f64, ctx: &mut Ctx<'_, Chaos>) {
        if remove(&mut self.disks, node, |other| *other == factor) {
            self.change_disk(node, ctx);
        }
    }

    fn change_disk(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let slowdown = Slowdown::by(self.disks.get(&node).into_iter().flatten().product());
        ctx.change_machine(MachineChange::DiskSlowed { node, slowdown });
    }

    /// One more cause makes every request of the kubelet late by a draw from `delay`.
    pub(super) fn delay_requests(&mut self, node: NodeId, delay: &Distribution, ctx: &mut Ctx<'_, Chaos>) {
        self.networks.entry(node).or_default().push(delay.clone());
        self.change_network(node, ctx);
    }

    /// Such a cause is gone.
    pub(super) fn give_network_back(&mut self, node: NodeId, delay: &Distribution, ctx: &mut Ctx<'_, Chaos>) {
        if remove(&mut self.networks, node, |other| other == delay) {
            self.change_network(node, ctx);
        }
    }

    fn change_network(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let delays: Arc<[Distribution]> = self.networks.get(&node).into_iter().flatten().cloned().collect();
        ctx.change_machine(MachineChange::RequestsDelayed { node, delays });
    }

    /// One more cause makes renewals late; `stream` is its own.
    pub(super) fn delay_renewals(
        &mut self,
        node: NodeId,
        delay: &Distribution,
        mut stream: Stream,
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let drawn = delay.sample(&mut stream);
        self.renewals.entry(node).or_default().push(Lateness { delay: delay.clone(), stream, drawn });
        self.change_renewal(node, ctx);
    }

    /// Such a cause is gone; the next renewal is late all the same.
    pub(super) fn give_renewals_back(&mut self, node: NodeId, delay: &Distribution) {
        remove(&mut self.renewals, node, |lateness| lateness.delay == *delay);
    }

    /// Says by how much the next renewal is late.
    fn change_renewal(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let drawn: SimDuration = self.renewals.get(&node).into_iter().flatten().map(|lateness| lateness.drawn).sum();
        let delay_ns = drawn.max(SimDuration::from_nanos(1)).as_nanos();
        ctx.change_machine(MachineChange::HeartbeatsDelayed { node, delay_ns });
    }

    /// The world goes on: after a renewal comes the next.
    pub(super) fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        match *change {
            MachineChange::HeartbeatBegins { node, .. } => {
                let Some(causes) = self.renewals.get_mut(&node) else { return };
                for lateness in causes {
                    lateness.drawn = lateness.delay.sample(&mut lateness.stream);
                }
                self.change_renewal(node, ctx);
            }
            MachineChange::InstanceGone(node) => {
                self.disks.remove(&node);
                self.networks.remove(&node);
                self.renewals.remove(&node);
            }
            _ => {}
        }
    }
}

/// Takes the first cause of that kind away; false if there is none.
fn remove<T>(causes: &mut FxHashMap<NodeId, Vec<T>>, node: NodeId, is_it: impl Fn(&T) -> bool) -> bool {
    let Some(of_node) = causes.get_mut(&node) else { return false };
    let Some(position) = of_node.iter().position(is_it) else { return false };
    of_node.remove(position);
    if of_node.is_empty() {
        causes.remove(&node);
    }
    true
}
