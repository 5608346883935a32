//! Containers that wait, and what for: the reason that `kubectl get pods` shows, and what it follows from.

use std::collections::BTreeMap;

use super::causes::Causes;
use super::pods::PodRow;
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::state::{CauseId, ContainerState, Ending, Pod};

/// What a container is said to wait for that is to be restarted.
const CRASH_LOOP: &str = "CrashLoopBackOff";

/// What a pod's containers wait for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// `state.waiting.reason`, or what it will be.
    pub reason: &'static str,
    /// The image that is waited for, or the container that waits for its restart.
    pub subject: Symbol,
    /// The change that said so.
    pub cause: CauseId,
}

impl Waiting {
    /// What the pod waits for: its init containers come first. A container that has been restarted and has ended once more waits for its restart,
    /// though its status says so only from the next sync on.
    pub(super) fn of(pod: &Pod, cause: CauseId) -> Option<Self> {
        let inits = pod.init_containers.iter().zip(&pod.spec.init_containers);
        let regular = pod.containers.iter().zip(&pod.spec.containers);
        let regular = regular.map(|(status, container)| (status, container, true));
        let mut all = inits.map(|(status, container)| (status, container, container.is_sidecar())).chain(regular);
        all.find_map(|(status, container, ends_well)| {
            let backs_off = status.state == ContainerState::CrashLoopBackOff || {
                let ending = status.state.ending().filter(|ending| ending.exit_code != 0 || ends_well);
                let is_restarted = |ending: Ending| pod.spec.restarts(container, ending.exit_code);
                pod.is_active() && status.restarts > 0 && ending.is_some_and(is_restarted)
            };
            if backs_off {
                return Some(Self { reason: CRASH_LOOP, subject: container.name, cause });
            }
            Some(Self { reason: status.state.waiting_reason()?, subject: container.image, cause })
        })
    }
}

/// Pods that wait at the end for one reason, which follows from one action.
#[derive(Clone, Debug)]
pub(super) struct Standing<'a> {
    pub(super) reason: &'static str,
    /// `ImagePullFailure of 1m0s`; none if it follows from the state at the start.
    pub(super) since: Option<String>,
    pub(super) pods: Vec<&'a PodRow>,
}

impl Standing<'_> {
    pub(super) fn is_of(&self, workload: WorkloadKey) -> bool {
        self.pods.iter().any(|pod| pod.workload == workload)
    }
}

/// Those that wait at the end, by reason and what it follows from, the most first.
pub(super) fn standing<'a>(pods: &'a [PodRow], causes: &Causes) -> Vec<Standing<'a>> {
    let mut found: BTreeMap<(&'static str, Option<String>), Vec<&PodRow>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.is_there()) {
        let Some(waiting) = pod.waiting else { continue };
        found.entry((waiting.reason, causes.action_behind(waiting.cause))).or_default().push(pod);
    }
    let mut found: Vec<Standing<'_>> =
        found.into_iter().map(|((reason, since), pods)| Standing { reason, since, pods }).collect();
    found.sort_by_key(|standing| std::cmp::Reverse(standing.pods.len()));
    found
}
