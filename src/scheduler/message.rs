//! The texts of FailedScheduling.

use std::collections::BTreeMap;

use super::cycle::Decision;
use super::framework::{Cycle, Rejection};
use crate::arena::Symbol;
use crate::model::PreemptionPolicy;

/// How many nodes gave each reason.
type Counts = BTreeMap<Symbol, usize>;

/// Pre-filtering has left no node, by these plugins.
pub(super) fn nobody_left(plugins: &[&'static str]) -> Symbol {
    Symbol::new(&match plugins {
        [only] => format!("node(s) didn't satisfy plugin {only}"),
        several => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", several.join(" ")),
    })
}

/// A plugin rejected the pod before any node was looked at.
///
/// # Source
/// kube-scheduler, `FitError`: the reason stands once. Since 1.34 DynamicResources, whose turn did not come, cannot find its
/// state afterwards, and that is all that is heard of preemption.
pub(super) fn rejected(cycle: &Cycle<'_>, rejection: &Rejection) -> String {
    let nodes = cycle.node_count;
    let reasons: Vec<&str> = rejection.reasons.iter().map(|reason| reason.as_str()).collect();
    let head = format!("0/{nodes} nodes are available: {}.", reasons.join(", "));
    if rejection.is_unresolvable && cycle.version.at_least(34) {
        return format!("{head} not found");
    }
    let mut counts = Counts::new();
    counts.insert(Symbol::new("Preemption is not helpful for scheduling"), nodes);
    format!("{head} {}preemption: {}", dynamic_resources(cycle), of_preemption(cycle, &counts))
}

/// # Source
/// kube-scheduler, `FitError`: each reason with the number of nodes that gave it, sorted as text, then what preemption
/// had to say.
pub(super) fn unschedulable(cycle: &Cycle<'_>, decision: &Decision, restricting: &[&'static str]) -> String {
    let nodes = cycle.node_count;
    let mut counts = Counts::new();
    for reason in decision.filtered.iter().flat_map(|(_, rejection)| &rejection.reasons) {
        *counts.entry(*reason).or_insert(0) += 1;
    }
    let unnamed = nodes - decision.filtered.len();
    if unnamed > 0 {
        let mut plugins = restricting.to_vec();
        plugins.sort_unstable();
        let text = format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "));
        *counts.entry(Symbol::new(&text)).or_insert(0) += unnamed;
    }
    format!(
        "0/{nodes} nodes are available: {}. {}preemption: {}",
        joined(&counts),
        dynamic_resources(cycle),
        preemption(cycle, decision)
    )
}

/// What the plugin DynamicResources says of a pod without claims.
fn dynamic_resources(cycle: &Cycle<'_>) -> &'static str {
    if cycle.version.at_least(34) { "no new claims to deallocate, " } else { "" }
}

fn joined(counts: &Counts) -> String {
    let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort_unstable();
    parts.join(", ")
}

fn preemption(cycle: &Cycle<'_>, decision: &Decision) -> String {
    let resolvable = decision.filtered.iter().filter(|(_, rejection)| !rejection.is_unresolvable).count();
    let mut counts = Counts::new();
    if resolvable > 0 {
        counts.insert(Symbol::new("No preemption victims found for incoming pod"), resolvable);
    }
    if cycle.node_count > resolvable {
        counts.insert(Symbol::new("Preemption is not helpful for scheduling"), cycle.node_count - resolvable);
    }
    of_preemption(cycle, &counts)
}

fn of_preemption(cycle: &Cycle<'_>, counts: &Counts) -> String {
    if cycle.spec.preemption_policy == Some(PreemptionPolicy::Never) {
        return "not eligible due to preemptionPolicy=Never.".to_owned();
    }
    format!("0/{} nodes are available: {}.", cycle.node_count, joined(counts))
}
