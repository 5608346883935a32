//! What random scenarios have shown once, each in a scenario of its own.

use std::path::Path;

use kubesquall::observe::{Observed, Observers, PodRow};
use kubesquall::scenario::{self, Overrides, ResolvedScenario};
use kubesquall::simulation::Prepared;
use kubesquall::state::DeletionCause;
use kubesquall::units::SimTime;

use super::{plays, verified};

pub(super) fn load(timeline: &str, objects: &str) -> ResolvedScenario {
    load_with("", timeline, objects)
}

/// With more fields of `spec`, each with a comma behind it.
pub(super) fn load_with(fields: &str, timeline: &str, objects: &str) -> ResolvedScenario {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: regression}}\nspec: {{{fields}duration: 10m, seed: 1, cluster: \
         {{nodePools: [{{name: n, count: 2, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, \
         latency: {{podStart: {{constant: 1s}}}}, timeline: [{timeline}]}}\n---\n{objects}\n"
    );
    scenario::load_text("regression.yaml", &text, Path::new("absent"), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"))
}

/// Plays under the eyes of a verifier.
pub(super) fn play(timeline: &str, objects: &str) -> Observed {
    verified::play(&load(timeline, objects))
}

/// What the lines of a run have printed, on either output.
pub(super) fn printed(observed: &Observed) -> Vec<String> {
    observed.transcript.iter().flat_map(|line| line.stdout.iter().chain(&line.stderr)).cloned().collect()
}

pub(super) fn deployment(name: &str) -> String {
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: default}}, spec: {{replicas: 1, selector: \
         {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
    )
}

#[test]
fn a_patch_comes_from_standard_input_as_from_a_file() {
    let lines = [
        r#"patch deploy web --patch-file /dev/stdin <<<'{"spec":{"replicas":3}}'"#,
        "patch deploy web --patch-file=/dev/stdin <<EOF\nspec: {replicas: 2}\nEOF",
        r#"echo '{"spec":{"replicas":5}}' | kubectl patch deploy web --patch-file /dev/stdin"#,
        r#"patch deploy web --patch-file - <<<'{"spec":{"replicas":1}}'"#,
    ];
    let entries: Vec<String> = lines
        .iter()
        .map(|line| format!("{{at: 1m, kubectl: {}}}", serde_json::to_string(line).expect("text")))
        .collect();
    let observed = play(&entries.join(", "), &deployment("web"));
    let patched = "deployment.apps/web patched";
    assert_eq!(
        printed(&observed),
        [patched, patched, patched, "error: unable to read patch file: open -: no such file or directory"]
    );
    let web = observed.summary.workloads.iter().find(|of| of.name == "web").expect("the workload");
    assert_eq!(web.desired, 5, "{web:?}");
}

#[test]
fn what_a_line_only_names_may_lack_everything_else() {
    let stub = |name: &str| {
        format!("<<<'{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: default}}}}'")
    };
    let lines = [
        format!("wait -f - --for=condition=Available --timeout=5s {}", stub("a")),
        format!("scale -f - --replicas=2 {}", stub("a")),
        format!("label -f - x=y {}", stub("a")),
        format!("delete -f - --wait=false {}", stub("b")),
    ];
    let entries: Vec<String> = lines
        .iter()
        .map(|line| format!("{{at: 1m, kubectl: {}}}", serde_json::to_string(line).expect("text")))
        .collect();
    let observed = play(&entries.join(", "), &format!("{}\n---\n{}", deployment("a"), deployment("b")));
    assert_eq!(
        printed(&observed),
        [
            "deployment.apps/a condition met",
            "deployment.apps/a scaled",
            "deployment.apps/a labeled",
            "deployment.apps \"b\" deleted from default namespace"
        ]
    );
    // What is sent is still looked at, and refused when its time comes.
    let text =
        format!("{{at: 1m, kubectl: {}}}", serde_json::to_string(&format!("apply -f - {}", stub("c"))).expect("text"));
    let warnings = load(&text, &deployment("a")).warnings;
    assert!(format!("{warnings:?}").contains("spec.selector: Required value"), "{warnings:?}");
}

#[test]
fn every_annotation_of_ours_is_known() {
    let annotations = [
        "start: 1s",
        "ready: 1s",
        "stop: 1s",
        "init: 1s",
        "healthy-for: 1m",
        "run-for: 1m",
        "exit-code: '1'",
        "init-exit-code: '0'",
        "usage: '{memory: 1Mi}'",
    ];
    for annotation in annotations {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: default, annotations: {{kubesquall.sim/{annotation}}}}}, spec: \
             {{containers: [{{name: c, image: i}}]}}}}"
        );
        let scenario = load("{at: 1m, kubectl: cordon n-0}", &pod);
        assert!(scenario.warnings.is_empty(), "{annotation}: {:?}", scenario.warnings);
    }
}

#[test]
fn pods_that_their_kubelet_ends_have_a_cause_and_are_counted() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, annotations: {kubesquall.sim/usage: '{memory: 2Gi}'}}, spec: \
               {nodeName: n-0, containers: [{name: c, image: i}]}}";
    let fault = "{at: 1m, fault: {kind: MemoryPressure, nodes: {names: [n-0]}, usage: {memory: 6Gi}, for: 1m}}";
    let observed = play(fault, pod);
    let row = &observed.pods[0];
    assert_eq!((row.deletion_cause, row.deletion_at), (Some(DeletionCause::NodePressure), None));
    assert!(row.finished_at.is_some_and(|at| (SimTime::from_secs(60)..SimTime::from_secs(73)).contains(&at)));
    assert_eq!(observed.summary.counts.deletions.get("NodePressure"), Some(&1));
    assert_eq!(observed.summary.counts.evictions, 1);
}

#[test]
fn six_hundred_pods_at_once_wait_for_the_client_of_their_controller() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 0, selector: {matchLabels: \
               {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}";
    let observed = play("{at: 1m, kubectl: scale deployment web --replicas=600}", web);
    let mut created: Vec<SimTime> = observed.pods.iter().map(|pod| pod.created_at).collect();
    created.sort_unstable();
    assert_eq!(created.len(), 600);
    // 30 at once, then 20 a second, which events and status writes share; the last hundred are a second wave.
    let took = created[599].saturating_since(created[0]).as_secs_f64();
    assert!((28.0..90.0).contains(&took), "{took}");
}

#[test]
fn five_thousand_pods_lost_at_once_take_more_than_four_minutes_to_make() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 0, selector: {matchLabels: \
               {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}";
    let observed = play("{at: 1m, kubectl: scale deployment web --replicas=5000}", web);
    let mut created: Vec<SimTime> = observed.pods.iter().map(|pod| pod.created_at).collect();
    created.sort_unstable();
    assert_eq!(created.len(), 5000);
    // 30 at once, then 20 a second at most.
    let took = created[4999].saturating_since(created[0]).as_secs_f64();
    assert!((248.0..520.0).contains(&took), "{took}");
    // Waves of five hundred: the next begins slowly, and when all of the last have been seen.
    for wave in 1..10 {
        let pause = created[wave * 500 + 1].saturating_since(created[wave * 500]);
        let within = created[wave * 500 + 400].saturating_since(created[wave * 500 + 399]);
        assert!(pause.as_nanos() > 0, "wave {wave} begins with one pod");
        assert!(within.as_secs_f64() < 1.0, "wave {wave}: {within}");
    }
}

#[test]
fn what_a_drain_evicts_is_counted() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 4, selector: {matchLabels: \
               {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}";
    let observed = play("{at: 1m, kubectl: drain n-0}", web);
    let counts = &observed.summary.counts;
    let rows =
        observed.pods.iter().filter(|pod| pod.deletion_cause == Some(DeletionCause::EvictionByEvictionApi)).count()
            as u64;
    assert!(rows > 0);
    assert_eq!((counts.evictions, counts.deletions.get("EvictionByEvictionAPI")), (rows, Some(&rows)));
    assert_eq!(observed.cluster.last().map(|row| row.evictions), Some(rows as i64));
}

#[test]
fn an_orphaned_replica_set_keeps_its_ready_pods_and_gives_them_to_whoever_adopts_it() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 3, selector: {matchLabels: \
               {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}";
    let observed = play("{at: 1m, kubectl: delete deployment web --cascade=orphan}", web);
    let of = |kind: &str| {
        let mut outcomes = observed.summary.workloads.iter().filter(|outcome| outcome.kind == kind);
        outcomes.next().unwrap_or_else(|| panic!("no {kind}"))
    };
    let orphan = of("ReplicaSet");
    assert_eq!((orphan.desired, orphan.ready, orphan.ready_min, orphan.below_desired_s), (3, 3, 3, 0.0));
    // Nor does anybody miss the pods of what is being deleted.
    assert_eq!(of("Deployment").unready_replica_s, 0.0);
}

#[test]
fn a_deleted_namespace_is_waited_for() {
    let objects = "{apiVersion: v1, kind: Namespace, metadata: {name: batch}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p, \
                   namespace: batch}, spec: {containers: [{name: c, image: i}]}}";
    let observed = play("{at: 1m, kubectl: delete namespace batch}", objects);
    let gone = observed.pods[0].gone_at.expect("the pod is gone");
    let done = observed.transcript[0].done_at.expect("it ends");
    assert!(done > gone, "{:?}", observed.transcript);
    // The first look is five seconds after the deletion, and another five after what it has written of the namespace.
    assert!((70.0..71.0).contains(&done.as_secs_f64()), "{done:?}");
}

#[test]
fn a_namespace_whose_pods_outlive_their_grace_is_looked_at_ever_more_seldom() {
    let objects = "{apiVersion: v1, kind: Namespace, metadata: {name: batch}}\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p, \
                   namespace: batch}, spec: {nodeName: n-0, terminationGracePeriodSeconds: 5, containers: [{name: c, image: i}]}}";
    let timeline = "{at: 60s, fault: {kind: Crash, nodes: {names: [n-0]}}}, {at: 61s, kubectl: delete namespace batch --wait=false}, {at: \
                    90s, kubectl: delete pod p -n batch --force}, {at: 100s, kubectl: get ns batch -o name}, {at: 110s, kubectl: get ns \
                    batch -o name}";
    let observed = play(timeline, objects);
    // Looks at 66 s and with doubled pauses, so that the next after 86.6 s is at 107 s.
    let exits: Vec<_> = observed.transcript.iter().map(|line| line.exit).collect();
    assert_eq!(exits[2..], [Some(0), Some(1)], "{:?}", observed.transcript);
}

#[test]
fn evictions_that_meet_under_one_budget_follow_each_other_half_a_second_apart() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 8, selector: {matchLabels: \
               {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}\n---\n\
               {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {maxUnavailable: \
               4, selector: {matchLabels: {app: web}}}}";
    let observed = play("{at: 1m, kubectl: drain n-0}", web);
    let is_evicted = |pod: &&PodRow| pod.deletion_cause == Some(DeletionCause::EvictionByEvictionApi);
    let mut deleted: Vec<f64> =
        observed.pods.iter().filter(is_evicted).filter_map(|pod| pod.deletion_at).map(|at| at.as_secs_f64()).collect();
    deleted.sort_unstable_by(f64::total_cmp);
    assert_eq!(deleted.len(), 4, "{deleted:?}");
    // All four read the budget before the first of them has written it.
    assert!((60.0..60.3).contains(&deleted[0]), "{deleted:?}");
    assert!(deleted[1..].iter().all(|at| (0.5..2.5).contains(&(at - deleted[0]))), "{deleted:?}");
    assert!(observed.transcript.iter().all(|line| line.exit == Some(0)));
}

#[test]
fn a_process_without_a_lease_outlives_an_outage_of_the_api_server() {
    let outage = "{at: 1m, fault: {kind: ControlPlaneOutage, components: [kube-apiserver], for: 15s}}";
    let registered = |flags: &str| {
        let fields = format!("controlPlane: {{kubeControllerManager: {{{flags}}}}}, ");
        let observed =
            verified::play(&load_with(&fields, outage, "{apiVersion: v1, kind: Namespace, metadata: {name: a}}"));
        observed.events.iter().filter(|event| event.reason == "RegisteredNode").count()
    };
    assert_eq!(registered(""), 2);
    assert_eq!(registered("leader-elect: false"), 0);
    assert_eq!(registered("leader-elect-renew-deadline: 20s, leader-elect-lease-duration: 30s"), 0);
}

#[test]
fn who_has_lost_its_lease_leads_again_when_that_has_run_out() {
    let outage = "{at: 1m, fault: {kind: ControlPlaneOutage, components: [kube-apiserver], for: 30s}}";
    let first = |flags: &str, objects: &str| {
        let fields = format!("controlPlane: {{kubeControllerManager: {{{flags}}}}}, ");
        let observed = verified::play(&load_with(&fields, outage, objects));
        let registered = observed.events.iter().filter(|event| event.reason == "RegisteredNode");
        registered.map(|event| event.at.as_nanos() as f64 / 1e9).fold(f64::INFINITY, f64::min)
    };
    // The API server is back at 90 s. A process tries every 2.0 to 4.4 s.
    let alone = first("", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
    assert!((105.0..115.0).contains(&alone), "{alone}");
    let long = first("leader-elect-lease-duration: 1m", "{apiVersion: v1, kind: Namespace, metadata: {name: a}}");
    assert!((150.0..160.0).contains(&long), "{long}");
    let node = |name: &str| {
        format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: {name}, labels: {{node-role.kubernetes.io/control-plane: ''}}}}, status: {{allocatable: \
             {{cpu: '2', memory: 4Gi, pods: '20'}}}}}}"
        )
    };
    let several = first("", &[node("m-0"), node("m-1"), node("m-2")].join("\n---\n"));
    assert!((90.0..95.0).contains(&several), "{several}");
}

#[test]
fn nothing_new_is_made_in_a_namespace_that_is_deleted() {
    let objects = "{apiVersion: v1, kind: Namespace, metadata: {name: batch}}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, \
                   namespace: batch}, spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: \
                   {containers: [{name: c, image: i}]}}}}";
    let timeline = "{at: 1m, kubectl: delete namespace batch --wait=false}, {at: 62s, kubectl: set image deployment/web -n batch c=j}, {at: 63s, \
                    kubectl: delete pods --all -n batch}";
    let observed = play(timeline, objects);
    assert_eq!(observed.pods.len(), 3, "{:?}", observed.pods);
    let deleted_at = SimTime::from_secs(60);
    let events = observed.events.iter().filter(|event| event.at > deleted_at && event.namespace == "batch");
    assert_eq!(events.map(|event| event.reason).collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(observed.pods.iter().all(|pod| pod.gone_at.is_some()));
}

#[test]
fn a_drain_waits_for_pods_of_a_namespace_that_is_deleted() {
    let objects = "{apiVersion: v1, kind: Namespace, metadata: {name: batch}}\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, \
                   namespace: batch}, spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: \
                   {nodeName: n-0, containers: [{name: c, image: i}]}}}}";
    let timeline = "{at: 1m, kubectl: delete namespace batch --wait=false}, {at: 62s, kubectl: drain n-0}";
    let observed = play(timeline, objects);
    let drain = &observed.transcript[1];
    let pod = &observed.pods[0];
    let expected = format!(
        "error when evicting pod \"{0}\" from terminating namespace \"batch\" (will retry after 5s): pods \"{0}\" is forbidden: unable to create \
         new content in namespace batch because it is being terminated",
        pod.name
    );
    // The namespace controller deletes the pod five seconds after it was told; the second try, at 67 s, finds it deleted.
    assert_eq!((drain.exit, &drain.stderr), (Some(0), &vec![expected]), "{drain:?}");
    assert!(drain.done_at > Some(pod.gone_at.expect("the pod is gone")));
}

#[test]
fn controllers_that_are_left_out_do_nothing() {
    let deletions = |flag: &str| {
        let fields = format!(
            "controlPlane: {{kubeControllerManager: {{controllers: '{flag}', node-monitor-grace-period: 20s}}, kubeApiserver: \
             {{default-unreachable-toleration-seconds: 10}}}}, "
        );
        let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 2, selector: \
                   {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
        let crash = "{at: 1m, fault: {kind: Crash, nodes: {names: [n-0]}, for: 5m}}";
        // Not under the eyes of the verifier, which misses what they would have done.
        let scenario = load_with(&fields, crash, web);
        let (observed, _) = plays::whole(&scenario);
        let deleted = |pod: &&PodRow| pod.deletion_cause == Some(DeletionCause::TaintManagerEviction);
        (observed.pods.len(), observed.pods.iter().filter(deleted).count())
    };
    assert_eq!(deletions("*"), (3, 1), "one of two pods is evicted and replaced");
    assert_eq!(deletions("*,-taint-eviction-controller"), (2, 0));
    assert_eq!(deletions("*,-replicaset"), (0, 0), "nobody makes pods");
}

#[test]
fn controllers_are_blind_for_a_while_after_an_outage_that_they_survive() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 2, selector: {matchLabels: \
               {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
    let observed = play(
        "{at: 60s, fault: {kind: ControlPlaneOutage, components: [kube-apiserver], for: 9s}}, {at: 70s, kubectl: scale deployment web --replicas=3}",
        web,
    );
    let created: Vec<SimTime> = observed.pods.iter().filter(|pod| !pod.initial).map(|pod| pod.created_at).collect();
    // The third or fourth try gets through, and the one more that a new watch cache costs comes 6.4 s or more later.
    let [created] = created[..] else { panic!("one new pod, not {created:?}") };
    assert!(created > SimTime::from_secs(60 + 9 + 6), "{created}");
    assert!(created < SimTime::from_secs(60 + 9 + 60), "{created}");
}

#[test]
fn what_was_posted_before_the_run_counts_where_events_are_damped() {
    // The Deployment made its ReplicaSet half a minute before the newest stamp of the input, which is t=0.
    let template =
        |labels: &str| format!("{{metadata: {{labels: {{{labels}}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}");
    let hashed = "app: web, pod-template-hash: abc";
    let stamps = "namespace: default, creationTimestamp: '2026-01-01T00:00:00Z', annotations: {deployment.kubernetes.io/revision: '1'}";
    let objects = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, {stamps}, uid: u-1}}, spec: {{replicas: 0, selector: {{matchLabels: \
         {{app: web}}}}, template: {}}}}}\n---\n{{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: web-abc, {stamps}, labels: {{{hashed}}}, \
         ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: u-1, controller: true}}]}}, spec: {{replicas: 0, selector: \
         {{matchLabels: {{{hashed}}}}}, template: {}}}}}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: late, namespace: default, \
         creationTimestamp: '2026-01-01T00:00:30Z'}}, spec: {{containers: [{{name: c, image: i}}]}}}}",
        template("app: web"),
        template(hashed),
    );
    let lines: Vec<String> = (0..30)
        .map(|i| format!("{{at: {}s, kubectl: scale deployment web --replicas={}}}", 10 + 5 * i, (i + 1) % 2))
        .collect();
    let observed = play(&lines.join(", "), &objects);
    let said: Vec<&str> =
        observed.events.iter().filter(|e| e.reason == "ScalingReplicaSet").map(|e| &*e.message).collect();
    // The one of its creation is the first of 25 within five minutes.
    assert_eq!(said.len(), 24, "{said:#?}");
    assert_eq!(said[..2], ["Scaled up replica set web-abc from 0 to 1", "Scaled down replica set web-abc from 1 to 0"]);
}

#[test]
fn lines_of_an_entry_are_typed_one_after_the_other() {
    let lines = r#"{at: 60s, kubectl: "cordon n-0\n# a comment\n\nkubectl uncordon \\\n  n-0\nuncordon nobody\nget nodes -o name"}"#;
    let object = "{apiVersion: v1, kind: Namespace, metadata: {name: batch}}";
    let mut rows = play(lines, object).transcript;
    rows.sort_by_key(|row| row.order);
    let said: Vec<_> =
        rows.iter().map(|row| (row.command.lines().next().unwrap_or_default(), row.exit, row.stdout.len())).collect();
    let expected =
        [("cordon n-0", 0, 1), ("uncordon \\", 0, 1), ("uncordon nobody", 1, 0), ("get nodes -o name", 0, 2)];
    assert_eq!(said, expected.map(|(line, exit, count)| (line, Some(exit), count)));
    assert!(
        rows.windows(2).all(|pair| pair[0].done_at == Some(pair[1].at)),
        "each starts with the end of the one before"
    );
}

#[test]
fn jobs_run_as_long_as_the_scenario_says_however_they_come_to_be() {
    let outcome = |latency: &str| {
        let text = format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: t}}\nspec: {{duration: 20m, latency: {{{latency}}}, cluster: \
             {{nodePools: [{{name: n, count: 1, template: {{status: {{allocatable: {{cpu: '8', memory: 32Gi, pods: '60'}}}}}}}}]}}, timeline: \
             [{{at: 60s, kubectl: \"create job made --image=i\\nwait --for=condition=complete job --all --timeout=5m\"}}]}}\n---\n\
             apiVersion: batch/v1\nkind: Job\nmetadata: {{name: given}}\n\
             spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}\n"
        );
        let scenario = scenario::load_text("t.yaml", &text, Path::new(""), &Overrides::none()).expect("a scenario");
        let wait = verified::play(&scenario).transcript.pop().expect("two lines");
        (wait.exit, wait.stdout, wait.done_at.expect("an end").as_secs_f64())
    };
    let (exit, stdout, at) = outcome("jobRun: 30s, podStart: 1s");
    assert_eq!(
        (exit, stdout),
        (Some(0), vec!["job.batch/given condition met".into(), "job.batch/made condition met".into()])
    );
    assert!((91.0..94.0).contains(&at), "{at}");
    let (exit, _, at) = outcome("podStart: 1s");
    assert!(exit == Some(1) && at > 360.0, "they run until they are stopped: {exit:?} {at}");
}

/// Restarts of a pod that uses more than its limit, some minutes after it began.
fn restarts_of_a_glutton(bootstrap: &str) -> u32 {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: t}}\nspec: {{duration: 20m, cluster: {{bootstrap: {bootstrap}, \
         nodePools: [{{name: n, count: 1, template: {{status: {{allocatable: {{cpu: '8', memory: 32Gi, pods: '60'}}}}}}}}]}}}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {{name: p, annotations: {{kubesquall.sim/usage: '{{memory: 2Gi}}'}}}}\n\
         spec: {{containers: [{{name: c, image: i, resources: {{limits: {{memory: 1Gi}}}}}}]}}\n"
    );
    let scenario = scenario::load_text("t.yaml", &text, Path::new(""), &Overrides::none()).expect("a scenario");
    let mut run = Prepared::new(&scenario).start(0, Observers::none());
    run.run_until(SimTime::ZERO + scenario.duration);
    let pods: Vec<u32> = run.store().pods().map(|(_, pod)| pod.restarts_max()).collect();
    pods[0]
}

#[test]
fn containers_that_use_too_much_are_killed_from_their_first_second_on() {
    let (cold, settled) = (restarts_of_a_glutton("cold"), restarts_of_a_glutton("settled"));
    assert!(cold > 5 && settled > cold, "{cold} and {settled} restarts");
}

#[test]
fn a_cold_start_takes_the_pods_of_a_dump_for_what_they_are() {
    let pod = |name: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web, pod-template-hash: aaa}}, ownerReferences: [{{apiVersion: \
             apps/v1, kind: ReplicaSet, name: web-aaa, uid: u1, controller: true}}]}}, spec: {{nodeName: n-0, containers: [{{name: c, image: \
             i}}]}}, status: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}]}}}}"
        )
    };
    let deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, uid: d1}, spec: {replicas: 2, selector: {matchLabels: {app: \
                      web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}";
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: t}}\nspec: {{duration: 5m, cluster: {{bootstrap: cold, \
         nodePools: [{{name: n, count: 1, template: {{status: {{allocatable: {{cpu: '8', memory: 32Gi, pods: '60'}}}}}}}}]}}}}\n---\n\
         {deployment}\n---\n{}\n---\n{}\n",
        pod("web-aaa-1"),
        pod("web-aaa-2")
    );
    let scenario = scenario::load_text("t.yaml", &text, Path::new(""), &Overrides::none()).expect("a scenario");
    let mut run = Prepared::new(&scenario).start(0, Observers::none());
    run.run_until(SimTime::ZERO + scenario.duration);
    let names: Vec<String> = run.store().pods().map(|(_, pod)| pod.name.to_string()).collect();
    assert_eq!(names, ["web-aaa-1", "web-aaa-2"]);
}

#[test]
fn calls_that_take_longer_than_heartbeats_wait_are_warned_of() {
    #[track_caller]
    fn check(api_call: &str, expected: bool) {
        let text = format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: slow}}\nspec: {{duration: 10m, cluster: {{nodePools: [{{name: n, count: \
             1}}]}}, latency: {{apiCall: {api_call}}}}}\n"
        );
        let scenario =
            scenario::load_text("slow.yaml", &text, Path::new("absent"), &Overrides::none()).expect("a scenario");
        let is_warned = scenario.warnings.iter().any(|warning| warning.message.contains("renewing their leases"));
        assert_eq!(is_warned, expected, "{api_call}");
    }
    check("9s", false);
    check("10s", true);
    check("1h", true);
    check("{lognormal: {median: 20ms, p99: 20s}}", false);
}

const CLAIM: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, namespace: default}\nspec: {accessModes: [ReadWriteOnce], \
                     resources: {requests: {storage: 1Gi}}}\n---\n";

#[test]
fn a_claim_is_held_by_pods_that_have_a_node_alone() {
    let pod = |name: &str, selector: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: default}}\nspec: {{nodeSelector: {{{selector}}}, containers: [{{name: c, image: \
             i}}], volumes: [{{name: v, persistentVolumeClaim: {{claimName: c}}}}]}}\n---\n"
        )
    };
    let lines = "{at: 1m, kubectl: 'delete pvc c --wait=false'}, {at: 2m, kubectl: 'get pvc c -o name'}";
    let left = |pods: &[String]| printed(&play(lines, &format!("{CLAIM}{}", pods.concat()))).pop();
    let (waits, runs) = (pod("waits", "no: where"), pod("runs", ""));
    let is_gone = |line: Option<String>| line.is_some_and(|line| line.contains("NotFound"));
    assert!(is_gone(left(std::slice::from_ref(&waits))));
    assert_eq!(left(&[waits, runs]).as_deref(), Some("persistentvolumeclaim/c"));
}

#[test]
fn a_cron_job_of_a_settled_cluster_has_missed_nothing() {
    let jobs = |fields: &str, metadata: &str| {
        let objects = format!(
            "apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: c, namespace: default{metadata}}}\nspec: {{schedule: '45 * * * *'{fields}, jobTemplate: \
             {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: c, image: i}}]}}}}}}}}}}\n"
        );
        let scenario = load("", &objects);
        let assumed = scenario.assumed.iter().any(|of| of.name == "cronJobs");
        let observed = verified::play(&scenario);
        (observed.events.iter().filter(|event| event.reason == "SuccessfulCreate").count(), assumed)
    };
    assert_eq!(jobs("", ""), (0, true));
    // Who says when it was made says that it has never run.
    assert!(!jobs("", ", creationTimestamp: '2026-01-01T00:00:00Z'").1);
    assert_eq!(jobs(", suspend: true", ""), (0, false));
}

/// A zone that comes late lets the control plane enter its full disruption a second time: nodes that are dead wait on all the same.
#[test]
fn nodes_that_are_dead_wait_for_their_taints_however_often_a_full_disruption_begins() {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: late}}\nspec: {{duration: 12m, seed: 1, cluster: {{nodePools: [{{name: \
         w, count: 4, zones: [a, b], template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, latency: {{podStart: \
         {{constant: 1s}}}}, timeline: [{{at: 1m, fault: {{kind: Crash, nodes: {{zone: a}}, for: 3m}}}}, {{at: 1m, fault: {{kind: Crash, nodes: \
         {{zone: b}}}}}}, {{at: 200s, kubectl: label node w-3 topology.kubernetes.io/zone=c --overwrite}}]}}\n---\n{}\n",
        deployment("web").replace("replicas: 1", "replicas: 8")
    );
    let scenario =
        scenario::load_text("late.yaml", &text, Path::new("absent"), &Overrides::none()).expect("a scenario");
    let observed = verified::play(&scenario);
    let taken =
        observed.pods.iter().filter(|row| row.taken_away() == Some(DeletionCause::TaintManagerEviction)).count();
    assert_eq!(taken, 4);
}

#[test]
fn a_deleted_pod_that_waits_for_its_restart_on_a_node_that_returns_ends_as_often_restarted_as_it_was() {
    let crash = "apply -f - <<EOF\n{apiVersion: v1, kind: Pod, metadata: {name: crash, annotations: {kubesquall.sim/run-for: 1s, \
                 kubesquall.sim/exit-code: '1'}}, spec: {nodeName: n-1, containers: [{name: c, image: i}]}}\nEOF";
    let timeline = format!(
        "{{at: 2s, kubectl: {crash:?}}}, {{at: 4s, fault: {{kind: Partition, nodes: {{names: [n-1]}}, for: 5m}}}}, \
         {{at: 20s, kubectl: delete pod crash --wait=false}}"
    );
    let observed = play(&timeline, "");
    assert!(observed.pods[0].gone_at.is_some_and(|at| at > SimTime::from_secs(304)), "{:?}", observed.pods[0]);
}
