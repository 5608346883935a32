//! OpenAPI v3, as far as clients need it: which parameters a write takes, and what the fields of a kind are.
//!
//! # Differs
//! There are no descriptions but of faults, and no validation of custom resources.

use serde_json::{Map, Value, json};

use super::discovery;
use crate::chaos::FaultKind;
use crate::model::api_fields;
use crate::rest::{FAULT_GROUP, FAULT_VERSION, Resource, all_resources};
use crate::state::Store;

/// The document of a path; none if it is another's.
pub(super) fn document(path: &str, store: &Store) -> Option<Value> {
    let rest = path.strip_prefix("/openapi/v3")?;
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
    match parts.as_slice() {
        [] => Some(index(store)),
        ["api", version] => of_group("", version, store),
        ["apis", group, version] => of_group(group, version, store),
        _ => None,
    }
}

fn index(store: &Store) -> Value {
    let mut paths = Map::new();
    for (group, versions) in discovery::versions(store) {
        for version in versions {
            let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
            let url = format!("/openapi/v3/{path}");
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

fn of_group(group: &str, version: &str, store: &Store) -> Option<Value> {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    let own =
        all_resources(store).into_iter().filter(|of| (of.group.as_str(), of.version.as_str()) == (group, version));
    for resource in own {
        let base = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        let place = if resource.is_namespaced { format!("{base}/namespaces/{{namespace}}") } else { base };
        let gvk = json!({"group": group, "version": version, "kind": resource.kind_name});
        let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation", "force"]
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}}))
            .collect();
        let operation = |action: &str| json!({"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk, "parameters": parameters, "responses": {}});
        paths.insert(
            format!("{place}/{}", resource.plural),
            json!({"get": operation("list"), "post": operation("post")}),
        );
        paths.insert(
            format!("{place}/{}/{{name}}", resource.plural),
            json!({
                "get": operation("get"), "put": operation("put"), "patch": operation("patch"),
                "delete": operation("delete"),
            }),
        );
        describe(&resource, &gvk, &mut schemas);
    }
    (!paths.is_empty() || matches!(group, "authorization.k8s.io" | "authentication.k8s.io" | "metrics.k8s.io")).then(
        || {
            json!({
                "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "unversioned"}, "paths": paths,
                "components": {"schemas": schemas},
            })
        },
    )
}

fn describe(resource: &Resource, gvk: &Value, schemas: &mut Map<String, Value>) {
    let name = format!(
        "{}.{}.{}",
        if resource.group.is_empty() { "core" } else { &resource.group },
        resource.version,
        resource.kind_name
    );
    let mut schema = if resource.is_fault() {
        fault()
    } else if api_fields::has_kind(&resource.api_version(), &resource.kind_name) {
        of_type(&resource.kind_name, schemas)
    } else {
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
    };
    schema["x-kubernetes-group-version-kind"] = json!([gvk]);
    schemas.insert(name, schema);
}

/// A type of the API by its name, and those that its fields have.
fn of_type(name: &str, schemas: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for (field, of) in api_fields::fields_of(name) {
        properties.insert(field.to_owned(), of_field(of, schemas));
    }
    json!({"type": "object", "properties": properties})
}

fn of_field(of: &'static str, schemas: &mut Map<String, Value>) -> Value {
    if let Some(items) = of.strip_prefix("[]") {
        return json!({"type": "array", "items": of_field(items, schemas)});
    }
    if let Some(values) = of.strip_prefix("{}") {
        return json!({"type": "object", "additionalProperties": of_field(values, schemas)});
    }
    match of {
        "s" => json!({"type": "string"}),
        "y" => json!({"type": "string", "format": "byte"}),
        "t" => json!({"type": "string", "format": "date-time"}),
        "b" => json!({"type": "boolean"}),
        "i" => json!({"type": "integer", "format": "int32"}),
        "l" => json!({"type": "integer", "format": "int64"}),
        "n" => json!({"type": "number"}),
        "q" => json!({"type": "string", "format": "quantity"}),
        "x" => json!({"type": "string", "format": "int-or-string"}),
        "o" => json!({"type": "object"}),
        name => {
            let key = format!("types.{name}");
            if !schemas.contains_key(&key) {
                // Types may hold themselves.
                schemas.insert(key.clone(), json!({}));
                let schema = of_type(name, schemas);
                schemas.insert(key.clone(), schema);
            }
            json!({"allOf": [{"$ref": format!("#/components/schemas/{key}")}]})
        }
    }
}

/// What `kubectl explain fault` reads.
fn fault() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let kinds: Vec<String> = FaultKind::ALL.iter().map(|kind| format!("{}: {}", kind.as_str(), kind.about())).collect();
    let mut spec = Map::new();
    spec.insert("kind".to_owned(), text(&format!("What goes wrong. One of\n{}", kinds.join("\n"))));
    spec.insert("for".to_owned(), text("For how long, such as 10m; without it, until the fault is deleted."));
    let list = json!({"type": "array", "items": {"type": "string"}});
    let nodes = json!({
        "names": list, "zone": text("Nodes of this zone."), "pool": text("Nodes of this pool."),
        "selector": {"type": "object", "description": "Nodes that this label selector chooses."},
        "count": {"type": "integer", "description": "So many of them, drawn."},
        "fraction": {"type": "number", "description": "Such a part of them, drawn."},
    });
    let about = "Which nodes; without it, all.";
    spec.insert("nodes".to_owned(), json!({"type": "object", "properties": nodes, "description": about}));
    for kind in FaultKind::ALL {
        for (field, about) in kind.described_fields() {
            let words = format!("Of {}: {about}", kind.as_str());
            match spec.get_mut(field) {
                Some(known) => {
                    let before = known["description"].as_str().unwrap_or_default().to_owned();
                    if !before.contains(&words) {
                        known["description"] = format!("{before}\n{words}").into();
                    }
                }
                None => {
                    let any = json!({"description": words, "x-kubernetes-preserve-unknown-fields": true});
                    spec.insert(field.to_owned(), any);
                }
            }
        }
    }
    let metadata = json!({"type": "object", "description": "Standard object's metadata."});
    let status = json!({
        "type": "object", "description": "Where it is.",
        "properties": {
            "phase": text("Active while it goes on, then Ended; Missed if there was nothing for it to hit."),
            "message": text("What it has hit, in words, or that there was nothing."), "targets": list, "beganAt": text("When it began."),
            "endsAt": text("When it ends, if it says for how long."),
        },
    });
    json!({
        "type": "object",
        "description": format!(
            "What breaks, from the instant in which it is applied until it has lasted for as long as it says, or is deleted. \
             The fields are those of `fault:` in the timeline of a scenario ({FAULT_GROUP}/{FAULT_VERSION})."
        ),
        "properties": {
            "apiVersion": text("The version of the API."), "kind": text("Fault"), "metadata": metadata,
            "spec": {"type": "object", "description": "What breaks.", "properties": spec}, "status": status,
        },
    })
}
