//! Amounts of resources that containers, pods and nodes may name.

use super::error::Errors;
use super::format;
use super::path::Path;
use crate::arena::Symbol;
use crate::model::{ResourceList, ResourceRequirements, is_qualified_name};
use crate::units::Quantity;

const HUGE_PAGES: &str = "hugepages-";

/// Resources that are counted in whole pieces, beside extended ones.
pub(super) const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// Names without a domain that mean something somewhere.
pub(super) const STANDARD: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "storage",
    "requests.storage",
];

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Asker {
    Container,
    Pod,
    /// Somebody who may name whatever there is.
    Anybody,
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Whether a resource is one that Kubernetes does not have itself, such as `nvidia.com/gpu`.
///
/// # Source
/// `IsExtendedResourceName`.
pub fn is_extended(name: &str) -> bool {
    // The name must still be one when quotas put `requests.` before it.
    !is_native(name) && !name.starts_with("requests.") && name.len() <= 253 && {
        let (prefix, rest) = name.split_once('/').unwrap_or_default();
        prefix.len() + "requests.".len() <= 253 && is_qualified_name(name) && !rest.is_empty()
    }
}

pub(super) fn may_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// # Source
///
/// kube-apiserver, `validateContainerResourceName` and `validatePodResourceName`.
pub(super) fn name(name: &str, asker: Asker, path: &Path<'_>, e: &mut Errors) {
    let problems = format::qualified_name(name);
    let is_form = problems.is_empty();
    e.texts(path, name, problems);
    let is_plain = !name.contains('/');
    let is_standard = STANDARD.contains(&name) || WHOLE.contains(&name) || name.contains(HUGE_PAGES);
    if is_form && is_plain && !is_standard {
        e.invalid(path, name, "must be a standard resource type or fully qualified");
        if asker == Asker::Pod {
            return;
        }
    }
    match asker {
        Asker::Container if is_plain => {
            if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !is_huge_pages(name) {
                e.invalid(path, name, "must be a standard resource for containers");
            }
        }
        Asker::Container => {
            if !is_native(name) && !is_extended(name) {
                e.invalid(path, name, "doesn't follow extended resource name standard");
            }
        }
        Asker::Pod if is_form => {
            if !matches!(name, "cpu" | "memory") && !is_huge_pages(name) {
                e.not_supported(path, name, &["cpu", "hugepages-", "memory"]);
            }
        }
        Asker::Pod | Asker::Anybody => {}
    }
}

/// # Source
///
/// kube-apiserver, `ValidateResourceQuantityValue`.
pub(super) fn amount(name: &str, amount: &Quantity, path: &Path<'_>, e: &mut Errors) {
    if amount.is_negative() {
        e.invalid(path, amount, "must be greater than or equal to 0");
    }
    if amount.milli_value() % 1000 != 0 && (WHOLE.contains(&name) || is_extended(name)) {
        e.invalid(path, amount, "must be an integer");
    }
}

/// Amounts that a node reports.
pub(super) fn amounts(list: &ResourceList, path: &Path<'_>, e: &mut Errors) {
    for (name, value) in list.iter() {
        amount(name.as_str(), value, &path.child(name.as_str()), e);
    }
}

fn huge_pages(name: &str, amount: &Quantity, path: &Path<'_>, e: &mut Errors) {
    let Some(size) = name.strip_prefix(HUGE_PAGES) else { return };
    let size = size.parse::<Quantity>().ok().map(Quantity::nano_value).filter(|size| *size > 0);
    if size.is_none_or(|size| amount.nano_value() % size != 0) {
        e.invalid(path, amount, std::format!("{amount} is not positive integer multiple of {name}"));
    }
}

/// # Source
///
/// kube-apiserver, `validateResourceRequirements`.
pub(super) fn requirements(resources: &ResourceRequirements, asker: Asker, path: &Path<'_>, e: &mut Errors) {
    let (limits, requests) = (path.child("limits"), path.child("requests"));
    for (resource, limit) in resources.limits.iter() {
        let (text, path) = (resource.as_str(), limits.key(resource.as_str()));
        name(text, asker, &path, e);
        amount(text, limit, &path, e);
        huge_pages(text, limit, &path, e);
    }
    for (resource, request) in resources.requests.iter() {
        let (text, path) = (resource.as_str(), requests.key(resource.as_str()));
        name(text, asker, &path, e);
        amount(text, request, &path, e);
        within_limit(resource, request, resources.limits.get(resource), &limits, &requests, e);
        huge_pages(text, request, &path, e);
    }
    let has = |is_it: fn(&str) -> bool| {
        resources.limits.iter().chain(resources.requests.iter()).any(|(name, _)| is_it(name.as_str()))
    };
    if has(is_huge_pages) && !has(|name| matches!(name, "cpu" | "memory")) {
        e.forbidden(path, "HugePages require cpu or memory");
    }
}

fn within_limit(
    resource: Symbol,
    request: &Quantity,
    limit: Option<&Quantity>,
    limits: &Path<'_>,
    requests: &Path<'_>,
    e: &mut Errors,
) {
    let may_differ = may_overcommit(resource.as_str());
    match limit {
        Some(limit) if request != limit && !may_differ => {
            e.invalid(requests, request, std::format!("must be equal to {resource} limit of {limit}"));
        }
        Some(limit) if request > limit => {
            e.invalid(requests, request, std::format!("must be less than or equal to {resource} limit of {limit}"));
        }
        None if !may_differ => e.required(limits, "Limit must be set for non overcommitable resources"),
        _ => {}
    }
}
