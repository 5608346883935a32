//! Counts in words.

use std::fmt::Display;

/// One word of one thing, another of any other number of them.
pub fn noun<'a, N: PartialEq + From<u8>>(count: N, one: &'a str, many: &'a str) -> &'a str {
    if count == N::from(1) { one } else { many }
}

/// `1 pod`, `1,200 pods`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), noun(count, one, many))
}

/// A text of at most so many characters; of a longer one, its beginning.
pub fn cut(text: &str, length_max: usize) -> String {
    if text.chars().count() <= length_max {
        return text.to_owned();
    }
    text.chars().take(length_max).chain(['…']).collect()
}

/// A whole number with commas between groups of three digits.
pub fn grouped(number: impl Display) -> String {
    let text = number.to_string();
    let mut left = text.bytes().filter(u8::is_ascii_digit).count();
    let mut out = String::with_capacity(text.len() + left / 3);
    for c in text.chars() {
        out.push(c);
        if c.is_ascii_digit() {
            left -= 1;
            if left > 0 && left.is_multiple_of(3) {
                out.push(',');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_one_and_none_are_many() {
        let all: Vec<String> = [0_usize, 1, 1200].map(|count| counted(count, "pod is", "pods are")).into();
        assert_eq!(all, ["0 pods are", "1 pod is", "1,200 pods are"]);
    }

    #[test]
    fn numbers_are_grouped() {
        let check = |number: i64, expected: &str| assert_eq!(grouped(number), expected);
        check(0, "0");
        check(999, "999");
        check(1_000, "1,000");
        check(-100_000, "-100,000");
        check(1_234_567, "1,234,567");
    }
}
