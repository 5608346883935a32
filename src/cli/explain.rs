//! `explain`: why something happened in a run.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;

use super::failure::Failure;
use super::ui::Ui;
use super::words::{counted, cut, moment};
use super::{Ending, Output};
use crate::inspect::{self, Chapter, Explanation, Extent, Link};
use crate::kubectl::Kind;

/// Steps that are told in short.
const CHAPTERS_MAX: usize = 25;
/// Causes of a step that are told in short.
const LINKS_MAX: usize = 4;
/// Characters of a line: a fault that hits a thousand nodes names them all.
const LINE_LENGTH_MAX: usize = 300;
/// Consequences of one step that are listed.
const LED_TO_MAX: usize = 3;

/// Show the causes behind what happened to a pod, a node or a workload
///
/// For example: kubesquall explain reports/zone-outage deployment/default/ts-user-service
///
/// Autoscalers, budgets, services, volumes, claims and namespaces can be asked about, too, once something has happened to them.
///
/// Stages of no consequence are left out, and steps of a workload's pods that are alike and have the same root are told once, unless
/// --all is given.
#[derive(Args, Debug)]
pub(super) struct ExplainArgs {
    /// The run's directory
    #[arg(value_name = "RUN_DIR")]
    dir: PathBuf,
    /// `pod/NAMESPACE/NAME`, `node/NAME`, `hpa/NAMESPACE/NAME`, a workload as `deployment/NAMESPACE/NAME`; or a part of it that
    /// nothing else is called
    object: String,
    /// Every step, with the whole chain of causes
    #[arg(long)]
    all: bool,
    /// What to print
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

pub(super) fn explain(arguments: &ExplainArgs, ui: &Ui) -> Result<Ending, Failure> {
    let extent = if arguments.all { Extent::All } else { Extent::Short };
    let explanation = inspect::explain(&arguments.dir, &in_full(&arguments.object), extent)?;
    match arguments.output {
        Output::Text => ui.out(&text(&explanation, extent))?,
        Output::Json => ui.json(&explanation)?,
    }
    Ok(Ending::Done)
}

/// An object with its kind as results name it, in place of a plural, a short name or one with its group: `deploy/web`.
fn in_full(object: &str) -> String {
    let Some((word, rest)) = object.split_once('/') else { return object.to_owned() };
    match Kind::parse(word) {
        // What happens to objects that decide nothing is not recorded; the word may be a namespace.
        Kind::Stored(kind) if !kind.is_autoscaler() => object.to_owned(),
        kind => {
            let printed = kind.printed();
            format!("{}/{rest}", printed.split_once('.').map_or(printed, |(name, _)| name))
        }
    }
}

fn line(link: &Link) -> String {
    format!("{:>10}  {}", moment(link.time_s), link.what)
}

fn text(explanation: &Explanation, extent: Extent) -> String {
    let Explanation { object, chapters } = explanation;
    if chapters.is_empty() {
        return format!("Nothing happened to {object} during the run.\n");
    }
    let steps: usize = chapters.iter().map(|chapter| 1 + chapter.alike).sum();
    let mut text = format!("{object}: {}\n", counted(steps, "step", "steps"));
    let shown = if extent == Extent::All { chapters.len() } else { CHAPTERS_MAX.min(chapters.len()) };
    let mut last_because: &[Link] = &[];
    for chapter in &chapters[..shown] {
        let _ = writeln!(text, "\n{}", line(&chapter.effect));
        if chapter.alike > 0 {
            let more = counted(chapter.alike, "more pod", "more pods");
            let _ = writeln!(text, "            and {more} likewise, until {}", moment(chapter.until_s));
        }
        because(&mut text, chapter, last_because, extent);
        last_because = &chapter.because;
        for link in chapter.led_to.iter().take(LED_TO_MAX) {
            let _ = writeln!(text, "            led to  {}", line(link).trim_start());
        }
        if let Some(rest @ 1..) = chapter.led_to.len().checked_sub(LED_TO_MAX) {
            let _ = writeln!(text, "            and {rest} more");
        }
    }
    let rest: usize = chapters[shown..].iter().map(|chapter| 1 + chapter.alike).sum();
    if rest > 0 {
        let _ = writeln!(text, "\nand {} more: --all", counted(rest, "step", "steps"));
    } else if extent == Extent::Short {
        let _ = writeln!(text, "\n--all tells the stages in between, too");
    }
    text
}

/// The chain of causes; in short, the nearest ones and the root.
fn because(text: &mut String, chapter: &Chapter, last: &[Link], extent: Extent) {
    let chain = &chapter.because;
    if !chain.is_empty() && chain == last {
        let _ = writeln!(text, "            because of the same");
        return;
    }
    let hidden = if extent == Extent::All { 0 } else { chain.len().saturating_sub(LINKS_MAX) };
    for (place, link) in chain.iter().enumerate() {
        if hidden > 0 && place == LINKS_MAX - 1 {
            let _ = writeln!(text, "            …");
        }
        if place < LINKS_MAX - 1 || place >= LINKS_MAX - 1 + hidden {
            let _ = writeln!(text, "            because {}", cut(line(link).trim_start(), LINE_LENGTH_MAX));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_may_be_written_as_kubectl_takes_them() {
        let check = |written: &str, expected: &str| assert_eq!(in_full(written), expected);
        check("deploy/shop/web", "deployment/shop/web");
        check("deployments.apps/web", "deployment/web");
        check("PVC/shop/data", "persistentvolumeclaim/shop/data");
        check("cj/web", "cronjob/web");
        check("hpa/shop/web", "horizontalpodautoscaler/shop/web");
        check("pdb/web", "poddisruptionbudget/web");
        check("ns/shop", "namespace/shop");
        check("sts/web", "statefulset/web");
        check("po/web-5d-a", "pod/web-5d-a");
        check("shop/web-5d-a", "shop/web-5d-a");
        check("web", "web");
    }
}
