//! kubesquall: a deterministic discrete-event simulator of a Kubernetes cluster under chaos.

pub mod apiserver;
pub mod arena;
pub mod chaos;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod component;
pub mod controllers;
pub mod diagnostics;
pub mod engine;
pub mod import;
pub mod inspect;
pub mod kubectl;
pub mod kubelet;
pub mod model;
pub mod observe;
mod parallel;
pub mod procedures;
pub mod report;
pub mod scenario;
pub mod scheduler;
pub mod simulation;
pub mod state;
pub mod study;
#[cfg(test)]
mod testing;
pub mod units;
pub mod verify;
