//! What a scheduling cycle decides, and why.

use super::rejection::{Obstacles, Rejection};
use crate::state::{NodeId, PodId};

/// A feasible node's scores by plugin, after normalization and weight.
#[derive(Clone, Debug, Default)]
pub struct NodeScore {
    /// By plugin.
    pub by_plugin: Vec<(&'static str, i64)>,
    /// Their sum.
    pub total: i64,
}

/// What a cycle decided, and why.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The chosen node.
    pub node: Option<NodeId>,
    /// Nodes with the highest total; empty if nothing was scored.
    pub ties: Vec<NodeId>,
    /// Feasible nodes in the order in which they were found.
    pub feasible: Vec<NodeId>,
    /// Scores of the feasible nodes; empty if there is only one, or if nobody asked for them.
    pub scores: Vec<NodeScore>,
    /// Why other nodes were not feasible, in the order in which they were looked at.
    pub filtered: Vec<(NodeId, Rejection)>,
    /// Plugins that rejected it: their hints decide when it is tried again.
    pub rejectors: Vec<&'static str>,
    /// The text of FailedScheduling.
    pub message: Option<String>,
    /// The attempt ended in an error, which is the message.
    pub is_error: bool,
    /// What becomes of the pod's nomination.
    pub nomination: Nomination,
    /// Pods that are to make room.
    pub victims: Vec<PodId>,
    /// What stands in the way on the node that lacks least; only if no node takes the pod and somebody asked.
    pub nearest: Option<Obstacles>,
}

/// What a cycle says of `status.nominatedNodeName`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nomination {
    /// It stays as it is.
    #[default]
    Kept,
    /// There is none (any more).
    Cleared,
    /// Room is being made on this node.
    To(NodeId),
}
