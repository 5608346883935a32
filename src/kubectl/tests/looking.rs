//! `label --list`, `--resource-version`, `rollout history` and `rollout status` of a revision.

use super::*;

#[track_caller]
fn check(line: &str, expected: (i32, &[&str], &[&str])) {
    let mut desk = Desk::new(line);
    desk.web("web-1");
    desk.web("web-2");
    let labels = model::Labels::default().with(Symbol::new("app"), Symbol::new("a"));
    for pod in desk.store().pods().map(|(id, _)| id).collect::<Vec<_>>() {
        desk.ask(Request::SetPodLabels { pod, labels: labels.clone() }).expect("labels");
    }
    let (exit, out, err) = desk.printed(60.0);
    let texts = |lines: &[&str]| -> Vec<String> { lines.iter().map(|line| (*line).to_owned()).collect() };
    assert_eq!((exit, out, err), (expected.0, texts(expected.1), texts(expected.2)), "{line}");
    let is_labelled = desk.store().pods().any(|(_, pod)| pod.labels.get(Symbol::new("x")).is_some());
    assert!(!is_labelled, "{line}: nothing is sent");
}

#[test]
fn labels_are_listed_and_nothing_is_sent() {
    check("label pod web-1 --list", (0, &["app=a"], &[]));
    check("label pod web-1 x=y z- --list", (0, &["app=a", "x=y"], &[]));
    let both = ["Listing labels for Pod./web-1:", " app=a", "Listing labels for Pod./web-2:", " app=a"];
    check("label pods --all --list", (0, &both, &[]));
    let text = "error: 'app' already has a value (a), and --overwrite is false";
    check("label pod web-1 app=b --list", (1, &[], &[text]));
    check("annotate pod web-1 b=c a=d --list", (0, &["a=d", "b=c"], &[]));
    let text = "error: --list and --output may not be specified together";
    check("label pod web-1 --list -o yaml", (1, &[], &[text]));
}

#[test]
fn a_version_is_asked_of_one_object() {
    let text = "error: --resource-version may only be used with a single resource";
    check("label pods --all x=y --resource-version=1", (1, &[], &[text]));
    let text = "Error from server (Conflict): Operation cannot be fulfilled on pods \"web-1\": the object has been modified; please \
                apply your changes to the latest version and try again";
    check("label pod web-1 x=y --resource-version=77", (1, &[], &[text]));
    check("annotate pod web-1 x=y --resource-version=77", (1, &[], &[text]));
}

const WEB: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default, uid: u, annotations: \
    {deployment.kubernetes.io/revision: '2', kubernetes.io/change-cause: old}}, spec: {selector: {matchLabels: {app: web}}, \
    template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}}}";

#[track_caller]
fn of_web(line: &str) -> (i32, Vec<String>, Vec<String>) {
    let mut desk = Desk::new(line);
    desk.create(object(WEB));
    let set = "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web-1, namespace: default, ownerReferences: \
               [{apiVersion: apps/v1, kind: Deployment, name: web, controller: true, uid: u}], annotations: \
               {deployment.kubernetes.io/revision: '2', kubernetes.io/change-cause: why}}, spec: {replicas: 0, \
               selector: {matchLabels: {app: web}}, template: {metadata: {labels: {pod-template-hash: h, app: web}}, \
               spec: {containers: [{name: c, image: nginx, ports: [{containerPort: 80, name: http}]}, {name: d, image: e}]}}}}";
    desk.create(object(set));
    desk.printed(60.0)
}

#[test]
fn the_template_of_a_revision_is_shown() {
    let (exit, out, _) = of_web("rollout history deploy/web --revision=2");
    let expected = [
        "deployment.apps/web with revision #2",
        "Pod Template:",
        "  Labels:\tapp=web",
        "\tpod-template-hash=h",
        "  Annotations:\tkubernetes.io/change-cause: why",
        "  Containers:",
        "   c:",
        "    Image:\tnginx",
        "    Port:\t80/TCP (http)",
        "    Host Port:\t0/TCP (http)",
        "   d:",
        "    Image:\te",
        "    Port:\t<none>",
        "    Host Port:\t<none>",
        "",
    ];
    assert_eq!((exit, out), (0, expected.map(str::to_owned).to_vec()));
    let (exit, _, err) = of_web("rollout history deploy/web --revision=3");
    assert_eq!((exit, err), (1, vec!["error: unable to find the specified revision".to_owned()]));
    let (_, out, _) = of_web("rollout history deploy/web");
    assert_eq!(out, ["deployment.apps/web ", "REVISION  CHANGE-CAUSE", "2         why", ""]);
    let (_, _, err) = of_web("rollout history deploy/web --revision=-1");
    assert_eq!(err, ["error: revision must be a positive integer: -1"]);
}

#[test]
fn another_revision_is_not_waited_for() {
    let (exit, _, err) = of_web("rollout status deploy/web --revision=1");
    let text = "error: desired revision (1) is different from the running revision (2)";
    assert_eq!((exit, err), (1, vec![text.to_owned()]));
    let (exit, _, err) = of_web("rollout status deploy/web --revision=2 --timeout=5s");
    assert_eq!((exit, err), (1, vec!["error: timed out waiting for the condition".to_owned()]));
}

#[test]
fn the_cause_of_a_change_can_always_be_written_anew() {
    let (exit, out, err) = of_web("annotate deploy web kubernetes.io/change-cause=new");
    assert_eq!((exit, out, err), (0, vec!["deployment.apps/web annotated".to_owned()], Vec::new()));
}

#[test]
fn only_kinds_that_count_their_wishes_have_a_generation() {
    let check = |kind: &str, object: &str, expected: &str| {
        let mut desk = Desk::new(&format!("get {kind} x -o jsonpath='{{.metadata.name}}:{{.metadata.generation}}'"));
        let value = serde_saphyr::from_str(object).expect("YAML");
        desk.create(Object::from_any(value).expect("an object").expect("a valid one"));
        assert_eq!(desk.printed(60.0).1, [expected], "{kind}");
    };
    let of = |api: &str, kind: &str, rest: &str| {
        format!("{{apiVersion: {api}, kind: {kind}, metadata: {{name: x, namespace: default}}, {rest}}}")
    };
    check("cm", &of("v1", "ConfigMap", "data: {a: b}"), "x:");
    check("svc", &of("v1", "Service", "spec: {}"), "x:");
    check("role", &of("rbac.authorization.k8s.io/v1", "Role", "rules: []"), "x:");
    check("netpol", &of("networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}}"), "x:1");
    check("widgets.example.com", &of("example.com/v1", "Widget", "spec: {}"), "x:1");
    let budget = "spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}";
    check("pdb", &of("policy/v1", "PodDisruptionBudget", budget), "x:1");
}
