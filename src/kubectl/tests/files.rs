//! Commands that take objects from files: `-l` and `-n`.

use super::*;
use crate::model::ObjectKind;

fn deployment(name: &str, namespace: &str, labels: &str) -> String {
    let namespace = if namespace.is_empty() { String::new() } else { format!("namespace: {namespace}, ") };
    format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, {namespace}labels: {{{labels}}}}}, spec: {{replicas: 3, \
         selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
    )
}

/// A line with a file of these objects.
fn typed(line: &str, texts: &[&str]) -> Desk {
    let mut desk = Desk::new(line);
    let typed = desk.last_line();
    typed.objects = texts.iter().map(|text| from_file("x.yaml", text)).collect();
    hand_over(&mut typed.command, &mut typed.objects);
    desk
}

fn replicas(desk: &Desk, namespace: &str) -> Option<i32> {
    let id = desk.store().find_workload(ObjectKind::Deployment, Symbol::new(namespace), Symbol::new("web"))?;
    let WorkloadId::Deployment(id) = id else { return None };
    desk.store().deployments[id].spec.replicas
}

#[test]
fn what_the_server_names_is_printed_by_that_name() {
    let text = "{apiVersion: v1, kind: Service, metadata: {generateName: made-, namespace: default}, spec: {ports: [{port: 80}]}}";
    let play = |line: &str| Desk::with_files(line, &[("x", text)]).printed(10.0);
    let (exit, stdout, _) = play("create -f x");
    let name = stdout[0].strip_prefix("service/made-").and_then(|rest| rest.strip_suffix(" created"));
    assert_eq!((exit, name.map(str::len)), (0, Some(5)), "{stdout:?}");
    assert_eq!(play("create -f x --dry-run=client").1, ["service/<unknown> created (dry run)"]);
    assert!(play("create -f x --dry-run=server").1[0].ends_with(" created (server dry run)"));
    let check = |line: &str, why: &str| assert_eq!(play(line).2, [format!("error: {why}")], "{line}");
    check("apply -f x", "from made-: cannot use generate name with apply");
    check("replace -f x", "error when replacing \"x\": resource name may not be empty");
    check("replace --force -f x", "error when deleting \"x\": resource name may not be empty");
    check("delete -f x", "error when deleting \"x\": resource name may not be empty");
    check("label -f x a=b", "resource name may not be empty");
}

#[test]
fn what_is_there_and_about_to_go_is_told_so() {
    let text = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, image: i}]}}";
    let mut desk = Desk::with_files("create -f x", &[("x", text)]);
    desk.stop(None);
    let pod = desk.web("p");
    let options = DeleteOptions { grace_s: None, uid: None };
    desk.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl }).expect("a deletion");
    assert!(desk.exists("p"));
    let why = "Error from server (AlreadyExists): error when creating \"x\": object is being deleted: pods \"p\" already exists";
    desk.check(1, &[], &[why]);
}

#[test]
fn labels_choose_among_the_objects_of_files() {
    let web = deployment("web", "", "app: web");
    let check = |line: &str, exit: i32, stdout: &[&str], stderr: &[&str]| {
        let mut desk = typed(line, &[&web]);
        desk.create(object(&deployment("web", "default", "app: web, live: really")));
        desk.check(exit, stdout, stderr);
        desk
    };
    let desk = check("delete -f x.yaml -l app=nothing", 0, &["No resources found"], &[]);
    assert_eq!(replicas(&desk, "default"), Some(3));
    // Some commands choose by what the file says, others by what is there.
    check("delete -f x.yaml -l live=really", 0, &["No resources found"], &[]);
    check("delete -f x.yaml -l app=web", 0, &["deployment.apps \"web\" deleted from default namespace"], &[]);
    let nothing = "error: no objects passed to scale";
    check("scale -f x.yaml --replicas=1 -l live=really", 1, &[], &[nothing]);
    check("scale -f x.yaml --replicas=1 -l app=web", 0, &["deployment.apps/web scaled"], &[]);
    check("label -f x.yaml q=r -l app=nothing", 0, &[], &[]);
    check("label -f x.yaml q=r -l live=really", 0, &["deployment.apps/web labeled"], &[]);
    check("annotate -f x.yaml q=r -l app=nothing", 0, &[], &[]);
    check("set image -f x.yaml c=j -l app=nothing", 0, &[], &[]);
    check("set env -f x.yaml A=b -l app=nothing", 0, &[], &[]);
    let none = "No resources found in default namespace.";
    check("rollout restart -f x.yaml -l app=nothing", 0, &[], &[none]);
    check("rollout restart -f x.yaml -l live=really", 0, &["deployment.apps/web restarted"], &[]);
    check("create -f x.yaml -l app=nothing", 1, &[], &["error: no objects passed to create"]);
    check("apply -f x.yaml -l app=nothing", 1, &[], &["error: no objects passed to apply"]);
}

#[test]
fn objects_that_name_no_namespace_are_in_that_of_the_line() {
    let web = deployment("web", "", "app: web");
    let lines = [
        ("scale -n far -f x.yaml --replicas=5", "deployment.apps/web scaled"),
        ("patch -n far -f x.yaml -p '{\"spec\":{\"replicas\":5}}'", "deployment.apps/web patched"),
        ("label -n far -f x.yaml q=r", "deployment.apps/web labeled"),
        ("annotate -n far -f x.yaml q=r", "deployment.apps/web annotated"),
        ("set image -n far -f x.yaml c=j", "deployment.apps/web image updated"),
        ("rollout restart -n far -f x.yaml", "deployment.apps/web restarted"),
        ("rollout pause -n far -f x.yaml", "deployment.apps/web paused"),
        ("expose -n far -f x.yaml --port=80", "service/web exposed"),
        ("autoscale -n far -f x.yaml --max=3", "horizontalpodautoscaler.autoscaling/web autoscaled"),
        ("get -n far -f x.yaml -o jsonpath={.metadata.namespace}", "far"),
        ("delete -n far -f x.yaml", "deployment.apps \"web\" deleted from far namespace"),
    ];
    for (line, done) in lines {
        let mut desk = typed(line, &[&web]);
        desk.create(object("{apiVersion: v1, kind: Namespace, metadata: {name: far}}"));
        desk.create(object(&deployment("web", "far", "app: web")));
        let (exit, stdout, stderr) = desk.printed(600.0);
        assert_eq!((exit, stdout.as_slice()), (0, [done.to_owned()].as_slice()), "{line}: {stderr:?}");
    }
    let mut desk = typed("scale -n far -f x.yaml --replicas=5", &[&web]);
    desk.create(object(&deployment("web", "default", "app: web")));
    desk.create(object(&deployment("web", "far", "app: web")));
    desk.check(0, &["deployment.apps/web scaled"], &[]);
    assert_eq!((replicas(&desk, "default"), replicas(&desk, "far")), (Some(3), Some(5)));
}

#[test]
fn objects_of_another_namespace_than_the_lines_are_refused() {
    let lines = [
        "scale -n far -f x.yaml --replicas=5",
        "patch -n far -f x.yaml -p '{}'",
        "label -n far -f x.yaml q=r",
        "set image -n far -f x.yaml c=j",
        "rollout restart -n far -f x.yaml",
        "expose -n far -f x.yaml --port=80",
        "replace -n far -f x.yaml",
        "replace -n far -f x.yaml --force",
        "apply -n far -f x.yaml",
        "create -n far -f x.yaml",
        "delete -n far -f x.yaml",
    ];
    for line in lines {
        let mut desk = typed(line, &[&deployment("web", "default", "app: web")]);
        desk.create(object(&deployment("web", "default", "app: web")));
        desk.create(object(&deployment("web", "far", "app: web")));
        let (exit, _, stderr) = desk.printed(600.0);
        let why = "error: the namespace from the provided object \"default\" does not match the namespace \"far\". You must \
                   pass '--namespace=default' to perform this operation.";
        assert_eq!((exit, stderr), (1, vec![why.to_owned()]), "{line}");
        assert_eq!((replicas(&desk, "default"), replicas(&desk, "far")), (Some(3), Some(3)), "{line}");
    }
}

#[test]
fn a_drain_whose_time_is_over_at_once_looks_once() {
    let mut desk = Desk::new("drain n --timeout=1ns");
    desk.stop(None);
    desk.web("bar");
    let (exit, stdout, stderr) = desk.printed(600.0);
    assert_eq!((exit, stdout), (1, vec!["node/n cordoned".to_owned(), "evicting pod default/bar".to_owned()]));
    let why = "error when waiting for pod \"bar\" in namespace \"default\" to terminate: context deadline exceeded";
    assert!(stderr.iter().any(|line| line.contains(why)), "{stderr:?}");
    assert!(desk.done_s() < 1.0);
    let mut desk = Desk::new("drain n --timeout=1ns --disable-eviction");
    desk.stop(None);
    desk.web("bar");
    let (exit, ..) = desk.printed(600.0);
    assert!(exit == 1 && desk.done_s() < 1.0);
}

#[test]
fn kubectl_is_no_command_of_its_own() {
    let error = parse("kubectl kubectl get pods").expect_err("no command");
    assert_eq!((error.message.as_str(), error.word.as_str()), ("kubectl kubectl cannot be played", "kubectl"));
    assert!(parse("kubectl get pods | kubectl kubectl get pods").is_err());
    let error = parse("get pods -n default\0").expect_err("no text of a program");
    assert!(error.message.contains("NUL") && error.word == "default", "{error:?}");
}

#[test]
fn the_columns_of_pods_read_as_the_server_prints_them() {
    let pod = |spec: &str, meta: &str, status: &str| {
        let mut desk = Desk::new("get pod p --no-headers");
        let text = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: default{meta}}}, spec: {{nodeName: 'n', containers: \
             [{{name: c, image: i}}, {{name: d, image: i}}]{spec}}}, status: {{{status}}}}}"
        );
        desk.create(object(&text));
        let (_, stdout, _) = desk.printed(60.0);
        let cells: Vec<&str> = stdout[0].split_whitespace().skip(1).take(3).collect();
        cells.join(" ")
    };
    let running = "{name: c, ready: true, state: {running: {}}}";
    let both = "containerStatuses: [{name: c, ready: true, state: {running: {}}}, {name: d, ready: true, state: {running: {}}}]";
    let check = |spec: &str, meta: &str, status: &str, expected: &str| {
        assert_eq!(pod(spec, meta, status), expected, "{spec} {meta} {status}");
    };
    check("", "", &format!("phase: Running, {both}"), "2/2 Running 0");
    let deleted = ", deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30";
    check("", deleted, &format!("phase: Running, {both}"), "2/2 Terminating 0");
    check("", deleted, &format!("phase: Running, reason: NodeLost, {both}"), "2/2 Unknown 0");
    // A status that was left behind says ready, but nothing runs.
    let ended = |code: i32, ready: bool| {
        format!("{{name: d, ready: {ready}, state: {{terminated: {{exitCode: {code}}}}}, restartCount: 2}}")
    };
    let of = |phase: &str, first: &str, second: &str| format!("phase: {phase}, containerStatuses: [{first}, {second}]");
    let first = |code: i32| ended(code, true).replace("name: d", "name: c");
    check("", "", &of("Failed", &first(1), &ended(0, true)), "0/2 Error 4");
    check("", "", &of("Succeeded", &first(0), &ended(0, false)), "0/2 Completed 4");
    check("", "", &of("Running", running, &ended(1, false)), "1/2 Error 2");
    check("", "", &of("Running", running, &ended(0, false)), "1/2 NotReady 2");
    check("", "", "phase: Failed, reason: Evicted", "0/2 Evicted 0");
    let killed = ended(137, false).replace("exitCode: 137", "exitCode: 137, reason: OOMKilled");
    check("", "", &of("Running", running, &killed), "1/2 OOMKilled 2");
    let before = "lastState: {terminated: {exitCode: 1, finishedAt: '1970-01-01T00:00:30Z'}}";
    let again =
        ended(0, true).replace("state: {terminated: {exitCode: 0}}", &format!("state: {{running: {{}}}}, {before}"));
    check("", "", &of("Running", running, &again), "2/2 Running 2");
    let waiting = |reason: &str| format!("{{name: d, state: {{waiting: {{reason: {reason}}}}}}}");
    check("", "", &of("Running", running, &waiting("CrashLoopBackOff")), "1/2 CrashLoopBackOff 0");
    let init = ", initContainers: [{name: a, image: i}, {name: s, image: i, restartPolicy: Always}]";
    let killed =
        "phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 137, reason: OOMKilled}}}]";
    check(init, "", killed, "0/3 Init:OOMKilled 0");
    check(init, "", "phase: Pending, initContainerStatuses: [{name: a, state: {running: {}}}]", "0/3 Init:0/2 0");
    check(
        init,
        "",
        &format!(
            "phase: Running, initContainerStatuses: [{{name: a, state: {{terminated: {{exitCode: 0}}}}}}, {{name: s, ready: true, \
             state: {{running: {{}}}}}}], {both}"
        ),
        "3/3 Running 0",
    );
}

#[test]
fn nodes_show_the_version_of_their_kubelet() {
    let mut desk = Desk::new("get node v --no-headers");
    desk.create(object(
        "{apiVersion: v1, kind: Node, metadata: {name: v}, status: {nodeInfo: {kubeletVersion: v1.36.2}}}",
    ));
    let (_, stdout, _) = desk.printed(60.0);
    assert!(stdout[0].ends_with("   v1.36.2"), "{stdout:?}");
}

#[test]
fn kinds_that_nobody_makes_here_are_said_to_be_missing() {
    let mut desk = Desk::new("get endpoints,endpointslices,pods");
    desk.web("p");
    let (exit, stdout, stderr) = desk.printed(60.0);
    assert_eq!((exit, stdout.len()), (0, 2));
    assert_eq!(
        stderr,
        [
            "kubesquall: endpoints that a control plane makes are not simulated",
            "kubesquall: endpointslices that a control plane makes are not simulated",
        ]
    );
}

#[test]
fn what_no_server_has_is_told_and_the_rest_of_the_file_goes_on() {
    let budget =
        "{apiVersion: policy/v1beta1, kind: PodDisruptionBudget, metadata: {name: p}, spec: {minAvailable: 1}}";
    let old = deployment("web", "shop", "").replace("apps/v1", "apps/v1beta1");
    let said = |name: &str, namespace: &str, kind: &str, version: &str| {
        format!(
            "resource mapping not found for name: \"{name}\" namespace: \"{namespace}\" from \"x.yaml\": no matches for kind \
             \"{kind}\" in version \"{version}\""
        )
    };
    let budget_said = format!("error: {}", said("p", "", "PodDisruptionBudget", "policy/v1beta1"));
    let old_said = said("web", "shop", "Deployment", "apps/v1beta1");
    let crds = "ensure CRDs are installed first";
    for verb in ["apply", "create", "replace", "replace --force", "delete", "delete --ignore-not-found"] {
        typed(&format!("{verb} -f x.yaml"), &[budget]).check(1, &[], &[&budget_said, crds]);
    }
    typed("label -f x.yaml a=b", &[budget]).check(1, &[], &[&budget_said, crds]);
    let desk = &mut typed("apply -f x.yaml", &[budget, &deployment("web", "", "")]);
    desk.check(1, &["deployment.apps/web created"], &[&budget_said, crds]);
    assert_eq!(replicas(desk, "default"), Some(3));
    let both = &[budget, old.as_str()];
    let budget_said = budget_said.strip_prefix("error: ").expect("an error");
    typed("apply -f x.yaml", both).check(1, &[], &[budget_said, crds, &old_said, crds]);
    let custom = "{apiVersion: example.com/v1, kind: Kiwi, metadata: {name: k}}";
    typed("apply -f x.yaml", &[custom]).check(0, &["kiwi.example.com/k created"], &[]);
    let class = "{apiVersion: storage.k8s.io/v1, kind: VolumeAttributesClass, metadata: {name: c}, driverName: d}";
    let desk = &mut typed("apply -f x.yaml", &[class]);
    desk.config_mut().version = "1.33".parse().expect("a version");
    let class_said = format!("error: {}", said("c", "", "VolumeAttributesClass", "storage.k8s.io/v1"));
    desk.check(1, &[], &[&class_said, crds]);
}
