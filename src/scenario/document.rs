//! The user's document as a tree in which every value knows its place.
//!
//! Overrides and included files replace parts of the tree, which keep the place they were written in; so no message ever
//! points into the void, and whatever is found wrong after decoding is located by its path.

use std::cell::Cell;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};

use crate::diagnostics::{Diagnostic, Location};
use crate::model::yaml;

/// Values inside values that are read; deeper ones are a mistake or an attack.
const DEPTH_MAX: usize = 100;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) location: Location,
    /// The fields of the type that the value has been read as; none of one whose keys the user chooses.
    known_fields: Cell<&'static [&'static str]>,
}

/// A value as it is written.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Text of one value; what it means depends on what is asked for.
    Scalar {
        text: Arc<str>,
        is_plain: bool,
        /// Where a block of lines (`|`), which keeps them as they are, begins.
        block: Option<Block>,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Taken out, because it has been found wrong and reported.
    Removed,
}

/// Where the lines of a text stand that is written as a block: below each other, each as it is behind its indentation.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    first_line: u32,
    /// Of the first character behind the indentation, counted from 1.
    column: u32,
}

/// A field of a map.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Arc<str>,
    pub(crate) key_location: Location,
    pub(crate) node: Node,
}

impl Node {
    const fn new(value: Value, location: Location) -> Self {
        Self { value, location, known_fields: Cell::new(&[]) }
    }

    pub(crate) const fn empty_map(location: Location) -> Self {
        Self::new(Value::Map(Vec::new()), location)
    }

    /// The fields of the type that this has been read as; none of a type whose keys the user chooses.
    pub(crate) fn known_fields(&self) -> &'static [&'static str] {
        self.known_fields.get()
    }

    /// Remembers the fields of the type that this is read as.
    pub(super) fn read_as(&self, fields: &'static [&'static str]) {
        self.known_fields.set(fields);
    }

    /// Gives the value and all that is in it another place.
    pub(crate) fn move_to(&mut self, location: &Location) {
        self.location = location.clone();
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.move_to(location)),
            Value::Map(entries) => {
                for entry in entries {
                    entry.key_location = location.clone();
                    entry.node.move_to(location);
                }
            }
            Value::Scalar { .. } | Value::Removed => {}
        }
    }

    pub(crate) fn is_removed(&self) -> bool {
        matches!(self.value, Value::Removed)
    }

    /// Whether nothing is written here, or `null`.
    pub(crate) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Scalar { text, is_plain: true, .. } if matches!(&**text, "" | "~" | "null" | "Null" | "NULL"))
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|entry| &entry.node)
    }

    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| &*entry.key == key && !entry.node.is_removed()),
            _ => None,
        }
    }

    /// Whether a field of that name, or one whose name is near, has been found wrong and taken out.
    pub(crate) fn has_removed(&self, key: &str) -> bool {
        let Value::Map(entries) = &self.value else { return false };
        let is_near = |entry: &Entry| crate::diagnostics::nearest(&entry.key, [key]).is_some();
        entries.iter().any(|entry| entry.node.is_removed() && is_near(entry))
    }

    /// The keys of a map, without those that have been taken out.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let entries = if let Value::Map(entries) = &self.value { entries.as_slice() } else { &[] };
        entries.iter().filter(|entry| !entry.node.is_removed()).map(|entry| &*entry.key)
    }

    /// The text, if this is one value.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Where a stretch of the text is written, from a byte of it on: exactly, if the text is written on one line as it is,
    /// or as a block of lines. Else it is the whole text.
    pub(crate) fn locate_stretch(&self, offset: usize, stretch: &str) -> Location {
        let Value::Scalar { text, block, .. } = &self.value else { return self.location.clone() };
        let length = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        let stretch = stretch.lines().next().unwrap_or_default();
        if let Some(block) = block {
            let before = &text[..offset];
            let line = block.first_line + u32::try_from(before.matches('\n').count()).unwrap_or(u32::MAX);
            let column = block.column + length(before.rsplit('\n').next().unwrap_or_default());
            return Location { line, column, length: length(stretch), ..self.location.clone() };
        }
        if stretch.is_empty() {
            return self.location.clone();
        }
        // Quotes make the written text longer than the text it means by two; escapes by something else.
        let quote = match self.location.length.checked_sub(length(text)) {
            Some(0) => 0,
            Some(2) => 1,
            _ => return self.location.clone(),
        };
        let column = self.location.column + quote + length(&text[..offset]);
        Location { column, length: length(stretch), ..self.location.clone() }
    }

    /// The items that have not been taken out; none if this is no list.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Self> {
        let items = if let Value::List(items) = &self.value { items.as_slice() } else { &[] };
        items.iter().filter(|item| !item.is_removed())
    }
}

/// A piece of a file to be read: its text, and where it begins.
pub(crate) struct Text<'a> {
    /// The name of the source.
    pub(crate) file: &'a Arc<str>,
    pub(crate) text: &'a str,
    /// Lines of the source before the text.
    pub(crate) line_offset: usize,
    /// Characters of the first line before the text.
    pub(crate) column_offset: usize,
}

impl Text<'_> {
    fn location(&self, line: usize, column_index: usize, length: usize) -> Location {
        let column_offset = if line == 1 { self.column_offset } else { 0 };
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let line = number(self.line_offset + line.max(1));
        Location::new(Arc::clone(self.file), line, number(column_offset + column_index + 1), number(length))
    }

    /// Where the lines of a block stand that begins at or after a place; none if they are not found as they are.
    fn block(&self, from: &Location, written: &str) -> Option<Block> {
        let first = written.lines().position(|line| !line.trim().is_empty())?;
        let line = written.lines().nth(first)?;
        let skipped = (from.line as usize).checked_sub(self.line_offset + 1)?;
        // The place may be that of the sign `|` or of the first line, be that blank or not.
        let mut lines = self.text.lines().enumerate().skip(skipped).take(first + 2);
        let (index, found) = lines.find(|(_, found)| found.ends_with(line))?;
        let column = found[..found.len() - line.len()].chars().count() + 1;
        let number = |value: usize| u32::try_from(value).ok();
        Some(Block { first_line: number((self.line_offset + index + 1).checked_sub(first)?)?, column: number(column)? })
    }

    fn span(&self, span: &Span) -> Location {
        let (start, end) = (span.start, span.end);
        // What goes on on the next line is marked at its first character only.
        let length = if start.line() == end.line() { end.col().saturating_sub(start.col()) } else { 1 };
        self.location(start.line(), start.col(), length)
    }
}

/// Reads one document of YAML or JSON.
///
/// Values that are given to aliases are copied; the number of values is bounded by the length of the text, so that aliases
/// of aliases do not fill the memory.
pub(crate) fn parse(text: &Text<'_>) -> Result<Node, Box<Diagnostic>> {
    if text.text.trim_start().starts_with(['{', '[']) {
        check_json(text)?;
    }
    let mut reader = Reader { text, anchors: FxHashMap::default(), budget: text.text.len().max(1_000) };
    let mut parser = Parser::new_from_str(text.text);
    let mut root = None;
    while let Some(next) = parser.next() {
        let (event, span) = next.map_err(|error| reader.syntax_error(&error))?;
        if matches!(event, Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) | Event::Alias(..)) {
            root = Some(reader.node(&mut parser, event, &span, 0)?);
        }
    }
    Ok(root.unwrap_or_else(|| {
        let value = Value::Scalar { text: "".into(), is_plain: true, block: None };
        Node::new(value, text.location(1, 0, 0))
    }))
}

/// JSON's own parser says better what is wrong with JSON.
fn check_json(text: &Text<'_>) -> Result<(), Box<Diagnostic>> {
    let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text.text) else { return Ok(()) };
    // Braces begin YAML's flow style, too; only what ends too early or looks like JSON is judged as JSON.
    let after_brace = text.text.trim_start().trim_start_matches(['{', '[']).trim_start();
    if !after_brace.starts_with('"') {
        return Ok(());
    }
    let location = text.location(error.line(), error.column().saturating_sub(1), 1);
    if error.to_string().contains("recursion limit") {
        return Err(too_deep(location));
    }
    let (message, help) = if error.is_eof() {
        ("this JSON ends in the middle", "the file is incomplete: write it again")
    } else {
        ("this is not JSON", "a document that begins with a brace and a quoted name is read as JSON")
    };
    let what = error.to_string();
    let what = what.split(" at line ").next().unwrap_or_default().to_lowercase();
    Err(Box::new(Diagnostic::error("scenario::syntax", message).at(location, what).help(help)))
}

fn too_deep(location: Location) -> Box<Diagnostic> {
    let message = format!("values are nested more than {DEPTH_MAX} deep");
    Box::new(Diagnostic::error("scenario::too_deep", message).at(location, ""))
}

type Events<'a> = Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>;

struct Reader<'a> {
    text: &'a Text<'a>,
    anchors: FxHashMap<usize, Node>,
    /// How many values may still be made.
    budget: usize,
}

impl<'a> Reader<'a> {
    fn syntax_error(&self, error: &serde_saphyr::granit_parser::ScanError) -> Box<Diagnostic> {
        let marker = error.marker();
        let location = self.text.location(marker.line(), marker.col(), 1);
        if error.info().contains("recursion limit") {
            return too_deep(location);
        }
        Box::new(Diagnostic::error("scenario::syntax", "this is not YAML").at(location, error.info()))
    }

    fn next(&self, parser: &mut Events<'a>) -> Result<(Event<'a>, Span), Box<Diagnostic>> {
        let next = parser.next().expect("a map or list that is open is closed before the stream ends");
        next.map_err(|error| self.syntax_error(&error))
    }

    fn spend(&mut self, count: usize, location: &Location) -> Result<(), Box<Diagnostic>> {
        match self.budget.checked_sub(count) {
            Some(rest) => {
                self.budget = rest;
                Ok(())
            }
            None => Err(Box::new(
                Diagnostic::error("scenario::too_many_values", "the aliases of this document multiply without end")
                    .at(location.clone(), "here it has more values than its text has characters")
                    .help("write out what the aliases stand for"),
            )),
        }
    }

    fn node(
        &mut self,
        parser: &mut Events<'a>,
        event: Event<'a>,
        span: &Span,
        depth: usize,
    ) -> Result<Node, Box<Diagnostic>> {
        let location = self.text.span(span);
        self.spend(1, &location)?;
        if depth > DEPTH_MAX {
            return Err(too_deep(location));
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let block = if style == ScalarStyle::Literal { self.text.block(&location, &text) } else { None };
                (Value::Scalar { text: text.as_ref().into(), is_plain: style == ScalarStyle::Plain, block }, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next(parser)?;
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    items.push(self.node(parser, event, &span, depth + 1)?);
                }
                (Value::List(items), anchor)
            }
            Event::MappingStart(_, anchor, _) => (self.map(parser, depth)?, anchor),
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    let message = "an alias stands inside the value that it names";
                    return Err(Box::new(Diagnostic::error("scenario::syntax", message).at(location, "")));
                };
                self.spend(count(&node), &location)?;
                return Ok(node);
            }
            other => unreachable!("the parser emits values only here, not {other:?}"),
        };
        let node = Node::new(value, location);
        if anchor > 0 {
            self.spend(count(&node), &node.location)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn map(&mut self, parser: &mut Events<'a>, depth: usize) -> Result<Value, Box<Diagnostic>> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        let mut first_places: FxHashMap<Arc<str>, usize> = FxHashMap::default();
        loop {
            let (event, span) = self.next(parser)?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let key = self.node(parser, event, &span, depth + 1)?;
            let Value::Scalar { text, is_plain, .. } = key.value else {
                let diagnostic =
                    Diagnostic::error("scenario::syntax", "a field's name is one word here, not a map or a list");
                return Err(Box::new(diagnostic.at(key.location, "")));
            };
            let (event, span) = self.next(parser)?;
            let node = self.node(parser, event, &span, depth + 1)?;
            if is_plain && &*text == "<<" {
                match node.value {
                    Value::Map(entries) => merged.extend(entries),
                    Value::List(items) => merged.extend(items.into_iter().flat_map(|item| match item.value {
                        Value::Map(entries) => entries,
                        _ => Vec::new(),
                    })),
                    _ => {}
                }
                continue;
            }
            if let Some(first) = first_places.insert(Arc::clone(&text), entries.len()) {
                let first: &Entry = &entries[first];
                let message = format!("`{text}` is written twice in one map");
                let diagnostic = Diagnostic::error("scenario::repeated_key", message);
                return Err(Box::new(
                    diagnostic.at(key.location, "again here").at(first.key_location.clone(), "first here"),
                ));
            }
            entries.push(Entry { key: text, key_location: key.location, node });
        }
        for entry in merged {
            if !first_places.contains_key(&entry.key) {
                first_places.insert(Arc::clone(&entry.key), entries.len());
                entries.push(entry);
            }
        }
        Ok(Value::Map(entries))
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(items) => items.iter().map(count).sum(),
        Value::Map(entries) => entries.iter().map(|entry| 1 + count(&entry.node)).sum::<usize>(),
        _ => 0,
    }
}

/// A document of a file that may have several.
#[derive(Clone, Debug)]
pub(crate) struct FirstDocument {
    pub(crate) root: Node,
    /// Everything behind it, with line breaks in place of what came before; empty if there is nothing.
    pub(crate) rest: String,
}

/// Reads the first document of a file; empty ones are passed over.
pub(crate) fn parse_first(file: &Arc<str>, text: &str) -> Result<FirstDocument, Box<Diagnostic>> {
    let pieces = yaml::documents(text);
    let Some(first) = pieces.first() else {
        let diagnostic = Diagnostic::error("scenario::empty", "there is nothing in this file");
        return Err(Box::new(diagnostic.at(Location::file(Arc::clone(file)), "")));
    };
    let root =
        parse(&Text { file, text: &first.text, line_offset: first.line_offset, column_offset: first.column_offset })?;
    let mut rest = String::new();
    if let Some(second) = pieces.get(1) {
        // Lines count from the file's beginning, so that places in the rest are places in the file.
        let lines_before = second.line_offset;
        let offset = text.split_inclusive('\n').take(lines_before).map(str::len).sum::<usize>();
        rest = "\n".repeat(lines_before);
        rest.push_str(&text[offset..]);
    }
    Ok(FirstDocument { root, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<FirstDocument, Box<Diagnostic>> {
        parse_first(&"t.yaml".into(), text)
    }

    #[test]
    fn values_are_located_by_their_path() {
        let root = read("# c\n---\na:\n  b: [1, {c: xy}]\n").unwrap().root;
        #[track_caller]
        fn check(root: &Node, path: &str, line: u32, column: u32, length: u32) {
            assert_eq!(
                crate::scenario::at::At::root(root).written(path).location(),
                Location::new("t.yaml", line, column, length),
                "{path}"
            );
        }
        check(&root, "a", 3, 1, 1);
        check(&root, "a.b", 4, 3, 1);
        check(&root, "a.b[0]", 4, 7, 1);
        check(&root, "a.b[1].c", 4, 14, 2);
        check(&root, "a.b[7].c", 4, 3, 1);
    }

    #[test]
    fn documents_behind_the_first_keep_their_lines() {
        let document = read("a: 1\n---\nkind: Pod\n---\nkind: Node\n").unwrap();
        assert_eq!(document.rest, "\n---\nkind: Pod\n---\nkind: Node\n");
        assert_eq!(read("a: 1\n").unwrap().rest, "");
    }

    #[test]
    fn anchors_are_copied_and_merged() {
        let root = read("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n").unwrap().root;
        let b = root.get("b").unwrap();
        assert_eq!(b.get("p").unwrap().text(), Some("1"));
        assert_eq!(b.get("q").unwrap().text(), Some("3"));
    }

    #[test]
    fn broken_texts_are_refused() {
        #[track_caller]
        fn check(text: &str, code: &str, line: u32) {
            let diagnostic = read(text).expect_err("an error");
            assert_eq!((diagnostic.code, diagnostic.location().unwrap().line), (code, line), "{diagnostic:?}");
        }
        check("", "scenario::empty", 0);
        check("a: [1, 2\nb: 3\n", "scenario::syntax", 2);
        check("{\"a\": [1,\n2", "scenario::syntax", 2);
        check("a: 1\nb: 2\na: 3\n", "scenario::repeated_key", 3);
        let bomb: String = (1..30).map(|i| format!("a{i}: &a{i} [*a{0}, *a{0}, *a{0}]\n", i - 1)).collect();
        check(&format!("a0: &a0 [x, x, x]\n{bomb}"), "scenario::too_many_values", 5);
        check(&format!("{}{}", "[".repeat(200), "]".repeat(200)), "scenario::too_deep", 1);
    }
}
