//! How long whole incidents take to play: a year of random failures, an upgrade of a pool, and a large cluster that is brought up, in which
//! nothing happens, or that loses a zone.
//!
//! `cargo bench --bench incident`

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use kubesquall::observe::{Detail, Observers};
use kubesquall::scenario::{self, Overrides, ResolvedScenario};
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};

fn load(file: &str) -> ResolvedScenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    scenario::load(&path, &Overrides::none()).unwrap_or_else(|invalid| panic!("{file}: {invalid}"))
}

fn observers(scenario: &ResolvedScenario) -> Observers {
    Observers::new(Detail::Files, scenario.objectives.clone(), SimDuration::ZERO)
}

/// Brings a cluster up and plays a scenario.
fn play(criterion: &mut Criterion, name: &str, file: &str) {
    let scenario = load(file);
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            let mut run = Prepared::new(&scenario).start(scenario.seed, observers(&scenario));
            run.run_until(SimTime::ZERO + scenario.duration);
            black_box(run.finish().events)
        });
    });
}

/// 100 nodes, 1,000 pods, 365 days of machine and switch failures, bootstrap included.
fn year_of_failures(criterion: &mut Criterion) {
    play(criterion, "year_of_failures", "scenarios/year-of-failures.yaml");
}

/// 200 nodes with 5,000 pods are drained and made anew, ten at a time, bootstrap included.
fn rolling_upgrade(criterion: &mut Criterion) {
    play(criterion, "rolling_upgrade", "benches/scenarios/rolling-upgrade.yaml");
}

/// 5,000 nodes with 150,000 pods, every one of them made, scheduled and started.
fn bring_up(criterion: &mut Criterion) {
    let scenario = load("benches/scenarios/zone-loss.yaml");
    criterion.bench_function("bring_up", |bencher| {
        bencher.iter(|| black_box(Prepared::new(&scenario).store().pod_count()));
    });
}

/// Plays a scenario of a large cluster beyond its bootstrap.
fn play_large(criterion: &mut Criterion, name: &str, file: &str) {
    let scenario = load(file);
    let prepared = Prepared::new(&scenario);
    assert_eq!((prepared.store().node_count(), prepared.store().pod_count()), (5_000, 150_000));
    criterion.bench_function(name, |bencher| {
        bencher.iter_batched(
            || prepared.start(scenario.seed, observers(&scenario)),
            |mut run| {
                run.run_until(SimTime::ZERO + scenario.duration);
                black_box(run.finish().events)
            },
            BatchSize::PerIteration,
        );
    });
}

/// 24 hours without a fault on 5,000 nodes with 150,000 pods, beyond the bootstrap.
fn idle_day(criterion: &mut Criterion) {
    play_large(criterion, "idle_day", "benches/scenarios/idle-day.yaml");
}

/// 5,000 nodes with 150,000 pods lose one of three zones for an hour, beyond the bootstrap.
fn zone_loss(criterion: &mut Criterion) {
    play_large(criterion, "zone_loss", "benches/scenarios/zone-loss.yaml");
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(15));
    targets = year_of_failures, rolling_upgrade, bring_up, idle_day, zone_loss
}
criterion_main!(benches);
