//! Lists that mean all when they are not there. One that is there and empty is refused, as it may be meant either way.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// What is said of a list of nothing.
const EMPTY: &str = "this list is empty: name something, or leave it out to mean all";

/// What a list names: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = Vec<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                if items.is_empty() { Err(A::Error::custom(EMPTY)) } else { Ok(items) }
            }
        }
        deserializer.deserialize_seq(Items(PhantomData)).map(Self)
    }
}

/// Reads such a list as a field's value.
///
/// # Errors
///
/// It is empty, or no list.
pub fn named<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Named::deserialize(deserializer).map(|named| named.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_there_names_something() {
        let check = |text: &str, expected: Option<&[&str]>| {
            let found = serde_json::from_str::<Named<String>>(text).ok();
            assert_eq!(
                found,
                expected.map(|names| Named(names.iter().map(|&name| name.to_owned()).collect())),
                "{text}"
            );
        };
        check(r#"["a", "b"]"#, Some(&["a", "b"]));
        check("[]", None);
        check("null", None);
        check("\"a\"", None);
    }
}
