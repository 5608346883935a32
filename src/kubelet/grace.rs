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
pub(super) const GRACE_MIN: SimDuration = SimDuration::from_secs(1);

/// What is between SIGTERM and SIGKILL at least.
const KILL_MIN: SimDuration = SimDuration::from_secs(2);

/// How containers stop.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// How long it takes.
    pub(super) takes: SimDuration,
    /// Whether they do not end in time at their signal.
    pub(super) is_killed: bool,
}

impl Stop {
    /// Of what does not run.
    const NOTHING: Self = Self { takes: SimDuration::ZERO, is_killed: false };

    /// Of containers that exit `exit` after SIGTERM, which comes at `signal`; SIGKILL comes when what is `left` of the grace is over.
    fn after(signal: SimDuration, exit: SimDuration, left: SimDuration) -> Self {
        let left = left.max(KILL_MIN);
        Self { takes: signal + exit.min(left), is_killed: exit > left }
    }

    /// The code with which containers end that would end with another in time.
    pub(super) fn code(self, in_time: i32) -> i32 {
        if self.is_killed { KILLED } else { in_time }
    }
}

/// How containers stop that sleep `pre_stop` before SIGTERM and exit `exit` after it.
///
/// # Source
/// kubelet, `killContainer`: the hook runs within the grace; whole seconds it took are subtracted, but at least two are
/// left between the signals, however short the grace.
pub(super) fn stop(pre_stop: SimDuration, exit: SimDuration, grace: SimDuration) -> Stop {
    let hook = pre_stop.min(grace);
    Stop::after(hook, exit, grace - SimDuration::from_secs(hook.as_secs()))
}

/// How the pod's regular containers stop that have begun.
fn regular_stop(pod: &Pod, begun: usize, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> Stop {
    let hooks = settings::pre_stop(pod.spec.containers.get(..begun).unwrap_or(&pod.spec.containers));
    stop(hooks, settings::exit_latency(pod, ctx), grace.max(GRACE_MIN))
}

/// How containers without hooks do, such as init containers that are no sidecars.
pub(super) fn exit_of(pod: &Pod, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> Stop {
    stop(SimDuration::ZERO, settings::exit_latency(pod, ctx), grace.max(GRACE_MIN))
}

/// How those of the pod's containers stop that run; its sidecars come after the regular ones.
pub(super) fn stop_of(pod: &Pod, running: &Running, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> Stop {
    let grace = grace.max(GRACE_MIN);
    let both = |one: Stop, other: Stop| Stop {
        takes: one.takes.max(other.takes),
        is_killed: one.is_killed || other.is_killed,
    };
    let regular = if running.begun > 0 { regular_stop(pod, running.begun, grace, ctx) } else { Stop::NOTHING };
    let exit = settings::exit_latency(pod, ctx);
    let sidecars = in_turn(pod, |index| running.inits.contains(&index), regular.takes, exit, grace);
    let is_other =
        |index: &usize| pod.spec.init_containers.get(*index).is_some_and(|container| !container.is_sidecar());
    let others = if running.inits.iter().any(is_other) { exit_of(pod, grace, ctx) } else { Stop::NOTHING };
    both(both(regular, sidecars), others)
}

/// How sidecars that run stop when nothing else runs any more.
pub(super) fn sidecars_stop(pod: &Pod, inits: &[ContainerStatus], grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> Stop {
    let exit = settings::exit_latency(pod, ctx);
    let runs = |index: usize| inits.get(index).is_some_and(|status| status.state.running_since().is_some());
    in_turn(pod, runs, SimDuration::ZERO, exit, grace)
}

/// How the pod's sidecars stop, one after the other from the last to the first, once the regular containers have; whether any is killed.
///
/// # Source
/// kubelet, `terminationOrdering`: each waits for its turn within the grace, after its hook, and no longer.
fn in_turn(
    pod: &Pod,
    runs: impl Fn(usize) -> bool,
    regular: SimDuration,
    exit: SimDuration,
    grace: SimDuration,
) -> Stop {
    let mut all = Stop { takes: regular, ..Stop::NOTHING };
    let mut before = regular;
    let sidecars = pod.spec.init_containers.iter().enumerate().rev();
    for (_, sidecar) in sidecars.filter(|(index, container)| container.is_sidecar() && runs(*index)) {
        let hook = settings::pre_stop(std::slice::from_ref(sidecar)).min(grace);
        let left = grace - SimDuration::from_secs(hook.as_secs());
        let turn = before.max(hook).min(hook + left);
        let stop = Stop::after(turn, exit, left - SimDuration::from_secs((turn - hook).as_secs()));
        before = before.max(stop.takes);
        all = Stop { takes: all.takes.max(before), is_killed: all.is_killed || stop.is_killed };
    }
    all
}

/// The grace that the pod's spec gives.
pub(super) fn own_grace(pod: &Pod) -> SimDuration {
    SimDuration::from_secs(pod.spec.termination_grace_period_seconds.unwrap_or(30).max(1).unsigned_abs())
}

/// With which code containers end at their signal.
///
/// # Differs
/// Those of Jobs do not finish their work, others have none to finish: they end as they should unless they have to be killed.
pub(super) fn code_in_time(pod: &Pod) -> i32 {
    if matches!(pod.owner, Some(Owner::Job(_))) { TERMINATED } else { 0 }
}

/// With which code containers end, of which so many have begun, that are stopped within that grace.
pub(super) fn exit_code(pod: &Pod, begun: usize, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> i32 {
    regular_stop(pod, begun, grace, ctx).code(code_in_time(pod))
}

/// With which code init containers end that are stopped within that grace.
pub(super) fn init_exit_code(pod: &Pod, grace: SimDuration, ctx: &Ctx<'_, Kubelets>) -> i32 {
    exit_of(pod, grace, ctx).code(TERMINATED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pre_stop_s: u64, exit_s: u64, grace_s: u64, expected_s: u64) {
        let s = SimDuration::from_secs;
        assert_eq!(stop(s(pre_stop_s), s(exit_s), s(grace_s)).takes, s(expected_s));
    }

    #[test]
    fn who_ends_between_the_signals_is_not_killed() {
        let is_killed = |pre_stop_ms: u64, exit_ms: u64, grace_ms: u64| {
            let ms = SimDuration::from_millis;
            stop(ms(pre_stop_ms), ms(exit_ms), ms(grace_ms)).is_killed
        };
        // The hook is cut short at the grace; two seconds are left in any case.
        assert!(!is_killed(20_000, 1000, 5000) && !is_killed(0, 1500, 1000) && !is_killed(0, 2000, 1000));
        assert!(is_killed(20_000, 2500, 5000) && is_killed(0, 2500, 1000));
        // A second of hook is taken off the grace.
        assert!(!is_killed(10_000, 20_000, 30_000) && is_killed(10_000, 20_001, 30_000));
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
