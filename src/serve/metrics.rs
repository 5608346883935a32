//! `metrics.k8s.io`, for `kubectl top`: what pods are said to use.
//!
//! # Differs
//! A pod uses what its annotation says, and if it says nothing, what it requests.

use serde_json::{Value, json};

use super::session::Session;
use crate::arena::Symbol;
use crate::model::LabelSelector;
use crate::rest::{Path, Status};
use crate::state::{Pod, PodPhase};
use crate::units::{Quantity, QuantityFormat};

/// CPU in thousandths, and bytes of memory.
#[derive(Copy, Clone, Debug, Default)]
struct Use {
    cpu_milli: i64,
    memory: i64,
}

impl Use {
    fn of(pod: &Pod) -> Self {
        let behavior = pod.spec.behavior();
        let stated = behavior.usage.as_ref();
        let requests = &pod.spec.requests;
        let cpu = stated.and_then(|usage| usage.cpu).map(|cpu| cpu.milli_value());
        let memory = stated.and_then(|usage| usage.memory).map(|memory| memory.value());
        Self { cpu_milli: cpu.unwrap_or(requests.cpu_milli), memory: memory.unwrap_or(requests.memory) }
    }

    fn to_value(self) -> Value {
        let memory = Quantity::from_value(self.memory).with_format(QuantityFormat::BinarySi);
        json!({"cpu": Quantity::from_milli(self.cpu_milli).to_string(), "memory": memory.to_string()})
    }
}

impl Session {
    /// Answers a GET of the group.
    pub(super) fn metrics(&self, path: &Path) -> Result<Value, Box<Status>> {
        let rest: Vec<&str> = path.rest.iter().map(String::as_str).collect();
        let labels = path.parameter("labelSelector").filter(|text| !text.is_empty()).map(LabelSelector::parse);
        let labels = labels.transpose();
        let labels =
            labels.map_err(|error| Box::new(Status::bad_request(format!("unable to parse requirement: {error}"))))?;
        match rest.as_slice() {
            ["nodes"] => Ok(list("NodeMetricsList", self.nodes(labels.as_ref()))),
            ["nodes", name] => {
                let found = self.nodes(None).into_iter().find(|of| of["metadata"]["name"] == **name);
                found.ok_or_else(|| Box::new(Status::not_found("nodes", "metrics.k8s.io", name)))
            }
            ["pods"] => Ok(list("PodMetricsList", self.pods(None, labels.as_ref()))),
            ["namespaces", namespace, "pods"] => {
                Ok(list("PodMetricsList", self.pods(Some(namespace), labels.as_ref())))
            }
            ["namespaces", namespace, "pods", name] => {
                let found = self.pods(Some(namespace), None).into_iter().find(|of| of["metadata"]["name"] == **name);
                found.ok_or_else(|| Box::new(Status::not_found("pods", "metrics.k8s.io", name)))
            }
            _ => Err(Box::new(Status::no_such_path())),
        }
    }

    fn nodes(&self, labels: Option<&LabelSelector>) -> Vec<Value> {
        let store = self.run.store();
        let stamp = self.clock().stamp(self.run.now());
        let mut found: Vec<(Symbol, Value)> = store
            .nodes()
            .filter(|(_, node)| labels.is_none_or(|selector| selector.matches(&node.labels)))
            .map(|(id, node)| {
                let mut used = Use::default();
                for (_, pod) in store.pods().filter(|(_, pod)| pod.node == Some(id) && pod.phase == PodPhase::Running) {
                    let of = Use::of(pod);
                    used.cpu_milli += of.cpu_milli;
                    used.memory += of.memory;
                }
                let name = store.node_name(id);
                let metadata = json!({"name": name, "creationTimestamp": stamp, "labels": node.labels});
                (name, of("NodeMetrics", metadata, &stamp, json!({"usage": used.to_value()})))
            })
            .collect();
        found.sort_by_key(|(name, _)| *name);
        found.into_iter().map(|(_, value)| value).collect()
    }

    fn pods(&self, namespace: Option<&str>, labels: Option<&LabelSelector>) -> Vec<Value> {
        let stamp = self.clock().stamp(self.run.now());
        let pods = self.run.store().pods().map(|(_, pod)| pod).filter(|pod| pod.phase == PodPhase::Running);
        let here = pods.filter(|pod| namespace.is_none_or(|own| pod.namespace == own));
        let chosen = here.filter(|pod| labels.is_none_or(|selector| selector.matches(&pod.labels)));
        let mut found: Vec<(Symbol, &str, Value)> = chosen
            .map(|pod| {
                // What is said of a pod is said of its first container.
                let mut used = Use::of(pod).to_value();
                let containers: Vec<Value> = pod
                    .spec
                    .spec
                    .containers
                    .iter()
                    .map(|container| {
                        let own = std::mem::replace(&mut used, Use::default().to_value());
                        json!({"name": container.name, "usage": own})
                    })
                    .collect();
                let metadata = json!({
                    "name": *pod.name, "namespace": pod.namespace, "creationTimestamp": stamp, "labels": pod.labels,
                });
                (pod.namespace, &*pod.name, of("PodMetrics", metadata, &stamp, json!({"containers": containers})))
            })
            .collect();
        found.sort_by_key(|(namespace, name, _)| (*namespace, *name));
        found.into_iter().map(|(.., value)| value).collect()
    }
}

fn of(kind: &str, metadata: Value, stamp: &Value, mut value: Value) -> Value {
    value["kind"] = kind.into();
    value["apiVersion"] = "metrics.k8s.io/v1beta1".into();
    value["metadata"] = metadata;
    value["timestamp"] = stamp.clone();
    value["window"] = "10s".into();
    value
}

fn list(kind: &str, items: Vec<Value>) -> Value {
    json!({"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items})
}
