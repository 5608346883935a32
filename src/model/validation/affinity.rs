//! Where pods want to be: affinity, tolerations, topology spread.

use super::error::Errors;
use super::format;
use super::path::Path;
use super::selector::{self, Values, label_selector, node_selector_term};
use crate::arena::Symbol;
use crate::model::{
    Affinity, LabelSelector, NodeAffinity, PodAffinity, PodAffinityTerm, PodSpec, TaintEffect, Toleration,
    TolerationOperator, TopologySpreadConstraint, UnsatisfiableConstraintAction,
};

const WEIGHT_RULE: &str = "must be in the range 1-100";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// # Source
///
/// kube-apiserver, `validateAffinity`.
pub(super) fn affinity(affinity: Option<&Affinity>, path: &Path<'_>, e: &mut Errors) {
    let Some(affinity) = affinity else { return };
    if let Some(affinity) = &affinity.node_affinity {
        node_affinity(affinity, &path.child("nodeAffinity"), e);
    }
    if let Some(affinity) = &affinity.pod_affinity {
        pod_affinity(affinity, &path.child("podAffinity"), e);
    }
    if let Some(affinity) = &affinity.pod_anti_affinity {
        pod_affinity(affinity, &path.child("podAntiAffinity"), e);
    }
}

fn node_affinity(affinity: &NodeAffinity, path: &Path<'_>, e: &mut Errors) {
    if let Some(required) = &affinity.required_during_scheduling_ignored_during_execution {
        selector::node_selector(required, &path.child(REQUIRED), e);
    }
    let preferred = path.child(PREFERRED);
    for (index, wish) in affinity.preferred_during_scheduling_ignored_during_execution.iter().enumerate() {
        let path = preferred.index(index);
        weight(wish.weight, &path, e);
        node_selector_term(&wish.preference, Values::Any, &path.child("preference"), e);
    }
}

fn weight(weight: i32, path: &Path<'_>, e: &mut Errors) {
    if !(1..=100).contains(&weight) {
        e.invalid(&path.child("weight"), &weight, WEIGHT_RULE);
    }
}

fn pod_affinity(affinity: &PodAffinity, path: &Path<'_>, e: &mut Errors) {
    let required = path.child(REQUIRED);
    for (index, term) in affinity.required_during_scheduling_ignored_during_execution.iter().enumerate() {
        pod_affinity_term(term, &required.index(index), e);
    }
    let preferred = path.child(PREFERRED);
    for (index, wish) in affinity.preferred_during_scheduling_ignored_during_execution.iter().enumerate() {
        let path = preferred.index(index);
        weight(wish.weight, &path, e);
        pod_affinity_term(&wish.pod_affinity_term, &path.child("podAffinityTerm"), e);
    }
}

fn pod_affinity_term(term: &PodAffinityTerm, path: &Path<'_>, e: &mut Errors) {
    label_selector(term.label_selector.as_ref(), &path.child("labelSelector"), e);
    label_selector(term.namespace_selector.as_ref(), &path.child("namespaceSelector"), e);
    for namespace in &term.namespaces {
        e.texts(&path.child("namespace"), namespace.as_str(), format::dns_label(namespace.as_str()));
    }
    label_keys(&term.match_label_keys, &term.mismatch_label_keys, term.label_selector.as_ref(), path, e);
    let topology_key = term.topology_key.as_str();
    if topology_key.is_empty() {
        e.required(&path.child("topologyKey"), "can not be empty");
    }
    e.texts(&path.child("topologyKey"), topology_key, format::qualified_name(topology_key));
}

/// Keys that stand in `matchLabelKeys` of a pod and in its selectors, once admission has written the former into the latter.
pub(super) fn merged_label_keys(spec: &PodSpec, path: &Path<'_>, e: &mut Errors) {
    let affinity_path = path.child("affinity");
    let affinities = spec.affinity.iter().flat_map(|affinity| {
        [("podAffinity", &affinity.pod_affinity), ("podAntiAffinity", &affinity.pod_anti_affinity)]
    });
    for (field, affinity) in affinities.filter_map(|(field, affinity)| Some((field, affinity.as_ref()?))) {
        let path = affinity_path.child(field);
        let mut term = |term: &PodAffinityTerm, path: &Path<'_>| {
            label_keys(&term.match_label_keys, &term.mismatch_label_keys, term.label_selector.as_ref(), path, e);
        };
        let required = path.child(REQUIRED);
        for (index, of) in affinity.required_during_scheduling_ignored_during_execution.iter().enumerate() {
            term(of, &required.index(index));
        }
        let preferred = path.child(PREFERRED);
        for (index, wish) in affinity.preferred_during_scheduling_ignored_during_execution.iter().enumerate() {
            term(&wish.pod_affinity_term, &preferred.index(index).child("podAffinityTerm"));
        }
    }
    let path = path.child("topologySpreadConstraints");
    for (index, constraint) in spec.topology_spread_constraints.iter().enumerate() {
        label_keys(&constraint.match_label_keys, &[], constraint.label_selector.as_ref(), &path.index(index), e);
    }
}

/// # Source
///
/// kube-apiserver, `ValidateMatchLabelKeysAndMismatchLabelKeys`. A key may stand in `matchLabelKeys` and in the selector's
/// expressions once, as admission writes it there.
fn label_keys(
    matching: &[Symbol],
    mismatching: &[Symbol],
    selector: Option<&LabelSelector>,
    path: &Path<'_>,
    e: &mut Errors,
) {
    for (field, keys) in [("matchLabelKeys", matching), ("mismatchLabelKeys", mismatching)] {
        let path = path.child(field);
        if !keys.is_empty() && selector.is_none() {
            e.forbidden(&path, "must not be specified when labelSelector is not set");
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            e.texts(&path.index(index), key.as_str(), format::qualified_name(key.as_str()));
        }
    }
    let requirements = selector.map_or(&[][..], |selector| selector.match_expressions.as_slice());
    for (position, requirement) in requirements.iter().enumerate() {
        let is_said_before = selector.is_some_and(|selector| selector.match_labels.contains(requirement.key))
            || requirements[..position].iter().any(|other| other.key == requirement.key);
        let index = matching.iter().rposition(|key| *key == requirement.key);
        if let Some(index) = index.filter(|_| is_said_before) {
            e.invalid(&path.index(index), &requirement.key, "exists in both matchLabelKeys and labelSelector");
        }
    }
    let path = path.child("matchLabelKeys");
    for (index, key) in matching.iter().enumerate().filter(|(_, key)| mismatching.contains(key)) {
        e.invalid(&path.index(index), key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

/// # Source
///
/// kube-apiserver, `ValidateTolerations`. `Lt` and `Gt` need a feature that is off by default.
pub(super) fn tolerations(tolerations: &[Toleration], path: &Path<'_>, e: &mut Errors) {
    for (index, toleration) in tolerations.iter().enumerate() {
        let path = &path.index(index);
        let (key, value) = (toleration.key.as_str(), toleration.value.as_str());
        let operator = path.child("operator");
        if !key.is_empty() {
            e.texts(&path.child("key"), key, format::qualified_name(key));
        } else if toleration.operator() != TolerationOperator::Exists {
            let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            e.invalid(&operator, toleration.operator.map_or("", TolerationOperator::as_str), detail);
        }
        if toleration.toleration_seconds.is_some() && toleration.effect != Some(TaintEffect::NoExecute) {
            let effect = toleration.effect.map_or("", TaintEffect::as_str);
            e.invalid(&path.child("effect"), effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        match toleration.operator() {
            TolerationOperator::Equal => {
                let problems = format::label_value(value);
                if !problems.is_empty() {
                    e.invalid(&operator, value, problems.join(";"));
                }
            }
            TolerationOperator::Exists if !value.is_empty() => {
                e.invalid(&operator, value, "value must be empty when `operator` is 'Exists'");
            }
            TolerationOperator::Exists => {}
            TolerationOperator::Lt | TolerationOperator::Gt => {
                e.not_supported(&operator, toleration.operator().as_str(), &["Equal", "Exists", "Lt", "Gt"]);
            }
        }
    }
}

/// # Source
///
/// kube-apiserver, `validateTopologySpreadConstraints`.
pub(super) fn topology_spread(constraints: &[TopologySpreadConstraint], path: &Path<'_>, e: &mut Errors) {
    for (index, constraint) in constraints.iter().enumerate() {
        let path = &path.index(index);
        e.positive(&path.child("maxSkew"), constraint.max_skew);
        if constraint.topology_key.is_empty() {
            e.required(&path.child("topologyKey"), "can not be empty");
        }
        let key = (constraint.topology_key, constraint.when_unsatisfiable);
        if constraints[index + 1..].iter().any(|later| (later.topology_key, later.when_unsatisfiable) == key) {
            let both = std::format!("{{{}, {}}}", key.0, key.1);
            e.duplicate(&path.child("{topologyKey, whenUnsatisfiable}"), both.as_str());
        }
        if let Some(min_domains) = constraint.min_domains {
            let path = path.child("minDomains");
            e.positive(&path, min_domains);
            if constraint.when_unsatisfiable != UnsatisfiableConstraintAction::DoNotSchedule {
                let action = constraint.when_unsatisfiable;
                let detail = std::format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                e.invalid(&path, &min_domains, detail);
            }
        }
        label_keys(&constraint.match_label_keys, &[], constraint.label_selector.as_ref(), path, e);
        label_selector(constraint.label_selector.as_ref(), &path.child("labelSelector"), e);
    }
}
