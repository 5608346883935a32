//! What variants of a study leave undone, in words.

use std::fmt::Write as _;

use super::sweep::number;
use super::words::counted;
use crate::study::{DoneElsewhere, LeftUndone, Results};

/// More variants than this are counted, not named.
const NAMED_MAX: usize = 6;

/// `commands_unfinished 1.00 a run instead of 0.00 (more with 20 of 20 seeds)`.
pub(super) fn told(left: &[LeftUndone]) -> String {
    let one = |of: &LeftUndone| {
        let (mean, instead_of) = (number(of.mean), number(of.instead_of));
        format!("{} {mean} a run instead of {instead_of} (more with {} of {} seeds)", of.metric, of.higher_in, of.n)
    };
    left.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The variants that leave undone what the baseline gets done, with what it is.
pub(super) fn ruled_out(results: &Results) -> String {
    let mut text = String::new();
    let all = results.left_undone();
    let found: Vec<(usize, &Vec<LeftUndone>)> = all.iter().enumerate().filter(|(_, left)| !left.is_empty()).collect();
    let verdict = if results.allows_undone { "Allowed" } else { "Ruled out" };
    for (variant, left) in found.iter().take(NAMED_MAX) {
        let label = results.label(*variant);
        let _ = writeln!(text, "{verdict}: {label} leaves more undone than the baseline: {}", told(left));
    }
    if let Some(more) = found.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        let others = counted(more, "other variant", "other variants");
        let _ = writeln!(text, "{verdict}: {others} that leave more undone (`leaves_undone` of summary.json)");
    }
    if !found.is_empty() && !results.allows_undone {
        text.push_str("  (--allow-undone lets these win; so does a price on what they leave)\n");
    }
    text
}

/// Which variant does what this one leaves.
pub(super) fn elsewhere(results: &Results, found: &DoneElsewhere) -> String {
    let other = results.label(found.variant);
    format!("BUT it leaves undone what {other} gets done, and saves that cost: {}", told(&found.undone))
}
