//! What sightings say, in words.

use crate::evidence::{DeletedBy, EndedBy, Notice, PodName, Reporter, What};
use crate::model::ConditionStatus;

/// A sighting as a clause.
pub(super) fn words(what: &What) -> String {
    match what {
        What::NodeReady { node, status, by } => {
            let by = match by {
                Reporter::Controller => ", said the node lifecycle controller",
                Reporter::Kubelet => ", said its kubelet",
                Reporter::Unknown => "",
            };
            format!("node {node} turned Ready={}{by}", status_word(*status))
        }
        What::NodeCondition { node, condition, status } => {
            format!("node {node} turned {condition}={}", status_word(*status))
        }
        What::NodeTaint { node, key, effect, is_present: true } => format!("node {node} got the taint {key}:{effect}"),
        What::NodeTaint { node, key, effect, is_present: false } => {
            format!("node {node} lost the taint {key}:{effect}")
        }
        What::NodeSchedulable { node, is_schedulable: true } => format!("node {node} was uncordoned"),
        What::NodeSchedulable { node, is_schedulable: false } => format!("node {node} was cordoned"),
        What::NodePresent { node, is_present: true } => format!("node {node} was registered"),
        What::NodePresent { node, is_present: false } => format!("node {node} was removed"),
        What::InstanceGone { node } => format!("the cloud did not know the machine of node {node}"),
        What::KubeletStarted { node } => format!("the kubelet of node {node} started"),
        What::Rebooted { node } => format!("node {node} had booted anew"),
        What::Heartbeat { node } => format!("node {node} gave a heartbeat"),
        What::CloudNotice { machine, notice, deadline } => {
            let deadline = deadline.map_or_else(String::new, |deadline| format!(" for {deadline}"));
            format!("the cloud said of {machine}: {}{deadline}", notice_word(*notice))
        }
        What::ZoneState { zone, state } => format!("zone {zone} entered {state}"),
        What::Scaled { kind, namespace, name, from, to } => {
            let from = from.map_or_else(String::new, |from| format!(" from {from}"));
            format!("{kind} {namespace}/{name} was scaled{from} to {to}")
        }
        What::Request(request) => {
            let sub = if request.subresource.is_empty() { String::new() } else { format!("/{}", request.subresource) };
            let place = if request.namespace.is_empty() { String::new() } else { format!("{}/", request.namespace) };
            format!(
                "{} ({}) asked to {} {}{sub} {place}{}: {}",
                request.user, request.agent, request.verb, request.resource, request.name, request.code
            )
        }
        What::ComponentStarted { component } => format!("{component} began anew or took over"),
        what => of_pod(what),
    }
}

fn of_pod(what: &What) -> String {
    let Some(PodName { namespace, name }) = what.pod() else { return String::new() };
    let does = match what {
        What::PodCreated { .. } => "was created".to_owned(),
        What::PodScheduled { node, .. } => format!("was bound to {node}"),
        What::PodUnschedulable { message, .. } => format!("found no node: {message}"),
        What::PodReady { is_ready: true, .. } => "turned Ready".to_owned(),
        What::PodReady { is_ready: false, .. } => "turned unready".to_owned(),
        What::PodDeletion { by, .. } => format!("was to go{}", deleter(*by)),
        What::DeletionCancelled { .. } => "was not to go any more".to_owned(),
        What::PodGone { .. } => "was gone".to_owned(),
        What::PodFinished { is_success: true, .. } => "had succeeded".to_owned(),
        What::PodFinished { is_success: false, reason, .. } if reason.is_empty() => "had failed".to_owned(),
        What::PodFinished { is_success: false, reason, .. } => format!("had failed ({reason})"),
        What::PodSeen { node, .. } => format!("was seen on {node}"),
        What::ContainerEnded { container, by, .. } => match by {
            EndedBy::OutOfMemory => format!("lost container {container} for its memory"),
            EndedBy::Crash => format!("had container {container} end with an error"),
            EndedBy::Completed => format!("had container {container} end"),
            EndedBy::Unknown => format!("lost container {container}"),
        },
        What::ContainerStarted { container, .. } if container.is_empty() => "had a container start".to_owned(),
        What::ContainerStarted { container, .. } => format!("had container {container} start"),
        What::ImagePullFailed { image, .. } => format!("could not pull {image}"),
        _ => return String::new(),
    };
    format!("pod {namespace}/{name} {does}")
}

const fn deleter(by: DeletedBy) -> &'static str {
    match by {
        DeletedBy::TaintManager => " for a taint",
        DeletedBy::Eviction => ", evicted",
        DeletedBy::PodGC => ", as its node was gone",
        DeletedBy::Preemption => " for one of higher priority",
        DeletedBy::Workload => " by its controller",
        DeletedBy::Kubelet => " by its kubelet",
        DeletedBy::Operator => " by an operator",
        DeletedBy::Unknown => "",
    }
}

const fn notice_word(notice: Notice) -> &'static str {
    match notice {
        Notice::SpotInterruption => "spot interruption",
        Notice::Rebalance => "likely to be taken back",
        Notice::Reboot => "reboot",
        Notice::Termination => "termination",
        Notice::Stopping => "stopping",
        Notice::Stopped => "stopped",
        Notice::Running => "running",
    }
}

pub(super) const fn status_word(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}
