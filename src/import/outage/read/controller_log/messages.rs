//! What the messages of kube-controller-manager mean.

use super::line::Line;
use crate::arena::Symbol;
use crate::evidence::{DeletedBy, PodName, Reporter, What};
use crate::import::outage::read::events;
use crate::model::ConditionStatus;
use crate::units::SimDuration;

/// The node lifecycle controller looks at all nodes once in so long.
const MONITOR_PERIOD: SimDuration = SimDuration::from_secs(5);
/// What it queues, it finds one pass after it has set it.
const QUEUEING: SimDuration = SimDuration::from_secs(10);

/// Who says what is written into this log.
const COMPONENT: &str = "controller-manager";

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub(super) what: What,
    /// How long before the line it may have come about.
    pub(super) before: SimDuration,
    /// Whether a controller that has just begun says so of what came about long ago, too.
    pub(super) is_found_anew: bool,
    /// How long before the line it came about at the latest.
    pub(super) ago: SimDuration,
}

fn at_once(what: What) -> Said {
    Said { what, before: SimDuration::ZERO, is_found_anew: false, ago: SimDuration::ZERO }
}

fn seen(what: What, before: SimDuration) -> Said {
    Said { before, is_found_anew: true, ..at_once(what) }
}

/// What a line says of an outage; `None` if nothing that is known here.
pub(super) fn said(line: &Line<'_>) -> Option<Said> {
    let message = &*line.message;
    if message == "Event occurred" || message.starts_with("Event(v1.ObjectReference{") {
        return event(line).map(at_once);
    }
    if let Some(zone) = zone_state(line) {
        return Some(at_once(zone));
    }
    of_node(line).or_else(|| of_pod(line)).or_else(|| component(line))
}

/// The component that begins with a line, if one does.
fn component(line: &Line<'_>) -> Option<Said> {
    let message = line.message.trim();
    let component = if let Some(lease) = message.strip_prefix("successfully acquired lease ") {
        lease.rsplit('/').next()?
    } else if line.file == "leaderelection.go" && message == "Successfully acquired lease" {
        line.value(&["lock"])?.rsplit('/').next()?
    } else if line.file == "controllermanager.go" && (message.starts_with("Version: ") || message == "Starting") {
        "kube-controller-manager"
    } else {
        return None;
    };
    Some(at_once(What::ComponentStarted { component: Symbol::new(component) }))
}

/// A zone of the node lifecycle controller has entered a state.
fn zone_state(line: &Line<'_>) -> Option<What> {
    let message = &*line.message;
    let (zone, state) = if message.starts_with("Controller detected that zone is now in new state") {
        (line.value(&["zone"]).unwrap_or_default(), line.value(&["newState"])?)
    } else {
        let (zone, state) = message.strip_prefix("Controller detected that zone ")?.split_once(" is now in state ")?;
        (zone, state.trim_end_matches('.'))
    };
    // The key of a zone is its region and its name.
    let plain: String = zone.chars().filter(|c| *c != '\0').collect();
    let name = plain.rsplit(':').next().filter(|name| !name.is_empty()).unwrap_or(&plain);
    Some(What::ZoneState { zone: Symbol::new(name), state: Symbol::new(state) })
}

fn of_node(line: &Line<'_>) -> Option<Said> {
    use ConditionStatus::{False, True, Unknown};
    let message = &*line.message;
    let node = |older: Option<&str>| {
        let name = line.value(&["node", "nodeName"]).or(older)?;
        Some(Symbol::new(name.trim_start_matches('/'))).filter(|name| !name.is_empty())
    };
    let ready = |node: Symbol, status: ConditionStatus, by: Reporter| What::NodeReady { node, status, by };
    let word_before = |end: &str| message.split_once(end).and_then(|(text, _)| text.rsplit(' ').next());
    if message.contains("Adding it to the Taint queue") {
        let is_silent = message.contains("is unresponsive");
        let node = node(word_before(" is unresponsive").or_else(|| word_before(" is NotReady")))?;
        let (status, by) = if is_silent { (Unknown, Reporter::Controller) } else { (False, Reporter::Kubelet) };
        return Some(seen(ready(node, status, by), QUEUEING));
    }
    if message.contains("healthy again, removed all taints") || message.contains("healthy again, removing all taints") {
        let node = node(word_before(" is healthy again"))?;
        return Some(seen(ready(node, True, Reporter::Unknown), QUEUEING));
    }
    if message.starts_with("ReadyCondition for Node") {
        let current = line.value(&["currentReadyCondition", "currentCondition"]);
        let current = current.or_else(|| message.rsplit_once(" to ").map(|(_, text)| text))?;
        let status = match current.split_once("Status:")?.1.split([',', '}', ' ']).next()? {
            "True" => True,
            "False" => False,
            _ => Unknown,
        };
        let by = if status == Unknown { Reporter::Controller } else { Reporter::Kubelet };
        let older = message.strip_prefix("ReadyCondition for Node ").and_then(|rest| rest.split(' ').next());
        return Some(seen(ready(node(older)?, status, by), MONITOR_PERIOD));
    }
    if message.contains("hasn't been updated") {
        return silence(line, node(word_before(" hasn't been updated"))?);
    }
    let present = |node: Symbol, is_present: bool| What::NodePresent { node, is_present };
    if message.starts_with("Controller observed a new Node") {
        let node = node(message.rsplit_once(": ").map(|(_, name)| name))?;
        return Some(seen(present(node, true), MONITOR_PERIOD));
    }
    if message.starts_with("Controller observed a Node deletion") {
        let node = node(message.rsplit_once(": ").map(|(_, name)| name))?;
        return Some(seen(present(node, false), MONITOR_PERIOD));
    }
    if message.starts_with("deleting node since it is no longer present in cloud provider") {
        let node = node(message.rsplit_once(": ").map(|(_, name)| name))?;
        return Some(at_once(What::InstanceGone { node }));
    }
    None
}

/// A node of which nothing has been heard for so long.
fn silence(line: &Line<'_>, node: Symbol) -> Option<Said> {
    let older = line.message.split_once("hasn't been updated for ").and_then(|(_, rest)| rest.split(' ').next());
    let since = line.value(&["duration", "since"]).or(older)?;
    let ago: SimDuration = since.trim_end_matches('.').parse().ok()?;
    // Whatever was renewed since the pass before was seen then.
    Some(Said { ago, ..seen(What::Heartbeat { node }, MONITOR_PERIOD) })
}

fn of_pod(line: &Line<'_>) -> Option<Said> {
    let message = &*line.message;
    let value = line.value(&["pod"]);
    let deletion = |pod: PodName, by: DeletedBy, node: Option<&str>| {
        let node = node.map(|node| Symbol::new(node.trim_matches(['/', '.'])));
        Some(at_once(What::PodDeletion { pod, by, node }))
    };
    let older = |text: &str| Some(message.strip_prefix(text)?.split(' ').next().unwrap_or_default());
    let is_eviction = message == "Deleting pod" && line.file == "taint_eviction.go";
    if is_eviction || message.starts_with("NoExecuteTaintManager is deleting") {
        let name = value.or_else(|| older("NoExecuteTaintManager is deleting Pod: "))?;
        return deletion(pod_name(name)?, DeletedBy::TaintManager, None);
    }
    if message.starts_with("Found orphaned Pod") {
        let name = value.or_else(|| older("Found orphaned Pod "))?;
        let node = message.split_once("assigned to the Node ").map(|(_, rest)| rest);
        let node = line.value(&["node"]).or_else(|| node?.split(' ').next());
        return deletion(pod_name(name)?, DeletedBy::PodGC, node);
    }
    if message.starts_with("PodGC is force deleting Pod") {
        return deletion(pod_name(value.or_else(|| older("PodGC is force deleting Pod: "))?)?, DeletedBy::PodGC, None);
    }
    None
}

/// `namespace/name`.
fn pod_name(text: &str) -> Option<PodName> {
    let (namespace, name) =
        text.split_once('/').filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())?;
    Some(PodName { namespace: Symbol::new(namespace), name: Symbol::new(name.trim_end_matches(['.', ','])) })
}

/// An Event, as the recorder writes it into the log.
fn event(line: &Line<'_>) -> Option<What> {
    let message = &*line.message;
    if message == "Event occurred" {
        let object = line.value(&["object"])?;
        let (namespace, name) = object.split_once('/').unwrap_or(("", object));
        let path = line.value(&["fieldPath"]).unwrap_or_default();
        let text = line.value(&["message"]).unwrap_or_default();
        return events::logged(
            COMPONENT,
            line.value(&["kind"])?,
            namespace,
            name,
            path,
            line.value(&["reason"])?,
            text,
        );
    }
    let (reference, rest) = message.split_once("}): type: '")?;
    let field = |name: &str| {
        let found = reference.split_once(&format!("{name}:\""))?.1;
        Some(found.split('"').next().unwrap_or_default())
    };
    let (reason, text) = rest.split_once("reason: '")?.1.split_once("' ")?;
    let path = field("FieldPath").unwrap_or_default();
    events::logged(
        COMPONENT,
        field("Kind")?,
        field("Namespace").unwrap_or_default(),
        field(" Name")?,
        path,
        reason,
        text,
    )
}
