//! At which values inputs stand: trajectories through the unit cube, along each of which every input moves once.

use crate::engine::{Stream, Streams};

/// Values that an input can have: 0, a third, two thirds and the whole of its range. A move is two of these steps, as Morris has it.
const LEVELS: u8 = 4;
const MOVE: u8 = LEVELS / 2;

/// Of so many times as many trajectories those are taken that lie far from each other.
const CANDIDATES: usize = 10;
/// More candidates take too long to compare.
const CANDIDATES_MAX: usize = 200;

/// A way through the cube.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trajectory {
    /// Where it begins: the level of each input.
    pub(super) first: Vec<u8>,
    /// Which input moves in each step, up or down.
    pub(super) moves: Vec<(usize, bool)>,
}

impl Trajectory {
    fn draw(inputs: usize, stream: &mut Stream) -> Self {
        let mut moves: Vec<(usize, bool)> = (0..inputs).map(|input| (input, stream.below(2) == 1)).collect();
        let low = |stream: &mut Stream| stream.below(u32::from(LEVELS - MOVE)) as u8;
        let first = moves.iter().map(|(_, is_up)| if *is_up { low(stream) } else { low(stream) + MOVE }).collect();
        stream.shuffle(&mut moves);
        Self { first, moves }
    }

    /// Its points, one more than it has steps.
    pub(super) fn points(&self) -> Vec<Vec<u8>> {
        let mut at = self.first.clone();
        let mut points = vec![at.clone()];
        for (input, is_up) in &self.moves {
            at[*input] = if *is_up { at[*input] + MOVE } else { at[*input] - MOVE };
            points.push(at.clone());
        }
        points
    }
}

/// Which share of its range a level is.
pub(super) fn share(level: u8) -> f64 {
    f64::from(level) / f64::from(LEVELS - 1)
}

/// So many trajectories for so many inputs: of more that are drawn, those that lie far from each other.
///
/// # Source
///
/// The choice: Campolongo, Cariboni and Saltelli (2007), section 2.2, one after the other as Ruano, Ribes, Seco and Ferrer, An improved
/// sampling strategy based on trajectory design for application of the Morris method to systems with many input factors, Environmental
/// Modelling & Software 37 (2012).
pub(super) fn trajectories(count: usize, inputs: usize, seed: u64) -> Vec<Trajectory> {
    let mut stream = Streams::new(seed).stream("sensitivity", "trajectories");
    let candidates = (count * CANDIDATES).min(CANDIDATES_MAX).max(count);
    let drawn: Vec<Trajectory> = (0..candidates).map(|_| Trajectory::draw(inputs, &mut stream)).collect();
    let points: Vec<Vec<Vec<u8>>> = drawn.iter().map(Trajectory::points).collect();
    let mut chosen = vec![0];
    let mut is_left = vec![true; candidates];
    is_left[0] = false;
    // To all that are chosen, squared.
    let mut distances = vec![0_u64; candidates];
    while chosen.len() < count {
        let last = chosen[chosen.len() - 1];
        for (other, distance) in distances.iter_mut().enumerate().filter(|(other, _)| is_left[*other]) {
            *distance += squared_distance(&points[last], &points[other]);
        }
        let left = (0..candidates).filter(|other| is_left[*other]);
        let Some(next) = left.max_by_key(|other| (distances[*other], std::cmp::Reverse(*other))) else { break };
        is_left[next] = false;
        chosen.push(next);
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| drawn[index].clone()).collect()
}

/// The squared distances of all points of one to all of another, added up.
fn squared_distance(one: &[Vec<u8>], other: &[Vec<u8>]) -> u64 {
    let of = |(a, b): (&u8, &u8)| u64::from(a.abs_diff(*b)) * u64::from(a.abs_diff(*b));
    let between = |a: &Vec<u8>, b: &Vec<u8>| a.iter().zip(b).map(of).sum::<u64>();
    one.iter().map(|a| other.iter().map(|b| between(a, b)).sum::<u64>()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_moves_once_and_stays_in_its_range() {
        for trajectory in trajectories(20, 5, 7) {
            let mut moved: Vec<usize> = trajectory.moves.iter().map(|(input, _)| *input).collect();
            moved.sort_unstable();
            assert_eq!(moved, [0, 1, 2, 3, 4]);
            let points = trajectory.points();
            assert_eq!(points.len(), 6);
            assert!(points.iter().flatten().all(|level| *level < LEVELS), "{points:?}");
            for (two, (input, is_up)) in points.windows(2).zip(&trajectory.moves) {
                let differs = |at: &usize| two[0][*at] != two[1][*at];
                assert_eq!((0..5).filter(differs).collect::<Vec<_>>(), [*input]);
                assert_eq!(two[1][*input] > two[0][*input], *is_up);
            }
        }
        assert_eq!(trajectories(20, 5, 7), trajectories(20, 5, 7));
        assert_ne!(trajectories(20, 5, 7), trajectories(20, 5, 8));
    }

    #[test]
    fn those_that_are_chosen_lie_further_apart_than_those_that_are_drawn() {
        let spread = |of: &[Trajectory]| -> u64 {
            let points: Vec<_> = of.iter().map(Trajectory::points).collect();
            points.iter().flat_map(|one| points.iter().map(move |other| squared_distance(one, other))).sum()
        };
        let mut stream = Streams::new(3).stream("sensitivity", "trajectories");
        let drawn: Vec<Trajectory> = (0..10).map(|_| Trajectory::draw(6, &mut stream)).collect();
        assert!(spread(&trajectories(10, 6, 3)) > spread(&drawn));
    }
}
