//! Workloads that make pod after pod, none of which comes to run: their nodes refuse them.

use std::collections::{BTreeMap, BTreeSet};

use super::pods::PodRow;
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::state::PodPhase;
use crate::units::SimTime;

/// So many pods of one workload that failed before they ran are more than a few tries.
const PODS_MIN: usize = 10;

/// A workload whose pods failed before they ran.
#[derive(Clone, Debug)]
pub(super) struct Storm {
    /// Which.
    pub(super) workload: WorkloadKey,
    /// Its pods that failed.
    pub(super) pods: usize,
    /// Why, each with how many: the last `status.reason`, the most frequent first.
    pub(super) reasons: Vec<(Symbol, usize)>,
    /// Where, by name.
    pub(super) nodes: BTreeSet<Symbol>,
    /// When the first and the last of them failed.
    pub(super) from: SimTime,
    pub(super) to: SimTime,
}

/// A pod that failed, and when.
type Failed<'a> = (&'a PodRow, SimTime);

/// What storms there were, the longest first: pods created in the run that their kubelets refused, or ended before a container ran.
pub(super) fn storms(pods: &[PodRow]) -> Vec<Storm> {
    let mut failed: BTreeMap<[Symbol; 3], Vec<Failed<'_>>> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !pod.initial && pod.phase == PodPhase::Failed && pod.started_at.is_none()) {
        let Some(at) = pod.finished_at else { continue };
        let of = pod.workload;
        failed.entry([of.namespace, of.kind, of.name]).or_default().push((pod, at));
    }
    let mut storms: Vec<Storm> = failed.into_values().filter_map(|pods| storm(&pods)).collect();
    storms.sort_by_key(|storm| std::cmp::Reverse(storm.pods));
    storms
}

fn storm(pods: &[Failed<'_>]) -> Option<Storm> {
    if pods.len() < PODS_MIN {
        return None;
    }
    let mut reasons: BTreeMap<Symbol, usize> = BTreeMap::new();
    for (pod, _) in pods {
        *reasons.entry(pod.reason).or_default() += 1;
    }
    let mut reasons: Vec<(Symbol, usize)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    Some(Storm {
        workload: pods[0].0.workload,
        pods: pods.len(),
        reasons,
        nodes: pods.iter().map(|(pod, _)| pod.node).filter(|node| !node.is_empty()).collect(),
        from: pods.iter().map(|(_, at)| *at).min()?,
        to: pods.iter().map(|(_, at)| *at).max()?,
    })
}
