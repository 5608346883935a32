//! How long containers take to stop, and with which code they end.

use super::{Kubelets, settings};
use crate::component::Ctx;
use crate::state::{Owner, Pod};
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

/// How long the pod's containers take to stop.
pub(super) fn stop_latency(pod: &Pod, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> SimDuration {
    stop_time(settings::pre_stop(pod), settings::exit_latency(pod, ctx), grace.max(GRACE_MIN))
}

/// The grace that the pod's spec gives.
pub(super) fn own_grace(pod: &Pod) -> SimDuration {
    SimDuration::from_secs(pod.spec.termination_grace_period_seconds.unwrap_or(30).max(1).unsigned_abs())
}

/// With which code containers end that are stopped.
///
/// # Differs
/// Those of Jobs do not finish their work, others have none to finish: they end as they should unless they have to be killed.
pub(super) fn exit_code(pod: &Pod, ctx: &Ctx<'_, Kubelets>) -> i32 {
    if matches!(pod.owner, Some(Owner::Job(_))) {
        return TERMINATED;
    }
    let grace = pod.deletion.map_or(GRACE_MIN, |deletion| deletion.grace.max(GRACE_MIN));
    let takes = settings::pre_stop(pod) + settings::exit_latency(pod, ctx);
    if takes > stop_latency(pod, grace, ctx) { KILLED } else { 0 }
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
