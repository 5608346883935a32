//! Amounts of resources: as written, and as the scheduler counts them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use smallvec::SmallVec;

use super::api_type::api_structs;
use crate::arena::Symbol;
use crate::units::Quantity;

/// Amounts as written, in the order of the resource names' text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceList(Vec<(Symbol, Quantity)>);

impl ResourceList {
    /// The amount of a resource, if it is named at all; an explicit zero is `Some`.
    #[must_use]
    pub fn get(&self, name: Symbol) -> Option<&Quantity> {
        self.0.iter().find(|entry| entry.0 == name).map(|entry| &entry.1)
    }

    /// Whether a resource is named, be it with zero.
    #[must_use]
    pub fn contains(&self, name: Symbol) -> bool {
        self.get(name).is_some()
    }

    /// Adds or replaces an amount.
    pub fn insert(&mut self, name: Symbol, amount: Quantity) {
        match self.0.binary_search_by(|entry| entry.0.cmp(&name)) {
            Ok(index) => self.0[index].1 = amount,
            Err(index) => self.0.insert(index, (name, amount)),
        }
    }

    /// The amounts in the order of the names' text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Symbol, &Quantity)> {
        self.0.iter().map(|entry| (entry.0, &entry.1))
    }

    /// Whether no resource is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(Symbol, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (Symbol, Quantity)>>(entries: I) -> Self {
        let mut list = Self::default();
        for (name, amount) in entries {
            list.insert(name, amount);
        }
        list
    }
}

impl Serialize for ResourceList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for ResourceList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor;
        impl<'de> Visitor<'de> for ListVisitor {
            type Value = ResourceList;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map of resource names to quantities")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ResourceList, A::Error> {
                let mut list = ResourceList::default();
                while let Some((name, amount)) = map.next_entry::<Symbol, Quantity>()? {
                    list.insert(name, amount);
                }
                Ok(list)
            }

            fn visit_unit<E>(self) -> Result<ResourceList, E> {
                Ok(ResourceList::default())
            }
        }
        deserializer.deserialize_map(ListVisitor)
    }
}

api_structs! {
    /// `resources` of a container or a pod.
    pub struct ResourceRequirements {
        pub requests: ResourceList,
        pub limits: ResourceList,
    }
}

/// Amounts as the scheduler counts them: CPU in thousandths of a core, the rest in bytes or pieces, each rounded up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a CPU core.
    pub cpu_milli: i64,
    /// Bytes of memory.
    pub memory: i64,
    /// Bytes of local ephemeral storage.
    pub ephemeral_storage: i64,
    /// Extended resources, huge pages and attachable volumes that are named, in the order of their names' text.
    pub scalars: SmallVec<[(Symbol, i64); 2]>,
}
