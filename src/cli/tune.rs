//! `tune`: a sweep with a recommendation for each workload.

use std::fmt::Write as _;

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::failure::Failure;
use super::sweep::{SweepArgs, front, spread, table, unseen_told};
use super::ui::Ui;
use super::undone;
use super::words::counted;
use super::{Ending, Output};
use crate::study::{Confirmation, INDIFFERENCE, KeptForUnseen, Results, Together, Tuning, Verdict, WorkloadChoice};

/// Find the values of a study that cost least
///
/// As `sweep`; the study has to have prices. Recommends a `tolerationSeconds` for each workload, plays the recommendation against
/// the baseline on new seeds, and writes patch.yaml and patch.sh, which apply it.
#[derive(Args, Debug)]
pub(super) struct TuneArgs {
    #[command(flatten)]
    sweep: SweepArgs,
}

pub(super) fn tune(TuneArgs { sweep: arguments }: &TuneArgs, ui: &Ui) -> Result<Ending, Failure> {
    let study = arguments.load()?;
    let bar = ui.bar();
    let options = arguments.options(&bar);
    // What cannot be answered has no warnings.
    study.check_tunable(&options)?;
    ui.diagnostics(study.warnings(), &study.inner().sources);
    let outcome = study.tune_to(arguments.place(&study), &options)?;
    if let Some(note) = &outcome.note {
        ui.note(note);
    }
    match (arguments.output, &outcome.tuning) {
        (Output::Json, _) => ui.out(&outcome.summary_json())?,
        (Output::Text, Some(tuning)) if !ui.is_quiet => {
            let (results, confirmation) = (&outcome.results, outcome.confirmation.as_ref());
            ui.out(&format!("{}\n{}", table(results), told(results, tuning, confirmation)))?;
        }
        (Output::Text, _) => {}
    }
    Ok(Ending::Done)
}

fn told(results: &Results, tuning: &Tuning, confirmation: Option<&Confirmation>) -> String {
    let mut text = String::new();
    if !tuning.workloads.is_empty() {
        let _ = writeln!(text, "{}", workloads(tuning));
    }
    if tuning.workloads.is_empty() && !results.tuned.is_empty() {
        let reason = match tuning.whole_for.join(", ") {
            _ if tuning.beats_each => {
                "a variant is told to be cheaper than a value of its own for each workload".to_owned()
            }
            metrics if metrics.is_empty() => "none of the workloads shows alone what all of them show".to_owned(),
            metrics => format!("{metrics} has a price and is no workload's own"),
        };
        let _ = writeln!(text, "tolerationSeconds are chosen for the cluster as a whole: {reason}");
    }
    if !tuning.others.is_empty() {
        let values: Vec<String> = tuning.others.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        let verdict = if tuning.changes_others { "" } else { ", as it is" };
        let _ = writeln!(text, "Recommended: {}{verdict}", values.join(", "));
        if !tuning.alike_others.is_empty() {
            let _ = writeln!(text, "  cannot be told from: {}", tuning.alike_others.join("; "));
        }
    }
    for Together { value, today, workloads, against_today } in &tuning.together {
        let _ = writeln!(
            text,
            "{value} instead of {today} for {} of which none shows alone that it pays: together they do, {} a run",
            counted(workloads.len(), "workload", "workloads"),
            spread(*against_today)
        );
    }
    let kept = tuning.workloads.iter().filter(|choice| !choice.changes() && choice.best != choice.today);
    for WorkloadChoice { workload, best, today, is_slight, rests_on_unseen, .. } in kept {
        let _ = if *is_slight {
            let least = INDIFFERENCE * 100.0;
            writeln!(text, "{workload}: {best} costs less than {today}, but by less than {least} %; it stays as it is")
        } else {
            let why = rests_on_unseen.as_ref().map_or_else(|| "more replications may tell".to_owned(), unseen_told);
            writeln!(text, "{workload}: the data cannot tell {best} from {today}; it stays as it is: {why}")
        };
    }
    if let Some(KeptForUnseen { values, unseen }) = &tuning.kept_for_unseen {
        let _ = writeln!(text, "NOT TOLD whether {values} would pay: {}", unseen_told(unseen));
    }
    // What a workload's value costs others is not counted when it is chosen; everything else is chosen by the whole cost.
    let changes_workloads = tuning.workloads.iter().any(WorkloadChoice::changes);
    match confirmation {
        None => text.push_str("Nothing is to be changed: nothing is told to be cheaper than what is there.\n"),
        Some(found) => {
            let verdict = verdict(found, changes_workloads);
            let _ = writeln!(
                text,
                "All together on {} new seeds{}: {} instead of {}, {} a run; {verdict}",
                found.n,
                if results.looks == 0 { "" } else { " (95 %, as nobody has looked at these)" },
                spread(found.recommended),
                spread(found.today),
                spread(found.difference)
            );
            if let (Some(runs), Verdict::Pays | Verdict::Slight | Verdict::CostsMore) =
                (found.runs_needed, found.verdict)
            {
                let _ = writeln!(text, "  a few runs carry that difference: about {runs} would tell it for sure");
            }
            if !found.left_undone.is_empty() {
                let _ = writeln!(text, "  left undone on these: {}", undone::told(&found.left_undone));
            }
        }
    }
    let kept = if tuning.changes_others { tuning.combination() } else { results.baseline };
    if let Some(elsewhere) = results.done_elsewhere(kept) {
        let _ = writeln!(text, "{}: {}", results.label(kept), undone::elsewhere(results, &elsewhere));
    }
    let _ = writeln!(text, "{}", front(results));
    text
}

/// What the new seeds say.
fn verdict(found: &Confirmation, changes_workloads: bool) -> String {
    let text = match found.verdict {
        Verdict::LeavesUndone => "it leaves MORE undone, as said below; do not apply the patch",
        Verdict::TooFewRuns => "one replication tells nothing",
        Verdict::RestsOnUnseen => {
            let why = found.rests_on_unseen.as_ref().map(unseen_told).unwrap_or_default();
            return format!("NOT TOLD whether it pays: {why}");
        }
        Verdict::Alike => "the data cannot tell the two apart: apply the patch only for other reasons",
        Verdict::CostsMore if changes_workloads => {
            "it costs MORE: workloads hinder each other, or the study's seeds were lucky; do not apply the patch"
        }
        Verdict::CostsMore => "it costs MORE: the study's seeds were lucky; do not apply the patch",
        Verdict::Slight => "it pays, but by so little that nobody would notice",
        Verdict::Pays => "it pays",
    };
    text.to_owned()
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
