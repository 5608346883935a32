//! What configurations and templates of Kubernetes look like in documents, for editors.
//!
//! Kubernetes' own kinds are open: of these only what decides most is spelled out, and the rest is left to `check`.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::config::{Flag, FlagMap, KubeSchedulerConfiguration, KubeletConfiguration, KubernetesVersion};
use super::{Node, ResourceList};
use crate::units::Quantity;

impl JsonSchema for KubernetesVersion {
    fn schema_name() -> Cow<'static, str> {
        "KubernetesVersion".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let minors = || Self::OLDEST.minor()..=Self::NEWEST.minor();
        let words: Vec<String> = minors().map(|minor| minor.to_string()).collect();
        let numbers: Vec<Value> = minors().map(|minor| json!(1.0 + f64::from(minor) / 100.0)).collect();
        json_schema!({
            "description": format!("the version of the control plane: {} to {}", Self::OLDEST, Self::NEWEST),
            "anyOf": [
                {"type": "string", "pattern": format!(r"^v?1\.({})(\..*)?$", words.join("|"))},
                {"enum": numbers},
            ],
        })
    }
}

impl JsonSchema for FlagMap {
    fn schema_name() -> Cow<'static, str> {
        "Flags".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "additionalProperties": {"type": "string"}})
    }
}

/// The flags of a component; those without effect are accepted as well.
pub(crate) fn flags(component: &str, flags: &[Flag], without_effect: &[&str]) -> Schema {
    let known = flags.iter().map(|flag| (flag.name, json!({"type": "string", "description": flag.help.trim()})));
    let others =
        without_effect.iter().map(|name| (*name, json!({"type": "string", "description": "has no effect here"})));
    let properties: Map<String, Value> = known.chain(others).map(|(name, schema)| (name.to_owned(), schema)).collect();
    json_schema!({
        "description": format!("flags of {component}, without dashes"),
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

impl JsonSchema for KubeSchedulerConfiguration {
    fn schema_name() -> Cow<'static, str> {
        "KubeSchedulerConfiguration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a KubeSchedulerConfiguration of kubescheduler.config.k8s.io/v1, inline or as `{file: path}`",
            "type": "object",
        })
    }
}

impl JsonSchema for KubeletConfiguration {
    fn schema_name() -> Cow<'static, str> {
        "KubeletConfiguration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a KubeletConfiguration of kubelet.config.k8s.io/v1beta1; what is not said is as by default",
            "type": "object",
        })
    }
}

impl JsonSchema for ResourceList {
    fn schema_name() -> Cow<'static, str> {
        "ResourceList".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let amount = generator.subschema_for::<Quantity>();
        json_schema!({
            "description": "amounts by resource, such as `{cpu: \"8\", memory: 32Gi, pods: \"110\"}`",
            "type": "object",
            "additionalProperties": {"anyOf": [amount, {"type": "null"}]},
        })
    }
}

impl JsonSchema for Node {
    fn schema_name() -> Cow<'static, str> {
        "NodeTemplate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let resources = generator.subschema_for::<ResourceList>();
        let words =
            json!({"type": "object", "additionalProperties": {"anyOf": [{"type": "string"}, {"type": "null"}]}});
        let described = |mut schema: Value, about: &str| {
            schema["description"] = json!(about);
            schema
        };
        let metadata = json!({
            "type": "object",
            "properties": {
                "labels": described(words.clone(), "labels of each node"),
                "annotations": described(words, "annotations of each node"),
            },
        });
        let taint = json!({
            "type": "object",
            "properties": {
                "key": {"type": ["string", "null"]},
                "value": {"type": ["string", "null"]},
                "effect": {"enum": ["NoSchedule", "PreferNoSchedule", "NoExecute", "", null]},
            },
        });
        let spec = json!({
            "type": "object",
            "properties": {
                "unschedulable": {"type": ["boolean", "null"]},
                "taints": {"type": "array", "items": taint, "description": "taints of each node"},
            },
        });
        json_schema!({
            "description": "what each node looks like: a v1 Node",
            "type": "object",
            "properties": {
                "metadata": metadata,
                "spec": spec,
                "status": {"type": "object", "properties": {"allocatable": resources, "capacity": resources}},
            },
        })
    }
}
