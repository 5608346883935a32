//! The integration tests, as one binary.

mod cli;
mod determinism;
mod expected;
mod invalid;
mod mutations;
mod recordings;
mod scheduler;
mod study;
mod tidy;
