//! Pulls that fail: the pod waits, and tries again ever more seldom.

use smallvec::SmallVec;

use super::back_off::{PullBackOff, PullFailure};
use super::bound_pod::BoundPod;
use super::probe_timing::EVENTS_MAX;
use super::status_manager::post;
use super::timer::PodTimer;
use super::worker::{Awaits, Launch, WorkerState};
use super::{Kubelets, settings};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::model::Container;
use crate::state::{ContainerState, ContainerStatus, NodeId, Pod, Status};
use crate::units::SimDuration;

impl Kubelets {
    /// A pull of the pod's has failed.
    ///
    /// # Source
    /// kubelet, `EnsureImageExists` and pod workers: `ErrImagePull`; a sync within the back-off finds `ImagePullBackOff`. The
    /// first failure is followed by the sync that the new sandbox causes, within a second; others by one 10 to 15 s later.
    pub(super) fn pull_failed(&mut self, pod: BoundPod<'_>, image: Symbol, how: PullFailure, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(_, Awaits::Image { ticket, .. }) = &mut worker.state else { return };
        let position = worker.pulls.iter().position(|pull| pull.image == image).unwrap_or_else(|| {
            worker.pulls.push(PullBackOff::new(image, ctx.now));
            worker.pulls.len() - 1
        });
        let entry = &mut worker.pulls[position];
        let is_first = entry.syncs == 0;
        entry.fail(ctx.now);
        let wait = if is_first && how != PullFailure::Never {
            ctx.streams.at("pull-noticed", &settings::entity(&pod), 0).unit()
        } else {
            10.0 * sync_jitter(&pod, entry, ctx)
        };
        entry.syncs += 1;
        *ticket = pod.arm_in(SimDuration::from_secs_f64(wait), PodTimer::PullSync(image, how), ctx);
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
        self.blame_fault(image, pod.node, how, ctx);
        self.links.event(pod.node, EventDraft::warning(reason, ObjectRef::pod(&pod), text), ctx);
        let text = format!("Error: {}", if how == PullFailure::Never { "ErrImageNeverPull" } else { "ErrImagePull" });
        self.links.event(pod.node, EventDraft::warning("Failed", ObjectRef::pod(&pod), text), ctx);
        self.post_waiting(pod, image, state, ctx);
        self.sync_is_over(pod, ctx);
    }

    /// A sync after a failed pull: the next try, or a look at the back-off and the wait for the next. Each tells of the back-off, as long
    /// as the recorder lets that pass; after that the wait is for its end.
    pub(super) fn pull_sync(&mut self, pod: BoundPod<'_>, image: Symbol, how: PullFailure, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::Image { ticket, .. }) = &mut worker.state else { return };
        let waiting = worker.pulls.iter_mut().find(|pull| pull.image == image);
        let waiting = waiting.filter(|pull| pull.until() > ctx.now && how != PullFailure::Never);
        let Some(entry) = waiting else {
            let launch = *launch;
            worker.state = WorkerState::Idle;
            self.try_again(pod, launch, ctx);
            return;
        };
        let mut next = ctx.now;
        while next < entry.until() {
            next += SimDuration::from_secs_f64(10.0 * sync_jitter(&pod, entry, ctx));
            entry.syncs += 1;
            if entry.syncs < EVENTS_MAX {
                break;
            }
        }
        let is_news = !std::mem::replace(&mut entry.is_posted, true);
        *ticket = pod.arm(next, PodTimer::PullSync(image, how), ctx);
        self.blame_fault(image, pod.node, how, ctx);
        let text = format!("Back-off pulling image \"{image}\"");
        self.links.event(pod.node, EventDraft::normal("BackOff", ObjectRef::pod(&pod), text), ctx);
        let text = "Error: ImagePullBackOff";
        self.links.event(pod.node, EventDraft::warning("Failed", ObjectRef::pod(&pod), text), ctx);
        if is_news {
            self.post_waiting(pod, image, ContainerState::ImagePullBackOff, ctx);
        }
    }

    /// What is posted of a pull follows from the fault that makes it fail, or from nothing that happened if the image could not be had at the
    /// start, and not from the pod's having been bound or its node's having come back.
    fn blame_fault(&self, image: Symbol, node: NodeId, how: PullFailure, ctx: &mut Ctx<'_, Self>) {
        if how == PullFailure::Refused
            && let Some(cause) = self.images.fails(image, node)
        {
            ctx.cause = cause;
        }
    }

    /// Starts what could not be started before.
    pub(super) fn try_again(&mut self, pod: BoundPod<'_>, launch: Launch, ctx: &mut Ctx<'_, Self>) {
        match launch {
            Launch::Pod => self.start(pod, ctx),
            Launch::Containers | Launch::Sandbox => self.restart(pod, launch, ctx),
        }
    }

    /// Containers of that image wait for it; the others wait for them.
    fn post_waiting(&mut self, pod: BoundPod<'_>, image: Symbol, state: ContainerState, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let status = |container: &Container, old: Option<&ContainerStatus>, begun: u32| {
            let state = if container.image == image { state } else { ContainerState::Waiting };
            let restarts = old.map_or(0, |old| old.restarts).max(begun);
            ContainerStatus { state, ready: false, restarts, last: None }
        };
        // What was posted before may still be on its way.
        let begun = worker.begun;
        let regular = pod.spec.containers.iter().enumerate();
        let containers =
            regular.map(|(index, container)| status(container, pod.containers.get(index), begun)).collect();
        let is_init = pod.spec.init_containers.iter().any(|container| container.image == image);
        let inits = || -> SmallVec<[ContainerStatus; 0]> {
            let inits = pod.spec.init_containers.iter().enumerate();
            inits.map(|(index, container)| status(container, pod.init_containers.get(index), 0)).collect()
        };
        let patch = PodStatusPatch {
            ready: Some(Status::False),
            containers: Some(containers),
            init_containers: is_init.then(inits),
            ..PodStatusPatch::default()
        };
        post(&self.links, worker, pod, patch, ctx);
    }
}

/// A factor between 1 and 1.5.
///
/// # Source
/// kubelet, pod workers: `workerBackOffPeriodJitterFactor`.
fn sync_jitter(pod: &Pod, entry: &PullBackOff, ctx: &Ctx<'_, Kubelets>) -> f64 {
    let name = format!("{}/{}", settings::entity(pod), entry.image);
    1.0 + ctx.streams.at("pull-sync", &name, entry.syncs).unit() / 2.0
}
