//! Chaos on a bench.
