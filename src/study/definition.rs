//! A study, read and checked: what is varied, how often it is played, and what is asked of it.

use std::path::{Path, PathBuf};

use super::cost_by::{CostBy, InvalidCostBy};
use super::grid::{Axis, Variant};
use super::inputs::{self, Inputs};
use super::rare::{self, RareEvent};
use super::requirement::{self, AVAILABILITY, Requirement};
use super::search::Plan;
use super::sensitivity::Assumed;
use crate::diagnostics::{Diagnostics, Sources};
use crate::model::manifest::Folder;
use crate::scenario::Overrides;

/// Figures that objectives decide.
const OF_OBJECTIVES: [&str; 4] = ["below_min_ready_s", "longest_gap_s", "objectives_missed", AVAILABILITY];

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

    /// Whether its variants have different objectives: what misses them does not compare.
    #[must_use]
    pub fn varies_objectives(&self) -> bool {
        self.variants.windows(2).any(|two| two[0].base.objectives != two[1].base.objectives)
    }

    /// The first metric that counts what misses objectives and has a price or is required.
    #[must_use]
    pub fn judges_by_objectives(&self) -> Option<&str> {
        let priced = self.prices.iter().filter(|(_, price)| *price > 0.0).map(|(name, _)| *name);
        let required = self.requirements.iter().map(|one| one.metric.as_str());
        priced.chain(required).find(|name| OF_OBJECTIVES.contains(name))
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
