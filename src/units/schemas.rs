//! What lengths of time and quantities look like in documents, for editors.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{IntOrPercent, Quantity, SimDuration};

/// Digits with or without a point.
const NUMBER: &str = r"([0-9]+\.?[0-9]*|\.[0-9]+)";

/// A field that is read by [`super::with_days`].
pub(crate) struct Days;

fn duration(units: &str, about: &str) -> Schema {
    let pattern = format!(r"^([-+]?0|\+?({NUMBER}({units}))+)$");
    json_schema!({
        "description": about,
        "anyOf": [{"type": "string", "pattern": pattern}, {"const": 0}],
    })
}

impl JsonSchema for Days {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about =
            "a length of time, such as `90s`, `1h30m`, `250ms` or `60d`; units are ns, us, ms, s, m, h, d and w";
        duration("ns|us|µs|μs|ms|s|m|h|d|w", about)
    }
}

impl JsonSchema for SimDuration {
    fn schema_name() -> Cow<'static, str> {
        "GoDuration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let about = "a length of time as Go writes it, such as `90s` or `1h30m`; units are ns, us, ms, s, m and h";
        duration("ns|us|µs|μs|ms|s|m|h", about)
    }
}

impl JsonSchema for Quantity {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = format!(r"^\s*[-+]?{NUMBER}([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?\s*$");
        json_schema!({
            "description": "a quantity as Kubernetes writes it, such as `500m`, `2` or `4Gi`",
            "anyOf": [{"type": "string", "pattern": pattern}, {"type": "number"}],
        })
    }
}

impl JsonSchema for IntOrPercent {
    fn schema_name() -> Cow<'static, str> {
        "IntOrPercent".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a whole number, or a percentage such as `25%`",
            "anyOf": [
                {"type": "integer", "minimum": i32::MIN, "maximum": i32::MAX},
                {"type": "string", "pattern": r"^-?[0-9]+%$"},
            ],
        })
    }
}
