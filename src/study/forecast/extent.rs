//! How much of everything a forecast plays, so that all of it is bounded: fewer incidents of a kind and fewer years, where there would
//! be too much work for what may be spent.

use std::collections::BTreeMap;

use super::budget::Budget;
use super::catalogue::OF_A_KIND_MAX;
use super::incident::{Incident, IncidentKind};
use crate::units::SimDuration;

/// What is spent if nobody says how much: what two cores do in so many seconds, as cores usually are. No clock is read.
const SECONDS: f64 = 120.0;
const CORES: f64 = 2.0;

/// Events that a core handles in a second, in a small cluster; half as many where beginning a play takes as much as so many.
const EVENTS_A_SECOND: f64 = 250_000.0;
const FORK_THAT_HALVES: f64 = 4400.0;

/// Work is guessed before it is done. It ends at so many times what was planned, whatever is left.
const LEEWAY: f64 = 1.3;

/// Years that are played at least, unless fewer are asked for.
const YEARS_MIN: u64 = 6;

/// Incidents of a kind that are played at least.
const OF_A_KIND_MIN: f64 = 10.0;

/// Shares of the whole that are tried, the largest first.
const SHARES: [f64; 12] = [1.0, 0.8, 0.65, 0.5, 0.4, 0.3, 0.24, 0.18, 0.13, 0.1, 0.07, 0.05];

/// Incidents that a change is played on besides planned work: those that cost its units most.
pub(super) const INCIDENTS_OF_A_FIX: usize = 12;

/// What plays of a cluster take, in events; guessed.
#[derive(Copy, Clone, Debug)]
pub(super) struct Work {
    /// To begin one: to copy the cluster's state.
    pub(super) fork: u64,
    /// Of a play of random failures.
    pub(super) year: u64,
    /// Of an incident of a node.
    pub(super) incident: u64,
    /// Of the restart of all workloads.
    pub(super) roll_out: u64,
    /// Of the loss of a third of all nodes.
    pub(super) domain: u64,
}

impl Work {
    /// How much of it a core does in a second.
    fn a_second(&self) -> f64 {
        EVENTS_A_SECOND / (1.0 + self.fork as f64 / FORK_THAT_HALVES)
    }

    /// How much is spent if nobody says how much.
    fn usual(&self) -> f64 {
        SECONDS * CORES * self.a_second()
    }

    fn of(&self, kind: IncidentKind) -> u64 {
        /// Nodes that an upgrade drains.
        const UPGRADED: u64 = 30;
        let rest = match kind {
            IncidentKind::RollOut => self.roll_out,
            IncidentKind::PoolUpgrade => self.incident * UPGRADED,
            IncidentKind::ZoneLost | IncidentKind::DomainLost | IncidentKind::KubeletsCutOff => self.domain,
            _ => self.incident,
        };
        self.fork + rest
    }
}

/// What a forecast is made of, before anything is played.
#[derive(Debug)]
pub(super) struct Whole<'a> {
    pub(super) incidents: &'a [Incident],
    pub(super) work: Work,
    /// Changes that fit somebody.
    pub(super) fixes: usize,
    /// Kinds of random failures.
    pub(super) faults: usize,
    /// Years of random failures that are wanted.
    pub(super) years: u64,
    /// Whether somebody has said how many years, or how precise.
    pub(super) are_years_asked: bool,
}

/// How much is played.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// Years of random failures.
    pub(super) years: u64,
    /// Incidents of a kind at most.
    pub(super) of_a_kind: usize,
    /// Work at most.
    pub(super) work: u64,
}

impl Extent {
    /// The most that is within a budget.
    pub(super) fn of(whole: &Whole<'_>, budget: &Budget<'_>, threads: usize) -> Self {
        let (limit, work): (Box<dyn Fn(&Self) -> bool>, u64) = match (budget.plays, budget.time) {
            (Some(plays), _) => (Box::new(move |extent| whole.amount(extent).0 <= plays), u64::MAX),
            (None, Some(time)) => {
                let work = time.as_secs_f64() * threads as f64 * whole.work.a_second();
                (Box::new(move |extent| whole.amount(extent).1 <= work), u64::MAX)
            }
            (None, None) => {
                let most = if whole.are_years_asked { u64::MAX } else { (whole.work.usual() * LEEWAY) as u64 };
                (Box::new(move |extent| whole.amount(extent).1 <= whole.work.usual()), most)
            }
        };
        let may_shorten = budget.plays.is_some() || budget.time.is_some() || !whole.are_years_asked;
        let of_share = |share: f64| {
            let fewer = ((whole.years as f64 * share).ceil() as u64).max(YEARS_MIN.min(whole.years));
            let of_a_kind = (OF_A_KIND_MAX as f64 * share).max(OF_A_KIND_MIN) as usize;
            Self { years: if may_shorten { fewer } else { whole.years }, of_a_kind, work }
        };
        let fitting = SHARES.into_iter().map(of_share).find(|extent| limit(extent));
        fitting.unwrap_or_else(|| of_share(SHARES[SHARES.len() - 1]))
    }
}

impl Extent {
    /// Whether less is played of each kind than ever.
    pub(super) fn is_cut(&self) -> bool {
        self.of_a_kind < OF_A_KIND_MAX
    }
}

impl Whole<'_> {
    /// So long that the plays of random failures take half of what may be spent, if they would take more than three quarters; a week at
    /// least.
    pub(super) fn bearable(&self, year: SimDuration) -> SimDuration {
        const DAY_S: u64 = 24 * 3600;
        let share = self.plays_of_years(self.years) as f64 * self.work.year as f64 / self.work.usual();
        if share <= 0.75 {
            return year;
        }
        let days = (year.as_secs_f64() / DAY_S as f64 * 0.5 / share).floor().max(7.0);
        SimDuration::from_secs(DAY_S) * (days as u64)
    }

    /// Evaluations of a changed cluster: each change that fits, and those that turn out to be worth a finding, about half of them, twice.
    fn evaluations(&self) -> u64 {
        self.fixes as u64 + 2 * self.fixes.div_ceil(2) as u64
    }

    fn plays_of_years(&self, years: u64) -> u64 {
        years * (2 + self.evaluations() + self.faults as u64)
    }

    /// How many plays an extent has, and how much work they are.
    fn amount(&self, extent: &Extent) -> (u64, f64) {
        let mut counts: BTreeMap<IncidentKind, (usize, bool)> = BTreeMap::new();
        for incident in self.incidents {
            let (count, is_planned) = counts.entry(incident.kind).or_default();
            *count += 1;
            *is_planned |= incident.per_year > 0.0;
        }
        let evaluations = self.evaluations();
        let years = self.plays_of_years(extent.years);
        let mut plays = years;
        let mut work = years as f64 * (self.work.fork + self.work.year) as f64;
        for (kind, (count, is_planned)) in counts {
            let played = count.min(extent.of_a_kind) as u64;
            let played = if is_planned { played * (1 + evaluations) } else { played };
            plays += played;
            work += played as f64 * self.work.of(kind) as f64;
        }
        let worst = INCIDENTS_OF_A_FIX.min(self.incidents.len()) as u64 * evaluations;
        let domains = if extent.is_cut() { 2 } else { INCIDENTS_OF_A_FIX as u64 / 2 };
        let of_domains = domains * evaluations * self.work.domain;
        (plays + worst, work + of_domains as f64 + worst as f64 * (self.work.fork + self.work.incident) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incidents(count: usize) -> Vec<Incident> {
        let lost = |at: usize| {
            Incident::new(
                IncidentKind::NodeLost,
                &at.to_string(),
                String::new(),
                SimDuration::from_secs(60),
                Vec::new(),
            )
        };
        (0..count).map(lost).collect()
    }

    fn whole(incidents: &[Incident], year: u64) -> Whole<'_> {
        let work = Work { fork: 100, year, incident: 900, roll_out: 10_000, domain: 10_000 };
        Whole { incidents, work, fixes: 10, faults: 4, years: 24, are_years_asked: false }
    }

    #[test]
    fn nothing_is_left_out_of_what_is_small() {
        let incidents = incidents(300);
        let whole = whole(&incidents, 10_000);
        let extent = Extent::of(&whole, &Budget::default(), 2);
        assert_eq!((extent.years, extent.of_a_kind, extent.is_cut()), (24, OF_A_KIND_MAX, false));
        let year = SimDuration::from_secs(365 * 24 * 3600);
        assert_eq!(whole.bearable(year), year);
    }

    #[test]
    fn what_is_large_is_held_to_what_may_be_spent() {
        let incidents = incidents(300);
        let whole = whole(&incidents, 400_000);
        let extent = Extent::of(&whole, &Budget::default(), 2);
        assert!(
            extent.is_cut() && extent.years >= YEARS_MIN && extent.of_a_kind >= OF_A_KIND_MIN as usize,
            "{extent:?}"
        );
        let short = whole.bearable(SimDuration::from_secs(365 * 24 * 3600)).as_secs_f64() / 86400.0;
        assert!((7.0..365.0).contains(&short), "{short}");
        let many = Budget { time: Some(SimDuration::from_secs(36_000)), ..Budget::default() };
        assert!(!Extent::of(&whole, &many, 2).is_cut());
    }

    #[test]
    fn a_number_of_plays_holds_all_of_them() {
        let incidents = incidents(300);
        let whole = whole(&incidents, 10_000);
        for plays in [700, 1_000, 2_000, 100_000] {
            let extent = Extent::of(&whole, &Budget { plays: Some(plays), ..Budget::default() }, 2);
            assert!(whole.amount(&extent).0 <= plays, "{plays}: {extent:?}");
        }
    }

    #[test]
    fn years_that_somebody_asks_for_are_played() {
        let incidents = incidents(300);
        let asked = Whole { are_years_asked: true, ..whole(&incidents, 400_000) };
        assert_eq!(Extent::of(&asked, &Budget::default(), 2).years, 24);
    }
}
