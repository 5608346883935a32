//! `plan`: the smallest capacity that survives given failures.

use std::path::{Path, PathBuf};

use clap::Args;
use indicatif::ProgressBar;

use super::documents;
use super::failure::Failure;
use super::ui::Ui;
use super::{Ending, Output};
use super::{plan_chart, plan_text};
use crate::report::{OutputDir, Overwrite, draw_survival_matrix};
use crate::scenario::{DocumentKind, Overrides};
use crate::study::Progress;
use crate::study::plan::{self, Blast, Plan, PlanResults, Symmetry};

/// Find the fewest nodes that survive the failures a plan names
///
/// Plays every case of the plan, such as the loss of any one zone, with every count of nodes in turn until all are survived.
/// Writes plan.csv, cases.csv, summary.json and a chart. The exit status is 1 if even the most nodes do not survive.
#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    /// The plan
    #[arg(value_name = "STUDY")]
    plan: PathBuf,
    /// Go on without objects that cannot be read, that the API server would refuse, or that are written twice
    #[arg(long)]
    allow_partial: bool,
    /// What chance is drawn from, in place of the seeds of the plan's scenarios
    #[arg(long, value_name = "N", value_parser = super::run::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// The directory of the results [default: reports/<plan name>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = super::sweep::jobs, allow_hyphen_values = true)]
    jobs: Option<std::num::NonZeroUsize>,
    /// Play the loss of every node and set of nodes, even of those that are alike
    #[arg(long)]
    exhaustive: bool,
    /// Also find how many more replicas of a workload, such as deployment/shop/web, the answer still survives
    #[arg(long, value_name = "WORKLOAD")]
    headroom: Vec<String>,
    /// Also play the loss of every node, pair and zone with the answer, and of each value of a node label such as
    /// topology.example.com/rack, and rank them by what they cost: blast-radius.csv
    #[arg(long, value_name = "LABEL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    blast_radius: Option<String>,
    /// Replace the output directory whatever is in it
    #[arg(long)]
    force: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn advance(&self) {
        self.0.inc(1);
    }
}

pub(super) fn plan(arguments: &PlanArgs, ui: &Ui) -> Result<Ending, Failure> {
    let mut overrides = Overrides::allowing_partial(arguments.allow_partial);
    if let Some(seed) = arguments.seed {
        overrides.set("spec.seed", &seed.to_string());
    }
    let plan = plan::load_with(&documents::find(&arguments.plan, DocumentKind::Plan)?, &overrides)?;
    ui.diagnostics(&plan.warnings, &plan.sources);
    let place = arguments.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(&plan.name));
    let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
    // Before anything is played, so that a refusal costs no time.
    OutputDir::spare_inputs(&place, overwrite, plan.inputs().chain([arguments.plan.as_path()]))?;
    check_place(&place, overwrite, &plan.name)?;
    check_questions(&plan, arguments)?;
    let threads = super::sweep::threads(arguments.jobs)?;
    let symmetry = if arguments.exhaustive { Symmetry::Ignored } else { Symmetry::Used };
    let mixes: u64 = plan.pools.iter().map(|pool| u64::from(pool.max - pool.min) + 1).product();
    let bar = Bar(ui.progress(mixes, &plan.name));
    let mut results = threads.install(|| plan::work_out(&plan, symmetry, &bar));
    if let Some(answer) = results.answer().map(|answer| answer.counts.clone()) {
        let grown = |workload: &String| plan::headroom(&plan, symmetry, &answer, workload, &bar);
        let found = threads.install(|| arguments.headroom.iter().map(grown).collect());
        results.headroom = found;
    } else if !arguments.headroom.is_empty() {
        ui.note("no headroom was looked for, as nothing survives");
    }
    let blasts = threads.install(|| blast_radius(&plan, &results, arguments, symmetry, &bar));
    bar.0.finish_and_clear();
    let place = write(&results, &blasts, &place, overwrite)?;
    match arguments.output {
        Output::Json => ui.out(&results.summary_json())?,
        Output::Text if ui.is_quiet => {}
        Output::Text => ui.out(&plan_text::text(&results, &blasts, ui.stdout))?,
    }
    ui.note(format_args!("results in {}", place.display()));
    Ok(if results.answer.is_some() { Ending::Done } else { Ending::NotAsExpected })
}

/// Refuses a place that holds something else than earlier results of the same plan.
fn check_place(place: &Path, overwrite: Overwrite, name: &str) -> Result<(), Failure> {
    OutputDir::check(place, overwrite)?;
    let Ok(text) = std::fs::read_to_string(place.join("summary.json")) else { return Ok(()) };
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    if overwrite == Overwrite::Anything || summary["plan"] == name {
        return Ok(());
    }
    let message = format!("{} holds other results than those of the plan {name}", place.display());
    Err(Failure::input(message, "choose another --out, or --force to replace it"))
}

/// Whether what is asked besides the plan can be answered; before the search, which may be long.
fn check_questions(plan: &Plan, arguments: &PlanArgs) -> Result<(), Failure> {
    for workload in &arguments.headroom {
        let help = "write kind/namespace/name, such as `--headroom deployment/shop/web`";
        plan::replicas_of(plan, workload).map_err(|message| Failure::input(message, help))?;
    }
    match arguments.blast_radius.as_deref() {
        Some(label) if !label.is_empty() && !plan::is_label_of_nodes(plan, label) => {
            let help = "name a label that nodes have, as in `--blast-radius=topology.example.com/rack`";
            Err(Failure::input(format!("no node has the label `{label}`"), help))
        }
        _ => Ok(()),
    }
}

/// The losses of the answer's cluster, or of the largest that was tried, if they are asked for.
fn blast_radius(plan: &Plan, results: &PlanResults, arguments: &PlanArgs, symmetry: Symmetry, bar: &Bar) -> Vec<Blast> {
    let Some(label) = arguments.blast_radius.as_deref() else { return Vec::new() };
    let most = || plan.pools.iter().map(|pool| pool.max).collect();
    let counts = results.answer().map_or_else(most, |answer| answer.counts.clone());
    let label = (!label.is_empty()).then_some(label);
    plan::blast_radius(plan, symmetry, &counts, label, bar)
}

fn write(results: &PlanResults, blasts: &[Blast], place: &Path, overwrite: Overwrite) -> Result<PathBuf, Failure> {
    let out = OutputDir::begin(place, overwrite)?;
    let (plan, cases, summary) = (results.plan_csv(), results.cases_csv(), results.summary_json());
    out.write("plan.csv", &plan)?;
    out.write("cases.csv", &cases)?;
    if !blasts.is_empty() {
        out.write("blast-radius.csv", &plan::blast_csv(blasts))?;
    }
    let chart = plan_chart::of_files(&results.summary(), &plan, &cases).expect("the files of a plan");
    if let Some((name, picture)) = draw_survival_matrix(&chart) {
        out.write(&format!("charts/{name}"), picture.as_bytes())?;
    }
    // Last, as it marks a directory that is whole.
    out.write("summary.json", summary.as_bytes())?;
    Ok(out.finish()?)
}
