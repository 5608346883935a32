//! What somebody types in the years of a forecast who follows the runbook: each machine that has been off for ten minutes is said to be.

use std::collections::BTreeMap;

use super::catalogue::{REACTION_MIN, RECOVERY_MIN};
use super::intake::Forecast;
use crate::arena::Symbol;
use crate::model::Object;
use crate::observe::{Detail, Observers};
use crate::parallel::{self, Threads};
use crate::scenario::TimelineAction;
use crate::simulation::Prepared;
use crate::units::{SimDuration, SimTime};

/// A machine that was off for longer than it takes somebody to act.
#[derive(Clone, Copy, Debug)]
struct Absence {
    node: Symbol,
    began_at: SimTime,
    ended_at: Option<SimTime>,
}

/// The machines that are off for long in each year.
#[derive(Debug)]
pub(super) struct Runbook {
    years: BTreeMap<u64, Vec<Absence>>,
}

impl Runbook {
    /// Of these years. Failures do not depend on what runs on the machines, so that these are played alone.
    pub(super) fn of(forecast: &Forecast, seeds: std::ops::Range<u64>, threads: &Threads) -> Self {
        let mut machines = forecast.scenario.clone();
        machines.objects.retain(|object| matches!(object.object, Object::Node(_)));
        let settled = Prepared::new(&machines);
        let of_year = |seed: &u64| {
            let observers = Observers::new(Detail::Files, Vec::new(), SimDuration::ZERO);
            let seed = forecast.scenario.seed.wrapping_add(*seed);
            let mut run = settled.start_script(forecast.random.clone(), seed, observers);
            let end = SimTime::ZERO + forecast.year;
            run.run_until(end);
            let finished = run.finish();
            let rows = finished.observers.finish(end, &finished.store, finished.events).faults;
            let absence = |row: &crate::observe::FaultRow| {
                let lasted = row.ended_at.unwrap_or(end).saturating_since(row.began_at);
                let is_long = row.kind == "Crash" && lasted > reaction();
                is_long.then_some(Absence { node: row.node, began_at: row.began_at, ended_at: row.ended_at })
            };
            rows.iter().filter_map(absence).collect::<Vec<_>>()
        };
        let seeds: Vec<u64> = seeds.collect();
        let absences = threads.install(|| parallel::map(&seeds, of_year));
        Self { years: seeds.into_iter().zip(absences).collect() }
    }

    /// What is typed in a year.
    pub(super) fn typed(&self, forecast: &Forecast, seed: u64) -> Vec<(SimTime, TimelineAction)> {
        let mut typed = Vec::new();
        for absence in self.years.get(&seed).into_iter().flatten() {
            let Some([taint, untaint]) = forecast.runbook.get(&absence.node) else { continue };
            typed.push((absence.began_at + reaction(), *taint));
            if let Some(ended_at) = absence.ended_at {
                typed.push((ended_at + SimDuration::from_secs(RECOVERY_MIN * 60), *untaint));
            }
        }
        typed
    }

    /// How often somebody has to act, a year.
    pub(super) fn per_year(&self, forecast: &Forecast) -> f64 {
        let all: usize = self.years.values().map(Vec::len).sum();
        let days = forecast.year.as_secs_f64() / 86400.0;
        all as f64 / self.years.len().max(1) as f64 * 365.0 / days
    }
}

fn reaction() -> SimDuration {
    SimDuration::from_secs(REACTION_MIN * 60)
}
