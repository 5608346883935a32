//! Results in the formats of other programs, against the files of which they are made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use kubesquall::{Plan, PlayOptions, Report, Scenario, SimDuration, SolveOptions, Study, SweepOptions, WriteOptions};
use serde_json::Value;

use super::binary::kubesquall;

const SCENARIO: &str = r#"
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: one-node-dies}
spec:
  duration: 15m
  cluster:
    manifests: [web.yaml]
    nodePools:
    - {name: worker, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}}
  timeline:
  - {at: 1m, fault: {kind: Crash, nodes: {names: [worker-0]}, for: 12m}}
  - {at: 2m, kubectl: "annotate deployment web 'note=</text><script>alert(1)</script>=cmd()&\"é→\u202ex'"}
"#;

const WEB: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 2
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, annotations: {kubesquall.sim/run-for: 4m}}
    spec: {containers: [{name: db, image: db, resources: {requests: {cpu: '3'}}}]}
";

const STUDY: &str = "
apiVersion: kubesquall.sim/v1alpha1
kind: Study
metadata: {name: tolerations}
spec:
  scenario: scenario.yaml
  replications: 4
  vary:
  - {name: wait, tolerationSeconds: {workloads: [deployment/default/*], values: [0, 300]}}
  cost: {unreadyReplicaSeconds: 1, evictions: 30}
";

const PLAN: &str = "
apiVersion: kubesquall.sim/v1alpha1
kind: Plan
metadata: {name: nodes}
spec:
  scenario: scenario.yaml
  pools: [{name: worker, min: 1, max: 9}]
  survive: [node]
";

const FILES: [(&str, &str); 2] = [("scenario.yaml", SCENARIO), ("web.yaml", WEB)];

fn all() -> WriteOptions {
    WriteOptions::new().parquet(cfg!(feature = "parquet")).png(cfg!(feature = "png"))
}

/// A run's directory, with everything.
fn run(dir: &Path) {
    let scenario = Scenario::parse(SCENARIO, FILES).expect("a scenario");
    let outcome = scenario.settle().play_with(3, &PlayOptions::new());
    outcome.write_with(dir, &all()).expect("a directory");
}

fn study(dir: &Path, threads: usize) {
    let study = Study::parse(STUDY, FILES).expect("a study");
    let options = SweepOptions::new().threads(threads.try_into().expect("some"));
    study.tune(&options).expect("results").write_with(dir, &all()).expect("a directory");
}

/// The files of a directory by name, and what they hold.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for below in ["", "charts"] {
        for entry in fs::read_dir(dir.join(below)).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_file() {
                let name = path.strip_prefix(dir).expect("below").display().to_string();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

#[test]
fn the_same_is_written_twice_on_any_number_of_threads_and_from_the_directory_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| dir.path().join(name);
    run(&place("one"));
    run(&place("two"));
    assert!(contents(&place("one")) == contents(&place("two")));
    study(&place("sweep-1"), 1);
    study(&place("sweep-8"), 8);
    assert!(contents(&place("sweep-1")) == contents(&place("sweep-8")));
    for name in ["one", "sweep-1"] {
        let written = contents(&place(name));
        let exports = Report::open(place(name)).expect("results").exports(&all()).expect("exports");
        for (file, content) in &exports {
            assert!(written[file] == *content, "{name}/{file}");
        }
        let count = written.keys().filter(|file| file.ends_with(".parquet") || file.ends_with(".png")).count();
        assert_eq!(count, exports.len());
        assert_eq!(count == 0, cfg!(not(any(feature = "parquet", feature = "png"))));
    }
    // Of what is ours nothing stays when less is written in its place; of others everything.
    fs::write(place("one/charts/mine.png"), "mine").expect("a file");
    let scenario = Scenario::parse(SCENARIO, FILES).expect("a scenario");
    scenario.play(3).write(place("one")).expect("a directory");
    let exported = |file: &String| file.ends_with(".parquet") || file.ends_with(".png");
    let left: Vec<String> = contents(&place("one")).into_keys().filter(exported).collect();
    assert_eq!(left, ["charts/mine.png"]);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_every_cell_of_every_table_in_the_type_of_its_column() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| dir.path().join(name);
    run(&place("run"));
    study(&place("study"), 2);
    let plan = Plan::parse(PLAN, FILES).expect("a plan").solve(&SolveOptions::new()).expect("an answer");
    plan.write_with(place("plan"), &all()).expect("a directory");
    for (name, tables_min) in [("run", 15), ("study", 4), ("plan", 2)] {
        let written = contents(&place(name));
        let tables = || written.keys().filter(|file| file.ends_with(".csv"));
        assert!(tables().count() >= tables_min, "{name}");
        for table in tables() {
            let rows = table_of(&place(name).join(table));
            assert_eq!(parquet::read(&written[&table.replace(".csv", ".parquet")]), rows, "{name}/{table}");
        }
    }
    let types = parquet::types(&contents(&place("run"))["nodes.parquet"]);
    let expected = [
        "time_s DOUBLE",
        "node String",
        "ready String",
        "unschedulable BOOLEAN",
        "taints String",
        "pods INT64",
        "zone String",
        "pool String",
        "requested_cpu_milli INT64",
        "requested_memory_bytes INT64",
    ];
    assert_eq!(types, expected);
    let pods = parquet::types(&contents(&place("run"))["pods.parquet"]);
    assert!(pods.contains(&"ready_s DOUBLE?".to_owned()) && pods.contains(&"initial BOOLEAN".to_owned()), "{pods:?}");
    let transcript = parquet::read(&contents(&place("run"))["transcript.parquet"]);
    assert!(
        transcript[1].iter().any(|cell| cell.contains("</text><script>alert(1)</script>=cmd()&")),
        "{transcript:?}"
    );
}

/// A table's header and cells; numbers as Rust writes them, so that 1.500 is 1.5.
#[cfg(feature = "parquet")]
fn table_of(path: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_path(path).expect("a table");
    reader.records().map(|row| row.expect("a row").iter().map(parquet::plain).collect()).collect()
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::io::Write as _;

    use parquet::basic::Repetition;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use parquet::record::Field;

    fn opened(content: &[u8]) -> SerializedFileReader<std::fs::File> {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(content).expect("a file");
        SerializedFileReader::new(file).expect("Parquet")
    }

    /// A number without zeros that say nothing; what is no number as it is.
    pub(super) fn plain(cell: &str) -> String {
        match cell.parse::<f64>() {
            Ok(number) if cell.contains('.') && number.is_finite() => number.to_string(),
            _ => cell.to_owned(),
        }
    }

    pub(super) fn read(content: &[u8]) -> Vec<Vec<String>> {
        let reader = opened(content);
        let columns = reader.metadata().file_metadata().schema_descr().columns();
        let mut rows = vec![columns.iter().map(|column| column.name().to_owned()).collect()];
        for row in reader.get_row_iter(None).expect("rows") {
            let cell = |(_, field): &(String, Field)| match field {
                Field::Null => String::new(),
                Field::Bool(truth) => truth.to_string(),
                Field::Long(number) => number.to_string(),
                Field::ULong(number) => number.to_string(),
                Field::Double(number) => number.to_string(),
                Field::Str(text) => plain(text),
                other => panic!("{other:?}"),
            };
            rows.push(
                row.expect("a row")
                    .get_column_iter()
                    .map(|(name, field)| cell(&(name.clone(), field.clone())))
                    .collect(),
            );
        }
        rows
    }

    /// Columns with their types; a `?` says that cells may be missing.
    pub(super) fn types(content: &[u8]) -> Vec<String> {
        let reader = opened(content);
        let columns = reader.metadata().file_metadata().schema_descr().columns().to_vec();
        let told = columns.iter().map(|column| {
            let of = column.self_type();
            let kind = match column.logical_type_ref() {
                Some(parquet::basic::LogicalType::String) => "String".to_owned(),
                _ => column.physical_type().to_string(),
            };
            let maybe = if of.get_basic_info().repetition() == Repetition::OPTIONAL { "?" } else { "" };
            format!("{} {kind}{maybe}", column.name())
        });
        told.collect()
    }
}

#[cfg(feature = "png")]
#[test]
fn a_png_is_twice_as_large_as_its_chart_and_has_its_title() {
    use resvg::tiny_skia::Pixmap;

    let dir = tempfile::tempdir().expect("a temporary directory");
    run(dir.path().join("run").as_path());
    let written = contents(&dir.path().join("run"));
    let charts: Vec<&String> = written.keys().filter(|file| file.ends_with(".svg")).collect();
    assert!(charts.len() >= 5, "{charts:?}");
    for chart in charts {
        let svg = String::from_utf8(written[chart].clone()).expect("text");
        assert!(!svg.contains("<script"), "{chart}");
        let size = |name: &str| -> u32 {
            let behind = &svg[svg.find(name).expect("it has a size") + name.len()..];
            behind[..behind.find('"').expect("its end")].parse().expect("a number")
        };
        let png = Pixmap::decode_png(&written[&chart.replace(".svg", ".png")]).expect("a PNG");
        assert_eq!((png.width(), png.height()), (2 * size("width=\""), 2 * size("height=\"")), "{chart}");
        let dark = |x: u32, y: u32| png.pixel(x, y).is_some_and(|pixel| pixel.red() < 100 && pixel.alpha() == 255);
        let dark_in = |rows: std::ops::Range<u32>| {
            rows.flat_map(|y| (0..600).map(move |x| (x, y))).filter(|(x, y)| dark(*x, *y)).count()
        };
        // The titles stand at the top; nothing is above them.
        assert!(dark_in(16..70) > 500, "{chart} has no title: {}", dark_in(16..70));
        assert_eq!(dark_in(0..8), 0, "{chart}");
    }
}

#[cfg(not(feature = "png"))]
#[test]
fn a_format_that_is_not_built_in_is_refused_with_its_feature() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scenario = Scenario::parse(SCENARIO, FILES).expect("a scenario");
    let error =
        scenario.play(3).write_with(dir.path().join("run"), &WriteOptions::new().png(true)).expect_err("no PNG");
    assert!(format!("{error:?}").contains("the feature `png`"), "{error:?}");
    assert!(!dir.path().join("run").exists());
}

#[test]
fn events_are_a_list_of_all_that_the_api_had_with_names_of_their_own() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    run(dir.path().join("run").as_path());
    let report = Report::open(dir.path().join("run")).expect("a run");
    let list = report.events().expect("events");
    assert_eq!((&list["apiVersion"], &list["kind"]), (&Value::from("v1"), &Value::from("List")));
    let items = list["items"].as_array().expect("items");
    let rows: Vec<csv::StringRecord> = {
        let mut reader = csv::Reader::from_path(dir.path().join("run/events.csv")).expect("events.csv");
        let rows = reader.records().map(|row| row.expect("a row"));
        rows.filter(|row| &row[1] != "scenario" && &row[4] != "Kubectl").collect()
    };
    // The scheduler's have no count, but a series from the second time on.
    let times = |item: &Value| item["count"].as_u64().or(item["series"]["count"].as_u64()).unwrap_or(1);
    let counted: u64 = items.iter().map(times).sum();
    let by_scheduler = |item: &&Value| item["reportingComponent"] == "default-scheduler";
    assert!(items.iter().filter(by_scheduler).all(|item| item["eventTime"].is_string() && item["count"].is_null()));
    assert!(items.iter().any(|item| by_scheduler(&item)));
    assert_eq!(counted, rows.len() as u64);
    assert!(items.len() > 20 && items.len() < rows.len(), "{} of {}", items.len(), rows.len());
    let names: BTreeSet<(String, String)> = items
        .iter()
        .map(|item| (item["metadata"]["namespace"].to_string(), item["metadata"]["name"].to_string()))
        .collect();
    assert_eq!(names.len(), items.len());
    // t=0 of an input without time stamps.
    let first = &items[0];
    let at: f64 = rows[0][0].parse().expect("a time");
    assert_eq!(first["firstTimestamp"], format!("2026-01-01T00:{:02}:{:02}Z", at as u64 / 60, at as u64 % 60));
    assert_eq!(report.summary()["epoch"], "2026-01-01T00:00:00Z");
    // All Events about an object have its UID.
    let uids = |name: &str| -> BTreeSet<String> {
        let about = items.iter().filter(|item| item["involvedObject"]["name"] == name);
        about.map(|item| item["involvedObject"]["uid"].to_string()).collect()
    };
    assert_eq!(uids("worker-0").len(), 1);
    assert_eq!(first["involvedObject"]["apiVersion"], "v1");
}

/// The lines of an audit log that have these values at these places.
fn lines_with<'a>(log: &'a [Value], places: &[(&str, &str)]) -> Vec<&'a Value> {
    let has = |line: &&Value| places.iter().all(|(place, value)| line.pointer(place).is_some_and(|at| at == value));
    log.iter().filter(has).collect()
}

#[test]
fn an_audit_log_says_who_asked_for_what_and_when() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    run(dir.path().join("run").as_path());
    let report = Report::open(dir.path().join("run")).expect("a run");
    let mut written = Vec::new();
    report.write_audit_log(&mut written).expect("a run").expect("memory takes it");
    let log: Vec<Value> = written
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("a line of JSON"))
        .collect();
    let ids: BTreeSet<String> = log.iter().map(|line| line["auditID"].to_string()).collect();
    assert_eq!(ids.len(), log.len());
    assert!(log.is_sorted_by_key(|line| line["stageTimestamp"].as_str().expect("a time").to_owned()));
    assert!(log.iter().all(|line| line["stage"] == "ResponseComplete" && line["apiVersion"] == "audit.k8s.io/v1"));
    let by_controller = ("/user/username", "system:serviceaccount:kube-system:node-controller");
    let of_node = [by_controller, ("/objectRef/resource", "nodes"), ("/objectRef/name", "worker-0")];
    let silent = lines_with(&log, &[&of_node[..], &[("/objectRef/subresource", "status")]].concat());
    assert_eq!(silent.len(), 1);
    assert_eq!(silent[0]["requestObject"]["status"]["conditions"][3]["status"], "Unknown");
    let agent = silent[0]["userAgent"].as_str().expect("an agent");
    assert!(agent.starts_with("kube-controller-manager/v1.36.0 ") && agent.ends_with(":node-controller"), "{agent}");
    // The rows of nodes.csv and the lines tell of the same instants.
    let first = |file: &str, has: &dyn Fn(&csv::StringRecord) -> bool| -> f64 {
        let mut reader = csv::Reader::from_path(dir.path().join("run").join(file)).expect("a table");
        let row = reader.records().map(|row| row.expect("a row")).find(|row| has(row)).expect("a row like that");
        row[0].parse().expect("a time")
    };
    let unknown = first("nodes.csv", &|row| &row[1] == "worker-0" && &row[2] == "Unknown");
    let (minute, second) = ((unknown / 60.0).floor(), unknown % 60.0);
    assert_eq!(silent[0]["requestReceivedTimestamp"], format!("2026-01-01T00:{minute:02}:{second:09.6}Z"));
    let tainted = lines_with(&log, &of_node).into_iter();
    let tainted = tainted.filter(|line| line["requestObject"]["spec"]["taints"].to_string().contains("NoExecute"));
    assert!(tainted.count() > 0);
    let back = [
        ("/user/username", "system:node:worker-0"),
        ("/objectRef/subresource", "status"),
        ("/objectRef/resource", "nodes"),
    ];
    let back = lines_with(&log, &back);
    assert_eq!(back.last().expect("it comes back")["requestObject"]["status"]["conditions"][0]["status"], "True");
    let typed = lines_with(&log, &[("/user/username", "kubernetes-admin")]);
    assert_eq!((typed.len(), &typed[0]["requestURI"]), (1, &"/apis/apps/v1/namespaces/default/deployments/web".into()));
    // Each eviction is a mark and a deletion; each pod that is made is bound once.
    let summary = report.summary();
    let count = |places: &[(&str, &str)]| lines_with(&log, places).len() as u64;
    let deletion = [by_controller, ("/verb", "delete"), ("/objectRef/resource", "pods")];
    assert_eq!(Some(count(&deletion)), summary["metrics"]["evictions"].as_f64().map(|count| count as u64));
    let by = "/requestObject/status/conditions/0/reason";
    assert_eq!(count(&deletion), count(&[by_controller, (by, "DeletionByTaintManager")]));
    let mut pods = csv::Reader::from_path(dir.path().join("run/pods.csv")).expect("a table");
    let made = pods.records().map(|row| row.expect("a row")).filter(|row| &row[4] == "false").count();
    let created = lines_with(&log, &[("/verb", "create"), ("/objectRef/resource", "pods")]);
    let created = created.iter().filter(|line| line["objectRef"]["subresource"].is_null()).count();
    assert_eq!((created, made > 0), (made, true));
}

#[test]
fn evidence_is_the_same_in_every_run_and_steps_are_checked() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let written = |name: &str, step: u64| {
        run(dir.path().join(name).as_path());
        let report = Report::open(dir.path().join(name)).expect("a run");
        let (mut log, mut samples) = (Vec::new(), Vec::new());
        report.write_audit_log(&mut log).expect("a run").expect("memory takes it");
        report.write_metrics(SimDuration::from_secs(step), &mut samples).expect("a run").expect("memory takes it");
        (log, samples)
    };
    assert!(written("one", 30) == written("two", 30));
    let answer: Value = serde_json::from_slice(&written("one", 15).1).expect("JSON");
    let series = answer["data"]["result"].as_array().expect("series");
    let samples = |name: &str, labels: &[(&str, &str)]| -> Vec<(f64, String)> {
        let has = |of: &&Value| {
            of["metric"]["__name__"] == name && labels.iter().all(|(label, value)| of["metric"][*label] == *value)
        };
        let found: Vec<&Value> = series.iter().filter(has).collect();
        assert_eq!(found.len(), 1, "{name} {labels:?}");
        let sample =
            |sample: &Value| (sample[0].as_f64().expect("a time"), sample[1].as_str().expect("a value").into());
        found[0]["values"].as_array().expect("samples").iter().map(sample).collect()
    };
    let ready = |status| {
        samples("kube_node_status_condition", &[("node", "worker-0"), ("condition", "Ready"), ("status", status)])
    };
    // Fifteen minutes, both ends seen.
    assert_eq!(ready("true").len(), 61);
    let total = |of: Vec<(f64, String)>| of.iter().filter(|(_, value)| value == "1").count();
    assert_eq!(total(ready("true")) + total(ready("unknown")) + total(ready("false")), 61);
    let taint = [("node", "worker-0"), ("key", "node.kubernetes.io/unreachable"), ("effect", "NoExecute")];
    let tainted = samples("kube_node_spec_taint", &taint);
    assert!((tainted.len() as i64 - total(ready("unknown")) as i64).abs() <= 1, "{tainted:?}");
    let report = Report::open(dir.path().join("one")).expect("a run");
    let refused = report.write_metrics(SimDuration::from_millis(100), Vec::new()).expect_err("too often");
    assert!(refused.to_string().contains("nobody scrapes every 100ms"), "{refused}");
}

#[test]
fn evidence_is_printed_by_a_run_and_later_and_a_step_goes_with_samples_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in FILES {
        fs::write(dir.path().join(name), text).expect("a file");
    }
    let say = |arguments: &str| kubesquall(dir.path(), arguments, "");
    for (step, place) in
        [("-o events.yaml --step 15s", "run"), ("--step 15s", "run"), ("-o metrics.json --step 0s", "run")]
    {
        let said = say(&format!("{place} scenario.yaml --no-charts {step}"));
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{step}: {}", said.stderr);
    }
    let samples = say("run scenario.yaml --no-charts -o metrics.json --step 60s");
    assert_eq!(samples.status, 0, "{}", samples.stderr);
    assert!(samples.stdout.starts_with(r#"{"status":"success""#));
    let again = say("report reports/one-node-dies -o metrics.json --step 1m");
    assert!(again.status == 0 && again.stdout == samples.stdout, "{}", again.stderr);
    let log = say("report reports/one-node-dies -o audit.jsonl");
    assert!(log.status == 0 && log.stdout.lines().count() > 20, "{}", log.stderr);
}
