//! What fixes ask of objects, and do to them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::arena::Symbol;
use crate::model::manifest::{self, ManifestObject};
use crate::model::{
    DeploymentStrategyType, LabelSelector, NodeInclusionPolicy, Object, ObjectKind, PodSpec, PodTemplateSpec,
    TopologySpreadConstraint, UnsatisfiableConstraintAction, requests,
};
use crate::scenario::{pod_template, pod_template_mut};
use crate::study::edit::{self, owner_of, path_of};
use crate::study::forecast::finding::Price;
use crate::study::forecast::units::labels;
use crate::units::IntOrPercent;

pub(super) const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";

/// How many pods a workload wants; none of what has no replicas.
pub(super) fn replicas_of(object: &Object) -> Option<i32> {
    match object {
        Object::Deployment(object) => Some(object.spec.replicas.unwrap_or(1)),
        Object::StatefulSet(object) => Some(object.spec.replicas.unwrap_or(1)),
        Object::ReplicaSet(object) => Some(object.spec.replicas.unwrap_or(1)),
        Object::ReplicationController(object) => Some(object.spec.replicas.unwrap_or(1)),
        _ => None,
    }
}

pub(super) fn is_many(object: &Object) -> bool {
    replicas_of(object).is_some_and(|count| count > 1)
}

/// Whether it has one replica, and another could do the same work: not with a volume of its own, as another would have another volume,
/// and not if there are never to be two at a time, not even while it is rolled out.
pub(super) fn is_single(object: &Object) -> bool {
    let is_recreated = matches!(
        object,
        Object::Deployment(of) if of.spec.strategy.strategy_type == Some(DeploymentStrategyType::Recreate)
    );
    replicas_of(object) == Some(1) && claims_of(object).is_empty() && !is_recreated
}

pub(super) fn pod_spec(object: &Object) -> Option<&PodSpec> {
    match object {
        Object::Pod(pod) => Some(&pod.spec),
        other => pod_template(other).map(|template| &template.spec),
    }
}

pub(super) fn selector_of(object: &Object) -> Option<LabelSelector> {
    match object {
        Object::Deployment(object) => object.spec.selector.clone(),
        Object::StatefulSet(object) => object.spec.selector.clone(),
        Object::ReplicaSet(object) => object.spec.selector.clone(),
        other => labels(other).map(LabelSelector::from_labels),
    }
}

/// Names of the claims of its pods that outlive these.
pub(super) fn claims_of(object: &Object) -> Vec<Symbol> {
    let volumes = pod_spec(object).into_iter().flat_map(|spec| &spec.volumes);
    let mut claims: Vec<Symbol> =
        volumes.filter_map(|volume| Some(volume.persistent_volume_claim.as_ref()?.claim_name)).collect();
    if let Object::StatefulSet(set) = object {
        let first = set.spec.ordinals.as_ref().map_or(0, |ordinals| ordinals.start);
        for template in &set.spec.volume_claim_templates {
            let name = |ordinal: i32| format!("{}-{}-{ordinal}", template.metadata.name, set.metadata.name);
            let count = set.spec.replicas.unwrap_or(1);
            claims.extend((first..first + count).map(|ordinal| Symbol::from(name(ordinal))));
        }
    }
    claims
}

/// Whether a rule keeps replicas apart by that label.
pub(super) fn is_spread(object: &Object, key: &str) -> bool {
    let Some(spec) = pod_spec(object) else { return false };
    let by_constraint = spec.topology_spread_constraints.iter().any(|constraint| {
        constraint.topology_key == key && constraint.when_unsatisfiable == UnsatisfiableConstraintAction::DoNotSchedule
    });
    let anti = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let required = anti.map(|anti| &anti.required_during_scheduling_ignored_during_execution);
    by_constraint || required.is_some_and(|terms| terms.iter().any(|term| term.topology_key == key))
}

/// Keeps replicas apart by that label.
pub(super) fn spread(template: &mut PodTemplateSpec, selector: &LabelSelector, key: &str) {
    let constraints = &mut template.spec.topology_spread_constraints;
    constraints.retain(|constraint| constraint.topology_key != key);
    constraints.push(TopologySpreadConstraint {
        max_skew: 1,
        topology_key: Symbol::new(key),
        when_unsatisfiable: UnsatisfiableConstraintAction::DoNotSchedule,
        label_selector: Some(selector.clone()),
        node_taints_policy: Some(NodeInclusionPolicy::Honor),
        ..TopologySpreadConstraint::default()
    });
}

/// Positions of the budgets that select pods of a workload.
pub(super) fn budgets_of(object: &Object, objects: &[ManifestObject]) -> Vec<usize> {
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

/// The budgets of these workloads let one pod go at a time.
pub(super) fn one_at_a_time(objects: &mut [ManifestObject], workloads: &BTreeSet<String>) {
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

/// Two replicas of each, autoscaled ones included.
pub(super) fn two_replicas(objects: &mut [ManifestObject], workloads: &BTreeSet<String>) {
    const REPLICAS: u32 = 2;
    let paths: Vec<String> = workloads.iter().cloned().collect();
    // Which workloads there are was found out before.
    let _ = edit::replicas(objects, &paths, REPLICAS);
    for ManifestObject { object, .. } in objects {
        let Object::HorizontalPodAutoscaler(autoscaler) = object else { continue };
        let target = &autoscaler.spec.scale_target_ref;
        let namespace = autoscaler.metadata.namespace;
        let path = format!("{}/{namespace}/{}", target.kind.as_str().to_ascii_lowercase(), target.name);
        if workloads.contains(&path) {
            let wanted = REPLICAS as i32;
            autoscaler.spec.min_replicas = Some(autoscaler.spec.min_replicas.unwrap_or(1).max(wanted));
            autoscaler.spec.max_replicas = autoscaler.spec.max_replicas.max(wanted);
        }
    }
}

/// What a pod more of each takes.
pub(super) fn price_of_a_pod_each(objects: &[ManifestObject], workloads: &BTreeSet<String>) -> Price {
    let mut price = Price::default();
    for object in objects.iter().map(|object| &object.object).filter(|object| workloads.contains(&path_of(object))) {
        let Some(template) = pod_template(object) else { continue };
        let asked = requests(&template.spec);
        price.pods += 1;
        price.cpu_milli += asked.cpu_milli;
        price.memory += asked.memory;
    }
    price
}

/// Changes the templates of workloads, and lets their controllers make the pods anew.
pub(super) fn change_templates(
    objects: &mut Vec<ManifestObject>,
    workloads: &BTreeSet<String>,
    change: impl Fn(&mut PodTemplateSpec, &LabelSelector),
) {
    for ManifestObject { object, .. } in &mut *objects {
        if !workloads.contains(&path_of(object)) {
            continue;
        }
        let Some(selector) = selector_of(object) else { continue };
        if let Some(template) = pod_template_mut(object) {
            change(template, &selector);
        }
    }
    make_anew(objects, workloads);
}

/// Takes away what these workloads own.
pub(super) fn make_anew(objects: &mut Vec<ManifestObject>, workloads: &BTreeSet<String>) {
    let mut gone: BTreeSet<String> = workloads.clone();
    for _ in 0..2 {
        let owned = objects.iter().filter(|object| owner_of(&object.object).is_some_and(|owner| gone.contains(&owner)));
        let owned: Vec<String> = owned.map(|object| path_of(&object.object)).collect();
        gone.extend(owned);
    }
    objects.retain(|object| owner_of(&object.object).is_none_or(|owner| !gone.contains(&owner)));
}

/// Objects from a document of our own.
pub(super) fn read(document: &Value) -> Vec<ManifestObject> {
    manifest::load_text("forecast", &document.to_string()).objects
}

/// A budget for each that lets one pod go at a time.
pub(super) fn add_budgets(objects: &mut Vec<ManifestObject>, workloads: &BTreeSet<String>) {
    let mut budgets = Vec::new();
    for object in objects.iter().map(|object| &object.object).filter(|object| workloads.contains(&path_of(object))) {
        let metadata = object.metadata();
        let name =
            free_name(objects, ObjectKind::PodDisruptionBudget, metadata.namespace, metadata.name.as_str(), "-one");
        budgets.extend(read(&json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": metadata.namespace},
            "spec": {"maxUnavailable": 1, "selector": selector_of(object)},
        })));
    }
    objects.extend(budgets);
}

/// A name that no object of the kind has yet: this one, with the ending as often as needed.
pub(super) fn free_name(
    objects: &[ManifestObject],
    kind: ObjectKind,
    namespace: Symbol,
    name: &str,
    ending: &str,
) -> String {
    let is_taken = |name: &str| {
        objects.iter().map(|object| &object.object).any(|object| {
            let metadata = object.metadata();
            object.kind() == kind && metadata.namespace == namespace && metadata.name.as_str() == name
        })
    };
    let mut free = name.to_owned();
    while is_taken(&free) {
        free.push_str(ending);
    }
    free
}

/// A node like another one: of another name, and nobody's machine yet.
pub(super) fn node_like(like: &ManifestObject, name: Symbol) -> ManifestObject {
    let mut node = like.clone();
    let metadata = node.object.metadata_mut();
    (metadata.name, metadata.uid) = (name, None);
    metadata.labels = metadata.labels.with(Symbol::new(HOSTNAME_LABEL), name);
    node
}

/// How much CPU a node offers ordinary pods; none if it takes none.
pub(super) fn room_of(object: &Object) -> Option<i64> {
    match object {
        Object::Node(node) if !node.spec.unschedulable && node.spec.taints.is_empty() => {
            Some(node.status.allocatable.get(Symbol::new("cpu")).map(|cpu| cpu.milli_value()).unwrap_or_default())
        }
        _ => None,
    }
}
