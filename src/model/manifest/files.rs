//! Which files the paths of a scenario stand for.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diagnostics::{Diagnostic, Diagnostics};

/// The largest file that is read, in bytes. Whatever needs more is better cut into files per kind.
const FILE_SIZE_MAX: u64 = 1 << 30;

/// Directories below directories that are looked into; deeper ones are loops of links.
const DEPTH_MAX: usize = 32;

/// A file to read.
#[derive(Debug)]
pub(super) struct FoundFile {
    /// How messages name it.
    pub name: String,
    path: PathBuf,
}

/// The files that paths stand for, in order of the paths and, below one path, of their names.
pub(super) fn find(paths: &[PathBuf], base_dir: &Path, diagnostics: &mut Diagnostics) -> Vec<FoundFile> {
    let mut files = Vec::new();
    for path in paths {
        let full = base_dir.join(path);
        if full.is_dir() {
            find_in_directory(&full, &path.to_string_lossy(), 0, &mut files, diagnostics);
        } else if full.exists() {
            files.push(FoundFile { name: path.to_string_lossy().into_owned(), path: full });
        } else if path.to_string_lossy().contains(['*', '?', '[']) {
            find_by_pattern(path, base_dir, &mut files, diagnostics);
        } else {
            diagnostics.push(
                Diagnostic::error("manifest::not_found", format!("there is no file or directory `{}`", path.display()))
                    .help("paths are relative to the file that names them"),
            );
        }
    }
    files
}

fn find_in_directory(
    directory: &Path,
    name: &str,
    depth: usize,
    files: &mut Vec<FoundFile>,
    diagnostics: &mut Diagnostics,
) {
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
            if depth < DEPTH_MAX {
                find_in_directory(&path, &name, depth + 1, files, diagnostics);
            }
        } else if is_manifest(&path) {
            files.push(FoundFile { name, path });
        }
    }
}

fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json")
}

fn find_by_pattern(pattern: &Path, base_dir: &Path, files: &mut Vec<FoundFile>, diagnostics: &mut Diagnostics) {
    let base = glob::Pattern::escape(&base_dir.to_string_lossy());
    let full = Path::new(&base).join(pattern);
    let matches = match glob::glob(&full.to_string_lossy()) {
        Ok(matches) => matches,
        Err(error) => {
            let message = format!("`{}` is not a glob pattern: {}", pattern.display(), error.msg);
            return diagnostics.push(Diagnostic::error("manifest::bad_pattern", message));
        }
    };
    let before = files.len();
    for path in matches.filter_map(Result::ok) {
        let name = path.strip_prefix(base_dir).unwrap_or(&path).to_string_lossy().into_owned();
        if path.is_dir() {
            find_in_directory(&path, &name, 0, files, diagnostics);
        } else {
            files.push(FoundFile { name, path });
        }
    }
    if files.len() == before {
        let message = format!("no file matches `{}`", pattern.display());
        diagnostics.push(Diagnostic::error("manifest::not_found", message));
    }
}

/// The text of a file.
pub(super) fn read(file: &FoundFile, diagnostics: &mut Diagnostics) -> Option<String> {
    let size = match fs::metadata(&file.path) {
        Ok(metadata) => metadata.len(),
        Err(error) => {
            diagnostics.push(unreadable(&file.name, &error));
            return None;
        }
    };
    if size > FILE_SIZE_MAX {
        let message =
            format!("`{}` has {size} bytes; files of more than {FILE_SIZE_MAX} bytes are not read", file.name);
        diagnostics.push(
            Diagnostic::error("manifest::file_too_large", message)
                .help("dump kinds or namespaces into files of their own; JSON is read much faster than YAML"),
        );
        return None;
    }
    let bytes = match fs::read(&file.path) {
        Ok(bytes) => bytes,
        Err(error) => {
            diagnostics.push(unreadable(&file.name, &error));
            return None;
        }
    };
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            let message = format!("`{}` is not UTF-8 text: line {line} has other bytes", file.name);
            diagnostics.push(Diagnostic::error("manifest::not_text", message));
            None
        }
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error("manifest::unreadable", format!("cannot read `{name}`: {error}"))
}
