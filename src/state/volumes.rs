//! Volumes as far as they decide where a pod can run.

use std::sync::Arc;

use super::meta::Meta;
use crate::arena::Id;
use crate::model;

/// Identifies a PersistentVolume.
pub type PersistentVolumeId = Id<PersistentVolume>;
/// Identifies a PersistentVolumeClaim.
pub type PersistentVolumeClaimId = Id<PersistentVolumeClaim>;

/// A PersistentVolume.
#[derive(Clone, Debug)]
pub struct PersistentVolume {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::PersistentVolumeSpec>,
}

/// A PersistentVolumeClaim.
#[derive(Clone, Debug)]
pub struct PersistentVolumeClaim {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: Arc<model::PersistentVolumeClaimSpec>,
}
