//! `import latencies`: what was recorded of known latencies gives these latencies again.

use std::fs;
use std::path::{Path, PathBuf};

use kubesquall::engine::{Distribution, Streams};
use kubesquall::import::latencies::{ImportedLatencies, Latency, LatencyEvidence, LatencyOptions, Measure};
use kubesquall::scenario::{self, Overrides};
use kubesquall::units::{SimDuration, exact_rfc3339_from_unix_nanos, rfc3339_from_unix_nanos, unix_nanos_from_rfc3339};
use kubesquall::{Report, Scenario};
use serde_json::{Value, json};

use super::binary::kubesquall;

const EPOCH: i64 = 1_772_323_200_000_000_000;

fn stamp(seconds: f64) -> String {
    rfc3339_from_unix_nanos(EPOCH + (seconds * 1e9) as i64)
}

fn exact(seconds: f64) -> String {
    exact_rfc3339_from_unix_nanos(EPOCH + (seconds * 1e6) as i64 * 1000)
}

fn list(items: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

fn import(text: &str) -> ImportedLatencies {
    let mut evidence = LatencyEvidence::new();
    evidence.add_stream(std::io::Cursor::new(text.to_owned()), "-");
    finish(evidence)
}

fn finish(evidence: LatencyEvidence) -> ImportedLatencies {
    let options = LatencyOptions { samples_min: 10, is_partial_allowed: false, stem: "out".to_owned() };
    match evidence.finish(&options) {
        Ok(imported) => imported,
        Err(unusable) => panic!("{:?}", unusable.diagnostics),
    }
}

fn of<'i>(imported: &'i ImportedLatencies, measure: Measure, workload: Option<&str>) -> &'i Latency {
    let is_it = |latency: &&Latency| latency.measure == measure && latency.workload.as_deref() == workload;
    imported
        .latencies
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("{measure:?} of {workload:?}: {}", imported.document))
}

fn secs(seconds: f64) -> SimDuration {
    SimDuration::from_secs_f64(seconds)
}

/// Holds quantiles of what was taken against the truth, give or take a share.
#[track_caller]
fn near(latency: &Latency, truth: &Distribution, share: f64) {
    let taken = latency.taken.as_ref().unwrap_or_else(|| panic!("nothing is taken: {latency:?}"));
    for p in [0.25, 0.5, 0.9] {
        let (found, expected) = (taken.quantile(p).as_secs_f64(), truth.quantile(p).as_secs_f64());
        assert!((found / expected - 1.0).abs() < share, "{p}: {found} instead of {expected}, {latency:?}");
    }
}

fn pod(name: &str, workload: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("u-{name}"),
            "labels": {"pod-template-hash": "5d"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": format!("{workload}-5d"), "controller": true}]},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Never"}]},
        "status": {"phase": "Running"}})
}

/// Pods that start, become Ready, and stop as drawn, seen at `until`.
fn pods(count: usize, starts: &Distribution, readies: &Distribution, stops: &Distribution, until: f64) -> Vec<Value> {
    let mut stream = Streams::new(7).stream("test", "pods");
    let mut draw = |distribution: &Distribution| distribution.sample(&mut stream).as_secs_f64();
    let any = Distribution::Uniform { min: secs(0.0), max: secs(1000.0) };
    (0..count)
        .map(|index| {
            let mut pod = pod(&format!("web-{index}"), "web");
            let bound = draw(&any);
            let runs = bound + draw(starts);
            let ready = runs + draw(readies);
            let mut conditions =
                vec![json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(bound)})];
            let state = if runs > until {
                pod["status"]["phase"] = "Pending".into();
                json!({"waiting": {"reason": "ContainerCreating"}})
            } else if index % 2 == 0 {
                let (status, at) = if ready > until { ("False", runs) } else { ("True", ready) };
                conditions.push(json!({"type": "Ready", "status": status, "lastTransitionTime": stamp(at)}));
                json!({"running": {"startedAt": stamp(runs)}})
            } else {
                let request = ready.max(1010.0);
                pod["metadata"]["deletionTimestamp"] = stamp(request + 30.0).into();
                pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
                let gone = request + draw(stops).min(30.0);
                let exit_code = if gone - request >= 30.0 { 137 } else { 0 };
                json!({"terminated": {"startedAt": stamp(runs), "finishedAt": stamp(gone), "exitCode": exit_code}})
            };
            pod["status"]["conditions"] = conditions.into();
            pod["status"]["containerStatuses"] = json!([{"name": "c", "restartCount": 0, "state": state}]);
            pod
        })
        .collect()
}

#[test]
fn whole_seconds_and_what_had_not_ended_give_the_truth_again() {
    let starts = Distribution::Lognormal { median: secs(2.5), p99: secs(11.0) };
    let readies = Distribution::Gamma { shape: 3.0, scale: secs(2.0) };
    let stops = Distribution::Exponential { mean: secs(15.0) };
    let imported = import(&list(&pods(800, &starts, &readies, &stops, 2000.0)));
    near(of(&imported, Measure::PodStart, None), &starts, 0.08);
    near(of(&imported, Measure::PodReady, Some("deployment/shop/web")), &readies, 0.12);
    let stop = of(&imported, Measure::PodStop, None);
    // One in seven would have taken longer than its grace period.
    assert!((30..80).contains(&stop.open), "{stop:?}");
    near(stop, &stops, 0.2);
    for measure in [Measure::PodStart, Measure::PodReady, Measure::PodStop] {
        let goodness = of(&imported, measure, None).goodness.expect("a fit");
        assert!(goodness.distance < 0.05 && goodness.p_value.is_some_and(|p| p > 0.02), "{measure:?} {goodness:?}");
    }
}

#[test]
fn pods_that_still_start_count_as_what_they_are() {
    let starts = Distribution::Exponential { mean: secs(300.0) };
    let none = Distribution::Constant(secs(0.0));
    // At 800 s a part of them is bound, and a part of these runs. Every second one is there to be stopped later.
    let seen = pods(1500, &starts, &none, &none, 800.0);
    let mut seen: Vec<Value> = seen.into_iter().step_by(2).collect();
    seen.retain(|pod| pod["status"]["conditions"][0]["lastTransitionTime"].as_str() < Some(&stamp(800.0)));
    seen.push(
        json!({"kind": "Node", "metadata": {"name": "n9"}, "status": {"conditions": [{"type": "Ready", "status": "True",
        "lastHeartbeatTime": stamp(800.0), "lastTransitionTime": stamp(0.0)}]}}),
    );
    let imported = import(&list(&seen));
    let start = of(&imported, Measure::PodStart, None);
    assert!(start.open > 50, "{start:?}");
    near(start, &starts, 0.2);
}

fn event(kind: &str, name: &str, reason: &str, message: &str, at: f64) -> Value {
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{reason}.{at}"), "namespace": "shop"},
        "involvedObject": {"kind": kind, "namespace": "shop", "name": name, "uid": format!("u-{name}")}, "reason": reason,
        "message": message, "count": 1, "firstTimestamp": stamp(at), "lastTimestamp": stamp(at),
        "source": {"component": if kind == "Node" && reason == "NodeNotReady" { "node-controller" } else { "kubelet" }, "host": "n1"}})
}

fn scheduled(name: &str, at: f64) -> Value {
    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": format!("{name}.s"), "namespace": "shop"},
        "regarding": {"kind": "Pod", "namespace": "shop", "name": name, "uid": format!("u-{name}")}, "reason": "Scheduled",
        "note": "Successfully assigned", "eventTime": exact(at), "reportingController": "default-scheduler"})
}

#[test]
fn events_alone_tell_starts_without_their_pulls_and_the_pulls() {
    let pulls = Distribution::Lognormal { median: secs(6.0), p99: secs(40.0) };
    let starts = Distribution::Gamma { shape: 4.0, scale: secs(0.5) };
    let mut stream = Streams::new(3).stream("test", "events");
    let mut lines = String::new();
    for index in 0..400 {
        let name = format!("web-5d-{index}");
        let bound = index as f64 * 3.7 + stream.unit();
        let before = 0.4;
        let pull = pulls.sample(&mut stream).as_secs_f64();
        let runs = bound + pull + starts.sample(&mut stream).as_secs_f64().max(before);
        let image = format!("i{index}");
        let said = format!(
            "Successfully pulled image \"{image}\" in {:.3}s ({:.3}s including waiting). Image size: 9 bytes.",
            pull, pull
        );
        let made = format!("Created pod: {name}");
        for told in [
            scheduled(&name, bound),
            event("Pod", &name, "Pulling", &format!("Pulling image \"{image}\""), bound + before),
            event("Pod", &name, "Pulled", &said, bound + before + pull),
            event("Pod", &name, "Started", "Started container c", runs),
            event("ReplicaSet", "web-5d", "SuccessfulCreate", &made, bound - 0.1),
        ] {
            lines.push_str(&told.to_string());
            lines.push('\n');
        }
    }
    let scaled = event("Deployment", "web", "ScalingReplicaSet", "Scaled up replica set web-5d from 0 to 400", 0.0);
    // The same again, as two exporters keep it.
    let imported = import(&format!("{lines}{{\"type\":\"ADDED\",\"object\":{scaled}}}\n{lines}"));
    let pull = of(&imported, Measure::ImagePull, None);
    assert_eq!((pull.whole, pull.open), (400, 0));
    near(pull, &pulls, 0.12);
    let start = of(&imported, Measure::PodStart, Some("deployment/shop/web"));
    assert_eq!(start.whole, 400);
    near(start, &starts, 0.12);
}

#[test]
fn nodes_are_bounded_by_when_they_were_lost() {
    let mut events = Vec::new();
    for index in 0..20 {
        let (node, at) = (format!("n{index}"), 100.0 * f64::from(index));
        let message = format!("Node {node} status is now: NodeReady");
        let of_node = |reason: &str, message: &str, at: f64| {
            let mut event = event("Node", &node, reason, message, at);
            event["source"]["host"] = node.as_str().into();
            event
        };
        events.push(of_node("NodeReady", &message, at));
        events.push(of_node("NodeNotReady", "", at + 1000.0));
        events.push(of_node("Starting", "Starting kubelet.", at + 1030.0));
        events.push(of_node("Rebooted", "Node n has been rebooted, boot id: x", at + 1031.0));
        events.push(of_node("NodeReady", &message, at + 1041.0 + f64::from(index % 4)));
        // A second absence: the link was gone, and two pods were deleted meanwhile.
        events.push(of_node("NodeNotReady", "", at + 5000.0));
        events.push(of_node("NodeReady", &message, at + 5600.0));
        let mut killing = event("Pod", &format!("p{index}"), "Killing", "Stopping container c", at + 5605.0);
        killing["source"]["host"] = node.as_str().into();
        events.push(killing);
    }
    let imported = import(&list(&events));
    let boot = of(&imported, Measure::NodeBoot, None);
    assert_eq!((boot.whole, boot.open, boot.capped), (20, 0, 0));
    let taken = boot.taken.as_ref().expect("a distribution").quantile(0.5).as_secs_f64();
    // From the start of the kubelet to the loss of the node.
    assert!((10.0..110.0).contains(&taken), "{taken}");
    let reconnect = of(&imported, Measure::KubeletReconnect, None);
    assert_eq!(reconnect.whole, 20);
    let taken = reconnect.taken.as_ref().expect("a distribution").quantile(0.5).as_secs_f64();
    assert!((4.0..17.0).contains(&taken), "{taken}");
}

#[test]
fn too_little_leaves_the_default_and_says_so() {
    let constant = |seconds: f64| Distribution::Constant(secs(seconds));
    let imported = import(&list(&pods(8, &constant(1.5), &constant(0.2), &constant(1.0), 2000.0)));
    let start = of(&imported, Measure::PodStart, None);
    assert_eq!((start.whole, &start.taken), (8, &None));
    assert!(start.notes[0].contains("the default stays"), "{:?}", start.notes);
    assert!(imported.document.ends_with("latency: {}\n"), "{}", imported.document);
    // Nobody knows whether the start of these had a pull in it.
    let mut seen = pods(30, &constant(1.5), &constant(0.2), &constant(1.0), 2000.0);
    for (index, pod) in seen.iter_mut().enumerate() {
        pod["spec"]["containers"][0]["imagePullPolicy"] = "IfNotPresent".into();
        pod["spec"]["nodeName"] = format!("n{index}").into();
    }
    let start = import(&list(&seen));
    let start = of(&start, Measure::PodStart, None);
    assert_eq!((start.whole, start.capped, &start.taken), (0, 30, &None));
}

#[test]
fn two_kinds_of_pods_in_one_go_with_no_family_and_become_quantiles() {
    let constant = |seconds: f64| Distribution::Constant(secs(seconds));
    let mut seen = pods(100, &constant(1.0), &constant(0.2), &constant(1.0), 3000.0);
    for mut slow in pods(100, &constant(120.0), &constant(0.2), &constant(1.0), 3000.0) {
        let name = format!("slow-{}", slow["metadata"]["name"].as_str().unwrap_or_default());
        slow["metadata"]["uid"] = name.as_str().into();
        slow["metadata"]["name"] = name.into();
        seen.push(slow);
    }
    let imported = import(&list(&seen));
    let start = of(&imported, Measure::PodStart, None);
    assert!(start.notes.iter().any(|note| note.starts_with("warning: even")), "{start:?}");
    assert!(imported.document.contains("podStart: {empirical: {file: out-podStart.csv}}"), "{}", imported.document);
    let lengths: Vec<f64> = imported.files[0].1.lines().skip(1).map(|line| line.parse().expect("a number")).collect();
    assert!(lengths[20] < 2.1 && lengths[180] > 119.0 && lengths[180] < 122.0, "{lengths:?}");
    // An annotation cannot name a file.
    let (_, annotation) = of(&imported, Measure::PodStart, Some("deployment/shop/web")).annotation().expect("one");
    assert!(!annotation.contains("empirical"), "{annotation}");
}

#[test]
fn bad_evidence_is_told_and_what_is_whole_beside_it_counts() {
    let whole =
        list(&pods(30, &Distribution::Constant(secs(2.0)), &Distribution::default(), &Distribution::default(), 2000.0));
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a file");
    write("cut.json", &whole[..whole.len() / 2]);
    write("lines.jsonl", &format!("{}\n{{\"kind\": \"Event\", oops}}\n{}\n", whole, scheduled("x", 1.0)));
    write("table.txt", "LAST SEEN   TYPE\n5m          Normal\n");
    let said = kubesquall(dir.path(), "import latencies cut.json -o l.yaml", "");
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("records::cut_short") && !dir.path().join("l.yaml").exists(), "{}", said.stderr);
    let said = kubesquall(dir.path(), "import latencies lines.jsonl -o l.yaml", "");
    assert!(said.status == 2 && said.stderr.contains("lines.jsonl:2:"), "{}", said.stderr);
    let said = kubesquall(dir.path(), "import latencies lines.jsonl --allow-partial -o l.yaml", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(said.stdout.contains("podStart") && said.stderr.contains("warning[records::syntax]"), "{}", said.stderr);
    let said = kubesquall(dir.path(), "import latencies table.txt -o m.yaml", "");
    assert!(said.status == 2 && said.stderr.contains("records::nothing"), "{}", said.stderr);
}

#[test]
fn a_scenario_takes_what_was_written_and_the_cluster_its_annotations() {
    let starts = Distribution::Lognormal { median: secs(2.5), p99: secs(11.0) };
    let ready = Distribution::Constant(secs(4.0));
    let dir = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a file");
    let node = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {capacity: {cpu: '64', memory: 64Gi, pods: '500'}}}";
    let template = "{metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}";
    write(
        "web.yaml",
        &format!(
            "{node}\n---\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}, spec: \
        {{replicas: 2, selector: {{matchLabels: {{app: web}}}}, template: {template}}}}}\n"
        ),
    );
    let said = kubesquall(dir.path(), "import cluster web.yaml -o cluster.yaml", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let evidence = list(&pods(120, &starts, &ready, &Distribution::Constant(secs(1.0)), 2000.0));
    let said = kubesquall(dir.path(), "import latencies - -o latencies.yaml --cluster cluster.yaml", evidence.clone());
    assert_eq!(said.status, 0, "{}", said.stderr);
    let block = fs::read_to_string(dir.path().join("latencies.yaml")).expect("a file");
    let below: String = block.lines().map(|line| format!("  {line}\n")).collect();
    let scenario = "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  duration: 5m\n  cluster: \
                    {manifests: [latencies-cluster.yaml]}\n";
    write("s.yaml", &format!("{scenario}{below}"));
    let resolved = scenario::load(&dir.path().join("s.yaml"), &Overrides::none());
    let resolved = resolved.unwrap_or_else(|invalid| panic!("{:?}\n{below}", invalid.diagnostics));
    let written = serde_json::to_value(resolved.config.latency.written()).expect("plain data");
    assert!(written["podStart"] != json!({"lognormal": {"median": "1.1s", "p99": "3.5s"}}), "{written}");
    let copy = fs::read_to_string(dir.path().join("latencies-cluster.yaml")).expect("a file");
    for annotation in ["kubesquall.sim/start: \"{", "kubesquall.sim/ready: \"{", "kubesquall.sim/stop: \"{"] {
        assert!(copy.contains(annotation), "{copy}");
    }
    let said = kubesquall(dir.path(), "check s.yaml", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    // The same evidence gives the same bytes, and nothing is replaced unasked.
    let again = kubesquall(dir.path(), "import latencies - -o latencies.yaml", evidence.clone());
    assert_eq!(again.status, 2);
    let again = kubesquall(dir.path(), "import latencies - -o latencies.yaml --force -q", evidence);
    assert_eq!((again.status, again.stdout.as_str()), (0, ""));
    assert_eq!(fs::read_to_string(dir.path().join("latencies.yaml")).expect("a file"), block);
}

const PLAYED: &str = "
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: played}
spec:
  duration: 40m
  cluster:
    bootstrap: cold
    manifests: [web.yaml]
    nodePools: [{name: w, count: 8, template: {status: {allocatable: {cpu: '64', memory: 64Gi, pods: '200'}}}}]
  latency:
    podStart: {gamma: {shape: 3, scale: 1.5s}}
    podReady: {lognormal: {median: 5s, p99: 20s}}
    podStop: {exponential: {mean: 8s}}
  timeline:
  - {at: 10m, kubectl: scale deployment web --replicas=10}
";

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 400, selector: \
    {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i, resources: \
    {requests: {cpu: 10m}}}]}}}}";

/// The objects that an API server would have shown of a run, pods that are gone as the last change of a watch.
fn objects(dir: &Path) -> Vec<Value> {
    let mut table = csv::Reader::from_path(dir.join("pods.csv")).expect("a table");
    let header = table.headers().expect("a header").clone();
    let mut found = Vec::new();
    for row in table.records() {
        let row = row.expect("a row");
        let cell = |name: &str| &row[header.iter().position(|column| column == name).expect("a column")];
        let at = |name: &str| cell(name).parse::<f64>().ok();
        let Some(started) = at("started_s") else { continue };
        let mut pod = pod(cell("name"), "web");
        pod["metadata"]["namespace"] = cell("namespace").into();
        pod["spec"]["nodeName"] = cell("node").into();
        let scheduled = at("scheduled_s").expect("a time");
        let mut conditions =
            vec![json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(scheduled)})];
        let mut state = json!({"running": {"startedAt": stamp(started)}});
        if let (Some(deletion), Some(gone)) = (at("deletion_s"), at("gone_s")) {
            pod["metadata"]["deletionTimestamp"] = stamp(deletion + 30.0).into();
            pod["metadata"]["deletionGracePeriodSeconds"] = 30.into();
            let exit_code = if gone - deletion >= 30.0 { 137 } else { 0 };
            state =
                json!({"terminated": {"startedAt": stamp(started), "finishedAt": stamp(gone), "exitCode": exit_code}});
        } else if let Some(ready) = at("ready_s") {
            conditions.push(json!({"type": "Ready", "status": "True", "lastTransitionTime": stamp(ready)}));
        }
        pod["status"]["conditions"] = conditions.into();
        pod["status"]["containerStatuses"] = json!([{"name": "c", "restartCount": 0, "state": state}]);
        found.push(pod);
    }
    found
}

#[test]
fn what_a_run_has_shown_gives_its_latencies_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let place = dir.path().join("run");
    // So that many stay to be seen Ready.
    let stay = PLAYED.replace("--replicas=10", "--replicas=200");
    Scenario::parse(&stay, [("web.yaml", WEB)]).expect("a scenario").play(5).write(&place).expect("a directory");
    let imported = import(&list(&objects(&place)));
    let start = Distribution::Gamma { shape: 3.0, scale: secs(1.5) };
    let ready = Distribution::Lognormal { median: secs(5.0), p99: secs(20.0) };
    near(of(&imported, Measure::PodStart, Some("deployment/default/web")), &start, 0.15);
    near(of(&imported, Measure::PodReady, None), &ready, 0.15);
    // The object is gone a little after its containers.
    let taken = of(&imported, Measure::PodStop, None).taken.as_ref().and_then(Distribution::mean).expect("parameters");
    assert!((7.0..10.5).contains(&taken.as_secs_f64()), "{taken}");
    // Its events alone tell how long pods took to start, and whose they are.
    let events = Report::open(&place).expect("results").events().expect("events").to_string();
    assert!(unix_nanos_from_rfc3339("2026-03-01T00:00:00Z") == Some(EPOCH));
    let imported = import(&events);
    // Ten pods, whose quartiles are off by a quarter in one of ten samples.
    near(of(&imported, Measure::PodStart, Some("deployment/default/web")), &start, 0.3);
}

fn bundle(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bundles").join(name)
}

#[test]
fn real_bundles_give_what_is_in_them() {
    // Read by hand off their events: a k3s node of 2025 pulled seven images and started seven pods; in a cluster of 2017 thirteen
    // pulls are told, two of them of images that the node had, and fifteen pods were bound, four others being static.
    for (name, pulls, starts) in
        [("troubleshoot-k3s-1node-2025.tar.gz", 7, 7), ("sonobuoy-aws-3node-v1.8.tar.gz", 11, 15)]
    {
        let mut evidence = LatencyEvidence::new();
        evidence.add(&bundle(name));
        let imported = finish(evidence);
        assert_eq!(of(&imported, Measure::ImagePull, None).whole, pulls, "{name}: {}", imported.document);
        assert_eq!(of(&imported, Measure::PodStart, None).whole, starts, "{name}: {}", imported.document);
    }
}
