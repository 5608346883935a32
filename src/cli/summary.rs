//! What a run says on the terminal: plain words for someone who was woken by the incident.

use std::fmt::Write;
use std::path::Path;

use crate::observe::{Observed, WorkloadOutcome};
use crate::scenario::{ExpectationOutcome, ResolvedScenario};
use crate::units::{SimDuration, SimTime};

/// Workloads named one by one.
const NAMED_MAX: usize = 10;

/// The summary of a run.
pub(super) fn text(
    scenario: &ResolvedScenario,
    duration: SimDuration,
    observed: &Observed,
    expectations: &[ExpectationOutcome],
    place: &Path,
) -> String {
    let mut out = String::new();
    let first = observed.nodes.iter().filter(|row| row.at == SimTime::ZERO).count();
    let pods = observed.pods.iter().filter(|row| row.initial).count();
    line(
        &mut out,
        format_args!("{}: {duration} of {first} nodes and {pods} pods, seed {}", scenario.name, scenario.seed),
    );
    out.push('\n');
    happened(&mut out, observed);
    workloads(&mut out, &observed.summary.workloads);
    now(&mut out, observed);
    for expectation in expectations {
        let verdict = if expectation.holds { "holds" } else { "DOES NOT HOLD" };
        line(
            &mut out,
            format_args!(
                "expected {} {} {}: found {}, {verdict}",
                expectation.metric, expectation.op, expectation.value, expectation.found
            ),
        );
    }
    line(&mut out, format_args!("\nEverything is in {}", place.display()));
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("writing to a string");
}

/// The faults and commands, and what followed.
fn happened(out: &mut String, observed: &Observed) {
    const SHOWN_MAX: usize = 12;
    let done: Vec<_> = observed.events.iter().filter(|event| event.component == "scenario").collect();
    for event in done.iter().take(SHOWN_MAX) {
        let what = match event.reason {
            "FaultBegan" => "begins: ",
            "FaultEnded" => "ends:   ",
            _ => "",
        };
        line(out, format_args!("  {:>9}  {what}{}", clock(event.at), event.message));
    }
    if done.len() > SHOWN_MAX {
        line(out, format_args!("             and {} more (events.csv, component scenario)", done.len() - SHOWN_MAX));
    }
    let counts = &observed.summary.counts;
    let causes: Vec<String> = counts.deletions.iter().map(|(cause, count)| format!("{count} {cause}")).collect();
    let causes = if causes.is_empty() { "none".to_owned() } else { causes.join(", ") };
    line(out, format_args!("\nPods taken away: {causes}"));
    let reschedule = &observed.summary.rescheduling;
    if let (Some(p50), Some(max)) = (reschedule.p50_s, reschedule.max_s) {
        line(
            out,
            format_args!(
                "Replacements were Ready {p50:.1} s after the deletion (median), {max:.1} s at worst; {} pods created",
                counts.pods_created
            ),
        );
    }
}

fn workloads(out: &mut String, all: &[WorkloadOutcome]) {
    let mut hurt: Vec<&WorkloadOutcome> = all.iter().filter(|w| w.unready_replica_s > 0.0).collect();
    hurt.sort_by(|a, b| b.unready_replica_s.total_cmp(&a.unready_replica_s).then_with(|| a.name.cmp(&b.name)));
    line(
        out,
        format_args!(
            "\n{} of {} workloads were short of ready pods{}",
            hurt.len(),
            all.len(),
            if hurt.is_empty() { "." } else { "; the worst:" }
        ),
    );
    if hurt.is_empty() {
        return;
    }
    let header = ["workload", "ready min/wanted", "short for", "longest gap", "now", "objective"].map(str::to_owned);
    let mut rows = vec![header];
    for workload in hurt.iter().take(NAMED_MAX) {
        let objective = match (workload.objective, workload.objective_met) {
            (Some(objective), Some(met)) => {
                let verdict = if met { "met" } else { "MISSED" };
                format!("{:.2} % of {:.2} % {verdict}", workload.availability * 100.0, objective * 100.0)
            }
            _ => String::new(),
        };
        rows.push([
            format!("{}/{}/{}", workload.kind.to_ascii_lowercase(), workload.namespace, workload.name),
            format!("{}/{}", workload.ready_min, workload.desired),
            span(workload.below_desired_s),
            span(workload.longest_gap_s),
            format!("{}/{}", workload.ready, workload.desired),
            objective,
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    for row in &rows {
        let cells: Vec<String> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        line(out, format_args!("  {}", cells.join("  ").trim_end()));
    }
    if hurt.len() > NAMED_MAX {
        line(out, format_args!("  and {} more (summary.json)", hurt.len() - NAMED_MAX));
    }
}

/// How things stand at the end.
fn now(out: &mut String, observed: &Observed) {
    let Some(last) = observed.cluster.last() else { return };
    let nodes = last.nodes_ready + last.nodes_not_ready + last.nodes_unknown;
    line(
        out,
        format_args!(
            "\nIn the end: {} of {nodes} nodes Ready; {} pods Ready, {} Pending, {} Terminating, {} Failed",
            last.nodes_ready, last.pods_ready, last.pods_pending, last.pods_terminating, last.pods_failed
        ),
    );
    let reasons = observed.events.iter().rev().filter(|event| event.reason == "FailedScheduling");
    if last.pods_unscheduled > 0
        && let Some(event) = reasons.into_iter().next()
    {
        line(
            out,
            format_args!(
                "  {} pods have no node; the last try, {}/{}:",
                last.pods_unscheduled, event.namespace, event.name
            ),
        );
        line(out, format_args!("  {}", event.message));
    }
    let short = observed.summary.workloads.iter().filter(|w| w.ready < w.desired).count();
    if short > 0 {
        line(out, format_args!("  {short} workloads are still short of ready pods"));
    }
}

/// A moment of the run: hours, minutes, seconds.
fn clock(at: SimTime) -> String {
    let seconds = at.as_nanos() / 1_000_000_000;
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let time = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    if days > 0 { format!("{days}d {time}") } else { time }
}

/// A length of time, rounded for reading.
fn span(seconds: f64) -> String {
    match seconds {
        s if s < 0.05 => "-".to_owned(),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), s % 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
