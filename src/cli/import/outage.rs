//! `import outage`: what records tell of an outage becomes a scenario that plays it again.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Map, Value};

use super::super::Ending;
use super::super::failure::Failure;
use super::super::paint::Paint;
use super::super::ui::Ui;
use crate::evidence::write_observed;
use crate::facade::{Offset, latency_block, refined as refined_times};
use crate::import::cluster::ClusterImport;
use crate::import::outage::{ClockOptions, ImportedOutage, OutageImport, OutageOptions, RefinedTimes};
use crate::model::manifest;
use crate::report::{Contents, OutputDir, OutputError, Overwrite};
use crate::scenario::{self, Invalid};
use crate::units::{SimDuration, counted};

/// Lines of each part of the verdict.
const LINES_MAX: usize = 12;

/// Make events, audit logs, metrics, dumps, logs and notices of an outage into a scenario that plays it again
///
/// Reads events (`kubectl get events -A -o json`, exporters' lines), audit logs, samples of kube-state-metrics (Prometheus JSON,
/// federation, Grafana CSV), dumps of nodes, pods and leases, kube-controller-manager's log, OpenShift's monitor intervals, and notices of
/// clouds: files, directories and archives. Several records are made one account; clocks that differ are shifted.
///
/// Writes outage.yaml, a scenario whose entries say what they rest on, how sure they are and within which bounds; cluster.yaml, the
/// cluster as it was at t=0; observed.csv, what was seen, for `run --observed`; and evidence.json. What nobody knows the reason of is
/// listed.
#[derive(Args, Debug)]
pub(in crate::cli) struct OutageArgs {
    /// Records, archives and directories of them, or `-` for standard input
    #[arg(required = true, value_name = "EVIDENCE")]
    inputs: Vec<PathBuf>,
    /// The cluster: manifests, a dump or a bundle, from before or after; may be given several times
    #[arg(long, required = true, value_name = "BUNDLE")]
    cluster: Vec<PathBuf>,
    /// The directory to be written
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// The name of the scenario
    #[arg(long, value_name = "NAME", default_value = "outage", value_parser = name)]
    name: String,
    /// kube-controller-manager's --node-monitor-grace-period [default: that of the cluster's version]
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    grace: Option<SimDuration>,
    /// By how much clocks that do not say it are ahead of UTC, such as +02:00 or -05:30 [default: they are UTC]
    #[arg(long, value_name = "OFFSET", value_parser = Offset::parse, allow_hyphen_values = true)]
    timezone: Option<Offset>,
    /// The year of logs that name none [default: that of the other records]
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i16).range(1970..=2200))]
    year: Option<i16>,
    /// A file with a `latency` block, such as `import latencies` writes
    #[arg(long, value_name = "FILE")]
    latencies: Option<PathBuf>,
    /// Play the outage, this many times at most, and move begins and lengths of faults, within what the evidence leaves open, to where
    /// the play agrees best with what was seen
    #[arg(long, value_name = "PLAYS", num_args = 0..=1, require_equals = true, default_missing_value = "120",
        value_parser = clap::value_parser!(u32).range(2..=100_000))]
    refine: Option<u32>,
    /// Go on without what cannot be read; the files say what is missing
    #[arg(long)]
    allow_partial: bool,
    /// Replace the directory even if it is not one of ours
    #[arg(long)]
    force: bool,
}

fn name(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let is_name = !text.is_empty() && text.len() <= 253 && text.chars().all(is_plain);
    if is_name { Ok(text.to_owned()) } else { Err("a name has lower case letters, digits, `-` and `.`".to_owned()) }
}

fn length(text: &str) -> Result<SimDuration, String> {
    let parsed: SimDuration = text.parse().map_err(|_| "write a length such as 40s or 1m30s".to_owned())?;
    if parsed.is_zero() { Err("a grace of no time misses every node".to_owned()) } else { Ok(parsed) }
}

pub(super) fn import(arguments: &OutageArgs, ui: &Ui) -> Result<Ending, Failure> {
    let overwrite = if arguments.force { Overwrite::Anything } else { Overwrite::OnlyOurs };
    // Before anything is read, so that a refusal costs no time.
    OutputDir::check_of(Contents::Outage, &arguments.output, overwrite).map_err(of_output)?;
    let inputs = arguments.inputs.iter().chain(&arguments.cluster).chain(&arguments.latencies);
    OutputDir::spare_inputs(&arguments.output, overwrite, inputs.map(PathBuf::as_path)).map_err(of_output)?;
    let cluster = cluster(arguments, ui)?;
    let mut importing = OutageImport::new(OutageOptions {
        name: arguments.name.clone(),
        grace: arguments.grace,
        latency: latency(arguments)?,
        clock: ClockOptions {
            offset: arguments.timezone.map(|offset| offset.by),
            is_behind: arguments.timezone.is_some_and(|offset| offset.is_behind),
            year: arguments.year,
        },
        is_partial_allowed: arguments.allow_partial,
    });
    for input in &arguments.inputs {
        if manifest::is_standard_input(input) {
            importing.add_stream(std::io::stdin(), "-");
        } else {
            importing.add(input);
        }
    }
    let mut imported = importing
        .finish(&cluster)
        .map_err(|unusable| Failure::from(Invalid { diagnostics: unusable.diagnostics, sources: unusable.sources }))?;
    ui.diagnostics(&imported.warnings, &imported.sources);
    let mut refined = String::new();
    if let Some(plays) = arguments.refine {
        refined = match refined_times(&imported, plays)? {
            Some(found) => {
                let text = refined_text(&imported, &found);
                imported.refine(&found);
                text
            }
            None => {
                "Not refined: nothing was seen that a play can be held against, or all times are exact.\n".to_owned()
            }
        };
    }
    write(arguments, &imported, overwrite).map_err(of_output)?;
    if !ui.is_quiet {
        ui.out(&told(&imported, &refined, &arguments.output.to_string_lossy(), ui))?;
    }
    Ok(Ending::Done)
}

/// What was refined, the most telling first.
fn refined_text(imported: &ImportedOutage, found: &RefinedTimes) -> String {
    let mut text = format!(
        "Refined: {:.1} % of the facts agree with the times that were guessed, {:.1} % with these ({})\n",
        found.before * 100.0,
        found.after * 100.0,
        counted(found.plays, "play", "plays")
    );
    let mut moved: Vec<_> =
        imported.bounded.iter().zip(&found.times).filter(|(time, (after, _))| time.value != *after).collect();
    moved.sort_by(|(_, (_, one)), (_, (_, other))| other.total_cmp(one));
    for (time, (after, explains)) in moved.iter().take(LINES_MAX) {
        let what = if time.path.ends_with(".at") { "begins" } else { "lasts" };
        let explains = explains * 100.0;
        let _ = writeln!(text, "  {} {what} {after}, not {}: explains {explains:.1} %", time.fault, time.value);
    }
    if moved.is_empty() {
        text.push_str("  no other time within the bounds agrees better\n");
    }
    if let Some(more) = moved.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "  and {more} more in evidence.json");
    }
    text
}

/// The cluster, from whatever it was saved by.
fn cluster(arguments: &OutageArgs, ui: &Ui) -> Result<Vec<crate::model::ManifestObject>, Failure> {
    let mut importing = ClusterImport::new();
    for path in &arguments.cluster {
        if manifest::is_standard_input(path) {
            importing.add_stream(std::io::stdin(), "-");
        } else {
            importing.add(path);
        }
    }
    let unusable = |found: crate::import::cluster::UnusableCluster| {
        Failure::from(Invalid { diagnostics: found.diagnostics, sources: found.sources })
    };
    let imported = importing.finish(arguments.allow_partial).map_err(unusable)?;
    ui.diagnostics(&imported.warnings, &imported.sources);
    Ok(manifest::load_text("cluster.yaml", &imported.document).objects)
}

/// The `latency` block of a file: below `spec`, at the top, or all of it.
fn latency(arguments: &OutageArgs) -> Result<Map<String, Value>, Failure> {
    let Some(path) = &arguments.latencies else { return Ok(Map::new()) };
    let refuse = |message: &dyn std::fmt::Display| {
        Failure::input(
            format!("`{}` cannot be used: {message}", path.display()),
            "it has a `latency:` block, as `import latencies` writes it",
        )
    };
    let text = scenario::read_text(path)?;
    latency_block(&text).map_err(|why| refuse(&why))
}

fn of_output(error: OutputError) -> Failure {
    Failure::of_output(&error, "--output")
}

fn write(arguments: &OutageArgs, imported: &ImportedOutage, overwrite: Overwrite) -> Result<(), OutputError> {
    let out = OutputDir::begin_of(Contents::Outage, &arguments.output, overwrite)?;
    out.write("outage.yaml", imported.scenario.as_bytes())?;
    out.write("cluster.yaml", imported.cluster.as_bytes())?;
    out.write("evidence.json", imported.record.as_bytes())?;
    out.write_with("observed.csv", |file| write_observed(file, &imported.observed))?;
    for (name, text) in &imported.applied {
        out.write(name, text.as_bytes())?;
    }
    out.finish()?;
    Ok(())
}

/// The verdict, on one screen.
fn told(imported: &ImportedOutage, refined: &str, output: &str, ui: &Ui) -> String {
    let paint = Paint { style: ui.stdout };
    let mut text = String::new();
    for unread in imported.unread.iter().take(LINES_MAX) {
        let _ = writeln!(text, "{}", paint.bad(&format!("Not read: {}: {}", unread.name, unread.why)));
    }
    let _ = writeln!(text, "{} t=0 is {}", paint.bold(&format!("{output}:")), imported.t0);
    let _ =
        writeln!(text, "  read {}; {}", imported.read.join("; "), counted(imported.observed.len(), "fact", "facts"));
    let parts = [
        ("Faults", &imported.faults),
        ("Operators", &imported.commands),
        ("Put back to have the cluster as it was", &imported.put_back),
        ("Not put back", &imported.not_put_back),
        ("Unexplained", &imported.unexplained),
    ];
    for (title, lines) in parts {
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{}", paint.bold(title));
        for line in lines.iter().take(LINES_MAX) {
            let _ = writeln!(text, "  {line}");
        }
        if let Some(more) = lines.len().checked_sub(LINES_MAX).filter(|more| *more > 0) {
            let _ = writeln!(text, "  and {more} more in evidence.json");
        }
    }
    if imported.faults.is_empty() {
        let _ = writeln!(text, "\nNo fault is in what was read.");
    }
    if !refined.is_empty() {
        let _ = write!(text, "\n{refined}");
    }
    let _ = writeln!(text, "\nPlay it with `kubesquall run {output}/outage.yaml --observed {output}/observed.csv`");
    text
}
