//! Objects as they are printed.

use super::*;
use crate::kubectl::view::LEFT_OUT;

#[track_caller]
fn printed(line: &str) -> (i32, Vec<String>, Vec<String>) {
    let mut desk = Desk::new(line);
    desk.web("web-10");
    desk.web("web-9");
    desk.printed(600.0)
}

#[track_caller]
fn check(line: &str, stdout: &[&str]) {
    let (exit, out, err) = printed(line);
    assert_eq!((exit, out), (0, stdout.iter().map(|line| (*line).to_owned()).collect()), "{line}: {err:?}");
}

#[test]
fn paths_and_columns_are_printed() {
    check("get pods -o jsonpath='{.items[*].metadata.name}'", &["web-10 web-9"]);
    check("get pod web-9 -o jsonpath={.spec.nodeName}", &["n"]);
    check(
        "get pods -o jsonpath='{range .items[*]}{.metadata.name}{\"\\t\"}{.status.phase}{\"\\n\"}{end}'",
        &["web-10\tRunning", "web-9\tRunning"],
    );
    check("get pods --sort-by=.metadata.name -o name", &["pod/web-9", "pod/web-10"]);
    check(
        "get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,NONE:.x --sort-by={.metadata.name}",
        &["NAME     NODE   NONE", "web-9    n      <none>", "web-10   n      <none>"],
    );
    check("get pods -o custom-columns=N:metadata.name --no-headers", &["web-10", "web-9"]);
    check("get nodes -o jsonpath-as-json='{.items[*].metadata.name}'", &["[", "    \"m\",", "    \"n\"", "]"]);
}

#[test]
fn what_is_empty_in_a_cluster_too_needs_no_words() {
    let said = |line: &str| printed(line).2;
    let none: [&str; 0] = [];
    assert_eq!(
        said("get pods -o custom-columns=D:.metadata.deletionTimestamp,R:.status.reason,L:.metadata.labels.x"),
        none
    );
    assert_eq!(said("get pods -o custom-columns=I:.status.podIP"), [LEFT_OUT]);
    assert_eq!(said("get pod web-9 -o jsonpath={.status.reason}"), none);
    assert_eq!(said("get pod web-9 -o jsonpath={.status.podIP}"), [LEFT_OUT]);
}

#[test]
fn objects_are_printed_with_their_status() {
    let (exit, out, err) = printed("get pod web-9 -o yaml");
    assert_eq!((exit, err), (0, vec![LEFT_OUT.to_owned()]));
    let pod: serde_json::Value = serde_saphyr::from_str(&out.join("\n")).expect("YAML");
    assert_eq!((&pod["apiVersion"], &pod["kind"]), (&"v1".into(), &"Pod".into()));
    assert_eq!((&pod["status"]["phase"], &pod["spec"]["nodeName"]), (&"Running".into(), &"n".into()));
    assert_eq!(pod["metadata"]["creationTimestamp"], "1970-01-01T00:00:00Z");
    let (_, out, _) = printed("get nodes,pods -o json");
    let list: serde_json::Value = serde_json::from_str(&out.join("\n")).expect("JSON");
    let kinds: Vec<&str> =
        list["items"].as_array().expect("items").iter().filter_map(|item| item["kind"].as_str()).collect();
    assert_eq!((list["kind"].as_str(), kinds), (Some("List"), vec!["Node", "Node", "Pod", "Pod"]));
}

#[test]
fn changing_commands_print_the_object_that_they_leave() {
    check("cordon n --dry-run=client", &["node/n cordoned (dry run)"]);
    check("label pod web-9 a=b -o jsonpath='{.metadata.labels.a}'", &["b"]);
    check("label pod web-9 a=b --dry-run=client -o jsonpath='{.metadata.labels.a}'", &["b"]);
    check("create ns shop --dry-run=client -o jsonpath='{.kind}/{.metadata.name}'", &["Namespace/shop"]);
    let (_, out, err) = printed("annotate pods --all x=y -o yaml");
    assert_eq!(out.iter().filter(|line| *line == "---").count(), 1);
    assert_eq!(err, [LEFT_OUT]);
}

#[test]
fn other_outputs_are_refused_as_kubectl_refuses_them() {
    let (exit, _, err) = printed("get pods -o jsn");
    assert_eq!(exit, 1);
    assert!(
        err[0].starts_with("error: unable to match a printer suitable for the output format \"jsn\""),
        "{}",
        err[0]
    );
    let (_, _, err) = printed("get pods -o jsonpath='{.items'");
    assert_eq!(err, ["error: error parsing jsonpath {.items, unclosed action"]);
    let (_, _, err) = printed("get pods --sort-by=.nothing");
    assert_eq!(err, ["error: couldn't find any field with path \".nothing\" in the list of objects"]);
}

#[test]
fn labels_have_columns() {
    let (_, out, _) = printed("get nodes --show-labels -L kubernetes.io/hostname");
    assert!(out[0].ends_with("HOSTNAME   LABELS"), "{}", out[0]);
    let (_, _, err) = printed("get pods -w");
    assert!(
        err[0]
            .starts_with("kubesquall: the changes that a watch would go on to print are not simulated: `kubectl wait")
    );
}

#[test]
fn a_path_is_waited_for() {
    check("wait pod/web-9 --for=jsonpath='{.status.phase}'=Running", &["pod/web-9 condition met"]);
    check("wait pod/web-9 --for=jsonpath=.spec.nodeName", &["pod/web-9 condition met"]);
    let (exit, _, err) = printed("wait pod/web-9 --for=jsonpath='{.status.phase}'=Failed --timeout=2s");
    assert_eq!((exit, err), (1, vec!["error: timed out waiting for the condition on pods/web-9".to_owned()]));
    let (_, _, err) = printed("wait pod/web-9 --for=jsonpath='{.metadata}'=x");
    assert_eq!(err, ["error: jsonpath leads to a nested object or list which is not supported"]);
    let (_, _, err) = printed("wait pod/web-9 --for=jsonpath='{.status.phase}'=");
    assert!(err[0].contains("has to have a value after equal sign"), "{err:?}");
}

#[test]
fn classes_and_drivers_are_there_for_commands() {
    let class = "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: p}";
    let run = |line: &str| {
        let mut desk = Desk::new(line);
        desk.create(object(class));
        let (exit, out, err) = desk.printed(60.0);
        (exit, out, err, desk.store().volumes.classes.len())
    };
    let name = "storageclass.storage.k8s.io";
    assert_eq!(run("get sc -o name").1, [format!("{name}/fast")]);
    assert_eq!(run("label sc fast a=b -o jsonpath={.metadata.labels.a}").1, ["b"]);
    let (exit, out, _, left) = run("delete sc fast");
    assert_eq!((exit, out, left), (0, vec![format!("{name} \"fast\" deleted")], 0));
    let patch = "patch sc fast -p '{\"metadata\":{\"annotations\":{\"storageclass.kubernetes.io/is-default-class\":\"true\"}}}'";
    assert_eq!(run(patch).1, [format!("{name}/fast patched")]);
    let (exit, _, err, _) = run("patch sc fast -p '{\"provisioner\":\"other\"}'");
    assert_eq!(exit, 1, "{err:?}");
}

#[test]
fn of_what_is_paused_nobody_knows_whether_it_gets_on() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {paused: true, selector: \
               {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}, status: \
               {conditions: [{type: Progressing, status: Unknown, reason: DeploymentPaused}]}}";
    let check = |line: &str, expected: &str| {
        let mut desk = Desk::new(line);
        desk.create(object(web));
        let (exit, stdout, _) = desk.printed(600.0);
        assert_eq!((exit, stdout), (0, vec![expected.to_owned()]), "{line}");
    };
    check("get deploy web -o jsonpath={.status.conditions[0].status}", "Unknown");
    check("wait deploy/web --for=condition=Progressing=Unknown", "deployment.apps/web condition met");
}

#[test]
fn terminating_pods_are_shown_where_they_are_counted() {
    let check = |kind: &str, status: &str, expected: &[&str]| {
        let text = format!(
            "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: web, namespace: default}}, spec: {{selector: {{matchLabels: {{a: b}}}}, \
             template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}, status: {{{status}}}}}"
        );
        let mut desk = Desk::new(&format!("get {kind} web -o jsonpath={{.status.terminatingReplicas}}"));
        desk.create(object(&text));
        assert_eq!(desk.printed(600.0).1, expected, "{kind} {status}");
    };
    for kind in ["Deployment", "ReplicaSet"] {
        check(kind, "terminatingReplicas: 2", &["2"]);
        check(kind, "terminatingReplicas: 0", &["0"]);
        check(kind, "", &[]);
    }
}
