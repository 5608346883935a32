//! Pods that were wanted while a case was played, and that the API server refused to make: they are never Pending.

use std::collections::BTreeMap;

use super::judge::Judge;
use super::shortfall::{Shortfall, ShortfallKind, WAIT_MAX, Wait};
use crate::model::{PodTemplateSpec, SYSTEM_PRIORITY_CLASSES};
use crate::simulation::Simulation;
use crate::state::{Owner, Store, WorkloadId};
use crate::units::SimTime;

/// Pods of a workload that could not be made for longer than pods have to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// How many at most.
    pub pods: u32,
    /// Of which workload, since when and until when, and what the API server said last.
    pub shortfall: Shortfall,
}

/// What is watched of refusals while a case is played.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// When a workload that had been refused something was last seen with all that it wants.
    whole: BTreeMap<WorkloadId, SimTime>,
    found: BTreeMap<(WorkloadId, SimTime), Refused>,
}

impl Refusals {
    /// Looks at what is refused now, and says when the next refusal will have lasted for too long.
    pub(super) fn look(&mut self, judge: Judge, run: &Simulation, now: SimTime) -> SimTime {
        let store = run.store();
        let mut next = SimTime::MAX;
        for (owner, refusal, pods) in run.refusals() {
            if pods == 0 {
                self.whole.insert(owner, now);
                continue;
            }
            let since = self.whole.get(&owner).map_or(refusal.since, |whole| refusal.since.max(*whole));
            if since + WAIT_MAX > now {
                next = next.min(since + WAIT_MAX);
                continue;
            }
            if !judge.counts_priority(priority(owner, store)) {
                continue;
            }
            let found = self.found.entry((owner, since)).or_insert_with(|| {
                let shortfall = Shortfall::new(ShortfallKind::Refused, name_of(owner, store), String::new());
                Refused { pods, shortfall: Shortfall { is_beyond_help: true, ..shortfall } }
            });
            found.pods = found.pods.max(pods);
            found.shortfall.why.clone_from(&refusal.message);
            found.shortfall.wait = Some(Wait { since, until: now });
        }
        next
    }

    /// What was refused, of each workload the worst, the most pods first.
    pub(super) fn into_worst(self) -> Vec<Refused> {
        let mut worst: BTreeMap<WorkloadId, Refused> = BTreeMap::new();
        for ((owner, _), found) in self.found {
            let known = worst.entry(owner).or_insert_with(|| found.clone());
            if found.pods > known.pods {
                *known = found;
            }
        }
        let mut worst: Vec<Refused> = worst.into_values().collect();
        worst.sort_by(|a, b| b.pods.cmp(&a.pods).then_with(|| a.shortfall.object.cmp(&b.shortfall.object)));
        worst
    }
}

/// The workload that people know: of a ReplicaSet, its Deployment; of a Job, its CronJob.
fn name_of(owner: WorkloadId, store: &Store) -> String {
    let root = match store.workload_meta(owner).and_then(|meta| meta.owner) {
        Some(Owner::Deployment(id)) => WorkloadId::Deployment(id),
        Some(Owner::CronJob(id)) => WorkloadId::CronJob(id),
        _ => owner,
    };
    let Some(meta) = store.workload_meta(root) else { return String::new() };
    format!("{}/{}/{}", store.workload_kind(root).as_str().to_ascii_lowercase(), meta.namespace, meta.name)
}

/// The priority that pods of a workload would be given.
fn priority(owner: WorkloadId, store: &Store) -> i32 {
    let Some(template) = template(owner, store) else { return 0 };
    let default =
        || store.priority_classes.iter().filter(|(_, class)| class.global_default).map(|(_, class)| class.value);
    match template.spec.priority_class_name {
        Some(name) => {
            let built_in =
                SYSTEM_PRIORITY_CLASSES.into_iter().find(|(known, _)| name == *known).map(|(_, value)| value);
            store.priority_class(name).map(|class| class.value).or(built_in).or(template.spec.priority).unwrap_or(0)
        }
        None => template.spec.priority.or_else(|| default().min()).unwrap_or(0),
    }
}

fn template(owner: WorkloadId, store: &Store) -> Option<&PodTemplateSpec> {
    match owner {
        WorkloadId::Deployment(id) => store.deployments.get(id).map(|found| &*found.spec.template),
        WorkloadId::ReplicaSet(id) => store.replica_sets.get(id).map(|found| &*found.spec.template),
        WorkloadId::DaemonSet(id) => store.daemon_sets.get(id).map(|found| &*found.spec.template),
        WorkloadId::StatefulSet(id) => store.stateful_sets.get(id).map(|found| &*found.spec.template),
        WorkloadId::Job(id) => store.jobs.get(id).map(|found| &*found.spec.template),
        WorkloadId::CronJob(id) => store.cron_jobs.get(id).map(|found| &*found.spec.job_template.spec.template),
    }
}
