//! The verdict: what somebody who reads only one thing of a run has to know, the worst first.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::incident::{self, Incident};
use super::jobs::FailedJob;
use super::missed::Missed;
use super::orders::{Order, Shortcoming};
use super::outcome::{JudgedObjective, WorkloadOutcome};
use super::pods::PodRow;
use super::rollouts::{RefusedWorkload, UnfinishedRollout};
use super::storms::Storm;
use super::traps::Trap;
use super::waiting::Standing;
use crate::arena::Symbol;
use crate::component::name_of_pod;
use crate::diagnostics::Tone;
use crate::state::{NodeId, Pod, PodPhase, Power, Status, Store};
use crate::units::{InDays, SimDuration, SimTime, counted, noun};

/// Objects that a sentence names.
const NAMED_MAX: usize = 3;
/// Reasons of waiting pods that get a sentence each.
const REASONS_MAX: usize = 3;
/// Lines, procedures and Jobs that get a sentence each.
const EACH_MAX: usize = 5;
/// A kubelet that lives takes a few seconds after the grace period.
const SLACK: SimDuration = SimDuration::from_secs(10);
/// Seconds for which daemons may be off without counting as short until it is worth a sentence: it takes the control plane
/// this long to notice that a machine is off, and as long for pods of what is gone to be collected.
const HIDDEN_S: f64 = 120.0;
/// Seconds without progress after which a roll-out is said to hang.
const STUCK_S: f64 = 300.0;
/// A namespace goes when its pods have: after their grace periods, and some passes of its controller.
const NAMESPACE_MAX: SimDuration = SimDuration::from_secs(120);

/// What a sentence of the verdict speaks of, in the order of the verdict.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Matter {
    /// What failed: the faults that were played.
    FaultsPlayed,
    /// How few nodes and pods were left at the worst.
    FewestReady,
    /// Services lost traffic.
    TrafficLost,
    /// Workloads are short at the end.
    WorkloadsShort,
    /// A roll-out has not finished at the end.
    RolloutUnfinished,
    /// The API server refuses what workloads want at the end.
    PodsRefused,
    /// No node is Ready at the end.
    NoNodeReady,
    /// Some nodes are not.
    NodesNotReady,
    /// Pods wait at the end.
    PodsPending,
    /// Pods wait on their nodes, for images or after crashes.
    PodsWaiting,
    /// Machines are off or cut off, and the control plane has not noticed.
    MachinesUnnoticed,
    /// Pods of DaemonSets did not run on machines that were off, where they do not count as wanted.
    DaemonsOff,
    /// A workload makes pod after pod, and none comes to run.
    PodStorm,
    /// Pods are being deleted and do not go.
    PodsTerminating,
    /// Namespaces are being deleted and do not go.
    NamespacesTerminating,
    /// Pods are gone that nothing makes anew.
    PodsLost,
    /// A Job failed.
    JobFailed,
    /// A fault hit nobody.
    FaultHitNobody,
    /// A fault stopped the last of the nodes that bear the control plane, which goes on in the model.
    ControlPlaneNodesLost,
    /// A kubectl line of the timeline failed.
    CommandFailed,
    /// One had not ended when the run did.
    CommandUnfinished,
    /// An upgrade or the reboots of a pool failed.
    ProcedureFailed,
    /// They had not ended when the run did.
    ProcedureUnfinished,
    /// An objective was missed.
    ObjectiveMissed,
    /// All workloads are whole at the end, or were throughout.
    WorkloadsWhole,
    /// How many workloads were short at times, and which for the longest.
    LongestShortage,
    /// A trap decided something.
    Trap,
}

/// A sentence of the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// What it speaks of.
    pub kind: Matter,
    /// Whether it is good news.
    pub tone: Tone,
    /// What it says.
    pub text: String,
    /// The objects it speaks of, the first few.
    pub objects: Vec<String>,
    /// How many more there are.
    pub more: usize,
}

/// What the verdict is made of.
pub(super) struct Evidence<'a> {
    pub(super) pods: &'a [PodRow],
    pub(super) storms: Vec<Storm>,
    pub(super) workloads: &'a [WorkloadOutcome],
    pub(super) jobs: &'a [FailedJob],
    pub(super) jobs_before: &'a [FailedJob],
    pub(super) unfinished: &'a [UnfinishedRollout],
    pub(super) refused: &'a [RefusedWorkload],
    pub(super) commands: &'a [Order],
    pub(super) procedures: &'a [Order],
    pub(super) traps: &'a [Trap],
    pub(super) faults: &'a Missed,
    pub(super) standing: &'a [Standing<'a>],
    /// Nodes that are not Ready from t=0 on.
    pub(super) never_ready: &'a BTreeSet<NodeId>,
    pub(super) incident: Incident<'a>,
    /// Pods that wait for a scheduler that is not there, by its name.
    pub(super) unserved: BTreeMap<Symbol, Vec<String>>,
}

/// The verdict on a run that has ended with this cluster.
pub(super) fn verdict(evidence: &Evidence<'_>, end: SimTime, store: &Store) -> Vec<Sentence> {
    let mut sentences: Vec<Sentence> = incident::failed(&evidence.incident).into_iter().collect();
    still_broken(&mut sentences, evidence, end, store);
    lost(&mut sentences, evidence);
    faults(&mut sentences, evidence.faults);
    orders(&mut sentences, evidence.commands, (Matter::CommandFailed, Matter::CommandUnfinished));
    orders(&mut sentences, evidence.procedures, (Matter::ProcedureFailed, Matter::ProcedureUnfinished));
    objectives(&mut sentences, evidence.workloads);
    daemons_off(&mut sentences, evidence.workloads);
    let traffic = incident::traffic(evidence.incident.services);
    whole(&mut sentences, evidence.workloads, traffic.is_some());
    sentences.extend(incident::shortages(evidence.workloads));
    sentences.extend(incident::fewest(&evidence.incident));
    sentences.extend(traffic);
    for trap in evidence.traps {
        let (objects, more) = (trap.objects.clone(), trap.more);
        sentences.push(Sentence { kind: Matter::Trap, tone: Tone::Neutral, text: trap.text.clone(), objects, more });
    }
    sentences
}

pub(super) fn sentence(kind: Matter, tone: Tone, text: String, mut objects: Vec<String>) -> Sentence {
    let more = objects.len().saturating_sub(NAMED_MAX);
    objects.truncate(NAMED_MAX);
    Sentence { kind, tone, text, objects, more }
}

/// `1 pod is`, `2 pods are`.
fn are(count: usize, noun: &str) -> String {
    counted(count, &format!("{noun} is"), &format!("{noun}s are"))
}

/// The first few by name, the rest by number.
pub(super) fn names(all: &[String]) -> String {
    let first = all[..all.len().min(NAMED_MAX)].join(", ");
    match all.len().saturating_sub(NAMED_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

fn still_broken(sentences: &mut Vec<Sentence>, evidence: &Evidence<'_>, end: SimTime, store: &Store) {
    let short: Vec<&WorkloadOutcome> = evidence.workloads.iter().filter(|workload| workload.is_short()).collect();
    if !short.is_empty() {
        let state = |of: &&WorkloadOutcome| {
            let standing = evidence.standing.iter().find(|standing| standing.is_of(of.key()));
            let why = standing.map_or_else(String::new, |standing| format!(", {}", standing.reason));
            format!("{} ({} of {} ready{why})", of.object(), of.ready, of.desired)
        };
        let states: Vec<String> = short.iter().map(state).collect();
        let text =
            format!("NOT WELL at the end: {} short of ready pods: {}", are(short.len(), "workload"), names(&states));
        let objects = short.iter().map(|of| of.object()).collect();
        sentences.push(sentence(Matter::WorkloadsShort, Tone::Bad, text, objects));
    }
    unfinished(sentences, evidence);
    refused(sentences, evidence);
    nodes(sentences, store, evidence.never_ready);
    unnoticed(sentences, store);
    pending(sentences, store);
    unserved(sentences, &evidence.unserved);
    waiting(sentences, evidence.standing);
    storming(sentences, &evidence.storms);
    terminating(sentences, end, store);
}

/// Roll-outs that hang, or that had no time to finish.
fn unfinished(sentences: &mut Vec<Sentence>, evidence: &Evidence<'_>) {
    for of in evidence.unfinished.iter().take(EACH_MAX) {
        let standing = evidence.standing.iter().find(|standing| standing.is_of(of.key()));
        let why = of.reason.as_deref().or(standing.map(|standing| standing.reason));
        let why = why.map_or_else(String::new, |why| format!(": {why}"));
        let object = of.key().to_string();
        let what = if of.idle_s < STUCK_S { "ROLL-OUT NOT DONE when the run ended" } else { "ROLL-OUT STUCK" };
        let pods = noun(of.wanted, "pod", "pods");
        let idle = whole_seconds(of.idle_s);
        let text = format!("{what}: {object} has {} of {} new {pods}, for {idle}{why}", of.updated, of.wanted);
        sentences.push(sentence(Matter::RolloutUnfinished, Tone::Bad, text, vec![object]));
    }
    if let Some(more @ 1..) = evidence.unfinished.len().checked_sub(EACH_MAX) {
        let objects = evidence.unfinished.iter().skip(EACH_MAX).map(|of| of.key().to_string()).collect();
        let text = format!("ROLL-OUTS NOT DONE: of {more} more workloads");
        sentences.push(sentence(Matter::RolloutUnfinished, Tone::Bad, text, objects));
    }
}

/// Pods, and what else workloads are made of, that the API server does not let in: first those of which nothing is said yet.
fn refused(sentences: &mut Vec<Sentence>, evidence: &Evidence<'_>) {
    if evidence.refused.is_empty() {
        return;
    }
    let rolls = |of: &RefusedWorkload| evidence.unfinished.iter().take(EACH_MAX).any(|other| other.key() == of.key());
    let (told, untold): (Vec<_>, Vec<_>) = evidence.refused.iter().partition(|of| rolls(of));
    let untold = untold.into_iter().map(|of| (of, format!(": {}", of.message)));
    let all: Vec<(&RefusedWorkload, String)> = untold.chain(told.into_iter().map(|of| (of, String::new()))).collect();
    let named =
        |(of, why): &(&RefusedWorkload, String)| format!("{} (for {}{why})", of.key(), whole_seconds(of.refused_s));
    let named: Vec<String> = all.iter().map(named).collect();
    let count = counted(all.len(), "workload", "workloads");
    let text = format!("REFUSED: the API server does not let {count} make what is wanted: {}", names(&named));
    let objects = all.iter().map(|(of, _)| of.key().to_string()).collect();
    sentences.push(sentence(Matter::PodsRefused, Tone::Bad, text, objects));
}

pub(super) fn whole_seconds(seconds: f64) -> InDays {
    InDays(SimDuration::from_secs(seconds.round() as u64))
}

/// Workloads that made pod after pod.
fn storming(sentences: &mut Vec<Sentence>, storms: &[Storm]) {
    for storm in storms.iter().take(EACH_MAX) {
        let reasons: Vec<String> = storm.reasons.iter().take(NAMED_MAX).map(|(reason, _)| reason.to_string()).collect();
        let nodes: Vec<String> = storm.nodes.iter().map(|node| format!("node/{node}")).collect();
        let object = storm.workload.to_string();
        let text = format!(
            "STORM: {object} made {} pods that failed before they ran, from {} to {}: {} on {}",
            storm.pods,
            since_start(storm.from),
            since_start(storm.to),
            reasons.join(", "),
            names(&nodes),
        );
        sentences.push(sentence(Matter::PodStorm, Tone::Bad, text, vec![object]));
    }
    if let Some(more @ 1..) = storms.len().checked_sub(EACH_MAX) {
        let objects = storms.iter().skip(EACH_MAX).map(|storm| storm.workload.to_string()).collect();
        sentences.push(sentence(Matter::PodStorm, Tone::Bad, format!("STORM: of {more} more workloads"), objects));
    }
}

/// A time of the run in whole seconds.
fn since_start(at: SimTime) -> InDays {
    InDays(SimDuration::from_secs(at.saturating_since(SimTime::ZERO).as_secs_f64() as u64))
}

/// What is being deleted, and does not go.
fn terminating(sentences: &mut Vec<Sentence>, end: SimTime, store: &Store) {
    let is_stuck = |pod: &Pod| pod.deletion.is_some_and(|deletion| end > deletion.deadline + SLACK);
    let (ended, stuck): (Vec<&Pod>, Vec<&Pod>) =
        store.pods().map(|(_, pod)| pod).filter(|pod| is_stuck(pod)).partition(|pod| pod.phase.is_terminal());
    let kinds = [
        (stuck, "Terminating and not gone, past the grace period"),
        (ended, "Terminating and not gone, though ended: finalizers hold"),
    ];
    for (pods, what) in kinds.into_iter().filter(|(pods, _)| !pods.is_empty()) {
        let objects: Vec<String> = pods.into_iter().map(name_of_pod).collect();
        let text = format!("{} {what}: {}", are(objects.len(), "pod"), names(&objects));
        sentences.push(sentence(Matter::PodsTerminating, Tone::Bad, text, objects));
    }
    let is_stuck = |since: SimTime| end.saturating_since(since) > NAMESPACE_MAX;
    let stuck: Vec<String> = store
        .namespaces
        .iter()
        .filter(|(_, namespace)| namespace.deleting_since.is_some_and(is_stuck))
        .map(|(_, namespace)| format!("namespace/{}", namespace.name))
        .collect();
    if !stuck.is_empty() {
        let text = format!("{} being deleted and not gone: {}", are(stuck.len(), "namespace"), names(&stuck));
        sentences.push(sentence(Matter::NamespacesTerminating, Tone::Bad, text, stuck));
    }
}

fn nodes(sentences: &mut Vec<Sentence>, store: &Store, never_ready: &BTreeSet<NodeId>) {
    let is_ready = |(_, node): &(_, &std::sync::Arc<crate::state::Node>)| node.conditions.ready() == Some(Status::True);
    let all = store.nodes().count();
    let name = |id: NodeId| format!("node/{}", store.node_name(id));
    let ids: Vec<NodeId> = store.nodes().filter(|node| !is_ready(node)).map(|(id, _)| id).collect();
    let broken: Vec<String> = ids.iter().map(|&id| name(id)).collect();
    let never: Vec<String> = ids.iter().filter(|id| never_ready.contains(id)).map(|&id| name(id)).collect();
    let from_the_start = match never.len() {
        0 => String::new(),
        count if count == broken.len() => format!(", and {} not at t=0 either", noun(count, "was", "were")),
        _ => format!("; not Ready at t=0 already: {}", names(&never)),
    };
    if all == broken.len() {
        let text = if all == 0 {
            "there is no node at the end".to_owned()
        } else {
            format!("no node is Ready at the end{from_the_start}")
        };
        sentences.push(sentence(Matter::NoNodeReady, Tone::Bad, text, broken));
    } else if !broken.is_empty() {
        let are = noun(broken.len(), "is", "are");
        let names = names(&broken);
        let text = if never.len() == broken.len() {
            format!("{} of {all} nodes {are} not Ready at the end{from_the_start}: {names}", broken.len())
        } else {
            format!("{} of {all} nodes {are} not Ready at the end: {names}{from_the_start}", broken.len())
        };
        sentences.push(sentence(Matter::NodesNotReady, Tone::Bad, text, broken));
    }
}

/// Machines of Ready nodes that are off or that nobody hears: what stands on them counts as it did.
fn unnoticed(sentences: &mut Vec<Sentence>, store: &Store) {
    let is_ready = |node: &crate::state::Node| node.conditions.ready() == Some(Status::True);
    let ids: Vec<NodeId> =
        store.nodes().filter(|(id, node)| is_ready(node) && !store.machine(*id).talks()).map(|(id, _)| id).collect();
    if ids.is_empty() {
        return;
    }
    let is_off = |id: &&NodeId| !store.machine(**id).exists || store.machine(**id).power != Power::On;
    let off = ids.iter().filter(is_off).count();
    let pods_on = |id: &NodeId| store.pods_on(*id).iter().filter_map(|pod| store.pod(*pod));
    let ready = ids.iter().flat_map(pods_on).filter(|pod| pod.is_active() && pod.is_ready()).count();
    let what = match (off, ids.len() - off) {
        (_, 0) => "off",
        (0, _) => "cut off or without a kubelet",
        _ => "off, cut off or without a kubelet",
    };
    let nodes: Vec<String> = ids.iter().map(|id| format!("node/{}", store.node_name(*id))).collect();
    let text = format!(
        "{} {what} at the end, which the control plane has not noticed: {} still {} as Ready: {}",
        are(ids.len(), "machine"),
        counted(ready, "pod there", "pods there"),
        noun(ready, "counts", "count"),
        names(&nodes)
    );
    sentences.push(sentence(Matter::MachinesUnnoticed, Tone::Bad, text, nodes));
}

/// Pods that nobody looks at.
fn unserved(sentences: &mut Vec<Sentence>, unserved: &BTreeMap<Symbol, Vec<String>>) {
    for (scheduler, pods) in unserved {
        let subject = counted(pods.len(), "pod names", "pods name");
        let text = format!("{subject} a scheduler that is not there (`{scheduler}`): {}", names(pods));
        sentences.push(sentence(Matter::PodsPending, Tone::Bad, text, pods.clone()));
    }
}

/// Pods that wait on their nodes, by reason and by what it follows from.
fn waiting(sentences: &mut Vec<Sentence>, standing: &[Standing<'_>]) {
    for Standing { reason, since, pods } in standing.iter().take(REASONS_MAX) {
        let objects: Vec<String> = pods.iter().map(|pod| format!("pod/{}/{}", pod.namespace, pod.name)).collect();
        let since = since.as_ref().map_or_else(String::new, |since| format!(", because of {since}"));
        let subjects: BTreeSet<Symbol> =
            pods.iter().filter_map(|pod| pod.waiting).map(|waiting| waiting.subject).collect();
        let subject = pods.first().and_then(|pod| pod.waiting).map_or("", |waiting| waiting.subject.as_str());
        let of = if subjects.len() < 2 { format!(" ({subject})") } else { format!(" ({subject}, …)") };
        let text = format!("{} held up by {reason}{of}{since}: {}", are(pods.len(), "pod"), names(&objects));
        sentences.push(sentence(Matter::PodsWaiting, Tone::Bad, text, objects));
    }
    let rest: Vec<String> =
        standing.iter().skip(REASONS_MAX).flat_map(|s| &s.pods).map(|pod| pod.name.to_string()).collect();
    if !rest.is_empty() {
        let text = format!("{} held up by other things", are(rest.len(), "more pod"));
        sentences.push(Sentence { more: rest.len(), ..sentence(Matter::PodsWaiting, Tone::Bad, text, Vec::new()) });
    }
}

/// DaemonSets whose pods did not run where Kubernetes does not want them meanwhile, for longer than the figures show.
fn daemons_off(sentences: &mut Vec<Sentence>, workloads: &[WorkloadOutcome]) {
    let is_hidden = |of: &&WorkloadOutcome| of.off_machines.is_some_and(|off| off.pods > 0 || off.hidden_s > HIDDEN_S);
    let hidden: Vec<&WorkloadOutcome> = workloads.iter().filter(is_hidden).collect();
    if hidden.is_empty() {
        return;
    }
    let state = |of: &&WorkloadOutcome| {
        let off = of.off_machines.unwrap_or_default();
        let now = if off.pods > 0 { format!(", {} at the end", off.pods) } else { String::new() };
        let [total, hidden] = [off.total_s, off.hidden_s].map(|s| SimDuration::from_secs(s.round() as u64));
        let counted = if hidden < total { format!(", of which {hidden} without") } else { ", without".to_owned() };
        format!("{} (up to {} at once, {total} in all{counted} counting as short{now})", of.object(), off.pods_max)
    };
    let states: Vec<String> = hidden.iter().map(state).collect();
    let text = format!(
        "Pods of {} did not run as their machines were off, where Kubernetes soon does not want them: {}",
        counted(hidden.len(), "DaemonSet", "DaemonSets"),
        names(&states)
    );
    let objects = hidden.iter().map(|of| of.object()).collect();
    sentences.push(sentence(Matter::DaemonsOff, Tone::Neutral, text, objects));
}

/// Pods that no node takes, by reason.
fn pending(sentences: &mut Vec<Sentence>, store: &Store) {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (_, pod) in store.pods().filter(|(_, pod)| pod.is_active() && pod.phase == PodPhase::Pending) {
        if let Some(why) = pod.not_scheduled.as_ref().filter(|_| pod.node.is_none()) {
            by_reason.entry(&why.message).or_default().push(name_of_pod(pod));
        }
    }
    let mut by_reason: Vec<(&str, Vec<String>)> = by_reason.into_iter().collect();
    by_reason.sort_by_key(|(_, pods)| std::cmp::Reverse(pods.len()));
    let rest: usize = by_reason.iter().skip(REASONS_MAX).map(|(_, pods)| pods.len()).sum();
    for (reason, pods) in by_reason.into_iter().take(REASONS_MAX) {
        let text = format!("{} Pending: {} ({reason})", are(pods.len(), "pod"), names(&pods));
        sentences.push(sentence(Matter::PodsPending, Tone::Bad, text, pods));
    }
    if rest > 0 {
        let text = format!("{} Pending for other reasons", are(rest, "more pod"));
        sentences.push(Sentence { more: rest, ..sentence(Matter::PodsPending, Tone::Bad, text, Vec::new()) });
    }
}

/// `pod/default/web (NodePorts)`: a pod that nothing makes anew, and why it failed if its status says so.
fn lost_pod(of: &WorkloadOutcome, pods: &[PodRow]) -> String {
    let last = pods.iter().rfind(|pod| pod.workload == of.key() && !pod.reason.is_empty());
    last.map_or_else(|| of.object(), |pod| format!("{} ({})", of.object(), pod.reason))
}

fn lost(sentences: &mut Vec<Sentence>, evidence: &Evidence<'_>) {
    let jobs = evidence.jobs;
    let losers: Vec<&WorkloadOutcome> = evidence.workloads.iter().filter(|workload| workload.lost > 0).collect();
    if !losers.is_empty() {
        let count: u32 = losers.iter().map(|of| of.lost).sum();
        let named = |of: &&WorkloadOutcome| match (of.kind, of.lost) {
            ("Pod", _) => lost_pod(of, evidence.pods),
            (_, 1) => format!("1 pod of {}", of.object()),
            (_, lost) => format!("{lost} pods of {}", of.object()),
        };
        let named: Vec<String> = losers.iter().map(named).collect();
        let text = format!(
            "LOST for good: {}, which nothing in the model makes anew: {}",
            counted(count, "pod", "pods"),
            names(&named)
        );
        sentences.push(sentence(Matter::PodsLost, Tone::Bad, text, losers.iter().map(|of| of.object()).collect()));
    }
    for job in jobs.iter().take(EACH_MAX) {
        let text = format!("FAILED: {} ({})", job.object(), job.reason);
        sentences.push(sentence(Matter::JobFailed, Tone::Bad, text, vec![job.object()]));
    }
    if let Some(more @ 1..) = jobs.len().checked_sub(EACH_MAX) {
        let objects = jobs.iter().skip(EACH_MAX).map(FailedJob::object).collect();
        sentences.push(sentence(Matter::JobFailed, Tone::Bad, format!("FAILED: {more} more Jobs"), objects));
    }
    if !evidence.jobs_before.is_empty() {
        let objects: Vec<String> = evidence.jobs_before.iter().map(FailedJob::object).collect();
        let count = counted(objects.len(), "Job", "Jobs");
        let text = format!("FAILED before the run began: {count}: {}", names(&objects));
        sentences.push(sentence(Matter::JobFailed, Tone::Bad, text, objects));
    }
}

/// Faults that did not do what they are there for.
fn faults(sentences: &mut Vec<Sentence>, missed: &Missed) {
    if !missed.hit_nobody.is_empty() {
        let faults: Vec<String> = missed.hit_nobody.iter().map(ToString::to_string).collect();
        let text = format!("HIT NOBODY: {}: {}", noun(faults.len(), "a fault", "faults"), names(&faults));
        sentences.push(sentence(Matter::FaultHitNobody, Tone::Bad, text, faults));
    }
    if let Some((at, nodes)) = &missed.without_control_plane {
        let text = format!(
            "The control plane went on although no node that bears it ({}) was left at {}; add a ControlPlaneOutage fault to \
             play its loss",
            names(nodes),
            at.moment()
        );
        sentences.push(sentence(Matter::ControlPlaneNodesLost, Tone::Bad, text, nodes.clone()));
    }
}

/// Lines or procedures that did not end well.
fn orders(sentences: &mut Vec<Sentence>, orders: &[Order], (failed, unfinished): (Matter, Matter)) {
    let mut others = 0;
    for (place, order) in orders.iter().enumerate() {
        if place >= EACH_MAX {
            others += 1;
            continue;
        }
        let (kind, what) = match order.shortcoming {
            Shortcoming::Failed => (failed, "FAILED"),
            Shortcoming::Unfinished => (unfinished, "NOT DONE when the run ended"),
        };
        let why = if order.why.is_empty() { String::new() } else { format!(": {}", order.why) };
        let text = format!("{what}: {} of {}{why}", order.what, order.at.moment());
        sentences.push(sentence(kind, Tone::Bad, text, vec![order.what.to_string()]));
    }
    if others > 0 {
        let text = format!("and {others} more like these");
        let kind = orders[EACH_MAX..].iter().find(|order| order.shortcoming == Shortcoming::Failed);
        let kind = if kind.is_some() { failed } else { unfinished };
        let objects = orders[EACH_MAX..].iter().map(|order| order.what.to_string()).collect();
        sentences.push(sentence(kind, Tone::Bad, text, objects));
    }
}

fn objectives(sentences: &mut Vec<Sentence>, workloads: &[WorkloadOutcome]) {
    let missed_of = |of: &WorkloadOutcome| of.judged().filter(|judged| !judged.objective_met).count();
    let worst_of = |of: &WorkloadOutcome| of.judged().next().filter(|worst| !worst.objective_met);
    let mut missed: Vec<(JudgedObjective, &WorkloadOutcome)> =
        workloads.iter().filter_map(|of| Some((worst_of(of)?, of))).collect();
    if missed.is_empty() {
        return;
    }
    missed.sort_by(|(a, _), (b, _)| a.worst_first(b));
    let objects: Vec<String> = missed.iter().map(|(_, of)| of.object()).collect();
    let named: Vec<String> = missed
        .iter()
        .zip(&objects)
        .map(|((_, of), object)| match missed_of(of) {
            1 => object.clone(),
            several => format!("{object} ({several})"),
        })
        .collect();
    let total: usize = missed.iter().map(|(_, of)| missed_of(of)).sum();
    let objectives = counted(total, "objective was", "objectives were");
    let text = format!("{objectives} missed: {}", names(&named));
    sentences.push(sentence(Matter::ObjectiveMissed, Tone::Bad, text, objects));
}

fn whole(sentences: &mut Vec<Sentence>, workloads: &[WorkloadOutcome], has_lost_traffic: bool) {
    if workloads.iter().any(WorkloadOutcome::is_short) {
        return;
    }
    let speaks_of = |matter: Matter| sentences.iter().any(|sentence| sentence.kind == matter);
    let is_bad = sentences.iter().any(|sentence| sentence.tone == Tone::Bad);
    let are_daemons_off = workloads.iter().any(|of| of.off_machines.is_some_and(|off| off.pods > 0));
    let was_short = workloads.iter().any(WorkloadOutcome::was_short);
    let text = match (workloads.is_empty(), was_short) {
        (true, _) => "There is no workload to judge",
        (_, true) => "All workloads are whole again at the end",
        (_, false) if has_lost_traffic => "No workload was ever counted as short of ready pods, but traffic was lost",
        (_, false) => "No workload was ever short of ready pods",
    };
    let limit = match (speaks_of(Matter::MachinesUnnoticed), are_daemons_off) {
        _ if workloads.is_empty() => "",
        (true, _) => ", as far as the control plane knows",
        (_, true) => ", as Kubernetes counts them",
        _ => "",
    };
    let tone = match is_bad || are_daemons_off || workloads.is_empty() {
        true => Tone::Neutral,
        false if was_short || has_lost_traffic => Tone::Healed,
        false => Tone::Good,
    };
    sentences.push(sentence(Matter::WorkloadsWhole, tone, format!("{text}{limit}."), Vec::new()));
}
