//! Which incidents of a kind are played where there are too many: of nodes those that touch everybody, the rarest first.

use std::collections::{BTreeMap, BTreeSet};

use super::incident::{Incident, IncidentKind};
use super::units::Units;
use crate::arena::Symbol;
use crate::observe::WorkloadKey;
use crate::state::Store;

/// Incidents of one kind that are played.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    /// Their positions, in the order of the catalogue.
    pub(super) positions: Vec<usize>,
    /// Of each that stands for others, too: for how many incidents that touch a unit it stands, by the unit. Nothing where all are
    /// played.
    pub(super) weights: BTreeMap<usize, BTreeMap<usize, f64>>,
}

/// Whom each node has pods of.
#[derive(Debug)]
pub(super) struct Touched {
    by_node: BTreeMap<Symbol, BTreeSet<usize>>,
}

impl Touched {
    pub(super) fn of(store: &Store, units: &Units) -> Self {
        let mut by_node: BTreeMap<Symbol, BTreeSet<usize>> = BTreeMap::new();
        for (_, pod) in store.pods() {
            let Some(node) = pod.node.filter(|node| store.node(*node).is_some()) else { continue };
            let path = WorkloadKey::of_pod(pod, store).to_string();
            let of = units.of_workload.get(&path).into_iter().flatten().copied();
            by_node.entry(store.node_name(node)).or_default().extend(of);
        }
        Self { by_node }
    }

    /// Chooses so many incidents of a kind at most.
    ///
    /// Of what happens to a single node, those that touch whom nothing chosen touches yet, the rarest first: whose pods are on one
    /// node is hurt by that alone. When everybody is touched it begins anew. Of all else, the first.
    pub(super) fn choose(&self, incidents: &[Incident], kind: IncidentKind, most: usize) -> Chosen {
        let all: Vec<usize> = (0..incidents.len()).filter(|index| incidents[*index].kind == kind).collect();
        if all.len() <= most {
            return Chosen { positions: all, weights: BTreeMap::new() };
        }
        let touched: Vec<BTreeSet<usize>> = all.iter().map(|&index| self.by(&incidents[index])).collect();
        if touched.iter().all(BTreeSet::is_empty) {
            return Chosen { positions: all[..most].to_vec(), weights: BTreeMap::new() };
        }
        let counts = |chosen: &mut dyn Iterator<Item = usize>| {
            let mut counts: BTreeMap<usize, f64> = BTreeMap::new();
            for at in chosen {
                for unit in &touched[at] {
                    *counts.entry(*unit).or_default() += incidents[all[at]].alike as f64;
                }
            }
            counts
        };
        let of_all = counts(&mut (0..all.len()));
        let taken = cover(&touched, &of_all, most);
        let of_taken = counts(&mut taken.iter().copied());
        let weight = |unit: &usize| (*unit, of_all[unit] / of_taken[unit]);
        let weights = taken.iter().map(|&at| (all[at], touched[at].iter().map(weight).collect())).collect();
        Chosen { positions: taken.into_iter().map(|at| all[at]).collect(), weights }
    }

    fn by(&self, incident: &Incident) -> BTreeSet<usize> {
        incident.nodes.first().and_then(|node| self.by_node.get(node)).cloned().unwrap_or_default()
    }
}

/// The positions of so many sets that hold as much as possible of everything, ascending.
fn cover(sets: &[BTreeSet<usize>], counts: &BTreeMap<usize, f64>, most: usize) -> Vec<usize> {
    let mut missing: BTreeSet<usize> = BTreeSet::new();
    let mut left: BTreeSet<usize> = (0..sets.len()).collect();
    let mut taken = Vec::new();
    while taken.len() < most && !left.is_empty() {
        if missing.is_empty() {
            missing = counts.keys().copied().collect();
        }
        let gain =
            |at: usize| sets[at].intersection(&missing).map(|unit| 1.0 / counts[unit]).fold(0.0, |sum, of| sum + of);
        let best = left.iter().map(|&at| (gain(at), at)).max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((gained, at)) = best else { break };
        if gained == 0.0 {
            // Those who are missing are on no node that is left.
            missing = counts.keys().copied().collect();
        }
        left.remove(&at);
        missing.retain(|unit| !sets[at].contains(unit));
        taken.push(at);
    }
    taken.sort_unstable();
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimDuration;

    fn drains(count: usize) -> Vec<Incident> {
        let drain = |at: usize| {
            let node = format!("node-{at}");
            let mut incident =
                Incident::new(IncidentKind::Drain, &node, node.clone(), SimDuration::from_secs(1), Vec::new());
            incident.nodes = vec![Symbol::new(&node)];
            incident
        };
        (0..count).map(drain).collect()
    }

    fn touched(of: &[&[usize]]) -> Touched {
        let by_node = of
            .iter()
            .enumerate()
            .map(|(at, units)| (Symbol::new(&format!("node-{at}")), units.iter().copied().collect()));
        Touched { by_node: by_node.collect() }
    }

    #[test]
    fn whose_pods_are_on_one_node_is_touched_first_and_stands_for_nobody_else() {
        let touched = touched(&[&[0], &[0], &[0, 1], &[0], &[0, 2]]);
        let chosen = touched.choose(&drains(5), IncidentKind::Drain, 2);
        assert_eq!(chosen.positions, [2, 4]);
        assert_eq!(chosen.weights[&2], BTreeMap::from([(0, 2.5), (1, 1.0)]));
        assert_eq!(chosen.weights[&4], BTreeMap::from([(0, 2.5), (2, 1.0)]));
    }

    #[test]
    fn where_there_are_few_all_are_played_and_none_stands_for_another() {
        let chosen = touched(&[&[0], &[0]]).choose(&drains(2), IncidentKind::Drain, 2);
        assert_eq!((chosen.positions, chosen.weights.len()), (vec![0, 1], 0));
        assert_eq!(touched(&[]).choose(&drains(3), IncidentKind::Drain, 2).positions, [0, 1], "nobody is touched");
    }
}
