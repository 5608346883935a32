//! Tables of samples, as Grafana lets its panels be downloaded.

use std::io::{self, BufRead, Cursor, Read};

use csv::{ReaderBuilder, StringRecord};

use super::super::ClockOptions;
use super::labels::{Labels, ready_of};
use super::number::nanos_of_unit;
use super::samples::{Place, Samples};
use super::text;
use crate::diagnostics::TableLines;
use crate::evidence::Instant;

/// Bytes of a first line.
const HEAD_MAX: u64 = 16 << 20;

/// What is to be said of a table.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Columns that are named after a node alone: taken for whether it is ready.
    pub assumed: Vec<String>,
    /// Columns that no series is known for.
    pub unknown: Vec<String>,
    /// Rows whose times cannot be read: the line of the first, its cell, and how many.
    pub first_bad: Option<(u64, String)>,
    pub bad: usize,
    /// Times had no offset.
    pub is_local: bool,
    /// Why no more was read.
    pub broken: Option<String>,
}

/// Whether a text is such a table: one of its columns is the time.
pub(super) fn is(head: &str) -> bool {
    let mut lines = head.trim_start_matches('\u{feff}').lines();
    let first = lines.next().unwrap_or_default();
    let header = if first.trim_end().starts_with("sep=") { lines.next().unwrap_or_default() } else { first };
    let is_separated = header.contains([',', ';', '\t']);
    is_separated && header.split([',', ';', '\t']).any(|cell| is_time(cell.trim().trim_matches('"')))
}

fn is_time(name: &str) -> bool {
    ["time", "timestamp", "date", "datetime"].iter().any(|known| name.trim().eq_ignore_ascii_case(known))
}

/// Reads a table.
pub(super) fn read(
    content: &mut dyn BufRead,
    clock: &ClockOptions,
    samples: &mut Samples,
    told: &mut Told,
) -> io::Result<()> {
    let mut header = first_line(content)?;
    let (mut delimiter, mut first) = (None, 1);
    if let Some(separator) = header.strip_prefix("sep=") {
        delimiter = separator.bytes().next();
        header = first_line(content)?;
        first = 2;
    }
    let delimiter = delimiter.unwrap_or_else(|| delimiter_of(&header));
    let whole = Cursor::new(header.into_bytes()).chain(content);
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .from_reader(TableLines::from_line(first, whole));
    let mut columns = Columns::default();
    let mut row = StringRecord::new();
    loop {
        match reader.read_record(&mut row) {
            Ok(false) => return Ok(()),
            Ok(true) if row.iter().any(is_time) => columns = Columns::of(&row, samples, told),
            Ok(true) => {
                let line = reader.get_mut().of(row.position());
                columns.row(&row, line, clock, samples, told);
            }
            Err(error) => match error.into_kind() {
                csv::ErrorKind::Io(error) => return Err(error),
                csv::ErrorKind::Utf8 { .. } => told.bad += 1,
                _ => {
                    told.broken = Some("it is no table".to_owned());
                    return Ok(());
                }
            },
        }
    }
}

fn first_line(content: &mut dyn BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    Read::take(content, HEAD_MAX).read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_start_matches('\u{feff}').to_owned())
}

/// The separator that a header has outside of quotes most often.
fn delimiter_of(header: &str) -> u8 {
    let outside = |byte: u8| header.split('"').step_by(2).flat_map(str::bytes).filter(|found| *found == byte).count();
    [b',', b';', b'\t'].into_iter().rev().max_by_key(|byte| outside(*byte)).unwrap_or(b',')
}

/// What the columns of a table are.
#[derive(Debug, Default)]
struct Columns {
    time: usize,
    /// Of a table in which each column is a series.
    series: Vec<(usize, Place)>,
    /// Of a table in which each row is a sample: the value, the series' name as a whole, and single labels.
    value: Option<usize>,
    legend: Option<usize>,
    labels: Vec<(usize, String)>,
}

impl Columns {
    fn of(header: &StringRecord, samples: &mut Samples, told: &mut Told) -> Self {
        let time = header.iter().position(is_time).unwrap_or(0);
        let is_value = |name: &str| {
            let name = name.trim().to_ascii_lowercase();
            name == "value" || name.starts_with("value #") || name.starts_with("value (")
        };
        let mut columns = Self { time, value: header.iter().position(is_value), ..Self::default() };
        for (at, name) in header.iter().enumerate().filter(|(at, _)| *at != time) {
            let name = name.trim();
            if columns.value.is_some() {
                match name.to_ascii_lowercase().as_str() {
                    "series" | "metric" => columns.legend = Some(at),
                    _ if columns.value != Some(at) => columns.labels.push((at, name.to_owned())),
                    _ => {}
                }
            } else if let Some(place) = series(name, samples, told) {
                columns.series.push((at, place));
            }
        }
        columns
    }

    fn row(&self, row: &StringRecord, line: u64, clock: &ClockOptions, samples: &mut Samples, told: &mut Told) {
        let cell = row.get(self.time).unwrap_or_default().trim();
        let Some(at) = instant(cell, clock, told) else {
            if row.iter().any(|cell| !cell.trim().is_empty()) {
                told.bad += 1;
                told.first_bad.get_or_insert_with(|| (line, cell.chars().take(60).collect()));
            }
            return;
        };
        for (column, place) in &self.series {
            if let Some(value) = row.get(*column).and_then(value) {
                samples.push(*place, at, value);
            }
        }
        let Some(value) = self.value.and_then(|column| row.get(column)).and_then(value) else { return };
        if let Some(legend) = self.legend.and_then(|column| row.get(column)) {
            if let Some(place) = series(legend.trim(), samples, told) {
                samples.push(place, at, value);
            }
            return;
        }
        let mut labels = Labels::default();
        for (column, name) in &self.labels {
            labels.add(name, row.get(*column).unwrap_or_default().trim());
        }
        if let Some(place) = place_of(&labels, samples, told) {
            samples.push(place, at, value);
        }
    }
}

/// The series that a column or a cell is named after: labels, or what a short legend leaves of them.
fn series(name: &str, samples: &mut Samples, told: &mut Told) -> Option<Place> {
    let mut labels = Labels::default();
    if name.contains('{') && text::labels(name, &mut labels).is_some() {
        return place_of(&labels, samples, told);
    }
    // A legend of one label is its value.
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
    if !is_name {
        note(&mut told.unknown, name);
        return None;
    }
    note(&mut told.assumed, name);
    samples.place(ready_of(name), 0)
}

fn place_of(labels: &Labels, samples: &mut Samples, told: &mut Told) -> Option<Place> {
    if let Some(key) = labels.assumed() {
        note(&mut told.assumed, labels.name_of_node());
        return samples.place(key, labels.source);
    }
    let place = samples.open(labels);
    if place.is_none() {
        note(&mut told.unknown, labels.name());
    }
    place
}

fn note(names: &mut Vec<String>, name: &str) {
    if names.len() < 20 && !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// A time: a number since the epoch, or a date on the clock of whoever downloaded it.
fn instant(cell: &str, clock: &ClockOptions, told: &mut Told) -> Option<i64> {
    if let Ok(number) = cell.parse::<f64>() {
        return nanos_of_unit(number);
    }
    let date = cell.replacen([' ', 'T'], "T", 1);
    if let Some(at) = Instant::parse(&date) {
        return Some(at.unix_nanos());
    }
    let with_seconds = if date.matches(':').count() == 1 { format!("{date}:00Z") } else { format!("{date}Z") };
    let at = Instant::parse(&with_seconds)?;
    told.is_local = true;
    let offset = clock.offset.unwrap_or_default();
    Some(if clock.is_behind { at.later(offset) } else { at.earlier(offset) }.unix_nanos())
}

/// A value with or without its unit, or a word that a panel shows for it.
fn value(cell: &str) -> Option<f64> {
    let cell = cell.trim();
    if let Ok(value) = cell.parse::<f64>() {
        return Some(value);
    }
    if let Some(percent) = cell.strip_suffix('%') {
        return percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0);
    }
    match cell.to_ascii_lowercase().as_str() {
        "ready" | "true" | "up" | "yes" | "online" | "healthy" => return Some(1.0),
        "notready" | "not ready" | "false" | "down" | "no" | "offline" | "unhealthy" => return Some(0.0),
        _ => {}
    }
    // Units behind a blank that do not scale the number.
    let (number, unit) = cell.split_once(' ')?;
    let is_plain = !matches!(unit.trim(), "K" | "k" | "Mil" | "M" | "Bil" | "B" | "G" | "Tri" | "T" | "m" | "µ" | "n");
    number.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    #[test]
    fn tables_have_a_column_of_times() {
        for (head, expected) in [
            ("\"Time\",\"n1\"\n", true),
            ("\u{feff}sep=,\n\"Time\",\"n1\"\n", true),
            ("Series;Time;Value\n", true),
            ("timestamp\tnode\tvalue\n", true),
            ("time_s,fact\n", false),
            ("Time\n", false),
            ("node,failed,repaired\n", false),
            ("sep=,", false),
        ] {
            assert_eq!(is(head), expected, "{head:?}");
        }
    }

    #[test]
    fn times_are_of_the_clock_that_is_told() {
        #[track_caller]
        fn check(cell: &str, clock: &ClockOptions, expected: Option<&str>) {
            let at = instant(cell, clock, &mut Told::default());
            assert_eq!(at, expected.map(|text| Instant::parse(text).unwrap().unix_nanos()), "{cell}");
        }
        let utc = ClockOptions::default();
        let offset = Some(SimDuration::from_secs(3600));
        let ahead = ClockOptions { offset, ..ClockOptions::default() };
        let behind = ClockOptions { is_behind: true, ..ahead.clone() };
        check("2023-03-08 06:00:00", &utc, Some("2023-03-08T06:00:00Z"));
        check("2023-03-08 06:00:00", &ahead, Some("2023-03-08T05:00:00Z"));
        check("2023-03-08 06:00:00.250", &behind, Some("2023-03-08T07:00:00.25Z"));
        check("2023-03-08 06:00", &utc, Some("2023-03-08T06:00:00Z"));
        check("2023-03-08T06:00:00+01:00", &ahead, Some("2023-03-08T05:00:00Z"));
        check("1678255200000", &ahead, Some("2023-03-08T06:00:00Z"));
        check("1678255200", &ahead, Some("2023-03-08T06:00:00Z"));
        check("yesterday", &utc, None);
        check("300000-01-01 00:00:00", &utc, None);
        check("-5", &utc, None);
    }

    #[test]
    fn values_may_have_units_or_be_words() {
        for (cell, expected) in [
            ("1", Some(1.0)),
            ("0 ", Some(0.0)),
            ("100%", Some(1.0)),
            ("1 short", Some(1.0)),
            ("1.68 Bil", None),
            ("Ready", Some(1.0)),
            ("NotReady", Some(0.0)),
            ("", None),
            ("undefined", None),
        ] {
            assert_eq!(value(cell), expected, "{cell:?}");
        }
    }
}
