//! The end of a pod that starts nothing any more: its sidecars are stopped, then it is over.

use super::bound_pod::BoundPod;
use super::grace::{own_grace, sidecars_stop};
use super::phase::{Fate, phase};
use super::running::Running;
use super::status_manager::post;
use super::worker::{Known, Outcome, Worker, WorkerState};
use super::{Kubelets, statuses};
use crate::component::{Ctx, PodStatusPatch};
use crate::state::{ContainerState, ContainerStatus, Ending};

impl Kubelets {
    /// Nothing of the pod is started any more. The patch says how its containers have ended; sidecars that run keep its phase as
    /// it is until they have stopped.
    ///
    /// # Source
    /// kubelet, `computePodActions`: the pod is killed, with its own grace; `getPhase`: a sidecar that runs counts, and
    /// `mergePodStatus`: a phase that is final waits for the end of what runs, of which `SyncTerminatingPod` makes sure by a listing that is
    /// newer than the end.
    ///
    /// # Differs
    /// A stand-in has nothing that it would have to stop.
    pub(super) fn wind_up(&mut self, pod: BoundPod<'_>, mut patch: PodStatusPatch, ctx: &mut Ctx<'_, Self>) {
        let worker = self.workers.get(&pod.id);
        // What has let the others run is done or runs, whether or not the API server has heard of it.
        let known = || statuses::inits_done(statuses::known_inits(worker, &pod), &pod, ctx.now);
        let mut inits = patch.init_containers.clone().unwrap_or_else(known);
        let containers = patch.containers.clone().unwrap_or_else(|| statuses::known(worker, &pod).into());
        let runs = |status: &ContainerStatus| status.state.running_since().is_some();
        if self.links.is_stand_in(pod.node, ctx) && inits.iter().any(runs) {
            for status in inits.iter_mut().filter(|status| runs(status)) {
                (status.state, status.ready) = (ContainerState::Terminated(Ending::exit(0, ctx.now)), false);
            }
            patch.init_containers = Some(inits.clone());
        }
        if self.links.is_stand_in(pod.node, ctx) {
            patch.phase = Some(phase(&pod.spec, &inits, &containers, Fate::Open));
            let is_heard = self.links.are_up(pod.node, ctx) && !self.links.delayed.contains(&pod.node);
            if is_heard && self.workers.get(&pod.id).is_none_or(|worker| worker.unposted.is_none()) {
                self.forget(pod.id, ctx);
            } else {
                let worker = self.workers.entry(pod.id).or_insert_with(Worker::idle);
                worker.enter(WorkerState::Over, ctx);
            }
            self.post_status(pod, patch, ctx);
            self.settle(pod);
            return;
        }
        let stop = sidecars_stop(&pod, &inits, own_grace(&pod), ctx);
        let sidecars = inits.iter().enumerate().filter(|(_, status)| runs(status)).map(|(index, _)| index).collect();
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
        worker.known = Some(Box::new(Known { containers, inits }));
        post(&self.links, worker, pod, patch, ctx);
        let running = Running { begun: 0, inits: sidecars };
        self.killing_events(pod, &running, ctx);
        let ended_at = ctx.now + stop.takes;
        let ending = (!running.inits.is_empty()).then(|| Ending::exit(stop.code(0), ended_at));
        let delay = Self::sealed_at(pod.node, ended_at, ctx).saturating_since(ctx.now);
        self.stop_in(pod, delay, Outcome { ending, ..Outcome::default() }, ctx);
    }
}
