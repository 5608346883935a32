//! Finds where the values of some paths stand in the text of one document.
//!
//! Parsing into types keeps no positions; they are looked up afterwards, and only for documents that have something to
//! report.

use std::collections::BTreeMap;

use serde_saphyr::granit_parser::{Event, Parser, Span};

use crate::arena::Symbol;
use crate::model::field_path::{FieldPath, Step};

/// A place in a document's text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Lines before this one.
    pub line_index: usize,
    /// Characters before this one.
    pub column_index: usize,
    /// Where the value begins, which for maps and lists in block style is a later line.
    pub value: (usize, usize),
}

/// The paths to look for, as a tree.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Which of the paths end here.
    targets: Vec<usize>,
    fields: BTreeMap<&'static str, Wanted>,
    items: BTreeMap<usize, Wanted>,
}

impl Wanted {
    pub(super) fn new<'a>(paths: impl IntoIterator<Item = &'a FieldPath>) -> Self {
        let mut root = Self::default();
        for (target, path) in paths.into_iter().enumerate() {
            let mut node = &mut root;
            for step in path.steps() {
                node = match (*step, step.key()) {
                    (Step::Index(index), _) => node.items.entry(index).or_default(),
                    (_, key) => node.fields.entry(key.unwrap_or_default().as_str()).or_default(),
                };
            }
            node.targets.push(target);
        }
        root
    }

    fn hit(&self, place: Place, found: &mut [Option<Place>]) {
        for target in &self.targets {
            found[*target].get_or_insert(place);
        }
    }
}

/// Looks the paths up in YAML (or JSON, more slowly). A path that is not there, as below a merge key, stays `None`.
pub(super) fn in_yaml(text: &str, wanted: &Wanted, paths_count: usize) -> Vec<Option<Place>> {
    let mut found = vec![None; paths_count];
    let mut events = Parser::new_from_str(text).filter_map(Result::ok);
    while let Some((event, span)) = events.next() {
        if is_node(&event) {
            yaml_value(&mut events, (event, span), Some(wanted), None, &mut found);
            break;
        }
    }
    found
}

type YamlEvent<'a> = (Event<'a>, Span);

fn is_node(event: &Event<'_>) -> bool {
    matches!(event, Event::Scalar(..) | Event::SequenceStart(..) | Event::MappingStart(..) | Event::Alias(..))
}

fn yaml_place(span: &Span) -> (usize, usize) {
    (span.start.line().saturating_sub(1), span.start.col())
}

/// Walks over one value whose first event has been read; `key` is where its key or list item begins.
fn yaml_value<'a>(
    events: &mut impl Iterator<Item = YamlEvent<'a>>,
    (event, span): YamlEvent<'a>,
    wanted: Option<&Wanted>,
    key: Option<(usize, usize)>,
    found: &mut [Option<Place>],
) {
    let value = yaml_place(&span);
    if let Some(wanted) = wanted {
        let (line_index, column_index) = key.unwrap_or(value);
        wanted.hit(Place { line_index, column_index, value }, found);
    }
    match event {
        Event::MappingStart(..) => {
            while let Some((event, span)) = events.next() {
                if matches!(event, Event::MappingEnd) {
                    return;
                }
                if !is_node(&event) {
                    continue;
                }
                let key = yaml_place(&span);
                let below = match &event {
                    Event::Scalar(text, ..) => wanted.and_then(|wanted| wanted.fields.get(text.as_ref())),
                    _ => None,
                };
                if !matches!(event, Event::Scalar(..) | Event::Alias(..)) {
                    yaml_value(events, (event, span), None, None, found);
                }
                if let Some(value) = events.next() {
                    yaml_value(events, value, below, Some(key), found);
                }
            }
        }
        Event::SequenceStart(..) => {
            let mut index = 0;
            while let Some((event, span)) = events.next() {
                if matches!(event, Event::SequenceEnd) {
                    return;
                }
                if is_node(&event) {
                    let below = wanted.and_then(|wanted| wanted.items.get(&index));
                    yaml_value(events, (event, span), below, None, found);
                    index += 1;
                }
            }
        }
        _ => {}
    }
}

/// The path of the value that stands at a place, or of the last one before it.
pub(super) fn path_at(text: &str, line_index: usize, column_index: usize) -> FieldPath {
    let mut walk = PathWalk { until: (line_index, column_index), steps: Vec::new(), best: Vec::new() };
    let mut events = Parser::new_from_str(text).map_while(Result::ok);
    while let Some((event, span)) = events.next() {
        if is_node(&event) {
            walk.value(&mut events, &event, &span);
            break;
        }
    }
    walk.best.into_iter().collect()
}

struct PathWalk {
    until: (usize, usize),
    steps: Vec<Step>,
    best: Vec<Step>,
}

impl PathWalk {
    /// Walks over one value; `false` once the place has been passed.
    fn value<'a>(&mut self, events: &mut impl Iterator<Item = YamlEvent<'a>>, event: &Event<'a>, span: &Span) -> bool {
        if yaml_place(span) > self.until {
            return false;
        }
        self.best.clone_from(&self.steps);
        match event {
            Event::MappingStart(..) => {
                while let Some((event, span)) = events.next() {
                    if matches!(event, Event::MappingEnd) {
                        return true;
                    }
                    if !is_node(&event) {
                        continue;
                    }
                    if yaml_place(&span) > self.until {
                        return false;
                    }
                    let name = match &event {
                        Event::Scalar(text, ..) => Symbol::from(text.as_ref()),
                        _ => Symbol::default(),
                    };
                    self.steps.push(Step::Key(name));
                    self.best.clone_from(&self.steps);
                    let goes_on = events.next().is_none_or(|(event, span)| self.value(events, &event, &span));
                    self.steps.pop();
                    if !goes_on {
                        return false;
                    }
                }
                true
            }
            Event::SequenceStart(..) => {
                let mut index = 0;
                while let Some((event, span)) = events.next() {
                    if matches!(event, Event::SequenceEnd) {
                        return true;
                    }
                    self.steps.push(Step::Index(index));
                    let goes_on = self.value(events, &event, &span);
                    self.steps.pop();
                    if !goes_on {
                        return false;
                    }
                    index += 1;
                }
                true
            }
            _ => true,
        }
    }
}

/// The path of the value at a byte of JSON that a parser has got to: of the list or map that ends there, or of the last value that has
/// begun before.
pub(super) fn path_in_json(text: &str, byte: usize) -> FieldPath {
    let mut scan = JsonScan { bytes: text.as_bytes(), at: 0 };
    let mut steps = Vec::new();
    let mut best = Vec::new();
    scan.path(byte, &mut steps, &mut best);
    best.into_iter().collect()
}

/// Looks the paths up in JSON.
pub(super) fn in_json(text: &str, wanted: &Wanted, paths_count: usize) -> Vec<Option<Place>> {
    let mut offsets = vec![None; paths_count];
    let mut scan = JsonScan { bytes: text.as_bytes(), at: 0 };
    scan.value(Some(wanted), None, &mut offsets);
    let mut places = vec![None; paths_count];
    for (place, offset) in places.iter_mut().zip(offsets) {
        *place = offset.map(|(key, value)| {
            let (line_index, column_index) = position(text, key);
            Place { line_index, column_index, value: position(text, value) }
        });
    }
    places
}

/// Lines and characters before a byte.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.bytes().filter(|byte| *byte == b'\n').count(), before[line_start..].chars().count())
}

/// Walks over JSON that a real parser has accepted, so it need not complain.
pub(super) struct JsonScan<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
}

/// Byte offsets of a key (or list item) and of its value.
type Offsets = (usize, usize);

impl JsonScan<'_> {
    pub(super) fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).is_some_and(|byte| byte.is_ascii_whitespace() || b",:".contains(byte)) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn value(&mut self, wanted: Option<&Wanted>, key: Option<usize>, found: &mut [Option<Offsets>]) {
        let Some(first) = self.peek() else { return };
        let Some(wanted) = wanted else { return self.skip() };
        for target in &wanted.targets {
            found[*target].get_or_insert((key.unwrap_or(self.at), self.at));
        }
        match first {
            b'{' => {
                self.at += 1;
                while self.peek().is_some_and(|byte| byte == b'"') {
                    let key = self.at;
                    let name = self.string();
                    let below = name.and_then(|name| wanted.fields.get(name.as_str()));
                    self.value(below, Some(key), found);
                }
                self.at += 1;
            }
            b'[' => {
                self.at += 1;
                let mut index = 0;
                while self.peek().is_some_and(|byte| byte != b']') {
                    self.value(wanted.items.get(&index), None, found);
                    index += 1;
                }
                self.at += 1;
            }
            _ => self.skip(),
        }
    }

    /// Walks over one value; `false` once the place has been passed.
    fn path(&mut self, until: usize, steps: &mut Vec<Step>, best: &mut Vec<Step>) -> bool {
        let Some(first) = self.peek().filter(|_| self.at <= until) else { return false };
        best.clone_from(steps);
        if !matches!(first, b'{' | b'[') {
            self.skip();
            return true;
        }
        self.at += 1;
        let mut index = 0;
        while self.peek().is_some_and(|byte| !matches!(byte, b'}' | b']')) {
            if self.at > until {
                return false;
            }
            let step = match first {
                b'{' => Step::Key(Symbol::from(self.string().unwrap_or_default().as_str())),
                _ => Step::Index(index),
            };
            index += 1;
            steps.push(step);
            best.clone_from(steps);
            let goes_on = self.path(until, steps, best);
            steps.pop();
            if !goes_on {
                return false;
            }
        }
        if self.at <= until {
            best.clone_from(steps);
        }
        self.at += 1;
        true
    }

    /// Reads the string that begins here.
    pub(super) fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.skip_string();
        let text = std::str::from_utf8(self.bytes.get(start..self.at)?).ok()?;
        serde_json::from_str(text).ok()
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.bytes.get(self.at) {
            self.at += match byte {
                b'\\' => 2,
                b'"' => break,
                _ => 1,
            };
        }
        self.at = (self.at + 1).min(self.bytes.len());
    }

    /// Goes behind the value that begins here.
    pub(super) fn skip(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                _ => {
                    while self
                        .bytes
                        .get(self.at)
                        .is_some_and(|byte| !byte.is_ascii_whitespace() && !b",:{}[]\"".contains(byte))
                    {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> FieldPath {
        let steps = text.split('.').map(|step| match step.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(Symbol::from(step)),
        });
        steps.collect()
    }

    const YAML: &str = "\
kind: Pod
spec:
  containers:
  - name: a
    env:
    - {name: x, value: y}
  - name: b
    args: [one,
      two]
  volumes: []
";

    #[test]
    fn paths_are_found_in_yaml() {
        #[track_caller]
        fn check(text: &str, expected: Option<(usize, usize)>) {
            let path = path(text);
            let found = in_yaml(YAML, &Wanted::new([&path]), 1)[0];
            assert_eq!(found.map(|place| (place.line_index + 1, place.column_index + 1)), expected, "{text}");
        }
        check("kind", Some((1, 1)));
        check("spec.containers", Some((3, 3)));
        check("spec.containers.0.env", Some((5, 5)));
        check("spec.containers.0.env.0.value", Some((6, 17)));
        check("spec.containers.1.args", Some((8, 5)));
        check("spec.containers.1.args.1", Some((9, 7)));
        check("spec.volumes", Some((10, 3)));
        check("spec.nothing", None);
    }

    #[test]
    fn paths_are_found_in_json() {
        #[track_caller]
        fn check(text: &str, expected: Option<(usize, usize)>) {
            let json = "{\"kind\": \"Pod\",\n \"spec\": {\"a\\\"]\": [1, {\"x\": 2}],\n  \"b\": {\"c\": null}}}";
            let path = path(text);
            let found = in_json(json, &Wanted::new([&path]), 1)[0];
            assert_eq!(found.map(|place| (place.line_index + 1, place.column_index + 1)), expected, "{text}");
        }
        check("kind", Some((1, 2)));
        check("spec.a\"].1.x", Some((2, 24)));
        check("spec.b.c", Some((3, 9)));
        check("spec.b.d", None);
    }

    #[test]
    fn the_path_of_what_a_parser_has_got_to_is_found() {
        #[track_caller]
        fn check(until: &str, expected: &str) {
            let json = r#"{"a":[1,{"b":"x","c":[]}],"d":{"e":true}}"#;
            let end = json.find(until).expect(until) + until.len() - 1;
            assert_eq!(path_in_json(json, end).to_string(), expected, "{until}");
        }
        check("[1", "a[0]");
        check(r#""x""#, "a[1].b");
        check("[]", "a[1].c");
        check("[]}", "a[1]");
        check("[]}]", "a");
        check("true", "d.e");
        check("true}", "d");
        check("true}}", "");
    }

    #[test]
    fn the_path_of_a_place_is_found() {
        #[track_caller]
        fn check(line: usize, column: usize, expected: &str) {
            assert_eq!(path_at(YAML, line - 1, column - 1).to_string(), expected);
        }
        check(1, 7, "kind");
        check(4, 11, "spec.containers[0].name");
        check(6, 23, "spec.containers[0].env[0].value");
        check(9, 7, "spec.containers[1].args[1]");
    }
}
