//! Objects of kinds that decide nothing: they are there, so that commands find them.

use super::meta::Meta;
use crate::arena::Symbol;
use crate::model::StoredKind;

/// An object that is stored without effect.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its kind.
    pub kind: StoredKind,
    /// `apiVersion`, as it is written.
    pub api_version: Symbol,
    /// Metadata.
    pub meta: Meta,
    /// What it says, as a hash.
    pub content: u64,
}
