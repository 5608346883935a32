//! The disruption controller: how many pods of a budget may be taken away now.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::arena::Symbol;
use crate::component::{
    Answer, Config, Controller, Ctx, Enqueue, ErrorReason, EventDraft, ObjectRef, Planned, PodStatusPatch, Reconcile,
    Request, Start, StatusUpdate, SyncPlan,
};
use crate::model::{LabelSelector, LabelSelectorRequirement, ObjectKind, PodDisruptionBudgetSpec};
use crate::state::{
    BudgetReason, Change, Changed, DeploymentId, DisruptionReason, ObjectDelta, Owner, Pod, PodDelta,
    PodDisruptionBudget, PodDisruptionBudgetId, PodDisruptionBudgetStatus, PodId, ReplicaSetId, StatefulSetId, Store,
};
use crate::units::{Rounding, SimDuration, SimTime};

/// How long an accepted eviction may take to show as a deletion.
const DELETION_TIMEOUT: SimDuration = SimDuration::from_secs(120);

/// How long a DisruptionTarget condition may stand on a pod that lives on.
const STALE_DISRUPTION_TIMEOUT: SimDuration = SimDuration::from_secs(120);

/// How long after an entry has run out it is looked at: it passes through a second queue, which lets a key wait at least this long.
const RECHECK_LAG: SimDuration = SimDuration::from_millis(5);

/// What the queue holds.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// A budget.
    Budget(PodDisruptionBudgetId),
    /// A pod whose DisruptionTarget condition may have become stale.
    StalePod(PodId),
}

/// What a call of this controller was for.
#[derive(Copy, Clone, Debug)]
pub enum Purpose {
    /// Writing a budget's status.
    Status,
    /// Taking back a stale condition.
    Stale,
}

type Members = IndexSet<PodId, FxBuildHasher>;

/// The disruption controller.
///
/// # Source
/// kube-controller-manager, disruption controller.
///
/// # Differs
/// Of several budgets that match a pod the first by name is taken. Pod updates that cannot change a count do not sync the
/// budget.
#[derive(Clone, Debug, Default)]
pub struct Disruption {
    /// Budgets by namespace, in the order of their names.
    by_namespace: FxHashMap<Symbol, BTreeMap<Symbol, PodDisruptionBudgetId>>,
    /// Pods that each budget selects.
    members: FxHashMap<PodDisruptionBudgetId, Members>,
}

/// What stands for the wanted number of pods: the object with a scale that controls them in the end.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
enum Scaled {
    Deployment(DeploymentId),
    ReplicaSet(ReplicaSetId),
    StatefulSet(StatefulSetId),
}

/// Expected pods of a budget, and whether pods without a controller were left out.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct Expected {
    expected: i32,
    desired: i32,
    has_unmanaged: bool,
}

/// # Source
/// disruption controller, `getExpectedPodCount`: percentages round up, and their base is what the owners want.
fn expected(store: &Store, spec: &PodDisruptionBudgetSpec, pods: &[(PodId, &Pod)]) -> Result<Expected, String> {
    if let Some(max_unavailable) = spec.max_unavailable {
        let (expected, has_unmanaged) = wanted_by_owners(store, pods)?;
        let desired = (expected - max_unavailable.resolve(expected, Rounding::Up)).max(0);
        return Ok(Expected { expected, desired, has_unmanaged });
    }
    match spec.min_available {
        None => Ok(Expected { expected: 0, desired: 0, has_unmanaged: false }),
        Some(crate::units::IntOrPercent::Int(desired)) => {
            Ok(Expected { expected: pods.len() as i32, desired, has_unmanaged: false })
        }
        Some(percent) => {
            let (expected, has_unmanaged) = wanted_by_owners(store, pods)?;
            Ok(Expected { expected, desired: percent.resolve(expected, Rounding::Up), has_unmanaged })
        }
    }
}

/// The sum of `spec.replicas` over the distinct owners of the pods.
///
/// # Differs
/// An owner of a kind that is not modelled counts as wanting the pods it has.
fn wanted_by_owners(store: &Store, pods: &[(PodId, &Pod)]) -> Result<(i32, bool), String> {
    let mut seen: IndexSet<Scaled, FxBuildHasher> = IndexSet::default();
    let (mut wanted, mut has_unmanaged) = (0, false);
    for (_, pod) in pods {
        let found = match pod.owner {
            None => {
                has_unmanaged = true;
                continue;
            }
            Some(Owner::Foreign { .. }) => {
                wanted += 1;
                continue;
            }
            Some(Owner::DaemonSet(_)) => return Err("daemonsets.apps does not implement the scale subresource".into()),
            Some(Owner::Job(_)) => return Err("jobs.batch does not implement the scale subresource".into()),
            Some(Owner::Node(_)) => return Err("nodes does not implement the scale subresource".into()),
            Some(Owner::ReplicaSet(id)) => scale_of_set(store, id),
            Some(Owner::StatefulSet(id)) => {
                let set = store.stateful_sets.get(id);
                set.map(|set| (Scaled::StatefulSet(id), set.spec.replicas.unwrap_or(1)))
            }
            Some(Owner::Deployment(_) | Owner::CronJob(_)) => None,
        };
        let (owner, replicas) = found.ok_or_else(|| format!("found no controllers for pod {:?}", pod.name))?;
        if seen.insert(owner) {
            wanted += replicas;
        }
    }
    Ok((wanted, has_unmanaged))
}

/// A ReplicaSet's scale: that of its Deployment, or its own if no Deployment is there.
fn scale_of_set(store: &Store, id: ReplicaSetId) -> Option<(Scaled, i32)> {
    let set = store.replica_sets.get(id)?;
    if let Some(Owner::Deployment(owner)) = set.meta.owner
        && let Some(deployment) = store.deployments.get(owner)
    {
        return Some((Scaled::Deployment(owner), deployment.spec.replicas.unwrap_or(1)));
    }
    Some((Scaled::ReplicaSet(id), set.replicas))
}

/// A recomputed budget.
#[derive(Debug)]
struct BudgetStatus {
    status: PodDisruptionBudgetStatus,
    has_unmanaged: bool,
    /// Pods whose eviction was accepted long ago and which live on.
    not_deleted: Vec<PodId>,
    /// When an entry of `disruptedPods` runs out.
    recheck_after: Option<SimDuration>,
}

/// # Source
/// disruption controller, `trySync`: `buildDisruptedPodMap`, `countHealthyPods`, `updatePdbStatus`.
fn judge(
    store: &Store,
    budget: &PodDisruptionBudget,
    pods: &[(PodId, &Pod)],
    now: SimTime,
) -> Result<BudgetStatus, String> {
    let wanted = expected(store, &budget.spec, pods)?;
    let mut disrupted: BTreeMap<Arc<str>, SimTime> = BTreeMap::new();
    let mut not_deleted = Vec::new();
    let mut recheck_at: Option<SimTime> = None;
    let mut healthy = 0;
    for (id, pod) in pods {
        if pod.deletion.is_some() {
            continue;
        }
        if let Some(&granted_at) = budget.status.disrupted_pods.get(&pod.name) {
            let until = granted_at + DELETION_TIMEOUT;
            if until < now {
                not_deleted.push(*id);
            } else {
                disrupted.insert(Arc::clone(&pod.name), granted_at);
                recheck_at = Some(recheck_at.map_or(until, |other| other.min(until)));
                if until > now {
                    continue;
                }
            }
        }
        healthy += i32::from(pod.is_ready());
    }
    let allowed = if wanted.expected <= 0 { 0 } else { (healthy - wanted.desired).max(0) };
    let (holds, reason) =
        if allowed > 0 { (true, BudgetReason::SufficientPods) } else { (false, BudgetReason::InsufficientPods) };
    let status = PodDisruptionBudgetStatus {
        observed_generation: budget.meta.generation,
        disruptions_allowed: allowed,
        current_healthy: healthy,
        desired_healthy: wanted.desired,
        expected_pods: wanted.expected,
        disrupted_pods: disrupted,
        condition: Some((holds, reason, Arc::from(""))),
    };
    let recheck_after = recheck_at.map(|at| at.saturating_since(now) + RECHECK_LAG);
    Ok(BudgetStatus { status, has_unmanaged: wanted.has_unmanaged, not_deleted, recheck_after })
}

/// The status after a sync that failed: nothing is allowed, counts stay.
fn fail_safe(budget: &PodDisruptionBudget, error: &str) -> PodDisruptionBudgetStatus {
    PodDisruptionBudgetStatus {
        disruptions_allowed: 0,
        condition: Some((false, BudgetReason::SyncFailed, Arc::from(error))),
        ..budget.status.clone()
    }
}

/// A selector as Go prints it.
fn go_text(selector: &LabelSelector) -> String {
    let labels: String = selector.match_labels.iter().map(|(key, value)| format!("{key}: {value},")).collect();
    let expression = |requirement: &LabelSelectorRequirement| {
        let values: Vec<&str> = requirement.values.iter().map(|value| value.as_str()).collect();
        let (key, operator) = (requirement.key, requirement.operator);
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
    };
    let expressions: String = selector.match_expressions.iter().map(expression).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

fn budget_ref(budget: &PodDisruptionBudget) -> ObjectRef {
    ObjectRef {
        uid: budget.meta.uid,
        ..ObjectRef::named(ObjectKind::PodDisruptionBudget, budget.meta.namespace, budget.meta.name.as_str())
    }
}

/// How long a pod's condition is still fresh; none if it can never become stale.
///
/// # Source
/// disruption controller, `nonTerminatingPodHasStaleDisruptionCondition`.
fn stale_after(pod: &Pod, now: SimTime) -> Option<SimDuration> {
    let target = pod.disruption_target?;
    let may_be_stale = target.status
        && target.reason != DisruptionReason::TerminationByKubelet
        && pod.deletion.is_none()
        && !pod.phase.is_terminal();
    // The API keeps times in whole seconds.
    may_be_stale.then(|| (target.since.floor_to_second() + STALE_DISRUPTION_TIMEOUT).saturating_since(now))
}

impl Disruption {
    fn add_budget(&mut self, id: PodDisruptionBudgetId, store: &Store) {
        let Some(budget) = store.budgets.get(id) else { return };
        self.by_namespace.entry(budget.meta.namespace).or_default().insert(budget.meta.name, id);
        // A scan of the namespace, once per budget and change of its selector: later changes come one by one.
        let members = match &budget.spec.selector {
            None => Members::default(),
            Some(selector) => {
                let pods = store.pods_in(budget.meta.namespace).iter().copied();
                pods.filter(|&pod| store.pod(pod).is_some_and(|p| selector.matches(&p.labels))).collect()
            }
        };
        self.members.insert(id, members);
    }

    fn remove_budget(&mut self, id: PodDisruptionBudgetId) {
        self.members.remove(&id);
        // Budgets are few, and one goes rarely; each is looked up by itself, so that the order cannot matter.
        #[expect(clippy::iter_over_hash_type, reason = "every map is treated alike, whatever the order")]
        for budgets in self.by_namespace.values_mut() {
            budgets.retain(|_, other| *other != id);
        }
    }

    /// Enqueues the budget of a pod and says if there are several.
    fn enqueue_budget_of(&self, pod: &Pod, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        let Some(budgets) = self.by_namespace.get(&pod.namespace) else { return };
        let selects =
            |id: &&PodDisruptionBudgetId| selector_of(ctx.store, **id).is_some_and(|s| s.matches(&pod.labels));
        let mut matching = budgets.values().filter(selects).copied();
        let Some(first) = matching.next() else { return };
        let is_one_of_several = matching.next().is_some();
        queue.now(Key::Budget(first));
        if is_one_of_several && let Some(budget) = ctx.store.budgets.get(first) {
            let message = format!(
                "Pod {:?}/{:?} matches multiple PodDisruptionBudgets.  Chose {:?} arbitrarily.",
                pod.namespace.as_str(),
                pod.name,
                budget.meta.name.as_str()
            );
            ctx.event(EventDraft::warning("MultiplePodDisruptionBudgets", ObjectRef::pod(pod), message));
        }
    }

    /// Puts a pod into the budgets that select it, and takes it out of the others.
    fn place(&mut self, id: PodId, pod: &Pod, store: &Store) {
        let Some(budgets) = self.by_namespace.get(&pod.namespace) else { return };
        for budget in budgets.values() {
            let Some(members) = self.members.get_mut(budget) else { continue };
            if selector_of(store, *budget).is_some_and(|selector| selector.matches(&pod.labels)) {
                members.insert(id);
            } else {
                members.swap_remove(&id);
            }
        }
    }

    fn sync_budget(&mut self, id: PodDisruptionBudgetId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let store = ctx.store;
        let Some(budget) = store.budgets.get(id) else { return SyncPlan::nothing() };
        let mut pods: Vec<(PodId, &Pod)> = Vec::new();
        if let Some(members) = self.members.get(&id) {
            pods.extend(members.iter().filter_map(|&pod| store.pod(pod).map(|p| (pod, p))));
        }
        // The error of a sync names a pod: the same one whatever was removed before.
        pods.sort_unstable_by_key(|(id, _)| *id);
        if pods.is_empty() {
            ctx.event(EventDraft::normal("NoPods", budget_ref(budget), "No matching pods found"));
        }
        let mut plan = SyncPlan::nothing();
        let status = match judge(store, budget, &pods, ctx.now) {
            Ok(verdict) => {
                plan.requeue_after = verdict.recheck_after;
                self.report(budget, &verdict, ctx);
                verdict.status
            }
            Err(error) => {
                let message = format!("Failed to calculate the number of expected pods: {error}");
                ctx.event(EventDraft::warning("CalculateExpectedPodCountFailed", budget_ref(budget), message));
                fail_safe(budget, &error)
            }
        };
        if status != budget.status {
            let request = Request::UpdateStatus(StatusUpdate::Budget(id, budget.resource_version, Box::new(status)));
            plan.finally.push(Planned { request, purpose: Purpose::Status });
        }
        plan
    }

    fn report(&self, budget: &PodDisruptionBudget, verdict: &BudgetStatus, ctx: &mut Ctx<'_, Controller<Self>>) {
        let namespace = budget.meta.namespace;
        for pod in verdict.not_deleted.iter().filter_map(|&pod| ctx.store.pod(pod)) {
            let about = ObjectRef::pod(pod);
            let message = format!("Pod was expected by PDB {namespace}/{namespace} to be deleted but it wasn't");
            ctx.event(EventDraft::warning("NotDeleted", about, message));
        }
        if verdict.has_unmanaged {
            let selector = budget.spec.selector.as_ref().map_or_else(|| "nil".to_owned(), go_text);
            let message = format!(
                "Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a result, the \
                 status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these \
                 pods please set \".spec.minAvailable\" field of the PDB to an integer value."
            );
            ctx.event(EventDraft::warning("UnmanagedPods", budget_ref(budget), message));
        }
    }

    fn sync_stale_pod(id: PodId, ctx: &Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        let mut plan = SyncPlan::nothing();
        let Some(pod) = ctx.store.pod(id) else { return plan };
        match (stale_after(pod, ctx.now), pod.disruption_target) {
            (Some(SimDuration::ZERO), Some(target)) => {
                let patch = PodStatusPatch { disruption: Some((target.reason, false)), ..PodStatusPatch::default() };
                plan.then(Request::PatchPodStatus { pod: id, patch: Box::new(patch) }, Purpose::Stale);
            }
            (delay, _) => plan.requeue_after = delay,
        }
        plan
    }
}

fn selector_of(store: &Store, id: PodDisruptionBudgetId) -> Option<&LabelSelector> {
    store.budgets.get(id)?.spec.selector.as_ref()
}

impl Reconcile for Disruption {
    type Key = Key;
    type Purpose = Purpose;
    const NAME: &'static str = "controllermanager";
    const CONTROLLERS: &'static [&'static str] = &["disruption-controller"];

    fn workers(_config: &Config) -> usize {
        1
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::BudgetAdded(_)
                | Changed::BudgetUpdated(..)
                | Changed::BudgetRemoved(_)
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        for id in ctx.store.budgets.ids() {
            self.add_budget(id, ctx.store);
            queue.now(Key::Budget(id));
        }
        // Once per start: pods that were disrupted before.
        for (id, pod) in ctx.store.pods() {
            if let Some(delay) = stale_after(pod, ctx.now) {
                queue.after(Key::StalePod(id), delay);
            }
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<Key>) {
        match &change.what {
            Changed::BudgetAdded(id) => {
                self.add_budget(*id, ctx.store);
                queue.now(Key::Budget(*id));
            }
            Changed::BudgetUpdated(id, delta) => {
                if delta.touches(ObjectDelta::SPEC) {
                    self.add_budget(*id, ctx.store);
                }
                queue.now(Key::Budget(*id));
            }
            Changed::BudgetRemoved(id) => self.remove_budget(*id),
            Changed::PodAdded(id) => {
                let Some(pod) = ctx.store.pod(*id) else { return };
                self.place(*id, pod, ctx.store);
                self.enqueue_budget_of(pod, ctx, queue);
            }
            Changed::PodUpdated { pod: id, delta, .. } => {
                let counts =
                    PodDelta::LABELS | PodDelta::OWNER | PodDelta::DELETION | PodDelta::READY | PodDelta::PHASE;
                let Some(pod) = ctx.store.pod(*id) else { return };
                if delta.touches(PodDelta::LABELS) {
                    self.place(*id, pod, ctx.store);
                }
                if delta.touches(counts) {
                    self.enqueue_budget_of(pod, ctx, queue);
                }
                if delta.touches(PodDelta::CONDITIONS)
                    && let Some(delay) = stale_after(pod, ctx.now)
                {
                    queue.after(Key::StalePod(*id), delay);
                }
            }
            Changed::PodRemoved { pod: id, last } => {
                if let Some(budgets) = self.by_namespace.get(&last.namespace) {
                    for budget in budgets.values() {
                        if let Some(members) = self.members.get_mut(budget) {
                            members.swap_remove(id);
                        }
                    }
                }
                self.enqueue_budget_of(last, ctx, queue);
            }
            _ => {}
        }
    }

    fn sync(&mut self, key: Key, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<Purpose> {
        match key {
            Key::Budget(id) => self.sync_budget(id, ctx),
            Key::StalePod(id) => Self::sync_stale_pod(id, ctx),
        }
    }

    fn answered(&mut self, _: Key, _: Purpose, _: &Answer, _: &mut Ctx<'_, Controller<Self>>) {}

    fn is_failure(_: Purpose, answer: &Answer) -> bool {
        // A budget or pod that is gone needs nothing; any other failure, a conflict first of all, is tried again.
        answer.as_ref().is_err_and(|error| error.reason != ErrorReason::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{
        DaemonSetId, Deployment, DeploymentStatus, DisruptionTarget, PodCondition, ReplicaSet, ReplicaSetStatus, Status,
    };
    use crate::testing::{bare_pod, marked, meta};

    const NOW: SimTime = SimTime::from_secs(1000);

    fn set(store: &mut Store, name: &str, replicas: i32, owner: Option<Owner>) -> Owner {
        let set = ReplicaSet {
            meta: meta(name, owner),
            is_replication_controller: false,
            replicas,
            spec: Arc::default(),
            status: ReplicaSetStatus::default(),
        };
        Owner::ReplicaSet(store.replica_sets.insert(set))
    }

    fn add(store: &mut Store, name: &str, owner: Option<Owner>, is_ready: bool) -> PodId {
        let mut pod = bare_pod(name, 1);
        pod.owner = owner;
        pod.ready = is_ready.then_some(PodCondition { status: Status::True, since: SimTime::ZERO });
        store.insert_pod(pod)
    }

    fn budget(spec: &str) -> PodDisruptionBudget {
        PodDisruptionBudget {
            meta: meta("pdb", None),
            spec: Arc::new(serde_json::from_str(spec).expect("a spec")),
            status: PodDisruptionBudgetStatus::default(),
            resource_version: 1,
        }
    }

    fn verdict(store: &Store, budget: &PodDisruptionBudget) -> Result<BudgetStatus, String> {
        let pods: Vec<_> = store.pods().collect();
        judge(store, budget, &pods, NOW)
    }

    /// (allowed, healthy, desired, expected)
    #[track_caller]
    fn check(store: &Store, spec: &str, expected: (i32, i32, i32, i32)) {
        let status = verdict(store, &budget(spec)).expect("no error").status;
        let found = (status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods);
        assert_eq!(found, expected, "{spec}");
    }

    #[test]
    fn a_number_that_must_be_available_asks_no_owner() {
        let mut store = Store::default();
        check(&store, r#"{"minAvailable":3}"#, (0, 0, 3, 0));
        add(&mut store, "a", None, true);
        check(&store, r#"{"minAvailable":3}"#, (0, 1, 3, 1));
        for name in ["b", "c"] {
            add(&mut store, name, None, true);
        }
        let last = add(&mut store, "d", Some(Owner::DaemonSet(missing_daemon_set())), true);
        check(&store, r#"{"minAvailable":3}"#, (1, 4, 3, 4));
        store.update_pod(last, |pod| pod.ready = None);
        check(&store, r#"{"minAvailable":3}"#, (0, 3, 3, 4));
    }

    fn missing_daemon_set() -> DaemonSetId {
        let mut store = Store::default();
        let spec = Arc::default();
        store.daemon_sets.insert(crate::state::DaemonSet { meta: meta("ds", None), spec, status: Default::default() })
    }

    #[test]
    fn other_forms_ask_what_the_owners_want_and_round_up() {
        let with_set = |replicas: i32, ready: usize| {
            let mut store = Store::default();
            let owner = set(&mut store, "rs", replicas, None);
            for index in 0..ready {
                add(&mut store, &format!("p{index}"), Some(owner), true);
            }
            store
        };
        check(&with_set(7, 1), r#"{"maxUnavailable":2}"#, (0, 1, 5, 7));
        check(&with_set(5, 1), r#"{"maxUnavailable":2}"#, (0, 1, 3, 5));
        check(&with_set(7, 1), r#"{"maxUnavailable":"30%"}"#, (0, 1, 4, 7));
        check(&with_set(3, 1), r#"{"maxUnavailable":"30%"}"#, (0, 1, 2, 3));
        check(&with_set(11, 1), r#"{"minAvailable":"28%"}"#, (0, 1, 4, 11));
        check(&with_set(3, 1), r#"{"minAvailable":"34%"}"#, (0, 1, 2, 3));
        check(&with_set(3, 2), r#"{"minAvailable":"34%"}"#, (0, 2, 2, 3));
        check(&with_set(3, 3), r#"{"minAvailable":"34%"}"#, (1, 3, 2, 3));
        check(&with_set(10, 1), r#"{"minAvailable":"20%"}"#, (0, 1, 2, 10));
        check(&with_set(1, 2), r#"{"minAvailable":"1%"}"#, (1, 2, 1, 1));
        let mut store = with_set(3, 3);
        add(&mut store, "naked", None, true);
        check(&store, r#"{"minAvailable":"34%"}"#, (2, 4, 2, 3));
    }

    #[test]
    fn pods_without_a_controller_are_reported() {
        let mut store = Store::default();
        add(&mut store, "naked", None, true);
        let found = verdict(&store, &budget(r#"{"maxUnavailable":1}"#)).expect("no error");
        assert!(found.has_unmanaged);
        assert_eq!((found.status.disruptions_allowed, found.status.expected_pods), (0, 0));
    }

    #[test]
    fn sets_of_one_deployment_count_once() {
        let mut store = Store::default();
        let spec = serde_json::from_str(r#"{"replicas":3}"#).expect("a spec");
        let deployment =
            Deployment { meta: meta("web", None), spec: Arc::new(spec), status: DeploymentStatus::default() };
        let deployment = Some(Owner::Deployment(store.deployments.insert(deployment)));
        for name in ["old", "new"] {
            let owner = set(&mut store, name, 2, deployment);
            add(&mut store, &format!("{name}-1"), Some(owner), true);
            add(&mut store, &format!("{name}-2"), Some(owner), true);
        }
        check(&store, r#"{"maxUnavailable":1}"#, (2, 4, 2, 3));
    }

    #[test]
    fn owners_without_a_scale_fail_the_sync() {
        let mut store = Store::default();
        add(&mut store, "a", Some(Owner::DaemonSet(missing_daemon_set())), true);
        let error = verdict(&store, &budget(r#"{"maxUnavailable":1}"#)).expect_err("no scale");
        assert_eq!(error, "daemonsets.apps does not implement the scale subresource");
        let mut store = Store::default();
        let owner = set(&mut store, "rs", 3, None);
        add(&mut store, "x", Some(owner), true);
        let Owner::ReplicaSet(gone) = owner else { unreachable!() };
        store.replica_sets.remove(gone);
        let spec = budget(r#"{"minAvailable":"50%"}"#);
        let error = verdict(&store, &spec).expect_err("no owner");
        assert_eq!(error, "found no controllers for pod \"x\"");
        let status = fail_safe(&spec, &error);
        assert_eq!(status.disruptions_allowed, 0);
        assert!(matches!(status.condition, Some((false, BudgetReason::SyncFailed, _))));
    }

    #[test]
    fn a_terminating_pod_is_not_healthy() {
        let mut store = Store::default();
        let pod = add(&mut store, "a", None, true);
        add(&mut store, "b", None, true);
        store.update_pod(pod, |pod| pod.deletion = Some(marked(NOW)));
        check(&store, r#"{"minAvailable":1}"#, (0, 1, 1, 2));
    }

    #[test]
    fn granted_evictions_count_as_gone_for_two_minutes() {
        let mut store = Store::default();
        let deleting = add(&mut store, "p1", None, true);
        let late = add(&mut store, "p2", None, true);
        add(&mut store, "p3", None, true);
        store.update_pod(deleting, |pod| pod.deletion = Some(marked(NOW)));
        let mut budget = budget(r#"{"minAvailable":1}"#);
        for (name, seconds_ago) in [("p1", 10), ("p2", 180), ("p3", 60), ("ghost", 10)] {
            budget.status.disrupted_pods.insert(Arc::from(name), SimTime::from_secs(1000 - seconds_ago));
        }
        let found = verdict(&store, &budget).expect("no error");
        let status = &found.status;
        let counts = (status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods);
        assert_eq!(counts, (0, 1, 1, 3));
        assert_eq!(status.disrupted_pods.keys().map(|name| &**name).collect::<Vec<_>>(), ["p3"]);
        assert_eq!(found.not_deleted, [late]);
        assert_eq!(found.recheck_after, Some(SimDuration::from_millis(60_005)));
    }

    #[test]
    fn a_controller_of_an_unknown_kind_counts_as_wanting_the_pods_it_has() {
        let mut store = Store::default();
        let (kind, name) = (Symbol::new("Rollout"), Symbol::new("web"));
        let owner = Owner::Foreign { kind, name, uid: crate::state::Uid(7) };
        for name in ["a", "b", "c", "d"] {
            add(&mut store, name, Some(owner), true);
        }
        check(&store, r#"{"maxUnavailable":1}"#, (1, 4, 3, 4));
        check(&store, r#"{"minAvailable":"50%"}"#, (2, 4, 2, 4));
    }

    #[test]
    fn a_selector_is_printed_as_go_does() {
        let check = |selector: &str, expected: &str| {
            assert_eq!(go_text(&serde_json::from_str(selector).expect("a selector")), expected);
        };
        check(
            r#"{"matchLabels":{"b":"2","a":"1"}}"#,
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}",
        );
        check(
            r#"{"matchExpressions":[{"key":"k","operator":"In","values":["x","y"]}]}"#,
            "&LabelSelector{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{\
             LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}",
        );
    }

    #[test]
    fn a_disruption_condition_becomes_stale_after_two_minutes() {
        let check = |reason, seconds_ago: i64, is_deleting: bool, expected_s: Option<u64>| {
            let mut pod = bare_pod("a", 1);
            let since = SimTime::from_secs(1000 - seconds_ago);
            pod.disruption_target = Some(DisruptionTarget { reason, since, status: true });
            pod.deletion = is_deleting.then(|| marked(NOW));
            assert_eq!(stale_after(&pod, NOW), expected_s.map(SimDuration::from_secs));
        };
        check(DisruptionReason::EvictionByEvictionApi, 121, false, Some(0));
        check(DisruptionReason::EvictionByEvictionApi, 119, false, Some(1));
        check(DisruptionReason::EvictionByEvictionApi, 121, true, None);
        check(DisruptionReason::TerminationByKubelet, 121, false, None);
    }
}
