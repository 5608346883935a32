//! Questions to the scheduler about a cluster that might be.

use std::sync::Arc;

use super::config::Config;
use crate::arena::Symbol;
use crate::state::{AdmittedSpec, Node, NodeId, PodId, Store};
use crate::units::SimTime;

/// The cluster as it stands at an instant.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// Its objects.
    pub store: &'a Store,
    /// Flags, configuration and latencies.
    pub config: &'a Config,
    /// The instant.
    pub now: SimTime,
}

/// The cluster as it stands, on which things are tried that do not happen. It judges by the scheduler's own filters.
pub trait WhatIf {
    /// Adds a node that nobody has, with pods like these on it. Where there is a node of its kind, it is as old as that; else it has no
    /// `creationTimestamp`, [`SimTime::MIN`](crate::units::SimTime::MIN), and is older than any.
    fn add_node(&mut self, name: Symbol, node: Arc<Node>, occupants: &[Arc<AdmittedSpec>]) -> NodeId;

    /// Takes a node away; pods that were placed on it must have been lifted.
    fn remove_node(&mut self, node: NodeId);

    /// The first of these nodes that takes the pod.
    ///
    /// # Errors
    /// Why the last of them does not.
    fn first_fit(&mut self, pod: PodId, nodes: &[NodeId]) -> Result<NodeId, Symbol>;

    /// Counts a pod on a node.
    fn place(&mut self, pod: PodId, node: NodeId);

    /// Takes a pod off the node that it is counted on.
    fn lift(&mut self, pod: PodId);
}

/// Makes the picture of a cluster on which things can be tried.
pub type MakeWhatIf = for<'a> fn(Snapshot<'a>) -> Box<dyn WhatIf + 'a>;
