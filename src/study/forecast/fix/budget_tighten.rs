//! A budget that holds nothing back lets one pod go at a time.

use std::collections::BTreeSet;

use super::objects::{budgets_of, one_at_a_time, replicas_of};
use super::{Change, Circumstances};
use crate::model::Object;
use crate::scenario::ResolvedScenario;
use crate::units::Rounding;

/// Whether the budgets of a workload let all its pods go at once.
pub(super) fn holds_nothing(object: &Object, scenario: &ResolvedScenario) -> bool {
    let Some(replicas) = replicas_of(object).filter(|count| *count > 1) else { return false };
    let budgets = budgets_of(object, &scenario.objects);
    let spares_all = |index: &usize| match &scenario.objects[*index].object {
        Object::PodDisruptionBudget(budget) => {
            let at_least = budget.spec.min_available.map(|count| count.resolve(replicas, Rounding::Up));
            let away = budget.spec.max_unavailable.map(|count| count.resolve(replicas, Rounding::Up));
            at_least.map_or(away.is_some_and(|away| away >= replicas), |kept| kept <= 0)
        }
        _ => false,
    };
    !budgets.is_empty() && budgets.iter().all(spares_all)
}

/// A budget that holds nothing back lets one pod go at a time.
pub(super) struct BudgetTighten;

impl Change for BudgetTighten {
    fn file(&self) -> &'static str {
        "budget-tighten"
    }

    fn words(&self) -> &'static str {
        "let the PodDisruptionBudget hold back all but one pod (maxUnavailable: 1)"
    }

    fn cause(&self) -> [&'static str; 2] {
        [
            "has a budget that holds nothing back: a drain takes all its pods at once",
            "have budgets that hold nothing back: a drain takes all their pods at once",
        ]
    }

    fn fits(&self, object: &Object, scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        holds_nothing(object, scenario)
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        one_at_a_time(&mut scenario.objects, workloads);
    }
}
