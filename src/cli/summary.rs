//! A run in a few lines, for somebody who is tired: is all well, what happened, who suffered, who still waits and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::words::{counted, grouped, length, percent};
use crate::arena::Symbol;
use crate::diagnostics::Style;
use crate::observe::{EventRow, Observed, PodRow, ServiceOutcome, Shortage, Trap, WorkloadOutcome};
use crate::scenario::{ExpectationOutcome, ResolvedScenario};
use crate::state::PodPhase;
use crate::units::SimTime;

/// Lines per list; the rest is in the files.
const LISTED_MAX: usize = 10;
/// Reasons of waiting pods that are listed.
const REASONS_MAX: usize = 5;
/// Characters of a reason.
const REASON_LENGTH_MAX: usize = 160;

/// The summary of a run.
pub(super) fn text(
    scenario: &ResolvedScenario,
    observed: &Observed,
    outcomes: &[ExpectationOutcome],
    place: &Path,
    style: Style,
) -> String {
    let mut text = String::new();
    let paint = Paint { style };
    let node_count = observed.nodes.iter().filter(|row| row.at == SimTime::ZERO).count();
    let pod_count = observed.pods.iter().filter(|row| row.initial).count();
    let _ = writeln!(
        text,
        "{}: {} of {} and {}, seed {}",
        paint.bold(&scenario.name),
        length(scenario.duration.as_secs_f64()),
        counted(node_count, "node", "nodes"),
        counted(pod_count, "pod", "pods"),
        scenario.seed
    );
    let _ = writeln!(text, "{}", headline(observed, paint));
    happenings(&mut text, scenario, observed, paint);
    workloads(&mut text, &observed.summary.workloads, paint);
    services(&mut text, &observed.summary.services, paint);
    traps(&mut text, &observed.summary.traps, paint);
    evictions(&mut text, observed, paint);
    end(&mut text, observed, paint);
    waiting(&mut text, observed, SimTime::ZERO + scenario.duration, paint);
    if !outcomes.is_empty() {
        heading(&mut text, "Expectations", paint);
        for outcome in outcomes {
            let _ = writeln!(text, "  {}", expectation(outcome, paint));
        }
    }
    let _ = writeln!(text, "\nResults: {}", place.display());
    if !scenario.not_modelled.is_empty() {
        let fields = counted(scenario.not_modelled.len(), "field or kind of the input", "fields or kinds of the input");
        let _ = writeln!(text, "{fields} had no effect: not-modelled.csv");
    }
    text
}

/// The expectations that do not hold.
pub(super) fn broken_expectations(outcomes: &[ExpectationOutcome]) -> String {
    let paint = Paint { style: Style::Plain };
    let broken = outcomes.iter().filter(|outcome| !outcome.holds).map(|outcome| expectation(outcome, paint));
    broken.collect::<Vec<_>>().join("\n")
}

#[derive(Clone, Copy)]
struct Paint {
    style: Style,
}

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        match self.style {
            Style::Plain => text.to_owned(),
            Style::Colored => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    fn good(self, text: &str) -> String {
        self.wrap("32", text)
    }

    fn bad(self, text: &str) -> String {
        self.wrap("1;31", text)
    }
}

fn heading(text: &mut String, title: &str, paint: Paint) {
    let _ = writeln!(text, "\n{}", paint.bold(title));
}

fn at(instant: SimTime) -> String {
    length(instant.as_secs_f64())
}

fn headline(observed: &Observed, paint: Paint) -> String {
    let missed = observed.summary.workloads.iter().filter(|workload| workload.objective_met == Some(false)).count();
    let Shortage { from, until, workloads_at_end } = observed.shortage;
    let mut line = match from {
        None => paint.good("No workload was ever short of ready pods."),
        Some(from) if workloads_at_end == 0 => {
            let took = length(until.saturating_since(from).as_secs_f64());
            paint.good(&format!(
                "All workloads were whole again at {}, {took} after the first one ran short.",
                at(until)
            ))
        }
        Some(_) => {
            let workloads = counted(workloads_at_end, "workload is", "workloads are");
            paint.bad(&format!("NOT WELL at the end: {workloads} short of ready pods."))
        }
    };
    if missed > 0 {
        let missed = counted(missed, "objective was", "objectives were");
        let _ = write!(line, " {}", paint.bad(&format!("{missed} missed.")));
    }
    line
}

fn happenings(text: &mut String, scenario: &ResolvedScenario, observed: &Observed, paint: Paint) {
    let from_scenario = observed.events.iter().filter(|event| event.component == "scenario");
    let mut lines: Vec<(SimTime, String)> = from_scenario
        .filter_map(|event| {
            let is_momentary = || is_momentary(observed, event);
            let what = match event.reason {
                "FaultEnded" if is_momentary() => return None,
                "FaultBegan" if is_momentary() => event.message.clone(),
                "FaultBegan" => format!("{} begins", event.message),
                "FaultEnded" => format!("{} ends", event.message),
                "NothingToFail" | "AddNodes" => event.message.clone(),
                _ => return None,
            };
            Some((event.at, what))
        })
        .collect();
    lines.extend(observed.transcript.iter().map(|row| {
        let took = row.done_at.map(|done_at| length(done_at.saturating_since(row.at).as_secs_f64()));
        let end = match (took, row.exit) {
            (Some(took), Some(0)) => format!("took {took}"),
            (Some(took), _) => paint.bad(&format!("failed after {took}")),
            (None, _) => paint.bad("has not ended"),
        };
        (row.at, format!("kubectl {} ({end})", row.command))
    }));
    if lines.is_empty() {
        return;
    }
    lines.sort_by_key(|line| line.0);
    heading(text, "What happened", paint);
    for (instant, what) in lines.iter().take(LISTED_MAX) {
        let _ = writeln!(text, "  {:>8}  {}", at(*instant), shortened(what));
    }
    if lines.len() > LISTED_MAX {
        let more = counted(lines.len() - LISTED_MAX, "more such line", "more such lines");
        let processes = match scenario.chaos.processes.len() {
            0 => String::new(),
            count => format!(", mostly of {}", counted(count, "random process", "random processes")),
        };
        let _ = writeln!(text, "            and {more}{processes} in events.csv and transcript.jsonl");
    }
}

/// Whether a fault begins and ends at the same instant, as a reboot does.
fn is_momentary(observed: &Observed, event: &EventRow) -> bool {
    // Rows are in the order of time: its neighbors tell.
    let start = observed.events.partition_point(|other| other.at < event.at);
    let same_instant = observed.events[start..].iter().take_while(|other| other.at == event.at);
    let reasons = same_instant.filter(|other| other.component == "scenario" && other.name == event.name);
    reasons.filter(|other| matches!(other.reason, "FaultBegan" | "FaultEnded")).count() > 1
}

fn workloads(text: &mut String, outcomes: &[WorkloadOutcome], paint: Paint) {
    let mut worst: Vec<&WorkloadOutcome> = outcomes.iter().filter(|outcome| outcome.below_desired_s > 0.0).collect();
    let untouched = outcomes.len() - worst.len();
    // Missed objectives first, then whoever was short for longest; equal ones stay in the order of their creation.
    worst.sort_by(|a, b| {
        let rank = |outcome: &WorkloadOutcome| outcome.objective_met != Some(false);
        rank(a)
            .cmp(&rank(b))
            .then(b.below_min_ready_s.total_cmp(&a.below_min_ready_s))
            .then(b.below_desired_s.total_cmp(&a.below_desired_s))
    });
    if worst.is_empty() {
        return;
    }
    heading(text, "Workloads that ran short, worst first", paint);
    let has_objectives = worst.iter().any(|outcome| outcome.objective.is_some());
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let mut header = vec!["WORKLOAD", "WANTED", "FEWEST READY", "READY NOW", "SHORT FOR", "LONGEST GAP", "EVICTED"];
    if has_objectives {
        header.push("OBJECTIVE");
    }
    table.set_header(header);
    for outcome in worst.iter().take(LISTED_MAX) {
        let kind = outcome.kind.to_lowercase();
        let mut row = vec![
            format!("{kind}/{}/{}", outcome.namespace, outcome.name),
            outcome.desired.to_string(),
            outcome.ready_min.to_string(),
            outcome.ready.to_string(),
            length(outcome.below_desired_s),
            length(outcome.longest_gap_s),
            outcome.disruptions.to_string(),
        ];
        if has_objectives {
            row.push(objective(outcome));
        }
        table.add_row(row);
    }
    worst_first(text, table, 1..7, worst.len());
    if untouched > 0 {
        let _ = writeln!(text, "  {} never short", counted(untouched, "other was", "others were"));
    }
}

/// Prints a table of the worst of so many, with numbers in these columns.
fn worst_first(text: &mut String, mut table: Table, numbers: Range<usize>, found: usize) {
    for column in numbers {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        let _ = writeln!(text, " {}", line.trim_end());
    }
    if found > LISTED_MAX {
        let _ = writeln!(text, "  and {} more in summary.json", grouped((found - LISTED_MAX) as u64));
    }
}

fn objective(outcome: &WorkloadOutcome) -> String {
    let Some(objective) = outcome.objective else { return String::new() };
    let (found, wanted) = (percent(outcome.availability), percent(objective));
    if outcome.objective_met == Some(false) { format!("MISSED: {found} of {wanted}") } else { format!("kept: {found}") }
}

/// Services that lost traffic: for how long they had no endpoint, and some on machines that were down.
fn services(text: &mut String, outcomes: &[ServiceOutcome], paint: Paint) {
    let mut worst: Vec<&ServiceOutcome> = outcomes.iter().filter(|outcome| outcome.lost_traffic_s > 0.0).collect();
    worst.sort_by(|a, b| b.lost_traffic_s.total_cmp(&a.lost_traffic_s));
    if worst.is_empty() {
        return;
    }
    heading(text, "Services that lost traffic, worst first", paint);
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["SERVICE", "NO ENDPOINT", "LONGEST", "DEAD ENDPOINTS", "LOST TRAFFIC"]);
    for outcome in worst.iter().take(LISTED_MAX) {
        let lengths = [
            outcome.without_targets_s,
            outcome.longest_without_targets_s,
            outcome.dead_targets_s,
            outcome.lost_traffic_s,
        ];
        let name = format!("service/{}/{}", outcome.namespace, outcome.name);
        table.add_row(std::iter::once(name).chain(lengths.map(length)));
    }
    worst_first(text, table, 1..5, worst.len());
}

/// Known traps that decided something, a line each.
fn traps(text: &mut String, traps: &[Trap], paint: Paint) {
    if traps.is_empty() {
        return;
    }
    heading(text, "Traps that decided something", paint);
    for trap in traps {
        let _ = writeln!(text, "  {} ({})", trap.text, trap.see);
    }
}

/// How nodes and pods stand at the end.
fn end(text: &mut String, observed: &Observed, paint: Paint) {
    let Some(last) = observed.cluster.last() else { return };
    let number = |count: i64| grouped(count.unsigned_abs());
    let node_count = last.nodes_ready + last.nodes_not_ready + last.nodes_unknown;
    heading(text, "In the end", paint);
    let mut nodes = format!("{} of {} nodes Ready", number(last.nodes_ready), number(node_count));
    if last.nodes_unschedulable > 0 {
        let _ = write!(nodes, ", {} unschedulable", number(last.nodes_unschedulable));
    }
    let mut pods = format!("{} pods Ready", number(last.pods_ready));
    let others = [
        (last.pods_running - last.pods_ready, "running but not Ready"),
        (last.pods_pending, "Pending"),
        (last.pods_terminating, "Terminating"),
        (last.pods_failed, "Failed"),
        (last.pods_succeeded, "Succeeded"),
    ];
    for (count, state) in others.into_iter().filter(|other| other.0 > 0) {
        let _ = write!(pods, ", {} {state}", number(count));
    }
    let _ = writeln!(text, "  {nodes}; {pods}");
}

/// Pods that wait at the end, by reason.
fn waiting(text: &mut String, observed: &Observed, end: SimTime, paint: Paint) {
    let is_waiting =
        |pod: &&PodRow| pod.phase == PodPhase::Pending && pod.gone_at.is_none() && pod.deletion_at.is_none();
    let pods: Vec<&PodRow> = observed.pods.iter().filter(is_waiting).collect();
    if pods.is_empty() {
        return;
    }
    let mut refusals: BTreeMap<(Symbol, &str), &str> = BTreeMap::new();
    for event in observed.events.iter().filter(|event| event.reason == "FailedScheduling") {
        refusals.insert((event.namespace, &event.name), &event.message);
    }
    let mut reasons: BTreeMap<String, Vec<&PodRow>> = BTreeMap::new();
    for pod in &pods {
        let reason = match (pod.scheduled_at, refusals.get(&(pod.namespace, &*pod.name))) {
            (Some(_), _) => "bound to a node, its containers have not started".to_owned(),
            (None, Some(message)) => (*message).to_owned(),
            (None, None) => "not yet looked at by the scheduler".to_owned(),
        };
        reasons.entry(reason).or_default().push(pod);
    }
    let mut reasons: Vec<(String, Vec<&PodRow>)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, pods)| std::cmp::Reverse(pods.len()));
    heading(text, &format!("Pods waiting: {}", grouped(pods.len() as u64)), paint);
    for (reason, pods) in reasons.iter().take(REASONS_MAX) {
        let longest = pods.iter().map(|pod| end.saturating_since(pod.created_at)).max().unwrap_or_default();
        let mut names: Vec<String> = pods.iter().take(2).map(|pod| format!("{}/{}", pod.namespace, pod.name)).collect();
        if pods.len() > names.len() {
            names.push("…".to_owned());
        }
        let _ = writeln!(
            text,
            "  {:>5}  for up to {}: {}",
            grouped(pods.len() as u64),
            length(longest.as_secs_f64()),
            names.join(", ")
        );
        let _ = writeln!(text, "         {}", shortened(reason));
    }
    if reasons.len() > REASONS_MAX {
        let more = counted(reasons.len() - REASONS_MAX, "more reason", "more reasons");
        let _ = writeln!(text, "         and {more} in events.csv");
    }
}

/// Deletions that nobody who owns the pods asked for, by cause.
fn evictions(text: &mut String, observed: &Observed, paint: Paint) {
    let counts = &observed.summary.counts;
    let causes: Vec<(u64, &str)> =
        counts.deletions.iter().filter_map(|(cause, count)| Some((*count, words(cause)?))).collect();
    if causes.is_empty() {
        return;
    }
    let total: u64 = causes.iter().map(|cause| cause.0).sum();
    heading(text, &format!("Pods taken away: {}", grouped(total)), paint);
    for (count, words) in causes {
        let _ = writeln!(text, "  {:>5}  {words}", grouped(count));
    }
    if let (Some(median), Some(longest)) = (observed.summary.rescheduling.p50_s, observed.summary.rescheduling.max_s) {
        let (median, longest) = (length(median), length(longest));
        let _ =
            writeln!(text, "         a replacement was Ready after {median} in the median, {longest} at the longest");
    }
}

/// What a cause of deletion means; none for what owners and operators wanted.
fn words(cause: &str) -> Option<&'static str> {
    Some(match cause {
        "TaintManagerEviction" => "evicted from nodes that were lost or tainted (TaintManagerEviction)",
        "EvictionByEvictionAPI" => "evicted through the eviction API, as by drain (EvictionByEvictionAPI)",
        "DeletionByPodGC" => "removed because their node is gone (DeletionByPodGC)",
        "PreemptionByScheduler" => "preempted by pods of higher priority (PreemptionByScheduler)",
        "TerminationByKubelet" => "ended by their kubelet (TerminationByKubelet)",
        "NodePressure" => "evicted by their kubelet for lack of resources (NodePressure)",
        _ => return None,
    })
}

fn expectation(outcome: &ExpectationOutcome, paint: Paint) -> String {
    let wanted = format!("{} {} {}", outcome.metric, outcome.op, outcome.value);
    if outcome.holds {
        format!("{}  {wanted} (found {})", paint.good("holds"), outcome.found)
    } else {
        format!("{} {wanted} (found {})", paint.bad("BROKEN"), outcome.found)
    }
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= REASON_LENGTH_MAX {
        return text.to_owned();
    }
    text.chars().take(REASON_LENGTH_MAX).chain(['…']).collect()
}
