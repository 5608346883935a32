//! Plays of a forecast that are over, as a journal keeps them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::toll::Toll;
use super::units::Loss;
use crate::study::Row;

/// A play that is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Played {
    /// What was played, see [`key_of`].
    play: u64,
    /// What it cost those whom it cost something, by their positions.
    losses: Vec<(usize, Loss)>,
    /// The rest of what it cost.
    toll: Toll,
}

impl Row for Played {
    type Key = u64;

    const OF: &'static str = "forecast";

    fn key(&self) -> u64 {
        self.play
    }
}

/// What tells a play from every other of a forecast: of which cluster it is, and what happens there.
pub(super) fn key_of(cluster: &str, what: &str) -> u64 {
    crate::arena::stable_hash(format!("{cluster}\n{what}").as_bytes())
}

impl Played {
    pub(super) fn new(play: u64, toll: &Toll) -> Self {
        let is_loss = |(_, loss): &(usize, Loss)| *loss != Loss::default();
        let losses = toll.losses.iter().copied().enumerate().filter(is_loss).collect();
        Self { play, losses, toll: Toll { losses: Vec::new(), ..toll.clone() } }
    }

    /// Events that were played.
    pub(super) fn events(&self) -> u64 {
        self.toll.events
    }

    /// What it cost each of so many units; none if it is of a cluster with fewer.
    fn toll(&self, units: usize) -> Option<Toll> {
        let mut losses = vec![Loss::default(); units];
        for (unit, loss) in &self.losses {
            *losses.get_mut(*unit)? = *loss;
        }
        Some(Toll { losses, ..self.toll.clone() })
    }
}

/// The plays that are over, by what was played.
#[derive(Debug, Default)]
pub(super) struct Known {
    rows: BTreeMap<u64, Played>,
    units: usize,
}

impl Known {
    /// Those that a journal has, of a cluster with so many units.
    pub(super) fn of(rows: Vec<Played>, units: usize) -> Self {
        Self { rows: rows.into_iter().map(|row| (row.play, row)).collect(), units }
    }

    pub(super) fn toll(&self, play: u64) -> Option<Toll> {
        self.rows.get(&play)?.toll(self.units)
    }

    pub(super) fn has(&self, play: u64) -> bool {
        self.rows.contains_key(&play)
    }

    pub(super) fn add(&mut self, row: Played) {
        self.rows.insert(row.play, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_back_is_what_was_played() {
        let hurt = Loss { lost_s: 0.1 + 0.2, blocked_s: 1800.0, ..Loss::default() };
        let toll = Toll { losses: vec![Loss::default(), hurt, Loss::default()], evictions: 3, ..Toll::default() };
        let play = key_of("as it is", "year 0");
        let text = serde_json::to_string(&Played::new(play, &toll)).expect("plain data");
        let row = || serde_json::from_str::<Played>(&text).expect("a play");
        assert_eq!(Known::of(vec![row()], 3).toll(play), Some(toll));
        assert_eq!(Known::of(vec![row()], 1).toll(play), None, "of a larger cluster");
        assert_eq!(Known::of(vec![row()], 3).toll(key_of("as it is", "year 1")), None);
    }
}
