//! The resource quota controller: what is enforced, and what of it is used.

use crate::component::{
    Answer, Config, Controller, Counted, Ctx, Enqueue, Reconcile, Request, Start, StatusUpdate, SyncPlan, is_counted,
    quota_usage,
};
use crate::state::{Change, Changed, Pod, PodDelta, QuotaKey, Store, WorkloadId};
use crate::units::{SimDuration, SimTime};

/// The resource quota controller.
///
/// # Source
/// kube-controller-manager, resourcequota-controller: `syncResourceQuota`, `replenishQuota`; admission itself writes down what
/// it lets in.
///
/// # Differs
/// Kinds that decide nothing are counted anew at the next full pass, not when one of them is deleted. Of the two queues, of
/// which one is for quotas that were never counted, there is one.
#[derive(Clone, Debug, Default)]
pub struct ResourceQuotas {
    started_at: SimTime,
}

/// Time until the next full pass after an instant.
fn until_next_pass(started_at: SimTime, period: SimDuration, now: SimTime, after: SimTime) -> SimDuration {
    let since = after.saturating_since(started_at).as_nanos();
    let passes = since / period.as_nanos().max(1) + 1;
    let at = started_at + SimDuration::from_nanos(passes.saturating_mul(period.as_nanos()));
    at.saturating_since(now)
}

/// Quotas of the namespace that count objects of the kind.
fn enqueue(store: &Store, namespace: Option<crate::arena::Symbol>, kind: Counted<'_>, queue: &mut Enqueue<QuotaKey>) {
    let quotas = store.quotas.iter().filter(|(key, _)| namespace.is_none_or(|namespace| key.0 == namespace));
    for (key, quota) in quotas {
        if quota.hard.iter().any(|(name, _)| kind.may_use(name.as_str())) {
            queue.now(*key);
        }
    }
}

impl ResourceQuotas {
    /// How long until a pod of the namespace that should be gone no longer counts, and a full pass finds it so.
    fn wait(&self, key: QuotaKey, ctx: &Ctx<'_, Controller<Self>>) -> Option<SimDuration> {
        let store = ctx.store;
        let pods = store.pods_in(key.0).iter().filter_map(|id| store.pod(*id));
        pods.filter_map(|pod| self.wait_for(pod, ctx)).min()
    }

    /// The same for one pod; none if it is not being deleted.
    fn wait_for(&self, pod: &Pod, ctx: &Ctx<'_, Controller<Self>>) -> Option<SimDuration> {
        let period = ctx.config.kube_controller_manager.resource_quota_sync_period;
        let deletion = pod.deletion.filter(|_| period > SimDuration::ZERO && is_counted(pod, ctx.now))?;
        let over = (deletion.deadline + deletion.grace).max(ctx.now);
        Some(until_next_pass(self.started_at, period, ctx.now, over))
    }
}

impl Reconcile for ResourceQuotas {
    type Key = QuotaKey;
    type Purpose = ();
    const NAME: &'static str = "resourcequota-controller";
    const CONTROLLERS: &'static [&'static str] = &["resourcequota-controller"];

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_resource_quota_syncs.max(1) as usize
    }

    fn watches(changed: &Changed) -> bool {
        match changed {
            Changed::PodUpdated { delta, .. } => delta.touches(PodDelta::PHASE | PodDelta::DELETION),
            Changed::PodRemoved { .. }
            | Changed::QuotaChanged(_)
            | Changed::ServiceChanged(_)
            | Changed::ServiceRemoved(_)
            | Changed::ClaimRemoved(_)
            | Changed::WorkloadRemoved(_) => true,
            _ => false,
        }
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<QuotaKey>) {
        self.started_at = ctx.now;
        ctx.store.quotas.keys().for_each(|key| queue.now(*key));
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<QuotaKey>) {
        let store = ctx.store;
        if store.quotas.is_empty() {
            return;
        }
        match &change.what {
            Changed::QuotaChanged(key) => queue.now(*key),
            Changed::PodRemoved { last, .. } => {
                enqueue(store, Some(last.namespace), Counted::Pod { spec: &last.spec, is_live: true }, queue);
            }
            Changed::PodUpdated { pod, .. } => {
                let Some(pod) = store.pod(*pod) else { return };
                if pod.phase.is_terminal() {
                    enqueue(store, Some(pod.namespace), Counted::Pod { spec: &pod.spec, is_live: true }, queue);
                } else if let Some(wait) = self.wait_for(pod, ctx) {
                    let keys = store.quotas.keys().filter(|key| key.0 == pod.namespace);
                    keys.for_each(|key| queue.after(*key, wait));
                }
            }
            Changed::ServiceChanged(id) => {
                let Some(service) = store.services.get(*id) else { return };
                enqueue(store, Some(service.meta.namespace), Counted::Service(&service.spec), queue);
            }
            Changed::ServiceRemoved(_) => enqueue(store, None, Counted::Service(&Default::default()), queue),
            Changed::ClaimRemoved(claim) => {
                enqueue(store, Some(claim.meta.namespace), Counted::Claim(&claim.spec), queue);
            }
            Changed::WorkloadRemoved(id) => {
                for resource in resources(*id) {
                    enqueue(store, None, Counted::Other(resource), queue);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, key: QuotaKey, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let Some(quota) = ctx.store.quotas.get(&key) else { return plan };
        let used = quota_usage(ctx.store, key.0, &quota.spec, ctx.now);
        if quota.hard != quota.spec.hard || quota.used != used {
            let new = Box::new((quota.spec.hard.clone(), used));
            plan.then(Request::UpdateStatus(StatusUpdate::Quota(key, quota.version, new)), ());
        }
        plan.requeue_after = self.wait(key, ctx);
        plan
    }

    fn answered(&mut self, _: QuotaKey, (): (), _: &Answer, _: &mut Ctx<'_, Controller<Self>>) {}

    fn is_failure((): (), answer: &Answer) -> bool {
        answer.is_err()
    }
}

/// The resources that a workload of that kind is one of; both kinds of replica sets share their ids.
fn resources(id: WorkloadId) -> &'static [&'static str] {
    match id {
        WorkloadId::Deployment(_) => &["deployments.apps"],
        WorkloadId::ReplicaSet(_) => &["replicasets.apps", "replicationcontrollers"],
        WorkloadId::DaemonSet(_) => &["daemonsets.apps"],
        WorkloadId::StatefulSet(_) => &["statefulsets.apps"],
        WorkloadId::Job(_) => &["jobs.batch"],
        WorkloadId::CronJob(_) => &["cronjobs.batch"],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_passes_are_on_the_grid_of_the_start() {
        #[track_caller]
        fn check(now: u64, after: u64, expected: u64) {
            let at = |seconds| SimTime::ZERO + SimDuration::from_secs(seconds);
            let wait = until_next_pass(at(7), SimDuration::from_secs(300), at(now), at(after));
            assert_eq!(wait, SimDuration::from_secs(expected), "{now} {after}");
        }
        check(10, 10, 297);
        check(10, 310, 597);
        check(306, 306, 1);
    }
}
