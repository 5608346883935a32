//! Patterns as `grep`, `sed` and `awk` have them in lines that runbooks pipe: characters, `.`, classes, repetition, anchors and
//! alternatives. Groups and back references are not read; what has them is not simulated.

/// Which characters a piece of a pattern takes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Set {
    Any,
    One(char),
    Class { ranges: Vec<(char, char)>, is_negated: bool },
}

/// How often.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Repeat {
    Once,
    Maybe,
    Any,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Alternative {
    at_start: bool,
    at_end: bool,
    pieces: Vec<(Set, Repeat)>,
}

/// How a pattern is written.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// Every character means itself.
    Fixed,
    /// `+`, `?` and `|` mean something behind a backslash only.
    Basic,
    /// `+`, `?` and `|` mean something.
    Extended,
}

/// A pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    alternatives: Vec<Alternative>,
    ignores_case: bool,
}

impl Set {
    fn takes(&self, c: char, ignores_case: bool) -> bool {
        let is = |c: char| match self {
            Self::Any => true,
            Self::One(own) => *own == c,
            Self::Class { ranges, is_negated } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *is_negated
            }
        };
        is(c) || ignores_case && (is(c.to_ascii_lowercase()) || is(c.to_ascii_uppercase()))
    }
}

impl Pattern {
    /// Reads a pattern; none if it has what is not read.
    pub(super) fn parse(text: &str, syntax: Syntax, ignores_case: bool) -> Option<Self> {
        let alternatives = if syntax == Syntax::Fixed {
            let pieces = text.chars().map(|c| (Set::One(c), Repeat::Once)).collect();
            vec![Alternative { at_start: false, at_end: false, pieces }]
        } else {
            alternatives(text, syntax)?
        };
        Some(Self { alternatives, ignores_case })
    }

    /// Where the pattern is found first, at its longest.
    pub(super) fn find(&self, text: &[char], from: usize) -> Option<(usize, usize)> {
        (from..=text.len()).find_map(|start| {
            let ends = self.alternatives.iter().filter_map(|alternative| self.longest(alternative, text, start));
            ends.max().map(|end| (start, end))
        })
    }

    pub(super) fn is_in(&self, text: &str) -> bool {
        self.find(&text.chars().collect::<Vec<char>>(), 0).is_some()
    }

    /// Where the longest text ends that an alternative takes from here on; the work is text times pattern.
    fn longest(&self, alternative: &Alternative, text: &[char], start: usize) -> Option<usize> {
        let Alternative { at_start, at_end, pieces } = alternative;
        if *at_start && start > 0 {
            return None;
        }
        let mut reached = vec![false; pieces.len() + 1];
        reached[0] = true;
        let mut found = None;
        for at in start..=text.len() {
            for index in 0..pieces.len() {
                reached[index + 1] |= reached[index] && pieces[index].1 != Repeat::Once;
            }
            if reached[pieces.len()] && (!at_end || at == text.len()) {
                found = Some(at);
            }
            let Some(c) = text.get(at) else { break };
            let mut next = vec![false; pieces.len() + 1];
            for (index, (set, repeat)) in pieces.iter().enumerate().filter(|(index, _)| reached[*index]) {
                if set.takes(*c, self.ignores_case) {
                    next[if *repeat == Repeat::Any { index } else { index + 1 }] = true;
                }
            }
            if !next.contains(&true) {
                break;
            }
            reached = next;
        }
        found
    }
}

fn alternatives(text: &str, syntax: Syntax) -> Option<Vec<Alternative>> {
    let new = || Alternative { at_start: false, at_end: false, pieces: Vec::new() };
    let (mut all, mut current) = (Vec::new(), new());
    let mut letters = text.chars().peekable();
    while let Some(c) = letters.next() {
        let (c, is_escaped) = if c == '\\' { (letters.next()?, true) } else { (c, false) };
        let is_sign = matches!(c, '+' | '?' | '|') && is_escaped == (syntax == Syntax::Basic);
        match c {
            '|' if is_sign => all.push(std::mem::replace(&mut current, new())),
            '+' | '?' if is_sign => {
                let (set, repeat) = current.pieces.pop()?;
                match c {
                    '+' => current.pieces.extend([(set.clone(), repeat), (set, Repeat::Any)]),
                    _ => current.pieces.push((set, Repeat::Maybe)),
                }
            }
            '*' if !is_escaped && !current.pieces.is_empty() => current.pieces.last_mut()?.1 = Repeat::Any,
            '^' if !is_escaped && current.pieces.is_empty() => current.at_start = true,
            '$' if !is_escaped && (letters.peek().is_none() || matches!(letters.peek(), Some('|'))) => {
                current.at_end = true;
            }
            '.' if !is_escaped => current.pieces.push((Set::Any, Repeat::Once)),
            '[' if !is_escaped => current.pieces.push((class(&mut letters)?, Repeat::Once)),
            '(' | ')' | '{' | '}' if is_escaped == (syntax == Syntax::Basic) => return None,
            // Words, digits, back references.
            c if is_escaped && c.is_ascii_alphanumeric() => return None,
            c => current.pieces.push((Set::One(c), Repeat::Once)),
        }
    }
    all.push(current);
    Some(all)
}

/// What stands between brackets.
fn class(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<Set> {
    let is_negated = letters.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    loop {
        let from = letters.next()?;
        match from {
            ']' if !ranges.is_empty() => return Some(Set::Class { ranges, is_negated }),
            // Classes by name.
            '[' if letters.peek() == Some(&':') => return None,
            from => {
                let is_range = letters.clone().next() == Some('-') && letters.clone().nth(1).is_some_and(|c| c != ']');
                let to = if is_range { letters.nth(1)? } else { from };
                ranges.push((from, to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_find_what_they_describe() {
        let check = |pattern: &str, syntax: Syntax, text: &str, expected: Option<(usize, usize)>| {
            let pattern = Pattern::parse(pattern, syntax, false).expect(pattern);
            assert_eq!(pattern.find(&text.chars().collect::<Vec<_>>(), 0), expected, "{text}");
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
        assert!(Pattern::parse("Foo", fixed, true).is_some_and(|pattern| pattern.is_in("afOO")));
        for pattern in ["(a)", "a{2}", "\\w", "[[:space:]]", "[a", "a\\", "+"] {
            assert_eq!(Pattern::parse(pattern, extended, false), None, "{pattern}");
        }
    }

    #[test]
    fn many_stars_take_no_longer_than_few() {
        let pattern = Pattern::parse(&"a*".repeat(200), Syntax::Basic, false).expect("a pattern");
        assert!(pattern.is_in(&"a".repeat(2000)));
        let pattern = Pattern::parse(&format!("^{}b$", "a*".repeat(200)), Syntax::Basic, false).expect("a pattern");
        assert!(!pattern.is_in(&"a".repeat(2000)));
    }
}
