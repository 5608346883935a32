//! How many pods a second the scheduler decides about, in the workloads of Kubernetes' own scheduler_perf.
//!
//! `cargo bench --bench scheduler`
//!
//! At the end stands a table with the floors that the Kubernetes project sets for the real kube-scheduler, whose figures
//! contain an API server and etcd; ours are decisions alone, on one core.

#![expect(clippy::disallowed_methods, reason = "a bench measures real time")]
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::cell::RefCell;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use kubesquall::scenario::{self, Overrides};
use kubesquall::scheduler::Scheduler;
use kubesquall::simulation::Prepared;

/// A workload: nodes, pods that are there, pods to be placed.
struct Workload {
    name: &'static str,
    nodes: usize,
    /// Pods on the nodes, spread in turn, and their fields.
    there: (usize, &'static str),
    /// Pods that wait, and their fields. `{i}` is the number of the pod.
    waiting: (usize, &'static str),
    /// Pods a second that the Kubernetes project holds the real one to.
    floor: u32,
}

const PLAIN: &str = "containers: [{name: c, image: app, resources: {requests: {cpu: 100m, memory: 500Mi}}}]";

const WORKLOADS: [Workload; 11] = [
    Workload { name: "SchedulingBasic", nodes: 5000, there: (1000, ""), waiting: (10_000, ""), floor: 270 },
    Workload {
        name: "SchedulingNodeAffinity",
        nodes: 5000,
        there: (5000, ""),
        waiting: (
            10_000,
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
             [{matchExpressions: [{key: topology.kubernetes.io/zone, operator: In, values: [zone-0, zone-1]}]}]}}}",
        ),
        floor: 220,
    },
    Workload {
        name: "TopologySpreading",
        nodes: 5000,
        there: (5000, ""),
        waiting: (
            5000,
            "topologySpreadConstraints: [{maxSkew: 5, topologyKey: topology.kubernetes.io/zone, \
             whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {color: blue}}}]",
        ),
        floor: 85,
    },
    Workload {
        name: "PreferredTopologySpreading",
        nodes: 5000,
        there: (5000, ""),
        waiting: (
            5000,
            "topologySpreadConstraints: [{maxSkew: 5, topologyKey: topology.kubernetes.io/zone, \
             whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {color: blue}}}]",
        ),
        floor: 125,
    },
    Workload {
        name: "SchedulingPodAffinity",
        nodes: 5000,
        there: (
            5000,
            "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
             topology.kubernetes.io/zone, labelSelector: {matchLabels: {color: blue}}}]}}",
        ),
        waiting: (
            5000,
            "affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
             topology.kubernetes.io/zone, labelSelector: {matchLabels: {color: blue}}}]}}",
        ),
        floor: 35,
    },
    Workload {
        name: "SchedulingPodAntiAffinity",
        nodes: 5000,
        there: (
            1000,
            "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
             kubernetes.io/hostname, labelSelector: {matchLabels: {color: blue}}}]}}",
        ),
        waiting: (
            2000,
            "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
             kubernetes.io/hostname, labelSelector: {matchLabels: {color: blue}}}]}}",
        ),
        floor: 60,
    },
    Workload {
        name: "SchedulingPreferredPodAffinity",
        nodes: 5000,
        there: (5000, ""),
        waiting: (
            5000,
            "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: \
             {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {color: blue}}}}]}}",
        ),
        floor: 90,
    },
    Workload {
        name: "SchedulingPreferredPodAntiAffinity",
        nodes: 5000,
        there: (5000, ""),
        waiting: (
            5000,
            "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: \
             {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {color: blue}}}}]}}",
        ),
        floor: 90,
    },
    Workload {
        name: "Preemption",
        nodes: 5000,
        there: (
            20_000,
            "terminationGracePeriodSeconds: 30, containers: [{name: c, image: app, resources: {requests: {cpu: 900m}}}]",
        ),
        waiting: (5000, "priority: 10, containers: [{name: c, image: app, resources: {requests: {cpu: 3}}}]"),
        floor: 160,
    },
    Workload {
        name: "SchedulingDaemonset",
        nodes: 15_000,
        there: (0, ""),
        waiting: (
            15_000,
            "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
             [{matchFields: [{key: metadata.name, operator: In, values: [node-{i}]}]}]}}}",
        ),
        floor: 390,
    },
    Workload {
        name: "Unschedulable",
        nodes: 5000,
        there: (0, ""),
        waiting: (5000, "containers: [{name: c, image: app, resources: {requests: {cpu: 5}}}]"),
        floor: 170,
    },
];

/// A pod as a line of a manifest.
fn pod(name: &str, fields: &str, node: Option<usize>) -> String {
    let node = node.map_or_else(String::new, |node| format!(", nodeName: node-{node}"));
    let spec = match fields {
        "" => PLAIN.to_owned(),
        own if own.contains("containers:") => own.to_owned(),
        more => format!("{PLAIN}, {more}"),
    };
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default, labels: {{color: blue}}}}, \
         spec: {{{spec}{node}}}}}"
    )
}

/// The cluster of a workload, as a scenario in which nothing happens.
fn cluster(workload: &Workload) -> Prepared {
    let mut manifest = String::new();
    for i in 0..workload.nodes {
        let _ = writeln!(
            manifest,
            "---\n{{apiVersion: v1, kind: Node, metadata: {{name: node-{i}, labels: {{kubernetes.io/hostname: node-{i}, \
             topology.kubernetes.io/zone: zone-{}}}}}, status: {{allocatable: {{cpu: 4, memory: 32Gi, pods: 110}}, \
             conditions: [{{type: Ready, status: 'True'}}]}}}}",
            i % 3
        );
    }
    let (there, fields) = workload.there;
    for i in 0..there {
        let _ = writeln!(manifest, "---\n{}", pod(&format!("there-{i}"), fields, Some(i % workload.nodes)));
    }
    let (waiting, fields) = workload.waiting;
    for i in 0..waiting {
        let fields = fields.replace("{i}", &i.to_string());
        let _ = writeln!(manifest, "---\n{}", pod(&format!("waiting-{i}"), &fields, None));
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(directory.path().join("cluster.yaml"), manifest).expect("a manifest");
    let document = "{apiVersion: kubesquall.sim/v1alpha1, kind: Scenario, metadata: {name: bench}, \
                    spec: {duration: 1s, cluster: {manifests: [cluster.yaml]}}}";
    let path = directory.path().join("scenario.yaml");
    std::fs::write(&path, document).expect("a scenario");
    let scenario = scenario::load(Path::new(&path), &Overrides::none()).unwrap_or_else(|invalid| panic!("{invalid}"));
    Prepared::unsettled(&scenario)
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3))
        .configure_from_args();
    let table = RefCell::new(format!(
        "{:36} {:>6} {:>8} {:>14} {:>6}\n",
        "workload", "nodes", "pods", "pods/s (best)", "floor"
    ));
    for workload in &WORKLOADS {
        let mut best = Duration::MAX;
        let mut group = criterion.benchmark_group("scheduler");
        group.throughput(Throughput::Elements(workload.waiting.0 as u64));
        let prepared = std::cell::OnceCell::new();
        group.bench_function(workload.name, |bencher| {
            let prepared: &Prepared = prepared.get_or_init(|| cluster(workload));
            let pods = Scheduler::queue_order(prepared.store());
            assert_eq!(pods.len(), workload.waiting.0);
            bencher.iter_custom(|times| {
                let mut all = Duration::ZERO;
                for _ in 0..times {
                    let begin = Instant::now();
                    black_box(Scheduler::place(prepared.store(), prepared.config(), &pods));
                    let took = begin.elapsed();
                    best = best.min(took);
                    all += took;
                }
                all
            });
        });
        group.finish();
        if best < Duration::MAX {
            let rate = workload.waiting.0 as f64 / best.as_secs_f64();
            let Workload { name, nodes, waiting: (pods, _), floor, .. } = workload;
            let _ = writeln!(table.borrow_mut(), "{name:36} {nodes:>6} {pods:>8} {rate:>14.0} {floor:>6}");
        }
    }
    criterion.final_summary();
    println!("{}", table.borrow());
}
