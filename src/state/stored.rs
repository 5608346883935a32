//! Objects of kinds that decide nothing: they are there, so that commands find them.

use std::sync::Arc;

use serde_json::{Map, Value};

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
    /// What it says, without its status.
    pub fields: Arc<Map<String, Value>>,
}
