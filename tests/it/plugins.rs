//! Filters, scores and controllers that whoever embeds the simulator brings along.

use std::error::Error as _;
use std::sync::{Arc, Mutex};

use kubesquall::{
    ChangeKind, ClientRequest, Error, ErrorKind, Method, Outcome, PlayOptions, PluginPod, Plugins, Report, Scenario,
    SimTime,
};
use serde_json::{Value, json};

const SCENARIO: &str = "
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: plugged}
spec:
  duration: 20m
  cluster:
    manifests: [apps.yaml]
    nodePools:
    - {name: hdd, count: 3, template: {metadata: {labels: {disk: hdd}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}}
    - {name: ssd, count: 2, template: {metadata: {labels: {disk: ssd}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '110'}}}}
  timeline:
  - {at: 1m, fault: {kind: Crash, nodes: {names: [ssd-0]}, for: 12m}}
";

fn deployment(name: &str, replicas: u32, spec: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec:\n  replicas: {replicas}\n  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    \
         spec: {{{spec} containers: [{{name: app, image: {name}, resources: {{requests: {{cpu: 100m}}}}}}]}}\n"
    )
}

fn scenario_with(apps: &str) -> Scenario {
    Scenario::parse(SCENARIO, [("apps.yaml", apps)]).expect("a scenario")
}

fn scenario() -> Scenario {
    scenario_with(&deployment("web", 6, ""))
}

fn played(plugins: Plugins) -> Outcome {
    try_played(&scenario(), plugins).expect("plug-ins that do not fail")
}

fn try_played(scenario: &Scenario, plugins: Plugins) -> Result<Outcome, Error> {
    scenario.with_plugins(plugins)?.try_settle()?.try_play(1)
}

fn prefer_ssd() -> Plugins {
    Plugins::new().score("PreferFastDisk", 100, |_, node| Ok(if node.label("disk") == Some("ssd") { 100 } else { 0 }))
}

/// The nodes of the pods that are there at t=0, in the order of the pods.
fn nodes_at_start(outcome: &Outcome) -> Vec<String> {
    let rows = outcome.rows("pods.csv").expect("rows");
    let text =
        |row: &kubesquall::Row, name: &str| row.get(name).expect("a cell").as_str().unwrap_or_default().to_owned();
    let is_initial = |row: &kubesquall::Row| row.get("initial").and_then(|cell| cell.as_bool()) == Some(true);
    rows.iter().filter(is_initial).map(|row| text(&row, "node")).collect()
}

#[test]
fn a_score_that_prefers_a_label_fills_its_nodes_first() {
    let outcome = played(prefer_ssd());
    let nodes = nodes_at_start(&outcome);
    assert_eq!(nodes.len(), 6);
    assert!(nodes.iter().all(|node| node.starts_with("ssd")), "{nodes:?}");
    let without = scenario().play(1);
    assert!(nodes_at_start(&without).iter().any(|node| node.starts_with("hdd")));
    assert_ne!(outcome.digest(), without.digest());
}

#[test]
fn a_run_with_plugins_is_the_same_twice_and_says_so() {
    let with = || played(prefer_ssd().filter("Any", |_, _| Ok(None)));
    let (one, two) = (with(), with());
    assert_eq!((one.digest(), one.summary_json()), (two.digest(), two.summary_json()));
    let told = json!([{"name": "PreferFastDisk", "kind": "score", "weight": 100}, {"name": "Any", "kind": "filter"}]);
    assert_eq!(one.summary()["plugins"], told);
    assert_eq!(scenario().play(1).summary().get("plugins"), None);
    assert!(!one.lock_file().contains("PreferFastDisk"), "the lock file has documents alone");
}

#[test]
fn a_plugin_that_says_nothing_changes_nothing_that_happens() {
    let rows = |outcome: &Outcome| {
        outcome.rows("pods.csv").expect("rows").iter().map(|row| format!("{row:?}")).collect::<Vec<_>>()
    };
    let neutral = Plugins::new().filter("Any", |_, _| Ok(None)).score("None", 1, |_, _| Ok(50));
    assert_eq!(rows(&played(neutral)), rows(&scenario().play(1)));
}

#[test]
fn a_filter_keeps_pods_off_and_its_reason_is_shown() {
    let keep = Plugins::new().filter("KeepFree", |pod, node| {
        Ok((pod.label("app") == Some("web") && node.label("disk") == Some("hdd"))
            .then(|| "node(s) are kept free".to_owned()))
    });
    let never = Plugins::new().filter("Never", |_, _| Ok(Some(String::new())));
    assert!(nodes_at_start(&played(keep)).iter().all(|node| node.starts_with("ssd")));
    let outcome = played(never);
    assert_eq!(outcome.metric("pods_pending_max"), Some(6.0));
    assert!(nodes_at_start(&outcome).iter().all(String::is_empty));
    let apps = deployment("web", 1, "");
    let mut run = scenario_with(&apps)
        .with_plugins(Plugins::new().filter("Never", |_, _| Ok(Some(String::new()))))
        .expect("plug-ins")
        .try_settle()
        .expect("settled")
        .start(1);
    run.try_run_until(SimTime::from_secs(1)).expect("played");
    assert!(run.pods().all(|pod| pod.node.is_none()));
}

/// A number that hangs on the name alone.
fn lot(name: &str) -> u64 {
    name.bytes().fold(7, |sum, byte| sum * 31 % 1009 + u64::from(byte))
}

#[test]
fn pods_that_share_a_spec_are_asked_about_one_by_one() {
    // What the scheduler's own plug-ins say of a spec is remembered: here each pod has a node of its own.
    let names = ["hdd-0", "hdd-1", "hdd-2", "ssd-0", "ssd-1"];
    let chosen = move |pod: &PluginPod<'_>| names[lot(pod.name()) as usize % names.len()];
    let filtered = Plugins::new()
        .filter("Lot", move |pod, node| Ok((node.name() != chosen(pod)).then(|| "node(s) were not drawn".to_owned())));
    let scored =
        Plugins::new().score("Lot", 1000, move |pod, node| Ok(if node.name() == chosen(pod) { 100 } else { 0 }));
    for plugins in [filtered, scored] {
        let settled = scenario().with_plugins(plugins).expect("plug-ins").try_settle().expect("settled");
        let run = settled.start(1);
        let mut seen = Vec::new();
        for pod in run.pods() {
            assert_eq!(pod.node, Some(names[lot(pod.name) as usize % names.len()]), "{}", pod.name);
            seen.extend(pod.node);
        }
        seen.sort_unstable();
        seen.dedup();
        assert!(seen.len() > 1, "all lots fell on one node: the test says nothing");
    }
}

#[test]
fn a_filter_sees_the_pods_that_the_scheduler_has_just_put_on_a_node() {
    let alone = Plugins::new().filter("Alone", |pod, node| {
        let is_same = node.pods().any(|other| other.label("app") == pod.label("app"));
        let requested = node.requested().iter().find(|(name, _)| *name == "pods").map(|(_, amount)| *amount);
        assert_eq!(requested, Some(node.pods().count() as i64));
        Ok(is_same.then(|| "node(s) have one".to_owned()))
    });
    let settled = scenario().with_plugins(alone).expect("plug-ins").try_settle().expect("settled");
    let run = settled.start(1);
    let mut nodes: Vec<&str> = run.pods().filter_map(|pod| pod.node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["hdd-0", "hdd-1", "hdd-2", "ssd-0", "ssd-1"]);
    assert_eq!(run.pods().filter(|pod| pod.node.is_none()).count(), 1);
}

#[test]
fn preemption_asks_a_filter_about_nodes_without_their_pods() {
    let apps = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n"
        .to_owned()
        + &deployment("low", 5, "")
        + &deployment("high", 0, "priorityClassName: high,");
    let text = format!("{SCENARIO}  - {{at: 2m, kubectl: scale deployment/high --replicas=1}}\n");
    let scenario = Scenario::parse(&text, [("apps.yaml", &*apps)]).expect("a scenario");
    let apart = Plugins::new().filter("Apart", |pod, node| {
        let is_high = pod.label("app") == Some("high");
        Ok((is_high && node.pods().any(|other| other.label("app") == Some("low")))
            .then(|| "node(s) have others".to_owned()))
    });
    // Each node has one of them.
    let spread = apart.filter("Spread", |pod, node| {
        let mut others = node.pods().filter(|other| other.label("app") == pod.label("app"));
        Ok(others.next().map(|_| "node(s) have one".to_owned()))
    });
    let outcome = try_played(&scenario, spread).expect("played");
    assert_eq!(outcome.metric("preemptions"), Some(1.0));
}

/// What a controller was told, in words.
type Log = Arc<Mutex<Vec<String>>>;

/// Makes web larger as soon as a node is found lost.
fn scaler(log: &Log, replicas: i64) -> Plugins {
    let log = Arc::clone(log);
    Plugins::new().controller("scaler", ["Node", "Deployment"], move |change, cluster| {
        let name = change.object["metadata"]["name"].as_str().unwrap_or("-");
        let kind = change.object["kind"].as_str().unwrap_or_default();
        let now = cluster.now().as_nanos() / 1_000_000;
        log.lock().expect("a log").push(format!("{now} {} {kind} {name}", change.kind.as_str()));
        let unknown = |of: &Value| of["type"] == "Ready" && of["status"] == "Unknown";
        let is_lost = change.object["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(unknown));
        if kind != "Node" || !is_lost {
            return Ok(Vec::new());
        }
        let path = "/apis/apps/v1/namespaces/default/deployments/web";
        let web = cluster.get(path)?.ok_or("there is no web")?;
        if web["spec"]["replicas"] == replicas {
            return Ok(Vec::new());
        }
        let body = json!({"spec": {"replicas": replicas}}).to_string();
        Ok(vec![ClientRequest::new(Method::Patch, format!("{path}/scale"), body)])
    })
}

#[test]
fn a_controller_scales_when_a_node_is_lost() {
    let log = Log::default();
    let outcome = played(scaler(&log, 9));
    let told = log.lock().expect("a log").clone();
    let first: Vec<&str> = told.iter().take_while(|line| line.starts_with("0 ")).map(String::as_str).collect();
    let nodes = ["hdd-0", "hdd-1", "hdd-2", "ssd-0", "ssd-1"].map(|name| format!("0 ADDED Node {name}"));
    assert_eq!(first[..5], nodes.each_ref().map(String::as_str));
    assert_eq!(first[5..], ["0 ADDED Deployment web"]);
    assert_eq!(
        outcome.summary()["plugins"],
        json!([{"name": "scaler", "kind": "controller", "requests": 1, "refused": 0}])
    );
    let web = &outcome.summary()["workloads"][0];
    assert_eq!((&web["name"], &web["desired"]), (&json!("web"), &json!(9)), "{web}");
    // It hears of it when its watch delivers, not when it happens: 40 seconds and a look of the node lifecycle controller after the crash.
    let lost = told.iter().find(|line| line.contains("MODIFIED Node ssd-0")).expect("the lost node");
    let at: i64 = lost.split(' ').next().and_then(|at| at.parse().ok()).expect("an instant");
    assert!((100_000..120_000).contains(&at), "{lost}");
    assert!(told.iter().any(|line| line.contains("MODIFIED Deployment web")));
    // A run that goes by copies is the same.
    assert_eq!(played(scaler(&Log::default(), 9)).digest(), outcome.digest());
    assert_ne!(played(scaler(&Log::default(), 6)).digest(), outcome.digest());
}

#[test]
fn a_controller_is_told_of_refusals_with_its_request() {
    let log = Log::default();
    let told = Arc::clone(&log);
    let asks = Plugins::new().controller("hopeful", ["Node"], move |change, _| {
        if change.kind == ChangeKind::Error {
            let request = change.request.expect("what was refused");
            told.lock().expect("a log").push(format!("{} {} {}", request.user, request.path, change.object["reason"]));
            return Ok(Vec::new());
        }
        let is_first = change.kind == ChangeKind::Added && change.object["metadata"]["name"] == "hdd-0";
        let path = "/apis/apps/v1/namespaces/default/deployments/nobody/scale";
        let request = ClientRequest::new(Method::Patch, path, r#"{"spec": {"replicas": 1}}"#);
        Ok(if is_first { vec![request] } else { Vec::new() })
    });
    let outcome = played(asks);
    let expected = "hopeful /apis/apps/v1/namespaces/default/deployments/nobody/scale \"NotFound\"";
    assert_eq!(*log.lock().expect("a log"), [expected]);
    assert_eq!(outcome.summary()["plugins"][0]["refused"], 1);
}

#[test]
fn a_controller_that_answers_each_refusal_with_the_same_request_gets_on_with_time() {
    let stubborn = Plugins::new().controller("stubborn", ["Node"], |change, cluster| {
        let wants = change.kind == ChangeKind::Error || change.object["metadata"]["name"] == "hdd-0";
        let request = ClientRequest::new(Method::Delete, "/api/v1/namespaces/default/pods/nobody", "");
        Ok(if wants && cluster.now() < SimTime::from_secs(2) { vec![request] } else { Vec::new() })
    });
    let requests = played(stubborn).summary()["plugins"][0]["requests"].as_u64().expect("a count");
    assert!((200..=2000).contains(&requests), "{requests}");
}

#[test]
fn a_failure_ends_the_run_with_what_was_said() {
    let failing = |at: i64| {
        Plugins::new().controller("weak", ["Node"], move |_, cluster| {
            if cluster.now() > SimTime::from_secs(at) { Err("no more".into()) } else { Ok(Vec::new()) }
        })
    };
    let settled = scenario().with_plugins(failing(60)).expect("plug-ins").try_settle().expect("settled");
    let error = settled.try_play(1).expect_err("it fails");
    assert_eq!(error.kind(), ErrorKind::Plugin);
    let text = error.to_string();
    assert!(text.starts_with("the plug-in `weak` failed at ") && text.ends_with(": no more"), "{text}");
    assert_eq!(error.source().expect("what was said").to_string(), "no more");
    // Nothing is left of the run; the next begins as if it had never been.
    let mut run = settled.start_with(1, &PlayOptions::new().summary_only());
    assert!(run.try_run_until(SimTime::from_secs(30)).is_ok());
    assert_eq!(run.try_run_until(SimTime::from_secs(600)).expect_err("it fails").to_string(), text);
    assert_eq!(run.try_run_until(SimTime::from_secs(601)).expect_err("it is over").kind(), ErrorKind::Argument);
    assert_eq!(run.try_finish().expect_err("it is over").kind(), ErrorKind::Argument);
    assert_eq!(settled.try_play(1).expect_err("it fails").to_string(), text);
}

#[test]
fn scores_beyond_a_hundred_and_failing_filters_end_it_while_the_cluster_is_brought_up() {
    let check = |plugins: Plugins, expected: &str| {
        let error = scenario().with_plugins(plugins).expect("plug-ins").try_settle().expect_err("it fails");
        assert_eq!(error.kind(), ErrorKind::Plugin);
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(Plugins::new().score("Much", 1, |_, _| Ok(101)), "a score is a number from 0 to 100, not 101");
    check(Plugins::new().filter("Weak", |_, _| Err("no more".into())), "asked to filter node hdd-");
}

#[test]
fn what_cannot_be_plugged_in_is_refused() {
    let check = |plugins: Plugins, message: &str, help: &str| {
        let error = scenario().with_plugins(plugins).expect_err(message);
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Argument, message));
        assert!(error.help().is_some_and(|own| own.contains(help)), "{:?}", error.help());
    };
    let filter = |name: &str| Plugins::new().filter(name, |_, _| Ok(None));
    let watching = |kinds: &[&str]| Plugins::new().controller("c", kinds.iter().copied(), |_, _| Ok(Vec::new()));
    check(filter(""), "`` is no name of a plug-in", "letters");
    check(filter("NodeAffinity"), "`NodeAffinity` is a plug-in of kube-scheduler itself", "its own");
    check(filter("A").score("A", 1, |_, _| Ok(0)), "two plug-ins are called `A`", "its own");
    check(Plugins::new().score("A", 0, |_, _| Ok(0)), "the score `A` has no weight", "from 1 on");
    check(watching(&[]), "the controller `c` watches nothing", "Deployment");
    check(watching(&["Deploymnet"]), "the controller `c` cannot watch `Deploymnet`", "`Deployment`");
    check(watching(&["Secret"]), "the controller `c` cannot watch `Secret`", "Deployment");
}

#[test]
fn another_value_of_the_scenario_keeps_the_plugins_and_a_verified_run_holds() {
    let plugged = scenario().with_plugins(prefer_ssd()).expect("plug-ins");
    let sooner = plugged.with_set("spec.timeline[0].at=2m").expect("a scenario");
    let outcome = sooner.play(1);
    assert!(nodes_at_start(&outcome).iter().all(|node| node.starts_with("ssd")));
    let verified = plugged.verify(&PlayOptions::new()).expect("nothing impossible has happened");
    assert_eq!(verified.summary()["plugins"][0]["name"], "PreferFastDisk");
    let scaled = scenario().with_plugins(scaler(&Log::default(), 9)).expect("plug-ins");
    scaled.verify(&PlayOptions::new()).expect("nothing impossible has happened");
    // Without them it is as if they had never been.
    let none = plugged.with_plugins(Plugins::new()).expect("none");
    assert_eq!(none.play(1).digest(), scenario().play(1).digest());
}

#[test]
fn a_comparison_says_that_files_do_not_hold_the_plugins() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, outcome: &Outcome| {
        let dir = outcome.write(place.path().join(name)).expect("written");
        Report::open(dir).expect("results")
    };
    let with = |name: &'static str| {
        Plugins::new().score("Prefer", 10, move |_, node| Ok(if node.name() == name { 100 } else { 0 }))
    };
    let [none, one, other] = [
        write("none", &scenario().play(1)),
        write("one", &played(with("hdd-0"))),
        write("other", &played(with("hdd-1"))),
    ];
    let added = none.diff(&one).expect("compared").to_json();
    assert_eq!(added["inputs"]["settings"][0]["path"], "plugins[Prefer]");
    assert_eq!(added["inputs"]["same"], false);
    let changed = one.diff(&other).expect("compared").to_json();
    assert_eq!((&changed["inputs"]["same"], &changed["inputs"]["settings"]), (&json!(false), &json!([])));
    assert_eq!(changed["inputs"]["own_plugins"], true);
    let text = changed.to_string();
    assert!(text.contains("they do not hold the plug-ins") && !text.contains("a bug to report"), "{text}");
    assert_eq!(none.diff(&none).expect("compared").to_json()["inputs"].get("own_plugins"), None);
}
