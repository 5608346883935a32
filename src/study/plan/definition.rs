//! What a plan asks.

use std::path::Path;

use super::case::CaseKind;
use super::placement::Placements;
use crate::arena::Symbol;
use crate::diagnostics::{Diagnostic, Diagnostics, Sources};
use crate::scenario::ResolvedScenario;

/// A plan, ready to be worked out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `metadata.name`.
    pub name: String,
    /// Its file, as it was given, an absolute path by its name alone; none if it was no file.
    pub file: Option<String>,
    /// The pools whose counts are searched.
    pub pools: Vec<PoolRange>,
    /// What has to be survived, in the order of the document.
    pub cases: Vec<Case>,
    /// Pods of at least this priority must not be left Pending.
    pub priority: i32,
    /// How the document writes the priority; none if it means every pod.
    pub priority_label: Option<String>,
    /// In how many draws of chance counts are tried, and how many of them have to be survived.
    pub placements: Placements,
    /// The cluster, with nothing happening to it.
    pub(super) base: ResolvedScenario,
    /// Warnings.
    pub warnings: Diagnostics,
    /// The texts that warnings speak of.
    pub sources: Sources,
}

/// Codes of warnings that say of whom or what the answer does not hold.
const DOUBTS: [&str; 2] = ["plan::nobody_counts", "plan::no_requests"];

impl Plan {
    /// The files that its cluster was read from.
    pub fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.base.inputs()
    }

    /// Warnings about the plan that take its answer back, in part or all of it.
    pub(super) fn doubts(&self) -> impl Iterator<Item = String> {
        let takes_back = |warning: &&Diagnostic| DOUBTS.contains(&warning.code);
        self.warnings.iter().filter(takes_back).map(|warning| warning.message.clone())
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

impl PoolRange {
    pub(super) fn fewest(&self) -> u32 {
        self.min
    }

    pub(super) fn most(&self) -> u32 {
        self.max
    }
}

impl Plan {
    /// What counts of its pools cost, in millionths.
    pub(super) fn price(&self, counts: &[u32]) -> i64 {
        self.pools.iter().zip(counts).map(|(pool, &count)| pool.price_micros * i64::from(count)).sum()
    }

    /// Positions of the searched pools in a scenario, with their counts.
    pub(super) fn counts_in(&self, scenario: &ResolvedScenario, counts: &[u32]) -> Vec<(usize, u32)> {
        let position = |pool: &PoolRange| scenario.pools.iter().position(|other| other.name == pool.name);
        self.pools.iter().zip(counts).filter_map(|(pool, &count)| Some((position(pool)?, count))).collect()
    }
}
