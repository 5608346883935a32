//! What a kubelet checks before it starts a pod that was bound to it.

use smallvec::SmallVec;

use crate::arena::Symbol;
use crate::model::{QosClass, SYSTEM_CRITICAL_PRIORITY, Taint, TaintEffect, host_ports};
use crate::state::{Node, Pod, PodId, ReportedConditions, Store};

/// Why a pod is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// `status.reason` and the event's reason.
    pub(super) reason: &'static str,
    /// What follows "Pod was rejected: ".
    pub(super) message: String,
}

/// What a kubelet knows when it looks at a pod.
pub(super) struct Attributes<'a> {
    pub(super) node: &'a Node,
    pub(super) name: Symbol,
    /// The pods that it has taken and that have not ended; none if they cannot be in the way: see [`has_room_for_all`].
    pub(super) others: &'a [&'a Pod],
    pub(super) reported: ReportedConditions,
}

/// The pods of a node that its kubelet has taken and that have not ended, but one. Of those with something under way `stays` says whether they
/// count: one that has been rejected does not, though it may run yet.
///
/// # Source
/// kubelet, `isPodInactive`.
pub(super) fn others<'a>(
    store: &'a Store,
    pod: &Pod,
    stays: impl Fn(PodId) -> Option<bool>,
) -> SmallVec<[&'a Pod; 16]> {
    let Some(node) = pod.node else { return SmallVec::new() };
    let is_taken = |id: PodId, other: &Pod| {
        // One that is bound at the same time and comes later has no place yet.
        stays(id).unwrap_or(other.started_at.is_some())
    };
    let on_node = store.unfinished_pods_on(node).iter().filter_map(|&id| Some((id, store.pod(id)?)));
    on_node.filter(|(id, other)| other.uid != pod.uid && is_taken(*id, other)).map(|(_, other)| other).collect()
}

/// Whether the node has room for all pods that are bound to it, so that those which the kubelet has taken leave room for this one.
pub(super) fn has_room_for_all(store: &Store, node: &Node, pod: &Pod) -> bool {
    let asks_for_others = || !pod.spec.requests.scalars.is_empty() || !host_ports(&pod.spec).is_empty();
    pod.node.is_some_and(|id| store.requested_on(id).fits(node)) && !asks_for_others()
}

/// Why a pod is refused, if it is.
///
/// # Source
/// kubelet, admission handlers: node pressure, resources, then node affinity, ports, then untolerated NoExecute taints, then a
/// shutdown under way; the first counts. A critical pod that only lacks resources makes room for itself. Mirror pods are exempt but
/// in a shutdown.
pub(super) fn refuses(seen: &Attributes<'_>, pod: &Pod) -> Option<Refusal> {
    let reported = &seen.reported;
    let refusal = if pod.is_mirror { None } else { refused_by_predicates(seen, pod) };
    refusal.or_else(|| {
        let message = "Pod was rejected as the node is shutting down.".to_owned();
        reported.shutting_down.then_some(Refusal { reason: "NodeShutdown", message })
    })
}

fn refused_by_predicates(seen: &Attributes<'_>, pod: &Pod) -> Option<Refusal> {
    let node = seen.node;
    if let Some(refusal) = under_pressure(pod, &seen.reported) {
        return Some(refusal);
    }
    if pod.spec.priority < SYSTEM_CRITICAL_PRIORITY
        && let Some(lack) = lacks(seen, pod).first()
    {
        return Some(lack.refusal());
    }
    if !pod.spec.allows_node(&node.labels, seen.name) {
        let message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector".to_owned();
        return Some(Refusal { reason: "NodeAffinity", message });
    }
    if lacks_ports(seen, pod) {
        let message =
            "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports".to_owned();
        return Some(Refusal { reason: "NodePorts", message });
    }
    let untolerated = node.taints.iter().any(|t| {
        let taint = Taint::new(t.key, t.value, t.effect);
        t.effect == TaintEffect::NoExecute
            && !pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint))
    });
    untolerated.then(|| Refusal {
        reason: "TaintToleration",
        message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate".to_owned(),
    })
}

/// Whether a port of the node that the pod asks for is taken.
fn lacks_ports(seen: &Attributes<'_>, pod: &Pod) -> bool {
    let wanted = host_ports(&pod.spec);
    !wanted.is_empty()
        && seen
            .others
            .iter()
            .any(|other| host_ports(&other.spec).iter().any(|taken| wanted.iter().any(|port| port.conflicts(taken))))
}

/// # Source
/// kubelet, eviction manager as admission handler: critical pods always; under memory pressure alone, all but BestEffort
/// pods that do not tolerate it; otherwise nobody.
fn under_pressure(pod: &Pod, reported: &ReportedConditions) -> Option<Refusal> {
    let conditions = [
        (reported.memory_pressure, "MemoryPressure"),
        (reported.disk_pressure, "DiskPressure"),
        (reported.pid_pressure, "PIDPressure"),
    ];
    let holding: Vec<&str> = conditions.iter().filter(|(holds, _)| *holds).map(|(_, name)| *name).collect();
    if holding.is_empty() || pod.spec.priority >= SYSTEM_CRITICAL_PRIORITY {
        return None;
    }
    if holding == ["MemoryPressure"] {
        let taint = Taint::new("node.kubernetes.io/memory-pressure".into(), "".into(), TaintEffect::NoSchedule);
        let is_tolerated = pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint));
        if pod.spec.qos != QosClass::BestEffort || is_tolerated {
            return None;
        }
    }
    let message = format!("The node had condition: [{}]. ", holding.join(", "));
    Some(Refusal { reason: "Evicted", message })
}

/// A resource of which a kubelet keeps count.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Cpu,
    Memory,
    EphemeralStorage,
    Pods,
    /// Extended resources, huge pages.
    Scalar(Symbol),
}

impl Resource {
    /// In the order in which a kubelet looks; then come the scalar ones.
    const FIRST: [Self; 4] = [Self::Pods, Self::Cpu, Self::Memory, Self::EphemeralStorage];

    /// Those that a pod asks for and that count on the node.
    ///
    /// # Source
    /// kubelet, `removeMissingExtendedResources`: extended resources that the node does not name do not count.
    fn of<'a>(pod: &'a Pod, node: &'a Node) -> impl Iterator<Item = Self> + 'a {
        let counts = move |name: Symbol| {
            let is_extended = name.as_str().contains('/');
            !is_extended || node.allocatable.scalars.iter().any(|(other, _)| *other == name)
        };
        let scalars = pod.spec.requests.scalars.iter().map(|(name, _)| *name).filter(move |name| counts(*name));
        Self::FIRST.into_iter().chain(scalars.map(Self::Scalar))
    }

    /// What a pod asks for, CPU in thousandths.
    pub(super) fn request(self, pod: &Pod) -> i64 {
        match self {
            Self::Cpu => pod.spec.requests.cpu_milli,
            Self::Memory => pod.spec.requests.memory,
            Self::EphemeralStorage => pod.spec.requests.ephemeral_storage,
            Self::Pods => 1,
            Self::Scalar(name) => pod.spec.requests.scalar(name),
        }
    }

    fn allocatable(self, node: &Node) -> i64 {
        match self {
            Self::Cpu => node.allocatable.cpu_milli,
            Self::Memory => node.allocatable.memory,
            Self::EphemeralStorage => node.allocatable.ephemeral_storage,
            Self::Pods => node.allocatable_pods,
            Self::Scalar(name) => node.allocatable.scalar(name),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::EphemeralStorage => "ephemeral-storage",
            Self::Pods => "pods",
            Self::Scalar(name) => name.as_str(),
        }
    }

    fn refusal(self) -> &'static str {
        match self {
            Self::Cpu => "OutOfcpu",
            Self::Memory => "OutOfmemory",
            Self::EphemeralStorage => "OutOfephemeral-storage",
            Self::Pods => "OutOfpods",
            Self::Scalar(name) => Symbol::new(&format!("OutOf{name}")).as_str(),
        }
    }
}

/// A resource of which there is not enough.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Lack {
    pub(super) resource: Resource,
    asked: i64,
    used: i64,
    capacity: i64,
}

impl Lack {
    /// How much is missing.
    pub(super) fn amount(&self) -> i64 {
        self.asked.saturating_sub(self.capacity.saturating_sub(self.used))
    }

    fn refusal(&self) -> Refusal {
        let Self { resource, asked, used, capacity } = *self;
        let name = resource.name();
        let message =
            format!("Node didn't have enough resource: {name}, requested: {asked}, used: {used}, capacity: {capacity}");
        Refusal { reason: resource.refusal(), message }
    }
}

/// What the node lacks for a pod beside those that it has.
pub(super) fn lacks(seen: &Attributes<'_>, pod: &Pod) -> Vec<Lack> {
    let lack = |resource: Resource| {
        let asked = resource.request(pod);
        if asked == 0 {
            return None;
        }
        let used = seen.others.iter().map(|other| resource.request(other)).fold(0, i64::saturating_add);
        let lack = Lack { resource, asked, used, capacity: resource.allocatable(seen.node) };
        (lack.amount() > 0).then_some(lack)
    };
    Resource::of(pod, seen.node).filter_map(lack).collect()
}

/// A critical pod for which no set of pods makes room.
pub(super) fn no_room(lacks: &[Lack]) -> Refusal {
    let amounts: String =
        lacks.iter().map(|lack| format!("(res: {}, q: {}), ", lack.resource.name(), lack.amount())).collect();
    let message = format!(
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to \
         preempt: no set of running pods found to reclaim resources: [{amounts}]"
    );
    Refusal { reason: "UnexpectedAdmissionError", message }
}
