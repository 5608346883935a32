//! What calls were for, and what events say.

use crate::state::{JobReason, PodId};

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// Creating a pod.
    Create,
    /// Deleting a pod.
    Delete(PodId),
    /// Taking a finalizer away.
    Release(PodId),
    /// Writing the status that names the pods to be counted; an event says so, or nothing does.
    Flush(Option<JobEvent>),
    /// Writing the status in which they count.
    Conclude(Option<JobEvent>),
    /// Anything else.
    Other,
}

/// What an event says of a Job.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum JobEvent {
    /// It has been suspended.
    Suspended,
    /// It goes on.
    Resumed,
    /// It has succeeded.
    Completed,
    /// It has failed, for this reason.
    Failed(JobReason),
}
