//! Two sequences in the order of time, paired.

/// What a pair costs. Sums of a million pairs do not overflow.
pub(super) type Cost = u128;

/// Pairs that are compared at most; beyond that each takes the nearest that is left.
const CELLS_MAX: usize = 1 << 25;

/// Pairs the places of two sequences: all of the shorter one, in order, at the least cost altogether. Of equal ways the one that pairs
/// earlier places of the longer one.
pub(super) fn in_order(lengths: (usize, usize), cost: impl Fn(usize, usize) -> Cost) -> Vec<(usize, usize)> {
    if lengths.0 <= lengths.1 {
        return shorter_first(lengths, cost);
    }
    let turned = shorter_first((lengths.1, lengths.0), |short, long| cost(long, short));
    turned.into_iter().map(|(short, long)| (long, short)).collect()
}

fn shorter_first((short, long): (usize, usize), cost: impl Fn(usize, usize) -> Cost) -> Vec<(usize, usize)> {
    let width = long - short + 1;
    if short.saturating_mul(width) > CELLS_MAX { nearest((short, width), cost) } else { cheapest((short, width), cost) }
}

/// The place of the shorter one with number `i` is paired with that of number `i + skipped`, `skipped` being below `width` and never
/// falling.
fn cheapest((short, width): (usize, usize), cost: impl Fn(usize, usize) -> Cost) -> Vec<(usize, usize)> {
    let mut best: Vec<Cost> = vec![0; width];
    // Whether the cheapest way to a cell comes from the one that skips one fewer.
    let mut is_skip = vec![false; short * width];
    for place in 0..short {
        for skipped in 0..width {
            let paired = best[skipped].saturating_add(cost(place, place + skipped));
            let is_cheaper = skipped > 0 && best[skipped - 1] <= paired;
            best[skipped] = if is_cheaper { best[skipped - 1] } else { paired };
            is_skip[place * width + skipped] = is_cheaper;
        }
    }
    let mut pairs = Vec::with_capacity(short);
    let mut skipped = width - 1;
    for place in (0..short).rev() {
        while is_skip[place * width + skipped] {
            skipped -= 1;
        }
        pairs.push((place, place + skipped));
    }
    pairs.reverse();
    pairs
}

/// As long as the next one is nearer, one more is skipped.
fn nearest((short, width): (usize, usize), cost: impl Fn(usize, usize) -> Cost) -> Vec<(usize, usize)> {
    let mut skipped = 0;
    let pair = |place: usize| {
        while skipped + 1 < width && cost(place, place + skipped + 1) < cost(place, place + skipped) {
            skipped += 1;
        }
        (place, place + skipped)
    };
    (0..short).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(one: &[u64], other: &[u64]) -> Vec<(usize, usize)> {
        in_order((one.len(), other.len()), |i, j| one[i].abs_diff(other[j]).into())
    }

    #[test]
    fn all_of_the_shorter_one_are_paired_in_order() {
        assert_eq!(of(&[], &[1]), []);
        assert_eq!(of(&[100], &[3, 99, 400]), [(0, 1)]);
        assert_eq!(of(&[3, 99, 400], &[100]), [(1, 0)]);
        assert_eq!(of(&[10, 20], &[9, 11, 21]), [(0, 0), (1, 2)]);
        // Each for itself would take the second.
        assert_eq!(of(&[10, 11], &[0, 10, 50]), [(0, 0), (1, 1)]);
    }

    /// The least cost of all ways, each of which is tried.
    fn least(short: &[u64], long: &[u64]) -> u64 {
        match (short.split_first(), long.split_first()) {
            (None, _) => 0,
            (Some(_), None) => u64::MAX / 2,
            (Some((first, rest)), Some((other, others))) => {
                (first.abs_diff(*other) + least(rest, others)).min(least(short, others))
            }
        }
    }

    proptest! {
        #[test]
        fn no_other_way_is_cheaper(
            mut one in prop::collection::vec(0_u64..50, 0..6),
            mut other in prop::collection::vec(0_u64..50, 0..9),
        ) {
            one.sort_unstable();
            other.sort_unstable();
            let pairs = of(&one, &other);
            prop_assert_eq!(pairs.len(), one.len().min(other.len()));
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
            let cost: u64 = pairs.iter().map(|(i, j)| one[*i].abs_diff(other[*j])).sum();
            let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
            prop_assert_eq!(cost, least(short, long));
        }

        #[test]
        fn who_takes_the_nearest_keeps_the_order(
            mut one in prop::collection::vec(0_u64..50, 1..6),
            mut other in prop::collection::vec(0_u64..50, 6..9),
        ) {
            one.sort_unstable();
            other.sort_unstable();
            let width = other.len() - one.len() + 1;
            let pairs = nearest((one.len(), width), |i, j| one[i].abs_diff(other[j]).into());
            prop_assert_eq!(pairs.len(), one.len());
            prop_assert!(pairs.windows(2).all(|two| two[0].1 < two[1].1));
            prop_assert!(pairs.iter().all(|pair| pair.1 < other.len()));
        }
    }
}
