//! Each checker, on something that it must not let pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Verifier;
use crate::arena::Symbol;
use crate::model::{self, LabelSelector, Labels, Resources};
use crate::state::{
    CauseId, Change, Changed, Deletion, DeletionCause, Node, NodeConditions, NodeId, Pod, PodCondition, PodDelta,
    PodDisruptionBudget, PodDisruptionBudgetStatus, PodId, PodPhase, Status, Store, Uid,
};
use crate::testing::{bare_pod, config, meta, secs};
use crate::units::{SimDuration, SimTime};

/// A store, and the verifier that is told of it.
struct Watched {
    store: Store,
    verifier: Verifier,
}

impl Watched {
    fn new(store: Store) -> Self {
        let verifier = Verifier::new(&store, &config(), SimTime::ZERO);
        Self { store, verifier }
    }

    fn tell(&mut self, at: SimTime, what: Changed) {
        let change = Change { at, cause: CauseId::default(), by: "", what };
        self.verifier.changed(&change, &self.store);
    }

    fn update(&mut self, pod: PodId, delta: PodDelta, write: impl FnOnce(&mut Pod)) {
        self.store.update_pod(pod, write);
        self.tell(secs(1.0), Changed::PodUpdated { pod, delta, before: None });
    }

    /// What is wrong after the event.
    fn wrong(&mut self) -> Option<String> {
        self.verifier.event_over(secs(1.0), &self.store).err()
    }

    #[track_caller]
    fn expect_wrong(&mut self, expected: &str) {
        let wrong = self.wrong().expect("it is found");
        assert!(wrong.contains(expected), "{wrong}");
    }
}

fn with_node(cpu_milli: i64) -> (Store, NodeId) {
    let mut store = Store::default();
    let id = store.node_slot(Symbol::new("n"));
    let allocatable = Arc::new(Resources { cpu_milli, ..Resources::default() });
    let node = Node {
        uid: Uid(9),
        labels: Labels::default(),
        annotations: Arc::default(),
        created_at: SimTime::ZERO,
        unschedulable: false,
        taints: SmallVec::new(),
        capacity: Arc::clone(&allocatable),
        allocatable,
        allocatable_pods: 110,
        images: Arc::from(Vec::new()),
        kubelet_version: Symbol::empty(),
        description: None,
        conditions: NodeConditions::default(),
    };
    store.insert_node(id, node);
    (store, id)
}

fn asking(name: &str, uid: u128, cpu_milli: i64) -> Pod {
    let mut pod = bare_pod(name, uid);
    let mut spec = (*pod.spec).clone();
    spec.requests.cpu_milli = cpu_milli;
    pod.spec = Arc::new(spec);
    pod
}

#[test]
fn a_write_that_nobody_was_told_of_is_found_by_the_recount() {
    let mut store = Store::default();
    let pod = store.insert_pod(bare_pod("a", 1));
    let mut watched = Watched::new(store);
    assert_eq!(watched.verifier.recount(&watched.store), Ok(()));
    watched.store.update_pod(pod, |pod| pod.phase = PodPhase::Running);
    assert!(watched.verifier.recount(&watched.store).is_err());
}

#[test]
fn a_write_that_was_told_with_other_parts_is_found_after_the_event() {
    let mut store = Store::default();
    let pod = store.insert_pod(bare_pod("a", 1));
    let mut watched = Watched::new(store);
    watched.update(pod, PodDelta::PHASE, |pod| pod.phase = PodPhase::Running);
    assert_eq!(watched.wrong(), None);
    watched.update(pod, PodDelta::LABELS, |pod| pod.phase = PodPhase::Succeeded);
    assert!(watched.wrong().is_some());
}

#[test]
fn time_neither_goes_back_nor_stands_still() {
    let mut store = Store::default();
    let pod = store.insert_pod(bare_pod("a", 1));
    let mut watched = Watched::new(store);
    watched.tell(secs(5.0), Changed::PodUpdated { pod, delta: PodDelta::PHASE, before: None });
    watched.tell(secs(4.0), Changed::PodUpdated { pod, delta: PodDelta::PHASE, before: None });
    watched.expect_wrong("time went back from 5.000 to 4.000");
    let mut still = Watched::new(Store::default());
    let events = (0..30_000).find(|_| still.wrong().is_some());
    assert_eq!(events, Some(20_001));
}

#[test]
fn no_pod_is_bound_to_a_node_that_lacks_what_it_asks_for() {
    let (mut store, node) = with_node(1000);
    let [small, large] = [asking("small", 1, 400), asking("large", 2, 700)].map(|pod| store.insert_pod(pod));
    let mut watched = Watched::new(store);
    let mut bind = |pod: PodId| {
        watched.store.set_pod_node(pod, node);
        watched.tell(secs(1.0), Changed::PodUpdated { pod, delta: PodDelta::NODE, before: None });
        watched.wrong()
    };
    assert_eq!(bind(small), None);
    let wrong = bind(large).expect("1,100 of 1,000");
    assert!(
        wrong.contains("pod default/large was bound to node n, which has 1000 of cpu and now gives 1100"),
        "{wrong}"
    );
}

/// A healthy pod under a budget that wants one.
fn guarded() -> (Store, PodId) {
    let mut store = Store::default();
    let mut pod = bare_pod("web", 1);
    pod.labels = [(Symbol::new("app"), Symbol::new("web"))].into_iter().collect();
    pod.phase = PodPhase::Running;
    pod.ready = Some(PodCondition { status: Status::True, since: SimTime::ZERO });
    let pod = store.insert_pod(pod);
    let selector = LabelSelector::parse("app=web").expect("a selector");
    let spec = model::PodDisruptionBudgetSpec { selector: Some(selector), ..Default::default() };
    store.budgets.insert(PodDisruptionBudget {
        meta: meta("budget", None),
        spec: Arc::new(spec),
        status: PodDisruptionBudgetStatus {
            observed_generation: 1,
            disruptions_allowed: 0,
            current_healthy: 1,
            desired_healthy: 1,
            expected_pods: 1,
            disrupted_pods: BTreeMap::new(),
            condition: None,
        },
        resource_version: 1,
    });
    (store, pod)
}

fn deletion(cause: DeletionCause) -> Deletion {
    let grace = SimDuration::from_secs(30);
    Deletion { requested_at: secs(1.0), deadline: secs(1.0) + grace, grace, cause }
}

#[test]
fn an_eviction_asks_the_budget_and_an_operators_deletion_does_not() {
    for (cause, is_wrong) in [(DeletionCause::EvictionByEvictionApi, true), (DeletionCause::Kubectl, false)] {
        let (store, pod) = guarded();
        let mut watched = Watched::new(store);
        watched.update(pod, PodDelta::DELETION, |pod| pod.deletion = Some(deletion(cause)));
        let wrong = watched.wrong();
        let is_found = wrong.as_deref().is_some_and(|wrong| wrong.contains("its budget budget was not asked"));
        assert_eq!(is_found, is_wrong, "{cause:?}: {wrong:?}");
    }
}
