//! Facts for the user: Kubernetes Events, and the lines an operator saw.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::state::{NodeId, Pod, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// Severity of an Event.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
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

/// The object an Event is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectRef {
    /// API kind.
    pub kind: &'static str,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Symbol,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectRef {
    /// Refers to a pod.
    #[must_use]
    pub fn pod(pod: &Pod) -> Self {
        Self { kind: "Pod", namespace: pod.namespace, name: Arc::clone(&pod.name) }
    }

    /// Refers to a node.
    #[must_use]
    pub fn node(name: Symbol) -> Self {
        Self { kind: "Node", namespace: Symbol::empty(), name: Arc::from(name.as_str()) }
    }

    /// Refers to a workload that exists.
    #[must_use]
    pub fn workload(store: &Store, id: WorkloadId) -> Option<Self> {
        let meta = store.workload_meta(id)?;
        Some(Self { kind: store.workload_kind(id), namespace: meta.namespace, name: Arc::from(meta.name.as_str()) })
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
}

impl EventDraft {
    /// A Normal event.
    #[must_use]
    pub fn normal(reason: &'static str, about: ObjectRef, message: impl Into<String>) -> Self {
        Self { event_type: EventType::Normal, reason, about, node: None, message: message.into() }
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
}

/// What an operator's command printed.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// When it was started; of a line that waited in vain for the one before, when it was typed.
    pub at: SimTime,
    /// Its place among the lines that were started.
    pub order: u64,
    /// When it ended; none if the run ended before.
    pub done_at: Option<SimTime>,
    /// The line, without `kubectl`.
    pub command: Arc<str>,
    /// Exit status; none if the run ended before.
    pub exit: Option<i32>,
    /// Lines on standard output.
    pub stdout: Vec<String>,
    /// Lines on standard error.
    pub stderr: Vec<String>,
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
}

/// The event recorder's damping of one component.
///
/// # Source
/// client-go, events cache: per source and object a burst of 25, refilled once in five minutes (what is over is dropped);
/// more than ten alike but for the message within ten minutes become one event "(combined from similar events)".
#[derive(Clone, Debug, Default)]
pub struct EventRecorder {
    /// The process began in the middle of the run: it has posted nothing before.
    is_fresh: bool,
    spam: FxHashMap<ObjectRef, (f64, SimTime)>,
    similar: FxHashMap<(ObjectRef, &'static str), Similar>,
}

#[derive(Clone, Debug)]
struct Similar {
    messages: Vec<String>,
    last: SimTime,
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
    /// A process that ran before t=0 has posted an event for each pod that its workloads had made by then.
    pub fn admit(&mut self, now: SimTime, mut event: EventDraft, store: &Store) -> Option<EventDraft> {
        let key = (event.about.clone(), event.reason);
        let similar = self.similar.entry(key).or_insert_with(|| Similar { messages: Vec::new(), last: now });
        if now.saturating_since(similar.last) > SIMILAR_INTERVAL {
            similar.messages.clear();
        }
        similar.last = now;
        if !similar.messages.contains(&event.message) && similar.messages.len() < SIMILAR_MAX {
            similar.messages.push(event.message.clone());
        }
        if similar.messages.len() >= SIMILAR_MAX {
            event.message = format!("(combined from similar events): {}", event.message);
        }
        let full = (SPAM_BURST, now);
        let is_fresh = self.is_fresh;
        let (tokens, at) = self
            .spam
            .entry(event.about.clone())
            .or_insert_with(|| if is_fresh { full } else { left_before_the_run(store, &event.about).unwrap_or(full) });
        *tokens = (*tokens + now.saturating_since(*at).as_secs_f64() * SPAM_REFILL_PER_S).min(SPAM_BURST);
        *at = now;
        if *tokens < 1.0 {
            return None;
        }
        *tokens -= 1.0;
        Some(event)
    }
}

/// What a workload's creations before t=0 have left of its burst, and when the last one was; none if there were none.
fn left_before_the_run(store: &Store, about: &ObjectRef) -> Option<(f64, SimTime)> {
    // Names of pods are many and must not be interned: a study plays thousands of runs in one process.
    if matches!(about.kind, "Pod" | "Node") {
        return None;
    }
    let workload = store.find_workload(about.kind, about.namespace, Symbol::new(&about.name))?;
    let pods = store.pods_of(workload).iter().filter_map(|&pod| store.pod(pod));
    let mut created: Vec<SimTime> = pods.map(|pod| pod.created_at).filter(|at| *at < SimTime::ZERO).collect();
    created.sort_unstable();
    let (mut tokens, mut last) = (SPAM_BURST, *created.first()?);
    for at in created {
        tokens = (tokens + at.saturating_since(last).as_secs_f64() * SPAM_REFILL_PER_S).min(SPAM_BURST);
        last = at;
        if tokens >= 1.0 {
            tokens -= 1.0;
        }
    }
    Some((tokens, last))
}
