//! The network between a machine and the control plane is slow.

use super::super::Chaos;
use super::super::causes::Causes;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::{Ctx, Stops};
use crate::engine::Distribution;
use crate::state::{MachineChange, NodeId};

parameters! {
    /// Each request of the kubelet is late, its lease renewals among them.
    pub struct SlowNetwork {
        /// by how much each request of the kubelet is late, a length or a distribution; the delays of faults that overlap add up
        "delay" delay: Distribution, needed "add `delay: 2s` or a distribution";
    }
}

impl Fault for SlowNetwork {
    const NAME: &'static str = "SlowNetwork";
    const ABOUT: &'static str = "requests of the kubelet arrive late by `delay:`, in the order in which they are sent; its lease is renewed \
                                 that much more seldom";
    const EFFECT: &'static str = "got a slow link";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str =
        "what the API server sends the kubelet is on time, as are Events; no request is given up for taking too long";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    /// The delays of all that slow the network of a machine.
    type State = Causes<Distribution>;

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn check(&self, check: &mut Check<'_>) {
        if self.delay.is_zero() {
            check.no_effect(Self::NAME, "delay", "write by how much, such as 2s");
        }
    }

    fn begin(&self, hit: &Hit<'_>, delays: &mut Self::State, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            let name = ctx.store.node_name(node);
            let stream = ctx.streams.stream(&format!("fault-network/{}", hit.name), name.as_str());
            delays.add(node, hit.fault, self.delay.clone());
            slow(node, delays, ctx);
            losses.renewals.delay(hit.fault, node, (&self.delay, stream), ctx);
        }
    }

    fn end(&self, fault: &Begun, delays: &mut Self::State, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            if delays.remove(node, fault.fault).is_some() {
                slow(node, delays, ctx);
            }
            losses.renewals.give_back(fault.fault, node);
        }
    }

    fn machine_changed(change: &MachineChange, delays: &mut Self::State, _ctx: &mut Ctx<'_, Chaos>) {
        delays.machine_changed(change);
    }
}

/// Each cause says how much longer a request takes than it would otherwise, so they add up.
fn slow(node: NodeId, delays: &Causes<Distribution>, ctx: &mut Ctx<'_, Chaos>) {
    ctx.change_machine(MachineChange::RequestsDelayed { node, delays: delays.of(node).cloned().collect() });
}
