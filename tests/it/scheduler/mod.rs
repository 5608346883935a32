//! What kube-scheduler decides: small clusters, one decision each, with the values that its own tests expect.

mod affinity;
mod optional;
mod order;
mod placement;
mod preemption;
mod properties;
mod queue;
mod resources;
mod spread;

use std::collections::BTreeMap;

use kubesquall::scheduler::{Decision, Nomination, Scheduler};
use kubesquall::simulation::Prepared;
use kubesquall::state::Store;
use serde_json::{Value, json};

use super::plays;

/// A cluster in the making.
#[derive(Clone)]
pub(crate) struct Cluster {
    items: Vec<Value>,
    profile: Value,
    configuration: Value,
    version: &'static str,
}

/// A decision with names.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) pod: String,
    pub(crate) node: Option<String>,
    /// In the order in which they were found.
    pub(crate) feasible: Vec<String>,
    /// The first reason against each other node, and whether removing pods could not help.
    pub(crate) filtered: BTreeMap<String, (String, bool)>,
    /// By node and plugin, without the weight.
    scores: BTreeMap<(String, &'static str), i64>,
    pub(crate) message: String,
    pub(crate) nominated: Option<String>,
    pub(crate) victims: Vec<String>,
}

/// Weights of the default profile that are not 1.
fn weight(plugin: &str) -> i64 {
    match plugin {
        "TaintToleration" => 3,
        "NodeAffinity" | "PodTopologySpread" | "InterPodAffinity" => 2,
        _ => 1,
    }
}

impl Cluster {
    pub(crate) fn new() -> Self {
        let profile = json!({"schedulerName": "default-scheduler"});
        Self { items: Vec::new(), profile, configuration: json!({}), version: "1.36" }
    }

    pub(crate) fn version(mut self, version: &'static str) -> Self {
        self.version = version;
        self
    }

    /// The fields of the only profile.
    pub(crate) fn profile(mut self, fields: Value) -> Self {
        self.profile = fields;
        self
    }

    /// The fields of the configuration of kube-scheduler besides the profile.
    pub(crate) fn configuration(mut self, fields: Value) -> Self {
        self.configuration = fields;
        self
    }

    pub(crate) fn object(mut self, object: Value) -> Self {
        self.items.push(object);
        self
    }

    /// A node; `fields` may hold labels, creationTimestamp, taints, unschedulable, images and amounts.
    pub(crate) fn node(self, name: &str, fields: Value) -> Self {
        let Value::Object(mut fields) = fields else { panic!("fields of a node are a map") };
        let mut metadata = json!({"name": name});
        for field in ["labels", "creationTimestamp"] {
            if let Some(value) = fields.remove(field) {
                metadata[field] = value;
            }
        }
        let taints = fields.remove("taints").unwrap_or_else(|| json!([]));
        let unschedulable = fields.remove("unschedulable").unwrap_or(json!(false));
        let images = fields.remove("images").unwrap_or_else(|| json!([]));
        let mut allocatable = json!({"cpu": "100", "memory": "100Gi", "pods": "110"});
        for (name, amount) in fields {
            allocatable[name] = amount;
        }
        self.object(json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": metadata,
            "spec": {"taints": taints, "unschedulable": unschedulable},
            "status": {"allocatable": allocatable, "images": images, "conditions": [{"type": "Ready", "status": "True"}]},
        }))
    }

    /// A pod; `fields` may hold node, namespace, labels, owner, requests (of its one container), status, deletion, and fields of
    /// the spec.
    pub(crate) fn pod(self, name: &str, fields: Value) -> Self {
        let Value::Object(mut fields) = fields else { panic!("fields of a pod are a map") };
        let mut metadata = json!({"name": name, "labels": {}});
        metadata["namespace"] = fields.remove("namespace").unwrap_or(json!("default"));
        for field in
            ["labels", "ownerReferences", "deletionTimestamp", "deletionGracePeriodSeconds", "creationTimestamp"]
        {
            if let Some(value) = fields.remove(field) {
                metadata[field] = value;
            }
        }
        let requests = fields.remove("requests").unwrap_or_else(|| json!({}));
        // The API server wants limits of what cannot be overcommitted, equal to the requests.
        let mut resources = json!({"requests": requests});
        for (name, amount) in requests.as_object().expect("a map of requests") {
            if name.contains('/') || name.starts_with("hugepages-") {
                resources["limits"][name] = amount.clone();
            }
        }
        let mut spec = json!({"containers": [{"name": "c", "image": "app", "resources": resources}]});
        if let Some(node) = fields.remove("node") {
            spec["nodeName"] = node;
        }
        let status = fields.remove("status").unwrap_or_else(|| json!({"phase": "Pending"}));
        for (name, value) in fields {
            spec[name] = value;
        }
        self.object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}))
    }

    fn prepared(&self) -> Prepared {
        let mut configuration = self.configuration.clone();
        configuration["profiles"] = json!([self.profile]);
        let control_plane = json!({"kubernetesVersion": self.version, "kubeScheduler": configuration});
        let spec = json!({"duration": "1s", "controlPlane": control_plane});
        Prepared::unsettled(&plays::scenario_with(&json!(self.items), &spec))
    }

    /// The decisions about all pending pods, in the order of the queue.
    pub(crate) fn decisions(&self) -> Vec<Shown> {
        let prepared = self.prepared();
        let store = prepared.store();
        let pods = Scheduler::queue_order(store);
        let decisions = Scheduler::decide(prepared.snapshot(), &pods);
        pods.iter()
            .zip(decisions)
            .map(|(&pod, decision)| {
                let name = store.pod(pod).expect("a pod").name.to_string();
                show(store, name, decision.expect("a decision"))
            })
            .collect()
    }

    /// The decision about one of the pending pods, as if it were the first.
    pub(crate) fn decision_of(&self, name: &str) -> Shown {
        let prepared = self.prepared();
        let store = prepared.store();
        let mut pods = Scheduler::queue_order(store);
        pods.retain(|&pod| store.pod(pod).is_some_and(|pod| &*pod.name == name));
        let mut decisions = Scheduler::decide(prepared.snapshot(), &pods);
        show(store, name.to_owned(), decisions.next().flatten().expect("a decision"))
    }

    /// The decision about the only pending pod.
    #[track_caller]
    pub(crate) fn decision(&self) -> Shown {
        let mut all = self.decisions();
        assert_eq!(all.len(), 1, "pods to be decided about");
        all.remove(0)
    }
}

fn show(store: &Store, pod: String, decision: Decision) -> Shown {
    let name = |node| store.node_name(node).to_string();
    let mut scores = BTreeMap::new();
    for (&node, score) in decision.feasible.iter().zip(&decision.scores) {
        for (plugin, value) in &score.by_plugin {
            scores.insert((name(node), *plugin), value / weight(plugin));
        }
    }
    let reason = |rejection: &kubesquall::scheduler::Rejection| {
        let reasons: Vec<&str> = rejection.reasons.iter().map(|reason| reason.as_str()).collect();
        (reasons.join(", "), rejection.is_unresolvable)
    };
    let victim = |id: &_| store.pod(*id).expect("a victim").name.to_string();
    Shown {
        pod,
        node: decision.node.map(name),
        feasible: decision.feasible.iter().copied().map(name).collect(),
        filtered: decision.filtered.iter().map(|(node, rejection)| (name(*node), reason(rejection))).collect(),
        scores,
        message: decision.message.unwrap_or_default(),
        nominated: match decision.nomination {
            Nomination::To(node) => Some(name(node)),
            Nomination::Kept | Nomination::Cleared => None,
        },
        victims: decision.victims.iter().map(victim).collect(),
    }
}

impl Shown {
    /// What a plugin gives each node of the list; none where it does not score.
    pub(crate) fn scores(&self, plugin: &'static str, nodes: &[&str]) -> Vec<Option<i64>> {
        nodes.iter().map(|node| self.scores.get(&((*node).to_owned(), plugin)).copied()).collect()
    }

    /// Feasible nodes by name.
    pub(crate) fn fitting(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.feasible.iter().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// The reason against a node.
    pub(crate) fn reason(&self, node: &str) -> &str {
        self.filtered.get(node).map_or("", |(reason, _)| reason)
    }
}

/// The scores of a plugin must be these.
#[track_caller]
pub(crate) fn check_scores(cluster: &Cluster, plugin: &'static str, expected: &[(&str, i64)]) {
    let shown = cluster.decision();
    let nodes: Vec<&str> = expected.iter().map(|(node, _)| *node).collect();
    let values: Vec<Option<i64>> = expected.iter().map(|(_, score)| Some(*score)).collect();
    assert_eq!(shown.scores(plugin, &nodes), values, "{plugin} on {nodes:?}: {shown:?}");
}

/// Exactly these nodes must be feasible.
#[track_caller]
pub(crate) fn check_fits(cluster: &Cluster, expected: &[&str]) {
    let shown = cluster.decision();
    assert_eq!(shown.fitting(), expected, "{shown:?}");
}
