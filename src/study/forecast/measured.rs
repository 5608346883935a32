//! What a forecast measures once changes have been chosen: the years that all its figures are of.

use super::evaluation::{By, Cluster, Evaluation, minutes, years};
use super::finding::{Dropped, Finding, Front, Unhelped, UnitCost, Worst};
use super::fix::Fix;
use super::outlook::{Class, Plays, Stage};
use super::results::{Apart, ForecastResults, Question};
use super::toll::Toll;
use super::units::Loss;
use super::work_out::{Attempt, Base, Search};
use crate::observe::Phase;
use crate::study::statistics::Sample;

/// The most years that are played for the sake of a precision.
const YEARS_MAX: u64 = 1000;

/// A change that spares less than this share of what an incident costs is no help against it.
const HELP_MIN: f64 = 0.1;

impl Search<'_> {
    /// The years that all figures are of: new ones if changes were proposed by the first ones, and as many as a precision asks for.
    pub(super) fn measure(&self, first: Base, proposals: usize, precision: Option<f64>) -> Base {
        let forecast = self.forecast;
        self.expect_evaluations(Stage::Confirmation, proposals);
        self.expect_evaluations(Stage::Together, proposals);
        let play = |seeds: std::ops::Range<u64>, what: &str| {
            years(forecast, self.player, Cluster::as_it_is(forecast), seeds, By::default(), what)
        };
        let count = first.seeds.end;
        let new = if proposals > 0 { play(count..2 * count, "new years, to confirm") } else { Vec::new() };
        // Where the budget ends, the first years have to do.
        let is_new = count > 0 && new.len() as u64 == count;
        let Evaluation { years: of_first, incidents, weights } = first.evaluation;
        let (begin, years, chosen_by) = if is_new { (count, new, count) } else { (0, of_first, 0) };
        let mut evaluation = Evaluation { years, incidents, weights };
        let total = |losses: &Vec<Loss>| forecast.units.sum(losses, Loss::cost_s);
        while let Some(goal) = precision {
            let totals: Vec<f64> = evaluation.yearly(forecast).iter().map(total).collect();
            let count = evaluation.years.len() as u64;
            if Sample::new(totals).is_precise(goal, 0.95) || count >= YEARS_MAX || count < self.years {
                break;
            }
            let more = (count + count / 2).min(YEARS_MAX);
            let next = play(begin + count..begin + more, "years, until the interval is narrow");
            if next.is_empty() {
                break;
            }
            evaluation.years.extend(next);
        }
        let seeds = begin..begin + evaluation.years.len() as u64;
        let yearly = evaluation.yearly(forecast);
        Base { evaluation, yearly, seeds, chosen_by }
    }

    /// The incidents that cost a minute or more and against which nothing that was tried helps, the worst first. Of incidents that nothing
    /// was tried on nothing is known, but of those that no change could help against.
    fn unhelped(&self, base: &Base, findings: &[Finding], dropped: &[Dropped]) -> Vec<Unhelped> {
        let attempts = self.attempts.borrow();
        let of_incidents = attempts.values().flat_map(|attempt| attempt.fixes.iter().copied());
        let mut everywhere: Vec<Fix> = Vec::new();
        for fix in findings.iter().map(|of| of.fix).chain(of_incidents).chain(dropped.iter().map(|of| of.fix)) {
            if !everywhere.contains(&fix) {
                everywhere.push(fix);
            }
        }
        let unhelped = |(index, toll): (&usize, &Toll)| {
            let cost_min = self.cost_min(toll);
            let attempt = attempts.get(index);
            let is_hopeless = !self.can_be_helped(*index);
            let is_helped = attempt.is_none_or(|attempt| attempt.least_min <= (1.0 - HELP_MIN) * cost_min);
            let incident = &self.forecast.incidents[*index];
            let is_meant = cost_min >= 1.0 && (is_hopeless || !is_helped);
            let untried =
                |attempt: &Attempt| everywhere.iter().filter(|fix| !attempt.fixes.contains(fix)).copied().collect();
            is_meant.then(|| Unhelped {
                incident: incident.id.clone(),
                label: incident.label.clone(),
                cost_min,
                hurt: self.forecast.units.counted().filter(|&unit| toll.losses[unit].cost_s() > 0.0).count(),
                tried: attempt.map(|attempt| attempt.fixes.iter().copied().collect()).unwrap_or_default(),
                untried: attempt.filter(|attempt| !attempt.fixes.is_empty()).map(untried).unwrap_or_default(),
            })
        };
        let mut all: Vec<Unhelped> = base.evaluation.incidents.iter().filter_map(unhelped).collect();
        all.sort_by(|a, b| b.cost_min.total_cmp(&a.cost_min).then_with(|| a.incident.cmp(&b.incident)));
        all
    }

    /// What an incident costs all who are in sums, in minutes.
    pub(super) fn cost_min(&self, toll: &Toll) -> f64 {
        self.forecast.units.sum(&toll.losses, Loss::cost_s) / 60.0
    }

    /// What each kind of random failure costs by itself, with the same seeds: minutes a year of each unit.
    pub(super) fn by_fault(&self, base: &Base) -> Vec<(String, Vec<f64>)> {
        let forecast = self.forecast;
        let count = base.evaluation.years.len() as u64;
        let scale = 365.0 * 86400.0 / forecast.year.as_secs_f64();
        let mut found = Vec::new();
        self.player.expect(Stage::Together, Plays::new());
        let mut left = forecast.faults.len() as u64;
        for (index, name) in forecast.faults.iter().enumerate() {
            left -= 1;
            self.player.expect(Stage::Faults, Plays::from([(Class::OneFault(index), left * count)]));
            let played = years(
                forecast,
                self.player,
                Cluster::as_it_is(forecast),
                base.seeds.clone(),
                By { only: Some(index), runbook: None },
                "each kind of failure by itself",
            );
            if (played.len() as u64) < count {
                break;
            }
            let mean = |unit: usize| {
                let sum = played.iter().map(|toll| toll.losses[unit].lost_s).fold(0.0, |sum, lost| sum + lost);
                sum * scale / 60.0 / count.max(1) as f64
            };
            found.push((name.clone(), (0..forecast.units.all.len()).map(mean).collect()));
        }
        found
    }

    pub(super) fn results(
        &self,
        base: &Base,
        findings: Vec<Finding>,
        dropped: Vec<Dropped>,
        front: Vec<Front>,
        by_fault: Vec<(String, Vec<f64>)>,
    ) -> ForecastResults {
        let forecast = self.forecast;
        let of_unit = |unit: usize| {
            let years = || base.yearly.iter().map(move |losses| losses[unit]);
            let phases = |phase: usize| years().map(|loss| loss.phases_s[phase]).fold(0.0, |sum, of| sum + of);
            let sums: Vec<f64> = (0..Phase::ALL.len()).map(phases).collect();
            let all: f64 = sums.iter().fold(0.0, |sum, of| sum + of);
            let share = |of: f64| if all > 0.0 { of / all } else { 0.0 };
            let cost = |(index, toll): (&usize, &Toll)| (toll.losses[unit].cost_s(), *index);
            let worst = base.evaluation.incidents.iter().map(cost).filter(|(cost, _)| *cost > 0.0);
            let worst = worst.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(cost, index)| Worst {
                incident: forecast.incidents[index].id.clone(),
                label: forecast.incidents[index].label.clone(),
                cost_min: cost / 60.0,
            });
            UnitCost {
                object: forecast.units.all[unit].object.clone(),
                workloads: forecast.units.all[unit].workloads.clone(),
                lost: minutes(years().map(|loss| loss.lost_s)).not_below_zero(),
                short: minutes(years().map(|loss| loss.short_s)).not_below_zero(),
                blocked: minutes(years().map(|loss| loss.blocked_s)).not_below_zero(),
                worst_year_min: years().map(|loss| loss.lost_s / 60.0).fold(0.0, f64::max),
                by_fault: by_fault.iter().map(|(name, of)| (name.clone(), of[unit])).collect(),
                by_phase: Phase::ALL.iter().zip(sums).map(|(phase, of)| (*phase, share(of))).collect(),
                worst,
            }
        };
        let worst_first = |mut units: Vec<UnitCost>| {
            let cost = |unit: &UnitCost| unit.lost.mean + unit.blocked.mean;
            units.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then_with(|| a.object.cmp(&b.object)));
            units
        };
        let sum = |of: fn(&Loss) -> f64| {
            minutes(base.yearly.iter().map(|losses| forecast.units.sum(losses, of))).not_below_zero()
        };
        let apart = Apart::of(worst_first(forecast.units.apart().map(of_unit).collect()), || {
            let lost = |losses: &Vec<Loss>| forecast.units.apart().map(|unit| losses[unit].lost_s).sum();
            minutes(base.yearly.iter().map(lost)).not_below_zero()
        });
        let (plays, wanted) = self.player.counts();
        ForecastResults {
            name: forecast.name.clone(),
            seed: forecast.scenario.seed,
            asked: Question::default(),
            stands_on: super::results::StandsOn::of(forecast),
            years: base.evaluation.years.len(),
            chosen_by: base.chosen_by,
            year: forecast.year,
            cost: sum(Loss::cost_s),
            lost: sum(|loss| loss.lost_s),
            short: sum(|loss| loss.short_s),
            blocked: sum(|loss| loss.blocked_s),
            blocked_per_year: base.evaluation.blocked_per_year(forecast),
            units: worst_first(forecast.units.counted().map(of_unit).collect()),
            apart,
            incidents: super::results::incident_rows(forecast, &base.evaluation.incidents),
            unhelped: self.unhelped(base, &findings, &dropped),
            findings,
            dropped,
            front,
            plays,
            plays_left_out: wanted - plays,
            is_stopped: wanted > plays && self.player.is_stopped(),
            left_out: self.left_out(base),
        }
    }
}
