//! Which pods count together, and how many of them each node has.

use crate::arena::{Column, Symbol};
use crate::model::{LabelSelector, Labels};
use crate::state::{NodeId, NodeSlot};

/// Pods of a namespace that match several selectors at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Selection {
    /// All of these.
    pub(super) selectors: Vec<LabelSelector>,
    /// And these labels.
    pub(super) labels: Vec<Labels>,
    pub(super) matches_nothing: bool,
}

impl Selection {
    pub(super) fn is_empty(&self) -> bool {
        self.selectors.iter().all(LabelSelector::is_empty)
            && self.labels.iter().all(|labels| labels.as_slice().is_empty())
    }

    pub(super) fn matches(&self, labels: &Labels) -> bool {
        let has = |wanted: &Labels| wanted.as_slice().iter().all(|(key, value)| labels.get(*key) == Some(*value));
        !self.matches_nothing
            && self.selectors.iter().all(|selector| selector.matches(labels))
            && self.labels.iter().all(has)
    }
}

/// Counts of a selection's pods by node, kept up to date: pods of one template share them.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    pub(super) namespace: Symbol,
    pub(super) selection: Selection,
    pub(super) by_node: Column<NodeSlot, i64>,
}

impl Counter {
    pub(super) fn new(namespace: Symbol, selection: Selection) -> Self {
        Self { namespace, selection, by_node: Column::new() }
    }

    /// A pod came (1) or went (-1).
    pub(super) fn change(&mut self, node: NodeId, namespace: Symbol, labels: &Labels, by: i64) {
        if namespace == self.namespace && self.selection.matches(labels) {
            *self.by_node.get_mut(node) += by;
        }
    }
}
