//! What the controller works on.

use crate::state::{JobId, PodId};
use crate::units::SimDuration;

/// Pod events and the controller's own status writes wait this long, so that one sync handles many.
pub(super) const BATCH_PERIOD: SimDuration = SimDuration::from_secs(1);

/// What the controller works on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A Job.
    Job(JobId),
    /// A pod with the tracking finalizer that no unfinished Job will take off.
    Orphan(PodId),
}
