//! Limit ranges and resource quotas in a run: what they give to pods, and what a roll-out without room waits for.

use std::path::Path;

use kubesquall::observe::{Matter, Observed, Sentence, Tone};
use kubesquall::scenario::{self, Overrides};

use super::verified;

/// A Deployment of three pods on two nodes, in a namespace with a quota of that many pods and a limit range.
fn play(pods: u32, flags: &str, timeline: &str) -> Observed {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: quotas}}\nspec: {{duration: 20m, seed: 1, cluster: \
         {{nodePools: [{{name: n, count: 2, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}, \
         controlPlane: {{kubeApiserver: {{{flags}}}}}, latency: {{podStart: {{constant: 1s}}, podStop: {{constant: 2s}}}}, timeline: \
         [{timeline}]}}\n---\n\
         {{apiVersion: v1, kind: Namespace, metadata: {{name: shop}}}}\n---\n\
         {{apiVersion: v1, kind: ResourceQuota, metadata: {{name: q, namespace: shop}}, spec: {{hard: {{pods: {pods}, requests.cpu: \
         4}}}}}}\n---\n\
         {{apiVersion: v1, kind: LimitRange, metadata: {{name: l, namespace: shop}}, spec: {{limits: [{{type: Container, \
         defaultRequest: {{cpu: 200m}}}}]}}}}\n---\n\
         {{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: shop}}, spec: {{replicas: 3, selector: \
         {{matchLabels: {{app: web}}}}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: [{{name: c, image: \
         i}}]}}}}}}}}\n"
    );
    let scenario = scenario::load_text("quotas.yaml", &text, Path::new("absent"), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"));
    verified::play(&scenario)
}

/// When events of a reason came about the new replica set, and what the first said.
fn events(observed: &Observed, reason: &str) -> (Vec<f64>, String) {
    let found: Vec<_> =
        observed.events.iter().filter(|row| row.reason == reason && row.component == "replicaset-controller").collect();
    let first = found.first().map(|row| row.message.clone()).unwrap_or_default();
    (found.iter().map(|row| row.at.as_secs_f64()).collect(), first)
}

const ROLL_OUT: &str = "{at: 60s, kubectl: 'set image deploy/web c=j -n shop'}";

#[test]
fn a_roll_out_without_room_for_its_surge_waits_for_the_quota_and_then_for_the_back_off() {
    let raise = "{at: 300s, kubectl: 'patch quota q -n shop -p ''{\"spec\": {\"hard\": {\"pods\": 4}}}'''}";
    let observed = play(3, "", &format!("{ROLL_OUT}, {raise}, {{at: 1000s, kubectl: get quota -n shop}}"));
    let (failed, message) = events(&observed, "FailedCreate");
    let (name, why) = message.split_once("\" is forbidden: ").expect("a refusal");
    assert!(name.starts_with("Error creating: pods \"web-"), "{message}");
    assert_eq!(why, "exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3");
    let (created, _) = events(&observed, "SuccessfulCreate");
    // Tries come 5 ms, 10 ms, … after one another: the sixteenth pause, of 164 s, begins before the quota grows.
    assert!(failed.iter().filter(|at| **at < 300.0).count() == 16, "{failed:?}");
    assert!(created.first().is_some_and(|at| (384.0..392.0).contains(at)), "{created:?}");
    // What let it go is told, and of what it follows.
    let step = |what: &str| observed.causes.iter().find(|row| row.what.starts_with(what)).expect("a step");
    assert!(step("deployment/shop/web FailedCreate: pods \"web-").what.contains("exceeded quota: q"));
    let early = observed.causes.iter().filter(|row| row.at.as_secs_f64() < 300.0);
    assert_eq!(early.filter(|row| row.what.contains(" FailedCreate: ")).count(), 2);
    let freed = step("deployment/shop/web is no longer refused: Created pod: web-");
    let quota = step("resourcequota/shop/q changed");
    assert_eq!(freed.cause, quota.effect);
    let whole = observed.workloads.last().expect("rows");
    assert_eq!((whole.ready, whole.desired), (3, 3), "{whole:?}");
    let told = observed.transcript.last().expect("a line");
    assert_eq!(
        told.stdout[1].split_whitespace().take(5).collect::<Vec<_>>(),
        ["q", "pods:", "3/4,", "requests.cpu:", "600m/4"]
    );
}

#[test]
fn with_room_the_roll_out_waits_for_nothing_and_plugins_can_be_left_out() {
    let whole = |observed: &Observed| events(observed, "SuccessfulCreate").0.last().copied().unwrap_or_default();
    let with_room = play(4, "", ROLL_OUT);
    assert!(whole(&with_room) < 100.0 && whole(&with_room) > 60.0);
    let without = play(3, "disable-admission-plugins: ResourceQuota", ROLL_OUT);
    assert_eq!(events(&without, "FailedCreate").0, Vec::<f64>::new());
    assert!(whole(&without) < 100.0 && whole(&without) > 60.0);
}

/// The sentence about a matter.
fn said(observed: &Observed, matter: Matter) -> Option<&Sentence> {
    observed.summary.verdict.iter().find(|sentence| sentence.kind == matter)
}

#[test]
fn a_roll_out_that_a_quota_blocks_is_no_all_clear_though_the_old_pods_serve() {
    let observed = play(3, "", ROLL_OUT);
    let stuck = said(&observed, Matter::RolloutUnfinished).expect("a sentence");
    let (begin, end) = stuck.text.split_once("pods \"web-").expect("a pod's name");
    assert!(begin.starts_with("ROLL-OUT STUCK: deployment/shop/web has 0 of 3 new pods, for 19m"), "{begin}");
    assert!(end.ends_with("exceeded quota: q, requested: pods=1, used: pods=3, limited: pods=3"), "{end}");
    assert!(
        said(&observed, Matter::PodsRefused).is_some_and(|said| said.text.contains("deployment/shop/web (for 19m"))
    );
    assert!(observed.summary.verdict.iter().all(|sentence| sentence.tone != Tone::Good), "{stuck:?}");
    let metrics = ["rollouts_unfinished_end", "workloads_refused_end", "workloads_below_desired_end"];
    assert_eq!(metrics.map(|name| observed.summary.metrics[name]), [1.0, 1.0, 0.0]);
    // With room, or once nobody wants it any longer, nothing is left to say.
    let undo = format!("{ROLL_OUT}, {{at: 300s, kubectl: rollout undo deploy/web -n shop}}");
    for fine in [play(4, "", ROLL_OUT), play(3, "", &undo)] {
        let verdict = &fine.summary.verdict;
        assert!(said(&fine, Matter::RolloutUnfinished).is_none(), "{verdict:?}");
        assert!(said(&fine, Matter::PodsRefused).is_none(), "{verdict:?}");
        assert!(said(&fine, Matter::WorkloadsWhole).is_some_and(|said| said.tone == Tone::Good), "{verdict:?}");
    }
}

#[test]
fn a_roll_out_that_hangs_is_said_to_with_what_its_new_pods_wait_for() {
    let stuck = |timeline: &str| said(&play(9, "", timeline), Matter::RolloutUnfinished).map(|said| said.text.clone());
    let large = stuck("{at: 60s, kubectl: 'set resources deploy/web --requests=cpu=9 -n shop'}").expect("a sentence");
    assert!(
        large.contains("has 0 of 3 new pods") && large.contains("exceeded quota: q, requested: requests.cpu=9"),
        "{large}"
    );
    let picky = r#"{at: 60s, kubectl: 'patch deploy web -n shop -p ''{"spec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}'''}"#;
    let homeless = stuck(picky).expect("a sentence");
    assert!(homeless.contains("has 1 of 3 new pods, for 19m"), "{homeless}");
    assert!(homeless.contains("didn't match Pod's node affinity/selector"), "{homeless}");
    let young = stuck(&picky.replace("60s", "1100s")).expect("a sentence");
    assert!(young.starts_with("ROLL-OUT NOT DONE when the run ended: deployment/shop/web has 1 of 3"), "{young}");
    let paused = format!("{picky}, {{at: 70s, kubectl: rollout pause deploy/web -n shop}}");
    assert_eq!(stuck(&paused), None);
}

#[test]
fn a_job_whose_pods_are_refused_is_no_all_clear() {
    let observed = play(3, "", "{at: 60s, kubectl: create job idle --image=i -n shop -- sleep 1}");
    let refused = said(&observed, Matter::PodsRefused).expect("a sentence");
    assert!(refused.text.contains("job/shop/idle (for 19m"), "{refused:?}");
    assert!(refused.text.contains("exceeded quota: q"), "{refused:?}");
}

#[test]
fn a_refused_creation_shows_as_the_condition_replica_failure_until_one_succeeds() {
    let show = |kind: &str| {
        let path = r#"{range .items[*]}{.status.conditions[?(@.type=="ReplicaFailure")].message}{end}"#;
        format!("'get {kind} -n shop -o jsonpath=''{path}'''")
    };
    let timeline = format!(
        "{ROLL_OUT}, {{at: 90s, kubectl: wait deploy/web -n shop --for=condition=ReplicaFailure --timeout=5s}}, {{at: 100s, kubectl: \
         {}}}, {{at: 100s, kubectl: {}}}, {{at: 300s, kubectl: delete quota q -n shop}}, {{at: 1100s, kubectl: {}}}",
        show("rs"),
        show("deploy"),
        show("rs,deploy"),
    );
    let observed = play(3, "", &timeline);
    let told = |index: usize| observed.transcript[index].stdout.join("\n");
    assert_eq!(told(1), "deployment.apps/web condition met");
    assert!(told(2).contains("is forbidden: exceeded quota: q"), "{}", told(2));
    assert_eq!(told(2), told(3));
    assert_eq!(told(5), "");
}

/// What is refused for good is missing for ever, whoever asks for it, and a cluster in which that is so is at rest.
#[test]
fn what_a_quota_or_a_limit_keeps_from_being_made_is_not_called_broken() {
    #[track_caller]
    fn check(timeline: &str, latency: &str, objects: &[&str]) {
        let text = format!(
            "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: refused}}\nspec: {{duration: 20m, seed: 1, cluster: \
             {{nodePools: [{{name: n, count: 2}}]}}, latency: {{{latency}}}, timeline: [{timeline}]}}\n---\n{}\n",
            objects.join("\n---\n")
        );
        let scenario = scenario::load_text("refused.yaml", &text, Path::new("absent"), &Overrides::none())
            .unwrap_or_else(|invalid| panic!("{invalid:?}\n{text}"));
        let result = verified::checked(&scenario, true);
        assert!(result.is_ok(), "{result:?}\n{text}");
    }
    let quota = |hard: &str| {
        format!(
            "{{apiVersion: v1, kind: ResourceQuota, metadata: {{name: q, namespace: a}}, spec: {{hard: {{{hard}}}}}}}"
        )
    };
    let pods = "selector: {matchLabels: {app: w}}, template: {metadata: {labels: {app: w}}, spec: {containers: [{name: c, image: i}]}}";
    let set = format!(
        "{{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: w, namespace: a}}, spec: {{replicas: 3, {pods}, volumeClaimTemplates: \
         [{{metadata: {{name: d}}, spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 10Gi}}}}}}}}]}}}}"
    );
    let deployment = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: w, namespace: a}}, spec: {{replicas: 2, {pods}}}}}"
    );
    let limit = "{apiVersion: v1, kind: LimitRange, metadata: {name: l, namespace: a}, spec: {limits: [{type: PersistentVolumeClaim, \
                 max: {storage: 5Gi}}]}}";
    let create = "{at: 1m, kubectl: 'create deployment y --image=x --replicas=2 -n a'}";
    let roll_out = "{at: 1m, kubectl: 'set image deploy/w c=j -n a'}";
    check(create, "", &[&quota("count/replicasets.apps: 0")]);
    check(roll_out, "", &[&quota("count/replicasets.apps: 1"), &deployment]);
    check("", "", &[&quota("persistentvolumeclaims: 2"), &set]);
    check("", "", &[limit, &set]);
    // Slow calls: what follows from a change takes as long as they do.
    let cron_job = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: w, namespace: a}, spec: {schedule: '* * * * *', \
                    concurrencyPolicy: Replace, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, \
                    image: x}]}}}}}}";
    check("", "apiCall: 30s", &[cron_job]);
    check("{at: 1m, fault: {kind: KubeletStop, nodes: {names: [n-0]}, for: 5m}}", "apiCall: 1h", &[cron_job]);
}

#[test]
fn a_deployment_that_wants_no_more_than_it_has_has_failed_no_more() {
    let up = "{at: 60s, kubectl: 'scale deploy/web --replicas=5 -n shop'}";
    let down = "{at: 90s, kubectl: 'scale deploy/web --replicas=3 -n shop'}";
    let shown = "{at: 80s, kubectl: 'get deploy web -n shop -o jsonpath={.status.conditions[*].type}'}, \
                 {at: 100s, kubectl: 'get deploy web -n shop -o jsonpath={.status.conditions[*].type}'}";
    let observed = play(3, "", &format!("{up}, {down}, {shown}"));
    let told: Vec<bool> =
        observed.transcript.iter().map(|line| line.stdout.join(" ").contains("ReplicaFailure")).collect();
    assert_eq!(told, [false, true, false, false]);
}
