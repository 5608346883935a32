//! Pods that may be active for a limited time only.

use super::pod_worker::Stage;
use super::{Kubelets, Timer};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::state::{Pod, PodId, PodPhase, Status};
use crate::units::{SimDuration, SimTime};

/// When a pod has been active as long as it may be; none if it may be for ever, or is not known to a kubelet yet.
fn due(pod: &Pod, now: SimTime) -> Option<SimTime> {
    let seconds = pod.spec.active_deadline_seconds?.max(0).unsigned_abs();
    // The time stamp holds whole seconds.
    Some(pod.started_at.unwrap_or(now).floor_to_second() + SimDuration::from_secs(seconds))
}

impl Kubelets {
    /// Waits for the pod's deadline, if it has one.
    ///
    /// # Source
    /// kubelet, `activeDeadlineHandler`: counted from `status.startTime`, looked at every second.
    pub(super) fn watch_deadline(&self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let (Some(node), Some(due)) = (object.node, due(object, ctx.now)) else { return };
        let at = Self::next_sync(node, due.max(ctx.now), ctx);
        ctx.arm(at, Timer::Deadline(pod));
    }

    /// The pod has been active as long as it may be: its containers are stopped, and it has failed.
    ///
    /// # Source
    /// kubelet, `ShouldEvict`: with the pod's own grace.
    pub(super) fn deadline_passed(&mut self, pod: PodId, ctx: &mut Ctx<'_, Self>) {
        let Some(object) = ctx.store.pod(pod) else { return };
        let Some(node) = object.node.filter(|&node| ctx.store.machine(node).kubelet_alive()) else { return };
        let is_ended =
            self.workers.get(&pod).is_some_and(|worker| worker.last_status.is_some() || worker.stage == Stage::Stopped);
        let is_due = due(object, ctx.now).is_some_and(|due| due <= ctx.now);
        if !is_due || is_ended || !object.is_active() {
            return;
        }
        let text = "Pod was active on the node longer than the specified deadline";
        self.event(node, EventDraft::normal("DeadlineExceeded", ObjectRef::pod(object), text), ctx);
        let status = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            reason: Some(Symbol::new("DeadlineExceeded")),
            ready: Some(Status::False),
            ..PodStatusPatch::default()
        };
        let grace = object.spec.termination_grace_period_seconds.unwrap_or(30).max(1).unsigned_abs();
        self.end_pod(pod, SimDuration::from_secs(grace), status, ctx);
    }
}
