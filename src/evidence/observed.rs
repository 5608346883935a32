//! `observed.csv`: what was seen, a fact a row.

use std::io;

use thiserror::Error;

use super::fact::{Fact, FactKind};
use super::sighting::RecordKind;
use crate::arena::Symbol;
use crate::diagnostics::{TableLines, nearest, nearest_or};
use crate::units::SimTime;

/// The columns of the file. Times are seconds since t=0 of the scenario beside it: the best guess, and the bounds that the evidence leaves.
pub const OBSERVED_COLUMNS: [&str; 11] = [
    "time_s",
    "earliest_s",
    "latest_s",
    "fact",
    "namespace",
    "name",
    "owner_kind",
    "owner_name",
    "node",
    "value",
    "sources",
];

/// A fact, and when it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedFact {
    /// The best guess.
    pub at: SimTime,
    /// Not before.
    pub earliest: SimTime,
    /// Not after.
    pub latest: SimTime,
    /// What.
    pub fact: Fact,
    /// The kinds of records that say so, each once, in their order.
    pub sources: Vec<RecordKind>,
}

/// What is wrong with such a file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ObservedError {
    /// The first line does not name the columns.
    #[error("the first line lacks the column `{0}`")]
    Column(&'static str),
    /// A cell that cannot be read.
    #[error("line {line}: `{cell}` is not {wanted}")]
    Cell {
        /// Counted from 1.
        line: u64,
        /// What is written.
        cell: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// A value that facts of a kind do not have.
    #[error("line {line}: `{value}` is no value of {fact}: {valid}")]
    Value {
        /// Counted from 1.
        line: u64,
        /// The kind of the fact.
        fact: &'static str,
        /// What is written.
        value: String,
        /// What can be, the nearest first.
        valid: String,
    },
    /// Bounds that allow nothing, or not the time between them.
    #[error("line {line}: `time_s` does not lie between `earliest_s` and `latest_s`")]
    Order {
        /// Counted from 1.
        line: u64,
    },
    /// A row with more or fewer cells than the first line names.
    #[error("line {line}: this row does not have the cells of the first line")]
    Uneven {
        /// Counted from 1.
        line: u64,
    },
    /// No table at all.
    #[error("{0}")]
    Csv(String),
}

/// Writes the file. Rows are in the order of `facts`.
///
/// # Errors
///
/// Where `out` cannot be written.
pub fn write_observed(out: impl io::Write, facts: &[ObservedFact]) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(OBSERVED_COLUMNS)?;
    for observed in facts {
        let Fact { kind, namespace, name, owner_kind, owner_name, node, value } = observed.fact;
        for time in [observed.at, observed.earliest, observed.latest] {
            writer.write_field(time.seconds_text())?;
        }
        writer.write_field(kind.as_str())?;
        for text in [namespace, name, owner_kind, owner_name, node, value] {
            writer.write_field(text.as_str())?;
        }
        let sources: Vec<&str> = observed.sources.iter().map(|kind| kind.as_str()).collect();
        writer.write_field(sources.join(";"))?;
        writer.write_record(None::<&[u8]>)?;
    }
    writer.flush()
}

/// Reads the file. Columns may be in any order, and there may be others; `earliest_s`, `latest_s`, `owner_kind`, `owner_name` and
/// `sources` may be missing: bounds then are the time itself.
///
/// # Errors
///
/// What is wrong with its first row that cannot be read.
pub fn read_observed(text: &str) -> Result<Vec<ObservedFact>, ObservedError> {
    let mut reader = csv::ReaderBuilder::new()
        .flexible(false)
        .from_reader(TableLines::new(text.trim_start_matches('\u{feff}').as_bytes()));
    let header = reader.headers().map_err(|error| ObservedError::Csv(error.to_string()))?.clone();
    let place = |name: &str| header.iter().position(|column| column == name);
    for column in ["time_s", "fact", "name", "value"] {
        place(column).ok_or(ObservedError::Column(column))?;
    }
    let places = OBSERVED_COLUMNS.map(place);
    let mut facts = Vec::new();
    let mut record = csv::StringRecord::new();
    loop {
        let is_read = reader.read_record(&mut record);
        let position = is_read.as_ref().map_or_else(csv::Error::position, |_| record.position());
        let line = reader.get_mut().of(position);
        let is_row = is_read.map_err(|error| match error.position() {
            Some(_) => ObservedError::Uneven { line },
            None => ObservedError::Csv(error.to_string()),
        })?;
        if !is_row {
            break;
        }
        let cell = |column: usize| places[column].and_then(|at| record.get(at)).unwrap_or_default();
        facts.push(row(line, &cell)?);
    }
    Ok(facts)
}

fn row<'a>(line: u64, cell: &dyn Fn(usize) -> &'a str) -> Result<ObservedFact, ObservedError> {
    let wrong = |cell: &str, wanted| ObservedError::Cell { line, cell: cell.to_owned(), wanted };
    let time = |column: usize| seconds(cell(column)).ok_or_else(|| wrong(cell(column), "a number of seconds"));
    let at = time(0)?;
    let bound = |column: usize| if cell(column).is_empty() { Ok(at) } else { time(column) };
    let (earliest, latest) = (bound(1)?, bound(2)?);
    if earliest > at || at > latest {
        return Err(ObservedError::Order { line });
    }
    let kind = FactKind::named(cell(3)).ok_or_else(|| wrong(cell(3), "a kind of fact, such as `NodeReady`"))?;
    let [namespace, name, owner_kind, owner_name, node, value] =
        [4, 5, 6, 7, 8, 9].map(|column| Symbol::new(cell(column)));
    if name.is_empty() {
        return Err(wrong("", "the name of a node or a pod"));
    }
    if let Some(valid) = valid_values(kind, value.as_str()) {
        return Err(ObservedError::Value { line, fact: kind.as_str(), value: value.as_str().to_owned(), valid });
    }
    let sources = cell(10).split(';').filter(|source| !source.is_empty());
    let sources = sources.map(|source| RecordKind::named(source).ok_or_else(|| wrong(source, "a kind of evidence")));
    let sources = sources.collect::<Result<_, _>>()?;
    let fact = Fact { kind, namespace, name, owner_kind, owner_name, node, value };
    Ok(ObservedFact { at, earliest, latest, fact, sources })
}

/// What facts of a kind can have for a value, in words, the nearest to what is written first; none if that is one of them.
fn valid_values(kind: FactKind, value: &str) -> Option<String> {
    let Some(known) = kind.values() else { return valid_taint(value) };
    // Of any fact it may be unknown what was changed to.
    if value.is_empty() || known.contains(&value) {
        return None;
    }
    if known.is_empty() {
        return Some("it has none".to_owned());
    }
    let near = nearest(value, known.iter().copied());
    let others = known.iter().copied().filter(|word| Some(*word) != near);
    let words: Vec<String> = near.into_iter().chain(others).map(|word| format!("`{word}`")).collect();
    let (last, before) = words.split_last()?;
    Some(format!("it is {} or {last}", before.join(", ")))
}

/// The same of a taint: `key:Effect`, with `-` behind it when it left.
fn valid_taint(value: &str) -> Option<String> {
    const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "PreferNoSchedule"];
    const FORM: &str = "it is `key:Effect`, with `-` behind it when the taint left";
    if value.is_empty() {
        return None;
    }
    let (key, effect) = value.strip_suffix('-').unwrap_or(value).rsplit_once(':').unwrap_or_default();
    if key.is_empty() {
        return Some(FORM.to_owned());
    }
    if let Some((name, _)) = key.split_once('=') {
        return Some(format!("{FORM}, without the taint's own value: `{name}:{effect}`"));
    }
    let near = || nearest_or(effect, EFFECTS, || format!("effects are `{}`", EFFECTS.join("`, `")));
    (!EFFECTS.contains(&effect)).then(|| format!("{FORM}; {}", near()))
}

/// Seconds as the CSVs have them, with at most nine decimals.
fn seconds(text: &str) -> Option<SimTime> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(part) || part.len() > 9 {
        return None;
    }
    let whole = whole.parse::<i64>().ok()?.checked_mul(1_000_000_000)?;
    let part = format!("{part:0<9}").parse::<i64>().ok()?;
    Some(SimTime::from_nanos(sign * whole.checked_add(part)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(at: i64) -> ObservedFact {
        let [namespace, owner_kind, owner_name, node] = [Symbol::empty(); 4];
        let (name, value) = (Symbol::new("worker-1"), Symbol::new("node.kubernetes.io/unreachable:NoExecute"));
        let fact = Fact { kind: FactKind::NodeTaint, namespace, name, owner_kind, owner_name, node, value };
        let [at, earliest, latest] = [at, at - 500, at + 499].map(SimTime::from_millis);
        ObservedFact { at, earliest, latest, fact, sources: vec![RecordKind::Events, RecordKind::Metrics] }
    }

    #[test]
    fn what_is_written_is_read() {
        let facts = vec![taint(61_500), taint(-250)];
        let mut out = Vec::new();
        write_observed(&mut out, &facts).expect("memory takes it");
        let text = String::from_utf8(out).expect("text");
        assert!(text.contains(
            "61.500,61.000,61.999,NodeTaint,,worker-1,,,,node.kubernetes.io/unreachable:NoExecute,events;metrics"
        ));
        assert_eq!(read_observed(&text), Ok(facts));
    }

    #[test]
    fn columns_may_be_missing_and_in_another_order() {
        let read = read_observed("value,name,fact,time_s,note\nUnknown,a,NodeReady,5,by hand\n").expect("it is enough");
        assert_eq!(
            (read[0].at, read[0].earliest, read[0].latest),
            (SimTime::from_secs(5), SimTime::from_secs(5), SimTime::from_secs(5))
        );
        assert_eq!((read[0].fact.kind, read[0].fact.value.as_str()), (FactKind::NodeReady, "Unknown"));
        assert!(read[0].sources.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let head = "time_s,earliest_s,latest_s,fact,name,value,sources\n";
        let problem =
            |row: &str| read_observed(&format!("{head}1,1,1,NodeReady,a,True,\n{row}\n")).unwrap_err().to_string();
        assert_eq!(problem("soon,,,NodeReady,a,True,"), "line 3: `soon` is not a number of seconds");
        assert_eq!(problem("1e3,,,NodeReady,a,True,"), "line 3: `1e3` is not a number of seconds");
        assert_eq!(
            problem("5,6,7,NodeReady,a,True,"),
            "line 3: `time_s` does not lie between `earliest_s` and `latest_s`"
        );
        assert_eq!(problem("5,,,Ready,a,True,"), "line 3: `Ready` is not a kind of fact, such as `NodeReady`");
        assert_eq!(
            problem("5,,,NodeReady,a,Ture,"),
            "line 3: `Ture` is no value of NodeReady: it is `True`, `False`, `Unknown` or `Absent`"
        );
        assert_eq!(
            problem("5,,,NodeUnschedulable,a,False,"),
            "line 3: `False` is no value of NodeUnschedulable: it is `false` or `true`"
        );
        assert_eq!(problem("5,,,PodGone,a,True,"), "line 3: `True` is no value of PodGone: it has none");
        assert!(problem("5,,,PodDeletion,a,kubectl,").ends_with("PodDeletion: it is `Kubectl`, `TaintManagerEviction`, `EvictionByEvictionAPI`, `DeletionByPodGC`, `PreemptionByScheduler`, `TerminationByKubelet`, `ScaleDown`, `RollingUpdate`, `DaemonSetController`, `OwnerDeleted`, `NodePressure` or `Completed`"));
        let form = "it is `key:Effect`, with `-` behind it when the taint left";
        assert_eq!(problem("5,,,NodeTaint,a,gpu,"), format!("line 3: `gpu` is no value of NodeTaint: {form}"));
        assert_eq!(
            problem("5,,,NodeTaint,a,gpu:NoExecut-,"),
            format!("line 3: `gpu:NoExecut-` is no value of NodeTaint: {form}; the nearest is `NoExecute`")
        );
        assert!(problem("5,,,NodeTaint,a,gpu=yes:NoExecute,").ends_with("own value: `gpu:NoExecute`"));
        assert_eq!(problem("5,,,NodeReady,,True,"), "line 3: `` is not the name of a node or a pod");
        assert_eq!(problem("5,,,NodeReady,a,True,rumours"), "line 3: `rumours` is not a kind of evidence");
        let of_windows = format!("{head}1,1,1,NodeReady,a,True,\nsoon,,,NodeReady,a,True,\n").replace('\n', "\r\n");
        assert!(read_observed(&of_windows).unwrap_err().to_string().starts_with("line 3: `soon`"));
        assert_eq!(read_observed(&format!("{head}1\n").replace('\n', "\r\n")), Err(ObservedError::Uneven { line: 2 }));
        assert_eq!(read_observed("time_s,fact,name\n"), Err(ObservedError::Column("value")));
        assert_eq!(read_observed(&format!("{head}1\n")), Err(ObservedError::Uneven { line: 2 }));
    }
}
