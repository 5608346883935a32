//! The disk of a machine is slow: a neighbour keeps it busy, its burst credits are used up, it repairs itself.

use super::super::Chaos;
use super::super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::super::losses::Losses;
use crate::component::Ctx;
use crate::diagnostics::Diagnostic;
use crate::state::Slowdown;

/// What takes longer than this many times as long does not happen.
const FACTOR_MAX: f64 = 1e6;

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
    const DIFFERS: &'static str = "the kubelet itself, volumes and applications are as fast as ever, and no start or pull is given up for taking too long";
    const COURSE: Course = Course::Lasting;
    const MAKES_NODES_NOT_READY: bool = false;
    type State = ();

    fn target(&self) -> Target<'_> {
        Target::Nodes
    }

    fn check(&self, check: &mut Check<'_>) {
        if !(1.0..=FACTOR_MAX).contains(&self.factor) {
            let message = format!("no slow disk takes {} times as long", self.factor);
            let diagnostic = Diagnostic::error("scenario::bad_value", message).at((check.place)("factor"), "");
            check.diagnostics.push(diagnostic.help(format!("write a number from 1 to {FACTOR_MAX}")));
        } else if Slowdown::by(self.factor) == Slowdown::NONE {
            check.no_effect(Self::NAME, "factor", "write how many times as long, such as 3");
        }
    }

    fn begin(&self, hit: &Hit<'_>, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in hit.nodes {
            losses.slowness.slow_disk(hit.fault, node, self.factor, ctx);
        }
    }

    fn end(&self, fault: &Begun, (): &mut (), losses: &mut Losses, ctx: &mut Ctx<'_, Chaos>) {
        for &node in &fault.nodes {
            losses.slowness.give_disk_back(fault.fault, node, ctx);
        }
    }
}
