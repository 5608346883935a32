//! kubectl's command lines: words, flags, and what they mean.

mod common;
mod flags;
mod pipeline;
pub(super) mod plain;
mod resources;
mod script;
mod selection;
mod shell;
mod stop;

pub(super) use common::{
    all_or_refused, check_kustomize, check_nodes, check_subresource, duration, field_validation, pairs, revision_flag,
    timeout,
};
pub(super) use flags::{Arguments, CREATE, DRY, FILES, Grammar, NODES, PRINT, ROLLOUT, SET, WRITE, Words, has_command};
pub use pipeline::{Input, Stage};
pub(super) use resources::WithoutNames;
pub use script::{commands, placed_commands};
pub(super) use selection::FieldValidation;
pub use selection::{FieldSelector, Selection};
pub use shell::Source;
pub use stop::CommandLineError;
pub(super) use stop::{Stop, error};

use super::printing::Printing;
use super::resource::{Kind, Target};
use super::unanswered::Unanswered;
use super::{Command, GRAMMAR, Written};
use crate::model::config::KubernetesVersion;

/// A line: its command, and how it is carried out and printed.
#[derive(Clone, Debug)]
pub struct CommandLine {
    /// The command.
    pub command: Command,
    /// `--dry-run` and `-o`.
    pub printing: Printing,
    /// The paths of `-f`; `-` is standard input.
    pub files: Vec<String>,
    /// What comes in as standard input.
    pub input: Option<Input>,
    /// The programs behind pipes, in order.
    pub rest: Vec<Stage>,
}

impl CommandLine {
    pub(super) fn new(command: Command, printing: Printing, files: Vec<String>) -> Self {
        Self { command, printing, files, input: None, rest: Vec::new() }
    }
}

impl Command {
    /// Whether it sends nothing of what its files say of objects but which they are: what they lack otherwise, nobody sees.
    pub(crate) fn only_names_objects(&mut self) -> bool {
        matches!(self, Self::Delete(_)) || self.named_by_files().is_some()
    }

    /// Commands other than those that make and delete objects work on the objects that files name.
    pub(crate) fn name_objects(&mut self, objects: &[Written]) {
        let reads_before = self.reads_before();
        let Some(selection) = self.named_by_files() else { return };
        selection.reads_before = reads_before;
        // What no server has is told by itself.
        for Written { object, .. } in objects.iter().filter(|written| written.is_served(KubernetesVersion::NEWEST)) {
            let metadata = object.metadata();
            if !reads_before && selection.selector.as_ref().is_some_and(|s| !s.matches(&metadata.labels)) {
                continue;
            }
            let Some(kind) = Kind::of(object) else { continue };
            let namespace = Some(metadata.namespace);
            selection.targets.push(Target { kind, name: metadata.name.to_string(), namespace });
        }
    }
}

/// Reads a kubectl line, with what its output goes through; a leading `kubectl` is allowed.
///
/// # Errors
/// If the line has a NUL character, which no program can be given, or if the verb, a flag or an argument is not one that can be played. What kubectl itself would refuse is a command that fails.
pub fn parse(line: &str) -> Result<CommandLine, CommandLineError> {
    if let Some(at) = line.find('\0') {
        let before = line[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
        let mut error = error(before, "a NUL character cannot be part of a command line");
        error.help = Some("write the line without it".to_owned());
        return Err(error);
    }
    pipeline::read(shell::programs(line)?, line)
}

/// The command of one program's words.
pub(super) fn single(mut words: Vec<String>, line: &str) -> Result<CommandLine, CommandLineError> {
    let is_setting = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
    };
    while words.first().is_some_and(|word| is_setting(word) || word == "sudo") {
        words.remove(0);
    }
    if words.first().is_some_and(|word| word.rsplit('/').next() == Some("kubectl")) {
        words.remove(0);
    }
    if words.is_empty() {
        return Err(error(line, "an empty kubectl line"));
    }
    match read(words, line) {
        Ok(line) => Ok(line),
        Err(Stop::Refused(lines)) => Ok(CommandLine::new(Command::Refused(lines), Printing::default(), Vec::new())),
        Err(Stop::Unanswered(what)) => {
            Ok(CommandLine::new(Command::Unanswered(Unanswered(what)), Printing::default(), Vec::new()))
        }
        Err(Stop::Unplayable(error)) => Err(error),
    }
}

fn read(words: Vec<String>, line: &str) -> Result<CommandLine, Stop> {
    let mut arguments = Arguments::split(words, line, GRAMMAR)?;
    arguments.printing = common::printing(&arguments, Command::is_answered(&arguments.path))?;
    let (printing, files) = (arguments.printing.clone(), arguments.files());
    Ok(CommandLine::new(Command::read(&mut arguments)?, printing, files))
}

#[cfg(test)]
mod tests;
