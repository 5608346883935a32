//! Traps are named when they decide something, and only then: each with a scenario in which it does, and one that comes near.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use kubesquall::inspect::tell;
use kubesquall::observe::{Trap, TrapKind};
use kubesquall::scenario::{self, Overrides};

use super::{explain, plays};

/// Three nodes, and what the run is given besides.
struct Case<'a> {
    nodes: &'a str,
    objects: &'a [String],
    timeline: &'a str,
}

impl Case<'_> {
    fn traps(&self) -> Vec<Trap> {
        let mut text = format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: traps}}\nspec: {{duration: 20m, seed: 1, \
             cluster: {{nodePools: [{{name: n, {}, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: \
             '20'}}}}}}}}]}}, latency: {{podStart: {{constant: 1s}}, podStop: {{constant: 1s}}, nodeBoot: {{constant: 30s}}, \
             kubeletReconnect: {{constant: 1s}}}}, timeline: [{}]}}\n",
            self.nodes, self.timeline
        );
        for object in self.objects {
            write!(text, "---\n{object}\n").expect("text");
        }
        let scenario = scenario::load_text("traps.yaml", &text, Path::new("absent"), &Overrides::none())
            .unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"));
        let traps = plays::whole(&scenario).0.summary.traps;
        if !traps.is_empty() {
            are_explained(&traps, &text);
        }
        traps
    }

    /// The trap decided something: it names these objects and cost that many seconds.
    #[track_caller]
    fn fires(&self, kind: TrapKind, objects: &[&str], cost_s: std::ops::RangeInclusive<f64>) -> Trap {
        let traps = self.traps();
        let found = traps.iter().find(|trap| trap.trap == kind);
        let trap = found.unwrap_or_else(|| panic!("no {} in {traps:#?}", kind.as_str())).clone();
        assert_eq!(trap.objects, objects, "{trap:#?}");
        assert!(trap.cost_s.is_some_and(|cost| cost_s.contains(&cost)), "{trap:#?}");
        trap
    }

    #[track_caller]
    fn is_quiet_about(&self, kind: TrapKind) {
        let traps = self.traps();
        assert!(traps.iter().all(|trap| trap.trap != kind), "{traps:#?}");
    }
}

/// The story of each object that a trap names tells of the trap; its chains end where something began, and its times stand in tables.
fn are_explained(traps: &[Trap], text: &str) {
    let dir = explain::written(text);
    let run = dir.path().join("run");
    let times = explain::times(&run);
    for (trap, object) in traps.iter().flat_map(|trap| trap.objects.iter().map(move |object| (trap, object))) {
        // A line is no object; the pod that it waits for is.
        let words = || trap.text.split([' ', ',']);
        let object = words().find(|word| object.starts_with("kubectl ") && word.starts_with("pod/")).unwrap_or(object);
        let story = tell(&run, object).unwrap_or_else(|error| panic!("{object}: {error}"));
        let facts = format!("{:?}", story.facts);
        assert!(facts.contains(&format!("A known trap, {}", trap.trap.as_str())), "{object}: {facts}");
        // Nothing happens to a budget that is there from the beginning, nor to the pods that it keeps.
        let has_chain = story.steps.iter().any(|step| step.origin.is_some());
        assert!(has_chain || story.steps.is_empty(), "{object}: {:#?}", story.steps);
        assert_eq!(explain::wrong(&story, &times), Vec::<String>::new());
    }
}

fn workload(kind: &str, name: &str, replicas: u32, more_of_pod: &str) -> String {
    let service = if kind == "StatefulSet" { format!("serviceName: {name}, ") } else { String::new() };
    format!(
        "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, namespace: default}}, spec: {{replicas: {replicas}, {service}\
         selector: {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{{more_of_pod}\
         containers: [{{name: c, image: i}}]}}}}}}}}"
    )
}

fn budget(name: &str, limit: &str) -> String {
    format!(
        "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: {name}, namespace: default}}, spec: {{{limit}, \
         selector: {{matchLabels: {{app: {name}}}}}}}}}"
    )
}

const THREE: &str = "count: 3";

/// Deployments of three pods spread over three nodes; the pod of node n-1 goes down with it.
fn web() -> Vec<String> {
    vec![workload("Deployment", "web", 3, "")]
}

/// A StatefulSet whose second pod is on node n-1.
fn db() -> Vec<String> {
    let term =
        |name: &str| format!("{{matchExpressions: [{{key: kubernetes.io/hostname, operator: In, values: [{name}]}}]}}");
    let affinity = format!(
        "affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{{topologyKey: kubernetes.io/hostname, \
         labelSelector: {{matchLabels: {{app: db}}}}}}]}}, nodeAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: \
         [{{weight: 100, preference: {}}}, {{weight: 50, preference: {}}}]}}}}, ",
        term("n-0"),
        term("n-1")
    );
    vec![workload("StatefulSet", "db", 3, &affinity)]
}

const CRASH: &str = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-1]}}}";

fn controller_restart(at: &str) -> String {
    format!("{{at: {at}, fault: {{kind: ControlPlaneOutage, components: [kube-controller-manager], for: 10s}}}}")
}

#[test]
fn a_controller_restart_while_timers_run_begins_them_anew() {
    // Unknown 40 to 55 s after the crash, evicted 300 s later; the restart at 250 s begins the 300 s again.
    let timeline = format!("{CRASH}, {}", controller_restart("240s"));
    let objects = db();
    let case = Case { nodes: THREE, objects: &objects, timeline: &timeline };
    let trap = case.fires(TrapKind::RestartedTolerations, &["pod/default/db-1"], 125.0..=165.0);
    assert!(trap.text.contains("a start of kube-controller-manager at 4m10s"), "{}", trap.text);
    assert!(trap.text.contains("node/n-1 was evicted at 9m"), "{}", trap.text);
}

#[test]
fn a_controller_restart_before_the_node_is_lost_changes_no_timer() {
    let timeline = format!("{CRASH}, {}", controller_restart("20s"));
    Case { nodes: THREE, objects: &db(), timeline: &timeline }.is_quiet_about(TrapKind::RestartedTolerations);
}

#[test]
fn a_controller_restart_changes_nothing_for_a_node_that_is_back_in_time() {
    let timeline = format!(
        "{{at: 60s, fault: {{kind: Crash, nodes: {{names: [n-1]}}, for: 220s}}}}, {}",
        controller_restart("240s")
    );
    Case { nodes: THREE, objects: &db(), timeline: &timeline }.is_quiet_about(TrapKind::RestartedTolerations);
}

#[test]
fn an_outage_of_the_api_server_that_costs_the_leader_its_lease_begins_timers_anew() {
    let outage = "{at: 200s, fault: {kind: ControlPlaneOutage, components: [kube-apiserver], for: 15s}}";
    let timeline = format!("{CRASH}, {outage}");
    let objects = db();
    let case = Case { nodes: THREE, objects: &objects, timeline: &timeline };
    case.fires(TrapKind::RestartedTolerations, &["pod/default/db-1"], 90.0..=200.0);
    let short = timeline.replace("for: 15s", "for: 5s");
    Case { timeline: &short, ..case }.is_quiet_about(TrapKind::RestartedTolerations);
}

fn lengthen(at: &str) -> String {
    let tolerations = r#"[{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":3600}]"#;
    let patch = format!(r#"{{"spec":{{"template":{{"spec":{{"tolerations":{tolerations}}}}}}}}}"#);
    format!("{{at: {at}, kubectl: \"patch statefulset db -p '{}'\"}}", patch.replace('"', "\\\""))
}

#[test]
fn a_toleration_lengthened_when_the_timer_runs_does_not_keep_the_pod() {
    let timeline = format!("{CRASH}, {}", lengthen("180s"));
    let objects = db();
    let case = Case { nodes: THREE, objects: &objects, timeline: &timeline };
    let trap = case.fires(TrapKind::LateToleration, &["pod/default/db-1"], 3299.0..=3301.0);
    assert!(trap.text.contains("the toleration of statefulset/default/db was lengthened at 3m0s"), "{}", trap.text);
}

#[test]
fn a_toleration_lengthened_before_the_node_is_lost_is_in_time() {
    let timeline = format!("{{at: 300s, fault: {{kind: Crash, nodes: {{names: [n-1]}}}}}}, {}", lengthen("5s"));
    Case { nodes: THREE, objects: &db(), timeline: &timeline }.is_quiet_about(TrapKind::LateToleration);
}

#[test]
fn another_change_of_the_template_is_no_late_toleration() {
    let timeline = format!("{CRASH}, {{at: 180s, kubectl: scale statefulset db --replicas=4}}");
    Case { nodes: THREE, objects: &db(), timeline: &timeline }.is_quiet_about(TrapKind::LateToleration);
}

const DRAIN: &str = "{at: 60s, kubectl: drain n-1 --ignore-daemonsets}";

#[test]
fn a_budget_that_wants_every_pod_refuses_for_ever() {
    let mut objects = db();
    objects.push(budget("db", "minAvailable: 3"));
    let case = Case { nodes: THREE, objects: &objects, timeline: DRAIN };
    let trap = case.fires(TrapKind::ImpossibleBudget, &["poddisruptionbudget/default/db"], 1130.0..=1140.0);
    assert!(trap.text.contains("wants 3 healthy pods of 3"), "{}", trap.text);
    assert!(trap.text.contains("of pod/default/db-1"), "{}", trap.text);
    case.is_quiet_about(TrapKind::SingleReplicaBudget);
}

#[test]
fn a_budget_whose_wish_cannot_be_worked_out_refuses_for_ever() {
    let daemons = "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent, namespace: default}, spec: {selector: \
                   {matchLabels: {role: daemon}}, template: {metadata: {labels: {app: agent, role: daemon}}, spec: {containers: [{name: c, \
                   image: i}]}}}}";
    // Daemon pods are never drained; a bare pod beside them shows it.
    let bare = "{apiVersion: v1, kind: Pod, metadata: {name: probe, namespace: default, labels: {app: agent}}, spec: {nodeName: \
                n-1, containers: [{name: c, image: i}]}}";
    let objects = [daemons.to_owned(), budget("agent", "maxUnavailable: 1"), bare.to_owned()];
    let timeline = "{at: 60s, kubectl: drain n-1 --ignore-daemonsets --force}";
    let case = Case { nodes: THREE, objects: &objects, timeline };
    let trap = case.fires(TrapKind::ImpossibleBudget, &["poddisruptionbudget/default/agent"], 1130.0..=1140.0);
    assert!(trap.text.contains("does not implement the scale subresource"), "{}", trap.text);
}

#[test]
fn a_budget_that_is_only_spent_for_now_is_no_trap() {
    let mut objects = db();
    objects.push(budget("db", "minAvailable: 2"));
    let timeline = format!("{DRAIN}, {{at: 61s, kubectl: drain n-0 --ignore-daemonsets}}");
    let case = Case { nodes: "count: 4", objects: &objects, timeline: &timeline };
    case.is_quiet_about(TrapKind::ImpossibleBudget);
    case.is_quiet_about(TrapKind::EndlessDrain);
}

#[test]
fn a_budget_of_one_pod_never_lets_it_go() {
    let pinned = "nodeSelector: {kubernetes.io/hostname: n-1}, ";
    let objects = [workload("Deployment", "one", 1, pinned), budget("one", "minAvailable: 50%")];
    let case = Case { nodes: THREE, objects: &objects, timeline: DRAIN };
    case.fires(TrapKind::SingleReplicaBudget, &["poddisruptionbudget/default/one"], 1130.0..=1140.0);
    case.is_quiet_about(TrapKind::ImpossibleBudget);
}

#[test]
fn a_budget_that_lets_its_one_pod_go_is_no_trap() {
    let objects = [workload("Deployment", "one", 1, ""), budget("one", "maxUnavailable: 1")];
    let timeline = "{at: 60s, kubectl: drain n-0}, {at: 70s, kubectl: drain n-1}";
    Case { nodes: THREE, objects: &objects, timeline }.is_quiet_about(TrapKind::SingleReplicaBudget);
}

#[test]
fn a_stateful_set_waits_for_a_node_that_cannot_answer() {
    let objects = db();
    let case = Case { nodes: THREE, objects: &objects, timeline: CRASH };
    let trap = case.fires(TrapKind::StatefulPodOnDeadNode, &["pod/default/db-1"], 785.0..=801.0);
    assert!(trap.text.starts_with("statefulset/default/db waited for pod/default/db-1"), "{}", trap.text);
    assert!(trap.text.ends_with("until the end of the run"), "{}", trap.text);
}

#[test]
fn every_stateful_set_that_waits_for_the_node_is_named() {
    let mut objects = db();
    objects.push(workload("StatefulSet", "zookeeper", 3, ""));
    let observed = super::figures::play("20m", CRASH, &objects.iter().map(String::as_str).collect::<Vec<_>>());
    let mut traps = observed.summary.traps.iter();
    let trap = traps.find(|trap| trap.trap == TrapKind::StatefulPodOnDeadNode).expect("the trap");
    let waits = |set: &str| trap.text.contains(&format!("statefulset/default/{set} "));
    assert!(waits("db") && waits("zookeeper"), "{}", trap.text);
}

#[test]
fn a_node_declared_out_of_service_holds_no_stateful_set() {
    let taint = "{at: 200s, kubectl: 'taint nodes n-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute'}";
    let timeline = format!("{CRASH}, {taint}");
    Case { nodes: THREE, objects: &db(), timeline: &timeline }.is_quiet_about(TrapKind::StatefulPodOnDeadNode);
}

#[test]
fn a_pod_that_ends_slowly_on_a_living_node_is_not_waited_for_in_vain() {
    let objects = [workload("StatefulSet", "db", 3, "terminationGracePeriodSeconds: 300, ")];
    let timeline = "{at: 60s, kubectl: delete pod db-1}";
    Case { nodes: THREE, objects: &objects, timeline }.is_quiet_about(TrapKind::StatefulPodOnDeadNode);
}

#[test]
fn all_pods_on_the_node_that_failed_are_a_workload_that_is_gone() {
    let pinned = "nodeSelector: {kubernetes.io/hostname: n-1}, ";
    let objects = [workload("Deployment", "web", 3, pinned)];
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-1]}, for: 200s}}";
    let case = Case { nodes: THREE, objects: &objects, timeline };
    // From the mark (40 to 55 s after the crash) until the node has booted.
    let trap = case.fires(TrapKind::AllInOnePlace, &["deployment/default/web"], 170.0..=200.0);
    assert!(trap.text.contains("were on node/n-1 when it failed"), "{}", trap.text);
    Case { objects: &web(), ..case }.is_quiet_about(TrapKind::AllInOnePlace);
}

#[test]
fn all_pods_in_the_zone_that_failed_are_a_workload_that_is_gone() {
    let nodes = "count: 6, zones: [a, b]";
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {zone: a}, for: 200s}}";
    let pinned = "topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, \
                  labelSelector: {matchLabels: {app: web}}}], nodeSelector: {topology.kubernetes.io/zone: a}, ";
    let objects = [workload("Deployment", "web", 3, pinned)];
    let case = Case { nodes, objects: &objects, timeline };
    let trap = case.fires(TrapKind::AllInOnePlace, &["deployment/default/web"], 150.0..=200.0);
    assert!(trap.text.contains("were in zone a when its nodes failed"), "{}", trap.text);
    let spread = pinned.replace("nodeSelector: {topology.kubernetes.io/zone: a}, ", "");
    let objects = [workload("Deployment", "web", 4, &spread)];
    Case { nodes, objects: &objects, timeline }.is_quiet_about(TrapKind::AllInOnePlace);
}

#[test]
fn pods_whose_own_probe_fails_are_not_lost_with_a_node() {
    let mut objects = vec![workload("Deployment", "web", 3, "nodeSelector: {kubernetes.io/hostname: n-1}, ")];
    objects[0] = objects[0].replace("image: i}", "image: i, readinessProbe: {httpGet: {path: /, port: 80}}}");
    objects[0] = objects[0].replace(
        "labels: {app: web}}, spec",
        "labels: {app: web}, annotations: {kubesquall.sim/healthy-for: 60s}}, spec",
    );
    Case { nodes: THREE, objects: &objects, timeline: "{at: 1m, kubectl: cordon n-0}" }
        .is_quiet_about(TrapKind::AllInOnePlace);
}

#[test]
fn a_drain_waits_until_its_timeout_for_a_budget() {
    let mut objects = db();
    objects.push(budget("db", "minAvailable: 3"));
    let timeline = "{at: 60s, kubectl: drain n-1 --timeout=2m}";
    let command = "kubectl drain n-1 --timeout=2m";
    let trap =
        Case { nodes: THREE, objects: &objects, timeline }.fires(TrapKind::EndlessDrain, &[command], 120.0..=126.0);
    assert!(trap.text.contains("waited for pod/default/db-1, which no budget let go"), "{}", trap.text);
    assert!(trap.text.ends_with("until its timeout"), "{}", trap.text);
}

#[test]
fn a_drain_waits_for_ever_for_a_node_that_is_dead() {
    let timeline = format!("{CRASH}, {{at: 180s, kubectl: drain n-1}}");
    let objects = db();
    let trap = Case { nodes: THREE, objects: &objects, timeline: &timeline }.fires(
        TrapKind::EndlessDrain,
        &["kubectl drain n-1"],
        1020.0..=1020.0,
    );
    assert!(trap.text.contains("waited for pod/default/db-1, which did not end"), "{}", trap.text);
    assert!(trap.text.ends_with("still does at the end of the run"), "{}", trap.text);
}

#[test]
fn a_drain_that_is_under_way_when_the_run_ends_is_no_trap() {
    let objects = [workload("StatefulSet", "db", 3, "terminationGracePeriodSeconds: 120, ").replace(
        "labels: {app: db}}, spec: {",
        "labels: {app: db}, annotations: {kubesquall.sim/stop: 100s}}, spec: {",
    )];
    let timeline = "{at: 60s, kubectl: drain n-0}, {at: 19m30s, kubectl: drain n-1}, {at: 19m30s, kubectl: drain n-2}";
    Case { nodes: THREE, objects: &objects, timeline }.is_quiet_about(TrapKind::EndlessDrain);
}

#[test]
fn a_zone_partly_down_keeps_its_pods_for_ever() {
    let nodes = "count: 12, zones: [a, b]";
    let objects = [workload("Deployment", "web", 24, "")];
    let down = |names: &str| format!("{{at: 60s, fault: {{kind: Crash, nodes: {{names: [{names}]}}}}}}");
    // Four of six: one or two are tainted before the others turn; the rest keep their pods.
    let timeline = down("n-0, n-2, n-4, n-6");
    let trap = Case { nodes, objects: &objects, timeline: &timeline }
        .traps()
        .into_iter()
        .find(|trap| trap.trap == TrapKind::StoppedEvictions)
        .expect("evictions were stopped");
    assert!(trap.text.contains("of 6 nodes of zone a were not Ready (partial disruption)"), "{}", trap.text);
    assert!(trap.cost_s.is_some_and(|cost| (775.0..=805.0).contains(&cost)), "{trap:#?}");
    let normal = down("n-0, n-2, n-1");
    Case { nodes, objects: &objects, timeline: &normal }.is_quiet_about(TrapKind::StoppedEvictions);
}

#[test]
fn a_cluster_wholly_cut_off_keeps_its_pods() {
    let objects = web();
    let cut = |length: &str| format!("{{at: 60s, fault: {{kind: Partition, nodes: {{fraction: 1}}, for: {length}}}}}");
    let timeline = cut("10m");
    let case = Case { nodes: THREE, objects: &objects, timeline: &timeline };
    let traps = case.traps();
    let trap = traps.iter().find(|trap| trap.trap == TrapKind::StoppedEvictions).expect("evictions were stopped");
    assert!(trap.text.contains("no node was Ready any more (full disruption)"), "{}", trap.text);
    assert_eq!(trap.objects.len() + trap.more, 3, "{trap:#?}");
    // Shorter than the tolerations: nobody would have been evicted.
    Case { timeline: &cut("4m"), ..case }.is_quiet_about(TrapKind::StoppedEvictions);
}

#[test]
fn a_zone_wholly_down_beside_others_is_evicted() {
    let objects = [workload("Deployment", "web", 12, "")];
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {zone: a}}}";
    Case { nodes: "count: 6, zones: [a, b]", objects: &objects, timeline }.is_quiet_about(TrapKind::StoppedEvictions);
}

#[test]
fn a_quiet_run_names_no_trap() {
    let traps = Case { nodes: THREE, objects: &web(), timeline: "{at: 1m, kubectl: drain n-1 --timeout=5m}" }.traps();
    assert!(traps.is_empty(), "{traps:#?}");
}

#[test]
fn every_trap_is_explained_under_a_heading_of_its_name() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/traps.md");
    let page = fs::read_to_string(page).expect("the page");
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    for &kind in TrapKind::ALL {
        assert!(headings.iter().any(|heading| *heading == kind.as_str()), "no heading `## {}`", kind.as_str());
        assert_eq!(kind.see(), format!("docs/traps.md#{}", kind.as_str()));
    }
}
