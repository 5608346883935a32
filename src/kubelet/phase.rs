//! The phase of a pod, from what its containers do.

use crate::model::PodSpec;
use crate::state::{ContainerState, ContainerStatus, Ending, PodPhase};

/// Whether the kubelet will start nothing of the pod any more.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It goes on.
    Open,
    /// It is being ended, whatever its policy says.
    Sealed,
}

/// The phase of a pod whose containers have these statuses.
///
/// # Source
/// kubelet, `getPhase`. A container that waits and has been restarted counts as stopped; a sidecar counts as long as it runs.
pub(super) fn phase(spec: &PodSpec, inits: &[ContainerStatus], containers: &[ContainerStatus], fate: Fate) -> PodPhase {
    let mut are_inits_open = false;
    for (index, container) in spec.init_containers.iter().enumerate().filter(|(_, c)| !c.is_sidecar()) {
        match inits.get(index).and_then(|status| status.state.ending()) {
            Some(Ending { exit_code: 0, .. }) => {}
            Some(Ending { exit_code, .. }) if !spec.restarts(container, exit_code) => return PodPhase::Failed,
            Some(_) | None => are_inits_open = true,
        }
    }
    let sidecars = spec.init_containers.iter().zip(inits).filter(|(container, _)| container.is_sidecar());
    let mut running = sidecars.filter(|(_, status)| status.state.running_since().is_some()).count();
    let (mut stopped, mut ended, mut succeeded) = (0, 0, 0);
    for (container, status) in spec.containers.iter().zip(containers) {
        if let Some(Ending { exit_code, .. }) = status.state.ending() {
            stopped += 1;
            ended += u32::from(!spec.restarts(container, exit_code));
            succeeded += u32::from(exit_code == 0);
        } else if status.state.running_since().is_some() {
            running += 1;
        } else if status.restarts > 0 || status.state == ContainerState::CrashLoopBackOff {
            stopped += 1;
        } else {
            return PodPhase::Pending;
        }
    }
    if are_inits_open || containers.len() < spec.containers.len() {
        return PodPhase::Pending;
    }
    if running > 0 || (fate == Fate::Open && stopped != ended) {
        return PodPhase::Running;
    }
    if stopped == succeeded { PodPhase::Succeeded } else { PodPhase::Failed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimTime;

    const RUNS: ContainerState = ContainerState::Running { since: SimTime::ZERO };

    fn ended(exit_code: i32) -> ContainerState {
        ContainerState::Terminated(Ending::exit(exit_code, SimTime::ZERO))
    }

    #[track_caller]
    fn check(policy: &str, containers: &[(ContainerState, u32)], fate: Fate, expected: PodPhase) {
        let list = vec!["{}"; containers.len()].join(",");
        let json = format!(r#"{{"restartPolicy":"{policy}","containers":[{list}]}}"#);
        let spec: PodSpec = serde_json::from_str(&json).expect("a spec");
        let statuses: Vec<ContainerStatus> = containers
            .iter()
            .map(|&(state, restarts)| ContainerStatus { state, ready: false, restarts, last: None })
            .collect();
        assert_eq!(phase(&spec, &[], &statuses, fate), expected, "{policy} {containers:?}");
    }

    #[test]
    fn pods_of_which_nothing_runs_end_as_their_policy_says() {
        check("Always", &[(ended(0), 0), (ended(1), 0)], Fate::Open, PodPhase::Running);
        check("Never", &[(ended(0), 0), (ended(1), 0)], Fate::Open, PodPhase::Failed);
        check("Never", &[(ended(0), 0), (ended(0), 0)], Fate::Open, PodPhase::Succeeded);
        check("OnFailure", &[(ended(0), 0), (ended(1), 0)], Fate::Open, PodPhase::Running);
        check("OnFailure", &[(ended(0), 0), (ended(0), 0)], Fate::Open, PodPhase::Succeeded);
    }

    #[test]
    fn a_container_that_never_ran_keeps_the_pod_pending_and_one_that_did_does_not() {
        let waits = ContainerState::Waiting;
        check("Always", &[(RUNS, 0), (waits, 0)], Fate::Open, PodPhase::Pending);
        check("Always", &[(RUNS, 0), (waits, 1)], Fate::Open, PodPhase::Running);
        check("Always", &[(ContainerState::CrashLoopBackOff, 3)], Fate::Open, PodPhase::Running);
        check("Always", &[(ContainerState::ImagePullBackOff, 0)], Fate::Open, PodPhase::Pending);
    }

    #[test]
    fn a_pod_that_is_being_ended_ends_whatever_its_policy() {
        check("Always", &[(ended(0), 0), (ended(1), 0)], Fate::Sealed, PodPhase::Failed);
        check("Always", &[(ended(0), 0), (ended(0), 0)], Fate::Sealed, PodPhase::Succeeded);
    }

    #[test]
    fn init_containers_keep_a_pod_pending_or_fail_it() {
        let check = |policy: &str, state: ContainerState, expected: PodPhase| {
            let json = format!(r#"{{"restartPolicy":"{policy}","initContainers":[{{}}],"containers":[{{}}]}}"#);
            let spec: PodSpec = serde_json::from_str(&json).expect("a spec");
            let status = |state| ContainerStatus { state, ready: false, restarts: 0, last: None };
            let regular = if state == ended(0) { RUNS } else { ContainerState::Waiting };
            assert_eq!(phase(&spec, &[status(state)], &[status(regular)], Fate::Open), expected, "{policy} {state:?}");
        };
        check("Always", RUNS, PodPhase::Pending);
        check("Always", ended(1), PodPhase::Pending);
        check("Never", ended(1), PodPhase::Failed);
        check("Never", ended(0), PodPhase::Running);
    }
}
