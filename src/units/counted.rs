//! Counts with their nouns.

use std::fmt::Display;

/// One word of one thing, another of any other number of them.
pub fn noun<'a, N: PartialEq + From<u8>>(count: N, one: &'a str, many: &'a str) -> &'a str {
    if count == N::from(1) { one } else { many }
}

/// `1 pod`, `3 pods`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    format!("{count} {}", noun(count, one, many))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_none_are_many() {
        let all: Vec<String> = [0_usize, 1, 1200].map(|count| counted(count, "pod is", "pods are")).into();
        assert_eq!(all, ["0 pods are", "1 pod is", "1200 pods are"]);
    }
}
