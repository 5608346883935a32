//! LimitRanger and ResourceQuota: what they add, refuse and write down.

use super::*;
use crate::model::ObjectKind;

pub(super) fn object(text: &str) -> Object {
    let value: serde_json::Value = serde_saphyr::from_str(text).expect("YAML");
    Object::from_any(value).expect("a kind").expect("an object")
}

pub(super) fn make(api: &mut Api, text: &str) -> Answer {
    api.ask(Request::Create(Box::new(object(text))))
}

#[track_caller]
fn refusal(api: &mut Api, text: &str) -> String {
    make(api, text).expect_err("a refusal").message
}

/// A pod of one container `c` with these resources.
fn pod_of(name: &str, resources: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: default}}, spec: {{containers: [{{name: c, image: i, \
         resources: {resources}}}]}}}}"
    )
}

fn limit_range(limits: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: LimitRange, metadata: {{name: l, namespace: default}}, spec: {{limits: [{limits}]}}}}"
    )
}

fn quota(more: &str) -> Object {
    object(&format!(
        "{{apiVersion: v1, kind: ResourceQuota, metadata: {{name: q, namespace: default}}, spec: {{{more}}}}}"
    ))
}

fn used(api: &Api) -> String {
    let quota = api.store.quotas.values().next().expect("a quota");
    let amounts: Vec<String> = quota.used.iter().map(|(name, amount)| format!("{name}={amount}")).collect();
    amounts.join(",")
}

#[test]
fn containers_that_ask_for_nothing_get_what_the_range_says_and_the_scheduler_counts_it() {
    let mut api = Api::new();
    let range = limit_range("{type: Container, default: {cpu: 500m, memory: 256Mi}, defaultRequest: {cpu: 100m}}");
    make(&mut api, &range).expect("a range");
    let Ok(Reply::Pod(id)) = make(&mut api, &pod_of("p", "{requests: {memory: 1Mi}}")) else { panic!("a pod") };
    let spec = &api.get(id).spec;
    assert_eq!((spec.requests.cpu_milli, spec.requests.memory), (100, 1 << 20));
    assert_eq!(
        spec.containers[0].resources.limits.get(Symbol::new("cpu")).map(ToString::to_string).as_deref(),
        Some("500m")
    );
    let note = spec.annotations.get(&Symbol::new("kubernetes.io/limit-ranger")).map(|note| note.as_str());
    assert_eq!(note, Some("LimitRanger plugin set: cpu request for container c; cpu, memory limit for container c"));
    // Ordinary pods of controllers pass the same way; so do those after the range has changed.
    let Ok(Reply::Pod(id)) = api.ask(draft(PodName::Generate(Symbol::new("w-")), "default")) else { panic!("a pod") };
    assert_eq!(api.get(id).spec.requests.cpu_milli, 100);
    let kind = ObjectKind::LimitRange.into();
    let (namespace, name) = (Symbol::new("default"), Symbol::new("l"));
    api.ask(Request::DeleteOther { kind, namespace, name }).expect("a deletion");
    let Ok(Reply::Pod(id)) = make(&mut api, &pod_of("free", "{}")) else { panic!("a pod") };
    assert_eq!(api.get(id).spec.requests.cpu_milli, 0);
}

#[test]
fn what_a_range_does_not_allow_is_forbidden_in_its_words() {
    #[track_caller]
    fn check(limits: &str, resources: &str, expected: &str) {
        let mut api = Api::new();
        make(&mut api, &limit_range(limits)).expect("a range");
        let found = make(&mut api, &pod_of("p", resources)).err().map_or(String::new(), |error| error.message);
        let expected = if expected.is_empty() { String::new() } else { format!("pods \"p\" is forbidden: {expected}") };
        assert_eq!(found, expected, "{limits} {resources}");
    }
    let max = "{type: Container, max: {cpu: 1}}";
    check(max, "{limits: {cpu: 1}}", "");
    check(max, "{limits: {cpu: 2}}", "maximum cpu usage per Container is 1, but limit is 2");
    let pod = "{type: Pod, max: {memory: 1Gi}}";
    check(pod, "{}", "maximum memory usage per Pod is 1Gi.  No limit is specified");
    check(pod, "{limits: {memory: 2Gi}}", "maximum memory usage per Pod is 1Gi, but limit is 2Gi");
    let min = "{type: Container, min: {cpu: 200m, memory: 1Mi}}";
    let both = "[minimum cpu usage per Container is 200m, but request is 100m, minimum memory usage per Container is 1Mi, but \
                request is 1k]";
    check(min, "{requests: {cpu: 100m, memory: 1k}}", both);
    let ratio = "{type: Container, maxLimitRequestRatio: {cpu: 2}}";
    check(ratio, "{requests: {cpu: 100m}, limits: {cpu: 200m}}", "");
    let found = "cpu max limit to request ratio per Container is 2, but provided ratio is 2.500000";
    check(ratio, "{requests: {cpu: 100m}, limits: {cpu: 250m}}", found);
    let none = "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0";
    check(ratio, "{}", none);
}

#[test]
fn a_default_limit_below_what_is_asked_for_makes_the_pod_invalid() {
    let mut api = Api::new();
    make(&mut api, &limit_range("{type: Container, default: {cpu: 500m}}")).expect("a range");
    let why =
        "spec.containers[0].resources.requests: Invalid value: \"1\": must be less than or equal to cpu limit of 500m";
    assert_eq!(refusal(&mut api, &pod_of("p", "{requests: {cpu: 1}}")), format!("Pod \"p\" is invalid: {why}"));
}

#[test]
fn claims_are_bounded_and_plugins_that_do_not_run_do_nothing() {
    let range = limit_range("{type: PersistentVolumeClaim, min: {storage: 1Gi}, max: {storage: 10Gi}}");
    let claim = |size: &str| {
        format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: c, namespace: default}}, spec: {{accessModes: \
             [ReadWriteOnce], resources: {{requests: {{storage: {size}}}}}}}}}"
        )
    };
    let mut api = Api::new();
    make(&mut api, &range).expect("a range");
    let forbidden = "persistentvolumeclaims \"c\" is forbidden: ";
    let small = "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi";
    assert_eq!(refusal(&mut api, &claim("1Mi")), format!("{forbidden}{small}"));
    let large = "maximum storage usage per PersistentVolumeClaim is 10Gi, but request is 11Gi";
    assert_eq!(refusal(&mut api, &claim("11Gi")), format!("{forbidden}{large}"));
    let flags = serde_json::from_str(r#"{"disable-admission-plugins":"LimitRanger,ResourceQuota"}"#).expect("flags");
    api.config.kube_apiserver = KubeApiserver::resolve(&flags, KubernetesVersion::NEWEST).0;
    make(&mut api, &claim("11Gi")).expect("nobody minds");
    api.create(quota("hard: {pods: 0}")).expect("a quota");
    make(&mut api, &pod_of("p", "{}")).expect("nobody minds");
}

#[test]
fn a_quota_is_charged_with_what_comes_and_refuses_what_is_too_much() {
    let mut api = Api::new();
    api.create(quota("hard: {pods: 2, requests.cpu: 1, count/deployments.apps: 0, services: 1}")).expect("a quota");
    assert_eq!(used(&api), "count/deployments.apps=0,pods=0,requests.cpu=0,services=0");
    let must = "pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: c";
    assert_eq!(refusal(&mut api, &pod_of("p", "{}")), must);
    make(&mut api, &pod_of("p", "{requests: {cpu: 600m}}")).expect("a pod");
    assert_eq!(used(&api), "count/deployments.apps=0,pods=1,requests.cpu=600m,services=0");
    let much = "pods \"r\" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: \
                requests.cpu=1";
    assert_eq!(refusal(&mut api, &pod_of("r", "{requests: {cpu: 500m}}")), much);
    make(&mut api, &pod_of("s", "{requests: {cpu: 0.4}}")).expect("a pod");
    let both = "pods \"t\" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=1m, used: pods=2,requests.cpu=1, \
                limited: pods=2,requests.cpu=1";
    assert_eq!(refusal(&mut api, &pod_of("t", "{requests: {cpu: 1m}}")), both);
    let deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: default}, spec: {selector: \
                      {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
    let counted = "deployments.apps \"d\" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: \
                   count/deployments.apps=0, limited: count/deployments.apps=0";
    assert_eq!(refusal(&mut api, deployment), counted);
    let service =
        "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 80}]}}";
    make(&mut api, service).expect("a service");
    api.ask(Request::Apply(Box::new(object(service)))).expect("the same again");
    // What is refused for another reason is not charged.
    make(&mut api, &pod_of("s", "{requests: {cpu: 0}}")).expect_err("there is one");
    assert_eq!(used(&api), "count/deployments.apps=0,pods=2,requests.cpu=1,services=1");
}

#[test]
fn the_controller_comes_to_what_admission_has_charged() {
    let mut api = Api::new();
    let hard = "hard: {pods: 9, cpu: 9, requests.cpu: 9, limits.memory: 9Gi, services: 9, count/services: 9, secrets: 9, \
                count/secrets: 9, count/replicasets.apps: 9, resourcequotas: 9, requests.storage: 9Gi, \
                fast.storageclass.storage.k8s.io/requests.storage: 9Gi}";
    api.create(quota(hard)).expect("a quota");
    make(&mut api, &pod_of("p", "{requests: {cpu: 1}, limits: {memory: 1Gi}}")).expect("a pod");
    make(
        &mut api,
        "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 80}]}}",
    )
    .expect("a service");
    make(&mut api, "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}").expect("a secret");
    let claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: default}, spec: {accessModes: \
                 [ReadWriteOnce], storageClassName: fast, resources: {requests: {storage: 1Gi}}}}";
    make(&mut api, claim).expect("a claim");
    let charged = used(&api);
    let expected = "count/replicasets.apps=0,count/secrets=1,count/services=1,cpu=1,\
                    fast.storageclass.storage.k8s.io/requests.storage=1Gi,limits.memory=1Gi,pods=1,requests.cpu=1,\
                    requests.storage=1Gi,resourcequotas=1,secrets=1,services=1";
    assert_eq!(charged, expected);
    let (key, quota) = api.store.quotas.iter().next().expect("the quota");
    let counted = crate::component::quota_usage(&api.store, key.0, &quota.spec, api.now);
    assert_eq!(counted, quota.used);
}

#[test]
fn a_pod_with_a_generated_name_is_refused_by_that_name() {
    let mut api = Api::new();
    api.create(quota("hard: {pods: 0}")).expect("a quota");
    let error = api.ask(draft(PodName::Generate(Symbol::new("web-")), "default")).expect_err("a refusal");
    let (name, why) = error.message.split_once("\" is forbidden: ").expect("a refusal");
    assert!(name.starts_with("pods \"web-") && name.len() == "pods \"web-".len() + 5, "{}", error.message);
    assert_eq!(why, "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0");
    assert_eq!(error.reason, ErrorReason::Forbidden);
}

#[test]
fn a_quota_that_is_new_waits_for_its_controller_and_a_count_that_is_old_is_a_conflict() {
    let mut api = Api::new();
    let text =
        "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q, namespace: default}, spec: {hard: {pods: 0}}}";
    make(&mut api, text).expect("a quota");
    make(&mut api, &pod_of("p", "{}")).expect("nobody has counted yet");
    let key = (Symbol::new("default"), Symbol::new("q"));
    let status = |version: u64| {
        let amounts: model::ResourceList = serde_saphyr::from_str("{pods: 1}").expect("amounts");
        Request::UpdateStatus(StatusUpdate::Quota(key, version, Box::new((amounts.clone(), amounts))))
    };
    api.ask(status(1)).expect("a status");
    refusal(&mut api, &pod_of("r", "{}"));
    let (reason, _) = api.refusal(status(1));
    assert_eq!(reason, ErrorReason::Conflict);
}

#[test]
fn scopes_of_a_quota_may_not_change_and_contradictions_are_told() {
    let mut api = Api::new();
    api.create(quota("hard: {pods: 1}, scopes: [BestEffort]")).expect("a quota");
    let error = api.ask(Request::Apply(Box::new(quota("hard: {pods: 1}")))).expect_err("a refusal");
    assert_eq!(error.message, "ResourceQuota \"q\" is invalid: spec.scopes: Invalid value: null: field is immutable");
    let wrong = limit_range("{type: Container, default: {cpu: 1}, max: {cpu: 100m}}");
    let told = refusal(&mut api, &wrong);
    let expected = "LimitRange \"l\" is invalid: [spec.limits[0].defaultRequest[cpu]: Invalid value: \"1\": default request \
                    value 1 is greater than max value 100m, spec.limits[0].default[cpu]: Invalid value: \"100m\": default \
                    value 1 is greater than max value 100m]";
    assert_eq!(told, expected);
}
