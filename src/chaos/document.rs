//! Faults and random processes from a document and into one: `kind` says which other fields there are.

use std::fmt;
use std::sync::LazyLock;

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::parameters::Length;
use super::{AnyFault, FaultKind, FaultProcessSpec, FaultSpec, NodeTarget};

/// A struct of this name has a field `kind` that says which others there are: who reads a document gives that first, if it can.
pub const STRUCT_BY_KIND: &str = "by kind";

/// The fields that a random process has besides those of its fault.
pub const PROCESS_FIELDS: [&str; 4] = ["name", "domain", "timeToFailure", "timeToRepair"];

/// The fields that only some kinds have, each once.
static OWN_FIELDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let mut names = Vec::new();
    for field in FaultKind::ALL.iter().flat_map(|kind| kind.own_fields()) {
        if !names.contains(&field.name) {
            names.push(field.name);
        }
    }
    names
});

static FAULT_FIELDS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| ["kind", "nodes", "for"].iter().chain(&*OWN_FIELDS).copied().collect());

static PROCESS_AND_FAULT_FIELDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let own = OWN_FIELDS.iter().chain(&["timeToFailure", "timeToRepair"]);
    ["name", "kind", "nodes", "domain"].iter().chain(own).copied().collect()
});

/// A fault of which not all has been read.
#[derive(Default)]
struct Draft {
    fault: Option<AnyFault>,
    nodes: NodeTarget,
    length: Option<Length>,
    /// Fields that came before the kind.
    early: Vec<(String, Value)>,
}

impl Draft {
    /// Reads the value of a field.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match (key, &mut self.fault) {
            ("kind", _) => {
                let mut fault = AnyFault::from(map.next_value::<FaultKind>()?);
                let early = std::mem::take(&mut self.early);
                let mut early = MapDeserializer::new(early.into_iter());
                while let Some(key) = early.next_key::<String>().map_err(A::Error::custom)? {
                    if !fault.read(&key, &mut early).map_err(A::Error::custom)? {
                        early.next_value::<IgnoredAny>().map_err(A::Error::custom)?;
                    }
                }
                self.fault = Some(fault);
            }
            ("nodes", _) => self.nodes = map.next_value()?,
            ("for", _) => self.length = map.next_value()?,
            (_, None) => self.early.push((key.to_owned(), map.next_value()?)),
            (_, Some(fault)) => {
                // What means nothing for the kind is reported with its place when the whole is checked.
                if !fault.read(key, map)? {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn finish<E: Error>(self) -> Result<FaultSpec, E> {
        let fault = self.fault.ok_or_else(|| E::missing_field("kind"))?;
        Ok(FaultSpec { nodes: self.nodes, length: self.length.map(|length| length.0), fault })
    }
}

/// The name of a field, one of those that there are.
struct Key(&'static [&'static str]);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        let key = String::deserialize(deserializer)?;
        if self.0.contains(&&*key) { Ok(key) } else { Err(D::Error::unknown_field(&key, self.0)) }
    }
}

impl<'de> Deserialize<'de> for FaultSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fault;

        impl<'de> Visitor<'de> for Fault {
            type Value = FaultSpec;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("struct FaultSpec")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FaultSpec, A::Error> {
                let mut draft = Draft::default();
                while let Some(key) = map.next_key_seed(Key(&FAULT_FIELDS))? {
                    draft.read(&key, &mut map)?;
                }
                draft.finish()
            }
        }
        deserializer.deserialize_struct(STRUCT_BY_KIND, &FAULT_FIELDS, Fault)
    }
}

impl<'de> Deserialize<'de> for FaultProcessSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Process;

        impl<'de> Visitor<'de> for Process {
            type Value = FaultProcessSpec;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("struct FaultProcessSpec")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FaultProcessSpec, A::Error> {
                let mut draft = Draft::default();
                let (mut name, mut domain, mut failure, mut repair) = (None, None, None, None);
                while let Some(key) = map.next_key_seed(Key(&PROCESS_AND_FAULT_FIELDS))? {
                    match &*key {
                        "name" => name = Some(map.next_value()?),
                        "domain" => domain = map.next_value()?,
                        "timeToFailure" => failure = Some(map.next_value()?),
                        "timeToRepair" => repair = map.next_value()?,
                        _ => draft.read(&key, &mut map)?,
                    }
                }
                Ok(FaultProcessSpec {
                    name: name.ok_or_else(|| A::Error::missing_field("name"))?,
                    domain,
                    fault: draft.finish()?,
                    time_to_failure: failure.ok_or_else(|| A::Error::missing_field("timeToFailure"))?,
                    time_to_repair: repair,
                })
            }
        }
        deserializer.deserialize_struct(STRUCT_BY_KIND, &PROCESS_AND_FAULT_FIELDS, Process)
    }
}

impl FaultSpec {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("kind", &self.kind())?;
        if !self.nodes.is_everything() {
            map.serialize_entry("nodes", &self.nodes)?;
        }
        if let Some(length) = self.length {
            map.serialize_entry("for", &Length(length))?;
        }
        self.fault.write(map)
    }
}

impl Serialize for FaultSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // All nodes are meant by a target that says nothing, which an entry of the timeline has to say.
        if self.fault.target().has_nodes() && self.nodes.is_everything() {
            map.serialize_entry("nodes", &self.nodes)?;
        }
        self.write(&mut map)?;
        map.end()
    }
}

impl Serialize for FaultProcessSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        self.fault.write(&mut map)?;
        if let Some(domain) = &self.domain {
            map.serialize_entry("domain", domain)?;
        }
        map.serialize_entry("timeToFailure", &self.time_to_failure)?;
        if let Some(repair) = &self.time_to_repair {
            map.serialize_entry("timeToRepair", repair)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_whatever_comes_first() {
        let text = r#"{"boot":{"constant":"1m0s"},"for":"24h0m0s","kind":"Crash","nodes":{"zone":"a"}}"#;
        let spec: FaultSpec = serde_json::from_str(text).expect("a fault");
        assert_eq!(spec.kind(), FaultKind::Crash);
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_value(&spec).expect("a map"), value);
        let text = r#"{"kind":"PIDPressure","domain":"rack","name":"n","timeToFailure":{"constant":"1h0m0s"},"usage":{"pids":"5"}}"#;
        let spec: FaultProcessSpec = serde_json::from_str(text).expect("a process");
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_value(&spec).expect("a map"), value);
    }

    #[test]
    fn what_no_kind_has_and_what_is_missing_is_refused() {
        let check = |text: &str, expected: &str| {
            let error = serde_json::from_str::<FaultSpec>(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check(
            r#"{"kind":"Crash","colour":1}"#,
            "unknown field `colour`, expected one of `kind`, `nodes`, `for`, `boot`",
        );
        check(r#"{"nodes":{}}"#, "missing field `kind`");
        check(r#"{"kind":"Crsh"}"#, "unknown variant `Crsh`, expected one of `Crash`, `KubeletStop`");
        check(r#"{"boot":[1],"kind":"Crash"}"#, "invalid type: sequence, expected a duration");
        let error = serde_json::from_str::<FaultProcessSpec>(r#"{"kind":"Crash","for":"1s"}"#).unwrap_err();
        assert!(error.to_string().starts_with("unknown field `for`"), "{error}");
    }
}
