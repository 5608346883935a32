//! How large a cluster is, and what it has to hold at least.

use super::super::edit::path_of;
use super::amount::Amount;
use super::definition::Plan;
use crate::arena::Symbol;
use crate::diagnostics::Location;
use crate::model::{NoExecuteStay, Object, ObjectKind, Taint, TaintEffect, no_execute_stay, zone_of};
use crate::scenario::ResolvedScenario;
use crate::state::{Owner, Pod, Store, WorkloadId};

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
        changed.objects.extend(pool.objects(Location::file(scenario.name.as_str())));
    }
    changed
}

/// Gives a workload another number of replicas; where there is none of that name, nothing changes.
pub(super) fn set_replicas(scenario: &mut ResolvedScenario, workload: &str, replicas: u32) {
    let replicas = i32::try_from(replicas).unwrap_or(i32::MAX);
    for object in scenario.objects.iter_mut().filter(|object| path_of(&object.object) == workload) {
        match &mut object.object {
            Object::Deployment(deployment) => deployment.spec.replicas = Some(replicas),
            Object::StatefulSet(set) => set.spec.replicas = Some(replicas),
            _ => {}
        }
    }
}

/// The taint of a node that nobody hears of.
pub(super) fn unreachable() -> Taint {
    Taint::new(Symbol::new("node.kubernetes.io/unreachable"), Symbol::empty(), TaintEffect::NoExecute)
}

/// Whether a pod stays on a lost node for ever, by its own tolerations.
pub(super) fn stays_for_ever(pod: &Pod) -> bool {
    no_execute_stay(&[unreachable()], &pod.spec.tolerations) == NoExecuteStay::Forever
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
        let mut total = Amount::default();
        for pod in counted_pods(store, scenario, priority) {
            total.add(&pod.spec.requests, 1);
        }
        Self(total)
    }
}

/// The workloads of which an autoscaler sets how many pods there are.
pub(super) fn scaled(store: &Store, scenario: &ResolvedScenario) -> Vec<WorkloadId> {
    let autoscalers = &scenario.procedures.workload_autoscalers;
    let objects = store.autoscalers.iter().filter_map(|((namespace, _), autoscaler)| {
        let target = &autoscaler.spec.scale_target_ref;
        Some((ObjectKind::named(target.kind.as_str())?, *namespace, target.name))
    });
    (autoscalers.iter())
        .filter_map(|spec| spec.target_parts())
        .chain(objects)
        .filter_map(|(kind, namespace, name)| store.find_workload(kind, namespace, name))
        .collect()
}

/// The pods that [`Demand`] is the sum of.
pub(super) fn counted_pods<'a>(store: &'a Store, scenario: &ResolvedScenario, priority: i32) -> Vec<&'a Pod> {
    let scaled = scaled(store, scenario);
    let is_scaled = |workload: WorkloadId| scaled.contains(&workload);
    let mut found: Vec<&Pod> = Vec::new();
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
        found.extend(pods.filter(counts).filter(|pod| !stays_for_ever(pod)));
    }
    found
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
            let mut losses = case.kind.least_losses(&given).into_iter();
            let why = losses.find_map(|(lost, left)| short(all - lost, left));
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
