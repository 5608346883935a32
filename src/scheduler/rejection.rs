//! Why a plugin keeps a pod off a node, and what would have to be otherwise.

use smallvec::{SmallVec, smallvec};

use crate::arena::Symbol;
use crate::model::Taint;
use crate::state::NodeId;

/// Why a node is not feasible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The plugin that said no first.
    pub plugin: &'static str,
    /// Its reasons.
    pub reasons: SmallVec<[Symbol; 1]>,
    /// Whether removing pods could not help either.
    pub is_unresolvable: bool,
}

impl Rejection {
    /// Removing pods may help.
    pub(super) fn unschedulable(plugin: &'static str, reason: Symbol) -> Self {
        Self { plugin, reasons: smallvec![reason], is_unresolvable: false }
    }

    /// Removing pods does not help.
    pub(super) fn unresolvable(plugin: &'static str, reason: Symbol) -> Self {
        Self { plugin, reasons: smallvec![reason], is_unresolvable: true }
    }
}

/// Why every plugin rejects a node, not only the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacles {
    /// The node.
    pub node: NodeId,
    /// One for each plugin that rejects it.
    pub rejections: Vec<Rejection>,
    /// What would have to be otherwise, all of it, for these plugins to let the pod in.
    pub remedies: Vec<Remedy>,
}

/// Something that would have to be otherwise for a plugin to let a pod in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// More of a resource would have to be free, or less of it asked for.
    Resource(InsufficientResource),
    /// The node would have to be uncordoned.
    Uncordon,
    /// The pod would have to tolerate these taints.
    Tolerate(Vec<Taint>),
    /// The pod would have to allow the node's labels, by selector and affinity.
    AllowLabels,
    /// The pod's host ports would have to be free there.
    FreePorts,
    /// The node would have to have the labels that the pod's spread constraints name.
    TopologyLabels,
    /// The pod's spread constraints would have to allow one more there.
    AllowSkew,
    /// The pods that the pod must be near would have to be there.
    Neighbors,
    /// Pods that it must keep away from, or that must keep away from it, would have to be elsewhere.
    Distance,
    /// These PersistentVolumeClaims would have to be there.
    Claims(Vec<Symbol>),
    /// A plugin would have to say otherwise.
    Else(Rejection),
}

/// A resource of which a node has too little for a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsufficientResource {
    /// Its name: `cpu` in thousandths, `memory` and storage in bytes, `pods`, others in pieces.
    pub resource: Symbol,
    /// What the pod asks for.
    pub asked: i64,
    /// What is free, negative if more is promised than there is.
    pub free: i64,
    /// What there is.
    pub allocatable: i64,
}

impl InsufficientResource {
    /// Whether the pod would not fit the empty node.
    #[must_use]
    pub fn is_beyond_the_node(&self) -> bool {
        self.asked > self.allocatable
    }

    /// What is missing, in thousandths of what is asked for.
    pub(super) fn missing_milli(&self) -> i128 {
        i128::from(self.asked - self.free) * 1000 / i128::from(self.asked.max(1))
    }
}
