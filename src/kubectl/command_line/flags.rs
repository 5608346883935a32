//! Which flags each command has, and how they are read: as kubectl's own library reads them.
//!
//! # Source
//! kubectl's commands and `kubectl options`; pflag: `--flag value`, `--flag=value`, `-nvalue`, `-n=value`, `-it`, `--`.

use std::collections::VecDeque;
use std::str::FromStr;

use super::super::printing::Printing;
use super::stop::{CommandLineError, Stop, error};

/// What every command takes; most of it means nothing where there is one cluster.
const GLOBAL: &str = "as= as-group= as-uid= as-user-extra= cache-dir= certificate-authority= client-certificate= \
     client-key= cluster= context= disable-compression! help,h! insecure-skip-tls-verify! kubeconfig= kuberc= \
     log-flush-frequency= match-server-version! namespace,n= password= profile= profile-output= request-timeout= \
     server,s= tls-server-name= token= user= username= v,v= vmodule= warnings-as-errors!";
pub(in crate::kubectl) const PRINT: &str = "output,o= template= allow-missing-template-keys! show-managed-fields!";
pub(in crate::kubectl) const DRY: &str = "dry-run?";
pub(in crate::kubectl) const FILES: &str = "filename,f= kustomize,k= recursive,R!";
pub(in crate::kubectl) const WRITE: &str = "field-manager= validate? record!";
pub(in crate::kubectl) const NODES: &str = "selector,l= dry-run?";
pub(in crate::kubectl) const CREATE: &str = "save-config!";
pub(in crate::kubectl) const SET: &str = "all! local! selector,l= record! field-manager=";
pub(in crate::kubectl) const ROLLOUT: &str = "selector,l= field-manager=";

/// Flags that kubectl had once: what a runbook of old has, kubectl refuses.
const REMOVED: [&str; 9] = [
    "delete-local-data",
    "export",
    "generator",
    "show-all",
    "include-uninitialized",
    "heapster-namespace",
    "container-port",
    "use-openapi-print-columns",
    "pod-name",
];

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// With `=` only.
    Joined,
}

#[derive(Copy, Clone, Debug)]
struct Flag {
    name: &'static str,
    short: Option<char>,
    takes: Takes,
}

fn flags(list: &'static str) -> impl Iterator<Item = Flag> {
    list.split_whitespace().map(|text| {
        let (text, takes) = match text.as_bytes()[text.len() - 1] {
            b'=' => (&text[..text.len() - 1], Takes::Value),
            b'?' => (&text[..text.len() - 1], Takes::Joined),
            _ => (text.trim_end_matches('!'), Takes::Nothing),
        };
        let (name, short) = text.split_once(',').unwrap_or((text, ""));
        Flag { name, short: short.chars().next(), takes }
    })
}

/// The words of a command, and its flags. `!` takes no value, `=` does, `?` does with `=` only.
pub(in crate::kubectl) type Words = (&'static str, &'static [&'static str]);

/// How often a list has a command of these words.
const fn count(list: &[Words], words: &str) -> usize {
    let (mut count, mut place) = (0, 0);
    while place < list.len() {
        count += is_same(list[place].0, words) as usize;
        place += 1;
    }
    count
}

/// Whether two texts are the same, where `==` cannot say so yet.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Whether a list has a command of these words.
pub(in crate::kubectl) const fn has_command(list: &[Words], words: &str) -> bool {
    count(list, words) > 0
}

/// The commands of all verbs, and other words for some.
#[derive(Copy, Clone, Debug)]
pub(in crate::kubectl) struct Grammar {
    pub(in crate::kubectl) commands: &'static [&'static [Words]],
    pub(in crate::kubectl) aliases: &'static [&'static [(&'static str, &'static str)]],
}

impl Grammar {
    /// Whether a command stands in two lists, or twice in one.
    pub(in crate::kubectl) const fn has_doubles(self) -> bool {
        let mut list = 0;
        while list < self.commands.len() {
            let mut place = 0;
            while place < self.commands[list].len() {
                let (mut found, mut other) = (0, 0);
                while other < self.commands.len() {
                    found += count(self.commands[other], self.commands[list][place].0);
                    other += 1;
                }
                if found > 1 {
                    return true;
                }
                place += 1;
            }
            list += 1;
        }
        false
    }

    fn commands(self) -> impl Iterator<Item = &'static Words> {
        self.commands.iter().copied().flatten()
    }

    /// The flags of a command and those that all have; the command's own come first.
    fn flags_of(self, path: &str) -> impl Iterator<Item = Flag> {
        let own = self.commands().find(|(name, _)| *name == path).map_or(&[][..], |(_, lists)| lists);
        own.iter().copied().chain([GLOBAL]).flat_map(flags)
    }

    /// A flag that any command has.
    fn find(self, is_it: impl Fn(&Flag) -> bool) -> Option<Flag> {
        self.commands().flat_map(|(_, lists)| lists.iter()).flat_map(|list| flags(list)).find(is_it)
    }

    /// The first words of all commands.
    pub(super) fn verbs(self) -> impl Iterator<Item = &'static str> {
        self.commands().filter_map(|(name, _)| name.split(' ').next())
    }

    /// What can follow a word of a command, such as `rollout`.
    pub(super) fn subcommands(self, path: &str) -> impl Iterator<Item = &'static str> {
        self.commands().filter_map(move |(name, _)| name.strip_prefix(path)?.strip_prefix(' ')?.split(' ').next())
    }

    /// A command's words in place of an alias.
    fn unaliased(self, words: String) -> String {
        let alias = self.aliases.iter().copied().flatten().find(|(alias, _)| *alias == words);
        alias.map_or(words, |(_, name)| (*name).to_owned())
    }

    /// Whether a command has these words, or begins with them.
    fn has(self, words: &str) -> bool {
        self.commands().any(|(command, _)| {
            *command == words || command.strip_prefix(words).is_some_and(|rest| rest.starts_with(' '))
        })
    }
}

/// Words and flags of one command.
#[derive(Clone, Debug)]
pub(in crate::kubectl) struct Arguments {
    /// The command's own words: `rollout restart`.
    pub path: String,
    /// What is no flag, without the command's own words.
    pub words: Vec<String>,
    /// What stands after `--`.
    pub rest: Vec<String>,
    /// The line as it is written.
    pub line: String,
    /// `--dry-run` and `-o`.
    pub printing: Printing,
    pub(super) grammar: Grammar,
    flags: Vec<(&'static str, Option<String>)>,
}

/// Splits off the command's words; flags may stand before and between them.
///
/// # Source
/// cobra, `Command.Find` and `stripFlags`.
fn command(words: Vec<String>, grammar: Grammar) -> Result<(String, Vec<String>), CommandLineError> {
    let mut path = String::new();
    let mut others = Vec::new();
    // Of which nobody knows whether the next word is its value, as it is taken to be.
    let mut unknown_flag: Option<String> = None;
    let mut words: VecDeque<String> = words.into();
    while let Some(word) = words.pop_front() {
        if word == "--" {
            others.push(word);
            break;
        }
        if word.starts_with('-') && word.len() > 1 {
            let is_joined = word.contains('=') || (!word.starts_with("--") && word.len() > 2);
            let is = |flag: &Flag| match word.strip_prefix("--") {
                Some(name) => Some(flag.name) == name.split('=').next(),
                None => flag.short.is_some() && flag.short == word.chars().nth(1),
            };
            let flag = grammar.flags_of(&path).find(is);
            if flag.is_none() && grammar.find(is).is_none() {
                unknown_flag.get_or_insert_with(|| word.clone());
            }
            let takes = flag.map_or(Takes::Value, |flag| flag.takes);
            others.push(word);
            if !is_joined && takes == Takes::Value {
                others.extend(words.pop_front());
            }
            continue;
        }
        let longer = if path.is_empty() { word.clone() } else { format!("{path} {word}") };
        let longer = grammar.unaliased(longer);
        if grammar.has(&longer) {
            path = longer;
        } else if path.is_empty() {
            return Err(unknown_flag.map_or_else(
                || unknown_command(&word, grammar),
                |flag| error(&flag, format!("unknown flag of kubectl: {flag}")),
            ));
        } else {
            others.push(word);
            break;
        }
    }
    others.extend(words);
    Ok((path, others))
}

fn unknown_command(word: &str, grammar: Grammar) -> CommandLineError {
    let nearest = crate::diagnostics::suggest::nearest(word, grammar.verbs());
    CommandLineError {
        message: format!("kubectl {word} cannot be played"),
        word: word.to_owned(),
        help: nearest.map(|verb| format!("the nearest command is `{verb}`")),
    }
}

impl Arguments {
    /// Splits what follows `kubectl`.
    pub(super) fn split(all: Vec<String>, line: &str, grammar: Grammar) -> Result<Self, Stop> {
        let (path, others) = command(all, grammar)?;
        let (line, printing) = (line.to_owned(), Printing::default());
        let (words, rest, flags) = (Vec::new(), Vec::new(), Vec::new());
        let mut arguments = Self { path, words, rest, line, printing, grammar, flags };
        let mut others: VecDeque<String> = others.into();
        while let Some(word) = others.pop_front() {
            if word == "--" {
                arguments.rest = others.into();
                break;
            }
            if let Some(long) = word.strip_prefix("--") {
                arguments.long(long, &mut others)?;
            } else if word.len() > 1 && word.starts_with('-') {
                arguments.short(&word, &mut others)?;
            } else {
                arguments.words.push(word);
                // What a program in a container is given is not kubectl's.
                if arguments.path == "exec" && arguments.words.len() > 1 {
                    arguments.rest = others.into();
                    break;
                }
            }
        }
        Ok(arguments)
    }

    fn long(&mut self, text: &str, rest: &mut VecDeque<String>) -> Result<(), Stop> {
        let (name, joined) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let Some(flag) = self.grammar.flags_of(&self.path).find(|flag| flag.name == name) else {
            return Err(self.unknown(&format!("--{name}"), name, &format!("unknown flag: --{name}")));
        };
        let value = match (joined, flag.takes) {
            (Some(value), _) => Some(value),
            (None, Takes::Value) => match rest.pop_front() {
                Some(value) => Some(value),
                None => return Err(error(&format!("--{name}"), format!("flag needs an argument: --{name}")).into()),
            },
            (None, _) => None,
        };
        self.flags.push((flag.name, value));
        Ok(())
    }

    /// `-n value`, `-nvalue`, `-n=value`, and several at once: `-it`.
    fn short(&mut self, word: &str, rest: &mut VecDeque<String>) -> Result<(), Stop> {
        let mut letters = word[1..].chars();
        while let Some(letter) = letters.next() {
            let Some(flag) = self.grammar.flags_of(&self.path).find(|flag| flag.short == Some(letter)) else {
                let part: String = std::iter::once(letter).chain(letters).collect();
                let elsewhere = self.grammar.find(|flag| flag.short == Some(letter));
                let name = elsewhere.map_or("", |flag| flag.name);
                return Err(self.unknown(word, name, &format!("unknown shorthand flag: '{letter}' in -{part}")));
            };
            if flag.takes != Takes::Value {
                let joined = letters.as_str().strip_prefix('=').map(str::to_owned);
                let ends = joined.is_some();
                self.flags.push((flag.name, joined));
                if ends {
                    break;
                }
                continue;
            }
            let joined = letters.as_str();
            let value = match joined.strip_prefix('=').unwrap_or(joined) {
                "" => rest.pop_front(),
                value => Some(value.to_owned()),
            };
            let Some(value) = value else {
                return Err(error(word, format!("flag needs an argument: '{letter}' in {word}")).into());
            };
            self.flags.push((flag.name, Some(value)));
            break;
        }
        Ok(())
    }

    /// kubectl refuses what only another of its commands takes, or it itself once took; anything else is a typing error.
    fn unknown(&self, word: &str, name: &str, message: &str) -> Stop {
        if !name.is_empty() && (self.grammar.find(|flag| flag.name == name).is_some() || REMOVED.contains(&name)) {
            return Stop::refused(&[
                &format!("error: {message}"),
                &format!("See 'kubectl {} --help' for usage.", self.path),
            ]);
        }
        let plain = word.trim_start_matches('-');
        let known: Vec<&str> = self.grammar.flags_of(&self.path).map(|flag| flag.name).collect();
        let nearest = crate::diagnostics::suggest::nearest(plain, known);
        Stop::Unplayable(CommandLineError {
            message: format!("unknown flag of {}: {word}", format!("kubectl {}", self.path).trim_end()),
            word: word.to_owned(),
            help: nearest.map(|flag| format!("the nearest flag is `--{flag}`")),
        })
    }

    /// Whether a flag is given.
    pub(in crate::kubectl) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(flag, _)| *flag == name)
    }

    /// The same without one of the flags.
    pub(in crate::kubectl) fn without(&self, name: &str) -> Self {
        let mut others = self.clone();
        others.flags.retain(|(flag, _)| *flag != name);
        others
    }

    /// The value of a flag; of several the last.
    pub(in crate::kubectl) fn text(&self, name: &str) -> Option<&str> {
        self.flags.iter().rev().find(|(flag, _)| *flag == name).and_then(|(_, value)| value.as_deref())
    }

    /// The values of a flag that can be given several times.
    pub(in crate::kubectl) fn texts(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.flags.iter().filter(move |(flag, _)| *flag == name).filter_map(|(_, value)| value.as_deref())
    }

    /// The values of a flag whose values may also stand in one, with commas.
    pub(in crate::kubectl) fn list(&self, name: &'static str) -> Vec<String> {
        self.texts(name).flat_map(|value| value.split(',')).map(str::to_owned).collect()
    }

    /// A flag without a value, or with `=true` or `=false`.
    pub(in crate::kubectl) fn switch(&self, name: &str, default: bool) -> Result<bool, CommandLineError> {
        if !self.has(name) {
            return Ok(default);
        }
        match self.text(name) {
            None | Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(true),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(false),
            Some(value) => Err(error(value, format!("--{name} takes true or false, not `{value}`"))),
        }
    }

    /// A flag with a number.
    pub(in crate::kubectl) fn number<T: FromStr>(&self, name: &str) -> Result<Option<T>, CommandLineError> {
        self.text(name)
            .map(|value| value.parse().map_err(|_| error(value, format!("--{name} takes a number, not `{value}`"))))
            .transpose()
    }
}
