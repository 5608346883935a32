//! Records of what happened, made into parts of a scenario.
//!
//! Text in, text out: which files are read and written is the command line's affair.

mod faults;
mod records;

pub use faults::{FaultModel, FaultOptions, Imported, Wanted, criterion, fault_model};
pub use records::{RecordError, Records};
