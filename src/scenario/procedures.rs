//! Checks of what operators and their automata are to do.

use super::document::Node;
use super::targets::unknown;
use super::validate::Inventory;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Location};
use crate::procedures::RollingUpgradeSpec;
use crate::units::{IntOrPercent, SimDuration};

/// Checks that a pool of that name exists.
fn check_pool(place: Location, pool: Symbol, inventory: &Inventory, diagnostics: &mut Diagnostics) {
    if !inventory.pools().contains(&pool) {
        let pools = inventory.pools().iter().map(|pool| pool.as_str());
        diagnostics.push(unknown("node pool", pool.as_str(), pools).at(place, "not under `nodePools`"));
    }
}

fn bad_value(message: impl Into<String>, place: Location, label: &str, help: &str) -> Diagnostic {
    Diagnostic::error("scenario::bad_value", message).at(place, label).help(help.to_owned())
}

/// Checks an upgrade of the timeline.
pub(super) fn check_upgrade(
    root: &Node,
    path: &str,
    upgrade: &RollingUpgradeSpec,
    inventory: &Inventory,
    diagnostics: &mut Diagnostics,
) {
    let place = |field: &str| root.locate_text(&format!("{path}.{field}"));
    check_pool(place("pool"), upgrade.pool, inventory, diagnostics);
    let limits = [("maxSurge", Some(upgrade.surge())), ("maxUnavailable", upgrade.max_unavailable)];
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
        let help = "set `maxSurge: 1` to add a node before one goes, or `maxUnavailable: 1` to do without it meanwhile";
        let message = "neither `maxSurge` nor `maxUnavailable` allows any node to go";
        let field = if upgrade.max_surge.is_some() { "maxSurge" } else { "maxUnavailable" };
        diagnostics.push(bad_value(message, place(field), "the upgrade could not begin", help));
    }
    if upgrade.drain_timeout == SimDuration::ZERO {
        let help = "AKS waits `30m`, GKE `1h`, EKS `15m`";
        diagnostics.push(bad_value("`drainTimeout` leaves no time to drain", place("drainTimeout"), "", help));
    }
}
