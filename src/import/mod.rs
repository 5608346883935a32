//! What there is of real clusters, made into parts of a scenario: records of what happened, and dumps of what was there.
//!
//! Text out: which files are written is the command line's affair.

#[cfg(feature = "bundles")]
mod archive;
#[cfg(feature = "bundles")]
pub mod cluster;
mod faults;
mod first_scenario;
#[cfg(feature = "bundles")]
pub mod latencies;
#[cfg(feature = "bundles")]
pub mod outage;
mod records;
mod resampled;
#[cfg(feature = "bundles")]
mod walk;

pub use faults::{FaultError, FaultModel, FaultOptions, Imported, Wanted, criterion, error_of_mean, fault_model};
pub use first_scenario::{AtStart, FirstScenario, cluster_alone, first_scenario};
pub use records::{RecordError, Records};
pub use resampled::{Resampled, Resampling, Spread};
