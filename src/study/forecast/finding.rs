//! What a forecast finds: what costs whom how much, what would help, and by how much.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::fix::Fix;
use super::intake::Forecast;
use crate::observe::Phase;
use crate::study::statistics::Interval;

/// Something that costs, and the change that was seen to help.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The change.
    pub fix: Fix,
    /// Whom it helps: services and workloads.
    pub units: Vec<String>,
    /// What is changed.
    pub workloads: Vec<String>,
    /// What it costs them as things are, in minutes a year: lost traffic, and planned work that waits in vain.
    pub cost: Interval,
    /// What the change does.
    pub saved: Saved,
    /// The incident in which the change spares them most; none if no incident costs them anything.
    pub worst: Option<Worst>,
    /// What it costs them with the change, in minutes.
    pub worst_after_min: f64,
    /// What the change takes.
    pub price: Price,
    /// Other changes that help some of them, too.
    pub alternatives: Vec<Alternative>,
    /// Whether its figures are of years that had no part in choosing it.
    pub is_confirmed: bool,
    /// Whether it is for those alone who never come back, whose cost is in no sum.
    pub is_apart: bool,
}

impl Finding {
    /// What is wrong, as a sentence without a full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        let cause = self.fix.cause(self.units.len() == 1);
        match self.units.as_slice() {
            [one] => format!("{one} {cause}"),
            [first, second] => format!("{first} and {second} {cause}"),
            [first, others @ ..] => format!("{first} and {} more {cause}", others.len()),
            [] => cause.to_owned(),
        }
    }

    pub(super) fn worst_saved(&self) -> f64 {
        self.worst.as_ref().map_or(0.0, |worst| worst.cost_min - self.worst_after_min)
    }

    /// How much it saves for what it takes; what takes nothing comes first.
    pub(super) fn saved_per_price(&self) -> f64 {
        self.saved.cost.mean / self.price.weight().max(1e-3)
    }
}

/// What a change does, in minutes a year unless something else is said: as it is less with the change, of the same years.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub struct Saved {
    /// Of what it costs those it helps.
    pub cost: Interval,
    /// Of that, lost traffic alone.
    pub lost: Interval,
    /// The same of everybody else; below zero if the change makes things worse for them.
    pub others: Interval,
    /// Evictions a year in random failures, before and after.
    pub evictions_per_year: (f64, f64),
    /// Of these, needless ones.
    pub needless_evictions_per_year: (f64, f64),
    /// Planned work that waits in vain, times a year, before and after.
    pub blocked_per_year: (f64, f64),
}

/// The incident that costs most.
#[derive(Clone, Debug, Serialize)]
pub struct Worst {
    /// Its name in the catalogue.
    pub incident: String,
    /// The same for people.
    pub label: String,
    /// What it costs, in minutes: lost traffic, and planned work that waits in vain.
    pub cost_min: f64,
}

/// An incident against which nothing that was tried helps.
#[derive(Clone, Debug, Serialize)]
pub struct Unhelped {
    /// Its name in the catalogue.
    pub incident: String,
    /// The same for people.
    pub label: String,
    /// What it costs everybody, in minutes: lost traffic, and planned work that waits in vain.
    pub cost_min: f64,
    /// How many it costs anything.
    pub hurt: usize,
    /// What was tried; nothing where no change could make a difference.
    pub tried: Vec<Fix>,
    /// What was tried elsewhere, and not there: what is recommended, then the rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untried: Vec<Fix>,
}

/// What a change takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Price {
    /// More pods.
    pub pods: u64,
    /// What they ask for together, in thousandths of a core.
    pub cpu_milli: i64,
    /// The same of memory, in bytes.
    pub memory: i64,
    /// More nodes.
    pub nodes: u64,
    /// How often somebody has to do something, a year.
    pub interventions_per_year: f64,
}

impl Price {
    /// What these changes take together; a workload that two of them scale counts once.
    pub(super) fn of(forecast: &Forecast, changes: &[(Fix, BTreeSet<String>)]) -> Self {
        let mut price = Self::default();
        let mut counted: BTreeMap<&String, Fix> = BTreeMap::new();
        for (fix, workloads) in changes {
            let is_new = |path: &&String| match counted.get(path) {
                Some(first) => fix.rival() != Some(*first),
                None => true,
            };
            let new: BTreeSet<String> = workloads.iter().filter(is_new).cloned().collect();
            price.add(fix.price(&forecast.scenario, &new));
            if fix.rival().is_some() {
                counted.extend(workloads.iter().map(|path| (path, *fix)));
            }
        }
        price
    }

    fn add(&mut self, other: Self) {
        let Self { pods, cpu_milli, memory, nodes, interventions_per_year } = other;
        self.pods += pods;
        self.cpu_milli += cpu_milli;
        self.memory += memory;
        self.nodes += nodes;
        self.interventions_per_year += interventions_per_year;
    }

    /// A number to compare prices by: nodes, and pods as the hundredth of one.
    fn weight(&self) -> f64 {
        self.nodes as f64 + (self.pods as f64 + self.interventions_per_year) / 100.0
    }
}

/// Another change that helps, too.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Alternative {
    /// Which.
    pub fix: Fix,
    /// How many of the finding's services and workloads it helps.
    pub units: usize,
    /// The share that it saves of what failures cost these, in the years that changes were chosen by; 0 if it helps in incidents alone.
    pub share: f64,
}

/// A change that was tried and is not recommended.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Dropped {
    /// Which.
    pub fix: Fix,
    /// On how many workloads it was tried.
    pub workloads: usize,
    /// Why it is not recommended.
    pub why: &'static str,
}

/// A step on the way to all changes together.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Front {
    /// What this step adds.
    pub fix: Fix,
    /// What everything costs then, in minutes a year.
    pub cost: Interval,
    /// What the step gains.
    pub gained: Interval,
    /// Planned work that waits in vain then, times a year.
    pub blocked_per_year: f64,
    /// What all steps up to this one take.
    pub price: Price,
}

/// What failures cost a service, or a workload that no service leads to.
#[derive(Clone, Debug)]
pub struct UnitCost {
    /// `service/shop/web`.
    pub object: String,
    /// The workloads whose pods do its work.
    pub workloads: Vec<String>,
    /// Lost traffic, in minutes a year; of a workload, time with too few Ready pods.
    pub lost: Interval,
    /// Time with fewer Ready pods than wanted, in minutes a year.
    pub short: Interval,
    /// Planned work that waits in vain for it, in minutes a year.
    pub blocked: Interval,
    /// The most lost minutes of a year that was played.
    pub worst_year_min: f64,
    /// Lost minutes a year by each kind of random failure alone.
    pub by_fault: Vec<(String, f64)>,
    /// Shares of the time that its lost pods were missed for.
    pub by_phase: Vec<(Phase, f64)>,
    /// The incident that costs it most.
    pub worst: Option<Worst>,
}

impl UnitCost {
    /// The share of a year in which it serves.
    #[must_use]
    pub fn availability(&self) -> f64 {
        1.0 - self.lost.mean / (365.0 * 24.0 * 60.0)
    }
}
