//! Pods that may be active for a limited time only.

use super::Kubelets;
use super::bound_pod::BoundPod;
use super::grace::own_grace;
use super::timer::PodTimer;
use super::worker::{Worker, WorkerState};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::state::{Pod, PodPhase, Status};
use crate::units::{SimDuration, SimTime};

/// When a pod has been active as long as it may be; none if it may be for ever, or is not known to a kubelet yet.
fn due(pod: &Pod, now: SimTime) -> Option<SimTime> {
    let seconds = pod.spec.active_deadline_seconds?.max(0).unsigned_abs();
    // The time stamp holds whole seconds.
    Some(pod.started_at.unwrap_or(now).floor_to_second() + SimDuration::from_secs(seconds))
}

/// Waits for the pod's deadline, if it has one.
///
/// # Source
/// kubelet, `activeDeadlineHandler`: counted from `status.startTime`, looked at every second.
pub(super) fn watch_deadline(pod: BoundPod<'_>, ctx: &mut Ctx<'_, Kubelets>) {
    let Some(due) = due(&pod, ctx.now) else { return };
    let at = Kubelets::next_sync(pod.node, due.max(ctx.now), ctx);
    pod.arm(at, PodTimer::Deadline, ctx);
}

impl Kubelets {
    /// The pod has been active as long as it may be: its containers are stopped, and it has failed.
    ///
    /// # Source
    /// kubelet, `ShouldEvict` and `generateAPIPodStatus`: with the pod's own grace; it is not Ready from then on. Of a pod that is being stopped
    /// already, only the last status says it.
    ///
    /// # Differs
    /// Of such a one, too, it is told at once.
    pub(super) fn deadline_passed(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        let is_ended = self.workers.get(&pod.id).is_some_and(Worker::is_ended_by_kubelet);
        let is_due = due(&pod, ctx.now).is_some_and(|due| due <= ctx.now);
        if let Some(sync) = self.sync(pod, ctx).filter(|_| is_due) {
            // It is looked at between two syncs.
            pod.arm(Self::next_sync(pod.node, sync.ends, ctx), PodTimer::Deadline, ctx);
            return;
        }
        let is_looked_at = ctx.store.machine(pod.node).kubelet_alive() && self.goes_on(pod);
        if !is_looked_at || !is_due || is_ended || !pod.is_active() {
            return;
        }
        let text = "Pod was active on the node longer than the specified deadline";
        self.links.event(pod.node, EventDraft::normal("DeadlineExceeded", ObjectRef::pod(&pod), text), ctx);
        let state = self.workers.get(&pod.id).map(|worker| &worker.state);
        if !matches!(state, Some(WorkerState::Terminating { .. })) {
            // Only the phase waits for the end of what runs.
            let unready = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
            self.post_status(pod, unready, ctx);
        }
        let status = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            reason: Some(Symbol::new("DeadlineExceeded")),
            ready: Some(Status::False),
            ..PodStatusPatch::default()
        };
        self.end_pod(pod, own_grace(&pod), status, ctx);
    }
}
