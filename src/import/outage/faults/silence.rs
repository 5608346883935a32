//! Nodes that fell silent: the node lifecycle controller found out, and the fault was a grace before.

use super::{Confidence, Detection, Extra, Fault, Found, Hit};
use crate::arena::Symbol;
use crate::evidence::{Bounds, EndedBy, Instant, Notice, RecordKind, Reporter, What};
use crate::import::outage::timeline::{Timeline, Turn, later};
use crate::model::ConditionStatus;
use crate::units::{SimDuration, counted, length};

/// The most that lies between two renewals of a lease.
///
/// # Source
/// kubelet, lease controller: a quarter of 40 s, with 4 % jitter.
pub(super) const RENEWAL_MAX: SimDuration = SimDuration::from_millis(10_400);
/// The period of the node lifecycle controller's passes, and as much again: a sign of life that was a status, not a lease, counts a pass
/// later.
const PASSES_MAX: SimDuration = SimDuration::from_secs(10);
/// What calls and clocks may add.
const SLACK: SimDuration = SimDuration::from_millis(500);
/// The longest from the return of a link to a status that says Ready: a request that hangs, a watch that is opened again, a status loop.
///
/// # Source
/// kubelet: requests of 10 s, HTTP/2 health check of 45 s, back-off of watches.
const RECONNECT_MAX: SimDuration = SimDuration::from_secs(75);
/// Machines are not back sooner than so long after they lost power, as a rule.
const BOOT_MIN: SimDuration = SimDuration::from_secs(55);
/// A kubelet that is well posts its status so soon after it has seen that it was missed: its period, and what calls take.
pub(super) const ANSWER_MAX: SimDuration = SimDuration::from_secs(12);
/// Traces of a boot are looked for so long before and after the node was Ready again.
const TRACES_BEFORE: SimDuration = SimDuration::from_secs(90);
const TRACES_AFTER: SimDuration = SimDuration::from_secs(120);
/// The time for which an API server that has come back explains that nodes look silent.
const AFTERMATH: SimDuration = SimDuration::from_secs(15);
const BLIP_MAX: SimDuration = SimDuration::from_secs(30);
/// A machine that shuts down says so for so long before it is off, at most.
const SHUTDOWN_MAX: SimDuration = SimDuration::from_secs(600);
/// Machines that shut down are off so soon, as a rule.
const SHUTDOWN_USUAL: SimDuration = SimDuration::from_secs(150);
/// So many renewals in a row are a series of all of them.
const SERIES_MIN: usize = 3;

/// Looks for silences of a node.
pub(super) fn find(node: Symbol, timeline: &Timeline<'_>, detection: Detection, found: &mut Found) {
    let turns = timeline.turns(node);
    for (at, turn) in turns.iter().enumerate() {
        if turn.status != ConditionStatus::Unknown || found.explained.contains(&turn.seen) {
            continue;
        }
        let before = turns[..at].last();
        let back = turns[at + 1..].iter().find(|turn| turn.status != ConditionStatus::Unknown);
        if is_of_registration(node, turn, back, timeline) {
            continue;
        }
        let silence = Silence { node, turn, before, back, timeline, detection };
        if silence.is_of_api_server(found) {
            continue;
        }
        let fault = silence.fault(found);
        found.push(fault);
    }
}

/// A Node object that was just made has no status yet.
fn is_of_registration(node: Symbol, turn: &Turn, back: Option<&Turn>, timeline: &Timeline<'_>) -> bool {
    let from = turn.when.earliest.earlier(SLACK);
    let made = timeline.first_of_node(node, from, |what| matches!(what, What::NodePresent { is_present: true, .. }));
    let is_made_then = made.is_some_and(|(_, seen)| seen.when.earliest <= turn.when.latest.later(SLACK));
    is_made_then
        && turn.by != Reporter::Controller
        && back.is_some_and(|back| back.when.earliest.nanos_since(turn.when.latest) < 60_000_000_000)
}

/// One silence of one node.
struct Silence<'t> {
    node: Symbol,
    turn: &'t Turn,
    /// The change before.
    before: Option<&'t Turn>,
    /// The kubelet was heard again.
    back: Option<&'t Turn>,
    timeline: &'t Timeline<'t>,
    detection: Detection,
}

/// What tells one kind from another.
#[derive(Debug, Default)]
struct Traces {
    rebooted: Option<usize>,
    kubelet_started: Option<usize>,
    containers: Vec<usize>,
    gone: Option<usize>,
    stopped: Option<(usize, Bounds)>,
    running: Option<(usize, Bounds)>,
    shut_down: Vec<usize>,
    /// A pod that was there before ended well once the node was back: its containers had gone on.
    survived: Option<usize>,
    /// A pod that was there before had failed once the node was back.
    failed: Option<usize>,
}

impl Silence<'_> {
    /// Whether the API server was away instead: it came back just before, and the node was soon heard again.
    fn is_of_api_server(&self, found: &mut Found) -> bool {
        let outages: Vec<(usize, Bounds)> = found
            .faults
            .iter()
            .enumerate()
            .filter(|(_, fault)| fault.hit == Hit::Process("kube-apiserver"))
            .filter_map(|(at, fault)| Some((at, fault.end?)))
            .collect();
        let detected = self.turn.when;
        let is_blip =
            self.back.map(|back| back.when.earliest.nanos_since(detected.latest) < BLIP_MAX.as_nanos().cast_signed());
        let until = |ended: Instant| match is_blip {
            Some(true) => ended.later(self.detection.grace).later(AFTERMATH),
            // Evidence that ends there does not say whether it would have been heard.
            None if detected.latest.later(BLIP_MAX) > self.timeline.ends => ended.later(AFTERMATH),
            Some(false) | None => Instant::from_unix_nanos(i64::MIN),
        };
        let is_after = |end: Bounds| detected.latest >= end.earliest && detected.earliest <= until(end.latest);
        let Some((at, _)) = outages.into_iter().rev().find(|(_, end)| is_after(*end)) else { return false };
        let seen = [Some(self.turn.seen), self.back.map(|back| back.seen)].into_iter().flatten();
        found.explained.extend(seen.clone());
        found.faults[at].evidence.extend(seen);
        true
    }

    fn fault(&self, found: &Found) -> Fault {
        let mut evidence = vec![self.turn.seen];
        evidence.extend(self.back.map(|back| back.seen));
        let mut begin = self.begin(found, &mut evidence);
        let end = self.end();
        let traces = self.traces(begin);
        if let Some((seen, when)) = traces.stopped {
            evidence.push(seen);
            begin = begin.and(when).unwrap_or(begin);
        }
        evidence.extend(traces.shut_down.first());
        let single = [traces.rebooted, traces.kubelet_started, traces.gone, traces.survived, traces.failed];
        evidence.extend(single.into_iter().flatten());
        if let Some(gone) = traces.gone {
            // Whoever finds the machine gone removes its Node.
            let from = self.timeline.seen[gone].when.earliest.earlier(SLACK);
            let is_removal = |what: &What| matches!(what, What::NodePresent { is_present: false, .. });
            evidence.extend(self.timeline.first_of_node(self.node, from, is_removal).map(|(index, _)| index));
        }
        evidence.extend(traces.containers.iter().take(5));
        let (kind, confidence, reason, alternatives) = self.judge(&traces, begin, end);
        if kind == "GracefulShutdown" {
            begin = self.shutdown(&traces, &mut evidence).unwrap_or(begin);
        }
        let mut fault = Fault {
            kind,
            hit: Hit::Node(self.node),
            begin,
            begin_guess: None,
            end: end.filter(|_| kind != "InstanceGone"),
            end_guess: self.back.map(|back| back.when.middle()),
            extra: Extra::None,
            confidence,
            reason,
            alternatives,
            evidence,
        };
        if matches!(kind, "Crash" | "GracefulShutdown")
            && let Some(back) = self.back.map(|back| back.when)
        {
            // What the machine was off, and what it took to boot, cannot be told apart unless the cloud says when it was on again.
            let mut boot = SimDuration::ZERO;
            if let Some((seen, on)) = traces.running.filter(|(_, on)| on.latest <= back.latest) {
                boot = SimDuration::from_nanos(u64::try_from(back.middle().nanos_since(on.middle())).unwrap_or(0));
                fault.evidence.push(seen);
                fault.end = Some(on);
                fault.end_guess = Some(on.middle());
            }
            fault.extra = Extra::Boot(boot);
        }
        fault
    }

    /// When a shutdown began: its kubelet said so, stopped being Ready, or ended the first pod.
    fn shutdown(&self, traces: &Traces, evidence: &mut Vec<usize>) -> Option<Bounds> {
        let unready = self.before.filter(|before| before.status == ConditionStatus::False);
        evidence.extend(unready.map(|turn| turn.seen));
        let pods = traces.shut_down.iter().map(|&index| self.timeline.seen[index].when);
        let told = traces.stopped.map(|(_, when)| when);
        let first = pods.chain(told).chain(unready.map(|turn| turn.when)).min_by_key(|when| when.latest);
        // What is told has travelled.
        first.map(|when| Bounds { earliest: when.earliest.earlier(SLACK), ..when })
    }

    /// When it fell silent: a grace before it was found out, give or take the phases of heartbeats and passes.
    fn begin(&self, found: &Found, evidence: &mut Vec<usize>) -> Bounds {
        let Detection { grace } = self.detection;
        let detected = self.turn.when;
        let mut earliest = detected.earliest.earlier(grace + PASSES_MAX + SLACK);
        let mut latest = detected.latest.earlier(grace).later(RENEWAL_MAX + SLACK).min(detected.latest);
        // A controller that begins anew gives every node its whole grace again.
        for outage in &found.faults {
            let Hit::Process(process) = outage.hit else { continue };
            let Some(ended) = outage.end else { continue };
            let is_counted_from_then = ended.latest >= earliest && ended.earliest <= detected.latest;
            if process != "kube-scheduler" && is_counted_from_then {
                earliest = earliest.min(outage.begin.earliest.earlier(grace + PASSES_MAX + SLACK));
            }
        }
        if let Some(before) = self.before.filter(|before| before.status != ConditionStatus::Unknown) {
            earliest = earliest.max(before.when.earliest);
        }
        let last =
            self.timeline.last_of_node(self.node, detected.latest, |what| matches!(what, What::Heartbeat { .. }));
        if let Some((index, seen)) = last
            && seen.when.earliest >= earliest
        {
            evidence.push(index);
            earliest = seen.when.earliest;
            if self.is_last_renewal(index) {
                latest = latest.min(seen.when.latest.later(RENEWAL_MAX + SLACK));
            }
        }
        Bounds::between(earliest.min(latest), latest)
    }

    /// Whether a heartbeat is the last of all: its record has every one, or is the lease itself.
    fn is_last_renewal(&self, index: usize) -> bool {
        let seen = &self.timeline.seen[index];
        let since = seen.when.earliest.earlier(RENEWAL_MAX * SERIES_MIN as u64);
        let all = self.timeline.of_node(self.node).filter(|(_, other)| {
            matches!(other.what, What::Heartbeat { .. }) && other.when.earliest >= since && other.when <= seen.when
        });
        let is_lease =
            seen.when.width().is_zero() && self.timeline.records_of(seen).any(|kind| kind == RecordKind::Objects);
        is_lease || all.count() >= SERIES_MIN
    }

    /// When it could be heard again, at the latest when it was Ready.
    fn end(&self) -> Option<Bounds> {
        let back = self.back?.when;
        let earliest = back.earliest.earlier(RECONNECT_MAX).max(self.turn.when.earliest.earlier(SLACK));
        let heard = self.timeline.first_of_node(self.node, self.turn.when.latest, |what| {
            matches!(what, What::Heartbeat { .. } | What::KubeletStarted { .. } | What::Rebooted { .. })
        });
        let latest = heard.map_or(back.latest, |(_, seen)| seen.when.latest.min(back.latest));
        Some(Bounds::between(earliest.min(latest), latest))
    }

    fn traces(&self, begin: Bounds) -> Traces {
        let mut traces = Traces::default();
        let detected = self.turn.when;
        let until = self.back.map(|back| back.when.latest.later(TRACES_AFTER));
        let is_before_end = |when: Bounds| until.is_none_or(|until| when.earliest <= until);
        let is_in = |when: Bounds| when.latest >= begin.earliest && is_before_end(when);
        let since = begin.earliest.earlier(SHUTDOWN_MAX);
        let stops = |what: &What| matches!(what, What::CloudNotice { notice: Notice::Stopping | Notice::Stopped, .. });
        let stopped = self.timeline.first_of_node(self.node, since, stops);
        let stopped = stopped.filter(|(_, seen)| seen.when.earliest <= detected.latest);
        traces.stopped = stopped.map(|(index, seen)| (index, seen.when));
        for (index, seen) in self.timeline.of_node(self.node).filter(|(_, seen)| is_in(seen.when)) {
            match &seen.what {
                What::Rebooted { .. } => traces.rebooted = traces.rebooted.or(Some(index)),
                What::KubeletStarted { .. } => traces.kubelet_started = traces.kubelet_started.or(Some(index)),
                What::InstanceGone { .. } => traces.gone = traces.gone.or(Some(index)),
                What::CloudNotice { notice: Notice::Running, .. } => traces.running = Some((index, seen.when)),
                _ => {}
            }
        }
        traces.gone = traces.gone.or_else(|| {
            let mut removals = super::gone::removals(self.node, self.timeline);
            removals.find(|(_, when)| is_in(*when)).map(|(index, _)| index)
        });
        let back = self.back.map(|back| later(back.when, SimDuration::ZERO, TRACES_AFTER));
        for pod in self.timeline.pods_of(self.node) {
            for (index, seen) in self.timeline.of_pod(*pod) {
                if self.timeline.node_of(*pod, seen.when.latest) != Some(self.node) {
                    continue;
                }
                match &seen.what {
                    What::PodFinished { is_success: false, reason, .. }
                        if matches!(reason.as_str(), "Terminated" | "NodeShutdown" | "Shutdown")
                            && seen.when.latest >= since
                            && seen.when.earliest <= detected.latest =>
                    {
                        traces.shut_down.push(index);
                    }
                    What::PodFinished { is_success, .. }
                        if back.is_some_and(|back| {
                            seen.when.earliest >= detected.latest.max(back.earliest.earlier(TRACES_BEFORE))
                                && seen.when.earliest <= back.latest
                        }) && self.is_older(*pod, begin)
                            && self.was_deleted_before_return(*pod) =>
                    {
                        let trace = if *is_success { &mut traces.survived } else { &mut traces.failed };
                        *trace = trace.or(Some(index));
                    }
                    What::ContainerStarted { .. }
                    | What::ContainerEnded { by: EndedBy::Unknown | EndedBy::Crash, .. }
                        if back.is_some_and(|back| {
                            seen.when.latest >= back.earliest.earlier(TRACES_BEFORE).max(detected.earliest)
                                && seen.when.earliest <= back.latest
                        }) && self.was_there(*pod, begin) =>
                    {
                        traces.containers.push(index);
                    }
                    _ => {}
                }
            }
        }
        traces
    }

    /// Whether a pod ran on the node before the silence, so that a container of it that starts anew has been lost.
    fn was_there(&self, pod: crate::evidence::PodName, begin: Bounds) -> bool {
        let is_deleted = |what: &What| matches!(what, What::PodDeletion { .. });
        let is_kept = !self.timeline.of_pod(pod).any(|(_, seen)| is_deleted(&seen.what));
        is_kept && self.is_older(pod, begin)
    }

    /// Whether a pod was deleted while the node was silent: had its containers been lost, they would not have started anew.
    fn was_deleted_before_return(&self, pod: crate::evidence::PodName) -> bool {
        let deletion = self.timeline.of_pod(pod).find(|(_, seen)| matches!(seen.what, What::PodDeletion { .. }));
        let back = self.back.map(|back| back.when.earliest);
        deletion.zip(back).is_some_and(|((_, seen), back)| {
            seen.when.latest >= self.turn.when.earliest && seen.when.latest < back.earlier(SLACK)
        })
    }

    /// Whether a pod was made before the silence.
    fn is_older(&self, pod: crate::evidence::PodName, begin: Bounds) -> bool {
        let known = self.timeline.inventory.pods.get(&pod);
        let created = known.and_then(|known| known.created);
        let made = self.timeline.of_pod(pod).find_map(|(_, seen)| match seen.what {
            What::PodCreated { .. } | What::PodScheduled { .. } => Some(seen.when.earliest),
            _ => None,
        });
        // A pod that was there may have been made again under its name.
        created.into_iter().chain(made).min().is_some_and(|made| made < begin.earliest)
    }

    /// Whether the kubelet's Events are there, so that a start of it would be among them.
    fn would_tell_of_starts(&self, back: &Turn) -> bool {
        let seen = &self.timeline.seen[back.seen];
        let tells = |kind| matches!(kind, RecordKind::Events | RecordKind::Intervals);
        back.by == Reporter::Kubelet && self.timeline.records_of(seen).any(tells)
    }

    /// The kind that goes best with the traces.
    fn judge(
        &self,
        traces: &Traces,
        begin: Bounds,
        end: Option<Bounds>,
    ) -> (&'static str, Confidence, String, Vec<&'static str>) {
        use Confidence::{Certain, Guess, Likely};
        let by_kubelet = self.back.is_some_and(|back| self.would_tell_of_starts(back));
        let containers = counted(traces.containers.len(), "container started anew", "containers started anew");
        if traces.gone.is_some() && self.back.is_none() {
            let reason = "the cloud did not know the machine any more".to_owned();
            return ("InstanceGone", Certain, reason, vec![]);
        }
        let unready = self.before.filter(|before| before.status == ConditionStatus::False);
        let was_unready = unready.is_some();
        if !traces.shut_down.is_empty() || (was_unready && traces.stopped.is_some()) {
            let pods = counted(traces.shut_down.len(), "pod", "pods");
            let reason = format!("its kubelet said that it shut down, and ended {pods}, before it fell silent");
            return ("GracefulShutdown", Likely, reason, vec!["Crash"]);
        }
        let since_unready = unready.map(|unready| begin.latest.nanos_since(unready.when.earliest));
        if since_unready.is_some_and(|since| since <= SHUTDOWN_USUAL.as_nanos().cast_signed()) {
            let reason = "its kubelet said that it was not Ready, and soon fell silent".to_owned();
            return ("GracefulShutdown", Guess, reason, vec!["Crash", "NotReady"]);
        }
        if traces.rebooted.is_some() {
            let reason = "the kubelet found that the machine had booted anew".to_owned();
            return ("Crash", Certain, reason, vec!["Reboot"]);
        }
        if traces.stopped.is_some() {
            return ("Crash", Likely, "the cloud says that the machine stopped".to_owned(), vec!["GracefulShutdown"]);
        }
        if !traces.containers.is_empty() {
            let reason = format!("{containers} when it was back, in pods that were there before");
            return ("Crash", Likely, reason, vec!["Reboot", "Partition"]);
        }
        if traces.survived.is_some() {
            let reason =
                "a pod that was there before ended well when it was back: its containers had gone on".to_owned();
            return if traces.kubelet_started.is_some() {
                ("KubeletStop", Likely, reason, vec!["Partition"])
            } else {
                ("Partition", Likely, reason, vec!["KubeletStop", "SlowHeartbeats"])
            };
        }
        if traces.kubelet_started.is_some() && traces.failed.is_some() {
            let reason = "the kubelet started anew, and a pod that was there before had failed then".to_owned();
            return ("Crash", Likely, reason, vec!["Reboot", "KubeletStop"]);
        }
        if traces.kubelet_started.is_some() {
            let reason = "the kubelet started anew, its containers did not".to_owned();
            return ("KubeletStop", Likely, reason, vec!["Crash", "Reboot", "Partition"]);
        }
        if by_kubelet {
            let reason = "it came back without a start of its kubelet or of a container".to_owned();
            return ("Partition", Likely, reason, vec!["KubeletStop", "SlowHeartbeats"]);
        }
        let answered = self.back.map(|back| back.when.earliest.nanos_since(self.turn.when.latest));
        if answered.is_some_and(|took| took <= ANSWER_MAX.as_nanos().cast_signed()) {
            let reason = "its kubelet said that it was well as soon as it was missed".to_owned();
            return (
                "Partition",
                Guess,
                reason,
                vec!["ControlPlaneOutage", "KubeletStop", "SlowHeartbeats", "Crash", "Reboot"],
            );
        }
        let lasted = end.map(|end| end.latest.nanos_since(begin.middle()));
        if let Some(lasted) = lasted.filter(|lasted| *lasted < BOOT_MIN.as_nanos().cast_signed()) {
            let reason =
                format!("it was back after about {}, sooner than most machines boot", length(lasted as f64 / 1e9));
            return ("Partition", Guess, reason, vec!["KubeletStop", "Crash", "Reboot"]);
        }
        let reason = "nothing tells whether its containers went on".to_owned();
        let alternatives =
            if end.is_some() { vec!["Partition", "KubeletStop", "Reboot"] } else { vec!["Partition", "KubeletStop"] };
        ("Crash", Guess, reason, alternatives)
    }
}

/// Guesses of single nodes, judged by what became of the others: all machines of a cluster do not lose power at once, but its control
/// plane can lose the network.
pub(super) fn judge_together(timeline: &Timeline<'_>, found: &mut Found) {
    let nodes = timeline.inventory.nodes.len();
    if nodes < 3 {
        return;
    }
    let guesses: Vec<usize> = (0..found.faults.len())
        .filter(|&at| found.faults[at].node().is_some() && found.faults[at].confidence == Confidence::Guess)
        .filter(|&at| matches!(found.faults[at].kind, "Crash" | "Partition"))
        .collect();
    for &at in &guesses {
        let begin = found.faults[at].begin;
        let together: Vec<usize> =
            guesses.iter().copied().filter(|&other| found.faults[other].begin.and(begin).is_some()).collect();
        if together.len() < nodes {
            continue;
        }
        for other in together {
            let fault = &mut found.faults[other];
            fault.kind = "Partition";
            fault.extra = Extra::None;
            fault.reason =
                "every node fell silent at once: rather the control plane lost its network than all machines their power"
                    .to_owned();
            fault.alternatives = vec!["ControlPlaneOutage", "Crash"];
        }
    }
}
