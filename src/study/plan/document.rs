//! A plan as its document writes it.

use serde::Deserialize;

use super::super::document::Metadata;
use super::case::CaseEntry;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlanDocument {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
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
