//! How many replications of a study a core plays, and what a second one adds: 12 nodes, 60 pods, half an hour with four faults.
//!
//! `cargo bench --bench study`

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kubesquall::observe::{Detail, Observers};
use kubesquall::scenario::{self, Overrides};
use kubesquall::simulation::Prepared;
use kubesquall::units::{SimDuration, SimTime};
use rayon::prelude::*;

/// Replications of one measurement.
const RUNS: u32 = 100;

fn replications(criterion: &mut Criterion) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/scenarios/incident.yaml");
    let scenario = scenario::load(&path, &Overrides::none()).unwrap_or_else(|invalid| panic!("{invalid}"));
    let prepared = Prepared::new(&scenario);
    assert_eq!((prepared.store().node_count(), prepared.store().pod_count()), (12, 60));
    let end = SimTime::ZERO + scenario.duration;
    let play = |seed: u64| {
        let observers = Observers::new(Detail::Summary, scenario.objectives.clone(), SimDuration::ZERO);
        let mut run = prepared.start(seed, observers);
        run.run_until(end);
        let finished = run.finish();
        finished.observers.finish(end, &finished.store, finished.events).summary.counts.evictions
    };
    let mut group = criterion.benchmark_group("replications");
    group.throughput(Throughput::Elements(RUNS.into()));
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        group.bench_function(format!("{threads}_threads"), |bencher| {
            bencher.iter(|| {
                pool.install(|| {
                    black_box((0..RUNS).into_par_iter().with_max_len(1).map(|seed| play(seed.into())).sum::<u64>())
                })
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(10));
    targets = replications
}
criterion_main!(benches);
