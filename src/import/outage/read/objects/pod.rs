//! What a pod tells.

use super::Found;
use super::fields::{
    ContainerStatus, Metadata, PodSpec, PodStatus, Terminated, Text, disruption, is_by_kubelet, stamp_of, text,
};
use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, EndedBy, Instant, PodName, What};
use crate::units::SimDuration;

/// A pod whose Ready condition is as old as the pod's life on its node has never been ready.
const FIRST_REPORT: SimDuration = SimDuration::from_secs(2);

pub(super) fn read(metadata: &Metadata<'_>, spec: &PodSpec<'_>, status: &PodStatus<'_>, found: &mut Found) {
    let namespace = metadata.namespace.as_ref().map_or_else(|| Symbol::new("default"), Text::symbol);
    let pod = PodName { namespace, name: Symbol::new(text(metadata.name.as_ref())) };
    let node = spec.node_name.as_ref().map(Text::symbol).filter(|node| !node.is_empty());
    let created = stamp_of(metadata.creation_timestamp.as_ref());
    if let Some(when) = created {
        found.see(when, What::PodCreated { pod, owner: metadata.owner() });
    }
    scheduling(pod, node, status, found);
    readiness(pod, status, found);
    deletion(pod, node, metadata, status, found);
    let phase = text(status.phase.as_ref());
    let is_over = matches!(phase, "Succeeded" | "Failed");
    if is_over {
        let reason = Symbol::new(text(status.reason.as_ref()));
        let what = What::PodFinished { pod, is_success: phase == "Succeeded", reason };
        match finished(status) {
            Some(when) => found.see(when, what),
            None => found.since(created.map_or_else(Instant::default, |created| created.earliest), what),
        }
    }
    let is_disrupted = status.condition("DisruptionTarget").is_some() || is_by_kubelet(text(status.reason.as_ref()));
    let is_stopping = metadata.deletion_timestamp.is_some() || is_disrupted;
    for container in status.container_statuses.iter().flatten() {
        containers(pod, container, is_stopping, found);
        image(pod, node, spec, container, status, found);
    }
    if let (Some(node), false) = (node, is_over) {
        let is_ready = status.condition("Ready").is_some_and(|ready| ready.has_status("True"));
        found.stands(What::PodSeen { pod, node, owner: metadata.owner(), is_ready });
    }
}

fn scheduling(pod: PodName, node: Option<Symbol>, status: &PodStatus<'_>, found: &mut Found) {
    let Some(scheduled) = status.condition("PodScheduled") else { return };
    let Some(when) = stamp_of(scheduled.last_transition_time.as_ref()) else { return };
    if let (Some(node), true) = (node, scheduled.has_status("True")) {
        found.see(when, What::PodScheduled { pod, node });
    } else if text(scheduled.reason.as_ref()) == "Unschedulable" {
        found.see(when, What::PodUnschedulable { pod, message: Symbol::new(text(scheduled.message.as_ref())) });
    }
}

fn readiness(pod: PodName, status: &PodStatus<'_>, found: &mut Found) {
    let Some(ready) = status.condition("Ready") else { return };
    let Some(when) = stamp_of(ready.last_transition_time.as_ref()) else { return };
    let is_ready = ready.has_status("True");
    let started = stamp_of(status.start_time.as_ref());
    let is_first = started.is_some_and(|started| when.earliest <= started.latest.later(FIRST_REPORT));
    if is_ready || !is_first {
        found.see(when, What::PodReady { pod, is_ready });
    }
}

/// The time stamp of a deletion is that of the request and the grace period; a pod that the kubelet ends has none.
fn deletion(pod: PodName, node: Option<Symbol>, metadata: &Metadata<'_>, status: &PodStatus<'_>, found: &mut Found) {
    let target = status.condition("DisruptionTarget").filter(|target| target.has_status("True"));
    let mut by = target.map_or(DeletedBy::Unknown, |target| disruption(text(target.reason.as_ref())));
    let targeted = target.and_then(|target| stamp_of(target.last_transition_time.as_ref()));
    let reason = text(status.reason.as_ref());
    if by == DeletedBy::Kubelet || (target.is_none() && is_by_kubelet(reason)) {
        if let Some(when) = targeted.or_else(|| finished(status)) {
            found.see(when, What::PodDeletion { pod, by: DeletedBy::Kubelet, node });
        }
        by = DeletedBy::Unknown;
    }
    let Some(ends) = stamp_of(metadata.deletion_timestamp.as_ref()) else { return };
    let grace = metadata.deletion_grace_period_seconds.and_then(|grace| u64::try_from(grace).ok()).unwrap_or(0);
    let grace = SimDuration::from_secs(grace.min(1 << 30));
    let asked = Bounds { earliest: ends.earliest.earlier(grace), latest: ends.latest.earlier(grace) };
    found.see(asked, What::PodDeletion { pod, by, node });
}

/// When a pod that is over came to its end: the last that is known of it.
fn finished(status: &PodStatus<'_>) -> Option<Bounds> {
    let states = status.container_statuses.iter().flatten().filter_map(|container| container.state.as_ref());
    let ended = states.filter_map(|state| stamp_of(state.terminated.as_ref()?.finished_at.as_ref()));
    let changed = ["Ready", "DisruptionTarget"].into_iter().filter_map(|name| status.condition(name));
    let changed = changed.filter_map(|condition| stamp_of(condition.last_transition_time.as_ref()));
    ended.chain(changed).max().or_else(|| stamp_of(status.start_time.as_ref()))
}

fn containers(pod: PodName, status: &ContainerStatus<'_>, is_stopping: bool, found: &mut Found) {
    let Some(container) = status.name.as_ref().map(Text::symbol) else { return };
    let states = [(&status.last_state, false), (&status.state, is_stopping)];
    for (state, is_stopping) in states {
        let Some(state) = state else { continue };
        let started = state.running.as_ref().and_then(|running| running.started_at.as_ref());
        let started = started.or_else(|| state.terminated.as_ref()?.started_at.as_ref());
        if let Some(when) = stamp_of(started) {
            found.see(when, What::ContainerStarted { pod, container });
        }
        let Some(terminated) = &state.terminated else { continue };
        if let Some(when) = stamp_of(terminated.finished_at.as_ref()) {
            found.see(when, What::ContainerEnded { pod, container, by: ended_by(terminated, is_stopping) });
        }
    }
}

/// How a container ended, as far as its status tells: exit codes of signals say that somebody else ended it, and runtimes that lost a
/// container over a reboot say `Unknown`.
pub(in super::super) fn ended_by(terminated: &Terminated<'_>, is_stopping: bool) -> EndedBy {
    match (text(terminated.reason.as_ref()), terminated.exit_code) {
        ("OOMKilled", _) => EndedBy::OutOfMemory,
        ("Unknown" | "ContainerStatusUnknown", _) | (_, None | Some(137 | 143)) => EndedBy::Unknown,
        ("Completed", _) | (_, Some(0)) => EndedBy::Completed,
        _ if is_stopping => EndedBy::Unknown,
        _ => EndedBy::Crash,
    }
}

fn image(
    pod: PodName,
    node: Option<Symbol>,
    spec: &PodSpec<'_>,
    container: &ContainerStatus<'_>,
    status: &PodStatus<'_>,
    found: &mut Found,
) {
    let waiting = container.state.as_ref().and_then(|state| state.waiting.as_ref());
    let reason = waiting.map_or("", |waiting| text(waiting.reason.as_ref()));
    let Some(started) = stamp_of(status.start_time.as_ref()) else { return };
    if !matches!(reason, "ErrImagePull" | "ImagePullBackOff") {
        return;
    }
    let name = text(container.name.as_ref());
    let written = spec.containers.iter().flatten().find(|written| text(written.name.as_ref()) == name);
    if let Some(image) = written.and_then(|written| written.image.as_ref()) {
        found.since(started.earliest, What::ImagePullFailed { pod, node, image: image.symbol() });
    }
}
