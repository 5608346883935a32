//! A study as its document writes it, read and checked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::break_even::PRICE_MAX;
use super::cost_by::{CostBy, CostByEntry, InvalidCostBy};
use super::grid::{Axis, Variant};
use super::inputs::{self, InputEntry, Inputs, InputsAround};
use super::metrics::{COST, INDIFFERENCE, UNREADY, WORKLOAD_METRICS, metric_names};
use super::problems::Problems;
use super::rare::{self, RareEvent, RareEvents};
use super::requirement::{self, RequireEntry, Requirement};
use super::search::{self, Plan, SearchAround, SearchEntry};
use super::sensitivity::{self, Assumed, AssumedEntry};
use super::setting::{Vary, Wrong, plain};
use super::variants;
use crate::diagnostics::{Diagnostic, Diagnostics, Source, Sources, nearest};
use crate::model::is_dns_subdomain;
use crate::model::manifest::Folder;
use crate::observe::TableInfo;
use crate::report::tables_of_studies;
use crate::scenario::{self, At, Invalid, Overrides, OwnDocument, Share};

/// A study, ready to be run.
#[derive(Clone, Debug)]
pub struct Study {
    /// `metadata.name`.
    pub name: String,
    /// Its file, as it was given, an absolute path by its name alone; none if it was no file.
    pub file: Option<String>,
    /// Runs of each variant.
    pub replications: u32,
    /// The seed of the first replication.
    pub first_seed: u64,
    /// Whether every second replication mirrors the chance of the one before it.
    pub is_antithetic: bool,
    /// What is varied.
    pub axes: Vec<Axis>,
    /// All combinations, the last axis fastest; behind them the scenario as it is, if it is none of them. Of a study with ranges the
    /// points that a search begins with.
    pub variants: Vec<Variant>,
    /// The number that runs of each variant have in the journal; empty if that is its position.
    pub(super) numbers: Vec<usize>,
    /// How ranges are searched; none if there are none.
    pub(super) plan: Option<Plan>,
    /// Position of the variant that others are compared with.
    pub baseline: usize,
    /// What a unit of each metric costs, by metric.
    pub prices: Vec<(&'static str, f64)>,
    /// Workloads whose `tolerationSeconds` are varied, as `kind/namespace/name`, and the position of the axis that does.
    pub tuned: Vec<(String, usize)>,
    /// Whether a variant may be recommended that leaves undone what the baseline gets done.
    pub allows_undone: bool,
    /// Who saves a smaller share than this of what the baseline costs gains nothing that is worth a change.
    pub indifference: f64,
    /// What the costs of a variant's runs are summed up by.
    pub cost_by: CostBy,
    /// What a share of all runs has to keep.
    pub requirements: Vec<Requirement>,
    /// Whether a variant changes how soon a lost node is found.
    pub varies_detection: bool,
    /// Warnings.
    pub warnings: Diagnostics,
    /// The texts that warnings speak of.
    pub sources: Sources,
    /// Equal for studies whose runs would give equal results if failures come as often as they do.
    pub(super) fingerprint: u64,
    /// What it looks for that is rare.
    pub rare: Option<RareEvent>,
    /// Whether that was asked for besides the document.
    pub(crate) is_rare_asked: bool,
    /// What nobody measured, as far as the study says.
    pub assumed: Vec<Assumed>,
    /// What the records leave open that its random processes were fitted to, as far as the study says.
    pub(super) inputs: Option<Inputs>,
    /// Where its scenario is, and with which other values it is read.
    pub(super) origin: (Folder, PathBuf, Overrides),
}

impl Study {
    /// The files that its scenario was read from.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        let of_inputs = self.inputs.iter().flat_map(|inputs| inputs.files.iter().map(PathBuf::as_path));
        self.variants.first().into_iter().flat_map(|variant| variant.base.inputs()).chain(of_inputs)
    }

    /// Whether runs of its variants last differently long: sums over them do not compare.
    #[must_use]
    pub fn varies_length(&self) -> bool {
        self.variants.windows(2).any(|two| two[0].base.duration != two[1].base.duration)
    }

    /// `tolerationSeconds=30, grace=40s`.
    #[must_use]
    pub fn label(&self, variant: usize) -> String {
        let values = self.axes.iter().zip(&self.variants[variant].labels);
        values.map(|(axis, value)| format!("{}={value}", axis.name)).collect::<Vec<_>>().join(", ")
    }

    /// How long runs of each variant last, in seconds, if they differ in it.
    pub(super) fn lengths_s(&self) -> Vec<f64> {
        let lengths = self.variants.iter().map(|variant| variant.base.duration.as_secs_f64());
        if self.varies_length() { lengths.collect() } else { Vec::new() }
    }

    /// Equal for studies whose runs would give equal results; prices and the number of runs do not enter, unless runs are chosen by what
    /// they cost.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let of_runs = self.fingerprint_of_runs();
        let Some(inputs) = &self.inputs else { return of_runs };
        crate::arena::stable_hash(format!("{of_runs:016x} {}", inputs.identity()).as_bytes())
    }

    fn fingerprint_of_runs(&self) -> u64 {
        let figures = requirement::figures(&self.requirements);
        if !figures.is_empty() {
            // Runs keep figures that those of other studies do not.
            return crate::arena::stable_hash(format!("{:016x} {figures:?}", self.fingerprint).as_bytes());
        }
        let Some(rare) = &self.rare else { return self.fingerprint };
        let prices = if rare.is_of_cost() { &self.prices[..] } else { &[] };
        crate::arena::stable_hash(format!("{:016x} {rare:?} {prices:?}", self.fingerprint).as_bytes())
    }

    /// How many runs it plays, those with inputs that were fitted to records drawn anew among them.
    #[cfg(feature = "cli")]
    pub(crate) fn run_count(&self) -> u64 {
        let of_inputs = self.inputs.as_ref().map_or(0, |of| u64::from(of.count) * u64::from(of.replications));
        self.variants.len() as u64 * (u64::from(self.replications) + of_inputs)
    }

    /// Says why the event cannot be looked for in this study, and what to do.
    ///
    /// # Errors
    ///
    /// That.
    pub(crate) fn check_rare(&self, event: &RareEvent) -> Result<(), (String, String)> {
        rare::check(event, &self.variants, self.is_antithetic, !self.prices.is_empty())?;
        self.cost_by.check(true, false, true).map_err(|InvalidCostBy { message, help }| (message, help))?;
        if self.inputs.is_some() {
            inputs::check_question(CostBy::Mean, false, true)?;
        }
        if self.requirements.is_empty() { Ok(()) } else { requirement::check_runs(false, true) }
    }

    /// Says why what variants cost cannot be summed up by that, and what to do.
    ///
    /// # Errors
    ///
    /// That.
    pub(crate) fn check_cost_by(&self, by: CostBy) -> Result<(), InvalidCostBy> {
        by.check(!self.prices.is_empty(), self.is_antithetic, self.rare.is_some())?;
        match self.inputs {
            Some(_) => {
                inputs::check_question(by, false, false).map_err(|(message, help)| InvalidCostBy { message, help })
            }
            None => Ok(()),
        }
    }

    /// Whether what the records leave open is asked.
    pub(crate) fn asks_of_inputs(&self) -> bool {
        self.inputs.is_some()
    }

    /// The study without what its records leave open.
    pub(crate) fn without_inputs(&self) -> Self {
        Self { inputs: None, ..self.clone() }
    }

    /// Whether failures come at random times in any variant.
    pub(super) fn is_chancy(&self) -> bool {
        self.variants.iter().any(|variant| variant.base.chaos.is_random())
    }
}

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

/// What can have a price, in the words of the document, and the metric it prices.
pub(super) const PRICED: [(&str, &str); 10] = [
    ("unreadyReplicaSeconds", "unready_replica_s"),
    ("lostTrafficSeconds", "lost_traffic_s"),
    ("evictions", "evictions"),
    ("needlessEvictions", "needless_evictions"),
    ("statefulInterruptions", "stateful_interruptions"),
    ("sloBreaches", "objectives_missed"),
    ("belowMinReadySeconds", "below_min_ready_s"),
    ("preemptions", "preemptions"),
    ("replicaHours", "replica_h"),
    ("nodeHours", "node_h"),
];

/// More runs than this are a slip of the pen.
pub(super) const RUNS_MAX: u64 = 10_000_000;

/// What is said of lists in which nothing is written.
const EMPTY: &str = "empty";

/// What is said of names of fields that nobody knows.
const UNKNOWN: &str = "unknown";

/// The table that only studies have that require something.
const REQUIREMENTS: &str = "requirements.csv";

/// The table that only studies with ranges have.
const SURROGATE: &str = "surrogate.csv";

/// Those that only studies have that ask what their records leave open.
const OF_INPUTS: [&str; 2] = ["inputs.csv", "input-runs.csv"];

/// Which tables are written besides those of every study.
#[derive(Clone, Copy, Default)]
pub(super) struct Besides {
    pub(super) requirements: bool,
    pub(super) surrogate: bool,
    pub(super) inputs: bool,
}

/// What is said of requirements without a limit.
const NO_LIMIT: &str = "no limit";

/// More variants than this fill the memory, as each has a cluster of its own.
const VARIANTS_MAX: u64 = 10_000;

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
    if !is_dns_subdomain(&metadata.name) {
        let message = format!("`{}` cannot be the name of a study", metadata.name);
        let help = "use lower-case letters, digits, `-` and `.`; the results go to a directory of that name";
        problem(Diagnostic::error("study::bad_name", message).help(help), "metadata.name", "");
    }
    let axes = axes(&spec, root, &mut problem);
    let prices = prices(&spec, &mut problem);
    let is_too_large = check_size(&spec, &axes, &mut problem);
    let baseline = baseline(&spec, &axes, &mut problem);
    let lost = |path: &str| root.has_lost_of(path);
    let plan = plan(&spec, &axes, (lost("spec.vary"), lost("spec.cost")), &mut problem);
    warn_of_detection(&spec, &prices, &mut problem);
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
        varies_detection: detection(&spec).is_some(),
        warnings,
        sources,
        rare: event,
        is_rare_asked: false,
        assumed,
        inputs,
        origin: (folder.clone(), scenario_path.to_owned(), overrides.clone()),
    })
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

/// Fields that decide how soon a lost node is found.
const DETECTION: [&str; 4] =
    ["node-monitor-grace-period", "node-monitor-period", "nodeStatusUpdateFrequency", "nodeLeaseDurationSeconds"];

/// The first path that is varied and decides how soon a lost node is found, and which of all that is varied it is.
fn detection(spec: &Spec) -> Option<(&str, usize)> {
    spec.vary.iter().zip(0..).find_map(|(vary, index)| {
        let path = vary.path.as_deref()?;
        DETECTION.iter().any(|field| path.ends_with(field)).then_some((path, index))
    })
}

/// Where detection is varied, what the API shows tells nothing of a loss that nobody has found yet.
fn warn_of_detection(spec: &Spec, prices: &[(&str, f64)], problem: &mut dyn FnMut(Diagnostic, &str, &str)) {
    let has_price = |metric: &str| prices.iter().any(|(name, price)| *name == metric && *price > 0.0);
    if !has_price(UNREADY) || has_price("lost_traffic_s") {
        return;
    }
    let Some((path, index)) = detection(spec) else { return };
    let message = format!("`{path}` decides when a loss is found, and unready replica-seconds count from then on only");
    let help = "price `lostTrafficSeconds`, which counts what services lose on machines that are down, found or not";
    let diagnostic = Diagnostic::warning("study::detection", message).help(help);
    problem(diagnostic, &format!("spec.vary[{index}].path"), "the later, the cheaper it looks");
}

/// Whether the grid is too large to be looked at.
fn check_size(spec: &Spec, axes: &[Axis], problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> bool {
    if spec.replications == 0 {
        let diagnostic = Diagnostic::error("study::bad_value", "a study needs at least one replication");
        problem(diagnostic.help("200 tell small differences; 20 are enough to try"), "spec.replications", "zero");
    }
    if spec.seeds == Seeds::Antithetic && !spec.replications.is_multiple_of(2) {
        let diagnostic = Diagnostic::error("study::bad_value", "antithetic replications come in pairs");
        problem(diagnostic.help("take an even number, or `seeds: plain`"), "spec.replications", "odd");
    }
    if axes.iter().any(|axis| axis.range.is_some()) {
        // How many points are played is said elsewhere.
        return false;
    }
    let combinations = axes.iter().map(|axis| axis.settings.len() as u64).try_fold(1, u64::checked_mul);
    let runs = combinations.and_then(|count| count.checked_mul(spec.replications.into()));
    let is_too_large = combinations.is_none_or(|count| count > VARIANTS_MAX);
    if is_too_large {
        let diagnostic =
            Diagnostic::error("study::too_large", format!("the grid has more than {VARIANTS_MAX} variants"));
        problem(diagnostic.help("take fewer values"), "spec.vary", "multiplied");
    } else if runs.is_none_or(|runs| runs > RUNS_MAX) {
        let diagnostic = Diagnostic::error("study::too_large", format!("the grid has more than {RUNS_MAX} runs"));
        problem(diagnostic.help("take fewer values or replications"), "spec.vary", "multiplied");
    }
    is_too_large
}

fn axes(spec: &Spec, root: At<'_>, problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> Vec<Axis> {
    let place = |path: &str| root.written(path).location();
    if spec.vary.is_empty() {
        let diagnostic = Diagnostic::error("study::empty_grid", "nothing is varied");
        problem(diagnostic.help("name at least one value, such as `- {name: grace, path: spec.controlPlane.kubeControllerManager.node-monitor-grace-period, values: [40s, 50s]}`"), "spec.vary", EMPTY);
    }
    let mut axes: Vec<Axis> = Vec::new();
    let besides = Besides {
        requirements: !spec.require.is_empty(),
        surrogate: spec.vary.iter().any(Vary::has_range),
        inputs: !spec.inputs.is_empty(),
    };
    for (index, vary) in spec.vary.iter().enumerate() {
        let at = format!("spec.vary[{index}]");
        if let Some((message, help)) = check_name(&vary.name, besides) {
            problem(Diagnostic::error("study::bad_name", message).help(help), &format!("{at}.name"), "");
        }
        if axes.iter().any(|axis| axis.name == vary.name) {
            let diagnostic = Diagnostic::error("study::repeated_name", format!("`{}` is varied twice", vary.name));
            problem(diagnostic, &format!("{at}.name"), "again");
        }
        let earlier = spec.vary[..index].iter().find(|earlier| match (&earlier.path, &vary.path) {
            (Some(one), Some(other)) => is_within(one, other) || is_within(other, one),
            _ => false,
        });
        if let Some(Vary { name, path: Some(path), .. }) = earlier {
            let message = format!("`{}` varies what `{name}` varies: `{path}`", vary.name);
            let help = "of two values of one field only one can hold: put all into one list";
            problem(Diagnostic::error("study::overlap", message).help(help), &format!("{at}.path"), "again");
        }
        if vary.path.as_deref().is_some_and(|path| is_within(path, "metadata")) {
            let diagnostic = Diagnostic::error("study::no_effect", "what a scenario is called makes no difference");
            problem(diagnostic.help("vary something below `spec`"), &format!("{at}.path"), "has no effect");
        }
        if vary.path.as_deref() == Some("spec.seed") {
            let diagnostic = Diagnostic::error("study::bad_vary", "the seed is what replications vary");
            let help = "set `replications`; replication r of every variant has the scenario's seed plus r";
            problem(diagnostic.help(help), &format!("{at}.path"), "has no effect");
        }
        match vary.values(&at, &place) {
            Ok((_, settings, _)) if settings.is_empty() => {
                let diagnostic = Diagnostic::error("study::empty_grid", format!("`{}` has no values", vary.name));
                problem(diagnostic.help("give it the values to be tried"), &at, EMPTY);
            }
            Ok((labels, settings, range)) => {
                let (name, location) = (vary.name.clone(), place(&format!("{at}.name")));
                axes.push(Axis { name, labels, range, today: None, settings, location });
            }
            // What it lacks has been found wrong.
            Err(Wrong { is_lack: true, .. }) if root.has_lost_of(&at) => {}
            Err(Wrong { message, field, .. }) => {
                problem(Diagnostic::error("study::bad_vary", message), &format!("{at}{field}"), "");
            }
        }
    }
    axes
}

/// What is wrong with the name of what is varied, and what to do: it is the name of a column, and stands in `name=value, name=value`.
pub(super) fn check_name(name: &str, besides: Besides) -> Option<(String, &'static str)> {
    let is_written = |table: &TableInfo| match table.file {
        REQUIREMENTS => besides.requirements,
        SURROGATE => besides.surrogate,
        file => besides.inputs || !OF_INPUTS.contains(&file),
    };
    let is_column = |table: &TableInfo| is_written(table) && table.columns.iter().any(|column| column.name == name);
    let is_of_us =
        tables_of_studies().iter().any(is_column) || metric_names().contains(&name) || WORKLOAD_METRICS.contains(&name);
    if is_of_us {
        let message = format!("`{name}` is the name of a column of the tables already");
        return Some((message, "take a word of your own, such as what the value does"));
    }
    let is_readable = !name.trim().is_empty() && name.trim() == name;
    if is_readable && !name.contains(|c: char| c.is_control() || matches!(c, ',' | '=' | '"')) {
        return None;
    }
    let message = format!("{name:?} cannot be the name of what is varied");
    Some((
        message,
        "it heads a column and stands in lists such as `wait=60, grace=40s`: take a word without `,`, `=` and quotes",
    ))
}

/// Whether a path is another one or a field somewhere below it.
pub(super) fn is_within(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn prices(spec: &Spec, problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> Vec<(&'static str, f64)> {
    let mut prices = Vec::new();
    for (name, &price) in &spec.cost {
        let at = format!("spec.cost.{name}");
        let metric = PRICED.iter().find(|(word, _)| word == name).map(|(_, metric)| *metric);
        let metric = metric.or_else(|| metric_names().into_iter().find(|metric| metric == name && *metric != COST));
        let Some(metric) = metric else {
            let diagnostic = Diagnostic::error("study::unknown_name", format!("`{name}` cannot have a price"));
            let likely = nearest(name, PRICED.iter().map(|(word, _)| *word));
            let help = match likely {
                Some(likely) => format!("the nearest is `{likely}`"),
                None => format!("what can is {}", PRICED.map(|(word, _)| word).join(", ")),
            };
            problem(diagnostic.help(help), &at, UNKNOWN);
            continue;
        };
        if !(0.0..=PRICE_MAX).contains(&price) {
            let message = format!("{price} cannot be a price: a price is a number from 0 to 1e12");
            let help = "only what prices are to each other decides: count in another unit; what earns is priced by what its \
                        lack costs";
            problem(Diagnostic::error("study::bad_value", message).help(help), &at, "");
        }
        if prices.iter().any(|(known, _)| *known == metric) {
            let diagnostic = Diagnostic::error("study::repeated_name", format!("`{name}` has another price already"));
            let help = format!("it is the same as {}", same_words(metric));
            problem(diagnostic.help(help), &at, "again");
        }
        prices.push((metric, price));
    }
    prices
}

/// The words under which a metric can have a price.
fn same_words(metric: &str) -> String {
    let word = PRICED.iter().find(|(_, of)| *of == metric).map(|(word, _)| format!("`{word}` and "));
    format!("{}`{metric}`", word.unwrap_or_default())
}

/// The position of the value that `baseline` names, by axis; none where it names none.
fn baseline(spec: &Spec, axes: &[Axis], problem: &mut dyn FnMut(Diagnostic, &str, &str)) -> Vec<Option<usize>> {
    // One whose values are wrong is none of the axes, but named.
    for name in spec.baseline.keys().filter(|name| spec.vary.iter().all(|vary| vary.name != **name)) {
        let diagnostic = Diagnostic::error("study::unknown_name", format!("nothing that is varied is called `{name}`"));
        problem(diagnostic, &format!("spec.baseline.{name}"), UNKNOWN);
    }
    let named = axes.iter().map(|axis| {
        let value = spec.baseline.get(&axis.name)?;
        let label = plain(value);
        let index = match &axis.range {
            Some(range) => range.position(value),
            None => axis.labels.iter().position(|known| *known == label),
        };
        // Which of two things of one name is meant nobody knows.
        let is_one = axes.iter().filter(|other| other.name == axis.name).count() == 1;
        if index.is_none() && is_one {
            let message = format!("`{label}` is not one of the values of `{}`", axis.name);
            let values = match axis.range {
                Some(_) => axis.few_labels(),
                None => axis.labels.join(", "),
            };
            let help = format!("they are {values}; without it the scenario's own value is the baseline");
            let diagnostic = Diagnostic::error("study::unknown_name", message).help(help);
            problem(diagnostic, &format!("spec.baseline.{}", axis.name), "no such value");
        }
        index
    });
    named.collect()
}
