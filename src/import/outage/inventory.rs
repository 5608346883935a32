//! What the cluster file knows: which nodes and pods there are, and what belongs together.

use std::collections::{BTreeMap, BTreeSet};

use crate::arena::Symbol;
use crate::evidence::{Instant, PodName};
use crate::model::{LabelSelector, Labels, ManifestObject, Node, Object, Pod, zone_of};
use crate::units::SimDuration;

/// The grace of the node lifecycle controller from Kubernetes 1.32 on, and before.
///
/// # Source
/// kube-controller-manager, `--node-monitor-grace-period`.
const GRACE: SimDuration = SimDuration::from_secs(50);
const GRACE_BEFORE_1_32: SimDuration = SimDuration::from_secs(40);

/// A machine of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) labels: Labels,
    pub(super) created: Option<Instant>,
}

/// A pod of the cluster.
#[derive(Clone, Debug)]
pub(super) struct KnownPod {
    pub(super) node: Option<Symbol>,
    pub(super) owner: Option<(Symbol, Symbol)>,
    pub(super) created: Option<Instant>,
}

/// Kind and name.
pub(super) type Owner = (Symbol, Symbol);

/// Nodes, pods and workloads by name.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    pub(super) nodes: BTreeMap<Symbol, Machine>,
    pub(super) pods: BTreeMap<PodName, KnownPod>,
    /// By namespace and name: the kinds that there are of that name.
    workloads: BTreeMap<(Symbol, Symbol), Vec<Symbol>>,
    /// By namespace and name of a ReplicaSet: its Deployment.
    deployments: BTreeMap<(Symbol, Symbol), Symbol>,
    /// By namespace and name of a ReplicaSet: when it was made.
    replica_sets: BTreeMap<(Symbol, Symbol), Instant>,
    /// By namespace, kind and name of a workload: its selector, as kubectl writes it.
    selectors: BTreeMap<(Symbol, Symbol, Symbol), String>,
    /// By namespace, kind and name: workloads whose replicas an autoscaler sets.
    pub(super) autoscaled: BTreeSet<(Symbol, Symbol, Symbol)>,
    /// By id of an instance: its node.
    machines: BTreeMap<Symbol, Symbol>,
    /// The minor version of the newest kubelet.
    pub(super) minor: Option<u32>,
    /// The latest time stamp of all: when the cluster was saved, or shortly before.
    pub(super) saved: Option<Instant>,
}

impl Inventory {
    pub(super) fn of(objects: &[ManifestObject]) -> Self {
        let mut inventory = Self::default();
        for object in objects {
            inventory.add(&object.object);
        }
        inventory
    }

    fn add(&mut self, object: &Object) {
        let metadata = object.metadata();
        self.stamped(metadata.creation_timestamp);
        let (namespace, name) = (metadata.namespace, metadata.name);
        match object {
            Object::Node(node) => self.add_node(node),
            Object::Pod(pod) => self.add_pod(pod),
            Object::HorizontalPodAutoscaler(autoscaler) => {
                let target = &autoscaler.spec.scale_target_ref;
                self.autoscaled.insert((namespace, target.kind, target.name));
            }
            Object::ReplicaSet(set) => {
                if let Some(owner) = metadata.controller() {
                    self.deployments.insert((namespace, name), owner.name);
                }
                let created = metadata.creation_timestamp.and_then(|stamp| Instant::parse(stamp.as_str()));
                self.replica_sets.extend(created.map(|created| ((namespace, name), created)));
                self.add_workload(object, set.spec.selector.as_ref());
            }
            Object::Deployment(deployment) => self.add_workload(object, deployment.spec.selector.as_ref()),
            Object::StatefulSet(set) => self.add_workload(object, set.spec.selector.as_ref()),
            Object::DaemonSet(set) => self.add_workload(object, set.spec.selector.as_ref()),
            Object::Job(_) => self.add_workload(object, None),
            _ => {}
        }
    }

    fn add_workload(&mut self, object: &Object, selector: Option<&LabelSelector>) {
        let (metadata, kind) = (object.metadata(), Symbol::new(object.kind().as_str()));
        self.workloads.entry((metadata.namespace, metadata.name)).or_default().push(kind);
        if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
            self.selectors.insert((metadata.namespace, kind, metadata.name), selector.to_string());
        }
    }

    fn add_node(&mut self, node: &Node) {
        let name = node.metadata.name;
        for condition in &node.status.conditions {
            self.stamped(condition.last_heartbeat_time);
            self.stamped(condition.last_transition_time);
        }
        if let Some(id) = node.spec.provider_id {
            let tail = id.as_str().rsplit('/').next().unwrap_or_default();
            self.machines.insert(Symbol::new(tail), name);
            self.machines.insert(id, name);
        }
        if let Some(info) = &node.status.node_info {
            self.minor = self.minor.max(minor_of(info.kubelet_version.as_str()));
        }
        let created = node.metadata.creation_timestamp.and_then(|stamp| Instant::parse(stamp.as_str()));
        self.nodes.insert(name, Machine { labels: node.metadata.labels.clone(), created });
    }

    fn add_pod(&mut self, pod: &Pod) {
        pod.status.conditions.iter().for_each(|condition| self.stamped(condition.last_transition_time));
        self.stamped(pod.status.start_time);
        let metadata = &pod.metadata;
        let owner = metadata.controller();
        let known = KnownPod {
            node: pod.spec.node_name,
            owner: owner.map(|owner| (owner.kind, owner.name)),
            created: metadata.creation_timestamp.and_then(|stamp| Instant::parse(stamp.as_str())),
        };
        self.pods.insert(PodName { namespace: metadata.namespace, name: metadata.name }, known);
    }

    fn stamped(&mut self, stamp: Option<Symbol>) {
        self.saved = self.saved.max(stamp.and_then(|stamp| Instant::parse(stamp.as_str())));
    }

    /// The grace of the node lifecycle controller, by the version.
    pub(super) fn grace(&self) -> SimDuration {
        if self.minor.is_some_and(|minor| minor < 32) { GRACE_BEFORE_1_32 } else { GRACE }
    }

    /// The node of a cloud's machine: by the id of the instance, or by its name.
    pub(super) fn node_of_machine(&self, machine: Symbol) -> Option<Symbol> {
        self.machines.get(&machine).copied().or_else(|| self.nodes.contains_key(&machine).then_some(machine))
    }

    pub(super) fn zone(&self, node: Symbol) -> Option<Symbol> {
        self.nodes.get(&node).and_then(|machine| zone_of(&machine.labels))
    }

    /// Who owns a pod: as the cluster says it, else the workload of the namespace whose pods have such names.
    pub(super) fn owner_of(&self, pod: PodName) -> Option<Owner> {
        if let Some(known) = self.pods.get(&pod) {
            return known.owner;
        }
        let (stem, _) = pod.name.as_str().rsplit_once('-')?;
        let kinds = self.workloads.get(&(pod.namespace, Symbol::new(stem)));
        let named = |kind: &str| kinds.is_some_and(|kinds| kinds.iter().any(|known| known.as_str() == kind));
        for kind in ["StatefulSet", "ReplicaSet", "DaemonSet", "Job"] {
            if named(kind) {
                return Some((Symbol::new(kind), Symbol::new(stem)));
            }
        }
        // A ReplicaSet that a rollout has made meanwhile.
        let (deployment, _) = stem.rsplit_once('-')?;
        let kinds = self.workloads.get(&(pod.namespace, Symbol::new(deployment)))?;
        kinds.iter().any(|kind| kind.as_str() == "Deployment").then(|| (Symbol::new("ReplicaSet"), Symbol::new(stem)))
    }

    /// Whether a pod is of this cluster: it is in the file, or has the name of one that a workload of the file makes.
    pub(super) fn knows_pod(&self, pod: PodName) -> bool {
        self.pods.contains_key(&pod) || self.owner_of(pod).is_some()
    }

    /// The selector by which a play finds pods like this one, if this has another name there: one that its owner made meanwhile.
    pub(super) fn selector_in_play(&self, pod: PodName) -> Option<&str> {
        let (kind, name) = self.owner_of(pod)?;
        if self.pods.contains_key(&pod) || kind.as_str() == "StatefulSet" {
            return None;
        }
        let deployment = self.deployment_of(pod.namespace, name);
        let of_deployment = deployment.and_then(|name| self.selector(pod.namespace, (Symbol::new("Deployment"), name)));
        of_deployment.or_else(|| self.selector(pod.namespace, (kind, name)))
    }

    /// The Deployment of a ReplicaSet, by what the file says or by the name.
    pub(super) fn deployment_of(&self, namespace: Symbol, replica_set: Symbol) -> Option<Symbol> {
        if let Some(known) = self.deployments.get(&(namespace, replica_set)) {
            return Some(*known);
        }
        let (stem, _) = replica_set.as_str().rsplit_once('-')?;
        let stem = Symbol::new(stem);
        self.is_workload(namespace, "Deployment", stem).then_some(stem)
    }

    /// Whether a Deployment's ReplicaSet was there before an instant, as far as the file says: it may have been saved after the outage.
    pub(super) fn had_replica_set(&self, namespace: Symbol, name: Symbol, before: Instant) -> bool {
        let made_at = self.replica_sets.get(&(namespace, name));
        self.deployments.contains_key(&(namespace, name)) && made_at.is_none_or(|made_at| *made_at < before)
    }

    pub(super) fn is_workload(&self, namespace: Symbol, kind: &str, name: Symbol) -> bool {
        let kinds = self.workloads.get(&(namespace, name));
        kinds.is_some_and(|kinds| kinds.iter().any(|known| known.as_str() == kind))
    }

    /// The selector of an owner's pods.
    pub(super) fn selector(&self, namespace: Symbol, (kind, name): Owner) -> Option<&str> {
        self.selectors.get(&(namespace, kind, name)).map(String::as_str)
    }
}

/// The pool of a node called `<pool>-<number>`.
pub(super) fn pool_of(node: &str) -> Option<&str> {
    let (pool, number) = node.rsplit_once('-')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && !pool.is_empty()).then_some(pool)
}

/// The minor version in `v1.32.4-eks-1`.
fn minor_of(version: &str) -> Option<u32> {
    let mut parts = version.strip_prefix('v')?.split('.');
    let is_first = parts.next() == Some("1");
    let minor = parts.next().filter(|_| is_first)?;
    minor.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::manifest::load_text;

    #[test]
    fn owners_are_told_by_the_names_of_pods() {
        let text = r#"{"kind":"List","apiVersion":"v1","items":[
            {"kind":"Node","apiVersion":"v1","metadata":{"name":"a"},"spec":{"providerID":"aws:///eu-1a/i-07"},"status":{"nodeInfo":{"kubeletVersion":"v1.31.2-eks-1"}}},
            {"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"x"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}},
            {"kind":"StatefulSet","apiVersion":"apps/v1","metadata":{"name":"db","namespace":"x"},"spec":{"serviceName":"db","selector":{"matchLabels":{"app":"db"}},"template":{"metadata":{"labels":{"app":"db"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}]}"#;
        let inventory = Inventory::of(&load_text("c.json", text).objects);
        let owner = |name: &str| {
            let pod = PodName { namespace: Symbol::new("x"), name: Symbol::new(name) };
            inventory.owner_of(pod).map(|(kind, name)| format!("{kind}/{name}"))
        };
        assert_eq!(owner("web-5d8f-abcde").as_deref(), Some("ReplicaSet/web-5d8f"));
        assert_eq!(owner("db-2").as_deref(), Some("StatefulSet/db"));
        assert_eq!(owner("other-5d8f-abcde"), None);
        assert_eq!(inventory.grace(), SimDuration::from_secs(40));
        assert_eq!(inventory.node_of_machine(Symbol::new("i-07")), Some(Symbol::new("a")));
    }
}
