//! `--set PATH=VALUE`: values of the document, replaced from outside.

use std::fmt::Write as _;
use std::sync::Arc;

use super::DocumentKind;
use super::at::parse_path;
use super::document::{self, Entry, Node, Text, Value};
use super::limits::Limits;
use super::object_values;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Source};
use crate::model::ManifestObject;
use crate::model::field_path::Step;

/// Who has a document read, and is told in terms of what it can do about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// Somebody who can give flags.
    #[default]
    CommandLine,
    /// A program that has options.
    Program,
}

impl Caller {
    /// How messages name the values that replace others.
    #[must_use]
    pub const fn source_name(self) -> &'static str {
        match self {
            Self::CommandLine => "--set",
            Self::Program => "LoadOptions::set",
        }
    }

    /// How such a value is written.
    const fn how_to_set(self) -> &'static str {
        match self {
            Self::CommandLine => "write `--set path.to.field=value`, such as `--set spec.timeline[0].at=2m`",
            Self::Program => "write `path.to.field=value`, such as `spec.timeline[0].at=2m`",
        }
    }

    /// How to play a document of that kind.
    pub(super) fn how_to_play(self, kind: DocumentKind, file: &str) -> Option<String> {
        match (kind, self) {
            (DocumentKind::Manifest, _) => None,
            (DocumentKind::Scenario, Self::CommandLine) => Some(format!("play it with `kubesquall run {file}`")),
            (DocumentKind::Scenario, Self::Program) => Some("read it as a `Scenario`".to_owned()),
            (DocumentKind::Plan, Self::CommandLine) => Some(format!("work it out with `kubesquall plan {file}`")),
            (DocumentKind::Study, Self::CommandLine) => Some(format!(
                "play it with `kubesquall sweep {file}`, or `kubesquall tune {file}` for a recommendation"
            )),
            (DocumentKind::Plan, Self::Program) => Some("read it as a `Plan`".to_owned()),
            (DocumentKind::Study, Self::Program) => Some("read it as a `Study`".to_owned()),
        }
    }

    /// How to go on without what cannot be read.
    pub(super) const fn how_to_go_on(self) -> &'static str {
        match self {
            Self::CommandLine => "`--allow-partial` (or `allowPartial: true` under `spec.cluster`) goes on without it",
            Self::Program => {
                "the option `allow_partial` (or `allowPartial: true` under `spec.cluster`) goes on without it"
            }
        }
    }
}

/// Replacements for values of a document and of its objects, in the order in which they apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    assignments: Vec<Assignment>,
    caller: Caller,
    limits: Limits,
}

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Assignment {
    /// `path=value`, one line.
    text: String,
    /// Where path and value are written, if that is not the command line.
    written: Option<(Location, Location)>,
}

impl Overrides {
    /// No replacements.
    #[must_use]
    pub const fn none() -> Self {
        Self { assignments: Vec::new(), caller: Caller::CommandLine, limits: Limits::DEFAULT }
    }

    /// The same, of a program.
    #[must_use]
    pub(crate) fn for_program(self) -> Self {
        Self { caller: Caller::Program, ..self }
    }

    /// The same, of whoever takes clusters up to this size.
    #[must_use]
    pub(crate) fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// How large a cluster may be.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// Who has the document read.
    pub(super) fn caller(&self) -> Caller {
        self.caller
    }

    /// Adds one as the command line writes it: `spec.duration=1h`, `spec.timeline[0].at=2m`.
    pub fn push(&mut self, assignment: impl Into<String>) {
        // One line each, so that a place in the source tells which one is meant.
        self.assignments.push(Assignment { text: assignment.into().replace(['\n', '\r'], " "), written: None });
    }

    /// Adds one that another document asks for; what is wrong with it is said at the places of its path and its value.
    pub fn set_from(&mut self, path: &str, value: &str, path_at: Location, value_at: Location) {
        let text = format!("{path}={value}").replace(['\n', '\r'], " ");
        self.assignments.push(Assignment { text, written: Some((path_at, value_at)) });
    }

    /// Adds one by path and value.
    pub fn set(&mut self, path: &str, value: &str) {
        self.push(format!("{path}={value}"));
    }

    /// What goes on with a cluster of which something could not be read.
    #[must_use]
    pub fn allowing_partial(is_allowed: bool) -> Self {
        let mut overrides = Self::none();
        if is_allowed {
            overrides.set("spec.cluster.allowPartial", "true");
        }
        overrides
    }

    /// These, then others.
    #[must_use]
    pub(crate) fn and(&self, others: &Self) -> Self {
        let assignments = self.assignments.iter().chain(&others.assignments).cloned().collect();
        let is_program = self.caller == Caller::Program || others.caller == Caller::Program;
        let limits = match Limits::DEFAULT {
            default if self.limits == default => others.limits,
            _ => self.limits,
        };
        Self { assignments, caller: if is_program { Caller::Program } else { Caller::CommandLine }, limits }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.assignments.is_empty()
    }

    /// What messages quote.
    #[must_use]
    pub fn source(&self) -> Source {
        let mut text = String::new();
        for assignment in &self.assignments {
            let _ = writeln!(text, "{}", assignment.text);
        }
        Source::new(self.caller.source_name(), text)
    }

    /// Replaces values of objects, those whose paths begin with `objects["kind/namespace/name"]`.
    pub(super) fn apply_to_objects(&self, objects: &mut [ManifestObject], diagnostics: &mut Diagnostics) {
        let file: Arc<str> = self.caller.source_name().into();
        for (assignment, line) in self.assignments.iter().zip(1..) {
            if !object_values::is_of_object(&assignment.text) {
                continue;
            }
            let length = u32::try_from(assignment.text.chars().count()).unwrap_or(u32::MAX);
            let place = match &assignment.written {
                Some((path_at, _)) => path_at.clone(),
                None => Location::new(Arc::clone(&file), line, 1, length),
            };
            let equals = equals_sign(&assignment.text);
            let set = match equals {
                Some(equals) => object_values::set(objects, &assignment.text[..equals], &assignment.text[equals + 1..]),
                None => Err(object_values::Refusal::new(format!("`{}` is not an assignment", assignment.text), "")),
            };
            if let Err(refusal) = set {
                let help = if refusal.help.is_empty() { self.caller.how_to_set().to_owned() } else { refusal.help };
                let diagnostic = Diagnostic::error("scenario::bad_override", refusal.message);
                diagnostics.push(diagnostic.at(place, "").help(help));
            }
        }
    }

    /// Replaces values in the tree.
    pub(crate) fn apply(&self, root: &mut Node, diagnostics: &mut Diagnostics) {
        let file: Arc<str> = self.caller.source_name().into();
        for (index, assignment) in self.assignments.iter().enumerate() {
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            if object_values::is_of_object(&assignment.text) {
                continue;
            }
            if let Err(diagnostic) = apply_one((&file, self.caller), number, assignment, root) {
                diagnostics.push(*diagnostic);
            }
        }
    }
}

impl<T: Into<String>> FromIterator<T> for Overrides {
    fn from_iter<I: IntoIterator<Item = T>>(assignments: I) -> Self {
        let mut overrides = Self::none();
        for assignment in assignments {
            overrides.push(assignment);
        }
        overrides
    }
}

fn apply_one(
    (file, caller): (&Arc<str>, Caller),
    number: u32,
    Assignment { text: line, written }: &Assignment,
    root: &mut Node,
) -> Result<(), Box<Diagnostic>> {
    let length = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let in_line = |text: &str| Location::new(Arc::clone(file), number, 1, length(text));
    let whole = written.as_ref().map_or_else(|| in_line(line), |(path, _)| path.clone());
    let refuse = |message: String, location: Location, label: String| {
        let help = match written {
            None => caller.how_to_set(),
            Some(_) => "a path is that of a field in the scenario's document, such as `spec.timeline[0].at`",
        };
        Err(Box::new(Diagnostic::error("scenario::bad_override", message).at(location, label).help(help)))
    };
    let Some(equals) = equals_sign(line) else {
        return refuse(format!("`{line}` is not an assignment"), whole, "has no `=`".to_owned());
    };
    let (path_text, value_text) = (&line[..equals], &line[equals + 1..]);
    let path_location = written.as_ref().map_or_else(|| in_line(path_text), |(path, _)| path.clone());
    let path = match parse_path(path_text) {
        Ok(path) => path,
        Err(reason) => return refuse(format!("`{path_text}` is not a path"), path_location, reason),
    };
    let text = Text {
        file,
        text: value_text,
        line_offset: number as usize - 1,
        column_offset: length(path_text) as usize + 1,
    };
    let mut value = document::parse(&text)?;
    if let Some((_, value_at)) = written {
        value.move_to(value_at);
    } else if value.location.length == 0 {
        value.location = whole;
    }
    put(root, path.steps(), value, &path_location)
        .or_else(|reason| refuse(format!("`{path_text}` cannot be set"), path_location.clone(), reason))
}

/// The sign that ends the path; one inside quotes does not.
fn equals_sign(line: &str) -> Option<usize> {
    let mut is_quoted = false;
    line.char_indices().find_map(|(index, character)| {
        is_quoted ^= character == '"';
        (character == '=' && !is_quoted).then_some(index)
    })
}

fn put(node: &mut Node, steps: &[Step], value: Node, key_location: &Location) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *node = value;
        return Ok(());
    };
    if let Step::Index(index) = step {
        let Value::List(items) = &mut node.value else { return Err("there is no list".to_owned()) };
        let count = items.len();
        if *index == count {
            items.push(Node::empty_map(key_location.clone()));
        }
        let item = items.get_mut(*index).ok_or_else(|| format!("the list has {count} items, counted from 0"))?;
        return put(item, rest, value, key_location);
    }
    let key = step.key().unwrap_or_default();
    if node.is_null() {
        *node = Node::empty_map(key_location.clone());
    }
    let Value::Map(entries) = &mut node.value else { return Err(format!("there is no map that could have `{key}`")) };
    let position = entries.iter().position(|entry| &*entry.key == key.as_str()).unwrap_or_else(|| {
        let node = Node::empty_map(key_location.clone());
        entries.push(Entry { key: key.as_str().into(), key_location: key_location.clone(), node });
        entries.len() - 1
    });
    put(&mut entries[position].node, rest, value, key_location)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, assignment: &str) -> Result<Node, String> {
        let mut root = document::parse_first(&"t".into(), text).unwrap().root;
        let mut diagnostics = Diagnostics::new();
        Overrides::from_iter([assignment]).apply(&mut root, &mut diagnostics);
        match diagnostics.iter().next() {
            None => Ok(root),
            Some(diagnostic) => Err(format!("{}: {}", diagnostic.message, diagnostic.labels[0].text)),
        }
    }

    #[test]
    fn values_are_replaced_or_added() {
        #[track_caller]
        fn check(assignment: &str, path: &str, expected: &str) {
            let root = apply("a: {b: 1}\nl: [{x: 1}, {x: 2}]\nn:\n", assignment).unwrap();
            let found = crate::scenario::at::At::root(&root).path(&parse_path(path).unwrap()).node().unwrap();
            assert_eq!(found.text(), Some(expected), "{assignment}");
            assert_eq!(&*found.location.file, Caller::CommandLine.source_name());
        }
        check("a.b=5s", "a.b", "5s");
        check("a.c.d=x", "a.c.d", "x");
        check("l[1].x=7", "l[1].x", "7");
        check("l.0.x=7", "l[0].x", "7");
        check("l[2].x=7", "l[2].x", "7");
        check("n.new=7", "n.new", "7");
        check("a[\"x.y/z\"]={q: 2}", "a[\"x.y/z\"].q", "2");
        check("a.b=k=v", "a.b", "k=v");
    }

    #[test]
    fn what_cannot_be_set_is_said() {
        #[track_caller]
        fn check(assignment: &str, expected: &str) {
            assert_eq!(apply("a: {b: 1}\nl: [1]\n", assignment).unwrap_err(), expected);
        }
        check("a.b", "`a.b` is not an assignment: has no `=`");
        check("a..b=1", "`a..b` is not a path: a name is missing");
        check("a.b.c=1", "`a.b.c` cannot be set: there is no map that could have `c`");
        check("l[4]=1", "`l[4]` cannot be set: the list has 1 items, counted from 0");
        check("a[0]=1", "`a[0]` cannot be set: there is no list");
        check("l[=1", "`l[` is not a path: a bracket is not closed");
    }
}
