//! Resource quotas: what they allow and what is used of it. Who they are stands among the stored objects.

use std::sync::Arc;

use crate::arena::Symbol;
use crate::model::{ResourceList, ResourceQuotaSpec};

/// Namespace and name of a quota.
pub type QuotaKey = (Symbol, Symbol);

/// A ResourceQuota.
#[derive(Clone, Debug)]
pub struct Quota {
    /// Spec.
    pub spec: Arc<ResourceQuotaSpec>,
    /// `status.hard`: what is enforced; empty until the controller has looked at it.
    pub hard: ResourceList,
    /// `status.used`.
    pub used: ResourceList,
    /// Writes so far, that of the creation among them.
    pub version: u64,
}
