//! Readiness gates: conditions that others than the kubelet write, such as a cloud's load balancer.

use rustc_hash::FxHashSet;

use super::bound_pod::BoundPod;
use super::timer::PodTimer;
use super::{Kubelets, settings, statuses};
use crate::component::{Ctx, Latencies};
use crate::model::GateTime;
use crate::state::{Pod, PodId};
use crate::units::{SimDuration, SimTime};

/// Pods behind readiness gates.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadinessGates {
    /// Pods whose gates are not met.
    closed: FxHashSet<PodId>,
}

impl ReadinessGates {
    /// Whether a gate of the pod is not met.
    pub(super) fn are_closed(&self, pod: PodId) -> bool {
        self.closed.contains(&pod)
    }

    /// The pod's containers run for the first time since `begun`: whoever writes the conditions of its gates begins to then.
    pub(super) fn watch(&mut self, pod: BoundPod<'_>, begun: SimTime, ctx: &mut Ctx<'_, Kubelets>) {
        match latency(&pod, ctx) {
            Gates::Open => {}
            Gates::Never => {
                self.closed.insert(pod.id);
            }
            Gates::After(delay) => {
                let at = begun + delay;
                if at > ctx.now && self.closed.insert(pod.id) {
                    pod.arm(at, PodTimer::GatesMet, ctx);
                }
            }
        }
    }

    /// The pod is gone, or its gates are met; whether they were not.
    pub(super) fn open(&mut self, pod: PodId) -> bool {
        self.closed.remove(&pod)
    }
}

/// When the pod's gates are met, as an annotation for each condition says: a duration, a distribution, or `never`. Conditions that nobody
/// writes, as the input shows, are not, unless an annotation says otherwise.
fn latency(pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> Gates {
    let mut longest = SimDuration::ZERO;
    for (index, gate) in pod.spec.readiness_gates.iter().enumerate() {
        match pod.spec.behavior().gate(gate.condition_type.as_str()) {
            None if ctx.store.unwritten_gates.contains(&gate.condition_type) => return Gates::Never,
            None => {}
            Some(GateTime::Never) => return Gates::Never,
            Some(GateTime::After(distribution)) => {
                let drawn =
                    Latencies::draw(distribution, ctx.streams, "pod-gate", &settings::entity(pod), index as u64);
                longest = longest.max(drawn);
            }
        }
    }
    if longest.is_zero() { Gates::Open } else { Gates::After(longest) }
}

/// When all readiness gates of a pod are met, counted from when its containers run.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Gates {
    /// Nothing is said: at once.
    Open,
    /// After this time.
    After(SimDuration),
    /// One of them is not.
    Never,
}

impl Kubelets {
    /// The readiness gates of a pod that was running when somebody first looked: those of one that is ready are met.
    ///
    /// # Differs
    /// When containers that have been restarted ran for the first time is not known: it is taken to be when the pod was seen.
    pub(super) fn gates_found(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if pod.is_ready() {
            return;
        }
        let first = statuses::running_since(&pod).filter(|_| pod.restarts_max() == 0);
        let begun = first.or(pod.started_at).unwrap_or(pod.created_at);
        self.gates.watch(pod, begun, ctx);
    }

    /// The conditions of the pod's gates are True, and stay so.
    ///
    /// # Source
    /// kubelet, `GeneratePodReadyCondition`: Ready when all containers are and every gate's condition is True.
    pub(super) fn gates_met(&mut self, pod: BoundPod<'_>, ctx: &mut Ctx<'_, Self>) {
        if self.gates.open(pod.id) {
            self.resync(pod, ctx);
        }
    }
}
