//! How fast a kubelet goes about its work: by the loops of Kubernetes' own, or as simply as what stands in for it.

use super::Kubelets;
use super::process::Pods;
use super::timer::NodeTimer;
use crate::component::Ctx;
use crate::state::NodeId;
use crate::units::{SimDuration, SimTime};

/// How long the pod lifecycle event generator waits between two listings of all containers.
pub(super) const RELIST: SimDuration = SimDuration::from_secs(1);
/// How often the status manager compares all its statuses with the API's.
const STATUS_SYNC: SimDuration = SimDuration::from_secs(10);

fn uniform(node: NodeId, concern: &str, from_ms: u64, to_ms: u64, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let now_ms = ctx.now.as_nanos().unsigned_abs() / 1_000_000;
    let unit = ctx.streams.at(concern, ctx.store.node_name(node).as_str(), now_ms).unit();
    let span = SimDuration::from_millis(to_ms - from_ms);
    SimDuration::from_millis(from_ms) + SimDuration::from_secs_f64(span.as_secs_f64() * unit)
}

/// Kubelets that began together are so far apart at most.
const TOGETHER: SimDuration = SimDuration::from_millis(200);

/// The phase of a loop of the node's kubelet: each process has its own, but those that began together are nearly in step.
///
/// # Source
/// Recordings: kubelets that are started one after the other list their containers within two tenths of a second.
fn phase(node: NodeId, concern: &str, period: SimDuration, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    let part = |whole: SimDuration, unit: f64| SimDuration::from_secs_f64(whole.as_secs_f64() * unit);
    let machine = ctx.store.machine(node);
    let ends = machine.kubelet_ends;
    let own = ctx.streams.at(concern, ctx.store.node_name(node).as_str(), ends.into()).unit();
    if machine.began_with_others && ends == 0 {
        part(period, ctx.streams.at(concern, "", 0).unit()) + part(TOGETHER, own)
    } else {
        part(period, own)
    }
}

/// The first tick after an instant of a loop of the node's kubelet.
fn next_tick(node: NodeId, concern: &str, period: SimDuration, after: SimTime, ctx: &Ctx<'_, Kubelets>) -> SimTime {
    let period_ns = period.as_nanos().cast_signed();
    let phase_ns = phase(node, concern, period, ctx).as_nanos().cast_signed();
    let since_tick_ns = (after.as_nanos() - phase_ns).rem_euclid(period_ns);
    after + SimDuration::from_nanos((period_ns - since_tick_ns).unsigned_abs())
}

impl Kubelets {
    /// How long a new kubelet process takes from its first call until it finds its node ready.
    ///
    /// # Source
    /// kubelet, `fastStatusUpdateOnce` and `updateRuntimeUp`: looked at every 100 ms, once the runtime has been checked and containers
    /// have been listed; 0.16 to 0.45 s in recordings.
    pub(super) fn ready_after_start(node: NodeId, ctx: &Ctx<'_, Self>) -> SimDuration {
        uniform(node, "kubelet-start", 150, 400, ctx)
    }

    /// A new kubelet process waits until it looks at the pods that are bound to it; what stands in for one does so at once.
    ///
    /// # Source
    /// kubelet, `NewSourceApiserver`: pods are watched once the node has been listed, which is looked at every second.
    pub(super) fn opens_its_pods_later(&mut self, node: NodeId, ctx: &mut Ctx<'_, Self>) {
        if self.links.is_stand_in(node, ctx) {
            self.takes_up_its_pods(node, ctx);
            return;
        }
        let usual = ctx.now + uniform(node, "kubelet-pods", 1100, 1400, ctx);
        let reads_at = self.links.process(node).and_then(|process| process.reads_at);
        let ticket = NodeTimer::PodsSeen.arm(node, reads_at.map_or(usual, |at| at.max(usual)), ctx);
        let process = self.links.process_mut(node);
        process.stays_closed(ctx);
        process.pods = Pods::Opening(ticket);
    }

    /// When the end of a container is seen that comes at an instant; what stands in for a kubelet sees it at once.
    ///
    /// # Source
    /// kubelet, `GenericPLEG`: all containers are listed every second. That others are listed in between does not matter to those that end.
    pub(super) fn listed_at(node: NodeId, at: SimTime, ctx: &Ctx<'_, Self>) -> SimTime {
        if ctx.store.machine(node).has_stand_in_kubelet { at } else { next_tick(node, "pleg", RELIST, at, ctx) }
    }

    /// When the last status of a pod is made whose containers have ended at an instant.
    ///
    /// # Source
    /// kubelet, pod workers: `SyncTerminatingPod` waits for a listing that is newer than their end, and `SyncTerminatedPod` follows it; 10 to
    /// 40 ms in recordings, so that what counts a second from a listing is over by then.
    pub(super) fn sealed_at(node: NodeId, ended_at: SimTime, ctx: &Ctx<'_, Self>) -> SimTime {
        Self::listed_at(node, ended_at, ctx) + uniform(node, "pod-terminated", 10, 40, ctx)
    }

    /// When a pod whose containers have just stopped has been cleaned up.
    ///
    /// # Source
    /// kubelet, pod workers: `SyncTerminatedPod` waits for the next listing of all containers; then volumes are unmounted, which is
    /// looked at every 100 ms.
    pub(super) fn cleaned_at(node: NodeId, ctx: &Ctx<'_, Self>) -> SimTime {
        next_tick(node, "pleg", RELIST, ctx.now, ctx) + uniform(node, "pod-cleanup", 100, 300, ctx)
    }

    /// When the kubelet next looks which of its pods have something due, not before an instant.
    ///
    /// # Source
    /// kubelet, `syncLoop`: every second.
    pub(super) fn next_sync(node: NodeId, from: SimTime, ctx: &Ctx<'_, Self>) -> SimTime {
        next_tick(node, "kubelet-sync", RELIST, from, ctx)
    }

    /// When the status manager next puts right what the API says otherwise.
    ///
    /// # Source
    /// kubelet, status manager: `syncBatch` every 10 s.
    pub(super) fn next_status_sync(node: NodeId, ctx: &Ctx<'_, Self>) -> SimTime {
        Self::status_sync_after(node, ctx.now, ctx)
    }

    /// When the status manager does so for the first time after an instant.
    pub(super) fn status_sync_after(node: NodeId, at: SimTime, ctx: &Ctx<'_, Self>) -> SimTime {
        next_tick(node, "status-sync", STATUS_SYNC, at, ctx)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::bench::Bench;
    use super::*;

    #[test]
    fn ticks_come_every_period_and_never_at_the_instant_itself() {
        let bench = Bench::new();
        bench.look(|node, ctx| {
            let first = next_tick(node, "pleg", RELIST, SimTime::ZERO, ctx);
            assert!(first > SimTime::ZERO && first <= SimTime::from_secs(1), "{first}");
            assert_eq!(next_tick(node, "pleg", RELIST, first, ctx), first + RELIST);
            assert_eq!(next_tick(node, "pleg", RELIST, first - SimDuration::from_nanos(1), ctx), first);
        });
    }
}
