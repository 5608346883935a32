//! From a file to pieces of one object each: documents, and the items of lists and of lists in these.

use std::mem;

use serde_json::Value;

use super::locate::JsonScan;
use super::piece::{File, Header, Syntax, TextPiece, read_error_of_yaml};
use super::recognize;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics};
use crate::model::yaml::{self, Piece};

/// What a file is cut into.
#[derive(Debug, Default)]
pub(super) struct Split<'a> {
    pub pieces: Vec<TextPiece<'a>>,
    /// Lists among its documents, with items or without.
    pub list_count: usize,
    /// Lists that cannot be read at all: where they begin.
    pub unreadable: Vec<u32>,
}

/// Cuts a file into pieces of one object each.
///
/// # Source
/// cli-runtime, `FlattenListVisitor`: what lists hold of lists is taken apart, too.
pub(super) fn split<'a>(file: &File<'a>, diagnostics: &mut Diagnostics) -> Split<'a> {
    let mut split = split_documents(file, diagnostics);
    if !split.pieces.iter().any(|piece| piece.list_in_list().is_some()) {
        return split;
    }
    let mut waiting = mem::take(&mut split.pieces);
    waiting.reverse();
    while let Some(piece) = waiting.pop() {
        let Some(header) = piece.list_in_list() else {
            split.pieces.push(piece);
            continue;
        };
        let mut inner = Split::default();
        let implied = implied(header.api_version(), header.item_kind().unwrap_or_default());
        split_whole_list(file, &piece, implied, &mut inner, diagnostics);
        split.unreadable.extend(inner.unreadable);
        if inner.list_count == 0 {
            split.pieces.extend(inner.pieces);
            continue;
        }
        split.list_count += inner.list_count;
        waiting.extend(inner.pieces.into_iter().rev());
    }
    split
}

fn split_documents<'a>(file: &File<'a>, diagnostics: &mut Diagnostics) -> Split<'a> {
    let mut split = Split::default();
    let first = file.text.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).bytes().next();
    // What begins like JSON may be YAML in flow style, as kubectl reads it, too.
    if matches!(first, Some(b'{' | b'[')) && (is_json(file.text) || !is_yaml(file.text)) {
        split_json(file, &mut split);
        return split;
    }
    for piece in yaml::documents(file.text) {
        let document = TextPiece { piece, syntax: Syntax::Yaml, implied: None, is_item: false };
        if document.is_sequence() {
            split_whole_list(file, &document, None, &mut split, diagnostics);
            continue;
        }
        let header = document.header();
        let Some(item_kind) = header.as_ref().ok().and_then(Header::item_kind) else {
            split.pieces.push(document);
            continue;
        };
        let api_version = header.map(|header| header.api_version()).unwrap_or_default();
        let implied = implied(api_version, item_kind);
        match yaml::list_items(&document.piece) {
            Some(items) => {
                split.list_count += 1;
                let items = items.into_iter();
                split.pieces.extend(items.map(|piece| TextPiece {
                    piece,
                    syntax: Syntax::Yaml,
                    implied,
                    is_item: true,
                }));
            }
            None => split_whole_list(file, &document, implied, &mut split, diagnostics),
        }
    }
    split
}

/// Whether a text is JSON values, one after the other.
fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    values.all(|value| value.is_ok())
}

/// Whether the first document of a text is YAML.
fn is_yaml(text: &str) -> bool {
    let documents = yaml::documents(text);
    documents.first().is_some_and(|document| {
        let text: &str = &document.text;
        let options = yaml::options_with_duplicates(text);
        serde_saphyr::from_str_with_options::<serde::de::IgnoredAny>(text, options).is_ok()
    })
}

fn implied(api_version: Symbol, item_kind: &str) -> Option<(Symbol, Symbol)> {
    let of_kind = || recognize::api_version_of(item_kind).map(Symbol::new);
    let api_version = Some(api_version).filter(|version| !version.is_empty()).or_else(of_kind).unwrap_or_default();
    (!item_kind.is_empty()).then(|| (api_version, Symbol::from(item_kind)))
}

/// Reads a list whose text cannot be cut (flow style, anchors, no object around it) into a tree and gives each item the
/// text of its tree. All items then stand where the list does.
fn split_whole_list<'a>(
    file: &File<'a>,
    document: &TextPiece<'a>,
    implied: Option<(Symbol, Symbol)>,
    split: &mut Split<'a>,
    diagnostics: &mut Diagnostics,
) {
    let text = &document.piece.text;
    let tree = match serde_saphyr::from_str_with_options::<Value>(text, yaml::options_with_duplicates(text)) {
        Ok(tree) => tree,
        Err(error) => {
            let error = read_error_of_yaml(&error);
            diagnostics.push(document.diagnose(file, &error));
            split.unreadable.push(document.first_line().0);
            return;
        }
    };
    let items = match tree {
        Value::Array(items) => items,
        Value::Object(mut fields) => match fields.remove("items") {
            Some(Value::Array(items)) => items,
            Some(Value::Null) => Vec::new(),
            // An object whose kind merely ends like a list's.
            None if fields.contains_key("spec") => return split.pieces.push(document.clone()),
            None => Vec::new(),
            Some(_) => {
                let location = document.location(file, None, document.first_line().0);
                diagnostics.push(
                    Diagnostic::error("manifest::wrong_value", "items: expected a list of objects")
                        .at(location, "this list"),
                );
                split.unreadable.push(document.first_line().0);
                return;
            }
        },
        _ => Vec::new(),
    };
    split.list_count += 1;
    split.pieces.extend(items.into_iter().map(|item| TextPiece {
        piece: Piece {
            text: item.to_string().into(),
            line_offset: document.first_line().0.saturating_sub(1) as usize,
            column_offset: 0,
        },
        syntax: Syntax::Json,
        implied,
        is_item: true,
    }));
}

/// Cuts JSON, which may be several values in a row, of which each may be a list of objects.
fn split_json<'a>(file: &File<'a>, split: &mut Split<'a>) {
    let mut counter = LineCounter { text: file.text, offset: 0, line_count: 0, column_count: 0 };
    let mut scan = JsonScan { bytes: file.text.as_bytes(), at: 0 };
    if file.text.starts_with('\u{feff}') {
        scan.at = '\u{feff}'.len_utf8();
    }
    while scan.peek().is_some() {
        let start = scan.at;
        scan.skip();
        if scan.at == start {
            // A stray closing bracket: leave it to the parser to complain.
            scan.at = file.text.len();
        }
        let text = &file.text[start..scan.at];
        if !split_json_list(&mut counter, start, text, split) {
            split.pieces.push(counter.piece(start, scan.at, None, false));
        }
    }
}

/// Cuts the items out of a list; `false` if the value is no list of objects.
fn split_json_list<'a>(counter: &mut LineCounter<'a>, start: usize, text: &'a str, split: &mut Split<'a>) -> bool {
    let mut scan = JsonScan { bytes: text.as_bytes(), at: 0 };
    let mut list = Header::default();
    let mut items = None;
    if scan.peek() == Some(b'[') {
        items = Some(0);
    } else {
        scan.at += 1;
        while scan.peek() == Some(b'"') {
            let name = scan.string();
            let Some(first) = scan.peek() else { break };
            match (name.as_deref(), first) {
                (Some("kind"), b'"') => list.kind = scan.string().map(Symbol::from),
                (Some("apiVersion"), b'"') => list.api_version = scan.string().map(Symbol::from),
                (Some("items"), b'[' | b'n') => {
                    items = Some(scan.at);
                    scan.skip();
                }
                _ => scan.skip(),
            }
        }
    }
    let is_list = list.kind.is_none() || list.item_kind().is_some();
    let Some(items) = items.filter(|_| is_list) else { return false };
    // Only what parses is cut, so that one error is reported once and where it is.
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_err() {
        return false;
    }
    split.list_count += 1;
    if text.as_bytes()[items] == b'n' {
        return true;
    }
    let implied = implied(list.api_version(), list.item_kind().unwrap_or_default());
    let mut scan = JsonScan { bytes: text.as_bytes(), at: items + 1 };
    while scan.peek().is_some_and(|byte| byte != b']') {
        let item = scan.at;
        scan.skip();
        split.pieces.push(counter.piece(start + item, start + scan.at, implied, true));
    }
    true
}

/// Counts lines and columns up to offsets that only grow, so that a dump is counted once, however long its lines are.
struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line_count: usize,
    column_count: usize,
}

impl<'a> LineCounter<'a> {
    fn piece(&mut self, start: usize, end: usize, implied: Option<(Symbol, Symbol)>, is_item: bool) -> TextPiece<'a> {
        let text = self.text;
        let passed = &text[self.offset..start];
        self.column_count = match passed.rfind('\n') {
            Some(newline) => passed[newline + 1..].chars().count(),
            None => self.column_count + passed.chars().count(),
        };
        self.line_count += passed.bytes().filter(|byte| *byte == b'\n').count();
        self.offset = start;
        let piece =
            Piece { text: text[start..end].into(), line_offset: self.line_count, column_offset: self.column_count };
        TextPiece { piece, syntax: Syntax::Json, implied, is_item }
    }
}
