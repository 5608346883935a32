//! Documents as Python gives them.

use std::path::PathBuf;

use kubesquall::{Document, Error, LoadOptions, Plan, Scenario, SimDuration, Study, WriteOptions};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Texts by their paths.
pub(crate) type Texts = Vec<(String, String)>;

/// A document: a file, or a text whose files are in the current directory or given as texts.
#[derive(FromPyObject)]
pub(crate) struct Source {
    path: Option<PathBuf>,
    text: Option<String>,
    files: Option<Texts>,
}

/// How documents of a kind are read.
pub(crate) trait Readable: Sized {
    fn load(path: PathBuf, options: &LoadOptions) -> Result<Self, Error>;
    fn parse(text: &str, files: Texts, options: &LoadOptions) -> Result<Self, Error>;
    fn parse_here(text: &str, options: &LoadOptions) -> Result<Self, Error>;
}

macro_rules! readable {
    ($($Document:ident),*) => {
        $(impl Readable for $Document {
            fn load(path: PathBuf, options: &LoadOptions) -> Result<Self, Error> {
                Self::load_with(path, options)
            }

            fn parse(text: &str, files: Texts, options: &LoadOptions) -> Result<Self, Error> {
                Self::parse_with(text, files, options)
            }

            fn parse_here(text: &str, options: &LoadOptions) -> Result<Self, Error> {
                Self::parse_in(text, "", options)
            }
        })*
    };
}

readable!(Scenario, Study, Plan, Document);

impl Source {
    pub(crate) fn read<T: Readable>(self, options: &LoadOptions) -> Result<T, Error> {
        match self {
            Self { path: Some(path), .. } => T::load(path, options),
            Self { text, files: Some(files), .. } => T::parse(&text.unwrap_or_default(), files, options),
            Self { text, files: None, .. } => T::parse_here(&text.unwrap_or_default(), options),
        }
    }
}

/// How documents are read.
#[derive(FromPyObject)]
pub(crate) struct Reading {
    set: Vec<String>,
    seed: Option<u64>,
    allow_partial: bool,
}

impl Reading {
    pub(crate) fn options(self) -> LoadOptions {
        let options = self.set.into_iter().fold(LoadOptions::new(), LoadOptions::set);
        let options = options.allow_partial(self.allow_partial);
        match self.seed {
            Some(seed) => options.seed(seed),
            None => options,
        }
    }
}

/// Where and how results are written.
#[derive(FromPyObject)]
pub(crate) struct Writing {
    pub(crate) out: Option<PathBuf>,
    force: bool,
    charts: bool,
}

impl Writing {
    pub(crate) fn options(&self) -> WriteOptions {
        WriteOptions::new().force(self.force).charts(self.charts)
    }
}

/// A length of time as users write it.
pub(crate) fn duration(text: Option<&str>) -> PyResult<Option<SimDuration>> {
    let parse = |text| SimDuration::parse_with_days(text).map_err(|error| PyValueError::new_err(error.to_string()));
    text.map(parse).transpose()
}
