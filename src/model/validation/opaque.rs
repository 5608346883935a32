//! Parts of an object that the model keeps without understanding them, read for as long as they are looked at.

use std::ops::Deref;

use serde_json::Value;

use crate::model::Opaque;

/// What was written; `null` if nothing was.
pub(super) struct Written(Value);

impl Written {
    pub(super) fn of(opaque: Opaque) -> Self {
        // What a model keeps is JSON that it has written itself.
        Self(if opaque.is_none() { Value::Null } else { serde_json::from_str(opaque.as_json()).unwrap_or_default() })
    }
}

impl Deref for Written {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

/// The items of a list; none if it is no list.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text field; empty if it is not there.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// Whether a field is there.
pub(super) fn has(value: &Value, field: &str) -> bool {
    value.get(field).is_some_and(|value| !value.is_null())
}
