//! What plugins said of a node for a spec, kept until the node changes: pods of one template share their work.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cache::Cache;
use super::framework::{Cycle, Rejection};
use super::node_info::NodeInfo;
use super::profile::Profile;
use crate::state::{AdmittedSpec, NodeId};

/// What the local plugins of a profile say of nodes for one spec.
#[derive(Clone, Debug)]
pub(super) struct Memo {
    /// Kept alive, as its address is the key.
    _spec: Arc<AdmittedSpec>,
    image_epoch: u64,
    entries: Vec<Entry>,
    /// Raw scores of the local scorers, node by node.
    raw: Vec<i64>,
    scorer_count: usize,
    /// The rejections there were, each once.
    rejections: Vec<(usize, Rejection)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// The state of the node for which this holds; 0 is no state.
    generation: u32,
    /// One more than the place in the list of rejections; 0 if it passes.
    rejection: u32,
}

impl Memo {
    fn new(profile: &Profile, spec: &Arc<AdmittedSpec>) -> Self {
        Self {
            _spec: Arc::clone(spec),
            image_epoch: 0,
            entries: Vec::new(),
            raw: Vec::new(),
            scorer_count: profile.local_scorers.len(),
            rejections: Vec::new(),
        }
    }

    /// Forgets what hung on images that have come or gone.
    fn refresh(&mut self, cache: &Cache) {
        if self.image_epoch != cache.image_epoch() {
            self.image_epoch = cache.image_epoch();
            self.entries.clear();
            self.rejections.clear();
        }
    }

    /// The first rejection among local filters, with the filter's place.
    pub(super) fn look(
        &mut self,
        profile: &Profile,
        cycle: &Cycle<'_>,
        cache: &Cache,
        node: NodeId,
    ) -> Option<&(usize, Rejection)> {
        let info = cache.node(node);
        let at = node.index();
        if at >= self.entries.len() {
            self.entries.resize(at + 1, Entry::default());
            self.raw.resize((at + 1) * self.scorer_count, 0);
        }
        if self.entries[at].generation != info.generation {
            self.entries[at] = self.work_out(profile, cycle, cache, info, at);
        }
        let rejection = self.entries[at].rejection as usize;
        (rejection > 0).then(|| &self.rejections[rejection - 1])
    }

    fn work_out(&mut self, profile: &Profile, cycle: &Cycle<'_>, cache: &Cache, info: &NodeInfo, at: usize) -> Entry {
        let generation = info.generation;
        for &place in &profile.local_filters {
            let Some(rejection) = profile.filters[place].filter(cycle, cache, info) else { continue };
            let said = (place, rejection);
            let known = self.rejections.iter().position(|other| *other == said);
            let index = known.unwrap_or_else(|| {
                self.rejections.push(said);
                self.rejections.len() - 1
            });
            return Entry { generation, rejection: index as u32 + 1 };
        }
        for (slot, &place) in profile.local_scorers.iter().enumerate() {
            self.raw[at * self.scorer_count + slot] = profile.scorers[place].0.score(cycle, cache, info);
        }
        Entry { generation, rejection: 0 }
    }

    /// The raw score that a local scorer gave a node that was looked at and passed.
    pub(super) fn raw(&self, node: NodeId, slot: usize) -> i64 {
        self.raw[node.index() * self.scorer_count + slot]
    }
}

/// Memos by profile and spec.
#[derive(Clone, Debug, Default)]
pub(super) struct Memos {
    by_spec: FxHashMap<(usize, usize), Memo>,
}

/// Entries that all memos may hold together.
const ENTRIES_MAX: usize = 1 << 21;

impl Memos {
    /// Takes out the memo of a cycle; it is put back when the cycle ends.
    pub(super) fn take(&mut self, profile: &Profile, spec: &Arc<AdmittedSpec>, cache: &Cache) -> Memo {
        if self.by_spec.len() > (ENTRIES_MAX / cache.order().len().max(1)).max(16) {
            self.by_spec.clear();
        }
        let mut memo = self.by_spec.remove(&Self::key(profile, spec)).unwrap_or_else(|| Memo::new(profile, spec));
        memo.refresh(cache);
        memo
    }

    pub(super) fn put(&mut self, profile: &Profile, spec: &Arc<AdmittedSpec>, memo: Memo) {
        self.by_spec.insert(Self::key(profile, spec), memo);
    }

    fn key(profile: &Profile, spec: &Arc<AdmittedSpec>) -> (usize, usize) {
        (profile.index, Arc::as_ptr(spec) as usize)
    }
}
