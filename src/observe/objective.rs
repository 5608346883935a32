//! What the scenario asks of its workloads.

use serde::{Serialize, Serializer};

/// How many ready pods are enough.
#[derive(Copy, Clone, Debug, PartialEq)]
pub enum MinReady {
    /// This many.
    Count(i32),
    /// This share of the wanted ones, rounded up.
    Percent(i32),
}

impl std::fmt::Display for MinReady {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(formatter, "{count}"),
            Self::Percent(percent) => write!(formatter, "{percent} %"),
        }
    }
}

impl Serialize for MinReady {
    /// As scenarios write it: `2`, `"80%"`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_i32(*count),
            Self::Percent(percent) => serializer.collect_str(&format_args!("{percent}%")),
        }
    }
}

impl MinReady {
    pub(super) fn of(self, desired: i32) -> i32 {
        match self {
            // Nobody waits for the pods of what wants none.
            Self::Count(_) if desired == 0 => 0,
            Self::Count(count) => count,
            Self::Percent(percent) => (i64::from(desired) * i64::from(percent) + 99).div_euclid(100) as i32,
        }
    }
}

/// An objective of the scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// `kind/namespace/name`, in lower case but for the names; `*` stands for any text.
    pub workload: String,
    /// What counts as good.
    pub min_ready: MinReady,
    /// The share of time that has to be good, 0 to 1.
    pub objective: f64,
}

impl Objective {
    /// Whether it speaks of that workload.
    #[must_use]
    pub fn matches(&self, kind: &str, namespace: &str, name: &str) -> bool {
        workload_matches(&self.workload, &format!("{}/{namespace}/{name}", kind.to_ascii_lowercase()))
    }
}

/// Whether a workload, as `kind/namespace/name`, is what a pattern means in which `*` stands for any text.
#[must_use]
pub fn workload_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let check = |pattern: &str, text: &str, expected: bool| assert_eq!(workload_matches(pattern, text), expected);
        check("deployment/shop/*", "deployment/shop/web", true);
        check("deployment/*/web", "deployment/shop/web", true);
        check("*", "anything", true);
        check("deployment/shop/web", "deployment/shop/web2", false);
        check("deployment/s*p/w*", "deployment/shop/web", true);
        check("a*a", "a", false);
    }

    #[test]
    fn percentages_round_up() {
        assert_eq!(MinReady::Percent(80).of(3), 3);
        assert_eq!(MinReady::Percent(50).of(4), 2);
        assert_eq!(MinReady::Count(2).of(10), 2);
    }
}
