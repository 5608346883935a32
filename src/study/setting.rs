//! What a study can vary: how its document writes it, what a value changes, and what the grid asks of it.
//!
//! A new thing is a variant of [`Setting`] and a field of [`Vary`]; the compiler names what is to be said of it, all of it here.

use serde::Deserialize;
use serde_json::Value;

use super::edit;
use crate::diagnostics::Location;
use crate::scenario::{Overrides, ResolvedScenario};

/// One value of an axis.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    /// A value of the scenario's document, set before it is resolved.
    Path { path: String, value: String, path_at: Location, value_at: Location },
    /// `tolerationSeconds` of workloads for the taints of lost nodes.
    TolerationSeconds { workloads: Vec<String>, taints: Vec<&'static str>, seconds: u32 },
    /// Replicas of workloads.
    Replicas { workloads: Vec<String>, count: u32 },
}

/// One thing that is varied: exactly one of `path`, `tolerationSeconds` and `replicas`.
#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "cli", schemars(extend("oneOf" = [
    {"required": ["path", "values"]}, {"required": ["tolerationSeconds"]}, {"required": ["replicas"]},
])))]
pub(super) struct Vary {
    /// What it is called in results.
    pub(super) name: String,
    /// A value of the scenario, such as `spec.timeline[0].at`.
    pub(super) path: Option<String>,
    /// The values that it has in turn.
    values: Option<Vec<Value>>,
    /// For how long workloads tolerate the taints of lost nodes.
    toleration_seconds: Option<TolerationSeconds>,
    /// How many replicas workloads have.
    replicas: Option<Replicas>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TolerationSeconds {
    /// Which workloads, as `kind/namespace/name`; `*` stands for any text.
    workloads: Vec<String>,
    /// Which taints: `not-ready`, `unreachable`; both, if nothing is said.
    #[serde(default = "both_taints")]
    taints: Vec<String>,
    /// The seconds.
    values: Vec<u32>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Replicas {
    /// Which workloads, as `kind/namespace/name`; `*` stands for any text.
    workloads: Vec<String>,
    /// How many replicas each of them has.
    values: Vec<u32>,
}

fn both_taints() -> Vec<String> {
    TAINTS.iter().map(|(short, _)| (*short).to_owned()).collect()
}

/// The taints of lost nodes, in short and in full.
const TAINTS: [(&str, &str); 2] =
    [("not-ready", "node.kubernetes.io/not-ready"), ("unreachable", "node.kubernetes.io/unreachable")];

/// Refuses a selection of nothing.
fn check_selection(name: &str, field: &str, selection: &[String]) -> Result<(), String> {
    if selection.is_empty() { Err(format!("`{name}` makes no difference: its `{field}` are empty")) } else { Ok(()) }
}

impl Vary {
    /// The values of one thing that is varied, with their labels; `at` is its path in the study's document.
    pub(super) fn values(
        &self,
        at: &str,
        place: &dyn Fn(&str) -> Location,
    ) -> Result<(Vec<String>, Vec<Setting>), String> {
        let label = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (labels, settings) = match self {
            Self { path: Some(path), values: Some(values), toleration_seconds: None, replicas: None, .. } => {
                let path_at = place(&format!("{at}.path"));
                let setting = |(index, value): (usize, &Value)| Setting::Path {
                    path: path.clone(),
                    value: value.to_string(),
                    path_at: path_at.clone(),
                    value_at: place(&format!("{at}.values[{index}]")),
                };
                (values.iter().map(label).collect(), values.iter().enumerate().map(setting).collect())
            }
            Self { path: None, values: None, toleration_seconds: Some(given), replicas: None, .. } => {
                check_selection(&self.name, "workloads", &given.workloads)?;
                check_selection(&self.name, "taints", &given.taints)?;
                let mut taints = Vec::new();
                for wanted in &given.taints {
                    let found = TAINTS.iter().find(|(short, long)| wanted == short || wanted == long);
                    taints.push(found.ok_or_else(|| format!("`{wanted}` is not one of not-ready and unreachable"))?.1);
                }
                let setting = |&seconds: &u32| Setting::TolerationSeconds {
                    workloads: given.workloads.clone(),
                    taints: taints.clone(),
                    seconds,
                };
                (given.values.iter().map(u32::to_string).collect(), given.values.iter().map(setting).collect())
            }
            Self { path: None, values: None, toleration_seconds: None, replicas: Some(given), .. } => {
                check_selection(&self.name, "workloads", &given.workloads)?;
                let setting = |&count: &u32| Setting::Replicas { workloads: given.workloads.clone(), count };
                (given.values.iter().map(u32::to_string).collect(), given.values.iter().map(setting).collect())
            }
            _ => {
                let name = &self.name;
                return Err(format!(
                    "`{name}` has to have either `path` and `values`, or one of `tolerationSeconds` and `replicas`"
                ));
            }
        };
        Ok((labels, settings))
    }
}

impl Setting {
    /// Edits the objects of a scenario.
    ///
    /// # Errors
    ///
    /// If it changes nothing, or what cannot be changed.
    pub(super) fn apply(&self, scenario: &mut ResolvedScenario) -> Result<(), String> {
        match self {
            Self::Path { .. } => Ok(()),
            Self::TolerationSeconds { workloads, taints, seconds } => {
                edit::toleration_seconds(&mut scenario.objects, workloads, taints, *seconds)
            }
            Self::Replicas { workloads, count } => edit::replicas(&mut scenario.objects, workloads, *count),
        }
    }

    /// Whether the scenario has this value already; values of its document are compared elsewhere.
    pub(super) fn is_today(&self, scenario: &ResolvedScenario) -> bool {
        match self {
            Self::Path { .. } => false,
            Self::TolerationSeconds { workloads, taints, seconds } => {
                edit::seconds_now(scenario, workloads, taints) == Some(*seconds)
            }
            Self::Replicas { workloads, count } => edit::replicas_now(scenario, workloads) == Some(*count),
        }
    }

    /// What of it enters the fingerprint of a study besides its label.
    pub(super) fn identity(&self) -> String {
        match self {
            Self::Path { path, .. } => path.clone(),
            Self::TolerationSeconds { workloads, taints, .. } => format!("{workloads:?} {taints:?}"),
            Self::Replicas { workloads, .. } => format!("{workloads:?}"),
        }
    }

    /// A value of the scenario's document, by its path and as it is written.
    pub(super) fn of_document(&self) -> Option<(&str, &str)> {
        match self {
            Self::Path { path, value, .. } => Some((path, value)),
            Self::TolerationSeconds { .. } | Self::Replicas { .. } => None,
        }
    }

    /// Sets a value of the scenario's document; says whether it is one.
    pub(super) fn override_with(&self, overrides: &mut Overrides) -> bool {
        match self {
            Self::Path { path, value, path_at, value_at } => {
                overrides.set_from(path, value, path_at.clone(), value_at.clone());
                true
            }
            Self::TolerationSeconds { .. } | Self::Replicas { .. } => false,
        }
    }

    /// The workloads of both, if they change the same of those that both select: the later value would silently win.
    pub(super) fn same_of<'a>(&'a self, other: &'a Self) -> Option<(&'a [String], &'a [String])> {
        match (self, other) {
            (
                Self::TolerationSeconds { workloads, taints, .. },
                Self::TolerationSeconds { workloads: theirs, taints: other_taints, .. },
            ) => taints.iter().any(|taint| other_taints.contains(taint)).then_some((workloads, theirs)),
            (Self::Replicas { workloads, .. }, Self::Replicas { workloads: theirs, .. }) => Some((workloads, theirs)),
            (Self::Path { .. } | Self::TolerationSeconds { .. } | Self::Replicas { .. }, _) => None,
        }
    }

    /// The workloads for each of which the value is chosen apart.
    pub(super) fn tuned(&self) -> Option<&[String]> {
        match self {
            Self::TolerationSeconds { workloads, .. } => Some(workloads),
            Self::Path { .. } | Self::Replicas { .. } => None,
        }
    }

    /// The same value for one workload alone, if it is chosen for each apart.
    pub(super) fn for_one(&self, workload: &str) -> Option<Self> {
        match self {
            Self::TolerationSeconds { taints, seconds, .. } => {
                let (workloads, taints) = (vec![workload.to_owned()], taints.clone());
                Some(Self::TolerationSeconds { workloads, taints, seconds: *seconds })
            }
            Self::Path { .. } | Self::Replicas { .. } => None,
        }
    }

    /// How many pods it makes of each workload.
    pub(super) fn pods(&self) -> Option<u32> {
        match self {
            Self::Replicas { count, .. } => Some(*count),
            Self::Path { .. } | Self::TolerationSeconds { .. } => None,
        }
    }

    /// A value of nothing, of which there may be several.
    #[cfg(test)]
    pub(super) fn nothing(count: u32) -> Self {
        Self::Replicas { workloads: Vec::new(), count }
    }
}
