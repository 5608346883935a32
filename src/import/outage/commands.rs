//! What operators did, as lines of kubectl: from an audit log as they asked for it, else from what events show of it.

mod from_events;
mod from_pods;
mod from_requests;
mod scaled_away;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::faults::{Confidence, Found};
use super::timeline::Timeline;
use crate::arena::Symbol;
use crate::evidence::{Bounds, DeletedBy, PodName, What};

pub(super) use from_requests::is_operators;

/// A line of kubectl, or nodes that joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Without `kubectl` in front.
    Kubectl(String),
    /// An object that was applied: it gets a file of its own.
    Apply(Box<str>),
    /// Pods of which only those of their kind are known: so many of those that a selector selects.
    KillPods { namespace: Symbol, selector: String, count: usize },
    /// Machines that joined a pool.
    AddNodes { pool: String, count: usize },
}

/// What was done, and how that is known.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) when: Bounds,
    pub(super) action: Action,
    /// Who asked, if a record says it.
    pub(super) by: Option<Symbol>,
    pub(super) confidence: Confidence,
    pub(super) reason: String,
    pub(super) evidence: Vec<usize>,
}

/// Everything that operators did, by time.
#[derive(Debug, Default)]
pub(super) struct Commands {
    pub(super) commands: Vec<Command>,
    pub(super) explained: BTreeSet<usize>,
    pub(super) remarks: Vec<String>,
}

impl Commands {
    fn push(&mut self, command: Command) {
        self.explained.extend(command.evidence.iter().copied());
        self.commands.push(command);
    }
}

/// Looks for what operators did that faults do not explain already.
pub(super) fn find(timeline: &Timeline<'_>, found: &Found) -> Commands {
    let mut commands = Commands::default();
    from_requests::find(timeline, found, &mut commands);
    from_events::find(timeline, found, &mut commands);
    from_pods::find(timeline, found, &mut commands);
    scaled_away::find(timeline, found, &mut commands);
    commands.commands.sort_by(|a, b| (a.when, &a.reason).cmp(&(b.when, &b.reason)));
    commands
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// ` -n NAMESPACE`, unless it is the default one.
fn in_namespace(namespace: Symbol) -> String {
    if namespace.is_empty() || namespace.as_str() == "default" {
        String::new()
    } else {
        format!(" -n {}", quoted(namespace.as_str()))
    }
}

/// Whether a line names something: `deployment web`, `deployment/web`.
fn names(line: &str, name: &str) -> bool {
    line.split([' ', '/']).any(|word| word == name)
}

/// The drain of a node, as it is usually asked for.
fn drain(node: Symbol) -> String {
    format!("drain {} --ignore-daemonsets --delete-emptydir-data --force", quoted(node.as_str()))
}

/// Pods of a node that a drain took: evicted, stopped by their kubelet, or gone without anything having been seen before, within a time.
fn drained(node: Symbol, within: Bounds, timeline: &Timeline<'_>) -> Vec<usize> {
    let is_taken = |pod: PodName| {
        let deletion =
            timeline.of_pod(pod).find(|(_, seen)| matches!(seen.what, What::PodDeletion { .. } | What::PodGone { .. }));
        deletion.filter(|(_, seen)| {
            matches!(
                seen.what,
                What::PodGone { .. }
                    | What::PodDeletion { by: DeletedBy::Eviction | DeletedBy::Unknown | DeletedBy::Operator, .. }
            ) && seen.when.latest >= within.earliest
                && seen.when.earliest <= within.latest
                && timeline.node_of(pod, seen.when.earliest) == Some(node)
        })
    };
    timeline.pods_of(node).iter().filter_map(|pod| is_taken(*pod)).map(|(index, _)| index).collect()
}
