//! The disk of a machine is slow: a neighbour keeps it busy, its burst credits are used up, it repairs itself.

use super::super::Chaos;
use super::super::causes::Causes;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::{Ctx, Stops};
use crate::state::{Effect, MachineChange, NodeId, Slowdown};

parameters! {
    /// Container starts and image pulls take longer; what is under way goes on as it began.
    pub struct SlowDisk {
        /// how many times as long container starts and image pulls take, from 1 up; the factors of faults that overlap multiply
        "factor" factor: f64, needed "add `factor: 3`";
    }
}

impl Fault for SlowDisk {
    const NAME: &'static str = "SlowDisk";
    const ABOUT: &'static str = "container starts and image pulls that begin take `factor:` times as long";
    const EFFECT: &'static str = "got a slow disk";
    const STOPS: Stops = Stops::Nothing;
    const DIFFERS: &'static str = "the kubelet itself, volumes and applications are as fast as ever, and no start or pull is given up for taking too long";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    /// The factors of all that slow the disk of a machine.
    type State = Causes<f64>;

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn check(&self, check: &mut Check<'_>) {
        check.factor(Self::NAME, "factor", self.factor, "slow disk");
    }

    fn begin(&self, hit: &Hit<'_>, factors: &mut Self::State, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            factors.add(node, hit.fault, self.factor);
            slow(node, factors, ctx);
        }
    }

    fn end(&self, fault: &Begun, factors: &mut Self::State, _losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            if factors.remove(node, fault.fault).is_some() {
                slow(node, factors, ctx);
            }
        }
    }

    fn machine_changed(change: &MachineChange, factors: &mut Self::State, _ctx: &mut Ctx<'_, Chaos>) {
        factors.machine_changed(change);
    }
}

/// Each cause says how many times as long something takes as it would otherwise, so they multiply.
fn slow(node: NodeId, factors: &Causes<f64>, ctx: &mut Ctx<'_, Chaos>) {
    let effect = Effect::DiskSlowed(Slowdown::by(factors.of(node).product()));
    ctx.change_machine(MachineChange::Affected { node, effect });
}
