//! What an action of the timeline is, and where it goes.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::chaos::ChaosPlan;
use crate::component::Config;
use crate::diagnostics::Diagnostics;
use crate::kubectl::{Runbook, ShellId};
use crate::model::NotModelled;
use crate::procedures::ProcedurePlan;
use crate::rest::ClientRequest;
use crate::scenario::at::At;
use crate::scenario::files::Files;
use crate::scenario::inventory::Inventory;
use crate::scenario::resolver::Resolver;
use crate::units::SimTime;

/// An action as it is written under its field of an entry.
pub(super) trait Action: Sized {
    /// Puts it into the plan of who does it; its positions there, none if it cannot be read.
    fn resolve(&self, at: SimTime, place: At<'_>, timeline: &mut Timeline<'_, '_, '_>) -> Range<usize>;

    /// The action at a position of its plan, as a lock file writes it.
    fn written(plans: Plans<'_>, index: usize) -> Self;

    /// Everything that can be wrong with it although its fields have the right types.
    fn check(&self, at: At<'_>, config: &Config, inventory: &Inventory, diagnostics: &mut Diagnostics);

    /// How many nodes it adds.
    fn node_count(&self) -> u32 {
        0
    }
}

/// The plans that the actions are sorted into.
#[derive(Copy, Clone)]
pub(in crate::scenario) struct Plans<'a> {
    pub(in crate::scenario) chaos: &'a ChaosPlan,
    pub(in crate::scenario) runbook: &'a Runbook,
    pub(in crate::scenario) procedures: &'a ProcedurePlan,
    pub(in crate::scenario) requests: &'a [ClientRequest],
}

/// The same while the timeline is read, and what it takes to read it.
pub(in crate::scenario) struct Timeline<'a, 'r, 'f> {
    pub(in crate::scenario) resolver: &'a mut Resolver<'r>,
    pub(in crate::scenario) chaos: &'a mut ChaosPlan,
    pub(in crate::scenario) runbook: &'a mut Runbook,
    pub(in crate::scenario) procedures: &'a mut ProcedurePlan,
    pub(in crate::scenario) requests: &'a mut Vec<ClientRequest>,
    pub(in crate::scenario) not_modelled: &'a mut Vec<NotModelled>,
    pub(in crate::scenario) files: &'a mut Files<'f>,
    /// Lines of one instant are typed into one shell.
    pub(in crate::scenario) shells: BTreeMap<SimTime, ShellId>,
}

/// Puts something at the end of a plan; its position.
pub(super) fn add<T>(plan: &mut Vec<T>, item: T) -> Range<usize> {
    plan.push(item);
    plan.len() - 1..plan.len()
}
