//! `rollingReboot`: the nodes of a pool need a reboot, and get it one after the other.

use std::ops::Range;

use super::action::{Action, Plans, Timeline, add};
use crate::component::Config;
use crate::diagnostics::Diagnostics;
pub(crate) use crate::procedures::rolling_reboot::RollingRebootSpec;
use crate::scenario::at::{At, bad_value};
use crate::scenario::inventory::Inventory;
use crate::units::{SimDuration, SimTime};

/// The shortest time between two looks of a reboot daemon.
const REBOOT_PERIOD_MIN: SimDuration = SimDuration::from_secs(1);

impl Action for RollingRebootSpec {
    fn resolve(&self, _at: SimTime, _place: At<'_>, timeline: &mut Timeline<'_, '_, '_>) -> Range<usize> {
        add(&mut timeline.procedures.reboots, self.clone())
    }

    fn written(plans: Plans<'_>, index: usize) -> Self {
        plans.procedures.reboots[index].clone()
    }

    fn check(&self, at: At<'_>, _config: &Config, inventory: &Inventory, diagnostics: &mut Diagnostics) {
        let place = |field: &str| at.field(field).location();
        inventory.check_pool(place("pool"), self.pool, diagnostics);
        if self.concurrency == 0 {
            let message = "`concurrency` lets no node reboot";
            diagnostics.push(bad_value(message, place("concurrency"), "", "write at least `1`; one node is usual"));
        }
        if self.period < REBOOT_PERIOD_MIN {
            let help = format!("give at least {REBOOT_PERIOD_MIN}; kured looks every hour");
            let message = format!("a `period` of {} leaves no time to reboot", self.period);
            diagnostics.push(bad_value(message, place("period"), "", &help));
        }
        if self.every.is_some_and(|every| every < self.period) {
            let message = "the nodes need a reboot again before their daemons have looked";
            let help = "make `every` longer than `period`";
            diagnostics.push(bad_value(message, place("every"), "", help));
        }
        if self.drain_timeout == Some(SimDuration::ZERO) {
            let help = "leave it out to wait for ever";
            diagnostics.push(bad_value("`drainTimeout` leaves no time to drain", place("drainTimeout"), "", help));
        }
    }
}
