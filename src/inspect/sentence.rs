//! Sentences in which times, lengths and objects are told from text, so that whoever shows them can format or follow them.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::units::{SimDuration, SimTime};

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(String),
    /// An instant, which stands in a table of the run.
    At(SimTime),
    /// A length of time.
    Lasting(SimDuration),
    /// An object: `pod/NS/NAME`, `node/NAME`.
    Object(String),
}

impl Serialize for Part {
    /// Words as a string, the others as an object of one field, with times in seconds.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let one = |serializer: S, key: &str, seconds: f64| {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry(key, &seconds)?;
            map.end()
        };
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::At(at) => one(serializer, "at_s", at.as_secs_f64()),
            Self::Lasting(length) => one(serializer, "lasting_s", length.as_secs_f64()),
            Self::Object(name) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("object", name)?;
                map.end()
            }
        }
    }
}

/// A sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(transparent)]
pub struct Sentence(pub Vec<Part>);

impl Sentence {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self::default().text(text)
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if let Some(Part::Text(last)) = self.0.last_mut() {
            last.push_str(&text);
        } else if !text.is_empty() {
            self.0.push(Part::Text(text));
        }
        self
    }

    pub(super) fn at(mut self, at: SimTime) -> Self {
        self.0.push(Part::At(at));
        self
    }

    pub(super) fn lasting(mut self, length: SimDuration) -> Self {
        self.0.push(Part::Lasting(length));
        self
    }

    pub(super) fn object(mut self, name: impl Into<String>) -> Self {
        self.0.push(Part::Object(name.into()));
        self
    }

    pub(super) fn then(mut self, other: Self) -> Self {
        for part in other.0 {
            self = match part {
                Part::Text(text) => self.text(text),
                other => {
                    self.0.push(other);
                    self
                }
            };
        }
        self
    }

    /// Objects by name: the first few, the rest by number.
    pub(super) fn list<'a>(mut self, names: impl ExactSizeIterator<Item = &'a str>) -> Self {
        /// Objects that a list names.
        const NAMED_MAX: usize = 6;
        let count = names.len();
        // One more by name takes no more room than its number.
        let shown = if count == NAMED_MAX + 1 { count } else { count.min(NAMED_MAX) };
        for (index, name) in names.take(shown).enumerate() {
            self = if index == 0 { self } else { self.text(", ") }.object(name);
        }
        if count > shown { self.text(format!(" and {} more", count - shown)) } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_tell_times_and_objects_from_words() {
        let sentence = Sentence::new("Evicted at ")
            .at(SimTime::from_millis(643_404))
            .text(": ")
            .object("node/n")
            .then(Sentence::new(" was silent for ").lasting(SimDuration::from_secs(50)));
        let data = serde_json::to_string(&sentence).expect("data");
        assert_eq!(
            data,
            r#"["Evicted at ",{"at_s":643.404},": ",{"object":"node/n"}," was silent for ",{"lasting_s":50.0}]"#
        );
    }

    #[test]
    fn long_lists_end_with_a_number() {
        let parts = |count: usize| {
            let names: Vec<String> = (0..count).map(|index| index.to_string()).collect();
            Sentence::default().list(names.iter().map(String::as_str)).0
        };
        let objects = |count| parts(count).iter().filter(|part| matches!(part, Part::Object(_))).count();
        assert_eq!((objects(6), objects(7), objects(8)), (6, 7, 6));
        assert_eq!(parts(8).last(), Some(&Part::Text(" and 2 more".to_owned())));
    }
}
