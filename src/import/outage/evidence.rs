//! What readers have found.

use std::collections::BTreeMap;

use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Source, Sources};
use crate::evidence::{Bounds, Record, RecordId, Sighting, What};
use crate::units::SimDuration;

/// Problems that are kept with their texts; the others are counted.
const PROBLEMS_MAX: usize = 30;
/// Reasons of Events that are counted one by one, and their length in bytes: names, whatever an exporter makes of them.
const REASONS_MAX: usize = 1000;
const REASON_MAX: usize = 128;
/// Bytes of texts that are kept to show problems in.
const SOURCES_MAX: usize = 16 << 20;

/// What records do not say of their own clocks.
#[derive(Clone, Debug, Default)]
pub struct ClockOptions {
    /// By how much clocks without an offset are ahead of UTC; `None`: they are UTC.
    pub offset: Option<SimDuration>,
    /// Whether that offset is west of UTC instead.
    pub is_behind: bool,
    /// The year of logs that name none; `None`: that of what else there is.
    pub year: Option<i16>,
}

/// A record, or a part of one, that was not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// Which.
    pub name: String,
    /// Why, as a clause: `it ends in the middle`.
    pub why: String,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub struct Evidence {
    /// What records say, in the order of reading.
    pub sightings: Vec<Sighting>,
    /// Where they were read.
    pub records: Vec<Record>,
    /// What was not read.
    pub unread: Vec<Unread>,
    /// Files that are no evidence, such as logs of containers.
    pub passed_over: usize,
    /// Events that say nothing of an outage, as far as is known here: how many of each reason.
    pub untold: BTreeMap<Symbol, usize>,
    /// What is wrong with what was read.
    pub diagnostics: Diagnostics,
    /// How many problems there are beyond those.
    pub more_problems: usize,
    /// Texts that problems are about.
    pub sources: Sources,
    source_bytes: usize,
    /// Logs whose year is not known yet.
    pub(super) yearless: Vec<Yearless>,
}

/// What a log says whose lines name no year.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Yearless {
    /// Which.
    pub(super) record: RecordId,
    /// In a year that stands for the one that is not known.
    pub(super) sightings: Vec<Sighting>,
}

impl Evidence {
    /// Nothing read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins a record.
    ///
    /// # Panics
    ///
    /// Beyond 2^32 records.
    pub fn begin(&mut self, record: Record) -> RecordId {
        let id = RecordId(u32::try_from(self.records.len()).expect("fewer than 2^32 records"));
        self.records.push(record);
        id
    }

    /// Takes down what a record says.
    pub fn see(&mut self, record: RecordId, place: u32, when: Bounds, what: What) {
        self.sightings.push(Sighting { when, what, record, place });
    }

    /// Takes down that something was not read.
    pub fn not_read(&mut self, name: impl Into<String>, why: impl Into<String>) {
        self.unread.push(Unread { name: name.into(), why: why.into() });
    }

    /// Counts an Event of whose reason nothing is made.
    pub fn untold(&mut self, reason: &str) {
        let is_name = reason.len() <= REASON_MAX && !reason.contains(char::is_control);
        let reason = Symbol::new(if is_name && self.untold.len() < REASONS_MAX { reason } else { "others" });
        *self.untold.entry(reason).or_default() += 1;
    }

    /// Takes down a problem; `source` is the text, or the piece of it, that the problem points into.
    pub fn problem(&mut self, diagnostic: Diagnostic, source: Option<Source>) {
        if self.diagnostics.len() >= PROBLEMS_MAX {
            self.more_problems += 1;
            return;
        }
        self.diagnostics.push(diagnostic);
        if let Some(source) = source
            && self.source_bytes + source.text.len() <= SOURCES_MAX
        {
            self.source_bytes += source.text.len();
            self.sources.insert(source);
        }
    }
}
