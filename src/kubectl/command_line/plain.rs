//! What `create` makes of flags for kinds that decide nothing: configuration and permissions.
//!
//! # Source
//! kubectl, `create configmap`, `create role`, `create rolebinding` and their cluster-wide siblings.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::flags::Arguments;
use super::stop::Stop;
use crate::kubectl::resource::Kind;

/// The data of a ConfigMap. Files are not read: what is in them stands as where it is from.
pub(in crate::kubectl) fn config_map(arguments: &Arguments) -> Result<Value, Stop> {
    let mut data = Map::new();
    let mut add = |key: &str, value: String| match data.insert(key.to_owned(), json!(value)) {
        Some(_) => {
            Err(Stop::error(format!("cannot add key \"{key}\", another key by that name already exists in Data")))
        }
        None => Ok(()),
    };
    for literal in arguments.texts("from-literal") {
        let Some((key, value)) = literal.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Stop::error(format!("invalid literal source {literal}, expected key=value")));
        };
        let quotes = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        add(key, quotes('"').or(quotes('\'')).unwrap_or(value).to_owned())?;
    }
    for source in arguments.texts("from-file").chain(arguments.texts("from-env-file")) {
        let last = source.rsplit('/').next().unwrap_or(source);
        let (key, path) = source.split_once('=').unwrap_or((last, source));
        add(key, format!("(what {path} holds)"))?;
    }
    Ok(if data.is_empty() { json!({}) } else { json!({"data": data}) })
}

/// All values of a flag that takes several, by commas or by being repeated; each once.
fn several(arguments: &Arguments, flag: &'static str) -> Vec<String> {
    let mut values = Vec::new();
    for value in arguments.texts(flag).flat_map(|text| text.split(',')).map(str::trim) {
        if !value.is_empty() && !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }
    values
}

/// The rules of a Role or ClusterRole: one for each API group.
pub(in crate::kubectl) fn rules(arguments: &Arguments) -> Result<Value, Stop> {
    let mut verbs = several(arguments, "verb");
    if verbs.iter().any(|verb| verb == "*") {
        verbs = vec!["*".to_owned()];
    }
    if arguments.has("aggregation-rule") {
        let labels = arguments.texts("aggregation-rule").flat_map(|text| text.split(','));
        let labels: Map<String, Value> =
            labels.filter_map(|pair| pair.split_once('=')).map(|(key, value)| (key.to_owned(), json!(value))).collect();
        return Ok(json!({"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": labels}]}, "rules": []}));
    }
    if verbs.is_empty() {
        return Err(Stop::error("at least one verb must be specified"));
    }
    let (resources, urls) = (several(arguments, "resource"), several(arguments, "non-resource-url"));
    if resources.is_empty() && urls.is_empty() {
        return Err(Stop::error("at least one resource must be specified"));
    }
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for resource in resources {
        let (word, sub) = resource.split_once('/').map_or((resource.as_str(), None), |(word, sub)| (word, Some(sub)));
        let (plural, group) = match word {
            "*" => ("*", "*"),
            word => {
                let full = Kind::parse(word).resource();
                full.split_once('.').unwrap_or((full, ""))
            }
        };
        let name = sub.map_or_else(|| plural.to_owned(), |sub| format!("{plural}/{sub}"));
        match groups.iter_mut().find(|(known, _)| known == group) {
            Some((_, names)) => names.push(name),
            None => groups.push((group.to_owned(), vec![name])),
        }
    }
    let names = several(arguments, "resource-name");
    let mut rules = Vec::new();
    for (group, resources) in groups {
        let mut rule = json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
        if !names.is_empty() {
            rule["resourceNames"] = json!(names);
        }
        rules.push(rule);
    }
    if !urls.is_empty() {
        rules.push(json!({"nonResourceURLs": urls, "verbs": verbs}));
    }
    Ok(json!({"rules": rules}))
}

/// Who may do what: a RoleBinding or ClusterRoleBinding.
pub(in crate::kubectl) fn binding(arguments: &Arguments) -> Result<Value, Stop> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let given = |flag| arguments.text(flag).filter(|text| !text.is_empty());
    let (kind, name) = match (given("clusterrole"), given("role")) {
        (Some(name), None) => ("ClusterRole", name),
        (None, Some(name)) => ("Role", name),
        _ if arguments.path == "create clusterrolebinding" => {
            return Err(Stop::error("clusterrole must be specified"));
        }
        _ => return Err(Stop::error("exactly one of clusterrole or role must be specified")),
    };
    let of = |kind: &str, names: Vec<String>| -> Vec<Value> {
        names.iter().map(|name| json!({"apiGroup": GROUP, "kind": kind, "name": name})).collect()
    };
    let mut subjects = of("User", several(arguments, "user"));
    subjects.extend(of("Group", several(arguments, "group")));
    for account in several(arguments, "serviceaccount") {
        let Some((namespace, name)) = account.split_once(':').filter(|(n, name)| !n.is_empty() && !name.is_empty())
        else {
            return Err(Stop::error("serviceaccount must be <namespace>:<name>"));
        };
        subjects.push(json!({"kind": "ServiceAccount", "name": name, "namespace": namespace}));
    }
    let mut fields: BTreeMap<&str, Value> = BTreeMap::new();
    fields.insert("roleRef", json!({"apiGroup": GROUP, "kind": kind, "name": name}));
    if !subjects.is_empty() {
        fields.insert("subjects", json!(subjects));
    }
    Ok(json!(fields))
}
