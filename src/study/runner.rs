//! Plays the runs of a study, on as many threads as there are.

use std::str::FromStr;
use std::sync::OnceLock;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::document::Study;
use super::journal::{Journal, JournalError};
use super::statistics::Sample;
use crate::observe::{Detail, METRICS, Observers};
use crate::simulation::Prepared;
use crate::units::{SimDuration, SimTime};

/// What one run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRow {
    /// Position of its variant.
    pub variant: usize,
    /// Which of the variant's runs.
    pub replication: u32,
    /// Its metrics, in the order of [`super::metric_names`].
    pub metrics: Vec<f64>,
}

/// The part of a study that one machine plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which part, from 1.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    fn has(self, position: u64) -> bool {
        position % self.count == self.index - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if 0 < index && index <= count => Ok(Self { index, count }),
            _ => Err(format!("`{text}` is not a part such as 1/4: the first of four")),
        }
    }
}

/// Who is told of each run that is over.
pub trait Progress: Sync {
    /// One more run is over.
    fn advance(&self);
}

/// Plays the replications up to `replications` that belong to the shard and are not in the journal yet, and adds them to
/// it.
///
/// # Errors
///
/// If the journal cannot be written.
pub fn run(
    study: &Study,
    shard: Shard,
    replications: u32,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<(), JournalError> {
    let variant_count = study.variants.len();
    let done = journal.done();
    let mut open = Vec::new();
    for replication in 0..replications {
        for variant in 0..variant_count {
            let position = u64::from(replication) * variant_count as u64 + variant as u64;
            if shard.has(position) && !done.contains(&(variant, replication)) {
                open.push((variant, replication));
            }
        }
    }
    let prepared: Vec<OnceLock<Prepared>> = study.variants.iter().map(|_| OnceLock::new()).collect();
    open.par_iter().try_for_each(|&(variant, replication)| {
        let settled = prepared[variant].get_or_init(|| Prepared::new(&study.variants[variant].scenario));
        let row = RunRow { variant, replication, metrics: play(study, variant, settled, replication) };
        journal.add(row)?;
        progress.advance();
        Ok(())
    })
}

/// Plays replications in rounds until the interval of every variant's cost (of its unready replica-seconds, if nothing has a
/// price) is at most `precision` of its mean on either side, or the study's replications are played. Says how many each
/// variant then has.
///
/// Looking again after each round would make the interval too short by and by; round `k` is therefore judged at a
/// confidence of which only a share of 6 / (π k)² is spent, so that all rounds together err no more than one.
///
/// # Source
///
/// Error spending over an unknown number of looks: Jennison and Turnbull, Group Sequential Methods, chapter 7.
///
/// # Errors
///
/// If the journal cannot be written.
pub fn run_until_precise(
    study: &Study,
    precision: f64,
    journal: &Journal,
    progress: &dyn Progress,
) -> Result<u32, JournalError> {
    const FIRST: u32 = 20;
    let mut replications = FIRST.min(study.replications);
    let metric = if study.prices.is_empty() { "unready_replica_s" } else { super::COST };
    let metric = super::metric_names().iter().position(|name| *name == metric).unwrap_or(0);
    for round in 1_u32.. {
        run(study, Shard::WHOLE, replications, journal, progress)?;
        if replications == study.replications {
            break;
        }
        let looks = std::f64::consts::PI * f64::from(round);
        let spent = 6.0 / (looks * looks);
        let confidence = 1.0 - (1.0 - super::results::CONFIDENCE) * spent;
        let rows = journal.rows();
        let is_precise = |variant: usize| {
            let of = rows.iter().filter(|row| row.variant == variant && row.replication < replications);
            let interval = Sample::new(of.map(|row| row.metrics[metric]).collect()).interval(confidence);
            interval.half_width() <= precision * interval.mean.abs()
        };
        if (0..study.variants.len()).all(is_precise) {
            break;
        }
        replications = (replications + replications / 2).min(study.replications);
    }
    Ok(replications)
}

fn play(study: &Study, variant: usize, settled: &Prepared, replication: u32) -> Vec<f64> {
    let scenario = &study.variants[variant].scenario;
    let observers = Observers::new(Detail::Summary, scenario.objectives.clone(), SimDuration::ZERO);
    let mut run = settled.start(study.first_seed.wrapping_add(replication.into()), observers);
    let end = SimTime::ZERO + scenario.duration;
    run.run_until(end);
    let finished = run.finish();
    let found = finished.observers.finish(end, &finished.store, finished.events).summary.metrics;
    let metric = |name: &str| found.get(name).copied().unwrap_or(0.0);
    let cost = study.prices.iter().map(|(name, price)| metric(name) * price).sum();
    METRICS.iter().map(|name| metric(name)).chain([cost]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_the_whole() {
        let shards: Vec<Shard> = (1..=3).map(|index| Shard { index, count: 3 }).collect();
        for position in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(position)).count(), 1);
        }
        assert_eq!("2/3".parse(), Ok(shards[1]));
        assert!("0/3".parse::<Shard>().is_err() && "4/3".parse::<Shard>().is_err() && "x".parse::<Shard>().is_err());
    }
}
