//! The API server alone: what a request leaves behind, and what it is answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{ApiServer, Eviction, Served};
use crate::arena::Symbol;
use crate::component::{
    Answer, Config, DeleteOptions, ErrorReason, NodeConditionUpdate, NodeRegistration, PodDraft, PodName,
    PodStatusPatch, Reply, Request, StatusUpdate, export_pod,
};
use crate::engine::Streams;
use crate::model::config::{KubeApiserver, KubernetesVersion};
use crate::model::{self, Object, ObjectKind, PodTemplateSpec, TaintEffect, Toleration};
use crate::state::{
    Changed, DeletionCause, NodeCondition, NodeConditionKind, NodeId, NotScheduled, NotScheduledReason, ObjectDelta,
    Pod, PodDelta, PodDisruptionBudgetId, PodDisruptionBudgetStatus, PodId, PodPhase, Propagation, Status, Store,
    TaintOnNode, WorkloadId,
};
use crate::testing::config_of;
use crate::units::{SimDuration, SimTime};

mod admission;
mod eviction;
mod finalizers;
mod limits;

/// An API server with a cluster of its own.
struct Api {
    api: ApiServer,
    store: Store,
    config: Config,
    now: SimTime,
    changed: Vec<Changed>,
}

impl Api {
    fn new() -> Self {
        Self::of_version(KubernetesVersion::NEWEST)
    }

    fn of_version(version: KubernetesVersion) -> Self {
        let config = config_of(version);
        let now = SimTime::from_secs(100);
        Self { api: ApiServer::new(), store: Store::default(), config, now, changed: Vec::new() }
    }

    fn ask(&mut self, request: Request) -> Answer {
        self.changed.clear();
        self.api.handle(&mut self.store, &self.config, &Streams::new(7), self.now, request, &mut self.changed)
    }

    fn refusal(&mut self, request: Request) -> (ErrorReason, String) {
        let error = self.ask(request).expect_err("a refusal");
        (error.reason, error.detail.unwrap_or(error.message))
    }

    /// Creates an object of this kind and text.
    #[track_caller]
    fn create(&mut self, object: Object) -> Answer {
        self.changed.clear();
        self.api.restore(&mut self.store, &self.config, &Streams::new(7), self.now, object, &mut self.changed)
    }

    #[track_caller]
    fn pod(&mut self, text: &str) -> PodId {
        match self.create(pod(text)).expect("a new pod") {
            Reply::Pod(id) => id,
            other => panic!("{other:?}"),
        }
    }

    /// A Running pod `name` of label `app: a` on a node, ready or not.
    #[track_caller]
    fn running(&mut self, name: &str, is_ready: bool) -> PodId {
        let id = self.pod(&format!("{{metadata: {{name: {name}, labels: {{app: a}}}}, spec: {{nodeName: n, {ONE}}}}}"));
        let ready = Some(if is_ready { Status::True } else { Status::False });
        let patch = PodStatusPatch { phase: Some(PodPhase::Running), ready, ..PodStatusPatch::default() };
        self.ask(Request::PatchPodStatus { pod: id, patch: Box::new(patch) }).expect("a patch");
        id
    }

    /// A budget of pods `app: a` with this status: allowed, healthy, desired.
    #[track_caller]
    fn budget(&mut self, spec: &str, status: (i32, i32, i32)) -> PodDisruptionBudgetId {
        let text = format!("{{metadata: {{name: b, namespace: default, generation: 1}}, spec: {{{spec}}}}}");
        let budget: model::PodDisruptionBudget = serde_saphyr::from_str(&text).expect("a budget");
        self.create(Object::PodDisruptionBudget(Box::new(budget))).expect("a new budget");
        let id = self.store.budgets.ids().last().expect("the budget");
        let (disruptions_allowed, current_healthy, desired_healthy) = status;
        self.set_budget(id, |old| PodDisruptionBudgetStatus {
            observed_generation: 1,
            disruptions_allowed,
            current_healthy,
            desired_healthy,
            ..old
        });
        id
    }

    fn set_budget(
        &mut self,
        id: PodDisruptionBudgetId,
        edit: impl FnOnce(PodDisruptionBudgetStatus) -> PodDisruptionBudgetStatus,
    ) {
        let budget = &self.store.budgets[id];
        let (version, status) = (budget.resource_version, edit(budget.status.clone()));
        self.ask(Request::UpdateStatus(StatusUpdate::Budget(id, version, Box::new(status)))).expect("a status");
    }

    /// Changes a pod as a kubelet does.
    fn patch(&mut self, pod: PodId, patch: PodStatusPatch) {
        self.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
    }

    fn evict(&mut self, pod: PodId) -> Answer {
        self.ask(Request::EvictPod { pod, grace_s: None, dry_run: false })
    }

    fn get(&self, id: PodId) -> &Pod {
        self.store.pod(id).expect("the pod exists")
    }

    fn node(&mut self, registration: NodeRegistration) -> NodeId {
        let node = self.store.node_slot(Symbol::new("n"));
        self.ask(Request::CreateNode { node, registration: Box::new(registration) }).expect("a new node");
        node
    }
}

const ONE: &str = "containers: [{name: c, image: i}]";
const APP_A: &str = "selector: {matchLabels: {app: a}}, minAvailable: 1";

fn pod(text: &str) -> Object {
    let mut pod: model::Pod = serde_saphyr::from_str(text).expect("a pod");
    if pod.metadata.namespace.as_str().is_empty() {
        pod.metadata.namespace = Symbol::new("default");
    }
    pod.apply_defaults();
    Object::Pod(Box::new(pod))
}

fn registration(text: &str) -> NodeRegistration {
    let node: model::Node = serde_saphyr::from_str(text).expect("a node");
    NodeRegistration::from(&node)
}

fn draft(name: PodName, namespace: &str) -> Request {
    let template: PodTemplateSpec = serde_saphyr::from_str(&format!("{{spec: {{{ONE}}}}}")).expect("a template");
    Request::CreatePod(Box::new(PodDraft {
        namespace: Symbol::new(namespace),
        name,
        template: Arc::new(template),
        extra_labels: smallvec::SmallVec::new(),
        extra_annotations: smallvec::SmallVec::new(),
        owner: None,
        pinned_node: None,
        job_tracking: false,
    }))
}

// ---- names ----------------------------------------------------------------------------------------------------------

fn name_of(api: &mut Api, prefix: &str, namespace: &str) -> String {
    match api.ask(draft(PodName::Generate(Symbol::new(prefix)), namespace)).expect("a new pod") {
        Reply::Pod(id) => api.get(id).name.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_generated_name_is_58_characters_of_prefix_and_5_of_27() {
    let mut api = Api::new();
    let name = name_of(&mut api, &"x".repeat(70), "default");
    assert_eq!(name.len(), 63);
    assert!(name[58..].bytes().all(|b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b)), "{name}");
}

#[test]
fn one_more_pod_renames_no_pod_of_another_prefix_or_namespace() {
    let names = |others: usize| {
        let mut api = Api::new();
        for _ in 0..others {
            name_of(&mut api, "other-", "default");
            name_of(&mut api, "web-", "elsewhere");
            api.ask(draft(PodName::Exact("bare".into()), &format!("x{others}"))).ok();
        }
        let name = name_of(&mut api, "web-", "default");
        let uid = api.store.pods().map(|(_, pod)| (pod.name.to_string(), pod.uid)).find(|(n, _)| *n == name);
        (name, uid)
    };
    assert_eq!(names(0), names(5));
}

#[test]
fn pods_of_one_name_in_turn_have_different_uids() {
    let mut api = Api::new();
    let uids: Vec<_> = (0..3)
        .map(|_| {
            let Ok(Reply::Pod(id)) = api.ask(draft(PodName::Exact("db-0".into()), "default")) else { panic!("no pod") };
            let uid = api.get(id).uid;
            api.ask(Request::DeletePod { pod: id, options: DeleteOptions::default(), cause: DeletionCause::Kubectl })
                .expect("a deletion");
            uid
        })
        .collect();
    assert!(uids[0] != uids[1] && uids[1] != uids[2] && uids[0] != uids[2]);
}

#[test]
fn a_name_is_taken_once_per_namespace() {
    let mut api = Api::new();
    api.ask(draft(PodName::Exact("p".into()), "default")).expect("a new pod");
    api.ask(draft(PodName::Exact("p".into()), "other")).expect("a new pod");
    let (reason, message) = api.refusal(draft(PodName::Exact("p".into()), "default"));
    assert_eq!((reason, &*message), (ErrorReason::AlreadyExists, "pods \"p\" already exists"));
}

#[test]
fn a_terminating_namespace_takes_nothing_new() {
    let mut api = Api::new();
    let namespace: model::Namespace = serde_saphyr::from_str("{metadata: {name: going}}").expect("a namespace");
    api.create(Object::Namespace(Box::new(namespace))).expect("a new namespace");
    let here = api.pod(&format!("{{metadata: {{name: here, namespace: going}}, spec: {{{ONE}}}}}"));
    let budget = || {
        let text =
            "{metadata: {name: b, namespace: going}, spec: {minAvailable: 1, selector: {matchLabels: {app: a}}}}";
        Box::new(Object::PodDisruptionBudget(Box::new(serde_saphyr::from_str(text).expect("a budget"))))
    };
    api.ask(Request::Create(budget())).expect("a new budget");
    let name = Symbol::new("going");
    api.ask(Request::DeleteOther { kind: ObjectKind::Namespace.into(), namespace: Symbol::empty(), name })
        .expect("a deletion");
    let node = api.store.node_slot(Symbol::new("n"));
    let mut check = |request: Request, what: &str| {
        let expected = format!(
            "{what} is forbidden: unable to create new content in namespace going because it is being terminated"
        );
        assert_eq!(api.refusal(request), (ErrorReason::Forbidden, expected));
    };
    check(draft(PodName::Exact("p".into()), "going"), "pods \"p\"");
    check(draft(PodName::Generate(Symbol::new("web-")), "going"), "pods \"web-\"");
    check(Request::EvictPod { pod: here, grace_s: None, dry_run: false }, "pods \"here\"");
    check(Request::BindPod { pod: here, node }, "pods \"here\"");
    check(Request::Create(budget()), "poddisruptionbudgets.policy \"b\"");
    // What is there can still be written.
    assert_eq!(api.ask(Request::Apply(budget())), Ok(Reply::Unchanged));
    assert!(delete(&mut api, here, None).is_ok());
}

// ---- deletion -------------------------------------------------------------------------------------------------------

fn delete(api: &mut Api, pod: PodId, grace_s: Option<i64>) -> Answer {
    let options = DeleteOptions { grace_s, uid: None };
    api.ask(Request::DeletePod { pod, options, cause: DeletionCause::Kubectl })
}

#[test]
fn a_bound_live_pod_is_marked_and_others_are_removed_at_once() {
    let check = |spec: &str, phase: PodPhase, grace_s: Option<i64>, expected_s: Option<i64>| {
        let mut api = Api::new();
        let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{{spec} {ONE}}}}}"));
        let patch = PodStatusPatch { phase: Some(phase), ..PodStatusPatch::default() };
        api.ask(Request::PatchPodStatus { pod: id, patch: Box::new(patch) }).expect("a patch");
        delete(&mut api, id, grace_s).expect("a deletion");
        let deadline = api.store.pod(id).map(|pod| pod.deletion.expect("a mark").deadline);
        assert_eq!(deadline, expected_s.map(|s| SimTime::from_secs(100 + s)), "{spec} {phase:?} {grace_s:?}");
    };
    check("nodeName: n,", PodPhase::Running, None, Some(30));
    check("nodeName: n, terminationGracePeriodSeconds: 7,", PodPhase::Running, None, Some(7));
    check("nodeName: n,", PodPhase::Pending, Some(5), Some(5));
    check("nodeName: n,", PodPhase::Running, Some(-1), Some(1));
    check("nodeName: n,", PodPhase::Running, Some(0), None);
    check("nodeName: n,", PodPhase::Failed, None, None);
    check("nodeName: n,", PodPhase::Succeeded, None, None);
    check("", PodPhase::Pending, None, None);
}

#[test]
fn a_second_deletion_can_only_shorten_the_grace() {
    let mut api = Api::new();
    let id = api.running("p", true);
    delete(&mut api, id, None).expect("a deletion");
    let deadline = |api: &Api| api.get(id).deletion.map(|d| d.deadline);
    api.now = SimTime::from_secs(110);
    delete(&mut api, id, Some(60)).expect("a deletion");
    assert_eq!(deadline(&api), Some(SimTime::from_secs(130)));
    assert!(api.changed.is_empty());
    delete(&mut api, id, Some(15)).expect("a deletion");
    assert_eq!(deadline(&api), Some(SimTime::from_secs(115)));
    delete(&mut api, id, Some(5)).expect("a deletion");
    assert_eq!(deadline(&api), Some(SimTime::from_secs(110)));
    assert_eq!(api.get(id).deletion.map(|d| d.grace), Some(SimDuration::from_secs(1)));
    delete(&mut api, id, Some(0)).expect("a deletion");
    assert!(api.store.pod(id).is_none());
}

#[test]
fn a_deletion_with_another_pods_uid_is_a_conflict() {
    let mut api = Api::new();
    let id = api.running("p", true);
    let options = DeleteOptions { grace_s: Some(0), uid: Some(crate::state::Uid(1)) };
    let request = Request::DeletePod { pod: id, options, cause: DeletionCause::Kubectl };
    assert_eq!(api.refusal(request).0, ErrorReason::Conflict);
}

/// # Source
/// API machinery, `BeforeDelete`, `ShouldDeleteDuringUpdate` and `ValidateNoNewFinalizers`.
#[test]
fn a_finalizer_of_others_keeps_a_deleted_pod_until_an_update_takes_it_off() {
    let mut api = Api::new();
    let id = api.pod(&format!("{{metadata: {{name: p, finalizers: [a.b/c]}}, spec: {{nodeName: n, {ONE}}}}}"));
    let set = |api: &mut Api, finalizers: &[&str]| {
        let mut object = export_pod(&api.store, id).expect("the pod");
        object.metadata.finalizers = finalizers.iter().map(|name| Symbol::new(name)).collect();
        api.ask(Request::Apply(Box::new(Object::Pod(Box::new(object)))))
    };
    let options = DeleteOptions { grace_s: Some(0), uid: None };
    let delete = Request::DeletePod { pod: id, options, cause: DeletionCause::Kubectl };
    assert_eq!(api.ask(delete), Ok(Reply::Done));
    assert!(api.store.pod(id).is_some_and(|pod| pod.deletion.is_some()), "it is marked, and stays");
    let refused = set(&mut api, &["a.b/c", "d.e/f"]).expect_err("a refusal");
    assert_eq!(
        refused.message,
        "Pod \"p\" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
         deleted, found new finalizers []string{\"d.e/f\"}"
    );
    set(&mut api, &[]).expect("an update");
    assert!(api.store.pod(id).is_none());
}

#[test]
fn a_finalizer_keeps_a_deleted_pod_until_it_is_released() {
    let mut api = Api::new();
    let text = "{metadata: {name: p, finalizers: [batch.kubernetes.io/job-tracking]}, spec: {nodeName: n, ";
    let id = api.pod(&format!("{text}{ONE}}}}}"));
    delete(&mut api, id, Some(0)).expect("a deletion");
    assert!(api.get(id).deletion.is_some());
    api.ask(Request::ReleasePodFromJob { pod: id }).expect("a release");
    assert!(api.store.pod(id).is_none());
}

#[test]
fn a_pod_that_is_released_before_its_grace_is_over_stays() {
    let mut api = Api::new();
    let text = "{metadata: {name: p, finalizers: [batch.kubernetes.io/job-tracking]}, spec: {nodeName: n, ";
    let id = api.pod(&format!("{text}{ONE}}}}}"));
    delete(&mut api, id, None).expect("a deletion");
    api.ask(Request::ReleasePodFromJob { pod: id }).expect("a release");
    assert!(api.get(id).deletion.is_some());
}

#[test]
fn a_workload_goes_at_once_or_waits_for_its_dependents() {
    for (propagation, stays) in
        [(Propagation::Background, false), (Propagation::Foreground, true), (Propagation::Orphan, true)]
    {
        let mut api = Api::new();
        let text = format!(
            "{{metadata: {{name: d, namespace: default}}, spec: {{selector: {{matchLabels: {{a: b}}}}, \
             template: {{metadata: {{labels: {{a: b}}}}, spec: {{{ONE}}}}}}}}}"
        );
        let deployment: model::Deployment = serde_saphyr::from_str(&text).expect("a deployment");
        let Ok(Reply::Workload(workload)) = api.create(Object::Deployment(Box::new(deployment))) else {
            panic!("no deployment")
        };
        api.ask(Request::DeleteWorkload { workload, propagation }).expect("a deletion");
        assert_eq!(api.store.workload_meta(workload).is_some(), stays, "{propagation:?}");
        if stays {
            api.ask(Request::FinalizeWorkload { workload }).expect("the end");
            assert!(api.store.workload_meta(workload).is_none());
        }
    }
}

// ---- binding --------------------------------------------------------------------------------------------------------

#[test]
fn a_pod_is_bound_once_and_not_while_it_goes() {
    let mut api = Api::new();
    let node = api.node(registration("{metadata: {name: n}}"));
    let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{{ONE}}}}}"));
    let nominated = PodStatusPatch {
        nominated_node: Some(Some(node)),
        not_scheduled: Some(NotScheduled { reason: NotScheduledReason::Unschedulable, message: Arc::from("no room") }),
        ..PodStatusPatch::default()
    };
    api.ask(Request::PatchPodStatus { pod: id, patch: Box::new(nominated) }).expect("a patch");
    api.ask(Request::BindPod { pod: id, node }).expect("a binding");
    let pod = api.get(id);
    assert_eq!((pod.node, pod.scheduled_at), (Some(node), Some(api.now)));
    assert!(pod.not_scheduled.is_none() && pod.nominated_node.is_none());
    let (reason, message) = api.refusal(Request::BindPod { pod: id, node });
    assert_eq!(reason, ErrorReason::Conflict);
    assert!(message.contains("already assigned"), "{message}");
    let going = api.running("going", true);
    delete(&mut api, going, None).expect("a deletion");
    let (reason, message) = api.refusal(Request::BindPod { pod: going, node });
    assert_eq!(reason, ErrorReason::Conflict);
    assert!(message.contains("is being deleted"), "{message}");
}

// ---- status ---------------------------------------------------------------------------------------------------------

#[test]
fn a_write_that_changes_nothing_is_published_to_nobody() {
    let mut api = Api::new();
    let pod = api.running("p", true);
    let patch = PodStatusPatch { ready: Some(Status::True), ..PodStatusPatch::default() };
    let answer = api.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) });
    assert!(matches!(answer, Ok(Reply::Unchanged)) && api.changed.is_empty());
    let node = api.node(registration("{metadata: {name: n}}"));
    api.ask(Request::SetNodeUnschedulable { node, unschedulable: true }).expect("a cordon");
    let again = api.ask(Request::SetNodeUnschedulable { node, unschedulable: true });
    assert!(matches!(again, Ok(Reply::Unchanged)) && api.changed.is_empty());
}

#[test]
fn a_budget_status_over_an_older_read_is_a_conflict() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    let read = api.store.budgets[budget].resource_version;
    let pod = api.running("p", true);
    api.evict(pod).expect("an eviction");
    let late = StatusUpdate::Budget(budget, read, Box::default());
    assert_eq!(api.refusal(Request::UpdateStatus(late)).0, ErrorReason::Conflict);
}

#[test]
fn taints_are_one_by_key_and_effect() {
    let mut api = Api::new();
    let node = api.node(registration("{metadata: {name: n}}"));
    let key = Symbol::new("k");
    let taint =
        |effect, at_s| TaintOnNode { key, value: Symbol::empty(), effect, added_at: Some(SimTime::from_secs(at_s)) };
    let patch = |add: Vec<TaintOnNode>, remove: Vec<(Symbol, TaintEffect)>| Request::PatchNodeTaints {
        node,
        add: add.into(),
        remove: remove.into(),
    };
    api.ask(patch(vec![taint(TaintEffect::NoSchedule, 1), taint(TaintEffect::NoExecute, 1)], vec![])).expect("taints");
    api.ask(patch(vec![taint(TaintEffect::NoExecute, 2)], vec![])).expect("taints");
    let found: Vec<_> =
        api.store.node(node).expect("the node").taints.iter().filter(|t| t.key == key).copied().collect();
    assert_eq!(found, [taint(TaintEffect::NoSchedule, 1), taint(TaintEffect::NoExecute, 2)]);
    api.ask(patch(vec![], vec![(key, TaintEffect::NoSchedule)])).expect("taints");
    assert_eq!(api.store.node(node).expect("the node").taints.iter().filter(|t| t.key == key).count(), 1);
}

#[test]
fn a_condition_keeps_its_transition_time_until_its_status_flips() {
    let mut api = Api::new();
    let node = api.node(registration("{metadata: {name: n}}"));
    let post = |status, reason, at_s| Request::PatchNodeStatus {
        node,
        conditions: vec![NodeConditionUpdate {
            kind: NodeConditionKind::Ready,
            condition: NodeCondition { status, reason, since: SimTime::from_secs(at_s) },
        }]
        .into(),
        base: None,
    };
    let since =
        |api: &Api| api.store.node(node).and_then(|n| n.conditions.get(NodeConditionKind::Ready)).map(|c| c.since);
    api.ask(post(Status::True, "KubeletReady", 1)).expect("a status");
    api.ask(post(Status::True, "Other", 5)).expect("a status");
    assert_eq!(since(&api), Some(SimTime::from_secs(1)));
    api.ask(post(Status::Unknown, "NodeStatusUnknown", 9)).expect("a status");
    assert_eq!(since(&api), Some(SimTime::from_secs(9)));
}

#[test]
fn a_status_over_an_older_node_is_a_conflict() {
    let mut api = Api::new();
    let node = api.node(registration("{metadata: {name: n}}"));
    let base = api.store.node(node).map(Arc::clone);
    api.ask(Request::SetNodeUnschedulable { node, unschedulable: true }).expect("a cordon");
    let late = Request::PatchNodeStatus { node, conditions: Vec::new().into(), base };
    assert_eq!(api.refusal(late).0, ErrorReason::Conflict);
}

#[test]
fn a_write_that_changes_nothing_makes_no_new_version_of_a_node_but_a_status_always_does() {
    let mut api = Api::new();
    let node = api.node(registration("{metadata: {name: n}}"));
    let base = |api: &Api| api.store.node(node).map(Arc::clone);
    let status = |base| Request::PatchNodeStatus { node, conditions: smallvec::SmallVec::new(), base };
    let read = base(&api);
    let again = api.ask(Request::SetNodeUnschedulable { node, unschedulable: false });
    assert!(matches!(again, Ok(Reply::Unchanged)) && api.changed.is_empty());
    api.ask(status(read.clone())).expect("no conflict");
    assert!(api.changed.is_empty());
    assert_eq!(api.refusal(status(read)).0, ErrorReason::Conflict);
}

#[test]
fn a_later_deletion_shortens_the_grace_even_after_it_is_over_and_what_held_the_pod_lets_it_go() {
    let mut api = Api::new();
    let text = "{metadata: {name: p, finalizers: [batch.kubernetes.io/job-tracking]}, spec: {nodeName: n, ";
    let id = api.pod(&format!("{text}{ONE}}}}}"));
    let delete = |grace_s| Request::DeletePod {
        pod: id,
        options: DeleteOptions { grace_s, uid: None },
        cause: DeletionCause::Kubectl,
    };
    let asked_at = api.now;
    api.ask(delete(Some(10))).expect("a mark");
    api.now = asked_at + SimDuration::from_secs(40);
    api.ask(delete(Some(0))).expect("a shorter grace");
    let deletion = api.store.pod(id).and_then(|pod| pod.deletion).expect("it is held");
    assert_eq!((deletion.requested_at, deletion.deadline, deletion.grace), (asked_at, api.now, SimDuration::ZERO));
    api.ask(Request::ReleasePodFromJob { pod: id }).expect("a release");
    assert!(api.store.pod(id).is_none());
}

#[test]
fn a_slot_that_becomes_a_job_is_announced_of_its_cron_job_too() {
    let mut api = Api::new();
    let text = "{metadata: {name: report, namespace: default}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template: {spec: \
                {containers: [{name: c, image: i}]}}}}}}";
    let cron_job: model::CronJob = serde_saphyr::from_str(text).expect("a cron job");
    let Ok(Reply::Workload(WorkloadId::CronJob(id))) = api.create(Object::CronJob(Box::new(cron_job))) else {
        panic!("no cron job")
    };
    let scheduled_at = SimTime::from_secs(60);
    api.ask(Request::CreateJob { cron_job: id, name: Symbol::new("report-1"), scheduled_at }).expect("a job");
    let is_told = |changed: &Changed| match changed {
        Changed::WorkloadUpdated(WorkloadId::CronJob(told), delta) => *told == id && delta.touches(ObjectDelta::STATUS),
        _ => false,
    };
    assert!(api.changed.iter().any(is_told), "{:?}", api.changed);
    assert_eq!(api.store.cron_jobs[id].status.last_scheduled_at, Some(scheduled_at));
}

#[test]
fn tolerations_of_a_pod_grow_and_change_their_seconds() {
    let mut api = Api::new();
    let pod = api.running("p", true);
    let tolerations = |text: &str| -> Vec<Toleration> { serde_saphyr::from_str(text).expect("tolerations") };
    let both = |first: &str, second: &str, more: &str| {
        let key = |name: &str, seconds: &str| {
            format!("{{key: node.kubernetes.io/{name}, operator: Exists, effect: NoExecute{seconds}}}")
        };
        tolerations(&format!("[{}, {}{more}]", key("not-ready", first), key("unreachable", second)))
    };
    let same = both(", tolerationSeconds: 300", ", tolerationSeconds: 300", "");
    let with = |api: &Api, tolerations: Vec<Toleration>| {
        let mut object = export_pod(&api.store, pod).expect("the pod");
        object.spec.tolerations = tolerations;
        Request::Apply(Box::new(Object::Pod(Box::new(object))))
    };
    let request = with(&api, same);
    assert_eq!(api.ask(request), Ok(Reply::Unchanged));
    let longer = both(", tolerationSeconds: 900", "", ", {key: k, operator: Exists}");
    let request = with(&api, longer);
    api.ask(request).expect("an update");
    let is_told = |changed: &Changed| matches!(changed, Changed::PodUpdated { delta, before: Some(_), .. } if delta.touches(PodDelta::SPEC));
    assert!(api.changed.iter().any(is_told));
    let one = tolerations("[{key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute}]");
    let request = with(&api, one);
    let (reason, _) = api.refusal(request);
    assert_eq!(reason, ErrorReason::Invalid);
}
