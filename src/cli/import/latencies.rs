//! `import latencies`: what a cluster recorded of its pods, nodes and events becomes a scenario's latencies.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use comfy_table::{CellAlignment, Table};

use super::super::Ending;
use super::super::failure::Failure;
use super::super::paint::Paint;
use super::super::ui::Ui;
use super::write;
use crate::import::latencies::{ImportedLatencies, Latency, LatencyEvidence, LatencyOptions, annotated};
use crate::model::manifest;
use crate::scenario::{self, Invalid};
use crate::units::length;

/// Make a cluster's pods, nodes and events into the latencies of a scenario
///
/// Reads what `kubectl get pods,nodes,replicasets,events -A -o json` saves, files of events (v1, events.k8s.io, one a line), and the
/// directories and archives that `import cluster` reads. How long pods take to start, to become Ready and to stop, images to be
/// pulled, nodes to boot and kubelets to reconnect is fitted as constant, exponential, Weibull, lognormal and gamma, and the best is
/// taken. Whole seconds, and what had not ended, count as what they are.
///
/// Writes the block `latency`, to stand below a scenario's `spec:`, and the annotations of workloads with enough samples.
#[derive(Args, Debug)]
pub(in crate::cli) struct LatenciesArgs {
    /// Dumps, bundles, files of events and directories of them, or `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// The file to be written
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Lengths with a beginning and an end that it takes for a distribution
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(4..))]
    min_samples: u32,
    /// A cluster, as `import cluster` writes it, of which a copy with the annotations is written beside the file
    #[arg(long, value_name = "CLUSTER")]
    cluster: Option<PathBuf>,
    /// Go on without what cannot be read
    #[arg(long)]
    allow_partial: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

pub(super) fn import(arguments: &LatenciesArgs, ui: &Ui) -> Result<Ending, Failure> {
    let output = &arguments.output;
    if output.exists() && !arguments.force {
        // Before anything is read, so that a refusal costs no time.
        write(&[(output.clone(), "")], false)?;
    }
    let mut evidence = LatencyEvidence::new();
    for input in &arguments.inputs {
        if manifest::is_standard_input(input) {
            evidence.add_stream(std::io::stdin(), "-");
        } else {
            evidence.add(input);
        }
    }
    let stem = output.file_stem().map_or_else(|| "latencies".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let options = LatencyOptions {
        samples_min: arguments.min_samples as usize,
        is_partial_allowed: arguments.allow_partial,
        stem: stem.clone(),
    };
    let unusable = |found: crate::import::latencies::UnusableEvidence| {
        Failure::from(Invalid { diagnostics: found.diagnostics, sources: found.sources })
    };
    let imported = evidence.finish(&options).map_err(unusable)?;
    ui.diagnostics(&imported.warnings, &imported.sources);
    let copy = arguments.cluster.as_ref().map(|path| with_annotations(path, &imported, ui)).transpose()?;
    let folder = output.parent().unwrap_or(Path::new(""));
    let mut files = vec![(output.clone(), &*imported.document)];
    files.extend(imported.files.iter().map(|(name, text)| (folder.join(name), &**text)));
    files.extend(copy.iter().map(|text| (folder.join(format!("{stem}-cluster.yaml")), &**text)));
    write(&files, arguments.force)?;
    if !ui.is_quiet {
        ui.out(&told(&imported, ui))?;
    }
    Ok(Ending::Done)
}

fn with_annotations(path: &Path, imported: &ImportedLatencies, ui: &Ui) -> Result<String, Failure> {
    let cluster = scenario::read_text(path)?;
    let refused =
        |why| Failure::input(format!("`{}` is no cluster: {why}", path.display()), "name what `import cluster` wrote");
    let (text, missing) = annotated(&cluster, &imported.latencies).map_err(refused)?;
    for workload in missing {
        ui.note(format_args!("`{}` has no {workload}: its annotations are in the file only", path.display()));
    }
    Ok(text)
}

/// What was found, a line each, and what to know about it.
fn told(imported: &ImportedLatencies, ui: &Ui) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["LATENCY", "OF", "LENGTHS", "CENSORED", "MEDIAN", "99 %", "DISTANCE", "BY CHANCE", "TAKEN"]);
    for latency in &imported.latencies {
        table.add_row(row(latency));
    }
    for column in [2, 3, 4, 5, 6, 7] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = format!("{}\n", table.trim_fmt());
    let paint = Paint { style: ui.stdout };
    for latency in &imported.latencies {
        // The file has them all.
        let is_told = |note: &&String| latency.workload.is_none() || note.starts_with("warning");
        for note in latency.notes.iter().filter(is_told) {
            let of = latency.workload.as_ref().map_or_else(String::new, |workload| format!(" of {workload}"));
            let line = format!("{}{of}: {note}", latency.measure.field());
            let _ = writeln!(text, "{}", if note.starts_with("warning") { paint.bad(&line) } else { line });
        }
    }
    for (measure, why, count) in &imported.left_out {
        let _ = writeln!(text, "{}: left out: {why}: {count}", measure.field());
    }
    text
}

fn row(latency: &Latency) -> [String; 9] {
    let none = || "-".to_owned();
    let best = latency.fits.first().filter(|_| latency.taken.is_some());
    let at = |p: f64| best.map_or_else(none, |fit| length(fit.distribution.quantile(p).as_secs_f64()));
    [
        latency.measure.field().to_owned(),
        latency.workload.clone().unwrap_or_else(|| "the cluster".to_owned()),
        latency.whole.to_string(),
        (latency.open + latency.capped).to_string(),
        at(0.5),
        at(0.99),
        latency.goodness.map_or_else(none, |goodness| format!("{:.3}", goodness.distance)),
        latency.goodness.and_then(|goodness| goodness.p_value).map_or_else(none, |p| format!("{:.0} %", p * 100.0)),
        latency.written().unwrap_or_else(|| "the default stays".to_owned()),
    ]
}
