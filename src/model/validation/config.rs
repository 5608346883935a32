//! ConfigMaps and Secrets: of what decides nothing, what is most often refused.

use serde_json::{Map, Value};

use super::error::Errors;
use super::format;
use super::path::Path;
use crate::model::StoredObject;

/// The most bytes that one of them may hold.
const SIZE_MAX: usize = 1 << 20;

fn is_of(object: &StoredObject, kind: &str) -> bool {
    object.kind == *kind && matches!(object.api_version.as_str(), "v1" | "")
}

fn map<'a>(object: &'a StoredObject, field: &str) -> Option<&'a Map<String, Value>> {
    object.fields.get(field).and_then(Value::as_object)
}

/// What is wrong with a ConfigMap or a Secret; nothing of any other kind. What Secrets hold is hidden, so that neither its size nor
/// its form is looked at.
///
/// # Source
///
/// kube-apiserver, `ValidateConfigMap` and `ValidateSecret`.
pub(super) fn validate(object: &StoredObject, e: &mut Errors) {
    let (is_config, is_secret) = (is_of(object, "ConfigMap"), is_of(object, "Secret"));
    if !is_config && !is_secret {
        return;
    }
    let name = object.metadata.name.as_str();
    let metadata = Path::ROOT.child("metadata");
    e.texts(&metadata.child("name"), name, format::dns_subdomain(name));
    let mut size = 0;
    for field in ["data", "binaryData"] {
        let path = Path::ROOT.child(field);
        for (key, value) in map(object, field).into_iter().flatten() {
            e.texts(&path.key(key), key, format::config_key(key));
            let length = value.as_str().map_or(0, str::len);
            size += if field == "data" { length } else { length / 4 * 3 };
            if field == "data" && map(object, "binaryData").is_some_and(|other| other.contains_key(key)) {
                e.invalid(&path.key(key), key.as_str(), "duplicate of key present in binaryData");
            }
        }
    }
    if is_config && size > SIZE_MAX {
        e.too_long(&Path::ROOT.child(""), SIZE_MAX);
    }
    if is_secret {
        contents(object, e);
    }
}

/// What the type of a Secret asks for.
fn contents(object: &StoredObject, e: &mut Errors) {
    let of_type = object.fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let has = |key: &str| map(object, "data").is_some_and(|data| data.contains_key(key));
    let required: &[&str] = match of_type {
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => &["username", "password"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    let path = Path::ROOT.child("data");
    for key in required.iter().filter(|key| !has(key)) {
        e.required(&path.key(key), "");
    }
    let account = "kubernetes.io/service-account.name";
    if of_type == "kubernetes.io/service-account-token"
        && object.metadata.annotations.iter().all(|(key, value)| *key != account || value.is_empty())
    {
        let metadata = Path::ROOT.child("metadata");
        e.required(&metadata.child("annotations").key(account), "");
    }
}

/// # Source
///
/// kube-apiserver, `ValidateConfigMapUpdate` and `ValidateSecretUpdate`.
pub(super) fn validate_update(new: &StoredObject, old: &StoredObject, e: &mut Errors) {
    let is_secret = is_of(new, "Secret");
    if !is_secret && !is_of(new, "ConfigMap") {
        return;
    }
    let of_type = |object: &StoredObject| {
        object.fields.get("type").and_then(Value::as_str).filter(|text| !text.is_empty()).unwrap_or("Opaque").to_owned()
    };
    if is_secret {
        e.immutable(&Path::ROOT.child("type"), &of_type(new), &of_type(old));
    }
    let is_immutable = |object: &StoredObject| object.fields.get("immutable") == Some(&Value::Bool(true));
    if is_immutable(old) {
        let detail = "field is immutable when `immutable` is set";
        if !is_immutable(new) {
            e.forbidden(&Path::ROOT.child("immutable"), detail);
        }
        let empty = Map::new();
        for field in ["data", "binaryData"] {
            if map(new, field).unwrap_or(&empty) != map(old, field).unwrap_or(&empty) {
                e.forbidden(&Path::ROOT.child(field), detail);
            }
        }
    }
    validate(new, e);
}

#[cfg(test)]
mod tests {
    use super::super::{validate, validate_update};
    use crate::model::Object;

    fn object(text: &str) -> Object {
        Object::from_any(serde_saphyr::from_str(text).expect("YAML")).expect("a kind").expect("an object")
    }

    fn told(errors: &[super::super::FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn keys_sizes_and_types_are_looked_at() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            let found = told(&validate(&object(text)));
            assert!(
                found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| a.starts_with(b)),
                "{found:?}"
            );
        }
        let config = |rest: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, {rest}}}");
        check(&config("data: {a.b-C_1: x}"), &[]);
        check(&config("data: {a/b: x}"), &["data[a/b]: Invalid value: \"a/b\": a valid config key must consist of"]);
        let twice = "data[a]: Invalid value: \"a\": duplicate of key present in binaryData";
        check(&config("data: {a: x}, binaryData: {a: eA==}"), &[twice]);
        check(&config(&format!("data: {{a: {}}}", "x".repeat(1 << 20))), &[]);
        check(
            &config(&format!("data: {{a: {}, b: x}}", "x".repeat(1 << 20))),
            &[": Too long: may not be more than 1048576 bytes"],
        );
        let secret = |rest: &str| format!("{{apiVersion: v1, kind: Secret, metadata: {{name: c}}, {rest}}}");
        check(&secret("type: kubernetes.io/tls, stringData: {tls.crt: x}"), &["data[tls.key]: Required value"]);
        check(&secret("type: example.com/any"), &[]);
    }

    #[test]
    fn what_is_immutable_may_not_change() {
        let config = |data: &str, more: &str| {
            object(&format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}, data: {{{data}}}, {more}}}"))
        };
        let old = config("a: x", "immutable: true");
        assert_eq!(told(&validate_update(&config("a: x", "immutable: true"), &old)), [""; 0]);
        let detail = "Forbidden: field is immutable when `immutable` is set";
        let expected = [format!("immutable: {detail}"), format!("data: {detail}")];
        assert_eq!(told(&validate_update(&config("a: y", ""), &old)), expected);
        let secret = |of_type: &str| {
            object(&format!("{{apiVersion: v1, kind: Secret, metadata: {{name: c}}, type: {of_type}}}"))
        };
        let told = told(&validate_update(&secret("a"), &secret("b")));
        assert_eq!(told, ["type: Invalid value: \"a\": field is immutable"]);
    }
}
