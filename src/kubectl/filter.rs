//! The small programs behind a pipe: `grep`, `awk '{print $1}'`, `head`, …, as far as runbooks use them. What else stands there
//! changes nothing in the cluster; what it would print is not simulated.

use super::pattern::{Pattern, Syntax};

/// A program that reads lines and prints lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// `cat`, `tee`, `less`, `more`: what comes in goes out.
    Cat,
    /// Lines that match, or do not.
    Grep(Grep),
    /// The first lines; a negative count leaves out the last.
    Head(i64),
    /// The last lines, or those from a number on.
    Tail(Tail),
    /// `wc -l`.
    Count,
    /// `sort`.
    Sort(Sort),
    /// `uniq`, perhaps with counts.
    Uniq {
        /// `-c`.
        counts: bool,
    },
    /// `cut -d -f`.
    Cut {
        /// `-d`.
        delimiter: char,
        /// `-f`: ranges from 1, the end included.
        fields: Vec<(usize, usize)>,
    },
    /// `tr 'a' 'b'`, `tr -d 'a'`, `tr -s ' '`.
    Translate(Translate),
    /// `awk '…'` that prints fields.
    Awk(Awk),
    /// `sed 's/a/b/'`, in order.
    Sed(Vec<Substitution>),
    /// A program whose output is not simulated, as it is written.
    Opaque(String),
}

/// `grep`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grep {
    patterns: Vec<Pattern>,
    is_inverted: bool,
    counts: bool,
    is_silent: bool,
}

/// `tail`.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// `-n 3`.
    Last(usize),
    /// `-n +3`.
    From(usize),
}

/// `sort`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Sort {
    is_reverse: bool,
    is_unique: bool,
    is_numeric: bool,
    /// `-k`: the field that counts, from 1.
    key: Option<usize>,
}

/// `tr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translate {
    from: Vec<char>,
    /// What each becomes; none: it goes.
    to: Option<Vec<char>>,
    /// Runs of what it becomes are one.
    squeezes: bool,
}

/// `awk`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awk {
    separator: Option<char>,
    /// Lines to leave out at the beginning, and the most to take.
    skips: usize,
    takes: usize,
    pattern: Option<(Pattern, bool)>,
    /// What each line becomes; 0 is the whole line, none the last field.
    print: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Field(usize),
    LastField,
    Text(String),
    /// The separator of a comma.
    Space,
}

/// A part of what is put in the place of what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// What a group has found; of 0, all.
    Group(usize),
}

/// `s/a/b/g`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    pattern: Pattern,
    with: Vec<Piece>,
    is_global: bool,
}

/// Flags and words of a program: those of these letters take a value.
struct Options {
    flags: Vec<(String, Option<String>)>,
    words: Vec<String>,
}

impl Options {
    fn read(words: &[String], with_value: &str) -> Self {
        let (mut flags, mut plain) = (Vec::new(), Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if let Some(long) = word.strip_prefix("--").filter(|long| !long.is_empty()) {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                flags.push((name.to_owned(), value.map(str::to_owned)));
                continue;
            }
            let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty() && *rest != "-") else {
                if word != "--" {
                    plain.push(word.clone());
                }
                continue;
            };
            for (at, letter) in letters.char_indices() {
                if with_value.contains(letter) {
                    let joined = &letters[at + letter.len_utf8()..];
                    let value = if joined.is_empty() { words.next().cloned() } else { Some(joined.to_owned()) };
                    flags.push((letter.to_string(), value));
                    break;
                }
                flags.push((letter.to_string(), None));
            }
        }
        Self { flags, words: plain }
    }

    fn has(&self, names: &[&str]) -> bool {
        self.flags.iter().any(|(flag, _)| names.contains(&flag.as_str()))
    }

    fn value(&self, names: &[&str]) -> Option<&str> {
        self.flags.iter().rev().find(|(flag, _)| names.contains(&flag.as_str())).and_then(|(_, value)| value.as_deref())
    }

    /// Whether all flags are among these.
    fn are(&self, names: &[&str]) -> bool {
        self.flags.iter().all(|(flag, _)| names.contains(&flag.as_str()))
    }
}

impl Filter {
    /// The program of these words.
    pub(super) fn parse(words: &[String]) -> Self {
        let opaque = || Self::Opaque(words.join(" "));
        let Some((name, arguments)) = words.split_first() else { return Self::Cat };
        let name = name.rsplit('/').next().unwrap_or(name);
        let read = match name {
            "cat" if arguments.iter().all(|word| word == "-") => Some(Self::Cat),
            "tee" | "less" | "more" => Some(Self::Cat),
            "grep" | "egrep" | "fgrep" => grep(name, arguments),
            "head" => count(arguments).map(Self::Head),
            "tail" => tail(arguments),
            "wc" if arguments == ["-l"] => Some(Self::Count),
            "sort" => sort(arguments),
            "uniq" => match arguments {
                [] => Some(Self::Uniq { counts: false }),
                [flag] if flag == "-c" => Some(Self::Uniq { counts: true }),
                _ => None,
            },
            "cut" => cut(arguments),
            "tr" => translate(arguments),
            "awk" | "gawk" => awk(arguments),
            "sed" => sed(arguments),
            _ => None,
        };
        read.unwrap_or_else(opaque)
    }

    /// What it prints of what it reads; as it is, if that is not simulated.
    pub(super) fn apply(&self, lines: Vec<String>) -> Vec<String> {
        match self {
            Self::Cat | Self::Opaque(_) => lines,
            Self::Grep(grep) => grep.apply(lines),
            Self::Head(count) => {
                let length = lines.len();
                let keep = usize::try_from(*count).unwrap_or_else(|_| {
                    length.saturating_sub(usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX))
                });
                lines.into_iter().take(keep).collect()
            }
            Self::Tail(Tail::Last(count)) => {
                let skip = lines.len().saturating_sub(*count);
                lines.into_iter().skip(skip).collect()
            }
            Self::Tail(Tail::From(first)) => lines.into_iter().skip(first.saturating_sub(1)).collect(),
            Self::Count => vec![lines.len().to_string()],
            Self::Sort(sort) => sort.apply(lines),
            Self::Uniq { counts } => uniq(lines, *counts),
            Self::Cut { delimiter, fields } => lines.iter().map(|line| cut_line(line, *delimiter, fields)).collect(),
            Self::Translate(translate) => translate.apply(&lines),
            Self::Awk(awk) => awk.apply(&lines),
            Self::Sed(substitutions) => {
                let edit = |line: String| substitutions.iter().fold(line, |line, edit| edit.apply(&line));
                // What is put in may hold line ends.
                lines.into_iter().map(edit).flat_map(|line| split_lines(&line)).collect()
            }
        }
    }
}

fn split_lines(line: &str) -> Vec<String> {
    line.split('\n').map(str::to_owned).collect()
}

fn grep(name: &str, arguments: &[String]) -> Option<Filter> {
    let options = Options::read(arguments, "emABC");
    let known = [
        "e",
        "i",
        "v",
        "E",
        "F",
        "G",
        "c",
        "q",
        "s",
        "ignore-case",
        "invert-match",
        "extended-regexp",
        "color",
        "quiet",
        "line-buffered",
    ];
    if !options.are(&known) {
        return None;
    }
    let syntax = match name {
        _ if name == "fgrep" || options.has(&["F"]) => Syntax::Fixed,
        _ if name == "egrep" || options.has(&["E", "extended-regexp"]) => Syntax::Extended,
        _ => Syntax::Basic,
    };
    let named: Vec<&str> =
        options.flags.iter().filter(|(flag, _)| flag == "e").filter_map(|(_, value)| value.as_deref()).collect();
    let (texts, files) = match (named.as_slice(), options.words.split_first()) {
        ([], Some((first, rest))) => (vec![first.as_str()], rest.len()),
        ([], None) => return None,
        (_, _) => (named, options.words.len()),
    };
    let ignores_case = options.has(&["i", "ignore-case"]);
    let patterns = texts.iter().flat_map(|text| text.split('\n'));
    let patterns = patterns.map(|text| Pattern::parse(text, syntax, ignores_case)).collect::<Option<Vec<_>>>()?;
    (files == 0).then_some(Filter::Grep(Grep {
        patterns,
        is_inverted: options.has(&["v", "invert-match"]),
        counts: options.has(&["c"]),
        is_silent: options.has(&["q", "quiet"]),
    }))
}

impl Grep {
    fn apply(&self, lines: Vec<String>) -> Vec<String> {
        let is_found = |line: &String| self.patterns.iter().any(|pattern| pattern.is_in(line)) != self.is_inverted;
        let found: Vec<String> = lines.into_iter().filter(is_found).collect();
        match (self.is_silent, self.counts) {
            (true, _) => Vec::new(),
            (_, true) => vec![found.len().to_string()],
            _ => found,
        }
    }
}

/// `-n 5`, `-5`; ten without.
fn count(arguments: &[String]) -> Option<i64> {
    match arguments {
        [] => Some(10),
        [flag, count] if flag == "-n" => count.parse().ok(),
        [flag] => {
            let text =
                flag.strip_prefix("--lines=").or_else(|| flag.strip_prefix("-n")).or_else(|| flag.strip_prefix('-'));
            text?.parse().ok()
        }
        _ => None,
    }
}

fn tail(arguments: &[String]) -> Option<Filter> {
    let from = match arguments {
        [flag, count] if flag == "-n" => count.strip_prefix('+'),
        [flag] => flag.strip_prefix("-n").unwrap_or(flag).strip_prefix('+'),
        _ => None,
    };
    let tail = match from {
        Some(from) => Tail::From(from.parse().ok()?),
        None => Tail::Last(usize::try_from(count(arguments)?.unsigned_abs()).ok()?),
    };
    Some(Filter::Tail(tail))
}

fn sort(arguments: &[String]) -> Option<Filter> {
    let options = Options::read(arguments, "k");
    if !options.are(&["r", "u", "n", "k"]) || !options.words.is_empty() {
        return None;
    }
    let key = options.value(&["k"]).map(|text| text.split(',').next().unwrap_or(text).parse::<usize>());
    Some(Filter::Sort(Sort {
        is_reverse: options.has(&["r"]),
        is_unique: options.has(&["u"]),
        is_numeric: options.has(&["n"]),
        key: key.transpose().ok()?,
    }))
}

impl Sort {
    fn apply(self, mut lines: Vec<String>) -> Vec<String> {
        let key = |line: &str| -> String {
            match self.key {
                None => line.to_owned(),
                Some(key) => {
                    let fields = line.split_whitespace().skip(key.saturating_sub(1));
                    fields.collect::<Vec<_>>().join(" ")
                }
            }
        };
        let number = |text: &str| {
            let text = text.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len());
            text[..end].parse::<i64>().unwrap_or(0)
        };
        lines.sort_by(|a, b| {
            let by_key = match self.is_numeric {
                true => number(&key(a)).cmp(&number(&key(b))),
                false => key(a).cmp(&key(b)),
            };
            let order = by_key.then_with(|| a.cmp(b));
            if self.is_reverse { order.reverse() } else { order }
        });
        if self.is_unique {
            lines.dedup();
        }
        lines
    }
}

fn uniq(lines: Vec<String>, counts: bool) -> Vec<String> {
    let mut runs: Vec<(usize, String)> = Vec::new();
    for line in lines {
        match runs.last_mut() {
            Some((count, last)) if *last == line => *count += 1,
            _ => runs.push((1, line)),
        }
    }
    runs.into_iter().map(|(count, line)| if counts { format!("{count:>7} {line}") } else { line }).collect()
}

fn cut(arguments: &[String]) -> Option<Filter> {
    let options = Options::read(arguments, "dfc");
    let mut delimiter = options.value(&["d", "delimiter"]).unwrap_or("\t").chars();
    let (delimiter, None) = (delimiter.next()?, delimiter.next()) else { return None };
    if !options.are(&["d", "f", "delimiter", "fields"]) || !options.words.is_empty() {
        return None;
    }
    let range = |text: &str| -> Option<(usize, usize)> {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let from = if from.is_empty() { 1 } else { from.parse().ok()? };
        Some((from, if to.is_empty() { usize::MAX } else { to.parse().ok()? }))
    };
    let fields = options.value(&["f", "fields"])?.split(',').map(range).collect::<Option<Vec<_>>>()?;
    Some(Filter::Cut { delimiter, fields })
}

fn cut_line(line: &str, delimiter: char, fields: &[(usize, usize)]) -> String {
    if !line.contains(delimiter) {
        return line.to_owned();
    }
    let is_wanted = |number: usize| fields.iter().any(|(from, to)| (*from..=*to).contains(&number));
    let parts = line.split(delimiter).enumerate().filter(|(index, _)| is_wanted(index + 1));
    parts.map(|(_, part)| part).collect::<Vec<_>>().join(&delimiter.to_string())
}

/// The characters of a set of `tr`; none of classes and ranges.
fn set(text: &str) -> Option<Vec<char>> {
    let (mut set, mut letters) = (Vec::new(), text.chars());
    while let Some(c) = letters.next() {
        match c {
            '\\' => set.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            '[' => return None,
            '-' if !set.is_empty() && !letters.as_str().is_empty() => return None,
            c => set.push(c),
        }
    }
    Some(set)
}

fn translate(arguments: &[String]) -> Option<Filter> {
    let options = Options::read(arguments, "");
    let words: Vec<&str> = options.words.iter().map(String::as_str).collect();
    if !options.are(&["d", "s"]) {
        return None;
    }
    let squeezes = options.has(&["s"]);
    let (from, to) = match words.as_slice() {
        [from] if options.has(&["d"]) => (set(from)?, None),
        [from] if squeezes => (set(from)?, Some(set(from)?)),
        [from, to] if !options.has(&["d"]) => (set(from)?, Some(set(to)?)),
        _ => return None,
    };
    to.as_ref().is_none_or(|to| !to.is_empty()).then_some(Filter::Translate(Translate { from, to, squeezes }))
}

impl Translate {
    fn apply(&self, lines: &[String]) -> Vec<String> {
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let mut out = String::new();
        for c in text.chars() {
            let Some(at) = self.from.iter().position(|from| *from == c) else {
                out.push(c);
                continue;
            };
            let Some(to) = &self.to else { continue };
            let c = to[at.min(to.len() - 1)];
            if !self.squeezes || !out.ends_with(c) {
                out.push(c);
            }
        }
        out.lines().map(str::to_owned).collect()
    }
}

fn awk(arguments: &[String]) -> Option<Filter> {
    let options = Options::read(arguments, "F");
    let [program] = options.words.as_slice() else { return None };
    let separator = match options.value(&["F"]) {
        None | Some(" ") => None,
        Some(text) => {
            let text = text.trim_matches(['"', '\'']);
            let mut letters = text.chars();
            let (Some(separator), None) = (letters.next(), letters.next()) else { return None };
            options.are(&["F"]).then_some(())?;
            Some(separator)
        }
    };
    let (condition, rest) = program.trim().split_once('{').unwrap_or((program.trim(), "print }"));
    let body = rest.trim().strip_suffix('}')?.trim().trim_end_matches(';');
    let (mut skips, mut takes, mut pattern) = (0, usize::MAX, None);
    let number = |text: &str| text.trim().parse::<usize>().ok();
    for part in condition.split("&&").map(str::trim).filter(|part| !part.is_empty()) {
        if let Some(first) = part.strip_prefix("NR>=").or_else(|| part.strip_prefix("NR >=")) {
            skips = number(first)?.saturating_sub(1);
        } else if let Some(after) = part.strip_prefix("NR>").or_else(|| part.strip_prefix("NR >")) {
            skips = number(after)?;
        } else if let Some(only) = part.strip_prefix("NR==").or_else(|| part.strip_prefix("NR ==")) {
            (skips, takes) = (number(only)?.saturating_sub(1), 1);
        } else {
            let (text, is_inverted) = part.strip_prefix('!').map_or((part, false), |rest| (rest, true));
            let text = text.strip_prefix('/')?.strip_suffix('/')?;
            pattern = Some((Pattern::parse(text, Syntax::Extended, false)?, is_inverted));
        }
    }
    let print = printed(body.strip_prefix("print")?.trim())?;
    Some(Filter::Awk(Awk { separator, skips, takes, pattern, print }))
}

/// Arguments of awk's `print`: fields and texts, with commas between them, or without.
fn printed(text: &str) -> Option<Vec<Part>> {
    let (mut parts, mut rest) = (Vec::new(), text.trim());
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('"') {
            let end = after.find('"').filter(|end| !after[..*end].contains('\\'))?;
            parts.push(Part::Text(after[..end].to_owned()));
            rest = &after[end + 1..];
        } else if let Some(after) = rest.strip_prefix("$NF") {
            parts.push(Part::LastField);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('$') {
            let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
            parts.push(Part::Field(after[..end].parse().ok()?));
            rest = &after[end..];
        } else {
            rest = rest.strip_prefix(',')?;
            parts.push(Part::Space);
        }
        rest = rest.trim_start();
    }
    Some(if parts.is_empty() { vec![Part::Field(0)] } else { parts })
}

impl Awk {
    fn apply(&self, lines: &[String]) -> Vec<String> {
        let lines = lines.iter().skip(self.skips).take(self.takes);
        let is_taken =
            |line: &&String| self.pattern.as_ref().is_none_or(|(pattern, inverted)| pattern.is_in(line) != *inverted);
        lines.filter(is_taken).map(|line| self.line(line)).collect()
    }

    fn line(&self, line: &str) -> String {
        let fields: Vec<&str> = match self.separator {
            None => line.split_whitespace().collect(),
            Some(separator) => line.split(separator).collect(),
        };
        let part = |part: &Part| {
            match part {
                Part::Field(0) => line,
                Part::Field(number) => fields.get(number - 1).copied().unwrap_or_default(),
                Part::LastField => fields.last().copied().unwrap_or_default(),
                Part::Text(text) => text,
                Part::Space => " ",
            }
            .to_owned()
        };
        self.print.iter().map(part).collect()
    }
}

fn sed(arguments: &[String]) -> Option<Filter> {
    let options = Options::read(arguments, "e");
    if !options.are(&["e", "E", "r"]) {
        return None;
    }
    let syntax = if options.has(&["E", "r"]) { Syntax::Extended } else { Syntax::Basic };
    let named: Vec<&str> =
        options.flags.iter().filter(|(flag, _)| flag == "e").filter_map(|(_, value)| value.as_deref()).collect();
    let scripts = match (named.is_empty(), options.words.as_slice()) {
        (true, [script]) => vec![script.as_str()],
        (false, []) => named,
        _ => return None,
    };
    scripts.into_iter().map(|script| substitution(script, syntax)).collect::<Option<Vec<_>>>().map(Filter::Sed)
}

/// `s/a/b/g`, with another sign than `/` if wished.
fn substitution(script: &str, syntax: Syntax) -> Option<Substitution> {
    let mut letters = script.trim().strip_prefix('s')?.chars();
    let sign = letters.next()?;
    let mut parts = vec![String::new()];
    while let Some(c) = letters.next() {
        let part = parts.last_mut()?;
        match c {
            '\\' => match letters.next()? {
                next if next == sign => part.push(sign),
                next => part.extend(['\\', next]),
            },
            c if c == sign => parts.push(String::new()),
            c => part.push(c),
        }
    }
    let [pattern, with, flags] = parts.as_slice() else { return None };
    let pattern = Pattern::parse(pattern, syntax, false)?;
    let with = pieces(with, pattern.groups())?;
    let is_global = match flags.as_str() {
        "" => false,
        "g" => true,
        _ => return None,
    };
    Some(Substitution { pattern, with, is_global })
}

/// What is put in the place of what was found; none if it names a group that the pattern does not have.
fn pieces(text: &str, groups: usize) -> Option<Vec<Piece>> {
    let (mut pieces, mut plain) = (Vec::new(), String::new());
    let mut letters = text.chars();
    while let Some(c) = letters.next() {
        let group = match c {
            '\\' => match letters.next()? {
                'n' => {
                    plain.push('\n');
                    continue;
                }
                digit if digit.is_ascii_digit() => usize::try_from(digit.to_digit(10)?).ok()?,
                other => {
                    plain.push(other);
                    continue;
                }
            },
            '&' => 0,
            c => {
                plain.push(c);
                continue;
            }
        };
        if group > groups {
            return None;
        }
        pieces.push(Piece::Text(std::mem::take(&mut plain)));
        pieces.push(Piece::Group(group));
    }
    pieces.push(Piece::Text(plain));
    Some(pieces)
}

impl Substitution {
    fn apply(&self, line: &str) -> String {
        self.pattern.replaced(line, self.is_global, |found| {
            let part = |group: usize| found.get(group).map_or("", |part| part.as_str());
            self.with
                .iter()
                .map(|piece| match piece {
                    Piece::Text(text) => text.as_str(),
                    Piece::Group(group) => part(*group),
                })
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &[&str], lines: &[&str], expected: &[&str]) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let filter = Filter::parse(&words);
        assert!(!matches!(filter, Filter::Opaque(_)), "{words:?}");
        assert_eq!(filter.apply(lines.iter().map(|line| (*line).to_owned()).collect()), expected, "{words:?}");
    }

    #[test]
    fn lines_are_chosen() {
        let lines = ["NAME READY", "web-1 1/1", "web-2 0/1", "db-0 1/1"];
        check(&["grep", "web"], &lines, &["web-1 1/1", "web-2 0/1"]);
        check(&["grep", "-v", "1/1"], &lines, &["NAME READY", "web-2 0/1"]);
        check(&["egrep", "^web|^db"], &lines, &["web-1 1/1", "web-2 0/1", "db-0 1/1"]);
        check(&["grep", "-ic", "NAME|WEB", "-E"], &lines, &["3"]);
        check(&["grep", "-e", "db", "-e", "NAME"], &lines, &["NAME READY", "db-0 1/1"]);
        check(&["head", "-2"], &lines, &["NAME READY", "web-1 1/1"]);
        check(&["head", "-n", "-3"], &lines, &["NAME READY"]);
        check(&["tail", "-n", "1"], &lines, &["db-0 1/1"]);
        check(&["tail", "-n", "+3"], &lines, &["web-2 0/1", "db-0 1/1"]);
        check(&["wc", "-l"], &lines, &["4"]);
        check(&["cat"], &lines, &lines);
        check(&["tee", "log"], &lines, &lines);
    }

    #[test]
    fn lines_are_changed() {
        let lines = ["NAME READY", "web-1 1/1", "web-2 0/1"];
        check(&["awk", "{print $1}"], &lines, &["NAME", "web-1", "web-2"]);
        check(&["awk", "NR>1 {print $1}"], &lines, &["web-1", "web-2"]);
        check(&["awk", "/0\\/1/{print $1, \"in\" $NF}"], &lines, &["web-2 in0/1"]);
        check(&["awk", "-F/", "NR==2{ print $2 }"], &lines, &["1"]);
        check(&["cut", "-d", " ", "-f1"], &lines, &["NAME", "web-1", "web-2"]);
        check(&["cut", "-d-", "-f2-"], &["a-b-c", "x"], &["b-c", "x"]);
        check(&["sed", "s/web/www/"], &lines, &["NAME READY", "www-1 1/1", "www-2 0/1"]);
        check(&["sed", "s|1|x\\ny|g"], &["1/1"], &["x", "y/x", "y"]);
        check(&["sed", "-e", "s/a*/-/g"], &["bab"], &["-b-b-"]);
        check(&["tr", " ", "\\n"], &["a b"], &["a", "b"]);
        check(&["tr", "-d", "\""], &["\"a\""], &["a"]);
        check(&["tr", "-s", " "], &["a   b"], &["a b"]);
        check(&["sort", "-r"], &["a", "c", "b"], &["c", "b", "a"]);
        check(&["sort", "-n", "-k2"], &["a 10", "b 9"], &["b 9", "a 10"]);
        check(&["sort", "-u"], &["b", "a", "b"], &["a", "b"]);
        check(&["uniq", "-c"], &["a", "a", "b"], &["      2 a", "      1 b"]);
    }

    #[test]
    fn what_is_not_read_is_left_as_it_is() {
        for line in [
            "jq .items",
            "grep -o x",
            "grep (a)",
            "awk {x=1}",
            "sed 1d",
            "tr [a-z] [A-Z]",
            "python3 -m json",
            "base64 -d",
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let filter = Filter::parse(&words);
            let is_plain = line == "grep (a)";
            assert_eq!(matches!(filter, Filter::Opaque(_)), !is_plain, "{line}");
        }
    }
}
