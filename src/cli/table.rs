//! Tables of names and numbers that fit a terminal of 80 columns.

use std::fmt::Write as _;

/// Columns of a narrow terminal.
const WIDTH_MAX: usize = 80;
/// Between columns.
const GAP: usize = 2;

/// A table: names to the left, numbers right-aligned behind them.
#[derive(Debug)]
pub(super) struct NameTable {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl NameTable {
    /// A table with these columns, the first of which holds names.
    pub(super) fn new(header: &[&'static str]) -> Self {
        Self { header: header.to_vec(), rows: Vec::new() }
    }

    pub(super) fn add(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Appends the table, indented by one. A name that leaves no room for the numbers stands on a line of its own, whole: it may be
    /// wanted for `explain`.
    pub(super) fn write(&self, text: &mut String) {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column)).map(|cell| width(cell));
        let widths: Vec<usize> = (1..self.header.len())
            .map(|column| cells(column).chain([width(self.header[column])]).max().unwrap_or(0))
            .collect();
        let numbers: usize = widths.iter().map(|width| width + GAP).sum();
        let room = WIDTH_MAX.saturating_sub(numbers + 1);
        let longest = cells(0).filter(|width| *width <= room).chain([width(self.header[0])]).max().unwrap_or(0);
        let mut line = |name: &str, numbers: &mut dyn Iterator<Item = &str>| {
            let padding = if width(name) > room {
                let _ = writeln!(text, " {name}");
                longest + 1
            } else {
                let _ = write!(text, " {name}");
                longest - width(name)
            };
            let _ = write!(text, "{:padding$}", "");
            for (number, width) in numbers.zip(&widths) {
                let _ = write!(text, "{:GAP$}{number:>width$}", "");
            }
            text.push('\n');
        };
        line(self.header[0], &mut self.header.iter().skip(1).copied());
        for row in &self.rows {
            line(row.first().map_or("", String::as_str), &mut row.iter().skip(1).map(String::as_str));
        }
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_no_room_stands_alone() {
        let mut table = NameTable::new(&["WORKLOAD", "READY", "SHORT FOR"]);
        let long = format!("statefulset/payments/{}", "x".repeat(60));
        table.add(["deployment/a/b".to_owned(), "2/3".to_owned(), "21m33s".to_owned()]);
        table.add([long.clone(), "0/1".to_owned(), "5s".to_owned()]);
        let mut text = String::new();
        table.write(&mut text);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], " WORKLOAD        READY  SHORT FOR");
        assert_eq!(lines[1], " deployment/a/b    2/3     21m33s");
        assert_eq!(lines[2], format!(" {long}"));
        assert_eq!(lines[3], "                   0/1         5s");
        assert!(lines.iter().filter(|line| !line.contains('x')).all(|line| line.len() <= WIDTH_MAX));
    }
}
