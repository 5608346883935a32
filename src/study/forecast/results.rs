//! What a forecast says: `forecast.json`, tables, patches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::evaluation::Variant;
use super::finding::{Dropped, Finding, Front, Unhelped, UnitCost};
use super::fix::Fix;
use super::intake::Forecast;
use super::toll::Toll;
use crate::scenario::Assumption;
use crate::state::{Node, Status, Store};
use crate::study::patch::{Patches, by_hand, of_change, runbook};
use crate::study::statistics::Interval;
use crate::units::SimDuration;

/// What a forecast stands on.
#[derive(Clone, Debug, Serialize)]
pub struct StandsOn {
    /// Objects that were read, by kind.
    pub objects: BTreeMap<&'static str, usize>,
    /// Zones that labels name.
    pub zones: usize,
    /// Pods that have no node before anything happens.
    pub unscheduled: usize,
    /// Nodes that are not Ready before anything happens, as `node/NAME`, and services and workloads that do not serve, of which
    /// nothing is counted.
    pub down: Vec<String>,
    /// What could not be read.
    pub unread: Vec<String>,
    /// What the input does not say, and what says otherwise.
    pub assumed: Vec<Assumption>,
    /// The usual failures that are not played, as a file of rates brings others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_played: Vec<String>,
}

impl StandsOn {
    pub(super) fn of(forecast: &Forecast) -> Self {
        let mut objects: BTreeMap<&'static str, usize> = BTreeMap::new();
        for object in &forecast.scenario.objects {
            *objects.entry(object.object.kind().as_str()).or_default() += 1;
        }
        let store = forecast.settled.store();
        let unread = forecast.scenario.input.unread();
        let units_down = forecast.units.down.iter().map(|&unit| forecast.units.all[unit].object.clone());
        Self {
            objects,
            zones: super::catalogue::zone_count(store),
            unscheduled: store.pods().filter(|(_, pod)| pod.node.is_none() && pod.is_active()).count(),
            down: nodes_down(store).chain(units_down).collect(),
            unread: unread.map(|skipped| format!("{} {} ({})", skipped.count, skipped.kind, skipped.reason)).collect(),
            assumed: forecast.scenario.assumed.iter().chain(&forecast.assumed).cloned().collect(),
            not_played: forecast.not_played.clone(),
        }
    }
}

/// How `down` names nodes.
pub(super) const NODE: &str = "node/";

fn nodes_down(store: &Store) -> impl Iterator<Item = String> {
    let is_down = |(_, node): &(_, &Arc<Node>)| node.conditions.ready() != Some(Status::True);
    store.nodes().filter(is_down).map(|(id, _)| format!("{NODE}{}", store.node_name(id)))
}

/// What was asked for, so that it can be asked again.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Question {
    /// The files, directories and globs of the cluster.
    pub inputs: Vec<String>,
    /// Values of the scenario that were set, as `path=value`.
    pub set: Vec<String>,
    /// The file of the catalogue's changes.
    pub catalog: Option<String>,
    /// The file of the random processes.
    pub rates: Option<String>,
    /// Years of random failures that were wanted at first.
    pub years: u64,
    /// How narrow the interval was to be.
    pub precision: Option<f64>,
    /// The most plays.
    pub plays: Option<u64>,
}

/// What an incident costs.
#[derive(Clone, Debug, Serialize)]
pub struct IncidentRow {
    /// Its name in the catalogue.
    pub incident: String,
    /// What kind of thing happens.
    pub kind: &'static str,
    /// The same for people.
    pub label: String,
    /// What `--set` makes of the cluster's `scenario.lock.yaml` to play it; nothing for what is a scenario of its own.
    pub set: Vec<String>,
    /// How many incidents it stands for.
    pub alike: u64,
    /// How often one of them is expected a year; 0 for what comes at random or is not expected.
    pub per_year: f64,
    /// Lost minutes of all services and workloads together.
    pub lost_min: f64,
    /// How many lose anything.
    pub hurt: usize,
    /// Whom it costs most.
    pub worst: Option<String>,
    /// Lost minutes of that one.
    pub worst_min: f64,
    /// Pods evicted.
    pub evictions: u64,
    /// Pods without a node at the end.
    pub unscheduled: u64,
    /// Pods that nothing makes anew.
    pub pods_lost: u64,
    /// Whether planned work waited in vain.
    pub is_blocked: bool,
}

/// Rows of the incidents that were played, the worst first.
pub(super) fn incident_rows(forecast: &Forecast, tolls: &BTreeMap<usize, Toll>) -> Vec<IncidentRow> {
    let row = |(index, toll): (&usize, &Toll)| {
        let incident = &forecast.incidents[*index];
        let losses = forecast.units.counted().map(|unit| (toll.losses[unit].lost_s, unit));
        let worst =
            losses.clone().filter(|(lost, _)| *lost > 0.0).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        IncidentRow {
            incident: incident.id.clone(),
            kind: incident.kind.as_str(),
            label: incident.label.clone(),
            set: incident.settings(),
            alike: incident.alike,
            per_year: incident.per_year,
            lost_min: forecast.units.sum(&toll.losses, |loss| loss.lost_s) / 60.0,
            hurt: losses.filter(|(lost, _)| *lost > 0.0).count(),
            worst: worst.map(|(_, unit)| forecast.units.all[unit].object.clone()),
            worst_min: worst.map_or(0.0, |(lost, _)| lost / 60.0),
            evictions: toll.evictions,
            unscheduled: toll.unscheduled,
            pods_lost: toll.pods_lost,
            is_blocked: toll.blocked > 0,
        }
    };
    let mut rows: Vec<IncidentRow> = tolls.iter().map(row).collect();
    rows.sort_by(|a, b| b.lost_min.total_cmp(&a.lost_min).then_with(|| a.incident.cmp(&b.incident)));
    rows
}

/// Pods without a controller, and services that lead to nothing else: once lost they are lost until the end.
#[derive(Clone, Debug)]
pub struct Apart {
    /// The worst first.
    pub units: Vec<UnitCost>,
    /// What they lose together, in minutes a year.
    pub lost: Interval,
}

impl Apart {
    /// Of these units, if there are any.
    pub(super) fn of(units: Vec<UnitCost>, lost: impl FnOnce() -> Interval) -> Option<Self> {
        (!units.is_empty()).then(|| Self { lost: lost(), units })
    }

    /// How many pods they are.
    #[must_use]
    pub fn pods(&self) -> usize {
        self.units.iter().flat_map(|unit| &unit.workloads).collect::<BTreeSet<_>>().len()
    }
}

/// What a forecast says.
#[derive(Clone, Debug)]
pub struct ForecastResults {
    /// Of what.
    pub name: String,
    /// What chance was drawn from.
    pub seed: u64,
    /// What was asked.
    pub asked: Question,
    /// What it stands on.
    pub stands_on: StandsOn,
    /// How many plays of random failures all figures of a year are of, those of the changes too.
    pub years: usize,
    /// How many others changes were chosen by; 0 if by these, or none was chosen.
    pub chosen_by: u64,
    /// How long each of them is.
    pub year: SimDuration,
    /// What failures and planned work cost all services and workloads together, in minutes a year: the whole that changes save of.
    pub cost: Interval,
    /// Of that, lost traffic.
    pub lost: Interval,
    /// Time with fewer Ready pods than wanted, likewise.
    pub short: Interval,
    /// Planned work that waits in vain, likewise.
    pub blocked: Interval,
    /// How often planned work waits in vain a year.
    pub blocked_per_year: f64,
    /// The worst first; without those that are told apart.
    pub units: Vec<UnitCost>,
    /// Those that never come back, which no figure of all has in it.
    pub apart: Option<Apart>,
    /// The worst first.
    pub incidents: Vec<IncidentRow>,
    /// Incidents against which nothing that was tried helps, the worst first.
    pub unhelped: Vec<Unhelped>,
    /// What to change, the most saving first.
    pub findings: Vec<Finding>,
    /// What was tried and is not recommended.
    pub dropped: Vec<Dropped>,
    /// Changes together, step by step.
    pub front: Vec<Front>,
    /// How many plays were made.
    pub plays: u64,
    /// How many the budget left out.
    pub plays_left_out: u64,
    /// Whether it was time or somebody that left plays out, and not their number.
    pub is_stopped: bool,
    /// Incidents that the catalogue leaves out.
    pub left_out: Vec<String>,
}

impl ForecastResults {
    /// The content of `forecast.json`.
    #[must_use]
    pub fn json(&self) -> Value {
        let mut json = self.of_all();
        if self.is_stopped {
            json["is_stopped"] = json!(true);
        }
        if let Some(apart) = &self.apart {
            json["without_controller"] = json!({
                "lost_min_per_year": apart.lost,
                "units": apart.units.iter().map(unit_json).collect::<Vec<_>>(),
            });
        }
        json
    }

    fn of_all(&self) -> Value {
        json!({
            "forecast": self.name,
            "version": env!("CARGO_PKG_VERSION"),
            "seed": self.seed,
            "asked": self.asked,
            "stands_on": self.stands_on,
            "years": {"played": self.years, "length_d": self.year.as_secs_f64() / 86400.0, "chosen_by": self.chosen_by},
            "plays": self.plays,
            "plays_left_out": self.plays_left_out,
            "left_out": self.left_out,
            "metrics": self.metrics(),
            "cost_min_per_year": self.cost,
            "lost_min_per_year": self.lost,
            "short_min_per_year": self.short,
            "blocked_min_per_year": self.blocked,
            "fixes": Fix::ALL.iter().map(|fix| json!({"fix": fix, "words": fix.words()})).collect::<Vec<_>>(),
            "findings": self.findings.iter().enumerate().map(|(index, finding)| finding_json(index, finding)).collect::<Vec<_>>(),
            "dropped": self.dropped,
            "unhelped": self.unhelped,
            "together": self.front.iter().map(front_json).collect::<Vec<_>>(),
            "units": self.units.iter().map(unit_json).collect::<Vec<_>>(),
            "incidents": self.incidents,
        })
    }

    /// The text of `forecast.json`.
    #[must_use]
    pub fn json_text(&self) -> String {
        format!("{:#}\n", self.json())
    }

    /// The figures that `--fail-on` can compare, by name; not a number where nothing that tells one was played.
    #[must_use]
    pub fn metrics(&self) -> BTreeMap<&'static str, f64> {
        let worst = |kind: &str| {
            let rows = self.incidents.iter().filter(|row| row.kind == kind);
            rows.map(|row| row.worst_min).reduce(f64::max).unwrap_or(f64::NAN)
        };
        let is_cut = self.plays_left_out > 0;
        let unless = |is_unknown: bool, figure: f64| if is_unknown { f64::NAN } else { figure };
        let is_planned = |row: &IncidentRow| row.per_year > 0.0;
        let worst_unit = self.units.iter().map(|unit| unit.lost.mean).fold(0.0, f64::max);
        BTreeMap::from([
            ("lost_traffic_min_per_year", self.lost.mean),
            ("short_min_per_year", self.short.mean),
            ("blocked_per_year", unless(is_cut && !self.incidents.iter().any(is_planned), self.blocked_per_year)),
            ("worst_unit_lost_min_per_year", unless(self.lost.mean.is_nan(), worst_unit)),
            ("findings", unless(is_cut && self.findings.is_empty(), self.findings.len() as f64)),
            ("node_worst_min", worst("nodeLost")),
            ("zone_worst_min", worst("zoneLost")),
            ("pair_worst_min", worst("pairLost")),
        ])
    }
}

impl ForecastResults {
    /// What each finding changes, as files: their names, and kubectl lines and documents.
    #[must_use]
    pub fn patches(&self, forecast: &Forecast) -> Vec<(String, Patches)> {
        let of_finding = |(index, finding): (usize, &Finding)| {
            let changes = [(finding.fix, finding.workloads.iter().cloned().collect())];
            let changed = Variant::unsettled(forecast, &changes);
            let (today, wanted) = (&forecast.scenario.objects, &changed.objects);
            let name = patch_name(index, finding.fix);
            let mut patches = match (finding.fix.by_hand(), finding.fix.runbook()) {
                (Some(what), _) => by_hand(today, wanted, what),
                (None, Some(lines)) => runbook(lines),
                (None, None) => of_change(today, wanted, &format!("{name}.yaml")),
            };
            if let Some(caution) = finding.fix.caution() {
                patches = patches.with_comment(caution);
            }
            (name, patches)
        };
        self.findings.iter().enumerate().map(of_finding).collect()
    }
}

/// `01-replicas`.
fn patch_name(index: usize, fix: Fix) -> String {
    format!("{:02}-{}", index + 1, fix.as_str())
}

fn finding_json(index: usize, finding: &Finding) -> Value {
    let mut json = json!({
        "rank": index + 1,
        "finding": finding.sentence(),
        "fix": finding.fix,
        "words": finding.fix.words(),
        "patch": format!("patches/{}.sh", patch_name(index, finding.fix)),
        "by_hand": finding.fix.by_hand(),
        "units": finding.units,
        "workloads": finding.workloads,
        "cost_min_per_year": finding.cost,
        "saved_min_per_year": finding.saved,
        "worst": finding.worst,
        "worst_after_min": finding.worst_after_min,
        "price": finding.price,
        "takes": finding.price.words(),
        "alternatives": finding.alternatives,
        "is_confirmed": finding.is_confirmed,
    });
    if finding.is_apart {
        json["is_apart"] = json!(true);
    }
    json
}

fn front_json(step: &Front) -> Value {
    let mut json = json!(step);
    json["takes"] = json!(step.price.words());
    json
}

fn unit_json(unit: &UnitCost) -> Value {
    let by_phase: BTreeMap<&str, f64> = unit.by_phase.iter().map(|(phase, share)| (phase.as_str(), *share)).collect();
    let by_fault: BTreeMap<&str, f64> = unit.by_fault.iter().map(|(name, minutes)| (name.as_str(), *minutes)).collect();
    json!({
        "unit": unit.object,
        "workloads": unit.workloads,
        "lost_min_per_year": unit.lost,
        "short_min_per_year": unit.short,
        "blocked_min_per_year": unit.blocked,
        "availability": unit.availability(),
        "worst_year_min": unit.worst_year_min,
        "lost_min_per_year_by_fault": by_fault,
        "share_by_phase": by_phase,
        "worst": unit.worst,
    })
}
