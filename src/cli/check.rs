//! `check`: reads and checks files without playing anything.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use super::failure::Failure;
use super::intake;
use super::ui::Ui;
use super::words::counted;
use super::{Ending, Output};
use crate::diagnostics::{Diagnostic, Diagnostics, Severity, Sources};
use crate::model::{ManifestObject, Object, manifest};
use crate::scenario::{self, Assumption, DocumentKind, Invalid, Overrides, ResolvedScenario};
use crate::study::plan::{self, Plan};

/// Check scenarios, studies, plans and manifests without playing them
///
/// Every problem of every file is reported, with its place and a way out. What has no effect is counted; `run` lists it in
/// not-modelled.csv.
#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// Scenarios, studies, plans, manifests, or directories of manifests
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
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
}

impl Verdict {
    fn unusable(file: String, invalid: Invalid) -> Self {
        Self { file, diagnostics: invalid.diagnostics, sources: invalid.sources, about: None, assumed: Vec::new() }
    }
}

pub(super) fn check(arguments: &CheckArgs, ui: &Ui) -> Result<Ending, Failure> {
    let overrides: Overrides = arguments.set.iter().cloned().collect();
    let verdicts: Vec<Verdict> = arguments.files.iter().map(|path| check_file(path, &overrides)).collect();
    let count = |severity: Severity| {
        let all = verdicts.iter().flat_map(|verdict| &verdict.diagnostics);
        all.filter(|diagnostic| diagnostic.severity == severity).count()
    };
    let (error_count, warning_count) = (count(Severity::Error), count(Severity::Warning));
    match arguments.output {
        Output::Json => {
            let files = verdicts.iter().map(|verdict| {
                let is_usable = !verdict.diagnostics.has_errors();
                json!({"file": verdict.file, "usable": is_usable, "problems": verdict.diagnostics})
            });
            let files: Vec<_> = files.collect();
            ui.out(&format!("{}\n", json!({"errors": error_count, "warnings": warning_count, "files": files})))?;
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

fn check_file(path: &Path, overrides: &Overrides) -> Verdict {
    let file = path.to_string_lossy().into_owned();
    if path.is_dir() {
        return check_manifests(path, file);
    }
    let recognized = scenario::read_text(path).and_then(|text| {
        let kind = scenario::recognize(&file, &text)?;
        Ok((text, kind))
    });
    match recognized {
        Err(invalid) => Verdict::unusable(file, invalid),
        Ok((_, DocumentKind::Manifest)) => check_manifests(path, file),
        Ok((_, DocumentKind::Study)) => Verdict {
            about: Some("a study; its YAML is sound".to_owned()),
            file,
            diagnostics: Diagnostics::new(),
            sources: Sources::new(),
            assumed: Vec::new(),
        },
        Ok((_, DocumentKind::Plan)) => match plan::load(path) {
            Err(invalid) => Verdict::unusable(file, invalid),
            Ok(plan) => {
                let about = describe_plan(&plan);
                Verdict {
                    file,
                    diagnostics: plan.warnings,
                    sources: plan.sources,
                    about: Some(about),
                    assumed: Vec::new(),
                }
            }
        },
        Ok((text, DocumentKind::Scenario)) => {
            let base_dir = path.parent().unwrap_or(Path::new(""));
            match scenario::load_text(&file, &text, base_dir, overrides) {
                Err(invalid) => Verdict::unusable(file, invalid),
                Ok(scenario) => {
                    let about = describe(&scenario);
                    let ResolvedScenario { warnings: diagnostics, sources, assumed, .. } = scenario;
                    Verdict { file, diagnostics, sources, about: Some(about), assumed }
                }
            }
        }
    }
}

fn describe_plan(plan: &Plan) -> String {
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
    format!("scenario {} of {}: {}{ignored}", scenario.name, scenario.duration, parts.join(", "))
}

fn check_manifests(path: &Path, file: String) -> Verdict {
    let loaded = manifest::load(&[path.to_owned()], Path::new(""));
    let mut diagnostics = loaded.diagnostics;
    if loaded.objects.is_empty() && loaded.not_modelled.is_empty() && !diagnostics.has_errors() {
        // That a directory has no manifest says the same once more.
        diagnostics = diagnostics.into_iter().filter(|diagnostic| !diagnostic.labels.is_empty()).collect();
        let message = format!("there is no Kubernetes object in `{file}`");
        diagnostics.push(
            Diagnostic::error("manifest::nothing", message)
                .help("objects have `apiVersion`, `kind` and `metadata.name`; a scenario has `kind: Scenario`"),
        );
    }
    let about = (!diagnostics.has_errors()).then(|| {
        let objects = counted(loaded.objects.len(), "object", "objects");
        let ignored = counted(loaded.not_modelled.len(), "field or kind", "fields or kinds");
        format!("manifests: {objects}; {ignored} without effect")
    });
    Verdict { file, diagnostics: diagnostics.sorted(), sources: loaded.sources, about, assumed: Vec::new() }
}
