//! Tables of the documents that are made from lists of the code. `UPDATE=1` writes them anew.

use std::fs;
use std::path::Path;

use kubesquall::component::Latencies;
use kubesquall::model::config::{
    ClusterAutoscaler, Flag, FlagMap, KubeApiserver, KubeControllerManager, KubernetesVersion,
};
use serde_json::Value;

use super::expected;
use super::figures::with_part;

/// A distribution as a scenario writes it.
fn written(distribution: &Value) -> String {
    let (name, value) = distribution.as_object().and_then(|fields| fields.iter().next()).expect("a distribution");
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let Some(fields) = value.as_object() else { return format!("`{}`", text(value)) };
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {}", text(value))).collect();
    format!("`{name}: {{{}}}`", fields.join(", "))
}

#[test]
fn the_latencies_of_the_docs_are_those_of_the_code() {
    let path = Path::new("docs/scenario.md");
    let text = fs::read_to_string(path).expect("the page");
    let defaults = serde_json::to_value(Latencies::default().written()).expect("plain data");
    let mut table = "| field | how long | if not said |\n|---|---|---|\n".to_owned();
    for (field, about) in Latencies::FIELDS {
        let default = defaults.get(field).map(written).unwrap_or_default();
        table.push_str(&format!("| `{field}` | {} | {default} |\n", about.trim()));
    }
    let found = with_part(&text, "latencies", table.trim_end());
    assert_eq!(expected::difference(path, &found), None);
}

#[test]
fn the_flags_of_the_docs_are_those_of_the_code() {
    let table = |flags: &[Flag], defaults: FlagMap| {
        let mut table = "| flag | default | what it does |\n|---|---|---|\n".to_owned();
        for (flag, (name, default)) in flags.iter().zip(defaults.0) {
            assert_eq!(name, flag.name);
            let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
            table.push_str(&format!("| `{name}` | {default} | {} |\n", flag.help.trim()));
        }
        table.trim_end().to_owned()
    };
    let version = KubernetesVersion::NEWEST;
    let tables = [
        ("kube-apiserver", table(KubeApiserver::FLAGS, KubeApiserver::defaults(version).to_flags())),
        (
            "kube-controller-manager",
            table(KubeControllerManager::FLAGS, KubeControllerManager::defaults(version).to_flags()),
        ),
        ("cluster-autoscaler", table(ClusterAutoscaler::FLAGS, ClusterAutoscaler::defaults(version).to_flags())),
    ];
    let path = Path::new("docs/flags.md");
    let text = fs::read_to_string(path).expect("the page");
    let found = tables.iter().fold(text, |text, (component, table)| with_part(&text, component, table));
    assert_eq!(expected::difference(path, &found), None);
}
