//! What a study varies, and the combinations of it.

use std::sync::Arc;

use super::search::Lattice;
use super::setting::Setting;
use crate::diagnostics::Location;
use crate::scenario::ResolvedScenario;

/// One thing that is varied.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its values as the document writes them.
    pub labels: Vec<String>,
    /// The range that the values are of, if no values are listed.
    pub(super) range: Option<Lattice>,
    /// The value that the scenario itself has, if it is one of them.
    pub today: Option<usize>,
    pub(super) settings: Vec<Setting>,
    /// Where the document speaks of it.
    pub(super) location: Location,
    /// Where the document speaks of each value.
    pub(super) values_at: Vec<Location>,
    /// Where it has each pattern of the workloads that are changed.
    pub(super) patterns_at: Vec<Location>,
}

/// One combination.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The value of each axis; `today` where the scenario is left as it is.
    pub labels: Vec<String>,
    /// Position of the value of each axis; none where the scenario is left as it is.
    pub(super) choice: Vec<Option<usize>>,
    /// The scenario with the values of its document.
    pub(super) base: Arc<ResolvedScenario>,
    /// What is changed in it.
    pub(super) settings: Vec<Setting>,
}

/// The label of an axis that is left as the scenario has it.
pub(super) const TODAY: &str = "today";

impl Variant {
    /// The position of the value of each axis; none where the scenario is left as it is.
    pub(super) fn point(&self) -> Option<Vec<usize>> {
        self.choice.iter().copied().collect()
    }

    /// What is played.
    ///
    /// # Errors
    ///
    /// If a change cannot be made; that has been tried for every variant of a study that could be loaded.
    pub fn scenario(&self) -> Result<ResolvedScenario, String> {
        let mut scenario = ResolvedScenario::clone(&self.base);
        for setting in &self.settings {
            setting.apply(&mut scenario).map_err(|refused| refused.message)?;
        }
        Ok(scenario)
    }
}

impl Axis {
    /// Some of the values of a range, for people.
    pub(super) fn few_labels(&self) -> String {
        let count = self.labels.len();
        match count {
            0..=8 => self.labels.join(", "),
            _ => format!("{}, ... {}: {count} values", self.labels[..5].join(", "), self.labels[count - 1]),
        }
    }

    /// Positions of the values of all axes, the last axis fastest.
    pub(super) fn combinations(axes: &[Self]) -> Vec<Vec<usize>> {
        axes.iter().fold(vec![Vec::new()], |so_far, axis| {
            let with = |choice: &Vec<usize>, index| choice.iter().copied().chain([index]).collect();
            so_far.iter().flat_map(|choice| (0..axis.settings.len()).map(move |index| with(choice, index))).collect()
        })
    }

    /// Whether a value of the scenario's document is one of this axis.
    pub(super) fn has(&self, setting: &Setting) -> bool {
        let path = |setting: &Setting| setting.of_document().map(|(path, _)| path.to_owned());
        path(setting).is_some_and(|path_of_it| self.settings.first().and_then(path) == Some(path_of_it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_axis_is_the_fastest() {
        let axis = |count: u32| Axis {
            name: String::new(),
            labels: Vec::new(),
            range: None,
            today: None,
            settings: (0..count).map(Setting::nothing).collect(),
            location: Location::new("study.yaml", 1, 1, 1),
            values_at: Vec::new(),
            patterns_at: Vec::new(),
        };
        assert_eq!(Axis::combinations(&[axis(2), axis(2)]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(Axis::combinations(&[]), [Vec::<usize>::new()]);
    }
}
