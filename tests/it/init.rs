//! `init`: what it writes for a cluster is right, can be played, and is the same each time.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::binary::{self, Said};

const CLUSTER: &str = "\
{apiVersion: v1, kind: Node, metadata: {name: big, labels: {topology.kubernetes.io/zone: eu-1}}, status: {allocatable: {cpu: '8', memory: 8Gi, pods: '20'}}}
---
{apiVersion: v1, kind: Node, metadata: {name: small, labels: {topology.kubernetes.io/zone: eu-2}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}
---
{apiVersion: v1, kind: Node, metadata: {name: third, labels: {topology.kubernetes.io/zone: eu-2}}, status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 3, selector: {matchLabels: {app: web}},
 template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: shop}, spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}
";

fn kubesquall(dir: &TempDir, arguments: &str) -> Said {
    binary::kubesquall(dir.path(), arguments, "")
}

fn with(files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    dir
}

fn read(dir: &TempDir, name: &str) -> String {
    fs::read_to_string(dir.path().join(name)).expect("what was written")
}

#[test]
fn a_scenario_suits_its_cluster_and_plays() {
    let dir = with(&[("dumps/prod.yaml", CLUSTER)]);
    fs::create_dir(dir.path().join("storms")).expect("a directory");
    let said = kubesquall(&dir, "init dumps/prod.yaml -o storms/first.yaml");
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{}", said.stdout);
    let text = read(&dir, "storms/first.yaml");
    assert!(text.contains("# A first scenario for 3 worker nodes, 2 zones and 1 workload."), "{text}");
    assert!(text.contains("  name: prod\n") && text.contains("    - ../dumps/prod.yaml\n"), "{text}");
    // The zone with most nodes, and the node with most CPU.
    assert!(text.contains("  - {at: 5m, fault: {kind: Crash, nodes: {zone: eu-2}, for: 20m}}\n"), "{text}");
    assert!(text.contains("kubectl: drain big "), "{text}");
    assert!(text.contains("as far as 1 budget let it: shop/web"), "{text}");
    assert!(text.contains("  - {workload: deployment/shop/web, minReady: 50%, objective: 99%}\n"), "{text}");
    let check = kubesquall(&dir, "check storms/first.yaml");
    assert_eq!((check.status, check.stderr.as_str()), (0, ""), "{}", check.stdout);
    let test = kubesquall(&dir, "test storms/first.yaml");
    assert_eq!(test.status, 0, "{}{}", test.stdout, test.stderr);
    assert!(test.stdout.contains("pods_unscheduled_end"), "{}", test.stdout);
}

#[test]
fn what_stands_in_comments_can_be_played_too() {
    let dir = with(&[("prod.yaml", CLUSTER)]);
    assert_eq!(kubesquall(&dir, "init prod.yaml").status, 0);
    let text = read(&dir, "scenario.yaml");
    // Lines of YAML behind `# `, as somebody would take them out of their comments.
    let uncommented: String = text
        .lines()
        .map(|line| match line.strip_prefix("  # ") {
            Some(rest)
                if rest.starts_with("- {") || rest.ends_with(':') && !rest.contains(' ') || rest.starts_with("  ") =>
            {
                format!("  {rest}\n")
            }
            Some(rest) if rest.starts_with("latency:") || rest.starts_with("- name:") => format!("  {rest}\n"),
            _ => format!("{line}\n"),
        })
        .collect();
    assert_ne!(uncommented, text);
    fs::write(dir.path().join("all.yaml"), &uncommented).expect("a file");
    let said = kubesquall(&dir, "check all.yaml");
    assert_eq!(said.status, 0, "{}\n{uncommented}", said.stderr);
    assert!(said.stdout.contains("8 timeline entries, 2 random processes"), "{}\n{uncommented}", said.stdout);
}

#[test]
fn the_same_cluster_gives_the_same_bytes_and_nothing_is_replaced() {
    let dir = with(&[("prod.yaml", CLUSTER)]);
    assert_eq!(kubesquall(&dir, "init prod.yaml").status, 0);
    let text = read(&dir, "scenario.yaml");
    fs::write(dir.path().join("scenario.yaml"), "mine").expect("a file");
    let said = kubesquall(&dir, "init prod.yaml");
    assert!(said.status == 2 && said.stderr.contains("`scenario.yaml` is there already"), "{}", said.stderr);
    assert_eq!(read(&dir, "scenario.yaml"), "mine");
    assert_eq!(kubesquall(&dir, "init prod.yaml --force").status, 0);
    assert_eq!(read(&dir, "scenario.yaml"), text);
    assert_eq!(kubesquall(&dir, "init prod.yaml -o -").stdout, text);
}

#[test]
fn manifests_without_nodes_are_given_a_pool() {
    let deployment = CLUSTER.split("---\n").nth(3).expect("the deployment");
    let dir = with(&[("apps/web.yaml", deployment)]);
    let said = kubesquall(&dir, "init apps");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let text = read(&dir, "scenario.yaml");
    assert!(text.contains("    nodePools:  ") && text.contains("nodes: {zone: a}"), "{text}");
    assert_eq!(kubesquall(&dir, "run scenario.yaml --no-charts -q").status, 0);
}

#[test]
fn pods_that_fit_nowhere_before_anything_happens_are_told_and_allowed_for() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: huge, namespace: shop}, spec: {nodeSelector: {a: b}, containers: \
               [{name: c, image: i}]}}\n---\n";
    let single = CLUSTER.split("---\n").nth(3).expect("the deployment").replace("replicas: 3", "replicas: 1");
    let budget = CLUSTER.split("---\n").nth(4).expect("the budget").replace("app: web", "app: nobody");
    let own = "---\n{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: k8s, namespace: shop}, spec: {replicas: 2}}\n";
    let dir = with(&[("apps/all.yaml", &format!("{pod}{single}---\n{budget}{own}"))]);
    let said = kubesquall(&dir, "init apps");
    assert_eq!(said.status, 0, "{}", said.stderr);
    let told = &said.stderr;
    assert!(
        told.contains("1 pod has no node before anything happens: shop/huge\n  the first: 0/6 nodes are available"),
        "{told}"
    );
    assert!(told.contains("say under `nodePools`") && told.contains("not played: 1 Prometheus"), "{told}");
    let text = read(&dir, "scenario.yaml");
    assert!(text.contains("# A first scenario for 6 worker nodes, 3 zones and 2 workloads."), "{text}");
    assert!(text.contains("pods_unscheduled_end, op: \"<=\", value: 1}"), "{text}");
    assert!(text.contains("no budget slows that down"), "{text}");
    assert!(text.contains("  # slo:\n") && !text.contains("\n  slo:"), "{text}");
    let said = kubesquall(&dir, "run scenario.yaml --no-charts");
    assert_eq!(said.status, 0, "{}", said.stdout);
    assert!(said.stdout.contains("of 2 workloads"), "{}", said.stdout);
}

#[test]
fn what_has_neither_nodes_nor_workloads_gives_no_scenario() {
    let dir = with(&[("traces/failures.csv", "node,from,to\n1,2,3\n")]);
    let said = kubesquall(&dir, "init traces");
    assert_eq!(said.status, 2, "{}", said.stdout);
    assert!(said.stderr.contains("there is neither a node nor a pod or workload"), "{}", said.stderr);
    assert!(!dir.path().join("scenario.yaml").exists());
}

#[test]
fn a_result_beside_a_scenario_is_no_second_one() {
    let dir = with(&[("prod.yaml", CLUSTER)]);
    assert_eq!(kubesquall(&dir, "init prod.yaml").status, 0);
    for _ in 0..2 {
        let said = kubesquall(&dir, "run . --no-charts -q");
        assert_eq!(said.status, 0, "{}", said.stderr);
    }
    // A result that is named is the scenario that it keeps.
    let results = fs::read_dir(dir.path().join("reports")).expect("results");
    let result = results.map(|entry| entry.expect("an entry").file_name()).next().expect("a result");
    let said = kubesquall(&dir, &format!("run reports/{} --no-charts -q --out again", result.display()));
    assert_eq!(said.status, 0, "{}", said.stderr);
    let said = kubesquall(&dir, "tune scenario.yaml");
    assert!(said.stderr.contains("play it with `kubesquall run scenario.yaml`"), "{}", said.stderr);
    fs::create_dir(dir.path().join("dump")).expect("a directory");
    fs::copy(dir.path().join("prod.yaml"), dir.path().join("dump/prod.yaml")).expect("a copy");
    let said = kubesquall(&dir, "run dump");
    assert!(said.stderr.contains("`kubesquall init dump` writes a scenario"), "{}", said.stderr);
}

#[test]
fn what_cannot_be_read_is_told() {
    let dir = with(&[("bad.yaml", "{apiVersion: v1, kind: Node, metadata: [}\n")]);
    let said = kubesquall(&dir, "init bad.yaml");
    assert_eq!(said.status, 2, "{}", said.stderr);
    assert!(said.stderr.contains("bad.yaml:1"), "{}", said.stderr);
    let said = kubesquall(&dir, "init absent.yaml");
    assert!(said.status == 2 && said.stderr.contains("there is no file or directory `absent.yaml`"), "{}", said.stderr);
    let said = kubesquall(&dir, "init -");
    assert!(said.status == 2 && said.stderr.contains("cannot name standard input"), "{}", said.stderr);
    assert!(!dir.path().join("scenario.yaml").exists());
}

#[test]
fn the_shipped_dump_has_a_first_scenario() {
    let dump = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/dumps/aws-3-nodes");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let said = kubesquall(&dir, &format!("init {}", dump.display()));
    assert_eq!(said.status, 0, "{}", said.stderr);
    let said = kubesquall(&dir, "test scenario.yaml");
    assert_eq!(said.status, 0, "{}{}", said.stdout, said.stderr);
}
