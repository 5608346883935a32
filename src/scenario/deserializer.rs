//! The tree as serde reads it: words, numbers and maps in the forms of YAML 1.1, each with its place.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::document::{Entry, Node, Value};
use crate::chaos::STRUCT_BY_KIND;
use crate::diagnostics::{Diagnostic, Location, nearest};

/// What is wrong with a value, and which value it is.
#[derive(Debug)]
pub(super) struct DecodeError {
    pub(super) problem: Problem,
    /// The value, by its address in the tree, and where to point.
    pub(super) culprit: Option<(*const Node, Location)>,
}

#[derive(Debug)]
pub(super) enum Problem {
    UnknownField { field: String, expected: &'static [&'static str] },
    MissingField(&'static str),
    UnknownVariant { variant: String, expected: &'static [&'static str] },
    Invalid(String),
}

impl DecodeError {
    fn at(mut self, node: &Node) -> Self {
        self.culprit.get_or_insert_with(|| (std::ptr::from_ref(node), node.location.clone()));
        self
    }

    fn at_entry(mut self, entry: &Entry) -> Self {
        self.culprit.get_or_insert_with(|| (std::ptr::from_ref(&entry.node), entry.key_location.clone()));
        self
    }
}

impl Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { problem: Problem::Invalid(message.to_string()), culprit: None }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self { problem: Problem::UnknownField { field: field.to_owned(), expected }, culprit: None }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { problem: Problem::MissingField(field), culprit: None }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self { problem: Problem::UnknownVariant { variant: variant.to_owned(), expected }, culprit: None }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected.to_string();
        Self::custom(format_args!("expected {}, found {}", in_words(&expected), Found(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::UnknownField { field, .. } => write!(formatter, "`{field}` is not a field here"),
            Problem::MissingField(field) => write!(formatter, "`{field}` is missing"),
            Problem::UnknownVariant { variant, expected } => {
                write!(formatter, "`{variant}` is not one of {}", quoted(expected))
            }
            Problem::Invalid(message) => formatter.write_str(message),
        }
    }
}

impl std::error::Error for DecodeError {}

/// A found value in words.
struct Found<'a>(Unexpected<'a>);

impl fmt::Display for Found<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Unexpected::Str(text) => write!(formatter, "the text `{text}`"),
            Unexpected::Unit | Unexpected::Option => formatter.write_str("nothing"),
            Unexpected::Bool(value) => write!(formatter, "`{value}`"),
            Unexpected::Unsigned(number) => write!(formatter, "the number {number}"),
            Unexpected::Signed(number) => write!(formatter, "the number {number}"),
            Unexpected::Float(number) => write!(formatter, "the number {number}"),
            Unexpected::Seq => formatter.write_str("a list"),
            Unexpected::Map => formatter.write_str("a map"),
            other => write!(formatter, "{other}"),
        }
    }
}

/// What serde expects, for people.
fn in_words(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 18446744073709551615",
        "i8" | "i16" | "i32" => "a whole number from -2147483648 to 2147483647",
        "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "`true` or `false`",
        "a string" | "a borrowed string" => "text",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a map",
        other => other,
    }
}

/// Words in a row.
pub(super) fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// A number as it is written, in the forms of YAML 1.1.
pub(super) enum Number {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
}

/// What a plain word is as a number.
pub(super) fn number(text: &str) -> Option<Number> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let is_digits = |text: &str, radix| !text.is_empty() && text.chars().all(|character| character.is_digit(radix));
    let with_radix =
        |text: &str, radix| is_digits(text, radix).then(|| u64::from_str_radix(text, radix).ok()).flatten();
    let magnitude = if let Some(hex) = digits.strip_prefix("0x") {
        with_radix(hex, 16)
    } else if let Some(octal) = digits.strip_prefix("0o") {
        with_radix(octal, 8)
    } else if digits.len() > 1 && digits.starts_with('0') && is_digits(digits, 10) {
        with_radix(digits, 8)
    } else {
        with_radix(digits, 10)
    };
    if let Some(magnitude) = magnitude {
        return if is_negative {
            0_i64.checked_sub_unsigned(magnitude).map(Number::Signed)
        } else {
            Some(Number::Unsigned(magnitude))
        };
    }
    let looks_like_float = digits.starts_with(|character: char| character.is_ascii_digit() || character == '.')
        && digits.chars().all(|character| character.is_ascii_digit() || ".eE+-".contains(character))
        && digits.contains(|character: char| character.is_ascii_digit());
    looks_like_float.then(|| text.parse().ok()).flatten().filter(|value: &f64| value.is_finite()).map(Number::Float)
}

fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "on" => Some(true),
        "false" | "no" | "n" | "off" => Some(false),
        _ => None,
    }
}

/// A value being read.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) node: &'a Node,
    pub(super) near_misses: &'a RefCell<Vec<Diagnostic>>,
}

impl<'a> Cursor<'a> {
    fn to(self, node: &'a Node) -> Self {
        Self { node, ..self }
    }

    fn items(self, items: &'a [Node]) -> Items<'a> {
        Items { items: items.iter(), cursor: self }
    }

    fn fields(self, entries: &'a [Entry]) -> Fields<'a> {
        Fields { first: None, is_begun: false, entries: entries.iter(), current: None, cursor: self }
    }

    /// Remarks on keys that no field has but nearly.
    fn note_near_misses(self, fields: &[&str]) {
        let Value::Map(entries) = &self.node.value else { return };
        for entry in entries.iter().filter(|entry| !fields.contains(&&*entry.key) && !entry.node.is_removed()) {
            if let Some(name) = nearest(&entry.key, fields.iter().copied()) {
                let message = format!("`{}` has no effect", entry.key);
                self.near_misses.borrow_mut().push(
                    Diagnostic::warning("scenario::near_miss", message)
                        .at(entry.key_location.clone(), "not a field that decides anything here")
                        .help(format!("the nearest field is `{name}`")),
                );
            }
        }
    }

    fn visit_scalar<'de, V: Visitor<'de>>(text: &str, is_plain: bool, visitor: V) -> Result<V::Value, DecodeError> {
        if !is_plain {
            return visitor.visit_str(text);
        }
        if matches!(text, "" | "~" | "null" | "Null" | "NULL") {
            return visitor.visit_unit();
        }
        // Only whole words: a single letter is a name far more often than an answer.
        if let Some(value) = boolean(text).filter(|_| text.len() > 1) {
            return visitor.visit_bool(value);
        }
        match number(text) {
            Some(Number::Unsigned(value)) => visitor.visit_u64(value),
            Some(Number::Signed(value)) => visitor.visit_i64(value),
            Some(Number::Float(value)) => visitor.visit_f64(value),
            None => visitor.visit_str(text),
        }
    }

    /// A whole number, which may be written with an exponent.
    fn visit_whole<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        /// Up to here every whole number has a float of its own.
        const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
        let Value::Scalar { text, is_plain: true, .. } = &self.node.value else { return self.visit(visitor) };
        match number(text) {
            Some(Number::Float(value)) if value.fract() == 0.0 && value.abs() <= EXACT_MAX => {
                if value < 0.0 {
                    visitor.visit_i64(value as i64)
                } else {
                    visitor.visit_u64(value as u64)
                }
            }
            // As it is written: a float would show other digits.
            Some(Number::Float(_)) => {
                Err(DecodeError::invalid_type(Unexpected::Other(&format!("the number {text}")), &visitor))
            }
            _ => self.visit(visitor),
        }
    }

    fn visit<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Scalar { text, is_plain, .. } => Self::visit_scalar(text, *is_plain, visitor),
            Value::List(items) => visitor.visit_seq(self.items(items)),
            Value::Map(entries) => visitor.visit_map(self.fields(entries)),
            Value::Removed => visitor.visit_unit(),
        }
    }
}

macro_rules! visit_as_written {
    ($($method:ident)+) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            self.visit(visitor).map_err(|error| error.at(self.node))
        }
    )+ };
}

macro_rules! visit_whole_number {
    ($($method:ident)+) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            self.visit_whole(visitor).map_err(|error| error.at(self.node))
        }
    )+ };
}

macro_rules! visit_map_or_nothing {
    ($visitor:ident, $self:ident) => {
        if $self.node.is_null() {
            $visitor.visit_map($self.fields(&[])).map_err(|error| error.at($self.node))
        } else {
            $self.visit($visitor).map_err(|error| error.at($self.node))
        }
    };
}

impl<'de> Deserializer<'de> for Cursor<'_> {
    type Error = DecodeError;

    visit_as_written! {
        deserialize_any deserialize_f32 deserialize_f64 deserialize_unit
    }

    visit_whole_number! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Scalar { text, is_plain: true, .. } if boolean(text).is_some() => {
                visitor.visit_bool(boolean(text) == Some(true))
            }
            _ => self.visit(visitor),
        }
        .map_err(|error| error.at(self.node))
    }

    /// Text is taken as it is written, whatever else it might mean.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node.value {
            Value::Scalar { text, .. } if !self.node.is_null() => visitor.visit_str(text),
            _ => self.visit(visitor),
        }
        .map_err(|error| error.at(self.node))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.node.is_null() || self.node.is_removed() { visitor.visit_none() } else { visitor.visit_some(self) }
            .map_err(|error| error.at(self.node))
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self).map_err(|error| error.at(self.node))
    }

    /// A list that is left empty is an empty list.
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.node.is_null() { visitor.visit_seq(self.items(&[])) } else { self.visit(visitor) }
            .map_err(|error| error.at(self.node))
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visit_map_or_nothing!(visitor, self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.node.read_as(fields);
        self.note_near_misses(fields);
        match &self.node.value {
            Value::List(_) => Err(DecodeError::invalid_type(Unexpected::Seq, &"a map").at(self.node)),
            Value::Scalar { text, .. } if !self.node.is_null() => {
                Err(DecodeError::invalid_type(Unexpected::Str(text), &"a map").at(self.node))
            }
            Value::Map(entries) if name == STRUCT_BY_KIND => {
                let mut in_order = self.fields(entries);
                in_order.first = self.node.entry("kind");
                visitor.visit_map(in_order).map_err(|error| error.at(self.node))
            }
            _ => visit_map_or_nothing!(visitor, self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_enum(Variant(self)).map_err(|error| error.at(self.node))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }
}

struct Items<'a> {
    items: std::slice::Iter<'a, Node>,
    cursor: Cursor<'a>,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DecodeError> {
        let next = self.items.find(|item| !item.is_removed());
        next.map(|item| seed.deserialize(self.cursor.to(item)).map_err(|error| error.at(item))).transpose()
    }
}

struct Fields<'a> {
    /// A field that is read before all others.
    first: Option<&'a Entry>,
    is_begun: bool,
    entries: std::slice::Iter<'a, Entry>,
    current: Option<&'a Entry>,
    cursor: Cursor<'a>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = DecodeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, DecodeError> {
        let is_next =
            |entry: &&Entry| !entry.node.is_removed() && self.first.is_none_or(|first| !std::ptr::eq(first, *entry));
        self.current = match self.first.filter(|_| !std::mem::replace(&mut self.is_begun, true)) {
            Some(first) => Some(first),
            None => self.entries.find(is_next),
        };
        let Some(entry) = self.current else { return Ok(None) };
        let key: StrDeserializer<'_, DecodeError> = (&*entry.key).into_deserializer();
        seed.deserialize(key).map(Some).map_err(|error| error.at_entry(entry))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DecodeError> {
        let entry = self.current.take().expect("a value is asked for after its key");
        seed.deserialize(self.cursor.to(&entry.node)).map_err(|error| error.at(&entry.node))
    }
}

struct Variant<'a>(Cursor<'a>);

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = DecodeError;
    type Variant = VariantContent<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, VariantContent<'a>), DecodeError> {
        match &self.0.node.value {
            Value::Scalar { text, .. } => {
                let word: StrDeserializer<'_, DecodeError> = (&**text).into_deserializer();
                Ok((seed.deserialize(word)?, VariantContent(None)))
            }
            Value::Map(entries) if entries.len() == 1 => {
                let word: StrDeserializer<'_, DecodeError> = (&*entries[0].key).into_deserializer();
                Ok((seed.deserialize(word)?, VariantContent(Some(self.0.to(&entries[0].node)))))
            }
            Value::Map(_) => Err(DecodeError::invalid_type(Unexpected::Map, &"one word")),
            Value::List(_) => Err(DecodeError::invalid_type(Unexpected::Seq, &"one word")),
            Value::Removed => Err(DecodeError::invalid_type(Unexpected::Unit, &"one word")),
        }
    }
}

struct VariantContent<'a>(Option<Cursor<'a>>);

impl<'de> VariantAccess<'de> for VariantContent<'_> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        match self.0 {
            None => Ok(()),
            Some(cursor) => Err(DecodeError::custom("nothing is written behind this word").at(cursor.node)),
        }
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, DecodeError> {
        match self.0 {
            Some(cursor) => seed.deserialize(cursor),
            None => Err(DecodeError::custom("this word needs a value")),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Some(cursor) => cursor.deserialize_seq(visitor),
            None => Err(DecodeError::custom("this word needs a list")),
        }
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, DecodeError> {
        match self.0 {
            Some(cursor) => cursor.deserialize_map(visitor),
            None => Err(DecodeError::custom("this word needs a map")),
        }
    }
}
