//! The schemas that editors are given: they are what `schema` prints, the shipped documents are as they say, and they refuse what the
//! program refuses.

use std::fs;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use kubesquall::diagnostics::Diagnostic;
use kubesquall::{Error, LoadOptions, Plan, Scenario, Study};
use serde_json::{Map, Value, json};

use super::binary;
use super::expected;

const KINDS: [&str; 5] = ["scenario", "study", "plan", "fault", "catalog"];

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn schema(kind: &str) -> Value {
    let text = fs::read_to_string(repository().join(format!("schemas/{kind}.json"))).expect("the schema");
    serde_json::from_str(&text).expect("JSON")
}

fn validator(kind: &str) -> Validator {
    jsonschema::validator_for(&schema(kind)).expect("a schema of draft 2020-12")
}

/// A document of YAML as JSON; the first, if there are several.
fn parse(text: &str) -> Value {
    let first = text.split("\n---\n").next().unwrap_or(text);
    serde_saphyr::from_str(first).expect("YAML")
}

#[track_caller]
fn expect_valid(validator: &Validator, document: &Value, name: &str) {
    let problems: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{name}: {problems:#?}");
}

#[test]
fn kept_schemas_are_those_that_are_printed() {
    for kind in KINDS {
        let said = binary::kubesquall(repository(), &format!("schema {kind}"), "");
        assert_eq!((said.status, said.stderr.as_str()), (0, ""));
        let path = repository().join(format!("schemas/{kind}.json"));
        assert_eq!(expected::difference(&path, &said.stdout), None);
        let schema: Value = serde_json::from_str(&said.stdout).expect("JSON");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(jsonschema::meta::is_valid(&schema), "{kind}");
    }
    assert_eq!(
        binary::kubesquall(repository(), "schema Scenario", "").status,
        0,
        "as the kind of a document is written"
    );
    assert_eq!(binary::kubesquall(repository(), "schema pod", "").status, 2);
}

/// Every field that has a name of ours says what it is for.
#[test]
fn fields_are_described() {
    fn undescribed(schema: &Value, at: &str, found: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                for (keyword, inner) in fields {
                    // What only one branch has is described where all are.
                    if keyword == "properties" && !at.ends_with("/then") && !at.ends_with("/if") {
                        for (name, property) in inner.as_object().into_iter().flatten() {
                            if property.is_object()
                                && property.get("description").is_none()
                                && property.get("$ref").is_none()
                            {
                                found.push(format!("{at}.{name}"));
                            }
                        }
                    }
                    undescribed(inner, &format!("{at}/{keyword}"), found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| undescribed(item, at, found)),
            _ => {}
        }
    }
    for kind in KINDS {
        let mut found = Vec::new();
        undescribed(&schema(kind), kind, &mut found);
        found.retain(|field| !field.contains("NodeTemplate") && !field.contains("Distribution"));
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// The documents of ours below a directory.
fn documents(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(repository().join(directory)).expect("a directory");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths
}

#[test]
fn shipped_documents_are_as_their_schemas_say_and_name_them() {
    let mut counts = Map::new();
    for path in documents("scenarios").into_iter().chain(documents("scenarios/studies")) {
        let text = fs::read_to_string(&path).expect("a document");
        let document = parse(&text);
        let kind = document["kind"].as_str().expect("a kind").to_lowercase();
        let name = path.display().to_string();
        expect_valid(&validator(&kind), &document, &name);
        let depth = path.strip_prefix(repository()).expect("below").components().count() - 1;
        let line = format!("# yaml-language-server: $schema={}schemas/{kind}.json\n", "../".repeat(depth));
        assert!(text.starts_with(&line), "{name} begins with {line}");
        let count = counts.entry(kind).or_insert(json!(0));
        *count = json!(count.as_u64().unwrap_or(0) + 1);
    }
    assert!(["scenario", "study", "plan"].iter().all(|kind| counts.contains_key(*kind)), "{counts:?}");
}

/// What a run leaves can be edited, too.
#[test]
fn lock_files_are_as_the_schema_of_scenarios_says() {
    for path in documents("scenarios") {
        let scenario = Scenario::load_with(&path, &LoadOptions::new()).expect("a scenario");
        let lock = parse(&scenario.lock_file());
        expect_valid(&validator("scenario"), &lock, &path.display().to_string());
    }
}

/// A scenario with something of everything.
const SCENARIO: &str = r#"
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: all, labels: {a: b}}
spec:
  duration: 1d
  seed: 7
  cluster:
    manifests: []
    nodePools:
    - name: worker
      count: 3
      zones: [a, b]
      template: {metadata: {labels: {disk: ssd}}, spec: {taints: [{key: k, value: v, effect: NoSchedule}]}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: 110}}}
    bootstrap: settled
    missingOwners: Rebuild
  controlPlane:
    kubernetesVersion: "1.36"
    kubeApiserver: {default-not-ready-toleration-seconds: 300}
    kubeControllerManager: {node-monitor-grace-period: 50s, profiling: false}
    kubeScheduler: {}
    kubelet: {nodeLeaseDurationSeconds: 40}
  latency:
    podStart: {lognormal: {median: 2s, p99: 12s}}
    podReady: {uniform: {min: 1s, max: 1m30s}}
    nodeBoot: 90s
    podStop: {weibull: {shape: 0.7, mean: 2s}}
  timeline:
  - {at: 5m, fault: {kind: Crash, nodes: {zone: a, count: 1}, for: 20m, boot: {gamma: {shape: 2, scale: 10s}}}}
  - {at: 6m, fault: {kind: SlowHeartbeats, nodes: {pool: worker, fraction: 50%}, delay: {exponential: {mean: 5s}}, for: 1m}}
  - {at: 7m, fault: {kind: ControlPlaneOutage, components: [kube-scheduler], for: 1m}}
  - {at: 8m, kubectl: cordon worker-0}
  - {at: 9m, addNodes: {pool: worker, count: 1}}
  - {at: 10m, rollingUpgrade: {pool: worker, maxSurge: 1, drainTimeout: 10m, undrainableNodeBehavior: Cordon}}
  - {at: 5h, rollingReboot: {pool: worker, period: 1h, concurrency: 1, forceReboot: true}}
  - {at: 6h, request: {method: DELETE, path: /api/v1/nodes/worker-1}}
  faults:
  - {name: crashes, kind: Crash, nodes: {pool: worker}, timeToFailure: {exponential: {mean: 60d}}, timeToRepair: 10m}
  nodeAutoRepair: {pools: [worker], unhealthyFor: 10m, maxUnhealthy: 40%}
  slo:
  - {workload: "deployment/*/*", minReady: 80%, objective: 99.9%}
  expect:
  - {metric: evictions, op: "<=", value: 100}
  - {metric: longest_gap_s, op: ">=", value: 0s}
"#;

const STUDY: &str = r#"
apiVersion: kubesquall.sim/v1alpha1
kind: Study
metadata: {name: study}
spec:
  scenario: REPOSITORY/scenarios/flapping-node.yaml
  replications: 4
  seeds: antithetic
  vary:
  - {name: tolerationSeconds, tolerationSeconds: {workloads: ["deployment/*/*"], taints: [not-ready], values: [0, 60]}}
  - {name: grace, path: spec.controlPlane.kubeControllerManager.node-monitor-grace-period, values: [20s, 40s]}
  baseline: {tolerationSeconds: 60, grace: 40s}
  cost: {unreadyReplicaSeconds: 1, evictions: 30.5}
"#;

const PLAN: &str = r#"
apiVersion: kubesquall.sim/v1alpha1
kind: Plan
metadata: {name: plan}
spec:
  scenario: REPOSITORY/tests/cli/small.yaml
  pools: [{name: worker, min: 3, max: 20, price: 1.5}]
  survive: [zone, node, {nodes: 2}, rollingUpgrade, {rollingUpgrade: {maxSurge: 1, drainTimeout: 10m}}]
  priority: 0
"#;

/// A change of one place of a document, and what it is called.
struct Mutation {
    document: Value,
    what: String,
}

/// The places of a document: paths as JSON pointers have them.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                places(inner, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                places(inner, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// At each place: a field too many, each field that is there taken away, and values of other types and other words.
fn mutations(document: &Value) -> Vec<Mutation> {
    let mut paths = Vec::new();
    places(document, "", &mut paths);
    let mut found = Vec::new();
    for path in &paths {
        let mut change = |what: &str, make: &dyn Fn(&mut Value)| {
            let mut changed = document.clone();
            make(changed.pointer_mut(path).expect("a place"));
            if changed != *document {
                found.push(Mutation { document: changed, what: format!("{path}: {what}") });
            }
        };
        let here = document.pointer(path).expect("a place");
        if let Value::Object(fields) = here {
            change("a field too many", &|value| value["surplus"] = json!(1));
            for name in fields.keys() {
                change(&format!("without `{name}`"), &|value| {
                    value.as_object_mut().expect("a map").remove(name);
                });
            }
        }
        if path.is_empty() {
            continue;
        }
        change("a list", &|value| *value = json!([[1]]));
        change("a map", &|value| *value = json!({"surplus": 1}));
        change("another word", &|value| *value = json!("no-such-word"));
        change("a number", &|value| *value = json!(-1.5));
        change("a boolean", &|value| *value = json!(true));
    }
    found
}

/// Whether a problem is one of the reader: what it says depends on one value alone.
fn is_of_reader(problem: &Diagnostic) -> bool {
    let is_structure =
        ["scenario::unknown_field", "scenario::missing_field", "scenario::unknown_value"].contains(&problem.code);
    is_structure || (problem.message.starts_with("expected ") && problem.message.contains(", found "))
}

/// What a schema leaves open: Kubernetes' own kinds, and values of a path that is named elsewhere.
fn is_open(what: &str) -> bool {
    let open = [
        "/spec/controlPlane/kubelet",
        "/spec/controlPlane/kubeScheduler",
        "/template",
        "/spec/vary/1/path",
        "/spec/vary/1/values",
    ];
    open.iter().any(|part| what.contains(part))
}

/// Reads a document from a file beside the scenarios that it may name.
fn load_text<T>(document: &Value, read: impl Fn(PathBuf) -> Result<T, Error>) -> Result<T, Error> {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("document.json");
    let text = document.to_string().replace("REPOSITORY", &repository().to_string_lossy());
    fs::write(&path, text).expect("a document");
    read(path)
}

/// What a schema refuses, the program refuses; and what the reader of the program refuses, the schema refuses.
fn agree(kind: &str, text: &str, read: impl Fn(PathBuf) -> Result<(), Error>) {
    let validator = validator(kind);
    let document = parse(text);
    expect_valid(&validator, &document, kind);
    let load = |document: &Value| load_text(document, &read);
    load(&document).unwrap_or_else(|error| panic!("{error}"));
    let (mut refused, mut accepted) = (0, 0);
    for Mutation { document, what } in mutations(&document) {
        let result = load(&document);
        let schema_says: Vec<String> =
            validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
        match (&result, schema_says.is_empty()) {
            (Ok(()), false) => panic!("the program takes, and the schema of {kind} refuses, {what}: {schema_says:#?}"),
            (Err(error), true) if !is_open(&what) => {
                let of_reader: Vec<String> = error
                    .diagnostics()
                    .iter()
                    .filter(|problem| is_of_reader(problem))
                    .map(Diagnostic::to_string)
                    .collect();
                assert!(of_reader.is_empty(), "the schema of {kind} takes {what}: {of_reader:#?}");
            }
            (Err(_), false) => refused += 1,
            (_, true) => accepted += 1,
        }
    }
    assert!(refused > 100 && accepted > 5, "{refused} refused, {accepted} accepted");
}

#[test]
fn schema_and_reader_of_scenarios_agree() {
    agree("scenario", SCENARIO, |path| Scenario::load(path).map(drop));
}

#[test]
fn schema_and_reader_of_studies_agree() {
    agree("study", STUDY, |path| Study::load(path).map(drop));
}

#[test]
fn schema_and_reader_of_plans_agree() {
    agree("plan", PLAN, |path| Plan::load(path).map(drop));
}

/// A fault of the timeline alone.
#[test]
fn schema_and_reader_of_faults_agree() {
    let scenario = parse(SCENARIO);
    let load = |fault: &Value| {
        let mut with_fault = scenario.clone();
        with_fault["spec"]["timeline"] = json!([{"at": "5m", "fault": fault}]);
        load_text(&with_fault, Scenario::load).map(drop)
    };
    let validator = validator("fault");
    let faults = [
        json!({"kind": "Crash", "nodes": {"zone": "a"}, "for": "20m", "boot": "1m"}),
        json!({"kind": "SpotInterruption", "nodes": {"names": ["worker-0"]}, "notice": "2m", "drain": true}),
        json!({"kind": "SlowDisk", "nodes": {"selector": "disk=ssd"}, "factor": 3, "for": "10m"}),
    ];
    for fault in faults {
        expect_valid(&validator, &fault, "a fault");
        load(&fault).unwrap_or_else(|error| panic!("{error}"));
        for Mutation { document, what } in mutations(&fault) {
            let is_refused = load(&document).is_err();
            assert!(is_refused || validator.is_valid(&document), "{fault}: the program takes {what}");
        }
    }
    let refused = [
        json!({"kind": "SlowDisk", "nodes": {}}),
        json!({"kind": "Crash", "nodes": {}, "factor": 3}),
        json!({"kind": "Crsh", "nodes": {}}),
    ];
    for fault in refused {
        assert!(!validator.is_valid(&fault) && load(&fault).is_err(), "{fault}");
    }
}

#[test]
fn catalogues_are_as_their_schema_says() {
    let validator = validator("catalog");
    let catalog = parse(
        "remove: [pairLost]\ndrainsPerYear: 6\nincidents:\n- name: rack\n  duration: 1h\n  perYear: 0.5\n  timeline:\n  - {at: 0s, fault: {kind: \
         Crash, nodes: {zone: a}}}\n",
    );
    expect_valid(&validator, &catalog, "a catalogue");
    for (path, value) in [
        ("/remove", json!(1)),
        ("/incidents/0/timeline/0", json!({"at": "0s", "falt": 1})),
        ("/incidents/0/duration", json!("1x")),
    ] {
        let mut changed = catalog.clone();
        *changed.pointer_mut(path).expect("a place") = value;
        assert!(!validator.is_valid(&changed), "{path}");
    }
}
