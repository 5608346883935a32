//! `import cluster`: dumps, support bundles, backups and recordings become a cluster to play.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::super::Ending;
use super::super::failure::Failure;
use super::super::paint::Paint;
use super::super::ui::Ui;
use super::write;
use crate::import::cluster::{ClusterImport, ImportedCluster};
use crate::model::manifest::{self, DUMP_COMMAND};
use crate::scenario::Invalid;
use crate::units::{counted, grouped};

/// How standard output is named in place of a file.
const STANDARD_OUTPUT: &str = "-";

/// Kinds by which a cluster is told at a glance, as one and as many.
const TOLD: [(&str, &str, &str); 2] = [("Node", "node", "nodes"), ("Pod", "pod", "pods")];

/// Make dumps, support bundles, backups and recordings into a cluster to play
///
/// Reads what `kubectl get -o json|yaml` and `kubectl cluster-info dump` save, sonobuoy results, must-gather and Insights archives,
/// troubleshoot.sh support bundles, Velero backups, k8shark captures, KWOK recordings, SimKube traces, and exports of
/// kube-scheduler-simulator: as directories, .tar.gz, .tar.zst, .tar or .zip. Nothing is unpacked to disk.
///
/// Writes one sorted file that every command takes for a cluster. Its head says where it comes from and what is missing; importing it
/// again changes nothing. Secrets and ConfigMaps are not kept.
#[derive(Args, Debug)]
pub(in crate::cli) struct ClusterArgs {
    /// Bundles, dumps and directories of them, or `-` for standard input
    #[arg(required_unless_present = "print_command", value_name = "BUNDLE")]
    inputs: Vec<PathBuf>,
    /// The file to be written, or `-` for standard output
    #[arg(short, long, required_unless_present = "print_command", value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the kubectl line that saves all of a cluster that a run makes use of, and do nothing else
    #[arg(long, conflicts_with_all = ["inputs", "output"])]
    print_command: bool,
    /// Go on without what cannot be read; the file says what is missing
    #[arg(long)]
    allow_partial: bool,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

pub(super) fn import(arguments: &ClusterArgs, ui: &Ui) -> Result<Ending, Failure> {
    let Some(output) = &arguments.output else {
        ui.data(&format!("{DUMP_COMMAND}\n"))?;
        return Ok(Ending::Done);
    };
    let is_written = output.as_os_str() != STANDARD_OUTPUT;
    if is_written && output.exists() && !arguments.force {
        // Before anything is read, so that a refusal costs no time.
        write(&[(output.clone(), "")], false)?;
    }
    let mut importing = ClusterImport::new();
    for input in &arguments.inputs {
        if manifest::is_standard_input(input) {
            importing.add_stream(std::io::stdin(), "-");
        } else {
            importing.add(input);
        }
    }
    let unusable = |found: crate::import::cluster::UnusableCluster| {
        Failure::from(Invalid { diagnostics: found.diagnostics, sources: found.sources })
    };
    let imported = importing.finish(arguments.allow_partial).map_err(unusable)?;
    ui.diagnostics(&imported.warnings, &imported.sources);
    if !is_written {
        ui.data(&imported.document)?;
        return Ok(Ending::Done);
    }
    write(&[(output.clone(), &imported.document)], arguments.force)?;
    if !ui.is_quiet {
        ui.out(&told(&imported, &output.to_string_lossy(), ui))?;
    }
    Ok(Ending::Done)
}

/// The verdict: what the cluster is, and what it is not.
fn told(imported: &ImportedCluster, output: &str, ui: &Ui) -> String {
    let paint = Paint { style: ui.stdout };
    let count = |kind: &str| imported.counts.get(kind).copied().unwrap_or(0);
    let mut parts: Vec<String> = TOLD.iter().map(|(kind, one, many)| counted(count(kind), one, many)).collect();
    let others = imported.counts.iter().filter(|(kind, _)| TOLD.iter().all(|told| told.0 != **kind));
    parts.extend(others.map(|(kind, count)| format!("{kind} {}", grouped(count))));
    let mut text = String::new();
    let (unread, said): (Vec<&String>, Vec<&String>) =
        imported.statements.iter().partition(|line| line.starts_with("Not read: "));
    for line in unread {
        let _ = writeln!(text, "{}", paint.bad(line));
    }
    let _ = writeln!(text, "{} {}", paint.bold(&format!("{output}:")), parts.join(", "));
    for line in said {
        let _ = writeln!(text, "  {line}");
    }
    text
}
