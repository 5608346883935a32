//! What the records leave open that random processes were fitted to, carried into what a study says.
//!
//! A study plays fitted processes as if they were the truth, so that its intervals shrink to nothing with many runs, though there may be
//! thirty failures behind them. Here the records are drawn anew, again and again, each draw is fitted (`import faults --resample`), and
//! every variant is played with each fit, too, with the same seeds. What its runs cost then differs for two reasons: chance of the runs,
//! and what the records leave open. An analysis of variance tells the two apart.
//!
//! # Source
//!
//! Barton and Schruben, Uniform and bootstrap resampling of empirical distributions, Winter Simulation Conference 1993; Cheng and Holland,
//! Sensitivity of computer simulation experiments to errors in input data, Journal of Statistical Computation and Simulation 57 (1997);
//! Song, Nelson and Pegden, Advanced tutorial: input uncertainty quantification, Winter Simulation Conference 2014; Nelson, Foundations and
//! Methods of Stochastic Simulation, section 7.2.

mod components;
#[cfg(test)]
mod coverage_tests;
mod document;
mod outcome;
mod resampled;
mod runs;

pub(super) use document::{InputEntry, InputsAround, check_question, read};
pub use outcome::{InputUncertainty, Saving, Uncertain};
pub use runs::{InputRecords, InputResults};
pub(super) use runs::{Inputs, first_replication, number_of, place_of, seed_place};
