//! `sensitivity`: how far the answer of a study rests on what was assumed.

use std::fmt::Write as _;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::documents;
use super::failure::Failure;
use super::formats::Formats;
use super::reading::Reading;
use super::remarks;
use super::ui::{Ui, tell_at_ctrl_c};
use super::{Ending, Output};
use crate::facade::{SensitivityOptions, Study};
use crate::scenario::DocumentKind;
use crate::study::sensitivity::{InputOutcome, SensitivityResults, TRAJECTORIES_MAX};
use crate::study::{figure, spread};

/// Find how far the answer of a study rests on what was assumed
///
/// Plays the study's baseline and another variant, with the same seeds, along trajectories through the space of what the study lists as
/// `assumed`, and says which of it changes what is saved, and whether the answer turns round. Writes sensitivity.csv, points.csv, summary.json,
/// charts and report.html.
#[derive(Args, Debug)]
pub(super) struct SensitivityArgs {
    /// The study
    study: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// How many trajectories; each has one point more than there are inputs [default: 10]
    #[arg(long, value_name = "N", value_parser = trajectories, allow_hyphen_values = true)]
    trajectories: Option<u32>,
    /// Runs of each of the two variants at each point [default: 20, or those of the study, if they are fewer]
    #[arg(long, value_name = "N", value_parser = replications, allow_hyphen_values = true)]
    replications: Option<NonZeroU32>,
    /// The variant that is played beside the baseline, such as 'wait=60, grace=40s' [default: what the study recommends, whose grid is then
    /// played first]
    #[arg(long, value_name = "VALUES")]
    variant: Option<String>,
    /// The directory of the results [default: reports/<study name>-sensitivity]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = super::sweep::jobs, allow_hyphen_values = true)]
    jobs: Option<NonZeroUsize>,
    /// Go on where an interrupted analysis stopped
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    formats: Formats,
    /// Begin anew whatever an interrupted analysis left, and replace the output directory whatever is in it
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Draw no charts and no page
    #[arg(long)]
    no_charts: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

fn trajectories(text: &str) -> Result<u32, String> {
    let count: Option<u32> = text.parse().ok();
    count
        .filter(|count| SensitivityOptions::is_trajectories(*count))
        .ok_or_else(|| format!("a number of trajectories is a whole number from 2 to {TRAJECTORIES_MAX}"))
}

fn replications(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| "a number of replications is a whole number of at least 1".to_owned())
}

pub(super) fn sensitivity(arguments: &SensitivityArgs, ui: &Ui) -> Result<Ending, Failure> {
    let path = documents::find(&arguments.study, DocumentKind::Study)?;
    let study = Study::load_with(path, &arguments.reading.options())?;
    let bar = ui.bar();
    let mut options = SensitivityOptions::new().resume(arguments.resume).progress(&bar);
    options = options.write(arguments.formats.writing().force(arguments.force).charts(!arguments.no_charts));
    if let Some(jobs) = arguments.jobs {
        options = options.threads(jobs);
    }
    if let Some(count) = arguments.trajectories {
        options = options.trajectories(count);
    }
    if let Some(count) = arguments.replications {
        options = options.replications(count);
    }
    if let Some(variant) = &arguments.variant {
        options = options.variant(variant);
    }
    // What cannot be answered has no warnings.
    study.check_sensitivity(&options)?;
    ui.diagnostics(study.warnings(), &study.inner().sources);
    let place = arguments.out.clone();
    let place = place.unwrap_or_else(|| PathBuf::from("reports").join(format!("{}-sensitivity", study.name())));
    tell_at_ctrl_c();
    let outcome = study.sensitivity_to(&place, &options)?;
    match arguments.output {
        Output::Json => ui.data(&outcome.summary_json())?,
        Output::Text if ui.is_quiet => {}
        Output::Text => ui.out(&text(&outcome.results))?,
    }
    ui.note(format_args!("results in {}", place.display()));
    Ok(Ending::Done)
}

fn text(results: &SensitivityResults) -> String {
    let mut text = format!("{}: {} against the baseline {}\n\n", results.study, results.variant, results.baseline);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "INPUT",
        "FROM",
        "TO",
        "ON THE SAVING: MU",
        "MU*",
        "SIGMA",
        "NOISE",
        "ON THE COST: MU",
        "MU*",
        "SIGMA",
        "NOISE",
        "TURNS IT",
    ]);
    for input in &results.inputs {
        table.add_row(row(input));
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    for note in results.notes() {
        let _ = writeln!(text, "{note}");
    }
    text.push('\n');
    text + &remarks::all(&results.verdict())
}

fn row(input: &InputOutcome) -> Vec<String> {
    let mut row = vec![input.name.clone(), input.from.clone(), input.to.clone()];
    for effect in [&input.saving, &input.cost] {
        let noise = if effect.noise.is_nan() { "?".to_owned() } else { figure(effect.noise) };
        row.extend([spread(effect.mu), figure(effect.mu_star), figure(effect.sigma), noise]);
    }
    row.push(format!("{} of {}", input.turns.turned, input.turns.steps));
    row
}
