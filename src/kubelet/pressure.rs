//! The eviction manager: pods that go because their node is short of memory or disk.

use std::cmp::Reverse;

use super::pod_worker::Stage;
use super::{Kubelets, Timer, settings};
use crate::arena::Symbol;
use crate::component::{Ctx, EventDraft, ObjectRef, PodStatusPatch};
use crate::model::SYSTEM_CRITICAL_PRIORITY;
use crate::state::{DisruptionReason, NodeId, Pod, PodId, PodPhase, Status};
use crate::units::SimDuration;

/// Grace of a hard eviction.
const GRACE: SimDuration = SimDuration::from_secs(1);

/// How often it looks whether an evicted pod is gone.
const POLL: SimDuration = SimDuration::from_secs(1);

/// Time between passes that evict nobody.
const PASS: SimDuration = SimDuration::from_secs(10);

/// What a node is short of.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Shortage {
    Memory,
    Disk,
}

impl Shortage {
    fn resource(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Disk => "ephemeral-storage",
        }
    }

    fn request(self, pod: &Pod) -> i64 {
        match self {
            Self::Memory => pod.spec.requests.memory,
            Self::Disk => pod.spec.requests.ephemeral_storage,
        }
    }
}

/// Place in the eviction order: pods over their request by lower priority, then by how far they are over it.
type Rank = (i32, Reverse<i64>);

/// The rank of a pod that uses `usage` and requests `request`; none if it stays.
fn rank(priority: i32, is_mirror: bool, usage: i64, request: i64) -> Option<Rank> {
    let is_critical = is_mirror || priority >= SYSTEM_CRITICAL_PRIORITY;
    (!is_critical && usage > request).then_some((priority, Reverse(usage - request)))
}

impl Kubelets {
    /// Evicts the pod that is first in the order, and looks again when it is gone.
    ///
    /// # Source
    /// kubelet, eviction manager: one pod a pass; the next pass follows the end of that pod, for which it looks every second.
    ///
    /// # Differs
    /// How much is available is not simulated: while the condition holds, pods go whose annotated usage exceeds their
    /// request; pods within their request, and those without an annotation, stay.
    pub(super) fn pressure_pass(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let machine = ctx.store.machine(node);
        let shortage = match (machine.reported.memory_pressure, machine.reported.disk_pressure) {
            (true, _) => Shortage::Memory,
            (false, true) => Shortage::Disk,
            (false, false) => return,
        };
        if !machine.kubelet_alive() {
            return;
        }
        let candidates = ctx.store.pods_on(node).iter().copied();
        let first =
            candidates.filter_map(|pod| Some((self.rank_of(pod, shortage, ctx)?, pod))).min_by_key(|(rank, _)| *rank);
        let Some((_, pod)) = first else { return };
        let took = self.evict_for(pod, node, shortage, ctx);
        ctx.arm_in(took.max(POLL), Timer::Pressure(node));
    }

    /// A pod started on a node under pressure: the next pass sees it.
    pub(super) fn watch_pressure(&self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        let reported = &ctx.store.machine(node).reported;
        if reported.memory_pressure || reported.disk_pressure {
            ctx.arm_in(PASS, Timer::Pressure(node));
        }
    }

    fn rank_of(&self, pod: PodId, shortage: Shortage, ctx: &Ctx<'_, Self>) -> Option<Rank> {
        let object = ctx.store.pod(pod)?;
        let is_going = self.workers.get(&pod).is_some_and(|w| matches!(w.stage, Stage::Stopping | Stage::Stopped));
        if object.phase != PodPhase::Running || is_going {
            return None;
        }
        let usage = settings::usage(object, shortage.resource())?;
        rank(object.spec.priority, object.is_mirror, usage, shortage.request(object))
    }

    fn evict_for(&mut self, pod: PodId, node: NodeId, shortage: Shortage, ctx: &mut Ctx<'_, Self>) -> SimDuration {
        let Some(object) = ctx.store.pod(pod) else { return SimDuration::ZERO };
        let message = format!("The node was low on resource: {}. ", shortage.resource());
        self.event(node, EventDraft::warning("Evicted", ObjectRef::pod(object), message), ctx);
        let status = PodStatusPatch {
            phase: Some(PodPhase::Failed),
            reason: Some(Symbol::new("Evicted")),
            ready: Some(Status::False),
            disruption: Some((DisruptionReason::TerminationByKubelet, true)),
            ..PodStatusPatch::default()
        };
        self.end_pod(pod, GRACE, status, ctx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: i64 = 1 << 20;

    #[test]
    fn lower_priority_goes_before_larger_excess() {
        let mut pods = [
            ("low 50 over", rank(0, false, 150 * MIB, 100 * MIB)),
            ("high 500 over", rank(1000, false, 600 * MIB, 100 * MIB)),
            ("low 500 over", rank(0, false, 600 * MIB, 100 * MIB)),
            ("high 50 over", rank(1000, false, 150 * MIB, 100 * MIB)),
        ];
        pods.sort_by_key(|(_, rank)| *rank);
        let order: Vec<&str> = pods.iter().map(|(name, _)| *name).collect();
        assert_eq!(order, ["low 500 over", "low 50 over", "high 500 over", "high 50 over"]);
    }

    #[test]
    fn critical_pods_are_skipped() {
        assert_eq!(rank(SYSTEM_CRITICAL_PRIORITY, false, 2, 1), None);
        assert_eq!(rank(0, true, 2, 1), None);
    }
}
