//! Magnitudes with a dimension: instants, lengths of time, resource quantities, counts that may be percentages.
//!
//! All of them are exact integers inside; text forms are those of Go and Kubernetes. There is deliberately no clock here
//! and no calendar arithmetic beyond reading a time stamp.

mod counted;
mod duration;
mod int_or_percent;
mod named;
mod percent;
mod quantity;
#[cfg(feature = "cli")]
mod schemas;
mod spoken;
mod time;
pub mod with_days;

pub use counted::{counted, cut, grouped, noun};
pub use duration::{ParseDurationError, SimDuration};
pub use int_or_percent::{IntOrPercent, ParseIntOrPercentError, Rounding};
pub use named::{Named, named};
pub use percent::{parse_percent, share_of_percent};
pub use quantity::{ParseQuantityError, Quantity, QuantityFormat};
#[cfg(feature = "cli")]
pub(crate) use schemas::Days;
pub use spoken::{InDays, length, moment, plain};
pub use time::{
    SimTime, exact_rfc3339_from_unix_nanos, rfc3339_from_unix_nanos, seconds_text, unix_nanos_from_rfc3339,
};
