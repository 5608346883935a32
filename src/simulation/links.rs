//! Slow networks: what the kubelets of some machines send arrives late.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::{Distribution, Stream, Streams};
use crate::state::{NodeId, Store};
use crate::units::SimTime;

/// The links that are slow, or have been.
#[derive(Clone, Debug, Default)]
pub(super) struct Links(FxHashMap<NodeId, Link>);

#[derive(Clone, Debug)]
struct Link {
    delays: Arc<[Distribution]>,
    stream: Stream,
    /// When the last request arrives. Requests share a connection: none overtakes another, also when the link is fast again.
    busy_until: SimTime,
}

impl Links {
    /// A link becomes slow, or slow otherwise, or fast again if there are no delays.
    pub(super) fn change(
        &mut self,
        node: NodeId,
        delays: &Arc<[Distribution]>,
        now: SimTime,
        (store, streams): (&Store, &Streams),
    ) {
        let begun = now.as_nanos().unsigned_abs() / 1_000_000;
        let link = self.0.entry(node).or_insert_with(|| Link {
            delays: Arc::default(),
            stream: streams.at("slow-link", store.node_name(node).as_str(), begun),
            busy_until: SimTime::ZERO,
        });
        link.delays = Arc::clone(delays);
    }

    /// The machine is gone, and its link with it.
    pub(super) fn forget(&mut self, node: NodeId) {
        self.0.remove(&node);
    }

    /// The connections of the machine, or of all, have ended: what is sent next is sent over new ones.
    pub(super) fn connect_anew(&mut self, node: Option<NodeId>) {
        for (_, link) in self.0.iter_mut().filter(|(other, _)| node.is_none_or(|node| node == **other)) {
            link.busy_until = SimTime::ZERO;
        }
    }

    /// Whether all links are fast, and have been for long.
    pub(super) fn are_fast(&self) -> bool {
        self.0.is_empty()
    }

    /// When a request of the node's arrives that would be there at `at`.
    pub(super) fn arrival(&mut self, node: NodeId, at: SimTime) -> SimTime {
        let Some(link) = self.0.get_mut(&node) else { return at };
        if link.delays.is_empty() && link.busy_until <= at {
            self.0.remove(&node);
            return at;
        }
        let late = link.delays.iter().fold(at, |at, delay| at + delay.sample(&mut link.stream));
        link.busy_until = link.busy_until.max(late);
        link.busy_until
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    #[test]
    fn delays_add_up_and_nothing_overtakes() {
        let mut store = Store::default();
        let (node, other) = (store.node_slot("n".into()), store.node_slot("o".into()));
        let streams = Streams::new(1);
        let at = SimTime::from_secs;
        let of = |seconds: &[u64]| -> Arc<[Distribution]> {
            seconds.iter().map(|s| Distribution::Constant(SimDuration::from_secs(*s))).collect()
        };
        let mut links = Links::default();
        links.change(node, &of(&[10, 5]), at(0), (&store, &streams));
        assert_eq!((links.arrival(node, at(1)), links.arrival(other, at(1))), (at(16), at(1)));
        links.change(node, &of(&[1]), at(2), (&store, &streams));
        assert_eq!(links.arrival(node, at(2)), at(16));
        links.change(node, &of(&[]), at(3), (&store, &streams));
        assert_eq!(links.arrival(node, at(4)), at(16));
        assert_eq!(links.arrival(node, at(17)), at(17));
        assert!(links.are_fast());
    }

    #[test]
    fn nothing_waits_for_what_was_sent_over_a_connection_that_has_ended() {
        let mut store = Store::default();
        let node = store.node_slot("n".into());
        let at = SimTime::from_secs;
        let delays: Arc<[Distribution]> = Arc::new([Distribution::Constant(SimDuration::from_secs(300))]);
        let mut links = Links::default();
        links.change(node, &delays, at(0), (&store, &Streams::new(1)));
        assert_eq!(links.arrival(node, at(10)), at(310));
        links.change(node, &Arc::default(), at(20), (&store, &Streams::new(1)));
        links.connect_anew(Some(node));
        assert_eq!(links.arrival(node, at(30)), at(30));
    }
}
