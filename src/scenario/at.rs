//! A cursor into a document: the place of a value that messages point at, step by step from the root.

use super::document::{Node, Value};
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Location};
use crate::model::field_path::{FieldPath, Step};

/// A value of a document. It need not be there: then messages point at the nearest value around it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct At<'a> {
    node: Option<&'a Node>,
    location: &'a Location,
}

impl<'a> At<'a> {
    /// The document as a whole.
    pub(crate) const fn root(root: &'a Node) -> Self {
        Self { node: Some(root), location: &root.location }
    }

    /// A field of the type that the value has been read as.
    ///
    /// # Panics
    ///
    /// With debug assertions, if that type has no such field.
    #[track_caller]
    pub(crate) fn field(self, name: &str) -> Self {
        let known = self.node.map_or(&[][..], Node::known_fields);
        debug_assert!(known.is_empty() || known.contains(&name), "no field `{name}` among {known:?}");
        self.key(name)
    }

    /// The value of a key that the user chooses, such as the name of a flag or of a resource.
    pub(crate) fn key(self, key: &str) -> Self {
        let Some(entry) = self.node.and_then(|node| node.entry(key)) else { return self.nowhere() };
        let is_part = matches!(entry.node.value, Value::Map(_) | Value::List(_));
        // Maps and lists are pointed at by their key.
        Self { node: Some(&entry.node), location: if is_part { &entry.key_location } else { &entry.node.location } }
    }

    /// An item of a list, counted from 0; those that have been taken out do not count.
    pub(crate) fn index(self, index: usize) -> Self {
        let item = self.node.and_then(|node| node.items().nth(index));
        item.map_or(self.nowhere(), |item| Self { node: Some(item), location: &item.location })
    }

    /// The value at the end of a path from here.
    pub(crate) fn path(self, path: &FieldPath) -> Self {
        path.steps().iter().fold(self, |at, step| match step {
            Step::Index(index) => at.index(*index),
            Step::Key(_) | Step::Field(_) => at.key(step.key().unwrap_or_default().as_str()),
        })
    }

    /// The value at the end of a path as `--set` writes it; here, if it is no path.
    pub(crate) fn written(self, path: &str) -> Self {
        parse_path(path).map_or(self, |path| self.path(&path))
    }

    /// Where the last name of a path as `--set` writes it stands; where the value does, if the path does not end with one.
    pub(crate) fn name_of(self, path: &str) -> Location {
        let named = || {
            let steps = parse_path(path).ok()?;
            let (last, outer) = steps.steps().split_last()?;
            let outer = self.path(&outer.iter().copied().collect());
            Some(outer.node?.entry(last.key()?.as_str())?.key_location.clone())
        };
        named().unwrap_or_else(|| self.written(path).location())
    }

    /// Where to point.
    pub(crate) fn location(self) -> Location {
        self.location.clone()
    }

    /// What stands there, if anything does.
    pub(crate) const fn node(self) -> Option<&'a Node> {
        self.node
    }

    /// The text that stands there, if that is one value.
    pub(crate) fn text(self) -> Option<&'a str> {
        self.node.and_then(Node::text)
    }

    /// Whether the value at the end of a path, or something in it, has been found wrong and taken out, so that it is less than was written.
    pub(crate) fn has_lost_of(self, path: &str) -> bool {
        let is_removed = || {
            let steps = parse_path(path).ok()?;
            let (last, outer) = steps.steps().split_last()?;
            let outer = self.path(&outer.iter().copied().collect());
            Some(outer.node?.has_removed(last.key()?.as_str()))
        };
        self.written(path).has_lost() || is_removed().unwrap_or(false)
    }

    /// Whether something in it has been found wrong and taken out, so that it is less than was written.
    pub(crate) fn has_lost(self) -> bool {
        fn is_less(node: &Node) -> bool {
            match &node.value {
                Value::Removed => true,
                Value::List(items) => items.iter().any(is_less),
                Value::Map(entries) => entries.iter().any(|entry| is_less(&entry.node)),
                Value::Scalar { .. } => false,
            }
        }
        self.node.is_some_and(is_less)
    }

    const fn nowhere(self) -> Self {
        Self { node: None, location: self.location }
    }
}

/// Says what must be true of a field; `base` and its `name` are what the field's path goes on from.
pub(super) fn refuse(base: At<'_>, name: &str, field: &str, rule: &str, label: &str, diagnostics: &mut Diagnostics) {
    let (at, name) = if field.is_empty() { (base, name) } else { (base.written(field), field) };
    let found = at.text().map_or_else(String::new, |value| format!(" is {value}; it"));
    let diagnostic = Diagnostic::error("scenario::bad_value", format!("`{name}`{found} must {rule}"));
    diagnostics.push(diagnostic.at(at.location(), label));
}

/// Steps of a path, at most: no document is so deep.
const STEPS_MAX: usize = 100;

/// Reads a path: names joined by dots, positions in brackets or as names of digits, names with dots quoted in brackets.
///
/// # Errors
///
/// What is wrong with it.
pub(crate) fn parse_path(text: &str) -> Result<FieldPath, String> {
    let mut steps = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if steps.len() >= STEPS_MAX {
            return Err(format!("it has more than {STEPS_MAX} steps"));
        }
        if let Some(inner) = rest.strip_prefix('[') {
            let (step, behind) = if let Some(quoted) = inner.strip_prefix('"') {
                let (key, behind) = quoted.split_once("\"]").ok_or("a quote and bracket are not closed")?;
                (Step::Key(Symbol::from(key)), behind)
            } else {
                let (index, behind) = inner.split_once(']').ok_or("a bracket is not closed")?;
                let index = index.parse().map_err(|_| format!("`{index}` is not a position"))?;
                (Step::Index(index), behind)
            };
            steps.push(step);
            rest = behind;
        } else {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let name = &rest[..end];
            if name.is_empty() {
                return Err("a name is missing".to_owned());
            }
            steps.push(match name.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Key(Symbol::from(name)),
            });
            rest = &rest[end..];
        }
        match rest.strip_prefix('.') {
            Some("") => return Err("a name is missing behind the last dot".to_owned()),
            Some(behind) => rest = behind,
            None if rest.is_empty() || rest.starts_with('[') => {}
            None => return Err(format!("expected `.` or `[` before `{rest}`")),
        }
    }
    if steps.is_empty() { Err("it is empty".to_owned()) } else { Ok(steps.into_iter().collect()) }
}

/// What is wrong with a value.
pub(super) fn bad_value(message: impl Into<String>, place: Location, label: &str, help: &str) -> Diagnostic {
    Diagnostic::error("scenario::bad_value", message).at(place, label).help(help.to_owned())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::scenario::decode::decode;
    use crate::scenario::document::parse_first;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "read for its fields")]
    struct Document {
        list_of: Vec<Item>,
        #[serde(default)]
        flags: std::collections::BTreeMap<String, String>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "read for its fields")]
    struct Item {
        a: u32,
    }

    const TEXT: &str = "listOf:\n- {a: 1}\n- {a: 22}\nflags: {one-two: x}\n";

    fn read() -> Node {
        let mut root = parse_first(&"t".into(), TEXT).unwrap().root;
        let decoded = decode::<Document>(&mut root, &mut Diagnostics::new());
        assert!(decoded.value.is_some());
        root
    }

    #[test]
    fn a_value_is_pointed_at_or_the_nearest_around_it() {
        let root = read();
        let check = |at: At<'_>, expected: (u32, u32, Option<&str>)| {
            let Location { line, column, .. } = at.location();
            assert_eq!((line, column, at.text()), expected);
        };
        let root = At::root(&root);
        check(root.field("listOf").index(1).field("a"), (3, 7, Some("22")));
        check(root.field("listOf"), (1, 1, None));
        check(root.field("listOf").index(1), (3, 3, None));
        check(root.field("listOf").index(2).field("a"), (1, 1, None));
        check(root.field("flags").key("one-two"), (4, 18, Some("x")));
        check(root.field("flags").key("three"), (4, 1, None));
        check(root.written("listOf[0].a"), (2, 7, Some("1")));
        check(root.written("flags[\"one-two\"]"), (4, 18, Some("x")));
    }

    #[test]
    #[should_panic(expected = "no field `listof`")]
    #[cfg(debug_assertions)]
    fn a_field_that_the_type_does_not_have_is_a_mistake_of_ours() {
        At::root(&read()).field("listof");
    }

    #[test]
    fn a_path_has_a_hundred_steps_at_most() {
        let path = |steps: usize| format!("a{}", "[0]".repeat(steps - 1));
        assert!(parse_path(&path(STEPS_MAX)).is_ok());
        assert_eq!(parse_path(&path(STEPS_MAX + 1)).expect_err("too long"), "it has more than 100 steps");
        assert!(parse_path(&"a.".repeat(1_000_000)).is_err());
    }
}
