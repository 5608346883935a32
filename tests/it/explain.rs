//! Stories that `explain` tells: every time in them stands in a table, terms add up, and chains end where something began.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kubesquall::inspect::{Origin, Part, Sentence, Story, tell};
use kubesquall::{Scenario, WriteOptions};
use rayon::prelude::*;
use tempfile::TempDir;

/// A claim of a class that nothing provides, and that binds at once.
const CLAIM: &str = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: none}, provisioner: \
                     kubernetes.io/no-provisioner}\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: absent, namespace: \
                     default}, spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}";

/// Plays a scenario of three nodes and writes its files.
fn played(spec: &str, timeline: &str, objects: &[&str]) -> TempDir {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: stories}}\nspec: {{duration: 20m, seed: 1, {spec} cluster: \
         {{nodePools: [{{name: n, count: 3, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, \
         latency: {{podStart: {{constant: 1s}}}}, timeline: [{timeline}]}}\n---\n{}\n",
        objects.join("\n---\n")
    );
    written(&text)
}

/// Plays a scenario and writes its files into `run` of a directory.
pub(super) fn written(text: &str) -> TempDir {
    let scenario = Scenario::parse(text, [("", ""); 0]).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let options = WriteOptions::new().charts(false);
    scenario.play(1).write_with(dir.path().join("run"), &options).unwrap_or_else(|error| panic!("{error}"));
    dir
}

fn workload(kind: &str, name: &str, replicas: u32, more_of_pod: &str) -> String {
    let count = if kind == "DaemonSet" { String::new() } else { format!("replicas: {replicas}, ") };
    let service = if kind == "StatefulSet" { format!("serviceName: {name}, ") } else { String::new() };
    format!(
        "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, namespace: default}}, spec: {{{count}{service}selector: \
         {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{more_of_pod}\
         containers: [{{name: c, image: i, resources: {{requests: {{cpu: 100m}}}}}}]}}}}}}}}"
    )
}

/// Every time that stands in a table of the run, in milliseconds, and the run's ends.
pub(super) fn times(run: &Path) -> BTreeSet<i64> {
    let mut found = BTreeSet::from([0, 1_200_000]);
    for file in fs::read_dir(run).expect("the run").map(|file| file.expect("a file").path()) {
        if file.extension().is_none_or(|end| end != "csv") {
            continue;
        }
        let mut table = csv::Reader::from_path(&file).expect("a table");
        let header = table.headers().expect("a header").clone();
        for row in table.records() {
            let row = row.expect("a row");
            let cells = header.iter().zip(&row).filter(|(name, _)| name.ends_with("_s"));
            found.extend(cells.filter_map(|(_, cell)| cell.parse::<f64>().ok()).map(|at| (at * 1000.0).round() as i64));
            // causes.csv has what came again and again in one row, which says when it was the last time.
            let last = row.iter().filter_map(|cell| cell.split_once(", the last at ")?.1.split([',', ' ']).next());
            let last = last.filter_map(|at| kubesquall::units::SimDuration::parse_with_days(at).ok());
            found.extend(last.map(|at| (at.as_nanos() / 1_000_000) as i64));
        }
    }
    found
}

/// What is wrong with a story.
pub(super) fn wrong(story: &Story, times: &BTreeSet<i64>) -> Vec<String> {
    let mut wrong = Vec::new();
    let millis = |at: kubesquall::units::SimTime| at.as_nanos() / 1_000_000;
    let told = |sentence: &Sentence| -> Vec<i64> {
        sentence.0.iter().filter_map(|part| if let Part::At(at) = part { Some(millis(*at)) } else { None }).collect()
    };
    let links = story.steps.iter().flat_map(|step| &step.because);
    let mut all: Vec<i64> = story.facts.iter().flat_map(told).collect();
    all.extend(story.steps.iter().flat_map(|step| told(&step.says).into_iter().chain([millis(step.at)])));
    all.extend(links.flat_map(|link| told(&link.says).into_iter().chain([millis(link.at)])));
    for sum in &story.sums {
        all.extend(sum.terms.iter().flat_map(|term| told(&term.why).into_iter().chain(term.until.map(millis))));
        let together: u64 = sum.terms.iter().map(|term| term.takes.as_nanos()).sum();
        if together != sum.together.as_nanos() {
            wrong.push(format!("{}: terms do not add up: {sum:?}", story.object));
        }
    }
    wrong.extend(
        all.into_iter().filter(|at| !times.contains(at)).map(|at| format!("{}: no table has {at} ms", story.object)),
    );
    for step in story.steps.iter().filter(|step| !step.because.is_empty()) {
        let root = format!("{:?}", step.because.last().expect("a root").says);
        let is_object = matches!(step.because.last().and_then(|root| root.says.0.first()), Some(Part::Object(_)));
        if step.origin.is_none() || (step.origin == Some(Origin::Start)) != is_object {
            wrong.push(format!("{}: a chain ends at {root}, {:?}", story.object, step.origin));
        }
    }
    wrong
}

/// The objects of a run that have tables, of which the tests ask.
fn objects(run: &Path, keep: impl Fn(&csv::StringRecord, &dyn Fn(&str) -> usize) -> bool) -> Vec<String> {
    let mut table = csv::Reader::from_path(run.join("pods.csv")).expect("the pods");
    let header = table.headers().expect("a header").clone();
    let column = |name: &str| header.iter().position(|of| of == name).expect("a column");
    let rows = table.records().map(|row| row.expect("a row"));
    rows.filter(|row| keep(row, &column))
        .map(|row| format!("pod/{}/{}", &row[column("namespace")], &row[column("name")]))
        .collect()
}

/// The workload of which a pod's story says that it is.
fn owner(story: &Story) -> Option<String> {
    match &story.facts.first()?.0[..] {
        [Part::Text(of), Part::Object(owner), ..] if of == "Of " => Some(owner.clone()),
        _ => None,
    }
}

#[test]
fn a_pod_whose_node_was_deleted_is_told_from_the_failure_on() {
    let web = workload("Deployment", "web", 6, "");
    let dir = played("", "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}", &[&web]);
    let run = dir.path().join("run");
    let ended = objects(&run, |row, column| &row[column("deletion_cause")] == "DeletionByPodGC");
    let story = tell(&run, &ended[0]).expect("a story");
    let events = fs::read_to_string(run.join("causes.csv")).expect("the causes");
    let deleted = events.lines().find(|line| line.contains("node/n-0 deleted")).expect("the deletion of the node");
    let deleted: f64 = deleted.split(',').nth(1).and_then(|at| at.parse().ok()).expect("a time");
    let is_it = |sentence: &&Sentence| {
        sentence.0.iter().any(|part| matches!(part, Part::Text(text) if text.contains("was deleted at")))
    };
    let said = story.facts.iter().find(is_it).expect("the deletion of the node");
    let told = said.0.iter().filter_map(|part| if let Part::At(at) = part { Some(at.as_secs_f64()) } else { None });
    assert!(told.clone().any(|at| (at - deleted).abs() < 0.001), "{deleted}: {said:?}");
    let sum = &story.sums[0];
    let names: Vec<&str> = sum.terms.iter().map(|term| term.name).collect();
    assert_eq!(names[..3], ["detect", "wait", "recreate"]);
    let last = sum.terms.last().and_then(|term| term.until).expect("an end");
    assert!((last.as_secs_f64() - sum.together.as_secs_f64() - 60.0).abs() < 0.01, "{sum:?}");
}

#[test]
fn each_cause_of_deletion_has_a_story() {
    let web = workload("Deployment", "web", 6, "");
    let agent = workload("DaemonSet", "agent", 0, "");
    let vip = workload("Deployment", "vip", 0, "priorityClassName: high, ").replace("cpu: 100m", "cpu: '3'");
    let big = workload("Deployment", "big", 3, "").replace("cpu: 100m", "cpu: '3'");
    let high = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}";
    let hungry = workload("Deployment", "hungry", 3, "").replace(
        "labels: {app: hungry}}, spec",
        "labels: {app: hungry}, annotations: {kubesquall.sim/usage: '{memory: 9Gi}'}}, spec",
    );
    let graceful = "controlPlane: {kubelet: {shutdownGracePeriod: 30s, shutdownGracePeriodCriticalPods: 10s}},";
    let fault = |kind: &str| format!("{{at: 1m, fault: {{kind: {kind}, nodes: {{names: [n-0]}}, for: 10m}}}}");
    let typed = |line: &str| format!("{{at: 1m, kubectl: {line}}}");
    let picky = workload("DaemonSet", "agent", 0, "nodeSelector: {r: x}, ");
    let unlabeled = "{at: 1m, kubectl: label nodes n-0 r=x}, {at: 3m, kubectl: label nodes n-0 r-}";
    let gone = "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}".to_owned();
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: default}, spec: {parallelism: 3, template: {spec: \
               {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";
    let overdue = patched("1m", "job j", r#"{"spec":{"activeDeadlineSeconds":30}}"#);
    let cases: [(&str, &str, String, Vec<&str>); 12] = [
        ("TaintManagerEviction", "", fault("Crash"), vec![&web]),
        ("EvictionByEvictionAPI", "", typed("drain n-0 --ignore-daemonsets"), vec![&web, &agent]),
        ("DeletionByPodGC", "", gone, vec![&web]),
        ("PreemptionByScheduler", "", typed("scale deploy vip --replicas=1"), vec![high, &big, &vip]),
        ("TerminationByKubelet", graceful, fault("GracefulShutdown"), vec![&web]),
        ("ScaleDown", "", typed("scale deploy web --replicas=2"), vec![&web]),
        ("RollingUpdate", "", typed("rollout restart deploy/web"), vec![&web]),
        ("DaemonSetController", "", unlabeled.to_owned(), vec![&picky]),
        ("OwnerDeleted", "", typed("delete deploy web"), vec![&web]),
        ("NodePressure", "", typed("cordon n-0"), vec![&hungry]),
        ("Kubectl", "", typed("delete pod -l app=web"), vec![&web]),
        ("Completed", "", overdue, vec![job]),
    ];
    let found: Vec<String> = cases
        .into_par_iter()
        .flat_map_iter(|(cause, spec, timeline, given)| {
            let dir = played(spec, &timeline, &given);
            let run = dir.path().join("run");
            let times = times(&run);
            let ended = objects(&run, |row, column| &row[column("deletion_cause")] == cause);
            let mut found: Vec<String> = Vec::new();
            if ended.is_empty() {
                found.push(format!("{cause}: ended no pod"));
            }
            let workloads = ["web", "agent", "vip", "big", "hungry"].map(str::to_owned);
            let asked = ended.iter().cloned().chain(workloads).chain(["n-0".to_owned(), "n-1".to_owned()]);
            for object in asked.collect::<Vec<_>>() {
                let Ok(story) = tell(&run, &object) else { continue };
                found.extend(wrong(&story, &times).into_iter().map(|what| format!("{cause}: {what}")));
                if let Some(owner) = owner(&story).filter(|_| ended.contains(&object)) {
                    let of_owner = tell(&run, &owner).expect("the story of the owner");
                    // Of many with one fate, the first few have their names.
                    let names_it = |said: &Sentence| {
                        said.0.iter().any(|part| match part {
                            Part::Object(named) => *named == object,
                            Part::Text(text) => text.contains(" more on "),
                            _ => false,
                        })
                    };
                    if !of_owner.steps.iter().any(|step| names_it(&step.says)) {
                        found.push(format!("{cause}: the story of {owner} does not tell of the end of {object}"));
                    }
                }
                if object.starts_with("pod/")
                    && !story.steps.iter().any(|step| step.origin == Some(Origin::Scenario) || cause == "NodePressure")
                {
                    found.push(format!("{cause}: nothing of {object} leads to the scenario: {:#?}", story.steps));
                }
            }
            found
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn each_reason_to_be_pending_is_told_with_what_would_help() {
    let with = |more: &str| workload("Deployment", "late", 1, more);
    let spread = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: \
                  {matchLabels: {app: late}}}], ";
    let apart = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                 kubernetes.io/hostname, labelSelector: {matchLabels: {app: late}}}]}}, ";
    let together = apart.replace("podAntiAffinity", "podAffinity").replace("{app: late}", "{app: nobody}");
    let port = workload("Deployment", "late", 4, "")
        .replace("image: i,", "image: i, ports: [{containerPort: 80, hostPort: 80}],");
    let claim = "volumes: [{name: v, persistentVolumeClaim: {claimName: absent}}], ";
    let cases: [(&str, String, &str); 8] = [
        ("smaller requests", with("").replace("cpu: 100m", "cpu: '9'"), ""),
        (
            "a toleration",
            with("").replace("replicas: 1", "replicas: 0"),
            "{at: 1m, kubectl: 'taint nodes --all a=b:NoSchedule'}, {at: 2m, kubectl: scale deploy late --replicas=1}",
        ),
        (
            "kubectl uncordon",
            with("").replace("replicas: 1", "replicas: 0"),
            "{at: 1m, kubectl: cordon n-0 n-1 n-2}, {at: 2m, kubectl: scale deploy late --replicas=1}",
        ),
        ("labels", with("nodeSelector: {disk: ssd}, "), ""),
        ("topologyKey", with(spread), ""),
        ("may not be with", workload("Deployment", "late", 4, apart), ""),
        ("has to be with", with(&together), ""),
        ("host port", port, ""),
    ];
    let gated = with("schedulingGates: [{name: example.com/hold}], ").replace("replicas: 1", "replicas: 0");
    let gated = [("scheduling gates", gated, "{at: 2m, kubectl: scale deploy late --replicas=1}")];
    let claims = [(
        "for its claim",
        format!(
            "{}
---
{CLAIM}",
            with(claim)
        ),
        "",
    )];
    let found: Vec<String> = cases
        .into_iter()
        .chain(gated)
        .chain(claims)
        .collect::<Vec<_>>()
        .into_par_iter()
        .flat_map_iter(|(help, given, timeline)| {
            let dir = played("", timeline, &[&given]);
            let run = dir.path().join("run");
            let waiting = objects(&run, |row, column| row[column("node")].is_empty());
            let times = times(&run);
            let mut found = Vec::new();
            if waiting.is_empty() {
                found.push(format!("{help}: no pod waits"));
            }
            for object in waiting.iter().map(String::as_str).chain(["deployment/late"]) {
                let story = tell(&run, object).unwrap_or_else(|error| panic!("{error}"));
                let said = format!("{:?}", story.facts);
                if !said.contains("Pending without a node from") || !said.contains(help) {
                    found.push(format!("{help}: {object}: {said}"));
                }
                found.extend(wrong(&story, &times));
            }
            found
        })
        .collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_pod_that_waits_from_the_beginning_is_told_by_its_first_failed_try() {
    let big = workload("Deployment", "big", 1, "").replace("cpu: 100m", "cpu: '9'");
    let dir = played("", "{at: 2m, kubectl: cordon n-0}", &[&big]);
    let run = dir.path().join("run");
    let pod = objects(&run, |row, column| row[column("node")].is_empty()).pop().expect("a pod");
    let story = tell(&run, &pod).expect("a story");
    let said = format!("{:?}", story.facts);
    assert!(said.contains("what the scheduler said first, at") && said.contains("3 Insufficient cpu"), "{said}");
    let first = story.steps.first().expect("a step");
    assert!(first.at < kubesquall::units::SimTime::from_secs(1), "{first:#?}");
    assert!(
        format!("{:?}", first.says).contains("No node takes it: 0/3 nodes are available: 3 Insufficient cpu"),
        "{first:#?}"
    );
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

/// The terms of the sums of a story, each with its seconds.
fn terms(story: &Story) -> Vec<(&'static str, f64)> {
    let terms = story.sums.iter().flat_map(|sum| &sum.terms);
    terms.map(|term| (term.name, term.takes.as_secs_f64())).collect()
}

#[test]
fn an_outage_of_the_controller_manager_is_no_limiter() {
    let web = workload("Deployment", "web", 6, "");
    let timeline = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}}}, {at: 70s, fault: {kind: ControlPlaneOutage, \
                    components: [kube-controller-manager], for: 5m}}";
    let dir = played("", timeline, &[&web]);
    let run = dir.path().join("run");
    let story = tell(&run, "deployment/web").expect("a story");
    let found = terms(&story);
    let of = |name: &str| found.iter().filter(|(term, _)| *term == name).map(|(_, takes)| takes).sum::<f64>();
    assert!(of("controller-manager down") > 200.0, "{found:?}");
    assert!(of("limiter") < 60.0, "{found:?}");
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

#[test]
fn a_budget_tells_whose_eviction_it_refused_and_the_pod_by_which_budget() {
    let web = workload("Deployment", "web", 3, "");
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 3, \
                  selector: {matchLabels: {app: web}}}}";
    let dir = played("", "{at: 1m, kubectl: drain n-0 --timeout=60s}", &[&web, budget]);
    let run = dir.path().join("run");
    let story = tell(&run, "poddisruptionbudget/web").expect("a story");
    let said = format!("{:?}", story.facts);
    assert!(
        said.contains("It refused the eviction of ") && said.contains(r#" times, the last at "), At(SimTime(11"#),
        "{said}"
    );
    let refused = |object: &String| {
        let steps = tell(&run, object).expect("a story").steps;
        steps.iter().any(|step| {
            let said = format!("{:?}", step.says);
            said.contains("Its eviction was refused ")
                && said.contains(r#"by "), Object("poddisruptionbudget/default/web")"#)
                && step.origin == Some(Origin::Scenario)
        })
    };
    let kept = objects(&run, |row, column| &row[column("node")] == "n-0");
    assert!(kept.len() == 1 && kept.iter().all(refused), "{kept:?}");
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

#[test]
fn a_budget_that_allows_other_numbers_is_told_by_when_it_allows_none() {
    let web = workload("Deployment", "web", 3, "");
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 2, \
                  selector: {matchLabels: {app: web}}}}";
    let timeline = "{at: 1m, kubectl: scale deploy web --replicas=8}, {at: 3m, kubectl: scale deploy web --replicas=2}, {at: 5m, \
                    kubectl: scale deploy web --replicas=3}";
    let dir = played("", timeline, &[&web, budget]);
    let run = dir.path().join("run");
    let story = tell(&run, "poddisruptionbudget/web").expect("a story");
    let said: Vec<String> = story.steps.iter().map(|step| format!("{:?}", step.says)).collect();
    let turns = ["Allows 1 disruption\"", "Allows no disruption\"", "Allows 1 disruption\""];
    assert!(said.len() == 3 && said.iter().zip(turns).all(|(said, turn)| said.contains(turn)), "{said:#?}");
    let table = fs::read_to_string(run.join("causes.csv")).expect("the causes");
    let row =
        |line: &'_ str| line.split_once("poddisruptionbudget/default/web allows ")?.1.split(',').next()?.parse().ok();
    let allowed: Vec<u32> = table.lines().filter_map(row).collect();
    let changes = allowed.windows(2).filter(|pair| pair[0] != pair[1] && !pair.contains(&0)).count();
    let told =
        format!("{} from one number above 0 to another", kubesquall::units::counted(changes, "change", "changes"));
    let facts = format!("{:?}", story.facts);
    assert!(changes > 2 && facts.contains(&told), "{told}: {facts}");
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

#[test]
fn a_workload_tells_who_waited_for_a_node_and_what_gave_it_one() {
    let web = workload("Deployment", "web", 1, "");
    let timeline = "{at: 1m, kubectl: cordon n-0 n-1 n-2}, {at: 2m, kubectl: scale deploy web --replicas=3}, {at: 5m, kubectl: \
                    uncordon n-1}";
    let dir = played("", timeline, &[&web]);
    let run = dir.path().join("run");
    let story = tell(&run, "deployment/web").expect("a story");
    let said: Vec<String> = story.facts.iter().map(|fact| format!("{fact:?}")).collect();
    let has = |texts: &[&str]| said.iter().any(|fact| texts.iter().all(|text| fact.contains(text)));
    assert!(has(&["2 pods had to wait for a node, the longest first: "]), "{said:#?}");
    assert!(has(&["Pending without a node from ", "3 node(s) were unschedulable"]), "{said:#?}");
    assert!(
        has(&["It got a node because at ", "node/n-1", "Rid of node.kubernetes.io/unschedulable:NoSchedule"]),
        "{said:#?}"
    );
    let asks = story.steps.iter().find(|step| format!("{:?}", step.says).contains("it asks for 3 replicas"));
    assert_eq!(asks.and_then(|step| step.origin), Some(Origin::Scenario), "{:#?}", story.steps);
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

#[test]
fn of_a_workload_that_was_short_often_the_longest_shortage_is_among_those_told() {
    let web = workload("Deployment", "web", 1, "");
    let short: Vec<String> =
        (1..=13).map(|minute| format!("{{at: {minute}m, kubectl: delete pod -l app=web}}")).collect();
    let last = ", {at: 15m, kubectl: cordon n-0 n-1 n-2}, {at: 15m10s, kubectl: delete pod -l app=web}, {at: 18m, kubectl: uncordon n-0}";
    let dir = played("", &(short.join(", ") + last), &[&web]);
    let run = dir.path().join("run");
    let story = tell(&run, "deployment/web").expect("a story");
    let said: Vec<String> = story.facts.iter().map(|fact| format!("{fact:?}")).collect();
    assert!(said[0].contains("; short 14 times, for "), "{said:#?}");
    assert_eq!(said.iter().filter(|fact| fact.contains("Short of up to 1")).count(), 12, "{said:#?}");
    assert!(
        said.iter().any(|fact| fact.contains("and 2 times more, none of them longer, in workloads.csv")),
        "{said:#?}"
    );
    let (from, to) = story.worst.expect("the longest shortage");
    assert!(from.as_secs_f64() > 910.0 && to.as_secs_f64() > 1080.0, "{from} to {to}");
}

/// The rows of the table of terms in the page's guide.
fn documented_terms() -> Vec<(String, String, String)> {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reading-a-report.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    let rows =
        guide.lines().skip_while(|line| !line.starts_with("| term |")).skip(2).take_while(|line| line.starts_with('|'));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    rows.map(cells).map(|cells| (cells[0].clone(), cells[1].clone(), cells[2].clone())).collect()
}

#[test]
fn the_guide_has_the_terms_of_the_shipped_outage() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/zone-outage.yaml");
    let scenario = Scenario::load(path).unwrap_or_else(|error| panic!("{error}"));
    let dir = tempfile::tempdir().expect("a temporary directory");
    let run = dir.path().join("run");
    scenario.play(42).write_with(&run, &WriteOptions::new().charts(false)).unwrap_or_else(|error| panic!("{error}"));
    let story = tell(&run, "pod/default/ts-user-mongo-56c7467c45-t4khx").expect("the pod of the guide");
    let sum = &story.sums[0];
    let seconds = |takes: kubesquall::units::SimDuration| match takes.as_nanos() {
        0 => String::new(),
        nanos => format!("{} s", kubesquall::units::seconds_text(i128::from(nanos))),
    };
    // As the page writes moments.
    let clock = |at: kubesquall::units::SimTime| {
        let tenths = (at.as_secs_f64() * 10.0).round() as u64;
        format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
    };
    let mut last = kubesquall::units::SimTime::ZERO;
    let mut told: Vec<(String, String, String)> = Vec::new();
    for term in &sum.terms {
        last = term.until.unwrap_or(last + term.takes);
        told.push((term.name.to_owned(), seconds(term.takes), clock(last)));
    }
    told.push(("together".to_owned(), seconds(sum.together), String::new()));
    assert_eq!(documented_terms(), told);
}

#[test]
fn a_node_that_is_deleted_is_not_unknown_ever_after_nor_for_the_sake_of_another() {
    let web = workload("Deployment", "web", 3, "");
    let timeline = "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0, n-1]}}}";
    let dir = played("", timeline, &[&web]);
    let run = dir.path().join("run");
    for (node, other) in [("n-0", "node/n-1"), ("n-1", "node/n-0")] {
        let story = tell(&run, &format!("node/{node}")).expect("a story");
        let said = format!("{:?}", story.facts);
        assert!(said.contains(" until its object was deleted at "), "{said}");
        assert!(said.contains("Not there from ") && !said.contains("Not Ready (Unknown) to the end"), "{said}");
        let causes: Vec<String> = story.steps.iter().map(|step| format!("{:?}", step.because)).collect();
        assert!(!causes.concat().contains(other), "{causes:#?}");
        assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
    }
}

#[test]
fn a_workload_whose_containers_crash_says_what_they_wait_for() {
    let web = workload("Deployment", "web", 1, "").replace(
        "labels: {app: web}}, spec",
        "labels: {app: web}, annotations: {kubesquall.sim/run-for: 10s, kubesquall.sim/exit-code: '1'}}, spec",
    );
    let scaled = web.replace("replicas: 1", "replicas: 0");
    let dir = played("", "{at: 1m, kubectl: scale deploy web --replicas=1}", &[&scaled]);
    let run = dir.path().join("run");
    let story = tell(&run, "deployment/web").expect("a story");
    let said = format!("{:?}", story.facts);
    assert!(said.contains("Containers of 1 pod waited, CrashLoopBackOff (c)"), "{said}");
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

#[test]
fn a_workload_that_a_quota_refuses_its_pods_is_told_why() {
    let late = workload("Deployment", "late", 2, "");
    let quota =
        "{apiVersion: v1, kind: ResourceQuota, metadata: {name: few, namespace: default}, spec: {hard: {pods: '1'}}}";
    let dir = played("", "{at: 1m, kubectl: scale deploy late --replicas=3}", &[&late, quota]);
    let run = dir.path().join("run");
    let story = tell(&run, "deployment/late").expect("a story");
    let said = format!("{:?}{:?}", story.facts, story.steps);
    assert!(said.contains("exceeded quota: few") && said.contains("pods=1"), "{said}");
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

#[test]
fn a_job_that_had_failed_when_the_run_began_has_its_fate() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: default}, spec: {backoffLimit: 0, template: {metadata: \
               {annotations: {kubesquall.sim/run-for: 60s, kubesquall.sim/exit-code: '1'}}, spec: {restartPolicy: Never, containers: \
               [{name: c, image: i}]}}}}";
    let late = job.replace("name: j,", "name: late,").replace("backoffLimit: 0", "backoffLimit: 0, suspend: true");
    let dir = played("", &patched("1m", "job late", r#"{"spec":{"suspend":false}}"#), &[job, &late]);
    let run = dir.path().join("run");
    let said = |object: &str| {
        let story = tell(&run, object).expect("a story");
        assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
        format!("{:?}", story.facts)
    };
    let early = said("job/j");
    assert!(
        early.contains("0 succeeded, 1 failed, 0 go on") && early.contains(" had failed when the run began"),
        "{early}"
    );
    assert!(!early.contains("Short of"), "{early}");
    let late = said("job/late");
    assert!(late.contains("It failed: BackoffLimitExceeded, told at") && late.contains(" failed at "), "{late}");
}

/// A line that changes an object.
fn patched(at: &str, object: &str, patch: &str) -> String {
    let line = serde_json::to_string(&format!("patch {object} -p '{patch}'")).expect("text");
    format!("{{at: {at}, kubectl: {line}}}")
}

/// A pod whose containers end by themselves after a minute, wherever they run.
fn crashing(more: &str) -> String {
    workload("Deployment", "crashing", 1, "").replace(
        "labels: {app: crashing}}, spec",
        &format!("labels: {{app: crashing}}, annotations: {{{more}}}}}, spec"),
    )
}

#[test]
fn a_crash_loop_is_told_by_the_last_end_of_the_container_and_not_by_what_moved_the_pod() {
    let exits = crashing("kubesquall.sim/run-for: 5s, kubesquall.sim/exit-code: '3'");
    let hungry = crashing("kubesquall.sim/usage: '{memory: 200Mi}'")
        .replace("requests: {cpu: 100m}", "requests: {cpu: 100m}, limits: {memory: 100Mi}");
    for (given, how) in [(exits, "Error, exit code 3"), (hungry, "OOMKilled, exit code 137")] {
        let dir = played("", "{at: 2m, kubectl: 'drain n-0 n-1 --ignore-daemonsets'}", &[&given]);
        let run = dir.path().join("run");
        let times = times(&run);
        let mut told = 0;
        for pod in objects(&run, |_, _| true) {
            let story = tell(&run, &pod).expect("a story");
            let mut looped = 0;
            let mut ended = None;
            for step in &story.steps {
                let says = format!("{:?}", step.says);
                if says.contains(how) {
                    ended = Some(step.at);
                } else if says.contains("has ended too often") {
                    looped += 1;
                    // It stands right behind the end that it follows from.
                    assert!(step.because.is_empty(), "{pod}: {step:#?}");
                    let ago = ended.map(|ended| step.at.saturating_since(ended).as_millis());
                    assert!(ago.is_some_and(|ago| ago < 2000), "{pod}: {step:#?} after {ended:?}");
                }
            }
            assert!(looped > 0 || story.steps.len() < 8, "{pod}: {:#?}", story.steps);
            assert_eq!(wrong(&story, &times), Vec::<String>::new());
            told += looped;
        }
        // The pod that the drain moved, and the one that came for it.
        assert!(told > 2, "no story tells of the loop: {told}");
        let summary = fs::read_to_string(run.join("summary.json")).expect("the summary");
        assert!(summary.contains("held up by CrashLoopBackOff (c)"), "{summary}");
        assert!(!summary.contains("because of kubectl drain"), "{summary}");
    }
}

#[test]
fn a_new_template_is_to_blame_for_containers_that_end() {
    let patch = r#"{"spec":{"template":{"metadata":{"annotations":{"kubesquall.sim/run-for":"1s","kubesquall.sim/exit-code":"1"}}}}}"#;
    let line = &patched("2m", "deploy crashing", patch);
    let dir = played("", line, &[&workload("Deployment", "crashing", 2, "")]);
    let summary = fs::read_to_string(dir.path().join("run/summary.json")).expect("the summary");
    assert!(summary.contains("held up by CrashLoopBackOff (c), because of kubectl patch deploy crashing"), "{summary}");
}

#[test]
fn who_came_for_whom_is_told_as_disruptions_has_it() {
    let (web, agent) = (workload("Deployment", "web", 6, ""), workload("DaemonSet", "agent", 0, ""));
    let gone =
        |at: &str, node: &str| format!("{{at: {at}, fault: {{kind: InstanceGone, nodes: {{names: [{node}]}}}}}}");
    let dir = played("", &format!("{}, {}", gone("1m", "n-0"), gone("2m", "n-1")), &[&web, &agent]);
    let run = dir.path().join("run");
    let mut table = csv::Reader::from_path(run.join("disruptions.csv")).expect("the table");
    let header = table.headers().expect("a header").clone();
    let at = |name: &str| header.iter().position(|of| of == name).expect("a column");
    let mut outcomes = BTreeSet::new();
    for row in table.records().map(|row| row.expect("a row")) {
        let story = tell(&run, &format!("pod/default/{}", &row[at("name")])).expect("a story");
        let facts = format!("{:?}", story.facts);
        let (outcome, next) = (&row[at("outcome")], &row[at("replacement")]);
        outcomes.insert(outcome.to_owned());
        if next.is_empty() {
            assert!(facts.contains("Nothing is to come in its place: it belonged to its node"), "{facts}");
            assert!(story.sums.is_empty(), "{:#?}", story.sums);
        } else {
            let said = format!("It was replaced by \"), Object(\"pod/default/{next}\")");
            assert!(facts.contains(&said), "{said}: {facts}");
        }
    }
    assert!(outcomes.contains("node is gone") && outcomes.contains("replaced"), "{outcomes:?}");
    let story = tell(&run, "daemonset/agent").expect("a story");
    assert!(!format!("{story:?}").contains("nothing came in its place"), "{story:#?}");
}

#[test]
fn what_gets_a_pod_going_is_told() {
    let late = workload("Deployment", "late", 1, "nodeSelector: {disk: ssd}, ");
    let dir = played("", "{at: 3m, kubectl: label node n-1 disk=ssd}", &[&late]);
    let run = dir.path().join("run");
    let pod = objects(&run, |_, _| true).pop().expect("a pod");
    let story = tell(&run, &pod).expect("a story");
    let said = format!("{:?}", story.facts);
    assert!(said.contains("It got a node because at") && said.contains("node/n-1"), "{said}");
    assert!(!said.contains("What would help"), "{said}");
    assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
}

#[test]
fn a_trap_is_told_with_the_object_that_it_names() {
    let db = workload("StatefulSet", "db", 3, "");
    let dir = played("", "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}}}", &[&db]);
    let run = dir.path().join("run");
    for object in ["statefulset/db", "node/n-0"] {
        let story = tell(&run, object).expect("a story");
        let said = format!("{:?}", story.facts);
        assert!(said.contains("A known trap, stateful-pod-on-dead-node"), "{object}: {said}");
        assert_eq!(wrong(&story, &times(&run)), Vec::<String>::new());
    }
}

#[test]
fn a_recovery_is_told_by_what_brought_it() {
    let agent = workload("DaemonSet", "agent", 0, "");
    let dir = played("", "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 5m}}", &[&agent]);
    let story = tell(&dir.path().join("run"), "daemonset/agent").expect("a story");
    let back =
        story.steps.iter().find(|step| format!("{:?}", step.says).contains("not Ready, and back")).expect("a return");
    let said = format!("{:?}", back.says);
    assert!(said.contains(", after the end of Crash of n-0 at ") && !said.contains("by itself"), "{back:#?}");
    assert!(format!("{:?}", back.because[0].says).contains("Crash of n-0 begins"), "{back:#?}");
}

#[test]
fn a_service_has_fewer_endpoints_for_a_pod_that_left_and_more_for_one_that_came() {
    let web = workload("Deployment", "web", 8, "");
    let service = "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}, ports: [{port: \
                   80}]}}";
    let timeline = "{at: 1m, kubectl: drain n-0}, {at: 3m, kubectl: uncordon n-0}, {at: 5m, kubectl: drain n-1}";
    let dir = played("", timeline, &[&web, service]);
    let table = fs::read_to_string(dir.path().join("run").join("causes.csv")).expect("the causes");
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    let (mut ready, mut falls, mut rises) = (8, 0, 0);
    for row in &rows {
        let Some(count) = row[2].strip_prefix("service/default/web has ") else { continue };
        let count: i32 = count.strip_suffix(" ready endpoints").expect("a count").parse().expect("a number");
        let cause = rows.iter().find(|of| of[0] == row[3]).expect("a cause");
        if count < ready {
            falls += 1;
            assert!(cause[2].contains(" marked for deletion ("), "{row:?} follows from {cause:?}");
        } else if count > ready {
            rises += 1;
            assert!(
                cause[2].ends_with(" is Running") || cause[2].ends_with(" Ready=True"),
                "{row:?} follows from {cause:?}"
            );
        }
        ready = count;
    }
    assert!(falls >= 3 && rises >= 3 && ready == 8, "{falls} {rises} {ready}");
}
