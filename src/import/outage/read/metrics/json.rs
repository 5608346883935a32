//! What Prometheus' HTTP API answers, and promtool with `-o json`: read while it comes.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::labels::Labels;
use super::number::{nanos_of_seconds, nanos_of_unit, value_of};
use super::samples::{Place, Samples};

/// What an answer says besides its samples.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Why there are none.
    pub errors: Vec<String>,
    pub warnings: Vec<String>,
    /// Whether something of it was of no use.
    pub is_partial: bool,
}

/// How many warnings are kept.
const SAID_MAX: usize = 20;

/// Reads values of JSON, one after the other; what is wrong at the end is returned with what stood before it taken.
pub(super) fn read(
    content: &mut dyn BufRead,
    samples: &mut Samples,
    said: &mut Said,
) -> io::Result<Option<serde_json::Error>> {
    // Its own buffer, as the reader of JSON asks for byte after byte.
    let mut content = BufReader::new(content);
    let mut labels = Labels::default();
    loop {
        let buffer = content.fill_buf()?;
        if buffer.is_empty() {
            return Ok(None);
        }
        // A mark of the byte order stands before the first value, at the most.
        let blanks = buffer.iter().take_while(|byte| byte.is_ascii_whitespace() || matches!(byte, 0xef | 0xbb | 0xbf));
        let blanks = blanks.count();
        if blanks > 0 {
            content.consume(blanks);
            continue;
        }
        let mut value = serde_json::Deserializer::from_reader(&mut content);
        let answer = Answer { samples, said, labels: &mut labels };
        if let Err(error) = answer.deserialize(&mut value) {
            return if error.is_io() { Err(error.into()) } else { Ok(Some(error)) };
        }
    }
}

/// Any part of an answer: what has labels is a series, the others lead to them.
struct Answer<'a> {
    samples: &'a mut Samples,
    said: &'a mut Said,
    labels: &'a mut Labels,
}

impl Answer<'_> {
    fn again(&mut self) -> Answer<'_> {
        Answer { samples: self.samples, said: self.said, labels: self.labels }
    }
}

impl<'de> DeserializeSeed<'de> for Answer<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values that lead to no series.
macro_rules! passed_over {
    ($($visit:ident: $type:ty),+) => {
        $(fn $visit<E: Error>(self, _: $type) -> Result<(), E> {
            Ok(())
        })+
    };
}

impl<'de> Visitor<'de> for Answer<'_> {
    type Value = ();

    passed_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an answer of Prometheus")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        let mut place = None;
        let mut timestamps: Option<Vec<f64>> = None;
        // Samples that stand before what tells whose they are, and values without their times.
        let mut early: Vec<(i64, f64)> = Vec::new();
        let mut values: Vec<f64> = Vec::new();
        while let Some(key) = fields.next_key::<Cow<'de, str>>()? {
            match &*key {
                "metric" => {
                    self.labels.clear();
                    fields.next_value_seed(LabelMap(self.labels))?;
                    place = self.samples.open(self.labels);
                    if let Some(place) = place {
                        early.drain(..).for_each(|(at, value)| self.samples.push(place, at, value));
                    }
                }
                "values" => {
                    let pairs = Pairs { samples: self.samples, place, early: &mut early, values: &mut values };
                    fields.next_value_seed(pairs)?;
                }
                "value" => {
                    let Pair(at, value) = fields.next_value()?;
                    match (at, place) {
                        (None, _) => self.samples.bad += 1,
                        (Some(at), Some(place)) => self.samples.push(place, at, value),
                        (Some(at), None) => early.push((at, value)),
                    }
                }
                "timestamps" => timestamps = Some(fields.next_value()?),
                "error" => {
                    let text: String = fields.next_value()?;
                    self.said.errors.push(text);
                }
                "warnings" | "infos" => {
                    let texts: Option<Vec<String>> = fields.next_value()?;
                    self.said.warnings.extend(texts.into_iter().flatten());
                    self.said.warnings.truncate(SAID_MAX);
                }
                "isPartial" => self.said.is_partial |= fields.next_value::<Option<bool>>()?.unwrap_or(false),
                "data" | "result" => fields.next_value_seed(self.again())?,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        if let (Some(place), Some(timestamps)) = (place, timestamps) {
            for (at, value) in timestamps.iter().zip(values) {
                match nanos_of_unit(*at) {
                    Some(at) => self.samples.push(place, at, value),
                    None => self.samples.bad += 1,
                }
            }
        }
        Ok(())
    }
}

/// `{"__name__": "kube_node_info", "node": "a"}`.
struct LabelMap<'a>(&'a mut Labels);

impl<'de> DeserializeSeed<'de> for LabelMap<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LabelMap<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("labels")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        while let Some((name, value)) = fields.next_entry::<Cow<'de, str>, Cow<'de, str>>()? {
            self.0.add(&name, &value);
        }
        Ok(())
    }
}

/// `[[1678255200, "1"], …]`, or bare values whose times stand elsewhere.
struct Pairs<'a> {
    samples: &'a mut Samples,
    place: Option<Place>,
    early: &'a mut Vec<(i64, f64)>,
    values: &'a mut Vec<f64>,
}

impl<'de> DeserializeSeed<'de> for Pairs<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Pairs<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("pairs of a time and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element::<PairOrValue>()? {
            match (item, self.place) {
                (PairOrValue::Value(value), _) => self.values.push(value),
                (PairOrValue::Pair(Pair(None, _)), _) => self.samples.bad += 1,
                (PairOrValue::Pair(Pair(Some(at), value)), Some(place)) => self.samples.push(place, at, value),
                (PairOrValue::Pair(Pair(Some(at), value)), None) => self.early.push((at, value)),
            }
        }
        Ok(())
    }
}

/// A time, if it is one, and a value.
#[derive(Debug)]
struct Pair(Option<i64>, f64);

#[derive(Debug)]
enum PairOrValue {
    Pair(Pair),
    Value(f64),
}

impl<'de> Deserialize<'de> for Pair {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(PairVisitor)? {
            PairOrValue::Pair(pair) => Ok(pair),
            PairOrValue::Value(_) => Err(D::Error::custom("a value has no time")),
        }
    }
}

impl<'de> Deserialize<'de> for PairOrValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairVisitor)
    }
}

struct PairVisitor;

impl<'de> Visitor<'de> for PairVisitor {
    type Value = PairOrValue;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a time and a value")
    }

    fn visit_unit<E: Error>(self) -> Result<PairOrValue, E> {
        Ok(PairOrValue::Value(f64::NAN))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<PairOrValue, E> {
        Ok(PairOrValue::Value(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<PairOrValue, E> {
        Ok(PairOrValue::Value(value as f64))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<PairOrValue, E> {
        Ok(PairOrValue::Value(value as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<PairOrValue, E> {
        Ok(PairOrValue::Value(value_of(text).unwrap_or(f64::NAN)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PairOrValue, A::Error> {
        let at: f64 = items.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        let value: Value = items.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        while items.next_element::<IgnoredAny>()?.is_some() {}
        let at = nanos_of_seconds(at).filter(|_| value.0.is_some());
        Ok(PairOrValue::Pair(Pair(at, value.0.unwrap_or(f64::NAN))))
    }
}

/// A value: a text, as Prometheus writes it, or a number. Nothing, if it is neither.
struct Value(Option<f64>);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Value;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value(value_of(text)))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                Ok(Value(Some(value)))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(Value(Some(value as f64)))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(Value(Some(value as f64)))
            }

            fn visit_unit<E: Error>(self) -> Result<Value, E> {
                Ok(Value(Some(f64::NAN)))
            }
        }
        deserializer.deserialize_any(Any)
    }
}
