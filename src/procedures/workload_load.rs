//! Loads on workloads, and how they are followed, as a scenario writes them.

use serde::{Deserialize, Serialize};

use crate::arena::Symbol;
use crate::component::LoadPoint;
use crate::model;
use crate::model::ObjectKind;

/// A workload that follows its load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HorizontalPodAutoscalerSpec {
    /// Which workload: `deployment/<namespace>/<name>`.
    pub target: String,
    /// The fewest replicas; one, if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// The most replicas; none if an object of the manifests, or a line of the timeline, says how the load is followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_replicas: Option<i32>,
    /// `averageUtilization`: the percentage of what a pod requests that it is to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_utilization: Option<u32>,
    /// The load under which a pod uses what it requests.
    pub per_replica: f64,
    /// The load over time.
    pub load: Vec<LoadPoint>,
}

impl HorizontalPodAutoscalerSpec {
    /// Kind, namespace and name of the target.
    #[must_use]
    pub fn target_parts(&self) -> Option<(ObjectKind, Symbol, Symbol)> {
        let mut parts = self.target.split('/');
        let (kind, namespace, name) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = match kind {
            "deployment" => ObjectKind::Deployment,
            "statefulset" => ObjectKind::StatefulSet,
            "replicaset" => ObjectKind::ReplicaSet,
            _ => return None,
        };
        parts.next().is_none().then(|| (kind, Symbol::new(namespace), Symbol::new(name)))
    }

    /// The object that follows the load; none if another one does.
    #[must_use]
    pub fn object(&self) -> Option<model::HorizontalPodAutoscaler> {
        let (kind, namespace, name) = self.target_parts()?;
        let mut object = model::HorizontalPodAutoscaler::default();
        object.metadata.namespace = namespace;
        object.metadata.name = name;
        let api_version = Symbol::new("apps/v1");
        object.spec.scale_target_ref =
            model::ObjectReference { api_version, kind: Symbol::new(kind.as_str()), name, ..Default::default() };
        object.spec.min_replicas = Some(self.min_replicas.unwrap_or(1));
        object.spec.max_replicas = self.max_replicas?;
        let percent = i32::try_from(self.target_utilization?).unwrap_or(i32::MAX);
        object.spec.metrics.push(model::MetricSpec::cpu_utilization(percent));
        Some(object)
    }
}
