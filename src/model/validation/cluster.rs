//! What stands beside workloads: budgets, priority classes, nodes.

use super::error::{Errors, Json, Raw};
use super::format;
use super::opaque::Written;
use super::path::Path;
use super::resources::{self, Asker};
use super::selector::label_selector;
use super::workloads::{int_or_percent, not_more_than_all};
use super::{affinity, metadata};
use crate::model::{
    HIGHEST_USER_PRIORITY, Node, PodDisruptionBudget, PreemptionPolicy, PriorityClass, ResourceRequirements,
    RuntimeClass, SYSTEM_PRIORITY_CLASSES, Taint,
};

/// # Source
///
/// kube-apiserver, `ValidatePodDisruptionBudgetSpec`; the same on update.
pub(super) fn budget(budget: &PodDisruptionBudget, e: &mut Errors) {
    let path = Path::ROOT.child("spec");
    let spec = &budget.spec;
    if spec.min_available.is_some() && spec.max_unavailable.is_some() {
        e.invalid(&path, &Json(spec), "minAvailable and maxUnavailable cannot be both set");
    }
    for (field, value) in [("minAvailable", spec.min_available), ("maxUnavailable", spec.max_unavailable)] {
        if let Some(value) = value {
            int_or_percent(value, &path.child(field), e);
            not_more_than_all(value, &path.child(field), e);
        }
    }
    label_selector(spec.selector.as_ref(), &path.child("selector"), e);
}

/// # Source
///
/// kube-apiserver, `ValidatePriorityClass`.
pub(super) fn priority_class(class: &PriorityClass, e: &mut Errors) {
    let (name, value) = (class.metadata.name.as_str(), class.value);
    if !name.starts_with("system-") {
        if value > HIGHEST_USER_PRIORITY {
            let detail = std::format!("maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}");
            e.forbidden(&Path::ROOT.child("value"), detail);
        }
        return;
    }
    let problem = match SYSTEM_PRIORITY_CLASSES.iter().find(|(known, _)| *known == name) {
        None => std::format!("{name} is not a known system priority class"),
        Some((_, known)) if *known != value => std::format!("value of {name} PriorityClass must be {known}"),
        Some(_) if class.global_default => std::format!("globalDefault of {name} PriorityClass must be false"),
        Some(_) => return,
    };
    let path = Path::ROOT.child("metadata");
    let rule = "priority class names with 'system-' prefix are reserved for system use only. error: ";
    e.forbidden(&path.child("name"), std::format!("{rule}{problem}"));
}

/// # Source
///
/// kube-apiserver, `ValidatePriorityClassUpdate`.
pub(super) fn priority_class_update(new: &PriorityClass, old: &PriorityClass, e: &mut Errors) {
    if new.value != old.value {
        e.forbidden(&Path::ROOT.child("value"), "may not be changed in an update.");
    }
    let policy = |class: &PriorityClass| class.preemption_policy.unwrap_or(PreemptionPolicy::PreemptLowerPriority);
    e.immutable(&Path::ROOT.child("preemptionPolicy"), &policy(new), &policy(old));
}

/// # Source
///
/// kube-apiserver, `ValidateRuntimeClass`.
pub(super) fn runtime_class(class: &RuntimeClass, e: &mut Errors) {
    let path = Path::ROOT.child("handler");
    match Written::of(class.handler).as_str() {
        None | Some("") => e.required(&path, ""),
        Some(handler) => e.texts(&path, handler, format::dns_label(handler)),
    }
    if let Some(overhead) = &class.overhead {
        let limits = ResourceRequirements { limits: overhead.pod_fixed.clone(), ..ResourceRequirements::default() };
        resources::requirements(&limits, Asker::Container, &Path::ROOT.child("overhead"), e);
    }
    if let Some(scheduling) = &class.scheduling {
        let path = Path::ROOT.child("scheduling");
        metadata::labels(&scheduling.node_selector, &path.child("nodeSelector"), e);
        affinity::tolerations(&scheduling.tolerations, &path.child("tolerations"), e);
    }
}

/// # Source
///
/// kube-apiserver, `ValidateRuntimeClassUpdate`.
pub(super) fn runtime_class_update(new: &RuntimeClass, old: &RuntimeClass, e: &mut Errors) {
    if new.handler != old.handler {
        let handler = Written::of(new.handler);
        e.invalid(&Path::ROOT.child("handler"), handler.as_str().unwrap_or_default(), "field is immutable");
    }
}

/// # Source
///
/// kube-apiserver, `ValidateNode`.
pub(super) fn node(node: &Node, e: &mut Errors) {
    let metadata = Path::ROOT.child("metadata");
    taints(&node.spec.taints, &metadata.child("taints"), e);
    amounts(node, e);
}

fn amounts(node: &Node, e: &mut Errors) {
    let status = Path::ROOT.child("status");
    resources::amounts(&node.status.capacity, &status.child("capacity"), e);
    resources::amounts(&node.status.allocatable, &status.child("allocatable"), e);
}

/// # Source
///
/// kube-apiserver, `validateNodeTaints`, whose path is one of the metadata.
pub(super) fn taints(taints: &[Taint], path: &Path<'_>, e: &mut Errors) {
    for (index, taint) in taints.iter().enumerate() {
        let path = path.index(index);
        e.texts(&path.child("key"), taint.key.as_str(), format::qualified_name(taint.key.as_str()));
        let problems = format::label_value(taint.value.as_str());
        if !problems.is_empty() {
            e.invalid(&path.child("value"), &taint.value, problems.join(";"));
        }
        if taints[..index].iter().any(|other| other.is_same(taint)) {
            // The server prints its own form of a taint, whose fields have the names of the code.
            let shown = std::format!(
                "{{\"Key\":{:?},\"Value\":{:?},\"Effect\":\"{}\",\"TimeAdded\":null}}",
                taint.key.as_str(),
                taint.value.as_str(),
                taint.effect
            );
            e.duplicate_with(&path, &Raw(shown), "taints must be unique by key and effect pair");
        }
    }
}

/// # Source
///
/// kube-apiserver, `ValidateNodeUpdate`.
pub(super) fn node_update(new: &Node, old: &Node, e: &mut Errors) {
    amounts(new, e);
    let path = Path::ROOT.child("spec");
    if old.spec.pod_cidr.is_some() && new.spec.pod_cidr != old.spec.pod_cidr {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        e.forbidden(&path.child("podCIDRs"), detail);
    }
    if old.spec.provider_id.is_some() && new.spec.provider_id != old.spec.provider_id {
        let detail = "node updates may not change providerID except from \"\" to valid";
        e.forbidden(&path.child("providerID"), detail);
    }
    let metadata = Path::ROOT.child("metadata");
    taints(&new.spec.taints, &metadata.child("taints"), e);
}
