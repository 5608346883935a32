//! What a study or a forecast has played so far, on disk, so that one that is killed goes on from there, or in memory.
//!
//! A line is a run, written at once when it is over. Only which runs are over is kept in memory. Whoever plays holds a lock on
//! the file, which ends with the process however it ends.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::ops::RangeBounds;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::run::RunRow;
use super::shard::Shard;

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// There is one already.
    #[error("`{0}` is there: what was played to this place was interrupted")]
    Interrupted(PathBuf),
    /// Somebody is writing it.
    #[error("`{0}` is being written: somebody plays to this place")]
    Running(PathBuf),
    /// It belongs to another study or forecast.
    #[error("`{0}` belongs to another {1}, or to an earlier form of this one")]
    OtherStudy(PathBuf, &'static str),
    /// It belongs to another part of the study.
    #[error("`{path}` belongs to part {shard} of the study")]
    OtherShard {
        /// The journal.
        path: PathBuf,
        /// Its part.
        shard: Shard,
    },
    /// A line of it is whole, but no run's.
    #[error("line {line} of `{path}` cannot be read back")]
    Broken {
        /// The journal.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// The operating system refuses.
    #[error("cannot {doing} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Which runs a journal is of; its first line. A study's fingerprint holds its axes and baseline, its scenarios, and the
/// version of kubesquall.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    fingerprint: String,
    shard: Shard,
}

/// What a line of a journal holds.
pub trait Row: Clone + Serialize + DeserializeOwned {
    /// Which run it is of; rows are read back in this order.
    type Key: Copy + std::fmt::Debug + Ord;

    /// What has journals of such rows, such as "study".
    const OF: &'static str;

    /// Which run it is of.
    fn key(&self) -> Self::Key;
}

impl Row for RunRow {
    /// Replication and variant.
    type Key = (u32, usize);

    const OF: &'static str = "study";

    fn key(&self) -> Self::Key {
        (self.replication, self.variant)
    }
}

/// The runs that are over.
#[derive(Debug)]
pub struct Journal<R: Row = RunRow> {
    path: PathBuf,
    inner: Mutex<Inner<R>>,
    damage: Option<Damage>,
}

/// Where a journal could not be read back. What stood there and behind is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The journal.
    pub path: PathBuf,
    /// The first line that cannot be read back, counted from 1.
    pub line: usize,
    /// How many lines are lost, with that one.
    pub lost: usize,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, line, lost } = self;
        let again = crate::units::counted(*lost, "play is", "plays are");
        write!(
            formatter,
            "`{}` is damaged in line {line}: what stands before is used; {again} made again",
            path.display()
        )
    }
}

/// What becomes of a journal with a whole line that is no run's.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Damaged {
    Refused,
    CutOff,
}

/// Where the runs are.
#[derive(Debug)]
enum Kept<R> {
    /// In a file of this length, in bytes.
    OnDisk {
        file: File,
        length: u64,
    },
    InMemory(Vec<R>),
}

#[derive(Debug)]
struct Inner<R: Row> {
    kept: Kept<R>,
    done: BTreeSet<R::Key>,
}

impl<R: Row> Journal<R> {
    /// Where the journal of results at `place` is: beside them.
    fn path_for(place: &Path) -> PathBuf {
        // `.` and `..` have no name of their own, the directory has one.
        let real = if place.file_name().is_none() { fs::canonicalize(place).ok() } else { None };
        let place = real.as_deref().unwrap_or(place);
        let mut name = place.file_name().unwrap_or_else(|| "study".as_ref()).to_owned();
        name.push(".journal.tmp");
        place.with_file_name(name)
    }

    /// Begins a journal for results at `place`, or goes on with the one that is there.
    ///
    /// # Errors
    ///
    /// If there is one and it is not to be resumed, if it is another study's or another part's, if somebody is writing it, or if
    /// it cannot be read or written.
    pub fn open(place: &Path, fingerprint: u64, shard: Shard, resume: bool) -> Result<Self, JournalError> {
        Self::open_if(place, fingerprint, shard, resume, Damaged::Refused)
    }

    /// The same; of a journal with a line that cannot be read back what stands before that line is kept, see [`Self::damage`].
    ///
    /// # Errors
    ///
    /// Otherwise the same.
    pub fn mend(place: &Path, fingerprint: u64, shard: Shard, resume: bool) -> Result<Self, JournalError> {
        Self::open_if(place, fingerprint, shard, resume, Damaged::CutOff)
    }

    /// Where the journal could not be read back, if what stood there was given up.
    #[must_use]
    pub fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    fn open_if(
        place: &Path,
        fingerprint: u64,
        shard: Shard,
        resume: bool,
        damaged: Damaged,
    ) -> Result<Self, JournalError> {
        let path = Self::path_for(place);
        let io = |doing: &'static str| {
            let path = path.clone();
            move |source| JournalError::Io { doing, path, source }
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io("create the directory of"))?;
        }
        let opened = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let mut file = opened.map_err(io("open"))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(JournalError::Running(path)),
            // A file system without locks only loses the protection from a second sweep at the same time.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io("read"))?;
        let header = Header { fingerprint: format!("{fingerprint:016x}"), shard };
        let Some(header_end) = bytes.iter().position(|byte| *byte == b'\n') else {
            // New, or killed before its first line was whole.
            file.set_len(0).map_err(io("write"))?;
            let line = serde_json::to_string(&header).expect("a header is plain data");
            file.write_all(format!("{line}\n").as_bytes()).map_err(io("write"))?;
            let length = line.len() as u64 + 1;
            return Ok(Self::new(path, Kept::OnDisk { file, length }, BTreeSet::new()));
        };
        if !resume {
            return Err(JournalError::Interrupted(path));
        }
        match serde_json::from_slice::<Header>(&bytes[..header_end]) {
            Ok(found) if found == header => {}
            Ok(found) if found.fingerprint == header.fingerprint => {
                return Err(JournalError::OtherShard { path, shard: found.shard });
            }
            _ => return Err(JournalError::OtherStudy(path, R::OF)),
        }
        // A kill in the middle of a line leaves half of it behind; that run is played again.
        let Lines { rows, length, damage } = lines_of::<R>(&bytes, header_end + 1, &path);
        if let Some(Damage { path, line, .. }) = damage.as_ref().filter(|_| damaged == Damaged::Refused) {
            return Err(JournalError::Broken { path: path.clone(), line: *line });
        }
        let done = rows.iter().map(R::key).collect();
        file.set_len(length).map_err(io("write"))?;
        file.seek(SeekFrom::End(0)).map_err(io("write"))?;
        Ok(Self { damage, ..Self::new(path, Kept::OnDisk { file, length }, done) })
    }

    /// A journal that nothing survives.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(PathBuf::new(), Kept::InMemory(Vec::new()), BTreeSet::new())
    }

    fn new(path: PathBuf, kept: Kept<R>, done: BTreeSet<R::Key>) -> Self {
        Self { path, inner: Mutex::new(Inner { kept, done }), damage: None }
    }

    /// Removes what an interrupted sweep left.
    ///
    /// # Errors
    ///
    /// If a sweep is writing it, or it cannot be removed.
    pub fn discard(place: &Path) -> Result<(), JournalError> {
        let path = Self::path_for(place);
        if File::open(&path).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))) {
            return Err(JournalError::Running(path));
        }
        match fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(JournalError::Io { doing: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner<R>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run that is over.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn add(&self, row: R) -> Result<(), JournalError> {
        let run = row.key();
        let mut inner = self.inner();
        match &mut inner.kept {
            Kept::InMemory(rows) => rows.push(row),
            Kept::OnDisk { file, length } => {
                let mut line = serde_json::to_string(&row).expect("a row is plain data");
                line.push('\n');
                if let Err(source) = file.write_all(line.as_bytes()) {
                    // Half a line, as on a full disk, must not stand before those of other threads.
                    let _ = file.set_len(*length);
                    return Err(JournalError::Io { doing: "write", path: self.path.clone(), source });
                }
                *length += line.len() as u64;
            }
        }
        inner.done.insert(run);
        Ok(())
    }

    /// Every run that is over, in the order of their keys.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or a line of it is no run's.
    pub fn rows(&self) -> Result<Vec<R>, JournalError> {
        let inner = self.inner();
        let mut rows = match &inner.kept {
            Kept::InMemory(rows) => rows.clone(),
            Kept::OnDisk { .. } => {
                let bytes = fs::read(&self.path).map_err(|source| JournalError::Io {
                    doing: "read",
                    path: self.path.clone(),
                    source,
                })?;
                let header_end = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
                let Lines { rows, damage, .. } = lines_of(&bytes, header_end, &self.path);
                if let Some(Damage { path, line, .. }) = damage {
                    return Err(JournalError::Broken { path, line });
                }
                rows
            }
        };
        drop(inner);
        rows.sort_by_key(R::key);
        rows.dedup_by_key(|row| row.key());
        Ok(rows)
    }

    /// Removes the journal: the results are in their place.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn close(self) -> Result<(), JournalError> {
        if matches!(self.inner().kept, Kept::InMemory(_)) {
            return Ok(());
        }
        fs::remove_file(&self.path).map_err(|source| JournalError::Io { doing: "remove", path: self.path, source })
    }
}

impl Journal {
    /// Whether that replication of a variant is over.
    #[must_use]
    pub fn has(&self, variant: usize, replication: u32) -> bool {
        self.inner().done.contains(&(replication, variant))
    }

    /// How many of these replications, of whatever variant, are over.
    #[must_use]
    pub fn count(&self, replications: impl RangeBounds<u32>) -> usize {
        self.inner().done.iter().filter(|(replication, _)| replications.contains(replication)).count()
    }
}

/// What stands behind the header.
struct Lines<R> {
    rows: Vec<R>,
    /// Of the header and the lines of these rows, in bytes.
    length: u64,
    damage: Option<Damage>,
}

/// The runs behind the header. The last line may not be whole; one in between that cannot be read is nothing that a kill leaves behind.
fn lines_of<R: Row>(bytes: &[u8], header_end: usize, path: &Path) -> Lines<R> {
    let whole = bytes[header_end..].split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let mut found = Lines { rows: Vec::new(), length: header_end as u64, damage: None };
    for line in whole.clone() {
        let Ok(row) = serde_json::from_slice(line) else {
            let read = found.rows.len();
            found.damage = Some(Damage { path: path.to_owned(), line: read + 2, lost: whole.count() - read });
            break;
        };
        found.rows.push(row);
        found.length += line.len() as u64;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(replication: u32) -> RunRow {
        let metrics = [0.1 + 0.2, f64::from(replication)].into();
        let (weight, exposures) = (1.0, Box::default());
        RunRow { variant: 0, replication, metrics, workloads: [1.5].into(), weight, figures: [0.5].into(), exposures }
    }

    fn open(place: &Path, fingerprint: u64, resume: bool) -> Result<Journal, JournalError> {
        Journal::open(place, fingerprint, Shard::WHOLE, resume)
    }

    #[test]
    fn half_a_line_is_played_again_wherever_it_ends() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path().join("study");
        let journal = open(&place, 7, false).expect("a new one");
        journal.add(row(0)).expect("written");
        journal.add(row(1)).expect("written");
        drop(journal);
        let path = Journal::<RunRow>::path_for(&place);
        let text = fs::read_to_string(&path).expect("the journal");
        let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        for cut in 0..text.len() {
            fs::write(&path, &text[..cut]).expect("cut short");
            let resumed = open(&place, 7, true).expect("ours");
            let whole: Vec<RunRow> = (0..2).filter(|at| lines[*at as usize + 1] < cut).map(row).collect();
            assert_eq!(resumed.rows().expect("read"), whole, "{cut}");
            for at in whole.len()..2 {
                resumed.add(row(at as u32)).expect("written");
            }
            assert_eq!(fs::read_to_string(&path).expect("the journal"), text);
        }
    }

    #[test]
    fn beside_a_directory_without_a_name_of_its_own_is_beside_the_directory() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::create_dir_all(dir.path().join("here/below")).expect("directories");
        let place = dir.path().join("here/below/..");
        let journal = open(&place, 7, false).expect("a new one");
        journal.add(row(0)).expect("written");
        let names = |path: &Path| -> Vec<_> {
            let mut names: Vec<_> =
                fs::read_dir(path).expect("it").map(|entry| entry.expect("one").file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(names(dir.path()), ["here", "here.journal.tmp"]);
        assert_eq!(names(&place), ["below"]);
        journal.close().expect("removed");
        assert_eq!(names(dir.path()), ["here"]);
    }

    #[test]
    fn a_whole_line_that_cannot_be_read_is_told() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path().join("study");
        let journal = open(&place, 7, false).expect("a new one");
        journal.add(row(0)).expect("written");
        // As JSON has no infinity, it is written as null.
        let endless = RunRow { metrics: [f64::INFINITY].into(), ..row(1) };
        journal.add(endless).expect("written");
        assert!(matches!(journal.rows(), Err(JournalError::Broken { line: 3, .. })));
        drop(journal);
        assert!(matches!(open(&place, 7, true), Err(JournalError::Broken { line: 3, .. })));
        let mended = Journal::<RunRow>::mend(&place, 7, Shard::WHOLE, true).expect("what stands before");
        assert_eq!(mended.damage().map(|damage| (damage.line, damage.lost)), Some((3, 1)));
        assert_eq!(mended.rows().expect("read"), [row(0)]);
        mended.add(row(1)).expect("written");
        drop(mended);
        let whole = Journal::<RunRow>::mend(&place, 7, Shard::WHOLE, true).expect("ours");
        assert_eq!((whole.damage(), whole.rows().expect("read")), (None, vec![row(0), row(1)]));
    }

    #[test]
    fn what_belongs_to_others_is_left_alone() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path().join("study");
        let first = open(&place, 7, false).expect("a new one");
        first.add(row(0)).expect("written");
        assert!(matches!(open(&place, 7, true), Err(JournalError::Running(_))));
        assert!(matches!(Journal::<RunRow>::discard(&place), Err(JournalError::Running(_))));
        drop(first);
        assert!(matches!(open(&place, 7, false), Err(JournalError::Interrupted(_))));
        assert!(matches!(open(&place, 8, true), Err(JournalError::OtherStudy(..))));
        let part = Journal::<RunRow>::open(&place, 7, Shard::new(1, 2).expect("a part"), true);
        assert!(matches!(part, Err(JournalError::OtherShard { .. })));
        assert_eq!(open(&place, 7, true).expect("ours").rows().expect("read"), [row(0)]);
    }
}
