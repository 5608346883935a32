//! The integration tests, as one binary.

mod determinism;
mod invalid;
mod recordings;
mod study;
mod tidy;
