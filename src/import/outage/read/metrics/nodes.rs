//! What samples tell of nodes.

use std::collections::BTreeMap;

use super::labels::{Label, Metric};
use super::presence::{Presence, Watch};
use super::samples::{Line, Table};
use super::states::{Change, changes, changes_of_ones, edges, is_never_zero, stays};
use super::{Seen, between, second};
use crate::arena::Symbol;
use crate::evidence::{Reporter, What};
use crate::model::ConditionStatus;

/// The series of one node.
#[derive(Default)]
struct Node<'a> {
    presence: Presence,
    /// Those of each condition, and of which status.
    conditions: BTreeMap<Symbol, Vec<(&'a Line, ConditionStatus)>>,
    taints: Vec<&'a Line>,
    cordons: Vec<&'a Line>,
    created: Option<&'a Line>,
}

pub(super) fn conclude(table: &Table, watch: &Watch, seen: &mut Seen) {
    let are_ones_alone = is_never_zero(table, Metric::NodeCondition);
    let mut nodes: BTreeMap<Symbol, Node<'_>> = BTreeMap::new();
    for line in table.lines.iter().filter(|line| line.key.metric.is_of_node()) {
        let node = nodes.entry(line.key.id(Label::Node)).or_default();
        match line.key.metric {
            Metric::NodeTaint => node.taints.push(line),
            Metric::NodeCondition => {
                let status = match line.key.id(Label::Status).as_str() {
                    "true" => ConditionStatus::True,
                    "false" => ConditionStatus::False,
                    _ => ConditionStatus::Unknown,
                };
                node.conditions.entry(line.key.id(Label::Condition)).or_default().push((line, status));
                if !are_ones_alone {
                    node.presence.add(line);
                }
            }
            metric => {
                match metric {
                    Metric::NodeUnschedulable => node.cordons.push(line),
                    Metric::NodeCreated => node.created = Some(line),
                    _ => {}
                }
                if metric != Metric::NodeUnschedulable || !is_never_zero(table, metric) {
                    node.presence.add(line);
                }
            }
        }
    }
    for (name, mut node) in nodes {
        node.presence = std::mem::take(&mut node.presence).joined(watch);
        node.presence(name, watch, seen);
        node.conditions(name, are_ones_alone, watch, seen);
        node.spec(name, watch, seen);
    }
}

impl Node<'_> {
    /// Whether what ends at a sample ends with the node.
    fn ends_with(&self, last: i64, watch: &Watch) -> bool {
        self.presence.spans.iter().any(|(_, end)| (last - end).abs() <= watch.gap() / 3)
    }

    fn presence(&self, node: Symbol, watch: &Watch, seen: &mut Seen) {
        let Some((first, last)) = self.presence.first().zip(self.presence.last()) else { return };
        let present = What::NodePresent { node, is_present: true };
        let absent = What::NodePresent { node, is_present: false };
        if let Some(when) = watch.appeared(&self.presence, first) {
            let created = self.created.and_then(|line| second(line.spans[0].value));
            seen.see(created.unwrap_or(when), 1, present.clone());
        }
        match self.created {
            // Another time of creation is another object of that name.
            Some(line) => {
                for pair in line.spans.windows(2).filter(|pair| pair[0].value != pair[1].value) {
                    let Some(created) = second(pair[1].value) else { continue };
                    let before = between(pair[0].last, created.latest.unix_nanos().clamp(pair[0].last, pair[1].first));
                    seen.see(before, pair[1].place, absent.clone());
                    seen.see(created, pair[1].place, present.clone());
                }
            }
            None => {
                for pair in self.presence.spans.windows(2) {
                    let (end, begin) = (pair[0].1, pair[1].0);
                    if !watch.is_watched(&self.presence, end, begin) {
                        continue;
                    }
                    if let Some(gone) = watch.vanished(&self.presence, end) {
                        seen.see(gone, 1, absent.clone());
                    }
                    if let Some(back) = watch.appeared(&self.presence, begin) {
                        seen.see(back, 1, present.clone());
                    }
                }
            }
        }
        if let Some(when) = watch.vanished(&self.presence, last) {
            seen.see(when, 1, absent);
        }
    }

    fn conditions(&self, node: Symbol, are_ones_alone: bool, watch: &Watch, seen: &mut Seen) {
        for (condition, lines) in &self.conditions {
            let stays = stays(lines);
            let found: Vec<Change<ConditionStatus>> = if are_ones_alone {
                let mut presence = Presence::default();
                lines.iter().for_each(|(line, _)| presence.add(line));
                let found = changes_of_ones(&stays, &presence, watch);
                let is_end = |change: &Change<_>| {
                    change.to.is_none() && self.ends_with(change.when.earliest.unix_nanos(), watch)
                };
                found.into_iter().filter(|change| !is_end(change)).collect()
            } else {
                let new = stays.first().and_then(|stay| Some((stay, watch.appeared(&self.presence, stay.first)?)));
                let new = new.filter(|(stay, _)| stay.state == Some(ConditionStatus::True));
                let first = new.map(|(stay, when)| Change { when, to: stay.state, place: stay.place });
                first.into_iter().chain(changes(&stays)).collect()
            };
            let has_true = lines.iter().any(|(_, status)| *status == ConditionStatus::True);
            for Change { when, to, place } in found {
                seen.see(when, place, said(node, *condition, to, has_true));
            }
        }
    }

    fn spec(&self, node: Symbol, watch: &Watch, seen: &mut Seen) {
        for line in &self.taints {
            let (key, effect) = (line.key.id(Label::Key), line.key.id(Label::Effect));
            for (when, is_present, place) in edges(line, watch) {
                if is_present || !self.ends_with(when.earliest.unix_nanos(), watch) {
                    seen.see(when, place, What::NodeTaint { node, key, effect, is_present });
                }
            }
        }
        for line in &self.cordons {
            for (when, is_cordoned, place) in edges(line, watch) {
                if is_cordoned || !self.ends_with(when.earliest.unix_nanos(), watch) {
                    seen.see(when, place, What::NodeSchedulable { node, is_schedulable: !is_cordoned });
                }
            }
        }
    }
}

/// A change of a condition. Only the controller calls a node unknown, and only the kubelet says anything else. Of a query for `true`
/// alone nobody knows which of the other two it is: unknown, by nobody; of a query without `true` it is true for all that is known.
fn said(node: Symbol, condition: Symbol, to: Option<ConditionStatus>, has_true: bool) -> What {
    let (status, by) = match to {
        Some(ConditionStatus::Unknown) => (ConditionStatus::Unknown, Reporter::Controller),
        Some(status) => (status, Reporter::Kubelet),
        None if !has_true => (ConditionStatus::True, Reporter::Unknown),
        None if condition == "Ready" => (ConditionStatus::Unknown, Reporter::Unknown),
        None => (ConditionStatus::False, Reporter::Unknown),
    };
    if condition == "Ready" {
        What::NodeReady { node, status, by }
    } else {
        What::NodeCondition { node, condition, status }
    }
}
