//! Evidence out of files, archives, directories and standard input, in the forms that `import cluster` takes.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;

use super::evidence::Evidence;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Severity, Source, Sources};
use crate::import::archive::{self, Broken, Passed, Visitor};
use crate::import::cluster::form;
use crate::import::cluster::recording::{self, Capture};
use crate::import::walk::{self, Walker, shown};
use crate::model::yaml;

/// The largest text that is read, in bytes.
const TEXT_MAX: u64 = 1 << 30;
/// Problems that are kept with their texts; the others are counted.
const PROBLEMS_MAX: usize = 30;
/// What saves what is needed.
const SAVE: &str =
    "save it with `kubectl get pods,nodes,replicasets,events -A -o json`, within the hour that events are kept";
/// What to do about a part that cannot be read.
const GO_ON: &str = "`--allow-partial` goes on with what could be read";

/// Reads what a cluster has recorded of when things happened.
#[derive(Debug, Default)]
pub struct LatencyEvidence {
    pub(super) evidence: Evidence,
    pub(super) diagnostics: Diagnostics,
    pub(super) sources: Sources,
    /// Problems that are not kept.
    problems: usize,
    /// Names of the inputs, without the directories that they are in.
    pub(super) inputs: Vec<String>,
    /// Files that hold nothing of use.
    others: usize,
}

/// Why there are no lengths.
#[derive(Debug)]
pub struct UnusableEvidence {
    /// What is wrong.
    pub diagnostics: Diagnostics,
    /// The texts that it is about.
    pub sources: Sources,
}

impl LatencyEvidence {
    /// Nothing read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a file, an archive or a directory with all that is below it. Links that lead out of a directory are not followed. What
    /// is wrong is said at the end.
    pub fn add(&mut self, path: &Path) {
        let name = walk::name_of(path);
        let mut input = Input::new(self, &name);
        if path.is_dir() {
            walk::walk(path, &mut input);
        } else {
            match walk::open(path, &name) {
                Ok(file) => input.archive(&name, |input| archive::visit_file(file, &name, input)),
                Err(message) => {
                    let diagnostic = Diagnostic::error("bundle::unreadable", message).help(walk::NAME_ONE);
                    input.owner.diagnostics.push(diagnostic);
                }
            }
        }
        input.finish();
    }

    /// Reads what comes in a stream, such as standard input; `name` is how messages name it.
    pub fn add_stream(&mut self, stream: impl Read + 'static, name: &str) {
        let mut input = Input::new(self, name);
        input.archive(name, |input| archive::visit_stream(stream, name, input));
        input.finish();
    }

    /// What was read, if it is of use.
    ///
    /// # Errors
    ///
    /// There is no pod, no node and no event in it, or, unless that is allowed, a part of it cannot be read.
    pub(super) fn settle(mut self, is_partial_allowed: bool) -> Result<Self, UnusableEvidence> {
        if self.problems > PROBLEMS_MAX {
            let message = format!("{} problems more are not shown", self.problems - PROBLEMS_MAX);
            self.diagnostics.push(Diagnostic::warning("bundle::unreadable", message));
        }
        let is_empty = self.evidence.is_empty();
        if is_empty && !self.diagnostics.has_errors() {
            let read = crate::units::counted(self.evidence.others + self.others, "other thing", "other things");
            let message = format!("there are no pods, nodes or events, of which lengths of time follow, but {read}");
            self.diagnostics.push(Diagnostic::error("records::nothing", message).help(SAVE));
        }
        if self.diagnostics.has_errors() {
            let is_fatal =
                |found: &Diagnostic| found.severity == Severity::Error && found.help.iter().all(|help| help != GO_ON);
            if !is_partial_allowed || is_empty || self.diagnostics.iter().any(is_fatal) {
                return Err(UnusableEvidence { diagnostics: self.diagnostics, sources: self.sources });
            }
            let found: Vec<Diagnostic> = std::mem::take(&mut self.diagnostics).into_iter().collect();
            let milder = found.into_iter().map(|mut found| {
                found.severity = Severity::Warning;
                found.help.retain(|help| help != GO_ON);
                found
            });
            self.diagnostics = Diagnostics::from(milder.collect::<Vec<_>>());
        }
        Ok(self)
    }

    fn problem(&mut self, diagnostic: Diagnostic) -> bool {
        self.problems += 1;
        let is_kept = self.problems <= PROBLEMS_MAX;
        if is_kept {
            self.diagnostics.push(diagnostic);
        }
        is_kept
    }

    fn unreadable(&mut self, name: &str, why: &str) {
        let message = format!("`{name}` cannot be read: {why}");
        self.problem(Diagnostic::error("bundle::unreadable", message).help(GO_ON));
    }

    /// Takes a text with objects in it.
    fn add_text(&mut self, name: &str, text: &str) {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim_start().starts_with(['{', '[']) {
            self.add_json(name, text);
        } else {
            self.add_yaml(name, text);
        }
    }

    /// JSON values, one after the other. Where each has a line of its own, one that cannot be read leaves the others as they are.
    fn add_json(&mut self, name: &str, text: &str) {
        let implied = implied(name);
        let first = text.trim_start().lines().next().unwrap_or_default();
        let is_by_line = has_lines(name) || serde_json::from_str::<serde::de::IgnoredAny>(first).is_ok();
        let parts: Vec<&str> = if is_by_line { text.split_inclusive('\n').collect() } else { vec![text] };
        let mut begin = 0;
        for part in parts {
            for value in serde_json::Deserializer::from_str(part).into_iter::<Value>() {
                match value {
                    Ok(value) => self.evidence.add(value, implied),
                    Err(error) => {
                        let at = begin + offset_of(part, error.line(), error.column());
                        self.bad_json(name, text, at, &error);
                        break;
                    }
                }
            }
            begin += part.len();
        }
    }

    fn bad_json(&mut self, name: &str, text: &str, at: usize, error: &serde_json::Error) {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let (code, message) = if error.is_eof() {
            ("records::cut_short", format!("`{name}` ends in the middle of its JSON"))
        } else {
            ("records::syntax", format!("`{name}` is not JSON all through"))
        };
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default().to_lowercase();
        let diagnostic =
            Diagnostic::error(code, message).at(Location::new(name, line as u32, column as u32, 1), what).help(GO_ON);
        if self.problem(diagnostic) {
            self.sources.insert(Source::new(name, text));
        }
    }

    fn add_yaml(&mut self, name: &str, text: &str) {
        let implied = implied(name);
        for document in yaml::documents(text) {
            if yaml::is_cut_list(&document) {
                let line = (document.line_offset + document.text.trim_end().lines().count().max(1)) as u32;
                let message = format!("`{name}` ends in the middle of its list");
                let at = Location::new(name, line, 1, 1);
                let diagnostic = Diagnostic::error("records::cut_short", message).at(at, "the text ends here");
                if self.problem(diagnostic.help(yaml::CUT_LIST).help(GO_ON)) {
                    self.sources.insert(Source::new(name, text));
                }
            }
            let pieces = yaml::list_items(&document);
            let kind = document.text.lines().find_map(|line| line.strip_prefix("kind:"));
            let item_kind = kind.and_then(|kind| kind.trim().strip_suffix("List")).unwrap_or(implied);
            let (pieces, implied) = match pieces {
                Some(pieces) => (pieces, item_kind),
                None => (vec![document], implied),
            };
            for piece in pieces {
                let options = yaml::options_with_duplicates(&piece.text);
                match serde_saphyr::from_str_with_options::<Value>(&piece.text, options) {
                    Ok(value @ (Value::Object(_) | Value::Array(_))) => self.evidence.add(value, implied),
                    Ok(_) => self.others += 1,
                    Err(error) => {
                        let line = piece.line_offset as u32 + error.location().map_or(1, |at| at.line() as u32);
                        let message = format!("`{name}` is neither JSON nor YAML that can be read");
                        let diagnostic = Diagnostic::error("records::syntax", message)
                            .at(Location::new(name, line, 1, 1), "here")
                            .help(SAVE)
                            .help(GO_ON);
                        if self.problem(diagnostic) {
                            self.sources.insert(Source::new(name, text));
                        }
                        return;
                    }
                }
            }
        }
    }
}

/// The kind of objects that do not say theirs, as the name of their file tells.
fn implied(name: &str) -> &'static str {
    crate::model::manifest::named_kind(name).filter(|kind| ["ReplicaSet", "Job"].contains(kind)).unwrap_or_default()
}

/// Where a line and column are in a text, in bytes.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let mut at = (start + column.saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Whether a file has a JSON value on each line, as its name tells.
fn has_lines(path: &str) -> bool {
    [".jsonl", ".ndjson"].iter().any(|end| path.to_ascii_lowercase().trim_end_matches(".gz").ends_with(end))
}

/// One input while it is read.
struct Input<'a> {
    owner: &'a mut LatencyEvidence,
    name: String,
    /// What stands before the paths within an archive.
    prefix: String,
    capture: Capture,
}

impl<'a> Input<'a> {
    fn new(owner: &'a mut LatencyEvidence, name: &str) -> Self {
        owner.inputs.push(name.rsplit('/').next().unwrap_or(name).to_owned());
        Self { owner, name: name.to_owned(), prefix: name.to_owned(), capture: Capture::default() }
    }

    fn archive(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> Result<(), Broken>) {
        self.prefix = name.to_owned();
        let Err(broken) = visit(self) else { return };
        let (code, message, help) = broken.told(name);
        self.owner.problem(Diagnostic::error(code, message).help(help.unwrap_or(GO_ON)));
    }

    fn file_of_directory(&mut self, path: &Path, name: &str, full: &str) {
        let mut file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) => return self.owner.unreadable(full, &error.to_string()),
        };
        if archive::is_archive(name) {
            return self.archive(full, |input| archive::visit_file(file, full, input));
        }
        self.prefix.clone_from(&self.name);
        if let Err(error) = self.file(name, &mut file) {
            self.owner.unreadable(full, &error.to_string());
        }
    }

    fn finish(self) {
        let Self { owner, name, capture, .. } = self;
        if !capture.is_empty() {
            owner.add_text(&name, &capture.into_recorded().into_list());
        }
        owner.evidence.end_input();
    }

    fn captured(&mut self, name: &str, number: u64, content: &mut dyn Read) {
        let mut bytes = Vec::new();
        let read = archive::unpacked(name, content).and_then(|content| content.take(TEXT_MAX).read_to_end(&mut bytes));
        let text = read.map_err(|error| error.to_string());
        let text = text.and_then(|_| String::from_utf8(bytes).map_err(|error| error.to_string()));
        if let Err(why) = text.and_then(|text| self.capture.add(number, &text)) {
            self.owner.unreadable(name, &why);
        }
    }
}

impl Walker for Input<'_> {
    fn found(&mut self, path: &Path, name: &str) {
        let full = format!("{}/{name}", self.name.trim_end_matches('/'));
        self.file_of_directory(path, name, &full);
    }

    fn passed_over(&mut self, name: &str, why: Passed) {
        self.prefix.clone_from(&self.name);
        self.passed(name, why);
    }

    fn unreadable(&mut self, name: &str, why: &str) {
        let full = format!("{}/{name}", self.name.trim_end_matches('/'));
        self.owner.unreadable(full.trim_end_matches('/'), why);
    }
}

impl Visitor for Input<'_> {
    fn file(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let path = shown(path);
        // The only file there is stands for itself.
        let is_single = path == self.prefix || self.prefix.trim_end_matches(".gz").trim_end_matches(".zst") == path;
        let name = if is_single { path.clone() } else { format!("{}/{path}", self.prefix.trim_end_matches('/')) };
        if let Some(number) = recording::captured(&path) {
            self.captured(&name, number, content);
            return Ok(());
        }
        let mut content = archive::unpacked(if is_single { "" } else { &path }, content)?;
        let mut bytes = Vec::new();
        if !is_single && !form::may_have_objects(&path) && !has_lines(&path) {
            content.by_ref().take(form::HEAD_LENGTH).read_to_end(&mut bytes)?;
            if !form::looks_like_objects(&path, &bytes) {
                self.owner.others += 1;
                return Ok(());
            }
        }
        content.by_ref().take(TEXT_MAX + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > TEXT_MAX {
            self.owner.unreadable(&name, "it is larger than 1 GiB, the most that is read");
            return Ok(());
        }
        match String::from_utf8(bytes) {
            Ok(text) => match recording::without_logs(&text) {
                Some(objects) => self.owner.add_text(&name, &objects),
                None => self.owner.add_text(&name, &text),
            },
            Err(_) => self.owner.unreadable(&name, "it is not UTF-8 text"),
        }
        Ok(())
    }

    fn passed(&mut self, path: &str, why: Passed) {
        if matches!(why, Passed::LinkWithin | Passed::Special) {
            return;
        }
        let name = format!("{}/{}", self.prefix.trim_end_matches('/'), shown(path));
        let message = format!("`{name}` is not read: {}", why.as_str());
        let code = if why == Passed::Outside { "bundle::outside" } else { "bundle::unreadable" };
        let diagnostic = Diagnostic::warning(code, message).at(Location::file(name.as_str()), "");
        self.owner.problem(diagnostic);
    }
}
