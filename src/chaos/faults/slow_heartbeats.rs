//! Lease renewals of a node get through late.

use rustc_hash::FxHashMap;

use super::super::Chaos;
use super::super::fault::{Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::Ctx;
use crate::engine::Distribution;
use crate::state::{MachineChange, NodeId};

parameters! {
    /// Lease renewals get through late.
    pub struct SlowHeartbeats {
        /// by how much each renewal is late, a length or a distribution
        "delay" delay: Distribution, needed "add `delay: 30s` or a distribution";
    }
}

/// Of faults of this kind that overlap the first decides, until the last is over: how many there are, and its delay.
type Causes = FxHashMap<NodeId, (u32, Distribution)>;

impl Fault for SlowHeartbeats {
    const NAME: &'static str = "SlowHeartbeats";
    const ABOUT: &'static str = "renewals are late by `delay:`";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = Causes;

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, causes: &mut Causes, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            let (count, _) = causes.entry(node).or_insert_with(|| (0, self.delay.clone()));
            *count += 1;
            if *count == 1 {
                let name = ctx.store.node_name(node);
                let stream = ctx.streams.stream(&format!("fault-delay/{}", hit.name), name.as_str());
                losses.slowness.delay_renewals(node, &self.delay, stream, ctx);
            }
        }
    }

    fn end(&self, nodes: &[NodeId], causes: &mut Causes, losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {
        for &node in nodes {
            let Some((count, delay)) = causes.get_mut(&node) else { continue };
            *count -= 1;
            if *count == 0 {
                losses.slowness.give_renewals_back(node, delay);
                causes.remove(&node);
            }
        }
    }

    fn machine_changed(change: &MachineChange, causes: &mut Causes, _ctx: &mut Ctx<'_, Chaos>) {
        if let MachineChange::InstanceGone(node) = change {
            causes.remove(node);
        }
    }
}
