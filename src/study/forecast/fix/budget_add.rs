//! A budget that lets one pod go at a time.

use std::collections::BTreeSet;

use super::objects::{add_budgets, budgets_of, is_many};
use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;

/// A budget that lets one pod go at a time.
pub(super) struct BudgetAdd;

impl Change for BudgetAdd {
    fn file(&self) -> &'static str {
        "budget-add"
    }

    fn words(&self) -> &'static str {
        "add a PodDisruptionBudget with maxUnavailable: 1"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["has no budget: a drain takes all its pods at once", "have no budget: a drain takes all their pods at once"]
    }

    fn fits(&self, object: &Object, scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        is_many(object) && budgets_of(object, &scenario.objects).is_empty()
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        add_budgets(&mut scenario.objects, workloads);
    }
}
