//! Which part of a study a machine plays.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The part of a study that one machine plays: the first to the last of so many, written `1/4` to `4/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Shard {
    /// From 1 to `count`.
    index: u64,
    count: u64,
}

/// What is no part of a study.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a part such as 1/4: the first of four")]
pub struct InvalidShard(String);

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Part `index`, from 1, of `count`.
    ///
    /// # Errors
    ///
    /// If there is no such part.
    pub fn new(index: u64, count: u64) -> Result<Self, InvalidShard> {
        let is_part = 0 < index && index <= count;
        is_part.then_some(Self { index, count }).ok_or_else(|| InvalidShard(format!("{index}/{count}")))
    }

    /// Which part, from 1.
    #[must_use]
    pub fn index(self) -> u64 {
        self.index
    }

    /// Of how many.
    #[must_use]
    pub fn count(self) -> u64 {
        self.count
    }

    /// Whether the item at this position, from 0, belongs to the part.
    pub(super) fn has(self, position: u64) -> bool {
        position % self.count == self.index - 1
    }

    /// How many of so many items belong to it.
    pub(super) fn share_of(self, items: u64) -> u64 {
        items / self.count + u64::from(self.index <= items % self.count)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = InvalidShard;

    fn from_str(text: &str) -> Result<Self, InvalidShard> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        parts.and_then(|(index, count)| Self::new(index, count).ok()).ok_or_else(|| InvalidShard(text.to_owned()))
    }
}

/// A part as results and journals write it.
#[derive(Deserialize)]
struct Written {
    index: u64,
    count: u64,
}

impl TryFrom<Written> for Shard {
    type Error = InvalidShard;

    fn try_from(written: Written) -> Result<Self, InvalidShard> {
        Self::new(written.index, written.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_the_whole() {
        let shards: Vec<Shard> = (1..=3).map(|index| Shard::new(index, 3).expect("a part")).collect();
        for position in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(position)).count(), 1);
        }
        for (items, shard) in (0..20).flat_map(|items| shards.iter().map(move |shard| (items, shard))) {
            assert_eq!((0..items).filter(|position| shard.has(*position)).count() as u64, shard.share_of(items));
        }
    }

    #[test]
    fn there_are_no_parts_beyond_the_last_and_before_the_first() {
        assert_eq!("2/3".parse(), Shard::new(2, 3));
        for (index, count) in [(0, 0), (0, 2), (5, 2), (1, 0)] {
            let text = format!("{index}/{count}");
            assert_eq!(Shard::new(index, count), Err(InvalidShard(text.clone())));
            assert_eq!(text.parse::<Shard>(), Err(InvalidShard(text)));
            let written = serde_json::json!({"index": index, "count": count});
            assert!(serde_json::from_value::<Shard>(written).is_err());
        }
        assert!("x".parse::<Shard>().is_err());
        let (part, written) = (Shard::new(2, 3).expect("a part"), serde_json::json!({"index": 2, "count": 3}));
        assert_eq!(serde_json::to_value(part).expect("plain data"), written);
        assert_eq!((serde_json::from_value(written).ok(), part.to_string().as_str()), (Some(part), "2/3"));
    }
}
