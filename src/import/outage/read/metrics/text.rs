//! Samples as text: the exposition formats, federation, and what promtool prints.

use std::io::{self, BufRead};

use super::labels::Labels;
use super::number::{nanos_of_unit, value_of};
use super::samples::{Place, Samples};

/// Bytes of a line that is read.
const LINE_MAX: usize = 1 << 20;

/// What is wrong with a text.
#[derive(Debug, Default)]
pub(super) struct Wrong {
    /// Lines that are no samples: the first of them, counted from 1, its text, and how many.
    pub first: Option<(u32, String)>,
    pub count: usize,
    /// Samples of metrics that are read, but without a time.
    pub without_time: usize,
    /// Whether the last line has no end and cannot be read.
    pub is_cut: bool,
}

/// Reads a text line by line.
pub(super) fn read(content: &mut dyn BufRead, samples: &mut Samples, wrong: &mut Wrong) -> io::Result<()> {
    let mut lines =
        Lines { samples, wrong, labels: Labels::default(), known: Vec::new(), place: None, is_series: false };
    let mut line = Vec::new();
    let mut number = 0_u32;
    loop {
        line.clear();
        let length = io::Read::take(&mut *content, LINE_MAX as u64).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(());
        }
        number = number.saturating_add(1);
        let is_whole = line.ends_with(b"\n");
        if !is_whole && length == LINE_MAX {
            content.skip_until(b'\n')?;
        }
        let text = String::from_utf8_lossy(&line);
        if lines.line(text.trim_start_matches('\u{feff}').trim()).is_some() {
            continue;
        }
        if !is_whole && length < LINE_MAX {
            lines.wrong.is_cut = true;
            continue;
        }
        lines.wrong.count += 1;
        lines
            .wrong
            .first
            .get_or_insert_with(|| (number, text.chars().take(60).collect::<String>().trim_end().to_owned()));
    }
}

struct Lines<'a> {
    samples: &'a mut Samples,
    wrong: &'a mut Wrong,
    labels: Labels,
    /// The labels of the last series as they are written, and its place: dumps have one series' samples one after the other.
    known: Vec<u8>,
    place: Option<Place>,
    /// Whether a series has begun whose samples follow, a line each.
    is_series: bool,
}

impl Lines<'_> {
    /// Takes a line; nothing if it cannot be read.
    fn line(&mut self, line: &str) -> Option<()> {
        if line.is_empty() || line.starts_with('#') {
            return Some(());
        }
        if self.is_series
            && let Some((value, at)) = line.split_once(" @[")
            && let Some(value) = value_of(value)
        {
            return self.sample(value, at.trim_end_matches(']'));
        }
        let length = series_length(line)?;
        let (series, rest) = line.split_at(length);
        if self.known != series.as_bytes() {
            self.labels.clear();
            labels(series, &mut self.labels)?;
            self.place = self.samples.open(&self.labels);
            self.known.clear();
            self.known.extend_from_slice(series.as_bytes());
        }
        let rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix("=>") {
            self.is_series = rest.trim().is_empty();
            if self.is_series {
                return Some(());
            }
            let (value, at) = rest.split_once("@[")?;
            return self.sample(value_of(value)?, at.trim_end_matches(']'));
        }
        self.is_series = false;
        // Behind a mark come exemplars.
        let rest = rest.split(" # ").next().unwrap_or_default();
        let mut words = rest.split_ascii_whitespace();
        let value = value_of(words.next()?)?;
        match words.next() {
            Some(at) => self.sample(value, at),
            None => {
                self.wrong.without_time += usize::from(self.place.is_some());
                Some(())
            }
        }
    }

    fn sample(&mut self, value: f64, at: &str) -> Option<()> {
        let Some(place) = self.place else { return Some(()) };
        match at.trim().parse().ok().and_then(nanos_of_unit) {
            Some(at) => self.samples.push(place, at, value),
            None => self.samples.bad += 1,
        }
        Some(())
    }
}

/// How many bytes of a line name its series: the metric, and the labels in their braces.
fn series_length(line: &str) -> Option<usize> {
    let name = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    if name > 0 && !is_metric(&line[..name]) {
        return None;
    }
    let open = line[name..].len() - line[name..].trim_start().len() + name;
    if !line[open..].starts_with('{') {
        return (name > 0).then_some(name);
    }
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in line.bytes().enumerate().skip(open + 1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'}' if !is_quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn is_metric(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'))
}

/// Reads `name{a="b",…}`, of which either part may be missing, whole.
pub(super) fn labels(series: &str, into: &mut Labels) -> Option<()> {
    let (name, rest) = series.split_once('{').map_or((series, None), |(name, rest)| (name, Some(rest)));
    let name = name.trim();
    if !is_metric(name) {
        return None;
    }
    into.set_name(name);
    let Some(rest) = rest else { return (!name.is_empty()).then_some(()) };
    let mut rest = rest.trim_end().strip_suffix('}')?.trim();
    let mut value = String::new();
    while !rest.is_empty() {
        // A quoted text in the place of a label is the name of the metric.
        let is_name_of_metric = rest.starts_with('"') && !quoted(rest, &mut value)?.trim_start().starts_with('=');
        if is_name_of_metric {
            rest = quoted(rest, &mut value)?;
            into.set_name(&value);
        } else {
            let (label, behind) = rest.split_once('=')?;
            rest = quoted(behind.trim_start(), &mut value)?;
            into.add(label.trim().trim_matches('"'), &value);
        }
        rest = rest.trim_start();
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest.trim_start(),
            None if rest.is_empty() => rest,
            None => return None,
        };
    }
    Some(())
}

/// Reads a text in quotes; returns what stands behind it.
fn quoted<'a>(text: &'a str, value: &mut String) -> Option<&'a str> {
    value.clear();
    let text = text.strip_prefix('"')?;
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match (is_escaped, c) {
            (true, 'n') => value.push('\n'),
            (true, c) => value.push(c),
            (false, '"') => return Some(&text[at + 1..]),
            (false, '\\') => {}
            (false, c) => value.push(c),
        }
        is_escaped = !is_escaped && c == '\\';
    }
    None
}
