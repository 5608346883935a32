//! Budgets that can never allow a disruption, once they have refused an eviction.

use std::collections::{BTreeMap, BTreeSet};

use super::named::{Names, and_more, length, moment};
use super::nodes::{NodeFacts, Turn};
use super::{Mechanism, Trap, TrapKind};
use crate::component::{Config, name_of_pod};
use crate::observe::workload::root_of;
use crate::state::{
    BudgetReason, Change, Changed, ObjectDelta, PodDisruptionBudget, PodDisruptionBudgetId, PodId, Store, WorkloadId,
};
use crate::units::{SimDuration, SimTime, counted};

/// A budget is looked at again after this time: its workloads may have grown.
const LOOK_AGAIN: SimDuration = SimDuration::from_secs(60);

/// Why a budget never allows anything.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Never {
    /// It wants as many healthy pods as there will ever be.
    Impossible { wanted: i32, replicas: i64 },
    /// The same of a single pod.
    SingleReplica,
    /// What it wants cannot be worked out.
    SyncFailed { message: String },
}

/// A budget that has refused something.
#[derive(Clone, Debug)]
struct Refusing {
    name: String,
    never: Option<Never>,
    looked_at: SimTime,
    refusals: u64,
    first_at: SimTime,
    last_at: SimTime,
    pods: BTreeSet<PodId>,
    names: Names,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Budgets {
    refusing: BTreeMap<PodDisruptionBudgetId, Refusing>,
}

impl Mechanism for Budgets {
    type Found = Vec<Trap>;

    fn begin(_: &NodeFacts, _: &Store, _: &Config) -> Self {
        Self::default()
    }

    fn changed(&mut self, change: &Change, _: Turn, _: &NodeFacts, _: &Store) {
        if let Changed::BudgetUpdated(budget, delta) = &change.what
            && delta.touches(ObjectDelta::SPEC)
            && let Some(refusing) = self.refusing.get_mut(budget)
        {
            refusing.looked_at = SimTime::MIN;
        }
    }

    fn refused(&mut self, now: SimTime, pod: PodId, store: &Store) {
        let Some(object) = store.pod(pod) else { return };
        let selects = |budget: &PodDisruptionBudget| {
            budget.meta.namespace == object.namespace
                && budget.spec.selector.as_ref().is_some_and(|selector| selector.matches(&object.labels))
        };
        let Some((id, budget)) = store.budgets.iter().find(|(_, budget)| selects(budget)) else { return };
        let refusing = self.refusing.entry(id).or_insert_with(|| Refusing {
            name: format!("poddisruptionbudget/{}/{}", budget.meta.namespace, budget.meta.name),
            never: None,
            looked_at: SimTime::MIN,
            refusals: 0,
            first_at: now,
            last_at: now,
            pods: BTreeSet::new(),
            names: Names::default(),
        });
        if refusing.looked_at == SimTime::MIN || now.saturating_since(refusing.looked_at) >= LOOK_AGAIN {
            refusing.looked_at = now;
            let never = never(budget, store);
            if refusing.refusals == 0 || never.is_some() {
                refusing.never = never;
            }
        }
        if refusing.never.is_none() {
            return;
        }
        if refusing.refusals == 0 {
            refusing.first_at = now;
        }
        refusing.refusals += 1;
        refusing.last_at = now;
        if refusing.pods.insert(pod) {
            refusing.names.add(name_of_pod(object));
        }
    }

    /// What budgets of several pods did, and budgets of one.
    fn finish(self, _: SimTime, _: &NodeFacts, _: &Store) -> Self::Found {
        let counted = self.refusing.into_values().filter(|refusing| refusing.refusals > 0);
        let (single, impossible): (Vec<_>, Vec<_>) =
            counted.partition(|refusing| refusing.never == Some(Never::SingleReplica));
        [trap(TrapKind::ImpossibleBudget, impossible), trap(TrapKind::SingleReplicaBudget, single)]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn trap(kind: TrapKind, mut budgets: Vec<Refusing>) -> Option<Trap> {
    budgets
        .sort_by_key(|budget| (std::cmp::Reverse(budget.last_at.saturating_since(budget.first_at)), budget.first_at));
    let first_at = budgets.iter().map(|budget| budget.first_at).min()?;
    let mut names = Names::default();
    for budget in &budgets {
        names.add(budget.name.clone());
    }
    let worst = budgets.first()?;
    let cost = worst.last_at.saturating_since(worst.first_at);
    let why = match worst.never.as_ref()? {
        Never::Impossible { wanted, replicas } => {
            format!("can never allow a disruption, as it wants {wanted} healthy pods of {replicas}")
        }
        Never::SingleReplica => "guards a workload of one pod, which can thus never be evicted".to_owned(),
        Never::SyncFailed { message } => {
            format!("allows no disruption, as what it wants cannot be worked out ({message})")
        }
    };
    let text = format!(
        "{} {why}: {} refused from {} on, for {}, of {}{}",
        worst.name,
        counted(worst.refusals, "eviction", "evictions"),
        moment(worst.first_at),
        length(cost),
        worst.names,
        and_more(budgets.len() - 1, "budget", "budgets")
    );
    Some(names.trap(kind, first_at, text, Some(cost)))
}

/// Why a budget can never allow a disruption; none if it can, once all its pods are healthy.
fn never(budget: &PodDisruptionBudget, store: &Store) -> Option<Never> {
    if let Some((false, BudgetReason::SyncFailed, message)) = &budget.status.condition {
        return Some(Never::SyncFailed { message: message.to_string() });
    }
    let selector = budget.spec.selector.as_ref()?;
    let pods = store.pods_in(budget.meta.namespace).iter().filter_map(|&pod| store.pod(pod));
    let mut replicas = 0_i64;
    let mut counted: BTreeSet<WorkloadId> = BTreeSet::new();
    for pod in pods.filter(|pod| selector.matches(&pod.labels)) {
        match root_of(pod, store) {
            Some(root) => {
                if let Some(size) = size_of(root, store) {
                    replicas += if counted.insert(root) { size } else { 0 };
                } else {
                    replicas += i64::from(pod.is_active());
                }
            }
            None => replicas += i64::from(pod.is_active()),
        }
    }
    let wanted = budget.status.desired_healthy;
    if replicas > i64::from(wanted) {
        return None;
    }
    Some(if replicas <= 1 { Never::SingleReplica } else { Never::Impossible { wanted, replicas } })
}

/// How many pods a workload will have when all is well; none if each counts for itself.
fn size_of(root: WorkloadId, store: &Store) -> Option<i64> {
    match root {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(|set| i64::from(set.spec.replicas.unwrap_or(1))),
        WorkloadId::ReplicaSet(id) => store.replica_sets.get(id).map(|set| i64::from(set.replicas)),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(|set| i64::from(set.spec.replicas.unwrap_or(1))),
        WorkloadId::DaemonSet(_) | WorkloadId::Job(_) | WorkloadId::CronJob(_) => None,
    }
}
