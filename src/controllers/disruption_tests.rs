//! The disruption controller: what wakes it, and what does not.

use super::disruption::Disruption;
use super::tests::{Cluster, TEMPLATE, cluster, text};
use crate::component::{PodStatusPatch, Reply, Request, StatusUpdate};
use crate::model::{self, Object};
use crate::state::{BudgetReason, Owner, PodDisruptionBudgetId, PodId, PodPhase, ReplicaSetId, Status, WorkloadId};

struct Budgets {
    cluster: Cluster<Disruption>,
    set: ReplicaSetId,
    pod: PodId,
}

impl Budgets {
    /// A ReplicaSet of that size with one ready pod, and a budget.
    fn new(replicas: i32, limit: &str) -> Self {
        let mut cluster = cluster::<Disruption>();
        let spec = format!("replicas: {replicas}, selector: {{matchLabels: {{a: b}}}}, {TEMPLATE}");
        let set: model::ReplicaSet = serde_saphyr::from_str(&text("web", &spec)).expect("a set");
        let Reply::Workload(WorkloadId::ReplicaSet(set)) = cluster.create(Object::ReplicaSet(Box::new(set))) else {
            panic!("no set")
        };
        let pod = cluster.labeled_pod("p", Owner::ReplicaSet(set), Some("n"), PodPhase::Running, true, &[]);
        let mut budgets = Self { cluster, set, pod };
        budgets.add("b", limit);
        budgets.cluster.start();
        budgets.cluster.run_for(1.0);
        budgets
    }

    fn add(&mut self, name: &str, limit: &str) -> PodDisruptionBudgetId {
        let spec = text(name, &format!("{limit}, selector: {{matchLabels: {{a: b}}}}"));
        let budget: model::PodDisruptionBudget = serde_saphyr::from_str(&spec).expect("a budget");
        self.cluster.create(Object::PodDisruptionBudget(Box::new(budget)));
        self.cluster.store().budgets.ids().last().expect("the budget")
    }

    /// (allowed, healthy, desired, expected)
    #[track_caller]
    fn check(&self, expected: (i32, i32, i32, i32)) {
        let budget = self.cluster.store().budgets.iter().next().map(|(_, budget)| budget).expect("the budget");
        let status = &budget.status;
        let found = (status.disruptions_allowed, status.current_healthy, status.desired_healthy, status.expected_pods);
        assert_eq!(found, expected);
    }

    fn resize(&mut self, replicas: i32) {
        let request = Request::UpdateReplicaSet {
            replica_set: self.set,
            base: None,
            replicas: Some(replicas),
            annotations: None,
            min_ready_seconds: None,
        };
        self.cluster.ask(request).expect("an update");
        self.cluster.run_for(60.0);
    }

    fn touch_pod(&mut self) {
        for status in [Status::False, Status::True] {
            self.cluster.patch(self.pod, PodStatusPatch { ready: Some(status), ..PodStatusPatch::default() });
        }
        self.cluster.run_for(60.0);
    }
}

#[test]
fn a_set_that_changes_its_size_is_noticed_with_the_next_pod() {
    let mut budgets = Budgets::new(7, "maxUnavailable: 2");
    budgets.check((0, 1, 5, 7));
    budgets.resize(5);
    budgets.check((0, 1, 5, 7));
    budgets.touch_pod();
    budgets.check((0, 1, 3, 5));
}

#[test]
fn a_budget_without_pods_says_so_and_wants_them_all_the_same() {
    let mut budgets = Budgets::new(1, "minAvailable: 3");
    let options = crate::component::DeleteOptions { grace_s: Some(0), uid: None };
    let (pod, cause) = (budgets.pod, crate::state::DeletionCause::Kubectl);
    budgets.cluster.ask(Request::DeletePod { pod, options, cause }).expect("a deletion");
    budgets.cluster.run_for(1.0);
    budgets.check((0, 0, 3, 0));
    assert!(budgets.cluster.reasons("NoPods") > 0);
}

#[test]
fn an_eviction_that_comes_to_nothing_is_forgotten_after_two_minutes() {
    let mut budgets = Budgets::new(3, "minAvailable: 1");
    let set = Owner::ReplicaSet(budgets.set);
    budgets.cluster.labeled_pod("q", set, Some("n"), PodPhase::Running, true, &[]);
    budgets.cluster.run_for(1.0);
    budgets.check((1, 2, 1, 2));
    let id = budgets.cluster.store().budgets.ids().next().expect("the budget");
    let budget = &budgets.cluster.store().budgets[id];
    let mut status = budget.status.clone();
    status.disruptions_allowed = 0;
    status.disrupted_pods.insert("p".into(), budgets.cluster.now());
    let granted = StatusUpdate::Budget(id, budget.resource_version, Box::new(status));
    budgets.cluster.ask(Request::UpdateStatus(granted)).expect("a status");
    budgets.cluster.run_for(119.9);
    budgets.check((0, 1, 1, 2));
    assert_eq!(budgets.cluster.reasons("NotDeleted"), 0);
    budgets.cluster.run_for(0.2);
    budgets.check((1, 2, 1, 2));
    assert_eq!(budgets.cluster.reasons("NotDeleted"), 1);
    assert!(budgets.cluster.store().budgets[id].status.disrupted_pods.is_empty());
}

#[test]
fn a_pod_of_two_budgets_wakes_the_first_and_is_warned() {
    let mut budgets = Budgets::new(1, "minAvailable: 1");
    budgets.add("c", "minAvailable: 1");
    budgets.cluster.run_for(1.0);
    let before = budgets.cluster.reasons("MultiplePodDisruptionBudgets");
    let patch = PodStatusPatch { ready: Some(Status::False), ..PodStatusPatch::default() };
    budgets.cluster.patch(budgets.pod, patch);
    budgets.cluster.run_for(1.0);
    assert!(budgets.cluster.reasons("MultiplePodDisruptionBudgets") > before);
    let healthy: Vec<i32> =
        budgets.cluster.store().budgets.iter().map(|(_, budget)| budget.status.current_healthy).collect();
    assert_eq!(healthy, [0, 1], "the second is not looked at");
}

#[test]
fn a_sync_that_failed_is_not_tried_again_by_itself() {
    let mut budgets = Budgets::new(1, "minAvailable: 50%");
    budgets.check((0, 1, 1, 1));
    let set = WorkloadId::ReplicaSet(budgets.set);
    let propagation = crate::state::Propagation::Orphan;
    budgets.cluster.ask(Request::DeleteWorkload { workload: set, propagation }).expect("a deletion");
    if budgets.cluster.store().workload_meta(set).is_some() {
        budgets.cluster.ask(Request::FinalizeWorkload { workload: set }).expect("the end");
    }
    budgets.touch_pod();
    let condition = |budgets: &Budgets| {
        let budget = budgets.cluster.store().budgets.iter().next().map(|(_, budget)| budget).expect("the budget");
        budget.status.condition.as_ref().map(|(_, reason, _)| *reason)
    };
    assert_eq!(condition(&budgets), Some(BudgetReason::SyncFailed));
    let failures = budgets.cluster.reasons("CalculateExpectedPodCountFailed");
    budgets.cluster.run_for(3600.0);
    assert_eq!(budgets.cluster.reasons("CalculateExpectedPodCountFailed"), failures);
    assert_eq!(condition(&budgets), Some(BudgetReason::SyncFailed));
}
