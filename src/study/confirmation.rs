//! What is recommended, held against what is there on seeds that the choice has not seen.

use serde::Serialize;

use super::estimate::Series;
use super::results::{CONFIDENCE, Results};
use super::statistics::Interval;
use super::tuning::matters;
use super::undone::{LeftUndone, Undone};

/// What is recommended against the scenario as it is, on seeds that the choice has not seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Confirmation {
    /// Runs of each.
    pub n: usize,
    /// What the baseline costs.
    pub today: Interval,
    /// What is recommended costs.
    pub recommended: Interval,
    /// What it costs more, run by run; negative if it saves.
    pub difference: Interval,
    /// What is recommended leaves undone what the baseline gets done, on these seeds.
    pub left_undone: Vec<LeftUndone>,
    /// The confidence of these intervals. Nobody has looked at the new seeds before, however often at those of the study.
    pub confidence: f64,
}

impl Confirmation {
    /// Whether what was saved on the new seeds is worth a change.
    #[must_use]
    pub fn matters(&self) -> bool {
        matters(self.difference, self.today.mean)
    }
}

/// What runs cost, and what they left undone.
pub(super) struct Outcomes {
    pub(super) costs: Series,
    pub(super) undone: Undone,
}

impl Results {
    /// The mixture against the scenario as it is. Looks at the study's seeds do not widen it: these are others.
    pub(super) fn confirmation(&self, recommended: &Outcomes, today: &Outcomes) -> Confirmation {
        let columns = [recommended.costs.clone(), today.costs.clone()];
        let estimate = self.estimate_at(CONFIDENCE).with_unseen(&columns);
        Confirmation {
            n: recommended.costs.len(),
            today: estimate.mean(&today.costs),
            recommended: estimate.mean(&recommended.costs),
            difference: estimate.between(&columns, 0, 1),
            left_undone: self.left_by(&recommended.undone, &today.undone),
            confidence: CONFIDENCE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tuning::tests::mixed;
    use super::super::undone::undone_of;
    use super::*;

    #[test]
    fn what_is_confirmed_on_new_seeds_is_not_widened_for_looks_at_others() {
        let mut looked = mixed(2);
        looked.looks = 5;
        let today: Series = [4.0, 5.0, 7.0].into_iter().enumerate().map(|(r, x)| (r as u32, x)).collect();
        let outcomes = Outcomes { costs: today.clone(), undone: undone_of(std::iter::empty()) };
        let found = looked.confirmation(&outcomes, &outcomes);
        assert_eq!((found.today, found.confidence), (looked.estimate_at(0.95).mean(&today), 0.95));
    }
}
