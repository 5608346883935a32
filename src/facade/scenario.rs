//! A scenario, ready to be played.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::error::Error;
use super::load::{self, LoadOptions};
use super::outcome::Outcome;
use super::simulation::Settled;
use crate::diagnostics::Diagnostics;
use crate::model::manifest::Folder;
use crate::scenario::{self, Overrides, Reader, ResolvedScenario};
use crate::units::SimDuration;

/// How messages name a scenario that has no file.
const NAME: &str = "scenario.yaml";

/// A scenario, read and checked, with everything it names. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Scenario {
    resolved: Arc<ResolvedScenario>,
    reader: Arc<Reader>,
    options: LoadOptions,
    until: Option<SimDuration>,
}

impl Scenario {
    /// Reads a file and what it names. Paths in it are relative to it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, see [`Error::diagnostics`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Self::load_with(path, &LoadOptions::new())
    }

    /// Reads a file with other values than it says.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn load_with(path: impl AsRef<Path>, options: &LoadOptions) -> Result<Self, Error> {
        let reader = Reader::open(&Folder::on_disk(Path::new("")), path.as_ref(), &Overrides::none())?;
        Self::read(reader, options)
    }

    /// Reads a text. The files that it names, manifests and others, are texts by their paths as well: `[("apps/web.yaml", "…")]`.
    /// Nothing is read from disk.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, see [`Error::diagnostics`].
    pub fn parse<P, T>(text: &str, files: impl IntoIterator<Item = (P, T)>) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        Self::parse_with(text, files, &LoadOptions::new())
    }

    /// Reads a text with other values than it says.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn parse_with<P, T>(
        text: &str,
        files: impl IntoIterator<Item = (P, T)>,
        options: &LoadOptions,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        Self::read(Reader::of_text(NAME, text.to_owned(), Folder::in_memory(files)), options)
    }

    /// Takes a document that a program has made; otherwise as [`parse_with`](Scenario::parse_with).
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn from_value<P, T>(
        document: &Value,
        files: impl IntoIterator<Item = (P, T)>,
        options: &LoadOptions,
    ) -> Result<Self, Error>
    where
        P: AsRef<Path>,
        T: Into<String>,
    {
        Self::parse_with(&load::text_of(document), files, options)
    }

    fn read(reader: Reader, options: &LoadOptions) -> Result<Self, Error> {
        let reader = if options.is_of_command_line() { reader.once() } else { reader };
        let resolved = Arc::new(reader.load(&options.overrides())?);
        Ok(Self { resolved, reader: Arc::new(reader), options: options.clone(), until: None })
    }

    /// The scenario with one more value that is other than it says, such as `spec.timeline[0].at=2m`. Its files are not read again: those
    /// that it names are as they were.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it then.
    pub fn with_set(&self, assignment: impl Into<String>) -> Result<Self, Error> {
        let options = self.options.clone().set(assignment);
        let resolved = Arc::new(self.reader.load(&options.overrides())?);
        let again = Self { resolved, reader: Arc::clone(&self.reader), options, until: None };
        Ok(match self.until {
            Some(end) => again.until(end),
            None => again,
        })
    }

    /// The scenario with an earlier end. One that is later, or zero, changes nothing.
    #[must_use]
    pub fn until(mut self, end: SimDuration) -> Self {
        if end < self.resolved.duration && !end.is_zero() {
            Arc::make_mut(&mut self.resolved).duration = end;
            self.until = Some(end);
        }
        self
    }

    /// `metadata.name`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.resolved.name
    }

    /// `spec.seed`, which the command line plays.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.resolved.seed
    }

    /// How long it lasts.
    #[must_use]
    pub fn duration(&self) -> SimDuration {
        self.resolved.duration
    }

    /// What may not mean what its author thinks.
    #[must_use]
    pub fn warnings(&self) -> &Diagnostics {
        &self.resolved.warnings
    }

    /// The scenario with every default spelled out and everything that it names in it: one document that plays the same anywhere.
    #[must_use]
    pub fn lock_file(&self) -> String {
        scenario::lock_file(&self.resolved)
    }

    /// Brings its cluster to the state at t=0, from which any number of seeds can be played.
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn settle(&self) -> Settled {
        Settled::new(self)
    }

    /// Plays it with this seed; who plays several begins with [`settle`](Scenario::settle).
    ///
    /// # Panics
    ///
    /// If an invariant of kubesquall breaks, which is a bug.
    #[must_use]
    pub fn play(&self, seed: u64) -> Outcome {
        self.settle().play(seed)
    }

    /// Another scenario, as if it were this one.
    pub(super) fn in_place_of(&self, resolved: Arc<ResolvedScenario>) -> Self {
        Self { resolved, ..self.clone() }
    }

    /// What is played.
    pub(crate) fn resolved(&self) -> &Arc<ResolvedScenario> {
        &self.resolved
    }

    /// What it has otherwise than its document says, as assignments.
    pub(crate) fn changes(&self) -> Vec<String> {
        let until = self.until.map(|until| format!("spec.duration={until}"));
        self.options.assignments().iter().cloned().chain(until).collect()
    }
}
