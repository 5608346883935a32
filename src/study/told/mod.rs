//! What a study or a plan has found, in words: the terminal prints them, `summary.json` has them as its verdict, the page shows them.

mod cost_by;
mod inputs;
mod prices;
mod rare;
mod requirement;
mod search;
mod sweep;
mod tune;
mod undone;
pub(super) mod words;

use super::confirmation::Confirmation;
use super::results::Results;
use super::shard::Shard;
use super::tuning::Tuning;
pub use crate::diagnostics::Remark;
use crate::diagnostics::Tone;

/// Names that a sentence of `summary.json` has; the terminal prints them all.
const NAMED_MAX: usize = 12;

/// Who tells what a study has found.
#[derive(Clone, Copy, Debug)]
pub struct Teller<'a> {
    results: &'a Results,
    named_max: usize,
    /// Whether the table of the terminal stands above, which says some of it.
    is_below_table: bool,
}

impl<'a> Teller<'a> {
    /// What stands below the tables of the terminal.
    #[must_use]
    pub fn below_table(results: &'a Results) -> Self {
        Self { results, named_max: usize::MAX, is_below_table: true }
    }

    /// What stands by itself.
    pub(super) fn alone(results: &'a Results) -> Self {
        Self { results, named_max: NAMED_MAX, is_below_table: false }
    }

    /// The verdict: the answer first, then what speaks against it, then what it stands on.
    pub(super) fn verdict(&self, tuning: Option<&Tuning>, confirmation: Option<&Confirmation>) -> Vec<Remark> {
        let mut verdict = Vec::new();
        if self.results.shard != Shard::WHOLE {
            let text = format!("This is part {} of the study: it recommends nothing", self.results.shard);
            verdict.push(Remark::new(Tone::Bad, text).with("`kubesquall merge` puts the parts together"));
        } else if let Some(tuning) = tuning {
            verdict.extend(self.tuning(tuning, confirmation));
        } else if self.results.is_weighted() {
            verdict.extend(self.rare_event());
            verdict.extend(self.weighted());
        } else {
            verdict.extend(self.unpriced());
            verdict.extend(self.recommendation());
        }
        verdict.extend(self.cautions());
        verdict.push(self.stands_on());
        verdict
    }

    /// Names, separated; those that are too many are counted.
    fn named(&self, names: &[String], separator: &str) -> String {
        words::names(names, self.named_max, separator)
    }

    fn labels(&self, variants: impl IntoIterator<Item = usize>) -> Vec<String> {
        variants.into_iter().map(|variant| self.results.label(variant)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{results, with_metric};
    use super::*;

    fn tones(verdict: &[Remark]) -> Vec<Tone> {
        verdict.iter().map(|remark| remark.tone).collect()
    }

    #[test]
    fn what_pays_is_good_and_stands_first() {
        let verdict = Teller::alone(&results(&[&[9.0, 10.0, 11.0, 10.5], &[1.0, 2.0, 3.0, 2.5]])).verdict(None, None);
        assert_eq!(tones(&verdict), [Tone::Good, Tone::Neutral]);
        assert!(verdict[0].text.starts_with("Lowest cost: x=1, at 2.12 ["), "{verdict:?}");
        assert_eq!(verdict[1].text, "It stands on 8 runs: 2 variants, 4 each, with seeds 0 to 3");
    }

    #[test]
    fn what_cannot_be_told_or_stays_is_not_good() {
        let tone = |costs: &[&[f64]]| Teller::alone(&results(costs)).verdict(None, None)[0].tone;
        assert_eq!(tone(&[&[1.0, 2.0, 3.0], &[2.0, 1.0, 3.5]]), Tone::Neutral);
        assert_eq!(tone(&[&[9.0], &[1.0]]), Tone::Neutral);
    }

    #[test]
    fn a_part_recommends_nothing() {
        let mut part = results(&[&[9.0, 10.0], &[1.0, 2.0]]);
        part.shard = Shard::new(1, 2).expect("a part");
        part.runs[1].pop();
        let verdict = Teller::alone(&part).verdict(None, None);
        assert_eq!(tones(&verdict)[0], Tone::Bad);
        assert!(verdict[0].text.starts_with("This is part 1/2 of the study") && verdict[0].details.len() == 1);
        assert!(verdict.iter().all(|remark| !remark.text.contains("Lowest cost")), "{verdict:?}");
        assert!(verdict.last().is_some_and(|last| last.text.contains("3 runs")), "{verdict:?}");
    }

    #[test]
    fn a_study_without_prices_says_so() {
        let mut unpriced = results(&[&[1.0, 2.0], &[1.0, 2.0]]);
        unpriced.prices.clear();
        let verdict = Teller::alone(&unpriced).verdict(None, None);
        assert!(verdict[0].text.starts_with("Nothing has a price"), "{verdict:?}");
        assert!(verdict[0].details[0].contains("Not told to be beaten"), "{verdict:?}");
    }

    #[test]
    fn what_leaves_work_undone_is_named_with_what_lets_it_win() {
        let mut found = results(&[&[9.0, 10.0], &[1.0, 2.0]]);
        with_metric(&mut found, 1, "pods_lost", &[1.0, 1.0]);
        let verdict = Teller::alone(&found).verdict(None, None);
        let out = verdict.iter().find(|remark| remark.text.starts_with("Ruled out: x=1")).expect("it is told");
        assert!(out.details[0].contains("--allow-undone"), "{out:?}");
        assert!(verdict[0].text.starts_with("Lowest cost: x=0"), "{verdict:?}");
        found.allows_undone = true;
        let verdict = Teller::alone(&found).verdict(None, None);
        let allowed = verdict.iter().find(|remark| remark.text.starts_with("Allowed: x=1")).expect("it is told");
        assert_eq!((allowed.tone, allowed.details.len()), (Tone::Bad, 0));
    }

    #[test]
    fn what_saves_too_little_is_not_good() {
        let noise = [0.0, 1.0, -0.5, 0.2, -0.9, 0.4, 0.1, -0.3];
        let columns = [noise.map(|x| 1000.0 + x), noise.map(|x| 997.0 + x)];
        let mut found = results(&columns.each_ref().map(|column| column.as_slice()));
        let first = |found: &Results| Teller::alone(found).verdict(None, None).swap_remove(0);
        let slight = first(&found);
        assert!(slight.tone == Tone::Neutral && slight.details[0].contains("less than 1 % of what"), "{slight:?}");
        let unchanged = |found: &Results| {
            let told = Teller::alone(found).tuning(&found.tuning().expect("priced"), None);
            told.into_iter().find(|remark| remark.text.starts_with("Nothing is to be changed")).expect("it is told")
        };
        let told = unchanged(&found);
        assert!(told.text.ends_with("is told to be cheaper than what is there by 1 % or more."), "{told:?}");
        assert_eq!(told.details, ["x=1 costs less, but is not told to save 1 %: too little to be worth a change"]);
        found.indifference = 0.002;
        assert_eq!(first(&found).tone, Tone::Good);
        found.baseline = 1;
        let told = unchanged(&found);
        assert!(
            told.text.ends_with("is told to be cheaper than what is there.") && told.details.is_empty(),
            "{told:?}"
        );
    }

    #[test]
    fn what_was_seen_seldom_is_counted_for_each_variant() {
        let (mut one, none) = ([5.0; 100], [5.0; 100]);
        one[17] = 500.0;
        let verdict = Teller::alone(&results(&[&one, &none])).verdict(None, None);
        let rare = verdict.iter().find(|remark| remark.text.starts_with("Hardly any run")).expect("it is told");
        assert!(rare.text.contains("x=0 (1 of 100 runs); x=1 (none of 100 runs)"), "{rare:?}");
        assert!(rare.text.contains("up to 5.45 % of all runs may differ"), "{rare:?}");
    }

    #[test]
    fn many_names_are_counted_but_not_on_the_terminal() {
        let names: Vec<String> = (0..20).map(|name| name.to_string()).collect();
        let found = results(&[&[1.0]]);
        assert!(Teller::alone(&found).named(&names, "; ").ends_with("; 11; and 8 others"));
        assert!(Teller::below_table(&found).named(&names, "; ").ends_with("; 18; 19"));
    }
}
