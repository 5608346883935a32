//! `fault`: something breaks.

use std::ops::Range;

use super::action::{Action, Plans, Timeline, add};
pub(crate) use crate::chaos::FaultSpec;
use crate::component::Config;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::scenario::at::At;
use crate::scenario::inventory::Inventory;
use crate::scenario::targets::{self, Fault};
use crate::units::{SimDuration, SimTime};

impl Action for FaultSpec {
    fn resolve(&self, at: SimTime, place: At<'_>, timeline: &mut Timeline<'_, '_, '_>) -> Range<usize> {
        let mut fault = self.clone();
        for (field, distribution) in fault.fault.distributions() {
            timeline.resolver.observations(distribution, place.field(field).location(), timeline.files);
        }
        add(&mut timeline.chaos.faults, (at, fault))
    }

    fn written(plans: Plans<'_>, index: usize) -> Self {
        plans.chaos.faults[index].1.clone()
    }

    fn check(&self, at: At<'_>, config: &Config, inventory: &Inventory, diagnostics: &mut Diagnostics) {
        targets::check(&Fault { at, spec: self }, config, inventory, diagnostics);
        if self.length == Some(SimDuration::ZERO) {
            let message = format!("this {} ends in the instant in which it begins", self.kind().as_str());
            diagnostics.push(
                Diagnostic::warning("scenario::no_time", message)
                    .at(at.field("for").location(), "for no time")
                    .help("say how long it lasts; without `for` it lasts until the end of the run"),
            );
        }
    }
}
