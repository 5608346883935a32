//! Plans: the smallest counts of node pools with which a cluster survives given failures.
//!
//! The answer is found by playing: for each count the cluster is settled once, and every play of every case is forked from
//! that. What is proven, and what is one draw of chance, is said at [`work_out`].

mod blast;
mod capacity;
mod case;
mod cases;
mod checker;
mod document;
mod headroom;
mod loader;
mod margin;
mod play;
mod refused;
mod results;
mod search;
mod upgrade;
mod waits;

pub use blast::{Blast, blast_csv, blast_radius, is_label_of_nodes};
pub use cases::{LostSet, Symmetry};
pub(crate) use document::parse;
pub use document::{Case, CaseKind, Plan, PoolRange, load, load_with};
pub use headroom::{Headroom, headroom, replicas_of};
pub use margin::Margin;
pub use play::{Outcome, Shortfall, ShortfallKind};
pub use refused::Refused;
pub use results::{Candidate, Failure, PlanResults, PlayRecord, Verdict};
pub use search::work_out;
pub use waits::Wait;
