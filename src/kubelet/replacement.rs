//! Containers whose definition changes while their pod is there.

use super::Kubelets;
use super::back_off::BackOff;
use super::bound_pod::BoundPod;
use super::grace::{code_in_time, own_grace, stop};
use super::settings;
use super::timer::PodTimer;
use super::worker::{Awaits, Kill, Launch, Worker, WorkerState, rearm};
use crate::component::{Ctx, EventDraft, ObjectRef};
use crate::model::Container;
use crate::state::{Ending, Pod, PodPhase};

impl Kubelets {
    /// Somebody has written other images into a pod: its containers are stopped and started with them, whatever its policy says.
    ///
    /// # Source
    /// kubelet, `computePodActions` and `containerChanged`: the sync that stops a container starts it again, so that nobody sees that it was
    /// down; a back-off goes by the container's hash, and begins anew.
    ///
    /// # Differs
    /// All regular containers of the pod restart, not only those that have changed; sidecars do not. What changes while no kubelet runs is not
    /// noticed by the next. What stands in for a kubelet notices nothing.
    pub(super) fn images_changed(&mut self, pod: BoundPod<'_>, before: &Pod, ctx: &mut Ctx<'_, Self>) {
        let containers = pod.spec.containers.iter().zip(&before.spec.containers);
        let changed: Vec<&Container> =
            containers.filter(|(new, old)| new.image != old.image).map(|(new, _)| new).collect();
        let is_noticed = !self.links.is_stand_in(pod.node, ctx) && self.links.show_pods(pod.node, ctx);
        if changed.is_empty() || !is_noticed || pod.deletion.is_some() || pod.phase.is_terminal() {
            return;
        }
        match self.workers.get_mut(&pod.id).map(|worker| (&worker.state, &mut worker.back_off)) {
            Some((WorkerState::BackingOff { .. }, back_off)) => {
                *back_off = BackOff::default();
                self.restart(pod, Launch::Containers, ctx);
            }
            Some((WorkerState::Starting(launch, Awaits::Image { .. }), _)) => {
                let launch = *launch;
                self.go_on_starting(pod, launch, &[], ctx);
            }
            Some((WorkerState::Running(_), _)) => self.replace(pod, &changed, ctx),
            None if pod.phase == PodPhase::Running => self.replace(pod, &changed, ctx),
            _ => {}
        }
    }

    fn replace(&mut self, pod: BoundPod<'_>, changed: &[&Container], ctx: &mut Ctx<'_, Self>) {
        let worker = self.workers.entry(pod.id).or_insert_with(|| Worker::running(&pod));
        let Some(run) = worker.run_mut().filter(|run| run.killed.is_none() && run.ended_unseen.is_none()) else {
            return;
        };
        for container in changed {
            let text = format!("Container {} definition changed, will be restarted", container.name);
            self.links.event(pod.node, EventDraft::normal("Killing", ObjectRef::pod(&pod), text), ctx);
        }
        let hook = settings::pre_stop(&pod.spec.containers);
        let stop = stop(hook, settings::exit_latency(&pod, ctx), own_grace(&pod));
        let code = stop.code(code_in_time(&pod));
        run.killed = Some(Kill { at: ctx.now + stop.takes, code, is_orphan: false });
        run.is_replaced = true;
        rearm(&mut run.probe, Some(pod.arm_in(stop.takes, PodTimer::ProbeKilled(code), ctx)), ctx);
    }

    /// The containers have stopped that are started with other images.
    pub(super) fn replaced(&mut self, pod: BoundPod<'_>, ending: Ending, ctx: &mut Ctx<'_, Self>) {
        let Some(worker) = self.workers.get_mut(&pod.id) else { return };
        let count = worker.restarts.max(pod.restarts_max());
        (worker.begun, worker.restarts) = (count, count + 1);
        (worker.ended, worker.back_off) = (Some(ending), BackOff::default());
        self.restart(pod, Launch::Containers, ctx);
    }
}
