//! Texts line by line, whatever their lines' lengths.

use std::io::{self, BufRead};

/// Bytes of a line that are kept; of longer ones the rest is passed over.
const LINE_MAX: usize = 1 << 20;

/// Reads the next line, without its end, in place of what is in `line`. `false` at the end of the text.
///
/// # Errors
///
/// Where the text cannot be read.
pub(super) fn next(content: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut is_some = false;
    loop {
        let bytes = content.fill_buf()?;
        if bytes.is_empty() {
            return Ok(is_some);
        }
        is_some = true;
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let length = end.unwrap_or(bytes.len());
        let room = LINE_MAX.saturating_sub(line.len());
        line.extend_from_slice(&bytes[..length.min(room)]);
        let used = if end.is_some() { length + 1 } else { length };
        content.consume(used);
        if end.is_some() {
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length_are_read() {
        let mut text = b"a\r\n\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LINE_MAX + 5));
        text.extend(b"\nlast");
        let mut content = io::BufReader::with_capacity(7, text.as_slice());
        let mut line = Vec::new();
        let mut lengths = Vec::new();
        while next(&mut content, &mut line).expect("a text") {
            lengths.push(line.len());
        }
        assert_eq!(lengths, [1, 0, LINE_MAX, 4]);
    }
}
