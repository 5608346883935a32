//! The API server's audit log: who asked for what, to the microsecond.

mod account;
mod calls;
mod heartbeats;
mod line;
mod nodes;
mod pods;
mod requests;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, BufRead, Read};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::{ClockOptions, Evidence};
use crate::diagnostics::{Diagnostic, Location};
use calls::Calls;
use line::Opened;

/// Bytes of a line beyond which it is no event: bodies have at most a few MiB.
const LINE_MAX: u64 = 64 << 20;
/// Bytes of a line that a message shows.
const SHOWN_MAX: usize = 60;

/// Whether a text is an audit log, in whatever wrap.
pub(in crate::import::outage) fn is(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let is_wrapped_otherwise = head.contains("google.cloud.audit.AuditLog") && head.contains("io.k8s.");
    (head.contains("auditID") && head.contains("stage")) || is_wrapped_otherwise
}

/// Reads a log, line by line, or a list of events.
pub(in crate::import::outage) fn read(
    name: &str,
    content: &mut dyn BufRead,
    _clock: &ClockOptions,
    into: &mut Evidence,
) -> io::Result<()> {
    let mut log = Log { name, into, calls: Calls::default(), place: 0, events: 0, without_time: 0 };
    let read = log.lines(content);
    log.finish();
    read
}

struct Log<'a> {
    name: &'a str,
    into: &'a mut Evidence,
    calls: Calls,
    /// Line or item, counted from 1.
    place: u32,
    events: usize,
    without_time: usize,
}

impl Log<'_> {
    fn lines(&mut self, content: &mut dyn BufRead) -> io::Result<()> {
        let mut line = Vec::new();
        let mut is_first = true;
        loop {
            line.clear();
            let length = Read::take(&mut *content, LINE_MAX).read_until(b'\n', &mut line)?;
            if length == 0 {
                return Ok(());
            }
            let is_whole = line.ends_with(b"\n");
            let is_too_long = !is_whole && length as u64 == LINE_MAX;
            let is_list = line.trim_ascii_start().starts_with(b"[");
            if is_first && (is_too_long || ((is_whole || is_list) && is_open(&line))) {
                return self.document(io::Cursor::new(line).chain(content));
            }
            self.place = self.place.saturating_add(1);
            is_first = is_first && line.trim_ascii().is_empty();
            if is_too_long {
                content.skip_until(b'\n')?;
                self.bad("it is longer than 64 MiB", b"");
                continue;
            }
            if let Err(error) = self.line(&line) {
                if !is_whole && error.is_eof() {
                    self.into.not_read(self.name, "it ends in the middle");
                } else {
                    self.bad(&error.to_string(), &line);
                }
            }
        }
    }

    /// Reads one line; some services write the time in front of the event.
    fn line(&mut self, line: &[u8]) -> Result<(), serde_json::Error> {
        let begin = line.iter().position(|byte| *byte == b'{').unwrap_or(line.len());
        if begin == line.len() || is_uninteresting(&line[begin..]) {
            self.events += usize::from(begin < line.len());
            return Ok(());
        }
        match std::str::from_utf8(&line[begin..]) {
            Ok(text) => self.open(text),
            Err(_) => self.open(&String::from_utf8_lossy(&line[begin..])),
        }
    }

    fn open(&mut self, text: &str) -> Result<(), serde_json::Error> {
        let (calls, place) = (&mut self.calls, self.place);
        let Opened { events, without_time } = line::open(text, 0, &mut |call| calls.take(call, place))?;
        self.events += events;
        self.without_time += without_time;
        Ok(())
    }

    /// Reads values that span lines: a list of events, or events one after the other.
    fn document(&mut self, content: impl Read) -> io::Result<()> {
        // The reader of JSON asks for byte after byte.
        let mut content = io::BufReader::new(content);
        loop {
            let mut first = [0];
            loop {
                if content.read(&mut first)? == 0 {
                    return Ok(());
                }
                if !first[0].is_ascii_whitespace() {
                    break;
                }
            }
            let value = io::Cursor::new(first).chain(&mut content);
            let mut value = serde_json::Deserializer::from_reader(value);
            if let Err(error) = Events(self).deserialize(&mut value) {
                if error.is_io() {
                    return Err(error.into());
                }
                if error.is_eof() {
                    self.into.not_read(self.name, "it ends in the middle");
                } else {
                    self.into.not_read(self.name, format!("it is no JSON from line {} on: {error}", error.line()));
                }
                return Ok(());
            }
        }
    }

    fn bad(&mut self, why: &str, line: &[u8]) {
        let text = String::from_utf8_lossy(&line[..line.len().min(SHOWN_MAX)]);
        let message = format!("line {} is no audit event: {why}", self.place);
        let diagnostic = Diagnostic::warning("evidence::syntax", message);
        let location = Location::new(self.name, self.place, 1, 1);
        self.into.problem(diagnostic.at(location, text.trim_end()), None);
    }

    fn finish(self) {
        let Self { name, into, calls, events, without_time, .. } = self;
        if events == 0 {
            into.not_read(name, "no line of it is an audit event");
            return;
        }
        if without_time > 0 {
            let message = format!("events without a time that can be read: {without_time}");
            let diagnostic = Diagnostic::warning("evidence::no_time", message);
            into.problem(diagnostic.at(Location::file(name), ""), None);
        }
        calls.finish(name, into);
    }
}

/// Whether a line is the beginning of JSON that goes on behind it.
fn is_open(line: &[u8]) -> bool {
    let begin = line.iter().position(|byte| !byte.is_ascii_whitespace());
    let text = begin.map_or(&[][..], |begin| &line[begin..]);
    matches!(text.first(), Some(b'{' | b'['))
        && match serde_json::from_slice::<serde::de::IgnoredAny>(text) {
            Ok(_) => text.starts_with(b"["),
            Err(error) => error.is_eof(),
        }
}

/// Whether an event as the API server writes it says by its first fields, in their order, that it changes nothing. Most do.
fn is_uninteresting(line: &[u8]) -> bool {
    const BEGIN: &[u8] = br#"{"kind":"Event","apiVersion":"audit.k8s.io/"#;
    const URI: &[u8] = br#","requestURI":""#;
    const VERB: &[u8] = br#"","verb":""#;
    if !line.starts_with(BEGIN) {
        return false;
    }
    let head = &line[..line.len().min(400)];
    let Some(uri) = head.windows(URI.len()).position(|window| window == URI) else { return false };
    let path = &line[uri + URI.len()..];
    let Some(end) = path.iter().position(|byte| matches!(byte, b'"' | b'\\')) else { return false };
    let Some(verb) = path[end..].strip_prefix(VERB) else { return false };
    [&b"get\""[..], b"list\"", b"watch\""].iter().any(|word| verb.starts_with(word))
}

/// Reads an event, a list of events or what wraps either.
struct Events<'l, 'a>(&'l mut Log<'a>);

impl Events<'_, '_> {
    fn text(&mut self, text: &str) {
        self.0.place = self.0.place.saturating_add(1);
        if let Err(error) = self.0.open(text) {
            self.0.bad(&error.to_string(), text.as_bytes());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Events<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Events<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("audit events")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<Box<RawValue>>()? {
            if item.get().starts_with('{') {
                self.text(item.get());
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let mut rest: Vec<String> = Vec::new();
        while let Some(key) = fields.next_key::<String>()? {
            // The lists of the API and of services, each of which may be all of the log.
            if matches!(key.as_str(), "items" | "events" | "entries" | "records") {
                fields.next_value_seed(Events(self.0))?;
            } else {
                let value: Box<RawValue> = fields.next_value()?;
                rest.push(format!("{}:{}", serde_json::Value::from(key), value.get()));
            }
        }
        self.text(&format!("{{{}}}", rest.join(",")));
        Ok(())
    }
}
