//! What Secrets hold, as hashes: results and lock files bear no secret of the input.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::arena::{Symbol, stable_hash};

/// The annotation in which `kubectl apply` keeps what was applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What stands before the hash that stands for a value.
const HIDDEN: &str = "***";

/// Puts hashes in the place of all values of a Secret.
///
/// # Source
/// kube-apiserver, `Strategy.PrepareForCreate` of Secrets: `stringData` is written over `data`.
pub(super) fn hide(fields: &mut Map<String, Value>) {
    let texts = fields.remove("stringData");
    let texts = texts.as_ref().and_then(Value::as_object).into_iter().flatten();
    let written: Vec<(String, Value)> = texts
        .map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            (key.clone(), hidden(&if is_hidden(&text) { text } else { base64(text.as_bytes()) }))
        })
        .collect();
    if let Some(Value::Object(data)) = fields.get_mut("data") {
        for value in data.values_mut() {
            *value = hidden(&value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
    }
    if !written.is_empty() {
        let data = fields.entry("data").or_insert_with(|| json!({}));
        if let Value::Object(data) = data {
            data.extend(written);
        }
    }
}

/// The same for what was applied.
pub(super) fn hide_applied(annotations: &mut BTreeMap<Symbol, Symbol>) {
    let Some(text) = annotations.get_mut(&Symbol::new(LAST_APPLIED)) else { return };
    let Ok(Value::Object(mut applied)) = serde_json::from_str(text.as_str()) else {
        annotations.remove(&Symbol::new(LAST_APPLIED));
        return;
    };
    hide(&mut applied);
    *text = Symbol::new(&format!("{}\n", Value::Object(applied)));
}

fn is_hidden(text: &str) -> bool {
    let hash = text.strip_prefix(HIDDEN);
    hash.is_some_and(|hash| hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn hidden(base64: &str) -> Value {
    // Lines may be broken anywhere.
    let text: String = base64.split_whitespace().collect();
    if is_hidden(&text) { text.into() } else { format!("{HIDDEN}{:016x}", stable_hash(text.as_bytes())).into() }
}

/// # Source
/// RFC 4648, the standard alphabet.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let sextet = (bits >> (18 - 6 * place)) & 63;
            text.push(if place <= three.len() { char::from(ALPHABET[sextet as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_encoded_as_the_server_encodes_them() {
        for (text, expected) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")] {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }
}
