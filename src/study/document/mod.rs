//! A study as its document writes it, read and checked.

mod axes;
mod prices;

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::cost_by::{CostBy, CostByEntry, InvalidCostBy};
use super::definition::Study;
use super::grid::Axis;
use super::inputs::{self, InputEntry, InputsAround};
use super::metrics::{INDIFFERENCE, WORKLOAD_METRICS, metric_names};
use super::problems::Problems;
use super::rare::{self, RareEvents};
use super::requirement::{self, RequireEntry, Requirement};
use super::search::{self, Plan, SearchAround, SearchEntry};
use super::sensitivity::{self, AssumedEntry};
use super::setting::Vary;
use super::variants;
use crate::diagnostics::{Diagnostic, Source};
use crate::model::is_dns_subdomain;
use crate::model::manifest::Folder;
use crate::scenario::{self, At, Invalid, Overrides, OwnDocument, Share};

pub(super) use axes::{Besides, RUNS_MAX, check_name, is_within};
pub(super) use prices::PRICED;

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StudyDocument {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    /// What it is called.
    metadata: Metadata,
    /// What it says.
    spec: Spec,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Metadata {
    /// The name: results are written to `reports/<name>`.
    pub(super) name: String,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Spec {
    /// The file of the scenario, relative to this one.
    scenario: String,
    /// How often each variant is played.
    replications: u32,
    /// How the replications get their chance.
    #[serde(default)]
    seeds: Seeds,
    /// What is varied; every combination is a variant.
    vary: Vec<Vary>,
    /// The variant that others are compared with, by the value of each thing that is varied.
    #[serde(default)]
    baseline: BTreeMap<String, Value>,
    /// What a unit of each metric costs.
    #[serde(default)]
    cost: BTreeMap<String, f64>,
    /// What the costs of a variant's runs are summed up by; their mean if nothing is said.
    #[serde(default)]
    cost_by: Option<CostByEntry>,
    /// Whether a variant may win that leaves undone what the baseline gets done.
    #[serde(default)]
    allow_undone: bool,
    /// Who saves a smaller share than this of what the baseline costs gains nothing that is worth a change; 1 % if nothing is said.
    #[serde(default)]
    indifference: Option<Share>,
    /// What a share of all runs has to keep: a variant that is not told to meet it is not recommended.
    #[serde(default)]
    require: Vec<RequireEntry>,
    /// How far ranges are searched.
    #[serde(default)]
    search: Option<SearchEntry>,
    /// An event that is too rare to be waited for: failures are drawn more often than they come, and runs carry weights.
    #[serde(default)]
    rare_events: Option<RareEvents>,
    /// What nobody measured, and how far off it may be: `kubesquall sensitivity` says how far the answer rests on it.
    #[serde(default)]
    assumed: Vec<AssumedEntry>,
    /// Random processes that were fitted to records, and the fits to these records drawn anew: what the records leave open is then told, too.
    #[serde(default)]
    inputs: Vec<InputEntry>,
    /// Runs of each variant with each of these fits; if nothing is said as many as make about `replications` of them together, 5 at least.
    #[serde(default)]
    input_replications: Option<u32>,
}

/// What a study looks like, for editors.
#[cfg(feature = "cli")]
pub(crate) fn schema() -> Value {
    scenario::schemas::of_document::<StudyDocument>(
        "Study",
        "a study: a scenario that is played with many values and seeds",
    )
}

/// How the replications get their chance.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
enum Seeds {
    /// A seed of its own each.
    #[default]
    Plain,
    /// Two share a seed; the second has the mirror image of each number that the first drew.
    Antithetic,
}

/// What is said of lists in which nothing is written.
const EMPTY: &str = "empty";

/// What is said of names of fields that nobody knows.
const UNKNOWN: &str = "unknown";

/// What is said of requirements without a limit.
const NO_LIMIT: &str = "no limit";

/// Reads a study and tries the scenarios of all its variants.
///
/// # Errors
///
/// Everything that is wrong with the study and with its scenarios, as far as one problem does not hide another.
pub fn load(path: &Path) -> Result<Study, Invalid> {
    load_with(path, &Overrides::none())
}

/// The same, with values that the scenarios of all variants have.
///
/// # Errors
///
/// Everything that is wrong with the study and with its scenarios, as far as one problem does not hide another.
pub fn load_with(path: &Path, overrides: &Overrides) -> Result<Study, Invalid> {
    let text = scenario::read_text(path)?;
    let study = parse(&path.to_string_lossy(), &text, &Folder::on_disk(Path::new("")).around(path), overrides)?;
    Ok(Study { file: file_as_given(path), ..study })
}

/// The file of a study or plan as its results name it: no result holds an absolute path. None for standard input.
pub(super) fn file_as_given(path: &Path) -> Option<String> {
    let shown = if path.is_absolute() { Path::new(path.file_name()?) } else { path };
    (path != Path::new("-")).then(|| shown.to_string_lossy().into_owned())
}

/// Reads a study from its text; `name` is how messages name it, `folder` where its paths lead.
///
/// # Errors
///
/// Everything that is wrong with the study and with its scenarios, as far as one problem does not hide another.
pub(crate) fn parse(name: &str, text: &str, folder: &Folder, overrides: &Overrides) -> Result<Study, Invalid> {
    let OwnDocument { value, root, diagnostics } =
        scenario::read_own::<StudyDocument>((name, text), "Study", overrides)?;
    let mut problems = Problems::of(Source::new(name, text), diagnostics);
    let Some(StudyDocument { metadata, spec, .. }) = value else { return Err(problems.refuse()) };
    let root = At::root(&root);
    let place = |path: &str| root.written(path).location();
    let mut problem = |diagnostic: Diagnostic, path: &str, label: &str| {
        // What is empty because all of it was wrong has been reported.
        if (label == EMPTY || label == NO_LIMIT) && root.has_lost_of(path) {
            return;
        }
        // Of a name that nobody knows the name is pointed at, and not what stands behind it.
        let at = if label == UNKNOWN { root.name_of(path) } else { place(path) };
        problems.push(diagnostic.at(at, label));
    };
    check_own_name(&metadata.name, &mut problem);
    let axes = axes::axes(&spec, root, &mut problem);
    let prices = prices::read(&spec, &mut problem);
    let is_too_large = axes::check_size(&spec, &axes, &mut problem);
    let baseline = axes::baseline(&spec, &axes, &mut problem);
    let lost = |path: &str| root.has_lost_of(path);
    let plan = plan(&spec, &axes, (lost("spec.vary"), lost("spec.cost")), &mut problem);
    prices::warn_of_detection(&spec, &prices, &mut problem);
    let varied = spec.vary.iter().map(|vary| (vary.name.as_str(), vary.path.as_deref())).collect();
    let around = sensitivity::Around { varied, prices: &prices, place: &place };
    let assumed = sensitivity::read(&spec.assumed, &around, &mut problem);
    let event = spec.rare_events.as_ref().and_then(|events| events.read(&mut problem));
    let required = requirements(&spec, &axes, &mut problem);
    let cost_by = cost_by(&spec, &mut problem);
    check_inputs(&spec, cost_by, &mut problem);
    let scenario_path = Path::new(&spec.scenario);
    if !folder.is_file(scenario_path) {
        let message = format!("there is no scenario `{}`", folder.join(scenario_path).display());
        problem(Diagnostic::error("study::unreadable", message), "spec.scenario", "");
        problems.sort();
        return Err(problems.refuse());
    }
    problems.sort();
    // To try all values of too large a grid would take as long as it is large.
    if is_too_large {
        return Err(problems.refuse());
    }
    let begin = plan.as_ref().map(|plan| &plan.space);
    let grid = variants::resolve(axes, &baseline, begin, (folder, scenario_path), &mut problems, overrides);
    let is_antithetic = spec.seeds == Seeds::Antithetic;
    if let (Some(event), Some(grid)) = (&event, &grid)
        && let Err((message, help)) = rare::check(event, &grid.variants, is_antithetic, !prices.is_empty())
    {
        let diagnostic = Diagnostic::error("study::rare_event", message).help(help);
        problems.push(diagnostic.at(place("spec.rareEvents"), ""));
    }
    if grid.is_some() && !assumed.is_empty() {
        sensitivity::check(&assumed, (folder, scenario_path), &mut problems, overrides);
    }
    if let Some(grid) = &grid {
        for (one, at) in &required {
            if let Err((message, help)) = requirement::check(one, &grid.variants, !prices.is_empty()) {
                let diagnostic = Diagnostic::error("study::requirement", message).help(help);
                problems.push(diagnostic.at(place(at), ""));
            }
        }
        if let Some(few) = requirement::too_few(&required, grid.variants.len(), spec.replications) {
            problems.push(few.at(place("spec.replications"), "too few"));
        }
    }
    let inputs = grid.as_ref().and_then(|grid| {
        let around =
            InputsAround { folder, variants: &grid.variants, replications: spec.replications.max(1), place: &place };
        inputs::read(&spec.inputs, spec.input_replications, &around, &mut problems)
    });
    let (warnings, sources) = problems.end()?;
    let grid = grid.expect("there are errors where there is none");
    // Neither prices nor the number of replications change what a run gives.
    let columns = (metric_names(), WORKLOAD_METRICS);
    let of_study = format!("{is_antithetic} {columns:?} {}", env!("CARGO_PKG_VERSION"));
    Ok(Study {
        name: metadata.name,
        file: None,
        replications: spec.replications,
        first_seed: grid.variants[0].base.seed,
        is_antithetic,
        fingerprint: grid.fingerprint(&of_study),
        axes: grid.axes,
        variants: grid.variants,
        numbers: grid.numbers,
        plan,
        baseline: grid.baseline,
        prices,
        tuned: grid.tuned,
        allows_undone: spec.allow_undone,
        indifference: spec.indifference.map_or(INDIFFERENCE, |share| share.0),
        cost_by,
        requirements: required.into_iter().map(|(one, _)| one).collect(),
        varies_detection: prices::detection(&spec).is_some(),
        warnings,
        sources,
        rare: event,
        is_rare_asked: false,
        assumed,
        inputs,
        origin: (folder.clone(), scenario_path.to_owned(), overrides.clone()),
    })
}

fn check_own_name(name: &str, problem: &mut dyn FnMut(Diagnostic, &str, &str)) {
    if is_dns_subdomain(name) {
        return;
    }
    let message = format!("`{name}` cannot be the name of a study");
    let help = "use lower-case letters, digits, `-` and `.`; the results go to a directory of that name";
    problem(Diagnostic::error("study::bad_name", message).help(help), "metadata.name", "");
}

/// Whether what its records leave open can be asked of such a study.
fn check_inputs(spec: &Spec, cost_by: CostBy, problem: &mut dyn FnMut(Diagnostic, &str, &str)) {
    let is_antithetic = spec.seeds == Seeds::Antithetic;
    if !spec.inputs.is_empty()
        && let Err((message, help)) = inputs::check_question(cost_by, is_antithetic, spec.rare_events.is_some())
    {
        problem(Diagnostic::error("study::inputs", message).help(help), "spec.inputs", "");
    }
}

/// How ranges are searched, if there are any.
fn plan(
    spec: &Spec,
    axes: &[Axis],
    (has_lost, is_cost_lost): (bool, bool),
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) -> Option<Plan> {
    let around = SearchAround {
        ranges: spec.vary.iter().filter(|vary| vary.has_range()).count(),
        is_whole: axes.len() == spec.vary.len(),
        has_lost,
        replications: spec.replications,
        is_priced: !spec.cost.is_empty() || is_cost_lost,
        requires: !spec.require.is_empty(),
        asks_of_inputs: !spec.inputs.is_empty(),
        is_rare: spec.rare_events.is_some(),
        is_of_bad_runs: spec.cost_by.is_some_and(|entry| entry.read().is_ok_and(|by| !by.is_mean())),
    };
    search::read(spec.search, &around, axes, problem)
}

/// What costs are summed up by.
fn cost_by(spec: &Spec, problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> CostBy {
    let Some(entry) = spec.cost_by else { return CostBy::Mean };
    let checked = entry.read().and_then(|by| {
        by.check(!spec.cost.is_empty(), spec.seeds == Seeds::Antithetic, spec.rare_events.is_some())?;
        Ok(by)
    });
    checked.unwrap_or_else(|InvalidCostBy { message, help }| {
        problem(Diagnostic::error("study::cost_by", message).help(help), "spec.costBy", "");
        CostBy::Mean
    })
}

/// What is required, with the path of each.
fn requirements(
    spec: &Spec,
    axes: &[Axis],
    problem: &mut dyn FnMut(Diagnostic, &str, &str),
) -> Vec<(Requirement, String)> {
    let mut found: Vec<(Requirement, String)> = Vec::new();
    for (index, entry) in spec.require.iter().enumerate() {
        let at = format!("spec.require[{index}]");
        let Some(one) = entry.read((&at, NO_LIMIT), problem) else { continue };
        if found.iter().any(|(known, _)| *known == one) {
            problem(Diagnostic::error("study::repeated_name", "this is required already"), &at, "again");
        }
        if let Some(axis) = axes.iter().find(|axis| axis.name == one.figure()) {
            let message = format!("`{}` heads a column of its own already", axis.name);
            let help = "give what is varied another name";
            problem(Diagnostic::error("study::bad_name", message).help(help), &at, "");
        }
        found.push((one, at));
    }
    if !found.is_empty()
        && let Err((message, help)) =
            requirement::check_runs(spec.seeds == Seeds::Antithetic, spec.rare_events.is_some())
    {
        problem(Diagnostic::error("study::requirement", message).help(help), "spec.require", "");
    }
    found
}
