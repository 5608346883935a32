//! Ordinals of pods.

use crate::arena::Symbol;

/// The ordinal in a pod's name, if the pod is named as one of the set's.
pub(super) fn ordinal_of(set: Symbol, pod: &str) -> Option<i32> {
    let digits = pod.strip_prefix(set.as_str())?.strip_prefix('-')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}
