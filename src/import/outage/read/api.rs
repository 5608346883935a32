//! Texts of API objects: lists as kubectl saves them, watches, exporters' lines, dumps. Events are read here; other objects are given on.

use std::io::{self, BufRead, Read};

use serde_json::Value;

use super::events::{self, Events};
use super::json::{self, ListHead};
use crate::diagnostics::{Diagnostic, Location};
use crate::import::outage::{ClockOptions, Evidence};
use crate::model::yaml;

/// The largest YAML that is read, in bytes; JSON may be of any size.
const YAML_MAX: u64 = 1 << 29;
/// Bytes of objects, other than Events, that are read of one text.
const OBJECTS_MAX: usize = 1 << 30;
/// Objects one in the other by which exporters wrap one.
const WRAPPERS_MAX: usize = 3;
/// Fields in which watches, exporters and stores keep an object.
const WRAPPERS: [&str; 5] = ["object", "event", "_source", "body", "jsonPayload"];
/// Fields in which stores of logs keep the text of one.
const TEXT_WRAPPERS: [&str; 5] = ["line", "log", "message", "@message", "textPayload"];

/// How events are saved.
pub(super) const EVENTS_COMMAND: &str = "kubectl get events -A -o json > events.json";

/// Whether a text begins as API objects do, or as what kubectl prints of them.
pub(super) fn is(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    let text = head.trim_start();
    if text.starts_with(['{', '[']) {
        let fields = ["\"apiVersion\"", "\"metadata\"", "involvedObject", "\"regarding\""];
        return fields.iter().any(|field| text.contains(field));
    }
    is_table(text) || text.lines().any(|line| line.trim_start_matches(['-', ' ']).starts_with("apiVersion:"))
}

/// Whether a text is the table of events that kubectl prints.
fn is_table(text: &str) -> bool {
    let heading = text.lines().next().unwrap_or_default();
    heading.contains("LAST SEEN") && heading.contains("REASON") && heading.contains("OBJECT")
}

/// Reads API objects.
pub(super) fn read(name: &str, content: &mut dyn BufRead, clock: &ClockOptions, into: &mut Evidence) -> io::Result<()> {
    let mut objects = Objects { name, clock, events: Events::new(name), others: Vec::new(), left: 0, tables: 0 };
    let first = content.fill_buf()?.iter().copied().find(|byte| !byte.is_ascii_whitespace());
    if matches!(first, Some(b'{' | b'[')) {
        json::read(name, content, &["items"], into, &mut |into, list, place, value| {
            objects.add(list, place, value, into);
        })?;
    } else {
        objects.read_yaml(content, into)?;
    }
    objects.finish(into)
}

/// The objects of a text.
struct Objects<'a> {
    name: &'a str,
    clock: &'a ClockOptions,
    events: Events<'a>,
    /// Those that are no Events, as an array that is still open.
    others: Vec<u8>,
    /// How many there was no room for.
    left: usize,
    tables: usize,
}

impl Objects<'_> {
    fn add(&mut self, list: &ListHead, place: u32, value: Value, into: &mut Evidence) {
        let value = unwrapped(value, list);
        if events::is_event(list, &value) {
            self.events.add(&value, place, self.clock, into);
        } else if kind_of(list, &value) == "Table" {
            self.tables += 1;
        } else if is_told_of(kind_of(list, &value)) && value.get("metadata").is_some_and(Value::is_object) {
            self.keep(list, value);
        }
    }

    /// Keeps an object, which then says its kind if its list did.
    fn keep(&mut self, list: &ListHead, mut value: Value) {
        if let (Some(object), Some(kind)) = (value.as_object_mut(), list.kind.strip_suffix("List"))
            && !kind.is_empty()
            && !object.contains_key("kind")
        {
            object.insert("kind".to_owned(), kind.into());
            object.entry("apiVersion").or_insert_with(|| list.api_version.as_str().into());
        }
        if self.others.len() > OBJECTS_MAX {
            self.left += 1;
            return;
        }
        self.others.push(if self.others.is_empty() { b'[' } else { b',' });
        serde_json::to_writer(&mut self.others, &value).expect("a value is written to memory");
    }

    fn read_yaml(&mut self, content: &mut dyn BufRead, into: &mut Evidence) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.take(YAML_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > YAML_MAX {
            into.not_read(self.name, "it is YAML of more than 512 MiB; save it with `-o json`");
            return Ok(());
        }
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                into.not_read(self.name, "it is not UTF-8 text");
                return Ok(());
            }
        };
        if is_table(text.trim_start()) {
            self.refuse("the table of events that kubectl prints for people", into);
            return Ok(());
        }
        let mut place = 0;
        for document in yaml::documents(&text) {
            if yaml::is_cut_list(&document) {
                into.not_read(self.name, yaml::CUT_LIST);
            }
            match yaml::list_items(&document) {
                Some(items) => {
                    let list = list_head(&document.text);
                    for item in items {
                        place += 1;
                        let line = item.line_offset;
                        self.yaml(&list, place, &item.text, line, into);
                    }
                }
                None => {
                    place += 1;
                    self.yaml(&ListHead::default(), place, &document.text, document.line_offset, into);
                }
            }
        }
        Ok(())
    }

    /// Reads one document or item.
    fn yaml(&mut self, list: &ListHead, place: u32, text: &str, line_offset: usize, into: &mut Evidence) {
        let options = yaml::options_with_duplicates(text);
        match serde_saphyr::from_str_with_options::<Value>(text, options) {
            Ok(Value::Object(mut fields)) if fields.get("items").is_some_and(Value::is_array) => {
                let Some(Value::Array(items)) = fields.remove("items") else { return };
                let list: ListHead = serde_json::from_value(Value::Object(fields)).unwrap_or_default();
                for (place, item) in (1..).zip(items) {
                    self.add(&list, place, item, into);
                }
            }
            Ok(Value::Array(items)) => {
                for (place, item) in (1..).zip(items) {
                    self.add(&ListHead::default(), place, item, into);
                }
            }
            Ok(value) => self.add(list, place, value, into),
            Err(error) => {
                let line = error.location().map_or(1, |location| location.line() as usize) + line_offset;
                let message = error.to_string();
                let message =
                    format!("an object of `{}` cannot be read: {}", self.name, message.lines().next().unwrap_or(""));
                let line = u32::try_from(line).unwrap_or(u32::MAX);
                let diagnostic = Diagnostic::warning("evidence::syntax", message);
                into.problem(
                    diagnostic.at(Location::new(self.name, line, 1, 1), "").help("the other objects count"),
                    None,
                );
            }
        }
    }

    /// Says that what is there is for people.
    fn refuse(&self, what: &str, into: &mut Evidence) {
        into.not_read(self.name, format!("it is {what}"));
        let message = format!("`{}` is {what}: its times are rounded, and it is not read", self.name);
        let diagnostic = Diagnostic::warning("evidence::for_people", message).at(Location::file(self.name), "");
        into.problem(diagnostic.help(format!("save the events themselves: `{EVENTS_COMMAND}`")), None);
    }

    fn finish(mut self, into: &mut Evidence) -> io::Result<()> {
        if self.tables > 0 {
            self.refuse("a Table, which an API server makes for printing", into);
        }
        if self.left > 0 {
            into.not_read(self.name, format!("{} of its objects are more than 1 GiB of text", self.left));
        }
        self.events.finish(into);
        if self.others.is_empty() {
            return Ok(());
        }
        self.others.push(b']');
        super::objects::read(self.name, &mut self.others.as_slice(), self.clock, into)
    }
}

/// Whether objects of that kind say something of an outage. Lists of old dumps say no kind.
fn is_told_of(kind: &str) -> bool {
    matches!(kind, "Node" | "Pod" | "Lease" | "")
}

/// What a list says of its items before they begin.
fn list_head(text: &str) -> ListHead {
    let field = |name: &str| {
        let lines = text.lines().filter(|line| !line.starts_with([' ', '-', '#']));
        let value = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':')).next();
        value.unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned()
    };
    ListHead { kind: field("kind"), api_version: field("apiVersion") }
}

/// The kind of an object, as it or its list says.
pub(super) fn kind_of<'a>(list: &'a ListHead, value: &'a Value) -> &'a str {
    let own = value.get("kind").and_then(Value::as_str).filter(|kind| !kind.is_empty());
    own.unwrap_or_else(|| list.kind.strip_suffix("List").unwrap_or_default())
}

/// An object out of what a watch, an exporter or a store wraps it in.
fn unwrapped(value: Value, list: &ListHead) -> Value {
    let mut value = value;
    for _ in 0..WRAPPERS_MAX {
        if value.get("metadata").is_some_and(Value::is_object) || events::is_event(list, &value) {
            break;
        }
        let Some(fields) = value.as_object_mut() else { break };
        if let Some(name) = WRAPPERS.iter().find(|name| fields.get(**name).is_some_and(Value::is_object)) {
            value = fields.remove(*name).unwrap_or_default();
            continue;
        }
        let texts = TEXT_WRAPPERS.iter().filter_map(|name| fields.get(*name)?.as_str());
        let Some(text) = texts.filter(|text| text.starts_with('{')).find_map(|text| serde_json::from_str(text).ok())
        else {
            break;
        };
        value = text;
    }
    value
}
