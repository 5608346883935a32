//! HorizontalPodAutoscalers, as they are printed.

use serde_json::{Value, json};

use super::view::{Clock, of_status};
use crate::model::{MetricSourceType, MetricSpec, MetricTarget};
use crate::state::{Autoscaler, MetricValue};
use crate::units::{Quantity, QuantityFormat};

/// How many metrics are shown.
const METRICS_SHOWN: usize = 2;

const UNKNOWN: &str = "<unknown>";

/// What stands between name and age.
///
/// # Source
/// kube-apiserver, `printHorizontalPodAutoscaler`.
pub(super) fn cells(autoscaler: &Autoscaler) -> Vec<String> {
    let spec = &autoscaler.spec;
    let target = &spec.scale_target_ref;
    let min = spec.min_replicas.map_or_else(|| "<unset>".to_owned(), |min| min.to_string());
    let current = autoscaler.status.current_replicas.to_string();
    vec![format!("{}/{}", target.kind, target.name), metrics(autoscaler), min, spec.max_replicas.to_string(), current]
}

/// # Source
/// kube-apiserver, `formatHPAMetrics`.
fn metrics(autoscaler: &Autoscaler) -> String {
    let (specs, values) = (&autoscaler.spec.metrics, &autoscaler.status.metrics);
    let shown = specs.iter().take(METRICS_SHOWN).enumerate();
    let shown: Vec<String> =
        shown.map(|(index, spec)| metric(spec, values.get(index).and_then(Option::as_ref))).collect();
    match specs.len() {
        0 => "<none>".to_owned(),
        count if count > METRICS_SHOWN => format!("{} + {} more...", shown.join(", "), count - METRICS_SHOWN),
        _ => shown.join(", "),
    }
}

fn metric(spec: &MetricSpec, value: Option<&MetricValue>) -> String {
    let custom = |target: &MetricTarget| match (target.average_value, target.value) {
        (Some(average), _) => format!("{UNKNOWN}/{average}"),
        (None, value) => format!("{UNKNOWN}/{}", value.map_or_else(|| "<nil>".to_owned(), |value| value.to_string())),
    };
    let averaged = |target: &MetricTarget| {
        let average = if target.average_value.is_some() { " (avg)" } else { "" };
        format!("{}{average}", custom(target))
    };
    match spec.metric_type {
        Some(MetricSourceType::Pods) => spec.pods.as_ref().map_or_else(String::new, |source| custom(&source.target)),
        Some(MetricSourceType::Object) => {
            spec.object.as_ref().map_or_else(String::new, |source| averaged(&source.target))
        }
        Some(MetricSourceType::External) => {
            spec.external.as_ref().map_or_else(String::new, |source| averaged(&source.target))
        }
        _ => {
            let Some(source) = spec.resource.as_ref().or(spec.container_resource.as_ref()) else {
                return "<unknown type>".to_owned();
            };
            let unknown = || UNKNOWN.to_owned();
            if let Some(target) = source.target.average_value {
                let current =
                    value.map_or_else(unknown, |value| amount(value.average_milli, source.name.as_str()).to_string());
                return format!("{}: {current}/{target}", source.name);
            }
            let current = value.and_then(|value| value.utilization);
            let current = current.map_or_else(unknown, |percent| format!("{percent}%"));
            let target = source.target.average_utilization;
            let target = target.map_or_else(|| "<auto>".to_owned(), |percent| format!("{percent}%"));
            format!("{}: {current}/{target}", source.name)
        }
    }
}

/// # Source
/// horizontal-pod-autoscaler controller, `buildQuantity`: whole bytes of memory.
fn amount(milli: i64, resource: &str) -> Quantity {
    match resource {
        "memory" => Quantity::from_value(milli / 1000).with_format(QuantityFormat::BinarySi),
        _ => Quantity::from_milli(milli),
    }
}

/// The status as the API shows it.
pub(super) fn status(autoscaler: &Autoscaler, clock: Clock) -> Value {
    let status = &autoscaler.status;
    let conditions = status.conditions.iter().map(|condition| {
        json!({
            "type": condition.kind, "status": of_status(condition.status), "reason": condition.reason,
            "message": *condition.message, "lastTransitionTime": clock.stamp(condition.since),
        })
    });
    let metrics = autoscaler.spec.metrics.iter().zip(&status.metrics).filter_map(|(spec, value)| {
        let (value, source) = ((*value)?, spec.resource.as_ref().or(spec.container_resource.as_ref())?);
        let field = if spec.resource.is_some() { "resource" } else { "containerResource" };
        let average = amount(value.average_milli, source.name.as_str()).to_string();
        let mut current = json!({"averageValue": average});
        if let Some(percent) = value.utilization {
            current["averageUtilization"] = percent.into();
        }
        let mut body = json!({"name": source.name, "current": current});
        if !source.container.is_empty() {
            body["container"] = json!(source.container);
        }
        Some(json!({"type": spec.metric_type, field: body}))
    });
    let metrics: Vec<Value> = metrics.collect();
    json!({
        "conditions": conditions.collect::<Vec<_>>(),
        "currentMetrics": Some(metrics).filter(|metrics| !metrics.is_empty()),
        "currentReplicas": status.current_replicas,
        "desiredReplicas": status.desired_replicas,
        "lastScaleTime": status.last_scale_at.map(|at| clock.stamp(at)),
    })
}
