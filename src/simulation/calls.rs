//! How long calls take: the way of the request, and the way of the answer.
//!
//! What makes a call slow comes after the commit. The request is there after a fixed time, so that the calls of a component arrive
//! in the order in which they were sent; the answer takes what is left of the call, each its own. A draw is named by the component
//! and a stretch of time, and within it taken in turn: one call more shifts no later stretch, and nobody else's draws.

use std::sync::Arc;

use super::components::{Components, Which};
use crate::engine::{Distribution, Streams};
use crate::units::{SimDuration, SimTime};

/// For so long a component takes its draws from one place of its stream.
const STRETCH: SimDuration = SimDuration::from_millis(100);

/// Draws that one block of a stream gives, of sixteen bits each.
const DRAWS: usize = 32;

/// Blocks of a stretch; who takes more than all of them begins again with the first.
const BLOCKS: u64 = 1024;

/// Lengths of an answer's way that are told apart, all equally likely.
const LENGTHS: usize = 1024;

/// The ways of calls.
#[derive(Clone, Debug)]
pub(super) struct Calls {
    request: SimDuration,
    answers: Answers,
}

#[derive(Clone, Debug)]
enum Answers {
    Constant(SimDuration),
    /// The lengths in ascending order, and where each component stands in its stream.
    Varying(Arc<[SimDuration]>, Vec<Turn>),
}

#[derive(Clone, Debug)]
struct Turn {
    stretch: i64,
    /// How many draws it has taken in this stretch.
    taken: u32,
    draws: [u16; DRAWS],
}

impl Turn {
    const NONE: Self = Self { stretch: i64::MIN, taken: 0, draws: [0; DRAWS] };

    /// The next sixteen bits of that stretch.
    fn next(&mut self, which: Which, stretch: i64, streams: &Streams) -> u16 {
        if self.stretch != stretch {
            (self.stretch, self.taken) = (stretch, 0);
        }
        let place = self.taken as usize % DRAWS;
        if place == 0 {
            let block = u64::from(self.taken) / DRAWS as u64 % BLOCKS;
            let index = (stretch as u64).wrapping_mul(BLOCKS).wrapping_add(block);
            let mut stream = streams.at("answer", Components::name(which), index);
            for four in self.draws.chunks_exact_mut(4) {
                let bits = stream.next_u64();
                for (k, draw) in four.iter_mut().enumerate() {
                    *draw = (bits >> (16 * k)) as u16;
                }
            }
        }
        self.taken = self.taken.wrapping_add(1);
        self.draws[place]
    }
}

impl Calls {
    /// Calls that take `whole`, of which the request's way is half of `round_trip`.
    pub(super) fn new(whole: &Distribution, round_trip: SimDuration) -> Self {
        let request = round_trip / 2;
        let answers = match whole {
            Distribution::Constant(whole) => Answers::Constant(*whole - request),
            varying => {
                let length = |index| varying.quantile((index as f64 + 0.5) / LENGTHS as f64) - request;
                Answers::Varying((0..LENGTHS).map(length).collect(), Vec::new())
            }
        };
        Self { request, answers }
    }

    /// How long a request is on its way.
    pub(super) fn request(&self) -> SimDuration {
        self.request
    }

    /// How long an answer that leaves `now` is on its way to that component.
    pub(super) fn answer(&mut self, which: Which, now: SimTime, streams: &Streams) -> SimDuration {
        match &mut self.answers {
            Answers::Constant(length) => *length,
            Answers::Varying(lengths, turns) => {
                if turns.len() <= which as usize {
                    turns.resize(which as usize + 1, Turn::NONE);
                }
                let stretch = now.as_nanos().div_euclid(STRETCH.as_nanos() as i64);
                let bits = turns[which as usize].next(which, stretch, streams);
                lengths[(usize::from(bits) * LENGTHS) >> 16]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> SimDuration {
        SimDuration::from_millis(millis)
    }

    fn varying() -> Calls {
        Calls::new(&Distribution::Uniform { min: ms(2), max: ms(102) }, ms(10))
    }

    fn draws(calls: &mut Calls, at: SimTime, count: usize) -> Vec<SimDuration> {
        let streams = Streams::new(3);
        (0..count).map(|_| calls.answer(Which::Kubectl, at, &streams)).collect()
    }

    #[test]
    fn a_constant_is_the_whole_call() {
        let mut calls = Calls::new(&Distribution::Constant(ms(40)), ms(10));
        assert_eq!(calls.request(), ms(5));
        assert_eq!(calls.answer(Which::Kubectl, SimTime::ZERO, &Streams::new(1)), ms(35));
    }

    #[test]
    fn answers_follow_the_distribution_and_never_leave_before_the_commit() {
        let mut calls = varying();
        let mut drawn = draws(&mut calls, SimTime::ZERO, 4000);
        drawn.sort_unstable();
        assert_eq!(drawn[0], SimDuration::ZERO, "calls that are over within the request's way");
        let median = drawn[2000];
        assert!(ms(44) < median && median < ms(50), "{median:?}");
        assert!(*drawn.last().unwrap() < ms(97));
    }

    #[test]
    fn more_calls_in_one_stretch_shift_no_other_stretch_and_no_other_component() {
        let (mut quiet, mut busy) = (varying(), varying());
        let (now, later) = (SimTime::ZERO, SimTime::ZERO + ms(100));
        assert_eq!(draws(&mut quiet, now, 3), draws(&mut busy, now, 50)[..3]);
        assert_eq!(draws(&mut quiet, later, 40), draws(&mut busy, later, 40));
        let streams = Streams::new(3);
        assert_eq!(quiet.answer(Which::Kubelets, now, &streams), varying().answer(Which::Kubelets, now, &streams));
    }
}
