//! The integration tests, as one binary.

mod breaks;
mod cli;
mod damaged;
mod determinism;
mod dumps;
mod expected;
mod figures;
mod intake;
mod invalid;
mod mutations;
mod plan;
mod plan_brute_force;
mod procedures;
mod random;
mod random_oddities;
mod random_scenario;
mod recordings;
mod regressions;
mod scheduler;
mod services;
mod study;
mod tidy;
mod traps;
mod verdicts;
mod verified;
mod volumes;
