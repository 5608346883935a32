//! Lease renewals of a node get through late.

use rustc_hash::FxHashMap;

use super::super::Chaos;
use super::super::fault::{Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::Ctx;
use crate::engine::{Distribution, Stream};
use crate::state::{MachineChange, NodeId};
use crate::units::SimDuration;

parameters! {
    /// Lease renewals get through late.
    pub struct SlowHeartbeats {
        /// by how much each renewal is late, a length or a distribution
        "delay" delay: Distribution, needed "add `delay: 30s` or a distribution";
    }
}

/// How late a node's renewals are: as late as the first of the faults that overlap says, until the last is over.
#[derive(Clone, Debug)]
pub(in crate::chaos) struct Lateness {
    causes: u32,
    delay: Distribution,
    stream: Stream,
}

impl Lateness {
    /// Draws by how much the next renewal is late.
    fn delay_next(&mut self, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
        let delay = self.delay.sample(&mut self.stream).max(SimDuration::from_nanos(1));
        ctx.change_machine(MachineChange::HeartbeatsDelayed { node, delay_ns: delay.as_nanos() });
    }
}

impl Fault for SlowHeartbeats {
    const NAME: &'static str = "SlowHeartbeats";
    const ABOUT: &'static str = "renewals are late by `delay:`";
    const COURSE: Course = Course::Lasting;
    type State = FxHashMap<NodeId, Lateness>;

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, late: &mut Self::State, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            if let Some(lateness) = late.get_mut(&node) {
                lateness.causes += 1;
                continue;
            }
            let name = ctx.store.node_name(node);
            let stream = ctx.streams.stream(&format!("fault-delay/{}", hit.name), name.as_str());
            let mut lateness = Lateness { causes: 1, delay: self.delay.clone(), stream };
            lateness.delay_next(node, ctx);
            late.insert(node, lateness);
        }
    }

    fn end(&self, nodes: &[NodeId], late: &mut Self::State, _losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {
        for node in nodes {
            let Some(lateness) = late.get_mut(node) else { continue };
            lateness.causes -= 1;
            if lateness.causes == 0 {
                late.remove(node);
            }
        }
    }

    fn machine_changed(change: &MachineChange, late: &mut Self::State, ctx: &mut Ctx<'_, Chaos>) {
        match *change {
            MachineChange::HeartbeatBegins { node, .. } => {
                if let Some(lateness) = late.get_mut(&node) {
                    lateness.delay_next(node, ctx);
                }
            }
            MachineChange::InstanceGone(node) => {
                late.remove(&node);
            }
            _ => {}
        }
    }
}
