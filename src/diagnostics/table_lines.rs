//! On which lines of a CSV its rows begin.

use std::collections::VecDeque;
use std::io::{self, Read};

use csv::Position;

/// A text on its way into a reader of CSV, which knows the lines that a reader does not: it takes a row to begin where the one before it ended,
/// which is before the second half of a line end, before blank lines, and before comments.
#[derive(Debug)]
pub struct TableLines<R> {
    text: R,
    comment: Option<u8>,
    /// How many bytes have gone through.
    offset: u64,
    /// The line of the next byte, from 1.
    line: u64,
    /// Whether the next byte is the first of a line.
    is_line_start: bool,
    /// Offsets at which rows may begin, each with its line, as far as nobody has asked for a later one.
    starts: VecDeque<(u64, u64)>,
}

impl<R> TableLines<R> {
    /// Counts from 1.
    pub fn new(text: R) -> Self {
        Self::from_line(1, text)
    }

    /// The text begins in this line of its file.
    pub fn from_line(line: u64, text: R) -> Self {
        Self { text, comment: None, offset: 0, line, is_line_start: true, starts: VecDeque::new() }
    }

    /// Lines that begin so are none of a row.
    #[must_use]
    pub fn with_comments(mut self, first: u8) -> Self {
        self.comment = Some(first);
        self
    }

    /// The line of the row that a reader takes to begin there. Rows are asked for in their order.
    pub fn of(&mut self, position: Option<&Position>) -> u64 {
        let begin = position.map_or(0, Position::byte);
        while self.starts.front().is_some_and(|(offset, _)| *offset < begin) {
            self.starts.pop_front();
        }
        self.starts.front().map_or(self.line, |(_, line)| *line)
    }

    fn follow(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let is_end = matches!(byte, b'\n' | b'\r');
            if self.is_line_start && !is_end && self.comment != Some(*byte) {
                self.starts.push_back((self.offset, self.line));
            }
            self.line += u64::from(*byte == b'\n');
            self.is_line_start = is_end;
            self.offset += 1;
        }
    }
}

impl<R: Read> Read for TableLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.text.read(buffer)?;
        self.follow(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first cell of each row with its line, whatever ends the lines.
    #[track_caller]
    fn check(text: &str, expected: &[(&str, u64)]) {
        for line_end in ["\n", "\r\n"] {
            let text = text.replace('\n', line_end);
            let lines = TableLines::new(text.as_bytes()).with_comments(b'#');
            let mut builder = csv::ReaderBuilder::new();
            // As small as can be, so that rows do not lie in one buffer.
            let mut reader = builder.flexible(true).comment(Some(b'#')).buffer_capacity(3).from_reader(lines);
            let mut found = vec![reader.headers().expect("a header")[0].to_owned()];
            let mut lines = vec![1];
            let mut row = csv::StringRecord::new();
            while reader.read_record(&mut row).expect("a row") {
                found.push(row[0].replace('\r', ""));
                lines.push(reader.get_mut().of(row.position()));
            }
            let found: Vec<(&str, u64)> = found.iter().map(String::as_str).zip(lines).collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn rows_begin_where_their_first_cell_stands() {
        check("a,b\n1,2\n3,4\n5,6", &[("a", 1), ("1", 2), ("3", 3), ("5", 4)]);
        check("a,b\n\n1,2\n\n\n3,4\n", &[("a", 1), ("1", 3), ("3", 6)]);
        check("a,b\n# one\n# two\n1,2\n#\n3,4\n", &[("a", 1), ("1", 4), ("3", 6)]);
    }

    #[test]
    fn line_breaks_in_cells_are_lines_too() {
        check("a,b\n1,\"x\ny\n\nz\"\n2,3\n", &[("a", 1), ("1", 2), ("2", 6)]);
        check("a,b\n\"x\n#y\",1\n\n2,3\n", &[("a", 1), ("x\n#y", 2), ("2", 5)]);
    }
}
