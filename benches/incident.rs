//! How long whole incidents take to play: a year of random failures, and a large cluster in which nothing happens.
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

/// 100 nodes, 1,000 pods, 365 days of machine and switch failures, bootstrap included.
fn year_of_failures(criterion: &mut Criterion) {
    let scenario = load("scenarios/year-of-failures.yaml");
    criterion.bench_function("year_of_failures", |bencher| {
        bencher.iter(|| {
            let mut run = Prepared::new(&scenario).start(scenario.seed, observers(&scenario));
            run.run_until(SimTime::ZERO + scenario.duration);
            black_box(run.finish().events)
        });
    });
}

/// 24 hours without a fault on 5,000 nodes with 150,000 pods, beyond the bootstrap.
fn idle_day(criterion: &mut Criterion) {
    let scenario = load("benches/scenarios/idle-day.yaml");
    let prepared = Prepared::new(&scenario);
    assert_eq!((prepared.store().node_count(), prepared.store().pod_count()), (5_000, 150_000));
    criterion.bench_function("idle_day", |bencher| {
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

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(15));
    targets = year_of_failures, idle_day
}
criterion_main!(benches);
