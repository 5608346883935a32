//! What calls were for.

use crate::component::StatusStep;
use crate::state::PodId;

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// Creating a pod.
    Create,
    /// Deleting a pod.
    Delete(PodId),
    /// Writing status.
    Status(StatusStep),
    /// Anything else.
    Other,
}
