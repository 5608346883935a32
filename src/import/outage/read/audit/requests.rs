//! Which changes by people and tools are told, and with which bodies.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::account::Account;
use super::line::Call;

/// Bytes of a body that is kept.
const BODY_MAX: usize = 64 << 10;
/// Bytes of all bodies of a record: operators that write without end shall not fill the memory.
const BODIES_MAX: usize = 64 << 20;

/// Resources whose changes a play can be told of, or that explain one. Never ConfigMaps and Secrets.
const RESOURCES: [&str; 17] = [
    "cronjobs",
    "daemonsets",
    "deployments",
    "horizontalpodautoscalers",
    "jobs",
    "limitranges",
    "namespaces",
    "nodes",
    "persistentvolumeclaims",
    "poddisruptionbudgets",
    "pods",
    "priorityclasses",
    "replicasets",
    "replicationcontrollers",
    "resourcequotas",
    "runtimeclasses",
    "statefulsets",
];

/// Whether a request is of a kind that is told.
pub(super) fn is_kept(call: &Call<'_>) -> bool {
    RESOURCES.contains(&call.resource) && matches!(call.subresource, "" | "eviction" | "resize" | "rollback" | "scale")
}

/// Bodies of requests.
#[derive(Debug, Default)]
pub(super) struct Bodies {
    kept: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Parts {
    spec: Option<IgnoredAny>,
    metadata: Option<MetadataParts>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct MetadataParts {
    labels: Option<IgnoredAny>,
    owner_references: Option<IgnoredAny>,
    finalizers: Option<IgnoredAny>,
    deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Replicas {
    spec: Option<ReplicasSpec>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ReplicasSpec {
    replicas: Option<i64>,
}

impl Bodies {
    /// Whether a request changes more than annotations, which programs write without end to nodes and pods.
    #[expect(clippy::unused_self, reason = "its sisters need it")]
    pub(super) fn is_change(&self, call: &Call<'_>, account: Account<'_>) -> bool {
        let is_of_notes = account == Account::Tool && call.verb == "patch" && matches!(call.resource, "nodes" | "pods");
        let Some(body) = call.request.filter(|_| is_of_notes && call.subresource.is_empty()) else { return true };
        let Ok(parts) = serde_json::from_str::<Parts>(body.get()) else { return true };
        let metadata = parts.metadata.unwrap_or_default();
        let has_metadata = metadata.labels.is_some()
            || metadata.owner_references.is_some()
            || metadata.finalizers.is_some()
            || metadata.deletion_timestamp.is_some();
        parts.spec.is_some() || has_metadata
    }

    /// The body as compact JSON, unless it is too large.
    pub(super) fn keep(&mut self, call: &Call<'_>) -> Option<Box<str>> {
        let body = call.request?.get();
        let is_compact = !body.contains('\n');
        let body = match is_compact {
            true => body.to_owned(),
            false => serde_json::from_str::<Value>(body).ok()?.to_string(),
        };
        if body == "null" || body.len() > BODY_MAX || self.kept + body.len() > BODIES_MAX {
            return None;
        }
        self.kept += body.len();
        Some(body.into())
    }

    /// The number of replicas that a change of the subresource `scale` asks for.
    pub(super) fn replicas(call: &Call<'_>) -> Option<i64> {
        let body: Replicas = serde_json::from_str(call.request?.get()).ok()?;
        body.spec?.replicas
    }
}
