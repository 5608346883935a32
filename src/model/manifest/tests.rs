//! Whole texts through the loader.

use super::*;

/// The problems of a text, one line each: place, what is wrong, help.
fn problems(text: &str) -> Vec<String> {
    let (_, _, diagnostics) = load_text("x.yaml", text);
    diagnostics.iter().map(|diagnostic| format!("{diagnostic:?}")).collect()
}

fn labels(text: &str) -> Vec<String> {
    let (objects, _, diagnostics) = load_text("x.yaml", text);
    assert!(diagnostics.is_empty(), "{:?}", problems(text));
    objects.iter().map(|object| format!("{}:{} {}", object.source.line, object.source.column, object.object.label())).collect()
}

fn not_modelled(text: &str) -> Vec<String> {
    let (_, rows, _) = load_text("x.yaml", text);
    let row = |row: &NotModelled| format!("{} {} {} {} {}", row.line, row.object, row.path, row.value_excerpt, row.count);
    rows.iter().map(row).collect()
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n";

#[test]
fn documents_lists_and_json_become_objects_with_their_lines() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(labels(text), expected, "{text}");
    }
    check("", &[]);
    check(POD, &["1:1 Pod default/a"]);
    check(&format!("# comment\n---\n{POD}---\n\n{POD}  namespace: b\n"), &["3:1 Pod default/a", "9:1 Pod b/a"]);
    check("apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Node\n  metadata: {name: n}\n- apiVersion: policy/v1beta1\n  kind: PodDisruptionBudget\n  metadata:\n    name: p\n", &["4:1 Node n", "7:1 PodDisruptionBudget default/p"]);
    check("apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a}\n", &["4:1 Pod default/a"]);
    check("{apiVersion: v1, kind: Node, metadata: {name: n}}", &[]);
    check("kind: List\napiVersion: v1\nitems: [{kind: Node, apiVersion: v1, metadata: {name: n}}]", &["1:1 Node n"]);
    check(r#"{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}"#, &["1:1 Node n"]);
    check(
        "{\"apiVersion\":\"v1\",\"items\":[\n{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\"}},\n{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"m\"}}],\n\"kind\":\"List\"}\n",
        &["2:1 Node n", "3:1 Node m"],
    );
    check(
        r#"{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","namespace":"b"}}]}"#,
        &["1:1 Pod b/a"],
    );
}
