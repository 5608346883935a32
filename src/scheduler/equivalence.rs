//! What local plugins said of nodes for a spec, kept until the node changes: pods that share a spec share their work.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cache::Cache;
use super::framework::Spec;
use super::profile::{Kind, Profile};
use super::rejection::Rejection;
use crate::state::{AdmittedSpec, NodeId};

/// What the local plugins of a profile say of nodes for one spec.
#[derive(Clone, Debug)]
pub(super) struct LocalVerdicts {
    /// Kept alive, as its address is the key.
    spec: Arc<AdmittedSpec>,
    image_epoch: u64,
    entries: Vec<NodeVerdict>,
    /// Raw scores of the local scorers, node by node.
    raw: Vec<i64>,
    /// The weights of the local scorers that score this spec, each node by itself; none of others.
    weights: Vec<Option<i64>>,
    /// Whether a local scorer has given any node a raw score other than 0, or may refuse to score.
    has_scored: Vec<bool>,
    /// The rejections there were, each once, with the filter's place.
    rejections: Vec<(usize, Rejection)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct NodeVerdict {
    /// The state of the node for which this holds; 0 is no state.
    generation: u32,
    /// One more than the place in the list of rejections; 0 if it passes.
    rejection: u32,
    /// What the scorers that have weights here give it together, if it passes.
    sum: i64,
}

impl LocalVerdicts {
    fn new(profile: &Profile, spec: &Arc<AdmittedSpec>) -> Self {
        // A pod with a node of its own is not asked about here.
        let of = Spec { shared: spec, pinned_node: None };
        let mut weights = vec![None; profile.local_scorers.len()];
        let mut has_scored = vec![false; weights.len()];
        for (part, weight) in &profile.scorers {
            if let Kind::Local { plugin, slot } = &part.kind {
                let answer = plugin.pre_score(of);
                let is_summed = plugin.normalizer().is_none() && answer == Ok(true);
                weights[*slot] = is_summed.then_some(*weight);
                has_scored[*slot] = answer.is_err();
            }
        }
        Self {
            spec: Arc::clone(spec),
            image_epoch: 0,
            entries: Vec::new(),
            raw: Vec::new(),
            weights,
            has_scored,
            rejections: Vec::new(),
        }
    }

    /// Forgets what hung on images that have come or gone.
    fn refresh(&mut self, cache: &Cache) {
        if self.image_epoch != cache.images.epoch() {
            self.image_epoch = cache.images.epoch();
            self.entries.clear();
            self.rejections.clear();
        }
    }

    /// The first rejection among local filters, with the filter's place.
    #[inline]
    pub(super) fn of_node(&mut self, profile: &Profile, cache: &Cache, node: NodeId) -> Option<&(usize, Rejection)> {
        let at = node.index();
        if at >= self.entries.len() {
            self.entries.resize(at + 1, NodeVerdict::default());
            self.raw.resize((at + 1) * self.weights.len(), 0);
        }
        if self.entries[at].generation != cache.generation(node) {
            self.entries[at] = self.work_out(profile, cache, node);
        }
        let rejection = self.entries[at].rejection as usize;
        (rejection > 0).then(|| &self.rejections[rejection - 1])
    }

    /// Whether all of these nodes are known to pass as they are.
    pub(super) fn are_known_to_pass(&self, cache: &Cache, nodes: &[NodeId]) -> bool {
        nodes.iter().all(|&node| {
            let known = self.entries.get(node.index());
            known.is_some_and(|known| known.generation == cache.generation(node) && known.rejection == 0)
        })
    }

    fn work_out(&mut self, profile: &Profile, cache: &Cache, node: NodeId) -> NodeVerdict {
        let (info, generation) = (cache.node(node), cache.generation(node));
        let spec = Spec { shared: &self.spec, pinned_node: None };
        for (place, plugin) in &profile.local_filters {
            let Some(rejection) = plugin.filter(spec, info) else { continue };
            let verdict = (*place, rejection);
            let known = self.rejections.iter().position(|other| *other == verdict);
            let index = known.unwrap_or_else(|| {
                self.rejections.push(verdict);
                self.rejections.len() - 1
            });
            return NodeVerdict { generation, rejection: index as u32 + 1, sum: 0 };
        }
        let mut sum = 0;
        let first = node.index() * self.weights.len();
        for (slot, (plugin, weight)) in profile.local_scorers.iter().zip(&self.weights).enumerate() {
            let score = plugin.score(spec, info, &cache.images);
            self.raw[first + slot] = score;
            self.has_scored[slot] |= score != 0;
            sum += weight.unwrap_or(0) * score;
        }
        NodeVerdict { generation, rejection: 0, sum }
    }

    /// The raw score that a local scorer gave a node that was looked at and passed.
    pub(super) fn raw(&self, node: NodeId, slot: usize) -> i64 {
        self.raw[node.index() * self.weights.len() + slot]
    }

    /// Whether a local scorer has a say beyond the sums: not if it is in them, or has given every node the same, nothing, which any
    /// normalization turns into the same for all.
    pub(super) fn decides(&self, slot: usize) -> bool {
        self.weights[slot].is_none() && self.has_scored[slot]
    }

    /// What scorers that look at no other node give one that was looked at and passed, all together, with their weights.
    pub(super) fn sum(&self, node: NodeId) -> i64 {
        self.entries[node.index()].sum
    }
}

/// Verdicts by profile and spec.
///
/// # Differs
/// The real scheduler asks its plugins about each pod anew.
#[derive(Clone, Debug, Default)]
pub(super) struct EquivalenceCache {
    by_spec: FxHashMap<(usize, usize), LocalVerdicts>,
}

/// Entries that all verdicts may hold together.
const ENTRIES_MAX: usize = 1 << 21;

impl EquivalenceCache {
    /// Takes out the verdicts for a cycle; they are put back when the cycle ends.
    pub(super) fn take(&mut self, profile: &Profile, spec: &Arc<AdmittedSpec>, cache: &Cache) -> LocalVerdicts {
        if self.by_spec.len() > (ENTRIES_MAX / cache.order().len().max(1)).max(16) {
            self.by_spec.clear();
        }
        let known = self.by_spec.remove(&Self::key(profile, spec));
        let mut verdicts = known.unwrap_or_else(|| LocalVerdicts::new(profile, spec));
        verdicts.refresh(cache);
        verdicts
    }

    pub(super) fn put(&mut self, profile: &Profile, verdicts: LocalVerdicts) {
        self.by_spec.insert(Self::key(profile, &verdicts.spec), verdicts);
    }

    fn key(profile: &Profile, spec: &Arc<AdmittedSpec>) -> (usize, usize) {
        (profile.index, Arc::as_ptr(spec) as usize)
    }
}
