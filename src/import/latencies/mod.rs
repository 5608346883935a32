//! How long things take, from what a cluster has recorded: pods, nodes and their events become distributions.

mod document;
mod evidence;
mod instant;
mod intake;
mod lengths;
mod model;
mod node_lengths;
mod pod_lengths;

pub use document::annotated;
pub use intake::{LatencyEvidence, UnusableEvidence};
pub use lengths::Measure;
pub use model::{ImportedLatencies, Latency, LatencyOptions};
