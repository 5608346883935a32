//! Versions of objects: one counter over the whole session, whatever becomes of time.

use rustc_hash::FxHashMap;

use crate::rest::Key;

/// The versions that have been given out.
#[derive(Clone, Debug)]
pub(super) struct Versions {
    last: u64,
    /// Of objects that have not changed since.
    base: u64,
    of: FxHashMap<Key, u64>,
}

impl Versions {
    pub(super) fn new() -> Self {
        Self { last: 1, base: 1, of: FxHashMap::default() }
    }

    /// The newest.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The oldest that means anything.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn of(&self, key: Key) -> u64 {
        self.of.get(&key).copied().unwrap_or(self.base)
    }

    /// An object has changed.
    pub(super) fn raise(&mut self, key: Key) -> u64 {
        self.last += 1;
        self.of.insert(key, self.last);
        self.last
    }

    /// An object is gone; the version of that.
    pub(super) fn drop(&mut self, key: Key) -> u64 {
        self.last += 1;
        self.of.remove(&key);
        self.last
    }

    /// All is other than it was: nothing that was given out before means anything now.
    pub(super) fn begin_anew(&mut self) {
        self.last += 1;
        self.base = self.last;
        self.of.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rise_over_everything() {
        let (mut versions, a, b) = (Versions::new(), Key::new("pods", "x", "a"), Key::new("pods", "x", "b"));
        assert_eq!((versions.of(a), versions.raise(a), versions.of(a), versions.of(b)), (1, 2, 2, 1));
        assert_eq!(versions.drop(a), 3);
        versions.begin_anew();
        assert_eq!((versions.of(a), versions.of(b), versions.last(), versions.base()), (4, 4, 4, 4));
        assert_eq!(versions.raise(b), 5);
    }
}
