//! Words that mean the same as their absence here, and that clients rely on.
//!
//! # Source
//! kube-apiserver, defaults of each version: an object that is read always has them. Clients made from the API's description refuse
//! objects without fields that it calls required.

use serde_json::{Map, Value, json};

/// Fills them in, all the way down.
pub(super) fn complete(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(complete),
        Value::Object(fields) => {
            of_lists(fields);
            if fields.contains_key("containers") {
                fields.entry("restartPolicy").or_insert_with(|| "Always".into());
            }
            if fields.contains_key("jobTemplate") {
                fields.entry("concurrencyPolicy").or_insert_with(|| "Allow".into());
            }
            if let Some(Value::Object(probe)) = fields.get_mut("grpc") {
                probe.entry("service").or_insert_with(|| "".into());
            }
            if let Some(Value::Object(info)) = fields.get_mut("nodeInfo") {
                for field in NODE_INFO {
                    info.entry(field).or_insert_with(|| "".into());
                }
            }
            // What somebody wrote in an annotation, or keeps as data, is his own.
            let walked = fields.iter_mut().filter(|(name, _)| !OPAQUE.contains(&name.as_str()));
            walked.for_each(|(_, value)| complete(value));
        }
        _ => {}
    }
}

const OPAQUE: [&str; 4] = ["metadata", "data", "binaryData", "parameters"];

const NODE_INFO: [&str; 10] = [
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
];

fn of_lists(fields: &mut Map<String, Value>) {
    let of_items = [
        ("taints", "effect", "NoSchedule"),
        ("topologySpreadConstraints", "whenUnsatisfiable", "DoNotSchedule"),
        ("matchExpressions", "operator", "In"),
        ("matchFields", "operator", "In"),
        ("ports", "protocol", "TCP"),
        ("containerStatuses", "imageID", ""),
        ("initContainerStatuses", "imageID", ""),
    ];
    for (list, field, word) in of_items {
        for item in fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if item.is_object() && item[field].is_null() {
                item[field] = json!(word);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_model_leaves_out_is_there() {
        let mut pod = json!({
            "metadata": {"annotations": {"taints": "x"}},
            "spec": {
                "containers": [{
                    "name": "a", "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                    "livenessProbe": {"grpc": {"port": 1}},
                }],
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}],
            },
        });
        complete(&mut pod);
        let expected = json!({
            "metadata": {"annotations": {"taints": "x"}},
            "spec": {
                "restartPolicy": "Always",
                "containers": [{
                    "name": "a", "ports": [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}],
                    "livenessProbe": {"grpc": {"port": 1, "service": ""}},
                }],
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
                ],
            },
        });
        assert_eq!(pod, expected);
    }
}
