//! Facts for the user: Kubernetes Events, and the lines an operator saw.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::reason;
use crate::arena::{StableHasher, Symbol};
use crate::model::ObjectKind;
use crate::state::{ControlPlaneProcess, NodeId, Pod, PodId, Store, Uid, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// Severity of an Event.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// As expected.
    Normal,
    /// Worth a look.
    Warning,
}

impl EventType {
    /// The API's text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// What an Event can be about.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum InvolvedKind {
    /// An object of this kind.
    Object(ObjectKind),
    /// A ConfigMap, in which an automaton writes what it does.
    ConfigMap,
    /// A line that somebody types.
    Kubectl,
    /// A request of the timeline.
    Request,
    /// A fault.
    Fault,
    /// A pool of nodes.
    NodePool,
}

/// Who is said to post what happens by the scenario, which no program of the cluster does.
pub const SCENARIO: &str = "scenario";

impl InvolvedKind {
    /// Its name, as the API has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Object(kind) => kind.as_str(),
            Self::ConfigMap => "ConfigMap",
            Self::Kubectl => "Kubectl",
            Self::Request => "Request",
            Self::Fault => "Fault",
            Self::NodePool => "NodePool",
        }
    }

    /// The kind of object.
    #[must_use]
    pub fn object(self) -> Option<ObjectKind> {
        match self {
            Self::Object(kind) => Some(kind),
            Self::ConfigMap | Self::Kubectl | Self::Request | Self::Fault | Self::NodePool => None,
        }
    }
}

impl From<ObjectKind> for InvolvedKind {
    fn from(kind: ObjectKind) -> Self {
        Self::Object(kind)
    }
}

/// The object an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: InvolvedKind,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Symbol,
    /// Name.
    pub name: Arc<str>,
    /// UID, if the reference says which of several objects that had the name one after the other is meant.
    pub uid: Uid,
}

impl ObjectRef {
    /// Refers to whatever has the name.
    #[must_use]
    pub fn named(kind: impl Into<InvolvedKind>, namespace: Symbol, name: impl Into<Arc<str>>) -> Self {
        Self { kind: kind.into(), namespace, name: name.into(), uid: Uid::default() }
    }

    /// Refers to a pod.
    #[must_use]
    pub fn pod(pod: &Pod) -> Self {
        Self { uid: pod.uid, ..Self::named(ObjectKind::Pod, pod.namespace, Arc::clone(&pod.name)) }
    }

    /// Refers to a node.
    #[must_use]
    pub fn node(name: Symbol) -> Self {
        Self::named(ObjectKind::Node, Symbol::empty(), name.as_str())
    }

    /// Refers to a workload that exists.
    #[must_use]
    pub fn workload(store: &Store, id: WorkloadId) -> Option<Self> {
        let meta = store.workload_meta(id)?;
        Some(Self { uid: meta.uid, ..Self::named(store.workload_kind(id), meta.namespace, meta.name.as_str()) })
    }
}

/// An Event about to be posted.
#[derive(Clone, Debug)]
pub struct EventDraft {
    /// Normal or Warning.
    pub event_type: EventType,
    /// The API's reason.
    pub reason: &'static str,
    /// The object it is about.
    pub about: ObjectRef,
    /// The node it concerns, for the `node` column.
    pub node: Option<NodeId>,
    /// The text.
    pub message: String,
    /// As whom its component posts it, if not under its own name.
    pub reporter: Option<Symbol>,
}

impl EventDraft {
    /// A Normal event.
    #[must_use]
    pub fn normal(reason: &'static str, about: ObjectRef, message: impl Into<String>) -> Self {
        Self { event_type: EventType::Normal, reason, about, node: None, message: message.into(), reporter: None }
    }

    /// A Warning event.
    #[must_use]
    pub fn warning(reason: &'static str, about: ObjectRef, message: impl Into<String>) -> Self {
        Self { event_type: EventType::Warning, ..Self::normal(reason, about, message) }
    }

    /// Names the node it concerns.
    #[must_use]
    pub fn on(mut self, node: NodeId) -> Self {
        self.node = Some(node);
        self
    }

    /// Names who posts it, where its component does so under several names.
    #[must_use]
    pub fn by(mut self, reporter: Option<Symbol>) -> Self {
        self.reporter = reporter;
        self
    }
}

/// What an operator's command printed, or why a request of the timeline was refused.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// When it was started; of a line that waited in vain for the one before, when it was typed.
    pub at: SimTime,
    /// Its place among the lines that were started.
    pub order: u64,
    /// When it ended; none if the run ended before.
    pub done_at: Option<SimTime>,
    /// The line, without `kubectl`; of a request, its method and path.
    pub command: Arc<str>,
    /// Exit status; none if the run ended before.
    pub exit: Option<i32>,
    /// Lines on standard output.
    pub stdout: Vec<String>,
    /// Lines on standard error.
    pub stderr: Vec<String>,
}

/// Whether what stands in a transcript is a request of the timeline: `DELETE /api/v1/nodes/n`.
fn is_request(line: &str) -> bool {
    let method = line.split_once(" /").map(|(method, _)| method);
    method.is_some_and(|method| ["POST", "PUT", "PATCH", "DELETE"].contains(&method))
}

/// A line of a runbook in one line, with the program that it begins with: `kubectl drain n`. A request is as it is.
#[must_use]
pub fn typed(line: &str) -> String {
    // The lines of a here-document stand in the transcript.
    if is_request(line) {
        return line.to_owned();
    }
    let first = line.lines().next().unwrap_or(line).trim_end_matches('\\').trim_end();
    let is_kubectls = !["cat", "echo", "printf"].iter().any(|name| first.split_whitespace().next() == Some(name));
    if is_kubectls { format!("kubectl {first}") } else { first.to_owned() }
}

/// A fact for the user.
#[derive(Clone, Debug)]
pub enum Record {
    /// An Event that reached the API, with its source.
    Event {
        /// `source.component`.
        component: &'static str,
        /// What it says.
        event: EventDraft,
    },
    /// A finished kubectl line.
    Transcript(Transcript),
    /// What becomes of a fault.
    Fault {
        /// The fault as the timeline's or a random process's events name it; one that began has not ended before it begins again.
        name: Arc<str>,
        /// What becomes of it.
        phase: FaultPhase,
    },
    /// What becomes of a wait with a deadline.
    Timer {
        /// Which.
        timer: Timer,
        /// What becomes of it.
        phase: TimerPhase,
    },
    /// The volumes of a pod that had to be attached are there, and its kubelet knows: its containers can start.
    VolumesMounted(PodId),
}

/// A wait with a deadline that somebody might want to see run down. Each object has at most one of a kind at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// For how long a pod tolerates the NoExecute taints of its node; by namespace and name, as the taint eviction controller has it.
    Toleration(Symbol, Arc<str>),
    /// For how long the node lifecycle controller puts up with the silence of a node.
    NodeMonitorGrace(NodeId),
    /// The same, of a node that has never posted a status.
    NodeStartupGrace(NodeId),
}

/// What becomes of a wait with a deadline.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum TimerPhase {
    /// It is set.
    Set {
        /// From when it counts; before t=0, of one that was set by then.
        from: SimTime,
        /// How long it is, as flag or spec says; it may be counted from when somebody saw that it began.
        length: SimDuration,
        /// When its time is over.
        due: SimTime,
    },
    /// Its time is over, and somebody acts on it.
    Fired,
    /// It is taken back.
    Cancelled,
}

/// What becomes of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultPhase {
    /// It begins.
    Began {
        /// What its kind says of it.
        nature: FaultNature,
        /// Whether machines are hit, too, that join while it lasts.
        is_everywhere: bool,
        /// What it hits.
        targets: Vec<FaultTarget>,
    },
    /// It is over; at once, if it is of a kind that does not last.
    Ended,
    /// There is nothing for it to hit: why.
    Missed(String),
}

/// What the kind of a fault says of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct FaultNature {
    /// The kind, as a scenario writes it.
    pub kind: &'static str,
    /// What became of what it hit: the end of a sentence that begins with how many they are.
    pub effect: &'static str,
    /// What does nothing while it lasts.
    pub stops: Stops,
    /// Whether a node that it hits can lose the condition Ready, or its Node object, by it.
    pub makes_nodes_not_ready: bool,
    /// Whether it ends machines for good.
    pub ends_machines: bool,
}

/// What does nothing while a fault lasts.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Stops {
    /// The machine: nothing runs there.
    Machine,
    /// Its kubelet; containers go on.
    Kubelet,
    /// The link between it and the control plane; containers go on.
    Link,
    /// A process of the control plane.
    Process,
    /// All goes on, if in another way.
    Nothing,
}

impl Stops {
    /// As `faults.csv` has it; empty for nothing.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Kubelet => "kubelet",
            Self::Link => "link",
            Self::Process => "process",
            Self::Nothing => "",
        }
    }
}

/// What a fault hits.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum FaultTarget {
    /// A machine.
    Node(NodeId),
    /// A single pod.
    Pod(PodId),
    /// A process of the control plane.
    Process(ControlPlaneProcess),
}

/// With which of client-go's packages a component records Events.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Recorder {
    /// `tools/record`: damped, and posted one after the other.
    Record,
    /// `tools/events`: each is posted as it comes, whatever came before.
    ///
    /// # Differs
    /// Of a series, only the first and the second are posted there, and its count every half hour; here each is told.
    Events,
}

/// The event recorder's damping of one component.
///
/// # Source
/// client-go, `tools/record`, events cache: per source, object (its UID counts) and type a burst of 25, refilled once in five minutes (what is over
/// is dropped); ten alike but for the message, none of them later than ten minutes after the one before, become one event
/// "(combined from similar events)".
#[derive(Clone, Debug, Default)]
pub struct EventRecorder {
    /// The process began in the middle of the run: it has posted nothing before.
    is_fresh: bool,
    posted: FxHashMap<ObjectRef, Posted>,
}

/// What was posted about an object.
#[derive(Clone, Debug, Default)]
struct Posted {
    /// By [type](EventType).
    spam: [Option<Bucket>; 2],
    /// By reason.
    similar: SmallVec<[(&'static str, Similar); 1]>,
}

impl Posted {
    /// What was posted about a workload before t=0.
    fn before_the_run(about: &ObjectRef, store: &Store) -> Self {
        let mut posted = Self::default();
        let mut events = posted_before_the_run(store, about);
        events.sort_by_key(|(at, _, _)| *at);
        for (at, reason, message) in events {
            posted.passes(EventType::Normal, at);
            posted.is_combined(reason, at, &message);
        }
        posted
    }

    /// Takes an event of these in; whether it is one of so many that they are combined.
    fn is_combined(&mut self, reason: &'static str, now: SimTime, message: &str) -> bool {
        let at = self.similar.iter().position(|(other, _)| *other == reason).unwrap_or_else(|| {
            self.similar.push((reason, Similar { messages: SmallVec::new(), last: now }));
            self.similar.len() - 1
        });
        self.similar[at].1.insert(now, message)
    }

    /// Whether an event of that type may pass.
    fn passes(&mut self, event_type: EventType, now: SimTime) -> bool {
        let full = Bucket { tokens: SPAM_BURST, at: now };
        self.spam[event_type as usize].get_or_insert(full).take(now)
    }
}

#[derive(Copy, Clone, Debug)]
struct Bucket {
    tokens: f64,
    at: SimTime,
}

impl Bucket {
    /// Whether an event may pass.
    fn take(&mut self, now: SimTime) -> bool {
        let refilled = now.saturating_since(self.at).as_secs_f64() * SPAM_REFILL_PER_S;
        self.tokens = (self.tokens + refilled).min(SPAM_BURST);
        self.at = now;
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }
}

#[derive(Clone, Debug)]
struct Similar {
    /// Digests of the messages, the oldest first.
    messages: SmallVec<[u64; 2]>,
    last: SimTime,
}

/// The digest of a message, whatever the case of its letters: versions differ in that, and what was posted before the run is
/// remembered as one of them says it.
fn digest(message: &str) -> u64 {
    let mut hasher = StableHasher::default();
    message.bytes().for_each(|byte| hasher.write(&[byte.to_ascii_lowercase()]));
    hasher.finish()
}

impl Similar {
    /// Whether an event is one of so many that they are combined.
    fn insert(&mut self, now: SimTime, message: &str) -> bool {
        if now.saturating_since(self.last) > SIMILAR_INTERVAL {
            self.messages.clear();
        }
        self.last = now;
        let digest = digest(message);
        if !self.messages.contains(&digest) {
            self.messages.push(digest);
        }
        let is_combined = self.messages.len() >= SIMILAR_MAX;
        if is_combined {
            // The real one forgets whichever comes first in the order of its map.
            self.messages.remove(0);
        }
        is_combined
    }
}

const SPAM_BURST: f64 = 25.0;
const SPAM_REFILL_PER_S: f64 = 1.0 / 300.0;
const SIMILAR_MAX: usize = 10;
const SIMILAR_INTERVAL: SimDuration = SimDuration::from_secs(600);

impl EventRecorder {
    /// The recorder of a process that has just begun.
    #[must_use]
    pub fn fresh() -> Self {
        Self { is_fresh: true, ..Self::default() }
    }

    /// Decides what becomes of an event: dropped (none), or posted, perhaps with the text of a combined one.
    ///
    /// A process that ran before t=0 has posted an event for each object that its workloads had made by then.
    pub fn admit(&mut self, now: SimTime, mut event: EventDraft, store: &Store) -> Option<EventDraft> {
        let posted = match self.posted.entry(event.about.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if self.is_fresh => new.insert(Posted::default()),
            Entry::Vacant(new) => new.insert(Posted::before_the_run(&event.about, store)),
        };
        if posted.is_combined(event.reason, now, &event.message) {
            event.message = format!("(combined from similar events): {}", event.message);
        }
        posted.passes(event.event_type, now).then_some(event)
    }
}

/// The events of a workload's creations before t=0: when, reason, message.
fn posted_before_the_run(store: &Store, about: &ObjectRef) -> Vec<(SimTime, &'static str, String)> {
    // Names of pods are many and must not be interned: a study plays thousands of runs in one process.
    if matches!(about.kind, InvolvedKind::Object(ObjectKind::Pod | ObjectKind::Node)) {
        return Vec::new();
    }
    let found =
        about.kind.object().and_then(|kind| store.find_workload(kind, about.namespace, Symbol::new(&about.name)));
    let Some(workload) = found else { return Vec::new() };
    let mut posted: Vec<(SimTime, &'static str, String)> = Vec::new();
    match workload {
        WorkloadId::Deployment(id) => {
            let sets = store.replica_sets_of(id).iter().filter_map(|&set| store.replica_sets.get(set));
            posted.extend(sets.map(|set| {
                let message = format!("Scaled up replica set {} from 0 to {}", set.meta.name, set.replicas);
                (set.meta.created_at, "ScalingReplicaSet", message)
            }));
        }
        WorkloadId::CronJob(id) => {
            let jobs = store.jobs_of(id).iter().filter_map(|&job| store.jobs.get(job));
            posted.extend(
                jobs.map(|job| {
                    (job.meta.created_at, reason::SUCCESSFUL_CREATE, format!("Created job {}", job.meta.name))
                }),
            );
        }
        WorkloadId::StatefulSet(id) => {
            let templates = store.stateful_sets.get(id).map_or(&[][..], |set| &set.spec.volume_claim_templates);
            for pod in store.pods_of(workload).iter().filter_map(|&pod| store.pod(pod)) {
                let claims = templates.iter().map(|template| format!("{}-{}", template.metadata.name, pod.name));
                posted.extend(claims.filter_map(|claim| {
                    let made = store.volumes.find_claim(about.namespace, Symbol::new(&claim))?;
                    let at = store.volumes.claim(made)?.meta.created_at;
                    let message =
                        format!("Create Claim {claim} Pod {} in StatefulSet {} success", pod.name, about.name);
                    Some((at, reason::SUCCESSFUL_CREATE, message))
                }));
                let message = format!("Create Pod {} in StatefulSet {} successful", pod.name, about.name);
                posted.push((pod.created_at, reason::SUCCESSFUL_CREATE, message));
            }
        }
        WorkloadId::ReplicaSet(_) | WorkloadId::DaemonSet(_) | WorkloadId::Job(_) => {
            posted.extend(store.pods_of(workload).iter().filter_map(|&pod| {
                let pod = store.pod(pod)?;
                Some((pod.created_at, reason::SUCCESSFUL_CREATE, format!("Created pod: {}", pod.name)))
            }));
        }
    }
    posted.retain(|(at, _, _)| *at < SimTime::ZERO);
    posted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_told_in_one() {
        let check = |line: &str, expected: &str| assert_eq!(typed(line), expected);
        check("drain n --force", "kubectl drain n --force");
        check("apply -f - <<EOF\na: b\nEOF", "kubectl apply -f - <<EOF");
        check("cat <<EOF | kubectl apply -f -\na: b\nEOF", "cat <<EOF | kubectl apply -f -");
    }

    fn about(uid: u128) -> ObjectRef {
        ObjectRef { uid: Uid(uid), ..ObjectRef::named(ObjectKind::StatefulSet, Symbol::new("default"), "db") }
    }

    /// How many of so many events pass, a second apart from that time on.
    fn pass(recorder: &mut EventRecorder, draft: &EventDraft, count: i64, from_s: i64) -> usize {
        let store = Store::default();
        let mut posted = 0;
        for i in 0..count {
            let now = SimTime::from_secs(from_s + i);
            posted += usize::from(recorder.admit(now, draft.clone(), &store).is_some());
        }
        posted
    }

    #[test]
    fn twenty_five_events_of_an_object_and_type_pass_then_one_in_five_minutes() {
        let mut recorder = EventRecorder::fresh();
        let normal = EventDraft::normal("SuccessfulCreate", about(1), "made");
        assert_eq!(pass(&mut recorder, &normal, 40, 0), 25);
        assert_eq!(pass(&mut recorder, &normal, 40, 310), 1);
        let other = EventDraft::normal("SuccessfulDelete", about(1), "deleted");
        assert_eq!(pass(&mut recorder, &other, 5, 350), 0, "another reason is of the same bucket");
        let warning = EventDraft::warning("FailedCreate", about(1), "not made");
        assert_eq!(pass(&mut recorder, &warning, 40, 360), 25, "another type is not");
        let namesake = EventDraft::normal("SuccessfulCreate", about(2), "made");
        assert_eq!(pass(&mut recorder, &namesake, 40, 400), 25, "nor is an object that has the name later");
    }

    #[test]
    fn the_tenth_event_alike_but_for_the_message_is_combined_and_one_that_is_remembered_is_not() {
        let mut recorder = EventRecorder::fresh();
        let store = Store::default();
        let mut admit = |now: i64, text: &str| {
            let draft = EventDraft::normal("SuccessfulCreate", about(1), text);
            recorder.admit(SimTime::from_secs(now), draft, &store).expect("within the burst").message
        };
        for i in 0..9 {
            assert_eq!(admit(i, &i.to_string()), i.to_string());
            assert_eq!(admit(i, &i.to_string()), i.to_string());
        }
        assert_eq!(admit(9, "9"), "(combined from similar events): 9");
        assert_eq!(admit(10, "9"), "9");
        assert_eq!(admit(11, "10"), "(combined from similar events): 10");
        assert_eq!(admit(612, "11"), "11");
    }
}
