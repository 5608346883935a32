//! Records of what happened, whatever they are in: files, archives, directories, streams. What a record is, its content tells.

mod api;
mod audit;
mod cloud;
mod controller_log;
mod events;
mod intervals;
mod json;
mod lines;
mod metrics;
mod objects;
mod stamp;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use super::{ClockOptions, Evidence};
use crate::diagnostics::{Diagnostic, Location};
use crate::import::archive::{self, Broken, Passed, Visitor};
use crate::import::walk::{self, Walker, shown};

/// Bytes by which a record is told.
const HEAD_LENGTH: u64 = 4096;
/// Bytes that are read at once.
const BUFFER_LENGTH: usize = 1 << 16;

/// What is read, for those who name something else.
const FORMS: &str = "evidence is: events (`kubectl get events -A -o json`), audit logs, samples of kube-state-metrics, dumps, logs of \
                     kube-controller-manager, OpenShift's monitor intervals, notices of clouds";

/// Tells a record by its first bytes.
type Is = fn(&[u8]) -> bool;
/// Reads a record of that name into evidence.
type Reads = fn(&str, &mut dyn BufRead, &ClockOptions, &mut Evidence) -> io::Result<()>;

/// By their first bytes, who reads which records; the first that knows them does.
const READERS: &[(Is, Reads)] = &[
    (audit::is, audit::read),
    (metrics::is, metrics::read),
    (intervals::is, intervals::read),
    (cloud::is, cloud::read),
    (controller_log::is, controller_log::read),
    (api::is, api::read),
];

/// Reads a file, an archive or a directory with all that is below it.
pub(in crate::import::outage) fn add(path: &Path, clock: &ClockOptions, into: &mut Evidence) {
    let name = name_of(path, into);
    let mut input = Input { clock, into, name, prefix: String::new() };
    if path.is_dir() {
        walk::walk(path, &mut input);
        return controller_log::settle(clock, into);
    }
    let name = input.name.clone();
    match walk::open(path, &shown(&path.to_string_lossy())) {
        Ok(file) => input.archive(&name, |input| archive::visit_file(file, &name, input)),
        Err(message) => {
            let diagnostic = Diagnostic::error("evidence::unreadable", message).help(walk::NAME_ONE);
            input.into.problem(diagnostic, None);
        }
    }
    controller_log::settle(clock, into);
}

/// Reads what comes in a stream, such as standard input; `name` is how messages name it.
pub(in crate::import::outage) fn add_stream(
    stream: impl Read + 'static,
    name: &str,
    clock: &ClockOptions,
    into: &mut Evidence,
) {
    let mut input = Input { clock, into, name: name.to_owned(), prefix: String::new() };
    input.archive(name, |input| archive::visit_stream(stream, name, input));
    controller_log::settle(clock, into);
}

/// Everything has been added: logs whose year nothing tells are not read.
pub(in crate::import::outage) fn finish(clock: &ClockOptions, into: &mut Evidence) {
    controller_log::settle(clock, into);
    for log in std::mem::take(&mut into.yearless) {
        let record = &mut into.records[log.record.0 as usize];
        record.covers = None;
        let name = record.name.clone();
        let message = format!("the lines of `{name}` name no year, and there is no other evidence to tell it by");
        let diagnostic = Diagnostic::warning("evidence::no_year", message).at(Location::file(name.as_str()), "");
        into.problem(diagnostic.help("say the year with `--year`, such as `--year 2026`"), None);
        into.not_read(name, "nothing tells the year of its lines");
    }
}

/// The last part of a path, so that the same evidence gives the same anywhere; the whole path if that part is taken.
fn name_of(path: &Path, into: &Evidence) -> String {
    let whole = shown(&path.to_string_lossy());
    let whole = whole.trim_end_matches('/');
    let last = whole.rsplit('/').next().unwrap_or(whole);
    let is_taken =
        |record: &str| record.strip_prefix(last).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_path = matches!(last, "" | "." | "..") || into.records.iter().any(|record| is_taken(&record.name));
    if is_path && !whole.is_empty() { whole.to_owned() } else { last.to_owned() }
}

/// One input while it is read.
struct Input<'a> {
    clock: &'a ClockOptions,
    into: &'a mut Evidence,
    name: String,
    /// What stands before the paths within an archive.
    prefix: String,
}

impl Input<'_> {
    /// Reads what may be an archive.
    fn archive(&mut self, name: &str, visit: impl FnOnce(&mut Self) -> Result<(), Broken>) {
        name.clone_into(&mut self.prefix);
        let Err(broken) = visit(self) else { return };
        let (code, message, help) = broken.told(name);
        self.into.not_read(name, "its end is missing, or is not read");
        let diagnostic = Diagnostic::warning(code, message).help(help.unwrap_or("what stands before counts"));
        self.into.problem(diagnostic, None);
    }

    /// The name of a file of the directory that is read.
    fn full(&self, name: &str) -> String {
        if name.is_empty() { self.name.clone() } else { format!("{}/{name}", self.name.trim_end_matches('/')) }
    }

    /// Reads one of many files.
    fn member(&mut self, name: &str, content: &mut dyn Read) -> io::Result<()> {
        let content = archive::unpacked(name, content)?;
        self.text(name, false, content)
    }

    /// Reads a text. Of inputs of many files those that are no evidence are counted; of one that was named it is said.
    fn text(&mut self, name: &str, is_single: bool, mut content: impl Read) -> io::Result<()> {
        let mut head = Vec::new();
        content.by_ref().take(HEAD_LENGTH).read_to_end(&mut head)?;
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        let is_utf_16 = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
        if let Some((_, read)) = READERS.iter().find(|(is, _)| !is_utf_16 && is(&head)) {
            let mut whole = BufReader::with_capacity(BUFFER_LENGTH, Cursor::new(head).chain(content));
            return read(name, &mut whole, self.clock, self.into);
        }
        if is_utf_16 {
            self.into.not_read(name, "it is UTF-16, which `>` writes in older PowerShells; save it as UTF-8");
        } else if !is_single {
            self.into.passed_over += 1;
        } else if head.is_empty() {
            self.into.not_read(name, "nothing is in it");
        } else {
            self.into.not_read(name, "it is none of the records that are read");
            let message = format!("`{name}` is none of the records that evidence is read from");
            let diagnostic = Diagnostic::warning("evidence::unknown_form", message);
            self.into.problem(diagnostic.at(Location::file(name), "").help(FORMS), None);
        }
        Ok(())
    }
}

impl Walker for Input<'_> {
    fn found(&mut self, path: &Path, name: &str) {
        let full = self.full(name);
        let mut file = match fs::File::open(path) {
            Ok(file) => file,
            Err(error) => return self.into.not_read(full, error.to_string()),
        };
        if archive::is_archive(name) {
            return self.archive(&full, |input| archive::visit_file(file, &full, input));
        }
        if let Err(error) = self.member(&full, &mut file) {
            let why = match error.kind() {
                io::ErrorKind::UnexpectedEof => "it ends in the middle".to_owned(),
                _ => error.to_string(),
            };
            self.into.not_read(full, why);
        }
    }

    fn passed_over(&mut self, name: &str, why: Passed) {
        let full = self.full(name);
        self.into.not_read(full, why.as_str());
    }

    fn unreadable(&mut self, name: &str, why: &str) {
        let full = self.full(name);
        self.into.not_read(full, why);
    }
}

impl Visitor for Input<'_> {
    fn file(&mut self, path: &str, content: &mut dyn Read) -> io::Result<()> {
        let path = shown(path);
        // The only file there is stands for itself.
        let is_single = [self.prefix.as_str(), without_packing(&self.prefix)].contains(&path.as_str());
        if is_single {
            let name = self.prefix.clone();
            return self.text(&name, true, content);
        }
        let name = format!("{}/{path}", self.prefix.trim_end_matches('/'));
        self.member(&name, content)
    }

    fn passed(&mut self, path: &str, why: Passed) {
        if why == Passed::LinkWithin {
            self.into.passed_over += 1;
            return;
        }
        let name = format!("{}/{}", self.prefix.trim_end_matches('/'), shown(path));
        if why == Passed::Outside {
            let message = format!("`{name}` leads out of its archive, as no honest archive does; it is not read");
            self.into.problem(Diagnostic::warning("bundle::outside", message), None);
        }
        self.into.not_read(name, why.as_str());
    }
}

/// A name without the ends that compression gives it.
fn without_packing(name: &str) -> &str {
    let mut name = name;
    while let Some(bare) = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")) {
        name = bare;
    }
    name
}
