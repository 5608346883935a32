//! A machine loses power.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::{Losses, time_boot};
use crate::component::{Ctx, Stops};
use crate::engine::Distribution;

parameters! {
    /// The machine is off: kubelet and containers are gone.
    pub struct Crash {
        /// how long the machine boots afterwards, a length or a distribution; `latency.nodeBoot` if not said
        "boot" boot: Option<Distribution>;
    }
}

impl Fault for Crash {
    const NAME: &'static str = "Crash";
    const ABOUT: &'static str = "the machine is off for `for:`, then boots";
    const EFFECT: &'static str = "lost power";
    const STOPS: Stops = Stops::Machine;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            time_boot(self.boot.as_ref(), hit.name, node, ctx);
            losses.cut_power(hit.fault, node, ctx);
        }
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            losses.give_power_back(fault.fault, node, ctx);
        }
    }
}
