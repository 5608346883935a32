//! Pulls that fail: the pod waits, and tries again ever more seldom.

use smallvec::SmallVec;

use super::pod_worker::{Stage, Worker};
use super::{Kubelets, Timer, settings};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::state::{CauseId, ContainerState, ContainerStatus, NodeId, Pod, PodId};
use crate::units::{SimDuration, SimTime};

/// First wait after a pull that failed; doubled up to the longest.
const FIRST_WAIT: SimDuration = SimDuration::from_secs(10);
const LONGEST_WAIT: SimDuration = SimDuration::from_secs(300);

/// How a pod's image could not be had.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum PullFailure {
    /// The registry does not give it.
    Refused,
    /// The node has asked for too many in too short a time.
    TooMany,
    /// It is not there, and may not be pulled.
    Never,
}

/// The back-off of one image of a pod.
#[derive(Copy, Clone, Debug)]
pub(super) struct PullBackOff {
    image: Symbol,
    wait: SimDuration,
    failed_at: SimTime,
    /// Syncs that the pod has waited for, so that each draws its own jitter.
    syncs: u64,
}

impl PullBackOff {
    /// One more failure.
    ///
    /// # Source
    /// kubelet, image manager and `flowcontrol.Backoff`: 10 s, doubled up to five minutes, forgotten when nothing has failed
    /// for twice that long.
    fn fail(&mut self, now: SimTime) {
        let is_stale = now.saturating_since(self.failed_at) > LONGEST_WAIT * 2;
        self.wait = if is_stale || self.wait.is_zero() { FIRST_WAIT } else { (self.wait * 2).min(LONGEST_WAIT) };
        self.failed_at = now;
    }
}

impl Kubelets {
    /// A pull of the pod's has failed.
    ///
    /// # Source
    /// kubelet, `EnsureImageExists` and pod workers: `ErrImagePull`; a sync within the back-off finds `ImagePullBackOff`. The
    /// first failure is followed by the sync that the new sandbox causes, within a second; others by one 10 to 15 s later.
    pub(super) fn pull_failed(&mut self, pod: PodId, image: Symbol, how: PullFailure, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        let position = worker.pulls.iter().position(|pull| pull.image == image).unwrap_or_else(|| {
            worker.pulls.push(PullBackOff { image, wait: SimDuration::ZERO, failed_at: ctx.now, syncs: 0 });
            worker.pulls.len() - 1
        });
        let entry = &mut worker.pulls[position];
        let is_first = entry.syncs == 0;
        entry.fail(ctx.now);
        let wait = if is_first && how != PullFailure::Never {
            ctx.streams.at("pull-noticed", &settings::entity(object), 0).unit()
        } else {
            10.0 * sync_jitter(object, entry, ctx)
        };
        entry.syncs += 1;
        let ticket = ctx.arm_in(SimDuration::from_secs_f64(wait), Timer::PullSync(pod, image, how));
        worker.replace(Stage::Starting, Some(ticket), ctx);
        let (state, reason, text) = match how {
            PullFailure::Refused => {
                let text = format!("Failed to pull image \"{image}\": the registry does not answer");
                (ContainerState::ErrImagePull, "Failed", text)
            }
            PullFailure::TooMany => {
                let text = format!("Failed to pull image \"{image}\": pull QPS exceeded");
                (ContainerState::ErrImagePull, "Failed", text)
            }
            PullFailure::Never => {
                let text = format!("Container image \"{image}\" is not present with pull policy of Never");
                (ContainerState::ErrImageNeverPull, "ErrImageNeverPull", text)
            }
        };
        self.blame_fault(image, node, how, ctx);
        self.event(node, EventDraft::warning(reason, ObjectRef::pod(object), text), ctx);
        let text = format!("Error: {}", if how == PullFailure::Never { "ErrImageNeverPull" } else { "ErrImagePull" });
        self.event(node, EventDraft::warning("Failed", ObjectRef::pod(object), text), ctx);
        self.post_waiting(pod, image, state, ctx);
    }

    /// A sync after a failed pull: the next try, or a look at the back-off and the wait for its end.
    pub(super) fn pull_sync(&mut self, pod: PodId, image: Symbol, how: PullFailure, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node else { return };
        let Some(worker) = self.workers.get_mut(&pod) else { return };
        worker.ticket = None;
        let entry = worker.pulls.iter_mut().find(|pull| pull.image == image);
        let until = entry.as_ref().map_or(ctx.now, |entry| entry.failed_at + entry.wait);
        let (Some(entry), false) = (entry, until <= ctx.now || how == PullFailure::Never) else {
            self.try_again(pod, ctx);
            return;
        };
        let mut next = ctx.now;
        while next < until {
            next += SimDuration::from_secs_f64(10.0 * sync_jitter(object, entry, ctx));
            entry.syncs += 1;
        }
        let ticket = ctx.arm(next, Timer::PullSync(pod, image, how));
        worker.replace(Stage::Starting, Some(ticket), ctx);
        self.blame_fault(image, node, how, ctx);
        let text = format!("Back-off pulling image \"{image}\"");
        self.event(node, EventDraft::normal("BackOff", ObjectRef::pod(object), text), ctx);
        self.event(node, EventDraft::warning("Failed", ObjectRef::pod(object), "Error: ImagePullBackOff"), ctx);
        self.post_waiting(pod, image, ContainerState::ImagePullBackOff, ctx);
    }

    /// What is posted of a pull follows from the fault that makes it fail, and not from the pod's having been bound.
    fn blame_fault(&self, image: Symbol, node: NodeId, how: PullFailure, ctx: &mut Ctx<'_, Self>) {
        if how == PullFailure::Refused
            && let Some(cause) = self.images.fails(image, node).filter(|cause| *cause != CauseId::NONE)
        {
            ctx.cause = cause;
        }
    }

    /// Starts the pod, or its containers, where it was left.
    fn try_again(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        match self.workers.get(&pod).map(|worker| worker.start) {
            Some(Start::Whole) => self.restart_whole(pod, ctx),
            Some(Start::Containers) => self.restart(pod, ctx),
            Some(Start::First) | None => self.start(pod, ctx),
        }
    }

    /// Containers of that image wait for it; the others wait for them.
    fn post_waiting(&mut self, pod: PodId, image: Symbol, state: ContainerState, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        // What was told before may still be on its way.
        let begun = self.workers.get(&pod).map_or(0, |worker| worker.begun);
        let status = |container: &crate::model::Container, old: Option<&ContainerStatus>, begun: u32| {
            let state = if container.image == image { state } else { ContainerState::Waiting };
            let restarts = old.map_or(0, |old| old.restarts).max(begun);
            ContainerStatus { state, ready: false, restarts, last: None }
        };
        let regular = object.spec.containers.iter().enumerate();
        let containers =
            regular.map(|(index, container)| status(container, object.containers.get(index), begun)).collect();
        let is_init = object.spec.init_containers.iter().any(|container| container.image == image);
        let inits: SmallVec<[ContainerStatus; 0]> = object
            .spec
            .init_containers
            .iter()
            .enumerate()
            .map(|(index, container)| status(container, object.init_containers.get(index), 0))
            .collect();
        let patch = PodStatusPatch {
            ready: Some(crate::state::Status::False),
            containers: Some(containers),
            init_containers: is_init.then_some(inits),
            ..PodStatusPatch::default()
        };
        self.post_if_heard(pod, patch, ctx);
    }
}

/// What a worker was about when it had to wait.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub(super) enum Start {
    /// The pod starts for the first time.
    #[default]
    First,
    /// Its containers start once more.
    Containers,
    /// It is made anew in place.
    Whole,
}

/// A factor between 1 and 1.5.
///
/// # Source
/// kubelet, pod workers: `workerBackOffPeriodJitterFactor`.
fn sync_jitter(pod: &Pod, entry: &PullBackOff, ctx: &Ctx<'_, Kubelets>) -> f64 {
    let name = format!("{}/{}", settings::entity(pod), entry.image);
    1.0 + ctx.streams.at("pull-sync", &name, entry.syncs).unit() / 2.0
}

impl Worker {
    /// A fresh kubelet has forgotten its back-offs.
    pub(super) fn forget_pulls(&mut self) {
        self.pulls.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulls_back_off_from_ten_seconds_to_five_minutes_and_begin_anew_after_ten_minutes_of_peace() {
        let image = Symbol::new("i");
        let mut entry = PullBackOff { image, wait: SimDuration::ZERO, failed_at: SimTime::ZERO, syncs: 0 };
        let waits: Vec<u64> = (0..7)
            .map(|second| {
                entry.fail(SimTime::from_secs(second));
                entry.wait.as_secs()
            })
            .collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300]);
        entry.fail(SimTime::from_secs(606));
        assert_eq!(entry.wait.as_secs(), 300);
        entry.fail(SimTime::from_secs(606 + 601));
        assert_eq!(entry.wait.as_secs(), 10);
    }
}
