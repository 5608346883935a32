//! A forecast is worked out: what it costs as it is, what each change saves, what they save together.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use super::budget::{Budget, Player};
use super::evaluation::{By, Cluster, Evaluation, Variant, incidents, is_told, minutes, saving, years};
use super::extent::{Extent, INCIDENTS_OF_A_FIX};
use super::finding::{Alternative, Dropped, Finding, Front, Price, Saved, Worst};
use super::fix::{Circumstances, Fix};
use super::incident::IncidentKind;
use super::intake::Forecast;
use super::outlook::{Plays, Stage};
use super::proposal::{AS_GOOD, COST_MIN, Gain, Proposal, Second, Tried, agree};
use super::results::{ForecastResults, Question};
use super::runbook::Runbook;
use super::toll::{Observing, Toll};
use super::units::{Loss, is_worker};
use crate::parallel::Threads;
use crate::study::JournalError;
use crate::study::edit::path_of;

/// Years that are played if nothing else is asked for.
pub(super) const YEARS: u64 = 24;

/// How a forecast is worked out.
#[derive(Debug, Default)]
pub struct Options<'a> {
    /// How much is played.
    pub budget: Budget<'a>,
    /// Years are added until the interval of the whole cost is at most this share of it wide on either side.
    pub precision: Option<f64>,
    /// Years that are played at first, and in all if no precision is asked for; 24 if nothing is said.
    pub years: Option<u64>,
}

/// Works a forecast out.
///
/// # The order
///
/// What tells most comes first, so that a budget leaves out what tells least: the years as the cluster is, planned work and single
/// incidents, then each change that may help, then new years as the cluster is, the findings by themselves in these, and all of them
/// together.
///
/// Changes are chosen by the first years. Every figure of a year is of the new ones, that of the whole and that of each change, so that
/// what is saved is a part of what it is saved from. Where nothing was chosen, or the budget ended before, all are of the first ones.
///
/// # Errors
///
/// If the journal cannot be read or written.
pub(crate) fn work_out(
    forecast: &Forecast,
    options: &Options<'_>,
    threads: &Threads,
) -> Result<ForecastResults, JournalError> {
    let observing = Observing { units: &forecast.units, objectives: &forecast.objectives };
    let years = options.years.unwrap_or(YEARS).max(2);
    if let Some(pool) = options.budget.pool {
        pool.begin(forecast.fingerprint(options));
    }
    let whole = forecast.whole(years, options.years.is_some() || options.precision.is_some());
    let extent = Extent::of(&whole, &options.budget, threads.count());
    let player = Player::new(observing, &options.budget, threads, extent.work, forecast.work.fork)?;
    let search = Search {
        forecast,
        player: &player,
        threads,
        years: extent.years,
        of_a_kind: extent.of_a_kind,
        runbooks: RefCell::default(),
        attempts: RefCell::default(),
    };
    let asked = Question { years, precision: options.precision, plays: options.budget.plays, ..forecast.asked.clone() };
    let first = search.base();
    let chosen = search.choose(&first);
    let measured = search.measure(first, chosen.proposals.len(), options.precision);
    let (findings, mut dropped) = search.confirm(&measured, chosen.proposals);
    dropped.extend(chosen.dropped);
    let front = search.together(&measured, &findings);
    let by_fault = search.by_fault(&measured);
    let results = search.results(&measured, findings, dropped, front, by_fault);
    player.finish()?;
    Ok(ForecastResults { asked, ..results })
}

pub(super) struct Search<'a> {
    pub(super) forecast: &'a Forecast,
    pub(super) player: &'a Player<'a>,
    threads: &'a Threads,
    pub(super) years: u64,
    /// Incidents of a kind that are played at most.
    pub(super) of_a_kind: usize,
    /// What somebody types, by the first and the last of the years that were asked for.
    runbooks: RefCell<BTreeMap<(u64, u64), Rc<Runbook>>>,
    /// What was tried against incidents, by their positions.
    pub(super) attempts: RefCell<BTreeMap<usize, Attempt>>,
}

/// The cluster as it is.
pub(super) struct Base {
    pub(super) evaluation: Evaluation,
    /// Of each year, what it costs each unit.
    pub(super) yearly: Vec<Vec<Loss>>,
    /// Which years these are.
    pub(super) seeds: Range<u64>,
    /// How many others changes were chosen by; 0 if by these.
    pub(super) chosen_by: u64,
}

/// What was tried against an incident.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) fixes: BTreeSet<Fix>,
    /// What it costs everybody where that is least, in minutes.
    pub(super) least_min: f64,
}

/// What changes seem to be worth, by the first seeds.
struct Chosen {
    proposals: BTreeMap<Fix, Proposal>,
    dropped: Vec<Dropped>,
}

impl Search<'_> {
    fn base(&self) -> Base {
        let forecast = self.forecast;
        let settled = Cluster::as_it_is(forecast);
        let (mut order, weights) = self.incidents(settled.settled.store(), &IncidentKind::ALL);
        order.sort_by_key(|&index| (!forecast.incidents[index].kind.is_planned(), forecast.incidents[index].kind));
        self.expect_all(&order);
        let played = years(forecast, self.player, settled, 0..self.years, By::default(), "years of random failures");
        self.player.expect(Stage::AsItIs, Plays::new());
        let tolls = incidents(forecast, self.player, settled, &order, false, "single incidents");
        let seeds = 0..played.len() as u64;
        let evaluation = Evaluation { years: played, incidents: tolls, weights };
        let yearly = evaluation.yearly(forecast);
        Base { evaluation, yearly, seeds, chosen_by: 0 }
    }

    /// Tries each change on everybody it fits at once: services hardly touch each other, and what one of them gains is read off the
    /// same plays.
    fn choose(&self, base: &Base) -> Chosen {
        let forecast = self.forecast;
        let store = forecast.settled.store();
        let calm = store.pods().filter(|(_, pod)| pod.node.is_none() && pod.is_active()).count() as u64;
        let mut stuck: BTreeSet<String> = BTreeSet::new();
        for (index, toll) in &base.evaluation.incidents {
            if forecast.incidents[*index].kind == IncidentKind::RollOut {
                stuck.extend(toll.unfinished.iter().cloned());
            }
        }
        let around = Circumstances {
            stuck: &stuck,
            pressed: &self.pressed(base),
            served: &forecast.units.served(),
            store,
            zones: super::catalogue::zone_count(store),
            nodes: store.nodes().count(),
            lacks_room: base.evaluation.incidents.values().any(|toll| toll.unscheduled > calm),
        };
        let mut tried = Vec::new();
        let mut dropped = Vec::new();
        let fixes = Fix::ALL.iter().map(|&fix| (fix, self.candidates(fix, base, &around)));
        let fixes: Vec<(Fix, BTreeSet<String>)> = fixes.filter(|(_, workloads)| !workloads.is_empty()).collect();
        let mut left = fixes.len();
        self.expect_evaluations(Stage::Changes, left);
        for (fix, workloads) in fixes {
            left -= 1;
            self.expect_evaluations(Stage::Changes, left);
            match self.try_fix(fix, workloads, base) {
                Some(found) => tried.push(found),
                None => dropped.push(Dropped { fix, workloads: 0, why: "the budget was used up" }),
            }
        }
        let mut proposals: BTreeMap<Fix, Proposal> = BTreeMap::new();
        for unit in 0..forecast.units.all.len() {
            let cost = mean_cost(&base.yearly, unit);
            let is_apart = forecast.units.all[unit].never_comes_back;
            let fitting = tried.iter().filter(|of| !is_apart || of.fix == Fix::Controller);
            let gains = fitting.filter_map(|of| Some((of, *of.by_unit.get(&unit)?)));
            let gains: Vec<(&Tried, Gain)> = gains.filter(|(_, gain)| gain.pays(cost)).collect();
            let Some(most) =
                gains.iter().map(|(_, gain)| gain.worth()).max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
            else {
                continue;
            };
            let is_as_good = |gain: &Gain| gain.yearly >= AS_GOOD * most.0 && gain.incidents >= AS_GOOD * most.1;
            let best = gains
                .iter()
                .find(|(_, gain)| is_as_good(gain))
                .or_else(|| gains.iter().find(|(_, gain)| gain.worth() == most));
            let Some((best, _)) = best else { continue };
            let proposal = proposals.entry(best.fix).or_default();
            proposal.units.insert(unit);
            let of_unit = forecast.units.all[unit].workloads.iter();
            proposal.workloads.extend(of_unit.filter(|path| best.workloads.contains(*path)).cloned());
            for (other, gain) in gains.iter().filter(|(other, _)| other.fix != best.fix) {
                proposal.others.entry(other.fix).or_default().add(&Second { units: 1, saved: gain.yearly, of: cost });
            }
        }
        agree(&mut proposals, &tried);
        for of in &tried {
            let is_second = proposals.values().any(|proposal| proposal.others.contains_key(&of.fix));
            if !proposals.contains_key(&of.fix) && !is_second {
                dropped.push(Dropped {
                    fix: of.fix,
                    workloads: of.workloads.len(),
                    why: "it saves nothing that can be told from nothing",
                });
            }
        }
        Chosen { proposals, dropped }
    }

    /// The workloads of those who lose a minute or more in memory pressure, or in what somebody wrote themselves.
    fn pressed(&self, base: &Base) -> BTreeSet<String> {
        let forecast = self.forecast;
        let kind = |index: &usize| forecast.incidents[*index].kind;
        let tolls = base.evaluation.incidents.iter();
        let tolls = tolls.filter(|(index, _)| matches!(kind(index), IncidentKind::NodePressure | IncidentKind::Own));
        let hurt: BTreeSet<usize> = tolls
            .flat_map(|(_, toll)| toll.losses.iter().enumerate().filter(|(_, loss)| loss.cost_s() >= 60.0))
            .map(|(unit, _)| unit)
            .collect();
        hurt.into_iter().flat_map(|unit| forecast.units.all[unit].workloads.iter().cloned()).collect()
    }

    /// The workloads that a change fits and that work for somebody whom something costs.
    fn candidates(&self, fix: Fix, base: &Base, around: &Circumstances) -> BTreeSet<String> {
        let forecast = self.forecast;
        let is_hurt = |path: &String| {
            let of = forecast.units.of_workload.get(path).into_iter().flatten();
            // What never comes back needs somebody who makes it anew, and nothing else.
            let mut helped = of.filter(|unit| fix == Fix::Controller || !forecast.units.all[**unit].never_comes_back);
            helped.any(|&unit| {
                let in_incident = || {
                    let mut tolls = base.evaluation.incidents.iter().filter(|(index, _)| self.can_be_helped(**index));
                    tolls.any(|(_, toll)| toll.losses[unit].cost_s() >= 60.0)
                };
                mean_cost(&base.yearly, unit) >= COST_MIN || in_incident()
            })
        };
        let objects = forecast.scenario.objects.iter().map(|object| &object.object).filter(|object| is_worker(object));
        let fitting = objects.filter(|object| fix.fits(object, &forecast.scenario, around)).map(path_of);
        fitting.filter(is_hurt).collect()
    }

    /// Whether any change could make a difference to an incident: not where no kubelet is heard, wherever pods are.
    pub(super) fn can_be_helped(&self, index: usize) -> bool {
        self.forecast.incidents[index].kind != IncidentKind::KubeletsCutOff
    }

    /// The incidents on which a change is tried for these units: planned work, and those that cost them most.
    fn telling(&self, base: &Base, units: &BTreeSet<usize>) -> Vec<usize> {
        let incidents = &self.forecast.incidents;
        let cost = |index: &usize| -> f64 {
            let toll = &base.evaluation.incidents[index];
            units.iter().map(|&unit| toll.losses[unit].cost_s()).fold(0.0, |sum, cost| sum + cost)
        };
        let known = base.evaluation.incidents.keys().copied().filter(|index| self.can_be_helped(*index));
        let known: Vec<usize> = known.collect();
        let mut telling: Vec<usize> = known.iter().copied().filter(|index| incidents[*index].per_year > 0.0).collect();
        let mut worst: Vec<(f64, usize)> = known
            .iter()
            .filter(|index| incidents[**index].per_year == 0.0)
            .map(|index| (cost(index), *index))
            .collect();
        worst.retain(|(cost, _)| *cost > 0.0);
        worst.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        self.keep_one_domain(&mut worst);
        telling.extend(worst.into_iter().take(INCIDENTS_OF_A_FIX).map(|(_, index)| index));
        telling
    }

    /// The cost of a changed cluster, of the years `seeds` and the incidents; none if the budget does not allow for all years.
    fn evaluate(
        &self,
        changes: &[(Fix, BTreeSet<String>)],
        seeds: Range<u64>,
        which: &[usize],
        what: &str,
    ) -> Option<Evaluation> {
        let wanted = (seeds.end - seeds.start) as usize;
        if self.player.is_spent() {
            self.player.leave_out(wanted + which.len());
            return None;
        }
        let variant = Variant::of(self.forecast, changes);
        let runbook = self.runbook(changes, seeds.clone());
        let by = By { only: None, runbook: runbook.as_deref() };
        let years = years(self.forecast, self.player, variant.cluster(), seeds, by, what);
        if years.len() < wanted {
            self.player.leave_out(which.len());
            return None;
        }
        let (which, weights) = self.where_pods_are(which, variant.settled.store());
        let tolls = incidents(self.forecast, self.player, variant.cluster(), &which, runbook.is_some(), what);
        self.remember(changes, &tolls);
        (tolls.len() == which.len()).then_some(Evaluation { years, incidents: tolls, weights })
    }

    /// Remembers what incidents cost with these changes.
    fn remember(&self, changes: &[(Fix, BTreeSet<String>)], tolls: &BTreeMap<usize, Toll>) {
        let mut attempts = self.attempts.borrow_mut();
        for (&index, toll) in tolls {
            let attempt =
                attempts.entry(index).or_insert_with(|| Attempt { fixes: BTreeSet::new(), least_min: f64::INFINITY });
            attempt.fixes.extend(changes.iter().map(|(fix, _)| *fix));
            attempt.least_min = attempt.least_min.min(self.cost_min(toll));
        }
    }

    /// What somebody types in these years, if that is one of the changes.
    fn runbook(&self, changes: &[(Fix, BTreeSet<String>)], seeds: Range<u64>) -> Option<Rc<Runbook>> {
        let acts = changes.iter().any(|(fix, _)| *fix == Fix::OutOfService);
        let played = || Rc::new(Runbook::of(self.forecast, seeds.clone(), self.threads));
        acts.then(|| Rc::clone(self.runbooks.borrow_mut().entry((seeds.start, seeds.end)).or_insert_with(played)))
    }

    /// What changes take, in years such as these.
    fn price(&self, changes: &[(Fix, BTreeSet<String>)], seeds: Range<u64>) -> Price {
        let mut price = Price::of(self.forecast, changes);
        if let Some(runbook) = self.runbook(changes, seeds) {
            price.interventions_per_year += runbook.per_year(self.forecast);
        }
        price
    }

    /// What the same incidents cost as the cluster is, with these years.
    fn same_of_base(&self, base: &Base, years: Vec<Toll>, which: &[usize]) -> Evaluation {
        let incidents: BTreeMap<usize, Toll> =
            which.iter().map(|index| (*index, base.evaluation.incidents[index].clone())).collect();
        Evaluation { years, incidents, weights: base.evaluation.weights.clone() }
    }

    fn try_fix(&self, fix: Fix, workloads: BTreeSet<String>, base: &Base) -> Option<Tried> {
        let forecast = self.forecast;
        let units: BTreeSet<usize> = workloads
            .iter()
            .flat_map(|path| forecast.units.of_workload.get(path).into_iter().flatten().copied())
            .collect();
        let which = self.telling(base, &units);
        let changes = [(fix, workloads.clone())];
        let after = self.evaluate(&changes, base.seeds.clone(), &which, fix.words())?;
        let before = self.same_of_base(base, base.evaluation.years.clone(), &which);
        let (yearly_before, yearly_after) = (before.yearly(forecast), after.yearly(forecast));
        let gain = |unit: usize| {
            let of = |yearly: &[Vec<Loss>]| yearly.iter().map(|losses| losses[unit].cost_s()).collect::<Vec<_>>();
            let (years_before, years_after) = (of(&yearly_before), of(&yearly_after));
            let saved = saving(&years_before, &years_after);
            let halves = before.incidents.iter().any(|(index, toll)| {
                let was = toll.losses[unit].cost_s();
                let is = after.incidents.get(index).map_or(was, |toll| toll.losses[unit].cost_s());
                was - is >= 60.0 && was - is >= 0.5 * was
            });
            let sum = |evaluation: &Evaluation| {
                let costs = evaluation
                    .incidents
                    .iter()
                    .map(|(&index, toll)| evaluation.weight(index, unit) * toll.losses[unit].cost_s() / 60.0);
                costs.fold(0.0, |sum, cost| sum + cost)
            };
            let (before, after) = (sum(&before), sum(&after));
            Gain {
                yearly: saved.mean,
                is_certain: is_told(&years_before, &years_after),
                incidents: before - after,
                incidents_before: before,
                halves,
            }
        };
        let by_unit = units.iter().map(|&unit| (unit, gain(unit))).collect();
        Some(Tried { fix, workloads, by_unit })
    }

    /// Plays each finding by itself in the years that all figures are of; those that do not hold are dropped. The most saving one comes
    /// first.
    fn confirm(&self, base: &Base, proposals: BTreeMap<Fix, Proposal>) -> (Vec<Finding>, Vec<Dropped>) {
        let forecast = self.forecast;
        let mut dropped = Vec::new();
        let mut findings = Vec::new();
        let mut left = proposals.len();
        for (fix, Proposal { units, workloads, others }) in proposals {
            left -= 1;
            self.expect_evaluations(Stage::Confirmation, left);
            let which = self.telling(base, &units);
            let changes = [(fix, workloads.clone())];
            let Some(after) = self.evaluate(&changes, base.seeds.clone(), &which, "each finding by itself") else {
                dropped.push(Dropped {
                    fix,
                    workloads: workloads.len(),
                    why: "the budget ended before it was confirmed",
                });
                continue;
            };
            let before = self.same_of_base(base, base.evaluation.years.clone(), &which);
            let helped = units;
            let units = forecast.units.judged(&helped);
            let saved = self.saved(&before, &after, &units);
            let (worst, worst_after) = self.worst(&before, &after, &units);
            let is_blocked = saved.blocked_per_year.0 > saved.blocked_per_year.1;
            let in_incident = worst.as_ref().is_some_and(|worst| worst.cost_min - worst_after >= 0.5 * worst.cost_min);
            let is_certain = is_told(&self.costs(&before, &units), &self.costs(&after, &units));
            let is_borne_out = is_certain || is_blocked || in_incident && saved.cost.mean >= 0.0;
            if !is_borne_out {
                dropped.push(Dropped { fix, workloads: workloads.len(), why: "new seeds do not bear it out" });
                continue;
            }
            let price = self.price(&changes, base.seeds.clone());
            findings.push(Finding {
                fix,
                units: helped.iter().map(|&unit| forecast.units.all[unit].object.clone()).collect(),
                workloads: workloads.into_iter().collect(),
                cost: self.cost_of(&before, &units),
                saved,
                worst,
                worst_after_min: worst_after,
                price,
                alternatives: others
                    .into_iter()
                    .map(|(fix, second)| Alternative { fix, units: second.units, share: second.share() })
                    .collect(),
                is_confirmed: base.chosen_by > 0,
                is_apart: units.iter().all(|&unit| forecast.units.all[unit].never_comes_back),
            });
        }
        findings.sort_by(|a: &Finding, b: &Finding| {
            a.is_apart
                .cmp(&b.is_apart)
                .then_with(|| b.saved.cost.mean.total_cmp(&a.saved.cost.mean))
                .then_with(|| b.worst_saved().total_cmp(&a.worst_saved()))
                .then(a.fix.cmp(&b.fix))
        });
        (findings, dropped)
    }

    fn cost_of(&self, evaluation: &Evaluation, units: &BTreeSet<usize>) -> crate::study::Interval {
        minutes(self.costs(evaluation, units).into_iter()).not_below_zero()
    }

    /// What each year costs these units together, in seconds.
    fn costs(&self, evaluation: &Evaluation, units: &BTreeSet<usize>) -> Vec<f64> {
        let of_year =
            |losses: &Vec<Loss>| units.iter().map(|&unit| losses[unit].cost_s()).fold(0.0, |sum, cost| sum + cost);
        evaluation.yearly(self.forecast).iter().map(of_year).collect()
    }

    /// What a change saves its units, and what it does to everything else.
    fn saved(&self, before: &Evaluation, after: &Evaluation, units: &BTreeSet<usize>) -> Saved {
        let forecast = self.forecast;
        let (yearly_before, yearly_after) = (before.yearly(forecast), after.yearly(forecast));
        let sum = |yearly: &[Vec<Loss>], of: fn(&Loss) -> f64, counts: &dyn Fn(&usize) -> bool| {
            let of_year = |losses: &Vec<Loss>| {
                losses
                    .iter()
                    .enumerate()
                    .filter(|(unit, _)| counts(unit))
                    .map(|(_, loss)| of(loss))
                    .fold(0.0, |sum, cost| sum + cost)
            };
            yearly.iter().map(of_year).collect::<Vec<f64>>()
        };
        let between = |of: fn(&Loss) -> f64, counts: &dyn Fn(&usize) -> bool| {
            saving(&sum(&yearly_before, of, counts), &sum(&yearly_after, of, counts))
        };
        let is_ours = |unit: &usize| units.contains(unit);
        let is_other = |unit: &usize| !units.contains(unit) && !forecast.units.all[*unit].never_comes_back;
        let (evictions, needless) = (before.evictions_per_year(forecast), after.evictions_per_year(forecast));
        Saved {
            cost: between(Loss::cost_s, &is_ours),
            lost: between(|loss| loss.lost_s, &is_ours),
            others: between(Loss::cost_s, &is_other),
            evictions_per_year: (evictions.0, needless.0),
            needless_evictions_per_year: (evictions.1, needless.1),
            blocked_per_year: (before.blocked_per_year(forecast), after.blocked_per_year(forecast)),
        }
    }

    /// The incident in which the change spares these units most, and what it costs with the change; where it spares them nothing, the
    /// incident that costs them most.
    fn worst(&self, before: &Evaluation, after: &Evaluation, units: &BTreeSet<usize>) -> (Option<Worst>, f64) {
        let cost = |evaluation: &Evaluation, index: &usize| {
            let toll = evaluation.incidents.get(index);
            toll.map_or(0.0, |toll| {
                units.iter().map(|&unit| toll.losses[unit].cost_s()).fold(0.0, |sum, cost| sum + cost) / 60.0
            })
        };
        // Of planned work other nodes may have been chosen, as the pods are elsewhere.
        let of_both = before.incidents.keys().filter(|index| after.incidents.contains_key(index));
        let all = of_both.map(|index| (cost(before, index), *index));
        let spared = |(before, index): &(f64, usize)| (before - cost(after, index)).max(0.0);
        let by_spared = |a: &(f64, usize), b: &(f64, usize)| {
            spared(a).total_cmp(&spared(b)).then_with(|| a.0.total_cmp(&b.0)).then(b.1.cmp(&a.1))
        };
        let most = all.filter(|(cost, _)| *cost > 0.0).max_by(by_spared);
        let Some((cost_min, index)) = most else { return (None, 0.0) };
        let incident = &self.forecast.incidents[index];
        (Some(Worst { incident: incident.id.clone(), label: incident.label.clone(), cost_min }), cost(after, &index))
    }

    /// The findings' changes together, the cheapest minute first, until the next one saves nothing.
    fn together(&self, base: &Base, findings: &[Finding]) -> Vec<Front> {
        let forecast = self.forecast;
        let mut order: Vec<&Finding> = findings.iter().filter(|finding| !finding.is_apart).collect();
        order.sort_by(|a, b| b.saved_per_price().total_cmp(&a.saved_per_price()).then(a.fix.cmp(&b.fix)));
        let everybody: BTreeSet<usize> = forecast.units.counted().collect();
        let mut changes: Vec<(Fix, BTreeSet<String>)> = Vec::new();
        let mut front: Vec<Front> = Vec::new();
        let mut last: Option<Vec<f64>> = None;
        let total = |evaluation: &Evaluation| -> Vec<f64> {
            let yearly = evaluation.yearly(forecast);
            yearly.iter().map(|losses| forecast.units.sum(losses, Loss::cost_s)).collect()
        };
        let which = self.telling(base, &everybody);
        let mut left = order.len();
        let start = self.same_of_base(base, base.evaluation.years.clone(), &which);
        for finding in order {
            left -= 1;
            self.expect_evaluations(Stage::Together, left);
            let mut with = changes.clone();
            let taken: BTreeSet<&String> =
                changes.iter().filter(|(fix, _)| fix.rival() == Some(finding.fix)).flat_map(|(_, of)| of).collect();
            let workloads: BTreeSet<String> =
                finding.workloads.iter().filter(|path| !taken.contains(path)).cloned().collect();
            if workloads.is_empty() {
                continue;
            }
            with.push((finding.fix, workloads));
            let Some(after) = self.evaluate(&with, base.seeds.clone(), &which, "all findings together") else {
                break;
            };
            let now = total(&after);
            let before = last.clone().unwrap_or_else(|| total(&start));
            let gained = saving(&before, &now);
            let blocked = after.blocked_per_year(forecast);
            let less_blocked =
                blocked < front.last().map_or(start.blocked_per_year(forecast), |last| last.blocked_per_year);
            if gained.low <= 0.0 && !less_blocked {
                continue;
            }
            changes = with;
            front.push(Front {
                fix: finding.fix,
                cost: minutes(now.iter().copied()).not_below_zero(),
                gained,
                blocked_per_year: blocked,
                price: self.price(&changes, base.seeds.clone()),
            });
            last = Some(now);
        }
        front
    }
}

/// What a unit costs a year, in minutes.
fn mean_cost(yearly: &[Vec<Loss>], unit: usize) -> f64 {
    let sum = yearly.iter().map(|losses| losses[unit].cost_s()).fold(0.0, |sum, cost| sum + cost);
    sum / 60.0 / yearly.len().max(1) as f64
}
