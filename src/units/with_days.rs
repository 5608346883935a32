//! For `#[serde(with = "crate::units::with_days")]`: durations in our own documents, where `d` and `w` are units.

use serde::de::Deserializer;
use serde::ser::Serializer;

use super::SimDuration;
use super::duration::DurationVisitor;

/// Writes Go's text, which both parsers read.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<S: Serializer>(duration: &SimDuration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(duration)
}

/// Reads duration text that may use days and weeks, or the number 0.
///
/// # Errors
///
/// Those of the deserializer, and those of [`SimDuration::parse_with_days`].
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SimDuration, D::Error> {
    deserializer.deserialize_any(DurationVisitor { parse: SimDuration::parse_with_days })
}

/// The same for fields that may be absent; they need `#[serde(default)]` as well.
pub mod option {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;

    use super::SimDuration;

    struct Days(SimDuration);

    impl<'de> Deserialize<'de> for Days {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            super::deserialize(deserializer).map(Days)
        }
    }

    /// Writes Go's text or null.
    ///
    /// # Errors
    ///
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(duration: &Option<SimDuration>, serializer: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => serializer.collect_str(duration),
            None => serializer.serialize_none(),
        }
    }

    /// Reads duration text that may use days and weeks, the number 0, or null.
    ///
    /// # Errors
    ///
    /// Those of [`super::deserialize`].
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<SimDuration>, D::Error> {
        Ok(Option::<Days>::deserialize(deserializer)?.map(|days| days.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Document {
        #[serde(with = "super")]
        every: SimDuration,
        #[serde(default, with = "super::option")]
        until: Option<SimDuration>,
    }

    #[test]
    fn fields_read_days_and_write_go_text() {
        let read = |text: &str| serde_saphyr::from_str::<Document>(text);
        let day = SimDuration::from_secs(86_400);
        assert_eq!(read("every: 1d\n").unwrap(), Document { every: day, until: None });
        assert_eq!(read("every: 0\nuntil: 1w\n").unwrap(), Document { every: SimDuration::ZERO, until: Some(day * 7) });
        assert!(read("every: 5\n").is_err());
        let text = serde_json::to_string(&Document { every: day, until: Some(day) }).unwrap();
        assert_eq!(text, r#"{"every":"24h0m0s","until":"24h0m0s"}"#);
    }
}
