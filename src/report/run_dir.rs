//! A result's directory: written beside its place and moved there when it is complete.
//!
//! A killed run leaves a directory whose name says that it is unfinished, never a half-written result that looks whole.
//! A directory that is not one of ours is not touched unless the user insists, and what else stands in one of ours stays there.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::ours::{self, Contents, LOCK};

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
    /// It exists and has no file by which this program would know its own.
    NotOurs(PathBuf, Contents),
    /// What stands where the result is made, or moved aside, is not of this program.
    InTheWay(PathBuf),
    /// It is a link to something that is not there, or no place for a directory.
    NoPlace(PathBuf),
    /// Replacing it would remove what nobody means to be removed.
    Holds {
        /// The directory.
        place: PathBuf,
        /// What is there.
        what: &'static str,
        /// Where that is.
        held: PathBuf,
    },
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
            Self::NotOurs(path, contents) => {
                let (what, file) = match contents {
                    Contents::Results => ("a result of kubesquall", "summary.json"),
                    Contents::Outage => ("an outage that kubesquall imported", "evidence.json"),
                };
                write!(f, "{} exists and is not {what} (it has no {file} of ours)", path.display())
            }
            Self::InTheWay(path) => write!(
                f,
                "{} is in the way: results are made there, and it is not what a killed run has left",
                path.display()
            ),
            Self::NoPlace(path) => write!(
                f,
                "{} cannot become a directory of results: it is a link to nothing, or has no name of its own",
                path.display()
            ),
            Self::Holds { place, what, held } if place == held => {
                write!(f, "{} is {what}, which is never replaced", place.display())
            }
            Self::Holds { place, what, held } => {
                write!(f, "{} holds {what}, {}, and is never replaced", place.display(), held.display())
            }
            Self::Busy(path) => {
                write!(f, "another run is writing to {}", path.display())
            }
            Self::Io { doing, path, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotOurs(..) | Self::InTheWay(_) | Self::NoPlace(_) | Self::Holds { .. } | Self::Busy(_) => None,
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
    /// Whether what the old result has beside its own files goes with it.
    overwrite: Overwrite,
    contents: Contents,
}

/// Removes a directory with all that is in it, or a file.
fn remove(path: &Path) -> Result<(), OutputError> {
    let is_dir = fs::symlink_metadata(path).map_err(io_error("read", path))?.is_dir();
    if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) }.map_err(io_error("remove", path))
}

/// A sibling of the place: its name with something behind it.
fn beside(place: &Path, ending: &str) -> PathBuf {
    let mut name = place.file_name().unwrap_or_else(|| "out".as_ref()).to_owned();
    name.push(ending);
    place.with_file_name(name)
}

/// Removes what an earlier run has left at a place that is ours to make; refuses anything else.
fn clear(leftover: &Path, contents: Contents) -> Result<(), OutputError> {
    let Ok(metadata) = fs::symlink_metadata(leftover) else { return Ok(()) };
    let is_ours =
        metadata.is_dir() && ours::foreign(leftover, contents).map_err(io_error("read", leftover))?.is_empty();
    if is_ours { remove(leftover) } else { Err(OutputError::InTheWay(leftover.to_owned())) }
}

/// The directory itself, where the place is a link to one or has no name of its own.
fn followed(place: &Path) -> Result<PathBuf, OutputError> {
    let is_link = fs::symlink_metadata(place).is_ok_and(|metadata| metadata.is_symlink());
    if !is_link && place.file_name().is_some() {
        return Ok(place.to_owned());
    }
    let real = fs::canonicalize(place).ok().filter(|real| real.file_name().is_some());
    real.ok_or_else(|| OutputError::NoPlace(place.to_owned()))
}

/// Refuses a place that is or contains one of these paths, through links as well.
fn spare<'a>(place: &Path, what: &'static str, paths: impl IntoIterator<Item = &'a Path>) -> Result<(), OutputError> {
    let Ok(real) = fs::canonicalize(place) else { return Ok(()) };
    for path in paths {
        // A link goes with the directory that it stands in, what it leads to with that one's.
        let parent = path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent });
        let link =
            parent.zip(path.file_name()).and_then(|(parent, name)| Some(fs::canonicalize(parent).ok()?.join(name)));
        let target = fs::canonicalize(path);
        if !path.exists() {
            continue;
        }
        if let Some(held) = link.into_iter().chain(target).find(|held| held.starts_with(&real)) {
            return Err(OutputError::Holds { place: real, what, held });
        }
    }
    Ok(())
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
        Self::begin_of(Contents::Results, place, overwrite)
    }

    /// The same for a directory of that kind.
    ///
    /// # Errors
    /// If `place` is not ours to replace, or a directory cannot be made.
    pub fn begin_of(contents: Contents, place: &Path, overwrite: Overwrite) -> Result<Self, OutputError> {
        Self::check_of(contents, place, overwrite)?;
        let place = &followed(place)?;
        let building = beside(place, ".unfinished.tmp");
        if is_busy(&building) {
            return Err(OutputError::Busy(place.to_owned()));
        }
        clear(&building, contents)?;
        // Seen now rather than when everything has been played.
        clear(&beside(place, ".replaced.tmp"), contents)?;
        fs::create_dir_all(&building).map_err(io_error("create", &building))?;
        let lock_path = building.join(LOCK);
        let lock = fs::File::create(&lock_path).map_err(io_error("create", &lock_path))?;
        // A file system without locks only loses the protection from a second run at the same time.
        let _ = lock.try_lock();
        Ok(Self { place: place.to_owned(), building, lock: Some(lock), is_finished: false, overwrite, contents })
    }

    /// Checks that `place` may be written.
    ///
    /// # Errors
    /// If `place` is not ours to replace, or no place for a directory.
    pub fn check(place: &Path, overwrite: Overwrite) -> Result<(), OutputError> {
        Self::check_of(Contents::Results, place, overwrite)
    }

    /// The same for a directory of that kind.
    ///
    /// # Errors
    /// If `place` is not ours to replace, or no place for a directory.
    pub fn check_of(contents: Contents, place: &Path, overwrite: Overwrite) -> Result<(), OutputError> {
        if overwrite == Overwrite::Anything {
            spare(place, "the root directory", [Path::new("/")])?;
            spare(place, "your home directory", std::env::home_dir().as_deref())?;
            spare(place, "the working directory", fs::canonicalize(".").ok().as_deref())?;
        }
        followed(place)?;
        let is_ours = contents.is_in(place);
        let is_empty_dir = place.is_dir() && fs::read_dir(place).map_err(io_error("read", place))?.next().is_none();
        if place.exists() && !is_ours && !is_empty_dir && overwrite == Overwrite::OnlyOurs {
            return Err(OutputError::NotOurs(place.to_owned(), contents));
        }
        Ok(())
    }

    /// Refuses a place that is or contains a file of the input, if everything there would go.
    ///
    /// # Errors
    /// If one of the inputs is there.
    pub fn spare_inputs<'a>(
        place: &Path,
        overwrite: Overwrite,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), OutputError> {
        if overwrite == Overwrite::OnlyOurs { Ok(()) } else { spare(place, "a file that is read", inputs) }
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
        debug_assert!(self.contents.has(Path::new(name)), "{name} would be taken for a file of the user");
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

    /// Moves the complete result to its place, replacing what was there. Files there that are not of a result stay, unless the user
    /// insisted on replacing everything.
    ///
    /// # Errors
    /// If the operating system refuses; what was there before is then still there.
    pub fn finish(mut self) -> Result<PathBuf, OutputError> {
        self.lock = None;
        remove(&self.building.join(LOCK))?;
        let mut old = None;
        if self.place.exists() {
            let aside = beside(&self.place, ".replaced.tmp");
            clear(&aside, self.contents)?;
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
            if self.overwrite == Overwrite::OnlyOurs {
                self.keep_foreign(&aside)?;
            }
            remove(&aside)?;
        }
        Ok(self.place.clone())
    }

    /// Moves what is not of a result from the old directory into the new one.
    fn keep_foreign(&self, aside: &Path) -> Result<(), OutputError> {
        for name in ours::foreign(aside, self.contents).map_err(io_error("read", aside))? {
            let (from, to) = (aside.join(&name), self.place.join(&name));
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(io_error("create", parent))?;
            }
            fs::rename(&from, &to).map_err(io_error("move", &from))?;
        }
        Ok(())
    }
}

/// Writes a file of a result that is there: whole, or not at all. A link in its place is replaced, and what it leads to stays as it is.
///
/// # Errors
///
/// If the operating system refuses.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), OutputError> {
    let building = beside(path, ".unfinished.tmp");
    let _ = fs::remove_file(&building);
    let file = fs::File::options().write(true).create_new(true).open(&building);
    let written = file.and_then(|mut file| file.write_all(content)).and_then(|()| fs::rename(&building, path));
    written.map_err(|source| {
        let _ = fs::remove_file(&building);
        io_error("write to", path)(source)
    })
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

    const SUMMARY: &[u8] = br#"{"scenario": "a", "version": "0.1.0"}"#;

    #[test]
    fn files_of_others_in_a_result_of_ours_stay_when_it_is_replaced() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("run");
        let write = |name: &str| {
            let out = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("ours to replace");
            out.write("summary.json", SUMMARY).expect("a file");
            out.write(name, b"1").expect("a file");
            out.finish().expect("the result in its place");
        };
        write("events.csv");
        fs::create_dir(place.join("notes")).expect("a directory");
        fs::write(place.join("notes/thesis.txt"), "years of work").expect("a file");
        write("pods.csv");
        assert_eq!(fs::read(place.join("notes/thesis.txt")).expect("still there"), b"years of work");
        assert!(place.join("pods.csv").exists() && !place.join("events.csv").exists());
    }

    #[test]
    fn a_summary_of_others_marks_nothing() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("accounts");
        fs::create_dir(&place).expect("a directory");
        fs::write(place.join("summary.json"), "{\"total\": 3}").expect("a file");
        assert!(matches!(OutputDir::begin(&place, Overwrite::OnlyOurs), Err(OutputError::NotOurs(..))));
    }

    #[test]
    fn what_the_user_calls_unfinished_is_not_wiped() {
        let root = tempfile::tempdir().expect("a temporary directory");
        for name in ["run.unfinished.tmp", "run.replaced.tmp"] {
            let theirs = root.path().join(name);
            fs::create_dir(&theirs).expect("a directory");
            fs::write(theirs.join("draft.txt"), "years of work").expect("a file");
            for overwrite in [Overwrite::OnlyOurs, Overwrite::Anything] {
                let refused = OutputDir::begin(&root.path().join("run"), overwrite);
                assert!(matches!(refused, Err(OutputError::InTheWay(_))), "{name}");
            }
            assert!(theirs.join("draft.txt").exists());
            fs::remove_dir_all(&theirs).expect("removed");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_replaced_is_not_written_through_a_link() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (theirs, link) = (root.path().join("thesis.txt"), root.path().join("report.html"));
        fs::write(&theirs, "years of work").expect("a file");
        std::os::unix::fs::symlink(&theirs, &link).expect("a link");
        replace_file(&link, b"page").expect("written");
        assert_eq!(fs::read(&theirs).expect("still there"), b"years of work");
        assert_eq!(fs::read(&link).expect("the page"), b"page");
        assert!(!link.is_symlink());
        let refused = replace_file(&root.path().join("none/report.html"), b"page").expect_err("no such directory");
        assert!(refused.to_string().contains("none/report.html"), "{refused}");
        fs::create_dir(root.path().join("taken")).expect("a directory");
        assert!(replace_file(&root.path().join("taken"), b"page").is_err());
        assert_eq!(fs::read_dir(root.path()).expect("it").count(), 3, "nothing half-written is left");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_those_to_nothing_are_refused_at_once() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path().join("real"), &link).expect("a link");
        for overwrite in [Overwrite::OnlyOurs, Overwrite::Anything] {
            assert!(matches!(OutputDir::begin(&link, overwrite), Err(OutputError::NoPlace(_))));
        }
        fs::create_dir(root.path().join("real")).expect("a directory");
        let out = OutputDir::begin(&link, Overwrite::OnlyOurs).expect("an empty directory");
        out.write("summary.json", SUMMARY).expect("a file");
        out.finish().expect("the result in its place");
        assert!(link.is_symlink() && root.path().join("real/summary.json").exists());
    }

    #[test]
    fn a_foreign_directory_is_refused_and_left_alone() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("reports");
        fs::create_dir(&place).expect("a directory");
        fs::write(place.join("thesis.txt"), "years of work").expect("a file");
        let refused = OutputDir::begin(&place, Overwrite::OnlyOurs);
        assert!(matches!(refused, Err(OutputError::NotOurs(..))));
        assert!(place.join("thesis.txt").exists());
    }

    #[test]
    fn two_runs_do_not_write_to_one_place_at_once() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("run");
        let first = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("a new place");
        let second = OutputDir::begin(&place, Overwrite::Anything);
        assert!(matches!(second, Err(OutputError::Busy(_))));
        first.write("summary.json", SUMMARY).expect("a file");
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
        assert!(matches!(OutputDir::begin(&place, Overwrite::OnlyOurs), Err(OutputError::NotOurs(..))));
        let forced = OutputDir::begin(&place, Overwrite::Anything).expect("forced");
        forced.finish().expect("the result in its place");
        assert!(place.is_dir());
    }

    #[test]
    fn not_even_force_replaces_directories_that_are_lived_in() {
        let home = std::env::home_dir().filter(|home| home.is_dir());
        let here = fs::canonicalize(".").expect("a working directory");
        let above = here.parent().map(Path::to_owned);
        for place in [Some(PathBuf::from("/")), home, above, Some(here), Some(PathBuf::from("."))].into_iter().flatten()
        {
            let refused = OutputDir::check(&place, Overwrite::Anything);
            assert!(matches!(refused, Err(OutputError::Holds { .. })), "{}", place.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn not_even_force_replaces_what_is_read() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let (place, file) = (root.path().join("shop"), root.path().join("shop/manifests/web.yaml"));
        fs::create_dir_all(place.join("manifests")).expect("a directory");
        fs::write(&file, "years of work").expect("a file");
        fs::create_dir(root.path().join("other")).expect("a directory");
        let (link, to_file) = (root.path().join("link"), root.path().join("other/web.yaml"));
        std::os::unix::fs::symlink(&place, &link).expect("a link");
        std::os::unix::fs::symlink(&file, &to_file).expect("a link");
        let check = |place: &Path, input: &Path, is_refused: bool| {
            let said = OutputDir::spare_inputs(place, Overwrite::Anything, [input]);
            assert_eq!(
                matches!(said, Err(OutputError::Holds { .. })),
                is_refused,
                "{} {}",
                place.display(),
                input.display()
            );
            assert!(OutputDir::spare_inputs(place, Overwrite::OnlyOurs, [input]).is_ok());
        };
        check(&place, &file, true);
        check(&file, &file, true);
        check(&link, &file, true);
        check(&place, &to_file, true);
        check(&root.path().join("other"), &to_file, true);
        check(&root.path().join("other"), &file, false);
        check(&root.path().join("new"), &file, false);
    }

    #[test]
    fn an_unfinished_result_never_takes_the_place_of_a_finished_one() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let place = root.path().join("run");
        let first = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("a new place");
        first.write("summary.json", SUMMARY).expect("a file");
        first.finish().expect("the result in its place");
        let second = OutputDir::begin(&place, Overwrite::OnlyOurs).expect("ours to replace");
        second.write("summary.json", b"2").expect("a file");
        drop(second);
        assert_eq!(fs::read(place.join("summary.json")).expect("the first result"), SUMMARY);
    }
}
