//! How much is played.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

use super::outlook::{Class, Outlook, Plays, Stage};
use super::played::{Known, Played};
use super::toll::{Observing, Toll};
use crate::parallel::{self, Threads};
use crate::simulation::{Prepared, Script};
use crate::study::{Journal, JournalError, Part, Progress, Row};
use crate::units::SimDuration;

/// Plays that are made side by side before anybody asks whether there is work left to spend.
const CHUNK: usize = 16;

/// How much a forecast may play.
#[derive(Default)]
pub struct Budget<'a> {
    /// At most so many plays; the same number gives the same bytes.
    pub plays: Option<u64>,
    /// Says that time is up. What is played by then depends on the machine.
    pub is_over: Option<&'a (dyn Fn() -> bool + Sync)>,
    /// For how long plays are planned; if neither this nor their number is said, for what a forecast of a small cluster takes.
    pub time: Option<SimDuration>,
    /// Says how far it has got.
    pub progress: Option<&'a dyn Progress>,
    /// Keeps what is played. What is in it is not played again.
    pub journal: Option<&'a Journal<Played>>,
    /// Hands plays out, where several processes work the same forecast out together.
    pub pool: Option<&'a dyn PlayPool>,
}

/// Hands out the plays of a forecast that several processes work out together, so that each is made by one of them and known to all.
///
/// All load the same cluster and ask for the same; each goes through the whole forecast, batch by batch, and has the same results. Who
/// comes late, or anew, finds the batches over that the others have made.
pub trait PlayPool: Sync {
    /// The forecast begins; whoever has another number works another one out, and is not to take part.
    fn begin(&self, fingerprint: u64);

    /// Takes a play that has been made, if one has, and says what is next: another play of the batch, by its number below `count`, or all
    /// that have been made of it, once it is over. Waits while others make the last of them. Batches are numbered from 0 on.
    ///
    /// If it cannot go on it gives nothing, and [`Progress::is_stopped`] says so.
    fn next(&self, batch: u64, count: usize, made: Option<(usize, String)>) -> Handed;
}

/// What a [`PlayPool`] has for who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Handed {
    /// This play is to be made.
    Play(usize),
    /// The batch is over: these have been made, as texts. What is missing, or is of another forecast, is made by each process itself.
    Over(Vec<String>),
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { plays, time, .. } = self;
        formatter.debug_struct("Budget").field("plays", plays).field("time", time).finish_non_exhaustive()
    }
}

/// A play that is to be made.
pub(super) struct Play<'a> {
    pub(super) class: Class,
    /// What tells it from every other, see [`super::played::key_of`].
    pub(super) key: u64,
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
    /// Plays that are over.
    known: RefCell<Known>,
    outlook: RefCell<Outlook>,
    played: Cell<u64>,
    wanted: Cell<u64>,
    /// Work of the plays that were counted, and the most of it.
    spent: Cell<u64>,
    most: u64,
    /// Work of the plays that this process has made.
    done: AtomicU64,
    /// Batches that came from the pool.
    batches: Cell<u64>,
    /// What it takes to begin a play.
    fork: u64,
    /// Why the journal takes no more.
    failure: RefCell<Option<JournalError>>,
}

impl<'a> Player<'a> {
    /// One that spends so much work at most, where beginning a play takes so much of it.
    ///
    /// # Errors
    ///
    /// If the journal cannot be read.
    pub(super) fn new(
        observing: Observing<'a>,
        budget: &'a Budget<'a>,
        threads: &'a Threads,
        most: u64,
        fork: u64,
    ) -> Result<Self, JournalError> {
        let rows = budget.journal.map(Journal::rows).transpose()?.unwrap_or_default();
        let known = RefCell::new(Known::of(rows, observing.units.all.len()));
        let outlook = RefCell::new(Outlook::new(fork));
        let (played, wanted, spent, failure) = (Cell::new(0), Cell::new(0), Cell::new(0), RefCell::new(None));
        let (done, batches) = (AtomicU64::new(0), Cell::new(0));
        Ok(Self {
            observing,
            budget,
            threads,
            known,
            outlook,
            played,
            wanted,
            spent,
            most,
            done,
            batches,
            fork,
            failure,
        })
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

    /// Whether what may be spent is spent: only plays that are known are had from now on, or none at all.
    pub(super) fn is_spent(&self) -> bool {
        self.is_over() || self.is_used_up()
    }

    /// Whether plays were left out as the clock or somebody said so.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_over()
    }

    /// Plays that are wanted and not made.
    pub(super) fn leave_out(&self, plays: usize) {
        self.wanted.set(self.wanted.get() + plays as u64);
    }

    /// Expects plays in a stage that is ahead or under way, besides those that are being made.
    pub(super) fn expect(&self, stage: Stage, plays: Plays) {
        self.outlook.borrow_mut().expect(stage, plays);
    }

    /// Nothing depends on the number of threads: work is that of the plays counted, in their order.
    fn is_used_up(&self) -> bool {
        self.spent.get() >= self.most || self.budget.plays.is_some_and(|most| self.played.get() >= most)
    }

    fn is_over(&self) -> bool {
        self.failure.borrow().is_some() || self.budget.is_over.is_some_and(|is_over| is_over())
    }

    /// Makes as many of the plays as the budget has left, the first ones first; those behind are missing in what comes back.
    pub(super) fn play(&self, what: &str, plays: &[Play<'_>]) -> Vec<Toll> {
        self.leave_out(plays.len());
        let left = self.budget.plays.map_or(u64::MAX, |most| most.saturating_sub(self.played.get()));
        let allowed = usize::try_from(left).unwrap_or(usize::MAX).min(plays.len());
        let silent = crate::study::Silent;
        let progress = self.budget.progress.unwrap_or(&silent);
        let known = plays[..allowed].iter().filter(|play| self.known.borrow().has(play.key)).count();
        let part = Part::begin(progress, allowed as u64, known as u64, what);
        let mut tolls = Vec::with_capacity(allowed);
        while tolls.len() < allowed && !self.is_used_up() && self.failure.borrow().is_none() {
            let end = allowed.min(tolls.len() + CHUNK);
            let chunk = self.chunk(&plays[tolls.len()..end], &plays[end..allowed], &part);
            let (wanted, had) = (end - tolls.len(), chunk.len());
            tolls.extend(chunk);
            if had < wanted {
                break;
            }
        }
        tolls
    }

    /// Makes these plays, before those behind; the first of them, where time is up before all are made.
    fn chunk(&self, plays: &[Play<'_>], behind: &[Play<'_>], part: &Part<'_>) -> Vec<Toll> {
        let missing = || plays.iter().filter(|play| !self.known.borrow().has(play.key)).collect::<Vec<_>>();
        if let (Some(pool), wanted @ [_, ..]) = (self.budget.pool, &missing()[..]) {
            self.share(pool, wanted, part);
        }
        self.make(&missing(), behind, part);
        let known = self.known.borrow();
        let tolls: Vec<Toll> = plays.iter().map_while(|play| known.toll(play.key)).collect();
        let work = tolls.iter().fold(0, |sum, toll| sum + toll.events + self.fork);
        self.spent.set(self.spent.get() + work);
        self.played.set(self.played.get() + tolls.len() as u64);
        tolls
    }

    /// Makes these plays, or the first of them where time is up before all are made.
    fn make(&self, missing: &[&Play<'_>], behind: &[Play<'_>], part: &Part<'_>) {
        if missing.is_empty() {
            return;
        }
        let begun = self.done.load(Ordering::Relaxed);
        let ahead = self.ahead(missing.iter().copied().chain(behind));
        let (observing, budget, done, fork) = (&self.observing, self.budget, &self.done, self.fork);
        let one = |play: &&Play<'_>| {
            part.heed();
            if budget.is_over.is_some_and(|is_over| is_over()) {
                return None;
            }
            let toll = observing.play(play.settled, play.script.clone(), play.seed, play.length);
            let work = toll.events + fork;
            let now = done.fetch_add(work, Ordering::Relaxed) + work;
            part.advance();
            part.whole(now, (begun + ahead).saturating_sub(now));
            Some(toll)
        };
        let made = self.threads.install(|| parallel::map(missing, one));
        self.keep(missing.iter().zip(made).filter_map(|(play, toll)| Some((*play, Played::new(play.key, &toll?)))));
    }

    /// Makes those of these plays that the pool hands out, and takes the others from it.
    fn share(&self, pool: &dyn PlayPool, missing: &[&Play<'_>], part: &Part<'_>) {
        let batch = self.batches.replace(self.batches.get() + 1);
        let mut made = None;
        let texts = loop {
            part.heed();
            match pool.next(batch, missing.len(), made.take()) {
                Handed::Over(texts) => break texts,
                Handed::Play(at) => {
                    let play = missing.get(at).expect("a number below the count");
                    let toll = self.observing.play(play.settled, play.script.clone(), play.seed, play.length);
                    let text = serde_json::to_string(&Played::new(play.key, &toll)).expect("plain data");
                    made = Some((at, text));
                }
            }
        };
        part.heed();
        let found = texts.iter().filter_map(|text| serde_json::from_str::<Played>(text).ok());
        let found = found.filter_map(|row| Some((*missing.iter().find(|play| play.key == row.key())?, row)));
        self.keep(found.inspect(|_| part.advance()));
    }

    /// The work of these plays and of all that is expected.
    fn ahead<'b>(&self, plays: impl Iterator<Item = &'b Play<'b>>) -> u64 {
        let known = self.known.borrow();
        let mut now = Plays::new();
        for play in plays.filter(|play| !known.has(play.key)) {
            *now.entry(play.class).or_default() += 1;
        }
        self.outlook.borrow().ahead(&now)
    }

    /// Keeps plays that were made, in the journal, too, if there is one.
    fn keep<'b>(&self, made: impl Iterator<Item = (&'b Play<'b>, Played)>) {
        let (mut known, mut outlook) = (self.known.borrow_mut(), self.outlook.borrow_mut());
        for (play, row) in made {
            outlook.note(play.class, row.events() + self.fork);
            if let Some(journal) = self.budget.journal
                && let Err(error) = journal.add(row.clone())
            {
                self.failure.borrow_mut().get_or_insert(error);
            }
            known.add(row);
        }
    }
}
