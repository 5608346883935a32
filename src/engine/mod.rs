//! A discrete-event core: a clock, a queue of what is due, and chance.
//!
//! Invariants: events happen in the order of (time, sequence); the clock never goes back; every random number comes from a
//! stream with a name, and depends on nothing but the seed, that name and the place in the stream. The engine knows no
//! Kubernetes, reads no real clock and writes nothing.

mod clock;
mod distribution;
mod fit;
mod hazard;
mod queue;
mod random;
mod residual;
mod special;

pub use clock::Clock;
pub use distribution::{Distribution, DistributionError};
pub use fit::{
    Bounds, Family, Fit, Goodness, IntervalFit, Observation, RESAMPLES, SCALES_S, StandardErrors, are_alike, fit,
    fit_counted, fit_intervals, goodness, quantiles,
};
pub use queue::{EventQueue, Occurrence, Ticket};
pub use random::{Stream, Streams};
pub(crate) use special::normal_cdf;
