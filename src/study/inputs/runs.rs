//! What is played with inputs that were fitted to records drawn anew.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::super::run::RunRow;
use super::resampled::Lengths;
use crate::chaos::ChaosPlan;

/// In a journal, runs with such inputs stand behind all others, ordered by input: it has so many of each.
const FIRST: u32 = 1 << 31;
const INPUT_BITS: u32 = 20;

/// Runs of a variant with an input, at most.
pub(in crate::study) const REPLICATIONS_MAX: u32 = 1 << INPUT_BITS;

/// The number of the first run with an input in a journal.
pub(in crate::study) const fn first_replication(input: u32) -> u32 {
    FIRST | (input << INPUT_BITS)
}

/// The number of a run with an input in a journal; none if there cannot be so many.
pub(in crate::study) fn number_of(input: u32, run: u32) -> Option<u32> {
    (input < FIRST >> INPUT_BITS && run < REPLICATIONS_MAX).then(|| first_replication(input) + run)
}

/// Which input and which replication a run of a journal is; none of a run with the inputs as they were fitted.
pub(in crate::study) const fn place_of(replication: u32) -> Option<(u32, u32)> {
    if replication < FIRST {
        return None;
    }
    Some(((replication - FIRST) >> INPUT_BITS, replication & (REPLICATIONS_MAX - 1)))
}

/// Which of the study's seeds a run with one of so many inputs has: each has one of its own.
pub(in crate::study) const fn seed_place(count: u32, input: u32, run: u32) -> u32 {
    run.saturating_mul(count).saturating_add(input)
}

/// What a study plays besides its runs.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::study) struct Inputs {
    pub(super) processes: Vec<InputProcess>,
    /// How many fits of each process are played: those that stand at the same place, together.
    pub(in crate::study) count: u32,
    /// Runs of each variant with each of them.
    pub(in crate::study) replications: u32,
    /// The files that say so.
    pub(in crate::study) files: Vec<PathBuf>,
}

/// A random process and what it may be, as far as its records tell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InputProcess {
    pub(super) records: InputRecords,
    pub(super) fits: Vec<Lengths>,
}

/// Which records a random process was fitted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InputRecords {
    /// The process.
    pub process: String,
    /// The file of the fits, as the study names it.
    pub file: String,
    /// Nodes that were watched, or rows of lengths.
    pub units: u64,
    /// Whether they are nodes.
    pub by_node: bool,
    /// Nodes that failed, where the file says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_nodes: Option<u64>,
    /// Failures that were seen.
    pub failures: u64,
    /// How often they were drawn anew.
    pub drawn: u32,
    /// How many of the draws could be fitted.
    pub fitted: u32,
}

impl Inputs {
    /// What goes wrong with one of the inputs.
    pub(in crate::study) fn plan(&self, of: &ChaosPlan, input: u32) -> Arc<ChaosPlan> {
        let mut plan = of.clone();
        for InputProcess { records, fits } in &self.processes {
            let fit = &fits[input as usize];
            for process in plan.processes.iter_mut().filter(|process| process.name == records.process) {
                process.time_to_failure = fit.time_to_failure.clone();
                process.time_to_repair.clone_from(&fit.time_to_repair);
            }
        }
        Arc::new(plan)
    }

    /// The numbers in a journal of all runs of a variant with such inputs.
    pub(in crate::study) fn runs(&self) -> impl Iterator<Item = u32> + use<> {
        let replications = self.replications;
        (0..self.count).flat_map(move |input| (0..replications).map(move |run| first_replication(input) + run))
    }

    /// What of it enters the fingerprint of a study.
    pub(in crate::study) fn identity(&self) -> String {
        let of = |process: &InputProcess| format!("{} {:?}", process.records.process, process.fits);
        self.processes.iter().map(of).collect::<Vec<_>>().join("\n")
    }
}

/// What was played with inputs that were fitted to records drawn anew.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InputResults {
    /// The processes, and their records.
    pub processes: Vec<InputRecords>,
    /// How many inputs were played.
    pub count: u32,
    /// Runs of each variant with each of them.
    pub replications: u32,
    /// All of them by variant, as journals number them.
    #[serde(skip)]
    pub(in crate::study) runs: Vec<Vec<RunRow>>,
    /// Those of what is recommended, if that is none of the variants.
    #[serde(skip)]
    pub(in crate::study) recommended: Vec<RunRow>,
}

impl InputResults {
    /// Those of a study, without its runs.
    pub(in crate::study) fn of(inputs: &Inputs, variants: usize) -> Self {
        Self {
            processes: inputs.processes.iter().map(|of| of.records.clone()).collect(),
            count: inputs.count,
            replications: inputs.replications,
            runs: vec![Vec::new(); variants],
            recommended: Vec::new(),
        }
    }

    /// Takes in runs, those of what is recommended under that number; others are none of these.
    pub(in crate::study) fn take(&mut self, rows: impl IntoIterator<Item = RunRow>, recommended: Option<usize>) {
        let variants = self.runs.len();
        let (count, replications) = (self.count, self.replications);
        let is_ours =
            |row: &RunRow| place_of(row.replication).is_some_and(|(input, run)| input < count && run < replications);
        for row in rows.into_iter().filter(is_ours) {
            match row.variant {
                variant if variant < variants => self.runs[variant].push(row),
                variant if Some(variant) == recommended => self.recommended.push(row),
                _ => {}
            }
        }
        for runs in self.runs.iter_mut().chain([&mut self.recommended]) {
            runs.sort_by_key(|row| row.replication);
            runs.dedup_by_key(|row| row.replication);
        }
    }

    /// All runs of variants, as journals number them.
    pub(crate) fn into_runs(self) -> impl Iterator<Item = RunRow> {
        self.runs.into_iter().flatten()
    }

    /// Whether every run is there.
    pub(in crate::study) fn is_whole(&self, runs: &[RunRow]) -> bool {
        runs.len() as u64 == u64::from(self.count) * u64::from(self.replications)
    }

    /// A figure of runs that are all there, by input and replication.
    pub(in crate::study) fn values(&self, runs: &[RunRow], figure: impl Fn(&RunRow) -> f64) -> Vec<Vec<f64>> {
        runs.chunks(self.replications.max(1) as usize).map(|of| of.iter().map(&figure).collect()).collect()
    }
}

impl RunRow {
    /// Whether it was played with an input that was fitted to records drawn anew.
    pub(crate) fn is_of_input(&self) -> bool {
        place_of(self.replication).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_runs_say_which_input_they_have() {
        for (input, run) in [(0, 0), (0, 4), (999, 0), (999, REPLICATIONS_MAX - 1)] {
            assert_eq!(place_of(first_replication(input) + run), Some((input, run)));
        }
        assert_eq!((place_of(0), place_of(10_000_000)), (None, None));
    }
}
