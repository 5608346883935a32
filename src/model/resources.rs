//! Amounts of resources: as written, and as the scheduler counts them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use smallvec::SmallVec;

use super::api_type::api_structs;
use super::meta::Opaque;
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

    /// Rounds amounts finer than a thousandth up, as the API server does with every list it stores.
    pub fn round_up_to_milli(&mut self) {
        for (_, amount) in &mut self.0 {
            if amount.nano_value() % 1_000_000 != 0 {
                *amount = Quantity::from_milli(amount.milli_value()).with_format(amount.format());
            }
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
                while let Some((name, amount)) = map.next_entry::<Symbol, Option<Quantity>>()? {
                    // The API server reads `null` as zero.
                    list.insert(name, amount.unwrap_or_default());
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
        /// Which of the pod's `resourceClaims` a container uses.
        pub claims: Opaque,
    }
}

impl ResourceRequirements {
    /// Fills in what the API server would: amounts are rounded up to thousandths.
    pub fn apply_defaults(&mut self) {
        self.requests.round_up_to_milli();
        self.limits.round_up_to_milli();
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

impl Resources {
    /// Whether not a single resource is requested, in which case only the number of pods can keep a pod off a node.
    #[must_use]
    pub fn requests_nothing(&self) -> bool {
        self.cpu_milli == 0
            && self.memory == 0
            && self.ephemeral_storage == 0
            && self.scalars.iter().all(|scalar| scalar.1 == 0)
    }

    /// The amount of a scalar resource; 0 if it is not named.
    #[must_use]
    pub fn scalar(&self, name: Symbol) -> i64 {
        self.scalars.iter().find(|scalar| scalar.0 == name).map_or(0, |scalar| scalar.1)
    }

    /// Adds another amount to this one.
    pub fn add(&mut self, other: &Self) {
        self.combine(other, i64::saturating_add);
    }

    /// Takes another amount off this one. What becomes of it may be negative: nodes can be over-committed.
    pub fn sub(&mut self, other: &Self) {
        self.combine(other, i64::saturating_sub);
    }

    fn combine(&mut self, other: &Self, combine: fn(i64, i64) -> i64) {
        self.cpu_milli = combine(self.cpu_milli, other.cpu_milli);
        self.memory = combine(self.memory, other.memory);
        self.ephemeral_storage = combine(self.ephemeral_storage, other.ephemeral_storage);
        for &(name, amount) in &other.scalars {
            match self.scalars.binary_search_by(|scalar| scalar.0.cmp(&name)) {
                Ok(index) => self.scalars[index].1 = combine(self.scalars[index].1, amount),
                Err(index) => self.scalars.insert(index, (name, combine(0, amount))),
            }
        }
    }
}

impl From<&ResourceList> for Resources {
    fn from(list: &ResourceList) -> Self {
        let mut total = Amounts::default();
        total.add(list);
        total.rounded_up()
    }
}

/// Whether the scheduler keeps a count of a resource besides CPU, memory, ephemeral storage and pods.
#[must_use]
pub fn is_scalar_resource(name: &str) -> bool {
    name.starts_with("hugepages-")
        || name.starts_with("attachable-volumes-")
        || name.contains("kubernetes.io/")
        || (name.contains('/') && !name.starts_with("requests."))
}

/// Whether a resource may be asked for by a pod as a whole.
pub(crate) fn is_pod_level_resource(name: &str) -> bool {
    name == "cpu" || name == "memory" || name.starts_with("hugepages-")
}

/// Exact amounts by resource name, in the order of the names' text; rounding comes last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Amounts(SmallVec<[(Symbol, Quantity); 4]>);

impl Amounts {
    pub(crate) fn names(&self, name: &str) -> bool {
        self.0.iter().any(|amount| amount.0.as_str() == name)
    }

    pub(crate) fn get(&self, name: Symbol) -> Option<&Quantity> {
        self.0.iter().find(|amount| amount.0 == name).map(|amount| &amount.1)
    }

    pub(crate) fn set(&mut self, name: Symbol, amount: Quantity) {
        *self.entry(name) = amount;
    }

    pub(crate) fn add(&mut self, list: &ResourceList) {
        for (name, amount) in list.iter() {
            self.add_one(name, amount);
        }
    }

    pub(crate) fn add_all(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            self.add_one(*name, amount);
        }
    }

    pub(crate) fn add_one(&mut self, name: Symbol, amount: &Quantity) {
        let entry = self.entry(name);
        *entry += *amount;
    }

    pub(crate) fn raise_to(&mut self, other: &Self) {
        for (name, amount) in &other.0 {
            let entry = self.entry(*name);
            *entry = (*entry).max(*amount);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Symbol, &Quantity)> {
        self.0.iter().map(|amount| (amount.0, &amount.1))
    }

    pub(crate) fn rounded_up(&self) -> Resources {
        let mut resources = Resources::default();
        for (name, amount) in &self.0 {
            match name.as_str() {
                "cpu" => resources.cpu_milli = amount.milli_value(),
                "memory" => resources.memory = amount.value(),
                "ephemeral-storage" => resources.ephemeral_storage = amount.value(),
                text if is_scalar_resource(text) => resources.scalars.push((*name, amount.value())),
                _ => {}
            }
        }
        resources
    }

    fn entry(&mut self, name: Symbol) -> &mut Quantity {
        let index = match self.0.binary_search_by(|amount| amount.0.cmp(&name)) {
            Ok(index) => index,
            Err(index) => {
                self.0.insert(index, (name, Quantity::default()));
                index
            }
        };
        &mut self.0[index].1
    }
}
