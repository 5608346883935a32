//! Nodes in one more zone.

use std::collections::{BTreeMap, BTreeSet};

use super::objects::{free_name, node_like, pod_spec, replicas_of};
use super::{Change, Circumstances};
use crate::arena::Symbol;
use crate::model::{ManifestObject, Node, Object, ObjectKind, PodSpec, TaintEffect, ZONE_LABEL, zone_of};
use crate::scenario::ResolvedScenario;
use crate::study::edit::path_of;
use crate::study::forecast::finding::Price;

/// Nodes in one more zone, for what can run in one zone only.
pub(super) struct Zone;

impl Change for Zone {
    fn file(&self) -> &'static str {
        "zone"
    }

    fn words(&self) -> &'static str {
        "add nodes of its pool in one more zone"
    }

    fn cause(&self) -> [&'static str; 2] {
        ["can run on nodes of one zone only", "can run on nodes of one zone only"]
    }

    fn fits(&self, object: &Object, scenario: &ResolvedScenario, _around: &Circumstances<'_>) -> bool {
        replicas_of(object).is_some() && Pool::of(object, &scenario.objects).zone.is_some()
    }

    fn apply(&self, scenario: &mut ResolvedScenario, workloads: &BTreeSet<String>) {
        let more = more_nodes(scenario, workloads);
        scenario.objects.extend(more);
    }

    fn price(&self, scenario: &ResolvedScenario, workloads: &BTreeSet<String>) -> Price {
        Price { nodes: more_nodes(scenario, workloads).len() as u64, ..Price::default() }
    }

    fn by_hand(&self) -> Option<&'static str> {
        Some(
            "Let the node pool of these workloads have nodes in one more zone, with the labels and taints of its other nodes.",
        )
    }
}

/// The nodes on which a workload can run.
struct Pool {
    /// Their positions among the objects.
    nodes: Vec<usize>,
    /// The zone in which all of them are.
    zone: Option<Symbol>,
}

impl Pool {
    fn of(object: &Object, objects: &[ManifestObject]) -> Self {
        let spec = pod_spec(object);
        let takes = |object: &ManifestObject| match &object.object {
            Object::Node(node) => spec.is_some_and(|spec| takes(node, spec)),
            _ => false,
        };
        let nodes: Vec<usize> =
            objects.iter().enumerate().filter(|(_, object)| takes(object)).map(|(index, _)| index).collect();
        let mut zones = nodes.iter().map(|&index| zone_of(&objects[index].object.metadata().labels));
        let zone = zones.next().flatten().filter(|first| zones.all(|other| other == Some(*first)));
        Self { nodes, zone }
    }
}

/// Whether a node takes such pods, apart from who is there already.
fn takes(node: &Node, spec: &PodSpec) -> bool {
    let labels = &node.metadata.labels;
    let is_selected = spec.node_selector.iter().all(|(key, value)| labels.get(key) == Some(value));
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity.and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    let repels = node.spec.taints.iter().any(|taint| {
        taint.effect != TaintEffect::PreferNoSchedule
            && !spec.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    });
    !node.spec.unschedulable
        && !repels
        && is_selected
        && required.is_none_or(|required| required.matches(labels, node.metadata.name))
}

/// What the pools of these workloads get: a node in another zone of the cluster; where the cluster has one zone, half as many nodes as
/// there are in a new one.
fn more_nodes(scenario: &ResolvedScenario, workloads: &BTreeSet<String>) -> Vec<ManifestObject> {
    let objects = &scenario.objects;
    let is_node = |object: &&ManifestObject| matches!(object.object, Object::Node(_));
    let zones: BTreeSet<&str> = objects
        .iter()
        .filter(is_node)
        .filter_map(|node| Some(zone_of(&node.object.metadata().labels)?.as_str()))
        .collect();
    let chosen = objects.iter().map(|object| &object.object).filter(|object| workloads.contains(&path_of(object)));
    let pools: BTreeMap<Vec<usize>, Symbol> =
        chosen.map(|object| Pool::of(object, objects)).filter_map(|pool| Some((pool.nodes, pool.zone?))).collect();
    let mut more: BTreeMap<String, ManifestObject> = BTreeMap::new();
    for (nodes, zone) in pools {
        let other = zones.iter().find(|other| **other != zone.as_str()).map(|other| (*other).to_owned());
        let count = if other.is_some() { 1 } else { nodes.len().div_ceil(2) };
        let other = Symbol::from(other.unwrap_or_else(|| format!("{zone}-more")));
        let mut largest = nodes;
        largest.sort_by_key(|&index| (std::cmp::Reverse(cpu(&objects[index].object)), index));
        for index in largest.into_iter().take(count) {
            let like = &objects[index];
            let metadata = like.object.metadata();
            let name = format!("{}-{other}", metadata.name);
            let name = free_name(objects, ObjectKind::Node, metadata.namespace, &name, "-more");
            let mut node = node_like(like, Symbol::new(&name));
            let labels = &mut node.object.metadata_mut().labels;
            let former = Symbol::new("failure-domain.beta.kubernetes.io/zone");
            if labels.get(former).is_some() {
                *labels = labels.with(former, other);
            }
            *labels = labels.with(Symbol::new(ZONE_LABEL), other);
            more.insert(name, node);
        }
    }
    more.into_values().collect()
}

fn cpu(object: &Object) -> i64 {
    match object {
        Object::Node(node) => node.status.allocatable.get(Symbol::new("cpu")).map_or(0, |amount| amount.milli_value()),
        _ => 0,
    }
}
