//! What admission adds to an object, and what it refuses.

use super::*;

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
            extra_annotations: smallvec::SmallVec::new(),
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
        containers: vec![model::Container { image: Symbol::new("i"), ..model::Container::default() }],
        annotations: vec![(Symbol::new("kubesquall.sim/exit-code"), Symbol::new("3"))],
    }]);
    let mut made = |container: &str| {
        let text = format!("{{spec: {{containers: [{{name: c, image: {container}}}]}}}}");
        let template: PodTemplateSpec = serde_saphyr::from_str(&text).expect("a template");
        let draft = PodDraft {
            namespace: Symbol::new("default"),
            name: PodName::Generate(Symbol::new("web-")),
            template: Arc::new(template),
            extra_labels: smallvec::SmallVec::new(),
            extra_annotations: smallvec::SmallVec::new(),
            owner: Some(crate::state::Owner::ReplicaSet(set)),
            pinned_node: None,
            job_tracking: false,
        };
        let Ok(Reply::Pod(id)) = api.ask(Request::CreatePod(Box::new(draft))) else { panic!("a new pod") };
        api.get(id).spec.annotations.get(&Symbol::new("kubesquall.sim/exit-code")).map(|code| code.as_str())
    };
    assert_eq!(made("i"), Some("3"));
    assert_eq!(made("j"), None);
    assert_eq!(made("i, env: [{name: A, value: b}]"), None);
    assert_eq!(made("i, resources: {limits: {memory: 1Gi}}"), None);
    assert_eq!(made("i, resources: {requests: {memory: 1Gi}}"), Some("3"));
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
fn pod_node_selector_adds_what_the_namespace_says() {
    let plugin = [("enable-admission-plugins", "PodNodeSelector")];
    let mut api = with_flags(&plugin, "scheduler.alpha.kubernetes.io/node-selector: 'zone=q, team=a'");
    let own = |name: &str, selector: &str| {
        pod(&format!("{{metadata: {{name: {name}}}, spec: {{nodeSelector: {{{selector}}}, {ONE}}}}}"))
    };
    let Reply::Pod(id) = api.create(own("p", "disk: ssd")).expect("a pod") else { panic!("no pod") };
    let selector: Vec<String> =
        api.get(id).spec.spec.node_selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(selector, ["disk=ssd", "team=a", "zone=q"]);
    let (reason, message) = api.refusal(Request::Create(Box::new(own("q", "zone: r"))));
    assert_eq!(reason, ErrorReason::Forbidden);
    let expected = "pods \"q\" is forbidden: pod node label selector conflicts with its namespace node label selector";
    assert_eq!(message, expected);
}

#[test]
fn who_asks_for_an_extended_resource_tolerates_its_taint_where_a_plugin_says_so() {
    let mut api = with_flags(&[("enable-admission-plugins", "ExtendedResourceToleration")], "");
    let resources = "containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: '1', cpu: '1'}}}]";
    let id = api.pod(&format!("{{metadata: {{name: p}}, spec: {{{resources}}}}}"));
    let keys: Vec<&str> = api.get(id).spec.tolerations.iter().map(|t| t.key.as_str()).collect();
    assert_eq!(keys, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "nvidia.com/gpu"]);
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
