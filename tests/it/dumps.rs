//! Dumps of real clusters: what they say of their state is played on, and what is played otherwise is said.

use std::path::Path;

use kubesquall::observe::Observed;
use kubesquall::scenario::{self, Overrides, ResolvedScenario};

use super::plays;

/// A scenario of ten minutes on these objects.
fn loaded(spec: &str, objects: &[&str]) -> ResolvedScenario {
    let head = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: d}}\n\
         spec: {{duration: 10m, cluster: {{}}, {spec}}}\n"
    );
    let text: String = std::iter::once(head.as_str()).chain(objects.iter().copied()).collect::<Vec<_>>().join("---\n");
    match scenario::load_text("d.yaml", &text, Path::new(""), &Overrides::none()) {
        Ok(scenario) => scenario,
        Err(invalid) => panic!("{invalid}"),
    }
}

fn node(name: &str, labels: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, uid: u-{name}, labels: {labels}}}, \
         status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}, nodeInfo: {{kubeletVersion: v1.36.2}}, \
         conditions: [{{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}}]}}}}\n"
    )
}

fn job(name: &str, spec: &str, status: &str) -> String {
    format!(
        "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}, uid: j-{name}, namespace: default}}, \
         spec: {{{spec} template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}, \
         status: {{{status}}}}}\n"
    )
}

#[test]
fn jobs_that_are_over_stay_over() {
    let over = |kind: &str, counts: &str| {
        format!(
            "startTime: '2026-01-01T00:00:00Z', {counts}, conditions: [{{type: {kind}, status: 'True', reason: Why, \
             lastTransitionTime: '2026-01-01T00:00:05Z'}}]"
        )
    };
    let objects = [
        node("n1", "{}"),
        job("done", "", &over("Complete", "succeeded: 1, completionTime: '2026-01-01T00:00:05Z'")),
        // The counters of old versions need not fit the condition.
        job("odd", "", &over("Complete", "failed: 1")),
        job("failed", "", &over("Failed", "failed: 7")),
        job("brief", "ttlSecondsAfterFinished: 60,", &over("Complete", "succeeded: 1")),
        job("new", "", ""),
    ];
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let scenario = loaded("", &objects);
    let failed = scenario.assumed.iter().find(|assumption| assumption.name == "failedJobs").expect("it is said");
    assert_eq!((failed.count, failed.objects.as_slice()), (1, ["Job default/failed".to_owned()].as_slice()));
    let (observed, store) = plays::whole(&scenario);
    let pods: Vec<&str> = observed.pods.iter().map(|pod| &*pod.name).collect();
    assert!(pods.iter().all(|name| name.starts_with("new-")) && pods.len() == 1, "{pods:?}");
    let mut left: Vec<&str> = store.jobs.iter().map(|(_, job)| job.meta.name.as_str()).collect();
    left.sort_unstable();
    assert_eq!(left, ["done", "failed", "new", "odd"], "its time to live goes on");
    assert!(observed.summary.failed_jobs.is_empty(), "not in this run");
    let said = observed.summary.verdict.iter().filter(|sentence| sentence.text.contains("FAILED"));
    let said: Vec<&str> = said.map(|sentence| sentence.text.as_str()).collect();
    assert_eq!(said, ["FAILED before the run began: 1 Job: job/default/failed"]);
}

#[test]
fn indexes_that_are_done_are_not_done_again() {
    let status = "completedIndexes: '0,2-3', succeeded: 3, active: 0, startTime: '2026-01-01T00:00:00Z'";
    let spec = "completionMode: Indexed, completions: 5, parallelism: 5,";
    let scenario = loaded("", &[&node("n1", "{}"), &job("x", spec, status)]);
    let (observed, _) = plays::whole(&scenario);
    let mut names: Vec<&str> = observed.pods.iter().map(|pod| &pod.name[..3]).collect();
    names.sort_unstable();
    assert_eq!(names, ["x-1", "x-4"]);
}

#[test]
fn a_job_in_its_back_off_goes_on_from_there() {
    let failed = |name: &str, at: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default, uid: u-{name}, labels: {{job-name: x}}, \
             creationTimestamp: '2026-01-01T00:00:00Z', ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: x, uid: j-x, \
             controller: true}}]}}, spec: {{nodeName: n1, restartPolicy: Never, containers: [{{name: c, image: i}}]}}, \
             status: {{phase: Failed, containerStatuses: [{{name: c, state: {{terminated: {{exitCode: 1, finishedAt: '{at}'}}}}}}]}}}}\n"
        )
    };
    let pods = [failed("x-a", "2026-01-01T00:00:05Z"), failed("x-b", "2026-01-01T00:00:20Z")];
    let status = "failed: 2, startTime: '2026-01-01T00:00:00Z'";
    let scenario = loaded("", &[&node("n1", "{}"), &job("x", "backoffLimit: 6,", status), &pods[0], &pods[1]]);
    let (observed, _) = plays::whole(&scenario);
    let made: Vec<&str> =
        observed.events.iter().filter(|event| event.reason == "SuccessfulCreate").map(|event| &*event.name).collect();
    assert_eq!(made, ["x"]);
    let made = observed.events.iter().find(|event| event.reason == "SuccessfulCreate").expect("a pod").at.as_secs_f64();
    assert!((20.0..22.0).contains(&made), "twenty seconds after the second failure, not at {made} s");
}

#[test]
fn a_zone_is_found_by_its_former_label() {
    let zone = |zone: &str| format!("{{failure-domain.beta.kubernetes.io/zone: {zone}, beta.kubernetes.io/os: linux}}");
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: {topology.kubernetes.io/zone: b, \
               kubernetes.io/os: linux}, containers: [{name: c, image: i}]}}\n";
    let (a, b) = (node("n1", &zone("a")), node("n2", &zone("b")));
    let fault = "timeline: [{at: 1m, fault: {kind: Crash, nodes: {zone: a}}}]";
    let scenario = loaded(fault, &[&a, &b, pod]);
    let said: Vec<&str> = scenario.assumed.iter().map(|assumption| assumption.name.as_str()).collect();
    assert!(said.contains(&"nodeLabels") && !said.contains(&"zones"), "{said:?}");
    let (observed, store) = plays::whole(&scenario);
    let begun: Vec<&str> =
        observed.events.iter().filter(|event| event.reason == "FaultBegan").map(|event| &*event.message).collect();
    assert_eq!(begun, ["Crash of n1"]);
    let (_, pod) = store.pods().next().expect("a pod");
    assert_eq!(pod.node.map(|node| store.node_name(node).as_str()), Some("n2"));
}

#[test]
fn a_zone_without_a_reporting_kubelet_is_found_by_its_former_label_too() {
    let node = "{apiVersion: v1, kind: Node, metadata: {name: n1, labels: {failure-domain.beta.kubernetes.io/zone: a}}, \
                status: {allocatable: {cpu: '4', memory: 8Gi, pods: '20'}}}\n";
    let fault = "timeline: [{at: 1m, fault: {kind: Crash, nodes: {zone: a}}}]";
    let (observed, _) = plays::whole(&loaded(fault, &[node]));
    assert!(observed.events.iter().any(|event| event.reason == "FaultBegan"));
    assert!(observed.zones.iter().any(|row| row.zone == "a"));
}

fn sentences(observed: &Observed) -> Vec<String> {
    observed.summary.verdict.iter().map(|sentence| sentence.text.clone()).collect()
}

#[test]
fn a_fault_that_hits_nobody_is_in_the_verdict() {
    let timeline = "timeline: [{at: 1m, fault: {kind: InstanceGone, nodes: {names: [n2]}}}, \
                    {at: 5m, fault: {kind: Crash, nodes: {names: [n2]}}}, \
                    {at: 5m, fault: {kind: PodKill, pods: {selector: no=such}}}]";
    let (observed, _) = plays::whole(&loaded(timeline, &[&node("n1", "{}"), &node("n2", "{}")]));
    let said = sentences(&observed);
    let expected = "HIT NOBODY: faults: Crash@5m0s (Crash: no node matches), PodKill@5m0s (PodKill: no pod matches)";
    assert!(said.iter().any(|text| text == expected), "{said:?}");
}

/// A pod that is bound, with this of its status besides being in that phase.
fn bound(name: &str, image: &str, phase: &str, status: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, uid: p-{name}, namespace: default}}, \
         spec: {{nodeName: n1, containers: [{{name: c, image: {image}}}]}}, \
         status: {{phase: {phase}, startTime: '2026-01-01T00:00:00Z', conditions: [{{type: Ready, status: 'False'}}], \
         containerStatuses: [{status}]}}}}\n"
    )
}

#[test]
fn sick_pods_of_a_dump_stay_sick() {
    let waiting = |reason: &str| format!("{{name: c, restartCount: 0, state: {{waiting: {{reason: {reason}}}}}}}");
    let crashing = "{name: c, restartCount: 9, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: \
                    {exitCode: 3, startedAt: '2026-01-01T00:00:00Z', finishedAt: '2026-01-01T00:00:05Z'}}}";
    let objects = [
        node("n1", "{}"),
        bound("pull", "gone:v1", "Pending", &waiting("ImagePullBackOff")),
        bound("crash", "i", "Running", crashing),
        // It may be on its way: it comes up.
        bound("creating", "i", "Pending", &waiting("ContainerCreating")),
        "{apiVersion: v1, kind: Pod, metadata: {name: same, namespace: default}, \
         spec: {containers: [{name: c, image: 'gone:v1'}]}}\n"
            .to_owned(),
    ];
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let scenario = loaded("latency: {podReady: 1h}", &objects);
    let said = scenario.assumed.iter().find(|assumption| assumption.name == "unreadyPods").expect("it is said");
    assert!(said.text.contains("ContainerCreating 1, CrashLoopBackOff 1, ImagePullBackOff 1"), "{}", said.text);
    let (observed, store) = plays::whole(&scenario);
    let ready: Vec<&str> = store.pods().filter(|(_, pod)| pod.is_ready()).map(|(_, pod)| &*pod.name).collect();
    assert_eq!(ready, ["creating"], "{:?}", sentences(&observed));
    let reasons = |name: &str, reason: &str| {
        observed.events.iter().filter(|event| &*event.name == name && event.reason == reason).count()
    };
    assert!(reasons("pull", "BackOff") > 0 && reasons("same", "Failed") > 0);
    let (crashes, syncs) = (reasons("crash", "Started"), reasons("crash", "BackOff"));
    assert!((1..=3).contains(&crashes) && syncs > crashes, "it had come to the longest wait: {crashes}, {syncs}");
    let locked = scenario::lock_file(&scenario);
    let locked = scenario::load_text("l.yaml", &locked, Path::new(""), &Overrides::none()).expect("a lock file");
    assert_eq!(locked.assumed, scenario.assumed);
    assert_eq!(scenario::lock_file(&locked), scenario::lock_file(&scenario));
}

#[test]
fn a_container_that_has_ended_is_restarted_if_its_policy_says_so() {
    let ended = "{name: c, restartCount: 0, state: {terminated: {exitCode: 1, finishedAt: '2026-01-01T00:00:09Z'}}}";
    let (_, store) = plays::whole(&loaded("", &[&node("n1", "{}"), &bound("p", "i", "Running", ended)]));
    let (_, pod) = store.pods().next().expect("the pod");
    assert!(pod.is_ready() && pod.restarts_max() == 1, "{:?}", pod.containers);
}

#[test]
fn back_offs_of_a_dump_count_from_the_last_end() {
    let ended = |name: &str, restarts: u32| {
        format!(
            "{{name: {name}, restartCount: {restarts}, state: {{terminated: {{exitCode: 1, startedAt: '2026-01-01T00:00:08Z', finishedAt: \
             '2026-01-01T00:00:10Z'}}}}}}"
        )
    };
    let annotations =
        "annotations: {kubesquall.sim/run-for: 2s, kubesquall.sim/exit-code: '1', kubesquall.sim/init-exit-code: '1'}";
    let pod = |name: &str, spec: &str, status: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default, uid: u-{name}, {annotations}}}, spec: {{nodeName: n1, \
             {spec}containers: [{{name: c, image: i}}]}}, status: {{startTime: '2026-01-01T00:00:00Z', {status}}}}}\n"
        )
    };
    let regular = pod("regular", "", &format!("phase: Running, containerStatuses: [{}]", ended("c", 3)));
    let init = "initContainers: [{name: i, image: i}], ";
    let init = pod("init", init, &format!("phase: Pending, initContainerStatuses: [{}]", ended("i", 2)));
    let (observed, store) = plays::whole(&loaded("", &[&node("n1", "{}"), &regular, &init]));
    let began = |name: &str, reason: &str| {
        let mut events = observed.events.iter().filter(|event| &*event.name == name && event.reason == reason);
        events.next().map(|event| event.at.as_nanos() as f64 / 1e9)
    };
    // Forty seconds after the fourth end, and up to half as much; t=0 is the end itself.
    let again = began("regular", "Started").expect("it is started again");
    assert!((40.0..62.0).contains(&again), "{again}");
    // Twenty and then forty and eighty: the fifth try of ten minutes comes later than the fourth of the other.
    let tries = store.pods().map(|(_, pod)| (pod.name.to_string(), pod.restarts_max())).collect::<Vec<_>>();
    let init = store.pods().find(|(_, pod)| &*pod.name == "init").expect("the pod").1;
    let restarts = init.init_containers[0].restarts;
    assert!((5..=7).contains(&restarts), "{restarts}, {tries:?}: nothing was restarted in the hours before t=0");
}

#[test]
fn a_pod_on_its_way_through_its_init_containers_goes_on_from_there() {
    let done = "{terminated: {exitCode: 0, startedAt: '2026-01-01T00:00:01Z', finishedAt: '2026-01-01T00:00:03Z'}}";
    let since = |second: u32| format!("{{running: {{startedAt: '2026-01-01T00:00:{second:02}Z'}}}}");
    let status = |name: &str, ready: bool, state: &str| {
        format!("{{name: {name}, ready: {ready}, restartCount: 0, state: {state}}}")
    };
    let statuses = [status("a", true, done), status("s", true, &since(3)), status("b", false, &since(5))].join(", ");
    let pod = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: default, uid: u-p, annotations: {{kubesquall.sim/init: 30s}}}}, \
         spec: {{nodeName: n1, initContainers: [{{name: a, image: i}}, {{name: s, image: i, restartPolicy: Always}}, {{name: b, image: i}}], \
         containers: [{{name: c, image: i}}]}}, \
         status: {{startTime: '2026-01-01T00:00:00Z', phase: Pending, initContainerStatuses: [{statuses}]}}}}\n"
    );
    let (observed, store) = plays::whole(&loaded("", &[&node("n1", "{}"), &pod]));
    let (_, pod) = store.pods().next().expect("the pod");
    assert!(pod.is_ready() && pod.restarts_total() == 0, "{:?}", pod.init_containers);
    let times: Vec<i64> = pod
        .init_containers
        .iter()
        .map(|status| match status.state.ending() {
            Some(ending) => (ending.finished_at.as_nanos() - ending.started_at.as_nanos()) / 1_000_000_000,
            None => 0,
        })
        .collect();
    // What had begun is not begun again: the last runs for thirty seconds from its start before t=0 on.
    assert_eq!(times, [2, 0, 30]);
    let started = observed.events.iter().find(|event| event.reason == "Started").expect("a start").at;
    assert!((28..35).contains(&(started.as_nanos() / 1_000_000_000)), "{started}");
}

#[test]
fn the_control_plane_on_nodes_is_said() {
    let program = |node: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: kube-apiserver-{node}, namespace: kube-system, \
             annotations: {{kubernetes.io/config.mirror: x}}}}, spec: {{nodeName: {node}, containers: \
             [{{name: kube-apiserver, image: i}}]}}, status: {{phase: Running}}}}\n"
        )
    };
    let role = "{node-role.kubernetes.io/control-plane: ''}";
    let crash = "{at: 1m, fault: {kind: Crash, nodes: {names: [n1]}}}";
    let second = "{at: 2m, fault: {kind: InstanceGone, nodes: {names: [n2]}}}";
    let outage = "{at: 2m, fault: {kind: ControlPlaneOutage, components: [kube-apiserver]}}";
    let by_pods = [node("n1", role), node("n2", "{}"), node("n3", "{}"), program("n1"), program("n2")];
    let by_role = [node("n1", role), node("n2", role), node("n3", "{}")];
    for objects in [&by_pods[..], &by_role[..]] {
        let check = |timeline: &str, expected: bool| {
            let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
            let scenario = loaded(&format!("timeline: [{timeline}]"), &objects);
            let said =
                scenario.assumed.iter().find(|assumption| assumption.name == "controlPlane").expect("it is said");
            assert_eq!(said.objects, ["Node n1", "Node n2"]);
            let said = sentences(&plays::whole(&scenario).0);
            let is_said = said.iter().any(|text| text.contains("(node/n1, node/n2) was left at 2m0s"));
            assert_eq!(is_said, expected, "{timeline}: {said:?}");
        };
        check(crash, false);
        check(&format!("{crash}, {second}"), true);
        check(&format!("{crash}, {second}, {outage}"), false);
    }
}

#[test]
fn the_version_of_the_kubelets_is_said_where_it_is_another() {
    let said = |version: &str, spec: &str| {
        let node = node("n1", "{}").replace("v1.36.2", version);
        let scenario = loaded(spec, &[&node]);
        let found = scenario.assumed.into_iter().find(|assumption| assumption.name == "kubernetesVersion");
        found.map(|assumption| (assumption.text, assumption.change))
    };
    let (text, change) = said("v1.34.1+k3s1", "seed: 1").expect("it is said");
    assert_eq!(text, "kubelets of the input are of 1.34; the cluster is played as 1.36");
    assert_eq!(change, "spec.controlPlane.kubernetesVersion: \"1.34\"");
    assert!(said("v1.20.0", "seed: 1").expect("it is said").1.contains("1.33 to 1.36"));
    assert_eq!(said("v1.34.1", "controlPlane: {kubernetesVersion: \"1.34\"}"), None);
    assert_eq!(said("v1.36.0", "seed: 1"), None);
}

#[test]
fn what_is_made_anew_is_counted_as_its_reader_would() {
    let owned = |name: &str, kind: &str, owner: &str| {
        format!(
            "{{apiVersion: {api}, kind: {own}, metadata: {{name: {name}, namespace: default, uid: o-{name}, labels: {{a: b, \
             pod-template-hash: h1}}, ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {owner}, uid: o-{owner}, \
             controller: true}}]}}, spec: {spec}}}\n",
            api = if kind == "ReplicaSet" { "v1" } else { "apps/v1" },
            own = if kind == "ReplicaSet" { "Pod" } else { "ReplicaSet" },
            spec = if kind == "ReplicaSet" {
                "{nodeName: n1, containers: [{name: c, image: i}]}"
            } else {
                "{replicas: 2, selector: {matchLabels: {a: b, pod-template-hash: h1}}, template: {metadata: {labels: {a: b, \
                 pod-template-hash: h1}}, spec: {containers: [{name: c, image: i}]}}}"
            },
        )
    };
    let said = |objects: &[&str]| -> Vec<(String, usize)> {
        let assumed = loaded("", objects).assumed.into_iter().filter(|assumption| assumption.name == "owners");
        assumed.map(|assumption| (assumption.text, assumption.count)).collect()
    };
    let node = node("n1", "{}");
    let pods = [owned("web-h1-a", "ReplicaSet", "web-h1"), owned("api-h1-a", "ReplicaSet", "api-h1")];
    let of_pods = "workloads that the input lacks are made anew from their pods, with 2 ReplicaSets";
    assert_eq!(said(&[&node, &pods[0], &pods[1]]), [(of_pods.to_owned(), 2)]);
    let of_sets = "Deployments that the input lacks are made anew from their ReplicaSets";
    assert_eq!(said(&[&node, &owned("web-h1", "Deployment", "web")]), [(of_sets.to_owned(), 1)]);
}

#[test]
fn a_graceful_shutdown_without_a_grace_period_is_said_to_be_a_crash() {
    let spec = |kubelet: &str| {
        format!(
            "controlPlane: {{kubelet: {kubelet}}}, timeline: [{{at: 1m, fault: {{kind: GracefulShutdown, nodes: {{names: \
             [n1]}}}}}}]"
        )
    };
    let check = |kubelet: &str, expected: bool| {
        let scenario = loaded(&spec(kubelet), &[&node("n1", "{}"), &node("n2", "{}")]);
        let is_warned = scenario.warnings.iter().any(|warning| warning.code == "scenario::no_grace_period");
        let (observed, _) = plays::whole(&scenario);
        let is_noted = observed.events.iter().any(|event| event.reason == "NoShutdownGracePeriod");
        assert_eq!((is_warned, is_noted), (expected, expected), "{kubelet}");
    };
    check("{}", true);
    check("{shutdownGracePeriod: 30s}", false);
}

#[test]
fn a_selection_of_no_pod_is_told_before_the_run() {
    let warned = |pods: &str| {
        let timeline = format!("timeline: [{{at: 1m, fault: {{kind: PodKill, pods: {pods}}}}}]");
        let scenario = loaded(&timeline, &[&node("n1", "{}"), &job("x", "", "")]);
        scenario.warnings.iter().any(|warning| warning.code == "scenario::selects_nothing")
    };
    assert!(warned("{selector: app=none}"));
    assert!(!warned("{namespace: default}"));
    assert!(!warned("{names: [x-1]}"));
}

#[test]
fn pods_that_were_being_deleted_are_said() {
    let deleted = bound("p", "i", "Running", "{name: c, state: {running: {startedAt: '2026-01-01T00:00:00Z'}}}")
        .replace("uid: p-p,", "uid: p-p, deletionTimestamp: '2026-01-01T00:01:00Z', deletionGracePeriodSeconds: 30,");
    let scenario = loaded("", &[&node("n1", "{}"), &deleted]);
    let said = scenario.assumed.iter().find(|assumption| assumption.name == "deletedPods").expect("it is said");
    assert_eq!(said.objects, ["Pod default/p"]);
    assert!(!scenario.assumed.iter().any(|assumption| assumption.name == "unreadyPods"));
    let (observed, _) = plays::whole(&scenario);
    assert!(observed.pods.is_empty());
}

#[test]
fn a_readiness_gate_stays_closed_where_the_dump_shows_that_nobody_writes_its_condition() {
    let gated = |name: &str, condition: &str, since: &str, more: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, uid: p-{name}, namespace: default}}, spec: {{nodeName: n1, \
             readinessGates: [{{conditionType: lb/{condition}}}], containers: [{{name: c, image: i}}]}}, status: {{phase: Running, \
             startTime: '2026-01-01T00:00:00Z', conditions: [{{type: ContainersReady, status: 'True', lastTransitionTime: \
             '2026-01-01T00:00:{since}Z'}}, {{type: Ready, status: 'False', lastTransitionTime: '2026-01-01T00:00:{since}Z'}}{more}], \
             containerStatuses: [{{name: c, image: i, imageID: i, ready: true, restartCount: 0, state: {{running: {{startedAt: \
             '2026-01-01T00:00:01Z'}}}}}}]}}}}\n"
        )
    };
    let unmet = ", {type: lb/said, status: 'False', lastTransitionTime: '2026-01-01T00:00:05Z'}";
    let objects = [
        node("n1", "{}"),
        gated("forgotten", "nobody", "05", ""),
        gated("late", "slow", "29", ""),
        gated("told", "said", "05", unmet),
        job("last", "", "startTime: '2026-01-01T00:00:30Z'"),
    ];
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let (_, store) = plays::whole(&loaded("", &objects));
    let is_ready = |name: &str| store.pods().any(|(_, pod)| &*pod.name == name && pod.is_ready());
    assert_eq!(["forgotten", "late", "told"].map(is_ready), [false, true, true]);
}
