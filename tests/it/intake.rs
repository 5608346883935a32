//! What goes in: every verb reads the same things the same way, says what it could not read, and invents no second pods.

use std::fs;
use std::path::Path;

use kubesquall::scenario::{self, Overrides};
use kubesquall::simulation::Prepared;
use kubesquall::state::PodPhase;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::binary::kubesquall;

fn directory(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    dir
}

const SCENARIO: &str = "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {name: s}\n\
                        spec: {duration: 1m, cluster: {manifests: [dump]}}\n";
const NODE: &str = "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '4', memory: 8Gi, \
                    pods: '20'}}}\n";
const PENDING: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}\n";

#[test]
fn standard_input_stands_for_a_file() {
    let state = format!("---\n{NODE}---\n{PENDING}");
    let dir = directory(&[("dump/state.yaml", &state), ("s.yaml", SCENARIO)]);
    let of_file = kubesquall(dir.path(), "schedule -f dump/state.yaml", "");
    assert!(of_file.stdout.starts_with("default/p -> n1"), "{}{}", of_file.stdout, of_file.stderr);
    for arguments in ["schedule -f -", "schedule -f dump", "schedule -f dump/*.yaml"] {
        let said = kubesquall(dir.path(), arguments, state.as_str());
        assert_eq!((said.status, &said.stdout), (0, &of_file.stdout), "{arguments}: {}", said.stderr);
    }
    let said = kubesquall(dir.path(), "check -", state.as_str());
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(said.stdout.starts_with("-: manifests: 2 objects"), "{}", said.stdout);
    let said = kubesquall(dir.path(), "run - --no-charts --out r", SCENARIO);
    assert_eq!(said.status, 0, "{}", said.stderr);
    let summary = |out: &str| fs::read_to_string(dir.path().join(out).join("summary.json")).expect("a summary");
    assert_eq!(kubesquall(dir.path(), "run s.yaml --no-charts --out t", "").status, 0);
    assert_eq!(summary("r"), summary("t"));
}

#[test]
fn a_directory_means_the_one_document_in_it() {
    let dir = directory(&[("x/s.yaml", SCENARIO), ("x/dump/n.yaml", NODE), ("y/n.yaml", NODE)]);
    let run = |arguments: &str| kubesquall(dir.path(), arguments, "");
    assert_eq!(run("run x --no-charts --out r").status, 0);
    let said = run("check x");
    assert!(said.stdout.starts_with("x/s.yaml: scenario s"), "{}{}", said.stdout, said.stderr);
    let said = run("run y --no-charts");
    assert_eq!(said.status, 2);
    assert!(
        said.stderr.contains("there is no Scenario in `y`")
            && said.stderr.contains("`kubesquall init y` writes a scenario"),
        "{}",
        said.stderr
    );
    fs::write(dir.path().join("x/t.yaml"), SCENARIO.replace("[dump]", "[absent]")).expect("a file");
    let said = run("run x --no-charts");
    assert!(said.stderr.contains("there are 2 documents of kind Scenario in `x`"), "{}", said.stderr);
    let said = run("check x");
    assert_eq!(said.status, 2, "what `run` refuses, `check` refuses");
    assert!(said.stderr.contains("there is no file or directory `absent`"), "{}", said.stderr);
}

/// The kinds and names of what is read of a text.
fn objects(name: &str, text: &str) -> Vec<String> {
    let loaded = kubesquall::model::manifest::load_text(name, text);
    let errors: Vec<&String> = loaded.diagnostics.iter().map(|diagnostic| &diagnostic.message).collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
    loaded.objects.iter().map(|object| object.object.label()).collect()
}

#[test]
fn objects_are_found_however_they_are_wrapped() {
    #[track_caller]
    fn check(name: &str, text: &str, expected: &[&str]) {
        assert_eq!(objects(name, text), expected, "{name}: {text}");
    }
    let bare = r#"{"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}"#;
    check("pods/shop.json", &format!("[{bare}]"), &["Pod default/p"]);
    check("x.json", bare, &["Pod default/p"]);
    check("x.json", &format!(r#"{{"items": [{bare}]}}"#), &["Pod default/p"]);
    check("x.json", &format!(r#"{{"kind": "PodList", "apiVersion": "v1", "items": [{bare}]}}"#), &["Pod default/p"]);
    check("x.json", &format!(r#"{{"kind": "List", "apiVersion": "v1", "items": [{bare}]}}"#), &["Pod default/p"]);
    check(
        "x.yaml",
        "kind: PodList\nitems:\n- metadata: {name: p}\n  spec: {containers: [{name: c, image: i}]}\n",
        &["Pod default/p"],
    );
    check(
        "x.yaml",
        "- {apiVersion: v1, kind: Node, metadata: {name: a}}\n- {kind: Node, metadata: {name: b}}\n",
        &["Node a", "Node b"],
    );
    let set = r#"{"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "updateStrategy": {},
                  "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}"#;
    check("ns/a/DaemonSets.json", &format!("[{set}]"), &["DaemonSet default/d"]);
    check("x.json", &format!(r#"{{"kind": "DaemonSetList", "items": [{set}]}}"#), &["DaemonSet default/d"]);
    // YAML in flow style begins like JSON.
    check("x.yaml", "{apiVersion: v1, kind: Node, metadata: {name: n9}}\n", &["Node n9"]);
    check(
        "x.yaml",
        "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Node, metadata: {name: n9}}]}",
        &["Node n9"],
    );
    check("x.yaml", "[{apiVersion: v1, kind: Node, metadata: {name: n9}}]\n", &["Node n9"]);
    check(
        "x.yaml",
        "{apiVersion: v1, kind: Node, metadata: {name: n9}}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: m9}\n",
        &["Node n9", "Node m9"],
    );
    for empty in ["kind: List\nitems: []\n", "kind: PodList\nitems: null\n", "kind: List\nitems:\n"] {
        check("x.yaml", &format!("apiVersion: v1\n{empty}"), &[]);
    }
    for empty in
        [r#"{"kind": "List", "items": []}"#, r#"{"kind": "PodList", "items": null}"#, r#"{"items": null}"#, "[]"]
    {
        check("x.json", empty, &[]);
    }
    // A kind of somebody's own whose name ends like a list's.
    let loaded = kubesquall::model::manifest::load_text(
        "x.yaml",
        "apiVersion: a.b/v1\nkind: AllowList\nmetadata: {name: x}\nspec: {}\n",
    );
    assert_eq!(loaded.not_modelled[0].object, "AllowList x");
}

#[test]
fn an_empty_list_is_nothing_to_complain_about() {
    let dir = directory(&[
        ("dump/pods.json", r#"{"kind": "List", "apiVersion": "v1", "items": []}"#),
        ("dump/nodes.yaml", NODE),
        ("s.yaml", SCENARIO),
        ("empty.yaml", ""),
    ]);
    let said = kubesquall(dir.path(), "check dump/pods.json", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("there is no Kubernetes object in `dump/pods.json`, but an empty list"),
        "{}",
        said.stderr
    );
    for arguments in
        ["check dump/pods.json dump/nodes.yaml", "check dump", "run s.yaml --no-charts --out r", "schedule -f dump"]
    {
        let said = kubesquall(dir.path(), arguments, "");
        assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{arguments}");
    }
    assert_eq!(kubesquall(dir.path(), "check empty.yaml", "").status, 2, "a file with nothing in it is none");
}

#[test]
fn what_is_for_people_is_refused_with_the_command_that_is_right() {
    let dir = directory(&[
        ("table.yaml", "NAME   READY   STATUS    RESTARTS   AGE\nweb    1/1     Running   0          3d\n"),
        ("table.json", r#"{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}"#),
    ]);
    for file in ["table.yaml", "table.json"] {
        let said = kubesquall(dir.path(), &format!("check {file}"), "");
        assert_eq!(said.status, 2);
        assert!(
            said.stderr.contains("kubectl get nodes,namespaces,pods,services,deployments,replicasets"),
            "{}",
            said.stderr
        );
    }
}

#[test]
fn a_cluster_of_which_much_is_missing_is_refused() {
    let broken = format!("{NODE}---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec: {{containers: 7}}\n");
    let dir = directory(&[("dump/a.yaml", &broken), ("s.yaml", SCENARIO)]);
    for verb in ["run s.yaml --no-charts --out r", "schedule -f dump", "check s.yaml", "check dump"] {
        let said = kubesquall(dir.path(), verb, "");
        assert_eq!(said.status, 2, "{verb}");
        assert!(said.stderr.contains("--allow-partial"), "{verb}: {}", said.stderr);
        let said = kubesquall(dir.path(), &format!("{verb} --allow-partial"), "");
        assert_eq!(said.status, 0, "{verb}: {}", said.stderr);
    }
    let said = kubesquall(dir.path(), "run s.yaml --no-charts --out r --allow-partial", "");
    assert!(said.stdout.starts_with("Not read: 1 Pod (it cannot be read), first dump/a.yaml:3"), "{}", said.stdout);
    let summary = fs::read_to_string(dir.path().join("r/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_str(&summary).expect("JSON");
    let expected = json!({"files": 1, "objects": {"Node": 1}, "skipped": [
        {"kind": "Pod", "reason": "it cannot be read", "count": 1, "first": "dump/a.yaml:3"},
    ]});
    assert_eq!(summary["input"], expected);
    fs::write(dir.path().join("dump/a.yaml"), PENDING).expect("a file");
    for verb in ["run s.yaml --no-charts --out r", "schedule -f dump"] {
        let said = kubesquall(dir.path(), verb, "");
        assert_eq!(said.status, 2, "{verb}: nothing could ever run");
        assert!(said.stderr.contains("the cluster has no node"), "{}", said.stderr);
        assert!(!said.stderr.contains("apiVersion"), "no document of ours is shown: {}", said.stderr);
    }
    assert_eq!(kubesquall(dir.path(), "check dump", "").status, 0, "nodes may come from elsewhere");
}

/// A pod as a dump has it.
fn pod(name: &str, owner: (&str, &str, &str), node: &str, labels: Value, spec: Value) -> Value {
    let (api_version, kind, owner) = owner;
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": labels, "uid": format!("uid-{name}"), "ownerReferences": [
            {"apiVersion": api_version, "kind": kind, "name": owner, "uid": format!("uid-{owner}"), "controller": true},
        ]},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn nodes() -> Vec<Value> {
    let node = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "20"}, "conditions": [{"type": "Ready", "status": "True"}]}})
    };
    vec![node("n1"), node("n2")]
}

fn deployment(replicas: u32, image: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "uid-of-web"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": image, "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}}}]}}}})
}

/// The settled cluster's living pods by name, and the workloads that were made anew.
fn settled(items: Vec<Value>) -> (Vec<String>, Vec<String>) {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let dir = directory(&[("dump/all.json", &list)]);
    let scenario = scenario::load_text("s.yaml", SCENARIO, dir.path(), &Overrides::none()).expect("a scenario");
    let prepared = Prepared::new(&scenario);
    let live = prepared.store().pods().filter(|(_, pod)| pod.phase == PodPhase::Running && pod.deletion.is_none());
    let mut names: Vec<String> = live.map(|(_, pod)| pod.name.to_string()).collect();
    names.sort();
    let made = scenario.assumed.iter().find(|assumption| assumption.name == "owners");
    let lock = scenario::lock_file(&scenario);
    let locked = scenario::load_text("lock.yaml", &lock, dir.path(), &Overrides::none()).expect("its lock file");
    assert_eq!(scenario::lock_file(&locked), lock);
    (names, made.map(|assumption| assumption.objects.clone()).unwrap_or_default())
}

#[test]
fn pods_without_their_replica_sets_are_not_doubled() {
    let hashed = json!({"app": "web", "pod-template-hash": "abc"});
    let owner = ("apps/v1", "ReplicaSet", "web-abc");
    let pods = |mut items: Vec<Value>| {
        items.extend(nodes());
        items.push(pod("web-abc-1", owner, "n1", hashed.clone(), json!({})));
        items.push(pod("web-abc-2", owner, "n2", hashed.clone(), json!({})));
        items
    };
    let expected = vec!["web-abc-1".to_owned(), "web-abc-2".to_owned()];
    let (names, made) = settled(pods(vec![deployment(2, "i:1")]));
    assert_eq!((names, made), (expected.clone(), vec!["ReplicaSet shop/web-abc".to_owned()]));
    // Not even the Deployment.
    let (names, made) = settled(pods(Vec::new()));
    assert_eq!(names, expected);
    assert_eq!(made, ["Deployment shop/web"], "its ReplicaSet is a part of it");
    // The ReplicaSet, but not its Deployment.
    let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web-abc", "namespace": "shop", "uid": "uid-web-abc", "labels": hashed.clone(),
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": true}]},
        "spec": {"replicas": 2, "selector": {"matchLabels": hashed.clone()}, "template": {"metadata": {"labels": hashed.clone()},
            "spec": deployment(2, "i:1")["spec"]["template"]["spec"].clone()}}});
    let (names, made) = settled(pods(vec![set]));
    assert_eq!((names, made), (expected, vec!["Deployment shop/web".to_owned()]));
}

#[test]
fn pods_whose_replica_set_has_their_number_in_safe_letters_stay_in_place() {
    let hashed = json!({"app": "web", "pod-template-hash": "2994469280"});
    let owner = ("extensions/v1beta1", "ReplicaSet", "web-6ff88bf6d4");
    let mut items = nodes();
    items.push(deployment(1, "i:1"));
    items.push(pod("web-6ff88bf6d4-t2h9k", owner, "n2", hashed, json!({})));
    let (names, made) = settled(items);
    assert_eq!(names, ["web-6ff88bf6d4-t2h9k"]);
    assert_eq!(made, ["ReplicaSet shop/web-6ff88bf6d4"]);
}

#[test]
fn a_decision_is_the_same_for_a_dump_and_for_the_cluster_imported_from_it() {
    let hashed = json!({"app": "web", "pod-template-hash": "abc"});
    let owner = ("apps/v1", "ReplicaSet", "web-abc");
    let mut items = nodes();
    items.push(pod("web-abc-1", owner, "n1", hashed.clone(), json!({})));
    items.push(pod("web-abc-2", owner, "n1", hashed.clone(), json!({})));
    let mut pending = pod("web-abc-3", owner, "n1", hashed, json!({}));
    pending["spec"].as_object_mut().expect("a spec").remove("nodeName");
    pending["status"] = json!({"phase": "Pending"});
    items.push(pending);
    let list = json!({"kind": "List", "items": items}).to_string();
    let dir = directory(&[("dump/all.json", &list)]);
    let imported = kubesquall(dir.path(), "import cluster dump -o f.yaml", "");
    assert_eq!(imported.status, 0, "{}", imported.stderr);
    let [of_dump, of_import] =
        ["dump", "f.yaml"].map(|state| kubesquall(dir.path(), &format!("schedule -f {state}"), ""));
    // Pods of a workload spread by default, which asks for their workload.
    assert!(of_dump.stdout.contains("PodTopologySpread"), "{}", of_dump.stdout);
    assert_eq!(of_dump.stdout, of_import.stdout);
}

#[test]
fn a_rollout_in_a_dump_without_replica_sets_goes_on() {
    let pod_of = |name: &str, hash: &str, image: &str| {
        let spec = json!({"containers": [{"name": "c", "image": image}]});
        let (labels, set) = (json!({"app": "web", "pod-template-hash": hash}), format!("web-{hash}"));
        pod(name, ("apps/v1", "ReplicaSet", &set), "n1", labels, spec)
    };
    let mut items = nodes();
    items.extend([deployment(2, "i:2"), pod_of("web-a-1", "a", "i:1"), pod_of("web-b-1", "b", "i:2")]);
    let (names, _) = settled(items);
    // The pod of the old image is replaced by one of the set that has the present template.
    assert!(names.len() == 2 && names.iter().all(|name| name.starts_with("web-b-")), "{names:?}");
}

#[test]
fn other_owners_are_made_anew_from_their_pods() {
    let mut items = nodes();
    for (number, node) in ["n1", "n2"].into_iter().enumerate() {
        let labels = json!({"app": "agent", "controller-revision-hash": "x", "pod-template-generation": "1"});
        let affinity = json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]}}}});
        items.push(pod(&format!("agent-{number}"), ("apps/v1", "DaemonSet", "agent"), node, labels, affinity));
        let labels = json!({"app": "db", "controller-revision-hash": "db-7", "statefulset.kubernetes.io/pod-name": format!("db-{number}")});
        items.push(pod(
            &format!("db-{number}"),
            ("apps/v1", "StatefulSet", "db"),
            node,
            labels,
            json!({"hostname": format!("db-{number}")}),
        ));
    }
    let labels = json!({"job-name": "j", "controller-uid": "uid-j"});
    items.push(pod("j-1", ("batch/v1", "Job", "j"), "n1", labels, json!({"restartPolicy": "Never"})));
    items.push(pod("spark", ("sparkoperator.k8s.io/v1", "SparkApplication", "s"), "n1", json!({}), json!({})));
    let (names, made) = settled(items);
    assert_eq!(names, ["agent-0", "agent-1", "db-0", "db-1", "j-1", "spark"]);
    assert_eq!(made, ["DaemonSet shop/agent", "StatefulSet shop/db", "Job shop/j"]);
}

#[test]
fn of_owners_of_one_name_the_last_counts_and_nothing_is_doubled() {
    let mut items = nodes();
    let labels = json!({"app": "web", "pod-template-hash": "abc"});
    for (name, uid, day) in [("old-1", "uid-1", 1), ("old-2", "uid-1", 1), ("new-1", "uid-2", 7), ("new-2", "uid-2", 7)]
    {
        let mut pod = pod(name, ("apps/v1", "ReplicaSet", "web-abc"), "n1", labels.clone(), json!({}));
        pod["metadata"]["ownerReferences"][0]["uid"] = json!(uid);
        pod["metadata"]["creationTimestamp"] = json!(format!("2026-01-0{day}T00:00:00Z"));
        items.push(pod);
    }
    let (names, made) = settled(items);
    assert_eq!(names, ["new-1", "new-2", "old-1", "old-2"]);
    assert_eq!(made, ["Deployment shop/web"], "its ReplicaSet is a part of it");
}

#[test]
fn a_daemon_set_stays_off_nodes_that_its_pods_were_not_on() {
    let mut items = nodes();
    let labels = json!({"app": "agent", "controller-revision-hash": "x"});
    items.push(pod("agent-0", ("apps/v1", "DaemonSet", "agent"), "n1", labels, json!({})));
    assert_eq!(settled(items).0, ["agent-0"]);
}

#[test]
fn pods_of_missing_owners_are_replaced_when_they_are_lost() {
    let mut items = nodes();
    let labels = json!({"app": "web", "pod-template-hash": "abc"});
    items.push(pod(
        "web-abc-1",
        ("apps/v1", "ReplicaSet", "web-abc"),
        "n1",
        labels,
        json!({"priorityClassName": "gold", "priority": 7}),
    ));
    let list = json!({"kind": "List", "items": items}).to_string();
    let text = SCENARIO.replace("1m,", "10m, timeline: [{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n1]}}}],");
    let dir = directory(&[("dump/all.json", &list), ("s.yaml", &text)]);
    let said = kubesquall(dir.path(), "run s.yaml --no-charts --out r", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let pods = fs::read_to_string(dir.path().join("r/pods.csv")).expect("pods");
    let new: Vec<&str> = pods.lines().filter(|line| line.contains("ReplicaSet,web-abc,false,7,")).collect();
    assert!(new.len() == 1 && new[0].contains(",n2,"), "{pods}");
    let workloads = fs::read_to_string(dir.path().join("r/workloads.csv")).expect("workloads");
    assert!(workloads.contains("shop,Deployment,web"), "{workloads}");
}

/// Two nodes of which the second is not Ready, a pod on each, and one that waits.
fn with_a_sick_node() -> String {
    let mut items = nodes();
    items[1]["status"]["conditions"][0]["status"] = json!("False");
    let labels = json!({"app": "web", "pod-template-hash": "abc"});
    let owner = ("apps/v1", "ReplicaSet", "web-abc");
    items.push(pod("web-abc-1", owner, "n1", labels.clone(), json!({})));
    let mut pending = pod("web-abc-2", owner, "n1", labels, json!({}));
    pending["spec"].as_object_mut().expect("a spec").remove("nodeName");
    pending["status"] = json!({"phase": "Pending"});
    items.push(pending);
    json!({"kind": "List", "items": items}).to_string()
}

#[test]
fn a_node_that_is_not_ready_in_the_input_is_that_for_every_command() {
    let text = SCENARIO.replace("1m,", "10m, timeline: [{at: 1m, fault: {kind: Reboot, nodes: {names: [n1]}}}],");
    let dir = directory(&[("dump/all.json", &with_a_sick_node()), ("s.yaml", &text)]);
    let said = kubesquall(dir.path(), "schedule -f dump", "");
    assert!(said.stdout.contains("shop/web-abc-2 -> n1"), "{}", said.stdout);
    assert!(
        said.stderr.contains("n2 is taken to have the taint node.kubernetes.io/not-ready:NoSchedule"),
        "{}",
        said.stderr
    );
    let said = kubesquall(dir.path(), "run s.yaml --no-charts --out r", "");
    assert!(
        said.stdout.contains("1 of 2 nodes is not Ready at the end, and was not at t=0 either: node/n2"),
        "{}",
        said.stdout
    );
    let said = kubesquall(dir.path(), "init dump -o first.yaml", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let first = fs::read_to_string(dir.path().join("first.yaml")).expect("a scenario");
    assert!(first.contains("Crash, nodes: {names: [n1]}") && !first.contains("[n2]"), "{first}");
    let said = kubesquall(dir.path(), "forecast dump --years 2 --out f -q", "");
    assert!(said.status < 2, "{}", said.stderr);
    let forecast = fs::read_to_string(dir.path().join("f/forecast.json")).expect("a forecast");
    let forecast: Value = serde_json::from_str(&forecast).expect("JSON");
    assert_eq!(forecast["stands_on"]["down"], json!(["node/n2"]));
}

#[test]
fn schedule_says_when_there_are_only_workloads() {
    let dir = directory(&[("n.yaml", NODE), ("d.json", &deployment(1, "i:1").to_string())]);
    let said = kubesquall(dir.path(), "schedule -f n.yaml -f d.json", "");
    assert!(
        said.stdout.contains("There is no pod in this state") && said.stdout.contains("Deployment shop/web"),
        "{}",
        said.stdout
    );
}

#[test]
fn an_object_seen_twice_counts_as_it_was_seen_last() {
    let pod = |version: u32, node: &str, uid: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": uid, "resourceVersion": version.to_string()},
            "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}})
    };
    let load = |second: Value| {
        let list = json!({"kind": "List", "items": [pod(7, "later", "u"), second]});
        kubesquall::model::manifest::load_text("x.json", &list.to_string())
    };
    let loaded = load(pod(5, "earlier", "u"));
    assert!(!loaded.diagnostics.has_errors() && loaded.diagnostics.len() == 1 && loaded.objects.len() == 1);
    assert!(loaded.objects[0].object.to_value().to_string().contains("later"));
    let loaded = load(pod(11, "last", "u"));
    assert!(loaded.objects[0].object.to_value().to_string().contains("last"));
    assert!(load(pod(11, "other", "of another cluster")).diagnostics.has_errors());
}

#[test]
fn the_documents_say_what_the_program_does() {
    let read = |path: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a document");
    let command = kubesquall::model::manifest::DUMP_COMMAND;
    assert!(read("README.md").replace("\\\n", "").contains(command), "README.md: {command}");
}

#[test]
fn whoever_goes_on_with_a_part_has_nothing_of_what_is_refused_or_written_twice() {
    let refused = "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: r}, spec: {template: {spec: {containers: \
                   [{name: c, image: i}]}}}}\n";
    let second = PENDING.replace("image: i}", "image: other}");
    let state = format!("---\n{NODE}---\n{PENDING}---\n{second}---\n{refused}");
    let dir = directory(&[("dump/state.yaml", &state), ("s.yaml", SCENARIO)]);
    for arguments in ["check dump", "check s.yaml", "run s.yaml --no-charts", "schedule -f dump"] {
        let said = kubesquall(dir.path(), arguments, "");
        assert_eq!(said.status, 2, "{arguments}");
        assert!(said.stderr.contains("--allow-partial"), "{arguments}: {}", said.stderr);
    }
    let said = kubesquall(dir.path(), "check --allow-partial dump", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let not_read = "not read: 1 Pod (another one of its name stands before it), first dump/state.yaml:6; \
                    1 ReplicaSet (the API server refuses it), first dump/state.yaml:8";
    assert!(said.stdout.contains("2 objects") && said.stdout.contains(not_read), "{}", said.stdout);
    let said = kubesquall(dir.path(), "run s.yaml --no-charts --allow-partial", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(said.stdout.starts_with("Not read: 1 Pod"), "{}", said.stdout);
    let lock = fs::read_to_string(dir.path().join("reports/s/scenario.lock.yaml")).expect("a lock file");
    assert!(!lock.contains("ReplicaSet\nmetadata") && lock.contains("image: i\n"), "{lock}");
}

#[test]
fn a_fault_that_hits_nobody_is_told_to_whoever_reads_no_summary() {
    let timeline = "  timeline: [{at: 10s, fault: {kind: InstanceGone, nodes: {names: [n1]}}}, \
                    {at: 20s, fault: {kind: Crash, nodes: {names: [n1]}}}]\n";
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: s}}\nspec:\n  duration: 1m\n  \
         cluster: {{manifests: [dump]}}\n{timeline}"
    );
    let dir = directory(&[("dump/state.yaml", NODE), ("s.yaml", &text)]);
    let said = kubesquall(dir.path(), "run s.yaml -q --no-charts", "");
    assert_eq!((said.status, said.stdout.as_str()), (0, ""), "{}", said.stderr);
    assert!(said.stderr.contains("HIT NOBODY: a fault: Crash@20s (Crash: no node matches)"), "{}", said.stderr);
}

#[test]
fn what_the_api_server_refuses_of_a_file_ends_the_command_and_not_the_run() {
    let scenario = SCENARIO.replace("spec: {", "spec: {timeline: [{at: 10s, kubectl: 'apply -f two.yaml'}], ");
    let set = |name: &str, label: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}}}\nspec: {{selector: {{matchLabels: {{app: x}}}}, \
             template: {{metadata: {{labels: {{app: {label}}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}\n"
        )
    };
    let two = set("bad", "y") + &set("good", "x");
    let dir = directory(&[("dump/n.yaml", NODE), ("two.yaml", &two), ("s.yaml", &scenario)]);
    let said = kubesquall(dir.path(), "run s.yaml --no-charts --out r", "");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("warning[manifest::refused]") && said.stderr.contains("two.yaml:5"),
        "{}",
        said.stderr
    );
    let text = fs::read_to_string(dir.path().join("r/transcript.jsonl")).expect("a transcript");
    let line: Value = serde_json::from_str(&text).expect("one line");
    let refused = "The Deployment \"bad\" is invalid: spec.template.metadata.labels: Invalid value: {\"app\":\"y\"}: `selector` does not \
                   match template `labels`";
    assert_eq!((&line["exit"], &line["stderr"]), (&json!(1), &json!([refused])));
    assert_eq!(line["stdout"], json!(["deployment.apps/good created"]));
    // What is there before the run has to be right.
    fs::rename(dir.path().join("two.yaml"), dir.path().join("dump/two.yaml")).expect("moved");
    let said = kubesquall(dir.path(), "check dump", "");
    assert!(said.status != 0 && said.stderr.contains("error[manifest::refused]"), "{}", said.stderr);
}
