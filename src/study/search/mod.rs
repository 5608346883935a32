//! Good values between the ends of ranges, found by few points that are played where they tell most.
//!
//! `lattice` makes values of a range, `space` points of these; `survey` fits a `surrogate` to what was played and says which point is to be
//! played next; `play` plays until no point promises enough. All of it follows from the runs: who resumes a journal comes to the same points.

mod cholesky;
#[cfg(test)]
mod coverage;
mod document;
mod found;
mod lattice;
mod play;
mod space;
mod surrogate;
mod survey;

pub(super) use document::{SearchAround, SearchEntry, read};
pub use found::{AtEnd, Ended, Found, Played, Point as FoundPoint, Range, Record, Searched, Slice};
pub(super) use lattice::{Kind, Lattice, RangeEntry, Refused};
pub(crate) use play::play;
pub(super) use space::Space;

/// Points that a search plays beyond those it begins with, at most, for each thing that is varied, if nothing is said.
const POINTS_EACH: usize = 10;

/// Runs of each point from which on noise is told well enough not to be taken for what is searched, or the other way round.
const REPLICATIONS_MIN: u32 = 20;

/// More ranges than this are not filled by as many points as anybody plays.
const RANGES_MAX: usize = 4;

/// More points than this take longer to be chosen than to be played.
const POINTS_MAX: usize = 200;

/// The points of a study with ranges, and how many of them are played.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) space: Space,
    /// At most so many points.
    pub(super) points_max: usize,
}

impl Plan {
    /// Points that are played at most, if nothing is said.
    pub(super) fn points_of(space: &Space, axes: usize) -> usize {
        space.begin().len() + POINTS_EACH * axes
    }
}
