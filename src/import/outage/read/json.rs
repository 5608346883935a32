//! JSON of any size, object by object: one behind the other, a line each, or in a list. No more than one object is held, and what is
//! damaged costs the object that it is in, not the rest.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::Value;

use crate::diagnostics::{Diagnostic, Location};
use crate::import::outage::Evidence;
use crate::units::counted;

/// The largest object that is read, in bytes.
const OBJECT_MAX: usize = 64 << 20;
/// Characters of a text that a problem shows.
const EXCERPT_MAX: usize = 60;
/// Between such lines `kubectl cluster-info dump` prints logs of containers.
const LOGS_BEGIN: &[u8] = b"==== START logs";
const LOGS_END: &[u8] = b"==== END logs";

/// What the list says of its items; nothing if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct ListHead {
    /// Its kind, such as `EventList`.
    #[serde(default, deserialize_with = "text")]
    pub(super) kind: String,
    /// Its version.
    #[serde(default, deserialize_with = "text", rename = "apiVersion")]
    pub(super) api_version: String,
}

/// A text; nothing if it is something else.
fn text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_str().unwrap_or_default().to_owned())
}

/// Who is given objects: with what their list says and the number of each, counted from 1.
pub(super) type Sink<'a> = dyn FnMut(&mut Evidence, &ListHead, u32, Value) + 'a;

/// Gives all objects of a text to a sink. Lists are arrays, and the arrays of these fields of an object.
///
/// # Errors
///
/// Where the text cannot be read. Where it is no JSON is a problem of its own.
pub(super) fn read(
    name: &str,
    content: &mut dyn BufRead,
    list_fields: &[&str],
    into: &mut Evidence,
    sink: &mut Sink<'_>,
) -> io::Result<()> {
    let mut splitter = Splitter::new(name, list_fields, into, sink);
    loop {
        let bytes = content.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        splitter.take_all(bytes);
        let length = bytes.len();
        content.consume(length);
    }
    splitter.finish();
    Ok(())
}

/// Where in a text one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// Between objects.
    Nothing,
    /// In an object that may turn out to be a list.
    Object,
    /// Between the items of a list.
    List,
    /// In an item.
    Item,
    /// In a line that is no JSON.
    Junk,
    /// Among the logs that `kubectl cluster-info dump` prints.
    Logs,
}

/// Cuts a text into objects.
struct Splitter<'a, 's> {
    name: &'a str,
    list_fields: &'a [&'a str],
    into: &'a mut Evidence,
    sink: &'a mut Sink<'s>,
    within: Within,
    /// Of the object or item.
    text: Vec<u8>,
    /// Of the object that the list is a field of, up to the list and behind it; nothing if the list is all there is.
    around: Option<Vec<u8>>,
    head: ListHead,
    /// Brackets that are open since the object or item began.
    depth: usize,
    is_string: bool,
    is_escaped: bool,
    /// Where the last string at the first level of the object began and ended, and whether a colon follows.
    key: (usize, usize),
    is_value: bool,
    line: u32,
    /// Of the object or item.
    first_line: u32,
    /// Bytes of the line that stand before.
    column: usize,
    /// Whether fields begin in the first column, too.
    is_flush: bool,
    count: u32,
    junk_lines: usize,
    first_junk_line: u32,
    /// Whether what is read may be the rest of something damaged that has been told.
    is_rest: bool,
}

impl<'a, 's> Splitter<'a, 's> {
    fn new(name: &'a str, list_fields: &'a [&'a str], into: &'a mut Evidence, sink: &'a mut Sink<'s>) -> Self {
        Self {
            name,
            list_fields,
            into,
            sink,
            within: Within::Nothing,
            text: Vec::new(),
            around: None,
            head: ListHead::default(),
            depth: 0,
            is_string: false,
            is_escaped: false,
            key: (0, 0),
            is_value: false,
            line: 1,
            first_line: 1,
            column: 0,
            is_flush: false,
            count: 0,
            junk_lines: 0,
            first_junk_line: 0,
            is_rest: false,
        }
    }

    fn take_all(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while at < bytes.len() {
            if self.is_string && !self.is_escaped {
                let is_plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | b'\n');
                let length = bytes[at..].iter().take_while(|byte| is_plain(byte)).count();
                self.text.extend_from_slice(&bytes[at..at + length]);
                self.column += length;
                at += length;
            }
            if let Some(byte) = bytes.get(at) {
                self.take(*byte);
                at += 1;
            }
            if self.text.len() > OBJECT_MAX {
                self.broken("it is larger than 64 MiB");
            }
        }
    }

    fn take(&mut self, byte: u8) {
        let is_inside = matches!(self.within, Within::Object | Within::Item);
        if is_inside && self.column == 0 && byte == b'{' && !self.is_flush && !self.text.is_empty() {
            // Nobody indents like that: the object before has no end.
            self.broken("it has no end");
        }
        match self.within {
            Within::Nothing => self.outside(byte),
            Within::List => self.between(byte),
            Within::Object | Within::Item => self.inside(byte),
            Within::Junk | Within::Logs => self.no_json(byte),
        }
        if byte == b'\n' {
            self.line = self.line.saturating_add(1);
            self.column = 0;
        } else {
            self.column += 1;
        }
    }

    fn outside(&mut self, byte: u8) {
        match byte {
            // Among them what separates texts in a sequence of them.
            b' ' | b'\t' | b'\r' | b'\n' | b',' | 0x1e => {}
            b'{' => self.begin(Within::Object, byte),
            b'[' => {
                self.head = ListHead::default();
                self.around = None;
                self.within = Within::List;
            }
            _ => {
                self.within = Within::Junk;
                self.text.clear();
                self.no_json(byte);
            }
        }
    }

    /// A line that is no JSON, of which the beginning is kept.
    fn no_json(&mut self, byte: u8) {
        if byte != b'\n' {
            if self.text.len() < LOGS_BEGIN.len() {
                self.text.push(byte);
            }
            return;
        }
        let line = std::mem::take(&mut self.text);
        self.within = match self.within {
            Within::Logs if line.starts_with(LOGS_END) => Within::Nothing,
            Within::Logs => Within::Logs,
            _ if line.starts_with(LOGS_BEGIN) => Within::Logs,
            _ => {
                self.junk();
                Within::Nothing
            }
        };
    }

    fn junk(&mut self) {
        if !self.is_rest {
            self.junk_lines += 1;
            if self.first_junk_line == 0 {
                self.first_junk_line = self.line;
            }
        }
    }

    fn between(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b',' => {}
            b']' => match self.around.take() {
                // What is behind the list is read as a part of the object that it is in.
                Some(around) => {
                    self.text = around;
                    self.text.push(byte);
                    self.within = Within::Object;
                    self.depth = 1;
                    self.is_value = false;
                }
                None => self.within = Within::Nothing,
            },
            _ => self.begin(Within::Item, byte),
        }
    }

    fn begin(&mut self, within: Within, byte: u8) {
        self.within = within;
        self.text.clear();
        self.first_line = self.line;
        self.depth = 0;
        (self.is_string, self.is_escaped, self.is_value) = (false, false, false);
        self.inside(byte);
    }

    fn inside(&mut self, byte: u8) {
        if self.within == Within::Item && self.depth == 0 && !self.is_string && matches!(byte, b',' | b']') {
            // A number or a word has no other end.
            self.end();
            return self.between(byte);
        }
        self.text.push(byte);
        if self.is_string {
            return self.in_string(byte);
        }
        match byte {
            b'"' => {
                self.is_string = true;
                if self.depth == 1 {
                    self.key.0 = self.text.len();
                    self.is_flush |= self.column == 0;
                }
            }
            b':' if self.depth == 1 => self.is_value = true,
            b',' if self.depth == 1 => self.is_value = false,
            b'[' if self.depth == 1 && self.is_value && self.is_list_field() => self.begin_list(),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end();
                }
            }
            _ => {}
        }
    }

    fn in_string(&mut self, byte: u8) {
        match byte {
            // A line ends in no string: the rest of it has been lost.
            b'\n' => self.broken("it has no end"),
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => {
                self.is_string = false;
                if self.depth == 1 && !self.is_value {
                    self.key.1 = self.text.len() - 1;
                }
            }
            _ => {}
        }
    }

    fn is_list_field(&self) -> bool {
        let key = self.text.get(self.key.0..self.key.1);
        self.within == Within::Object
            && self.around.is_none()
            && key.is_some_and(|key| self.list_fields.iter().any(|field| field.as_bytes() == key))
    }

    fn begin_list(&mut self) {
        let mut so_far = self.text.clone();
        so_far.extend_from_slice(b"]}");
        self.head = serde_json::from_slice(&so_far).unwrap_or_default();
        self.around = Some(std::mem::take(&mut self.text));
        self.within = Within::List;
    }

    /// The object or item is whole.
    fn end(&mut self) {
        let text = std::mem::take(&mut self.text);
        let is_item = self.within == Within::Item;
        self.within = if is_item { Within::List } else { Within::Nothing };
        let head = if is_item { std::mem::take(&mut self.head) } else { ListHead::default() };
        match serde_json::from_slice::<Value>(&text) {
            Ok(value) => {
                self.is_rest = false;
                if is_item || !self.is_list(&value) {
                    self.count = self.count.saturating_add(1);
                    (self.sink)(self.into, &head, self.count, value);
                }
            }
            Err(error) => {
                let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
                self.first_line = self.first_line.saturating_add(line.saturating_sub(1));
                let why = error.to_string();
                self.told(&text, why.split(" at line ").next().unwrap_or(&why));
            }
        }
        self.text = text;
        self.text.clear();
        if is_item {
            self.head = head;
        }
    }

    /// Whether an object is what stands around a list that has been read.
    fn is_list(&self, value: &Value) -> bool {
        self.list_fields.iter().any(|field| value.get(*field).is_some_and(Value::is_array))
    }

    /// The object or item cannot be read.
    fn broken(&mut self, why: &str) {
        let text = std::mem::take(&mut self.text);
        self.told(&text, why);
        self.is_string = false;
        self.within = match self.within {
            Within::Item => Within::List,
            _ => Within::Nothing,
        };
    }

    fn told(&mut self, text: &[u8], why: &str) {
        if std::mem::replace(&mut self.is_rest, true) {
            return;
        }
        // The number of an object is that of those that there are.
        self.count = self.count.saturating_add(1);
        let place = Location::new(self.name, self.first_line, 1, 1);
        let message = format!("an object of `{}` cannot be read: {why}", self.name);
        let excerpt: String = String::from_utf8_lossy(&text[..text.len().min(4 * EXCERPT_MAX)])
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(EXCERPT_MAX)
            .collect();
        let diagnostic =
            Diagnostic::warning("evidence::syntax", message).at(place, format!("it begins with `{excerpt}`"));
        self.into.problem(diagnostic.help("the other objects count"), None);
    }

    fn finish(mut self) {
        let is_cut = match self.within {
            Within::Item | Within::Object => true,
            Within::List => self.around.is_some() || self.count > 0,
            Within::Junk => {
                self.junk();
                false
            }
            Within::Nothing | Within::Logs => false,
        };
        if is_cut {
            self.into.not_read(self.name, format!("it ends in the middle, in line {}", self.line));
        }
        if self.junk_lines > 0 {
            let lines = counted(self.junk_lines, "line", "lines");
            let place = Location::new(self.name, self.first_junk_line, 1, 1);
            let diagnostic = Diagnostic::warning("evidence::syntax", format!("{lines} of `{}` are no JSON", self.name));
            self.into.problem(diagnostic.at(place, "the first of them").help("the other lines count"), None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objects of a text, given in pieces of that length, and what was wrong with it.
    fn objects_in_pieces(text: &[u8], length: usize) -> (Vec<(String, Value)>, Evidence) {
        let mut into = Evidence::new();
        let mut found = Vec::new();
        let mut content = io::BufReader::with_capacity(length, text);
        read("x.json", &mut content, &["items"], &mut into, &mut |_, list, place, value| {
            assert!(place as usize > found.len());
            found.push((list.kind.clone(), value));
        })
        .expect("a text");
        (found, into)
    }

    fn objects(text: &str) -> (Vec<(String, Value)>, Evidence) {
        let (found, into) = objects_in_pieces(text.as_bytes(), 1 << 16);
        let (by_bytes, _) = objects_in_pieces(text.as_bytes(), 1);
        assert_eq!(found, by_bytes, "{text}");
        (found, into)
    }

    fn check(text: &str, kind: &str, expected: &[Value]) {
        let (found, into) = objects(text);
        let expected: Vec<(String, Value)> = expected.iter().map(|value| (kind.to_owned(), value.clone())).collect();
        assert_eq!(found, expected, "{text}");
        assert!(into.diagnostics.is_empty() && into.unread.is_empty(), "{text}: {:?}", into.diagnostics);
    }

    #[test]
    fn objects_are_found_in_every_form() {
        let (a, b) = (serde_json::json!({"a": [1, {"items": [2]}]}), serde_json::json!({"b": "}]\\\"{"}));
        let both = [a.clone(), b.clone()];
        check(&format!("{a}\n{b}\n"), "", &both);
        check(&format!("{a}{b}"), "", &both);
        check(&format!("\u{1e}{a}\n\u{1e}{b}\n"), "", &both);
        check(&format!("[{a},\n{b}]"), "", &both);
        check(&format!("[\n{a},\n{b}\n]\n"), "", &both);
        check(&format!("{{\"kind\":\"EventList\",\"items\":[{a},{b}]}}"), "EventList", &both);
        check(&format!("{{\"items\":[{a},{b}],\"kind\":\"EventList\"}}"), "", &both);
        let pretty = serde_json::json!({"kind": "AList", "items": both, "metadata": {"items": 1}});
        check(&serde_json::to_string_pretty(&pretty).expect("a text"), "", &both);
        check("{\"items\":[]}", "", &[]);
        check("", "", &[]);
        check("{\n\"a\": [\n{\n\"x\": 1\n}\n]\n}", "", &[serde_json::json!({"a": [{"x": 1}]})]);
        check("[1, \"a,]\", null]", "", &[1.into(), "a,]".into(), Value::Null]);
        check("{\"a\":1,\"a\":2}", "", &[serde_json::json!({"a": 2})]);
    }

    #[test]
    fn damage_costs_the_object_that_it_is_in() {
        for (text, expected) in [
            ("{\"a\":1}\n{\"a\":\n{\"a\":3}\n", 2),
            ("{\"a\":1}\n{\"a\":\"cut\n{\"a\":3}\n", 2),
            ("{\"a\":1}\n{\"a\":nope}\n{\"a\":3}\n", 2),
            ("{\"a\":1}\nnope\n{\"a\":3}\n", 2),
            ("{\"items\":[\n {\"a\":1},\n {\"a\":nope},\n {\"a\":3}\n]}", 2),
            ("[{\"a\":1},{\"a\":\"\u{0}\"},{\"a\":3}]", 2),
        ] {
            let (found, into) = objects(text);
            assert_eq!(found.len(), expected, "{text}");
            let told: Vec<&str> = into.diagnostics.iter().map(|problem| problem.code).collect();
            assert_eq!(told, ["evidence::syntax"], "{text}");
        }
        let (_, into) = objects("{\"a\":1}\n{\"a\":\n nope}\n");
        let place = into.diagnostics.iter().next().and_then(|problem| problem.location().cloned()).expect("a place");
        assert_eq!(place.line, 3);
    }

    #[test]
    fn what_ends_in_the_middle_counts_as_far_as_it_goes() {
        let whole = "{\"kind\":\"AList\",\"items\":[{\"a\":1},{\"a\":[2,\"x\"]},{\"a\":3}]}";
        for end in 1..whole.len() {
            let (found, into) = objects(&whole[..end]);
            let expected = [32, 46, 54].iter().filter(|item| end >= **item).count();
            assert_eq!(found.len(), expected, "{}", &whole[..end]);
            assert_eq!(into.unread.len(), 1, "{}", &whole[..end]);
        }
    }

    #[test]
    fn hostile_texts_are_no_more_than_problems() {
        let deep = "[".repeat(100_000);
        let (_, into) = objects(&format!("{{\"a\":{deep}"));
        assert_eq!(into.unread.len(), 1);
        let (found, into) = objects(&format!("{{\"a\":{deep}{}}}\n{{\"a\":1}}", "]".repeat(100_000)));
        assert_eq!((found.len(), into.diagnostics.len()), (1, 1));
        for text in ["]", "}", "[]]", "{}}}", "\0\0\0", "\"", "{\"items\":[}", "[[[", "{\"items\":]", "\u{feff}{}"] {
            objects(text);
        }
        let (found, _) = objects_in_pieces(b"[\"\xff\xfe\",{\"a\":1}]", 3);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn an_object_without_end_does_not_fill_the_memory() {
        let mut text = b"{\"a\":\"".to_vec();
        text.resize(OBJECT_MAX + 100, b'x');
        text.extend(b"\"}\n{\"a\":1}\n");
        let (found, into) = objects_in_pieces(&text, 1 << 16);
        assert_eq!(found.len(), 1);
        assert_eq!(into.diagnostics.len(), 1);
    }

    #[test]
    fn logs_within_a_dump_are_passed_over() {
        let text = "{\"kind\":\"EventList\",\"items\":[{\"a\":1}]}\n==== START logs for container a of pod b/c ====\n\
                    [INFO] x\n{\"a\":\n==== END logs for container a of pod b/c ====\n{\"a\":2}\n";
        let (found, into) = objects(text);
        assert_eq!(found.len(), 2);
        assert!(into.diagnostics.is_empty());
    }
}
