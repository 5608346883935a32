//! A deterministic discrete-event simulator of a Kubernetes cluster under chaos.

pub mod arena;
pub mod diagnostics;
pub mod engine;
pub mod units;

pub mod model;

pub mod state;

pub mod component;

pub mod apiserver;
pub mod controllers;
pub mod observe;

pub mod report;
