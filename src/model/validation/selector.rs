//! Label selectors and node selectors.

use super::error::{Errors, Json};
use super::path::Path;
use super::{format, metadata};
use crate::arena::Symbol;
use crate::model::{
    LabelSelector, LabelSelectorOperator, Labels, NodeSelector, NodeSelectorOperator, NodeSelectorRequirement,
    NodeSelectorTerm,
};

/// # Source
///
/// API machinery, `ValidateLabelSelector`.
pub(super) fn label_selector(selector: Option<&LabelSelector>, path: &Path<'_>, e: &mut Errors) {
    let Some(selector) = selector else { return };
    metadata::labels(&selector.match_labels, &path.child("matchLabels"), e);
    let expressions = path.child("matchExpressions");
    for (index, requirement) in selector.match_expressions.iter().enumerate() {
        let path = &expressions.index(index);
        let values = path.child("values");
        let wants_values = matches!(requirement.operator, LabelSelectorOperator::In | LabelSelectorOperator::NotIn);
        match (wants_values, requirement.values.is_empty()) {
            (true, true) => e.required(&values, "must be specified when `operator` is 'In' or 'NotIn'"),
            (false, false) => {
                e.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            _ => {}
        }
        let key = requirement.key.as_str();
        e.texts(&path.child("key"), key, format::qualified_name(key));
        label_values(&requirement.values, &values, e);
    }
}

fn label_values(values: &[Symbol], path: &Path<'_>, e: &mut Errors) {
    for (index, value) in values.iter().enumerate() {
        e.texts(&path.index(index), value.as_str(), format::label_value(value.as_str()));
    }
}

/// The selector of a workload: there, not empty, and matching the workload's own template. `kind` is how the refusal of an
/// empty one calls it.
///
/// # Source
///
/// kube-apiserver, `ValidateDeploymentSpec`, `ValidateReplicaSetSpec`, `ValidateStatefulSetSpec`, `ValidateDaemonSetSpec`.
pub(super) fn of_workload(selector: Option<&LabelSelector>, template: &Labels, kind: &str, e: &mut Errors) {
    let spec = Path::ROOT.child("spec");
    let path = &spec.child("selector");
    let Some(selector) = selector else { return e.required(path, "") };
    label_selector(Some(selector), path, e);
    if selector.is_empty() {
        e.invalid(path, &Json(selector), format!("empty selector is invalid for {kind}"));
    } else if !selector.matches(template) {
        let template_path = spec.child("template");
        let metadata = template_path.child("metadata");
        mismatch(template, &metadata.child("labels"), e);
    }
}

/// A selector that does not match the template that it belongs to.
pub(super) fn mismatch(labels: &Labels, path: &Path<'_>, e: &mut Errors) {
    let detail = "`selector` does not match template `labels`";
    if labels.is_empty() {
        e.invalid(path, &Json(&()), detail);
    } else {
        e.invalid(path, &Json(labels), detail);
    }
}

/// # Source
///
/// kube-apiserver, `ValidateNodeSelector`.
pub(super) fn node_selector(selector: &NodeSelector, path: &Path<'_>, e: &mut Errors) {
    let path = path.child("nodeSelectorTerms");
    if selector.node_selector_terms.is_empty() {
        return e.required(&path, "must have at least one node selector term");
    }
    for (index, term) in selector.node_selector_terms.iter().enumerate() {
        node_selector_term(term, Values::MustBeLabels, &path.index(index), e);
    }
}

/// Whether values must be such as labels can have; wishes may name others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    MustBeLabels,
    Any,
}

/// # Source
///
/// kube-apiserver, `ValidateNodeSelectorTerm`.
pub(super) fn node_selector_term(term: &NodeSelectorTerm, values: Values, path: &Path<'_>, e: &mut Errors) {
    let expressions = path.child("matchExpressions");
    for (index, requirement) in term.match_expressions.iter().enumerate() {
        node_selector_requirement(requirement, values, &expressions.index(index), e);
    }
    let fields = path.child("matchFields");
    for (index, requirement) in term.match_fields.iter().enumerate() {
        node_field_requirement(requirement, &fields.index(index), e);
    }
}

fn node_selector_requirement(requirement: &NodeSelectorRequirement, of: Values, path: &Path<'_>, e: &mut Errors) {
    let values = path.child("values");
    let count = requirement.values.len();
    match requirement.operator {
        NodeSelectorOperator::In | NodeSelectorOperator::NotIn if count == 0 => {
            e.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        NodeSelectorOperator::Exists | NodeSelectorOperator::DoesNotExist if count > 0 => {
            e.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        NodeSelectorOperator::Gt | NodeSelectorOperator::Lt if count != 1 => {
            e.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
        }
        _ => {}
    }
    let key = requirement.key.as_str();
    e.texts(&path.child("key"), key, format::qualified_name(key));
    if of == Values::MustBeLabels {
        label_values(&requirement.values, &values, e);
    }
}

fn node_field_requirement(requirement: &NodeSelectorRequirement, path: &Path<'_>, e: &mut Errors) {
    let values = path.child("values");
    match requirement.operator {
        NodeSelectorOperator::In | NodeSelectorOperator::NotIn => {
            if requirement.values.len() != 1 {
                let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                e.required(&values, detail);
            }
        }
        other => e.invalid(&path.child("operator"), other.as_str(), "not a valid selector operator"),
    }
    if requirement.key != "metadata.name" {
        return e.invalid(&path.child("key"), &requirement.key, "not a valid field selector key");
    }
    for (index, value) in requirement.values.iter().enumerate() {
        e.texts(&values.index(index), value.as_str(), format::dns_subdomain(value.as_str()));
    }
}
