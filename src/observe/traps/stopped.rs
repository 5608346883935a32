//! Evictions that were stopped, or slowed down, because too much of a zone or of the cluster was down.
//!
//! The node lifecycle controller keeps the state of zones to itself; it is worked out here from what it works it out from.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{Discriminant, discriminant};

use super::named::{Names, and_more, length, moment};
use super::nodes::{NodeFacts, Turn};
use super::{Mechanism, Trap, TrapKind};
use crate::arena::{Column, Symbol};
use crate::component::{Config, name_of_pod, node_name};
use crate::model::{Labels, NoExecuteStay, Taint, TaintEffect, no_execute_stay, region_of, zone_of};
use crate::state::{Change, Changed, NodeId, NodeSlot, Pod, PodDelta, PodId, Status, Store};
use crate::units::{SimDuration, SimTime};

/// Less than this is the ordinary pace of one node in ten seconds.
const LEAST: SimDuration = SimDuration::from_secs(30);

/// Region and zone.
type ZoneKey = (Symbol, Symbol);

/// Nodes of a zone that count.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Census {
    total: usize,
    not_ready: usize,
}

/// Why nodes are not tainted as they otherwise would be.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stop {
    /// All that count are down.
    Everything,
    /// A zone is partly down; the rate is the secondary one, or zero if the zone is not large.
    Partial { zone: Symbol, census: Census, is_slow: bool },
}

/// A node that is not Ready, and was kept from its taint.
#[derive(Copy, Clone, Debug)]
struct Held {
    stop: Stop,
    since: SimTime,
    /// When nothing kept it any more.
    until: Option<SimTime>,
    unready_since: SimTime,
}

#[derive(Clone, Debug)]
pub(super) struct Stopped {
    unhealthy_share: f64,
    large_zone: i64,
    normal_rate: f64,
    secondary_rate: f64,
    zones: BTreeMap<ZoneKey, Census>,
    counted: Column<NodeSlot, Option<(ZoneKey, bool)>>,
    /// What stopped the taints of each zone when nodes were last held against it.
    stops: Vec<Option<Discriminant<Stop>>>,
    held: BTreeMap<NodeId, Held>,
    pods: Names,
    nodes: BTreeSet<NodeId>,
    first_at: Option<SimTime>,
    worst: Option<(SimDuration, String)>,
}

impl Mechanism for Stopped {
    type Found = Option<Trap>;

    fn begin(nodes: &NodeFacts, store: &Store, config: &Config) -> Self {
        let flags = &config.kube_controller_manager;
        let mut stopped = Self {
            unhealthy_share: flags.unhealthy_zone_threshold,
            large_zone: flags.large_cluster_size_threshold,
            normal_rate: flags.node_eviction_rate,
            secondary_rate: flags.secondary_node_eviction_rate,
            zones: BTreeMap::new(),
            counted: Column::new(),
            stops: Vec::new(),
            held: BTreeMap::new(),
            pods: Names::default(),
            nodes: BTreeSet::new(),
            first_at: None,
            worst: None,
        };
        let ids: Vec<NodeId> = store.nodes().map(|(id, _)| id).collect();
        for node in ids {
            stopped.count(node, store);
        }
        stopped.hold(SimTime::ZERO, None, nodes, store);
        stopped
    }

    fn changed(&mut self, change: &Change, turn: Turn, nodes: &NodeFacts, store: &Store) {
        match &change.what {
            Changed::PodUpdated { pod, delta, .. } if delta.touches(PodDelta::DELETION) && !self.held.is_empty() => {
                if let Some(object) = store.pod(*pod) {
                    self.pod_left(change.at, object, store);
                }
            }
            Changed::PodRemoved { last, .. } if !self.held.is_empty() => self.pod_left(change.at, last, store),
            _ => {}
        }
        let Turn::Of(node) = turn else { return };
        if nodes.of(node).unready_since.is_none() {
            self.node_back(change.at, node, store);
        }
        let has_turned = self.count(node, store);
        if has_turned || nodes.unready().contains(&node) {
            self.hold(change.at, Some(node), nodes, store);
        }
    }

    fn finish(mut self, end: SimTime, nodes: &NodeFacts, store: &Store) -> Self::Found {
        for (node, held) in std::mem::take(&mut self.held) {
            if nodes.of(node).unready_since.is_some() {
                for pod in active_on(node, store) {
                    self.judge(end, pod, node, held, "was still there at the end", store);
                }
            }
        }
        let (cost, text) = self.worst?;
        let more = and_more(self.pods.count() - 1, "pod", "pods");
        let places =
            if self.nodes.len() > 1 { format!(", on {} nodes in all", self.nodes.len()) } else { String::new() };
        let text = format!("{text}{more}{places}");
        Some(self.pods.trap(TrapKind::StoppedEvictions, self.first_at?, text, Some(cost)))
    }
}

impl Stopped {
    /// Counts a node; whether that changed anything.
    fn count(&mut self, node: NodeId, store: &Store) -> bool {
        let place = store
            .node(node)
            .filter(|object| counts(&object.labels))
            .map(|object| (zone_key(&object.labels), object.conditions.ready() == Some(Status::True)));
        let before = std::mem::replace(self.counted.get_mut(node), place);
        if before == place {
            return false;
        }
        if let Some((key, is_ready)) = before {
            let census = self.zones.entry(key).or_default();
            census.total -= 1;
            census.not_ready -= usize::from(!is_ready);
        }
        if let Some((key, is_ready)) = place {
            let census = self.zones.entry(key).or_default();
            census.total += 1;
            census.not_ready += usize::from(!is_ready);
        }
        true
    }

    /// What stops the taints of a zone now.
    ///
    /// # Source
    /// Node lifecycle controller, zone states and rates.
    fn stop(&self, key: ZoneKey, is_everything: bool) -> Option<Stop> {
        if is_everything {
            return Some(Stop::Everything);
        }
        let census = *self.zones.get(&key)?;
        let share = census.not_ready as f32 / census.total.max(1) as f32;
        let is_partial =
            census.not_ready > 2 && census.not_ready < census.total && share >= self.unhealthy_share as f32;
        let is_slow = census.total as i64 > self.large_zone && self.secondary_rate > 0.0;
        let is_stopped = if is_slow { self.secondary_rate < self.normal_rate } else { self.normal_rate > 0.0 };
        (is_partial && is_stopped).then_some(Stop::Partial { zone: key.1, census, is_slow })
    }

    /// Notes which nodes are kept from their taints from now on, and which no longer: the one that has turned, and all if that has
    /// changed what stops a zone.
    fn hold(&mut self, at: SimTime, turned: Option<NodeId>, nodes: &NodeFacts, store: &Store) {
        if nodes.unready().is_empty() {
            return;
        }
        let mut counting = self.zones.values().filter(|census| census.total > 0).peekable();
        let is_everything = counting.peek().is_some() && counting.all(|census| census.not_ready == census.total);
        let stops = self.zones.keys().map(|key| self.stop(*key, is_everything).as_ref().map(discriminant));
        let stops: Vec<_> = stops.collect();
        let before = std::mem::replace(&mut self.stops, stops);
        if before == self.stops {
            if let Some(node) = turned.filter(|node| nodes.unready().contains(node)) {
                self.hold_node(at, node, is_everything, nodes, store);
            }
            return;
        }
        for &node in nodes.unready() {
            self.hold_node(at, node, is_everything, nodes, store);
        }
    }

    fn hold_node(&mut self, at: SimTime, node: NodeId, is_everything: bool, nodes: &NodeFacts, store: &Store) {
        let fact = nodes.of(node);
        let Some(unready_since) = fact.unready_since else { return };
        let stop = store.node(node).and_then(|object| self.stop(zone_key(&object.labels), is_everything));
        let is_kept = stop.filter(|stop| fact.tainted_since.is_none() || *stop == Stop::Everything);
        match (is_kept, self.held.get_mut(&node)) {
            (Some(stop), None) => {
                self.held.insert(node, Held { stop, since: at, until: None, unready_since });
            }
            (Some(_), Some(held)) => held.until = None,
            (None, Some(held)) => {
                held.until.get_or_insert(at);
            }
            (None, None) => {}
        }
    }

    fn pod_left(&mut self, at: SimTime, pod: &Pod, store: &Store) {
        if let Some(node) = pod.node
            && let Some(held) = self.held.get(&node).copied()
            && pod.deletion.is_none_or(|deletion| deletion.requested_at == at)
        {
            self.judge(at, pod, node, held, "left", store);
        }
    }

    fn node_back(&mut self, at: SimTime, node: NodeId, store: &Store) {
        let Some(held) = self.held.remove(&node) else { return };
        for pod in active_on(node, store) {
            self.judge(at, pod, node, held, "was still there when the node came back", store);
        }
    }

    fn judge(&mut self, at: SimTime, pod: &Pod, node: NodeId, held: Held, what: &str, store: &Store) {
        let Some(stay) = stay_of(pod) else { return };
        let due = held.unready_since.max(pod.scheduled_at.unwrap_or(pod.created_at)) + stay;
        let kept_for = held.until.unwrap_or(at).saturating_since(held.since);
        let cost = at.saturating_since(due).min(kept_for);
        if cost < LEAST {
            return;
        }
        self.pods.add(name_of_pod(pod));
        self.nodes.insert(node);
        self.first_at = Some(self.first_at.map_or(held.since, |first| first.min(held.since)));
        if self.worst.as_ref().is_some_and(|worst| cost <= worst.0) {
            return;
        }
        let why = match held.stop {
            Stop::Everything => "evictions were stopped as no node was Ready any more (full disruption)".to_owned(),
            Stop::Partial { zone, census, is_slow } => {
                let how = if is_slow { "slowed down" } else { "stopped" };
                let Census { total, not_ready } = census;
                let zone = if zone.as_str().is_empty() { "the cluster".to_owned() } else { format!("zone {zone}") };
                format!(
                    "evictions were {how} as {not_ready} of {total} nodes of {zone} were not Ready (partial disruption)"
                )
            }
        };
        let text = format!(
            "{why} from {} on: {} on {} {what}, {} after its toleration's end",
            moment(held.since),
            name_of_pod(pod),
            node_name(store, node),
            length(cost)
        );
        self.worst = Some((cost, text));
    }
}

fn active_on(node: NodeId, store: &Store) -> impl Iterator<Item = &Pod> {
    store.pods_on(node).iter().filter_map(|&id: &PodId| store.pod(id)).filter(|pod| pod.is_active())
}

/// How long a pod may stay on a node that is unreachable; none = for ever.
fn stay_of(pod: &Pod) -> Option<SimDuration> {
    let key = Symbol::new("node.kubernetes.io/unreachable");
    let taint = Taint::new(key, Symbol::empty(), TaintEffect::NoExecute);
    match no_execute_stay(&[taint], &pod.spec.tolerations) {
        NoExecuteStay::Untolerated => Some(SimDuration::ZERO),
        NoExecuteStay::Seconds(seconds) => Some(SimDuration::from_secs(u64::try_from(seconds).unwrap_or(0))),
        NoExecuteStay::Forever => None,
    }
}

fn zone_key(labels: &Labels) -> ZoneKey {
    (region_of(labels).unwrap_or_default(), zone_of(labels).unwrap_or_default())
}

fn counts(labels: &Labels) -> bool {
    !labels.contains(Symbol::new("node.kubernetes.io/exclude-disruption"))
}
