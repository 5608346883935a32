//! What a study can vary: how its document writes it, what a value changes, and what the grid asks of it.
//!
//! A new thing is a variant of [`Setting`] and a field of [`Vary`]; the compiler names what is to be said of it, all of it here.

use serde::Deserialize;
use serde_json::Value;

use super::edit;
use super::search::{Kind, Lattice, RangeEntry, Refused};
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
    {"required": ["path", "values"]}, {"required": ["path", "range"]}, {"required": ["tolerationSeconds"]}, {"required": ["replicas"]},
])))]
pub(super) struct Vary {
    /// What it is called in results.
    pub(super) name: String,
    /// A value of the scenario, such as `spec.timeline[0].at`.
    pub(super) path: Option<String>,
    /// The values that it has in turn.
    values: Option<Vec<Value>>,
    /// Instead of these, the ends between which `kubesquall tune` searches: numbers, or lengths of time.
    range: Option<RangeEntry>,
    /// For how long workloads tolerate the taints of lost nodes.
    toleration_seconds: Option<TolerationSeconds>,
    /// How many replicas workloads have.
    replicas: Option<Replicas>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "cli", schemars(extend("oneOf" = [{"required": ["values"]}, {"required": ["range"]}])))]
struct TolerationSeconds {
    /// Which workloads, as `kind/namespace/name`; `*` stands for any text.
    workloads: Vec<String>,
    /// Which taints: `not-ready`, `unreachable`; both, if nothing is said.
    #[serde(default = "both_taints")]
    taints: Vec<String>,
    /// The seconds.
    values: Option<Vec<u32>>,
    /// Instead of these, the ends between which `kubesquall tune` searches.
    range: Option<RangeEntry>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "cli", schemars(extend("oneOf" = [{"required": ["values"]}, {"required": ["range"]}])))]
struct Replicas {
    /// Which workloads, as `kind/namespace/name`; `*` stands for any text.
    workloads: Vec<String>,
    /// How many replicas each of them has.
    values: Option<Vec<u32>>,
    /// Instead of these, the ends between which `kubesquall tune` searches.
    range: Option<RangeEntry>,
}

/// A value as it is written.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn both_taints() -> Vec<String> {
    TAINTS.iter().map(|(short, _)| (*short).to_owned()).collect()
}

/// The taints of lost nodes, in short and in full.
const TAINTS: [(&str, &str); 2] =
    [("not-ready", "node.kubernetes.io/not-ready"), ("unreachable", "node.kubernetes.io/unreachable")];

/// Refuses a selection of nothing.
fn check_selection(name: &str, field: &str, selection: &[String]) -> Result<(), Wrong> {
    match selection {
        [] => Err(Wrong::lack(format!("`{name}` makes no difference: its `{field}` are empty"))),
        _ => Ok(()),
    }
}

/// Values with their labels, and the range that they are of, if one is given instead of a list.
type Values = (Vec<String>, Vec<Setting>, Option<Lattice>);

/// What is wrong with what is varied.
pub(super) struct Wrong {
    pub(super) message: String,
    /// Below which of its fields, as a path goes on; nothing if that is the whole.
    pub(super) field: &'static str,
    /// Whether something is not there, which may be what was found wrong before and taken out.
    pub(super) is_lack: bool,
}

impl Wrong {
    /// Of the whole.
    fn of_whole(message: String) -> Self {
        Self { message, field: "", is_lack: false }
    }

    /// Something of it is not there.
    fn lack(message: String) -> Self {
        Self { is_lack: true, ..Self::of_whole(message) }
    }
}

/// Numbers that are listed, or those of a range.
fn numbers(
    name: &str,
    kind: Kind,
    (values, range): (Option<&Vec<u32>>, Option<&RangeEntry>),
    fields: Fields,
) -> Result<(Vec<u32>, Option<Lattice>), Wrong> {
    match (values, range) {
        (Some(values), None) => Ok((values.clone(), None)),
        (None, Some(range)) => {
            let lattice = range.whole(name, kind).map_err(|refused| fields.place(refused))?;
            Ok((lattice.numbers(), Some(lattice)))
        }
        _ => Err(Wrong::lack(format!("`{name}` has to have either `values` or a `range` of them"))),
    }
}

/// Where the fields of a range are, below what is varied.
#[derive(Clone, Copy)]
struct Fields {
    min: &'static str,
    max: &'static str,
    step: &'static str,
}

impl Fields {
    const OF_PATH: Self = Self { min: ".range.min", max: ".range.max", step: ".range.step" };
    const OF_SECONDS: Self = Self {
        min: ".tolerationSeconds.range.min",
        max: ".tolerationSeconds.range.max",
        step: ".tolerationSeconds.range.step",
    };
    const OF_REPLICAS: Self =
        Self { min: ".replicas.range.min", max: ".replicas.range.max", step: ".replicas.range.step" };

    fn place(self, Refused { field, message }: Refused) -> Wrong {
        let field = match field {
            "min" => self.min,
            "max" => self.max,
            _ => self.step,
        };
        Wrong { message, field, is_lack: false }
    }
}

impl Vary {
    /// Whether its values are those of a range.
    pub(super) fn has_range(&self) -> bool {
        let of_objects = self.toleration_seconds.as_ref().is_some_and(|given| given.range.is_some());
        self.range.is_some() || of_objects || self.replicas.as_ref().is_some_and(|given| given.range.is_some())
    }

    /// The values of one thing that is varied; `at` is its path in the study's document.
    pub(super) fn values(&self, at: &str, place: &dyn Fn(&str) -> Location) -> Result<Values, Wrong> {
        let name = &self.name;
        Ok(match self {
            Self { path: Some(path), values, range, toleration_seconds: None, replicas: None, .. }
                if values.is_some() != range.is_some() =>
            {
                let path_at = place(&format!("{at}.path"));
                let setting = |value: String, value_at: Location| {
                    let (path, path_at) = (path.clone(), path_at.clone());
                    Setting::Path { path, value, path_at, value_at }
                };
                match range {
                    Some(range) => {
                        let lattice = range.of_path(name).map_err(|refused| Fields::OF_PATH.place(refused))?;
                        let last = lattice.len() - 1;
                        let of = |(index, value): (usize, String)| {
                            let end = match index {
                                0 => ".min",
                                _ if index == last => ".max",
                                _ => "",
                            };
                            setting(value, place(&format!("{at}.range{end}")))
                        };
                        (lattice.labels(), lattice.written().into_iter().enumerate().map(of).collect(), Some(lattice))
                    }
                    None => {
                        let values = values.as_deref().unwrap_or_default();
                        let of = |(index, value): (usize, &Value)| {
                            setting(value.to_string(), place(&format!("{at}.values[{index}]")))
                        };
                        (values.iter().map(plain).collect(), values.iter().enumerate().map(of).collect(), None)
                    }
                }
            }
            Self { path: None, values: None, range: None, toleration_seconds: Some(given), replicas: None, .. } => {
                check_selection(name, "workloads", &given.workloads)?;
                check_selection(name, "taints", &given.taints)?;
                let mut taints = Vec::new();
                for wanted in &given.taints {
                    let found = TAINTS.iter().find(|(short, long)| wanted == short || wanted == long);
                    let unknown = || Wrong::of_whole(format!("`{wanted}` is not one of not-ready and unreachable"));
                    taints.push(found.ok_or_else(unknown)?.1);
                }
                let given_values = (given.values.as_ref(), given.range.as_ref());
                let (values, lattice) = numbers(name, Kind::Seconds, given_values, Fields::OF_SECONDS)?;
                let setting = |&seconds: &u32| Setting::TolerationSeconds {
                    workloads: given.workloads.clone(),
                    taints: taints.clone(),
                    seconds,
                };
                (values.iter().map(u32::to_string).collect(), values.iter().map(setting).collect(), lattice)
            }
            Self { path: None, values: None, range: None, toleration_seconds: None, replicas: Some(given), .. } => {
                check_selection(name, "workloads", &given.workloads)?;
                let given_values = (given.values.as_ref(), given.range.as_ref());
                let (values, lattice) = numbers(name, Kind::Count, given_values, Fields::OF_REPLICAS)?;
                let setting = |&count: &u32| Setting::Replicas { workloads: given.workloads.clone(), count };
                (values.iter().map(u32::to_string).collect(), values.iter().map(setting).collect(), lattice)
            }
            _ => {
                return Err(Wrong::lack(format!(
                    "`{name}` has to have either `path` and `values`, or one of `tolerationSeconds` and `replicas`; a `range` may stand \
                     in place of `values`"
                )));
            }
        })
    }
}

impl Setting {
    /// Edits the objects of a scenario.
    ///
    /// # Errors
    ///
    /// If it changes nothing, or what cannot be changed.
    pub(super) fn apply(&self, scenario: &mut ResolvedScenario) -> Result<(), edit::Refused> {
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

    /// The patterns of the workloads that it changes.
    pub(super) fn patterns(&self) -> &[String] {
        match self {
            Self::Path { .. } => &[],
            Self::TolerationSeconds { workloads, .. } | Self::Replicas { workloads, .. } => workloads,
        }
    }

    /// The field of what is varied that it is written in, as a path goes on; nothing if that is the whole.
    pub(super) fn field(&self) -> &'static str {
        match self {
            Self::Path { .. } => "",
            Self::TolerationSeconds { .. } => ".tolerationSeconds",
            Self::Replicas { .. } => ".replicas",
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
