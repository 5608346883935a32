//! One line of klog: when, where in the source, and what.

use std::borrow::Cow;

use jiff::civil::DateTime;
use serde_json::Value;

use super::stamp;
use crate::evidence::Instant;
use crate::import::outage::ClockOptions;

/// Bytes before a line of klog that runtimes and journals put there.
const PREFIX_MAX: usize = 200;
/// The year that lines without one are taken to be of until it is known: a leap year.
pub(in crate::import::outage) const NO_YEAR: i16 = 2000;

/// When a line was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// Then.
    Known(Instant),
    /// Then, in [`NO_YEAR`] and by a clock that says no offset.
    Yearless(DateTime),
}

/// A line of klog.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line<'a> {
    pub(super) time: Time,
    /// The file of the source that says it, such as `node_lifecycle_controller.go`.
    pub(super) file: Cow<'a, str>,
    /// The message itself.
    pub(super) message: Cow<'a, str>,
    /// Names and values behind it.
    values: Vec<(String, String)>,
}

impl<'a> Line<'a> {
    /// Reads a line; `None` if it is none of klog.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        if text.starts_with('{') {
            return Self::of_json(text);
        }
        let begins = std::iter::once(0).chain(text.match_indices(' ').map(|(at, _)| at + 1));
        let (at, header) =
            begins.take_while(|at| *at <= PREFIX_MAX).find_map(|at| Some((at, Header::parse(&text[at..])?)))?;
        // Runtimes write the whole time before the line.
        let stamped = text[..at].split(' ').next().and_then(Instant::parse);
        let time = stamped.map_or(Time::Yearless(header.time), Time::Known);
        let (message, values) = message(header.rest);
        Some(Self { time, file: Cow::Borrowed(header.file), message, values })
    }

    fn of_json(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        // What Docker keeps of a container.
        if let (Some(log), Some(time)) = (value.get("log").and_then(Value::as_str), value.get("time")) {
            let line = Line::parse(log.trim_end())?;
            let time = time.as_str().and_then(Instant::parse).map_or(line.time, Time::Known);
            let (file, message) = (line.file.into_owned().into(), line.message.into_owned().into());
            return Some(Self { time, file, message, values: line.values });
        }
        let message = value.get("msg")?.as_str()?.to_owned();
        let time = match value.get("ts")? {
            Value::Number(number) => stamp::from_unix(number.as_f64()?)?,
            Value::String(text) => stamp::instant(text, &ClockOptions::default())?,
            _ => return None,
        };
        let caller = value.get("caller").and_then(Value::as_str).unwrap_or_default();
        let values = value.as_object()?.iter().map(|(name, value)| (name.clone(), text_of(value))).collect();
        Some(Self { time: Time::Known(time), file: file_of(caller).to_owned().into(), message: message.into(), values })
    }

    /// The value of the first of these names that there is.
    pub(super) fn value(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| {
            let found = self.values.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
        })
    }
}

/// A value of a JSON log as text logs have it: an object is its namespace and name.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let part = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
            let namespace = part("namespace");
            if namespace.is_empty() { part("name").to_owned() } else { format!("{namespace}/{}", part("name")) }
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn file_of(caller: &str) -> &str {
    let path = caller.split(':').next().unwrap_or(caller);
    path.rsplit('/').next().unwrap_or(path)
}

/// The head of a line: `I0308 14:05:50.123456       1 node_lifecycle_controller.go:1044] `.
struct Header<'a> {
    time: DateTime,
    file: &'a str,
    rest: &'a str,
}

impl<'a> Header<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let is_severity = matches!(bytes.first(), Some(b'I' | b'W' | b'E' | b'F'));
        let number = |from: usize, to: usize| {
            let digits = text.get(from..to)?;
            if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse::<i32>().ok() } else { None }
        };
        let is_stamp = is_severity
            && [(5, b' '), (8, b':'), (11, b':'), (14, b'.')].iter().all(|(at, byte)| bytes.get(*at) == Some(byte));
        if !is_stamp {
            return None;
        }
        let small = |from, to| number(from, to).and_then(|number| i8::try_from(number).ok());
        let nanos = number(15, 21)? * 1000;
        let time =
            DateTime::new(NO_YEAR, small(1, 3)?, small(3, 5)?, small(6, 8)?, small(9, 11)?, small(12, 14)?, nanos)
                .ok()?;
        let (process, rest) = text.get(21..)?.trim_start().split_once(' ')?;
        let (caller, rest) = rest.split_once(']')?;
        let is_caller = caller.contains(".go:") && !caller.contains(' ') && process.bytes().all(|b| b.is_ascii_digit());
        is_caller.then(|| Self { time, file: file_of(caller), rest: rest.trim_start() })
    }
}

/// A message, and the names and values behind it if it is a structured one.
fn message(text: &str) -> (Cow<'_, str>, Vec<(String, String)>) {
    let Some((message, mut rest)) = quoted(text) else { return (Cow::Borrowed(text), Vec::new()) };
    let mut values = Vec::new();
    while let Some((name, behind)) = rest.trim_start().split_once('=') {
        if name.contains([' ', '"']) {
            break;
        }
        let (value, behind) = match quoted(behind) {
            Some(found) => found,
            None => bare(behind),
        };
        values.push((name.to_owned(), value));
        rest = behind;
    }
    (Cow::Owned(message), values)
}

/// A value that is not quoted: it ends at a blank outside of its own brackets.
fn bare(text: &str) -> (String, &str) {
    let mut depth = 0_usize;
    let end = text.find(|c| {
        match c {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ' ' && depth == 0
    });
    let (value, rest) = text.split_at(end.unwrap_or(text.len()));
    (value.to_owned(), rest)
}

/// A text in quotes as Go writes it, and what is behind.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut found = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((found, &inner[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => found.push('\n'),
                't' => found.push('\t'),
                'r' => found.push('\r'),
                mark @ ('x' | 'u') => {
                    let length = if mark == 'x' { 2 } else { 4 };
                    let digits: String = chars.by_ref().take(length).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&digits, 16).ok()?;
                    found.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                other => found.push(other),
            },
            other => found.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_however_they_are_wrapped() {
        let bare = "W0308 14:05:50.123456       1 node_lifecycle_controller.go:1044] \"Node is unresponsive\" node=\"worker-1\" n=3";
        let time = DateTime::new(NO_YEAR, 3, 8, 14, 5, 50, 123_456_000).expect("a time");
        for (prefix, expected) in [
            ("", Time::Yearless(time)),
            ("Mar 08 14:05:50 cp-1 kube-controller-manager[812]: ", Time::Yearless(time)),
            ("2023-03-08T13:05:50.5Z ", Time::Known(Instant::parse("2023-03-08T13:05:50.5Z").expect("a time"))),
            (
                "2023-03-08T14:05:50.5+01:00 stderr F ",
                Time::Known(Instant::parse("2023-03-08T13:05:50.5Z").expect("a time")),
            ),
        ] {
            let text = format!("{prefix}{bare}");
            let line = Line::parse(&text).expect("a line");
            assert_eq!(line.time, expected, "{prefix}");
            assert_eq!((&*line.file, &*line.message), ("node_lifecycle_controller.go", "Node is unresponsive"));
            assert_eq!((line.value(&["node"]), line.value(&["m", "n"])), (Some("worker-1"), Some("3")));
        }
        let docker =
            serde_json::json!({"log": format!("{bare}\n"), "stream": "stderr", "time": "2023-03-08T13:05:50Z"});
        let line = Line::parse(&docker.to_string()).map(|line| (line.time, line.message.into_owned()));
        let time = Instant::parse("2023-03-08T13:05:50Z").expect("a time");
        assert_eq!(line, Some((Time::Known(time), "Node is unresponsive".to_owned())));
    }

    #[test]
    fn structured_lines_are_read_in_both_formats() {
        let text =
            r#"I0229 00:00:00.000000 1 a/b.go:1] "it \"said\" \x00" zone="r:\x00:z" pod="shop/web" object={a b} x=1"#;
        let line = Line::parse(text).expect("a line");
        assert_eq!(line.message, "it \"said\" \0");
        assert_eq!(line.value(&["zone"]), Some("r:\0:z"));
        assert_eq!((line.value(&["object"]), line.value(&["x"])), (Some("{a b}"), Some("1")));
        let text = r#"{"ts":1678284350123.456,"caller":"nodelifecycle/node_lifecycle_controller.go:1044","msg":"m","node":{"name":"n1"},"pod":{"name":"web","namespace":"shop"},"v":0}"#;
        let line = Line::parse(text).expect("a line");
        assert_eq!(line.time, Time::Known(Instant::parse("2023-03-08T14:05:50.123456Z").expect("a time")));
        assert_eq!((line.value(&["node"]), line.value(&["pod"])), (Some("n1"), Some("shop/web")));
    }

    #[test]
    fn what_is_no_line_of_klog_is_told() {
        for text in [
            "",
            "{}",
            "{\"msg\":\"x\"}",
            "I0308",
            "I1308 14:05:50.123456 1 a.go:1] x",
            "I0308 14:05:50.123456 1 x",
            "2023-03-08 INFO hello world",
        ] {
            assert_eq!(Line::parse(text), None, "{text}");
        }
    }
}
