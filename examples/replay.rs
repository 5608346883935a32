//! Plays a scenario and prints what happened to whom: the library used as a library.
//!
//! `cargo run --release --example replay -- scenarios/zone-outage.yaml`

#![expect(clippy::print_stdout, clippy::print_stderr, clippy::disallowed_methods, reason = "it is a program")]

use std::path::Path;

use kubesquall::observe::{Detail, Observers};
use kubesquall::scenario::{self, Overrides};
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| "scenarios/zone-outage.yaml".to_owned());
    let scenario = match scenario::load(Path::new(&path), &Overrides::none()) {
        Ok(scenario) => scenario,
        Err(invalid) => {
            eprintln!("{invalid}");
            std::process::exit(2);
        }
    };
    let prepared = Prepared::new(&scenario);
    eprintln!("{} nodes, {} pods at t=0", prepared.store().node_count(), prepared.store().pod_count());
    let observers = Observers::new(Detail::Files, scenario.objectives.clone(), SimDuration::ZERO);
    let mut run = prepared.start(scenario.seed, observers);
    let end = SimTime::ZERO + scenario.duration;
    run.run_until(end);
    let finished = run.finish();
    let observed = finished.observers.finish(end, &finished.store, finished.events);
    for event in observed.events.iter().take(60) {
        println!("{} {} {} {} {}", event.at, event.component, event.reason, event.name, event.message);
    }
    eprintln!("{} events played, digest {:016x}", finished.events, finished.digest);
}
