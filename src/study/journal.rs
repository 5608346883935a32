//! What a study has played so far, on disk: a sweep that is killed goes on from there.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::runner::RunRow;

/// Why a journal cannot be used.
#[derive(Debug, Error)]
pub enum JournalError {
    /// There is one already.
    #[error("`{0}` is there: a sweep to this place was interrupted, or is still running")]
    InUse(PathBuf),
    /// It belongs to another study.
    #[error("`{0}` belongs to another study, or to an earlier form of this one")]
    OtherStudy(PathBuf),
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

/// Which study a journal is of; its first line.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Header {
    fingerprint: String,
}

/// The runs that are over.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    file: File,
    rows: Vec<RunRow>,
}

impl Journal {
    /// Where the journal of results at `place` is.
    fn path_for(place: &Path) -> PathBuf {
        let mut name = place.file_name().unwrap_or_else(|| "study".as_ref()).to_owned();
        name.push(".journal.tmp");
        place.with_file_name(name)
    }

    /// Begins a journal for results at `place`, or goes on with the one that is there.
    ///
    /// # Errors
    ///
    /// If there is one and it is not to be resumed, if it is another study's, or if it cannot be read or written.
    pub fn open(place: &Path, fingerprint: u64, resume: bool) -> Result<Self, JournalError> {
        let path = Self::path_for(place);
        let io = |doing: &'static str| {
            let path = path.clone();
            move |source| JournalError::Io { doing, path, source }
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io("create the directory of"))?;
        }
        let header = Header { fingerprint: format!("{fingerprint:016x}") };
        if !path.exists() {
            let mut file = OpenOptions::new().append(true).create_new(true).open(&path).map_err(io("create"))?;
            let line = serde_json::to_string(&header).expect("a header is plain data");
            writeln!(file, "{line}").map_err(io("write"))?;
            return Ok(Self { path, inner: Mutex::new(Inner { file, rows: Vec::new() }) });
        }
        if !resume {
            return Err(JournalError::InUse(path));
        }
        let mut lines = BufReader::new(File::open(&path).map_err(io("read"))?).lines();
        let first = lines.next().and_then(Result::ok).and_then(|line| serde_json::from_str::<Header>(&line).ok());
        if first.is_some_and(|first| first != header) {
            return Err(JournalError::OtherStudy(path));
        }
        // A kill in the middle of a line leaves half of it behind; that run is played again.
        let rows: Vec<RunRow> =
            lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()).collect();
        let mut text = serde_json::to_string(&header).expect("a header is plain data");
        text.push('\n');
        for row in &rows {
            text.push_str(&serde_json::to_string(row).expect("a row is plain data"));
            text.push('\n');
        }
        let rewritten = path.with_extension("rewritten.tmp");
        fs::write(&rewritten, text).map_err(io("write"))?;
        fs::rename(&rewritten, &path).map_err(io("replace"))?;
        let file = OpenOptions::new().append(true).open(&path).map_err(io("open"))?;
        Ok(Self { path, inner: Mutex::new(Inner { file, rows }) })
    }

    /// Removes what an interrupted sweep left.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn discard(place: &Path) -> Result<(), JournalError> {
        let path = Self::path_for(place);
        match fs::remove_file(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(JournalError::Io { doing: "remove", path, source })
            }
            _ => Ok(()),
        }
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a run that is over.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn add(&self, row: RunRow) -> Result<(), JournalError> {
        let mut line = serde_json::to_string(&row).expect("a row is plain data");
        line.push('\n');
        let mut inner = self.inner();
        inner.file.write_all(line.as_bytes()).map_err(|source| JournalError::Io {
            doing: "write",
            path: self.path.clone(),
            source,
        })?;
        inner.rows.push(row);
        Ok(())
    }

    /// Variant and replication of every run that is over.
    #[must_use]
    pub fn done(&self) -> BTreeSet<(usize, u32)> {
        self.inner().rows.iter().map(|row| (row.variant, row.replication)).collect()
    }

    /// Every run that is over, by replication and variant.
    #[must_use]
    pub fn rows(&self) -> Vec<RunRow> {
        let mut rows = self.inner().rows.clone();
        rows.sort_by_key(|row| (row.replication, row.variant));
        rows.dedup_by_key(|row| (row.replication, row.variant));
        rows
    }

    /// Removes the journal: the results are in their place.
    ///
    /// # Errors
    ///
    /// If it cannot be removed.
    pub fn close(self) -> Result<(), JournalError> {
        fs::remove_file(&self.path).map_err(|source| JournalError::Io { doing: "remove", path: self.path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(replication: u32) -> RunRow {
        RunRow { variant: 0, replication, metrics: vec![0.1 + 0.2, f64::from(replication)] }
    }

    #[test]
    fn half_a_line_is_played_again() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let place = dir.path().join("study");
        let journal = Journal::open(&place, 7, false).expect("a new one");
        journal.add(row(0)).expect("written");
        journal.add(row(1)).expect("written");
        let path = Journal::path_for(&place);
        let text = fs::read_to_string(&path).expect("the journal");
        fs::write(&path, &text[..text.len() - 5]).expect("cut short");
        assert!(matches!(Journal::open(&place, 7, false), Err(JournalError::InUse(_))));
        assert!(matches!(Journal::open(&place, 8, true), Err(JournalError::OtherStudy(_))));
        let resumed = Journal::open(&place, 7, true).expect("ours");
        assert_eq!(resumed.rows(), [row(0)]);
        resumed.add(row(1)).expect("written");
        assert_eq!(fs::read_to_string(&path).expect("the journal"), text);
    }
}
