//! Results in the formats of other programs, against the files of which they are made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use kubesquall::{Plan, PlayOptions, Report, Scenario, SolveOptions, Study, SweepOptions, WriteOptions};
use serde_json::Value;

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
    let expected =
        ["time_s DOUBLE", "node String", "ready String", "unschedulable BOOLEAN", "taints String", "pods INT64"];
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
    let counted: u64 = items.iter().map(|item| item["count"].as_u64().expect("a count")).sum();
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
