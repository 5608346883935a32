//! What controllers mark, adopt, wait for and let go, in whole runs.

use kubesquall::observe::{Observed, PodRow};

use super::regressions::{deployment, load_with, play, printed};
use super::verified;

/// The lines of a timeline, each at so many seconds.
fn lines(lines: &[(u32, &str)]) -> String {
    let entry =
        |(at, line): &(u32, &str)| format!("{{at: {at}s, kubectl: {}}}", serde_json::to_string(line).expect("text"));
    lines.iter().map(entry).collect::<Vec<_>>().join(", ")
}

fn made_after(observed: &Observed, second: f64) -> usize {
    let is_later = |pod: &&PodRow| pod.created_at.as_secs_f64() > second;
    observed.pods.iter().filter(is_later).count()
}

#[test]
fn pods_of_a_job_bear_its_uid_and_are_selected_by_it() {
    let job = |name: &str, more: &str| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: {name}, namespace: default}}, spec: {{{more}template: {{metadata: \
             {{labels: {{app: {name}}}, annotations: {{kubesquall.sim/run-for: 1h}}}}, spec: {{restartPolicy: Never, containers: [{{name: c, \
             image: i}}]}}}}}}}}"
        )
    };
    let objects = [job("own", ""), job("told", "manualSelector: true, selector: {matchLabels: {app: told}}, ")];
    let cron = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: tick, namespace: default}, spec: {schedule: '* * * * *', jobTemplate: \
                {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}";
    let timeline = lines(&[
        (
            30,
            "get pods -l batch.kubernetes.io/controller-uid,controller-uid,app -o jsonpath='{.items[*].metadata.labels.job-name}'",
        ),
        (31, "get jobs -o jsonpath='{.items[*].spec.selector.matchLabels.app}'"),
        (32, "get jobs -l job-name=own -o jsonpath='{.items[*].spec.selector.matchLabels}'"),
        (33, "get jobs -l job-name!=own,app!=told -o jsonpath='{.items[*].spec.selector.matchLabels}'"),
    ]);
    let observed = play(&timeline, &format!("{}\n---\n{cron}", objects.join("\n---\n")));
    let printed = printed(&observed);
    assert_eq!(printed[..2], ["own", "told"], "{printed:#?}");
    // Of a Job that somebody made, and of one that a CronJob made.
    let is_selected = |line: &String| line.matches("batch.kubernetes.io/controller-uid").count() == 1;
    assert!(printed[2..].iter().all(is_selected) && printed.len() == 4, "{printed:#?}");
}

#[test]
fn a_daemon_set_that_is_made_anew_takes_pods_of_its_template_generation_for_current() {
    let set = |image: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: DaemonSet, metadata: {{name: agent, namespace: default}}, spec: {{selector: {{matchLabels: \
             {{app: agent}}}}, template: {{metadata: {{labels: {{app: agent}}}}, spec: {{containers: [{{name: c, image: {image}}}]}}}}}}}}"
        )
    };
    let anew = format!("apply -f - <<'E'\n{}\nE", set("two"));
    let until_adopted = [(60, "delete ds agent --cascade=orphan"), (70, anew.as_str())];
    let observed = play(&lines(&until_adopted), &set("one"));
    assert_eq!(made_after(&observed, 0.0), 0);
    // The template of a second writing is another generation.
    let further = [until_adopted[0], until_adopted[1], (120, "set image ds/agent c=three")];
    assert_eq!(made_after(&play(&lines(&further), &set("one")), 119.0), 2);
    // What somebody says the generation is, is not asked.
    let written = [
        (60, "annotate ds agent deprecated.daemonset.template.generation=7 --overwrite"),
        (70, "get ds agent -o jsonpath='{.metadata.annotations}'"),
    ];
    let observed = play(&lines(&written), &set("one"));
    let last = printed(&observed).pop().expect("a line");
    assert!(last.contains("\"deprecated.daemonset.template.generation\":\"1\""), "{last}");
}

#[test]
fn a_second_deletion_may_want_the_dependents_to_go_first() {
    let held = deployment("web").replace("{name: web, n", "{name: web, finalizers: [x.io/hold], n");
    let timeline = lines(&[
        (60, "delete deploy web --wait=false"),
        (90, "get pods -o name"),
        (100, "delete deploy web --cascade=foreground --wait=false"),
        (120, "get deploy,pods -o name"),
    ]);
    let printed = printed(&play(&timeline, &held));
    let names: Vec<&str> = printed.iter().map(String::as_str).filter(|line| line.contains('/')).collect();
    assert!(names[0].starts_with("pod/web-"), "{printed:#?}");
    assert_eq!(names[1..], ["deployment.apps/web"], "{printed:#?}");
}

#[test]
fn a_deployment_that_is_made_anew_in_other_words_adopts_what_was_left() {
    let web = |words: &str, hash: &str| {
        format!(
            "{{replicas: 2, selector: {{matchLabels: {{app: web{hash}}}}}, template: {{metadata: {{labels: {{app: web{hash}}}}}, spec: \
             {{{words}containers: [{{name: c, image: i}}]}}}}}}"
        )
    };
    let hash = ", pod-template-hash: 5785bcb8b5";
    let words = "dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, securityContext: {}, \
                 terminationGracePeriodSeconds: 30, ";
    let dump = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default, uid: u-web, annotations: \
         {{deployment.kubernetes.io/revision: '1'}}}}, spec: {}}}\n---\n\
         {{apiVersion: apps/v1, kind: ReplicaSet, metadata: {{name: web-5785bcb8b5, namespace: default, uid: u-rs, labels: {{app: web{hash}}}, \
         annotations: {{deployment.kubernetes.io/revision: '1'}}, ownerReferences: [{{apiVersion: apps/v1, kind: Deployment, name: web, uid: \
         u-web, controller: true}}]}}, spec: {}}}",
        web(words, ""),
        web(words, hash),
    );
    let anew = format!(
        "apply -f - <<'E'\n{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: {}}}\nE",
        web("", "")
    );
    let observed = play(
        &lines(&[
            (60, "delete deploy web --cascade=orphan"),
            (70, "delete rs -l app=web --cascade=orphan"),
            (80, &anew),
            (90, "get rs -o name"),
        ]),
        &dump,
    );
    assert_eq!(printed(&observed).last().map(String::as_str), Some("replicaset.apps/web-5785bcb8b5"));
    assert_eq!(made_after(&observed, 0.0), 0);
}

#[test]
fn replication_controllers_speak_under_a_name_of_their_own() {
    let controller = "{apiVersion: v1, kind: ReplicationController, metadata: {name: old, namespace: default}, spec: {replicas: 1, template: \
                      {metadata: {labels: {app: old}}, spec: {containers: [{name: c, image: i}]}}}}";
    let observed = play(&lines(&[(60, "scale rc old --replicas=3"), (70, "scale rc old --replicas=1")]), controller);
    let by = |reason: &str| {
        let mut events = observed.events.iter().filter(|event| event.reason == reason);
        events.next_back().expect("an event").component
    };
    assert_eq!((by("SuccessfulCreate"), by("SuccessfulDelete")), ("replication-controller", "replication-controller"));
}

#[test]
fn a_roll_out_that_recreates_waits_for_no_pod_that_has_ended() {
    let web = deployment("web").replace("replicas: 1", "replicas: 4, strategy: {type: Recreate}").replace(
        "labels: {app: web}}, spec",
        "labels: {app: web}, annotations: {kubesquall.sim/usage: '{memory: 200Mi}'}}, spec",
    );
    // A pod that its kubelet ends is left behind, Failed.
    let pressure =
        "{at: 10s, fault: {kind: MemoryPressure, nodes: {names: [n-0]}, usage: {memory: 7900Mi}, for: 12s}}, ";
    for (version, before) in [("1.36", ""), ("1.36", pressure), ("1.34", ""), ("1.34", pressure)] {
        let fields = format!("controlPlane: {{kubernetesVersion: '{version}'}}, ");
        let timeline = format!(
            "{before}{}",
            lines(&[(120, "rollout restart deploy web"), (121, "rollout status deploy web --timeout=60s")])
        );
        let observed = verified::play(&load_with(&fields, &timeline, &web));
        let evicted = observed.pods.iter().filter(|pod| pod.created_at.as_secs_f64() < 119.0).count();
        assert_eq!(evicted > 4, !before.is_empty(), "{version}: {evicted}");
        let last = printed(&observed).pop().expect("a line");
        assert_eq!(last, "deployment \"web\" successfully rolled out", "{version} {before}");
    }
}
