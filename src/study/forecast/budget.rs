//! How much is played.

use std::cell::Cell;

use super::toll::{Observing, Toll};
use crate::parallel::{self, Threads};
use crate::simulation::{Prepared, Script};
use crate::study::{Part, Progress};
use crate::units::SimDuration;

/// Plays between two looks at the clock.
const CHUNK: usize = 8;

/// How much a forecast may play: all that it wants to if nothing is said.
#[derive(Default)]
pub struct Budget<'a> {
    /// At most so many plays; the same number gives the same bytes.
    pub plays: Option<u64>,
    /// Says that time is up. What is played by then depends on the machine.
    pub is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// Says how far it has got.
    pub progress: Option<&'a dyn Progress>,
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Budget").field("plays", &self.plays).finish_non_exhaustive()
    }
}

/// A play that is to be made.
pub(super) struct Play<'a> {
    pub(super) settled: &'a Prepared,
    pub(super) script: Script,
    pub(super) seed: u64,
    pub(super) length: SimDuration,
}

/// Plays what the budget allows, and counts.
pub(super) struct Player<'a> {
    observing: Observing<'a>,
    budget: &'a Budget<'a>,
    threads: &'a Threads,
    played: Cell<u64>,
    wanted: Cell<u64>,
}

impl<'a> Player<'a> {
    pub(super) fn new(observing: Observing<'a>, budget: &'a Budget<'a>, threads: &'a Threads) -> Self {
        Self { observing, budget, threads, played: Cell::new(0), wanted: Cell::new(0) }
    }

    /// How many plays were made, and how many were wanted.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.played.get(), self.wanted.get())
    }

    fn is_over(&self) -> bool {
        self.budget.is_over.is_some_and(|is_over| is_over())
    }

    /// Makes as many of the plays as the budget has left, the first ones first; those behind are missing in what comes back.
    pub(super) fn play(&self, what: &str, plays: &[Play<'_>]) -> Vec<Toll> {
        self.wanted.set(self.wanted.get() + plays.len() as u64);
        let left = self.budget.plays.map_or(u64::MAX, |most| most.saturating_sub(self.played.get()));
        let allowed = usize::try_from(left).unwrap_or(usize::MAX).min(plays.len());
        let silent = crate::study::Silent;
        let progress = self.budget.progress.unwrap_or(&silent);
        let part = Part::begin(progress, allowed as u64, 0, what);
        let mut tolls = Vec::with_capacity(allowed);
        for chunk in plays[..allowed].chunks(CHUNK) {
            if self.is_over() {
                break;
            }
            let observing = &self.observing;
            let one = |play: &Play<'_>| {
                let toll = observing.play(play.settled, play.script.clone(), play.seed, play.length);
                part.advance();
                toll
            };
            tolls.extend(self.threads.install(|| parallel::map(chunk, one)));
        }
        self.played.set(self.played.get() + tolls.len() as u64);
        tolls
    }
}
