//! What the API server refuses to make in a workload's name: a quota, a limit or another admission plugin stands against it.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::components::Which;
use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason, Request};
use crate::model::Object;
use crate::state::{StatefulSetId, Store, WorkloadId};
use crate::units::SimTime;

/// An object of the input that the API server refuses when a cold start applies it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedObject {
    /// Its kind.
    pub kind: &'static str,
    /// Its namespace; empty if it has none.
    pub namespace: Symbol,
    /// Its name.
    pub name: Symbol,
    /// What the server says.
    pub message: String,
}

impl RefusedObject {
    pub(super) fn new(object: &Object, error: ApiError) -> Self {
        let metadata = object.metadata();
        let message = error.message.to_string();
        Self { kind: object.kind().as_str(), namespace: metadata.namespace, name: metadata.name, message }
    }
}

impl fmt::Display for RefusedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name, message } = self;
        let separator = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{kind} {namespace}{separator}{name}: {message}")
    }
}

/// What a workload's controller asked for, and was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When it was first refused since all that it wants was there.
    pub since: SimTime,
    /// What the API server said last.
    pub message: String,
    /// Whether the last that was asked for was refused.
    pub is_last: bool,
}

/// The workloads that were refused something they want and still lack.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals(BTreeMap<WorkloadId, Refusal>);

impl Refusals {
    /// The API server was asked for something of that workload; `error` is why it refused.
    pub(super) fn asked(&mut self, owner: WorkloadId, error: Option<&ApiError>, now: SimTime, store: &Store) {
        if let Some(error) = error {
            let known = self.0.entry(owner).or_insert(Refusal { since: now, message: String::new(), is_last: true });
            (known.is_last, known.message) = (true, error.message.to_string());
        } else if let Some(known) = self.0.get_mut(&owner) {
            known.is_last = false;
            if lacks(owner, false, store) == 0 {
                self.0.remove(&owner);
            }
        }
    }

    /// Those that lack something, and how many pods.
    pub(super) fn iter<'a>(&'a self, store: &'a Store) -> impl Iterator<Item = (WorkloadId, &'a Refusal, u32)> {
        self.0.iter().map(|(owner, refusal)| (*owner, refusal, lacks(*owner, refusal.is_last, store)))
    }
}

/// Whether the same request would be refused again as long as nobody changes anything.
pub(super) fn is_final(error: &ApiError) -> bool {
    matches!(error.reason, ErrorReason::Forbidden | ErrorReason::Invalid)
}

/// The workload in whose name a controller asks for something new.
pub(super) fn owner_of(request: &Request, which: Which, store: &Store) -> Option<WorkloadId> {
    match request {
        Request::CreatePod(draft) => draft.owner.and_then(WorkloadId::from_owner),
        Request::CreateReplicaSet(new) => Some(WorkloadId::Deployment(new.deployment)),
        Request::CreateRevision(new) => Some(new.owner),
        Request::CreateJob { cron_job, .. } => Some(WorkloadId::CronJob(*cron_job)),
        Request::Create(object) if which == Which::StatefulSets => set_of_claim(object, store),
        _ => None,
    }
}

/// The set for whose pod a claim is made: `<template>-<set>-<ordinal>`.
fn set_of_claim(object: &Object, store: &Store) -> Option<WorkloadId> {
    let Object::PersistentVolumeClaim(claim) = object else { return None };
    let (namespace, name) = (claim.metadata.namespace, claim.metadata.name.as_str());
    let (name, _) = name.rsplit_once('-')?;
    let is_its = |id: StatefulSetId| {
        let Some(set) = store.stateful_sets.get(id).filter(|set| set.meta.namespace == namespace) else { return false };
        let template = name.strip_suffix(set.meta.name.as_str()).and_then(|rest| rest.strip_suffix('-'));
        template.is_some_and(|of| set.spec.volume_claim_templates.iter().any(|t| t.metadata.name.as_str() == of))
    };
    store.stateful_sets.ids().find(|id| is_its(*id)).map(WorkloadId::StatefulSet)
}

/// How many pods a workload wants more than there are. One whose ReplicaSet or Job is refused lacks at least that one's.
fn lacks(owner: WorkloadId, is_refused: bool, store: &Store) -> u32 {
    let active = store.tally(owner).active;
    let least = i32::from(is_refused);
    let stays = store.workload_meta(owner).is_some_and(|meta| meta.deleting.is_none());
    let missing = match owner {
        _ if !stays => 0,
        WorkloadId::ReplicaSet(id) => store.replica_sets.get(id).map_or(0, |set| set.replicas) - active,
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map_or(0, |s| s.spec.replicas.unwrap_or(1)) - active,
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).map_or(0, |set| set.status.desired) - active,
        WorkloadId::Deployment(id) => {
            let sets = store.replica_sets_of(id).iter();
            let there: i32 = sets.map(|set| store.tally(WorkloadId::ReplicaSet(*set)).active).sum();
            let wanted = store.deployments.get(id).map_or(0, |found| found.spec.replicas.unwrap_or(1));
            if wanted == 0 { 0 } else { (wanted - there).max(least) }
        }
        WorkloadId::Job(id) => {
            let job = store.jobs.get(id);
            let goes_on = job.is_some_and(|job| {
                let is_over = job.status.end().is_some();
                !is_over && job.spec.suspend != Some(true)
            });
            i32::from(goes_on) * least
        }
        WorkloadId::CronJob(_) => least,
    };
    u32::try_from(missing).unwrap_or(0)
}
