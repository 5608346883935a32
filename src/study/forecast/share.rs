//! What part of a forecast is played where all of it would be too much, and how much of it is ahead.

use std::collections::BTreeMap;

use super::catalogue::OF_A_KIND_MAX;
use super::fix::{Circumstances, Fix};
use super::incident::IncidentKind;
use super::intake::Forecast;
use super::outlook::{Class, Plays, Stage};
use super::sample::Touched;
use super::units::is_worker;
use super::work_out::{Base, Search};
use crate::state::Store;
use crate::units::grouped;

/// For how many incidents that touch a unit one stands, by its position and by the unit.
pub(super) type Weights = BTreeMap<usize, BTreeMap<usize, f64>>;

/// How many kinds of changes fit somebody, whoever is hurt.
pub(super) fn fitting(forecast: &Forecast) -> usize {
    let store = forecast.settled.store();
    let nobody = std::collections::BTreeSet::new();
    let around = Circumstances {
        stuck: &nobody,
        pressed: &nobody,
        served: &forecast.units.served(),
        store,
        zones: super::catalogue::zone_count(store),
        nodes: store.nodes().count(),
        lacks_room: false,
    };
    let objects = || forecast.scenario.objects.iter().map(|object| &object.object).filter(|object| is_worker(object));
    let fits = |fix: &&Fix| objects().any(|object| fix.fits(object, &forecast.scenario, &around));
    Fix::ALL.iter().filter(fits).count()
}

impl Search<'_> {
    /// The incidents of these kinds that are played of a cluster, in the order of the catalogue, and what they stand for.
    pub(super) fn incidents(&self, store: &Store, kinds: &[IncidentKind]) -> (Vec<usize>, Weights) {
        let incidents = &self.forecast.incidents;
        let touched = Touched::of(store, &self.forecast.units);
        let (mut positions, mut weights) = (Vec::new(), Weights::new());
        for &kind in kinds {
            let chosen = touched.choose(incidents, kind, self.of_a_kind);
            positions.extend(chosen.positions);
            weights.extend(chosen.weights);
        }
        positions.sort_unstable();
        (positions, weights)
    }

    /// The same incidents, but of planned work on nodes, where not all of it is played, what touches everybody where the pods of this
    /// cluster are.
    pub(super) fn where_pods_are(&self, which: &[usize], store: &Store) -> (Vec<usize>, Weights) {
        let incidents = &self.forecast.incidents;
        let is_chosen = |kind: IncidentKind| {
            incidents.iter().filter(|incident| incident.kind == kind && incident.per_year > 0.0).count()
                > self.of_a_kind
        };
        let kinds = [IncidentKind::Drain, IncidentKind::NodePressure].into_iter().filter(|kind| is_chosen(*kind));
        let kinds: Vec<IncidentKind> = kinds.collect();
        if kinds.is_empty() {
            return (which.to_vec(), Weights::new());
        }
        let (chosen, weights) = self.incidents(store, &kinds);
        let rest = which.iter().copied().filter(|index| !kinds.contains(&incidents[*index].kind));
        (chosen.into_iter().chain(rest).collect(), weights)
    }

    /// Where not all is played, what hits a third of all nodes is played once: the worst zone, and the worst other domain.
    pub(super) fn keep_one_domain(&self, worst_first: &mut Vec<(f64, usize)>) {
        if self.of_a_kind >= OF_A_KIND_MAX {
            return;
        }
        let mut kept = std::collections::BTreeSet::new();
        worst_first.retain(|(_, index)| {
            let kind = self.forecast.incidents[*index].kind;
            !matches!(kind, IncidentKind::ZoneLost | IncidentKind::DomainLost) || kept.insert(kind)
        });
    }

    /// Expects so many changed clusters to be played in a stage.
    pub(super) fn expect_evaluations(&self, stage: Stage, count: usize) {
        let count = count as u64;
        let mut plays = Plays::from([(Class::Years, self.years * count)]);
        let mut planned: BTreeMap<IncidentKind, usize> = BTreeMap::new();
        for incident in self.forecast.incidents.iter().filter(|incident| incident.per_year > 0.0) {
            *planned.entry(incident.kind).or_default() += 1;
        }
        for (kind, of_kind) in planned {
            plays.insert(Class::Incident(kind), of_kind.min(self.of_a_kind) as u64 * count);
        }
        *plays.entry(Class::Incident(IncidentKind::NodeLost)).or_default() +=
            super::extent::INCIDENTS_OF_A_FIX as u64 * count;
        self.player.expect(stage, plays);
    }

    /// Expects everything, with these incidents of the cluster as it is.
    pub(super) fn expect_all(&self, order: &[usize]) {
        let mut incidents = Plays::new();
        for index in order {
            *incidents.entry(Class::Incident(self.forecast.incidents[*index].kind)).or_default() += 1;
        }
        self.player.expect(Stage::AsItIs, incidents);
        let fixes = fitting(self.forecast);
        self.expect_evaluations(Stage::Changes, fixes);
        self.expect_evaluations(Stage::Confirmation, fixes.div_ceil(2));
        self.expect_evaluations(Stage::Together, fixes.div_ceil(2));
        let faults = self.forecast.faults.len() as u64;
        self.player.expect(Stage::Faults, Plays::from([(Class::OneFault(0), faults * self.years)]));
    }

    /// Incidents that are not played, by kind.
    pub(super) fn left_out(&self, base: &Base) -> Vec<String> {
        let forecast = self.forecast;
        let mut left_out = forecast.left_out.clone();
        let (played, weights) = self.incidents(forecast.settled.store(), &IncidentKind::ALL);
        for kind in IncidentKind::ALL {
            let alike = |index: usize| forecast.incidents[index].alike;
            let of_kind = (0..forecast.incidents.len()).filter(|index| forecast.incidents[*index].kind == kind);
            let all: u64 = of_kind.map(alike).sum();
            let chosen = played.iter().filter(|index| forecast.incidents[**index].kind == kind);
            let left = all - chosen.clone().map(|index| alike(*index)).sum::<u64>();
            if left == 0 {
                continue;
            }
            let how = if chosen.clone().any(|index| weights.contains_key(index)) {
                ": those are that touch everybody, the rarest first"
            } else {
                ""
            };
            let (left, all) = (grouped(left), grouped(all));
            left_out.push(format!("{left} of {all} incidents \"{}\" are not played{how}", kind.title()));
        }
        if self.of_a_kind < OF_A_KIND_MAX && left_out.len() > forecast.left_out.len() {
            let years = base.evaluation.years.len();
            let held = format!(
                "all of it is held to {} incidents of a kind and {years} plays of random failures: --plays or --budget allow for more",
                self.of_a_kind
            );
            left_out.insert(0, held);
        }
        left_out
    }
}
