//! How often a rare event comes, in words.

use super::super::rare::{RareEstimate, Sampling, chance, years};
use super::super::statistics::Interval;
use super::{Remark, Teller};
use crate::diagnostics::Tone;
use crate::units::{counted, grouped};

/// Comparisons of numbers in words.
const ABOVE: &str = "is above";

impl Teller<'_> {
    /// How often the event comes under each variant; none if the study does not look for any.
    #[must_use]
    pub fn rare_event(&self) -> Option<Remark> {
        let results = self.results;
        let (sampling, estimates) = (results.rare.as_ref()?, results.rare_estimates()?);
        let event = &sampling.event;
        let side = if event.side == super::super::RareSide::Above { ABOVE } else { "is below" };
        let text = format!("How often {} of a run {side} {}, from runs with weights", event.metric, event.threshold);
        let is_told = estimates.iter().all(|of| of.is_told);
        let mut remark = Remark::new(if is_told { Tone::Neutral } else { Tone::Bad }, text);
        let shown = estimates.len().min(self.named_max);
        for of in &estimates[..shown] {
            remark = remark.with(self.rare_line(of));
        }
        if estimates.len() > shown {
            let left = counted(estimates.len() - shown, "other variant", "other variants");
            remark = remark.with(format!("{left} in rare-events.csv"));
        }
        Some(remark.with(drawn(sampling)))
    }

    fn rare_line(&self, of: &RareEstimate) -> String {
        let (results, n) = (self.results, counted(of.n, "run", "runs"));
        let label = results.label(of.variant);
        if of.n == 0 {
            return format!("{label}: no run yet");
        }
        if !of.is_told {
            let had = if of.hits == 0 { "none".to_owned() } else { of.hits.to_string() };
            return format!(
                "{label}: TOO FEW RUNS WITH WEIGHT TO SAY: {had} of {n} had it, worth {:.1} of equal weight; all that holds is that at most \
                 {} of all runs have it",
                of.effective_runs,
                chance_alone(of.probability.high)
            );
        }
        let often = often(of.per_year);
        let plain = of.plain_runs.map_or_else(String::new, |plain| {
            format!("; without weights as narrow an interval takes about {} runs", many(plain))
        });
        let against = match of.difference {
            against if !against.is_known() => String::new(),
            against if against.has_zero() => {
                format!("; against the baseline {}, which does not tell the two apart", chance(against))
            }
            against => format!("; against the baseline {}", chance(against)),
        };
        format!(
            "{label}: in {} of all runs, {often}; {} of {n} had it, worth {:.0} of equal weight{plain}{against}",
            chance(of.probability),
            of.hits,
            of.effective_runs
        )
    }

    /// What is not said of runs with weights.
    pub(super) fn weighted(&self) -> Option<Remark> {
        let text = "Runs have weights: means and differences are those of all runs as they truly come, but no variant is named the cheapest \
                    or ruled out by them, and how they vary is left out";
        self.results.is_weighted().then(|| Remark::new(Tone::Neutral, text))
    }
}

/// How often it comes in a year. Where each run may have it, nothing is told of how often that is at most.
fn often(Interval { mean, low, high, .. }: Interval) -> String {
    match (mean.is_finite(), high.is_finite()) {
        (true, true) => format!("{} ({} to {})", years(mean), years(high), years(low)),
        (true, false) => format!("{} (at least {})", years(mean), years(low)),
        (false, _) if low > 0.0 => format!("at least {}", years(low)),
        (false, _) => "more often than can be told".to_owned(),
    }
}

fn chance_alone(value: f64) -> String {
    if value >= 0.01 { format!("{value:.3}") } else { format!("{value:.2e}") }
}

fn many(count: f64) -> String {
    if count < 1e9 { grouped(count.round() as u64) } else { format!("{count:.1e}") }
}

/// How failures were drawn.
fn drawn(sampling: &Sampling) -> String {
    let Some(pilot) = sampling.pilot else {
        return "failures were drawn by the factors that the study gives".to_owned();
    };
    let runs = counted(pilot.runs as usize, "run", "runs");
    match pilot.hits {
        0 => format!(
            "a pilot of {runs} never came so far: name a threshold that is nearer, give the pilot more runs, or say by `factors` what to \
             draw more often"
        ),
        hits => format!(
            "how failures are drawn was chosen by a pilot of {runs}; {hits} of its last {} had the event",
            pilot.of
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::rare::{Mixture, Pilot, Sampling};
    use super::super::super::results::tests::{results, with_metric};
    use super::super::super::run::RunRow;
    use super::*;

    fn rare(hits: usize, weight: f64) -> super::super::super::results::Results {
        let mut found = results(&[&[0.0; 200], &[0.0; 200]]);
        let values: Vec<f64> = (0..200).map(|run| if run < hits { 9.0 } else { 0.0 }).collect();
        for variant in 0..2 {
            with_metric(&mut found, variant, "unready_replica_s", &values);
            let weigh = |(run, row): (usize, &mut RunRow)| row.weight = if run < hits { weight } else { 1.0 };
            found.runs[variant].iter_mut().enumerate().for_each(weigh);
        }
        found.is_chancy = true;
        found.rare = Some(Sampling {
            event: "unready_replica_s>5".parse().expect("an event"),
            is_asked: false,
            processes: vec!["p".into()],
            mixture: Mixture::truth(1).with_share(0.1),
            run_s: vec![86_400.0; 2],
            pilot: Some(Pilot { runs: 1020, hits: 100, of: 500 }),
        });
        found
    }

    #[test]
    fn what_was_seen_often_enough_is_told() {
        let found = rare(80, 1e-5);
        let remark = Teller::alone(&found).rare_event().expect("a rare event");
        assert_eq!(remark.tone, Tone::Neutral);
        assert!(
            remark.details[0].contains("in 4.00e-6 [") && remark.details[0].contains("once in 684 years ("),
            "{remark:?}"
        );
        assert!(remark.details[1].contains("x=1: "), "{remark:?}");
        let verdict = Teller::alone(&found).verdict(None, None);
        assert!(verdict[0].text.starts_with("How often") && verdict.iter().all(|of| !of.text.contains("Lowest cost")));
    }

    #[test]
    fn what_every_run_had_is_not_sure_and_comes_at_least_so_often() {
        // Weights of at most one: 100 of 100 runs leave 3.6 % of all.
        let mut found = rare(200, 1.0);
        for runs in &mut found.runs {
            runs.truncate(100);
        }
        found.rare.as_mut().expect("a rare event").mixture = Mixture::truth(1);
        let remark = Teller::alone(&found).rare_event().expect("a rare event");
        let line = &remark.details[0];
        assert!(
            line.contains("in 1.000 [0.964, 1.000]* of all runs, at least 1212.0 times a year; 100 of 100"),
            "{line}"
        );
        // One without it in each hundred is not the end of it either.
        found.runs[0][7].metrics.fill(0.0);
        let remark = Teller::alone(&found).rare_event().expect("a rare event");
        let line = &remark.details[0];
        assert!(line.contains("in 0.990 [0.946, 1.000]* of all runs, 1682.0 times a year (at least 1063.0"), "{line}");
    }

    #[test]
    fn what_was_hardly_seen_is_not() {
        for (hits, at_most) in [(0, "0.183"), (3, "0.432")] {
            let found = rare(hits, 1e-5);
            let remark = Teller::alone(&found).rare_event().expect("a rare event");
            assert_eq!(remark.tone, Tone::Bad);
            let line = &remark.details[0];
            assert!(line.contains("TOO FEW RUNS WITH WEIGHT") && line.contains(at_most), "{line}");
        }
        // Of many runs one carries all.
        let mut found = rare(80, 1e-7);
        found.runs[0][3].weight = 5.0;
        assert!(Teller::alone(&found).rare_event().is_some_and(|remark| remark.details[0].contains("TOO FEW")));
    }
}
