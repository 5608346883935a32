//! How many pods a second the scheduler decides about, in the workloads of Kubernetes' own scheduler_perf.
//!
//! `cargo bench --bench scheduler`; with `-- --test` small clusters are tried once. Either way the placements must be those that
//! are written down here.
//!
//! At the end stands a table with the floors that the Kubernetes project sets for the real kube-scheduler, whose figures
//! contain an API server and etcd; ours are decisions alone, on one core.

#![expect(clippy::disallowed_methods, reason = "a bench measures real time and reads its arguments")]
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::cell::RefCell;
use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput};
use kubesquall::arena::stable_hash;
use kubesquall::scenario::{self, Overrides};
use kubesquall::scheduler::Scheduler;
use kubesquall::simulation::Prepared;
use kubesquall::state::PodId;

/// A workload: nodes, pods that are there, pods to be placed.
struct Workload {
    name: &'static str,
    nodes: usize,
    /// Pods on the nodes, spread in turn, and their fields.
    there: (usize, String),
    /// Pods that wait, and their fields. `{i}` is the number of the pod.
    waiting: (usize, String),
    /// Pods that wait among them and fit nowhere.
    too_large: usize,
    /// Pods a second that the Kubernetes project holds the real one to.
    floor: u32,
    /// Where the pods go, in short: a change that makes it faster and wrong shows here. Small and full size. What is meant
    /// to change placements changes these.
    digests: [u64; 2],
}

const PLAIN: &str = "containers: [{name: c, image: app, resources: {requests: {cpu: 100m, memory: 500Mi}}}]";

/// More than a node has.
const TOO_LARGE: &str = "containers: [{name: c, image: app, resources: {requests: {cpu: 9, memory: 500Mi}}}]";

/// By how much workloads are smaller when they are only tried.
const SMALLER: usize = 50;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOST: &str = "kubernetes.io/hostname";

/// The field for spreading over zones.
fn spread(action: &str) -> String {
    format!(
        "topologySpreadConstraints: [{{maxSkew: 5, topologyKey: {ZONE}, whenUnsatisfiable: {action}, labelSelector: \
         {{matchLabels: {{color: blue}}}}}}]"
    )
}

/// The field for required affinity, or anti-affinity, to pods alike.
fn required(kind: &str, key: &str) -> String {
    let term = format!("{{topologyKey: {key}, labelSelector: {{matchLabels: {{color: blue}}}}}}");
    format!("affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}")
}

/// The same as a preference.
fn preferred(kind: &str, key: &str) -> String {
    let term = format!("{{topologyKey: {key}, labelSelector: {{matchLabels: {{color: blue}}}}}}");
    format!(
        "affinity: {{{kind}: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, podAffinityTerm: {term}}}]}}}}"
    )
}

/// The field for required node affinity.
fn on_nodes(term: &str) -> String {
    let terms = format!("nodeSelectorTerms: [{{{term}}}]");
    format!("affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{{terms}}}}}}}")
}

/// The field for a container that asks for so much CPU.
fn asks_for(cpu: &str) -> String {
    format!("containers: [{{name: c, image: app, resources: {{requests: {{cpu: {cpu}}}}}}}]")
}

fn workloads() -> Vec<Workload> {
    let plain = String::new;
    let workload = |name, floor, there, waiting, digests| Workload {
        name,
        nodes: 5000,
        there,
        waiting,
        too_large: 0,
        floor,
        digests,
    };
    let zones = format!("matchExpressions: [{{key: {ZONE}, operator: In, values: [zone-0, zone-1]}}]");
    let one_node = "matchFields: [{key: metadata.name, operator: In, values: [node-{i}]}]";
    let (near, far) = (required("podAffinity", ZONE), required("podAntiAffinity", HOST));
    let nearer = preferred("podAffinity", HOST);
    let farther = preferred("podAntiAffinity", HOST);
    let low = format!("terminationGracePeriodSeconds: 30, {}", asks_for("900m"));
    let high = format!("priority: 10, {}", asks_for("3"));
    let (hard, soft) = (spread("DoNotSchedule"), spread("ScheduleAnyway"));
    vec![
        workload(
            "SchedulingBasic",
            270,
            (1000, plain()),
            (10_000, plain()),
            [0xce47_6e84_305d_51e0, 0x38ba_417d_f134_f208],
        ),
        workload(
            "SchedulingNodeAffinity",
            220,
            (5000, plain()),
            (10_000, on_nodes(&zones)),
            [0x89e7_cf0d_46bd_c1af, 0x6ddd_6b68_f405_4668],
        ),
        workload(
            "TopologySpreading",
            85,
            (5000, plain()),
            (5000, hard),
            [0x22af_3dc4_1b57_b259, 0x76bc_6529_632f_b3a1],
        ),
        workload(
            "PreferredTopologySpreading",
            125,
            (5000, plain()),
            (5000, soft),
            [0x1b72_733a_20d4_2509, 0x5264_b7a6_b87b_3bbb],
        ),
        workload(
            "SchedulingPodAffinity",
            35,
            (5000, near.clone()),
            (5000, near),
            [0xf5df_3ffe_7dbb_5cb7, 0x6187_bbf9_a405_90b0],
        ),
        workload(
            "SchedulingPodAntiAffinity",
            60,
            (1000, far.clone()),
            (2000, far),
            [0xc354_3de6_b54e_a229, 0x4799_a1fa_c6f1_d131],
        ),
        workload(
            "SchedulingPreferredPodAffinity",
            90,
            (5000, plain()),
            (5000, nearer),
            [0xb9d4_c6dd_04e7_bf9c, 0x9faa_1d8e_4872_787e],
        ),
        workload(
            "SchedulingPreferredPodAntiAffinity",
            90,
            (5000, plain()),
            (5000, farther),
            [0xd807_9c6d_a90a_1ccb, 0x11f2_57bd_668b_6c51],
        ),
        workload("Preemption", 160, (20_000, low), (5000, high), [0x11dd_5ba1_3366_bacf, 0xea14_437c_034d_63dd]),
        Workload {
            nodes: 15_000,
            ..workload(
                "SchedulingDaemonset",
                390,
                (0, plain()),
                (15_000, on_nodes(one_node)),
                [0x646a_5c63_b6cb_75f3, 0xd15b_8dc0_cddb_afd7],
            )
        },
        Workload {
            too_large: 100,
            ..workload(
                "Unschedulable",
                170,
                (0, plain()),
                (10_000, plain()),
                [0xd691_8695_9bf8_51d4, 0x62fc_538a_9ca7_fcfb],
            )
        },
    ]
}

impl Workload {
    /// The same, smaller.
    fn small(mut self) -> Self {
        for count in [&mut self.nodes, &mut self.there.0, &mut self.waiting.0, &mut self.too_large] {
            *count = count.div_ceil(SMALLER);
        }
        self
    }

    /// Panics if pods go elsewhere than they should.
    fn check(&self, prepared: &Prepared, pods: &[PodId], is_small: bool) {
        let store = prepared.store();
        let placed = Scheduler::place(prepared.snapshot(), pods);
        let mut text = String::new();
        let mut homeless = 0;
        for (pod, node) in pods.iter().zip(&placed) {
            let pod = store.pod(*pod).expect("a pod that waits");
            let node = node.map_or("", |node| store.node_name(node).as_str());
            let _ = writeln!(text, "{} {node}", pod.name);
            let is_too_large = pod.name.starts_with("large");
            assert_eq!(node.is_empty(), is_too_large, "{}: {} goes to {node:?}", self.name, pod.name);
            homeless += usize::from(node.is_empty());
        }
        assert_eq!((placed.len(), homeless), (self.waiting.0 + self.too_large, self.too_large), "{}", self.name);
        let (digest, expected) = (stable_hash(text.as_bytes()), self.digests[usize::from(!is_small)]);
        assert_eq!(digest, expected, "{}: pods go elsewhere, digest {digest:#018x}", self.name);
    }
}

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
    let (there, fields) = &workload.there;
    for i in 0..*there {
        let _ = writeln!(manifest, "---\n{}", pod(&format!("there-{i}"), fields, Some(i % workload.nodes)));
    }
    let (waiting, fields) = &workload.waiting;
    for i in 0..*waiting {
        // Those that fit nowhere are strewn among the others.
        if workload.too_large > 0 && i % (waiting / workload.too_large) == 0 {
            let _ = writeln!(manifest, "---\n{}", pod(&format!("large-{i}"), TOO_LARGE, None));
        }
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
    let is_small = std::env::args().any(|argument| argument == "--test");
    let all = workloads().into_iter().map(|workload| if is_small { workload.small() } else { workload });
    for workload in all {
        let mut best = Duration::MAX;
        let mut group = criterion.benchmark_group("scheduler");
        group.throughput(Throughput::Elements(workload.waiting.0 as u64));
        let prepared = std::cell::OnceCell::new();
        group.bench_function(workload.name, |bencher| {
            let (prepared, pods) = prepared.get_or_init(|| {
                let prepared = cluster(&workload);
                let pods = Scheduler::queue_order(prepared.store());
                workload.check(&prepared, &pods, is_small);
                (prepared, pods)
            });
            bencher.iter_custom(|times| {
                let mut all = Duration::ZERO;
                for _ in 0..times {
                    let begin = Instant::now();
                    black_box(Scheduler::place(prepared.snapshot(), pods));
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
