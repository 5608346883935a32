//! Whole texts through the loader.

use super::*;
use crate::diagnostics::Severity;

/// The problems of a text, one line each: severity, place, what is wrong, help. Most objects here have a name only; what the
/// server would say of that is tested elsewhere.
fn problems(text: &str) -> Vec<String> {
    let loaded = load_text("x.yaml", text);
    loaded.diagnostics.iter().filter(|diagnostic| diagnostic.code != "manifest::refused").map(describe).collect()
}

fn describe(diagnostic: &Diagnostic) -> String {
    let place = |label: &crate::diagnostics::Label| {
        format!("{}:{}+{}", label.location.line, label.location.column, label.location.length)
    };
    let places: Vec<String> = diagnostic.labels.iter().map(place).collect();
    let help = diagnostic.help.join("; ");
    format!("{} {} {} [{help}]", diagnostic.severity.as_str(), places.join(" "), diagnostic.message)
}

fn labels(text: &str) -> Vec<String> {
    assert_eq!(problems(text), Vec::<String>::new());
    let label = |object: &ManifestObject| format!("{} {}", object.source.line, object.object.label());
    load_text("x.yaml", text).objects.iter().map(label).collect()
}

fn not_modelled(text: &str) -> Vec<String> {
    let describe =
        |row: &NotModelled| format!("{} {} {} {} {}", row.line, row.object, row.path, row.value_excerpt, row.count);
    load_text("x.yaml", text).not_modelled.iter().map(describe).collect()
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n";

#[test]
fn documents_lists_and_json_become_objects_with_their_lines() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(labels(text), expected, "{text}");
    }
    check("", &[]);
    check(POD, &["1 Pod default/a"]);
    check(&format!("# comment\n---\n{POD}---\n\n{POD}  namespace: b\n"), &["3 Pod default/a", "9 Pod b/a"]);
    check(
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: m}\n- apiVersion: policy/v1\n  kind: PodDisruptionBudget\n  metadata:\n    name: p\n",
        &["4 Node m", "7 PodDisruptionBudget default/p"],
    );
    check("apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n", &["4 Pod default/a"]);
    check("kind: List\napiVersion: v1\nitems: [{kind: Node, apiVersion: v1, metadata: {name: one}}]", &["1 Node one"]);
    check(r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}"#, &["1 Node n"]);
    check(
        "{\"apiVersion\":\"v1\",\"items\":[\n{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}},\n{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"m\"}}],\n\"kind\":\"List\"}\n",
        &["2 Node n", "3 Node m"],
    );
    check(
        r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","namespace":"b"}}]}"#,
        &["1 Pod b/a"],
    );
}

/// Reads a directory of other people's manifests and dumps, file by file, when the environment names one. Files named
/// `*.invalid*` are bad on purpose; templates are skipped with a warning.
#[test]
#[expect(clippy::disallowed_methods, reason = "which directory there is differs from machine to machine")]
#[expect(clippy::print_stdout, reason = "how much was read says whether anything was")]
fn real_manifests_load_without_an_error() {
    let Ok(directory) = std::env::var("KUBESQUALL_REAL_MANIFESTS") else { return };
    let base = &Folder::on_disk(Path::new(&directory));
    let mut diagnostics = Diagnostics::default();
    let found = files::find(&[PathBuf::from(".")], base, &mut diagnostics);
    assert!(!found.is_empty(), "no manifest below {directory}");
    let mut objects_count = 0;
    let mut rows_count = 0;
    let mut errors = Vec::new();
    for file in found.iter().filter(|file| !file.name.contains(".invalid")) {
        let text = files::read(file, base, &mut diagnostics).unwrap_or_default();
        let loaded = load_text(&file.name, &text);
        objects_count += loaded.objects.len();
        rows_count += loaded.not_modelled.len();
        let problems = loaded.diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
        let problems = problems.map(|problem| format!("{}: {}", file.name, describe(problem)));
        errors.extend(problems.filter(|problem| !is_expected(problem)));
        let lines: Vec<&str> = text.lines().collect();
        for row in loaded.not_modelled.iter().filter(|row| row.path != "kind") {
            if !lines.get(row.line as usize - 1).is_some_and(|line| line_names(line, row)) {
                errors.push(format!("{row:?} is not on that line"));
            }
        }
        for object in loaded.objects {
            let again = Object::from_value(object.object.to_value()).expect("the kind is known").expect("it is whole");
            if again != object.object {
                errors.push(format!("{} is not what it was after being written and read", object.object.label()));
            }
        }
    }
    println!("{} files, {objects_count} objects, {rows_count} rows without effect", found.len());
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Collections of every field fill words with placeholders, and templates leave names out.
fn is_expected(problem: &str) -> bool {
    let is_placeholder = problem.contains("api-every-field") && problem.contains("Value`");
    let is_nameless = problem.contains("scheduler-perf") && problem.contains("has no name");
    let is_template = problem.contains("kubernetes-addons") && problem.contains("dns_memory_limit");
    is_placeholder || is_nameless || is_template
}

fn line_names(line: &str, row: &NotModelled) -> bool {
    let name = row.path.rsplit('.').next().unwrap_or_default();
    let name = name.split('[').next().unwrap_or_default();
    line.contains(name)
}

#[test]
fn fields_without_effect_are_listed_where_they_stand() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(not_modelled(text), expected, "{text}");
    }
    check(
        &format!(
            "{POD}  managedFields: []\nspec:\n  containers:\n  - name: c\n    command: [sh, -c]\n    wrong:\n      deep: 1\n"
        ),
        &[
            "5 Pod default/a metadata.managedFields [] 1",
            "9 Pod default/a spec.containers[0].command [sh, -c] 1",
            "10 Pod default/a spec.containers[0].wrong deep: 1 1",
        ],
    );
    check("apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: x}\n", &["1 Secret x/s kind Secret 1"]);
    check(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\n\"metadata\":{\"name\":\"a\"},\n\"spec\":{\"volumes\":[{\"name\":\"v\",\n\"secret\":{\"secretName\":\"s\"}}]}}",
        &[r#"4 Pod default/a spec.volumes[0].secret {"secretName":"s"} 1"#],
    );
    let two = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nstatus: {hostIPs: []}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\nstatus: {hostIPs: []}\n";
    check(two, &["4 Pod default/a status.hostIPs [] 2"]);
}

#[test]
fn problems_name_place_and_text_and_do_not_hide_each_other() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(problems(text), expected, "{text}");
    }
    let node = |body: &str| format!("---\napiVersion: v1\nkind: Node\nmetadata: {{name: \"{}\"}}\n{body}", body.len());
    check(
        &[
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: three\n".to_owned(),
            node("spec:\n  taints:\n  - {key: a, effect: NoScedule}\n"),
            node("status:\n  capacity:\n    cpu: 1x\n"),
            node("spec: true\n"),
        ]
        .concat(),
        &[
            "error 5:13+5 spec.replicas: `three` is not a whole number []",
            "error 12:22+9 spec.taints[0].effect: `NoScedule` is not one of `NoSchedule`, `PreferNoSchedule`, `NoExecute` \
             [the nearest value is `NoSchedule`]",
            "error 19:10+2 status.capacity.cpu: `x` in `1x` is not a suffix of quantities; they are n, u, m, k, M, G, T, \
             P, E, Ki, Mi, Gi, Ti, Pi, Ei and exponents such as e3 []",
            "error 24:7+4 spec: found boolean `true`, expected a map of fields []",
        ],
    );
    check(
        r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"priority":"high"}}"#,
        &[r#"error 1:76+6 spec.priority: found string "high", expected a whole number []"#],
    );
    check("a: 1\n", &["warning 1:1+1 this document is not a Kubernetes object and is skipped []"]);
    check("- a\n", &["warning 1:1+1 this document is not a Kubernetes object and is skipped []"]);
    check("kind: Pod\n", &["error 1:1+1 the Pod has no `apiVersion` [add `apiVersion: v1`]"]);
    check("apiVersion: v1\nkind: Pod\n", &["error 1:1+1 this Pod has no name [give it `metadata.name`]"]);
    check(
        &format!("{POD}---\n{POD}---\n{POD}spec: {{priority: 1}}\n"),
        &[
            "warning 6:1+1 1:1+1 Pod default/a is written twice, without a difference \
             [remove one of the two, or give it another name or namespace]",
            "error 11:1+1 1:1+1 Pod default/a is written twice \
             [remove one of the two, or give it another name or namespace]",
        ],
    );
    check(
        &format!("{POD}  name: b\n"),
        &[
            "warning 5:3+5 a key is written twice in one map [remove one of the two; `kubectl apply` refuses the manifest]",
        ],
    );
    check(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {{ .Name }}\n",
        &["error 4:9+2 this Pod is a template that is not filled in \
           [fill the template in first, for example with `helm template`]"],
    );
}

#[test]
fn an_object_that_cannot_be_read_does_not_take_others_along() {
    let text = format!("{POD}spec: [\n---\n{POD}");
    let loaded = load_text("x.yaml", &text);
    assert_eq!(loaded.objects.len(), 1);
    assert_eq!(problems(&text).len(), 1);
    assert!(loaded.sources.text("x.yaml").is_some());
}

#[test]
fn aliases_that_multiply_are_refused() {
    let mut text = format!("{POD}  annotations:\n    a0: &a0 x\n");
    text.push_str("  x0: &x0 [a, a, a, a, a, a, a, a, a, a]\n");
    for level in 1..12 {
        let below = format!("*x{}, ", level - 1).repeat(10);
        text.push_str(&format!("  x{level}: &x{level} [{below}]\n"));
    }
    assert_eq!(load_text("x.yaml", &text).objects.len(), 0);
}

#[test]
fn old_api_versions_are_brought_into_the_form_of_today() {
    let budget = |api_version: &str| {
        let text = format!(
            "apiVersion: {api_version}\nkind: PodDisruptionBudget\nmetadata: {{name: a}}\nspec: {{selector: {{}}}}\n"
        );
        match load_text("x.yaml", &text).objects.remove(0).object {
            Object::PodDisruptionBudget(budget) => budget.spec.selector.is_some(),
            other => panic!("{other:?}"),
        }
    };
    assert!(budget("policy/v1"));
    assert!(!budget("policy/v1beta1"));
    let deployment = "apiVersion: extensions/v1beta1\nkind: Deployment\nmetadata: {name: a}\n\
                      spec: {template: {metadata: {labels: {app: web}}}}\n";
    let loaded = load_text("x.yaml", deployment);
    assert_eq!(loaded.objects[0].object.metadata().labels.to_string(), "app=web");
}

#[test]
fn what_the_server_refuses_is_told_at_the_field_or_at_what_is_around_it() {
    let refused = |text: &str| -> Vec<String> {
        let loaded = load_text("x.yaml", text);
        loaded.diagnostics.iter().map(describe).collect()
    };
    let pod = "spec:\n  nodeName: m\n  containers:\n  - name: c\n    ports:\n    - containerPort: 70000\n";
    let expected = [
        "error 8:5+5 Pod default/a is invalid: spec.containers[0].image: Required value [add `image`]",
        "error 10:22+5 Pod default/a is invalid: spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be \
         between 1 and 65535, inclusive []",
    ];
    assert_eq!(refused(&format!("{POD}{pod}")), expected);
    let json = r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"},"spec":{"taints":[{"key":"-","effect":"NoExecute"}]}}"#;
    let found = refused(json);
    assert!(found[0].starts_with("error 1:83+"), "{found:?}");
    assert!(found[0].contains("metadata.taints[0].key: Invalid value: \"-\""), "{found:?}");
}

#[test]
fn what_is_no_field_of_the_api_is_warned_of_with_the_nearest() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c, image: i}]\n  tolerations:\n  - key: x\n    \
                operator: Exists\n    tolerationSecond: 60\n";
    let loaded = load_text("pod.yaml", text);
    let said: Vec<&Diagnostic> = loaded.diagnostics.iter().collect();
    assert_eq!(said.len(), 1);
    assert_eq!((said[0].code, said[0].labels[0].location.line), ("manifest::unknown_field", 9));
    assert_eq!(said[0].message, "Pod default/a: `tolerationSecond` is not a field of Toleration");
    assert_eq!(loaded.objects[0].unknown_fields, ["spec.tolerations[0].tolerationSecond"]);
    // A server has taken it.
    let stored = text.replace("{name: a}", "{name: a, uid: u}");
    let loaded = load_text("pod.yaml", &stored);
    assert!(loaded.diagnostics.iter().next().is_none() && loaded.objects[0].unknown_fields.is_empty());
}

#[test]
fn what_is_left_to_the_reader_of_yaml_is_read_by_the_same_types() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, labels: {a: !!str 1}}\nspec:\n  paused: yes\n  strategy: &s {type: Recreate}\n  \
                template:\n    spec:\n      <<: {hostNetwork: true}\n      dnsPolicy: Default\n      oops: 1\n";
    let loaded = load_text("x.yaml", text);
    let Object::Deployment(deployment) = &loaded.objects[0].object else { panic!("{:?}", loaded.diagnostics) };
    assert!(deployment.spec.paused);
    assert_eq!(deployment.metadata.labels.to_string(), "a=1");
    assert_eq!(loaded.objects[0].unknown_fields, ["spec.template.spec.oops"]);
    let wrong = text.replace("dnsPolicy: Default", "priority: high");
    assert_eq!(problems(&wrong)[0], "error 10:17+4 spec.template.spec.priority: `high` is not a whole number []");
}

#[test]
fn letters_that_are_booleans_for_kubernetes_are_text_and_said_to_be() {
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: y, labels: {a: 'n'}}\nspec: {paused: y}\n";
    assert_eq!(
        problems(text),
        [
            "warning 3:18+1 metadata.name: `y` is a boolean for Kubernetes, which refuses it; here it is read as text [write it in quotes]"
        ]
    );
    let Object::Deployment(deployment) = load_text("x.yaml", text).objects.remove(0).object else {
        panic!("a Deployment")
    };
    assert_eq!((deployment.metadata.name.as_str(), deployment.spec.paused), ("y", true));
    assert_eq!(deployment.metadata.labels.to_string(), "a=n");
}

#[test]
fn names_and_words_of_kinds_without_effect_are_strings_too() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {port: 8080}\n---\napiVersion: example.com/v1\nkind: Own\n\
                metadata: {name: 1.10}\ndata: {port: 8080}\n";
    let strings = "write it in quotes; the API server takes no number and no boolean for a string";
    let longer = "write it in quotes: YAML as Kubernetes reads it takes it for 1.1, and the API server then refuses it";
    assert_eq!(
        problems(text),
        [
            format!("error 4:14+4 data.port: found integer `8080`, expected a string [{strings}]"),
            format!("error 8:18+4 metadata.name: found floating point `1.1`, expected a string [{longer}]"),
        ]
    );
}

#[test]
fn a_kind_of_another_group_is_warned_of() {
    let said = |version: &str| -> Vec<String> {
        let text = format!("apiVersion: {version}\nkind: Deployment\nmetadata: {{name: d}}\n");
        load_text("d.yaml", &text).diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect()
    };
    assert_eq!(said("v1"), ["no matches for kind \"Deployment\" in version \"v1\""]);
    assert!(said("example.com/v1").is_empty(), "a custom resource");
    let budget =
        |metadata: &str| format!("apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {{{metadata}}}\n");
    let message = "no matches for kind \"PodDisruptionBudget\" in version \"policy/v1beta1\"";
    assert_eq!(
        problems(&budget("name: p")),
        [format!("warning 1:1+1 {message} [PodDisruptionBudget is of `policy/v1`]")]
    );
    assert!(problems(&budget("name: p, uid: u")).is_empty(), "a server has taken it");
}

#[test]
fn an_amount_that_is_null_is_zero() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: c, image: i, resources: {requests: {cpu: null}}}\n";
    for text in
        [pod.to_owned(), serde_json::to_string(&serde_saphyr::from_str::<serde_json::Value>(pod).unwrap()).unwrap()]
    {
        let loaded = load_text("p", &text);
        let Object::Pod(pod) = &loaded.objects[0].object else { panic!("{:?}", loaded.diagnostics) };
        let requests: Vec<_> =
            pod.spec.containers[0].resources.requests.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
        assert_eq!(requests, ["cpu=0"]);
    }
}

#[test]
fn lists_in_lists_are_taken_apart() {
    let pod = |name: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: c, image: i}}]}}}}"
        )
    };
    let typed =
        "{apiVersion: v1, kind: PodList, items: [{metadata: {name: c}, spec: {containers: [{name: c, image: i}]}}]}";
    let inner = format!(
        "{{apiVersion: v1, kind: List, items: [{}, {{apiVersion: v1, kind: List, items: [{}]}}]}}",
        pod("a"),
        pod("b")
    );
    let text = format!("apiVersion: v1\nkind: List\nitems:\n- {inner}\n- {typed}\n- {}\n", pod("d"));
    let loaded = load_text("nested.yaml", &text);
    let names: Vec<&str> = loaded.objects.iter().map(|object| object.object.metadata().name.as_str()).collect();
    assert_eq!((names, loaded.diagnostics.len()), (vec!["a", "b", "c", "d"], 0), "{:?}", loaded.diagnostics);
    let json = r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[]},{"apiVersion":"a.b/v1","kind":"PriceList","metadata":{"name":"x"},"spec":{"items":[]}}]}"#;
    let loaded = load_text("nested.json", json);
    assert_eq!(loaded.diagnostics.len(), 0, "{:?}", loaded.diagnostics);
}
