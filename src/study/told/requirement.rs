//! What is required of runs, and who keeps it, in words.

use super::super::confirmation::Confirmation;
use super::super::requirement::{Judged, Kept, Requirement, Standing};
use super::super::tuning::{Promise, Tuning};
use super::words::percent;
use super::{NAMED_MAX, Remark, Teller};
use crate::observe::Tone;
use crate::units::{counted, grouped};

impl Teller<'_> {
    /// Each requirement with how the variants stand to it.
    pub(super) fn requirements(&self) -> Vec<Remark> {
        let of = self.results.requirements.iter().zip(self.results.requirements_kept());
        of.map(|(one, kept)| self.requirement(one, kept)).collect()
    }

    fn requirement(&self, one: &Requirement, mut kept: Vec<Kept>) -> Remark {
        let results = self.results;
        let count = |standing: Standing| kept.iter().filter(|of| of.judged.standing == standing).count();
        let counts = [(Standing::Meets, "met by"), (Standing::Misses, "missed by"), (Standing::Open, "not told of")];
        let counts: Vec<String> = counts
            .into_iter()
            .map(|(standing, word)| (count(standing), word))
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{word} {}", counted(count, "variant", "variants")))
            .collect();
        let mut remark = Remark::new(Tone::Neutral, format!("Required: {one}: {}", counts.join(", ")));
        // Of whom there is more to say than that they meet it stand first; the tables have all.
        kept.sort_by_key(|of| match of.judged.standing {
            Standing::Misses => 0,
            Standing::Open => 1,
            Standing::Meets => 2,
        });
        let shown = kept.len().min(NAMED_MAX);
        for of in &kept[..shown] {
            remark = remark.with(format!("{}: {}", results.label(of.variant), told(of.judged, one)));
        }
        if kept.len() > shown {
            let left = counted(kept.len() - shown, "other variant", "other variants");
            remark = remark.with(format!("{left} in requirements.csv"));
        }
        let all = match results.variants.len() * results.requirements.len() {
            1 => String::new(),
            _ => ", for all requirements and variants at once".to_owned(),
        };
        let looks = if results.selection.is_some() { ", over all looks" } else { "" };
        if one.probability < 1.0 {
            let confidence = percent(results.confidence_of_all());
            remark =
                remark.with(format!("(shares of all runs that may come: one-sided, at {confidence} %{looks}{all})"));
        }
        remark
    }

    /// What `tune` makes of requirements, if it changes what is recommended.
    pub(super) fn promise(&self, tuning: &Tuning) -> Option<Remark> {
        let (results, baseline) = (self.results, self.results.label(self.results.baseline));
        match tuning.requirements? {
            Promise::BaselineMeets => None,
            Promise::BaselineDoesNot => {
                let misses = results.standings()[results.baseline] == Standing::Misses;
                let verdict = if misses { "MISSES" } else { "is NOT TOLD to meet" };
                let text = format!(
                    "The baseline {baseline} {verdict} what is required: recommended is the cheapest that is told to meet it, whatever it saves"
                );
                Some(Remark::new(Tone::Bad, text))
            }
            Promise::NobodyMeets => Some(self.nobody()),
        }
    }

    /// What is said where no variant can be recommended.
    pub(super) fn nobody(&self) -> Remark {
        let standings = self.results.standings();
        let text = match standings.iter().all(|of| *of == Standing::Misses) {
            true => "Every variant MISSES what is required: nothing is recommended",
            false => "NO variant is told to meet what is required: nothing is recommended",
        };
        let remark = Remark::new(Tone::Bad, text);
        let open = (0..standings.len()).filter(|variant| standings[*variant] == Standing::Open);
        let open = self.labels(open);
        if open.is_empty() {
            return remark.with("try values that cost more, or require less");
        }
        remark.with(format!("more replications may tell it of {}", self.named(&open, "; ")))
    }

    /// What new seeds say of what is required.
    pub(super) fn kept_on_new_seeds(&self, found: &Confirmation) -> Vec<String> {
        let each = self.results.requirements.iter().zip(&found.requirements);
        each.map(|(one, of)| format!("{one}: {}", told(*of, one))).collect()
    }
}

/// `in 97 of 100 runs, so in at least 92.1 % of all: meets`.
fn told(of: Judged, one: &Requirement) -> String {
    let runs = format!("in {} of {}", of.kept, counted(of.n, "run", "runs"));
    let (low, high) = (down(of.share_at_least), up(of.share_at_most));
    match of.standing {
        Standing::Meets if one.probability >= 1.0 => {
            format!("{runs}: it meets it (of all runs that tells at least {low} %)")
        }
        Standing::Meets => format!("{runs}, so in at least {low} % of all: it meets it"),
        Standing::Misses if one.probability >= 1.0 => format!("{runs}: it MISSES it"),
        Standing::Misses => format!("{runs}, so in at most {high} % of all: it MISSES it"),
        Standing::Open => {
            let needed = match of.runs_needed {
                Some(runs) => format!("about {} runs would tell, if it goes on so", grouped(runs)),
                None => "it is so close that no number of runs would tell".to_owned(),
            };
            format!("{runs}, so in {low} to {high} % of all, which does NOT tell; {needed}")
        }
    }
}

/// A share in percent, not above what it is.
fn down(share: f64) -> f64 {
    (share * 1000.0 + 1e-9).floor() / 10.0
}

/// The same, not below it.
fn up(share: f64) -> f64 {
    (share * 1000.0 - 1e-9).ceil() / 10.0
}

#[cfg(test)]
mod tests {
    use super::super::super::requirement::Limit;
    use super::super::super::results::tests::{results, with_metric};
    use super::*;

    /// Two variants of a hundred runs, of which so many have gaps of ten minutes.
    fn found(with_gaps: [u32; 2]) -> super::super::super::results::Results {
        let costs: Vec<f64> = (0..100).map(|run| f64::from(run % 7)).collect();
        let dearer: Vec<f64> = costs.iter().map(|cost| cost + 100.0).collect();
        let mut found = results(&[&costs, &dearer]);
        for (variant, count) in with_gaps.into_iter().enumerate() {
            let gaps: Vec<f64> = (0..100).map(|run| if run < count { 600.0 } else { 0.0 }).collect();
            with_metric(&mut found, variant, "longest_gap_s", &gaps);
        }
        let limit = Limit::AtMost(60.0);
        let metric = "longest_gap_s".to_owned();
        found.requirements = vec![Requirement { metric, workload: None, limit, probability: 0.95 }];
        found
    }

    #[test]
    fn that_what_is_there_misses_what_is_required_is_said_first() {
        let results = found([20, 0]);
        let verdict = Teller::alone(&results).verdict(results.tuning().as_ref(), None);
        assert_eq!(verdict[0].tone, Tone::Bad);
        assert!(verdict[0].text.starts_with("The baseline x=0 MISSES what is required"), "{verdict:?}");
        let of_sweep = Teller::alone(&results).verdict(None, None);
        let (text, details) = (&of_sweep[0].text, &of_sweep[0].details);
        assert!(text.starts_with("Lowest cost of those that are told to meet what is required: x=1"), "{text}");
        assert!(details[0].ends_with("; the baseline is not told to meet what is required"), "{details:?}");
        let required = of_sweep.iter().find(|remark| remark.text.starts_with("Required: ")).expect("it is told");
        assert_eq!(
            required.text,
            "Required: longest_gap_s of at most 60 in 95 % of runs: met by 1 variant, missed by 1 variant"
        );
        assert!(required.details[0].starts_with("x=0: in 80 of 100 runs, so in at most 87.4 % of all"), "{required:?}");
    }

    #[test]
    fn how_many_runs_would_tell_what_is_open_is_said() {
        let results = found([2, 3]);
        let verdict = Teller::alone(&results).verdict(results.tuning().as_ref(), None);
        assert!(verdict[0].text.starts_with("NO variant is told to meet what is required"), "{verdict:?}");
        assert_eq!(verdict[0].details, ["more replications may tell it of x=0; x=1"]);
        let required = verdict.iter().find(|remark| remark.text.starts_with("Required: ")).expect("it is told");
        assert!(required.details[0].contains("which does NOT tell; about "), "{required:?}");
        assert!(verdict.iter().all(|remark| !remark.text.starts_with("Recommended")), "{verdict:?}");
    }

    #[test]
    fn new_seeds_are_held_to_the_same() {
        use super::super::super::confirmation::{Outcomes, Verdict};
        use super::super::super::undone::undone_of;
        let check = |with_gaps: [u32; 2], kept: usize, expected: Verdict| {
            let results = found(with_gaps);
            let outcomes = |cost: f64| Outcomes {
                costs: (0..100).map(|run| (run, cost + f64::from(run % 7))).collect(),
                undone: undone_of(std::iter::empty()),
                kept: vec![kept],
            };
            let found = results.confirmation(&outcomes(100.0), &outcomes(0.0));
            assert_eq!(found.verdict, expected, "{kept}");
            assert_eq!(found.requirements[0].kept, kept);
        };
        // What is there misses it, so that it is worth its cost.
        check([20, 0], 100, Verdict::Meets);
        check([20, 0], 97, Verdict::RequiredIsOpen);
        check([20, 0], 80, Verdict::MissesRequired);
        check([0, 0], 100, Verdict::CostsMore);
    }
}
