//! The network between a machine and the control plane is slow.

use super::super::Chaos;
use super::super::fault::{Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::Ctx;
use crate::engine::Distribution;
use crate::state::NodeId;

parameters! {
    /// Each request of the kubelet is late, its lease renewals among them.
    ///
    /// # Differs
    /// What the API server sends the kubelet is on time, as are Events, and no request is given up for taking too long.
    pub struct SlowNetwork {
        /// by how much each request of the kubelet is late, a length or a distribution; the delays of faults that overlap add up
        "delay" delay: Distribution, needed "add `delay: 2s` or a distribution";
    }
}

impl Fault for SlowNetwork {
    const NAME: &'static str = "SlowNetwork";
    const ABOUT: &'static str = "requests of the kubelet arrive late by `delay:`, in the order in which they are sent; its lease is renewed \
                                 that much more seldom";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            let name = ctx.store.node_name(node);
            let stream = ctx.streams.stream(&format!("fault-network/{}", hit.name), name.as_str());
            losses.slowness.delay_requests(node, &self.delay, ctx);
            losses.slowness.delay_renewals(node, &self.delay, stream, ctx);
        }
    }

    fn end(&self, nodes: &[NodeId], (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in nodes {
            losses.slowness.give_network_back(node, &self.delay, ctx);
            losses.slowness.give_renewals_back(node, &self.delay);
        }
    }
}
