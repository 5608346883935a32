//! What bounds a namespace: limit ranges and resource quotas.

use super::error::{Errors, Json};
use super::format;
use super::path::Path;
use super::resources::{self, Asker};
use crate::arena::Symbol;
use crate::model::{LimitRange, LimitRangeItem, ResourceList, ResourceQuota, ResourceQuotaSpec, ScopeSelector};
use crate::units::Quantity;

/// # Source
///
/// kube-apiserver, `ValidateLimitRange`; the same on update.
pub(super) fn limit_range(range: &LimitRange, e: &mut Errors) {
    let mut range = range.clone();
    range.apply_defaults();
    let limits = &range.spec.limits;
    let path = Path::ROOT.child("spec");
    let path = path.child("limits");
    for (index, item) in limits.iter().enumerate() {
        let path = path.index(index);
        limit_type(item.limit_type, &path.child("type"), e);
        if limits[..index].iter().any(|other| other.limit_type == item.limit_type) {
            e.duplicate(&path.child("type"), &item.limit_type);
        }
        names_of_item(item, &path, e);
        for name in named(item) {
            bounds(item, name, &path, e);
        }
    }
}

fn limit_type(limit_type: Symbol, path: &Path<'_>, e: &mut Errors) {
    let text = limit_type.as_str();
    let problems = format::qualified_name(text);
    let is_form = problems.is_empty();
    e.texts(path, text, problems);
    if is_form && !text.contains('/') && !matches!(text, "Pod" | "Container" | "PersistentVolumeClaim") {
        e.invalid(path, text, "must be a standard limit type or fully qualified");
    }
}

fn names_of_item(item: &LimitRangeItem, path: &Path<'_>, e: &mut Errors) {
    let asker = if matches!(item.limit_type.as_str(), "Pod" | "Container") { Asker::Container } else { Asker::Anybody };
    let names = |field: &'static str, list: &ResourceList, e: &mut Errors| {
        let path = path.child(field);
        for (name, _) in list.iter() {
            resources::name(name.as_str(), asker, &path.key(name.as_str()), e);
        }
    };
    names("max", &item.max, e);
    names("min", &item.min, e);
    if item.limit_type == "Pod" {
        for (field, list) in [("default", &item.default_limit), ("defaultRequest", &item.default_request)] {
            if !list.is_empty() {
                e.forbidden(&path.child(field), "may not be specified when `type` is 'Pod'");
            }
        }
    } else {
        names("default", &item.default_limit, e);
        names("defaultRequest", &item.default_request, e);
    }
    let storage = Symbol::new("storage");
    if item.limit_type == "PersistentVolumeClaim" && !item.min.contains(storage) && !item.max.contains(storage) {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        e.required(&path.child("limits"), detail);
    }
    names("maxLimitRequestRatio", &item.max_limit_request_ratio, e);
}

/// The resources that an item says anything of.
fn named(item: &LimitRangeItem) -> Vec<Symbol> {
    let mut lists = vec![&item.max, &item.min, &item.max_limit_request_ratio];
    if item.limit_type != "Pod" {
        lists.extend([&item.default_limit, &item.default_request]);
    }
    let mut names: Vec<Symbol> = lists.into_iter().flat_map(|list| list.iter().map(|(name, _)| name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Whether what an item says of one resource can hold together.
fn bounds(item: &LimitRangeItem, name: Symbol, path: &Path<'_>, e: &mut Errors) {
    let of_containers = item.limit_type != "Pod";
    let (min, max) = (item.min.get(name), item.max.get(name));
    let limit = item.default_limit.get(name).filter(|_| of_containers);
    let request = item.default_request.get(name).filter(|_| of_containers);
    let text = name.as_str();
    let mut above =
        |lower: Option<&Quantity>, upper: Option<&Quantity>, field: &str, shows_lower: bool, words: [&str; 2]| {
            if let (Some(lower), Some(upper)) = (lower, upper)
                && lower > upper
            {
                let [one, other] = words;
                let detail = std::format!("{one} value {lower} is greater than {other} value {upper}");
                e.invalid(&path.child(field).key(text), if shows_lower { lower } else { upper }, detail);
            }
        };
    above(min, max, "min", true, ["min", "max"]);
    above(min, request, "defaultRequest", false, ["min", "default request"]);
    above(request, max, "defaultRequest", true, ["default request", "max"]);
    above(request, limit, "defaultRequest", true, ["default request", "default limit"]);
    above(min, limit, "default", true, ["min", "default"]);
    above(limit, max, "default", false, ["default", "max"]);
    ratio(item.max_limit_request_ratio.get(name), min, max, &path.child("maxLimitRequestRatio").key(text), e);
    if let (Some(limit), Some(request)) = (limit, request)
        && limit != request
        && !resources::may_overcommit(text)
    {
        let detail = std::format!("default value {limit} must equal to defaultRequest value {request} in {text}");
        e.invalid(&path.child("defaultRequest").key(text), request, detail);
    }
}

fn ratio(ratio: Option<&Quantity>, min: Option<&Quantity>, max: Option<&Quantity>, path: &Path<'_>, e: &mut Errors) {
    let Some(ratio) = ratio else { return };
    if *ratio < Quantity::from_value(1) {
        e.invalid(path, ratio, std::format!("ratio {ratio} is less than 1"));
    }
    let (Some(min), Some(max)) = (min, max) else { return };
    let highest = max.nano_value() as f64 / min.nano_value() as f64;
    if ratio.nano_value() as f64 / 1e9 > highest {
        e.invalid(path, ratio, std::format!("ratio {ratio} is greater than max/min = {highest:.6}"));
    }
}

/// # Source
///
/// kube-apiserver, `ValidateResourceQuotaSpec`; on update also `ValidateResourceQuotaUpdate`.
pub(super) fn quota(quota: &ResourceQuota, old: Option<&ResourceQuota>, e: &mut Errors) {
    let path = Path::ROOT.child("spec");
    let hard = path.child("hard");
    for (name, amount) in quota.spec.hard.iter() {
        let (name, path) = (name.as_str(), hard.key(name.as_str()));
        resources::name(name, Asker::Anybody, &path, e);
        if !name.contains('/') && !is_standard(name) {
            e.invalid(&path, name, "must be a standard resource for quota");
        }
        resources::amount(name, amount, &path, e);
    }
    scopes(&quota.spec, &path, e);
    if let Some(selector) = &quota.spec.scope_selector {
        scope_selector(&quota.spec, selector, &path.child("scopeSelector"), e);
    }
    let sorted = |quota: &ResourceQuota| {
        let mut scopes = quota.spec.scopes.clone();
        scopes.sort_unstable();
        scopes.dedup();
        scopes
    };
    if old.is_some_and(|old| sorted(old) != sorted(quota)) {
        let scopes = Some(&quota.spec.scopes).filter(|scopes| !scopes.is_empty());
        e.invalid(&path.child("scopes"), &Json(&scopes), "field is immutable");
    }
}

/// Whether the quota system knows a resource by itself.
fn is_standard(name: &str) -> bool {
    resources::STANDARD.contains(&name) && name != "storage"
        || resources::WHOLE.contains(&name)
        || name.starts_with("hugepages-")
        || name.starts_with("requests.hugepages-")
}

const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "VolumeAttributesClass",
    "CrossNamespacePodAffinity",
];

/// Whether objects of a scope use a resource.
fn goes_with(scope: &str, resource: &str) -> bool {
    const COMPUTE: [&str; 6] = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
    match scope {
        "BestEffort" => resource == "pods",
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        scope if SCOPES.contains(&scope) => resource == "pods" || COMPUTE.contains(&resource),
        _ => true,
    }
}

fn conflict(scopes: &[Symbol]) -> usize {
    let has = |scope: &str| scopes.iter().any(|found| *found == scope);
    usize::from(has("BestEffort") && has("NotBestEffort")) + usize::from(has("Terminating") && has("NotTerminating"))
}

fn scopes(spec: &ResourceQuotaSpec, path: &Path<'_>, e: &mut Errors) {
    let path = path.child("scopes");
    for scope in &spec.scopes {
        if !SCOPES.contains(&scope.as_str()) {
            e.invalid(&path, &Json(&spec.scopes), "unsupported scope");
        }
        for _ in misfits(spec, *scope) {
            e.invalid(&path, &Json(&spec.scopes), "unsupported scope applied to resource");
        }
    }
    for _ in 0..conflict(&spec.scopes) {
        e.invalid(&path, &Json(&spec.scopes), "conflicting scopes");
    }
}

/// The resources that objects of the scope do not use.
fn misfits(spec: &ResourceQuotaSpec, scope: Symbol) -> impl Iterator<Item = Symbol> {
    let names = spec.hard.iter().map(|(name, _)| name);
    names.filter(move |name| is_standard(name.as_str()) && !goes_with(scope.as_str(), name.as_str()))
}

/// # Source
///
/// kube-apiserver, `validateScopedResourceSelectorRequirement`, which names no item.
fn scope_selector(spec: &ResourceQuotaSpec, selector: &ScopeSelector, path: &Path<'_>, e: &mut Errors) {
    let path = path.child("matchExpressions");
    for requirement in &selector.match_expressions {
        let (scope, operator) = (requirement.scope_name, requirement.operator);
        if !SCOPES.contains(&scope.as_str()) {
            e.invalid(&path.child("scopeName"), &scope, "unsupported scope");
        }
        for _ in misfits(spec, scope) {
            e.invalid(&path, &Json(selector), "unsupported scope applied to resource");
        }
        let has_values = matches!(scope.as_str(), "PriorityClass" | "VolumeAttributesClass");
        if SCOPES.contains(&scope.as_str()) && !has_values && operator != "Exists" {
            let detail = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                          ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                          ResourceQuotaScopeCrossNamespacePodAffinity";
            e.invalid(&path.child("operator"), &operator, detail);
        }
        match operator.as_str() {
            "In" | "NotIn" if requirement.values.is_empty() => {
                let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
                e.required(&path.child("values"), detail);
            }
            "Exists" | "DoesNotExist" if !requirement.values.is_empty() => {
                let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
                e.invalid(&path.child("values"), &Json(&requirement.values), detail);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => e.invalid(&path.child("operator"), &operator, "not a valid selector operator"),
        }
    }
    let scopes: Vec<Symbol> = selector.match_expressions.iter().map(|requirement| requirement.scope_name).collect();
    for _ in 0..conflict(&scopes) {
        e.invalid(&path, &Json(&spec.scopes), "conflicting scopes");
    }
}
