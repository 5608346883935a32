//! What a run was about: what failed, how little was left, who ran short and for how long.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::cluster::Extremes;
use super::faults::FaultRow;
use super::inventory::InventoryRow;
use super::outcome::WorkloadOutcome;
use super::services::ServiceOutcome;
use super::verdict::{Matter, Sentence, names, sentence, whole_seconds};
use crate::component::Stops;
use crate::diagnostics::Tone;
use crate::units::{InDays, SimDuration, SimTime, counted};

/// Kinds of faults that are told one by one.
const KINDS_MAX: usize = 4;
/// Seconds of traffic below which nobody noticed.
const TRAFFIC_MIN_S: f64 = 0.5;

/// What the sentences about what happened are made of.
pub(super) struct Incident<'a> {
    pub(super) faults: &'a [FaultRow],
    pub(super) inventory: &'a [InventoryRow],
    pub(super) services: &'a [ServiceOutcome],
    pub(super) extremes: &'a Extremes,
}

/// One fault, and all that it hit.
struct Strike<'a> {
    began: SimTime,
    /// None if it lasts to the end of the run.
    ended: Option<SimTime>,
    rows: Vec<&'a FaultRow>,
}

/// What failed, by kind of fault, in the order of their beginnings.
pub(super) fn failed(incident: &Incident<'_>) -> Option<Sentence> {
    let kinds = by_kind(incident.faults);
    if kinds.is_empty() {
        return None;
    }
    let told = kinds.iter().take(KINDS_MAX).map(|strikes| of_kind(strikes, incident.inventory));
    let mut told: Vec<String> = told.collect();
    if let Some(more @ 1..) = kinds.len().checked_sub(KINDS_MAX) {
        told.push(format!("and faults of {}", counted(more, "more kind", "more kinds")));
    }
    let mut objects = Vec::new();
    let mut known = BTreeSet::new();
    for row in incident.faults.iter().filter(|row| known.insert(&row.object)) {
        objects.push(row.object.clone());
    }
    let text = format!("What failed: {}", told.join("; "));
    Some(sentence(Matter::FaultsPlayed, Tone::Neutral, text, objects))
}

/// The faults of each kind, in the order of their beginnings.
fn by_kind(rows: &[FaultRow]) -> Vec<Vec<Strike<'_>>> {
    let mut kinds: Vec<(&str, Vec<Strike<'_>>)> = Vec::new();
    let mut places: FxHashMap<(&str, SimTime), (usize, usize)> = FxHashMap::default();
    // Rows are in the order in which things were hit; what joins a fault that goes on has a beginning of its own.
    let mut last: FxHashMap<&str, SimTime> = FxHashMap::default();
    for row in rows {
        let joins = last.get(&*row.name).and_then(|began| places.get(&(&*row.name, *began)));
        let joins = joins.filter(|(kind, strike)| {
            let strike = &kinds[*kind].1[*strike];
            row.began_at > strike.began && strike.ended == row.ended_at && strike.ended != Some(strike.began)
        });
        let place = places.get(&(&*row.name, row.began_at)).or(joins).copied();
        if let Some((kind, strike)) = place {
            let strike = &mut kinds[kind].1[strike];
            strike.ended = strike.ended.zip(row.ended_at).map(|(a, b)| a.max(b));
            strike.rows.push(row);
            continue;
        }
        let kind = kinds.iter().position(|(kind, _)| *kind == row.kind).unwrap_or(kinds.len());
        if kind == kinds.len() {
            kinds.push((row.kind, Vec::new()));
        }
        places.insert((&*row.name, row.began_at), (kind, kinds[kind].1.len()));
        last.insert(&*row.name, row.began_at);
        kinds[kind].1.push(Strike { began: row.began_at, ended: row.ended_at, rows: vec![row] });
    }
    kinds.into_iter().map(|(_, strikes)| strikes).collect()
}

/// An instant to the second: a review is not helped by more.
fn told(at: SimTime) -> InDays {
    InDays(SimDuration::from_secs(at.saturating_since(SimTime::ZERO).as_secs()))
}

/// `3 machines, all of zone b, lost power (Crash) from 5m0s to 25m0s: node/worker-1, …`.
fn of_kind(strikes: &[Strike<'_>], inventory: &[InventoryRow]) -> String {
    let Some(first) = strikes.first().and_then(|strike| strike.rows.first()) else { return String::new() };
    let objects: BTreeSet<&str> =
        strikes.iter().flat_map(|strike| &strike.rows).map(|row| row.object.as_str()).collect();
    let named: Vec<String> = objects.iter().map(|object| (*object).to_owned()).collect();
    let nodes: BTreeSet<&str> = objects.iter().filter(|object| object.starts_with("node/")).copied().collect();
    let pods = objects.len() - nodes.len();
    let subject = match (nodes.len(), pods) {
        _ if first.stops == Stops::Process => {
            named.iter().map(|object| object.trim_start_matches("process/")).collect::<Vec<_>>().join(", ")
        }
        (0, pods) => counted(pods, "pod", "pods"),
        _ => machines(strikes, &nodes, inventory),
    };
    let when = match strikes {
        [one] => match one.ended {
            Some(ended) if ended == one.began => format!("at {}", told(one.began)),
            Some(ended) if ended.saturating_since(one.began) < SimDuration::from_secs(1) => {
                format!("from {} to {}", one.began.moment(), ended.moment())
            }
            Some(ended) => format!("from {} to {}", told(one.began), told(ended)),
            None => format!("from {} on, to the end of the run", told(one.began)),
        },
        several => {
            let to = several.iter().map(|strike| strike.ended).try_fold(SimTime::ZERO, |last, at| Some(last.max(at?)));
            let to = to.map_or_else(|| "the end of the run".to_owned(), |to| told(to).to_string());
            format!("in {} faults between {} and {to}", several.len(), told(several[0].began))
        }
    };
    let which = if first.stops == Stops::Process { String::new() } else { format!(": {}", names(&named)) };
    format!("{subject} {} ({}) {when}{which}", first.effect, first.kind)
}

/// `3 machines, all of zone b,`; zones are named if the machines of one fault stood in one or two.
fn machines(strikes: &[Strike<'_>], nodes: &BTreeSet<&str>, inventory: &[InventoryRow]) -> String {
    let count = counted(nodes.len(), "machine", "machines");
    let [one] = strikes else { return count };
    let there = |row: &&InventoryRow| row.joined_at <= one.began && row.left_at.is_none_or(|left| left > one.began);
    let there: Vec<&InventoryRow> = inventory.iter().filter(there).collect();
    if nodes.len() > 1 && nodes.len() == there.len() {
        return format!("all {count}");
    }
    let zones: BTreeSet<&str> = one.rows.iter().map(|row| row.zone.as_str()).filter(|zone| !zone.is_empty()).collect();
    let is_all_of = |zone: &str| {
        let in_zone = there.iter().filter(|row| row.zone.as_str() == zone).count();
        in_zone > 0 && one.rows.iter().filter(|row| row.zone.as_str() == zone).count() == in_zone
    };
    let zones: Vec<&str> = zones.into_iter().collect();
    match zones[..] {
        [] => count,
        [zone] if nodes.len() > 1 && is_all_of(zone) => format!("{count}, all of zone {zone},"),
        [zone] => format!("{count} in zone {zone}"),
        [a, b] => format!("{count} in the zones {a} and {b}"),
        _ => format!("{count} in {} zones", zones.len()),
    }
}

/// How little was left, if machines were missing at times.
pub(super) fn fewest(incident: &Incident<'_>) -> Option<Sentence> {
    let Extremes { begin, min, .. } = incident.extremes;
    if min.nodes_ready >= begin.nodes_ready {
        return None;
    }
    let tone = if incident.faults.is_empty() { Tone::Neutral } else { Tone::Healed };
    let (nodes, were) = (counted(min.nodes_ready, "node", "nodes"), if min.nodes_ready == 1 { "was" } else { "were" });
    let deleted = deleted(incident).unwrap_or_default();
    // A cluster that begins without a Ready pod has none to lose.
    let text = match begin.pods_ready {
        0 => format!("At the fewest, {nodes} {were} Ready, of {} at the start{deleted}", begin.nodes_ready),
        pods => format!(
            "At the fewest, {nodes} and {} were Ready, of {} and {pods} at the start{deleted}",
            counted(min.pods_ready, "pod", "pods"),
            begin.nodes_ready
        ),
    };
    Some(sentence(Matter::FewestReady, tone, text, Vec::new()))
}

/// Nodes that were deleted though no fault hit them, as a clause.
fn deleted(incident: &Incident<'_>) -> Option<String> {
    let hit: BTreeSet<&str> = incident.faults.iter().map(|row| row.object.as_str()).collect();
    let is_hit = |row: &InventoryRow| hit.contains(format!("node/{}", row.node).as_str());
    let left: Vec<SimTime> =
        incident.inventory.iter().filter(|row| !is_hit(row)).filter_map(|row| row.left_at).collect();
    let (first, last) = (left.iter().min()?, left.iter().max()?);
    let from = told(*first);
    let when = if told(*last) == from { format!("at {from}") } else { format!("from {from} on") };
    Some(format!("; {} deleted {when}", counted(left.len(), "node was", "nodes were")))
}

/// Who ran short, and who for the longest.
pub(super) fn shortages(workloads: &[WorkloadOutcome]) -> Option<Sentence> {
    let short: Vec<&WorkloadOutcome> = workloads.iter().filter(|of| of.longest_short_s > 0.0).collect();
    // The first of those that were short equally long.
    let longest = short.iter().rev().max_by(|a, b| a.longest_short_s.total_cmp(&b.longest_short_s))?;
    let text = format!(
        "Ran short: {} of {}; the longest {}, for {} from {} on, of up to {}",
        short.len(),
        counted(workloads.len(), "workload", "workloads"),
        longest.object(),
        if longest.longest_short_s < 1.0 {
            "less than 1s".to_owned()
        } else {
            whole_seconds(longest.longest_short_s).to_string()
        },
        whole_seconds(longest.longest_short_from_s.unwrap_or(0.0)),
        counted(longest.longest_short_missing, "pod", "pods"),
    );
    Some(sentence(Matter::LongestShortage, Tone::Healed, text, vec![longest.object()]))
}

/// Seconds of traffic that somebody missed: not those in which all behind the service was scaled to 0.
fn missed_s(service: &ServiceOutcome) -> f64 {
    service.lost_traffic_s - service.unwanted_s
}

/// Services that lost traffic.
pub(super) fn traffic(services: &[ServiceOutcome]) -> Option<Sentence> {
    let mut losers: Vec<&ServiceOutcome> = services.iter().filter(|of| missed_s(of) >= TRAFFIC_MIN_S).collect();
    losers.sort_by(|a, b| missed_s(b).total_cmp(&missed_s(a)));
    let worst = losers.first()?;
    let object = |of: &&ServiceOutcome| format!("service/{}/{}", of.namespace, of.name);
    let text = format!(
        "Lost traffic: of {}; the most {}, all that comes to it in {}",
        counted(losers.len(), "service", "services"),
        object(worst),
        whole_seconds(missed_s(worst).max(1.0)),
    );
    let text = match losers.len() {
        1 => text,
        _ => format!("{text}; together {}", whole_seconds(losers.iter().map(|of| missed_s(of)).sum())),
    };
    Some(sentence(Matter::TrafficLost, Tone::Healed, text, losers.iter().map(object).collect()))
}
