//! Plays of a forecast that are over, as a journal keeps them.

use serde::{Deserialize, Serialize};

use super::toll::Toll;
use super::units::Loss;
use crate::study::Row;

/// A play that is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Played {
    /// Counted from 0 among all plays of the forecast, whose order follows from what the plays before gave.
    position: u64,
    /// What it cost those whom it cost something, by their positions.
    losses: Vec<(usize, Loss)>,
    /// The rest of what it cost.
    toll: Toll,
}

impl Row for Played {
    type Key = u64;

    const OF: &'static str = "forecast";

    fn key(&self) -> u64 {
        self.position
    }

    fn can_follow(&self, rows: usize) -> bool {
        self.position == rows as u64
    }
}

impl Played {
    pub(super) fn new(position: u64, toll: &Toll) -> Self {
        let is_loss = |(_, loss): &(usize, Loss)| *loss != Loss::default();
        let losses = toll.losses.iter().copied().enumerate().filter(is_loss).collect();
        Self { position, losses, toll: Toll { losses: Vec::new(), ..toll.clone() } }
    }

    /// What it cost each of so many units; none if it is of a cluster with fewer.
    fn toll(self, units: usize) -> Option<Toll> {
        let mut losses = vec![Loss::default(); units];
        for (unit, loss) in self.losses {
            *losses.get_mut(unit)? = loss;
        }
        Some(Toll { losses, ..self.toll })
    }
}

/// The first plays of a forecast, as far as all of them are there.
pub(super) fn first_plays(rows: Vec<Played>, units: usize) -> Vec<Toll> {
    let in_order = rows.into_iter().zip(0..).take_while(|(row, position)| row.position == *position);
    in_order.map_while(|(row, _)| row.toll(units)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_back_is_what_was_played() {
        let hurt = Loss { lost_s: 0.1 + 0.2, blocked_s: 1800.0, ..Loss::default() };
        let toll = Toll { losses: vec![Loss::default(), hurt, Loss::default()], evictions: 3, ..Toll::default() };
        let text = serde_json::to_string(&Played::new(0, &toll)).expect("plain data");
        let row = || serde_json::from_str::<Played>(&text).expect("a play");
        let first = [toll];
        assert_eq!(first_plays(vec![row()], 3), first);
        assert_eq!(first_plays(vec![row()], 1), [], "of a larger cluster");
        let later = Played { position: 2, ..row() };
        assert_eq!(first_plays(vec![row(), later], 3), first, "the second is missing");
    }
}
