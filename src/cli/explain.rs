//! `explain`: why something happened in a run.

use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::ui::Ui;
use super::{Ending, Output};
use crate::facade::Report;

/// Tell the story of a pod, a node, a workload, a service or another object of a run, with times and causes
///
/// For example: kubesquall explain reports/zone-outage deployment/default/ts-user-service
///
/// A story says what became of the object, spells out where the time of a recovery went, and gives each fate one chain of causes. Every
/// time in it stands in a table of the run. Autoscalers, budgets, volumes, claims and namespaces can be asked about, too, once something
/// has happened to them.
#[derive(Args, Debug)]
pub(super) struct ExplainArgs {
    /// The run's directory
    #[arg(value_name = "RUN_DIR")]
    dir: PathBuf,
    /// `pod/NAMESPACE/NAME`, `node/NAME`, `hpa/NAMESPACE/NAME`, a workload as `deployment/NAMESPACE/NAME`; or a part of it that
    /// nothing else is called, such as `worker-7`
    object: String,
    /// Every row of causes.csv about it and its pods, each with the whole chain of causes, in place of the story
    #[arg(long)]
    all: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn explain(arguments: &ExplainArgs, ui: &Ui) -> Result<Ending, Failure> {
    let run = Report::open(&arguments.dir)?;
    let found = if arguments.all { run.explain_in_full(&arguments.object)? } else { run.explain(&arguments.object)? };
    match arguments.output {
        Output::Text => ui.out(&found.to_string())?,
        Output::Json => ui.json(&found)?,
    }
    Ok(Ending::Done)
}
