//! Which files the paths of a scenario stand for.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::folder::Folder;
use crate::diagnostics::{Diagnostic, Diagnostics, Location};

/// The largest file that is read, in bytes. Whatever needs more is better cut into files per kind.
const FILE_SIZE_MAX: u64 = 1 << 30;

/// Files of one scenario that are read; whoever names more has named the wrong directory.
const FILES_MAX: usize = 50_000;

/// How standard input is named in place of a file, and in messages.
const STANDARD_INPUT: &str = "-";

/// Whether a path means standard input.
#[must_use]
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// A file to read.
#[derive(Debug)]
pub(super) struct FoundFile {
    /// How messages name it.
    pub name: String,
    path: PathBuf,
}

impl FoundFile {
    /// Where it is.
    pub(super) fn into_path(self) -> PathBuf {
        self.path
    }
}

/// The files that paths stand for, in order of the paths and, below one path, of their names.
pub(super) fn find(paths: &[PathBuf], folder: &Folder, diagnostics: &mut Diagnostics) -> Vec<FoundFile> {
    let mut files = Vec::new();
    for path in paths {
        let full = folder.join(path);
        if folder.is_standard_input(path) {
            files.push(FoundFile { name: STANDARD_INPUT.to_owned(), path: path.clone() });
        } else if folder.is_file(path) || (folder.texts().is_none() && full.exists() && !full.is_dir()) {
            files.push(FoundFile { name: path.to_string_lossy().into_owned(), path: full });
        } else if folder.exists(path) {
            let before = files.len();
            match folder.texts() {
                Some(texts) => find_in_memory(texts, &full, &path.to_string_lossy(), &mut files),
                None => {
                    let mut seen = BTreeSet::new();
                    find_in_directory(&full, &path.to_string_lossy(), &mut seen, &mut files, diagnostics);
                }
            }
            if files.len() == before {
                diagnostics.push(
                    Diagnostic::warning("manifest::not_found", format!("there is no manifest in `{}`", path.display()))
                        .help("in directories, files are read whose names end in .yaml, .yml or .json"),
                );
            }
        } else if path.to_string_lossy().contains(['*', '?', '[']) {
            find_by_pattern(path, folder, &mut files, diagnostics);
        } else {
            diagnostics.push(
                Diagnostic::error("manifest::not_found", format!("there is no file or directory `{}`", path.display()))
                    .help("paths are relative to the file that names them"),
            );
        }
    }
    if files.len() > FILES_MAX {
        let message = format!("there are more than {FILES_MAX} manifests");
        let help = "name the directories and files that belong to the cluster";
        diagnostics.push(Diagnostic::error("manifest::too_many_files", message).help(help));
        files.clear();
    }
    files
}

/// Looks into a directory and those below it; `seen` are the directories around and before it, as links make loops.
fn find_in_directory(
    directory: &Path,
    name: &str,
    seen: &mut BTreeSet<PathBuf>,
    files: &mut Vec<FoundFile>,
    diagnostics: &mut Diagnostics,
) {
    let is_new = fs::canonicalize(directory).is_ok_and(|canonical| seen.insert(canonical));
    if !is_new || files.len() > FILES_MAX {
        return;
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return diagnostics.push(unreadable(name, &error)),
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let file_name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}/{file_name}", name.trim_end_matches('/'));
        if path.is_dir() {
            find_in_directory(&path, &name, seen, files, diagnostics);
        } else if is_manifest(&path) {
            files.push(FoundFile { name, path });
        }
    }
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json")
}

/// Adds the manifests among these texts that are below a directory.
fn find_in_memory<'a>(texts: impl Iterator<Item = &'a Path>, directory: &Path, name: &str, files: &mut Vec<FoundFile>) {
    for path in texts.filter(|path| is_manifest(path)) {
        if let Ok(below) = path.strip_prefix(directory) {
            let name = format!("{}/{}", name.trim_end_matches('/'), below.display());
            files.push(FoundFile { name, path: path.to_owned() });
        }
    }
}

fn find_by_pattern(pattern: &Path, folder: &Folder, files: &mut Vec<FoundFile>, diagnostics: &mut Diagnostics) {
    let base_dir = folder.join(Path::new(""));
    let base = glob::Pattern::escape(&base_dir.to_string_lossy());
    let full = Path::new(&base).join(pattern);
    let matches = match matches(&full.to_string_lossy(), folder) {
        Ok(matches) => matches,
        Err(error) => {
            let message = format!("`{}` is not a glob pattern: {}", pattern.display(), error.msg);
            return diagnostics.push(Diagnostic::error("manifest::bad_pattern", message));
        }
    };
    let before = files.len();
    for path in matches {
        let name = path.strip_prefix(&base_dir).unwrap_or(&path).to_string_lossy().into_owned();
        let is_text = folder.texts().is_some_and(|mut texts| texts.any(|text| text == path));
        match folder.texts() {
            Some(texts) if !is_text => find_in_memory(texts, &path, &name, files),
            None if path.is_dir() => find_in_directory(&path, &name, &mut BTreeSet::new(), files, diagnostics),
            _ => files.push(FoundFile { name, path }),
        }
    }
    if files.len() == before {
        let message = format!("no file matches `{}`", pattern.display());
        diagnostics.push(Diagnostic::error("manifest::not_found", message));
    }
}

/// The files and directories that a pattern means, in the order of their names.
fn matches(pattern: &str, folder: &Folder) -> Result<Vec<PathBuf>, glob::PatternError> {
    let Some(texts) = folder.texts() else {
        return Ok(glob::glob(pattern)?.filter_map(Result::ok).collect());
    };
    let wanted = glob::Pattern::new(pattern)?;
    let options = glob::MatchOptions { require_literal_separator: true, ..glob::MatchOptions::new() };
    let mut found = BTreeSet::new();
    for text in texts {
        let ways = text.ancestors().filter(|way| !way.as_os_str().is_empty());
        found.extend(ways.filter(|way| wanted.matches_path_with(way, options)).map(Path::to_owned));
    }
    Ok(found.into_iter().collect())
}

/// The text of a file.
pub(super) fn read(file: &FoundFile, folder: &Folder, diagnostics: &mut Diagnostics) -> Option<String> {
    match folder.read_at(&file.path, &file.name) {
        Ok(text) => Some(text),
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    }
}

/// The text of a file of the user; `name` is how messages name it.
///
/// # Errors
///
/// Why it cannot be had: it is missing, larger than anybody's manifests, or no text.
pub fn read_text(path: &Path, name: &str) -> Result<String, Box<Diagnostic>> {
    /// What standard input held: it can be read only once, and may be asked for by several readers.
    static STANDARD_INPUT_BYTES: OnceLock<Result<Vec<u8>, std::io::ErrorKind>> = OnceLock::new();
    if is_standard_input(path) {
        let bytes = STANDARD_INPUT_BYTES.get_or_init(|| {
            let mut bytes = Vec::new();
            let stdin = std::io::stdin().lock();
            stdin.take(FILE_SIZE_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.kind())?;
            Ok(bytes)
        });
        return match bytes {
            Ok(bytes) => as_text(bytes.clone(), name),
            Err(kind) => Err(Box::new(unreadable(name, &std::io::Error::from(*kind)))),
        };
    }
    let unreadable = |error: std::io::Error| Box::new(unreadable(name, &error));
    let file = fs::File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(unreadable(std::io::ErrorKind::IsADirectory.into()));
    }
    // Before anything is read, so that a refusal costs no time.
    if metadata.len() > FILE_SIZE_MAX {
        return Err(too_large(name));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
    // What is no plain file, such as a pipe or a device, does not tell its size.
    file.take(FILE_SIZE_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    as_text(bytes, name)
}

fn too_large(name: &str) -> Box<Diagnostic> {
    let message = format!("`{name}` is larger than {} MiB, the most that is read", FILE_SIZE_MAX >> 20);
    let diagnostic = Diagnostic::error("file::too_large", message);
    Box::new(diagnostic.help("dump kinds or namespaces into files of their own; JSON is read much faster than YAML"))
}

fn as_text(bytes: Vec<u8>, name: &str) -> Result<String, Box<Diagnostic>> {
    if bytes.len() as u64 > FILE_SIZE_MAX {
        return Err(too_large(name));
    }
    String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        let valid = &bytes[..error.utf8_error().valid_up_to()];
        let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
        let message = format!("`{name}` is not UTF-8 text: line {line} has other bytes");
        let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let help = if is_utf16 {
            "it is UTF-16, which `>` writes in older PowerShells; save it as UTF-8"
        } else {
            "save it as UTF-8"
        };
        Box::new(Diagnostic::error("file::not_text", message).at(Location::file(name), "").help(help))
    })
}

/// That there is no such file.
pub(super) fn missing(name: &str) -> Diagnostic {
    unreadable(name, &std::io::ErrorKind::NotFound.into())
}

fn unreadable(name: &str, error: &std::io::Error) -> Diagnostic {
    let (message, help) = match error.kind() {
        std::io::ErrorKind::NotFound => (
            format!("there is no file `{name}`"),
            "check the path; it is relative to the current directory, or to the file that names it",
        ),
        std::io::ErrorKind::IsADirectory => (format!("`{name}` is a directory"), "name a file in it"),
        _ => (format!("cannot read `{name}`: {error}"), "check that it is a file you may read"),
    };
    Diagnostic::error("file::unreadable", message).help(help)
}
