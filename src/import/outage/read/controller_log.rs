//! The log of kube-controller-manager: klog's lines, as text or JSON, bare or as runtimes and journals wrap them.
//!
//! # Source
//!
//! Messages of the node lifecycle, taint eviction and pod garbage collection controllers, of the cloud's node lifecycle controller, of
//! leader election and of the event recorder, from release 1.10 on.

mod line;
mod messages;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead};

use jiff::civil::DateTime;
use rustc_hash::FxHashSet;

use self::line::{Line, Time};
use self::messages::Said;
use super::{lines, stamp};
use crate::arena::StableHasher;
use crate::diagnostics::{Diagnostic, Location};
use crate::evidence::{Bounds, Instant, Record, RecordKind, Sighting, What};
use crate::import::outage::evidence::Yearless;
use crate::import::outage::{ClockOptions, Evidence};
use crate::units::SimDuration;

/// Lines by which a log is told.
const TOLD_BY: usize = 20;
/// Threads write what they have to say by up to so much too late.
const DISORDER: SimDuration = SimDuration::from_secs(2);
/// After its start the controller finds every node anew, whatever has come about before.
const STARTUP: SimDuration = SimDuration::from_secs(60);
/// More than that back is the turn of a year, in a log without years.
const HALF_A_YEAR: SimDuration = SimDuration::from_secs(183 * 24 * 3600);

/// Ends of years in one log; whoever has more has no log.
const TURNS_MAX: i16 = 100;

/// Whether a text begins with lines of klog.
pub(super) fn is(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.lines().take(TOLD_BY).any(|line| Line::parse(line).is_some())
}

/// Reads a log. What other components have logged says nothing here.
pub(super) fn read(name: &str, content: &mut dyn BufRead, clock: &ClockOptions, into: &mut Evidence) -> io::Result<()> {
    let mut log = Log::new(name, clock);
    let mut bytes = Vec::new();
    let mut number = 0_u32;
    let result = loop {
        match lines::next(content, &mut bytes) {
            Ok(true) => {}
            Ok(false) => break Ok(()),
            Err(error) => break Err(error),
        }
        number = number.saturating_add(1);
        let text = String::from_utf8_lossy(&bytes);
        if let Some(line) = Line::parse(&text) {
            log.add(&line, number);
        }
    };
    log.finish(into);
    result
}

/// A log while it is read.
struct Log<'a> {
    name: &'a str,
    clock: &'a ClockOptions,
    last: Option<Instant>,
    /// Ends of years that were passed, where lines name no year.
    turns: i16,
    is_yearless: bool,
    covers: Option<Bounds>,
    /// When the controller began, or became the leader.
    began: Option<Instant>,
    /// Jumps back of the clock: how many, the line of the first, and how far.
    jumps: usize,
    first_jump: (u32, SimDuration),
    seen: FxHashSet<u64>,
    sightings: Vec<(u32, Bounds, What)>,
}

impl<'a> Log<'a> {
    fn new(name: &'a str, clock: &'a ClockOptions) -> Self {
        Self {
            name,
            clock,
            last: None,
            turns: 0,
            is_yearless: false,
            covers: None,
            began: None,
            jumps: 0,
            first_jump: (0, SimDuration::ZERO),
            seen: FxHashSet::default(),
            sightings: Vec::new(),
        }
    }

    fn add(&mut self, line: &Line<'_>, number: u32) {
        let Some(time) = self.time(line.time, number) else { return };
        let covered = self.covers.get_or_insert(Bounds::at(time));
        covered.earliest = covered.earliest.min(time);
        covered.latest = covered.latest.max(time);
        let Some(said) = messages::said(line) else { return };
        if matches!(said.what, What::ComponentStarted { .. }) {
            self.began = Some(time);
        }
        let has_just_begun = self.began.is_some_and(|began| began <= time && time <= began.later(STARTUP));
        if said.is_found_anew && has_just_begun {
            return;
        }
        let latest = time.earlier(said.ago);
        let when = Bounds { earliest: latest.earlier(said.before), latest };
        if self.is_new(&said, when) {
            self.sightings.push((number, when, said.what));
        }
    }

    /// When a line was written; of yearless ones in a year of which only the order counts.
    fn time(&mut self, time: Time, number: u32) -> Option<Instant> {
        let mut time = match time {
            Time::Known(time) => time,
            Time::Yearless(time) => {
                self.is_yearless = true;
                stamp::to_utc(in_year(time, line::NO_YEAR + self.turns)?, self.clock)
            }
        };
        if let Some(last) = self.last {
            if self.is_yearless && time.later(HALF_A_YEAR) < last {
                self.turns = self.turns.saturating_add(1).min(TURNS_MAX);
                time = moved(time, 1)?;
            }
            if time.later(DISORDER) < last {
                let by = SimDuration::from_nanos(u64::try_from(last.nanos_since(time)).unwrap_or(0));
                self.jumps += 1;
                if self.jumps == 1 {
                    self.first_jump = (number, by);
                }
            }
        }
        self.last = Some(time);
        Some(time)
    }

    /// Whether that has not been said: the last heartbeat of a node is repeated with every pass.
    fn is_new(&mut self, said: &Said, when: Bounds) -> bool {
        let What::Heartbeat { node } = said.what else { return true };
        let mut hasher = StableHasher::default();
        hasher.write(node.as_str().as_bytes());
        // Passes differ by less than a second in what they make of one and the same heartbeat.
        let second = when.latest.unix_nanos().div_euclid(1_000_000_000);
        hasher.write(&second.to_le_bytes());
        self.seen.insert(hasher.finish())
    }

    fn finish(self, into: &mut Evidence) {
        if self.jumps > 0 {
            let (number, by) = self.first_jump;
            let message = format!("the clock of `{}` jumps back, in line {number} by {by}", self.name);
            let place = Location::new(self.name, number, 1, 1);
            let more = self.jumps - 1;
            let text = if more > 0 { format!("and {more} times more") } else { String::new() };
            let diagnostic = Diagnostic::warning("evidence::clock_jump", message).at(place, text);
            into.problem(diagnostic.help("times around a jump are wrong by as much as it"), None);
        }
        if self.sightings.is_empty() {
            into.passed_over += 1;
            return;
        }
        let name = self.name.to_owned();
        let record = into.begin(Record { name, kind: RecordKind::ControllerLog, covers: self.covers, step: None });
        let said = self.sightings.into_iter();
        let sightings = said.map(|(place, when, what)| Sighting { when, what, record, place }).collect();
        if self.is_yearless {
            into.yearless.push(Yearless { record, sightings });
        } else {
            into.sightings.extend(sightings);
        }
    }
}

/// An instant of a year that is not known, in that one.
fn in_year(time: DateTime, year: i16) -> Option<Instant> {
    let is_leap_day = (time.month(), time.day()) == (2, 29);
    let time = match time.with().year(year).build() {
        Ok(time) => time,
        Err(_) if is_leap_day => time.with().year(year).day(28).build().ok()?,
        Err(_) => return None,
    };
    let nanos = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    Some(Instant::from_unix_nanos(i64::try_from(nanos).ok()?))
}

/// The same day and time so many years later.
fn moved(instant: Instant, years: i16) -> Option<Instant> {
    let stamp = jiff::Timestamp::from_nanosecond(i128::from(instant.unix_nanos())).ok()?;
    let time = stamp.to_zoned(jiff::tz::TimeZone::UTC).datetime();
    in_year(time, time.year().checked_add(years)?)
}

/// Gives logs that name no year the one that was told, or that in which they lie nearest to what else there is. What has none is left
/// for more evidence.
pub(super) fn settle(clock: &ClockOptions, into: &mut Evidence) {
    let seen = into.sightings.iter().map(|sighting| sighting.when);
    let around = seen
        .reduce(|all, when| Bounds { earliest: all.earliest.min(when.earliest), latest: all.latest.max(when.latest) });
    for log in std::mem::take(&mut into.yearless) {
        let covers = into.records[log.record.0 as usize].covers;
        let year = clock.year.or_else(|| year_near(covers?, around?));
        let Some(years) = year.and_then(|year| year.checked_sub(line::NO_YEAR)) else {
            into.yearless.push(log);
            continue;
        };
        let in_its_year =
            |when: Bounds| Some(Bounds { earliest: moved(when.earliest, years)?, latest: moved(when.latest, years)? });
        into.records[log.record.0 as usize].covers = covers.and_then(in_its_year);
        for sighting in log.sightings {
            into.sightings.extend(in_its_year(sighting.when).map(|when| Sighting { when, ..sighting }));
        }
    }
}

/// The last of the years in which a log lies nearest to what else there is.
fn year_near(log: Bounds, around: Bounds) -> Option<i16> {
    let year = |instant: Instant| {
        let stamp = jiff::Timestamp::from_nanosecond(i128::from(instant.unix_nanos())).ok()?;
        Some(stamp.to_zoned(jiff::tz::TimeZone::UTC).year())
    };
    let (first, last) = (year(around.earliest)?, year(around.latest)?);
    let distance = |year: &i16| {
        let years = year.checked_sub(line::NO_YEAR)?;
        let (begin, end) = (moved(log.earliest, years)?, moved(log.latest, years)?);
        let before = around.earliest.nanos_since(end).max(0);
        Some(before.max(begin.nanos_since(around.latest)).max(0))
    };
    (first.saturating_sub(1)..=last.saturating_add(1)).rev().min_by_key(|year| distance(year).unwrap_or(i64::MAX))
}
