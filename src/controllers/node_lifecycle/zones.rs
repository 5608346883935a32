//! Zones: which nodes count, what state a zone is in, and how fast its nodes may be tainted.

use std::collections::BTreeMap;

use super::queue::TaintQueue;
use crate::arena::{Symbol, sym};
use crate::model::config::KubeControllerManager;
use crate::model::{Labels, region_of, zone_of};
use crate::state::NodeId;
use crate::units::SimTime;

/// Region and zone of a node.
///
/// # Source
/// component-helpers, topology: a beta label wins over the stable one, even if it is empty.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ZoneKey {
    region: Symbol,
    zone: Symbol,
}

impl ZoneKey {
    /// The zone of a node with these labels.
    pub(super) fn of(labels: &Labels) -> Self {
        Self { region: region_of(labels).unwrap_or_default(), zone: zone_of(labels).unwrap_or_default() }
    }
}

/// Whether a node with these labels counts in its zone.
pub(super) fn counts(labels: &Labels) -> bool {
    !labels.contains(sym!("node.kubernetes.io/exclude-disruption"))
}

/// How much of a zone is down.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum ZoneState {
    /// Not evaluated yet.
    Initial,
    /// Enough nodes are ready.
    Normal,
    /// More than two, and at least the threshold's share, are not ready.
    PartialDisruption,
    /// None is ready.
    FullDisruption,
}

/// How many nodes of a zone count, and how many of them are not ready.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct Census {
    pub(super) total: usize,
    pub(super) not_ready: usize,
}

impl Census {
    /// The state that these counts mean.
    ///
    /// # Source
    /// Node lifecycle controller, zone states; the share is compared in 32-bit floats, so that 11 of 20 are 0.55.
    pub(super) fn state(self, unhealthy_threshold: f64) -> ZoneState {
        if self.not_ready > 0 && self.not_ready == self.total {
            return ZoneState::FullDisruption;
        }
        let share = self.not_ready as f32 / self.total.max(1) as f32;
        if self.not_ready > 2 && share >= unhealthy_threshold as f32 {
            ZoneState::PartialDisruption
        } else {
            ZoneState::Normal
        }
    }
}

/// A zone with its queue of nodes to be tainted.
#[derive(Clone, Debug)]
pub(super) struct Zone {
    /// None once no node counts here any more.
    pub(super) state: Option<ZoneState>,
    pub(super) census: Census,
    pub(super) queue: TaintQueue,
}

/// What a pass's end means for the whole cluster.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Disruption {
    /// Every zone goes by itself, or nothing changes.
    PerZone,
    /// Every zone is down now: taints are to be removed, then [`Zones::stop_all`].
    Entering,
    /// Some zone lives again: all probes are to be reset.
    Leaving,
}

/// All zones, in the order of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Zones {
    zones: BTreeMap<ZoneKey, Zone>,
    counted: BTreeMap<NodeId, (ZoneKey, bool)>,
}

impl Zones {
    /// Every zone that has or had nodes.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (ZoneKey, &mut Zone)> {
        self.zones.iter_mut().map(|(key, zone)| (*key, zone))
    }

    /// The keys of every zone that has or had nodes.
    pub(super) fn keys(&self) -> impl Iterator<Item = ZoneKey> {
        self.zones.keys().copied()
    }

    pub(super) fn get_mut(&mut self, key: ZoneKey) -> Option<&mut Zone> {
        self.zones.get_mut(&key)
    }

    /// The zone's state as the last pass left it.
    #[cfg(test)]
    pub(super) fn state(&self, key: ZoneKey) -> Option<ZoneState> {
        self.zones.get(&key).and_then(|zone| zone.state)
    }

    /// Gives a zone that has no state a fresh queue with a full bucket; names queued before are forgotten.
    pub(super) fn ensure(&mut self, key: ZoneKey, config: &KubeControllerManager) {
        let census = match self.zones.get(&key) {
            Some(zone) if zone.state.is_some() => return,
            Some(zone) => zone.census,
            None => Census::default(),
        };
        let queue = TaintQueue::new(config.node_eviction_rate);
        self.zones.insert(key, Zone { state: Some(ZoneState::Initial), census, queue });
    }

    /// Counts a node as the present pass found it; `place` is none if it does not count.
    pub(super) fn count(&mut self, node: NodeId, place: Option<(ZoneKey, bool)>) {
        let before = match place {
            Some(place) => self.counted.insert(node, place),
            None => self.counted.remove(&node),
        };
        if before == place {
            return;
        }
        if let Some((key, ready)) = before
            && let Some(zone) = self.zones.get_mut(&key)
        {
            zone.census.total -= 1;
            zone.census.not_ready -= usize::from(!ready);
        }
        if let Some((key, ready)) = place {
            let zone = self.zones.get_mut(&key).expect("a counted node's zone has been made");
            zone.census.total += 1;
            zone.census.not_ready += usize::from(!ready);
        }
    }

    /// Drops a node from every queue it may be in.
    pub(super) fn forget(&mut self, key: ZoneKey, node: NodeId) {
        if let Some(zone) = self.zones.get_mut(&key) {
            zone.queue.remove(node);
        }
    }

    /// The end of a pass: states and limiters follow the counts.
    ///
    /// # Source
    /// Node lifecycle controller, disruption handling.
    ///
    /// # Differs
    /// Zones without counted nodes lose their state at once; the real loop stops at the first zone that was not fully
    /// disrupted, in random order, and may need more passes.
    pub(super) fn evaluate(&mut self, config: &KubeControllerManager, now: SimTime) -> Disruption {
        let threshold = config.unhealthy_zone_threshold;
        let counted = |zone: &&Zone| zone.census.total > 0;
        let all_full =
            self.zones.values().filter(counted).all(|z| z.census.state(threshold) == ZoneState::FullDisruption);
        for zone in self.zones.values_mut() {
            if zone.census.total == 0 {
                zone.state = None;
            } else if zone.state.is_none() {
                zone.state = Some(ZoneState::Initial);
            }
        }
        let was_full =
            self.zones.values().filter(|z| z.state.is_some()).all(|z| z.state == Some(ZoneState::FullDisruption));
        match (all_full, was_full) {
            (true, true) => return Disruption::PerZone,
            (true, false) => return Disruption::Entering,
            (false, _) => {}
        }
        for zone in self.zones.values_mut() {
            let Some(old) = zone.state else { continue };
            let state = zone.census.state(threshold);
            if was_full || old != state {
                zone.queue.swap_limiter(rate(state, zone.census.total, config), now);
                zone.state = Some(state);
            }
        }
        if was_full { Disruption::Leaving } else { Disruption::PerZone }
    }

    /// Every zone is down: no node is tainted any more.
    pub(super) fn stop_all(&mut self, now: SimTime) {
        for zone in self.zones.values_mut().filter(|zone| zone.state.is_some()) {
            zone.queue.swap_limiter(0.0, now);
            zone.state = Some(ZoneState::FullDisruption);
        }
    }
}

/// Nodes a second that may be tainted in a zone of that state and size.
///
/// # Source
/// Node lifecycle controller: a zone wholly down goes at the normal rate; one partly down at the secondary rate if it is
/// large, else not at all.
fn rate(state: ZoneState, size: usize, config: &KubeControllerManager) -> f64 {
    match state {
        ZoneState::Initial | ZoneState::Normal | ZoneState::FullDisruption => config.node_eviction_rate,
        ZoneState::PartialDisruption if size as i64 > config.large_cluster_size_threshold => {
            config.secondary_node_eviction_rate
        }
        ZoneState::PartialDisruption => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::config::KubernetesVersion;

    #[track_caller]
    fn check(total: usize, not_ready: usize, expected: ZoneState) {
        assert_eq!(Census { total, not_ready }.state(0.55), expected, "{not_ready} of {total}");
    }

    #[test]
    fn zone_state_follows_the_share_of_nodes_not_ready() {
        check(1, 0, ZoneState::Normal);
        check(1, 1, ZoneState::FullDisruption);
        check(5, 2, ZoneState::Normal);
        check(5, 3, ZoneState::PartialDisruption);
        check(3, 2, ZoneState::Normal);
        check(3, 3, ZoneState::FullDisruption);
        check(4, 4, ZoneState::FullDisruption);
        check(4, 3, ZoneState::PartialDisruption);
    }

    #[test]
    fn eleven_of_twenty_are_partial_and_ten_are_not() {
        check(20, 11, ZoneState::PartialDisruption);
        check(20, 10, ZoneState::Normal);
    }

    #[test]
    fn a_zone_of_50_in_partial_disruption_stops_and_one_of_51_uses_the_secondary_rate() {
        let config = KubeControllerManager::defaults(KubernetesVersion::NEWEST);
        assert_eq!(rate(ZoneState::PartialDisruption, 50, &config), 0.0);
        assert_eq!(rate(ZoneState::PartialDisruption, 51, &config), 0.01);
        assert_eq!(rate(ZoneState::FullDisruption, 3, &config), 0.1);
    }

    fn labels(pairs: &[(&str, &str)]) -> Labels {
        pairs.iter().map(|(key, value)| (Symbol::new(key), Symbol::new(value))).collect()
    }

    #[test]
    fn a_beta_zone_label_wins_even_if_empty() {
        let of = |pairs: &[(&str, &str)]| ZoneKey::of(&labels(pairs));
        let stable = of(&[("topology.kubernetes.io/zone", "a"), ("topology.kubernetes.io/region", "r")]);
        assert_ne!(stable, of(&[("topology.kubernetes.io/zone", "a")]));
        let both = of(&[("topology.kubernetes.io/zone", "a"), ("failure-domain.beta.kubernetes.io/zone", "")]);
        assert_eq!(both, of(&[]));
    }

    struct Bench {
        zones: Zones,
        config: KubeControllerManager,
        slots: crate::state::Store,
    }

    impl Bench {
        fn new() -> Self {
            let config = KubeControllerManager::defaults(KubernetesVersion::NEWEST);
            Self { zones: Zones::default(), config, slots: crate::state::Store::default() }
        }

        fn zone(name: &str) -> ZoneKey {
            ZoneKey { region: Symbol::empty(), zone: Symbol::new(name) }
        }

        /// Sets the Ready state of nodes `zone-0…` and plays the end of a pass.
        fn pass(&mut self, zones: &[(&str, &[bool])]) -> Disruption {
            for (name, ready) in zones {
                self.zones.ensure(Self::zone(name), &self.config);
                for (n, ready) in ready.iter().enumerate() {
                    let node = self.slots.node_slot(Symbol::new(&format!("{name}-{n}")));
                    self.zones.count(node, Some((Self::zone(name), *ready)));
                }
            }
            let outcome = self.zones.evaluate(&self.config, SimTime::ZERO);
            if outcome == Disruption::Entering {
                self.zones.stop_all(SimTime::ZERO);
            }
            outcome
        }

        #[track_caller]
        fn check(&self, name: &str, expected: ZoneState) {
            assert_eq!(self.zones.state(Self::zone(name)), Some(expected), "zone {name}");
        }
    }

    #[test]
    fn two_zones_down_and_one_returning_are_full_then_normal() {
        let mut bench = Bench::new();
        assert_eq!(bench.pass(&[("a", &[false]), ("b", &[false])]), Disruption::Entering);
        bench.check("a", ZoneState::FullDisruption);
        bench.check("b", ZoneState::FullDisruption);
        assert_eq!(bench.pass(&[("a", &[false]), ("b", &[false])]), Disruption::PerZone);
        assert_eq!(bench.pass(&[("a", &[true])]), Disruption::Leaving);
        bench.check("a", ZoneState::Normal);
        bench.check("b", ZoneState::FullDisruption);
    }

    #[test]
    fn a_single_healthy_zone_is_normal() {
        let mut bench = Bench::new();
        assert_eq!(bench.pass(&[("", &[true])]), Disruption::PerZone);
        bench.check("", ZoneState::Normal);
    }

    #[test]
    fn four_nodes_without_conditions_are_full_and_then_partial_when_one_is_ready() {
        let mut bench = Bench::new();
        bench.pass(&[("a", &[false; 4])]);
        bench.check("a", ZoneState::FullDisruption);
        bench.pass(&[("a", &[true, false, false, false])]);
        bench.check("a", ZoneState::PartialDisruption);
    }

    #[test]
    fn one_of_two_zones_wholly_down_does_not_stop_the_cluster() {
        let mut bench = Bench::new();
        assert_eq!(bench.pass(&[("a", &[false; 3]), ("b", &[true])]), Disruption::PerZone);
        bench.check("a", ZoneState::FullDisruption);
        let zone = bench.zones.get_mut(Bench::zone("a")).unwrap();
        assert_eq!(zone.queue.available_at(), Some(SimTime::MIN));
    }

    #[test]
    fn a_zone_without_counted_nodes_loses_its_state() {
        let mut bench = Bench::new();
        bench.pass(&[("a", &[true]), ("b", &[true])]);
        let node = bench.slots.node_slot(Symbol::new("a-0"));
        bench.zones.count(node, None);
        bench.pass(&[]);
        assert_eq!(bench.zones.state(Bench::zone("a")), None);
        bench.check("b", ZoneState::Normal);
    }
}
