//! What the plugins of a profile say in one scheduling cycle: which nodes are feasible, and how good each is.

use std::sync::Arc;

use smallvec::SmallVec;

use super::cache::Cache;
use super::decision::{Decision, NodeScore};
use super::equivalence::LocalVerdicts;
use super::framework::{Incoming, PreFilter, Prepared, Spec};
use super::message;
use super::node_info::NodeInfo;
use super::profile::{Kind, Profile};
use super::rejection::{Rejection, Remedy};
use crate::state::NodeId;

/// What wide plugins have worked out for all pods that are alike: same spec, labels, namespace, owner and profile.
#[derive(Debug)]
pub(super) struct Template {
    /// In the order of [`Profile::wide`].
    pub(super) wide: Vec<Box<dyn Prepared>>,
}

/// One scheduling cycle: a pod, and those who are asked about it.
pub(super) struct Cycle<'a> {
    pub(super) profile: &'a Profile,
    pub(super) incoming: Incoming<'a>,
    pub(super) template: Arc<Template>,
    pub(super) node_count: usize,
}

/// What pre-filtering left.
pub(super) struct Candidates<'c> {
    /// Places of the filters that are to be asked.
    filters: SmallVec<[usize; 16]>,
    /// Those of them that are not local, with their places.
    wide: SmallVec<[(usize, &'c dyn Prepared); 8]>,
    /// The only nodes that can do, if there is a restriction.
    pub(super) only: Option<Vec<NodeId>>,
    /// Plugins that restricted nodes.
    pub(super) restricting: Vec<&'static str>,
}

impl Candidates<'_> {
    /// Whether a filter looks at more than the node.
    pub(super) fn looks_beyond(&self) -> bool {
        !self.wide.is_empty()
    }
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

impl Cycle<'_> {
    pub(super) fn spec(&self) -> Spec<'_> {
        Spec::of(self.incoming.pod)
    }

    /// # Source
    /// kube-scheduler, `RunPreFilterPlugins`: what cannot be resolved ends the cycle at once; what removing pods might resolve
    /// ends it after the others have been asked, with the last of these rejections.
    pub(super) fn pre_filter(&self, cache: &Cache) -> (Candidates<'_>, Option<Rejection>) {
        let mut candidates =
            Candidates { filters: SmallVec::new(), wide: SmallVec::new(), only: None, restricting: Vec::new() };
        let mut rejection = None;
        for (place, part) in self.profile.filters.iter().enumerate() {
            match self.pre_filter_of(place, cache) {
                PreFilter::Skip => continue,
                PreFilter::Pass => {}
                PreFilter::Reject(why) if why.is_unresolvable => return (candidates, Some(why)),
                PreFilter::Reject(why) => rejection = Some(why),
                PreFilter::Only(nodes) => {
                    candidates.restricting.push(part.name);
                    match &mut candidates.only {
                        Some(only) => {
                            only.retain(|node| nodes.contains(node));
                            if only.is_empty() {
                                let reason = message::nobody_left(&candidates.restricting);
                                return (candidates, Some(Rejection::unresolvable(part.name, reason)));
                            }
                        }
                        None => candidates.only = Some(nodes),
                    }
                }
            }
            candidates.filters.push(place);
            if let Kind::Wide(at) = part.kind {
                candidates.wide.push((place, &*self.template.wide[at]));
            }
        }
        if let Some(only) = &mut candidates.only {
            only.retain(|&node| cache.node(node).object.is_some());
        }
        (candidates, rejection)
    }

    /// What one of the profile's filters says before nodes are looked at.
    pub(super) fn pre_filter_of(&self, place: usize, cache: &Cache) -> PreFilter {
        match &self.profile.filters[place].kind {
            Kind::Local { plugin, .. } => plugin.pre_filter(self.spec(), self.incoming.store),
            Kind::Wide(at) => self.template.wide[*at].pre_filter(self.incoming, cache),
        }
    }

    /// What one of the profile's filters says of a node.
    pub(super) fn filter(&self, place: usize, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        match &self.profile.filters[place].kind {
            Kind::Local { plugin, .. } => plugin.filter(self.spec(), node),
            Kind::Wide(at) => self.template.wide[*at].filter(self.incoming, cache, node),
        }
    }

    /// What would have to be otherwise for one of the profile's filters to pass a node that it rejects.
    pub(super) fn remedies(&self, place: usize, cache: &Cache, node: &NodeInfo, rejection: &Rejection) -> Vec<Remedy> {
        match &self.profile.filters[place].kind {
            Kind::Local { plugin, .. } => plugin.remedies(self.spec(), node, rejection),
            Kind::Wide(at) => self.template.wide[*at].remedies(self.incoming, cache, node, rejection),
        }
    }

    /// The first rejection in the order of the filters.
    pub(super) fn run_filters(&self, candidates: &Candidates<'_>, cache: &Cache, node: &NodeInfo) -> Option<Rejection> {
        candidates.filters.iter().find_map(|&place| self.filter(place, cache, node))
    }

    /// The same, with the verdicts of local plugins that are known.
    pub(super) fn run_wide_filters(
        &self,
        candidates: &Candidates<'_>,
        cache: &Cache,
        verdicts: &mut LocalVerdicts,
        node: NodeId,
    ) -> Option<Rejection> {
        let local = verdicts.of_node(self.profile, cache, node);
        let before = local.map_or(usize::MAX, |(place, _)| *place);
        let wide = candidates.wide.iter().take_while(|(place, _)| *place < before);
        wide.map(|(_, plugin)| plugin.filter(self.incoming, cache, cache.node(node)))
            .find(Option::is_some)
            .flatten()
            .or_else(|| local.map(|(_, rejection)| rejection.clone()))
    }

    /// Scores the feasible nodes and chooses one.
    ///
    /// # Errors
    ///
    /// If a plugin cannot score the pod: which, and why.
    pub(super) fn score(
        &self,
        cache: &Cache,
        verdicts: Option<&LocalVerdicts>,
        is_explained: bool,
        draw: &mut dyn FnMut(u32) -> u32,
        decision: &mut Decision,
    ) -> Result<(), String> {
        let feasible = &decision.feasible;
        // Who asks for scores wants them plugin by plugin.
        let sums = verdicts.filter(|_| !is_explained);
        let mut totals: Vec<i64> = match sums {
            Some(verdicts) => feasible.iter().map(|&node| verdicts.sum(node)).collect(),
            None => vec![0; feasible.len()],
        };
        let mut scores: Vec<i64> = Vec::with_capacity(feasible.len());
        if is_explained {
            decision.scores = vec![NodeScore::default(); feasible.len()];
        }
        let is_left = |kind: &Kind| match kind {
            Kind::Local { slot, .. } => sums.is_none_or(|verdicts| verdicts.decides(*slot)),
            Kind::Wide(_) => true,
        };
        for (part, weight) in self.profile.scorers.iter().filter(|(part, _)| is_left(&part.kind)) {
            scores.clear();
            if !self.score_by(&part.kind, cache, verdicts, feasible, &mut scores).map_err(|error| {
                let name = part.name;
                format!("running PreScore plugin \"{name}\": {error}")
            })? {
                continue;
            }
            for (total, score) in totals.iter_mut().zip(&scores) {
                *total += score * weight;
            }
            for (of_node, score) in decision.scores.iter_mut().zip(&scores) {
                of_node.by_plugin.push((part.name, score * weight));
                of_node.total += score * weight;
            }
        }
        let best = totals.iter().copied().max().unwrap_or(0);
        let ties: SmallVec<[usize; 16]> = (0..totals.len()).filter(|&at| totals[at] == best).collect();
        decision.ties = ties.iter().map(|&at| feasible[at]).collect();
        decision.node = Some(match decision.ties.len() {
            // Before 1.35 any of the best is as likely as the others.
            several @ 2.. if !cache.version.at_least(35) => decision.ties[draw(several as u32) as usize],
            _ => feasible[heap_root(&ties)],
        });
        Ok(())
    }

    /// The scores that one of the profile's scorers gives the feasible nodes; false if it does not score the pod.
    fn score_by(
        &self,
        kind: &Kind,
        cache: &Cache,
        verdicts: Option<&LocalVerdicts>,
        feasible: &[NodeId],
        scores: &mut Vec<i64>,
    ) -> Result<bool, String> {
        let (plugin, slot) = match kind {
            Kind::Wide(at) => return Ok(self.template.wide[*at].score(self.incoming, cache, feasible, scores)),
            Kind::Local { plugin, slot } => (plugin, *slot),
        };
        if !plugin.pre_score(self.spec())? {
            return Ok(false);
        }
        match verdicts {
            Some(verdicts) => scores.extend(feasible.iter().map(|&node| verdicts.raw(node, slot))),
            None => {
                scores.extend(feasible.iter().map(|&node| plugin.score(self.spec(), cache.node(node), &cache.images)));
            }
        }
        if let Some(normalize) = plugin.normalizer() {
            normalize(scores);
        }
        Ok(true)
    }
}

/// Which of the best is the root of a binary max-heap over all scores; these are their places in the list, and there is one.
///
/// A heap that is made bottom up keeps a parent that is no less than its children, and else takes the left child, unless the right
/// one is larger. So of equals the root is the one that is met first on the way through the tree by parent, left and right child.
///
/// # Source
/// kube-scheduler 1.35+: the score list is made a heap and its root is taken; the right child is preferred only if it is
/// strictly larger, and a swap needs a strictly larger child.
fn heap_root(best: &[usize]) -> usize {
    let level = |at: usize| (at + 1).ilog2();
    let is_before = |a: usize, b: usize| {
        // The ancestors on the upper of the two levels decide; of one and the same, the upper is first.
        let upper = level(a).min(level(b));
        let ancestor = |at: usize| (at + 1) >> (level(at) - upper);
        (ancestor(a), level(a)) < (ancestor(b), level(b))
    };
    best.iter().copied().reduce(|first, other| if is_before(other, first) { other } else { first }).unwrap_or(0)
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

    /// The heap as it is made, step by step.
    fn root_of_a_heap(scores: &[i64]) -> usize {
        let mut heap: Vec<usize> = (0..scores.len()).collect();
        for first in (0..heap.len() / 2).rev() {
            let mut at = first;
            while let Some(left) = Some(2 * at + 1).filter(|left| *left < heap.len()) {
                let right = left + 1;
                let is_right_larger = right < heap.len() && scores[heap[right]] > scores[heap[left]];
                let child = if is_right_larger { right } else { left };
                if scores[heap[child]] <= scores[heap[at]] {
                    break;
                }
                heap.swap(at, child);
                at = child;
            }
        }
        heap[0]
    }

    fn root(scores: &[i64]) -> usize {
        let best = scores.iter().max();
        let ties: Vec<usize> = (0..scores.len()).filter(|&at| Some(&scores[at]) == best).collect();
        heap_root(&ties)
    }

    #[test]
    fn the_host_is_the_root_of_a_heap_over_the_list() {
        let check = |scores: &[i64], expected: usize| {
            assert_eq!(root(scores), expected, "{scores:?}");
            assert_eq!(root_of_a_heap(scores), expected, "{scores:?}");
        };
        check(&[9, 9, 9], 0);
        check(&[5, 9, 9], 1);
        check(&[5, 5, 9, 9], 3);
        check(&[5, 9, 5, 9], 1);
        check(&[1, 2, 9, 3, 9, 9], 4);
        check(&[7, 9, 8, 9, 9], 1);
    }

    #[test]
    fn the_root_among_equals_is_that_of_the_heap_as_it_is_made() {
        // Every list of up to eleven scores of three kinds.
        for length in 1..=11 {
            for number in 0..3_u32.pow(length) {
                let scores: Vec<i64> = (0..length).map(|at| i64::from(number / 3_u32.pow(at) % 3)).collect();
                assert_eq!(root(&scores), root_of_a_heap(&scores), "{scores:?}");
            }
        }
    }
}
