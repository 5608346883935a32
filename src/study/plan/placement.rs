//! In how many draws of chance a plan is played, and in how many of them counts have to survive.
//!
//! A placement is one draw of what chance decides: to which of equal nodes pods go while the cluster is brought up, and what follows
//! after t=0. Counts that just hold the pods may survive one placement and not the next.

use crate::study::statistics::share_at_least;

/// Placements that are played if nothing is said.
pub(super) const PLACEMENTS: u32 = 30;

/// More placements than this are a slip of the pen.
pub const PLACEMENTS_MAX: u32 = 10_000;

/// The confidence of what is said of all placements.
pub const CONFIDENCE: f64 = 0.95;

/// The draws of chance in which counts are tried, and what is asked of them.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Placements {
    /// The number of the first. Number 0 is what a run of the scenario has.
    pub first: u32,
    /// How many.
    pub count: u32,
    /// The share of all placements that has to be survived; all that are played if nothing is said.
    pub probability: Option<f64>,
    /// With which confidence that share has to be shown; if none is said, the share of those that are played decides.
    pub confidence: Option<f64>,
}

impl Default for Placements {
    fn default() -> Self {
        Self { first: 0, count: PLACEMENTS, probability: None, confidence: None }
    }
}

impl Placements {
    /// Their numbers.
    pub(super) fn numbers(&self) -> Vec<u32> {
        (self.first..self.first.saturating_add(self.count)).collect()
    }

    /// How many of them have to be survived; none if even all of them do not show what is asked for.
    #[must_use]
    pub fn needed(&self) -> Option<u32> {
        let Some(probability) = self.probability else { return Some(self.count) };
        let count = self.count as usize;
        let shows = |survived: usize| match self.confidence {
            Some(confidence) => share_at_least(survived, count, confidence) >= probability,
            // What a share is written as may be off in the last place.
            None => survived as f64 >= probability * count as f64 - 1e-9,
        };
        (0..=count).find(|survived| shows(*survived)).map(|survived| survived as u32)
    }

    /// The fewest placements that can show what is asked for, if all of them are survived.
    #[must_use]
    pub fn fewest(&self) -> u32 {
        match (self.probability, self.confidence) {
            (Some(probability), Some(confidence)) if probability < 1.0 => {
                (libm::log(1.0 - confidence) / libm::log(probability)).ceil() as u32
            }
            _ => 1,
        }
    }
}

/// What came of a placement.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its number.
    pub number: u32,
    /// The seed of what follows after t=0.
    pub seed: u64,
    /// Whether every play was survived.
    pub is_survived: bool,
    /// Whether plays were left out after one that was not.
    pub is_cut_short: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(count: u32, probability: Option<f64>, confidence: Option<f64>) -> Placements {
        Placements { first: 0, count, probability, confidence }
    }

    #[test]
    fn so_many_placements_have_to_be_survived() {
        assert_eq!(asked(30, None, None).needed(), Some(30));
        assert_eq!(asked(30, Some(0.9), None).needed(), Some(27));
        assert_eq!(asked(30, Some(0.91), None).needed(), Some(28));
        // 0.95^59 is below 5 %, 0.95^58 is not; of 93 placements one may fail: Conover, Practical Nonparametric Statistics, table A6.
        assert_eq!(asked(58, Some(0.95), Some(0.95)).needed(), None);
        assert_eq!(asked(59, Some(0.95), Some(0.95)).needed(), Some(59));
        assert_eq!(asked(92, Some(0.95), Some(0.95)).needed(), Some(92));
        assert_eq!(asked(93, Some(0.95), Some(0.95)).needed(), Some(92));
        assert_eq!(asked(1, Some(0.95), Some(0.95)).fewest(), 59);
        assert_eq!(asked(1, Some(0.99), Some(0.95)).fewest(), 299);
    }
}
