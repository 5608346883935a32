//! Which fields the API has and of which types, whether they decide something here or not: what is no field of it, or cannot be
//! its value, is somebody's slip.

use std::cell::RefCell;
use std::fmt;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use serde_json::Value;

use crate::arena::Symbol;
use crate::units::Quantity;

use super::field_path::{FieldPath, Step};
use crate::diagnostics::nearest;

/// A line a type: its fields, each with the type of what it holds. Of a list `[]` stands before the type of its items, of a map
/// `{}` before that of its values; a type that has fields itself goes by its name, any other by a letter: `s` text, `y` bytes in
/// base64, `t` an instant, `b` a boolean, `i` and `l` whole numbers of 32 and 64 bits, `n` a number, `q` a quantity, `x` a whole
/// number or a text, `o` anything.
///
/// # Source
/// Kubernetes 1.36, `api/openapi-spec/swagger.json`.
const TEXT: &str = include_str!("api_fields.txt");

type Fields = FxHashMap<&'static str, &'static str>;

/// A field that a type does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnknownField {
    /// The type.
    pub(crate) of: &'static str,
    /// The field of that type whose name is nearest.
    pub(crate) nearest: Option<&'static str>,
    /// How many steps of the path lead to it.
    pub(crate) length: usize,
}

fn types() -> &'static FxHashMap<&'static str, Fields> {
    static TYPES: OnceLock<FxHashMap<&'static str, Fields>> = OnceLock::new();
    TYPES.get_or_init(|| {
        let fields = |text: &'static str| -> Fields {
            let words = text.split_whitespace();
            words.map(|word| word.split_once('=').unwrap_or((word, "o"))).collect()
        };
        TEXT.lines().filter_map(|line| line.split_once(": ")).map(|(name, text)| (name, fields(text))).collect()
    })
}

/// The type of what a field holds, if that has fields itself.
fn with_fields(written: &'static str) -> Option<&'static str> {
    let name = written.trim_start_matches(['[', ']', '{', '}']);
    name.starts_with(|first: char| first.is_ascii_uppercase()).then_some(name)
}

/// Whether the fields of a kind in this version of its API are known here.
pub(crate) fn has_kind(api_version: &str, kind: &str) -> bool {
    const VERSIONS: [&str; 8] = [
        "v1",
        "apps/v1",
        "batch/v1",
        "policy/v1",
        "scheduling.k8s.io/v1",
        "node.k8s.io/v1",
        "storage.k8s.io/v1",
        "autoscaling/v2",
    ];
    VERSIONS.contains(&api_version) && types().contains_key(kind)
}

/// The fields of a type, in the order of their names, each with the type of what it holds.
#[cfg(feature = "serve")]
pub(crate) fn fields_of(name: &str) -> Vec<(&'static str, &'static str)> {
    let mut fields: Vec<(&str, &str)> =
        types().get(name).into_iter().flatten().map(|(field, of)| (*field, *of)).collect();
    fields.sort_unstable();
    fields
}

/// The first field on the way that its type does not have; none if there are all, as far as their types have fields.
pub(crate) fn unknown(kind: &str, path: &FieldPath) -> Option<UnknownField> {
    let mut at = types().get_key_value(kind);
    for (index, step) in path.steps().iter().enumerate() {
        let Step::Index(_) = step else {
            let (of, fields) = at?;
            let key = step.key()?;
            let Some(next) = fields.get(key.as_str()) else {
                let mut names: Vec<&'static str> = fields.keys().copied().collect();
                names.sort_unstable();
                return Some(UnknownField { of, nearest: nearest(key.as_str(), names), length: index + 1 });
            };
            at = with_fields(next).and_then(|next| types().get_key_value(next));
            continue;
        };
    }
    None
}

/// The fields of an object, or of a patch of one, that its kind does not have: each as the server writes its path.
pub(crate) fn unknown_in(kind: &str, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(fields) = types().get(kind) {
        walk(fields, value, "", &mut found);
    }
    found
}

fn walk(fields: &Fields, value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(fields, item, &format!("{path}[{index}]"), found);
            }
        }
        Value::Object(entries) => {
            // Directives of strategic patches (`$patch`, `$setElementOrder/…`) are no fields.
            for (key, item) in entries.iter().filter(|(key, _)| !key.starts_with('$')) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match fields.get(key.as_str()) {
                    None => found.push(path),
                    Some(of) => {
                        if let Some(fields) = with_fields(of).and_then(|of| types().get(of)) {
                            walk(fields, item, &path, found);
                        }
                    }
                }
            }
        }
        _ => {}
    }
}

/// A value that cannot be that of its field.
#[derive(Debug)]
pub(crate) struct Mistyped {
    /// The field.
    pub(crate) path: FieldPath,
    /// What is there and what was expected, in the words of parsers.
    pub(crate) message: String,
}

/// The first value of an object, given as JSON, that is not of the type of its field; none as well if it is no JSON, or of a
/// type that is not known.
pub(crate) fn mistyped(kind: &str, json: &str) -> Option<Mistyped> {
    first_mistyped(kind, &mut serde_json::Deserializer::from_str(json))
}

/// The same of a tree.
pub(crate) fn mistyped_in(kind: &str, value: &Value) -> Option<Mistyped> {
    first_mistyped(kind, value)
}

fn first_mistyped<'de, D: Deserializer<'de>>(kind: &str, deserializer: D) -> Option<Mistyped>
where
    D::Error: fmt::Display,
{
    let (name, _) = types().get_key_value(kind)?;
    let path = RefCell::new(Vec::new());
    let error = Typed { of: name, path: &path }.deserialize(deserializer).err()?.to_string();
    let message = error.rfind(" at line ").map_or(error.as_str(), |end| &error[..end]).to_owned();
    let is_about_a_value =
        ["invalid type: ", "invalid value: ", "quantities must"].iter().any(|s| message.starts_with(s));
    is_about_a_value.then(|| Mistyped { path: path.into_inner().into_iter().collect(), message })
}

/// What a value must be; `path` is where it stands, and where a wrong one stood.
#[derive(Copy, Clone)]
struct Typed<'a> {
    of: &'static str,
    path: &'a RefCell<Vec<Step>>,
}

impl Typed<'_> {
    fn is_one_of(self, letters: &str) -> bool {
        self.of.len() == 1 && letters.contains(self.of)
    }

    fn whole<E: Error>(self, number: i128, found: Unexpected<'_>) -> Result<(), E> {
        match self.of {
            "i" | "x" if i32::try_from(number).is_err() => Err(E::invalid_value(found, &self)),
            "l" if i64::try_from(number).is_err() => Err(E::invalid_value(found, &self)),
            _ if self.is_one_of("ilxnqo") => Ok(()),
            _ => Err(E::invalid_type(found, &self)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Typed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Typed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.of {
            "s" | "y" | "t" => "a string",
            "b" => "a boolean",
            "i" => "i32",
            "l" => "i64",
            "n" => "f64",
            "q" => "a quantity",
            "x" => "a whole number or a string",
            of if of.starts_with("[]") => "a sequence",
            _ => "a map",
        })
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        if self.is_one_of("bo") { Ok(()) } else { Err(E::invalid_type(Unexpected::Bool(value), &self)) }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.whole(value.into(), Unexpected::Signed(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.whole(value.into(), Unexpected::Unsigned(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        if self.is_one_of("nqo") { Ok(()) } else { Err(E::invalid_type(Unexpected::Float(value), &self)) }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        match self.of {
            "q" => match value.trim().parse::<Quantity>() {
                Ok(_) => Ok(()),
                Err(_) => Err(E::custom(
                    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                )),
            },
            _ if self.is_one_of("sytxo") => Ok(()),
            _ => Err(E::invalid_type(Unexpected::Str(value), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let of = match self.of.strip_prefix("[]") {
            Some(of) => of,
            None if self.of == "o" => {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                return Ok(());
            }
            None => return Err(A::Error::invalid_type(Unexpected::Seq, &self)),
        };
        for index in 0.. {
            self.path.borrow_mut().push(Step::Index(index));
            if items.next_element_seed(Typed { of, ..self })?.is_none() {
                self.path.borrow_mut().pop();
                break;
            }
            self.path.borrow_mut().pop();
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let fields = types().get(self.of);
        if fields.is_none() && self.of != "o" && !self.of.starts_with("{}") {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        }
        while let Some(key) = entries.next_key::<Symbol>()? {
            let of = match fields {
                Some(fields) => fields.get(key.as_str()).copied().unwrap_or("o"),
                None => self.of.strip_prefix("{}").unwrap_or("o"),
            };
            self.path.borrow_mut().push(Step::Key(key));
            entries.next_value_seed(Typed { of, ..self })?;
            self.path.borrow_mut().pop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_that_is_named_has_its_line() {
        let mut written = types().values().flat_map(|fields| fields.values().copied());
        let is_known = |of: &&'static str| match with_fields(of) {
            Some(name) => types().contains_key(name),
            None => "sytbilnqxo".contains(of.trim_start_matches(['[', ']', '{', '}'])),
        };
        assert_eq!(written.find(|of| !is_known(of)), None);
        assert!(has_kind("apps/v1", "Deployment"));
        assert!(!has_kind("extensions/v1beta1", "Deployment") && !has_kind("v1", "Kiwi"));
    }

    #[test]
    fn what_is_no_field_is_found_with_the_nearest() {
        let path = |keys: &[&str]| -> FieldPath {
            let step = |key: &&str| match key.parse() {
                Ok(index) => Step::Index(index),
                Err(_) => Step::Key(crate::arena::Symbol::new(key)),
            };
            keys.iter().map(step).collect()
        };
        let found = unknown("Pod", &path(&["spec", "tolerations", "0", "tolerationSecond"])).expect("a slip");
        assert_eq!((found.of, found.nearest, found.length), ("Toleration", Some("tolerationSeconds"), 4));
        assert_eq!(unknown("Pod", &path(&["spec", "containers", "0", "env", "0", "valueFrom", "secretKeyRef"])), None);
        assert_eq!(unknown("Pod", &path(&["metadata", "labels", "anything"])), None);
        assert_eq!(unknown("Deployment", &path(&["spec", "bogus"])).map(|found| found.of), Some("DeploymentSpec"));
    }

    #[test]
    fn values_are_of_the_types_of_their_fields_whether_they_decide_something_or_not() {
        #[track_caller]
        fn check(kind: &str, json: &str, expected: &str) {
            let found =
                mistyped(kind, json).map_or_else(String::new, |found| format!("{}: {}", found.path, found.message));
            assert_eq!(found, expected, "{json}");
        }
        let container = |fields: &str| format!(r#"{{"spec":{{"containers":[{{"name":"c",{fields}}}]}}}}"#);
        check("Pod", &container(r#""command":["sh"],"env":null,"securityContext":{"runAsUser":0}"#), "");
        check(
            "Pod",
            &container(r#""securityContext":{"runAsUser":"1000"}"#),
            "spec.containers[0].securityContext.runAsUser: invalid type: string \"1000\", expected i64",
        );
        check(
            "Pod",
            &container(r#""command":"sh""#),
            "spec.containers[0].command: invalid type: string \"sh\", expected a sequence",
        );
        check(
            "Pod",
            r#"{"spec":{"imagePullSecrets":["foo"]}}"#,
            "spec.imagePullSecrets[0]: invalid type: string \"foo\", expected a map",
        );
        check(
            "Pod",
            r#"{"spec":{"hostNetwork":"no"}}"#,
            "spec.hostNetwork: invalid type: string \"no\", expected a boolean",
        );
        check(
            "Pod",
            r#"{"metadata":{"annotations":{"a":1}}}"#,
            "metadata.annotations.a: invalid type: integer `1`, expected a string",
        );
        check(
            "StorageClass",
            r#"{"parameters":{"iops":3000}}"#,
            "parameters.iops: invalid type: integer `3000`, expected a string",
        );
        check(
            "Service",
            r#"{"spec":{"ports":[{"port":3000000000,"targetPort":"http"}]}}"#,
            "spec.ports[0].port: invalid value: integer `3000000000`, expected i32",
        );
        let sized = |size: &str| format!(r#"{{"spec":{{"volumes":[{{"emptyDir":{{"sizeLimit":{size}}}}}]}}}}"#);
        check("Pod", &sized("1"), "");
        check("Pod", &sized("\"1Gi\""), "");
        let form = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
        check("Pod", &sized("\"much\""), &format!("spec.volumes[0].emptyDir.sizeLimit: {form}"));
        check("ControllerRevision", r#"{"data":{"spec":[1,{"a":true}]},"bogus":[1]}"#, "");
        check("Kiwi", r#"{"spec":1}"#, "");
        let value = json!({"spec": {"dnsConfig": {"options": [{"name": "ndots", "value": 2}]}}});
        assert_eq!(
            mistyped_in("Pod", &value).map(|found| found.path.to_string()).as_deref(),
            Some("spec.dnsConfig.options[0].value")
        );
    }

    #[test]
    fn patches_are_searched_whole() {
        let patch = json!({"spec": {"bogus": 1, "template": {"spec": {"$setElementOrder/containers": [], "containers": [
            {"name": "c", "$patch": "replace", "imag": "x", "resources": {"limits": {"anything": "1"}}}]}}}});
        let expected = ["spec.bogus", "spec.template.spec.containers[0].imag"];
        assert_eq!(unknown_in("Deployment", &patch), expected);
        assert!(unknown_in("Kiwi", &patch).is_empty());
    }
}
