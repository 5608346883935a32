//! A result's directory: written beside its place and moved there when it is complete.
//!
//! A killed run leaves a directory whose name says that it is unfinished, never a half-written result that looks whole.
//! A directory that is not one of ours is not touched unless the user insists.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// What to do with a directory that is not one of ours.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Refuse.
    OnlyOurs,
    /// Replace it.
    Anything,
}

/// Why an output directory cannot be written.
#[derive(Debug)]
pub enum OutputError {
    /// It exists and has no `summary.json`.
    NotOurs(PathBuf),
    /// Another run that has not ended writes to the same place.
    Busy(PathBuf),
    /// The operating system refused.
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which path.
        path: PathBuf,
        /// Its answer.
        source: io::Error,
    },
}

impl std::fmt::Display for OutputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotOurs(path) => write!(
                f,
                "{} exists and is not a result of kubesquall (it has no summary.json); choose another --out, or --force to \
                 replace it",
                path.display()
            ),
            Self::Busy(path) => {
                write!(f, "another run is writing to {}; wait for it, or choose another --out", path.display())
            }
            Self::Io { doing, path, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotOurs(_) | Self::Busy(_) => None,
            Self::Io { source, .. } => Some(source),
        }
    }
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OutputError {
    let path = path.to_owned();
    move |source| OutputError::Io { doing, path, source }
}

/// An output directory in the making.
#[derive(Debug)]
pub struct OutputDir {
    place: PathBuf,
    building: PathBuf,
    /// Locked as long as this run lives, so that no other takes its directory for that of a killed one.
    lock: Option<fs::File>,
    is_finished: bool,
}

/// The file that is locked.
const LOCK: &str = "lock.tmp";

/// Removes a directory with all that is in it, or a file.
fn remove(path: &Path) -> Result<(), OutputError> {
    let is_dir = fs::symlink_metadata(path).map_err(io_error("read", path))?.is_dir();
    if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) }.map_err(io_error("remove", path))
}

/// Whether a run that has not ended writes to an unfinished directory.
fn is_busy(building: &Path) -> bool {
    let lock = fs::File::open(building.join(LOCK));
    lock.is_ok_and(|lock| matches!(lock.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

impl OutputDir {
    /// Checks that `place` may be written, and begins beside it.
    ///
    /// # Errors
    /// If `place` is not ours to replace, or a directory cannot be made.
    pub fn begin(place: &Path, overwrite: Overwrite) -> Result<Self, OutputError> {
        Self::check(place, overwrite)?;
        let mut name = place.file_name().unwrap_or_else(|| "out".as_ref()).to_owned();
        name.push(".unfinished.tmp");
        let building = place.with_file_name(name);
        if building.exists() {
            if is_busy(&building) {
                return Err(OutputError::Busy(place.to_owned()));
            }
            remove(&building)?;
        }
        fs::create_dir_all(&building).map_err(io_error("create", &building))?;
        let lock_path = building.join(LOCK);
        let lock = fs::File::create(&lock_path).map_err(io_error("create", &lock_path))?;
        // A file system without locks only loses the protection from a second run at the same time.
        let _ = lock.try_lock();
        Ok(Self { place: place.to_owned(), building, lock: Some(lock), is_finished: false })
    }

    /// Checks that `place` may be written.
    ///
    /// # Errors
    /// If `place` is not ours to replace.
    pub fn check(place: &Path, overwrite: Overwrite) -> Result<(), OutputError> {
        let is_ours = place.join("summary.json").is_file();
        let is_empty_dir = place.is_dir() && fs::read_dir(place).map_err(io_error("read", place))?.next().is_none();
        if place.exists() && !is_ours && !is_empty_dir && overwrite == Overwrite::OnlyOurs {
            return Err(OutputError::NotOurs(place.to_owned()));
        }
        Ok(())
    }

    /// Where to write now.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.building
    }

    /// Writes one file.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), OutputError> {
        self.write_with(name, |file| file.write_all(content))
    }

    /// Writes one file piece by piece, for content that would fill the memory.
    ///
    /// # Errors
    /// If the operating system refuses.
    pub fn write_with(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
    ) -> Result<(), OutputError> {
        let path = self.building.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        }
        let written = fs::File::create(&path).map(io::BufWriter::new).and_then(|mut file| {
            content(&mut file)?;
            file.flush()
        });
        written.map_err(io_error("write", &path))
    }

    /// Moves the complete result to its place, replacing what was there.
    ///
    /// # Errors
    /// If the operating system refuses; what was there before is then still there.
    pub fn finish(mut self) -> Result<PathBuf, OutputError> {
        self.lock = None;
        remove(&self.building.join(LOCK))?;
        let mut old = None;
        if self.place.exists() {
            let mut name = self.place.file_name().unwrap_or_else(|| "out".as_ref()).to_owned();
            name.push(".replaced.tmp");
            let aside = self.place.with_file_name(name);
            if aside.exists() {
                remove(&aside)?;
            }
            fs::rename(&self.place, &aside).map_err(io_error("move", &self.place))?;
            old = Some(aside);
        }
        if let Err(source) = fs::rename(&self.building, &self.place) {
            if let Some(aside) = old {
                fs::rename(aside, &self.place).map_err(io_error("restore", &self.place))?;
            }
            return Err(OutputError::Io { doing: "move", path: self.building.clone(), source });
        }
        self.is_finished = true;
        if let Some(aside) = old {
            remove(&aside)?;
        }
        Ok(self.place.clone())
    }
}

impl Drop for OutputDir {
    fn drop(&mut self) {
        if !self.is_finished {
            // Nothing sensible is left to do if even this fails.
            let _ = fs::remove_dir_all(&self.building);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_foreign_directory_is_refused_and_left_alone() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("reports");
        fs::create_dir(&place).expect("a directory");
        fs::write(place.join("thesis.txt"), "years of work").expect("a file");
        let refused = OutputDir::begin(&place, Overwrite::OnlyOurs);
        assert!(matches!(refused, Err(OutputError::NotOurs(_))));
        assert!(place.join("thesis.txt").exists());
    }

    #[test]
    fn two_runs_do_not_write_to_one_place_at_once() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("run");
        let first = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("a new place");
        let second = OutputDir::begin(&place, Overwrite::Anything);
        assert!(matches!(second, Err(OutputError::Busy(_))));
        first.write("summary.json", b"1").expect("a file");
        first.finish().expect("the result in its place");
        let names: Vec<_> =
            fs::read_dir(&place).expect("the result").map(|entry| entry.expect("a file").file_name()).collect();
        assert_eq!(names, ["summary.json"]);
        OutputDir::begin(&place, Overwrite::OnlyOurs).expect("the first is over");
    }

    #[test]
    fn what_a_killed_run_left_is_cleared_away() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let left = root.path().join("run.unfinished.tmp");
        fs::create_dir(&left).expect("a directory");
        fs::write(left.join("events.csv"), "half").expect("a file");
        fs::write(left.join(LOCK), "").expect("a file");
        let place = OutputDir::begin(&root.path().join("run"), Overwrite::OnlyOurs).expect("a new place");
        place.write("summary.json", b"1").expect("a file");
        place.finish().expect("the result in its place");
        let names: Vec<_> =
            fs::read_dir(root.path()).expect("it").map(|entry| entry.expect("one").file_name()).collect();
        assert_eq!(names, ["run"]);
        assert!(!root.path().join("run/events.csv").exists());
    }

    #[test]
    fn a_file_in_the_place_of_the_result_is_replaced_only_by_force() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("run");
        fs::write(&place, "years of work").expect("a file");
        assert!(matches!(OutputDir::begin(&place, Overwrite::OnlyOurs), Err(OutputError::NotOurs(_))));
        let forced = OutputDir::begin(&place, Overwrite::Anything).expect("forced");
        forced.finish().expect("the result in its place");
        assert!(place.is_dir());
    }

    #[test]
    fn an_unfinished_result_never_takes_the_place_of_a_finished_one() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("run");
        let first = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("a new place");
        first.write("summary.json", b"1").expect("a file");
        first.finish().expect("the result in its place");
        let second = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("ours to replace");
        second.write("summary.json", b"2").expect("a file");
        drop(second);
        assert_eq!(fs::read(place.join("summary.json")).expect("the first result"), b"1");
    }
}
