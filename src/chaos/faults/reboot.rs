//! A machine goes off and on by itself.

use super::super::Chaos;
use super::super::fault::{Begun, Course, Fault, Hit, Target};
use super::super::losses::{Loss, Losses, time_boot};
use crate::component::{Ctx, Stops};
use crate::engine::Distribution;
use crate::state::MachineChange;

parameters! {
    /// As a crash; comes back after its boot time.
    pub struct Reboot {
        /// how long the machine boots afterwards, a length or a distribution; `latency.nodeBoot` if not said
        "boot" boot: Option<Distribution>;
    }
}

impl Fault for Reboot {
    const NAME: &'static str = "Reboot";
    const ABOUT: &'static str = "off and on by itself";
    const EFFECT: &'static str = "went off and on again";
    const STOPS: Stops = Stops::Machine;
    const DIFFERS: &'static str = "";
    const COURSE: Course = Course::Instantaneous;
    const MAKES_NODES_NOT_READY: bool = true;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            // A machine that something keeps off cannot be rebooted.
            if !losses.holds(node, Loss::Power) {
                time_boot(self.boot.as_ref(), hit.name, node, ctx);
                ctx.change_machine(MachineChange::PowerOff(node));
                ctx.change_machine(MachineChange::PowerOn(node));
            }
        }
    }

    fn end(&self, _fault: &Begun, (): &mut (), _losses: &mut Losses, _ctx: &mut Ctx<'_, Chaos>) {}
}
