//! Forecasts: what they expect of years agrees with plain replications and with closed forms, and bytes are the same.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Condvar, Mutex};
use std::thread;

use kubesquall::{
    ErrorKind, Forecast, ForecastInputs, ForecastOptions, Handed, LoadOptions, PlayOptions, PlayPool, Progress,
    Scenario, WriteOptions,
};
use rayon::prelude::*;
use serde_json::Value;

use super::binary::kubesquall;
use super::dice::Dice;
use super::random;

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

/// Plays of a batch: what is made, and what somebody makes.
struct Batch {
    made: Vec<Option<String>>,
    begun: Vec<bool>,
}

/// Plays that several have among themselves.
#[derive(Default)]
struct Shared {
    batches: Mutex<BTreeMap<u64, Batch>>,
    changed: Condvar,
    fingerprints: Mutex<Vec<u64>>,
}

/// One of them. It has a number of plays to make until it is lost; who makes none only listens.
struct Member<'a> {
    shared: &'a Shared,
    left: Mutex<u32>,
    makes: bool,
}

impl PlayPool for Member<'_> {
    fn begin(&self, fingerprint: u64) {
        self.shared.fingerprints.lock().expect("whole").push(fingerprint);
    }

    fn next(&self, batch: u64, count: usize, made: Option<(usize, String)>) -> Handed {
        let mut batches = self.shared.batches.lock().expect("whole");
        if let Some((at, text)) = made {
            batches.get_mut(&batch).expect("begun").made[at] = Some(text);
            self.shared.changed.notify_all();
        }
        loop {
            let anew = || Batch { made: vec![None; count], begun: vec![false; count] };
            let Batch { made, begun } = batches.entry(batch).or_insert_with(anew);
            assert_eq!(made.len(), count, "all have the same batches");
            if made.iter().all(Option::is_some) {
                return Handed::Over(made.iter().flatten().cloned().collect());
            }
            let mut left = self.left.lock().expect("whole");
            if self.makes && *left == 0 {
                // Lost, with what it was about to make.
                return Handed::Over(Vec::new());
            }
            let open = begun.iter().position(|is_begun| !is_begun).filter(|_| self.makes);
            if let Some(at) = open {
                // What a lost one began, somebody else begins again.
                *left -= 1;
                begun[at] = *left > 0;
                if *left > 0 {
                    return Handed::Play(at);
                }
                continue;
            }
            drop(left);
            batches = self.shared.changed.wait(batches).expect("whole");
        }
    }
}

impl Progress for Member<'_> {
    fn advance(&self) {}

    fn is_stopped(&self) -> bool {
        self.makes && *self.left.lock().expect("whole") == 0
    }
}

#[test]
fn several_that_share_plays_have_the_bytes_of_one_though_one_is_lost() {
    let cluster = nodes(3, &["a", "b"]) + &served("web", 2, "");
    let load = || Forecast::parse([("cluster.yaml", cluster.clone())], &LoadOptions::new()).expect("a cluster");
    let options = || ForecastOptions::new().years(3);
    let alone = load().work_out(&options()).expect("a forecast").json_text();
    let shared = Shared::default();
    let member = |makes: bool, left: u32| Member { shared: &shared, left: Mutex::new(left), makes };
    let [listener, steady, lost] = [member(false, 1), member(true, u32::MAX), member(true, 7)];
    let outcomes: Vec<_> = thread::scope(|scope| {
        let work =
            |member: &Member<'_>| load().work_out(&options().pool(member).progress(member)).map(|of| of.json_text());
        let threads = [&listener, &steady, &lost].map(|member| scope.spawn(move || work(member)));
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(outcomes[0].as_deref().expect("a forecast"), alone, "who only listens has it");
    assert_eq!(outcomes[1].as_deref().expect("a forecast"), alone);
    assert_eq!(outcomes[2].as_ref().expect_err("lost").kind(), ErrorKind::Stopped);
    let refused = load().work_out(&options().pool(&listener).resume(true)).expect_err("no resuming");
    assert_eq!(refused.kind(), ErrorKind::Argument);
    let fingerprints = shared.fingerprints.into_inner().expect("whole");
    assert_eq!(fingerprints, [fingerprints[0]; 3]);
    let played: usize = shared.batches.into_inner().expect("whole").values().map(|batch| batch.made.len()).sum();
    assert!(played > 50, "{played} plays were shared");
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
    assert_eq!(text, with(8));
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

#[test]
fn a_journal_that_is_damaged_in_its_middle_is_used_up_to_there() {
    struct Heard(Mutex<Vec<String>>);
    impl Progress for Heard {
        fn advance(&self) {}

        fn warn(&self, text: &str) {
            self.0.lock().expect("nobody panics").push(text.to_owned());
        }
    }
    let cluster = nodes(3, &["a", "b", "c"]) + &served("web", 1, "");
    let forecast = Forecast::parse([("cluster.yaml", &*cluster)], &LoadOptions::new()).expect("a cluster");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (place, writing) = (dir.path().join("forecast"), WriteOptions::new().charts(false));
    let journal = dir.path().join("forecast.journal.tmp");
    let heard = Heard(Mutex::default());
    let years = || ForecastOptions::new().years(3).progress(&heard);
    forecast.work_out_to(&place, &years().plays(12), &writing).expect("the first twelve plays");
    let mut bytes = fs::read(&journal).expect("a journal");
    let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').collect();
    bytes[ends[5] + 10] = 0xff;
    fs::write(&journal, &bytes).expect("damaged");
    let (resumed, _) = forecast.work_out_to(&place, &years().plays(12).resume(true), &writing).expect("goes on");
    let said = heard.0.lock().expect("nobody panics").join("\n");
    assert!(said.contains("is damaged in line 7") && said.contains("7 plays are made again"), "{said}");
    let lines = fs::read(&journal).expect("a journal");
    assert!(lines.starts_with(&bytes[..ends[5]]), "what stands before is not played again");
    assert_eq!(lines.iter().filter(|byte| **byte == b'\n').count(), 13);
    assert_eq!(resumed.json_text(), forecast.work_out(&years().plays(12)).expect("a forecast").json_text());
}

/// A pod without a controller; nothing makes it anew.
fn bare(name: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop, labels: {{run: {name}}}}}\nspec: {{containers: \
         [{{name: c, image: i, resources: {{requests: {{cpu: 10m}}}}}}]}}\n"
    )
}

#[test]
fn pods_without_a_controller_are_told_apart_and_are_in_no_sum() {
    let rest = nodes(3, &["a", "b", "c"]) + &served("web", 1, "");
    let with = |cluster: &str| {
        let forecast = Forecast::parse([("cluster.yaml", cluster)], &LoadOptions::new()).expect("a cluster");
        forecast.work_out(&ForecastOptions::new().years(4)).expect("a forecast")
    };
    let outcome = with(&(rest.clone() + &bare("lone") + &bare("lorn")));
    let json = outcome.json();
    let apart = &json["without_controller"];
    let names: Vec<&str> =
        apart["units"].as_array().expect("units").iter().filter_map(|unit| unit["unit"].as_str()).collect();
    assert_eq!(names.len(), 2, "{apart}");
    let of_apart = number(&apart["lost_min_per_year"]["mean"]);
    let units = json["units"].as_array().expect("units");
    let sum: f64 = units.iter().map(|unit| number(&unit["lost_min_per_year"]["mean"])).sum();
    assert!(units.iter().all(|unit| unit["unit"] == "service/shop/web"), "{units:?}");
    assert!((number(&json["lost_min_per_year"]["mean"]) - sum).abs() < 1e-9);
    assert!(of_apart > 100.0 * sum && sum > 0.0, "they would dwarf it: {of_apart} and {sum}");
    let worst = |json: &Value| json["incidents"].as_array().expect("incidents")[0]["worst"].clone();
    assert_eq!(worst(&json), "service/shop/web");
    let findings = json["findings"].as_array().expect("findings");
    let last = findings.last().expect("some");
    assert_eq!((&last["fix"], &last["is_apart"]), (&"controller".into(), &true.into()), "{findings:#?}");
    let together = json["together"].as_array().expect("steps");
    assert!(together.iter().all(|step| step["fix"] != "controller"), "{together:#?}");
    assert!(with(&rest).json()["without_controller"].is_null());
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place =
        outcome.write_with(dir.path().join("forecast"), &WriteOptions::new()).expect("what is told apart is written");
    assert!(place.join("report.html").exists(), "{}", place.display());
}

#[test]
fn where_all_would_be_too_much_every_part_of_it_is_held_to_the_number_of_plays() {
    let cluster = nodes(24, &["a", "b", "c"])
        + &(0..12).map(|at| served(&format!("web-{at}"), 1 + at % 3, "")).collect::<String>();
    let forecast = Forecast::parse([("cluster.yaml", cluster)], &LoadOptions::new()).expect("a cluster");
    let json = forecast.work_out(&ForecastOptions::new().plays(900)).expect("a forecast").json();
    assert!(json["plays"].as_u64() <= Some(900), "{}", json["plays"]);
    assert_eq!(json["plays_left_out"], 0, "{:#}", json["left_out"]);
    let findings = json["findings"].as_array().expect("findings");
    assert!(!findings.is_empty() && findings.iter().all(|finding| finding["is_confirmed"] == true), "{findings:#?}");
    let left_out = json["left_out"].to_string();
    assert!(left_out.contains("incidents of a kind") && left_out.contains("--plays"), "{left_out}");
}

#[test]
fn the_worst_incident_of_a_finding_is_a_run_that_costs_the_same() {
    let budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web, namespace: shop}\nspec: {minAvailable: 1, \
                  selector: {matchLabels: {app: web}}}\n";
    let cluster = nodes(4, &["a", "b"]) + &served("web", 1, "") + budget;
    let forecast = Forecast::parse([("cluster.yaml", &*cluster)], &LoadOptions::new()).expect("a cluster");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (place, writing) = (dir.path().join("forecast"), WriteOptions::new().charts(false));
    let (outcome, _) = forecast.work_out_to(&place, &ForecastOptions::new().years(2), &writing).expect("a forecast");
    let json = outcome.json();
    let incidents = json["incidents"].as_array().expect("incidents");
    let costly: Vec<&Value> = incidents.iter().filter(|row| row["lost_min"].as_f64() > Some(0.0)).collect();
    assert!(costly.len() >= 4, "{incidents:#?}");
    for row in costly {
        let set = row["set"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let options = set.fold(LoadOptions::new(), LoadOptions::set);
        let scenario = Scenario::load_with(place.join("scenario.lock.yaml"), &options).expect("a scenario");
        let summary = scenario.settle().play_with(scenario.seed(), &PlayOptions::new()).summary();
        let lost = summary["metrics"]["lost_traffic_s"].as_f64().expect("lost traffic") / 60.0;
        let promised = row["lost_min"].as_f64().expect("lost minutes");
        assert!((lost - promised).abs() < 1e-6, "{}: {lost} {promised}", row["incident"]);
    }
}

#[test]
fn what_was_not_played_passes_no_condition_and_is_compared_with_nothing() {
    let cluster = nodes(3, &["a", "b", "c"]) + &served("web", 1, "");
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("cluster.yaml"), cluster).expect("a cluster");
    let forecast = |arguments: &str| {
        let said = kubesquall(dir.path(), &format!("forecast cluster.yaml --no-charts {arguments}"), "");
        (said.status, said.stdout + &said.stderr)
    };
    for figure in ["lost_traffic_min_per_year>10", "node_worst_min>5", "findings>0", "blocked_per_year>0"] {
        let (status, said) = forecast(&format!("--plays 0 --out none --fail-on {figure}"));
        assert_eq!(status, 1, "{figure}: {said}");
        assert!(said.contains("is not known"), "{said}");
        assert!(!said.contains("NaN") && !said.contains("unknown min"), "{said}");
    }
    let (_, said) = forecast("--years 2 --out some --baseline none/forecast.json");
    assert!(said.contains("nothing was played last time") && !said.contains("new:"), "{said}");
    let foreign = r#"{"forecast": "elsewhere", "findings": [], "units": [{"unit": "service/x/y"}], "lost_min_per_year": {"mean": 1, "low": 0, "high": 2}}"#;
    fs::write(dir.path().join("foreign.json"), foreign).expect("written");
    let (_, said) = forecast("--years 2 --out some --baseline foreign.json");
    assert!(said.contains("no service and no workload of elsewhere is here"), "{said}");
}

#[test]
fn a_deployment_that_is_recreated_is_not_told_to_run_twice() {
    let once =
        served("once", 1, "").replace("spec:\n  replicas: 1\n", "spec:\n  replicas: 1\n  strategy: {type: Recreate}\n");
    assert!(once.contains("Recreate"));
    let cluster = nodes(4, &["a", "b"]) + &once + &served("web", 1, "");
    let forecast = Forecast::parse([("cluster.yaml", cluster)], &LoadOptions::new()).expect("a cluster");
    let outcome = forecast.work_out(&ForecastOptions::new().years(4)).expect("a forecast");
    let patches: String = outcome.patches().map(|(_, patches)| patches.shell.as_str()).collect();
    assert!(patches.contains("deployment web -n shop") && patches.contains("can run twice"), "{patches}");
    assert!(!patches.contains("patch deployment once -n shop --type=merge -p '{\"spec\":{\"replicas\""), "{patches}");
}

#[test]
fn where_there_is_nobody_nothing_is_said_to_be_well() {
    let forecast = Forecast::parse([("cluster.yaml", nodes(3, &["a"]))], &LoadOptions::new()).expect("a cluster");
    let outcome = forecast.work_out(&ForecastOptions::new().years(2)).expect("a forecast");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = outcome.write_with(dir.path().join("forecast"), &WriteOptions::new().charts(false)).expect("written");
    let said = fs::read_to_string(place.join("summary.json")).expect("the verdict");
    assert!(said.contains("nobody can be hurt") && said.contains("3 Node"), "{said}");
    assert!(said.contains("save what runs there, too: kubectl get nodes,"), "{said}");
    assert!(!said.contains("Nothing was found"), "{said}");
}

#[test]
fn nothing_is_saved_that_is_more_than_the_whole_beside_it() {
    let budget = "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: tight, namespace: shop}\nspec: {minAvailable: 2, \
                  selector: {matchLabels: {app: tight}}}\n";
    let cluster = nodes(4, &["a", "b"]) + &served("web", 1, "") + &served("tight", 2, "") + budget;
    for seed in [0, 1] {
        let options = LoadOptions::new().seed(seed);
        let forecast = Forecast::parse([("cluster.yaml", &*cluster)], &options).expect("a cluster");
        let outcome = forecast.work_out(&ForecastOptions::new().years(3)).expect("a forecast");
        let json = outcome.json();
        let mean = |interval: &Value| number(&interval["mean"]);
        let whole = mean(&json["cost_min_per_year"]);
        assert!((whole - mean(&json["lost_min_per_year"]) - mean(&json["blocked_min_per_year"])).abs() < 1e-6);
        assert!(mean(&json["blocked_min_per_year"]) > 0.0 && json["years"]["chosen_by"] == 3, "{:#}", json["years"]);
        let findings = json["findings"].as_array().expect("findings");
        assert!(findings.len() >= 2, "{findings:#?}");
        let units = json["units"].as_array().expect("units");
        let cost_of = |unit: &Value| mean(&unit["lost_min_per_year"]) + mean(&unit["blocked_min_per_year"]);
        let mut saved = 0.0;
        for finding in findings {
            let cost = mean(&finding["cost_min_per_year"]);
            let names = finding["units"].as_array().expect("units");
            let of_units =
                units.iter().filter(|unit| names.contains(&unit["unit"])).map(cost_of).fold(0.0, |a, b| a + b);
            assert!((cost - of_units).abs() < 1e-6, "{cost} is not the {of_units} that its units cost");
            saved += mean(&finding["saved_min_per_year"]["cost"]);
            assert!(mean(&finding["saved_min_per_year"]["cost"]) <= cost + 1e-6, "{finding:#}");
            for other in finding["alternatives"].as_array().expect("alternatives") {
                assert!((0.0..=1.0).contains(&number(&other["share"])), "{other:#}");
            }
        }
        assert!(saved <= whole + 1e-6, "{saved} of {whole}");
        let mut now = whole;
        for step in json["together"].as_array().expect("steps") {
            assert!((now - mean(&step["gained"]) - mean(&step["cost"])).abs() < 1e-6, "{step:#}");
            now = mean(&step["cost"]);
        }
        assert!(now < whole, "together they save something");
    }
}

#[test]
fn what_nothing_helps_against_is_said_to_be_that() {
    let pinned = "      nodeSelector: {kubernetes.io/hostname: node-3}\n";
    let cluster = nodes(4, &["a", "b"]) + &served("web", 1, "") + &served("pinned", 1, pinned);
    // So many cost the pinned one more that not all that is tried for it is tried on the blackout.
    let of_node = |index: u32| {
        format!(
            "- {{name: long-{index}, duration: 2h, timeline: [{{at: 0s, fault: {{kind: Crash, nodes: {{names: [node-3]}}, for: 1h}}}}]}}\n"
        )
    };
    let blackout = "incidents:\n- {name: blackout, duration: 1h, timeline: [{at: 0s, fault: {kind: Crash, nodes: {}, for: 30m}}]}\n";
    let catalogue = blackout.to_owned() + &(0..12).map(of_node).collect::<String>();
    let asked = ForecastInputs::new().catalogue("mine.yaml", catalogue);
    let forecast = Forecast::parse_with([("cluster.yaml", cluster)], &LoadOptions::new(), &asked).expect("a cluster");
    let outcome = forecast.work_out(&ForecastOptions::new().years(2)).expect("a forecast");
    let json = outcome.json();
    let unhelped = json["unhelped"].as_array().expect("a list");
    let of = |incident: &str| unhelped.iter().find(|of| of["incident"] == incident);
    let all = of("own/blackout").unwrap_or_else(|| panic!("{unhelped:#?}"));
    let tried = all["tried"].as_array().expect("fixes");
    assert!(tried.contains(&"toleration".into()) && number(&all["cost_min"]) > 29.0, "{all:#}");
    assert_eq!(of("kubeletsCutOff/all").map(|of| &of["tried"]), Some(&serde_json::json!([])));
    let is_node = |of: &Value| of["incident"].as_str().is_some_and(|name| name.starts_with("nodeLost"));
    assert!(!unhelped.iter().any(is_node), "against the loss of a node something helps: {unhelped:#?}");
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = outcome.write_with(dir.path().join("forecast"), &WriteOptions::new().charts(false)).expect("written");
    let said = fs::read_to_string(place.join("summary.json")).expect("the verdict");
    assert!(said.contains("blackout costs ") && said.contains(": of what was tried on it ("), "{said}");
    assert!(said.contains(") nothing helps") && said.contains("toleration"), "{said}");
    // What was tried elsewhere and not there is said to be that.
    let untried: Vec<&Value> = all["untried"].as_array().into_iter().flatten().collect();
    assert!(!untried.is_empty() && untried.iter().all(|fix| !tried.contains(fix)), "{all:#}");
    assert!(said.contains(&format!("; not tried on it: {}", untried[0].as_str().expect("a name"))), "{said}");
}

#[test]
fn files_of_several_clusters_are_told_to_be_given_one_at_a_time() {
    let files =
        [("a.yaml", nodes(2, &["a"]) + &served("web", 1, "")), ("b.yaml", nodes(2, &["b"]) + &served("web", 3, ""))];
    let said = Forecast::parse(files, &LoadOptions::new()).expect_err("two clusters").to_string();
    assert!(said.contains("b.yaml") && said.contains("give those of one at a time"), "{said}");
    assert!(said.contains("`--allow-partial` goes on with the first of each name"), "{said}");
}

/// What is said of a cluster with these files.
#[track_caller]
fn refused(asked: &ForecastInputs) -> String {
    let cluster = nodes(2, &["a", "b"]) + &served("web", 1, "");
    Forecast::parse_with([("cluster.yaml", cluster)], &LoadOptions::new(), asked).expect_err("it is wrong").to_string()
}

#[test]
fn what_is_wrong_in_a_file_of_ones_own_is_told_at_its_line() {
    let catalogue = |entries: &str| {
        let text = format!("drainsPerYear: 1\nincidents:\n- name: noon\n  duration: 2h\n  timeline:\n{entries}");
        refused(&ForecastInputs::new().catalogue("mine.yaml", text))
    };
    #[track_caller]
    fn check(said: &str, line: u32, expected: &str) {
        assert!(said.contains(&format!("mine.yaml:{line}:")) && said.contains(expected), "{said}");
        assert!(!said.contains("--set"), "{said}");
    }
    let drain = "  - {at: 0s, kubectl: drain node-0}\n";
    check(&catalogue(&format!("{drain}  - {{at: 5m, kubectl: drane node-1}}\n")), 7, "drane");
    check(&catalogue(&format!("{drain}  - {{at: 5m, fault: {{kind: Crush, nodes: {{}}}}}}\n")), 7, "Crush");
    check(
        &catalogue(&format!("{drain}  - {{at: 5m, fault: {{kind: Crash, nodes: {{names: [node-7]}}}}}}\n")),
        7,
        "node-7",
    );
    check(&catalogue(&format!("{drain}  - {{at: 3h, kubectl: uncordon node-0}}\n")), 7, "lasts for 2h");
    check(&catalogue("  - {at: 0s}\n"), 6, "nothing happens here");
    check(&catalogue("  - at: 0s\n    kubectl: |\n      drain node-0\n      uncordon node-0\n"), 6, "2 things at once");
    let rates = "# mine\nfaults:\n- {name: a, kind: Crash, nodes: {}, timeToFailure: {exponential: {mean: -1d}}, timeToRepair: \
                 {constant: 1h}}\n";
    check(&refused(&ForecastInputs::new().rates("mine.yaml", rates)), 3, "-1d");
    check(&refused(&ForecastInputs::new().rates("mine.yaml", "# none\nfault: []\n")), 2, "has no `faults`");
}

#[test]
fn what_the_catalogue_takes_out_is_named_and_something_has_to_be_left() {
    let cluster = nodes(2, &["a", "b"]) + &served("web", 1, "");
    let asked = ForecastInputs::new().catalogue("mine.yaml", "remove: [pairLost, nodeHiccup/node-1, domainLost]");
    let forecast = Forecast::parse_with([("cluster.yaml", &*cluster)], &LoadOptions::new(), &asked).expect("a cluster");
    let outcome = forecast.work_out(&ForecastOptions::new().years(2).plays(2)).expect("a forecast");
    let left: Vec<String> = serde_json::from_value(outcome.json()["left_out"].clone()).expect("texts");
    let removes = |what: &str, count: &str| format!("`{what}` is not played, {count}: mine.yaml removes it");
    let expected = [
        removes("pairLost", "1 incident"),
        removes("nodeHiccup/node-1", "1 incident"),
        removes("domainLost", "0 incidents"),
    ];
    assert_eq!(left, expected);
    let kinds = "remove: [nodeLost, zoneLost, pairLost, nodeHiccup, instanceReclaimed, kubeletsCutOff, apiServerGone, \
                 controllerManagerRestart, drain, poolUpgrade, rollOut, rolloutWhileNodeLost]";
    let said = refused(&ForecastInputs::new().catalogue("mine.yaml", kinds));
    assert!(said.contains("nothing is left to be played") && said.contains("under `incidents:`"), "{said}");
}

#[test]
fn usual_failures_that_a_file_of_rates_leaves_out_are_told() {
    let cluster = nodes(4, &["a", "b"]) + &served("web", 2, "");
    let played = |asked: &ForecastInputs| {
        let forecast =
            Forecast::parse_with([("cluster.yaml", &cluster)], &LoadOptions::new(), asked).expect("a cluster");
        forecast.work_out(&ForecastOptions::new().years(2).plays(2)).expect("a forecast")
    };
    let usual = played(&ForecastInputs::new());
    assert_eq!(usual.json()["stands_on"].get("not_played"), None);
    let names = |outcome: &kubesquall::ForecastOutcome| -> Vec<String> {
        let json = outcome.json();
        let left = json["stands_on"]["not_played"].as_array().expect("a list").clone();
        left.iter().filter_map(|of| Some(of.as_str()?.split_once(": ")?.0.to_owned())).collect()
    };
    let own = CRASHES.replace("name: machine", "name: crashes");
    let own = played(&ForecastInputs::new().rates("rates.yaml", own));
    assert_eq!(names(&own), ["machine", "hiccup", "kubelet", "zone"]);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let place = own.write_with(dir.path().join("forecast"), &WriteOptions::new().charts(false)).expect("written");
    let said = fs::read_to_string(place.join("summary.json")).expect("the verdict");
    assert!(
        said.contains("The usual failures are not played: what happens at random is what rates.yaml names"),
        "{said}"
    );
    assert!(said.contains("kubelet: a kubelet hangs once a year"), "{said}");
    // What the file has by the same name is there.
    let of_machines = played(&ForecastInputs::new().rates("rates.yaml", CRASHES));
    assert_eq!(names(&of_machines), ["hiccup", "kubelet", "zone"]);
}

fn crashing(cluster: &str, years: u64) -> Value {
    let asked = ForecastInputs::new().rates("rates.yaml", CRASHES).catalogue("catalogue.yaml", "drainsPerYear: 0");
    let forecast = Forecast::parse_with([("cluster.yaml", cluster)], &LoadOptions::new(), &asked).expect("a cluster");
    forecast.work_out(&ForecastOptions::new().years(years)).expect("a forecast").json()
}

/// The years that a forecast's figures are of.
fn years_of(json: &Value) -> std::ops::Range<u64> {
    let years = |field: &str| json["years"][field].as_u64().expect("a number");
    years("chosen_by")..years("chosen_by") + years("played")
}

/// What each service loses in a year of the same failures, played as anybody would: minutes, the mean of years.
fn plain(cluster: &str, faults: &str, years: std::ops::Range<u64>) -> BTreeMap<String, f64> {
    let scenario = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: plain}}\nspec:\n  duration: 365d\n  cluster: \
         {{manifests: [cluster.yaml]}}\n  {}",
        faults.trim_end().replace('\n', "\n  ")
    );
    let settled = Scenario::parse(&scenario, [("cluster.yaml", cluster)]).expect("a scenario").settle();
    let options = PlayOptions::new().summary_only();
    let mut lost = BTreeMap::new();
    let count = (years.end - years.start) as f64;
    for seed in years {
        let summary = settled.play_with(seed, &options).summary();
        for service in summary["services"].as_array().expect("services") {
            let name = service["name"].as_str().expect("a name").to_owned();
            let of_year = number(&service["lost_traffic_s"]) - number(&service["unwanted_s"]);
            *lost.entry(name).or_default() += of_year / 60.0 / count;
        }
    }
    lost
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn a_year_costs_what_plain_replications_of_the_same_failures_cost() {
    const YEARS: u64 = 3;
    let cluster = nodes(3, &["a"]) + &served("web", 1, "") + &served("two", 2, "");
    let json = crashing(&cluster, YEARS);
    let plain = plain(&cluster, CRASHES, years_of(&json));
    for name in ["web", "two"] {
        let unit =
            json["units"].as_array().expect("units").iter().find(|unit| unit["unit"] == format!("service/shop/{name}"));
        let found = number(&unit.expect("it is there")["lost_min_per_year"]["mean"]);
        assert!((found - plain[name]).abs() < 1e-9 && found > 0.0, "{name}: {found} and {}", plain[name]);
    }
}

/// A small cluster with services that can bear more or less, and what happens to it at random.
fn any_cluster(seed: u64) -> (String, String) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0xf0ca_57ed);
    let zones = &["a", "b", "c"][..dice.between(1, 3) as usize];
    let mut cluster = nodes(dice.between(2, 5) as usize, zones);
    for index in 0..dice.between(1, 3) {
        let name = format!("web-{index}");
        let mut more = String::new();
        if dice.percent(30) {
            let seconds = dice.between(0, 400);
            for taint in ["not-ready", "unreachable"] {
                let start = if more.is_empty() { "      tolerations:\n" } else { "" };
                more += &format!(
                    "{start}      - {{key: node.kubernetes.io/{taint}, operator: Exists, effect: NoExecute, tolerationSeconds: \
                     {seconds}}}\n"
                );
            }
        }
        if dice.percent(20) {
            more += &format!("      nodeSelector: {{kubernetes.io/hostname: node-{}}}\n", dice.between(0, 1));
        }
        if dice.percent(30) {
            more += &format!(
                "      topologySpreadConstraints: [{{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, \
                 labelSelector: {{matchLabels: {{app: {name}}}}}}}]\n"
            );
        }
        let text = served(&name, dice.between(1, 3) as u32, &more);
        let ready =
            format!("labels: {{app: {name}}}, annotations: {{kubesquall.sim/ready: {}s}}}}", dice.between(1, 300));
        cluster += &text.replace(&format!("{{labels: {{app: {name}}}}}\n    spec"), &format!("{{{ready}\n    spec"));
    }
    let process = |name: &str, kind: &str, days: u64, repair: String| {
        format!(
            "- {{name: {name}, kind: {kind}, nodes: {{}}, timeToFailure: {{exponential: {{mean: {days}d}}}}, timeToRepair: {repair}}}\n"
        )
    };
    let mut faults = "faults:\n".to_owned();
    let repair = format!("{{lognormal: {{median: {}m, p99: 6h}}}}", dice.between(2, 90));
    faults += &process("machine", "Crash", dice.between(20, 90), repair);
    if dice.percent(50) {
        let repair = format!("{{constant: {}s}}", dice.between(20, 900));
        faults += &process("network", "Partition", dice.between(10, 60), repair);
    }
    (cluster, faults)
}

/// What the services of a seed's cluster lose together, in minutes a year, or where a forecast says something else: the years alone are
/// played, so that planned work costs nothing.
fn agreed(seed: u64) -> Result<f64, String> {
    const YEARS: u64 = 2;
    let (cluster, faults) = any_cluster(seed);
    let asked = ForecastInputs::new().rates("rates.yaml", &faults);
    let forecast = Forecast::parse_with([("cluster.yaml", cluster.as_str())], &LoadOptions::new(), &asked);
    let forecast = forecast.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{cluster}{faults}"));
    let json = forecast.work_out(&ForecastOptions::new().years(YEARS).plays(YEARS)).expect("a forecast").json();
    let plain = plain(&cluster, &faults, years_of(&json));
    let down: Vec<&str> =
        json["stands_on"]["down"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for unit in json["units"].as_array().expect("units") {
        let name = unit["unit"].as_str().expect("a name");
        let found = number(&unit["lost_min_per_year"]["mean"]);
        let expected = plain[name.rsplit('/').next().expect("a name")];
        if (found - expected).abs() > 1e-6 && !down.contains(&name) {
            return Err(format!(
                "seed {seed}: {name} loses {found} min a year, plain replications {expected}\n{cluster}{faults}"
            ));
        }
    }
    Ok(plain.values().sum())
}

#[test]
fn random_small_clusters_cost_what_plain_replications_cost() {
    let (seeds, _) = random::seeds("FORECAST_SEEDS", 0..10);
    let agreed: Vec<Result<f64, String>> = seeds.into_par_iter().map(agreed).collect();
    let losing = agreed.iter().flatten().filter(|lost| **lost > 1.0).count();
    assert!(2 * losing > agreed.len(), "hardly any of {} clusters loses anything", agreed.len());
    let failures: Vec<String> = agreed.into_iter().filter_map(Result::err).collect();
    assert!(failures.is_empty(), "{} clusters differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_single_pod_loses_what_one_crash_costs_as_often_as_its_node_crashes() {
    let json = crashing(&(nodes(3, &["a"]) + &served("web", 1, "")), 12);
    let lost = &json["units"][0]["lost_min_per_year"];
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

#[test]
fn what_was_not_tried_is_neither_gone_nor_new() {
    let cluster = nodes(3, &["a", "b", "c"]) + &served("web", 1, "") + &served("api", 2, "");
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("cluster.yaml"), cluster).expect("a cluster");
    let forecast = |arguments: &str| {
        let said = kubesquall(dir.path(), &format!("forecast cluster.yaml --no-charts --years 2 {arguments}"), "");
        said.stdout + &said.stderr
    };
    forecast("--out whole");
    let read = |out: &str| fs::read_to_string(dir.path().join(out).join("forecast.json")).expect("a forecast");
    let whole: Value = serde_json::from_str(&read("whole")).expect("JSON");
    assert!(!whole["findings"].as_array().expect("a list").is_empty());
    // As many plays as give figures, and leave out what findings come of.
    let found = (4..60).step_by(4).find_map(|plays| {
        let said = forecast(&format!("--plays {plays} --out few --force --baseline whole/forecast.json"));
        let few: Value = serde_json::from_str(&read("few")).expect("JSON");
        let is_cut = few["plays_left_out"].as_u64().expect("a number") > 0 && few["findings"] == serde_json::json!([]);
        (is_cut && !said.contains("nothing can be compared")).then_some(said)
    });
    let said = found.expect("a number of plays");
    assert!(said.contains("which findings are gone is not known") && !said.contains("gone: "), "{said}");
    // What every cluster has does not make two clusters one.
    let foreign = read("whole").replace("/shop/web", "/else/where").replace("/shop/api", "/kube-system/dns");
    fs::write(dir.path().join("foreign.json"), foreign).expect("written");
    let own = fs::read_to_string(dir.path().join("cluster.yaml")).expect("the cluster");
    fs::write(
        dir.path().join("cluster.yaml"),
        own + &served("dns", 1, "").replace("namespace: shop", "namespace: kube-system"),
    )
    .expect("a cluster");
    let said = forecast("--out other --baseline foreign.json");
    assert!(said.contains("nothing can be compared, as no service"), "{said}");
}
