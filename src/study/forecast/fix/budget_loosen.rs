//! A budget that lets no pod go lets one go at a time.

use std::collections::BTreeSet;

use super::budget_tighten::holds_nothing;
use super::objects::{budgets_of, one_at_a_time};
use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;

/// A budget that lets no pod go lets one go at a time.
pub(super) struct BudgetLoosen;

impl Change for BudgetLoosen {
    fn file(&self) -> &'static str {
        "budget-loosen"
    }

    fn words(&self) -> &'static str {
        "let the PodDisruptionBudget spare one pod (maxUnavailable: 1)"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "has a budget that spares no pod: drains and upgrades wait for ever",
            "have budgets that spare no pod: drains and upgrades wait for ever",
        ]
    }

    fn fits(&self, object: &Object, scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        !budgets_of(object, &scenario.objects).is_empty() && !holds_nothing(object, scenario)
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        one_at_a_time(&mut scenario.objects, workloads);
    }
}
