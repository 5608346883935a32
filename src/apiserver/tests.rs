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
        owner: None,
        pinned_node: None,
        job_tracking: false,
    }))
}

// ---- admission --------------------------------------------------------------------------------------------------------

#[test]
fn missing_tolerations_of_lost_nodes_are_added_with_300_seconds() {
    let check = |tolerations: &str, expected: &[(&str, Option<i64>)]| {
        let mut api = Api::new();
        let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{tolerations: {tolerations}, {ONE}}}}}"));
        let found: Vec<(&str, Option<i64>)> =
            api.get(id).spec.tolerations.iter().map(|t| (t.key.as_str(), t.toleration_seconds)).collect();
        assert_eq!(found, expected, "{tolerations}");
    };
    let (not_ready, unreachable) = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable");
    let both = [(not_ready, Some(300)), (unreachable, Some(300))];
    check("[]", &both);
    check(
        "[{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 5}]",
        &[(unreachable, Some(5)), (not_ready, Some(300))],
    );
    check("[{key: node.kubernetes.io/not-ready, operator: Exists}]", &[(not_ready, None), (unreachable, Some(300))]);
    // Operator and value are not looked at: this one suppresses the default and will never match.
    check(
        "[{key: node.kubernetes.io/not-ready, operator: Equal, value: x, effect: NoExecute}]",
        &[(not_ready, None), (unreachable, Some(300))],
    );
    check("[{operator: Exists}]", &[("", None)]);
    check("[{operator: Exists, effect: NoSchedule}]", &[("", None), both[0], both[1]]);
    check("[{key: k, operator: Exists, effect: NoExecute}]", &[("k", None), both[0], both[1]]);
}

#[test]
fn the_flags_of_the_server_say_how_long_a_lost_node_is_tolerated() {
    let mut api = Api::new();
    api.config.kube_apiserver.default_not_ready_toleration_seconds = 30;
    api.config.kube_apiserver.default_unreachable_toleration_seconds = 40;
    let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{{ONE}}}}}"));
    let found: Vec<Option<i64>> =
        api.get(id).spec.tolerations.iter().map(|t: &Toleration| t.toleration_seconds).collect();
    assert_eq!(found, [Some(30), Some(40)]);
}

#[test]
fn a_priority_class_decides_the_priority() {
    let mut api = Api::new();
    for text in [
        "{metadata: {name: high}, value: 1000, preemptionPolicy: Never}",
        "{metadata: {name: usual}, value: 7, globalDefault: true}",
    ] {
        let class: model::PriorityClass = serde_saphyr::from_str(text).expect("a class");
        api.create(Object::PriorityClass(Box::new(class))).expect("a new class");
    }
    let mut check = |name: &str, spec: &str, expected: i32| {
        let id = api.pod(&format!("{{metadata: {{name: {name}}}, spec: {{{spec} {ONE}}}}}"));
        assert_eq!(api.get(id).spec.priority, expected, "{spec}");
    };
    check("a", "priorityClassName: high,", 1000);
    check("b", "", 7);
    check("c", "priorityClassName: system-node-critical,", 2_000_001_000);
    check("d", "priorityClassName: system-cluster-critical,", 2_000_000_000);
    let unknown = pod(&format!("{{metadata: {{name: e}}, spec: {{priorityClassName: no, {ONE}}}}}"));
    let (reason, message) = api.refusal(Request::Create(Box::new(unknown)));
    assert_eq!(reason, ErrorReason::Forbidden);
    assert_eq!(message, "pods \"e\" is forbidden: no PriorityClass with name no was found");
}

#[test]
fn pods_of_a_priority_class_that_was_deleted_are_forbidden_those_of_a_dump_are_not() {
    let mut api = Api::new();
    let class: model::PriorityClass = serde_saphyr::from_str("{metadata: {name: hi}, value: 1000}").expect("a class");
    api.create(Object::PriorityClass(Box::new(class))).expect("a new class");
    let text = format!("{{spec: {{priorityClassName: hi, {ONE}}}}}");
    let template: Arc<PodTemplateSpec> = Arc::new(serde_saphyr::from_str(&text).expect("a template"));
    let make = || {
        Request::CreatePod(Box::new(PodDraft {
            namespace: Symbol::new("default"),
            name: PodName::Generate(Symbol::new("web-")),
            template: Arc::clone(&template),
            extra_labels: smallvec::SmallVec::new(),
            owner: None,
            pinned_node: None,
            job_tracking: false,
        }))
    };
    api.ask(make()).expect("a pod");
    let (kind, namespace, name) = (ObjectKind::PriorityClass.into(), Symbol::empty(), Symbol::new("hi"));
    api.ask(Request::DeleteOther { kind, namespace, name }).expect("a deletion");
    let (reason, message) = api.refusal(make());
    assert_eq!(reason, ErrorReason::Forbidden);
    assert_eq!(message, "pods \"web-\" is forbidden: no PriorityClass with name hi was found");
    let old = format!("{{metadata: {{name: old, uid: u}}, spec: {{priorityClassName: hi, priority: 1000, {ONE}}}}}");
    let id = api.pod(&old);
    assert_eq!(api.get(id).spec.priority, 1000);
}

#[test]
fn a_new_pod_has_the_priority_and_the_policy_of_its_class_and_no_other() {
    let mut api = Api::new();
    let class = "{metadata: {name: hi}, value: 1000, preemptionPolicy: Never}";
    let class: model::PriorityClass = serde_saphyr::from_str(class).expect("a class");
    api.create(Object::PriorityClass(Box::new(class))).expect("a new class");
    let asked = |api: &mut Api, spec: &str| {
        let text = format!("{{metadata: {{name: p, namespace: default}}, spec: {{{spec}, {ONE}}}}}");
        let pod: model::Pod = serde_saphyr::from_str(&text).expect("a pod");
        api.ask(Request::DryRun(Box::new(Request::Create(Box::new(Object::from(pod))))))
    };
    let mut check = |spec: &str, why: Option<&str>| match (asked(&mut api, spec), why) {
        (Ok(_), None) => {}
        (Err(error), Some(why)) => assert_eq!(error.message, format!("pods \"p\" is forbidden: {why}")),
        (answer, why) => panic!("{spec}: {answer:?} instead of {why:?}"),
    };
    const RULE: &str = "from the given PriorityClass name";
    let integer = |own: i32, computed: i32| {
        format!(
            "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller computed \
             {computed} {RULE}"
        )
    };
    check("priority: 0", None);
    check("priority: 5", Some(&integer(5, 0)));
    check("priorityClassName: hi, priority: 1000, preemptionPolicy: Never", None);
    check("priorityClassName: hi, priority: 7", Some(&integer(7, 1000)));
    let policy = "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority \
                  admission controller computed Never from the given PriorityClass name";
    check("priorityClassName: hi, preemptionPolicy: PreemptLowerPriority", Some(policy));
    let overhead = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
    check("overhead: {cpu: 1}", Some(overhead));
    // What is there at the beginning has been admitted somewhere, somehow.
    let id = api.pod(&format!("{{metadata: {{name: old}}, spec: {{priority: 500, {ONE}}}}}"));
    assert_eq!(api.get(id).spec.priority, 500);
}

#[test]
fn one_priority_class_at_most_is_the_default_of_all() {
    let mut api = Api::new();
    let class = |name: &str, value: i32, is_default: bool| {
        let text = format!("{{metadata: {{name: {name}}}, value: {value}, globalDefault: {is_default}}}");
        let class: model::PriorityClass = serde_saphyr::from_str(&text).expect("a class");
        Box::new(Object::PriorityClass(Box::new(class)))
    };
    api.ask(Request::Create(class("one", 70, true))).expect("a class");
    let expected = "priorityclasses.scheduling.k8s.io \"two\" is forbidden: PriorityClass one is already marked as default. \
                    Only one default can exist";
    let (reason, message) = api.refusal(Request::Create(class("two", 60, true)));
    assert_eq!((reason, message.as_str()), (ErrorReason::Forbidden, expected));
    api.ask(Request::Create(class("two", 60, false))).expect("a class");
    assert_eq!(api.refusal(Request::Apply(class("two", 60, true))).1, expected);
    let pod = |api: &mut Api, name: &str| api.pod(&format!("{{metadata: {{name: {name}}}, spec: {{{ONE}}}}}"));
    let id = pod(&mut api, "a");
    assert_eq!((api.get(id).spec.priority, api.get(id).spec.priority_class_name), (70, Some(Symbol::new("one"))));
    assert!(matches!(api.ask(Request::Apply(class("one", 70, false))), Ok(Reply::Done)));
    api.ask(Request::Apply(class("two", 60, true))).expect("the only default");
    let id = pod(&mut api, "b");
    assert_eq!(api.get(id).spec.priority, 60);
    let delete = |name: &str| Request::DeleteOther {
        kind: ObjectKind::PriorityClass.into(),
        namespace: Symbol::empty(),
        name: Symbol::new(name),
    };
    let (reason, message) = api.refusal(delete("system-node-critical"));
    let expected = "priorityclasses.scheduling.k8s.io \"system-node-critical\" is forbidden: this is a system priority class \
                    and cannot be deleted";
    assert_eq!((reason, message.as_str()), (ErrorReason::Forbidden, expected));
}

#[test]
fn pods_that_come_after_a_crash_loop_crash_until_their_image_is_another() {
    let mut api = Api::new();
    let text = "{metadata: {name: web, namespace: default}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: \
                {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
    let set: model::ReplicaSet = serde_saphyr::from_str(text).expect("a set");
    let Ok(Reply::Workload(WorkloadId::ReplicaSet(set))) = api.create(Object::ReplicaSet(Box::new(set))) else {
        panic!("a new set")
    };
    api.store.crash_loops = Arc::from([crate::state::CrashLoop {
        namespace: Symbol::new("default"),
        kind: Symbol::new("ReplicaSet"),
        name: Symbol::new("web"),
        images: vec![Symbol::new("i")],
        annotations: vec![(Symbol::new("kubesquall.sim/exit-code"), Symbol::new("3"))],
    }]);
    let mut made = |image: &str| {
        let text = format!("{{spec: {{containers: [{{name: c, image: {image}}}]}}}}");
        let template: PodTemplateSpec = serde_saphyr::from_str(&text).expect("a template");
        let draft = PodDraft {
            namespace: Symbol::new("default"),
            name: PodName::Generate(Symbol::new("web-")),
            template: Arc::new(template),
            extra_labels: smallvec::SmallVec::new(),
            owner: Some(crate::state::Owner::ReplicaSet(set)),
            pinned_node: None,
            job_tracking: false,
        };
        let Ok(Reply::Pod(id)) = api.ask(Request::CreatePod(Box::new(draft))) else { panic!("a new pod") };
        api.get(id).spec.annotations.get(&Symbol::new("kubesquall.sim/exit-code")).map(|code| code.as_str())
    };
    assert_eq!(made("i"), Some("3"));
    assert_eq!(made("j"), None);
    assert_eq!(made("i"), Some("3"));
}

#[test]
fn a_pod_gets_what_its_runtime_class_adds_and_must_not_contradict_it() {
    let mut api = Api::new();
    let class = "{metadata: {name: kata}, handler: kata, overhead: {podFixed: {cpu: 250m, memory: 100Mi}}, scheduling: \
                 {nodeSelector: {runtime: kata}, tolerations: [{key: kata, operator: Exists}]}}";
    let class: model::RuntimeClass = serde_saphyr::from_str(class).expect("a class");
    api.create(Object::RuntimeClass(Box::new(class))).expect("a new class");
    let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{runtimeClassName: kata, {ONE}}}}}"));
    let spec = &api.get(id).spec;
    assert_eq!((spec.requests.cpu_milli, spec.requests.memory), (250, 100 << 20));
    assert_eq!(spec.node_selector.get(Symbol::new("runtime")), Some(Symbol::new("kata")));
    assert!(spec.tolerations.iter().any(|toleration| toleration.key == "kata"));
    let other =
        format!("{{metadata: {{name: q}}, spec: {{runtimeClassName: kata, nodeSelector: {{runtime: runc}}, {ONE}}}}}");
    let pod: model::Pod = serde_saphyr::from_str(&other).expect("a pod");
    let error = api.create(Object::from(pod)).expect_err("a contradiction");
    let conflict =
        "conflict: runtimeClass.scheduling.nodeSelector[runtime] = kata; pod.spec.nodeSelector[runtime] = runc";
    assert_eq!(error.message, format!("pods \"q\" is forbidden: {conflict}"));
    let missing = api.pod(&format!("{{metadata: {{name: r}}, spec: {{runtimeClassName: gvisor, {ONE}}}}}"));
    assert_eq!(api.get(missing).spec.requests.cpu_milli, 0);
    let of_dump = "{metadata: {name: s, uid: u}, spec: {runtimeClassName: kata, overhead: {cpu: 1}";
    let of_dump = api.pod(&format!("{of_dump}, {ONE}}}}}"));
    assert_eq!(api.get(of_dump).spec.requests.cpu_milli, 1000);
}

/// A namespace `default` with these annotations, and an API server that runs with these flags.
fn with_flags(flags: &[(&str, &str)], annotations: &str) -> Api {
    let mut api = Api::new();
    let flags = flags.iter().map(|(flag, value)| (Symbol::new(flag), Symbol::new(value))).collect();
    let (resolved, errors) = KubeApiserver::resolve(&crate::model::config::FlagMap(flags), KubernetesVersion::NEWEST);
    assert!(errors.is_empty(), "{errors:?}");
    api.config.kube_apiserver = resolved;
    let text = format!("{{metadata: {{name: default, annotations: {{{annotations}}}}}}}");
    let namespace: model::Namespace = serde_saphyr::from_str(&text).expect("a namespace");
    api.create(Object::Namespace(Box::new(namespace))).expect("a new namespace");
    api
}

#[test]
fn admission_plugins_that_are_disabled_add_nothing() {
    let mut api = with_flags(&[("disable-admission-plugins", "DefaultTolerationSeconds,Priority")], "");
    let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{priorityClassName: nobody, {ONE}}}}}"));
    let spec = &api.get(id).spec;
    assert_eq!((spec.tolerations.len(), spec.priority), (0, 0));
    let mut api = with_flags(&[("disable-admission-plugins", "TaintNodesByCondition")], "");
    let node = api.store.node_slot(Symbol::new("n"));
    let registration = Box::new(registration("{metadata: {name: n}}"));
    api.ask(Request::CreateNode { node, registration }).expect("a node");
    assert!(api.store.node(node).expect("the node").taints.is_empty());
}

#[test]
fn pod_toleration_restriction_adds_what_the_namespace_says_and_refuses_what_it_does_not_allow() {
    let key = "scheduler.alpha.kubernetes.io";
    let added = format!("{key}/defaultTolerations: '[{{\"key\":\"team\",\"operator\":\"Exists\"}}]'");
    let plugin = [("enable-admission-plugins", "PodTolerationRestriction")];
    let mut api = with_flags(&plugin, &added);
    let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{{ONE}}}}}"));
    let keys: Vec<&str> = api.get(id).spec.tolerations.iter().map(|t| t.key.as_str()).collect();
    assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "team"]);
    let allowed = format!("{key}/tolerationsWhitelist: '[{{\"key\":\"team\",\"operator\":\"Exists\"}}]'");
    let mut api = with_flags(&plugin, &allowed);
    let (reason, message) = api.refusal(draft(PodName::Exact("q".into()), "default"));
    assert_eq!(reason, ErrorReason::InternalError);
    assert!(message.ends_with("conflict with its namespace whitelist"), "{message}");
}

#[test]
fn hard_anti_affinity_is_limited_to_nodes_where_a_plugin_says_so() {
    let mut api = with_flags(&[("enable-admission-plugins", "LimitPodHardAntiAffinityTopology")], "");
    let pod_far = |name: &str, key: &str| {
        let term = format!("{{topologyKey: {key}, labelSelector: {{matchLabels: {{a: b}}}}}}");
        let affinity = format!("podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}");
        pod(&format!("{{metadata: {{name: {name}}}, spec: {{affinity: {{{affinity}}}, {ONE}}}}}"))
    };
    api.create(pod_far("near", "kubernetes.io/hostname")).expect("a pod");
    let (reason, message) = api.refusal(Request::Create(Box::new(pod_far("far", "zone"))));
    assert_eq!(reason, ErrorReason::Forbidden);
    let expected = "pods \"far\" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key \
                    kubernetes.io/hostname is allowed";
    assert_eq!(message, expected);
}

#[test]
fn without_classes_the_priority_is_zero() {
    let mut api = Api::new();
    let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{{ONE}}}}}"));
    assert_eq!(api.get(id).spec.priority, 0);
}

#[test]
fn a_node_that_registers_is_tainted_not_ready_once() {
    let check = |taints: &str, expected: &[&str]| {
        let mut api = Api::new();
        let node = api.node(registration(&format!("{{metadata: {{name: n}}, spec: {{taints: {taints}}}}}")));
        let taints = &api.store.node(node).expect("the node").taints;
        assert_eq!(taints.iter().map(|t| t.key.as_str()).collect::<Vec<_>>(), expected);
    };
    check("[]", &["node.kubernetes.io/not-ready"]);
    check("[{key: k, effect: NoSchedule}]", &["k", "node.kubernetes.io/not-ready"]);
    check("[{key: node.kubernetes.io/not-ready, effect: NoSchedule}]", &["node.kubernetes.io/not-ready"]);
    check(
        "[{key: node.kubernetes.io/not-ready, effect: NoExecute}]",
        &["node.kubernetes.io/not-ready", "node.kubernetes.io/not-ready"],
    );
}

#[test]
fn a_node_that_an_operator_creates_is_tainted_not_ready_and_one_of_the_input_is_not() {
    let mut api = Api::new();
    let node = |name: &str| serde_saphyr::from_str(&format!("{{metadata: {{name: {name}}}}}")).expect("a node");
    api.create(Object::Node(Box::new(node("old")))).expect("a node of the input");
    api.api.joined();
    api.create(Object::Node(Box::new(node("new")))).expect("a new node");
    let taints = |name: &str| {
        let node = api.store.find_node(Symbol::new(name)).and_then(|id| api.store.node(id)).expect("the node");
        node.taints.iter().map(|taint| taint.key.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(taints("old"), [""; 0]);
    assert_eq!(taints("new"), ["node.kubernetes.io/not-ready"]);
}

#[test]
fn a_node_is_registered_under_its_name_once() {
    let mut api = Api::new();
    let node = api.node(registration("{metadata: {name: n}}"));
    let again = Request::CreateNode { node, registration: Box::new(registration("{metadata: {name: n}}")) };
    assert_eq!(api.refusal(again).0, ErrorReason::AlreadyExists);
}

// ---- names ------------------------------------------------------------------------------------------------------------

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

// ---- deletion ---------------------------------------------------------------------------------------------------------

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

// ---- binding ----------------------------------------------------------------------------------------------------------

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

// ---- eviction ---------------------------------------------------------------------------------------------------------

#[test]
fn an_eviction_takes_from_the_budget_and_leaves_a_condition() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    let (a, b) = (api.running("a", true), api.running("b", true));
    api.evict(a).expect("an eviction");
    let pod = api.get(a);
    assert_eq!(pod.deletion.map(|d| d.cause), Some(DeletionCause::EvictionByEvictionApi));
    assert_eq!(pod.disruption_target.map(|t| t.reason.as_str()), Some("EvictionByEvictionAPI"));
    let status = &api.store.budgets[budget].status;
    assert_eq!(status.disruptions_allowed, 0);
    assert!(status.disrupted_pods.contains_key("a"));
    assert_eq!(status.condition.as_ref().map(|c| (c.0, c.1.as_str())), Some((false, "InsufficientPods")));
    let error = api.evict(b).expect_err("no room");
    assert_eq!(error.reason, ErrorReason::TooManyRequests);
    assert_eq!(error.retry_after, None);
    assert_eq!(error.message, "Cannot evict pod as it would violate the pod's disruption budget.");
}

/// Evicts one pod under a budget: the cause of a refusal, or nothing.
#[track_caller]
fn check_eviction(policy: &str, status: (i32, i32, i32), is_ready: bool, refusal: Option<&str>) {
    let mut api = Api::new();
    let spec =
        if policy.is_empty() { APP_A.to_owned() } else { format!("{APP_A}, unhealthyPodEvictionPolicy: {policy}") };
    let budget = api.budget(&spec, status);
    let pod = api.running("p", is_ready);
    let answer = api.evict(pod);
    let found = answer.err().map(|error| error.detail.unwrap_or(error.message));
    assert_eq!(found.as_deref(), refusal, "{policy} {status:?} ready {is_ready}");
    if refusal.is_none() && !is_ready {
        assert!(api.store.budgets[budget].status.disrupted_pods.is_empty(), "the budget is not touched");
    }
}

#[test]
fn unhealthy_pods_pass_when_the_healthy_are_enough_or_always() {
    let needs = |desired: i32, has: i32| {
        format!("The disruption budget b needs {desired} healthy pods and has {has} currently")
    };
    check_eviction("", (0, 0, 0), false, Some(&needs(0, 0)));
    check_eviction("IfHealthyBudget", (0, 0, 0), false, Some(&needs(0, 0)));
    check_eviction("", (0, 2, 2), true, Some(&needs(2, 2)));
    check_eviction("IfHealthyBudget", (0, 2, 2), false, None);
    check_eviction("", (0, 2, 2), false, None);
    check_eviction("IfHealthyBudget", (0, 1, 2), false, Some(&needs(2, 1)));
    check_eviction("AlwaysAllow", (0, 1, 2), false, None);
    check_eviction("AlwaysAllow", (0, 1, 2), true, Some(&needs(2, 1)));
    check_eviction("", (-1, 1, 2), true, Some("pdb disruptions allowed is negative"));
}

#[test]
fn pods_that_never_ran_or_have_ended_or_go_already_ask_no_budget() {
    for phase in [PodPhase::Pending, PodPhase::Succeeded, PodPhase::Failed] {
        let mut api = Api::new();
        let budget = api.budget(APP_A, (0, 0, 0));
        let pod = api.running("p", false);
        let patch = PodStatusPatch { phase: Some(phase), ..PodStatusPatch::default() };
        api.ask(Request::PatchPodStatus { pod, patch: Box::new(patch) }).expect("a patch");
        api.evict(pod).expect("an eviction");
        assert!(api.store.budgets[budget].status.disrupted_pods.is_empty());
    }
    let mut api = Api::new();
    let budget = api.budget(APP_A, (0, 2, 2));
    let pod = api.running("p", true);
    delete(&mut api, pod, None).expect("a deletion");
    let deletion = api.get(pod).deletion;
    api.evict(pod).expect("an eviction");
    assert_eq!(api.get(pod).deletion, deletion);
    assert!(api.store.budgets[budget].status.disrupted_pods.is_empty());
}

#[test]
fn the_selector_says_which_pods_a_budget_protects() {
    let check = |selector: &str, is_protected: bool| {
        let mut api = Api::new();
        api.budget(&format!("{selector} minAvailable: 1"), (0, 1, 1));
        let pod = api.running("p", true);
        assert_eq!(api.evict(pod).is_err(), is_protected, "{selector}");
    };
    check("selector: {matchLabels: {app: a}},", true);
    check("selector: {matchLabels: {app: b}},", false);
    check("selector: {},", true);
    check("", false);
}

#[test]
fn two_budgets_on_one_pod_are_an_error_of_the_server() {
    let mut api = Api::new();
    for name in ["b1", "b2"] {
        let text = format!("{{metadata: {{name: {name}, namespace: default}}, spec: {{{APP_A}}}}}");
        let budget: model::PodDisruptionBudget = serde_saphyr::from_str(&text).expect("a budget");
        api.create(Object::PodDisruptionBudget(Box::new(budget))).expect("a new budget");
        let id = api.store.budgets.ids().last().expect("the budget");
        api.set_budget(id, |old| PodDisruptionBudgetStatus { disruptions_allowed: 5, ..old });
    }
    let pod = api.running("p", true);
    let (reason, message) = api.refusal(Request::EvictPod { pod, grace_s: None, dry_run: false });
    assert_eq!(reason, ErrorReason::InternalError);
    assert_eq!(
        message,
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
    );
}

#[test]
fn a_budget_that_was_changed_asks_for_ten_seconds_of_patience() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { observed_generation: 0, ..old });
    let pod = api.running("p", true);
    let error = api.evict(pod).expect_err("a refusal");
    assert_eq!(error.reason, ErrorReason::TooManyRequests);
    assert_eq!(error.retry_after, Some(SimDuration::from_secs(10)));
    assert_eq!(error.detail.as_deref(), Some("The disruption budget b is still being processed by the server."));
}

#[test]
fn a_dry_run_asks_the_budget_and_changes_nothing() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    let pod = api.running("p", true);
    let dry = Request::EvictPod { pod, grace_s: None, dry_run: true };
    api.ask(dry.clone()).expect("room");
    assert!(api.get(pod).deletion.is_none() && api.get(pod).disruption_target.is_none());
    assert_eq!(api.store.budgets[budget].status.disruptions_allowed, 1);
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { disruptions_allowed: 0, ..old });
    assert_eq!(api.refusal(dry).0, ErrorReason::TooManyRequests);
}

#[test]
fn more_than_2000_unconfirmed_evictions_are_too_many() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 5000, 1));
    let disrupted: BTreeMap<Arc<str>, SimTime> =
        (0..2001).map(|i| (Arc::from(format!("x{i}")), SimTime::ZERO)).collect();
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { disrupted_pods: disrupted.into_iter().collect(), ..old });
    let pod = api.running("p", true);
    let (reason, _) = api.refusal(Request::EvictPod { pod, grace_s: None, dry_run: false });
    assert_eq!(reason, ErrorReason::Forbidden);
}

#[test]
fn three_evictions_at_once_and_room_for_one() {
    let mut api = Api::new();
    api.budget(APP_A, (1, 3, 2));
    let pods = ["a", "b", "c"].map(|name| api.running(name, true));
    let granted = pods.into_iter().filter(|&pod| api.evict(pod).is_ok()).count();
    assert_eq!(granted, 1);
}

/// Why an eviction was refused: the reason, the text, and after how many seconds to ask again.
type Refusal = (ErrorReason, String, Option<u64>);

/// Evictions that are under way together, and what happens to the cluster meanwhile.
struct Overlap<'a> {
    api: &'a mut Api,
    /// What follows when; equal times in the order in which they were begun.
    queue: BTreeMap<(SimTime, usize), Box<Eviction>>,
    begun: usize,
    /// Each pod's answer, with the seconds it took.
    answers: Vec<(PodId, f64, Answer)>,
    began_at: SimTime,
}

impl<'a> Overlap<'a> {
    /// They all arrive at once.
    fn new(api: &'a mut Api, pods: &[PodId]) -> Self {
        let began_at = api.now;
        let mut overlap = Self { api, queue: BTreeMap::new(), begun: 0, answers: Vec::new(), began_at };
        for &pod in pods {
            let request = Request::EvictPod { pod, grace_s: None, dry_run: false };
            let Api { api, store, config, now, changed } = &mut *overlap.api;
            let served = api.serve(store, config, &Streams::new(7), *now, request, changed);
            overlap.took(pod, served);
        }
        overlap
    }

    fn took(&mut self, pod: PodId, served: Served) {
        match served {
            Served::Continues(after, rest) => {
                self.begun += 1;
                self.queue.insert((self.api.now + after, self.begun), rest);
            }
            Served::Answered(answer) => {
                let took = self.api.now.saturating_since(self.began_at).as_secs_f64();
                self.answers.push((pod, took, answer));
            }
        }
    }

    /// The next step that is due; false if all have been answered. `before` is what others do just before it.
    fn step(&mut self, before: &mut dyn FnMut(&mut Api)) -> bool {
        let Some(((at, _), rest)) = self.queue.pop_first() else { return false };
        self.api.now = at;
        before(self.api);
        let pod = rest.pod();
        let Api { api, store, config, now, changed } = &mut *self.api;
        let served = api.resume(store, config, &Streams::new(7), *now, rest, changed);
        self.took(pod, served);
        true
    }

    fn play(&mut self) {
        while self.step(&mut |_| {}) {}
    }

    /// The one answer, and what it took.
    #[track_caller]
    fn only(&self) -> (f64, Result<(), Refusal>) {
        let [(_, took, answer)] = self.answers.as_slice() else { panic!("{:?}", self.answers) };
        let error = |e: &crate::component::ApiError| {
            let text = e.detail.clone().unwrap_or_else(|| e.message.clone());
            (e.reason, text, e.retry_after.map(SimDuration::as_secs))
        };
        (*took, answer.as_ref().map(|_| ()).map_err(error))
    }
}

#[test]
fn of_evictions_at_once_under_a_budget_with_room_one_goes_and_the_others_half_a_second_later() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (2, 4, 2));
    let pods = ["a", "b"].map(|name| api.running(name, true));
    let mut overlap = Overlap::new(&mut api, &pods);
    overlap.play();
    let took: Vec<f64> =
        overlap.answers.iter().map(|(_, took, answer)| *answer.as_ref().map(|_| took).expect("room")).collect();
    assert!(took[0] < 0.1 && (0.5..0.65).contains(&took[1]), "{took:?}");
    let status = &api.store.budgets[budget].status;
    assert_eq!((status.disruptions_allowed, status.disrupted_pods.len()), (0, 2));
}

#[test]
fn evictions_whose_reads_and_writes_do_not_overlap_do_not_wait() {
    let mut api = Api::new();
    api.budget(APP_A, (2, 4, 2));
    for name in ["a", "b"] {
        let pod = api.running(name, true);
        let mut overlap = Overlap::new(&mut api, &[pod]);
        overlap.play();
        let (took, answer) = overlap.only();
        assert!(answer.is_ok() && took < 0.1, "{took} {answer:?}");
    }
}

#[test]
fn of_three_evictions_at_once_and_room_for_one_two_are_refused_when_they_look_again() {
    let mut api = Api::new();
    api.budget(APP_A, (1, 3, 2));
    let pods = ["a", "b", "c"].map(|name| api.running(name, true));
    let mut overlap = Overlap::new(&mut api, &pods);
    overlap.play();
    let refused: Vec<_> = overlap.answers.iter().filter(|(_, _, answer)| answer.is_err()).collect();
    assert_eq!((overlap.answers.len(), refused.len()), (3, 2));
    for (_, took, answer) in refused {
        let error = answer.as_ref().expect_err("a refusal");
        assert_eq!((error.reason, error.retry_after), (ErrorReason::TooManyRequests, None));
        assert!((0.5..0.65).contains(took), "{took}");
    }
}

#[test]
fn a_budget_that_somebody_else_always_writes_first_is_given_up_after_twenty_tries() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 3, 2));
    let pod = api.running("p", true);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let mut writes = 0;
    while overlap.step(&mut |api| {
        writes += 1;
        api.set_budget(budget, |old| PodDisruptionBudgetStatus { expected_pods: writes, ..old });
    }) {}
    let (took, answer) = overlap.only();
    let text = "Operation cannot be fulfilled on poddisruptionbudgets.policy \"b\": the object has been modified; please apply \
                your changes to the latest version and try again";
    assert_eq!(answer, Err((ErrorReason::Conflict, text.to_owned(), None)));
    // Nineteen pauses of 0.5 to 0.55 s.
    assert!((9.5..11.0).contains(&took), "{took}");
    assert!(api.get(pod).deletion.is_none());
}

#[test]
fn an_unready_pod_that_changes_before_it_is_deleted_is_to_be_asked_for_again() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (0, 2, 2));
    let pod = api.running("p", false);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let ready = PodStatusPatch { ready: Some(Status::True), ..PodStatusPatch::default() };
    while overlap.step(&mut |api| api.patch(pod, ready.clone())) {}
    let text = "The disruption budget b is still being processed by the server.";
    assert_eq!(overlap.only().1, Err((ErrorReason::TooManyRequests, text.to_owned(), Some(10))));
    assert!(api.get(pod).deletion.is_none());
    assert!(api.store.budgets[budget].status.disrupted_pods.is_empty());
}

fn pending(api: &mut Api) -> PodId {
    api.pod(&format!("{{metadata: {{name: p, labels: {{app: a}}}}, spec: {{nodeName: n, {ONE}}}}}"))
}

#[test]
fn a_pending_pod_that_comes_to_run_before_it_is_deleted_is_judged_by_its_budget() {
    let check = |allowed: i32, refusal: Option<&str>| {
        let mut api = Api::new();
        let budget = api.budget(APP_A, (allowed, 0, 0));
        let pod = pending(&mut api);
        let mut overlap = Overlap::new(&mut api, &[pod]);
        let running = PodStatusPatch { phase: Some(PodPhase::Running), ..PodStatusPatch::default() };
        while overlap.step(&mut |api| api.patch(pod, running.clone())) {}
        let (took, answer) = overlap.only();
        assert!((0.5..0.6).contains(&took), "it is read again after the pause: {took}");
        assert_eq!(answer.err().map(|(_, text, _)| text).as_deref(), refusal);
        assert_eq!(api.store.budgets[budget].status.disrupted_pods.contains_key("p"), allowed > 0);
    };
    check(0, Some("The disruption budget b needs 0 healthy pods and has 0 currently"));
    check(1, None);
}

#[test]
fn a_pending_pod_that_changes_once_is_deleted_at_the_second_try() {
    let mut api = Api::new();
    api.budget(APP_A, (0, 0, 0));
    let pod = pending(&mut api);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let mut is_first = true;
    while overlap.step(&mut |api| {
        if std::mem::take(&mut is_first) {
            let started = PodStatusPatch { started: Some(api.now), ..PodStatusPatch::default() };
            api.patch(pod, started);
        }
    }) {}
    let (took, answer) = overlap.only();
    assert!(answer.is_ok() && (0.5..0.6).contains(&took), "{took} {answer:?}");
    assert!(api.get(pod).deletion.is_some());
}

#[test]
fn a_pending_pod_that_changes_all_the_time_is_given_up_after_twenty_tries() {
    let mut api = Api::new();
    let pod = pending(&mut api);
    let mut overlap = Overlap::new(&mut api, &[pod]);
    let mut restarts = 0;
    while overlap.step(&mut |api| {
        restarts += 1;
        let container = crate::state::ContainerStatus { restarts, ..Default::default() };
        api.patch(
            pod,
            PodStatusPatch { containers: Some([container].into_iter().collect()), ..PodStatusPatch::default() },
        );
    }) {}
    let (took, answer) = overlap.only();
    let (reason, text, _) = answer.expect_err("a conflict");
    assert_eq!(reason, ErrorReason::Conflict);
    assert!(
        text.starts_with("Operation cannot be fulfilled on Pod \"p\": the ResourceVersion in the precondition"),
        "{text}"
    );
    assert!((9.5..11.0).contains(&took), "{took}");
    assert!(api.get(pod).deletion.is_none() && api.get(pod).disruption_target.is_none());
}

#[test]
fn a_pod_or_budget_that_goes_meanwhile_is_not_found() {
    let mut api = Api::new();
    let budget = api.budget(APP_A, (1, 2, 1));
    let (a, b) = (api.running("a", true), api.running("b", true));
    let mut overlap = Overlap::new(&mut api, &[a]);
    while overlap.step(&mut |api| {
        delete(api, a, Some(0)).ok();
    }) {}
    assert_eq!(overlap.only().1.err().map(|(reason, ..)| reason), Some(ErrorReason::NotFound));
    api.set_budget(budget, |old| PodDisruptionBudgetStatus { disruptions_allowed: 1, ..old });
    let mut overlap = Overlap::new(&mut api, &[b]);
    let mut steps = 0;
    while overlap.step(&mut |api| {
        steps += 1;
        if steps == 2 {
            let (namespace, name) = (Symbol::new("default"), Symbol::new("b"));
            api.ask(Request::DeleteOther { kind: ObjectKind::PodDisruptionBudget.into(), namespace, name })
                .expect("a deletion");
        }
    }) {}
    assert_eq!(overlap.only().1.err().map(|(reason, ..)| reason), Some(ErrorReason::NotFound));
    assert!(api.get(b).deletion.is_none());
}

#[test]
fn a_refusal_says_why_as_far_as_its_version_knows() {
    let check = |minor: u32, condition: (&'static str, &str), healthy: i32, expected: &str| {
        let version = format!("1.{minor}").parse().expect("a version");
        let mut api = Api::of_version(version);
        let budget = api.budget(APP_A, (0, healthy, 2));
        let (reason, message) = condition;
        api.set_budget(budget, |old| PodDisruptionBudgetStatus {
            condition: Some((false, reason.into(), Arc::from(message))),
            ..old
        });
        let pod = api.running("p", true);
        let (_, detail) = api.refusal(Request::EvictPod { pod, grace_s: None, dry_run: false });
        assert_eq!(detail, format!("The disruption budget b {expected}"), "1.{minor} {condition:?}");
    };
    check(36, ("SyncFailed", "e"), 2, "does not allow evicting pods currently because it failed sync: e");
    check(36, ("r", "m"), 3, "does not allow evicting pods currently (r): m");
    check(36, ("InsufficientPods", ""), 2, "needs 2 healthy pods and has 2 currently");
    check(36, ("InsufficientPods", ""), 3, "does not allow evicting pods currently");
    check(34, ("SyncFailed", "e"), 3, "needs 2 healthy pods and has 3 currently");
}

#[test]
fn the_grace_of_an_eviction_is_the_one_asked_for() {
    let mut api = Api::new();
    let (a, b) = (api.running("a", true), api.running("b", true));
    api.ask(Request::EvictPod { pod: a, grace_s: Some(5), dry_run: false }).expect("an eviction");
    assert_eq!(api.get(a).deletion.map(|d| d.grace), Some(SimDuration::from_secs(5)));
    api.ask(Request::EvictPod { pod: b, grace_s: Some(0), dry_run: false }).expect("an eviction");
    assert!(api.store.pod(b).is_none());
    assert_eq!(api.evict(b).expect_err("gone").reason, ErrorReason::NotFound);
}

// ---- status -----------------------------------------------------------------------------------------------------------

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
