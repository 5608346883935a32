//! What exports need that tables lack: time stamps, and UIDs that are the same for the same object in every export.

use rustc_hash::FxHashMap;

use crate::arena::stable_hash;
use crate::report::table::{Table, text, whole};
use crate::units::rfc3339_from_unix_nanos;

/// The columns of pods.csv that say which pod is which.
pub(super) const CREATIONS: &[&str] = &["namespace", "name", "created_s"];

/// The instant that a run calls t=0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Epoch {
    unix_nanos: i64,
}

impl Epoch {
    /// That of so many nanoseconds after the Unix epoch.
    pub(crate) fn from_unix_nanos(unix_nanos: i64) -> Self {
        Self { unix_nanos }
    }

    /// Nanoseconds since the Unix epoch of so many milliseconds since t=0.
    pub(super) fn unix_nanos(self, at_ms: i64) -> i64 {
        self.unix_nanos.saturating_add(at_ms.saturating_mul(1_000_000))
    }

    /// The same in milliseconds.
    pub(super) fn unix_millis(self, at_ms: i64) -> i64 {
        self.unix_nanos(at_ms).div_euclid(1_000_000)
    }

    /// A time stamp cut to whole seconds, as objects have them.
    pub(super) fn second(self, at_ms: i64) -> String {
        rfc3339_from_unix_nanos(self.unix_nanos(at_ms))
    }

    /// A time stamp with six decimals, as leases, audit logs and the newer Events have them.
    pub(super) fn microsecond(self, at_ms: i64) -> String {
        let second = self.second(at_ms);
        let micros = self.unix_nanos(at_ms).rem_euclid(1_000_000_000) / 1000;
        format!("{}.{micros:06}Z", second.trim_end_matches('Z'))
    }
}

/// What an export is about: pods of a StatefulSet have the same name one after the other.
#[derive(PartialEq, Eq, Hash, Clone, Copy, Debug)]
pub(super) struct About<'a> {
    pub(super) kind: &'a str,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
    /// Of a pod, in milliseconds since t=0; of others 0, as tables do not say it.
    pub(super) created_ms: i64,
}

impl About<'_> {
    /// Its UID.
    pub(super) fn uid(&self) -> String {
        let About { kind, namespace, name, created_ms } = self;
        uuid(&format!("{kind}/{namespace}/{name}/{created_ms}"))
    }
}

/// When pods were created, in milliseconds since t=0, by namespace and name.
pub(super) struct Creations<'a>(FxHashMap<(&'a str, &'a str), Vec<i64>>);

impl<'a> Creations<'a> {
    /// Those of pods.csv.
    pub(super) fn new(pods: &'a Table) -> Self {
        let (namespace, name, at) = (pods.column("namespace"), pods.column("name"), pods.column("created_s"));
        let mut created: FxHashMap<_, Vec<i64>> = FxHashMap::default();
        // Pods of one name stand in the order in which they were created.
        for row in pods.rows() {
            let key = (text(row, namespace), text(row, name));
            created.entry(key).or_default().push(whole(row, at).unwrap_or_default());
        }
        Self(created)
    }

    /// When the pod was created that had that name at that time; 0 if there is none.
    pub(super) fn of(&self, namespace: &str, name: &str, at_ms: i64) -> i64 {
        let before = |of: &Vec<i64>| of.iter().rfind(|created_ms| **created_ms <= at_ms).copied();
        self.0.get(&(namespace, name)).and_then(before).unwrap_or_default()
    }
}

/// A UUID of the form that is left to whoever makes it (RFC 9562, version 8).
pub(super) fn uuid(text: &str) -> String {
    let (high, low) = (stable_hash(text.as_bytes()), stable_hash(format!("{text}#").as_bytes()));
    let high = high & !0xf000 | 0x8000;
    let low = low & !(0b11 << 62) | 0b10 << 62;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_count_from_the_epoch() {
        let epoch = Epoch::from_unix_nanos(1_767_225_600_000_000_000);
        assert_eq!(epoch.second(61_999), "2026-01-01T00:01:01Z");
        assert_eq!(epoch.microsecond(61_045), "2026-01-01T00:01:01.045000Z");
        assert_eq!(epoch.microsecond(-1), "2025-12-31T23:59:59.999000Z");
        assert_eq!(epoch.unix_millis(5), 1_767_225_600_005);
    }
}
