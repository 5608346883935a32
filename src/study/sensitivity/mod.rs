//! How far the answer of a study rests on what was assumed: elementary effects of assumed values on what the baseline costs, and on what
//! another variant saves against it.
//!
//! Two variants are played, with the same seeds, at points of the space of what is assumed. Points stand on trajectories, along each of
//! which one input after the other moves; what a run then costs more is an elementary effect.
//!
//! # Source
//!
//! Morris, Factorial sampling plans for preliminary computational experiments, Technometrics 33 (1991); Campolongo, Cariboni and
//! Saltelli, An effective screening design for sensitivity analysis of large models, Environmental Modelling & Software 22 (2007).

mod choice;
mod defaults;
mod design;
mod document;
mod effects;
mod experiment;
mod input;
mod results;
mod told;

pub use choice::{Choice, Chosen};
pub(super) use document::{Around, AssumedEntry, check, read};
pub use effects::Effect;
pub use experiment::{Experiment, Refused, TRAJECTORIES, TRAJECTORIES_MAX};
pub use input::Assumed;
pub use results::{Answer, InputOutcome, PointOutcome, SensitivityResults, Turns};
