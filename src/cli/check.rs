//! `check`: reads and checks files without playing anything.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::documents;
use super::failure::Failure;
use super::intake;
use super::reading::Reading;
use super::ui::Ui;
use super::{Ending, Output};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, Sources};
use crate::facade::{Cluster, Error, LoadOptions, Plan, Reason, Scenario, Study};
use crate::model::manifest::Folder;
use crate::model::{ManifestObject, Object, manifest};
use crate::scenario::{self, Assumption, DocumentKind, Invalid, ResolvedScenario};
use crate::study::plan;
use crate::units::{InDays, counted};

/// Check scenarios, studies, plans and manifests without playing them
///
/// Every problem of every file is reported, with its place and a way out. What has no effect is counted; `run` lists it in
/// not-modelled.csv.
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// Scenarios, studies, plans, manifests, dumps; directories and globs of them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Set a value of the scenarios, such as spec.duration=1h
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// What is said about one file.
struct Verdict {
    file: String,
    diagnostics: Diagnostics,
    sources: Sources,
    /// What the file is, if it can be used.
    about: Option<String>,
    /// What a run would take for granted.
    assumed: Vec<Assumption>,
    /// Whether it is no input, and nothing is wrong with it.
    is_passed_over: bool,
}

impl Verdict {
    fn unusable(file: String, invalid: Invalid) -> Self {
        Self { diagnostics: invalid.diagnostics, sources: invalid.sources, ..Self::empty(file) }
    }

    fn empty(file: String) -> Self {
        Self {
            file,
            diagnostics: Diagnostics::new(),
            sources: Sources::new(),
            about: None,
            assumed: Vec::new(),
            is_passed_over: false,
        }
    }

    /// Whoever names all files of a directory names these, too: they are no input, and nothing is wrong with them.
    fn of_snapshot(path: &Path) -> Self {
        let about = Some("key figures that `test` keeps; passed over".to_owned());
        Self { about, is_passed_over: true, ..Self::empty(path.to_string_lossy().into_owned()) }
    }
}

pub(super) fn check(arguments: &CheckArgs, ui: &Ui) -> Result<Ending, Failure> {
    let verdicts = verdicts(arguments);
    let count = |severity: Severity| {
        let all = verdicts.iter().flat_map(|verdict| &verdict.diagnostics);
        all.filter(|diagnostic| diagnostic.severity == severity).count()
    };
    let (error_count, warning_count) = (count(Severity::Error), count(Severity::Warning));
    match arguments.output {
        Output::Json => {
            let files = verdicts.iter().filter(|verdict| !verdict.is_passed_over).map(|verdict| {
                let is_usable = !verdict.diagnostics.has_errors();
                json!({"file": verdict.file, "usable": is_usable, "problems": verdict.diagnostics})
            });
            let files: Vec<_> = files.collect();
            ui.data(&format!("{}\n", json!({"errors": error_count, "warnings": warning_count, "files": files})))?;
        }
        Output::Text => {
            for verdict in &verdicts {
                ui.diagnostics(&verdict.diagnostics, &verdict.sources);
                if let Some(about) = verdict.about.as_ref().filter(|_| !ui.is_quiet) {
                    ui.out(&format!("{}: {about}\n", verdict.file))?;
                    if ui.is_verbose {
                        ui.out(&intake::assumed_in_full(&verdict.assumed))?;
                    }
                }
            }
        }
    }
    if error_count == 0 {
        return Ok(Ending::Done);
    }
    let problems = counted(error_count, "problem has", "problems have");
    let message = format!("{problems} to be solved before this input can be used");
    Err(Failure::Input { message, help: None })
}

/// What is said about each file: documents of ours one by one, all manifests together as one cluster.
fn verdicts(arguments: &CheckArgs) -> Vec<Verdict> {
    let options = arguments.set.iter().fold(arguments.reading.options(), LoadOptions::set);
    let mut verdicts = Vec::new();
    let mut manifests = Vec::new();
    for path in &arguments.files {
        match documents::list(path) {
            Err(invalid) if scenario::is_snapshot(&invalid) => verdicts.push(Verdict::of_snapshot(path)),
            Err(invalid) => verdicts.push(Verdict::unusable(path.to_string_lossy().into_owned(), invalid)),
            Ok(found) if found.is_empty() => manifests.push(path.clone()),
            Ok(found) => {
                let whole = !documents::is_single(path);
                verdicts.extend(
                    found
                        .iter()
                        .filter(|file| file.kind != DocumentKind::Manifest)
                        .map(|file| check_document(file, &options)),
                );
                // Beside documents of ours, manifests belong to some of these, each to its own.
                let is_beside = whole && found.iter().any(|file| file.kind != DocumentKind::Manifest);
                if !is_beside && found.iter().any(|file| file.kind == DocumentKind::Manifest) {
                    manifests.push(path.clone());
                }
            }
        }
    }
    if !manifests.is_empty() {
        verdicts.extend(check_manifests(&manifests, arguments.reading));
    }
    verdicts
}

fn check_document(file: &documents::Found, options: &LoadOptions) -> Verdict {
    let name = file.path.to_string_lossy().into_owned();
    let path = file.path.as_path();
    let verdict = |diagnostics: Diagnostics, sources: Sources, about: String| Verdict {
        diagnostics,
        sources,
        about: Some(about),
        ..Verdict::empty(name.clone())
    };
    let checked = match file.kind {
        DocumentKind::Study => Study::load_with(path, options).map(|study| {
            let study = study.inner();
            let (variants, runs) = match study.points() {
                None => (counted(study.variants.len(), "variant", "variants"), study.run_count()),
                Some((most, points)) => (
                    format!("a search of {} that plays up to {most}", counted(points, "point", "points")),
                    most as u64 * u64::from(study.replications),
                ),
            };
            let runs = counted(usize::try_from(runs).unwrap_or(usize::MAX), "run", "runs");
            let about = format!("study {}: {variants}, {runs}", study.name);
            verdict(study.warnings.clone(), study.sources.clone(), about)
        }),
        DocumentKind::Plan => Plan::load_with(path, options).map(|plan| {
            let plan = plan.inner();
            verdict(plan.warnings.clone(), plan.sources.clone(), describe_plan(plan))
        }),
        DocumentKind::Scenario | DocumentKind::Manifest => Scenario::load_with(path, options).map(|scenario| {
            let scenario = scenario.resolved();
            let verdict = verdict(scenario.warnings.clone(), scenario.sources.clone(), describe(scenario));
            Verdict { assumed: scenario.assumed.clone(), ..verdict }
        }),
    };
    checked.unwrap_or_else(|error| Verdict::unusable(name.clone(), invalid(error)))
}

/// What is wrong with a text.
pub(super) fn invalid(error: Error) -> Invalid {
    match error.into_reason() {
        Reason::Invalid(invalid) => invalid,
        other => panic!("reading a text fails by what is wrong with it alone: {other:?}"),
    }
}

fn describe_plan(plan: &plan::Plan) -> String {
    let pools = plan.pools.iter().map(|pool| format!("{} to {} of {}", pool.min, pool.max, pool.name));
    let cases: Vec<&str> = plan.cases.iter().map(|case| case.label.as_str()).collect();
    format!("plan {}: {} to survive {}", plan.name, pools.collect::<Vec<_>>().join(" and "), cases.join(", "))
}

fn describe(scenario: &ResolvedScenario) -> String {
    let is_node = |object: &&ManifestObject| matches!(object.object, Object::Node(_));
    let node_count = scenario.objects.iter().filter(is_node).count();
    let parts = [
        counted(node_count, "node", "nodes"),
        counted(scenario.objects.len() - node_count, "other object", "other objects"),
        counted(scenario.timeline.len(), "timeline entry", "timeline entries"),
        counted(scenario.chaos.processes.len(), "random process", "random processes"),
    ];
    let ignored = match scenario.not_modelled.len() {
        0 => String::new(),
        count => format!("; {} without effect", counted(count, "field or kind", "fields or kinds")),
    };
    format!("scenario {} of {}: {}{ignored}", scenario.name, InDays(scenario.duration), parts.join(", "))
}

/// Checks all manifests as the one cluster that they are likely to be; nodes may come from elsewhere.
fn check_manifests(paths: &[PathBuf], reading: Reading) -> Vec<Verdict> {
    let options = reading.cluster_options().manifests_alone();
    let (mut diagnostics, sources, cluster) = match Cluster::load_with(paths, &options).map(Cluster::into_resolved) {
        Ok(mut cluster) => (std::mem::take(&mut cluster.warnings), std::mem::take(&mut cluster.sources), Some(cluster)),
        Err(error) => {
            let Invalid { diagnostics, sources } = invalid(error);
            (diagnostics, sources, None)
        }
    };
    let is_empty =
        cluster.as_ref().is_some_and(|cluster| cluster.input.object_count() == 0 && cluster.input.skipped.is_empty());
    // An empty list is what kubectl saves of a kind of which there is nothing.
    let has_lists = || manifest::load(paths, &Folder::on_disk(Path::new(""))).list_count > 0;
    if is_empty && has_lists() {
        for path in paths {
            let message = format!("there is no Kubernetes object in `{}`, but an empty list", path.display());
            diagnostics.push(
                Diagnostic::warning("manifest::nothing", message)
                    .help("kubectl saves one of what there is nothing of; check the namespace and the selector that it was asked for"),
            );
        }
    } else if is_empty {
        diagnostics = diagnostics.into_iter().filter(|diagnostic| !diagnostic.labels.is_empty()).collect();
        for path in paths {
            let message = format!("there is no Kubernetes object in `{}`", path.display());
            diagnostics.push(
                Diagnostic::error("manifest::nothing", message)
                    .help("objects have `apiVersion`, `kind` and `metadata.name`; a scenario has `kind: Scenario`"),
            );
        }
    }
    let mut verdicts: Vec<Verdict> = paths
        .iter()
        .map(|path| Verdict { sources: sources.clone(), ..Verdict::empty(path.to_string_lossy().into_owned()) })
        .collect();
    let is_usable = !diagnostics.has_errors();
    for diagnostic in diagnostics.sorted() {
        let place = verdicts.iter().position(|verdict| is_about(&diagnostic, &verdict.file)).unwrap_or(0);
        verdicts[place].diagnostics.push(diagnostic);
    }
    if let (true, Some(cluster), Some(last)) = (is_usable, cluster, verdicts.last_mut()) {
        last.about = Some(describe_cluster(&cluster));
        last.assumed = cluster.assumed;
    }
    verdicts
}

/// Whether a problem is one of this file or directory.
fn is_about(diagnostic: &Diagnostic, path: &str) -> bool {
    let Some(location) = diagnostic.location() else { return diagnostic.message.contains(&format!("`{path}`")) };
    Path::new(&*location.file).starts_with(path)
}

fn describe_cluster(cluster: &ResolvedScenario) -> String {
    let input = &cluster.input;
    let objects = counted(input.object_count(), "object", "objects");
    let files = if input.files > 1 { format!(" of {} files", input.files) } else { String::new() };
    let ignored = counted(cluster.not_modelled.len(), "field or kind", "fields or kinds");
    format!("manifests: {objects}{files}; {ignored} without effect{}", intake::unread_in_words(input))
}
