//! `metrics.k8s.io`, for `kubectl top`: what pods are said to use.
//!
//! # Differs
//! A pod of a workload on which the scenario puts a load uses its part of that; any other what its annotation says, and if it says
//! nothing, what it requests.

use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use super::session::Session;
use crate::arena::Symbol;
use crate::model::LabelSelector;
use crate::rest::{Path, Status};
use crate::state::{NodeId, Pod, PodId, PodPhase, Status as Verdict, Store, WorkloadId};
use crate::units::{Quantity, QuantityFormat};

/// CPU in thousandths, and bytes of memory.
#[derive(Copy, Clone, Debug, Default)]
struct Use {
    cpu_milli: i64,
    memory: i64,
}

/// What pods of workloads under a load use of the CPU, in thousandths.
type Loaded = FxHashMap<PodId, i64>;

/// What the pod requests of the CPU, in thousandths.
fn requested(pod: &Pod) -> i64 {
    let cpu = Symbol::new("cpu");
    if let Some(amount) = pod.spec.resources.as_ref().and_then(|whole| whole.requests.get(cpu)) {
        return amount.milli_value();
    }
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar());
    let containers = pod.spec.containers.iter().chain(sidecars);
    containers.filter_map(|container| container.resources.requests.get(cpu)).map(|amount| amount.milli_value()).sum()
}

fn selector(workload: WorkloadId, store: &Store) -> Option<&LabelSelector> {
    match workload {
        WorkloadId::Deployment(id) => store.deployments.get(id)?.spec.selector.as_ref(),
        WorkloadId::ReplicaSet(id) => store.replica_sets.get(id)?.spec.selector.as_ref(),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id)?.spec.selector.as_ref(),
        WorkloadId::DaemonSet(_) | WorkloadId::Job(_) | WorkloadId::CronJob(_) => None,
    }
}

impl Use {
    fn of(id: PodId, pod: &Pod, loaded: &Loaded) -> Self {
        let behavior = pod.spec.behavior();
        let stated = behavior.usage.as_ref();
        let requests = &pod.spec.requests;
        let cpu = loaded.get(&id).copied().or_else(|| Some(stated?.cpu?.milli_value()));
        let memory = stated.and_then(|usage| usage.memory).map(|memory| memory.value());
        Self { cpu_milli: cpu.unwrap_or(requests.cpu_milli), memory: memory.unwrap_or(requests.memory) }
    }

    fn to_value(self) -> Value {
        let memory = Quantity::from_value(self.memory).with_format(QuantityFormat::BinarySi);
        json!({"cpu": Quantity::from_milli(self.cpu_milli).to_string(), "memory": memory.to_string()})
    }
}

impl Session {
    /// What the loads of the scenario make of pods: Ready ones share a load alike, others carry nothing. Horizontal pod autoscalers see
    /// the same.
    fn loaded(&self) -> Loaded {
        let (store, now) = (self.run.store(), self.run.now());
        let mut loaded = Loaded::default();
        for load in self.run.loads().iter() {
            let workload = store.find_workload(load.kind, load.namespace, load.name);
            let Some(selector) = workload.and_then(|workload| selector(workload, store)) else { continue };
            let pods = store.pods_in(load.namespace).iter().filter_map(|id| Some((*id, store.pod(*id)?)));
            let pods: Vec<(PodId, &Pod)> = pods.filter(|(_, pod)| selector.matches(&pod.labels)).collect();
            let carries = |pod: &Pod| {
                let is_ready = pod.ready.is_some_and(|ready| ready.status == Verdict::True);
                is_ready && pod.deletion.is_none() && pod.phase != PodPhase::Failed
            };
            let count = pods.iter().filter(|(_, pod)| carries(pod)).count();
            let part = if count == 0 { 0.0 } else { load.curve.at(now) / load.per_replica / count as f64 };
            let used = |pod: &Pod| if carries(pod) { (part * requested(pod) as f64) as i64 } else { 0 };
            loaded.extend(pods.iter().map(|(id, pod)| (*id, used(pod))));
        }
        loaded
    }

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
        let loaded = self.loaded();
        let mut by_node: FxHashMap<NodeId, Use> = FxHashMap::default();
        for (id, pod) in store.pods().filter(|(_, pod)| pod.phase == PodPhase::Running) {
            let Some(node) = pod.node else { continue };
            let (used, of) = (by_node.entry(node).or_default(), Use::of(id, pod, &loaded));
            used.cpu_milli += of.cpu_milli;
            used.memory += of.memory;
        }
        let mut found: Vec<(Symbol, Value)> = store
            .nodes()
            .filter(|(_, node)| labels.is_none_or(|selector| selector.matches(&node.labels)))
            .map(|(id, node)| {
                let used = by_node.get(&id).copied().unwrap_or_default();
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
        let loaded = self.loaded();
        let pods = self.run.store().pods().filter(|(_, pod)| pod.phase == PodPhase::Running);
        let here = pods.filter(|(_, pod)| namespace.is_none_or(|own| pod.namespace == own));
        let chosen = here.filter(|(_, pod)| labels.is_none_or(|selector| selector.matches(&pod.labels)));
        let mut found: Vec<(Symbol, &str, Value)> = chosen
            .map(|(id, pod)| {
                // What is said of a pod is said of its first container.
                let mut used = Use::of(id, pod, &loaded).to_value();
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
