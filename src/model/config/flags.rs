//! Command line flags of control plane components as typed values.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::version::KubernetesVersion;
use crate::arena::Symbol;
use crate::diagnostics::suggest;
use crate::units::SimDuration;

/// Flags as the user wrote them, without the leading dashes; values may be text, numbers or booleans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlagMap(pub Vec<(Symbol, Symbol)>);

/// A flag of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// Its name, without dashes.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
}

/// A flag that does not exist, or a value it cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct FlagError {
    /// The name as it was written; its place in the document is known to the caller.
    pub flag: Symbol,
    /// What is wrong, naming the offending text.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl FlagError {
    pub(super) fn unknown(component: &str, flag: Symbol, flags: &[Flag], without_effect: &[&str]) -> Self {
        let known = flags.iter().map(|flag| flag.name).chain(without_effect.iter().copied());
        let name = flag.as_str().trim_start_matches('-');
        let nearest = suggest::nearest(name, known);
        Self {
            flag,
            message: format!("`{}` is not a flag of {component}", flag.as_str()),
            help: nearest.map(|name| format!("the nearest flag is `{name}`")),
        }
    }

    pub(super) fn value(flag: Symbol, value: Symbol, expected: &str, help: Option<String>) -> Self {
        Self {
            flag,
            message: format!("`{}` is not a value of `{}`, expected {expected}", value.as_str(), flag.as_str()),
            help,
        }
    }
}

impl Serialize for FlagMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|flag| (flag.0, flag.1)))
    }
}

impl<'de> Deserialize<'de> for FlagMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagVisitor;
        impl<'de> Visitor<'de> for FlagVisitor {
            type Value = FlagMap;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map of flags to values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FlagMap, A::Error> {
                let mut flags = Vec::new();
                while let Some((flag, FlagText(value))) = map.next_entry::<Symbol, FlagText>()? {
                    flags.push((flag, value));
                }
                Ok(FlagMap(flags))
            }

            fn visit_unit<E>(self) -> Result<FlagMap, E> {
                Ok(FlagMap::default())
            }
        }
        deserializer.deserialize_map(FlagVisitor)
    }
}

/// The value of a flag as text, also where it is written as a number or a boolean.
struct FlagText(Symbol);

impl<'de> Deserialize<'de> for FlagText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = FlagText;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("text, a number, `true` or `false`")
            }

            fn visit_str<E>(self, text: &str) -> Result<FlagText, E> {
                Ok(FlagText(Symbol::from(text)))
            }

            fn visit_bool<E>(self, value: bool) -> Result<FlagText, E> {
                Ok(FlagText(Symbol::from(value.to_string())))
            }

            fn visit_i64<E>(self, number: i64) -> Result<FlagText, E> {
                Ok(FlagText(Symbol::from(number.to_string())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<FlagText, E> {
                Ok(FlagText(Symbol::from(number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<FlagText, E> {
                Ok(FlagText(Symbol::from(number.to_string())))
            }
        }
        deserializer.deserialize_any(TextVisitor)
    }
}

/// A type of flag values.
pub(super) trait FlagValue: Sized {
    /// What the flag takes, for messages.
    const EXPECTED: &'static str;
    fn parse_flag(text: &str) -> Option<Self>;
    fn flag_text(&self) -> String;
    /// What is wrong about a text that is not a value.
    fn help(_text: &str) -> Option<String> {
        None
    }
}

impl FlagValue for SimDuration {
    const EXPECTED: &'static str = "a duration such as `50s` or `1m30s`";

    fn parse_flag(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn flag_text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for i64 {
    const EXPECTED: &'static str = "an integer of at least 0";

    fn parse_flag(text: &str) -> Option<Self> {
        text.parse().ok().filter(|value| *value >= 0)
    }

    fn flag_text(&self) -> String {
        self.to_string()
    }
}

/// How many things a controller works on at a time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Workers(i64);

impl Workers {
    /// Their number, at least one.
    #[must_use]
    pub fn count(self) -> usize {
        usize::try_from(self.0).unwrap_or(1)
    }
}

impl FlagValue for Workers {
    const EXPECTED: &'static str = "an integer of at least 1";

    fn parse_flag(text: &str) -> Option<Self> {
        text.parse().ok().filter(|value| *value >= 1).map(Self)
    }

    fn flag_text(&self) -> String {
        self.0.to_string()
    }
}

/// Ports of nodes that Services may have.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// Whether a port is one of them.
    #[must_use]
    pub fn contains(self, port: i64) -> bool {
        (i64::from(self.first)..=i64::from(self.last)).contains(&port)
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

/// # Source
/// apimachinery, `PortRange.Set`: first and last, a first and how many follow, or a single port.
impl FlagValue for PortRange {
    const EXPECTED: &'static str = "ports such as `30000-32767` or `30000+99`";

    fn parse_flag(text: &str) -> Option<Self> {
        let port = |text: &str| text.trim().parse::<u16>().ok();
        let (first, last) = if let Some((first, more)) = text.split_once('+') {
            let first = port(first)?;
            (first, first.checked_add(port(more)?)?)
        } else if let Some((first, last)) = text.split_once('-') {
            (port(first)?, port(last)?)
        } else {
            (port(text)?, port(text)?)
        };
        (first <= last && first > 0).then_some(Self { first, last })
    }

    fn flag_text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for f64 {
    const EXPECTED: &'static str = "a number of at least 0";

    fn parse_flag(text: &str) -> Option<Self> {
        text.parse().ok().filter(|value: &Self| value.is_finite() && *value >= 0.0)
    }

    fn flag_text(&self) -> String {
        self.to_string()
    }
}

impl FlagValue for bool {
    const EXPECTED: &'static str = "`true` or `false`";

    fn parse_flag(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn flag_text(&self) -> String {
        self.to_string()
    }
}

/// Names joined by commas.
impl FlagValue for Vec<Symbol> {
    const EXPECTED: &'static str = "names joined by commas";

    fn parse_flag(text: &str) -> Option<Self> {
        Some(text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Symbol::from).collect())
    }

    fn flag_text(&self) -> String {
        self.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(",")
    }
}

/// The default of a flag in one version. The text is ours, so that it cannot be wrong.
pub(super) fn default_value<T: FlagValue>(text: &str, _version: KubernetesVersion) -> T {
    T::parse_flag(text).expect("the default of a flag is one of its values")
}

/// Writes the flags of a component: a line each with the field, its type, the flag and the default, which may be an
/// expression over `version`. The comment of the field is also the flag's help.
macro_rules! component_flags {
    ($(#[$meta:meta])* pub struct $name:ident for $component:literal, $without_effect:path {
        $(#[doc = $help:literal] $field:ident : $type:ty = $flag:literal, |$version:ident| $default:expr;)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $(#[doc = $help] pub $field: $type,)+ }

        impl $name {
            /// Every flag that is understood.
            pub const FLAGS: &'static [crate::model::config::Flag] =
                &[$(crate::model::config::Flag { name: $flag, help: $help },)+];

            /// What its flags look like in a document.
            #[cfg(feature = "cli")]
            pub(crate) fn schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                crate::model::schemas::flags($component, Self::FLAGS, $without_effect)
            }

            /// Whether it is a flag of the real component that decides nothing here.
            #[must_use]
            pub fn is_without_effect(flag: &str) -> bool {
                $without_effect.contains(&flag)
            }

            /// What the component runs with when no flag is given.
            #[must_use]
            pub fn defaults(version: crate::model::config::KubernetesVersion) -> Self {
                Self {
                    $($field: {
                        let $version = version;
                        crate::model::config::flags::default_value($default, $version)
                    },)+
                }
            }

            /// The defaults of a version with some flags given. A flag that is wrong leaves its default.
            #[must_use]
            pub fn resolve(
                flags: &crate::model::config::FlagMap,
                version: crate::model::config::KubernetesVersion,
            ) -> (Self, Vec<crate::model::config::FlagError>) {
                use crate::model::config::FlagError;
                use crate::model::config::flags::FlagValue;
                let mut resolved = Self::defaults(version);
                let mut errors = Vec::new();
                for &(flag, value) in &flags.0 {
                    match flag.as_str() {
                        $($flag => match <$type as FlagValue>::parse_flag(value.as_str()) {
                            Some(value) => resolved.$field = value,
                            None => {
                                let help = <$type as FlagValue>::help(value.as_str());
                                errors.push(FlagError::value(flag, value, <$type as FlagValue>::EXPECTED, help));
                            }
                        },)+
                        other if Self::is_without_effect(other) => {}
                        _ => errors.push(FlagError::unknown($component, flag, Self::FLAGS, $without_effect)),
                    }
                }
                (resolved, errors)
            }

            /// Every flag with its value, as it could be written.
            #[must_use]
            pub fn to_flags(&self) -> crate::model::config::FlagMap {
                use crate::model::config::flags::FlagValue;
                crate::model::config::FlagMap(vec![
                    $(($flag.into(), self.$field.flag_text().as_str().into()),)+
                ])
            }
        }
    };
}

pub(super) use component_flags;
