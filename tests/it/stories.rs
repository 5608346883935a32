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
