//! Figures that were counted, by name.

use std::collections::BTreeMap;

/// Sums of seconds may differ by the order in which they were added.
const TOLERANCE: f64 = 1e-6;

/// Figures counted anew, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Figures {
    pub(super) found: BTreeMap<&'static str, f64>,
}

impl Figures {
    pub(super) fn put(&mut self, name: &'static str, value: f64) {
        self.found.insert(name, value);
    }

    pub(super) fn count(&mut self, name: &'static str, count: usize) {
        self.put(name, count as f64);
    }
}

/// Whether two figures are the same.
pub(super) fn are_alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= TOLERANCE * one.abs().max(other.abs()).max(1.0)
}
