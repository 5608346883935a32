//! Plans on the command line: the answer, its files, and what is refused.

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::assert::OutputAssertExt as _;

use super::binary::command as kubesquall;
use super::determinism::files;

/// Four pods of one CPU on nodes of two CPUs in two zones.
fn plan(dir: &Path, survive: &str, max: u32) -> PathBuf {
    plan_from(dir, survive, 1, max)
}

fn plan_from(dir: &Path, survive: &str, min: u32, max: u32) -> PathBuf {
    let scenario = "\
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: four}
spec:
  duration: 20m
  cluster:
    nodePools:
    - {name: worker, count: 2, zones: [a, b], template: {status: {allocatable: {cpu: \"2\", memory: 4Gi, pods: \"110\"}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 4
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, resources: {requests: {cpu: \"1\"}}}]}
";
    fs::write(dir.join("four.yaml"), scenario).expect("a scenario");
    let plan = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Plan\nmetadata: {{name: four}}\nspec:\n  scenario: four.yaml\n  pools:\n  \
         - {{name: worker, min: {min}, max: {max}}}\n  survive: {survive}\n"
    );
    let path = dir.join("plan.yaml");
    fs::write(&path, plan).expect("a plan");
    path
}

fn summary(dir: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(dir.join("summary.json")).expect("a summary")).expect("JSON")
}

#[test]
fn the_fewest_nodes_are_found_and_what_binds_them_is_said() {
    #[track_caller]
    fn check(survive: &str, expected: u32, lost: &str) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let plan = plan(dir.path(), survive, 9);
        let out = dir.path().join("out");
        let arguments = ["plan", plan.to_str().expect("plain text"), "-q", "--out", out.to_str().expect("plain text")];
        kubesquall(&arguments).assert().success();
        let summary = summary(&out);
        assert_eq!(summary["answer"]["counts"]["worker"], expected, "{survive}");
        assert_eq!(summary["answer"]["nodes"], expected);
        let binding = &summary["binding"][0];
        assert_eq!(binding["counts"]["worker"], expected - 1, "{survive}");
        let failure = &binding["failures"][0];
        assert_eq!(failure["lost"], lost, "{survive}");
        assert!(failure["shortfall"]["object"].as_str().is_some_and(|pod| pod.starts_with("pod/default/web-")));
        assert!(failure["shortfall"]["why"].as_str().is_some_and(|why| why.contains("Insufficient cpu")));
    }
    // Two nodes have to be left: beside one or two that are lost, and in each of two zones.
    check("[node]", 3, "worker-0");
    check("[{nodes: 2}]", 4, "worker-0 + worker-2");
    check("[zone]", 4, "zone a");
    check("[rollingUpgrade]", 3, "pool worker");
    check("[node, zone]", 4, "zone a");
}

#[test]
fn what_nothing_survives_ends_with_one_and_the_pod_that_binds() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[zone]", 3);
    let out = dir.path().join("out");
    let arguments = ["plan", plan.to_str().expect("plain text"), "--out", out.to_str().expect("plain text")];
    let ended = kubesquall(&arguments).assert().code(1);
    let said = String::from_utf8_lossy(&ended.get_output().stdout).into_owned();
    assert!(said.starts_with("four: nothing up to 3 of worker survives zone\n"), "{said}");
    assert!(said.contains("zone, zone a: pod/default/web-"), "{said}");
    assert!(summary(&out)["answer"].is_null());
}

#[test]
fn a_plan_gives_equal_bytes_with_one_thread_and_eight() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[zone, node, {nodes: 2}, rollingUpgrade, four.yaml]", 9);
    let results = ["1", "8"].map(|jobs| {
        let out = dir.path().join(format!("out-{jobs}"));
        let place = out.to_str().expect("plain text");
        kubesquall(&["plan", plan.to_str().expect("plain text"), "-q", "--jobs", jobs, "--out", place])
            .assert()
            .success();
        files(&out)
    });
    let names: Vec<String> = results[0].iter().map(|(name, _)| name.display().to_string()).collect();
    assert_eq!(names, ["cases.csv", "charts/survival-matrix.svg", "plan.csv", "report.html", "summary.json"]);
    assert!(results[0] == results[1]);
}

#[test]
fn the_answer_says_how_much_workloads_may_grow() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan_from(dir.path(), "[node, zone]", 6, 9);
    let out = dir.path().join("out");
    let place = out.to_str().expect("plain text");
    let question = ["--headroom", "deployment/default/web"];
    let path = plan.to_str().expect("plain text");
    let ended = kubesquall(&["plan", path, "--out", place, question[0], question[1]]).assert().success();
    // Three nodes of two CPUs are left, and four of the six are taken.
    let headroom = &summary(&out)["headroom"][0];
    assert_eq!((headroom["replicas"].as_u64(), headroom["more"].as_u64()), (Some(4), Some(2)));
    assert_eq!(headroom["binding"][0]["case"], "zone");
    let said = String::from_utf8_lossy(&ended.get_output().stdout).into_owned();
    assert!(said.contains("deployment/default/web may grow by 2, from 4 to 6"), "{said}");
    let unknown = kubesquall(&["plan", path, "--out", place, question[0], "deployment/default/wbe"]).assert().code(2);
    let said = String::from_utf8_lossy(&unknown.get_output().stderr).into_owned();
    assert!(said.contains("the nearest is `deployment/default/web`"), "{said}");
}

/// Alone, 2 of 30 placements let `small` grow by 3, 10 by 4, 18 by 5.
#[test]
fn workloads_may_grow_as_far_as_the_placements_that_count_allow() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let workload = |name: &str, replicas: u32, cpu: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  replicas: {replicas}\n  \
             selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    \
             spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]}}\n"
        )
    };
    let cluster = "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  duration: 20m\n  seed: 1\n  cluster:\n    \
                   nodePools:\n    - {name: worker, count: 3, template: {status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \"110\"}}}}\n";
    let scenario = [cluster.to_owned(), workload("big", 2, "2500m"), workload("small", 4, "700m")].concat();
    fs::write(dir.path().join("s.yaml"), scenario).expect("a scenario");
    let grown = |more: &str, option: &[&str]| {
        let plan = dir.path().join("plan.yaml");
        let text = "apiVersion: kubesquall.sim/v1alpha1\nkind: Plan\nmetadata: {name: p}\nspec:\n  scenario: s.yaml\n  \
                    pools: [{name: worker, min: 4, max: 4}]\n  survive: [node]\n";
        fs::write(&plan, format!("{text}{more}")).expect("a plan");
        let out = dir.path().join("out");
        let place = |path: &Path| path.to_str().expect("plain text").to_owned();
        let arguments = ["plan", &place(&plan), "-q", "--headroom", "deployment/shop/small", "--out", &place(&out)];
        kubesquall(&arguments).args(option).assert().success();
        let found = summary(&out)["headroom"][0].clone();
        let number = |name: &str| found[name].as_u64().expect("a number");
        (number("more"), number("survived"), number("placements"))
    };
    assert_eq!(grown("", &[]), (3, 30, 30));
    assert_eq!(grown("  probability: 85%\n", &[]), (3, 30, 30));
    assert_eq!(grown("  probability: 80%\n", &[]), (4, 24, 30));
    assert_eq!(grown("", &["--placement", "0"]), (5, 1, 1));
    assert_eq!(grown("", &["--placement", "16"]), (3, 1, 1));
}

#[test]
fn losses_are_ranked_by_what_they_cost() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[node]", 4);
    let out = dir.path().join("out");
    let (place, path) = (out.to_str().expect("plain text"), plan.to_str().expect("plain text"));
    kubesquall(&["plan", path, "-q", "--out", place, "--blast-radius=kubernetes.io/os"]).assert().success();
    let table = fs::read_to_string(out.join("blast-radius.csv")).expect("a table");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let costs: Vec<f64> = rows.iter().map(|row| row[4].parse().expect("seconds")).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{table}");
    // Whatever is lost with all nodes costs most; after it come two of the three nodes, which leave pods Pending.
    assert_eq!((rows[0][0], rows[0][1]), ("kubernetes.io/os", "os linux"));
    assert!(rows[1..].iter().all(|row| (row[6] != "0") == (row[2] == "2")), "{table}");
    let unknown = kubesquall(&["plan", path, "--out", place, "--blast-radius=rack"]).assert().code(2);
    let said = String::from_utf8_lossy(&unknown.get_output().stderr).into_owned();
    assert!(said.contains("no node has the label `rack`"), "{said}");
}

#[test]
fn a_directory_of_something_else_is_left_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[node]", 4);
    let out = dir.path().join("thesis");
    fs::create_dir(&out).expect("a directory");
    fs::write(out.join("thesis.txt"), "years of work").expect("a file");
    let arguments = ["plan", plan.to_str().expect("plain text"), "--out", out.to_str().expect("plain text")];
    let ended = kubesquall(&arguments).assert().code(2);
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(said.contains("--force"), "{said}");
    assert_eq!(files(&out).len(), 1);
    // Results of a run are not this plan's either.
    fs::write(out.join("summary.json"), "{\"scenario\": \"earlier\"}").expect("a file");
    let ended = kubesquall(&arguments).assert().code(2);
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(said.contains("holds other results than those of the plan four"), "{said}");
    assert_eq!(files(&out).len(), 2);
}

#[test]
fn the_chart_and_the_page_of_a_plan_are_made_again_from_its_tables() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (study, out) = (plan(dir.path(), "[zone]", 8), dir.path().join("out"));
    let text = |path: &Path| path.display().to_string();
    kubesquall(&["-q", "plan", &text(&study), "--out", &text(&out)]).assert().success();
    let chart = out.join("charts/survival-matrix.svg");
    let (first, page) = (fs::read(&chart).expect("a chart"), fs::read(out.join("report.html")).expect("the page"));
    fs::write(out.join("report.html"), "").expect("written");
    fs::remove_dir_all(out.join("charts")).expect("removed");
    kubesquall(&["report", &text(&out)]).assert().success();
    assert!(fs::read(&chart).expect("a chart") == first);
    assert!(fs::read(out.join("report.html")).expect("the page") == page, "made again, the page is another");
    let cases = fs::read_to_string(out.join("cases.csv")).expect("a table");
    fs::write(out.join("cases.csv"), cases.replacen("survived", "survives", 1)).expect("written");
    let refused = kubesquall(&["report", &text(&out)]).assert().code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("cases.csv`, line 1: there is no column `survived`"), "{said}");
}

/// A plan for pools `a` and `b` of nodes of two CPUs, with more about the scenario and other objects.
fn plan_with(dir: &Path, pools: &str, survive: &str, spec: &str, objects: &[&str]) -> PathBuf {
    let template = "template: {status: {allocatable: {cpu: \"2\", memory: 4Gi, pods: \"110\"}}}";
    let objects: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    let scenario = |more: &str| {
        format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: four}}\nspec:\n  duration: 20m\n  cluster:\n    \
             nodePools:\n    - {{name: a, count: 2, zones: [x, y], {template}}}\n    - {{name: b, count: 0, zones: [x, y], \
             {template}}}\n{more}{objects}"
        )
    };
    fs::write(dir.join("four.yaml"), scenario(spec)).expect("a scenario");
    let crash = "  timeline: [{at: 10s, fault: {kind: Crash, nodes: {names: [a-0]}}}]\n";
    fs::write(dir.join("own.yaml"), scenario(&format!("{spec}{crash}"))).expect("a scenario");
    let plan = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Plan\nmetadata: {{name: four}}\nspec:\n  scenario: four.yaml\n  pools: {pools}\n  \
         survive: {survive}\n"
    );
    let path = dir.join("plan.yaml");
    fs::write(&path, plan).expect("a plan");
    path
}

fn deployment(name: &str, replicas: u32, cpu: &str, more: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}}}, spec: {{replicas: {replicas}, selector: {{matchLabels: \
         {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{more} containers: [{{name: c, image: c, \
         resources: {{requests: {{cpu: \"{cpu}\"}}}}}}]}}}}}}}}"
    )
}

/// How many nodes of pool `a` survive.
#[track_caller]
fn answer_of_a(survive: &str, spec: &str, objects: &[&str]) -> u64 {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan_with(dir.path(), "[{name: a, min: 1, max: 9}]", survive, spec, objects);
    let (place, path) = (dir.path().join("out").display().to_string(), plan.display().to_string());
    kubesquall(&["-q", "plan", &path, "--out", &place]).assert().success();
    summary(&dir.path().join("out"))["answer"]["counts"]["a"].as_u64().expect("an answer")
}

#[test]
fn pods_that_wait_for_a_gate_rule_nothing_out() {
    let (web, gate) = (deployment("web", 4, "1", ""), "schedulingGates: [{name: example.com/wait}],");
    let gated = deployment("gated", 4, "2", gate);
    assert_eq!(answer_of_a("[node]", "", &[&web]), 3);
    assert_eq!(answer_of_a("[node]", "", &[&web, &gated]), 3);
}

#[test]
fn pods_that_an_autoscaler_may_take_away_rule_nothing_out() {
    let web = deployment("web", 4, "1", "");
    let autoscaler = "  horizontalPodAutoscalers:\n  - {target: deployment/default/web, minReplicas: 2, maxReplicas: 8, \
                      targetUtilization: 60, perReplica: 100, load: [{at: 0s, load: 100}]}\n";
    // Two of the four are enough for the load: one node of two holds them.
    assert_eq!(answer_of_a("[node]", autoscaler, &[&web]), 2);
}

#[test]
fn no_autoscaler_adds_nodes_in_a_scenario_of_a_case_either() {
    let web = deployment("web", 4, "1", "");
    let autoscaler =
        "  latency: {nodeBoot: {constant: 60s}}\n  clusterAutoscaler: {pools: [{name: a, min: 0, max: 30}]}\n";
    for (case, spec) in [("[own.yaml]", ""), ("[own.yaml]", autoscaler), ("[node]", autoscaler)] {
        assert_eq!(answer_of_a(case, spec, &[&web]), 3, "{case}, {spec}");
    }
}

#[test]
fn a_mix_whose_play_stopped_at_the_first_failure_says_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // The three nodes that are left of four give the CPU that is asked for, but each has room for one pod only.
    let web = deployment("web", 4, "1500m", "");
    let pools = "[{name: a, min: 1, max: 3}, {name: b, min: 1, max: 3}]";
    let plan = plan_with(dir.path(), pools, "[node]", "", &[&web]);
    let out = dir.path().join("out");
    let ended =
        kubesquall(&["plan", &plan.display().to_string(), "--out", &out.display().to_string()]).assert().success();
    let said = String::from_utf8_lossy(&ended.get_output().stdout).into_owned();
    assert!(said.starts_with("four: 2 of a and 3 of b survive node in 30 of 30 placements\n"), "{said}");
    let proof = "at a price of 5; none of the 6 mixes before it, cheaper or as cheap with no more nodes, survives";
    assert!(said.contains(proof), "{said}");
    assert!(said.contains("fails, stopped at the first"), "{said}");
    let tried = fs::read_to_string(out.join("plan.csv")).expect("a table");
    assert!(
        tried.lines().any(|line| line.starts_with("3,1,4,4,fails,2,1,") && line.ends_with(",true,1,0,0,0")),
        "{tried}"
    );
    // One node less than the answer was played in every placement.
    assert!(
        tried.lines().any(|line| line.starts_with("2,2,4,4,fails,") && line.ends_with(",true,30,0,0,0")),
        "{tried}"
    );
    assert!(said.contains("2 of a and 2 of b do not in any of 30 placements:"), "{said}");
    let chart = fs::read_to_string(out.join("charts/survival-matrix.svg")).expect("a chart");
    assert!(chart.contains("fails, stopped at the first") && !chart.contains("none survived"));
}

#[test]
fn the_pods_that_a_lost_node_takes_along_by_their_nature_do_not_rank_losses() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let agent = deployment("agent", 0, "100m", "").replace("Deployment", "DaemonSet").replace("replicas: 0, ", "");
    let plan = plan_with(dir.path(), "[{name: a, min: 4, max: 5}]", "[node]", "", &[&agent]);
    let out = dir.path().join("out");
    let (path, place) = (plan.display().to_string(), out.display().to_string());
    kubesquall(&["-q", "plan", &path, "--out", &place, "--blast-radius"]).assert().success();
    let table = fs::read_to_string(out.join("blast-radius.csv")).expect("a table");
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    assert!(rows.len() > 3 && rows.iter().all(|row| (row[4], row[5]) == ("0.000", "0")), "{table}");
}

#[test]
fn pods_that_no_node_helps_stand_beside_the_verdict_and_places_for_pods_in_the_margin() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = plan_from(dir.path(), "[node]", 3, 5);
    let scenario = fs::read_to_string(dir.path().join("four.yaml")).expect("a scenario");
    let bare = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: lonely}\nspec: {containers: [{name: c, image: i}]}\n";
    // Two nodes that are left hold four pods of five.
    let scenario = scenario.replace("pods: \"110\"", "pods: \"4\"") + bare;
    fs::write(dir.path().join("four.yaml"), scenario).expect("a scenario");
    let out = dir.path().join("out");
    let (place, path) = (out.to_str().expect("plain text"), path.to_str().expect("plain text"));
    let ended = kubesquall(&["plan", path, "--out", place]).assert().success();
    let said = String::from_utf8_lossy(&ended.get_output().stdout).into_owned();
    assert!(
        said.starts_with(
            "four: 3 of worker survive node in 30 of 30 placements, but for up to 1 pod that no number of nodes helps\n"
        ),
        "{said}"
    );
    assert!(said.contains("survives but for 1"), "{said}");
    let chart = fs::read_to_string(out.join("charts/survival-matrix.svg")).expect("a chart");
    assert!(chart.contains("survived but for so many pods that no node helps") && chart.contains("but 1"));
    assert!(said.contains("1 pod is lost for good, as of pod/default/lonely"), "{said}");
    assert!(said.contains(" places for pods stay free"), "{said}");
    let answer = &summary(&out)["answer"];
    assert_eq!(answer["lostForGoodMax"], 1);
    // Beside whatever is lost: two nodes of four places each.
    assert_eq!(answer["tightest"]["pods"], 8);
    let cases = fs::read_to_string(out.join("cases.csv")).expect("a table");
    assert!(
        cases
            .lines()
            .next()
            .is_some_and(|header| header.ends_with("why,lost_for_good,free_pods,refused,placement,seed")),
        "{cases}"
    );
    assert!(cases.lines().skip(1).any(|row| row.contains(",true,") && row.rsplit(',').nth(4) == Some("1")), "{cases}");
}

/// What a plan says, with its summary and its table of cases; the exit status is not looked at.
fn told(dir: &Path, plan: &Path, more: &[&str]) -> (String, serde_json::Value, String) {
    let out = dir.join("told");
    let (path, place) = (plan.display().to_string(), out.display().to_string());
    let arguments: Vec<&str> =
        ["plan", &path, "--force", "--out", &place].into_iter().chain(more.iter().copied()).collect();
    let ended = kubesquall(&arguments).assert();
    let said = String::from_utf8_lossy(&ended.get_output().stdout).into_owned();
    (said, summary(&out), fs::read_to_string(out.join("cases.csv")).expect("a table"))
}

#[test]
fn pods_that_wait_while_the_load_peaks_are_short_of_nodes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let web = deployment("web", 2, "1", "");
    // Two pods for most of the time, five from the fifth to the tenth minute, and a little longer.
    let load = "  horizontalPodAutoscalers:\n  - {target: deployment/default/web, minReplicas: 2, maxReplicas: 8, targetUtilization: \
                60, perReplica: 100, load: [{at: 0s, load: 100}, {at: 5m, load: 100}, {at: 5m, load: 300}, {at: 8m, load: 300}, \
                {at: 8m, load: 100}]}\n";
    let plan = plan_with(dir.path(), "[{name: a, min: 1, max: 6}]", "[node]", load, &[&web]);
    let (said, summary, cases) = told(dir.path(), &plan, &[]);
    // Three nodes of two have to be left.
    assert_eq!(summary["answer"]["counts"]["a"], 4, "{said}");
    let failure = &summary["binding"][0]["failures"][0];
    assert_eq!((&failure["case"], &failure["shortfall"]["kind"]), (&"node".into(), &"Waited".into()), "{failure}");
    let seconds = |of: &str| failure["shortfall"]["wait"][of].as_f64().expect("seconds");
    let (since, until) = (seconds("sinceSeconds"), seconds("untilSeconds"));
    assert!((300.0..420.0).contains(&since) && until - since >= 60.0 && until < 1200.0, "{failure}");
    assert!(said.contains("node, a-0: pod/default/web-") && said.contains(" has no node for "), "{said}");
    // Nothing needs to be lost: two nodes do not hold the peak.
    let calm: Vec<&str> = cases.lines().filter(|row| row.starts_with("2,calm,")).collect();
    assert!(calm.len() == 1 && calm[0].contains(",false,") && calm[0].contains(",Waited,"), "{cases}");
    // At the peak, not at the end, where two pods are left on three nodes.
    assert_eq!(summary["answer"]["tightest"]["freeCpuMilli"], 1000, "{said}");
}

#[test]
fn what_no_node_more_would_take_is_no_fault_of_the_counts() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (web, bound) = (deployment("web", 3, "1", ""), "nodeSelector: {topology.kubernetes.io/zone: x},");
    let bound = deployment("bound", 1, "100m", bound);
    let plan = plan_with(dir.path(), "[{name: a, min: 2, max: 8}]", "[own.yaml]", "", &[&web, &bound]);
    let own = fs::read_to_string(dir.path().join("own.yaml")).expect("a scenario");
    let crash = own.replace("nodes: {names: [a-0]}", "nodes: {zone: x}, for: 9m");
    assert_ne!(crash, own);
    fs::write(dir.path().join("own.yaml"), &crash).expect("a scenario");
    let (said, summary, cases) = told(dir.path(), &plan, &[]);
    // The two nodes in the other zone hold the three pods that can go there until the zone is back.
    assert_eq!(summary["answer"]["counts"]["a"], 4, "{said}");
    assert_eq!(summary["answer"]["waitedBeyondHelpMax"], 1, "{said}");
    assert!(said.contains("but for up to 1 pod that no number of nodes helps"), "{said}");
    let beware = "Beware: in the case own, which plays the scenario four, 1 pod waits";
    assert!(said.contains(beware) && said.contains("pod/default/bound-"), "{said}");
    assert!(cases.lines().any(|row| row.starts_with("3,own,") && row.contains(",Waited,")), "{cases}");
    // A node that is named is lost alone: another one in its zone would have taken the pod.
    let plan = plan_with(
        dir.path(),
        "[{name: a, min: 2, max: 8}]",
        "[own.yaml]",
        "",
        &[&deployment("web", 1, "1", ""), &bound],
    );
    let own = fs::read_to_string(dir.path().join("own.yaml")).expect("a scenario");
    fs::write(dir.path().join("own.yaml"), own.replace("[a-0]}", "[a-0]}, for: 9m")).expect("a scenario");
    let (said, summary, _) = told(dir.path(), &plan, &[]);
    assert_eq!(
        (&summary["answer"]["counts"]["a"], &summary["answer"]["waitedBeyondHelpMax"]),
        (&3.into(), &0.into()),
        "{said}"
    );
}

#[test]
fn the_margin_is_that_of_the_tightest_case_whatever_it_is() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let web = deployment("web", 2, "1", "");
    let plan = plan_with(dir.path(), "[{name: a, min: 4, max: 4}]", "[node, own.yaml]", "", &[&web]);
    let own = fs::read_to_string(dir.path().join("own.yaml")).expect("a scenario");
    fs::write(dir.path().join("own.yaml"), own.replace("[a-0]", "[a-0, a-1]")).expect("a scenario");
    let (said, summary, _) = told(dir.path(), &plan, &[]);
    let tightest = &summary["answer"]["tightest"];
    assert_eq!((&tightest["case"], &tightest["freeCpuMilli"]), (&"own".into(), &2000.into()), "{said}");
    assert!(said.contains("Margin: in the case own, which plays the scenario four, where it is tightest ("), "{said}");
}

#[test]
fn a_plan_is_played_with_another_seed_if_one_is_given() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[node, four.yaml]", 4);
    let (said, summary, _) = told(dir.path(), &plan, &["--seed", "7"]);
    assert!(said.contains("played in up to 30 placements, with seeds 7 to 36: "), "{said}");
    assert_eq!(summary["seed"], 7);
    let (said, ..) = told(dir.path(), &plan, &["--seed", "7", "--placements", "1"]);
    assert!(said.contains("each once, with seed 7: "), "{said}");
    let refused = kubesquall(&["plan", &plan.display().to_string(), "--seed", "-1"]).assert().code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("a seed is a whole number from 0 to"), "{said}");
}

#[test]
fn a_pod_that_no_count_helps_is_told_from_one_that_lacks_room() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let lonely = deployment("lonely", 1, "1", "nodeSelector: {disk: golden},");
    let plan = plan_with(dir.path(), "[{name: a, min: 1, max: 2}]", "[node]", "", &[&lonely]);
    let (said, summary, _) = told(dir.path(), &plan, &[]);
    let failure = &summary["binding"][0]["failures"][0];
    assert_eq!((&failure["case"], &failure["shortfall"]["isBeyondHelp"]), (&"calm".into(), &true.into()), "{failure}");
    assert!(
        said.contains(" stays Pending for 20m0s, from 0s on") && said.contains("a higher `max` does not help"),
        "{said}"
    );
    // Room is what these lack.
    let plan = plan_with(dir.path(), "[{name: a, min: 1, max: 2}]", "[node]", "", &[&deployment("web", 8, "1", "")]);
    let (said, ..) = told(dir.path(), &plan, &[]);
    assert!(said.contains(" stays Pending for ") && !said.contains("a higher `max`"), "{said}");
}

#[test]
fn a_higher_max_is_not_said_to_be_in_vain_where_more_nodes_survive() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan_with(dir.path(), "[{name: a, min: 1, max: 4}]", "[zone]", "", &[&deployment("web", 2, "1", "")]);
    let (said, summary, _) = told(dir.path(), &plan, &[]);
    assert_eq!(summary["answer"]["counts"]["a"], 2, "{said}");
    // The only zone is away, and the next node would stand in the other one.
    assert!(said.contains("zone, zone x: pod/default/web-") && !said.contains("a higher `max`"), "{said}");
    assert_eq!(summary["binding"][0]["failures"][0]["shortfall"].get("isBeyondHelp"), None, "{said}");
    // It was ruled out, and played nevertheless: text and tables say the same of that.
    let besides = "without zone x the nodes give 0 CPU of 2 CPU asked for (2 plays that are in no table, besides, to say what fails)";
    assert!(said.contains(&format!("1 of a ruled out: {besides}")), "{said}");
    assert!(said.contains(" and 2 of what is ruled out played in up to 30 placements"), "{said}");
    assert_eq!(summary["tried"][0]["why"], besides);
    let table = fs::read_to_string(dir.path().join("told/plan.csv")).expect("a table");
    assert!(table.contains(besides), "{table}");
}

#[test]
fn objectives_of_one_replica_are_said_to_need_another_and_no_nodes() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let objects = [deployment("one", 1, "1", ""), deployment("two", 1, "1", ""), deployment("web", 2, "1", "")];
    let goals = |share: &str, names: &[&str]| {
        let goals = names
            .iter()
            .map(|name| format!("  - {{workload: deployment/default/{name}, minReady: 1, objective: {share}}}\n"));
        format!("  slo:\n{}", goals.collect::<String>())
    };
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let pools = "[{name: a, min: 3, max: 5}]";
    let plan = plan_with(dir.path(), pools, "[node]", &goals("99%", &["one", "two", "web"]), &objects);
    let (said, summary, _) = told(dir.path(), &plan, &[]);
    let verdict = &summary["verdict"][1];
    assert_eq!(verdict["text"], "More nodes do not help 2 workloads, which have one replica each:", "{said}");
    let details = verdict["details"].to_string();
    assert!(
        details.contains("deployment/default/one misses its objective in node: enough pods are ready "),
        "{details}"
    );
    assert!(details.contains("Give them a second replica") && !details.contains("default/web"), "{details}");
    assert!(said.contains("More nodes do not help 2 workloads"), "{said}");
    // One of them alone.
    let plan = plan_with(dir.path(), pools, "[node]", &goals("99%", &["two", "web"]), &objects);
    let (said, ..) = told(dir.path(), &plan, &[]);
    assert!(said.contains("More nodes do not help deployment/default/two, which has one replica:"), "{said}");
    assert!(said.contains("lower its `objective`, or leave it out of `slo`"), "{said}");
    // Where both of two have to be there, it is told with how many nodes, and nothing is concluded.
    let both = goals("99%", &["web"]).replace("minReady: 1", "minReady: 2");
    let plan = plan_with(dir.path(), pools, "[node]", &both, &objects);
    let (said, ..) = told(dir.path(), &plan, &[]);
    assert!(said.contains("At every count that was played, which more nodes may not change:"), "{said}");
    assert!(
        said.contains("deployment/default/web misses its objective in node: ") && !said.contains("do not help"),
        "{said}"
    );
    // What survives is told nothing of the kind.
    let plan = plan_with(dir.path(), pools, "[node]", &goals("50%", &["one"]), &objects);
    let (said, ..) = told(dir.path(), &plan, &[]);
    assert!(!said.contains("do not help") && !said.contains("At every count"), "{said}");
}

#[test]
fn pods_that_a_quota_refuses_stand_beside_the_verdict_and_end_the_headroom() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[node]", 9);
    let scenario = dir.path().join("four.yaml");
    let quota = |pods: u32| {
        format!(
            "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {{name: team, namespace: default}}\nspec: {{hard: {{pods: \"{pods}\"}}}}\n"
        )
    };
    let written = fs::read_to_string(&scenario).expect("the scenario");
    let play = |pods: u32, out: &str| {
        fs::write(&scenario, format!("{written}{}", quota(pods))).expect("a scenario");
        let out = dir.path().join(out);
        let arguments = ["plan", plan.to_str().expect("plain text"), "--headroom", "deployment/default/web", "--out"];
        let output = kubesquall(&arguments).arg(&out).output().expect("it runs");
        (String::from_utf8(output.stdout).expect("text"), summary(&out))
    };
    let (text, found) = play(3, "short");
    assert!(text.contains("survives but for 1"), "calm is not whole: {text}");
    let chart = fs::read_to_string(dir.path().join("short/charts/survival-matrix.svg")).expect("the chart");
    assert!(chart.contains("but 1") && chart.contains("but 2"), "the chart says no more than the text: {chart}");
    assert!(text.contains("2 pods of deployment/default/web are refused for 19m59s, from 0s on: pods "), "{text}");
    assert!(text.contains("exceeded quota: team"), "{text}");
    // A pod on the lost node counts until it is gone.
    assert_eq!(found["answer"]["refusedMax"], 2);
    assert_eq!(found["headroom"][0]["more"], 0);

    let (text, found) = play(6, "wide");
    assert!(!text.contains("survives but for"), "{text}");
    assert_eq!(found["answer"]["refusedMax"], 0);
    // Three nodes of two CPUs, of which one is lost, hold the four pods alone.
    assert_eq!(found["headroom"][0]["more"], 0);
    fs::write(&plan, fs::read_to_string(&plan).expect("the plan").replace("min: 1", "min: 9")).expect("a plan");
    let (text, found) = play(6, "grown");
    // Six of six are there with two more; that on the lost node counts until it is gone, and its successor is refused.
    assert_eq!(found["headroom"][0]["more"], 1, "{text}");
    assert_eq!(found["headroom"][0]["binding"][0]["shortfall"]["kind"], "Refused");
    assert!(text.contains("its pods are refused: "), "{text}");
}

#[test]
fn headroom_of_a_workload_that_an_autoscaler_scales_is_not_asked() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = plan(dir.path(), "[node]", 9);
    let scenario = dir.path().join("four.yaml");
    let written = fs::read_to_string(&scenario).expect("the scenario");
    let scaler = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web, namespace: default}\nspec: {maxReplicas: 9, \
                  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n";
    fs::write(&scenario, format!("{written}{scaler}")).expect("a scenario");
    let arguments = ["plan", plan.to_str().expect("plain text"), "--headroom", "deployment/default/web"];
    let output = kubesquall(&arguments).arg("--out").arg(dir.path().join("out")).output().expect("it runs");
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("HorizontalPodAutoscaler"), "{said}");
}

/// Two pods of three CPUs and four of 0.7 on nodes of two CPUs, and dearer ones of four.
fn tight(dir: &Path, more: &str) -> PathBuf {
    let pool = |name: &str, cpu: u32| {
        format!(
            "    - {{name: {name}, count: 2, zones: [a, b], template: {{status: {{allocatable: {{cpu: \"{cpu}\", memory: 8Gi, pods: \"110\"}}}}}}}}\n"
        )
    };
    let (pools, heavy, light) =
        (pool("small", 2) + &pool("large", 4), deployment("heavy", 2, "3", ""), deployment("light", 4, "700m", ""));
    let scenario = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: tight}}\nspec:\n  duration: 20m\n  cluster:\n    \
         nodePools:\n{pools}---\n{heavy}\n---\n{light}\n"
    );
    fs::write(dir.join("tight.yaml"), scenario).expect("a scenario");
    let plan = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Plan\nmetadata: {{name: tight}}\nspec:\n  scenario: tight.yaml\n  pools:\n  \
         - {{name: small, min: 0, max: 6, price: 1}}\n  - {{name: large, min: 0, max: 5, price: 2.1}}\n  survive: [node]\n{more}"
    );
    let path = dir.join("plan.yaml");
    fs::write(&path, plan).expect("a plan");
    path
}

#[test]
fn an_answer_holds_in_every_placement_and_not_in_a_lucky_one_alone() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let plan = tight(dir.path(), "");
    let counts = |summary: &serde_json::Value| {
        let of = |pool: &str| summary["answer"]["counts"][pool].as_u64().expect("a count");
        (of("small"), of("large"))
    };
    // The first placement from seed 7 on survives with a cheaper mix.
    let (said, summary, _) = told(dir.path(), &plan, &["--seed", "7", "--placements", "1"]);
    assert_eq!(counts(&summary), (1, 3), "{said}");
    assert!(said.contains(" survive node in the one placement that was played, number 0\n"), "{said}");

    let (said, summary, cases) = told(dir.path(), &plan, &["--seed", "7"]);
    assert_eq!(counts(&summary), (2, 3), "{said}");
    assert!(said.starts_with("tight: 2 of small and 3 of large survive node in 30 of 30 placements\n"), "{said}");
    let answer = &summary["answer"]["placements"];
    assert_eq!((&answer["played"], &answer["survived"]), (&30.into(), &30.into()));
    // Two mixes were tried so: 0.025^(1/30).
    let least = answer["shareAtLeast"].as_f64().expect("a share");
    assert!((least - libm::pow(0.025, 1.0 / 30.0)).abs() < 1e-9, "{least}");
    assert!(said.contains("so in at least 88.4 % of all placements"), "{said}");

    let cheaper = &summary["binding"][0];
    assert_eq!((&cheaper["counts"]["small"], &cheaper["counts"]["large"]), (&1.into(), &3.into()), "{said}");
    let survived = cheaper["placements"]["survived"].as_u64().expect("a number");
    assert!((1..30).contains(&survived), "{cheaper}");
    assert!(said.contains(&format!("1 of small and 3 of large do in {survived} of 30 placements only:")), "{said}");
    let rows = |placement: u64, survived: &str| {
        let is_so = |row: &&str| row.starts_with("1,3,node,") && row.contains(survived);
        let number = |row: &&str| row.rsplit(',').nth(1) == Some(&placement.to_string());
        cases.lines().filter(is_so).filter(number).count()
    };
    // What fails is played alone by its number, and fails there, too.
    let fails = cheaper["placements"]["failsIn"]["placement"].as_u64().expect("a number");
    assert_eq!(cheaper["placements"]["failsIn"]["seed"], fails + 7);
    assert!(rows(fails, ",false,") == 1 && rows(0, ",false,") == 0, "{cases}");
    let (said, alone, again) =
        told(dir.path(), &plan, &["--seed", "7", "--placement", &fails.to_string(), "--jobs", "1"]);
    assert!(said.contains(&format!("in the one placement that was played, number {fails}")), "{said}");
    assert_eq!(counts(&alone), (2, 3), "{said}");
    let failed = cases.lines().find(|row| {
        row.starts_with("1,3,node,") && row.contains(",false,") && row.rsplit(',').nth(1) == Some(&fails.to_string())
    });
    assert!(again.lines().any(|row| Some(row) == failed), "{again}");
}

#[test]
fn a_share_of_the_placements_is_enough_if_the_plan_says_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let of_cheaper = |summary: &serde_json::Value| summary["answer"]["counts"]["small"] == 1;
    let (said, summary, _) = told(dir.path(), &tight(dir.path(), "  probability: 10%\n"), &[]);
    assert!(of_cheaper(&summary), "{said}");
    let placements = &summary["answer"]["placements"];
    let survived = placements["survived"].as_u64().expect("a number");
    assert!((3..30).contains(&survived), "{placements}");
    assert_eq!(summary["placements"]["needed"], 3);
    assert!(said.contains(&format!("survive node in {survived} of 30 placements\n")), "{said}");
    assert!(said.contains("; asked was 10 % of those that are played"), "{said}");
    // What holds as often as is asked, and is not shown to, is no failure.
    let share = survived * 100 / 30;
    let plan = tight(dir.path(), &format!("  probability: {share}%\n  confidence: 95%\n"));
    let (said, summary, _) = told(dir.path(), &plan, &[]);
    assert!(!of_cheaper(&summary), "{said}");
    assert!(said.contains(&format!("in {survived} of 30 placements, which does not show it")), "{said}");
    assert!(said.contains("is not shown to survive") || said.contains("is shown to survive"), "{said}");
    // With confidence, 30 of 30 show 90 %, and fewer do not.
    let plan = tight(dir.path(), "  probability: 90%\n  confidence: 95%\n");
    let (said, summary, _) = told(dir.path(), &plan, &[]);
    assert!(!of_cheaper(&summary) && summary["placements"]["needed"] == 30, "{said}");
    let refused = kubesquall(&["plan", &plan.display().to_string(), "--placements", "20"]).assert().code(2);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("20 placements cannot show") && said.contains("at least 29"), "{said}");
}

#[test]
fn bounds_stand_beside_the_answer() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (said, summary, _) = told(dir.path(), &tight(dir.path(), "  placements: 4\n"), &[]);
    // Without a node of four, two others of four hold the heavy pods and three light ones, and a small one the fourth; two CPUs
    // less than that are too few by size, and one node of four alone has no place for two heavy pods.
    for bound in ["lower", "repacked"] {
        let counts = &summary["bounds"][bound]["counts"];
        assert_eq!((&counts["small"], &counts["large"]), (&1.into(), &3.into()), "{bound}: {said}");
    }
    assert!(
        said.contains(
            "nothing of what was to be tried before 1 of small and 3 of large at 7.3 can survive, wherever pods are put"
        ),
        "{said}"
    );
    assert!(said.contains("1 of small and 3 of large at 7.3 would do: 13.7 % more"), "{said}");
    // Where the answer is the bound, nothing can do with less.
    let plan = plan(dir.path(), "[node]", 9);
    let (said, summary, _) = told(dir.path(), &plan, &["--placements", "2"]);
    assert!(said.contains("Lower bound: by what pods ask for, no placement survives with less"), "{said}");
    let answer = summary["answer"]["counts"]["worker"].as_u64().expect("a count") as u32;
    // Unless fewer were not looked at, though they are as good.
    let least = plan_from(dir.path(), "[node]", answer + 1, 9);
    let (said, ..) = told(dir.path(), &least, &["--placements", "2"]);
    assert!(said.contains("which is the least that was to be tried") && !said.contains("Lower bound"), "{said}");
}
