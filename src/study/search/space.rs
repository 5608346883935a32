//! The points that a search may play: every combination of the values of what is varied.

use std::collections::{BTreeMap, BTreeSet};

use super::lattice::Lattice;

/// Points up to which each is looked at when the best is looked for; of more some are, and what lies around the best of these.
const LOOKED_AT_MAX: usize = 5000;
/// Of more points those that are looked at first.
const SCATTERED: usize = 2000;
/// And of these the ones from which better ones are looked for.
const CLIMBED: usize = 12;

/// Values of a range, and the share of it that they span, which tell that it makes no difference.
const TOLD_BY: usize = 3;
const TOLD_OVER: f64 = 0.5;

/// A combination: the position of the value of each thing that is varied.
pub(in crate::study) type Point = Vec<usize>;

/// The same; nothing where the scenario is left as it is and has none of these values.
pub(super) type Choice = Vec<Option<usize>>;

/// The point that a choice is; none if something is left as it is.
pub(super) fn point_of(choice: &[Option<usize>]) -> Option<Point> {
    choice.iter().copied().collect()
}

/// A point as a choice.
pub(super) fn choice_of(point: &[usize]) -> Choice {
    point.iter().copied().map(Some).collect()
}

/// What is varied, and how.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::study) struct Space {
    /// Where the values of each lie between the ends of its range; none of what is listed, whose values have no order.
    places: Vec<Option<Vec<f64>>>,
    /// How many values each has.
    counts: Vec<usize>,
}

impl Space {
    /// That of axes with as many values each.
    pub(in crate::study) fn new<'a>(axes: impl Iterator<Item = (usize, Option<&'a Lattice>)>) -> Self {
        let (counts, places) = axes.map(|(count, range)| (count, range.map(Lattice::places))).unzip();
        Self { places, counts }
    }

    /// That of places and counts which have been worked out.
    pub(super) fn of(places: Vec<Option<Vec<f64>>>, counts: Vec<usize>) -> Self {
        Self { places, counts }
    }

    /// How many points there are; none if they are too many to be numbered.
    pub(in crate::study) fn size(&self) -> Option<usize> {
        self.counts.iter().try_fold(1_usize, |product, count| product.checked_mul(*count))
    }

    /// The number of a point: its position among all, the last thing that is varied the fastest.
    pub(in crate::study) fn number(&self, point: &[usize]) -> usize {
        point.iter().zip(&self.counts).fold(0, |number, (at, count)| number * count + at)
    }

    /// The number of a choice: that of its point, or one behind those of all points and that of the scenario as it is; none if it is too large.
    pub(super) fn number_of(&self, choice: &[Option<usize>]) -> Option<usize> {
        if let Some(point) = point_of(choice) {
            return Some(self.number(&point));
        }
        let next = |number: usize, (at, count): (&Option<usize>, &usize)| {
            number.checked_mul(count.checked_add(1)?)?.checked_add(at.unwrap_or(*count))
        };
        let number = choice.iter().zip(&self.counts).try_fold(0, next)?;
        self.size()?.checked_add(1)?.checked_add(number)
    }

    /// Whether things that are varied have no order.
    pub(super) fn is_category(&self) -> Vec<bool> {
        self.places.iter().map(Option::is_none).collect()
    }

    /// Where a point lies, but for what makes no difference: there all points lie alike.
    pub(super) fn coordinates(&self, point: &[usize], inert: &[bool]) -> Vec<f64> {
        let of = |(axis, (at, inert)): (usize, (&usize, &bool))| if *inert { 0.0 } else { self.coordinate(axis, *at) };
        point.iter().zip(inert).enumerate().map(of).collect()
    }

    /// Where a value lies between the ends of its range; of what is listed its position.
    pub(super) fn coordinate(&self, axis: usize, at: usize) -> f64 {
        self.places[axis].as_ref().map_or(at as f64, |places| places[at])
    }

    /// Ranges that have made no difference: all points that are the same but for these are alike, and some of them are [`TOLD_BY`] values that
    /// span [`TOLD_OVER`] of the range.
    pub(super) fn inert(&self, points: &[&[usize]], is_alike: &dyn Fn(usize, usize) -> bool) -> Vec<bool> {
        let mut inert = vec![false; self.counts.len()];
        for axis in 0..inert.len() {
            let Some(range) = &self.places[axis] else { continue };
            inert[axis] = true;
            let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
            for (index, point) in points.iter().enumerate() {
                let others = point.iter().zip(&inert).filter(|(_, inert)| !**inert).map(|(at, _)| *at).collect();
                groups.entry(others).or_default().push(index);
            }
            let is_told = |group: &Vec<usize>| {
                let values: BTreeSet<usize> = group.iter().map(|index| points[*index][axis]).collect();
                let ends = values.first().zip(values.last());
                values.len() >= TOLD_BY && ends.is_some_and(|(from, to)| range[*to] - range[*from] >= TOLD_OVER)
            };
            let are_alike = |group: &Vec<usize>| group[1..].iter().all(|index| is_alike(group[0], *index));
            inert[axis] = groups.values().any(is_told) && groups.values().all(are_alike);
        }
        inert
    }

    /// Points from which a search begins: the values of each range are spread evenly from end to end and go with those of others in an
    /// order without a pattern, and the middle.
    ///
    /// # Source
    ///
    /// McKay, Beckman and Conover, A comparison of three methods for selecting values of input variables in the analysis of output from a
    /// computer code, Technometrics 21 (1979); the order is that of Halton's sequence (Numerische Mathematik 2, 1960).
    pub(in crate::study) fn begin(&self) -> Vec<Point> {
        let listed = self.counts.iter().zip(&self.places).filter(|(_, places)| places.is_none());
        let most = listed.map(|(count, _)| *count).max().unwrap_or(0);
        let count = (2 + 3 * self.counts.len()).max(2 * most);
        let of = |axis: usize| -> Vec<usize> {
            let mut order: Vec<usize> = (0..count).collect();
            let halton: Vec<f64> = (1..=count).map(|index| radical_inverse(index, prime(axis))).collect();
            order.sort_by(|a, b| halton[*a].total_cmp(&halton[*b]));
            let mut ranks = vec![0; count];
            order.into_iter().enumerate().for_each(|(rank, index)| ranks[index] = rank);
            let last = self.counts[axis] - 1;
            let level = |rank: usize| match self.places[axis] {
                Some(_) => (rank * last * 2 + count - 1) / (2 * (count - 1)),
                None => rank * self.counts[axis] / count,
            };
            ranks.into_iter().map(level).collect()
        };
        let columns: Vec<Vec<usize>> = (0..self.counts.len()).map(of).collect();
        let mut points: Vec<Point> =
            (0..count).map(|index| columns.iter().map(|column| column[index]).collect()).collect();
        let middle = |(count, places): (&usize, &Option<Vec<f64>>)| if places.is_some() { (count - 1) / 2 } else { 0 };
        points.push(self.counts.iter().zip(&self.places).map(middle).collect());
        let mut begin: Vec<Point> = Vec::new();
        points.into_iter().for_each(|point| {
            if !begin.contains(&point) {
                begin.push(point)
            }
        });
        begin
    }

    /// The point with the highest score, and that; none if nothing may be chosen. Of equal ones the one with the lowest number.
    pub(super) fn best(&self, score: &dyn Fn(&Point) -> Option<f64>, near: &[Point]) -> Option<(Point, f64)> {
        let is_better = |one: &(Point, f64), other: &(Point, f64)| {
            one.1 > other.1 || one.1 == other.1 && self.number(&one.0) < self.number(&other.0)
        };
        let scored = |point: Point| score(&point).map(|score| (point, score));
        let best_of = |all: &mut dyn Iterator<Item = Point>| {
            all.filter_map(&scored).fold(None, |best: Option<(Point, f64)>, next| match best {
                Some(best) if !is_better(&next, &best) => Some(best),
                _ => Some(next),
            })
        };
        if self.size().is_some_and(|size| size <= LOOKED_AT_MAX) {
            return best_of(&mut (0..self.size().unwrap_or(0)).map(|number| self.point(number)));
        }
        let scattered = (1..=SCATTERED).map(|index| self.scattered(index));
        let around = near.iter().flat_map(|point| self.neighbours(point)).chain(near.iter().cloned());
        let mut found: Vec<(Point, f64)> = scattered.chain(around).filter_map(&scored).collect();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(self.number(&a.0).cmp(&self.number(&b.0))));
        found.dedup_by(|a, b| a.0 == b.0);
        found.truncate(CLIMBED);
        let climbed = found.into_iter().map(|mut place| {
            while let Some(next) = best_of(&mut self.neighbours(&place.0).into_iter()).filter(|next| next.1 > place.1) {
                place = next;
            }
            place
        });
        climbed.reduce(|best, next| if is_better(&next, &best) { next } else { best })
    }

    fn point(&self, mut number: usize) -> Point {
        let mut point: Point = self
            .counts
            .iter()
            .rev()
            .map(|count| {
                let at = number % count;
                number /= count;
                at
            })
            .collect();
        point.reverse();
        point
    }

    pub(super) fn scattered(&self, index: usize) -> Point {
        let of = |(axis, count): (usize, &usize)| {
            let at = radical_inverse(index, prime(axis)) * *count as f64;
            (at as usize).min(count - 1)
        };
        self.counts.iter().enumerate().map(of).collect()
    }

    /// Points that differ in one thing: the next value and some that are farther away, or any other one of what has no order.
    fn neighbours(&self, point: &Point) -> Vec<Point> {
        let mut found = Vec::new();
        for (axis, count) in self.counts.iter().enumerate() {
            let levels: Vec<usize> = match self.places[axis] {
                None => (0..*count).collect(),
                Some(_) => {
                    let steps = [1, 3, 8].into_iter();
                    steps.flat_map(|step| [point[axis].checked_sub(step), Some(point[axis] + step)]).flatten().collect()
                }
            };
            for level in levels.into_iter().filter(|level| level < count && *level != point[axis]) {
                let mut other = point.clone();
                other[axis] = level;
                found.push(other);
            }
        }
        found
    }

    /// Every point that differs from one in this thing alone, and that one.
    pub(super) fn along(&self, point: &[usize], axis: usize) -> Vec<Point> {
        let with = |level: usize| {
            let mut other = point.to_vec();
            other[axis] = level;
            other
        };
        (0..self.counts[axis]).map(with).collect()
    }
}

/// The digits of a number behind the point, in the other order.
fn radical_inverse(mut index: usize, base: usize) -> f64 {
    let (mut value, mut unit) = (0.0, 1.0 / base as f64);
    while index > 0 {
        value += (index % base) as f64 * unit;
        index /= base;
        unit /= base as f64;
    }
    value
}

/// A prime number for each thing that is varied.
fn prime(axis: usize) -> usize {
    const PRIMES: [usize; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    PRIMES[axis % PRIMES.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(counts: &[usize]) -> Space {
        let even = |count: &usize| Some((0..*count).map(|at| at as f64 / (*count - 1) as f64).collect());
        Space::of(counts.iter().map(even).collect(), counts.to_vec())
    }

    #[test]
    fn a_search_begins_at_the_ends_and_between() {
        let mut begin = space(&[61]).begin();
        begin.sort();
        assert_eq!(begin, [[0], [15], [30], [45], [60]]);
        let begin = space(&[33, 65]).begin();
        assert_eq!(begin.len(), 9);
        for (axis, last) in [(0, 32), (1, 64)] {
            let levels: Vec<usize> = begin.iter().map(|point| point[axis]).collect();
            assert!(levels.contains(&0) && levels.contains(&last) && levels.contains(&(last / 2)), "{levels:?}");
        }
        // As many values as there are points: each once.
        assert_eq!(space(&[2]).begin().len(), 2);
    }

    #[test]
    fn every_listed_value_is_played_to_begin_with() {
        let mixed = Space::of(vec![None, Some(vec![0.0, 0.5, 1.0])], vec![7, 3]);
        let begin = mixed.begin();
        assert!((0..7).all(|value| begin.iter().any(|point| point[0] == value)), "{begin:?}");
    }

    #[test]
    fn a_range_that_makes_no_difference_is_told_by_points_that_differ_in_it_alone() {
        let mixed = Space::of(vec![None, Some(vec![0.0, 0.25, 0.5, 0.75, 1.0])], vec![2, 5]);
        let points: [&[usize]; 6] = [&[0, 0], &[0, 2], &[0, 3], &[1, 1], &[1, 4], &[1, 2]];
        assert_eq!(mixed.inert(&points, &|_, _| true), [false, true]);
        // A difference anywhere, or too few of them, or all of them near each other.
        assert_eq!(mixed.inert(&points, &|one, other| (one, other) != (3, 5)), [false, false]);
        assert_eq!(mixed.inert(&points[3..5], &|_, _| true), [false, false]);
        assert_eq!(mixed.inert(&[&[0, 0], &[0, 1], &[1, 4]], &|_, _| true), [false, false]);
    }

    #[test]
    fn points_have_numbers_and_are_found_by_them() {
        let space = space(&[3, 4, 5]);
        assert_eq!(space.size(), Some(60));
        assert!((0..60).all(|number| space.number(&space.point(number)) == number));
        assert_eq!(space.number(&[0, 0, 1]), 1);
    }

    #[test]
    fn the_best_of_many_points_is_found_though_not_all_are_looked_at() {
        let space = space(&[65, 65, 65, 65]);
        let wanted = [7, 50, 33, 61];
        let score = |point: &Point| {
            let apart: f64 = point.iter().zip(wanted).map(|(at, to)| (*at as f64 - f64::from(to)).abs()).sum();
            Some(-apart)
        };
        assert_eq!(space.best(&score, &[]), Some((wanted.map(|at| at as usize).to_vec(), 0.0)));
        assert_eq!(space.best(&|_| None, &[]), None);
    }
}
