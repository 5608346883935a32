//! What a study varies, and the combinations of it.

use super::edit;
use crate::scenario::ResolvedScenario;

/// One thing that is varied.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its values as the document writes them.
    pub labels: Vec<String>,
    pub(super) settings: Vec<Setting>,
}

/// One value of an axis.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    /// A value of the scenario's document, set before it is resolved.
    Path { path: String, value: String },
    /// `tolerationSeconds` of workloads for the taints of lost nodes.
    TolerationSeconds { workloads: Vec<String>, taints: Vec<&'static str>, seconds: u32 },
    /// Replicas of workloads.
    Replicas { workloads: Vec<String>, count: u32 },
}

/// One combination.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The value of each axis.
    pub labels: Vec<String>,
    /// What is played.
    pub scenario: ResolvedScenario,
}

impl Axis {
    /// Positions of the values of all axes, the last axis fastest.
    pub(super) fn combinations(axes: &[Self]) -> Vec<Vec<usize>> {
        axes.iter().fold(vec![Vec::new()], |so_far, axis| {
            let with = |choice: &Vec<usize>, index| choice.iter().copied().chain([index]).collect();
            so_far.iter().flat_map(|choice| (0..axis.settings.len()).map(move |index| with(choice, index))).collect()
        })
    }
}

impl Setting {
    /// Edits the objects of a scenario.
    ///
    /// # Errors
    ///
    /// If a pattern selects no workload.
    pub(super) fn apply(&self, scenario: &mut ResolvedScenario) -> Result<(), String> {
        match self {
            Self::Path { .. } => Ok(()),
            Self::TolerationSeconds { workloads, taints, seconds } => {
                edit::toleration_seconds(&mut scenario.objects, workloads, taints, *seconds)
            }
            Self::Replicas { workloads, count } => edit::replicas(&mut scenario.objects, workloads, *count),
        }
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
            settings: (0..count).map(|count| Setting::Replicas { workloads: Vec::new(), count }).collect(),
        };
        assert_eq!(Axis::combinations(&[axis(2), axis(2)]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(Axis::combinations(&[]), [Vec::<usize>::new()]);
    }
}
