//! `explain`: why something happened in a run.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::ui::Ui;
use super::words::{counted, moment};
use super::{Ending, Output};
use crate::inspect::{self, Explanation, Link};

/// Consequences of one step that are listed.
const LED_TO_MAX: usize = 3;

/// Show the causes behind what happened to a pod, a node or a workload
///
/// For example: kubesquall explain reports/zone-outage deployment/default/ts-user-service
#[derive(Args, Debug)]
pub(super) struct ExplainArgs {
    /// The run's directory
    #[arg(value_name = "RUN_DIR")]
    dir: PathBuf,
    /// `pod/NAMESPACE/NAME`, `node/NAME`, or a workload as `deployment/NAMESPACE/NAME`
    object: String,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn explain(arguments: &ExplainArgs, ui: &Ui) -> Result<Ending, Failure> {
    let explanation = inspect::explain(&arguments.dir, &arguments.object)?;
    match arguments.output {
        Output::Text => ui.out(&text(&explanation))?,
        Output::Json => ui.json(&explanation)?,
    }
    Ok(Ending::Done)
}

fn line(link: &Link) -> String {
    format!("{:>10}  {}", moment(link.time_s), link.what)
}

fn text(explanation: &Explanation) -> String {
    let Explanation { object, chapters } = explanation;
    if chapters.is_empty() {
        return format!("Nothing happened to {object} during the run.\n");
    }
    let mut text = format!("{object}: {}\n", counted(chapters.len(), "step", "steps"));
    let mut last_because: &[Link] = &[];
    for chapter in chapters {
        let _ = writeln!(text, "\n{}", line(&chapter.effect));
        if !chapter.because.is_empty() && chapter.because == last_because {
            let _ = writeln!(text, "            because of the same");
        } else {
            for link in &chapter.because {
                let _ = writeln!(text, "            because {}", line(link).trim_start());
            }
        }
        last_because = &chapter.because;
        for link in chapter.led_to.iter().take(LED_TO_MAX) {
            let _ = writeln!(text, "            led to  {}", line(link).trim_start());
        }
        if let Some(rest @ 1..) = chapter.led_to.len().checked_sub(LED_TO_MAX) {
            let _ = writeln!(text, "            and {rest} more");
        }
    }
    text
}
