//! A scenario, ready to be played.

use std::path::Path;
use std::sync::Arc;

use super::error::Error;
use super::load::{self, LoadOptions, Written, loaders};
use super::plugins::Plugins;
use crate::diagnostics::Diagnostics;
use crate::model::manifest::Folder;
use crate::rest::ControllerPlugin;
use crate::scenario::{self, Overrides, Reader, ResolvedScenario};
use crate::units::SimDuration;

/// A scenario, read and checked, with everything it names. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Scenario {
    resolved: Arc<ResolvedScenario>,
    reader: Arc<Reader>,
    options: LoadOptions,
    until: Option<SimDuration>,
    plugins: Arc<Plugins>,
}

loaders!(Scenario, "scenario.yaml", names "manifests and others", values "it says", wrong with "it");

impl Scenario {
    pub(super) fn read(written: Written<'_>, options: &LoadOptions) -> Result<Self, Error> {
        let reader = match written {
            Written::File(path) => Reader::open(&Folder::on_disk(Path::new("")), path, &Overrides::none())?,
            Written::Text { name, text, folder } => Reader::of_text(name, text.to_owned(), folder),
        };
        let reader = if options.is_of_command_line() { reader.once() } else { reader };
        let resolved = Arc::new(reader.load(&options.overrides())?);
        let plugins = Arc::default();
        Ok(Self { resolved, reader: Arc::new(reader), options: options.clone(), until: None, plugins })
    }

    /// The scenario with one more value that is other than it says, such as `spec.timeline[0].at=2m`. Its files are not read again: those
    /// that it names are as they were.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it then.
    pub fn with_set(&self, assignment: impl Into<String>) -> Result<Self, Error> {
        self.with_sets([assignment])
    }

    /// The same with several.
    pub(super) fn with_sets<S: Into<String>>(&self, assignments: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let options = assignments.into_iter().fold(self.options.clone(), LoadOptions::set);
        let resolved = Arc::new(self.reader.load(&options.overrides())?);
        let again = Self { reader: Arc::clone(&self.reader), options, until: None, ..self.in_place_of(resolved) };
        Ok(match self.until {
            Some(end) => again.until(end),
            None => again,
        })
    }

    /// The same for somebody who sets values as flags do: messages name them so.
    pub(super) fn of_flags(mut self) -> Self {
        self.options = self.options.of_flags();
        self
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

    /// Another scenario, as if it were this one.
    pub(super) fn in_place_of(&self, resolved: Arc<ResolvedScenario>) -> Self {
        let controllers = Arc::clone(&self.resolved.controllers);
        Self { resolved, ..self.clone() }.plugged(Arc::clone(&self.plugins), controllers)
    }

    /// The same with other plug-ins, which have been checked.
    pub(super) fn plugged(&self, plugins: Arc<Plugins>, controllers: Arc<[ControllerPlugin]>) -> Self {
        let mut resolved = Arc::clone(&self.resolved);
        if !plugins.is_empty() || !self.plugins.is_empty() {
            let resolved = Arc::make_mut(&mut resolved);
            resolved.config.scheduler_plugins = plugins.of_scheduler();
            resolved.controllers = controllers;
        }
        Self { resolved, plugins, ..self.clone() }
    }

    /// Its plug-ins.
    pub(super) fn plugins(&self) -> &Plugins {
        &self.plugins
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
