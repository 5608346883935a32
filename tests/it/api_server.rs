//! What the API server lets in, fills in, refuses and tidies away, each in a scenario of its own.

use std::path::Path;

use kubesquall::observe::Observers;
use kubesquall::scenario::{self, Overrides, ResolvedScenario};
use kubesquall::simulation::Prepared;
use kubesquall::units::SimTime;

use super::regressions::{deployment, load, load_with, play, printed};
use super::verified;

#[test]
fn what_is_admitted_though_it_should_not_be_is_told() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: strict, labels: {pod-security.kubernetes.io/enforce: restricted}}\n";
    let flags = |flags: &str| {
        let fields = format!("controlPlane: {{kubeApiserver: {{{flags}}}}}, ");
        let rows = load_with(&fields, "", namespace).not_modelled;
        rows.into_iter().map(|row| format!("{}={}", row.path, row.value_excerpt)).collect::<Vec<String>>()
    };
    let label = "metadata.labels[\"pod-security.kubernetes.io/enforce\"]=restricted";
    assert_eq!(
        flags("enable-admission-plugins: 'EventRateLimit,AlwaysPullImages'"),
        ["spec.controlPlane.kubeApiserver.enable-admission-plugins=EventRateLimit", label]
    );
    assert_eq!(
        flags("disable-admission-plugins: PodSecurity"),
        ["spec.controlPlane.kubeApiserver.disable-admission-plugins=PodSecurity"]
    );
}

#[test]
fn what_the_api_server_fills_in_and_what_it_demands_is_printed() {
    let objects = deployment("web").replace(
        "containers:",
        "tolerations: [{key: a, value: b}], affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: \
         [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}}, containers:",
    );
    let lines = "{at: 1m, kubectl: 'taint node n-0 a=b:NoSchedule'}, {at: 2m, kubectl: \"get node n-0 -o jsonpath='{.spec.taints[*].effect}'\"}, \
                 {at: 3m, kubectl: 'get deploy web -o yaml'}";
    let lines = printed(&play(lines, &objects));
    assert_eq!(lines[1], "NoSchedule");
    let has = |text: &str| lines.iter().any(|line| line.trim() == text);
    assert!(has("operator: In") && has("restartPolicy: Always"), "{lines:#?}");
    // It leaves the operator of a toleration as it was.
    assert!(!has("operator: Equal"), "{lines:#?}");
}

#[test]
fn dependents_go_with_the_last_of_their_owners() {
    let uid = |digit: &str| format!("{0}-1111-1111-1111-111111111111", digit.repeat(8));
    let owner = |kind: &str, name: &str, digit: &str, more: &str| {
        let version = if kind == "Deployment" { "apps/v1" } else { "v1" };
        format!("{{apiVersion: {version}, kind: {kind}, name: {name}, uid: {}{more}}}", uid(digit))
    };
    let owned = |kind: &str, name: &str, version: &str, owners: &[String], spec: &str| {
        let owners = owners.join(", ");
        format!(
            "\n---\n{{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}, namespace: default, ownerReferences: [{owners}]}}{spec}}}"
        )
    };
    let named = |name: &str, digit: &str| {
        deployment(name).replace(&format!("{{name: {name}, n"), &format!("{{name: {name}, uid: {}, n", uid(digit)))
    };
    let (a, b) = (owner("Deployment", "a", "1", ""), owner("Deployment", "b", "2", ""));
    let pod = ", spec: {containers: [{name: c, image: i}]}";
    let service = ", spec: {ports: [{port: 80}]}";
    let objects = [
        format!("{}\n---\n{}", named("a", "1"), named("b", "2")),
        owned("Pod", "both", "v1", &[a.clone(), b.clone()], pod),
        owned("Service", "of-a", "v1", std::slice::from_ref(&a), service),
        owned("ConfigMap", "of-a", "v1", std::slice::from_ref(&a), ""),
        owned("Pod", "par", "v1", std::slice::from_ref(&b), pod)
            .replace("{name: par", &format!("{{name: par, uid: {}", uid("3"))),
        owned("Pod", "kid", "v1", &[owner("Pod", "par", "3", ", controller: true")], pod),
        // The input need not hold everything.
        owned("Pod", "of-others", "v1", &[owner("Deployment", "elsewhere", "4", "")], pod),
    ];
    let strange = |name: &str, owner: &str| {
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":\"{name}\",\"ownerReferences\":[{owner}]}},\"spec\":{{\"containers\":[{{\"name\":\"c\",\"image\":\"i\"}}]}}}}"
        )
    };
    let nobodys =
        strange("nobodys", r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"x","uid":"9","controller":true}"#);
    let others = strange("others", r#"{"apiVersion":"v1","kind":"ConfigMap","name":"of-a","uid":"9"}"#);
    let list = "\"get pods,svc,cm -o name\"";
    let lines = [
        "{at: 1m, kubectl: \"get pod both -o jsonpath='{.metadata.ownerReferences[*].name}'\"}".to_owned(),
        "{at: 70s, kubectl: delete deploy a --cascade=foreground}".to_owned(),
        "{at: 80s, kubectl: \"get pod both -o jsonpath='{.metadata.ownerReferences[*].name}'\"}".to_owned(),
        format!("{{at: 120s, kubectl: {list}}}"),
        "{at: 130s, kubectl: delete deploy b}".to_owned(),
        format!("{{at: 200s, kubectl: {list}}}"),
        format!("{{at: 210s, kubectl: \"create -f - <<'E'\\n{}\\nE\"}}", nobodys.replace('"', "\\\"")),
        format!("{{at: 210s, kubectl: \"create -f - <<'E'\\n{}\\nE\"}}", others.replace('"', "\\\"")),
        format!("{{at: 260s, kubectl: {list}}}"),
    ];
    let lines = printed(&play(&lines.join(", "), &objects.concat()));
    assert_eq!(lines[0], "a b", "{lines:#?}");
    let after: Vec<&str> = lines[1..].iter().map(String::as_str).filter(|line| !line.contains("/b-")).collect();
    let expected = [
        "deployment.apps \"a\" deleted from default namespace",
        "b",
        "pod/both",
        "pod/kid",
        "pod/of-others",
        "pod/par",
        "deployment.apps \"b\" deleted from default namespace",
        "pod/of-others",
        "pod/nobodys created",
        "pod/others created",
        "pod/of-others",
    ];
    assert_eq!(after, expected, "{lines:#?}");
}

#[test]
fn who_takes_off_the_collectors_finalizer_lets_the_owner_go() {
    let slow = deployment("web")
        .replace("labels: {app: web}}, spec", "labels: {app: web}, annotations: {kubesquall.sim/stop: 25s}}, spec");
    let lines = "{at: 1m, kubectl: delete deploy web --cascade=foreground --wait=false}, \
                 {at: 62s, kubectl: \"get deploy web -o jsonpath='{.metadata.finalizers}'\"}, \
                 {at: 63s, kubectl: \"patch deploy web --type=merge -p '{\\\"metadata\\\":{\\\"finalizers\\\":null}}'\"}, \
                 {at: 64s, kubectl: get deploy -o name}";
    let lines = printed(&play(lines, &slow));
    assert_eq!(lines[1], "[\"foregroundDeletion\"]", "{lines:#?}");
    assert_eq!(lines[2..], ["deployment.apps/web patched"], "{lines:#?}");
}

#[test]
fn a_version_in_a_file_is_held_against_the_object() {
    let web = deployment("web").replace("{name: web, n", "{name: web, resourceVersion: '1', n");
    let file = |verb: &str, object: &str| format!("\"{verb} -f - <<'E'\\n{object}\\nE\"");
    let lines = [
        "{at: 60s, kubectl: scale deploy web --replicas=2}".to_owned(),
        format!(
            "{{at: 70s, kubectl: {}}}",
            file("create", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '12'}}")
        ),
        format!("{{at: 80s, kubectl: {}}}", file("replace", &web)),
        format!("{{at: 90s, kubectl: {}}}", file("apply", &web)),
        "{at: 100s, kubectl: get cm c --ignore-not-found}".to_owned(),
    ];
    let lines = printed(&play(&lines.join(", "), &deployment("web")));
    let said = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(
        said(
            "Error from server: error when creating \"STDIN\": resourceVersion should not be set on objects to be created"
        ),
        1,
        "{lines:#?}"
    );
    assert_eq!(
        said("Operation cannot be fulfilled on deployments.apps \"web\": the object has been modified"),
        2,
        "{lines:#?}"
    );
    assert_eq!(lines.len(), 4, "{lines:#?}");
}

#[test]
fn ports_of_nodes_are_given_once_and_from_their_range() {
    let fields =
        "jsonpath='{.spec.ports[0].nodePort}/{.spec.type}/{.spec.sessionAffinity}/{.spec.internalTrafficPolicy}'";
    let lines = format!(
        "{{at: 10s, kubectl: create service nodeport one --tcp=80 --node-port=31000}}, {{at: 20s, kubectl: \"get svc one -o {fields}\"}}, \
         {{at: 30s, kubectl: create service nodeport two --tcp=80 --node-port=31000}}, \
         {{at: 40s, kubectl: create service nodeport three --tcp=80 --node-port=100}}, {{at: 50s, kubectl: get svc -o name}}"
    );
    let lines = printed(&play(&lines, &deployment("web")));
    assert_eq!(lines[1], "31000/NodePort/None/Cluster", "{lines:#?}");
    assert!(
        lines[2].contains("spec.ports[0].nodePort: Invalid value: 31000: provided port is already allocated"),
        "{lines:#?}"
    );
    let range = "Invalid value: 100: provided port is not in the valid range. The range of valid ports is 30000-32767";
    assert!(lines[3].contains(range), "{lines:#?}");
    assert_eq!(lines.last().map(String::as_str), Some("service/one"), "{lines:#?}");
}

#[test]
fn whether_a_pod_is_a_mirror_cannot_be_changed() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {containers: [{name: c, image: i}]}}";
    let lines = "{at: 60s, kubectl: annotate pod p kubernetes.io/config.mirror=abc}, \
                 {at: 70s, kubectl: \"patch pod p -p '{\\\"metadata\\\":{\\\"annotations\\\":{\\\"kubernetes.io/config.mirror\\\":\\\"abc\\\"}}}'\"}, \
                 {at: 80s, kubectl: get pods --show-kind --no-headers}, {at: 90s, kubectl: get pod nosuch --ignore-not-found}";
    let lines = printed(&play(lines, pod));
    assert_eq!(lines.len(), 3, "{lines:#?}");
    let refusal = "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation";
    assert!(lines[..2].iter().all(|line| line.contains(refusal)), "{lines:#?}");
    assert!(lines[2].starts_with("pod/p "), "{lines:#?}");
}

#[test]
fn what_decides_nothing_is_listed_by_its_name_and_with_its_value_alone() {
    let service = "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {type: NodePort, externalTrafficPolicy: \
                   Local, externalIPs: [10.0.0.1, 10.0.0.2], selector: {app: web}, ports: [{port: 80}]}}";
    let rows = load("", service).not_modelled;
    let rows: Vec<String> = rows.into_iter().map(|row| format!("{}={}", row.path, row.value_excerpt)).collect();
    for expected in ["spec.externalTrafficPolicy=Local", "spec.externalIPs=[10.0.0.1, 10.0.0.2]"] {
        assert!(rows.iter().any(|row| row == expected), "{rows:#?}");
    }
}

#[test]
fn applied_lists_are_in_the_order_of_the_file() {
    let web = |variables: &str| deployment("web").replace("image: i}", &format!("image: i, env: [{variables}]}}"));
    let (a, b) = ("{name: A, value: '1'}", "{name: B, value: '2'}");
    let apply = |at: u32, object: &str| format!("{{at: {at}s, kubectl: \"apply -f - <<'E'\\n{object}\\nE\"}}");
    let lines = [
        apply(60, &web(&format!("{a}, {b}"))),
        apply(70, &web(&format!("{a}, {b}"))),
        apply(80, &web(&format!("{b}, {a}"))),
        "{at: 120s, kubectl: get rs -o name}".to_owned(),
    ];
    let lines = printed(&play(&lines.join(", "), &deployment("elsewhere")));
    let own: Vec<&String> = lines.iter().filter(|line| line.contains("/web")).collect();
    assert_eq!(
        own[..3],
        ["deployment.apps/web created", "deployment.apps/web unchanged", "deployment.apps/web configured"]
    );
    assert_eq!(own.len(), 5, "{lines:#?}");
}

/// A cluster that starts cold, with one node.
fn cold(objects: &str) -> ResolvedScenario {
    let text = format!(
        "apiVersion: kubesquall.sim/v1alpha1\nkind: Scenario\nmetadata: {{name: cold}}\nspec: {{duration: 2m, cluster: {{bootstrap: cold, \
         nodePools: [{{name: n, count: 1, template: {{status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}}}}}}}]}}}}\n---\n{objects}\n"
    );
    scenario::load_text("cold.yaml", &text, Path::new("absent"), &Overrides::none())
        .unwrap_or_else(|invalid| panic!("{invalid:?}"))
}

/// Dumps without their stamps hold what admission worked out once.
#[test]
fn a_cold_start_lets_pods_pass_that_say_what_admission_had_worked_out() {
    let pod = |name: &str, spec: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default}}, spec: {{{spec}, containers: [{{name: c, image: i}}]}}}}"
        )
    };
    let pods = [pod("a", "priority: 10"), pod("b", "preemptionPolicy: Never"), pod("c", "overhead: {cpu: 100m}")];
    let observed = verified::play(&cold(&pods.join("\n---\n")));
    let ready = observed.pods.iter().filter(|row| row.ready_at.is_some()).map(|row| (&*row.name, row.priority));
    assert_eq!(ready.collect::<Vec<_>>(), [("a", 10), ("b", 0), ("c", 0)]);
}

#[test]
fn what_a_cold_start_cannot_apply_is_told() {
    let limits = "{apiVersion: v1, kind: LimitRange, metadata: {name: small, namespace: default}, spec: {limits: [{type: Pod, max: {cpu: 500m}}]}}";
    let pod = |name: &str, cpu: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default}}, spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}, limits: {{cpu: {cpu}}}}}}}]}}}}"
        )
    };
    let scenario = cold(&[limits, &pod("a", "100m"), &pod("b", "900m")].join("\n---\n"));
    let mut run = Prepared::new(&scenario).start(0, Observers::none());
    run.run_until(SimTime::ZERO + scenario.duration);
    let refused: Vec<String> = run.finish().refused_at_start.iter().map(ToString::to_string).collect();
    let expected = "Pod default/b: pods \"b\" is forbidden: maximum cpu usage per Pod is 500m, but limit is 900m";
    assert_eq!(refused, [expected]);
}

#[test]
fn a_label_is_asked_for_by_its_key_or_by_the_selector() {
    let with = |version: &str, spec: &str| {
        let objects = deployment("web").replace("containers:", &format!("{spec}, containers:"));
        let scenario = load_with(&format!("controlPlane: {{kubernetesVersion: '{version}'}}, "), "", &objects);
        let observed = verified::play(&scenario);
        observed.events.iter().find(|event| event.reason == "FailedCreate").map(|event| event.message.to_string())
    };
    let spread = |selector: &str| {
        format!(
            "topologySpreadConstraints: [{{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: \
             {{{selector}}}, matchLabelKeys: [app]}}]"
        )
    };
    let twice = spread("matchExpressions: [{key: app, operator: Exists}]");
    let message = with("1.36", &twice).expect("a refusal");
    let expected =
        "spec.topologySpreadConstraints[0][0]: Invalid value: \"app\": exists in both matchLabelKeys and labelSelector";
    assert!(message.contains(expected), "{message}");
    assert_eq!(with("1.36", &spread("")), None);
    let affinity = "affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: \
                    kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [app]}}]}}";
    let message = with("1.33", affinity).expect("a refusal");
    assert!(
        message.contains("preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm[0]: Invalid value"),
        "{message}"
    );
}
