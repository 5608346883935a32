//! What is recommended as a variant that can be played, and as changes that can be applied.

use super::super::definition::Study;
use super::super::grid::{Axis, Variant};
use super::super::patch::{self, Patches};
use super::super::setting::Setting;
use super::{Tuning, WorkloadChoice};

/// Where the documents of what is recommended go.
const FILE: &str = "patch.yaml";

impl Study {
    /// The variant that is recommended, as it is to be written: for each workload the recommended value, and nothing of what the scenario
    /// has already; none if everything is to stay as it is.
    #[must_use]
    pub fn recommended(&self, tuning: &Tuning) -> Option<Variant> {
        self.variant_of(tuning, |axis, index| self.axes[axis].today != Some(index))
    }

    /// The same as it is played: values that the scenario has are written out, as they are in every variant. So its runs differ from those
    /// of the baseline in what is recommended alone: what a manifest does not say gives its pods other names, and other luck.
    #[must_use]
    pub fn recommended_to_play(&self, tuning: &Tuning) -> Option<Variant> {
        self.variant_of(tuning, |_, _| true)
    }

    /// What is recommended, with the values of those axes and positions that are to be written out though they are the baseline's.
    fn variant_of(&self, tuning: &Tuning, is_written: impl Fn(usize, usize) -> bool) -> Option<Variant> {
        let changed: Vec<&WorkloadChoice> = tuning.workloads.iter().filter(|choice| choice.changes()).collect();
        if changed.is_empty() && !tuning.changes_others {
            return None;
        }
        let from = if tuning.changes_others { &self.variants[tuning.variant] } else { &self.variants[self.baseline] };
        let is_tuned = |axis: usize| tuning.workloads.iter().any(|choice| choice.axis == axis);
        let mut settings = Vec::new();
        for (axis, index) in from.choice.iter().enumerate() {
            let Some(index) = *index else { continue };
            // A baseline that the study names may differ from what the scenario has; workloads that are not changed keep it.
            let kept = if is_tuned(axis) { self.variants[self.baseline].choice[axis] } else { Some(index) };
            let kept = kept.filter(|index| is_written(axis, *index));
            settings.extend(kept.map(|index| self.axes[axis].settings[index].clone()));
        }
        for choice in changed {
            settings.extend(self.axes[choice.axis].settings[choice.level].for_one(&choice.workload));
        }
        let labels = vec!["recommended".to_owned(); self.axes.len()];
        Some(Variant { labels, choice: vec![None; self.axes.len()], base: std::sync::Arc::clone(&from.base), settings })
    }

    /// What turns the scenario's cluster into the recommended one.
    #[must_use]
    pub fn patches(&self, recommended: Option<&Variant>) -> Patches {
        let today = &self.variants[self.baseline].base;
        let Some(recommended) = recommended else { return patch::patches(&[], &[], &[], FILE) };
        let value = |setting: &Setting| setting.of_document().map(|(_, value)| value.to_owned());
        let is_new = |axis: &Axis, setting: &Setting| {
            let today = axis.today.and_then(|index| value(&axis.settings[index]));
            value(setting).is_some_and(|value| today != Some(value))
        };
        let of_path = |axis: &Axis| {
            let own = recommended.settings.iter().find(|setting| axis.has(setting));
            own.filter(|setting| is_new(axis, setting)).cloned()
        };
        let told: Vec<Setting> = self.axes.iter().filter_map(of_path).collect();
        // It has been tried when the study was loaded.
        let wanted = recommended.scenario().map(|scenario| scenario.objects).unwrap_or_default();
        patch::patches(&today.objects, &wanted, &told, FILE)
    }
}
