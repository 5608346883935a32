//! One scheduling cycle: filter, score, choose.

use std::collections::BTreeMap;

use super::cache::{Cache, NodeInfo};
use super::framework::{Cycle, Rejection};
use super::message;
use super::profile::Profile;
use crate::state::{NodeId, PodId, Store};

/// A feasible node's scores by plugin, after normalization and weight.
#[derive(Clone, Debug, Default)]
pub struct NodeScore {
    /// By plugin.
    pub by_plugin: Vec<(&'static str, i64)>,
    /// Their sum.
    pub total: i64,
}

/// What a cycle decided, and why.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// The chosen node.
    pub node: Option<NodeId>,
    /// Nodes with the highest total; empty if nothing was scored.
    pub ties: Vec<NodeId>,
    /// Feasible nodes in the order in which they were found.
    pub feasible: Vec<NodeId>,
    /// Scores of the feasible nodes; empty if there is only one.
    pub scores: Vec<NodeScore>,
    /// Why other nodes were not feasible.
    pub filtered: BTreeMap<NodeId, Rejection>,
    /// Plugins that rejected it: their hints decide when it is tried again.
    pub rejectors: Vec<&'static str>,
    /// The text of FailedScheduling.
    pub message: Option<String>,
}

/// How many feasible nodes are enough.
///
/// # Source
/// kube-scheduler, `numFeasibleNodesToFind`: all of fewer than a hundred; else 50 % less 1 % for every 125 nodes, at
/// least 5 %, and at least a hundred.
pub(super) fn feasible_wanted(nodes: usize, percentage: i32) -> usize {
    const MIN: usize = 100;
    if nodes < MIN {
        return nodes;
    }
    let percentage = if percentage > 0 { percentage as usize } else { 50usize.saturating_sub(nodes / 125).max(5) };
    (nodes * percentage / 100).max(MIN).min(nodes)
}

pub(super) fn schedule(cache: &mut Cache, profile: &Profile, store: &Store, id: PodId) -> Decision {
    cache.refresh_order();
    let Some(pod) = store.pod(id) else { return Decision::default() };
    let node_count = cache.order().len();
    let mut decision = Decision::default();
    if node_count == 0 {
        decision.message = Some("no nodes available to schedule pods".to_owned());
        return decision;
    }
    for plugin in &profile.filters {
        plugin.prepare(pod, store, cache);
    }
    let cycle = Cycle::new(pod, cache, store);
    let looked_at = match pod.pinned_node {
        Some(node) => pinned(cache, profile, &cycle, node, &mut decision),
        None => search(cache, profile, &cycle, &mut decision),
    };
    if decision.feasible.is_empty() {
        decision.message = Some(message::unschedulable(&cycle, &decision, node_count, cache.version));
        decision.rejectors = rejectors(&decision, pod.pinned_node.is_some());
    } else if let [only] = decision.feasible.as_slice() {
        decision.node = Some(*only);
    } else {
        score(cache, profile, &cycle, &mut decision);
    }
    cache.next_start = (cache.next_start + looked_at) % node_count;
    decision
}

/// A daemon pod: pre-filtering has left one node. Says how many were looked at.
fn pinned(cache: &Cache, profile: &Profile, cycle: &Cycle<'_>, node: NodeId, decision: &mut Decision) -> usize {
    let info = cache.node(node);
    if info.object.is_none() {
        return 0;
    }
    match filter(profile, cycle, info) {
        None => decision.feasible.push(node),
        Some(rejection) => {
            decision.filtered.insert(node, rejection);
        }
    }
    1
}

/// The search over all nodes, from where the last one ended, until enough are found. Says how many were looked at.
fn search(cache: &Cache, profile: &Profile, cycle: &Cycle<'_>, decision: &mut Decision) -> usize {
    let count = cycle.node_count;
    let wanted = feasible_wanted(count, profile.percentage_of_nodes_to_score);
    let start = cache.next_start;
    let mut looked_at = 0;
    for offset in 0..count {
        let node = cache.order()[(start + offset) % count];
        match filter(profile, cycle, cache.node(node)) {
            None if decision.feasible.len() == wanted => break,
            None => decision.feasible.push(node),
            Some(rejection) => {
                decision.filtered.insert(node, rejection);
            }
        }
        looked_at += 1;
    }
    looked_at
}

fn filter(profile: &Profile, cycle: &Cycle<'_>, node: &NodeInfo) -> Option<Rejection> {
    profile.filters.iter().find_map(|plugin| plugin.filter(cycle, node))
}

fn score(cache: &Cache, profile: &Profile, cycle: &Cycle<'_>, decision: &mut Decision) {
    let mut scores = vec![NodeScore::default(); decision.feasible.len()];
    for (plugin, weight) in &profile.scorers {
        if !plugin.scores(cycle, &decision.feasible) {
            continue;
        }
        let mut raw: Vec<i64> = decision.feasible.iter().map(|&node| plugin.score(cycle, cache.node(node))).collect();
        plugin.normalize(cycle, &decision.feasible, &mut raw);
        for (score, raw) in scores.iter_mut().zip(raw) {
            score.by_plugin.push((plugin.name(), raw * weight));
            score.total += raw * weight;
        }
    }
    let totals: Vec<i64> = scores.iter().map(|s| s.total).collect();
    let best = totals.iter().copied().max().unwrap_or(0);
    decision.ties = decision.feasible.iter().zip(&totals).filter(|(_, t)| **t == best).map(|(n, _)| *n).collect();
    decision.node = Some(decision.feasible[heap_root(&totals)]);
    decision.scores = scores;
}

/// The root of a binary max-heap over the scores in list order.
///
/// # Source
/// kube-scheduler 1.35+: the score list is made a heap and its root is taken; the right child is preferred only if it is
/// strictly larger, and a swap needs a strictly larger child.
pub(super) fn heap_root(scores: &[i64]) -> usize {
    let mut heap: Vec<usize> = (0..scores.len()).collect();
    for first in (0..heap.len() / 2).rev() {
        let mut at = first;
        loop {
            let left = 2 * at + 1;
            if left >= heap.len() {
                break;
            }
            let right = left + 1;
            let child = if right < heap.len() && scores[heap[right]] > scores[heap[left]] { right } else { left };
            if scores[heap[child]] <= scores[heap[at]] {
                break;
            }
            heap.swap(at, child);
            at = child;
        }
    }
    heap.first().copied().unwrap_or(0)
}

/// The plugins whose rejection the pod waits out.
fn rejectors(decision: &Decision, is_pinned: bool) -> Vec<&'static str> {
    let mut rejectors: Vec<&'static str> = decision.filtered.values().map(|r| r.plugin).collect();
    if is_pinned {
        rejectors.push("NodeAffinity");
    }
    rejectors.sort_unstable();
    rejectors.dedup();
    rejectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enough_feasible_nodes_by_cluster_size() {
        let check = |nodes: usize, percentage: i32, expected: usize| {
            assert_eq!(feasible_wanted(nodes, percentage), expected, "{nodes} nodes, {percentage} %");
        };
        check(10, 0, 10);
        check(100, 0, 100);
        check(250, 0, 120);
        check(1000, 0, 420);
        check(1000, 40, 400);
        check(5000, 0, 500);
        check(6000, 0, 300);
        check(6000, 40, 2400);
        check(15000, 0, 750);
    }

    #[test]
    fn the_host_is_the_root_of_a_heap_over_the_list() {
        let check = |scores: &[i64], expected: usize| assert_eq!(heap_root(scores), expected, "{scores:?}");
        check(&[9, 9, 9], 0);
        check(&[5, 9, 9], 1);
        check(&[5, 5, 9, 9], 3);
        check(&[5, 9, 5, 9], 1);
        check(&[1, 2, 9, 3, 9, 9], 4);
        check(&[7, 9, 8, 9, 9], 1);
    }
}
