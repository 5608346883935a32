//! `kubectl`: operators type lines.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::action::{Action, Plans, Timeline};
use crate::arena::Symbol;
use crate::component::Config;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Severity};
use crate::kubectl::{self, Command, CommandLine, Runbook, RunbookLine, Written};
use crate::model::ManifestObject;
use crate::scenario::at::At;
use crate::scenario::inventory::Inventory;
use crate::scenario::pod_counts;
use crate::scenario::resolver::with_place;
use crate::scenario::typed::Typed;
use crate::units::SimTime;

/// Lines that operators type into one shell.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub(crate) struct KubectlEntry(Arc<str>);

impl Action for KubectlEntry {
    fn resolve(&self, at: SimTime, place: At<'_>, timeline: &mut Timeline<'_, '_, '_>) -> Range<usize> {
        let first = timeline.runbook.lines.len();
        for typed in place.node().into_iter().flat_map(Typed::all) {
            let Some(mut line) = timeline.runbook_line(&typed) else { continue };
            let next = kubectl::ShellId(u32::try_from(timeline.shells.len()).unwrap_or(u32::MAX));
            line.shell = Some(*timeline.shells.entry(at).or_insert(next));
            timeline.runbook.lines.push(Arc::new(line));
        }
        first..timeline.runbook.lines.len()
    }

    fn written(plans: Plans<'_>, index: usize) -> Self {
        let line = &plans.runbook.lines[index];
        Self(kubectl::in_place(&line.text, line.place).into())
    }

    /// Lines are checked one after the other, as each builds on those before.
    fn check(&self, _at: At<'_>, _config: &Config, _inventory: &Inventory, _diagnostics: &mut Diagnostics) {}
}

impl Timeline<'_, '_, '_> {
    /// Reads a kubectl line and the files it names; none if it cannot be read.
    fn runbook_line(&mut self, typed: &Typed<'_>) -> Option<RunbookLine> {
        let (trimmed, place) = kubectl::in_background(typed.text);
        let CommandLine { mut command, printing, files: paths, input, rest } = match kubectl::parse(trimmed) {
            Ok(line) => line,
            Err(error) => {
                let diagnostic = Diagnostic::error("scenario::bad_kubectl_line", error.message);
                let mut diagnostic = diagnostic.at(typed.place_of(&error.word), "");
                diagnostic.help.extend(error.help);
                self.resolver.diagnostics.push(diagnostic);
                return None;
            }
        };
        if let Command::Refused(lines) = &command {
            let why = lines.first().map(|line| line.trim_start_matches("error: ")).unwrap_or_default();
            let diagnostic =
                Diagnostic::warning("scenario::refused_kubectl_line", format!("kubectl refuses this line: {why}"));
            self.resolver.diagnostics.push(diagnostic.at(typed.place(), ""));
        }
        if let Command::Patch(args) = &command
            && let Some(why) = &args.broken
        {
            let why = format!("the API server refuses this patch, which is no JSON: {why}");
            let diagnostic = Diagnostic::warning("scenario::refused_kubectl_line", why);
            self.resolver.diagnostics.push(diagnostic.at(typed.place(), ""));
        }
        let mut objects = Vec::new();
        let only_names = command.only_names_objects();
        for path in &paths {
            let place = typed.place_of(path);
            let saved = address_name(path).map(|name| (name, self.files.is_there(name)));
            if let Some((name, is_there)) = saved {
                self.resolver.diagnostics.push(of_address(path, name, is_there).at(place.clone(), ""));
                if !is_there {
                    continue;
                }
            }
            let path = saved.map_or(path.as_str(), |(name, _)| name);
            if path == "-" {
                let written = input.as_ref().map(|input| self.standard_input(input, typed, only_names));
                objects.extend(written.into_iter().flatten());
                continue;
            }
            let mut loaded = self.files.manifests(path);
            loaded.diagnostics = with_place(of_use(loaded.diagnostics, only_names), &place);
            let file: Arc<str> = path.into();
            let written = self.resolver.take(loaded, self.not_modelled).into_iter();
            objects.extend(written.map(|object| Written::new(&file, object)));
        }
        if let Command::Patch(arguments) = &mut command
            && let Some(path) = &arguments.patch_file
        {
            let place = typed.place_of(path);
            arguments.patch = match &input {
                Some(input) if path == kubectl::INPUT_FILE => {
                    let text = self.input_text(input, typed)?;
                    self.patch(Ok(input.filtered(&text)), place)?
                }
                _ => self.patch_file(path, place)?,
            };
        }
        kubectl::hand_over(&mut command, &mut objects);
        let limits = self.resolver.limits;
        pod_counts::check_line(&command, &objects, &typed.place(), limits, &mut self.resolver.diagnostics);
        let shown = trimmed.strip_prefix("kubectl ").map_or(trimmed, str::trim_start);
        Some(RunbookLine { text: shown.into(), command, printing, objects, shell: None, place, rest })
    }

    /// The objects that a line reads as standard input.
    fn standard_input(&mut self, input: &kubectl::Input, typed: &Typed<'_>, only_names: bool) -> Vec<Written> {
        let Some(text) = self.input_text(input, typed) else { return Vec::new() };
        let read = input.filtered(&text);
        let mut loaded = crate::model::manifest::load_text(kubectl::STANDARD_INPUT, &read);
        let placed = of_use(loaded.diagnostics, only_names).into_iter().map(|mut problem| {
            // What stands in the line as it is read has a place of its own there.
            let places: Option<Vec<_>> =
                problem.labels.iter().map(|label| typed.place_within(&read, &label.location)).collect();
            match places {
                Some(places) => {
                    problem.labels.iter_mut().zip(places).for_each(|(label, place)| label.location = place);
                    problem
                }
                None => problem.at(typed.place(), "this line reads it"),
            }
        });
        loaded.diagnostics = placed.collect();
        let file: Arc<str> = kubectl::STANDARD_INPUT.into();
        let objects = self.resolver.take(loaded, self.not_modelled).into_iter();
        objects.map(|object| Written::new(&file, object)).collect()
    }

    /// What a line reads as standard input, before its filters; none if it cannot be read.
    fn input_text(&mut self, input: &kubectl::Input, typed: &Typed<'_>) -> Option<String> {
        let path = match &input.source {
            kubectl::Source::Text(text) => return Some(text.clone()),
            kubectl::Source::File(path) => path,
        };
        let saved = address_name(path).map(|name| (name, self.files.is_there(name)));
        if let Some((name, is_there)) = saved {
            self.resolver.diagnostics.push(of_address(path, name, is_there).at(typed.place_of(path), ""));
            if !is_there {
                return None;
            }
        }
        let text = self.files.text(saved.map_or(path.as_str(), |(name, _)| name));
        text.map_err(|problem| self.resolver.diagnostics.push(problem.at(typed.place_of(path), "named here"))).ok()
    }

    /// The patch that a file holds; none if it holds none.
    fn patch_file(&mut self, path: &str, place: Location) -> Option<serde_json::Value> {
        let text = self.files.text(path);
        self.patch(text, place)
    }

    /// The patch that a text is; none if it is none, or could not be read.
    fn patch(&mut self, text: Result<String, Diagnostic>, place: Location) -> Option<serde_json::Value> {
        let problem = match text {
            Ok(text) => match kubectl::patch_value(&text) {
                Ok(value) => return Some(value),
                Err(error) => Diagnostic::error("scenario::bad_kubectl_line", error.message),
            },
            Err(diagnostic) => diagnostic,
        };
        let placed = if problem.labels.is_empty() { problem.at(place, "named here") } else { problem };
        self.resolver.diagnostics.push(placed);
        None
    }
}

/// What is wrong with the objects of a file for a command: the API server sees nothing of those that it only names, and what it refuses is
/// the end of the command, as for who types it.
fn of_use(diagnostics: Diagnostics, only_names: bool) -> Diagnostics {
    let of_command = diagnostics.into_iter().filter_map(|problem| match problem.code {
        "manifest::refused" if only_names => None,
        "manifest::refused" => {
            Some(Diagnostic { severity: Severity::Warning, ..problem }.help("the line will be refused, too"))
        }
        _ => Some(problem),
    });
    of_command.collect()
}

/// The name that a file is saved under which lies at an address; none if the path is no address.
fn address_name(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("https://").or_else(|| path.strip_prefix("http://"))?;
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    Some(rest.rsplit('/').next().unwrap_or_default())
}

/// What lies at an address is not known here; a file beside the scenario may hold it.
fn of_address(address: &str, name: &str, is_there: bool) -> Diagnostic {
    if is_there {
        let message =
            format!("there is no network in a simulation: `{name}` beside the scenario is read for `{address}`");
        return Diagnostic::warning("scenario::saved_address", message);
    }
    let message = format!("`{address}` cannot be read: there is no network in a simulation");
    let help = match name {
        "" => "save what it holds as a file beside the scenario, and name that".to_owned(),
        name => format!("save what it holds as `{name}` beside the scenario; the line may stay as it is"),
    };
    Diagnostic::error("scenario::bad_kubectl_line", message).help(help)
}

/// Objects of manifests that the timeline applies once more were applied before, too. Those of dumps tell themselves.
pub(in crate::scenario) fn remember_applied(objects: &mut [ManifestObject], runbook: &Runbook) {
    let applies = |line: &&Arc<RunbookLine>| matches!(line.command, Command::Apply(_));
    let written = runbook.lines.iter().filter(applies).flat_map(|line| &line.objects);
    let applied: BTreeSet<_> = written.map(|written| written.object.key()).collect();
    for ManifestObject { object, .. } in objects {
        let metadata = object.metadata();
        let is_dumped = metadata.uid.is_some() || metadata.creation_timestamp.is_some();
        let is_remembered = metadata.annotations.contains_key(&Symbol::new(kubectl::LAST_APPLIED));
        if !is_dumped && !is_remembered && applied.contains(&object.key()) {
            *object = kubectl::remembered(object);
        }
    }
}
