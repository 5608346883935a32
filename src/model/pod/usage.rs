//! What a pod says that its containers use.

use std::collections::BTreeMap;

use crate::arena::Symbol;
use crate::units::Quantity;

/// The annotation that says it.
const USAGE: &str = "kubesquall.sim/usage";

/// What the text of the annotation `kubesquall.sim/usage` says, by resource (`cpu`, `memory`, `ephemeral-storage`, `pids`,
/// `volumes/<name>`); none if it cannot be read.
#[must_use]
pub fn read_usage(text: &str) -> Option<BTreeMap<String, Quantity>> {
    serde_saphyr::from_str(text).ok()
}

/// What the annotation `kubesquall.sim/usage` says; none if it is not there or cannot be read.
#[must_use]
pub fn stated_usage(annotations: &BTreeMap<Symbol, Symbol>) -> Option<BTreeMap<String, Quantity>> {
    if annotations.is_empty() {
        return None;
    }
    read_usage(annotations.get(&Symbol::new(USAGE))?.as_str())
}
