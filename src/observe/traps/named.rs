//! How traps name things: a few by name, the rest by number; instants and lengths in words.

use std::fmt;

use serde::Serializer;

use super::{Trap, TrapKind};
use crate::state::{Store, WorkloadId};
use crate::units::{InDays, SimDuration, SimTime};

/// Objects named in one line.
const NAMED_MAX: usize = 3;

/// Objects of one trap, of which lines name the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// Adds an object that is not among them yet.
    pub(super) fn add(&mut self, name: String) {
        self.0.push(name);
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    fn first(&self) -> &[String] {
        &self.0[..self.0.len().min(NAMED_MAX)]
    }

    /// A trap that decided about these.
    pub(super) fn trap(self, trap: TrapKind, at: SimTime, text: String, cost: Option<SimDuration>) -> Trap {
        Trap {
            trap,
            at,
            text,
            more: self.count() - self.first().len(),
            objects: self.first().to_vec(),
            cost_s: cost.map(SimDuration::as_secs_f64),
            see: trap.see(),
            all: self.0,
        }
    }
}

impl fmt::Display for Names {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.first().join(", "))?;
        match self.count() - self.first().len() {
            0 => Ok(()),
            more => write!(formatter, " and {more} more"),
        }
    }
}

/// The tail of a line that tells the worst of several.
pub(super) fn and_more(others: usize, one: &str, many: &str) -> String {
    match others {
        0 => String::new(),
        1 => format!("; and 1 more {one}"),
        _ => format!("; and {others} more {many}"),
    }
}

/// A length in whole seconds.
pub(super) fn length(duration: SimDuration) -> InDays {
    InDays(SimDuration::from_secs(duration.as_secs()))
}

/// An instant of the run.
pub(super) fn moment(at: SimTime) -> InDays {
    length(at.saturating_since(SimTime::ZERO))
}

pub(super) fn workload_name(workload: WorkloadId, store: &Store) -> Option<String> {
    let meta = store.workload_meta(workload)?;
    Some(format!("{}/{}/{}", store.workload_kind(workload).as_str().to_ascii_lowercase(), meta.namespace, meta.name))
}

/// Writes an instant as seconds since t=0.
///
/// # Errors
///
/// Those of the serializer.
pub(super) fn seconds<S: Serializer>(at: &SimTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(at.as_nanos() as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_are_named_and_the_rest_counted() {
        let mut names = Names::default();
        for index in 0..5 {
            names.add(format!("pod/shop/web-{index}"));
        }
        assert_eq!(names.to_string(), "pod/shop/web-0, pod/shop/web-1, pod/shop/web-2 and 2 more");
        let trap = names.trap(TrapKind::AllInOnePlace, SimTime::ZERO, String::new(), None);
        assert_eq!((trap.objects.len(), trap.more, trap.all.len()), (3, 2, 5));
        assert_eq!(trap.see, "docs/traps.md#all-in-one-place");
    }
}
