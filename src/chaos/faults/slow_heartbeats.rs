//! Lease renewals of a node get through late.

use super::super::Chaos;
use super::super::causes::Causes;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::{Ctx, Stops};
use crate::engine::Distribution;
use crate::state::{FaultId, MachineChange};

parameters! {
    /// Lease renewals get through late.
    pub struct SlowHeartbeats {
        /// by how much each renewal is late, a length or a distribution
        "delay" delay: Distribution, needed "add `delay: 30s` or a distribution";
    }
}

impl Fault for SlowHeartbeats {
    const NAME: &'static str = "SlowHeartbeats";
    const ABOUT: &'static str = "renewals are late by `delay:`";
    const EFFECT: &'static str = "gave signs of life late";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str =
        "nothing else that the kubelet sends is late, but a status of its node waits for the renewal";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    /// Of faults of this kind that overlap the first decides, until the last is over: which that is.
    type State = Causes<FaultId>;

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn check(&self, check: &mut Check<'_>) {
        if self.delay.is_zero() {
            check.no_effect(Self::NAME, "delay", "write by how much, such as 2s");
        }
    }

    fn begin(&self, hit: &Hit<'_>, causes: &mut Self::State, losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            let first = causes.of(node).next().copied().unwrap_or(hit.fault);
            if causes.add(node, hit.fault, first) {
                let name = ctx.store.node_name(node);
                let stream = ctx.streams.stream(&format!("fault-delay/{}", hit.name), name.as_str());
                losses.renewals.delay(hit.fault, node, (&self.delay, stream), ctx);
            }
        }
    }

    fn end(&self, fault: &Begun, causes: &mut Self::State, losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            if let Some(first) = causes.remove(node, fault.fault)
                && !causes.any(node)
            {
                losses.renewals.give_back(first, node);
            }
        }
    }

    fn machine_changed(change: &MachineChange, causes: &mut Self::State, _ctx: &mut Ctx<'_, Chaos>) {
        causes.machine_changed(change);
    }
}
