//! Patterns as `grep`, `sed` and `awk` have them in lines that runbooks pipe, in the words of the `regex` crate.
//!
//! # Differs
//! Of alternatives that begin at one place the first counts, where POSIX takes the longest. What the crate does not read (back
//! references, collating symbols) is not simulated.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex::{Captures, Regex, RegexBuilder};

/// How large a pattern may become, in bytes.
const SIZE_MAX: usize = 1 << 20;

/// How a pattern is written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Every character means itself.
    Fixed,
    /// `+`, `?`, `|`, `(`, `)`, `{` and `}` mean something behind a backslash only.
    Basic,
    /// They mean something.
    Extended,
}

/// A pattern.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Reads a pattern; none if it has what is not read.
    pub(super) fn parse(text: &str, syntax: Syntax, ignores_case: bool) -> Option<Self> {
        let text = if syntax == Syntax::Fixed { regex::escape(text) } else { translated(text, syntax)? };
        RegexBuilder::new(&text).case_insensitive(ignores_case).size_limit(SIZE_MAX).build().ok().map(Self)
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// How many groups it has.
    pub(super) fn groups(&self) -> usize {
        self.0.captures_len() - 1
    }

    /// The text with something else in the place of what is found: once, or everywhere.
    pub(super) fn replaced(&self, text: &str, everywhere: bool, with: impl Fn(&Captures<'_>) -> String) -> String {
        self.0.replacen(text, usize::from(!everywhere), with).into_owned()
    }
}

/// A pattern of POSIX, with GNU's additions, as the crate has it.
fn translated(text: &str, syntax: Syntax) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut letters = text.chars().peekable();
    // Where an expression begins, a star means itself; behind a repetition, another means something else to the crate.
    let (mut begins, mut repeats) = (true, false);
    while let Some(c) = letters.next() {
        let (c, is_escaped) = if c == '\\' { (letters.next()?, true) } else { (c, false) };
        let is_sign = matches!(c, '+' | '?' | '|' | '(' | ')' | '{' | '}') && is_escaped == (syntax == Syntax::Basic);
        let (begun, repeated) = (begins, repeats);
        (begins, repeats) = (false, false);
        match c {
            '(' | '|' if is_sign => {
                out.push(c);
                begins = true;
            }
            ')' if is_sign => out.push(c),
            '+' | '?' if is_sign && (begun || repeated) => return None,
            '*' if !is_escaped && repeated => return None,
            '+' | '?' if is_sign => {
                out.push(c);
                repeats = true;
            }
            '*' if !is_escaped && !begun => {
                out.push('*');
                repeats = true;
            }
            '{' if is_sign && !begun => {
                if repeated {
                    return None;
                }
                interval(&mut letters, syntax, &mut out)?;
                repeats = true;
            }
            '^' if !is_escaped && (begun || syntax == Syntax::Extended) => {
                out.push('^');
                begins = true;
            }
            '$' if !is_escaped && (syntax == Syntax::Extended || ends(&letters)) => out.push('$'),
            '.' if !is_escaped => out.push('.'),
            '[' if !is_escaped => class(&mut letters, &mut out)?,
            'w' | 'W' | 's' | 'S' | 'b' | 'B' if is_escaped => {
                out.push('\\');
                out.push(c);
            }
            '<' if is_escaped => out.push_str(r"\b{start}"),
            '>' if is_escaped => out.push_str(r"\b{end}"),
            't' if is_escaped => out.push_str(r"\t"),
            // Back references, digits, the ends of a buffer.
            c if is_escaped && (c.is_ascii_alphanumeric() || matches!(c, '`' | '\'')) => return None,
            c => literal(c, &mut out),
        }
    }
    Some(out)
}

fn literal(c: char, out: &mut String) {
    out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

/// Whether a dollar sign stands at the end of a basic expression.
fn ends(letters: &Peekable<Chars<'_>>) -> bool {
    let rest: String = letters.clone().take(2).collect();
    rest.is_empty() || rest == "\\)" || rest == "\\|"
}

/// `{2}`, `{2,}`, `{,3}` and `{2,3}`, behind the opening brace.
fn interval(letters: &mut Peekable<Chars<'_>>, syntax: Syntax, out: &mut String) -> Option<()> {
    let mut text = String::new();
    loop {
        match letters.next()? {
            '\\' if syntax == Syntax::Basic && letters.peek() == Some(&'}') => {}
            '}' => break,
            c => text.push(c),
        }
    }
    let (least, most) = text.split_once(',').map_or((text.as_str(), None), |(least, most)| (least, Some(most)));
    let least: u16 = if least.is_empty() && most.is_some() { 0 } else { least.parse().ok()? };
    match most {
        None => write!(out, "{{{least}}}").ok(),
        Some("") => write!(out, "{{{least},}}").ok(),
        Some(most) => write!(out, "{{{least},{}}}", most.parse::<u16>().ok()?).ok(),
    }
}

/// What stands between brackets; a backslash means itself there.
fn class(letters: &mut Peekable<Chars<'_>>, out: &mut String) -> Option<()> {
    out.push('[');
    if letters.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    let mut is_first = true;
    loop {
        let from = letters.next()?;
        match from {
            ']' if !is_first => break,
            '[' if matches!(letters.peek(), Some('.' | '=')) => return None,
            '[' if letters.peek() == Some(&':') => {
                let name: String = letters.by_ref().skip(1).take_while(|c| *c != ':').collect();
                letters.next_if_eq(&']')?;
                write!(out, "[:{name}:]").ok()?;
            }
            from => {
                let is_range = letters.clone().next() == Some('-') && letters.clone().nth(1).is_some_and(|c| c != ']');
                member(from, out);
                if is_range {
                    out.push('-');
                    member(letters.nth(1)?, out);
                }
            }
        }
        is_first = false;
    }
    out.push(']');
    Some(())
}

fn member(c: char, out: &mut String) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_what_they_describe() {
        let check = |pattern: &str, syntax: Syntax, text: &str, expected: Option<(usize, usize)>| {
            let pattern = Pattern::parse(pattern, syntax, false).expect(pattern);
            assert_eq!(pattern.0.find(text).map(|found| (found.start(), found.end())), expected, "{text}");
        };
        let (fixed, basic, extended) = (Syntax::Fixed, Syntax::Basic, Syntax::Extended);
        check("a.c", fixed, "abc a.c", Some((4, 7)));
        check("a.c", basic, "xabc", Some((1, 4)));
        check("a\\.c", basic, "abc a.c", Some((4, 7)));
        check("Evicted|Error", extended, "x Error", Some((2, 7)));
        check("Evicted|Error", basic, "x Error", None);
        check("Evicted\\|Error", basic, "x Error", Some((2, 7)));
        check("^web-[0-9]*$", basic, "web-12", Some((0, 6)));
        check("^web-[0-9]*$", basic, "web-12x", None);
        check("web-[0-9]+", extended, "web- web-12", Some((5, 11)));
        check("a[^b]?c", extended, "abc axc", Some((4, 7)));
        check(".*c", basic, "abcabcd", Some((0, 6)));
        check("x*", basic, "ab", Some((0, 0)));
        check("^$", basic, "", Some((0, 0)));
        // What means something in one syntax means itself in the other.
        check("(a)+", basic, "x(a)+", Some((1, 5)));
        check("a{2}", basic, "aa a{2}", Some((3, 7)));
        check("a\\{2\\}", basic, "ba aa", Some((3, 5)));
        check("a{,2}b", extended, "aaab", Some((1, 4)));
        check("\\(web\\|db\\)-0", basic, "x db-0", Some((2, 6)));
        check("(Evicted|Error) x", extended, "Error x", Some((0, 7)));
        check("*a", basic, "b*a", Some((1, 3)));
        check("a^b$c", basic, "a^b$c", Some((0, 5)));
        check("[]a]+", extended, "x]a]", Some((1, 4)));
        check("[^]-a\\]", basic, "]a\\-x", Some((3, 4)));
        check("[a\\]", basic, "x\\", Some((1, 2)));
        check("[[:space:]]+$", extended, "a  ", Some((1, 3)));
        check("\\<web\\>", basic, "webs web", Some((5, 8)));
        assert!(Pattern::parse("Foo", fixed, true).is_some_and(|pattern| pattern.is_in("afOO")));
        for pattern in ["(a)\\1", "\\d", "[[.a.]]", "[a", "a\\", "+", "a*?", "a{x}", "(a"] {
            assert_eq!(Pattern::parse(pattern, extended, false), None, "{pattern}");
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_few() {
        let pattern =
            Pattern::parse(&"a*".repeat(200).replace("a*a*", "a*b*"), Syntax::Basic, false).expect("a pattern");
        assert!(pattern.is_in(&"a".repeat(2000)));
        assert_eq!(Pattern::parse(&"(a{1000}){1000}".repeat(9), Syntax::Extended, false), None);
    }
}
