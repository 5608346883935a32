//! What every API object carries: names, labels, owner, generation, deletion.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::nodes::NodeId;
use super::workloads::{CronJobId, DaemonSetId, DeploymentId, JobId, ReplicaSetId, StatefulSetId};
use crate::arena::Symbol;
use crate::model::{Labels, ObjectKind};
use crate::units::SimTime;

/// An object's UID; its order is the order of the UID's text, which breaks ties in the ReplicaSet's victim choice.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uid(pub u128);

impl Uid {
    /// Reads a UID as the API writes it. Text that is not a UUID is hashed, so that equal texts stay equal.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let digits: String = text.chars().filter(|c| *c != '-').collect();
        if digits.len() == 32
            && let Ok(value) = u128::from_str_radix(&digits, 16)
        {
            return Self(value);
        }
        let low = crate::arena::stable_hash(text.as_bytes());
        Self((u128::from(low) << 64) | u128::from(crate::arena::stable_hash(digits.as_bytes())))
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let v = self.0;
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            (v >> 96) as u32,
            (v >> 80) as u16,
            (v >> 64) as u16,
            (v >> 48) as u16,
            v & 0xffff_ffff_ffff
        )
    }
}

/// The controlling owner of an object. An id whose object is gone reads as a dangling reference, as in the real API.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// A Deployment (owns ReplicaSets).
    Deployment(DeploymentId),
    /// A ReplicaSet, or a ReplicationController, which behaves alike.
    ReplicaSet(ReplicaSetId),
    /// A DaemonSet.
    DaemonSet(DaemonSetId),
    /// A StatefulSet.
    StatefulSet(StatefulSetId),
    /// A Job.
    Job(JobId),
    /// A CronJob (owns Jobs).
    CronJob(CronJobId),
    /// A Node: the owner of mirror pods.
    Node(NodeId),
    /// A kind that is not modelled, or an owner that the input names but does not hold.
    Foreign {
        /// The owner's kind.
        kind: Symbol,
        /// The owner's name.
        name: Symbol,
        /// The owner's UID.
        uid: Uid,
    },
}

/// A workload as what it owns names it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct OwnerName {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its name.
    pub name: Symbol,
    /// Its UID.
    pub uid: Uid,
}

/// How the dependents of a deleted object are treated.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum Propagation {
    /// The object goes at once, its dependents afterwards.
    #[default]
    Background,
    /// The object stays until its blocking dependents are gone.
    Foreground,
    /// The dependents stay, without an owner.
    Orphan,
}

impl Propagation {
    /// The finalizer that the garbage collector takes off once it has dealt with the dependents.
    #[must_use]
    pub const fn finalizer(self) -> Option<&'static str> {
        match self {
            Self::Background => None,
            Self::Foreground => Some("foregroundDeletion"),
            Self::Orphan => Some("orphan"),
        }
    }
}

/// Metadata of a namespaced object other than a pod.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// UID.
    pub uid: Uid,
    /// Labels.
    pub labels: Labels,
    /// Annotations.
    pub annotations: Arc<BTreeMap<Symbol, Symbol>>,
    /// Creation time.
    pub created_at: SimTime,
    /// Raised by one at each change of the spec.
    pub generation: i64,
    /// Raised by one at each write: what a `metadata.resourceVersion` is held against.
    pub version: u64,
    /// When deletion was asked for, if the object lingers (foreground or orphan deletion, or somebody's finalizer).
    pub deleting: Option<(SimTime, Propagation)>,
    /// Finalizers of others: the object stays until somebody takes them off.
    pub finalizers: Box<[Symbol]>,
    /// The controlling owner.
    pub owner: Option<Owner>,
}
