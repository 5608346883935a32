//! The admission plugin LimitRanger: what containers get that ask for nothing, and what may be asked for.
//!
//! # Source
//! Admission plugin LimitRanger. Ranges are gone through in the order of their names; the server's cache has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::arena::Symbol;
use crate::component::{ApiError, ErrorReason};
use crate::model::config::AdmissionPlugin;
use crate::model::validation::{self, FieldError};
use crate::model::{
    self, Container, LimitRangeItem, LimitRangeSpec, ObjectKind, PersistentVolumeClaim, PodSpec, ResourceList,
    ResourceRequirements,
};
use crate::state::Store;
use crate::units::Quantity;

use super::session::Session;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// The ranges of a namespace, in the order of their names; none if the plugin does not run.
fn ranges<'a>(s: &'a Session<'_>, namespace: Symbol) -> impl Iterator<Item = &'a LimitRangeSpec> {
    let runs = !s.store.limit_ranges.is_empty() && s.config.kube_apiserver.admits_with(AdmissionPlugin::LimitRanger);
    let of_namespace = move |store: &'a Store| {
        let from = store.limit_ranges.range((namespace, Symbol::empty())..);
        from.take_while(move |((of, _), _)| *of == namespace).map(|(_, range)| &**range)
    };
    runs.then(|| of_namespace(&*s.store)).into_iter().flatten()
}

/// Gives the containers of a new pod the requests and limits that they do not name, and says so in an annotation.
///
/// # Source
/// `PodMutateLimitFunc`.
pub(super) fn set_defaults(
    s: &Session<'_>,
    namespace: Symbol,
    spec: &mut PodSpec,
    annotations: &mut Arc<BTreeMap<Symbol, Symbol>>,
) {
    for range in ranges(s, namespace) {
        let (mut requests, mut limits) = (ResourceList::default(), ResourceList::default());
        for item in range.limits.iter().filter(|item| item.limit_type == "Container") {
            item.default_request.iter().for_each(|(name, amount)| requests.insert(name, *amount));
            item.default_limit.iter().for_each(|(name, amount)| limits.insert(name, *amount));
        }
        let mut notes = Vec::new();
        let kinds = [("container", &mut spec.containers), ("init container", &mut spec.init_containers)];
        for (kind, containers) in kinds {
            for container in containers {
                let own = &mut container.resources;
                note(&mut notes, fill(&mut own.requests, &requests), "request", kind, container.name);
                note(&mut notes, fill(&mut own.limits, &limits), "limit", kind, container.name);
            }
        }
        if !notes.is_empty() {
            let note = Symbol::new(&format!("LimitRanger plugin set: {}", notes.join("; ")));
            Arc::make_mut(annotations).insert(Symbol::new(ANNOTATION), note);
        }
    }
}

/// Adds what is not named yet, and says what that was.
fn fill(list: &mut ResourceList, defaults: &ResourceList) -> Vec<&'static str> {
    let missing: Vec<(Symbol, Quantity)> =
        defaults.iter().filter(|(name, _)| !list.contains(*name)).map(|(name, amount)| (name, *amount)).collect();
    missing.iter().for_each(|(name, amount)| list.insert(*name, *amount));
    missing.into_iter().map(|(name, _)| name.as_str()).collect()
}

fn note(notes: &mut Vec<String>, set: Vec<&str>, what: &str, kind: &str, name: Symbol) {
    if !set.is_empty() {
        notes.push(format!("{} {what} for {kind} {name}", set.join(", ")));
    }
}

/// What the server refuses of a new pod once its defaults are set: limits below requests, and what its namespace does not allow.
///
/// # Errors
/// 422 and 403.
pub(super) fn check_pod(s: &Session<'_>, namespace: Symbol, name: &str, spec: &PodSpec) -> Result<(), ApiError> {
    let mut has_ranges = false;
    for range in ranges(s, namespace) {
        if !std::mem::replace(&mut has_ranges, true) {
            let errors: Vec<FieldError> = validation::validate_resources(spec);
            if !errors.is_empty() {
                return Err(ApiError::invalid(ObjectKind::Pod, name, &errors));
            }
        }
        refuse("pods", name, pod_errors(range, spec))?;
    }
    Ok(())
}

/// # Errors
/// 403, if its namespace does not allow a claim of that size.
pub(super) fn check_claim(s: &Session<'_>, claim: &PersistentVolumeClaim) -> Result<(), ApiError> {
    let requests = &claim.spec.resources.requests;
    for range in ranges(s, claim.metadata.namespace) {
        let mut errors = Vec::new();
        for item in range.limits.iter().filter(|item| item.limit_type == "PersistentVolumeClaim") {
            for (name, least) in item.min.iter() {
                errors.extend(too_little(item, name, least, requests, &ResourceList::default()));
            }
            for (name, most) in item.max.iter() {
                let usage = format!("maximum {name} usage per {} is {most}", item.limit_type);
                match requests.get(name) {
                    None => errors.push(format!("{usage}.  No request is specified")),
                    Some(asked) if asked > most => errors.push(format!("{usage}, but request is {asked}")),
                    Some(_) => {}
                }
            }
        }
        refuse("persistentvolumeclaims", claim.metadata.name.as_str(), errors)?;
    }
    Ok(())
}

fn refuse(resource: &str, name: &str, mut errors: Vec<String>) -> Result<(), ApiError> {
    let mut seen: Vec<String> = Vec::new();
    errors.retain(|error| {
        !seen.contains(error) && {
            seen.push(error.clone());
            true
        }
    });
    let why = match errors.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Err(ApiError::new(ErrorReason::Forbidden, format!("{resource} \"{name}\" is forbidden: {why}")))
}

/// # Source
/// `PodValidateLimitFunc`.
fn pod_errors(range: &LimitRangeSpec, spec: &PodSpec) -> Vec<String> {
    let mut errors = Vec::new();
    for item in &range.limits {
        match item.limit_type.as_str() {
            "Container" => {
                let containers = spec.containers.iter().chain(&spec.init_containers);
                containers.for_each(|Container { resources, .. }| outside(item, resources, &mut errors));
            }
            "Pod" => {
                let (requests, limits) = (model::requested(spec, false), model::limited(spec, false));
                outside(item, &ResourceRequirements { requests, limits, ..Default::default() }, &mut errors);
            }
            _ => {}
        }
    }
    errors
}

fn outside(item: &LimitRangeItem, asked: &ResourceRequirements, errors: &mut Vec<String>) {
    let ResourceRequirements { requests, limits, .. } = asked;
    for (name, least) in item.min.iter() {
        errors.extend(too_little(item, name, least, requests, limits));
    }
    for (name, most) in item.max.iter() {
        let usage = format!("maximum {name} usage per {} is {most}", item.limit_type);
        match (requests.get(name), limits.get(name)) {
            (_, None) => errors.push(format!("{usage}.  No limit is specified")),
            (_, Some(limit)) if limit > most => errors.push(format!("{usage}, but limit is {limit}")),
            (Some(request), _) if request > most => errors.push(format!("{usage}, but request is {request}")),
            _ => {}
        }
    }
    for (name, ratio) in item.max_limit_request_ratio.iter() {
        let rule = format!("{name} max limit to request ratio per {} is {ratio}", item.limit_type);
        let amount = |list: &ResourceList| list.get(name).map_or(0, |amount| amount.nano_value());
        match (amount(requests), amount(limits)) {
            (0, _) => errors.push(format!("{rule}, but no request is specified or request is 0")),
            (_, 0) => errors.push(format!("{rule}, but no limit is specified or limit is 0")),
            (request, limit) if limit.saturating_mul(1_000_000_000) > ratio.nano_value().saturating_mul(request) => {
                let found = limit as f64 / request as f64;
                errors.push(format!("{rule}, but provided ratio is {found:.6}"));
            }
            _ => {}
        }
    }
}

fn too_little(
    item: &LimitRangeItem,
    name: Symbol,
    least: &Quantity,
    requests: &ResourceList,
    limits: &ResourceList,
) -> Option<String> {
    let usage = format!("minimum {name} usage per {} is {least}", item.limit_type);
    match (requests.get(name), limits.get(name)) {
        (None, _) => Some(format!("{usage}.  No request is specified")),
        (Some(request), _) if request < least => Some(format!("{usage}, but request is {request}")),
        (_, Some(limit)) if limit < least => Some(format!("{usage}, but limit is {limit}")),
        _ => None,
    }
}
