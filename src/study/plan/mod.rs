//! Plans: the smallest counts of node pools with which a cluster survives given failures.
//!
//! The answer is found by playing: for each count the cluster is settled once, and every play of every case is forked from
//! that. What is proven, and what is one draw of chance, is said at [`work_out`].

mod amount;
mod blast;
mod bounds;
mod capacity;
mod case;
pub(in crate::study) mod cases;
mod checker;
mod definition;
mod document;
mod headroom;
mod in_vain;
mod judge;
mod loader;
mod margin;
mod packing;
mod placement;
mod play;
mod reading;
mod refused;
mod results;
mod search;
mod shortfall;
mod told;
mod upgrade;
mod waits;

pub use blast::{Blast, blast_csv, blast_radius, is_label_of_nodes};
pub use bounds::{Bound, Bounds};
pub use case::CaseKind;
pub use cases::{LostSet, Symmetry};
pub use definition::{Case, Plan, PoolRange};
#[cfg(feature = "cli")]
pub(crate) use document::schema;
pub use headroom::{headroom, replicas_of};
pub use margin::Margin;
pub use placement::{CONFIDENCE, PLACEMENTS_MAX, Placed, Placements};
pub use play::Outcome;
pub(crate) use reading::parse;
pub use reading::{load, load_with};
pub use refused::Refused;
pub use results::{Candidate, Failure, Headroom, PlacedCase, PlanResults, PlayRecord, Verdict};
pub use search::work_out;
pub use shortfall::{Shortfall, ShortfallKind, Wait};
pub(crate) use told::exception;
