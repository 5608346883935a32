//! What is not as it has to be, and pods that had to wait.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::units::{SimDuration, SimTime};

/// Something that is not as it has to be at the end of a case, or, of pods that wait, in it. What comes first in this list says most.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum ShortfallKind {
    /// A pod has no node.
    Pending,
    /// A pod had none for a whole minute, though the scheduler looked for one.
    Waited,
    /// Pods of a workload could not be made for a whole minute, as the API server refused them.
    Refused,
    /// A pod is still counted on a lost node.
    LeftBehind,
    /// A pod has a node and has not started there.
    NotStarted,
    /// A node could not be drained.
    NotDrained,
    /// A budget has fewer healthy pods than it wants.
    Budget,
    /// An objective does not hold.
    Objective,
    /// An `expect` of the case's scenario does not hold.
    Expectation,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortfall {
    /// Which kind.
    pub kind: ShortfallKind,
    /// What falls short: `pod/shop/cart-1`, `deployment/shop/cart`.
    pub object: String,
    /// Why, as far as the cluster says.
    pub why: String,
    /// From when until when a pod fitted nowhere, if that took long.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// Whether it is of pods that no node more of a searched pool would take.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_beyond_help: bool,
}

impl Shortfall {
    /// One that is no wait.
    pub(super) fn new(kind: ShortfallKind, object: String, why: String) -> Self {
        Self { kind, object, why, wait: None, is_beyond_help: false }
    }
}

/// A pod that fits nowhere for so long has not been waiting for the scheduler, nor for pods that leave within their usual grace
/// period, but for room.
pub(super) const WAIT_MAX: SimDuration = SimDuration::from_secs(60);

/// From when until when a pod fitted nowhere, or was refused.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wait {
    /// The scheduler, or the API server, first said so.
    #[serde(rename = "sinceSeconds", serialize_with = "seconds")]
    pub since: SimTime,
    /// It got a node, was deleted, or the play ended; of pods that were refused, when it was last seen so: at least once a minute.
    #[serde(rename = "untilSeconds", serialize_with = "seconds")]
    pub until: SimTime,
}

fn seconds<S: Serializer>(time: &SimTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

impl Wait {
    /// How long it lasted.
    #[must_use]
    pub fn length(self) -> SimDuration {
        self.until.saturating_since(self.since)
    }
}

impl fmt::Display for Wait {
    /// `for 8h50m3s, from 10m12s on`, in whole seconds.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |duration: SimDuration| SimDuration::from_secs(duration.as_secs());
        let since = self.since.saturating_since(SimTime::ZERO);
        write!(formatter, "for {}, from {} on", whole(self.length()), whole(since))
    }
}
