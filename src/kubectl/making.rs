//! `kubectl create` without files, `run`, `expose` and `autoscale`.

use serde_json::{Value, json};

use super::command_line::{AutoscaleArgs, ExposeArgs, JobFromArgs, MakeArgs, Selection, UsageTarget};
use super::failure::Failure;
use super::printing::DryRun;
use super::resource::{Found, Kind, find_or_fail};
use super::three_way::export;
use super::{CommandPlan, Item, Step};
use crate::component::{Request, export_workload};
use crate::model::Object;
use crate::model::manifest::load_text;
use crate::state::{Store, WorkloadId};

/// Plans the creation of an object; `failed` stands before the server's refusal.
fn create(object: Object, done: &str, failed: &str, plan: &mut CommandPlan) {
    let failed = Some(failed.to_owned()).filter(|failed| !failed.is_empty());
    if let Some(step) = step(object, done) {
        plan.call(Step { failed, ..step });
    }
}

/// The creation of an object of a kind that kubectl knows.
fn step(object: Object, done: &str) -> Option<Step> {
    let metadata = object.metadata();
    let kind = Kind::of(&object)?;
    let line = format!("{}/{} {done}", kind.printed(), metadata.name);
    let home = Some(metadata.namespace).filter(|namespace| kind.is_namespaced() && !namespace.is_empty());
    Some(Step { home, ..Step::new(Request::Create(Box::new(object)), line) })
}

pub(super) fn plan(args: &MakeArgs, plan: &mut CommandPlan) {
    if let Some(service) = &args.service {
        create(service.clone(), args.done, "", plan);
    }
    create(args.object.clone(), args.done, &args.failed, plan);
}

/// The object of a tree that is well formed.
fn object(value: &Value) -> Option<Object> {
    load_text("kubectl", &value.to_string()).objects.pop().map(|object| object.object)
}

/// # Source
/// kubectl, `CreateJobOptions.createJobFromCronJob`.
pub(super) fn job_from(args: &JobFromArgs, store: &Store, plan: &mut CommandPlan) {
    for found in find_or_fail(&args.selection, store, plan) {
        let Found::Workload(_, id) = found else { continue };
        let Some(Object::CronJob(cron_job)) = export_workload(store, id) else { continue };
        let template = Object::CronJob(cron_job).to_value()["spec"]["jobTemplate"].clone();
        let mut annotations = template["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        annotations.insert("cronjob.kubernetes.io/instantiate".to_owned(), json!("manual"));
        let owner = json!({
            "apiVersion": "batch/v1", "kind": "CronJob", "name": found.name(store), "uid": "", "controller": true,
        });
        let metadata = json!({
            "name": args.name,
            "namespace": found.namespace(store),
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [owner],
        });
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template["spec"]});
        if let Some(job) = object(&job) {
            create(job, "created", "failed to create job: ", plan);
        }
    }
}

/// What an object exposes: its selector and the ports of its containers.
fn exposed(found: &Found, store: &Store) -> Option<(Value, Vec<i64>)> {
    let ports = |pod: &Value| -> Vec<i64> {
        let containers = pod["containers"].as_array().into_iter().flatten();
        let ports = containers.flat_map(|container| container["ports"].as_array().into_iter().flatten());
        ports.filter_map(|port| port["containerPort"].as_i64()).collect()
    };
    let value = match found {
        Found::Pod(id) => {
            let pod = store.pod(*id)?;
            let spec = serde_json::to_value(&pod.spec.spec).ok()?;
            return Some((json!(pod.labels), ports(&spec)));
        }
        Found::Workload(_, WorkloadId::Deployment(_) | WorkloadId::ReplicaSet(_)) => {
            let Found::Workload(_, id) = found else { return None };
            export_workload(store, *id)?.to_value()
        }
        Found::Other(Kind::Service, ..) => super::three_way::export(found, store)?.to_value(),
        _ => return None,
    };
    if let Found::Other(..) = found {
        let ports = value["spec"]["ports"].as_array().into_iter().flatten();
        return Some((value["spec"]["selector"].clone(), ports.filter_map(|port| port["port"].as_i64()).collect()));
    }
    let selector = &value["spec"]["selector"];
    let selector = selector.get("matchLabels").unwrap_or(selector).clone();
    Some((selector, ports(&value["spec"]["template"]["spec"])))
}

/// # Source
/// kubectl, `ExposeServiceOptions.RunExpose`.
pub(super) fn expose(args: &ExposeArgs, store: &Store, plan: &mut CommandPlan) {
    for found in find_or_fail(&args.selection, store, plan) {
        let Some((mut selector, known)) = exposed(&found, store) else {
            plan.fail(Failure::own(format!("cannot expose a {}", found.kind().group_kind())));
            continue;
        };
        if let Some(text) = &args.selector {
            let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
            selector = Value::Object(pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect());
        }
        let ports: Vec<i64> =
            if args.ports.is_empty() { known } else { args.ports.iter().map(|port| i64::from(*port)).collect() };
        if ports.is_empty() {
            plan.fail(Failure::own("couldn't find port via --port flag or introspection"));
            continue;
        }
        let target = |port: i64| match &args.target_port {
            Some(text) => text.parse::<i64>().map_or_else(|_| json!(text), |port| json!(port)),
            None => json!(port),
        };
        let many = ports.len() > 1;
        let port = |(index, port): (usize, &i64)| {
            let mut value = json!({"port": port, "protocol": "TCP", "targetPort": target(*port)});
            if many {
                value["name"] = json!(format!("port-{}", index + 1));
            }
            value
        };
        let ports: Vec<Value> = ports.iter().enumerate().map(port).collect();
        let service = json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": args.name.clone().unwrap_or_else(|| found.name(store)),
                "namespace": found.namespace(store),
                "labels": found.labels(store),
            },
            "spec": {"selector": selector, "ports": ports, "type": args.service_type.as_deref().unwrap_or("ClusterIP")},
        });
        if let Some(service) = object(&service) {
            create(service, "exposed", "", plan);
        }
    }
}

/// # Source
/// kubectl, `AutoscaleOptions.Run`.
pub(super) fn autoscale(args: &AutoscaleArgs, dry_run: DryRun, store: &Store, plan: &mut CommandPlan) {
    if args.is_deprecated {
        let text = "Flag --cpu-percent has been deprecated, Use --cpu with percentage or resource quantity format (e.g., '70%' \
                    for utilization or '500m' for milliCPU).";
        plan.warnings.push(text.to_owned());
    }
    let done = if dry_run == DryRun::Client { "created" } else { "autoscaled" };
    for found in find_or_fail(&args.selection, store, plan) {
        let kind = found.kind().group_kind();
        let plain = kind.split('.').next().unwrap_or(&kind);
        let is_scalable = matches!(
            found,
            Found::Workload(_, WorkloadId::Deployment(_) | WorkloadId::ReplicaSet(_) | WorkloadId::StatefulSet(_))
        );
        if !is_scalable {
            let version = export(&found, store).map_or_else(|| "v1".to_owned(), |object| version_of(&object));
            // The group is empty for kinds of the first API.
            let version = if version.contains('/') { version } else { format!("/{version}") };
            let resource = found.kind().resource();
            let resource = resource.split('.').next().unwrap_or(resource);
            let why =
                format!("could not find scale subresource for {version}, Resource={resource} in discovery information");
            plan.fail(Failure::own(format!("cannot autoscale a {plain}: {why}")));
            continue;
        }
        let name = args.name.clone().unwrap_or_else(|| found.name(store));
        let mut spec = json!({
            "maxReplicas": args.max,
            "scaleTargetRef": {
                "apiVersion": if kind.contains('.') { "apps/v1" } else { "v1" }, "kind": plain, "name": found.name(store),
            },
        });
        if args.min > 0 {
            spec["minReplicas"] = json!(args.min);
        }
        let of_version = |version: &str, spec: &Value| {
            object(&json!({
                "apiVersion": version, "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": name, "namespace": found.namespace(store)}, "spec": spec,
            }))
        };
        let plain_spec = spec.clone();
        let metrics = metrics(args);
        if !metrics.is_empty() {
            spec["metrics"] = Value::Array(metrics);
        }
        let Some(autoscaler) = of_version("autoscaling/v2", &spec) else { continue };
        let otherwise = match no_older_version(args) {
            Some(why) => Item::Fail(Failure::own(format!(
                "failed to create autoscaling/v2 HPA and the configuration is incompatible with autoscaling/v1: {why}"
            ))),
            None => match of_version("autoscaling/v1", &plain_spec).and_then(|older| step(older, done)) {
                Some(older) => Item::Call(Box::new(older)),
                None => continue,
            },
        };
        if let Some(step) = step(autoscaler, done) {
            plan.call(Step { otherwise: vec![otherwise], ..step });
        }
    }
}

/// What the flags say of metrics, as an autoscaler has it.
fn metrics(args: &AutoscaleArgs) -> Vec<Value> {
    let percent = args.cpu_percent.map(|percent| ("cpu", UsageTarget::Utilization(percent)));
    let given = percent.into_iter().chain(args.cpu.map(|cpu| ("cpu", cpu)));
    let metric = |(name, target)| {
        let target = match target {
            UsageTarget::Utilization(percent) => json!({"type": "Utilization", "averageUtilization": percent}),
            UsageTarget::Average(amount) => json!({"type": "AverageValue", "averageValue": amount.to_string()}),
        };
        json!({"type": "Resource", "resource": {"name": name, "target": target}})
    };
    given.chain(args.memory.map(|memory| ("memory", memory))).map(metric).collect()
}

/// Why kubectl does not try the first version of the API after the second one refused; none if it does.
///
/// # Source
/// kubectl, `AutoscaleOptions.canCreateHPAV1`: it reads `--cpu` again, whether it was given or not.
fn no_older_version(args: &AutoscaleArgs) -> Option<&'static str> {
    match (args.cpu, args.memory) {
        (None, _) => Some("empty input"),
        (Some(UsageTarget::Utilization(_)), None) => None,
        _ => Some("%!w(<nil>)"),
    }
}

fn version_of(object: &Object) -> String {
    object.to_value()["apiVersion"].as_str().unwrap_or_default().to_owned()
}

/// # Source
/// kubectl, `CertificateOptions.modifyCertificateCondition`.
pub(super) fn certificate(selection: &Selection, done: &str, store: &Store, plan: &mut CommandPlan) {
    for found in find_or_fail(selection, store, plan) {
        plan.say(format!("{} {done}", found.printed(store)));
    }
}
