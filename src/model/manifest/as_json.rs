//! YAML as Kubernetes reads it: made into JSON first, which tells numbers and booleans from strings by how they are written.
//!
//! A reader of YAML that knows what it is asked for takes `1` for a string where one belongs. Kubernetes does not: what a plain
//! scalar is follows from its text alone, and the API server then refuses a number where a string belongs.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, Span};

/// Maps and lists within each other; more is left to the reader of YAML, which says what is wrong with it.
const DEPTH_MAX: usize = 100;

/// A document as JSON.
#[derive(Debug)]
pub(super) struct AsJson {
    pub text: String,
    /// The first number or boolean where only a string can stand, though no type here says so: line and column, each from 0.
    pub misplaced: Option<(usize, usize)>,
    /// The first number that JSON does not have: one that is none, or infinite.
    pub impossible: Option<(usize, usize)>,
    /// Whether a value is one of the single letters that are booleans.
    pub has_letters: bool,
}

/// How the letters `y` and `n` are read. They are booleans, but far more often meant as names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    Booleans,
    Text,
}

/// What a plain scalar is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    Unsigned(u64),
    Float(f64),
    Text,
}

impl Scalar {
    /// What a plain scalar of that text is.
    ///
    /// # Source
    /// sigs.k8s.io/yaml over go-yaml 2: YAML 1.1 with its booleans `y`, `yes`, `on` and so on, octal numbers and `_` between digits, but
    /// neither base 60 nor, as JSON has none, times.
    pub(super) fn of(text: &str) -> Self {
        let first = text.as_bytes().first().copied().unwrap_or(b'~');
        match first {
            b'~' | b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' => word(text),
            b'.' => text.parse().ok().filter(|_| is_float(text)).map_or(Self::Text, Self::of_float),
            b'0'..=b'9' | b'+' | b'-' => number(text),
            _ => Self::Text,
        }
    }

    fn of_float(value: f64) -> Self {
        // What is out of range is no number for Go.
        if value.is_finite() { Self::Float(value) } else { Self::Text }
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        _ => Scalar::Text,
    }
}

fn number(text: &str) -> Scalar {
    let plain = if text.contains('_') { text.replace('_', "") } else { text.to_owned() };
    let (sign, digits) = match plain.as_bytes().first() {
        Some(b'-') => ("-", &plain[1..]),
        Some(b'+') => ("", &plain[1..]),
        _ => ("", &plain[..]),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (digits, radix) = match lower.as_deref() {
        Some("0x") => (&digits[2..], 16),
        Some("0o") => (&digits[2..], 8),
        Some("0b") => (&digits[2..], 2),
        Some(_) if digits.starts_with('0') => (&digits[1..], 8),
        _ => (digits, 10),
    };
    if digits.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric()) {
        if let Ok(value) = i64::from_str_radix(&format!("{sign}{digits}"), radix) {
            return Scalar::Int(value);
        }
        if let Some(value) = u64::from_str_radix(digits, radix).ok().filter(|_| sign.is_empty()) {
            return Scalar::Unsigned(value);
        }
    }
    plain.parse().ok().filter(|_| is_float(&plain)).map_or(Scalar::Text, Scalar::of_float)
}

/// # Source
/// go-yaml 2, `resolveMap`; `encoding/json` refuses these values.
fn is_no_number_of_json(text: &str) -> bool {
    matches!(text, ".nan" | ".NaN" | ".NAN")
        || matches!(text.strip_prefix(['+', '-']).unwrap_or(text), ".inf" | ".Inf" | ".INF")
}

/// Whether a text is digits with a point, and an exponent behind them.
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (text, None),
    };
    let is_mantissa = match mantissa.split_once('.') {
        Some(("", fraction)) => is_digits(fraction),
        Some((whole, fraction)) => is_digits(whole) && (fraction.is_empty() || is_digits(fraction)),
        None => is_digits(mantissa),
    };
    is_mantissa && exponent.is_none_or(is_digits)
}

/// A document as JSON; `None` if it has something that is left to the reader of YAML: tags, merge keys, keys that are no words or stand
/// twice, aliases that multiply, or no YAML at all.
pub(super) fn as_json(text: &str, letters: Letters) -> Option<AsJson> {
    let mut walk = Walk {
        events: Parser::new_from_str(text),
        out: Vec::with_capacity(text.len()),
        length_max: text.len().saturating_mul(4).max(4_000),
        anchors: FxHashMap::default(),
        misplaced: None,
        impossible: None,
        letters,
        has_letters: false,
    };
    loop {
        let (event, span) = walk.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(..) => {}
            event => {
                walk.value(event, &span, Place::Any, 0)?;
                break;
            }
        }
    }
    // A second document would be one too many.
    while let Some((event, _)) = walk.next() {
        if !matches!(event, Event::DocumentEnd | Event::StreamEnd) {
            return None;
        }
    }
    let text = String::from_utf8(walk.out).ok()?;
    Some(AsJson { text, misplaced: walk.misplaced, impossible: walk.impossible, has_letters: walk.has_letters })
}

/// Where a value stands, as far as it tells what it has to be although no type of ours has the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Any,
    /// Arguments of a program.
    Words,
    /// Variables of its environment.
    Environment,
    /// One of them.
    Variable,
    /// A string.
    Text,
}

impl Place {
    /// # Source
    /// `Container` of the core API: `command`, `args`, and `value` of `env`.
    fn below(self, key: &str) -> Self {
        match (self, key) {
            (Self::Any, "command" | "args") => Self::Words,
            (Self::Any, "env") => Self::Environment,
            (Self::Variable, "value") => Self::Text,
            _ => Self::Any,
        }
    }

    fn item(self) -> Self {
        match self {
            Self::Words => Self::Text,
            Self::Environment => Self::Variable,
            _ => Self::Any,
        }
    }
}

struct Walk<'a> {
    events: Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>,
    out: Vec<u8>,
    length_max: usize,
    /// Where in the output what an anchor names begins and ends.
    anchors: FxHashMap<usize, (usize, usize)>,
    misplaced: Option<(usize, usize)>,
    impossible: Option<(usize, usize)>,
    letters: Letters,
    has_letters: bool,
}

impl<'a> Walk<'a> {
    fn next(&mut self) -> Option<(Event<'a>, Span)> {
        self.events.next()?.ok()
    }

    fn value(&mut self, event: Event<'a>, span: &Span, place: Place, depth: usize) -> Option<()> {
        let start = self.out.len();
        if depth > DEPTH_MAX || start > self.length_max {
            return None;
        }
        let anchor = match event {
            Event::Scalar(text, style, anchor, None) => {
                self.scalar(&text, style, span, place);
                anchor
            }
            Event::SequenceStart(_, anchor, None) => {
                self.list(place, depth)?;
                anchor
            }
            Event::MappingStart(_, anchor, None) => {
                self.map(place, depth)?;
                anchor
            }
            Event::Alias(anchor) => {
                let (from, to) = *self.anchors.get(&anchor)?;
                self.out.extend_from_within(from..to);
                0
            }
            _ => return None,
        };
        if anchor != 0 {
            self.anchors.insert(anchor, (start, self.out.len()));
        }
        Some(())
    }

    fn list(&mut self, place: Place, depth: usize) -> Option<()> {
        self.out.push(b'[');
        let mut is_first = true;
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                self.out.push(b']');
                return Some(());
            }
            if !std::mem::take(&mut is_first) {
                self.out.push(b',');
            }
            self.value(event, &span, place.item(), depth + 1)?;
        }
    }

    fn map(&mut self, place: Place, depth: usize) -> Option<()> {
        self.out.push(b'{');
        let mut keys = FxHashSet::default();
        loop {
            let (event, _) = self.next()?;
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(key, ScalarStyle::Plain, 0, None) => match Scalar::of(&key) {
                    Scalar::Text if key != "<<" => key,
                    Scalar::Int(number) => number.to_string().into(),
                    Scalar::Bool(value) if key.len() > 1 => value.to_string().into(),
                    Scalar::Bool(_) => key,
                    _ => return None,
                },
                Event::Scalar(key, _, 0, None) => key,
                _ => return None,
            };
            if !keys.is_empty() {
                self.out.push(b',');
            }
            self.text(&key);
            self.out.push(b':');
            let below = place.below(&key);
            if !keys.insert(key) {
                return None;
            }
            let (event, span) = self.next()?;
            self.value(event, &span, below, depth + 1)?;
        }
        self.out.push(b'}');
        Some(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: &Span, place: Place) {
        let mut scalar = if style == ScalarStyle::Plain { Scalar::of(text) } else { Scalar::Text };
        if style == ScalarStyle::Plain && is_no_number_of_json(text) {
            self.impossible.get_or_insert((span.start.line().saturating_sub(1), span.start.col()));
        }
        if text.len() == 1 && matches!(scalar, Scalar::Bool(_)) {
            self.has_letters = true;
            if self.letters == Letters::Text {
                scalar = Scalar::Text;
            }
        }
        if place == Place::Text && !matches!(scalar, Scalar::Text | Scalar::Null) {
            self.misplaced.get_or_insert((span.start.line().saturating_sub(1), span.start.col()));
        }
        let written = match scalar {
            Scalar::Text => return self.text(text),
            Scalar::Null => "null".to_owned(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Int(value) => value.to_string(),
            Scalar::Unsigned(value) => value.to_string(),
            // Without a point where there is nothing behind it, as Go writes it.
            Scalar::Float(value) => value.to_string(),
        };
        self.out.extend_from_slice(written.as_bytes());
    }

    fn text(&mut self, text: &str) {
        serde_json::to_writer(&mut self.out, text).expect("writing to memory does not fail");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_what_they_are_for_kubernetes() {
        let check = |text: &str, expected: Scalar| assert_eq!(Scalar::of(text), expected, "{text}");
        for text in ["y", "Y", "yes", "Yes", "YES", "true", "True", "on", "ON"] {
            check(text, Scalar::Bool(true));
        }
        for text in ["n", "no", "No", "off", "False", "FALSE"] {
            check(text, Scalar::Bool(false));
        }
        for text in ["", "~", "null", "Null", "NULL"] {
            check(text, Scalar::Null);
        }
        for text in
            ["yES", "nothing", "1.2.3", "12:30:45", "2026-01-01", "1e400", "24e196277", "0x", "1-", "-", "+", "."]
        {
            check(text, Scalar::Text);
        }
        for (text, value) in [("0777", 511), ("0o17", 15), ("0x1F", 31), ("0b101", 5), ("1_000", 1000), ("-0x10", -16)]
        {
            check(text, Scalar::Int(value));
        }
        for (text, value) in [("+5", 5), ("0", 0), ("-0", 0), ("9223372036854775807", i64::MAX)] {
            check(text, Scalar::Int(value));
        }
        check("18446744073709551615", Scalar::Unsigned(u64::MAX));
        for (text, value) in [("1e3", 1000.0), ("08", 8.0), ("1.", 1.0), (".5", 0.5), ("-1.5E-1", -0.15)] {
            check(text, Scalar::Float(value));
        }
    }

    #[test]
    fn documents_become_json() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(as_json(text, Letters::Booleans).map(|json| json.text).as_deref(), expected, "{text}");
        }
        check("a: 1\nb: [yes, 'yes', 3.0, |-\n  x\n  ]\n", None);
        check("a: 1\nb: [yes, 'yes', 3.0]\nc: ~\n", Some(r#"{"a":1,"b":[true,"yes",3],"c":null}"#));
        check("{a: |-\n  x\n}", None);
        check("a: |\n  \"x\"\n  1\n", Some(r#"{"a":"\"x\"\n1\n"}"#));
        check("a: &x {b: 010}\nc: *x\n", Some(r#"{"a":{"b":8},"c":{"b":8}}"#));
        check("1: a\nyes: b\ny: n\n", Some(r#"{"1":"a","true":"b","y":false}"#));
        assert_eq!(as_json("a: n", Letters::Text).expect("a document").text, r#"{"a":"n"}"#);
        for left_to_the_other in
            ["a: 1\na: 2\n", "a: !!str 1\n", "b: &x {c: 1}\na: {<<: *x}\n", "? [a]\n: 1\n", "a: [\n"]
        {
            check(left_to_the_other, None);
        }
    }

    #[test]
    fn numbers_that_json_does_not_have_are_found() {
        let impossible = |text: &str| as_json(text, Letters::Booleans).expect("a document").impossible;
        assert_eq!(impossible("a: [1, -.Inf]\nb: .nan\n"), Some((0, 7)));
        assert_eq!(impossible("a: ['.nan', .nAn, inf, -.5]\n"), None);
    }

    #[test]
    fn words_of_programs_are_strings() {
        let misplaced = |text: &str| as_json(text, Letters::Booleans).expect("a document").misplaced;
        assert_eq!(misplaced("args: ['1', -v, 8080]\n"), Some((0, 16)));
        assert_eq!(misplaced("env:\n- name: A\n  value: yes\n"), Some((2, 9)));
        assert_eq!(misplaced("env:\n- name: A\n  value: 'yes'\nvalue: 1\nargs: 1\n"), None);
    }
}
