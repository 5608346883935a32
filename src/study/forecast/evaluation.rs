//! What a cluster, as it is or changed, costs in the years and incidents of a forecast.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::{Play, Player};
use super::fix::Fix;
use super::incident::{Incident, IncidentKind};
use super::intake::Forecast;
use super::outlook::Class;
use super::played::key_of;
use super::runbook::Runbook;
use super::toll::{Toll, unfinished};
use super::units::Loss;
use crate::arena::Symbol;
use crate::observe::WorkloadKey;
use crate::scenario::ResolvedScenario;
use crate::simulation::{Prepared, Script};
use crate::state::Store;
use crate::study::statistics::{Interval, Sample, binomial_at_most};

const CONFIDENCE: f64 = 0.95;

/// How long a drain waits in vain before people give up, in seconds: the patience of the catalogue's drains.
pub(super) const PATIENCE_S: f64 = 1800.0;

/// A cluster that is to be played.
pub(super) struct Variant {
    pub(super) settled: Prepared,
    /// What it differs by.
    called: String,
}

impl Variant {
    /// The cluster of a forecast with these changes.
    pub(super) fn of(forecast: &Forecast, changes: &[(Fix, BTreeSet<String>)]) -> Self {
        let called: Vec<String> = changes.iter().map(|(fix, of)| format!("{} {of:?}", fix.as_str())).collect();
        Self { settled: Prepared::new(&Self::unsettled(forecast, changes)), called: called.join(" ") }
    }

    pub(super) fn cluster(&self) -> Cluster<'_> {
        Cluster { settled: &self.settled, called: &self.called }
    }

    /// The same, as its objects are written.
    pub(super) fn unsettled(forecast: &Forecast, changes: &[(Fix, BTreeSet<String>)]) -> ResolvedScenario {
        let mut scenario = forecast.scenario.clone();
        for (fix, workloads) in changes {
            fix.apply(&mut scenario, workloads);
        }
        scenario
    }
}

/// What is played: the settled state of a cluster, and what tells it from others.
#[derive(Copy, Clone)]
pub(super) struct Cluster<'a> {
    pub(super) settled: &'a Prepared,
    called: &'a str,
}

impl<'a> Cluster<'a> {
    /// That of a forecast.
    pub(super) fn as_it_is(forecast: &'a Forecast) -> Self {
        Self { settled: &forecast.settled, called: "as it is" }
    }
}

/// What plays of a cluster cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluation {
    /// Of each year played, in their order.
    pub(super) years: Vec<Toll>,
    /// Of each incident played, by its position in the catalogue.
    pub(super) incidents: BTreeMap<usize, Toll>,
    /// Of incidents that stand for others, for how many, by the unit that they touch; see [`super::sample::Chosen`].
    pub(super) weights: BTreeMap<usize, BTreeMap<usize, f64>>,
}

/// What the years of a forecast are played with.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct By<'a> {
    /// One random process instead of all.
    pub(super) only: Option<usize>,
    /// What somebody types when machines are lost.
    pub(super) runbook: Option<&'a Runbook>,
}

/// Plays a number of years of random failures.
pub(super) fn years(
    forecast: &Forecast,
    player: &Player<'_>,
    cluster: Cluster<'_>,
    seeds: std::ops::Range<u64>,
    by: By<'_>,
    what: &str,
) -> Vec<Toll> {
    let script = match by.only {
        None => forecast.random.clone(),
        Some(index) => {
            let mut chaos = (*forecast.random.chaos).clone();
            chaos.processes = vec![chaos.processes[index].clone()];
            Script { chaos: chaos.into(), ..forecast.random.clone() }
        }
    };
    let base = forecast.scenario.seed;
    let play = |seed: u64| {
        let typed = by.runbook.map(|runbook| runbook.typed(forecast, seed)).unwrap_or_default();
        let script = Script { timeline: typed, ..script.clone() };
        let year = format!("year {seed} {:?} {}", by.only, by.runbook.is_some());
        Play {
            class: by.only.map_or(Class::Years, Class::OneFault),
            key: key_of(cluster.called, &year),
            settled: cluster.settled,
            script,
            seed: base.wrapping_add(seed),
            length: forecast.year,
        }
    };
    player.play(what, &seeds.map(play).collect::<Vec<_>>())
}

/// Plays incidents, by their positions.
pub(super) fn incidents(
    forecast: &Forecast,
    player: &Player<'_>,
    cluster: Cluster<'_>,
    which: &[usize],
    acts: bool,
    what: &str,
) -> BTreeMap<usize, Toll> {
    let play = |&index: &usize| {
        let incident = &forecast.incidents[index];
        Play {
            class: Class::Incident(incident.kind),
            key: key_of(cluster.called, &format!("{index} {} {acts}", incident.id)),
            settled: cluster.settled,
            script: incident.script(&forecast.script, acts),
            seed: forecast.scenario.seed,
            length: incident.length,
        }
    };
    let tolls = player.play(what, &which.iter().map(play).collect::<Vec<_>>());
    let blockers = Blockers::of(forecast, cluster.settled.store());
    which
        .iter()
        .copied()
        .zip(tolls)
        .map(|(index, mut toll)| {
            blockers.charge(&forecast.incidents[index], &mut toll);
            (index, toll)
        })
        .collect()
}

impl Evaluation {
    /// For how many incidents that touch a unit this one stands.
    pub(super) fn weight(&self, index: usize, unit: usize) -> f64 {
        self.weights.get(&index).and_then(|weights| weights.get(&unit)).copied().unwrap_or(1.0)
    }

    /// For how many that wait in vain it stands: as many as wait for whom it waits for.
    fn blocked_weight(&self, index: usize, toll: &Toll) -> f64 {
        let guilty = toll.losses.iter().enumerate().filter(|(_, loss)| loss.blocked_s > 0.0);
        guilty.map(|(unit, _)| self.weight(index, unit)).reduce(f64::min).unwrap_or(1.0)
    }

    /// What planned work costs each unit in a year.
    fn planned(&self, forecast: &Forecast) -> Vec<Loss> {
        let mut sum = vec![Loss::default(); forecast.units.all.len()];
        for (&index, toll) in &self.incidents {
            let incident = &forecast.incidents[index];
            let times = incident.per_year * incident.alike as f64;
            if times > 0.0 {
                let losses = sum.iter_mut().zip(&toll.losses).enumerate();
                losses.for_each(|(unit, (sum, loss))| sum.add_times(times * self.weight(index, unit), loss));
            }
        }
        sum
    }

    /// What each year costs each unit, planned work included: a year's losses, one a unit, for each year played.
    pub(super) fn yearly(&self, forecast: &Forecast) -> Vec<Vec<Loss>> {
        let planned = self.planned(forecast);
        let scale = 365.0 * 86400.0 / forecast.year.as_secs_f64();
        let of_year = |toll: &Toll| {
            let mut losses = planned.clone();
            losses.iter_mut().zip(&toll.losses).for_each(|(sum, loss)| sum.add_times(scale, loss));
            losses
        };
        self.years.iter().map(of_year).collect()
    }

    /// Planned work that is blocked, times a year.
    pub(super) fn blocked_per_year(&self, forecast: &Forecast) -> f64 {
        let times = |(index, toll): (&usize, &Toll)| {
            let incident = &forecast.incidents[*index];
            let times = incident.per_year * incident.alike as f64;
            match incident.kind {
                // Each workload by itself.
                IncidentKind::RollOut => times * toll.blocked as f64,
                _ if toll.blocked > 0 => times * self.blocked_weight(*index, toll),
                _ => 0.0,
            }
        };
        self.incidents.iter().map(times).fold(0.0, |sum, times| sum + times)
    }

    /// Mean evictions a year by random failures, and needless ones.
    pub(super) fn evictions_per_year(&self, forecast: &Forecast) -> (f64, f64) {
        let scale = 365.0 * 86400.0 / forecast.year.as_secs_f64() / self.years.len().max(1) as f64;
        let sum = |of: fn(&Toll) -> u64| self.years.iter().map(of).sum::<u64>() as f64 * scale;
        (sum(|toll| toll.evictions), sum(|toll| toll.needless_evictions))
    }
}

/// The mean of a figure, in minutes, with its interval, which is longer on the side on which a few years are far out.
pub(super) fn minutes(seconds: impl Iterator<Item = f64>) -> Interval {
    Sample::new(seconds.map(|seconds| seconds / 60.0).collect()).interval_if_skewed(CONFIDENCE)
}

/// By how much a figure of paired years is lower, in minutes.
pub(super) fn saving(before: &[f64], after: &[f64]) -> Interval {
    minutes(before.iter().zip(after).map(|(before, after)| before - after))
}

/// Whether a change helps, as far as paired years tell: by the interval of what it saves, or as it saves in so many more years than not
/// that chance does so less than once in forty times. Few failures that cost much make intervals wide.
pub(super) fn is_told(before: &[f64], after: &[f64]) -> bool {
    let saved = saving(before, after);
    if saved.low > 0.0 {
        return true;
    }
    let pairs = || before.iter().zip(after);
    let better = pairs().filter(|(before, after)| before > after).count();
    let worse = pairs().filter(|(before, after)| before < after).count();
    saved.mean > 0.0 && binomial_at_most(worse, better + worse, 0.5) <= (1.0 - CONFIDENCE) / 2.0
}

/// Whom planned work waits for in vain: units whose budgets spare no pod, by the nodes of their pods; and those whose pods take
/// longer to stop than a drain waits; and what cannot be rolled out.
struct Blockers<'a> {
    by_node: BTreeMap<Symbol, BTreeSet<usize>>,
    /// Of each workload, for whom it works.
    of_workload: &'a BTreeMap<String, Vec<usize>>,
    /// Workloads that were not whole before anything happened.
    unfinished: BTreeSet<String>,
}

impl<'a> Blockers<'a> {
    fn of(forecast: &'a Forecast, store: &Store) -> Self {
        let mut by_node: BTreeMap<Symbol, BTreeSet<usize>> = BTreeMap::new();
        let units = &forecast.units;
        for (_, pod) in store.pods() {
            let Some(node) = pod.node else { continue };
            let is_spared = store.budgets.iter().any(|(_, budget)| {
                budget.meta.namespace == pod.namespace
                    && budget.status.expected_pods > 0
                    && budget.status.disruptions_allowed == 0
                    && budget.spec.selector.as_ref().is_some_and(|selector| selector.matches(&pod.labels))
            });
            let is_slow = pod.spec.termination_grace_period_seconds.unwrap_or(30) as f64 >= PATIENCE_S;
            if !is_spared && !is_slow {
                continue;
            }
            let path = WorkloadKey::of_pod(pod, store).to_string();
            let of = units.of_workload.get(&path).into_iter().flatten().copied();
            by_node.entry(store.node_name(node)).or_default().extend(of);
        }
        Self { by_node, of_workload: &units.of_workload, unfinished: unfinished(store) }
    }

    /// Charges an incident that was blocked to those it waited for.
    fn charge(&self, incident: &Incident, toll: &mut Toll) {
        if incident.kind == IncidentKind::RollOut {
            toll.unfinished = toll.unfinished.difference(&self.unfinished).cloned().collect();
            toll.blocked = toll.unfinished.len() as u64;
            let hurt: BTreeSet<usize> =
                toll.unfinished.iter().filter_map(|path| self.of_workload.get(path)).flatten().copied().collect();
            hurt.into_iter().for_each(|unit| toll.losses[unit].blocked_s += PATIENCE_S);
            return;
        }
        if toll.blocked == 0 || !incident.kind.is_planned() {
            return;
        }
        let mut guilty: BTreeSet<usize> = BTreeSet::new();
        for (node, units) in &self.by_node {
            let is_drained = incident.timeline.iter().any(|entry| {
                let line = entry["kubectl"].as_str().unwrap_or_default();
                line.starts_with("drain ") && line.split(' ').nth(1) == Some(node.as_str())
            });
            if is_drained {
                guilty.extend(units);
            }
        }
        for unit in guilty {
            toll.losses[unit].blocked_s += PATIENCE_S;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_saves_nearly_every_year_is_told_from_nothing_however_much_years_differ() {
        let before = [0.0, 40.0, 60.0, 3000.0, 50.0, 70.0, 90.0];
        let after = [0.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0];
        assert!(saving(&before, &after).low < 0.0 && is_told(&before, &after));
        let now_and_then = [0.0, 50.0, 10.0, 100.0, 60.0, 10.0, 10.0];
        assert!(!is_told(&before, &now_and_then), "four of six may be chance");
        assert!(!is_told(&after, &before));
        assert!(!is_told(&before, &before));
    }
}
