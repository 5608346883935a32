//! Reads tables of directories back: the only source of pictures, and of what is asked of a run later.
//!
//! A table that is not whole is refused: a picture of a part of a run looks like a picture of the run.

use std::fs;
use std::path::Path;

use serde_json::Value;
use thiserror::Error;

use super::ours;
use super::table::Table;
use crate::diagnostics::TableLines;
use crate::observe::{Cells, ColumnInfo};

/// Why a file of a run cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{file}`{}: {problem}", line.map(|line| format!(", line {line}")).unwrap_or_default())]
pub struct TableError {
    /// Which.
    pub file: String,
    /// Where in it, from 1; none if it is about the whole file.
    pub line: Option<u64>,
    /// What is wrong.
    pub problem: String,
}

impl TableError {
    pub(crate) fn new(path: &Path, line: Option<u64>, problem: impl Into<String>) -> Self {
        Self { file: path.display().to_string(), line, problem: problem.into() }
    }
}

/// No time of a run is further than this from t=0, in seconds: more does not fit into its clock.
const TIME_MAX_S: f64 = 1e10;

/// What is wrong with a cell, if anything is.
fn problem(name: &str, cells: Cells, text: &str) -> Option<String> {
    let is_number = |max: f64| text.parse::<f64>().is_ok_and(|number| number.abs() <= max);
    let is_whole = || text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    let (is_well, wanted) = match cells {
        Cells::Text | Cells::Lines | Cells::Texts => (true, ""),
        Cells::Time | Cells::Duration => (is_number(TIME_MAX_S), "a time in seconds"),
        Cells::MaybeTime => (text.is_empty() || is_number(TIME_MAX_S), "a number or nothing"),
        Cells::Number | Cells::Unsigned | Cells::Counts => (is_whole(), "a whole number"),
        Cells::MaybeNumber => (text.is_empty() || is_whole(), "a whole number or nothing"),
        Cells::Real | Cells::Reals => (text.is_empty() || is_number(f64::MAX), "a number or nothing"),
        Cells::Truth => (matches!(text, "true" | "false"), "`true` or `false`"),
        Cells::MaybeTruth => (matches!(text, "" | "true" | "false"), "`true`, `false` or nothing"),
    };
    (!is_well).then(|| format!("`{}` is not {wanted}, as it should be in the column `{name}`", excerpt(text)))
}

/// What of a cell is shown.
fn excerpt(text: &str) -> String {
    const SHOWN_MAX: usize = 40;
    let short: String = text.escape_debug().take(SHOWN_MAX).collect();
    if text.len() > short.len() { format!("{short}…") } else { short }
}

impl Table {
    /// Reads columns of a file, of which it is said what they hold; nobody has counted its rows.
    ///
    /// # Errors
    ///
    /// If the file is missing or damaged, or lacks one of them.
    pub(crate) fn read_as(path: &Path, columns: &[(&'static str, Cells)]) -> Result<Self, TableError> {
        let infos = columns.iter().map(|&(name, cells)| ColumnInfo { name, cells, unit: "", meaning: "" });
        let read = Self::read_known(path, None, &infos.collect::<Vec<_>>())?;
        read.expect(path, &columns.iter().map(|column| column.0).collect::<Vec<_>>())?;
        Ok(read)
    }

    /// Refuses a table that lacks one of these columns.
    ///
    /// # Errors
    ///
    /// If it does.
    pub(super) fn expect(&self, path: &Path, columns: &[&str]) -> Result<(), TableError> {
        let lacks = columns.iter().find(|name| self.columns().iter().all(|column| column.info.name != **name));
        lacks.map_or(Ok(()), |name| Err(TableError::new(path, Some(1), format!("there is no column `{name}`"))))
    }

    /// Reads those of these columns that a file has: an older version did not know all.
    ///
    /// # Errors
    ///
    /// If the file is missing or damaged, or has other rows than were `written`, if somebody has counted them.
    pub(super) fn read_known(path: &Path, written: Option<u64>, columns: &[ColumnInfo]) -> Result<Self, TableError> {
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            return Self::read_json_lines(path, written, columns);
        }
        let begin = |header: &[String]| {
            let place = |info: &ColumnInfo| header.iter().position(|name| name == info.name);
            let known: Vec<(usize, ColumnInfo)> =
                columns.iter().filter_map(|info| Some((place(info)?, *info))).collect();
            let checked =
                known.iter().map(|&(place, info)| Checked { place, name: info.name.to_owned(), cells: info.cells });
            let checked = checked.collect();
            let (places, infos): (Vec<usize>, Vec<ColumnInfo>) = known.into_iter().unzip();
            Ok(((Self::new(infos), places), checked))
        };
        let (table, _) = scan(path, written, begin, |(table, places), line, row| {
            table.push(line, places.iter().map(|place| row.get(*place).unwrap_or_default()));
        })?;
        Ok(table)
    }

    fn read_json_lines(path: &Path, written: Option<u64>, columns: &[ColumnInfo]) -> Result<Self, TableError> {
        let mut table = Self::new(columns.iter().copied());
        let text = read_text(path)?;
        scan_json_lines((path, &text), written, columns, |line, cells| {
            table.push(line, cells.iter().map(String::as_str))
        })?;
        Ok(table)
    }
}

/// Shows each row of a file of JSON lines: its line, and its cells in these columns as the file of a table would have them.
///
/// # Errors
///
/// If it has a line that is no JSON or a value that its column cannot have, or other rows than were `written`.
pub(super) fn scan_json_lines(
    (path, text): (&Path, &str),
    written: Option<u64>,
    columns: &[ColumnInfo],
    mut show: impl FnMut(u64, &[String]),
) -> Result<(), TableError> {
    let mut count = 0;
    for line in text.lines() {
        count += 1;
        let row: Value = serde_json::from_str(line)
            .map_err(|error| TableError::new(path, Some(count), format!("this is no JSON: {error}")))?;
        let cells: Vec<String> = columns.iter().map(|column| cell_text(&row[column.name])).collect();
        let wrong = columns.iter().zip(&cells).find_map(|(column, cell)| problem(column.name, column.cells, cell));
        if let Some(problem) = wrong {
            return Err(TableError::new(path, Some(count), problem));
        }
        show(count, &cells);
    }
    expect_rows(path, written, count)
}

/// A value as a cell of a CSV would have it.
fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// A column whose cells are looked at.
pub(super) struct Checked {
    /// Its position.
    pub(super) place: usize,
    /// Its name.
    pub(super) name: String,
    /// What its cells hold.
    pub(super) cells: Cells,
}

/// Shows each row of a table's file, and its line, to what is begun with its header, which says, too, which columns are to be checked; gives that.
///
/// # Errors
///
/// If it is not there, ends within a line, is not text, cannot be begun, has a cell that does not hold what its column should, or other
/// rows than were `written`.
pub(super) fn scan<S>(
    path: &Path,
    written: Option<u64>,
    begin: impl FnOnce(&[String]) -> Result<(S, Vec<Checked>), String>,
    show: impl FnMut(&mut S, u64, &csv::StringRecord),
) -> Result<S, TableError> {
    scan_text((path, &read_text(path)?), written, begin, show)
}

/// The same of the text of such a file; the path is for messages.
///
/// # Errors
///
/// As of the file, once it is read.
pub(super) fn scan_text<S>(
    (path, text): (&Path, &str),
    written: Option<u64>,
    begin: impl FnOnce(&[String]) -> Result<(S, Vec<Checked>), String>,
    mut show: impl FnMut(&mut S, u64, &csv::StringRecord),
) -> Result<S, TableError> {
    let wrong = |line: Option<u64>, problem: String| TableError::new(path, line, problem);
    if text.is_empty() {
        return Err(wrong(None, "the file is empty, it does not even name its columns".to_owned()));
    }
    let mut reader = csv::Reader::from_reader(TableLines::new(text.as_bytes()));
    let header: Vec<String> =
        reader.headers().map(|header| header.iter().map(str::to_owned).collect()).unwrap_or_default();
    let (mut state, checked) = begin(&header).map_err(|problem| wrong(Some(1), problem))?;
    let (mut row, mut count) = (csv::StringRecord::new(), 0_u64);
    loop {
        let is_read = reader.read_record(&mut row);
        let position = is_read.as_ref().map_or_else(csv::Error::position, |_| row.position());
        let line = reader.get_mut().of(position);
        let is_row = is_read.map_err(|_| {
            wrong(Some(line), format!("this row does not have the {} cells of the header", header.len()))
        })?;
        if !is_row {
            break;
        }
        for Checked { place, name, cells } in &checked {
            if let Some(problem) = problem(name, *cells, row.get(*place).unwrap_or_default()) {
                return Err(wrong(Some(line), problem));
            }
        }
        show(&mut state, line, &row);
        count += 1;
    }
    if !text.ends_with('\n') {
        return Err(wrong(Some(line_of(text.as_bytes())), "the file ends within this line".to_owned()));
    }
    expect_rows(path, written, count)?;
    Ok(state)
}

/// A file of a run as text.
///
/// # Errors
///
/// If it is not there, or is not text.
pub(crate) fn read_text(path: &Path) -> Result<String, TableError> {
    let bytes = fs::read(path).map_err(|error| TableError::new(path, None, unreadable(&error)))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        TableError::new(path, Some(line_of(valid)), "this is not text in UTF-8")
    })
}

/// Refuses a table that has other rows than were written, if somebody has counted them.
fn expect_rows(path: &Path, written: Option<u64>, count: u64) -> Result<(), TableError> {
    let Some(written) = written.filter(|written| *written != count) else { return Ok(()) };
    let problem = format!(
        "there are {count} rows, of {written} that were written by its summary.json: somebody has cut or changed the file"
    );
    Err(TableError::new(path, None, problem))
}

/// Refuses the directory of a run, study or plan, whose `summary.json` has been read, in which a table is missing that it tells of, has
/// other rows than were written, or a cell that its column cannot have, whether somebody asks for that or not.
///
/// # Errors
///
/// If there is one, or one is not text: the first.
pub(crate) fn expect_whole(dir: &Path, summary: &Value) -> Result<(), TableError> {
    let known = super::tables_of_runs();
    for file in summary["rows"].as_object().into_iter().flatten().map(|(file, _)| file) {
        if !ours::is_name(Path::new(file)) {
            continue;
        }
        let path = dir.join(file);
        let written = rows_written(summary, file);
        if path.extension().is_some_and(|kind| kind == "jsonl") {
            expect_rows(&path, written, read_text(&path)?.lines().count() as u64)?;
        } else {
            let columns = known.iter().find(|table| table.file == *file).map_or(&[][..], |table| &table.columns);
            let begin = |header: &[String]| {
                let checked = columns.iter().filter_map(|info| {
                    let place = header.iter().position(|name| name == info.name)?;
                    Some(Checked { place, name: info.name.to_owned(), cells: info.cells })
                });
                Ok(((), checked.collect()))
            };
            scan(&path, written, begin, |(), _, _| {})?;
        }
    }
    Ok(())
}

/// How many rows a table had when it was written; none if the directory's `summary.json` does not say.
pub(super) fn rows_written(summary: &Value, file: &str) -> Option<u64> {
    summary["rows"][file].as_u64()
}

/// Why a file cannot be read, in words.
pub(crate) fn unreadable(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "the file is missing".to_owned(),
        _ => format!("the file cannot be read: {error}"),
    }
}

/// The line on which text ends, from 1.
fn line_of(text: &[u8]) -> u64 {
    1 + text.iter().filter(|byte| **byte == b'\n').count() as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::RunTables;

    #[test]
    fn a_table_that_is_not_whole_is_refused_with_the_line() {
        #[track_caller]
        fn check(content: &[u8], expected: Option<(Option<u64>, &str)>) {
            let dir = tempfile::tempdir().expect("a temporary directory");
            let path = dir.path().join("nodes.csv");
            fs::write(&path, content).expect("a file");
            let columns = [("time_s", Cells::Time), ("left_s", Cells::MaybeTime), ("on", Cells::Truth)];
            match (Table::read_as(&path, &columns), expected) {
                (Ok(table), None) => assert_eq!(table.rows().count(), 1),
                (Err(error), Some((line, problem))) => {
                    assert_eq!(error.line, line, "{error}");
                    assert!(error.problem.contains(problem), "{error}");
                }
                (found, expected) => panic!("{found:?}, expected {expected:?}"),
            }
        }
        check(b"time_s,left_s,on\n1.000,,true\n", None);
        check(b"", Some((None, "empty")));
        check(b"time_s,left_s\n1.000,\n", Some((Some(1), "no column `on`")));
        check(b"time_s,left_s,on\n1.000,,true\n2.0", Some((Some(3), "3 cells")));
        check(b"time_s,left_s,on\n1.000,,true", Some((Some(2), "ends within")));
        check(b"time_s,left_s,on\n1.000,,true\nx,,true\n", Some((Some(3), "`x` is not a time")));
        check(b"time_s,left_s,on\n1.000,,true\n1e300,,true\n", Some((Some(3), "not a time")));
        check(b"time_s,left_s,on\n1.000,nan,true\n", Some((Some(2), "a number or nothing")));
        check(b"time_s,left_s,on\n1.000,,yes\n", Some((Some(2), "`true` or `false`")));
        check(b"time_s,left_s,on\n1.000,,true\n\xff\n", Some((Some(3), "UTF-8")));
    }

    #[test]
    fn a_table_has_the_rows_that_the_summary_tells_of() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("nodes.csv");
        fs::write(&path, "time_s\n1.000\n2.000\n").expect("a file");
        let read = |summary: Value| {
            let run = RunTables::new(dir.path().to_owned(), summary);
            run.read_columns("nodes.csv", &["time_s"]).map(|table| table.rows().count())
        };
        for fine in [json!({"rows": {"nodes.csv": 2}}), json!({"rows": {"pods.csv": 9}}), json!({}), Value::Null] {
            assert_eq!(read(fine.clone()), Ok(2), "{fine}");
        }
        let problem = read(json!({"rows": {"nodes.csv": 3}})).expect_err("a row is missing").problem;
        assert!(problem.starts_with("there are 2 rows, of 3 that were written"), "{problem}");
        // Whether or not somebody asks for that table.
        let whole = |summary: Value| expect_whole(dir.path(), &summary).map_err(|error| error.problem);
        assert_eq!(whole(json!({"rows": {"nodes.csv": 2}})), Ok(()));
        assert_eq!(whole(json!({})), Ok(()));
        assert!(whole(json!({"rows": {"nodes.csv": 3}})).is_err_and(|problem| problem.contains("2 rows, of 3")));
        let missing = whole(json!({"rows": {"nodes.csv": 2, "transcript.jsonl": 0}}));
        assert_eq!(missing, Err("the file is missing".to_owned()));
        fs::write(dir.path().join("zones.csv"), "time_s,zone,nodes\n1.000,a,NaN\n").expect("a file");
        let problem = whole(json!({"rows": {"zones.csv": 1}})).expect_err("no number");
        assert!(problem.starts_with("`NaN` is not a whole number"), "{problem}");
    }

    #[test]
    fn a_file_that_is_missing_is_said_to_be() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let run = RunTables::new(dir.path().to_owned(), Value::Null);
        let error = run.read_columns("pods.csv", &[]).expect_err("no file");
        assert_eq!(error.problem, "the file is missing");
    }
}
