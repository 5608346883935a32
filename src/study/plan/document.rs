//! A plan as its document writes it, read and checked.

use std::path::Path;

use serde::Deserialize;

use super::super::document::Metadata;
use super::super::problems::Problems;
use super::case::{CaseEntry, labels};
use super::checker::Checker;
use super::loader::Loader;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostics, Source, Sources};
use crate::model::manifest::Folder;
use crate::procedures::rolling_upgrade::RollingUpgradeSpec;
use crate::scenario::{self, At, Invalid, Overrides, OwnDocument, ResolvedScenario};

/// A plan, ready to be worked out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `metadata.name`.
    pub name: String,
    /// The pools whose counts are searched.
    pub pools: Vec<PoolRange>,
    /// What has to be survived, in the order of the document.
    pub cases: Vec<Case>,
    /// Pods of at least this priority must not be left Pending.
    pub priority: i32,
    /// How the document writes the priority; none if it means every pod.
    pub priority_label: Option<String>,
    /// The cluster, with nothing happening to it.
    pub(super) base: ResolvedScenario,
    /// Warnings.
    pub warnings: Diagnostics,
    /// The texts that warnings speak of.
    pub sources: Sources,
}

impl Plan {
    /// The files that its cluster was read from.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.base.inputs()
    }
}

/// A pool whose count is searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolRange {
    /// Its name.
    pub name: Symbol,
    /// The fewest nodes that are tried.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// What a node costs, in millionths, so that sums are exact.
    pub price_micros: i64,
    /// How many the scenario has.
    pub now: u32,
}

/// Something that has to be survived.
#[derive(Clone, Debug)]
pub struct Case {
    /// How people call it.
    pub label: String,
    /// What happens.
    pub kind: CaseKind,
}

/// What happens in a case.
#[derive(Clone, Debug)]
pub enum CaseKind {
    /// Any one zone is lost.
    Zone,
    /// Any so many nodes are lost.
    Nodes(u32),
    /// Each of the searched pools, one after the other, is upgraded as the specification says; its pool is replaced.
    RollingUpgrade(RollingUpgradeSpec),
    /// The timeline of a scenario, on that scenario's cluster.
    Scenario(Box<ResolvedScenario>),
}

impl PoolRange {
    pub(super) fn fewest(&self) -> u32 {
        self.min
    }

    pub(super) fn most(&self) -> u32 {
        self.max
    }
}

impl Plan {
    /// Positions of the searched pools in a scenario, with their counts.
    pub(super) fn counts_in(&self, scenario: &ResolvedScenario, counts: &[u32]) -> Vec<(usize, u32)> {
        let position = |pool: &PoolRange| scenario.pools.iter().position(|other| other.name == pool.name);
        self.pools.iter().zip(counts).filter_map(|(pool, &count)| Some((position(pool)?, count))).collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PlanDocument {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Spec {
    pub(super) scenario: String,
    pub(super) pools: Vec<PoolEntry>,
    pub(super) survive: Vec<CaseEntry>,
    pub(super) priority: Option<i32>,
    pub(super) priority_class: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PoolEntry {
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) min: u32,
    pub(super) max: u32,
    #[serde(default = "price_of_one")]
    pub(super) price: f64,
}

const fn one() -> u32 {
    1
}

const fn price_of_one() -> f64 {
    1.0
}

/// Reads a plan and the scenarios it names.
///
/// # Errors
///
/// Everything that is wrong with the plan and with its scenarios, as far as one problem does not hide another.
pub fn load(path: &Path) -> Result<Plan, Invalid> {
    load_with(path, &Overrides::none())
}

/// The same, with values that all of its scenarios have.
///
/// # Errors
///
/// Everything that is wrong with the plan and with its scenarios, as far as one problem does not hide another.
pub fn load_with(path: &Path, overrides: &Overrides) -> Result<Plan, Invalid> {
    let text = scenario::read_text(path)?;
    parse(&path.to_string_lossy(), &text, &Folder::on_disk(Path::new("")).around(path), overrides)
}

/// Reads a plan from its text; `name` is how messages name it, `folder` where its paths lead.
///
/// # Errors
///
/// Everything that is wrong with the plan and with its scenarios, as far as one problem does not hide another.
pub(crate) fn parse(name: &str, text: &str, folder: &Folder, overrides: &Overrides) -> Result<Plan, Invalid> {
    let OwnDocument { value, root, diagnostics } = scenario::read_own::<PlanDocument>(name, text, "Plan")?;
    let problems = Problems::of(Source::new(name, text), diagnostics);
    let Some(PlanDocument { metadata, spec, .. }) = value else { return Err(problems.refuse()) };
    let root = At::root(&root);
    let place = |path: &str| root.written(path).location();
    let sources = Sources::from_iter([Source::new(name, text)]);
    let loader = Loader { folder, place: &place, sources: &sources, overrides };
    let mut checker = Checker { problems, place: &place, has_lost: &|path| root.written(path).has_lost() };
    checker.name(&metadata.name);
    checker.pools(&spec);
    checker.cases(&spec);
    checker.problems.sort();
    let found = loader.load(&spec.scenario, &Overrides::none(), "spec.scenario");
    let written = checker.problems.take(found);
    let (pools, priority) = match &written {
        Some(written) => (checker.pools_of(&spec, written), checker.priority(&spec, written)),
        None => (Vec::new(), (i32::MIN, None)),
    };
    let base = written.as_ref().and_then(|written| base(&spec, written, &pools, &loader, &mut checker));
    let cases = cases(&spec, &pools, &loader, &mut checker);
    if let (Some(base), false) = (&base, checker.problems.has_errors()) {
        checker.warn_of_nobody(&spec, priority.0, base, &cases);
    }
    let (warnings, sources) = checker.problems.end()?;
    let base = base.expect("there are errors where there is none");
    let (priority, priority_label) = priority;
    Ok(Plan { name: metadata.name, pools, cases, priority, priority_label, base, warnings, sources })
}

/// The cluster of a plan; none if something is wrong with it, or with what is known of the plan.
fn base(
    spec: &Spec,
    written: &ResolvedScenario,
    pools: &[PoolRange],
    loader: &Loader<'_>,
    checker: &mut Checker<'_>,
) -> Option<ResolvedScenario> {
    if checker.problems.has_errors() {
        return None;
    }
    let found = loader.base(spec, written, pools);
    let base = checker.problems.take(found)?;
    checker.sizes(spec, &base, pools);
    let is_played = |file: &str| file == spec.scenario;
    let plays_itself = spec.survive.iter().any(|case| matches!(case, CaseEntry::Scenario(file) if is_played(file)));
    checker.warn_of_requests(written);
    if !plays_itself && (!written.timeline.is_empty() || !written.chaos.processes.is_empty()) {
        checker.warn_of_timeline(&spec.scenario);
    }
    Some(base)
}

/// The cases, without those of which the scenario cannot be used.
fn cases(spec: &Spec, pools: &[PoolRange], loader: &Loader<'_>, checker: &mut Checker<'_>) -> Vec<Case> {
    // As long as something is wrong with the pools, scenarios are only held against themselves.
    let is_sound = !checker.problems.has_errors();
    let mut cases = Vec::new();
    for ((index, entry), label) in spec.survive.iter().enumerate().zip(labels(&spec.survive)) {
        let kind = match entry {
            CaseEntry::Zone => CaseKind::Zone,
            CaseEntry::Nodes(count) => CaseKind::Nodes(*count),
            CaseEntry::RollingUpgrade(spec) => CaseKind::RollingUpgrade(spec.clone()),
            CaseEntry::Scenario(file) => {
                let at = format!("spec.survive[{index}]");
                let found = match is_sound {
                    true => loader.case(file, pools, &at),
                    false => loader.load(file, &Overrides::none(), &at),
                };
                let Some(scenario) = checker.problems.take(found) else { continue };
                CaseKind::Scenario(Box::new(scenario))
            }
        };
        cases.push(Case { label, kind });
    }
    cases
}
