//! What was seen, as facts that a play can be held against.

use std::collections::BTreeMap;

use super::inventory::Inventory;
use super::sources::Seen;
use super::timeline::Timeline;
use super::words::status_word;
use crate::arena::Symbol;
use crate::evidence::{DeletedBy, Fact, FactKind, Instant, ObservedFact, PodName, RecordKind, What};
use crate::units::{SimDuration, SimTime};

/// Records that tell of one deletion do so no further apart.
const ONE_DELETION: SimDuration = SimDuration::from_secs(1);

/// Facts from t=0 on, by time, and how many there were before.
pub(super) struct Facts {
    pub(super) rows: Vec<ObservedFact>,
    pub(super) before: usize,
}

/// Everything that a play can be held against.
pub(super) fn facts(timeline: &Timeline<'_>, t0: Instant) -> Facts {
    let owners = owners_told(timeline);
    let mut rows = Vec::new();
    let mut before = 0;
    let mut last: BTreeMap<(FactKind, Symbol, Symbol), Symbol> = BTreeMap::new();
    // By pod: the row of its deletion.
    let mut deleted: BTreeMap<(Symbol, Symbol), usize> = BTreeMap::new();
    for seen in timeline.seen {
        let Some(fact) = fact(seen, timeline, &owners) else { continue };
        // A condition that is told again has not changed.
        let state = (fact.kind, fact.namespace, fact.name);
        let is_state = matches!(fact.kind, FactKind::NodeReady | FactKind::NodeUnschedulable | FactKind::PodReady);
        if is_state && last.insert(state, fact.value) == Some(fact.value) {
            continue;
        }
        if seen.when.latest < t0 {
            before += 1;
            continue;
        }
        let mut sources: Vec<RecordKind> = timeline.records_of(seen).collect();
        sources.sort_unstable();
        sources.dedup();
        let [at, earliest, latest] =
            [seen.when.middle(), seen.when.earliest, seen.when.latest].map(|time| since(time, t0));
        let row = ObservedFact { at, earliest, latest, fact, sources };
        match fact.kind {
            FactKind::PodDeletion => match deleted.get(&(fact.namespace, fact.name)) {
                // Whoever asks later finds it asked for.
                Some(first) => {
                    tell_again(&mut rows[*first], row);
                    continue;
                }
                None => drop(deleted.insert((fact.namespace, fact.name), rows.len())),
            },
            FactKind::PodGone | FactKind::PodCreated => drop(deleted.remove(&(fact.namespace, fact.name))),
            _ => {}
        }
        rows.push(row);
    }
    rows.sort_by_key(|row| (row.at, row.earliest, row.fact));
    Facts { rows, before }
}

/// Takes what another sighting adds to a fact.
fn tell_again(row: &mut ObservedFact, again: ObservedFact) {
    let is_same_time = again.earliest.saturating_since(row.latest) <= ONE_DELETION;
    if is_same_time && again.latest.saturating_since(again.earliest) < row.latest.saturating_since(row.earliest) {
        (row.at, row.earliest, row.latest) = (again.at, again.earliest, again.latest);
    }
    if row.fact.value.is_empty() {
        row.fact.value = again.fact.value;
    }
    row.sources.extend(again.sources);
    row.sources.sort_unstable();
    row.sources.dedup();
}

/// An instant as time since t=0.
pub(super) const fn since(instant: Instant, t0: Instant) -> SimTime {
    SimTime::from_nanos(instant.nanos_since(t0))
}

/// The owners that sightings themselves name.
fn owners_told(timeline: &Timeline<'_>) -> BTreeMap<PodName, (Symbol, Symbol)> {
    let told = timeline.seen.iter().filter_map(|seen| match &seen.what {
        What::PodCreated { pod, owner: Some(owner) } | What::PodSeen { pod, owner: Some(owner), .. } => {
            Some((*pod, *owner))
        }
        _ => None,
    });
    told.collect()
}

fn fact(seen: &Seen, timeline: &Timeline<'_>, owners: &BTreeMap<PodName, (Symbol, Symbol)>) -> Option<Fact> {
    let none = Symbol::empty();
    let of_node = |kind, name: Symbol, value: Symbol| {
        let [namespace, owner_kind, owner_name, node] = [none; 4];
        Some(Fact { kind, namespace, name, owner_kind, owner_name, node, value })
    };
    let of_pod = |kind, pod: PodName, node: Option<Symbol>, value: Symbol| {
        let owner = owner(pod, owners, timeline.inventory);
        let (owner_kind, owner_name) = owner.unwrap_or((none, none));
        let node = node.or_else(|| timeline.node_of(pod, seen.when.latest)).unwrap_or(none);
        let PodName { namespace, name } = pod;
        Some(Fact { kind, namespace, name, owner_kind, owner_name, node, value })
    };
    let word = |is: bool| Symbol::new(if is { "true" } else { "false" });
    match &seen.what {
        What::NodeReady { node, status, .. } => of_node(FactKind::NodeReady, *node, Symbol::new(status_word(*status))),
        What::NodePresent { node, is_present: false } => of_node(FactKind::NodeReady, *node, Symbol::new("Absent")),
        What::NodeTaint { node, key, effect, is_present } => {
            let left = if *is_present { "" } else { "-" };
            of_node(FactKind::NodeTaint, *node, Symbol::from(format!("{key}:{effect}{left}")))
        }
        What::NodeSchedulable { node, is_schedulable } => {
            of_node(FactKind::NodeUnschedulable, *node, word(!is_schedulable))
        }
        What::PodCreated { pod, .. } => {
            of_pod(FactKind::PodCreated, *pod, None, none).map(|fact| Fact { node: none, ..fact })
        }
        What::PodScheduled { pod, node } => of_pod(FactKind::PodScheduled, *pod, Some(*node), none),
        What::PodReady { pod, is_ready } => {
            of_pod(FactKind::PodReady, *pod, None, Symbol::new(if *is_ready { "True" } else { "False" }))
        }
        What::PodDeletion { pod, by, node } => of_pod(FactKind::PodDeletion, *pod, *node, Symbol::new(cause(*by))),
        What::PodGone { pod } => of_pod(FactKind::PodGone, *pod, None, none),
        What::PodFinished { pod, is_success, .. } => {
            of_pod(FactKind::PodFinished, *pod, None, Symbol::new(if *is_success { "Succeeded" } else { "Failed" }))
        }
        _ => None,
    }
}

/// The controller of a pod: as a record names it, as the cluster does, or as its name tells.
fn owner(pod: PodName, told: &BTreeMap<PodName, (Symbol, Symbol)>, inventory: &Inventory) -> Option<(Symbol, Symbol)> {
    told.get(&pod).copied().or_else(|| inventory.owner_of(pod))
}

/// The cause as the column `deletion_cause` has it; empty where a record does not tell it.
const fn cause(by: DeletedBy) -> &'static str {
    match by {
        DeletedBy::TaintManager => "TaintManagerEviction",
        DeletedBy::Eviction => "EvictionByEvictionAPI",
        DeletedBy::PodGC => "DeletionByPodGC",
        DeletedBy::Preemption => "PreemptionByScheduler",
        DeletedBy::Kubelet => "TerminationByKubelet",
        DeletedBy::Operator => "Kubectl",
        // Scaling and rollouts have words of their own, which a deletion alone does not tell apart.
        DeletedBy::Workload | DeletedBy::Unknown => "",
    }
}
