//! `sweep`, `tune` and `merge`: many runs of a scenario, and what they say together.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::{CellAlignment, Table};
use indicatif::ProgressBar;

use super::failure::Failure;
use super::ui::Ui;
use super::words::counted;
use super::{Ending, Output};
use crate::report::{OutputDir, Overwrite, StudyChart, draw_study_charts};
use crate::study::{self, COST, Comparison, Interval, Journal, Progress, Results, Shard, Study};

/// Play every variant of a study many times
///
/// Writes runs.csv, variants.csv, summary.json and charts. The same faults hit every variant: replication r of each has the
/// same seed.
#[derive(Args, Debug)]
pub(super) struct SweepArgs {
    /// The study
    study: PathBuf,
    /// The directory of the results [default: reports/<study name>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Go on where an interrupted sweep stopped
    #[arg(long)]
    resume: bool,
    /// Play one part of the study, such as 2/4; `merge` puts the parts together
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Add replications until the interval of each variant's cost is at most so wide on either side, such as 5%; the
    /// study's `replications` are then the most
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "shard")]
    precision: Option<f64>,
    /// Begin anew whatever an interrupted sweep left, and replace the output directory whatever is in it
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// Find the values of a study that cost least
///
/// As `sweep`; the study has to have prices. Also writes patch.yaml and patch.sh, which apply what is recommended.
#[derive(Args, Debug)]
pub(super) struct TuneArgs {
    #[command(flatten)]
    sweep: SweepArgs,
}

/// Put the parts of one study together
#[derive(Args, Debug)]
pub(super) struct MergeArgs {
    /// Directories that `sweep --shard` wrote
    #[arg(required = true, value_name = "DIR")]
    parts: Vec<PathBuf>,
    /// The directory of the whole
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Replace the output directory whatever is in it
    #[arg(long)]
    force: bool,
}

fn share(text: &str) -> Result<f64, String> {
    let number =
        text.strip_suffix('%').map_or_else(|| text.parse::<f64>(), |percent| percent.parse().map(|p: f64| p / 100.0));
    match number {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => Err(format!("`{text}` is not a share such as 5%")),
    }
}

struct Bar(ProgressBar);

impl Progress for Bar {
    fn advance(&self) {
        self.0.inc(1);
    }
}

pub(super) fn sweep(arguments: &SweepArgs, ui: &Ui) -> Result<Ending, Failure> {
    let study = study::load(&arguments.study)?;
    let results = play(&study, arguments, &[], ui)?;
    say(&results, arguments, ui)
}

pub(super) fn tune(arguments: &TuneArgs, ui: &Ui) -> Result<Ending, Failure> {
    let study = study::load(&arguments.sweep.study)?;
    if study.prices.is_empty() {
        let help = "add prices, such as `cost: {unreadyReplicaSeconds: 1, evictions: 30, needlessEvictions: 60}`";
        return Err(Failure::input("nothing in the study has a price, so nothing can be cheapest", help));
    }
    let patches = |results: &Results| {
        let best = results.comparison().map_or(results.baseline, |comparison| comparison.best);
        study::patches(&study, best)
    };
    let results = play(
        &study,
        &arguments.sweep,
        &[("patch.sh", &|r| patches(r).shell), ("patch.yaml", &|r| patches(r).yaml)],
        ui,
    )?;
    say(&results, &arguments.sweep, ui)
}

type ExtraFile<'a> = (&'static str, &'a dyn Fn(&Results) -> String);

fn play(study: &Study, arguments: &SweepArgs, extra: &[ExtraFile<'_>], ui: &Ui) -> Result<Results, Failure> {
    ui.diagnostics(&study.warnings, &study.sources);
    let place = arguments.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(&study.name));
    let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
    // Before anything is played, so that a refusal costs no time.
    OutputDir::check(&place, overwrite)?;
    if arguments.force {
        Journal::discard(&place)?;
    }
    let journal = Journal::open(&place, study.fingerprint, arguments.resume)?;
    let shard = arguments.shard.unwrap_or(Shard::WHOLE);
    let mut pool = rayon::ThreadPoolBuilder::new();
    if let Some(jobs) = arguments.jobs {
        pool = pool.num_threads(jobs);
    }
    let pool =
        pool.build().map_err(|error| Failure::input(format!("cannot start threads: {error}"), "lower --jobs"))?;
    let runs = study.variants.len() as u64 * u64::from(study.replications);
    let bar = Bar(ui.progress(runs / shard.count, &study.name));
    bar.0.set_position(journal.done().len() as u64);
    let replications = match arguments.precision {
        None => {
            pool.install(|| study::run(study, shard, study.replications, &journal, &bar))?;
            study.replications
        }
        Some(precision) => pool.install(|| study::run_until_precise(study, precision, &journal, &bar))?,
    };
    bar.0.finish_and_clear();
    let mut rows = journal.rows();
    rows.retain(|row| row.replication < replications);
    let results = Results::new(study, shard, replications, rows);
    let extra: Vec<(&str, String)> = extra.iter().map(|(name, content)| (*name, content(&results))).collect();
    write(&results, &extra, &place, overwrite)?;
    journal.close()?;
    Ok(results)
}

fn write(results: &Results, extra: &[(&str, String)], place: &Path, overwrite: Overwrite) -> Result<PathBuf, Failure> {
    let out = OutputDir::begin(place, overwrite)?;
    out.write("runs.csv", results.runs_csv().as_bytes())?;
    out.write("variants.csv", results.variants_csv().as_bytes())?;
    out.write("summary.json", results.summary_json().as_bytes())?;
    for (name, content) in extra {
        out.write(name, content.as_bytes())?;
    }
    for (name, picture) in draw_study_charts(&chart_of(results)) {
        out.write(&format!("charts/{name}"), picture.as_bytes())?;
    }
    Ok(out.finish()?)
}

/// The numbers that the charts show.
fn chart_of(results: &Results) -> StudyChart {
    let mut chart = StudyChart { title: results.study.clone(), ..StudyChart::default() };
    let front = results.front();
    for variant in results.statistics() {
        let of = |metric: &str| variant.metrics.iter().find(|of| of.metric == metric).expect("a metric of ours");
        let cost = of(if results.prices.is_empty() { "unready_replica_s" } else { COST });
        chart.labels.push(results.variants[variant.variant].join(" "));
        chart.costs.push((cost.interval.mean, cost.interval.low, cost.interval.high));
        chart.trade_offs.push((of("unready_replica_s").interval.mean, of("needless_evictions").interval.mean));
        chart.is_on_front.push(front.contains(&variant.variant));
        chart.recoveries.push(of("longest_gap_s").sample.sorted().to_vec());
    }
    chart.axes = results.axes.join(", ");
    chart.value = if results.prices.is_empty() { "unready replica-seconds" } else { "cost" }.to_owned();
    chart
}

pub(super) fn merge(arguments: &MergeArgs, ui: &Ui) -> Result<Ending, Failure> {
    let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
    OutputDir::check(&arguments.out, overwrite)?;
    let parts: Result<Vec<Results>, Failure> = arguments.parts.iter().map(|dir| read(dir)).collect();
    let help = "name the directories of all parts, 1/N to N/N, of one study";
    let whole = Results::merge(parts?).map_err(|message| Failure::input(message, help))?;
    let place = write(&whole, &[], &arguments.out, overwrite)?;
    ui.note(format_args!("{} in {}", counted(whole.runs.len(), "run", "runs"), place.display()));
    Ok(Ending::Done)
}

/// Reads the results of one part.
fn read(dir: &Path) -> Result<Results, Failure> {
    let not_ours = |what: &str| {
        let message = format!("`{}` is not the directory of a study: {what}", dir.display());
        Failure::input(message, "name a directory that `sweep --shard` wrote")
    };
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).map_err(|_| not_ours(&format!("it has no {name}")));
    let summary: serde_json::Value =
        serde_json::from_str(&text("summary.json")?).map_err(|_| not_ours("its summary.json is broken"))?;
    let mut results: Results =
        serde_json::from_value(summary["study"].clone()).map_err(|_| not_ours("its summary.json is not a study's"))?;
    results.runs =
        Results::read_runs(&text("runs.csv")?, results.axes.len()).ok_or_else(|| not_ours("its runs.csv is broken"))?;
    Ok(results)
}

fn say(results: &Results, arguments: &SweepArgs, ui: &Ui) -> Result<Ending, Failure> {
    match arguments.output {
        Output::Json => ui.out(&results.summary_json())?,
        Output::Text if ui.is_quiet => {}
        Output::Text => ui.out(&text(results))?,
    }
    Ok(Ending::Done)
}

fn number(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

fn spread(interval: Interval) -> String {
    format!("{} ± {}", number(interval.mean), number(interval.half_width()))
}

fn text(results: &Results) -> String {
    let mut text = format!(
        "{}: {}, {} each\n\n",
        results.study,
        counted(results.variants.len(), "variant", "variants"),
        counted(results.replications as usize, "run", "runs")
    );
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    let shown = ["unready_replica_s", "evictions", "needless_evictions", "longest_gap_s"];
    let mut header: Vec<String> = results.axes.clone();
    header.extend(["UNREADY REPLICA-S", "EVICTIONS", "NEEDLESS", "LONGEST GAP S"].map(str::to_owned));
    if !results.prices.is_empty() {
        header.push("COST".to_owned());
    }
    header.push("AGAINST THE BASELINE".to_owned());
    table.set_header(header);
    let decisive = if results.prices.is_empty() { "unready_replica_s" } else { COST };
    for variant in results.statistics() {
        let of = |metric: &str| variant.metrics.iter().find(|of| of.metric == metric).expect("a metric of ours");
        let mut row = results.variants[variant.variant].clone();
        row.extend(shown.map(|metric| spread(of(metric).interval)));
        if !results.prices.is_empty() {
            row.push(spread(of(COST).interval));
        }
        let is_baseline = variant.variant == results.baseline;
        row.push(if is_baseline { "is the baseline".to_owned() } else { spread(of(decisive).difference) });
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(results.axes.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    if let Some(comparison) = results.comparison() {
        let _ = write!(text, "\n{}", recommendation(results, &comparison));
    }
    text
}

fn recommendation(results: &Results, comparison: &Comparison) -> String {
    let mut text = format!("Lowest cost: {}, at {}\n", results.label(comparison.best), spread(comparison.cost));
    if comparison.best == results.baseline {
        text.push_str("  which is the baseline\n");
    } else {
        let against = comparison.against_baseline;
        let verdict = if against.has_zero() { "; the data cannot tell the two apart" } else { "" };
        let _ =
            writeln!(text, "  against the baseline {}: {}{verdict}", results.label(results.baseline), spread(against));
    }
    if let Some(runner_up) = comparison.runner_up {
        let _ = writeln!(text, "  runner-up: {}", results.label(runner_up));
    }
    if !comparison.alike.is_empty() {
        let alike: Vec<String> = comparison.alike.iter().map(|&variant| results.label(variant)).collect();
        let _ = writeln!(text, "  not worse as far as the data tell: {}; more replications may", alike.join("; "));
    }
    let front: Vec<String> = results.front().into_iter().map(|variant| results.label(variant)).collect();
    let _ = writeln!(text, "  best trade-offs of unavailability against needless evictions: {}", front.join("; "));
    text
}
