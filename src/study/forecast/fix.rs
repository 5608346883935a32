//! Changes of a cluster that may help: to whom each can be applied, and what it makes of the objects.

use std::collections::BTreeSet;

use serde_json::json;

use super::units::labels;
use crate::arena::Symbol;
use crate::model::manifest::{self, ManifestObject};
use crate::model::{
    LabelSelector, NodeInclusionPolicy, Object, PodSpec, TopologySpreadConstraint, UnsatisfiableConstraintAction,
    ZONE_LABEL,
};
use crate::scenario::{ResolvedScenario, pod_template, pod_template_mut};
use crate::study::edit::{self, owner_of, path_of};
use crate::units::IntOrPercent;

const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// The taints of lost nodes.
const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// The class that [`Fix::Priority`] makes.
const CLASS: &str = "forecast-important";

/// A change that may help.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Fix {
    /// A pod without a controller becomes a Deployment of one replica.
    Controller,
    /// A second replica for what has one.
    #[serde(rename = "replicas")]
    SecondReplica,
    /// A second replica, and both in zones of their own.
    #[serde(rename = "replicasAcrossZones")]
    AcrossZones,
    /// No two replicas on a node, as far as there are nodes.
    SpreadHosts,
    /// Replicas evenly over zones.
    SpreadZones,
    /// Pods of lost nodes are evicted after 30 seconds.
    Toleration,
    /// A budget that lets one pod go at a time.
    BudgetAdd,
    /// A budget that lets no pod go lets one go at a time.
    BudgetLoosen,
    /// No selector pins the pods to few nodes.
    Unpin,
    /// A priority above that of the others.
    Priority,
    /// A grace period within the patience of a drain.
    Grace,
    /// A node more.
    Node,
}

impl Fix {
    /// Every fix, in the order in which they are tried; of equally good ones the first is recommended.
    pub const ALL: [Self; 12] = [
        Self::Controller,
        Self::BudgetLoosen,
        Self::BudgetAdd,
        Self::SpreadHosts,
        Self::SpreadZones,
        Self::Toleration,
        Self::Unpin,
        Self::Priority,
        Self::Grace,
        Self::SecondReplica,
        Self::AcrossZones,
        Self::Node,
    ];

    /// How `forecast.json` and the files under `patches/` name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::SecondReplica => "replicas",
            Self::AcrossZones => "replicas-across-zones",
            Self::SpreadHosts => "spread-hosts",
            Self::SpreadZones => "spread-zones",
            Self::Toleration => "toleration",
            Self::BudgetAdd => "budget-add",
            Self::BudgetLoosen => "budget-loosen",
            Self::Unpin => "unpin",
            Self::Priority => "priority",
            Self::Grace => "grace",
            Self::Node => "node",
        }
    }

    /// What is to be done, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Controller => "run it as a Deployment",
            Self::SecondReplica => "run a second replica",
            Self::AcrossZones => "run a second replica, each in a zone of its own",
            Self::SpreadHosts => "spread the replicas over nodes",
            Self::SpreadZones => "spread the replicas over zones",
            Self::Toleration => "evict after 30 s (tolerationSeconds)",
            Self::BudgetAdd => "add a PodDisruptionBudget with maxUnavailable: 1",
            Self::BudgetLoosen => "let the PodDisruptionBudget spare one pod (maxUnavailable: 1)",
            Self::Unpin => "take the node selector away",
            Self::Priority => "give it a higher priority",
            Self::Grace => "shorten terminationGracePeriodSeconds to 60",
            Self::Node => "add a node",
        }
    }

    /// What is wrong without it, as the cause that a finding names; `one` workload or more.
    #[must_use]
    pub fn cause(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Self::Controller, true) => "is a pod without a controller: nothing makes it anew",
            (Self::Controller, false) => "are pods without a controller: nothing makes them anew",
            (Self::SecondReplica | Self::AcrossZones, true) => "has a single pod",
            (Self::SecondReplica | Self::AcrossZones, false) => "have a single pod each",
            (Self::SpreadHosts, true) => "has its pods on one node",
            (Self::SpreadHosts, false) => "have their pods on one node each",
            (Self::SpreadZones, true) => "has its pods in one zone",
            (Self::SpreadZones, false) => "have their pods in one zone each",
            (Self::Toleration, true) => "waits five minutes for a lost node before its pods are replaced",
            (Self::Toleration, false) => "wait five minutes for a lost node before their pods are replaced",
            (Self::BudgetAdd, true) => "has no budget: a drain takes all its pods at once",
            (Self::BudgetAdd, false) => "have no budget: a drain takes all their pods at once",
            (Self::BudgetLoosen, true) => "has a budget that spares no pod: drains and upgrades wait for ever",
            (Self::BudgetLoosen, false) => "have budgets that spare no pod: drains and upgrades wait for ever",
            (Self::Unpin, true) => "is pinned to few nodes by a selector",
            (Self::Unpin, false) => "are pinned to few nodes by selectors",
            (Self::Priority, true) => "finds no room, which less important pods take",
            (Self::Priority, false) => "find no room, which less important pods take",
            (Self::Grace, true) => "takes longer to stop than a drain waits",
            (Self::Grace, false) => "take longer to stop than a drain waits",
            (Self::Node, true) => "finds no room when nodes are lost",
            (Self::Node, false) => "find no room when nodes are lost",
        }
    }

    /// Whether a workload that has been given this one is not to be given the other, too.
    pub(super) fn replaces(self, other: Self) -> bool {
        let is_replicas = |fix| matches!(fix, Self::SecondReplica | Self::AcrossZones);
        is_replicas(self) && is_replicas(other)
    }
}

/// What decides to whom a fix can be applied, beside the objects.
#[derive(Copy, Clone, Debug)]
pub(super) struct Circumstances {
    pub(super) zones: usize,
    pub(super) nodes: usize,
    /// Whether some play left pods without a node.
    pub(super) lacks_room: bool,
}

impl Fix {
    /// Whether it can be applied to that workload.
    pub(super) fn fits(self, object: &Object, scenario: &ResolvedScenario, around: &Circumstances) -> bool {
        let replicas = replicas_of(object);
        let spec = pod_spec(object);
        let is_one = replicas == Some(1);
        let is_many = replicas.is_some_and(|count| count > 1);
        let has_constraint = |key: &str| spec.is_some_and(|spec| is_spread(spec, key));
        match self {
            Self::Controller => matches!(object, Object::Pod(pod) if !is_mirror(pod)),
            Self::SecondReplica => is_one && around.nodes > 1,
            Self::AcrossZones => is_one && around.zones > 1,
            Self::SpreadHosts => is_many && around.nodes > 1 && !has_constraint(HOSTNAME_LABEL),
            Self::SpreadZones => is_many && around.zones > 1 && !has_constraint(ZONE_LABEL),
            Self::Toleration => replicas.is_some() && spec.is_some_and(|_| tolerates_long(scenario, &path_of(object))),
            Self::BudgetAdd => is_many && budgets_of(object, &scenario.objects).is_empty(),
            Self::BudgetLoosen => !budgets_of(object, &scenario.objects).is_empty(),
            Self::Unpin => replicas.is_some() && spec.is_some_and(is_pinned),
            Self::Priority => replicas.is_some() && around.lacks_room,
            Self::Grace => spec.is_some_and(|spec| spec.termination_grace_period_seconds.is_some_and(|s| s > 300)),
            Self::Node => around.lacks_room,
        }
    }

    /// Makes the change for these workloads, by their paths. Workloads whose pods are made from another template then have been
    /// rolled out: the pods of the input that they own are not there any more, and their controllers make them anew.
    pub(super) fn apply(self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        let paths: Vec<String> = workloads.iter().cloned().collect();
        let objects = &mut scenario.objects;
        match self {
            Self::Controller => run_as_deployments(objects, workloads),
            Self::SecondReplica => scale(objects, &paths),
            Self::AcrossZones => {
                scale(objects, &paths);
                change_templates(objects, workloads, |spec, selector| spread(spec, selector, ZONE_LABEL));
            }
            Self::SpreadHosts => {
                change_templates(objects, workloads, |spec, selector| spread(spec, selector, HOSTNAME_LABEL))
            }
            Self::SpreadZones => {
                change_templates(objects, workloads, |spec, selector| spread(spec, selector, ZONE_LABEL))
            }
            Self::Toleration => {
                // Which workloads there are was found out before.
                let _ = edit::toleration_seconds(objects, &paths, &TAINTS, 30);
            }
            Self::BudgetAdd => add_budgets(objects, workloads),
            Self::BudgetLoosen => loosen_budgets(objects, workloads),
            Self::Unpin => change_templates(objects, workloads, |spec, _| unpin(spec)),
            Self::Priority => {
                let class = json!({
                    "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                    "metadata": {"name": CLASS}, "value": 1_000_000,
                    "description": "Workloads that go before others when room is short",
                });
                objects.extend(read(&class));
                change_templates(objects, workloads, |spec, _| {
                    (spec.priority_class_name, spec.priority) = (Some(Symbol::new(CLASS)), None);
                });
            }
            Self::Grace => {
                change_templates(objects, workloads, |spec, _| spec.termination_grace_period_seconds = Some(60));
            }
            Self::Node => add_node(objects),
        }
    }
}

/// How many pods a workload wants; none of what has no replicas.
fn replicas_of(object: &Object) -> Option<i32> {
    match object {
        Object::Deployment(object) => Some(object.spec.replicas.unwrap_or(1)),
        Object::StatefulSet(object) => Some(object.spec.replicas.unwrap_or(1)),
        Object::ReplicaSet(object) => Some(object.spec.replicas.unwrap_or(1)),
        Object::ReplicationController(object) => Some(object.spec.replicas.unwrap_or(1)),
        _ => None,
    }
}

fn pod_spec(object: &Object) -> Option<&PodSpec> {
    match object {
        Object::Pod(pod) => Some(&pod.spec),
        other => pod_template(other).map(|template| &template.spec),
    }
}

fn selector_of(object: &Object) -> Option<LabelSelector> {
    match object {
        Object::Deployment(object) => object.spec.selector.clone(),
        Object::StatefulSet(object) => object.spec.selector.clone(),
        Object::ReplicaSet(object) => object.spec.selector.clone(),
        other => labels(other).map(LabelSelector::from_labels),
    }
}

/// A pod that a kubelet runs from a file.
fn is_mirror(pod: &crate::model::Pod) -> bool {
    pod.metadata.annotations.contains_key(&Symbol::new("kubernetes.io/config.mirror"))
}

/// Whether a rule keeps replicas apart by that label.
fn is_spread(spec: &PodSpec, key: &str) -> bool {
    let by_constraint = spec.topology_spread_constraints.iter().any(|constraint| {
        constraint.topology_key == key && constraint.when_unsatisfiable == UnsatisfiableConstraintAction::DoNotSchedule
    });
    let anti = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let required = anti.map(|anti| &anti.required_during_scheduling_ignored_during_execution);
    by_constraint || required.is_some_and(|terms| terms.iter().any(|term| term.topology_key == key))
}

fn tolerates_long(scenario: &ResolvedScenario, path: &str) -> bool {
    edit::seconds_now(scenario, &[path.to_owned()], &TAINTS).is_some_and(|seconds| seconds > 60)
}

/// Whether its pods may run on some nodes only, by what is theirs.
fn is_pinned(spec: &PodSpec) -> bool {
    let is_general = |key: &str| matches!(key, "kubernetes.io/os" | "kubernetes.io/arch" | "beta.kubernetes.io/os");
    let by_selector = spec.node_selector.iter().any(|(key, _)| !is_general(key.as_str()));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    by_selector
        || affinity.is_some_and(|affinity| affinity.required_during_scheduling_ignored_during_execution.is_some())
}

fn unpin(spec: &mut PodSpec) {
    spec.node_selector = crate::model::Labels::default();
    if let Some(affinity) = spec.affinity.as_mut().and_then(|affinity| affinity.node_affinity.as_mut()) {
        affinity.required_during_scheduling_ignored_during_execution = None;
    }
}

/// Positions of the budgets that select pods of a workload.
fn budgets_of(object: &Object, objects: &[ManifestObject]) -> Vec<usize> {
    let Some(labels) = labels(object) else { return Vec::new() };
    let selects = |other: &Object| match other {
        Object::PodDisruptionBudget(budget) => {
            budget.metadata.namespace == object.metadata().namespace
                && budget.spec.selector.as_ref().is_some_and(|selector| selector.matches(labels))
        }
        _ => false,
    };
    objects.iter().enumerate().filter(|(_, other)| selects(&other.object)).map(|(index, _)| index).collect()
}

fn scale(objects: &mut [ManifestObject], paths: &[String]) {
    const REPLICAS: u32 = 2;
    // Which workloads there are was found out before.
    let _ = edit::replicas(objects, paths, REPLICAS);
    for ManifestObject { object, .. } in objects {
        let Object::HorizontalPodAutoscaler(autoscaler) = object else { continue };
        let target = &autoscaler.spec.scale_target_ref;
        let namespace = autoscaler.metadata.namespace;
        let path = format!("{}/{namespace}/{}", target.kind.as_str().to_ascii_lowercase(), target.name);
        if paths.contains(&path) {
            let wanted = REPLICAS as i32;
            autoscaler.spec.min_replicas = Some(autoscaler.spec.min_replicas.unwrap_or(1).max(wanted));
            autoscaler.spec.max_replicas = autoscaler.spec.max_replicas.max(wanted);
        }
    }
}

fn spread(spec: &mut PodSpec, selector: &LabelSelector, key: &str) {
    spec.topology_spread_constraints.retain(|constraint| constraint.topology_key != key);
    spec.topology_spread_constraints.push(TopologySpreadConstraint {
        max_skew: 1,
        topology_key: Symbol::new(key),
        when_unsatisfiable: UnsatisfiableConstraintAction::DoNotSchedule,
        label_selector: Some(selector.clone()),
        node_taints_policy: Some(NodeInclusionPolicy::Honor),
        ..TopologySpreadConstraint::default()
    });
}

/// Changes the templates of workloads, and lets their controllers make the pods anew.
fn change_templates(
    objects: &mut Vec<ManifestObject>,
    workloads: &BTreeSet<String>,
    change: impl Fn(&mut PodSpec, &LabelSelector),
) {
    for ManifestObject { object, .. } in &mut *objects {
        if !workloads.contains(&path_of(object)) {
            continue;
        }
        let Some(selector) = selector_of(object) else { continue };
        if let Some(template) = pod_template_mut(object) {
            change(&mut template.spec, &selector);
        }
    }
    let mut gone: BTreeSet<String> = workloads.clone();
    for _ in 0..2 {
        let owned = objects.iter().filter(|object| owner_of(&object.object).is_some_and(|owner| gone.contains(&owner)));
        let owned: Vec<String> = owned.map(|object| path_of(&object.object)).collect();
        gone.extend(owned);
    }
    objects.retain(|object| owner_of(&object.object).is_none_or(|owner| !gone.contains(&owner)));
}

/// Objects from a document of our own.
fn read(document: &serde_json::Value) -> Vec<ManifestObject> {
    manifest::load_text("forecast", &document.to_string()).objects
}

fn add_budgets(objects: &mut Vec<ManifestObject>, workloads: &BTreeSet<String>) {
    let mut budgets = Vec::new();
    for object in objects.iter().map(|object| &object.object).filter(|object| workloads.contains(&path_of(object))) {
        let metadata = object.metadata();
        budgets.extend(read(&json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": metadata.name, "namespace": metadata.namespace},
            "spec": {"maxUnavailable": 1, "selector": selector_of(object)},
        })));
    }
    objects.extend(budgets);
}

fn loosen_budgets(objects: &mut [ManifestObject], workloads: &BTreeSet<String>) {
    let chosen: BTreeSet<usize> = objects
        .iter()
        .filter(|object| workloads.contains(&path_of(&object.object)))
        .flat_map(|object| budgets_of(&object.object, objects))
        .collect();
    for index in chosen {
        if let Object::PodDisruptionBudget(budget) = &mut objects[index].object {
            budget.spec.min_available = None;
            budget.spec.max_unavailable = Some(IntOrPercent::Int(1));
        }
    }
}

fn run_as_deployments(objects: &mut Vec<ManifestObject>, workloads: &BTreeSet<String>) {
    let mut deployments = Vec::new();
    for object in objects.iter().map(|object| &object.object).filter(|object| workloads.contains(&path_of(object))) {
        let Object::Pod(pod) = object else { continue };
        let (name, namespace) = (pod.metadata.name, pod.metadata.namespace);
        let value = object.to_value();
        let mut labels = value["metadata"]["labels"].clone();
        if !labels.is_object() {
            labels = json!({});
        }
        labels["app.kubernetes.io/instance"] = json!(name);
        let mut spec = value["spec"].clone();
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("nodeName");
            spec.remove("restartPolicy");
        }
        deployments.extend(read(&json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app.kubernetes.io/instance": name}},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        })));
    }
    objects.retain(|object| !workloads.contains(&path_of(&object.object)));
    objects.extend(deployments);
}

/// One more of the nodes that take ordinary pods, like the one with the most room.
fn add_node(objects: &mut Vec<ManifestObject>) {
    let room = |object: &Object| match object {
        Object::Node(node) if !node.spec.unschedulable && node.spec.taints.is_empty() => {
            let cpu = node.status.allocatable.get(Symbol::new("cpu")).map(|cpu| cpu.milli_value()).unwrap_or_default();
            Some(cpu)
        }
        _ => None,
    };
    let found = objects.iter().filter_map(|object| Some((room(&object.object)?, object))).max_by_key(|(room, _)| *room);
    let Some((_, like)) = found else { return };
    let mut like = like.clone();
    let name = Symbol::from(format!("{}-more", like.object.metadata().name));
    let metadata = like.object.metadata_mut();
    (metadata.name, metadata.uid) = (name, Default::default());
    metadata.labels = metadata.labels.with(Symbol::new(HOSTNAME_LABEL), name);
    objects.push(like);
}
