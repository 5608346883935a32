//! The integration tests, as one binary.

mod recordings;
mod tidy;
