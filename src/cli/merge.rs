//! `merge`: the parts of one study put together.

use std::path::PathBuf;

use clap::Args;

use super::Ending;
use super::failure::Failure;
use super::formats::Formats;
use super::ui::Ui;
use crate::facade::{Error, StudyOutcome};
use crate::units::counted;

/// Put the parts of one study together
#[derive(Args, Debug)]
pub(super) struct MergeArgs {
    /// Directories that `sweep --shard` wrote
    #[arg(required = true, value_name = "DIR")]
    parts: Vec<PathBuf>,
    /// The directory of the whole
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    formats: Formats,
    /// Replace the output directory whatever is in it
    #[arg(long)]
    force: bool,
    /// Draw no charts and no page
    #[arg(long)]
    no_charts: bool,
}

pub(super) fn merge(arguments: &MergeArgs, ui: &Ui) -> Result<Ending, Failure> {
    let options = arguments.formats.writing().force(arguments.force).charts(!arguments.no_charts);
    let parts: Result<Vec<StudyOutcome>, Error> = arguments.parts.iter().map(StudyOutcome::read).collect();
    let parts = parts?;
    let whole = StudyOutcome::merge(parts)?;
    let place = whole.write_with(&arguments.out, &options)?;
    ui.note(format_args!("{} in {}", counted(whole.results.run_count(), "run", "runs"), place.display()));
    Ok(Ending::Done)
}
