//! The endpoint slice controller: which pods stand behind a service, as kube-proxy and other clients learn it.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::arena::Symbol;
use crate::component::{
    Answer, Config, Controller, Ctx, Enqueue, ErrorReason, EventDraft, ObjectRef, Planned, Reconcile, Request, Start,
    SyncPlan,
};
use crate::model::{Labels, ObjectKind, ServiceSpec};
use crate::state::{Change, Changed, Endpoint, Pod, PodDelta, PodId, PodPhase, Service, ServiceId, Store};
use crate::units::SimDuration;

/// Services synced at a time (`--concurrent-service-endpoint-syncs`).
const WORKERS: usize = 5;

/// Endpoints that one slice holds (`--max-endpoints-per-slice`).
const ENDPOINTS_MAX: usize = 100;

/// Failures in a row after which a service is given up until it changes again.
const RETRIES_MAX: u32 = 15;

type Members = IndexSet<PodId, FxBuildHasher>;

/// A namespace, and one label that a service of it asks for.
type Hold = (Symbol, Symbol, Symbol);

/// The endpoint slice controller.
///
/// # Source
/// kube-controller-manager, endpoint slice controller and its reconciler.
///
/// # Differs
/// All ports of a service are those of its pods, so that a service has one group of slices; there are no hints. What the
/// controller has written it has also seen when it is answered. Pods have an address once they run.
#[derive(Clone, Debug, Default)]
pub struct EndpointSlices {
    /// Pods that each service selects and that have not ended: those that have are in no slice any more, however many there are.
    members: FxHashMap<ServiceId, Members>,
    /// Services by one of the labels that they ask for: a pod without it is none of theirs.
    by_hold: FxHashMap<Hold, Vec<ServiceId>>,
    holds: FxHashMap<ServiceId, Hold>,
}

fn selects(spec: &ServiceSpec, labels: &Labels) -> bool {
    spec.has_endpoint_slices() && spec.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// # Source
/// endpoint slice controller, `podToEndpoint` and `ShouldPodBeInEndpoints`: pods that are being deleted stay until they are
/// gone; those that have ended, or have no address yet, are left out.
fn endpoint_of(id: PodId, pod: &Pod, spec: &ServiceSpec) -> Option<Endpoint> {
    if pod.phase != PodPhase::Running {
        return None;
    }
    let (serving, terminating) = (pod.is_ready(), pod.deletion.is_some());
    let ready = spec.publish_not_ready_addresses || (serving && !terminating);
    Some(Endpoint { pod: id, node: pod.node, ready, serving, terminating })
}

/// Which slices are to be written so that they hold what is desired, in order.
///
/// # Source
/// endpoint slice reconciler, `reconcileByPortMapping` and `finalize`: endpoints stay in their slice; new ones go into slices that
/// change anyway, the fullest first, then together into the one that has just room for them, then into new ones. The last
/// slice stays, empty.
fn writes(existing: &BTreeMap<u32, Arc<[Endpoint]>>, desired: Vec<Endpoint>) -> Vec<(u32, Vec<Endpoint>)> {
    if desired.is_empty() && existing.is_empty() {
        return vec![(0, Vec::new())];
    }
    let mut left: BTreeMap<PodId, Endpoint> = desired.into_iter().map(|endpoint| (endpoint.pod, endpoint)).collect();
    let (mut changed, mut unchanged, mut emptied) = (Vec::new(), Vec::new(), Vec::new());
    for (&number, slice) in existing {
        let kept: Vec<Endpoint> = slice.iter().filter_map(|endpoint| left.remove(&endpoint.pod)).collect();
        if kept[..] == slice[..] {
            unchanged.push((number, kept));
        } else if kept.is_empty() {
            emptied.push((number, kept));
        } else {
            changed.push((number, kept));
        }
    }
    let fill = |slice: &mut Vec<Endpoint>, left: &mut BTreeMap<PodId, Endpoint>| {
        while slice.len() < ENDPOINTS_MAX
            && let Some((_, endpoint)) = left.pop_first()
        {
            slice.push(endpoint);
        }
    };
    changed.sort_by_key(|(number, slice)| (std::cmp::Reverse(slice.len()), *number));
    changed.iter_mut().for_each(|(_, slice)| fill(slice, &mut left));
    let mut created = Vec::new();
    while !left.is_empty() {
        let fits = |slice: &[Endpoint]| slice.len() + left.len() <= ENDPOINTS_MAX;
        let closest = unchanged
            .iter()
            .enumerate()
            .filter(|(_, (_, slice))| left.len() < ENDPOINTS_MAX && fits(slice))
            .max_by_key(|(index, (_, slice))| (slice.len(), std::cmp::Reverse(*index)))
            .map(|(index, _)| index);
        if let Some(index) = closest {
            let (number, mut slice) = unchanged.remove(index);
            fill(&mut slice, &mut left);
            changed.push((number, slice));
        } else {
            let mut slice = Vec::new();
            fill(&mut slice, &mut left);
            created.push(slice);
        }
    }
    // A new slice takes the place of one that would go.
    while let (Some(_), Some((number, _))) = (created.last(), emptied.first()) {
        let (number, slice) = (*number, created.pop().unwrap_or_default());
        emptied.remove(0);
        changed.push((number, slice));
    }
    let next = existing.keys().next_back().map_or(0, |last| last + 1);
    let created = (next..).zip(created);
    created.chain(changed).chain(emptied).collect()
}

impl EndpointSlices {
    fn add(&mut self, id: ServiceId, store: &Store) {
        self.remove(id);
        let Some(service) = store.services.get(id).filter(|service| service.spec.has_endpoint_slices()) else { return };
        let namespace = service.meta.namespace;
        let Some((key, value)) = service.spec.selector.iter().next() else { return };
        let hold = (namespace, key, value);
        self.by_hold.entry(hold).or_default().push(id);
        self.holds.insert(id, hold);
        // A scan of the namespace, once per service and change of its selector: later changes come one by one.
        let pods = store.pods_in(namespace).iter().copied();
        let is_member = |pod: &PodId| {
            store.pod(*pod).is_some_and(|pod| !pod.phase.is_terminal() && selects(&service.spec, &pod.labels))
        };
        self.members.insert(id, pods.filter(is_member).collect());
    }

    fn remove(&mut self, id: ServiceId) {
        self.members.remove(&id);
        if let Some(hold) = self.holds.remove(&id)
            && let Some(services) = self.by_hold.get_mut(&hold)
        {
            services.retain(|other| *other != id);
        }
    }

    /// The services that select pods with these labels.
    fn services_of(&self, namespace: Symbol, labels: &Labels, store: &Store) -> Vec<ServiceId> {
        let held = labels.iter().filter_map(|(key, value)| self.by_hold.get(&(namespace, key, value)));
        let is_selected = |id: &ServiceId| store.services.get(*id).is_some_and(|s| selects(&s.spec, labels));
        held.flatten().copied().filter(is_selected).collect()
    }

    /// A pod's labels have changed: what it leaves and what it joins is synced, the others only if the pod changed besides.
    fn relabeled(&mut self, id: PodId, before: &Pod, pod: &Pod, is_changed: bool, store: &Store) -> Vec<ServiceId> {
        let old = self.services_of(pod.namespace, &before.labels, store);
        let new = self.services_of(pod.namespace, &pod.labels, store);
        for service in &old {
            if let Some(members) = self.members.get_mut(service) {
                members.swap_remove(&id);
            }
        }
        for service in new.iter().filter(|_| !pod.phase.is_terminal()) {
            self.members.entry(*service).or_default().insert(id);
        }
        let is_in_both = |service: &ServiceId| old.contains(service) && new.contains(service);
        let mut all: Vec<ServiceId> = old.iter().chain(&new).copied().collect();
        all.retain(|service| is_changed || !is_in_both(service));
        all
    }
}

fn skipped(pod: &Pod, service: &Service, store: &Store) -> String {
    let node = pod.node.map(|node| store.node_name(node)).unwrap_or_default();
    let (namespace, name) = (service.meta.namespace, service.meta.name);
    format!("skipping Pod {} for Service {namespace}/{name}: Node {node} Not Found", pod.name)
}

impl Reconcile for EndpointSlices {
    type Key = ServiceId;
    type Purpose = ();
    const NAME: &'static str = "endpoint-slice-controller";
    const CONTROLLERS: &'static [&'static str] = &["endpointslice-controller"];

    fn workers(_config: &Config) -> usize {
        WORKERS
    }

    fn retry() -> (SimDuration, SimDuration, bool) {
        (SimDuration::from_secs(1), SimDuration::from_secs(1000), true)
    }

    fn retries_max() -> Option<u32> {
        Some(RETRIES_MAX)
    }

    fn watches(changed: &Changed) -> bool {
        matches!(
            changed,
            Changed::PodAdded(_)
                | Changed::PodUpdated { .. }
                | Changed::PodRemoved { .. }
                | Changed::ServiceChanged(_)
                | Changed::ServiceRemoved(_)
        )
    }

    fn started(&mut self, _start: Start, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<ServiceId>) {
        for id in ctx.store.services.ids() {
            self.add(id, ctx.store);
            queue.now(id);
        }
    }

    fn changed(&mut self, change: &Change, ctx: &mut Ctx<'_, Controller<Self>>, queue: &mut Enqueue<ServiceId>) {
        let store = ctx.store;
        match &change.what {
            Changed::ServiceChanged(id) => {
                self.add(*id, store);
                queue.now(*id);
            }
            Changed::ServiceRemoved(id) => self.remove(*id),
            Changed::PodAdded(id) => {
                let Some(pod) = store.pod(*id) else { return };
                for service in self.services_of(pod.namespace, &pod.labels, store) {
                    if !pod.phase.is_terminal() {
                        self.members.entry(service).or_default().insert(*id);
                    }
                    queue.now(service);
                }
            }
            Changed::PodUpdated { pod: id, delta, before } => {
                let Some(pod) = store.pod(*id) else { return };
                let parts = PodDelta::READY | PodDelta::DELETION | PodDelta::PHASE;
                let is_changed = delta.touches(parts);
                let services = match before {
                    Some(before) if delta.touches(PodDelta::LABELS) => {
                        self.relabeled(*id, before, pod, is_changed, store)
                    }
                    _ if is_changed => self.services_of(pod.namespace, &pod.labels, store),
                    _ => return,
                };
                for service in services {
                    if pod.phase.is_terminal()
                        && let Some(members) = self.members.get_mut(&service)
                    {
                        members.swap_remove(id);
                    }
                    queue.now(service);
                }
            }
            Changed::PodRemoved { pod: id, last } => {
                for service in self.services_of(last.namespace, &last.labels, store) {
                    if let Some(members) = self.members.get_mut(&service) {
                        members.swap_remove(id);
                    }
                    queue.now(service);
                }
            }
            _ => {}
        }
    }

    fn sync(&mut self, id: ServiceId, ctx: &mut Ctx<'_, Controller<Self>>) -> SyncPlan<()> {
        let store = ctx.store;
        let Some(service) = store.services.get(id) else { return SyncPlan::nothing() };
        let Some(members) = self.members.get(&id) else { return SyncPlan::nothing() };
        let mut pods: Vec<(PodId, &Pod)> = members.iter().filter_map(|&pod| store.pod(pod).map(|p| (pod, p))).collect();
        pods.sort_unstable_by_key(|(id, _)| *id);
        let (mut desired, mut errors) = (Vec::new(), Vec::new());
        for (pod_id, pod) in pods {
            let Some(endpoint) = endpoint_of(pod_id, pod, &service.spec) else { continue };
            let has_node = pod.node.is_some_and(|node| store.node(node).is_some());
            if has_node || service.spec.publish_not_ready_addresses {
                desired.push(endpoint);
            } else {
                errors.push(skipped(pod, service, store));
            }
        }
        let mut plan = SyncPlan { failed: !errors.is_empty(), ..SyncPlan::nothing() };
        if plan.failed {
            let text = if let [one] = &errors[..] { one.clone() } else { format!("[{}]", errors.join(", ")) };
            let (namespace, name) = (service.meta.namespace, service.meta.name);
            let about = ObjectRef::named(ObjectKind::Service, namespace, name.as_str());
            let message = format!("Error updating Endpoint Slices for Service {namespace}/{name}: {text}");
            ctx.event(EventDraft::warning("FailedToUpdateEndpointSlices", about, message));
        }
        for (slice, endpoints) in writes(&service.slices, desired) {
            let request = Request::PutEndpointSlice { service: id, slice, endpoints: endpoints.into() };
            if plan.failed {
                plan.finally.push(Planned { request, purpose: () });
            } else {
                plan.then(request, ());
            }
        }
        plan
    }

    fn answered(&mut self, _: ServiceId, (): (), _: &Answer, _: &mut Ctx<'_, Controller<Self>>) {}

    fn is_failure((): (), answer: &Answer) -> bool {
        // A service that is gone needs no slices.
        answer.as_ref().is_err_and(|error| error.reason != ErrorReason::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{PodCondition, Status};
    use crate::testing::{bare_pod, marked};
    use crate::units::SimTime;

    fn ids(count: usize) -> Vec<PodId> {
        let mut store = Store::default();
        (0..count).map(|number| store.insert_pod(bare_pod(&format!("p{number}"), number as u128))).collect()
    }

    fn endpoint(pod: PodId, ready: bool) -> Endpoint {
        Endpoint { pod, node: None, ready, serving: ready, terminating: false }
    }

    /// Slices of these pods, written or not: the sizes that the writes leave, by number.
    #[track_caller]
    fn check(existing: &[(usize, usize)], desired: &[(usize, usize)], expected: &[(u32, usize)]) {
        let ids = ids(1000);
        let slice = |(from, to): &(usize, usize)| -> Vec<Endpoint> {
            ids[*from..*to].iter().map(|id| endpoint(*id, true)).collect()
        };
        let existing: BTreeMap<u32, Arc<[Endpoint]>> =
            existing.iter().enumerate().map(|(number, range)| (number as u32, slice(range).into())).collect();
        let found = writes(&existing, desired.iter().flat_map(slice).collect());
        let sizes: Vec<(u32, usize)> = found.iter().map(|(number, slice)| (*number, slice.len())).collect();
        assert_eq!(sizes, expected);
    }

    #[test]
    fn a_slice_holds_a_hundred_endpoints_and_as_few_as_possible_are_written() {
        // The first sync of a service makes a slice, even if there is nothing to put into it.
        check(&[], &[], &[(0, 0)]);
        check(&[], &[(0, 3)], &[(0, 3)]);
        check(&[], &[(0, 250)], &[(0, 100), (1, 100), (2, 50)]);
        check(&[(0, 3)], &[(0, 3)], &[]);
        check(&[(0, 0)], &[], &[]);
        check(&[(0, 3)], &[(0, 2)], &[(0, 2)]);
        // The last slice stays without endpoints.
        check(&[(0, 3)], &[], &[(0, 0)]);
        // One that goes makes room for one that comes.
        check(&[(0, 100), (100, 200)], &[(0, 99), (100, 200), (200, 201)], &[(0, 100)]);
        // New ones share the slice that they fill most.
        check(&[(0, 50), (100, 180)], &[(0, 50), (100, 180), (200, 210)], &[(1, 90)]);
        check(&[(0, 50), (100, 180)], &[(0, 50), (100, 180), (200, 230)], &[(0, 80)]);
        check(&[(0, 100), (100, 180)], &[(0, 100), (100, 180), (200, 230)], &[(2, 30)]);
        // A slice of which nothing is left is used for new ones, or goes.
        check(&[(0, 10), (100, 200)], &[(100, 200), (300, 310)], &[(0, 10)]);
        check(&[(0, 10), (100, 200)], &[(100, 200)], &[(0, 0)]);
    }

    #[test]
    fn an_endpoint_is_ready_if_its_pod_is_and_stays() {
        let check = |publishes: bool, phase: PodPhase, is_ready: bool, is_going: bool, expected: Option<[bool; 3]>| {
            let mut pod = bare_pod("p", 1);
            pod.phase = phase;
            pod.ready = is_ready.then_some(PodCondition { status: Status::True, since: SimTime::ZERO });
            pod.deletion = is_going.then(|| marked(SimTime::ZERO));
            let spec = ServiceSpec { publish_not_ready_addresses: publishes, ..ServiceSpec::default() };
            let found = endpoint_of(ids(1)[0], &pod, &spec).map(|e| [e.ready, e.serving, e.terminating]);
            assert_eq!(found, expected, "{publishes} {phase:?} {is_ready} {is_going}");
        };
        check(false, PodPhase::Running, true, false, Some([true, true, false]));
        check(false, PodPhase::Running, false, false, Some([false, false, false]));
        check(false, PodPhase::Running, true, true, Some([false, true, true]));
        check(false, PodPhase::Running, false, true, Some([false, false, true]));
        check(true, PodPhase::Running, false, false, Some([true, false, false]));
        check(true, PodPhase::Running, true, true, Some([true, true, true]));
        check(false, PodPhase::Pending, false, false, None);
        check(true, PodPhase::Pending, false, false, None);
        check(false, PodPhase::Failed, false, false, None);
        check(true, PodPhase::Succeeded, false, true, None);
    }
}
