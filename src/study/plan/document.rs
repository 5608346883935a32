//! A plan as its document writes it, read and checked.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::super::document::Metadata;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Location, Source, Sources, nearest};
use crate::model::{Object, SYSTEM_PRIORITY_CLASSES, is_dns_subdomain, zone_of};
use crate::procedures::{RollingUpgradeSpec, UndrainableNodeBehavior};
use crate::scenario::{self, Invalid, Overrides, OwnDocument, ResolvedScenario};
use crate::units::{IntOrPercent, SimDuration, with_days};

/// A plan, ready to be worked out.
#[derive(Debug)]
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
#[derive(Debug)]
pub struct Case {
    /// How people call it.
    pub label: String,
    /// What happens.
    pub kind: CaseKind,
}

/// What happens in a case.
#[derive(Debug)]
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
struct Spec {
    scenario: String,
    pools: Vec<PoolEntry>,
    survive: Vec<CaseEntry>,
    priority: Option<i32>,
    priority_class: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PoolEntry {
    name: String,
    #[serde(default = "one")]
    min: u32,
    max: u32,
    #[serde(default = "price_of_one")]
    price: f64,
}

const fn one() -> u32 {
    1
}

const fn price_of_one() -> f64 {
    1.0
}

/// The names that a case can begin with.
const CASES: &[&str] = &["zone", "node", "nodes", "rollingUpgrade", "scenario"];

#[derive(Clone, Debug, PartialEq)]
enum CaseEntry {
    Zone,
    Nodes(u32),
    RollingUpgrade(RollingUpgradeSpec),
    Scenario(String),
}

impl<'de> Deserialize<'de> for CaseEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CaseVisitor)
    }
}

struct CaseVisitor;

/// A case that says more than its name.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CaseMap {
    nodes: Option<u32>,
    rolling_upgrade: Option<RollingUpgradeEntry>,
    scenario: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RollingUpgradeEntry {
    max_surge: Option<IntOrPercent>,
    max_unavailable: Option<IntOrPercent>,
    #[serde(default = "half_an_hour", with = "with_days")]
    drain_timeout: SimDuration,
    #[serde(default, with = "with_days")]
    node_soak: SimDuration,
}

const fn half_an_hour() -> SimDuration {
    SimDuration::from_secs(1800)
}

impl RollingUpgradeEntry {
    /// One node after the other, if nothing else is said: a plan asks what the nodes themselves can take.
    const PLAIN: Self =
        Self { max_surge: None, max_unavailable: None, drain_timeout: half_an_hour(), node_soak: SimDuration::ZERO };

    fn spec(self) -> RollingUpgradeSpec {
        let is_silent = self.max_surge.is_none() && self.max_unavailable.is_none();
        let mut spec = RollingUpgradeSpec {
            pool: Symbol::empty(),
            max_surge: self.max_surge,
            max_unavailable: if is_silent { Some(IntOrPercent::Int(1)) } else { self.max_unavailable },
            drain_timeout: self.drain_timeout,
            node_soak: self.node_soak,
            undrainable_node_behavior: UndrainableNodeBehavior::Schedule,
        };
        // Both said, so that cases which mean the same are the same.
        spec.max_surge = Some(spec.surge());
        spec.max_unavailable = Some(spec.max_unavailable.unwrap_or_default());
        spec
    }
}

impl<'de> Visitor<'de> for CaseVisitor {
    type Value = CaseEntry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a case such as `zone`, `node`, `nodes: 2`, `rollingUpgrade` or the file of a scenario")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<CaseEntry, E> {
        let is_file = [".yaml", ".yml", ".json"].iter().any(|ending| text.ends_with(ending));
        match text {
            "zone" => Ok(CaseEntry::Zone),
            "node" => Ok(CaseEntry::Nodes(1)),
            "rollingUpgrade" => Ok(CaseEntry::RollingUpgrade(RollingUpgradeEntry::PLAIN.spec())),
            "nodes" => Err(E::custom("`nodes` needs to know how many: write `nodes: 2`")),
            "scenario" => Err(E::custom("`scenario` needs a file: write `scenario: outage.yaml`")),
            file if is_file => Ok(CaseEntry::Scenario(file.to_owned())),
            other => Err(E::unknown_variant(other, CASES)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CaseEntry, A::Error> {
        match CaseMap::deserialize(MapAccessDeserializer::new(map))? {
            CaseMap { nodes: Some(0), .. } => Err(A::Error::custom("losing no node is nothing to survive")),
            CaseMap { nodes: Some(count), rolling_upgrade: None, scenario: None } => Ok(CaseEntry::Nodes(count)),
            CaseMap { nodes: None, rolling_upgrade: Some(entry), scenario: None } => match entry.spec() {
                spec if spec.at_a_time(1000) == (0, 0) => {
                    Err(A::Error::custom("neither `maxSurge` nor `maxUnavailable` allows any node to go"))
                }
                spec => Ok(CaseEntry::RollingUpgrade(spec)),
            },
            CaseMap { nodes: None, rolling_upgrade: None, scenario: Some(file) } => Ok(CaseEntry::Scenario(file)),
            _ => Err(A::Error::custom("an item of `survive` is one case: `nodes`, `rollingUpgrade` or `scenario`")),
        }
    }
}

impl CaseEntry {
    fn label(&self) -> String {
        match self {
            Self::Zone => "zone".to_owned(),
            Self::Nodes(1) => "node".to_owned(),
            Self::Nodes(count) => format!("{count} nodes"),
            Self::RollingUpgrade(_) => "rollingUpgrade".to_owned(),
            Self::Scenario(file) => Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        }
    }
}

/// What cases are called, each otherwise than the others.
fn labels(cases: &[CaseEntry]) -> Vec<String> {
    let unique = |case: &CaseEntry| {
        let alike: Vec<&CaseEntry> = cases.iter().filter(|other| other.label() == case.label()).collect();
        match case {
            CaseEntry::Scenario(file) if alike.len() > 1 => file.clone(),
            CaseEntry::RollingUpgrade(spec) => case.label() + &differences(spec, &alike),
            _ => case.label(),
        }
    };
    cases.iter().map(unique).collect()
}

/// What sets an upgrade apart from others: ` maxSurge=1 maxUnavailable=0`.
fn differences(spec: &RollingUpgradeSpec, cases: &[&CaseEntry]) -> String {
    type Field = fn(&RollingUpgradeSpec) -> String;
    let fields: [(&str, Field); 4] = [
        ("maxSurge", |spec| spec.surge().to_string()),
        ("maxUnavailable", |spec| spec.max_unavailable.unwrap_or_default().to_string()),
        ("drainTimeout", |spec| spec.drain_timeout.to_string()),
        ("nodeSoak", |spec| spec.node_soak.to_string()),
    ];
    let differs = |field: Field| {
        cases.iter().any(|case| matches!(case, CaseEntry::RollingUpgrade(other) if field(other) != field(spec)))
    };
    let said = fields.into_iter().filter(|(_, field)| differs(*field));
    said.map(|(name, field)| format!(" {name}={}", field(spec))).collect()
}

/// More mixes of pools than this are not tried.
const MIXES_MAX: u64 = 20_000;

/// More sets of lost nodes than this are not played for one count.
const SETS_MAX: u64 = 200_000;

/// More nodes than this are not searched for.
const COUNT_MAX: u32 = 5_000;

/// Reads a plan and the scenarios it names.
///
/// # Errors
///
/// Everything that is wrong with the plan, or with the first of its scenarios that cannot be used.
pub fn load(path: &Path) -> Result<Plan, Invalid> {
    load_with(path, &Overrides::none())
}

/// The same, with values that all of its scenarios have.
///
/// # Errors
///
/// Everything that is wrong with the plan, or with the first of its scenarios that cannot be used.
pub fn load_with(path: &Path, overrides: &Overrides) -> Result<Plan, Invalid> {
    let name = path.to_string_lossy().into_owned();
    let text = scenario::read_text(path)?;
    let OwnDocument { value, root, diagnostics } = scenario::read_own::<PlanDocument>(&name, &text, "Plan")?;
    let sources = Sources::from_iter([Source::new(name.as_str(), text.as_str())]);
    let Some(PlanDocument { metadata, spec, .. }) = value else { return Err(Invalid { diagnostics, sources }) };
    let place = |path: &str| root.locate_text(path);
    let mut checker = Checker { diagnostics, place: &place };
    checker.name(&metadata.name);
    checker.pools(&spec);
    checker.cases(&spec);
    checker.end(&sources)?;

    let dir = path.parent().unwrap_or(Path::new(""));
    let mut loader = Loader { dir, place: &place, sources: &sources, overrides };
    let written = loader.load(&spec.scenario, &Overrides::none(), "spec.scenario")?;
    let pools = checker.pools_of(&spec, &written);
    let (priority, priority_label) = checker.priority(&spec, &written);
    checker.end(&sources)?;
    let base = loader.base(&spec, &written, &pools)?;
    checker.sizes(&spec, &base, &pools);
    let is_played = |file: &str| file == spec.scenario;
    let plays_itself = spec.survive.iter().any(|case| matches!(case, CaseEntry::Scenario(file) if is_played(file)));
    checker.warn_of_requests(&written);
    if !plays_itself && (!written.timeline.is_empty() || !written.chaos.processes.is_empty()) {
        checker.warn_of_timeline(&spec.scenario);
    }
    checker.end(&sources)?;
    let mut cases = Vec::new();
    for ((index, entry), label) in spec.survive.iter().enumerate().zip(labels(&spec.survive)) {
        let kind = match entry {
            CaseEntry::Zone => CaseKind::Zone,
            CaseEntry::Nodes(count) => CaseKind::Nodes(*count),
            CaseEntry::RollingUpgrade(spec) => CaseKind::RollingUpgrade(spec.clone()),
            CaseEntry::Scenario(file) => {
                let at = format!("spec.survive[{index}]");
                CaseKind::Scenario(Box::new(loader.case(file, &pools, &at)?))
            }
        };
        cases.push(Case { label, kind });
    }
    checker.warn_of_nobody(&spec, priority, &base, &cases);
    checker.end(&sources)?;
    let warnings = checker.diagnostics;
    Ok(Plan { name: metadata.name, pools, cases, priority, priority_label, base, warnings, sources })
}

/// Collects what is wrong with the plan itself.
struct Checker<'a> {
    diagnostics: Diagnostics,
    place: &'a dyn Fn(&str) -> Location,
}

impl Checker<'_> {
    fn problem(&mut self, diagnostic: Diagnostic, path: &str, label: &str) {
        self.diagnostics.push(diagnostic.at((self.place)(path), label));
    }

    /// Stops here if something is wrong.
    fn end(&mut self, sources: &Sources) -> Result<(), Invalid> {
        if !self.diagnostics.has_errors() {
            return Ok(());
        }
        let diagnostics = std::mem::take(&mut self.diagnostics).sorted();
        Err(Invalid { diagnostics, sources: sources.clone() })
    }

    fn name(&mut self, name: &str) {
        if !is_dns_subdomain(name) {
            let message = format!("`{name}` cannot be the name of a plan");
            let help = "use lower-case letters, digits, `-` and `.`; the results go to a directory of that name";
            self.problem(Diagnostic::error("plan::bad_name", message).help(help), "metadata.name", "");
        }
    }

    fn pools(&mut self, spec: &Spec) {
        if spec.pools.is_empty() {
            let diagnostic = Diagnostic::error("plan::no_pools", "no pool is named whose count is to be found");
            let help = "name at least one node pool of the scenario, such as `- {name: worker, min: 3, max: 30}`";
            self.problem(diagnostic.help(help), "spec.pools", "empty");
        }
        for (index, pool) in spec.pools.iter().enumerate() {
            let at = |field: &str| format!("spec.pools[{index}].{field}");
            if pool.min > pool.max {
                let message =
                    format!("the pool `{}` has a `min` of {} and a `max` of {}", pool.name, pool.min, pool.max);
                let diagnostic = Diagnostic::error("plan::bad_range", message);
                self.problem(diagnostic.help("a range goes from the smaller to the larger"), &at("min"), "above `max`");
            }
            if pool.max > COUNT_MAX {
                let message = format!("more than {COUNT_MAX} nodes of a pool are not searched for");
                self.problem(Diagnostic::error("plan::too_large", message), &at("max"), "too many");
            }
            if !pool.price.is_finite() || pool.price < 0.0 || pool.price > 1e9 {
                let diagnostic = Diagnostic::error("plan::bad_price", "a price is a number from 0 to a billion");
                self.problem(diagnostic, &at("price"), "");
            }
            if spec.pools[..index].iter().any(|other| other.name == pool.name) {
                let message = format!("the pool `{}` is named twice", pool.name);
                self.problem(Diagnostic::error("plan::repeated_name", message), &at("name"), "again");
            }
        }
    }

    fn cases(&mut self, spec: &Spec) {
        if spec.survive.is_empty() {
            let diagnostic = Diagnostic::error("plan::no_cases", "there is nothing to survive");
            let help =
                "name at least one case: `zone`, `node`, `nodes: 2`, `rollingUpgrade`, or the file of a scenario";
            self.problem(diagnostic.help(help), "spec.survive", "empty");
        }
        for (index, case) in spec.survive.iter().enumerate() {
            if spec.survive[..index].contains(case) {
                let message = format!("the case `{}` is named twice", case.label());
                self.problem(
                    Diagnostic::error("plan::repeated_name", message),
                    &format!("spec.survive[{index}]"),
                    "again",
                );
            }
        }
        if spec.priority.is_some() && spec.priority_class.is_some() {
            let diagnostic =
                Diagnostic::error("plan::two_priorities", "there is both a `priority` and a `priorityClass`");
            self.problem(diagnostic.help("one of them says which pods count"), "spec.priorityClass", "");
        }
    }

    /// The pools with what the scenario says of them.
    fn pools_of(&mut self, spec: &Spec, scenario: &ResolvedScenario) -> Vec<PoolRange> {
        let mut pools = Vec::new();
        for (index, entry) in spec.pools.iter().enumerate() {
            let Some(pool) = scenario.pools.iter().find(|pool| *pool.name.as_str() == *entry.name) else {
                let message = format!("the scenario has no node pool `{}`", entry.name);
                let names = || scenario.pools.iter().map(|pool| pool.name.as_str());
                let help = match nearest(&entry.name, names()) {
                    Some(nearest) => format!("the nearest is `{nearest}`"),
                    None if scenario.pools.is_empty() => {
                        "its nodes stand in manifests; add a pool under `spec.cluster.nodePools` (a `count` of 0 is enough)".to_owned()
                    }
                    None => format!("its pools are `{}`", names().collect::<Vec<_>>().join("`, `")),
                };
                let diagnostic = Diagnostic::error("plan::unknown_pool", message).help(help);
                self.problem(diagnostic, &format!("spec.pools[{index}].name"), "unknown");
                continue;
            };
            let price_micros = (entry.price * 1e6).round() as i64;
            pools.push(PoolRange { name: pool.name, min: entry.min, max: entry.max, price_micros, now: pool.count });
        }
        pools
    }

    /// The priority from which on pods count.
    fn priority(&mut self, spec: &Spec, scenario: &ResolvedScenario) -> (i32, Option<String>) {
        if let Some(priority) = spec.priority {
            return (priority, Some(format!("priority {priority}")));
        }
        let Some(name) = &spec.priority_class else { return (i32::MIN, None) };
        let own = scenario.objects.iter().filter_map(|object| match &object.object {
            Object::PriorityClass(class) => Some((class.metadata.name.as_str(), class.value)),
            _ => None,
        });
        let known: Vec<(&str, i32)> = own.chain(SYSTEM_PRIORITY_CLASSES).collect();
        if let Some((_, value)) = known.iter().find(|(known, _)| known == name) {
            return (*value, Some(format!("the priority of {name}")));
        }
        let message = format!("there is no priority class `{name}`");
        let help = match nearest(name, known.iter().map(|(known, _)| *known)) {
            Some(nearest) => format!("the nearest is `{nearest}`"),
            None => format!("there is {}", known.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ")),
        };
        let diagnostic = Diagnostic::error("plan::unknown_priority_class", message).help(help);
        self.problem(diagnostic, "spec.priorityClass", "unknown");
        (i32::MIN, None)
    }

    /// A priority that no pod has leaves nothing that could be lost, and every count of nodes would do.
    fn warn_of_nobody(&mut self, spec: &Spec, priority: i32, base: &ResolvedScenario, cases: &[Case]) {
        let played = cases.iter().filter_map(|case| match &case.kind {
            CaseKind::Scenario(scenario) => Some(&**scenario),
            _ => None,
        });
        let scenarios = || std::iter::once(base).chain(played.clone());
        let highest = scenarios().filter_map(scenario::highest_priority).max();
        let field = if spec.priority.is_some() { "spec.priority" } else { "spec.priorityClass" };
        if (spec.priority.is_none() && spec.priority_class.is_none()) || highest.is_some_and(|of| of >= priority) {
            return;
        }
        let message = format!("no pod has a priority of {priority} or more, so that none counts");
        let there = match highest {
            Some(highest) => format!("the highest priority of a pod here is {highest}"),
            None => "there are no pods".to_owned(),
        };
        let judged = scenarios().any(|scenario| !scenario.objectives.is_empty() || !scenario.expectations.is_empty());
        let help = if judged {
            format!("only `slo` and `expect` of the scenarios decide then; {there}")
        } else {
            format!("every count of nodes survives then; {there}; leave the line out, and every pod counts")
        };
        self.problem(Diagnostic::warning("plan::nobody_counts", message).help(help), field, "no pod is judged");
    }

    /// Whether the search can be carried out, and the cases mean anything.
    fn sizes(&mut self, spec: &Spec, base: &ResolvedScenario, pools: &[PoolRange]) {
        let mixes = pools.iter().map(|pool| u64::from(pool.max - pool.min) + 1).try_fold(1, u64::checked_mul);
        if mixes.is_none_or(|mixes| mixes > MIXES_MAX) && pools.len() > 1 {
            let message = format!("the ranges of the pools make more than {MIXES_MAX} mixes");
            let diagnostic = Diagnostic::error("plan::too_large", message);
            self.problem(diagnostic.help("narrow the ranges, or search for fewer pools"), "spec.pools", "multiplied");
        }
        let nodes = || {
            base.objects.iter().filter_map(|object| match &object.object {
                Object::Node(node) => Some(node),
                _ => None,
            })
        };
        let node_count = nodes().count() as u64;
        for (index, case) in spec.survive.iter().enumerate() {
            let at = format!("spec.survive[{index}]");
            match case {
                CaseEntry::Zone => {
                    let mut zones: Vec<Symbol> = nodes().filter_map(|node| zone_of(&node.metadata.labels)).collect();
                    zones.sort_unstable();
                    zones.dedup();
                    if zones.len() < 2 {
                        let message = match zones.first() {
                            None => "no node has a zone".to_owned(),
                            Some(only) => format!("`{only}` is the only zone: to lose it is to lose everything"),
                        };
                        let help =
                            "give the pools `zones: [a, b, c]`, or the nodes the label `topology.kubernetes.io/zone`";
                        self.problem(
                            Diagnostic::error("plan::no_zones", message).help(help),
                            &at,
                            "cannot be survived",
                        );
                    }
                }
                CaseEntry::Nodes(count) => {
                    let sets = (0..u64::from(*count)).try_fold(1_u64, |sets, taken| {
                        Some(sets.checked_mul(node_count.checked_sub(taken)?)? / (taken + 1))
                    });
                    if u64::from(*count) >= node_count {
                        let message = format!("the cluster has at most {node_count} nodes");
                        let diagnostic = Diagnostic::error("plan::too_many_lost", message);
                        self.problem(diagnostic.help("lose fewer, or raise `max`"), &at, "loses all of them");
                    } else if sets.is_none_or(|sets| sets > SETS_MAX) {
                        let message =
                            format!("there are more than {SETS_MAX} sets of {count} out of {node_count} nodes");
                        let diagnostic = Diagnostic::error("plan::too_large", message);
                        self.problem(diagnostic.help("lose fewer nodes at once, or lower `max`"), &at, "too many");
                    }
                }
                CaseEntry::RollingUpgrade(_) | CaseEntry::Scenario(_) => {}
            }
        }
    }

    /// Pods that request nothing fit everywhere, so that no count of nodes could be too small for them.
    fn warn_of_requests(&mut self, written: &ResolvedScenario) {
        let Some(silent) = written.assumed.iter().find(|assumption| assumption.name == "podRequests") else { return };
        let objects = silent.objects.join(", ");
        let more = if silent.count > silent.objects.len() { ", …" } else { "" };
        let message = format!(
            "{} without a request for CPU or memory: room for their pods is never short, so that the answer holds for the others only",
            if silent.count == 1 {
                "1 workload or pod is".to_owned()
            } else {
                format!("{} workloads or pods are", silent.count)
            }
        );
        let diagnostic = Diagnostic::warning("plan::no_requests", message);
        let help =
            "give their containers `resources: {requests: {cpu: …, memory: …}}`, as measured or as they are limited to";
        self.problem(diagnostic.help(help), "spec.scenario", &format!("{objects}{more}"));
    }

    fn warn_of_timeline(&mut self, file: &str) {
        let message = "what happens in the scenario is not played: a plan takes its cluster and goals only";
        let diagnostic = Diagnostic::warning("plan::timeline", message);
        self.problem(diagnostic.help(format!("add `- {file}` to `survive` to have it played")), "spec.scenario", "");
    }
}

/// Reads the scenarios that a plan names.
struct Loader<'a> {
    dir: &'a Path,
    place: &'a dyn Fn(&str) -> Location,
    sources: &'a Sources,
    /// Values that all scenarios have.
    overrides: &'a Overrides,
}

impl Loader<'_> {
    fn load(&mut self, file: &str, overrides: &Overrides, at: &str) -> Result<ResolvedScenario, Invalid> {
        let path = self.dir.join(file);
        if !path.is_file() {
            let message = format!("there is no scenario `{}`", path.display());
            let help = "paths are relative to the file that names them";
            let diagnostic = Diagnostic::error("plan::unreadable", message).at((self.place)(at), "").help(help);
            return Err(Invalid { diagnostics: diagnostic.into(), sources: self.sources.clone() });
        }
        scenario::load(&path, &self.overrides.and(overrides))
    }

    /// The cluster of a plan, checked with the fewest and the most nodes; what happens to it is left out, and so are
    /// an autoscaler and auto-repair of nodes: the question is what the nodes can take that there are.
    fn base(
        &mut self,
        spec: &Spec,
        written: &ResolvedScenario,
        pools: &[PoolRange],
    ) -> Result<ResolvedScenario, Invalid> {
        let load = |loader: &mut Self, end: fn(&PoolRange) -> u32| {
            let mut overrides = counts(written, pools, end);
            for (path, value) in [
                ("spec.timeline", "[]"),
                ("spec.faults", "[]"),
                ("spec.expect", "[]"),
                ("spec.cluster.bootstrap", "settled"),
            ] {
                overrides.set(path, value);
            }
            let at = "spec.scenario";
            loader.load(&spec.scenario, &overrides, at).map_err(|invalid| loader.at_end(invalid, pools, end, at))
        };
        load(self, PoolRange::fewest)?;
        let mut base = load(self, PoolRange::most)?;
        leave_nodes_alone(&mut base);
        Ok(base)
    }

    /// The scenario of a case, like the base without an autoscaler and auto-repair of nodes. With the fewest nodes it must be sound, too: what it names has to be there.
    fn case(&mut self, file: &str, pools: &[PoolRange], at: &str) -> Result<ResolvedScenario, Invalid> {
        let mut written = self.load(file, &Overrides::none(), at)?;
        if let Some(missing) = pools.iter().find(|pool| written.pools.iter().all(|other| other.name != pool.name)) {
            let message = format!("the scenario has no node pool `{}`", missing.name);
            let help = "a case is played with the counts that are searched, so it needs the same pools";
            let diagnostic = Diagnostic::error("plan::unknown_pool", message).at((self.place)(at), "").help(help);
            return Err(Invalid { diagnostics: diagnostic.into(), sources: self.sources.clone() });
        }
        for end in [PoolRange::fewest, PoolRange::most] {
            self.load(file, &counts(&written, pools, end), at)
                .map_err(|invalid| self.at_end(invalid, pools, end, at))?;
        }
        leave_nodes_alone(&mut written);
        Ok(written)
    }

    /// Says with which counts a scenario that is sound as it is written cannot be used.
    fn at_end(&self, mut invalid: Invalid, pools: &[PoolRange], end: fn(&PoolRange) -> u32, at: &str) -> Invalid {
        let counts: Vec<String> = pools.iter().map(|pool| format!("{} of {}", end(pool), pool.name)).collect();
        let message = format!("the scenario cannot be used with {}, which the plan would try", counts.join(" and "));
        let help = "change the range of the pool, or what the scenario says of single nodes";
        let diagnostic = Diagnostic::error("plan::bad_count", message).at((self.place)(at), "").help(help);
        invalid.diagnostics.push(diagnostic);
        let file = (self.place)(at).file;
        if let Some(text) = self.sources.text(&file) {
            invalid.sources.insert(Source::new(file, text.clone()));
        }
        invalid
    }
}

/// Takes away what adds and replaces nodes by itself.
fn leave_nodes_alone(scenario: &mut ResolvedScenario) {
    let procedures = Arc::make_mut(&mut scenario.procedures);
    (procedures.autoscaler, procedures.repair) = (None, None);
}

fn counts(written: &ResolvedScenario, pools: &[PoolRange], count: fn(&PoolRange) -> u32) -> Overrides {
    let mut overrides = Overrides::none();
    for (index, pool) in written.pools.iter().enumerate() {
        if let Some(range) = pools.iter().find(|range| range.name == pool.name) {
            overrides.set(&format!("spec.cluster.nodePools[{index}].count"), &count(range).to_string());
        }
    }
    overrides
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_have_names_of_their_own() {
        #[track_caller]
        fn check(survive: &str, expected: &[&str]) {
            let cases: Vec<CaseEntry> = serde_saphyr::from_str(survive).expect(survive);
            assert_eq!(labels(&cases), expected, "{survive}");
        }
        check(
            "[zone, node, {nodes: 2}, rollingUpgrade, a/out.yaml]",
            &["zone", "node", "2 nodes", "rollingUpgrade", "out"],
        );
        check("[{rollingUpgrade: {maxSurge: 2, drainTimeout: 5m}}]", &["rollingUpgrade"]);
        check(
            "[rollingUpgrade, {rollingUpgrade: {maxSurge: 1}}]",
            &["rollingUpgrade maxSurge=0 maxUnavailable=1", "rollingUpgrade maxSurge=1 maxUnavailable=0"],
        );
        check(
            "[{rollingUpgrade: {maxSurge: 1}}, {rollingUpgrade: {maxSurge: 1, drainTimeout: 5m}}]",
            &["rollingUpgrade drainTimeout=30m0s", "rollingUpgrade drainTimeout=5m0s"],
        );
        check("[zone, zone.yaml, a/out.yaml, b/out.yaml]", &["zone", "zone.yaml", "a/out.yaml", "b/out.yaml"]);
    }

    #[test]
    fn upgrades_that_mean_the_same_are_the_same() {
        let same = "[rollingUpgrade, {rollingUpgrade: {maxUnavailable: 1}}, {rollingUpgrade: {maxSurge: 0, maxUnavailable: 1}}]";
        let cases: Vec<CaseEntry> = serde_saphyr::from_str(same).expect("cases");
        assert!(cases.iter().all(|case| *case == cases[0]));
    }
}
