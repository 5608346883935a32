//! What the reasons of Events mean: who gives them when, and what came about.
//!
//! # Source
//!
//! The event reasons and messages of the node lifecycle, taint eviction and workload controllers, of kube-scheduler, the kubelet,
//! cluster-autoscaler, Karpenter, aws-node-termination-handler, node-problem-detector and OpenShift's machine-config daemon.

use super::Event;
use crate::arena::Symbol;
use crate::evidence::{DeletedBy, EndedBy, Notice, PodName, Reporter, What};
use crate::model::ConditionStatus;
use crate::units::SimDuration;

/// A probe has failed.
pub(super) const UNHEALTHY: &str = "Unhealthy";

/// A kubelet looks at its node's spec, and reports pressure, once in so long.
const STATUS_PERIOD: SimDuration = SimDuration::from_secs(10);
/// How long before a kubelet acts on a change it came about, if the kubelet was there: what its watch and its loops take.
const KUBELET_LATENCY: SimDuration = SimDuration::from_secs(2);
/// Bytes of a message that are kept, as many as the API takes.
const MESSAGE_MAX: usize = 1024;

/// Processes of the control plane that elect leaders and that are played.
const ELECTORS: [&str; 4] = ["kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "k3s"];
/// Of a pod that a kubelet does not take, besides `OutOf…`.
const REJECTIONS: [&str; 8] = [
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeShutdown",
    "PodAdmissionFailed",
    "TaintToleration",
    "TopologyAffinityError",
    "UnexpectedAdmissionError",
];

/// What an Event says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    /// What came about.
    pub(super) what: What,
    /// How long before the Event it may have.
    pub(super) before: SimDuration,
    /// How long after.
    pub(super) after: SimDuration,
    /// Whether only the first of equal Events says when.
    pub(super) is_once: bool,
}

/// What came about when the Event was made.
fn at_once(what: What) -> Said {
    Said { what, before: SimDuration::ZERO, after: SimDuration::ZERO, is_once: false }
}

impl Said {
    fn up_to_before(self, before: SimDuration) -> Self {
        Self { before, ..self }
    }

    fn up_to_after(self, after: SimDuration) -> Self {
        Self { after, ..self }
    }

    fn once(self) -> Self {
        Self { is_once: true, ..self }
    }
}

/// What an Event says of an outage; `None` if nothing that is known here.
pub(super) fn said(event: &Event) -> Option<Said> {
    match event.kind.as_str() {
        "Node" => of_node(event, event.node()?),
        "Pod" => of_pod(event, event.pod()?),
        "Lease" | "ConfigMap" | "Endpoints" => leader(event).or_else(|| autoscaler_status(event)),
        "Namespace" => api_server(event),
        "Deployment" => scaled(event),
        "ReplicaSet" | "ReplicationController" | "StatefulSet" | "DaemonSet" | "Job" => of_owner(event),
        _ => None,
    }
}

fn condition(node: Symbol, condition: &str, status: ConditionStatus) -> Option<Said> {
    Some(at_once(What::NodeCondition { node, condition: Symbol::new(condition), status }))
}

fn of_node(event: &Event, node: Symbol) -> Option<Said> {
    use ConditionStatus::{False, True};
    let what = match event.reason.as_str() {
        "NodeReady" => What::NodeReady { node, status: True, by: reporter(event) },
        "NodeNotReady" => {
            let by = reporter(event);
            // The controller says so only of what it has itself made Unknown.
            let status = if by == Reporter::Controller { ConditionStatus::Unknown } else { False };
            What::NodeReady { node, status, by }
        }
        "NodeHasInsufficientMemory" => return condition(node, "MemoryPressure", True),
        "NodeHasSufficientMemory" => return condition(node, "MemoryPressure", False),
        "NodeHasDiskPressure" => return condition(node, "DiskPressure", True),
        "NodeHasNoDiskPressure" => return condition(node, "DiskPressure", False),
        "NodeHasInsufficientPID" => return condition(node, "PIDPressure", True),
        "NodeHasSufficientPID" => return condition(node, "PIDPressure", False),
        "EvictionThresholdMet" => {
            let condition = pressure(&event.message)?;
            let what = What::NodeCondition { node, condition: Symbol::new(condition), status: True };
            return Some(at_once(what).up_to_after(STATUS_PERIOD).once());
        }
        "RegisteredNode" => What::NodePresent { node, is_present: true },
        "RemovingNode" => What::NodePresent { node, is_present: false },
        "DeletingNode" => What::InstanceGone { node },
        "Starting" if event.message.contains("kubelet") => What::KubeletStarted { node },
        "Rebooted" => What::Rebooted { node },
        "NodeNotSchedulable" | "NodeSchedulable" => {
            let is_schedulable = event.reason == "NodeSchedulable";
            return Some(at_once(What::NodeSchedulable { node, is_schedulable }).up_to_before(STATUS_PERIOD));
        }
        "Cordon" | "Uncordon" => What::NodeSchedulable { node, is_schedulable: event.reason == "Uncordon" },
        "CordonAndDrain" => What::NodeSchedulable { node, is_schedulable: false },
        "ScaleDown" if event.message.starts_with("marked the node as toBeDeleted") => What::NodeTaint {
            node,
            key: Symbol::new("ToBeDeletedByClusterAutoscaler"),
            effect: Symbol::new("NoSchedule"),
            is_present: true,
        },
        _ => {
            return notice(event)
                .map(|notice| at_once(What::CloudNotice { machine: node, notice, deadline: None }))
                .or_else(|| own_condition(event, node));
        }
    };
    Some(at_once(what))
}

/// Who says what became of a node.
fn reporter(event: &Event) -> Reporter {
    match event.component.as_str() {
        "kubelet" => Reporter::Kubelet,
        // As releases of before 1.9 call it, and those in which everything is one process.
        "node-controller" | "node-lifecycle-controller" | "controllermanager" | "controller-manager" => {
            Reporter::Controller
        }
        _ => Reporter::Unknown,
    }
}

/// The condition that begins where a kubelet reclaims that resource.
fn pressure(message: &str) -> Option<&'static str> {
    let resource = message.strip_prefix("Attempting to reclaim ")?;
    match resource {
        "memory" => Some("MemoryPressure"),
        "pids" => Some("PIDPressure"),
        "ephemeral-storage" | "inodes" => Some("DiskPressure"),
        _ => None,
    }
}

/// What clouds, or those who speak for them, say of a machine.
fn notice(event: &Event) -> Option<Notice> {
    let says = |word: &str| event.message.to_lowercase().contains(word);
    match event.reason.as_str() {
        "SpotInterrupted" | "SpotInterruption" | "PreemptScheduled" => Some(Notice::SpotInterruption),
        "SpotRebalanceRecommendation" | "RebalanceRecommendation" => Some(Notice::Rebalance),
        "Reboot" | "RebootScheduled" | "RedeployScheduled" => Some(Notice::Reboot),
        "ScheduledEvent" if says("reboot") => Some(Notice::Reboot),
        "InstanceTerminating" | "TerminatingOnInterruption" | "TerminateScheduled" | "ASGLifecycle" => {
            Some(Notice::Termination)
        }
        "ScheduledEvent" => Some(Notice::Termination),
        "ScaleDown" if says("node removed") => Some(Notice::Termination),
        "InstanceStopping" | "Shutdown" => Some(Notice::Stopping),
        "StateChange" if says("terminat") => Some(Notice::Termination),
        "StateChange" if says("stop") => Some(Notice::Stopping),
        _ => None,
    }
}

/// A condition that node-problem-detector has set: `Node condition KernelDeadlock is now: True, reason: …`.
fn own_condition(event: &Event, node: Symbol) -> Option<Said> {
    let (name, rest) = event.message.strip_prefix("Node condition ")?.split_once(" is now: ")?;
    let status = status(rest.split([',', ' ']).next()?)?;
    condition(node, name, status)
}

fn status(text: &str) -> Option<ConditionStatus> {
    match text {
        "True" => Some(ConditionStatus::True),
        "False" => Some(ConditionStatus::False),
        "Unknown" => Some(ConditionStatus::Unknown),
        _ => None,
    }
}

fn of_pod(event: &Event, pod: PodName) -> Option<Said> {
    let message = event.message.as_str();
    let node = event.host();
    let deletion = |by: DeletedBy, node: Option<Symbol>| Some(at_once(What::PodDeletion { pod, by, node }));
    match event.reason.as_str() {
        "NodeNotReady" => Some(at_once(What::PodReady { pod, is_ready: false })),
        "TaintManagerEviction" | "DeviceTaintManagerEviction" if message.starts_with("Cancel") => {
            Some(at_once(What::DeletionCancelled { pod }))
        }
        "TaintManagerEviction" | "DeviceTaintManagerEviction" => deletion(DeletedBy::TaintManager, None),
        // What did so before taints were evicted for.
        "NodeControllerEviction" => deletion(DeletedBy::TaintManager, node_in(message)),
        "Scheduled" => {
            let node = word(message.strip_prefix("Successfully assigned ")?.split_once(" to ")?.1)?;
            Some(at_once(What::PodScheduled { pod, node }))
        }
        "FailedScheduling" if !message.starts_with("skip schedule") => {
            Some(at_once(What::PodUnschedulable { pod, message: Symbol::new(cut(message)) }))
        }
        "Preempted" => deletion(DeletedBy::Preemption, node_in(message)),
        "Preempting" => deletion(DeletedBy::Kubelet, node),
        "Evicted" if event.component == "kubelet" => deletion(DeletedBy::Kubelet, node),
        "Evicted" | "Descheduled" => deletion(DeletedBy::Eviction, None),
        "ScaleDown" if message.starts_with("deleting pod") => deletion(DeletedBy::Eviction, None),
        "Killing" => killing(event, pod),
        "Started" => {
            let container = container(event).unwrap_or_default();
            Some(at_once(What::ContainerStarted { pod, container }))
        }
        "BackOff" | "Failed" | "ErrImageNeverPull" => image_or_crash(event, pod),
        UNHEALTHY if message.starts_with("Readiness probe") => {
            Some(at_once(What::PodReady { pod, is_ready: false }).once())
        }
        reason if is_rejection(reason) && event.component == "kubelet" => {
            Some(at_once(What::PodFinished { pod, is_success: false, reason: Symbol::new(reason) }).once())
        }
        _ if event.component.contains("descheduler") && message.contains("evicted") => {
            deletion(DeletedBy::Eviction, None)
        }
        _ => None,
    }
}

/// The longest that a kubelet waits until it pulls again.
const PULL_BACK_OFF_MAX: SimDuration = SimDuration::from_secs(300);

fn is_rejection(reason: &str) -> bool {
    REJECTIONS.contains(&reason) || (reason.starts_with("OutOf") && reason != "OutOfDisk")
}

/// A kubelet stops a container: the pod's deletion has been asked for, or the container will be started anew.
fn killing(event: &Event, pod: PodName) -> Option<Said> {
    let message = event.message.as_str();
    if message.starts_with("Stopping container") || message.to_lowercase().contains("need to kill") {
        let what = What::PodDeletion { pod, by: DeletedBy::Unknown, node: event.host() };
        return Some(at_once(what).up_to_before(KUBELET_LATENCY).once());
    }
    let is_anew = message.contains("will be restarted") || message.contains("will be killed and recreated");
    let container = container(event).filter(|_| is_anew)?;
    Some(at_once(What::ContainerEnded { pod, container, by: EndedBy::Unknown }))
}

/// An image cannot be pulled, or a container that has ended is not started again yet.
fn image_or_crash(event: &Event, pod: PodName) -> Option<Said> {
    let message = event.message.as_str();
    let pulls = ["Failed to pull image \"", "Back-off pulling image \"", "Container image \""];
    if let Some(rest) = pulls.iter().find_map(|begin| message.strip_prefix(begin)) {
        let image = Symbol::new(cut(rest.split('"').next().unwrap_or(rest)));
        let failed = at_once(What::ImagePullFailed { pod, node: event.host(), image });
        // While it is waited, nothing is pulled: that failed before.
        let waits = message.starts_with("Back-off");
        return Some(if waits { failed.up_to_before(PULL_BACK_OFF_MAX) } else { failed });
    }
    if !message.starts_with("Back-off restarting failed container") {
        return None;
    }
    // Said at each look at the pod while it waits; only the first comes right after the end.
    let container = container(event)?;
    let what = What::ContainerEnded { pod, container, by: EndedBy::Unknown };
    Some(at_once(what).up_to_before(KUBELET_LATENCY).once())
}

/// The container that is spoken of: `spec.containers{web}`, or the last word of the message of older releases.
fn container(event: &Event) -> Option<Symbol> {
    let path = event.field_path.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}'));
    if let Some(name) = path.filter(|name| !name.is_empty()) {
        return Some(Symbol::new(name));
    }
    let message = event.message.as_str();
    let begins = ["Started container ", "Back-off restarting failed container ", "Container "];
    let name = begins.iter().find_map(|begin| message.strip_prefix(begin))?;
    // Of `Started container with id …` nobody knows which.
    word(name).filter(|name| !matches!(name.as_str(), "started" | "with"))
}

/// The node that a message ends with: `Preempted by a pod on node worker-3`.
fn node_in(message: &str) -> Option<Symbol> {
    let lower = message.to_ascii_lowercase();
    let at = lower.rfind(" on node ").map(|at| at + 9).or_else(|| lower.rfind(" from node ").map(|at| at + 11))?;
    word(&message[at..])
}

/// The first word of a text.
fn word(text: &str) -> Option<Symbol> {
    let word = text.split([' ', ',', ';', ':']).next()?.trim_matches(['"', '\'', '.']);
    (!word.is_empty() && word.len() <= 253).then(|| Symbol::new(word))
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(MESSAGE_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A leader of the control plane has been elected.
fn leader(event: &Event) -> Option<Said> {
    let is_leader = event.reason == "LeaderElection" && event.message.ends_with("became leader");
    let component = ELECTORS.iter().find(|name| is_leader && **name == event.object_name)?;
    Some(at_once(What::ComponentStarted { component: Symbol::new(component) }))
}

/// An API server has begun to serve.
fn api_server(event: &Event) -> Option<Said> {
    let is_ready = event.reason == "KubeAPIReadyz" && event.message == "readyz=true";
    is_ready.then(|| at_once(What::ComponentStarted { component: Symbol::new("kube-apiserver") }))
}

/// What cluster-autoscaler says of nodes in the Events of its own ConfigMap.
fn autoscaler_status(event: &Event) -> Option<Said> {
    let rest = event.message.strip_prefix("Scale-down: ")?;
    let mut words = rest.split(' ');
    let is_removed = event.reason.starts_with("ScaleDown") && rest.contains("remov");
    let machine = words.by_ref().skip_while(|word| *word != "node").nth(1).filter(|_| is_removed)?;
    let machine = word(machine)?;
    Some(at_once(What::CloudNotice { machine, notice: Notice::Termination, deadline: None }))
}

/// A Deployment has changed how many pods one of its ReplicaSets wants: `Scaled up replica set web-1 from 2 to 3`, of older releases
/// `… to 3 from 2` or `… to 3`.
fn scaled(event: &Event) -> Option<Said> {
    let rest = event.message.strip_prefix("Scaled ").filter(|_| event.reason == "ScalingReplicaSet")?;
    let words: Vec<&str> = rest.split_once(" replica set ")?.1.split(' ').collect();
    let after =
        |word: &str| words.iter().position(|found| *found == word).and_then(|at| words.get(at + 1)?.parse().ok());
    let (kind, name) = (Symbol::new("ReplicaSet"), Symbol::new(words.first().filter(|name| !name.is_empty())?));
    let namespace = namespace(event)?;
    Some(at_once(What::Scaled { kind, namespace, name, from: after("from"), to: after("to")? }))
}

fn namespace(event: &Event) -> Option<Symbol> {
    let own = if event.object_namespace.is_empty() { &event.namespace } else { &event.object_namespace };
    (!own.is_empty()).then(|| Symbol::new(own))
}

/// Pods that a controller has made or deleted.
fn of_owner(event: &Event) -> Option<Said> {
    let message = event.message.as_str();
    let namespace = namespace(event)?;
    let owner = (!event.object_name.is_empty()).then(|| (Symbol::new(&event.kind), Symbol::new(&event.object_name)));
    let pod = |name: &str| Some(PodName { namespace, name: word(name)? });
    match event.reason.as_str() {
        "SuccessfulCreate" => {
            let pod = pod(message.strip_prefix("Created pod: ").or_else(|| of_set(message, "reate Pod "))?)?;
            Some(at_once(What::PodCreated { pod, owner }))
        }
        "SuccessfulDelete" => {
            let pod = pod(message.strip_prefix("Deleted pod: ").or_else(|| of_set(message, "elete Pod "))?)?;
            Some(at_once(What::PodDeletion { pod, by: DeletedBy::Workload, node: None }))
        }
        "RecreatingFailedPod" | "RecreatingTerminatedPod" => {
            let pod = pod(message.rsplit_once(" Pod ")?.1)?;
            Some(at_once(What::PodDeletion { pod, by: DeletedBy::Workload, node: None }))
        }
        "FailedDaemonPod" | "SucceededDaemonPod" => {
            let name = message.split_once(" daemon pod ")?.1;
            let pod = pod(name.split_once('/')?.1)?;
            Some(at_once(What::PodDeletion { pod, by: DeletedBy::Workload, node: node_in(message) }))
        }
        _ => None,
    }
}

/// The pod that a StatefulSet speaks of: `create Pod web-0 in StatefulSet web successful`.
fn of_set<'m>(message: &'m str, verb: &str) -> Option<&'m str> {
    message.get(1..)?.strip_prefix(verb)
}
