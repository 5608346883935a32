//! The cases of a plan as its document writes them, and what they are called.

use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::arena::Symbol;
use crate::procedures::rolling_upgrade::{RollingUpgradeSpec, UndrainableNodeBehavior};
use crate::units::{IntOrPercent, SimDuration, with_days};

/// The names that a case can begin with.
const CASES: &[&str] = &["zone", "node", "nodes", "rollingUpgrade", "scenario"];

#[derive(Clone, Debug, PartialEq)]
pub(super) enum CaseEntry {
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
