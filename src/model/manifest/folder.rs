//! Where the paths of a document lead: to files on disk, or to texts that are held in memory.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::files;
use crate::diagnostics::Diagnostic;

/// Where relative paths start. Of a folder in memory, nothing outside is looked at: neither files on disk nor standard input.
#[derive(Clone, Debug)]
pub struct Folder {
    dir: PathBuf,
    /// All texts by their paths, for a folder in memory.
    texts: Option<Arc<BTreeMap<PathBuf, String>>>,
}

impl Folder {
    /// A directory on disk; the empty path is the current one.
    #[must_use]
    pub fn on_disk(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), texts: None }
    }

    /// Texts in memory, by their paths.
    ///
    /// # Errors
    ///
    /// A path that two of them have.
    pub fn in_memory<P: AsRef<Path>, T: Into<String>>(
        texts: impl IntoIterator<Item = (P, T)>,
    ) -> Result<Self, PathBuf> {
        let mut files = BTreeMap::new();
        for (path, text) in texts {
            let path = plain(path.as_ref());
            if files.insert(path.clone(), text.into()).is_some() {
                return Err(path);
            }
        }
        Ok(Self { dir: PathBuf::new(), texts: Some(Arc::new(files)) })
    }

    /// The folder that a file of this one is in.
    #[must_use]
    pub fn around(&self, file: &Path) -> Self {
        let dir = self.join(file).parent().unwrap_or(Path::new("")).to_owned();
        Self { dir, texts: self.texts.clone() }
    }

    /// The path of a file of this folder.
    #[must_use]
    pub fn join(&self, file: &Path) -> PathBuf {
        let path = self.dir.join(file);
        if self.texts.is_some() { plain(&path) } else { path }
    }

    /// Whether a path means standard input.
    #[must_use]
    pub fn is_standard_input(&self, file: &Path) -> bool {
        self.texts.is_none() && files::is_standard_input(file)
    }

    /// Whether there is a file of that path.
    #[must_use]
    pub fn is_file(&self, file: &Path) -> bool {
        let path = self.join(file);
        self.texts.as_ref().map_or_else(|| path.is_file(), |texts| texts.contains_key(&path))
    }

    /// Whether there is a file or a directory of that path.
    #[must_use]
    pub fn exists(&self, file: &Path) -> bool {
        let path = self.join(file);
        self.texts.as_ref().map_or_else(|| path.exists(), |texts| texts.keys().any(|text| text.starts_with(&path)))
    }

    /// The names of what is beside a file, in their order.
    #[must_use]
    pub fn names_beside(&self, file: &Path) -> Vec<String> {
        let path = self.join(file);
        let parent = path.parent().unwrap_or(Path::new(""));
        let name = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = match &self.texts {
            Some(texts) => {
                let below = texts.keys().filter_map(|text| text.strip_prefix(parent).ok());
                below.filter_map(|below| name(Path::new(below.components().next()?.as_os_str()))).collect()
            }
            None => {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                let entries = std::fs::read_dir(parent).into_iter().flatten();
                entries.filter_map(|entry| name(&entry.ok()?.path())).collect()
            }
        };
        names.sort();
        names.dedup();
        names
    }

    /// The text of a file; `name` is how messages name it.
    ///
    /// # Errors
    ///
    /// Why it cannot be had.
    pub fn read(&self, file: &Path, name: &str) -> Result<String, Box<Diagnostic>> {
        if self.is_standard_input(file) {
            return files::read_text(file, name);
        }
        self.read_at(&self.join(file), name)
    }

    /// The text of a file of which the whole path is known.
    pub(super) fn read_at(&self, path: &Path, name: &str) -> Result<String, Box<Diagnostic>> {
        match &self.texts {
            None => files::read_text(path, name),
            Some(texts) => texts.get(path).cloned().ok_or_else(|| Box::new(files::missing(name))),
        }
    }

    /// The whole paths of all texts in memory; none of a folder on disk.
    pub(super) fn texts(&self) -> Option<impl Iterator<Item = &Path>> {
        self.texts.as_ref().map(|texts| texts.keys().map(PathBuf::as_path))
    }
}

/// A path without `.` and `..`, as far as there is something to go up from.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            _ => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::Diagnostics;

    fn folder() -> Folder {
        let texts = [("shop/a.yaml", "a"), ("./shop/deep/b.yml", "b"), ("shop/notes.txt", "n"), ("c.json", "c")];
        Folder::in_memory(texts).expect("different paths")
    }

    #[test]
    fn two_texts_of_one_path_are_one_too_many() {
        let texts = [("shop/a.yaml", "a"), ("b.yaml", "b"), ("shop/../shop/./a.yaml", "another")];
        assert_eq!(Folder::in_memory(texts).err(), Some(PathBuf::from("shop/a.yaml")));
    }

    #[test]
    fn paths_lead_to_texts_as_they_would_to_files() {
        let folder = folder();
        assert!(folder.is_file(Path::new("shop/../c.json")) && !folder.is_file(Path::new("shop")));
        assert!(folder.exists(Path::new("shop/deep")) && !folder.exists(Path::new("sho")));
        let inner = folder.around(Path::new("shop/a.yaml"));
        assert_eq!(inner.read(Path::new("deep/b.yml"), "b").expect("it is there"), "b");
        assert_eq!(inner.names_beside(Path::new("x")), ["a.yaml", "deep", "notes.txt"]);
        let missing = inner.read(Path::new("-"), "-").expect_err("standard input is not in memory");
        assert_eq!(missing.message, "there is no file `-`");
    }

    #[test]
    fn directories_and_globs_find_what_they_would_find_on_disk() {
        let (memory, disk) = (folder(), tempfile::tempdir().expect("a temporary directory"));
        for path in memory.texts().expect("it is in memory") {
            let path = disk.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, "").expect("a file");
        }
        let on_disk = Folder::on_disk(disk.path());
        for path in ["shop", "shop/*", "s*p", "*.json", "**/*.yml", "missing", "none*", "shop/notes.txt", "."] {
            let find = |folder: &Folder| {
                let mut diagnostics = Diagnostics::new();
                let found = files::find(&[PathBuf::from(path)], folder, &mut diagnostics);
                let names: Vec<String> = found.into_iter().map(|file| file.name).collect();
                (names, diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect::<Vec<_>>())
            };
            assert_eq!(find(&memory), find(&on_disk), "{path}");
        }
    }
}
