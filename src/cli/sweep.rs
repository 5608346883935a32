//! `sweep`: many runs of a scenario, and what they say together.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::documents;
use super::failure::Failure;
use super::ui::Ui;
use super::undone;
use super::words::counted;
use super::{Ending, Output};
use crate::facade::{LoadOptions, Study, SweepOptions, WriteOptions, ruled_out};
use crate::scenario::DocumentKind;
use crate::study::{Comparison, Interval, Precision, Progress, RestsOnUnseen, Results, Shard, Statistic};

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

fn share(text: &str) -> Result<f64, String> {
    let number =
        text.strip_suffix('%').map_or_else(|| text.parse::<f64>(), |percent| percent.parse().map(|p: f64| p / 100.0));
    match number {
        Ok(share) if SweepOptions::is_precision(share) => Ok(share),
        _ => Err(format!("`{text}` is not a share such as 5%")),
    }
}

impl SweepArgs {
    /// Reads the study that is asked for.
    pub(super) fn load(&self) -> Result<Study, Failure> {
        let path = documents::find(&self.study, DocumentKind::Study)?;
        let study = Study::load_with(path, &LoadOptions::new().allow_partial(self.allow_partial).of_command_line())?;
        Ok(study.allow_undone(self.allow_undone))
    }

    /// The directory of the results.
    pub(super) fn place(&self, study: &Study) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from("reports").join(study.name()))
    }

    /// How it is played.
    pub(super) fn options<'a>(&self, progress: &'a dyn Progress) -> SweepOptions<'a> {
        let mut options = SweepOptions::new().resume(self.resume).progress(progress);
        options = options.write(WriteOptions::new().force(self.force));
        if let Some(jobs) = self.jobs {
            options = options.threads(jobs);
        }
        if let Some(shard) = self.shard {
            options = options.shard(shard);
        }
        if let Some(precision) = self.precision {
            options = options.precision(precision);
        }
        options
    }
}

/// A number of threads.
pub(super) fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "a number of threads is a whole number of at least 1".to_owned())
}

pub(super) fn sweep(arguments: &SweepArgs, ui: &Ui) -> Result<Ending, Failure> {
    let study = arguments.load()?;
    ui.diagnostics(study.warnings(), &study.inner().sources);
    let outcome = study.sweep_to(arguments.place(&study), &arguments.options(&ui.bar()))?;
    if let Some(note) = &outcome.note {
        ui.note(note);
    }
    match arguments.output {
        Output::Json => ui.out(&outcome.summary_json())?,
        Output::Text if ui.is_quiet => {}
        Output::Text => {
            let results = &outcome.results;
            let mut text = table(results);
            if let Some(comparison) = results.comparison().filter(|_| results.shard == Shard::WHOLE) {
                let _ = write!(text, "\n{}", recommendation(results, &comparison));
            }
            ui.out(&text)?;
        }
    }
    Ok(Ending::Done)
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
    let is_out = ruled_out(results);
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
