//! What several records say, made into one: duplicates, clocks that differ, and the same thing told twice.

use std::collections::{BTreeMap, BTreeSet};

use super::evidence::Evidence;
use super::inventory::Inventory;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Location};
use crate::evidence::{Bounds, DeletedBy, PodName, RecordId, RecordKind, Reporter, Sighting, What};
use crate::units::{SimDuration, counted, length};

const SECOND_NANOS: i64 = 1_000_000_000;
/// Clocks that differ by less are taken for one: events are stamped by whole seconds, and written a little after what they tell.
const OFFSET_MIN_NANOS: i64 = SECOND_NANOS;
/// So many things that both have seen make an offset believable.
const THINGS_MIN: usize = 3;
/// A log whose lines go back by more has a clock that was set.
const JUMP_NANOS: i64 = 60 * SECOND_NANOS;
/// Names that a message gives.
const NAMED_MAX: usize = 3;

/// One thing that was seen, whoever tells it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) when: Bounds,
    pub(super) what: What,
    /// Where it is said, in the order of reading.
    pub(super) said: Vec<Said>,
}

/// A place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Said {
    pub(super) record: RecordId,
    pub(super) place: u32,
}

/// By how much the clock of a record differs from that of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClockOffset {
    pub(super) record: RecordId,
    pub(super) reference: RecordId,
    /// What was added to the times of the record.
    pub(super) nanos: i64,
    /// How many things both have seen.
    pub(super) things: usize,
}

/// What all records say together, by time.
#[derive(Debug, Default)]
pub(super) struct Merged {
    pub(super) seen: Vec<Seen>,
    pub(super) clocks: Vec<ClockOffset>,
    /// Sightings that were there again, word for word.
    pub(super) repeated: usize,
    /// Nodes that the cluster file does not have, and how often they are spoken of.
    pub(super) unknown_nodes: BTreeMap<Symbol, usize>,
    /// Pods of which neither the file nor a workload of it knows.
    pub(super) unknown_pods: BTreeSet<PodName>,
}

/// What makes two sightings ones of the same thing.
type Key = (u8, [Symbol; 3], i64);

/// Makes one account of all records.
pub(super) fn merge(evidence: &mut Evidence, inventory: &Inventory) -> Merged {
    let mut merged = Merged::default();
    warn_of_jumps(evidence);
    let mut sightings = std::mem::take(&mut evidence.sightings);
    count_unknown(&sightings, inventory, &mut merged);
    warn_of_strangers(evidence, inventory, &sightings, &merged);
    sightings.sort_by_cached_key(|sighting| (key(&sighting.what), sighting.when, sighting.record, sighting.place));
    let before = sightings.len();
    sightings
        .dedup_by(|later, first| later.record == first.record && later.when == first.when && later.what == first.what);
    merged.repeated = before - sightings.len();
    merged.clocks = offsets(evidence, &sightings);
    for offset in &merged.clocks {
        let of = sightings.iter_mut().filter(|sighting| sighting.record == offset.record);
        of.for_each(|sighting| sighting.when = sighting.when.shifted(offset.nanos));
        warn_of_offset(evidence, offset);
    }
    if !merged.clocks.is_empty() {
        sightings.sort_by_cached_key(|sighting| (key(&sighting.what), sighting.when, sighting.record, sighting.place));
    }
    merged.seen = joined(sightings);
    merged.seen.sort_by_cached_key(|seen| (seen.when.middle(), key(&seen.what), seen.said[0]));
    merged
}

/// Sightings, sorted by key and time, with those of one thing made one.
fn joined(sightings: Vec<Sighting>) -> Vec<Seen> {
    let mut seen: Vec<Seen> = Vec::with_capacity(sightings.len());
    let mut last_key = None;
    for sighting in sightings {
        let said = Said { record: sighting.record, place: sighting.place };
        let this_key = key(&sighting.what);
        if let Some(last) = seen.last_mut()
            && last_key == Some(this_key)
            && is_change(&sighting.what)
            && last.said.iter().all(|said| said.record != sighting.record)
            && let Some(when) = both(last.when, sighting.when)
        {
            last.when = when;
            last.said.push(said);
            complete(&mut last.what, sighting.what);
            continue;
        }
        last_key = Some(this_key);
        seen.push(Seen { when: sighting.when, what: sighting.what, said: vec![said] });
    }
    seen
}

/// Bounds of a thing that two records tell: what both allow; where they miss each other by a little, what the more exact one says.
fn both(one: Bounds, other: Bounds) -> Option<Bounds> {
    one.and(other).or_else(|| {
        let gap = one.earliest.max(other.earliest).nanos_since(one.latest.min(other.latest));
        (gap <= OFFSET_MIN_NANOS).then(|| if other.width() < one.width() { other } else { one })
    })
}

/// Takes over what another record says and this one does not.
fn complete(what: &mut What, other: What) {
    match (what, other) {
        (What::NodeReady { by, .. }, What::NodeReady { by: other, .. }) if *by == Reporter::Unknown => *by = other,
        (What::PodDeletion { by, node, .. }, What::PodDeletion { by: other_by, node: other_node, .. }) => {
            if *by == DeletedBy::Unknown {
                *by = other_by;
            }
            *node = node.or(other_node);
        }
        (What::PodCreated { owner, .. }, What::PodCreated { owner: other, .. }) => *owner = owner.or(other),
        (What::Scaled { from, .. }, What::Scaled { from: other, .. }) => *from = from.or(other),
        (What::CloudNotice { deadline, .. }, What::CloudNotice { deadline: other, .. }) => {
            *deadline = deadline.or(other);
        }
        _ => {}
    }
}

/// Whether it comes about once at that time, so that two records that say it speak of the same.
fn is_change(what: &What) -> bool {
    !matches!(
        what,
        What::Heartbeat { .. }
            | What::PodSeen { .. }
            | What::PodUnschedulable { .. }
            | What::ImagePullFailed { .. }
            | What::Request(_)
    )
}

fn key(what: &What) -> Key {
    let none = Symbol::empty();
    let of_pod = |pod: PodName, third: Symbol| [pod.namespace, pod.name, third];
    let of_node = |node: Symbol, second: Symbol, third: Symbol| [node, second, third];
    match what {
        What::NodeReady { node, status, .. } => (0, of_node(*node, none, none), *status as i64),
        What::NodeCondition { node, condition, status } => (1, of_node(*node, *condition, none), *status as i64),
        What::NodeTaint { node, key, effect, is_present } => (2, of_node(*node, *key, *effect), i64::from(*is_present)),
        What::NodeSchedulable { node, is_schedulable } => (3, of_node(*node, none, none), i64::from(*is_schedulable)),
        What::NodePresent { node, is_present } => (4, of_node(*node, none, none), i64::from(*is_present)),
        What::InstanceGone { node } => (5, of_node(*node, none, none), 0),
        What::KubeletStarted { node } => (6, of_node(*node, none, none), 0),
        What::Rebooted { node } => (7, of_node(*node, none, none), 0),
        What::Heartbeat { node } => (8, of_node(*node, none, none), 0),
        What::CloudNotice { machine, notice, .. } => (9, of_node(*machine, none, none), *notice as i64),
        What::ZoneState { zone, state } => (10, of_node(*zone, *state, none), 0),
        What::PodCreated { pod, .. } => (11, of_pod(*pod, none), 0),
        What::PodScheduled { pod, node } => (12, of_pod(*pod, *node), 0),
        What::PodUnschedulable { pod, message } => (13, of_pod(*pod, *message), 0),
        What::PodReady { pod, is_ready } => (14, of_pod(*pod, none), i64::from(*is_ready)),
        What::PodDeletion { pod, .. } => (15, of_pod(*pod, none), 0),
        What::DeletionCancelled { pod } => (16, of_pod(*pod, none), 0),
        What::PodGone { pod } => (17, of_pod(*pod, none), 0),
        What::PodFinished { pod, is_success, .. } => (18, of_pod(*pod, none), i64::from(*is_success)),
        What::PodSeen { pod, node, is_ready, .. } => (19, of_pod(*pod, *node), i64::from(*is_ready)),
        What::ContainerEnded { pod, container, by } => (20, of_pod(*pod, *container), *by as i64),
        What::ContainerStarted { pod, container } => (21, of_pod(*pod, *container), 0),
        What::ImagePullFailed { pod, image, .. } => (22, of_pod(*pod, *image), 0),
        What::Scaled { kind, namespace, name, to, .. } => (23, [*kind, *namespace, *name], *to),
        What::Request(request) => (24, [request.resource, request.namespace, request.name], i64::from(request.code)),
        What::ComponentStarted { component } => (25, of_node(*component, none, none), 0),
    }
}

/// Which clock counts where two differ: the one that stamps what comes about, and most exactly.
fn rank(kind: RecordKind) -> u8 {
    match kind {
        RecordKind::Audit => 0,
        RecordKind::Events => 1,
        RecordKind::Objects => 2,
        RecordKind::Intervals => 3,
        RecordKind::Metrics => 4,
        RecordKind::ControllerLog => 5,
        RecordKind::Cloud => 6,
    }
}

/// How each record's clock differs from the one that counts, as far as it does by a constant.
fn offsets(evidence: &Evidence, sightings: &[Sighting]) -> Vec<ClockOffset> {
    if evidence.records.len() < 2 {
        return Vec::new();
    }
    let mut by_record: BTreeMap<RecordId, BTreeMap<Key, Vec<Bounds>>> = BTreeMap::new();
    for sighting in sightings.iter().filter(|sighting| is_change(&sighting.what)) {
        let things = by_record.entry(sighting.record).or_default();
        things.entry(key(&sighting.what)).or_default().push(sighting.when);
    }
    let order = |record: &RecordId, things: &BTreeMap<Key, Vec<Bounds>>| {
        let kind = evidence.records[record.0 as usize].kind;
        (rank(kind), std::cmp::Reverse(things.len()), *record)
    };
    let Some((reference, known)) = by_record.iter().min_by_key(|(record, things)| order(record, things)) else {
        return Vec::new();
    };
    let others = by_record.iter().filter(|(record, _)| *record != reference);
    others
        .filter_map(|(record, things)| {
            let pairs: Vec<(Bounds, Bounds)> = things
                .iter()
                .filter_map(|(key, times)| {
                    known.get(key).filter(|known| known.len() == times.len()).map(|k| (k, times))
                })
                .flat_map(|(known, times)| known.iter().copied().zip(times.iter().copied()))
                .collect();
            let nanos = offset(&pairs)?;
            Some(ClockOffset { record: *record, reference: *reference, nanos, things: pairs.len() })
        })
        .collect()
}

/// What has to be added to the second times of all pairs, if they differ by a constant that matters.
fn offset(pairs: &[(Bounds, Bounds)]) -> Option<i64> {
    if pairs.len() < THINGS_MIN {
        return None;
    }
    let agree = pairs.iter().filter(|(known, other)| both(*known, *other).is_some()).count();
    if agree * 2 >= pairs.len() {
        return None;
    }
    let difference = |(known, other): &(Bounds, Bounds)| known.middle().nanos_since(other.middle());
    let mut differences: Vec<i64> = pairs.iter().map(difference).collect();
    differences.sort_unstable();
    let median = differences[differences.len() / 2];
    let fits = |(known, other): &&(Bounds, Bounds)| both(*known, other.shifted(median)).is_some();
    let is_constant = pairs.iter().filter(fits).count() * 5 >= pairs.len() * 3;
    (is_constant && median.abs() > OFFSET_MIN_NANOS).then_some(median)
}

fn warn_of_offset(evidence: &mut Evidence, offset: &ClockOffset) {
    let name = |record: RecordId| evidence.records[record.0 as usize].name.clone();
    let (of, reference) = (name(offset.record), name(offset.reference));
    let by = length(offset.nanos.unsigned_abs() as f64 / 1e9);
    let way = if offset.nanos > 0 { "behind" } else { "ahead of" };
    let message = format!("the clock of `{of}` is {by} {way} that of `{reference}`; its times are shifted");
    let things = counted(offset.things, "thing that both have seen", "things that both have seen");
    let diagnostic = Diagnostic::warning("evidence::clock_offset", message).at(Location::file(of), "");
    evidence.problem(diagnostic.help(format!("the median of {things}")), None);
}

/// Audit logs are written in the order of time: one that goes back has a clock that was set. Of other logs their reader says it.
fn warn_of_jumps(evidence: &mut Evidence) {
    let mut latest: BTreeMap<RecordId, (i64, i64)> = BTreeMap::new();
    // Of heartbeats readers tell the last ones, once all has been read.
    let in_order = |sighting: &&Sighting| !matches!(sighting.what, What::Heartbeat { .. });
    for sighting in evidence.sightings.iter().filter(in_order) {
        let kind = evidence.records[sighting.record.0 as usize].kind;
        if kind == RecordKind::Audit {
            let at = sighting.when.latest.unix_nanos();
            let entry = latest.entry(sighting.record).or_insert((at, 0));
            entry.1 = entry.1.max(entry.0 - at);
            entry.0 = entry.0.max(at);
        }
    }
    for (record, (_, back)) in latest {
        if back > JUMP_NANOS {
            let name = evidence.records[record.0 as usize].name.clone();
            let by = length(back as f64 / 1e9);
            let message = format!("the clock of `{name}` jumps back by {by}: what it says of times is not sure");
            evidence.problem(Diagnostic::warning("evidence::clock_jump", message).at(Location::file(name), ""), None);
        }
    }
}

fn count_unknown(sightings: &[Sighting], inventory: &Inventory, merged: &mut Merged) {
    for sighting in sightings {
        if let Some(node) = sighting.what.node()
            && !node.is_empty()
            && !inventory.nodes.contains_key(&node)
        {
            *merged.unknown_nodes.entry(node).or_default() += 1;
        }
        if let Some(pod) = sighting.what.pod()
            && !merged.unknown_pods.contains(&pod)
            && !inventory.knows_pod(pod)
        {
            merged.unknown_pods.insert(pod);
        }
    }
}

/// Evidence that speaks of other nodes and pods than the cluster has is of another cluster.
fn warn_of_strangers(evidence: &mut Evidence, inventory: &Inventory, sightings: &[Sighting], merged: &Merged) {
    let nodes: BTreeSet<Symbol> = sightings.iter().filter_map(|sighting| sighting.what.node()).collect();
    let pods: BTreeSet<PodName> = sightings.iter().filter_map(|sighting| sighting.what.pod()).collect();
    let known_nodes = nodes.iter().filter(|node| inventory.nodes.contains_key(node)).count();
    let known_pods = pods.len() - merged.unknown_pods.len();
    let unknown = merged.unknown_nodes.len() + merged.unknown_pods.len();
    if unknown <= known_nodes + known_pods {
        return;
    }
    let mut named: Vec<String> = merged.unknown_nodes.keys().map(|node| format!("node {node}")).collect();
    named.extend(merged.unknown_pods.iter().map(|pod| format!("pod {}/{}", pod.namespace, pod.name)));
    named.truncate(NAMED_MAX);
    let spoken_of = format!(
        "the evidence speaks of {} and {} that the cluster file does not have, such as {}",
        counted(merged.unknown_nodes.len(), "node", "nodes"),
        counted(merged.unknown_pods.len(), "pod", "pods"),
        named.join(", ")
    );
    let diagnostic = if known_nodes + known_pods == 0 {
        Diagnostic::error("evidence::other_cluster", format!("this is evidence of another cluster: {spoken_of}"))
    } else {
        let known = counted(known_nodes + known_pods, "that it has", "that it has");
        Diagnostic::warning("evidence::other_cluster", format!("{spoken_of}; {known}"))
    };
    evidence.problem(diagnostic.help("give the cluster that the evidence is of with `--cluster`"), None);
}

/// A length that is never negative, of nanoseconds.
pub(super) fn duration(nanos: i64) -> SimDuration {
    SimDuration::from_nanos(u64::try_from(nanos).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::bench::{Bench, at, cluster, pod, sym};
    use super::*;
    use crate::diagnostics::Severity;
    use crate::model::ConditionStatus;

    fn lost(node: &str, by: Reporter) -> What {
        What::NodeReady { node: sym(node), status: ConditionStatus::Unknown, by }
    }

    fn codes(bench: &mut Bench) -> Vec<(&'static str, Severity)> {
        let inventory = Inventory::of(&cluster());
        merge(&mut bench.evidence, &inventory);
        bench.evidence.diagnostics.iter().map(|found| (found.code, found.severity)).collect()
    }

    #[test]
    fn what_several_records_tell_is_one_thing_with_what_all_of_them_allow() {
        let mut bench = Bench::new();
        bench.see(100.0, lost("w-1", Reporter::Controller));
        bench.record(RecordKind::Metrics, "metrics.json");
        bench.see_in(Bounds { earliest: at(75.0), latest: at(100.4) }, lost("w-1", Reporter::Unknown));
        bench.with(|_, seen| {
            assert_eq!(seen.len(), 1);
            assert_eq!(seen[0].when, Bounds { earliest: at(100.0), latest: at(100.4) });
            assert_eq!((seen[0].said.len(), &seen[0].what), (2, &lost("w-1", Reporter::Controller)));
        });
    }

    #[test]
    fn the_same_line_five_times_is_one_and_one_record_that_tells_it_later_means_another() {
        let mut bench = Bench::new();
        for _ in 0..5 {
            bench.see(100.0, lost("w-1", Reporter::Controller));
        }
        bench.see(101.0, lost("w-1", Reporter::Controller));
        bench.with(|_, seen| assert_eq!(seen.len(), 2));
    }

    #[test]
    fn a_clock_that_is_off_by_a_constant_is_shifted() {
        let mut bench = Bench::of(RecordKind::Audit);
        for node in 0..4 {
            bench.see_at(100.0 + f64::from(node) * 7.0, lost(&format!("w-{node}"), Reporter::Controller));
        }
        bench.record(RecordKind::ControllerLog, "manager.log");
        for node in 0..4 {
            bench.see_at(160.1 + f64::from(node) * 7.0, lost(&format!("w-{node}"), Reporter::Controller));
        }
        let inventory = Inventory::of(&cluster());
        let merged = merge(&mut bench.evidence, &inventory);
        assert_eq!(
            merged.clocks.iter().map(|clock| (clock.nanos, clock.things)).collect::<Vec<_>>(),
            [(-60_100_000_000, 4)]
        );
        assert_eq!(merged.seen.len(), 4);
        let told = bench.evidence.diagnostics.iter().next().expect("a warning");
        assert!(told.message.contains("ahead of"), "{}", told.message);
    }

    #[test]
    fn clocks_that_agree_within_their_precision_are_left_alone() {
        let mut bench = Bench::of(RecordKind::Audit);
        for node in 0..4 {
            bench.see_at(100.0 + f64::from(node), lost(&format!("w-{node}"), Reporter::Controller));
        }
        bench.record(RecordKind::Metrics, "metrics.json");
        for node in 0..4 {
            let when = Bounds { earliest: at(90.0), latest: at(120.0) };
            bench.see_in(when, lost(&format!("w-{node}"), Reporter::Unknown));
        }
        assert!(codes(&mut bench).is_empty());
    }

    #[test]
    fn a_log_that_goes_back_has_a_clock_that_was_set() {
        let mut bench = Bench::of(RecordKind::Audit);
        bench.see_at(500.0, lost("w-1", Reporter::Controller)).see_at(100.0, lost("w-2", Reporter::Controller));
        assert_eq!(codes(&mut bench), [("evidence::clock_jump", Severity::Warning)]);
    }

    #[test]
    fn evidence_of_another_cluster_is_refused_and_of_much_else_a_warning() {
        let mut strange = Bench::new();
        strange.see(1.0, lost("ip-10-0-0-1", Reporter::Controller));
        strange.see(2.0, What::PodGone { pod: pod("other-5d8f-abcde") });
        assert_eq!(codes(&mut strange), [("evidence::other_cluster", Severity::Error)]);
        let mut mixed = Bench::new();
        mixed.see(1.0, lost("w-1", Reporter::Controller));
        mixed.see(1.0, lost("x-1", Reporter::Controller)).see(1.0, lost("x-2", Reporter::Controller));
        assert_eq!(codes(&mut mixed), [("evidence::other_cluster", Severity::Warning)]);
        let mut own = Bench::new();
        own.see(1.0, lost("w-1", Reporter::Controller)).see(2.0, What::PodGone { pod: pod("web-2-abcde") });
        assert!(codes(&mut own).is_empty());
    }
}
