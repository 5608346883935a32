//! Admission plugins that run only where they are enabled.

use std::collections::BTreeSet;

use crate::arena::{Symbol, sym};
use crate::component::{ApiError, ErrorReason};
use crate::model::config::AdmissionPlugin;
use crate::model::validation::is_extended_resource;
use crate::model::{self, PodSpec, PullPolicy, QosClass, TaintEffect, Toleration, TolerationOperator};
use crate::state::Store;

use super::session::Session;
use super::subject::Subject;

/// What the plugins add to a new pod, in their order.
///
/// # Errors
/// What they refuse.
pub(super) fn admit(s: &Session<'_>, spec: &mut PodSpec, subject: &Subject<'_>) -> Result<(), ApiError> {
    let runs = |plugin: AdmissionPlugin| s.config.kube_apiserver.admits_with(plugin);
    if runs(AdmissionPlugin::LimitPodHardAntiAffinityTopology) {
        limit_anti_affinity(spec, subject)?;
    }
    if runs(AdmissionPlugin::AlwaysPullImages) {
        let containers = spec.containers.iter_mut().chain(&mut spec.init_containers);
        containers.for_each(|container| container.image_pull_policy = Some(PullPolicy::Always));
    }
    if runs(AdmissionPlugin::PodNodeSelector) {
        select_nodes(s.store, spec, subject)?;
    }
    if runs(AdmissionPlugin::PodTolerationRestriction) {
        restrict_tolerations(s.store, spec, subject)?;
    }
    if runs(AdmissionPlugin::ExtendedResourceToleration) {
        tolerate_extended_resources(spec);
    }
    Ok(())
}

/// # Source
/// Admission plugin LimitPodHardAntiAffinityTopology.
fn limit_anti_affinity(spec: &PodSpec, subject: &Subject<'_>) -> Result<(), ApiError> {
    let anti_affinity = spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let mut terms = anti_affinity.into_iter().flat_map(|a| &a.required_during_scheduling_ignored_during_execution);
    let Some(term) = terms.find(|term| term.topology_key != sym!("kubernetes.io/hostname")) else { return Ok(()) };
    let why = format!(
        "affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {} but only key kubernetes.io/hostname is allowed",
        term.topology_key
    );
    Err(subject.forbidden(&why))
}

/// # Source
/// Admission plugin PodNodeSelector: what the namespace's annotation says is added to the node selector of its pods; no configuration file is
/// read, so that there is no selector of the cluster, and none that pods may not exceed.
fn select_nodes(store: &Store, spec: &mut PodSpec, subject: &Subject<'_>) -> Result<(), ApiError> {
    let Some((_, namespace)) = store.namespace(subject.namespace) else { return Ok(()) };
    let mut annotations = namespace.annotations.iter();
    let Some((_, text)) = annotations.find(|(name, _)| **name == "scheduler.alpha.kubernetes.io/node-selector") else {
        return Ok(());
    };
    for label in text.as_str().split(',').filter(|label| !label.is_empty()) {
        let parts: Vec<&str> = label.split('=').map(str::trim).collect();
        let [key, value] = parts[..] else {
            let why = format!("invalid selector: [{}]", parts.join(" "));
            return Err(ApiError::new(ErrorReason::InternalError, why));
        };
        let (key, value) = (Symbol::from(key), Symbol::from(value));
        if spec.node_selector.get(key).is_some_and(|own| own != value) {
            return Err(subject.forbidden("pod node label selector conflicts with its namespace node label selector"));
        }
        spec.node_selector = spec.node_selector.with(key, value);
    }
    Ok(())
}

/// # Source
/// Admission plugin ExtendedResourceToleration: nodes that are tainted by the name of a resource are for pods that ask for it.
fn tolerate_extended_resources(spec: &mut PodSpec) {
    let containers = spec.containers.iter().chain(&spec.init_containers);
    let asked = containers.flat_map(|container| container.resources.requests.iter().map(|(name, _)| name));
    let names: BTreeSet<&str> = asked.map(|name| name.as_str()).filter(|name| is_extended_resource(name)).collect();
    for name in names {
        let toleration = Toleration {
            key: Symbol::from(name),
            operator: Some(TolerationOperator::Exists),
            effect: Some(TaintEffect::NoSchedule),
            ..Toleration::default()
        };
        if !spec.tolerations.contains(&toleration) {
            spec.tolerations.push(toleration);
        }
    }
}

/// # Source
/// Admission plugin PodTolerationRestriction: what the namespace's annotation adds, and memory pressure for pods that ask for
/// something; all tolerations must be among those that another annotation allows. No configuration file is read: there are no
/// cluster-wide lists.
fn restrict_tolerations(store: &Store, spec: &mut PodSpec, subject: &Subject<'_>) -> Result<(), ApiError> {
    let listed = |key: &str| -> Result<Option<Vec<Toleration>>, ApiError> {
        let Some((_, namespace)) = store.namespace(subject.namespace) else { return Ok(None) };
        let Some((_, text)) = namespace.annotations.iter().find(|(name, _)| **name == key) else { return Ok(None) };
        if text.as_str().is_empty() {
            return Ok(Some(Vec::new()));
        }
        serde_json::from_str(text.as_str())
            .map(Some)
            .map_err(|error| ApiError::new(ErrorReason::InternalError, error.to_string()))
    };
    let mut more = listed("scheduler.alpha.kubernetes.io/defaultTolerations")?.unwrap_or_default();
    if model::qos(spec) != QosClass::BestEffort {
        more.push(Toleration {
            key: sym!("node.kubernetes.io/memory-pressure"),
            operator: Some(TolerationOperator::Exists),
            effect: Some(TaintEffect::NoSchedule),
            ..Toleration::default()
        });
    }
    if !more.is_empty() {
        spec.tolerations = merged(spec.tolerations.iter().chain(&more).cloned().collect());
    }
    let allowed = listed("scheduler.alpha.kubernetes.io/tolerationsWhitelist")?.unwrap_or_default();
    let is_allowed = |toleration: &Toleration| allowed.iter().any(|wider| covers(wider, toleration));
    if allowed.is_empty() || spec.tolerations.iter().all(is_allowed) {
        return Ok(());
    }
    let why =
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace whitelist";
    Err(ApiError::new(ErrorReason::InternalError, why))
}

/// Tolerations without those that another one covers.
///
/// # Source
/// `MergeTolerations`.
fn merged(all: Vec<Toleration>) -> Vec<Toleration> {
    let mut merged: Vec<Toleration> = Vec::new();
    for (index, toleration) in all.iter().enumerate() {
        let is_covered = merged.iter().any(|kept| covers(kept, toleration))
            || all[index + 1..].iter().any(|later| later != toleration && covers(later, toleration));
        if !is_covered {
            merged.push(toleration.clone());
        }
    }
    merged
}

/// Whether one toleration tolerates all that another does.
///
/// # Source
/// `isSuperset`.
fn covers(wider: &Toleration, narrower: &Toleration) -> bool {
    if wider == narrower {
        return true;
    }
    let every_key = wider.key.as_str().is_empty() && wider.operator() == TolerationOperator::Exists;
    let has_key = wider.key == narrower.key || every_key;
    let has_effect = wider.effect.is_none() || wider.effect == narrower.effect;
    let lasts = match (wider.effect, wider.toleration_seconds) {
        (Some(TaintEffect::NoExecute), Some(longest)) => narrower.toleration_seconds.is_some_and(|s| s <= longest),
        _ => true,
    };
    let has_value = match wider.operator() {
        TolerationOperator::Exists => true,
        TolerationOperator::Equal => narrower.operator() == TolerationOperator::Equal && wider.value == narrower.value,
        TolerationOperator::Lt | TolerationOperator::Gt => false,
    };
    has_key && has_effect && lasts && has_value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(all: &str, expected: &str) {
        let read = |text: &str| -> Vec<Toleration> { serde_json::from_str(text).expect("tolerations") };
        assert_eq!(merged(read(all)), read(expected), "{all}");
    }

    #[test]
    fn a_toleration_that_another_covers_is_left_out() {
        check(r#"[{"key":"a","operator":"Exists"},{"key":"a","value":"v"}]"#, r#"[{"key":"a","operator":"Exists"}]"#);
        check(r#"[{"key":"a","value":"v"},{"operator":"Exists"}]"#, r#"[{"operator":"Exists"}]"#);
        check(r#"[{"key":"a","value":"v"},{"key":"a","value":"v"}]"#, r#"[{"key":"a","value":"v"}]"#);
        let short = r#"{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":10}"#;
        let long = r#"{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":20}"#;
        let ever = r#"{"key":"a","operator":"Exists","effect":"NoExecute"}"#;
        check(&format!("[{short},{long}]"), &format!("[{long}]"));
        check(&format!("[{ever},{long}]"), &format!("[{ever}]"));
        check(
            r#"[{"key":"a","value":"v"},{"key":"a","value":"w"}]"#,
            r#"[{"key":"a","value":"v"},{"key":"a","value":"w"}]"#,
        );
    }
}
