//! How large a cluster is, and what it has to hold at least.

use smallvec::SmallVec;

use super::document::{CaseKind, Plan};
use crate::arena::Symbol;
use crate::diagnostics::Location;
use crate::model::{
    ManifestObject, NoExecuteStay, Node, Object, ObjectKind, Resources, Taint, TaintEffect, no_execute_stay, zone_of,
};
use crate::scenario::ResolvedScenario;
use crate::state::{Node as LiveNode, Owner, Pod, Store, WorkloadId};

/// A scenario with other counts of some of its pools, by position.
pub(super) fn with_counts(scenario: &ResolvedScenario, counts: &[(usize, u32)]) -> ResolvedScenario {
    let mut changed = scenario.clone();
    let of_pools: usize = scenario.pools.iter().map(|pool| pool.count as usize).sum();
    // The nodes of the pools stand behind all other objects.
    changed.objects.truncate(scenario.objects.len() - of_pools);
    for &(index, count) in counts {
        changed.pools[index].count = count;
    }
    for pool in &changed.pools {
        let nodes = (0..pool.count).map(|index| Object::from(pool.node(index)));
        changed.objects.extend(nodes.map(|object| {
            let source = Location::file(scenario.name.as_str());
            ManifestObject {
                object,
                source,
                names_namespace: true,
                unknown_fields: Vec::new(),
                api_version: Symbol::empty(),
            }
        }));
    }
    changed
}

/// The taint of a node that nobody hears of.
pub(super) fn unreachable() -> Taint {
    Taint::new(Symbol::new("node.kubernetes.io/unreachable"), Symbol::empty(), TaintEffect::NoExecute)
}

/// Whether a pod stays on a lost node for ever, by its own tolerations.
pub(super) fn stays_for_ever(pod: &Pod) -> bool {
    no_execute_stay(&[unreachable()], &pod.spec.tolerations) == NoExecuteStay::Forever
}

/// An amount of everything that nodes give and pods ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub(super) resources: Resources,
    pub(super) pods: i64,
}

impl Amount {
    pub(super) fn add(&mut self, resources: &Resources, pods: i64) {
        self.resources.add(resources);
        self.pods += pods;
    }

    /// The parts by name.
    fn parts(&self) -> SmallVec<[(Symbol, i64); 6]> {
        let Resources { cpu_milli, memory, ephemeral_storage, scalars } = &self.resources;
        let named = [("cpu", *cpu_milli), ("memory", *memory), ("ephemeral-storage", *ephemeral_storage)];
        let named = named.into_iter().map(|(name, amount)| (Symbol::new(name), amount));
        named.chain(scalars.iter().copied()).chain([(Symbol::new("pods"), self.pods)]).collect()
    }

    fn part(&self, name: Symbol) -> i64 {
        self.parts().iter().find(|part| part.0 == name).map_or(0, |part| part.1)
    }

    pub(super) fn of_node(node: &LiveNode) -> Self {
        Self { resources: (*node.allocatable).clone(), pods: node.allocatable_pods }
    }

    fn of_object(node: &Node) -> Self {
        // What is not said must not rule anything out.
        const UNKNOWN: i64 = 1_000_000;
        let status = &node.status;
        let list = if status.allocatable.is_empty() { &status.capacity } else { &status.allocatable };
        let pods = list.get(Symbol::new("pods")).map_or(UNKNOWN, |pods| pods.value());
        Self { resources: Resources::from(list), pods }
    }
}

/// What has to find a place in every case: the pods of Deployments and ReplicaSets that nothing but a lack of room keeps from it.
///
/// A pod counts if it belongs to a ReplicaSet that has all its pods, is the only one of its Deployment with pods, has the plan's
/// priority, waits for no gate, and leaves a lost node; and if no autoscaler sets how many there are of it. Of these a lost one is always made anew, so that in the end of a case that is survived
/// exactly as many stand on nodes that are left. Pods of StatefulSets are not counted, as on a lost node they wait for its
/// return, nor are those of Jobs, which end, of DaemonSets, whose number follows the nodes, and single pods, which nobody makes
/// anew.
#[derive(Clone, Debug, Default)]
pub(super) struct Demand(Amount);

impl Demand {
    pub(super) fn of(store: &Store, scenario: &ResolvedScenario, priority: i32) -> Self {
        let autoscalers = &scenario.procedures.workload_autoscalers;
        let objects = store.autoscalers.iter().filter_map(|((namespace, _), autoscaler)| {
            let target = &autoscaler.spec.scale_target_ref;
            Some((ObjectKind::named(target.kind.as_str())?, *namespace, target.name))
        });
        let scaled: Vec<WorkloadId> = (autoscalers.iter())
            .filter_map(|spec| spec.target_parts())
            .chain(objects)
            .filter_map(|(kind, namespace, name)| store.find_workload(kind, namespace, name))
            .collect();
        let is_scaled = |workload: WorkloadId| scaled.contains(&workload);
        let mut total = Amount::default();
        for (id, set) in store.replica_sets.iter() {
            let owner = WorkloadId::ReplicaSet(id);
            let is_whole = store.tally(owner).active == set.replicas;
            let has_fixed_number = match set.meta.owner {
                _ if is_scaled(owner) => false,
                None => true,
                Some(Owner::Deployment(deployment)) if is_scaled(WorkloadId::Deployment(deployment)) => false,
                Some(Owner::Deployment(deployment)) => {
                    let others = store.replica_sets_of(deployment).iter().filter(|other| **other != id);
                    let wanted = store.deployments.get(deployment).map(|d| d.spec.replicas.unwrap_or(1));
                    wanted == Some(set.replicas)
                        && others.filter_map(|other| store.replica_sets.get(*other)).all(|other| other.replicas == 0)
                }
                Some(_) => false,
            };
            if !is_whole || !has_fixed_number {
                continue;
            }
            let pods = store.pods_of(owner).iter().filter_map(|pod| store.pod(*pod)).filter(|pod| pod.is_active());
            let counts = |pod: &&Pod| pod.spec.priority >= priority && pod.spec.scheduling_gates.is_empty();
            for pod in pods.filter(counts).filter(|pod| !stays_for_ever(pod)) {
                total.add(&pod.spec.requests, 1);
            }
        }
        Self(total)
    }
}

/// Why counts cannot be enough, if what the nodes give already tells: in some case the nodes that are left give less of a
/// resource than the pods ask for that must find a place on them.
///
/// This needs no monotony: it looks at these counts alone, and only at a condition that is necessary whatever the scheduler does.
/// Of each resource a case of so many nodes takes, in one of its plays, the nodes that have most of it; a case of zones takes, in
/// one of its plays, each zone.
pub(super) fn too_little(plan: &Plan, scenario: &ResolvedScenario, demand: &Demand) -> Option<String> {
    let nodes: Vec<(Amount, Option<Symbol>)> = (scenario.objects.iter())
        .filter_map(|object| match &object.object {
            Object::Node(node) => Some((Amount::of_object(node), zone_of(&node.metadata.labels))),
            _ => None,
        })
        .collect();
    let mut zones: Vec<Symbol> = nodes.iter().filter_map(|(_, zone)| *zone).collect();
    zones.sort_unstable();
    zones.dedup();
    for (name, wanted) in demand.0.parts().into_iter().filter(|part| part.1 > 0) {
        let given: Vec<(i64, Option<Symbol>)> = nodes.iter().map(|(amount, zone)| (amount.part(name), *zone)).collect();
        let all: i64 = given.iter().map(|given| given.0).sum();
        let short = |left: i64, lost: String| {
            (left < wanted).then(|| format!("{lost}{} of {} asked for", show(name, left), show(name, wanted)))
        };
        if let Some(why) = short(all, "all nodes together give ".to_owned()) {
            return Some(why);
        }
        for case in &plan.cases {
            let why = match case.kind {
                CaseKind::Zone => zones.iter().find_map(|zone| {
                    let lost: i64 = given.iter().filter(|given| given.1 == Some(*zone)).map(|given| given.0).sum();
                    short(all - lost, format!("without zone {zone} the nodes give "))
                }),
                CaseKind::Nodes(count) => {
                    let mut largest: Vec<i64> = given.iter().map(|given| given.0).collect();
                    largest.sort_unstable_by(|a, b| b.cmp(a));
                    let lost: i64 = largest.iter().take(count as usize).sum();
                    let which =
                        if count == 1 { "the largest node".to_owned() } else { format!("the largest {count} nodes") };
                    short(all - lost, format!("without {which} the others give "))
                }
                CaseKind::RollingUpgrade(_) | CaseKind::Scenario(_) => None,
            };
            if why.is_some() {
                return why;
            }
        }
    }
    None
}

/// An amount of a resource for people.
fn show(name: Symbol, amount: i64) -> String {
    match name.as_str() {
        "cpu" => format!("{} CPU", amount as f64 / 1000.0),
        "memory" | "ephemeral-storage" => format!("{:.1} GiB of {name}", amount as f64 / f64::from(1 << 30)),
        _ => format!("{amount} {name}"),
    }
}
