//! Statuses of containers as a kubelet posts them, and how it words what it says of them.

use smallvec::SmallVec;

use super::settings;
use super::worker::Worker;
use crate::component::PodStatusPatch;
use crate::model::Container;
use crate::model::config::KubernetesVersion;
use crate::state::{ContainerState, ContainerStatus, Ending, Pod};
use crate::units::{SimDuration, SimTime};

/// What the kubelet has last said of the pod's containers; it may not have arrived.
pub(super) fn known<'a>(worker: Option<&'a Worker>, pod: &'a Pod) -> &'a [ContainerStatus] {
    let known = worker.and_then(|worker| Some(&worker.known.as_ref()?.containers)).filter(|known| !known.is_empty());
    let unposted = worker.and_then(|worker| worker.unposted.as_ref()?.containers.as_ref());
    known.or(unposted).unwrap_or(&pod.containers)
}

/// What the kubelet has last said of the pod's init containers.
pub(super) fn known_inits<'a>(worker: Option<&'a Worker>, pod: &'a Pod) -> &'a [ContainerStatus] {
    let known = worker.and_then(|worker| Some(&worker.known.as_ref()?.inits)).filter(|inits| !inits.is_empty());
    let unposted = worker.and_then(|worker| worker.unposted.as_ref()?.init_containers.as_ref());
    known.or(unposted).unwrap_or(&pod.init_containers)
}

/// The pod's containers: those that have ended for good stay as they are, the others are in this state.
pub(super) fn but_done(worker: Option<&Worker>, pod: &Pod, status: ContainerStatus) -> SmallVec<[ContainerStatus; 1]> {
    let known = known(worker, pod);
    // Containers are started one after the other.
    let mut hooks = SimDuration::ZERO;
    let of = |(index, container): (usize, &Container)| {
        if let Some(done) = known.get(index).filter(|known| is_done(container, pod, known)) {
            return *done;
        }
        let state = match status.state {
            ContainerState::Running { since } => ContainerState::Running { since: since + hooks },
            state => state,
        };
        hooks += settings::post_start(container);
        ContainerStatus { state, ..status }
    };
    pod.spec.containers.iter().enumerate().map(of).collect()
}

/// Whether the container has ended and will not be started again.
pub(super) fn is_done(container: &Container, pod: &Pod, status: &ContainerStatus) -> bool {
    status.state.ending().is_some_and(|ending| !pod.spec.restarts(container, ending.exit_code))
}

/// The pod's containers that are not done, with their positions.
pub(super) fn undone<'a>(pod: &'a Pod, known: &[ContainerStatus]) -> impl Iterator<Item = (usize, &'a Container)> {
    let is_undone = move |(index, container): &(usize, &Container)| {
        known.get(*index).is_none_or(|status| !is_done(container, pod, status))
    };
    pod.spec.containers.iter().enumerate().filter(is_undone)
}

/// The statuses of containers that run, as the kubelet knows them: what it posted last may not have arrived.
pub(super) fn running(worker: Option<&Worker>, pod: &Pod, ready: bool) -> SmallVec<[ContainerStatus; 1]> {
    if let Some((worker, since)) = worker.and_then(|worker| Some((worker, worker.run()?.since?))) {
        let restarts = worker.restarts.max(pod.restarts_max());
        let state = ContainerState::Running { since };
        return but_done(Some(worker), pod, ContainerStatus { state, ready, restarts, last: worker.ended });
    }
    let status = |c: &ContainerStatus| ContainerStatus { ready: ready && c.state.ending().is_none(), ..*c };
    known(worker, pod).iter().map(status).collect()
}

/// Whether containers are all ready.
pub(super) fn are_ready(containers: &[ContainerStatus]) -> bool {
    !containers.is_empty() && containers.iter().all(|container| container.ready)
}

/// Whether a container of that status has ever run.
pub(super) fn has_run(status: &ContainerStatus) -> bool {
    status.restarts > 0 || status.last.is_some() || !status.state.is_waiting()
}

/// Init containers when the regular ones start: sidecars run, the others are done, since when the kubelet has said it, else since now.
pub(super) fn inits_done(known: &[ContainerStatus], pod: &Pod, now: SimTime) -> SmallVec<[ContainerStatus; 0]> {
    let status = |(index, container): (usize, &Container)| {
        let known = known.get(index).copied().unwrap_or_default();
        let state = match (container.is_sidecar(), known.state) {
            (true, runs @ ContainerState::Running { .. }) => runs,
            (true, _) => ContainerState::Running { since: now },
            (false, ContainerState::Terminated(ending)) if ending.exit_code == 0 => ContainerState::Terminated(ending),
            (false, _) => ContainerState::Terminated(Ending::exit(0, now)),
        };
        ContainerStatus { state, ready: true, ..known }
    };
    pod.spec.init_containers.iter().enumerate().map(status).collect()
}

/// Whether the containers' statuses say that the pod is ready, whatever its condition says.
pub(super) fn are_containers_ready(pod: &Pod) -> bool {
    are_ready(&pod.containers)
}

/// How a pod's containers have ended that are not started again, if all have; the kubelet has not said so yet.
pub(super) fn ended_for_good(pod: &Pod) -> Option<Ending> {
    let endings = pod.containers.iter().map(|container| container.state.ending());
    let endings: SmallVec<[Ending; 2]> = endings.collect::<Option<_>>()?;
    if pod.spec.containers.iter().zip(&pod.containers).any(|(container, status)| !is_done(container, pod, status)) {
        return None;
    }
    endings.iter().find(|ending| ending.exit_code != 0).or(endings.first()).copied()
}

/// Whether a container waits for its restart, which its status says from the second sync on; before, it says how the container has ended.
/// The first restart is waited for by none.
pub(super) fn is_backing_off(pod: &Pod) -> bool {
    pod.spec.containers.iter().zip(&pod.containers).any(|(container, status)| {
        let has_ended = status.state.ending().is_some() && status.restarts > 0 && !is_done(container, pod, status);
        has_ended || status.state == ContainerState::CrashLoopBackOff
    })
}

/// Since when the pod's containers run, if its status says that they do.
pub(super) fn running_since(pod: &Pod) -> Option<SimTime> {
    pod.containers.iter().find_map(|status| status.state.running_since())
}

/// Lays a newer status over an older one that was never posted.
pub(super) fn merge(older: &mut PodStatusPatch, newer: PodStatusPatch) {
    let PodStatusPatch { phase, reason, ready, stamped_at, started, containers, init_containers, disruption, .. } =
        newer;
    older.phase = phase.or(older.phase);
    older.reason = reason.or(older.reason);
    if ready.is_some() && ready != older.ready {
        (older.ready, older.stamped_at) = (ready, stamped_at);
    }
    older.started = older.started.or(started);
    older.disruption = disruption.or(older.disruption);
    older.containers = containers.or(older.containers.take());
    older.init_containers = init_containers.or(older.init_containers.take());
}

/// What the event of a container's start says; since 1.35 it no longer names the container.
pub(super) fn started_text(container: &Container, version: KubernetesVersion) -> String {
    if version.at_least(35) { "Container started".to_owned() } else { format!("Started container {}", container.name) }
}

/// What the event of a back-off says.
pub(super) fn back_off_text(container: &str, pod: &Pod) -> String {
    let (name, namespace, uid) = (&pod.name, pod.namespace, &pod.uid);
    format!("Back-off restarting failed container {container} in pod {name}_{namespace}({uid})")
}
