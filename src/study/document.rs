//! A study as its document writes it, read and checked.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::grid::{Axis, Setting, Variant};
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Source, Sources, nearest};
use crate::model::is_dns_subdomain;
use crate::observe::METRICS;
use crate::scenario::{self, Invalid, Overrides, OwnDocument, ResolvedScenario};

/// A study, ready to be run.
#[derive(Debug)]
pub struct Study {
    /// `metadata.name`.
    pub name: String,
    /// Runs of each variant.
    pub replications: u32,
    /// The seed of the first replication.
    pub first_seed: u64,
    /// What is varied.
    pub axes: Vec<Axis>,
    /// All combinations, the last axis fastest.
    pub variants: Vec<Variant>,
    /// Position of the variant that others are compared with.
    pub baseline: usize,
    /// What a unit of each metric costs, by metric.
    pub prices: Vec<(&'static str, f64)>,
    /// Warnings.
    pub warnings: Diagnostics,
    /// The texts that warnings speak of.
    pub sources: Sources,
    /// Equal for studies that would give equal results.
    pub fingerprint: u64,
}

impl Study {
    /// The value of each axis in a variant.
    pub(super) fn settings_of(&self, variant: usize) -> Vec<&Setting> {
        let choice = &Axis::combinations(&self.axes)[variant];
        self.axes.iter().zip(choice).map(|(axis, &index)| &axis.settings[index]).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StudyDocument {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    scenario: String,
    replications: u32,
    vary: Vec<Vary>,
    #[serde(default)]
    baseline: BTreeMap<String, Value>,
    #[serde(default)]
    cost: BTreeMap<String, f64>,
}

/// One thing that is varied: exactly one of `path`, `tolerationSeconds` and `replicas`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Vary {
    name: String,
    path: Option<String>,
    values: Option<Vec<Value>>,
    toleration_seconds: Option<TolerationSeconds>,
    replicas: Option<Replicas>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TolerationSeconds {
    workloads: Vec<String>,
    #[serde(default = "both_taints")]
    taints: Vec<String>,
    values: Vec<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Replicas {
    workloads: Vec<String>,
    values: Vec<u32>,
}

fn both_taints() -> Vec<String> {
    TAINTS.iter().map(|(short, _)| (*short).to_owned()).collect()
}

/// The taints of lost nodes, in short and in full.
const TAINTS: [(&str, &str); 2] =
    [("not-ready", "node.kubernetes.io/not-ready"), ("unreachable", "node.kubernetes.io/unreachable")];

/// What can have a price, in the words of the document, and the metric it prices.
const PRICED: [(&str, &str); 7] = [
    ("unreadyReplicaSeconds", "unready_replica_s"),
    ("evictions", "evictions"),
    ("needlessEvictions", "needless_evictions"),
    ("statefulInterruptions", "stateful_interruptions"),
    ("sloBreaches", "objectives_missed"),
    ("belowMinReadySeconds", "below_min_ready_s"),
    ("preemptions", "preemptions"),
];

/// More runs than this are a slip of the pen.
const RUNS_MAX: u64 = 10_000_000;

/// More variants than this fill the memory, as each has a scenario of its own.
const VARIANTS_MAX: u64 = 10_000;

/// Reads a study and the scenarios of all its variants.
///
/// # Errors
///
/// Everything that is wrong with the study, or with the first of its scenarios that cannot be used.
pub fn load(path: &Path) -> Result<Study, Invalid> {
    let name = path.to_string_lossy().into_owned();
    let text = scenario::read_text(path)?;
    let OwnDocument { value, root, mut diagnostics } = scenario::read_own::<StudyDocument>(&name, &text, "Study")?;
    let sources = Sources::from_iter([Source::new(name.as_str(), text.as_str())]);
    let Some(StudyDocument { metadata, spec, .. }) = value else { return Err(Invalid { diagnostics, sources }) };
    let place = |path: &str| root.locate_text(path);
    let mut problem = |diagnostic: Diagnostic, path: &str, label: &str| {
        diagnostics.push(diagnostic.at(place(path), label));
    };
    if !is_dns_subdomain(&metadata.name) {
        let message = format!("`{}` cannot be the name of a study", metadata.name);
        let help = "use lower-case letters, digits, `-` and `.`; the results go to a directory of that name";
        problem(Diagnostic::error("study::bad_name", message).help(help), "metadata.name", "");
    }
    let axes = axes(&spec, &mut problem);
    let prices = prices(&spec, &mut problem);
    if spec.replications == 0 {
        let diagnostic = Diagnostic::error("study::bad_value", "a study needs at least one replication");
        problem(diagnostic.help("200 tell small differences; 20 are enough to try"), "spec.replications", "zero");
    }
    let combinations = axes.iter().map(|axis| axis.settings.len() as u64).try_fold(1, u64::checked_mul);
    let runs = combinations.and_then(|count| count.checked_mul(spec.replications.into()));
    if combinations.is_none_or(|count| count > VARIANTS_MAX) {
        let diagnostic =
            Diagnostic::error("study::too_large", format!("the grid has more than {VARIANTS_MAX} variants"));
        problem(diagnostic.help("take fewer values"), "spec.vary", "multiplied");
    } else if runs.is_none_or(|runs| runs > RUNS_MAX) {
        let diagnostic = Diagnostic::error("study::too_large", format!("the grid has more than {RUNS_MAX} runs"));
        problem(diagnostic.help("take fewer values or replications"), "spec.vary", "multiplied");
    }
    let baseline = baseline(&spec, &axes, &mut problem);
    if diagnostics.has_errors() {
        diagnostics.sort();
        return Err(Invalid { diagnostics, sources });
    }
    let base_dir = path.parent().unwrap_or(Path::new(""));
    let scenario_path = base_dir.join(&spec.scenario);
    let variants = variants(&axes, &scenario_path, &place("spec.scenario"), &sources)?;
    let fingerprint = fingerprint(&spec, &variants, &prices);
    Ok(Study {
        name: metadata.name,
        replications: spec.replications,
        first_seed: variants[0].scenario.seed,
        axes,
        variants,
        baseline,
        prices,
        warnings: diagnostics,
        sources,
        fingerprint,
    })
}

fn axes(spec: &Spec, problem: &mut impl FnMut(Diagnostic, &str, &str)) -> Vec<Axis> {
    if spec.vary.is_empty() {
        let diagnostic = Diagnostic::error("study::empty_grid", "nothing is varied");
        problem(diagnostic.help("name at least one value, such as `- {name: grace, path: spec.controlPlane.kubeControllerManager.node-monitor-grace-period, values: [40s, 50s]}`"), "spec.vary", "empty");
    }
    let mut axes: Vec<Axis> = Vec::new();
    for (index, vary) in spec.vary.iter().enumerate() {
        let at = format!("spec.vary[{index}]");
        if axes.iter().any(|axis| axis.name == vary.name) {
            let diagnostic = Diagnostic::error("study::repeated_name", format!("`{}` is varied twice", vary.name));
            problem(diagnostic, &format!("{at}.name"), "again");
        }
        match settings(vary) {
            Ok(axis) if axis.settings.is_empty() => {
                let diagnostic = Diagnostic::error("study::empty_grid", format!("`{}` has no values", vary.name));
                problem(diagnostic.help("give it the values to be tried"), &at, "empty");
            }
            Ok(axis) => axes.push(axis),
            Err(message) => problem(Diagnostic::error("study::bad_vary", message), &at, ""),
        }
    }
    axes
}

/// The values of one thing that is varied, with their labels.
fn settings(vary: &Vary) -> Result<Axis, String> {
    let label = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (labels, settings) = match vary {
        Vary { path: Some(path), values: Some(values), toleration_seconds: None, replicas: None, .. } => {
            let setting = |value: &Value| Setting::Path { path: path.clone(), value: value.to_string() };
            (values.iter().map(label).collect(), values.iter().map(setting).collect())
        }
        Vary { path: None, values: None, toleration_seconds: Some(given), replicas: None, .. } => {
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
        Vary { path: None, values: None, toleration_seconds: None, replicas: Some(given), .. } => {
            let setting = |&count: &u32| Setting::Replicas { workloads: given.workloads.clone(), count };
            (given.values.iter().map(u32::to_string).collect(), given.values.iter().map(setting).collect())
        }
        _ => {
            let name = &vary.name;
            return Err(format!(
                "`{name}` has to have either `path` and `values`, or one of `tolerationSeconds` and `replicas`"
            ));
        }
    };
    Ok(Axis { name: vary.name.clone(), labels, settings })
}

fn prices(spec: &Spec, problem: &mut impl FnMut(Diagnostic, &str, &str)) -> Vec<(&'static str, f64)> {
    let mut prices = Vec::new();
    for (name, &price) in &spec.cost {
        let at = format!("spec.cost.{name}");
        let metric = PRICED.iter().find(|(word, _)| word == name).map(|(_, metric)| *metric);
        let metric = metric.or_else(|| METRICS.iter().find(|metric| *metric == name).copied());
        let Some(metric) = metric else {
            let diagnostic = Diagnostic::error("study::unknown_name", format!("`{name}` cannot have a price"));
            let likely = nearest(name, PRICED.iter().map(|(word, _)| *word));
            let help = match likely {
                Some(likely) => format!("the nearest is `{likely}`"),
                None => format!("what can is {}", PRICED.map(|(word, _)| word).join(", ")),
            };
            problem(diagnostic.help(help), &at, "unknown");
            continue;
        };
        if !price.is_finite() {
            problem(Diagnostic::error("study::bad_value", "a price is a finite number"), &at, "");
        }
        prices.push((metric, price));
    }
    prices
}

/// The variant that `baseline` names; the first of each axis that it does not mention.
fn baseline(spec: &Spec, axes: &[Axis], problem: &mut impl FnMut(Diagnostic, &str, &str)) -> usize {
    for name in spec.baseline.keys().filter(|name| axes.iter().all(|axis| axis.name != **name)) {
        let diagnostic = Diagnostic::error("study::unknown_name", format!("nothing that is varied is called `{name}`"));
        problem(diagnostic, &format!("spec.baseline.{name}"), "unknown");
    }
    axes.iter().fold(0, |position, axis| {
        let wanted = spec.baseline.get(&axis.name);
        let label = wanted.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        let index = label.as_ref().map_or(Some(0), |label| axis.labels.iter().position(|known| known == label));
        if index.is_none() {
            let message = format!("`{}` is not one of the values of `{}`", label.unwrap_or_default(), axis.name);
            let help = format!("they are {}", axis.labels.join(", "));
            let diagnostic = Diagnostic::error("study::unknown_name", message).help(help);
            problem(diagnostic, &format!("spec.baseline.{}", axis.name), "no such value");
        }
        position * axis.settings.len() + index.unwrap_or(0)
    })
}

fn variants(
    axes: &[Axis],
    scenario_path: &Path,
    named_at: &Location,
    sources: &Sources,
) -> Result<Vec<Variant>, Invalid> {
    let mut variants = Vec::new();
    for choice in Axis::combinations(axes) {
        let chosen: Vec<&Setting> = axes.iter().zip(&choice).map(|(axis, &index)| &axis.settings[index]).collect();
        let labels: Vec<String> = axes.iter().zip(&choice).map(|(axis, &index)| axis.labels[index].clone()).collect();
        let mut overrides = Overrides::none();
        for setting in &chosen {
            if let Setting::Path { path, value } = setting {
                overrides.set(path, value);
            }
        }
        let said = |message: String| {
            let told: Vec<String> =
                axes.iter().zip(&labels).map(|(axis, label)| format!("{}={label}", axis.name)).collect();
            Diagnostic::error(
                "study::bad_variant",
                format!("the variant {} cannot be played: {message}", told.join(", ")),
            )
        };
        let mut scenario: ResolvedScenario = scenario::load(scenario_path, &overrides).map_err(|mut invalid| {
            if !scenario_path.is_file() {
                let message = format!("there is no scenario `{}`", scenario_path.display());
                let diagnostic = Diagnostic::error("study::unreadable", message).at(named_at.clone(), "");
                return Invalid { diagnostics: diagnostic.into(), sources: sources.clone() };
            }
            invalid.diagnostics.push(said("its scenario is invalid, as said above".to_owned()));
            invalid
        })?;
        for setting in &chosen {
            setting.apply(&mut scenario).map_err(|message| Invalid {
                diagnostics: said(message).at(named_at.clone(), "").into(),
                sources: sources.clone(),
            })?;
        }
        variants.push(Variant { labels, scenario });
    }
    Ok(variants)
}

fn fingerprint(spec: &Spec, variants: &[Variant], prices: &[(&'static str, f64)]) -> u64 {
    let mut text = format!("{} {prices:?}", spec.replications);
    for variant in variants {
        text.push_str(&variant.labels.join(","));
        text.push_str(&scenario::lock_file(&variant.scenario));
    }
    crate::arena::stable_hash(text.as_bytes())
}
