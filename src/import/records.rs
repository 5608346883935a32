//! Failures and repairs as tables hold them.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::diagnostics::TableLines;
use crate::engine::Observation;
use crate::units::{SimDuration, unix_nanos_from_rfc3339};

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RecordError {
    /// The first line does not say what the columns are.
    #[error(
        "the first line, `{header}`, names no columns that can be used; it needs `node`, `failed` and `repaired`, or \
         `time_to_failure`, `time_to_repair` or both"
    )]
    Columns {
        /// What it is.
        header: String,
    },
    /// It does, for another separator.
    #[error("the first line, `{header}`, separates its columns by {found}; they are to be separated by commas")]
    Separator {
        /// What it is.
        header: String,
        /// What stands between them, in words.
        found: &'static str,
    },
    /// An outage of nobody.
    #[error(
        "line {line}: `node` is empty, so that nobody can tell which outages followed each other; name it, or remove the row"
    )]
    NoNode {
        /// Counted from 1.
        line: u64,
    },
    /// A cell that cannot be read.
    #[error("line {line}: `{cell}` in the column `{column}` is not {wanted}")]
    Cell {
        /// Counted from 1.
        line: u64,
        /// Its name, as in the first line.
        column: String,
        /// What is written.
        cell: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A column that is there twice.
    #[error("`{column}` is there twice among the columns `{header}`")]
    Repeated {
        /// Its name.
        column: &'static str,
        /// The first line.
        header: String,
    },
    /// A repair before its failure.
    #[error("line {line}: the repair is before the failure")]
    Order {
        /// Counted from 1.
        line: u64,
    },
    /// A table that is none.
    #[error("{0}")]
    Csv(String),
}

/// Lengths of time from failure to repair, and from repair to the next failure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// From repair, or the beginning of the observation, to failure.
    pub to_failure: Vec<Observation>,
    /// From failure to repair.
    pub to_repair: Vec<Observation>,
    /// Outages by node, in seconds of an arbitrary clock, as long as they have not been made into lengths.
    outages: BTreeMap<String, Vec<(f64, Option<f64>)>>,
    /// How many outages have no repair although their node failed again later.
    pub(super) without_end: usize,
    /// How many outages were not observed: they ended before the observation began, or began after it.
    pub(super) outside: usize,
    /// What the lengths are of, each with where its own stand.
    pub(super) units: Vec<Unit>,
    /// How many of the nodes never failed: of them stand as many lengths behind all others.
    pub(super) untouched: usize,
}

/// A node that failed, or a row of lengths: what it told belongs together.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Unit {
    /// Where its lengths from repair to failure stand.
    pub(super) to_failure: Range<usize>,
    /// Where its lengths from failure to repair stand.
    pub(super) to_repair: Range<usize>,
    /// Whether it is a node, and no row of lengths of whatever node.
    pub(super) is_node: bool,
}

/// How an outage ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// At this instant.
    Repaired(f64),
    /// Nobody has written down when; it was before the next failure of the node.
    Unknown,
    /// Not by the end of the records.
    Open,
}

/// When nodes were watched, and how many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Watch {
    /// From when on; the first instant of the records if not said.
    pub(super) since: Option<f64>,
    /// Until when; the last instant of the records if not said.
    pub(super) until: Option<f64>,
    /// How many nodes; those that failed if not said.
    pub(super) nodes: Option<u32>,
    /// Whether they were new at the beginning; they had been running before if not.
    pub(super) is_of_new_nodes: bool,
}

const LENGTH: &str = "a number of seconds or a duration such as 90s, 2h or 3d";
const INSTANT: &str = "an instant such as 2026-03-01T14:05:00Z, or a number of seconds";

/// An instant in seconds: RFC 3339, the same without its zone (which then is UTC), or a number.
pub(super) fn instant(cell: &str) -> Option<f64> {
    if let Ok(seconds) = cell.parse::<f64>() {
        return seconds.is_finite().then_some(seconds);
    }
    let text = cell.replacen(' ', "T", 1);
    let with_seconds = if text.matches(':').count() == 1 { format!("{text}:00") } else { text.clone() };
    let nanos = [text.clone(), format!("{text}Z"), format!("{with_seconds}Z"), format!("{text}T00:00:00Z")]
        .iter()
        .find_map(|text| unix_nanos_from_rfc3339(text))?;
    Some(nanos as f64 / 1e9)
}

fn length(cell: &str) -> Option<f64> {
    match cell.parse::<f64>() {
        Ok(seconds) => (seconds.is_finite() && seconds >= 0.0).then_some(seconds),
        Err(_) => SimDuration::parse_with_days(cell).ok().map(SimDuration::as_secs_f64),
    }
}

/// Separators that some programs write in place of commas, with what people call them.
const OTHER_SEPARATORS: [(u8, &str); 3] = [(b';', "semicolons"), (b'\t', "tabs"), (b'|', "vertical bars")];

/// The columns that are read.
const COLUMNS: [&str; 5] = ["node", "failed", "repaired", "time_to_failure", "time_to_repair"];

/// Which columns a table has, of those that are read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Columns {
    Outages { node: usize, failed: usize, repaired: usize },
    Lengths { to_failure: Option<usize>, to_repair: Option<usize> },
}

impl Columns {
    fn of(header: &csv::StringRecord) -> Option<Self> {
        let column = |name: &str| header.iter().position(|cell| cell.eq_ignore_ascii_case(name));
        if let (Some(node), Some(failed), Some(repaired)) = (column("node"), column("failed"), column("repaired")) {
            return Some(Self::Outages { node, failed, repaired });
        }
        let (to_failure, to_repair) = (column("time_to_failure"), column("time_to_repair"));
        (to_failure.is_some() || to_repair.is_some()).then_some(Self::Lengths { to_failure, to_repair })
    }
}

/// A reader of tables whose cells are separated so.
fn reader(text: &str, separator: u8) -> csv::Reader<TableLines<&[u8]>> {
    const COMMENT: u8 = b'#';
    let mut builder = csv::ReaderBuilder::new();
    builder.flexible(true).trim(csv::Trim::All).comment(Some(COMMENT)).delimiter(separator);
    builder.from_reader(TableLines::new(text.as_bytes()).with_comments(COMMENT))
}

/// Why the columns of a table cannot be used.
fn no_columns(text: &str, header: &csv::StringRecord) -> RecordError {
    const SHOWN_MAX: usize = 80;
    let header: String = header.iter().collect::<Vec<_>>().join(",");
    let short: String = header.chars().take(SHOWN_MAX).collect();
    let header = if short.len() < header.len() { format!("{short}…") } else { header };
    let is_separated = |separator| reader(text, separator).headers().is_ok_and(|header| Columns::of(header).is_some());
    match OTHER_SEPARATORS.iter().find(|(separator, _)| is_separated(*separator)) {
        Some((_, found)) => RecordError::Separator { header, found },
        None => RecordError::Columns { header },
    }
}

impl Records {
    /// Adds the rows of a table.
    ///
    /// Either each row is an outage, with `node`, `failed` and `repaired` (empty if it had not been repaired at the end), or it
    /// has lengths in `time_to_failure` and `time_to_repair` (empty if unknown). Other columns are passed over.
    ///
    /// # Errors
    ///
    /// The first thing that cannot be read.
    pub fn add_table(&mut self, text: &str) -> Result<(), RecordError> {
        let mut reader = reader(text, b',');
        let header = reader.headers().map_err(|error| RecordError::Csv(error.to_string()))?.clone();
        let columns = Columns::of(&header).ok_or_else(|| no_columns(text, &header))?;
        let count = |name: &&&str| header.iter().filter(|cell| cell.eq_ignore_ascii_case(name)).count();
        if let Some(column) = COLUMNS.iter().find(|name| count(name) > 1) {
            return Err(RecordError::Repeated { column, header: header.iter().collect::<Vec<_>>().join(",") });
        }
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(|error| RecordError::Csv(error.to_string()))? {
            let line = reader.get_mut().of(record.position());
            let cell = |column: usize| record.get(column).filter(|cell| !cell.is_empty());
            let bad = |column: usize, wanted| RecordError::Cell {
                line,
                column: header[column].to_owned(),
                cell: cell(column).unwrap_or_default().to_owned(),
                wanted,
            };
            let (to_failure, to_repair) = match columns {
                Columns::Outages { node, failed, repaired } => {
                    let read = |column: usize| {
                        cell(column).map(|text| instant(text).ok_or_else(|| bad(column, INSTANT))).transpose()
                    };
                    let node = cell(node).ok_or(RecordError::NoNode { line })?;
                    let outage = (read(failed)?.ok_or_else(|| bad(failed, INSTANT))?, read(repaired)?);
                    if outage.1.is_some_and(|repaired| repaired < outage.0) {
                        return Err(RecordError::Order { line });
                    }
                    self.outages.entry(node.to_owned()).or_default().push(outage);
                    continue;
                }
                Columns::Lengths { to_failure, to_repair } => (to_failure, to_repair),
            };
            let read = |column: Option<usize>| {
                let (column, text) = column.and_then(|column| Some((column, cell(column)?))).unzip();
                let length = text.zip(column).map(|(text, column)| length(text).ok_or_else(|| bad(column, LENGTH)));
                length.transpose()
            };
            let begins = self.lengths();
            self.to_failure.extend(read(to_failure)?.map(Observation::whole));
            self.to_repair.extend(read(to_repair)?.map(Observation::whole));
            self.add_unit(begins, false);
        }
        Ok(())
    }

    /// How many lengths there are so far.
    fn lengths(&self) -> (usize, usize) {
        (self.to_failure.len(), self.to_repair.len())
    }

    /// What was added since there were so many belongs together.
    fn add_unit(&mut self, begins: (usize, usize), is_node: bool) {
        let ends = self.lengths();
        self.units.push(Unit { to_failure: begins.0..ends.0, to_repair: begins.1..ends.1, is_node });
    }

    /// Whether no table had a row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.outages.is_empty() && self.units.is_empty()
    }

    /// How many nodes have outages.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.outages.len()
    }

    /// The first and the last instant of all outages.
    pub(super) fn span(&self) -> (f64, f64) {
        let instants = self.outages.values().flatten().flat_map(|(failed, repaired)| [Some(*failed), *repaired]);
        let within = |(first, last): (f64, f64), at: f64| (first.min(at), last.max(at));
        instants.flatten().fold((f64::INFINITY, f64::NEG_INFINITY), within)
    }

    /// How many outages there are, if none of them was observed: they ended before the observation began, or began after it.
    pub(super) fn all_outside(&self, watch: Watch) -> Option<usize> {
        let (first, last) = self.span();
        let watched = (watch.since.unwrap_or(first), watch.until.unwrap_or(last));
        let mut outages = self.outages.values().flatten();
        let is_none = !self.outages.is_empty() && outages.all(|outage| is_outside(*outage, watched));
        is_none.then(|| self.outages.values().map(Vec::len).sum())
    }

    /// Makes outages into lengths of time. What had not ended when the observation did lasted at least so long; so did the life of
    /// nodes that never failed. What ran when the observation began had run before, unless nodes were new then.
    pub(super) fn settle(&mut self, watch: Watch) {
        let (first, last) = self.span();
        let (since, until) = (watch.since.unwrap_or(first), watch.until.unwrap_or(last));
        let failed_count = self.outages.len() as u32;
        for outages in std::mem::take(&mut self.outages).into_values() {
            let (mut up_since, mut is_rest) = (since, !watch.is_of_new_nodes);
            let begins = self.lengths();
            for (failed, end) in joined(outages) {
                let repaired = if let End::Repaired(at) = end { Some(at) } else { None };
                if is_outside((failed, repaired), (since, until)) {
                    self.outside += 1;
                    continue;
                }
                if failed > up_since {
                    self.to_failure.push(Observation { seconds: failed - up_since, is_censored: false, is_rest });
                }
                is_rest = false;
                // Neither how long it was away is known then, nor how long it ran afterwards.
                if end == End::Unknown {
                    self.without_end += 1;
                    up_since = f64::INFINITY;
                    continue;
                }
                let end = repaired.filter(|repaired| *repaired <= until);
                let seconds = end.unwrap_or(until) - failed;
                if failed >= since && (end.is_some() || seconds > 0.0) {
                    self.to_repair.push(Observation { seconds, is_censored: end.is_none(), is_rest: false });
                }
                up_since = end.unwrap_or(f64::INFINITY);
            }
            if up_since < until {
                self.to_failure.push(Observation { seconds: until - up_since, is_censored: true, is_rest });
            }
            self.add_unit(begins, true);
        }
        let untouched = watch.nodes.unwrap_or(0).saturating_sub(failed_count);
        let all = Observation { seconds: until - since, is_censored: true, is_rest: !watch.is_of_new_nodes };
        if failed_count > 0 && all.seconds > 0.0 {
            self.to_failure.extend(std::iter::repeat_n(all, untouched as usize));
            self.untouched = untouched as usize;
        }
        lift_zeros(&mut self.to_failure);
        lift_zeros(&mut self.to_repair);
    }
}

/// Whether an outage ended before the observation began, or began after it: then it was not observed.
fn is_outside((failed, repaired): (f64, Option<f64>), (since, until): (f64, f64)) -> bool {
    repaired.is_some_and(|repaired| repaired < since) || failed > until
}

/// Outages of one node in order, those that overlap as one. A node that fails again was up in between, so that an outage without
/// a repair swallows none that follow.
fn joined(mut outages: Vec<(f64, Option<f64>)>) -> Vec<(f64, End)> {
    outages.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out: Vec<(f64, End)> = Vec::new();
    for (failed, repaired) in outages {
        let new = repaired.map_or(End::Open, End::Repaired);
        match out.last_mut() {
            Some((begun, end @ End::Repaired(_))) if matches!(*end, End::Repaired(last) if failed <= last) => {
                *end = match (*end, new) {
                    (End::Repaired(one), End::Repaired(other)) => End::Repaired(one.max(other)),
                    (one, End::Open) if *begun == failed => one,
                    _ => End::Open,
                };
            }
            // Told twice.
            Some((begun, end @ End::Open)) if *begun == failed => *end = new,
            last => {
                if let Some((_, end @ End::Open)) = last {
                    *end = End::Unknown;
                }
                out.push((failed, new));
            }
        }
    }
    out
}

/// Lengths of nothing are shorter than the records can tell: half of the shortest that they do.
fn lift_zeros(observations: &mut [Observation]) {
    let positive = observations.iter().map(|observation| observation.seconds).filter(|seconds| *seconds > 0.0);
    let shortest = positive.fold(f64::INFINITY, f64::min);
    // Where all are nothing, nothing is known of any.
    if !shortest.is_finite() {
        return;
    }
    let half = shortest / 2.0;
    for observation in observations.iter_mut().filter(|observation| observation.seconds <= 0.0) {
        observation.seconds = half;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(observations: &[Observation]) -> Vec<(f64, bool)> {
        observations.iter().map(|observation| (observation.seconds, observation.is_censored)).collect()
    }

    #[test]
    fn outages_become_lengths_and_what_has_not_ended_is_said_so() {
        let mut records = Records::default();
        let table = "failed,node,cause,repaired\n100,a,disk,150\n140,a,disk,170\n400,a,power,\n200,b,,200\n";
        records.add_table(table).expect("a table");
        assert_eq!(records.node_count(), 2);
        let watch = Watch { since: Some(0.0), until: Some(1000.0), nodes: Some(3), is_of_new_nodes: false };
        let mut of_new = records.clone();
        of_new.settle(Watch { is_of_new_nodes: true, ..watch });
        records.settle(watch);
        let expected = [(100.0, false), (230.0, false), (200.0, false), (800.0, true), (1000.0, true)];
        assert_eq!(lengths(&records.to_failure), expected);
        let rests: Vec<bool> = records.to_failure.iter().map(|of| of.is_rest).collect();
        assert_eq!(rests, [true, false, true, false, true]);
        assert!(of_new.to_failure.iter().all(|of| !of.is_rest));
        // The outage without length is half as long as the shortest.
        assert_eq!(lengths(&records.to_repair), [(70.0, false), (600.0, true), (35.0, false)]);
    }

    #[test]
    fn an_outage_without_a_repair_swallows_none_that_follow() {
        let mut records = Records::default();
        let table = "node,failed,repaired\na,100,\na,300,340\na,600,\na,600,650\na,600,\na,700,790\na,750,\nb,200,220\nb,400,440\n";
        records.add_table(table).expect("a table");
        records.settle(Watch { since: Some(0.0), until: Some(1000.0), ..Watch::default() });
        let expected = [(100.0, false), (260.0, false), (50.0, false), (200.0, false), (180.0, false), (560.0, true)];
        assert_eq!(lengths(&records.to_failure), expected);
        let expected = [(40.0, false), (50.0, false), (300.0, true), (20.0, false), (40.0, false)];
        assert_eq!(lengths(&records.to_repair), expected);
        assert_eq!(records.without_end, 1);
    }

    #[test]
    fn lengths_are_seconds_or_durations_and_may_be_unknown() {
        let mut records = Records::default();
        records.add_table("time_to_repair,time_to_failure\n90,2d\n1m30s,\n,5\n").expect("a table");
        records.settle(Watch::default());
        assert_eq!(lengths(&records.to_repair), [(90.0, false), (90.0, false)]);
        assert_eq!(lengths(&records.to_failure), [(172_800.0, false), (5.0, false)]);
    }

    #[test]
    fn instants_are_read_as_people_write_them() {
        let check = |text: &str, expected: Option<f64>| assert_eq!(instant(text), expected, "{text}");
        check("1970-01-01T00:01:00Z", Some(60.0));
        check("1970-01-01 00:01:00", Some(60.0));
        check("1970-01-01 00:01", Some(60.0));
        check("1970-01-02", Some(86_400.0));
        check("60.5", Some(60.5));
        check("yesterday", None);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        let check = |table: &str, expected: &str| {
            let refused = Records::default().add_table(table).expect_err("refused").to_string();
            assert!(refused.contains(expected), "{refused}");
        };
        check("a,b\n1,2\n", "the first line, `a,b`, names no columns");
        check(
            "node;failed;repaired\na;1;2\n",
            "the first line, `node;failed;repaired`, separates its columns by semicolons",
        );
        check("a;b\n", "the first line, `a;b`, names no columns");
        check("node,failed,repaired\na,1,2\nb,soon,3\n", "line 3: `soon` in the column `failed` is not an instant");
        check("node,failed,Repaired\na,1,12/31/2001 13:56\n", "`12/31/2001 13:56` in the column `Repaired` is not");
        check("node,failed,repaired\r\na,1,2\r\n\r\nb,soon,3\r\n", "line 4: `soon`");
        check("node,failed,repaired\na,,2\n", "line 2: `` in the column `failed` is not an instant");
        check("node,failed,repaired\na,1,2\n ,5,6\n", "line 3: `node` is empty");
        check("node,failed,repaired\na,5,2\n", "line 2: the repair is before the failure");
        check("time_to_failure\n-4\n", "line 2: `-4` in the column `time_to_failure` is not a number of seconds");
    }

    #[test]
    fn a_column_that_is_there_twice_is_refused() {
        let refused = Records::default().add_table("node,failed,node,repaired\na,1,b,2\n").expect_err("two nodes");
        assert_eq!(refused.to_string(), "`node` is there twice among the columns `node,failed,node,repaired`");
        Records::default().add_table("node,failed,repaired,note,note\na,1,2,x,y\n").expect("others do not matter");
    }
}
