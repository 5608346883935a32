//! What every API object carries: names, labels, owners; and values we keep without understanding them.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Error as _, Serialize, Serializer};

use super::api_type::api_structs;
use crate::arena::Symbol;

api_structs! {
    /// `metadata` of an object.
    ///
    /// Timestamps stay the text that was written: what an instant means is for the room that knows when t=0 is.
    pub struct ObjectMeta {
        pub name: Symbol,
        pub generate_name: Symbol,
        pub namespace: Symbol,
        pub labels: Labels,
        pub annotations: BTreeMap<Symbol, Symbol>,
        pub uid: Option<Symbol>,
        pub creation_timestamp: Option<Symbol>,
        pub deletion_timestamp: Option<Symbol>,
        pub deletion_grace_period_seconds: Option<i64>,
        pub owner_references: Vec<OwnerReference>,
        pub finalizers: Vec<Symbol>,
        pub generation: i64,
        pub resource_version: Option<Symbol>,
    }

    /// One entry of `metadata.ownerReferences`.
    #[derive(Eq)]
    pub struct OwnerReference {
        pub api_version: Symbol,
        pub kind: Symbol,
        pub name: Symbol,
        pub uid: Symbol,
        pub controller: bool,
        pub block_owner_deletion: bool,
    }

    /// A reference to an object of the same namespace by kind and name.
    #[derive(Eq)]
    pub struct ObjectReference {
        pub api_version: Symbol,
        pub kind: Symbol,
        pub namespace: Symbol,
        pub name: Symbol,
        pub uid: Symbol,
    }
}

impl ObjectMeta {
    /// The owner that manages this object, of which there is at most one.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }
}

/// The labels of an object: a shared, immutable map in the order of the keys' text.
///
/// Cloning is one counter increment, so that pods of one template share their labels.
#[derive(Clone)]
pub struct Labels(Option<Arc<[(Symbol, Symbol)]>>);

impl Labels {
    /// No labels.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// The pairs in the order of the keys' text.
    #[must_use]
    pub fn as_slice(&self) -> &[(Symbol, Symbol)] {
        self.0.as_deref().unwrap_or_default()
    }

    /// The value of a key.
    #[must_use]
    pub fn get(&self, key: Symbol) -> Option<Symbol> {
        // A handful of pointer comparisons beats a binary search by text; nobody has many labels.
        self.as_slice().iter().find(|pair| pair.0 == key).map(|pair| pair.1)
    }

    /// Whether the key is there, whatever its value.
    #[must_use]
    pub fn contains(&self, key: Symbol) -> bool {
        self.get(key).is_some()
    }

    /// Whether both are one list, of which the one was cloned from the other; nobody shares an empty one.
    #[must_use]
    pub fn is_shared_with(&self, other: &Self) -> bool {
        matches!((&self.0, &other.0), (Some(one), Some(other)) if Arc::ptr_eq(one, other))
    }

    /// Whether there is no label at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// How many labels there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// The pairs in the order of the keys' text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Symbol, Symbol)> + '_ {
        self.as_slice().iter().copied()
    }

    /// These labels with one added or replaced.
    #[must_use]
    pub fn with(&self, key: Symbol, value: Symbol) -> Self {
        if self.get(key) == Some(value) {
            return self.clone();
        }
        let mut pairs: Vec<(Symbol, Symbol)> = self.iter().filter(|pair| pair.0 != key).collect();
        pairs.insert(pairs.partition_point(|pair| pair.0 < key), (key, value));
        Self(Some(pairs.into()))
    }

    /// These labels without one of them.
    #[must_use]
    pub fn without(&self, key: Symbol) -> Self {
        if self.contains(key) { self.iter().filter(|pair| pair.0 != key).collect() } else { self.clone() }
    }
}

impl Default for Labels {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<(Symbol, Symbol)> for Labels {
    /// Collects pairs; of two with the same key the later one stays.
    fn from_iter<I: IntoIterator<Item = (Symbol, Symbol)>>(pairs: I) -> Self {
        let pairs: BTreeMap<Symbol, Symbol> = pairs.into_iter().collect();
        if pairs.is_empty() { Self(None) } else { Self(Some(pairs.into_iter().collect())) }
    }
}

impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Labels {}

impl Hash for Labels {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Labels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter().map(|(key, value)| (key.as_str(), value.as_str()))).finish()
    }
}

impl fmt::Display for Labels {
    /// `a=b,c=d`, as kubectl prints labels.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, value)) in self.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(formatter, "{comma}{}={}", key.as_str(), value.as_str())?;
        }
        Ok(())
    }
}

impl Serialize for Labels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Labels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LabelsVisitor;
        impl<'de> Visitor<'de> for LabelsVisitor {
            type Value = Labels;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map of text to text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels, A::Error> {
                let mut pairs = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some(key) = map.next_key::<Symbol>()? {
                    pairs.push((key, map.next_value::<Option<Symbol>>()?.unwrap_or_default()));
                }
                Ok(pairs.into_iter().collect())
            }

            fn visit_unit<E>(self) -> Result<Labels, E> {
                Ok(Labels::new())
            }
        }
        deserializer.deserialize_map(LabelsVisitor)
    }
}

/// A value of the input that decides nothing here but belongs to the object's identity.
///
/// A changed command line or environment makes a Deployment roll out, so it must survive reading, patching and
/// comparing. It is kept as interned canonical JSON: equal values are one pointer, however many pods carry them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opaque(Option<Symbol>);

impl Opaque {
    /// Nothing was written.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Whether nothing was written.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0.is_none()
    }

    /// The value after a change; nothing stays nothing.
    #[must_use]
    pub fn map(self, change: impl FnOnce(&mut serde_json::Value)) -> Self {
        // What is kept is JSON that was read.
        let mut value = serde_json::from_str(self.as_json()).unwrap_or_default();
        change(&mut value);
        Self::from(&value)
    }

    /// The value as JSON on one line; `null` if nothing was written.
    #[must_use]
    pub fn as_json(self) -> &'static str {
        self.0.map_or("null", Symbol::as_str)
    }
}

impl Default for Opaque {
    fn default() -> Self {
        Self::none()
    }
}

impl From<&serde_json::Value> for Opaque {
    fn from(value: &serde_json::Value) -> Self {
        if value.is_null() { Self(None) } else { Self(Some(Symbol::from(value.to_string().as_str()))) }
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_json())
    }
}

impl Serialize for Opaque {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value: serde_json::Value = serde_json::from_str(self.as_json()).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Opaque {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&serde_json::Value::deserialize(deserializer)?))
    }
}

/// Reads an optional name whose empty text means the same as its absence.
pub(crate) fn empty_symbol_is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Symbol>, D::Error> {
    Ok(Option::<Symbol>::deserialize(deserializer)?.filter(|text| !text.as_str().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_a_map_in_the_order_of_the_keys() {
        #[track_caller]
        fn check(labels: &Labels, expected: &str) {
            assert_eq!(labels.to_string(), expected);
            let json = serde_json::to_string(labels).unwrap();
            assert_eq!(&serde_json::from_str::<Labels>(&json).unwrap(), labels);
        }
        let labels: Labels = serde_json::from_str(r#"{"z":"1","a":"2","m":null}"#).unwrap();
        check(&labels, "a=2,m=,z=1");
        check(&labels.with("b".into(), "3".into()), "a=2,b=3,m=,z=1");
        check(&labels.with("a".into(), "3".into()), "a=3,m=,z=1");
        check(&labels.without("m".into()), "a=2,z=1");
        check(&labels.without("q".into()), "a=2,m=,z=1");
        check(&Labels::new().without("q".into()), "");
        assert_eq!(labels.get("a".into()).map(Symbol::as_str), Some("2"));
        assert!(!labels.contains("q".into()));
    }

    #[test]
    fn opaque_values_are_equal_when_their_content_is() {
        let read = |json: &str| serde_json::from_str::<Opaque>(json).unwrap();
        assert_eq!(read(r#"{"b": 1, "a": [2]}"#), read(r#"{"a":[2],"b":1}"#));
        assert_ne!(read("1"), read("2"));
        assert!(read("null").is_none());
        assert_eq!(serde_json::to_string(&read(r#"["x"]"#)).unwrap(), r#"["x"]"#);
    }
}
