//! What variants of a study leave undone, in words.

use super::super::undone::{DoneElsewhere, LeftUndone};
use super::words::number;
use super::{Remark, Teller};
use crate::observe::Tone;
use crate::units::counted;

/// More variants than this are counted, not named.
const NAMED_MAX: usize = 6;

/// `commands_unfinished 1.00 a run instead of 0.00 (more with 20 of 20 seeds)`.
pub(super) fn told(left: &[LeftUndone]) -> String {
    let one = |of: &LeftUndone| {
        let (mean, instead_of) = (number(of.mean), number(of.instead_of));
        let word = if of.mean < of.instead_of { "less" } else { "more" };
        format!("{} {mean} a run instead of {instead_of} ({word} with {} of {} seeds)", of.metric, of.higher_in, of.n)
    };
    left.iter().map(one).collect::<Vec<_>>().join(", ")
}

impl Teller<'_> {
    /// The variants that leave undone what the baseline gets done, with what it is.
    pub(super) fn ruled_out(&self) -> Vec<Remark> {
        let results = self.results;
        let all = results.left_undone();
        let found: Vec<(usize, &Vec<LeftUndone>)> =
            all.iter().enumerate().filter(|(_, left)| !left.is_empty()).collect();
        let (verdict, tone) = if results.allows_undone { ("Allowed", Tone::Bad) } else { ("Ruled out", Tone::Neutral) };
        let of = |(variant, left): &(usize, &Vec<LeftUndone>)| {
            let label = results.label(*variant);
            Remark::new(tone, format!("{verdict}: {label} leaves more undone than the baseline: {}", told(left)))
        };
        let mut remarks: Vec<Remark> = found.iter().take(NAMED_MAX).map(of).collect();
        if let Some(more) = found.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
            let others = counted(more, "other variant", "other variants");
            let text = format!("{verdict}: {others} that leave more undone (`leaves_undone` of summary.json)");
            remarks.push(Remark::new(tone, text));
        }
        if let Some(last) = remarks.last_mut().filter(|_| !results.allows_undone) {
            last.details.push("(--allow-undone lets these win; so does a price on what they leave)".to_owned());
        }
        remarks
    }

    /// That a variant asks for less than the baseline, and saves by that what is missing.
    pub(super) fn asks_for_less(&self, variant: usize) -> Option<Remark> {
        let (ours, theirs) = self.results.asks_for_less(variant)?;
        let (label, ours, theirs) = (self.results.label(variant), number(ours), number(theirs));
        let text = format!("BUT {label} asks for less: {ours} replica-hours a run instead of {theirs}");
        let why = "what is missing is counted by what is asked for, so that who asks for fewer pods misses fewer";
        Some(Remark::new(Tone::Bad, text).with(why).with("a price on lostTrafficSeconds counts what services lose"))
    }

    /// Which variant does what this one leaves.
    pub(super) fn elsewhere(&self, found: &DoneElsewhere) -> String {
        let other = self.results.label(found.variant);
        format!("BUT it leaves undone what {other} gets done, and saves that cost: {}", told(&found.undone))
    }
}
