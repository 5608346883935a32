//! Planted flaws: one in each cluster, beside what only looks like one. It comes out first, its fix removes it, and the cluster with the
//! fix costs what was promised.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubesquall::{
    Forecast, ForecastInputs, ForecastOptions, ForecastOutcome, LoadOptions, Patches, PlayOptions, Scenario,
};
use serde_json::{Value, json};

/// Nodes in zones, in turn.
fn nodes(count: usize, zones: &[&str]) -> String {
    let node = |index: usize| {
        let zone = zones[index % zones.len()];
        let amounts = r#"{cpu: "2", memory: 8Gi, pods: "110"}"#;
        format!(
            "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: node-{index}\n  labels: {{kubernetes.io/hostname: node-{index}, \
             topology.kubernetes.io/zone: {zone}}}\nstatus: {{capacity: {amounts}, allocatable: {amounts}, conditions: [{{type: Ready, \
             status: \"True\"}}]}}\n"
        )
    };
    (0..count).map(node).collect()
}

/// A workload that is made up of what its test is about.
#[derive(Clone, Default)]
struct Workload {
    name: &'static str,
    replicas: u32,
    is_stateful_set: bool,
    has_service: bool,
    /// Lines of the workload's spec.
    spec: &'static str,
    annotations: &'static str,
    cpu: &'static str,
    memory: &'static str,
    /// Fields of the container.
    container: &'static str,
    /// Fields of the pods.
    pods: Vec<&'static str>,
}

/// A workload behind a service.
fn served(name: &'static str, replicas: u32) -> Workload {
    Workload { name, replicas, has_service: true, cpu: "100m", memory: "\"0\"", ..Workload::default() }
}

impl Workload {
    fn pods(mut self, field: &'static str) -> Self {
        self.pods.push(field);
        self
    }

    fn text(&self) -> String {
        let Self { name, replicas, spec, annotations, cpu, memory, container, .. } = self;
        let kind = if self.is_stateful_set { "StatefulSet" } else { "Deployment" };
        let pods: String = self.pods.iter().map(|field| format!("      {field}\n")).collect();
        let workload = format!(
            "---\napiVersion: apps/v1\nkind: {kind}\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  replicas: {replicas}\n  \
             selector: {{matchLabels: {{app: {name}}}}}\n{spec}  template:\n    metadata: {{labels: {{app: {name}}}, annotations: \
             {{{annotations}}}}}\n    spec:\n      containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}, memory: \
             {memory}}}}}{container}}}]\n{pods}"
        );
        let service = format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{selector: {{app: {name}}}, ports: \
             [{{port: 80}}]}}\n"
        );
        if self.has_service { workload + &service } else { workload }
    }
}

fn budget(name: &str, says: &str) -> String {
    format!(
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{{says}, selector: \
         {{matchLabels: {{app: {name}}}}}}}\n"
    )
}

/// Tolerates lost nodes for as long as is advised.
const PATIENT: &str = "tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 30}, \
                       {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 30}]";

/// A volume of its own, so that a second replica is out of the question.
const DATA: &str = "volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]";

const APART: &str = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, \
                     labelSelector: {matchLabels: {app: web}}}]}}";

/// What looks weak to a linter and loses nothing: no budget, no spread, no requests of memory, no probes; a Job and a DaemonSet.
fn decoys() -> String {
    served("many", 6).text()
        + "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once, namespace: shop}\nspec: {template: {spec: {restartPolicy: Never, \
           containers: [{name: c, image: i}]}}}\n---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent, namespace: \
           shop}\nspec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: \
           c, image: i}]}}}\n"
}

fn worked_out(cluster: &str, catalogue: Option<&str>) -> ForecastOutcome {
    worked_out_by(cluster, catalogue, 4)
}

fn worked_out_by(cluster: &str, catalogue: Option<&str>, years: u64) -> ForecastOutcome {
    let asked = ForecastInputs::new();
    let asked = match catalogue {
        Some(text) => asked.catalogue("catalogue.yaml", text),
        None => asked,
    };
    let forecast = Forecast::parse_with([("cluster.yaml", cluster)], &LoadOptions::new(), &asked).expect("a cluster");
    forecast.work_out(&ForecastOptions::new().years(years)).expect("a forecast")
}

/// Everything that a cluster's text has, as values.
fn documents(cluster: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(cluster).expect("documents")
}

/// What `kubectl patch --type=merge` makes of a value.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *value = patch.clone();
        return;
    };
    if !value.is_object() {
        *value = json!({});
    }
    let of = value.as_object_mut().expect("it is one");
    for (name, field) in fields {
        if field.is_null() {
            of.remove(name);
        } else {
            merge(of.entry(name.clone()).or_insert(Value::Null), field);
        }
    }
}

/// The real kubectl, if it is there.
fn kubectl() -> Option<PathBuf> {
    let path = PathBuf::from("/usr/bin/kubectl");
    path.exists().then_some(path)
}

/// What the real kubectl makes of a document without a server.
fn by_kubectl(kubectl: &Path, name: &str, document: &Value, arguments: &[&str]) -> Value {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.json"));
    fs::write(&file, document.to_string()).expect("a place for the document");
    let mut command = Command::new(kubectl);
    command.args(arguments).args(["--local", "-o", "json", "-f"]).arg(&file).env("KUBECONFIG", "/dev/null");
    let out = command.output().expect("kubectl");
    assert!(out.status.success(), "{name}: kubectl {arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).expect("JSON")
}

/// The script of a patch is typed into a shell of the simulated cluster, whose API server takes it.
fn type_it(name: &str, cluster: &str, script: &str) {
    let lines: String = script.lines().skip(2).map(|line| format!("      {line}\n")).collect();
    let scenario = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: typed}}\nspec:\n  duration: 10m\n  cluster: \
         {{manifests: [cluster.yaml]}}\n  timeline:\n  - at: 1m\n    kubectl: |\n{lines}"
    );
    let settled = Scenario::parse(&scenario, [("cluster.yaml", cluster)]);
    let settled = settled.unwrap_or_else(|error| panic!("{name}: {error}\n{lines}")).settle();
    let summary = settled.play_with(1, &PlayOptions::new().summary_only()).summary();
    let failed = (&summary["counts"]["commands_failed"], &summary["counts"]["commands_unfinished"]);
    assert_eq!(failed, (&json!(0), &json!(0)), "{name}: kubesquall's kubectl refuses\n{lines}");
}

#[expect(clippy::print_stdout, reason = "what is not checked is said")]
fn say_skipped(what: &str) {
    println!("SKIPPED: there is no /usr/bin/kubectl, so that it has not read {what}");
}

/// The JSON patches of a script, by what `kubectl patch` is told to change.
fn json_patches(script: &str) -> Vec<(String, String)> {
    let patch = |line: &str| {
        let (target, patch) = line.strip_prefix("kubectl patch ")?.split_once(" --type=json -p '")?;
        Some((target.to_owned(), patch.strip_suffix('\'')?.replace("'\\''", "'")))
    };
    script.lines().filter_map(patch).collect()
}

/// Whether two documents are of one object.
fn is_same(a: &Value, b: &Value) -> bool {
    a["kind"] == b["kind"] && ["name", "namespace"].iter().all(|field| a["metadata"][field] == b["metadata"][field])
}

/// `deployment web -n shop`.
fn target_of(document: &Value) -> String {
    let text = |field: &str| document["metadata"][field].as_str().unwrap_or_default();
    let kind = document["kind"].as_str().unwrap_or_default().to_ascii_lowercase();
    format!("{kind} {} -n {}", text("name"), text("namespace"))
}

/// Applies a patch: its documents as merge patches and its script as JSON patches, each by the real kubectl, too; all must come to the
/// same.
fn patched(name: &str, cluster: &str, patches: &Patches) -> String {
    let kubectl = kubectl();
    if kubectl.is_none() {
        say_skipped(&format!("the patch of {name}"));
    }
    let mut objects = documents(cluster);
    let lines = json_patches(&patches.shell);
    let mut patched = 0;
    for (index, document) in
        documents(&patches.yaml).into_iter().enumerate().filter(|(_, document)| !document.is_null())
    {
        let place = format!("{name}-{index}");
        let Some(object) = objects.iter_mut().find(|object| is_same(object, &document)) else {
            if let Some(kubectl) = &kubectl {
                let read = by_kubectl(kubectl, &place, &document, &["label", "is=read"]);
                assert_eq!(read["spec"], document["spec"], "{place}: kubectl reads something else");
            }
            assert!(patches.yaml.contains("# kubectl apply -f "), "{}", patches.yaml);
            objects.push(document);
            continue;
        };
        patched += 1;
        let target = target_of(&document);
        assert!(
            patches.yaml.contains(&format!("# kubectl patch {target} --type=merge --patch-file ")),
            "{}",
            patches.yaml
        );
        let line = lines.iter().find(|(of, _)| *of == target);
        let (_, line) = line.unwrap_or_else(|| panic!("no line for {target}: {}", patches.shell));
        let before = object.clone();
        merge(object, &document);
        if let Some(kubectl) = &kubectl {
            let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{place}-patch.yaml"));
            fs::write(&file, format!("# a comment\n---\n# another\n{document:#}\n")).expect("a place for the patch");
            let file = file.to_str().expect("a path");
            let merged = by_kubectl(kubectl, &place, &before, &["patch", "--type=merge", "--patch-file", file]);
            let made = by_kubectl(kubectl, &place, &before, &["patch", "--type=json", "-p", line]);
            // kubectl reads types, so that what it prints has all that was kept, and nothing that it does not know.
            let expected = by_kubectl(kubectl, &place, object, &["label", "is=read"]);
            assert_eq!(
                merged["spec"], expected["spec"],
                "{place}: the real kubectl makes something else of {document}"
            );
            assert_eq!(made["spec"], expected["spec"], "{place}: the real kubectl makes something else of {line}");
        }
    }
    assert_eq!(lines.len(), patched, "as many lines as documents: {}", patches.shell);
    type_it(name, cluster, &patches.shell);
    for line in patches.shell.lines().filter_map(|line| line.strip_prefix("kubectl delete ")) {
        let words: Vec<&str> = line.split(' ').collect();
        objects.retain(|object| {
            !(object["kind"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case(words[0]))
                && object["metadata"]["name"] == words[1])
        });
    }
    text_of(&objects)
}

fn text_of(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("---\n{object}\n")).collect()
}

/// The cluster once somebody has done what no kubectl line can: the script says so and fails; the documents are what is new or other.
fn done_by_hand(name: &str, cluster: &str, patches: &Patches) -> String {
    let out = Command::new("sh").args(["-c", &patches.shell]).output().expect("sh");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.starts_with("No kubectl line does this. By hand:\n") && said.lines().count() > 1, "{said}");
    assert!(patches.yaml.starts_with("# No kubectl line does this."), "{}", patches.yaml);
    let mut objects = documents(cluster);
    let made: Vec<Value> = documents(&patches.yaml).into_iter().filter(|document| !document.is_null()).collect();
    assert!(!made.is_empty(), "{}", patches.yaml);
    for (index, document) in made.into_iter().enumerate() {
        if let Some(kubectl) = kubectl() {
            let read = by_kubectl(&kubectl, &format!("{name}-{index}"), &document, &["label", "is=read"]);
            assert_eq!(read["kind"], document["kind"]);
        } else {
            say_skipped(&format!("the documents of {name}"));
        }
        objects.retain(|object| !is_same(object, &document));
        objects.push(document);
    }
    text_of(&objects)
}

/// The patch of the finding with this fix.
#[track_caller]
fn patch_of<'a>(outcome: &'a ForecastOutcome, json: &'a Value, fix: &str) -> (&'a Value, &'a Patches) {
    let findings = json["findings"].as_array().expect("findings").iter();
    let found = findings.zip(outcome.patches()).find(|(finding, _)| finding["fix"] == fix);
    let (finding, (_, patches)) = found.unwrap_or_else(|| panic!("no {fix}: {:#}", json["findings"]));
    (finding, patches)
}

#[track_caller]
fn has_no(fix: &str, json: &Value) {
    assert!(json["findings"].as_array().expect("findings").iter().all(|of| of["fix"] != fix), "{:#}", json["findings"]);
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The flaw comes out first, of this workload alone; its forecast.
#[track_caller]
fn found(cluster: &str, catalogue: Option<&str>, fix: &str, workload: &str) -> (ForecastOutcome, Value) {
    is_first(worked_out(cluster, catalogue), fix, workload)
}

#[track_caller]
fn is_first(outcome: ForecastOutcome, fix: &str, workload: &str) -> (ForecastOutcome, Value) {
    let json = outcome.json();
    let first = &json["findings"][0];
    assert_eq!((&first["fix"], &first["workloads"]), (&json!(fix), &json!([workload])), "{:#}", json["findings"]);
    (outcome, json)
}

/// The patched cluster has the finding no more, and costs what was promised.
#[track_caller]
fn check_with(cluster: &str, catalogue: Option<&str>, fix: &str, workload: &str) {
    let (outcome, json) = found(cluster, catalogue, fix, workload);
    let (name, patches) = outcome.patches().next().expect("a patch");
    let fixed = patched(&format!("{name}-{}", workload.replace('/', "-")), cluster, patches);
    let after = worked_out(&fixed, catalogue).json();
    let has = |finding: &Value| finding["fix"] == fix;
    assert!(!after["findings"].as_array().expect("findings").iter().any(has), "{:#}", after["findings"]);
    let first = &json["findings"][0];
    let unit = first["units"][0].as_str().expect("a unit");
    let row = after["units"].as_array().expect("units").iter().find(|row| row["unit"] == unit);
    let row = row.unwrap_or_else(|| panic!("{unit} is gone"));
    let now = number(&row["lost_min_per_year"]["mean"]) + number(&row["blocked_min_per_year"]["mean"]);
    let (cost, saved) = (&first["cost_min_per_year"], &first["saved_min_per_year"]["cost"]);
    // Promised on new seeds; played here on the first ones.
    let width = |interval: &Value| number(&interval["high"]) - number(&interval["low"]);
    let slack = width(saved).max(width(cost)).max(2.0);
    let promised = number(&cost["mean"]) - number(&saved["mean"]);
    assert!((now - promised).abs() <= slack, "{unit} costs {now}, promised were {promised} within {slack}");
    // A year more or less of chance is in these; the same incidents are not.
    assert!(number(&saved["mean"]) > 0.0, "{first:#}");
    if let Some(worst) = first["worst"].as_object() {
        assert!(number(&first["worst_after_min"]) < number(&worst["cost_min"]), "{first:#}");
    }
}

#[track_caller]
fn check(cluster: &str, fix: &str, workload: &str) {
    check_with(cluster, None, fix, workload);
}

const WEB: &str = "deployment/shop/web";

#[test]
fn a_single_replica_wants_a_second() {
    check(&(nodes(4, &["a", "b"]) + &served("web", 1).text() + &decoys()), "replicas", WEB);
}

#[test]
fn a_pod_without_a_controller_wants_one() {
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop, labels: {app: web}}\nspec: {containers: [{name: \
               c, image: i}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {selector: {app: \
               web}, ports: [{port: 80}]}\n";
    check(&(nodes(4, &["a", "b"]) + pod + &decoys()), "controller", "pod/shop/web");
}

#[test]
fn replicas_that_flock_together_want_to_be_on_nodes_of_their_own() {
    let flock = "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, podAffinityTerm: {topologyKey: \
                 kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]}}";
    check(&(nodes(6, &["a", "b", "c"]) + &served("web", 2).pods(flock).text() + &decoys()), "spreadHosts", WEB);
}

#[test]
fn replicas_in_one_zone_want_to_be_in_several() {
    let one_zone = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, \
                    labelSelector: {matchLabels: {app: web}}}]}, podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: \
                    100, podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchLabels: {app: web}}}}]}, \
                    nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: \
                    [{key: topology.kubernetes.io/zone, operator: In, values: [a]}]}}]}}";
    check(&(nodes(6, &["a", "b", "c"]) + &served("web", 2).pods(one_zone).text() + &decoys()), "spreadZones", WEB);
}

#[test]
fn a_budget_that_spares_no_pod_is_loosened() {
    let cluster = nodes(4, &["a", "b"]) + &served("web", 2).text() + &budget("web", "minAvailable: 2") + &decoys();
    check(&cluster, "budgetLoosen", WEB);
}

/// A workload that is down if the nodes of both its pods are drained within half an hour.
fn slow_to_start() -> Workload {
    Workload { annotations: "kubesquall.sim/ready: 25m", ..served("web", 2) }
}

/// Apart from each other, and rather on these two nodes than on others.
const TWO_NODES: &str = "affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                         kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}, nodeAffinity: \
                         {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: \
                         kubernetes.io/hostname, operator: In, values: [node-0, node-1]}]}}]}}";

/// Somebody drains the first two nodes, the second before the pods of the first are Ready elsewhere.
const UPGRADES: &str = "drainsPerYear: 0\nincidents:\n- name: upgrade\n  perYear: 12\n  duration: 2h\n  timeline:\n  - {at: 0s, kubectl: \
                        drain node-0 --ignore-daemonsets --force --timeout=1h}\n  - {at: 10m, kubectl: drain node-1 --ignore-daemonsets \
                        --force --timeout=1h}\n";

#[test]
fn a_drain_takes_what_no_budget_holds() {
    let cluster = nodes(4, &["a", "b"]) + &slow_to_start().pods(TWO_NODES).text() + &decoys();
    check_with(&cluster, Some(UPGRADES), "budgetAdd", WEB);
}

#[test]
fn a_budget_that_holds_nothing_back_is_tightened() {
    let web = slow_to_start().pods(TWO_NODES).text();
    let cluster = nodes(4, &["a", "b"]) + &web + &budget("web", "minAvailable: 0") + &decoys();
    check_with(&cluster, Some(UPGRADES), "budgetTighten", WEB);
}

#[test]
fn replicas_that_a_selector_keeps_on_one_node_may_go_elsewhere() {
    let pinned = served("web", 2).pods("nodeSelector: {kubernetes.io/hostname: node-0}");
    check(&(nodes(4, &["a", "b"]) + &pinned.text() + &decoys()), "unpin", WEB);
}

#[test]
fn a_volume_on_one_node_wants_to_be_reached_from_all() {
    const DISK: &str = "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: shop}\nspec: {accessModes: \
                        [ReadWriteOnce], volumeName: disk, storageClassName: \"\", resources: {requests: {storage: 1Gi}}}\nstatus: \
                        {phase: Bound}\n---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\nspec: {capacity: {storage: \
                        1Gi}, accessModes: [ReadWriteOnce], claimRef: {kind: PersistentVolumeClaim, namespace: shop, name: data}, csi: \
                        {driver: nfs.csi.k8s.io, volumeHandle: disk}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: \
                        [{key: kubernetes.io/hostname, operator: In, values: [node-1]}]}]}}}\n---\napiVersion: \
                        storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: nfs.csi.k8s.io}\nspec: {attachRequired: false}\n";
    let web = served("web", 1).pods(DATA).pods(PATIENT).text();
    let cluster = nodes(4, &["a", "b"]) + &web + DISK + &decoys();
    let (outcome, json) = found(&cluster, None, "volume", WEB);
    assert!(number(&json["findings"][0]["worst_after_min"]) < 2.0, "{:#}", json["findings"]);
    let (_, patches) = patch_of(&outcome, &json, "volume");
    assert!(patches.shell.contains("Move the data"), "{}", patches.shell);
    let moved = worked_out(&done_by_hand("volume", &cluster, patches), None).json();
    assert_eq!(moved["findings"], json!([]), "{:#}", moved["findings"]);
    // The same volume, reached from everywhere, is none.
    let from = cluster.find(", nodeAffinity: {required").expect("it is pinned");
    let end = cluster[from..].find("]}]}}").expect("its end") + from + "]}]}}".len();
    let after = worked_out(&(cluster[..from].to_owned() + &cluster[end..]), None).json();
    assert_eq!(after["findings"], json!([]), "{:#}", after["findings"]);
}

#[test]
fn a_grace_period_beyond_patience_is_shortened() {
    let slow = Workload { annotations: "kubesquall.sim/stop: 3h", ..served("web", 2) };
    let cluster = nodes(4, &["a", "b"]) + &slow.pods("terminationGracePeriodSeconds: 7200").text() + &decoys();
    check(&cluster, "grace", WEB);
}

#[test]
fn five_minutes_of_toleration_are_too_long_for_a_single_pod() {
    check(&(nodes(4, &["a", "b"]) + &served("web", 1).pods(DATA).text() + &decoys()), "toleration", WEB);
}

#[test]
fn a_patch_keeps_what_was_added_meanwhile_and_fails_where_what_it_replaces_was_changed() {
    let own = "tolerations: [{key: own, operator: Exists}, {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, \
               tolerationSeconds: 600}, {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: \
               600}]";
    let cluster = nodes(4, &["a", "b"]) + &served("web", 1).pods(DATA).pods(own).text() + &decoys();
    let (outcome, _) = found(&cluster, None, "toleration", WEB);
    let (_, patches) = outcome.patches().next().expect("a patch");
    let Some(kubectl) = kubectl() else { return say_skipped("a patch of what was changed") };
    let lines = json_patches(&patches.shell);
    let [(_, patch)] = &lines[..] else { panic!("{}", patches.shell) };
    let is_web = |of: &Value| of["kind"] == "Deployment" && of["metadata"]["name"] == "web";
    let deployment = documents(&cluster).into_iter().find(is_web).expect("a Deployment");
    let arguments = ["patch", "--type=json", "-p", patch];
    let tolerations = |of: &Value| of["spec"]["template"]["spec"]["tolerations"].as_array().expect("a list").clone();
    let mut more = deployment.clone();
    let list = more.pointer_mut("/spec/template/spec/tolerations").and_then(Value::as_array_mut).expect("a list");
    list.push(json!({"key": "meanwhile", "operator": "Exists"}));
    let made = tolerations(&by_kubectl(&kubectl, "more", &more, &arguments));
    let keys: Vec<&str> = made.iter().filter_map(|of| of["key"].as_str()).collect();
    assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "own", "meanwhile"]);
    assert_eq!(made[0]["tolerationSeconds"], 30);
    let mut changed = deployment;
    *changed.pointer_mut("/spec/template/spec/tolerations/1/tolerationSeconds").expect("a field") = json!(60);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("changed.json");
    fs::write(&file, changed.to_string()).expect("a place for the document");
    let mut command = Command::new(kubectl);
    command.args(arguments).args(["--local", "-o", "json", "-f"]).arg(&file).env("KUBECONFIG", "/dev/null");
    let out = command.output().expect("kubectl");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("test failed"), "{said}");
}

#[test]
fn services_go_before_batches_when_room_is_short() {
    let large = |name, replicas| Workload { cpu: "1500m", ..served(name, replicas) };
    let batch = Workload { has_service: false, ..large("batch", 2) }
        .text()
        .replace("containers:", "terminationGracePeriodSeconds: 5\n      containers:");
    let web = large("web", 1).pods(DATA).pods(PATIENT).text();
    let cluster = nodes(3, &["a", "b", "c"]) + &web + &batch;
    let outcome = worked_out(&cluster, None);
    let json = outcome.json();
    let (finding, patches) = patch_of(&outcome, &json, "priority");
    assert_eq!(finding["units"], json!(["service/shop/web"]), "{:#}", json["findings"]);
    let after = worked_out(&patched("priority", &cluster, patches), None).json();
    has_no("priority", &after);
    let of = |json: &Value| {
        let units = json["units"].as_array().expect("units").clone();
        let web = units.iter().find(|unit| unit["unit"] == "service/shop/web").expect("it is there");
        number(&web["lost_min_per_year"]["mean"])
    };
    assert!(of(&after) < 0.5 * of(&json), "{} instead of {}", of(&after), of(&json));
}

#[test]
fn what_finds_no_room_wants_a_node_more() {
    let large = |name| Workload { cpu: "1500m", ..served(name, 1) }.pods(DATA).pods(PATIENT);
    let cluster = nodes(2, &["a", "b"]) + &large("web").text() + &large("other").text();
    let outcome = worked_out(&cluster, None);
    let json = outcome.json();
    let first = &json["findings"][0];
    assert_eq!(first["fix"], "node", "{:#}", json["findings"]);
    assert_eq!(first["workloads"], json!(["deployment/shop/other", "deployment/shop/web"]));
    assert_eq!(first["price"]["nodes"], 1);
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(1));
    assert!(first["by_hand"].as_str().is_some_and(|what| what.starts_with("Add a node")), "{first:#}");
    let (_, patches) = patch_of(&outcome, &json, "node");
    let after = worked_out(&done_by_hand("node", &cluster, patches), None).json();
    has_no("node", &after);
    let whole = |json: &Value| number(&json["cost_min_per_year"]["mean"]);
    assert!(whole(&after) < 0.5 * whole(&json), "{} instead of {}", whole(&after), whole(&json));
}

#[test]
fn a_stateful_set_waits_for_a_dead_node_until_somebody_says_that_it_is_dead() {
    let spec = "  serviceName: web\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: \
                {requests: {storage: 1Gi}}}}]\n";
    let web = Workload { is_stateful_set: true, spec, ..served("web", 1) }.pods(PATIENT);
    let outcome = worked_out_by(&(nodes(3, &["a", "b"]) + &web.text() + &decoys()), None, 8);
    let (outcome, json) = is_first(outcome, "outOfService", "statefulset/shop/web");
    let first = &json["findings"][0];
    assert!(number(&first["worst"]["cost_min"]) > 29.0 && number(&first["worst_after_min"]) < 12.0, "{first:#}");
    assert!(
        number(&first["saved_min_per_year"]["cost"]["mean"]) > 5.0,
        "years are played with the runbook, too: {first:#}"
    );
    assert!(number(&first["price"]["interventions_per_year"]) > 1.0, "{first:#}");
    let (_, patches) = patch_of(&outcome, &json, "outOfService");
    assert!(patches.yaml.is_empty(), "{}", patches.yaml);
    let lines: Vec<&str> = patches.shell.lines().filter(|line| line.starts_with("kubectl ")).collect();
    let [waits, taints] = lines[..] else { panic!("{lines:?}") };
    let lost = json["incidents"].as_array().expect("incidents").iter();
    let lost = lost
        .filter(|row| row["kind"] == "nodeLost")
        .max_by(|a, b| number(&a["lost_min"]).total_cmp(&number(&b["lost_min"])));
    let node = lost.and_then(|row| row["incident"].as_str()?.strip_prefix("nodeLost/")).expect("a node");
    let cluster = nodes(3, &["a", "b"]) + &web.text() + &decoys();
    // In the hour in which the machine is lost it does what was promised; where the kubelet is heard of, it ends at its first line.
    let typed = |at: &str, lines: &[&str]| {
        let lines: String = lines.iter().map(|line| format!("      {}\n", line.replace("\"$NODE\"", node))).collect();
        let scenario = format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: typed}}\nspec:\n  duration: 1h\n  cluster: \
             {{manifests: [cluster.yaml]}}\n  timeline:\n  - {{at: 1m, fault: {{kind: Crash, nodes: {{names: [{node}]}}, for: 30m}}}}\n  \
             - at: {at}\n    kubectl: |\n{lines}"
        );
        let settled = Scenario::parse(&scenario, [("cluster.yaml", cluster.as_str())]).expect("a scenario").settle();
        settled.play_with(0, &PlayOptions::new().summary_only()).summary()
    };
    let summary = typed("11m", &[waits, taints]);
    assert_eq!(summary["counts"]["commands_failed"], 0, "{lines:?}");
    let minutes = number(&summary["metrics"]["lost_traffic_s"]) / 60.0;
    assert!(minutes < 12.0, "{minutes} lost");
    assert_eq!(typed("30s", &[waits])["counts"]["commands_failed"], 1, "{waits}");
    let Some(kubectl) = kubectl() else { return say_skipped("the runbook's lines") };
    for line in lines {
        // Without a server kubectl gets as far as asking for the node: what is written is understood.
        let script = line.replace("kubectl", kubectl.to_str().expect("a path"));
        let out =
            Command::new("sh").args(["-c", &script]).env("NODE", "node-0").env("KUBECONFIG", "/dev/null").output();
        let said = String::from_utf8_lossy(&out.expect("sh").stderr).into_owned();
        assert!(!said.contains("invalid") && !said.contains("unknown") && !said.contains("unrecognized"), "{said}");
    }
}

#[test]
fn what_uses_more_than_it_requests_is_evicted_first() {
    let uses = |name, replicas, annotations, memory| Workload { annotations, memory, ..served(name, replicas) };
    let web =
        uses("web", 1, "kubesquall.sim/usage: '{memory: 3Gi}', kubesquall.sim/ready: 5m", "0").pods(DATA).pods(PATIENT);
    // These use more than they request as well, and lose nothing by it.
    let many = uses("many", 6, "kubesquall.sim/usage: '{memory: 1200Mi}'", "1Gi");
    let catalogue = "drainsPerYear: 0\npressuresPerYear: 24\n";
    check_with(&(nodes(4, &["a", "b"]) + &web.text() + &many.text()), Some(catalogue), "requests", WEB);
}

#[test]
fn a_pool_in_one_zone_wants_nodes_in_another() {
    let cluster = nodes(4, &["a"]) + &served("web", 2).text();
    let (outcome, json) = found(&cluster, None, "zone", WEB);
    let first = &json["findings"][0];
    assert!(first["worst"]["incident"] == "zoneLost/zone-a" && number(&first["worst_after_min"]) < 2.0, "{first:#}");
    assert_eq!(first["price"]["nodes"], 2);
    let (_, patches) = patch_of(&outcome, &json, "zone");
    let more = worked_out(&done_by_hand("zone", &cluster, patches), None).json();
    has_no("zone", &more);
    let after = worked_out(&(nodes(6, &["a", "b", "a"]) + &served("web", 2).text()), None).json();
    assert_eq!(after["findings"], json!([]), "{:#}", after["findings"]);
}

#[test]
fn a_probe_that_looks_late_is_moved() {
    let late =
        Workload { container: ", readinessProbe: {initialDelaySeconds: 600, httpGet: {port: 80}}", ..served("web", 1) };
    check(&(nodes(4, &["a", "b"]) + &late.pods(DATA).pods(PATIENT).text() + &decoys()), "probe", WEB);
}

#[test]
fn a_roll_out_that_waits_for_a_place_takes_one_first() {
    check(&(nodes(3, &["a", "b", "c"]) + &served("web", 3).pods(APART).text() + &decoys()), "rollOut", WEB);
}

#[test]
fn a_cluster_without_flaws_has_no_findings() {
    let web = served("web", 3).text() + &budget("web", "maxUnavailable: 1");
    let json = worked_out(&(nodes(6, &["a", "b", "c"]) + &web + &decoys()), None).json();
    assert_eq!(json["findings"], json!([]), "{:#}", json["findings"]);
}
