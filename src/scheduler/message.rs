//! The texts of FailedScheduling.

use std::collections::BTreeMap;

use super::decision::Decision;
use super::rejection::Rejection;
use crate::arena::Symbol;

/// How many nodes gave each reason.
pub(super) type Counts = BTreeMap<Symbol, usize>;

/// Pre-filtering has left no node, by these plugins.
pub(super) fn nobody_left(plugins: &[&'static str]) -> Symbol {
    Symbol::new(&match plugins {
        [only] => format!("node(s) didn't satisfy plugin {only}"),
        several => format!("node(s) didn't satisfy plugin(s) [{}] simultaneously", several.join(" ")),
    })
}

/// A plugin rejected the pod before any node was looked at; `after` is what was said after filtering.
///
/// # Source
/// kube-scheduler, `FitError`: the reason stands once.
pub(super) fn rejected(nodes: usize, rejection: &Rejection, after: &str) -> String {
    format!("0/{nodes} nodes are available: {rejection}.{after}")
}

/// # Source
/// kube-scheduler, `FitError`: each reason with the number of nodes that gave it, sorted as text, then what was said after
/// filtering.
pub(super) fn unschedulable(nodes: usize, decision: &Decision, restricting: &[&'static str], after: &str) -> String {
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
    format!("0/{nodes} nodes are available: {}.{after}", joined(&counts))
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

/// The reasons with their counts, sorted as text.
pub(super) fn joined(counts: &Counts) -> String {
    let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort_unstable();
    parts.join(", ")
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
