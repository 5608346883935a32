//! Pulls that fail: the pod waits, and tries again ever more seldom.

use super::back_off::{PullBackOff, PullFailure};
use super::bound_pod::BoundPod;
use super::probe_timing::EVENTS_MAX;
use super::status_manager::post;
use super::timer::PodTimer;
use super::worker::{Awaits, Launch, WorkerState};
use super::{Kubelets, settings, statuses};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::state::{ContainerState, ContainerStatus, NodeId, Pod, Status};
use crate::units::SimDuration;

impl Kubelets {
    /// A pull of the pod's has failed.
    ///
    /// # Source
    /// kubelet, `EnsureImageExists` and pod workers (`completeWork`): `ErrImagePull`; a sync within the back-off finds `ImagePullBackOff`. The
    /// first failure in a new sandbox is followed by the sync that this causes, within a second; others by one 10 to 15 s later.
    pub(super) fn pull_failed(&mut self, pod: BoundPod<'_>, image: Symbol, how: PullFailure, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let WorkerState::Starting(launch, Awaits::Image { ticket, .. }) = &mut worker.state else { return };
        let launch = *launch;
        let is_sandbox_new = match launch {
            Launch::Pod => worker.at_init == 0 && worker.init_restarts == 0,
            Launch::Sandbox => worker.at_init == 0,
            Launch::Containers => false,
        };
        let position = worker.pulls.iter().position(|pull| pull.image == image).unwrap_or_else(|| {
            worker.pulls.push(PullBackOff::new(image, ctx.now));
            worker.pulls.len() - 1
        });
        let entry = &mut worker.pulls[position];
        let is_first = entry.syncs == 0;
        entry.fail(ctx.now);
        let wait = if is_first && is_sandbox_new && how != PullFailure::Never {
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
        self.post_waiting(pod, launch, (image, state), ctx);
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
        let launch = *launch;
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
            self.post_waiting(pod, launch, (image, ContainerState::ImagePullBackOff), ctx);
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
            Launch::Pod => _ = self.go_on_starting(pod, launch, &[], ctx),
            Launch::Containers | Launch::Sandbox => self.restart(pod, launch, ctx),
        }
    }

    /// The init container that is to start waits for its image; else containers of that image do, and others that are started with them wait
    /// for them. What has ended before they still tell.
    ///
    /// # Source
    /// kubelet, `convertToAPIContainerStatuses`: only what could not be started waits with its reason; an end is its last state then.
    fn post_waiting(
        &mut self,
        pod: BoundPod<'_>,
        launch: Launch,
        (image, state): (Symbol, ContainerState),
        ctx: &mut Ctx<'_, Self>,
    ) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let mut patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
        if let Some((index, _)) = worker.next_init(&pod, launch) {
            let known = worker.known_init(&pod, index);
            let last = known.state.ending().or(known.last);
            worker.note_init(&pod, index, ContainerStatus { state, ready: false, last, ..known });
            patch.init_containers = Some(statuses::known_inits(Some(worker), &pod).into());
            let has_none = statuses::known(Some(worker), &pod).is_empty();
            let waits = || pod.spec.containers.iter().map(|_| ContainerStatus::default());
            patch.containers = has_none.then(|| waits().collect());
        } else {
            let waits = ContainerStatus { last: worker.ended, ..ContainerStatus::default() };
            let mut containers = statuses::but_done(Some(worker), &pod, waits);
            let known = statuses::known(Some(worker), &pod);
            for (index, container) in pod.spec.containers.iter().enumerate() {
                let Some(status) = containers.get_mut(index).filter(|status| status.state.is_waiting()) else {
                    continue;
                };
                if container.image == image {
                    status.state = state;
                }
                // What was posted before may still be on its way.
                status.restarts = known.get(index).map_or(0, |known| known.restarts).max(worker.begun);
            }
            patch.containers = Some(containers);
        }
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
