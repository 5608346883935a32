//! A scenario made in memory, played under ten seeds from one settled state, without a file: `cargo run --example embed`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use kubesquall::{Error, PlayOptions, Scenario};

const SCENARIO: &str = r#"
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: embedded}
spec:
  duration: 7d
  cluster:
    manifests: [shop.yaml]
    nodePools:
    - {name: worker, count: 4, zones: [a, b], template: {status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}}
  faults:
  - name: crashes
    kind: Crash
    nodes: {pool: worker}
    timeToFailure: {weibull: {shape: 0.7, mean: 2d}}
    timeToRepair: {lognormal: {median: 10m, p99: 6h}}
"#;

/// A Deployment with so many replicas.
fn deployment(name: &str, replicas: u32) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    \
         spec: {{containers: [{{name: app, image: {name}, resources: {{requests: {{cpu: 500m, memory: 512Mi}}}}}}]}}\n"
    )
}

fn main() -> Result<(), Error> {
    let shop = [deployment("frontend", 6), deployment("cart", 3)].join("---\n");
    let scenario = Scenario::parse(SCENARIO, [("shop.yaml", shop)])?;
    for warning in scenario.warnings().iter() {
        println!("{}", warning.message);
    }
    let settled = scenario.settle();
    for seed in 0..10 {
        let outcome = settled.play_with(seed, &PlayOptions::new().summary_only());
        let metric = |name| outcome.metric(name).unwrap_or_default();
        println!(
            "seed {seed}: {} evictions, {:.0} unready replica-seconds",
            metric("evictions"),
            metric("unready_replica_s")
        );
    }

    // Or piece by piece, as far as somebody wants to look: until a node is lost.
    let mut run = settled.start(0);
    while let Some(next) = run.next_event().filter(|_| run.nodes().all(|node| node.ready == Some(true))) {
        run.run_until(next);
    }
    let counts = run.pod_counts();
    println!("at {}: {} of {} pods are ready", run.now(), counts.ready, run.pods().count());
    for pod in run.pods_of("deployment/default/frontend")?.iter().filter(|pod| !pod.is_ready) {
        println!("  {} on {}", pod.name, pod.node.unwrap_or("no node"));
    }
    assert_eq!(run.finish().digest(), settled.play(0).digest(), "a run is the same in pieces");
    Ok(())
}
