//! The programs of a line that pipes connect.

use super::super::filter::Filter;
use super::shell::{Program, Source};
use super::stop::{CommandLineError, error};
use super::{CommandLine, single};
use crate::kubectl::unanswered::Unanswered;
use crate::kubectl::{Command, GRAMMAR};

/// A program behind a pipe.
#[derive(Clone, Debug)]
pub enum Stage {
    /// kubectl, to which `-` is what comes in.
    Kubectl(Box<CommandLine>),
    /// kubectl, called with what comes in.
    Xargs(Xargs),
    /// A program that only prints.
    Filter(Filter),
}

/// What a command reads as `-`: a text of the line or a file, and the programs that it goes through.
#[derive(Clone, Debug)]
pub struct Input {
    /// Where it comes from.
    pub source: Source,
    filters: Vec<Filter>,
}

impl Input {
    /// What comes out of the last filter.
    #[must_use]
    pub fn filtered(&self, text: &str) -> String {
        let lines = text.lines().map(str::to_owned).collect();
        let lines = self.filters.iter().fold(lines, |lines, filter| filter.apply(lines));
        lines.into_iter().map(|line| line + "\n").collect()
    }
}

/// `xargs kubectl …`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Xargs {
    /// The words of the command.
    words: Vec<String>,
    /// `-I`: the word that stands for a line.
    replaced: Option<String>,
    /// `-n`: words of one call.
    words_max: Option<usize>,
    /// `-L`: lines of one call.
    lines_max: Option<usize>,
    /// `-r`: nothing is called with nothing.
    skips_nothing: bool,
}

impl Xargs {
    /// # Source
    /// `xargs` of the GNU findutils.
    fn parse(words: &[String]) -> Option<Self> {
        let mut xargs =
            Self { words: Vec::new(), replaced: None, words_max: None, lines_max: None, skips_nothing: false };
        let mut words = words.iter().skip(1).peekable();
        while let Some(flag) = words.next_if(|word| word.starts_with('-')) {
            let letter = flag.get(1..2)?;
            let joined = flag.get(2..).filter(|rest| !rest.is_empty());
            let mut value = || joined.map(str::to_owned).or_else(|| words.next().cloned());
            match letter {
                "I" => xargs.replaced = value(),
                "i" => xargs.replaced = Some(joined.unwrap_or("{}").to_owned()),
                "n" => xargs.words_max = Some(value()?.parse().ok().filter(|count| *count > 0)?),
                "L" | "l" => xargs.lines_max = Some(value()?.parse().ok().filter(|count| *count > 0)?),
                "P" => drop(value()),
                "t" => {}
                "r" => xargs.skips_nothing = true,
                _ if flag == "--no-run-if-empty" => xargs.skips_nothing = true,
                _ => return None,
            }
        }
        xargs.words = words.cloned().collect();
        xargs.words.first().is_some_and(|word| is_kubectl(word)).then_some(xargs)
    }

    fn call(&self, words: impl Iterator<Item = String>) -> Vec<String> {
        self.words.iter().cloned().chain(words).collect()
    }

    fn replacing(&self, with: &str) -> Option<Vec<String>> {
        let replaced = self.replaced.as_deref()?;
        Some(self.words.iter().map(|word| word.replace(replaced, with)).collect())
    }

    /// The commands that are called with these lines.
    pub(in crate::kubectl) fn calls(&self, lines: &[String]) -> Vec<Vec<String>> {
        let lines: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
        if self.replaced.is_some() {
            return lines.iter().filter_map(|line| self.replacing(line)).collect();
        }
        if lines.is_empty() {
            return if self.skips_nothing { Vec::new() } else { vec![self.call(std::iter::empty())] };
        }
        let words = |lines: &[&str]| -> Vec<String> {
            lines.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect()
        };
        match (self.lines_max, self.words_max) {
            (Some(most), _) => lines.chunks(most).map(|lines| self.call(words(lines).into_iter())).collect(),
            (None, most) => {
                let words = words(&lines);
                words.chunks(most.unwrap_or(usize::MAX)).map(|words| self.call(words.iter().cloned())).collect()
            }
        }
    }

    /// A call as it may be, to see what it asks for.
    fn sample(&self) -> Vec<String> {
        let name = "pods/x";
        self.replacing(name).unwrap_or_else(|| self.call(std::iter::once(name.to_owned())))
    }
}

fn is_kubectl(word: &str) -> bool {
    word.rsplit('/').next() == Some("kubectl")
}

fn unknown_input(program: &str, word: &str) -> CommandLineError {
    CommandLineError {
        message: format!("what `{program}` prints is not simulated, and `{word}` would act on it"),
        word: word.to_owned(),
        help: Some("write what it would be given: names of objects, or a file beside the scenario".to_owned()),
    }
}

/// What a program prints that only says what the line holds; none of others.
fn said(program: &Program) -> Result<Option<Source>, CommandLineError> {
    let Some((name, words)) = program.words.split_first() else { return Ok(program.input.clone()) };
    match (name.as_str(), words) {
        ("cat", []) => Ok(program.input.clone()),
        ("cat", [dash]) if dash == "-" => Ok(program.input.clone()),
        ("cat", [file]) => Ok(Some(Source::File(file.clone()))),
        ("cat", [_, second, ..]) => Err(error(second, "`cat` of one file can be played")),
        ("echo" | "printf", words) => {
            let is_flag = |word: &&String| matches!(word.as_str(), "-e" | "-n" | "-en" | "-ne");
            let escapes = name == "printf" || words.first().is_some_and(|word| word.contains('e') && is_flag(&word));
            let words: Vec<&str> = words.iter().skip_while(is_flag).map(String::as_str).collect();
            let text = match (name.as_str(), words.as_slice()) {
                ("printf", ["%s" | "%s\\n", text]) => (*text).to_owned(),
                _ => words.join(" "),
            };
            let text = if escapes { text.replace("\\n", "\n").replace("\\t", "\t") } else { text };
            Ok(Some(Source::Text(text + "\n")))
        }
        ("curl", words) => {
            let is_address = |word: &&String| word.starts_with("https://") || word.starts_with("http://");
            // What is sent, or written elsewhere, is not what lies there.
            let only_reads = |word: &String| {
                let letters = word.strip_prefix('-').unwrap_or_default();
                !letters.is_empty() && letters.chars().all(|c| "sSLfk".contains(c))
                    || matches!(word.as_str(), "--silent" | "--location" | "--show-error" | "--fail" | "--insecure")
            };
            let mut addresses = words.iter().filter(is_address);
            let only = addresses.next().filter(|_| addresses.next().is_none());
            let is_plain = words.iter().all(|word| is_address(&word) || only_reads(word));
            Ok(only.filter(|_| is_plain).map(|address| Source::File(address.clone())))
        }
        _ => Ok(None),
    }
}

/// Refuses what another program feeds to kubectl.
fn check_feeder(programs: &[Program]) -> Result<(), CommandLineError> {
    let [first, rest @ ..] = programs else { return Ok(()) };
    let Some(name) = first.words.first() else { return Ok(()) };
    let is_ours = is_kubectl(name) || name == "sudo" || name.contains('=') || GRAMMAR.verbs().any(|verb| verb == name);
    match rest.iter().find(|program| program.words.iter().take(9).any(|word| is_kubectl(word))) {
        Some(fed) if !is_ours => Err(unknown_input(&first.words.join(" "), &fed.words.join(" "))),
        _ => Ok(()),
    }
}

/// How a command names standard input among what it reads, if it reads it as a file.
fn reads_input(line: &CommandLine) -> Option<&'static str> {
    match &line.command {
        Command::Patch(patch) if patch.reads_input() => Some("/dev/stdin"),
        _ => line.files.iter().any(|file| file == "-").then_some("-"),
    }
}

/// The command of a line and what its output goes through.
pub(super) fn read(mut programs: Vec<Program>, line: &str) -> Result<CommandLine, CommandLineError> {
    let (mut source, mut filters) = (None, Vec::new());
    if programs.len() > 1 && !programs[0].words.first().is_some_and(|word| is_kubectl(word)) {
        source = said(&programs[0])?;
        if source.is_some() {
            programs.remove(0);
            while programs.len() > 1 && !programs[0].words.first().is_some_and(|word| is_kubectl(word)) {
                filters.push(Filter::parse(&programs.remove(0).words));
            }
        }
    }
    if source.is_none() {
        check_feeder(&programs)?;
    }
    let mut programs = programs.into_iter();
    let Some(first) = programs.next() else { return Err(error(line, "an empty kubectl line")) };
    let mut command = single(first.words, line)?;
    if let Some(word) = reads_input(&command) {
        let Some(source) = first.input.or(source) else {
            return Err(CommandLineError {
                message: format!("`{word}` is standard input, and nothing comes in"),
                word: word.to_owned(),
                help: Some("save what is read as a file beside the scenario and name that, or write it as a here-document: `apply -f - <<EOF`".to_owned()),
            });
        };
        if let Some(Filter::Opaque(program)) = filters.iter().find(|filter| matches!(filter, Filter::Opaque(_))) {
            return Err(unknown_input(program, word));
        }
        command.input = Some(Input { source, filters });
    }
    let mut unknown = match &command.command {
        Command::Unanswered(Unanswered(what)) => Some(format!("kubectl {what}")),
        _ => None,
    };
    for program in programs {
        let stage = stage(program, &mut unknown, line)?;
        command.rest.push(stage);
    }
    Ok(command)
}

/// The next program; `unknown` is one before it whose output is not simulated.
fn stage(program: Program, unknown: &mut Option<String>, line: &str) -> Result<Stage, CommandLineError> {
    let words = program.words;
    let Some(name) = words.first() else { return Err(error("|", "there is no command behind `|`")) };
    let acts = |command: &CommandLine| !command.command.only_looks() || !command.rest.is_empty();
    if is_kubectl(name) {
        let shown = words.join(" ");
        let mut command = single(words, line)?;
        // Objects are made of what the command before prints when it has; a patch is read before anything runs.
        if matches!(&command.command, Command::Patch(patch) if patch.reads_input()) {
            return Err(unknown_input(&shown, "/dev/stdin"));
        }
        let reads = reads_input(&command).is_some();
        if let (Some(before), true) = (&unknown, reads) {
            if acts(&command) {
                return Err(unknown_input(before, &shown));
            }
            return Ok(Stage::Filter(Filter::Opaque(shown)));
        }
        command.input = program.input.map(|source| Input { source, filters: Vec::new() });
        if let Command::Unanswered(Unanswered(what)) = &command.command {
            *unknown = Some(format!("kubectl {what}"));
        }
        return Ok(Stage::Kubectl(Box::new(command)));
    }
    if let Some(xargs) = Some(&words).filter(|_| name == "xargs").and_then(|words| Xargs::parse(words)) {
        let sample = single(xargs.sample(), line)?;
        if let Some(before) = &unknown {
            if acts(&sample) {
                return Err(unknown_input(before, &words.join(" ")));
            }
            return Ok(Stage::Filter(Filter::Opaque(words.join(" "))));
        }
        if let Command::Unanswered(Unanswered(what)) = &sample.command {
            *unknown = Some(format!("kubectl {what}"));
        }
        return Ok(Stage::Xargs(xargs));
    }
    let filter = Filter::parse(&words);
    if let Filter::Opaque(program) = &filter {
        *unknown = Some(program.clone());
    }
    Ok(Stage::Filter(filter))
}
