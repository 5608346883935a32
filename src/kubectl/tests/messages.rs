//! What conditions say.

use super::*;
use crate::state::DeploymentReason;

/// What a line prints of objects that were there before.
#[track_caller]
fn check(line: &str, objects: &[&str], expected: &str) {
    let mut desk = Desk::new(line);
    for text in objects {
        desk.restore(object(text)).expect("it is there");
    }
    assert_eq!(desk.printed(60.0).1, [expected], "{line}");
}

const MESSAGES: &str = "-o jsonpath={.status.conditions[*].message}";

#[test]
fn a_deployment_names_its_newest_set() {
    let deployment = |reason: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web, namespace: default}}, spec: {{selector: {{matchLabels: \
             {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}, status: \
             {{conditions: [{{type: Available, status: 'True', reason: MinimumReplicasAvailable}}, {{type: Progressing, \
             status: 'True', reason: {reason}}}]}}}}"
        )
    };
    let line = format!("get deploy web {MESSAGES}");
    let start = "Deployment has minimum availability.";
    check(&line, &[&deployment("DeploymentPaused")], &format!("{start} Deployment is paused"));
    check(&line, &[&deployment("ReplicaSetUpdated")], &format!("{start} Deployment \"web\" is progressing."));
    let mut desk = Desk::new(&line);
    super::rollout::deployment(&mut desk, "", &["i", "j"]);
    let id = desk.store().deployments.ids().next().expect("the deployment");
    let said = |reason| crate::kubectl::messages::of_deployment(id, reason, desk.store());
    assert_eq!(
        said(DeploymentReason::NewReplicaSetAvailable).as_deref(),
        Some("ReplicaSet \"web-2\" has successfully progressed.")
    );
    assert_eq!(said(DeploymentReason::NewReplicaSetCreated).as_deref(), Some("Created new replica set \"web-2\""));
}

#[test]
fn a_job_says_why_it_is_over_and_nothing_before_anybody_looked() {
    let job = |status: &str| {
        format!(
            "{{apiVersion: batch/v1, kind: Job, metadata: {{name: j, namespace: default}}, spec: {{template: {{spec: {{restartPolicy: \
             Never, containers: [{{name: c, image: i}}]}}}}}}, status: {{{status}}}}}"
        )
    };
    let over = job("failed: 1, conditions: [{type: Failed, status: 'True', reason: BackoffLimitExceeded}]");
    check(&format!("get job j {MESSAGES}"), &[&over], "Job has reached the specified backoff limit");
    check("get job j -o jsonpath={.status.uncountedTerminatedPods}", &[&over], "{}");
    check("get job j -o jsonpath={.status}", &[&job("")], "{}");
}

#[test]
fn a_node_that_nobody_hears_of_says_so() {
    let node = "{apiVersion: v1, kind: Node, metadata: {name: v}, status: {conditions: [{type: Ready, status: Unknown, reason: \
                NodeStatusUnknown}, {type: MemoryPressure, status: 'False', reason: KubeletHasSufficientMemory}]}}";
    let line = "get node v -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].message}'";
    check(line, &[node], "Kubelet stopped posting node status.");
    let line = "get node v -o jsonpath='{.status.conditions[?(@.type==\"MemoryPressure\")].message}'";
    check(line, &[node], "kubelet has sufficient memory available");
}
