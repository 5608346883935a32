//! `sweep` and `merge`: many runs of a scenario, and what they say together.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::{CellAlignment, Table};
use indicatif::ProgressBar;

use super::documents;
use super::failure::Failure;
use super::ui::Ui;
use super::undone;
use super::words::counted;
use super::{Ending, Output};
use crate::inspect;
use crate::parallel::Threads;
use crate::report::{OutputDir, Overwrite, StudyChart, draw_study_charts};
use crate::scenario::{DocumentKind, Overrides};
use crate::study::{
    self, Comparison, Interval, Journal, Precision, Progress, RestsOnUnseen, Results, Runner, Shard, Statistic, Study,
};

/// Play every variant of a study many times
///
/// Writes runs.csv, variants.csv, summary.json and charts. The same faults hit every variant: replication r of each has the
/// same seed.
#[derive(Args, Debug)]
pub(super) struct SweepArgs {
    /// The study
    pub(super) study: PathBuf,
    /// Go on without objects that cannot be read, that the API server would refuse, or that are written twice
    #[arg(long)]
    pub(super) allow_partial: bool,
    /// The directory of the results [default: reports/<study name>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = jobs, allow_hyphen_values = true)]
    jobs: Option<NonZeroUsize>,
    /// Go on where an interrupted sweep stopped, or from the results of a finished one, such as merged parts
    #[arg(long)]
    resume: bool,
    /// Play one part of the study, such as 2/4; `merge` puts the parts together
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    pub(super) shard: Option<Shard>,
    /// Add replications until the interval of each variant's cost is at most so wide on either side, such as 5%; the
    /// study's `replications` are then the most. Intervals are widened for having looked more than once
    #[arg(long, value_name = "SHARE", value_parser = share, allow_hyphen_values = true, conflicts_with = "shard")]
    precision: Option<f64>,
    /// Let a variant win that leaves more undone than the baseline: commands, upgrades and reboots that fail or do not end, pods
    /// lost for good, failed Jobs
    #[arg(long)]
    pub(super) allow_undone: bool,
    /// Begin anew whatever an interrupted sweep left, and replace the output directory whatever is in it
    #[arg(long, conflicts_with = "resume")]
    force: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(super) output: Output,
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

pub(super) struct Bar(ProgressBar);

impl Progress for Bar {
    fn advance(&self) {
        self.0.inc(1);
    }
}

impl Bar {
    fn new(ui: &Ui, length: u64, done: u64, what: &str) -> Self {
        let bar = ui.progress(length, what);
        bar.set_position(done.min(length));
        // Runs of an earlier sweep took none of this one's time.
        bar.reset_eta();
        Self(bar)
    }
}

/// A file of the results that not every study has.
pub(super) type ExtraFile = (&'static str, String);

/// A study under way: where its results go, and what has been played.
pub(super) struct Sweep<'a> {
    study: &'a Study,
    place: PathBuf,
    overwrite: Overwrite,
    journal: Journal,
    pool: Threads,
    ui: &'a Ui,
}

impl<'a> Sweep<'a> {
    /// Refuses what cannot be done before anything is played; `tunes` says whether the results will hold a recommendation.
    pub(super) fn begin(study: &'a Study, arguments: &SweepArgs, tunes: bool, ui: &'a Ui) -> Result<Self, Failure> {
        ui.diagnostics(&study.warnings, &study.sources);
        let place = arguments.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(&study.name));
        let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
        let shard = arguments.shard.unwrap_or(Shard::WHOLE);
        OutputDir::spare_inputs(&place, overwrite, study.inputs().chain([arguments.study.as_path()]))?;
        check_place(&place, overwrite, &study.name, shard)?;
        if !tunes && !arguments.force && !arguments.resume && place.join("patch.sh").exists() {
            let message = format!("{} holds what `tune` recommended, which `sweep` would remove", place.display());
            let help = "choose another --out, or --force to replace it, or --resume to keep only its runs";
            return Err(Failure::input(message, help));
        }
        if arguments.force {
            Journal::discard(&place)?;
        }
        let journal = Journal::open(&place, study.fingerprint, shard, arguments.resume)?;
        if arguments.resume {
            take_over(&place, study, shard, &journal, ui)?;
        }
        let pool = threads(arguments.jobs)?;
        Ok(Self { study, place, overwrite, journal, pool, ui })
    }

    /// Plays what is open.
    pub(super) fn play(&self, arguments: &SweepArgs) -> Result<Results, Failure> {
        let (study, shard) = (self.study, arguments.shard.unwrap_or(Shard::WHOLE));
        let runs = study.variants.len() as u64 * u64::from(study.replications);
        let done = self.journal.count(..study.replications);
        let bar = Bar::new(self.ui, runs.div_ceil(shard.count), done as u64, &study.name);
        let mut runner = Runner::new(study, &self.journal);
        let precision = match arguments.precision {
            None => {
                self.pool.install(|| runner.play_all(shard, &bar))?;
                None
            }
            Some(goal) => Some(self.pool.install(|| runner.play_until_precise(goal, &bar))?),
        };
        bar.0.finish_and_clear();
        let (replications, looks) =
            precision.map_or((study.replications, 0), |found| (found.replications, found.looks));
        let mut rows = self.journal.rows()?;
        rows.retain(|row| row.replication < replications);
        Ok(Results { precision, ..Results::new(study, shard, replications, looks, rows) })
    }

    /// Plays what is recommended against the baseline.
    pub(super) fn confirm(
        &self,
        results: &Results,
        recommended: &study::Variant,
    ) -> Result<study::Confirmation, Failure> {
        let done = self.journal.count(self.study.replications..);
        let bar = Bar::new(self.ui, 2 * u64::from(results.replications), done as u64, "the recommendation");
        let confirmation =
            self.pool.install(|| study::confirm(self.study, results, recommended, &self.journal, &bar))?;
        bar.0.finish_and_clear();
        Ok(confirmation)
    }

    /// Puts the results into their place.
    pub(super) fn finish(
        self,
        summary: &str,
        chart: &StudyChart,
        results: &Results,
        extra: &[ExtraFile],
    ) -> Result<(), Failure> {
        write(results, summary, chart, extra, &self.place, self.overwrite)?;
        Ok(self.journal.close()?)
    }
}

/// A number of threads.
pub(super) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "a number of threads is a whole number of at least 1".to_owned())
}

/// The threads that play.
pub(super) fn threads(jobs: Option<NonZeroUsize>) -> Result<Threads, Failure> {
    Threads::new(jobs).map_err(|error| Failure::input(format!("cannot start threads: {error}"), "lower --jobs"))
}

/// Reads the study that is asked for.
pub(super) fn load(arguments: &SweepArgs) -> Result<Study, Failure> {
    let mut study = study::load_with(
        &documents::find(&arguments.study, DocumentKind::Study)?,
        &Overrides::allowing_partial(arguments.allow_partial),
    )?;
    study.allows_undone |= arguments.allow_undone;
    Ok(study)
}

pub(super) fn sweep(arguments: &SweepArgs, ui: &Ui) -> Result<Ending, Failure> {
    let study = load(arguments)?;
    let sweep = Sweep::begin(&study, arguments, false, ui)?;
    let results = sweep.play(arguments)?;
    let summary = results.summary_json(None, None);
    sweep.finish(&summary, &chart_of(&results), &results, &[])?;
    match arguments.output {
        Output::Json => ui.out(&summary)?,
        Output::Text if ui.is_quiet => {}
        Output::Text => {
            let mut text = table(&results);
            if let Some(comparison) = results.comparison().filter(|_| results.shard == Shard::WHOLE) {
                let _ = write!(text, "\n{}", recommendation(&results, &comparison));
            }
            ui.out(&text)?;
        }
    }
    Ok(Ending::Done)
}

/// Refuses a place that holds something else than earlier results of the same part of the same study.
fn check_place(place: &Path, overwrite: Overwrite, name: &str, shard: Shard) -> Result<(), Failure> {
    OutputDir::check(place, overwrite)?;
    let help = "choose another --out, or --force to replace it";
    let Ok(text) = std::fs::read_to_string(place.join("summary.json")) else { return Ok(()) };
    if overwrite == Overwrite::Anything {
        return Ok(());
    }
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let (study, place) = (&summary["study"], place.display());
    let Some(found) = study["study"].as_str() else {
        return Err(Failure::input(format!("{place} holds the results of something else than a study"), help));
    };
    if found != name {
        return Err(Failure::input(format!("{place} holds the results of the study `{found}`"), help));
    }
    let part: Option<Shard> = serde_json::from_value(study["shard"].clone()).ok();
    match part {
        Some(part) if part != shard => {
            let message = format!("{place} holds the results of part {}/{} of the study", part.index, part.count);
            Err(Failure::input(message, help))
        }
        _ => Ok(()),
    }
}

/// Enters the runs of finished results at the place into a journal: those of a sweep, or of parts that were merged, need not be
/// played again.
fn take_over(place: &Path, study: &Study, shard: Shard, journal: &Journal, ui: &Ui) -> Result<(), Failure> {
    if !place.join("summary.json").exists() {
        return Ok(());
    }
    let is_ours = |of: &Results| of.fingerprint == format!("{:016x}", study.fingerprint) && of.shard == shard;
    let Some(results) = read(place).ok().filter(is_ours) else {
        ui.note(format_args!(
            "the results in {} are those of an earlier form of the study: nothing of them is used",
            place.display()
        ));
        return Ok(());
    };
    for run in results.runs.into_iter().flatten().filter(|run| !journal.has(run.variant, run.replication)) {
        journal.add(run)?;
    }
    Ok(())
}

fn write(
    results: &Results,
    summary: &str,
    chart: &StudyChart,
    extra: &[ExtraFile],
    place: &Path,
    overwrite: Overwrite,
) -> Result<PathBuf, Failure> {
    let out = OutputDir::begin(place, overwrite)?;
    out.write_with("runs.csv", |file| results.write_runs(file))?;
    if !results.tuned.is_empty() {
        out.write_with("workloads.csv", |file| results.write_workloads(file))?;
    }
    out.write("variants.csv", results.variants_csv().as_bytes())?;
    out.write("summary.json", summary.as_bytes())?;
    for (name, content) in extra {
        out.write(name, content.as_bytes())?;
    }
    for (name, picture) in draw_study_charts(chart) {
        out.write(&format!("charts/{name}"), picture.as_bytes())?;
    }
    Ok(out.finish()?)
}

/// The numbers that the charts show.
pub(super) fn chart_of(results: &Results) -> StudyChart {
    let mut chart = StudyChart { title: results.study.clone(), baseline: results.baseline, ..StudyChart::default() };
    let (front, unavailability) = (results.front(), results.unavailability());
    let mean = |of: &Statistic| shown(of.interval.mean);
    let (bad, needless) = (results.of_metric(unavailability.metric()), results.of_metric("needless_evictions"));
    chart.labels = results.variants.iter().map(|values| values.join(" ")).collect();
    chart.values.clone_from(&results.variants);
    chart.costs = results.of_metric(results.decisive()).iter().map(|of| drawn(of.interval)).collect();
    chart.trade_offs = bad.iter().map(mean).zip(needless.iter().map(mean)).collect();
    chart.is_on_front = (0..results.variants.len()).map(|variant| front.contains(&variant)).collect();
    chart.recoveries = results.of_metric("longest_gap_s").iter().map(|of| of.sample.sorted().to_vec()).collect();
    chart.undone = undone::reasons(results);
    chart.axes = results.axes.join(", ");
    chart.best = results.comparison().map(|comparison| comparison.best);
    chart.unavailability = unavailability.unit().to_owned();
    chart.value = if results.prices.is_empty() { "unready replica-seconds" } else { "cost" }.to_owned();
    chart
}

/// Variants of which a part has no run stand at zero.
fn shown(mean: f64) -> f64 {
    if mean.is_nan() { 0.0 } else { mean }
}

/// Mean, low and high; an end that is not known is drawn at the mean.
pub(super) fn drawn(interval: Interval) -> (f64, f64, f64) {
    let mean = shown(interval.mean);
    let end = |value: f64| if value.is_finite() { value } else { mean };
    (mean, end(interval.low), end(interval.high))
}

pub(super) fn merge(arguments: &MergeArgs, ui: &Ui) -> Result<Ending, Failure> {
    let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
    let parts: Result<Vec<Results>, Failure> = arguments.parts.iter().map(|dir| read(dir)).collect();
    let help = "name the directories of all parts, 1/N to N/N, of one study";
    let whole = Results::merge(parts?).map_err(|message| Failure::input(message, help))?;
    OutputDir::spare_inputs(&arguments.out, overwrite, arguments.parts.iter().map(PathBuf::as_path))?;
    check_place(&arguments.out, overwrite, &whole.study, Shard::WHOLE)?;
    let place = write(&whole, &whole.summary_json(None, None), &chart_of(&whole), &[], &arguments.out, overwrite)?;
    ui.note(format_args!("{} in {}", counted(whole.run_count(), "run", "runs"), place.display()));
    Ok(Ending::Done)
}

/// Reads the results of a study, or of one part.
pub(super) fn read(dir: &Path) -> Result<Results, Failure> {
    read_with(dir, &inspect::summary(dir)?)
}

/// Reads the results of a study, or of one part, whose `summary.json` has been read.
pub(super) fn read_with(dir: &Path, summary: &serde_json::Value) -> Result<Results, Failure> {
    let not_ours = |what: &str| {
        let message = format!("`{}` is not the directory of a study: {what}", dir.display());
        Failure::input(message, "name a directory that `sweep` wrote")
    };
    let text = |name: &str| std::fs::read_to_string(dir.join(name)).map_err(|_| not_ours(&format!("it has no {name}")));
    let mut results: Results =
        serde_json::from_value(summary["study"].clone()).map_err(|_| not_ours("its summary.json is not a study's"))?;
    let workloads = if results.tuned.is_empty() { String::new() } else { text("workloads.csv")? };
    results.read_runs(&text("runs.csv")?, &workloads).map_err(|message| not_ours(&message))?;
    Ok(results)
}

pub(super) fn number(value: f64) -> String {
    // What is rounded to nothing has no sign.
    let value = if value.abs() < 0.005 { 0.0 } else { value };
    if value.abs() >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// A mean with its interval: `12.30 [11.80, 12.90]`. A `*` says that the interval allows for runs that nobody has seen, a `?` that an
/// end is not known.
pub(super) fn spread(interval: Interval) -> String {
    let Interval { mean, low, high, widened } = interval;
    if mean.is_nan() {
        return "-".to_owned();
    }
    let short = |value: f64| if value == 0.0 { "0".to_owned() } else { number(value) };
    let end = |value: f64| if value.is_finite() { short(value) } else { "?".to_owned() };
    let mark = if widened { "*" } else { "" };
    format!("{} [{}, {}]{mark}", short(mean), end(low), end(high))
}

/// What every variant gave.
pub(super) fn table(results: &Results) -> String {
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
    let of = if results.prices.is_empty() { "UNREADY AGAINST THE BASELINE" } else { "AGAINST THE BASELINE" };
    header.push(of.to_owned());
    table.set_header(header);
    let columns = shown.map(|metric| results.of_metric(metric));
    let decisive = results.of_metric(results.decisive());
    let is_out = undone::reasons(results);
    for variant in 0..results.variants.len() {
        let mut row = results.variants[variant].clone();
        row.extend(columns.each_ref().map(|of| spread(of[variant].interval)));
        if !results.prices.is_empty() {
            row.push(spread(decisive[variant].interval));
        }
        let against = match variant {
            variant if variant == results.baseline => "is the baseline".to_owned(),
            variant if !results.compares(variant, results.baseline) => "lasts otherwise".to_owned(),
            variant => spread(decisive[variant].difference),
        };
        row.push(if is_out[variant].is_empty() { against } else { format!("{against}, ruled out") });
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(results.axes.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let _ = writeln!(text, "{}", table.trim_fmt());
    text.push_str(&intervals_told(results, columns.iter().chain([&decisive])));
    text.push_str(&results.precision.map_or_else(String::new, precision_told));
    text.push_str(&cautions(results, &decisive));
    text.push_str(&undone::ruled_out(results));
    text
}

/// What stands in brackets.
fn intervals_told<'a>(results: &Results, columns: impl Iterator<Item = &'a Vec<Statistic>>) -> String {
    let looked = match results.looks {
        0 => String::new(),
        looks => format!(", widened for {} at the results", counted(looks as usize, "look", "looks")),
    };
    let mut text = format!("[low, high] is the {} % interval of the mean{looked}\n", percent(results.confidence()));
    let shown: Vec<Interval> = columns.flatten().flat_map(|of| [of.interval, of.difference]).collect();
    if shown.iter().any(|interval| interval.widened) {
        text.push_str(
            "* allows for runs that nobody has seen: as hardly any run differs from the others, so rare ones may be missing, each as bad as \
             the worst of any variant\n",
        );
    }
    if shown.iter().any(|interval| interval.widened && !interval.is_known()) {
        text.push_str("? is not known: no run of any variant shows how bad it can be\n");
    }
    text
}

/// What a saving rests on that may be none.
pub(super) fn unseen_told(of: &RestsOnUnseen) -> String {
    let seen = match of.exceptions {
        0 => format!("no failure that costs anything in {}", counted(of.n, "run", "runs")),
        some => format!("only {} of {} differ from the others", some, counted(of.n, "run", "runs")),
    };
    format!(
        "{seen}; up to {} % of all runs may differ, unseen, and nothing is saved if these cost {} more than usual",
        percent(of.share),
        number(of.break_even)
    )
}

/// Whether `--precision` was reached, and what it would take.
fn precision_told(found: Precision) -> String {
    let goal = percent(found.goal);
    if found.reached {
        return format!("Every interval is within {goal} % of its mean.\n");
    }
    let unknown = || "not known, as too few runs tell how bad it can be,".to_owned();
    let width = found.width.map_or_else(unknown, |width| format!("{} %", percent(width)));
    let needed = found.needed.map_or_else(String::new, |needed| format!("; about {needed} would do"));
    let runs = counted(found.replications as usize, "run", "runs");
    format!(
        "{goal} % of the mean is NOT reached: the widest interval is {width} after {runs} of each variant{needed}\n"
    )
}

/// `95`, `98.7`.
fn percent(share: f64) -> String {
    let rounded = (share * 10_000.0).round() / 100.0;
    format!("{rounded}")
}

fn recommendation(results: &Results, comparison: &Comparison) -> String {
    let mut text = format!("Lowest cost: {}, at {}\n", results.label(comparison.best), spread(comparison.cost));
    if comparison.best == results.baseline {
        text.push_str("  which is the baseline\n");
    } else {
        let against = comparison.against_baseline;
        let verdict = match (&comparison.rests_on_unseen, against) {
            (Some(unseen), _) => format!("; NOT TOLD: {}", unseen_told(unseen)),
            (None, _) if results.replications < 2 => "; one replication tells nothing apart".to_owned(),
            (None, against) if against.has_zero() => "; the data cannot tell the two apart".to_owned(),
            _ => String::new(),
        };
        let pairs =
            if results.variants.len() > 2 { " (wider than above: for all pairs of variants at once)" } else { "" };
        let baseline = results.label(results.baseline);
        let _ = writeln!(text, "  against the baseline {baseline}: {}{pairs}{verdict}", spread(against));
    }
    if let Some(runner_up) = comparison.runner_up {
        let _ = writeln!(text, "  runner-up: {}", results.label(runner_up));
    }
    if !comparison.alike.is_empty() {
        let alike: Vec<String> = comparison.alike.iter().map(|&variant| results.label(variant)).collect();
        let _ = writeln!(
            text,
            "  not worse as far as the data tell: {}; more replications may tell them apart",
            alike.join("; ")
        );
    }
    if let Some(elsewhere) = &comparison.done_elsewhere {
        let _ = writeln!(text, "  {}", undone::elsewhere(results, elsewhere));
    }
    let _ = writeln!(text, "  {}", front(results));
    text
}

/// What no other variant is told to beat.
pub(super) fn front(results: &Results) -> String {
    let front: Vec<String> = results.front().into_iter().map(|variant| results.label(variant)).collect();
    let words = results.unavailability().unit();
    format!("not told to be beaten in both {words} and needless evictions: {}", front.join("; "))
}

/// What the intervals do not say: which variants hardly vary, and whose costs are carried by a few runs.
fn cautions(results: &Results, decisive: &[Statistic]) -> String {
    let (mut rare, mut skewed, mut needed) = (Vec::new(), Vec::new(), 0.0_f64);
    for (variant, of) in decisive.iter().enumerate() {
        if of.sample.exceptions().is_some() {
            rare.push(results.label(variant));
        } else if of.sample.is_skewed() {
            skewed.push(results.label(variant));
            needed = needed.max(of.sample.observations_for_normality());
        }
    }
    let mut text = String::new();
    if !results.lengths_s.is_empty() {
        text.push_str(
            "Runs of the variants last differently long, so that what they add up does not compare: no lowest cost is named\n",
        );
    }
    if !rare.is_empty() {
        // With as many runs, what has not been seen is as rare at most, at that confidence.
        let tail = (1.0 - results.confidence()) / 2.0;
        let share = percent(1.0 - libm::pow(tail, 1.0 / f64::from(results.replications.max(1))));
        let known = if decisive.iter().all(|of| of.interval.high.is_finite()) {
            "the interval allows for these to be as bad as the worst seen here"
        } else {
            "how bad these are nobody knows, as none was seen"
        };
        let _ = writeln!(
            text,
            "Hardly any run differs from the others: {}. Up to {share} % of all runs may, unseen; {known}",
            rare.join("; ")
        );
    }
    if !skewed.is_empty() {
        let _ = writeln!(
            text,
            "A few runs carry the mean: {}. Its interval may be too narrow; about {} runs would do",
            skewed.join("; "),
            needed.ceil()
        );
    }
    text
}
