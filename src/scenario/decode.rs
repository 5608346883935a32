//! From the tree to typed values, with every problem on the way.
//!
//! Deserialization stops at the first thing that is wrong. So the thing is reported, taken out of the tree and everything
//! read again, until nothing more is wrong or something is missing that cannot be done without; then that is left out as a
//! whole. One mistake gives one message, and no mistake hides another.

use std::cell::RefCell;

use serde::de::DeserializeOwned;

use super::deserializer::{Cursor, DecodeError, Problem, number, quoted};
use super::document::{Entry, Node, Value};
use crate::diagnostics::{Diagnostic, Diagnostics, Location, nearest};
use crate::model::field_path::FieldPath;

/// What people mean by signs that other languages have.
fn usual_slip(written: &str, expected: &[&'static str]) -> Option<&'static str> {
    let meant = match written {
        "=" | "===" | "eq" => "==",
        "=<" | "≤" | "le" => "<=",
        "=>" | "≥" | "ge" => ">=",
        "<>" | "=!" | "≠" | "ne" => "!=",
        "lt" => "<",
        "gt" => ">",
        _ => return None,
    };
    expected.iter().copied().find(|name| *name == meant)
}

/// What became of a tree.
#[derive(Debug)]
pub(crate) struct Decoded<T> {
    /// The value; what was wrong in it is left out. None if what remains is no such value.
    pub(crate) value: Option<T>,
    /// Fields of open types (Kubernetes' own) that decide nothing, in the order of the text.
    pub(crate) ignored: Vec<FieldPath>,
    /// Warnings about those of them that look like slips.
    pub(crate) near_misses: Vec<Diagnostic>,
}

/// Problems after which a document is given up.
const PROBLEMS_MAX: usize = 100;

/// Reads a tree as a type. What is found wrong is reported and taken out of the tree.
pub(crate) fn decode<T: DeserializeOwned>(root: &mut Node, diagnostics: &mut Diagnostics) -> Decoded<T> {
    for _ in 0..PROBLEMS_MAX {
        let mut ignored = Vec::new();
        let near_misses = RefCell::new(Vec::new());
        let cursor = Cursor { node: &*root, near_misses: &near_misses };
        let mut report = |path: serde_ignored::Path<'_>| ignored.push(FieldPath::from(&path));
        let mut report: &mut dyn FnMut(serde_ignored::Path<'_>) = &mut report;
        let result = T::deserialize(serde_ignored::Deserializer::new(cursor, &mut report));
        let error = match result {
            Ok(value) => return Decoded { value: Some(value), ignored, near_misses: near_misses.into_inner() },
            Err(error) => error,
        };
        let Some((culprit, location)) = error.culprit.clone() else {
            diagnostics.push(diagnostic(&error, root.location.clone(), root, std::ptr::from_ref(root)));
            break;
        };
        // A field that is missing because it was taken out has been reported already. So has what was taken out and is asked for nevertheless,
        // as the only word of a map is: what it stands in is taken out with it.
        let is_again = find(root, culprit).is_some_and(Node::is_removed);
        let culprit = if is_again { around(root, culprit).map_or(culprit, std::ptr::from_ref) } else { culprit };
        if !is_again && !is_consequence(root, culprit, &error) {
            diagnostics.push(diagnostic(&error, location, root, culprit));
        }
        if std::ptr::eq(culprit, root) || !remove(root, culprit) {
            break;
        }
    }
    Decoded { value: None, ignored: Vec::new(), near_misses: Vec::new() }
}

fn is_consequence(root: &Node, culprit: *const Node, error: &DecodeError) -> bool {
    find(root, culprit).is_some_and(|node| match (&error.problem, &node.value) {
        // It may be there under a name that is a slip of its own.
        (Problem::MissingField(field), _) => node.has_removed(field),
        // What a map or a list as a whole is said to lack may be what has been taken out of it.
        (Problem::Invalid(_), Value::Map(entries)) => entries.iter().any(|entry| entry.node.is_removed()),
        (Problem::Invalid(_), Value::List(items)) => items.iter().any(Node::is_removed),
        _ => false,
    })
}

fn find(node: &Node, wanted: *const Node) -> Option<&Node> {
    if std::ptr::eq(node, wanted) {
        return Some(node);
    }
    match &node.value {
        Value::List(items) => items.iter().find_map(|item| find(item, wanted)),
        Value::Map(entries) => entries.iter().find_map(|entry| find(&entry.node, wanted)),
        _ => None,
    }
}

/// The map or list that something stands in.
fn around(node: &Node, wanted: *const Node) -> Option<&Node> {
    let within = |inner: &'_ Node| std::ptr::eq(inner, wanted);
    match &node.value {
        Value::List(items) if items.iter().any(within) => Some(node),
        Value::List(items) => items.iter().find_map(|item| around(item, wanted)),
        Value::Map(entries) if entries.iter().any(|entry| within(&entry.node)) => Some(node),
        Value::Map(entries) => entries.iter().find_map(|entry| around(&entry.node, wanted)),
        _ => None,
    }
}

fn remove(node: &mut Node, culprit: *const Node) -> bool {
    if std::ptr::eq(node, culprit) {
        node.value = Value::Removed;
        return true;
    }
    match &mut node.value {
        Value::List(items) => items.iter_mut().any(|item| remove(item, culprit)),
        Value::Map(entries) => entries.iter_mut().any(|entry| remove(&mut entry.node, culprit)),
        _ => false,
    }
}

/// The key under which a value stands, for messages.
fn key_of(node: &Node, wanted: *const Node) -> Option<&Entry> {
    match &node.value {
        Value::List(items) => items.iter().find_map(|item| key_of(item, wanted)),
        Value::Map(entries) => entries.iter().find_map(|entry| {
            if std::ptr::eq(&raw const entry.node, wanted) { Some(entry) } else { key_of(&entry.node, wanted) }
        }),
        _ => None,
    }
}

fn diagnostic(error: &DecodeError, location: Location, root: &Node, culprit: *const Node) -> Diagnostic {
    let parent = || key_of(root, culprit);
    match &error.problem {
        Problem::UnknownField { field, expected } => {
            let diagnostic = Diagnostic::error("scenario::unknown_field", format!("`{field}` is not a field here"))
                .at(location, "unknown field");
            diagnostic.help(match nearest(field, expected.iter().copied()) {
                Some(name) => format!("the nearest field is `{name}`"),
                None if expected.is_empty() => "nothing can be written here".to_owned(),
                None => format!("the fields are {}", quoted(expected)),
            })
        }
        Problem::MissingField(field) => {
            let (message, location) = match parent() {
                Some(entry) => (format!("`{}` lacks `{field}`", entry.key), entry.key_location.clone()),
                None => (format!("`{field}` is missing"), location),
            };
            Diagnostic::error("scenario::missing_field", message).at(location, "").help(format!("add `{field}`"))
        }
        Problem::UnknownVariant { variant, expected } => {
            let place = parent().map_or_else(String::new, |entry| format!(" for `{}`", entry.key));
            let message = format!("`{variant}` is not a value{place}");
            let diagnostic = Diagnostic::error("scenario::unknown_value", message).at(location, "unknown");
            match usual_slip(variant, expected).or_else(|| nearest(variant, expected.iter().copied())) {
                Some(name) => diagnostic.help(format!("the nearest is `{name}`")),
                None => diagnostic.help(format!("the values are {}", quoted(expected))),
            }
        }
        Problem::Invalid(message) => {
            let label = parent().map_or_else(String::new, |entry| format!("the value of `{}`", entry.key));
            let diagnostic = Diagnostic::error("scenario::bad_value", message.clone()).at(location, label);
            if let Some(written) =
                parent().filter(|entry| &*entry.key == "selector").and_then(|entry| labels_in(&entry.node))
            {
                return diagnostic.help(format!("write `selector: {written}`, as kubectl has it"));
            }
            let names = parent().filter(|entry| &*entry.key == "nodes").and_then(|entry| names_in(&entry.node));
            match names {
                Some(names) => diagnostic
                    .help(format!("write `nodes: {{names: [{names}]}}`, or select by `zone`, `pool` or `selector`")),
                None => diagnostic,
            }
        }
    }
}

/// The labels of a map as a selector of kubectl has them; none if it says anything else.
fn labels_in(node: &Node) -> Option<String> {
    let Value::Map(entries) = &node.value else { return None };
    let label = |entry: &Entry| match &*entry.key {
        "matchLabels" => labels_in(&entry.node),
        key => entry.node.text().map(|value| format!("{key}={value}")),
    };
    let labels: Vec<String> = entries.iter().map(label).collect::<Option<_>>()?;
    let written = labels.join(",");
    // In braces a comma would end the value.
    (!labels.is_empty()).then(|| if labels.len() > 1 { format!("\"{written}\"") } else { written })
}

/// The words of a value that is a text or a list of texts, as where a map was wanted.
fn names_in(node: &Node) -> Option<String> {
    match &node.value {
        Value::List(items) => {
            let name = |item: &'_ Node| item.text().filter(|text| number(text).is_none()).map(str::to_owned);
            let names: Option<Vec<String>> = items.iter().map(name).collect();
            names.map(|names| names.join(", "))
        }
        _ => node.text().filter(|text| number(text).is_none()).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::scenario::document::parse_first;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Outer {
        name: String,
        list: Vec<Inner>,
        on: bool,
        share: f64,
        open: Open,
        by: Option<By>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum By {
        Count(u32),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        a: u32,
        #[serde(default)]
        kind: Option<Kind>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Kind {
        Crash,
        Partition,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Open {
        known: Option<i64>,
    }

    fn read(text: &str) -> (Decoded<Outer>, Vec<(u32, &'static str, String)>) {
        let mut root = parse_first(&"t".into(), text).unwrap().root;
        let mut diagnostics = Diagnostics::new();
        let decoded = decode(&mut root, &mut diagnostics);
        let problems = diagnostics.iter().map(|d| (d.location().unwrap().line, d.code, d.message.clone()));
        (decoded, problems.collect())
    }

    #[test]
    fn every_problem_is_reported_once() {
        let text = "\
name: 12
lst: []
list:
- {a: 1, b: 2}
- {a: x}
- {a: -1, kind: Crsh}
- {kind: Crash}
on: off
share: [1]
";
        let (decoded, problems) = read(text);
        let expected = [
            (2, "scenario::unknown_field", "`lst` is not a field here"),
            (4, "scenario::unknown_field", "`b` is not a field here"),
            (5, "scenario::bad_value", "expected a whole number from 0 to 4294967295, found the text `x`"),
            (6, "scenario::bad_value", "expected a whole number from 0 to 4294967295, found the number -1"),
            (6, "scenario::unknown_value", "`Crsh` is not a value for `kind`"),
            (7, "scenario::missing_field", "`a` is missing"),
            (9, "scenario::bad_value", "expected a number, found a list"),
        ];
        let mut problems: Vec<_> = problems.iter().map(|(line, code, text)| (*line, *code, text.as_str())).collect();
        problems.sort_by_key(|problem| problem.0);
        assert_eq!(problems, expected);
        let value = decoded.value.unwrap();
        assert_eq!(value.name, "12");
        assert_eq!(value.list, [Inner { a: 1, kind: None }]);
    }

    #[test]
    fn the_value_of_a_word_is_reported_once_and_the_word_goes_with_it() {
        let (decoded, problems) = read("by: {count: many}\nname: x\n");
        assert!(problems.len() == 1 && problems[0].2.contains("found the text `many`"), "{problems:?}");
        let value = decoded.value.unwrap();
        assert_eq!((value.by, value.name.as_str()), (None, "x"));
    }

    #[test]
    fn fields_of_open_types_are_listed() {
        let (decoded, problems) = read("open: {known: 3, other: {x: 1}}\n");
        assert!(problems.is_empty());
        assert_eq!(decoded.value.unwrap().open.known, Some(3));
        assert_eq!(decoded.ignored.iter().map(ToString::to_string).collect::<Vec<_>>(), ["open.other"]);
    }

    #[test]
    fn numbers_are_read_as_kubectl_reads_them() {
        let check = |text: &str, expected: Option<i64>| {
            let (decoded, _) = read(&format!("open: {{known: {text}}}\n"));
            assert_eq!(decoded.value.unwrap().open.known, expected, "{text}");
        };
        check("0644", Some(420));
        check("0x1f", Some(31));
        check("-5", Some(-5));
        check("0", Some(0));
        check("null", None);
        check("", None);
    }
}
