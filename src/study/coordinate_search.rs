//! The best place within bounds, looked for one coordinate after the other.
//!
//! Each coordinate is tried on an even grid over its bounds while the others stay; then again on a finer one around the best. What is
//! looked for need not be smooth: how many facts of a play agree goes up and down in steps. No chance is in it.

use std::collections::BTreeMap;

/// Points of a grid.
const POINTS: i64 = 9;

/// A coordinate: where it begins, and its bounds, which hold that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Coordinate {
    pub(crate) begin: i64,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

/// How far the search goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Places at most that are tried.
    pub(crate) tries: usize,
    /// The finest distance of two points of a grid.
    pub(crate) finest: i64,
}

/// What a search has found.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Found<S> {
    /// The best place.
    pub(crate) place: Vec<i64>,
    /// How good it is.
    pub(crate) score: S,
    /// How good the first place is.
    pub(crate) first: S,
    /// How good the best place is with each coordinate where it began; none where it has not moved.
    pub(crate) without: Vec<Option<S>>,
    /// How many places were tried, those of `without` among them.
    pub(crate) tries: usize,
}

/// Searches; `score` says how good each of some places is, the higher the better. Of equal places the one that was found first stays, which
/// is nearest to the beginning.
pub(crate) fn search<S: Clone + PartialOrd>(
    coordinates: &[Coordinate],
    limits: Limits,
    score: impl Fn(&[Vec<i64>]) -> Vec<S>,
) -> Found<S> {
    let mut tried = Tried { known: BTreeMap::new(), score };
    let begin: Vec<i64> = coordinates.iter().map(|of| of.begin).collect();
    let first = tried.scores(std::slice::from_ref(&begin)).remove(0);
    let (mut place, mut best) = (begin.clone(), first.clone());
    let mut bounds: Vec<(i64, i64)> = coordinates.iter().map(|of| (of.from, of.to)).collect();
    loop {
        let is_open = |(from, to): &(i64, i64)| (to - from) / (POINTS - 1) >= limits.finest;
        if !bounds.iter().any(is_open) {
            break;
        }
        for at in (0..place.len()).filter(|at| is_open(&bounds[*at])).collect::<Vec<_>>() {
            let (from, to) = bounds[at];
            let step = (to - from) / (POINTS - 1);
            let on_grid = (0..POINTS).map(|point| if point + 1 == POINTS { to } else { from + point * step });
            let with = |value: i64| {
                let mut other = place.clone();
                other[at] = value;
                other
            };
            let mut grid: Vec<Vec<i64>> = on_grid.filter(|value| *value != place[at]).map(with).collect();
            // The nearest first: where others are no better, it stays near.
            grid.sort_by_key(|other| (other[at].abs_diff(place[at]), other[at]));
            grid.truncate(limits.tries.saturating_sub(tried.known.len()));
            let scores = tried.scores(&grid);
            for (other, score) in grid.into_iter().zip(scores) {
                if score > best {
                    (place, best) = (other, score);
                }
            }
            let Coordinate { from, to, .. } = coordinates[at];
            bounds[at] = ((place[at] - step).max(from), (place[at] + step).min(to));
        }
        if tried.known.len() >= limits.tries {
            break;
        }
    }
    let with_begin = |at: usize| {
        let mut other = place.clone();
        other[at] = begin[at];
        (other != place).then_some(other)
    };
    let without: Vec<Option<Vec<i64>>> = (0..place.len()).map(with_begin).collect();
    let asked: Vec<Vec<i64>> = without.iter().flatten().cloned().collect();
    let mut scores = tried.scores(&asked).into_iter();
    let without = without.iter().map(|other| other.as_ref().and_then(|_| scores.next())).collect();
    Found { place, score: best, first, without, tries: tried.known.len() }
}

/// The places that have been tried.
struct Tried<S, F> {
    known: BTreeMap<Vec<i64>, S>,
    score: F,
}

impl<S: Clone, F: Fn(&[Vec<i64>]) -> Vec<S>> Tried<S, F> {
    /// How good places are; none is tried twice.
    fn scores(&mut self, places: &[Vec<i64>]) -> Vec<S> {
        let mut new: Vec<Vec<i64>> = places.iter().filter(|place| !self.known.contains_key(*place)).cloned().collect();
        new.sort();
        new.dedup();
        let scores = (self.score)(&new);
        self.known.extend(new.into_iter().zip(scores));
        places.iter().map(|place| self.known[place].clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn coordinate(begin: i64, from: i64, to: i64) -> Coordinate {
        Coordinate { begin, from, to }
    }

    #[test]
    fn the_best_place_of_steps_is_found_and_what_each_coordinate_is_worth() {
        let tries = Cell::new(0);
        let score = |places: &[Vec<i64>]| {
            tries.set(tries.get() + places.len());
            let one =
                |place: &Vec<i64>| i64::from((36_000..=44_000).contains(&place[0])) * 5 - (place[1] / 1000 - 7).abs();
            places.iter().map(one).collect()
        };
        let coordinates = [coordinate(30_000, 0, 60_000), coordinate(0, 0, 10_000), coordinate(5, 5, 5)];
        let found = search(&coordinates, Limits { tries: 200, finest: 100 }, score);
        assert_eq!((found.score, found.first), (5, -7));
        assert!((36_000..=44_000).contains(&found.place[0]) && found.place[1] / 1000 == 7, "{:?}", found.place);
        assert_eq!(found.without, [Some(0), Some(-2), None]);
        assert!(found.tries == tries.get() && found.tries <= 202, "{}", found.tries);
    }

    #[test]
    fn what_changes_nothing_stays_where_it_began() {
        let found =
            search(&[coordinate(3000, 0, 9000)], Limits { tries: 50, finest: 100 }, |places| vec![0; places.len()]);
        assert_eq!((found.place, found.without), (vec![3000], vec![None]));
    }

    #[test]
    fn it_ends_after_as_many_tries_as_it_may_have() {
        let score = |places: &[Vec<i64>]| places.iter().map(|place| place.iter().sum::<i64>()).collect();
        let coordinates = [coordinate(0, 0, 1_000_000); 4];
        let found = search(&coordinates, Limits { tries: 12, finest: 1 }, score);
        assert!(found.tries <= 12 + 4 && found.score > 0, "{found:?}");
    }
}
