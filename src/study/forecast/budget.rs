//! How much is played.

use std::cell::{Cell, RefCell};

use super::played::{Played, first_plays};
use super::toll::{Observing, Toll};
use crate::parallel::{self, Threads};
use crate::simulation::{Prepared, Script};
use crate::study::{Journal, JournalError, Part, Progress};
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
    /// Keeps what is played. What is in it is not played again.
    pub journal: Option<&'a Journal<Played>>,
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
    /// The first plays, as a journal has them.
    known: Vec<Toll>,
    played: Cell<u64>,
    wanted: Cell<u64>,
    /// Why the journal takes no more.
    failure: RefCell<Option<JournalError>>,
}

impl<'a> Player<'a> {
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub(super) fn new(
        observing: Observing<'a>,
        budget: &'a Budget<'a>,
        threads: &'a Threads,
    ) -> Result<Self, JournalError> {
        let rows = budget.journal.map(Journal::rows).transpose()?.unwrap_or_default();
        let known = first_plays(rows, observing.units.all.len());
        let (played, wanted, failure) = (Cell::new(0), Cell::new(0), RefCell::new(None));
        Ok(Self { observing, budget, threads, known, played, wanted, failure })
    }

    /// # Errors
    ///
    /// If the journal could not be written.
    pub(super) fn finish(self) -> Result<(), JournalError> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    /// How many plays were made, and how many were wanted.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.played.get(), self.wanted.get())
    }

    fn is_over(&self) -> bool {
        self.failure.borrow().is_some() || self.budget.is_over.is_some_and(|is_over| is_over())
    }

    /// Makes as many of the plays as the budget has left, the first ones first; those behind are missing in what comes back.
    pub(super) fn play(&self, what: &str, plays: &[Play<'_>]) -> Vec<Toll> {
        self.wanted.set(self.wanted.get() + plays.len() as u64);
        let made = self.played.get();
        let left = self.budget.plays.map_or(u64::MAX, |most| most.saturating_sub(made));
        let allowed = usize::try_from(left).unwrap_or(usize::MAX).min(plays.len());
        let known = self.known.get(made as usize..).unwrap_or_default();
        let mut tolls = known[..known.len().min(allowed)].to_vec();
        let silent = crate::study::Silent;
        let progress = self.budget.progress.unwrap_or(&silent);
        let part = Part::begin(progress, allowed as u64, tolls.len() as u64, what);
        for chunk in plays[tolls.len()..allowed].chunks(CHUNK) {
            if self.is_over() {
                break;
            }
            let observing = &self.observing;
            let one = |play: &Play<'_>| {
                let toll = observing.play(play.settled, play.script.clone(), play.seed, play.length);
                part.advance();
                toll
            };
            let played = self.threads.install(|| parallel::map(chunk, one));
            self.keep(made + tolls.len() as u64, &played);
            tolls.extend(played);
        }
        self.played.set(made + tolls.len() as u64);
        tolls
    }

    /// Enters plays into the journal, the first of them by its position.
    fn keep(&self, first: u64, played: &[Toll]) {
        let Some(journal) = self.budget.journal else { return };
        let kept = played.iter().zip(first..).try_for_each(|(toll, position)| journal.add(Played::new(position, toll)));
        if let Err(error) = kept {
            *self.failure.borrow_mut() = Some(error);
        }
    }
}
