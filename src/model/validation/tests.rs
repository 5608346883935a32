//! Tables of what the server refuses: an object and, per table, one change of it with the errors that must come of it.

use serde_json::{Value, json};

use super::*;

fn object(value: Value) -> Object {
    Object::from_value(value).expect("a kind that is modelled").expect("an object")
}

fn found(errors: &[FieldError]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

/// Sets the value at a JSON pointer; `null` takes it away.
fn with(mut value: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, change) in changes {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = value.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer} leads nowhere"));
        match parent {
            Value::Array(items) => items[key.parse::<usize>().expect("a position")] = change.clone(),
            Value::Object(fields) => drop(fields.insert(key.to_owned(), change.clone())),
            _ => panic!("{pointer} leads nowhere"),
        }
    }
    value
}

fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default", "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

fn workload(kind: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web", "namespace": "default"}, "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn job() -> Value {
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "default"},
        "spec": {"template": template}})
}

fn cron_job() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "j", "namespace": "default"},
        "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": job()["spec"]}}})
}

#[track_caller]
fn refuses(base: &Value, changes: &[(&str, Value)], expected: &[&str]) {
    let value = with(base.clone(), changes);
    assert_eq!(found(&validate(&object(value.clone()))), expected, "{value}");
}

#[test]
fn a_good_object_of_each_kind_is_good() {
    for kind in ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"] {
        refuses(&workload(kind), &[], &[]);
    }
    refuses(&pod(), &[], &[]);
    refuses(&job(), &[], &[]);
    refuses(&cron_job(), &[], &[]);
}

#[test]
fn containers_need_names_and_images_and_ports_that_exist() {
    let check = |container: Value, expected: &[&str]| refuses(&pod(), &[("/spec/containers/0", container)], expected);
    check(json!({"image": "i"}), &["spec.containers[0].name: Required value"]);
    check(json!({"name": "c"}), &["spec.containers[0].image: Required value"]);
    check(
        json!({"name": "a.b", "image": "i"}),
        &["spec.containers[0].name: Invalid value: \"a.b\": must not contain dots"],
    );
    let ports = |ports: Value| json!({"name": "c", "image": "i", "ports": ports});
    check(ports(json!([{"containerPort": 0}])), &["spec.containers[0].ports[0].containerPort: Required value"]);
    check(
        ports(json!([{"containerPort": 65536}])),
        &["spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive"],
    );
    check(
        ports(json!([{"name": "x", "containerPort": 1}, {"name": "x", "containerPort": 2}])),
        &["spec.containers[0].ports[1].name: Duplicate value: \"x\""],
    );
    check(
        ports(json!([{"containerPort": 1, "hostPort": 8}, {"containerPort": 2, "hostPort": 8}])),
        &["spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//8\""],
    );
    refuses(&pod(), &[("/spec/containers", json!([]))], &["spec.containers: Required value"]);
    refuses(
        &pod(),
        &[("/spec/initContainers", json!([{"name": "c", "image": "i"}]))],
        &["spec.initContainers[0].name: Duplicate value: \"c\""],
    );
    let host = json!([{"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 2}]}]);
    refuses(
        &pod(),
        &[("/spec/hostNetwork", json!(true)), ("/spec/containers", host)],
        &[
            "spec.containers[0].ports[0].hostPort: Invalid value: 2: must match `containerPort` when `hostNetwork` is true",
        ],
    );
}

#[test]
fn resources_are_whole_where_they_must_be_and_within_limits() {
    let check = |resources: Value, expected: &[&str]| {
        refuses(&pod(), &[("/spec/containers/0/resources", resources)], expected);
    };
    const AT: &str = "spec.containers[0].resources";
    let line = |rest: &str| format!("{AT}.{rest}");
    check(
        json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
        &[&line("requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1")],
    );
    check(
        json!({"limits": {"nvidia.com/gpu": "1500m"}}),
        &[&line("limits[nvidia.com/gpu]: Invalid value: \"1500m\": must be an integer")],
    );
    check(
        json!({"requests": {"nvidia.com/gpu": "1"}}),
        &[&line("limits: Required value: Limit must be set for non overcommitable resources")],
    );
    check(
        json!({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}),
        &[&line("requests: Invalid value: \"1\": must be equal to nvidia.com/gpu limit of 2")],
    );
    check(
        json!({"requests": {"memory": "-1Gi"}}),
        &[&line("requests[memory]: Invalid value: \"-1Gi\": must be greater than or equal to 0")],
    );
    check(
        json!({"requests": {"gpu": "1"}}),
        &[
            &line("requests[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully qualified"),
            &line("requests[gpu]: Invalid value: \"gpu\": must be a standard resource for containers"),
        ],
    );
    check(json!({"limits": {"hugepages-2Mi": "4Mi"}}), &[&format!("{AT}: Forbidden: HugePages require cpu or memory")]);
    check(
        json!({"limits": {"cpu": "1", "hugepages-2Mi": "3Mi"}}),
        &[&line(
            "limits[hugepages-2Mi]: Invalid value: \"3Mi\": 3Mi is not positive integer multiple of hugepages-2Mi",
        )],
    );
}

#[test]
fn probes_and_hooks_have_one_handler_and_stand_where_they_may() {
    let check = |field: &str, value: Value, expected: &[&str]| {
        refuses(&pod(), &[(&format!("/spec/containers/0/{field}"), value)], expected);
    };
    check("readinessProbe", json!({"tcpSocket": {"port": 80}}), &[]);
    check(
        "readinessProbe",
        json!({"periodSeconds": 1}),
        &["spec.containers[0].readinessProbe: Required value: must specify a handler type"],
    );
    check(
        "livenessProbe",
        json!({"exec": {"command": ["x"]}, "httpGet": {"port": 1}}),
        &["spec.containers[0].livenessProbe.httpGet: Forbidden: may not specify more than 1 handler type"],
    );
    check(
        "livenessProbe",
        json!({"exec": {"command": ["x"]}, "successThreshold": 2}),
        &["spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"],
    );
    check(
        "readinessProbe",
        json!({"grpc": {"port": 70000}, "periodSeconds": -1}),
        &[
            "spec.containers[0].readinessProbe.grpc.port: Invalid value: 70000: must be between 1 and 65535, inclusive",
            "spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
        ],
    );
    check(
        "lifecycle",
        json!({"preStop": {"sleep": {"seconds": 31}}}),
        &["spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than \
         terminationGracePeriodSeconds (30)"],
    );
    let initial = |extra: Value| {
        let mut container = json!({"name": "i", "image": "i"});
        container.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!([container])
    };
    let probe = json!({"exec": {"command": ["x"]}});
    refuses(
        &pod(),
        &[("/spec/initContainers", initial(json!({"readinessProbe": probe})))],
        &[
            "spec.initContainers[0].readinessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
        ],
    );
    let sidecar = initial(json!({"readinessProbe": probe, "restartPolicy": "Always"}));
    refuses(&pod(), &[("/spec/initContainers", sidecar)], &[]);
}

#[test]
fn affinity_tolerations_and_spread_are_what_the_scheduler_understands() {
    let term = |term: Value| json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}});
    const WISH: &str = "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]";
    let check = |affinity: Value, expected: &[&str]| refuses(&pod(), &[("/spec/affinity", affinity)], expected);
    for weight in [0, 101] {
        let wish = json!({"weight": weight, "podAffinityTerm": {"topologyKey": "zone"}});
        check(term(wish), &[&format!("{WISH}.weight: Invalid value: {weight}: must be in the range 1-100")]);
    }
    let errors =
        validate(&object(with(pod(), &[("/spec/affinity", term(json!({"weight": 1, "podAffinityTerm": {}})))])));
    let errors = found(&errors);
    assert_eq!(errors[0], format!("{WISH}.podAffinityTerm.topologyKey: Required value: can not be empty"));
    let required = |terms: Value| json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
    const TERMS: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    check(required(json!([])), &[&format!("{TERMS}: Required value: must have at least one node selector term")]);
    check(
        required(json!([{"matchExpressions": [{"key": "a", "operator": "In"}]}])),
        &[&format!(
            "{TERMS}[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'"
        )],
    );
    check(
        required(json!([{"matchFields": [{"key": "a", "operator": "In", "values": ["n"]}]}])),
        &[&format!("{TERMS}[0].matchFields[0].key: Invalid value: \"a\": not a valid field selector key")],
    );
    let toleration = |toleration: Value, expected: &[&str]| {
        refuses(&pod(), &[("/spec/tolerations", json!([toleration]))], expected);
    };
    toleration(
        json!({"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}),
        &[
            "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` \
         is set",
        ],
    );
    toleration(
        json!({"operator": "Equal", "value": "x"}),
        &[
            "spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which \
         means \"match all values and all keys\"",
        ],
    );
    toleration(
        json!({"key": "a", "operator": "Exists", "value": "x"}),
        &["spec.tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'"],
    );
    let spread = |constraints: Value, expected: &[&str]| {
        refuses(&pod(), &[("/spec/topologySpreadConstraints", constraints)], expected);
    };
    let one = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
    spread(
        json!([with(one.clone(), &[("/maxSkew", json!(0))])]),
        &["spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"],
    );
    spread(
        json!([one, one]),
        &[
            "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: \"{zone, DoNotSchedule}\"",
        ],
    );
    let anyway = with(one, &[("/whenUnsatisfiable", json!("ScheduleAnyway")), ("/minDomains", json!(2))]);
    spread(
        json!([anyway]),
        &["spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use minDomains if \
         whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"],
    );
}

#[test]
fn volumes_are_there_before_they_are_mounted() {
    let mounts = |mounts: Value| ("/spec/containers/0/volumeMounts", mounts);
    let volumes = |volumes: Value| ("/spec/volumes", volumes);
    refuses(
        &pod(),
        &[mounts(json!([{"name": "v", "mountPath": "/v"}]))],
        &["spec.containers[0].volumeMounts[0].name: Not found: \"v\""],
    );
    let v = || volumes(json!([{"name": "v"}]));
    refuses(
        &pod(),
        &[v(), mounts(json!([{"name": "v"}]))],
        &["spec.containers[0].volumeMounts[0].mountPath: Required value"],
    );
    refuses(
        &pod(),
        &[v(), mounts(json!([{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]))],
        &["spec.containers[0].volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique"],
    );
    refuses(
        &pod(),
        &[volumes(json!([{"name": "v"}, {"name": "v"}]))],
        &["spec.volumes[1].name: Duplicate value: \"v\""],
    );
    refuses(
        &pod(),
        &[volumes(json!([{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]))],
        &["spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
    );
    refuses(
        &pod(),
        &[volumes(json!([{"name": "v", "secret": {}}]))],
        &["spec.volumes[0].secret.secretName: Required value"],
    );
    let set = with(
        workload("StatefulSet"),
        &[
            (
                "/spec/volumeClaimTemplates",
                json!([{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}}}]),
            ),
            ("/spec/template/spec/containers/0/volumeMounts", json!([{"name": "data", "mountPath": "/data"}])),
        ],
    );
    refuses(&set, &[], &[]);
    refuses(
        &workload("StatefulSet"),
        &[(
            "/spec/volumeClaimTemplates",
            json!([{"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]),
        )],
        &[
            "spec.template.spec.volumes[0].persistentVolumeClaim.claimName: Required value",
            "spec.template.spec.volumes[0].name: Required value",
        ],
    );
    refuses(
        &pod(),
        &[("/spec/containers/0/env", json!([{"name": "A", "value": 1}]))],
        &["spec.containers[0].env[0].value: Invalid value: 1: must be text; write it in quotes"],
    );
}

#[test]
fn workloads_select_their_own_pods_and_can_be_rolled_out() {
    let labels = "spec.template.metadata.labels: Invalid value: {\"app\":\"x\"}: `selector` does not match template \
                  `labels`";
    for (kind, name) in [
        ("Deployment", "deployment"),
        ("ReplicaSet", "deployment"),
        ("StatefulSet", "statefulset"),
        ("DaemonSet", "daemonset"),
    ] {
        let base = workload(kind);
        refuses(&base, &[("/spec/selector", Value::Null)], &["spec.selector: Required value"]);
        let empty = format!("spec.selector: Invalid value: {{}}: empty selector is invalid for {name}");
        refuses(&base, &[("/spec/selector", json!({}))], &[&empty]);
        refuses(&base, &[("/spec/template/metadata/labels/app", json!("x"))], &[labels]);
        refuses(
            &base,
            &[("/spec/template/spec/restartPolicy", json!("Never"))],
            &["spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\""],
        );
        refuses(
            &base,
            &[("/spec/minReadySeconds", json!(-1))],
            &["spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0"],
        );
    }
    let strategy = |strategy: Value, expected: &[&str]| {
        refuses(&workload("Deployment"), &[("/spec/strategy", strategy)], expected);
    };
    strategy(
        json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}),
        &["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
    );
    strategy(
        json!({"type": "Recreate", "rollingUpdate": {}}),
        &["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    );
    strategy(
        json!({"rollingUpdate": {"maxUnavailable": "101%"}}),
        &["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"101%\": must not be greater than 100%"],
    );
    refuses(
        &workload("Deployment"),
        &[("/spec/minReadySeconds", json!(600))],
        &["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    );
    let daemons = |update: Value, expected: &[&str]| {
        refuses(&workload("DaemonSet"), &[("/spec/updateStrategy", json!({"rollingUpdate": update}))], expected);
    };
    daemons(
        json!({"maxSurge": 1}),
        &[
            "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero",
        ],
    );
    daemons(
        json!({"maxUnavailable": 0}),
        &["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
    );
    daemons(json!({"maxSurge": 1, "maxUnavailable": 0}), &[]);
}

#[test]
fn jobs_end_and_cron_jobs_have_a_schedule() {
    refuses(
        &job(),
        &[("/spec/template/spec/restartPolicy", json!("Always"))],
        &["spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""],
    );
    refuses(
        &job(),
        &[("/spec/completionMode", json!("Indexed")), ("/spec/parallelism", json!(2))],
        &["spec.completions: Required value: when completion mode is Indexed"],
    );
    refuses(
        &job(),
        &[("/spec/backoffLimitPerIndex", json!(2))],
        &["spec.backoffLimitPerIndex: Invalid value: 2: requires indexed completion mode"],
    );
    refuses(
        &job(),
        &[("/spec/selector", json!({"matchLabels": {"a": "b"}}))],
        &["spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"b\"}}: `selector` not auto-generated"],
    );
    let policy = json!({"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [0, 3, 2]}}]});
    refuses(
        &job(),
        &[("/spec/podFailurePolicy", policy)],
        &[
            "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [0,3,2]: must be ordered",
        ],
    );
    refuses(
        &cron_job(),
        &[("/spec/schedule", json!("every hour"))],
        &["spec.schedule: Invalid value: \"every hour\": expected exactly 5 fields, found 2: [every hour]"],
    );
    refuses(
        &cron_job(),
        &[("/spec/schedule", json!("TZ=UTC 0 * * * *"))],
        &[
            "spec.schedule: Invalid value: \"TZ=UTC 0 * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field \
         instead",
        ],
    );
    refuses(
        &cron_job(),
        &[("/metadata/name", json!("a".repeat(53)))],
        &[&format!("metadata.name: Invalid value: \"{}\": must be no more than 52 characters", "a".repeat(53))],
    );
}

#[test]
fn what_stands_beside_workloads_is_checked_as_well() {
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "hi"},
        "value": 1_000_000_001});
    refuses(&class, &[], &["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"]);
    refuses(
        &class,
        &[("/metadata/name", json!("system-x"))],
        &[
            "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: \
         system-x is not a known system priority class",
        ],
    );
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [
        {"key": "a", "value": "1", "effect": "NoSchedule"}, {"key": "a", "value": "2", "effect": "NoSchedule"}]}});
    refuses(
        &node,
        &[],
        &[
            "metadata.taints[1]: Duplicate value: {\"Key\":\"a\",\"Value\":\"2\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be \
         unique by key and effect pair",
        ],
    );
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "d"},
        "spec": {"accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]}});
    refuses(
        &claim,
        &[],
        &[
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
            "spec.resources[storage]: Required value",
        ],
    );
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
        "spec": {"minAvailable": "101%"}});
    refuses(&budget, &[], &["spec.minAvailable: Invalid value: \"101%\": must not be greater than 100%"]);
    refuses(
        &pod(),
        &[("/metadata/labels/app", json!("a b"))],
        &["metadata.labels: Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric \
         characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
         'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"],
    );
    let gates = [("/spec/schedulingGates", json!([{"name": "a"}, {"name": "a"}])), ("/spec/nodeName", json!("n"))];
    refuses(
        &pod(),
        &gates,
        &[
            "spec.schedulingGates[1]: Duplicate value: \"a\"",
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
        ],
    );
    refuses(
        &pod(),
        &[("/spec/activeDeadlineSeconds", json!(0))],
        &["spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
    );
}

#[track_caller]
fn refuses_change(base: &Value, changes: &[(&str, Value)], expected: &[&str]) {
    let mut old = object(base.clone());
    old.apply_defaults();
    let new = object(with(old.to_value(), changes));
    assert_eq!(found(&validate_update(&new, &old)), expected);
}

#[test]
fn selectors_stay_as_they_are() {
    let changes = [
        ("/spec/selector/matchLabels", json!({"app": "new"})),
        ("/spec/template/metadata/labels", json!({"app": "new"})),
    ];
    let immutable = "spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"new\"}}: field is immutable";
    for kind in ["Deployment", "ReplicaSet", "DaemonSet"] {
        refuses_change(&workload(kind), &changes, &[immutable]);
        refuses_change(&workload(kind), &[("/spec/template/spec/containers/0/image", json!("new"))], &[]);
    }
    let sets = "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' \
                are forbidden";
    refuses_change(&workload("StatefulSet"), &changes, &[sets]);
    for (field, value) in [("serviceName", json!("other")), ("podManagementPolicy", json!("Parallel"))] {
        refuses_change(&workload("StatefulSet"), &[(&format!("/spec/{field}"), value)], &[sets]);
    }
    refuses_change(&workload("StatefulSet"), &[("/spec/replicas", json!(5))], &[]);
    refuses_change(
        &workload("Deployment"),
        &[("/spec/replicas", json!(-2))],
        &["spec.replicas: Invalid value: -2: must be greater than or equal to 0"],
    );
}

#[test]
fn a_job_changes_its_template_only_while_it_rests() {
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms":
        [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}});
    let directives = [
        ("/spec/template/spec/nodeSelector", json!({"a": "b"})),
        ("/spec/template/spec/affinity", affinity),
        ("/spec/template/spec/containers/0/resources", json!({"requests": {"cpu": "1"}})),
    ];
    let suspended = with(job(), &[("/spec/suspend", json!(true))]);
    refuses_change(&suspended, &directives, &[]);
    let running = with(suspended.clone(), &[("/status", json!({"active": 1, "startTime": "2024-01-01T00:00:00Z"}))]);
    let refused = |base: &Value, changes: &[(&str, Value)]| {
        let mut old = object(base.clone());
        old.apply_defaults();
        let new = object(with(old.to_value(), changes));
        found(&validate_update(&new, &old)).iter().map(|text| text.split(':').next().unwrap().to_owned()).collect()
    };
    let of_running: Vec<String> = refused(&running, &directives);
    assert_eq!(of_running, ["spec.template"]);
    let of_image: Vec<String> = refused(&suspended, &[("/spec/template/spec/containers/0/image", json!("new"))]);
    assert_eq!(of_image, ["spec.template.spec"]);
    refuses_change(
        &job(),
        &[("/spec/completions", json!(7))],
        &["spec.completions: Invalid value: 7: field is immutable"],
    );
    let indexed =
        [("/spec/completionMode", json!("Indexed")), ("/spec/completions", json!(3)), ("/spec/parallelism", json!(3))];
    let indexed = with(job(), &indexed);
    refuses_change(&indexed, &[("/spec/completions", json!(5)), ("/spec/parallelism", json!(5))], &[]);
    refuses_change(
        &indexed,
        &[("/spec/completions", json!(5))],
        &["spec.completions: Invalid value: 5: can only be modified in tandem with spec.parallelism"],
    );
}

#[test]
fn a_pod_keeps_all_but_images_tolerations_gates_and_a_shorter_deadline() {
    let spec = "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
                `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
                tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
    refuses_change(&pod(), &[("/spec/containers/0/image", json!("new"))], &[]);
    refuses_change(&pod(), &[("/spec/nodeSelector", json!({"a": "b"}))], &[spec]);
    let gated = with(pod(), &[("/spec/schedulingGates", json!([{"name": "g"}]))]);
    refuses_change(&gated, &[("/spec/nodeSelector", json!({"a": "b"})), ("/spec/schedulingGates", json!([]))], &[]);
    refuses_change(
        &gated,
        &[("/spec/schedulingGates", json!([{"name": "h"}]))],
        &["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'h'"],
    );
    let timed = with(pod(), &[("/spec/activeDeadlineSeconds", json!(10))]);
    refuses_change(&timed, &[("/spec/activeDeadlineSeconds", json!(5))], &[]);
    refuses_change(
        &timed,
        &[("/spec/activeDeadlineSeconds", json!(11))],
        &["spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"],
    );
    let tolerant = with(pod(), &[("/spec/tolerations", json!([{"key": "a", "operator": "Exists"}]))]);
    refuses_change(
        &tolerant,
        &[("/spec/tolerations", json!([]))],
        &["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
    );
}

#[test]
fn services_have_ports_unless_nothing_listens_at_their_address() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "namespace": "default"},
        "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}});
    let check = |spec: Value, expected: &[&str]| refuses(&service, &[("/spec", spec)], expected);
    refuses(&service, &[], &[]);
    check(json!({"selector": {"a": "b"}}), &["spec.ports: Required value"]);
    check(json!({"clusterIP": "None", "selector": {"a": "b"}}), &[]);
    check(json!({"type": "ExternalName", "externalName": "example.com."}), &[]);
    check(json!({"type": "ExternalName"}), &["spec.externalName: Required value"]);
    let range = "must be between 1 and 65535, inclusive";
    check(json!({"ports": [{"port": 0}]}), &[&format!("spec.ports[0].port: Invalid value: 0: {range}")]);
    check(
        json!({"ports": [{"port": 80, "targetPort": 70000, "nodePort": 30000}, {"port": 80, "name": "A"}]}),
        &[
            "spec.ports[0].name: Required value",
            &format!("spec.ports[0].targetPort: Invalid value: 70000: {range}"),
            "spec.ports[1].name: Invalid value: \"A\": a lowercase RFC 1123 label must consist of lower case alphanumeric \
             characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
             used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
            "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\
             \"TargetPort\":0,\"NodePort\":0}",
        ],
    );
    check(
        json!({"ports": [{"port": 80}], "sessionAffinity": "Client", "externalTrafficPolicy": "Local"}),
        &[
            "spec.sessionAffinity: Unsupported value: \"Client\": supported values: \"ClientIP\", \"None\"",
            "spec.externalTrafficPolicy: Invalid value: \"Local\": may only be set for externally-accessible services",
        ],
    );
    let balanced =
        json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80, "nodePort": 30000}]});
    check(balanced.clone(), &[]);
    // What the other type needed goes with it.
    let old = object(with(service.clone(), &[("/spec", balanced.clone())]));
    let new = object(with(service.clone(), &[("/spec", with(balanced, &[("/type", json!("ClusterIP"))]))]));
    assert_eq!(found(&validate_update(&new, &old)), Vec::<String>::new());
}

#[test]
fn a_volume_has_one_source() {
    let volume = json!({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/x"}}});
    refuses(&volume, &[], &[]);
    refuses(&volume, &[("/spec/hostPath", json!(null))], &["spec: Required value: must specify a volume type"]);
    let cinder = [("/spec/hostPath", json!(null)), ("/spec/cinder", json!({"volumeID": "x"}))];
    refuses(&volume, &cinder, &[]);
    refuses(
        &volume,
        &[("/spec/vsphereVolume", json!({"volumePath": "x"}))],
        &["spec.vsphereVolume: Forbidden: may not specify more than 1 volume type"],
    );
}

#[test]
fn time_zones_are_those_of_the_tz_database() {
    let check = |zone: &str, expected: &[&str]| refuses(&cron_job(), &[("/spec/timeZone", json!(zone))], expected);
    check("Europe/Berlin", &[]);
    check("Mars/Olympus", &["spec.timeZone: Invalid value: \"Mars/Olympus\": unknown time zone Mars/Olympus"]);
    check("europe/berlin", &["spec.timeZone: Invalid value: \"europe/berlin\": unknown time zone europe/berlin"]);
}
