//! JSON Schemas of documents, for editors: what the types say, in the forms that documents may have.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::schema::{API_VERSION, Amount, ScenarioDocument, Share};
use crate::chaos::FaultSpec;
use crate::units::Days;

/// Of a scenario.
pub(crate) fn of_scenario() -> Value {
    of_document::<ScenarioDocument>("Scenario", "a scenario: a cluster, and what happens to it")
}

/// Of a fault, as `fault:` of a timeline has it.
pub(crate) fn of_fault() -> Value {
    of_part::<FaultSpec>("Fault", "something that goes wrong, as `fault:` of a timeline has it")
}

/// Of a document that has a version and a kind.
pub(crate) fn of_document<T: JsonSchema>(kind: &str, about: &str) -> Value {
    let mut schema = of_part::<T>(kind, about);
    let properties = &mut schema["properties"];
    properties["apiVersion"] = json!({"const": API_VERSION, "description": "the version of the document"});
    properties["kind"] = json!({"const": kind, "description": "what the document is"});
    schema
}

/// Of a document that has neither.
pub(crate) fn of_part<T: JsonSchema>(title: &str, about: &str) -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    accept_what_is_read(&mut schema);
    schema["title"] = json!(title);
    schema["description"] = json!(about);
    schema
}

/// What the reader of documents takes besides what types say: any word for a text, and nothing for a list or for a map in which nothing has
/// to stand.
fn accept_what_is_read(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else { return };
    widen_type(fields);
    bound(fields);
    // What is empty says nothing that its absence would not.
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(_) => true,
        _ => false,
    };
    if fields.get("default").is_some_and(is_empty) {
        fields.remove("default");
    }
    for (keyword, value) in fields.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties" | "patternProperties" | "$defs", Value::Object(named)) => {
                named.values_mut().for_each(accept_what_is_read);
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(ways)) => ways.iter_mut().for_each(accept_what_is_read),
            ("items" | "additionalProperties" | "propertyNames" | "if" | "then" | "else", inner) => {
                accept_what_is_read(inner);
            }
            _ => {}
        }
    }
}

fn widen_type(fields: &mut Map<String, Value>) {
    let types: Vec<String> = match fields.get("type") {
        Some(Value::String(one)) => vec![one.clone()],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => return,
    };
    let is_closed = ["enum", "const", "pattern"].iter().any(|keyword| fields.contains_key(*keyword));
    let needs_something = fields.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
        || fields.contains_key("minProperties");
    let mut wide = types.clone();
    for found in &types {
        match found.as_str() {
            "string" if !is_closed => wide.extend(["number".to_owned(), "boolean".to_owned()]),
            "array" => wide.push("null".to_owned()),
            "object" if !needs_something => wide.push("null".to_owned()),
            _ => {}
        }
    }
    let mut seen: Vec<String> = Vec::new();
    for word in wide {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    let value = if let [one] = seen.as_slice() { json!(one) } else { json!(seen) };
    fields.insert("type".to_owned(), value);
}

/// Formats of numbers that editors do not know, as bounds.
fn bound(fields: &mut Map<String, Value>) {
    let bounds = match fields.remove("format").as_ref().and_then(Value::as_str) {
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("uint32") => (json!(0), json!(u32::MAX)),
        Some("uint64" | "uint") => (json!(0), json!(u64::MAX)),
        _ => return,
    };
    fields.insert("minimum".to_owned(), bounds.0);
    fields.insert("maximum".to_owned(), bounds.1);
}

/// An entry of the timeline: an instant, and one of these actions.
pub(super) fn of_entry(generator: &mut SchemaGenerator, actions: Vec<(&str, &str, Schema)>) -> Schema {
    let mut properties = Map::new();
    let described = |schema: Schema, about: &str| {
        let mut schema = schema.to_value();
        schema["description"] = json!(about);
        schema
    };
    properties
        .insert("at".to_owned(), described(generator.subschema_for::<Days>(), "when, from the beginning of the run"));
    for (field, about, schema) in actions {
        properties.insert(field.to_owned(), described(schema, about));
    }
    json_schema!({
        "description": "something that happens at an instant: one action",
        "type": "object",
        "properties": properties,
        "required": ["at"],
        "additionalProperties": false,
        "minProperties": 2,
        "maxProperties": 2,
    })
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a share, such as `99.9%` or 0.999",
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": 1},
                {"type": "string", "pattern": r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*%$"},
            ],
        })
    }
}

impl JsonSchema for Amount {
    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let length = generator.subschema_for::<Days>();
        json_schema!({
            "description": "a number, or a length of time, which counts in seconds",
            "anyOf": [{"type": "number"}, length],
        })
    }
}
