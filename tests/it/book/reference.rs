//! The fields of the documents that users write, made from the schemas that editors are given.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

use super::anchor;
use crate::{binary, expected, figures::with_part};

/// The kinds of documents, and how the headings of one are told from those of scenarios.
const KINDS: [(&str, &str, &str); 4] = [
    ("scenario", "Scenario", ""),
    ("study", "Study", " of a study"),
    ("plan", "Plan", " of a plan"),
    ("catalog", "Catalogue of a forecast", " of a catalogue"),
];

/// More words than this stand in a table of their own.
const WORDS_IN_A_CELL_MAX: usize = 6;

const A_WORD_BELOW: &str = "a word, below";

fn schema(kind: &str) -> Value {
    let said = binary::kubesquall(Path::new(env!("CARGO_MANIFEST_DIR")), &format!("schema {kind}"), "");
    serde_json::from_str(&said.stdout).expect("JSON")
}

/// What a description says to users: without what it says to readers of the code.
fn told(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    let text = text.split("\n\n").next().unwrap_or_default().replace('\n', " ").replace('|', "\\|");
    // Descriptions are also shown in the document on scenarios, and link to places of it.
    text.trim().trim_end_matches('.').replace("](#", "](scenario.md#")
}

fn fields(schema: &Value) -> Option<&Map<String, Value>> {
    schema["properties"].as_object().filter(|fields| !fields.is_empty())
}

/// Flags of a component: a document of their own has those that do something.
fn is_flags(schema: &Value) -> bool {
    fields(schema).is_some_and(|fields| fields.values().any(|field| field["description"] == "has no effect here"))
}

/// The words of a choice, with what each means, if that is said.
fn words(schema: &Value) -> Option<Vec<(String, String)>> {
    let code = |word: &Value| word.as_str().map(|word| format!("`{word}`"));
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter(|word| !word.is_null() && *word != "");
        return words.map(|word| Some((code(word)?, String::new()))).collect();
    }
    schema["oneOf"].as_array()?.iter().map(|word| Some((code(&word["const"])?, told(word)))).collect()
}

/// `NodeTarget` as words.
fn spoken(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.extend(letter.to_lowercase());
    }
    text
}

/// How often each definition is used.
fn count_uses<'a>(schema: &'a Value, counts: &mut BTreeMap<&'a str, usize>) {
    match schema {
        Value::Object(inner) => {
            if let Some(name) = inner.get("$ref").and_then(Value::as_str) {
                *counts.entry(name).or_default() += 1;
            }
            inner.values().for_each(|inner| count_uses(inner, counts));
        }
        Value::Array(items) => items.iter().for_each(|item| count_uses(item, counts)),
        _ => {}
    }
}

/// What is told of all kinds together.
#[derive(Default)]
struct Pages {
    /// Where a definition is told, by its name and content: documents of two kinds have some in common.
    places: BTreeMap<(String, String), String>,
    /// What stands at several places, by its heading.
    shared: BTreeMap<String, String>,
}

/// One kind of document, while its fields are told.
struct Teller<'a> {
    definitions: &'a Value,
    counts: BTreeMap<&'a str, usize>,
    suffix: &'static str,
    pages: &'a mut Pages,
    /// What is left to be told: heading and schema.
    waiting: Vec<(String, &'a Value)>,
}

impl<'a> Teller<'a> {
    /// The definition that a reference means, with its name; of one that is another's name, the other.
    fn definition(&self, schema: &'a Value) -> Option<(&'a str, &'a Value)> {
        let name = schema["$ref"].as_str()?.strip_prefix("#/$defs/").expect("a definition of the schema");
        let definition = &self.definitions[name];
        Some(self.definition(definition).unwrap_or((name, definition)))
    }

    /// A schema without `or null`.
    fn present(schema: &'a Value) -> &'a Value {
        let some =
            schema["anyOf"].as_array().map(|any| any.iter().filter(|one| one["type"] != "null").collect::<Vec<_>>());
        match some.as_deref() {
            Some([only]) => only,
            _ => schema,
        }
    }

    /// A link to where a map is told, which is made to be told if nothing has named it yet.
    fn place(&mut self, path: &str, definition: Option<&str>, schema: &'a Value) -> String {
        let key = definition.map(|name| (name.to_owned(), schema.to_string()));
        if let Some(place) = key.as_ref().and_then(|key| self.pages.places.get(key)) {
            return place.clone();
        }
        let uses = definition.and_then(|name| self.counts.get(format!("#/$defs/{name}").as_str())).copied();
        let heading = match definition {
            Some(name) if uses.unwrap_or(1) > 1 || fields(schema).is_none() => spoken(name),
            _ => format!("`{path}`{}", self.suffix),
        };
        let place = anchor(&heading);
        if let Some(key) = key {
            self.pages.places.insert(key, place.clone());
        }
        self.waiting.push((heading, schema));
        place
    }

    /// What a field holds.
    fn holds(&mut self, path: &str, schema: &'a Value) -> String {
        let schema = Self::present(schema);
        if let Some((name, definition)) = self.definition(schema) {
            return match words(definition) {
                Some(words) => listed(&words),
                None if fields(definition).is_some() => format!("[map](#{})", self.place(path, Some(name), definition)),
                None if definition["anyOf"].is_array() => {
                    format!("[{}](#{})", spoken(name), self.place(path, Some(name), definition))
                }
                None => self.plain(path, definition),
            };
        }
        self.plain(path, schema)
    }

    /// What a field without a definition of its own holds.
    fn plain(&mut self, path: &str, schema: &'a Value) -> String {
        if is_flags(schema) {
            return "[flags](flags.md)".to_owned();
        }
        if let Some(words) = words(schema) {
            return self.one_of(path, &words);
        }
        if let Some(only) = schema["const"].as_str() {
            return format!("`{only}`");
        }
        if let Some(inner) = schema.get("items") {
            return format!("list: {}", self.holds(&format!("{path}[]"), inner));
        }
        if fields(schema).is_some() {
            return format!("[map](#{})", self.place(path, None, schema));
        }
        if let Some(inner) = schema.get("additionalProperties").filter(|inner| inner.is_object()) {
            return format!("map of names: {}", self.holds(&format!("{path}.*"), inner));
        }
        let types: Vec<&str> = match &schema["type"] {
            Value::Array(types) => types.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect(),
            one => one.as_str().into_iter().collect(),
        };
        match types[..] {
            ["string", ..] => "text".to_owned(),
            ["integer"] => whole_number(schema),
            ["number"] => "number".to_owned(),
            ["boolean"] => "`true`, `false`".to_owned(),
            ["object"] => "map".to_owned(),
            [] if schema["anyOf"].is_array() => {
                let any = schema["anyOf"].as_array().into_iter().flatten();
                any.map(|one| self.holds(path, one)).collect::<Vec<_>>().join(" or ")
            }
            [] => "anything".to_owned(),
            _ => panic!("{path}: {schema}"),
        }
    }

    /// Words to choose from; many stand in a table below the first map that has them.
    fn one_of(&mut self, path: &str, words: &[(String, String)]) -> String {
        if words.len() <= WORDS_IN_A_CELL_MAX {
            return listed(words);
        }
        let map = path.rsplit_once('.').map_or(path, |(map, _)| map);
        let here = anchor(&format!("`{map}`{}", self.suffix));
        let first = self.pages.places.entry(("a word".to_owned(), listed(words))).or_insert_with(|| here.clone());
        if *first == here { A_WORD_BELOW.to_owned() } else { format!("a word, [as there](#{first})") }
    }

    /// What a field means.
    fn meaning(&self, schema: &'a Value) -> String {
        let inner = Self::present(schema);
        let definition = self.definition(inner).map(|(_, definition)| definition);
        let mut text = told(schema);
        if text.is_empty() && !definition.is_some_and(|definition| definition["anyOf"].is_array()) {
            text = definition.map(told).unwrap_or_default();
        }
        if let Some(default) = schema.get("default").filter(|default| !default.is_object()) {
            let default = default.as_str().map_or_else(|| default.to_string(), str::to_owned);
            text.push_str(&format!("; `{default}` if not said"));
        }
        let words = definition.and_then(words).or_else(|| words(inner)).unwrap_or_default();
        if words.len() <= WORDS_IN_A_CELL_MAX {
            for (word, meaning) in words.iter().filter(|(word, meaning)| !word.contains(meaning.as_str())) {
                text.push_str(&format!(". {word}: {meaning}"));
            }
        }
        text
    }

    /// The fields of a map as a table.
    fn table(&mut self, heading: &str, path: &str, schema: &'a Value) -> String {
        let mut text = format!("### {heading}\n\n");
        let about = told(schema);
        if !about.is_empty() {
            text.push_str(&format!("{}.\n\n", capital(&about)));
        }
        let branches = schema["anyOf"].as_array().map(Vec::as_slice).unwrap_or_default();
        let told_branches: Vec<_> =
            branches.iter().filter(|branch| fields(branch).is_none() && !told(branch).is_empty()).collect();
        for branch in &told_branches {
            text.push_str(&format!("- {}: {}\n", self.plain(path, branch), told(branch)));
        }
        let Some(fields) = fields(schema).or_else(|| branches.iter().find_map(fields)) else { return text };
        if !told_branches.is_empty() {
            text.push_str("- a map:\n\n");
        }
        let needed: BTreeSet<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        text.push_str("| field | holds | meaning |\n|---|---|---|\n");
        let mut below = String::new();
        for (name, field) in fields {
            let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let shown = if needed.contains(name.as_str()) { format!("**`{name}`**") } else { format!("`{name}`") };
            let holds = self.holds(&inner, field);
            text.push_str(&format!("| {shown} | {holds} | {} |\n", self.meaning(field)));
            if holds == A_WORD_BELOW {
                below.push_str(&format!("\n| `{name}` | |\n|---|---|\n"));
                let words = words(Self::present(field)).unwrap_or_default();
                words.iter().for_each(|(word, meaning)| below.push_str(&format!("| {word} | {meaning} |\n")));
            }
        }
        format!("{text}{below}\n")
    }

    /// A map and all below it, in the order of the fields.
    fn tell(&mut self, heading: &str, path: &str, schema: &'a Value) -> String {
        let mut text = self.table(heading, path, schema);
        for (heading, schema) in std::mem::take(&mut self.waiting) {
            // What has no path of its own is told once, behind all documents.
            let inner =
                heading.strip_prefix('`').and_then(|heading| heading.split_once('`')).map(|(path, _)| path.to_owned());
            match inner {
                Some(path) => text.push_str(&self.tell(&heading, &path, schema)),
                None => {
                    let table = self.tell(&capital(&heading), &heading.replace(' ', "-"), schema);
                    self.pages.shared.insert(heading, table);
                }
            }
        }
        text
    }
}

fn listed(words: &[(String, String)]) -> String {
    let words: Vec<&str> = words.iter().map(|(word, _)| word.as_str()).collect();
    words.join(", ")
}

fn whole_number(schema: &Value) -> String {
    let (low, high) = (schema["minimum"].as_i64(), schema["maximum"].as_u64());
    match (low, high) {
        (Some(low), Some(high)) if high < u64::from(i32::MAX.unsigned_abs()) => {
            format!("whole number, {low} to {high}")
        }
        (Some(0), _) => "whole number".to_owned(),
        (Some(low), _) if low > 0 => format!("whole number from {low} up"),
        _ => "whole number".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[test]
fn the_fields_of_the_docs_are_those_of_the_code() {
    let mut pages = Pages::default();
    let mut text = String::new();
    for (kind, title, suffix) in KINDS {
        let schema = schema(kind);
        let mut counts = BTreeMap::new();
        count_uses(&schema, &mut counts);
        let mut teller =
            Teller { definitions: &schema["$defs"], counts, suffix, pages: &mut pages, waiting: Vec::new() };
        let told = teller.tell(title, "", &schema);
        text.push_str(told.strip_prefix('#').expect("a heading, of a higher rank"));
    }
    text.push_str("## What stands in several places\n\n");
    pages.shared.values().for_each(|table| text.push_str(table));
    let path = Path::new("docs/reference.md");
    let page = fs::read_to_string(path).expect("the page");
    assert_eq!(expected::difference(path, &with_part(&page, "fields", text.trim_end())), None);
}
