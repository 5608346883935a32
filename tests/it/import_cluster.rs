//! `import cluster`: whatever a cluster was saved by, it is the same cluster, and what is not whole is said.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use kubesquall::diagnostics::Severity;
use kubesquall::import::cluster::{ClusterImport, ImportedCluster};
use kubesquall::model::Object;
use kubesquall::model::manifest::load_text;
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::binary::{Said, kubesquall};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bundles").join(name)
}

fn import(paths: &[&Path]) -> ImportedCluster {
    let mut importing = ClusterImport::new();
    paths.iter().for_each(|path| importing.add(path));
    match importing.finish(false) {
        Ok(imported) => imported,
        Err(unusable) => panic!("{paths:?}: {:?}", unusable.diagnostics),
    }
}

fn import_stream(bytes: Vec<u8>) -> Result<ImportedCluster, Vec<String>> {
    let mut importing = ClusterImport::new();
    importing.add_stream(std::io::Cursor::new(bytes), "-");
    importing.finish(false).map_err(|unusable| {
        unusable.diagnostics.iter().map(|found| format!("{}: {}", found.code, found.message)).collect()
    })
}

/// What an imported cluster holds: kinds and names.
fn labels(imported: &ImportedCluster) -> Vec<String> {
    let loaded = load_text("cluster.yaml", &imported.document);
    assert!(loaded.diagnostics.iter().all(|found| found.severity != Severity::Error), "{:?}", loaded.diagnostics);
    loaded.objects.iter().map(|object| object.object.label()).collect()
}

/// The statements that begin so.
fn said<'i>(imported: &'i ImportedCluster, begin: &str) -> Vec<&'i str> {
    imported.statements.iter().filter_map(|line| line.strip_prefix(begin)).collect()
}

const LABELS: &str = r#""labels":{"app":"web","pod-template-hash":"5d"}"#;

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": format!("u-{name}")},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"},
        "nodeInfo": {"kubeletVersion": "v1.36.0"}}})
}

fn pod(name: &str) -> Value {
    let labels: Value = serde_json::from_str(&format!("{{{LABELS}}}")).expect("labels");
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": format!("u-{name}"), "resourceVersion": "7",
        "labels": labels["labels"], "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"password\":\"hunter2\"}"},
        "managedFields": [{"manager": "kubectl"}],
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d", "uid": "u-set", "controller": true}]},
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}})
}

fn without_kind(object: &Value) -> Value {
    let mut object = object.clone();
    let fields = object.as_object_mut().expect("a map");
    fields.remove("kind");
    fields.remove("apiVersion");
    object
}

fn list(kind: &str, items: &[Value]) -> String {
    let mut list = json!({"apiVersion": "v1", "kind": kind, "items": items});
    if kind.is_empty() {
        list.as_object_mut().expect("a map").remove("kind");
    }
    list.to_string()
}

fn secrets() -> String {
    list(
        "List",
        &[
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "shop"}, "data": {"k": "aHVudGVyMg=="}, "stringData": {"k": "hunter2"}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "shop"}, "data": {"k": "hunter2"}}),
        ],
    )
}

/// What every form of the same cluster has to give.
const EXPECTED: [&str; 5] =
    ["Node n1", "Deployment shop/web", "ReplicaSet shop/web-5d", "Pod shop/web-5d-a", "Pod shop/web-5d-b"];

fn directory(files: &[(&str, String)]) -> TempDir {
    let dir = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    dir
}

fn tar(files: &[(&str, String)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, name, text.as_bytes()).expect("an entry");
    }
    builder.into_inner().expect("an archive")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zipped(files: &[(&str, String)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, text) in files {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).expect("an entry");
        writer.write_all(text.as_bytes()).expect("memory");
    }
    writer.finish().expect("an archive").into_inner()
}

/// One small cluster as each tool saves it.
fn forms() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    let (n1, a, b) = (node("n1"), pod("web-5d-a"), pod("web-5d-b"));
    let yaml = |object: &Value| format!("---\n{object}\n");
    vec![
        ("kubectl get -o json", vec![("all.json", list("List", &[n1.clone(), a.clone(), b.clone()])), ("secrets.json", secrets())]),
        ("kubectl get -o yaml", vec![("all.yaml", [&n1, &a, &b].map(yaml).concat()), ("s.yaml", secrets())]),
        (
            "bare arrays",
            vec![
                ("nodes.json", json!([without_kind(&n1)]).to_string()),
                ("pods/shop.json", json!([without_kind(&a), without_kind(&b)]).to_string()),
                ("events/shop.json", list("EventList", &[json!({"reason": "Killing", "message": "x", "involvedObject": {}})])),
            ],
        ),
        (
            "kubectl cluster-info dump",
            vec![(
                "dump.txt",
                format!(
                    "{}\n{}\n==== START logs for container c of pod shop/web-5d-a ====\n{{\"kind\":\"Pod\"\n==== END logs for \
                     container c of pod shop/web-5d-a ====\n",
                    list("NodeList", &[without_kind(&n1)]),
                    list("PodList", &[without_kind(&a), without_kind(&b)])
                ),
            )],
        ),
        (
            "sonobuoy results",
            vec![
                ("resources/cluster/core_v1_nodes.json", list("", &[without_kind(&n1)])),
                ("resources/ns/shop/core_v1_pods.json", list("", &[without_kind(&a), without_kind(&b)])),
                ("podlogs/shop/web/logs/c.txt", "{\"kind\":\"Pod\"".to_owned()),
            ],
        ),
        (
            "must-gather",
            vec![
                ("q/cluster-scoped-resources/core/nodes/n1.yaml", yaml(&n1)),
                ("q/namespaces/shop/core/pods.yaml", list("PodList", &[a.clone(), b.clone()])),
                ("q/namespaces/shop/pods/web-5d-a/web-5d-a.yaml", yaml(&a)),
                ("q/namespaces/shop/core/secrets.yaml", secrets()),
                ("q/version", "4.20".to_owned()),
            ],
        ),
        (
            "Insights archive",
            vec![
                ("config/node/n1.json", without_kind(&n1).to_string()),
                ("config/pod/shop/web-5d-a.json", without_kind(&a).to_string()),
                ("config/pod/shop/web-5d-b.json", without_kind(&b).to_string()),
                ("config/version.json", json!({"id": "x"}).to_string()),
            ],
        ),
        (
            "troubleshoot.sh support bundle",
            vec![
                ("b/cluster-resources/nodes.json", json!([n1]).to_string()),
                ("b/cluster-resources/pods/shop.json", list("PodList", &[without_kind(&a), without_kind(&b)])),
                ("b/cluster-resources/pods/logs/shop/x.log", "{".to_owned()),
            ],
        ),
        (
            "Velero backup",
            vec![
                ("metadata/version", "1.1.0".to_owned()),
                ("resources/nodes/cluster/n1.json", n1.to_string()),
                ("resources/pods/namespaces/shop/web-5d-a.json", a.to_string()),
                ("resources/pods/v1-preferredversion/namespaces/shop/web-5d-a.json", a.to_string()),
                ("resources/pods/namespaces/shop/web-5d-b.json", b.to_string()),
                ("resources/secrets/namespaces/shop/s.json", secrets()),
            ],
        ),
        (
            "kube-scheduler-simulator",
            vec![(
                "snapshot.json",
                json!({"pods": [without_kind(&a), without_kind(&b)], "nodes": [without_kind(&n1)], "pvs": [], "pvcs": null,
                    "storageClasses": [], "priorityClasses": [], "namespaces": [], "schedulerConfig": {}})
                .to_string(),
            )],
        ),
        (
            "KWOK recording",
            vec![(
                "cluster.yaml",
                format!(
                    "{}{}---\napiVersion: action.kwok.x-k8s.io/v1alpha1\nkind: ResourcePatch\ndurationNanosecond: 5\nmethod: create\n\
                     resource: {{version: v1, resource: pods}}\ntarget: {{name: web-5d-b, namespace: shop}}\ntemplate: {b}\n",
                    yaml(&n1),
                    yaml(&a)
                ),
            )],
        ),
    ]
}

#[test]
fn every_form_gives_the_same_cluster_in_every_wrapping() {
    for (form, files) in forms() {
        let dir = directory(&files);
        let of_directory = import(&[dir.path()]);
        assert_eq!(labels(&of_directory), EXPECTED, "{form}");
        assert!(!of_directory.document.contains("hunter2"), "{form}: a secret is kept");
        assert!(!of_directory.document.contains("aHVudGVyMg"), "{form}: a secret is kept");
        assert!(!of_directory.document.contains("managedFields"), "{form}");
        assert_eq!(said(&of_directory, "Not read: "), Vec::<&str>::new(), "{form}");
        assert_eq!(of_directory.warnings.len(), 0, "{form}: {:?}", of_directory.warnings);
        assert_eq!(said(&of_directory, "Made anew: ").len(), 1, "{form}");
        let body = |imported: &ImportedCluster| imported.document.split_once("\n---\n").expect("objects").1.to_owned();
        // A single file that no archive can be told from stands for itself.
        let archives = [
            ("x.tar", tar(&files)),
            ("x.tar.gz", gzip(&tar(&files))),
            ("x.tar.zst", zstd::encode_all(&*tar(&files), 1).expect("memory")),
            ("x.zip", zipped(&files)),
        ];
        for (name, bytes) in archives {
            let path = dir.path().join(name);
            fs::write(&path, &bytes).expect("a file");
            let imported = import(&[&path]);
            assert_eq!(body(&imported), body(&of_directory), "{form}: {name}");
            let of_stream = import_stream(bytes).expect("it is whole");
            assert_eq!(body(&of_stream), body(&of_directory), "{form}: {name} as a stream");
            fs::remove_file(path).expect("it is there");
        }
        // Forms that are told by their files are named.
        let named = ["kubectl get -o json", "kubectl get -o yaml", "bare arrays"];
        assert_eq!(
            said(&of_directory, "From: ")[0].contains(form),
            !named.contains(&form),
            "{form}: {:?}",
            said(&of_directory, "From: ")
        );
    }
}

#[test]
fn what_the_api_server_demands_is_written() {
    let mut node = node("n1");
    node["spec"] = json!({"taints": [{"key": "dedicated", "effect": "NoSchedule"}]});
    let mut pod = pod("web-1");
    pod["metadata"].as_object_mut().expect("a map").remove("ownerReferences");
    let terms = json!([{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}],
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]);
    pod["spec"]["affinity"] =
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
    let selector = json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]});
    pod["spec"]["topologySpreadConstraints"] = json!([{"maxSkew": 1, "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]);
    let rules = json!([{"action": "Count", "onExitCodes": {"operator": "In", "values": [3]}}]);
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "shop"},
        "spec": {"podFailurePolicy": {"rules": rules}, "template": template}});
    let list = json!([node, pod, job]).to_string();
    let imported = import_stream(list.into_bytes()).expect("a cluster").document;
    for demanded in [
        "  - effect: NoSchedule\n    key: dedicated\n",
        "          - key: zone\n            operator: In\n",
        "          - key: metadata.name\n            operator: In\n",
        "      - key: app\n        operator: In\n",
        "    whenUnsatisfiable: DoNotSchedule\n",
        "    - action: Count\n      onExitCodes:\n        operator: In\n",
    ] {
        assert!(imported.contains(demanded), "{demanded} in {imported}");
    }
    assert_eq!(import_stream(imported.clone().into_bytes()).expect("a cluster").document, imported);
}

#[test]
fn an_imported_cluster_is_imported_as_it_is() {
    let (_, files) = forms().swap_remove(5);
    let dir = directory(&files);
    let first = import(&[dir.path()]);
    let path = dir.path().join("cluster.yaml");
    fs::write(&path, &first.document).expect("a file");
    assert_eq!(import(&[&path]).document, first.document);
    let packed = dir.path().join("cluster.yaml.gz");
    fs::write(&packed, gzip(first.document.as_bytes())).expect("a file");
    assert_eq!(import(&[&packed]).document, first.document);
    // Any part of it reads like a smaller cluster.
    let cut = &first.document[..first.document.rfind("---\n").expect("objects")];
    let problems = import_stream(cut.as_bytes().to_vec()).expect_err("it was cut");
    assert!(problems[0].starts_with("manifest::cut_short: `-` was cut: its last line"), "{problems:?}");
}

#[test]
fn the_newest_state_of_an_object_counts_whatever_the_order() {
    let state = |version: &str, phase: &str| {
        let mut pod = pod("web-5d-a");
        pod["metadata"]["resourceVersion"] = version.into();
        pod["status"]["phase"] = phase.into();
        pod
    };
    let reborn = |created: &str, uid: &str| {
        let mut pod = pod("web-5d-b");
        pod["metadata"]["creationTimestamp"] = created.into();
        pod["metadata"]["uid"] = uid.into();
        pod
    };
    let mut items = vec![
        node("n1"),
        state("99", "Pending"),
        state("100", "Running"),
        reborn("2026-01-01T00:00:00Z", "old"),
        reborn("2026-01-02T00:00:00Z", "new"),
    ];
    let first = import_stream(list("List", &items).into_bytes());
    // Within one file two uids of one name are two objects of which one is too many.
    assert!(first.is_err());
    let dir = tempfile::tempdir().expect("a directory");
    for reversed in [false, true] {
        if reversed {
            items.reverse();
        }
        for (index, item) in items.iter().enumerate() {
            fs::write(dir.path().join(format!("{index}.json")), item.to_string()).expect("a file");
        }
        let imported = import(&[dir.path()]);
        assert!(imported.document.contains("phase: Running") && !imported.document.contains("phase: Pending"));
        assert!(imported.document.contains("uid: new") && !imported.document.contains("uid: old"));
        assert_eq!(
            said(&imported, "Note: "),
            ["2 objects were there again in another state; of each the newest counts"]
        );
    }
}

#[test]
fn two_clusters_are_not_made_one() {
    let namespace = |uid: &str| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid}}).to_string()
    };
    let dir = directory(&[("a.json", namespace("1")), ("b.json", namespace("2"))]);
    let mut importing = ClusterImport::new();
    importing.add(dir.path());
    let problems = importing.finish(false).expect_err("two clusters").diagnostics;
    assert!(problems.iter().any(|found| found.code == "bundle::two_clusters"), "{problems:?}");
}

/// Owners, by kind, as a cell of the table in `docs/import.md`.
fn owners(counts: &BTreeMap<String, usize>) -> String {
    let kinds = ["DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"];
    let cells = kinds
        .iter()
        .filter_map(|kind| counts.get(*kind).filter(|count| **count > 0).map(|count| format!("{kind} {count}")));
    cells.collect::<Vec<_>>().join(", ")
}

#[test]
fn objects_of_several_clusters_are_told_to_be_given_one_at_a_time() {
    let mut importing = ClusterImport::new();
    importing.add(&data("argo-health-objects.tar.gz"));
    let problems = importing.finish(false).expect_err("two of one name").diagnostics;
    let is_told = |text: &String| text.contains("give those of one at a time");
    assert!(problems.iter().any(|of| of.help.iter().any(is_told)), "{problems:?}");
}

/// The rows of the documentation were counted by hand.
#[test]
fn real_bundles_have_the_nodes_pods_and_owners_that_the_documentation_says() {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/import.md")).expect("the page");
    let table = document.split_once("## Real bundles").expect("the section").1;
    let table = table.split_once("\n#").map_or(table, |(table, _)| table);
    let mut seen = 0;
    for row in table.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, nodes, pods, found, anew] = cells[..] else { panic!("{row}") };
        seen += 1;
        let mut importing = ClusterImport::new();
        importing.add(&data(&format!("{name}.tar.gz")));
        let imported = importing.finish(name == "argo-health-objects").expect("it is whole");
        let count = |kind: &str| imported.counts.get(kind).copied().unwrap_or(0).to_string();
        assert_eq!((count("Node").as_str(), count("Pod").as_str()), (nodes, pods), "{name}");
        let number = |cell: &str, kind: &str| -> usize {
            let part = cell.split(", ").find_map(|part| part.strip_prefix(kind)?.strip_prefix(' '));
            part.map_or(0, |count| count.parse().expect("a number"))
        };
        let all = imported.counts.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
        let sums: BTreeMap<String, usize> =
            ["DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"]
                .iter()
                .map(|kind| ((*kind).to_owned(), number(found, kind) + number(anew, kind)))
                .collect();
        assert_eq!(owners(&all), owners(&sums), "{name}");
        assert_eq!(!said(&imported, "Made anew: ").is_empty(), !anew.is_empty(), "{name}");
        // Nothing that was there is lost, and it is the same cluster again.
        let again = import_stream(imported.document.clone().into_bytes()).expect("it is whole");
        assert_eq!(again.document, imported.document, "{name}");
        let stored = load_text("c.yaml", &imported.document);
        assert!(stored.objects.iter().all(|object| object.object.stored_kind().is_none()), "{name}");
    }
    assert_eq!(seen, 9);
}

#[test]
fn real_recordings_are_read() {
    let k8shark = import(&[&data("basic-workloads.kshrk")]);
    assert_eq!(
        labels(&k8shark),
        [
            "Node k8shark-dev-control-plane",
            "Service basic-demo/web",
            "Deployment basic-demo/web",
            "ReplicaSet basic-demo/web-5bff58cf7",
            "Pod basic-demo/web-5bff58cf7-crbzf",
            "Pod basic-demo/web-5bff58cf7-wsxpp",
        ]
    );
    let simkube = import(&[&data("bare-pods.sktrace")]);
    assert_eq!(labels(&simkube).len(), 4);
    assert_eq!(
        said(&simkube, "Note: "),
        ["`bare-pods.sktrace` is a recording: the cluster is as 4 changes left it at its end"]
    );
}

fn run(dir: &Path, arguments: &str, stdin: &[u8]) -> (i32, String, String) {
    let Said { status, stdout, stderr } = kubesquall(dir, arguments, stdin);
    (status, stdout, stderr)
}

#[test]
fn the_command_says_what_the_cluster_is_and_what_it_is_not() {
    let (_, files) = forms().swap_remove(5);
    let dir = directory(&[]);
    fs::write(dir.path().join("b.tar.gz"), gzip(&tar(&files))).expect("a file");
    let (status, stdout, stderr) = run(dir.path(), "import cluster b.tar.gz -o cluster.yaml", b"");
    assert_eq!((status, stderr.as_str()), (0, ""), "{stdout}");
    assert!(stdout.starts_with("cluster.yaml: 1 node, 2 pods, Deployment 1, ReplicaSet 1\n"), "{stdout}");
    assert!(stdout.contains("From: b.tar.gz (must-gather, 4 files)"), "{stdout}");
    assert!(stdout.contains("Left out: ConfigMap 1, Secret 1, 1 file of another kind"), "{stdout}");
    let (status, _, stderr) = run(dir.path(), "import cluster b.tar.gz -o cluster.yaml", b"");
    assert_eq!(status, 2);
    assert!(stderr.contains("`cluster.yaml` is there already"), "{stderr}");
    let written = fs::read(dir.path().join("cluster.yaml")).expect("a file");
    for input in [fs::read(dir.path().join("b.tar.gz")).expect("a file"), written.clone()] {
        let (status, stdout, _) = run(dir.path(), "import cluster - -o -", &input);
        assert_eq!(status, 0);
        let body = |text: &str| text.split_once("\n---\n").expect("objects").1.to_owned();
        assert_eq!(body(&stdout), body(std::str::from_utf8(&written).expect("text")));
    }
    let (status, stdout, _) = run(dir.path(), "import cluster --print-command", b"");
    assert_eq!(status, 0);
    assert!(stdout.starts_with("kubectl get nodes,") && stdout.lines().count() == 1, "{stdout}");
    let table = json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}).to_string();
    let (status, _, stderr) = run(dir.path(), "import cluster - -o x.yaml", table.as_bytes());
    assert_eq!(status, 2);
    assert!(stderr.contains("this is a Table") && stderr.contains("kubectl get nodes,"), "{stderr}");
    assert!(!dir.path().join("x.yaml").exists());
}

#[test]
fn what_is_missing_is_an_error_or_is_said() {
    let dir = directory(&[
        ("b/nodes.json", json!([node("n1")]).to_string()),
        ("b/pods/shop.json", format!("[{}", pod("web-5d-a"))),
        ("b/notes.yaml", "a: [".to_owned()),
    ]);
    let (status, _, stderr) = run(dir.path(), "import cluster b -o c.yaml", b"");
    assert_eq!(status, 2);
    assert!(stderr.contains("b/pods/shop.json") && stderr.contains("--allow-partial"), "{stderr}");
    assert!(!dir.path().join("c.yaml").exists());
    let (status, stdout, stderr) = run(dir.path(), "import cluster b -o c.yaml --allow-partial", b"");
    assert_eq!(status, 0, "{stderr}");
    assert!(stdout.starts_with("Not read: 2 documents (it cannot be read), first b/notes.yaml:1\n"), "{stdout}");
    let written = fs::read_to_string(dir.path().join("c.yaml")).expect("a file");
    assert!(written.contains("\n# Not read: 2 documents (it cannot be read), first b/notes.yaml:1\n"), "{written}");
    // Whoever plays it is told as well.
    let (status, stdout, stderr) = run(dir.path(), "check c.yaml", b"");
    assert_eq!(status, 0, "{stderr}");
    assert!(stdout.contains("; not read: 2 documents (it cannot be read), first c.yaml:4"), "{stdout}");
    fs::write(dir.path().join("cut.yaml"), written.trim_end_matches("# The cluster is whole.\n")).expect("a file");
    let (status, _, stderr) = run(dir.path(), "check cut.yaml", b"");
    assert_eq!(status, 2);
    assert!(stderr.contains("error[manifest::cut_short]: `cut.yaml` was cut"), "{stderr}");
    let (status, stdout, _) = run(dir.path(), "check cut.yaml --allow-partial", b"");
    assert_eq!(status, 0);
    assert!(stdout.contains("1 file (its end is missing), first cut.yaml:1"), "{stdout}");
    let (status, _, stderr) = run(dir.path(), "import cluster none b/notes.yaml -o d.yaml --allow-partial", b"");
    assert_eq!(status, 2);
    assert!(stderr.contains("there is no file or directory `none`"), "{stderr}");
}

#[test]
fn hostile_archives_write_nothing_and_are_told() {
    let files = [("nodes.json", json!([node("n1")]).to_string())];
    let outside = |name: &str| {
        let mut builder = tar::Builder::new(Vec::new());
        let text = json!([node("evil")]).to_string();
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().expect("a header").name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(text.len() as u64);
        header.set_cksum();
        builder.append(&header, text.as_bytes()).expect("an entry");
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        builder.append_link(&mut link, "pods.json", "/etc/passwd").expect("an entry");
        let mut header = tar::Header::new_gnu();
        header.set_size(files[0].1.len() as u64);
        builder.append_data(&mut header, "nodes.json", files[0].1.as_bytes()).expect("an entry");
        builder.into_inner().expect("an archive")
    };
    for name in ["../../evil.json", "/tmp/evil.json", "a/../../evil.json"] {
        let imported = import_stream(outside(name)).expect("the rest is fine");
        assert_eq!(labels(&imported), ["Node n1"], "{name}");
        let said = said(&imported, "Not read: ");
        assert!(
            said[0].contains("it is a link that leads out and is not followed")
                && said[1].contains("its path leads out"),
            "{said:?}"
        );
        assert_eq!(imported.warnings.as_slice()[0].code, "bundle::outside");
    }
    // Links within lead to what is read anyhow, if it is there.
    let mut links = tar::Builder::new(Vec::new());
    for (name, target) in [("a/latest.json", "../nodes.json"), ("a/pods.json", "../pods.json")] {
        let mut link = tar::Header::new_gnu();
        link.set_entry_type(tar::EntryType::Symlink);
        link.set_size(0);
        links.append_link(&mut link, name, target).expect("an entry");
    }
    let mut header = tar::Header::new_gnu();
    header.set_size(files[0].1.len() as u64);
    links.append_data(&mut header, "nodes.json", files[0].1.as_bytes()).expect("an entry");
    let imported = import_stream(links.into_inner().expect("an archive")).expect("a cluster");
    assert_eq!(labels(&imported), ["Node n1"]);
    assert_eq!(said(&imported, "Not read: "), ["1 file (it is a link to what is not there), first -/a/pods.json"]);
    // A name that would be a line of its own in the head.
    let sly = outside("/x\n---\nkind: Node\nmetadata: {name: sly}\n");
    assert_eq!(labels(&import_stream(sly).expect("the rest is fine")), ["Node n1"]);
    // Names as long as they may be, and longer.
    let long = format!("pods/{}.json", "p".repeat(253));
    let imported = import_stream(tar(&[
        (&long, json!([without_kind(&pod(&"p".repeat(253)))]).to_string()),
        ("nodes.json", files[0].1.clone()),
    ]));
    assert_eq!(labels(&imported.expect("a cluster")).len(), 4);
    let too_long = json!([without_kind(&pod(&"p".repeat(254)))]).to_string();
    assert!(import_stream(tar(&[("pods.json", too_long)])).is_err());
    // Archives within archives, and what is written twice.
    let inner = String::from_utf8_lossy(&tar(&files)).into_owned();
    let imported = import_stream(tar(&[
        ("x.tar", inner),
        ("nodes.json", files[0].1.clone()),
        ("again/nodes.json", files[0].1.clone()),
    ]));
    assert_eq!(
        said(&imported.expect("a cluster"), "Not read: "),
        ["1 file (it is an archive within an archive), first -/x.tar"]
    );
}

#[test]
fn bombs_are_not_unpacked() {
    // 300 MiB of blanks in 300 KiB.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..300 {
        encoder.write_all(&blanks).expect("memory");
    }
    let bomb = encoder.finish().expect("memory");
    let problems = import_stream(bomb).expect_err("a bomb");
    assert!(problems[0].starts_with("bundle::bomb") || problems[0].contains("400 times its size"), "{problems:?}");
    let mut layers = b"{}".to_vec();
    for _ in 0..6 {
        layers = gzip(&layers);
    }
    let problems = import_stream(layers).expect_err("layers");
    assert!(problems[0].starts_with("bundle::bomb"), "{problems:?}");
    for (head, what) in [
        (&b"BZh91AY"[..], "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"age-encryption.org/v1", "age"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    ] {
        let problems = import_stream(head.to_vec()).expect_err("not read");
        assert!(problems[0].contains(what), "{problems:?}");
    }
}

/// Whatever happens to an archive: it gives the whole cluster, or says that it does not.
#[test]
fn damaged_archives_are_never_taken_for_whole_ones() {
    let (_, files) = forms().swap_remove(5);
    let whole = labels(&import_stream(tar(&files)).expect("it is whole"));
    let mut chance = ChaCha8Rng::seed_from_u64(16);
    for (form, bytes) in [
        ("tar", tar(&files)),
        ("tar.gz", gzip(&tar(&files))),
        ("zip", zipped(&files)),
        ("tar.zst", zstd::encode_all(&*tar(&files), 1).expect("memory")),
    ] {
        for _ in 0..150 {
            let mut damaged = bytes.clone();
            // Cut, or with bytes that are others.
            let is_cut = chance.random_bool(0.5);
            if is_cut {
                // What stands behind the end of a tar archive is nothing.
                let end = if form == "tar" { damaged.len() - 1024 } else { damaged.len() };
                damaged.truncate(chance.random_range(0..end as u64) as usize);
            } else {
                for _ in 0..chance.random_range(1..8_u32) {
                    let at = chance.random_range(0..damaged.len() as u64) as usize;
                    damaged[at] = chance.next_u32() as u8;
                }
            }
            match import_stream(damaged) {
                Ok(imported) if is_cut => assert_eq!(labels(&imported), whole, "{form}"),
                // Bytes of a tar archive without a checksum may be others and make sense.
                Ok(imported) => drop(load_text("c.yaml", &imported.document)),
                Err(problems) => assert!(!problems.is_empty()),
            }
        }
    }
}

/// A list of kubectl says at its end what it is: without that end it is no document that may be as it likes.
#[test]
fn lists_that_are_cut_are_never_taken_for_no_objects() {
    let item = |name: &str| format!("- apiVersion: v1\n  kind: Node\n  metadata:\n    name: {name}\n");
    let whole =
        format!("apiVersion: v1\nitems:\n{}{}kind: List\nmetadata:\n  resourceVersion: \"\"\n", item("n2"), item("n3"));
    let nodes = json!([node("n1")]).to_string();
    let found = |text: &str| {
        let files = [("nodes.json", nodes.clone()), ("more.yaml", text.to_owned())];
        import_stream(tar(&files)).map(|imported| labels(&imported).len())
    };
    assert_eq!(found(&whole), Ok(3));
    let end = whole.find("List").expect("a kind") + "List".len();
    for cut in "apiVersion: v1\nitems:\n".len()..end {
        let problems = found(&whole[..cut]).expect_err(&whole[..cut]);
        assert!(!problems.is_empty(), "{}", &whole[..cut]);
    }
    let problems = found(&whole[..whole.find("kind: List").expect("a kind")]).expect_err("it is cut");
    assert!(problems[0].starts_with("manifest::cut_short: the end of this list is missing"), "{problems:?}");
    // What is no object of Kubernetes may be in a bundle all the same.
    assert_eq!(found("items:\n- name: a\n  size: 3\n"), Ok(1));
}

#[test]
fn links_out_of_a_directory_are_not_followed() {
    let dir = directory(&[
        ("b/nodes.json", json!([node("n1")]).to_string()),
        ("secret/nodes.json", json!([node("n2")]).to_string()),
    ]);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../secret", dir.path().join("b/out")).expect("a link");
        std::os::unix::fs::symlink(".", dir.path().join("b/loop")).expect("a link");
        std::os::unix::fs::symlink("nodes.json", dir.path().join("b/within.json")).expect("a link");
        std::os::unix::fs::symlink("gone.json", dir.path().join("b/pods.json")).expect("a link");
        let imported = import(&[&dir.path().join("b")]);
        assert_eq!(labels(&imported), ["Node n1"]);
        assert_eq!(
            said(&imported, "Not read: "),
            [
                "1 file (it is a link that leads out and is not followed), first b/out",
                "1 file (it is a link to what is not there), first b/pods.json",
            ]
        );
    }
}

#[test]
fn objects_keep_what_decides() {
    let mut pod = pod("web-5d-a");
    pod["spec"]["tolerations"] = json!([{"key": "a", "operator": "Exists"}]);
    let imported = import_stream(list("List", &[node("n1"), pod]).into_bytes()).expect("a cluster");
    let loaded = load_text("c.yaml", &imported.document);
    let pods = loaded.objects.iter().filter_map(|object| match &object.object {
        Object::Pod(pod) => Some(pod),
        _ => None,
    });
    let pods: Vec<_> = pods.collect();
    assert_eq!(pods[0].spec.tolerations.len(), 1);
    assert_eq!(pods[0].metadata.resource_version, None);
    assert!(pods[0].metadata.annotations.is_empty());
}
