//! A deterministic discrete-event simulator of a Kubernetes cluster under chaos.
pub mod arena; pub mod units; pub mod engine; pub mod diagnostics; pub mod model; pub mod state; pub mod component; pub mod apiserver; pub mod observe; pub mod controllers;
