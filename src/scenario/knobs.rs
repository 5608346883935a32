//! What of a scenario one would turn to see what would have been: its own values, each with the path by which `--set` reaches it.
//!
//! They are read off the document that a lock file has, so that every path is one of that file. What a scenario does not have, no knob
//! turns: without a fault there is no length, without a budget no limit.

use serde::Serialize;
use serde_json::Value;

use super::lock;
use super::object_values::{key_of, path_of};
use super::resolved::ResolvedScenario;
use super::workloads::pod_template;
use crate::arena::Symbol;
use crate::model::{Object, OwnerReference, Taint, TaintEffect};
use crate::units::{IntOrPercent, SimDuration, SimTime};

/// What a knob is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Group {
    /// When pods of lost nodes are evicted.
    Eviction,
    /// What breaks, where, for how long.
    Faults,
    /// How many nodes there are.
    Nodes,
    /// How many replicas there are.
    Replicas,
    /// What may be disrupted.
    Budgets,
    /// How long things take.
    Latencies,
}

/// A value that can be turned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Knob {
    group: Group,
    /// What it is called, in the words of the scenario.
    label: String,
    /// What `--set` takes before the `=`.
    path: String,
    #[serde(flatten)]
    setting: Setting,
}

/// What it can be turned to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
enum Setting {
    /// A number, which stands before the suffix in what `--set` takes behind the `=`.
    Number {
        value: f64,
        min: f64,
        max: f64,
        step: f64,
        /// `s` of a length, `%` of a share, else nothing.
        suffix: &'static str,
        /// What it is counted in, in words.
        unit: &'static str,
    },
    /// One of a few names.
    Choice { value: String, options: Vec<String> },
}

/// The knobs of a scenario, group by group.
pub(crate) fn knobs(scenario: &ResolvedScenario) -> Vec<Knob> {
    let document = serde_json::to_value(lock::document(scenario)).expect("a scenario is plain data");
    let spec = &document["spec"];
    let mut knobs = Vec::new();
    eviction(scenario, &spec["controlPlane"], &mut knobs);
    faults(scenario, spec, &mut knobs);
    nodes(spec, &mut knobs);
    replicas(scenario, &mut knobs);
    budgets(scenario, &mut knobs);
    latencies(&spec["latency"], &mut knobs);
    knobs
}

/// A whole number of things, up to three times as many as there are, and at least ten.
fn count(value: i64, unit: &'static str) -> Setting {
    let value = value as f64;
    Setting::Number { value, min: 0.0, max: (value * 3.0).max(10.0), step: 1.0, suffix: "", unit }
}

/// How many seconds pods wait for a lost node, up to twice as long as now, and at least a quarter of an hour.
fn wait(value: f64) -> Setting {
    Setting::Number { value, min: 0.0, max: (value * 2.0).max(900.0), step: 1.0, suffix: "", unit: "seconds" }
}

/// A length of time as documents write it; none if it is something else.
fn length(value: &Value, max: Option<SimDuration>) -> Option<Setting> {
    let length = SimDuration::parse_with_days(value.as_str()?).ok()?;
    let is_fine = !length.is_zero() && length < SimDuration::from_secs(1);
    let (one, suffix, unit, least) =
        if is_fine { (0.001, "ms", "milliseconds", 100.0) } else { (1.0, "s", "seconds", 30.0) };
    let in_unit = |length: SimDuration| length.as_secs_f64() / one;
    let value = in_unit(length);
    let max = max.map_or_else(|| nice((value * 4.0).max(least)), in_unit).max(value);
    let step = if value.fract() == 0.0 { 1.0 } else { 0.001 };
    Some(Setting::Number { value, min: 0.0, max, step, suffix, unit })
}

/// A number with one digit that is not zero, at least as large.
fn nice(value: f64) -> f64 {
    let mut scale = 1.0;
    while scale * 10.0 <= value {
        scale *= 10.0;
    }
    (value / scale).ceil() * scale
}

/// How long pods wait for a lost node, and how soon one is found lost.
fn eviction(scenario: &ResolvedScenario, control_plane: &Value, knobs: &mut Vec<Knob>) {
    for (flag, taint) in [
        ("default-not-ready-toleration-seconds", "node.kubernetes.io/not-ready"),
        ("default-unreachable-toleration-seconds", "node.kubernetes.io/unreachable"),
    ] {
        let taint = Taint::new(Symbol::new(taint), Symbol::empty(), TaintEffect::NoExecute);
        let waits = |object: &Object| {
            let template = pod_template(object).filter(|_| !matches!(object, Object::DaemonSet(_)));
            template.is_some_and(|template| {
                !template.spec.tolerations.iter().any(|toleration| toleration.tolerates(&taint))
            })
        };
        let seconds = control_plane["kubeApiserver"][flag].as_str().and_then(|text| text.parse::<f64>().ok());
        let Some(value) = seconds.filter(|_| scenario.objects.iter().any(|object| waits(&object.object))) else {
            continue;
        };
        let setting = wait(value);
        let path = format!("spec.controlPlane.kubeApiserver.{flag}");
        knobs.push(Knob { group: Group::Eviction, label: flag.to_owned(), path, setting });
    }
    for object in scenario.objects.iter().map(|object| &object.object) {
        // What a workload owns already keeps its own template, and the change would be rolled out.
        let Some(template) = pod_template(object).filter(|_| !owns(scenario, object) && !is_owned(object)) else {
            continue;
        };
        for (index, toleration) in template.spec.tolerations.iter().enumerate() {
            let Some(seconds) = toleration.toleration_seconds.filter(|seconds| *seconds >= 0) else { continue };
            let Some(template_at) = template_path(object) else { continue };
            let field = format!("{template_at}.spec.tolerations[{index}].tolerationSeconds");
            let (label, value) = (format!("{}: {} tolerationSeconds", key_of(object), toleration.key), seconds as f64);
            knobs.push(Knob { group: Group::Eviction, label, path: path_of(object, &field), setting: wait(value) });
        }
    }
    let flag = "node-monitor-grace-period";
    if let Some(setting) = length(&control_plane["kubeControllerManager"][flag], None) {
        let path = format!("spec.controlPlane.kubeControllerManager.{flag}");
        knobs.push(Knob { group: Group::Eviction, label: flag.to_owned(), path, setting });
    }
}

/// Where the template of a workload's pods stands.
fn template_path(object: &Object) -> Option<&'static str> {
    match object {
        Object::CronJob(_) => Some("spec.jobTemplate.spec.template"),
        other => pod_template(other).map(|_| "spec.template"),
    }
}

/// Whether something controls it.
fn is_owned(object: &Object) -> bool {
    object.metadata().controller().is_some()
}

/// Whether it controls another object of the manifests.
fn owns(scenario: &ResolvedScenario, object: &Object) -> bool {
    let (kind, metadata) = (object.kind().as_str(), object.metadata());
    scenario.objects.iter().map(|object| object.object.metadata()).any(|other| {
        let is_it = |owner: &OwnerReference| owner.kind.as_str() == kind && owner.name == metadata.name;
        other.namespace == metadata.namespace && other.controller().is_some_and(is_it)
    })
}

/// The faults of the timeline, and the random ones.
fn faults(scenario: &ResolvedScenario, spec: &Value, knobs: &mut Vec<Knob>) {
    let timeline = spec["timeline"].as_array().into_iter().flatten().enumerate();
    for (index, entry) in timeline {
        let fault = &entry["fault"];
        let (Some(kind), Some(at)) = (fault["kind"].as_str(), entry["at"].as_str()) else { continue };
        let name = format!("{kind} at {at}");
        let path = format!("spec.timeline[{index}]");
        let begin = SimDuration::parse_with_days(at).unwrap_or_default();
        let rest = (SimTime::ZERO + scenario.duration).saturating_since(SimTime::ZERO + begin);
        let mut push = |what: &str, field: &str, setting: Option<Setting>| {
            let (label, path) = (format!("{name}: {what}"), format!("{path}.{field}"));
            knobs.extend(setting.map(|setting| Knob { group: Group::Faults, label, path, setting }));
        };
        push("length", "fault.for", length(&fault["for"], Some(rest)));
        push("begin", "at", length(&entry["at"], Some(scenario.duration)));
        let nodes = &fault["nodes"];
        push("nodes", "fault.nodes.count", nodes["count"].as_i64().map(|value| count(value, "nodes")));
        push("share of nodes", "fault.nodes.fraction", share(&nodes["fraction"]));
        push("zone", "fault.nodes.zone", choice(&nodes["zone"], zones(scenario)));
        push("pool", "fault.nodes.pool", choice(&nodes["pool"], pools(scenario)));
        if let Some([name]) = nodes["names"].as_array().map(Vec::as_slice) {
            push("node", "fault.nodes.names[0]", choice(name, names(scenario)));
        }
    }
    for (index, process) in spec["faults"].as_array().into_iter().flatten().enumerate() {
        let Some(name) = process["name"].as_str() else { continue };
        for field in ["timeToFailure", "timeToRepair"] {
            distribution(&process[field], &format!("spec.faults[{index}].{field}"), &mut |parameter, path, setting| {
                let label = format!("{name}: {field}, {parameter}");
                knobs.push(Knob { group: Group::Faults, label, path, setting });
            });
        }
    }
}

/// A share, between nothing and all.
fn share(value: &Value) -> Option<Setting> {
    let value = value.as_f64()?;
    Some(Setting::Number { value, min: 0.0, max: 1.0, step: 0.05, suffix: "", unit: "of all" })
}

/// One of several names; none if there is nothing to choose.
fn choice(value: &Value, mut options: Vec<String>) -> Option<Setting> {
    let value = value.as_str()?.to_owned();
    options.sort();
    options.dedup();
    (options.len() > 1 && options.contains(&value)).then_some(Setting::Choice { value, options })
}

fn nodes_of(scenario: &ResolvedScenario) -> impl Iterator<Item = &crate::model::Node> {
    scenario
        .objects
        .iter()
        .filter_map(|object| if let Object::Node(node) = &object.object { Some(&**node) } else { None })
}

fn zones(scenario: &ResolvedScenario) -> Vec<String> {
    nodes_of(scenario)
        .filter_map(|node| Some(crate::model::zone_of(&node.metadata.labels)?.as_str().to_owned()))
        .collect()
}

fn names(scenario: &ResolvedScenario) -> Vec<String> {
    nodes_of(scenario).map(|node| node.metadata.name.as_str().to_owned()).collect()
}

fn pools(scenario: &ResolvedScenario) -> Vec<String> {
    scenario.pools.iter().map(|pool| pool.name.as_str().to_owned()).collect()
}

/// The sizes of the pools.
fn nodes(spec: &Value, knobs: &mut Vec<Knob>) {
    for (index, pool) in spec["cluster"]["nodePools"].as_array().into_iter().flatten().enumerate() {
        let (Some(name), Some(value)) = (pool["name"].as_str(), pool["count"].as_i64()) else { continue };
        let path = format!("spec.cluster.nodePools[{index}].count");
        knobs.push(Knob { group: Group::Nodes, label: format!("pool {name}"), path, setting: count(value, "nodes") });
    }
}

/// How many replicas workloads want that nothing else scales.
fn replicas(scenario: &ResolvedScenario, knobs: &mut Vec<Knob>) {
    for object in scenario.objects.iter().map(|object| &object.object).filter(|object| !is_owned(object)) {
        let replicas = match object {
            Object::Deployment(object) => object.spec.replicas,
            Object::StatefulSet(object) => object.spec.replicas,
            Object::ReplicaSet(object) => object.spec.replicas,
            Object::ReplicationController(object) => object.spec.replicas,
            _ => continue,
        };
        let setting = count(replicas.unwrap_or(1).into(), "replicas");
        knobs.push(Knob {
            group: Group::Replicas,
            label: key_of(object),
            path: path_of(object, "spec.replicas"),
            setting,
        });
    }
}

/// What budgets allow.
fn budgets(scenario: &ResolvedScenario, knobs: &mut Vec<Knob>) {
    for object in scenario.objects.iter().map(|object| &object.object) {
        let Object::PodDisruptionBudget(budget) = object else { continue };
        for (field, limit) in
            [("minAvailable", budget.spec.min_available), ("maxUnavailable", budget.spec.max_unavailable)]
        {
            let setting = match limit {
                None => continue,
                Some(IntOrPercent::Int(value)) => count(value.into(), "pods"),
                Some(IntOrPercent::Percent(value)) => Setting::Number {
                    value: value.into(),
                    min: 0.0,
                    max: 100.0,
                    step: 1.0,
                    suffix: "%",
                    unit: "of its pods",
                },
            };
            let label = format!("{}/{}: {field}", budget.metadata.namespace, budget.metadata.name);
            let path = path_of(object, &format!("spec.{field}"));
            knobs.push(Knob { group: Group::Budgets, label, path, setting });
        }
    }
}

/// How long starts, stops and other things take.
fn latencies(latency: &Value, knobs: &mut Vec<Knob>) {
    for (name, written) in latency.as_object().into_iter().flatten() {
        distribution(written, &format!("spec.latency.{name}"), &mut |parameter, path, setting| {
            let label = if parameter == "constant" { name.clone() } else { format!("{name}, {parameter}") };
            knobs.push(Knob { group: Group::Latencies, label, path, setting });
        });
    }
}

/// The lengths of time in a distribution: the parameter, its path, and what it can be.
fn distribution(written: &Value, path: &str, push: &mut dyn FnMut(&str, String, Setting)) {
    for (kind, parameters) in written.as_object().into_iter().flatten() {
        let path = format!("{path}.{kind}");
        if let Some(setting) = length(parameters, None) {
            push(kind, path, setting);
            continue;
        }
        for (parameter, value) in parameters.as_object().into_iter().flatten() {
            if let Some(setting) = length(value, None) {
                push(parameter, format!("{path}.{parameter}"), setting);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::scenario::{Overrides, load_text, lock_file};

    const TEXT: &str = "\
apiVersion: kubesquall.sim/v1alpha1
kind: Scenario
metadata: {name: example}
spec:
  duration: 30m
  cluster:
    nodePools:
    - {name: worker, count: 4, zones: [a, b], template: {status: {allocatable: {cpu: \"4\", memory: 8Gi, pods: \"110\"}}}}
  latency: {podStart: {lognormal: {median: 2s, p99: 12s}}}
  timeline:
  - {at: 5m, fault: {kind: Crash, nodes: {zone: b}, for: 20m}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {minAvailable: 50%, selector: {matchLabels: {app: web}}}
";

    fn load(text: &str, overrides: &Overrides) -> ResolvedScenario {
        load_text("example.yaml", text, Path::new(""), overrides).unwrap_or_else(|invalid| panic!("{invalid}"))
    }

    #[test]
    fn knobs_are_what_the_scenario_has() {
        let found = knobs(&load(TEXT, &Overrides::none()));
        let told = |group: Group| -> Vec<String> {
            found
                .iter()
                .filter(|knob| knob.group == group)
                .map(|knob| format!("{}: {}", knob.label, knob.path))
                .collect()
        };
        assert_eq!(
            told(Group::Faults),
            [
                "Crash at 5m0s: length: spec.timeline[0].fault.for",
                "Crash at 5m0s: begin: spec.timeline[0].at",
                "Crash at 5m0s: zone: spec.timeline[0].fault.nodes.zone",
            ]
        );
        assert_eq!(told(Group::Nodes), ["pool worker: spec.cluster.nodePools[0].count"]);
        assert_eq!(told(Group::Replicas), ["deployment/shop/web: objects[\"deployment/shop/web\"].spec.replicas"]);
        assert_eq!(told(Group::Budgets).len(), 1);
        assert_eq!(told(Group::Eviction).len(), 3);
        assert!(
            told(Group::Latencies).contains(&"podStart, median: spec.latency.podStart.lognormal.median".to_owned())
        );
    }

    #[test]
    fn every_knob_can_be_turned_in_the_lock_file_and_the_next_lock_file_says_so() {
        let lock = lock_file(&load(TEXT, &Overrides::none()));
        for knob in knobs(&load(&lock, &Overrides::none())) {
            let value = match &knob.setting {
                Setting::Number { value, suffix, step, .. } => format!("{}{suffix}", value + step),
                Setting::Choice { value, options } => {
                    options.iter().find(|option| *option != value).expect("another one").clone()
                }
            };
            let overrides: Overrides = [format!("{}={value}", knob.path)].into_iter().collect();
            let turned = load(&lock, &overrides);
            let now = knobs(&turned).into_iter().find(|of| of.path == knob.path).expect("the same knob");
            assert_ne!(now.setting, knob.setting, "{}", knob.path);
            assert_ne!(lock_file(&turned), lock, "{}", knob.path);
        }
    }

    #[test]
    fn ends_of_ranges_are_round() {
        assert_eq!([nice(30.0), nice(31.0), nice(480.0), nice(4800.0)], [30.0, 40.0, 500.0, 5000.0]);
    }
}
