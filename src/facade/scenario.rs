//! A scenario, ready to be played.

use std::path::Path;
use std::sync::Arc;

use super::error::Error;
use super::load::{LoadOptions, Origin};
use super::outcome::Outcome;
use super::simulation::Settled;
use crate::diagnostics::Diagnostics;
use crate::scenario::{self, ResolvedScenario};
use crate::units::SimDuration;

/// How messages name a scenario that has no file.
const NAME: &str = "scenario.yaml";

/// A scenario, read and checked, with everything it names. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Scenario {
    resolved: Arc<ResolvedScenario>,
    origin: Arc<Origin>,
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
        Self::read(Arc::new(Origin::file(path.as_ref())), options.clone())
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
        Self::read(Arc::new(Origin::text(text, files)), options.clone())
    }

    fn read(origin: Arc<Origin>, options: LoadOptions) -> Result<Self, Error> {
        let overrides = options.overrides();
        let resolved = match &*origin {
            Origin::File(path) => scenario::load(path, &overrides)?,
            Origin::Text { text, folder } => scenario::parse(NAME, text, folder, &overrides)?,
        };
        Ok(Self { resolved: Arc::new(resolved), origin, options, until: None })
    }

    /// The scenario with one more value that is other than it says, as `--set` takes it: `spec.timeline[0].at=2m`. It is read again,
    /// with its files.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it then.
    pub fn with_set(&self, assignment: impl Into<String>) -> Result<Self, Error> {
        let again = Self::read(Arc::clone(&self.origin), self.options.clone().set(assignment))?;
        Ok(self.until.map_or_else(|| again.clone(), |end| again.clone().until(end)))
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
