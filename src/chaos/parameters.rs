//! What a kind of fault can say: its parameters, as a struct of its own and as fields of a document, declared once.

use serde::de::{DeserializeOwned, MapAccess};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};

use super::{PodTarget, ProcessName};
use crate::engine::Distribution;
use crate::model::ResourceList;
use crate::units::{Named, SimDuration};

/// A field of a fault's document.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it says, in a line of the reference.
    pub about: &'static str,
    /// What to add if it is missing; none if it may be.
    pub needed: Option<&'static str>,
}

/// The parameters of a kind; made by `parameters!`.
pub(super) trait Parameters: Sized {
    /// The fields.
    const FIELDS: &'static [Field];

    /// What its fields look like, in their order.
    #[cfg(feature = "cli")]
    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema>;

    /// Nothing is said.
    fn absent() -> Self;

    /// Reads the value of a field; false if there is none of that name.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error>;

    /// Writes the fields that say something.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;

    /// The distributions among them, by their fields.
    fn distributions(&mut self) -> Vec<(&'static str, &mut Distribution)>;
}

/// A value that a field can have.
#[diagnostic::on_unimplemented(
    message = "no field of a fault has held a `{Self}` yet",
    note = "say in `chaos/parameters.rs` what stands where nothing is written, or wrap it in `Option`"
)]
pub(super) trait Parameter: Serialize + DeserializeOwned {
    /// What stands where nothing is written, or nothing that can be read. For a field that is needed it is never played, and is a value
    /// that no check minds: what is missing has been reported.
    fn absent() -> Self;

    /// Reads what is written.
    fn read<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Self, A::Error> {
        map.next_value()
    }

    /// Whether this says nothing.
    fn is_absent(&self) -> bool {
        false
    }

    fn distribution(&mut self) -> Option<&mut Distribution> {
        None
    }
}

/// A value that a field may lack.
pub(super) trait Optional: Serialize + DeserializeOwned {
    fn distribution(&mut self) -> Option<&mut Distribution> {
        None
    }
}

impl<T: Optional> Parameter for Option<T> {
    fn absent() -> Self {
        None
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }

    fn distribution(&mut self) -> Option<&mut Distribution> {
        self.as_mut().and_then(Optional::distribution)
    }
}

impl Optional for bool {}
impl Optional for i32 {}
impl Optional for Length {}
impl Optional for Distribution {
    fn distribution(&mut self) -> Option<&mut Distribution> {
        Some(self)
    }
}

impl Parameter for Distribution {
    fn absent() -> Self {
        Self::Constant(SimDuration::from_secs(1))
    }

    fn distribution(&mut self) -> Option<&mut Distribution> {
        Some(self)
    }
}

impl Parameter for Length {
    fn absent() -> Self {
        Self(SimDuration::from_secs(1))
    }
}

/// A factor.
impl Parameter for f64 {
    fn absent() -> Self {
        2.0
    }
}

impl Parameter for PodTarget {
    fn absent() -> Self {
        Self::default()
    }
}

macro_rules! lists {
    ($($list:ty)*) => { $(
        impl Parameter for $list {
            fn absent() -> Self {
                Self::default()
            }

            fn is_absent(&self) -> bool {
                self.is_empty()
            }
        }
    )* };
}

lists! { Vec<ProcessName> ResourceList }

/// Names, or any if there is no list.
impl Parameter for Vec<String> {
    fn absent() -> Self {
        Self::new()
    }

    fn read<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Self, A::Error> {
        map.next_value().map(|Named(names)| names)
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

/// A length of time, which a document may give in days.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct Length(
    #[serde(with = "crate::units::with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    pub SimDuration,
);

/// Declares the parameters of a kind: `/// what it says`, `"field" name: Type`, and `needed "what to add"` if it must be there.
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        pub struct $kind:ident {
            $($(#[doc = $about:literal])+ $key:literal $field:ident: $type:ty $(, needed $add:literal)?;)*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $kind {
            $($(#[doc = $about])+ pub $field: $type,)*
        }

        impl $crate::chaos::parameters::Parameters for $kind {
            const FIELDS: &'static [$crate::chaos::Field] = &[$($crate::chaos::Field {
                name: $key,
                about: concat!($($about),+),
                needed: [$(Some($add),)? None][0],
            },)*];

            #[cfg(feature = "cli")]
            #[allow(unused_variables, reason = "some kinds have no parameters")]
            fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<schemars::Schema> {
                vec![$(generator.subschema_for::<$type>(),)*]
            }

            fn absent() -> Self {
                Self { $($field: $crate::chaos::parameters::Parameter::absent(),)* }
            }

            #[allow(unused_variables, reason = "some kinds have no parameters")]
            fn read<'de, A: serde::de::MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
                match key {
                    $($key => self.$field = $crate::chaos::parameters::Parameter::read(map)?,)*
                    _ => return Ok(false),
                }
                #[allow(unreachable_code, reason = "as above")]
                Ok(true)
            }

            #[allow(unused_variables, reason = "as above")]
            fn write<M: serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $(if !$crate::chaos::parameters::Parameter::is_absent(&self.$field) {
                    map.serialize_entry($key, &self.$field)?;
                })*
                Ok(())
            }

            fn distributions(&mut self) -> Vec<(&'static str, &mut $crate::engine::Distribution)> {
                let found: Vec<Option<(&'static str, &mut $crate::engine::Distribution)>> = vec![
                    $($crate::chaos::parameters::Parameter::distribution(&mut self.$field).map(|found| ($key, found)),)*
                ];
                found.into_iter().flatten().collect()
            }
        }
    };
}
