//! Which containers of a pod run.

use smallvec::SmallVec;

use super::bound_pod::BoundPod;
use super::worker::{Awaits, InitRun, Launch, Worker, WorkerState};
use super::{Kubelets, statuses};
use crate::component::Ctx;
use crate::state::{ContainerStatus, NodeId, Pod, PodPhase, Store};
use crate::units::SimTime;

/// The containers of a pod that run.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    /// How many of the regular ones have begun, in order; those of them run that are not done.
    pub(super) begun: usize,
    /// Init containers by position, sidecars too.
    pub(super) inits: SmallVec<[usize; 2]>,
}

impl Running {
    /// Whether any does.
    pub(super) fn is_any(&self) -> bool {
        self.begun > 0 || !self.inits.is_empty()
    }
}

impl Kubelets {
    /// Whether the node's kubelet works on the pod: it knows which pods it has, and this one has not come to its end.
    ///
    /// # Source
    /// kubelet, `filterOutInactivePods`.
    pub(super) fn goes_on(&self, pod: BoundPod<'_>) -> bool {
        let is_over = || self.workers.get(&pod.id).is_some_and(Worker::is_terminated);
        self.links.know_pods(pod.node) && !pod.phase.is_terminal() && !is_over()
    }

    /// The pods that the node's kubelet works on.
    pub(super) fn pods_that_go_on<'a>(&self, node: NodeId, store: &'a Store) -> impl Iterator<Item = BoundPod<'a>> {
        BoundPod::unfinished_on(node, store).filter(|pod| self.goes_on(*pod))
    }

    /// Which containers of the pod run.
    ///
    /// # Source
    /// kubelet, `ConvertPodStatusToRunningPod`: those whose state is running; of a pod in a crash loop that are its sidecars.
    pub(super) fn running(&self, pod: BoundPod<'_>, ctx: &Ctx<'_, Self>) -> Running {
        let worker = self.workers.get(&pod.id);
        let known = statuses::known_inits(worker, &pod);
        let has_ended = |index: &usize| known.get(*index).is_some_and(|status| status.state.ending().is_some());
        let is_told = |index: &usize| known.get(*index).is_some_and(|status| status.state.running_since().is_some());
        let sidecars = || {
            let inits = pod.spec.init_containers.iter().enumerate();
            let runs = inits.filter(
                |(index, container)| {
                    if container.is_sidecar() { !has_ended(index) } else { is_told(index) }
                },
            );
            runs.map(|(index, _)| index).collect()
        };
        let is_under_way = match worker.map(|worker| (worker, &worker.state)) {
            Some((worker, WorkerState::Starting(Launch::Pod | Launch::Sandbox, awaits))) => {
                if let Awaits::Hook { next, .. } = awaits {
                    return Running { begun: *next, inits: sidecars() };
                }
                let run = if let Awaits::Init(run) = awaits { Some(run) } else { None };
                let run = run.filter(|run| run.has_begun);
                return Running { begun: 0, inits: worker.running_inits(&pod, run, ctx.now) };
            }
            Some((_, WorkerState::Terminating { outcome, .. })) => outcome.ends_at().is_some_and(|at| at > ctx.now),
            None => pod.phase == PodPhase::Running,
            Some((_, WorkerState::Running(_) | WorkerState::Starting(Launch::Containers, _))) => true,
            Some((_, WorkerState::BackingOff { .. } | WorkerState::Idle)) => pod.phase == PodPhase::Running,
            Some((_, WorkerState::Stopped(_) | WorkerState::CleaningUp(_) | WorkerState::Over)) => false,
        };
        if !is_under_way {
            return Running::default();
        }
        Running { begun: self.begun(pod, ctx.now), inits: sidecars() }
    }

    /// Whether regular containers of the pod run.
    pub(super) fn runs(&self, pod: BoundPod<'_>, now: SimTime) -> bool {
        self.begun(pod, now) > 0
    }

    /// How many of the pod's regular containers have begun, if they run.
    fn begun(&self, pod: BoundPod<'_>, now: SimTime) -> usize {
        let runs = match self.workers.get(&pod.id).map(|worker| &worker.state) {
            Some(WorkerState::Running(run)) => run.ended_unseen.is_none(),
            Some(WorkerState::Starting(_, Awaits::Hook { next, .. })) => return *next,
            Some(WorkerState::Terminating { outcome, .. }) => outcome.ending.is_some_and(|end| end.finished_at > now),
            None => {
                let may_run = |status: &ContainerStatus| status.state.running_since().is_some();
                pod.phase == PodPhase::Running && (pod.containers.is_empty() || pod.containers.iter().any(may_run))
            }
            Some(
                WorkerState::Idle
                | WorkerState::Starting(..)
                | WorkerState::BackingOff { .. }
                | WorkerState::Stopped(_)
                | WorkerState::CleaningUp(_)
                | WorkerState::Over,
            ) => false,
        };
        if runs { pod.spec.containers.len() } else { 0 }
    }
}

impl Worker {
    /// Which init containers run at an instant, by position, of a pod whose start has come to one that runs like this, or to what does not run.
    pub(super) fn running_inits(&self, pod: &Pod, run: Option<&InitRun>, at: SimTime) -> SmallVec<[usize; 2]> {
        let inits = pod.spec.init_containers.iter().enumerate().take(self.at_init + 1);
        let runs = inits.filter(|(index, container)| match run.filter(|_| *index == self.at_init) {
            Some(run) => run.begins <= at && (container.is_sidecar() || at < run.done),
            None => container.is_sidecar() && *index < self.at_init,
        });
        runs.map(|(index, _)| index).collect()
    }
}
