//! The kinds of faults, a file each, and the enums of all of them; nothing is boxed.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, EnumAccess, Error, MapAccess, VariantAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::fault::{Begun, Check, Course, Fault, Hit, Target};
use super::losses::Losses;
use super::parameters::{Field, Parameters};
use super::{Chaos, ChaosPlan};
use crate::component::{Ctx, Stops};
use crate::engine::Distribution;
use crate::state::{FaultId, MachineChange, NodeId};

macro_rules! declare {
    ($($module:ident::$kind:ident)*) => {
        $(mod $module;)*
        $(pub use $module::$kind;)*

        /// What goes wrong.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        pub enum FaultKind {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind,)*
        }

        impl FaultKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            const NAMES: &'static [&'static str] = &[$($kind::NAME,)*];

            /// The name in a scenario.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$kind => $kind::NAME,)* }
            }

            /// What it does, in a line of the reference.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Self::$kind => $kind::ABOUT,)* }
            }

            /// What became of what it hit: the end of a sentence that begins with how many they are.
            #[must_use]
            pub fn effect(self) -> &'static str {
                match self { $(Self::$kind => $kind::EFFECT,)* }
            }

            /// What does nothing while it lasts.
            #[must_use]
            pub fn stops(self) -> Stops {
                match self { $(Self::$kind => $kind::STOPS,)* }
            }

            /// In what it differs from what such a fault would be in reality; empty if in nothing that is known.
            #[must_use]
            pub fn differs(self) -> &'static str {
                match self { $(Self::$kind => $kind::DIFFERS,)* }
            }

            /// How it ends.
            #[must_use]
            pub fn course(self) -> Course {
                match self { $(Self::$kind => $kind::COURSE,)* }
            }

            /// Whether a node that it hits can lose the condition Ready, or its Node object, by it.
            #[must_use]
            pub fn makes_nodes_not_ready(self) -> bool {
                match self { $(Self::$kind => $kind::MAKES_NODES_NOT_READY,)* }
            }

            /// The fields that it alone has, or with some others.
            #[must_use]
            pub(super) fn own_fields(self) -> &'static [Field] {
                match self { $(Self::$kind => $kind::FIELDS,)* }
            }

            /// What those look like in documents.
            #[cfg(feature = "cli")]
            pub(super) fn schemas(self, generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
                match self { $(Self::$kind => <$kind as Parameters>::schemas(generator),)* }
            }

            /// What [`super::Timer::Due`] is for, in words.
            pub(super) fn due_in_words(self, node: &str) -> String {
                match self { $(Self::$kind => $kind::due_in_words(node),)* }
            }
        }

        /// A fault of any kind: what a scenario says of it.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AnyFault {
            $(#[doc = concat!("See [`", stringify!($kind), "`].")] $kind($kind),)*
        }

        $(impl From<$kind> for AnyFault {
            fn from(fault: $kind) -> Self {
                Self::$kind(fault)
            }
        })*

        impl From<FaultKind> for AnyFault {
            fn from(kind: FaultKind) -> Self {
                match kind { $(FaultKind::$kind => Self::$kind($kind::absent()),)* }
            }
        }

        impl AnyFault {
            /// Its kind.
            #[must_use]
            pub fn kind(&self) -> FaultKind {
                match self { $(Self::$kind(_) => FaultKind::$kind,)* }
            }

            /// What it is aimed at.
            #[must_use]
            pub fn target(&self) -> Target<'_> {
                match self { $(Self::$kind(fault) => fault.target(),)* }
            }

            /// Reports what is wrong with its parameters, each of which has the right type.
            pub fn check(&self, check: &mut Check<'_>) {
                match self { $(Self::$kind(fault) => fault.check(check),)* }
            }

            /// The distributions among its parameters, by their fields.
            pub fn distributions(&mut self) -> Vec<(&'static str, &mut Distribution)> {
                match self { $(Self::$kind(fault) => fault.distributions(),)* }
            }

            /// Reads the value of a field of its own; false if it has none of that name.
            pub(super) fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
                match self { $(Self::$kind(fault) => fault.read(key, map),)* }
            }

            /// Writes its own fields.
            pub(super) fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $(Self::$kind(fault) => fault.write(map),)* }
            }
        }

        /// What faults have done to the world and not yet undone: the losses of machines, and what each kind keeps for itself.
        #[derive(Clone, Debug, Default)]
        pub(super) struct Damage {
            losses: Losses,
            /// How many faults have begun.
            begun: u32,
            $($module: <$kind as Fault>::State,)*
        }

        impl Damage {
            /// A number for a fault that begins.
            pub(super) fn next_fault(&mut self) -> FaultId {
                self.begun += 1;
                FaultId(self.begun)
            }

            /// A fault begins.
            pub(super) fn begin(&mut self, fault: &AnyFault, hit: &Hit<'_>, ctx: &mut Ctx<'_, Chaos>) {
                match fault { $(AnyFault::$kind(fault) => fault.begin(hit, &mut self.$module, &mut self.losses, ctx),)* }
            }

            /// A fault ends.
            pub(super) fn end(&mut self, fault: &AnyFault, begun: &Begun, ctx: &mut Ctx<'_, Chaos>) {
                match fault { $(AnyFault::$kind(fault) => fault.end(begun, &mut self.$module, &mut self.losses, ctx),)* }
            }

            /// What follows from a change of the machines.
            pub(super) fn machine_changed(&mut self, change: &MachineChange, ctx: &mut Ctx<'_, Chaos>) {
                self.losses.machine_changed(change, ctx);
                $($kind::machine_changed(change, &mut self.$module, ctx);)*
            }

            /// What a kind waited for on a machine has come.
            pub(super) fn due(&mut self, kind: FaultKind, node: NodeId, ctx: &mut Ctx<'_, Chaos>) {
                match kind { $(FaultKind::$kind => $kind::due(node, &mut self.$module, &mut self.losses, ctx),)* }
            }
        }
    };
}

fault_kinds!(declare);

impl FaultKind {
    /// The fields that it alone has, or with some others, and what each says.
    #[cfg(feature = "serve")]
    pub(crate) fn described_fields(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.own_fields().iter().map(|field| (field.name, field.about))
    }

    /// Those of them that have to be there, each with what to add.
    pub(crate) fn needed_fields(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.own_fields().iter().filter_map(|field| Some((field.name, field.needed?)))
    }
}

impl Damage {
    /// Nothing is broken.
    pub(super) fn none(plan: Arc<ChaosPlan>) -> Self {
        Self { losses: Losses::none(plan), ..Self::default() }
    }
}

impl Serialize for FaultKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FaultKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The word, and that nothing stands behind it.
        struct Word;

        struct Known(FaultKind);

        impl<'de> Deserialize<'de> for Known {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                let kind = FaultKind::ALL.iter().copied().find(|kind| kind.as_str() == name);
                kind.map(Known).ok_or_else(|| D::Error::unknown_variant(&name, FaultKind::NAMES))
            }
        }

        impl<'de> Visitor<'de> for Word {
            type Value = FaultKind;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("enum FaultKind")
            }

            fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<FaultKind, A::Error> {
                let (Known(kind), content) = data.variant()?;
                content.unit_variant()?;
                Ok(kind)
            }
        }
        deserializer.deserialize_enum("FaultKind", FaultKind::NAMES, Word)
    }
}
