//! What faults and random processes look like in documents, for editors: `kind` says which other fields there are.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::parameters::Length;
use super::{FaultKind, FaultProcessSpec, FaultSpec, NodeTarget};
use crate::engine::Distribution;

/// A share of nodes or pods.
pub(super) fn fraction(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [
            {"type": "number"},
            {"type": "string", "pattern": r"^\s*[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*%$"},
        ],
    })
}

/// A schema that says what the value is for.
fn described(schema: Schema, about: &str) -> Value {
    let mut schema = schema.to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("description".to_owned(), json!(about.trim()));
    }
    schema
}

/// Where a fault is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Timeline,
    Process,
}

/// The fields that any fault has, and which of them each kind has and needs.
fn fields(generator: &mut SchemaGenerator, place: Place) -> (Map<String, Value>, Vec<Value>) {
    let mut properties = Map::new();
    let words: Vec<Value> =
        FaultKind::ALL.iter().map(|kind| json!({"const": kind.as_str(), "description": kind.about()})).collect();
    properties.insert("kind".to_owned(), json!({"description": "what goes wrong", "oneOf": words}));
    let nodes = generator.subschema_for::<NodeTarget>();
    properties.insert("nodes".to_owned(), described(nodes, "which nodes it hits"));
    for kind in FaultKind::ALL {
        for (field, schema) in kind.own_fields().iter().zip(kind.schemas(generator)) {
            let found = properties.entry(field.name).or_insert_with(|| described(schema.clone(), field.about));
            let known = described(schema, found["description"].as_str().unwrap_or_default());
            assert_eq!(*found, known, "`{}` has one type in all kinds that have it", field.name);
        }
    }
    if place == Place::Timeline {
        let length = generator.subschema_for::<Option<Length>>();
        let about = "how long it lasts; without it, until the end of the run";
        properties.insert("for".to_owned(), described(length, about));
    }
    let known: Vec<String> = properties.keys().filter(|name| *name != "kind").cloned().collect();
    let rule = |kind: &FaultKind| {
        let fields = kind.fields();
        let has = |name: &str| fields.iter().any(|field| field.name == name);
        let foreign: Map<String, Value> =
            known.iter().filter(|name| !has(name)).map(|name| (name.clone(), json!(false))).collect();
        // A random process without nodes runs on every node, and says by its repairs how long a failure lasts.
        let is_needed = |name: &str| place == Place::Timeline || name != "nodes";
        let needed =
            fields.iter().filter(|field| field.needed.is_some() && is_needed(field.name)).map(|field| field.name);
        let repair = (place == Place::Process && kind.course().needs_repair()).then_some("timeToRepair");
        let needed: Vec<&str> = needed.chain(repair).collect();
        json!({
            "if": {"properties": {"kind": {"const": kind.as_str()}}, "required": ["kind"]},
            "then": {"properties": foreign, "required": needed},
        })
    };
    (properties, FaultKind::ALL.iter().map(rule).collect())
}

impl JsonSchema for FaultSpec {
    fn schema_name() -> Cow<'static, str> {
        "Fault".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (properties, rules) = fields(generator, Place::Timeline);
        json_schema!({
            "description": "something that goes wrong",
            "type": "object",
            "properties": properties,
            "required": ["kind"],
            "additionalProperties": false,
            "allOf": rules,
        })
    }
}

impl JsonSchema for FaultProcessSpec {
    fn schema_name() -> Cow<'static, str> {
        "FaultProcess".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (mut properties, rules) = fields(generator, Place::Process);
        let name = generator.subschema_for::<String>();
        properties.insert("name".to_owned(), described(name, "its name, by which its chance is drawn"));
        let domain = generator.subschema_for::<Option<String>>();
        let about = "a label: there is one process for each of its values, which hits all nodes that have that value";
        properties.insert("domain".to_owned(), described(domain, about));
        let failure = generator.subschema_for::<Distribution>();
        properties.insert("timeToFailure".to_owned(), described(failure, "from a repair to the next failure"));
        let repair = generator.subschema_for::<Option<Distribution>>();
        properties.insert("timeToRepair".to_owned(), described(repair, "from a failure to its repair"));
        json_schema!({
            "description": "a random process: something that goes wrong again and again",
            "type": "object",
            "properties": properties,
            "required": ["name", "kind", "timeToFailure"],
            "additionalProperties": false,
            "allOf": rules,
        })
    }
}
