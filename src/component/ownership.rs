//! Claiming: which objects a controller adopts, keeps and releases.

use crate::arena::{Symbol, sym};
use crate::model::{LabelSelector, Labels};
use crate::state::{Owner, Store, WorkloadId};

/// What a controller does with one object in its namespace.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is ours.
    Keep,
    /// Nobody's, and it matches: becomes ours.
    Adopt,
    /// Ours, but no longer matching: we let it go.
    Release,
    /// Not our business.
    Ignore,
}

/// Judges one object.
///
/// # Source
/// kube-controller-manager, controller reference manager: `ClaimObject`.
#[must_use]
pub fn judge_claim(
    claimant: WorkloadId,
    claimant_is_deleting: bool,
    selector: &LabelSelector,
    owner: Option<Owner>,
    labels: &Labels,
    object_is_deleting: bool,
) -> Claim {
    match owner {
        Some(owner) if owner == claimant.as_owner() => {
            if selector.matches(labels) {
                Claim::Keep
            } else if claimant_is_deleting {
                Claim::Ignore
            } else {
                Claim::Release
            }
        }
        Some(_) => Claim::Ignore,
        None if claimant_is_deleting || object_is_deleting || !selector.matches(labels) => Claim::Ignore,
        None => Claim::Adopt,
    }
}

/// Kind and name of an owner, as `pods.csv` shows them; empty strings if there is none.
#[must_use]
pub fn controller_name(store: &Store, owner: Option<Owner>) -> (Symbol, Symbol) {
    let none = (Symbol::empty(), Symbol::empty());
    match owner {
        None => none,
        Some(Owner::Node(id)) => (sym!("Node"), store.node_name(id)),
        Some(Owner::Foreign { kind, name, .. }) => (kind, name),
        Some(owner) => WorkloadId::from_owner(owner)
            .and_then(|id| Some((store.workload_kind(id).symbol(), store.workload_meta(id)?.name)))
            .unwrap_or(none),
    }
}
