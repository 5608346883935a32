//! Studies on the command line: parts make the whole, a sweep that is killed goes on, nobody's results are replaced, and what is
//! said agrees with what can be calculated.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use assert_cmd::assert::OutputAssertExt as _;
use kubesquall::engine::Streams;
use kubesquall::study::{self, Journal, Results, Runner, Sample, Shard, Silent, Study};

use super::binary::{command as kubesquall, path, refusal};

/// A study of `spec`, which names a scenario beside it or elsewhere.
fn write_study(dir: &Path, name: &str, spec: &str) -> String {
    let text = format!("apiVersion: kubesquall.sim/v1alpha1\nkind: Study\nmetadata: {{name: {name}}}\nspec:\n{spec}");
    let place = path(dir, &format!("{name}.yaml"));
    fs::write(&place, text).expect("a study");
    place
}

/// A study of 3 variants with 20 runs each.
fn small_study(dir: &Path, name: &str) -> String {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/studies/shop-year.yaml");
    let spec = format!(
        "  scenario: {}\n  replications: 20\n  vary:\n  - name: wait\n    tolerationSeconds: {{workloads: [deployment/shop/*], \
         values: [0, 60, 300]}}\n  cost: {{unreadyReplicaSeconds: 1, evictions: 30}}\n",
        scenario.display()
    );
    write_study(dir, name, &spec)
}

/// The tables and the summary of a study's directory.
fn results(dir: &Path) -> Vec<String> {
    let read = |name| fs::read_to_string(dir.join(name)).expect("a result");
    ["runs.csv", "workloads.csv", "variants.csv", "summary.json", "charts/cost-curve.svg", "report.html"]
        .map(read)
        .to_vec()
}

#[test]
fn parts_make_the_whole_whatever_the_number_of_threads() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &small_study(dir.path(), "small");
    let place = |name: &str| path(dir.path(), name);
    kubesquall(&["sweep", study, "-q", "--jobs", "2", "--out", &place("whole")]).assert().success();
    for (part, out) in [("1/3", "one"), ("2/3", "two"), ("3/3", "three")] {
        kubesquall(&["sweep", study, "-q", "--jobs", "1", "--shard", part, "--out", &place(out)]).assert().success();
    }
    let (one, two, three) = (&place("one"), &place("two"), &place("three"));
    kubesquall(&["merge", "-q", two, three, one, "--out", &place("merged")]).assert().success();
    assert_eq!(results(&dir.path().join("merged")), results(&dir.path().join("whole")));
    // What parts gave is enough to recommend from.
    kubesquall(&["tune", study, "-q", "--out", &place("tuned")]).assert().success();
    kubesquall(&["tune", study, "-q", "--resume", "--out", &place("merged")]).assert().success();
    for file in ["summary.json", "tuning.csv", "patch.sh", "runs.csv", "report.html"] {
        let of = |out: &str| fs::read_to_string(dir.path().join(out).join(file)).expect("a result");
        assert_eq!(of("merged"), of("tuned"), "{file}");
    }
    let page = dir.path().join("tuned/report.html");
    let first = fs::read(&page).expect("the page");
    fs::remove_file(&page).expect("removed");
    kubesquall(&["report", &place("tuned")]).assert().success();
    assert!(fs::read(&page).expect("the page") == first, "made again, the page is another");
    assert!(first.len() < 400_000, "{} bytes", first.len());
    kubesquall(&["sweep", study, "-q", "--no-charts", "--out", &place("bare")]).assert().success();
    assert!(!dir.path().join("bare/report.html").exists() && !dir.path().join("bare/charts").exists());
    assert!(refusal(&["merge", two, one, "--out", &place("half")]).contains("part 3/3 is missing"));
    assert!(refusal(&["merge", two, two, one, "--out", &place("half")]).contains("part 2/3 is there twice"));
    // A part that lost runs is no part.
    let runs = dir.path().join("two/runs.csv");
    let text = fs::read_to_string(&runs).expect("runs");
    let last = text.trim_end().rfind('\n').expect("lines");
    fs::write(&runs, &text[..=last]).expect("cut short");
    assert!(
        refusal(&["merge", one, two, three, "--out", &place("half")])
            .contains("of 20 that were written by its summary.json")
    );
}

#[test]
fn a_sweep_that_is_killed_at_any_moment_goes_on_where_it_was() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &small_study(dir.path(), "small");
    let (whole, killed) = (path(dir.path(), "whole"), path(dir.path(), "killed"));
    kubesquall(&["sweep", study, "-q", "--out", &whole]).assert().success();
    let journal = dir.path().join("killed.journal.tmp");
    let mut moments = Streams::new(4).stream("kill -9", "");
    for _ in 0..20 {
        let mut arguments = vec!["sweep", study, "-q", "--jobs", "1", "--out", &killed];
        if journal.exists() {
            arguments.push("--resume");
        }
        let mut child = kubesquall(&arguments).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(20 + u64::from(moments.below(250))));
        // SIGKILL on Unix.
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let mut last = vec!["sweep", study, "-q", "--out", &killed];
    if journal.exists() {
        assert!(refusal(&last).contains("--resume"));
        last.push("--resume");
    }
    kubesquall(&last).assert().success();
    assert_eq!(results(&dir.path().join("killed")), results(&dir.path().join("whole")));
    assert!(!journal.exists());
}

#[test]
fn results_go_to_the_directory_in_which_one_stands() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = small_study(dir.path(), "small");
    let here = dir.path().join("here");
    fs::create_dir(&here).expect("a directory");
    let names = |place: &Path| {
        let entries = fs::read_dir(place).expect("a directory").map(|entry| entry.expect("an entry").file_name());
        entries.map(|name| name.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    // Empty at first, then with the results in it.
    for _ in 0..2 {
        kubesquall(&["sweep", &study, "-q", "--out", "."]).current_dir(&here).assert().success();
        let found = names(&here);
        assert!(found.iter().any(|name| name == "summary.json"), "{found:?}");
        let left = [found, names(dir.path())].concat();
        assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
    }
}

#[test]
fn results_of_others_are_not_replaced() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &small_study(dir.path(), "small");
    let place = dir.path().join("out");
    fs::create_dir(&place).expect("a directory");
    let out = &path(dir.path(), "out");
    let holds = |summary: &str| fs::write(place.join("summary.json"), summary).expect("a file");
    let refused = || refusal(&["sweep", study, "--out", out]);
    holds(r#"{"scenario": "a-run"}"#);
    assert!(refused().contains("holds the results of something else than a study"));
    holds(r#"{"study": {"study": "another", "shard": {"index": 1, "count": 1}}}"#);
    assert!(refused().contains("holds the results of the study `another`"));
    holds(r#"{"study": {"study": "small", "shard": {"index": 2, "count": 4}}}"#);
    assert!(refused().contains("holds the results of part 2/4 of the study"));
    assert!(refusal(&["tune", study, "--shard", "1/2", "--out", out]).contains("a part of a study cannot recommend"));
    holds(r#"{"study": {"study": "small", "shard": {"index": 1, "count": 1}}}"#);
    kubesquall(&["sweep", study, "-q", "--out", out]).assert().success();
}

/// A pod, alone in its Deployment, on a node that loses its network once for a time that is drawn from `repair`. Lost nodes are
/// found after 39 to 40 seconds, a new pod starts in 30.
fn one_pod(dir: &Path, repair: &str) {
    let text = format!(
        r#"apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {{name: one-pod}}
spec:
  duration: 8h
  cluster:
    nodePools:
    - name: worker
      count: 2
      template: {{status: {{allocatable: {{cpu: "4", memory: 8Gi, pods: "110"}}}}}}
  controlPlane:
    kubeControllerManager: {{node-monitor-grace-period: 40s, node-monitor-period: 100ms}}
    kubelet: {{nodeLeaseDurationSeconds: 4, nodeStatusUpdateFrequency: 1s}}
  latency:
    podStart: {{constant: 30s}}
    kubeletReconnect: {{constant: 0s}}
    apiCall: {{constant: 10ms}}
  faults:
  - name: network
    kind: Partition
    nodes: {{names: [worker-0]}}
    timeToFailure: {{constant: 5h}}
    timeToRepair: {repair}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: shop}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
          - {{weight: 100, preference: {{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: [worker-0]}}]}}}}
      containers: [{{name: web, image: web, resources: {{requests: {{cpu: "1"}}}}}}]
"#
    );
    fs::write(dir.join("one-pod.yaml"), text).expect("a scenario");
}

/// Plays a study in this process.
fn play(dir: &Path, study: &Study) -> Results {
    let journal = Journal::open(&dir.join("played"), study.fingerprint(), Shard::WHOLE, false).expect("a journal");
    Runner::new(study, &journal).play_all(Shard::WHOLE, &Silent).expect("played");
    let rows = journal.rows().expect("read");
    journal.close().expect("closed");
    Results::new(study, Shard::WHOLE, study.replications, 0, rows)
}

fn load(place: &str) -> Study {
    study::load(&PathBuf::from(place)).unwrap_or_else(|invalid| panic!("{invalid}"))
}

/// When a lost node is found; its last heartbeat was up to a second before.
const FOUND_S: f64 = 39.6;

/// From an eviction to the readiness of what replaces the pod.
const START_S: f64 = 30.0;

/// From the return of the network to a Ready node: a round trip.
const RETURN_S: f64 = 0.0;

/// With repairs that take an exponential time of mean `m`, a pod is missed from when its node is found lost: until the node
/// returns, if that is within `wait`; else its pod is taken away for good, and it is missed for `wait` and a start. The move was
/// needless if the node returned during the start.
///
/// A pod whose node is heard again is reported with the next pass of its kubelet's status manager, one every ten seconds; one that has
/// started is posted a moment later.
fn expected(m: f64, wait: f64) -> (f64, f64, f64) {
    const POD_RETURN_S: f64 = 5.0;
    const POSTED_S: f64 = 0.1;
    let survival = |t: f64| libm::exp(-t / m);
    let found = survival(FOUND_S - RETURN_S);
    let returned = 1.0 - survival(wait);
    let unready = found * (m * returned + POD_RETURN_S * returned + (START_S + POSTED_S) * survival(wait));
    let evictions = found * survival(wait);
    (unready, evictions, evictions * (1.0 - survival(START_S)))
}

#[test]
fn unavailability_and_needless_evictions_are_those_of_the_closed_form() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    one_pod(dir.path(), "{exponential: {mean: 300s}}");
    let spec = "  scenario: one-pod.yaml\n  replications: 1500\n  vary:\n  - name: wait\n    tolerationSeconds: {workloads: \
                [deployment/shop/web], values: [0, 30, 60, 120, 300, 600]}\n";
    let study = load(&write_study(dir.path(), "closed-form", spec));
    let found = play(dir.path(), &study);
    for variant in found.statistics() {
        let wait: f64 = found.variants[variant.variant][0].parse().expect("seconds");
        let (unready, evictions, needless) = expected(300.0, wait);
        for (metric, expected) in
            [("unready_replica_s", unready), ("evictions", evictions), ("needless_evictions", needless)]
        {
            let of = variant.metrics.iter().find(|of| of.metric == metric).expect("a metric");
            // Eighteen comparisons: each at a confidence of 0.05 / 18.
            let interval = of.sample.interval(1.0 - 0.05 / 18.0);
            let is_in = (interval.low..=interval.high).contains(&expected);
            assert!(is_in, "{metric} at {wait} s: {expected} is not in {interval:?}");
        }
    }
}

#[test]
fn the_optimum_of_blips_and_crashes_is_found_for_each_workload() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // Nine of ten interruptions last an exponential time of mean 60 s, the tenth is a machine that never returns.
    let mut lengths = String::new();
    for rank in 0..900 {
        lengths.push_str(&format!("{:.3}\n", -60.0 * libm::log(1.0 - (f64::from(rank) + 0.5) / 900.0)));
    }
    lengths.push_str(&"100000\n".repeat(100));
    fs::write(dir.path().join("lengths.csv"), lengths).expect("observations");
    one_pod(dir.path(), "{empirical: {file: lengths.csv}}");
    let values = [0, 30, 60, 90, 120, 180, 300, 600];
    let spec = format!(
        "  scenario: one-pod.yaml\n  replications: 1500\n  vary:\n  - name: wait\n    tolerationSeconds: {{workloads: \
         [deployment/shop/web], values: {values:?}}}\n  cost: {{unreadyReplicaSeconds: 1, evictions: 150}}\n"
    );
    let study = load(&write_study(dir.path(), "optimum", &spec));
    let found = play(dir.path(), &study);
    // A second more of waiting costs that second if the interruption lasts, and saves the start and the price of a move if it
    // ends just then: 0.1 + 0.9 S(found) exp(-wait / 60) (1 - (30 + 150) / 60), with S the chance that a blip lasts so long.
    let survival = |t: f64| libm::exp(-t / 60.0);
    let slope = |wait: f64| 0.1 + 0.9 * survival(FOUND_S - RETURN_S + wait) * (1.0 - (START_S + 150.0) / 60.0);
    let best = (0..600).map(f64::from).find(|wait| slope(*wait) >= 0.0).expect("it turns");
    let tuning = found.tuning().expect("priced");
    let choice = &tuning.workloads[0];
    let nearby = |value: &str| {
        let index = values.iter().position(|known| known.to_string() == value).expect("one of them");
        f64::from(values[index.saturating_sub(1)]) <= best
            && best <= f64::from(values[(index + 1).min(values.len() - 1)])
    };
    assert!(nearby(&choice.best), "{} instead of {best}", choice.best);
    assert_eq!(choice.today, "300");
    assert!(choice.is_clear && choice.against_today.high < 0.0, "{:?}", choice.against_today);
    assert!(study.patches(study.recommended(&tuning).as_ref()).shell.contains("kubectl patch deployment web -n shop"));
}

#[test]
fn what_is_recommended_is_played_as_its_variant_is() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    one_pod(dir.path(), "{exponential: {mean: 300s}}");
    let spec = "  scenario: one-pod.yaml\n  replications: 40\n  vary:\n  - {name: wait, tolerationSeconds: {workloads: [deployment/shop/web], \
                values: [300]}}\n  - {name: count, replicas: {workloads: [deployment/shop/web], values: [1, 2]}}\n  baseline: {wait: 300, \
                count: 2}\n  cost: {replicaHours: 1000, unreadyReplicaSeconds: 10}\n";
    let study = load(&write_study(dir.path(), "fewer", spec));
    let tuning = play(dir.path(), &study).tuning().expect("priced");
    let of_grid = &study.variants[tuning.recommended_variant().expect("one of the grid")];
    let lock = |variant: &study::Variant| kubesquall::scenario::lock_file(&variant.scenario().expect("playable"));
    // What nobody writes is not to be written, and played as the baseline has it: other names of pods would bring other luck.
    let [written, played] = [study.recommended(&tuning), study.recommended_to_play(&tuning)].map(|of| of.expect("one"));
    assert_eq!(lock(&played), lock(of_grid));
    assert_ne!(lock(&written), lock(&played));
}

#[test]
fn the_interval_of_a_small_study_covers_the_true_value_as_often_as_it_says() {
    let (studies, runs) = (300, 30);
    let dir = tempfile::tempdir().expect("a temporary directory");
    one_pod(dir.path(), "{exponential: {mean: 300s}}");
    let spec = format!(
        "  scenario: one-pod.yaml\n  replications: {}\n  vary:\n  - name: wait\n    tolerationSeconds: {{workloads: \
         [deployment/shop/web], values: [60]}}\n  baseline: {{wait: 60}}\n",
        studies * runs
    );
    let study = load(&write_study(dir.path(), "coverage", &spec));
    let found = play(dir.path(), &study);
    let statistics = found.statistics().next().expect("a variant");
    let of = statistics.metrics.iter().find(|of| of.metric == "unready_replica_s").expect("a metric");
    // Each study is the next thirty seeds.
    let at = kubesquall::study::metric_names().iter().position(|name| *name == of.metric).expect("a column");
    let truth = expected(300.0, 60.0).0;
    let covered = found.runs[0].chunks(runs).filter(|runs| {
        let sample = Sample::new(runs.iter().map(|run| run.metrics[at]).collect());
        let interval = sample.interval(0.95);
        (interval.low..=interval.high).contains(&truth)
    });
    let count = covered.count();
    assert!((276..=294).contains(&count), "{count} of {studies}; {truth} against {}", of.interval.mean);
}

#[test]
fn how_small_a_saving_counts_for_nothing_is_the_studys_to_say() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    one_pod(dir.path(), "{exponential: {mean: 300s}}");
    let spec = |more: &str| {
        format!(
            "  scenario: one-pod.yaml\n  replications: 2\n  vary:\n  - {{name: grace, path: \
             spec.controlPlane.kubeControllerManager.node-monitor-grace-period, values: [40s, 90s]}}\n{more}"
        )
    };
    let of = |more: &str| load(&write_study(dir.path(), "small", &spec(more)));
    assert_eq!((of("").indifference, of("  indifference: 2.5%\n").indifference), (0.01, 0.025));
    assert_eq!((of("  indifference: 0\n").indifference, of("").varies_detection), (0.0, true));
    let place = write_study(dir.path(), "small", &spec("  indifference: 120%\n"));
    let said = refusal(&["sweep", &place]);
    assert!(said.contains("not between 0 % and 100 %") && said.contains("small.yaml:"), "{said}");
    let place = write_study(dir.path(), "small", &spec("  indifference: 1%\n"));
    for share in ["100%", "-1%", "little"] {
        let said = refusal(&["sweep", &place, "--indifference", share]);
        assert!(said.contains(&format!("`{share}` is not a share of what the baseline costs")), "{said}");
    }
    let out = path(dir.path(), "out");
    kubesquall(&["sweep", &place, "-q", "--no-charts", "--indifference", "3%", "--out", &out]).assert().success();
    let summary = fs::read_to_string(dir.path().join("out/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    assert_eq!(
        (&summary["study"]["indifference"], &summary["front_by"][1]),
        (&0.03.into(), &"needless_evictions".into())
    );
}

#[test]
fn one_replication_recommends_nothing() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = fs::read_to_string(small_study(dir.path(), "small")).expect("a study");
    let scenario = text.replace("replications: 20", "replications: 1");
    let study = path(dir.path(), "one.yaml");
    fs::write(&study, scenario).expect("a study");
    let done = kubesquall(&["tune", &study, "--out", &path(dir.path(), "out")]).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(said.contains("Nothing is to be changed") && said.contains("[?, ?]"), "{said}");
    let patch = fs::read_to_string(dir.path().join("out/patch.sh")).expect("a patch");
    assert!(!patch.contains("kubectl patch"), "{patch}");
}

#[test]
fn a_tune_that_is_killed_while_it_confirms_goes_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &small_study(dir.path(), "small");
    let (whole, killed) = (path(dir.path(), "whole"), path(dir.path(), "killed"));
    kubesquall(&["tune", study, "-q", "--out", &whole]).assert().success();
    // As if killed just before the end: a journal with all but the last runs.
    let mut child = kubesquall(&["tune", study, "-q", "--jobs", "1", "--out", &killed]).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(400));
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    let mut last = vec!["tune", study, "-q", "--out", &killed];
    if dir.path().join("killed.journal.tmp").exists() {
        last.push("--resume");
    }
    kubesquall(&last).assert().success();
    for name in ["summary.json", "patch.sh", "patch.yaml", "tuning.csv", "runs.csv"] {
        let read = |of: &str| fs::read_to_string(dir.path().join(of).join(name)).expect("a result");
        assert_eq!(read("whole"), read("killed"), "{name}");
    }
    // The charts are drawn from the tables alone.
    let charts = || {
        let read = |name: &str| fs::read(dir.path().join("whole/charts").join(name)).expect("a chart");
        ["cost-curve.svg", "trade-off.svg", "recovery.svg", "workload-costs.svg"].map(read)
    };
    let drawn = charts();
    fs::remove_dir_all(dir.path().join("whole/charts")).expect("removed");
    kubesquall(&["report", "-q", &whole]).assert().success();
    assert_eq!(charts(), drawn);
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("whole/summary.json")).expect("a summary"))
            .expect("JSON");
    let workloads = summary["tuning"]["workloads"].as_array().expect("a list");
    let by_name: BTreeMap<&str, &str> =
        workloads.iter().filter_map(|of| Some((of["workload"].as_str()?, of["best"].as_str()?))).collect();
    assert!(by_name.contains_key("deployment/shop/frontend"), "{by_name:?}");
}

#[test]
fn more_replications_and_other_prices_reuse_what_was_played() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| path(dir.path(), name);
    let text = fs::read_to_string(small_study(dir.path(), "small")).expect("a study");
    let study = |file: &str, replications: &str, price: &str| {
        let text = text.replace("replications: 20", &format!("replications: {replications}"));
        fs::write(dir.path().join(file), text.replace("evictions: 30", price)).expect("a study");
        place(file)
    };
    let (few, many) = (study("few.yaml", "6", "evictions: 30"), study("many.yaml", "10", "belowMinReadySeconds: 2"));
    kubesquall(&["sweep", &few, "-q", "--out", &place("grown")]).assert().success();
    kubesquall(&["sweep", &many, "-q", "--resume", "--out", &place("grown")]).assert().success();
    kubesquall(&["sweep", &many, "-q", "--out", &place("fresh")]).assert().success();
    assert_eq!(results(&dir.path().join("grown")), results(&dir.path().join("fresh")));
    // A run that nobody can have played shows that runs are taken over.
    let runs = dir.path().join("grown/runs.csv");
    let text = fs::read_to_string(&runs).expect("runs");
    let (line, _) = text.split_once("\n1,").expect("variants");
    let (before, cost) = line.rsplit_once(',').expect("cells");
    let (before, _) = before.rsplit_once(',').expect("cells");
    fs::write(&runs, text.replacen(line, &format!("{before},1234567,{cost}"), 1)).expect("changed");
    kubesquall(&["sweep", &many, "-q", "--resume", "--out", &place("grown")]).assert().success();
    assert!(fs::read_to_string(&runs).expect("runs").contains(",1234567,"));
    // A study that varies something else has other runs, which is told.
    let other = study("other.yaml", "2", "evictions: 30");
    let text = fs::read_to_string(&other).expect("a study").replace("values: [0, 60, 300]", "values: [0, 30]");
    fs::write(&other, text).expect("a study");
    let done = kubesquall(&["sweep", &other, "--resume", "--out", &place("grown")]).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("another study, or of an earlier form of this one: nothing of them is used"), "{said}");
}

#[test]
fn a_precision_that_is_not_reached_is_said_and_what_it_would_take() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &small_study(dir.path(), "small");
    let out = path(dir.path(), "out");
    let done = kubesquall(&["sweep", study, "--precision", "1%", "--out", &out]).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(said.contains("1 % of the mean is NOT reached: the widest interval is"), "{said}");
    let text = fs::read_to_string(dir.path().join("out/summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let found = &summary["study"]["precision"];
    assert_eq!((found["reached"].as_bool(), found["replications"].as_u64()), (Some(false), Some(20)));
    let (width, needed) = (found["width"].as_f64().expect("known"), found["needed"].as_f64().expect("told"));
    assert_eq!(needed, (20.0 * (width / 0.01) * (width / 0.01)).ceil());
    assert!(said.contains(&format!("about {needed} would do")), "{said}");
}

/// A study of four variants: two of them cost as much on average, as what takes an exponential time to return is as far from it as ever, and
/// two have a start that takes too long.
fn tied_study(dir: &Path) -> String {
    one_pod(dir, "{exponential: {mean: 300s}}");
    let spec = "  scenario: one-pod.yaml\n  replications: 60\n  indifference: 0\n  vary:\n  - name: wait\n    tolerationSeconds: {workloads: \
                [deployment/shop/web], values: [0, 300]}\n  - {name: start, path: spec.latency.podStart, values: [{constant: 30s}, {constant: \
                600s}]}\n  cost: {unreadyReplicaSeconds: 1, evictions: 269}\n";
    write_study(dir, "tied", spec)
}

#[test]
fn contenders_alone_are_played_on_whatever_the_number_of_threads_and_kills() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &tied_study(dir.path());
    let place = |name: &str| path(dir.path(), name);
    let tune = |more: &[&str]| -> Vec<String> {
        ["tune", study, "--contenders"].iter().chain(more).map(|argument| (*argument).to_owned()).collect()
    };
    let run = |arguments: &[String]| kubesquall(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    let done = run(&tune(&["--jobs", "8", "--out", &place("whole")])).assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("whole/summary.json")).expect("a summary"))
            .expect("JSON");
    // Who starts late is set aside after the first round, and what is left is not told apart.
    let selection = &summary["study"]["selection"];
    assert_eq!((&selection["is_decided"], &selection["replications_max"]), (&false.into(), &60.into()), "{said}");
    let set_aside: Vec<(u64, u64)> = selection["set_aside"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|of| (of["variant"].as_u64().expect("a position"), of["runs"].as_u64().expect("a number")))
        .collect();
    assert!(set_aside.contains(&(1, 20)), "{set_aside:?}\n{said}");
    for (variant, of) in summary["variants"].as_array().expect("a list").iter().enumerate() {
        let runs = set_aside.iter().find(|(of, _)| *of == variant as u64).map_or(60, |(_, runs)| *runs);
        assert_eq!(of["n"], runs, "{variant}");
    }
    let played: u64 = summary["variants"].as_array().expect("a list").iter().filter_map(|of| of["n"].as_u64()).sum();
    let told = format!("Only contenders were played on: {played} instead of 240 runs");
    assert!(
        said.contains(&told) && said.contains("NOT decided") && said.contains("set aside after 20 runs: "),
        "{said}"
    );
    assert!(said.contains(" RUNS ") && said.contains(", set aside\n"), "{said}");
    let verdict = summary["verdict"].to_string();
    assert!(verdict.contains(&told) && verdict.contains("20 to 60 each"), "{verdict}");
    // One thread, killed again and again.
    let journal = dir.path().join("killed.journal.tmp");
    let mut moments = Streams::new(4).stream("kill -9", "");
    for _ in 0..6 {
        let mut arguments = tune(&["-q", "--jobs", "1", "--out", &place("killed")]);
        arguments.extend(journal.exists().then(|| "--resume".to_owned()));
        let mut child = run(&arguments).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(150 + u64::from(moments.below(400))));
        child.kill().expect("it can be killed");
        child.wait().expect("it ends");
    }
    let mut last = tune(&["-q", "--jobs", "1", "--out", &place("killed")]);
    last.extend(journal.exists().then(|| "--resume".to_owned()));
    run(&last).assert().success();
    assert_eq!(results(&dir.path().join("killed")), results(&dir.path().join("whole")));
    // From the runs of a full grid.
    kubesquall(&["tune", study, "-q", "--out", &place("grid")]).assert().success();
    run(&tune(&["-q", "--resume", "--out", &place("grid")])).assert().success();
    assert_eq!(results(&dir.path().join("grid")), results(&dir.path().join("whole")));
    // Charts and page are drawn from the tables alone.
    let drawn = results(&dir.path().join("whole"));
    fs::remove_dir_all(dir.path().join("whole/charts")).expect("removed");
    kubesquall(&["report", "-q", &place("whole")]).assert().success();
    assert_eq!(results(&dir.path().join("whole")), drawn);
}

#[test]
fn contenders_are_refused_where_there_are_none() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &small_study(dir.path(), "small");
    let out = path(dir.path(), "out");
    let refused = |more: &[&str]| {
        let arguments: Vec<&str> = ["tune", study, "--contenders", "--out", &out].iter().chain(more).copied().collect();
        refusal(&arguments)
    };
    assert!(refused(&["--precision", "5%"]).contains("cannot be used with"));
    assert!(refused(&["--shard", "1/2"]).contains("cannot be used with"));
    assert!(refused(&["--rare", "unready_replica_s>5000"]).contains("nothing is recommended by these"));
    assert!(refusal(&["sweep", study, "--contenders"]).contains("--contenders"));
    assert!(!dir.path().join("out").exists());
}

#[test]
fn what_has_no_price_costs_zero_and_not_less() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    one_pod(dir.path(), "{constant: 30m}");
    let spec = "  scenario: one-pod.yaml\n  replications: 3\n  vary:\n  - name: wait\n    tolerationSeconds: {workloads: [deployment/shop/*], \
                values: [0, 60]}\n";
    let out = path(dir.path(), "out");
    kubesquall(&["sweep", &write_study(dir.path(), "unpriced", spec), "-q", "--no-charts", "--out", &out])
        .assert()
        .success();
    for file in ["runs.csv", "workloads.csv", "variants.csv"] {
        let text = fs::read_to_string(Path::new(&out).join(file)).expect("a table");
        assert!(text.lines().count() > 2, "{file} is empty");
        assert!(!text.split([',', '\n']).any(|cell| cell == "-0" || cell == "-0.0"), "{file}: {text}");
    }
}

#[test]
fn a_sweep_does_not_remove_what_tune_recommended() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = fs::read_to_string(small_study(dir.path(), "small")).expect("a study");
    let study = path(dir.path(), "small.yaml");
    fs::write(&study, text.replace("replications: 20", "replications: 2")).expect("a study");
    let out = path(dir.path(), "out");
    kubesquall(&["tune", &study, "-q", "--out", &out]).assert().success();
    assert!(refusal(&["sweep", &study, "--out", &out]).contains("holds what `tune` recommended"));
    assert!(dir.path().join("out/patch.sh").exists());
    kubesquall(&["tune", &study, "-q", "--out", &out]).assert().success();
    kubesquall(&["sweep", &study, "-q", "--resume", "--out", &out]).assert().success();
    assert!(!dir.path().join("out/patch.sh").exists());
}

/// A node is drained; the pod on it is guarded by a budget of each of these kinds. As it is, the drain goes through.
fn guarded(dir: &Path, cost: &str) -> String {
    let budget = |name: &str, limit: &str| {
        let text = format!(
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: web, namespace: shop}}\nspec: \
             {{maxUnavailable: {limit}, selector: {{matchLabels: {{app: web}}}}}}\n"
        );
        fs::write(dir.join(name), text).expect("a manifest");
    };
    budget("none.yaml", "0");
    budget("one.yaml", "1");
    budget("two.yaml", "2");
    let text = r#"apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: guarded}
spec:
  duration: 20m
  cluster:
    nodePools:
    - {name: worker, count: 3, template: {status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}}}
    manifests: [one.yaml]
  latency: {podStart: {uniform: {min: 20s, max: 40s}}}
  timeline:
  - {at: 1m, kubectl: drain worker-0}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: web}]
"#;
    fs::write(dir.join("cluster.yaml"), text).expect("a scenario");
    let spec = format!(
        "  scenario: cluster.yaml\n  replications: 6\n  vary:\n  - name: budget\n    path: spec.cluster.manifests\n    values: \
         [[none.yaml], [one.yaml], [two.yaml]]\n  cost: {{unreadyReplicaSeconds: 1{cost}}}\n"
    );
    write_study(dir, "guarded", &spec)
}

#[test]
fn who_never_drains_does_not_win() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = &guarded(dir.path(), "");
    let read = |out: &str, name: &str| fs::read_to_string(dir.path().join(out).join(name)).expect("a result");
    let summary =
        |out: &str| -> serde_json::Value { serde_json::from_str(&read(out, "summary.json")).expect("a summary") };
    let said = |arguments: &[&str]| {
        let done = kubesquall(arguments).assert().success();
        String::from_utf8_lossy(&done.get_output().stdout).into_owned()
    };
    let reason = "commands_unfinished 1.00 a run instead of 0.00 (more with 6 of 6 seeds)";
    for verb in ["sweep", "tune"] {
        let text = said(&[verb, study, "--out", &path(dir.path(), verb)]);
        let ruled_out = format!("Ruled out: budget=[\"none.yaml\"] leaves more undone than the baseline: {reason}");
        assert!(text.contains(&ruled_out), "{text}");
        let found = summary(verb);
        let none = &found["variants"][0];
        assert_eq!((none["cost"]["mean"].as_f64(), none["ruled_out"].as_bool()), (Some(0.0), Some(true)));
        assert_eq!(none["leaves_undone"][0]["metric"], "commands_unfinished");
        assert_ne!(found["recommendation"]["best"], 0);
        assert!(!found["front"].as_array().expect("a list").contains(&0.into()));
        let csv = read(verb, "variants.csv");
        let cells = |start: &str| csv.lines().find(|row| row.starts_with(start)).expect("a row").to_owned();
        assert!(cells("0,\"[\"\"none.yaml\"\"]\",cost,").ends_with(",commands_unfinished,,"));
        assert!(cells("1,\"[\"\"one.yaml\"\"]\",cost,").ends_with(','));
        let chart = read(verb, "charts/cost-curve.svg");
        assert!(chart.contains("crossed: work undone (commands_unfinished)"));
    }
    assert!(read("tune", "patch.sh").lines().all(|line| !line.contains("none.yaml")));
    // The charts are drawn from the tables alone.
    kubesquall(&["report", "-q", &path(dir.path(), "tune")]).assert().success();
    assert!(read("tune", "charts/trade-off.svg").contains("crossed: work undone (commands_unfinished)"));
    // Who is told that it does not matter recommends it, and says what is left.
    let allowed = said(&["tune", study, "--allow-undone", "--out", &path(dir.path(), "allowed")]);
    assert!(allowed.contains("Recommended: budget=[\"none.yaml\"]\n"), "{allowed}");
    assert!(allowed.contains("BUT it leaves undone what budget=[\"one.yaml\"] gets done"), "{allowed}");
    assert_eq!(summary("allowed")["recommendation"]["best"], 0);
    let text = fs::read_to_string(study).expect("a study") + "  allowUndone: true\n";
    let in_file = path(dir.path(), "in-file.yaml");
    fs::write(&in_file, text).expect("a study");
    assert_eq!(said(&["tune", &in_file, "--out", &path(dir.path(), "in-file")]), allowed);
}

#[test]
fn what_never_ends_is_weighed_if_it_has_a_price() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let check = |price: &str, best: u64| {
        let out = path(dir.path(), "out");
        let study = guarded(dir.path(), &format!(", commands_failed: {price}, commands_unfinished: {price}"));
        kubesquall(&["sweep", &study, "-q", "--force", "--out", &out]).assert().success();
        let text = fs::read_to_string(dir.path().join("out/summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(summary["recommendation"]["best"].as_u64(), Some(best), "{price}");
        assert_eq!(summary["variants"][0]["ruled_out"], false);
    };
    check("0.01", 0);
    check("100000", 1);
}

#[test]
fn replicas_and_nodes_are_paid_for_as_long_as_they_are_there() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let scenario = "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {name: grows}\nspec:\n  duration: 1h\n  cluster:\n    \
                    nodePools:\n    - {name: worker, count: 3, template: {status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \
                    \"110\"}}}}\n  timeline:\n  - {at: 15m, kubectl: scale deployment web --replicas=6}\n  - {at: 45m, kubectl: scale \
                    deployment web --replicas=1}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: \
                    2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, \
                    image: c}]}}}\n";
    fs::write(dir.path().join("grows.yaml"), scenario).expect("a scenario");
    let spec = "  scenario: grows.yaml\n  replications: 2\n  vary:\n  - {name: nodes, path: 'spec.cluster.nodePools[0].count', values: \
                [3, 4]}\n  cost: {replicaHours: 1, nodeHours: 10}\n";
    let study = load(&write_study(dir.path(), "paid", spec));
    let found = play(dir.path(), &study);
    let at = |name: &str| study::metric_names().iter().position(|known| *known == name).expect("a metric");
    for (variant, nodes) in [(0, 3.0), (1, 4.0)] {
        for run in &found.runs[variant] {
            // Two for a quarter of the hour, six for half of it, and one; a line takes a moment to be typed.
            let (replicas, of_nodes) = (run.metrics[at("replica_h")], run.metrics[at("node_h")]);
            assert!((replicas - (0.5 + 3.0 + 0.25)).abs() < 0.01, "{replicas}");
            assert!((of_nodes - nodes).abs() < 1e-9, "{of_nodes}");
        }
    }
}

/// A study of 2 variants with 12 runs each of a year, in whose runs something is required.
fn study_that_requires(dir: &Path, least: &str) -> String {
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/studies/shop-year.yaml");
    let spec = format!(
        "  scenario: {}\n  replications: 12\n  vary:\n  - name: frontends\n    replicas: {{workloads: [deployment/shop/frontend], \
         values: [4, 8]}}\n  cost: {{replicaHours: 1}}\n  require:\n  - {{metric: availability, atLeast: {least}, probability: 65%}}\n  \
         - {{metric: evictions, workload: deployment/shop/frontend, atMost: 1e6, probability: 100%}}\n",
        scenario.display()
    );
    write_study(dir, "promise", &spec)
}

/// The cells of a column, by row.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let at = reader.headers().expect("a header").iter().position(|known| known == name).expect("the column");
    reader.records().map(|row| row.expect("a row")[at].to_owned()).collect()
}

#[test]
fn what_is_required_goes_by_what_runs_say_and_is_judged_anew_without_new_runs() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| path(dir.path(), name);
    let read = |place: &str, file: &str| fs::read_to_string(dir.path().join(place).join(file)).expect("a result");
    let study = &study_that_requires(dir.path(), "50%");
    let plain = ["-q", "--no-charts", "--out"];
    let play = |command: &[&str], out: &str| kubesquall(&[command, &plain, &[&place(out)]].concat()).assert().success();
    play(&["sweep", study], "whole");
    play(&["sweep", study, "--shard", "1/2"], "one");
    play(&["sweep", study, "--shard", "2/2"], "two");
    play(&["merge", &place("two"), &place("one")], "merged");
    for file in ["runs.csv", "variants.csv", "requirements.csv", "summary.json"] {
        assert_eq!(read("merged", file), read("whole", file), "{file}");
    }
    // The availability is that of the run's summary.
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/studies/shop-year.yaml");
    play(&["run", scenario.to_str().expect("plain text")], "run");
    let summary: serde_json::Value = serde_json::from_str(&read("run", "summary.json")).expect("JSON");
    let workloads = summary["workloads"].as_array().expect("workloads");
    let judged = workloads.iter().find(|of| !of["objective"].is_null()).expect("an objective");
    let found = column(&read("whole", "runs.csv"), "availability");
    assert_eq!(found[12].parse::<f64>().ok(), judged["availability"].as_f64());
    assert_eq!(column(&read("whole", "requirements.csv"), "standing"), ["meets"; 4]);
    let of_variants = column(&read("whole", "variants.csv"), "availability>=0.5");
    assert!(of_variants.iter().all(|standing| standing == "meets"));
    // Nobody is up for all of a year. What is required makes no other runs of them.
    let study = &study_that_requires(dir.path(), "99.99999%");
    play(&["tune", study, "--resume"], "whole");
    assert_eq!(column(&read("whole", "requirements.csv"), "standing"), ["misses", "misses", "meets", "meets"]);
    assert_eq!(column(&read("whole", "runs.csv"), "availability"), found);
    let summary: serde_json::Value = serde_json::from_str(&read("whole", "summary.json")).expect("JSON");
    assert!(summary["recommendation"].is_null() && summary["tuning"]["requirements"] == "nobodyMeets");
    assert!(summary["verdict"][0]["text"].as_str().is_some_and(|text| text.starts_with("Every variant MISSES")));
    // Where everybody misses it after the first round nobody is played on.
    play(&["tune", study, "--contenders"], "contenders");
    let summary: serde_json::Value = serde_json::from_str(&read("contenders", "summary.json")).expect("JSON");
    assert!(summary["verdict"][0]["text"].as_str().is_some_and(|text| text.contains("nothing is recommended")));
    assert!(refusal(&["sweep", study, "--rare", "evictions>3", "--out", &place("no")]).contains("have weights"));
}

#[test]
fn costs_are_judged_by_bad_runs_if_that_is_asked_for() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (study, out) = (&small_study(dir.path(), "small"), path(dir.path(), "out"));
    let sweep = ["sweep", study, "-q", "--no-charts", "--cost-by", "cvar:50%", "--out", &out];
    kubesquall(&sweep).assert().success();
    let text = fs::read_to_string(dir.path().join("out/variants.csv")).expect("a table");
    let (metrics, means) = (column(&text, "metric"), column(&text, "mean"));
    let figures: Vec<&String> =
        metrics.iter().zip(&means).filter(|(of, _)| *of == "cost_cvar_50").map(|of| of.1).collect();
    // The mean of the worse half of the runs.
    let runs = fs::read_to_string(dir.path().join("out/runs.csv")).expect("a table");
    let mut costs: Vec<f64> = column(&runs, "cost")[..20].iter().map(|cost| cost.parse().expect("a number")).collect();
    costs.sort_by(f64::total_cmp);
    let expected = costs[10..].iter().sum::<f64>() / 10.0;
    assert!(
        figures.len() == 3 && (figures[0].parse::<f64>().expect("a number") - expected).abs() < 1e-6,
        "{figures:?}"
    );
    let summary = fs::read_to_string(dir.path().join("out/summary.json")).expect("a summary");
    assert!(summary.contains("Lowest cost by the CVaR 50 %: wait="), "{summary}");
    assert!(refusal(&["sweep", study, "--cost-by", "cvar:5%", "--out", &out]).contains("5 % is no share"));
    assert!(refusal(&["sweep", study, "--cost-by", "cvar:95%", "--rare", "evictions>3"]).contains("have weights"));
}

/// A study of a Deployment, a Job and a roll-out.
fn working(dir: &Path, vary: &str) -> String {
    let text = r#"apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: working}
spec:
  duration: 20m
  cluster:
    nodePools:
    - {name: old, count: 2, template: {metadata: {labels: {pool: web}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "110"}}}}
    - {name: batch, count: 1, template: {metadata: {labels: {pool: batch}}, status: {allocatable: {cpu: "2", memory: 8Gi, pods: "110"}}}}
  timeline:
  - {at: 5m, kubectl: rollout restart deployment/web -n shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  strategy: {rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {pool: web}
      containers: [{name: web, image: web, resources: {requests: {cpu: 1500m}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: shop}
spec:
  template:
    metadata: {annotations: {kubesquall.sim/run-for: 2m}}
    spec:
      restartPolicy: Never
      nodeSelector: {pool: batch}
      containers: [{name: c, image: i, resources: {requests: {cpu: 1500m}}}]
"#;
    fs::write(dir.join("cluster.yaml"), text).expect("a scenario");
    let spec = format!(
        "  scenario: cluster.yaml\n  replications: 3\n  vary:\n  - {vary}\n  cost: {{unreadyReplicaSeconds: 1, nodeHours: 1}}\n"
    );
    write_study(dir, "working", &spec)
}

#[test]
fn who_asks_for_nothing_rolls_nothing_out_or_runs_no_job_does_not_win() {
    let check = |vary: &str, metric: &str| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let study = &working(dir.path(), vary);
        let out = path(dir.path(), "out");
        let done = kubesquall(&["tune", study, "--no-charts", "--out", &out]).assert().success();
        let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        let told = said.lines().find(|line| line.starts_with("Ruled out: ")).unwrap_or_else(|| panic!("{said}"));
        assert!(told.contains(metric), "{told}");
        assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("results in "));
        let text = fs::read_to_string(dir.path().join("out/summary.json")).expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(summary["recommendation"]["best"], 0, "{said}");
    };
    check("{name: web, replicas: {workloads: [deployment/shop/web], values: [2, 0]}}", "workloads_wanted_end");
    check(
        "{name: batch, path: 'spec.cluster.nodePools[1].count', values: [1, 0]}",
        "jobs_complete 0.00 a run instead of 1.00 (less",
    );
    let strategies = "{name: strategy, path: 'objects[\"deployment/shop/web\"].spec.strategy.rollingUpdate', values: [{maxUnavailable: 1, \
                      maxSurge: 0}, {maxUnavailable: 0, maxSurge: 1}]}";
    check(strategies, "rollouts_unfinished_end");
}

#[cfg(unix)]
#[test]
fn ctrl_c_says_how_to_go_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let study = small_study(dir.path(), "small");
    let arguments = ["sweep", &study, "-q", "--jobs", "1", "--out", &path(dir.path(), "out")];
    let child = kubesquall(&arguments).stderr(Stdio::piped()).spawn().expect("it starts");
    let journal = dir.path().join("out.journal.tmp");
    while !journal.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{said}");
    assert!(said.contains("the same command with --resume goes on"), "{said}");
}
