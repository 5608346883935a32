//! `addNodes`: machines join a pool.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::action::{Action, Plans, Timeline, add};
use crate::arena::Symbol;
use crate::component::Config;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::scenario::at::At;
use crate::scenario::inventory::Inventory;
use crate::units::SimTime;

/// Machines that join a pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AddNodesEntry {
    /// The pool.
    pub(crate) pool: Symbol,
    /// How many join.
    #[serde(default = "one")]
    pub(crate) count: u32,
}

const fn one() -> u32 {
    1
}

impl Action for AddNodesEntry {
    fn resolve(&self, at: SimTime, _place: At<'_>, timeline: &mut Timeline<'_, '_, '_>) -> Range<usize> {
        let chaos = &mut *timeline.chaos;
        let Some(pool) = chaos.pools.iter().position(|pool| pool.name == self.pool) else { return 0..0 };
        add(&mut chaos.add_nodes, (at, pool, self.count))
    }

    fn written(plans: Plans<'_>, index: usize) -> Self {
        let (_, pool, count) = plans.chaos.add_nodes[index];
        Self { pool: plans.chaos.pools[pool].name, count }
    }

    fn check(&self, at: At<'_>, _config: &Config, inventory: &Inventory, diagnostics: &mut Diagnostics) {
        inventory.check_pool(at.field("pool").location(), self.pool, diagnostics);
        if self.count == 0 {
            diagnostics.push(
                Diagnostic::warning("scenario::no_effect", "no machine joins")
                    .at(at.field("count").location(), "none is added")
                    .help("write how many join, or remove the entry"),
            );
        }
    }

    fn node_count(&self) -> u32 {
        self.count
    }
}
