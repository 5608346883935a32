//! Containers that wait, and what for: the reason that `kubectl get pods` shows, and what it follows from.

use std::collections::BTreeMap;

use super::causes::Causes;
use super::pods::PodRow;
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::state::{CauseId, ContainerState, Pod};

/// What a pod's containers wait for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// `state.waiting.reason`.
    pub reason: &'static str,
    /// The image that is waited for, or the container that waits for its restart.
    pub subject: Symbol,
    /// The change that said so.
    pub cause: CauseId,
}

impl Waiting {
    /// What the pod waits for: its init containers come first.
    pub(super) fn of(pod: &Pod, cause: CauseId) -> Option<Self> {
        let inits = pod.init_containers.iter().zip(&pod.spec.init_containers);
        let mut all = inits.chain(pod.containers.iter().zip(&pod.spec.containers));
        all.find_map(|(status, container)| {
            let reason = status.state.waiting_reason()?;
            let is_restart = status.state == ContainerState::CrashLoopBackOff;
            Some(Self { reason, subject: if is_restart { container.name } else { container.image }, cause })
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
