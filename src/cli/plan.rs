//! `plan`: the smallest capacity that survives given failures.

use std::path::PathBuf;

use clap::Args;

use super::documents;
use super::failure::Failure;
use super::formats::Formats;
use super::plan_text;
use super::reading::Reading;
use super::ui::Ui;
use super::{Ending, Output};
use crate::facade::{Plan, SolveOptions};
use crate::scenario::DocumentKind;
use crate::study::Progress;
use crate::study::plan::PLACEMENTS_MAX;

/// Find the fewest nodes that survive the failures a plan names
///
/// Plays every case of the plan, such as the loss of any one zone, with every count of nodes in turn until all are survived.
/// Writes plan.csv, cases.csv, summary.json, a chart and report.html. The exit status is 1 if even the most nodes do not survive.
#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    /// The plan
    #[arg(value_name = "STUDY")]
    plan: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// What chance is drawn from, in place of the seeds of the plan's scenarios
    #[arg(long, value_name = "N", value_parser = super::run::seed, allow_hyphen_values = true)]
    seed: Option<u64>,
    /// In how many draws of where pods go each count has to survive, in place of what the plan says [default: 30]
    #[arg(long, value_name = "N", value_parser = placements, allow_hyphen_values = true)]
    placements: Option<std::num::NonZeroU32>,
    /// Only this draw, by its number from 0 on, such as one that an earlier answer names
    #[arg(long, value_name = "N", conflicts_with = "placements", value_parser = placement, allow_hyphen_values = true)]
    placement: Option<u32>,
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
    #[command(flatten)]
    formats: Formats,
    /// Replace the output directory whatever is in it
    #[arg(long)]
    force: bool,
    /// Draw no charts and no page
    #[arg(long)]
    no_charts: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn plan(arguments: &PlanArgs, ui: &Ui) -> Result<Ending, Failure> {
    let mut reading = arguments.reading.options();
    if let Some(seed) = arguments.seed {
        reading = reading.seed(seed);
    }
    let plan = Plan::load_with(documents::find(&arguments.plan, DocumentKind::Plan)?, &reading)?;
    ui.diagnostics(plan.warnings(), &plan.inner().sources);
    let place = arguments.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(plan.name()));
    let writing = arguments.formats.writing().force(arguments.force).charts(!arguments.no_charts);
    // Before anything is played, so that a refusal costs no time.
    plan.check_place(&place, &writing)?;
    let outcome = plan.solve(&options(arguments, &ui.bar()))?;
    let results = &outcome.results;
    if results.answer.is_none() && !arguments.headroom.is_empty() {
        ui.note("no headroom was looked for, as nothing survives");
    }
    let place = outcome.write_with(place, &writing)?;
    match arguments.output {
        Output::Json => ui.data(&outcome.summary_json())?,
        Output::Text if ui.is_quiet => {}
        Output::Text => ui.out(&plan_text::text(results, &outcome.blasts, ui.stdout))?,
    }
    ui.note(format_args!("results in {}", place.display()));
    Ok(if results.answer.is_some() { Ending::Done } else { Ending::NotAsExpected })
}

fn placements(text: &str) -> Result<std::num::NonZeroU32, String> {
    let count: Option<std::num::NonZeroU32> = text.parse().ok();
    count
        .filter(|count| count.get() <= PLACEMENTS_MAX)
        .ok_or_else(|| format!("a number of placements is a whole number from 1 to {PLACEMENTS_MAX}"))
}

fn placement(text: &str) -> Result<u32, String> {
    let number: Option<u32> = text.parse().ok();
    number
        .filter(|number| *number < PLACEMENTS_MAX)
        .ok_or_else(|| format!("the number of a placement is a whole number from 0 to {}", PLACEMENTS_MAX - 1))
}

fn options<'a>(arguments: &PlanArgs, progress: &'a dyn Progress) -> SolveOptions<'a> {
    let options = SolveOptions::new().exhaustive(arguments.exhaustive).progress(progress);
    let mut options = arguments.headroom.iter().fold(options, SolveOptions::headroom);
    if let Some(jobs) = arguments.jobs {
        options = options.threads(jobs);
    }
    if let Some(count) = arguments.placements {
        options = options.placements(count);
    }
    if let Some(number) = arguments.placement {
        options = options.placement(number);
    }
    if let Some(label) = &arguments.blast_radius {
        options = options.blast_radius(label);
    }
    options
}
