//! The queue of a zone's nodes that wait for their NoExecute taint.

use std::collections::{BTreeMap, BTreeSet};

use crate::state::NodeId;
use crate::units::{SimDuration, SimTime};

/// How often the queues are looked at.
pub(super) const TICK: SimDuration = SimDuration::from_millis(100);

/// A bucket of one token.
///
/// # Source
/// client-go flow control. A limiter that never lets anything through says its rate is 1, so that swapping it for a rate
/// of exactly 1 does nothing.
#[derive(Copy, Clone, Debug, PartialEq)]
enum Limiter {
    Never,
    Bucket { qps: f64, interval: SimDuration, available_at: SimTime },
}

impl Limiter {
    fn full(qps: f64) -> Self {
        if qps <= 0.0 {
            return Self::Never;
        }
        Self::Bucket { qps, interval: SimDuration::from_secs_f64(1.0 / qps), available_at: SimTime::MIN }
    }

    fn qps(self) -> f64 {
        match self {
            Self::Never => 1.0,
            Self::Bucket { qps, .. } => qps,
        }
    }

    fn try_accept(&mut self, now: SimTime) -> bool {
        match self {
            Self::Never => false,
            Self::Bucket { interval, available_at, .. } => {
                let accepted = *available_at <= now;
                if accepted {
                    *available_at = now + *interval;
                }
                accepted
            }
        }
    }
}

/// The rate-limited queue of a zone.
///
/// # Source
/// Node lifecycle controller, rate-limited timed queue. A name that was dealt with stays known and cannot be added again
/// until it is removed.
#[derive(Clone, Debug)]
pub(super) struct TaintQueue {
    limiter: Limiter,
    known: BTreeSet<NodeId>,
    waiting: BTreeMap<NodeId, SimTime>,
}

impl TaintQueue {
    /// An empty queue with a full bucket.
    pub(super) fn new(qps: f64) -> Self {
        Self { limiter: Limiter::full(qps), known: BTreeSet::new(), waiting: BTreeMap::new() }
    }

    /// Adds a name, due at once; does nothing if it is known.
    pub(super) fn add(&mut self, node: NodeId, now: SimTime) {
        if self.known.insert(node) {
            self.waiting.insert(node, now);
        }
    }

    /// Forgets a name.
    pub(super) fn remove(&mut self, node: NodeId) {
        self.known.remove(&node);
        self.waiting.remove(&node);
    }

    /// Forgets the names that are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&NodeId) -> bool) {
        self.known.retain(&keep);
        self.waiting.retain(|node, _| keep(node));
    }

    /// The name was dealt with: it no longer waits, but stays known.
    pub(super) fn done(&mut self, node: NodeId) {
        self.waiting.remove(&node);
    }

    /// The name is due again `wait` later.
    pub(super) fn postpone(&mut self, node: NodeId, now: SimTime, wait: SimDuration) {
        if let Some(due) = self.waiting.get_mut(&node) {
            *due = now + wait + SimDuration::from_nanos(1);
        }
    }

    /// Nodes that wait, with the time from which they are due.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (NodeId, SimTime)> {
        self.waiting.iter().map(|(node, due)| (*node, *due))
    }

    /// Whether nobody waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Takes a token, if there is one.
    pub(super) fn try_accept(&mut self, now: SimTime) -> bool {
        self.limiter.try_accept(now)
    }

    /// From when there is a token; none if there never is.
    pub(super) fn available_at(&self) -> Option<SimTime> {
        match self.limiter {
            Limiter::Never => None,
            Limiter::Bucket { available_at, .. } => Some(available_at),
        }
    }

    /// Changes the rate: the new bucket is full, but empty if the old one had no token.
    pub(super) fn swap_limiter(&mut self, qps: f64, now: SimTime) {
        if self.limiter.qps() == qps {
            return;
        }
        let had_token = self.limiter.try_accept(now);
        self.limiter = Limiter::full(qps);
        if !had_token {
            self.limiter.try_accept(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::Symbol;
    use crate::state::Store;

    fn nodes(count: usize) -> Vec<NodeId> {
        let mut store = Store::default();
        (0..count).map(|n| store.node_slot(Symbol::new(&format!("n{n}")))).collect()
    }

    fn s(secs: i64) -> SimTime {
        SimTime::from_secs(secs)
    }

    fn waiting(queue: &TaintQueue) -> Vec<NodeId> {
        queue.waiting().map(|(node, _)| node).collect()
    }

    #[test]
    fn a_name_dealt_with_cannot_be_added_again_until_removed() {
        let n = nodes(3);
        let mut queue = TaintQueue::new(0.1);
        n.iter().for_each(|node| queue.add(*node, s(0)));
        queue.remove(n[1]);
        assert_eq!(waiting(&queue), [n[0], n[2]]);
        queue.done(n[0]);
        queue.add(n[0], s(1));
        assert_eq!(waiting(&queue), [n[2]]);
        queue.remove(n[0]);
        queue.add(n[0], s(1));
        assert_eq!(waiting(&queue), [n[0], n[2]]);
    }

    #[test]
    fn a_name_removed_while_it_is_dealt_with_is_not_queued_again_by_its_failure() {
        let n = nodes(1);
        let mut queue = TaintQueue::new(0.1);
        queue.add(n[0], s(0));
        queue.remove(n[0]);
        queue.postpone(n[0], s(0), SimDuration::ZERO);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_name_whose_taint_failed_waits_until_it_is_due_and_holds_up_nobody() {
        let n = nodes(3);
        let mut queue = TaintQueue::new(0.1);
        n.iter().for_each(|node| queue.add(*node, s(0)));
        let due = |queue: &TaintQueue, at: SimTime| -> Vec<NodeId> {
            queue.waiting().filter(|(_, since)| *since <= at).map(|(node, _)| node).collect()
        };
        assert_eq!(due(&queue, s(0)), n);
        queue.done(n[0]);
        queue.postpone(n[1], s(0), SimDuration::from_millis(2));
        queue.done(n[2]);
        assert!(due(&queue, s(0)).is_empty());
        assert_eq!(due(&queue, s(0) + SimDuration::from_millis(3)), [n[1]]);
    }

    #[test]
    fn a_bucket_holds_one_token_and_refills_at_the_rate() {
        let mut queue = TaintQueue::new(0.1);
        assert!(queue.try_accept(s(0)));
        assert!(!queue.try_accept(s(9)));
        assert!(queue.try_accept(s(10)));
        assert!(queue.try_accept(s(100)));
        assert!(!queue.try_accept(s(100)));
    }

    #[test]
    fn an_equal_rate_keeps_the_bucket() {
        let mut queue = TaintQueue::new(0.1);
        assert!(queue.try_accept(s(0)));
        queue.swap_limiter(0.1, s(5));
        assert_eq!(queue.available_at(), Some(s(10)));
    }

    #[test]
    fn after_a_rate_of_zero_the_new_bucket_is_empty() {
        let mut queue = TaintQueue::new(0.1);
        queue.swap_limiter(0.0, s(0));
        assert_eq!(queue.available_at(), None);
        assert!(!queue.try_accept(s(0)));
        queue.swap_limiter(0.1, s(50));
        assert_eq!(queue.available_at(), Some(s(60)));
    }

    #[test]
    fn a_swap_from_a_bucket_with_a_token_leaves_a_token() {
        let mut queue = TaintQueue::new(0.1);
        queue.swap_limiter(0.01, s(0));
        assert!(queue.try_accept(s(0)));
        queue.swap_limiter(0.1, s(50));
        assert_eq!(queue.available_at(), Some(s(60)));
    }

    #[test]
    fn a_stopped_queue_cannot_be_set_to_exactly_one_a_second() {
        let mut queue = TaintQueue::new(0.1);
        queue.swap_limiter(0.0, s(0));
        queue.swap_limiter(1.0, s(1));
        assert_eq!(queue.available_at(), None);
    }
}
