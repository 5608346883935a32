//! `tune`: a sweep with a recommendation for each workload.

use std::fmt::Write as _;

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::failure::Failure;
use super::sweep::{Sweep, SweepArgs, chart_of, drawn, front, load, spread, table, unseen_told};
use super::ui::Ui;
use super::undone;
use super::words::counted;
use super::{Ending, Output};
use crate::report::{StudyChart, WorkloadCurve};
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
    let study = load(arguments)?;
    if study.prices.is_empty() {
        let help = "add prices, such as `cost: {unreadyReplicaSeconds: 1, evictions: 30, needlessEvictions: 60}`";
        return Err(Failure::input("nothing in the study has a price, so nothing can be cheapest", help));
    }
    if study.varies_length() {
        let help =
            "vary something else: what runs cost, they cost in their time; `sweep` plays runs of different lengths";
        return Err(Failure::input(
            "the study varies how long a run lasts, so what its variants cost does not compare",
            help,
        ));
    }
    if arguments.shard.is_some() {
        let help = "play the parts with `sweep --shard`, `merge` them, and `tune --resume` with the merged directory as `--out`";
        return Err(Failure::input("a part of a study cannot recommend anything", help));
    }
    let sweep = Sweep::begin(&study, arguments, true, ui)?;
    let results = sweep.play(arguments)?;
    let tuning = results.tuning().ok_or_else(|| Failure::input("nothing was played", "raise `replications`"))?;
    let recommended = study.recommended(&tuning);
    let confirmation = recommended.as_ref().map(|variant| sweep.confirm(&results, variant)).transpose()?;
    let patches = study.patches(recommended.as_ref());
    let summary = results.summary_json(Some(&tuning), confirmation.as_ref());
    let mut chart = chart_of(&results);
    complete(&mut chart, &tuning);
    let extra = [("patch.sh", patches.shell), ("patch.yaml", patches.yaml), ("tuning.csv", tuning.csv())];
    sweep.finish(&summary, &chart, &results, &extra)?;
    match arguments.output {
        Output::Json => ui.out(&summary)?,
        Output::Text if ui.is_quiet => {}
        Output::Text => ui.out(&format!("{}\n{}", table(&results), told(&results, &tuning, confirmation.as_ref())))?,
    }
    Ok(Ending::Done)
}

/// Adds what `tune` recommends to the chart of a sweep.
pub(super) fn complete(chart: &mut StudyChart, tuning: &Tuning) {
    chart.workloads = tuning.workloads.iter().map(curve).collect();
    chart.best = tuning.recommended_variant();
    chart.is_mixture = chart.best.is_none();
}

fn curve(choice: &WorkloadChoice) -> WorkloadCurve {
    let value = |value: &String| choice.values.iter().position(|of| of.value == *value);
    WorkloadCurve {
        workload: choice.workload.clone(),
        labels: choice.values.iter().map(|of| of.value.clone()).collect(),
        costs: choice.values.iter().map(|of| drawn(of.cost)).collect(),
        best: value(&choice.recommended),
        today: choice.cost_today.mean,
        is_ruled_out: choice.values.iter().map(|of| of.ruled_out).collect(),
    }
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
