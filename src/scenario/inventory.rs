//! What a scenario has, by name.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use super::pools::NodePool;
use super::workloads::pod_template;
use crate::arena::Symbol;
use crate::chaos::ChaosPlan;
use crate::diagnostics::{Diagnostics, Location, unknown_name};
use crate::kubectl::Runbook;
use crate::model::{LabelSelector, Labels, ManifestObject, Object, zone_of};

/// A node as selections see it.
#[derive(Debug)]
pub(super) struct KnownNode {
    pub(super) name: Symbol,
    pub(super) labels: Labels,
}

/// What a scenario has, by name.
#[derive(Debug)]
pub(super) struct Inventory {
    /// Those of t=0, then those that join.
    nodes: Vec<KnownNode>,
    names: FxHashSet<Symbol>,
    zones: BTreeSet<Symbol>,
    pools: BTreeSet<Symbol>,
    namespaces: BTreeSet<Symbol>,
    /// Pods and templates of pods: namespace and labels.
    pods: Vec<(Symbol, Labels)>,
    /// Whether it is all that was written: nothing of the cluster had to be left out as it is wrong.
    pub(super) is_whole: bool,
}

impl Inventory {
    pub(super) fn new(objects: &[ManifestObject], pools: &[NodePool], runbook: &Runbook, chaos: &ChaosPlan) -> Self {
        let mut inventory = Self {
            nodes: Vec::new(),
            names: FxHashSet::default(),
            zones: BTreeSet::new(),
            pools: pools.iter().map(|pool| pool.name).collect(),
            namespaces: BTreeSet::from([Symbol::new("default")]),
            pods: Vec::new(),
            is_whole: true,
        };
        let written = objects.iter().map(|object| &object.object);
        let typed = runbook.lines.iter().flat_map(|line| &line.objects).map(|written| &written.object);
        for object in written.chain(typed) {
            let labels = match object {
                Object::Pod(pod) => Some(&pod.metadata.labels),
                other => pod_template(other).map(|template| &template.metadata.labels),
            };
            inventory.pods.extend(labels.map(|labels| (object.metadata().namespace, labels.clone())));
        }
        for object in objects {
            match &object.object {
                Object::Node(node) => inventory.add_node(&node.metadata),
                Object::Namespace(namespace) => {
                    inventory.namespaces.insert(namespace.metadata.name);
                }
                other if !other.metadata().namespace.is_empty() => {
                    inventory.namespaces.insert(other.metadata().namespace);
                }
                _ => {}
            }
        }
        inventory.add_joining(pools, chaos);
        inventory
    }

    /// The nodes that the timeline adds; each gets the number behind the last one of its pool.
    fn add_joining(&mut self, pools: &[NodePool], chaos: &ChaosPlan) {
        let mut additions = chaos.add_nodes.clone();
        additions.sort_by_key(|(at, ..)| *at);
        for (_, pool, count) in additions {
            let pool = &pools[pool];
            let last = self.nodes.iter().filter_map(|node| pool.index_of(node.name.as_str())).max();
            let first = last.map_or(0, |last| last.saturating_add(1));
            for index in first..first.saturating_add(count) {
                self.add_node(&pool.node(index).metadata);
            }
        }
    }

    fn add_node(&mut self, metadata: &crate::model::ObjectMeta) {
        self.zones.extend(zone_of(&metadata.labels));
        self.names.insert(metadata.name);
        self.nodes.push(KnownNode { name: metadata.name, labels: metadata.labels.clone() });
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &KnownNode> + Clone {
        self.nodes.iter()
    }

    pub(super) fn has_node(&self, name: Symbol) -> bool {
        self.names.contains(&name)
    }

    pub(super) fn zones(&self) -> &BTreeSet<Symbol> {
        &self.zones
    }

    pub(super) fn pools(&self) -> &BTreeSet<Symbol> {
        &self.pools
    }

    /// Checks that a pool of that name exists.
    pub(super) fn check_pool(&self, place: Location, pool: Symbol, diagnostics: &mut Diagnostics) {
        if self.is_whole && !self.pools.contains(&pool) {
            let pools = self.pools.iter().map(|pool| pool.as_str());
            diagnostics.push(unknown_name("node pool", pool.as_str(), pools).at(place, "not under `nodePools`"));
        }
    }

    /// Whether there is a pod, or a workload that makes some, of that namespace and selection.
    pub(super) fn has_pods(&self, namespace: Option<&str>, selector: Option<&LabelSelector>) -> bool {
        self.pods.iter().any(|(place, labels)| {
            namespace.is_none_or(|namespace| *place == namespace)
                && selector.is_none_or(|selector| selector.matches(labels))
        })
    }

    pub(super) fn namespaces(&self) -> &BTreeSet<Symbol> {
        &self.namespaces
    }
}
