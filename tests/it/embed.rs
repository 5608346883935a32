//! The front door: what programs that embed kubesquall rely on.

use std::fmt::Debug;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubesquall::{
    Cell, Cluster, ClusterOptions, Document, Error, ErrorKind, LoadOptions, Outcome, Plan, PlayOptions, PodPhase,
    Progress, Report, Scenario, Shard, SimDuration, SimTime, SolveOptions, Study, StudyOutcome, SweepOptions, Values,
    WriteOptions,
};
use serde_json::json;

const SCENARIO: &str = "
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: one-node-dies}
spec:
  duration: 15m
  cluster:
    manifests: [apps]
    nodePools:
    - {name: worker, count: 3, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}}
  timeline:
  - {at: 1m, fault: {kind: Crash, nodes: {names: [worker-0]}, for: 12m}}
";

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
";

const STUDY: &str = "
apiVersion: kubesquall.sim/v1alpha1
kind: Study
metadata: {name: tolerations}
spec:
  scenario: scenario.yaml
  replications: 6
  vary:
  - {name: wait, path: spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds, values: [30, 300]}
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

const FILES: [(&str, &str); 2] = [("scenario.yaml", SCENARIO), ("apps/web.yaml", WEB)];

fn scenario() -> Scenario {
    Scenario::parse(SCENARIO, FILES).expect("a scenario")
}

fn study() -> Study {
    Study::parse(STUDY, FILES).expect("a study")
}

fn plan() -> Plan {
    Plan::parse(PLAN, FILES).expect("a plan")
}

/// What an error is about; its words are not those of the command line.
#[track_caller]
fn refused<T: Debug>(found: Result<T, Error>) -> (ErrorKind, String) {
    let error = found.expect_err("an error");
    let text = format!("{error:?}");
    assert!(!text.contains("--"), "{text}");
    (error.kind(), text)
}

/// Parts with their steps, and how many of these were done; the last may be under way.
#[derive(Default)]
struct Seen(Mutex<(Vec<(u64, u64)>, bool)>);

impl Progress for Seen {
    fn begin(&self, steps: u64, done: u64, what: &str) {
        let mut seen = self.0.lock().expect("no panic");
        assert!(!seen.1, "`{what}` begins within another part");
        assert!(done <= steps, "{done} of {steps} steps of `{what}` are done");
        *seen = (std::mem::take(&mut seen.0), true);
        seen.0.push((steps, done));
    }

    fn advance(&self) {
        let mut seen = self.0.lock().expect("no panic");
        seen.0.last_mut().expect("a part").1 += 1;
    }

    fn end(&self) {
        let mut seen = self.0.lock().expect("no panic");
        assert!(std::mem::take(&mut seen.1), "nothing was under way");
    }
}

impl Seen {
    /// The parts, all of them ended.
    fn parts(self) -> Vec<(u64, u64)> {
        let (parts, is_open) = self.0.into_inner().expect("no panic");
        assert!(!is_open, "the last part did not end");
        parts
    }
}

#[test]
fn announced_steps_are_reached() {
    let seen = Seen::default();
    let _ = scenario().settle().play_with(1, &PlayOptions::new().progress(&seen).summary_only());
    assert_eq!(seen.parts(), [(400, 400)]);
    let seen = Seen::default();
    study().tune(&SweepOptions::new().progress(&seen)).expect("tuned");
    assert_eq!(seen.parts(), [(12, 12), (12, 12)]);
    // Twelve runs in five parts: the last three have two each.
    let part = |index: u64| {
        let seen = Seen::default();
        let shard = Shard::new(index, 5).expect("a part");
        study().sweep(&SweepOptions::new().shard(shard).progress(&seen)).expect("swept");
        seen.parts()
    };
    assert_eq!((part(2), part(3)), (vec![(3, 3)], vec![(2, 2)]));
}

#[test]
fn a_search_ends_at_the_latest_with_the_steps_that_it_announced() {
    let seen = Seen::default();
    let options = SolveOptions::new().headroom("deployment/default/web").blast_radius("").progress(&seen);
    let outcome = plan().solve(&options).expect("solved");
    assert_eq!(outcome.answer(), Some(vec![("worker", 2)]));
    let parts = seen.parts();
    assert_eq!(parts[0].0, 9);
    assert!(parts[0].1 < 9 && parts.iter().all(|(steps, done)| done <= steps), "{parts:?}");
    // What the answer rests on, and the losses of two nodes and of the pair.
    assert_eq!((parts[1], parts[parts.len() - 1]), ((1, 1), (2, 2)), "{parts:?}");
}

#[test]
fn what_means_nothing_is_refused_before_anything_is_played() {
    let study = study();
    for share in [0.0, -1.0, 1.0, f64::NAN, f64::INFINITY] {
        let options = SweepOptions::new().precision(share);
        assert_eq!(refused(study.sweep(&options)).0, ErrorKind::Argument, "{share}");
        assert_eq!(refused(study.tune(&options)).0, ErrorKind::Argument, "{share}");
        assert_eq!(refused(study.sweep_to("absent/place", &options)).0, ErrorKind::Argument, "{share}");
    }
    let part = SweepOptions::new().shard("1/2".parse().expect("a part"));
    assert_eq!(refused(study.sweep(&part.precision(0.1))).0, ErrorKind::Argument);
    assert_eq!(refused(study.tune(&part)).0, ErrorKind::Argument);
    let contenders = SweepOptions::new().contenders(true);
    assert_eq!(refused(study.sweep(&contenders)).0, ErrorKind::Argument);
    assert_eq!(refused(study.sweep_to("absent/place", &contenders)).0, ErrorKind::Argument);
    assert_eq!(refused(study.tune(&contenders.precision(0.1))).0, ErrorKind::Argument);
    assert_eq!(refused(study.tune(&contenders.shard("1/2".parse().expect("a part")))).0, ErrorKind::Argument);
    assert_eq!(refused(Shard::new(3, 2).map_err(Error::from)).0, ErrorKind::Argument);
    let plan = plan();
    assert_eq!(refused(plan.solve(&SolveOptions::new().headroom("web"))).0, ErrorKind::Argument);
    assert_eq!(refused(plan.solve(&SolveOptions::new().blast_radius("rack"))).0, ErrorKind::Argument);
    assert!(!Path::new("absent").exists());
}

#[test]
fn results_of_another_kind_are_replaced_only_if_that_is_said() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| root.path().join(name);
    let (run, plan) = (scenario().play(1), plan().solve(&SolveOptions::new()).expect("solved"));
    let swept = study().sweep(&SweepOptions::new()).expect("swept");
    let tuned = study().tune(&SweepOptions::new()).expect("tuned");
    run.write(place("run")).expect("written");
    plan.write(place("plan")).expect("written");
    swept.write(place("study")).expect("written");
    tuned.write(place("tuned")).expect("written");
    for (of, refusal) in [
        ("plan", run.write(place("plan"))),
        ("study", run.write(place("study"))),
        ("run", plan.write(place("run"))),
        ("study", plan.write(place("study"))),
        ("run", swept.write(place("run"))),
        ("plan", swept.write(place("plan"))),
        ("run", tuned.write(place("run"))),
        // The runs would be the same, but the recommendation would be gone.
        ("tuned", swept.write(place("tuned"))),
        ("tuned", study().sweep_to(place("tuned"), &SweepOptions::new()).map(|_| place("tuned"))),
    ] {
        assert_eq!(refused(refusal).0, ErrorKind::Place, "{of}");
        assert!(place("tuned/patch.sh").exists() && place("plan/plan.csv").exists() && place("run/pods.csv").exists());
    }
    run.write(place("run")).expect("in the place of a run");
    plan.write(place("plan")).expect("in the place of the same plan");
    swept.write(place("study")).expect("in the place of the same study");
    tuned.write(place("study")).expect("that has a recommendation now");
    run.write_with(place("plan"), &WriteOptions::new().force(true)).expect("as it is said");
    assert!(place("plan/pods.csv").exists() && !place("plan/plan.csv").exists());
}

#[test]
fn what_is_read_is_not_replaced_even_if_that_is_said() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let place = root.path().join("shop");
    fs::create_dir_all(place.join("apps")).expect("a directory");
    for (name, text) in [("study.yaml", STUDY), ("plan.yaml", PLAN)].into_iter().chain(FILES) {
        fs::write(place.join(name), text).expect("a file");
    }
    let force = WriteOptions::new().force(true);
    let swept = Study::load(place.join("study.yaml")).expect("a study").sweep(&SweepOptions::new()).expect("swept");
    assert_eq!(refused(swept.write_with(&place, &force)).0, ErrorKind::Place);
    let solved = Plan::load(place.join("plan.yaml")).expect("a plan").solve(&SolveOptions::new()).expect("solved");
    assert_eq!(refused(solved.write_with(&place, &force)).0, ErrorKind::Place);
    let parts = ["1/2", "2/2"].map(|part| {
        let shard = part.parse().expect("a part");
        let dir = root.path().join(part.replace('/', "-of-"));
        study().sweep_to(&dir, &SweepOptions::new().shard(shard)).expect("swept");
        StudyOutcome::read(dir).expect("its results")
    });
    let whole = StudyOutcome::merge(parts).expect("the whole");
    assert_eq!(refused(whole.write_with(root.path().join("1-of-2"), &force)).0, ErrorKind::Place);
    assert!(place.join("apps/web.yaml").exists() && root.path().join("1-of-2/runs.csv").exists());
}

/// Wants no more after so many steps.
pub(crate) struct Impatient {
    steps: AtomicUsize,
    enough: usize,
}

impl Impatient {
    pub(crate) fn after(enough: usize) -> Self {
        Self { steps: AtomicUsize::new(0), enough }
    }

    pub(crate) fn steps(&self) -> usize {
        self.steps.load(Ordering::Relaxed)
    }
}

impl Progress for Impatient {
    fn advance(&self) {
        self.steps.fetch_add(1, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.steps() >= self.enough
    }
}

#[test]
fn a_study_that_was_stopped_goes_on_to_the_same_bytes() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let [whole, stopped] = ["whole", "stopped"].map(|name| root.path().join(name));
    study().sweep_to(&whole, &SweepOptions::new()).expect("swept");
    let impatient = Impatient::after(3);
    let found = study().sweep_to(&stopped, &SweepOptions::new().progress(&impatient));
    assert_eq!(refused(found).0, ErrorKind::Stopped);
    let played = impatient.steps();
    assert!((3..12).contains(&played), "{played} of 12 runs");
    let rest = Impatient::after(usize::MAX);
    study().sweep_to(&stopped, &SweepOptions::new().resume(true).progress(&rest)).expect("resumed");
    assert_eq!(rest.steps() + played, 12, "no run is played twice");
    for file in ["runs.csv", "summary.json", "report.html"] {
        assert_eq!(
            fs::read(stopped.join(file)).expect("a file"),
            fs::read(whole.join(file)).expect("a file"),
            "{file}"
        );
    }
}

#[test]
fn plans_can_be_stopped() {
    assert_eq!(refused(plan().solve(&SolveOptions::new().progress(&Impatient::after(1)))).0, ErrorKind::Stopped);
}

#[test]
fn tables_by_columns_are_those_of_the_files() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let outcome = scenario().play(7);
    let report = Report::open(outcome.write(root.path().join("run")).expect("written")).expect("a run");
    assert_eq!(outcome.tables(), {
        let mut tables = report.tables();
        tables.sort_by_key(|file| outcome.tables().iter().position(|other| other == file));
        tables
    });
    for file in outcome.tables() {
        assert_eq!(outcome.table(file).expect("a table"), report.table(file).expect("a table"), "{file}");
    }
    let pods = outcome.table("pods.csv").expect("pods");
    let column = |name: &str| &pods.columns.iter().find(|column| column.name == name).expect("a column").values;
    let Values::Texts(causes) = column("deletion_cause") else { panic!("causes are text") };
    let evicted = causes.iter().filter(|cause| *cause == "TaintManagerEviction").count();
    assert_eq!(outcome.metric("evictions"), Some(evicted as f64));
    let Values::Reals(gone) = column("gone_s") else { panic!("times are seconds") };
    assert!(gone.contains(&None) && gone.iter().flatten().all(|at| (at * 1000.0).round() / 1000.0 == *at));
    assert!(refused(outcome.table("pod.csv")).1.contains("the nearest is `pods.csv`"));
}

#[test]
fn a_document_says_what_it_is_and_where_its_files_are() {
    for (text, kind) in [(SCENARIO, "Scenario"), (STUDY, "Study"), (PLAN, "Plan"), (WEB, "manifest")] {
        assert_eq!(Document::parse(text, FILES).expect("a document").kind(), kind);
    }
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(root.path().join("apps")).expect("a directory");
    fs::write(root.path().join("apps/web.yaml"), WEB).expect("a file");
    let on_disk = Scenario::parse_in(SCENARIO, root.path(), &LoadOptions::new()).expect("a scenario");
    assert_eq!(on_disk.play(7).digest(), scenario().play(7).digest());
}

#[test]
fn two_files_of_one_name_are_one_too_many() {
    let twice = [FILES[0], FILES[1], ("apps/./web.yaml", WEB)];
    let found = [
        refused(Scenario::parse(SCENARIO, twice)),
        refused(Study::parse(STUDY, twice)),
        refused(Plan::parse(PLAN, twice)),
        refused(Cluster::parse(twice)),
    ];
    for (kind, text) in found {
        assert!(kind == ErrorKind::Argument && text.contains("two files are called `apps/web.yaml`"), "{text}");
    }
}

#[test]
fn a_document_of_another_kind_is_called_by_its_own() {
    for (document, help) in [(STUDY, "read it as a `Study`"), (PLAN, "read it as a `Plan`")] {
        let error = Scenario::parse(document, FILES).expect_err("no scenario");
        assert_eq!(error.diagnostics()[0].code, "scenario::not_a_scenario");
        let text = error.to_string();
        assert!(text.contains(help) && !text.contains("kubesquall "), "{text}");
    }
}

#[test]
fn what_is_made_of_rows_is_refused_where_none_were_kept() {
    let (full, lean) = (PlayOptions::new(), PlayOptions::new().summary_only());
    let settled = scenario().settle();
    let (outcome, bare) = (settled.play_with(1, &full), settled.play_with(1, &lean));
    assert_eq!((outcome.digest(), outcome.metrics()), (bare.digest(), bare.metrics()));
    assert!(outcome.keeps_rows() && !bare.keeps_rows());
    assert_eq!(refused(bare.rows("pods.csv")).0, ErrorKind::Argument);
    assert_eq!(refused(bare.files()).0, ErrorKind::Argument);
    assert_eq!(refused(bare.verdict().map(Iterator::count)).0, ErrorKind::Argument);
    assert_eq!(refused(bare.write("absent/place")).0, ErrorKind::Argument);
    assert!(outcome.verdict().expect("rows").count() > 0);
    let has = |outcome: &Outcome, field: &str| outcome.summary().get(field).is_some();
    assert!(["rows", "verdict"].into_iter().all(|field| has(&outcome, field) && !has(&bare, field)));
    assert_eq!(refused(scenario().verify(&lean)).0, ErrorKind::Argument);
    assert_eq!(scenario().verify(&full).expect("no bug").digest(), settled.play(scenario().seed()).digest());
}

#[test]
fn rows_are_typed() {
    #[derive(serde::Deserialize)]
    struct Pod {
        name: String,
        initial: bool,
        restarts: i64,
        created_s: f64,
        deletion_s: Option<f64>,
    }
    let outcome = scenario().play(42);
    let rows = outcome.rows("pods.csv").expect("the table");
    let pods: Vec<Pod> = rows.deserialize().expect("the columns");
    assert_eq!(pods.len(), rows.iter().len());
    assert_eq!(pods.iter().filter(|pod| pod.deletion_s.is_some()).count(), 2);
    assert!(pods.iter().all(|pod| pod.initial == (pod.created_s == 0.0) && pod.restarts == 0));
    let first = rows.iter().next().expect("a pod");
    assert_eq!(first.get("name").and_then(Cell::as_str), Some(pods[0].name.as_str()));
    assert_eq!(first.get("created_s").and_then(Cell::as_time), Some(SimTime::ZERO));
    assert_eq!(first.get("unready_s").and_then(Cell::as_duration).map(SimDuration::as_secs), Some(300));
    assert_eq!(first.get("initial").and_then(Cell::as_bool), Some(true));
    assert!(first.get("restarts").and_then(Cell::as_i64) == Some(0) && first.get("nobody").is_none());
    let wrong = refused(rows.deserialize::<std::collections::BTreeMap<String, bool>>());
    assert!(wrong.0 == ErrorKind::Argument && wrong.1.contains("taken_away"), "{}", wrong.1);
    let unknown = refused(outcome.rows("pod.csv"));
    assert!(unknown.0 == ErrorKind::Argument && unknown.1.contains("the nearest is `pods.csv`"), "{}", unknown.1);
}

#[test]
fn two_runs_are_compared_and_their_page_replaces_nothing_of_others() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let written = |name: &str, scenario: &Scenario| {
        let place = scenario.play(1).write_with(dir.path().join(name), &WriteOptions::new().charts(false));
        kubesquall::Report::open(place.expect("written")).expect("a run")
    };
    let sooner = scenario().with_set("spec.controlPlane.kubeApiserver.default-unreachable-toleration-seconds=60");
    let (before, after) = (written("before", &scenario()), written("after", &sooner.expect("a flag")));
    assert!(before.diff(&before).expect("a comparison").is_alike());
    let comparison = before.diff(&after).expect("a comparison");
    assert!(!comparison.is_alike());
    assert_eq!(comparison.to_json()["divergence"]["why"]["kind"], "settings");
    let page = dir.path().join("page.html");
    comparison.write_page(&page).expect("a page");
    comparison.write_page(&page).expect("a page in its own place");
    assert_eq!(fs::read_to_string(&page).expect("a file"), comparison.page().expect("a page"));
    fs::write(&page, "mine").expect("a file");
    assert_eq!(refused(comparison.write_page(&page)).0, ErrorKind::Argument);
    assert_eq!(fs::read_to_string(&page).expect("a file"), "mine");
    // A page and charts are drawn of what was written without.
    after.redraw(&WriteOptions::new()).expect("drawn");
    assert!(
        dir.path().join("after/report.html").is_file() && dir.path().join("after/charts/node-states.svg").is_file()
    );
    fs::write(dir.path().join("after/pods.csv"), "").expect("a file");
    assert_eq!(refused(before.diff(&after)).0, ErrorKind::Results);
}

#[test]
fn other_values_need_no_files() {
    let root = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir(root.path().join("apps")).expect("a directory");
    let web = root.path().join("apps/web.yaml");
    let drain = "  - {at: 2m, kubectl: apply -f more.yaml}\n";
    fs::write(root.path().join("scenario.yaml"), format!("{SCENARIO}{drain}")).expect("a file");
    fs::write(root.path().join("more.yaml"), WEB.replace("name: web}", "name: more}")).expect("a file");
    fs::write(&web, WEB).expect("a file");
    let scenario = Scenario::load(root.path().join("scenario.yaml")).expect("a scenario");
    let before = scenario.with_set("spec.seed=4").expect("another seed");
    fs::remove_dir_all(root.path()).expect("removed");
    let after = scenario.with_set("spec.seed=4").expect("another seed");
    assert_eq!((after.seed(), after.play(4).digest()), (4, before.play(4).digest()));
    assert_eq!(after.play(4).summary()["overrides"], json!(["spec.seed=4"]));
    assert_eq!(refused_document(scenario.with_set("spec.cluster.manifests=[absent.yaml]")), "scenario::unreadable");
}

/// The first problem of a document.
#[track_caller]
fn refused_document<T: Debug>(found: Result<T, Error>) -> &'static str {
    let error = found.expect_err("an error");
    assert_eq!(error.kind(), ErrorKind::Document, "{error}");
    let is_of_command_line = ["--set", "--allow-partial"].iter().any(|flag| error.to_string().contains(flag));
    assert!(!is_of_command_line, "{error}");
    error.diagnostics()[0].code
}

#[test]
fn documents_are_read_with_other_values_from_text_and_from_values() {
    let longer = LoadOptions::new().set("spec.duration=20m").seed(9);
    let read = Scenario::parse_with(SCENARIO, FILES, &longer).expect("a scenario");
    assert_eq!((read.duration(), read.seed()), (SimDuration::from_secs(1200), 9));
    let document = json!({
        "apiVersion": "kubesquall.sim/v1alpha1", "kind": "Scenario", "metadata": {"name": "made"},
        "spec": {"duration": "15m", "cluster": {"manifests": ["apps"], "nodePools": [
            {"name": "worker", "count": 3, "template": {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}},
        ]}, "timeline": [{"at": "1m", "fault": {"kind": "Crash", "nodes": {"names": ["worker-0"]}, "for": "12m"}}]},
    });
    let made = Scenario::from_value(&document, FILES, &longer).expect("a scenario");
    assert_eq!(made.play(9).digest(), read.play(9).digest());
    let mut broken = document;
    broken["spec"]["timeline"][0]["fault"]["kind"] = json!("Crush");
    let error = Scenario::from_value(&broken, FILES, &longer).expect_err("there is no such kind");
    // Each field has its line, so that a place is one.
    assert!(error.diagnostics()[0].location().is_some_and(|location| location.line > 10), "{error}");

    let fewer = LoadOptions::new().set("spec.cluster.nodePools[0].count=2");
    assert_eq!(Study::parse_with(STUDY, FILES, &fewer).expect("a study").name(), "tolerations");
    let none = LoadOptions::new().set("spec.duration=0s");
    assert_eq!(refused_document(Study::parse_with(STUDY, FILES, &none)), "scenario::bad_value");
    assert_eq!(refused_document(Plan::parse_with(PLAN, FILES, &none)), "scenario::bad_value");
    let study = json!({
        "apiVersion": "kubesquall.sim/v1alpha1", "kind": "Study", "metadata": {"name": "made"},
        "spec": {"scenario": "scenario.yaml", "replications": 1, "vary": [{"name": "length", "path": "spec.duration", "values": ["5m", "6m"]}]},
    });
    let study = Study::from_value(&study, FILES, &LoadOptions::new()).expect("a study");
    assert_eq!(study.sweep(&SweepOptions::new()).expect("swept").variants().len(), 3);
    let plan = json!({"apiVersion": "kubesquall.sim/v1alpha1", "kind": "Plan", "metadata": {"name": "made"}, "spec": {
        "scenario": "scenario.yaml", "pools": [{"name": "worker", "max": 4}], "survive": ["node"]}});
    assert_eq!(Plan::from_value(&plan, FILES, &LoadOptions::new()).expect("a plan").name(), "made");
    let node = [("node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: a}}")];
    assert!(Cluster::parse(node).is_ok() && Cluster::load(["absent.yaml"]).is_err());
    let version = ClusterOptions::new().kubernetes_version("9.99");
    assert_eq!(refused_document(Cluster::parse_with(node, &version)), "scenario::bad_value");
}

#[test]
fn kinds_of_errors_tell_what_they_are_about() {
    let root = tempfile::tempdir().expect("a temporary directory");
    assert_eq!(refused_document(Scenario::load("absent.yaml")), "file::unreadable");
    assert_eq!(refused_document(scenario().with_set("nonsense")), "scenario::bad_override");
    assert_eq!(refused_document(scenario().with_set("spec.seed=-1")), "scenario::bad_value");
    let no_objects = [("scenario.yaml", SCENARIO), ("apps/web.yaml", "{replicas: 3}")];
    assert_eq!(refused_document(Scenario::parse(SCENARIO, no_objects)), "manifest::not_an_object");
    assert_eq!(refused_document(Study::parse(STUDY, no_objects)), "manifest::not_an_object");
    assert_eq!(refused(StudyOutcome::read(root.path())).0, ErrorKind::Results);
    assert_eq!(refused(kubesquall::Report::open("absent")).0, ErrorKind::Results);
    fs::write(root.path().join("thesis.txt"), "years of work").expect("a file");
    assert_eq!(refused(scenario().play(1).write(root.path())).0, ErrorKind::Place);
    let below_a_file = root.path().join("thesis.txt/results");
    assert_eq!(refused(scenario().play(1).write(below_a_file)).0, ErrorKind::System);
    assert_eq!(study().sweep(&SweepOptions::new()).expect("swept").metric("nope"), None);
    let cluster = Cluster::parse([("node.yaml", "{apiVersion: v1, kind: Node, metadata: {name: a}}")]);
    assert_eq!(refused(cluster.expect("a cluster").decisions_of(["absent"])).0, ErrorKind::Argument);
}

#[test]
fn a_run_under_way_can_be_looked_into_and_copied() {
    let settled = scenario().settle();
    let mut run = settled.start_with(7, &PlayOptions::new().summary_only());
    let web = "deployment/default/web";
    let ready = |run: &kubesquall::Simulation| run.nodes().filter(|node| node.ready == Some(true)).count();
    assert_eq!((ready(&run), run.pods_of(web).expect("there").len()), (3, 6));
    assert_eq!((run.pod_counts().running, run.pod_counts().ready, run.pods().count()), (6, 6, 6));
    assert!(run.next_event().is_some_and(|at| at <= SimTime::from_secs(60)));
    run.run_until(SimTime::from_secs(300));
    let lost: Vec<_> = run.nodes().filter(|node| node.ready.is_none()).map(|node| (node.name, node.pods)).collect();
    assert_eq!(lost, [("worker-0", 2)]);
    let unready = run.pods_of(web).expect("there").into_iter().filter(|pod| !pod.is_ready);
    let unready: Vec<_> = unready.map(|pod| (pod.node, pod.phase, pod.is_terminating)).collect();
    assert_eq!(unready, [(Some("worker-0"), PodPhase::Running, false); 2]);
    assert_eq!(refused(run.pods_of("deployment/default/wep")).0, ErrorKind::Argument);
    // A copy is a run of its own.
    let copy = run.clone();
    run.run_until(run.end());
    assert_eq!((copy.now(), run.next_event()), (SimTime::from_secs(300), None));
    let whole = settled.play(7);
    let (run, copy) = (run.finish(), copy.finish());
    assert_eq!((run.digest(), copy.digest()), (whole.digest(), whole.digest()));
    assert_eq!((run.metrics(), copy.metrics()), (whole.metrics(), whole.metrics()));
    assert_eq!(settled.start(7).clone().finish().files().ok(), whole.files().ok());
}

#[test]
fn values_can_be_copied_sent_and_printed() {
    fn all<T: Clone + Debug + Send + Sync>() {}
    fn shown<T: std::fmt::Display>() {}
    all::<Scenario>();
    all::<kubesquall::Settled>();
    all::<kubesquall::Simulation>();
    all::<Outcome>();
    all::<Study>();
    all::<StudyOutcome>();
    all::<Plan>();
    all::<kubesquall::PlanOutcome>();
    all::<Cluster>();
    all::<kubesquall::Decisions>();
    all::<kubesquall::Report>();
    all::<kubesquall::Rows>();
    all::<PlayOptions<'_>>();
    all::<SweepOptions<'_>>();
    all::<SolveOptions<'_>>();
    shown::<Error>();
    shown::<Shard>();
    shown::<PodPhase>();
    shown::<kubesquall::Severity>();
    shown::<kubesquall::Location>();
    shown::<kubesquall::Interval>();
}
