//! What distributions look like in documents, for editors.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use super::Distribution;
use crate::units::Days;

impl JsonSchema for Distribution {
    fn schema_name() -> Cow<'static, str> {
        "Distribution".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let length = generator.subschema_for::<Days>();
        let fields = |about: &str, properties: Value, required: Value| {
            json!({
                "description": about,
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        };
        let one_of = |mut schema: Value, ways: Value| {
            schema["oneOf"] = ways;
            schema
        };
        let shaped = |about: &str| {
            let properties = json!({
                "shape": {"type": "number", "exclusiveMinimum": 0}, "scale": length, "mean": length,
            });
            one_of(
                fields(about, properties, json!(["shape"])),
                json!([{"required": ["scale"]}, {"required": ["mean"]}]),
            )
        };
        let lognormal = fields(
            "given by `median` and `p99`, `median` and `sigma`, or `mean` and `sigma`",
            json!({
                "median": length, "p99": length, "mean": length,
                "sigma": {"type": "number", "minimum": 0, "maximum": 10},
            }),
            json!([]),
        );
        let ways = json!([{"required": ["median", "p99"]}, {"required": ["median", "sigma"]}, {"required": ["mean", "sigma"]}]);
        json_schema!({
            "description": "how long something takes: a length of time, which is always the same, or a distribution",
            "anyOf": [length, {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": false,
                "properties": {
                    "constant": length,
                    "uniform": fields("every length between two is as likely", json!({"min": length, "max": length}), json!(["min", "max"])),
                    "exponential": fields("as long to come, however long it has taken", json!({"mean": length}), json!(["mean"])),
                    "weibull": shaped("given by its `shape`, and `scale` or `mean`; a shape below 1 has many short lengths"),
                    "lognormal": one_of(lognormal, ways),
                    "gamma": shaped("given by its `shape`, and `scale` or `mean`"),
                    "empirical": fields("drawn from the values in a file, one a line", json!({"file": {"type": "string"}}), json!(["file"])),
                },
            }],
        })
    }
}
