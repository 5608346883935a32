//! Forecasts: planted weaknesses come out first with what mends them, what only looks like one does not, and bytes are the same.

use std::fs;

use kubesquall::{
    Forecast, ForecastInputs, ForecastOptions, ForecastOutcome, LoadOptions, PlayOptions, Scenario, WriteOptions,
};
use serde_json::Value;

/// Nodes in zones, in turn.
fn nodes(count: usize, zones: &[&str]) -> String {
    (0..count)
        .map(|index| {
            let zone = zones[index % zones.len()];
            format!(
                "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: node-{index}\n  labels: {{kubernetes.io/hostname: node-{index}, \
                 topology.kubernetes.io/zone: {zone}}}\nstatus:\n  allocatable: {{cpu: \"2\", memory: 8Gi, pods: \"110\"}}\n  \
                 conditions: [{{type: Ready, status: \"True\"}}]\n"
            )
        })
        .collect()
}

/// A Deployment with a service; `more` is put into the pods' spec.
fn served(name: &str, replicas: u32, more: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n  replicas: {replicas}\n  \
         selector: {{matchLabels: {{app: {name}}}}}\n  template:\n    metadata: {{labels: {{app: {name}}}}}\n    spec:\n      \
         containers: [{{name: c, image: i, resources: {{requests: {{cpu: 100m}}}}}}]\n{more}{}",
        service(name)
    )
}

fn service(name: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{selector: {{app: {name}}}, ports: \
         [{{port: 80}}]}}\n"
    )
}

fn budget(name: &str, min_available: u32) -> String {
    format!(
        "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{minAvailable: \
         {min_available}, selector: {{matchLabels: {{app: {name}}}}}}}\n"
    )
}

fn worked_out(cluster: &str) -> (ForecastOutcome, Value) {
    let forecast = Forecast::parse([("cluster.yaml", cluster)], &LoadOptions::new()).expect("a cluster");
    let outcome = forecast.work_out(&ForecastOptions::new().years(4)).expect("a forecast");
    let json = outcome.json();
    (outcome, json)
}

/// The first finding's fix and what it is about.
fn first(cluster: &str) -> (String, Vec<String>) {
    let (_, json) = worked_out(cluster);
    let finding = &json["findings"][0];
    let workloads = finding["workloads"].as_array().into_iter().flatten();
    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (name(&finding["fix"]), workloads.map(name).collect())
}

/// Workloads that look weak to a linter and lose nothing.
fn decoys() -> String {
    served("many", 6, "")
        + "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: once, namespace: shop}\nspec: {template: {spec: {restartPolicy: Never, \
           containers: [{name: c, image: i}]}}}\n"
}

#[test]
fn a_single_pod_wants_a_second_one() {
    let cluster = nodes(4, &["a", "b"]) + &served("web", 1, "") + &decoys();
    let (fix, workloads) = first(&cluster);
    assert!(fix == "replicas" || fix == "replicasAcrossZones", "{fix}");
    assert_eq!(workloads, ["deployment/shop/web"]);
}

#[test]
fn a_pod_without_a_controller_wants_one() {
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: lonely, namespace: shop, labels: {app: lonely}}\nspec: {containers: \
               [{name: c, image: i}]}\n";
    let cluster = nodes(4, &["a", "b"]) + pod + &service("lonely") + &decoys();
    assert_eq!(first(&cluster), ("controller".to_owned(), vec!["pod/shop/lonely".to_owned()]));
}

#[test]
fn a_budget_that_spares_nothing_is_found_by_the_drains_that_wait() {
    let cluster = nodes(4, &["a", "b"]) + &served("web", 2, "") + &budget("web", 2) + &decoys();
    let (fix, workloads) = first(&cluster);
    assert_eq!((fix.as_str(), workloads), ("budgetLoosen", vec!["deployment/shop/web".to_owned()]));
}

#[test]
fn replicas_pinned_to_one_node_want_to_go_elsewhere() {
    let pinned = "      nodeSelector: {kubernetes.io/hostname: node-0}\n";
    let cluster = nodes(4, &["a", "b"]) + &served("web", 2, pinned) + &decoys();
    let (fix, workloads) = first(&cluster);
    assert_eq!((fix.as_str(), workloads), ("unpin", vec!["deployment/shop/web".to_owned()]));
}

#[test]
fn a_grace_period_beyond_patience_blocks_drains() {
    let slow = "      terminationGracePeriodSeconds: 7200\n";
    let ready = served("web", 2, slow).replace(
        "metadata: {labels: {app: web}}",
        "metadata: {labels: {app: web}, annotations: {kubesquall.sim/stop: 3h}}",
    );
    let cluster = nodes(4, &["a", "b"]) + &ready + &decoys();
    let (fix, workloads) = first(&cluster);
    assert_eq!((fix.as_str(), workloads), ("grace", vec!["deployment/shop/web".to_owned()]));
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    let (_, json) = worked_out(&(nodes(6, &["a", "b", "c"]) + &decoys()));
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(0), "{:#}", json["findings"]);
    assert!(json["incidents"].as_array().is_some_and(|rows| rows.len() > 20));
}

#[test]
fn plays_in_number_and_any_threads_give_the_same_bytes() {
    let cluster = nodes(3, &["a", "b"]) + &served("web", 1, "");
    let forecast = Forecast::parse([("cluster.yaml", cluster)], &LoadOptions::new()).expect("a cluster");
    let with = |threads: usize| {
        let options = ForecastOptions::new().years(3).plays(60).threads(threads.try_into().expect("some"));
        forecast.work_out(&options).expect("a forecast").json_text()
    };
    let text = with(1);
    assert_eq!(text, with(2));
    let json: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["plays"], 60);
    assert!(json["plays_left_out"].as_u64() > Some(0));
}

/// Machines that crash every thirty days for an hour, and nothing else that costs.
const CRASHES: &str = "faults:\n- {name: machine, kind: Crash, nodes: {}, timeToFailure: {exponential: {mean: 30d}}, timeToRepair: {constant: \
                       1h}}\n";

#[test]
fn what_stopped_early_goes_on_and_ends_with_the_same_bytes() {
    let cluster = nodes(3, &["a", "b", "c"]) + &served("web", 1, "");
    let forecast = Forecast::parse([("cluster.yaml", &*cluster)], &LoadOptions::new()).expect("a cluster");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (place, writing) = (dir.path().join("forecast"), WriteOptions::new().charts(false));
    let journal = dir.path().join("forecast.journal.tmp");
    let played = || fs::read_to_string(&journal).expect("a journal").lines().count() - 1;
    let to =
        |options: &ForecastOptions<'_>| forecast.work_out_to(&place, options, &writing).map(|(outcome, _)| outcome);
    let years = || ForecastOptions::new().years(4);
    to(&years().plays(10)).expect("the first ten plays");
    assert_eq!(played(), 10);
    let ten = fs::read_to_string(&journal).expect("a journal");
    to(&years().plays(30).resume(true)).expect("twenty more");
    assert!(fs::read_to_string(&journal).expect("a journal").starts_with(&ten), "what was played is not played again");
    assert_eq!(played(), 30);
    let other = to(&years().years(5).resume(true)).expect_err("another question");
    assert!(other.to_string().contains("belongs to another forecast"), "{other}");
    let resumed = to(&years().resume(true)).expect("the rest");
    assert!(!journal.exists(), "nothing is left to play");
    let at_once = forecast.work_out(&years()).expect("a forecast");
    assert_eq!(resumed.json_text(), at_once.json_text());
    assert_eq!(fs::read_to_string(place.join("forecast.json")).expect("written"), at_once.json_text());
    to(&years().plays(10)).expect("the first ten plays");
    to(&years().plays(5)).expect("five, anew");
    assert_eq!(played(), 5, "what is not resumed begins anew");
}

fn crashing(cluster: &str, years: u64) -> Value {
    let asked = ForecastInputs::new().rates("rates.yaml", CRASHES).catalogue("catalogue.yaml", "drainsPerYear: 0");
    let forecast = Forecast::parse_with([("cluster.yaml", cluster)], &LoadOptions::new(), &asked).expect("a cluster");
    forecast.work_out(&ForecastOptions::new().years(years)).expect("a forecast").json()
}

#[test]
fn a_year_costs_what_plain_replications_of_the_same_failures_cost() {
    const YEARS: u64 = 3;
    let cluster = nodes(3, &["a"]) + &served("web", 1, "") + &served("two", 2, "");
    let json = crashing(&cluster, YEARS);
    let scenario = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: plain}}\nspec:\n  duration: 365d\n  cluster: \
         {{manifests: [cluster.yaml]}}\n  {}",
        CRASHES.replace('\n', "\n  ")
    );
    let settled = Scenario::parse(&scenario, [("cluster.yaml", cluster)]).expect("a scenario").settle();
    let options = PlayOptions::new().summary_only();
    let plain = |name: &str| {
        let lost = |seed: u64| {
            let summary = settled.play_with(seed, &options).summary();
            let services = summary["services"].as_array().expect("services").clone();
            services.iter().find(|service| service["name"] == name).expect("it is there")["lost_traffic_s"]
                .as_f64()
                .expect("a number")
        };
        (0..YEARS).map(lost).sum::<f64>() / 60.0 / YEARS as f64
    };
    for name in ["web", "two"] {
        let unit =
            json["units"].as_array().expect("units").iter().find(|unit| unit["unit"] == format!("service/shop/{name}"));
        let found = unit.expect("it is there")["lost_min_per_year"]["mean"].as_f64().expect("a number");
        assert!((found - plain(name)).abs() < 1e-9 && found > 0.0, "{name}: {found} and {}", plain(name));
    }
}

#[test]
fn a_single_pod_loses_what_one_crash_costs_as_often_as_its_node_crashes() {
    let json = crashing(&(nodes(3, &["a"]) + &served("web", 1, "")), 12);
    let lost = &json["units"][0]["lost_min_per_year"];
    let number = |value: &Value| value.as_f64().expect("a number");
    let rows = json["incidents"].as_array().expect("incidents").iter();
    let of_one = rows.filter(|row| row["kind"] == "nodeLost").map(|row| number(&row["worst_min"])).fold(0.0, f64::max);
    // Detection, five minutes of toleration and a start; repairs take longer.
    assert!((5.5..7.0).contains(&of_one), "{of_one}");
    // While a machine is away it does not crash again.
    let expected = of_one * 365.0 / (30.0 + 1.0 / 24.0);
    let (low, high) = (number(&lost["low"]), number(&lost["high"]));
    let margin = (high - low) / 2.0;
    assert!(low - margin < expected && expected < high + margin, "{expected} is not about [{low}, {high}]");
}

#[test]
fn a_cluster_without_nodes_is_told_how_to_get_some() {
    let error = Forecast::parse([("web.yaml", served("web", 1, ""))], &LoadOptions::new()).expect_err("no node");
    assert!(error.to_string().contains("spec.cluster.nodePools=[{name: worker"), "{error}");
    assert!(!error.to_string().contains("arguments"), "{error}");
}
