//! What the kubelets' timers are for, in words.

use super::Timer;
use crate::component::{node_name, pod_name};
use crate::state::Store;

pub(super) fn of(timer: &Timer, store: &Store) -> String {
    let (of, what) = match *timer {
        Timer::Booted(node) => (node_name(store, node), "has booted"),
        Timer::Reconnected(node, _) => (node_name(store, node), "reaches the API server again"),
        Timer::FirstStatus(node) => (node_name(store, node), "has a kubelet that has just started"),
        Timer::PodsSeen(node) => (node_name(store, node), "has a kubelet that looks at its pods for the first time"),
        Timer::Register(node) => (node_name(store, node), "tries to register"),
        Timer::LateRenewal(node) => (node_name(store, node), "gets a renewal of its lease through"),
        Timer::Report(node) => (node_name(store, node), "reports its status"),
        Timer::Pressure(node) => (node_name(store, node), "looks at its pressure"),
        Timer::Shutdown(node, _) => (node_name(store, node), "shuts down"),
        Timer::Started(pod) => (pod_name(store, pod), "has containers that run"),
        Timer::RoomMade(pod) => (pod_name(store, pod), "has the room that was made for it"),
        Timer::PullFailed(pod, ..) => (pod_name(store, pod), "cannot get an image"),
        Timer::PullSync(pod, ..) => (pod_name(store, pod), "is looked at after a failed pull"),
        Timer::InitFailed(pod, ..) => (pod_name(store, pod), "has an init container that has failed"),
        Timer::InitRestart(pod) => (pod_name(store, pod), "has an init container that backs off no more"),
        Timer::Ready(pod) => (pod_name(store, pod), "passes its readiness probe"),
        Timer::Stopped(pod) => (pod_name(store, pod), "has containers that have ended"),
        Timer::Cleaned(pod) => (pod_name(store, pod), "has been cleaned up"),
        Timer::Deadline(pod) => (pod_name(store, pod), "is past its deadline"),
        Timer::GatesMet(pod) => (pod_name(store, pod), "has its readiness gates met"),
        Timer::Ended(pod) => (pod_name(store, pod), "has a container that ends by itself"),
        Timer::ProbeFailed(pod, _) => (pod_name(store, pod), "has failed its probe often enough"),
        Timer::ProbeEarly(pod, _) => (pod_name(store, pod), "is probed before it is up"),
        Timer::ProbeKilled(pod, _) => (pod_name(store, pod), "has been stopped because of its probe"),
        Timer::Restart(pod) => (pod_name(store, pod), "backs off no more"),
        Timer::Resync(pod) => (pod_name(store, pod), "is compared with what the API server has"),
        Timer::LookUpVolumes(pod) | Timer::MountSync(pod) => (pod_name(store, pod), "is looked at for its volumes"),
        Timer::ReportVolumes(node) => (node_name(store, node), "reports which volumes it uses"),
        Timer::OutOfMemory(pod) => (pod_name(store, pod), "uses more memory than it may"),
    };
    format!("{of} {what}")
}
