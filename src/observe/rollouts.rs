//! What controllers could not bring about by the end: roll-outs that have not finished, and pods that the API server does not let
//! them make. Neither has to make a workload short: the old pods serve on, and a pod that is refused is never Pending.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Detail;
use super::observer::{Observer, Seen, Setup};
use super::workload::WorkloadKey;
use crate::arena::Symbol;
use crate::component::{EventDraft, Record, reason, same_template};
use crate::model::{DaemonSetUpdateStrategyType, StatefulSetUpdateStrategyType};
use crate::state::{
    Change, Changed, DaemonSet, Deployment, DeploymentId, JobConditionType, Owner, Pod, ReplicaSet, ReplicaSetId,
    StatefulSet, Store, WorkloadId,
};
use crate::units::SimTime;

/// A roll-out that has not finished at the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnfinishedRollout {
    /// Kind.
    pub kind: Symbol,
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// Pods of the newest template.
    pub updated: i32,
    /// Pods that are to be of it.
    pub wanted: i32,
    /// For how long it has not got on, in seconds.
    pub idle_s: f64,
    /// What its newest pods wait for, or why there are none; absent if nothing is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl UnfinishedRollout {
    pub(super) fn key(&self) -> WorkloadKey {
        WorkloadKey { namespace: self.namespace, kind: self.kind, name: self.name }
    }
}

/// A workload that wants more at the end than the API server lets its controller make.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefusedWorkload {
    /// Kind: as a user would name it, so that it is the Deployment where a ReplicaSet's pods are refused.
    pub kind: Symbol,
    /// Namespace.
    pub namespace: Symbol,
    /// Name.
    pub name: Symbol,
    /// For how long, in seconds: since the first refusal after which nothing could be made.
    pub refused_s: f64,
    /// What the API server said last.
    pub message: String,
}

impl RefusedWorkload {
    pub(super) fn key(&self) -> WorkloadKey {
        WorkloadKey { namespace: self.namespace, kind: self.kind, name: self.name }
    }
}

/// How far a roll-out has come: pods of the newest template, others (fewer are better), and those that are available.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Progress {
    updated: i32,
    old: i32,
    available: i32,
}

impl Progress {
    fn is_beyond(self, before: Self) -> bool {
        self.updated > before.updated || self.old < before.old || self.available > before.available
    }
}

#[derive(Clone, Debug)]
struct Refusal {
    since: SimTime,
    message: String,
}

/// Follows roll-outs, and creations that are refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollouts {
    /// Roll-outs under way, and when they last got on.
    under_way: BTreeMap<WorkloadId, (Progress, SimTime)>,
    refusals: BTreeMap<WorkloadId, Refusal>,
}

impl Rollouts {
    fn look(&mut self, id: WorkloadId, now: SimTime, store: &Store) {
        let Some(progress) = progress(id, store) else {
            self.under_way.remove(&id);
            return;
        };
        let known = self.under_way.entry(id).or_insert((progress, now));
        if progress.is_beyond(known.0) {
            known.1 = now;
        }
        known.0 = progress;
    }
}

impl Observer for Rollouts {
    const NEEDED_FOR: Detail = Detail::Summary;

    fn begin(&mut self, _setup: &Setup<'_>, seen: &Seen<'_>) {
        let store = seen.store;
        let deployments = store.deployments.iter().map(|(id, _)| WorkloadId::Deployment(id));
        let daemon_sets = store.daemon_sets.iter().map(|(id, _)| WorkloadId::DaemonSet(id));
        let stateful_sets = store.stateful_sets.iter().map(|(id, _)| WorkloadId::StatefulSet(id));
        for id in deployments.chain(daemon_sets).chain(stateful_sets) {
            self.look(id, SimTime::ZERO, store);
        }
    }

    fn changed(&mut self, change: &Change, seen: &Seen<'_>) {
        let store = seen.store;
        match change.what {
            Changed::WorkloadAdded(id) | Changed::WorkloadUpdated(id, _) => self.look(id, change.at, store),
            Changed::WorkloadRemoved(id) => {
                self.under_way.remove(&id);
                self.refusals.remove(&id);
            }
            Changed::PodAdded(pod) if !self.refusals.is_empty() => {
                let owner = store.pod(pod).and_then(|pod| WorkloadId::from_owner(pod.owner?));
                if let Some(owner) = owner {
                    self.refusals.remove(&owner);
                }
            }
            _ => {}
        }
    }

    fn recorded(&mut self, record: &Record, seen: &Seen<'_>) {
        let Seen { now, store, .. } = *seen;
        let Record::Event { event: EventDraft { reason, about, message, .. }, .. } = record else { return };
        let is_refusal = matches!(*reason, reason::FAILED_CREATE | reason::REPLICA_SET_CREATE_ERROR);
        if !is_refusal && (*reason != reason::SUCCESSFUL_CREATE || self.refusals.is_empty()) {
            return;
        }
        let Some(kind) = about.kind.object() else { return };
        let Some(id) = store.find_workload(kind, about.namespace, Symbol::new(&about.name)) else { return };
        if is_refusal {
            let refusal = self.refusals.entry(id).or_insert_with(|| Refusal { since: now, message: String::new() });
            refusal.message = essence(message).to_owned();
        } else if !is_of_claim(message) {
            self.refusals.remove(&id);
        }
    }
}

impl Rollouts {
    /// What is unfinished and what is refused, each by its name.
    pub(super) fn finish(self, end: SimTime, store: &Store) -> (Vec<UnfinishedRollout>, Vec<RefusedWorkload>) {
        let seconds = |since: SimTime| end.saturating_since(since).as_secs_f64();
        let mut refused: BTreeMap<String, RefusedWorkload> = BTreeMap::new();
        for (id, Refusal { since, message }) in self.refusals {
            let Some(key) = WorkloadKey::of(root(id, store), store).filter(|_| wants_more(id, store)) else { continue };
            let WorkloadKey { namespace, kind, name } = key;
            let found = RefusedWorkload { kind, namespace, name, refused_s: seconds(since), message };
            let known = refused.entry(key.to_string()).or_insert_with(|| found.clone());
            if found.refused_s > known.refused_s {
                *known = found;
            }
        }
        let mut unfinished: BTreeMap<String, UnfinishedRollout> = BTreeMap::new();
        for (id, (progress, since)) in self.under_way {
            let Some(key) = WorkloadKey::of(id, store) else { continue };
            // What is scaled at this moment is no roll-out.
            let waits_for_set = progress.old == 0 && matches!(id, WorkloadId::Deployment(_));
            if waits_for_set && newest_of(id, store).is_some() {
                continue;
            }
            let WorkloadKey { namespace, kind, name } = key;
            let object = key.to_string();
            let reason = refused.get(&object).map(|refused| refused.message.clone());
            let reason = reason.or_else(|| unscheduled(id, store));
            let (updated, wanted, idle_s) = (progress.updated, wanted(id, store), seconds(since));
            unfinished.insert(object, UnfinishedRollout { kind, namespace, name, updated, wanted, idle_s, reason });
        }
        (unfinished.into_values().collect(), refused.into_values().collect())
    }
}

/// Whether the creation of a StatefulSet's claim is told: its pod may be refused all the same.
pub(super) fn is_of_claim(message: &str) -> bool {
    let message = message.strip_prefix(COMBINED).unwrap_or(message);
    ["Create Claim ", "create Claim "].iter().any(|told| message.starts_with(told))
}

const COMBINED: &str = "(combined from similar events): ";

/// What the API server said, without what the recorder and the controller put before it.
pub(super) fn essence(message: &str) -> &str {
    let message = message.strip_prefix(COMBINED).unwrap_or(message);
    let message = message.strip_prefix("Error creating job: ").unwrap_or(message);
    message.strip_prefix("Error creating: ").unwrap_or(message)
}

/// A ReplicaSet's Deployment; everything else itself.
pub(super) fn root(id: WorkloadId, store: &Store) -> WorkloadId {
    let WorkloadId::ReplicaSet(set) = id else { return id };
    match store.replica_sets.get(set).and_then(|set| set.meta.owner) {
        Some(Owner::Deployment(deployment)) => WorkloadId::Deployment(deployment),
        _ => id,
    }
}

/// How far the roll-out of a workload has come; none if there is none under way.
fn progress(id: WorkloadId, store: &Store) -> Option<Progress> {
    match id {
        WorkloadId::Deployment(id) => of_deployment(store.deployments.get(id)?),
        WorkloadId::DaemonSet(id) => of_daemon_set(store.daemon_sets.get(id)?),
        WorkloadId::StatefulSet(id) => of_stateful_set(store.stateful_sets.get(id)?),
        _ => None,
    }
}

/// Pods of other templates stand, or the controller has not even made the ReplicaSet.
fn of_deployment(of: &Deployment) -> Option<Progress> {
    let status = &of.status;
    let old = (status.replicas - status.updated).max(0);
    let is_unseen = status.observed_generation < of.meta.generation;
    let is_over = of.spec.paused || of.meta.deleting.is_some() || of.spec.replicas == Some(0);
    (!is_over && (old > 0 || is_unseen)).then_some(Progress {
        updated: status.updated,
        old,
        available: status.available,
    })
}

fn of_daemon_set(of: &DaemonSet) -> Option<Progress> {
    let status = &of.status;
    let rolls = of.spec.update_strategy.strategy_type != Some(DaemonSetUpdateStrategyType::OnDelete);
    let old = (status.current - status.updated).max(0);
    let progress = Progress { updated: status.updated, old, available: status.available };
    (rolls && of.meta.deleting.is_none() && old > 0).then_some(progress)
}

fn of_stateful_set(of: &StatefulSet) -> Option<Progress> {
    let status = &of.status;
    let rolls = of.spec.update_strategy.strategy_type != Some(StatefulSetUpdateStrategyType::OnDelete);
    let is_new = status.update_revision == status.current_revision;
    let left = wanted_of_stateful_set(of) - status.updated;
    let progress = Progress { updated: status.updated, old: left, available: status.available };
    (rolls && !is_new && of.meta.deleting.is_none() && left > 0).then_some(progress)
}

/// Those from the partition on.
fn wanted_of_stateful_set(of: &StatefulSet) -> i32 {
    let partition = of.spec.update_strategy.rolling_update.as_ref().and_then(|update| update.partition).unwrap_or(0);
    of.spec.replicas.unwrap_or(1).saturating_sub(partition.max(0)).max(0)
}

/// Pods that are to be of the newest template.
fn wanted(id: WorkloadId, store: &Store) -> i32 {
    match id {
        WorkloadId::Deployment(id) => store.deployments.get(id).map_or(0, |of| of.spec.replicas.unwrap_or(1)),
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).map_or(0, |of| of.status.desired),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map_or(0, wanted_of_stateful_set),
        _ => 0,
    }
}

/// Whether a workload whose last creation was refused still wants what it could not make.
fn wants_more(id: WorkloadId, store: &Store) -> bool {
    if store.workload_meta(id).is_none_or(|meta| meta.deleting.is_some()) {
        return false;
    }
    let active = store.tally(id).active;
    match id {
        WorkloadId::Deployment(_) => newest_of(id, store).is_none(),
        WorkloadId::ReplicaSet(id) => store.replica_sets.get(id).is_some_and(|of| active < of.replicas),
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).is_some_and(|of| of.status.current < of.status.desired),
        WorkloadId::StatefulSet(id) => {
            store.stateful_sets.get(id).is_some_and(|of| active < of.spec.replicas.unwrap_or(1))
        }
        WorkloadId::Job(id) => store.jobs.get(id).is_some_and(|of| {
            let ended = [JobConditionType::Suspended, JobConditionType::FailureTarget];
            let is_over = of.status.end().is_some() || ended.iter().any(|kind| of.status.condition(*kind).is_some());
            let left = of.spec.completions.map_or(i32::MAX, |all| all - of.status.succeeded);
            !is_over && active < of.spec.parallelism.unwrap_or(1).min(left)
        }),
        WorkloadId::CronJob(_) => true,
    }
}

/// The ReplicaSet of a Deployment's template.
fn newest_of(id: WorkloadId, store: &Store) -> Option<(ReplicaSetId, &ReplicaSet)> {
    let WorkloadId::Deployment(id) = id else { return None };
    newest_set(id, store)
}

fn newest_set(id: DeploymentId, store: &Store) -> Option<(ReplicaSetId, &ReplicaSet)> {
    let template = &store.deployments.get(id)?.spec.template;
    let sets = store.replica_sets_of(id).iter().filter_map(|id| Some((*id, store.replica_sets.get(*id)?)));
    sets.into_iter().find(|(_, set)| same_template(&set.spec.template, template))
}

/// What the scheduler said of the newest pods.
fn unscheduled(id: WorkloadId, store: &Store) -> Option<String> {
    let owner = newest_of(id, store).map_or(id, |(id, _)| WorkloadId::ReplicaSet(id));
    let pods = store.pods_of(owner).iter().filter_map(|pod| store.pod(*pod));
    let waits = |pod: &&Pod| pod.node.is_none() && pod.is_active();
    pods.filter(waits).find_map(|pod| Some(pod.not_scheduled.as_ref()?.message.to_string()))
}
