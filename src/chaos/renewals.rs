//! Renewals of leases that faults make late. The delays of different faults add up.

use super::Chaos;
use super::causes::Causes;
use crate::component::Ctx;
use crate::engine::{Distribution, Stream};
use crate::state::{FaultId, MachineChange, NodeId};
use crate::units::SimDuration;

/// By how much faults make the renewals of each node late.
#[derive(Clone, Debug, Default)]
pub(super) struct LateRenewals(Causes<Lateness>);

/// By how much one of them does.
#[derive(Clone, Debug)]
struct Lateness {
    delay: Distribution,
    stream: Stream,
    /// That of the next renewal.
    drawn: SimDuration,
}

impl LateRenewals {
    /// One more fault makes renewals late; `stream` is its own.
    pub(super) fn delay(
        &mut self,
        fault: FaultId,
        node: NodeId,
        (delay, mut stream): (&Distribution, Stream),
        ctx: &mut Ctx<'_, Chaos>,
    ) {
        let drawn = delay.sample(&mut stream);
        self.0.add(node, fault, Lateness { delay: delay.clone(), stream, drawn });
        self.time_next(node, ctx);
    }

    /// Such a fault is over; the next renewal is late all the same.
    pub(super) fn give_back(&mut self, fault: FaultId, node: NodeId) {
        self.0.remove(node, fault);
    }

    /// Says by how much the next renewal is late.
    fn time_next(&self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let drawn: SimDuration = self.0.of(node).map(|lateness| lateness.drawn).sum();
        let delay_ns = drawn.max(SimDuration::from_nanos(1)).as_nanos();
        ctx.change_machine(MachineChange::HeartbeatsDelayed { node, delay_ns });
    }

    /// After a renewal comes the next.
    pub(super) fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Chaos>) {
        self.0.machine_changed(change);
        if let MachineChange::HeartbeatBegins { node, .. } = *change
            && self.0.any(node)
        {
            for lateness in self.0.of_mut(node) {
                lateness.drawn = lateness.delay.sample(&mut lateness.stream);
            }
            self.time_next(node, ctx);
        }
    }
}
