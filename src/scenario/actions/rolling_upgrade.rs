//! `rollingUpgrade`: every machine of a pool is replaced.

use std::ops::Range;

use super::action::{Action, Plans, Timeline, add};
use crate::component::Config;
use crate::diagnostics::Diagnostics;
pub(crate) use crate::procedures::rolling_upgrade::RollingUpgradeSpec;
use crate::scenario::at::{At, bad_value};
use crate::scenario::inventory::Inventory;
use crate::units::{IntOrPercent, SimDuration, SimTime};

impl Action for RollingUpgradeSpec {
    fn resolve(&self, _at: SimTime, _place: At<'_>, timeline: &mut Timeline<'_, '_, '_>) -> Range<usize> {
        add(&mut timeline.procedures.upgrades, self.clone())
    }

    fn written(plans: Plans<'_>, index: usize) -> Self {
        let upgrade = &plans.procedures.upgrades[index];
        Self { max_surge: Some(upgrade.surge()), ..upgrade.clone() }
    }

    fn check(&self, at: At<'_>, _config: &Config, inventory: &Inventory, diagnostics: &mut Diagnostics) {
        let place = |field: &str| at.field(field).location();
        inventory.check_pool(place("pool"), self.pool, diagnostics);
        let limits = [("maxSurge", Some(self.surge())), ("maxUnavailable", self.max_unavailable)];
        let mut all_zero = true;
        for (field, limit) in limits {
            let Some(limit) = limit else { continue };
            let (IntOrPercent::Int(number) | IntOrPercent::Percent(number)) = limit;
            all_zero &= number == 0;
            if number < 0 {
                let help = "write a count such as `1`, or a percentage such as `33%`";
                diagnostics.push(bad_value(format!("`{field}` is {limit}"), place(field), "less than nothing", help));
            }
            if matches!(limit, IntOrPercent::Percent(101..)) {
                let help = "write at most `100%`";
                diagnostics.push(bad_value(format!("`{field}` is {limit}"), place(field), "more than the pool", help));
            }
        }
        if all_zero {
            let help =
                "set `maxSurge: 1` to add a node before one goes, or `maxUnavailable: 1` to do without it meanwhile";
            let message = "neither `maxSurge` nor `maxUnavailable` allows any node to go";
            let field = if self.max_surge.is_some() { "maxSurge" } else { "maxUnavailable" };
            diagnostics.push(bad_value(message, place(field), "the upgrade could not begin", help));
        }
        if self.drain_timeout == SimDuration::ZERO {
            let help = "AKS waits `30m`, GKE `1h`, EKS `15m`";
            diagnostics.push(bad_value("`drainTimeout` leaves no time to drain", place("drainTimeout"), "", help));
        }
    }
}
