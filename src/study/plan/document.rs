//! A plan as its document writes it.

use serde::Deserialize;

use super::super::document::Metadata;
use super::case::CaseEntry;
use crate::scenario::Share;

/// What a plan looks like, for editors.
#[cfg(feature = "cli")]
pub(crate) fn schema() -> serde_json::Value {
    let about = "a plan: the fewest nodes with which a scenario's cluster survives what is listed";
    crate::scenario::schemas::of_document::<PlanDocument>("Plan", about)
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlanDocument {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    /// What it is called.
    pub(super) metadata: Metadata,
    /// What it says.
    pub(super) spec: Spec,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Spec {
    /// The file of the scenario, relative to this one.
    pub(super) scenario: String,
    /// The pools whose sizes are looked for.
    pub(super) pools: Vec<PoolEntry>,
    /// What is to be survived.
    pub(super) survive: Vec<CaseEntry>,
    /// Only pods of this priority or more have to be placed.
    pub(super) priority: Option<i32>,
    /// The same, by the name of a PriorityClass.
    pub(super) priority_class: Option<String>,
    /// In how many draws of where pods go, and of what follows, each count has to survive; 30 if nothing is said.
    pub(super) placements: Option<u32>,
    /// The share of all placements that has to be survived; every one that is played if nothing is said.
    pub(super) probability: Option<Share>,
    /// With which confidence that share has to be shown, such as `95%`; if nothing is said, the share of those that are played decides.
    pub(super) confidence: Option<Share>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PoolEntry {
    /// The pool.
    pub(super) name: String,
    /// The fewest nodes.
    #[serde(default = "one")]
    pub(super) min: u32,
    /// The most nodes.
    pub(super) max: u32,
    /// What a node of it costs, in proportion to the others.
    #[serde(default = "price_of_one")]
    pub(super) price: f64,
}

const fn one() -> u32 {
    1
}

const fn price_of_one() -> f64 {
    1.0
}
