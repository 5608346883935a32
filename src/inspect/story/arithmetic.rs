//! The arithmetic of a recovery, term by term: last heartbeat + grace + monitor pass + limiter + toleration + client rate limit + start =
//! Ready again. Each term begins where the one before ends.

use std::collections::BTreeMap;

use super::super::record::{Pod, Record, Timer};
use super::super::sentence::Sentence;
use super::super::words;
use super::{Sum, Term};
use crate::units::{SimDuration, SimTime};

/// Terms that are being laid end to end.
struct Terms<'a> {
    record: &'a Record,
    begin: SimTime,
    last: SimTime,
    terms: Vec<Term>,
}

/// A process of the control plane, and the name of a term in which it was down.
#[derive(Copy, Clone)]
enum Process {
    ControllerManager,
    Scheduler,
}

impl Process {
    fn object(self) -> &'static str {
        match self {
            Self::ControllerManager => "process/kube-controller-manager",
            Self::Scheduler => "process/kube-scheduler",
        }
    }

    fn term(self) -> &'static str {
        match self {
            Self::ControllerManager => "controller-manager down",
            Self::Scheduler => "scheduler down",
        }
    }
}

impl<'a> Terms<'a> {
    fn new(record: &'a Record, begin: SimTime) -> Self {
        Self { record, begin, last: begin, terms: Vec::new() }
    }

    /// A term that a process has to end: as long as that is down, its outage is to blame.
    fn until_by(&mut self, process: Process, name: &'static str, until: SimTime, why: &Sentence) {
        let (object, record) = (process.object(), self.record);
        for fault in record.faults.iter().filter(|fault| fault.object == object) {
            let (from, to) = (fault.began, fault.ended.unwrap_or(record.end));
            if to <= self.last || from >= until {
                continue;
            }
            if from > self.last {
                self.until(name, from, why.clone());
            }
            let said = Sentence::new(format!("nobody did it: {} of {object} from ", fault.kind)).at(from).text(" to ");
            let said = match fault.ended {
                Some(ended) => said.at(ended),
                None => said.text("the end of the run"),
            };
            self.until(process.term(), to.min(until), said);
        }
        if until > self.last || self.terms.last().is_none_or(|term| term.name != process.term()) {
            self.until(name, until, why.clone());
        }
    }

    fn until(&mut self, name: &'static str, until: SimTime, why: Sentence) {
        let until = until.max(self.last);
        self.terms.push(Term { name, takes: until.saturating_since(self.last), until: Some(until), why });
        self.last = until;
    }

    /// A term whose end is in no table.
    fn lasting(&mut self, name: &'static str, takes: SimDuration, why: Sentence) {
        self.terms.push(Term { name, takes, until: None, why });
        self.last += takes;
    }
}

/// What the eviction of a pod by a taint was made of.
pub(super) struct Eviction<'a> {
    pub(super) node: String,
    /// When the taint was put on the node, which, and by whom.
    pub(super) tainted: SimTime,
    pub(super) taint: String,
    by_controller: bool,
    toleration: Option<&'a Timer>,
    /// When the node was Ready no longer, if the taint came of that.
    pub(super) not_ready: Option<SimTime>,
    pub(super) silence: Option<&'a Timer>,
}

/// What is known of an eviction by a taint; none if the pod was ended otherwise.
pub(super) fn eviction<'a>(record: &'a Record, pod: &Pod) -> Option<Eviction<'a>> {
    let lost = pod.deletion.filter(|_| pod.cause == "TaintManagerEviction")?;
    let node = pod.node.clone()?;
    let is_over = |timer: &&Timer| timer.timer == "toleration" && timer.end == "fired" && timer.ended <= Some(lost);
    let toleration = record.timers_of(&pod.name).iter().rfind(is_over);
    let by = toleration.map_or(lost, |timer| timer.set);
    let is_it = |taint: &&super::super::record::TaintChange| {
        taint.node == node && taint.effect == "NoExecute" && taint.change != "removed" && taint.at <= by
    };
    let taint = record.taints.iter().rfind(is_it)?;
    let by_controller = taint.by == "node-controller";
    let changes = record.nodes.get(&node).map_or(&[][..], Vec::as_slice);
    let turned = changes.windows(2).filter(|pair| pair[0].ready == "True" && pair[1].ready != "True");
    let mut turned = turned.map(|pair| pair[1].at);
    let not_ready = turned.rfind(|at| *at <= taint.at).filter(|_| by_controller);
    let found_by =
        |timer: &&Timer| timer.timer == "node-monitor-grace" && timer.end == "fired" && timer.ended <= not_ready;
    let silence = not_ready.and_then(|_| record.timers_of(&format!("node/{node}")).iter().rfind(found_by));
    // An older silence tells nothing of this one.
    let silence = silence.filter(|timer| {
        let found = timer.ended.unwrap_or_default();
        not_ready.is_some_and(|at| at.saturating_since(found) < SimDuration::from_secs(1))
    });
    let taint_text = format!("{}:{}", taint.key, taint.effect);
    Some(Eviction { node, tainted: taint.at, taint: taint_text, by_controller, toleration, not_ready, silence })
}

impl Eviction<'_> {
    /// The same in a sentence or two.
    pub(super) fn prose(&self, lost: SimTime) -> Sentence {
        let mut said = Sentence::new("Evicted at ").at(lost).text(" by the taint eviction controller: ");
        said = said.object(format!("node/{}", self.node)).text(format!(" had been tainted {} at ", self.taint));
        said = said.at(self.tainted);
        if let Some(timer) = self.toleration {
            said = said.text(format!(", and its toleration, {}, lasts ", said_by(&timer.by))).lasting(timer.length);
        } else {
            said = said.text(", which it does not tolerate");
        }
        match (self.silence, self.not_ready) {
            (Some(silence), _) => {
                let why = if silence.by.is_empty() { "the grace" } else { &silence.by };
                let said =
                    said.text(". The taint came because nothing had been heard of the node since ").at(silence.set);
                said.text(format!(", longer than {why} allows (")).lasting(silence.length).text(")")
            }
            (None, Some(at)) => said.text(". The taint came because the node was not Ready from ").at(at).text(" on"),
            (None, None) => said,
        }
    }

    fn terms<'r>(&self, record: &'r Record, lost: SimTime) -> Terms<'r> {
        let node = format!("node/{}", self.node);
        let begin = self.silence.map_or(self.not_ready.unwrap_or(self.tainted), |silence| silence.set);
        let mut terms = Terms::new(record, begin);
        if let (Some(silence), Some(unknown)) = (self.silence, self.not_ready) {
            detection(&mut terms, silence, unknown, &node);
        }
        let limiter = "until the NoExecute taint: the node lifecycle controller takes one node of a zone after another";
        if self.by_controller {
            terms.until_by(Process::ControllerManager, "limiter", self.tainted, &Sentence::new(limiter));
        } else {
            terms.until(
                "taint",
                self.tainted,
                Sentence::default().object(node).text(format!(" is tainted {}", self.taint)),
            );
        }
        if let Some(timer) = self.toleration {
            if timer.set > self.tainted {
                let why = "until the taint eviction controller counts: it has seen the taint, or has begun anew";
                terms.until_by(Process::ControllerManager, "notice", timer.set, &Sentence::new(why));
            }
            let why =
                Sentence::default().lasting(timer.length).text(format!(" for {}, {}", timer.taint, said_by(&timer.by)));
            terms.until("toleration", timer.due, why);
        }
        let why = "until the deletion was through: workers and requests of the controller wait their turn";
        terms.until_by(Process::ControllerManager, "client rate limit", lost, &Sentence::new(why));
        terms
    }
}

fn said_by(by: &str) -> String {
    if by == "spec" { "of its own spec".to_owned() } else { format!("by {by}") }
}

/// From the last sign of life of a node to Ready=Unknown.
fn detection(terms: &mut Terms<'_>, silence: &Timer, unknown: SimTime, node: &str) {
    let heard = Sentence::new("the last sign of life of ").object(node);
    terms.until("last heartbeat", silence.set, heard);
    let put_up =
        Sentence::default().lasting(silence.length).text(format!(" of silence are put up with ({})", silence.by));
    // What was last heard before the run has no time in it.
    if silence.set + silence.length <= unknown {
        terms.lasting("grace", silence.length, put_up);
        let why = "counted from the pass that saw that heartbeat, until the pass that finds the time is over and writes Ready=Unknown";
        terms.until_by(Process::ControllerManager, "monitor pass", unknown, &Sentence::new(why));
    } else {
        terms.until("grace and monitor pass", unknown, put_up);
    }
}

/// Why nothing is to come in the place of a pod; none if something did or was to.
pub(super) fn not_to_come(record: &Record, position: usize) -> Option<&'static str> {
    match record.disruptions.get(&position)?.outcome.as_str() {
        "scaled down" => Some("its owner wanted fewer by then"),
        "node is gone" => Some("it belonged to its node, which is gone"),
        "owner is gone" => Some("its owner is gone"),
        "job has ended" => Some("its Job has ended"),
        "no controller" => Some("it has no controller that makes it anew"),
        _ => None,
    }
}

/// When a pod was lost for its owner.
fn lost_at(record: &Record, position: usize) -> Option<SimTime> {
    record.disruptions.get(&position).map(|of| of.lost).or_else(|| record.pods[position].ended())
}

/// From the failure to Ready again, by way of all that came and ended before they were; none for a pod that is not lost, or for which
/// nothing is to come. `replaced` has who came for whom.
pub(super) fn recovery(record: &Record, position: usize, replaced: &BTreeMap<usize, usize>) -> Option<Sum> {
    let pod = &record.pods[position];
    let lost = lost_at(record, position)?;
    let next_of = |position: usize| replaced.get(&position).copied();
    if next_of(position).is_none() && not_to_come(record, position).is_some() {
        return None;
    }
    let eviction = eviction(record, pod);
    let mut terms = match &eviction {
        Some(eviction) => eviction.terms(record, lost),
        None => loss(record, position, lost),
    };
    let stopped = record.disruptions.get(&position).and_then(|of| of.stopped).filter(|at| *at < lost);
    let mut is_over = false;
    if next_of(position).is_none() {
        let why = Sentence::new("nothing came in its place by the end of the run");
        terms.until_by(Process::ControllerManager, "recreate", record.end, &why);
    }
    let mut of = position;
    while let Some(next) = next_of(of).filter(|_| !is_over) {
        is_over = began_anew(&mut terms, of, &record.pods[next]);
        of = next;
    }
    let from = match (&eviction, stopped) {
        (Some(eviction), _) if eviction.silence.is_some() => "From the last sign of life",
        (Some(eviction), _) if eviction.not_ready.is_some() => "From the failure",
        (Some(_), _) => "From the taint",
        (None, Some(_)) => "From the failure",
        (None, None) => "From its end",
    };
    let title = if is_over { format!("{from} to Ready again") } else { format!("{from} on; nobody is Ready again") };
    Some(Sum { title, together: terms.last.saturating_since(terms.begin), terms: terms.terms })
}

/// From when a pod stopped to serve until it was lost otherwise than by a taint.
fn loss(record: &Record, position: usize, lost: SimTime) -> Terms<'_> {
    /// Lengths in tables are rounded one by one: a sum of them may miss an instant by this much.
    const ROUNDING: SimDuration = SimDuration::from_millis(2);
    let pod = &record.pods[position];
    let of = record.disruptions.get(&position);
    let Some((stopped, of)) = of.and_then(|of| Some((of.stopped.filter(|at| *at < lost)?, of))) else {
        return Terms::new(record, lost);
    };
    let mut terms = Terms::new(record, stopped);
    if !of.detect.is_zero() {
        let noticed = stopped + of.detect;
        let is_it = |at: &SimTime| *at <= noticed + ROUNDING && noticed <= *at + ROUNDING;
        let rows = record.causes.about(&pod.name).iter().map(|row| record.causes.effects[*row].at);
        let why = match pod.node_object() {
            Some(node) => Sentence::default().object(node).text(" was down, and it still counted as Ready"),
            None => Sentence::new("its machine was down, and it still counted as Ready"),
        };
        let until = rows.into_iter().find(is_it).unwrap_or(lost).min(lost);
        terms.until("detect", until, why);
    }
    if terms.last < lost {
        let ended = match pod.cause.as_str() {
            "Failed" => "failed".to_owned(),
            cause => {
                let text = words::deletion(cause, pod.taken_away);
                let mut letters = text.chars();
                let first = letters.next().map_or_else(String::new, |first| first.to_lowercase().collect());
                format!("was {first}{}", letters.as_str())
            }
        };
        terms.until("wait", lost, Sentence::new(format!("not Ready, until it {ended}")));
    }
    terms
}

/// Taints that DaemonSets tolerate, whatever their templates say.
const TOLERATED: &str = "node.kubernetes.io/";

/// When the node of a DaemonSet's pod that was lost came to be rid of a taint, until which its DaemonSet may have wanted no other there.
fn rid_of_taint(record: &Record, pod: &Pod, lost: SimTime, next: &Pod) -> Option<(SimTime, Sentence)> {
    let node = pod.node.as_ref().filter(|_| pod.owner.starts_with("daemonset/"))?;
    let rid = record.taints.iter().rfind(|taint| {
        taint.node == *node
            && taint.change == "removed"
            && taint.effect != "PreferNoSchedule"
            && !taint.key.starts_with(TOLERATED)
            && (lost..=next.created).contains(&taint.at)
    })?;
    let why = Sentence::new("a DaemonSet makes no pod for ").object(format!("node/{node}"));
    Some((rid.at, why.text(format!(", as long as that is tainted {}:{}", rid.key, rid.effect))))
}

/// What held up a pod that was bound, each with how long: in the order in which it does.
fn held_up(record: &Record, of: usize, next: &Pod) -> Vec<(&'static str, &'static str, SimDuration, Sentence)> {
    let Some(row) = record.disruptions.get(&of) else { return Vec::new() };
    let on_node = |said: Sentence| said.object(next.node_object().unwrap_or_default());
    let since = next.scheduled.unwrap_or(next.created);
    let told = |reason: &str| {
        let mut events = record.events_about(&next.name).iter();
        events.find(|event| event.reason == reason && event.at >= since)
    };
    let attach = on_node(Sentence::new("until its volumes were attached to "));
    let attach = match told("FailedAttachVolume") {
        Some(event) => {
            let said = attach.text("; FailedAttachVolume at ").at(event.at);
            said.text(format!(": {}", event.message.trim_end_matches(['.', ' '])))
        }
        None => attach,
    };
    let attached = "until its kubelet noticed that they are attached, for which it looks ever more seldom";
    let mount = match told("SuccessfulAttachVolume") {
        Some(event) => Sentence::new(attached).text("; SuccessfulAttachVolume at ").at(event.at),
        None => Sentence::new(attached),
    };
    let down = on_node(Sentence::default()).text(" was down, which nobody had noticed");
    let all = [
        ("dead node", "dead node: not done", row.dead_node, down),
        ("attach volumes", "attach volumes: not done", row.attach, attach),
        ("notice volumes", "notice volumes: not done", row.mount, mount),
    ];
    all.into_iter().filter(|(_, _, takes, _)| !takes.is_zero()).collect()
}

/// How a pod came for another; whether it was Ready.
fn began_anew(terms: &mut Terms<'_>, of: usize, next: &Pod) -> bool {
    let (record, pod) = (terms.record, &terms.record.pods[of]);
    let recreate = match pod.gone.filter(|_| next.name == pod.name) {
        Some(gone) => Sentence::new("until its controller had made it again: the name was taken until ").at(gone),
        None => Sentence::new("until its controller had made ").object(next.name.clone()),
    };
    let bound = match next.node_object() {
        Some(node) => Sentence::new("until the scheduler had bound it to ").object(node),
        None => Sentence::new("until the scheduler had bound it"),
    };
    let over = next.ended().unwrap_or(record.end);
    let unless_lost = |why: Sentence| if next.ended().is_some() { why.text("; it was lost before") } else { why };
    if let Some((rid_at, why)) = rid_of_taint(record, pod, terms.last, next) {
        terms.until("node tainted", rid_at, why);
    }
    let rest: [(&'static str, &'static str, Option<SimTime>, Sentence); 4] = [
        ("recreate", "recreate", Some(next.created), recreate),
        ("schedule", "schedule: not done", next.scheduled, bound),
        ("pull and start", "pull and start: not done", next.started, Sentence::new("until its containers ran")),
        ("become Ready", "become Ready: not done", next.ready, Sentence::new("until its probes said so")),
    ];
    for (name, unfinished, at, why) in rest {
        if name == "pull and start" {
            for (name, unfinished, takes, why) in held_up(record, of, next) {
                let is_last = at.is_none() && terms.last + takes >= over;
                let why = if is_last { unless_lost(why) } else { why };
                terms.lasting(if is_last { unfinished } else { name }, takes, why);
                if is_last {
                    return false;
                }
            }
        }
        match at {
            Some(at) => match name {
                "recreate" => terms.until_by(Process::ControllerManager, name, at, &why),
                "schedule" => terms.until_by(Process::Scheduler, name, at, &why),
                _ => terms.until(name, at, why),
            },
            None => {
                terms.until(unfinished, over, unless_lost(why));
                return false;
            }
        }
    }
    true
}

/// How a node's silence was found out, each time.
pub(super) fn detections(record: &Record, node: &str) -> Vec<Sum> {
    let name = node.strip_prefix("node/").unwrap_or(node);
    let changes = record.nodes.get(name).map_or(&[][..], Vec::as_slice);
    let turned = changes.windows(2).filter(|pair| pair[0].ready == "True" && pair[1].ready == "Unknown");
    let sum = |unknown: SimTime| {
        let found_by = |timer: &&Timer| {
            timer.timer == "node-monitor-grace"
                && timer
                    .ended
                    .is_some_and(|at| at <= unknown && unknown.saturating_since(at) < SimDuration::from_secs(1))
        };
        let silence = record.timers_of(node).iter().find(found_by)?;
        let mut terms = Terms::new(record, silence.set);
        detection(&mut terms, silence, unknown, node);
        let title = "From the last sign of life to Ready=Unknown".to_owned();
        Some(Sum { title, together: terms.last.saturating_since(terms.begin), terms: terms.terms })
    };
    turned.filter_map(|pair| sum(pair[1].at)).collect()
}

/// When the object of a node was last deleted by then; a node that is not there has more rows, as pods leave it.
fn deleted_at(record: &Record, node: &str, by: SimTime) -> Option<SimTime> {
    let changes = record.nodes.get(node)?;
    let turns = changes.windows(2).filter(|pair| pair[0].ready != "Absent" && pair[1].ready == "Absent");
    turns.map(|pair| pair[1].at).rfind(|at| *at <= by)
}

/// What ended a pod, in a sentence with its time.
pub(super) fn ending(record: &Record, pod: &Pod) -> Option<Sentence> {
    let lost = pod.ended()?;
    if let Some(eviction) = eviction(record, pod) {
        return Some(eviction.prose(lost));
    }
    let (done, why) = words::deletion_and_why(&pod.cause, pod.taken_away);
    let mut said = Sentence::new(done).text(" at ").at(lost).text(why);
    if pod.cause == "DeletionByPodGC"
        && let Some(node) = &pod.node
        && let Some(gone) = deleted_at(record, node, lost)
    {
        said = said.text(": ").object(format!("node/{node}")).text(" was deleted at ").at(gone);
    }
    let mut events = record.events_about(&pod.name).iter();
    let message = events.rfind(|event| matches!(event.reason.as_str(), "Evicted" | "Preempted") && event.at <= lost);
    Some(match message {
        Some(event) => said.text(format!(": {}", event.message.trim_end_matches('.'))),
        None => said,
    })
}
