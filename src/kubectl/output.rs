//! Objects as `-o json`, `yaml`, `jsonpath` and `custom-columns` print them, and `--sort-by`.
//!
//! # Source
//! cli-runtime, `printers`; kubectl get, `CustomColumnsPrinter` and `SortingPrinter`.

use std::cmp::Ordering;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::json_path::{Missing, Template, text_of};
use crate::model::yaml_text;
use crate::units::Quantity;

/// How objects are printed.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// `json`.
    Json,
    /// `yaml`.
    Yaml,
    /// `jsonpath=…`.
    JsonPath(Arc<str>, Template),
    /// `jsonpath-as-json=…`.
    JsonPathAsJson(Arc<str>, Template),
    /// `custom-columns=…`: headings and paths.
    Columns(Vec<(String, Template)>),
    /// One that is not simulated, such as `go-template`.
    Unknown(Arc<str>),
}

impl Format {
    /// Reads the value of `-o`; `template` is that of `--template`.
    ///
    /// # Errors
    /// What is wrong with it, in kubectl's words.
    pub(super) fn parse(text: &str, template: Option<&str>) -> Result<Self, String> {
        let (name, value) = text.split_once('=').map_or((text, template), |(name, value)| (name, Some(value)));
        let path =
            |text: &str| Template::parse(text).map_err(|problem| format!("error parsing jsonpath {text}, {problem}"));
        let given = || match value {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err("template format specified but no template given".to_owned()),
        };
        Ok(match name {
            "json" => Self::Json,
            "yaml" => Self::Yaml,
            "jsonpath" => Self::JsonPath(given()?.into(), path(given()?)?),
            "jsonpath-as-json" => Self::JsonPathAsJson(given()?.into(), path(given()?)?),
            "custom-columns" => Self::Columns(columns(value.unwrap_or_default())?),
            _ => Self::Unknown(name.into()),
        })
    }

    /// Whether kubectl knows such a format, although it is not simulated.
    pub(super) fn is_kubectls(&self) -> bool {
        const KNOWN: [&str; 7] = [
            "custom-columns-file",
            "go-template",
            "go-template-file",
            "jsonpath-file",
            "kyaml",
            "template",
            "templatefile",
        ];
        match self {
            Self::Unknown(name) => KNOWN.contains(&&**name),
            _ => true,
        }
    }

    /// The lines of one object, or of a list; none of a format that is not simulated.
    ///
    /// # Errors
    /// Why they cannot be printed.
    pub(super) fn lines(&self, value: &Value) -> Result<Vec<String>, String> {
        let text = match self {
            Self::Json => json_text(value),
            Self::Yaml => yaml_text::document(value),
            Self::JsonPath(text, template) => {
                template.print(value, Missing::Allowed).map_err(|problem| failed(text, &problem))?
            }
            Self::JsonPathAsJson(text, template) => {
                let found = template.find(value, Missing::Allowed).map_err(|problem| failed(text, &problem))?;
                json_text(&json!(found.concat()))
            }
            Self::Columns(_) | Self::Unknown(_) => return Ok(Vec::new()),
        };
        Ok(lines(&text))
    }
}

fn failed(text: &str, problem: &str) -> String {
    format!(
        "error executing jsonpath {text:?}: Error executing template: {problem}. Printing more information for debugging the template:"
    )
}

fn lines(text: &str) -> Vec<String> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() { Vec::new() } else { text.split('\n').map(str::to_owned).collect() }
}

fn json_text(value: &Value) -> String {
    let mut text = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut text, formatter);
    value.serialize(&mut writer).expect("a tree can be written");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// `NAME:.metadata.name,NODE:.spec.nodeName`.
fn columns(text: &str) -> Result<Vec<(String, Template)>, String> {
    if text.is_empty() {
        return Err("custom-columns format specified but no custom columns given".to_owned());
    }
    let column = |part: &str| {
        let unexpected = || format!("unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>");
        let (heading, path) = part.split_once(':').ok_or_else(unexpected)?;
        Ok((heading.to_owned(), Template::relaxed(path)?))
    };
    text.split(',').map(column).collect()
}

/// The cells of an object's row.
pub(super) fn row(columns: &[(String, Template)], value: &Value) -> Result<Vec<String>, String> {
    let cell = |(_, template): &(String, Template)| {
        let found = template.find(value, Missing::Allowed)?.concat();
        let texts: Vec<String> = found
            .into_iter()
            .map(|value| if value.is_null() { "<none>".to_owned() } else { cell_text(value) })
            .collect();
        Ok(if texts.is_empty() { "<none>".to_owned() } else { texts.join(",") })
    };
    columns.iter().map(cell).collect()
}

/// A value in a cell, as Go prints it.
fn cell_text(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => super::patch::go_text(value),
        other => text_of(other),
    }
}

/// Several objects as one.
pub(super) fn list(items: Vec<Value>) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items})
}

/// Puts objects in the order of `--sort-by`: what has no such field comes first.
///
/// # Errors
/// If no object has the field.
///
/// # Source
/// kubectl get, `RuntimeSort` and `isLess`.
pub(super) fn sort<T>(items: Vec<(T, Value)>, path: &Template, text: &str) -> Result<Vec<T>, String> {
    let key = |value: &Value| -> Result<Option<Value>, String> {
        Ok(path.find(value, Missing::Allowed)?.concat().first().map(|value| (*value).clone()))
    };
    let keyed = items.into_iter().map(|(item, value)| Ok((key(&value)?, item)));
    let mut keyed = keyed.collect::<Result<Vec<(Option<Value>, T)>, String>>()?;
    if !keyed.is_empty() && keyed.iter().all(|(key, _)| key.is_none()) {
        return Err(format!("couldn't find any field with path {text:?} in the list of objects"));
    }
    keyed.sort_by(|(a, _), (b, _)| match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    });
    Ok(keyed.into_iter().map(|(_, item)| item).collect())
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)),
        (Value::String(a), Value::String(b)) => match (a.parse::<Quantity>(), b.parse::<Quantity>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            _ => natural(a, b),
        },
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (a, b) => text_of(a).cmp(&text_of(b)),
    }
}

/// Runs of digits count as numbers: `web-2` comes before `web-10`.
fn natural(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.chars().peekable(), b.chars().peekable());
    loop {
        match (a.peek().copied(), b.peek().copied()) {
            (None, None) => return Ordering::Equal,
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let digits = |letters: &mut std::iter::Peekable<std::str::Chars<'_>>| -> String {
                    let run: String = std::iter::from_fn(|| letters.next_if(char::is_ascii_digit)).collect();
                    run.trim_start_matches('0').to_owned()
                };
                let (x, y) = (digits(&mut a), digits(&mut b));
                let order = x.len().cmp(&y.len()).then_with(|| x.cmp(&y));
                if order.is_ne() {
                    return order;
                }
            }
            (Some(x), Some(y)) if x != y => return x.cmp(&y),
            _ => {
                a.next();
                b.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_names_count() {
        assert_eq!(natural("web-2", "web-10"), Ordering::Less);
        assert_eq!(natural("web-10", "web-10"), Ordering::Equal);
        assert_eq!(natural("web-10", "web"), Ordering::Greater);
        assert_eq!(natural("a02b", "a2c"), Ordering::Less);
        assert_eq!(compare(&json!("500m"), &json!("2")), Ordering::Less);
        assert_eq!(compare(&json!(10), &json!(9)), Ordering::Greater);
    }

    #[test]
    fn objects_are_sorted_by_a_field_that_some_have() {
        let item = |name: &str, node: Option<&str>| match node {
            Some(node) => (name.to_owned(), json!({"spec": {"nodeName": node}})),
            None => (name.to_owned(), json!({"spec": {}})),
        };
        let items = || vec![item("a", Some("n-10")), item("b", Some("n-9")), item("c", None)];
        let sorted = |path: &str| Ok::<_, String>(sort(items(), &Template::relaxed(path)?, path)?.concat());
        assert_eq!(sorted(".spec.nodeName").as_deref(), Ok("cba"));
        let problem = "couldn't find any field with path \"{.x}\" in the list of objects";
        assert_eq!(sorted("{.x}"), Err(problem.to_owned()));
    }

    #[test]
    fn formats_are_read() {
        assert_eq!(Format::parse("json", None), Ok(Format::Json));
        assert!(matches!(Format::parse("jsonpath", Some("{.a}")), Ok(Format::JsonPath(..))));
        assert!(
            matches!(Format::parse("custom-columns=A:.b,C:d", None), Ok(Format::Columns(columns)) if columns.len() == 2)
        );
        let check = |text: &str, problem: &str| assert_eq!(Format::parse(text, None), Err(problem.to_owned()));
        check("jsonpath", "template format specified but no template given");
        check("jsonpath={.a", "error parsing jsonpath {.a, unclosed action");
        check("custom-columns=A", "unexpected custom-columns spec: A, expected <header>:<json-path-expr>");
        assert!(Format::parse("go-template={{.a}}", None).is_ok_and(|format| format.is_kubectls()));
        assert!(Format::parse("jsn", None).is_ok_and(|format| !format.is_kubectls()));
    }
}
