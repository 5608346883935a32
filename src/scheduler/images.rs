//! The images of the cluster: how large each is, and how many nodes have it.

use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::arena::Symbol;
use crate::state::Node;

/// An image that some node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ImageState {
    /// Bytes, as the node says that had it first.
    pub(super) size: i64,
    /// Nodes that have it.
    pub(super) node_count: usize,
}

/// All images that nodes have.
///
/// # Source
/// kube-scheduler, `ImageStateSummary`.
#[derive(Clone, Debug, Default)]
pub(super) struct ImageStates {
    by_name: FxHashMap<Symbol, ImageState>,
    node_count: usize,
    /// Rises when anything of this changes.
    epoch: u64,
}

impl ImageStates {
    pub(super) fn of(&self, name: Symbol) -> Option<ImageState> {
        self.by_name.get(&name).copied()
    }

    /// Nodes of the cluster.
    pub(super) fn node_count(&self) -> usize {
        self.node_count
    }

    /// Another number for another state.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// A node came, went or changed.
    pub(super) fn set_node(&mut self, before: Option<&Node>, after: Option<&Node>) {
        if let (Some(before), Some(after)) = (before, after)
            && std::sync::Arc::ptr_eq(&before.images, &after.images)
        {
            return;
        }
        self.epoch += 1;
        self.node_count = self.node_count + usize::from(after.is_some()) - usize::from(before.is_some());
        for (name, _) in before.into_iter().flat_map(names) {
            if let Some(state) = self.by_name.get_mut(&name) {
                state.node_count -= 1;
                if state.node_count == 0 {
                    self.by_name.remove(&name);
                }
            }
        }
        for (name, size) in after.into_iter().flat_map(names) {
            self.by_name.entry(name).or_insert(ImageState { size, node_count: 0 }).node_count += 1;
        }
    }
}

/// Names of the images of a node, each once, with their sizes.
fn names(node: &Node) -> IndexMap<Symbol, i64, FxBuildHasher> {
    let mut all = IndexMap::default();
    for (names, size) in node.images.iter() {
        for &name in names {
            all.entry(name).or_insert(*size);
        }
    }
    all
}
