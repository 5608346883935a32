//! What is due, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::num::NonZeroU32;

use priority_queue::PriorityQueue;
use rustc_hash::FxBuildHasher;

use crate::units::SimTime;

/// Names an event that is still in an [`EventQueue`]; it turns stale when the event leaves the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    slot: u32,
    generation: NonZeroU32,
}

/// An event that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence<E> {
    /// When.
    pub at: SimTime,
    /// Which of all events ever pushed or rescheduled; unique, and ascending among equal times.
    pub sequence: u64,
    /// What.
    pub event: E,
}

/// An event that comes whatever happens. Sorts by time, then sequence.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Certain {
    at: u64,
    sequence: u64,
    slot: u32,
}

impl Certain {
    fn key(self) -> u128 {
        u128::from(self.at) << 64 | u128::from(self.sequence)
    }
}

#[derive(Clone)]
struct Slot<E> {
    generation: NonZeroU32,
    event: Option<E>,
}

/// Events in the order of time; among equal times first in, first out. Those with a ticket can be cancelled and moved.
#[derive(Clone)]
pub struct EventQueue<E> {
    /// Slots of events with tickets by (time, sequence). The keys are unique, so the heap has one order only.
    order: PriorityQueue<u32, Reverse<u128>, FxBuildHasher>,
    /// Those of the others: most, and a heap that need not find them again is cheaper.
    certain: BinaryHeap<Reverse<Certain>>,
    slots: Vec<Slot<E>>,
    free: Vec<u32>,
    next_sequence: u64,
}

impl<E> EventQueue<E> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            order: PriorityQueue::with_default_hasher(),
            certain: BinaryHeap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            next_sequence: 0,
        }
    }

    /// Adds an event behind all others of its time.
    ///
    /// # Panics
    ///
    /// If there would be more than 2^32 events at once.
    pub fn push(&mut self, at: SimTime, event: E) -> Ticket {
        let key = self.next_key(at);
        let slot = self.occupy(event);
        self.order.push(slot, Reverse(key));
        Ticket { slot, generation: self.slots[slot as usize].generation }
    }

    /// Adds an event behind all others of its time that nobody cancels or moves.
    ///
    /// # Panics
    ///
    /// If there would be more than 2^32 events at once.
    pub fn push_certain(&mut self, at: SimTime, event: E) {
        let sequence = self.next_sequence();
        let slot = self.occupy(event);
        self.certain.push(Reverse(Certain { at: ascending(at), sequence, slot }));
    }

    /// Takes an event back, if it has not happened yet.
    pub fn cancel(&mut self, ticket: Ticket) -> Option<E> {
        if !self.is_pending(ticket) {
            return None;
        }
        self.order.remove(&ticket.slot);
        Some(self.vacate(ticket.slot))
    }

    /// Moves an event to another time, behind all others there; whether it was still pending.
    pub fn reschedule(&mut self, ticket: Ticket, at: SimTime) -> bool {
        if !self.is_pending(ticket) {
            return false;
        }
        let key = self.next_key(at);
        self.order.change_priority(&ticket.slot, Reverse(key));
        true
    }

    /// Whether an event has neither happened nor been cancelled.
    #[must_use]
    pub fn is_pending(&self, ticket: Ticket) -> bool {
        self.slots
            .get(ticket.slot as usize)
            .is_some_and(|slot| slot.generation == ticket.generation && slot.event.is_some())
    }

    /// Takes the next event out.
    pub fn pop(&mut self) -> Option<Occurrence<E>> {
        let (slot, key, is_certain) = self.next()?;
        if is_certain {
            self.certain.pop();
        } else {
            self.order.pop();
        }
        Some(Occurrence { at: time_of(key), sequence: key as u64, event: self.vacate(slot) })
    }

    /// When the next event is due.
    #[must_use]
    pub fn peek_time(&self) -> Option<SimTime> {
        self.next().map(|(_, key, _)| time_of(key))
    }

    /// The slot of the next event, its key, and whether it is one that comes whatever happens.
    fn next(&self) -> Option<(u32, u128, bool)> {
        let certain = self.certain.peek().map(|Reverse(next)| (next.slot, next.key(), true));
        let other = self.order.peek().map(|(slot, Reverse(key))| (*slot, *key, false));
        match (certain, other) {
            (Some(certain), Some(other)) => Some(if certain.1 < other.1 { certain } else { other }),
            (certain, other) => certain.or(other),
        }
    }

    /// The next event, and when it is due.
    #[cfg(test)]
    pub(crate) fn peek(&self) -> Option<(SimTime, &E)> {
        let (slot, key, _) = self.next()?;
        Some((time_of(key), self.slots[slot as usize].event.as_ref()?))
    }

    /// How many events are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len() + self.certain.len()
    }

    /// Whether nothing is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty() && self.certain.is_empty()
    }

    fn next_key(&mut self, at: SimTime) -> u128 {
        u128::from(ascending(at)) << 64 | u128::from(self.next_sequence())
    }

    fn next_sequence(&mut self) -> u64 {
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        sequence
    }

    fn occupy(&mut self, event: E) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = u32::try_from(self.slots.len()).expect("a queue holds at most 2^32 events");
            self.slots.push(Slot { generation: NonZeroU32::MIN, event: None });
            slot
        });
        self.slots[slot as usize].event = Some(event);
        slot
    }

    fn vacate(&mut self, slot: u32) -> E {
        let entry = &mut self.slots[slot as usize];
        let event = entry.event.take().expect("a slot in the order holds an event");
        // A slot that has held four billion events is retired, so that no ticket is ever valid twice.
        if let Some(next) = entry.generation.checked_add(1) {
            entry.generation = next;
            self.free.push(slot);
        }
        event
    }
}

/// Flips the sign bit: negative times then order before the others as unsigned numbers.
const SIGN: u64 = 1 << 63;

fn ascending(at: SimTime) -> u64 {
    at.as_nanos() as u64 ^ SIGN
}

fn time_of(key: u128) -> SimTime {
    SimTime::from_nanos(((key >> 64) as u64 ^ SIGN) as i64)
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> fmt::Debug for EventQueue<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The heap's own order means nothing to a reader.
        formatter.debug_struct("EventQueue").field("len", &self.len()).field("next", &self.peek_time()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const _: () = assert!(size_of::<Ticket>() == 8 && size_of::<Option<Ticket>>() == 8);

    #[test]
    fn equal_times_are_first_in_first_out() {
        let mut queue = EventQueue::new();
        for name in ["a", "b", "c", "d"] {
            queue.push(SimTime::from_secs(1), name);
        }
        queue.push(SimTime::from_secs(-1), "early");
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|due| (due.at, due.sequence, due.event)).collect();
        let (early, late) = (SimTime::from_secs(-1), SimTime::from_secs(1));
        assert_eq!(order, [(early, 4, "early"), (late, 0, "a"), (late, 1, "b"), (late, 2, "c"), (late, 3, "d")]);
    }

    #[test]
    fn a_ticket_is_stale_once_its_event_has_left() {
        let mut queue = EventQueue::new();
        let first = queue.push(SimTime::ZERO, 'a');
        assert_eq!(queue.pop().map(|due| due.event), Some('a'));
        let second = queue.push(SimTime::ZERO, 'b');
        assert_eq!(queue.cancel(first), None);
        assert!(!queue.reschedule(first, SimTime::MAX));
        assert_eq!(queue.cancel(second), Some('b'));
        assert!(queue.is_empty() && queue.peek_time().is_none());
    }

    #[derive(Clone, Debug)]
    enum Step {
        Push(i64),
        PushCertain(i64),
        Cancel(usize),
        Reschedule(usize, i64),
        Pop,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let time = || prop_oneof![-3..4_i64, any::<i64>()];
        let step = prop_oneof![
            3 => time().prop_map(Step::Push),
            2 => time().prop_map(Step::PushCertain),
            1 => any::<usize>().prop_map(Step::Cancel),
            1 => (any::<usize>(), time()).prop_map(|(pick, at)| Step::Reschedule(pick, at)),
            2 => Just(Step::Pop),
        ];
        prop::collection::vec(step, 0..300)
    }

    proptest! {
        /// The model is a list of (time, sequence, event) whose smallest is next.
        #[test]
        fn the_queue_behaves_as_a_sorted_list(steps in steps()) {
            let mut queue = EventQueue::new();
            let mut list: Vec<(SimTime, u64, usize)> = Vec::new();
            let mut tickets = Vec::new();
            let mut sequence = 0;
            for step in steps {
                match step {
                    Step::Push(at) => {
                        let at = SimTime::from_nanos(at);
                        list.push((at, sequence, tickets.len()));
                        tickets.push(Some(queue.push(at, tickets.len())));
                        sequence += 1;
                    }
                    Step::PushCertain(at) => {
                        let at = SimTime::from_nanos(at);
                        list.push((at, sequence, tickets.len()));
                        queue.push_certain(at, tickets.len());
                        tickets.push(None);
                        sequence += 1;
                    }
                    Step::Cancel(pick) if !tickets.is_empty() => {
                        let event = pick % tickets.len();
                        let Some(ticket) = tickets[event] else { continue };
                        let expected = list.iter().position(|entry| entry.2 == event).map(|index| list.remove(index).2);
                        prop_assert_eq!(queue.cancel(ticket), expected);
                    }
                    Step::Reschedule(pick, at) if !tickets.is_empty() => {
                        let (event, at) = (pick % tickets.len(), SimTime::from_nanos(at));
                        let Some(ticket) = tickets[event] else { continue };
                        let entry = list.iter_mut().find(|entry| entry.2 == event);
                        prop_assert_eq!(queue.reschedule(ticket, at), entry.is_some());
                        if let Some(entry) = entry {
                            *entry = (at, sequence, event);
                            sequence += 1;
                        }
                    }
                    Step::Cancel(_) | Step::Reschedule(..) => {}
                    Step::Pop => {
                        let expected = list.iter().min().copied();
                        list.retain(|entry| Some(*entry) != expected);
                        let due = queue.pop().map(|due| (due.at, due.sequence, due.event));
                        prop_assert_eq!(due, expected);
                    }
                }
                prop_assert_eq!(queue.len(), list.len());
                prop_assert_eq!(queue.peek_time(), list.iter().min().map(|entry| entry.0));
            }
        }
    }
}
