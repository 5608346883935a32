//! The two macros that write the API types, and how their fields read JSON and YAML.
//!
//! The API server's decoder takes an absent field, `null` and the zero value for the same thing nearly everywhere, and
//! leaves zero values out when it writes. Saying so once per macro instead of three attributes per field keeps the type
//! files readable and makes it impossible to forget one.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::field_path::{FieldPath, Step};
use super::meta::{Labels, Opaque};
use super::resources::ResourceList;
use crate::arena::Symbol;
use crate::units::{IntOrPercent, Quantity, SimDuration};

/// A closed set of API words.
pub trait ApiEnum: Copy + Sized + 'static {
    /// Every accepted word, in the order of the variants.
    const WORDS: &'static [&'static str];
    /// The variant of a word; words are case-sensitive, as in the API.
    fn parse(word: &str) -> Option<Self>;
}

/// Reads a field whose `null` means the same as its absence.
pub(crate) fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads an optional API word whose empty text means the same as its absence.
pub(crate) fn empty_is_none<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: ApiEnum,
{
    struct Word<T>(Option<T>);
    impl<'de, T: ApiEnum> Deserialize<'de> for Word<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_str(WordVisitor::<T>(PhantomData)).map(Word)
        }
    }
    Ok(Option::<Word<T>>::deserialize(deserializer)?.and_then(|word| word.0))
}

thread_local! {
    static IS_WHOLE: Cell<bool> = const { Cell::new(false) };
}

/// Writes something as the API server would, which fills in defaults and demands other words: a word of a closed set is there even where it is
/// what its absence means. People leave such words out, and so does what is written for them.
pub(crate) fn whole<T>(write: impl FnOnce() -> T) -> T {
    struct Until(bool);
    impl Drop for Until {
        fn drop(&mut self) {
            IS_WHOLE.set(self.0);
        }
    }
    let _until = Until(IS_WHOLE.replace(true));
    write()
}

/// Whether words are written even where they are defaults.
pub(crate) fn is_whole() -> bool {
    IS_WHOLE.get()
}

/// What all values of the API types have.
pub(crate) trait ApiValue {
    /// Calls `visit` with the path of each part that is kept but decides nothing; `path` is where this value stands, and is the same
    /// afterwards.
    fn opaque_parts(&self, path: &mut FieldPath, visit: &mut dyn FnMut(&FieldPath));

    /// Whether a field of this value is left out when the object is written: who reads it takes its absence for the same.
    fn is_left_out(&self) -> bool
    where
        Self: Default + PartialEq,
    {
        *self == Self::default()
    }
}

impl ApiValue for Opaque {
    fn opaque_parts(&self, path: &mut FieldPath, visit: &mut dyn FnMut(&FieldPath)) {
        if !self.is_none() {
            visit(path);
        }
    }
}

impl<T: ApiValue> ApiValue for Option<T> {
    fn opaque_parts(&self, path: &mut FieldPath, visit: &mut dyn FnMut(&FieldPath)) {
        if let Some(value) = self {
            value.opaque_parts(path, visit);
        }
    }
}

impl<T: ApiValue> ApiValue for Box<T> {
    fn opaque_parts(&self, path: &mut FieldPath, visit: &mut dyn FnMut(&FieldPath)) {
        (**self).opaque_parts(path, visit);
    }
}

impl<T: ApiValue> ApiValue for std::sync::Arc<T> {
    fn opaque_parts(&self, path: &mut FieldPath, visit: &mut dyn FnMut(&FieldPath)) {
        (**self).opaque_parts(path, visit);
    }
}

impl<T: ApiValue> ApiValue for Vec<T> {
    fn opaque_parts(&self, path: &mut FieldPath, visit: &mut dyn FnMut(&FieldPath)) {
        for (index, value) in self.iter().enumerate() {
            path.push(Step::Index(index));
            value.opaque_parts(path, visit);
            path.pop();
        }
    }
}

macro_rules! without_opaque_parts {
    ($($type:ty),+) => { $(impl ApiValue for $type {
        fn opaque_parts(&self, _path: &mut FieldPath, _visit: &mut dyn FnMut(&FieldPath)) {}
    })+ };
}

without_opaque_parts!(
    Symbol,
    bool,
    i32,
    i64,
    f64,
    Labels,
    ResourceList,
    Quantity,
    IntOrPercent,
    SimDuration,
    serde_json::Value
);

impl<K, V> ApiValue for std::collections::BTreeMap<K, V> {
    fn opaque_parts(&self, _path: &mut FieldPath, _visit: &mut dyn FnMut(&FieldPath)) {}
}

/// The API's name of a Rust field. Only fields that hold an [`Opaque`] below them must come out right.
pub(crate) fn api_field_name(field: &str) -> String {
    match field {
        "downward_api" => return "downwardAPI".to_owned(),
        "pod_cidrs" => return "podCIDRs".to_owned(),
        _ => {}
    }
    let mut words = field.split('_');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(word.len().min(1));
        name.push_str(&first.to_ascii_uppercase());
        name.push_str(rest);
    }
    name
}

/// Reads one word; the empty word is `None`.
pub(crate) struct WordVisitor<T>(pub(crate) PhantomData<T>);

impl<T: ApiEnum> Visitor<'_> for WordVisitor<T> {
    type Value = Option<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "one of {}", T::WORDS.join(", "))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Option<T>, E> {
        if word.is_empty() {
            return Ok(None);
        }
        match T::parse(word) {
            Some(value) => Ok(Some(value)),
            None => Err(E::custom(format_args!("`{word}` is not one of `{}`", T::WORDS.join("`, `")))),
        }
    }
}

/// Writes API structs: camelCase names, absent = `null` = default, defaults left out on output.
///
/// A field may name its own reader after `=`. The fields carry the API's own names and meanings; a field has a comment
/// only where we do something a reader of the API reference would not expect.
macro_rules! api_structs {
    ($($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* })*) => { $(
        crate::model::api_type::api_fields! {
            [
                $(#[$meta])*
                #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
                #[serde(rename_all = "camelCase")]
                #[allow(missing_docs, reason = "fields are the API's own; its reference documents them")]
                pub struct $name
            ] {} $($fields)*
        }
        crate::model::api_type::api_opaque_parts! { $name {} $($fields)* }
    )* };
}

/// Puts the serde attributes on the fields of one struct.
macro_rules! api_fields {
    ([$($head:tt)*] { $($done:tt)* }) => { $($head)* { $($done)* } };
    ($head:tt { $($done:tt)* } $(#[$meta:meta])* pub $field:ident : $type:ty, $($rest:tt)*) => {
        crate::model::api_type::api_fields! { $head {
            $($done)*
            $(#[$meta])*
            #[serde(
                default,
                deserialize_with = "crate::model::api_type::null_is_default",
                skip_serializing_if = "crate::model::api_type::ApiValue::is_left_out"
            )]
            pub $field: $type,
        } $($rest)* }
    };
    ($head:tt { $($done:tt)* } $(#[$meta:meta])* pub $field:ident : $type:ty = $reader:literal, $($rest:tt)*) => {
        crate::model::api_type::api_fields! { $head {
            $($done)*
            $(#[$meta])*
            #[serde(
                default,
                deserialize_with = $reader,
                skip_serializing_if = "crate::model::api_type::ApiValue::is_left_out"
            )]
            pub $field: $type,
        } $($rest)* }
    };
}

/// Writes how the opaque parts of one struct are found.
macro_rules! api_opaque_parts {
    ($name:ident { $([$field:ident $api_name:expr])* }) => {
        impl crate::model::api_type::ApiValue for $name {
            fn opaque_parts(
                &self,
                path: &mut crate::model::field_path::FieldPath,
                visit: &mut dyn FnMut(&crate::model::field_path::FieldPath),
            ) {
                $(path.push(crate::model::field_path::Step::Field($api_name));
                crate::model::api_type::ApiValue::opaque_parts(&self.$field, path, visit);
                path.pop();)*
            }
        }
    };
    // A field whose name in the API does not follow from its own.
    (
        $name:ident { $($done:tt)* } $(#[doc = $doc:literal])* #[serde(rename = $api_name:literal)]
        pub $field:ident : $type:ty $(= $reader:literal)?, $($rest:tt)*
    ) => {
        crate::model::api_type::api_opaque_parts! { $name { $($done)* [$field $api_name] } $($rest)* }
    };
    ($name:ident { $($done:tt)* } $(#[$meta:meta])* pub $field:ident : $type:ty $(= $reader:literal)?, $($rest:tt)*) => {
        crate::model::api_type::api_opaque_parts! { $name { $($done)* [$field stringify!($field)] } $($rest)* }
    };
}

/// What all sets of API words have: nothing that could be opaque, and their text by `as_str`. Of a set with a default the word is
/// written whatever it is where [`whole`] objects are.
macro_rules! api_words {
    ($name:ident $(@ $default:ident)?) => {
        impl crate::model::api_type::ApiValue for $name {
            fn opaque_parts(
                &self,
                _path: &mut crate::model::field_path::FieldPath,
                _visit: &mut dyn FnMut(&crate::model::field_path::FieldPath),
            ) {
            }

            $(crate::model::api_type::api_words! { @written $default })?
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }
    };
    (@written $default:ident) => {
        fn is_left_out(&self) -> bool {
            *self == Self::default() && !crate::model::api_type::is_whole()
        }
    };
}

/// Writes closed sets of API words. `or Variant` after the name makes that variant the default and the meaning of the
/// empty text; it is written nevertheless where [`whole`] objects are.
macro_rules! api_enums {
    ($($(#[$meta:meta])* pub enum $name:ident $(or $default:ident)? {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),+ $(,)?
    })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "variants are the API's own words")]
        pub enum $name { $($(#[$variant_meta])* $variant),+ }

        impl $name {
            /// The API's word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl crate::model::api_type::ApiEnum for $name {
            const WORDS: &'static [&'static str] = &[$($word),+];
            fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }

        crate::model::api_type::api_words! { $name $(@ $default)? }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = deserializer
                    .deserialize_str(crate::model::api_type::WordVisitor::<Self>(std::marker::PhantomData))?;
                $(return Ok(word.unwrap_or(Self::$default));)?
                #[allow(unreachable_code, reason = "reached by enums without a default")]
                word.ok_or_else(|| {
                    let words = <Self as crate::model::api_type::ApiEnum>::WORDS;
                    serde::de::Error::custom(format_args!("the empty text is not one of `{}`", words.join("`, `")))
                })
            }
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        })?
    )* };
}

/// Writes sets of API words to which anybody may add: unknown ones are kept as `Other`.
macro_rules! api_open_enums {
    ($($(#[$meta:meta])* pub enum $name:ident { $($variant:ident = $word:literal),+ $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "variants are the API's own words")]
        pub enum $name { $($variant,)+ Other(crate::arena::Symbol) }

        impl $name {
            /// The API's word.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ Self::Other(word) => word.as_str() }
            }
        }

        impl From<crate::arena::Symbol> for $name {
            fn from(word: crate::arena::Symbol) -> Self {
                match word.as_str() { $($word => Self::$variant,)+ _ => Self::Other(word) }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(crate::arena::Symbol::default())
            }
        }

        crate::model::api_type::api_words! { $name }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Ok(<crate::arena::Symbol as serde::Deserialize>::deserialize(deserializer)?.into())
            }
        }
    )* };
}

pub(crate) use {api_enums, api_fields, api_opaque_parts, api_open_enums, api_structs, api_words};
