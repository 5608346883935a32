//! `rollout` and what it prints.

use super::*;

#[test]
fn a_roll_out_that_does_not_end_times_out() {
    let mut desk = Desk::new("rollout status deployment/web --timeout 30s");
    let text = "{metadata: {name: web, namespace: default}, spec: {replicas: 3, selector: {matchLabels: {a: b}}, \
                template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
    let deployment: model::Deployment = serde_saphyr::from_str(text).expect("a deployment");
    desk.create(Object::Deployment(Box::new(deployment)));
    desk.check(
        1,
        &["Waiting for deployment spec update to be observed..."],
        &["error: timed out waiting for the condition"],
    );
    assert!((30.0..30.2).contains(&desk.done_s()));
}

/// A Deployment `web` of image `i` with a ReplicaSet for each of these images, oldest first.
pub(super) fn deployment(desk: &mut Desk, more: &str, images: &[&str]) {
    let pod = |image: &str, label: &str| {
        format!("{{metadata: {{labels: {{app: a{label}}}}}, spec: {{containers: [{{name: c, image: {image}}}]}}}}")
    };
    let text = format!(
        "{{metadata: {{name: web, namespace: default}}, spec: {{{more}selector: {{matchLabels: {{app: a}}}}, template: {}}}}}",
        pod("i", "")
    );
    let web: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
    desk.create(Object::Deployment(Box::new(web)));
    for (index, image) in images.iter().enumerate() {
        let revision = index + 1;
        let text = format!(
            "{{metadata: {{name: web-{revision}, namespace: default, annotations: {{deployment.kubernetes.io/revision: '{revision}'}}, \
             ownerReferences: [{{kind: Deployment, name: web, uid: '', controller: true}}]}}, spec: {{replicas: 0, selector: {{matchLabels: \
             {{app: a}}}}, template: {}}}}}",
            pod(image, &format!(", pod-template-hash: h{revision}"))
        );
        let set: model::ReplicaSet = serde_saphyr::from_str(&text).expect("a set");
        desk.create(Object::ReplicaSet(Box::new(set)));
    }
}

pub(super) fn image(desk: &Desk) -> &'static str {
    let (_, web) = desk.store().deployments.iter().next().expect("the deployment");
    web.spec.template.spec.containers[0].image.as_str()
}

#[test]
fn undo_goes_back_one_revision_or_to_the_one_that_is_named() {
    let check = |line: &str, images: &[&str], expected: &str| {
        let mut desk = Desk::new(line);
        deployment(&mut desk, "", images);
        desk.check(0, &["deployment.apps/web rolled back"], &[]);
        assert_eq!(image(&desk), expected, "{line}");
    };
    check("rollout undo deployment/web", &["g", "h", "i"], "h");
    check("rollout undo deployment/web --to-revision=1", &["g", "h", "i"], "g");
}

#[test]
fn undo_says_why_it_does_nothing() {
    let check = |line: &str, more: &str, images: &[&str], exit: i32, stdout: &[&str], stderr: &[&str]| {
        let mut desk = Desk::new(line);
        deployment(&mut desk, more, images);
        desk.check(exit, stdout, stderr);
        assert_eq!(image(&desk), "i");
    };
    let undo = "rollout undo deployment/web";
    check(undo, "", &["i"], 1, &[], &["error: no rollout history found for deployment \"web\""]);
    let seven = "error: unable to find specified revision 7 in history";
    check("rollout undo deployment/web --to-revision=7", "", &["h", "i"], 1, &[], &[seven]);
    let same = "deployment.apps/web skipped rollback (current template already matches revision 2)";
    check("rollout undo deployment/web --to-revision=2", "", &["h", "i"], 0, &[same], &[]);
    let paused =
        "error: you cannot rollback a paused deployment; resume it first with 'kubectl rollout resume' and try again";
    check(undo, "paused: true, ", &["h", "i"], 1, &[], &[paused]);
}

#[test]
fn what_is_paused_cannot_be_paused_again_or_restarted() {
    let check = |line: &str, more: &str, expected: &str| {
        let mut desk = Desk::new(line);
        deployment(&mut desk, more, &["i"]);
        desk.check(1, &[], &[expected]);
    };
    check("rollout pause deployment/web", "paused: true, ", "error: deployments.apps \"web\" is already paused");
    check("rollout resume deployment/web", "", "error: deployments.apps \"web\" is not paused");
    let restart = "error: deployments.apps \"web\" can't restart paused deployment (run rollout resume first)";
    check("rollout restart deployment/web", "paused: true, ", restart);
    let mut desk = Desk::new("rollout restart replicaset/web");
    desk.replica_set();
    desk.check(1, &[], &["error: replicasets.apps \"web\" restarting is not supported"]);
}

#[test]
fn roll_outs_are_watched_one_after_the_other() {
    let mut desk = Desk::new("rollout status deploy/web sts/db no/n deploy/late --timeout 10s");
    deployment(&mut desk, "", &[]);
    desk.create(object(
        "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: default}, \
         spec: {template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}",
    ));
    let stderr = [
        "timed out waiting for the condition",
        "timed out waiting for the condition",
        "no status viewer has been implemented for Node",
        "Error from server (NotFound): deployments.apps \"late\" not found",
    ];
    let stdout = [
        "Waiting for deployment spec update to be observed...",
        "Waiting for statefulset spec update to be observed...",
    ];
    desk.check(1, &stdout, &stderr);
    assert!((20.0..20.2).contains(&desk.done_s()), "{}", desk.done_s());
}

#[test]
fn nothing_to_roll_out_is_no_failure() {
    for verb in ["status", "restart", "pause", "resume"] {
        let mut desk = Desk::new(&format!("rollout {verb} deploy,sts"));
        desk.check(0, &[], &["No resources found in default namespace."]);
    }
}

#[test]
fn a_roll_out_is_restarted_once_a_second() {
    let mut desk = Desk::new("rollout restart deploy/web");
    deployment(&mut desk, "", &[]);
    for at in [0.5, 1.5] {
        desk.play(at - desk.now().as_secs_f64());
        desk.type_line("rollout restart deploy/web");
    }
    desk.play(10.0);
    let printed: Vec<(i32, String)> = desk
        .transcripts
        .iter()
        .map(|t| (t.exit.expect("it has ended"), [&t.stdout[..], &t.stderr[..]].concat().concat()))
        .collect();
    let done = || (0, "deployment.apps/web restarted".to_owned());
    let again = "error: failed to create patch for web: if restart has already been triggered within the past second, \
                 please wait before attempting to trigger another";
    assert_eq!(printed, [done(), (1, again.to_owned()), done()]);
}
