//! `sweep`: many runs of a scenario, and what they say together.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
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
use crate::facade::{Study, SweepOptions};
use crate::report::SHOWN_METRICS;
use crate::scenario::DocumentKind;
use crate::study::{CostBy, InvalidShard, Kept, Progress, RareEvent, Results, Shard, Teller, spread};
use crate::units::{counted, parse_percent};

/// Play every variant of a study many times
///
/// Writes runs.csv, variants.csv, summary.json, charts and report.html. The same faults hit every variant: replication r of each has the
/// same seed.
#[derive(Args, Debug)]
pub(super) struct SweepArgs {
    /// The study
    pub(super) study: PathBuf,
    #[command(flatten)]
    reading: Reading,
    /// The directory of the results [default: reports/<study name>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    jobs: Option<NonZeroUsize>,
    /// Go on where an interrupted sweep stopped, or from the results of a finished one, such as merged parts
    #[arg(long)]
    resume: bool,
    /// Play one part of the study, such as 2/4; `merge` puts the parts together. Of auto/4 the number comes from the Indexed Job or Slurm
    /// array that runs the command
    #[arg(long, value_name = "I/N", value_parser = shard, allow_hyphen_values = true)]
    pub(super) shard: Option<Shard>,
    /// Add replications until the interval of each variant's cost is at most so wide on either side, such as 5%; the
    /// study's `replications` are then the most. Intervals are widened for having looked more than once
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, conflicts_with = "shard")]
    precision: Option<f64>,
    /// Call nothing cheaper that saves less than this share of what the baseline costs, such as 2%, whatever the study says
    /// [default: the study's `indifference`, or 1%]
    #[arg(long, value_name = "SHARE", value_parser = least_saving, allow_hyphen_values = true)]
    indifference: Option<f64>,
    /// Judge variants not by the mean cost of their runs but by bad ones, whatever the study says: `cvar:95%`, the mean of the worst 5 % of
    /// runs, or `quantile:95%`, what 95 % of runs do not exceed [default: the study's `costBy`, or `mean`]
    #[arg(long, value_name = "FIGURE")]
    cost_by: Option<CostBy>,
    /// Say how often a run has a figure beyond a threshold, such as 'unready_replica_s>5000' or 'nodes_ready_min<3', however rare that
    /// is, whatever the study says: failures are drawn more often than they come, and runs carry weights
    #[arg(long, value_name = "METRIC>THRESHOLD")]
    rare: Option<RareEvent>,
    /// Let a variant win that leaves more undone than the baseline: commands, upgrades and reboots that fail or do not end, pods
    /// lost for good, failed Jobs
    #[arg(long)]
    pub(super) allow_undone: bool,
    #[command(flatten)]
    formats: Formats,
    /// Begin anew whatever an interrupted sweep left, and replace the output directory whatever is in it
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// Draw no charts and no page
    #[arg(long)]
    no_charts: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(super) output: Output,
}

fn share(text: &str) -> Result<f64, String> {
    share_of(text)
        .filter(|share| SweepOptions::is_precision(*share))
        .ok_or_else(|| format!("`{text}` is not a share such as 5%"))
}

fn least_saving(text: &str) -> Result<f64, String> {
    let share = share_of(text).filter(|share| SweepOptions::is_indifference(*share));
    share
        .ok_or_else(|| format!("`{text}` is not a share of what the baseline costs, such as 2%: from 0% to below 100%"))
}

/// `5%`, or 0.05.
fn share_of(text: &str) -> Option<f64> {
    parse_percent(text).or_else(|| text.parse().ok())
}

impl SweepArgs {
    /// Reads the study that is asked for.
    pub(super) fn load(&self) -> Result<Study, Failure> {
        let path = documents::find(&self.study, DocumentKind::Study)?;
        let study = Study::load_with(path, &self.reading.options())?;
        let study = study.allow_undone(self.allow_undone);
        let study = match self.cost_by {
            Some(by) => study.cost_by(by)?,
            None => study,
        };
        Ok(match &self.rare {
            Some(event) => study.rare_event(event.clone())?,
            None => study,
        })
    }

    /// The directory of the results.
    pub(super) fn place(&self, study: &Study) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(study.name()))
    }

    /// How it is played.
    pub(super) fn options<'a>(&self, progress: &'a dyn Progress) -> SweepOptions<'a> {
        let mut options = SweepOptions::new().resume(self.resume).progress(progress);
        options = options.write(self.formats.writing().force(self.force).charts(!self.no_charts));
        if let Some(jobs) = self.jobs {
            options = options.threads(jobs);
        }
        if let Some(shard) = self.shard {
            options = options.shard(shard);
        }
        if let Some(indifference) = self.indifference {
            options = options.indifference(indifference);
        }
        if let Some(precision) = self.precision {
            options = options.precision(precision);
        }
        options
    }
}

/// A part of a study, which may be left to what runs the command.
fn shard(text: &str) -> Result<Shard, String> {
    #[expect(clippy::disallowed_methods, reason = "what runs a command says in its environment which part it is")]
    let said = |name: &str| std::env::var(name).ok();
    shard_of(text, said)
}

/// The same, where the environment is given.
fn shard_of(text: &str, said: impl Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let Some(rest) = text.strip_prefix("auto") else {
        return text.parse().map_err(|error: InvalidShard| error.to_string());
    };
    let number = |name: &str| said(name)?.parse::<u64>().ok();
    // Kubernetes counts from 0, Slurm from what the array begins with.
    let of_slurm = || Some(number("SLURM_ARRAY_TASK_ID")?.saturating_sub(number("SLURM_ARRAY_TASK_MIN")?));
    let Some(before) = number("JOB_COMPLETION_INDEX").or_else(of_slurm) else {
        return Err(
            "nothing says which part it is: neither JOB_COMPLETION_INDEX of an Indexed Job nor SLURM_ARRAY_TASK_ID \
                    is set"
                .to_owned(),
        );
    };
    let count = match rest.strip_prefix('/') {
        Some(count) => count.parse().ok(),
        None if rest.is_empty() => number("SLURM_ARRAY_TASK_COUNT"),
        None => None,
    };
    let count: u64 = count.ok_or_else(|| format!("`{text}` does not say how many parts there are: write auto/16"))?;
    Shard::new(before.saturating_add(1), count).map_err(|error| error.to_string())
}

/// A number of threads.
pub(super) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "a number of threads is a whole number of at least 1".to_owned())
}

pub(super) fn sweep(arguments: &SweepArgs, ui: &Ui) -> Result<Ending, Failure> {
    let study = arguments.load()?;
    ui.diagnostics(study.warnings(), &study.inner().sources);
    let place = arguments.place(&study);
    tell_at_ctrl_c();
    let outcome = study.sweep_to(&place, &arguments.options(&ui.bar()))?;
    if let Some(note) = &outcome.note {
        ui.note(note);
    }
    match arguments.output {
        Output::Json => ui.data(&outcome.summary_json())?,
        Output::Text if ui.is_quiet => {}
        Output::Text => {
            let results = &outcome.results;
            let mut text = table(results);
            let teller = Teller::below_table(results);
            let answer = teller.rare_event().or_else(|| teller.recommendation());
            if let Some(remark) = answer.filter(|_| results.shard == Shard::WHOLE) {
                let _ = write!(text, "\n{}", remarks::lines(&remark));
            }
            text += &remarks::all(&teller.break_even(outcome.break_even(), false));
            ui.out(&text)?;
        }
    }
    ui.note(format_args!("results in {}", place.display()));
    Ok(Ending::Done)
}

/// `97 of 100: meets`.
fn in_how_many(of: &Kept) -> String {
    format!("{} of {}: {}", of.judged.kept, of.judged.n, of.judged.standing.as_str())
}

/// What every variant gave.
pub(super) fn table(results: &Results) -> String {
    let has_set_aside = results.has_set_aside();
    let mut text = format!(
        "{}: {}, {}{} each\n\n",
        results.study,
        counted(results.variants.len(), "variant", "variants"),
        if has_set_aside { "up to " } else { "" },
        counted(results.replications as usize, "run", "runs")
    );
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let by = results.cost_by;
    let mut header: Vec<String> = results.axes.clone();
    header.extend(has_set_aside.then(|| "RUNS".to_owned()));
    header.extend(["UNREADY REPLICA-S", "EVICTIONS", "NEEDLESS", "LONGEST GAP S"].map(str::to_owned));
    if !results.prices.is_empty() {
        header.push("COST".to_owned());
        header.extend((!by.is_mean()).then(|| format!("{} OF COST", by.name()).to_uppercase()));
    }
    let of = if results.prices.is_empty() { "UNREADY AGAINST THE BASELINE" } else { "AGAINST THE BASELINE" };
    header.push(of.to_owned());
    header.extend(results.requirements.iter().map(|one| one.label().to_uppercase()));
    table.set_header(header);
    let columns = SHOWN_METRICS.map(|metric| results.of_metric(metric));
    let (decisive, judged) = (results.of_metric(results.decisive()), results.judged());
    let is_out = results.reasons_ruled_out();
    let kept = results.requirements_kept();
    for variant in 0..results.variants.len() {
        let mut row = results.variants[variant].clone();
        row.extend(has_set_aside.then(|| results.runs[variant].len().to_string()));
        row.extend(columns.each_ref().map(|of| spread(of[variant].interval)));
        if !results.prices.is_empty() {
            row.push(spread(decisive[variant].interval));
            row.extend((!by.is_mean()).then(|| spread(judged[variant].interval)));
        }
        let against = match variant {
            variant if variant == results.baseline => "is the baseline".to_owned(),
            variant if !results.compares(variant, results.baseline) => "lasts otherwise".to_owned(),
            variant => spread(judged[variant].difference),
        };
        let against = if results.is_set_aside(variant) { format!("{against}, set aside") } else { against };
        row.push(if is_out[variant].is_empty() { against } else { format!("{against}, ruled out") });
        row.extend(kept.iter().map(|of| in_how_many(&of[variant])));
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(results.axes.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    let teller = Teller::below_table(results);
    for note in teller.intervals() {
        let _ = writeln!(text, "{note}");
    }
    text + &remarks::all(&teller.cautions())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, environment: &[(&str, &str)], expected: Result<(u64, u64), &str>) {
        let said = |name: &str| environment.iter().find(|(of, _)| *of == name).map(|(_, value)| (*value).to_owned());
        match (shard_of(text, said), expected) {
            (Ok(found), Ok((index, count))) => assert_eq!(found, Shard::new(index, count).expect("a part")),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        }
    }

    #[test]
    fn a_part_may_be_left_to_what_runs_the_command() {
        check("2/4", &[("JOB_COMPLETION_INDEX", "3")], Ok((2, 4)));
        check("auto/4", &[("JOB_COMPLETION_INDEX", "0")], Ok((1, 4)));
        check("auto/4", &[("JOB_COMPLETION_INDEX", "3")], Ok((4, 4)));
        check("auto/4", &[("JOB_COMPLETION_INDEX", "4")], Err("5/4"));
        check("auto", &[("JOB_COMPLETION_INDEX", "0")], Err("auto/16"));
        check("auto/4", &[], Err("JOB_COMPLETION_INDEX"));
        check("autos/4", &[("JOB_COMPLETION_INDEX", "0")], Err("auto/16"));
        let slurm = [("SLURM_ARRAY_TASK_ID", "7"), ("SLURM_ARRAY_TASK_MIN", "5"), ("SLURM_ARRAY_TASK_COUNT", "10")];
        check("auto", &slurm, Ok((3, 10)));
        check("auto/20", &slurm, Ok((3, 20)));
    }
}
