//! How long containers take to stop, and with which code they end.

use super::running::Running;
use super::{Kubelets, settings};
use crate::component::Ctx;
use crate::state::{ContainerStatus, Owner, Pod};
use crate::units::SimDuration;

/// Exit code of a container that ended at SIGTERM.
pub(super) const TERMINATED: i32 = 143;
/// Exit code of a container that had to be killed, or was not found again.
pub(super) const KILLED: i32 = 137;

/// The shortest grace.
const GRACE_MIN: SimDuration = SimDuration::from_secs(1);

/// What is between SIGTERM and SIGKILL at least.
const KILL_MIN: SimDuration = SimDuration::from_secs(2);

/// How long containers take to stop that sleep `pre_stop` before SIGTERM and exit `exit` after it.
///
/// # Source
/// kubelet, `killContainer`: the hook runs within the grace; whole seconds it took are subtracted, but at least two are
/// left between the signals, however short the grace.
pub(super) fn stop_time(pre_stop: SimDuration, exit: SimDuration, grace: SimDuration) -> SimDuration {
    let hook = pre_stop.min(grace);
    let left = grace - SimDuration::from_secs(hook.as_secs());
    hook + exit.min(left.max(KILL_MIN))
}

/// How long those of the pod's containers take to stop that run; its sidecars come after the regular ones.
pub(super) fn stop_latency(pod: &Pod, running: &Running, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    if !running.is_any() {
        return SimDuration::ZERO;
    }
    let grace = grace.max(GRACE_MIN);
    let exit = settings::exit_latency(pod, ctx);
    let regular = match running.are_regular {
        true => stop_time(settings::pre_stop(&pod.spec.containers), exit, grace),
        false => SimDuration::ZERO,
    };
    let sidecars = in_turn(pod, |index| running.inits.contains(&index), regular, exit, grace);
    let is_other =
        |index: &usize| pod.spec.init_containers.get(*index).is_some_and(|container| !container.is_sidecar());
    if running.inits.iter().any(is_other) { sidecars.max(stop_time(SimDuration::ZERO, exit, grace)) } else { sidecars }
}

/// How long sidecars that run take to stop when nothing else runs any more, and with which code they end.
pub(super) fn sidecars_stop(
    pod: &Pod,
    inits: &[ContainerStatus],
    grace: SimDuration,
    ctx: &Ctx<'_, Kubelets>,
) -> (SimDuration, i32) {
    let exit = settings::exit_latency(pod, ctx);
    let runs = |index: usize| inits.get(index).is_some_and(|status| status.state.running_since().is_some());
    let takes = in_turn(pod, runs, SimDuration::ZERO, exit, grace);
    // One whose application needs longer than the whole grace is killed.
    (takes, if exit > grace.max(KILL_MIN) { KILLED } else { 0 })
}

/// When the last of the pod's sidecars has stopped, one after the other from the last to the first, once the regular containers have.
///
/// # Source
/// kubelet, `terminationOrdering`: each waits for its turn within the grace, after its hook, and no longer.
fn in_turn(
    pod: &Pod,
    runs: impl Fn(usize) -> bool,
    regular: SimDuration,
    exit: SimDuration,
    grace: SimDuration,
) -> SimDuration {
    let (mut before, mut last) = (regular, regular);
    let sidecars = pod.spec.init_containers.iter().enumerate().rev();
    for (_, sidecar) in sidecars.filter(|(index, container)| container.is_sidecar() && runs(*index)) {
        let hook = settings::pre_stop(std::slice::from_ref(sidecar)).min(grace);
        let left = grace - SimDuration::from_secs(hook.as_secs());
        let turn = before.max(hook).min(hook + left);
        let left = left - SimDuration::from_secs((turn - hook).as_secs());
        before = before.max(turn + exit.min(left.max(KILL_MIN)));
        last = last.max(before);
    }
    last
}

/// The grace that the pod's spec gives.
pub(super) fn own_grace(pod: &Pod) -> SimDuration {
    SimDuration::from_secs(pod.spec.termination_grace_period_seconds.unwrap_or(30).max(1).unsigned_abs())
}

/// With which code containers end that are stopped within that grace.
///
/// # Differs
/// Those of Jobs do not finish their work, others have none to finish: they end as they should unless they have to be killed.
pub(super) fn exit_code(pod: &Pod, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> i32 {
    if matches!(pod.owner, Some(Owner::Job(_))) {
        return TERMINATED;
    }
    let (pre_stop, exit) = (settings::pre_stop(&pod.spec.containers), settings::exit_latency(pod, ctx));
    if pre_stop + exit > stop_time(pre_stop, exit, grace.max(GRACE_MIN)) { KILLED } else { 0 }
}

/// With which code init containers end that are stopped within that grace.
pub(super) fn init_exit_code(pod: &Pod, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> i32 {
    if settings::exit_latency(pod, ctx) > grace.max(KILL_MIN) { KILLED } else { TERMINATED }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pre_stop_s: u64, exit_s: u64, grace_s: u64, expected_s: u64) {
        let s = SimDuration::from_secs;
        assert_eq!(stop_time(s(pre_stop_s), s(exit_s), s(grace_s)), s(expected_s));
    }

    #[test]
    fn an_exhausted_hook_leaves_two_seconds_between_the_signals() {
        check(40, 1000, 30, 32);
        check(40, 1, 30, 31);
    }

    #[test]
    fn the_grace_is_shared_by_hook_and_application() {
        check(0, 1, 30, 1);
        check(0, 1000, 1, 2);
        check(0, 1000, 30, 30);
        check(10, 1000, 30, 30);
        check(10, 5, 30, 15);
    }
}
