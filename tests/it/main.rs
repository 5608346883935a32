//! The integration tests, as one binary.

mod determinism;
mod recordings;
mod study;
mod tidy;
