//! The plays of a case: which sets of nodes have to be lost to have tried them all.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::arena::Symbol;
use crate::model::{ManifestObject, Object, ZONE_LABEL, domain_of};
use crate::state::{NodeId, Owner, Pod, Store, WorkloadId};

/// The label that is a node's own name.
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Nodes that are lost together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostSet {
    /// How people call it: `zone b`, `worker-1 + worker-4`.
    pub label: String,
    /// The nodes.
    pub nodes: Vec<Symbol>,
    /// How many sets it stands for: itself, and those that are alike.
    pub alike: u64,
}

/// Whether sets of nodes that are alike are played once.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// One stands for all.
    Used,
    /// Each is played.
    Ignored,
}

/// The zones of a cluster, each a set of nodes.
pub(super) fn zones(store: &Store) -> Vec<LostSet> {
    domains(store, ZONE_LABEL, "zone")
}

/// The values of a label, each with the nodes that have it.
pub(in crate::study) fn domains(store: &Store, label: &str, called: &str) -> Vec<LostSet> {
    let mut domains: BTreeMap<Symbol, Vec<Symbol>> = BTreeMap::new();
    for (id, node) in store.nodes() {
        if let Some(value) = domain_of(&node.labels, label) {
            domains.entry(value).or_default().push(store.node_name(id));
        }
    }
    let set = |(value, nodes): (Symbol, Vec<Symbol>)| LostSet { label: format!("{called} {value}"), nodes, alike: 1 };
    domains.into_iter().map(set).collect()
}

/// Every set of so many nodes, or one of those that are alike.
///
/// Two nodes are alike if they have equal labels but for their own names, equal taints, amounts, images and conditions, and
/// equal pods: as many of each controller, in equal states; and if no other object of the cluster mentions either by name. Sets
/// are alike if they have as many nodes of each kind.
///
/// This is sound: exchange two nodes that are alike, with their pods, and the cluster is the same but for names, UIDs, time
/// stamps and the order of lists. Kubernetes' rules read names only where an object mentions one, which is excluded; pods that
/// have an identity (those of a StatefulSet, with a claim, or of no controller) never make nodes alike. What the rules do read
/// besides (the order in which nodes are looked at, ties between nodes of equal score, the phase of heartbeats) is chance, and
/// another draw of it is what another seed is. So sets that are alike have the same chances; one play is one draw for all of
/// them, as it would be one draw for each. `--exhaustive` plays each.
pub(super) fn sets_of(store: &Store, count: u32, mentioned: &FxHashSet<Symbol>, symmetry: Symmetry) -> Vec<LostSet> {
    let kinds = match symmetry {
        Symmetry::Used => kinds(store, mentioned),
        Symmetry::Ignored => in_order(store).into_iter().map(|(_, name)| vec![name]).collect(),
    };
    let mut sets = Vec::new();
    choose(&kinds, count as usize, &mut Vec::new(), 1, &mut sets);
    sets
}

/// Adds every way of taking `missing` more nodes of these kinds.
fn choose(kinds: &[Vec<Symbol>], missing: usize, taken: &mut Vec<Symbol>, alike: u64, sets: &mut Vec<LostSet>) {
    if missing == 0 {
        let names: Vec<&str> = taken.iter().map(|name| name.as_str()).collect();
        sets.push(LostSet { label: names.join(" + "), nodes: taken.clone(), alike });
        return;
    }
    let Some((first, rest)) = kinds.split_first() else { return };
    for count in (0..=missing.min(first.len())).rev() {
        taken.extend(&first[..count]);
        choose(rest, missing - count, taken, alike.saturating_mul(ways(first.len(), count)), sets);
        taken.truncate(taken.len() - count);
    }
}

/// In how many ways `count` of `all` can be chosen.
pub(in crate::study) fn ways(all: usize, count: usize) -> u64 {
    (0..count as u64).fold(1, |ways: u64, taken| ways.saturating_mul(all as u64 - taken) / (taken + 1))
}

/// All nodes by name; `worker-2` comes before `worker-10`.
fn in_order(store: &Store) -> Vec<(NodeId, Symbol)> {
    let mut nodes: Vec<(NodeId, Symbol)> = store.nodes().map(|(id, _)| (id, store.node_name(id))).collect();
    nodes.sort_by_key(|(_, name)| natural(name.as_str()));
    nodes
}

/// A sort key under which numbers at the end of names count as numbers.
pub(in crate::study) fn natural(name: &str) -> (String, u64) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (stem.to_owned(), name[stem.len()..].parse().unwrap_or(u64::MAX))
}

/// Nodes that are alike, together; by the name of the first.
pub(in crate::study) fn kinds(store: &Store, mentioned: &FxHashSet<Symbol>) -> Vec<Vec<Symbol>> {
    let mut kinds: Vec<(String, Vec<Symbol>)> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for (id, name) in in_order(store) {
        let looks = if mentioned.contains(&name) { format!("= {name}") } else { looks(store, id) };
        let position = *index.entry(looks.clone()).or_insert(kinds.len());
        if position == kinds.len() {
            kinds.push((looks, Vec::new()));
        }
        kinds[position].1.push(name);
    }
    kinds.into_iter().map(|(_, names)| names).collect()
}

/// Everything about a node that a rule may read, as a text.
fn looks(store: &Store, id: NodeId) -> String {
    let Some(node) = store.node(id) else { return String::new() };
    let name = store.node_name(id);
    let is_own = |key: Symbol, value: Symbol| value == name || key.as_str() == HOSTNAME;
    let labels = node.labels.iter().filter(|(key, value)| !is_own(*key, *value));
    let mut labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    labels.sort_unstable();
    let taints: Vec<String> =
        node.taints.iter().map(|taint| format!("{}={}:{}", taint.key, taint.value, taint.effect)).collect();
    let conditions: Vec<_> =
        crate::state::NodeConditionKind::ALL.iter().map(|kind| node.conditions.get(*kind).map(|c| c.status)).collect();
    let mut pods: Vec<String> =
        store.pods_on(id).iter().filter_map(|pod| store.pod(*pod)).map(|pod| kind_of(pod, store)).collect();
    pods.sort_unstable();
    format!(
        "{labels:?} {taints:?} {conditions:?} {} {:?} {} {:?} {:?} {:?} {pods:?}",
        node.unschedulable, node.allocatable, node.allocatable_pods, node.capacity, node.annotations, node.images
    )
}

/// What a pod is, if it may be exchanged for another: its controller and state; else its own name.
fn kind_of(pod: &Pod, store: &Store) -> String {
    let state = (pod.phase, pod.is_ready(), pod.is_terminating(), pod.spec.priority);
    let is_interchangeable =
        matches!(pod.owner, Some(Owner::ReplicaSet(_) | Owner::DaemonSet(_))) && pod.claims().is_empty();
    let owner = pod.owner.and_then(WorkloadId::from_owner).and_then(|owner| store.workload_meta(owner));
    match owner.filter(|_| is_interchangeable) {
        Some(owner) => format!(
            "{:?}/{}/{} {state:?} {:?}",
            pod.owner.map(|o| std::mem::discriminant(&o)),
            owner.namespace,
            owner.name,
            pod.labels
        ),
        None => format!("pod/{}/{}", pod.namespace, pod.name),
    }
}

/// Names of nodes that objects other than nodes mention, as in node affinity or the node affinity of a volume. On which node
/// a pod stands is no mention.
pub(in crate::study) fn mentioned(objects: &[ManifestObject]) -> FxHashSet<Symbol> {
    let hostname = Symbol::new(HOSTNAME);
    let mut names: FxHashMap<&str, Symbol> = FxHashMap::default();
    for object in objects {
        if let Object::Node(node) = &object.object {
            let name = node.metadata.name;
            names.insert(name.as_str(), name);
            names.extend(node.metadata.labels.get(hostname).map(|hostname| (hostname.as_str(), name)));
        }
    }
    let mut found = FxHashSet::default();
    for object in objects.iter().filter(|object| !matches!(object.object, Object::Node(_))) {
        let mut value = object.object.to_manifest();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("status");
            if let Some(spec) = fields.get_mut("spec").and_then(Value::as_object_mut) {
                spec.remove("nodeName");
            }
        }
        collect(&value, &names, &mut found);
    }
    found
}

fn collect(value: &Value, names: &FxHashMap<&str, Symbol>, found: &mut FxHashSet<Symbol>) {
    match value {
        Value::String(text) => found.extend(names.get(text.as_str())),
        Value::Array(items) => items.iter().for_each(|item| collect(item, names, found)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, names, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds_of(names: &[&[&str]]) -> Vec<Vec<Symbol>> {
        names.iter().map(|kind| kind.iter().map(|name| Symbol::from(*name)).collect()).collect()
    }

    #[test]
    fn every_set_is_played_or_stands_for_by_one_that_is_alike() {
        #[track_caller]
        fn check(kinds: &[&[&str]], count: usize, expected: &[(&str, u64)]) {
            let mut sets = Vec::new();
            choose(&kinds_of(kinds), count, &mut Vec::new(), 1, &mut sets);
            let found: Vec<(&str, u64)> = sets.iter().map(|set| (set.label.as_str(), set.alike)).collect();
            assert_eq!(found, expected);
        }
        check(&[&["a"], &["b"], &["c"]], 2, &[("a + b", 1), ("a + c", 1), ("b + c", 1)]);
        check(&[&["a", "b", "c"]], 2, &[("a + b", 3)]);
        check(&[&["a", "b", "c"], &["x", "y"]], 2, &[("a + b", 3), ("a + x", 6), ("x + y", 1)]);
        check(&[&["a"]], 2, &[]);
    }

    #[test]
    fn numbers_in_names_count_as_numbers() {
        assert!(natural("worker-2") < natural("worker-10"));
    }
}
