//! The namespace controller: empties a namespace that is being deleted, pods first.

use rustc_hash::FxHashMap;

use crate::arena::Symbol;
use crate::component::{
    Answer, ClientLimit, Config, Controller, Ctx, DeleteOptions, Enqueue, ErrorReason, Planned, Reconcile, Request,
    Start, Step, SyncPlan,
};
use crate::model::ObjectKind;
use crate::state::{Change, Changed, DeletionCause, Meta, Propagation, Store, WorkloadId};
use crate::units::SimDuration;

/// Time after a change of the namespace, the deletion's request or a condition, before the next pass.
const GRACE: SimDuration = SimDuration::from_secs(5);

/// Time between two passes while finalizers keep something: half of what such an object is estimated to take, and a second.
const HELD: SimDuration = SimDuration::from_secs(15 / 2 + 1);

/// The namespace controller.
///
/// # Source
/// kube-controller-manager, namespace-controller with the gate OrderedNamespaceDeletion (1.33+).
///
/// # Differs
/// A collection is deleted object by object. ConfigMaps and other kinds that are not modelled take no time. Conditions of the namespace are
/// known here alone.
#[derive(Clone, Debug, Default)]
pub struct Namespaces {
    /// Whether the condition of each namespace that goes says that its contents could not be deleted.
    failing: FxHashMap<Symbol, bool>,
}

/// Requests that delete everything of a namespace but its pods.
fn rest(store: &Store, namespace: Symbol) -> Vec<Request> {
    let is_here = |id: &WorkloadId| store.workload_meta(*id).is_some_and(|meta| meta.namespace == namespace);
    let mut requests: Vec<Request> = store
        .workload_ids()
        .filter(is_here)
        .map(|workload| Request::DeleteWorkload { workload, propagation: Propagation::Background })
        .collect();
    let others = (store.budgets.iter().map(|(_, o)| (ObjectKind::PodDisruptionBudget, &o.meta)))
        .chain(store.services.iter().map(|(_, o)| (ObjectKind::Service, &o.meta)))
        .chain(store.volumes.claims().map(|(_, o)| (ObjectKind::PersistentVolumeClaim, &o.meta)));
    let others = others.filter(|(_, meta)| meta.namespace == namespace);
    requests.extend(others.map(|(kind, meta)| Request::DeleteOther { kind: kind.into(), namespace, name: meta.name }));
    let autoscalers = store.autoscalers.keys().filter(|key| key.0 == namespace);
    let kind = ObjectKind::HorizontalPodAutoscaler.into();
    requests.extend(autoscalers.map(|key| Request::DeleteOther { kind, namespace, name: key.1 }));
    let revisions = store.controller_revisions.iter().filter(|(_, revision)| revision.meta.namespace == namespace);
    requests.extend(revisions.map(|(id, _)| Request::DeleteRevision { id }));
    requests
}

/// Whether finalizers of others keep an object of the namespace.
fn is_held(store: &Store, namespace: Symbol) -> bool {
    let is_held = |meta: &Meta| meta.namespace == namespace && !meta.finalizers.is_empty();
    store.workload_ids().any(|id| store.workload_meta(id).is_some_and(is_held))
        || store.volumes.claims().any(|(_, o)| is_held(&o.meta))
}

/// What a pass finds of the pods of a namespace.
#[derive(Debug, Default)]
struct Pods {
    /// Deletions of those that are not being deleted yet.
    requests: Vec<Request>,
    /// The longest grace of those that have not ended.
    grace: SimDuration,
    /// Some are still there when these deletions have been answered.
    remain: bool,
    /// And have finalizers.
    are_held: bool,
}

impl Pods {
    fn of(store: &Store, namespace: Symbol) -> Self {
        let mut found = Self::default();
        let mut pods: Vec<_> = store.pods_in(namespace).iter().copied().collect();
        pods.sort_unstable();
        for (id, pod) in pods.into_iter().filter_map(|id| store.pod(id).map(|pod| (id, pod))) {
            let grace_s = pod.spec.termination_grace_period_seconds.unwrap_or(30).max(0).unsigned_abs();
            if !pod.phase.is_terminal() {
                found.grace = found.grace.max(SimDuration::from_secs(grace_s));
            }
            if pod.deletion.is_none() {
                let options = DeleteOptions::default();
                found.requests.push(Request::DeletePod { pod: id, options, cause: DeletionCause::OwnerDeleted });
            }
            let goes_at_once = pod.node.is_none() || pod.phase.is_terminal() || grace_s == 0;
            found.remain |= pod.is_held() || pod.deletion.is_some() || !goes_at_once;
            found.are_held |= pod.is_held();
        }
        found
    }
}

fn concurrent(requests: Vec<Request>) -> Step<()> {
    Step::Concurrent(requests.into_iter().map(|request| Planned { request, purpose: () }).collect())
}

impl Reconcile for Namespaces {
    type Key = Symbol;
    type Purpose = ();
    const NAME: &'static str = "namespace-controller";
    const CONTROLLERS: &'static [&'static str] = &["namespace-controller"];

    fn workers(config: &Config) -> usize {
        config.kube_controller_manager.concurrent_namespace_syncs.max(1) as usize
    }

    fn client(config: &Config) -> ClientLimit {
        let limit = config.controller_client();
        ClientLimit { qps: limit.qps * 20.0, burst: limit.burst.saturating_mul(100) }
    }

    fn retry() -> (SimDuration, SimDuration, bool) {
        (SimDuration::from_millis(5), SimDuration::from_secs(60), true)
    }

    fn watches(changed: &Changed) -> bool {
        matches!(changed, Changed::NamespaceChanged(_))
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Symbol>) {
        for (_, namespace) in ctx.store.namespaces.iter().filter(|(_, n)| n.deleting_since.is_some()) {
            queue.after(namespace.name, GRACE);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Symbol>) {
        let Changed::NamespaceChanged(id) = &change.what else { return };
        if let Some(namespace) = ctx.store.namespaces.get(*id).filter(|n| n.deleting_since.is_some()) {
            queue.after(namespace.name, GRACE);
        }
    }

    fn sync(&mut self, name: Symbol, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<()> {
        let mut plan = SyncPlan::nothing();
        let store = ctx.store;
        if !store.is_terminating(name) {
            return plan;
        }
        let Pods { requests, grace, remain, are_held } = Pods::of(store, name);
        if !requests.is_empty() {
            plan.steps.push(concurrent(requests));
        }
        if remain {
            let since = store.namespace(name).and_then(|(_, namespace)| namespace.deleting_since);
            let passed = ctx.now.saturating_since(since.unwrap_or(ctx.now).floor_to_second());
            let estimate = if passed < grace { grace } else { SimDuration::ZERO };
            if !estimate.is_zero() {
                plan.requeue_after = Some(SimDuration::from_secs(estimate.as_secs() / 2 + 1));
            } else if are_held {
                plan.requeue_after = Some(HELD);
            } else {
                // They should have gone by now: that is an error, and tried again as any.
                plan.failed = true;
            }
            if self.failing.insert(name, plan.failed) != Some(plan.failed) {
                // The condition is written, and that is a change.
                plan.wake_after = Some(GRACE);
            }
            return plan;
        }
        let requests = rest(store, name);
        if !requests.is_empty() {
            plan.steps.push(concurrent(requests));
        }
        if is_held(store, name) {
            plan.requeue_after = Some(HELD);
        } else {
            self.failing.remove(&name);
            plan.then(Request::FinalizeNamespace { name }, ());
        }
        plan
    }

    fn answered(&mut self, _: Symbol, (): (), _: &Answer, _: &mut Ctx<'_, Controller<Self>>) {}

    fn is_failure((): (), answer: &Answer) -> bool {
        answer.as_ref().is_err_and(|error| error.reason != ErrorReason::NotFound)
    }
}
