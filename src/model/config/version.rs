//! The Kubernetes versions whose behaviour and defaults are known.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::arena::Symbol;

/// A minor version of Kubernetes, 1.33 to 1.36; patch releases are not told apart.
///
/// # Examples
///
/// ```
/// use kubesquall::model::config::KubernetesVersion;
///
/// let version: KubernetesVersion = "1.34".parse()?;
/// assert!(version.at_least(33) && !version.at_least(35));
/// assert!("1.20".parse::<KubernetesVersion>().is_err());
/// # Ok::<(), kubesquall::model::config::VersionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    minor: u32,
}

impl KubernetesVersion {
    /// The oldest version that is known.
    pub const OLDEST: Self = Self { minor: 33 };

    /// The newest version that is known, and the default.
    pub const NEWEST: Self = Self { minor: 36 };

    /// The 36 of 1.36.
    #[must_use]
    pub const fn minor(self) -> u32 {
        self.minor
    }

    /// Whether this is version 1.`minor` or a later one.
    #[must_use]
    pub const fn at_least(self, minor: u32) -> bool {
        self.minor >= minor
    }
}

impl Default for KubernetesVersion {
    fn default() -> Self {
        Self::NEWEST
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "1.{}", self.minor)
    }
}

impl FromStr for KubernetesVersion {
    type Err = VersionError;

    /// Reads `1.36`, also with a leading `v` or a patch number.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let parse = || {
            let mut numbers = text.strip_prefix('v').unwrap_or(text).splitn(3, '.');
            let major: u32 = numbers.next()?.parse().ok()?;
            let minor: u32 = numbers.next()?.parse().ok()?;
            let version = Self { minor };
            let is_known = major == 1 && (Self::OLDEST..=Self::NEWEST).contains(&version);
            is_known.then_some(version)
        };
        parse().ok_or_else(|| VersionError { text: text.to_owned() })
    }
}

impl Serialize for KubernetesVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KubernetesVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Symbol::deserialize(deserializer)?;
        text.as_str().parse().map_err(serde::de::Error::custom)
    }
}

/// A version that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is not a known Kubernetes version, expected one of {} to {}",
    KubernetesVersion::OLDEST,
    KubernetesVersion::NEWEST
)]
pub struct VersionError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_from_1_33_to_1_36_are_known() {
        #[track_caller]
        fn check(text: &str, expected: Option<u32>) {
            assert_eq!(text.parse().ok().map(KubernetesVersion::minor), expected, "{text}");
        }
        check("1.33", Some(33));
        check("1.36", Some(36));
        check("v1.35.2", Some(35));
        check("1.32", None);
        check("1.37", None);
        check("2.34", None);
        check("1", None);
        check("", None);
    }
}
