//! HorizontalPodAutoscalers.

use super::error::Errors;
use super::format;
use super::path::Path;
use crate::model::{
    CustomMetricSource, HPAScalingRules, HorizontalPodAutoscaler, MetricSourceType, MetricSpec, MetricTarget,
    ObjectReference, ResourceMetricSource,
};

/// The longest period of a policy and the longest stabilization, in seconds.
const PERIOD_MAX: i32 = 1800;
const STABILIZATION_MAX: i32 = 3600;

/// # Source
///
/// kube-apiserver, `validateHorizontalPodAutoscalerSpec`; the same on update.
///
/// # Differs
///
/// The names of custom metrics are not looked at.
pub(super) fn validate(autoscaler: &HorizontalPodAutoscaler, old: Option<&HorizontalPodAutoscaler>, e: &mut Errors) {
    let path = Path::ROOT.child("spec");
    let spec = &autoscaler.spec;
    let min = spec.min_replicas.unwrap_or(1);
    if min < 1 {
        e.invalid(&path.child("minReplicas"), &min, "must be greater than or equal to 1");
    }
    let max_path = path.child("maxReplicas");
    match spec.max_replicas {
        0 => e.required(&max_path, "must be set and greater than 0"),
        max if max < 0 => e.invalid(&max_path, &max, "must be greater than or equal to 1"),
        _ => {}
    }
    if spec.max_replicas < min {
        e.invalid(&max_path, &spec.max_replicas, "must be greater than or equal to `minReplicas`");
    }
    let (target, target_path) = (&spec.scale_target_ref, path.child("scaleTargetRef"));
    reference(target, &target_path, e);
    let of_old = |old: &HorizontalPodAutoscaler| {
        let old = &old.spec.scale_target_ref;
        old.kind == target.kind && old.api_version == target.api_version
    };
    // What an older server has taken stays as it is.
    if !old.is_some_and(of_old) && autoscaler.metadata.uid.is_none() {
        api_version(target, target.kind == "ReplicationController", &target_path, e);
    }
    let metrics = path.child("metrics");
    for (index, spec) in spec.metrics.iter().enumerate() {
        metric(spec, &metrics.index(index), e);
    }
    let behavior_path = path.child("behavior");
    if let Some(behavior) = &spec.behavior {
        for (field, rules) in [("scaleUp", &behavior.scale_up), ("scaleDown", &behavior.scale_down)] {
            if let Some(rules) = rules {
                scaling_rules(rules, &behavior_path.child(field), e);
            }
        }
    }
}

fn reference(reference: &ObjectReference, path: &Path<'_>, e: &mut Errors) {
    for (field, value) in [("kind", reference.kind), ("name", reference.name)] {
        if value.is_empty() {
            e.required(&path.child(field), "");
        } else {
            e.texts(&path.child(field), value.as_str(), format::path_segment(value.as_str()));
        }
    }
}

/// # Source
///
/// kube-apiserver, `ValidateAPIVersion`.
fn api_version(reference: &ObjectReference, takes_core: bool, path: &Path<'_>, e: &mut Errors) {
    let api_version = reference.api_version.as_str();
    if api_version.matches('/').count() > 1 {
        let detail = std::format!("unexpected GroupVersion string: {api_version}");
        e.invalid(&path.child("apiVersion"), api_version, detail);
    } else if !api_version.contains('/') && !takes_core {
        e.invalid(&path.child("apiVersion"), api_version, "apiVersion must specify API group");
    }
}

fn metric(spec: &MetricSpec, path: &Path<'_>, e: &mut Errors) {
    let present: Vec<&str> = [
        ("object", spec.object.is_some()),
        ("external", spec.external.is_some()),
        ("pods", spec.pods.is_some()),
        ("resource", spec.resource.is_some()),
        ("containerResource", spec.container_resource.is_some()),
    ]
    .into_iter()
    .filter_map(|(field, is_there)| is_there.then_some(field))
    .collect();
    let Some(metric_type) = spec.metric_type else {
        e.required(&path.child("type"), "must specify a metric source type");
        let words = ["ContainerResource", "External", "Object", "Pods", "Resource"];
        e.not_supported(&path.child("type"), "", &words);
        return;
    };
    match present.first().copied() {
        Some(field @ "object") => custom(spec.object.as_ref(), field, &path.child(field), e),
        Some(field @ "external") => custom(spec.external.as_ref(), field, &path.child(field), e),
        Some(field @ "pods") => custom(spec.pods.as_ref(), field, &path.child(field), e),
        Some(field @ "resource") => resource(spec.resource.as_ref(), false, &path.child(field), e),
        Some(field) => resource(spec.container_resource.as_ref(), true, &path.child(field), e),
        None => {}
    }
    let expected = match metric_type {
        MetricSourceType::Object => "object",
        MetricSourceType::Pods => "pods",
        MetricSourceType::Resource => "resource",
        MetricSourceType::External => "external",
        MetricSourceType::ContainerResource => "containerResource",
    };
    if !present.contains(&expected) {
        e.required(&path.child(expected), "must populate information for the given metric source");
    }
    if present.len() != 1 {
        for field in present.into_iter().filter(|field| *field != expected) {
            e.forbidden(&path.child(field), "must populate the given metric source only");
        }
    }
}

fn custom(source: Option<&CustomMetricSource>, field: &str, path: &Path<'_>, e: &mut Errors) {
    let Some(source) = source else { return };
    if field == "object" {
        let described = path.child("describedObject");
        reference(&source.described_object, &described, e);
        api_version(&source.described_object, true, &described, e);
    }
    let target_path = path.child("target");
    let given = &source.target;
    target(given, &target_path, e);
    let average = target_path.child("averageValue");
    match field {
        "pods" if given.average_value.is_none() => e.required(&average, "must specify a positive target averageValue"),
        "object" if given.average_value.is_none() && given.value.is_none() => {
            e.required(&average, "must set either a target value or averageValue");
        }
        "external" if given.average_value.is_none() && given.value.is_none() => {
            e.required(&average, "must set either a target value for metric or a per-pod target");
        }
        "external" if given.average_value.is_some() && given.value.is_some() => {
            e.forbidden(&target_path.child("value"), "may not set both a target value for metric and a per-pod target");
        }
        _ => {}
    }
}

fn resource(source: Option<&ResourceMetricSource>, of_container: bool, path: &Path<'_>, e: &mut Errors) {
    let Some(source) = source else { return };
    if source.name.is_empty() {
        e.required(&path.child("name"), "must specify a resource name");
    }
    if of_container {
        let container = path.child("container");
        if source.container.is_empty() {
            e.required(&container, "must specify a container");
        } else {
            e.texts(&container, source.container.as_str(), format::dns_label(source.container.as_str()));
        }
    }
    let target_path = path.child("target");
    let given = &source.target;
    target(given, &target_path, e);
    match (given.average_utilization, &given.average_value) {
        (None, None) => {
            let detail = "must set either a target raw value or a target utilization";
            e.required(&target_path.child("averageUtilization"), detail);
        }
        (Some(_), Some(_)) => {
            let detail = "may not set both a target raw value and a target utilization";
            e.forbidden(&target_path.child("averageValue"), detail);
        }
        _ => {}
    }
}

fn target(target: &MetricTarget, path: &Path<'_>, e: &mut Errors) {
    let type_path = path.child("type");
    if target.target_type.is_empty() {
        e.required(&type_path, "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&target.target_type.as_str()) {
        let detail = "must be either Utilization, Value, or AverageValue";
        e.invalid(&type_path, target.target_type.as_str(), detail);
    }
    for (field, value) in [("value", target.value), ("averageValue", target.average_value)] {
        if let Some(value) = value.filter(|value| value.is_zero() || value.is_negative()) {
            e.invalid(&path.child(field), &value, "must be positive");
        }
    }
    if let Some(percent) = target.average_utilization.filter(|percent| *percent < 1) {
        e.invalid(&path.child("averageUtilization"), &percent, "must be greater than 0");
    }
}

fn scaling_rules(rules: &HPAScalingRules, path: &Path<'_>, e: &mut Errors) {
    let window = path.child("stabilizationWindowSeconds");
    match rules.stabilization_window_seconds {
        Some(seconds) if seconds < 0 => e.invalid(&window, &seconds, "must be greater than or equal to zero"),
        Some(seconds) if seconds > STABILIZATION_MAX => {
            e.invalid(&window, &seconds, std::format!("must be less than or equal to {STABILIZATION_MAX}"));
        }
        _ => {}
    }
    let policies = path.child("policies");
    // What is not written is filled in before anything is looked at.
    if rules.policies.as_ref().is_some_and(Vec::is_empty) {
        e.required(&policies, "must specify at least one Policy");
    }
    for (index, policy) in rules.policies().iter().enumerate() {
        let path = policies.index(index);
        if policy.policy_type.is_none() {
            e.not_supported(&path.child("type"), "", &["Percent", "Pods"]);
        }
        if policy.value <= 0 {
            e.invalid(&path.child("value"), &policy.value, "must be greater than zero");
        }
        let period = path.child("periodSeconds");
        if policy.period_seconds <= 0 {
            e.invalid(&period, &policy.period_seconds, "must be greater than zero");
        }
        if policy.period_seconds > PERIOD_MAX {
            e.invalid(&period, &policy.period_seconds, std::format!("must be less than or equal to {PERIOD_MAX}"));
        }
    }
    if let Some(tolerance) = rules.tolerance.filter(|tolerance| tolerance.is_negative()) {
        e.invalid(&path.child("tolerance"), &tolerance, "must be greater than or equal to 0");
    }
}
