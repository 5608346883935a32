//! The statuses of a pod of which nothing runs any more because its kubelet has stopped it.

use smallvec::SmallVec;

use super::grace::{KILLED, TERMINATED};
use super::phase::{Fate, phase};
use super::statuses;
use super::worker::{Outcome, Worker};
use crate::component::PodStatusPatch;
use crate::model::Container;
use crate::state::{ContainerState, ContainerStatus, EndReason, Ending, Pod, PodPhase, Status};
use crate::units::SimTime;

/// The end of a container that nobody saw.
pub(super) fn lost(now: SimTime) -> Ending {
    Ending { reason: EndReason::ContainerStatusUnknown, ..Ending::exit(KILLED, now) }
}

/// What a kubelet says of the containers of a pod that it has stopped; none where it says nothing new.
#[derive(Clone, Debug, Default)]
pub(super) struct Stopped {
    containers: Option<SmallVec<[ContainerStatus; 1]>>,
    inits: Option<SmallVec<[ContainerStatus; 0]>>,
}

impl Stopped {
    /// The pod's containers, of which those that ran have ended as given: those that had ended before stay as they were, and of
    /// the others nobody knows how they ended. Containers that no init container has let run go on waiting.
    ///
    /// # Source
    /// kubelet, `convertToAPIContainerStatuses` and `TerminatePod`. A container that waits for its restart shows its last end if the
    /// pod is deleted, as it will not be restarted; else it waits, and is taken for lost.
    pub(super) fn new(worker: Option<&Worker>, pod: &Pod, outcome: &Outcome, now: SimTime) -> Self {
        let ending = outcome.ending;
        let (containers, inits) = (statuses::known(worker, pod), statuses::known_inits(worker, pod));
        // What a kubelet posts after it was cut off may still be on its way.
        let begun = worker.map_or(0, |worker| worker.begun);
        let ended = worker.and_then(|worker| worker.ended);
        let end = |(status, container): (&ContainerStatus, &Container)| {
            let is_done = statuses::is_done(container, pod, status);
            let is_behind = !is_done && begun > status.restarts;
            let end = match (status.state, status.last) {
                _ if is_behind => ending.or(ended.filter(|_| pod.deletion.is_some())),
                (ContainerState::Running { .. }, _) => ending,
                (ContainerState::Terminated(own), _) => Some(own),
                // That it has run for the first time is not known yet.
                (_, None) => ending,
                (_, last) => last.filter(|_| pod.deletion.is_some()),
            };
            let state = ContainerState::Terminated(end.unwrap_or_else(|| lost(now)));
            let restarts = if is_behind { begun } else { status.restarts };
            ContainerStatus { state, ready: false, restarts, last: status.last }
        };
        let is_initialized = is_initialized(pod, inits, containers) || ending.is_some();
        let state = ContainerState::Terminated(ending.unwrap_or_else(|| lost(now)));
        let unheard = |_| ContainerStatus { state, restarts: begun, ..ContainerStatus::default() };
        let containers = match (is_initialized, containers.is_empty()) {
            (false, _) => None,
            (true, true) => Some(pod.spec.containers.iter().map(unheard).collect()),
            (true, false) => Some(containers.iter().zip(&pod.spec.containers).map(end).collect()),
        };
        Self { containers, inits: stopped_inits(pod, inits, outcome, now) }
    }

    /// Adds them to the status that says why the kubelet has ended the pod.
    pub(super) fn lay_over(self, patch: &mut PodStatusPatch) {
        // One that has been rejected has none.
        if patch.containers.as_ref().is_some_and(SmallVec::is_empty) {
            return;
        }
        patch.containers = self.containers.or(patch.containers.take());
        patch.init_containers = self.inits.or(patch.init_containers.take());
    }

    /// The last status of a pod that nobody says has failed: that follows from its containers.
    ///
    /// # Source
    /// kubelet, `TerminatePod`: a pod that has not come to its end has failed.
    pub(super) fn last_status(self, pod: &Pod) -> PodStatusPatch {
        let inits = self.inits.as_deref().unwrap_or(&pod.init_containers);
        let phase = match &self.containers {
            Some(containers) => phase(&pod.spec, inits, containers, Fate::Sealed),
            None => PodPhase::Failed,
        };
        let phase = Some(if phase.is_terminal() { phase } else { PodPhase::Failed });
        let mut patch = PodStatusPatch { phase, ready: Some(Status::False), ..PodStatusPatch::default() };
        self.lay_over(&mut patch);
        patch
    }
}

/// Whether the pod's init containers have let the others run.
///
/// # Source
/// kubelet, `hasPodInitialized`.
fn is_initialized(pod: &Pod, inits: &[ContainerStatus], containers: &[ContainerStatus]) -> bool {
    let has_run = |status: &ContainerStatus| status.last.is_some() || !status.state.is_waiting();
    let last = pod.spec.init_containers.iter().enumerate().next_back();
    let Some((last, status)) = last.and_then(|(index, container)| Some((container, inits.get(index)?))) else {
        return last.is_none() || containers.iter().any(has_run);
    };
    let succeeded = |ending: Option<Ending>| ending.is_some_and(|ending| ending.exit_code == 0);
    let is_done = if last.is_sidecar() {
        status.state.running_since().is_some()
    } else {
        succeeded(status.state.ending()) || succeeded(status.last)
    };
    is_done || containers.iter().any(has_run)
}

/// Init containers up to the last that has ever begun have ended; the first has in any case.
///
/// # Source
/// kubelet, `initializedContainers`.
fn stopped_inits(
    pod: &Pod,
    inits: &[ContainerStatus],
    outcome: &Outcome,
    now: SimTime,
) -> Option<SmallVec<[ContainerStatus; 0]>> {
    let is_cut_short = inits.is_empty() && outcome.ending.is_some();
    if pod.spec.init_containers.is_empty() || is_cut_short {
        return None;
    }
    let begun = inits.iter().rposition(|status| status.last.is_some() || !status.state.is_waiting()).unwrap_or(0);
    let end = |(index, container): (usize, &Container)| {
        let status = inits.get(index).copied().unwrap_or_default();
        let end = match (status.state, status.last) {
            _ if index > begun => return ContainerStatus { ready: false, ..status },
            (ContainerState::Terminated(_), _) => return status,
            (ContainerState::Running { .. }, _) => {
                let ending = outcome.ending.filter(|_| container.is_sidecar()).or(outcome.init_ending);
                ending.or(Some(Ending::exit(TERMINATED, now)))
            }
            (_, last) => last.filter(|_| pod.deletion.is_some()),
        };
        let state = ContainerState::Terminated(end.unwrap_or_else(|| lost(now)));
        ContainerStatus { state, ready: false, ..status }
    };
    Some(pod.spec.init_containers.iter().enumerate().map(end).collect())
}
