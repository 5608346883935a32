//! Which autoscalers select the same pods.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::arena::Symbol;
use crate::model::LabelSelector;
use crate::state::{AutoscalerKey, Pod};

/// Several autoscalers, by name.
pub(super) type Keys = SmallVec<[AutoscalerKey; 1]>;

/// The selectors of autoscalers' targets, as the syncs that last looked at metrics found them.
///
/// # Source
/// `hpaSelectors`: an autoscaler selects nothing until one of its syncs gets as far as the metrics, and then what that sync
/// found until it is deleted.
#[derive(Clone, Debug, Default)]
pub(super) struct Selectors {
    all: FxHashMap<AutoscalerKey, LabelSelector>,
    /// Those of a namespace whose selectors want a label, by the first that they want; under none those that want others.
    by_label: FxHashMap<(Symbol, Option<Label>), Keys>,
}

type Label = (Symbol, Symbol);

fn first_label(selector: &LabelSelector) -> Option<Label> {
    selector.match_labels.iter().next()
}

impl Selectors {
    pub(super) fn put(&mut self, key: AutoscalerKey, selector: &LabelSelector) {
        if self.all.get(&key) != Some(selector) {
            self.remove(key);
            self.by_label.entry((key.0, first_label(selector))).or_default().push(key);
            self.all.insert(key, selector.clone());
        }
    }

    pub(super) fn remove(&mut self, key: AutoscalerKey) {
        let Some(selector) = self.all.remove(&key) else { return };
        if let Some(keys) = self.by_label.get_mut(&(key.0, first_label(&selector))) {
            keys.retain(|other| *other != key);
        }
    }

    /// Those that select a pod, by name.
    pub(super) fn that_select(&self, pod: &Pod) -> Keys {
        if self.all.is_empty() {
            return Keys::new();
        }
        let labels = pod.labels.iter().map(Some).chain([None]);
        let candidates = labels.filter_map(|label| self.by_label.get(&(pod.namespace, label))).flatten();
        let selects = |key: &&AutoscalerKey| self.all.get(*key).is_some_and(|selector| selector.matches(&pod.labels));
        let mut keys: Keys = candidates.filter(selects).copied().collect();
        keys.sort_unstable();
        keys
    }

    /// Those that select any of these pods, by name.
    ///
    /// # Source
    /// `hpasControllingPodsUnderSelector`.
    pub(super) fn that_select_any(&self, pods: &[&Pod]) -> Keys {
        let mut keys: Keys = pods.iter().flat_map(|pod| self.that_select(pod)).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
