//! How long what stands around a play takes: reading a large cluster, writing a large run, and a forecast, which is many plays.
//!
//! `cargo bench --bench front_door`

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kubesquall::{Cluster, Forecast, ForecastOptions, LoadOptions, Scenario};

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}

/// What `kubectl get nodes,pods -o json` says of so many nodes with thirty pods each.
fn dump(nodes: usize) -> String {
    let mut text = String::from(r#"{"apiVersion":"v1","kind":"List","items":["#);
    let add = |text: &mut String, item: std::fmt::Arguments<'_>| {
        let comma = if text.ends_with('[') { "" } else { "," };
        write!(text, "{comma}{item}").expect("memory");
    };
    for node in 0..nodes {
        let zone = ["a", "b", "c"][node % 3];
        add(
            &mut text,
            format_args!(
                r#"{{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n-{node}","uid":"node-{node}","labels":{{"kubernetes.io/hostname":"n-{node}","topology.kubernetes.io/zone":"{zone}"}}}},"status":{{"allocatable":{{"cpu":"8","memory":"32Gi","pods":"110"}},"conditions":[{{"type":"Ready","status":"True","reason":"KubeletReady"}}]}}}}"#
            ),
        );
        for pod in 0..30 {
            add(
                &mut text,
                format_args!(
                    r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{node}-{pod}","namespace":"shop","uid":"pod-{node}-{pod}","creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"web","pod-template-hash":"5d9c7b"}}}},"spec":{{"nodeName":"n-{node}","schedulerName":"default-scheduler","containers":[{{"name":"web","image":"registry.example/web:1","resources":{{"requests":{{"cpu":"100m","memory":"256Mi"}},"limits":{{"memory":"512Mi"}}}},"ports":[{{"containerPort":8080}}]}}],"tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}]}},"status":{{"phase":"Running","podIP":"10.0.0.1","startTime":"2026-01-01T00:00:00Z","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:09Z"}}],"containerStatuses":[{{"name":"web","image":"registry.example/web:1","ready":true,"restartCount":0}}]}}}}"#
                ),
            );
        }
    }
    text.push_str("]}");
    text
}

/// A dump of 1,000 nodes with 30,000 pods, as `import` and `decisions` read it.
fn loading(criterion: &mut Criterion) {
    let text = dump(1_000);
    let mut group = criterion.benchmark_group("loading");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("30000_pods", |bencher| {
        bencher.iter(|| Cluster::parse([("dump.json", text.as_str())]).unwrap_or_else(|error| panic!("{error}")));
    });
    group.finish();
}

/// The tables of a year of failures of 100 nodes: no charts are drawn.
fn writing(criterion: &mut Criterion) {
    let file = path("scenarios/year-of-failures.yaml");
    let scenario = Scenario::load(&file).unwrap_or_else(|error| panic!("{error}"));
    let outcome = scenario.play(scenario.seed());
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = kubesquall::WriteOptions::new().charts(false).force(true);
    criterion.bench_function("writing", |bencher| {
        bencher.iter(|| outcome.write_with(dir.path().join("results"), &options).expect("written"));
    });
}

/// What is likely to happen to three nodes of a real cluster, on one thread: 300 plays.
fn forecast(criterion: &mut Criterion) {
    let forecast = Forecast::load([path("scenarios/dumps/aws-3-nodes/cluster")], &LoadOptions::new());
    let forecast = forecast.unwrap_or_else(|error| panic!("{error}"));
    let options = ForecastOptions::new().plays(300).threads(std::num::NonZeroUsize::MIN);
    criterion.bench_function("forecast", |bencher| {
        bencher.iter(|| black_box(forecast.work_out(&options).unwrap_or_else(|error| panic!("{error}")).json()));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(10));
    targets = loading, writing, forecast
}
criterion_main!(benches);
