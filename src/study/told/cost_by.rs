//! By which figure of their costs variants are judged, in words.

use super::super::cost_by::CostBy;
use super::words::{percent, too_few};
use super::{Remark, Teller};
use crate::diagnostics::Tone;

impl Teller<'_> {
    /// What is said of the figure beside the numbers; nothing of the mean.
    pub(super) fn judged_by(&self) -> Option<String> {
        let by = self.results.cost_by;
        match by {
            CostBy::Mean => None,
            CostBy::Quantile(_) => Some(format!(
                "variants are judged by the {} of what runs cost: its interval is a pair of order statistics, that of a difference what the \
                 intervals of both leave, at once",
                by.name()
            )),
            CostBy::Cvar(_) => Some(format!(
                "variants are judged by the {} of what runs cost: the mean of the worst {} % of them",
                by.name(),
                percent(by.share_of_runs())
            )),
        }
    }

    /// That there are too few runs to tell the figure.
    pub(super) fn too_few_for_figure(&self) -> Option<Remark> {
        let results = self.results;
        let by = results.cost_by;
        if by.is_mean() {
            return None;
        }
        // A part has none of some variants.
        let runs = results.runs.iter().map(Vec::len).filter(|runs| *runs > 0).min().unwrap_or(0);
        // Two intervals of a quantile have to hold at once, for all pairs of variants.
        let pairs = (results.variants.len() * results.variants.len().saturating_sub(1) / 2).max(1) as f64;
        let of_pairs = 1.0 - (1.0 - results.confidence()) / pairs / 2.0;
        let (alone, apart) = (by.runs_needed(results.confidence()), by.runs_needed(of_pairs));
        let few = too_few(runs);
        let text = match (runs < alone, runs < apart) {
            (true, _) if alone == apart => {
                format!("{few} to tell the {}, and variants apart by it: {alone} would do", by.name())
            }
            (true, _) => {
                format!("{few} to tell the {}: {alone} would do, {apart} to tell variants apart by it", by.name())
            }
            (false, true) => {
                format!("{few} to tell variants apart by the {}: {apart} would do", by.name())
            }
            (false, false) => return None,
        };
        Some(Remark::new(Tone::Bad, text))
    }

    /// Why workloads get no values of their own where it is told of runs as a whole what counts; none where it is told of each.
    pub(super) fn of_whole_runs(&self) -> Option<String> {
        let by = self.results.cost_by;
        match (by, self.results.requires()) {
            (CostBy::Mean, false) => None,
            (CostBy::Mean, true) => Some(
                "whether a run keeps what is required is told of variants that were played, not of mixtures of them"
                    .to_owned(),
            ),
            _ => Some(format!("the {} of a sum is not the sum of those of its parts", by.name())),
        }
    }

    /// What stands before costs that are no means: `by CVaR 95 %, `.
    pub(super) fn by_figure(&self) -> String {
        let by = self.results.cost_by;
        if by.is_mean() { String::new() } else { format!("by the {}, ", by.name()) }
    }
}
