//! Two finished runs, side by side.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::error::Error;
use super::report::Report;
use crate::inspect::{self, Diff};
use crate::report::{OutputError, draw_diff_page, is_place_of_page, is_place_of_result};

/// What differs between two finished runs: in what went in, when they first went apart and why, and what came of it.
/// [`Report::diff`] makes it.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    runs: [&'a Report; 2],
    found: Diff,
}

impl Report {
    /// Compares a run with another one, to which this one is what was before.
    ///
    /// # Errors
    ///
    /// If one of them is not of a run, or something in its directory is missing or damaged.
    pub fn diff<'a>(&'a self, after: &'a Self) -> Result<Comparison<'a>, Error> {
        let runs = [self, after];
        Ok(Comparison { runs, found: inspect::diff(runs.map(Self::tables_of_run))? })
    }
}

impl Comparison<'_> {
    /// Whether nothing differs in what came out, but for the times over which the runs were observed.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        self.found.alike
    }

    /// All that differs, as `kubesquall diff -o json` prints it.
    ///
    /// # Panics
    ///
    /// Never: it is plain data.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(&self.found).expect("plain data")
    }

    #[cfg(feature = "cli")]
    pub(crate) fn found(&self) -> &Diff {
        &self.found
    }

    /// Draws the page of the two, on which one scrubber moves both.
    ///
    /// # Errors
    ///
    /// If a table is missing or damaged: nothing is shown of a part of a run.
    pub fn page(&self) -> Result<String, Error> {
        Ok(draw_diff_page(self.runs.map(Report::tables_of_run), &self.to_json())?)
    }

    /// Writes that page to a file. An earlier page of two runs is replaced, no other file.
    ///
    /// # Errors
    ///
    /// If a table is missing or damaged, a file of somebody else is there, or the operating system refuses.
    pub fn write_page(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        expect_place_of_page(path)?;
        let page = self.page()?;
        fs::write(path, page)
            .map_err(|source| OutputError::Io { doing: "write to", path: path.to_owned(), source }.into())
    }
}

/// Refuses to replace what is no page of two runs, and what is no place for one, before anything is compared.
pub(crate) fn expect_place_of_page(path: &Path) -> Result<(), Error> {
    if path == Path::new("-") {
        return Err(Error::argument("a page is written to a file, and `-` is none", "name one: `--html diff.html`"));
    }
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    if let Some(dir) = dir.filter(|dir| !dir.is_dir()) {
        return Err(Error::argument(
            format!("`{}` is no directory to write a page to", dir.display()),
            "make it first",
        ));
    }
    if is_place_of_result(path) {
        let problem = format!("`{}` is where the results in that directory keep a file of their own", path.display());
        return Err(Error::argument(problem, "name another file"));
    }
    if is_place_of_page(path) {
        return Ok(());
    }
    let problem = format!("`{}` is there already, and is no page of two runs", path.display());
    Err(Error::argument(problem, "name another file"))
}
