//! How many nodes pods need by what they ask for alone, wherever the scheduler puts them.
//!
//! Nodes of one kind are counted, not listed, so that it costs little to look at thousands of them.

/// Pods that ask for the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pods {
    /// What each asks for, by resource.
    pub(super) need: Vec<i64>,
    /// How many.
    pub(super) count: u64,
    /// On which kinds of nodes they may stand.
    pub(super) allowed: Vec<bool>,
}

impl Pods {
    /// How many of them one node of a kind takes that has so much left.
    fn fit(&self, kind: usize, free: &[i64]) -> u64 {
        if !self.allowed[kind] {
            return 0;
        }
        let each = self.need.iter().zip(free).filter(|(need, _)| **need > 0);
        let fit = each.map(|(need, free)| (free / need).max(0)).min().unwrap_or(i64::MAX);
        fit.unsigned_abs()
    }

    /// Whether they ask for at least as much as others of everything, and may stand nowhere where those may not.
    fn dominate(&self, other: &Self) -> bool {
        let at_least = self.need.iter().zip(&other.need).all(|(one, other)| one >= other);
        at_least && self.allowed.iter().zip(&other.allowed).all(|(one, other)| *other || !*one)
    }
}

/// Whether pods cannot all stand on so many nodes of each kind, whatever decides where: a necessary condition fails.
///
/// Of each resource the nodes must give what is asked for. And pods that ask for at least as much as some must find as many places of
/// that size: a node of two CPUs is one place for pods of more than one, whatever it gives in all.
///
/// # Source
///
/// Both bound vector packing from below: Martello and Toth, Knapsack Problems (1990), chapter 8; Caprara and Toth, Lower bounds and
/// algorithms for the 2-dimensional vector packing problem, Discrete Applied Mathematics 111 (2001).
pub(super) fn is_too_little(pods: &[Pods], gives: &[Vec<i64>], nodes: &[u64]) -> bool {
    let resources = gives.first().map_or(0, Vec::len);
    let sum = |resource: usize| -> i128 {
        gives.iter().zip(nodes).map(|(of, count)| i128::from(of[resource].max(0)) * i128::from(*count)).sum()
    };
    let wanted =
        |resource: usize| -> i128 { pods.iter().map(|of| i128::from(of.need[resource]) * i128::from(of.count)).sum() };
    if (0..resources).any(|resource| sum(resource) < wanted(resource)) {
        return true;
    }
    pods.iter().any(|size| {
        let large: u64 = pods.iter().filter(|other| other.dominate(size)).map(|other| other.count).sum();
        let places = gives
            .iter()
            .zip(nodes)
            .enumerate()
            .map(|(kind, (of, count))| u128::from(size.fit(kind, of)) * u128::from(*count));
        places.sum::<u128>() < u128::from(large)
    })
}

/// In which order nodes are filled.
#[derive(Copy, Clone, Debug)]
enum Filling {
    AsGiven,
    LeastFirst,
    MostFirst,
}

/// Whether a packing of all pods on so many nodes of each kind is found: largest pods first, each on the first node that takes it. What
/// is found exists; what is not found may.
///
/// # Source
///
/// First fit decreasing: Johnson, Near-optimal bin packing algorithms, PhD thesis, MIT (1973).
pub(super) fn is_packed(pods: &[Pods], gives: &[Vec<i64>], nodes: &[u64]) -> bool {
    let resources = gives.first().map_or(0, Vec::len);
    let all: Vec<f64> = (0..resources)
        .map(|resource| gives.iter().zip(nodes).map(|(of, count)| of[resource] as f64 * *count as f64).sum::<f64>())
        .collect();
    let share = |amount: &[i64]| {
        amount.iter().zip(&all).filter(|(_, all)| **all > 0.0).map(|(of, all)| *of as f64 / all).fold(0.0, f64::max)
    };
    let mut by_size: Vec<&Pods> = pods.iter().collect();
    by_size.sort_by(|a, b| share(&b.need).total_cmp(&share(&a.need)));
    let mut choosy = by_size.clone();
    // A stable sort: of those with equal choice the largest first.
    choosy.sort_by_key(|of| of.allowed.iter().filter(|allowed| **allowed).count());
    let fillings = [Filling::AsGiven, Filling::LeastFirst, Filling::MostFirst];
    [choosy, by_size].iter().any(|order| {
        fillings.iter().any(|filling| {
            let mut kinds: Vec<usize> = (0..gives.len()).collect();
            match filling {
                Filling::AsGiven => {}
                Filling::LeastFirst => kinds.sort_by(|a, b| share(&gives[*a]).total_cmp(&share(&gives[*b]))),
                Filling::MostFirst => kinds.sort_by(|a, b| share(&gives[*b]).total_cmp(&share(&gives[*a]))),
            }
            fill(order, gives, nodes, &kinds)
        })
    })
}

/// Nodes of a kind that have the same left.
struct Alike {
    kind: usize,
    count: u64,
    free: Vec<i64>,
}

/// Whether all pods find a place if each takes the first node that has one.
fn fill(order: &[&Pods], gives: &[Vec<i64>], nodes: &[u64], kinds: &[usize]) -> bool {
    let mut groups: Vec<Alike> = kinds
        .iter()
        .filter(|kind| nodes[**kind] > 0)
        .map(|&kind| Alike { kind, count: nodes[kind], free: gives[kind].clone() })
        .collect();
    for pods in order {
        let mut left = pods.count;
        let mut filled = Vec::with_capacity(groups.len() + 2);
        for group in groups {
            let each = pods.fit(group.kind, &group.free);
            if left == 0 || each == 0 {
                filled.push(group);
                continue;
            }
            let taken = |count: u64| -> Vec<i64> {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                group.free.iter().zip(&pods.need).map(|(free, need)| free - need * count).collect()
            };
            // Whole nodes first, then one that takes the rest.
            let whole = (left / each).min(group.count);
            if whole > 0 {
                filled.push(Alike { kind: group.kind, count: whole, free: taken(each) });
                left -= whole * each;
            }
            let mut untouched = group.count - whole;
            if left > 0 && untouched > 0 {
                filled.push(Alike { kind: group.kind, count: 1, free: taken(left) });
                (left, untouched) = (0, untouched - 1);
            }
            if untouched > 0 {
                filled.push(Alike { kind: group.kind, count: untouched, free: group.free });
            }
        }
        if left > 0 {
            return false;
        }
        groups = filled;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pods(need: &[i64], count: u64) -> Pods {
        Pods { need: need.to_vec(), count, allowed: vec![true, true] }
    }

    /// Whether each pod can be put somewhere, by trying everything.
    fn can_stand(left: &[(Vec<i64>, Vec<bool>)], free: &mut [(usize, Vec<i64>)]) -> bool {
        let Some(((need, allowed), rest)) = left.split_first() else { return true };
        for node in 0..free.len() {
            let (kind, of) = &free[node];
            if !allowed[*kind] || of.iter().zip(need).any(|(free, need)| free < need) {
                continue;
            }
            free[node].1.iter_mut().zip(need).for_each(|(free, need)| *free -= need);
            let stands = can_stand(rest, free);
            free[node].1.iter_mut().zip(need).for_each(|(free, need)| *free += need);
            if stands {
                return true;
            }
        }
        false
    }

    #[test]
    fn places_are_counted_by_size_and_not_by_sum_alone() {
        let gives = [vec![2000, 100], vec![4000, 100]];
        let six = [pods(&[3000, 1], 2), pods(&[700, 1], 4)];
        // 8.8 CPUs fit into ten, but the pods of three need nodes of four.
        assert!(!is_too_little(&six, &gives, &[1, 2]) && is_too_little(&six, &gives, &[3, 1]));
        assert!(is_too_little(&six, &gives, &[0, 2]));
        assert!(is_packed(&six, &gives, &[1, 2]) && is_packed(&six, &gives, &[0, 3]));
        // Three of 1.5 on two nodes of two: 4.5 of 4 by sum, two places by size.
        assert!(is_too_little(&[pods(&[1500, 1], 3)], &gives, &[2, 0]));
        assert!(is_too_little(&[pods(&[1100, 1], 3)], &gives, &[2, 0]));
    }

    #[test]
    fn bounds_enclose_what_trying_everything_finds() {
        let mut stream = crate::engine::Streams::new(7).stream("packing", "");
        let mut draw = |below: u64| (stream.unit() * below as f64) as u64;
        let (mut possible, mut open) = (0, 0);
        for _ in 0..400 {
            let gives: Vec<Vec<i64>> = (0..2).map(|_| vec![4 + draw(8) as i64, 4 + draw(8) as i64]).collect();
            let nodes = [draw(3), draw(3)];
            let sizes: Vec<Pods> = (0..3)
                .map(|_| Pods {
                    need: vec![draw(6) as i64, draw(6) as i64],
                    count: draw(3),
                    allowed: vec![draw(5) > 0, draw(5) > 0],
                })
                .collect();
            let single = |of: &Pods| vec![(of.need.clone(), of.allowed.clone()); of.count as usize];
            let all: Vec<_> = sizes.iter().flat_map(single).collect();
            let mut free: Vec<(usize, Vec<i64>)> =
                (0..2).flat_map(|kind| vec![(kind, gives[kind].clone()); nodes[kind] as usize]).collect();
            let stands = can_stand(&all, &mut free);
            let (none, some) = (is_too_little(&sizes, &gives, &nodes), is_packed(&sizes, &gives, &nodes));
            assert!(!(none && stands), "{sizes:?} on {nodes:?} of {gives:?} can stand");
            assert!(!some || stands, "{sizes:?} on {nodes:?} of {gives:?} cannot stand");
            possible += u32::from(stands);
            open += u32::from(!none && !some);
        }
        // Neither says nothing.
        assert!((80..320).contains(&possible) && open < 40, "{possible} possible, {open} open");
    }
}
