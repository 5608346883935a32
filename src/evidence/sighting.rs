//! What records say.

use std::fmt;

use crate::arena::Symbol;
use crate::model::ConditionStatus;
use crate::units::{SimDuration, exact_rfc3339_from_unix_nanos, unix_nanos_from_rfc3339};

/// An instant of a real clock, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(i64);

impl Instant {
    /// The instant so many nanoseconds after the Unix epoch.
    #[must_use]
    pub const fn from_unix_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The instant that an RFC 3339 time stamp says; `None` if it is none or out of range.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        unix_nanos_from_rfc3339(text).map(Self)
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_nanos(self) -> i64 {
        self.0
    }

    /// So much later; stops at the end of the range.
    #[must_use]
    pub const fn later(self, by: SimDuration) -> Self {
        Self(self.0.saturating_add_unsigned(by.as_nanos()))
    }

    /// So much earlier; stops at the beginning of the range.
    #[must_use]
    pub const fn earlier(self, by: SimDuration) -> Self {
        Self(self.0.saturating_sub_unsigned(by.as_nanos()))
    }

    /// How long after another instant; negative before it, in nanoseconds.
    #[must_use]
    pub const fn nanos_since(self, other: Self) -> i64 {
        self.0.saturating_sub(other.0)
    }
}

impl fmt::Display for Instant {
    /// RFC 3339 in UTC, with what there is of a second.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&exact_rfc3339_from_unix_nanos(self.0))
    }
}

/// Between which instants, both included, something came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bounds {
    /// Not before.
    pub earliest: Instant,
    /// Not after.
    pub latest: Instant,
}

impl Bounds {
    /// Exactly then.
    #[must_use]
    pub const fn at(instant: Instant) -> Self {
        Self { earliest: instant, latest: instant }
    }

    /// Between two instants, whichever of them comes first.
    #[must_use]
    pub fn between(one: Instant, other: Instant) -> Self {
        Self { earliest: one.min(other), latest: one.max(other) }
    }

    /// Within the second that a time stamp of whole seconds names.
    #[must_use]
    pub const fn second(stamp: Instant) -> Self {
        Self { earliest: stamp, latest: stamp.later(SimDuration::from_nanos(999_999_999)) }
    }

    /// What both allow; `None` where they contradict each other.
    #[must_use]
    pub fn and(self, other: Self) -> Option<Self> {
        let (earliest, latest) = (self.earliest.max(other.earliest), self.latest.min(other.latest));
        (earliest <= latest).then_some(Self { earliest, latest })
    }

    /// The instant in the middle, the best single guess; a whole millisecond where the bounds leave room for one.
    #[must_use]
    pub const fn middle(self) -> Instant {
        const MILLI: i64 = 1_000_000;
        let width = self.latest.0.saturating_sub(self.earliest.0);
        let middle = self.earliest.0 + width / 2;
        if width < 2 * MILLI {
            return Instant(middle);
        }
        let over = middle.rem_euclid(MILLI);
        Instant(if over < MILLI / 2 { middle - over } else { middle + (MILLI - over) })
    }

    /// How far apart the bounds are.
    #[must_use]
    pub const fn width(self) -> SimDuration {
        SimDuration::from_nanos(self.latest.0.abs_diff(self.earliest.0))
    }

    /// Whether an instant lies within.
    #[must_use]
    pub fn contains(self, instant: Instant) -> bool {
        self.earliest <= instant && instant <= self.latest
    }

    /// Moved by so many nanoseconds, later if positive.
    #[must_use]
    pub const fn shifted(self, nanos: i64) -> Self {
        Self {
            earliest: Instant(self.earliest.0.saturating_add(nanos)),
            latest: Instant(self.latest.0.saturating_add(nanos)),
        }
    }
}

/// The kind of a record, which decides how much its times say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// Events of the API, in either version.
    Events,
    /// The API server's audit log.
    Audit,
    /// Samples of kube-state-metrics.
    Metrics,
    /// Objects as they stood when a dump was made.
    Objects,
    /// The log of kube-controller-manager.
    ControllerLog,
    /// OpenShift's monitor intervals.
    Intervals,
    /// Notices of a cloud.
    Cloud,
}

impl RecordKind {
    /// Every kind, in the order of their names.
    pub const ALL: [Self; 7] =
        [Self::Events, Self::Audit, Self::Metrics, Self::Objects, Self::ControllerLog, Self::Intervals, Self::Cloud];

    /// The name in files and sentences.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Audit => "audit",
            Self::Metrics => "metrics",
            Self::Objects => "objects",
            Self::ControllerLog => "controller-log",
            Self::Intervals => "intervals",
            Self::Cloud => "cloud",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// Which record of an import, in the order in which they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub u32);

/// One file, or one file of an archive, that evidence was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// How messages name it: a path relative to what was given.
    pub name: String,
    /// What it is.
    pub kind: RecordKind,
    /// From when to when it watched, as far as it says so: nothing can be concluded from its silence outside.
    pub covers: Option<Bounds>,
    /// Between samples, of records that sample.
    pub step: Option<SimDuration>,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq)]
pub struct Sighting {
    /// When it came about, by the record's own clock.
    pub when: Bounds,
    /// What came about.
    pub what: What,
    /// Where it is said.
    pub record: RecordId,
    /// Line of the record, item of its list or sample of its series, counted from 1.
    pub place: u32,
}

/// Who said what became of a node's condition, which decides how long after the fault it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reporter {
    /// The node lifecycle controller, after the grace period: the kubelet was silent.
    Controller,
    /// The kubelet itself: without delay.
    Kubelet,
    /// The record does not say.
    Unknown,
}

/// Who asked for the deletion of a pod, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeletedBy {
    /// The taint eviction controller, once a toleration ran out.
    TaintManager,
    /// The eviction API: a drain, a descheduler, an autoscaler.
    Eviction,
    /// The pod garbage collector: its node was gone.
    PodGC,
    /// kube-scheduler, for a pod of higher priority.
    Preemption,
    /// A controller of workloads: scaling, a rollout.
    Workload,
    /// The kubelet: node pressure or shutdown. The pod fails, it is not deleted.
    Kubelet,
    /// A person or a tool with kubectl's verbs.
    Operator,
    /// The record does not say.
    Unknown,
}

/// How a container ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EndedBy {
    /// Out of memory, by its own limit.
    OutOfMemory,
    /// By itself, with an exit code that is not 0.
    Crash,
    /// By itself, with exit code 0.
    Completed,
    /// The record does not say.
    Unknown,
}

/// What a cloud announces of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Notice {
    /// A spot instance will be taken back.
    SpotInterruption,
    /// A spot instance is likely to be taken back.
    Rebalance,
    /// The cloud will reboot the machine.
    Reboot,
    /// The cloud will end the machine for good: retirement, termination, scale-in.
    Termination,
    /// The machine is stopping.
    Stopping,
    /// The machine has stopped, or is gone.
    Stopped,
    /// The machine runs.
    Running,
}

/// What came about. Nodes are named as in the cluster; a cloud's machine by its id until it has been joined to one.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A node's Ready condition took this status.
    NodeReady { node: Symbol, status: ConditionStatus, by: Reporter },
    /// Another condition of a node, such as `MemoryPressure`, took this status.
    NodeCondition { node: Symbol, condition: Symbol, status: ConditionStatus },
    /// A taint came to a node or left it.
    NodeTaint { node: Symbol, key: Symbol, effect: Symbol, is_present: bool },
    /// A node was cordoned, or uncordoned.
    NodeSchedulable { node: Symbol, is_schedulable: bool },
    /// A Node object came to be, or was removed.
    NodePresent { node: Symbol, is_present: bool },
    /// Somebody found out that the machine is not there any more.
    InstanceGone { node: Symbol },
    /// The kubelet started.
    KubeletStarted { node: Symbol },
    /// The machine had booted anew when the kubelet reported.
    Rebooted { node: Symbol },
    /// The kubelet was alive and heard.
    Heartbeat { node: Symbol },
    /// The cloud announced or reported something of a machine; `deadline`: when it will come about.
    CloudNotice { machine: Symbol, notice: Notice, deadline: Option<Instant> },
    /// A zone of the node lifecycle controller entered a state, such as `FullDisruption`.
    ZoneState { zone: Symbol, state: Symbol },
    /// A pod came to be; `owner` is the kind and name of its controller.
    PodCreated { pod: PodName, owner: Option<(Symbol, Symbol)> },
    /// A pod was bound to a node.
    PodScheduled { pod: PodName, node: Symbol },
    /// The scheduler found no node, and said why.
    PodUnschedulable { pod: PodName, message: Symbol },
    /// A pod's Ready condition changed.
    PodReady { pod: PodName, is_ready: bool },
    /// A pod's deletion was asked for, or its failure by the kubelet; `node`: where it ran, if the record says it.
    PodDeletion { pod: PodName, by: DeletedBy, node: Option<Symbol> },
    /// A pending deletion for a taint was called off.
    DeletionCancelled { pod: PodName },
    /// A pod's object went.
    PodGone { pod: PodName },
    /// A pod ended: Succeeded or Failed.
    PodFinished { pod: PodName, is_success: bool, reason: Symbol },
    /// A pod stands on a node at that time, whatever came before.
    PodSeen { pod: PodName, node: Symbol, owner: Option<(Symbol, Symbol)>, is_ready: bool },
    /// A container of a pod ended.
    ContainerEnded { pod: PodName, container: Symbol, by: EndedBy },
    /// A container of a pod was started; its name is empty if the record does not say which.
    ContainerStarted { pod: PodName, container: Symbol },
    /// An image could not be pulled.
    ImagePullFailed { pod: PodName, node: Option<Symbol>, image: Symbol },
    /// A workload's wanted number of replicas changed; `from`: what it was, if the record says it.
    Scaled { kind: Symbol, namespace: Symbol, name: Symbol, from: Option<i64>, to: i64 },
    /// A request to the API that changes something, with what came of it.
    Request(Box<Request>),
    /// A process of the control plane began anew, or became the leader.
    ComponentStarted { component: Symbol },
}

/// A pod by namespace and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodName {
    /// Its namespace.
    pub namespace: Symbol,
    /// Its name.
    pub name: Symbol,
}

/// A request of an audit log.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Who asked: the user's name.
    pub user: Symbol,
    /// With which program: the head of the user agent, such as `kubectl`.
    pub agent: Symbol,
    /// `create`, `delete`, `patch`, `update`, `deletecollection`.
    pub verb: Symbol,
    /// `pods`, `nodes`, `deployments`.
    pub resource: Symbol,
    /// `eviction`, `scale`, `status`, or empty.
    pub subresource: Symbol,
    /// Namespace of the object, or empty.
    pub namespace: Symbol,
    /// Name of the object, or empty.
    pub name: Symbol,
    /// Status of the answer, such as 200; 0 if it is not there.
    pub code: u16,
    /// The body that was sent, if the audit policy keeps it, as compact JSON of at most 64 KiB.
    pub body: Option<Box<str>>,
}

impl What {
    /// The node that is spoken of, if the sighting itself names one.
    #[must_use]
    pub fn node(&self) -> Option<Symbol> {
        match self {
            Self::NodeReady { node, .. }
            | Self::NodeCondition { node, .. }
            | Self::NodeTaint { node, .. }
            | Self::NodeSchedulable { node, .. }
            | Self::NodePresent { node, .. }
            | Self::InstanceGone { node }
            | Self::KubeletStarted { node }
            | Self::Rebooted { node }
            | Self::Heartbeat { node }
            | Self::PodScheduled { node, .. }
            | Self::PodSeen { node, .. } => Some(*node),
            Self::PodDeletion { node, .. } | Self::ImagePullFailed { node, .. } => *node,
            _ => None,
        }
    }

    /// The pod that is spoken of.
    #[must_use]
    pub fn pod(&self) -> Option<PodName> {
        match self {
            Self::PodCreated { pod, .. }
            | Self::PodScheduled { pod, .. }
            | Self::PodUnschedulable { pod, .. }
            | Self::PodReady { pod, .. }
            | Self::PodDeletion { pod, .. }
            | Self::DeletionCancelled { pod }
            | Self::PodGone { pod }
            | Self::PodFinished { pod, .. }
            | Self::PodSeen { pod, .. }
            | Self::ContainerEnded { pod, .. }
            | Self::ContainerStarted { pod, .. }
            | Self::ImagePullFailed { pod, .. } => Some(*pod),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_told_in_milliseconds_where_it_is_a_guess() {
        let second = 1_000_000_000;
        assert_eq!(Bounds::second(Instant(7 * second)).middle(), Instant(7 * second + second / 2));
        assert_eq!(Bounds::between(Instant(3), Instant(10)).middle(), Instant(6));
        assert_eq!(Bounds::at(Instant(1_234_567)).middle(), Instant(1_234_567));
        assert_eq!(Bounds::between(Instant(-second), Instant(-1)).middle(), Instant(-second / 2));
    }
}
