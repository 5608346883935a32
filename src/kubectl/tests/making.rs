//! Objects made from flags, fields that are set, and what only looks.

use super::*;
use crate::kubectl::Command;

#[track_caller]
fn check(line: &str, exit: i32, stdout: &[&str], stderr: &[&str]) -> Desk {
    let mut desk = Desk::new(line);
    desk.web("p");
    let (found, out, err) = desk.printed(600.0);
    assert_eq!((out, err), (owned(stdout), owned(stderr)), "{line}");
    assert_eq!(found, exit, "{line}");
    desk
}

fn owned(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn objects_are_made_from_flags() {
    let desk =
        check("create deployment extra --image=reg/app:1 --replicas=3", 0, &["deployment.apps/extra created"], &[]);
    let (_, made) = desk.store().deployments.iter().next().expect("the deployment");
    assert_eq!((made.spec.replicas, made.spec.template.spec.containers[0].name.as_str()), (Some(3), "app"));
    let desk = check("run debug --image=busybox --restart=Never -- sleep 5", 0, &["pod/debug created"], &[]);
    assert!(desk.exists("debug"));
    let desk = check("create ns shop", 0, &["namespace/shop created"], &[]);
    assert!(desk.store().namespace(Symbol::new("shop")).is_some());
    for (line, printed) in [
        ("create configmap c --from-literal=a=b", "configmap/c created"),
        ("create secret generic s --from-file=./x", "secret/s created"),
        ("create secret tls s --cert=a --key=b", "secret/s created"),
        ("create sa robot", "serviceaccount/robot created"),
        ("create job j --image=busybox -- true", "job.batch/j created"),
        ("create cronjob c --image=busybox --schedule='*/5 * * * *'", "cronjob.batch/c created"),
        ("create service clusterip s --tcp=80:8080", "service/s created"),
        ("create svc nodeport s --tcp=80", "service/s created"),
        ("create priorityclass high --value=1000", "priorityclass.scheduling.k8s.io/high created"),
        ("create pdb b --selector=app=a --min-available=1", "poddisruptionbudget.policy/b created"),
        ("create quota q --hard=pods=5", "resourcequota/q created"),
        ("create role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r created"),
        ("create rolebinding r --role=r --user=u", "rolebinding.rbac.authorization.k8s.io/r created"),
        ("create ingress i --rule=a/b=c:80", "ingress.networking.k8s.io/i created"),
        ("autoscale rs web --min=2 --max=5 --cpu=80%", "horizontalpodautoscaler.autoscaling/web autoscaled"),
        ("autoscale rs web --max=5 --dry-run=client", "horizontalpodautoscaler.autoscaling/web created (dry run)"),
        ("expose rs web --port=80", "service/web exposed"),
        ("create deployment d --image=i --dry-run=client", "deployment.apps/d created (dry run)"),
    ] {
        check(line, 0, &[printed], &[]);
    }
}

#[test]
fn a_quota_has_the_amounts_and_scopes_of_its_flags() {
    let mut desk = Desk::new("create quota q --hard=pods=3,requests.cpu=1,count/jobs.batch=2 --scopes=NotTerminating");
    desk.play(1.0);
    desk.type_line("get quota q -o jsonpath='{.spec.hard} {.spec.scopes}'");
    desk.play(1.0);
    let told = desk.transcripts[1].stdout.join("\n");
    assert_eq!(told, r#"{"count/jobs.batch":"2","pods":"3","requests.cpu":"1"} ["NotTerminating"]"#);
    let text = "error: Invalid argument syntax pods, expected <resource>=<value>";
    check("create quota q --hard=pods", 1, &[], &[text]);
    check("create quota q --hard=pods=3 --scopes=,", 1, &[], &["error: invalid resource quota scope \"\""]);
}

#[test]
fn all_stands_for_autoscalers_too() {
    let mut desk = Desk::new("autoscale rs web --max=5");
    desk.web("p");
    desk.play(1.0);
    desk.type_line("get all -o name");
    desk.play(1.0);
    let told = desk.transcripts[1].stdout.join("\n");
    assert!(told.contains("horizontalpodautoscaler.autoscaling/web"), "{told}");
}

/// What an autoscaler that a line makes says of metrics.
fn metrics_of(flags: &str) -> String {
    let mut desk = Desk::new(&format!("autoscale rs web --max=5 {flags}"));
    desk.web("p");
    desk.play(1.0);
    desk.type_line("get hpa web -o jsonpath='{.spec.metrics}'");
    desk.play(1.0);
    assert_eq!(desk.transcripts[0].exit, Some(0), "{flags}: {:?}", desk.transcripts[0]);
    desk.transcripts[1].stdout.join("")
}

#[test]
fn autoscalers_are_made_of_percentages_and_amounts() {
    let metric = |name: &str, field: &str, value: &str, kind: &str| {
        format!(
            r#"{{"resource":{{"name":"{name}","target":{{"{field}":{value},"type":"{kind}"}}}},"type":"Resource"}}"#
        )
    };
    let percent = |name: &str, value: &str| metric(name, "averageUtilization", value, "Utilization");
    let amount = |name: &str, value: &str| metric(name, "averageValue", &format!("{value:?}"), "AverageValue");
    for (flags, expected) in [
        ("", vec![percent("cpu", "80")]),
        ("--cpu-percent=50", vec![percent("cpu", "50")]),
        ("--cpu-percent=-1 --cpu=60%", vec![percent("cpu", "60")]),
        ("--cpu=100m", vec![amount("cpu", "100m")]),
        ("--cpu=500", vec![amount("cpu", "500m")]),
        ("--cpu=1500", vec![amount("cpu", "1500m")]),
        ("--memory=70%", vec![percent("memory", "70")]),
        ("--memory=200", vec![amount("memory", "200Mi")]),
        ("--cpu=2 --memory=1Gi", vec![amount("cpu", "2m"), amount("memory", "1Gi")]),
    ] {
        assert_eq!(metrics_of(flags), format!("[{}]", expected.join(",")), "{flags}");
    }
}

#[test]
fn autoscale_falls_back_to_the_older_api_as_kubectl_does() {
    let again = |flags: &str| {
        let mut desk = Desk::new("autoscale rs web --max=5");
        desk.web("p");
        desk.play(1.0);
        desk.type_line(&format!("autoscale rs web --max=5 {flags}"));
        desk.play(1.0);
        desk.transcripts[1].stderr.clone()
    };
    let incompatible =
        "error: failed to create autoscaling/v2 HPA and the configuration is incompatible with autoscaling/v1";
    let exists = "Error from server (AlreadyExists): horizontalpodautoscalers.autoscaling \"web\" already exists";
    assert_eq!(again(""), [format!("{incompatible}: empty input")]);
    assert_eq!(again("--cpu=100m"), [format!("{incompatible}: %!w(<nil>)")]);
    assert_eq!(again("--cpu=70% --memory=1Gi"), [format!("{incompatible}: %!w(<nil>)")]);
    assert_eq!(again("--cpu=70%"), [exists]);
    // No percentage is what the older API takes for none given.
    assert!(metrics_of("--cpu=0%").contains("\"averageUtilization\":80"));
    let deprecated = again("--cpu-percent=7");
    assert!(deprecated[0].starts_with("Flag --cpu-percent has been deprecated, Use --cpu with"), "{deprecated:?}");
}

#[test]
fn a_flag_that_is_out_of_date_is_told_and_the_line_does_what_it_says() {
    let mut desk = Desk::new("scale rs web --replicas=2 --record");
    desk.web("p");
    desk.play(1.0);
    let expected = ["Flag --record has been deprecated, --record will be removed in the future"];
    assert_eq!(desk.transcripts[0].stderr, expected);
    assert_eq!(desk.transcripts[0].stdout, ["replicaset.apps/web scaled"]);
}

#[test]
fn what_cannot_be_made_is_told_as_kubectl_tells_it() {
    for (line, stderr) in [
        ("create ns default-2 x", "error: exactly one NAME is required, got 2"),
        ("create deployment d", "error: required flag(s) \"image\" not set"),
        ("run x", "error: required flag(s) \"image\" not set"),
        (
            "autoscale rs web --min=3 --max=2",
            "error: --max=MAXPODS must be larger or equal to --min=MINPODS, max: 2, min: 3",
        ),
        ("autoscale rs web --max=0", "error: --max=MAXPODS is required and must be at least 1, max: 0"),
        ("autoscale rs web --max=2 --cpu-percent=5 --cpu=5%", "error: --cpu-percent and --cpu are mutually exclusive"),
        ("autoscale rs web --max=2 --cpu=-5%", "error: invalid percentage value: -5"),
        ("autoscale rs web --max=2 --memory=much", "error: invalid resource memory value: much"),
        ("create pdb b --min-available=1", "error: a selector must be specified"),
        ("create job j", "error: either --image or --from must be specified"),
    ] {
        let Command::Refused(lines) = parse(line).expect(line).command else { panic!("{line}") };
        assert_eq!(lines[0], stderr, "{line}");
    }
    let missing = "Error from server (NotFound): deployments.apps \"no\" not found";
    check("autoscale deploy no --max=2", 1, &[], &[missing]);
    let unscalable = "error: cannot autoscale a Pod: could not find scale subresource for /v1, Resource=pods in discovery \
                      information";
    check("autoscale pod p --max=2", 1, &[], &[unscalable]);
    check("expose rs web", 1, &[], &["error: couldn't find port via --port flag or introspection"]);
    let mut desk = Desk::new("create deployment d --image=i");
    desk.play(1.0);
    desk.type_line("create deployment d --image=i");
    desk.play(1.0);
    let said = &desk.transcripts[1].stderr;
    assert_eq!(said, &["error: failed to create deployment: deployments.apps \"d\" already exists"]);
}

#[test]
fn a_job_is_made_from_a_cron_job() {
    let mut desk = Desk::new("create cronjob c --image=busybox --schedule='0 0 * * *'");
    desk.play(1.0);
    for line in ["create job now --from=cronjob/c", "create job now --from=cronjob/c", "create job x --from=cronjob/no"]
    {
        desk.type_line(line);
        desk.play(1.0);
    }
    assert_eq!(desk.transcripts[1].stdout, ["job.batch/now created"]);
    assert_eq!(desk.transcripts[2].stderr, ["error: failed to create job: jobs.batch \"now\" already exists"]);
    assert_eq!(desk.transcripts[3].stderr, ["Error from server (NotFound): cronjobs.batch \"no\" not found"]);
    let (_, job) = desk.store().jobs.iter().next().expect("the job");
    assert_eq!(job.spec.template.spec.containers[0].image.as_str(), "busybox");
}

#[test]
fn fields_of_templates_are_set() {
    let mut desk = Desk::new("create deployment d --image=i");
    desk.play(1.0);
    let mut say = |line: &str| {
        desk.type_line(line);
        desk.play(1.0);
        let said = desk.transcripts.last().expect("an end");
        let generation = desk.store().deployments.iter().next().expect("the deployment").1.meta.generation;
        (said.stdout.join("|"), said.stderr.join("|"), generation)
    };
    let said = |stdout: &str, stderr: &str, generation: i64| (stdout.to_owned(), stderr.to_owned(), generation);
    assert_eq!(say("set env deployment/d A=B"), said("deployment.apps/d env updated", "", 2));
    assert_eq!(say("set env deployment/d A=B"), said("", "", 2));
    assert_eq!(say("set env deployment/d A-"), said("deployment.apps/d env updated", "", 3));
    let line = "set resources deployment d --requests=cpu=150m --limits=memory=1Gi";
    assert_eq!(say(line), said("deployment.apps/d resource requirements updated", "", 4));
    assert_eq!(say("set sa deployment d robot"), said("deployment.apps/d serviceaccount updated", "", 5));
    let none = "Warning: Deployment/d does not have any containers matching \"x\"";
    assert_eq!(say("set env deployment/d -c x A=B"), said("", none, 5));
    let none = "error: unable to find container named x";
    assert_eq!(say("set resources deployment d -c x --limits=cpu=1"), said("", none, 5));
    let more = "error: failed to patch resources update to pod template Deployment.apps \"d\" is invalid: \
                spec.template.spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1";
    assert_eq!(say("set resources deployment d --limits=cpu=1 --requests=cpu=2"), said("", more, 5));
    let none = "error: failed to patch image update to pod template: Deployment.apps \"d\" is invalid: \
                spec.template.spec.containers[0].image: Required value";
    assert_eq!(say("set image deployment d *="), said("", none, 5));
    let text = "error: you must specify an update to requests or limits (in the form of --requests/--limits)";
    assert_eq!(say("set resources deployment d"), said("", text, 5));
}

#[test]
fn tables_show_what_is_there() {
    check("get pods", 0, &["NAME   READY   STATUS    RESTARTS   AGE", "p      0/1     Running   0          0s"], &[]);
    check("get nodes --no-headers", 0, &["m     Unknown   <none>   0s    ", "n     Unknown   <none>   0s    "], &[]);
    check("get pods -A -o name", 0, &["pod/p"], &[]);
    check("get pods -n shop", 0, &[], &["No resources found in shop namespace."]);
    check("get pod no", 1, &[], &["Error from server (NotFound): pods \"no\" not found"]);
    check("get pod no --ignore-not-found", 0, &[], &[]);
    check("describe pod p", 0, &[], &["kubesquall: the output of `kubectl describe` is not simulated"]);
    check("exec -it p -- sh -c 'echo hello'", 0, &[], &["kubesquall: the output of `kubectl exec` is not simulated"]);
    let text = "kubesquall: the output of `kubectl get -o go-template` is not simulated";
    check("get pods -o go-template='{{.items}}'", 0, &[], &[text]);
}

#[test]
fn waiting_ends_when_what_it_waits_for_is_so() {
    let desk = check("wait --for=condition=Ready pod/p", 0, &["pod/p condition met"], &[]);
    assert!(desk.done_s() < 0.2);
    let late = "error: timed out waiting for the condition on pods/p";
    let desk = check("wait pod p --for=delete --timeout=5s", 1, &[], &[late]);
    assert!((desk.done_s() - 5.08).abs() < 0.05, "{}", desk.done_s());
    let missing = "Error from server (NotFound): pods \"no\" not found";
    check("wait pod no --for=condition=Ready", 1, &[], &[missing]);
    check("wait pod no --for=delete", 0, &[], &[]);
    check("wait pod -l x=y --for=condition=Ready", 1, &[], &["error: no matching resources found"]);
    let mut desk = Desk::new("wait pod/p --for=delete --timeout=60s");
    desk.web("p");
    desk.play(1.0);
    desk.type_line("delete pod p");
    desk.play(10.0);
    let waited = desk.transcripts.iter().find(|t| t.command.starts_with("wait")).expect("an end");
    assert_eq!((waited.exit, &waited.stdout), (Some(0), &owned(&["pod/p condition met"])));
    let done_s = waited.done_at.expect("an end").as_secs_f64();
    assert!((1.3..1.6).contains(&done_s), "{done_s}");
}

#[test]
fn objects_are_waited_for_in_turn_and_all_by_one_deadline() {
    let check = |line: &str, exit: i32, stdout: &[&str], stderr: &[&str]| {
        let mut desk = Desk::new(line);
        desk.web("p");
        desk.web("q");
        desk.check(exit, stdout, stderr);
        desk.done_s()
    };
    let late = |name: &str| format!("timed out waiting for the condition on pods/{name}");
    // What has its condition comes too late, too.
    let done_s = check(
        "wait pod/p pod/no --for=condition=Nope pod/q --timeout=2s",
        1,
        &[],
        &[&late("p"), "Error from server (NotFound): pods \"no\" not found", &late("q")],
    );
    assert!((done_s - 2.08).abs() < 0.05, "{done_s}");
    check(
        "wait pod/p --for=condition=Ready --for=condition=Nope --timeout=1s",
        1,
        &["pod/p condition met"],
        &[&format!("error: {}", late("p"))],
    );
    let unsent = "client rate limiter Wait returned an error: context deadline exceeded";
    check("wait pod/p pod/no pod/q --for=delete --timeout=1s", 1, &[], &[&late("p"), unsent]);
    let not_met = ["condition not met for pods/p", "condition not met for pods/q"];
    check("wait pod/p pod/q --for=delete --timeout=0", 1, &[], &not_met);
    check("wait pod/p pod/q --for=condition=Nope --timeout=0", 1, &[], &not_met);
    let done_s =
        check("wait pod/p pod/no --for=create --timeout=1s", 1, &[], &["error: timed out waiting for the condition"]);
    assert!((done_s - 1.08).abs() < 0.05, "{done_s}");
    let both = ["pod/p condition met", "pod/q condition met"];
    check("wait pod/p pod/q --for=create --timeout=0", 0, &both, &[]);
    check("wait pod/p", 1, &[], &["error: unrecognized condition: []"]);
    let form = "error: jsonpath wait format must be --for=jsonpath='{.status.readyReplicas}'=3 or --for=jsonpath='{.status.readyReplicas}'";
    check("wait pod/p --for=jsonpath=.a=b=c", 1, &[], &[form]);
}

#[test]
fn a_condition_of_an_earlier_generation_does_not_count() {
    let mut desk = Desk::new("wait deploy/web --for=condition=Available --timeout=1s");
    let text = "{metadata: {name: web, namespace: default, generation: GEN}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: \
                {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}, status: {observedGeneration: 1, conditions: \
                [{type: Available, status: 'True'}]}}";
    let web = |generation: &str| {
        let web: model::Deployment = serde_saphyr::from_str(&text.replace("GEN", generation)).expect("a deployment");
        Object::Deployment(Box::new(web))
    };
    desk.restore(web("1")).expect("it is there");
    desk.check(0, &["deployment.apps/web condition met"], &[]);
    let mut desk = Desk::new("wait deploy/web --for=condition=Available --timeout=1s");
    desk.restore(web("2")).expect("it is there");
    desk.check(1, &[], &["error: timed out waiting for the condition on deployments/web"]);
}

#[test]
fn a_job_is_made_of_a_cron_job_alone() {
    let check = |from: &str, why: &str| {
        let mut desk = Desk::new(&format!("create job j --from={from}"));
        desk.web("p");
        desk.check(1, &[], &[why]);
    };
    check("pod/p", "error: unknown object type *v1.Pod");
    check("rs/web", "error: unknown object type *v1.ReplicaSet");
    check("deploy/no", "Error from server (NotFound): deployments.apps \"no\" not found");
    check("''", "error: either --image or --from must be specified");
}

#[test]
fn lines_of_runbooks_are_commands() {
    let lines = include_str!("../../../tests/kubectl/lines.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (mut refused, mut count) = (Vec::new(), 0);
    for line in lines {
        count += 1;
        match parse(line) {
            Ok(parsed) if matches!(parsed.command, Command::Refused(_)) => refused.push(line.to_owned()),
            Ok(_) => {}
            Err(error) => refused.push(format!("{line}: {}", error.message)),
        }
    }
    assert!(count > 300, "{count}");
    assert!(refused.len() * 20 <= count, "{} of {count}: {refused:#?}", refused.len());
}

#[test]
fn what_cannot_be_changed_is_made_anew_by_force() {
    let deployment = |app: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: web}}, spec: {{selector: {{matchLabels: {{app: {app}}}}}, \
             template: {{metadata: {{labels: {{app: {app}}}}}, spec: {{containers: [{{name: c, image: i}}]}}}}}}}}"
        )
    };
    let run = |line: &str| {
        let new = deployment("new");
        let mut desk = Desk::with_files(line, &[("new.yaml", new.as_str())]);
        desk.create(object(&deployment("old")));
        let (exit, out, err) = desk.printed(60.0);
        let (_, left) = desk.store().deployments.iter().next().expect("a deployment");
        let app = left.spec.selector.as_ref().and_then(|s| s.match_labels.get(Symbol::new("app")));
        (exit, out, err, app.map(|app| app.to_string()))
    };
    let (exit, out, err, app) = run("apply -f new.yaml");
    assert_eq!((exit, out.len(), app.as_deref()), (1, 0, Some("old")), "{err:?}");
    let (exit, out, _, app) = run("apply --force -f new.yaml");
    assert_eq!((exit, out, app.as_deref()), (0, owned(&["deployment.apps/web configured"]), Some("new")));
    let (exit, out, err, app) = run("apply -f new.yaml --dry-run=server");
    assert_eq!((exit, out.len(), app.as_deref()), (1, 0, Some("old")), "{err:?}");
    let (exit, out, _, app) = run("apply -f new.yaml --dry-run=client");
    assert_eq!((exit, out, app.as_deref()), (0, owned(&["deployment.apps/web configured (dry run)"]), Some("old")));
    let (exit, out, err, _) = run("apply -l tier=none -f new.yaml");
    assert_eq!((exit, out.len(), err), (1, 0, owned(&["error: no objects passed to apply"])));
}

#[test]
fn the_server_is_asked_what_it_would_do() {
    let desk =
        check("scale rs web --replicas=5 --dry-run=server", 0, &["replicaset.apps/web scaled (server dry run)"], &[]);
    assert_ne!(desk.store().replica_sets.iter().next().expect("a set").1.replicas, 5);
    let line = "run p --image=i --dry-run=server";
    check(line, 1, &[], &["Error from server (AlreadyExists): pods \"p\" already exists"]);
    check("run p --image=i --dry-run=client", 0, &["pod/p created (dry run)"], &[]);
    let line = "create priorityclass big --value=2000000000 --dry-run=server";
    let mut desk = Desk::new(line);
    assert_eq!(desk.printed(60.0).0, 1, "values above a billion are the system's");
    check("delete pod p --dry-run=server", 0, &["pod \"p\" deleted from default namespace (server dry run)"], &[]);
}

/// What a line prints.
fn printed(line: &str) -> serde_json::Value {
    let (exit, stdout, stderr) = Desk::new(&format!("{line} --dry-run=client -o json")).printed(600.0);
    assert_eq!((exit, stderr), (0, Vec::new()), "{line}");
    serde_json::from_str(&stdout.join("\n")).expect("JSON")
}

#[test]
fn what_is_made_of_flags_is_what_the_api_knows() {
    use serde_json::json;
    assert_eq!(printed("create cm c --from-literal=a=b --from-literal=c='d'")["data"], json!({"a": "b", "c": "d"}));
    let rules = |resources: serde_json::Value, group: &str| json!({"apiGroups": [group], "resources": resources, "verbs": ["get", "list"]});
    let made = printed("create role r --verb=get,list --resource=pods,pods/log,deploy");
    assert_eq!(made["rules"], json!([rules(json!(["pods", "pods/log"]), ""), rules(json!(["deployments"]), "apps")]));
    let made = printed("create rolebinding r --role=x --serviceaccount=default:bot");
    let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "x"});
    assert_eq!(made["roleRef"], reference);
    assert_eq!(made["subjects"], json!([{"kind": "ServiceAccount", "name": "bot", "namespace": "default"}]));
    assert_eq!(printed("create service nodeport d --tcp=80:8080")["metadata"]["labels"], json!({"app": "d"}));
}

#[test]
fn a_pod_that_is_exposed_has_a_service() {
    let desk = Desk::new("run web --image=i --port=80 --expose").printed(5.0);
    let made = ["service/web created".to_owned(), "pod/web created".to_owned()];
    assert_eq!(desk, (0, made.to_vec(), Vec::new()));
    let (exit, _, stderr) = Desk::new("run web --image=i --expose").printed(5.0);
    assert_eq!((exit, stderr), (1, vec!["error: --port must be set when exposing a service".to_owned()]));
}

#[test]
fn what_kubectl_refuses_is_typed_and_fails() {
    let check = |line: &str, expected: &str| {
        let (exit, stdout, stderr) = Desk::new(line).printed(5.0);
        assert_eq!((exit, stdout, stderr.first().map(String::as_str)), (1, Vec::new(), Some(expected)), "{line}");
    };
    check("apply foo.yaml", "error: Unexpected args: [foo.yaml]");
    check("apply", "error: must specify one of -f and -k");
    check("create blah", "error: unknown command \"blah\"");
    check("rollout restat deploy/web", "error: unknown command \"restat deploy/web\"");
    let (exit, _, stderr) = Desk::new("patch deploy web -p 'spec:\\n a: b: c'").printed(5.0);
    assert!(exit == 1 && stderr[0].starts_with("error: unable to parse \"spec"), "{stderr:?}");
    assert!(parse("apply view-last-applied deploy/web -o yaml").is_ok());
}
