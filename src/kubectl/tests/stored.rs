//! Kinds that decide nothing: they are kept as they are written, and commands change them.

use super::*;

const CONFIG: &str =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default, labels: {a: b}}, data: {k: v}}";

/// A line with these objects in its file, where those are.
fn run(line: &str, files: &[&str], there: &[&str]) -> (i32, Vec<String>, Vec<String>, Desk) {
    let mut desk = Desk::new(line);
    let typed = desk.last_line();
    typed.objects = files.iter().map(|text| from_file("x.yaml", text)).collect();
    hand_over(&mut typed.command, &mut typed.objects);
    there.iter().for_each(|text| desk.create(from_file("there.yaml", text).object));
    let (exit, out, err) = desk.printed(60.0);
    (exit, out, err, desk)
}

fn data(desk: &Desk, kind: &str, name: &str) -> serde_json::Value {
    let key = (Symbol::new(kind), Symbol::new("default"), Symbol::new(name));
    desk.store().stored.get(&key).map(|stored| stored.fields["data"].clone()).unwrap_or_default()
}

#[test]
fn they_are_patched_and_printed() {
    let (exit, out, err, desk) = run(r#"patch cm c -p '{"data":{"l":"w"}}'"#, &[], &[CONFIG]);
    assert_eq!((exit, out, err), (0, vec!["configmap/c patched".to_owned()], Vec::new()));
    assert_eq!(data(&desk, "configmap", "c"), serde_json::json!({"k": "v", "l": "w"}));
    let (_, out, ..) =
        run(r#"patch cm c --type=json -p '[{"op":"remove","path":"/data/k"}]' -o jsonpath={.data}"#, &[], &[CONFIG]);
    assert_eq!(out, ["{}"]);
    let (_, out, ..) = run(r#"patch cm c -p '{"data":{"k":"v"}}'"#, &[], &[CONFIG]);
    assert_eq!(out, ["configmap/c patched (no change)"]);
    let (_, out, ..) = run("get cm c -o jsonpath='{.data.k} {.metadata.labels.a}'", &[], &[CONFIG]);
    assert_eq!(out, ["v b"]);
    let (_, _, _, desk) = run("label cm c q=r", &[], &[CONFIG]);
    assert_eq!(data(&desk, "configmap", "c"), serde_json::json!({"k": "v"}));
}

#[test]
fn refusals_name_their_own_kind() {
    let fixed = CONFIG.replace(", data:", ", immutable: true, data:");
    let (exit, _, err, _) = run(r#"patch cm c -p '{"data":{"k":"w"}}'"#, &[], &[&fixed]);
    let said = "The ConfigMap \"c\" is invalid: data: Forbidden: field is immutable when `immutable` is set";
    assert_eq!((exit, err), (1, vec![said.to_owned()]));
}

#[test]
fn files_are_merged_with_what_was_applied_before() {
    let applied = CONFIG.replace(
        "labels: {a: b}",
        "annotations: {kubectl.kubernetes.io/last-applied-configuration: '{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\",\"namespace\":\"default\"},\"data\":{\"k\":\"v\",\"old\":\"x\"}}'}",
    );
    let there = applied.replace("k: v}}", "k: v, old: x, theirs: z}}");
    let file = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {k: w}}";
    let (exit, out, err, desk) = run("apply -f x.yaml", &[file], &[&there]);
    assert_eq!((exit, out, err), (0, vec!["configmap/c configured".to_owned()], Vec::new()));
    assert_eq!(data(&desk, "configmap", "c"), serde_json::json!({"k": "w", "theirs": "z"}));
    let same = file.replace("k: w", "k: v, old: x");
    let (_, out, err, _) = run("apply -f x.yaml", &[&same], &[&there]);
    assert_eq!((out, err), (vec!["configmap/c unchanged".to_owned()], Vec::new()));
    // One that was made by hand is told of.
    let (_, out, err, _) = run("apply -f x.yaml", &[file], &[CONFIG]);
    assert_eq!(out, ["configmap/c configured"]);
    assert!(err[0].starts_with("Warning: resource configmaps/c is missing the"), "{err:?}");
    let (_, out, _, desk) = run("replace -f x.yaml", &[file], &[&there]);
    assert_eq!(out, ["configmap/c replaced"]);
    assert_eq!(data(&desk, "configmap", "c"), serde_json::json!({"k": "w"}));
}

#[test]
fn secrets_are_compared_and_never_shown() {
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}, data: {k: Zm9v}}";
    let (_, out, ..) = run("get secret s -o jsonpath={.data.k}", &[], &[secret]);
    assert!(out[0].starts_with("***") && !out[0].contains("Zm9v"), "{out:?}");
    let (_, out, ..) = run(r#"patch secret s -p '{"stringData":{"k":"foo"}}'"#, &[], &[secret]);
    assert_eq!(out, ["secret/s patched (no change)"]);
    let (_, out, ..) = run(r#"patch secret s -p '{"stringData":{"k":"bar"}}'"#, &[], &[secret]);
    assert_eq!(out, ["secret/s patched"]);
}

#[test]
fn custom_resources_know_no_strategic_patches_and_their_lists_are_replaced() {
    let there =
        "{apiVersion: x.io/v1, kind: Widget, metadata: {name: w, namespace: default}, spec: {ports: [{port: 1}]}}";
    let (exit, _, err, _) = run(r#"patch widgets.x.io w -p '{"spec":{"a":1}}'"#, &[], &[there]);
    assert_eq!(exit, 1);
    assert!(err[0].starts_with("Error from server (UnsupportedMediaType): the body of the request was"), "{err:?}");
    let (_, out, ..) =
        run(r#"patch widgets.x.io w --type=merge -p '{"spec":{"a":1}}' -o jsonpath={.spec.a}"#, &[], &[there]);
    assert_eq!(out, ["1"]);
    let file = there.replace("port: 1", "port: 2");
    let (_, _, _, desk) = run("apply -f x.yaml", &[&file], &[there]);
    let key = (Symbol::new("widget.x.io"), Symbol::new("default"), Symbol::new("w"));
    assert_eq!(desk.store().stored[&key].fields["spec"], serde_json::json!({"ports": [{"port": 2}]}));
}

const AUTOSCALER: &str = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: default}, \
                          spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 2, maxReplicas: 5}}";

#[test]
fn conditions_of_autoscalers_can_be_waited_for() {
    let status = "maxReplicas: 5}, status: {conditions: [{type: ScalingActive, status: 'True', reason: ValidMetricFound}, {type: \
                  AbleToScale, status: 'False', reason: FailedGetScale}]}}";
    let written = AUTOSCALER.replace("maxReplicas: 5}}", status);
    let wait = |what: &str| run(&format!("wait hpa/web --for=condition={what} --timeout=5s"), &[], &[&written]);
    for met in ["ScalingActive", "scalingactive=TRUE", "AbleToScale=false"] {
        let (exit, out, err, _) = wait(met);
        assert_eq!(
            (exit, out),
            (0, vec!["horizontalpodautoscaler.autoscaling/web condition met".to_owned()]),
            "{err:?}"
        );
    }
    for unmet in ["AbleToScale", "ScalingActive=False", "ScalingLimited"] {
        let (exit, _, err, _) = wait(unmet);
        let late = "error: timed out waiting for the condition on horizontalpodautoscalers/web".to_owned();
        assert_eq!((exit, err), (1, vec![late]), "{unmet}");
    }
}

#[test]
fn autoscalers_have_their_columns_and_are_changed_as_what_they_are() {
    let (_, out, ..) = run("get hpa", &[], &[AUTOSCALER]);
    let words =
        |line: &str| line.split("   ").map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect();
    let headings: Vec<String> = words(&out[0]);
    assert_eq!(headings, ["NAME", "REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE"]);
    let row: Vec<String> = words(&out[1]);
    assert_eq!(row[..6], ["web", "Deployment/web", "cpu: <unknown>/80%", "2", "5", "0"]);
    let key = (Symbol::new("default"), Symbol::new("web"));
    let (exit, out, err, desk) = run(r#"patch hpa web -p '{"spec":{"maxReplicas":9}}'"#, &[], &[AUTOSCALER]);
    assert_eq!((exit, out), (0, vec!["horizontalpodautoscaler.autoscaling/web patched".to_owned()]), "{err:?}");
    assert_eq!(desk.store().autoscalers[&key].spec.max_replicas, 9);
    let (exit, _, err, desk) = run(r#"patch hpa web -p '{"spec":{"minReplicas":7}}'"#, &[], &[AUTOSCALER]);
    let why = "The HorizontalPodAutoscaler \"web\" is invalid: spec.maxReplicas: Invalid value: 5: must be greater than or equal \
               to `minReplicas`";
    assert_eq!((exit, err), (1, vec![why.to_owned()]));
    assert_eq!(desk.store().autoscalers[&key].spec.min_replicas, Some(2));
    let first = AUTOSCALER
        .replace("autoscaling/v2", "autoscaling/v1")
        .replace("5}}", "5, targetCPUUtilizationPercentage: 80}}");
    let (_, out, ..) =
        run("get hpa web -o jsonpath={.spec.metrics[0].resource.target.averageUtilization}", &[], &[&first]);
    assert_eq!(out, ["80"]);
    let (_, out, _, desk) = run("delete hpa web", &[], &[AUTOSCALER]);
    assert_eq!(out, ["horizontalpodautoscaler.autoscaling \"web\" deleted from default namespace"]);
    assert!(desk.store().autoscalers.is_empty());
}

#[test]
fn the_size_alone_is_patched_and_versions_are_compared() {
    let web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default}, spec: {replicas: 3, selector: \
               {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
    let replicas = |desk: &Desk| desk.store().deployments.iter().next().and_then(|(_, web)| web.spec.replicas);
    let patch = r#"patch deploy web --subresource=scale -p '{"spec":{"replicas":5,"paused":true}}'"#;
    let (_, out, _, desk) = run(patch, &[], &[web]);
    assert_eq!((out, replicas(&desk)), (vec!["scale.autoscaling/web patched".to_owned()], Some(5)));
    assert!(desk.store().deployments.iter().all(|(_, web)| !web.spec.paused));
    let (exit, _, err, _) = run(r#"patch deploy web --subresource=scale -p '{"spec":{"replicas":-5}}'"#, &[], &[web]);
    let why = "The Scale \"web\" is invalid: spec.replicas: Invalid value: -5: must be greater than or equal to 0";
    assert_eq!((exit, err), (1, vec![why.to_owned()]));
    let (exit, _, err, _) = run(r#"patch cm c --subresource=scale -p '{"spec":{"replicas":5}}'"#, &[], &[CONFIG]);
    let why = "Error from server (NotFound): the server could not find the requested resource";
    assert_eq!((exit, err), (1, vec![why.to_owned()]));
    let (_, out, ..) = run("get deploy web -o jsonpath={.metadata.resourceVersion}", &[], &[web]);
    let version = &out[0];
    let (_, _, _, desk) = run(&format!("scale deploy web --replicas=1 --resource-version={version}"), &[], &[web]);
    assert_eq!(replicas(&desk), Some(1));
    let (exit, _, err, _) = run("scale deploy web --replicas=1 --resource-version=77", &[], &[web]);
    assert_eq!((exit, err), (1, vec![format!("error: Expected resource version to be 77, was {version}")]));
}
