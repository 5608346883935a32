//! `tune`: a sweep with a recommendation for each workload.

use std::fmt::Write as _;

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::failure::Failure;
use super::remarks;
use super::sweep::{SweepArgs, table};
use super::ui::{Ui, tell_at_ctrl_c};
use super::{Ending, Output};
use crate::study::{Confirmation, Results, Teller, Tuning, spread};

/// Find the values of a study that cost least
///
/// As `sweep`; the study has to have prices. Recommends a `tolerationSeconds` for each workload, plays the recommendation against
/// the baseline on new seeds, and writes patch.yaml and patch.sh, which apply it.
#[derive(Args, Debug)]
pub(super) struct TuneArgs {
    #[command(flatten)]
    sweep: SweepArgs,
    /// After a first round of 20 runs each play on with those values alone that may yet be cheapest, for a workload or as a whole, and
    /// end as soon as more runs would not change what is recommended; the study's `replications` are then the most
    #[arg(long, conflicts_with_all = ["shard", "precision"])]
    contenders: bool,
}

pub(super) fn tune(TuneArgs { sweep: arguments, contenders }: &TuneArgs, ui: &Ui) -> Result<Ending, Failure> {
    let study = arguments.load()?;
    let bar = ui.bar();
    let options = arguments.options(&bar).contenders(*contenders);
    // What cannot be answered has no warnings.
    study.check_tunable(&options)?;
    ui.diagnostics(study.warnings(), &study.inner().sources);
    let place = arguments.place(&study);
    tell_at_ctrl_c();
    let outcome = study.tune_to(&place, &options)?;
    if let Some(note) = &outcome.note {
        ui.note(note);
    }
    match (arguments.output, &outcome.tuning) {
        (Output::Json, _) => ui.data(&outcome.summary_json())?,
        (Output::Text, Some(tuning)) if !ui.is_quiet => {
            let (results, confirmation) = (&outcome.results, outcome.confirmation.as_ref());
            let prices = Teller::below_table(results).break_even(outcome.break_even(), true);
            let told = told(results, tuning, confirmation) + &remarks::all(&prices);
            ui.out(&format!("{}\n{told}", table(results)))?;
        }
        (Output::Text, _) => {}
    }
    ui.note(format_args!("results in {}", place.display()));
    Ok(Ending::Done)
}

fn told(results: &Results, tuning: &Tuning, confirmation: Option<&Confirmation>) -> String {
    let mut text = String::new();
    if !tuning.workloads.is_empty() {
        let _ = writeln!(text, "{}", workloads(tuning));
    }
    text + &remarks::all(&Teller::below_table(results).tuning(tuning, confirmation))
}

/// The recommended value of each workload.
fn workloads(tuning: &Tuning) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header([
        "WORKLOAD",
        "TODAY",
        "RECOMMENDED",
        "CHEAPEST SEEN",
        "ITS COST",
        "AGAINST TODAY",
        "RUNNER-UP",
        "CANNOT BE TOLD FROM",
    ]);
    for choice in &tuning.workloads {
        let alike = if choice.alike.is_empty() { "-".to_owned() } else { choice.alike.join(" ") };
        table.add_row([
            choice.workload.clone(),
            choice.today.clone(),
            if choice.changes() { choice.recommended.clone() } else { format!("{} (stays)", choice.today) },
            choice.best.clone(),
            spread(choice.cost),
            spread(choice.against_today),
            choice.runner_up.clone().unwrap_or_else(|| "-".to_owned()),
            alike,
        ]);
    }
    for column in table.column_iter_mut().skip(1).take(5) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}
