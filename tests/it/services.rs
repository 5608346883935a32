//! What the clients of a service see of an incident.

use std::path::Path;

use kubesquall::observe::{Observed, ServiceRow};
use kubesquall::scenario::{self, Overrides};

use super::verified;

/// Three nodes with a Deployment of that many pods behind a service; node n-0 has the first.
fn play(replicas: u32, timeline: &str) -> Observed {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: services}}\nspec: {{duration: 20m, seed: 1, cluster: \
         {{nodePools: [{{name: n, count: 3, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, \
         latency: {{podStart: {{constant: 1s}}, podStop: {{constant: 2s}}, nodeBoot: {{constant: 30s}}, kubeletReconnect: {{constant: \
         1s}}}}, timeline: [{timeline}]}}\n---\n\
         {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: {{replicas: {replicas}, selector: \
         {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{affinity: {{nodeAffinity: \
         {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 1, preference: {{matchExpressions: [{{key: \
         kubernetes.io/hostname, operator: In, values: [n-0]}}]}}}}]}}, podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: \
         [{{weight: 100, podAffinityTerm: {{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: web}}}}}}}}]}}}}, \
         containers: [{{name: c, image: i}}]}}}}}}}}\n---\n\
         {{apiVersion: v1, kind: Service, metadata: {{name: web, namespace: default}}, spec: {{selector: {{app: web}}, ports: [{{port: 80}}]}}}}\n"
    );
    let scenario = scenario::load_text("services.yaml", &text, Path::new("absent"), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"));
    verified::play(&scenario)
}

/// Rows as time, targets and dead targets.
fn course(observed: &Observed) -> Vec<(f64, i64, i64)> {
    let part = |row: &ServiceRow| (row.at.as_secs_f64(), row.traffic.targets, row.traffic.dead_targets);
    observed.services.iter().map(part).collect()
}

#[test]
fn traffic_goes_to_a_dead_node_until_its_silence_is_noticed() {
    let observed = play(3, "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}");
    let rows = course(&observed);
    assert_eq!(rows[0], (0.0, 3, 0));
    assert_eq!(rows[1], (60.0, 3, 1));
    // The node is Unknown 39.6 to 60 s after the crash; its pods are marked and the slice is written at once.
    let noticed = rows.iter().find(|row| row.0 > 60.0 && row.2 == 0).expect("it is noticed");
    assert!((99.6..121.0).contains(&noticed.0) && noticed.1 == 2, "{rows:?}");
    // The replacement follows 300 s later.
    let whole = rows.iter().find(|row| row.0 > noticed.0 && row.1 == 3).expect("the replacement");
    assert!((300.0..310.0).contains(&(whole.0 - noticed.0)), "{rows:?}");
    let [outcome] = observed.summary.services.as_slice() else { panic!("{:?}", observed.summary.services) };
    let dead_s = noticed.0 - 60.0;
    assert!((outcome.dead_targets_s - dead_s).abs() < 1e-6 && outcome.without_targets_s == 0.0, "{outcome:?}");
    assert!((outcome.lost_traffic_s - dead_s / 3.0).abs() < 1e-6, "{outcome:?}");
    assert_eq!(observed.summary.metrics["lost_traffic_s"], outcome.lost_traffic_s);
}

#[test]
fn a_service_of_one_pod_on_a_dead_node_has_no_endpoint_until_the_pod_is_replaced() {
    let observed = play(1, "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}");
    let [outcome] = observed.summary.services.as_slice() else { panic!("{:?}", observed.summary.services) };
    assert!((300.0..312.0).contains(&outcome.longest_without_targets_s), "{outcome:?}");
    assert_eq!(outcome.targets, 1);
    assert!((39.6..61.0).contains(&outcome.dead_targets_s), "{outcome:?}");
    let lost = outcome.dead_targets_s + outcome.without_targets_s;
    assert!((outcome.lost_traffic_s - lost).abs() < 1e-6, "{outcome:?}");
}

#[test]
fn the_last_pod_serves_while_it_is_being_deleted() {
    // It stops two seconds after it was told to; its replacement is up one second after.
    let observed = play(1, "{at: 60s, kubectl: drain n-0 --ignore-daemonsets}");
    let rows = course(&observed);
    let fallback = observed.services.iter().find(|row| row.traffic.ready == 0 && row.traffic.targets == 1);
    assert!(fallback.is_some_and(|row| row.traffic.terminating == 1), "{rows:?}");
    assert_eq!(observed.summary.services[0].without_targets_s, 0.0, "{rows:?}");
    assert_eq!(observed.summary.metrics["without_targets_s"], 0.0);
}

#[test]
fn a_node_that_is_cut_off_serves_until_it_is_taken_for_lost_and_again_when_it_is_back() {
    let observed = play(3, "{at: 60s, fault: {kind: Partition, nodes: {names: [n-0]}, for: 2m}}");
    let rows = course(&observed);
    let lost = rows.iter().find(|row| row.1 == 2).expect("it is taken for lost");
    assert!((99.6..121.0).contains(&lost.0), "{rows:?}");
    let back = rows.iter().find(|row| row.0 > lost.0 && row.1 == 3).expect("it is back");
    // The kubelet hears that it was taken for lost, posts its status, and within ten seconds its pods'.
    assert!((180.0..205.0).contains(&back.0), "{rows:?}");
    assert!(rows.iter().all(|row| row.2 == 0), "{rows:?}");
    assert_eq!(observed.summary.metrics["lost_traffic_s"], 0.0);
}

#[test]
fn a_service_that_never_had_an_endpoint_loses_nothing() {
    let observed = play(0, "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}");
    let [outcome] = observed.summary.services.as_slice() else { panic!("{:?}", observed.summary.services) };
    assert_eq!((outcome.without_targets_s, outcome.lost_traffic_s), (0.0, 0.0));
    // From its first pod on it can: until then nobody asked it for anything.
    let observed = play(
        0,
        "{at: 60s, kubectl: scale deployment web --replicas=1}, {at: 120s, kubectl: scale deployment web --replicas=0}",
    );
    let [outcome] = observed.summary.services.as_slice() else { panic!("{:?}", observed.summary.services) };
    let left_s = 20.0 * 60.0 - 120.0;
    assert!((left_s - 5.0..left_s).contains(&outcome.without_targets_s), "{outcome:?}");
}
