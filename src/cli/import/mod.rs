//! `import`: what there is of real clusters becomes parts of a scenario.

mod cluster;
mod faults;
mod latencies;
mod outage;

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Ending;
use super::failure::Failure;
use super::ui::Ui;

/// Make dumps and records of real clusters into parts of a scenario
#[derive(Args, Debug)]
pub(super) struct ImportArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Cluster(cluster::ClusterArgs),
    Faults(faults::FaultsArgs),
    Latencies(latencies::LatenciesArgs),
    Outage(outage::OutageArgs),
}

pub(super) fn import(arguments: &ImportArgs, ui: &Ui) -> Result<Ending, Failure> {
    match &arguments.what {
        What::Cluster(arguments) => cluster::import(arguments, ui),
        What::Faults(arguments) => faults::import(arguments, ui),
        What::Latencies(arguments) => latencies::import(arguments, ui),
        What::Outage(arguments) => outage::import(arguments, ui),
    }
}

/// Writes files, or none of them if one is there and is not to be replaced.
pub(super) fn write(files: &[(PathBuf, &str)], is_forced: bool) -> Result<(), Failure> {
    // Elsewhere `-o` says what is printed.
    if let Some((path, _)) =
        files.iter().find(|(path, _)| ["json", "yaml", "text"].iter().any(|word| path.as_os_str() == *word))
    {
        let message = format!("`-o {0}` would write a file with the name {0}", path.display());
        return Err(Failure::input(
            message,
            "name the file, such as `-o faults.yaml`; `import` prints nothing in other forms",
        ));
    }
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists() && !is_forced) {
        return Err(Failure::input(
            format!("`{}` is there already", path.display()),
            "name another --output, or --force",
        ));
    }
    for (path, text) in files {
        let cannot = |error: std::io::Error| {
            Failure::input(format!("cannot write `{}`: {error}", path.display()), "check that you may write there")
        };
        fs::write(path, text).map_err(cannot)?;
    }
    Ok(())
}
