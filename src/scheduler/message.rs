//! The texts of FailedScheduling.

use std::collections::BTreeMap;

use super::cycle::Decision;
use super::framework::Cycle;
use crate::model::PreemptionPolicy;
use crate::model::config::KubernetesVersion;

/// # Source
/// kube-scheduler, `FitError`: each reason with the number of nodes that gave it, sorted as text, then what preemption
/// had to say.
pub(super) fn unschedulable(
    cycle: &Cycle<'_>,
    decision: &Decision,
    nodes: usize,
    version: KubernetesVersion,
) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in decision.filtered.values().flat_map(|r| &r.reasons) {
        *counts.entry(reason).or_insert(0) += 1;
    }
    let unnamed = nodes - decision.filtered.len();
    if cycle.pod.pinned_node.is_some() && unnamed > 0 {
        *counts.entry("node(s) didn't satisfy plugin(s) [NodeAffinity]").or_insert(0) += unnamed;
    }
    let prefix = if version.at_least(34) { "no new claims to deallocate, " } else { "" };
    format!(
        "0/{nodes} nodes are available: {}. {prefix}preemption: {}",
        joined(&counts),
        preemption(cycle, decision, nodes)
    )
}

fn joined(counts: &BTreeMap<&str, usize>) -> String {
    let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort_unstable();
    parts.join(", ")
}

fn preemption(cycle: &Cycle<'_>, decision: &Decision, nodes: usize) -> String {
    if cycle.spec.preemption_policy == Some(PreemptionPolicy::Never) {
        return "not eligible due to preemptionPolicy=Never.".to_owned();
    }
    let resolvable = decision.filtered.values().filter(|r| !r.is_unresolvable).count();
    let mut counts = BTreeMap::new();
    if resolvable > 0 {
        counts.insert("No preemption victims found for incoming pod", resolvable);
    }
    if nodes > resolvable {
        counts.insert("Preemption is not helpful for scheduling", nodes - resolvable);
    }
    format!("0/{nodes} nodes are available: {}.", joined(&counts))
}
