//! The command line as its users see it: exit statuses, what goes where, and what happens to results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

use super::binary::{self, Said};
use super::determinism::files;
use super::expected::difference;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A directory with the small scenario in it.
fn small() -> TempDir {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::copy(repository().join("tests/cli/small.yaml"), dir.path().join("small.yaml")).expect("the scenario");
    dir
}

fn kubesquall(dir: &Path, arguments: &str) -> Said {
    binary::kubesquall(dir, arguments, "")
}

/// Compares everything that a command says with `tests/cli/<name>.txt`.
#[track_caller]
fn check(name: &str, dir: &Path, arguments: &str) {
    let said = kubesquall(dir, arguments);
    let Said { status, stdout, stderr } = &said;
    let text = format!("$ kubesquall {arguments}\nexit status {status}\n--- stdout\n{stdout}--- stderr\n{stderr}");
    // How many events a run takes inside, and their digest, change with every rule.
    let is_inside = |line: &&str| line.contains("simulation_events") || line.contains("events played, digest");
    let found: String = text.lines().filter(|line| !is_inside(line)).flat_map(|line| [line, "\n"]).collect();
    let problem = difference(&repository().join(format!("tests/cli/{name}.txt")), &found);
    assert!(problem.is_none(), "{}", problem.unwrap_or_default());
}

#[test]
fn help_says_what_each_option_does() {
    let dir = small();
    check("help", dir.path(), "--help");
    check("run-help", dir.path(), "run --help");
    check("check-help", dir.path(), "check --help");
}

#[test]
fn a_run_ends_with_a_summary_for_people() {
    let dir = small();
    check("run", dir.path(), "run small.yaml --no-charts --out result");
    check("run-verbose", dir.path(), "run small.yaml --no-charts --out result -v --verify");
    check("run-quiet", dir.path(), "run small.yaml --no-charts --out result -q");
    assert!(dir.path().join("result/summary.json").is_file());
}

#[test]
fn a_job_that_is_over_is_not_short_of_ready_pods() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let text = "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {name: batch}\nspec: {duration: 5m, cluster: {nodePools: \
                [{name: n, count: 1, template: {status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}}]}}\n---\n{apiVersion: \
                batch/v1, kind: Job, metadata: {name: j}, spec: {template: {metadata: {annotations: {kubesquall.sim/run-for: 20s}}, \
                spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}\n";
    fs::write(dir.path().join("batch.yaml"), text).expect("a scenario");
    let said = kubesquall(dir.path(), "run batch.yaml");
    // Pods of Jobs end by themselves: whether they are ready is no question.
    assert!(said.stdout.contains("There is no workload to judge."), "{}", said.stdout);
    assert!(!said.stdout.contains("NOT WELL") && !said.stdout.contains("ran short"), "{}", said.stdout);
}

#[test]
fn json_stands_alone_on_standard_output() {
    let dir = small();
    check("run-json", dir.path(), "run small.yaml --no-charts --out result -o json");
    let said = kubesquall(dir.path(), "run small.yaml --no-charts --out result -o json");
    let value: Value = serde_json::from_str(&said.stdout).expect("JSON alone");
    assert_eq!(value["scenario"], "small");
    let file = fs::read_to_string(dir.path().join("result/summary.json")).expect("the summary");
    assert_eq!(said.stdout, file);
    for arguments in ["check small.yaml -o json", "diff result result -o json", "explain result node/worker-1 -o json"]
    {
        let said = kubesquall(dir.path(), arguments);
        assert!(serde_json::from_str::<Value>(&said.stdout).is_ok(), "{arguments}: {}", said.stdout);
        assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{arguments}");
    }
}

#[test]
fn check_reports_every_file() {
    let dir = small();
    fs::write(dir.path().join("bad.yaml"), "apiVersion: v1\nkind: Pod\nspec: {}\n").expect("a manifest");
    fs::write(dir.path().join("good.yaml"), "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n").expect("a manifest");
    fs::create_dir(dir.path().join("empty")).expect("a directory");
    check("check", dir.path(), "check small.yaml good.yaml");
    check("check-quiet", dir.path(), "check -q small.yaml");
    check("check-bad", dir.path(), "check small.yaml bad.yaml absent.yaml empty");
    check("check-json", dir.path(), "check small.yaml bad.yaml -o json");
}

#[test]
fn exit_statuses_tell_results_from_mistakes() {
    let dir = small();
    let status = |arguments: &str| kubesquall(dir.path(), arguments).status;
    assert_eq!(status("run small.yaml --no-charts --out result"), 0);
    assert_eq!(status("--help"), 0);
    assert_eq!(status("--version"), 0);
    assert_eq!(status("run small.yaml --no-charts --out result --set spec.expect[0].value=0"), 1);
    assert_eq!(status("run small.yaml --no-charts --out result --set spec.expect[0].value=none"), 2);
    assert_eq!(status("run absent.yaml"), 2);
    assert_eq!(status("run"), 2);
    assert_eq!(status("frobnicate"), 2);
    assert_eq!(status("run small.yaml -q -v"), 2);
    assert_eq!(status("explain result pod/shop/absent"), 2);
    check("broken-expectation", dir.path(), "run small.yaml --no-charts --out result --set spec.expect[0].value=0 -q");
}

#[test]
fn colors_are_there_only_when_wanted() {
    let dir = small();
    for arguments in
        ["run absent.yaml", "check absent.yaml", "explain absent pod/a/b", "diff absent absent", "report absent"]
    {
        let colored = kubesquall(dir.path(), &format!("{arguments} --color always")).stderr;
        assert!(colored.contains("\u{1b}["), "{arguments}: {colored}");
        let plain = kubesquall(dir.path(), &format!("{arguments} --color never")).stderr;
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain, "{arguments}");
        // Standard error is no terminal here.
        assert_eq!(kubesquall(dir.path(), arguments).stderr, plain, "{arguments}");
    }
    let colored = kubesquall(dir.path(), "run small.yaml --no-charts --out result --color always");
    let plain = kubesquall(dir.path(), "run small.yaml --no-charts --out result");
    assert_eq!(anstream::adapter::strip_str(&colored.stdout).to_string(), plain.stdout);
}

#[test]
fn a_directory_that_is_not_ours_is_replaced_only_by_force() {
    let dir = small();
    let place = dir.path().join("thesis");
    fs::create_dir(&place).expect("a directory");
    fs::write(place.join("thesis.txt"), "years of work").expect("a file");
    let before = files(dir.path());
    check("foreign-directory", dir.path(), "run small.yaml --no-charts --out thesis");
    assert!(files(dir.path()) == before, "nothing is changed");
    assert_eq!(kubesquall(dir.path(), "run small.yaml --no-charts --out thesis --force").status, 0);
    assert!(place.join("summary.json").is_file() && !place.join("thesis.txt").exists());
    let names: Vec<PathBuf> = files(dir.path()).into_iter().map(|file| file.0).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().contains(".tmp")), "{names:?}");
}

#[test]
fn what_is_read_and_where_one_works_is_replaced_not_even_by_force() {
    let dir = small();
    fs::create_dir_all(dir.path().join("shop/manifests")).expect("a directory");
    let scenario = fs::read_to_string(dir.path().join("small.yaml")).expect("the scenario");
    fs::write(dir.path().join("shop/small.yaml"), scenario).expect("a file");
    let before = files(dir.path());
    for place in [".", "small.yaml", "shop/.."] {
        let said = kubesquall(dir.path(), &format!("run small.yaml --no-charts --force --out {place}"));
        assert!(said.status == 2 && said.stderr.contains("never replaced"), "{place}: {}", said.stderr);
    }
    let said = kubesquall(dir.path(), "run shop/small.yaml --no-charts --force --out shop");
    assert!(said.status == 2 && said.stderr.contains("small.yaml"), "{}", said.stderr);
    assert!(files(dir.path()) == before, "nothing is changed");
}

#[test]
fn a_scenario_of_a_group_that_is_nearly_ours_is_no_manifest() {
    let dir = small();
    let scenario = fs::read_to_string(dir.path().join("small.yaml")).expect("the scenario");
    fs::write(dir.path().join("near.yaml"), scenario.replace("kubesquall.sim/", "kubesqual.sim/")).expect("a file");
    let said = kubesquall(dir.path(), "check near.yaml");
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("the nearest is `kubesquall.sim/v1alpha1`"), "{}", said.stderr);
    fs::write(dir.path().join("far.yaml"), "apiVersion: upgrade.cattle.io/v1\nkind: Plan\nmetadata: {name: p}\n")
        .expect("a file");
    assert!(!kubesquall(dir.path(), "check far.yaml").stderr.contains("nearest"));
}

#[test]
fn what_a_run_is_compared_with_stays_where_it_is() {
    let dir = small();
    assert_eq!(kubesquall(dir.path(), "run small.yaml --no-charts -q").status, 0);
    let reports = dir.path().join("reports");
    let places = || -> Vec<PathBuf> {
        let places = fs::read_dir(&reports).expect("results").map(|place| place.expect("a place").path());
        places.filter(|place| place.is_dir()).collect()
    };
    let base = places().pop().expect("the first run");
    let before = files(&base);
    assert_eq!(kubesquall(dir.path(), "run small.yaml --no-charts -q --until 1m").status, 0);
    assert!(files(&base) == before && places().len() == 2, "{:?}", places());
    let cut = places().into_iter().find(|place| *place != base).expect("the shorter run");
    let summary = fs::read_to_string(cut.join("summary.json")).expect("a summary");
    assert!(summary.contains("\"spec.duration=1m0s\""), "{summary}");
    // The same once more takes the place of its own earlier run.
    for again in ["", " --until 1m"] {
        assert_eq!(kubesquall(dir.path(), &format!("run small.yaml --no-charts -q{again}")).status, 0);
    }
    assert!(files(&base) == before && places().len() == 2, "{:?}", places());
}

#[test]
fn a_killed_run_leaves_the_earlier_result_as_it_was() {
    let dir = small();
    assert_eq!(kubesquall(dir.path(), "run small.yaml --no-charts --out result -q").status, 0);
    let before = files(&dir.path().join("result"));
    // Long enough to be killed in the middle; if it is not, the test says nothing and passes.
    let mut run = Process::new(assert_cmd::cargo::cargo_bin("kubesquall"))
        .current_dir(dir.path())
        .arg("run")
        .arg(repository().join("scenarios/year-of-failures.yaml"))
        .args(["--out", "result", "-q"])
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary runs");
    let building = dir.path().join("result.unfinished.tmp");
    while !building.exists() && run.try_wait().expect("a state").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill().expect("it is ours");
    let status = run.wait().expect("it has ended");
    if status.code().is_none() {
        assert!(files(&dir.path().join("result")) == before, "the earlier result is as it was");
    }
    assert_eq!(kubesquall(dir.path(), "run small.yaml --no-charts --out result -q").status, 0);
    assert!(files(&dir.path().join("result")) == before, "the same run gives the same result");
    assert!(!building.exists());
}

#[test]
fn huge_files_and_directories_are_refused_without_being_read() {
    let dir = small();
    let huge = fs::File::create(dir.path().join("huge.yaml")).expect("a file");
    huge.set_len(2 << 30).expect("a sparse file");
    check("huge-scenario", dir.path(), "run huge.yaml");
    check("huge-manifest", dir.path(), "run small.yaml --set spec.cluster.manifests=[huge.yaml]");
    check("directory", dir.path(), "run .");
    assert!(!dir.path().join("reports").exists());
}

#[test]
fn flags_without_effect_are_listed() {
    let dir = small();
    assert_eq!(kubesquall(dir.path(), "run small.yaml --no-charts --out result").status, 0);
    let rows = fs::read_to_string(dir.path().join("result/not-modelled.csv")).expect("the list");
    for flag in ["cluster-cidr", "profiling"] {
        assert!(rows.contains(&format!("spec.controlPlane.kubeControllerManager.{flag}")), "{rows}");
    }
}

#[test]
fn what_of_the_scheduler_decides_nothing_is_listed() {
    let dir = small();
    let configuration = "\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
parallelism: 4
enableProfiling: false
leaderElection: {leaderElect: true, resourceName: other}
extenders: [{urlPrefix: http://example.com}]
profiles:
- percentageOfNodesToScore: 50
  plugins:
    preScore: {disabled: [{name: NodeAffinity}]}
    bind: {enabled: [{name: DefaultBinder}]}
    score: {disabled: [{name: ImageLocality}]}
    multiPoint: {disabled: [{name: NodePorts}, {name: NodeDeclaredFeatures}]}
  pluginConfig:
  - {name: DynamicResources, args: {kind: DynamicResourcesArgs, filterTimeout: 5s}}
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 2}}
  - {name: NodeName, args: {any: thing}}
";
    fs::write(dir.path().join("scheduler.yaml"), configuration).expect("a configuration");
    let line = "run small.yaml --no-charts --out result --set spec.controlPlane.kubeScheduler.file=scheduler.yaml";
    let said = kubesquall(dir.path(), line);
    assert_eq!(said.status, 0, "{}", said.stderr);
    let mut rows = csv::Reader::from_path(dir.path().join("result/not-modelled.csv")).expect("the list");
    let path = rows.headers().expect("headers").iter().position(|name| name == "path").expect("a column");
    let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("a row")).collect();
    let of_scheduler = rows.iter().filter_map(|row| row[path].strip_prefix("spec.controlPlane.kubeScheduler."));
    let found: std::collections::BTreeSet<&str> = of_scheduler.collect();
    let expected = [
        "enableProfiling",
        "extenders",
        "leaderElection.resourceName",
        "parallelism",
        "profiles[0].pluginConfig[0].args.filterTimeout",
        "profiles[0].pluginConfig[2].args",
        "profiles[0].plugins.bind",
        "profiles[0].plugins.multiPoint.disabled[1]",
        "profiles[0].plugins.preScore",
    ];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}

/// A node that takes one pod more, and pods in all the states that matter to the scheduler.
const STATE: &str = "---
{apiVersion: v1, kind: Node, metadata: {name: one}, status: {allocatable: {cpu: 2, memory: 4Gi, pods: 10}, \
conditions: [{type: Ready, status: 'True'}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bound}, spec: {nodeName: one, containers: [{name: c, image: i}]}, \
status: {phase: Running}}
---
{apiVersion: v1, kind: Pod, metadata: {name: done}, spec: {nodeName: one, restartPolicy: Never, containers: [{name: c, image: i}]}, \
status: {phase: Succeeded}}
---
{apiVersion: v1, kind: Pod, metadata: {name: gated}, spec: {schedulingGates: [{name: example.com/quota}], \
containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: other}, spec: {schedulerName: theirs, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: small}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: large}, spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 3, \
example.com/a: 1}, limits: {example.com/a: 1}}}]}}
";

/// Pods that claim what the input lacks.
const CLAIMS: &str = "---
{apiVersion: v1, kind: Pod, metadata: {name: device}, spec: {resourceClaims: [{name: gpu, resourceClaimName: g}], \
containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: volume}, spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: data}}], \
containers: [{name: c, image: i}]}}
";

#[test]
fn schedule_says_of_each_pod_where_it_goes_or_why_it_is_left_out() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("state.yaml"), STATE).expect("a state");
    check("schedule", dir.path(), "schedule -f state.yaml");
    check(
        "schedule-named",
        dir.path(),
        "schedule -f state.yaml --pod small --pod default/small --pod bound --pod done",
    );
    check("schedule-left-out", dir.path(), "schedule -f state.yaml --pod gated --pod other -o json");
    check("schedule-unknown", dir.path(), "schedule -f state.yaml --pod smal");
    let node = STATE.lines().take(2).flat_map(|line| [line, "\n"]).collect::<String>();
    fs::write(dir.path().join("none.yaml"), &node).expect("a state");
    check("schedule-nothing", dir.path(), "schedule -f none.yaml");
    fs::write(dir.path().join("claims.yaml"), format!("{node}{CLAIMS}")).expect("a state");
    check("schedule-claims", dir.path(), "schedule -f claims.yaml");
    let said = kubesquall(dir.path(), "schedule -f claims.yaml -o json");
    assert!(said.stderr.contains("default/device: its resourceClaims are not looked at"), "{}", said.stderr);
    let said = kubesquall(dir.path(), "schedule -f state.yaml -o json");
    let decisions: Value = serde_json::from_str(&said.stdout).expect("an array");
    let pods: Vec<&str> = decisions.as_array().expect("an array").iter().filter_map(|d| d["pod"].as_str()).collect();
    assert_eq!(pods, ["default/large", "default/small"]);
    assert!(said.stdout.starts_with("[\n  {\n    \"pod\": \"default/large\",") && said.stdout.ends_with("\n  }\n]\n"));
}

#[test]
fn schedule_asks_for_less_of_nothing_that_is_ignored() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("state.yaml"), STATE).expect("a state");
    let ignoring =
        "{profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [example.com/a]}}]}]}";
    fs::write(dir.path().join("scheduler.yaml"), ignoring).expect("a configuration");
    let of_large = |more: &str| kubesquall(dir.path(), &format!("schedule -f state.yaml --pod large{more}")).stdout;
    assert!(of_large("").contains("it asked for less example.com/a"), "{}", of_large(""));
    let text = of_large(" --config scheduler.yaml");
    assert!(text.contains("it asked for less cpu") && !text.contains("example.com/a"), "{text}");
}

#[test]
fn schedule_refuses_a_configuration_that_kube_scheduler_refuses() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("state.yaml"), STATE).expect("a state");
    let bad = "profiles:\n- pluginConfig:\n  - {name: InterPodAffinity, args: {hardPodAffinityWeigt: 5}}\n";
    fs::write(dir.path().join("scheduler.yaml"), bad).expect("a configuration");
    check("schedule-bad-configuration", dir.path(), "schedule -f state.yaml --config scheduler.yaml");
}

#[cfg(unix)]
#[test]
fn links_that_lead_in_circles_are_followed_once() {
    let dir = small();
    let manifests = dir.path().join("manifests");
    fs::create_dir(&manifests).expect("a directory");
    fs::write(manifests.join("node.yaml"), "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n").expect("a manifest");
    for name in ["a", "b", "c"] {
        std::os::unix::fs::symlink(&manifests, manifests.join(name)).expect("a link");
    }
    let said = kubesquall(dir.path(), "check manifests");
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
    assert!(said.stdout.contains("1 object;"), "{}", said.stdout);
}

#[test]
fn every_objective_of_a_workload_is_judged() {
    let dir = small();
    let run = |name: &str, slo: &str| {
        let set = format!("spec.slo={slo}");
        let output = Command::cargo_bin("kubesquall")
            .expect("the binary")
            .current_dir(dir.path())
            .args(["run", "small.yaml", "--no-charts", "-q", "--out", name, "--set", &set])
            .output()
            .expect("the binary runs");
        let text = fs::read(dir.path().join(name).join("summary.json"));
        let text = text.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        serde_json::from_slice::<Value>(&text).expect("a summary")
    };
    let (easy, hard) =
        ("{workload: deployment/shop/web, minReady: 1, objective: 1%}", "{workload: deployment/*, objective: 100%}");
    let summaries = [run("one", &format!("[{easy}, {hard}]")), run("two", &format!("[{hard}, {easy}]"))];
    for summary in &summaries {
        assert_eq!(summary["metrics"]["objectives_missed"], 1.0);
        let web = &summary["workloads"][0];
        assert_eq!((&web["objective"], &web["objective_met"]), (&Value::from(1.0), &Value::from(false)));
        let other = &web["other_objectives"][0];
        assert_eq!((&other["objective"], &other["min_ready"]), (&Value::from(0.01), &Value::from(1)));
        assert_eq!(other["objective_met"], true);
        assert_eq!(web["below_min_ready_s"], web["below_desired_s"]);
    }
    let both: Vec<&Value> = summaries.iter().map(|summary| &summary["workloads"]).collect();
    assert_eq!(both[0], both[1], "the order decides nothing");
}

#[test]
fn a_plan_for_a_priority_that_no_pod_has_is_warned_of() {
    let dir = small();
    let base = repository().join("tests/cli/without-goals.yaml");
    let plan = format!(
        "{{apiVersion: kubesquall.sim/v1alpha1, kind: Plan, metadata: {{name: case}}, spec: {{scenario: {}, \
         pools: [{{name: worker, min: 2, max: 4}}], survive: [node], priority: 1000}}}}\n",
        base.display()
    );
    fs::write(dir.path().join("plan.yaml"), plan).expect("a file");
    let said = kubesquall(dir.path(), "check plan.yaml");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("warning[plan::nobody_counts]: no pod has a priority of 1000 or more"),
        "{}",
        said.stderr
    );
    // Who is told the answer is told that it answers nothing.
    let said = kubesquall(dir.path(), "plan plan.yaml -q -o json --out out --placements 1");
    let summary: Value = serde_json::from_str(&said.stdout).expect("a summary");
    let answer = &summary["verdict"][0];
    assert_ne!(answer["tone"], "good", "{answer}");
    assert!(answer.to_string().contains("BUT no pod has a priority of 1000 or more"), "{answer}");
}

#[test]
fn what_is_no_cluster_is_called_by_what_it_is() {
    let dir = small();
    let study =
        "{apiVersion: kubesquall.sim/v1alpha1, kind: Study, metadata: {name: s}, spec: {scenario: small.yaml}}\n";
    fs::write(dir.path().join("study.yaml"), study).expect("a file");
    for command in ["schedule -f study.yaml", "serve study.yaml", "forecast study.yaml"] {
        let said = kubesquall(dir.path(), command);
        assert_eq!(said.status, 2, "{}", said.stderr);
        assert!(said.stderr.contains("study.yaml is a Study, not a cluster"), "{command}: {}", said.stderr);
    }
}

#[test]
fn an_import_writes_no_file_that_is_called_json() {
    let dir = small();
    fs::write(dir.path().join("rates.csv"), "time_to_failure,time_to_repair\n10h,5m\n20h,6m\n").expect("a table");
    let said = kubesquall(dir.path(), "import faults rates.csv -o json");
    assert_eq!(said.status, 2, "{}", said.stderr);
    assert!(said.stderr.contains("name the file, such as"), "{}", said.stderr);
    assert!(!dir.path().join("json").exists());
}

#[test]
fn a_warning_of_one_variant_says_of_which() {
    let dir = small();
    let study = "{apiVersion: kubesquall.sim/v1alpha1, kind: Study, metadata: {name: s}, spec: {scenario: small.yaml, replications: 2, vary: [{name: at, \
                 path: 'spec.timeline[0].at', values: [2m, 5m, 1h]}]}}\n";
    fs::write(dir.path().join("study.yaml"), study).expect("a file");
    let said = kubesquall(dir.path(), "check study.yaml");
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert_eq!(said.stderr.matches("so it is with at=1h").count(), 1, "{}", said.stderr);
    assert!(!said.stderr.contains("so it is with at=2m"), "{}", said.stderr);
}
