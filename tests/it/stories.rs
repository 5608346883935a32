//! What stories tell that nobody sees in one table: where a recovery waited for volumes and taints, who removed a node, whom a trap met.

use std::collections::BTreeMap;
use std::path::Path;

use kubesquall::inspect::{Part, Sentence, Story, Sum, tell};

use super::explain::{times, written, wrong};

/// Plays twenty minutes of three nodes with these objects, and writes the files.
fn played(nodes: &str, timeline: &str, objects: &[String]) -> tempfile::TempDir {
    written(&format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: stories}}\nspec: {{duration: 20m, seed: 1, cluster: \
         {{nodePools: [{{name: n, {nodes}, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, \
         latency: {{podStart: {{constant: 1s}}}}, timeline: [{timeline}]}}\n---\n{}\n",
        objects.join("\n---\n")
    ))
}

fn workload(kind: &str, name: &str, more: &str) -> String {
    let (size, service) = match kind {
        "DaemonSet" => ("", ""),
        "StatefulSet" => ("replicas: 2, ", "serviceName: s, "),
        _ => ("replicas: 3, ", ""),
    };
    format!(
        "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, namespace: default}}, spec: {{{size}{service}selector: \
         {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{more}\
         containers: [{{name: c, image: i}}]}}}}}}}}"
    )
}

fn table(run: &Path, file: &str) -> Vec<BTreeMap<String, String>> {
    let mut table = csv::Reader::from_path(run.join(file)).expect("a table");
    table.deserialize().map(|row| row.expect("a row")).collect()
}

fn seconds(row: &BTreeMap<String, String>, column: &str) -> Option<i64> {
    row[column].parse::<f64>().ok().map(|seconds| (seconds * 1000.0).round() as i64)
}

fn text(sentence: &Sentence) -> String {
    let parts = sentence.0.iter().map(|part| match part {
        Part::Text(text) | Part::Object(text) => text.clone(),
        Part::At(_) | Part::Lasting(_) => "…".to_owned(),
    });
    parts.collect()
}

fn facts(story: &Story) -> String {
    story.facts.iter().map(text).collect::<Vec<_>>().join("\n")
}

/// Milliseconds of what a sum has behind an instant of the run.
fn behind(sum: &Sum, from: i64) -> Option<i64> {
    let last = sum.terms.iter().rev().find_map(|term| term.until)?;
    Some(last.as_nanos() / 1_000_000 - from)
}

#[test]
fn sums_are_as_long_as_disruptions_has_it_to_the_millisecond() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: fails, namespace: default}, spec: {backoffLimit: 3, template: {metadata: \
               {annotations: {kubesquall.sim/run-for: 60s, kubesquall.sim/exit-code: '1'}}, spec: {restartPolicy: Never, containers: \
               [{name: c, image: i}]}}}}";
    let objects = [
        workload("Deployment", "web", ""),
        workload("StatefulSet", "db", ""),
        workload("DaemonSet", "agent", ""),
        job.to_owned(),
    ];
    let timeline = "{at: 61s, fault: {kind: Crash, nodes: {names: [n-0]}, for: 9m}}, {at: 137s, kubectl: drain n-1 --ignore-daemonsets --force}, \
                    {at: 4m, kubectl: delete pod -l app=web --wait=false}, {at: 733s, kubectl: drain n-2 --ignore-daemonsets --force}";
    let dir = played("count: 3", timeline, &objects);
    let run = dir.path().join("run");
    let times = times(&run);
    let rows = table(&run, "disruptions.csv");
    let mut held = 0;
    for row in rows.iter().filter(|row| row["outcome"] == "replaced") {
        let story = tell(&run, &format!("pod/{}/{}", row["namespace"], row["name"])).expect("a story");
        assert_eq!(wrong(&story, &times), Vec::<String>::new());
        let from = seconds(row, "stopped_s").or_else(|| seconds(row, "lost_s")).expect("an instant");
        let total = seconds(row, "total_s").expect("a length");
        let found: Vec<i64> = story.sums.iter().filter_map(|sum| behind(sum, from)).collect();
        assert!(found.contains(&total), "{row:?}: {found:?}");
        let lengths: i64 =
            row.keys().filter(|name| PHASES.contains(&name.as_str())).filter_map(|name| seconds(row, name)).sum();
        assert_eq!(lengths, total, "{row:?}");
        held += 1;
    }
    assert!(held >= 8, "{rows:#?}");
}

const PHASES: [&str; 9] = [
    "detect_s",
    "wait_s",
    "recreate_s",
    "schedule_s",
    "dead_node_s",
    "attach_s",
    "mount_s",
    "start_s",
    "become_ready_s",
];

#[test]
fn a_daemon_set_that_wants_no_pod_at_a_tainted_node_is_told_by_the_taint() {
    let timeline = "{at: 2m, kubectl: 'taint nodes n-1 dedicated=x:NoSchedule'}, {at: 3m, kubectl: delete pod -l app=agent --wait=false}, \
                    {at: 5m, kubectl: 'taint nodes n-1 dedicated-'}";
    let dir = played("count: 3", timeline, &[workload("DaemonSet", "agent", "")]);
    let run = dir.path().join("run");
    let rows = table(&run, "disruptions.csv");
    let row = rows.iter().find(|row| row["node"] == "n-1").expect("its pod was deleted");
    let story = tell(&run, &format!("pod/default/{}", row["name"])).expect("a story");
    let terms = &story.sums[0].terms;
    let tainted = terms.iter().find(|term| term.name == "node tainted").unwrap_or_else(|| panic!("{terms:#?}"));
    assert_eq!(
        text(&tainted.why),
        "a DaemonSet makes no pod for node/n-1, as long as that is tainted dedicated:NoSchedule"
    );
    assert!((119.0..121.0).contains(&tainted.takes.as_secs_f64()), "{tainted:?}");
    let recreate = terms.iter().find(|term| term.name == "recreate").expect("a term");
    assert!(recreate.takes.as_secs_f64() < 2.0, "{recreate:?}");
}

#[test]
fn a_node_tells_who_removed_it_and_whether_it_was_ever_ready() {
    let timeline = "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}, {at: 2m, kubectl: delete node n-1 --wait=false}, \
                    {at: 3m, addNodes: {pool: n, count: 1}}";
    let dir = played("count: 3", timeline, &[workload("Deployment", "web", "")]);
    let run = dir.path().join("run");
    let gone = facts(&tell(&run, "node/n-0").expect("a story"));
    assert!(gone.contains("by the cloud node lifecycle controller, as the cloud no longer has its machine"), "{gone}");
    let story = tell(&run, "node/n-0").expect("a story");
    let deletion =
        story.steps.iter().find(|step| text(&step.says).starts_with("Its object was deleted")).expect("a step");
    assert!(text(&deletion.says).ends_with("as the cloud no longer has its machine"), "{deletion:?}");
    assert!(deletion.origin.is_some(), "{deletion:?}");
    let deleted = facts(&tell(&run, "node/n-1").expect("a story"));
    assert!(deleted.contains("deleted, because of kubectl delete node n-1"), "{deleted}");
    let joined = facts(&tell(&run, "node/n-3").expect("a story"));
    assert!(joined.contains("first Ready at") && !joined.contains("again"), "{joined}");
}

#[test]
fn a_trap_is_in_the_story_of_everything_that_it_decided_about() {
    let timeline = "{at: 60s, fault: {kind: Partition, nodes: {fraction: 1}, for: 10m}}";
    let dir = played("count: 3", timeline, &[workload("Deployment", "web", "").replace("replicas: 3", "replicas: 9")]);
    let run = dir.path().join("run");
    let trapped = table(&run, "traps.csv");
    let pods: Vec<&str> =
        trapped.iter().filter(|row| row["trap"] == "stopped-evictions").map(|row| row["object"].as_str()).collect();
    assert_eq!(pods.len(), 9, "{trapped:?}");
    for object in pods.into_iter().chain(["deployment/default/web", "node/n-0", "node/n-1", "node/n-2"]) {
        let said = facts(&tell(&run, object).expect("a story"));
        assert!(said.contains("A known trap, stopped-evictions"), "{object}: {said}");
    }
}

#[test]
fn what_comes_in_the_place_of_a_pod_comes_after_its_end() {
    let job = "{apiVersion: batch/v1, kind: Job, metadata: {name: jb, namespace: default}, spec: {completions: 2, parallelism: 1, template: \
               {metadata: {annotations: {kubesquall.sim/run-for: 30s}}, spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}";
    let timeline = "{at: 3m, kubectl: set image sts/db c=j}, {at: 4m, kubectl: set image ds/agent c=j}, {at: 6m, kubectl: delete job jb}";
    // From nothing: the pods of the set, and those of the Job, come one after the other, each for what happened to the one before.
    let dir = written(&format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: stories}}\nspec: {{duration: 10m, seed: 1, cluster: \
         {{bootstrap: cold, nodePools: [{{name: n, count: 3, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, \
         timeline: [{timeline}]}}\n---\n{}\n---\n{}\n---\n{job}\n",
        workload("StatefulSet", "db", ""),
        workload("DaemonSet", "agent", "")
    ));
    let run = dir.path().join("run");
    let steps = |object: &str| {
        let story = tell(&run, object).expect("a story");
        story.steps.iter().map(|step| text(&step.says)).collect::<Vec<_>>()
    };
    let set = steps("statefulset/default/db");
    for name in ["db-0", "db-1"] {
        let said = format!("in its place pod/default/{name}, ");
        let of_name = |step: &&String| step.starts_with(&format!("pod/default/{name} ")) && step.contains(&said);
        assert_eq!(set.iter().filter(of_name).count(), 1, "{set:#?}");
        let of_pod = facts(&tell(&run, &format!("pod/default/{name}")).expect("a story"));
        assert_eq!(of_pod.matches(&format!("It came for pod/default/{name}")).count(), 1, "{of_pod}");
        assert_eq!(of_pod.matches("It came for").count(), 1, "{of_pod}");
    }
    let pods = table(&run, "pods.csv");
    let node_of = |pod: &str| pods.iter().find(|row| pod.ends_with(&row["name"])).map(|row| row["node"].clone());
    for row in pods.iter().filter(|row| row["owner_kind"] == "DaemonSet" && !row["deletion_s"].is_empty()) {
        let said = facts(&tell(&run, &format!("pod/default/{}", row["name"])).expect("a story"));
        let next = said.split("It was replaced by ").nth(1).and_then(|rest| rest.split(',').next()).expect("a pod");
        assert_eq!(node_of(next).as_ref(), Some(&row["node"]), "{said}");
    }
    // What has done its work has no successor, and what it did is no less for being deleted.
    let of_job = steps("job/default/jb");
    assert!(
        of_job.iter().any(|step| step.contains("jb-")) && !of_job.iter().any(|step| step.contains("place")),
        "{of_job:#?}"
    );
    let counted = facts(&tell(&run, "job/default/jb").expect("a story"));
    assert!(counted.starts_with("2 completions wanted; of its pods 2 succeeded"), "{counted}");
}

#[test]
fn a_workload_was_short_as_the_summary_has_it_whoever_has_its_pods_later() {
    // Pods that are left as orphans, and daemon pods where they are not wanted any more.
    let timeline = "{at: 1m, kubectl: delete pod db-1}, {at: 2m, kubectl: delete sts db --cascade=orphan}, \
                    {at: 1m, kubectl: delete pod -l app=web --force --grace-period=0}, {at: 3m, kubectl: delete deploy web --cascade=orphan}, \
                    {at: 4m, kubectl: 'taint node n-0 k=v:NoSchedule'}, {at: 5m, kubectl: delete pod -l app=agent --field-selector \
                    spec.nodeName=n-2}";
    let objects = [("StatefulSet", "db"), ("Deployment", "web"), ("DaemonSet", "agent")];
    let dir = played("count: 3", timeline, &objects.map(|(kind, name)| workload(kind, name, "")));
    let run = dir.path().join("run");
    let summary = std::fs::read_to_string(run.join("summary.json")).expect("a summary");
    let summary: serde_json::Value = serde_json::from_str(&summary).expect("JSON");
    let workloads = summary["workloads"].as_array().expect("workloads");
    for (kind, name) in objects {
        let of = workloads.iter().find(|of| of["kind"] == kind && of["name"] == name).expect("the workload");
        let story = tell(&run, &format!("{}/default/{name}", kind.to_lowercase())).expect("a story");
        let (from, to) = story.worst.expect("a shortage");
        let longest = of["longest_short_s"].as_f64().expect("seconds");
        assert!(
            longest > 1.0 && (to.as_secs_f64() - from.as_secs_f64() - longest).abs() < 0.002,
            "{name}: {longest} {story:#?}"
        );
        let said = facts(&story);
        let most = format!("Short of up to {} from", of["missing_max"]);
        assert!(said.matches("Short of").count() == 1 && said.contains(&most), "{name}: {said}");
        assert!(said.contains(&format!("{} of {} ready at the end", of["ready"], of["desired"])), "{name}: {said}");
    }
}
