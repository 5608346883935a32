//! What a plan can survive: how its document writes it and what it is called, what of it can be told before anything is played, and
//! what is played.
//!
//! A new case is a variant of [`CaseKind`], with its word in [`CaseVisitor`]; the compiler names what is to be said of it, all of it
//! here. What is played of it is one of [`Plays`].

use std::fmt;
use std::path::Path;

use rustc_hash::FxHashSet;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::cases::{self, LostSet, Symmetry};
use super::waits::Reach;
use crate::arena::Symbol;
use crate::diagnostics::Diagnostic;
use crate::procedures::rolling_upgrade::{RollingUpgradeSpec, UndrainableNodeBehavior};
use crate::scenario::ResolvedScenario;
use crate::state::Store;
use crate::units::{IntOrPercent, SimDuration, with_days};

/// The names that a case can begin with.
const CASES: &[&str] = &["zone", "node", "nodes", "rollingUpgrade", "scenario"];

/// More sets of lost nodes than this are not played for one count.
const SETS_MAX: u64 = 200_000;

/// What happens in a case. The scenario of one is read, or, in a document, named by its file.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseKind<S = Box<ResolvedScenario>> {
    /// Any one zone is lost.
    Zone,
    /// Any so many nodes are lost.
    Nodes(u32),
    /// Each of the searched pools, one after the other, is upgraded as the specification says; its pool is replaced.
    RollingUpgrade(RollingUpgradeSpec),
    /// The timeline of a scenario, on that scenario's cluster.
    Scenario(S),
}

/// A case as the document writes it.
pub(super) type CaseEntry = CaseKind<String>;

/// What is played of a case.
#[derive(Debug)]
pub(super) enum Plays<'a> {
    /// The loss of each of these sets of nodes.
    Losses(Vec<LostSet>, Reach),
    /// Nothing, as there are not so many nodes to be lost.
    NothingLeft(u32),
    /// The upgrade of each searched pool.
    Upgrades(&'a RollingUpgradeSpec),
    /// What happens in a scenario.
    Own(&'a ResolvedScenario),
}

/// What a case takes away, as far as counts of nodes tell.
#[derive(Copy, Clone, Debug)]
pub(super) enum Takes<'a> {
    /// Any one zone.
    Zone,
    /// Any so many nodes.
    Nodes(u32),
    /// Of each searched pool as many as may be missing.
    OfPools(&'a RollingUpgradeSpec),
    /// Nobody knows before it is played.
    Unknown,
}

impl<'de> Deserialize<'de> for CaseEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CaseVisitor)
    }
}

#[cfg(feature = "cli")]
impl schemars::JsonSchema for CaseEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Case".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let upgrade = generator.subschema_for::<RollingUpgradeEntry>();
        schemars::json_schema!({
            "description": "something to survive",
            "anyOf": [
                {"const": "zone", "description": "the loss of any one zone"},
                {"const": "node", "description": "the loss of any one node"},
                {"const": "rollingUpgrade", "description": "an upgrade of each pool, one node after the other"},
                {"type": "string", "pattern": r"\.(yaml|yml|json)$", "description": "the timeline of a scenario, by its file"},
                {
                    "type": "object",
                    "properties": {
                        "nodes": {"type": "integer", "minimum": 1, "maximum": u32::MAX, "description": "the loss of any so many nodes"},
                        "rollingUpgrade": upgrade,
                        "scenario": {"type": "string", "description": "the timeline of a scenario, by its file"},
                    },
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                },
            ],
        })
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
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RollingUpgradeEntry {
    /// Machines above the pool's size.
    max_surge: Option<IntOrPercent>,
    /// Machines that may be missing at a time.
    max_unavailable: Option<IntOrPercent>,
    /// How long the pods of a node are given to leave.
    #[serde(default = "half_an_hour", with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
    drain_timeout: SimDuration,
    /// Wait between the drain of a node and its deletion.
    #[serde(default, with = "with_days")]
    #[cfg_attr(feature = "cli", schemars(with = "crate::units::Days"))]
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

impl<S> CaseKind<S> {
    /// The case with its scenario read; none if it cannot be.
    pub(super) fn read<T>(&self, load: impl FnOnce(&S) -> Option<T>) -> Option<CaseKind<T>> {
        Some(match self {
            Self::Zone => CaseKind::Zone,
            Self::Nodes(count) => CaseKind::Nodes(*count),
            Self::RollingUpgrade(spec) => CaseKind::RollingUpgrade(spec.clone()),
            Self::Scenario(scenario) => CaseKind::Scenario(load(scenario)?),
        })
    }

    /// Its scenario, if it has one.
    pub(super) fn scenario(&self) -> Option<&S> {
        match self {
            Self::Scenario(scenario) => Some(scenario),
            Self::Zone | Self::Nodes(_) | Self::RollingUpgrade(_) => None,
        }
    }

    /// Whether it is an upgrade, whose plays are those of pools.
    pub(super) fn is_upgrade(&self) -> bool {
        match self {
            Self::RollingUpgrade(_) => true,
            Self::Zone | Self::Nodes(_) | Self::Scenario(_) => false,
        }
    }

    /// What it takes away, whatever is played of it.
    pub(super) fn takes(&self) -> Takes<'_> {
        match self {
            Self::Zone => Takes::Zone,
            Self::Nodes(count) => Takes::Nodes(*count),
            Self::RollingUpgrade(spec) => Takes::OfPools(spec),
            Self::Scenario(_) => Takes::Unknown,
        }
    }

    /// Why it means nothing, or cannot be played, on a cluster with so many nodes in these zones, and what to remark on it.
    pub(super) fn problem(&self, node_count: u64, zones: &[Symbol]) -> Option<(Diagnostic, &'static str)> {
        match self {
            Self::Zone if zones.len() < 2 => {
                let message = match zones.first() {
                    None => "no node has a zone".to_owned(),
                    Some(only) => format!("`{only}` is the only zone: to lose it is to lose everything"),
                };
                let help = "give the pools `zones: [a, b, c]`, or the nodes the label `topology.kubernetes.io/zone`";
                Some((Diagnostic::error("plan::no_zones", message).help(help), "cannot be survived"))
            }
            Self::Nodes(count) if u64::from(*count) >= node_count => {
                let message = format!("the cluster has at most {node_count} nodes");
                let diagnostic = Diagnostic::error("plan::too_many_lost", message);
                Some((diagnostic.help("lose fewer, or raise `max`"), "loses all of them"))
            }
            Self::Nodes(count) => {
                let sets = (0..u64::from(*count)).try_fold(1_u64, |sets, taken| {
                    Some(sets.checked_mul(node_count.checked_sub(taken)?)? / (taken + 1))
                });
                let message = format!("there are more than {SETS_MAX} sets of {count} out of {node_count} nodes");
                let diagnostic = Diagnostic::error("plan::too_large", message);
                let is_too_large = sets.is_none_or(|sets| sets > SETS_MAX);
                is_too_large.then(|| (diagnostic.help("lose fewer nodes at once, or lower `max`"), "too many"))
            }
            Self::Zone | Self::RollingUpgrade(_) | Self::Scenario(_) => None,
        }
    }

    /// What is lost at least in some of its plays, of an amount that each node gives in its zone; and what the nodes are then called that
    /// are left.
    pub(super) fn least_losses(&self, given: &[(i64, Option<Symbol>)]) -> Vec<(i64, String)> {
        match self {
            Self::Zone => {
                let mut zones: Vec<Symbol> = given.iter().filter_map(|(_, zone)| *zone).collect();
                zones.sort_unstable();
                zones.dedup();
                let lost =
                    |zone: &Symbol| given.iter().filter(|given| given.1 == Some(*zone)).map(|given| given.0).sum();
                zones.iter().map(|zone| (lost(zone), format!("without zone {zone} the nodes give "))).collect()
            }
            Self::Nodes(count) => {
                let mut largest: Vec<i64> = given.iter().map(|given| given.0).collect();
                largest.sort_unstable_by(|a, b| b.cmp(a));
                let lost: i64 = largest.iter().take(*count as usize).sum();
                let which =
                    if *count == 1 { "the largest node".to_owned() } else { format!("the largest {count} nodes") };
                vec![(lost, format!("without {which} the others give "))]
            }
            Self::RollingUpgrade(_) | Self::Scenario(_) => Vec::new(),
        }
    }
}

impl CaseKind {
    /// What is played of it on a settled cluster; nodes that are `mentioned` are alike to none.
    pub(super) fn plays(&self, store: &Store, mentioned: &FxHashSet<Symbol>, symmetry: Symmetry) -> Plays<'_> {
        match self {
            Self::Zone => Plays::Losses(cases::zones(store), Reach::Zones),
            Self::Nodes(count) => match cases::sets_of(store, *count, mentioned, symmetry) {
                sets if sets.is_empty() => Plays::NothingLeft(*count),
                sets => Plays::Losses(sets, Reach::Named),
            },
            Self::RollingUpgrade(spec) => Plays::Upgrades(spec),
            Self::Scenario(own) => Plays::Own(own),
        }
    }
}

impl CaseEntry {
    pub(super) fn label(&self) -> String {
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
pub(super) fn labels(cases: &[CaseEntry]) -> Vec<String> {
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
