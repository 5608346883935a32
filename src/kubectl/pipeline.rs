//! What a line's output goes through: other programs, and kubectl again.

use std::collections::VecDeque;
use std::sync::Arc;

use super::command_line::{CommandLine, Stage, single};
use super::filter::Filter;
use super::{Command, Kubectl, Printing, Process, RunbookLine, Timer, Written, start};
use crate::arena::Symbol;
use crate::component::Ctx;
use crate::diagnostics::Severity;
use crate::model::manifest::load_text;

/// What kubectl calls standard input.
pub const STANDARD_INPUT: &str = "STDIN";

/// The exit status of `xargs` if one of its commands has failed.
const XARGS_FAILED: i32 = 123;

/// The programs behind the one that runs.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipe {
    stages: VecDeque<Stage>,
    /// Commands that `xargs` has still to call.
    calls: VecDeque<Vec<String>>,
    /// Whether the running command is one of these, and whether one has failed.
    calling: Option<bool>,
    /// What the program that runs, or those that were called, have printed.
    printed: Vec<String>,
}

impl Pipe {
    pub(super) fn new(stages: &[Stage]) -> Self {
        Self { stages: stages.iter().cloned().collect(), ..Self::default() }
    }

    /// Nothing comes after the command that runs, and nothing was called before it.
    fn is_over(&self) -> bool {
        self.stages.is_empty() && self.calls.is_empty() && self.calling.is_none()
    }
}

/// The objects of a text; what is wrong with it, if it cannot be read.
fn objects_of(text: &str) -> Result<Vec<Written>, String> {
    let loaded = load_text(STANDARD_INPUT, text);
    if let Some(problem) = loaded.diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error) {
        return Err(format!("error: error parsing {STANDARD_INPUT}: {}", problem.message));
    }
    let file: Arc<str> = STANDARD_INPUT.into();
    Ok(loaded.objects.into_iter().map(|object| Written::new(&file, object)).collect())
}

/// Hands the objects of its files to a command: those that name no namespace are in the one that `-n` gives.
///
/// # Source
/// cli-runtime, `SetNamespace`.
pub fn hand_over(command: &mut Command, objects: &mut [Written]) {
    if let Some(given) = command.given_namespace().map(Symbol::new) {
        for Written { object, names_namespace, .. } in &mut *objects {
            let metadata = object.metadata_mut();
            if !*names_namespace && !metadata.namespace.is_empty() {
                metadata.namespace = given;
            }
        }
    }
    command.name_objects(objects);
}

impl Kubectl {
    /// The next program of the process's line; false if there is none, and the line has ended.
    pub(super) fn pipes_on(&mut self, process: &mut Process, ctx: &mut Ctx<'_, Self>) -> bool {
        if process.pipe.is_over() {
            return false;
        }
        let failed = process.exit != 0;
        let mut pipe = std::mem::take(&mut process.pipe);
        pipe.printed.append(&mut process.stdout);
        pipe.calling = pipe.calling.map(|before| before || failed);
        loop {
            if let Some(words) = pipe.calls.pop_front() {
                self.start_next(process, called(words, &process.line), pipe, ctx);
                return true;
            }
            match pipe.stages.pop_front() {
                None => break,
                Some(Stage::Filter(filter)) => {
                    if let Filter::Opaque(program) = &filter {
                        process.stderr.push(format!("kubesquall: what `{program}` makes of it is not simulated"));
                    }
                    pipe.printed = filter.apply(std::mem::take(&mut pipe.printed));
                }
                Some(Stage::Kubectl(line)) => {
                    let text: String = pipe.printed.drain(..).flat_map(|line| [line, "\n".to_owned()]).collect();
                    pipe.calling = None;
                    self.start_next(process, fed(*line, &text, &process.line), pipe, ctx);
                    return true;
                }
                Some(Stage::Xargs(xargs)) => {
                    pipe.calls = xargs.calls(&std::mem::take(&mut pipe.printed)).into();
                    pipe.calling = Some(false);
                    process.exit = 0;
                }
            }
        }
        process.stdout = pipe.printed;
        if pipe.calling == Some(true) {
            process.exit = XARGS_FAILED;
        }
        false
    }

    /// Another kubectl of the same line starts.
    fn start_next(&mut self, process: &Process, line: RunbookLine, pipe: Pipe, ctx: &mut Ctx<'_, Self>) {
        let is_called = pipe.calling.is_some();
        // Both ends of a pipe start together; xargs starts what it calls.
        let wait = if is_called { start(&line.text, ctx) } else { crate::units::SimDuration::ZERO };
        let mut next = Process::new(Arc::new(line), process.typist, process.at, process.order);
        next.pipe = pipe;
        next.stderr.clone_from(&process.stderr);
        let id = self.processes.insert(next);
        ctx.arm_in(wait, Timer::Begin(id));
    }
}

/// A command of words that were not known before.
fn called(words: Vec<String>, typed: &RunbookLine) -> RunbookLine {
    let shown = words.join(" ");
    match single(words, &shown) {
        Ok(line) => with(line, Vec::new(), typed),
        Err(problem) => refused(format!("error: {}", problem.message), typed),
    }
}

/// A command that reads a text.
fn fed(mut line: CommandLine, text: &str, typed: &RunbookLine) -> RunbookLine {
    if !line.files.iter().any(|file| file == "-") {
        return with(line, Vec::new(), typed);
    }
    match objects_of(text) {
        Ok(mut objects) => {
            hand_over(&mut line.command, &mut objects);
            with(line, objects, typed)
        }
        Err(problem) => refused(problem, typed),
    }
}

fn with(line: CommandLine, objects: Vec<Written>, typed: &RunbookLine) -> RunbookLine {
    let CommandLine { command, printing, .. } = line;
    let text = Arc::clone(&typed.text);
    RunbookLine { text, command, printing, objects, shell: typed.shell, place: typed.place, rest: Vec::new() }
}

fn refused(problem: String, typed: &RunbookLine) -> RunbookLine {
    let command = Command::Refused(vec![problem]);
    with(CommandLine::new(command, Printing::default(), Vec::new()), Vec::new(), typed)
}
