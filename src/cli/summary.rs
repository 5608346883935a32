//! A run in a few lines, for somebody who is tired: is all well, what happened, who suffered, who still waits and why.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use super::paint::Paint;
use super::table::NameTable;
use super::words::percent_against;
use crate::arena::Symbol;
use crate::component::InvolvedKind;
use crate::diagnostics::Style;
use crate::observe::{
    EventRow, JudgedObjective, Matter, Observed, PodRow, SCENARIO, ServiceOutcome, Tone, Trap, WorkloadOutcome, reason,
};
use crate::scenario::{ExpectationOutcome, ResolvedScenario};
use crate::state::PodPhase;
use crate::units::{SimTime, counted, cut, grouped, length};

/// Lines per list; the rest is in the files.
const LISTED_MAX: usize = 10;
/// Reasons of waiting pods that are listed.
const REASONS_MAX: usize = 5;
/// Characters of a sentence of the verdict; all of it is in summary.json.
const SENTENCE_LENGTH_MAX: usize = 320;
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
        pods_at_start(scenario, pod_count),
        scenario.seed
    );
    verdict(&mut text, observed, paint);
    happenings(&mut text, scenario, observed, paint);
    workloads(&mut text, &observed.summary.workloads, paint);
    objectives(&mut text, &observed.summary.workloads, paint);
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

/// How many pods there are at t=0, and in the input, if it has some and others.
fn pods_at_start(scenario: &ResolvedScenario, count: usize) -> String {
    let pods = counted(count, "pod", "pods");
    match scenario.input.objects.get("Pod") {
        Some(read) if *read != count => format!("{pods} at t=0 ({} in the input)", grouped(*read as u64)),
        _ => pods,
    }
}

/// The expectations that do not hold.
pub(super) fn broken_expectations(outcomes: &[ExpectationOutcome]) -> String {
    let paint = Paint { style: Style::Plain };
    let broken = outcomes.iter().filter(|outcome| !outcome.holds).map(|outcome| expectation(outcome, paint));
    broken.collect::<Vec<_>>().join("\n")
}

fn heading(text: &mut String, title: &str, paint: Paint) {
    let _ = writeln!(text, "\n{}", paint.bold(title));
}

fn at(instant: SimTime) -> String {
    length(instant.as_secs_f64())
}

/// The verdict, a sentence a line. Traps have a section of their own.
fn verdict(text: &mut String, observed: &Observed, paint: Paint) {
    for sentence in observed.summary.verdict.iter().filter(|sentence| sentence.kind != Matter::Trap) {
        let line = cut(&sentence.text, SENTENCE_LENGTH_MAX);
        let line = match sentence.tone {
            Tone::Bad => paint.bad(&line),
            Tone::Good => paint.good(&line),
            Tone::Healed | Tone::Neutral => line,
        };
        let _ = writeln!(text, "{line}");
    }
}

fn happenings(text: &mut String, scenario: &ResolvedScenario, observed: &Observed, paint: Paint) {
    let mut lines: Vec<(SimTime, String)> = faults(observed);
    lines.extend(commands(observed, paint));
    lines.extend(procedures(observed, paint));
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

fn faults(observed: &Observed) -> Vec<(SimTime, String)> {
    let from_scenario = observed.events.iter().filter(|event| event.component == SCENARIO);
    let lines = from_scenario.filter_map(|event| {
        let is_momentary = || is_momentary(observed, event);
        let what = match event.reason {
            reason::FAULT_ENDED if is_momentary() => return None,
            reason::FAULT_BEGAN if is_momentary() => few_nodes(&event.message),
            reason::FAULT_BEGAN => format!("{} begins", few_nodes(&event.message)),
            reason::FAULT_ENDED => format!("{} ends", few_nodes(&event.message)),
            reason::NOTHING_TO_FAIL | reason::NO_SHUTDOWN_GRACE_PERIOD | reason::ADD_NODES => event.message.clone(),
            _ => return None,
        };
        Some((event.at, what))
    });
    lines.collect()
}

/// A fault with the first nodes that it hit: events.csv names all.
fn few_nodes(message: &str) -> String {
    const NAMED_MAX: usize = 6;
    // So that what follows the names, and how many more there are, can be read.
    const LENGTH_MAX: usize = REASON_LENGTH_MAX - 30;
    let names: Vec<&str> = message.split(", ").collect();
    let fits = |count: &usize| names[..*count].iter().map(|name| name.len() + 2).sum::<usize>() <= LENGTH_MAX;
    let shown = (1..=names.len().min(NAMED_MAX)).rev().find(fits).unwrap_or(1);
    let first = names[..shown].join(", ");
    match names.len() - shown {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The lines that were typed.
fn commands(observed: &Observed, paint: Paint) -> Vec<(SimTime, String)> {
    let lines = observed.transcript.iter().map(|row| {
        let took = row.done_at.map(|done_at| length(done_at.saturating_since(row.at).as_secs_f64()));
        let end = match (took, row.exit) {
            (Some(took), Some(0)) => format!("took {took}"),
            (Some(took), _) => paint.bad(&format!("failed after {took}")),
            (None, _) => paint.bad("not done when the run ended"),
        };
        (row.at, format!("{} ({end})", crate::component::typed(&row.command)))
    });
    lines.collect()
}

/// How upgrades and reboots of pools began and ended, and what cluster-autoscaler did.
fn procedures(observed: &Observed, paint: Paint) -> Vec<(SimTime, String)> {
    let kinds = [InvolvedKind::NodePool.as_str(), InvolvedKind::ConfigMap.as_str()];
    let of_pools = observed.events.iter().filter(|event| kinds.contains(&event.kind));
    let lines = of_pools.filter_map(|event| {
        let what = match event.reason {
            reason::ROLLING_UPGRADE_BEGAN => format!("pool {}: {} begins", event.name, event.message),
            reason::ROLLING_UPGRADE_ENDED => format!("pool {}: the upgrade ends, {}", event.name, event.message),
            reason::ROLLING_UPGRADE_FAILED => {
                format!("pool {}: {} {}", event.name, paint.bad("the upgrade failed,"), event.message)
            }
            reason::REBOOT_REQUIRED | reason::REBOOTS_ENDED => format!("pool {}: {}", event.name, event.message),
            // What it does comes in pairs: the size of a group, or the node that goes.
            _ if event.component == "cluster-autoscaler" => format!("{}: {}", event.component, event.message),
            _ => return None,
        };
        Some((event.at, what))
    });
    lines.collect()
}

/// Whether a fault begins and ends at the same instant, as a reboot does.
fn is_momentary(observed: &Observed, event: &EventRow) -> bool {
    // Rows are in the order of time: its neighbors tell.
    let start = observed.events.partition_point(|other| other.at < event.at);
    let same_instant = observed.events[start..].iter().take_while(|other| other.at == event.at);
    let reasons = same_instant.filter(|other| other.component == SCENARIO && other.name == event.name);
    reasons.filter(|other| matches!(other.reason, reason::FAULT_BEGAN | reason::FAULT_ENDED)).count() > 1
}

/// Workloads that ran short, in the order of the summary.
fn workloads(text: &mut String, outcomes: &[WorkloadOutcome], paint: Paint) {
    let worst: Vec<&WorkloadOutcome> = outcomes.iter().filter(|outcome| outcome.was_short()).collect();
    let untouched = outcomes.len() - worst.len();
    if worst.is_empty() {
        return;
    }
    heading(text, "Workloads that ran short, worst first", paint);
    let mut table = NameTable::new(&["WORKLOAD", "READY", "MISSING", "LONGEST", "IN ALL", "TAKEN AWAY"]);
    for outcome in worst.iter().take(LISTED_MAX) {
        table.add([
            outcome.object(),
            format!("{}/{}", outcome.ready, outcome.desired),
            outcome.missing_max.to_string(),
            length(outcome.longest_short_s),
            length(outcome.below_desired_s),
            outcome.disruptions.to_string(),
        ]);
    }
    worst_first(text, &table, worst.len());
    if untouched > 0 {
        let _ = writeln!(text, "  {} never short", counted(untouched, "other was", "others were"));
    }
    let _ = writeln!(text, "  READY: of those wanted, at the end; MISSING: most at once; LONGEST, IN ALL: time short");
}

/// Objectives, the missed ones first.
fn objectives(text: &mut String, outcomes: &[WorkloadOutcome], paint: Paint) {
    let mut judged: Vec<(JudgedObjective, &WorkloadOutcome)> =
        outcomes.iter().flat_map(|outcome| outcome.judged().map(move |judged| (judged, outcome))).collect();
    if judged.is_empty() {
        return;
    }
    judged.sort_by(|(a, _), (b, _)| a.objective_met.cmp(&b.objective_met).then_with(|| a.worst_first(b)));
    heading(text, "Objectives", paint);
    for (judged, outcome) in judged.iter().take(LISTED_MAX) {
        let (found, wanted) = percent_against(judged.availability, judged.objective);
        // What tells it from the others of the workload.
        let of = match outcome.other_objectives.is_empty() {
            true => String::new(),
            false => format!(" with {} ready", judged.min_ready),
        };
        let object = outcome.object();
        let _ = match judged.objective_met {
            false => writeln!(text, "  {} {object}{of}: {found} of {wanted}", paint.bad("MISSED")),
            true => writeln!(text, "  {}   {object}{of}: {found} of {wanted}", paint.good("kept")),
        };
    }
    let missed = judged.iter().skip(LISTED_MAX).filter(|(judged, _)| !judged.objective_met).count();
    let kept = judged.len().saturating_sub(LISTED_MAX) - missed;
    let parts: Vec<String> = [(missed, "missed"), (kept, "kept")]
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, verdict)| format!("{} more {verdict}", grouped(count as u64)))
        .collect();
    if !parts.is_empty() {
        let _ = writeln!(text, "  and {}: summary.json has them", parts.join(" and "));
    }
}

/// Prints a table of the worst of so many.
fn worst_first(text: &mut String, table: &NameTable, found: usize) {
    table.write(text);
    and_more(text, found);
}

fn and_more(text: &mut String, found: usize) {
    if found > LISTED_MAX {
        let _ = writeln!(text, "  and {} more in summary.json", grouped((found - LISTED_MAX) as u64));
    }
}

/// Services that lost traffic: for how long they had no endpoint, and some on machines that were down.
fn services(text: &mut String, outcomes: &[ServiceOutcome], paint: Paint) {
    let mut worst: Vec<&ServiceOutcome> = outcomes.iter().filter(|outcome| outcome.lost_traffic_s > 0.0).collect();
    // What somebody has scaled to 0 or deleted stands last.
    let missed = |outcome: &ServiceOutcome| outcome.lost_traffic_s - outcome.unwanted_s;
    worst.sort_by(|a, b| missed(b).total_cmp(&missed(a)).then_with(|| b.lost_traffic_s.total_cmp(&a.lost_traffic_s)));
    if worst.is_empty() {
        return;
    }
    heading(text, "Services that lost traffic, worst first", paint);
    let mut table = NameTable::new(&["SERVICE", "NO ENDPOINT", "LONGEST", "DEAD ENDPOINTS", "LOST TRAFFIC"]);
    for outcome in worst.iter().take(LISTED_MAX) {
        let lengths = [
            outcome.without_targets_s,
            outcome.longest_without_targets_s,
            outcome.dead_targets_s,
            outcome.lost_traffic_s,
        ];
        let name = format!("service/{}/{}", outcome.namespace, outcome.name);
        let [without, longest, dead, lost] = lengths.map(length);
        let lost = if outcome.unwanted_s > 0.0 { format!("{lost}*") } else { lost };
        table.add([name, without, longest, dead, lost]);
    }
    worst_first(text, &table, worst.len());
    let unwanted: Vec<&&ServiceOutcome> = worst.iter().take(LISTED_MAX).filter(|of| of.unwanted_s > 0.0).collect();
    if !unwanted.is_empty() {
        let names: Vec<String> = unwanted.iter().map(|of| format!("{} {}", of.name, length(of.unwanted_s))).collect();
        let names = cut(&names.join(", "), REASON_LENGTH_MAX);
        let _ = writeln!(text, "  *: of it, while all behind it was scaled to 0 or deleted: {names}");
    }
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
    let mut pods = format!("{} Ready", counted(last.pods_ready, "pod", "pods"));
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
    let is_waiting = |pod: &&PodRow| pod.is_there() && (pod.phase == PodPhase::Pending || pod.waiting.is_some());
    let pods: Vec<&PodRow> = observed.pods.iter().filter(is_waiting).collect();
    if pods.is_empty() {
        return;
    }
    let mut warnings: BTreeMap<(Symbol, &str), (SimTime, &str, &str)> = BTreeMap::new();
    for event in observed.events.iter().filter(|event| event.kind == "Pod" && event.event_type == "Warning") {
        warnings.insert((event.namespace, &event.name), (event.at, event.reason, &event.message));
    }
    let mut reasons: BTreeMap<String, Vec<&PodRow>> = BTreeMap::new();
    for pod in &pods {
        let name = (pod.namespace, &*pod.name);
        // One of the same name may have been there before it, and what was said before it was bound is over.
        let warning = warnings.get(&name).filter(|(at, ..)| pod.scheduled_at.is_some_and(|bound| *at >= bound));
        let reason = match (pod.scheduled_at, &pod.not_scheduled) {
            _ if let Some(waiting) = pod.waiting => format!("{} ({})", waiting.reason, waiting.subject),
            (Some(_), _) if let Some((_, reason, message)) = warning => format!("{reason}: {message}"),
            (Some(_), _) => "bound to a node, its containers have not started".to_owned(),
            (None, Some(message)) => message.to_string(),
            (None, None) if !observed.schedulers.contains(&pod.scheduler()) => {
                format!("names a scheduler that is not there: `{}`", pod.scheduler())
            }
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
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    for cause in observed.pods.iter().filter_map(PodRow::taken_away) {
        *taken.entry(cause.as_str()).or_default() += 1;
    }
    let causes: Vec<(u64, &str)> = taken.iter().filter_map(|(cause, count)| Some((*count, words(cause)?))).collect();
    if causes.is_empty() {
        return;
    }
    heading(text, &format!("Pods taken away: {}", grouped(counts.disruptions)), paint);
    for (count, words) in causes {
        let _ = writeln!(text, "  {:>5}  {words}", grouped(count));
    }
    if counts.needless_evictions > 0 {
        let were = if counts.needless_evictions == 1 { "was" } else { "were" };
        let needless = grouped(counts.needless_evictions);
        let _ = writeln!(
            text,
            "         {needless} of these {were} needless: the node came back before a replacement was Ready"
        );
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
        "PodKill" => "killed by a fault (PodKill)",
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
    cut(text, REASON_LENGTH_MAX)
}
