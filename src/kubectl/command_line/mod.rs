//! kubectl's command lines: words, flags, and what they mean.

mod args;
mod flags;
mod looking;
mod making;
mod pipeline;
mod plain;
mod resources;
mod script;
mod setting;
mod shell;
mod verbs;

pub(super) use args::*;
pub use args::{DrainArgs, RolloutArgs, RolloutVerb, Selection};
pub use pipeline::{Input, Stage};
pub use script::{commands, placed_commands};
pub use shell::Source;
pub(crate) use verbs::patch_value;

use super::Written;
use super::printing::Printing;
use super::resource::{Kind, Target};
use crate::model::Object;
use crate::model::config::KubernetesVersion;

/// Why a line is not a kubectl line that can be played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLineError {
    /// What is wrong.
    pub message: String,
    /// The offending word.
    pub word: String,
    /// What would be valid.
    pub help: Option<String>,
}

fn error(word: &str, message: impl Into<String>) -> CommandLineError {
    CommandLineError { message: message.into(), word: word.to_owned(), help: None }
}

/// Why there is no command to carry out.
#[derive(Clone, Debug)]
enum Stop {
    /// The line cannot be played.
    Unplayable(CommandLineError),
    /// kubectl itself refuses it before it asks anybody, with these lines.
    Refused(Vec<String>),
}

impl Stop {
    fn refused(lines: &[&str]) -> Self {
        Self::Refused(lines.iter().map(|line| (*line).to_owned()).collect())
    }

    /// kubectl's own error.
    fn error(text: impl std::fmt::Display) -> Self {
        Self::Refused(vec![format!("error: {text}")])
    }

    /// kubectl's own error, after which it says where to find help.
    ///
    /// # Source
    /// kubectl, `UsageErrorf`.
    fn usage(text: impl std::fmt::Display, command: &str) -> Self {
        Self::Refused(vec![format!("error: {text}"), format!("See 'kubectl {command} -h' for help and examples")])
    }
}

impl From<CommandLineError> for Stop {
    fn from(error: CommandLineError) -> Self {
        Self::Unplayable(error)
    }
}

/// A command.
#[derive(Clone, Debug)]
pub enum Command {
    /// What kubectl refuses before it asks anybody: the lines of standard error.
    Refused(Vec<String>),
    /// `apply`, `create`.
    Apply(ApplyArgs),
    /// `delete`.
    Delete(DeleteArgs),
    /// `scale`.
    Scale(ScaleArgs),
    /// `label`, `annotate`.
    Label(LabelArgs),
    /// `taint`.
    Taint(TaintArgs),
    /// `cordon`, `uncordon`.
    Cordon(CordonArgs),
    /// `drain`.
    Drain(DrainArgs),
    /// `rollout`.
    Rollout(RolloutArgs),
    /// `set image`.
    SetImage(SetImageArgs),
    /// `patch`.
    Patch(PatchArgs),
    /// `create KIND`, `run`.
    Make(MakeArgs),
    /// `create job --from`.
    JobFrom(JobFromArgs),
    /// `expose`.
    Expose(ExposeArgs),
    /// `autoscale`.
    Autoscale(AutoscaleArgs),
    /// `set` but for images.
    Set(SetArgs),
    /// `replace`.
    Replace(ReplaceArgs),
    /// `certificate approve` and `deny`: what, and what is printed to be done.
    Certificate(Selection, &'static str),
    /// `get`.
    Get(GetArgs),
    /// `rollout history`.
    History(HistoryArgs),
    /// `wait`.
    Wait(WaitArgs),
    /// A command that changes nothing and whose output is not simulated.
    Unanswered(String),
}

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
    /// The object that it makes of its flags, if it makes one.
    #[must_use]
    pub fn made(&self) -> Option<&Object> {
        if let Self::Make(args) = self { Some(&args.object) } else { None }
    }

    /// What a command works on, if on objects of the cluster.
    #[must_use]
    pub fn selection(&self) -> Option<&Selection> {
        Some(match self {
            Self::Delete(args) => &args.selection,
            Self::Scale(args) => &args.selection,
            Self::Label(args) => &args.selection,
            Self::Taint(args) => &args.selection,
            Self::Cordon(args) => &args.selection,
            Self::Drain(args) => &args.selection,
            Self::Rollout(args) => &args.selection,
            Self::SetImage(args) => &args.selection,
            Self::Patch(args) => &args.selection,
            Self::JobFrom(args) => &args.selection,
            Self::Expose(args) => &args.selection,
            Self::Autoscale(args) => &args.selection,
            Self::Set(args) => &args.selection,
            Self::Certificate(selection, _) => selection,
            Self::Get(args) => &args.selection,
            Self::History(args) => &args.selection,
            Self::Wait(args) => &args.selection,
            Self::Refused(_) | Self::Apply(_) | Self::Make(_) | Self::Replace(_) | Self::Unanswered(_) => return None,
        })
    }

    /// `-n`, if it is given.
    pub(super) fn given_namespace(&self) -> Option<&str> {
        match self {
            Self::Apply(args) => args.namespace.as_deref(),
            Self::Replace(args) => args.namespace.as_deref(),
            command => command.selection()?.given_namespace(),
        }
    }

    /// Whether the command reads the objects of files before it chooses among them by label: it sees the labels that they
    /// have, not those of the file.
    ///
    /// # Source
    /// kubectl, the commands that ask the builder for the `Latest`.
    fn reads_before(&self) -> bool {
        !matches!(self, Self::Scale(_) | Self::Patch(_) | Self::Expose(_) | Self::Autoscale(_))
    }

    /// What the command works on, if it works on objects that are named or selected.
    fn selection_mut(&mut self) -> Option<&mut Selection> {
        Some(match self {
            Self::Scale(args) => &mut args.selection,
            Self::Label(args) => &mut args.selection,
            Self::Rollout(args) => &mut args.selection,
            Self::SetImage(args) => &mut args.selection,
            Self::Patch(args) => &mut args.selection,
            Self::Expose(args) => &mut args.selection,
            Self::Autoscale(args) => &mut args.selection,
            Self::Set(args) => &mut args.selection,
            Self::History(args) => &mut args.selection,
            Self::Wait(args) => &mut args.selection,
            Self::Get(args) => &mut args.selection,
            _ => return None,
        })
    }

    /// Commands other than those that make and delete objects work on the objects that files name.
    pub(crate) fn name_objects(&mut self, objects: &[Written]) {
        let reads_before = self.reads_before();
        let Some(selection) = self.selection_mut() else { return };
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
    let refused = |lines| CommandLine::new(Command::Refused(lines), Printing::default(), Vec::new());
    let mut arguments = match flags::Arguments::split(words) {
        Ok(arguments) => arguments,
        Err(Stop::Refused(lines)) => return Ok(refused(lines)),
        Err(Stop::Unplayable(error)) => return Err(error),
    };
    let (printing, files) = match verbs::printing(&arguments) {
        Ok(printing) => (printing, arguments.files()),
        Err(Stop::Refused(lines)) => return Ok(refused(lines)),
        Err(Stop::Unplayable(error)) => return Err(error),
    };
    match verbs::command(&mut arguments, &printing, line) {
        Ok(command) => {
            let files = if matches!(command, Command::Unanswered(_)) { Vec::new() } else { files };
            Ok(CommandLine::new(command, printing, files))
        }
        Err(Stop::Refused(lines)) => Ok(refused(lines)),
        Err(Stop::Unplayable(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests;
