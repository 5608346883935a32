//! The texts of FailedScheduling.

use std::collections::BTreeMap;

use super::cycle::Decision;
use super::framework::{Cycle, Rejection};
use super::preemption::Preemption;
use super::profile::Profile;
use crate::arena::Symbol;

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
/// state afterwards, and that is all that is heard (`is_heard`) of what comes after filtering.
pub(super) fn rejected(
    profile: &Profile,
    cycle: &Cycle<'_>,
    rejection: &Rejection,
    is_heard: bool,
    after: Option<&Preemption>,
) -> String {
    let nodes = cycle.node_count;
    let reasons: Vec<&str> = rejection.reasons.iter().map(|reason| reason.as_str()).collect();
    let suffix = if is_heard { suffix(profile, cycle, after) } else { " not found".to_owned() };
    format!("0/{nodes} nodes are available: {}.{suffix}", reasons.join(", "))
}

/// # Source
/// kube-scheduler, `FitError`: each reason with the number of nodes that gave it, sorted as text, then what preemption
/// had to say.
pub(super) fn unschedulable(
    profile: &Profile,
    cycle: &Cycle<'_>,
    decision: &Decision,
    restricting: &[&'static str],
    after: Option<&Preemption>,
) -> String {
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
    format!("0/{nodes} nodes are available: {}.{}", joined(&counts), suffix(profile, cycle, after))
}

/// The text of the event: long messages are cut.
pub(super) fn of_event(message: &str) -> String {
    const MAX: usize = 1024;
    const CUT: &str = " ...";
    if message.len() <= MAX {
        return message.to_owned();
    }
    let end = (0..=MAX - CUT.len()).rev().find(|&end| message.is_char_boundary(end)).unwrap_or(0);
    format!("{}{CUT}", &message[..end])
}

fn joined(counts: &Counts) -> String {
    let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort_unstable();
    parts.join(", ")
}

/// What the plugins say that come after filtering: nothing if room is being made.
fn suffix(profile: &Profile, cycle: &Cycle<'_>, after: Option<&Preemption>) -> String {
    let others = profile.post_filters.iter().filter_map(|plugin| plugin.after_filters(cycle.version));
    let preemption = match after {
        Some(Preemption::Candidate(_)) => return String::new(),
        Some(Preemption::NoVictim(error)) => return format!(" preemption: {error}"),
        Some(Preemption::NotEligible(why)) => Some(format!("preemption: {why}")),
        Some(Preemption::Nowhere(counts)) => {
            Some(format!("preemption: 0/{} nodes are available: {}.", cycle.node_count, joined(counts)))
        }
        None => None,
    };
    let said: Vec<&str> = others.chain(preemption.as_deref()).collect();
    if said.is_empty() { String::new() } else { format!(" {}", said.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_cut_long_messages_at_a_character() {
        assert_eq!(of_event(&"a".repeat(1024)), "a".repeat(1024));
        assert_eq!(of_event(&"a".repeat(1025)), format!("{} ...", "a".repeat(1020)));
        // Two bytes a character: the cut may not fall between them.
        let cut = of_event(&format!("a{}", "é".repeat(600)));
        assert!(cut.len() <= 1024 && cut.ends_with("é ..."), "{}", cut.len());
    }
}
