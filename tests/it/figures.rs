//! One meaning per figure: the summary, the files and the verdict say the same of a run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kubesquall::observe::{Cells, FIGURES, Matter, Observed, TERMS, TableInfo, Tone};
use kubesquall::report::{tables_of_plans, tables_of_sensitivities, tables_of_studies};
use kubesquall::scenario::{self, Overrides};
use kubesquall::state::DeletionCause;
use kubesquall::units::SimDuration;
use kubesquall::verify::compare_figures;
use rayon::prelude::*;

use super::{expected, plays};

/// Plays a scenario of three nodes, and holds its summary against its rows.
pub(super) fn play(duration: &str, timeline: &str, objects: &[&str]) -> Observed {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: figures}}\nspec: {{duration: {duration}, seed: 1, cluster: \
         {{nodePools: [{{name: n, count: 3, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, \
         latency: {{podStart: {{constant: 1s}}}}, timeline: [{timeline}]}}\n---\n{}\n",
        objects.join("\n---\n")
    );
    let scenario = scenario::load_text("figures.yaml", &text, Path::new("absent"), &Overrides::none());
    let scenario = scenario.unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"));
    let (observed, _) = plays::whole(&scenario);
    compare_figures(&observed).unwrap_or_else(|what| panic!("{what}"));
    observed
}

pub(super) fn web(replicas: u32) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: {{replicas: {replicas}, selector: \
         {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
    )
}

pub(super) fn pod(name: &str, more: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default{more}}}, spec: {{nodeName: n-0, containers: [{{name: c, \
         image: i}}]}}}}"
    )
}

pub(super) fn metric(observed: &Observed, name: &str) -> f64 {
    observed.summary.metrics[name]
}

pub(super) fn tone(observed: &Observed, matter: Matter) -> Option<Tone> {
    observed.summary.verdict.iter().find(|sentence| sentence.kind == matter).map(|sentence| sentence.tone)
}

#[test]
fn pods_of_crashed_nodes_that_are_deleted_later_are_evicted_once() {
    let timeline = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0, n-1]}}}, {at: 12m, kubectl: delete node n-0 n-1 --wait=false}";
    let observed = play("20m", timeline, &[&web(6)]);
    let evicted: Vec<&str> = observed.pods.iter().filter_map(|pod| Some(pod.deletion_cause?.as_str())).collect();
    // The API shows who came last.
    assert!(evicted.len() >= 2 && evicted.iter().all(|cause| *cause == "DeletionByPodGC"), "{evicted:?}");
    let by = observed.pods.iter().filter(|pod| pod.deletion_cause.is_some()).map(|pod| pod.ended_by);
    assert!(by.into_iter().all(|by| by == Some(DeletionCause::TaintManagerEviction)));
    assert_eq!(metric(&observed, "evictions"), evicted.len() as f64);
    assert_eq!(observed.cluster.last().map(|row| row.evictions), Some(evicted.len() as i64));
    assert_eq!(observed.summary.workloads[0].disruptions as usize, evicted.len());
}

#[test]
fn what_an_operator_has_deleted_before_is_not_evicted_however_long_the_run_is() {
    let agent = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: default}, spec: {selector: {matchLabels: {app: \
                 agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: i}]}}}}";
    let timeline =
        "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}}}, {at: 3m, kubectl: delete pod --all --wait=false}";
    for duration in ["6m", "15m"] {
        let observed = play(duration, timeline, &[&web(6), agent]);
        let on_dead: Vec<_> = observed.pods.iter().filter(|pod| pod.node.as_str() == "n-0" && pod.initial).collect();
        let shown = |cause| on_dead.iter().filter(|pod| pod.deletion_cause == Some(cause)).count();
        let marked = shown(DeletionCause::TaintManagerEviction);
        assert_eq!(marked > 0, duration == "15m", "the API shows the later mark: {on_dead:?}");
        assert!(on_dead.iter().all(|pod| pod.ended_by == Some(DeletionCause::Kubectl) && pod.taken_away().is_none()));
        assert_eq!((metric(&observed, "evictions"), metric(&observed, "disruptions")), (0.0, 0.0));
        assert_eq!(observed.cluster.last().map(|row| row.evictions), Some(0));
    }
}

#[test]
fn pods_of_a_node_that_is_gone_count_for_their_workload() {
    let observed = play("10m", "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}", &[&web(6)]);
    let collected = observed.summary.counts.deletions.get("DeletionByPodGC").copied().unwrap_or(0);
    assert!(collected > 0);
    assert_eq!(u64::from(observed.summary.workloads[0].evictions), collected);
    assert_eq!(tone(&observed, Matter::WorkloadsWhole), Some(Tone::Healed));
}

#[test]
fn a_cluster_of_bare_pods_that_loses_its_nodes_is_not_well() {
    let custom =
        ", ownerReferences: [{apiVersion: example.com/v1, kind: Database, name: pg, uid: u-1, controller: true}]";
    let objects = [pod("lonely", ""), pod("pg-1", custom), pod("pg-2", custom)];
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let observed = play("10m", "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0, n-1, n-2]}}}", &objects);
    assert_eq!(metric(&observed, "pods_lost"), 3.0);
    assert_eq!(metric(&observed, "workloads_below_desired_end"), 2.0);
    for matter in [Matter::WorkloadsShort, Matter::NoNodeReady, Matter::PodsLost] {
        assert_eq!(tone(&observed, matter), Some(Tone::Bad), "{:?}", observed.summary.verdict);
    }
    let lost: Vec<(String, u32)> = observed.summary.workloads.iter().map(|of| (of.object(), of.lost)).collect();
    let expected = [("database/default/pg".to_owned(), 2), ("pod/default/lonely".to_owned(), 1)];
    assert!(expected.iter().all(|of| lost.contains(of)), "{lost:?}");
}

#[test]
fn an_owner_of_a_known_kind_that_is_not_there_makes_nothing_anew() {
    let lost = ", ownerReferences: [{apiVersion: batch/v1, kind: Job, name: gone, uid: u-1, controller: true}]";
    let fault = "{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n-0]}}}";
    let observed = play("10m", fault, &[&pod("worker", lost)]);
    // Counted anew by `play`, too; whether the loader makes the owner anew is its own affair.
    let is_short = metric(&observed, "workloads_below_desired_end") > 0.0;
    assert_eq!(metric(&observed, "pods_lost") > 0.0, is_short, "{:?}", observed.summary.verdict);
}

#[test]
fn a_bare_pod_that_an_operator_deletes_is_not_lost_and_one_that_is_made_again_makes_up_for_it() {
    let observed = play("5m", "{at: 1m, kubectl: delete pod lonely}", &[&pod("lonely", "")]);
    assert_eq!((metric(&observed, "pods_lost"), metric(&observed, "workloads_below_desired_end")), (0.0, 0.0));
    let drain = "{at: 1m, kubectl: drain n-0 --force}";
    let lost = play("5m", drain, &[&pod("lonely", "")]);
    assert_eq!((metric(&lost, "pods_lost"), metric(&lost, "workloads_below_desired_end")), (1.0, 1.0));
}

#[test]
fn lines_that_fail_and_lines_that_do_not_end_are_said_with_their_reason() {
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 100%, \
                  selector: {matchLabels: {app: web}}}}";
    let timeline = "{at: 1m, kubectl: cordon absent}, {at: 2m, kubectl: drain n-0}, {at: 3m, kubectl: cordon n-1}";
    let observed = play("10m", timeline, &[&web(6), budget]);
    let found = ["commands_failed", "commands_unfinished"].map(|name| metric(&observed, name));
    assert_eq!(found, [1.0, 1.0]);
    let said: Vec<&str> = observed.summary.verdict.iter().map(|sentence| sentence.text.as_str()).collect();
    assert!(said[0].starts_with("FAILED: kubectl cordon absent of 1m0s") && said[0].contains("not found"), "{said:?}");
    assert!(said[1].starts_with("NOT DONE when the run ended: kubectl drain n-0"), "{said:?}");
    assert!(said[1].contains("disruption budget"), "{said:?}");
}

#[test]
fn an_upgrade_that_leaves_nodes_out_has_failed() {
    let budget = "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {minAvailable: 100%, \
                  selector: {matchLabels: {app: web}}}}";
    let upgrade = "{at: 1m, rollingUpgrade: {pool: n, maxUnavailable: 1, drainTimeout: 5m}}";
    let observed = play("1h", upgrade, &[&web(6), budget]);
    assert_eq!(metric(&observed, "procedures_failed"), 1.0);
    assert_eq!(tone(&observed, Matter::ProcedureFailed), Some(Tone::Bad));
    // The drain that failed is the upgrade's to answer for.
    assert_eq!(metric(&observed, "commands_failed"), 0.0);
    let cut_short = play("3m", upgrade, &[&web(6), budget]);
    assert_eq!(metric(&cut_short, "procedures_unfinished"), 1.0);
}

#[test]
fn a_workload_that_is_created_again_is_the_same_one() {
    let timeline = "{at: 1m, kubectl: delete deployment web}, {at: 3m, kubectl: rollout restart deployment absent}";
    let observed = play("10m", timeline, &[&web(3)]);
    let of_web: Vec<i32> =
        observed.summary.workloads.iter().filter(|of| of.name == "web").map(|of| of.desired).collect();
    assert_eq!(of_web, [0]);
    assert_eq!(metric(&observed, "unready_replica_s"), 0.0);
}

#[test]
fn the_worst_stands_first_in_the_summary_and_is_what_the_verdict_names() {
    let daemon = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: default}, spec: {selector: {matchLabels: {app: \
                  agent}}, template: {metadata: {labels: {app: agent}}, spec: {tolerations: [{operator: Exists}], containers: [{name: c, image: \
                  i}]}}}}";
    let timeline = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 20m}}";
    let observed = play("40m", timeline, &[&web(6), daemon]);
    let names: Vec<String> = observed.summary.workloads.iter().map(|of| of.object()).collect();
    assert_eq!(names, ["daemonset/default/agent", "deployment/default/web"], "{:#?}", observed.summary.workloads);
    let longest = observed.summary.verdict.iter().find(|sentence| sentence.kind == Matter::LongestShortage);
    assert_eq!(longest.map(|sentence| sentence.objects.clone()), Some(vec!["daemonset/default/agent".to_owned()]));
}

/// Every scenario that comes with the program, its first hours; all of it if `FIGURES_WHOLE` is set.
#[test]
fn the_figures_of_all_shipped_scenarios_can_be_counted_anew() {
    #[expect(clippy::disallowed_methods, reason = "how the whole length is asked for")]
    let is_whole = std::env::var_os("FIGURES_WHOLE").is_some();
    let mut files: Vec<_> = fs::read_dir("scenarios")
        .expect("the scenarios")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    files.sort();
    let wrong: Vec<String> = files
        .par_iter()
        .filter_map(|path| {
            let scenario = scenario::load(path, &Overrides::none()).unwrap_or_else(|invalid| panic!("{invalid:?}"));
            let length = if is_whole { scenario.duration } else { scenario.duration.min(SimDuration::from_secs(7200)) };
            let (observed, _) = plays::for_long(&scenario, length);
            let told = super::causes::debug_text(&observed).map_or(Ok(()), Err);
            Some(format!("{}: {}", path.display(), compare_figures(&observed).and(told).err()?))
        })
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

/// A text with what stands between two marks replaced.
pub(super) fn with_part(text: &str, name: &str, part: &str) -> String {
    let (from, to) = (format!("<!-- {name}: made from the code -->\n"), format!("<!-- end of {name} -->\n"));
    let begin = text.find(&from).map(|at| at + from.len()).expect("the mark of the beginning");
    let end = text.find(&to).expect("the mark of the end");
    format!("{}\n{part}\n{}", &text[..begin], &text[end..])
}

/// Tables, column by column.
fn tables_in_words(tables: Vec<TableInfo>) -> String {
    let mut text = String::new();
    for table in tables {
        text.push_str(&format!(
            "### `{}`\n\n{}.\n\n| column | holds | meaning |\n|---|---|---|\n",
            table.file,
            capital(table.holds)
        ));
        for column in &table.columns {
            let unit = if column.unit.is_empty() { "number" } else { column.unit };
            let holds = match column.cells {
                Cells::Text => "text".to_owned(),
                Cells::Time | Cells::Number | Cells::Unsigned => unit.to_owned(),
                Cells::Duration => format!("{unit}, a length"),
                Cells::MaybeTime | Cells::MaybeNumber => format!("{unit}, or nothing"),
                Cells::Truth => "`true`, `false`".to_owned(),
                Cells::Lines => "lines".to_owned(),
                Cells::Real => format!("{unit}, or nothing"),
                Cells::MaybeTruth => "`true`, `false`, or nothing".to_owned(),
                Cells::Texts => "text".to_owned(),
                Cells::Reals | Cells::Counts => unit.to_owned(),
                other => panic!("{other:?}"),
            };
            text.push_str(&format!("| `{}` | {holds} | {} |\n", column.name, column.meaning));
        }
        text.push('\n');
    }
    text
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

#[test]
fn names_of_tables_and_of_their_columns_are_unique() {
    for tables in
        [kubesquall::report::tables_of_runs(), tables_of_studies(), tables_of_plans(), tables_of_sensitivities()]
    {
        check_names(&tables);
    }
}

fn check_names(tables: &[TableInfo]) {
    let mut files = BTreeSet::new();
    for table in tables {
        assert!(files.insert(table.file), "two tables are written to {}", table.file);
        let names: BTreeSet<&str> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), table.columns.len(), "{} has two columns of one name", table.file);
        for column in &table.columns {
            let is_time = matches!(column.cells, Cells::Time | Cells::MaybeTime | Cells::Duration);
            let is_sum = column.unit.ends_with("× s");
            assert_eq!(column.name.ends_with("_s") && !is_sum, is_time, "{} of {}", column.name, table.file);
        }
    }
}

#[test]
fn the_tables_and_the_glossary_of_the_docs_are_those_of_the_code() {
    let path = Path::new("docs/results.md");
    let text = fs::read_to_string(path).expect("the page");
    let mut terms = "| word | meaning | figures |\n|---|---|---|\n".to_owned();
    for term in &TERMS {
        terms.push_str(&format!("| {} | {} | {} |\n", term.name, term.meaning, term.figures));
    }
    let mut metrics = "| metric | in | meaning | counted anew from |\n|---|---|---|---|\n".to_owned();
    for figure in &FIGURES {
        metrics.push_str(&format!("| `{}` | {} | {} | {} |\n", figure.name, figure.unit, figure.meaning, figure.rows));
    }
    let found = with_part(&with_part(&text, "glossary", terms.trim_end()), "metrics", metrics.trim_end());
    let found = with_part(&found, "tables", tables_in_words(kubesquall::report::tables_of_runs()).trim_end());
    assert_eq!(expected::difference(path, &found), None);
}

#[test]
fn the_tables_of_studies_and_plans_of_the_docs_are_those_of_the_code() {
    let path = Path::new("docs/studies.md");
    let text = fs::read_to_string(path).expect("the page");
    let found = with_part(&text, "tables of studies", tables_in_words(tables_of_studies()).trim_end());
    let found = with_part(&found, "tables of plans", tables_in_words(tables_of_plans()).trim_end());
    assert_eq!(expected::difference(path, &found), None);
}

#[test]
fn the_tables_of_sensitivities_of_the_docs_are_those_of_the_code() {
    let path = Path::new("docs/sensitivity.md");
    let text = fs::read_to_string(path).expect("the page");
    let found = with_part(&text, "tables of sensitivities", tables_in_words(tables_of_sensitivities()).trim_end());
    assert_eq!(expected::difference(path, &found), None);
}

#[test]
fn machines_that_the_autoscaler_gives_back_have_not_failed() {
    let failures = |name: &str| {
        let path = format!("{}/scenarios/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        let scenario = kubesquall::Scenario::load(&path).unwrap_or_else(|error| panic!("{error}"));
        let outcome = scenario.play(scenario.seed());
        outcome.summary()["counts"]["machine_failures"].as_u64()
    };
    assert_eq!(failures("autoscaled-shop"), Some(0));
    assert_eq!(failures("drain-and-upgrade"), Some(4));
    assert_eq!(failures("total-loss"), Some(15));
}

#[test]
fn a_daemon_pod_where_none_should_run_makes_up_for_no_other() {
    let agent = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: default}, spec: {selector: {matchLabels: {app: agent}}, \
                 template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: c, image: i}]}}}}";
    let timeline = "{at: 30s, kubectl: 'taint node n-1 a=b:NoSchedule'}, {at: 40s, kubectl: annotate ds agent x=y}, \
                    {at: 50s, fault: {kind: ContainerCrash, pods: {namespace: default}, nodes: {names: [n-2]}}}";
    let observed = play("5m", timeline, &[agent]);
    let last = observed.workloads.last().expect("rows of the set");
    assert_eq!((last.desired, last.ready, last.misscheduled), (2, 2, 1));
    let [outcome] = &observed.summary.workloads[..] else { panic!("{:?}", observed.summary.workloads) };
    assert_eq!((outcome.desired, outcome.ready, outcome.ready_min, outcome.missing_max), (2, 2, 1, 1));
    assert!((0.5..5.0).contains(&outcome.below_desired_s), "{outcome:?}");
}
