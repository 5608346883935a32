//! What was seen, by node and by pod.

use std::collections::{BTreeMap, BTreeSet};

use super::inventory::Inventory;
use super::sources::Seen;
use crate::arena::Symbol;
use crate::evidence::{Bounds, Instant, PodName, Record, RecordId, RecordKind, Reporter, Request, What};
use crate::model::ConditionStatus;
use crate::units::SimDuration;

/// The taints by which the node lifecycle controller says what it thinks of a node.
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// A change of a node's Ready condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) when: Bounds,
    pub(super) status: ConditionStatus,
    pub(super) by: Reporter,
    /// The sighting that says so.
    pub(super) seen: usize,
}

/// A record that samples nodes' Ready conditions.
#[derive(Clone, Copy, Debug)]
struct Sampler {
    record: RecordId,
    covers: Bounds,
    step: SimDuration,
}

impl Sampler {
    /// The time of the first sample after a change that another record tells, if the node is Ready in it.
    fn is_ready_after(&self, timeline: &Timeline<'_>, node: Symbol, turn: &Turn) -> Option<Instant> {
        let next = turn.when.latest.later(self.step);
        if !self.covers.contains(turn.when.earliest) || !self.covers.contains(next) {
            return None;
        }
        let told = timeline.of_node(node).filter(|(_, seen)| seen.said.iter().any(|said| said.record == self.record));
        let told = told.filter(|(_, seen)| seen.when.latest <= next);
        let status = told.filter_map(|(_, seen)| match &seen.what {
            What::NodeReady { status, .. } => Some(*status),
            // It was removed meanwhile.
            What::NodePresent { is_present: false, .. } => Some(ConditionStatus::Unknown),
            _ => None,
        });
        (status.last().unwrap_or(ConditionStatus::True) == ConditionStatus::True).then_some(next)
    }
}

fn samplers(seen: &[Seen], records: &[Record]) -> Vec<Sampler> {
    let of_ready = seen.iter().filter(|seen| matches!(seen.what, What::NodeReady { .. }));
    let told: BTreeSet<RecordId> = of_ready.flat_map(|seen| seen.said.iter().map(|said| said.record)).collect();
    let sampler = |record: RecordId| {
        let Record { kind, covers, step, .. } = &records[record.0 as usize];
        let is_sampled = *kind == RecordKind::Metrics;
        is_sampled.then_some(())?;
        Some(Sampler { record, covers: (*covers)?, step: (*step)? })
    };
    told.into_iter().filter_map(sampler).collect()
}

/// Where a pod was, from when on.
#[derive(Clone, Copy, Debug)]
struct Stay {
    since: Instant,
    node: Symbol,
}

/// Everything that was seen, with where to find what is of a node or of a pod.
#[derive(Debug)]
pub(super) struct Timeline<'a> {
    pub(super) seen: &'a [Seen],
    pub(super) inventory: &'a Inventory,
    /// The last that a record tells or watched.
    pub(super) ends: Instant,
    records: &'a [Record],
    by_node: BTreeMap<Symbol, Vec<usize>>,
    by_pod: BTreeMap<PodName, Vec<usize>>,
    stays: BTreeMap<PodName, Vec<Stay>>,
    pods_of: BTreeMap<Symbol, Vec<PodName>>,
    turns: BTreeMap<Symbol, Vec<Turn>>,
    samplers: Vec<Sampler>,
    /// Requests about nodes.
    requests: BTreeMap<Symbol, Vec<usize>>,
    scales: BTreeMap<(Symbol, Symbol, Symbol), Vec<usize>>,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(seen: &'a [Seen], records: &'a [Record], inventory: &'a Inventory) -> Self {
        let (mut by_node, mut by_pod) = (BTreeMap::<_, Vec<usize>>::new(), BTreeMap::<_, Vec<usize>>::new());
        let mut stays: BTreeMap<PodName, Vec<Stay>> = BTreeMap::new();
        let mut requests: BTreeMap<Symbol, Vec<usize>> = BTreeMap::new();
        let mut scales: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        let beginning = Instant::from_unix_nanos(i64::MIN);
        for (pod, known) in &inventory.pods {
            if let Some(node) = known.node {
                stays.insert(*pod, vec![Stay { since: known.created.unwrap_or(beginning), node }]);
            }
        }
        for (index, one) in seen.iter().enumerate() {
            let node = match &one.what {
                What::CloudNotice { machine, .. } => inventory.node_of_machine(*machine),
                what => what.node(),
            };
            if let What::Scaled { kind, namespace, name, .. } = &one.what {
                scales.entry((*kind, *namespace, *name)).or_default().push(index);
            }
            if let What::Request(request) = &one.what
                && request.resource.as_str() == "nodes"
            {
                requests.entry(request.name).or_default().push(index);
            }
            if let Some(node) = node {
                by_node.entry(node).or_default().push(index);
            }
            if let Some(pod) = one.what.pod() {
                by_pod.entry(pod).or_default().push(index);
                if let Some(node) = node.filter(|_| says_where(&one.what)) {
                    let stays = stays.entry(pod).or_default();
                    if stays.last().is_none_or(|stay| stay.node != node) {
                        stays.push(Stay { since: one.when.earliest, node });
                    }
                }
            }
        }
        let mut pods_of: BTreeMap<Symbol, Vec<PodName>> = BTreeMap::new();
        for (pod, stays) in &mut stays {
            stays.sort_by_key(|stay| stay.since);
            let mut nodes: Vec<Symbol> = stays.iter().map(|stay| stay.node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes.into_iter().for_each(|node| pods_of.entry(node).or_default().push(*pod));
        }
        let watched = records.iter().filter_map(|record| Some(record.covers?.latest));
        let ends = seen.iter().map(|seen| seen.when.latest).chain(watched).max();
        let mut timeline = Self {
            seen,
            inventory,
            ends: ends.unwrap_or(beginning),
            records,
            by_node,
            by_pod,
            stays,
            pods_of,
            turns: BTreeMap::new(),
            samplers: samplers(seen, records),
            requests,
            scales,
        };
        timeline.turns = timeline.by_node.keys().map(|node| (*node, timeline.turns_of(*node))).collect();
        timeline
    }

    /// The kinds of records that say so.
    pub(super) fn records_of(&self, seen: &'a Seen) -> impl Iterator<Item = RecordKind> + 'a {
        let records = self.records;
        seen.said.iter().map(move |said| records[said.record.0 as usize].kind)
    }

    /// Nodes that are spoken of, and those of the cluster.
    pub(super) fn nodes(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.by_node.keys().copied()
    }

    pub(super) fn of_node(&self, node: Symbol) -> impl Iterator<Item = (usize, &'a Seen)> + '_ {
        self.by_node.get(&node).into_iter().flatten().map(|&index| (index, &self.seen[index]))
    }

    pub(super) fn of_pod(&self, pod: PodName) -> impl Iterator<Item = (usize, &'a Seen)> + '_ {
        self.by_pod.get(&pod).into_iter().flatten().map(|&index| (index, &self.seen[index]))
    }

    pub(super) fn pods(&self) -> impl Iterator<Item = PodName> + '_ {
        self.by_pod.keys().copied()
    }

    /// Pods that were ever seen on a node.
    pub(super) fn pods_of(&self, node: Symbol) -> &[PodName] {
        self.pods_of.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Where a pod was at a time: of stays that begin later, the first counts if there is none before.
    pub(super) fn node_of(&self, pod: PodName, at: Instant) -> Option<Symbol> {
        let stays = self.stays.get(&pod)?;
        let later = stays.partition_point(|stay| stay.since <= at);
        stays.get(later.saturating_sub(1)).map(|stay| stay.node)
    }

    /// The changes of a node's Ready condition, by time.
    pub(super) fn turns(&self, node: Symbol) -> &[Turn] {
        self.turns.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Ready conditions say it; taints do where no condition was recorded.
    fn turns_of(&self, node: Symbol) -> Vec<Turn> {
        let has_conditions = self.of_node(node).any(|(_, seen)| matches!(seen.what, What::NodeReady { .. }));
        let mut turns: Vec<Turn> = Vec::new();
        let mut taints: Vec<(Symbol, Symbol)> = Vec::new();
        for (index, seen) in self.of_node(node) {
            let (status, by) = match &seen.what {
                What::NodeReady { status, by, .. } => (*status, *by),
                What::NodeTaint { key, effect, is_present, .. }
                    if !has_conditions && matches!(key.as_str(), UNREACHABLE | NOT_READY) =>
                {
                    taints.retain(|taint| *taint != (*key, *effect));
                    if *is_present {
                        taints.push((*key, *effect));
                    }
                    (status_by(&taints), Reporter::Unknown)
                }
                _ => continue,
            };
            let turn = Turn { when: seen.when, status, by, seen: index };
            match turns.last_mut() {
                Some(last) if last.status == status && last.by == Reporter::Unknown => last.by = by,
                Some(last) if last.status == status => {}
                None if has_conditions || status != ConditionStatus::True => turns.push(turn),
                None => {}
                Some(_) => turns.push(turn),
            }
        }
        self.returns_between_samples(node, turns)
    }

    /// A node that was missed and is Ready in the next sample was heard again before it, although no sample tells of a change.
    fn returns_between_samples(&self, node: Symbol, turns: Vec<Turn>) -> Vec<Turn> {
        let mut all = Vec::with_capacity(turns.len());
        let mut rest = turns.into_iter().peekable();
        while let Some(turn) = rest.next() {
            all.push(turn);
            if turn.status != ConditionStatus::Unknown {
                continue;
            }
            let until = self.samplers.iter().filter_map(|sampler| sampler.is_ready_after(self, node, &turn)).min();
            let next = rest.peek().map(|next: &Turn| next.when.earliest);
            if let Some(until) = until.filter(|until| next.is_none_or(|next| next > *until)) {
                let when = Bounds { earliest: turn.when.earliest, latest: until };
                all.push(Turn { when, status: ConditionStatus::True, by: Reporter::Unknown, seen: turn.seen });
            }
        }
        all
    }

    /// The first sighting of a node from a time on that fits.
    pub(super) fn first_of_node(
        &self,
        node: Symbol,
        from: Instant,
        is_wanted: impl Fn(&What) -> bool,
    ) -> Option<(usize, &'a Seen)> {
        self.of_node(node).find(|(_, seen)| seen.when.latest >= from && is_wanted(&seen.what))
    }

    /// The last sighting of a node up to a time that fits.
    pub(super) fn last_of_node(
        &self,
        node: Symbol,
        until: Instant,
        is_wanted: impl Fn(&What) -> bool,
    ) -> Option<(usize, &'a Seen)> {
        let indices = self.by_node.get(&node)?;
        let mut found = indices.iter().rev().map(|&index| (index, &self.seen[index]));
        found.find(|(_, seen)| seen.when.earliest <= until && is_wanted(&seen.what))
    }

    /// Requests about a node.
    pub(super) fn requests_about(&self, node: Symbol) -> impl Iterator<Item = (usize, &'a Request)> + '_ {
        self.requests.get(&node).into_iter().flatten().filter_map(|&index| match &self.seen[index].what {
            What::Request(request) => Some((index, &**request)),
            _ => None,
        })
    }

    /// Changes of a workload's replicas, by kind, namespace and name.
    pub(super) fn scales(&self, of: (Symbol, Symbol, Symbol)) -> impl Iterator<Item = (usize, &'a Seen)> + '_ {
        self.scales.get(&of).into_iter().flatten().map(|&index| (index, &self.seen[index]))
    }
}

/// Whether a sighting that names a node and a pod says that the pod is there.
fn says_where(what: &What) -> bool {
    matches!(what, What::PodScheduled { .. } | What::PodSeen { .. } | What::PodDeletion { .. })
}

/// What the taints of the node lifecycle controller say of Ready.
fn status_by(taints: &[(Symbol, Symbol)]) -> ConditionStatus {
    let has = |wanted: &str| taints.iter().any(|(key, _)| key.as_str() == wanted);
    match (has(UNREACHABLE), has(NOT_READY)) {
        (true, _) => ConditionStatus::Unknown,
        (false, true) => ConditionStatus::False,
        (false, false) => ConditionStatus::True,
    }
}

/// So much later than the bounds allow at the latest, and at the earliest.
pub(super) const fn later(bounds: Bounds, earliest: SimDuration, latest: SimDuration) -> Bounds {
    Bounds { earliest: bounds.earliest.later(earliest), latest: bounds.latest.later(latest) }
}
