//! What is said of two runs before any figure: the same in the terminal and on the page.

use super::{Diff, Inputs, Run};
use crate::diagnostics::{Remark, Tone};
use crate::units::{SimDuration, counted};

/// By how many seconds a fate has to change for it to be called worse or better.
pub(super) const FELT_S: f64 = 1.0;

fn neutral(text: impl Into<String>) -> Remark {
    Remark::new(Tone::Neutral, text)
}

/// A length of time as it is written in sentences: in whole seconds unless it is short.
pub(super) fn lasting(seconds: f64) -> SimDuration {
    let tenths = (seconds.abs() * 10.0).round() as u64;
    if tenths < 100 { SimDuration::from_millis(tenths * 100) } else { SimDuration::from_secs((tenths + 5) / 10) }
}

/// What is said of two runs that have been compared.
pub(super) fn of(diff: &Diff) -> Vec<Remark> {
    let mut said = Vec::new();
    if diff.alike {
        said.push(Remark::new(Tone::Good, "No difference: the runs came out alike."));
    } else {
        said.extend(fates(diff));
    }
    said.push(neutral(of_inputs(&diff.inputs)));
    if let Some([before, after]) = &diff.inputs.versions {
        said.push(neutral(format!("They were played by different versions: {before} and {after}.")));
    }
    let [Run { scenario: before, duration_s: short, .. }, Run { scenario: after, duration_s: long, .. }] = &diff.runs;
    if before != after {
        said.push(neutral(format!("These are runs of different scenarios: {before} and {after}.")));
    }
    if short != long {
        let (short, long) = (lasting(*short), lasting(*long));
        said.push(neutral(format!(
            "They are not equally long: {short} and {long}. Figures are of the whole of each; nobody counts as better off in the shorter one."
        )));
    }
    said
}

fn of_inputs(inputs: &Inputs) -> String {
    let Inputs { same, only_seed, seeds, own_plugins, settings, more, .. } = inputs;
    if *same {
        return "The inputs were the same: equal lock files, equal seeds.".to_owned();
    }
    if *only_seed {
        return "The inputs were the same but for the seed: what differs is chance.".to_owned();
    }
    if *own_plugins && settings.is_empty() {
        let seed = if seeds.is_some() { " but for the seed" } else { "" };
        return format!("The inputs were the same{seed}, as far as files tell: they do not hold the plug-ins.");
    }
    let seed = if seeds.is_some() { ", and in the seed" } else { "" };
    format!("What went in differs in {}{seed}.", counted(settings.len() + more, "setting", "settings"))
}

/// How many workloads fared worse, and how many better; none if no run has one of the other's. What a shorter run did not see it
/// cannot have spared anybody: it counts as worse where it was worse in less time, and never as better.
fn fates(diff: &Diff) -> Option<Remark> {
    let in_both = diff.workloads.iter().filter(|of| of.worse_s.is_some());
    let [first, second] = diff.runs.each_ref().map(|run| run.duration_s);
    let is_worse = |worse: f64| worse >= FELT_S && first >= second;
    let is_better = |worse: f64| worse <= -FELT_S && second >= first;
    let worse = in_both.clone().filter(|of| of.worse_s.is_some_and(is_worse)).count();
    let better = in_both.clone().filter(|of| of.worse_s.is_some_and(is_better)).count();
    let is_felt = in_both.clone().any(|of| of.worse_s.is_some_and(|worse| worse.abs() >= FELT_S));
    let only = |side: usize| {
        in_both.clone().filter(move |of| of.short_end.is_some_and(|ends| ends[side] && !ends[1 - side])).count()
    };
    let (broken, whole) = (only(1), only(0));
    in_both.clone().next()?;
    let mut text = match (worse, better) {
        (0, 0) if !is_felt => "No workload was short for a second longer in one run than in the other".to_owned(),
        _ if first > second => {
            let fared = counted(worse, "workload fared", "workloads fared");
            format!("{fared} worse in the second run, though it was shorter")
        }
        _ if first < second => {
            let fared = counted(better, "workload fared", "workloads fared");
            format!("{fared} better in the second run, though it was longer")
        }
        _ => {
            format!("{} worse in the second run, {better} better", counted(worse, "workload fared", "workloads fared"))
        }
    };
    for (count, run) in [(broken, "second"), (whole, "first")] {
        if count > 0 {
            text.push_str(&format!("; {} short at the end of the {run} run alone", counted(count, "is", "are")));
        }
    }
    Some(Remark::new(if broken > 0 { Tone::Bad } else { Tone::Neutral }, format!("{text}.")))
}
