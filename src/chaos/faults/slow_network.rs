//! The network between a machine and the control plane is slow.

use super::super::Chaos;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::Ctx;
use crate::engine::Distribution;

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
    const DIFFERS: &'static str =
        "what the API server sends the kubelet is on time, as are Events; no request is given up for taking too long";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn check(&self, check: &mut Check<'_>) {
        if self.delay.is_zero() {
            check.no_effect(Self::NAME, "delay", "write by how much, such as 2s");
        }
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            let name = ctx.store.node_name(node);
            let stream = ctx.streams.stream(&format!("fault-network/{}", hit.name), name.as_str());
            losses.slowness.delay_requests(hit.fault, node, &self.delay, ctx);
            losses.slowness.delay_renewals(hit.fault, node, (&self.delay, stream), ctx);
        }
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            losses.slowness.give_network_back(fault.fault, node, ctx);
            losses.slowness.give_renewals_back(fault.fault, node);
        }
    }
}
