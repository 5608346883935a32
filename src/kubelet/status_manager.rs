//! The status manager: what is posted of pods, and what is made up for later.

use super::bound_pod::BoundPod;
use super::links::Links;
use super::timer::PodTimer;
use super::worker::{Worker, WorkerState};
use super::{Kubelets, statuses};
use crate::component::{Ctx, PodStatusPatch, Request};
use crate::state::{PodPhase, Status};

/// Posts a status if the API server can be reached; what cannot be posted is made up for on return.
pub(super) fn post(
    links: &Links,
    worker: &mut Worker,
    pod: BoundPod<'_>,
    patch: PodStatusPatch,
    ctx: &mut Ctx<'_, Kubelets>,
) {
    if let (Some(known), Some(containers)) = (&mut worker.known, &patch.containers) {
        known.containers.clone_from(containers);
    }
    if let (Some(known), Some(inits)) = (&mut worker.known, &patch.init_containers) {
        known.inits.clone_from(inits);
    }
    let mut patch = match worker.unposted.take() {
        Some(mut older) => {
            statuses::merge(&mut older, patch);
            older
        }
        None => Box::new(patch),
    };
    if links.are_up(pod.node, ctx) {
        ctx.send(Request::PatchPodStatus { pod: pod.id, patch });
    } else {
        patch.stamped_at.get_or_insert(ctx.now);
        worker.unposted = Some(patch);
    }
}

impl Kubelets {
    /// Posts a status of a pod that may have no worker.
    pub(super) fn post_status(&mut self, pod: BoundPod<'_>, patch: PodStatusPatch, ctx: &mut Ctx<'_, Self>) {
        match self.workers.get_mut(&pod.id) {
            None if self.links.are_up(pod.node, ctx) => {
                ctx.send(Request::PatchPodStatus { pod: pod.id, patch: Box::new(patch) });
            }
            None => {
                let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
                post(&self.links, worker, pod, patch, ctx);
            }
            Some(worker) => post(&self.links, worker, pod, patch, ctx),
        }
    }

    /// Forgets a worker that has nothing left to do and nothing to remember: what it has posted over a slow link may not arrive.
    pub(super) fn settle(&mut self, pod: BoundPod<'_>) {
        let Some(worker) = self.workers.get(&pod.id).filter(|worker| worker.is_settled()) else { return };
        let may_be_on_its_way = !pod.phase.is_terminal() && self.links.delayed.contains(&pod.node);
        // Of one that is over and deleted there is still something to clean up.
        let is_left = worker.is_terminated() && pod.deletion.is_some();
        if !may_be_on_its_way && !is_left {
            self.workers.remove(&pod.id);
        }
    }

    pub(super) fn became_ready(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        match self.workers.get_mut(&pod.id).map(|worker| &mut worker.state) {
            Some(WorkerState::Running(run)) => run.ready = None,
            Some(WorkerState::Terminating { ready, .. }) => {
                *ready = None;
                let have_begun = statuses::known(self.workers.get(&pod.id), &pod)
                    .iter()
                    .all(|status| status.state.running_since().is_some());
                if !have_begun {
                    return;
                }
            }
            _ => return,
        }
        self.post_ready(pod, ctx);
        self.settle(pod);
    }

    fn post_ready(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let containers = statuses::running(self.workers.get(&pod.id), &pod, true);
        let is_ready = statuses::are_ready(&containers) && !self.gates.are_closed(pod.id);
        let ready = Some(if is_ready { Status::True } else { Status::False });
        let patch = PodStatusPatch { ready, containers: Some(containers), ..PodStatusPatch::default() };
        self.post_status(pod, patch, ctx);
    }

    /// Someone else wrote Ready=False on a pod whose containers are fine: the status manager puts it right. What stands in for
    /// a kubelet has none.
    pub(super) fn readiness_overwritten(&self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let is_meant = self.gates.are_closed(pod.id);
        if is_meant
            || pod.is_ready()
            || !statuses::are_containers_ready(&pod)
            || !pod.is_active()
            || !self.links.are_up(pod.node, ctx)
            || self.links.is_stand_in(pod.node, ctx)
        {
            return;
        }
        pod.arm(Self::next_status_sync(pod.node, ctx), PodTimer::Resync, ctx);
    }

    /// The status manager comes to a pod: what has not been posted is, and what the API shows otherwise is put right.
    pub(super) fn resync(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let worker = self.workers.get_mut(&pod.id);
        let is_steady =
            worker.as_ref().is_none_or(|worker| worker.run().is_some_and(|run| !run.is_silent && run.ready.is_none()));
        if let Some(worker) = worker.filter(|worker| worker.unposted.is_some()) {
            post(&self.links, worker, pod, PodStatusPatch::default(), ctx);
            self.settle(pod);
            return;
        }
        if !self.links.are_up(pod.node, ctx) {
            return;
        }
        // A stand-in looks no more at what is being deleted.
        let is_looked_at = pod.deletion.is_none() || !self.links.is_stand_in(pod.node, ctx);
        let is_lost = pod.phase == PodPhase::Running && statuses::are_containers_ready(&pod) && !pod.is_ready();
        if is_looked_at && is_lost && is_steady && !self.gates.are_closed(pod.id) {
            self.post_ready(pod, ctx);
        }
    }
}
